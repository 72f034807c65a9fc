//! The parts of a [`Disclosure`](crate::Disclosure) and a [`Session`](crate::Session), the counters of tokens, and the
//! discloser itself.

pub use skillcue_disclose::{
    BodySource, CounterError, DOCUMENTATION_HEADING, DiscloseConfigError, DisclosedSkill, Discloser, DisclosureCost,
    Inclusion, LOAD_ADVICE, LeaveReason, ListEntry, ListOmissions, LoadAdvice, NameSample, RehydratedSkill,
    Rehydration, SHORTLIST_HEADING, Segment, SessionError, SessionSkill, ShownForm, Situation, SkillList, TokenCounter,
    UnknownWord, UseCounts, hint_line,
};
