//! The arguments of a call, checked as their schema says.

use std::fmt;

use serde_json::Value;

use super::Call;

/// The reason why arguments are refused, as a sentence for the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArgumentError(String);

impl ArgumentError {
    /// Makes one of a sentence.
    pub fn new(sentence: impl Into<String>) -> ArgumentError {
        ArgumentError(sentence.into())
    }
}

impl std::error::Error for ArgumentError {}

impl fmt::Display for ArgumentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The arguments of a call, one by one. Tool providers read arguments with it, so that models are refused in the same
/// words everywhere.
///
/// ```
/// use skillcue::tools::{Arguments, Call};
///
/// let given = serde_json::json!({"skill_id": "pdf", "limit": 5});
/// let call = Call::new("read_skill_file", given.as_object().unwrap().clone());
/// let arguments = Arguments::of(&call, &["skill_id", "limit", "path"])?;
/// assert_eq!(arguments.skill_id()?, "pdf");
/// assert_eq!(arguments.required("path").unwrap_err().to_string(), "The argument `path` is missing.");
/// # Ok::<(), skillcue::tools::ArgumentError>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Arguments<'a>(&'a Call);

impl<'a> Arguments<'a> {
    /// Takes arguments of these names and no others.
    pub fn of(call: &'a Call, known: &[&str]) -> Result<Arguments<'a>, ArgumentError> {
        match call.arguments().keys().find(|key| !known.contains(&key.as_str())) {
            None => Ok(Arguments(call)),
            Some(key) => {
                let shown = skillcue_base::Shown(key);
                Err(ArgumentError(format!("There is no argument `{shown}`. There are: {}.", known.join(", "))))
            }
        }
    }

    /// Returns the id of the skill that the call is about, which must be there and must not be blank.
    pub fn skill_id(&self) -> Result<&'a str, ArgumentError> {
        match self.0.skill_id() {
            Some(id) if !id.trim().is_empty() => Ok(id),
            // It is reported like every other argument.
            _ => self.required("skill_id"),
        }
    }

    /// Returns a text that must be there and must not be blank, character for character.
    pub fn required(&self, name: &str) -> Result<&'a str, ArgumentError> {
        match self.text(name)? {
            Some(text) if !text.trim().is_empty() => Ok(text),
            Some(_) => Err(ArgumentError(format!("The argument `{name}` is blank."))),
            None => Err(ArgumentError(format!("The argument `{name}` is missing."))),
        }
    }

    /// Returns a text that may be missing.
    pub fn text(&self, name: &str) -> Result<Option<&'a str>, ArgumentError> {
        match self.0.arguments().get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(other) => Err(ArgumentError(format!("The argument `{name}` must be a string, not {}.", kind(other)))),
        }
    }

    /// Returns a list of texts that may be missing. Numbers and booleans in it count as texts: models write them so.
    pub fn texts(&self, name: &str) -> Result<Vec<String>, ArgumentError> {
        let wrong = |what: &Value| {
            let what = kind(what);
            ArgumentError(format!("The argument `{name}` must be a list of strings, not {what}."))
        };
        match self.0.arguments().get(name) {
            None | Some(Value::Null) => Ok(Vec::new()),
            Some(Value::Array(items)) => items
                .iter()
                .map(|item| match item {
                    Value::String(text) => Ok(text.clone()),
                    Value::Number(_) | Value::Bool(_) => Ok(item.to_string()),
                    other => Err(wrong(other)),
                })
                .collect(),
            Some(other) => Err(wrong(other)),
        }
    }

    /// Returns a list of texts that may be missing, of at most `most` texts with at most `longest` bytes each.
    pub fn few_texts(&self, name: &str, most: usize, longest: usize) -> Result<Vec<String>, ArgumentError> {
        let texts = self.texts(name)?;
        if texts.len() > most {
            let count = texts.len();
            return Err(ArgumentError(format!("The argument `{name}` has {count} entries; at most {most} are taken.")));
        }
        if texts.iter().any(|text| text.len() > longest) {
            return Err(ArgumentError(format!("An entry of the argument `{name}` has more than {longest} bytes.")));
        }
        Ok(texts)
    }

    /// Returns any value, if it is there.
    pub fn value(&self, name: &str) -> Option<&'a Value> {
        self.0.arguments().get(name)
    }

    /// Returns a whole number from 1 that may be missing; more than `most` is `most`.
    pub fn count(&self, name: &str, most: usize) -> Result<Option<usize>, ArgumentError> {
        let wrong = |what: &dyn fmt::Display| {
            Err(ArgumentError(format!("The argument `{name}` must be a whole number from 1, not {what}.")))
        };
        match self.0.arguments().get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::Number(number)) => {
                // Some models write whole numbers as 5.0.
                let whole = number.as_f64().filter(|number| *number >= 1.0 && number.fract() == 0.0);
                let count = number.as_u64().or_else(|| whole.and_then(|number| format!("{number:.0}").parse().ok()));
                match count {
                    Some(count) if count > 0 => Ok(Some(usize::try_from(count).unwrap_or(usize::MAX).min(most))),
                    _ => wrong(number),
                }
            }
            Some(other) => wrong(&kind(other)),
        }
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}
