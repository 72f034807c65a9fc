//! The helper's side: the code that runs when a [`Launcher`](crate::Launcher) starts the helper program.
//!
//! ```text
//! host ── socket ── the helper, which waits
//!   └──── socket ──── H0 supervisor ── H1 first process of the namespace ── the job
//! ```
//!
//! The helper has always forked for the next job already, and its namespaces are made, because starting a program and
//! making them takes longer than everything else; it ends when the host does, or when the last launcher does. H0 makes
//! the namespaces, adds up what the job uses, and watches the socket: when the host is gone, so is the job. H1 is the
//! first process inside; when it ends, the kernel ends all others in there, whatever they have done to be overlooked.
//! Only the job's process takes on the layers that cannot be taken off again, and then executes the program, or runs
//! the engine. Where the kernel gives no namespace of processes, H0 starts the job itself, adopts whatever it leaves
//! behind, and kills it.
//!
//! On other systems there is no sandbox, and the helper is simpler (`process_group`): it refuses, or, if running
//! without a sandbox is allowed, starts the job in a process group and kills the group when the job ends or the host is
//! gone.

#[cfg(target_os = "linux")]
mod confine;
#[cfg(target_os = "linux")]
mod filter;
#[cfg(target_os = "linux")]
mod held_memory;
#[cfg(target_os = "linux")]
mod job_process;
#[cfg(target_os = "linux")]
mod job_root;
#[cfg(target_os = "linux")]
mod job_watch;
#[cfg(target_os = "linux")]
mod mounts;
mod private_tmp;
mod process_group;
#[cfg(target_os = "linux")]
mod processes;
#[cfg(target_os = "linux")]
mod supervisor;

use crate::layer::Layer;
#[cfg(target_os = "linux")]
use crate::wire::HelperSetup;

/// The first argument by which a program knows that it is asked to be the helper.
pub(crate) const HELPER_ARGUMENT: &str = "__skillcue-helper";

/// The first argument of a helper that starts its job without a sandbox.
pub(crate) const UNSANDBOXED_ARGUMENT: &str = "__skillcue-helper-plain";

/// The first argument by which a helper that was started inside of a sandbox knows that it is to run the engine.
const ENGINE_ARGUMENT: &str = "__skillcue-engine";

/// Returns whether one helper waits for jobs; otherwise each job has a helper of its own.
pub(crate) fn has_waiting_helper(without: &[Layer]) -> bool {
    cfg!(target_os = "linux") && !without.contains(&Layer::Supervisor)
}

/// The exit code of a helper that cannot even report an error.
const NOT_A_HELPER: i32 = 125;

/// Runs as the sandbox's helper if this process was started as one, and then never returns; returns at once otherwise.
///
/// Call it first thing in `main`, before any thread is started: the helper forks. `engine` is the function that
/// [`JobProgram::Engine`](crate::JobProgram::Engine) runs, with the job's pipes as standard input, output and error; it
/// returns the exit code.
///
/// ```
/// // In `main`:
/// skillcue_exec::helper::run_if_asked(None);
/// // …then the program's own business.
/// ```
pub fn run_if_asked(engine: Option<fn() -> i32>) {
    let Some(word) = std::env::args_os().nth(1) else { return };
    if word == HELPER_ARGUMENT {
        #[cfg(target_os = "linux")]
        supervisor::run(engine, &std::env::args().nth(2).map(|text| HelperSetup::from_text(&text)).unwrap_or_default());
        #[cfg(not(target_os = "linux"))]
        process_group::run(engine);
    } else if word == UNSANDBOXED_ARGUMENT {
        process_group::run(engine);
    } else if word == ENGINE_ARGUMENT {
        std::process::exit(engine.map_or(NOT_A_HELPER, |engine| engine()));
    }
}
