//! The ledger as a whole: processes, crashes, full disks, spools, a simulated month, transcripts, privacy.

#![expect(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]
#![expect(clippy::print_stdout, reason = "figures, for those who ask for them")]

mod child;
mod commands;
mod crash;
mod disk;
mod feedback;
mod import;
mod import_names;
mod limits;
mod month;
mod privacy;
mod simulation;
mod skewed;
mod spool;
mod together;
mod turns;

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Returns a ledger that keeps events of any age: those of tests have fixed dates.
fn ageless(path: std::path::PathBuf) -> skillcue_usage::Ledger {
    let limits = skillcue_usage::LedgerLimits { max_age: Duration::MAX, ..skillcue_usage::LedgerLimits::default() };
    skillcue_usage::Ledger::new(path).limits(limits)
}

/// Returns a time in November 2026.
fn at(seconds: u64) -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(1_793_577_600 + seconds)
}
