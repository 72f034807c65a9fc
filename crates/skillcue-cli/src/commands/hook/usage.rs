//! Events of use that hooks see: what they showed, and what the client's model then did with it. Written after the answer.

use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use skillcue::catalog::SkillFile;
use skillcue::usage::{UsageEvent, UsageKind, shown_events};
use skillcue::{Catalog, Mode, Session, Skill, Skillcue};
use skillcue_clients::hook::{HookAdapter, HookDecision, HookEvent, HookInput, HookStyle, LockedSession};
use skillcue_host::{Host, LedgerSwitch};
use skillcue_usage::{FileLookup, Ledger, UsedFile, below_home, file_uses};

/// One call of a hook.
pub(super) struct HookUse<'h> {
    pub(super) adapter: &'static HookAdapter,
    pub(super) style: HookStyle,
    pub(super) input: &'h HookInput,
    pub(super) decision: &'h HookDecision,
}

/// A message that has no answer yet. One that gets none is counted as a dropped event: the ledger does not know of it.
#[derive(Debug, Default)]
pub(super) struct OpenMessage {
    ledger: OnceLock<Ledger>,
    is_closed: AtomicBool,
}

impl OpenMessage {
    /// Looks where it would be counted, if it is a message and events are recorded.
    pub(super) fn begin(&self, host: &Host, input: &HookInput) {
        // Files that cannot be used are a notice here.
        let is_on = || host.lenient_settings().is_ok() && host.ledger_switch().is_ok_and(|it| it == LedgerSwitch::On);
        if matches!(input.event, HookEvent::Prompt(_))
            && is_on()
            && let Ok(Some(ledger)) = host.ledger()
        {
            let _ = self.ledger.set(ledger);
        }
    }

    /// The message was answered, or needs no answer. Returns whether it was open.
    pub(super) fn close(&self) -> bool {
        !self.is_closed.swap(true, Ordering::SeqCst)
    }

    /// Unless it was answered, the message counts, once.
    pub(super) fn drop_it(&self) {
        if let Some(ledger) = self.ledger.get()
            && self.close()
        {
            ledger.count_dropped(1);
        }
    }
}

/// Records what a call of a hook did, in the ledger's spool: no database is opened. A ledger that cannot be written is no
/// reason to complain: the client waits for this process.
pub(super) fn record(host: &Host, skills: &Skillcue, hook: &HookUse<'_>, before: Option<&LockedSession>) {
    let events = hook.events(skills, before, host.environment().home.as_deref());
    // A message counts, too, if no skill was shown for it.
    let is_message = matches!(hook.input.event, HookEvent::Prompt(_));
    if events.is_empty() && !is_message {
        return;
    }
    let client = format!("hook:{}", hook.adapter.client.as_str());
    let Ok(Some(sink)) = host.usage_sink(&client) else { return };
    let mut batch = sink.answer(events);
    if !is_message {
        batch.messages.clear();
    }
    if let Err(error) = sink.ledger().write_briefly(&batch) {
        tracing::debug!(target: "skillcue::usage", %error, "events of use are lost");
    }
}

impl HookUse<'_> {
    fn events(&self, skills: &Skillcue, before: Option<&LockedSession>, home: Option<&Path>) -> Vec<UsageEvent> {
        let before = before.map(|locked| &locked.session);
        let after = self.decision.session.as_ref();
        let mut events = match &self.input.event {
            HookEvent::Prompt(_) => match (&self.decision.answer, &self.decision.disclosure) {
                (Some(answer), Some(shown)) => {
                    let told = shown_events(shown, before.map(|session| &session.shown)).into_iter();
                    let told = told.filter(|event| answer.text.contains(&event.skill));
                    told.map(|event| self.as_named(event)).collect()
                }
                // The client loads what the message calls.
                (None, None) => loads(before.map(|session| &session.shown), after.map(|session| &session.shown)),
                _ => Vec::new(),
            },
            HookEvent::AfterTool { tool, arguments, has_failed: false } => {
                let mut events = Vec::new();
                if let Some(answer) = &self.decision.answer {
                    let known: BTreeSet<&String> = before.into_iter().flat_map(|session| &session.named).collect();
                    let named = after.into_iter().flat_map(|session| &session.named);
                    let new = named.filter(|name| !known.contains(name) && answer.text.contains(*name));
                    events.extend(new.map(|name| UsageEvent { tier: Some(2), ..event(UsageKind::Shown, name) }));
                } else if !tool.ends_with("load_skill") {
                    // What our own server loads, it records itself.
                    events.extend(loads(before.map(|session| &session.shown), after.map(|session| &session.shown)));
                }
                events.extend(self.files(skills, home, tool, arguments));
                events
            }
            _ => Vec::new(),
        };
        if events.is_empty() {
            return events;
        }
        let (session, turn) = (self.input.session.clone().unwrap_or_default(), after.map_or(0, |it| it.shown.turn()));
        let (generation, text) = (skills.index_version(), self.message());
        for event in &mut events {
            event.session.clone_from(&session);
            event.generation.clone_from(&generation);
            event.turn = turn;
            event.mode = Some(Mode::Hybrid);
            if event.kind == Some(UsageKind::Shown) {
                event.text.clone_from(&text);
            }
        }
        events
    }

    /// Returns a skill that was shown as what the client was told of it.
    fn as_named(&self, event: UsageEvent) -> UsageEvent {
        match self.style {
            HookStyle::Body => event,
            HookStyle::Name => UsageEvent { tier: Some(2), tokens: Some(event.skill.len().div_ceil(4) + 20), ..event },
        }
    }

    fn message(&self) -> Option<String> {
        match &self.input.event {
            HookEvent::Prompt(message) => Some(message.clone()),
            _ => None,
        }
    }

    /// Returns the uses of skills' files that a call of a tool is: by the rule for transcripts, with the files that there are.
    fn files(
        &self,
        skills: &Skillcue,
        home: Option<&Path>,
        tool: &str,
        arguments: &serde_json::Value,
    ) -> Vec<UsageEvent> {
        let catalog = skills.catalog();
        let dirs = SkillDirs { catalog: &catalog, real: OnceCell::new() };
        let at = |written: &str| {
            let below_home = below_home(written).zip(home).map(|(below, home)| home.join(below));
            dirs.file_at(&below_home.unwrap_or_else(|| written.into()))
        };
        let cwd = self.input.cwd.as_deref().and_then(Path::to_str);
        let uses = file_uses(tool, arguments, cwd, FileLookup { at: &at, are_checked: true }).into_iter();
        uses.map(|used| UsageEvent { item: used.file.item, ..event(used.kind, &used.file.skill) }).collect()
    }
}

/// The directories of skills, for paths that lead to their files.
struct SkillDirs<'c> {
    catalog: &'c Catalog,
    /// Those of all skills without links, once a path needs them.
    real: OnceCell<Vec<(PathBuf, &'c Skill)>>,
}

impl<'c> SkillDirs<'c> {
    /// Returns the file of a skill at a path, in whichever way the path leads there: by links, and by `..`.
    fn file_at(&self, path: &Path) -> Option<UsedFile> {
        if !path.is_absolute() || !path.is_file() {
            return None;
        }
        // The file itself may be a link: its name is one of the skill all the same.
        let file = path.parent()?.canonicalize().ok()?.join(path.file_name()?);
        let inside = self.catalog.skills().filter(|skill| file.starts_with(skill.dir())).map(|it| (it.dir(), it));
        // One skill may be in the folder of another.
        let nearest = inside.max_by_key(|(dir, _)| dir.as_os_str().len());
        let (dir, skill) = nearest.or_else(|| {
            let real = self.real(&file)?.iter().filter(|(dir, _)| file.starts_with(dir));
            real.max_by_key(|(dir, _)| dir.as_os_str().len()).cloned()
        })?;
        let below = file.strip_prefix(dir).ok()?;
        let item = (below != Path::new(skill.file().name())).then(|| below.display().to_string());
        Some(UsedFile { skill: skill.name().to_owned(), item })
    }

    /// Returns the directories of all skills without links. Most files that a model reads are in no skill, and need none.
    fn real(&self, file: &Path) -> Option<&[(PathBuf, &'c Skill)]> {
        let names = [SkillFile::Markdown, SkillFile::LowerCase, SkillFile::TitleCase, SkillFile::Yaml];
        let is_in_one = file.ancestors().skip(1).any(|dir| names.iter().any(|name| dir.join(name.name()).is_file()));
        let all =
            || self.catalog.skills().filter_map(|skill| Some((skill.dir().canonicalize().ok()?, skill))).collect();
        is_in_one.then(|| self.real.get_or_init(all).as_slice())
    }
}

fn event(kind: UsageKind, skill: &str) -> UsageEvent {
    UsageEvent { kind: Some(kind), skill: skill.to_owned(), ..UsageEvent::default() }
}

/// Returns the loads that a session remembers, and did not before.
fn loads(before: Option<&Session>, after: Option<&Session>) -> Vec<UsageEvent> {
    let in_context = |session: Option<&Session>| -> BTreeSet<String> {
        let all = session.into_iter().flat_map(Session::remembered);
        all.filter(|known| known.in_context).map(|known| known.name.clone()).collect()
    };
    let new = &in_context(after) - &in_context(before);
    new.iter().map(|name| event(UsageKind::Loaded, name)).collect()
}
