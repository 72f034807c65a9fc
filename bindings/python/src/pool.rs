//! Work outside of the interpreter: without its lock, on threads that exist in this process, and interruptible.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use arc_swap::ArcSwapOption;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use rayon::ThreadPool;

/// How often a call that waits for its work looks for signals.
const SIGNAL_INTERVAL: Duration = Duration::from_millis(20);
/// How long an interrupted call waits for its work to end.
const MAX_GOODBYE: Duration = Duration::from_secs(5);

/// The process in which the module was imported.
static FIRST_PROCESS: OnceLock<u32> = OnceLock::new();
/// The pool of a forked process. No lock guards it: another thread could have held one during the fork.
static FORKED: ArcSwapOption<ForkedPool> = ArcSwapOption::const_empty();

struct ForkedPool {
    process: u32,
    pool: ThreadPool,
}

/// Remembers the process in which the module is imported.
pub(crate) fn remember_process() {
    FIRST_PROCESS.get_or_init(std::process::id);
}

/// Runs work in whose course rayon's threads may be needed.
///
/// `fork` copies one thread only: a child that waits for the global pool of its parent waits forever. So every process but
/// the one in which the module was imported has a pool of its own.
fn with_threads<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    let process = std::process::id();
    if FIRST_PROCESS.get() == Some(&process) {
        return work();
    }
    match forked_pool(process) {
        Some(forked) => forked.pool.install(work),
        // No thread can be started; most work needs no other than this one.
        None => work(),
    }
}

fn forked_pool(process: u32) -> Option<Arc<ForkedPool>> {
    if let Some(known) = FORKED.load_full().filter(|known| known.process == process) {
        return Some(known);
    }
    let pool = rayon::ThreadPoolBuilder::new().thread_name(|at| format!("skillcue-{at}")).build().ok()?;
    let made = Arc::new(ForkedPool { process, pool });
    // The pool of the parent is never dropped: its threads are not here, and dropping it would wait for their locks. Of two
    // threads that come here at once the later one's pool stays, and both work.
    std::mem::forget(FORKED.swap(Some(Arc::clone(&made))));
    Some(made)
}

/// Runs short work without the interpreter's lock, on this thread.
pub(crate) fn detached<T: Send>(py: Python<'_>, work: impl FnOnce() -> T + Send) -> T {
    crate::records::adopt_level(py);
    py.detach(|| with_threads(work))
}

/// Runs work that may take long on a thread of its own, while this one looks for signals: an exception that a handler
/// raises, such as `KeyboardInterrupt`, sets `cancelled` and ends the call.
pub(crate) fn interruptible<T: Send + 'static>(
    py: Python<'_>,
    cancelled: &AtomicBool,
    work: impl FnOnce() -> T + Send + 'static,
) -> PyResult<T> {
    crate::records::adopt_level(py);
    let (done, mut outcome) = mpsc::channel();
    let start = move || drop(done.send(with_threads(work)));
    std::thread::Builder::new().name("skillcue-call".to_owned()).spawn(start)?;
    loop {
        let got;
        (got, outcome) = py.detach(move || (outcome.recv_timeout(SIGNAL_INTERVAL), outcome));
        match got {
            Ok(result) => return Ok(result),
            Err(RecvTimeoutError::Disconnected) => return Err(PyRuntimeError::new_err("a call ended by a defect")),
            Err(RecvTimeoutError::Timeout) => {
                if let Err(raised) = py.check_signals() {
                    cancelled.store(true, Ordering::Release);
                    py.detach(move || drop(outcome.recv_timeout(MAX_GOODBYE)));
                    return Err(raised);
                }
            }
        }
    }
}
