//! Summaries of old messages, as a model writes them: as many requests as it takes, and nothing left out that fits.

use std::fmt::Write as _;
use std::time::{Instant, SystemTime};

use super::compact::SUMMARY;
use super::request::{RequestStart, forward};
use super::{Agent, AgentError, Conversation, Hooks, TurnEvent, UnderWay};
use crate::model::{Delta, ModelError, ModelRequest, SystemText};
use crate::{Message, PieceOrigin, Purpose, RequestPart, ToolResult, TraceLine, account};

const INSTRUCTIONS: &str = "You shorten conversations. Write down what the rest of the conversation needs to know: who \
                            the user is, what they want, what was decided, found out and done, names, paths and numbers \
                            exactly as they are, and what is still open. Keep what an earlier summary says. At most 300 \
                            words, nothing else.";

/// The most tokens of a summary: some models think before they write.
const MAX_TOKENS: u32 = 2_048;

/// The most requests of a summary. Messages older than what fits into them are left out, with a note.
const MAX_REQUESTS: usize = 8;

/// The most times that less is sent because the model says that it is too much.
const MAX_HALVINGS: u32 = 4;

impl Agent {
    /// Asks the model for a summary of old messages; none if it cannot be asked.
    pub(super) async fn summary(
        &self,
        conversation: &Conversation,
        turn: &mut UnderWay,
        old: &[Message],
        hooks: &Hooks<'_>,
    ) -> Result<Option<String>, AgentError> {
        let session = conversation.id();
        // Half of what fits, as far as we know: counts are estimates.
        let room = self.room().min(conversation.refused.unwrap_or(u64::MAX)) / 2;
        let mut room = usize::try_from(room).unwrap_or(usize::MAX);
        for _ in 0..=MAX_HALVINGS {
            match self.summary_within(session, turn, old, room, hooks).await {
                Ok(summary) => return Ok(Some(summary)),
                Err(ModelError::Cancelled) => return Err(AgentError::Cancelled),
                Err(ModelError::TooLong { .. }) => room /= 2,
                Err(error) => {
                    (hooks.events)(&TurnEvent::Problem { provider: SUMMARY, message: error.to_string() });
                    return Ok(None);
                }
            }
        }
        let message = "the model takes too little at once to be asked for a summary".to_owned();
        (hooks.events)(&TurnEvent::Problem { provider: SUMMARY, message });
        Ok(None)
    }

    /// Like [`summary`](Agent::summary), in requests of about so many tokens each.
    async fn summary_within(
        &self,
        session: &str,
        turn: &mut UnderWay,
        old: &[Message],
        room: usize,
        hooks: &Hooks<'_>,
    ) -> Result<String, ModelError> {
        let mut summary = earlier(old);
        for part in self.parts_of(old, room) {
            let before = summary.as_ref().map(|text| format!("Summary of what came before:\n{text}\n\n"));
            let text = format!("{}{part}", before.unwrap_or_default());
            let said = self.ask_for_summary(session, turn, text, hooks).await?;
            // A model that says nothing has nothing to add.
            if !said.trim().is_empty() {
                summary = Some(said);
            }
        }
        Ok(summary.unwrap_or_default())
    }

    /// Returns messages as texts that fit into requests, oldest first.
    fn parts_of(&self, messages: &[Message], room: usize) -> Vec<String> {
        let counter = self.counter();
        // No message may fill a request by itself. A token has two bytes or more, nearly always.
        let most = room.max(100);
        let mut parts: Vec<(String, usize)> = Vec::new();
        for message in messages {
            let text = rendered(message, most);
            let tokens = counter.count(&text).0;
            match parts.last_mut() {
                Some((part, sum)) if *sum + tokens <= room => {
                    part.push_str("\n\n");
                    part.push_str(&text);
                    *sum += tokens;
                }
                _ => parts.push((text, tokens)),
            }
        }
        let beyond = parts.len().saturating_sub(MAX_REQUESTS);
        let mut parts: Vec<String> = parts.into_iter().skip(beyond).map(|(part, _)| part).collect();
        if beyond > 0
            && let Some(first) = parts.first_mut()
        {
            first.insert_str(0, "[What was said before is left out.]\n\n");
        }
        parts
    }

    async fn ask_for_summary(
        &self,
        session: &str,
        turn: &mut UnderWay,
        text: String,
        hooks: &Hooks<'_>,
    ) -> Result<String, ModelError> {
        let system = [SystemText { part: RequestPart::System, text: INSTRUCTIONS.to_owned() }];
        let messages = [Message::user(text)];
        let request = ModelRequest { system: &system, tools: &[], messages: &messages, max_tokens: Some(MAX_TOKENS) };
        let tokens = account(&request, 0, self.counter());
        turn.tokens += tokens;
        let asked = RequestStart { time: SystemTime::now(), start: Instant::now() };
        // Its words are no part of the answer; a retry is worth an event.
        let retry = &mut |delta: Delta<'_>| {
            if matches!(delta, Delta::Retry { .. }) {
                forward(delta, hooks);
            }
        };
        let answer = self.model.ask(&request, hooks.cancel, retry).await;
        let line = TraceLine {
            turn: turn.number,
            round: turn.rounds + 1,
            ..self.line(session, Purpose::Summary, tokens, asked, &answer)
        };
        self.trace(&line, hooks);
        let answer = answer?;
        turn.count(&answer);
        Ok(answer.text)
    }
}

/// Returns the summary that is in these messages already.
pub(crate) fn earlier(messages: &[Message]) -> Option<String> {
    let Some(Message::User { context, .. }) = messages.first() else { return None };
    let summary = context.iter().find(|piece| piece.provider == PieceOrigin::Summary)?;
    let text = summary.text.trim_end().trim_end_matches("---").trim();
    Some(text.strip_prefix("## Earlier in this conversation").unwrap_or(text).trim().to_owned())
}

/// Renders a message for the summary.
fn rendered(message: &Message, most: usize) -> String {
    match message {
        Message::User { text, .. } => format!("User: {}", cut(text, most)),
        Message::Assistant { text, calls } => {
            let mut said = format!("Assistant: {}", cut(text, most));
            for call in calls {
                let _ = write!(said, "\n[calls {} with {}]", call.name, cut(&call.arguments, most.min(500)));
            }
            said
        }
        Message::Tools { results, .. } => {
            let one =
                |result: &ToolResult| format!("[{} returned: {}]", result.name, cut(&result.text, most.min(1_000)));
            results.iter().map(one).collect::<Vec<_>>().join("\n")
        }
    }
}

/// Returns the beginning and the end of a text that is too long.
fn cut(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let (head, tail) = (text.floor_char_boundary(most / 2), text.ceil_char_boundary(text.len() - most / 2));
    format!("{} […] {}", &text[..head], &text[tail..])
}
