//! Toolsets: tools that a skill brings along, as TypeScript or JavaScript modules.
//!
//! ```ts
//! import { Tool } from '@agent/tools';
//!
//! export const HelloToolset = [
//!   Tool.define('hello', {
//!     description: 'Says hello',
//!     parameters: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] },
//!     execute: async ({ name }, ctx) => ({ title: 'Hello', metadata: {}, output: `Hello ${name}` }),
//!   }),
//! ];
//! ```
//!
//! [`Toolsets::tools`] returns the tools that a skill offers, [`Toolsets::call`] calls one:
//!
//! ```no_run
//! use std::path::Path;
//!
//! use skillcue_exec::Launcher;
//! use skillcue_toolset::{CallContext, ToolsetOptions, SkillToolsets, Toolsets};
//!
//! // The helper's `main` starts with `skillcue_exec::helper::run_if_asked(Some(skillcue_toolset::engine))`.
//! let toolsets = Toolsets::new(ToolsetOptions::new(Launcher::new("/usr/bin/skillcue")));
//! let dir = Path::new("skills/hello-extended");
//! let skill = SkillToolsets::new("hello-extended", dir, ["toolsets/index:HelloToolset"]);
//! for finding in &toolsets.tools(&skill).diagnostics {
//!     tracing::warn!("{finding}");
//! }
//! let arguments = [("name".to_owned(), "Ada".into())].into_iter().collect();
//! let result = toolsets.call(&skill, "hello", &arguments, &CallContext::new("session"))?;
//! assert_eq!(result.output, "Hello Ada");
//! # Ok::<(), skillcue_toolset::ToolError>(())
//! ```
//!
//! # The sandbox
//!
//! A skill's modules are evaluated in a process of their own, in the sandbox of `skillcue-exec`: no files, no network,
//! no programs. All it has is a pipe to the host, over which it asks for modules; the host resolves them below the
//! skill's directory, its `node_modules` and the user's packages, and nowhere else. A script that runs too long is
//! interrupted; one that cannot be, because it is inside of a native function, is killed with its process, and the next
//! call starts another. Types are stripped by replacing them with spaces, so every error has the position that the
//! author wrote it at.
//!
//! Two calls of one skill share a process, and so do its toolsets: a change that one makes to prototypes is seen by the
//! others of the same skill. Results and definitions cross the pipe by functions that scripts cannot replace, so they
//! cannot spoof answers, and no two skills share anything.
//!
//! It does not look at the environment, print, give tools anything beyond the sandbox, or run anything because a skill
//! was discovered, matched or loaded.

#![warn(missing_docs)]

mod cache;
mod child;
#[cfg(feature = "engine")]
mod engine;
mod error;
mod frame;
mod handover;
mod interface;
mod known_tools;
#[cfg(feature = "bench")]
mod measure;
mod message;
pub mod packages;
mod position;
mod provider;
mod resolve;
mod schema;
#[cfg(feature = "engine")]
mod strip;
mod toolsets;

#[cfg(feature = "engine")]
pub use engine::engine;
pub use error::ToolError;
pub use interface::{
    CallContext, OfferedTools, SkillToolsets, ToolCallResult, ToolSpec, ToolsetLimits, ToolsetOptions,
};
#[cfg(feature = "bench")]
pub use measure::{MeasureError, ToolsetMeasurement, measure};
pub use message::LogLevel;
pub use provider::ToolsetTools;
pub use toolsets::Toolsets;

/// The largest module.
pub const MAX_MODULE_BYTES: usize = 1 << 20;
/// All modules of a skill together.
pub const MAX_GRAPH_BYTES: usize = 16 << 20;
/// The most modules of a skill.
pub const MAX_MODULES: usize = 2_000;
/// The largest output of a tool.
pub const MAX_OUTPUT_BYTES: usize = 1 << 20;

/// Returns at most `limit` bytes of a text, with no character cut in two.
fn cut(text: &str, limit: usize) -> &str {
    &text[..text.floor_char_boundary(limit)]
}
