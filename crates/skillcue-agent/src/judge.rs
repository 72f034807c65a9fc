//! [`ModelJudge`]: a model that chooses among the skills that may fit a message.

mod prompt;

use std::fmt;
use std::sync::{Mutex, mpsc};
use std::time::Duration;

use skillcue::select::{Judge, JudgeError, JudgeQuestion};
use skillcue::{Counter, Tokens};
use tokio::runtime::{Builder, Handle, Runtime};
use tokio_util::sync::CancellationToken;

use crate::model::{Endpoint, FinishReason, Model, ModelError, ModelRequest, RequestTiming, SystemText};
use crate::{Message, RequestPart};

/// How much longer than the deadline a caller waits for the thread to report that it has passed.
const SLACK: Duration = Duration::from_secs(1);

/// Limits of a question to a judge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JudgeLimits {
    /// The time for one answer: 2 s. It is asked once.
    pub deadline: Duration,
    /// The most tokens of a question, instructions included: 1,000. Descriptions are cut, then the message.
    pub prompt: Tokens,
    /// The most tokens of an answer: 40.
    pub answer: u32,
    /// The counter of the question's tokens.
    pub counter: Counter,
}

impl Default for JudgeLimits {
    fn default() -> JudgeLimits {
        JudgeLimits { deadline: Duration::from_secs(2), prompt: Tokens(1_000), answer: 40, counter: Counter::default() }
    }
}

/// A judge that asks a model over HTTP.
///
/// The model gets the message and the names and descriptions of the candidates as JSON, numbered by us, and answers with
/// numbers. Whatever else it says is an error: a description can persuade the model, but it cannot say its own number,
/// end its quotation, or put words into the answer.
///
/// ```
/// use skillcue::select::{Judge as _, JudgeCandidate, JudgeQuestion};
/// use skillcue_agent::model::{Endpoint, Overrides};
/// use skillcue_agent::{JudgeLimits, ModelJudge};
/// use skillcue_scripted::{Reply, Server};
///
/// let server = Server::start(|_| Reply::text("2"));
/// let over = Overrides { base_url: Some(server.url()), ..Overrides::default() };
/// let judge = ModelJudge::new("ollama:qwen3", Endpoint::resolve("ollama:qwen3", &over, &|_| None)?, JudgeLimits::default())?;
///
/// let candidate = |name: &str, does: &str| JudgeCandidate { name: name.to_owned(), description: does.to_owned() };
/// let candidates = [candidate("hikes", "Plans hikes."), candidate("forms", "Fills in forms.")];
/// let question = JudgeQuestion { message: "Fill in the tax form", candidates: &candidates };
/// assert_eq!(judge.choose(&question)?, [1]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct ModelJudge {
    name: String,
    model: Model,
    limits: JudgeLimits,
    /// The thread on which requests run: a caller may be inside an async runtime or not. Started when it is first needed.
    runtime: Mutex<Option<Runtime>>,
}

impl fmt::Debug for ModelJudge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ModelJudge").field("name", &self.name).field("limits", &self.limits).finish_non_exhaustive()
    }
}

impl ModelJudge {
    /// Makes a judge of a model. Nothing is sent yet. `name` is for people.
    pub fn new(name: impl Into<String>, mut endpoint: Endpoint, limits: JudgeLimits) -> Result<ModelJudge, ModelError> {
        let JudgeLimits { deadline, .. } = limits;
        // A second attempt would come too late.
        let waits = RequestTiming { connect: deadline, idle: deadline, total: deadline, ..RequestTiming::default() };
        endpoint.timing = RequestTiming { attempts: 1, ..waits };
        Ok(ModelJudge { name: name.into(), model: Model::new(endpoint)?, limits, runtime: Mutex::default() })
    }

    fn handle(&self) -> Result<Handle, JudgeError> {
        let mut runtime = skillcue_base::lock(&self.runtime);
        if let Some(runtime) = &*runtime {
            return Ok(runtime.handle().clone());
        }
        let built = Builder::new_multi_thread().worker_threads(1).thread_name("skillcue-judge").enable_all().build();
        let built = built.map_err(|error| JudgeError::new(skillcue_base::os_message(&error)))?;
        Ok(runtime.insert(built).handle().clone())
    }

    fn ask(&self, text: String) -> Result<String, JudgeError> {
        let (model, JudgeLimits { deadline, answer, .. }) = (self.model.clone(), self.limits);
        let (done, asked) = mpsc::sync_channel(1);
        let task = self.handle()?.spawn(async move {
            let system = [SystemText { part: RequestPart::System, text: prompt::INSTRUCTIONS.to_owned() }];
            let messages = [Message::user(text)];
            let request = ModelRequest { system: &system, tools: &[], messages: &messages, max_tokens: Some(answer) };
            let cancel = CancellationToken::new();
            let answer = tokio::time::timeout(deadline, model.ask(&request, &cancel, &mut |_| {})).await;
            // The caller may have given up.
            let _ = done.send(answer);
        });
        let late = || JudgeError::new(format!("it did not answer within {} ms", deadline.as_millis()));
        match asked.recv_timeout(deadline.saturating_add(SLACK)) {
            Ok(Ok(Ok(answer))) if answer.stop == FinishReason::Length => {
                Err(JudgeError::new("its answer is longer than some numbers are"))
            }
            Ok(Ok(Ok(answer))) => Ok(answer.text),
            Ok(Ok(Err(error))) => Err(JudgeError::new(error)),
            Ok(Err(_)) => Err(late()),
            Err(_) => {
                task.abort();
                Err(late())
            }
        }
    }
}

impl Judge for ModelJudge {
    fn name(&self) -> &str {
        &self.name
    }

    fn choose(&self, question: &JudgeQuestion<'_>) -> Result<Vec<usize>, JudgeError> {
        let counter = self.limits.counter.counter().map_err(JudgeError::new)?;
        let text = prompt::prompt(question, self.limits.prompt, counter);
        prompt::choice(&self.ask(text)?, question.candidates.len())
    }
}

impl Drop for ModelJudge {
    fn drop(&mut self) {
        if let Some(runtime) = skillcue_base::lock(&self.runtime).take() {
            // Not a plain drop: that panics where blocking is not allowed.
            runtime.shutdown_background();
        }
    }
}
