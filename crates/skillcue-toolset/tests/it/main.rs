//! Toolsets, run: through the sandbox, in the engine, as a host would.

#![allow(clippy::print_stderr, reason = "a test that is skipped says so")]

mod broken;
mod good;
mod harness;
mod hostile;
mod kept;
