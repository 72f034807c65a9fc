//! The part about what models are shown.

use serde::Deserialize;
use skillcue_disclose::{Counter, DiscloseConfig, Fallback, Policy, Tokens};
use skillcue_select::Mode;

use super::{SelectSection, SentenceModelUse};

/// The part about what models are shown. A limit of zero means no limit.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DiscloseSection {
    /// The division between the static part of a prompt and the turn.
    pub policy: Option<Policy>,
    /// The mode in which messages are matched.
    pub mode: Option<Mode>,
    /// The reaction to a message that nothing matches.
    pub fallback: Option<Fallback>,
    /// The token counter.
    pub counter: Option<Counter>,
    /// The number of matching skills that are documented.
    pub max_skills: Option<usize>,
    /// The number of skills that are documented when all are asked for.
    pub max_all_skills: Option<usize>,
    /// The limit for the tokens of all documentation.
    pub max_total_tokens: Option<usize>,
    /// The limit for the tokens of one skill's documentation.
    pub max_per_skill_tokens: Option<usize>,
    /// The limit for the tokens of one load by a model.
    pub max_load_tokens: Option<usize>,
    /// The model's context window.
    pub window: Option<usize>,
    /// The share of the window that a list of skills may take.
    pub catalog_share: Option<f64>,
    /// How readily skills are shown and named, from 0 to 1.
    pub eagerness: Option<f32>,
    /// Whether the mode `hybrid` uses an installed sentence model.
    pub model: Option<SentenceModelUse>,
    /// Skills whose descriptions are shortened last.
    #[serde(default)]
    pub pinned: Vec<String>,
}

impl DiscloseSection {
    /// Takes over the settings about selection.
    ///
    /// ```
    /// use skillcue::config::{Config, SelectSection};
    /// use skillcue::{Fallback, Mode};
    ///
    /// let mut config = Config::parse("[select]\nmode = \"keyword\"\nmax_skills = 2\n").unwrap();
    /// config.disclose.select(SelectSection { fallback: Some(Fallback::ShowAll), ..SelectSection::default() });
    /// assert_eq!((config.disclose.mode, config.disclose.max_skills), (Some(Mode::Keyword), Some(2)));
    /// assert_eq!(config.disclose.fallback, Some(Fallback::ShowAll));
    /// ```
    pub fn select(&mut self, select: SelectSection) {
        self.mode = select.mode.or(self.mode);
        self.max_skills = select.max_skills.or(self.max_skills);
        self.fallback = select.fallback.or(self.fallback);
        self.eagerness = select.eagerness.or(self.eagerness);
        self.model = select.model.or(self.model);
    }

    pub(super) fn merge(&mut self, higher: DiscloseSection) {
        self.policy = higher.policy.or(self.policy);
        self.mode = higher.mode.or(self.mode);
        self.fallback = higher.fallback.or(self.fallback);
        self.counter = higher.counter.or(self.counter);
        self.max_skills = higher.max_skills.or(self.max_skills);
        self.max_all_skills = higher.max_all_skills.or(self.max_all_skills);
        self.max_total_tokens = higher.max_total_tokens.or(self.max_total_tokens);
        self.max_per_skill_tokens = higher.max_per_skill_tokens.or(self.max_per_skill_tokens);
        self.max_load_tokens = higher.max_load_tokens.or(self.max_load_tokens);
        self.window = higher.window.or(self.window);
        self.catalog_share = higher.catalog_share.or(self.catalog_share);
        self.eagerness = higher.eagerness.or(self.eagerness);
        self.model = higher.model.or(self.model);
        self.pinned.extend(higher.pinned);
    }

    /// Returns the effective configuration, with defaults for settings that are missing.
    ///
    /// ```
    /// let config = skillcue::config::Config::parse("[disclose]\npolicy = \"hint\"\nmax_total_tokens = 0\n").unwrap();
    /// let disclose = config.disclose.config();
    /// assert_eq!(disclose.policy, skillcue::Policy::Hint);
    /// assert_eq!(disclose.max_total_tokens, None);
    /// assert_eq!(disclose.max_skills, 3);
    /// ```
    pub fn config(&self) -> DiscloseConfig {
        let usual = DiscloseConfig::default();
        let limit = |limit: Option<usize>, usual| limit.map_or(usual, |limit| (limit > 0).then_some(Tokens(limit)));
        DiscloseConfig {
            policy: self.policy.unwrap_or(usual.policy),
            fallback: self.fallback.unwrap_or(usual.fallback),
            max_skills: self.max_skills.unwrap_or(usual.max_skills),
            max_all_skills: self.max_all_skills.unwrap_or(usual.max_all_skills),
            max_total_tokens: limit(self.max_total_tokens, usual.max_total_tokens),
            max_per_skill_tokens: limit(self.max_per_skill_tokens, usual.max_per_skill_tokens),
            max_load_tokens: limit(self.max_load_tokens, usual.max_load_tokens),
            counter: self.counter.unwrap_or(usual.counter),
            window: self.window.map_or(usual.window, Tokens),
            catalog_share: self.catalog_share.unwrap_or(usual.catalog_share),
            pinned: self.pinned.iter().cloned().collect(),
            eagerness: self.eagerness.unwrap_or(usual.eagerness),
            min_likelihood: usual.min_likelihood,
            load_advice: usual.load_advice,
        }
    }
}
