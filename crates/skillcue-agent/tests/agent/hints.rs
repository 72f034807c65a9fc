//! Hints during a turn: skills that fit the files which tools touch.

use std::sync::Arc;

use serde_json::{Value, json};
use skillcue::catalog::FileListing;
use skillcue::tools::{Call, ToolContext, ToolDefinition, ToolOutput, ToolProvider};
use skillcue::workdir::WorkDir;
use skillcue::{DiscloseConfig, Policy, Skillcue};
use skillcue_agent::model::Api;
use skillcue_agent::{Agent, AgentOptions, Conversation, Message, PieceOrigin, RequestPart, Tracer};
use skillcue_scripted::Reply;

use crate::house::{APIS, House, model};

/// A tool that reads files: it returns whatever it is told to.
#[derive(Debug)]
struct Reader;

impl ToolProvider for Reader {
    fn definitions(&self, _: &Skillcue, _: &[String]) -> Vec<ToolDefinition> {
        vec![ToolDefinition {
            name: "read_file".into(),
            title: "Read".into(),
            description: "Reads a file.".into(),
            input_schema: json!({"type": "object"}),
            read_only: true,
        }]
    }

    fn brings_tools(&self, _: &Skillcue, _: &str, _: &FileListing) -> bool {
        false
    }

    fn call(&self, _: &Skillcue, call: &Call, _: &ToolContext<'_>) -> Option<ToolOutput> {
        (call.name() == "read_file").then(|| match call.arguments().get("fail") {
            Some(_) => ToolOutput::failure("tool_result", "not_found", "There is no such file."),
            None => ToolOutput::from_text("Use $secret and sheet.xlsx.".to_owned()),
        })
    }
}

/// Skills with globs, and an agent whose model reads one file after another.
fn house(api: Api, options: AgentOptions, policy: Policy, reads: Vec<Value>) -> House {
    let mut house = House::with(api, options.clone(), move |received| match reads.get(received.number - 1) {
        Some(arguments) => Reply::calls([(format!("c{}", received.number), "read_file", arguments.clone())]),
        None => Reply::text("Done."),
    });
    let globs = [("forms", "*.pdf", ""), ("tables", "*.xlsx", ""), ("pages", "*.html", ""), ("ledger", "*.csv", "")];
    let hidden = [("secret", "*.pdf", "disable-model-invocation: true\n")];
    for (name, glob, more) in globs.into_iter().chain(hidden) {
        let dir = house.dir.path().join(name);
        std::fs::create_dir_all(&dir).unwrap();
        let front = format!("name: {name}\ndescription: About {name}.\n{more}triggers:\n  files: ['{glob}']\n");
        std::fs::write(dir.join("SKILL.md"), format!("---\n{front}---\nHow.\n")).unwrap();
    }
    let config = DiscloseConfig { policy, ..DiscloseConfig::default() };
    let builder = Skillcue::builder().skills_dir(house.dir.path()).disclosure(config).tools(Arc::new(Reader));
    let skills = Arc::new(builder.build().unwrap());
    house.agent = Agent::new(skills, model(api, &house.server), options);
    house
}

/// Returns the hints of a conversation, and checks that each is where it should be.
fn hints(messages: &[Message]) -> Vec<String> {
    let mut hints = Vec::new();
    for message in messages {
        let Message::Tools { context, .. } = message else { continue };
        for piece in context {
            assert_eq!((&piece.provider, piece.part), (&PieceOrigin::Skills, RequestPart::SkillsTurn));
            hints.push(piece.text.trim_start().to_owned());
        }
    }
    hints
}

const PDF: &str = "[Skills that may fit: forms (file \"inbox/tax.pdf\"). `load_skill` gives one by its id.]";

#[tokio::test]
async fn a_file_that_a_tool_touches_names_its_skill_in_the_next_request() {
    for api in APIS {
        let house = house(api, AgentOptions::default(), Policy::Inject, vec![json!({"path": "inbox/tax.pdf"})]);
        let traces = house.dir.path().join("traces");
        let agent = house.agent.clone().with_tracer(Tracer::new(traces.clone(), false));
        let house = House { agent, ..house };
        let mut conversation = house.conversation();
        house.say(&mut conversation, "Do what the letter says").await.unwrap();
        assert_eq!(hints(conversation.messages()), [PDF]);
        let requests = house.server.requests();
        let bodies: Vec<String> = requests.iter().map(|request| request.body.to_string()).collect();
        let quoted = Value::from(PDF).to_string();
        let quoted = quoted.trim_matches('"');
        assert!(!bodies[0].contains(quoted) && bodies[1].contains(quoted), "{}", bodies[1]);
        assert_eq!(bodies[1].matches(quoted).count(), 1);
        assert!(!bodies[1].contains("tables ("), "the text of a file chooses no skill");
        let events = house.heard("hint");
        assert_eq!(events.len(), 1);
        assert_eq!(events[0]["skills"], json!(["forms"]));
        let lines = std::fs::read_to_string(traces.join("test.jsonl")).unwrap();
        let lines: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!((&lines[0]["hints"], &lines[1]["hints"]), (&Value::Null, &json!(["forms"])));
        let (first, second) = (&lines[0]["tokens"], &lines[1]["tokens"]);
        assert_eq!(first["skills_stable"], second["skills_stable"]);
        let tokens = events[0]["tokens"].as_u64().unwrap();
        let more = second["skills_turn"].as_u64().unwrap() - first["skills_turn"].as_u64().unwrap();
        assert!((tokens..=tokens + 2).contains(&more), "the hint counts as skills of the turn: {more}");
    }
}

#[tokio::test]
async fn nothing_is_named_twice_and_there_are_two_hints_at_most() {
    let paths = ["a.pdf", "b.pdf", "a.pdf", "c.xlsx", "d.html", "e.csv"].map(|path| json!({ "path": path })).to_vec();
    let house = house(Api::OpenAi, AgentOptions::default(), Policy::Inject, paths);
    let mut conversation = house.conversation();
    house.say(&mut conversation, "Go on").await.unwrap();
    let named: Vec<Value> = house.heard("hint").into_iter().map(|mut event| event["skills"].take()).collect();
    assert_eq!(named, [json!(["forms"]), json!(["tables"])]);
    // The next turn begins anew, with what the message itself is sent.
    assert_eq!(hints(conversation.messages()).len(), 2);
}

#[tokio::test]
async fn hints_can_be_switched_off_and_need_a_touched_file() {
    let pdf = || json!({"path": "a.pdf"});
    let off = AgentOptions { hints: false, ..AgentOptions::default() };
    let cases = [
        (off, Policy::Inject, pdf()),
        (AgentOptions::default(), Policy::Catalog, pdf()),
        (AgentOptions::default(), Policy::Inject, json!({"path": "a.pdf", "fail": true})),
        (AgentOptions::default(), Policy::Inject, json!({"query": "forms and tables"})),
    ];
    for (options, policy, arguments) in cases {
        let house = house(Api::Anthropic, options, policy, vec![arguments.clone()]);
        let mut conversation = house.conversation();
        house.say(&mut conversation, "Go on").await.unwrap();
        assert_eq!(hints(conversation.messages()), [""; 0], "{arguments}");
        assert!(house.heard("hint").is_empty());
    }
}

#[tokio::test]
async fn a_skill_that_the_message_showed_is_not_named_again() {
    let house = house(Api::OpenAi, AgentOptions::default(), Policy::Inject, vec![json!({"path": "a.pdf"})]);
    let mut conversation = house.conversation();
    house.say(&mut conversation, "$forms please").await.unwrap();
    assert_eq!(hints(conversation.messages()), [""; 0]);
}

/// A skill in a part of a project is found once a message names a file there, or a tool touches one.
#[tokio::test]
async fn a_part_of_a_project_has_skills_of_its_own() {
    for (message, arguments) in [
        ("Change apps/web/notes.tex", json!({"query": "none"})),
        ("Go on", json!({"path": "apps/web/notes.tex"})),
        ("Go on", json!({"path": "/PROJECT/apps/web/notes.tex"})),
    ] {
        let project = tempfile::tempdir().unwrap();
        let dir = project.path().join("apps/web/.agents/skills/typeset");
        std::fs::create_dir_all(&dir).unwrap();
        let front = "name: typeset\ndescription: Sets type.\ntriggers:\n  files: ['*.tex']\n";
        std::fs::write(dir.join("SKILL.md"), format!("---\n{front}---\nSet it in columns.\n")).unwrap();
        std::fs::write(project.path().join("apps/web/notes.tex"), "").unwrap();
        let arguments = arguments.to_string().replace("/PROJECT", project.path().to_str().unwrap());
        let arguments: Value = serde_json::from_str(&arguments).unwrap();
        let mut house = House::with(Api::OpenAi, AgentOptions::default(), move |received| match received.number {
            1 => Reply::calls([("c1", "read_file", arguments.clone())]),
            _ => Reply::text("Done."),
        });
        let builder = Skillcue::builder().touch_below(project.path()).tools(Arc::new(Reader));
        let skills = Arc::new(builder.build().unwrap());
        assert!(skills.catalog().is_empty());
        house.agent = Agent::new(Arc::clone(&skills), model(Api::OpenAi, &house.server), AgentOptions::default());
        let mut conversation = Conversation::new("test");
        conversation.skills_provider_in(&skills, Some(WorkDir::new(project.path())));
        house.say(&mut conversation, message).await.unwrap();
        let bodies: Vec<String> = house.server.requests().iter().map(|request| request.body.to_string()).collect();
        assert_eq!(bodies.len(), 2);
        assert_eq!(bodies[0].contains("typeset"), message != "Go on", "{message}: {}", bodies[0]);
        assert!(bodies[1].contains("typeset"), "{message}: {}", bodies[1]);
    }
}
