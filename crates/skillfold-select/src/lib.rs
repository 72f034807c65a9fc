//! From a message to the skills that fit it, ranked, each with a score and its reasons.
//!
//! What this crate does not do: it reads no file, loads no body, and decides nothing about what the model is shown.

mod build;
mod bytes;
mod compiled;
mod explain;
mod files;
mod findings;
mod fold;
mod gather;
mod grams;
mod index;
mod intent;
mod literal;
mod mention;
mod rank;
mod selection;
mod selector;
mod term;
mod turn;
mod verb;

pub use explain::{Explanation, Standing, TriggerReport};
pub use intent::Intent;
pub use selection::{Hit, Mention, Reason, ReasonKind, Selection};
pub use selector::{Census, Selector};
pub use turn::{Mode, SelectOptions, Turn};
