//! The cost of requests: the sum of the parts is the whole request.

use serde_json::{Value, json};
use skillcue::Counter;
use skillcue_agent::model::Api;
use skillcue_agent::{AgentOptions, RequestTokens, Tracer, read_trace};
use skillcue_scripted::{Received, Reply, Wire};

use crate::house::{APIS, House};

/// The bytes of every text of a request as it came over the wire.
fn counted(received: &Received) -> u64 {
    let mut bytes: Vec<usize> = Vec::new();
    let mut see = |text: &str| bytes.push(text.len());
    match received.api {
        Wire::OpenAi => {
            for message in received.body["messages"].as_array().unwrap() {
                if let Some(text) = message["content"].as_str() {
                    see(text);
                }
                for call in message["tool_calls"].as_array().into_iter().flatten() {
                    see(call["function"]["name"].as_str().unwrap());
                    see(call["function"]["arguments"].as_str().unwrap());
                }
            }
            for tool in received.body["tools"].as_array().into_iter().flatten() {
                let function = &tool["function"];
                see(function["name"].as_str().unwrap());
                see(function["description"].as_str().unwrap());
                see(&function["parameters"].to_string());
            }
        }
        Wire::Anthropic => {
            for block in received.body["system"].as_array().into_iter().flatten() {
                see(block["text"].as_str().unwrap());
            }
            for message in received.body["messages"].as_array().unwrap() {
                match &message["content"] {
                    Value::String(text) => see(text),
                    blocks => {
                        for block in blocks.as_array().unwrap() {
                            match block["type"].as_str().unwrap() {
                                "text" => see(block["text"].as_str().unwrap()),
                                "tool_use" => {
                                    see(block["name"].as_str().unwrap());
                                    see(&block["input"].to_string());
                                }
                                _ => match &block["content"] {
                                    Value::String(text) => see(text),
                                    parts => parts
                                        .as_array()
                                        .unwrap()
                                        .iter()
                                        .for_each(|part| see(part["text"].as_str().unwrap())),
                                },
                            }
                        }
                    }
                }
            }
            for tool in received.body["tools"].as_array().into_iter().flatten() {
                see(tool["name"].as_str().unwrap());
                see(tool["description"].as_str().unwrap());
                see(&tool["input_schema"].to_string());
            }
        }
        other => panic!("the agent does not speak {other:?}"),
    }
    bytes.iter().map(|bytes| *bytes as u64).sum()
}

#[tokio::test]
async fn the_parts_of_a_request_are_all_of_it() {
    for api in APIS {
        let options = AgentOptions { counter: Counter::Bytes4, ..AgentOptions::default() };
        let house = House::with(api, options, |received| {
            if received.new_results().is_empty() && received.texts().len() < 3 {
                Reply::calls([
                    ("a", "load_skill", json!({"skill_id": "greetings"})),
                    ("b", "search_skills", json!({"query": "money"})),
                ])
            } else {
                Reply::text("Yes, well.")
            }
        });
        let mut conversation = house.conversation();
        house.say(&mut conversation, "Say bonjour to Alice").await.unwrap();
        house.say(&mut conversation, "Write an invoice").await.unwrap();
        let sent = house.server.requests();
        let told = house.heard("request");
        assert_eq!(sent.len(), told.len());
        for (sent, told) in sent.iter().zip(told) {
            let parts: RequestTokens = serde_json::from_value(told["tokens"].clone()).unwrap();
            let bytes = counted(sent);
            // Each text is rounded up to a token by itself: never fewer than a quarter of the bytes, and never more
            // than one token a text more.
            let texts = texts_of(sent);
            assert!(parts.total() * 4 >= bytes, "{api:?}: {parts:?} for {bytes} bytes");
            assert!(
                parts.total() * 4 <= bytes + texts * 4 * 2,
                "{api:?}: {parts:?} for {bytes} bytes in {texts} texts"
            );
            assert!(parts.tools > 0 && parts.system > 0 && parts.skills_turn > 0 && parts.history > 0);
        }
    }
}

/// A bound on how many texts there are in a request: of context and words, which are one string, there may be two.
fn texts_of(received: &Received) -> u64 {
    fn strings(value: &Value) -> u64 {
        match value {
            Value::String(_) => 2,
            Value::Array(all) => all.iter().map(strings).sum(),
            Value::Object(all) => all.values().map(strings).sum(),
            _ => 0,
        }
    }
    strings(&received.body)
}

#[tokio::test]
async fn every_request_has_a_line_whose_total_is_the_sum_of_its_parts() {
    let house = House::new(Api::OpenAi, |received| match received.number {
        1 => Reply::calls([("a", "load_skill", json!({"skill_id": "greetings"}))]).usage(300, 20),
        2 => Reply::status(500),
        _ => Reply::text("Bonjour!").usage(400, 5),
    });
    let traces = house.dir.path().join("traces");
    let agent = house.agent.clone().with_tracer(Tracer::new(traces.clone(), false));
    let house = House { agent, ..house };
    house.say(&mut house.conversation(), "Say bonjour to Alice").await.unwrap();
    let text = std::fs::read_to_string(traces.join("test.jsonl")).unwrap();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 2, "one a request that has an answer or an error: {text}");
    for line in &lines {
        let tokens = line["tokens"].as_object().unwrap();
        let sum: u64 =
            tokens.iter().filter(|(part, _)| *part != "total").map(|(_, count)| count.as_u64().unwrap()).sum();
        assert_eq!(tokens["total"], sum);
        assert_eq!(line["tier"], 3);
        assert_eq!(line["skills"][0]["name"], "greetings");
    }
    assert_eq!(lines[0]["usage"]["prompt_tokens"], 300, "the provider's own words: {text}");
    assert_eq!(lines[0]["calls"], json!(["load_skill"]));
    assert_eq!((&lines[1]["attempts"], &lines[1]["round"]), (&json!(2), &json!(2)));
    assert!(!text.contains("Alice") && !text.contains("Bonjour"), "no text of messages: {text}");
    let traced = read_trace(&traces.join("test.jsonl")).unwrap();
    assert_eq!((traced.lines.len(), traced.problems.len()), (2, 0));
}

#[tokio::test]
async fn the_words_are_traced_only_when_asked_for() {
    let house = House::new(Api::Anthropic, |_| Reply::text("Bonjour!"));
    let traces = house.dir.path().join("traces");
    let agent = house.agent.clone().with_tracer(Tracer::new(traces.clone(), true));
    let house = House { agent, ..house };
    house.say(&mut house.conversation(), "Say bonjour to Alice").await.unwrap();
    let text = std::fs::read_to_string(traces.join("test.jsonl")).unwrap();
    assert!(text.contains("Say bonjour to Alice") && text.contains("Bonjour!"), "{text}");
}
