//! Models behind HTTP: requests and answers.
//!
//! Two APIs are spoken: OpenAI's chat completions, which most servers understand, and Anthropic's messages.

mod anthropic;
mod client;
mod draft;
mod endpoint;
mod error;
mod names;
mod openai;
mod request;
mod request_error;
mod retry;
mod secret;

pub use client::Model;
pub use endpoint::{Api, Endpoint, EndpointError, Overrides, RequestTiming};
pub use error::ModelError;
pub use request::{Delta, FinishReason, ModelAnswer, ModelRequest, SystemText, TokenUsage};
pub use secret::Secret;
