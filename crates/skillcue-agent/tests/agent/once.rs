//! No body is paid for twice: what is in the context is referred to, and its tools are there.

use std::sync::Arc;

use serde_json::{Value, json};
use skillcue::Skillcue;
use skillcue::catalog::FileListing;
use skillcue::tools::{Call, ToolContext, ToolDefinition, ToolOutput, ToolProvider};
use skillcue_agent::model::Api;
use skillcue_agent::{Agent, AgentOptions};
use skillcue_scripted::{Received, Reply};

use crate::house::{APIS, House, begun, continued, is_summary, model, small, write_skill};

const BONJOUR: &str = "Say it <b>warmly</b>";
const TAX: &str = "Add the tax.";

/// The number of times that a request holds a text, in whatever message.
fn count(received: &Received, text: &str) -> usize {
    let quoted = Value::from(text).to_string();
    received.body.to_string().matches(quoted.trim_matches('"')).count()
}

/// Calls in the first answer to each message, and words after that.
fn once_a_turn(received: &Received, calls: &[(&'static str, Value)]) -> Reply {
    if !received.new_results().is_empty() {
        return Reply::text("Done.");
    }
    let number = received.number;
    Reply::calls(calls.iter().enumerate().map(|(at, (tool, given))| (format!("c{number}-{at}"), *tool, given.clone())))
}

fn load(id: &str) -> (&'static str, Value) {
    ("load_skill", json!({"skill_id": id}))
}

#[tokio::test]
async fn every_body_is_sent_at_most_once() {
    for api in APIS {
        // Twice at once, turn after turn, whether it was disclosed or not.
        let calls = [load("greetings"), load("invoices"), load("invoices")];
        let house = House::new(api, move |received| once_a_turn(received, &calls));
        let mut conversation = house.conversation();
        for message in ["Say bonjour to Alice", "Write an invoice", "Go", "Say bonjour to Bob"] {
            house.say(&mut conversation, message).await.unwrap();
        }
        for sent in house.server.requests() {
            assert!(count(&sent, BONJOUR) == 1 && count(&sent, TAX) <= 1, "{api:?}: {}", sent.body);
        }
        let last = house.server.requests().pop().unwrap();
        let results = last.tool_results();
        assert_eq!(results[0].1, "The skill \"greetings\" is in this conversation already, unchanged: follow it.");
        assert!(results[1].1.starts_with("<skill_context id=\"invoices\">"));
        assert!(results[2..].iter().all(|(_, text)| text.contains("already, unchanged") && !text.contains('\n')));
        // One that has changed since is not the one in the context.
        write_skill(house.dir.path(), "invoices", "invoice", "# Invoices\n\nAdd no tax.");
        house.agent.skills().refresh();
        house.say(&mut conversation, "Go on").await.unwrap();
        assert_eq!(count(&house.server.requests().pop().unwrap(), "Add no tax."), 1);
    }
}

#[tokio::test]
async fn other_arguments_and_sections_are_other_texts() {
    let with = |arguments: &str| ("load_skill", json!({"skill_id": "parcels", "arguments": arguments}));
    let section = ("load_skill", json!({"skill_id": "parcels", "section": "Send"}));
    let calls = [section.clone(), with("Alice"), with("Bob"), with("Alice"), load("parcels"), section];
    let house = House::new(Api::OpenAi, move |received| once_a_turn(received, &calls));
    write_skill(
        house.dir.path(),
        "parcels",
        "parcel",
        "# Weigh\n\nFor $ARGUMENTS, on the scale.\n\n# Send\n\nBy mail.",
    );
    house.agent.skills().refresh();
    let mut conversation = house.conversation();
    house.say(&mut conversation, "Go").await.unwrap();
    let last = house.server.requests().pop().unwrap();
    let is_text = |(_, text): &(String, String)| text.starts_with("<skill_context");
    let given: Vec<bool> = last.tool_results().iter().map(is_text).collect();
    assert_eq!(given, [true, true, true, false, true, false]);
    assert_eq!((count(&last, "For Alice"), count(&last, "For Bob"), count(&last, "For , on")), (1, 1, 1));
    // All of it is there, whichever way it came.
    house.say(&mut conversation, "Pack the parcel").await.unwrap();
    assert_eq!(count(&house.server.requests().pop().unwrap(), "For , on"), 1);
}

/// A tool that comes with a skill.
#[derive(Debug)]
struct Stamp;

impl ToolProvider for Stamp {
    fn definitions(&self, _: &Skillcue, loaded: &[String]) -> Vec<ToolDefinition> {
        let stamp = || ToolDefinition {
            name: "stamp".into(),
            title: "Stamp".into(),
            description: "Stamps.".into(),
            input_schema: json!({"type": "object"}),
            read_only: true,
        };
        loaded.iter().filter(|name| *name == "invoices").map(|_| stamp()).collect()
    }

    fn brings_tools(&self, _: &Skillcue, skill: &str, _: &FileListing) -> bool {
        skill == "invoices"
    }

    fn call(&self, _: &Skillcue, call: &Call, context: &ToolContext<'_>) -> Option<ToolOutput> {
        (call.name() == "stamp").then(|| ToolOutput::from_text(format!("stamped for {:?}", context.loaded)))
    }
}

fn stamping(house: House) -> House {
    let skills = Skillcue::builder().skills_dir(house.dir.path()).tools(Arc::new(Stamp)).build().unwrap();
    let agent = Agent::new(Arc::new(skills), model(Api::OpenAi, &house.server), AgentOptions::default());
    House { agent, ..house }
}

#[tokio::test]
async fn a_disclosed_body_brings_its_tools_without_a_load() {
    let house = stamping(House::new(Api::OpenAi, |received| match received.number {
        1 => Reply::calls([("a", "stamp", json!({}))]),
        _ => Reply::text("Done."),
    }));
    house.say(&mut house.conversation(), "Write an invoice").await.unwrap();
    let requests = house.server.requests();
    assert!(requests[0].tools().contains(&"stamp".to_owned()), "{:?}", requests[0].tools());
    assert_eq!(requests[1].tool_results()[0].1, "stamped for [\"invoices\"]");
    assert_eq!(count(&requests[1], TAX), 1);
}

#[tokio::test]
async fn a_continued_conversation_pays_for_nothing_again() {
    let house = stamping(House::new(Api::OpenAi, |received| once_a_turn(received, &[load("invoices")])));
    let (sessions, mut conversation) = begun(&house);
    house.say(&mut conversation, "Go").await.unwrap();
    conversation = continued(&house, &sessions, conversation);
    for message in ["Go on", "Write an invoice"] {
        house.say(&mut conversation, message).await.unwrap();
        let last = house.server.requests().pop().unwrap();
        assert_eq!(count(&last, TAX), 1, "{}", last.body);
        assert!(last.tools().contains(&"stamp".to_owned()));
    }
}

#[tokio::test]
async fn compaction_leaves_each_body_once() {
    let house = House::with(Api::Anthropic, small(4_000), |received| {
        if is_summary(received) {
            return Reply::text("Fruit was talked about.");
        }
        once_a_turn(received, &[load("invoices"), load("greetings")])
    });
    let mut conversation = house.conversation();
    for message in ["Say bonjour to Alice", "apple", "pear", "plum", "cherry", "Write an invoice"] {
        let long = if message.contains(' ') { message.to_owned() } else { format!("{message} ").repeat(900) };
        house.say(&mut conversation, &long).await.unwrap();
    }
    assert!(!house.heard("compacted").is_empty(), "it never got too long");
    for sent in house.server.requests() {
        assert!(count(&sent, TAX) <= 1 && count(&sent, BONJOUR) <= 1, "{}", sent.body);
    }
    let last = house.server.requests().pop().unwrap();
    assert_eq!((count(&last, TAX), count(&last, BONJOUR)), (1, 1), "{}", last.body);
}

#[tokio::test]
async fn a_skill_that_the_user_loads_again_is_referred_to() {
    let house = House::new(Api::OpenAi, |_| Reply::text("Done."));
    let mut conversation = house.conversation();
    let first = conversation.load(house.agent.skills(), "invoices", "").unwrap();
    assert!(first.contains(TAX));
    house.say(&mut conversation, "Go").await.unwrap();
    let again = conversation.load(house.agent.skills(), "invoices", "").unwrap();
    assert_eq!(again, "The skill \"invoices\" is in this conversation already, unchanged: follow it.");
    house.say(&mut conversation, "Go on").await.unwrap();
    assert_eq!(count(&house.server.requests().pop().unwrap(), TAX), 1);
}
