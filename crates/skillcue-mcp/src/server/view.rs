//! The server's view of one catalog, made when first needed.

use std::sync::{Arc, OnceLock};

use skillcue::{Catalog, Skill, Skillcue, Source};

use super::uris;

/// One catalog as clients see it. A holder sees one generation throughout.
#[derive(Debug)]
pub(super) struct CatalogView {
    pub(super) catalog: Arc<Catalog>,
    served: OnceLock<Vec<u32>>,
    prompts: OnceLock<Vec<u32>>,
    paths: OnceLock<Vec<(Box<str>, u32)>>,
    instructions: OnceLock<Option<Arc<str>>>,
}

impl CatalogView {
    pub(super) fn new(catalog: Arc<Catalog>) -> CatalogView {
        CatalogView {
            catalog,
            served: OnceLock::new(),
            prompts: OnceLock::new(),
            paths: OnceLock::new(),
            instructions: OnceLock::new(),
        }
    }

    /// Returns the skills that are served as resources, sorted by name.
    pub(super) fn served(&self) -> &[u32] {
        self.served.get_or_init(|| self.indexes(|skill| is_served(skill) && uris::prefix(skill).is_some()))
    }

    /// Returns the skills that are served as prompts, sorted by name.
    pub(super) fn prompts(&self) -> &[u32] {
        self.prompts.get_or_init(|| self.indexes(|skill| is_ours(skill) && is_invocable_once(skill)))
    }

    fn indexes(&self, is_wanted: impl Fn(&Skill) -> bool) -> Vec<u32> {
        (0_u32..).zip(self.catalog.all()).filter(|(_, skill)| is_wanted(skill)).map(|(at, _)| at).collect()
    }

    pub(super) fn skill(&self, at: u32) -> &Skill {
        &self.catalog.all()[at as usize]
    }

    /// Returns those of `listed` whose names come after `name`.
    pub(super) fn after<'l>(&self, listed: &'l [u32], name: Option<&str>) -> &'l [u32] {
        let Some(name) = name else { return listed };
        &listed[listed.partition_point(|at| self.skill(*at).name() <= name)..]
    }

    /// Returns the names of the served skills that start with `typed`, in order.
    pub(super) fn names<'v>(&'v self, typed: &'v str) -> impl Iterator<Item = &'v str> {
        let served = self.served();
        let start = served.partition_point(|at| self.skill(*at).name() < typed);
        served[start..].iter().map(|at| self.skill(*at).name()).take_while(move |name| name.starts_with(typed))
    }

    /// Returns the skills whose path or name starts with `typed`, in order: at most `limit` paths, and how many there
    /// are.
    pub(super) fn paths(&self, typed: &str, limit: usize) -> (Vec<String>, usize) {
        let paths = self.paths.get_or_init(|| {
            let mut paths = Vec::with_capacity(self.served().len());
            for at in self.served() {
                let skill = self.skill(*at);
                let Some(path) = uris::path(skill) else { continue };
                if path != skill.name() {
                    paths.push((Box::from(skill.name()), *at));
                }
                paths.push((path.into_boxed_str(), *at));
            }
            paths.sort_unstable();
            paths
        });
        let start = paths.partition_point(|(key, _)| &**key < typed);
        let mut total = 0;
        let mut found: Vec<String> = Vec::new();
        for (key, at) in paths[start..].iter().take_while(|(key, _)| key.starts_with(typed)) {
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

    /// Returns the instructions that clients get when they connect.
    pub(super) fn instructions(&self, skillcue: &Skillcue) -> Option<Arc<str>> {
        self.instructions.get_or_init(|| super::instructions::of(skillcue)).clone()
    }
}

/// Returns whether the skill is this server's own: it is usable, and on this machine's disk.
fn is_ours(skill: &Skill) -> bool {
    skill.is_usable() && skill.server().is_none()
}

/// Returns whether the skill is served as a resource: it is this server's own, or of a catalog that it reads. Skills of
/// other servers are not passed on. Whether one of a catalog may be loaded is asked when it is listed or read.
pub(super) fn is_served(skill: &Skill) -> bool {
    (is_ours(skill) || skill.is_usable() && skill.source() == Source::Catalog) && skill.is_for_models()
}

/// Returns whether the skill is served as a prompt, which a person calls.
pub(super) fn is_prompt(skill: &Skill) -> bool {
    is_ours(skill) && skill.manifest().user_invocable()
}

fn is_invocable_once(skill: &Skill) -> bool {
    // In either spelling. Nearly no skill has the field, and parsing all of them is slow.
    !skill.front_matter().contains("nvocable") || skill.make_manifest().user_invocable()
}
