//! Events of use in a conversation: shown, loaded, declined, with its id and the number of the turn.

use std::sync::{Arc, Mutex};

use serde_json::json;
use skillcue::consent::ConsentStore;
use skillcue::usage::{UsageEvent, UsageKind, UsageSink};
use skillcue::{SkillRoot, Skillcue, Source};
use skillcue_agent::model::Api;
use skillcue_agent::{Agent, AgentConsent, AgentOptions, ConsentPolicy};
use skillcue_scripted::Reply;

use crate::house::{House, model, write_skill};

#[derive(Debug, Default)]
struct CollectedEvents(Mutex<Vec<UsageEvent>>);

impl UsageSink for CollectedEvents {
    fn record(&self, event: UsageEvent) {
        self.0.lock().unwrap().push(event);
    }
}

#[tokio::test]
async fn a_conversation_reports_what_it_shows_loads_and_is_refused() {
    let house = House::new(Api::OpenAi, |received| match (received.number, received.new_results().is_empty()) {
        (1, _) => Reply::calls([("c1", "load_skill", json!({"skill_id": "invoices"}))]),
        (_, true) => Reply::calls([("c2", "load_skill", json!({"skill_id": "theirs"}))]),
        _ => Reply::text("Done."),
    });
    let project = house.dir.path().join("project");
    write_skill(&project, "theirs", "deploy", "# Deploy\n\nPush it.");
    let consent = AgentConsent::new(ConsentPolicy::default(), Arc::new(ConsentStore::default()));
    let (events, held) = (Arc::new(CollectedEvents::default()), consent.clone());
    let skills = Skillcue::builder()
        .skills_dir(house.dir.path().join("greetings"))
        .skills_dir(house.dir.path().join("invoices"))
        .root(SkillRoot::required(&project, Source::Project))
        .hold_back(move |skill| !held.may_show(skill))
        .usage(events.clone());
    let agent =
        Agent::new(Arc::new(skills.build().unwrap()), model(Api::OpenAi, &house.server), AgentOptions::default());
    let house = House { agent, ..house };
    let mut conversation = house.conversation();
    for message in ["bonjour", "and now the other thing"] {
        house.say(&mut conversation, message).await.unwrap();
    }
    let events = events.0.lock().unwrap();
    let seen: Vec<_> = events.iter().map(|event| (event.kind.unwrap(), event.skill.as_str(), event.turn)).collect();
    let expected =
        [(UsageKind::Shown, "greetings", 1), (UsageKind::Loaded, "invoices", 1), (UsageKind::Declined, "theirs", 2)];
    assert_eq!(seen, expected);
    assert!(events.iter().all(|event| event.session == "test" && event.text.is_none()));
}
