//! `SKILL.md` ⇄ manifest: parse, repair, validate, lint, write.
//!
//! Bytes go in, a value and diagnostics come out. Nothing here does I/O, nothing panics on any bytes, and nothing the
//! author wrote is lost: beside the typed [`Manifest`] there is the raw tree of [`Node`]s.
//!
//! ```
//! use skillcue_format::{FileKind, Parsed};
//!
//! let file = b"---\nname: pdf\ndescription: Reads PDF files.\nversion: 1.10\n---\n# How\n";
//! let parsed = Parsed::of(file, FileKind::Markdown);
//! let manifest = parsed.manifest.expect("no errors");
//! assert_eq!(manifest.version(), Some("1.10"));
//! assert_eq!(&file[parsed.body..], b"# How\n");
//! ```
//!
//! It does not find files ([`skillcue-catalog`](../skillcue_catalog/index.html)) or read bodies.

mod brief;
mod code;
mod diagnostic;
mod edit;
mod fields;
mod flow;
mod generic;
mod lifecycle;
mod lint;
mod manifest;
mod name;
mod node;
mod ordinary;
mod parsed;
pub mod pattern;
mod permissions;
mod plain;
mod repair;
pub mod split;
mod stuffing;
mod tokens;
mod validate;
pub mod write;
mod yaml;

pub use brief::{MAX_BRIEF, brief};
pub use code::Code;
pub use diagnostic::{Diagnostic, Severity, Span};
pub use edit::{EditError, MatchingEdit};
pub use fields::split_tools;
pub use lifecycle::Lifecycle;
pub use lint::lint;
pub use manifest::{DeclaredScript, Manifest, Triggers};
pub use name::{MAX_NAME, NameError, SkillName};
pub use node::{ByteRange, Node, Value};
pub use ordinary::{ORDINARY_FILES, ORDINARY_MESSAGES};
pub use parsed::{DiscoveryInfo, FileKind, ListingFields, MAX_FILE, Parsed, YamlText, not_utf8};
pub use permissions::Permissions;
pub use repair::Edit;
pub use stuffing::{Stuffing, stuffing};
pub use tokens::Tokens;
pub use validate::validate;
