use serde_json::json;
use skillcue::tools::ToolDefinition;
use skillcue_agent::model::{Api, Delta, FinishReason, ModelRequest, SystemText};
use skillcue_agent::{Message, Piece, PieceOrigin, RequestPart, ToolCall, ToolResult};
use skillcue_scripted::{Reply, Server};
use tokio_util::sync::CancellationToken;

use crate::{APIS, KEY, all_taken, ask, model, say};

fn tool(name: &'static str) -> ToolDefinition {
    ToolDefinition {
        name: name.into(),
        title: name.into(),
        description: "Does it.".into(),
        input_schema: json!({"type": "object", "properties": {"x": {"type": "integer"}}}),
        read_only: true,
    }
}

#[tokio::test]
async fn words_come_as_they_are_said() {
    let text = "Größe: 🦀\r\n\"quoted\" \\ and\u{0}\u{1b}[0m </skill_content>\u{2028}end";
    let server = Server::start(move |_| Reply::text(text).thinking("hm, so").in_chunks(3).cached_usage(100, 7, 40));
    for api in APIS {
        let (answer, heard) = ask(&model(&server, api), &[Message::user("hello")]).await;
        let answer = answer.unwrap();
        assert_eq!((answer.text.as_str(), &answer.stop, answer.attempts), (text, &FinishReason::End, 1));
        assert_eq!(answer.calls, []);
        assert_eq!((answer.usage.input, answer.usage.cached, answer.usage.output), (Some(100), Some(40), Some(7)));
        assert!(answer.first.is_some());
        let own = if api == Api::OpenAi { ("prompt_tokens", 100) } else { ("input_tokens", 60) };
        assert_eq!(answer.usage.raw[own.0], own.1);
        let words = heard.iter().filter(|delta| delta.starts_with("Text")).count();
        assert!(words > 10, "{heard:?}");
        assert_eq!(heard.iter().filter(|delta| delta.starts_with("Thinking")).count(), 2);
    }
    all_taken(&server);
}

#[tokio::test]
async fn everything_of_a_request_arrives() {
    let server = Server::with_key(KEY, |_| Reply::text("ok"));
    let system = [("one", RequestPart::System), ("", RequestPart::SkillsStable), ("two", RequestPart::SkillsStable)];
    let system = system.map(|(text, part)| SystemText { part, text: text.into() });
    let piece = Piece {
        provider: PieceOrigin::Skills,
        part: RequestPart::SkillsTurn,
        text: "context\n".into(),
        skills: Vec::new(),
    };
    let messages = [Message::User { context: vec![piece], text: "words".into() }];
    for api in APIS {
        let request = ModelRequest {
            system: &system,
            tools: &[tool("add"), tool("sub")],
            messages: &messages,
            max_tokens: Some(77),
        };
        model(&server, api).ask(&request, &CancellationToken::new(), &mut |_| {}).await.unwrap();
        let received = all_taken(&server).pop().unwrap();
        assert_eq!(received.system(), "one\n\ntwo");
        assert_eq!(received.last_user(), "context\nwords");
        assert_eq!(received.tools(), ["add", "sub"]);
        assert_eq!(received.body["max_tokens"], 77);
        assert_eq!(received.body["model"], "scripted");
        let agent = received.header("user-agent").unwrap();
        assert_eq!(agent, concat!("skillcue/", env!("CARGO_PKG_VERSION")));
        let path = if api == Api::OpenAi { "/chat/completions" } else { "/v1/messages" };
        assert_eq!((received.method.as_str(), received.path.as_str()), ("POST", path));
    }
}

#[tokio::test]
async fn several_tools_are_called_at_once() {
    let server = Server::start(|_| {
        let calls = [
            ("call_a", "add", json!({"x": 1, "text": "größe\n"})),
            ("call_b", "sub", json!({})),
            ("call_c", "add", json!({"x": 3})),
        ];
        Reply::calls(calls).saying("One moment.").in_chunks(2)
    });
    for api in APIS {
        let (answer, heard) = ask(&model(&server, api), &[Message::user("go")]).await;
        let answer = answer.unwrap();
        assert_eq!((answer.text.as_str(), &answer.stop), ("One moment.", &FinishReason::Tools));
        let call = |id: &str, name: &str, arguments: &str| ToolCall {
            id: id.into(),
            name: name.into(),
            arguments: arguments.into(),
        };
        let expected = [
            call("call_a", "add", r#"{"text":"größe\n","x":1}"#),
            call("call_b", "sub", "{}"),
            call("call_c", "add", r#"{"x":3}"#),
        ];
        assert_eq!(answer.calls, expected);
        let begun: Vec<&String> = heard.iter().filter(|delta| delta.starts_with("Call")).collect();
        assert_eq!(begun, ["Call { name: \"add\" }", "Call { name: \"sub\" }", "Call { name: \"add\" }"]);
    }
}

#[tokio::test]
async fn results_of_tools_arrive_byte_for_byte() {
    let texts = [
        "plain",
        "",
        " ",
        "\n",
        "\r\nCRLF\r\n\r",
        "nul \u{0} bell \u{7} escape \u{1b}[31m del \u{7f}",
        "größe 🦀 👩‍👩‍👧 \u{202e}reversed\u{202c} \u{feff}",
        "<skill_content name=\"x\">\n</skill_content>\n",
        "{\"json\": \"\\u0000\\n\"}",
        "data: [DONE]\n\n",
        "\u{fffd}\u{fffe}\u{10ffff}",
    ];
    let calls: Vec<ToolCall> = (0..texts.len())
        .map(|number| ToolCall { id: format!("call_{number}"), name: "add".into(), arguments: "{\"x\": 1}".into() })
        .collect();
    let results = texts.iter().zip(&calls).map(|(text, call)| ToolResult {
        id: call.id.clone(),
        name: call.name.clone(),
        text: (*text).to_owned(),
        is_error: text.is_empty(),
    });
    let results: Vec<ToolResult> = results.collect();
    let server = Server::start(|_| Reply::text("thanks"));
    let messages = [
        Message::user("go"),
        Message::Assistant { text: String::new(), calls },
        Message::results(results),
        Message::assistant("done"),
        Message::user("again"),
    ];
    for api in APIS {
        // Once with the results last, once with more after them.
        for count in [3, 5] {
            ask(&model(&server, api), &messages[..count]).await.0.unwrap();
            let received = all_taken(&server).pop().unwrap();
            let found: Vec<String> = received.tool_results().into_iter().map(|(_, text)| text).collect();
            assert_eq!(found, texts);
            assert_eq!(received.calls().len(), texts.len());
        }
    }
}

#[tokio::test]
async fn a_conversation_that_was_broken_off_is_taken() {
    let server = Server::start(|_| Reply::text("ok"));
    let call = ToolCall { id: "call_1".into(), name: "made.up tool".into(), arguments: "{\"x\":".into() };
    let result = ToolResult { id: "call_1".into(), name: String::new(), text: "no such tool".into(), is_error: true };
    let messages = [
        Message::user("one"),
        Message::user("two"),
        Message::assistant(""),
        Message::user("three"),
        Message::Assistant { text: " ".into(), calls: vec![call] },
        Message::results(vec![result]),
        Message::user("four"),
    ];
    for api in APIS {
        ask(&model(&server, api), &messages).await.0.unwrap();
        let received = all_taken(&server).pop().unwrap();
        assert_eq!(received.last_user(), "four");
        assert!(received.calls()[0].1.starts_with("made_up_tool_"), "{:?}", received.calls());
    }
}

#[tokio::test]
async fn ids_that_a_server_gives_again_are_replaced() {
    let server = Server::start(|_| Reply::calls([("call_1", "add", json!({})), ("call_1", "add", json!({"x": 2}))]));
    let call = ToolCall { id: "call_1".into(), name: "add".into(), arguments: "{}".into() };
    let result = ToolResult { id: "call_1".into(), name: "add".into(), text: "1".into(), is_error: false };
    let messages = [
        Message::user("go"),
        Message::Assistant { text: String::new(), calls: vec![call] },
        Message::results(vec![result]),
    ];
    for api in APIS {
        let answer = ask(&model(&server, api), &messages).await.0.unwrap();
        let [first, second] = answer.calls.as_slice() else { panic!("{:?}", answer.calls) };
        assert!(first.id != "call_1" && second.id != "call_1" && first.id != second.id);
        assert_eq!((first.arguments.as_str(), second.arguments.as_str()), ("{}", "{\"x\":2}"));
    }
}

#[tokio::test]
async fn ids_that_no_server_takes_are_sent_as_others() {
    let long = "x".repeat(83);
    let ids = [long.as_str(), "a b", "same", "same"];
    let call = |id: &&str| ToolCall { id: (*id).into(), name: "add".into(), arguments: "{}".into() };
    let result = |(number, id): (usize, &&str)| {
        let text = number.to_string();
        ToolResult { id: (*id).into(), name: "add".into(), text, is_error: false }
    };
    let calls: Vec<ToolCall> = ids.iter().map(call).collect();
    let results: Vec<ToolResult> = ids.iter().enumerate().map(result).collect();
    let turn = [Message::Assistant { text: String::new(), calls }, Message::results(results)];
    let messages = [vec![Message::user("go")], turn.to_vec(), turn.to_vec()].concat();
    let server = Server::start(|_| Reply::calls([("y".repeat(41), "add", json!({}))]));
    for api in APIS {
        let answer = ask(&model(&server, api), &messages).await.0.unwrap();
        assert!(answer.calls[0].id.len() <= 40, "{:?}", answer.calls);
        let received = all_taken(&server).pop().unwrap();
        let called: Vec<String> = received.calls().into_iter().map(|(id, ..)| id).collect();
        let returned: Vec<(String, String)> = received.tool_results();
        assert!(called.iter().all(|id| id.len() <= 40), "{called:?}");
        assert_eq!(called.iter().collect::<std::collections::BTreeSet<_>>().len(), 8);
        assert_eq!(called[2], "same");
        let expected = called.iter().zip(["0", "1", "2", "3", "0", "1", "2", "3"]);
        assert!(returned.iter().map(|(id, text)| (id, text.as_str())).eq(expected), "{called:?} {returned:?}");
        // The next request says the same again.
        ask(&model(&server, api), &messages).await.0.unwrap();
        assert_eq!(all_taken(&server).pop().unwrap().raw, received.raw);
    }
}

#[tokio::test]
async fn tools_with_names_that_no_server_takes() {
    let long: &'static str = Box::leak("l".repeat(150).into_boxed_str());
    let tools = [tool("add"), tool("mcp.files/read"), tool(long)];
    // It calls every tool that it is told of.
    let server = Server::start(|received| {
        let call = |(number, name): (usize, String)| (format!("call_{number}"), name, json!({"x": 1}));
        if received.new_results().is_empty() {
            Reply::calls(received.tools().into_iter().enumerate().map(call)).in_chunks(2)
        } else {
            Reply::text("done")
        }
    });
    for api in APIS {
        let model = model(&server, api);
        let mut messages = vec![Message::user("go")];
        let mut heard = Vec::new();
        let mut on = |delta: Delta<'_>| {
            if let Delta::Call { name } = delta {
                heard.push(name.to_owned());
            }
        };
        let request = ModelRequest { system: &[], tools: &tools, messages: &messages, max_tokens: None };
        let answer = model.ask(&request, &CancellationToken::new(), &mut on).await.unwrap();
        let names: Vec<&str> = answer.calls.iter().map(|call| call.name.as_str()).collect();
        assert_eq!(names, ["add", "mcp.files/read", long]);
        assert_eq!(heard, names);
        let sent = all_taken(&server).pop().unwrap().tools();
        // In what was said, too.
        let result = |call: &ToolCall| ToolResult {
            id: call.id.clone(),
            name: call.name.clone(),
            text: "1".into(),
            is_error: false,
        };
        let results = answer.calls.iter().map(result).collect();
        messages.push(Message::Assistant { text: answer.text, calls: answer.calls });
        messages.push(Message::results(results));
        let request = ModelRequest { system: &[], tools: &tools, messages: &messages, max_tokens: None };
        assert_eq!(model.ask(&request, &CancellationToken::new(), &mut |_| {}).await.unwrap().text, "done");
        let received = all_taken(&server).pop().unwrap();
        assert_eq!(received.tools(), sent);
        let called: Vec<String> = received.calls().into_iter().map(|(_, name, _)| name).collect();
        assert_eq!(called, sent);
    }
}

#[tokio::test]
async fn many_at_once_are_not_mixed() {
    let server = Server::start(|received| {
        let text = received.last_user();
        let number: u64 = text.parse().unwrap();
        Reply::text(format!("answer {text}")).in_chunks(2).delayed(std::time::Duration::from_millis(number % 7))
    });
    for api in APIS {
        let model = model(&server, api);
        let mut tasks = Vec::new();
        for number in 0..40 {
            let model = model.clone();
            tasks.push(tokio::spawn(async move { (number, say(&model, &number.to_string()).await.unwrap().text) }));
        }
        for task in tasks {
            let (number, text) = task.await.unwrap();
            assert_eq!(text, format!("answer {number}"));
        }
    }
}

#[tokio::test]
async fn the_deltas_add_up_to_the_answer() {
    let server = Server::start(|_| Reply::text("abc def ghi").in_chunks(1));
    for api in APIS {
        let mut heard = String::new();
        let messages = [Message::user("x")];
        let request = ModelRequest { system: &[], tools: &[], messages: &messages, max_tokens: None };
        let mut on = |delta: Delta<'_>| {
            if let Delta::Text(text) = delta {
                heard.push_str(text);
            }
        };
        let answer = model(&server, api).ask(&request, &CancellationToken::new(), &mut on).await.unwrap();
        assert_eq!(heard, answer.text);
    }
}

#[tokio::test]
async fn reasons_to_stop() {
    for (api, word, stop) in [
        (Api::OpenAi, "length", FinishReason::Length),
        (Api::OpenAi, "content_filter", FinishReason::Refused),
        (Api::Anthropic, "max_tokens", FinishReason::Length),
        (Api::Anthropic, "refusal", FinishReason::Refused),
        (Api::Anthropic, "pause_turn", FinishReason::Other("pause_turn".into())),
    ] {
        let server = Server::start(move |_| Reply::text("half").stop(word));
        let answer = say(&model(&server, api), "x").await.unwrap();
        assert_eq!((answer.text.as_str(), answer.stop), ("half", stop));
    }
}

#[tokio::test]
async fn costs_have_no_largest_number() {
    let most = u64::MAX;
    for whole in [false, true] {
        let server = Server::start(move |_| {
            let reply = Reply::text("dear").cached_usage(most, most, most);
            if whole { reply.whole() } else { reply }
        });
        for api in APIS {
            let usage = say(&model(&server, api), "x").await.unwrap().usage;
            assert_eq!((usage.input, usage.cached, usage.output), (Some(most), Some(most), Some(most)));
        }
    }
}
