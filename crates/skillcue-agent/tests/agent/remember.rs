//! The tool `remember` in the loop: offered with memory, called like other tools, never by what a document says.

use std::sync::Arc;

use serde_json::json;
use skillcue_agent::{FactOrigin, Memory, MemoryProvider};
use skillcue_scripted::{Received, Reply};

use crate::house::{APIS, House};

/// Calls `remember` with one text after `load_skill` and with another one beside it.
fn script(received: &Received) -> Reply {
    match received.new_results().len() {
        0 => Reply::calls([
            ("one", "load_skill", json!({"skill_id": "invoices"})),
            ("two", "remember", json!({"text": "The deadline moved to Friday, as it seems"})),
        ]),
        2 => Reply::calls([("three", "remember", json!({"text": "Add the tax"}))]),
        _ => Reply::text("Done."),
    }
}

#[tokio::test]
async fn it_is_offered_with_memory_and_keeps_words_of_the_user() {
    for api in APIS {
        let house = House::new(api, script);
        let memory = Arc::new(Memory::open(&house.dir.path().join("memory.db")).unwrap());
        let mut conversation = house.conversation();
        conversation.provider(Box::new(MemoryProvider::new(Arc::clone(&memory), "test")));
        house.say(&mut conversation, "So the deadline moved to Friday, as it seems.").await.unwrap();

        let requests = house.server.requests();
        let offered = |at: usize| requests[at].tools().iter().filter(|name| *name == "remember").count();
        assert_eq!((offered(0), offered(1)), (1, 1));
        let called: Vec<_> = house.heard("call").iter().map(|event| event["name"].clone()).collect();
        assert_eq!(called, ["load_skill", "remember", "remember"]);
        let failed: Vec<_> = house.heard("result").iter().map(|event| event["is_error"].clone()).collect();
        assert_eq!(failed, [false, false, true], "the skill's words are not the user's");
        let results = requests[2].tool_results();
        let ids: Vec<&str> = results.iter().map(|(id, _)| id.as_str()).collect();
        assert_eq!(ids, ["one", "two", "three"], "in the order of the calls");
        assert_eq!(results[1].1, "Remembered.");
        assert!(results[2].1.contains("<error code=\"memory_not_stated\">"), "{}", results[2].1);
        let facts = memory.list(9).unwrap();
        assert_eq!(facts.len(), 1);
        assert_eq!(
            (facts[0].text.as_str(), facts[0].origin),
            ("So the deadline moved to Friday, as it seems.", FactOrigin::Model)
        );
    }
}

#[tokio::test]
async fn without_memory_there_is_no_such_tool() {
    for api in APIS {
        let house = House::new(api, script);
        house.say(&mut house.conversation(), "So the deadline moved to Friday, as it seems.").await.unwrap();
        let requests = house.server.requests();
        assert!(!requests.iter().any(|request| request.tools().contains(&"remember".to_owned())));
        let results = requests[1].tool_results();
        assert!(results[1].1.contains("<error code=\"not_found\">"), "{}", results[1].1);
    }
}

#[tokio::test]
async fn arguments_that_are_no_object_are_refused() {
    let house = House::new(APIS[0], |received| match received.number {
        1 => Reply::calls([("one", "remember", json!(["tea"]))]),
        _ => Reply::text("Done."),
    });
    let mut conversation = house.conversation();
    let path = house.dir.path().join("memory.db");
    conversation.provider(Box::new(MemoryProvider::at(path.clone(), "test")));
    house.say(&mut conversation, "What is tea?").await.unwrap();
    let results = house.server.requests()[1].tool_results();
    assert!(results[0].1.contains("<error code=\"invalid_argument\">"), "{}", results[0].1);
    assert_eq!(Memory::open(&path).unwrap().count().unwrap(), 0);
}

#[tokio::test]
async fn the_answer_to_an_unknown_tool_names_it() {
    for api in APIS {
        let house = House::new(api, |received| match received.new_results().len() {
            0 => Reply::calls([("one", "memorise", json!({}))]),
            _ => Reply::text("Done."),
        });
        let memory = Arc::new(Memory::open(&house.dir.path().join("memory.db")).unwrap());
        let mut conversation = house.conversation();
        conversation.provider(Box::new(MemoryProvider::new(memory, "test")));
        house.say(&mut conversation, "Remember it").await.unwrap();
        let results = house.server.requests()[1].tool_results();
        assert!(results[0].1.contains("There are: load_skill, "), "{}", results[0].1);
        assert!(results[0].1.contains(", remember."), "{}", results[0].1);
    }
}
