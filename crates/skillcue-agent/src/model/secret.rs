//! Keys, and where they are hidden.

use std::fmt;

use serde_json::Value;

/// The text shown in the place of a key.
const HIDDEN: &str = "[key]";

/// The shortest key, in bytes, that is hidden in answers. Servers without keys are given words like `EMPTY`, `ollama` or
/// `test`: hiding those would change what models say and what tools are called with.
const MIN_IN_ANSWERS: usize = 8;

/// A key. Nothing shows it: neither `Debug` nor `Display`, nor any error of this crate, nor an answer that repeats it.
///
/// ```
/// use skillcue_agent::model::Secret;
///
/// let key = Secret::new("sk-12345".to_owned());
/// assert_eq!(format!("{key:?} {key}"), "Secret([key]) [key]");
/// assert_eq!(key.hide_in("the key sk-12345 is wrong"), "the key [key] is wrong");
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Keeps a key. Blanks and line ends around it, which files and variables have, are no part of it.
    pub fn new(key: String) -> Secret {
        let trimmed = key.trim();
        if trimmed.len() == key.len() { Secret(key) } else { Secret(trimmed.to_owned()) }
    }

    /// Returns the text without the key.
    pub fn hide_in(&self, text: &str) -> String {
        let mut mask = Mask { key: self.0.clone(), held: String::new() };
        let mut out = mask.push(text);
        out.push_str(&mask.finish());
        out
    }

    /// Hides the key in every string and every name of a value, where JSON may have written it with escapes. Returns
    /// whether there was anything to hide.
    pub(super) fn hide_in_json(&self, value: &mut Value) -> bool {
        match value {
            Value::String(text) => self.replace(text),
            Value::Array(values) => values.iter_mut().fold(false, |any, value| self.hide_in_json(value) | any),
            Value::Object(map) => {
                let mut any = map.values_mut().fold(false, |any, value| self.hide_in_json(value) | any);
                if map.keys().any(|name| self.is_in(name)) {
                    any = true;
                    *map = std::mem::take(map).into_iter().map(|(name, value)| (self.hide_in(&name), value)).collect();
                }
                any
            }
            _ => false,
        }
    }

    /// Returns whether a text has the key in it.
    pub(super) fn is_in(&self, text: &str) -> bool {
        !self.0.is_empty() && text.contains(&self.0)
    }

    fn replace(&self, text: &mut String) -> bool {
        let is_in = self.is_in(text);
        if is_in {
            *text = self.hide_in(text);
        }
        is_in
    }

    /// Returns whether it is long enough to be hidden in answers.
    pub(super) fn hides_in_answers(&self) -> bool {
        self.0.len() >= MIN_IN_ANSWERS
    }

    /// Returns the key itself, for a header.
    pub(super) fn reveal(&self) -> &str {
        &self.0
    }
}

/// Hides a key in a text that comes in pieces: the result is that of [`Secret::hide_in`], however the text is cut.
#[derive(Default)]
pub(super) struct Mask {
    /// Empty if nothing is hidden.
    key: String,
    /// The end of what has come, if the key may begin with it.
    held: String,
}

impl Mask {
    /// Makes a mask for answers.
    pub(super) fn for_answers(key: Option<&Secret>) -> Mask {
        let key = key.filter(|key| key.hides_in_answers()).map(|key| key.0.clone());
        Mask { key: key.unwrap_or_default(), held: String::new() }
    }

    /// Takes the next piece, and returns what can be shown of all that has come and was not shown yet.
    pub(super) fn push(&mut self, piece: &str) -> String {
        if self.key.is_empty() {
            return piece.to_owned();
        }
        let text = std::mem::take(&mut self.held) + piece;
        let mut out = String::with_capacity(text.len());
        let mut rest = text.as_str();
        while let Some(at) = rest.find(&self.key) {
            out.push_str(&rest[..at]);
            out.push_str(HIDDEN);
            rest = &rest[at + self.key.len()..];
        }
        let longest = rest.len().min(self.key.len() - 1);
        let begins = |at: &usize| rest.is_char_boundary(*at) && self.key.starts_with(&rest[*at..]);
        let held = (rest.len() - longest..rest.len()).find(begins).unwrap_or(rest.len());
        out.push_str(&rest[..held]);
        rest[held..].clone_into(&mut self.held);
        out
    }

    /// Returns what was held back: nothing more comes.
    pub(super) fn finish(&mut self) -> String {
        std::mem::take(&mut self.held)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Secret({HIDDEN})")
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(HIDDEN)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn blanks_around_a_key_are_none_of_it() {
        assert_eq!(Secret::new(" abc\n".to_owned()).reveal(), "abc");
        assert_eq!(Secret::new(String::new()).hide_in("abc"), "abc");
    }

    #[test]
    fn a_short_key_is_hidden_in_errors_and_not_in_answers() {
        let short = Secret::new("EMPTY".to_owned());
        assert_eq!(short.hide_in("EMPTY is wrong"), "[key] is wrong");
        assert_eq!(Mask::for_answers(Some(&short)).push("The list is EMPTY"), "The list is EMPTY");
        assert_eq!(Mask::for_answers(None).push("sk-"), "sk-");
    }

    #[test]
    fn json_is_looked_through() {
        let key = Secret::new("sk-12345".to_owned());
        let mut value = json!({"a": ["x sk-12345", 1, null], "sk-12345": {"b": "sk-1234"}});
        assert!(key.hide_in_json(&mut value));
        assert_eq!(value, json!({"a": ["x [key]", 1, null], "[key]": {"b": "sk-1234"}}));
        assert!(!key.hide_in_json(&mut value));
    }

    proptest! {
        #[test]
        fn however_a_text_is_cut_the_same_is_hidden(
            parts in prop::collection::vec(prop_oneof!["[ab]{1,9}", Just("ababaabab".to_owned()), "[üx]{1,3}"], 0..12),
            cuts in prop::collection::vec(1usize..6, 1..8),
        ) {
            let (text, key) = (parts.concat(), Secret::new("ababaabab".to_owned()));
            let chars: Vec<char> = text.chars().collect();
            let mut mask = Mask::for_answers(Some(&key));
            let (mut out, mut rest) = (String::new(), chars.as_slice());
            for cut in cuts.iter().cycle() {
                if rest.is_empty() {
                    break;
                }
                let (piece, after) = rest.split_at((*cut).min(rest.len()));
                out.push_str(&mask.push(&piece.iter().collect::<String>()));
                prop_assert!(!key.is_in(&out));
                rest = after;
            }
            out.push_str(&mask.finish());
            prop_assert_eq!(&out, &text.replace("ababaabab", "[key]"));
            prop_assert_eq!(out, key.hide_in(&text));
        }
    }
}
