//! [`Judgement`]: the part that a judge had in a selection.

use serde::Serialize;

/// The part that a judge had in a selection. A judge is a model that chooses among the first hits; this crate asks none,
/// and only carries the answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Judgement {
    /// The judge's name.
    pub judge: String,
    /// The number of hits that it could choose among.
    pub candidates: usize,
    /// Its choice, or the reason why there is none.
    #[serde(flatten)]
    pub outcome: JudgeOutcome,
}

/// The outcome of asking a judge.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum JudgeOutcome {
    /// It chose some of the hits, or none of them.
    Chose {
        /// The number of hits that it chose.
        count: usize,
    },
    /// It was not asked.
    NotAsked {
        /// The reason.
        why: &'static str,
    },
    /// It did not answer in time, or not as it should. The order of the hits is that without it.
    Failed {
        /// The reason.
        why: String,
    },
}
