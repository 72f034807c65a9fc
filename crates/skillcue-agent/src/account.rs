//! Counts of a request's tokens, part by part.

use skillcue::Tokens;
use skillcue::disclose::TokenCounter;

use crate::model::ModelRequest;
use crate::{Message, Piece, RequestPart, RequestTokens};

/// Counts every text of a request as its part. `turn` is the index of the message that began the turn: everything before
/// it is history, whatever it was when it was new.
///
/// ```
/// use skillcue::Counter;
/// use skillcue_agent::model::{ModelRequest, SystemText};
/// use skillcue_agent::{Message, RequestPart, account};
///
/// let counter = Counter::Bytes4.counter()?;
/// let system = [SystemText { part: RequestPart::System, text: "Be brief.".into() }];
/// let messages = [Message::user("What is 2+2?")];
/// let request = ModelRequest { system: &system, tools: &[], messages: &messages, max_tokens: None };
/// let parts = account(&request, 0, counter);
/// assert_eq!((parts.system, parts.history, parts.total()), (3, 3, 6));
/// # Ok::<(), skillcue::disclose::CounterError>(())
/// ```
pub fn account(request: &ModelRequest<'_>, turn: usize, counter: &dyn TokenCounter) -> RequestTokens {
    let mut parts = RequestTokens::default();
    each_text(request, turn, &mut |part, text| parts.add(part, counter.count(text)));
    parts
}

/// Returns how much of the history is documentation of skills: shown in earlier turns, or loaded at any time.
pub(crate) fn skills_in_history(request: &ModelRequest<'_>, turn: usize, counter: &dyn TokenCounter) -> Tokens {
    let of = |(at, message): (usize, &Message)| match message {
        Message::User { context, .. } if at < turn => {
            let shown = context.iter().filter(|piece| piece.part == RequestPart::SkillsTurn);
            shown.map(|piece| counter.count(&piece.text).0).sum()
        }
        Message::Tools { results, context } => {
            let loaded = results.iter().filter(|result| result.name == "load_skill").map(|result| &result.text);
            let is_shown = |piece: &&Piece| at < turn && piece.part == RequestPart::SkillsTurn;
            let hints = context.iter().filter(is_shown).map(|piece| &piece.text);
            loaded.chain(hints).map(|text| counter.count(text).0).sum()
        }
        _ => 0,
    };
    Tokens(request.messages.iter().enumerate().map(of).sum())
}

/// Visits every text of a request, with its part. Nothing is sent that is not visited here.
fn each_text(request: &ModelRequest<'_>, turn: usize, see: &mut dyn FnMut(RequestPart, &str)) {
    for text in request.system {
        see(text.part, &text.text);
    }
    for tool in request.tools {
        see(RequestPart::Tools, &tool.name);
        see(RequestPart::Tools, &tool.description);
        see(RequestPart::Tools, &tool.input_schema.to_string());
    }
    for (at, message) in request.messages.iter().enumerate() {
        match message {
            Message::User { context, text } => {
                for piece in context {
                    see(if at < turn { RequestPart::History } else { piece.part }, &piece.text);
                }
                see(RequestPart::History, text);
            }
            Message::Assistant { text, calls } => {
                see(RequestPart::History, text);
                for call in calls {
                    see(RequestPart::History, &call.name);
                    see(RequestPart::History, &call.arguments);
                }
            }
            Message::Tools { results, context } => {
                for result in results {
                    see(RequestPart::History, &result.text);
                }
                for piece in context {
                    see(if at < turn { RequestPart::History } else { piece.part }, &piece.text);
                }
            }
        }
    }
}
