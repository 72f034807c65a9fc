//! Who is asked before a model reads what nobody has looked at, and before it runs something.

use std::collections::HashSet;
use std::fmt::{self, Write as _};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use skillcue::catalog::SkillDir;
use skillcue::tools::Call;
use skillcue::{Skill, Skillcue, Source};
use skillcue_base::{Records, RecordsError, is_hidden, one_line};
use skillcue_catalog::ContentId;
use tokio_util::sync::CancellationToken;

/// What a model is told when the user does not want to go on.
const INTERRUPTED: &str = "The user has interrupted the turn.";

/// How often a skill may change while somebody is asked about it.
const CHANGES: usize = 3;

/// What is allowed without asking.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Policy {
    /// Loading skills that nobody has approved: those of a checkout.
    pub skills: bool,
    /// Running scripts of skills.
    pub scripts: bool,
    /// Calling the tools of skills' toolsets.
    pub tools: bool,
}

impl Policy {
    /// Everything.
    pub const ALL: Policy = Policy { skills: true, scripts: true, tools: true };

    fn allows(self, kind: AskKind) -> bool {
        match kind {
            AskKind::LoadSkill => self.skills,
            AskKind::RunScript => self.scripts,
            AskKind::CallTool => self.tools,
        }
    }
}

/// What it is that somebody is asked about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AskKind {
    /// The model wants to read a skill that came with a checkout.
    LoadSkill,
    /// It wants to run a script.
    RunScript,
    /// It wants to call a tool of a skill's toolset.
    CallTool,
}

impl AskKind {
    /// The word that allows it: for flags and configuration.
    pub fn word(self) -> &'static str {
        match self {
            AskKind::LoadSkill => "skills",
            AskKind::RunScript => "scripts",
            AskKind::CallTool => "tools",
        }
    }
}

/// A question to a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ask {
    /// What it is about.
    pub kind: AskKind,
    /// The skill.
    pub skill: String,
    /// Where the skill comes from, in a word.
    pub source: String,
    /// The script or the tool; empty if the skill is to be loaded.
    pub tool: String,
    /// What the model wants to pass, as JSON.
    pub arguments: String,
    /// Where the skill's files are.
    pub dir: String,
    /// Whether they have changed since the same question was asked before.
    pub has_changed: bool,
}

/// What a person answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    /// Yes, this time.
    Once,
    /// Yes, as long as this conversation goes on here.
    Session,
    /// Yes, for as long as no byte of the skill changes.
    Always,
    /// No.
    No,
}

/// Asks a person. It may block: it is called on a thread of its own, one question at a time.
pub trait Asker: Send + Sync {
    /// What they say; no, if nobody answers any more. When a turn is interrupted, nobody waits for the answer.
    fn ask(&self, ask: &Ask) -> Choice;
}

/// Something that a person has allowed for as long as the content stays as it is.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Allowed {
    /// What it is about.
    pub kind: AskKind,
    /// The skill.
    pub skill: String,
    /// The script or the tool; empty if it is about loading the skill.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub tool: String,
    /// The identity of all files of the skill.
    pub digest: ContentId,
}

/// Decides what a model may load and run, and remembers what people said. Many conversations share it.
///
/// Skills that come with the program are trusted, and run without asking. Loading is asked about for skills that came with
/// a checkout ([`Skill::is_foreign`]); those of servers have approvals of their own.
#[derive(Clone)]
pub struct Approvals(Arc<Inner>);

struct Inner {
    policy: Policy,
    always: Records<Allowed>,
    asker: Option<Box<dyn Asker>>,
    /// What was allowed for a conversation, which is named first.
    session: Mutex<HashSet<(String, Allowed)>>,
    /// Whoever asks holds it, so that a person hears one question at a time.
    asking: tokio::sync::Mutex<()>,
}

impl fmt::Debug for Approvals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (policy, asks) = (&self.0.policy, self.0.asker.is_some());
        f.debug_struct("Approvals").field("policy", policy).field("asks", &asks).finish_non_exhaustive()
    }
}

impl Approvals {
    /// Allows what the policy says, and what was allowed before in the file at `always`. Nobody is asked.
    pub fn new(policy: Policy, always: Option<PathBuf>) -> Approvals {
        Approvals::of(policy, always, None)
    }

    /// The same, and asks a person about the rest.
    pub fn asking(policy: Policy, always: Option<PathBuf>, asker: Box<dyn Asker>) -> Approvals {
        Approvals::of(policy, always, Some(asker))
    }

    fn of(policy: Policy, always: Option<PathBuf>, asker: Option<Box<dyn Asker>>) -> Approvals {
        let always = Records::new("allowed", always);
        Approvals(Arc::new(Inner {
            policy,
            always,
            asker,
            session: Mutex::default(),
            asking: tokio::sync::Mutex::default(),
        }))
    }

    /// What was allowed for good.
    pub fn list(&self) -> Vec<Allowed> {
        self.0.always.list()
    }

    /// What is wrong with the file in which that stands, if something is.
    pub fn trouble(&self) -> Option<String> {
        self.0.always.trouble()
    }

    /// Takes back what was allowed a skill for good; says how much that was.
    pub fn revoke(&self, skill: &str) -> Result<usize, RecordsError> {
        self.0.always.change(|list| {
            let before = list.len();
            list.retain(|allowed| allowed.skill != skill);
            before - list.len()
        })
    }

    /// Whether a skill's text may be disclosed without asking: see [`Builder::hold_back`](skillcue::Builder::hold_back).
    pub fn may_show(&self, skill: &Skill) -> bool {
        if self.0.policy.skills || !skill.is_foreign() {
            return true;
        }
        let Ok(allowed) = allowed(AskKind::LoadSkill, skill, "") else { return false };
        self.0.always.look(|list| list.contains(&allowed))
    }

    /// Whether a call may be made. If not, why not, in a sentence for the model.
    pub(crate) async fn decide(
        &self,
        session: &str,
        skills: &Arc<Skillcue>,
        call: &Wanted<'_>,
        cancel: &CancellationToken,
    ) -> Result<(), String> {
        let (known, loaded, read) = (Arc::clone(skills), call.loaded.to_vec(), Arc::clone(call.call));
        // A toolset may have to be evaluated for it.
        let look = move || question(&known, &read, &loaded);
        let Some(question) = off_the_runtime(look).await? else { return Ok(()) };
        if self.0.policy.allows(question.ask.kind) {
            return Ok(());
        }
        let mut allowed = question.content(skills).await?;
        if self.is_allowed(session, &allowed) {
            return Ok(());
        }
        if self.0.asker.is_none() {
            let word = question.ask.kind.word();
            return Err(format!("Nobody can be asked. The user can allow it with `--allow {word}`."));
        }
        let _turn = tokio::select! {
            turn = self.0.asking.lock() => turn,
            () = cancel.cancelled() => return Err(INTERRUPTED.to_owned()),
        };
        // Meanwhile somebody may have answered the same question.
        if self.is_allowed(session, &allowed) {
            return Ok(());
        }
        for times in 0..CHANGES {
            let (this, mut ask) = (self.clone(), question.ask.clone());
            ask.has_changed = times > 0;
            let asked = move || this.0.asker.as_ref().map_or(Choice::No, |asker| asker.ask(&ask));
            let choice = tokio::select! {
                choice = off_the_runtime(asked) => choice.unwrap_or(Choice::No),
                () = cancel.cancelled() => return Err(INTERRUPTED.to_owned()),
            };
            if cancel.is_cancelled() {
                return Err(INTERRUPTED.to_owned());
            }
            if choice == Choice::No {
                return Err("The user said no.".to_owned());
            }
            // They have looked at it for a while: what they said yes to must be what is there now.
            let now = question.content(skills).await?;
            if now == allowed {
                self.remember(session, allowed, choice);
                return Ok(());
            }
            allowed = now;
        }
        Err("The files of the skill change all the time.".to_owned())
    }

    fn remember(&self, session: &str, allowed: Allowed, choice: Choice) {
        if choice == Choice::Session {
            skillcue_base::lock(&self.0.session).insert((session.to_owned(), allowed));
        } else if choice == Choice::Always {
            // They have said yes: that the file cannot be written takes nothing back.
            if let Err(error) = self.0.always.change(|list| list.push(allowed)) {
                tracing::warn!(target: "skillcue::agent", %error, "it was allowed, but not remembered");
            }
        }
    }

    fn is_allowed(&self, session: &str, allowed: &Allowed) -> bool {
        let inner = &self.0;
        let of_session = (session.to_owned(), allowed.clone());
        skillcue_base::lock(&inner.session).contains(&of_session) || inner.always.look(|list| list.contains(allowed))
    }
}

/// A call that a model wants to make.
#[derive(Debug)]
pub(crate) struct Wanted<'w> {
    pub(crate) call: &'w Arc<Call>,
    pub(crate) loaded: &'w [String],
}

/// What a person would have to be asked.
#[derive(Debug)]
struct Question {
    ask: Ask,
    /// The skill, as the catalog finds it.
    address: String,
    tool: String,
}

impl Question {
    /// What exactly it is about: all files of the skill, as they are now.
    async fn content(&self, skills: &Arc<Skillcue>) -> Result<Allowed, String> {
        let (kind, address, tool) = (self.ask.kind, self.address.clone(), self.tool.clone());
        let catalog = skills.catalog();
        let look = move || {
            let skill = catalog.get(&address).ok_or_else(|| "The skill is gone.".to_owned())?;
            allowed(kind, skill, &tool)
        };
        off_the_runtime(look).await?
    }
}

/// What a person would have to be asked about a call; nothing, if it needs no asking.
fn question(skills: &Skillcue, call: &Call, loaded: &[String]) -> Option<Question> {
    let catalog = skills.catalog();
    let (kind, id, tool) = match skills.runs(call, loaded) {
        Some(program) if program.is_script => (AskKind::RunScript, program.skill, program.name),
        Some(program) => (AskKind::CallTool, program.skill, program.name),
        // Whatever else names a skill reads of it.
        None => (AskKind::LoadSkill, call.skill_id()?.to_owned(), String::new()),
    };
    // What is not there, or not for models, the tool itself refuses.
    let skill = skillcue::tools::for_model(&catalog, &id).ok()?;
    let needs = match kind {
        AskKind::LoadSkill => skill.is_foreign(),
        AskKind::RunScript | AskKind::CallTool => skill.source() != Source::Bundled && skill.server().is_none(),
    };
    needs.then(|| {
        let ask = Ask {
            kind,
            skill: one_line(skill.name()).into_owned(),
            source: skill.source().as_str().to_owned(),
            tool: one_line(&tool).into_owned(),
            arguments: visible_json(call.arguments()),
            dir: one_line(&skill.dir().to_string_lossy()).into_owned(),
            has_changed: false,
        };
        Question { ask, address: skill.address(), tool }
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

fn allowed(kind: AskKind, skill: &Skill, tool: &str) -> Result<Allowed, String> {
    let unreadable = |why: &dyn fmt::Display| format!("The files of the skill cannot be looked through: {why}.");
    let dir = SkillDir::open(skill.name(), &skill.dir()).map_err(|error| unreadable(&error))?;
    let digest = ContentId::of(&dir).map_err(|error| unreadable(&error))?;
    Ok(Allowed { kind, skill: skill.name().to_owned(), tool: tool.to_owned(), digest })
}
