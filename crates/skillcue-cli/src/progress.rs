//! Progress on the terminal, for work that takes longer than people like to wait without a sign.

use std::borrow::Cow;
use std::io::IsTerminal as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

/// Work that ends before this shows nothing: a bar that flashes up is worse than none.
const DELAY: Duration = Duration::from_millis(500);
const TICK: Duration = Duration::from_millis(100);

/// Shows on stderr that work goes on, from half a second in until it is dropped. Only on a terminal.
#[derive(Debug, Default)]
pub(crate) struct ProgressIndicator {
    done: Arc<AtomicU64>,
    /// The next message to show.
    message: Arc<Mutex<Option<String>>>,
    bar: Arc<Mutex<Option<ProgressBar>>>,
    shown: Option<(Sender<()>, JoinHandle<()>)>,
}

impl ProgressIndicator {
    /// Begins to show work of unknown extent.
    pub(crate) fn spinner(message: impl Into<Cow<'static, str>>) -> ProgressIndicator {
        ProgressIndicator::start(message.into(), None)
    }

    /// Begins to show work on `total` things.
    pub(crate) fn bar(message: &'static str, total: usize) -> ProgressIndicator {
        ProgressIndicator::start(message.into(), Some(total as u64))
    }

    /// Counts one more thing as done.
    pub(crate) fn step(&self) {
        self.done.fetch_add(1, Ordering::Relaxed);
    }

    /// Shows another message from now on.
    pub(crate) fn set_message(&self, message: String) {
        *skillcue_base::lock(&self.message) = Some(message);
    }

    /// Hides the indicator while `write` writes to the terminal.
    pub(crate) fn suspend<T>(&self, write: impl FnOnce() -> T) -> T {
        match &*skillcue_base::lock(&self.bar) {
            Some(bar) => bar.suspend(write),
            None => write(),
        }
    }

    fn start(message: Cow<'static, str>, total: Option<u64>) -> ProgressIndicator {
        if !std::io::stderr().is_terminal() {
            return ProgressIndicator::default();
        }
        let done = Arc::new(AtomicU64::new(0));
        let (sender, stop) = channel();
        let (count, shared) = (Arc::clone(&done), Arc::<Mutex<Option<ProgressBar>>>::default());
        let own = Arc::clone(&shared);
        let next = Arc::<Mutex<Option<String>>>::default();
        let says = Arc::clone(&next);
        // A thread of its own: the work may not come back for seconds, and should not have to think of this.
        let thread = std::thread::spawn(move || {
            if stop.recv_timeout(DELAY) != Err(RecvTimeoutError::Timeout) {
                return;
            }
            let bar = progress_bar(message, total);
            *skillcue_base::lock(&own) = Some(bar.clone());
            while stop.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
                bar.set_position(count.load(Ordering::Relaxed));
                if let Some(message) = skillcue_base::lock(&says).take() {
                    bar.set_message(message);
                }
                bar.tick();
            }
            bar.finish_and_clear();
        });
        ProgressIndicator { done, message: next, bar: shared, shown: Some((sender, thread)) }
    }
}

impl Drop for ProgressIndicator {
    fn drop(&mut self) {
        if let Some((sender, thread)) = self.shown.take() {
            drop(sender);
            // The bar must be gone before other output. It cannot fail in a way that matters here.
            let _ = thread.join();
        }
    }
}

fn progress_bar(message: Cow<'static, str>, total: Option<u64>) -> ProgressBar {
    let (bar, template) = match total {
        Some(total) => (ProgressBar::new(total), "{spinner} {msg} {wide_bar} {pos}/{len}"),
        None => (ProgressBar::new_spinner(), "{spinner} {msg} {elapsed}"),
    };
    let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_spinner());
    bar.with_style(style).with_message(message)
}
