//! Sections: the findings of an earlier run below one root, and whether their stamps can be trusted.

use std::collections::HashMap;
use std::sync::OnceLock;

use skillcue_format::Diagnostic;

use crate::candidate::InvalidSkill;
use crate::walk::ListedDir;
use crate::{FileStamp, Skill};

/// The age below which a stamp is not trusted: a file written this shortly before it was read may be written again
/// without its time changing, as file systems' clocks tick coarsely. (Git calls these entries racy.)
const RACY_NS: i128 = 1_000_000_000;

/// Everything that was found below one root, as it is cached.
#[derive(Debug, Default)]
pub(crate) struct RootSection {
    /// Skills that are a plain `SKILL.md`, sorted by name and path.
    pub(crate) skills: Vec<Box<Skill>>,
    /// Diagnostics about the skills, by their number.
    pub(crate) remarks: Vec<(u32, Diagnostic)>,
    pub(crate) invalid: Vec<InvalidSkill>,
    pub(crate) dirs: Vec<ListedDir>,
    /// Directories to inspect anew each time.
    pub(crate) volatile: Vec<Box<[u8]>>,
    /// The time at which discovery started, in nanoseconds since 1970.
    pub(crate) scanned_ns: i128,
    /// The start of each directory's children: those of number `n` are `children[starts[n]..starts[n + 1]]`.
    pub(crate) starts: Vec<u32>,
    pub(crate) children: Vec<SectionEntry>,
    pub(crate) index: OnceLock<HashMap<Box<[u8]>, SectionEntry>>,
}

/// One entry of a directory, by its number in the section.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SectionEntry {
    Skill(u32),
    Invalid(u32),
    Dir(u32),
    Volatile(u32),
}

impl RootSection {
    /// Returns whether a stamp can be trusted: a file changed since would have another one.
    pub(crate) fn trusts(&self, stamp: FileStamp) -> bool {
        !is_recent(stamp, self.scanned_ns)
    }

    pub(crate) fn skill(&self, number: u32) -> Option<&Skill> {
        self.skills.get(number as usize).map(AsRef::as_ref)
    }

    pub(crate) fn invalid(&self, number: u32) -> Option<&InvalidSkill> {
        self.invalid.get(number as usize)
    }

    pub(crate) fn listed(&self, number: u32) -> Option<&ListedDir> {
        self.dirs.get(number as usize)
    }

    pub(crate) fn volatile(&self, number: u32) -> Option<&[u8]> {
        self.volatile.get(number as usize).map(AsRef::as_ref)
    }

    /// Returns the number of a directory that was listed. They are sorted by path.
    pub(crate) fn dir(&self, rel: &[u8]) -> Option<u32> {
        let found = self.dirs.binary_search_by(|dir| (*dir.rel).cmp(rel)).ok()?;
        u32::try_from(found).ok()
    }

    pub(crate) fn children(&self, number: u32) -> &[SectionEntry] {
        let at = |n: usize| self.starts.get(n).map_or(0, |start| *start as usize);
        self.children.get(at(number as usize)..at(number as usize + 1)).unwrap_or_default()
    }

    /// Returns the skill file in a directory. Only used when a directory had to be listed again.
    pub(crate) fn file(&self, rel: &[u8]) -> Option<SectionEntry> {
        let index = self.index.get_or_init(|| {
            let mut index = HashMap::with_capacity(self.skills.len() + self.invalid.len());
            for (number, skill) in (0..).zip(&self.skills) {
                index.insert(skill.bytes(skill.rel).into(), SectionEntry::Skill(number));
            }
            for (number, invalid) in (0..).zip(&self.invalid) {
                index.insert(invalid.rel.clone(), SectionEntry::Invalid(number));
            }
            index
        });
        index.get(rel).copied()
    }

    /// Fills `starts` and `children`. `dirs` must be sorted by path.
    pub(crate) fn index_children(&mut self) {
        let mut pairs: Vec<(u32, SectionEntry)> = Vec::with_capacity(self.skills.len() + self.dirs.len());
        {
            let numbers: HashMap<&[u8], u32> = (0..).zip(&self.dirs).map(|(number, dir)| (&*dir.rel, number)).collect();
            let mut put = |rel: &[u8], child| {
                if !rel.is_empty()
                    && let Some(parent) = numbers.get(parent(rel))
                {
                    pairs.push((*parent, child));
                }
            };
            for (number, skill) in (0..).zip(&self.skills) {
                put(skill.bytes(skill.rel), SectionEntry::Skill(number));
            }
            for (number, invalid) in (0..).zip(&self.invalid) {
                put(&invalid.rel, SectionEntry::Invalid(number));
            }
            for (number, dir) in (0..).zip(&self.dirs) {
                put(&dir.rel, SectionEntry::Dir(number));
            }
            for (number, rel) in (0..).zip(&self.volatile) {
                put(rel, SectionEntry::Volatile(number));
            }
        }
        pairs.sort_by_key(|(parent, _)| *parent);
        self.starts = vec![0; self.dirs.len() + 1];
        for (parent, _) in &pairs {
            self.starts[*parent as usize + 1] += 1;
        }
        for at in 1..self.starts.len() {
            self.starts[at] += self.starts[at - 1];
        }
        self.children = pairs.into_iter().map(|(_, child)| child).collect();
    }
}

/// Returns whether a file was written so shortly before it was read (or after: clocks differ) that its stamp is not
/// trusted.
pub(crate) fn is_recent(stamp: FileStamp, scanned_ns: i128) -> bool {
    stamp.modified_ns + RACY_NS > scanned_ns
}

/// Returns the path of the directory above.
pub(crate) fn parent(rel: &[u8]) -> &[u8] {
    rel.iter().rposition(|byte| *byte == b'/').map_or(&[], |slash| &rel[..slash])
}
