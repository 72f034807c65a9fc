//! Memory as a context provider.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::SystemTime;

use serde_json::{Map, Value};
use skillcue::Counter;
use skillcue::disclose::TokenCounter;
use skillcue::tools::{ToolDefinition, ToolOutput};
use skillcue_base::{ErrorInfo as _, date};

use super::rules::{Statement, statements};
use super::{Fact, FactOrigin, MAX_FACTS, Memory, MemoryError, key, tool};
use crate::{BoxFuture, ContextProvider, Message, ProviderError, RequestPart, TurnContext};

/// The most facts that a turn's context has.
const MAX_RECALLED: usize = 8;
/// The most tokens that they may cost.
const MAX_TOKENS: usize = 300;
/// The most messages that wait until their facts can be written.
const MAX_WAITING: usize = 100;
/// The most facts that a model may keep in one turn.
pub(super) const MAX_KEPT_IN_TURN: usize = 10;
/// The heading of recalled facts.
const HEADING: &str = "## What the user said before";

/// Recalls facts of earlier turns and sessions that have to do with a message, remembers what the message states, and
/// offers the model the tool `remember`.
///
/// A message's facts are remembered when its turn begins. If that fails, it is tried again when the turn ends, with later
/// messages, and when the provider is dropped.
///
/// The model may only choose a whole sentence of the message that the user wrote in this turn, and the user's words are
/// kept: neither a document nor the result of a tool can plant a memory.
///
/// ```
/// use std::sync::Arc;
///
/// use skillcue_agent::{ContextProvider, Memory, MemoryProvider, Message};
///
/// # tokio::runtime::Runtime::new()?.block_on(async {
/// let dir = tempfile::tempdir()?;
/// let memory = Arc::new(Memory::open(&dir.path().join("memory.db"))?);
/// let mut earlier = MemoryProvider::new(Arc::clone(&memory), "one");
/// earlier.before_turn(&[Message::user("My name is Alice")]).await?;
///
/// let mut now = MemoryProvider::new(memory, "another");
/// let context = now.before_turn(&[Message::user("What's my name?")]).await?;
/// assert!(context.turn.starts_with("## What the user said before\n- My name is Alice. ("));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct MemoryProvider {
    store: Arc<LazyMemory>,
    session: String,
    clock: Box<dyn Fn() -> SystemTime + Send + Sync>,
    /// How many facts the model has kept in this turn.
    kept: usize,
    only_recalls: bool,
}

/// A memory, opened when it is first needed.
struct LazyMemory {
    path: PathBuf,
    memory: OnceLock<Arc<Memory>>,
    /// Messages whose facts are not written yet, in order.
    waiting: Mutex<Vec<WaitingMessage>>,
}

/// A message of the user's whose facts are not written yet.
struct WaitingMessage {
    text: String,
    session: String,
    at: SystemTime,
}

impl MemoryProvider {
    /// Recalls from a memory, and remembers what is stated in a session.
    pub fn new(memory: Arc<Memory>, session: impl Into<String>) -> MemoryProvider {
        let provider = MemoryProvider::at(memory.path().to_owned(), session);
        let _ = provider.store.memory.set(memory);
        provider
    }

    /// Like [`new`](MemoryProvider::new), with the memory in a file, which is opened when it is first needed: if that
    /// fails, the turn goes on without it, and the next one tries again.
    pub fn at(path: PathBuf, session: impl Into<String>) -> MemoryProvider {
        let store = Arc::new(LazyMemory { path, memory: OnceLock::new(), waiting: Mutex::default() });
        MemoryProvider {
            store,
            session: session.into(),
            clock: Box::new(SystemTime::now),
            kept: 0,
            only_recalls: false,
        }
    }

    /// Takes the time from elsewhere.
    #[must_use]
    pub fn with_clock(mut self, clock: impl Fn() -> SystemTime + Send + Sync + 'static) -> MemoryProvider {
        self.clock = Box::new(clock);
        self
    }

    /// Recalls only: messages are not remembered, and the model has no tool to remember. For messages that are no words
    /// of the user, such as those of a batch.
    #[must_use]
    pub fn recalling_only(mut self) -> MemoryProvider {
        self.only_recalls = true;
        self
    }

    /// Keeps a fact for the model.
    async fn keep(&mut self, arguments: &Map<String, Value>, messages: &[Message]) -> Result<(), MemoryError> {
        if self.kept == MAX_KEPT_IN_TURN {
            return Err(MemoryError::TooMany);
        }
        let fact = tool::fact(arguments, messages)?;
        let (store, session, at) = (Arc::clone(&self.store), self.session.clone(), (self.clock)());
        let work = move || store.memory()?.remember_within(&fact, FactOrigin::Model, &session, at, MAX_FACTS);
        blocking(work).await?;
        self.kept += 1;
        Ok(())
    }
}

impl Drop for MemoryProvider {
    fn drop(&mut self) {
        if let Err(error) = self.store.write_waiting() {
            tracing::warn!(target: "skillcue::agent", "facts of the last messages are not remembered: {error}");
        }
    }
}

impl LazyMemory {
    /// Writes the facts of waiting messages. Those that cannot be written now wait on.
    fn write_waiting(&self) -> Result<(), MemoryError> {
        // Taken out: the next turn must not wait for the disk to add to them.
        let mut messages = std::mem::take(&mut *skillcue_base::lock(&self.waiting)).into_iter();
        while let Some(message) = messages.next() {
            if let Err(error) = self.write(&message) {
                let mut waiting = skillcue_base::lock(&self.waiting);
                waiting.splice(0..0, std::iter::once(message).chain(messages));
                return Err(error);
            }
        }
        Ok(())
    }

    fn write(&self, message: &WaitingMessage) -> Result<(), MemoryError> {
        // A message that states nothing needs no memory, and finds nothing wrong with it.
        for statement in statements(&message.text) {
            let written = match statement {
                Statement::Fact(fact) => self.memory()?.remember(&fact, &message.session, message.at).map(|_| ()),
                Statement::Forget(fact) => self.memory()?.forget_stated(&fact),
            };
            match written {
                // It never will be.
                Ok(()) | Err(MemoryError::Secret | MemoryError::Length { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn memory(&self) -> Result<&Arc<Memory>, MemoryError> {
        if let Some(memory) = self.memory.get() {
            return Ok(memory);
        }
        let memory = Arc::new(Memory::open(&self.path)?);
        Ok(self.memory.get_or_init(|| memory))
    }
}

impl ContextProvider for MemoryProvider {
    fn name(&self) -> &'static str {
        "memory"
    }

    fn before_turn<'a>(&'a mut self, messages: &'a [Message]) -> BoxFuture<'a, Result<TurnContext, ProviderError>> {
        self.kept = 0;
        let text = messages.iter().rev().find_map(|message| match message {
            Message::User { text, .. } => Some(text.clone()),
            _ => None,
        });
        let Some(text) = text else { return Box::pin(async { Ok(TurnContext::default()) }) };
        if !self.only_recalls {
            // At once, and not in the future below: an interrupted turn drops that.
            let message = WaitingMessage { text: text.clone(), session: self.session.clone(), at: (self.clock)() };
            let mut waiting = skillcue_base::lock(&self.store.waiting);
            waiting.push(message);
            let too_many = waiting.len().saturating_sub(MAX_WAITING);
            waiting.drain(..too_many);
        }
        let (shown, store) = (key(&shown_texts(messages)), Arc::clone(&self.store));
        Box::pin(async move {
            let recall = move || {
                if let Err(error) = store.write_waiting() {
                    // It waits on; `after_turn` reports it.
                    tracing::debug!(target: "skillcue::agent", "facts are not remembered yet: {error}");
                }
                store.memory()?.recall_filtered(&text, MAX_RECALLED, |fact| !shown.contains(&key(fact)))
            };
            let text = render(&blocking(recall).await.map_err(|error| provider_error(&error))?)?;
            Ok(if text.is_empty() { TurnContext::default() } else { TurnContext::turn(RequestPart::History, text) })
        })
    }

    fn after_turn<'a>(&'a mut self, _: &'a [Message], _: &'a Message) -> BoxFuture<'a, Result<(), ProviderError>> {
        let store = Arc::clone(&self.store);
        Box::pin(async move { blocking(move || store.write_waiting()).await.map_err(|error| provider_error(&error)) })
    }

    fn tools(&self) -> Vec<ToolDefinition> {
        if self.only_recalls { Vec::new() } else { vec![tool::definition()] }
    }

    fn call_tool<'a>(
        &'a mut self,
        _: &'a str,
        arguments: &'a Map<String, Value>,
        messages: &'a [Message],
    ) -> BoxFuture<'a, ToolOutput> {
        Box::pin(async move {
            match self.keep(arguments, messages).await {
                Ok(()) => ToolOutput::from_text("Remembered.".to_owned()),
                Err(error) => {
                    let opening = format!("tool_result name=\"{}\"", tool::REMEMBER);
                    ToolOutput::failure(&opening, error.code(), &with_hint(&error))
                }
            }
        })
    }
}

/// Runs work that waits for the disk on a thread that may wait.
async fn blocking<R: Send + 'static>(
    work: impl FnOnce() -> Result<R, MemoryError> + Send + 'static,
) -> Result<R, MemoryError> {
    tokio::task::spawn_blocking(work).await.unwrap_or(Err(MemoryError::Stopped))
}

fn provider_error(error: &MemoryError) -> ProviderError {
    ProviderError::new(with_hint(error))
}

fn with_hint(error: &MemoryError) -> String {
    format!("{error}; {}", error.hint().unwrap_or_default())
}

/// Returns the texts that the conversation shows already, with something between them that is in no fact.
fn shown_texts(messages: &[Message]) -> String {
    let mut shown = String::new();
    for message in messages {
        if let Message::User { context, text } = message {
            for text in context.iter().map(|piece| &piece.text).chain([text]) {
                shown.push_str(text);
                shown.push_str(" \0 ");
            }
        }
    }
    shown
}

/// Renders facts for a model: the best that fit, the newest first.
fn render(facts: &[Fact]) -> Result<String, ProviderError> {
    let counter: &dyn TokenCounter = Counter::default().counter().map_err(ProviderError::new)?;
    let mut chosen: Vec<&Fact> = Vec::new();
    let mut text = String::new();
    for fact in facts {
        let mut more = chosen.clone();
        more.push(fact);
        more.sort_by_key(|fact| std::cmp::Reverse((fact.updated, fact.id)));
        let lines: Vec<String> = more.iter().map(|fact| line(fact)).collect();
        let longer = format!("{HEADING}\n{}", lines.join("\n"));
        if counter.count(&longer).0 <= MAX_TOKENS {
            (chosen, text) = (more, longer);
        }
    }
    Ok(text)
}

fn line(fact: &Fact) -> String {
    let end = if fact.text.ends_with(['.', '!', '?', '…']) { "" } else { "." };
    format!("- {}{end} ({})", fact.text, date(fact.updated))
}
