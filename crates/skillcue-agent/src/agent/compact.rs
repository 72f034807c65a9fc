//! Compaction of a conversation: old turns are summarised, skills stay.

use skillcue::disclose::{DOCUMENTATION_HEADING, LeaveReason, SessionSkill};
use skillcue::{Budget, Tokens};

use super::conversation::apart;
use super::moves::{SkillMove, envelope_id, is_load};
use super::request::Prepared;
use super::{Agent, AgentError, Conversation, Hooks, TurnEvent, UnderWay, summary};
use crate::model::ModelRequest;
use crate::{Message, Piece, PieceOrigin, RequestPart, RequestTokens, account};

/// The most turns that stay as they are, from the last on, if they fit into a quarter of the window.
const MAX_KEPT_TURNS: usize = 2;

/// The name of the summary's origin.
pub(super) const SUMMARY: &str = "summary";

impl Agent {
    /// Returns how many tokens a request may have, as we count, so that there is room for an answer.
    pub(super) fn room(&self) -> u64 {
        // Where we only estimate, some of the window is kept back.
        let counted = Tokens(usize::try_from(self.options.window).unwrap_or(usize::MAX));
        let window = self.counter().reserve(counted).0 as u64;
        let answer = self.options.max_tokens.map_or_else(|| (window / 8).min(8_192), u64::from).min(window / 2);
        window - answer
    }

    /// Returns whether a request of so many tokens, as we count, fits as far as we know: by the provider's counts, and by
    /// the requests that it has refused.
    pub(super) fn fits(&self, conversation: &Conversation, tokens: RequestTokens) -> bool {
        let refused = conversation.refused.unwrap_or(u64::MAX);
        as_provider_counts(tokens, conversation.ratio) <= self.room() && tokens.total() < refused
    }

    /// Makes the conversation shorter until it fits. `is_too_long` says that the model has refused it as it is.
    pub(super) async fn compact(
        &self,
        conversation: &mut Conversation,
        turn: &mut UnderWay,
        prepared: &mut Prepared,
        is_too_long: bool,
        hooks: &Hooks<'_>,
    ) -> Result<(), AgentError> {
        let before = prepared.tokens.total();
        if is_too_long {
            conversation.refused = Some(conversation.refused.unwrap_or(u64::MAX).min(before));
        }
        // The least that must be sent: if that is too much, a summary would be paid for in vain.
        let least = self.least(conversation, turn, prepared);
        if least > self.room() {
            return Err(self.full(least));
        }
        for everything in [false, true] {
            if self.fits(conversation, prepared.tokens) || turn.first == 0 {
                break;
            }
            // If the model has refused it, the limit is unknown: all that can go goes.
            let all = everything || is_too_long;
            let boundary = if all { turn.first } else { self.boundary(conversation, turn) };
            if boundary > 0 {
                self.summarise(conversation, turn, prepared, boundary, hooks).await?;
            }
        }
        if !self.fits(conversation, prepared.tokens) {
            self.leave_out_results(conversation, turn, prepared, hooks);
        }
        // What the provider counts is known only roughly: if it fits by our count, the model may say so itself.
        let shrunk = prepared.tokens.total() < before;
        if self.fits(conversation, prepared.tokens)
            || (prepared.tokens.total() <= self.room() && (shrunk || !is_too_long))
        {
            return Ok(());
        }
        Err(self.full(prepared.tokens.total()))
    }

    fn full(&self, tokens: u64) -> AgentError {
        AgentError::Full { tokens, window: self.options.window }
    }

    /// Returns the cost of the instructions, the tools and this turn, with nothing but the last results of tools.
    fn least(&self, conversation: &Conversation, turn: &UnderWay, prepared: &Prepared) -> u64 {
        let mut messages = conversation.messages[turn.first..].to_vec();
        without_results(&mut messages);
        let Prepared { system, tools, .. } = prepared;
        account(&ModelRequest { system, tools, messages: &messages, max_tokens: None }, 0, self.counter()).total()
    }

    /// Returns the message before which everything is summarised: at the beginning of a turn, never after that of this one.
    fn boundary(&self, conversation: &Conversation, turn: &UnderWay) -> usize {
        let mut boundary = turn.first;
        for _ in 0..MAX_KEPT_TURNS {
            let is_user = |message: &Message| matches!(message, Message::User { .. });
            let Some(start) = conversation.messages[..boundary].iter().rposition(is_user) else { break };
            let cost = self.cost(&conversation.messages[start..turn.first]);
            if start == 0 || as_provider_counts(cost, conversation.ratio) > self.options.window / 4 {
                break;
            }
            boundary = start;
        }
        boundary
    }

    fn cost(&self, messages: &[Message]) -> RequestTokens {
        account(&ModelRequest { system: &[], tools: &[], messages, max_tokens: None }, 0, self.counter())
    }

    /// Puts a summary in the place of the messages before `boundary`, and shows again the skills that were in use.
    async fn summarise(
        &self,
        conversation: &mut Conversation,
        turn: &mut UnderWay,
        prepared: &mut Prepared,
        boundary: usize,
        hooks: &Hooks<'_>,
    ) -> Result<(), AgentError> {
        let before = prepared.tokens.total();
        let old = conversation.messages[..boundary].to_vec();
        let summary = self.summary(conversation, turn, &old, hooks).await?;
        let summarised = summary.is_some();
        let summary = summary.unwrap_or_else(|| {
            let earlier = summary::earlier(&old).map(|text| format!("{text}\n\n")).unwrap_or_default();
            format!("{earlier}[{} earlier messages are left out: they did not fit any more.]", old.len())
        });
        let mut messages = conversation.messages[boundary..].to_vec();
        // Bodies are shown again, all in one place; the rest of the disclosure of this turn stays, and so do loads of it.
        let mut kept = Vec::new();
        for (at, message) in messages.iter_mut().enumerate() {
            let is_now = at >= turn.first - boundary;
            if let Message::Tools { results, .. } = message {
                for result in results.iter_mut().filter(|result| is_load(result)) {
                    if is_now {
                        kept.extend(envelope_id(&result.text));
                    } else {
                        SHOWN_ABOVE.clone_into(&mut result.text);
                    }
                }
            }
            let Message::User { context, .. } = message else { continue };
            let is_shown_again = |piece: &Piece| {
                let is_body = piece.provider == PieceOrigin::User || piece.text.starts_with(DOCUMENTATION_HEADING);
                matches!(piece.provider, PieceOrigin::Skills | PieceOrigin::User)
                    && piece.part == RequestPart::SkillsTurn
                    && (!is_now || is_body)
            };
            context.retain(|piece| piece.provider != PieceOrigin::Summary && !is_shown_again(piece));
        }
        let mut pieces = vec![Piece {
            provider: PieceOrigin::Summary,
            part: RequestPart::History,
            text: apart(&format!("## Earlier in this conversation\n\n{}", summary.trim())),
            skills: Vec::new(),
        }];
        let (skills, shown) = self.rehydrated(conversation, kept).await;
        pieces.extend(shown);
        if let Some(Message::User { context, .. }) = messages.first_mut() {
            context.splice(0..0, pieces);
        }
        turn.first -= boundary;
        conversation.replace(messages, summary);
        prepared.tokens = self.tokens(conversation, turn, prepared);
        let after = prepared.tokens.total();
        (hooks.events)(&TurnEvent::Compacted { before, after, messages: boundary, summarised, skills });
        Ok(())
    }

    /// Shows the skills again that were in use, but those whose loads are still in the conversation.
    async fn rehydrated(&self, conversation: &mut Conversation, kept: Vec<String>) -> (Vec<String>, Option<Piece>) {
        let quarter = usize::try_from(self.options.window / 4).unwrap_or(usize::MAX);
        let usual = Budget::default();
        let budget = Budget {
            total: usual.total.map(|total| Tokens(total.0.min(quarter))),
            per_skill: usual.per_skill.map(|each| Tokens(each.0.min(quarter))),
        };
        let (skills, mut session) = (std::sync::Arc::clone(&self.skills), conversation.session());
        let rehydrate = move || {
            let gone = |skill: &&SessionSkill| skill.shortened || !kept.contains(&skill.address);
            let gone: Vec<String> = session.remembered().filter(gone).map(|skill| skill.address.clone()).collect();
            session.evicted(gone.iter().map(String::as_str));
            let shown = skills.rehydrate_rest(&mut session, budget);
            (session, shown)
        };
        // If it fails, load_skill is still there.
        let Ok((session, shown)) = tokio::task::spawn_blocking(rehydrate).await else { return (Vec::new(), None) };
        conversation.skills.session = session;
        for (name, _) in &shown.omitted {
            conversation.note(SkillMove::left(name, LeaveReason::Evicted));
        }
        let names: Vec<String> = shown.skills.into_iter().map(|skill| skill.name).collect();
        let piece = (!shown.text.is_empty()).then(|| Piece {
            provider: PieceOrigin::Skills,
            part: RequestPart::SkillsTurn,
            text: apart(&shown.text),
            skills: names.clone(),
        });
        (names, piece)
    }

    /// Leaves out results of tools from earlier in this turn; those that the model has not seen yet stay.
    fn leave_out_results(
        &self,
        conversation: &mut Conversation,
        turn: &UnderWay,
        prepared: &mut Prepared,
        hooks: &Hooks<'_>,
    ) {
        let before = prepared.tokens.total();
        let mut messages = conversation.messages.clone();
        let count = without_results(&mut messages[turn.first..]);
        if count == 0 {
            return;
        }
        conversation.replace(messages, String::new());
        prepared.tokens = self.tokens(conversation, turn, prepared);
        let (after, skills) = (prepared.tokens.total(), Vec::new());
        (hooks.events)(&TurnEvent::Compacted { before, after, messages: count, summarised: false, skills });
    }
}

/// The text in place of a load of an earlier turn: its body is shown again, or named as one that `load_skill` gives.
const SHOWN_ABOVE: &str = "[See \"Skills in Use\" at the beginning.]";

/// Leaves out the results of all calls but the last ones, and of those that loaded skills: the session believes that those
/// are in context. Returns how many it was.
fn without_results(messages: &mut [Message]) -> usize {
    let last = messages.iter().rposition(|message| matches!(message, Message::Tools { .. }));
    let mut count = 0;
    for message in &mut messages[..last.unwrap_or(0)] {
        let Message::Tools { results, .. } = message else { continue };
        for result in results.iter_mut().filter(|result| result.name != "load_skill") {
            let bytes = result.text.len();
            let note = format!("[Left out to make room: {bytes} bytes. Call the tool again if you need them.]");
            if bytes > note.len() {
                result.text = note;
                count += 1;
            }
        }
    }
    count
}

/// Converts a number of our tokens to the provider's.
pub(super) fn as_provider_counts(tokens: RequestTokens, ratio: f64) -> u64 {
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "no request has 2^52 tokens, and none has fewer than none"
    )]
    let counted = (tokens.total() as f64 * ratio) as u64;
    counted
}
