//! Matching of messages: reasons, mentions, intents, and the selector itself. Its result is a
//! [`Selection`](crate::Selection) of [`Hit`](crate::Hit)s.

pub use skillcue_select::{
    Census, Eligibility, Grade, Intent, JudgeOutcome, Judgement, Mention, Reason, ReasonKind, SelectOptions, Selector,
    TextIndex, Thresholds, TriggerReport,
};

pub use crate::feedback::SkillFeedback;
pub use crate::judge::{Judge, JudgeCandidate, JudgeError, JudgeQuestion};
pub use crate::meaning::{SentenceError, SentenceVectors};
pub use crate::progress::TurnProgress;
