//! The catalog: an immutable snapshot of every discovered skill's metadata.

use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use hashbrown::HashTable;
use rayon::prelude::*;
use regex::Regex;
use serde::Serialize;
use skillcue_format::{Code, Diagnostic, MAX_FILE, Triggers};
use twox_hash::{XxHash3_64, XxHash3_128};

use crate::checkout::Origins;
use crate::discovery::Effort;
use crate::org_policy::ResolvedOrigins;
use crate::parallel::{MIN_PARALLEL, all_pairs};
use crate::{Enablement, InvalidSkill, OrgPolicy, PolicyGate, PolicyRefusal, Skill, SkillDir, Source, TreeLimits};
use skillcue_base::Shown;

/// Every discovered skill, sorted by name, and the diagnostics of the discovery. Immutable: share it by `Arc`, and let
/// a refresh make a new one.
#[derive(Debug)]
pub struct Catalog {
    /// Sorted by name, then precedence: of one name, the first is the one that counts.
    pub(crate) skills: Vec<Box<Skill>>,
    /// How many of them are not shadowed.
    pub(crate) count: usize,
    pub(crate) invalid: Vec<InvalidSkill>,
    pub(crate) diagnostics: Vec<Diagnostic>,
    pub(crate) effort: Effort,
    pub(crate) by_name: OnceLock<HashTable<u32>>,
    pub(crate) generation: OnceLock<Generation>,
    pub(crate) policy: Option<(Arc<PolicyGate>, Arc<ResolvedOrigins>)>,
}

/// An id of all metadata of a catalog. It changes if and only if some skill's metadata does: not with bodies, file
/// times or what is enabled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Generation(pub u128);

impl fmt::Display for Generation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

/// The rules by which a catalog decides about each skill.
pub(crate) struct CatalogRules<'r> {
    pub(crate) enablement: &'r Enablement,
    pub(crate) origins: Origins<'r>,
    pub(crate) policy: Option<(Arc<PolicyGate>, Arc<ResolvedOrigins>)>,
}

impl Catalog {
    pub(crate) fn assemble(
        mut skills: Vec<Box<Skill>>,
        mut invalid: Vec<InvalidSkill>,
        mut diagnostics: Vec<Diagnostic>,
        rules: &CatalogRules<'_>,
        effort: Effort,
        missing: &mut dyn FnMut(&Skill) -> Vec<String>,
    ) -> Catalog {
        resolve_names(&mut skills, &rules.origins, &mut diagnostics);
        let shared = rules.enablement.shared(&skills, |skill| rules.origins.is_foreign(skill));
        // Skills are scattered in memory: one pass over all of them, on all cores.
        let decide = |skill: &mut Box<Skill>| {
            skill.state.foreign = rules.origins.is_foreign(skill);
            skill.state.enabled = skill.refusal().is_none()
                && (skill.is_required() || is_enabled(skill, rules.enablement.of(skill, &shared)));
            (usize::from(!skill.shadowed()), usize::from(skill.demanding))
        };
        let add = |a: (usize, usize), b: (usize, usize)| (a.0 + b.0, a.1 + b.1);
        let (count, demanding) = if skills.len() < MIN_PARALLEL {
            skills.iter_mut().map(decide).fold((0, 0), add)
        } else {
            skills.par_iter_mut().map(decide).reduce(|| (0, 0), add)
        };
        for skill in skills.iter_mut().filter(|skill| skill.demanding).take(demanding) {
            let programs = missing(skill);
            let Some((last, others)) = programs.split_last() else { continue };
            skill.state.available = false;
            let (which, them) = if others.is_empty() {
                (format!("program `{last}`, which is"), "program")
            } else {
                (format!("programs `{}` and `{last}`, which are", others.join("`, `")), "programs")
            };
            let message = format!("`{}` requires the {which} not on the PATH", skill.name());
            let help = format!("install the {them}, or remove the skill");
            diagnostics.push(Diagnostic::new(Code::RequiresMissing, message).with_help(help).at(skill.path()));
        }
        invalid.sort_by(|a, b| a.path.cmp(&b.path));
        diagnostics.extend(invalid.iter().flat_map(|invalid| invalid.diagnostics.iter().cloned()));
        let (by_name, generation) = (OnceLock::new(), OnceLock::new());
        let policy = rules.policy.clone();
        let mut catalog = Catalog { skills, count, invalid, diagnostics, effort, by_name, generation, policy };
        let refused = catalog.refused_switches(rules.enablement, &shared);
        catalog.diagnostics.extend(refused);
        if let Some((gate, origins)) = &rules.policy {
            let found = gate.findings(&catalog, origins);
            catalog.diagnostics.extend(found);
        }
        catalog.diagnostics.sort();
        catalog
    }

    /// Returns diagnostics for the skills that a checkout's files switch and that are not its own.
    fn refused_switches(&self, enablement: &Enablement, shared: &std::collections::HashSet<String>) -> Vec<Diagnostic> {
        let Some(foreign) = enablement.foreign.as_deref() else { return Vec::new() };
        let mut refused = Vec::new();
        let off = foreign.disable.difference(&enablement.disable).map(|word| (word, false));
        let on = foreign.enable.difference(&enablement.enable).map(|word| (word, true));
        for (word, on) in off.chain(on) {
            if self
                .get(word)
                .is_some_and(|skill| (!skill.is_foreign() || shared.contains(skill.name())) && skill.enabled() != on)
            {
                let (to, verb) = if on { ("on", "enable") } else { ("off", "disable") };
                let shown = Shown(word);
                let message = format!("the project may not switch `{shown}` {to}: it is not one of its own skills");
                let help = format!("{verb} it yourself, or allow the project");
                let found = Diagnostic::new(Code::UntrustedSwitch, message).with_help(help);
                refused.push(found.with_excerpt(shown.to_string()));
            }
        }
        refused
    }

    /// Returns why the organisation's policy closes a skill as it is now: rules about content are asked again, because files
    /// may have changed since the discovery.
    pub fn refusal(&self, skill: &Skill) -> Option<PolicyRefusal> {
        let (gate, origins) = self.policy.as_ref()?;
        gate.refusal_now(skill, origins)
    }

    /// Returns the organisation's policy, if there is one.
    pub fn policy(&self) -> Option<&OrgPolicy> {
        Some(self.policy.as_ref()?.0.policy())
    }

    /// Returns a catalog of other skills that have the same names, in the same order, and the same decisions about them.
    pub(crate) fn replaced(&self, skills: Vec<Box<Skill>>) -> Catalog {
        Catalog {
            skills,
            count: self.count,
            invalid: self.invalid.clone(),
            diagnostics: self.diagnostics.clone(),
            effort: self.effort,
            by_name: OnceLock::new(),
            generation: OnceLock::new(),
            policy: self.policy.clone(),
        }
    }

    /// Returns the effective skills, sorted by name: of each name the one of highest precedence, and only those whose
    /// requirements are met.
    pub fn skills(&self) -> impl Iterator<Item = &Skill> {
        self.skills.iter().map(AsRef::as_ref).filter(|skill: &&Skill| !skill.shadowed() && skill.available())
    }

    /// Returns all skills, shadowed and unavailable ones too.
    pub fn all(&self) -> &[Box<Skill>] {
        &self.skills
    }

    /// Returns the number of distinct names.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Returns whether there is no skill.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Returns the skill files that cannot be used.
    pub fn invalid(&self) -> &[InvalidSkill] {
        &self.invalid
    }

    /// Returns the diagnostics of the discovery, sorted by file and position.
    pub fn diagnostics(&self) -> &[Diagnostic] {
        &self.diagnostics
    }

    /// Returns how much work the discovery was.
    pub fn effort(&self) -> Effort {
        self.effort
    }

    /// Returns the skill of that name, in constant time. `name@source` and `plugin:name` reach those that another
    /// shadows.
    ///
    /// ```
    /// # use skillcue_catalog::{Discovery, SkillRoot, Source};
    /// let dir = tempfile::tempdir()?;
    /// for (root, text) in [("user", "Mine."), ("project", "Ours.")] {
    ///     std::fs::create_dir_all(dir.path().join(root).join("pdf"))?;
    ///     let file = format!("---\nname: pdf\ndescription: {text}\n---\n");
    ///     std::fs::write(dir.path().join(root).join("pdf/SKILL.md"), file)?;
    /// }
    /// let catalog = Discovery::new([
    ///     SkillRoot::new(dir.path().join("user"), Source::User),
    ///     SkillRoot::new(dir.path().join("project"), Source::Project),
    /// ])
    /// .run();
    /// assert_eq!(catalog.get("pdf").unwrap().manifest().description(), "Ours.");
    /// assert_eq!(catalog.get("pdf@user").unwrap().manifest().description(), "Mine.");
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn get(&self, address: &str) -> Option<&Skill> {
        let (base, nth) = match address.rsplit_once('#') {
            Some((base, nth)) => (base, nth.parse::<usize>().ok()?.checked_sub(1)?),
            None => (address, 0),
        };
        // Of servers, the names themselves have a colon.
        if let Some(skill) = self.named(base).nth(nth) {
            return Some(skill);
        }
        if let Some((name, source)) = base.rsplit_once('@') {
            let source = Source::from_word(source)?;
            return self.named(name).filter(|skill| skill.source() == source).nth(nth);
        }
        if let Some((plugin, name)) = base.split_once(':') {
            return self.named(name).filter(|skill| skill.plugin() == Some(plugin)).nth(nth);
        }
        None
    }

    /// Returns all skills of a name, highest precedence first.
    pub fn named<'c>(&'c self, name: &str) -> impl Iterator<Item = &'c Skill> + use<'c> {
        let table = self.by_name.get_or_init(|| self.index());
        let first = table.find(hash(name), |at| self.skills[*at as usize].name() == name).map_or(0, |at| *at as usize);
        let same = self.skills[first..].iter().take_while(|skill| skill.name() == name).count();
        self.skills[first..first + same].iter().map(AsRef::as_ref)
    }

    fn index(&self) -> HashTable<u32> {
        let mut table = HashTable::with_capacity(self.count);
        let name = |at: &u32| hash(self.skills[*at as usize].name());
        for (at, skill) in (0_u32..).zip(&self.skills) {
            if !skill.shadowed() {
                table.insert_unique(name(&at), at, name);
            }
        }
        table
    }

    /// Returns the invalid skill file whose directory or front matter has this name.
    pub fn invalid_named(&self, name: &str) -> Option<&InvalidSkill> {
        let is_called = |invalid: &&InvalidSkill| invalid.dir_name() == name || invalid.name.as_deref() == Some(name);
        self.invalid.iter().find(is_called)
    }

    /// Returns names that are similar to `name`, closest first. Never those of disabled or hidden skills.
    pub fn close_names(&self, name: &str) -> Vec<&str> {
        let wanted = name.to_lowercase();
        let near = wanted.chars().count().div_ceil(3).min(3);
        let mut close: Vec<(usize, &str)> = self
            .skills()
            .filter(|skill| skill.enabled())
            .filter_map(|skill| {
                let other = skill.name();
                let distance = if other.len().abs_diff(wanted.len()) > 3 * near {
                    usize::MAX
                } else {
                    strsim::damerau_levenshtein(&wanted, other)
                };
                let part = wanted.len() > 2 && (other.contains(&wanted) || wanted.contains(other));
                (distance <= near || part).then_some((distance.min(near + 1), other))
            })
            .collect();
        close.sort_unstable();
        // A skill that only people may load must not be named to a model. Checked last, as it needs the manifest.
        let shown = |name: &&str| self.get(name).is_some_and(|skill| !skill.hides_from_models());
        close.into_iter().map(|(_, name)| name).filter(shown).take(3).collect()
    }

    /// Returns the skills that pass a filter.
    pub fn select<'c>(&'c self, filter: &'c Filter) -> impl Iterator<Item = &'c Skill> {
        self.skills().filter(|skill| filter.passes(skill))
    }

    /// Returns the lightweight entries for prompt building, of enabled and disabled skills alike. They own their data.
    pub fn index_entries(&self) -> Vec<IndexEntry> {
        self.skills().map(IndexEntry::of).collect()
    }

    /// Returns an id of all metadata. Computed once.
    pub fn generation(&self) -> Generation {
        *self.generation.get_or_init(|| {
            // Every location counts, whether it was shadowed or collapsed: which of the two may depend on bodies.
            let mut locations = Vec::with_capacity(self.skills.len());
            for skill in &self.skills {
                locations.extend(skill.locations().into_iter().map(|it| (it.path, it.root, skill.digest())));
            }
            locations.sort_by(|a, b| (&a.0, a.1.source).cmp(&(&b.0, b.1.source)));
            let mut bytes = Vec::with_capacity(locations.len() * 96);
            for (path, root, digest) in locations {
                let parts = [
                    path.as_os_str().as_encoded_bytes(),
                    root.source.as_str().as_bytes(),
                    root.plugin.as_deref().unwrap_or_default().as_bytes(),
                ];
                for part in parts {
                    bytes.extend_from_slice(part);
                    bytes.push(0);
                }
                bytes.extend_from_slice(&digest.to_le_bytes());
            }
            Generation(XxHash3_128::oneshot(&bytes))
        })
    }
}

/// Decides, among skills sorted by name and precedence, which one of a name is effective; collapses identical copies.
fn resolve_names(skills: &mut Vec<Box<Skill>>, origins: &Origins<'_>, diagnostics: &mut Vec<Diagnostic>) {
    let alone = all_pairs(skills, |a, b| a.bytes(a.name) != b.bytes(b.name));
    if alone {
        return;
    }
    let mut kept: Vec<Box<Skill>> = Vec::with_capacity(skills.len());
    let mut first = 0;
    for mut skill in std::mem::take(skills) {
        if kept.get(first).is_none_or(|winner| winner.name() != skill.name()) {
            first = kept.len();
            kept.push(skill);
            continue;
        }
        let twin = kept[first..].iter_mut().find(|other| is_copy(other, &skill) && !replaces(other, &skill, origins));
        if let Some(other) = twin {
            let location = skill.location();
            other.extra_mut().copies.push(location);
            continue;
        }
        let peers = kept[first..].iter().filter(|other| other.is_addressed_like(&skill)).count();
        skill.state.nth = u16::try_from(peers + 1).unwrap_or(u16::MAX);
        let address = skill.address();
        let winner = &kept[first];
        let message =
            format!("`{}` is hidden by the {} skill in {}", skill.name(), winner.source(), winner.dir().display());
        let help = format!("reach it as `{address}`, or rename one of the two");
        diagnostics.push(Diagnostic::new(Code::Shadowed, message).with_help(help).at(skill.path()));
        skill.state.shadowed = true;
        kept.push(skill);
    }
    *skills = kept;
}

/// Returns whether two skills are copies as far as level 1 can tell: their front matter and their file sizes are equal.
fn is_copy(a: &Skill, b: &Skill) -> bool {
    // Skills that two servers list are two skills, however similar.
    let local = a.server().is_none() && b.server().is_none();
    local && a.stamp.size == b.stamp.size && a.file == b.file && a.front_matter() == b.front_matter()
}

/// Returns whether a checkout's skill that looks like a copy of the user's own has another body or other files. Only
/// here bodies and other files are read: otherwise a checkout could silently put its own text or its own scripts in the
/// place of a skill that the user knows.
fn replaces(foreign: &Skill, own: &Skill, origins: &Origins<'_>) -> bool {
    if !origins.is_foreign(foreign) || origins.is_foreign(own) {
        return false;
    }
    let text = |skill: &Skill| {
        let file = skill.body_file();
        let Some(path) = file.body.path() else { return Some(Vec::new()) };
        SkillDir::open(skill.name(), &file.open_dir).ok()?.read(path, MAX_FILE).ok()
    };
    let (theirs, ours) = (text(foreign), text(own));
    theirs.is_none() || theirs != ours || !has_equal_files(foreign, own)
}

/// Returns whether two skills have the same files: names, sizes, bytes. Files that cannot be compared count as
/// different.
fn has_equal_files(foreign: &Skill, own: &Skill) -> bool {
    let files = |skill: &Skill| {
        let dir = SkillDir::open(skill.name(), &skill.dir()).ok()?;
        let listing = dir.list(&TreeLimits::default()).ok()?;
        let is_whole = listing.stopped.is_none() && listing.skipped.is_empty();
        is_whole.then_some((dir, listing.files))
    };
    let (Some((their_dir, theirs)), Some((our_dir, ours))) = (files(foreign), files(own)) else { return false };
    theirs == ours
        && theirs.iter().all(|file| {
            let read = |dir: &SkillDir| dir.read(&file.path, file.size).ok();
            read(&their_dir).is_some_and(|bytes| Some(bytes) == read(&our_dir))
        })
}

fn is_enabled(skill: &Skill, enablement: &Enablement) -> bool {
    // An address is more specific than a name. A plain name means the effective skill of that name; a shadowed one has
    // only its address.
    let address = skill.address();
    let plain = (!skill.shadowed()).then(|| skill.name());
    for word in [Some(address.as_str()), plain].into_iter().flatten() {
        if enablement.enable.contains(word) {
            return true;
        }
        if enablement.disable.contains(word) {
            return false;
        }
    }
    !skill.root().opt_in && (skill.source() != Source::Bundled || skill.manifest().default_enabled())
}

/// A filter for listings of skills.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// Only skills of this source.
    pub source: Option<Source>,
    /// Only names that match.
    pub name: Option<Regex>,
    /// Only descriptions that contain this word, in any case.
    pub keyword: Option<String>,
    /// Only enabled skills, or only disabled ones.
    pub enabled: Option<bool>,
}

impl Filter {
    /// Returns whether a skill passes all conditions.
    pub fn passes(&self, skill: &Skill) -> bool {
        self.source.is_none_or(|source| skill.source() == source)
            && self.enabled.is_none_or(|enabled| skill.enabled() == enabled)
            && self.name.as_ref().is_none_or(|name| name.is_match(skill.name()))
            && self
                .keyword
                .as_ref()
                .is_none_or(|word| skill.manifest().description().to_lowercase().contains(&word.to_lowercase()))
    }
}

/// The metadata of a skill for prompt building: no body, no reference to the catalog.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct IndexEntry {
    /// The skill's name.
    pub name: String,
    /// The description: what it does and when to use it.
    pub description: String,
    /// The kinds of things that it provides.
    pub types: Vec<String>,
    /// The triggers: when to consider it.
    pub triggers: Triggers,
    /// The source that it comes from.
    pub source: Source,
    /// Its directory.
    pub dir: PathBuf,
    /// Whether it is enabled.
    pub enabled: bool,
}

impl IndexEntry {
    fn of(skill: &Skill) -> IndexEntry {
        let manifest = skill.manifest();
        IndexEntry {
            name: skill.name().to_owned(),
            description: manifest.description().to_owned(),
            types: manifest.types().map(str::to_owned).collect(),
            triggers: manifest.triggers().clone(),
            source: skill.source(),
            dir: skill.dir(),
            enabled: skill.enabled(),
        }
    }
}

fn hash(name: &str) -> u64 {
    XxHash3_64::oneshot(name.as_bytes())
}
