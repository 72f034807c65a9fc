//! Memory as a context provider.

use std::path::Path;
use std::sync::Arc;

use skillcue::Counter;
use skillcue_agent::{
    ContextProvider, Memory, MemoryProvider, Message, Piece, PieceOrigin, ProviderError, RequestPart, TurnContext,
};

use crate::at;

fn open(dir: &Path) -> Arc<Memory> {
    Arc::new(Memory::open(&dir.join("memory.db")).unwrap())
}

fn provider(memory: &Arc<Memory>, session: &str, seconds: u64) -> MemoryProvider {
    MemoryProvider::new(Arc::clone(memory), session).with_clock(move || at(seconds))
}

fn wait<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
}

fn recall(provider: &mut MemoryProvider, messages: &[Message]) -> Result<TurnContext, ProviderError> {
    wait(provider.before_turn(messages))
}

fn hold_turn(provider: &mut MemoryProvider, messages: &[Message]) {
    wait(provider.before_turn(messages)).unwrap();
    wait(provider.after_turn(messages, &Message::assistant("I am a model, and my name is Bot."))).unwrap();
}

#[test]
fn facts_of_one_session_are_recalled_in_another() {
    let dir = tempfile::tempdir().unwrap();
    let memory = open(dir.path());
    let mut one = provider(&memory, "one", 0);
    assert_eq!(one.name(), "memory");
    let first = [Message::user("My name is Alice. What's yours?")];
    assert_eq!(recall(&mut one, &first).unwrap(), TurnContext::default());
    hold_turn(&mut one, &first);
    hold_turn(&mut provider(&memory, "one", 86_400), &[Message::user("I live in Berlin"), Message::assistant("Nice.")]);
    hold_turn(&mut provider(&memory, "one", 86_401), &[Message::assistant("no user")]);
    let facts = memory.list(9).unwrap();
    assert_eq!(facts.len(), 2, "what the model says is no fact: {facts:?}");
    assert_eq!(facts[0].session, "one");

    let mut two = provider(&memory, "two", 90_000);
    let context = recall(&mut two, &[Message::user("What's my name?")]).unwrap();
    let expected = "## What the user said before\n- My name is Alice. (2026-11-16)";
    assert_eq!(context, TurnContext::turn(RequestPart::History, expected));
    let context = recall(&mut two, &[Message::user("What do you know about me?")]).unwrap();
    let expected = "## What the user said before\n- I live in Berlin. (2026-11-17)\n- My name is Alice. (2026-11-16)";
    assert_eq!(context.turn, expected, "the newest first");
    assert_eq!(recall(&mut two, &[Message::user("What is 2+2?")]).unwrap(), TurnContext::default());
    assert_eq!(recall(&mut two, &[]).unwrap(), TurnContext::default());
}

#[test]
fn facts_in_the_conversation_are_not_repeated() {
    let dir = tempfile::tempdir().unwrap();
    let memory = open(dir.path());
    let mut provider = provider(&memory, "one", 0);
    hold_turn(&mut provider, &[Message::user("My name is  ALICE. I like my garden.")]);
    let asked = Message::user("What's my name?");
    let said = [Message::user("Hi, my name is Alice!"), Message::assistant("Hello."), asked.clone()];
    assert_eq!(recall(&mut provider, &said).unwrap(), TurnContext::default());
    let context = recall(&mut provider, std::slice::from_ref(&asked)).unwrap();
    assert!(context.turn.contains("ALICE"), "{context:?}");
    let piece = Piece {
        provider: PieceOrigin::Provider("memory".to_owned()),
        part: RequestPart::History,
        text: context.turn,
        skills: Vec::new(),
    };
    let told = Message::User { context: vec![piece], text: "Who am I?".to_owned() };
    let context = recall(&mut provider, &[told, Message::assistant("Alice."), asked]).unwrap();
    assert_eq!(context, TurnContext::default(), "it was recalled before");
}

#[test]
fn recalled_facts_are_bounded() {
    let dir = tempfile::tempdir().unwrap();
    let memory = open(dir.path());
    for number in 0..30 {
        memory.remember(&format!("I like number {number}"), "one", at(number)).unwrap();
    }
    let mut provider = provider(&memory, "two", 99);
    let context = recall(&mut provider, &[Message::user("Which number do I like?")]).unwrap();
    assert_eq!(context.turn.lines().count(), 1 + 8);
    for number in 0..30 {
        memory.remember(&format!("number {number}: {}", "many words ".repeat(40)), "one", at(number)).unwrap();
    }
    let context = recall(&mut provider, &[Message::user("Which number has many words?")]).unwrap();
    let tokens = Counter::default().counter().unwrap().count(&context.turn);
    assert!(tokens.0 <= 300 && context.turn.lines().count() > 1, "{tokens:?} {}", context.turn);
}

#[test]
fn a_failed_recall_is_reported_and_retried() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("memory.db");
    std::fs::write(&path, "no database ".repeat(100)).unwrap();
    let mut provider = MemoryProvider::at(path.clone(), "one").with_clock(|| at(0));
    let error = recall(&mut provider, &[Message::user("What's my name?")]).unwrap_err().to_string();
    assert!(error.contains("damaged") && error.contains("move it away"), "{error}");
    let told = [Message::user("My name is Alice")];
    assert!(recall(&mut provider, &told).is_err());
    assert!(wait(provider.after_turn(&told, &Message::assistant("Hi"))).is_err());
    std::fs::remove_file(&path).unwrap();
    let context = recall(&mut provider, &[Message::user("What's my name?")]).unwrap();
    assert!(context.turn.contains("Alice"), "{context:?}");
}

fn listed(memory: &Memory) -> Vec<(String, std::time::SystemTime, std::time::SystemTime)> {
    memory.list(99).unwrap().into_iter().map(|fact| (fact.text, fact.created, fact.updated)).collect()
}

#[test]
fn a_turn_that_fails_is_remembered_too() {
    let dir = tempfile::tempdir().unwrap();
    let memory = open(dir.path());
    let seconds = Arc::new(std::sync::atomic::AtomicU64::new(0));
    let clock = Arc::clone(&seconds);
    let mut provider = MemoryProvider::new(Arc::clone(&memory), "one")
        .with_clock(move || at(clock.fetch_add(1, std::sync::atomic::Ordering::Relaxed)));
    let first = Message::user("My name is Alice");
    // Interrupted before it was polled.
    drop(provider.before_turn(std::slice::from_ref(&first)));
    assert_eq!(memory.count().unwrap(), 0);
    // `after_turn` is never called for it.
    let second = [first, Message::assistant("[interrupted]"), Message::user("I live in Berlin")];
    recall(&mut provider, &second).unwrap();
    let both = [("I live in Berlin".to_owned(), at(1), at(1)), ("My name is Alice".to_owned(), at(0), at(0))];
    assert_eq!(listed(&memory), both);
    drop(provider);
    assert_eq!(listed(&memory), both, "nothing is remembered twice");
}

#[test]
fn a_fact_is_forgotten_by_a_message() {
    let dir = tempfile::tempdir().unwrap();
    let memory = open(dir.path());
    let mut provider = provider(&memory, "one", 0);
    for (message, count) in [
        ("I live in Berlin. I like tea. Ich wohne in Köln.", 3),
        ("Forget about it.", 3),
        ("Forget that tea is hot.", 3),
        ("Please forget that I live in Berlin!", 2),
        ("Vergiss, dass ich in Köln wohne.", 1),
    ] {
        hold_turn(&mut provider, &[Message::user(message)]);
        assert_eq!(memory.count().unwrap(), count, "{message}");
    }
}

#[test]
fn dropping_the_provider_stores_the_last_facts() {
    let dir = tempfile::tempdir().unwrap();
    let memory = open(dir.path());
    let mut one = provider(&memory, "one", 0);
    // Not even asked to the end, as when the user interrupts it.
    drop(one.before_turn(&[Message::user("My name is Alice. My password is hunter2.")]));
    assert_eq!(memory.count().unwrap(), 0);
    drop(one);
    assert_eq!(listed(&memory), [("My name is Alice.".to_owned(), at(0), at(0))]);
    // A message that states nothing makes no file.
    let path = dir.path().join("other.db");
    let mut other = MemoryProvider::at(path.clone(), "one");
    drop(other.before_turn(&[Message::user("What is 2+2?")]));
    drop(other);
    assert!(!path.exists());
}

#[test]
fn facts_that_could_not_be_stored_are_stored_later() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("memory.db");
    std::fs::write(&path, "no database ".repeat(100)).unwrap();
    let mut provider = MemoryProvider::at(path.clone(), "one").with_clock(|| at(0));
    let told = [Message::user("My name is Alice")];
    assert!(recall(&mut provider, &told).is_err());
    assert!(wait(provider.after_turn(&told, &Message::assistant("Hi"))).is_err());
    for _ in 0..3 {
        assert!(recall(&mut provider, &[Message::user("I live in Berlin")]).is_err());
    }
    std::fs::remove_file(&path).unwrap();
    drop(provider);
    let memory = open(dir.path());
    let texts: Vec<String> = memory.list(9).unwrap().into_iter().map(|fact| fact.text).collect();
    assert_eq!(texts, ["I live in Berlin", "My name is Alice"]);
}

#[test]
fn a_provider_that_only_recalls_stores_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let memory = open(dir.path());
    memory.remember("My name is Alice", "one", at(0)).unwrap();
    let mut provider = provider(&memory, "two", 1).recalling_only();
    assert!(provider.tools().is_empty());
    hold_turn(&mut provider, &[Message::user("I live in Berlin. Forget that my name is Alice.")]);
    let context = recall(&mut provider, &[Message::user("What's my name?")]).unwrap();
    assert!(context.turn.contains("Alice"), "{context:?}");
    drop(provider);
    assert_eq!(listed(&memory), [("My name is Alice".to_owned(), at(0), at(0))]);
}
