//! What a request costs, part by part.

use skillcue::Tokens;
use skillcue::disclose::TokenCounter;

use crate::model::Request;
use crate::{Message, Part, Parts};

/// Counts every text of a request as what it is. `turn` is the place of the message that began the turn: what stands
/// before it is history, whatever it was when it was new.
///
/// ```
/// use skillcue::Counter;
/// use skillcue_agent::model::{Request, SystemText};
/// use skillcue_agent::{Message, Part, account};
///
/// let counter = Counter::Bytes4.counter()?;
/// let system = [SystemText { part: Part::System, text: "Be brief.".into() }];
/// let messages = [Message::user("What is 2+2?")];
/// let request = Request { system: &system, tools: &[], messages: &messages, max_tokens: None };
/// let parts = account(&request, 0, counter);
/// assert_eq!((parts.system, parts.history, parts.total()), (3, 3, 6));
/// # Ok::<(), skillcue::disclose::CounterError>(())
/// ```
pub fn account(request: &Request<'_>, turn: usize, counter: &dyn TokenCounter) -> Parts {
    let mut parts = Parts::default();
    each_text(request, turn, &mut |part, text| parts.add(part, counter.count(text)));
    parts
}

/// What of the history is documentation of skills: shown in earlier turns, or loaded at any time.
pub(crate) fn skills_in_history(request: &Request<'_>, turn: usize, counter: &dyn TokenCounter) -> Tokens {
    let of = |(at, message): (usize, &Message)| match message {
        Message::User { context, .. } if at < turn => {
            let shown = context.iter().filter(|piece| piece.part == Part::SkillsTurn);
            shown.map(|piece| counter.count(&piece.text).0).sum()
        }
        Message::Tools { results } => {
            let loaded = results.iter().filter(|result| result.name == "load_skill");
            loaded.map(|result| counter.count(&result.text).0).sum()
        }
        _ => 0,
    };
    Tokens(request.messages.iter().enumerate().map(of).sum())
}

/// Every text of a request, with the part that it belongs to. Nothing is sent that does not come by here.
fn each_text(request: &Request<'_>, turn: usize, see: &mut dyn FnMut(Part, &str)) {
    for text in request.system {
        see(text.part, &text.text);
    }
    for tool in request.tools {
        see(Part::Tools, &tool.name);
        see(Part::Tools, &tool.description);
        see(Part::Tools, &tool.input_schema.to_string());
    }
    for (at, message) in request.messages.iter().enumerate() {
        match message {
            Message::User { context, text } => {
                for piece in context {
                    see(if at < turn { Part::History } else { piece.part }, &piece.text);
                }
                see(Part::History, text);
            }
            Message::Assistant { text, calls } => {
                see(Part::History, text);
                for call in calls {
                    see(Part::History, &call.name);
                    see(Part::History, &call.arguments);
                }
            }
            Message::Tools { results } => results.iter().for_each(|result| see(Part::History, &result.text)),
        }
    }
}
