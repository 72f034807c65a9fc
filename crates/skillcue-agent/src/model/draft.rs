//! An answer while it comes in.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use serde_json::Value;
use skillcue_base::Shown;

use super::names::is_id;
use super::request_error::RequestError;
use super::secret::Mask;
use super::{Delta, FinishReason, ModelAnswer, Secret, TokenUsage};
use crate::{Message, ToolCall};

/// The most calls of one answer.
pub(super) const MAX_CALLS: usize = 128;

/// The map for answers in which no tool has another name than its own.
static ALL_OWN: BTreeMap<String, String> = BTreeMap::new();

/// The part of an answer that has come in so far.
pub(super) struct Draft<'d> {
    on: &'d mut (dyn FnMut(Delta<'_>) + Send),
    began: Instant,
    first: Option<Duration>,
    text: String,
    pub(super) calls: Vec<DraftCall>,
    pub(super) stop: Option<FinishReason>,
    pub(super) usage: TokenUsage,
    /// Whether the server has said that nothing more comes.
    pub(super) done: bool,
    /// The tools' own names, if the model knows them by others.
    pub(super) own: &'d BTreeMap<String, String>,
    /// How many bytes of words and thoughts have come.
    heard: usize,
    /// Hidden in everything that is shown or kept of the answer.
    key: Option<Secret>,
    words: Mask,
    thoughts: Mask,
}

/// A call while it comes in.
#[derive(Debug, Default)]
pub(super) struct DraftCall {
    /// The number that the server gives it.
    pub(super) index: Option<u64>,
    pub(super) id: String,
    pub(super) name: String,
    pub(super) arguments: String,
    braces: Braces,
}

/// The state of a scan over an object that comes in pieces, so that it is not read again for each piece.
#[derive(Debug, Default)]
struct Braces {
    open: usize,
    in_string: bool,
    escaped: bool,
}

impl DraftCall {
    /// Appends to its arguments.
    pub(super) fn write(&mut self, arguments: &str) {
        self.arguments.push_str(arguments);
        let Braces { open, in_string, escaped } = &mut self.braces;
        for byte in arguments.bytes() {
            match byte {
                _ if std::mem::take(escaped) => {}
                b'\\' if *in_string => *escaped = true,
                b'"' => *in_string = !*in_string,
                b'{' if !*in_string => *open += 1,
                b'}' if !*in_string => *open = open.saturating_sub(1),
                _ => {}
            }
        }
    }

    /// Returns whether its arguments look like a whole object.
    pub(super) fn is_closed(&self) -> bool {
        let Braces { open, in_string, .. } = self.braces;
        open == 0 && !in_string && self.arguments.trim_end().ends_with('}')
    }
}

impl<'d> Draft<'d> {
    pub(super) fn new(on: &'d mut (dyn FnMut(Delta<'_>) + Send)) -> Draft<'d> {
        Draft {
            on,
            began: Instant::now(),
            first: None,
            text: String::new(),
            calls: Vec::new(),
            stop: None,
            usage: TokenUsage::default(),
            done: false,
            own: &ALL_OWN,
            heard: 0,
            key: None,
            words: Mask::default(),
            thoughts: Mask::default(),
        }
    }

    /// Hides a key wherever the answer repeats it, also where it comes in pieces.
    pub(super) fn hiding(mut self, key: Option<&Secret>) -> Draft<'d> {
        self.key = key.filter(|key| key.hides_in_answers()).cloned();
        (self.words, self.thoughts) = (Mask::for_answers(key), Mask::for_answers(key));
        self
    }

    pub(super) fn text(&mut self, text: &str) {
        if !text.is_empty() {
            self.begin();
            self.heard += text.len();
            let shown = self.words.push(text);
            self.say(&shown);
        }
    }

    fn say(&mut self, shown: &str) {
        if !shown.is_empty() {
            self.text.push_str(shown);
            (self.on)(Delta::Text(shown));
        }
    }

    pub(super) fn thinking(&mut self, text: &str) {
        if !text.is_empty() {
            self.heard += text.len();
            let shown = self.thoughts.push(text);
            self.think(&shown);
        }
    }

    fn think(&mut self, shown: &str) {
        if !shown.is_empty() {
            (self.on)(Delta::Thinking(shown));
        }
    }

    /// Begins a call.
    pub(super) fn call(&mut self, index: Option<u64>, id: &str, name: &str) -> Result<&mut DraftCall, RequestError> {
        if self.calls.len() == MAX_CALLS {
            return Err(RequestError::malformed(format!("it calls more than {MAX_CALLS} tools at once")));
        }
        self.calls.push(DraftCall { index, id: id.to_owned(), ..DraftCall::default() });
        let last = self.calls.len() - 1;
        self.name(last, name);
        Ok(&mut self.calls[last])
    }

    /// Names a call that has no name yet.
    pub(super) fn name(&mut self, at: usize, name: &str) {
        if !name.is_empty() && self.calls[at].name.is_empty() {
            name.clone_into(&mut self.calls[at].name);
            self.begin();
            let shown = self.hidden(self.own.get(name).map_or(name, String::as_str));
            (self.on)(Delta::Call { name: &shown });
        }
    }

    /// Returns how much content has come, in whatever unit: it grows with every word, thought, call and argument, and with the
    /// reason to stop; with nothing else.
    pub(super) fn content(&self) -> usize {
        let arguments: usize = self.calls.iter().map(|call| call.arguments.len()).sum();
        self.heard + self.calls.len() + arguments + usize::from(self.stop.is_some())
    }

    /// Returns whether a server may well be silent because its model works: before the first word, and while the arguments of a
    /// call are written, which some servers send only when they are whole.
    pub(super) fn is_awaited(&self) -> bool {
        self.content() == 0 || self.calls.last().is_some_and(|call| !call.is_closed())
    }

    /// Returns a text without the key.
    fn hidden(&self, text: &str) -> String {
        self.key.as_ref().map_or_else(|| text.to_owned(), |key| key.hide_in(text))
    }

    /// Returns arguments without the key, whether it is written plainly or with escapes.
    fn hidden_arguments(&self, arguments: String) -> String {
        let Some(key) = &self.key else { return arguments };
        let plain = key.hide_in(&arguments);
        let Ok(mut value) = serde_json::from_str::<Value>(&plain) else { return plain };
        if key.hide_in_json(&mut value) { value.to_string() } else { plain }
    }

    fn begin(&mut self) {
        self.first.get_or_insert_with(|| self.began.elapsed());
    }

    /// Returns whether it is a whole answer.
    pub(super) fn is_complete(&self) -> bool {
        self.done || self.stop.is_some()
    }

    /// Takes the cost that the provider reports. Later reports count more than earlier ones, of which they may omit parts.
    /// But a value that is no count does not replace one.
    pub(super) fn cost(&mut self, usage: &Value) {
        match (&mut self.usage.raw, usage) {
            (Value::Object(known), Value::Object(more)) => {
                for (key, value) in more.iter().filter(|(_, value)| !value.is_null()) {
                    if value.is_u64() || !known.get(key).is_some_and(Value::is_u64) {
                        known.insert(key.clone(), value.clone());
                    }
                }
            }
            (known, Value::Object(_)) => *known = usage.clone(),
            _ => {}
        }
    }

    /// Returns the answer, in which each call has an id that no other call of the conversation has.
    pub(super) fn finish(mut self, messages: &[Message], attempts: u32) -> ModelAnswer {
        let (thought, said) = (self.thoughts.finish(), self.words.finish());
        self.think(&thought);
        self.say(&said);
        if let Some(key) = &self.key {
            key.hide_in_json(&mut self.usage.raw);
        }
        let mut taken: BTreeSet<String> = BTreeSet::new();
        for message in messages {
            if let Message::Assistant { calls, .. } = message {
                taken.extend(calls.iter().map(|call| call.id.clone()));
            }
        }
        let mut calls = Vec::new();
        for call in std::mem::take(&mut self.calls) {
            let is_secret = self.key.as_ref().is_some_and(|key| key.is_in(&call.id));
            let is_good = is_id(&call.id) && !is_secret && !taken.contains(&call.id);
            let id = if is_good { call.id } else { fresh(&taken) };
            taken.insert(id.clone());
            // A tool without parameters is often called with nothing at all.
            let nothing = call.arguments.trim().is_empty();
            let arguments = if nothing { "{}".to_owned() } else { self.hidden_arguments(call.arguments) };
            let name = self.own.get(&call.name).cloned().unwrap_or_else(|| self.hidden(&call.name));
            calls.push(ToolCall { id, name, arguments });
        }
        let stop = match self.stop.take() {
            // Not every server distinguishes the two; the calls do.
            None | Some(FinishReason::End | FinishReason::Tools) if calls.is_empty() => FinishReason::End,
            None | Some(FinishReason::End | FinishReason::Tools) => FinishReason::Tools,
            // A word of the provider's own, made fit to show.
            Some(FinishReason::Other(word)) => FinishReason::Other(Shown(&self.hidden(&word)).to_string()),
            Some(stop) => stop,
        };
        ModelAnswer { text: self.text, calls, stop, usage: self.usage, attempts, first: self.first }
    }
}

fn fresh(taken: &BTreeSet<String>) -> String {
    let mut count = 0;
    loop {
        let id = format!("call_{:016x}", getrandom::u64().unwrap_or(count));
        if !taken.contains(&id) {
            return id;
        }
        count += 1;
    }
}

/// Returns arguments as an object, which is all that servers take. If the model wrote something else, it is an empty one;
/// the result of the call says what was wrong.
pub(super) fn sent_arguments(arguments: &str) -> Option<Value> {
    serde_json::from_str::<Value>(arguments).ok().filter(Value::is_object)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_made_unique() {
        let mut on = |_: Delta<'_>| {};
        let mut draft = Draft::new(&mut on);
        for id in ["a", "a", "", "b c", "old", "fine-1_X", &"x".repeat(41)] {
            draft.call(None, id, "t").unwrap();
        }
        let old = ToolCall { id: "old".into(), name: "t".into(), arguments: "{}".into() };
        let answer = draft.finish(&[Message::Assistant { text: String::new(), calls: vec![old] }], 1);
        let ids: BTreeSet<&str> = answer.calls.iter().map(|call| call.id.as_str()).collect();
        assert_eq!(ids.len(), 7);
        assert!(ids.iter().all(|id| is_id(id)) && !ids.contains("old"));
        assert_eq!((answer.calls[0].id.as_str(), answer.calls[5].id.as_str()), ("a", "fine-1_X"));
        assert_eq!((answer.stop, answer.calls[0].arguments.as_str()), (FinishReason::Tools, "{}"));
    }

    #[test]
    fn tools_have_their_own_names_again() {
        let own = BTreeMap::from([("a_b_1".to_owned(), "a.b".to_owned())]);
        let mut heard = Vec::new();
        let mut on = |delta: Delta<'_>| heard.push(format!("{delta:?}"));
        let mut draft = Draft::new(&mut on);
        draft.own = &own;
        draft.call(None, "1", "a_b_1").unwrap();
        draft.call(None, "2", "add").unwrap();
        let answer = draft.finish(&[], 1);
        assert_eq!((answer.calls[0].name.as_str(), answer.calls[1].name.as_str()), ("a.b", "add"));
        assert_eq!(heard, ["Call { name: \"a.b\" }", "Call { name: \"add\" }"]);
    }

    #[test]
    fn an_object_is_closed_where_it_ends() {
        let text = r#"{"a": "}{\"\\", "b": {"c": []}}"#;
        let mut call = DraftCall::default();
        for (at, c) in text.char_indices() {
            assert!(!call.is_closed(), "{at}");
            call.write(c.encode_utf8(&mut [0; 4]));
        }
        assert!(call.is_closed());
        call.write(" \n");
        assert!(call.is_closed());
        call.write("x");
        assert!(!call.is_closed());
    }

    #[test]
    fn there_is_a_most_of_calls() {
        let mut on = |_: Delta<'_>| {};
        let mut draft = Draft::new(&mut on);
        for _ in 0..MAX_CALLS {
            draft.call(None, "", "t").unwrap();
        }
        assert!(draft.call(None, "", "t").is_err());
    }

    #[test]
    fn arguments_are_sent_as_servers_take_them() {
        assert_eq!(sent_arguments("[1]"), None);
        assert_eq!(sent_arguments("{"), None);
        assert!(sent_arguments(" {\"a\":1}").is_some());
    }
}
