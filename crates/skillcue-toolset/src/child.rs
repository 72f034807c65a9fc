//! One child process as the host sees it: its questions are answered, its results handed to the callers that wait.

mod reader;

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufWriter, Read as _};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::value::RawValue;
use skillcue_base::lock;
use skillcue_exec::{ExecError, Job, Killer, Launcher, RunningJob, SandboxReport};

use crate::error::ToolError;
use crate::frame;
use crate::interface::ToolsetLimits;
use crate::message::{
    AbortMessage, CallMessage, DoneMessage, FailedMessage, HostMessage, LoadMessage, LogLevel, ToolsetDefinitions,
};
use crate::resolve::{ModuleDependencies, Resolver};
use reader::ChildReader;

/// The interval at which a caller is asked whether it still waits.
const CANCEL_INTERVAL: Duration = Duration::from_millis(20);

/// Something that happens to a call, or to all of them.
#[derive(Debug)]
pub(crate) enum CallEvent {
    Log(LogLevel, String),
    Done(Box<DoneMessage>),
    Failed(Box<FailedMessage>),
    Aborted { settled: bool },
    Gone(ExitCause),
}

/// The reason that a child has ended.
#[derive(Debug, Clone)]
pub(crate) enum ExitCause {
    /// The host has killed it.
    Killed,
    /// It broke the protocol.
    Protocol(String),
    /// It ended by itself.
    Ended,
}

/// The outcome of loading.
pub(crate) enum LoadOutcome {
    Ready(ToolsetDefinitions, ModuleDependencies),
    /// Loading did not come to an end; with the entry that was being evaluated.
    Stuck {
        entry: usize,
        reason: String,
    },
}

/// Takes the bytecode of modules, and the files that were read for them.
pub(crate) type BytecodeSink = Box<dyn FnOnce(Vec<(String, Vec<u8>)>, &ModuleDependencies) + Send>;

/// Takes the files that have been read after loading: a tool has called `import()`.
pub(crate) type DependencySink = Box<dyn Fn(&ModuleDependencies) + Send>;

/// The part of a child that its reader has, too.
struct ChildLink {
    stdin: Mutex<BufWriter<File>>,
    waiting: Mutex<WaitingCalls>,
    killed: AtomicBool,
}

#[derive(Default)]
struct WaitingCalls {
    /// The callers that wait, and until when.
    calls: HashMap<u64, (Sender<CallEvent>, Instant)>,
    gone: Option<ExitCause>,
}

enum LoadProgress {
    Loading(usize),
    Ready(Box<(ToolsetDefinitions, ModuleDependencies)>),
    Gone(ExitCause),
}

/// A process that has a skill's toolsets loaded. Dropping it ends it.
pub(crate) struct WarmChild {
    child: Mutex<RunningJob>,
    killer: Killer,
    shared: Arc<ChildLink>,
    retired: AtomicBool,
    last: AtomicU64,
    used: Mutex<Instant>,
    report: SandboxReport,
}

impl ChildLink {
    fn send(&self, message: &HostMessage, bytes: &[&[u8]]) -> std::io::Result<()> {
        frame::write(&mut *lock(&self.stdin), message, bytes)
    }

    /// Hands an event to the caller that waits for it.
    fn notify(&self, id: u64, event: CallEvent, is_last: bool) {
        let mut waiting = lock(&self.waiting);
        let sender = if is_last { waiting.calls.remove(&id) } else { waiting.calls.get(&id).cloned() };
        if let Some((sender, _)) = sender {
            let _ = sender.send(event);
        }
    }

    /// Ends all calls.
    fn end(&self, gone: &ExitCause) {
        let mut waiting = lock(&self.waiting);
        for (_, (sender, _)) in waiting.calls.drain() {
            let _ = sender.send(CallEvent::Gone(gone.clone()));
        }
        waiting.gone = Some(gone.clone());
    }
}

impl WarmChild {
    /// Starts a child and has it load.
    pub(crate) fn start(
        launcher: &Launcher,
        job: &Job,
        load: LoadMessage,
        bytes: &[&[u8]],
        resolver: Resolver,
        (on_bytecode, on_files): (BytecodeSink, DependencySink),
        limits: &ToolsetLimits,
    ) -> Result<(WarmChild, LoadOutcome), ToolError> {
        let mut child = launcher.spawn(job)?;
        let broken = || ExecError::Broken("its pipes are gone".to_owned());
        let stdin = child.take_stdin().ok_or_else(broken)?;
        let stdout = child.take_stdout().ok_or_else(broken)?;
        // So that half a megabyte of bytecode need not be handed over in pieces. Not needed, so failing does not
        // matter.
        #[cfg(target_os = "linux")]
        let _ = rustix::pipe::fcntl_setpipe_size(&stdin, 1 << 20);
        let stderr = child.take_stderr();
        let new_killer = || child.killer().map_err(|error| ExecError::Broken(error.to_string()));
        let (killer, for_reader) = (new_killer()?, new_killer()?);
        let report = child.report().clone();
        let shared = Arc::new(ChildLink {
            stdin: Mutex::new(BufWriter::with_capacity(64 << 10, stdin)),
            waiting: Mutex::default(),
            killed: AtomicBool::new(false),
        });
        let (progress, loading) = channel();
        let sent = load.cached.iter().map(|module| module.id.clone()).collect();
        let reader = ChildReader {
            shared: Arc::clone(&shared),
            resolver,
            sent,
            progress,
            on_bytecode: Some(on_bytecode),
            on_files,
            is_ready: false,
            skill: load.skill.clone(),
        };
        std::thread::Builder::new()
            .name("toolset reader".into())
            .spawn(move || reader.run(stdout, &for_reader))
            .map_err(|error| ExecError::Broken(error.to_string()))?;
        if let Some(stderr) = stderr {
            drain(stderr);
        }
        let max_wait =
            limits.load.saturating_mul(u32::try_from(load.entries.len()).unwrap_or(1).max(1)) + limits.grace * 4;
        // If it cannot be written, the reader sees the end and reports it.
        let _ = shared.send(&HostMessage::Load(Box::new(load)), bytes);
        let warm = WarmChild {
            child: Mutex::new(child),
            killer,
            shared,
            retired: AtomicBool::new(false),
            last: AtomicU64::new(0),
            used: Mutex::new(Instant::now()),
            report,
        };
        let loaded = warm.load_outcome(&loading, max_wait);
        Ok((warm, loaded))
    }

    /// Waits until the child has loaded, for at most `max_wait`.
    fn load_outcome(&self, loading: &Receiver<LoadProgress>, max_wait: Duration) -> LoadOutcome {
        let until = Instant::now() + max_wait;
        let mut entry = 0;
        loop {
            match loading.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(LoadProgress::Loading(at)) => entry = at,
                Ok(LoadProgress::Ready(ready)) => return LoadOutcome::Ready(ready.0, ready.1),
                Ok(LoadProgress::Gone(gone)) => {
                    let reason = match gone {
                        ExitCause::Protocol(reason) => format!("it broke the protocol: {reason}"),
                        ExitCause::Killed => "it was killed".to_owned(),
                        ExitCause::Ended => self.exit_description(),
                    };
                    return LoadOutcome::Stuck { entry, reason };
                }
                Err(_) => {
                    self.kill();
                    return LoadOutcome::Stuck {
                        entry,
                        reason: "it did not finish loading in time and had to be killed".to_owned(),
                    };
                }
            }
        }
    }

    /// Describes the way in which the process ended.
    fn exit_description(&self) -> String {
        let ended = lock(&self.child).wait_timeout(Duration::from_secs(2));
        match ended {
            Ok(Some(ended)) => match (ended.reason, ended.signal, ended.code) {
                (Some(skillcue_exec::EndReason::Memory), ..) => "it used more memory than it may".to_owned(),
                (_, Some(signal), _) => format!("signal {signal} ended it"),
                (_, _, Some(code)) => format!("it ended with code {code}"),
                _ => "it ended".to_owned(),
            },
            _ => "it ended".to_owned(),
        }
    }

    pub(crate) fn report(&self) -> &SandboxReport {
        &self.report
    }

    /// Returns whether calls can be made.
    pub(crate) fn is_usable(&self) -> bool {
        !self.retired.load(Ordering::Acquire) && lock(&self.shared.waiting).gone.is_none()
    }

    /// Lets it take no more calls: a tool in it may still be at work.
    pub(crate) fn retire(&self) {
        self.retired.store(true, Ordering::Release);
    }

    /// Returns the time since the last call, if no call is running.
    pub(crate) fn idle_time(&self) -> Option<Duration> {
        lock(&self.shared.waiting).calls.is_empty().then(|| lock(&self.used).elapsed())
    }

    pub(crate) fn kill(&self) {
        self.shared.killed.store(true, Ordering::Release);
        self.retire();
        self.killer.kill();
    }

    /// Makes a call and waits for its outcome.
    pub(crate) fn call(
        &self,
        tool: &str,
        arguments: &RawValue,
        limits: &ToolsetLimits,
        context: &crate::CallContext<'_>,
        delivered: &mut bool,
    ) -> Result<DoneMessage, ToolError> {
        let id = self.last.fetch_add(1, Ordering::Relaxed) + 1;
        let (sender, events) = channel();
        {
            let mut waiting = lock(&self.shared.waiting);
            if waiting.gone.is_some() {
                return Err(ToolError::Restarted { id: tool.to_owned() });
            }
            waiting.calls.insert(id, (sender, Instant::now() + limits.call));
        }
        *lock(&self.used) = Instant::now();
        let call = CallMessage {
            id,
            tool: tool.to_owned(),
            arguments: arguments.to_owned(),
            session: context.session_id.to_owned(),
            timeout_ms: u64::try_from(limits.call.as_millis()).unwrap_or(u64::MAX),
        };
        if self.shared.send(&HostMessage::Call(Box::new(call)), &[]).is_err() {
            lock(&self.shared.waiting).calls.remove(&id);
            self.retire();
            return Err(ToolError::Restarted { id: tool.to_owned() });
        }
        *delivered = true;
        let result = self.wait(id, tool, &events, limits, context);
        lock(&self.shared.waiting).calls.remove(&id);
        *lock(&self.used) = Instant::now();
        result
    }

    fn wait(
        &self,
        id: u64,
        tool: &str,
        events: &Receiver<CallEvent>,
        limits: &ToolsetLimits,
        context: &crate::CallContext<'_>,
    ) -> Result<DoneMessage, ToolError> {
        let until = Instant::now() + limits.call;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            match events.recv_timeout(left.min(CANCEL_INTERVAL)) {
                Ok(CallEvent::Log(level, text)) => (context.log)(level, &text),
                Ok(CallEvent::Done(done)) => return Ok(*done),
                Ok(CallEvent::Failed(failed)) => return Err(self.failed(tool, *failed, limits)),
                Ok(CallEvent::Gone(gone)) => return Err(self.gone(tool, gone)),
                Ok(CallEvent::Aborted { .. }) => {}
                Err(RecvTimeoutError::Disconnected) => return Err(self.gone(tool, ExitCause::Ended)),
                Err(RecvTimeoutError::Timeout) => {
                    let late = Instant::now() >= until;
                    if late || (context.cancelled)() {
                        self.stop(id, events, limits.grace);
                        let id = tool.to_owned();
                        return Err(if late {
                            ToolError::Timeout { id, limit: limits.call }
                        } else {
                            ToolError::Cancelled { id }
                        });
                    }
                }
            }
        }
    }

    /// Tells a tool to stop, and ends its process if it does not.
    fn stop(&self, id: u64, events: &Receiver<CallEvent>, grace: Duration) {
        let _ = self.shared.send(&HostMessage::Abort(AbortMessage { id }), &[]);
        let until = Instant::now() + grace;
        loop {
            match events.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(CallEvent::Log(..)) => {}
                // No caller waits for what it returns now.
                Ok(
                    CallEvent::Done(_)
                    | CallEvent::Failed(_)
                    | CallEvent::Aborted { settled: true }
                    | CallEvent::Gone(_),
                )
                | Err(RecvTimeoutError::Disconnected) => return,
                Ok(CallEvent::Aborted { settled: false }) => {
                    // It received the abort, and went on. Its process ends when the calls beside it are done.
                    self.retire();
                    return;
                }
                Err(RecvTimeoutError::Timeout) => break,
            }
        }
        // It does not respond: it is inside of some function of the engine, or runs without pause. If other calls wait
        // that have time left, one of them may be the one that runs, and may do so until its own time is up; then that
        // call gets here and decides.
        let now = Instant::now();
        let others = lock(&self.shared.waiting).calls.iter().any(|(other, (_, until))| *other != id && *until > now);
        if others {
            self.retire();
        } else {
            self.kill();
        }
    }

    /// Returns the error for a failure that the child reports.
    fn failed(&self, tool: &str, failed: FailedMessage, limits: &ToolsetLimits) -> ToolError {
        let id = tool.to_owned();
        match failed.code.as_str() {
            "invalid_argument" => ToolError::InvalidArguments { id, message: failed.message },
            "no_such_tool" => ToolError::NoSuchTool { id, known: Vec::new() },
            "bad_result" => ToolError::BadResult { id, message: failed.message },
            "too_large" => ToolError::TooLarge { id },
            "timeout" => {
                // The code that was interrupted may have left things half done.
                self.retire();
                ToolError::Timeout { id, limit: limits.call }
            }
            "memory" => {
                self.retire();
                ToolError::Memory { id }
            }
            _ => {
                let place = failed.file.map(|file| match (failed.line, failed.column) {
                    (Some(line), Some(column)) => format!("{file}:{line}:{column}"),
                    _ => file,
                });
                ToolError::Threw { id, message: failed.message, place, stack: failed.stack }
            }
        }
    }

    /// Returns the error for a child that has ended.
    fn gone(&self, tool: &str, gone: ExitCause) -> ToolError {
        let id = tool.to_owned();
        match gone {
            ExitCause::Killed => ToolError::Restarted { id },
            ExitCause::Protocol(reason) => ToolError::Protocol { id, reason },
            ExitCause::Ended => {
                let reason = self.exit_description();
                if reason.contains("memory") { ToolError::Memory { id } } else { ToolError::Crashed { id, reason } }
            }
        }
    }
}

/// Reads the child's standard error, so that the child never waits for that, and logs the beginning of it.
fn drain(mut stderr: File) {
    let reading = move || {
        let mut piece = [0; 4 << 10];
        let mut logged = 0;
        while let Ok(read) = stderr.read(&mut piece) {
            if read == 0 {
                break;
            }
            if logged < 64 << 10 {
                logged += read;
                let text = String::from_utf8_lossy(&piece[..read]);
                tracing::debug!(target: "skillcue::toolset", text = %skillcue_base::Shown(&text), "stderr");
            }
        }
    };
    let _ = std::thread::Builder::new().name("toolset stderr".into()).stack_size(128 << 10).spawn(reading);
}
