//! How to disclose.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use skillfold_format::Tokens;

use crate::{Budget, Counter};

/// Where what the model is shown stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Policy {
    /// All in the turn: nothing that does not fit the message, and whole bodies of what does.
    #[default]
    Inject,
    /// A static section that lists the skills; the model loads what it needs. Nothing in the turn.
    Catalog,
    /// The static section, and one line in the turn that names the best matches and why.
    Hint,
}

/// What to do when nothing matches with confidence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fallback {
    /// Say how many skills there are.
    #[default]
    None,
    /// List them.
    ShowAll,
    /// Name the closest, so that the model can ask.
    AskUser,
}

/// A word that names nothing here.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{word}` is no {what}; there are {known}")]
pub struct UnknownWord {
    /// What it should have named.
    pub what: &'static str,
    /// The word.
    pub word: String,
    /// Those there are.
    pub known: &'static str,
}

impl Policy {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Policy::Inject => "inject",
            Policy::Catalog => "catalog",
            Policy::Hint => "hint",
        }
    }
}

impl Fallback {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Fallback::None => "none",
            Fallback::ShowAll => "show_all",
            Fallback::AskUser => "ask_user",
        }
    }
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Display for Fallback {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Policy {
    type Err = UnknownWord;

    fn from_str(word: &str) -> Result<Policy, UnknownWord> {
        let found = [Policy::Inject, Policy::Catalog, Policy::Hint].into_iter().find(|policy| policy.as_str() == word);
        let known = "`inject`, `catalog` and `hint`";
        found.ok_or_else(|| UnknownWord { what: "policy", word: word.to_owned(), known })
    }
}

impl FromStr for Fallback {
    type Err = UnknownWord;

    fn from_str(word: &str) -> Result<Fallback, UnknownWord> {
        let all = [Fallback::None, Fallback::ShowAll, Fallback::AskUser];
        let known = "`none`, `show_all` and `ask_user`";
        let unknown = || UnknownWord { what: "fallback", word: word.to_owned(), known };
        all.into_iter().find(|fallback| fallback.as_str() == word).ok_or_else(unknown)
    }
}

/// How to disclose. Limits that are `None` or zero are none.
#[derive(Debug, Clone, PartialEq)]
pub struct DiscloseConfig {
    /// Where what the model is shown stands.
    pub policy: Policy,
    /// What to do when nothing matches with confidence.
    pub fallback: Fallback,
    /// How many of the skills that match are documented.
    pub max_skills: usize,
    /// How many are documented when all are asked for.
    pub max_all_skills: usize,
    /// How many tokens the documentation may take in all.
    pub max_total_tokens: Option<Tokens>,
    /// How many that of one skill may take.
    pub max_per_skill_tokens: Option<Tokens>,
    /// What counts them.
    pub counter: Counter,
    /// The model's context window.
    pub window: Tokens,
    /// The share of it that a list of skills may take.
    pub catalog_share: f64,
    /// Skills whose descriptions are the last to be shortened.
    pub pinned: BTreeSet<String>,
    /// A skill that nothing but the relevance of its text or recent use speaks for counts as a match from this
    /// confidence on.
    pub min_confidence: f32,
}

impl Default for DiscloseConfig {
    fn default() -> Self {
        let budget = Budget::default();
        DiscloseConfig {
            policy: Policy::default(),
            fallback: Fallback::default(),
            max_skills: 3,
            max_all_skills: 10,
            max_total_tokens: budget.total,
            max_per_skill_tokens: budget.per_skill,
            counter: Counter::default(),
            window: Tokens(200_000),
            catalog_share: 0.02,
            pinned: BTreeSet::new(),
            min_confidence: 0.5,
        }
    }
}

impl DiscloseConfig {
    /// The budget of bodies.
    pub fn budget(&self) -> Budget {
        Budget { total: self.max_total_tokens, per_skill: self.max_per_skill_tokens }
    }

    /// The budget of a list of skills.
    ///
    /// ```
    /// use skillfold_disclose::{DiscloseConfig, Tokens};
    /// assert_eq!(DiscloseConfig::default().catalog_tokens(), Some(Tokens(4000)));
    /// ```
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "a share of a window is an estimate, and a cast that saturates is right at both ends"
    )]
    pub fn catalog_tokens(&self) -> Option<Tokens> {
        let tokens = (self.window.0 as f64 * self.catalog_share).round() as usize;
        (tokens > 0).then_some(Tokens(tokens))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words() {
        for policy in [Policy::Inject, Policy::Catalog, Policy::Hint] {
            assert_eq!(policy.to_string().parse(), Ok(policy));
        }
        for fallback in [Fallback::None, Fallback::ShowAll, Fallback::AskUser] {
            assert_eq!(fallback.to_string().parse(), Ok(fallback));
        }
        let error = "all".parse::<Policy>().unwrap_err().to_string();
        assert_eq!(error, "`all` is no policy; there are `inject`, `catalog` and `hint`");
        let error = "all".parse::<Fallback>().unwrap_err().to_string();
        assert_eq!(error, "`all` is no fallback; there are `none`, `show_all` and `ask_user`");
    }

    #[test]
    fn zero_is_no_limit() {
        let config = DiscloseConfig { window: Tokens(0), ..DiscloseConfig::default() };
        assert_eq!(config.catalog_tokens(), None);
    }
}
