//! Skills that come into a conversation and leave it, each with the reason.

use serde::{Deserialize, Serialize};
use skillcue::Skillcue;
use skillcue::disclose::LeaveReason;
use skillcue::tools::Effect;

use super::{Conversation, Hooks, TurnEvent};
use crate::{Message, Piece, ToolResult};

/// The beginning of a skill's envelope, up to its id.
const ENVELOPE: &str = "<skill_context id=\"";

/// A skill that has come into a conversation by a load, or has left it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SkillMove {
    /// The skill.
    pub name: String,
    /// `loaded`, or `referred` if its text was there before; `unloaded`, `expired` or `evicted` if it has left.
    pub how: String,
}

impl SkillMove {
    pub(super) fn left(name: &str, reason: LeaveReason) -> SkillMove {
        SkillMove { name: name.to_owned(), how: reason.as_str().to_owned() }
    }

    fn of(effect: &Effect) -> Option<SkillMove> {
        match effect {
            Effect::Loaded { name, is_known, .. } => {
                let how = if *is_known { "referred" } else { "loaded" };
                Some(SkillMove { name: name.clone(), how: how.to_owned() })
            }
            Effect::Unloaded { name } => Some(SkillMove::left(name, LeaveReason::Unloaded)),
            _ => None,
        }
    }
}

impl Conversation {
    /// Applies the effect of a call.
    pub(super) fn apply(&mut self, effect: &Effect) {
        effect.record(&mut self.skills.session);
        match effect {
            Effect::Loaded { name, .. } if !self.loaded.contains(name) => self.loaded.push(name.clone()),
            Effect::Unloaded { name } => self.drop_texts(std::slice::from_ref(name)),
            _ => {}
        }
        if let Some(moved) = SkillMove::of(effect) {
            self.note(moved);
        }
    }

    /// Notes a move, for the next event and the next line of the trace.
    pub(super) fn note(&mut self, moved: SkillMove) {
        self.moves.push(moved);
    }

    /// Reports the moves since the last time.
    pub(super) fn report_moves(&mut self, hooks: &Hooks<'_>) {
        for moved in self.moves.drain(..) {
            (hooks.events)(&TurnEvent::Skill { name: &moved.name, how: &moved.how });
            self.traced_moves.push(moved);
        }
    }

    /// Lets the skills leave whose lifecycle ends with this turn.
    pub(super) fn expire(&mut self, skills: &Skillcue) {
        let gone = self.skills.session.expire(&skills.catalog());
        self.drop_texts(&gone);
        for name in &gone {
            self.note(SkillMove::left(name, LeaveReason::Expired));
        }
    }

    /// Takes the tools and the texts of skills out of the conversation. A text that shows another skill, too, stays until
    /// that has left as well.
    fn drop_texts(&mut self, gone: &[String]) {
        self.loaded.retain(|name| !gone.contains(name));
        let in_context =
            |name: &String| self.skills.session.remembered().any(|skill| skill.in_context && skill.name == *name);
        let mut messages = self.messages.clone();
        let mut count = 0;
        for message in &mut messages {
            if let Message::Tools { results, .. } = message {
                let is_gone = |result: &&mut ToolResult| {
                    is_load(result) && envelope_id(&result.text).is_some_and(|id| gone.contains(&id))
                };
                for result in results.iter_mut().filter(is_gone) {
                    "[Unloaded.]".clone_into(&mut result.text);
                    count += 1;
                }
            }
            let Message::User { context, .. } = message else { continue };
            let before = context.len();
            let is_over = |piece: &Piece| {
                !piece.skills.is_empty()
                    && piece.skills.iter().any(|name| gone.contains(name))
                    && !piece.skills.iter().any(in_context)
            };
            context.retain(|piece| !is_over(piece));
            count += before - context.len();
        }
        if count > 0 {
            self.replace(messages, String::new());
        }
    }
}

/// Returns whether a result is a skill's text, and no line that refers to it.
pub(super) fn is_load(result: &ToolResult) -> bool {
    result.name == "load_skill" && !result.is_error && result.text.starts_with(ENVELOPE)
}

/// Returns the id of the skill in an envelope.
pub(super) fn envelope_id(text: &str) -> Option<String> {
    Some(text.strip_prefix(ENVELOPE)?.split_once('"')?.0.to_owned())
}
