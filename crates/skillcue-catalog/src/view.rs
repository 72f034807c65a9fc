//! Views: a part of a catalog, for a tenant or a role.

use std::sync::OnceLock;

use serde::de::{Deserialize, Deserializer, Error as _};

use crate::{Catalog, NameGlob, Skill};

/// A rule that decides which skills of a catalog are in a view. It narrows only: a skill is in the view if the catalog has
/// it and the rule keeps it.
///
/// An empty list of what is included includes everything, as one that is missing in a file does, and what is excluded is
/// never in. A list that is written down and empty is an error: it would show everything where it seems to show nothing.
///
/// ```
/// use skillcue_catalog::{Discovery, SkillRoot, Source, ViewRule};
///
/// let dir = tempfile::tempdir()?;
/// for name in ["sales-quote", "sales-secret", "payroll"] {
///     std::fs::create_dir(dir.path().join(name))?;
///     std::fs::write(dir.path().join(name).join("SKILL.md"), format!("---\nname: {name}\ndescription: It.\n---\n"))?;
/// }
/// let catalog = Discovery::new([SkillRoot::new(dir.path(), Source::User)]).run();
/// let mut rule = ViewRule::default();
/// rule.skills.push("sales-*".parse()?);
/// rule.exclude_skills.push("*-secret".parse()?);
/// let view = catalog.narrowed(&rule);
/// assert_eq!(view.skills().map(|skill| skill.name()).collect::<Vec<_>>(), ["sales-quote"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ViewRule {
    /// Globs over names, one of which a skill must fit: by its name, or by its address such as `pdf@user`.
    #[serde(deserialize_with = "ViewRule::deserialize_included")]
    pub skills: Vec<NameGlob>,
    /// Globs over sources, one of which a skill must come from: `user`, `project`, `plugin` …
    #[serde(deserialize_with = "ViewRule::deserialize_included")]
    pub sources: Vec<NameGlob>,
    /// Globs over plugins, one of which a skill must come from; then skills of no plugin are out.
    #[serde(deserialize_with = "ViewRule::deserialize_included")]
    pub plugins: Vec<NameGlob>,
    /// Globs over names that are out. Of `acme:refunds`, which a catalog or a server lists, `refunds` is such a name, too.
    pub exclude_skills: Vec<NameGlob>,
    /// Globs over sources that are out.
    pub exclude_sources: Vec<NameGlob>,
    /// Globs over plugins that are out.
    pub exclude_plugins: Vec<NameGlob>,
}

impl ViewRule {
    /// Reads a list of what is included, for `#[serde(deserialize_with)]`. An empty list is an error that says what to write.
    ///
    /// ```
    /// use skillcue_catalog::ViewRule;
    ///
    /// let error = serde_json::from_str::<ViewRule>(r#"{"skills": []}"#).unwrap_err().to_string();
    /// assert!(error.starts_with("an empty list would include everything: remove the key for that"), "{error}");
    /// assert_eq!(serde_json::from_str::<ViewRule>("{}").unwrap(), ViewRule::default());
    /// ```
    pub fn deserialize_included<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<NameGlob>, D::Error> {
        let globs = Vec::deserialize(deserializer)?;
        if globs.is_empty() {
            let message = "an empty list would include everything: remove the key for that, or name what is in; to \
                           include nothing, exclude \"*\"";
            return Err(D::Error::custom(message));
        }
        Ok(globs)
    }

    /// Returns whether a skill of the catalog is in the view. Nothing else decides about that.
    pub fn keeps(&self, skill: &Skill) -> bool {
        let (name, address) = (skill.name(), skill.address());
        let is_named = |globs: &[NameGlob]| NameGlob::any(globs, name) || NameGlob::any(globs, &address);
        let comes_from = |globs: &[NameGlob]| NameGlob::any(globs, skill.source().as_str());
        let is_of = |globs: &[NameGlob]| skill.plugin().is_some_and(|plugin| NameGlob::any(globs, plugin));
        let is_included = (self.skills.is_empty() || is_named(&self.skills))
            && (self.sources.is_empty() || comes_from(&self.sources))
            && (self.plugins.is_empty() || is_of(&self.plugins));
        // What is out is out from wherever it comes; a policy forbids names in the same way.
        let plain = name.rsplit_once(':').map_or(name, |(_, plain)| plain);
        is_included
            && !is_named(&self.exclude_skills)
            && !NameGlob::any(&self.exclude_skills, plain)
            && !comes_from(&self.exclude_sources)
            && !is_of(&self.exclude_plugins)
    }
}

impl Catalog {
    /// Returns the part of this catalog that a rule keeps. What shadows, is enabled or hides stays as it is here: no skill
    /// comes to light because another one is out. Findings about skill files are not taken over, as they name files that
    /// may be out.
    #[must_use]
    pub fn narrowed(&self, rule: &ViewRule) -> Catalog {
        let skills: Vec<Box<Skill>> =
            self.skills.iter().filter(|skill| rule.keeps(skill)).map(|skill| Box::new(skill.duplicate())).collect();
        let count = skills.iter().filter(|skill| !skill.shadowed()).count();
        Catalog {
            skills,
            count,
            invalid: Vec::new(),
            diagnostics: Vec::new(),
            effort: self.effort,
            by_name: OnceLock::new(),
            generation: OnceLock::new(),
            policy: self.policy.clone(),
        }
    }
}
