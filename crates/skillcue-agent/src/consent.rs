//! Consent in the agent: a person is asked before a model loads a skill of a checkout, and before it runs something.

use std::collections::HashSet;
use std::fmt::{self, Write as _};
use std::sync::{Arc, Mutex};

use serde_json::{Map, Value};
use skillcue::catalog::SkillDir;
use skillcue::consent::{self, ConsentGate, Details, Question, Scope, Subject};
use skillcue::tools::Call;
use skillcue::{Skill, Skillcue, Source};
use skillcue_base::is_hidden;
use skillcue_catalog::ContentId;
use tokio_util::sync::CancellationToken;

/// The error for the model when the user does not want to go on.
const INTERRUPTED: &str = "The user has interrupted the turn.";

/// The most times that a skill may change while the user is asked about it.
const MAX_CHANGES: usize = 3;

/// The kinds of calls that are allowed without asking.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ConsentPolicy {
    /// Loading skills that are not allowed yet: those of a checkout.
    pub skills: bool,
    /// Running scripts of skills.
    pub scripts: bool,
    /// Calling the tools of skills' toolsets.
    pub tools: bool,
}

impl ConsentPolicy {
    /// Allows everything.
    pub const ALL: ConsentPolicy = ConsentPolicy { skills: true, scripts: true, tools: true };

    fn allows(self, part: SkillPart) -> bool {
        match part {
            SkillPart::Skill => self.skills,
            SkillPart::Script => self.scripts,
            SkillPart::Tool => self.tools,
        }
    }
}

/// The part of a skill that a model wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SkillPart {
    /// Its text.
    Skill,
    Script,
    /// A tool of its toolsets.
    Tool,
}

impl SkillPart {
    /// Returns the word that allows it, in flags and configuration.
    fn word(self) -> &'static str {
        match self {
            SkillPart::Skill => "skills",
            SkillPart::Script => "scripts",
            SkillPart::Tool => "tools",
        }
    }

    fn subject(self, dir: &SkillDir, name: &str) -> Subject {
        match self {
            SkillPart::Skill => Subject::load(dir),
            SkillPart::Script => Subject::script(dir, name),
            SkillPart::Tool => Subject::tool(dir, name),
        }
    }
}

/// Asks a person. It may block: it is called on a thread of its own, one question at a time.
pub trait Asker: Send + Sync {
    /// Returns for how long they allow it; none is a no, also if no answer can come any more. The answer to a question of
    /// an interrupted turn is not used.
    fn ask(&self, question: &Question) -> Option<Scope>;
}

/// Decides what a model may load and run: by a policy, by what a [`ConsentGate`] knows, by what was allowed in a
/// conversation, and by asking a person. Many conversations share it.
///
/// Skills that come with the program are trusted, and run without asking. Loading is asked about for skills that came with
/// a checkout ([`Skill::is_foreign`]); those of servers are asked about where they are read. It allows a model to run a
/// script, and grants the script nothing: permissions beyond the sandbox are asked about where it runs.
#[derive(Clone)]
pub struct AgentConsent(Arc<Inner>);

struct Inner {
    policy: ConsentPolicy,
    gate: Arc<dyn ConsentGate>,
    asker: Option<Box<dyn Asker>>,
    /// How the user can allow a call without being asked.
    hint: Option<fn(&'static str) -> String>,
    /// Consent for one conversation: its id, the subject, the content.
    session: Mutex<HashSet<(String, Subject, ContentId)>>,
    /// Held while a question is asked, so that a person hears one at a time.
    asking: tokio::sync::Mutex<()>,
}

impl fmt::Debug for AgentConsent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (policy, asks) = (&self.0.policy, self.0.asker.is_some());
        f.debug_struct("AgentConsent").field("policy", policy).field("asks", &asks).finish_non_exhaustive()
    }
}

impl AgentConsent {
    /// Allows what the policy and the gate allow, without asking a person.
    pub fn new(policy: ConsentPolicy, gate: Arc<dyn ConsentGate>) -> AgentConsent {
        AgentConsent::of(policy, gate, None, None)
    }

    /// Like [`new`](AgentConsent::new), where a refusal ends with a sentence for the model that says how the user can
    /// allow such a call. The hint is made from the word for what was refused: `skills`, `scripts` or `tools`.
    pub fn with_hint(
        policy: ConsentPolicy,
        gate: Arc<dyn ConsentGate>,
        hint: fn(&'static str) -> String,
    ) -> AgentConsent {
        AgentConsent::of(policy, gate, None, Some(hint))
    }

    /// Like [`new`](AgentConsent::new), and asks a person about the rest. The gate remembers what they allow for good.
    pub fn asking(policy: ConsentPolicy, gate: Arc<dyn ConsentGate>, asker: Box<dyn Asker>) -> AgentConsent {
        AgentConsent::of(policy, gate, Some(asker), None)
    }

    fn of(
        policy: ConsentPolicy,
        gate: Arc<dyn ConsentGate>,
        asker: Option<Box<dyn Asker>>,
        hint: Option<fn(&'static str) -> String>,
    ) -> AgentConsent {
        AgentConsent(Arc::new(Inner {
            policy,
            gate,
            asker,
            hint,
            session: Mutex::default(),
            asking: tokio::sync::Mutex::default(),
        }))
    }

    /// Returns whether a skill's text may be disclosed without asking: see
    /// [`Builder::hold_back`](skillcue::Builder::hold_back).
    pub fn may_show(&self, skill: &Skill) -> bool {
        self.0.policy.skills || consent::may_show(skill, &*self.0.gate)
    }

    /// Decides whether a call may be made. The error is the reason, in a sentence for the model.
    pub(crate) async fn decide(
        &self,
        session: &str,
        skills: &Arc<Skillcue>,
        call: &PendingCall<'_>,
        cancel: &CancellationToken,
    ) -> Result<(), String> {
        let (known, loaded, read) = (Arc::clone(skills), call.loaded.to_vec(), Arc::clone(call.call));
        // A toolset may have to be evaluated for it.
        let look = move || needed(&known, &read, &loaded);
        let Some(needed) = off_the_runtime(look).await? else { return Ok(()) };
        if self.0.policy.allows(needed.part) {
            return Ok(());
        }
        let mut question = needed.question(skills).await?;
        if self.is_allowed(session, &question) {
            return Ok(());
        }
        if self.0.asker.is_none() {
            let hint = self
                .0
                .hint
                .map_or_else(|| "The user can allow it beforehand.".to_owned(), |hint| hint(needed.part.word()));
            return Err(format!("There is no one to ask. {hint}"));
        }
        let _turn = tokio::select! {
            turn = self.0.asking.lock() => turn,
            () = cancel.cancelled() => return Err(INTERRUPTED.to_owned()),
        };
        // Meanwhile the user may have answered an equal question.
        if self.is_allowed(session, &question) {
            return Ok(());
        }
        for times in 0..MAX_CHANGES {
            let (this, mut shown) = (self.clone(), question.clone());
            shown.details.has_changed = times > 0;
            let asked = move || this.0.asker.as_ref().and_then(|asker| asker.ask(&shown));
            let scope = tokio::select! {
                scope = off_the_runtime(asked) => scope.unwrap_or_default(),
                () = cancel.cancelled() => return Err(INTERRUPTED.to_owned()),
            };
            if cancel.is_cancelled() {
                return Err(INTERRUPTED.to_owned());
            }
            let Some(scope) = scope else { return Err("The user said no.".to_owned()) };
            // They have looked at it for a while: what they said yes to must be what is there now.
            let now = needed.question(skills).await?;
            if now == question {
                self.remember(session, &question, scope);
                return Ok(());
            }
            question = now;
        }
        Err("The files of the skill change all the time.".to_owned())
    }

    fn remember(&self, session: &str, question: &Question, scope: Scope) {
        match scope {
            Scope::Once => {}
            Scope::Session => {
                skillcue_base::lock(&self.0.session).insert(key(session, question));
            }
            Scope::Always => {
                // They have said yes: that the file cannot be written takes nothing back.
                if let Err(error) = self.0.gate.remember(question, Scope::Always) {
                    tracing::warn!(target: "skillcue::agent", %error, "it was allowed, but not remembered");
                }
            }
        }
    }

    fn is_allowed(&self, session: &str, question: &Question) -> bool {
        skillcue_base::lock(&self.0.session).contains(&key(session, question))
            || self.0.gate.answer(question).is_allowed()
    }
}

fn key(session: &str, question: &Question) -> (String, Subject, ContentId) {
    (session.to_owned(), question.subject.clone(), question.content)
}

/// A call that a model wants to make.
#[derive(Debug)]
pub(crate) struct PendingCall<'w> {
    pub(crate) call: &'w Arc<Call>,
    pub(crate) loaded: &'w [String],
}

/// Something that needs consent, without its content.
#[derive(Debug)]
struct Needed {
    part: SkillPart,
    /// The skill, as the catalog finds it.
    address: String,
    /// The script or the tool.
    name: String,
    details: Details,
}

impl Needed {
    /// Returns the question about all files of the skill, as they are now.
    async fn question(&self, skills: &Arc<Skillcue>) -> Result<Question, String> {
        let (part, address, name, details) = (self.part, self.address.clone(), self.name.clone(), self.details.clone());
        let catalog = skills.catalog();
        let look = move || {
            let skill = catalog.get(&address).ok_or_else(|| "The skill is gone.".to_owned())?;
            Ok(Question { details, ..question(part, skill, &name)? })
        };
        off_the_runtime(look).await?
    }
}

/// Returns what a person would have to be asked about a call; nothing, if it needs no asking.
fn needed(skills: &Skillcue, call: &Call, loaded: &[String]) -> Option<Needed> {
    let catalog = skills.catalog();
    let (part, id, name) = match skills.program_for_call(call, loaded) {
        Some(program) if program.is_script => (SkillPart::Script, program.skill, program.name),
        Some(program) => (SkillPart::Tool, program.skill, program.name),
        // Whatever else names a skill reads of it.
        None => (SkillPart::Skill, call.skill_id()?.to_owned(), String::new()),
    };
    // What is not there, or not for models, the tool itself refuses.
    let skill = skillcue::tools::for_model(&catalog, &id).ok()?;
    let needs = match part {
        SkillPart::Skill => skill.is_foreign(),
        SkillPart::Script | SkillPart::Tool => skill.source() != Source::Bundled && skill.server().is_none(),
    };
    needs.then(|| {
        let details = Details {
            address: skill.id(),
            source: skill.source().as_str().to_owned(),
            arguments: visible_json(call.arguments()),
            has_changed: false,
        };
        Needed { part, address: skill.address(), name, details }
    })
}

/// Writes arguments as JSON in which nothing hides: what commands a terminal, or turns its lines around, is escaped as
/// JSON does.
fn visible_json(arguments: &Map<String, Value>) -> String {
    let text = Value::Object(arguments.clone()).to_string();
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        if is_hidden(c) {
            for unit in c.encode_utf16(&mut [0; 2]) {
                let _ = write!(shown, "\\u{unit:04x}");
            }
        } else {
            shown.push(c);
        }
    }
    shown
}

/// Does something that blocks.
async fn off_the_runtime<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, String> {
    tokio::task::spawn_blocking(work).await.map_err(|_| "It could not be found out whether this is allowed.".to_owned())
}

fn question(part: SkillPart, skill: &Skill, name: &str) -> Result<Question, String> {
    let unreadable = |why: &dyn fmt::Display| format!("The files of the skill cannot be looked through: {why}.");
    let dir = SkillDir::open(skill.name(), &skill.dir()).map_err(|error| unreadable(&error))?;
    Question::for_skill(&dir, part.subject(&dir, name)).map_err(|error| unreadable(&error))
}
