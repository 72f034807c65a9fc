//! The two pipes to the host, the clock that interrupts scripts, and the state that the loader and the loop share.

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet, VecDeque};
use std::io::{BufReader, BufWriter, Stdout};
use std::rc::Rc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::frame;
use crate::message::{
    ChildMessage, HostMessage, LogLevel, LogMessage, MAX_BYTECODE_BYTES, ModuleAnswer, ModuleKind, ModuleRefusal,
    WireDiagnostic,
};

/// The most lines of one tool's log; further ones are only counted. Refilled with every call.
const MAX_LOG_LINES: u32 = 1_000;
/// The longest line of the log.
const MAX_LOG_LINE_BYTES: usize = 8 << 10;
/// The longest message a host sends: arguments, or a module's source with its quotes escaped.
const MAX_MESSAGE_BYTES: usize = 16 << 20;

/// Modules and their bytecode.
pub(super) type ModuleBytecode = Vec<(String, Vec<u8>)>;

enum Incoming {
    Message(Box<HostMessage>, Vec<Vec<u8>>),
    Hangup,
}

pub(super) struct HostLink {
    inbox: Receiver<Incoming>,
    /// Messages that came while the child waited for an answer.
    deferred: RefCell<VecDeque<(HostMessage, Vec<Vec<u8>>)>>,
    out: RefCell<BufWriter<Stdout>>,
    pub(super) clock: Rc<InterruptClock>,
    /// Sources the host has sent, stripped and ready.
    pub(super) sources: RefCell<HashMap<String, (ModuleKind, Rc<str>)>>,
    pub(super) resolved: RefCell<HashMap<(String, String), String>>,
    /// The ids of all modules met so far.
    pub(super) known: RefCell<HashSet<String>>,
    /// Bytecode from an earlier run, by module.
    pub(super) cached: RefCell<HashMap<String, &'static [u8]>>,
    /// Bytecode made in this run, if it is wanted.
    pub(super) compiled: RefCell<Option<ModuleBytecode>>,
    /// The problems of modules that did not load.
    pub(super) broken: RefCell<HashMap<String, WireDiagnostic>>,
    /// The first problem since it was last taken.
    pub(super) first_problem: RefCell<Option<WireDiagnostic>>,
    graph: Cell<(usize, usize)>,
    log_left: Cell<u32>,
    log_dropped: Cell<usize>,
    /// Bytes behind the message received last.
    pub(super) bytes: RefCell<Vec<Vec<u8>>>,
}

impl HostLink {
    pub(super) fn on_standard_streams() -> HostLink {
        let (sender, inbox) = channel();
        let aborts = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&aborts);
        let reading = move || {
            let mut from = BufReader::with_capacity(64 << 10, std::io::stdin());
            while let Ok(message) = frame::read::<HostMessage>(&mut from, MAX_MESSAGE_BYTES) {
                let lengths = match &message {
                    HostMessage::Load(load) => load.cached.iter().map(|module| module.length).collect(),
                    HostMessage::Abort(abort) => {
                        skillcue_base::lock(&seen).push(abort.id);
                        Vec::new()
                    }
                    _ => Vec::new(),
                };
                let Ok(bytes) = frame::read_bytes(&mut from, lengths.into_iter(), MAX_BYTECODE_BYTES) else { break };
                if sender.send(Incoming::Message(Box::new(message), bytes)).is_err() {
                    return;
                }
            }
            // The host has ended; a script that runs now would run for nothing.
            let _ = sender.send(Incoming::Hangup);
            std::thread::sleep(Duration::from_millis(50));
            std::process::exit(0);
        };
        // Without a second thread nothing can be received while a script runs; there is no use in going on then.
        if std::thread::Builder::new().name("reader".into()).stack_size(256 << 10).spawn(reading).is_err() {
            std::process::exit(71);
        }
        HostLink {
            inbox,
            deferred: RefCell::default(),
            out: RefCell::new(BufWriter::new(std::io::stdout())),
            clock: Rc::new(InterruptClock {
                until: Cell::new(None),
                running: Cell::new(0),
                in_flight: RefCell::default(),
                aborts,
                interrupted: Cell::new(None),
            }),
            sources: RefCell::default(),
            resolved: RefCell::default(),
            known: RefCell::default(),
            cached: RefCell::default(),
            compiled: RefCell::default(),
            broken: RefCell::default(),
            first_problem: RefCell::default(),
            graph: Cell::default(),
            log_left: Cell::new(MAX_LOG_LINES),
            log_dropped: Cell::new(0),
            bytes: RefCell::default(),
        }
    }

    pub(super) fn send(&self, message: &ChildMessage) {
        self.send_with(message, &[]);
    }

    pub(super) fn send_with(&self, message: &ChildMessage, bytes: &[&[u8]]) {
        if frame::write(&mut *self.out.borrow_mut(), message, bytes).is_err() {
            std::process::exit(0);
        }
    }

    /// Returns the next message: waits for `wait`, or for ever. None if there was none in time.
    pub(super) fn receive(&self, wait: Option<Duration>) -> Option<HostMessage> {
        if let Some((message, bytes)) = self.deferred.borrow_mut().pop_front() {
            *self.bytes.borrow_mut() = bytes;
            return Some(message);
        }
        let incoming = match wait {
            None => self.inbox.recv().ok(),
            Some(wait) => match self.inbox.recv_timeout(wait) {
                Ok(incoming) => Some(incoming),
                Err(RecvTimeoutError::Timeout) => return None,
                Err(RecvTimeoutError::Disconnected) => None,
            },
        };
        match incoming {
            Some(Incoming::Message(message, bytes)) => {
                *self.bytes.borrow_mut() = bytes;
                Some(*message)
            }
            Some(Incoming::Hangup) | None => std::process::exit(0),
        }
    }

    /// Asks the host for a module and waits for its answer.
    pub(super) fn ask(&self, question: &ChildMessage) -> ModuleAnswer {
        self.send(question);
        loop {
            match self.inbox.recv() {
                Ok(Incoming::Message(message, bytes)) => match *message {
                    HostMessage::Module(answer) => return answer,
                    other => self.deferred.borrow_mut().push_back((other, bytes)),
                },
                _ => std::process::exit(0),
            }
        }
    }

    /// Counts a module of the graph, unless there are too many or they are too large.
    pub(super) fn admit(&self, length: usize) -> Result<(), ModuleRefusal> {
        let (modules, bytes) = self.graph.get();
        let now = (modules + 1, bytes + length);
        let refused = |message: String| {
            Err(ModuleRefusal {
                code: "module_refused".into(),
                message,
                help: Some("import less, or bundle what is imported".into()),
            })
        };
        if now.0 > crate::MAX_MODULES {
            return refused(format!("a skill may have at most {} modules", crate::MAX_MODULES));
        }
        if now.1 > crate::MAX_GRAPH_BYTES {
            return refused(format!("the modules of a skill may have at most {} bytes", crate::MAX_GRAPH_BYTES));
        }
        self.graph.set(now);
        Ok(())
    }

    /// Notes a problem; the first one counts, later ones follow from it.
    pub(super) fn report(&self, found: WireDiagnostic) {
        self.first_problem.borrow_mut().get_or_insert(found);
    }

    pub(super) fn log(&self, level: LogLevel, text: &str, call: Option<u64>) {
        let left = self.log_left.get();
        if left == 0 {
            self.log_dropped.set(self.log_dropped.get() + 1);
            return;
        }
        self.log_left.set(left - 1);
        let text = crate::cut(text, MAX_LOG_LINE_BYTES);
        self.send(&ChildMessage::Log(LogMessage { level, text: text.to_owned(), call }));
    }

    /// Lets the log take lines again, and logs how many it did not take.
    pub(super) fn refill_log(&self) {
        self.log_left.set(MAX_LOG_LINES);
        let dropped = self.log_dropped.replace(0);
        if dropped > 0 {
            self.log(
                LogLevel::Warn,
                &format!("the log leaves out {dropped} more {}", skillcue_base::noun(dropped, "line")),
                None,
            );
        }
    }
}

/// Decides when the script that runs must stop.
pub(super) struct InterruptClock {
    pub(super) until: Cell<Option<Instant>>,
    /// The call whose code runs now; 0 if that is not known.
    pub(super) running: Cell<u64>,
    /// The calls in flight.
    pub(super) in_flight: RefCell<Vec<u64>>,
    /// Aborts that have arrived and not been handled.
    aborts: Arc<Mutex<Vec<u64>>>,
    /// The call whose code was interrupted since this was last taken; 0 if that is not known.
    pub(super) interrupted: Cell<Option<u64>>,
}

impl InterruptClock {
    /// Returns whether the script that runs must stop now.
    pub(super) fn is_over(&self) -> bool {
        let late = self.until.get().is_some_and(|until| Instant::now() >= until);
        let unwanted = || {
            let aborts = skillcue_base::lock(&self.aborts);
            let running = self.running.get();
            // Code of an unknown call is only unwanted when all calls that it could belong to are aborted.
            let all_aborted = || {
                let in_flight = self.in_flight.borrow();
                !in_flight.is_empty() && in_flight.iter().all(|id| aborts.contains(id))
            };
            !aborts.is_empty() && (aborts.contains(&running) || running == 0 && all_aborted())
        };
        let over = late || unwanted();
        if over {
            self.interrupted.set(Some(self.running.get()));
        }
        over
    }

    /// Returns whether code of a call was interrupted, and forgets it.
    pub(super) fn take_interrupt(&self, id: u64) -> bool {
        let is_own = self.interrupted.get().is_some_and(|of| of == id || of == 0);
        if is_own {
            self.interrupted.set(None);
        }
        is_own
    }

    /// Forgets an abort that has been handled.
    pub(super) fn forget_abort(&self, id: u64) {
        skillcue_base::lock(&self.aborts).retain(|other| *other != id);
    }
}
