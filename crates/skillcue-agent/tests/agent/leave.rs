//! Skills that leave a conversation, and what stays of them.

use serde_json::{Value, json};
use skillcue_agent::model::Api;
use skillcue_agent::{Tracer, read_trace};
use skillcue_scripted::{Received, Reply};

use crate::house::{APIS, House, begun, continued, write_skill};

const TAX: &str = "Add the tax.";

fn count(received: &Received, text: &str) -> usize {
    received.body.to_string().matches(text).count()
}

fn moves(house: &House) -> Vec<(String, String)> {
    let word = |event: &Value, key: &str| event[key].as_str().unwrap().to_owned();
    house.heard("skill").iter().map(|event| (word(event, "name"), word(event, "how"))).collect()
}

fn moved(name: &str, how: &str) -> (String, String) {
    (name.to_owned(), how.to_owned())
}

/// A skill with a lifecycle.
fn write_short(house: &House, name: &str, trigger: &str, lifecycle: &str, body: &str) {
    write_skill(house.dir.path(), name, trigger, body);
    let file = house.dir.path().join(name).join("SKILL.md");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(file, text.replacen("metadata:\n", &format!("metadata:\n  lifecycle: {lifecycle}\n"), 1)).unwrap();
    house.agent.skills().refresh();
}

#[tokio::test]
async fn an_unloaded_skill_leaves_with_its_text_and_can_come_back() {
    for api in APIS {
        let house = House::new(api, |received| {
            let call = |tool: &'static str| {
                Reply::calls([(format!("c{}", received.number), tool, json!({"skill_id": "invoices"}))])
            };
            match received.number {
                1 | 5 => call("load_skill"),
                2 => call("unload_skill"),
                _ => Reply::text("Done."),
            }
        });
        let traces = house.dir.path().join("traces");
        let agent = house.agent.clone().with_tracer(Tracer::new(traces.clone(), false));
        let house = House { agent, ..house };
        let mut conversation = house.conversation();
        house.say(&mut conversation, "Go").await.unwrap();
        let sent = house.server.requests();
        assert!(!sent[0].tools().contains(&"unload_skill".to_owned()));
        assert!(sent[1].tools().contains(&"unload_skill".to_owned()) && count(&sent[1], TAX) == 1);
        assert_eq!((count(&sent[2], TAX), sent[2].tools()), (0, sent[0].tools()), "{}", sent[2].body);
        assert!(conversation.loaded().is_empty());
        house.say(&mut conversation, "Go on").await.unwrap();
        house.say(&mut conversation, "Again").await.unwrap();
        assert_eq!(count(&house.server.requests()[5], TAX), 1);
        let expected = [moved("invoices", "loaded"), moved("invoices", "unloaded"), moved("invoices", "loaded")];
        assert_eq!(moves(&house), expected);
        let traced: Vec<_> = read_trace(&traces.join("test.jsonl")).unwrap().lines;
        let traced: Vec<_> = traced.into_iter().flat_map(|line| line.moves).map(|one| (one.name, one.how)).collect();
        assert_eq!(traced, expected);
    }
}

#[tokio::test]
async fn a_skill_that_is_not_there_cannot_be_unloaded() {
    let house = House::new(Api::OpenAi, |received| match received.number {
        1 => Reply::calls([("a", "unload_skill", json!({"skill_id": "invoices"})), ("b", "unload_skill", json!({}))]),
        _ => Reply::text("Done."),
    });
    house.say(&mut house.conversation(), "Go").await.unwrap();
    let results = house.server.requests()[1].tool_results();
    assert!(results[0].1.contains("code=\"not_loaded\"") && results[1].1.contains("invalid_argument"), "{results:?}");
}

#[tokio::test]
async fn lifecycles_end() {
    let house = House::new(Api::OpenAi, |_| Reply::text("Done."));
    write_short(&house, "one-shot", "parcel", "once", "# One\n\nWeigh it.");
    write_short(&house, "two-turns", "letter", "{turns: 2}", "# Two\n\nFold it.");
    let (sessions, mut conversation) = begun(&house);
    let mut seen = Vec::new();
    for (at, message) in ["Send the parcel", "Write the letter", "Go on", "And?", "Send the parcel"].iter().enumerate()
    {
        if at == 2 {
            // It makes no difference that the conversation is continued.
            conversation = continued(&house, &sessions, conversation);
        }
        house.say(&mut conversation, message).await.unwrap();
        let last = house.server.requests().pop().unwrap();
        seen.push((count(&last, "Weigh it."), count(&last, "Fold it.")));
    }
    assert_eq!(seen, [(1, 0), (0, 1), (0, 1), (0, 0), (1, 0)]);
    let expected = [moved("one-shot", "expired"), moved("two-turns", "expired"), moved("one-shot", "expired")];
    assert_eq!(moves(&house), expected);
}
