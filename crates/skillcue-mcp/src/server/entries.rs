//! Skills as the extension lists them: verbatim front matter, and every file with its digest and size.
//!
//! An entry is computed from the files as they are, not from the catalog: front matter and digests describe the same
//! bytes. It is kept for as long as every file of the skill has the stamp it was computed from.

use std::collections::HashMap;
use std::io::Read as _;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Map, Value, json};
use skillcue::Skill;
use skillcue::catalog::{FileStamp, SkillDir, SkillFile, SkipReason, TreeLimits};
use skillcue::format::{Code, FileKind};
use skillcue::remote::RemoteEntry;
use skillcue_format::Parsed;

use super::{files, front_matter, uris};
use crate::digest;

/// How many files' digests are kept in one generation of the cache, which has two.
const MAX_KEPT_FILES: usize = 1 << 16;

/// How often reading a file that changes meanwhile is tried.
const MAX_ATTEMPTS: usize = 4;

/// A file written less than this before it was read may change again without its time changing.
const RACY_NS: i128 = 1_000_000_000;

/// An entry, or why the skill has none.
pub(super) type EntryResult = Result<Arc<Value>, Arc<str>>;

/// A cache of computed entries.
#[derive(Debug, Default)]
pub(super) struct EntryCache {
    kept: Mutex<CacheGenerations>,
}

/// Two generations: a requested entry moves to the young one, and when that is full the old one is dropped. That
/// forgets entries that were not requested lately, and costs nothing to keep in order.
#[derive(Debug, Default)]
struct CacheGenerations {
    young: HashMap<PathBuf, Arc<CachedEntry>>,
    old: HashMap<PathBuf, Arc<CachedEntry>>,
    files: usize,
}

#[derive(Debug)]
struct CachedEntry {
    files: Vec<(String, FileStamp)>,
    outcome: EntryResult,
}

impl CacheGenerations {
    fn get(&mut self, dir: &PathBuf) -> Option<Arc<CachedEntry>> {
        if let Some(known) = self.young.get(dir) {
            return Some(Arc::clone(known));
        }
        let (dir, known) = self.old.remove_entry(dir)?;
        self.put(dir, Arc::clone(&known));
        Some(known)
    }

    fn put(&mut self, dir: PathBuf, known: Arc<CachedEntry>) {
        let files = known.files.len() + 1;
        if self.files + files > MAX_KEPT_FILES {
            self.old = std::mem::take(&mut self.young);
            self.files = 0;
        }
        self.files += files;
        if let Some(before) = self.young.insert(dir, known) {
            self.files -= before.files.len() + 1;
        }
    }
}

impl EntryCache {
    /// Returns the entry of a skill. `is_new` is called with the reason why a skill has none, the first time.
    pub(super) fn of(&self, skill: &Skill, is_new: &mut dyn FnMut(&str)) -> EntryResult {
        let dir = skill.dir();
        let known = self.kept().get(&dir);
        let listed = list_files(skill);
        if let (Some(known), Ok(listed)) = (&known, &listed)
            && known.files == listed.files
        {
            return known.outcome.clone();
        }
        let (files, outcome) = match listed {
            Ok(listed) => {
                let root = uris::root(skill).ok_or_else(|| "its path is not UTF-8".to_owned());
                let outcome = root.and_then(|root| make_entry(skill, &listed, &root, &mut drop));
                (listed.files, outcome)
            }
            Err(reason) => (Vec::new(), Err(reason)),
        };
        let outcome = outcome.map(Arc::new).map_err(Arc::from);
        if let Err(reason) = &outcome
            && known.is_none_or(|known| known.outcome != outcome)
        {
            is_new(reason);
        }
        // The reason of a refusal is kept even if its stamps are young: it only shows whether it was reported.
        if outcome.is_err() || !is_racy(&files) {
            self.kept().put(dir, Arc::new(CachedEntry { files, outcome: outcome.clone() }));
        }
        outcome
    }

    fn kept(&self) -> std::sync::MutexGuard<'_, CacheGenerations> {
        // After a panic the cache is at worst incomplete.
        skillcue_base::lock(&self.kept)
    }
}

/// Returns whether one of the files may change without its stamp changing.
fn is_racy(files: &[(String, FileStamp)]) -> bool {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).ok();
    let now = now.and_then(|since| i128::try_from(since.as_nanos()).ok()).unwrap_or(0);
    files.iter().any(|(_, stamp)| now - stamp.modified_ns < RACY_NS)
}

/// The files of a skill, with their stamps.
struct SkillFiles {
    dir: SkillDir,
    /// Every file, the skill file first.
    files: Vec<(String, FileStamp)>,
}

/// Lists every file without reading any.
fn list_files(skill: &Skill) -> Result<SkillFiles, String> {
    if skill.file() != SkillFile::Markdown {
        return Err(format!("its skill file is called {}", skill.file().name()));
    }
    let dir = SkillDir::open(skill.name(), &skill.dir()).map_err(|error| error.to_string())?;
    let listing = dir.list(&TreeLimits::default()).map_err(|error| error.to_string())?;
    if let Some(stopped) = &listing.stopped {
        return Err(format!("its files are too many or too large: {stopped}"));
    }
    let missing = listing.skipped.iter().find(|skipped| skipped.reason != SkipReason::IgnoredDirectory);
    if let Some(skipped) = missing {
        return Err(format!("not all of its files can be served: {:?} is {}", skipped.first, skipped.reason.noun()));
    }
    let mut files = Vec::with_capacity(listing.files.len());
    for file in listing.files {
        let opened = dir.open_file(&file.path).map_err(|error| error.to_string())?;
        files.push((file.path, opened.stamp));
    }
    let Some(at) = files.iter().position(|(path, _)| path == SkillFile::Markdown.name()) else {
        return Err("it has no SKILL.md".to_owned());
    };
    files[..=at].rotate_right(1);
    Ok(SkillFiles { dir, files })
}

/// A skill as it is published: its entry, and the bytes of its files in the order of the entry's.
#[derive(Debug, Clone)]
pub struct SkillPackage {
    /// The entry, checked as a host checks it.
    pub entry: RemoteEntry,
    /// The bytes of each of its files.
    pub contents: Vec<Vec<u8>>,
}

/// Reads a skill as it is served, below the segments of `prefix`: front matter, and every file with its digest. The
/// error says why it cannot be served.
pub fn package(skill: &Skill, prefix: &[&str]) -> Result<SkillPackage, String> {
    let root = uris::of_segments(prefix.iter().copied().chain([skill.name()]));
    let mut contents = Vec::new();
    let value = make_entry(skill, &list_files(skill)?, &root, &mut |bytes| contents.push(bytes))?;
    let entry = crate::host::door::read_entry(&value)?;
    // An entry that was read has its files sorted.
    let uris = value["resources"].as_array().map_or(&[][..], Vec::as_slice).iter();
    let uris: Vec<&str> = uris.filter_map(|file| file["uri"].as_str()).collect();
    let at = |file: &skillcue::remote::RemoteFile| uris.iter().position(|uri| *uri == file.uri);
    let order: Option<Vec<usize>> = entry.files.iter().flatten().map(at).collect();
    let order = order.ok_or("its files changed while they were read")?;
    let contents = order.into_iter().map(|at| std::mem::take(&mut contents[at])).collect();
    Ok(SkillPackage { entry, contents })
}

/// Reads every file and makes the entry.
fn make_entry(skill: &Skill, listed: &SkillFiles, root: &str, keep: &mut dyn FnMut(Vec<u8>)) -> Result<Value, String> {
    let mut resources = Vec::with_capacity(listed.files.len());
    let mut front = Map::new();
    let mut total = 0;
    for (at, (path, stamp)) in listed.files.iter().enumerate() {
        let bytes = read_as_stamped(&listed.dir, path, *stamp)?;
        total += bytes.len() as u64;
        if total > files::MAX_FILE {
            return Err(format!("its files have more than {} bytes", files::MAX_FILE));
        }
        if at == 0 {
            front = conforming(&bytes, skill.name())?;
        }
        resources.push(json!({
            "uri": uris::below(root, path),
            "digest": digest(&bytes),
            "size": bytes.len(),
        }));
        keep(bytes);
    }
    Ok(json!({
        "uri": uris::below(root, SkillFile::Markdown.name()),
        "frontmatter": front,
        "resources": resources,
    }))
}

/// Reads a file that still has the listed stamp.
fn read_as_stamped(dir: &SkillDir, path: &str, stamp: FileStamp) -> Result<Vec<u8>, String> {
    for _ in 0..MAX_ATTEMPTS {
        let mut opened = dir.open_file(path).map_err(|error| error.to_string())?;
        let mut bytes = Vec::with_capacity(usize::try_from(opened.stamp.size).unwrap_or(0).saturating_add(1));
        let limited = opened.file.by_ref().take(files::MAX_FILE + 1).read_to_end(&mut bytes);
        limited.map_err(|error| format!("{path:?} cannot be read: {error}"))?;
        let after = opened.file.metadata().map_err(|error| format!("{path:?} cannot be read: {error}"))?;
        if opened.stamp == stamp && FileStamp::of(&after) == stamp {
            return Ok(bytes);
        }
    }
    Err(format!("{path:?} changed while it was read"))
}

/// Returns the front matter of a `SKILL.md` that conforms to the Agent Skills specification, as JSON for messages.
fn conforming(bytes: &[u8], name: &str) -> Result<Map<String, Value>, String> {
    if !bytes.starts_with(b"---") {
        return Err("its SKILL.md does not start with front matter".to_owned());
    }
    let parsed = Parsed::of(bytes, FileKind::Markdown);
    if !parsed.edits.is_empty() {
        return Err("its YAML had to be repaired".to_owned());
    }
    if let Some(tag) = parsed.diagnostics.iter().find(|found| found.code == Code::YamlTag) {
        return Err(format!("its YAML has a tag: {}", tag.message));
    }
    let raw = parsed.raw.as_ref().ok_or("its YAML cannot be read")?;
    let front = front_matter::as_json(raw)?;
    match front.get("name").and_then(Value::as_str) {
        None => return Err("it has no name".to_owned()),
        // The rules allow letters of any script; URIs and the reference hosts only these.
        Some(written) if !is_strict(written) => return Err(format!("its name {written:?} breaks the naming rules")),
        Some(written) if written != name => return Err(format!("its name is {written:?} now")),
        Some(_) => {}
    }
    match front.get("description").and_then(Value::as_str) {
        Some(description) if !description.trim().is_empty() => front_matter::as_written(raw),
        _ => Err("it has no description".to_owned()),
    }
}

/// Returns whether a name has one to 64 lower-case ASCII letters, digits and single inner hyphens.
fn is_strict(name: &str) -> bool {
    (1..=64).contains(&name.len())
        && name.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-'))
        && !name.starts_with('-')
        && !name.ends_with('-')
        && !name.contains("--")
}

#[cfg(test)]
mod tests {
    use super::{conforming, is_strict};

    #[test]
    fn knows_the_naming_rules() {
        assert!(is_strict("pdf-tools2"));
        for name in ["", "-a", "a-", "a--b", "A", "ä", "a_b", &"a".repeat(65)] {
            assert!(!is_strict(name), "{name:?}");
        }
    }

    #[test]
    fn says_what_does_not_conform() {
        let reason = |text: &str| conforming(text.as_bytes(), "pdf").unwrap_err();
        assert!(reason("\n---\nname: pdf\ndescription: x\n---\n").contains("start"));
        assert!(reason("---\nname: pdf\n---\n").contains("description"));
        assert!(reason("---\nname: PDF\ndescription: x\n---\n").contains("naming rules"));
        assert!(reason("---\nname: other\ndescription: x\n---\n").contains("now"));
        assert!(reason("---\nname: pdf\ndescription: Use: this\n---\n").contains("repaired"));
        assert!(conforming(b"---\nname: pdf\ndescription: x\n---\n", "pdf").is_ok());
    }
}
