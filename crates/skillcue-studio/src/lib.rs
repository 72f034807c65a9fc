//! The page of `skillcue studio`: what a model would get, and why.
//!
//! [`StudioServer`] serves the page on loopback. It opens with an address that has a one-time token in it, which is exchanged for
//! a cookie; requests with another `Host` or `Origin` are refused, and so is everything without the cookie. The page may load
//! nothing but its own files, and has no inline script.
//!
//! The data come from a [`StudioData`], which answers each [`StudioQuestion`] with the document that the command of that name
//! prints with `--json`. [`export`] writes the same page with answers inside, as one file that needs no server.
//!
//! It does not know where skills are, and reads and writes no files: that is up to the data.
//!
//! ```
//! use skillcue_studio::{StudioData, StudioFailure, StudioOptions, StudioQuestion, StudioServer};
//!
//! struct Nothing;
//!
//! impl StudioData for Nothing {
//!     fn answer(&self, question: StudioQuestion) -> Result<Vec<u8>, StudioFailure> {
//!         Err(StudioFailure::new("empty", format!("there is nothing to say about {}", question.name())))
//!     }
//! }
//!
//! # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
//! let server = StudioServer::bind(Nothing, StudioOptions::default()).await?;
//! assert!(server.address().starts_with("http://127.0.0.1:"));
//! # Ok::<(), std::io::Error>(())
//! # })?;
//! # Ok::<(), std::io::Error>(())
//! ```

mod assets;
mod credentials;
mod events;
mod export;
mod gate;
mod peer;
mod question;
mod redact;
mod server;

pub use events::{StudioEvent, StudioEvents};
pub use export::{ExportedPage, export};
pub use question::{StudioConfig, StudioData, StudioFailure, StudioQuestion};
pub use redact::Redaction;
pub use server::{StudioOptions, StudioServer};
