//! Context providers: they compose, and none stops a turn.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use skillcue_agent::model::Api;
use skillcue_agent::{
    AgentOptions, BoxFuture, ContextProvider, Message, PieceOrigin, ProviderError, RequestPart, TurnContext,
};
use skillcue_scripted::Reply;

use crate::house::House;

/// Does what it is told to.
struct Scripted {
    name: &'static str,
    before: fn() -> BoxFuture<'static, Result<TurnContext, ProviderError>>,
    after: Arc<Mutex<Vec<(usize, Message)>>>,
}

impl ContextProvider for Scripted {
    fn name(&self) -> &str {
        self.name
    }

    fn before_turn<'a>(&'a mut self, _: &'a [Message]) -> BoxFuture<'a, Result<TurnContext, ProviderError>> {
        (self.before)()
    }

    fn after_turn<'a>(
        &'a mut self,
        request: &'a [Message],
        response: &'a Message,
    ) -> BoxFuture<'a, Result<(), ProviderError>> {
        self.after.lock().unwrap().push((request.len(), response.clone()));
        Box::pin(async { Err(ProviderError::new("no room")) })
    }
}

fn good() -> BoxFuture<'static, Result<TurnContext, ProviderError>> {
    Box::pin(async {
        Ok(TurnContext {
            stable: "It is cold here.".to_owned(),
            ..TurnContext::turn(RequestPart::History, "It is Monday.")
        })
    })
}

fn fails() -> BoxFuture<'static, Result<TurnContext, ProviderError>> {
    Box::pin(async { Err(ProviderError::new("the file is gone")) })
}

fn panics() -> BoxFuture<'static, Result<TurnContext, ProviderError>> {
    Box::pin(async { panic!("on purpose") })
}

fn hangs() -> BoxFuture<'static, Result<TurnContext, ProviderError>> {
    Box::pin(std::future::pending())
}

#[tokio::test]
async fn one_that_fails_panics_or_hangs_does_not_stop_the_turn() {
    let options = AgentOptions { provider_timeout: Duration::from_secs(2), ..AgentOptions::default() };
    let house = House::with(Api::OpenAi, options, |_| Reply::text("Yes."));
    let mut conversation = house.conversation();
    let after = Arc::default();
    for (name, before) in [("a", fails as fn() -> _), ("b", panics), ("c", hangs), ("d", good)] {
        conversation.provider(Box::new(Scripted { name, before, after: Arc::clone(&after) }));
    }
    let report = house.say(&mut conversation, "What is 2+2?").await.unwrap();
    assert_eq!(report.answer, "Yes.");
    let sent = &house.server.requests()[0];
    assert_eq!(sent.last_user(), "[2 skills available]\n\nIt is Monday.\n\nWhat is 2+2?");
    assert!(sent.system().ends_with("\n\nIt is cold here."), "{}", sent.system());
    let problems: Vec<String> =
        house.heard("problem").iter().map(|event| format!("{}: {}", event["provider"], event["message"])).collect();
    assert_eq!(
        problems[..3],
        [r#""a": "the file is gone""#, r#""b": "it panicked""#, r#""c": "it took longer than 2 s""#,]
    );
    // All of them hear of the answer, and that they fail then is told, too.
    assert_eq!(problems.len(), 7);
    let after = after.lock().unwrap();
    assert_eq!(after.len(), 4);
    assert!(after.iter().all(|heard| *heard == (1, Message::assistant("Yes."))));
}

#[tokio::test]
async fn instructions_of_a_provider_stay_when_it_fails_later() {
    static TURN: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
    fn once() -> BoxFuture<'static, Result<TurnContext, ProviderError>> {
        if TURN.fetch_add(1, std::sync::atomic::Ordering::SeqCst) == 0 { good() } else { fails() }
    }
    let house = House::new(Api::OpenAi, |_| Reply::text("Yes."));
    let mut conversation = house.conversation();
    conversation.provider(Box::new(Scripted { name: "weather", before: once, after: Arc::default() }));
    house.say(&mut conversation, "One").await.unwrap();
    house.say(&mut conversation, "Two").await.unwrap();
    let sent = house.server.requests();
    assert_eq!(sent[0].system(), sent[1].system(), "the model's prompt cache holds");
}

/// Says something for the instructions.
struct Stable(&'static str);

impl ContextProvider for Stable {
    fn name(&self) -> &'static str {
        "notes"
    }

    fn before_turn<'a>(&'a mut self, _: &'a [Message]) -> BoxFuture<'a, Result<TurnContext, ProviderError>> {
        Box::pin(async { Ok(TurnContext { stable: self.0.to_owned(), ..TurnContext::default() }) })
    }
}

/// Panics before it promises anything.
struct AtOnce;

impl ContextProvider for AtOnce {
    fn name(&self) -> &'static str {
        "at once"
    }

    fn before_turn<'a>(&'a mut self, _: &'a [Message]) -> BoxFuture<'a, Result<TurnContext, ProviderError>> {
        panic!("on purpose")
    }
}

#[tokio::test]
async fn two_of_one_name_are_both_heard_and_one_that_panics_at_once_is_not() {
    let house = House::new(Api::OpenAi, |_| Reply::text("Yes."));
    let mut conversation = house.conversation();
    conversation.provider(Box::new(Stable("One.")));
    conversation.provider(Box::new(AtOnce));
    conversation.provider(Box::new(Stable("Two.")));
    house.say(&mut conversation, "Hello").await.unwrap();
    assert!(house.server.requests()[0].system().ends_with("\n\nOne.\n\nTwo."));
    assert_eq!(house.heard("problem")[0]["message"], "it panicked");
}

#[tokio::test]
async fn a_dropped_turn_takes_nothing_with_it() {
    static WAITS: std::sync::atomic::AtomicBool = std::sync::atomic::AtomicBool::new(true);
    fn slow() -> BoxFuture<'static, Result<TurnContext, ProviderError>> {
        if WAITS.swap(false, std::sync::atomic::Ordering::SeqCst) { hangs() } else { good() }
    }
    let house = House::new(Api::OpenAi, |_| Reply::text("Yes."));
    let mut conversation = house.conversation();
    conversation.provider(Box::new(Scripted { name: "slow", before: slow, after: Arc::default() }));
    // Until it hangs, and then it is dropped.
    let turn = house.say(&mut conversation, "First");
    assert!(tokio::time::timeout(Duration::from_millis(200), turn).await.is_err());
    house.say(&mut conversation, "Second").await.unwrap();
    let sent = house.server.requests()[0].texts();
    assert_eq!(sent.len(), 1, "{sent:?}");
    assert_eq!(sent[0].1, "[2 skills available]\n\nIt is Monday.\n\nSecond");
}

#[tokio::test]
async fn files_that_a_message_names_and_their_languages_call_for_skills() {
    let house = House::new(Api::OpenAi, |_| Reply::text("Yes."));
    let skill = |name: &str, trigger: &str, body: &str| {
        let dir = house.dir.path().join(name);
        std::fs::create_dir_all(&dir).unwrap();
        let front = format!("name: {name}\ndescription: D.\nmetadata:\n  triggers:\n    {trigger}");
        std::fs::write(dir.join("SKILL.md"), format!("---\n{front}\n---\n{body}\n")).unwrap();
    };
    skill("crab", "languages: [Rust]", "Mind the borrow checker.");
    skill("sheet", "files: ['*.xlsx']", "Open the spreadsheet.");
    house.agent.skills().refresh();
    let work = house.dir.path().join("work");
    std::fs::create_dir_all(work.join("src")).unwrap();
    for file in ["src/main.rs", "q3.xlsx"] {
        std::fs::write(work.join(file), "").unwrap();
    }
    let traces = house.dir.path().join("traces");
    let agent = house.agent.clone().with_tracer(skillcue_agent::Tracer::new(traces.clone(), false));
    let house = House { agent, ..house };
    let mut conversation = skillcue_agent::Conversation::new("files");
    conversation.skills_provider_in(house.agent.skills(), Some(skillcue::workdir::WorkDir::new(&work)));
    for (message, files, crab, sheet) in [
        ("Why does src/main.rs fail", &["src/main.rs"][..], true, false),
        ("Sum up `q3.xlsx`, please", &["q3.xlsx"], false, true),
        ("Where is gone.rs", &[], false, false),
    ] {
        house.say(&mut conversation, message).await.unwrap();
        let sent = house.server.requests().last().unwrap().last_user();
        assert_eq!(sent.contains("Mind the borrow checker."), crab, "{sent}");
        assert_eq!(sent.contains("Open the spreadsheet."), sheet, "{sent}");
        assert_eq!(conversation.files(), files);
        let context = house.heard("context").pop().unwrap();
        let told: Vec<&str> =
            context["files"].as_array().into_iter().flatten().filter_map(|file| file.as_str()).collect();
        assert_eq!(told, files, "{context}");
    }
    let lines = skillcue_agent::read_trace(&traces.join("files.jsonl")).unwrap().lines;
    let traced: Vec<Vec<String>> = lines.into_iter().map(|line| line.files).collect();
    assert_eq!(traced, [vec!["src/main.rs".to_owned()], vec!["q3.xlsx".to_owned()], Vec::new()]);
    // Without a place to work in, nothing counts but the words.
    let mut elsewhere = house.conversation();
    house.say(&mut elsewhere, "Why does src/main.rs fail").await.unwrap();
    let sent = house.server.requests().last().unwrap().last_user();
    assert!(!sent.contains("Mind the borrow checker."), "{sent}");
}

/// A file with uncommitted changes is there in every turn, whatever the turn is about.
#[tokio::test]
async fn files_that_have_changed_call_for_no_skill_by_themselves() {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let Some(git) = std::env::split_paths(&path).map(|dir| dir.join("git")).find(|program| program.is_file()) else {
        println!("skipped: there is no git on the PATH");
        return;
    };
    let house = House::new(Api::OpenAi, |_| Reply::text("Yes."));
    let dir = house.dir.path().join("crab");
    std::fs::create_dir_all(&dir).unwrap();
    let front = "name: crab\ndescription: D.\nmetadata:\n  triggers:\n    keywords: [lobster]\n    languages: [Rust]\n    \
                 files: ['SKILL.md']";
    std::fs::write(dir.join("SKILL.md"), format!("---\n{front}\n---\nMind the borrow checker.\n")).unwrap();
    house.agent.skills().refresh();
    let work = house.dir.path().join("work");
    std::fs::create_dir_all(&work).unwrap();
    let made = std::process::Command::new(&git).args(["init", "-q", "."]).current_dir(&work).status().unwrap();
    assert!(made.success());
    for file in ["x.rs", "SKILL.md"] {
        std::fs::write(work.join(file), "").unwrap();
    }
    let variables = vec![("PATH".into(), path), ("HOME".into(), house.dir.path().into())];
    // A busy machine is no reason to find nothing.
    let place = skillcue::workdir::WorkDir::new(&work).git(git, variables).timeout(Duration::from_mins(1));
    for (message, disclosed) in
        [("What is 2+2?", false), ("How are you today", false), ("Cook a lobster", true), ("Why does x.rs fail", true)]
    {
        let mut conversation = skillcue_agent::Conversation::new("changed");
        conversation.skills_provider_in(house.agent.skills(), Some(place.clone()));
        house.say(&mut conversation, message).await.unwrap();
        let sent = house.server.requests().last().unwrap().last_user();
        assert_eq!(sent.contains("Mind the borrow checker."), disclosed, "{message}: {sent}");
        assert_eq!(conversation.files().len(), 2, "git was asked");
    }
}

#[tokio::test]
async fn a_provider_is_not_taken_for_that_of_skills_by_its_name() {
    let house = House::new(Api::OpenAi, |_| Reply::text("Yes."));
    let mut conversation = house.conversation();
    conversation.provider(Box::new(Scripted { name: "skills", before: good, after: Arc::default() }));
    let report = house.say(&mut conversation, "What is 2+2?").await.unwrap();
    let heard = house.heard("context");
    let of_name = |name: &str| heard.iter().filter(|event| event["provider"] == name).collect::<Vec<_>>();
    let ours = of_name("skills");
    assert_eq!(ours.len(), 2);
    assert!(ours[0]["tier"].is_number() && ours[1]["tier"].is_null(), "{ours:?}");
    // Its words count as instructions and history, whatever it is called.
    let alone = House::new(Api::OpenAi, |_| Reply::text("Yes."));
    let plain = alone.say(&mut alone.conversation(), "What is 2+2?").await.unwrap();
    assert_eq!(report.tokens.skills_stable, plain.tokens.skills_stable);
    assert!(report.tokens.system > plain.tokens.system && report.tokens.history > plain.tokens.history);
    let kept: Vec<PieceOrigin> = conversation
        .messages()
        .iter()
        .filter_map(|message| match message {
            Message::User { context, .. } => Some(context.iter().map(|piece| piece.provider.clone())),
            _ => None,
        })
        .flatten()
        .collect();
    assert_eq!(kept, [PieceOrigin::Skills, PieceOrigin::Provider("skills".to_owned())]);
}
