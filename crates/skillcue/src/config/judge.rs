//! `[select]` as it is written: the settings of selection, and those of the judge.

use std::num::NonZeroU64;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use skillcue_disclose::Fallback;
use skillcue_select::Mode;

use super::agent::PROVIDERS;
use super::{SelectSection, SentenceModelUse};

/// The settings of the [judge](crate::select::Judge), a model that chooses among the first skills. They are below `[select]`.
///
/// ```
/// let config = skillcue::config::Config::parse("[select]\njudge = \"ollama:qwen3\"\n").unwrap();
/// assert_eq!(config.judge.model.as_deref(), Some("ollama:qwen3"));
///
/// let error = skillcue::config::Config::parse("[select]\njudge = \"olama:qwen3\"\n").unwrap_err();
/// assert_eq!((error.line, error.help.as_str()), (2, "did you mean `ollama`?"));
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct JudgeSection {
    /// The model: a name, or a provider and a name.
    pub model: Option<String>,
    /// The address of its server, if it is not its provider's usual one or that of the agent's model.
    pub base_url: Option<String>,
    /// The time for one answer, in milliseconds.
    pub deadline_ms: Option<NonZeroU64>,
}

impl JudgeSection {
    /// Returns the model, if it is the name of one: `MODEL`, or `PROVIDER:MODEL` with a known provider. The agent takes
    /// an unknown word before a colon for a part of the name; for a judge it is an error, because a judge that cannot be
    /// reached is only noticed by what it does not do.
    ///
    /// ```
    /// use skillcue::config::JudgeSection;
    ///
    /// assert_eq!(JudgeSection::checked(" ollama:qwen3:8b ").unwrap(), "ollama:qwen3:8b");
    /// assert!(JudgeSection::checked("qwen3:8b").unwrap_err().starts_with("unknown provider `qwen3`, expected one of"));
    /// assert!(JudgeSection::checked("ollama:").unwrap_err().contains("names no model"));
    /// ```
    pub fn checked(model: &str) -> Result<String, String> {
        let model = model.trim();
        let (provider, name) = match model.split_once(':') {
            Some((provider, name)) => (Some(provider), name.trim()),
            None => (None, model),
        };
        let known = || PROVIDERS.map(|name| format!("`{name}`")).join(", ");
        if let Some(word) = provider.filter(|word| !PROVIDERS.iter().any(|known| known.eq_ignore_ascii_case(word))) {
            return Err(format!("unknown provider `{word}`, expected one of {}", known()));
        }
        if name.is_empty() {
            let written = if model.is_empty() { "an empty judge" } else { model };
            return Err(format!("{written} names no model: write PROVIDER:MODEL, with one of {}", known()));
        }
        Ok(model.to_owned())
    }

    pub(super) fn merge(&mut self, higher: JudgeSection) {
        if higher.model.is_some() {
            // The address is that of the old model.
            self.base_url = None;
        }
        self.model = higher.model.or(self.model.take());
        self.base_url = higher.base_url.or(self.base_url.take());
        self.deadline_ms = higher.deadline_ms.or(self.deadline_ms);
    }
}

/// `[select]` of a file.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename = "SelectSection")]
pub(super) struct SelectTable {
    pub(super) mode: Option<Mode>,
    pub(super) max_skills: Option<usize>,
    pub(super) fallback: Option<Fallback>,
    pub(super) eagerness: Option<f32>,
    pub(super) model: Option<SentenceModelUse>,
    #[serde(default, deserialize_with = "judge_model")]
    judge: Option<String>,
    judge_base_url: Option<String>,
    judge_deadline_ms: Option<NonZeroU64>,
}

impl SelectTable {
    /// Returns the settings of selection, and those of the judge.
    pub(super) fn sections(self) -> (SelectSection, JudgeSection) {
        let SelectTable { mode, max_skills, fallback, eagerness, model, judge, judge_base_url, judge_deadline_ms } =
            self;
        let judge = JudgeSection { model: judge, base_url: judge_base_url, deadline_ms: judge_deadline_ms };
        (SelectSection { mode, max_skills, fallback, eagerness, model }, judge)
    }
}

fn judge_model<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    let model = String::deserialize(deserializer)?;
    JudgeSection::checked(&model).map(Some).map_err(D::Error::custom)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::config::Config;

    fn parse(text: &str) -> JudgeSection {
        Config::parse(&format!("[select]\n{text}\n")).unwrap().judge
    }

    #[test]
    fn a_wrong_judge_is_an_error_that_lists_the_right_ones() {
        let wrong = |line: &str| Config::parse(&format!("[select]\nmode = 'hybrid'\n{line}\n")).unwrap_err();
        let error = wrong("judge = 'olama:qwen3'");
        assert_eq!((error.line, error.column, error.width), (3, 9, 13));
        let providers = "`openai`, `anthropic`, `ollama`, `llamacpp`, `lmstudio`, `vllm`";
        assert_eq!(error.message, format!("unknown provider `olama`, expected one of {providers}"));
        assert_eq!(error.help, "did you mean `ollama`?");
        for (judge, written) in [("", "an empty judge"), ("ollama:", "ollama:"), ("  ", "an empty judge")] {
            let error = wrong(&format!("judge = '{judge}'"));
            let message = format!("{written} names no model: write PROVIDER:MODEL, with one of {providers}");
            assert_eq!((error.line, error.message), (3, message));
        }
        let error = wrong("judge_deadline_ms = 0");
        assert_eq!(
            (error.line, error.message.as_str()),
            (3, "invalid value: integer `0`, expected a whole number, 1 or more")
        );
        assert_eq!(wrong("judge_deadline = 0").help, "did you mean `judge_deadline_ms`?");
        assert_eq!(Config::parse("[agent]\njudge = 'x'\n").unwrap_err().help, "`judge` belongs below [select]");
    }

    #[test]
    fn the_address_of_a_judge_is_for_its_model_only() {
        let mut user = parse("judge = 'ollama:a'\njudge_base_url = 'http://gpu'\njudge_deadline_ms = 500");
        user.merge(JudgeSection::default());
        assert_eq!(user.base_url.as_deref(), Some("http://gpu"));
        user.merge(parse("judge = 'claude-haiku-4-5'"));
        assert_eq!((user.model.as_deref(), user.base_url), (Some("claude-haiku-4-5"), None));
        assert_eq!(user.deadline_ms.map(NonZeroU64::get), Some(500));
    }

    #[test]
    fn a_project_says_nothing_about_the_judge() {
        let text = "[select]\nmode = 'keyword'\njudge = 'ollama:x'\njudge_base_url = 'http://evil'\n";
        let mut config = Config::parse(text).unwrap();
        let distrusted = config.distrust(Path::new("/project"));
        assert_eq!(distrusted.judge.base_url.as_deref(), Some("http://evil"));
        assert!(!distrusted.is_empty());
        assert_eq!((config.judge, config.disclose.mode), (JudgeSection::default(), Some(Mode::Keyword)));
    }
}
