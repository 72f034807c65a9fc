//! Roots in, a catalog out.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use skillcue_format::{Code, Diagnostic};

use crate::candidate::Invalid;
use crate::catalog::Rules;
use crate::checkout::Origins;
use crate::index_cache::{IndexCache, encode};
use crate::many::{all_pairs, sort_by};
use crate::memory::{Memory, Touched};
use crate::section::{Child, Section, is_young};
use crate::walk::{Findings, walk};
use crate::{Catalog, Checkout, RemoteSkill, Root, Skill, SkillFile};
use skillcue_base::os_message;

/// Which skills are switched on, beyond the defaults.
///
/// Names as [`Catalog::get`] takes them: a plain name means the skill that wins it, an address exactly one. What is enabled explicitly is on, what is disabled explicitly is off, and
/// everything else follows its source: on, except bundled skills that say otherwise, and what stands below a root that
/// is [off until enabled](Root::off_until_enabled).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Enablement {
    /// On, whatever else is said.
    pub enable: HashSet<String>,
    /// Off, unless enabled explicitly.
    pub disable: HashSet<String>,
    /// In place of the two above, what counts for skills that [came with a checkout](Skill::is_foreign): the checkout's own
    /// files have a say in those, and in no others.
    pub foreign: Option<Box<Enablement>>,
}

impl Enablement {
    /// What counts for a skill. `shared` are names that a checkout's skills have in common with the user's.
    pub(crate) fn of(&self, skill: &Skill, shared: &HashSet<String>) -> &Enablement {
        let is_theirs = skill.is_foreign() && !shared.contains(skill.name());
        self.foreign.as_deref().filter(|_| is_theirs).unwrap_or(self)
    }

    /// The names of the user's own skills among `skills` that a checkout's files switch: a skill of the same name, or a
    /// copy, would be a way to switch the user's.
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
                || skill.places().iter().any(|place| !place.root.foreign && place.root.source != crate::Source::Project)
        };
        let own = skills.iter().filter(|skill| words.contains(skill.name()) && is_own(skill));
        own.map(|skill| skill.name().to_owned()).collect()
    }
}

/// How to look for skills.
///
/// ```
/// use skillcue_catalog::{Discovery, Root, Source};
///
/// let dir = tempfile::tempdir()?;
/// std::fs::create_dir(dir.path().join("pdf"))?;
/// std::fs::write(dir.path().join("pdf/SKILL.md"), "---\nname: pdf\ndescription: Reads PDF files.\n---\n# How\n")?;
///
/// let catalog = Discovery::new([Root::new(dir.path(), Source::Inline)]).run();
/// assert_eq!(catalog.get("pdf").unwrap().manifest().description(), "Reads PDF files.");
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct Discovery {
    roots: Vec<Root>,
    cache: Option<PathBuf>,
    search_path: Option<Vec<PathBuf>>,
    enablement: Enablement,
    nested: bool,
    remote: Arc<[RemoteSkill]>,
    checkout: Option<Checkout>,
}

/// How much work a discovery was.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Effort {
    /// Skill files that were opened and read.
    pub read: usize,
    /// Skill files that the index cache vouched for.
    pub reused: usize,
}

impl Discovery {
    /// Looks below these roots. They are ordered by their source's precedence, those of one source as given.
    pub fn new(roots: impl IntoIterator<Item = Root>) -> Discovery {
        Discovery { roots: roots.into_iter().collect(), ..Discovery::default() }
    }

    /// Looks below these roots, too.
    #[must_use]
    pub fn and_roots(mut self, roots: impl IntoIterator<Item = Root>) -> Discovery {
        self.roots.extend(roots);
        self
    }

    /// Remembers what was seen in this file, for a faster second start.
    #[must_use]
    pub fn cache(mut self, file: impl Into<PathBuf>) -> Discovery {
        self.cache = Some(file.into());
        self
    }

    /// Where programs that skills require are looked for. Without it every requirement counts as met.
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

    /// Takes what is inside this checkout for what it is, by whatever root it is found: see [`Skill::is_foreign`].
    #[must_use]
    pub fn checkout(mut self, checkout: Checkout) -> Discovery {
        self.checkout = Some(checkout);
        self
    }

    /// Looks for further skills inside skills, too.
    #[must_use]
    pub fn nested(mut self, nested: bool) -> Discovery {
        self.nested = nested;
        self
    }

    /// Adds skills that servers list. Nobody is asked for them.
    #[must_use]
    pub fn remote(mut self, listed: impl IntoIterator<Item = RemoteSkill>) -> Discovery {
        self.remote = listed.into_iter().collect();
        self
    }

    /// Goes and looks. Never fails: what is wrong is among the catalog's diagnostics.
    pub fn run(&self) -> Catalog {
        self.go(None, None)
    }

    /// Goes and looks again, and reads only what changed since the memory was made; fills it for the next time. A memory
    /// that knows nothing makes it a [`run`](Discovery::run), index cache and all; later ones do without that.
    ///
    /// `touched`: somebody has watched all roots since, and nothing happened but at these real paths. Then nothing else is
    /// even asked about. Without it the system is asked about every file.
    ///
    /// ```
    /// use skillcue_catalog::{Discovery, Memory, Root, Source};
    ///
    /// let dir = tempfile::tempdir()?.keep().canonicalize()?;
    /// for name in ["csv", "pdf"] {
    ///     std::fs::create_dir(dir.join(name))?;
    ///     std::fs::write(dir.join(name).join("SKILL.md"), format!("---\nname: {name}\ndescription: As it was.\n---\n"))?;
    /// }
    /// let (discovery, mut memory) = (Discovery::new([Root::new(&dir, Source::Inline)]), Memory::default());
    /// assert_eq!(discovery.run_again(&mut memory, None).effort().read, 2);
    ///
    /// let file = dir.join("pdf/SKILL.md");
    /// std::fs::write(&file, "---\nname: pdf\ndescription: Reads PDF files.\n---\n")?;
    /// let catalog = discovery.run_again(&mut memory, Some(&[file].into()));
    /// assert_eq!((catalog.effort().read, catalog.effort().reused), (1, 1));
    /// assert_eq!(catalog.get("pdf").unwrap().manifest().description(), "Reads PDF files.");
    /// # std::fs::remove_dir_all(&dir)?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn run_again(&self, memory: &mut Memory, touched: Option<&BTreeSet<PathBuf>>) -> Catalog {
        self.go(Some(memory), touched)
    }

    fn go(&self, mut memory: Option<&mut Memory>, touched: Option<&BTreeSet<PathBuf>>) -> Catalog {
        let mut roots = self.roots.clone();
        roots.sort_by_key(|root| root.source);
        let roots: Vec<Arc<Root>> = (0..).zip(roots).map(|(rank, root)| Arc::new(Root { rank, ..root })).collect();
        let remembers = memory.as_ref().is_some_and(|memory| memory.knows(roots.len()));
        let cache = self.cache.as_deref().filter(|_| !self.nested && !remembers).map(IndexCache::open);
        let scanned_ns = now_ns();
        let mut found = Vec::with_capacity(roots.len());
        let mut fresh_sections = Vec::new();
        for root in &roots {
            let section = match &mut memory {
                Some(memory) if remembers => memory.take(root.rank),
                _ => cache.as_ref().and_then(|cache| cache.section(root)),
            };
            let touched = touched.filter(|_| remembers).zip(section.as_ref());
            let touched = touched.map(|(paths, section)| Touched::of(&root.path, section, paths));
            // Stamps that nobody has asked about are as old as they were.
            let scanned_ns = touched.as_ref().zip(section.as_ref()).map_or(scanned_ns, |(_, old)| old.scanned_ns);
            let findings = walk(root, section.as_ref(), touched.as_ref(), self.nested);
            let settled = Settled::of(findings, section, scanned_ns);
            if cache.is_some() && settled.changed {
                fresh_sections.push(encode(root, &settled.section(scanned_ns)));
            }
            if let Some(memory) = memory.as_mut().filter(|_| !self.nested) {
                memory.put(root.rank, settled.section(scanned_ns));
            }
            found.push(settled);
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

    fn assemble(&self, roots: &[Arc<Root>], found: Vec<Settled>, failure: Option<Diagnostic>) -> Catalog {
        let mut effort = Effort::default();
        let mut skills: Vec<Box<Skill>> = Vec::new();
        let mut invalid: Vec<Invalid> = Vec::new();
        let mut diagnostics: Vec<Diagnostic> = failure.into_iter().collect();
        let mut followed = false;
        // Real paths of the roots that have something: asking costs a system call for each directory above.
        let mut real: Vec<Option<PathBuf>> = Vec::with_capacity(found.len());
        for (root, mut settled) in roots.iter().zip(found) {
            let is_empty = settled.skills.is_empty() && settled.invalid.is_empty();
            real.push(if is_empty { None } else { root.path.canonicalize().ok() });
            effort.read += settled.opened;
            effort.reused += settled.reused;
            followed |= settled.followed;
            invalid.append(&mut settled.invalid);
            diagnostics.append(&mut settled.diagnostics);
            diagnostics.extend(settled.remarks.into_iter().map(|(_, found)| found));
            if skills.is_empty() {
                skills = settled.skills;
            } else {
                skills.append(&mut settled.skills);
            }
        }
        if followed || overlap(&real) {
            let dropped = drop_duplicates(&mut skills, &mut invalid);
            diagnostics.retain(|found| found.path.as_ref().is_none_or(|path| !dropped.contains(path)));
        }
        if !self.remote.is_empty() {
            skills.append(&mut crate::remote::skills(&self.remote, roots, &mut diagnostics));
        }
        sort_skills(&mut skills);
        let mut programs = Programs { dirs: self.search_path.as_deref(), known: HashMap::new() };
        let origins = Origins::new(self.checkout.as_ref(), roots, real);
        let rules = Rules { enablement: &self.enablement, origins };
        Catalog::put_together(skills, invalid, diagnostics, &rules, effort, &mut |skill| programs.missing(skill))
    }
}

/// What a root holds, whether it was read or remembered.
struct Settled {
    skills: Vec<Box<Skill>>,
    remarks: Vec<(u32, Diagnostic)>,
    invalid: Vec<Invalid>,
    diagnostics: Vec<Diagnostic>,
    findings_dirs: Vec<crate::walk::ListedDir>,
    again: Vec<Box<[u8]>>,
    followed: bool,
    opened: usize,
    reused: usize,
    /// Whether the index cache should be written anew.
    changed: bool,
}

impl Settled {
    fn of(mut findings: Findings, section: Option<Section>, scanned_ns: i128) -> Settled {
        let reused = findings.reused.len() + findings.reused_invalid.len();
        // A root that is not there, or holds nothing, is not worth remembering.
        let something = !(findings.skills.is_empty() && findings.invalid.is_empty() && findings.dirs.is_empty());
        let mut settled = Settled {
            skills: Vec::new(),
            remarks: Vec::new(),
            invalid: Vec::new(),
            diagnostics: std::mem::take(&mut findings.diagnostics),
            findings_dirs: std::mem::take(&mut findings.dirs),
            again: std::mem::take(&mut findings.again),
            followed: findings.followed,
            opened: findings.opened,
            reused,
            changed: something,
        };
        if let Some(section) = section {
            let all = findings.reused.len() == section.skills.len();
            // Skills behind links and the like are read anew each time and are no change. Nor is a file that is still
            // too young to be vouched for, if it has not changed.
            let excused = findings.skills.iter().filter(|skill| is_still_young(skill, &section, scanned_ns)).count();
            let memorable = findings.skills.iter().filter(|skill| is_memorable(skill)).count();
            let news = memorable > excused || findings.invalid.iter().any(is_memorable_invalid);
            settled.changed = !(findings.reused.len() + excused == section.skills.len()
                && !news
                && findings.reused_invalid.len() == section.invalid.len()
                && settled.findings_dirs.len() == section.dirs.len()
                && settled.findings_dirs.iter().all(|dir| {
                    section.dir(&dir.rel).and_then(|n| section.listed(n)).is_some_and(|old| old.stamp == dir.stamp)
                }));
            settled.keep(section, &findings, all);
        }
        settled.invalid.append(&mut findings.invalid);
        if settled.skills.is_empty() {
            settled.skills = findings.skills;
        } else {
            settled.skills.append(&mut findings.skills);
        }
        settled
    }

    /// Takes over what still holds.
    fn keep(&mut self, section: Section, findings: &Findings, all: bool) {
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

    /// What should be remembered.
    fn section(&self, scanned_ns: i128) -> Section {
        let mut section = Section { scanned_ns, ..Section::default() };
        let mut memorable: Vec<&Skill> =
            self.skills.iter().map(AsRef::as_ref).filter(|skill| is_memorable(skill)).collect();
        sort_by(&mut memorable, |a, b| (a.bytes(a.name), a.bytes(a.rel)).cmp(&(b.bytes(b.name), b.bytes(b.rel))));
        let mut by_path: HashMap<PathBuf, Vec<&Diagnostic>> = HashMap::new();
        for found in self.diagnostics.iter().chain(self.remarks.iter().map(|(_, found)| found)) {
            if let Some(path) = &found.path {
                by_path.entry(path.clone()).or_default().push(found);
            }
        }
        for (number, skill) in (0..).zip(&memorable) {
            section.skills.push(Box::new(skill.memory()));
            if !by_path.is_empty()
                && let Some(found) = by_path.get(&skill.path())
            {
                section.remarks.extend(found.iter().map(|found| (number, (*found).clone())));
            }
        }
        for invalid in &self.invalid {
            if is_memorable_invalid(invalid) {
                section.invalid.push(invalid.clone());
            } else {
                section.again.push(invalid.rel.clone());
            }
        }
        let odd = self.skills.iter().filter(|skill| !is_memorable(skill) && skill.canonical().is_none());
        section.again.extend(odd.map(|skill| skill.bytes(skill.rel).into()));
        section.again.extend(self.again.iter().cloned());
        section.dirs.clone_from(&self.findings_dirs);
        section.dirs.sort_by(|a, b| a.rel.cmp(&b.rel));
        section.adopt();
        section
    }
}

/// Whether the index cache can vouch for a skill by its file's stamp alone.
fn is_memorable(skill: &Skill) -> bool {
    skill.file == SkillFile::Markdown && skill.extra.is_none()
}

fn is_memorable_invalid(invalid: &Invalid) -> bool {
    invalid.stamp.is_some() && invalid.file == SkillFile::Markdown
}

/// Whether a skill was read again only because its stamp is too young, and is what the section says it is.
fn is_still_young(skill: &Skill, section: &Section, scanned_ns: i128) -> bool {
    let Some(Child::Skill(number)) = section.file(skill.bytes(skill.rel)) else { return false };
    is_memorable(skill)
        && is_young(skill.stamp(), scanned_ns)
        && section.skill(number).is_some_and(|old| old.stamp == skill.stamp && old.digest() == skill.digest())
}

fn now_ns() -> i128 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i128::try_from(since.as_nanos()).unwrap_or(i128::MAX)
}

/// Whether one root stands inside another, or two are the same directory.
fn overlap(real: &[Option<PathBuf>]) -> bool {
    let real: Vec<&PathBuf> = real.iter().flatten().collect();
    real.iter().enumerate().any(|(at, a)| real[..at].iter().any(|b| a.starts_with(b) || b.starts_with(a)))
}

/// Of skills, and of bad files, that are one directory reached in several ways, keeps the highest; a real path before a
/// link. Returns the files that went.
fn drop_duplicates(skills: &mut Vec<Box<Skill>>, invalid: &mut Vec<Invalid>) -> HashSet<PathBuf> {
    let mut real_roots: HashMap<u32, PathBuf> = HashMap::new();
    let mut order: Vec<(u32, bool, PathBuf, PathBuf)> = Vec::with_capacity(skills.len());
    for skill in &*skills {
        let rank = skill.shelf.root.rank;
        let linked = skill.canonical();
        let real = linked.map_or_else(
            || {
                let root = &skill.shelf.root.path;
                let base =
                    real_roots.entry(rank).or_insert_with(|| root.canonicalize().unwrap_or_else(|_| root.clone()));
                base.join(std::ffi::OsStr::from_bytes(skill.bytes(skill.rel)))
            },
            Path::to_path_buf,
        );
        order.push((rank, linked.is_some(), skill.path(), real.join(skill.file.name())));
    }
    for (rank, bad) in (u32::MAX / 2..).zip(&*invalid) {
        let dir = bad.dir.canonicalize().unwrap_or_else(|_| bad.dir.clone());
        // A real path is its own canonical one; roots themselves may be links, but then all below them are.
        order.push((rank, dir != bad.dir, bad.path.clone(), dir.join(bad.file.name())));
    }
    order.sort_by(|a, b| (a.1, a.0, &a.2).cmp(&(b.1, b.0, &b.2)));
    order.sort_by_key(|(rank, ..)| *rank);
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
    // The same path twice (one root given twice) is one too many as well.
    let mut left = kept;
    skills.retain(|skill| left.remove(&skill.path()));
    invalid.retain(|bad| left.remove(&bad.path));
    dropped
}

/// By name, then precedence, then place. Mostly they are in order already.
fn sort_skills(skills: &mut [Box<Skill>]) {
    let before = |a: &Skill, b: &Skill| {
        a.bytes(a.name)
            .cmp(b.bytes(b.name))
            .then_with(|| a.shelf.root.rank.cmp(&b.shelf.root.rank))
            .then_with(|| a.bytes(a.rel).cmp(b.bytes(b.rel)))
    };
    if !all_pairs(skills, |a, b| before(a, b).is_le()) {
        sort_by(skills, |a, b| before(a, b));
    }
}

/// Answers whether programs are there, asking the file system once each.
struct Programs<'p> {
    dirs: Option<&'p [PathBuf]>,
    known: HashMap<String, bool>,
}

impl Programs<'_> {
    /// The programs that a skill requires and that are not there, as it names them.
    fn missing(&mut self, skill: &Skill) -> Vec<String> {
        let Some(dirs) = self.dirs.filter(|_| skill.demanding) else { return Vec::new() };
        let mut missing: Vec<String> = Vec::new();
        for program in skill.manifest().requires() {
            let there = *self.known.entry(program.to_owned()).or_insert_with(|| is_there(dirs, program));
            if !there && !missing.iter().any(|known| known == program) {
                missing.push(program.to_owned());
            }
        }
        missing
    }
}

fn is_there(dirs: &[PathBuf], program: &str) -> bool {
    let executable = |path: &Path| {
        path.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
    };
    // A path is no program's name: a skill must not probe the file system.
    !program.contains('/') && dirs.iter().any(|dir| executable(&dir.join(program)))
}
