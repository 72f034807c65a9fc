//! What the server shows of one catalog, made when first asked for.

use std::sync::{Arc, OnceLock};

use skillcue::{Catalog, Skill, Skillcue, Source};

use super::uris;

/// One catalog as clients see it. Whoever holds one sees one generation throughout.
#[derive(Debug)]
pub(super) struct View {
    pub(super) catalog: Arc<Catalog>,
    served: OnceLock<Vec<u32>>,
    prompts: OnceLock<Vec<u32>>,
    places: OnceLock<Vec<(Box<str>, u32)>>,
    instructions: OnceLock<Option<Arc<str>>>,
}

impl View {
    pub(super) fn new(catalog: Arc<Catalog>) -> View {
        View {
            catalog,
            served: OnceLock::new(),
            prompts: OnceLock::new(),
            places: OnceLock::new(),
            instructions: OnceLock::new(),
        }
    }

    /// The skills that are served as resources, sorted by name.
    pub(super) fn served(&self) -> &[u32] {
        self.served.get_or_init(|| self.indexes(|skill| is_served(skill) && uris::prefix(skill).is_some()))
    }

    /// The skills that are served as prompts, sorted by name.
    pub(super) fn prompts(&self) -> &[u32] {
        self.prompts.get_or_init(|| self.indexes(|skill| is_ours(skill) && is_invocable_once(skill)))
    }

    fn indexes(&self, is_wanted: impl Fn(&Skill) -> bool) -> Vec<u32> {
        (0_u32..).zip(self.catalog.all()).filter(|(_, skill)| is_wanted(skill)).map(|(at, _)| at).collect()
    }

    pub(super) fn skill(&self, at: u32) -> &Skill {
        &self.catalog.all()[at as usize]
    }

    /// Those of `listed` whose names come after `name`.
    pub(super) fn after<'l>(&self, listed: &'l [u32], name: Option<&str>) -> &'l [u32] {
        let Some(name) = name else { return listed };
        &listed[listed.partition_point(|at| self.skill(*at).name() <= name)..]
    }

    /// The names of the served skills that start with `typed`, in order.
    pub(super) fn names<'v>(&'v self, typed: &'v str) -> impl Iterator<Item = &'v str> {
        let served = self.served();
        let start = served.partition_point(|at| self.skill(*at).name() < typed);
        served[start..].iter().map(|at| self.skill(*at).name()).take_while(move |name| name.starts_with(typed))
    }

    /// The skills whose path or name starts with `typed`, in order: at most `limit` paths, and how many there are.
    pub(super) fn places(&self, typed: &str, limit: usize) -> (Vec<String>, usize) {
        let places = self.places.get_or_init(|| {
            let mut places = Vec::with_capacity(self.served().len());
            for at in self.served() {
                let skill = self.skill(*at);
                let Some(path) = uris::path(skill) else { continue };
                if path != skill.name() {
                    places.push((Box::from(skill.name()), *at));
                }
                places.push((path.into_boxed_str(), *at));
            }
            places.sort_unstable();
            places
        });
        let start = places.partition_point(|(key, _)| &**key < typed);
        let mut total = 0;
        let mut found: Vec<String> = Vec::new();
        for (key, at) in places[start..].iter().take_while(|(key, _)| key.starts_with(typed)) {
            let skill = self.skill(*at);
            // A skill that is found by its path is not found again by its name.
            if **key == *skill.name() && uris::path(skill).is_some_and(|path| path != **key && path.starts_with(typed))
            {
                continue;
            }
            total += 1;
            if found.len() < limit {
                found.extend(uris::path(skill));
            }
        }
        (found, total)
    }

    /// What clients are told when they connect.
    pub(super) fn instructions(&self, skillcue: &Skillcue) -> Option<Arc<str>> {
        self.instructions.get_or_init(|| super::instructions::of(skillcue)).clone()
    }
}

/// Whether the skill can be had from this server: it is usable, and not another server's.
fn is_ours(skill: &Skill) -> bool {
    skill.is_usable() && skill.source() != Source::Mcp
}

/// Whether the skill is served as a resource.
pub(super) fn is_served(skill: &Skill) -> bool {
    is_ours(skill) && skill.is_for_models()
}

/// Whether the skill is served as a prompt, which a person calls.
pub(super) fn is_prompt(skill: &Skill) -> bool {
    is_ours(skill) && skill.manifest().user_invocable()
}

fn is_invocable_once(skill: &Skill) -> bool {
    // Whatever way it is spelled. Nearly no skill says it, and parsing all of them takes its time.
    !skill.front_matter().contains("nvocable") || skill.make_manifest().user_invocable()
}
