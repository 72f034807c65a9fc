//! Text relevance: which skills' texts speak of what a message speaks of.
//!
//! Three BM25 indexes, over the name with the description, over that with the body, and over the name alone, are added,
//! each divided by how widely its scores lie apart for this message. Words are stemmed, words that say little count
//! half, and so do synonyms and guesses at misspelt words. What a description excludes is left out of it.
//!
//! Confidence comes from the raw scores, not from the standardised ones, which lose how much of the message was
//! explained at all. The numbers here were fitted on labelled messages to two collections of skills, with
//! cross-validation.

#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    reason = "counts become scores: single precision ranks as double does, and half the memory is read"
)]

mod apart;
mod bags;
mod bodies;
pub(crate) mod confidence;
mod field;
mod fuzzy;
mod index;
mod kept;
mod negation;
mod query;
mod search;
mod tokens;
mod words;

pub use bodies::{BodyTerms, DocTerms, body_key};
pub use index::{Document, TextIndex, Tuning};
pub use kept::ReadAt;
pub use search::{Ranking, TextHit, TextWord};
