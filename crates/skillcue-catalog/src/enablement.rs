//! Enablement: which skills are switched on.

use std::collections::HashSet;

use crate::{Skill, Source};

/// The skills that are switched on and off, beyond the defaults.
///
/// Names as [`Catalog::get`](crate::Catalog::get) takes them: a plain name means the effective skill of that name, an
/// address exactly one. A skill that is enabled explicitly is on, one that is disabled explicitly is off, and all
/// others follow their source: on, except bundled skills that say otherwise, and skills below a root that is [off until
/// enabled](crate::SkillRoot::off_until_enabled).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Enablement {
    /// Skills that are on, even if they are also disabled.
    pub enable: HashSet<String>,
    /// Skills that are off, unless they are also enabled.
    pub disable: HashSet<String>,
    /// The rules, in place of the two above, for skills that [came with a checkout](Skill::is_foreign): the checkout's
    /// own files may switch those, and no others.
    pub foreign: Option<Box<Enablement>>,
}

impl Enablement {
    /// Returns the rules for a skill. `shared` are names that a checkout's skills have in common with the user's.
    pub(crate) fn of(&self, skill: &Skill, shared: &HashSet<String>) -> &Enablement {
        let is_theirs = skill.is_foreign() && !shared.contains(skill.name());
        self.foreign.as_deref().filter(|_| is_theirs).unwrap_or(self)
    }

    /// Returns the names of the user's own skills among `skills` that a checkout's files switch: a skill of the same
    /// name, or a copy, would be a way to switch the user's.
    pub(crate) fn shared(&self, skills: &[Box<Skill>], is_foreign: impl Fn(&Skill) -> bool) -> HashSet<String> {
        let Some(foreign) = self.foreign.as_deref() else { return HashSet::new() };
        let plain = |word: &String| word.split('@').next().unwrap_or_default().to_owned();
        let off = foreign.disable.difference(&self.disable).map(plain);
        let words: HashSet<String> = foreign.enable.difference(&self.enable).map(plain).chain(off).collect();
        if words.is_empty() {
            return words;
        }
        let is_own = |skill: &Skill| {
            !is_foreign(skill)
                || skill.locations().iter().any(|it| !it.root.foreign && it.root.source != Source::Project)
        };
        let own = skills.iter().filter(|skill| words.contains(skill.name()) && is_own(skill));
        own.map(|skill| skill.name().to_owned()).collect()
    }
}
