//! Starts programs in a sandbox: scripts of skills with limits, and the child that toolsets run in.

mod error;
pub mod helper;
mod job;
mod launcher;
mod layer;
mod policy;
#[cfg(target_os = "linux")]
mod sys;
mod wire;

pub use error::ExecError;
pub use job::{Bounds, Job, Policy, Program};
pub use launcher::{Child, Killer, Launcher};
pub use layer::{Layer, Missing, SandboxReport, Support};
pub use policy::{interpreter_paths, system_paths};
pub use wire::{EndReason, Ended};
