//! The part of a model in a kept evaluation: whether it got to a right skill, and whether it loaded a wrong one.

use serde::Serialize;
use skillcue_select::Grade;

use super::{EvalRun, EvalRunCase};

/// The result of sending one message to a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct ModelOutcome {
    /// Whether the body of a right skill was shown, or the model loaded it; true where none is needed.
    pub reached: bool,
    /// Whether the model loaded a skill that the message does not need, or must not get.
    pub wrongly_loaded: bool,
}

/// The figures of the messages that a model answered. A share is `None` if there are no messages of its kind.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ModelShares {
    /// Of the messages that need a skill: a right one was reached.
    pub reached: Option<f64>,
    /// Of the messages that need a skill: a wrong one was loaded.
    pub wrongly_loaded: Option<f64>,
    /// Of the messages that need none, or must not get some: such a one was loaded.
    pub loaded_for_nothing: Option<f64>,
}

impl ModelOutcome {
    /// Returns how good it is: 2 if nothing is wrong.
    pub(super) fn quality(self) -> u8 {
        u8::from(self.reached) + u8::from(!self.wrongly_loaded)
    }

    /// Returns whether nothing is wrong.
    pub fn is_right(self) -> bool {
        self.quality() == 2
    }
}

impl EvalRunCase {
    /// Returns the result of sending the message to the run's model; `None` if it gave no answer. Only for runs with a model.
    ///
    /// ```
    /// use skillcue::eval::{EvalRun, EvalRunCase};
    ///
    /// fn mistakes(run: &EvalRun) -> usize {
    ///     let outcomes = run.cases.iter().filter_map(EvalRunCase::model_outcome);
    ///     outcomes.filter(|outcome| !outcome.is_right()).count()
    /// }
    /// # let _ = mistakes;
    /// ```
    pub fn model_outcome(&self) -> Option<ModelOutcome> {
        let is_wrong = |name: &String| match &self.not_relevant[..] {
            [] => !self.relevant.contains(name),
            forbidden => forbidden.contains(name),
        };
        let is_reached = self.relevant.is_empty()
            || self.grade == Grade::Body
            || self.loaded.iter().any(|name| self.relevant.contains(name));
        (!self.is_unanswered)
            .then(|| ModelOutcome { reached: is_reached, wrongly_loaded: self.loaded.iter().any(is_wrong) })
    }
}

impl EvalRun {
    /// Returns the figures of the model; `None` if the run has none.
    pub fn model_shares(&self) -> Option<ModelShares> {
        self.model.as_ref()?;
        let share = |needs: bool, has: fn(ModelOutcome) -> bool| {
            let cases = self.cases.iter().filter(|case| case.relevant.is_empty() != needs);
            let outcomes: Vec<ModelOutcome> = cases.filter_map(EvalRunCase::model_outcome).collect();
            let part = outcomes.iter().filter(|outcome| has(**outcome)).count();
            #[expect(clippy::cast_precision_loss, reason = "numbers of messages")]
            (!outcomes.is_empty()).then(|| part as f64 / outcomes.len() as f64)
        };
        Some(ModelShares {
            reached: share(true, |outcome| outcome.reached),
            wrongly_loaded: share(true, |outcome| outcome.wrongly_loaded),
            loaded_for_nothing: share(false, |outcome| outcome.wrongly_loaded),
        })
    }
}
