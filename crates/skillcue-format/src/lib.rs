//! `SKILL.md` ⇄ manifest: parse, repair, validate, lint, write.
//!
//! Bytes go in, a value and diagnostics come out. Nothing here does I/O, nothing panics on any bytes, and nothing the
//! author wrote is lost: beside the typed [`Manifest`] stands the raw tree of [`Node`]s.
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
//! What it does not do: find files ([`skillcue-catalog`](../skillcue_catalog/index.html)), or read bodies.

mod brief;
mod code;
mod diagnostic;
mod fields;
mod flow;
mod lint;
mod manifest;
mod name;
mod node;
mod parsed;
pub mod pattern;
mod permissions;
mod plain;
mod repair;
pub mod split;
mod tokens;
mod validate;
pub mod write;
mod yaml;

pub use brief::{MAX_BRIEF, brief};
pub use code::Code;
pub use diagnostic::{Diagnostic, Place, Severity};
pub use fields::split_tools;
pub use lint::lint;
pub use manifest::{Manifest, Script, Triggers};
pub use name::{MAX_NAME, NameError, SkillName};
pub use node::{Node, Span, Value};
pub use parsed::{FileKind, Glance, Listing, MAX_FILE, Parsed, Written, not_utf8};
pub use permissions::{Permissions, Runtime};
pub use repair::Edit;
pub use tokens::Tokens;
pub use validate::validate;
