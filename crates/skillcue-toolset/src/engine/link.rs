//! The two pipes, the clock that interrupts scripts, and what the loader and the loop share.

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet, VecDeque};
use std::io::{BufReader, BufWriter, Stdout};
use std::rc::Rc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::frame;
use crate::message::{FromChild, Kind, Level, Log, ModuleAnswer, Refused, ToChild, WireDiagnostic};

/// Lines of one tool's log until the rest is only counted; refilled with every call.
const LOG_LINES: u32 = 1_000;
/// The length of one line of the log.
const LOG_LINE: usize = 8 << 10;
/// The longest message a host sends: arguments, or a module's source with its quotes escaped.
const INCOMING: usize = 16 << 20;
/// All bytecode of one skill.
const BYTECODE: u64 = 128 << 20;

/// Modules and their bytecode.
pub(super) type Pieces = Vec<(String, Vec<u8>)>;

enum Incoming {
    Message(Box<ToChild>, Vec<Vec<u8>>),
    Hangup,
}

pub(super) struct Link {
    inbox: Receiver<Incoming>,
    /// Messages that came while an answer was waited for.
    aside: RefCell<VecDeque<(ToChild, Vec<Vec<u8>>)>>,
    out: RefCell<BufWriter<Stdout>>,
    pub(super) watch: Rc<Watch>,
    /// Sources the host has sent, stripped and ready.
    pub(super) sources: RefCell<HashMap<String, (Kind, Rc<str>)>>,
    pub(super) resolved: RefCell<HashMap<(String, String), String>>,
    /// The ids of all modules met so far.
    pub(super) known: RefCell<HashSet<String>>,
    /// Bytecode from an earlier run, by module.
    pub(super) cached: RefCell<HashMap<String, &'static [u8]>>,
    /// Bytecode made in this run, if it is wanted.
    pub(super) compiled: RefCell<Option<Pieces>>,
    /// What was wrong with modules that did not load.
    pub(super) broken: RefCell<HashMap<String, WireDiagnostic>>,
    /// The first thing that went wrong since somebody looked.
    pub(super) first: RefCell<Option<WireDiagnostic>>,
    graph: Cell<(usize, usize)>,
    log_left: Cell<u32>,
    log_dropped: Cell<usize>,
    /// Bytes behind the message received last.
    pub(super) bytes: RefCell<Vec<Vec<u8>>>,
}

impl Link {
    pub(super) fn on_standard_streams() -> Link {
        let (sender, inbox) = channel();
        let aborts = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&aborts);
        let reading = move || {
            let mut from = BufReader::with_capacity(64 << 10, std::io::stdin());
            while let Ok(message) = frame::read::<ToChild>(&mut from, INCOMING) {
                let lengths = match &message {
                    ToChild::Load(load) => load.cached.iter().map(|module| module.length).collect(),
                    ToChild::Abort(abort) => {
                        skillcue_base::lock(&seen).push(abort.id);
                        Vec::new()
                    }
                    _ => Vec::new(),
                };
                let Ok(bytes) = frame::read_bytes(&mut from, lengths.into_iter(), BYTECODE) else { break };
                if sender.send(Incoming::Message(Box::new(message), bytes)).is_err() {
                    return;
                }
            }
            // Whoever started this process is gone; a script that runs now would run for nobody.
            let _ = sender.send(Incoming::Hangup);
            std::thread::sleep(Duration::from_millis(50));
            std::process::exit(0);
        };
        // Without a second thread nothing can be received while a script runs; there is no use in going on then.
        if std::thread::Builder::new().name("reader".into()).stack_size(256 << 10).spawn(reading).is_err() {
            std::process::exit(71);
        }
        Link {
            inbox,
            aside: RefCell::default(),
            out: RefCell::new(BufWriter::new(std::io::stdout())),
            watch: Rc::new(Watch {
                until: Cell::new(None),
                running: Cell::new(0),
                flying: RefCell::default(),
                aborts,
                hit: Cell::new(None),
            }),
            sources: RefCell::default(),
            resolved: RefCell::default(),
            known: RefCell::default(),
            cached: RefCell::default(),
            compiled: RefCell::default(),
            broken: RefCell::default(),
            first: RefCell::default(),
            graph: Cell::default(),
            log_left: Cell::new(LOG_LINES),
            log_dropped: Cell::new(0),
            bytes: RefCell::default(),
        }
    }

    pub(super) fn send(&self, message: &FromChild) {
        self.send_with(message, &[]);
    }

    pub(super) fn send_with(&self, message: &FromChild, bytes: &[&[u8]]) {
        if frame::write(&mut *self.out.borrow_mut(), message, bytes).is_err() {
            std::process::exit(0);
        }
    }

    /// The next message: waits for `wait`, or for ever. `None` when there was none in time, or the host is gone.
    pub(super) fn receive(&self, wait: Option<Duration>) -> Option<ToChild> {
        if let Some((message, bytes)) = self.aside.borrow_mut().pop_front() {
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
    pub(super) fn ask(&self, question: &FromChild) -> ModuleAnswer {
        self.send(question);
        loop {
            match self.inbox.recv() {
                Ok(Incoming::Message(message, bytes)) => match *message {
                    ToChild::Module(answer) => return answer,
                    other => self.aside.borrow_mut().push_back((other, bytes)),
                },
                _ => std::process::exit(0),
            }
        }
    }

    /// Counts a module of the graph, unless there are too many or they are too large.
    pub(super) fn admit(&self, length: usize) -> Result<(), Refused> {
        let (modules, bytes) = self.graph.get();
        let now = (modules + 1, bytes + length);
        let refused = |message: String| {
            Err(Refused {
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

    /// Notes what is wrong; the first finding counts, later ones follow from it.
    pub(super) fn report(&self, found: WireDiagnostic) {
        self.first.borrow_mut().get_or_insert(found);
    }

    pub(super) fn log(&self, level: Level, text: &str, call: Option<u64>) {
        let left = self.log_left.get();
        if left == 0 {
            self.log_dropped.set(self.log_dropped.get() + 1);
            return;
        }
        self.log_left.set(left - 1);
        let text = crate::cut(text, LOG_LINE);
        self.send(&FromChild::Log(Log { level, text: text.to_owned(), call }));
    }

    /// Lets the log take lines again, and says how many it did not.
    pub(super) fn refill_log(&self) {
        self.log_left.set(LOG_LINES);
        let dropped = self.log_dropped.replace(0);
        if dropped > 0 {
            self.log(
                Level::Warn,
                &format!("the log leaves out {dropped} more {}", skillcue_base::noun(dropped, "line")),
                None,
            );
        }
    }
}

/// When the script that runs must stop.
pub(super) struct Watch {
    pub(super) until: Cell<Option<Instant>>,
    /// The call whose code runs now; 0 if that is not known.
    pub(super) running: Cell<u64>,
    /// The calls in flight.
    pub(super) flying: RefCell<Vec<u64>>,
    /// Aborts that have arrived and not been dealt with.
    aborts: Arc<Mutex<Vec<u64>>>,
    /// Whose code was interrupted since somebody looked; 0 if that is not known.
    pub(super) hit: Cell<Option<u64>>,
}

impl Watch {
    pub(super) fn over(&self) -> bool {
        let late = self.until.get().is_some_and(|until| Instant::now() >= until);
        let unwanted = || {
            let aborts = skillcue_base::lock(&self.aborts);
            let running = self.running.get();
            // Code of nobody in particular is only unwanted when everybody it could be of has gone.
            let nobodys = || {
                let flying = self.flying.borrow();
                !flying.is_empty() && flying.iter().all(|id| aborts.contains(id))
            };
            !aborts.is_empty() && (aborts.contains(&running) || running == 0 && nobodys())
        };
        let over = late || unwanted();
        if over {
            self.hit.set(Some(self.running.get()));
        }
        over
    }

    /// Whether code of a call was interrupted; asked once.
    pub(super) fn interrupted(&self, id: u64) -> bool {
        let hit = self.hit.get().is_some_and(|hit| hit == id || hit == 0);
        if hit {
            self.hit.set(None);
        }
        hit
    }

    /// An abort has been dealt with.
    pub(super) fn dealt_with(&self, id: u64) {
        skillcue_base::lock(&self.aborts).retain(|other| *other != id);
    }
}
