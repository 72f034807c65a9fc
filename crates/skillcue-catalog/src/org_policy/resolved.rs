//! The origins of skills by the real paths of their directories: a link to the directory of an installed skill is that skill.
//! A `SKILL.md` that is a link to an installed one has the files of its own directory, and their origin.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
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

    /// Returns the origin of a skill: of a server, or of the directory in which it is, by whatever path it was found. Its files
    /// and scripts are those of this directory, also where its `SKILL.md` is a link to another one.
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
        let root = self.real_roots.get(skill.root().rank as usize).and_then(Option::as_ref);
        let below_root = root.map(|real| real.join(OsStr::from_bytes(skill.bytes(skill.rel))));
        skill.canonical().into_iter().chain(below_root.as_deref()).find_map(|dir| self.of_real_dir(dir))
    }

    /// Returns the origin of the directory that a linked `SKILL.md` leads to. It may close the skill, and opens nothing: the
    /// skill's other files are not from there.
    pub(super) fn of_linked_file(&self, skill: &Skill) -> Option<&SkillOrigin> {
        self.of_real_dir(skill.extra.as_deref()?.real_dir.as_deref()?)
    }

    fn of_real_dir(&self, dir: &Path) -> Option<&SkillOrigin> {
        dir.ancestors().find_map(|dir| self.real_dirs.get(dir))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Catalog, Discovery, OrgPolicy, PolicyGate, SkillRoot, Source};

    fn gate(text: &str) -> Arc<PolicyGate> {
        Arc::new(PolicyGate::new(OrgPolicy::parse(text.as_bytes(), "policy.toml").unwrap(), None))
    }

    /// An installed skill `tool`, and links of four kinds to it, each in a directory of its own below `links`.
    struct Linked {
        home: tempfile::TempDir,
        origins: Arc<SkillOrigins>,
    }

    impl Linked {
        fn new() -> Linked {
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
            Linked { origins: Arc::new(SkillOrigins { dirs, ..SkillOrigins::default() }), home }
        }

        fn catalog(&self, root: &str, policy: &str) -> Catalog {
            let root = SkillRoot::new(self.home.path().join(root), Source::User);
            Discovery::new([root]).origins(Arc::clone(&self.origins)).policy(gate(policy)).run()
        }

        fn is_closed(&self, root: &str, policy: &str) -> bool {
            self.catalog(root, policy).get("tool").unwrap().refusal().is_some()
        }
    }

    const FORBIDDEN: [&str; 3] = [
        "[sources]\nallow = ['user']\n",
        "[forbid]\norigins = ['/srv/src*']\n",
        "[forbid]\norigins = ['installed:/srv/*']\n",
    ];
    const ALLOWED: &str = "[sources]\nallow = ['installed:/srv/*']\n[forbid]\norigins = ['user:/srv/*']\n";

    #[test]
    fn a_link_to_an_installed_skill_has_its_origin() {
        let linked = Linked::new();
        // The last is the real path of the registry's directory.
        for root in ["links/dir", "links/below", "links/root", "data/skills"] {
            for policy in FORBIDDEN {
                assert!(linked.is_closed(root, policy), "{root}: {policy}");
            }
            assert!(!linked.is_closed(root, ALLOWED), "{root}");
        }
    }

    /// Its scripts are those of its own directory.
    #[test]
    fn a_linked_skill_file_opens_nothing() {
        let linked = Linked::new();
        for policy in FORBIDDEN.into_iter().chain([ALLOWED]) {
            assert!(linked.is_closed("links/file", policy), "{policy}");
        }
        let both = "[sources]\nallow = ['installed', 'user']\n";
        assert!(!linked.is_closed("links/file", both), "what is allowed from both sides stays open");
        let required = "[[require]]\nname = 'tool'\nsource = 'installed'\n";
        assert!(!linked.catalog("links/file", required).get("tool").unwrap().is_required());
        assert!(linked.catalog("links/dir", required).get("tool").unwrap().is_required());
        // Without an auditor, all that is not exempt is closed.
        let audited = "[audit]\nrefuse = 'high'\nexempt = ['installed']\n";
        assert!(linked.is_closed("links/file", audited));
        assert!(!linked.is_closed("links/dir", audited));
    }

    /// Otherwise a checkout could close what the policy requires.
    #[test]
    fn a_link_of_a_project_does_not_change_the_source_of_a_skill() {
        let linked = Linked::new();
        let policy = "[sources]\nallow = ['user']\n[[require]]\nname = 'tool'\nsource = 'user'\n";
        for project in ["links/dir", "links/below", "links/root"] {
            let root = |dir: &str, source| SkillRoot::new(linked.home.path().join(dir), source);
            let roots = [root(project, Source::Project), root("data/skills", Source::User)];
            let catalog = Discovery::new(roots).policy(gate(policy)).run();
            let tool = catalog.get("tool").unwrap();
            assert!(tool.is_required() && tool.source() == Source::User, "{project}: {:?}", tool.refusal());
            assert_eq!(catalog.all().len(), 1, "{project}");
        }
    }
}
