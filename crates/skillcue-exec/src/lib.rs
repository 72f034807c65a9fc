//! Starts programs in a sandbox: scripts of skills with limits, and the child that toolsets run in.
//!
//! A [`Launcher`] starts a [`Job`] through a helper process (the host's own program, or `skillcue-sandbox`), which puts
//! as many layers around it as the machine offers: namespaces, Landlock, a filter of system calls, resource limits, a
//! supervisor. Each [`RunningJob`] says which were in force ([`SandboxReport`]). Without Landlock and seccomp nothing
//! runs, unless the user allows it explicitly. Whatever a job does, when its first process ends, when it is killed, or
//! when the host dies, all of its processes are gone.
//!
//! A [`Runner`] runs the [`scripts`] of a skill on top of that: with their interpreter, within [`RunLimits`], with what
//! a person has allowed ([`ConsentGate`](skillcue_catalog::consent::ConsentGate)).
//!
//! ```no_run
//! use skillcue_catalog::SkillDir;
//! use skillcue_exec::{Launcher, RunRequest, Runner, RunnerOptions};
//! use skillcue_format::{FileKind, Parsed};
//!
//! // First thing in `main`: the same program is also the sandbox's helper.
//! skillcue_exec::helper::run_if_asked(None);
//!
//! let dir = SkillDir::open("pdf", "skills/pdf".as_ref())?;
//! let manifest = Parsed::of(&dir.read("SKILL.md", 1 << 20)?, FileKind::Markdown).manifest.unwrap();
//! let runner = Runner::new(Launcher::new(std::env::current_exe()?), RunnerOptions::default());
//! let arguments = ["report.pdf".to_owned()];
//! let result = runner.run(&RunRequest { arguments: &arguments, ..RunRequest::new(&dir, &manifest, "count.py") })?;
//! assert!(result.sandboxed);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! It does not read the environment, print, or run anything because a skill was found, matched or loaded. The sandbox
//! is for Linux only, so far: on macOS and other systems running is refused, unless the user allows running without a
//! sandbox.

mod bytecode;
mod comment;
mod error;
pub mod helper;
mod interpreter;
mod job;
mod launcher;
mod layer;
#[cfg(feature = "bench")]
mod measure;
mod memory;
mod packages;
mod program_paths;
mod provider;
mod request;
mod result;
mod runner;
mod scripts;
mod stream;
mod sys;
mod wire;

pub use error::ExecError;
pub use job::{Bounds, Job, JobProgram, SandboxPolicy};
pub use launcher::{Killer, Launcher, RunningJob};
pub use layer::{Layer, MissingLayer, SandboxReport, Support};
#[cfg(feature = "bench")]
pub use measure::{StartTimes, measure_start};
pub use memory::{MemoryBound, MemoryUse};
pub use program_paths::{interpreter_paths, system_paths};
pub use provider::ScriptTools;
pub use request::{RunLimits, RunRequest, RunnerOptions};
pub use result::{RunError, RunResult};
pub use runner::Runner;
pub use scripts::{ScriptInfo, find_script, scripts};
pub use stream::Stream;
pub use wire::{EndReason, JobEnd};
