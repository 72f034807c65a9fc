//! Text relevance: which skills' texts have the subject of a message.
//!
//! Three BM25 indexes, over the name with the description, over that with the body, and over the name alone, find the
//! candidates. Words are stemmed, weak words count half, and so do synonyms and guesses at misspelt words. Subjects that a
//! description excludes are left out of it. Of each candidate the texts are then read in their order, and the evidence of
//! all kinds is added up by weights that were learned from labelled messages; learned, too, is how sure the result is.

#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    reason = "counts become scores: single precision ranks as double does, and half the memory is read"
)]

pub(crate) mod acts;
mod background;
mod bags;
mod bodies;
mod evidence;
mod field;
pub mod fusion;
mod glossary;
mod index;
mod joined;
mod language;
mod lookalikes;
pub(crate) mod message;
mod negation;
mod profile;
mod programming;
mod query;
mod ranking;
mod rarity;
pub(crate) mod refusal;
mod search;
mod sections;
mod sequence;
mod storage;
pub(crate) mod tokens;
mod top;
mod update;
mod weights;
mod word_vectors;
mod words;

pub use bodies::{BodyTerms, DocTerms, body_key};
pub use evidence::Evidence;
pub use fusion::MessageFacts;
pub use index::{SkillDocument, TextIndex};
pub use language::language_of;
pub use ranking::{EvidencePart, Meaning, RankCandidate, Ranking, SearchContext, TextHit, TextWord};
pub use refusal::Refusals;
pub use sections::{SectionText, section_scores};
pub use storage::ReadAt;
