//! Hints during a turn: skills that fit what the model does, and not only the message.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use serde_json::Value;
use skillcue::disclose::hint_line;
use skillcue::select::TurnProgress;
use skillcue::{Decision, Hit, Policy, Request};

use super::{Agent, Conversation, Hooks, TurnEvent, UnderWay, providers};
use crate::model::ModelAnswer;
use crate::{Message, Piece, PieceOrigin, RequestPart, ToolResult};

/// The number of hints in a turn: the model is busy, and each one interrupts it.
const MAX_HINTS: usize = 2;

/// The hints of a turn in progress, and the events that they follow from.
#[derive(Debug, Default)]
pub(super) struct TurnHints {
    /// The paths for which skills were selected before.
    touched: BTreeSet<String>,
    /// The number of hints so far.
    count: usize,
    /// The skills that were named so far.
    named: Vec<String>,
    /// The skills that the next request names for the first time, for its line in the trace.
    pub(super) new: Vec<String>,
}

impl Agent {
    /// Selects again after calls of tools that touched files, and returns the context with the skills that are new. At
    /// most once a step, and only if a path is new.
    pub(super) async fn hints_after(
        &self,
        conversation: &Conversation,
        turn: &mut UnderWay,
        answer: &ModelAnswer,
        results: &[ToolResult],
        hooks: &Hooks<'_>,
    ) -> Vec<Piece> {
        let hints = &mut turn.hints;
        let is_over = hooks.cancel.is_cancelled() || hints.count == MAX_HINTS;
        if !self.options.hints || is_over || !providers::has_skills(conversation) {
            return Vec::new();
        }
        let mut since = TurnProgress::default().words(answer.text.as_str());
        for (call, _) in answer.calls.iter().zip(results).filter(|(_, result)| !result.is_error) {
            let arguments: Value = serde_json::from_str(&call.arguments).unwrap_or_default();
            since = since.call(&call.name, &arguments);
        }
        let before = hints.touched.len();
        hints.touched.extend(since.touched_paths().iter().cloned());
        let disclosure = conversation.disclosure();
        let shows_nothing = disclosure.as_ref().is_none_or(|shown| shown.policy == Policy::Catalog);
        if hints.touched.len() == before || shows_nothing {
            return Vec::new();
        }
        let shown = disclosure.iter().flat_map(|disclosure| &disclosure.skills);
        let mut already: Vec<String> =
            shown.filter(|skill| skill.decision != Decision::Omitted).map(|skill| skill.name.clone()).collect();
        already.extend(conversation.loaded().iter().chain(&hints.named).cloned());
        let Some(Message::User { text, .. }) = conversation.messages().get(turn.first) else { return Vec::new() };
        let (skills, text, files) = (Arc::clone(&self.skills), text.clone(), conversation.work_files());
        let (mut session, id) = (conversation.session(), conversation.id().to_owned());
        // Indexes may have to be read.
        let reselect = move || {
            // Parts of a project have skills of their own.
            skills.touch(since.touched_paths().iter().map(Path::new));
            let request = Request::new(&text).files(&files.named).nearby(&files.changed);
            let request = request.session(&mut session).conversation(&id);
            skills.reselect(&request, &since, &already)
        };
        let hits: Vec<Hit> = tokio::task::spawn_blocking(reselect).await.unwrap_or_default();
        if hits.is_empty() {
            return Vec::new();
        }
        let line = hint_line(&hits);
        let names: Vec<String> = hits.into_iter().map(|hit| hit.name).collect();
        let tokens = self.counter().count(&line).0 as u64;
        (hooks.events)(&TurnEvent::Hint { tokens, skills: &names });
        hints.count += 1;
        hints.named.extend(names.iter().cloned());
        hints.new = names;
        vec![Piece {
            provider: PieceOrigin::Skills,
            part: RequestPart::SkillsTurn,
            text: format!("\n\n{line}"),
            skills: Vec::new(),
        }]
    }
}
