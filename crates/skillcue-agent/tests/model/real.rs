//! A model server that is not ours, if there is one: `SKILLCUE_TEST_MODEL_URL=http://127.0.0.1:8080/v1 cargo test -p
//! skillcue-agent --test model -- --ignored real::`. llama.cpp's speaks both APIs.

use serde_json::json;
use skillcue::tools::ToolDefinition;
use skillcue_agent::model::{Api, Delta, FinishReason, Model, ModelError, ModelRequest, SystemText};
use skillcue_agent::{Message, RequestPart, ToolCall, ToolResult};
use tokio_util::sync::CancellationToken;

use crate::{APIS, model_with};

fn real(api: Api) -> Model {
    let url = std::env::var("SKILLCUE_TEST_MODEL_URL").unwrap();
    model_with(&url, api, |timing| timing.attempts = 1)
}

fn conversation() -> Vec<Message> {
    let call = ToolCall { id: "call_1".into(), name: "load_skill".into(), arguments: "{\"name\":\"hello\"}".into() };
    let text = "<skill_content name=\"hello\">\nSay bonjour. 🦀\n</skill_content>\n".into();
    let result = ToolResult { id: "call_1".into(), name: "load_skill".into(), text, is_error: false };
    vec![
        Message::user("Say bonjour to Alice"),
        Message::Assistant { text: String::new(), calls: vec![call] },
        Message::results(vec![result]),
        Message::assistant("Bonjour, Alice."),
        Message::user("And to Bob?"),
    ]
}

#[tokio::test]
#[ignore = "needs a model server"]
async fn requests_are_taken_and_answers_stream() {
    let system = [SystemText { part: RequestPart::System, text: "You are brief.".into() }];
    let tools = [ToolDefinition {
        name: "load_skill".into(),
        title: "Load".into(),
        description: "Loads a skill.".into(),
        input_schema: json!({"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}),
        read_only: true,
    }];
    let messages = conversation();
    for api in APIS {
        for tools in [&[][..], &tools] {
            for count in [1, 3, 5] {
                let messages = &messages[..count];
                let request = ModelRequest { system: &system, tools, messages, max_tokens: Some(24) };
                let mut heard = String::new();
                let mut on = |delta: Delta<'_>| {
                    if let Delta::Text(text) = delta {
                        heard.push_str(text);
                    }
                };
                let answer = real(api).ask(&request, &CancellationToken::new(), &mut on).await.unwrap();
                // It may say nothing, or one word: it is a small model.
                assert_eq!(heard, answer.text);
                assert!(
                    matches!(answer.stop, FinishReason::End | FinishReason::Length | FinishReason::Tools),
                    "{answer:?}"
                );
                // llama.cpp leaves `message_start` out, with what the request cost, before some answers.
                assert!(answer.usage.output.is_some(), "{answer:?}");
                assert!(answer.usage.input.is_some() || api == Api::Anthropic, "{answer:?}");
            }
        }
    }
}

#[tokio::test]
#[ignore = "needs a model server"]
async fn a_message_over_the_window_is_too_long() {
    let messages = [Message::user("All work and no play makes Jack a dull boy. ".repeat(20_000))];
    let request = ModelRequest { system: &[], tools: &[], messages: &messages, max_tokens: Some(8) };
    for api in APIS {
        let error = real(api).ask(&request, &CancellationToken::new(), &mut |_| {}).await.unwrap_err();
        assert!(matches!(error, ModelError::TooLong { .. }), "{error:?}");
    }
}

#[tokio::test]
#[ignore = "needs a model server"]
async fn an_answer_can_be_cancelled() {
    let messages = [Message::user("Tell me a very long story.")];
    let request = ModelRequest { system: &[], tools: &[], messages: &messages, max_tokens: Some(400) };
    for api in APIS {
        let cancel = CancellationToken::new();
        let error = real(api).ask(&request, &cancel, &mut |_| cancel.cancel()).await.unwrap_err();
        assert_eq!(error, ModelError::Cancelled);
    }
}
