//! The state of a discovery, kept in memory for the next one; and the directories that were touched since.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::SkillFile;
use crate::section::{RootSection, parent};

/// The sections of a discovery's roots, so that the next one need not read them again.
///
/// [`Discovery::run_again`](crate::Discovery::run_again) fills it and uses it. It belongs to the roots of one
/// discovery.
#[derive(Debug, Default)]
pub struct DiscoveryState {
    /// By the rank of the root.
    sections: Vec<Option<RootSection>>,
}

impl DiscoveryState {
    /// Takes out the section of a root: its valid entries go into the next catalog.
    pub(crate) fn take(&mut self, rank: u32) -> Option<RootSection> {
        self.sections.get_mut(rank as usize)?.take()
    }

    /// Returns whether it has a section for each of so many roots.
    pub(crate) fn knows(&self, roots: usize) -> bool {
        self.sections.len() == roots && self.sections.iter().all(Option::is_some)
    }

    pub(crate) fn put(&mut self, rank: u32, section: RootSection) {
        let rank = rank as usize;
        if self.sections.len() <= rank {
            self.sections.resize_with(rank + 1, || None);
        }
        self.sections[rank] = Some(section);
    }
}

/// The directories below a root in which something changed: they must be inspected again, with everything in them. All
/// others are as the section has them.
#[derive(Debug, Default)]
pub(crate) struct TouchedDirs {
    all: HashSet<Box<[u8]>>,
    /// The touched directories, by their parent directory.
    inside: HashMap<Box<[u8]>, Vec<Box<[u8]>>>,
}

impl TouchedDirs {
    /// Maps changed paths to directories below a root. They must be real paths, as the system reports them.
    pub(crate) fn of(root: &Path, section: &RootSection, paths: &BTreeSet<PathBuf>) -> TouchedDirs {
        let mut touched = TouchedDirs::default();
        let Ok(real) = root.canonicalize() else { return touched };
        for path in paths {
            let Ok(rel) = path.strip_prefix(&real) else { continue };
            let dir = directory_to_inspect(section, rel.as_os_str().as_bytes());
            if touched.all.insert(dir.into()) && !dir.is_empty() {
                touched.inside.entry(parent(dir).into()).or_default().push(dir.into());
            }
        }
        touched
    }

    /// Returns whether a directory, or one above it, was touched.
    pub(crate) fn covers(&self, rel: &[u8]) -> bool {
        if self.all.is_empty() {
            return false;
        }
        let mut at = rel;
        loop {
            if self.all.contains(at) {
                return true;
            }
            if at.is_empty() {
                return false;
            }
            at = parent(at);
        }
    }

    pub(crate) fn contains(&self, rel: &[u8]) -> bool {
        self.all.contains(rel)
    }

    /// Returns the touched directories whose parent is `rel`.
    pub(crate) fn inside(&self, rel: &[u8]) -> &[Box<[u8]>] {
        self.inside.get(rel).map_or(&[], Vec::as_slice)
    }
}

/// Returns the directory that must be inspected if a path was touched: the highest one that is not a mere group of
/// other directories. A skill, an invalid skill and an unknown directory depend on everything in them.
fn directory_to_inspect<'r>(section: &RootSection, rel: &'r [u8]) -> &'r [u8] {
    let name = rel.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
    let dir = if SkillFile::of(name).is_some() { parent(rel) } else { rel };
    if section.dir(b"").is_none() {
        return b"";
    }
    let ends = dir.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| at).chain([dir.len()]);
    ends.map(|end| &dir[..end]).find(|prefix| section.dir(prefix).is_none()).unwrap_or(dir)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FileStamp;
    use crate::walk::ListedDir;

    #[test]
    fn touched_paths_map_to_directories() {
        let listed = |rel: &str| ListedDir {
            rel: rel.as_bytes().into(),
            stamp: FileStamp { modified_ns: 0, size: 0, inode: 0 },
            stable: true,
        };
        let section = RootSection { dirs: ["", "group", "group/more"].map(listed).into(), ..RootSection::default() };
        let of = |rel: &str| String::from_utf8(directory_to_inspect(&section, rel.as_bytes()).to_vec()).unwrap();
        assert_eq!(of("pdf/SKILL.md"), "pdf");
        assert_eq!(of("pdf/references/a.md"), "pdf", "a skill is inspected as a whole");
        assert_eq!(of("group/SKILL.md"), "group");
        assert_eq!(of("group"), "group");
        assert_eq!(of("group/more/pdf/scripts/run.py"), "group/more/pdf");
        assert_eq!(of("group/new"), "group/new");
        assert_eq!(of("SKILL.md"), "");
        assert_eq!(of(""), "");
        assert_eq!(directory_to_inspect(&RootSection::default(), b"pdf/SKILL.md"), b"", "nothing is known");
    }
}
