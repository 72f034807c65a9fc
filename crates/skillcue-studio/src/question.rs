//! Questions of the page, and the trait that answers them.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::Redaction;

/// The longest message that is answered, in bytes.
const MAX_MESSAGE: usize = 1 << 20;

/// The longest description that is judged or saved, in bytes: 64 times what the format asks for.
const MAX_DESCRIPTION: usize = 64 << 10;

/// A question of the page. Its JSON form has the question's name as `question`, beside its fields.
///
/// ```
/// use skillcue_studio::StudioQuestion;
///
/// let question = StudioQuestion::read("show", br#"{"name": "pdf"}"#)?;
/// assert_eq!(question, StudioQuestion::Show { name: "pdf".to_owned() });
/// assert!(StudioQuestion::read("rm", b"{}").is_err());
/// # Ok::<(), skillcue_studio::StudioFailure>(())
/// ```
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(tag = "question", rename_all = "snake_case", deny_unknown_fields)]
#[non_exhaustive]
pub enum StudioQuestion {
    /// The set-up: version, number of skills, defaults, whether saving is allowed.
    About {},
    /// Every skill, as `list`.
    List {},
    /// One skill, as `show`.
    Show {
        /// Its address.
        name: String,
    },
    /// The text that a model would get, as `context`.
    Context {
        /// The message.
        message: String,
        /// The configuration.
        #[serde(default)]
        config: StudioConfig,
    },
    /// Which words decide, as `why`.
    Why {
        /// The message.
        message: String,
        /// A skill to ask about.
        #[serde(default)]
        name: Option<String>,
        /// The configuration.
        #[serde(default)]
        config: StudioConfig,
    },
    /// The change that another description of a skill would make: `before` and `after`, each as `why`.
    WhatIf {
        /// The message.
        message: String,
        /// The skill.
        name: String,
        /// Its description, as it could be.
        description: String,
        /// The configuration.
        #[serde(default)]
        config: StudioConfig,
    },
    /// Which of these skills came with a checkout and are not allowed: agents and hooks hold their texts back.
    Held {
        /// Names of skills.
        names: Vec<String>,
    },
    /// The list of skills in a system prompt, as `prompt`.
    Prompt {
        /// The context window, in tokens.
        window: usize,
    },
    /// The set-up and the lists of other agents, as `doctor`.
    Doctor {},
    /// Pairs of skills that compete for messages.
    Collisions {},
    /// The evaluations that there are.
    Evals {},
    /// One evaluation, as `eval`.
    Eval {
        /// Its id.
        run: String,
    },
    /// The conversations that were traced, as `trace --all`.
    Traces {},
    /// One conversation, as `trace`, with its requests.
    Trace {
        /// Its id.
        session: String,
    },
    /// How skills were used, as `usage`.
    Usage {
        /// How far back: `30d`, `all`.
        since: String,
    },
    /// Suspicious places in skills, as `audit`.
    Audit {},
    /// Installed skills against the lock, as `verify`.
    Verify {},
    /// Everything that a person has allowed, as `allowed`.
    Allowed {},
    /// Everything that a person has denied.
    Denied {},
    /// The change of a skill's file for another description, without writing it.
    Preview {
        /// The skill.
        name: String,
        /// Its new description.
        description: String,
    },
    /// Writes another description into a skill's file.
    Save {
        /// The skill.
        name: String,
        /// Its new description.
        description: String,
        /// The digest of the file that the preview was about: one that has changed since is not written.
        before: String,
    },
}

/// The options of one answer about a message. Those that are not set are the user's.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct StudioConfig {
    /// How skills are matched.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// Which part of the prompt has the skills.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policy: Option<String>,
    /// How readily skills are shown and named, from 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub eagerness: Option<f32>,
    /// Most tokens for documentation in all; 0: no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget: Option<usize>,
    /// Most tokens for one skill; 0: no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub per_skill: Option<usize>,
}

impl StudioConfig {
    /// Checks the eagerness as the command line does. Others, such as 2, would let everything pass.
    fn check(&self) -> Result<(), StudioFailure> {
        match self.eagerness {
            Some(eagerness) if !(0.0..=1.0).contains(&eagerness) => {
                Err(StudioFailure::new("usage", format!("the eagerness {eagerness} is not from 0 to 1"))
                    .help("choose a number from 0 to 1"))
            }
            _ => Ok(()),
        }
    }
}

/// Checks limits of tokens before they are read: the reader's own words for a number that is none are not for people.
fn check_limits(fields: &Map<String, Value>) -> Result<(), StudioFailure> {
    let Some(config) = fields.get("config").and_then(Value::as_object) else { return Ok(()) };
    for (field, what) in [("budget", "the budget"), ("per_skill", "the budget of one skill")] {
        if let Some(number) = config.get(field).filter(|number| number.is_number() && !number.is_u64()) {
            return Err(StudioFailure::new(
                "usage",
                format!("{what} is a whole number of tokens, and {number} is none"),
            )
            .help("choose a whole number; 0 is no limit"));
        }
    }
    Ok(())
}

impl StudioQuestion {
    /// Reads a question from its name and its fields, a JSON object.
    pub fn read(name: &str, fields: &[u8]) -> Result<StudioQuestion, StudioFailure> {
        let wrong = |error: serde_json::Error| {
            StudioFailure::new("question", format!("{name}: {error}")).help("load the page again")
        };
        let mut fields: Map<String, Value> = serde_json::from_slice(fields).map_err(wrong)?;
        check_limits(&fields)?;
        fields.insert("question".to_owned(), Value::from(name));
        let question: StudioQuestion = serde_json::from_value(Value::Object(fields)).map_err(wrong)?;
        let (message, description) = match &question {
            StudioQuestion::Context { message, .. } | StudioQuestion::Why { message, .. } => (message.len(), 0),
            StudioQuestion::WhatIf { message, description, .. } => (message.len(), description.len()),
            StudioQuestion::Preview { description, .. } | StudioQuestion::Save { description, .. } => {
                (0, description.len())
            }
            _ => (0, 0),
        };
        if let Some(config) = question.config() {
            config.check()?;
        }
        if message > MAX_MESSAGE {
            let why = "the message is larger than 1 MiB";
            return Err(StudioFailure::new("too_large", why).help("send the part that matters"));
        }
        if description > MAX_DESCRIPTION {
            let why = "the description is larger than 64 KiB";
            return Err(StudioFailure::new("too_large", why).help("a model reads it in every list: keep it short"));
        }
        Ok(question)
    }

    /// Returns the configuration of a question about a message.
    fn config(&self) -> Option<&StudioConfig> {
        match self {
            Self::Context { config, .. } | Self::Why { config, .. } | Self::WhatIf { config, .. } => Some(config),
            _ => None,
        }
    }

    /// Returns whether it is asked with every letter that is typed.
    pub(crate) fn is_about_message(&self) -> bool {
        matches!(
            self,
            Self::Context { .. } | Self::Why { .. } | Self::WhatIf { .. } | Self::Held { .. } | Self::About {}
        )
    }

    /// Returns its name: the last part of its address.
    pub fn name(&self) -> String {
        match serde_json::to_value(self) {
            Ok(Value::Object(fields)) => fields["question"].as_str().unwrap_or_default().to_owned(),
            _ => String::new(),
        }
    }

    /// Returns the key of its answer in an exported page: its name and its fields, in the order of their names.
    pub fn key(&self) -> String {
        let Ok(Value::Object(mut fields)) = serde_json::to_value(self) else { return String::new() };
        let name = fields.remove("question").unwrap_or_default();
        format!("{} {}", name.as_str().unwrap_or_default(), Value::Object(fields))
    }

    /// Returns the question with its texts redacted.
    pub(crate) fn redacted(self, redaction: &Redaction) -> StudioQuestion {
        let Ok(mut fields) = serde_json::to_value(&self) else { return self };
        redaction.apply(&mut fields);
        serde_json::from_value(fields).unwrap_or(self)
    }

    /// Returns whether it changes something on disk.
    pub fn is_edit(&self) -> bool {
        matches!(self, StudioQuestion::Save { .. })
    }
}

/// The source of the page's data.
pub trait StudioData: Send + Sync + 'static {
    /// Returns the answer as JSON: the document that the command of that name prints with `--json`. Called on a thread that may
    /// block, by several at once. [Edits](StudioQuestion::is_edit) come only if the server was told to allow them.
    fn answer(&self, question: StudioQuestion) -> Result<Vec<u8>, StudioFailure>;
}

/// The reason why a question has no answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StudioFailure {
    /// A stable word.
    pub code: String,
    /// The reason.
    pub message: String,
    /// The next step.
    pub help: String,
}

impl StudioFailure {
    /// Makes a failure without a next step.
    pub fn new(code: impl Into<String>, message: impl Into<String>) -> StudioFailure {
        StudioFailure { code: code.into(), message: message.into(), help: String::new() }
    }

    /// Adds the next step.
    #[must_use]
    pub fn help(self, help: impl Into<String>) -> StudioFailure {
        StudioFailure { help: help.into(), ..self }
    }
}

impl std::fmt::Display for StudioFailure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for StudioFailure {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_are_read_strictly() {
        let why = StudioQuestion::read("why", br#"{"message": "hi", "config": {"mode": "keyword"}}"#).unwrap();
        assert_eq!(why.key(), r#"why {"config":{"mode":"keyword"},"message":"hi","name":null}"#);
        for (name, fields) in [
            ("", "{}"),
            ("nothing", "{}"),
            ("show", "{}"),
            ("show", r#"{"name": 1}"#),
            ("show", r#"{"name": "a", "more": 1}"#),
            ("show", "[]"),
            ("show", "not json"),
            ("why", r#"{"message": "hi", "config": {"modes": "keyword"}}"#),
            ("../show", r#"{"name": "a"}"#),
        ] {
            assert!(StudioQuestion::read(name, fields.as_bytes()).is_err(), "{name} {fields}");
        }
        for (config, said) in [
            (r#"{"eagerness": 1.5}"#, "the eagerness 1.5 is not from 0 to 1"),
            (r#"{"eagerness": -0.1}"#, "the eagerness -0.1 is not from 0 to 1"),
            (r#"{"budget": 1.5}"#, "the budget is a whole number of tokens, and 1.5 is none"),
            (r#"{"per_skill": -1}"#, "the budget of one skill is a whole number of tokens, and -1 is none"),
        ] {
            for name in ["context", "why"] {
                let fields = format!("{{\"message\": \"hi\", \"config\": {config}}}");
                let failure = StudioQuestion::read(name, fields.as_bytes()).unwrap_err();
                assert_eq!((failure.code.as_str(), failure.message.as_str()), ("usage", said), "{name}");
            }
        }
        let long = format!("{{\"message\": \"{}\"}}", "x".repeat(MAX_MESSAGE + 1));
        assert_eq!(StudioQuestion::read("why", long.as_bytes()).unwrap_err().code, "too_large");
        let long = "x".repeat(MAX_DESCRIPTION + 1);
        for (name, fields) in [
            ("what_if", serde_json::json!({"message": "a", "name": "a", "description": long})),
            ("preview", serde_json::json!({"name": "a", "description": long})),
            ("save", serde_json::json!({"name": "a", "description": long, "before": ""})),
        ] {
            assert_eq!(StudioQuestion::read(name, fields.to_string().as_bytes()).unwrap_err().code, "too_large");
        }
    }
}
