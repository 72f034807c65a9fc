//! Catalogs on stores in memory and in directories, with stores that fail, stall, truncate and lie.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod attacks;
mod faults;
mod gc;
mod memory;
mod policy;
mod readers;
mod signing;
mod support;
mod writers;
