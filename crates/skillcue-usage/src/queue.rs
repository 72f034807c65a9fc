//! The way of an event from an answer to the disk: a bounded queue, and a thread that empties it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rusqlite::Connection;

use crate::schema::PATIENT;
use crate::{Ledger, LedgerBatch, LedgerError, LedgerEvent};

/// The number of messages that wait, each with the events of one answer. More are lost: about a megabyte.
const MAX_WAITING: usize = 4_096;
/// The number of events that are written in one transaction.
const MAX_BATCH: usize = 1_024;
/// The time for which the thread lets events gather, and how often it looks whether it should hurry. A thread that waits for
/// the next event has to be woken by the answer that sends it, and a transaction for each answer costs more than the events:
/// an answer at 1,000 skills took 8 % longer so.
const GATHERING: Duration = Duration::from_millis(100);
const LOOK: Duration = Duration::from_millis(10);
/// The time for which a thread with nothing to do keeps the file open. A long-running process must not keep the log of the
/// database from being folded in.
const MAX_IDLE: Duration = Duration::from_secs(30);
/// The pause before a file that could not be written is tried again. What comes meanwhile is lost.
const PAUSE: Duration = Duration::from_secs(5);

/// A message to the thread.
pub(crate) enum Queued {
    Event(Box<LedgerEvent>),
    /// Events that are made by the thread: masking secrets takes longer than an answer may wait.
    Draft(EventDraft),
    /// To be answered when everything before is written.
    Flush(SyncSender<()>),
}

/// A function that makes events.
pub(crate) type EventDraft = Box<dyn FnOnce() -> LedgerBatch + Send>;

/// A bounded queue of events, emptied by a thread that starts with the first one.
#[derive(Debug, Default)]
pub(crate) struct EventQueue {
    writer: Mutex<Option<WriterThread>>,
    counts: Arc<QueueCounts>,
}

/// Numbers that both sides of the queue know.
#[derive(Debug, Default)]
struct QueueCounts {
    /// Events that were lost since they were last counted in the file.
    dropped: AtomicU64,
    /// Messages that were queued, and those that were taken out.
    queued: AtomicU64,
    taken: AtomicU64,
    /// Callers that wait for everything to be written.
    flushing: AtomicU64,
}

#[derive(Debug)]
struct WriterThread {
    sender: SyncSender<Queued>,
    /// The process that it runs in: a forked one has no threads but its own.
    process: u32,
}

impl EventQueue {
    /// Queues so many events in one message. Returns whether there was room.
    pub(crate) fn push(&self, ledger: &Ledger, event: Queued, count: usize) -> bool {
        // In a forked process the lock may be held by a thread that is not there.
        let accepted = match self.writer.try_lock() {
            Ok(mut writer) => self.sender(&mut writer, ledger).is_some_and(|sender| sender.try_send(event).is_ok()),
            Err(std::sync::TryLockError::Poisoned(_)) => false,
            // Another thread of this process is about to send: that takes no longer than this look.
            Err(std::sync::TryLockError::WouldBlock) => self.push_contended(ledger, event),
        };
        if !accepted {
            self.counts.dropped.fetch_add(count as u64, Ordering::Relaxed);
        }
        self.counts.queued.fetch_add(u64::from(accepted), Ordering::Relaxed);
        accepted
    }

    fn push_contended(&self, ledger: &Ledger, event: Queued) -> bool {
        for _ in 0..1_000 {
            std::thread::yield_now();
            if let Ok(mut writer) = self.writer.try_lock() {
                let sender = self.sender(&mut writer, ledger);
                return sender.is_some_and(|sender| sender.try_send(event).is_ok());
            }
        }
        false
    }

    /// Returns the sender to a thread of this process; `None` if none can be started.
    fn sender<'w>(&self, writer: &'w mut Option<WriterThread>, ledger: &Ledger) -> Option<&'w SyncSender<Queued>> {
        let process = std::process::id();
        if writer.as_ref().is_none_or(|writer| writer.process != process) {
            let (sender, receiver) = sync_channel(MAX_WAITING);
            // Without a queue of its own: the thread must end when the last ledger does.
            let ledger = Ledger::new(ledger.path()).limits(ledger.its_limits());
            let counts = Arc::clone(&self.counts);
            let work = move || EventWriter { ledger, counts, connection: None, failed: None }.run(&receiver);
            std::thread::Builder::new().name("skillcue-usage".to_owned()).spawn(work).ok()?;
            *writer = Some(WriterThread { sender, process });
        }
        writer.as_ref().map(|writer| &writer.sender)
    }

    /// Waits until everything that was queued is written.
    pub(crate) fn flush(&self, most: Duration) -> bool {
        self.counts.flushing.fetch_add(1, Ordering::Relaxed);
        let is_done = self.flushed(most);
        self.counts.flushing.fetch_sub(1, Ordering::Relaxed);
        is_done
    }

    fn flushed(&self, most: Duration) -> bool {
        let started = Instant::now();
        let Some(sender) = skillcue_base::lock(&self.writer).as_ref().map(|writer| writer.sender.clone()) else {
            return true;
        };
        let (done, is_done) = sync_channel(1);
        let mut message = Queued::Flush(done);
        loop {
            match sender.try_send(message) {
                Ok(()) => break,
                Err(TrySendError::Disconnected(_)) => return false,
                Err(TrySendError::Full(back)) => message = back,
            }
            if started.elapsed() >= most {
                return false;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        is_done.recv_timeout(most.saturating_sub(started.elapsed())).is_ok()
    }
}

/// Lets the threads that answer go first where there are more threads than cores. On Linux this is about the calling thread alone.
#[cfg(target_os = "linux")]
fn give_way() {
    // If it is refused, events are written at the usual priority.
    let _ = rustix::process::setpriority_process(None, 10);
}

#[cfg(not(target_os = "linux"))]
fn give_way() {}

/// The thread's side.
struct EventWriter {
    ledger: Ledger,
    counts: Arc<QueueCounts>,
    connection: Option<Connection>,
    /// When the file could not be written.
    failed: Option<Instant>,
}

impl EventWriter {
    fn run(mut self, receiver: &Receiver<Queued>) {
        give_way();
        loop {
            let first = match receiver.recv_timeout(MAX_IDLE) {
                Ok(first) => first,
                Err(std::sync::mpsc::RecvTimeoutError::Timeout) => {
                    self.connection = None;
                    match receiver.recv() {
                        Ok(first) => first,
                        Err(_) => return,
                    }
                }
                Err(std::sync::mpsc::RecvTimeoutError::Disconnected) => return,
            };
            self.gather();
            let (mut batch, mut drafts, mut flushes) = (Vec::new(), Vec::new(), Vec::new());
            let mut next = Some(first);
            while let Some(message) = next {
                match message {
                    Queued::Event(event) => batch.push(*event),
                    Queued::Draft(make) => drafts.push(make),
                    Queued::Flush(done) => flushes.push(done),
                }
                let count = batch.len() + drafts.len();
                next = (count < MAX_BATCH).then(|| receiver.try_recv().ok()).flatten();
            }
            let taken = batch.len() + drafts.len();
            let mut batch = LedgerBatch { events: batch, messages: Vec::new() };
            for make in drafts {
                batch.add(make());
            }
            self.counts.taken.fetch_add(taken as u64, Ordering::Relaxed);
            self.write(&batch);
            for done in flushes {
                let _ = done.send(());
            }
        }
    }

    /// Waits for further events, unless a caller waits for these or there are many.
    fn gather(&self) {
        let started = Instant::now();
        let counts = &self.counts;
        let count = |number: &AtomicU64| number.load(Ordering::Relaxed);
        while started.elapsed() < GATHERING
            && count(&counts.flushing) == 0
            && count(&counts.queued).saturating_sub(count(&counts.taken)) < MAX_BATCH as u64
        {
            std::thread::sleep(LOOK);
        }
    }

    fn attempt(&mut self, batch: &LedgerBatch, dropped: u64) -> Result<(), LedgerError> {
        let mut connection = match self.connection.take() {
            Some(connection) => connection,
            None => self.ledger.open(PATIENT)?,
        };
        let written = self.ledger.insert(&mut connection, batch, dropped, PATIENT);
        self.connection = Some(connection);
        written
    }

    /// Writes a batch. If the file cannot be written at all, its events are lost, and counted if it ever can.
    fn write(&mut self, batch: &LedgerBatch) {
        if batch.is_empty() {
            return;
        }
        let lose = |dropped: &AtomicU64| {
            dropped.fetch_add(batch.events.len() as u64, Ordering::Relaxed);
        };
        if self.failed.is_some_and(|at| at.elapsed() < PAUSE) {
            return lose(&self.counts.dropped);
        }
        let dropped = self.counts.dropped.swap(0, Ordering::Relaxed);
        let mut written = self.attempt(batch, dropped);
        // Other processes write, too. What was accepted waits for its turn; what comes meanwhile may find the queue full.
        while matches!(written, Err(LedgerError::Busy { .. })) {
            written = self.attempt(batch, dropped);
        }
        self.failed = None;
        if let Err(error) = written {
            tracing::debug!(target: "skillcue::usage", %error, events = batch.events.len(), "events of use are lost");
            (self.failed, self.connection) = (Some(Instant::now()), None);
            self.counts.dropped.fetch_add(dropped, Ordering::Relaxed);
            lose(&self.counts.dropped);
        }
    }
}
