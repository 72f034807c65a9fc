//! Toolsets.

#![warn(missing_docs)]

mod cache;
#[cfg(feature = "engine")]
mod engine;
mod frame;
mod measure;
mod message;
pub mod packages;
mod provider;
mod resolve;
mod runtime;
mod schema;
#[cfg(feature = "engine")]
mod strip;
mod subject;
mod toolsets;
mod warm;

#[cfg(feature = "engine")]
pub use engine::engine;
pub use measure::{MeasureError, Measured, measure};
pub use message::{Finding, Level};
pub use provider::ToolsetTools;
pub use subject::{CallContext, Granted, Limits, Offered, Options, Runtime, Subject, ToolError, ToolResult, ToolSpec};
pub use toolsets::Toolsets;

/// The largest module.
pub const MAX_MODULE_BYTES: usize = 1 << 20;
/// All modules of a skill together.
pub const MAX_GRAPH_BYTES: usize = 16 << 20;
/// The most modules of a skill.
pub const MAX_MODULES: usize = 2_000;
/// What a tool may return.
pub const MAX_OUTPUT_BYTES: usize = 1 << 20;

/// At most `limit` bytes of a text, not cutting a character in two.
fn cut(text: &str, limit: usize) -> &str {
    let mut end = text.len().min(limit);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// Bytes as hexadecimal digits.
fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
