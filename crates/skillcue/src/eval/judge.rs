//! The part of a judge in an evaluation.

use serde::Serialize;
use skillcue_select::JudgeOutcome;

use super::outcome::MessageOutcome;

/// The part that a judge had in an evaluation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct JudgeFigures {
    /// The judge's name.
    pub name: String,
    /// The number of messages that it was asked about.
    pub asked: usize,
    /// The number of those that it did not answer in time or not as it should: they count as without it.
    pub failed: usize,
    /// The first reason for which it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
}

impl JudgeFigures {
    pub(super) fn of(name: &str, outcomes: &[MessageOutcome]) -> JudgeFigures {
        let (mut asked, mut failed, mut failure) = (0, 0, None);
        for outcome in outcomes.iter().filter_map(|outcome| outcome.judged.as_ref()) {
            match outcome {
                JudgeOutcome::NotAsked { .. } => {}
                JudgeOutcome::Chose { .. } => asked += 1,
                JudgeOutcome::Failed { why } => {
                    (asked, failed) = (asked + 1, failed + 1);
                    failure.get_or_insert_with(|| why.clone());
                }
            }
        }
        JudgeFigures { name: name.to_owned(), asked, failed, failure }
    }
}
