//! Starts programs in a sandbox: scripts of skills with limits, and the child that toolsets run in.

mod comment;
mod digest;
mod error;
mod grants;
pub mod helper;
mod interpreter;
mod job;
mod launcher;
mod layer;
mod packages;
mod policy;
mod provider;
mod result;
mod runner;
mod scripts;
mod stream;
#[cfg(target_os = "linux")]
mod sys;
mod wire;

pub use error::ExecError;
pub use grants::{Grant, GrantError, Grants, Reach, TOOLSETS};
pub use interpreter::on_path as find_program;
pub use job::{Bounds, Job, Policy, Program};
pub use launcher::{Child, Killer, Launcher};
pub use layer::{Layer, Missing, SandboxReport, Support};
pub use policy::{interpreter_paths, system_paths};
pub use provider::ScriptTools;
pub use result::{RunError, RunResult};
pub use runner::{Limits, RunRequest, Runner, RunnerOptions};
pub use scripts::{ScriptInfo, scripts};
pub use stream::Stream;
pub use wire::{EndReason, Ended};
