//! Decides what a model is shown in a turn, in as few tokens as serve it.
//!
//! A [`Discloser`] takes what a message selected and returns a [`Disclosure`]: nothing, a line, a list or whole bodies,
//! within a [`Budget`], with a report of what was left out and why. A [`Session`] remembers what a conversation has
//! been shown, so that nothing is shown twice. [`prompt_section`] is the static list for models that load skills
//! themselves.
//!
//! ```
//! use skillcue_disclose::{Counter, TokenCounter};
//!
//! let counter = Counter::Segment.counter()?;
//! assert_eq!(counter.count("Extract the tables from this file.").0, 7);
//! # Ok::<(), skillcue_disclose::CounterError>(())
//! ```
//!
//! Out of scope: this crate reads no file (bodies come through [`BodySource`]), looks at no clock, and does not match
//! messages (`skillcue-select` does). Equal input gives equal bytes.

mod advice;
mod budget;
mod config;
mod counter;
mod cut;
mod discloser;
mod documentation;
mod files;
mod lead_in;
mod list_contents;
mod list_draft;
mod name_groups;
mod names;
mod parts;
mod report;
mod rest;
mod session;
mod shortlist;
mod situation;
mod skill_list;
mod use_counts;

pub use advice::LoadAdvice;
pub use budget::{Allotment, Budget, Fragment};
pub use config::{DiscloseConfig, DiscloseConfigError, Fallback, Policy, UnknownWord};
#[cfg(feature = "exact-tokens")]
pub use counter::O200k;
pub use counter::{Bytes4, Characters4, Counter, CounterError, Segment, TokenCounter};
pub use cut::{Cut, cut};
pub use discloser::{Discloser, hint_line};
pub use documentation::DOCUMENTATION_HEADING;
pub use parts::shorten_for;
pub use report::{Decision, DisclosedSkill, Disclosure, DisclosureCost, ListOmissions, NameSample, Tier};
pub use rest::rest_for;
pub use session::{
    Inclusion, LeaveReason, MAX_REMEMBERED, RehydratedSkill, Rehydration, Session, SessionError, SessionSkill,
    ShownForm,
};
pub use shortlist::{LOAD_ADVICE, SHORTLIST_HEADING};
pub use situation::{BodySource, FileHead, Situation};
pub use skill_list::{ListEntry, SkillList, prompt_section};
pub use skillcue_format::Tokens;
pub use skillcue_select::Census;
pub use use_counts::UseCounts;
