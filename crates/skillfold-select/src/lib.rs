//! From a message to the skills that fit it, ranked, each with a score and its reasons.
//!
//! What this crate does not do: it reads no file, loads no body, and decides nothing about what the model is shown.

mod intent;
mod relevance;
mod selection;
mod turn;

pub use intent::Intent;
pub use relevance::{BodyTerms, DocTerms, Document, Ranking, TextHit, TextIndex, TextWord, body_key};
pub use selection::{Hit, Mention, Reason, ReasonKind, Selection};
pub use turn::{Mode, SelectOptions, Turn};
