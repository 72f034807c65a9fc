//! Toolsets in the engine, in the sandbox, as a host runs them.

mod broken;
mod cached;
mod good;
mod harness;
mod hostile;
