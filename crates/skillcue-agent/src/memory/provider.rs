//! Memory as a context provider.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};
use std::time::SystemTime;

use skillcue::Counter;
use skillcue::disclose::TokenCounter;
use skillcue_base::{ErrorInfo as _, date};

use super::{Fact, Memory, MemoryError, facts, key};
use crate::{BoxFuture, Context, ContextProvider, Message, Part, ProviderError};

/// How many facts a turn is told.
const MOST_FACTS: usize = 8;
/// How many tokens they may cost.
const MOST_TOKENS: usize = 300;
/// How many messages wait until what they tell can be remembered.
const MOST_WAITING: usize = 100;
/// What stands above them.
const HEADING: &str = "## What the user said before";

/// Tells the model what users have said in earlier turns and sessions, where it has to do with what they say now; and
/// remembers what they say.
///
/// What is told in a turn is remembered when the turn is over. If it fails, and nobody says how it ended, it is remembered
/// when the next one begins, or when the provider is dropped.
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
/// earlier.after_turn(&[Message::user("My name is Alice")], &Message::assistant("Hello!")).await?;
///
/// let mut now = MemoryProvider::new(memory, "another");
/// let context = now.before_turn(&[Message::user("What's my name?")]).await?;
/// assert!(context.turn.starts_with("## What the user said before\n- My name is Alice. ("));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct MemoryProvider {
    store: Arc<Store>,
    session: String,
    clock: Box<dyn Fn() -> SystemTime + Send + Sync>,
}

/// A memory, opened when it is first needed.
struct Store {
    path: PathBuf,
    memory: OnceLock<Arc<Memory>>,
    /// What was said, in order, and what it tells is not remembered yet.
    waiting: Mutex<Vec<Told>>,
}

/// A message of the user's.
struct Told {
    text: String,
    session: String,
    at: SystemTime,
}

/// Which of the messages that wait.
#[derive(Clone, Copy, PartialEq)]
enum Which {
    All,
    /// All but the one of the turn that has just begun.
    Earlier,
}

impl MemoryProvider {
    /// Recalls from a memory, and remembers what is said in a session.
    pub fn new(memory: Arc<Memory>, session: impl Into<String>) -> MemoryProvider {
        let provider = MemoryProvider::at(memory.path().to_owned(), session);
        let _ = provider.store.memory.set(memory);
        provider
    }

    /// The same for the memory in a file, which is opened when it is first needed: if that fails, the turn goes on
    /// without it, and the next one tries again.
    pub fn at(path: PathBuf, session: impl Into<String>) -> MemoryProvider {
        let store = Arc::new(Store { path, memory: OnceLock::new(), waiting: Mutex::default() });
        MemoryProvider { store, session: session.into(), clock: Box::new(SystemTime::now) }
    }

    /// Takes the time from elsewhere.
    #[must_use]
    pub fn with_clock(mut self, clock: impl Fn() -> SystemTime + Send + Sync + 'static) -> MemoryProvider {
        self.clock = Box::new(clock);
        self
    }

    fn told(&self, text: &str) -> Told {
        Told { text: text.to_owned(), session: self.session.clone(), at: (self.clock)() }
    }
}

impl Drop for MemoryProvider {
    fn drop(&mut self) {
        if let Err(error) = self.store.remember(Which::All) {
            tracing::warn!(target: "skillcue::agent", "what was said last is not remembered: {error}");
        }
    }
}

impl Store {
    fn waiting(&self) -> MutexGuard<'_, Vec<Told>> {
        skillcue_base::lock(&self.waiting)
    }

    /// Remembers what messages tell. What cannot be remembered now waits on.
    fn remember(&self, which: Which) -> Result<(), MemoryError> {
        // Taken here and not before: a task may be dropped before it begins.
        let mut messages = {
            let mut waiting = self.waiting();
            let count = waiting.len().saturating_sub(usize::from(which == Which::Earlier));
            waiting.drain(..count).collect::<Vec<_>>().into_iter()
        };
        while let Some(told) = messages.next() {
            if let Err(error) = self.remember_one(&told) {
                let mut waiting = self.waiting();
                waiting.splice(0..0, std::iter::once(told).chain(messages));
                let too_many = waiting.len().saturating_sub(MOST_WAITING);
                waiting.drain(..too_many);
                return Err(error);
            }
        }
        Ok(())
    }

    fn remember_one(&self, told: &Told) -> Result<(), MemoryError> {
        let facts = facts(&told.text);
        // What tells nothing needs no memory, and finds nothing wrong with it.
        if facts.is_empty() {
            return Ok(());
        }
        let memory = self.memory()?;
        for fact in facts {
            match memory.remember(&fact, &told.session, told.at) {
                // It never will be.
                Ok(_) | Err(MemoryError::Secret | MemoryError::Length { .. }) => {}
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

    fn before_turn<'a>(&'a mut self, messages: &'a [Message]) -> BoxFuture<'a, Result<Context, ProviderError>> {
        let Some(asked) = last_of_user(messages) else { return Box::pin(async { Ok(Context::default()) }) };
        // Noted at once: the turn may be over before anybody waits for what comes of this.
        self.store.waiting().push(self.told(asked));
        Box::pin(async move {
            let (asked, said, store) = (asked.to_owned(), said(messages), Arc::clone(&self.store));
            let recalled = blocking(move || {
                if let Err(error) = store.remember(Which::Earlier) {
                    // It waits on, and whoever waits for it hears of it.
                    tracing::debug!(target: "skillcue::agent", "what was said before is not remembered yet: {error}");
                }
                let said = key(&said);
                store.memory()?.recall_those(&asked, MOST_FACTS, |fact| !said.contains(&key(fact)))
            });
            let text = render(&recalled.await?)?;
            Ok(if text.is_empty() { Context::default() } else { Context::turn(Part::History, text) })
        })
    }

    fn after_turn<'a>(
        &'a mut self,
        request: &'a [Message],
        _: &'a Message,
    ) -> BoxFuture<'a, Result<(), ProviderError>> {
        Box::pin(async move {
            if let Some(told) = last_of_user(request) {
                let mut waiting = self.store.waiting();
                if waiting.last().is_none_or(|last| last.text != told) {
                    waiting.push(self.told(told));
                }
            }
            let store = Arc::clone(&self.store);
            blocking(move || store.remember(Which::All)).await
        })
    }
}

/// Does what waits for the disk on a thread that may.
async fn blocking<R: Send + 'static>(
    work: impl FnOnce() -> Result<R, MemoryError> + Send + 'static,
) -> Result<R, ProviderError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done.map_err(|error| ProviderError::new(format!("{error}; {}", error.hint().unwrap_or_default()))),
        Err(_) => Err(ProviderError::new("memory stopped in the middle of its work")),
    }
}

fn last_of_user(messages: &[Message]) -> Option<&str> {
    messages.iter().rev().find_map(|message| match message {
        Message::User { text, .. } => Some(text.as_str()),
        _ => None,
    })
}

/// What stands in the conversation already, with something between that stands in no fact.
fn said(messages: &[Message]) -> String {
    let mut said = String::new();
    for message in messages {
        if let Message::User { context, text } = message {
            for text in context.iter().map(|piece| &piece.text).chain([text]) {
                said.push_str(text);
                said.push_str(" \0 ");
            }
        }
    }
    said
}

/// The facts as a model reads them: the best that fit, the newest first.
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
        if counter.count(&longer).0 <= MOST_TOKENS {
            (chosen, text) = (more, longer);
        }
    }
    Ok(text)
}

fn line(fact: &Fact) -> String {
    let end = if fact.text.ends_with(['.', '!', '?', '…']) { "" } else { "." };
    format!("- {}{end} ({})", fact.text, date(fact.updated))
}
