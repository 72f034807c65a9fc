//! A small real agent on top of Skillfold.
//!
//! One turn of a conversation: context providers say what the model should see beside the message (skills are one,
//! memory is another), the model is asked over HTTP, the tools that it calls are run, and so on until it answers. Each
//! request is accounted for token by token, and written down as it happens.

mod message;
pub mod model;
mod parts;
mod provider;

pub use message::{Message, Piece, ToolCall, ToolResult};
pub use parts::{Part, Parts};
pub use provider::{BoxFuture, Context, ContextProvider, ProviderError};
