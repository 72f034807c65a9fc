//! The threads on which requests to servers run.
//!
//! A caller may be inside an async runtime or not; neither matters here. Work is handed to threads of the host's own,
//! and the caller waits on a plain channel, with a limit.

use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use tokio::runtime::{Builder, Handle, Runtime};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::connection::{ConnectionContext, ConnectionError};

/// How much longer than the limit a caller waits for the threads to report that the limit has passed.
const SLACK: Duration = Duration::from_secs(1);
/// How long programs have to end when the host does.
const MAX_LAST_WAIT: Duration = Duration::from_secs(2);

/// The threads, started when they are first needed.
#[derive(Debug)]
pub(crate) struct Engine {
    runtime: Mutex<Option<Runtime>>,
    stop: CancellationToken,
    running: Mutex<Option<Arc<mpsc::Sender<()>>>>,
    /// Closes when the last program has ended.
    ended: Mutex<mpsc::Receiver<()>>,
}

impl Engine {
    pub(crate) fn new() -> Engine {
        let (running, ended) = mpsc::channel();
        Engine {
            runtime: Mutex::new(None),
            stop: CancellationToken::new(),
            running: Mutex::new(Some(Arc::new(running))),
            ended: Mutex::new(ended),
        }
    }

    /// Returns the values that all connections share.
    pub(crate) fn connection_context(&self) -> ConnectionContext {
        let running = skillcue_base::lock(&self.running);
        let running = running.as_ref().map(Arc::downgrade).unwrap_or_default();
        ConnectionContext { stop: self.stop.clone(), running }
    }

    fn handle(&self) -> Result<Handle, ConnectionError> {
        let mut runtime = skillcue_base::lock(&self.runtime);
        if runtime.is_none() {
            let built = Builder::new_multi_thread().worker_threads(2).thread_name("skillcue-mcp").enable_all().build();
            *runtime =
                Some(built.map_err(|error| ConnectionError::Gone(format!("no thread can be started: {error}")))?);
        }
        match &*runtime {
            Some(runtime) => Ok(runtime.handle().clone()),
            None => Err(ConnectionError::Gone("no thread can be started".to_owned())),
        }
    }

    /// Starts work on the engine's threads, which may take as long as `limit`.
    pub(crate) fn start<T: Send + 'static>(
        &self,
        limit: Duration,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Result<PendingResult<T>, ConnectionError> {
        let (done, result) = mpsc::sync_channel(1);
        let task = self.handle()?.spawn(async move {
            // The caller may have given up: then the result is not needed.
            let _ = done.send(tokio::time::timeout(limit, work).await.ok());
        });
        Ok(PendingResult { result, limit, task })
    }

    /// Runs work on the engine's threads and waits for it, at most as long as `limit`.
    pub(crate) fn run<T: Send + 'static>(
        &self,
        limit: Duration,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Result<T, ConnectionError> {
        self.start(limit, work)?.wait(limit)
    }
}

/// The result of work that runs on the engine's threads.
#[derive(Debug)]
pub(crate) struct PendingResult<T> {
    result: mpsc::Receiver<Option<T>>,
    limit: Duration,
    task: JoinHandle<()>,
}

impl<T> PendingResult<T> {
    /// Waits for the result. `left` is the rest of its time limit.
    pub(crate) fn wait(self, left: Duration) -> Result<T, ConnectionError> {
        match self.result.recv_timeout(left.saturating_add(SLACK)) {
            Ok(Some(result)) => Ok(result),
            Ok(None) => Err(ConnectionError::Slow(self.limit)),
            Err(mpsc::RecvTimeoutError::Timeout) => {
                self.task.abort();
                Err(ConnectionError::Slow(self.limit))
            }
            Err(mpsc::RecvTimeoutError::Disconnected) => Err(ConnectionError::Gone("the work was given up".to_owned())),
        }
    }
}

impl Engine {
    /// Ends all connections and stops the programs that were started for them. Nothing can be asked afterwards.
    pub(crate) fn close(&self) {
        let runtime = skillcue_base::lock(&self.runtime).take();
        let Some(runtime) = runtime else { return };
        self.stop.cancel();
        // Its own sender does not count.
        *skillcue_base::lock(&self.running) = None;
        let ended = skillcue_base::lock(&self.ended);
        // Nothing is ever sent: this ends when the last program has, or when the wait is over.
        let _ = ended.recv_timeout(MAX_LAST_WAIT);
        // Not a plain drop: that panics where blocking is not allowed.
        runtime.shutdown_background();
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.close();
    }
}
