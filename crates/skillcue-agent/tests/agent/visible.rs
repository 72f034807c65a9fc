//! A skill that is not for models reaches none through the agent, whatever the reason.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use skillcue::DiscloseConfig;
use skillcue_agent::model::Api;
use skillcue_agent::{Agent, AgentOptions, Conversation};
use skillcue_scripted::{Reply, Server};

use crate::house::{House, model};
use crate::not_for_models::{KINDS, OPEN, SECRET, builder, check, write};

/// An agent over these skills, whose model calls one tool after the other and then says yes.
fn house(calls: Vec<(&'static str, Value)>) -> House {
    house_with(calls, DiscloseConfig::default())
}

fn house_with(calls: Vec<(&'static str, Value)>, config: DiscloseConfig) -> House {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path());
    let skills = Arc::new(builder(dir.path()).disclosure(config).build().unwrap());
    let server = Server::start(move |received| {
        // One a round: what is loaded in one may bring something to the next.
        let done = received.tool_results().len();
        match calls.get(done) {
            Some((tool, arguments)) => Reply::calls([(format!("call-{done}"), *tool, arguments.clone())]),
            None => Reply::text("Yes."),
        }
    });
    let agent = Agent::new(skills, model(Api::OpenAi, &server), AgentOptions::default());
    House { dir, server, agent, heard: Mutex::default() }
}

/// Everything that the model was sent.
fn sent(house: &House) -> String {
    house.server.requests().iter().map(|request| request.body.to_string()).collect::<Vec<_>>().join("\n")
}

#[tokio::test]
async fn no_context_shows_them() {
    for message in ["the invoice", "what can you do?", "show all skills", "nothing"] {
        let house = house(Vec::new());
        house.say(&mut house.conversation(), message).await.unwrap();
        check(message, &sent(&house));
    }
    let house = house(Vec::new());
    house.say(&mut house.conversation(), "the invoice").await.unwrap();
    assert!(sent(&house).contains(OPEN), "the control");
}

/// At some eagerness likely skills are named.
#[tokio::test]
async fn no_shortlist_names_them() {
    let mut named = 0;
    for percent in (0..=100_u8).step_by(10) {
        let eagerness = f32::from(percent) / 100.0;
        let house = house_with(Vec::new(), DiscloseConfig { eagerness, ..DiscloseConfig::default() });
        house.say(&mut house.conversation(), "invoices, openly written").await.unwrap();
        let all = sent(&house);
        check(&format!("{eagerness}"), &all);
        named += usize::from(all.contains("## Skills that may fit") && all.contains("**open**"));
    }
    assert!(named > 0, "the control was never named");
}

#[tokio::test]
async fn no_tool_shows_them() {
    let mut calls = vec![("search_skills", json!({"query": "invoice"})), ("load_skill", json!({"skill_id": "open"}))];
    for kind in &KINDS {
        calls.push(("load_skill", json!({"skill_id": kind.name})));
        calls.push(("read_skill_file", json!({"skill_id": kind.name, "path": "note.md"})));
    }
    let count = calls.len();
    let house = house(calls);
    let mut conversation = house.conversation();
    house.say(&mut conversation, "the invoice").await.unwrap();
    assert_eq!(house.heard("result").len(), count);
    let all = sent(&house);
    assert!(all.contains(OPEN) && !all.contains(SECRET), "{all}");
    assert_eq!(conversation.loaded(), ["open"]);
}

/// A skill that the user loads goes to the model: that is the user's wish. Only for people's own kinds there is something.
#[tokio::test]
async fn the_user_may_load_what_is_for_people() {
    let house = house(Vec::new());
    for kind in &KINDS {
        let mut conversation = Conversation::new("test");
        let loaded = conversation.load(house.agent.skills(), kind.name, "");
        assert_eq!(loaded.is_ok(), kind.is_for_people, "{}", kind.name);
    }
}
