//! Counts of a request's tokens, part by part.

use skillcue::Tokens;
use skillcue::disclose::TokenCounter;

use crate::model::{Api, ModelRequest};
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

/// Returns the texts of a request in the order in which a server of this API reads them, and caches what it has read:
/// Anthropic's tools come before the instructions, those of others behind them, and the conversation is last.
pub(crate) fn sent_texts(request: &ModelRequest<'_>, api: Api) -> Vec<String> {
    let (mut tools, mut others) = (Vec::new(), Vec::new());
    each_text(request, 0, &mut |part, text| match part {
        RequestPart::Tools => tools.push(text.to_owned()),
        _ => others.push(text.to_owned()),
    });
    let instructions = if api == Api::Anthropic { 0 } else { request.system.len() };
    let conversation = others.split_off(instructions.min(others.len()));
    others.into_iter().chain(tools).chain(conversation).collect()
}

/// Returns how many tokens of a request, from its beginning on, repeat the one before byte for byte: as much as a server's
/// cache can hold. Both are in the order of [`sent_texts`].
pub(crate) fn repeated_tokens(before: &[String], sent: &[String], counter: &dyn TokenCounter) -> u64 {
    let is_equal = |(before, sent): &(&String, &String)| before == sent;
    let equal = before.iter().zip(sent).take_while(is_equal).count();
    let whole: usize = sent[..equal].iter().map(|text| counter.count(text).0).sum();
    // A part of the first text that differs.
    let part = before.get(equal).zip(sent.get(equal)).map_or("", |(before, sent)| {
        let bytes = before.bytes().zip(sent.bytes()).take_while(|(before, sent)| before == sent).count();
        &sent[..sent.floor_char_boundary(bytes)]
    });
    (whole + counter.count(part).0) as u64
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

#[cfg(test)]
mod tests {
    use skillcue::Counter;
    use skillcue::tools::ToolDefinition;

    use super::*;
    use crate::model::SystemText;

    fn tool(name: &'static str) -> ToolDefinition {
        ToolDefinition {
            name: name.into(),
            title: name.into(),
            description: "Does it.".into(),
            input_schema: serde_json::json!({}),
            read_only: true,
        }
    }

    #[test]
    fn tools_are_read_where_the_api_has_them() {
        let system = [SystemText { part: RequestPart::System, text: "Be brief.".into() }];
        let (tools, messages) = ([tool("load")], [Message::user("Hello")]);
        let request = ModelRequest { system: &system, tools: &tools, messages: &messages, max_tokens: None };
        assert_eq!(sent_texts(&request, Api::Anthropic), ["load", "Does it.", "{}", "Be brief.", "Hello"]);
        assert_eq!(sent_texts(&request, Api::OpenAi), ["Be brief.", "load", "Does it.", "{}", "Hello"]);
    }

    #[test]
    fn tokens_repeat_up_to_the_first_byte_that_differs() {
        let counter = Counter::Bytes4.counter().unwrap();
        let texts = |texts: &[&str]| -> Vec<String> { texts.iter().map(|text| (*text).to_owned()).collect() };
        let before = texts(&["12345678", "abcdefgh", "same"]);
        let repeated = |sent: &[&str]| repeated_tokens(&before, &texts(sent), counter);
        assert_eq!(repeated(&["12345678", "abcdefgh", "same", "more"]), 5, "what is new is at the end");
        assert_eq!(repeated(&["12345678", "abcdXfgh", "same"]), 3, "nothing counts behind a difference");
        assert_eq!(repeated(&["é2345678"]), 0);
        assert_eq!(repeated(&["12345678"]), 2);
        assert_eq!(repeated_tokens(&[], &before, counter), 0, "there is nothing to repeat in a first request");
    }
}
