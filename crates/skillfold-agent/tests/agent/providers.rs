//! Context providers: they compose, and none stops a turn.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use skillfold_agent::model::Api;
use skillfold_agent::{AgentOptions, BoxFuture, Context, ContextProvider, Message, Part, ProviderError};
use skillfold_scripted::Reply;

use crate::house::House;

/// Does what it is told to.
struct Scripted {
    name: &'static str,
    before: fn() -> BoxFuture<'static, Result<Context, ProviderError>>,
    after: Arc<Mutex<Vec<(usize, Message)>>>,
}

impl ContextProvider for Scripted {
    fn name(&self) -> &str {
        self.name
    }

    fn before_turn<'a>(&'a mut self, _: &'a [Message]) -> BoxFuture<'a, Result<Context, ProviderError>> {
        (self.before)()
    }

    fn after_turn<'a>(
        &'a mut self,
        request: &'a [Message],
        response: &'a Message,
    ) -> BoxFuture<'a, Result<(), ProviderError>> {
        self.after.lock().unwrap().push((request.len(), response.clone()));
        Box::pin(async { Err(ProviderError::new("no room")) })
    }
}

fn good() -> BoxFuture<'static, Result<Context, ProviderError>> {
    Box::pin(async {
        Ok(Context { stable: "It is cold here.".to_owned(), ..Context::turn(Part::History, "It is Monday.") })
    })
}

fn fails() -> BoxFuture<'static, Result<Context, ProviderError>> {
    Box::pin(async { Err(ProviderError::new("the file is gone")) })
}

fn panics() -> BoxFuture<'static, Result<Context, ProviderError>> {
    Box::pin(async { panic!("on purpose") })
}

fn hangs() -> BoxFuture<'static, Result<Context, ProviderError>> {
    Box::pin(std::future::pending())
}

#[tokio::test]
async fn one_that_fails_panics_or_hangs_does_not_stop_the_turn() {
    let options = AgentOptions { provider_timeout: Duration::from_millis(50), ..AgentOptions::default() };
    let house = House::with(Api::OpenAi, options, |_| Reply::text("Yes."));
    let mut conversation = house.conversation();
    let after = Arc::default();
    for (name, before) in [("a", fails as fn() -> _), ("b", panics), ("c", hangs), ("d", good)] {
        conversation.provider(Box::new(Scripted { name, before, after: Arc::clone(&after) }));
    }
    let report = house.say(&mut conversation, "What is 2+2?").await.unwrap();
    assert_eq!(report.answer, "Yes.");
    let sent = &house.server.requests()[0];
    assert_eq!(sent.last_user(), "[2 skills available]\n\nIt is Monday.\n\nWhat is 2+2?");
    assert!(sent.system().ends_with("\n\nIt is cold here."), "{}", sent.system());
    let problems: Vec<String> =
        house.heard("problem").iter().map(|event| format!("{}: {}", event["provider"], event["message"])).collect();
    assert_eq!(
        problems[..3],
        [r#""a": "the file is gone""#, r#""b": "it panicked""#, r#""c": "it took longer than 0 s""#,]
    );
    // All of them hear of the answer, and that they fail then is told, too.
    assert_eq!(problems.len(), 7);
    let after = after.lock().unwrap();
    assert_eq!(after.len(), 4);
    assert!(after.iter().all(|heard| *heard == (1, Message::assistant("Yes."))));
}

#[tokio::test]
async fn what_goes_into_the_instructions_stays_when_a_later_turn_fails() {
    static TURN: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
    fn once() -> BoxFuture<'static, Result<Context, ProviderError>> {
        if TURN.fetch_add(1, std::sync::atomic::Ordering::SeqCst) == 0 { good() } else { fails() }
    }
    let house = House::new(Api::OpenAi, |_| Reply::text("Yes."));
    let mut conversation = house.conversation();
    conversation.provider(Box::new(Scripted { name: "weather", before: once, after: Arc::default() }));
    house.say(&mut conversation, "One").await.unwrap();
    house.say(&mut conversation, "Two").await.unwrap();
    let sent = house.server.requests();
    assert_eq!(sent[0].system(), sent[1].system(), "the model's prompt cache holds");
}

/// Says something for the instructions.
struct Stable(&'static str);

impl ContextProvider for Stable {
    fn name(&self) -> &'static str {
        "notes"
    }

    fn before_turn<'a>(&'a mut self, _: &'a [Message]) -> BoxFuture<'a, Result<Context, ProviderError>> {
        Box::pin(async { Ok(Context { stable: self.0.to_owned(), ..Context::default() }) })
    }
}

/// Panics before it promises anything.
struct AtOnce;

impl ContextProvider for AtOnce {
    fn name(&self) -> &'static str {
        "at once"
    }

    fn before_turn<'a>(&'a mut self, _: &'a [Message]) -> BoxFuture<'a, Result<Context, ProviderError>> {
        panic!("on purpose")
    }
}

#[tokio::test]
async fn two_of_one_name_are_both_heard_and_one_that_panics_at_once_is_not() {
    let house = House::new(Api::OpenAi, |_| Reply::text("Yes."));
    let mut conversation = house.conversation();
    conversation.provider(Box::new(Stable("One.")));
    conversation.provider(Box::new(AtOnce));
    conversation.provider(Box::new(Stable("Two.")));
    house.say(&mut conversation, "Hello").await.unwrap();
    assert!(house.server.requests()[0].system().ends_with("\n\nOne.\n\nTwo."));
    assert_eq!(house.heard("problem")[0]["message"], "it panicked");
}

#[tokio::test]
async fn a_turn_that_nobody_waits_for_takes_nothing_with_it() {
    static WAITS: std::sync::atomic::AtomicBool = std::sync::atomic::AtomicBool::new(true);
    fn slow() -> BoxFuture<'static, Result<Context, ProviderError>> {
        if WAITS.swap(false, std::sync::atomic::Ordering::SeqCst) { hangs() } else { good() }
    }
    let house = House::new(Api::OpenAi, |_| Reply::text("Yes."));
    let mut conversation = house.conversation();
    conversation.provider(Box::new(Scripted { name: "slow", before: slow, after: Arc::default() }));
    // Until it hangs, and then it is dropped.
    let turn = house.say(&mut conversation, "First");
    assert!(tokio::time::timeout(Duration::from_millis(200), turn).await.is_err());
    house.say(&mut conversation, "Second").await.unwrap();
    let sent = house.server.requests()[0].texts();
    assert_eq!(sent.len(), 1, "{sent:?}");
    assert_eq!(sent[0].1, "[2 skills available]\n\nIt is Monday.\n\nSecond");
}
