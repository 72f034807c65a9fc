//! Toolsets, run: through the sandbox, in the engine, as a host would.

mod good;
mod harness;
