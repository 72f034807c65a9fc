//! From what a person writes to a directory of files, and what is in it.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod archives;
mod directories;
mod git;
mod names;
mod origins;
mod stopping;
mod support;
mod surveys;
mod tars;
mod zips;
