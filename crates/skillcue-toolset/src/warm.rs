//! One child process as the host sees it: questions answered, results handed to whoever waits.

use skillcue_base::lock;
use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{BufReader, BufWriter, Read as _};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::value::RawValue;
use skillcue_exec::{Job, Killer, Launcher, RunningJob, SandboxReport};

use crate::frame::{self, FrameError};
use crate::message::{Abort, Call, Done, Failed, FromChild, Level, Load, ModuleAnswer, Ready, ToChild};
use crate::resolve::{Resolver, Seen};
use crate::subject::{Limits, ToolError};

/// The longest line a child may send: a result, every byte of which JSON may write as six, with its metadata.
const LINE: usize = 8 << 20;
/// All bytecode of one skill.
const BYTECODE: u64 = 128 << 20;
/// How often a caller is asked whether it still waits.
const LOOK: Duration = Duration::from_millis(20);

/// What happens to a call, or to all of them.
#[derive(Debug)]
pub(crate) enum Event {
    Log(Level, String),
    Done(Box<Done>),
    Failed(Box<Failed>),
    Aborted { settled: bool },
    Gone(Gone),
}

/// Why a child is no more.
#[derive(Debug, Clone)]
pub(crate) enum Gone {
    /// We have killed it.
    Killed,
    /// It broke the protocol.
    Protocol(String),
    /// It ended by itself.
    Ended,
}

/// How loading went.
pub(crate) enum Loaded {
    Ready(Ready, Seen),
    /// It did not come to an end; with the entry that was being evaluated.
    Stuck {
        entry: usize,
        reason: String,
    },
}

/// What is done with bytecode, and with what the resolver has seen.
pub(crate) type Keep = Box<dyn FnOnce(Vec<(String, Vec<u8>)>, &Seen) + Send>;

/// What is done when more has been read after loading: a tool has said `import()`.
pub(crate) type More = Box<dyn Fn(&Seen) + Send>;

struct Shared {
    stdin: Mutex<BufWriter<File>>,
    waiting: Mutex<Waiting>,
    killed: AtomicBool,
}

#[derive(Default)]
struct Waiting {
    /// Who waits, and for how long.
    calls: HashMap<u64, (Sender<Event>, Instant)>,
    gone: Option<Gone>,
}

enum Progress {
    Loading(usize),
    Ready(Box<(Ready, Seen)>),
    Gone(Gone),
}

/// A process that has a skill's toolsets loaded. Dropping it ends it.
pub(crate) struct Warm {
    child: Mutex<RunningJob>,
    killer: Killer,
    shared: Arc<Shared>,
    retired: AtomicBool,
    last: AtomicU64,
    used: Mutex<Instant>,
    report: SandboxReport,
}

impl Shared {
    fn send(&self, message: &ToChild, bytes: &[&[u8]]) -> std::io::Result<()> {
        frame::write(&mut *lock(&self.stdin), message, bytes)
    }

    fn tell(&self, id: u64, event: Event, last: bool) {
        let mut waiting = lock(&self.waiting);
        let sender = if last { waiting.calls.remove(&id) } else { waiting.calls.get(&id).cloned() };
        if let Some((sender, _)) = sender {
            let _ = sender.send(event);
        }
    }

    fn end(&self, gone: &Gone) {
        let mut waiting = lock(&self.waiting);
        for (_, (sender, _)) in waiting.calls.drain() {
            let _ = sender.send(Event::Gone(gone.clone()));
        }
        waiting.gone = Some(gone.clone());
    }
}

impl Warm {
    /// Starts a child and has it load.
    pub(crate) fn start(
        launcher: &Launcher,
        job: &Job,
        load: Load,
        bytes: &[&[u8]],
        resolver: Resolver,
        (keep, more): (Keep, More),
        limits: &Limits,
    ) -> Result<(Warm, Loaded), ToolError> {
        let mut child = launcher.spawn(job)?;
        let broken = || skillcue_exec::ExecError::Broken("its pipes are gone".to_owned());
        let stdin = child.take_stdin().ok_or_else(broken)?;
        let stdout = child.take_stdout().ok_or_else(broken)?;
        // So that half a megabyte of bytecode need not be handed over in pieces. Not needed, so failing does not matter.
        #[cfg(target_os = "linux")]
        let _ = rustix::pipe::fcntl_setpipe_size(&stdin, 1 << 20);
        let stderr = child.take_stderr();
        let killer = child.killer().map_err(|error| skillcue_exec::ExecError::Broken(error.to_string()))?;
        let report = child.report().clone();
        let shared = Arc::new(Shared {
            stdin: Mutex::new(BufWriter::with_capacity(64 << 10, stdin)),
            waiting: Mutex::default(),
            killed: AtomicBool::new(false),
        });
        let (progress, loading) = channel();
        let sent = load.cached.iter().map(|module| module.id.clone()).collect();
        let reader = Reader {
            shared: Arc::clone(&shared),
            resolver,
            sent,
            progress,
            keep: Some(keep),
            more,
            ready: false,
            skill: load.skill.clone(),
        };
        let ending = killer_of(&child)?;
        std::thread::Builder::new()
            .name("toolset reader".into())
            .spawn(move || reader.run(stdout, &ending))
            .map_err(|error| skillcue_exec::ExecError::Broken(error.to_string()))?;
        if let Some(stderr) = stderr {
            drain(stderr);
        }
        let patience =
            limits.load.saturating_mul(u32::try_from(load.entries.len()).unwrap_or(1).max(1)) + limits.grace * 4;
        // If it cannot be written, the reader sees the end and says so.
        let _ = shared.send(&ToChild::Load(Box::new(load)), bytes);
        let warm = Warm {
            child: Mutex::new(child),
            killer,
            shared,
            retired: AtomicBool::new(false),
            last: AtomicU64::new(0),
            used: Mutex::new(Instant::now()),
            report,
        };
        let loaded = warm.loaded(&loading, patience);
        Ok((warm, loaded))
    }

    fn loaded(&self, loading: &Receiver<Progress>, patience: Duration) -> Loaded {
        let until = Instant::now() + patience;
        let mut entry = 0;
        loop {
            match loading.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(Progress::Loading(at)) => entry = at,
                Ok(Progress::Ready(ready)) => return Loaded::Ready(ready.0, ready.1),
                Ok(Progress::Gone(gone)) => {
                    let reason = match gone {
                        Gone::Protocol(reason) => format!("it broke the protocol: {reason}"),
                        Gone::Killed => "it was killed".to_owned(),
                        Gone::Ended => self.ended(),
                    };
                    return Loaded::Stuck { entry, reason };
                }
                Err(_) => {
                    self.kill();
                    return Loaded::Stuck {
                        entry,
                        reason: "it did not finish loading in time and had to be killed".to_owned(),
                    };
                }
            }
        }
    }

    /// How the process ended.
    fn ended(&self) -> String {
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

    /// Whether calls can be made.
    pub(crate) fn is_usable(&self) -> bool {
        !self.retired.load(Ordering::Acquire) && lock(&self.shared.waiting).gone.is_none()
    }

    /// Lets it take no more calls: something in it may still be at work.
    pub(crate) fn retire(&self) {
        self.retired.store(true, Ordering::Release);
    }

    /// How long nobody has called, if nobody waits.
    pub(crate) fn idle(&self) -> Option<Duration> {
        lock(&self.shared.waiting).calls.is_empty().then(|| lock(&self.used).elapsed())
    }

    pub(crate) fn kill(&self) {
        self.shared.killed.store(true, Ordering::Release);
        self.retire();
        self.killer.kill();
    }

    /// Makes a call and waits for what becomes of it.
    pub(crate) fn call(
        &self,
        tool: &str,
        arguments: &RawValue,
        limits: &Limits,
        context: &crate::CallContext<'_>,
        delivered: &mut bool,
    ) -> Result<Done, ToolError> {
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
        let call = Call {
            id,
            tool: tool.to_owned(),
            arguments: arguments.to_owned(),
            session: context.session_id.to_owned(),
            timeout_ms: u64::try_from(limits.call.as_millis()).unwrap_or(u64::MAX),
        };
        if self.shared.send(&ToChild::Call(Box::new(call)), &[]).is_err() {
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
        events: &Receiver<Event>,
        limits: &Limits,
        context: &crate::CallContext<'_>,
    ) -> Result<Done, ToolError> {
        let until = Instant::now() + limits.call;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            match events.recv_timeout(left.min(LOOK)) {
                Ok(Event::Log(level, text)) => (context.log)(level, &text),
                Ok(Event::Done(done)) => return Ok(*done),
                Ok(Event::Failed(failed)) => return Err(self.failed(tool, *failed, limits)),
                Ok(Event::Gone(gone)) => return Err(self.gone(tool, gone)),
                Ok(Event::Aborted { .. }) => {}
                Err(RecvTimeoutError::Disconnected) => return Err(self.gone(tool, Gone::Ended)),
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

    /// Tells a tool to stop, and sees to it that it does.
    fn stop(&self, id: u64, events: &Receiver<Event>, grace: Duration) {
        let _ = self.shared.send(&ToChild::Abort(Abort { id }), &[]);
        let until = Instant::now() + grace;
        loop {
            match events.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(Event::Log(..)) => {}
                // What it returns now, nobody waits for.
                Ok(Event::Done(_) | Event::Failed(_) | Event::Aborted { settled: true } | Event::Gone(_))
                | Err(RecvTimeoutError::Disconnected) => return,
                Ok(Event::Aborted { settled: false }) => {
                    // It heard, and went on. Its process ends when the calls beside it are done.
                    self.retire();
                    return;
                }
                Err(RecvTimeoutError::Timeout) => break,
            }
        }
        // It does not even listen: it is inside of some function of the engine, or runs without pause. If others wait
        // that have time left, one of them may be who does, and may do so until its own time is up; then it is that
        // one's turn to decide this.
        let now = Instant::now();
        let others = lock(&self.shared.waiting).calls.iter().any(|(other, (_, until))| *other != id && *until > now);
        if others {
            self.retire();
        } else {
            self.kill();
        }
    }

    fn failed(&self, tool: &str, failed: Failed, limits: &Limits) -> ToolError {
        let id = tool.to_owned();
        match failed.code.as_str() {
            "invalid_argument" => ToolError::InvalidArguments { id, message: failed.message },
            "no_such_tool" => ToolError::NoSuchTool { id, known: Vec::new() },
            "bad_result" => ToolError::BadResult { id, message: failed.message },
            "too_large" => ToolError::TooLarge { id },
            "timeout" => {
                // Whatever was interrupted may have left things half done.
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

    fn gone(&self, tool: &str, gone: Gone) -> ToolError {
        let id = tool.to_owned();
        match gone {
            Gone::Killed => ToolError::Restarted { id },
            Gone::Protocol(reason) => ToolError::Protocol { id, reason },
            Gone::Ended => {
                let reason = self.ended();
                if reason.contains("memory") { ToolError::Memory { id } } else { ToolError::Crashed { id, reason } }
            }
        }
    }
}

fn killer_of(child: &RunningJob) -> Result<Killer, ToolError> {
    child.killer().map_err(|error| skillcue_exec::ExecError::Broken(error.to_string()).into())
}

/// Keeps the child from waiting for somebody to read its standard error, and logs the beginning of it.
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

struct Reader {
    shared: Arc<Shared>,
    resolver: Resolver,
    /// Modules whose source the child has.
    sent: HashSet<String>,
    progress: Sender<Progress>,
    keep: Option<Keep>,
    more: More,
    ready: bool,
    skill: String,
}

impl Reader {
    fn run(mut self, stdout: File, killer: &Killer) {
        let mut from = BufReader::with_capacity(64 << 10, stdout);
        let gone = loop {
            match frame::read::<FromChild>(&mut from, LINE) {
                Ok(FromChild::Bytecode(bytecode)) => {
                    let lengths = bytecode.modules.iter().map(|module| module.length);
                    match frame::read_bytes(&mut from, lengths, BYTECODE) {
                        Ok(pieces) => {
                            let modules = bytecode.modules.into_iter().map(|module| module.id).zip(pieces).collect();
                            if let Some(keep) = self.keep.take() {
                                keep(modules, &self.resolver.seen);
                            }
                        }
                        Err(error) => break of_frame(&error),
                    }
                }
                Ok(message) => {
                    if let Err(error) = self.hear(message) {
                        break error;
                    }
                }
                Err(error) => break of_frame(&error),
            }
        };
        let gone = if self.shared.killed.load(Ordering::Acquire) { Gone::Killed } else { gone };
        if matches!(gone, Gone::Protocol(_)) {
            killer.kill();
        }
        self.shared.end(&gone);
        let _ = self.progress.send(Progress::Gone(gone));
    }

    fn hear(&mut self, message: FromChild) -> Result<(), Gone> {
        match message {
            FromChild::Module(question) => {
                let answer = self.resolver.resolve(&question.from, &question.specifier).and_then(|id| {
                    let source = if self.sent.contains(&id) { None } else { Some(self.resolver.source(&id)?) };
                    self.sent.insert(id.clone());
                    Ok(ModuleAnswer::Found { id, source })
                });
                if self.ready {
                    (self.more)(&self.resolver.seen);
                }
                self.answer(answer.unwrap_or_else(ModuleAnswer::Refused))
            }
            FromChild::Source(question) => {
                let known = self.sent.contains(&question.id)
                    || self.resolver.seen.resolved.values().any(|id| *id == question.id);
                if !known {
                    return Err(Gone::Protocol("it asked for a module that it never resolved".to_owned()));
                }
                let answer = self.resolver.source(&question.id);
                self.answer(answer.map_or_else(ModuleAnswer::Refused, |source| ModuleAnswer::Found {
                    id: question.id,
                    source: Some(source),
                }))
            }
            FromChild::Loading(loading) => {
                let _ = self.progress.send(Progress::Loading(loading.entry));
                Ok(())
            }
            FromChild::Ready(ready) => {
                self.ready = true;
                let _ = self.progress.send(Progress::Ready(Box::new((ready, self.resolver.seen.clone()))));
                Ok(())
            }
            FromChild::Done(done) => {
                self.shared.tell(done.id, Event::Done(Box::new(done)), true);
                Ok(())
            }
            FromChild::Failed(failed) => {
                self.shared.tell(failed.id, Event::Failed(Box::new(failed)), true);
                Ok(())
            }
            FromChild::Aborted(aborted) => {
                self.shared.tell(aborted.id, Event::Aborted { settled: aborted.settled }, true);
                Ok(())
            }
            FromChild::Log(log) => {
                self.log(log.level, &log.text);
                if let Some(call) = log.call {
                    self.shared.tell(call, Event::Log(log.level, log.text), false);
                }
                Ok(())
            }
            // The loop in `run` takes it, with the bytes behind it.
            FromChild::Bytecode(_) => Err(Gone::Protocol("it sent bytecode out of turn".to_owned())),
        }
    }

    fn answer(&self, answer: ModuleAnswer) -> Result<(), Gone> {
        self.shared.send(&ToChild::Module(answer), &[]).map_err(|_| Gone::Ended)
    }

    fn log(&self, level: Level, text: &str) {
        let (skill, text) = (self.skill.as_str(), skillcue_base::Shown(text));
        match level {
            Level::Debug => tracing::debug!(target: "skillcue::toolset", skill, "{text}"),
            Level::Info => tracing::info!(target: "skillcue::toolset", skill, "{text}"),
            Level::Warn => tracing::warn!(target: "skillcue::toolset", skill, "{text}"),
            Level::Error => tracing::error!(target: "skillcue::toolset", skill, "{text}"),
        }
    }
}

fn of_frame(error: &FrameError) -> Gone {
    match error {
        FrameError::End | FrameError::Io(_) => Gone::Ended,
        FrameError::TooLong(_) | FrameError::Garbage(_) => Gone::Protocol(error.to_string()),
    }
}
