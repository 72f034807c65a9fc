//! The setup that tests of the loop share: skills, a server, an agent, and its events.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::Value;
use skillcue::Skillcue;
use skillcue::consent::ConsentStore;
use skillcue_agent::model::{Api, Endpoint, Model, RequestTiming};
use skillcue_agent::{
    About, Agent, AgentConsent, AgentError, AgentOptions, ConsentPolicy, Conversation, Hooks, Sessions, TurnEvent,
    TurnReport,
};
use skillcue_scripted::{Received, Reply, Server};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

/// Both of them.
pub(crate) const APIS: [Api; 2] = [Api::OpenAi, Api::Anthropic];

/// A skill that a message can call for.
pub(crate) fn write_skill(root: &Path, name: &str, trigger: &str, body: &str) {
    let dir = root.join(name);
    std::fs::create_dir_all(&dir).unwrap();
    let front = format!("name: {name}\ndescription: About {trigger}.\nmetadata:\n  triggers: [{trigger}]");
    std::fs::write(dir.join("SKILL.md"), format!("---\n{front}\n---\n{body}\n")).unwrap();
}

/// Two skills, and an agent that asks a scripted server.
pub(crate) struct House {
    pub(crate) dir: TempDir,
    pub(crate) server: Server,
    pub(crate) agent: Agent,
    pub(crate) heard: Mutex<Vec<Value>>,
}

impl House {
    pub(crate) fn new(api: Api, script: impl Fn(&Received) -> Reply + Send + Sync + 'static) -> House {
        House::with(api, AgentOptions::default(), script)
    }

    pub(crate) fn with(
        api: Api,
        options: AgentOptions,
        script: impl Fn(&Received) -> Reply + Send + Sync + 'static,
    ) -> House {
        let dir = tempfile::tempdir().unwrap();
        write_skill(dir.path(), "greetings", "bonjour", "# Greetings\n\nSay it <b>warmly</b> & \"well\".");
        write_skill(dir.path(), "invoices", "invoice", "# Invoices\n\nAdd the tax.");
        let skills = Arc::new(Skillcue::builder().skills_dir(dir.path()).build().unwrap());
        let server = Server::start(script);
        let agent = Agent::new(skills, model(api, &server), options);
        House { dir, server, agent, heard: Mutex::default() }
    }

    /// A conversation that skills are disclosed to.
    pub(crate) fn conversation(&self) -> Conversation {
        let mut conversation = Conversation::new("test");
        conversation.skills_provider(self.agent.skills());
        conversation
    }

    pub(crate) async fn say(&self, conversation: &mut Conversation, message: &str) -> Result<TurnReport, AgentError> {
        let consent = AgentConsent::new(ConsentPolicy::default(), Arc::new(ConsentStore::default()));
        self.say_with(conversation, message, &consent, &CancellationToken::new()).await
    }

    pub(crate) async fn say_with(
        &self,
        conversation: &mut Conversation,
        message: &str,
        consent: &AgentConsent,
        cancel: &CancellationToken,
    ) -> Result<TurnReport, AgentError> {
        let events = |event: &TurnEvent<'_>| self.heard.lock().unwrap().push(serde_json::to_value(event).unwrap());
        self.agent.turn(conversation, message, &Hooks { events: &events, consent, cancel }).await
    }

    /// Returns the events of this kind.
    pub(crate) fn heard(&self, kind: &str) -> Vec<Value> {
        self.heard.lock().unwrap().iter().filter(|event| event["type"] == kind).cloned().collect()
    }
}

/// Returns whether a request asks for a summary.
pub(crate) fn is_summary(received: &Received) -> bool {
    received.system().starts_with("You shorten conversations.")
}

/// Returns the options of an agent with a small window, so that conversations get too long soon.
pub(crate) fn small(window: u64) -> AgentOptions {
    AgentOptions { window, max_tokens: Some(100), ..AgentOptions::default() }
}

/// Begins a saved conversation that skills are disclosed to.
pub(crate) fn begun(house: &House) -> (Sessions, Conversation) {
    let sessions = Sessions::new(house.dir.path().join("sessions"));
    let about = About { model: "scripted".to_owned(), cwd: None, created: std::time::SystemTime::now() };
    let (file, saved) = sessions.create(about).unwrap();
    let mut conversation = Conversation::saved(file, saved);
    conversation.skills_provider(house.agent.skills());
    (sessions, conversation)
}

/// Continues the conversation in another process.
pub(crate) fn continued(house: &House, sessions: &Sessions, conversation: Conversation) -> Conversation {
    let id = conversation.id().to_owned();
    drop(conversation);
    let (file, saved) = sessions.open(&id).unwrap();
    assert_eq!(saved.repaired, Vec::<String>::new());
    let mut conversation = Conversation::saved(file, saved);
    conversation.skills_provider(house.agent.skills());
    conversation
}

pub(crate) fn model(api: Api, server: &Server) -> Model {
    let timing = RequestTiming { backoff: Duration::ZERO, ..RequestTiming::default() };
    let base_url = match api {
        Api::OpenAi => format!("{}/v1", server.url()),
        Api::Anthropic => server.url(),
    };
    Model::new(Endpoint { api, model: "scripted".to_owned(), base_url, key: None, timing }).unwrap()
}
