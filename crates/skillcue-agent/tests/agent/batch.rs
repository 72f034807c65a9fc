//! Many conversations at once.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use skillcue::consent::ConsentStore;
use skillcue_agent::{About, AgentConsent, ConsentPolicy, Conversation, Sessions, Task, TaskDone, batch};
use skillcue_base::ErrorInfo as _;
use skillcue_scripted::{Received, Reply};
use tokio_util::sync::CancellationToken;

use crate::house::{APIS, House};

/// The token in the last message of the user: `token-17-2` is the second message of conversation 17.
fn token(received: &Received) -> String {
    let said = received.last_user();
    said.split_whitespace().find(|word| word.starts_with("token-")).unwrap_or("none").to_owned()
}

/// Small numbers that look random, the same every time.
fn mixed(seed: usize) -> usize {
    let mut x = (seed as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    x ^= x >> 29;
    x = x.wrapping_mul(0xBF58_476D_1CE4_E5B9);
    usize::try_from((x ^ (x >> 32)) & 0xFFFF).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_hundred_conversations_none_lost_none_mixed() {
    for api in APIS {
        let house = House::new(api, |received| {
            let token = token(received);
            let chance = mixed(received.number);
            let delay = Duration::from_millis((chance % 20) as u64);
            let good = if received.new_results().is_empty() && chance.is_multiple_of(3) {
                Reply::calls([(format!("c-{token}"), "search_skills", json!({"query": token}))])
            } else {
                Reply::text(format!("answer to {token}")).in_chunks(7)
            };
            match chance % 11 {
                0 => Reply::status(500).delayed(delay),
                1 => Reply::status(429).header("retry-after", "0"),
                2 => good.cut_after(chance % 400),
                // Now and then one fails for good.
                3 if chance.is_multiple_of(5) => Reply::status(400).message("no"),
                _ => good.delayed(delay),
            }
        });
        let sessions = Sessions::new(house.dir.path().join("sessions"));
        let tasks: Vec<Task> = (0..200)
            .map(|at| Task {
                id: format!("task-{at}"),
                messages: (1..=2).map(|turn| format!("say token-{at}-{turn} please")).collect(),
            })
            .collect();
        let begin = |_: &Task| {
            let about = About { model: "scripted".to_owned(), cwd: None, created: std::time::SystemTime::now() };
            let (file, saved) = sessions.create(about)?;
            let mut conversation = Conversation::saved(file, saved);
            conversation.skills_provider(house.agent.skills());
            Ok(conversation)
        };
        let mut done: HashMap<String, TaskDone> = HashMap::new();
        let mut hear = |task: TaskDone| assert!(done.insert(task.id.clone(), task).is_none(), "twice");
        let consent = AgentConsent::new(ConsentPolicy::default(), Arc::new(ConsentStore::default()));
        batch(&house.agent, tasks, 200, &begin, &mut hear, &consent, &CancellationToken::new()).await;
        assert_eq!(done.len(), 200);
        let (mut answered, mut failed) = (0, 0);
        for at in 0..200 {
            let task = &done[&format!("task-{at}")];
            for (turn, answer) in task.answers.iter().enumerate() {
                assert_eq!(*answer, format!("answer to token-{at}-{}", turn + 1));
            }
            match &task.outcome {
                Ok(_) => answered += 1,
                // Refused for good, or five times in a row something that might have passed.
                Err(error) => {
                    let known = ["refused", "overloaded", "cut"].contains(&error.code());
                    assert!(known && !error.to_string().is_empty() && error.hint().is_some(), "{error}");
                    failed += 1;
                }
            }
            // What was written down is this conversation, and can go on.
            let saved = sessions.read(&task.session).unwrap();
            assert!(saved.repaired.is_empty());
            let text = serde_json::to_string(&saved.messages).unwrap();
            assert!(text.contains(&format!("token-{at}-1")));
            for other in [at + 1, at + 200, at * 10 + 1].into_iter().filter(|other| *other != at) {
                assert!(!text.contains(&format!("token-{other}-")), "{at} has something of {other}");
            }
        }
        assert!(answered > 100, "only {answered} of 200 have an answer");
        assert!(failed > 0 && answered + failed == 200, "{answered} answered, {failed} failed");
    }
}

#[tokio::test]
async fn an_interrupted_batch_answers_for_all_of_its_tasks() {
    let cancel = CancellationToken::new();
    let seen = cancel.clone();
    let house = House::new(APIS[0], move |received| {
        if received.number == 3 {
            seen.cancel();
        }
        if received.number >= 3 { Reply::stall() } else { Reply::text("Yes.") }
    });
    let tasks = (0..10).map(|at| Task { id: format!("{at}"), messages: vec!["Go".to_owned()] }).collect();
    let begin = |task: &Task| Ok(Conversation::new(task.id.clone()));
    let mut done = Vec::new();
    let consent = AgentConsent::new(ConsentPolicy::default(), Arc::new(ConsentStore::default()));
    batch(&house.agent, tasks, 2, &begin, &mut |task| done.push(task), &consent, &cancel).await;
    assert_eq!(done.len(), 10);
    // The third request comes when one of the first two has been answered; the other may still be under way.
    assert!((1..=2).contains(&done.iter().filter(|task| task.outcome.is_ok()).count()));
    assert!(done.iter().filter_map(|task| task.outcome.as_ref().err()).all(|error| error.code() == "cancelled"));
}

#[tokio::test]
async fn a_tools_result_reaches_the_model_byte_for_byte_here_too() {
    for api in APIS {
        let house = House::new(api, |received| {
            if received.new_results().is_empty() {
                Reply::calls([("c", "load_skill", json!({"skill_id": "greetings"}))])
            } else {
                Reply::text("Done.")
            }
        });
        let tasks = (0..5).map(|at| Task { id: format!("{at}"), messages: vec!["Go".to_owned()] }).collect();
        let begin = |task: &Task| Ok(Conversation::new(task.id.clone()));
        let consent = AgentConsent::new(ConsentPolicy::default(), Arc::new(ConsentStore::default()));
        batch(&house.agent, tasks, 5, &begin, &mut |_| {}, &consent, &CancellationToken::new()).await;
        let request = skillcue::LoadRequest { form: skillcue::load::Form::Body, ..Default::default() };
        let envelope = house.agent.skills().load_envelope("greetings", &request).unwrap().text;
        let results: Vec<_> = house.server.requests().iter().flat_map(Received::tool_results).collect();
        assert_eq!(results, vec![("c".to_owned(), envelope); 5]);
    }
}

#[tokio::test]
async fn a_failing_provider_is_reported_with_its_task() {
    let house = House::new(APIS[0], |_| Reply::text("Yes."));
    let file = house.dir.path().join("no-directory/memory.db");
    std::fs::write(house.dir.path().join("no-directory"), "a file").unwrap();
    let begin = |task: &Task| {
        let mut conversation = Conversation::new(task.id.clone());
        conversation.provider(Box::new(skillcue_agent::MemoryProvider::at(file.clone(), task.id.clone())));
        Ok(conversation)
    };
    let tasks = vec![Task { id: "one".to_owned(), messages: vec!["My name is Alice.".to_owned()] }];
    let mut done = Vec::new();
    let consent = AgentConsent::new(ConsentPolicy::default(), Arc::new(ConsentStore::default()));
    let cancel = CancellationToken::new();
    batch(&house.agent, tasks, 1, &begin, &mut |task| done.push(task), &consent, &cancel).await;
    assert!(done[0].outcome.is_ok());
    assert!(done[0].problems[0].starts_with("memory: "), "{:?}", done[0].problems);
}
