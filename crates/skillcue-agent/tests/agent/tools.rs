//! Tools that models call.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use skillcue::Skillcue;
use skillcue::catalog::FileListing;
use skillcue::tools::{Call, ToolContext, ToolDefinition, ToolOutput, ToolProvider};
use skillcue_agent::model::Api;
use skillcue_agent::{Agent, AgentError, AgentOptions, Message};
use skillcue_scripted::Reply;

use crate::house::{APIS, House, model};

#[tokio::test]
async fn results_come_in_the_order_of_the_calls() {
    for api in APIS {
        let house = House::new(api, |received| {
            if !received.new_results().is_empty() {
                return Reply::text("Done.");
            }
            Reply::calls([
                ("one", "search_skills", json!({"query": "invoice"})),
                ("two", "no_such_tool", json!({})),
                ("three", "load_skill", json!({"skill_id": "invoices"})),
                ("four", "read_skill_file", json!({"skill_id": "invoices", "path": "../secret"})),
                ("five", "load_skill", json!({})),
            ])
        });
        let mut conversation = house.conversation();
        house.say(&mut conversation, "Do it").await.unwrap();
        let results = house.server.requests()[1].tool_results();
        let ids: Vec<&str> = results.iter().map(|(id, _)| id.as_str()).collect();
        assert_eq!(ids, ["one", "two", "three", "four", "five"]);
        assert!(
            results[1].1.contains("<error code=\"not_found\">") && results[1].1.contains("load_skill, search_skills")
        );
        assert!(results[2].1.contains("Add the tax."));
        assert!(results[3].1.contains("<error code=\"security\">"), "{}", results[3].1);
        assert!(results[4].1.contains("<error code=\"invalid_argument\">"), "{}", results[4].1);
        let Some(Message::Tools { results, .. }) = conversation.messages().get(2) else { panic!("no results") };
        assert_eq!(results.iter().map(|result| result.is_error).collect::<Vec<_>>(), [false, true, false, true, true]);
    }
}

#[tokio::test]
async fn arguments_that_are_no_object_are_answered_with_what_is_wrong() {
    // Written as a model may: not JSON, not an object, cut off, nothing at all.
    let house = House::new(Api::OpenAi, |received| match received.number {
        1 => Reply::body("text/event-stream", stream(&["load it", "[1]", "{\"skill_id\": \"gree", ""])),
        _ => Reply::text("Sorry."),
    });
    house.say(&mut house.conversation(), "Do it").await.unwrap();
    let results = house.server.requests()[1].tool_results();
    assert!(results[0].1.contains("The arguments are no JSON"), "{}", results[0].1);
    assert!(results[1].1.contains("have to be a JSON object"), "{}", results[1].1);
    assert!(results[2].1.contains("The arguments are no JSON"), "{}", results[2].1);
    assert!(results[3].1.contains("invalid_argument"), "{}", results[3].1);
}

/// A stream of calls with these arguments.
fn stream(arguments: &[&str]) -> String {
    let call = |(at, arguments): (usize, &&str)| {
        json!({"index": at, "id": format!("c{at}"), "type": "function",
               "function": {"name": "load_skill", "arguments": arguments}})
    };
    let calls: Vec<Value> = arguments.iter().enumerate().map(call).collect();
    let delta = json!({"choices": [{"index": 0, "delta": {"role": "assistant", "tool_calls": calls}}]});
    let last = json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]});
    format!("data: {delta}\n\ndata: {last}\n\ndata: [DONE]\n\n")
}

#[tokio::test]
async fn a_model_that_only_calls_tools_is_stopped() {
    let options = AgentOptions { rounds: 3, ..AgentOptions::default() };
    let house = House::with(Api::Anthropic, options, |received| {
        Reply::calls([(format!("c{}", received.number), "search_skills", json!({"query": "more"}))])
    });
    let mut conversation = house.conversation();
    let error = house.say(&mut conversation, "Go").await.unwrap_err();
    assert!(matches!(error, AgentError::Rounds(3)), "{error}");
    assert_eq!(house.server.requests().len(), 3);
    assert_eq!(conversation.messages().last(), Some(&Message::assistant("[no answer: rounds]")));
}

/// Waits until all calls of a turn are there at once.
#[derive(Debug, Default)]
struct Meeting(AtomicUsize);

impl ToolProvider for Meeting {
    fn definitions(&self, _: &Skillcue, _: &[String]) -> Vec<ToolDefinition> {
        let schema = json!({"type": "object"});
        vec![ToolDefinition {
            name: "meet".into(),
            title: "Meet".into(),
            description: "Meets.".into(),
            input_schema: schema,
            read_only: true,
        }]
    }

    fn brings_tools(&self, _: &Skillcue, _: &str, _: &FileListing) -> bool {
        false
    }

    fn call(&self, _: &Skillcue, call: &Call, _: &ToolContext<'_>) -> Option<ToolOutput> {
        let arguments = call.arguments();
        if call.name() != "meet" {
            return None;
        }
        self.0.fetch_add(1, Ordering::SeqCst);
        while self.0.load(Ordering::SeqCst) < 4 {
            std::thread::yield_now();
        }
        assert!(!arguments.contains_key("panic"), "on purpose");
        Some(ToolOutput::from_text(format!("I met \u{1}\r\n\"them\" {}", arguments["who"])))
    }
}

#[tokio::test]
async fn calls_run_at_the_same_time_and_a_panic_is_a_result() {
    let house = House::new(Api::OpenAi, |received| {
        if received.new_results().is_empty() {
            let call = |at: usize| match at {
                2 => json!({"panic": true}),
                _ => json!({"who": at}),
            };
            Reply::calls((0..4).map(|at| (format!("c{at}"), "meet", call(at))))
        } else {
            Reply::text("Done.")
        }
    });
    let skills = Arc::new(Skillcue::builder().tools(Arc::new(Meeting::default())).build().unwrap());
    let agent = Agent::new(skills, model(Api::OpenAi, &house.server), AgentOptions::default());
    let house = House { agent, ..house };
    house.say(&mut house.conversation(), "Meet").await.unwrap();
    let results = house.server.requests()[1].tool_results();
    assert_eq!(results[0].1, "I met \u{1}\r\n\"them\" 0");
    assert!(results[2].1.contains("<error code=\"internal\">"), "{}", results[2].1);
    assert_eq!(results[3].1, "I met \u{1}\r\n\"them\" 3");
}

#[tokio::test]
async fn a_section_of_a_skill_is_not_all_of_it() {
    let house = House::new(Api::OpenAi, |received| match received.number {
        1 => Reply::calls([("c", "load_skill", json!({"skill_id": "long-one", "section": "Second"}))]),
        _ => Reply::text("Yes."),
    });
    crate::house::write_skill(house.dir.path(), "long-one", "parcel", "# First\n\nWeigh it.\n\n# Second\n\nSend it.");
    let skills = Arc::new(Skillcue::builder().skills_dir(house.dir.path()).build().unwrap());
    let agent = Agent::new(skills, model(Api::OpenAi, &house.server), AgentOptions::default());
    let house = House { agent, ..house };
    let mut conversation = house.conversation();
    house.say(&mut conversation, "Go").await.unwrap();
    assert_eq!(conversation.loaded(), ["long-one"]);
    house.say(&mut conversation, "Send the parcel").await.unwrap();
    assert!(house.server.requests().last().unwrap().last_user().contains("Weigh it."));
}

#[tokio::test]
async fn tools_that_read_and_run_join_with_the_first_skill() {
    for api in APIS {
        let house = House::new(api, |received| match received.number {
            1 => Reply::calls([("c", "load_skill", json!({"skill_id": "invoices"}))]),
            _ => Reply::text("Done."),
        });
        house.say(&mut house.conversation(), "Go").await.unwrap();
        let named = |at: usize| house.server.requests()[at].tools();
        assert_eq!(named(0), ["load_skill", "search_skills"]);
        assert_eq!(named(1)[..3], ["load_skill", "search_skills", "read_skill_file"]);
        // A body that a disclosure shows may point to files, too.
        house.say(&mut house.conversation(), "Say bonjour to Alice").await.unwrap();
        assert!(named(2).contains(&"read_skill_file".to_owned()), "{:?}", named(2));
    }
}
