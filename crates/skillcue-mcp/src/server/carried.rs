//! Calls without a session: the state of the client comes with the call, in a handle, and leaves with the answer.

use std::sync::Arc;
use std::time::SystemTime;

use skillcue::LoadRequest;
use skillcue::tools::{Call, Effect, ToolOutput, for_model};
use skillcue::{Session, Skillcue};
use skillcue_base::{Shown, quoted};

use super::ServerShared;
use super::handle::{HandleProblem, HandleSkill, LoadedSet, TextDigest};
use super::logging::LogLine;
use super::skill_tool::{self, NAME as SKILL_TOOL};

/// The state that one call came with.
pub(super) struct CarriedState<'s> {
    shared: &'s ServerShared,
    set: LoadedSet,
    problem: Option<HandleProblem>,
}

/// The part of an answer that carries state back to the client.
#[derive(Debug, Default)]
pub(super) struct CarriedBack {
    /// The handle that holds the state after the call; none if the call has not changed it.
    pub(super) handle: Option<String>,
    /// Lines for the client's log.
    pub(super) lines: Vec<LogLine>,
}

impl<'s> CarriedState<'s> {
    /// Reads the handle of a call. One that cannot be read is ignored, with a line that says so: the call goes on as if it
    /// had come without.
    pub(super) fn open(shared: &'s ServerShared, handle: Option<&str>, back: &mut CarriedBack) -> CarriedState<'s> {
        let Some(handle) = handle else { return CarriedState { shared, set: LoadedSet::default(), problem: None } };
        match shared.options.handle_keys.open(&shared.options.view, handle, SystemTime::now()) {
            Ok(set) => CarriedState { shared, set, problem: None },
            Err(problem) => {
                shared.metrics.handle_ignored(problem);
                tracing::warn!(target: "skillcue::mcp", reason = %problem, "a handle was ignored");
                back.lines.push(LogLine::warning("handle", format!("the handle was ignored: {problem}")));
                CarriedState { shared, set: LoadedSet::default(), problem: Some(problem) }
            }
        }
    }

    /// Returns the reason why the call's handle was ignored.
    pub(super) fn problem(&self) -> Option<HandleProblem> {
        self.problem
    }

    /// Returns the loaded skills that a call may build on: their texts are still the ones that were loaded.
    pub(super) fn loaded_for(&self, call: &Call) -> Vec<String> {
        let is_built_in = skillcue::tools::built_in_names().any(|own| own == call.name());
        match call.name() {
            // It needs no text: it is about the handle itself.
            "unload_skill" => self.set.iter().map(|skill| skill.id.clone()).collect(),
            // It checks the one skill that it is about.
            SKILL_TOOL => Vec::new(),
            _ if is_built_in => Vec::new(),
            _ => self.set.iter().filter(|skill| self.is_current(skill)).map(|skill| skill.id.clone()).collect(),
        }
    }

    /// Returns whether the client has loaded a skill, and its text is still the same.
    pub(super) fn has_loaded(&self, id: &str) -> Loading {
        let catalog = self.shared.skillcue.catalog();
        let address = catalog.get(id).map(skillcue::Skill::address);
        let is_same = |known: &&HandleSkill| catalog.get(&known.id).map(skillcue::Skill::address) == address;
        match self.set.iter().find(is_same).filter(|_| address.is_some()) {
            None => Loading::Never,
            Some(known) if self.is_current(known) => Loading::Current,
            Some(_) => Loading::Changed,
        }
    }

    /// Returns the record of what the client has been shown, as far as a call asks for it.
    pub(super) fn session_for(&self, call: &Call) -> Session {
        let mut session = Session::default();
        let wanted = call.skill_id().filter(|_| call.name() == "load_skill");
        let known = wanted.and_then(|id| self.set.iter().find(|known| known.id == id && known.is_shown));
        if let Some(known) = known
            && let Some((digest, content)) = current_text(&self.shared.skillcue, &known.id)
            && digest == known.digest
        {
            session.record_load(&known.id, &content);
        }
        session
    }

    fn is_current(&self, known: &HandleSkill) -> bool {
        current_text(&self.shared.skillcue, &known.id).is_some_and(|(digest, _)| digest == known.digest)
    }

    /// Records the effect of a call, and makes the handle that the client is to send from now on.
    pub(super) fn record(mut self, output: &mut ToolOutput, brings_tools: bool, back: &mut CarriedBack) {
        match &output.effect {
            Some(Effect::Loaded { name, arguments, content, parts, is_known, .. }) => {
                let catalog = self.shared.skillcue.catalog();
                let Some(skill) = catalog.get(name) else { return };
                let digest = TextDigest::of(skill.digest(), content);
                let end = content.trim_end().len();
                let is_whole = arguments.is_empty() && parts.iter().any(|part| part.start == 0 && part.end >= end);
                if *is_known {
                    // A client does not say what it drops from its context: the next load brings the text again.
                    output.text.push_str(super::texts::GONE);
                }
                // A load with arguments takes nothing away from a text that was sent before.
                let was_shown =
                    self.set.iter().any(|known| known.id == *name && known.digest == digest && known.is_shown);
                let is_shown = (is_whole || was_shown) && !is_known;
                let gone = self.set.put(HandleSkill { id: name.clone(), digest, is_shown });
                if !gone.is_empty() {
                    let names: Vec<String> = gone.iter().map(|name| quoted(name)).collect();
                    let message = format!("no longer in the handle, which is full: {}", names.join(", "));
                    back.lines.push(LogLine::info("handle", message));
                }
                let handle = self.seal();
                if brings_tools {
                    output.text.push_str(&skill_tool::advice(name, &handle));
                }
                back.handle = Some(handle);
            }
            Some(Effect::Unloaded { name }) => {
                self.set.remove(name);
                back.handle = Some(self.seal());
            }
            _ => {}
        }
    }

    fn seal(&self) -> String {
        self.shared.options.handle_keys.seal(&self.shared.options.view, &self.set, SystemTime::now())
    }
}

/// The state of one skill in a handle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Loading {
    /// The handle does not have it.
    Never,
    /// It was loaded, and has changed since.
    Changed,
    /// It was loaded as it is.
    Current,
}

/// Returns the text of a skill as it is now, if a model may have it and it is on this machine.
fn current_text(skills: &Skillcue, id: &str) -> Option<(TextDigest, Arc<str>)> {
    let catalog = skills.catalog();
    let skill = for_model(&catalog, id).ok()?;
    let output = match skills.load_envelope(id, &LoadRequest::default()) {
        Ok(output) => output,
        Err(error) => {
            tracing::debug!(target: "skillcue::mcp", skill = %Shown(id), %error, "the skill of a handle cannot be read");
            return None;
        }
    };
    match output.effect {
        Some(Effect::Loaded { content, .. }) => Some((TextDigest::of(skill.digest(), &content), content)),
        _ => None,
    }
}
