//! What an earlier run saw below one root, and whether it may still be believed.

use std::collections::HashMap;
use std::sync::OnceLock;

use skillcue_format::Diagnostic;

use crate::candidate::Invalid;
use crate::walk::ListedDir;
use crate::{Skill, Stamp};

/// A file written this shortly before it was read may be written again without its time changing: file systems'
/// clocks tick coarsely. Such a stamp is not trusted. (Git calls these entries racy.)
const RACY_NS: i128 = 1_000_000_000;

/// Everything that was found below one root.
#[derive(Debug, Default)]
pub(crate) struct Section {
    /// Skills that are a plain `SKILL.md`, sorted by name and place.
    pub(crate) skills: Vec<Box<Skill>>,
    /// What was remarked about them, by their number.
    pub(crate) remarks: Vec<(u32, Diagnostic)>,
    pub(crate) invalid: Vec<Invalid>,
    pub(crate) dirs: Vec<ListedDir>,
    /// Directories to look at anew each time.
    pub(crate) again: Vec<Box<[u8]>>,
    /// When discovery started, in nanoseconds since 1970.
    pub(crate) scanned_ns: i128,
    /// What stands in each directory: `children[starts[n]..starts[n + 1]]`.
    pub(crate) starts: Vec<u32>,
    pub(crate) children: Vec<Child>,
    pub(crate) index: OnceLock<HashMap<Box<[u8]>, Child>>,
}

/// What stands in a directory, by its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Child {
    Skill(u32),
    Invalid(u32),
    Dir(u32),
    Again(u32),
}

impl Section {
    /// Whether a stamp says something: a file changed since would have another one.
    pub(crate) fn trusts(&self, stamp: Stamp) -> bool {
        !is_young(stamp, self.scanned_ns)
    }

    pub(crate) fn skill(&self, number: u32) -> Option<&Skill> {
        self.skills.get(number as usize).map(AsRef::as_ref)
    }

    pub(crate) fn invalid(&self, number: u32) -> Option<&Invalid> {
        self.invalid.get(number as usize)
    }

    pub(crate) fn listed(&self, number: u32) -> Option<&ListedDir> {
        self.dirs.get(number as usize)
    }

    pub(crate) fn again(&self, number: u32) -> Option<&[u8]> {
        self.again.get(number as usize).map(AsRef::as_ref)
    }

    /// The number of a directory that was listed. They are sorted by path.
    pub(crate) fn dir(&self, rel: &[u8]) -> Option<u32> {
        let found = self.dirs.binary_search_by(|dir| (*dir.rel).cmp(rel)).ok()?;
        u32::try_from(found).ok()
    }

    pub(crate) fn children(&self, number: u32) -> &[Child] {
        let at = |n: usize| self.starts.get(n).map_or(0, |start| *start as usize);
        self.children.get(at(number as usize)..at(number as usize + 1)).unwrap_or_default()
    }

    /// The skill file in a directory. Only asked for when a directory had to be listed again.
    pub(crate) fn file(&self, rel: &[u8]) -> Option<Child> {
        let index = self.index.get_or_init(|| {
            let mut index = HashMap::with_capacity(self.skills.len() + self.invalid.len());
            for (number, skill) in (0..).zip(&self.skills) {
                index.insert(skill.bytes(skill.rel).into(), Child::Skill(number));
            }
            for (number, invalid) in (0..).zip(&self.invalid) {
                index.insert(invalid.rel.clone(), Child::Invalid(number));
            }
            index
        });
        index.get(rel).copied()
    }

    /// Works out which directory each thing stands in. `dirs` must be sorted by path.
    pub(crate) fn adopt(&mut self) {
        let mut pairs: Vec<(u32, Child)> = Vec::with_capacity(self.skills.len() + self.dirs.len());
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
                put(skill.bytes(skill.rel), Child::Skill(number));
            }
            for (number, invalid) in (0..).zip(&self.invalid) {
                put(&invalid.rel, Child::Invalid(number));
            }
            for (number, dir) in (0..).zip(&self.dirs) {
                put(&dir.rel, Child::Dir(number));
            }
            for (number, rel) in (0..).zip(&self.again) {
                put(rel, Child::Again(number));
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

/// Whether a file was written so shortly before it was read (or after: clocks differ) that its stamp says nothing.
pub(crate) fn is_young(stamp: Stamp, scanned_ns: i128) -> bool {
    stamp.modified_ns + RACY_NS > scanned_ns
}

/// The directory above.
pub(crate) fn parent(rel: &[u8]) -> &[u8] {
    rel.iter().rposition(|byte| *byte == b'/').map_or(&[], |slash| &rel[..slash])
}
