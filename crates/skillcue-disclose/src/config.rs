//! The configuration of disclosures.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use skillcue_format::Tokens;
use skillcue_select::Thresholds;

use crate::{Budget, Counter, LoadAdvice};

/// The division between the static part of a prompt and the turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Policy {
    /// All in the turn: whole bodies of the skills that fit the message, and nothing else.
    #[default]
    Inject,
    /// A static section that lists the skills; the model loads what it needs. Nothing in the turn.
    Catalog,
    /// The static section, and one line in the turn that names the best matches and why.
    Hint,
}

/// The reaction to a message that nothing matches with confidence.
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
    /// The kind of thing that the word should have named.
    pub what: &'static str,
    /// The word.
    pub word: String,
    /// The known words.
    pub known: &'static str,
}

/// A number of a configuration that makes no sense.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("`{setting}` must be a number from 0 to 1, not {value}")]
pub struct DiscloseConfigError {
    /// The name of the setting.
    pub setting: &'static str,
    /// The value of the setting.
    pub value: f64,
}

impl Policy {
    /// Returns the name in settings.
    pub fn as_str(self) -> &'static str {
        match self {
            Policy::Inject => "inject",
            Policy::Catalog => "catalog",
            Policy::Hint => "hint",
        }
    }
}

impl Fallback {
    /// Returns the name in settings.
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

/// The configuration of disclosures. Limits that are `None` or zero mean no limit.
#[derive(Debug, Clone, PartialEq)]
pub struct DiscloseConfig {
    /// The division between the static part of a prompt and the turn.
    pub policy: Policy,
    /// The reaction to a message that nothing matches with confidence.
    pub fallback: Fallback,
    /// The number of matching skills that are documented.
    pub max_skills: usize,
    /// The number of skills that are documented when all are asked for.
    pub max_all_skills: usize,
    /// The limit for the tokens of all documentation.
    pub max_total_tokens: Option<Tokens>,
    /// The limit for the tokens of one skill's documentation.
    pub max_per_skill_tokens: Option<Tokens>,
    /// The limit for the tokens of a load by a model: a longer text is given in parts, and the next load gives more of it.
    pub max_load_tokens: Option<Tokens>,
    /// The token counter.
    pub counter: Counter,
    /// The model's context window.
    pub window: Tokens,
    /// The share of the window that a list of skills may take.
    pub catalog_share: f64,
    /// Skills whose descriptions are the last to be shortened.
    pub pinned: BTreeSet<String>,
    /// How readily skills are shown and named, from 0, only what is certain, to 1, everything that matches. The
    /// [`Thresholds`] follow from it.
    pub eagerness: f32,
    /// The likelihood below which no skill is named, whatever the eagerness.
    pub min_likelihood: f32,
    /// The sentences that say how to load what is not shown: an embedder in which that is not the tool `load_skill` has
    /// words of its own.
    pub load_advice: LoadAdvice,
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
            max_load_tokens: None,
            counter: Counter::default(),
            window: Tokens(200_000),
            catalog_share: DEFAULT_CATALOG_SHARE,
            pinned: BTreeSet::new(),
            eagerness: Thresholds::DEFAULT_EAGERNESS,
            min_likelihood: 0.0,
            load_advice: LoadAdvice::default(),
        }
    }
}

impl DiscloseConfig {
    /// Returns the budget of bodies.
    pub fn budget(&self) -> Budget {
        Budget { total: self.max_total_tokens, per_skill: self.max_per_skill_tokens }
    }

    /// Checks that all numbers make sense. [`Discloser::new`](crate::Discloser::new) takes any: code that reads a
    /// configuration calls this, and reports the error.
    ///
    /// ```
    /// use skillcue_disclose::DiscloseConfig;
    ///
    /// let config = DiscloseConfig { catalog_share: 2.0, ..DiscloseConfig::default() };
    /// assert_eq!(config.check().unwrap_err().to_string(), "`catalog_share` must be a number from 0 to 1, not 2");
    /// ```
    pub fn check(&self) -> Result<(), DiscloseConfigError> {
        let numbers = [("catalog_share", self.catalog_share), ("eagerness", f64::from(self.eagerness))];
        // What is no number is in no range.
        match numbers.into_iter().find(|(_, value)| !(0.0..=1.0).contains(value)) {
            Some((setting, value)) => Err(DiscloseConfigError { setting, value }),
            None => Ok(()),
        }
    }

    /// Returns the budget of a list of skills: at least one token, unless the window or the share is zero, which is no
    /// limit. A share that [`check`](DiscloseConfig::check) refuses counts as the default.
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
        let share = if (0.0..=1.0).contains(&self.catalog_share) { self.catalog_share } else { DEFAULT_CATALOG_SHARE };
        if self.window.0 == 0 || share <= 0.0 {
            return None;
        }
        Some(Tokens(((self.window.0 as f64 * share).round() as usize).max(1)))
    }
}

/// The default share of a window that a list of skills may take.
const DEFAULT_CATALOG_SHARE: f64 = 0.02;

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
        let config = DiscloseConfig { eagerness: f32::NAN, ..DiscloseConfig::default() };
        let error = config.check().unwrap_err().to_string();
        assert_eq!(error, "`eagerness` must be a number from 0 to 1, not NaN");
    }
}
