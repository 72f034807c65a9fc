//! Repair of an interrupted conversation, so that it can be continued.

use crate::{Message, Piece, ToolCall, ToolResult};

/// The text in place of a missing answer.
const INTERRUPTED: &str = "[interrupted]";
/// The text in place of a missing message of the user.
const LOST: &str = "[lost]";

/// Makes a conversation valid: it begins with the user, each call has its result, and it ends with an answer. Returns
/// the repairs, too. A valid conversation stays as it is.
pub(super) fn mend(messages: Vec<Message>) -> (Vec<Message>, Vec<String>) {
    let mut mender = Mender { messages: Vec::with_capacity(messages.len()), said: Vec::new() };
    for message in messages {
        mender.add(message);
    }
    mender.end_turn();
    (mender.messages, mender.said)
}

struct Mender {
    messages: Vec<Message>,
    said: Vec<String>,
}

impl Mender {
    fn add(&mut self, message: Message) {
        match message {
            Message::User { .. } => {
                self.end_turn();
                self.messages.push(message);
            }
            Message::Assistant { text, calls } => {
                self.answer_calls(Vec::new(), Vec::new());
                match self.messages.last_mut() {
                    // An answer after an answer belongs to it.
                    Some(Message::Assistant { text: before, calls: none }) => {
                        self.said.push("two answers in a row were made one".to_owned());
                        if !before.is_empty() && !text.is_empty() {
                            before.push_str("\n\n");
                        }
                        before.push_str(&text);
                        *none = calls;
                    }
                    Some(_) => self.messages.push(Message::Assistant { text, calls }),
                    None => {
                        self.said.push("what the user had said first was lost".to_owned());
                        self.messages.push(Message::user(LOST));
                        self.messages.push(Message::Assistant { text, calls });
                    }
                }
            }
            Message::Tools { results, context } => self.answer_calls(results, context),
        }
    }

    /// Gives the calls of the last message their results, those that there are; and leaves out the others.
    fn answer_calls(&mut self, mut results: Vec<ToolResult>, context: Vec<Piece>) {
        let calls: &[ToolCall] = match self.messages.last() {
            Some(Message::Assistant { calls, .. }) => calls,
            _ => &[],
        };
        let as_it_should_be =
            calls.len() == results.len() && calls.iter().zip(&results).all(|(call, result)| call.id == result.id);
        if as_it_should_be {
            if !calls.is_empty() {
                self.messages.push(Message::Tools { results, context });
            }
            return;
        }
        let mut missing = Vec::new();
        let mut answers = Vec::with_capacity(calls.len());
        for call in calls {
            if let Some(at) = results.iter().position(|result| result.id == call.id) {
                answers.push(results.remove(at));
            } else {
                missing.push(call.name.clone());
                answers.push(interrupted(call));
            }
        }
        for name in missing {
            self.said.push(format!("a call of {} has no result: it was interrupted", skillcue_base::Shown(&name)));
        }
        if !results.is_empty() {
            self.said.push(format!("results without a call were left out: {}", results.len()));
        }
        if !answers.is_empty() {
            self.messages.push(Message::Tools { results: answers, context });
        }
    }

    /// Ends what is not answered yet.
    fn end_turn(&mut self) {
        self.answer_calls(Vec::new(), Vec::new());
        if matches!(self.messages.last(), Some(Message::User { .. } | Message::Tools { .. })) {
            self.said.push("a message has no answer: it was interrupted".to_owned());
            self.messages.push(Message::assistant(INTERRUPTED));
        }
    }
}

fn interrupted(call: &ToolCall) -> ToolResult {
    let text = "<error code=\"interrupted\">\n  The call was interrupted before its result was saved. It may have had \
                effects.\n</error>";
    ToolResult { id: call.id.clone(), name: call.name.clone(), text: text.to_owned(), is_error: true }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn call(id: &str) -> ToolCall {
        ToolCall { id: id.to_owned(), name: format!("tool-{id}"), arguments: "{}".to_owned() }
    }

    fn calls(ids: &[&str]) -> Message {
        Message::Assistant { text: String::new(), calls: ids.iter().map(|id| call(id)).collect() }
    }

    fn result(id: &str) -> ToolResult {
        ToolResult { id: id.to_owned(), name: format!("tool-{id}"), text: "done".to_owned(), is_error: false }
    }

    fn results(ids: &[&str]) -> Message {
        Message::results(ids.iter().map(|id| result(id)).collect())
    }

    #[test]
    fn a_valid_conversation_is_unchanged() {
        let valid = vec![
            Message::user("a"),
            calls(&["1", "2"]),
            results(&["1", "2"]),
            calls(&["3"]),
            results(&["3"]),
            Message::assistant("b"),
            Message::user("c"),
            Message::assistant(""),
        ];
        assert_eq!(mend(valid.clone()), (valid, Vec::new()));
        assert_eq!(mend(Vec::new()), (Vec::new(), Vec::new()));
    }

    #[test]
    fn calls_get_results_in_their_order() {
        let (mended, said) = mend(vec![Message::user("a"), calls(&["1", "2", "3"]), results(&["4", "3", "1"])]);
        let Message::Tools { results, .. } = &mended[2] else { panic!("{mended:?}") };
        assert_eq!(results.iter().map(|result| result.id.as_str()).collect::<Vec<_>>(), ["1", "2", "3"]);
        assert_eq!(results.iter().map(|result| result.is_error).collect::<Vec<_>>(), [false, true, false]);
        assert!(results[1].text.starts_with("<error code=\"interrupted\">"));
        assert_eq!(mended[3], Message::assistant(INTERRUPTED));
        assert_eq!(said.len(), 3, "{said:?}");
    }

    #[test]
    fn messages_in_a_wrong_order_are_mended() {
        let (mended, _) = mend(vec![Message::assistant("x"), results(&["9"]), Message::assistant("y")]);
        assert_eq!(mended, [Message::user(LOST), Message::assistant("x\n\ny")]);
        let (mended, _) = mend(vec![Message::user("a"), Message::user("b")]);
        let interrupted = Message::assistant(INTERRUPTED);
        assert_eq!(mended, [Message::user("a"), interrupted.clone(), Message::user("b"), interrupted]);
    }

    proptest! {
        #[test]
        fn any_conversation_becomes_valid_once_and_for_all(kinds in prop::collection::vec((0..3, 0..3_usize), 0..12)) {
            let ids = ["1", "2"];
            let messages = kinds.iter().map(|&(kind, count)| match kind {
                0 => Message::user("u"),
                1 => calls(&ids[..count.min(2)]),
                _ => results(&ids[..count.min(2)]),
            });
            let (mended, _) = mend(messages.collect());
            let again = mend(mended.clone());
            prop_assert_eq!(again, (mended, Vec::new()));
        }
    }
}
