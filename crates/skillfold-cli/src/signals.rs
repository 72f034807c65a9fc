//! What is done before a signal ends us.

/// Calls `then` with the exit code, as a shell counts them, once somebody interrupts, ends or hangs up this process. From
/// here on a signal does nothing else.
pub(crate) fn on_signal(then: impl FnOnce(i32) + Send + 'static) {
    use tokio::signal::unix::{SignalKind, signal};
    let (listens, begun) = std::sync::mpsc::channel::<()>();
    let wait = move || {
        let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_io().build() else { return };
        let code = runtime.block_on(async {
            let kinds = [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()].map(signal);
            let [Ok(mut interrupt), Ok(mut terminate), Ok(mut hangup)] = kinds else {
                return std::future::pending().await;
            };
            drop(listens);
            tokio::select! {
                _ = interrupt.recv() => 130,
                _ = terminate.recv() => 143,
                _ = hangup.recv() => 129,
            }
        });
        then(code);
    };
    // Without a thread, signals do what they always do.
    let _ = std::thread::Builder::new().name("skillfold-signals".to_owned()).spawn(wait);
    // What is begun from here on can be ended by a signal: the other side is dropped once it listens, or has given up.
    let _ = begun.recv_timeout(std::time::Duration::from_secs(1));
}
