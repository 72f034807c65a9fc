//! The ledger: what happened to skills on this machine, and what it adds up to.
//!
//! A [`Ledger`] is a database file that several processes write at once. A [`LedgerSink`] hands it the events of a
//! [`Skillcue`](skillcue::Skillcue) through a bounded queue and a thread of its own: an answer never waits for the disk, and
//! never fails because of it. [`UsageReport`] adds events up: accuracy by week, dead, stuck, missed and confused skills.
//!
//! ```
//! use std::sync::Arc;
//! use std::time::Duration;
//!
//! use skillcue::Skillcue;
//! use skillcue_usage::{Ledger, LedgerQuery, LedgerSink, UsageReport};
//!
//! # let dir = tempfile::tempdir()?;
//! # std::fs::create_dir_all(dir.path().join("skills/pdf"))?;
//! # std::fs::write(dir.path().join("skills/pdf/SKILL.md"), "---\nname: pdf\ndescription: Reads PDF.\ntriggers: [pdf]\n---\nHow.\n")?;
//! let ledger = Ledger::new(dir.path().join("usage.db"));
//! let sink = Arc::new(LedgerSink::new(ledger.clone(), "library", "/home/ann/project"));
//! let skills = Skillcue::builder().skills_dir(dir.path().join("skills")).usage(sink).build()?;
//! skills.disclose("open report.pdf");
//! assert!(ledger.flush(Duration::from_secs(5)));
//!
//! let report = UsageReport::of(&ledger.events(&LedgerQuery::default())?, &["pdf".to_owned()]);
//! assert_eq!((report.skills[0].name.as_str(), report.skills[0].shown), ("pdf", 1));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! It has no text of messages unless a [`LedgerSink`] is told to keep it, and then secrets in it are masked. Nothing leaves
//! the machine. Which programs write to it, and whether, is decided by the host.

mod accuracy;
mod answer;
mod batch;
mod error;
mod event;
mod feedback;
mod findings;
mod frozen;
mod import;
mod labels;
mod ledger;
mod limits;
mod queue;
mod redact;
mod report;
mod schema;
mod sink;
mod spool;
mod tools;
mod weeks;

pub use accuracy::{Accuracy, AccuracyGroup, UsageGrouping};
pub use batch::{LedgerBatch, MessageCount};
pub use error::LedgerError;
pub use event::LedgerEvent;
pub use feedback::feedback;
pub use findings::{ConfusedPair, KnownSkill, MIN_DEAD_DAYS, MIN_DEAD_MESSAGES, UsageFindings};
pub use import::{ImportedSkill, TranscriptImport, TranscriptKind, import_transcripts};
pub use labels::{UsedMessage, used_messages};
pub use ledger::{Ledger, LedgerQuery, LedgerState};
pub use limits::LedgerLimits;
pub use redact::redacted;
pub use report::{SkillUse, UsageReport};
pub use sink::LedgerSink;
pub use tools::{FileLookup, FileUse, UsedFile, below_home, file_uses};
pub use weeks::Week;
