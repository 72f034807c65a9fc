//! The parts of a [`Disclosure`](crate::Disclosure) and a [`Session`](crate::Session), the counters of tokens, and the
//! discloser itself.

pub use skillcue_disclose::{
    Bodies, ConfigError, CounterError, Disclosed, Discloser, Entry, How, Listed, Names, Rehydrated, Rehydration,
    Remembered, Section, Segment, SessionError, Situation, Spent, TokenCounter, UnknownWord,
};
