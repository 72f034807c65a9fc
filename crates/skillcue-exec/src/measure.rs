//! Measures the cost of a start in the sandbox.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::error::ExecError;
use crate::job::{Job, JobProgram, SandboxPolicy};
use crate::launcher::Launcher;

/// Times of starts, and of ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StartTimes {
    /// `sh -c true` in the sandbox, until no process of it is left: the median.
    pub sandboxed: Duration,
    /// `sh -c true` without: the median.
    pub plain: Duration,
    /// The time by which a script that never ends outlives its limit: the longest of five.
    pub late: Duration,
}

/// Measures how long it takes to start `sh -c true` and wait for it, in the sandbox and without, alternating; and how
/// exactly a limit is kept.
pub fn measure_start(launcher: &Launcher, rounds: usize) -> Result<StartTimes, ExecError> {
    const SHELL: &str = "/bin/sh";
    let mut job = Job::new(JobProgram::File(SHELL.into()), SandboxPolicy::program(Path::new(SHELL)));
    job.args = vec!["-c".into(), "true".into()];
    let (mut sandboxed, mut plain) = (Vec::new(), Vec::new());
    for _ in 0..rounds.max(1) {
        let started = Instant::now();
        launcher.spawn(&job)?.wait()?;
        sandboxed.push(started.elapsed());

        let started = Instant::now();
        let mut command = Command::new(SHELL);
        command.args(["-c", "true"]).env_clear().stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let status = command.spawn().and_then(|mut child| child.wait());
        status.map_err(|error| ExecError::Program { program: SHELL.into(), reason: error.to_string() })?;
        plain.push(started.elapsed());
    }
    job.args = vec!["-c".into(), "while :; do :; done".into()];
    let mut late = Duration::ZERO;
    for _ in 0..5 {
        let limit = Duration::from_millis(50);
        let mut child = launcher.spawn(&job)?;
        let started = Instant::now();
        if child.wait_timeout(limit)?.is_none() {
            child.kill();
            child.wait()?;
        }
        late = late.max(started.elapsed().saturating_sub(limit));
    }
    Ok(StartTimes { sandboxed: median(sandboxed), plain: median(plain), late })
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}
