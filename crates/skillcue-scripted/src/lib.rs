//! A model server for tests: real TCP, real HTTP, the real wire formats of OpenAI's chat completions and responses, of
//! Anthropic's messages and of Gemini, and answers from a script.
//!
//! It takes requests as strictly as the real ones do: a conversation that they would refuse is answered with 400 and
//! never reaches the script. [`Server::for_clients`] is for programs of others, which use more of the formats than ours.
//!
//! ```
//! use skillcue_scripted::{Reply, Server};
//!
//! let server = Server::start(|received| match received.last_user().as_str() {
//!     "What is 2+2?" => Reply::text("4").usage(12, 1),
//!     _ => Reply::status(500),
//! });
//! assert!(server.url().starts_with("http://127.0.0.1:"));
//! assert!(server.requests().is_empty());
//! ```

mod anthropic;
mod check;
mod conversation;
mod gemini;
mod http;
mod openai;
mod received;
mod reply;
mod responses;
mod route;
mod server;

pub use conversation::{ConversationContent, ConversationPart};
pub use received::{Received, Wire};
pub use reply::Reply;
pub use server::Server;
