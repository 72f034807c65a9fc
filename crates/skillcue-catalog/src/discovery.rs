//! Discovery: roots in, a catalog out.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use rayon::prelude::*;
use skillcue_format::{Code, Diagnostic};

use crate::candidate::InvalidSkill;
use crate::catalog::CatalogRules;
use crate::checkout::Origins;
use crate::discovery_state::{DiscoveryState, TouchedDirs};
use crate::index_cache::{IndexCache, encode};
use crate::org_policy::ResolvedOrigins;
use crate::parallel::{all_pairs, sort_by};
use crate::section::{RootSection, SectionEntry, is_recent};
use crate::walk::{Findings, walk};
use crate::{
    Catalog, Checkout, Enablement, PolicyGate, RemoteSkill, Skill, SkillFile, SkillOrigins, SkillRoot, Source,
};
use skillcue_base::os_message;

/// A search for skills, configured.
///
/// ```
/// use skillcue_catalog::{Discovery, SkillRoot, Source};
///
/// let dir = tempfile::tempdir()?;
/// std::fs::create_dir(dir.path().join("pdf"))?;
/// std::fs::write(dir.path().join("pdf/SKILL.md"), "---\nname: pdf\ndescription: Reads PDF files.\n---\n# How\n")?;
///
/// let catalog = Discovery::new([SkillRoot::new(dir.path(), Source::Inline)]).run();
/// assert_eq!(catalog.get("pdf").unwrap().manifest().description(), "Reads PDF files.");
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct Discovery {
    roots: Vec<SkillRoot>,
    cache: Option<PathBuf>,
    search_path: Option<Vec<PathBuf>>,
    enablement: Enablement,
    nested: bool,
    remote: Arc<[RemoteSkill]>,
    checkout: Option<Checkout>,
    pub(crate) policy: Option<Arc<PolicyGate>>,
    pub(crate) origins: Arc<SkillOrigins>,
}

/// How much work a discovery was.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Effort {
    /// Skill files that were opened and read.
    pub read: usize,
    /// Skill files that were reused from the index cache or an earlier run.
    pub reused: usize,
}

impl Discovery {
    /// Searches below these roots. They are ordered by their source's precedence, those of one source as given.
    pub fn new(roots: impl IntoIterator<Item = SkillRoot>) -> Discovery {
        Discovery { roots: roots.into_iter().collect(), ..Discovery::default() }
    }

    /// Searches below these roots, too.
    #[must_use]
    pub fn and_roots(mut self, roots: impl IntoIterator<Item = SkillRoot>) -> Discovery {
        self.roots.extend(roots);
        self
    }

    /// Sets the file of the index cache, for a faster second start.
    #[must_use]
    pub fn cache(mut self, file: impl Into<PathBuf>) -> Discovery {
        self.cache = Some(file.into());
        self
    }

    /// Sets the directories in which programs that skills require are searched for. Without it every requirement counts
    /// as met.
    #[must_use]
    pub fn search_path(mut self, dirs: impl IntoIterator<Item = PathBuf>) -> Discovery {
        self.search_path = Some(dirs.into_iter().collect());
        self
    }

    /// Switches skills on and off.
    #[must_use]
    pub fn enablement(mut self, enablement: Enablement) -> Discovery {
        self.enablement = enablement;
        self
    }

    /// Sets the checkout: skills inside it are foreign, whichever root they are found below. See [`Skill::is_foreign`].
    #[must_use]
    pub fn checkout(mut self, checkout: Checkout) -> Discovery {
        self.checkout = Some(checkout);
        self
    }

    /// Sets whether to search for further skills inside skills.
    #[must_use]
    pub fn nested(mut self, nested: bool) -> Discovery {
        self.nested = nested;
        self
    }

    /// Sets the skills that servers list. No server is contacted.
    #[must_use]
    pub fn remote(mut self, listed: impl IntoIterator<Item = RemoteSkill>) -> Discovery {
        self.remote = listed.into_iter().collect();
        self
    }

    /// Runs the discovery. Never fails: errors are among the catalog's diagnostics.
    pub fn run(&self) -> Catalog {
        self.discover(None, None)
    }

    /// Runs the discovery again, and reads only files that changed since `state` was filled; fills it for the next run.
    /// With an empty state this is a [`run`](Discovery::run), which also uses the index cache; later runs do without
    /// that.
    ///
    /// `touched` are the real paths at which something changed since, as reported by a watcher of all roots. Then no
    /// system call is made for other files. Without it, the stamp of every file is checked.
    ///
    /// ```
    /// use skillcue_catalog::{Discovery, DiscoveryState, SkillRoot, Source};
    ///
    /// let dir = tempfile::tempdir()?.keep().canonicalize()?;
    /// for name in ["csv", "pdf"] {
    ///     std::fs::create_dir(dir.join(name))?;
    ///     let text = format!("---\nname: {name}\ndescription: As it was.\n---\n");
    ///     std::fs::write(dir.join(name).join("SKILL.md"), text)?;
    /// }
    /// let discovery = Discovery::new([SkillRoot::new(&dir, Source::Inline)]);
    /// let mut state = DiscoveryState::default();
    /// assert_eq!(discovery.run_again(&mut state, None).effort().read, 2);
    ///
    /// let file = dir.join("pdf/SKILL.md");
    /// std::fs::write(&file, "---\nname: pdf\ndescription: Reads PDF files.\n---\n")?;
    /// let catalog = discovery.run_again(&mut state, Some(&[file].into()));
    /// assert_eq!((catalog.effort().read, catalog.effort().reused), (1, 1));
    /// assert_eq!(catalog.get("pdf").unwrap().manifest().description(), "Reads PDF files.");
    /// # std::fs::remove_dir_all(&dir)?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn run_again(&self, state: &mut DiscoveryState, touched: Option<&BTreeSet<PathBuf>>) -> Catalog {
        self.discover(Some(state), touched)
    }

    fn discover(&self, mut state: Option<&mut DiscoveryState>, touched: Option<&BTreeSet<PathBuf>>) -> Catalog {
        let mut roots = self.roots.clone();
        roots.sort_by_key(|root| root.source);
        crate::remote::rename_parts(&mut roots, &self.remote, &self.origins);
        let roots: Vec<Arc<SkillRoot>> =
            (0..).zip(roots).map(|(rank, root)| Arc::new(SkillRoot { rank, ..root })).collect();
        let has_state = state.as_ref().is_some_and(|state| state.knows(roots.len()));
        let cache = self.cache.as_deref().filter(|_| !self.nested && !has_state).map(IndexCache::open);
        let scanned_ns = now_ns();
        let mut found = Vec::with_capacity(roots.len());
        let mut fresh_sections = Vec::new();
        for root in &roots {
            let section = match &mut state {
                Some(state) if has_state => state.take(root.rank),
                _ => cache.as_ref().and_then(|cache| cache.section(root)),
            };
            let touched = touched.filter(|_| has_state).zip(section.as_ref());
            let touched = touched.map(|(paths, section)| TouchedDirs::of(&root.path, section, paths));
            // Stamps that are not checked now are as old as they were.
            let scanned_ns = touched.as_ref().zip(section.as_ref()).map_or(scanned_ns, |(_, old)| old.scanned_ns);
            let findings = walk(root, section.as_ref(), touched.as_ref(), self.nested);
            let contents = RootContents::of(findings, section, scanned_ns);
            if cache.is_some() && contents.changed {
                fresh_sections.push(encode(root, &contents.section(scanned_ns)));
            }
            if let Some(state) = state.as_mut().filter(|_| !self.nested) {
                state.put(root.rank, contents.section(scanned_ns));
            }
            found.push(contents);
        }
        let mut failure = None;
        if let (Some(cache), Some(path), false) = (cache, &self.cache, fresh_sections.is_empty()) {
            failure = cache.write(path, &fresh_sections).err().map(|error| {
                let message = format!("the index cache could not be written: {}", os_message(&error));
                let help = "the next start will be slower; check that the directory can be written";
                Diagnostic::new(Code::IndexCache, message).with_help(help).at(path.clone())
            });
        }
        self.assemble(&roots, found, failure)
    }

    fn assemble(&self, roots: &[Arc<SkillRoot>], found: Vec<RootContents>, failure: Option<Diagnostic>) -> Catalog {
        let mut effort = Effort::default();
        let mut skills: Vec<Box<Skill>> = Vec::new();
        let mut invalid: Vec<InvalidSkill> = Vec::new();
        let mut diagnostics: Vec<Diagnostic> = failure.into_iter().collect();
        let mut followed = false;
        // Real paths of the roots that are not empty: each costs a system call for every directory above.
        let mut real: Vec<Option<PathBuf>> = Vec::with_capacity(found.len());
        for (root, mut contents) in roots.iter().zip(found) {
            let is_empty = contents.skills.is_empty() && contents.invalid.is_empty();
            real.push(if is_empty { None } else { root.path.canonicalize().ok() });
            effort.read += contents.opened;
            effort.reused += contents.reused;
            followed |= contents.followed;
            invalid.append(&mut contents.invalid);
            diagnostics.append(&mut contents.diagnostics);
            diagnostics.extend(contents.remarks.into_iter().map(|(_, found)| found));
            if skills.is_empty() {
                skills = contents.skills;
            } else {
                skills.append(&mut contents.skills);
            }
        }
        if followed || overlap(&real) {
            let dropped = drop_duplicates(&mut skills, &mut invalid);
            diagnostics.retain(|found| found.path.as_ref().is_none_or(|path| !dropped.contains(path)));
        }
        let gate = self.policy.as_ref().filter(|gate| !gate.policy().is_empty());
        let gate = gate.map(|gate| (gate, Arc::new(ResolvedOrigins::new(&self.origins, &real))));
        let origins = Origins::new(self.checkout.as_ref(), roots, real);
        let namespaces = crate::remote::Namespaces { remote: &self.remote, servers: &self.origins, roots };
        namespaces.drop_foreign(&mut skills, &origins, &mut diagnostics);
        if !self.remote.is_empty() {
            skills.append(&mut namespaces.skills(&origins, &mut diagnostics));
        }
        if let Some((gate, known)) = &gate {
            skills.par_iter_mut().for_each(|skill| {
                let standing = gate.standing(skill, origins.is_foreign(skill), known);
                if standing.refusal.is_some() || standing.is_required {
                    skill.extra_mut().standing = standing;
                }
            });
            gate.keep();
        }
        sort_skills(&mut skills);
        let mut programs = ProgramLookup { dirs: self.search_path.as_deref(), known: HashMap::new() };
        let policy = gate.map(|(gate, known)| (Arc::clone(gate), known));
        let rules = CatalogRules { enablement: &self.enablement, origins, policy };
        Catalog::assemble(skills, invalid, diagnostics, &rules, effort, &mut |skill| programs.missing(skill))
    }
}

/// The skills and findings of one root, whether they were read now or reused from a section.
struct RootContents {
    skills: Vec<Box<Skill>>,
    remarks: Vec<(u32, Diagnostic)>,
    invalid: Vec<InvalidSkill>,
    diagnostics: Vec<Diagnostic>,
    dirs: Vec<crate::walk::ListedDir>,
    volatile: Vec<Box<[u8]>>,
    followed: bool,
    opened: usize,
    reused: usize,
    /// Whether the index cache should be written anew.
    changed: bool,
}

impl RootContents {
    fn of(mut findings: Findings, section: Option<RootSection>, scanned_ns: i128) -> RootContents {
        let reused = findings.reused.len() + findings.reused_invalid.len();
        // A root that does not exist, or is empty, is not worth caching.
        let something = !(findings.skills.is_empty() && findings.invalid.is_empty() && findings.dirs.is_empty());
        let mut contents = RootContents {
            skills: Vec::new(),
            remarks: Vec::new(),
            invalid: Vec::new(),
            diagnostics: std::mem::take(&mut findings.diagnostics),
            dirs: std::mem::take(&mut findings.dirs),
            volatile: std::mem::take(&mut findings.volatile),
            followed: findings.followed,
            opened: findings.opened,
            reused,
            changed: something,
        };
        if let Some(section) = section {
            let all = findings.reused.len() == section.skills.len();
            // Skills behind links and the like are read anew each time and are no change. Nor is an unchanged file
            // whose stamp is still too recent to be trusted.
            let excused =
                findings.skills.iter().filter(|skill| is_unchanged_but_recent(skill, &section, scanned_ns)).count();
            let cacheable = findings.skills.iter().filter(|skill| is_cacheable(skill)).count();
            let news = cacheable > excused || findings.invalid.iter().any(is_cacheable_invalid);
            contents.changed = !(findings.reused.len() + excused == section.skills.len()
                && !news
                && findings.reused_invalid.len() == section.invalid.len()
                && contents.dirs.len() == section.dirs.len()
                && contents.dirs.iter().all(|dir| {
                    section.dir(&dir.rel).and_then(|n| section.listed(n)).is_some_and(|old| old.stamp == dir.stamp)
                }));
            contents.keep(section, &findings, all);
        }
        contents.invalid.append(&mut findings.invalid);
        if contents.skills.is_empty() {
            contents.skills = findings.skills;
        } else {
            contents.skills.append(&mut findings.skills);
        }
        contents
    }

    /// Takes over the entries of a section that are still valid.
    fn keep(&mut self, section: RootSection, findings: &Findings, all: bool) {
        if all {
            self.skills = section.skills;
            self.remarks = section.remarks;
        } else {
            let kept: HashSet<u32> = findings.reused.iter().copied().collect();
            let mut numbers = HashMap::with_capacity(kept.len());
            for (number, skill) in (0..).zip(section.skills) {
                if kept.contains(&number) {
                    numbers.insert(number, self.skills.len());
                    self.skills.push(skill);
                }
            }
            for (number, found) in section.remarks {
                if let Some(new) = numbers.get(&number) {
                    self.remarks.push((u32::try_from(*new).unwrap_or(u32::MAX), found));
                }
            }
        }
        let kept: HashSet<u32> = findings.reused_invalid.iter().copied().collect();
        self.invalid =
            (0..).zip(section.invalid).filter(|(n, _)| kept.contains(n)).map(|(_, invalid)| invalid).collect();
    }

    /// Returns the section to cache for the next run.
    fn section(&self, scanned_ns: i128) -> RootSection {
        let mut section = RootSection { scanned_ns, ..RootSection::default() };
        let mut cacheable: Vec<&Skill> =
            self.skills.iter().map(AsRef::as_ref).filter(|skill| is_cacheable(skill)).collect();
        sort_by(&mut cacheable, |a, b| (a.bytes(a.name), a.bytes(a.rel)).cmp(&(b.bytes(b.name), b.bytes(b.rel))));
        let mut by_path: HashMap<PathBuf, Vec<&Diagnostic>> = HashMap::new();
        for found in self.diagnostics.iter().chain(self.remarks.iter().map(|(_, found)| found)) {
            if let Some(path) = &found.path {
                by_path.entry(path.clone()).or_default().push(found);
            }
        }
        for (number, skill) in (0..).zip(&cacheable) {
            section.skills.push(Box::new(skill.to_cached()));
            if !by_path.is_empty()
                && let Some(found) = by_path.get(&skill.path())
            {
                section.remarks.extend(found.iter().map(|found| (number, (*found).clone())));
            }
        }
        for invalid in &self.invalid {
            if is_cacheable_invalid(invalid) {
                section.invalid.push(invalid.clone());
            } else {
                section.volatile.push(invalid.rel.clone());
            }
        }
        let odd = self.skills.iter().filter(|skill| !is_cacheable(skill) && skill.canonical().is_none());
        section.volatile.extend(odd.map(|skill| skill.bytes(skill.rel).into()));
        section.volatile.extend(self.volatile.iter().cloned());
        section.dirs.clone_from(&self.dirs);
        section.dirs.sort_by(|a, b| a.rel.cmp(&b.rel));
        section.index_children();
        section
    }
}

/// Returns whether a cached skill can be validated by its file's stamp alone.
fn is_cacheable(skill: &Skill) -> bool {
    skill.file == SkillFile::Markdown && skill.extra.is_none()
}

fn is_cacheable_invalid(invalid: &InvalidSkill) -> bool {
    invalid.stamp.is_some() && invalid.file == SkillFile::Markdown
}

/// Returns whether a skill was read again only because its stamp is too recent, and is unchanged.
fn is_unchanged_but_recent(skill: &Skill, section: &RootSection, scanned_ns: i128) -> bool {
    let Some(SectionEntry::Skill(number)) = section.file(skill.bytes(skill.rel)) else { return false };
    is_cacheable(skill)
        && is_recent(skill.stamp(), scanned_ns)
        && section.skill(number).is_some_and(|old| old.stamp == skill.stamp && old.digest() == skill.digest())
}

fn now_ns() -> i128 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i128::try_from(since.as_nanos()).unwrap_or(i128::MAX)
}

/// Returns whether one root is inside another, or two are the same directory.
fn overlap(real: &[Option<PathBuf>]) -> bool {
    let real: Vec<&PathBuf> = real.iter().flatten().collect();
    real.iter().enumerate().any(|(at, a)| real[..at].iter().any(|b| a.starts_with(b) || b.starts_with(a)))
}

/// Removes duplicates of skills and invalid files: of one directory that is reached in several ways, keeps the one of
/// highest precedence; a real path before a link. A project's link to a skill that another source has is left out before that:
/// it would give the skill another source, which rules of a policy are about. Returns the files that were removed.
fn drop_duplicates(skills: &mut Vec<Box<Skill>>, invalid: &mut Vec<InvalidSkill>) -> HashSet<PathBuf> {
    let mut real_roots: HashMap<u32, PathBuf> = HashMap::new();
    let mut order: Vec<(u32, bool, PathBuf, PathBuf)> = Vec::with_capacity(skills.len());
    let (mut links_of_project, mut of_others) = (HashSet::new(), HashSet::new());
    for skill in &*skills {
        let rank = skill.arena.root.rank;
        let linked = skill.canonical();
        let real = linked.map_or_else(
            || {
                let root = &skill.arena.root.path;
                let base =
                    real_roots.entry(rank).or_insert_with(|| root.canonicalize().unwrap_or_else(|_| root.clone()));
                base.join(std::ffi::OsStr::from_bytes(skill.bytes(skill.rel)))
            },
            Path::to_path_buf,
        );
        let (path, real) = (skill.path(), real.join(skill.file.name()));
        if skill.source() != Source::Project {
            of_others.insert(real.clone());
        } else if real != path {
            links_of_project.insert(path.clone());
        }
        order.push((rank, linked.is_some(), path, real));
    }
    for (rank, bad) in (u32::MAX / 2..).zip(&*invalid) {
        let dir = bad.dir.canonicalize().unwrap_or_else(|_| bad.dir.clone());
        // A real path is its own canonical one; roots themselves may be links, but then all below them are.
        order.push((rank, dir != bad.dir, bad.path.clone(), dir.join(bad.file.name())));
    }
    order.sort_by(|a, b| (a.1, a.0, &a.2).cmp(&(b.1, b.0, &b.2)));
    order.sort_by_cached_key(|(rank, _, path, real)| {
        (links_of_project.contains(path) && of_others.contains(real), *rank)
    });
    let mut seen = HashSet::new();
    let mut kept = HashSet::new();
    let mut dropped = HashSet::new();
    for (_, _, path, real) in order {
        if seen.insert(real) {
            kept.insert(path);
        } else {
            dropped.insert(path);
        }
    }
    dropped.retain(|path| !kept.contains(path));
    // One path twice (one root given twice) is a duplicate as well.
    let mut left = kept;
    skills.retain(|skill| left.remove(&skill.path()));
    invalid.retain(|bad| left.remove(&bad.path));
    dropped
}

/// Sorts skills by name, then precedence (a policy's before that of roots), then path. Mostly they are in order already.
fn sort_skills(skills: &mut [Box<Skill>]) {
    let before = |a: &Skill, b: &Skill| {
        a.bytes(a.name)
            .cmp(b.bytes(b.name))
            .then_with(|| a.policy_rank().cmp(&b.policy_rank()))
            .then_with(|| a.arena.root.rank.cmp(&b.arena.root.rank))
            .then_with(|| a.bytes(a.rel).cmp(b.bytes(b.rel)))
    };
    if !all_pairs(skills, |a, b| before(a, b).is_le()) {
        sort_by(skills, |a, b| before(a, b));
    }
}

/// Finds out whether programs are installed, with one search of the file system for each.
struct ProgramLookup<'p> {
    dirs: Option<&'p [PathBuf]>,
    known: HashMap<String, bool>,
}

impl ProgramLookup<'_> {
    /// Returns the programs that a skill requires and that are not installed, as it names them.
    fn missing(&mut self, skill: &Skill) -> Vec<String> {
        let Some(dirs) = self.dirs.filter(|_| skill.demanding) else { return Vec::new() };
        let mut missing: Vec<String> = Vec::new();
        for program in skill.manifest().requires() {
            let there = *self.known.entry(program.to_owned()).or_insert_with(|| is_installed(dirs, program));
            if !there && !missing.iter().any(|known| known == program) {
                missing.push(program.to_owned());
            }
        }
        missing
    }
}

fn is_installed(dirs: &[PathBuf], program: &str) -> bool {
    let executable = |path: &Path| {
        path.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
    };
    // A path is not a program's name: a skill must not probe the file system.
    !program.contains('/') && dirs.iter().any(|dir| executable(&dir.join(program)))
}
