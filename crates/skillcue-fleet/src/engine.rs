//! The threads on which requests to stores run.
//!
//! A caller may be inside an async runtime or not; neither matters to [`FleetEngine::run`]: work is handed to threads of the
//! engine's own, and the caller waits on a plain channel, with a limit.

use std::sync::{Mutex, mpsc};
use std::time::Duration;

use tokio::runtime::{Builder, Handle, Runtime};

use crate::FleetError;

/// How much longer than the limit a caller waits for the threads to report that the limit has passed.
const SLACK: Duration = Duration::from_secs(1);

/// Threads for requests, started when they are first needed.
#[derive(Debug, Default)]
pub struct FleetEngine {
    runtime: Mutex<Option<Runtime>>,
}

impl FleetEngine {
    fn handle(&self) -> Result<Handle, FleetError> {
        let mut runtime = skillcue_base::lock(&self.runtime);
        if runtime.is_none() {
            let built =
                Builder::new_multi_thread().worker_threads(2).thread_name("skillcue-fleet").enable_all().build();
            *runtime = Some(built.map_err(|error| FleetError::Threads(error.to_string()))?);
        }
        runtime.as_ref().map(|runtime| runtime.handle().clone()).ok_or_else(|| FleetError::Threads("closed".to_owned()))
    }

    /// Runs work on the engine's threads and waits for it, at most as long as `limit`.
    pub fn run<T: Send + 'static>(
        &self,
        what: &str,
        limit: Duration,
        work: impl Future<Output = Result<T, FleetError>> + Send + 'static,
    ) -> Result<T, FleetError> {
        let slow = || FleetError::Slow { what: what.to_owned(), seconds: limit.as_secs() };
        let (done, result) = mpsc::sync_channel(1);
        let task = self.handle()?.spawn(async move {
            // The caller may have given up: then the result is not needed.
            let _ = done.send(tokio::time::timeout(limit, work).await.ok());
        });
        match result.recv_timeout(limit.saturating_add(SLACK)) {
            Ok(Some(result)) => result,
            Ok(None) => Err(slow()),
            Err(_) => {
                task.abort();
                Err(slow())
            }
        }
    }

    /// Waits for work on this thread, which is in no async runtime.
    pub(crate) fn wait<T>(&self, work: impl Future<Output = Result<T, FleetError>>) -> Result<T, FleetError> {
        self.handle()?.block_on(work)
    }
}

impl Drop for FleetEngine {
    fn drop(&mut self) {
        if let Some(runtime) = skillcue_base::lock(&self.runtime).take() {
            // Not a plain drop: that panics where blocking is not allowed.
            runtime.shutdown_background();
        }
    }
}
