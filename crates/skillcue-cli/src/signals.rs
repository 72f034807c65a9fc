//! Signals: work that is done before one ends this process.

use std::ops::ControlFlow;
use std::sync::OnceLock;

/// Calls `then` with the exit code, as a shell counts them, once this process is interrupted, ended or hung up. From
/// here on a signal does nothing else.
pub(crate) fn on_signal(then: impl FnOnce(i32) + Send + 'static) {
    let mut then = Some(then);
    on_signals(move |code| {
        if let Some(then) = then.take() {
            then(code);
        }
        ControlFlow::Break(())
    });
}

/// Returns the signals that this process was started to ignore, a bit each, the first one for signal 1. Known on Linux
/// only.
fn ignored() -> u64 {
    static AT_START: OnceLock<u64> = OnceLock::new();
    *AT_START.get_or_init(|| {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
        mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
    })
}

/// Like [`on_signal`], for each signal until `then` breaks.
pub(crate) fn on_signals(mut then: impl FnMut(i32) -> ControlFlow<()> + Send + 'static) {
    use tokio::signal::unix::{SignalKind, signal};
    let (listens, begun) = std::sync::mpsc::channel::<()>();
    let ignored = ignored();
    let wait = move || {
        let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_io().build() else { return };
        let kinds = [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()];
        let signals = runtime.block_on(async { kinds.map(signal) });
        let [Ok(mut interrupt), Ok(mut terminate), Ok(mut hangup)] = signals else { return };
        drop(listens);
        loop {
            let code = runtime.block_on(async {
                tokio::select! {
                    _ = interrupt.recv() => 130,
                    _ = terminate.recv() => 143,
                    _ = hangup.recv() => 129,
                }
            });
            // Started with `nohup` or in the background, this process must not be ended by these.
            if ignored & (1 << (code - 129)) != 0 {
                continue;
            }
            if then(code).is_break() {
                return;
            }
        }
    };
    // Without a thread, signals do what they always do.
    let _ = std::thread::Builder::new().name("skillcue-signals".to_owned()).spawn(wait);
    // Work that begins from here on can be ended by a signal: the other side is dropped once it listens, or has given
    // up.
    let _ = begun.recv_timeout(std::time::Duration::from_secs(1));
}
