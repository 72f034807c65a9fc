//! How to disclose.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use skillcue_format::Tokens;

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

/// A number of a configuration that makes no sense.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("`{setting}` must be a number from 0 to 1, not {value}")]
pub struct ConfigError {
    /// Which one.
    pub setting: &'static str,
    /// What it is.
    pub value: f64,
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
    /// certainty on.
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
            catalog_share: CATALOG_SHARE,
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

    /// Whether all numbers make sense. [`Discloser::new`](crate::Discloser::new) takes any: it is for whoever reads a
    /// configuration to say what is wrong with it.
    ///
    /// ```
    /// use skillcue_disclose::DiscloseConfig;
    ///
    /// let config = DiscloseConfig { catalog_share: 2.0, ..DiscloseConfig::default() };
    /// assert_eq!(config.check().unwrap_err().to_string(), "`catalog_share` must be a number from 0 to 1, not 2");
    /// ```
    pub fn check(&self) -> Result<(), ConfigError> {
        let numbers = [("catalog_share", self.catalog_share), ("min_confidence", f64::from(self.min_confidence))];
        // What is no number is in no range.
        match numbers.into_iter().find(|(_, value)| !(0.0..=1.0).contains(value)) {
            Some((setting, value)) => Err(ConfigError { setting, value }),
            None => Ok(()),
        }
    }

    /// The budget of a list of skills: at least one token, unless the window or the share is zero, which is no limit. A
    /// share that [`check`](DiscloseConfig::check) refuses counts as the usual one.
    ///
    /// ```
    /// use skillcue_disclose::{DiscloseConfig, Tokens};
    /// assert_eq!(DiscloseConfig::default().catalog_tokens(), Some(Tokens(4000)));
    /// ```
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "a share of a window is an estimate, and a cast that saturates is right at both ends"
    )]
    pub fn catalog_tokens(&self) -> Option<Tokens> {
        let share = if (0.0..=1.0).contains(&self.catalog_share) { self.catalog_share } else { CATALOG_SHARE };
        if self.window.0 == 0 || share <= 0.0 {
            return None;
        }
        Some(Tokens(((self.window.0 as f64 * share).round() as usize).max(1)))
    }
}

/// The usual share of a window that a list of skills may take.
const CATALOG_SHARE: f64 = 0.02;

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
        let config = DiscloseConfig { catalog_share: 0.0, ..DiscloseConfig::default() };
        assert_eq!((config.catalog_tokens(), config.check()), (None, Ok(())));
    }

    #[test]
    fn little_is_not_no_limit() {
        let config = |window, catalog_share| DiscloseConfig {
            window: Tokens(window),
            catalog_share,
            ..DiscloseConfig::default()
        };
        assert_eq!(config(24, 0.02).catalog_tokens(), Some(Tokens(1)));
        assert_eq!(config(1, f64::MIN_POSITIVE).catalog_tokens(), Some(Tokens(1)));
        assert_eq!(config(usize::MAX, 1.0).catalog_tokens(), Some(Tokens(usize::MAX)));
        assert_eq!(config(1000, 1.0).check(), Ok(()));
        for share in [-0.5, f64::NAN, f64::INFINITY, 1.5] {
            assert_eq!(config(1000, share).catalog_tokens(), Some(Tokens(20)));
            assert_eq!(config(1000, share).check().unwrap_err().setting, "catalog_share");
        }
        let config = DiscloseConfig { min_confidence: f32::NAN, ..DiscloseConfig::default() };
        let error = config.check().unwrap_err().to_string();
        assert_eq!(error, "`min_confidence` must be a number from 0 to 1, not NaN");
    }
}
