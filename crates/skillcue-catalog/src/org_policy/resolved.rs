//! The origins of skills by the real paths of their directories: a link to an installed skill is that skill.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;
use std::sync::Arc;

use super::gate::{SkillOrigin, SkillOrigins};
use crate::Skill;

/// The origins of skills as a policy sees them.
#[derive(Debug, Clone, Default)]
pub(crate) struct ResolvedOrigins {
    origins: Arc<SkillOrigins>,
    /// Those of directories, by real paths.
    real_dirs: HashMap<PathBuf, SkillOrigin>,
    /// The real paths of roots, by rank, where they are known.
    real_roots: Vec<Option<PathBuf>>,
}

impl ResolvedOrigins {
    /// Makes them for roots with these real paths, by rank. Without directories, no path is looked at.
    pub(crate) fn new(origins: &Arc<SkillOrigins>, real_roots: &[Option<PathBuf>]) -> ResolvedOrigins {
        let origins = Arc::clone(origins);
        if origins.dirs.is_empty() {
            return ResolvedOrigins { origins, ..ResolvedOrigins::default() };
        }
        // Most of the directories are in one: its real path is asked for once.
        let mut parents: HashMap<PathBuf, Option<PathBuf>> = HashMap::new();
        let mut real = |dir: &PathBuf| {
            let parent = dir.parent()?;
            let real = parents.entry(parent.to_path_buf()).or_insert_with(|| parent.canonicalize().ok());
            Some(real.as_ref()?.join(dir.file_name()?))
        };
        let real_dirs = origins.dirs.iter().filter_map(|(dir, origin)| Some((real(dir)?, origin.clone()))).collect();
        ResolvedOrigins { real_dirs, real_roots: real_roots.to_vec(), origins }
    }

    /// Returns the origin of a skill: of a server, or of the directory in which it is, by whatever path it was found.
    pub(super) fn of(&self, skill: &Skill) -> Option<&SkillOrigin> {
        if let Some(server) = skill.server() {
            return self.origins.servers.get(server);
        }
        if self.origins.dirs.is_empty() {
            return None;
        }
        if let Some(origin) = skill.dir().ancestors().find_map(|dir| self.origins.dirs.get(dir)) {
            return Some(origin);
        }
        let extra = skill.extra.as_deref();
        let links = extra.into_iter().flat_map(|extra| [&extra.canonical, &extra.real_dir]).flatten();
        let root = skill.root();
        let root = self.real_roots.get(root.rank as usize).and_then(Option::as_ref).filter(|real| **real != root.path);
        let below_root = root.map(|real| real.join(OsStr::from_bytes(skill.bytes(skill.rel))));
        links.chain(&below_root).find_map(|dir| dir.ancestors().find_map(|dir| self.real_dirs.get(dir)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Catalog, Discovery, OrgPolicy, PolicyGate, SkillRoot, Source};

    fn gate(text: &str) -> Arc<PolicyGate> {
        Arc::new(PolicyGate::new(OrgPolicy::parse(text.as_bytes(), "policy.toml").unwrap(), None))
    }

    /// An installed skill, found through links of four kinds only.
    #[test]
    fn a_link_to_an_installed_skill_has_its_origin() {
        let home = tempfile::tempdir().unwrap();
        let (installed, links) = (home.path().join("data/skills"), home.path().join("links"));
        std::fs::create_dir_all(installed.join("tool")).unwrap();
        std::fs::write(installed.join("tool/SKILL.md"), "---\nname: tool\ndescription: It.\n---\n").unwrap();
        for dir in ["dir", "below", "file/tool"] {
            std::fs::create_dir_all(links.join(dir)).unwrap();
        }
        let link = |to: PathBuf, at: PathBuf| std::os::unix::fs::symlink(to, at).unwrap();
        link(installed.join("tool"), links.join("dir/tool"));
        link(installed.clone(), links.join("below/all"));
        link(installed.join("tool/SKILL.md"), links.join("file/tool/SKILL.md"));
        link(installed, links.join("root"));
        // The registry's directory is itself known by a path with a link in it.
        link(home.path().join("data"), home.path().join("spelled"));
        let origin = SkillOrigin { source: Some("installed"), address: "/srv/src".to_owned(), keys: Vec::new() };
        let dirs = HashMap::from([(home.path().join("spelled/skills/tool"), origin)]);
        let origins = Arc::new(SkillOrigins { dirs, ..SkillOrigins::default() });
        let run = |root: &str, policy: &str| -> Catalog {
            let root = SkillRoot::new(links.join(root), Source::User);
            Discovery::new([root]).origins(Arc::clone(&origins)).policy(gate(policy)).run()
        };
        for root in ["dir", "below", "file", "root"] {
            for policy in [
                "[sources]\nallow = ['user']\n",
                "[forbid]\norigins = ['/srv/src*']\n",
                "[forbid]\norigins = ['installed:/srv/*']\n",
            ] {
                let catalog = run(root, policy);
                assert!(catalog.get("tool").unwrap().refusal().is_some(), "{root}: {policy}");
            }
            let allowed = run(root, "[sources]\nallow = ['installed:/srv/*']\n[forbid]\norigins = ['user:/srv/*']\n");
            assert!(allowed.get("tool").unwrap().refusal().is_none(), "{root}");
        }
    }
}
