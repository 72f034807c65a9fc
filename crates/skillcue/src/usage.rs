//! Events of use: what happened to skills, for a ledger that adds them up.
//!
//! [`Builder::usage`](crate::Builder::usage) sets the receiver. Disclosing and calling tools hand it events; a host reports
//! what happens outside of this library with [`Skillcue::report_use`]. No event has text of a message unless the receiver
//! asks for it.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::{Arc, Mutex};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use skillcue_disclose::DisclosedSkill;
use skillcue_select::{Hit, Mode};

pub use crate::kept_uses::remove_kept_uses;
use crate::tools::{Call, Effect, ToolContext, ToolOutput};
use crate::{Decision, Disclosure, Policy, Session, Skillcue};

/// The number of conversations whose latest search is remembered.
const MAX_SESSIONS: usize = 256;
/// The number of skills that a conversation is known to have been shown.
const MAX_SHOWN: usize = 256;
/// The number of names whose tokens are remembered.
const MAX_NAMES: usize = 4_096;

/// Kinds of events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum UsageKind {
    /// The skill was shown for a message: its name, or its body.
    Shown,
    /// Its body was loaded.
    Loaded,
    /// One of its files was read.
    FileRead,
    /// One of its scripts or tools ran.
    Run,
    /// It was loaded after a search had found it, though the conversation had not been shown it.
    Missed,
    /// A person declined a load or a run of it.
    Declined,
}

impl UsageKind {
    /// All kinds with their words in files.
    pub const NAMES: [(&str, UsageKind); 6] = [
        ("shown", UsageKind::Shown),
        ("loaded", UsageKind::Loaded),
        ("file_read", UsageKind::FileRead),
        ("run", UsageKind::Run),
        ("missed", UsageKind::Missed),
        ("declined", UsageKind::Declined),
    ];

    /// Returns its word in files.
    ///
    /// ```
    /// assert_eq!(skillcue::usage::UsageKind::FileRead.as_str(), "file_read");
    /// ```
    pub fn as_str(self) -> &'static str {
        UsageKind::NAMES.iter().find(|(_, kind)| *kind == self).map_or("shown", |(word, _)| word)
    }

    /// Returns whether it says that a model made use of the skill.
    ///
    /// ```
    /// use skillcue::usage::UsageKind;
    ///
    /// assert!(UsageKind::Loaded.is_use() && !UsageKind::Shown.is_use() && !UsageKind::Declined.is_use());
    /// ```
    pub fn is_use(self) -> bool {
        matches!(self, UsageKind::Loaded | UsageKind::FileRead | UsageKind::Run)
    }
}

/// One event of one skill. The receiver knows when, by which program and in which project it happened.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct UsageEvent {
    /// Its kind; `None` only in a default value, which no receiver is handed.
    pub kind: Option<UsageKind>,
    /// The skill's name.
    pub skill: String,
    /// The id of the conversation; empty if there is none.
    pub session: String,
    /// The number of the message in the conversation, from 1; 0 if it is not known.
    pub turn: u64,
    /// The mode in which the message was matched, if it was.
    pub mode: Option<Mode>,
    /// The first 64 bits of the catalog's generation, as hexadecimal digits: the version of the index.
    pub generation: String,
    /// Of a skill that was shown: 3 for its body, 2 for its name.
    pub tier: Option<u8>,
    /// Of a skill that was shown, or whose body or file a tool returned: the tokens that it took.
    pub tokens: Option<usize>,
    /// Of a skill that was shown: how likely it was to fit.
    pub confidence: Option<f32>,
    /// The script, tool or file of the skill. It exists: nothing that a model made up is here.
    pub item: Option<String>,
    /// The message or the query, if the receiver asks for text.
    pub text: Option<String>,
}

/// A receiver of events, usually a ledger. It must return at once: answers wait for it.
///
/// ```
/// use std::sync::{Arc, Mutex};
/// use skillcue::Skillcue;
/// use skillcue::usage::{UsageEvent, UsageKind, UsageSink};
///
/// #[derive(Debug, Default)]
/// struct Collected(Mutex<Vec<UsageEvent>>);
///
/// impl UsageSink for Collected {
///     fn record(&self, event: UsageEvent) {
///         self.0.lock().unwrap().push(event);
///     }
/// }
///
/// # let dir = tempfile::tempdir()?;
/// # std::fs::create_dir(dir.path().join("pdf"))?;
/// # std::fs::write(dir.path().join("pdf/SKILL.md"), "---\nname: pdf\ndescription: Reads PDF.\ntriggers: [pdf]\n---\nHow.\n")?;
/// let events = Arc::new(Collected::default());
/// let skills = Skillcue::builder().skills_dir(dir.path()).usage(events.clone()).build()?;
/// skills.disclose("open report.pdf");
/// let events = events.0.lock().unwrap();
/// assert_eq!((events[0].kind, events[0].skill.as_str(), events[0].tier), (Some(UsageKind::Shown), "pdf", Some(3)));
/// assert_eq!(events[0].text, None);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait UsageSink: fmt::Debug + Send + Sync {
    /// Takes an event.
    fn record(&self, event: UsageEvent);

    /// Takes the events of one answer, which may be handed on as one.
    fn record_all(&self, events: Vec<UsageEvent>) {
        for event in events {
            self.record(event);
        }
    }

    /// Takes the events of the answer to a message; none, if no skill was shown for it. Receivers that count messages count
    /// here.
    fn record_answer(&self, events: Vec<UsageEvent>) {
        if !events.is_empty() {
            self.record_all(events);
        }
    }

    /// Returns whether events should have the text of messages.
    fn wants_text(&self) -> bool {
        false
    }
}

/// Returns the events of a disclosure: one for each skill that the turn's text shows anew. `before` is the conversation as
/// it was before: a text that it had already is not shown again.
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// # std::fs::create_dir(dir.path().join("pdf"))?;
/// # std::fs::write(dir.path().join("pdf/SKILL.md"), "---\nname: pdf\ndescription: Reads PDF.\ntriggers: [pdf]\n---\nHow.\n")?;
/// use skillcue::{Request, Session, Skillcue};
/// use skillcue::usage::shown_events;
///
/// let skills = Skillcue::builder().skills_dir(dir.path()).build()?;
/// let mut session = Session::default();
/// let shown = skills.disclose(Request::new("open a.pdf").session(&mut session));
/// assert_eq!(shown_events(&shown, None).len(), 1);
/// assert_eq!(shown_events(&shown, Some(&session)).len(), 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn shown_events(disclosure: &Disclosure, before: Option<&Session>) -> Vec<UsageEvent> {
    let is_body = |skill: &DisclosedSkill| disclosure.policy == Policy::Inject && skill.decision != Decision::Named;
    let is_old = |skill: &DisclosedSkill| {
        before.is_some_and(|before| before.remembered().any(|old| old.in_context && old.name == skill.name))
    };
    let shown = disclosure.skills.iter().filter(|skill| skill.decision != Decision::Omitted);
    shown
        .filter(|skill| !is_body(skill) || !is_old(skill))
        .map(|skill| UsageEvent {
            kind: Some(UsageKind::Shown),
            skill: skill.name.clone(),
            tier: Some(if is_body(skill) { 3 } else { 2 }),
            tokens: Some(skill.tokens.0),
            confidence: Some(skill.confidence),
            ..UsageEvent::default()
        })
        .collect()
}

/// The receiver, and what is remembered of conversations to notice that a skill was missed.
#[derive(Debug)]
pub(crate) struct UsageTracker {
    sink: Arc<dyn UsageSink>,
    /// The latest last.
    sessions: Mutex<VecDeque<SessionUse>>,
    /// The tokens of names. Counting five of them anew for each answer took 4 % of the answer's time.
    name_tokens: Mutex<HashMap<String, usize>>,
}

/// The part of a conversation that a tracker remembers.
#[derive(Debug, Default)]
struct SessionUse {
    id: String,
    turn: u64,
    /// The mode in which the latest message was matched.
    mode: Option<Mode>,
    /// The skills that it was shown, each with the number of the latest showing.
    shown: HashMap<String, u64>,
    showings: u64,
    /// The skills that the latest search found, and its query if text is wanted.
    found: Vec<String>,
    query: Option<String>,
}

impl UsageTracker {
    /// Returns a tracker with the same receiver, which remembers nothing.
    pub(crate) fn anew(&self) -> UsageTracker {
        UsageTracker::new(Arc::clone(&self.sink))
    }

    pub(crate) fn new(sink: Arc<dyn UsageSink>) -> UsageTracker {
        UsageTracker { sink, sessions: Mutex::default(), name_tokens: Mutex::default() }
    }

    /// Returns how many tokens a name has.
    fn tokens_of(&self, name: &str, count: impl FnOnce() -> usize) -> usize {
        let mut known = skillcue_base::lock(&self.name_tokens);
        if let Some(tokens) = known.get(name) {
            return *tokens;
        }
        if known.len() >= MAX_NAMES {
            known.clear();
        }
        *known.entry(name.to_owned()).or_insert_with(count)
    }

    /// Calls a function with what is remembered of a conversation.
    fn with<R>(&self, id: &str, then: impl FnOnce(&mut SessionUse) -> R) -> R {
        let mut sessions = skillcue_base::lock(&self.sessions);
        let mut session = match sessions.iter().position(|session| session.id == id).and_then(|at| sessions.remove(at))
        {
            Some(session) => session,
            None => SessionUse { id: id.to_owned(), ..SessionUse::default() },
        };
        if sessions.len() >= MAX_SESSIONS {
            sessions.pop_front();
        }
        let result = then(&mut session);
        sessions.push_back(session);
        result
    }
}

/// The part of a use that only its program knows.
#[derive(Debug, Default)]
struct UseDetail {
    item: Option<String>,
    tokens: Option<usize>,
}

impl SessionUse {
    fn show(&mut self, name: &str) {
        self.showings += 1;
        // Looked up, not searched for: a walk over 256 names for each of an answer's skills took 1 % of the answer's time.
        if let Some(latest) = self.shown.get_mut(name) {
            *latest = self.showings;
            return;
        }
        if self.shown.len() >= MAX_SHOWN
            && let Some(oldest) = self.shown.values().min().copied()
        {
            self.shown.retain(|_, latest| *latest != oldest);
        }
        self.shown.insert(name.to_owned(), self.showings);
    }
}

impl Skillcue {
    /// Returns the version of the index as events have it: the first 64 bits of the catalog's generation.
    ///
    /// ```
    /// assert_eq!(skillcue::Skillcue::builder().build()?.index_version().len(), 16);
    /// # Ok::<(), skillcue::Error>(())
    /// ```
    pub fn index_version(&self) -> String {
        format!("{:016x}", self.catalog().generation().0 >> 64)
    }

    /// Reports an event that happened outside of this library, such as a load by another program or a refusal by a person,
    /// to the receiver of [`Builder::usage`](crate::Builder::usage). Does nothing if there is none, or no such skill.
    ///
    /// ```
    /// use skillcue::usage::UsageKind;
    ///
    /// skillcue::Skillcue::builder().build()?.report_use(UsageKind::Declined, "pdf", "session-1");
    /// # Ok::<(), skillcue::Error>(())
    /// ```
    pub fn report_use(&self, kind: UsageKind, address: &str, session: &str) {
        self.use_of(kind, address, session, UseDetail::default());
    }

    /// Reports that a file of a skill was read without a tool, as a resource is: its skill file is a load.
    ///
    /// ```
    /// skillcue::Skillcue::builder().build()?.report_read("pdf", "forms.md", "session-1");
    /// # Ok::<(), skillcue::Error>(())
    /// ```
    pub fn report_read(&self, address: &str, path: &str, session: &str) {
        let is_own =
            self.usage.is_some() && self.catalog().get(address).is_some_and(|skill| skill.file().name() == path);
        if is_own {
            self.use_of(UsageKind::Loaded, address, session, UseDetail::default());
        } else {
            let detail = UseDetail { item: Some(path.to_owned()), tokens: None };
            self.use_of(UsageKind::FileRead, address, session, detail);
        }
    }

    fn use_of(&self, kind: UsageKind, address: &str, session: &str, detail: UseDetail) {
        let UseDetail { item, tokens } = detail;
        let Some(tracker) = &self.usage else { return };
        let catalog = self.catalog();
        let Some(skill) = catalog.get(address).map(|skill| skill.name().to_owned()) else { return };
        let generation = self.index_version();
        let (turn, mode, missed) = tracker.with(session, |known| {
            let is_missed =
                kind == UsageKind::Loaded && known.found.contains(&skill) && !known.shown.contains_key(&skill);
            if kind.is_use() {
                // What the model has need not be shown.
                known.show(&skill);
            }
            (known.turn, known.mode, is_missed.then(|| known.query.clone()))
        });
        let session = session.to_owned();
        let event =
            UsageEvent { kind: Some(kind), skill, session, turn, mode, generation, item, ..UsageEvent::default() };
        if let Some(text) = missed {
            tracker.sink.record(UsageEvent { kind: Some(UsageKind::Missed), text, ..event.clone() });
        }
        // The load has the tokens, not what is said about it beside.
        tracker.sink.record(UsageEvent { tokens, ..event });
    }

    /// Reports the skills that a disclosure shows.
    pub(crate) fn report_disclosure(
        &self,
        disclosure: &Disclosure,
        before: Option<&Session>,
        mode: Mode,
        (session, message): (&str, &str),
    ) {
        let Some(tracker) = &self.usage else { return };
        let events = shown_events(disclosure, before);
        let turn = tracker.with(session, |known| {
            known.turn = before.map_or(known.turn, Session::turn).saturating_add(1);
            known.mode = Some(mode);
            known.found.clear();
            for event in &events {
                known.show(&event.skill);
            }
            known.turn
        });
        if events.is_empty() {
            return tracker.sink.record_answer(events);
        }
        let generation = self.index_version();
        let text = tracker.sink.wants_text().then(|| message.to_owned());
        let mut events = events;
        for event in &mut events {
            (event.turn, event.mode) = (turn, Some(mode));
            session.clone_into(&mut event.session);
            event.generation.clone_from(&generation);
            event.text.clone_from(&text);
            if event.tokens == Some(0) {
                // A hint is one line for all: its names are what each costs.
                event.tokens = Some(tracker.tokens_of(&event.skill, || self.counter().count(&event.skill).0));
            }
        }
        tracker.sink.record_answer(events);
    }

    /// Reports the skills that are named during a turn.
    pub(crate) fn report_hints(&self, hits: &[Hit], mode: Mode, session: &str) {
        let Some(tracker) = self.usage.as_ref().filter(|_| !hits.is_empty()) else { return };
        let turn = tracker.with(session, |known| {
            for hit in hits {
                known.show(&hit.name);
            }
            known.turn
        });
        let generation = self.index_version();
        let event = |hit: &Hit| UsageEvent {
            kind: Some(UsageKind::Shown),
            skill: hit.name.clone(),
            session: session.to_owned(),
            turn,
            mode: Some(mode),
            generation: generation.clone(),
            tier: Some(2),
            tokens: Some(self.counter().count(&hit.name).0),
            confidence: Some(hit.certainty),
            ..UsageEvent::default()
        };
        tracker.sink.record_all(hits.iter().map(event).collect());
    }

    /// Reports what a call of a tool did.
    pub(crate) fn report_call(&self, call: &Call, context: &ToolContext<'_>, output: &ToolOutput) {
        let Some(tracker) = &self.usage else { return };
        let session = context.session;
        if output.is_error {
            if let Some(id) = call.skill_id().filter(|_| output.text.contains("<error code=\"declined\">")) {
                self.use_of(UsageKind::Declined, id, session, UseDetail::default());
            }
            return;
        }
        let returned = || Some(self.counter().count(&output.text).0);
        match (call.name(), call.skill_id()) {
            ("search_skills", _) => {
                let hits = output.structured.as_ref().and_then(|found| found["hits"].as_array());
                let names = hits.into_iter().flatten().filter_map(|hit| hit["name"].as_str().map(str::to_owned));
                let (found, wants_text) = (names.collect(), tracker.sink.wants_text());
                let query = call.arguments().get("query").and_then(Value::as_str).filter(|_| wants_text);
                tracker.with(session, |known| (known.found, known.query) = (found, query.map(str::to_owned)));
            }
            ("load_skill", Some(id)) => {
                let is_known = matches!(output.effect, Some(Effect::Loaded { is_known: true, .. }));
                if !is_known {
                    self.use_of(UsageKind::Loaded, id, session, UseDetail { item: None, tokens: returned() });
                }
            }
            ("read_skill_file", Some(id)) => {
                let path = call.arguments().get("path").and_then(Value::as_str).map(str::to_owned);
                self.use_of(UsageKind::FileRead, id, session, UseDetail { item: path, tokens: returned() });
            }
            ("unload_skill", _) => {}
            _ => {
                if let Some(program) = self.program_for_call(call, context.loaded) {
                    let detail = UseDetail { item: Some(program.name), tokens: None };
                    self.use_of(UsageKind::Run, &program.skill, session, detail);
                }
            }
        }
    }
}
