//! Consent: the questions, and how answers are remembered.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use serde_json::json;
use skillcue::consent::{ConsentStore, Question, Scope, Subject};
use skillcue::{SkillRoot, Skillcue, Source};
use skillcue_agent::model::Api;
use skillcue_agent::{Agent, AgentConsent, AgentOptions, Asker, ConsentPolicy, Conversation};
use skillcue_base::ErrorInfo as _;
use skillcue_scripted::Reply;
use tokio_util::sync::CancellationToken;

use crate::house::{House, model, write_skill};

/// Answers as it was told, and remembers what it was asked.
#[derive(Clone)]
struct Person {
    says: Option<Scope>,
    asked: Arc<Mutex<Vec<Question>>>,
}

impl Person {
    fn new(says: Option<Scope>) -> Person {
        Person { says, asked: Arc::default() }
    }

    fn was_asked(&self) -> usize {
        self.asked.lock().unwrap().len()
    }
}

impl Asker for Person {
    fn ask(&self, ask: &Question) -> Option<Scope> {
        self.asked.lock().unwrap().push(ask.clone());
        self.says
    }
}

/// A house whose one skill came with a checkout, and whose model loads it in every turn.
fn checkout() -> House {
    let house = House::new(Api::OpenAi, |received| {
        if received.new_results().is_empty() {
            Reply::calls([(format!("c{}", received.number), "load_skill", json!({"skill_id": "theirs"}))])
        } else {
            Reply::text("Done.")
        }
    });
    let project = house.dir.path().join("project");
    write_skill(&project, "theirs", "deploy", "# Deploy\n\nPush it.");
    house
}

fn with(house: House, consent: &AgentConsent) -> House {
    let root = SkillRoot::required(house.dir.path().join("project"), Source::Project);
    let held = consent.clone();
    let skills = Skillcue::builder().root(root).hold_back(move |skill| !held.may_show(skill)).build().unwrap();
    let agent = Agent::new(Arc::new(skills), model(Api::OpenAi, &house.server), AgentOptions::default());
    House { agent, ..house }
}

/// Returns the result of the model's last call.
async fn loads(house: &House, conversation: &mut Conversation, consent: &AgentConsent) -> String {
    house.say_with(conversation, "Go on", consent, &CancellationToken::new()).await.unwrap();
    house.server.requests().last().unwrap().tool_results().pop().unwrap().1
}

/// Opens the consent of this directory, as another process would.
fn always(dir: &Path) -> Arc<ConsentStore> {
    Arc::new(ConsentStore::new(Some(dir.join("consent.json"))))
}

fn memory() -> Arc<ConsentStore> {
    Arc::default()
}

#[tokio::test]
async fn a_skill_of_a_checkout_is_asked_about() {
    for (says, asked, shown) in [(None, 2, false), (Some(Scope::Once), 2, true), (Some(Scope::Session), 1, true)] {
        let house = checkout();
        let person = Person::new(says);
        let consent =
            AgentConsent::asking(ConsentPolicy::default(), always(house.dir.path()), Box::new(person.clone()));
        let house = with(house, &consent);
        let mut conversation = house.conversation();
        // The second time it is in the conversation, if it was allowed.
        for text in ["Push it.", "already, unchanged"] {
            let read = loads(&house, &mut conversation, &consent).await;
            assert_eq!(read.contains(text), shown, "{says:?}: {read}");
            assert_eq!(read.contains("<error code=\"declined\">"), !shown);
        }
        assert_eq!(person.was_asked(), asked, "{says:?}");
        let ask = person.asked.lock().unwrap()[0].clone();
        assert!(matches!(&ask.subject, Subject::Load { skill, .. } if skill == "theirs"), "{ask:?}");
        assert_eq!(ask.details.source, "project");
        // Another conversation is another question.
        loads(&house, &mut Conversation::new("other"), &consent).await;
        assert_eq!(person.was_asked(), asked + 1, "{says:?}");
    }
}

#[tokio::test]
async fn always_holds_for_the_content() {
    let house = checkout();
    let person = Person::new(Some(Scope::Always));
    let consent = AgentConsent::asking(ConsentPolicy::default(), always(house.dir.path()), Box::new(person.clone()));
    let house = with(house, &consent);
    loads(&house, &mut house.conversation(), &consent).await;
    assert_eq!((person.was_asked(), always(house.dir.path()).list().len()), (1, 1));
    // In another process, which has no one to ask.
    let later = AgentConsent::new(ConsentPolicy::default(), always(house.dir.path()));
    assert!(loads(&house, &mut Conversation::new("b"), &later).await.contains("Push it."));
    // A byte more, and it is another skill.
    std::fs::write(house.dir.path().join("project/theirs/more.txt"), "x").unwrap();
    let read = loads(&house, &mut Conversation::new("c"), &later).await;
    assert!(read.contains("There is no one to ask.") && !read.contains("--allow"), "{read}");
    std::fs::remove_file(house.dir.path().join("project/theirs/more.txt")).unwrap();
    let withdrawn = always(house.dir.path()).withdraw(|consent| consent.subject.skill() == Some("theirs"));
    assert_eq!(withdrawn.unwrap().len(), 1);
    assert!(loads(&house, &mut Conversation::new("d"), &later).await.contains("declined"));
}

#[tokio::test]
async fn an_unapproved_skill_is_named_and_not_shown() {
    let house = checkout();
    let consent = AgentConsent::new(ConsentPolicy::default(), always(house.dir.path()));
    let house = with(house, &consent);
    house.say_with(&mut house.conversation(), "deploy it", &consent, &CancellationToken::new()).await.unwrap();
    let sent = house.server.requests()[0].last_user();
    assert!(sent.contains("### theirs") && !sent.contains("Push it."), "{sent}");
    assert_eq!(house.heard("problem")[0]["message"], "not shown until you allow it: theirs");

    let allowed = AgentConsent::new(ConsentPolicy { skills: true, ..ConsentPolicy::default() }, memory());
    let house = with(house, &allowed);
    house.say_with(&mut house.conversation(), "deploy it", &allowed, &CancellationToken::new()).await.unwrap();
    let sent = house.server.requests().iter().rev().map(skillcue_scripted::Received::last_user).next().unwrap();
    assert!(sent.contains("Push it."), "{sent}");
}

#[tokio::test]
async fn interrupting_a_question_ends_the_turn() {
    /// Is interrupted instead of answering.
    struct Gone(CancellationToken);
    impl Asker for Gone {
        fn ask(&self, _: &Question) -> Option<Scope> {
            self.0.cancel();
            None
        }
    }
    let house = checkout();
    let cancel = CancellationToken::new();
    let consent = AgentConsent::asking(ConsentPolicy::default(), memory(), Box::new(Gone(cancel.clone())));
    let house = with(house, &consent);
    let mut conversation = house.conversation();
    let error = house.say_with(&mut conversation, "Go on", &consent, &cancel).await.unwrap_err();
    assert_eq!(error.code(), "cancelled");
    assert_eq!(house.server.requests().len(), 1);
}

/// Returns the result of a call, with these things allowed.
async fn read(name: &'static str, arguments: serde_json::Value, policy: ConsentPolicy) -> String {
    let house = House::new(Api::OpenAi, move |received| {
        if received.new_results().is_empty() {
            Reply::calls([("c", name, arguments.clone())])
        } else {
            Reply::text("Done.")
        }
    });
    write_skill(&house.dir.path().join("project"), "theirs", "deploy", "# Deploy\n\nPush it.");
    let consent = AgentConsent::new(policy, memory());
    let house = with(house, &consent);
    loads(&house, &mut house.conversation(), &consent).await
}

#[tokio::test]
async fn no_other_tool_reads_an_unapproved_skill() {
    for id in ["theirs", "project:theirs", "theirs@project"] {
        for (name, path) in [("read_skill_file", "SKILL.md"), ("load_skill", "")] {
            let mut arguments = json!({"skill_id": id});
            if !path.is_empty() {
                arguments["path"] = json!(path);
            }
            let said = read(name, arguments.clone(), ConsentPolicy::default()).await;
            assert!(!said.contains("Push it."), "{name} {id}: {said}");
            // Where it is allowed, the same call reads the skill, if the id is one of its.
            let allowed = read(name, arguments, ConsentPolicy { skills: true, ..ConsentPolicy::default() }).await;
            assert_eq!(allowed.contains("Push it."), id != "project:theirs", "{name} {id}: {allowed}");
            assert_eq!(said.contains("declined"), id != "project:theirs", "{name} {id}: {said}");
        }
    }
}

#[tokio::test]
async fn a_skill_approved_once_is_not_held_back_later() {
    let house = checkout();
    let person = Person::new(Some(Scope::Once));
    let consent = AgentConsent::asking(ConsentPolicy::default(), memory(), Box::new(person));
    let house = with(house, &consent);
    let mut conversation = house.conversation();
    loads(&house, &mut conversation, &consent).await;
    house.say_with(&mut conversation, "deploy it", &consent, &CancellationToken::new()).await.unwrap();
    let texts = house.server.requests().last().unwrap().texts();
    assert!(!texts.iter().any(|(_, text)| text.contains("has not allowed")), "{texts:?}");
}

#[tokio::test]
async fn a_skill_that_changes_during_the_question_is_asked_about_again() {
    /// Lets the skill change under the first question.
    struct Slow(PathBuf, Mutex<u32>);
    impl Asker for Slow {
        fn ask(&self, _: &Question) -> Option<Scope> {
            let mut asked = self.1.lock().unwrap();
            *asked += 1;
            if *asked == 1 {
                write_skill(&self.0, "theirs", "deploy", "# Deploy\n\nSomething else.");
                Some(Scope::Always)
            } else {
                None
            }
        }
    }
    let house = checkout();
    let asker = Slow(house.dir.path().join("project"), Mutex::default());
    let store = memory();
    let consent = AgentConsent::asking(ConsentPolicy::default(), store.clone(), Box::new(asker));
    let house = with(house, &consent);
    let said = loads(&house, &mut house.conversation(), &consent).await;
    assert!(said.contains("The user said no."), "{said}");
    assert!(store.list().is_empty());
}

#[tokio::test]
async fn interrupting_does_not_wait_for_an_answer() {
    /// Answers long after the turn is over.
    struct Late(CancellationToken, std::sync::mpsc::Sender<()>, Mutex<std::sync::mpsc::Receiver<()>>);
    impl Asker for Late {
        fn ask(&self, _: &Question) -> Option<Scope> {
            self.0.cancel();
            let _ = self.1.send(());
            // Until the test is over.
            let _ = self.2.lock().unwrap().recv();
            Some(Scope::Always)
        }
    }
    let (asked, was_asked) = std::sync::mpsc::channel();
    let (over, until) = std::sync::mpsc::channel::<()>();
    let house = checkout();
    let cancel = CancellationToken::new();
    let asker = Late(cancel.clone(), asked, Mutex::new(until));
    let store = memory();
    let consent = AgentConsent::asking(ConsentPolicy::default(), store.clone(), Box::new(asker));
    let house = with(house, &consent);
    let mut conversation = house.conversation();
    let error = house.say_with(&mut conversation, "Go on", &consent, &cancel).await.unwrap_err();
    assert_eq!(error.code(), "cancelled");
    was_asked.recv().unwrap();
    assert!(conversation.loaded().is_empty() && store.list().is_empty());
    drop(over);
}

#[tokio::test]
async fn a_question_shows_what_hides() {
    let house = House::new(Api::OpenAi, |received| {
        if received.new_results().is_empty() {
            let arguments = json!({"skill_id": "theirs", "arguments": "\u{1b}[2K\u{9b}2K\u{202e}\u{61c}\u{e0041}"});
            Reply::calls([("c", "load_skill", arguments)])
        } else {
            Reply::text("Done.")
        }
    });
    write_skill(&house.dir.path().join("project"), "theirs", "deploy", "# Deploy\n\nPush it.");
    let person = Person::new(None);
    let consent = AgentConsent::asking(ConsentPolicy::default(), memory(), Box::new(person.clone()));
    let house = with(house, &consent);
    loads(&house, &mut house.conversation(), &consent).await;
    let ask = person.asked.lock().unwrap()[0].details.clone();
    assert!(ask.arguments.contains("\\u009b") && ask.arguments.contains("\\u202e"), "{}", ask.arguments);
    assert!(ask.arguments.contains("\\u061c") && ask.arguments.contains("\\udb40\\udc41"), "{}", ask.arguments);
    assert!(!ask.arguments.contains(skillcue_base::is_hidden));
}
