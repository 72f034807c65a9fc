//! Turns that end too early.

use std::sync::Arc;

use serde_json::json;
use skillcue::consent::ConsentStore;
use skillcue_agent::{About, AgentConsent, AgentError, ConsentPolicy, Conversation, Message, Sessions};
use skillcue_base::ErrorInfo as _;
use skillcue_scripted::Reply;
use tokio_util::sync::CancellationToken;

use crate::house::{APIS, House};

#[tokio::test]
async fn an_interrupted_conversation_goes_on() {
    for api in APIS {
        let cancel = CancellationToken::new();
        let seen = cancel.clone();
        let house = House::new(api, move |received| match received.number {
            1 => Reply::text("One."),
            2 => Reply::calls([("c", "search_skills", json!({"query": "invoice"}))]),
            3 => {
                seen.cancel();
                Reply::stall()
            }
            _ => Reply::text("Here I am."),
        });
        let sessions = Sessions::new(house.dir.path().join("sessions"));
        let about = About { model: "scripted".to_owned(), cwd: None, created: std::time::SystemTime::now() };
        let (file, saved) = sessions.create(about).unwrap();
        let id = saved.id.clone();
        let mut conversation = Conversation::saved(file, saved);
        let consent = AgentConsent::new(ConsentPolicy::default(), Arc::new(ConsentStore::default()));
        house.say(&mut conversation, "First").await.unwrap();
        let error = house.say_with(&mut conversation, "Second", &consent, &cancel).await.unwrap_err();
        assert!(matches!(error, AgentError::Cancelled), "{error}");
        assert_eq!(conversation.messages().last(), Some(&Message::assistant("[interrupted]")));
        let kept = conversation.messages().to_vec();
        drop(conversation);

        let (file, saved) = sessions.open(&id).unwrap();
        assert_eq!((saved.messages.clone(), saved.repaired.len()), (kept, 0));
        let mut conversation = Conversation::saved(file, saved);
        // The server refuses what the real ones would.
        let report = house.say(&mut conversation, "Third").await.unwrap();
        assert_eq!(report.answer, "Here I am.");
    }
}

#[tokio::test]
async fn a_turn_without_an_answer_leaves_a_conversation_that_goes_on() {
    for api in APIS {
        let house = House::new(api, |received| match received.number {
            1 => Reply::status(401),
            _ => Reply::text("Now."),
        });
        let mut conversation = house.conversation();
        let error = house.say(&mut conversation, "First").await.unwrap_err();
        assert!(matches!(error, AgentError::Model(_)), "{error}");
        assert_eq!(house.say(&mut conversation, "Second").await.unwrap().answer, "Now.");
        assert_eq!(conversation.turns(), 2);
    }
}

#[tokio::test]
async fn an_empty_answer_is_no_empty_message() {
    for api in APIS {
        let house =
            House::new(api, |received| if received.number == 1 { Reply::text("") } else { Reply::text("Yes.") });
        let mut conversation = house.conversation();
        assert_eq!(house.say(&mut conversation, "First").await.unwrap().answer, "");
        assert_eq!(house.say(&mut conversation, "Second").await.unwrap().answer, "Yes.");
    }
}

#[tokio::test]
async fn cancelling_before_anything_is_sent_sends_nothing() {
    let house = House::new(APIS[0], |_| Reply::text("Never."));
    let cancel = CancellationToken::new();
    cancel.cancel();
    let consent = Arc::new(AgentConsent::new(ConsentPolicy::default(), Arc::new(ConsentStore::default())));
    let error = house.say_with(&mut house.conversation(), "First", &consent, &cancel).await.unwrap_err();
    assert!(matches!(error, AgentError::Cancelled));
    assert!(house.server.requests().is_empty());
}

#[tokio::test]
async fn ids_that_come_twice_are_told_apart() {
    for api in APIS {
        // Every answer begins to count anew.
        let house = House::new(api, |received| match received.number {
            1..=3 => Reply::calls([("call_0", "search_skills", json!({"query": "invoice"}))]),
            _ => Reply::text("Enough."),
        });
        house.say(&mut house.conversation(), "Search").await.unwrap();
        let results = house.server.requests().last().unwrap().tool_results();
        let ids: std::collections::HashSet<&str> = results.iter().map(|(id, _)| id.as_str()).collect();
        assert_eq!((results.len(), ids.len()), (3, 3), "{ids:?}");
    }
}

#[tokio::test]
async fn a_conversation_that_cannot_be_written_down_goes_on_and_says_so() {
    let house = House::new(APIS[0], |_| Reply::text("Yes."));
    let sessions = Sessions::new(house.dir.path().join("sessions"));
    let about = About { model: "scripted".to_owned(), cwd: None, created: std::time::SystemTime::now() };
    let (file, saved) = sessions.create(about).unwrap();
    let mut conversation = Conversation::saved(file, saved);
    // More than a line may hold.
    let long = "x".repeat(65 << 20);
    let error = house.say(&mut conversation, &long).await.unwrap_err();
    assert_eq!(error.code(), "context_full");
    let problems = house.heard("problem");
    assert_eq!(problems[0]["provider"], "session", "{problems:?}");
    let report = house.say(&mut conversation, "And now?").await.unwrap();
    assert_eq!(report.answer, "Yes.");
}
