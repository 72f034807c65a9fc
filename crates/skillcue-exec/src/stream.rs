//! One run of a script: writes its input and reads its output, until it ends or a limit ends it.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags};

use crate::job::Job;
use crate::launcher::{Launcher, RunningJob};
use crate::request::{RunLimits, RunRequest};
use crate::result::{RunError, RunResult};
use crate::wire::{EndReason, JobEnd};

/// One of a script's two outputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Stream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

/// The interval at which the caller is asked whether to stop.
const CANCEL_INTERVAL: Duration = Duration::from_millis(20);

/// One run, from its start to its end.
pub(crate) struct ScriptRun<'c> {
    pub(crate) request: &'c RunRequest<'c>,
    pub(crate) limits: &'c RunLimits,
    pub(crate) input: &'c [u8],
}

/// The output that has been read so far.
#[derive(Default)]
struct CollectedOutput {
    stdout: Vec<u8>,
    stderr: Vec<u8>,
    truncated: bool,
}

/// The reason why the host ended a script.
#[derive(Clone, Copy, PartialEq, Eq)]
enum RunStop {
    Cancelled,
    Timeout,
    Output,
}

impl ScriptRun<'_> {
    pub(crate) fn run(&self, launcher: &Launcher, job: &Job) -> Result<RunResult, RunError> {
        let started = Instant::now();
        let mut child = launcher.spawn(job)?;
        // A time too far away to be represented is never.
        let deadline = started.checked_add(self.limits.timeout);
        let mut pipes = ScriptPipes::of(&mut child, self.input).map_err(|error| RunError::failed(&error))?;
        let mut output = CollectedOutput::default();
        let mut stop: Option<RunStop> = None;
        let ended = loop {
            if stop.is_none() {
                stop = self.reason_to_stop(deadline, &output);
                if stop.is_some() {
                    child.kill();
                }
            }
            let left = deadline.filter(|_| stop.is_none()).map(|it| it.saturating_duration_since(Instant::now()));
            let most = left.map_or(CANCEL_INTERVAL, |left| CANCEL_INTERVAL.min(left));
            pipes.wait(&child, most).map_err(|error| RunError::failed(&error))?;
            self.transfer(&mut pipes, &mut output);
            if output.truncated && stop.is_none() {
                stop = Some(RunStop::Output);
                child.kill();
            }
            if let Some(ended) = child.try_wait()? {
                break ended;
            }
        };
        // Its last output is still in the pipes, and no process can add to it any more.
        while pipes.has_output() && !output.truncated && self.transfer(&mut pipes, &mut output) {}
        self.result(&child, &ended, stop, output, started.elapsed())
    }

    fn reason_to_stop(&self, deadline: Option<Instant>, output: &CollectedOutput) -> Option<RunStop> {
        if output.truncated {
            Some(RunStop::Output)
        } else if (self.request.cancelled)() {
            Some(RunStop::Cancelled)
        } else if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            Some(RunStop::Timeout)
        } else {
            None
        }
    }

    /// Moves input and output as far as that is possible without waiting. Returns whether there was output.
    fn transfer(&self, pipes: &mut ScriptPipes<'_>, output: &mut CollectedOutput) -> bool {
        pipes.feed();
        let mut moved = false;
        let mut buffer = [0; 16 * 1024];
        for stream in [Stream::Stdout, Stream::Stderr] {
            let (pipe, other) = match stream {
                Stream::Stdout => (&mut pipes.stdout, output.stderr.len()),
                Stream::Stderr => (&mut pipes.stderr, output.stdout.len()),
            };
            let Some(file) = pipe else { continue };
            match file.read(&mut buffer) {
                Ok(0) => *pipe = None,
                Ok(read) => {
                    moved = true;
                    let kept = if stream == Stream::Stdout { &mut output.stdout } else { &mut output.stderr };
                    let room = self.limits.output.saturating_sub(kept.len() + other);
                    let part = &buffer[..read.min(room)];
                    output.truncated |= read > room;
                    if !part.is_empty() {
                        kept.extend_from_slice(part);
                        (self.request.on_output)(stream, part);
                    }
                }
                Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {}
                Err(_) => *pipe = None,
            }
        }
        moved
    }

    fn result(
        &self,
        child: &RunningJob,
        ended: &JobEnd,
        stop: Option<RunStop>,
        output: CollectedOutput,
        duration: Duration,
    ) -> Result<RunResult, RunError> {
        let CollectedOutput { stdout, stderr, truncated } = output;
        let (exit_code, signal, sandbox) = (ended.code, ended.signal, child.report().clone());
        let sandboxed = sandbox.sandboxed;
        let result = RunResult { exit_code, signal, stdout, stderr, truncated, duration, sandboxed, sandbox };
        let result = Box::new(result);
        let bounds = &self.limits.bounds;
        match (stop, ended.reason) {
            _ if truncated => Err(RunError::OutputTruncated { limit: self.limits.output, result }),
            (_, Some(EndReason::Memory)) => {
                Err(RunError::Memory { limit: bounds.memory_total, used: ended.memory, result })
            }
            (_, Some(EndReason::Processes)) => Err(RunError::Processes { limit: bounds.processes, result }),
            (_, Some(EndReason::Disk)) => Err(RunError::Disk { limit: bounds.tmp_size, result }),
            (_, Some(EndReason::Timeout)) => Err(RunError::Timeout { limit: self.limits.timeout, result }),
            // It may have ended by itself in the same moment.
            (Some(RunStop::Cancelled), Some(_)) => Err(RunError::Cancelled { result: Some(result) }),
            (Some(_), Some(_)) => Err(RunError::Timeout { limit: self.limits.timeout, result }),
            _ => Ok(*result),
        }
    }
}

/// The host's ends of the three pipes.
struct ScriptPipes<'i> {
    stdin: Option<File>,
    input: &'i [u8],
    stdout: Option<File>,
    stderr: Option<File>,
}

impl<'i> ScriptPipes<'i> {
    fn of(child: &mut RunningJob, input: &'i [u8]) -> io::Result<ScriptPipes<'i>> {
        let mut pipes =
            ScriptPipes { stdin: child.take_stdin(), input, stdout: child.take_stdout(), stderr: child.take_stderr() };
        for file in [&pipes.stdin, &pipes.stdout, &pipes.stderr].into_iter().flatten() {
            rustix::io::ioctl_fionbio(file, true)?;
        }
        pipes.feed();
        Ok(pipes)
    }

    fn has_output(&self) -> bool {
        self.stdout.is_some() || self.stderr.is_some()
    }

    /// Writes as much of the input as fits, and closes it after the last byte. A script that does not read is no error.
    fn feed(&mut self) {
        while let Some(stdin) = &mut self.stdin {
            if self.input.is_empty() {
                self.stdin = None;
                return;
            }
            match stdin.write(self.input) {
                Ok(written) => self.input = &self.input[written..],
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => self.stdin = None,
            }
        }
    }

    /// Waits until something can be moved, the job has ended, or `most` is over.
    fn wait(&self, child: &RunningJob, most: Duration) -> io::Result<()> {
        let mut fds = vec![PollFd::from_borrowed_fd(child.as_fd(), PollFlags::IN)];
        fds.extend(self.stdin.as_ref().map(|file| PollFd::new(file, PollFlags::OUT)));
        fds.extend([&self.stdout, &self.stderr].into_iter().flatten().map(|file| PollFd::new(file, PollFlags::IN)));
        let most = rustix::fs::Timespec { tv_sec: 0, tv_nsec: most.subsec_nanos().into() };
        match rustix::event::poll(&mut fds, Some(&most)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}
