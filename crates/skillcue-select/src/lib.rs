//! From a message to the skills that fit it, ranked, each with a score and its reasons.
//!
//! A [`Selector`] is an index over the triggers of one catalog. [`Selector::select`] takes a [`Turn`] (a message, and
//! its context) and gives a [`Selection`]; [`Selector::explain`] says of one skill why it matches or how near it came;
//! [`Intent::of`] recognises questions about the agent itself.
//!
//! ```
//! use skillcue_catalog::{Discovery, SkillRoot, Source};
//! use skillcue_select::{Mention, SelectOptions, Selector, Turn};
//!
//! let dir = tempfile::tempdir()?;
//! for (name, triggers) in [("cpp-helper", "keywords: [c++]"), ("react", "files: ['*.tsx']")] {
//!     std::fs::create_dir(dir.path().join(name))?;
//!     let text = format!("---\nname: {name}\ndescription: Helps.\ntriggers:\n  {triggers}\n---\n");
//!     std::fs::write(dir.path().join(name).join("SKILL.md"), text)?;
//! }
//! let catalog = Discovery::new([SkillRoot::new(dir.path(), Source::Project)]).run();
//! let selector = Selector::of(&catalog);
//!
//! let turn = Turn::new("Is this Objective-C++? Ask $cpp-helper.").files(["src/App.tsx"]);
//! let selection = selector.select(&catalog, &turn, &SelectOptions::default());
//! let [cpp, react] = &selection.hits[..] else { panic!() };
//! assert_eq!((cpp.name.as_str(), cpp.mention), ("cpp-helper", Some(Mention::Sigil)));
//! assert_eq!((react.name.as_str(), react.reasons[0].text.as_str()), ("react", "src/App.tsx"));
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! This crate reads no file, loads no body, and does not decide what the model is shown.

mod build;
mod bytes;
mod explain;
mod files;
mod fold;
mod grams;
mod hybrid;
mod index;
mod intent;
mod judgement;
mod languages;
mod literal;
mod mention;
mod name_use;
mod rank;
mod relevance;
mod selection;
mod selector;
mod term;
mod trigger_cache;
mod trigger_matches;
mod turn;
mod vectors;
mod verb;

pub use explain::{Eligibility, Explanation, TriggerReport};
pub use intent::Intent;
pub use judgement::{JudgeOutcome, Judgement};
pub use languages::languages_of;
pub use relevance::fusion;
pub use relevance::{
    BodyTerms, DocTerms, Evidence, EvidencePart, Meaning, MessageFacts, RankCandidate, Ranking, ReadAt, Refusals,
    SearchContext, SectionText, SkillDocument, TextHit, TextIndex, TextWord, body_key, language_of, section_scores,
};
pub use selection::{Grade, Hit, Mention, Reason, ReasonKind, Selection, Thresholds};
pub use selector::{Census, Selector};
pub use turn::{Mode, SelectOptions, Turn};
pub use vectors::{SkillCosines, SkillTextKeys, SkillVectors, VectorTable, meaning_text};
