//! The catalog: an immutable snapshot of every discovered skill's metadata.

use std::fmt;
use std::path::PathBuf;
use std::sync::OnceLock;

use hashbrown::HashTable;
use rayon::prelude::*;
use regex::Regex;
use serde::Serialize;
use skillcue_format::{Code, Diagnostic, MAX_FILE, Triggers};
use twox_hash::{XxHash3_64, XxHash3_128};

use crate::checkout::Origins;
use crate::discovery::{Effort, Enablement};
use crate::many::{MANY, all_pairs};
use crate::{Invalid, Skill, SkillDir, Source, TreeLimits};
use skillcue_base::Shown;

/// Every discovered skill, sorted by name, and what was found on the way. Immutable: share it by `Arc`, and let a
/// refresh make a new one.
#[derive(Debug)]
pub struct Catalog {
    /// Sorted by name, then precedence: of one name, the first is the one that counts.
    skills: Vec<Box<Skill>>,
    /// How many of them count.
    count: usize,
    invalid: Vec<Invalid>,
    diagnostics: Vec<Diagnostic>,
    effort: Effort,
    by_name: OnceLock<HashTable<u32>>,
    generation: OnceLock<Generation>,
}

/// Changes if and only if some skill's metadata does: not with bodies, file times or what is enabled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Generation(pub u128);

impl fmt::Display for Generation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

/// What decides about each skill when a catalog is put together.
pub(crate) struct Rules<'r> {
    pub(crate) enablement: &'r Enablement,
    pub(crate) origins: Origins<'r>,
}

impl Catalog {
    pub(crate) fn put_together(
        mut skills: Vec<Box<Skill>>,
        mut invalid: Vec<Invalid>,
        mut diagnostics: Vec<Diagnostic>,
        rules: &Rules<'_>,
        effort: Effort,
        missing: &mut dyn FnMut(&Skill) -> Vec<String>,
    ) -> Catalog {
        resolve_names(&mut skills, &rules.origins, &mut diagnostics);
        let shared = rules.enablement.shared(&skills, |skill| rules.origins.is_foreign(skill));
        // Skills lie all over memory: one pass over all of them, on all cores.
        let decide = |skill: &mut Box<Skill>| {
            skill.state.foreign = rules.origins.is_foreign(skill);
            skill.state.enabled = is_enabled(skill, rules.enablement.of(skill, &shared));
            (usize::from(!skill.shadowed()), usize::from(skill.demanding))
        };
        let add = |a: (usize, usize), b: (usize, usize)| (a.0 + b.0, a.1 + b.1);
        let (count, demanding) = if skills.len() < MANY {
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
        let mut catalog = Catalog { skills, count, invalid, diagnostics, effort, by_name, generation };
        let refused = catalog.refused_switches(rules.enablement, &shared);
        catalog.diagnostics.extend(refused);
        catalog.diagnostics.sort();
        catalog
    }

    /// What a checkout wanted to switch and may not: skills that are not its own.
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

    /// The skills that count, sorted by name: of each name the highest, and only those whose requirements are met.
    pub fn skills(&self) -> impl Iterator<Item = &Skill> {
        self.skills.iter().map(AsRef::as_ref).filter(|skill: &&Skill| !skill.shadowed() && skill.available())
    }

    /// All of them, shadowed and unavailable ones too.
    pub fn all(&self) -> &[Box<Skill>] {
        &self.skills
    }

    /// How many names there are.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Skill files that are not usable.
    pub fn invalid(&self) -> &[Invalid] {
        &self.invalid
    }

    /// Everything that was found on the way, sorted by file and place.
    pub fn diagnostics(&self) -> &[Diagnostic] {
        &self.diagnostics
    }

    /// How much work it was.
    pub fn effort(&self) -> Effort {
        self.effort
    }

    /// The skill of that name, in constant time. `name@source` and `plugin:name` reach those that a higher one hides.
    ///
    /// ```
    /// # use skillcue_catalog::{Discovery, Root, Source};
    /// let dir = tempfile::tempdir()?;
    /// for (root, text) in [("user", "Mine."), ("project", "Ours.")] {
    ///     std::fs::create_dir_all(dir.path().join(root).join("pdf"))?;
    ///     let file = format!("---\nname: pdf\ndescription: {text}\n---\n");
    ///     std::fs::write(dir.path().join(root).join("pdf/SKILL.md"), file)?;
    /// }
    /// let catalog = Discovery::new([
    ///     Root::new(dir.path().join("user"), Source::User),
    ///     Root::new(dir.path().join("project"), Source::Project),
    /// ])
    /// .run();
    /// assert_eq!(catalog.get("pdf").unwrap().manifest().description(), "Ours.");
    /// assert_eq!(catalog.get("pdf@user").unwrap().manifest().description(), "Mine.");
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn get(&self, address: &str) -> Option<&Skill> {
        let (place, nth) = match address.rsplit_once('#') {
            Some((place, nth)) => (place, nth.parse::<usize>().ok()?.checked_sub(1)?),
            None => (address, 0),
        };
        // Of servers, the names themselves have a colon.
        if let Some(skill) = self.named(place).nth(nth) {
            return Some(skill);
        }
        if let Some((name, source)) = place.rsplit_once('@') {
            let source = Source::from_word(source)?;
            return self.named(name).filter(|skill| skill.source() == source).nth(nth);
        }
        if let Some((plugin, name)) = place.split_once(':') {
            return self.named(name).filter(|skill| skill.plugin() == Some(plugin)).nth(nth);
        }
        None
    }

    /// All skills of a name, highest first.
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

    /// The invalid skill file that somebody who asks for `name` means.
    pub fn invalid_named(&self, name: &str) -> Option<&Invalid> {
        let is_called = |invalid: &&Invalid| invalid.dir_name() == name || invalid.name.as_deref() == Some(name);
        self.invalid.iter().find(is_called)
    }

    /// Names that somebody who wrote `name` may have meant, closest first. Never those of disabled or hidden skills.
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
        // A skill that only people may load must not be named to a model; its manifest is looked at last.
        let shown = |name: &&str| self.get(name).is_some_and(|skill| !skill.hides_from_models());
        close.into_iter().map(|(_, name)| name).filter(shown).take(3).collect()
    }

    /// The skills that pass a filter.
    pub fn select<'c>(&'c self, filter: &'c Filter) -> impl Iterator<Item = &'c Skill> {
        self.skills().filter(|skill| filter.passes(skill))
    }

    /// The lightweight entries that prompt building sees, of enabled and disabled skills alike. They own their data.
    pub fn index_entries(&self) -> Vec<IndexEntry> {
        self.skills().map(IndexEntry::of).collect()
    }

    /// An id of all metadata.
    pub fn generation(&self) -> Generation {
        *self.generation.get_or_init(|| {
            // Every place counts, whether it was shadowed or collapsed: which of the two may depend on bodies.
            let mut places = Vec::with_capacity(self.skills.len());
            for skill in &self.skills {
                places.extend(skill.places().into_iter().map(|place| (place.path, place.root, skill.digest())));
            }
            places.sort_by(|a, b| (&a.0, a.1.source).cmp(&(&b.0, b.1.source)));
            let mut bytes = Vec::with_capacity(places.len() * 96);
            for (path, root, digest) in places {
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

/// Decides, among skills sorted by name and precedence, which of one name counts; collapses identical copies.
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
            let place = skill.place();
            other.extra_mut().copies.push(place);
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

/// Equal front matter and equal file size: the same skill in two places, as far as level 1 can tell.
fn is_copy(a: &Skill, b: &Skill) -> bool {
    // What two servers list are two skills, however alike.
    let local = a.server().is_none() && b.server().is_none();
    local && a.stamp.size == b.stamp.size && a.file == b.file && a.front_matter() == b.front_matter()
}

/// Whether a checkout's skill that looks like a copy of the user's own says or brings something else. Only here bodies and
/// other files are read: else a checkout could put its own text or its own scripts in the place of a skill that the user
/// knows, without a word.
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

/// Whether two skills bring the same files: names, sizes, bytes. What cannot be compared counts as different.
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
    // An address says more than a name. A plain name means the skill that has it; one that is hidden has only its address.
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

/// Which skills to list.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// Only of this source.
    pub source: Option<Source>,
    /// Only names that match.
    pub name: Option<Regex>,
    /// Only descriptions that hold this word, in any case.
    pub keyword: Option<String>,
    /// Only enabled ones, or only disabled ones.
    pub enabled: Option<bool>,
}

impl Filter {
    /// Whether a skill passes all of it.
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

/// What prompt building sees of a skill: no body, no way back into the catalog.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct IndexEntry {
    /// The skill's name.
    pub name: String,
    /// What it does and when to use it.
    pub description: String,
    /// What it brings.
    pub types: Vec<String>,
    /// When to consider it.
    pub triggers: Triggers,
    /// Where it comes from.
    pub source: Source,
    /// Its directory.
    pub dir: PathBuf,
    /// Whether it is on.
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
