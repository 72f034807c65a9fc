//! `[view.NAME]`: named parts of the catalog, for tenants and roles.

use serde::Deserialize;
use skillcue_catalog::{NameGlob, ViewRule};

/// A named view of the catalog.
///
/// ```
/// use skillcue::config::Config;
///
/// let config = Config::parse("[view.sales]\nskills = [\"sales-*\"]\ntoken_env = \"SALES_TOKEN\"\n").unwrap();
/// assert!(config.view["sales"].rule().skills[0].matches("sales-quote"));
/// assert_eq!(config.view["sales"].token_env.as_deref(), Some("SALES_TOKEN"));
/// assert!(Config::parse("[view.none]\nskills = []\n").is_err());
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ViewSection {
    /// Globs over the names that are in the view; all, if the key is missing. An empty list is an error.
    #[serde(deserialize_with = "ViewRule::deserialize_included")]
    pub skills: Vec<NameGlob>,
    /// Globs over the sources that are in the view; all, if the key is missing. An empty list is an error.
    #[serde(deserialize_with = "ViewRule::deserialize_included")]
    pub sources: Vec<NameGlob>,
    /// Globs over the plugins that are in the view; all, if the key is missing. An empty list is an error.
    #[serde(deserialize_with = "ViewRule::deserialize_included")]
    pub plugins: Vec<NameGlob>,
    /// Globs over names that are out.
    pub exclude_skills: Vec<NameGlob>,
    /// Globs over sources that are out.
    pub exclude_sources: Vec<NameGlob>,
    /// Globs over plugins that are out.
    pub exclude_plugins: Vec<NameGlob>,
    /// The variable that holds the bearer token for this view alone. The token itself is never in a file.
    pub token_env: Option<String>,
}

impl ViewSection {
    /// Returns the rule that decides which skills are in the view.
    pub fn rule(&self) -> ViewRule {
        let mut rule = ViewRule::default();
        rule.skills.clone_from(&self.skills);
        rule.sources.clone_from(&self.sources);
        rule.plugins.clone_from(&self.plugins);
        rule.exclude_skills.clone_from(&self.exclude_skills);
        rule.exclude_sources.clone_from(&self.exclude_sources);
        rule.exclude_plugins.clone_from(&self.exclude_plugins);
        rule
    }
}
