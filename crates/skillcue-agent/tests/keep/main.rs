//! Tests of what is kept: sessions, traces, memory.

#![expect(clippy::unwrap_used, reason = "a test that cannot set itself up has failed")]

mod child;
mod conversation;
mod crash;
mod facts;
mod list;
mod memory;
mod provider;
mod remember;
mod secrets;
mod sessions;
mod together;
mod trace;

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Seconds after noon of 16 November 2026.
fn at(seconds: u64) -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(1_794_830_400 + seconds)
}

/// A directory in memory, if there is such: thousands of files are synchronised.
fn scratch() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}
