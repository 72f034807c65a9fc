//! Toolsets, run: through the sandbox, in the engine, as a host would.

mod broken;
mod good;
mod harness;
mod hostile;
mod runtime;
