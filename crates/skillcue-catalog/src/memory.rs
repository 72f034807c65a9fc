//! What a discovery has seen, kept for the next one; and where something happened since.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::SkillFile;
use crate::section::{Section, parent};

/// What a discovery has seen, so that another one need not read it again.
///
/// [`Discovery::run_again`](crate::Discovery::run_again) fills it and uses it. It belongs to the roots of one discovery.
#[derive(Debug, Default)]
pub struct Memory {
    /// By the rank of the root.
    sections: Vec<Option<Section>>,
}

impl Memory {
    /// What is known of a root. It is taken out: what still holds goes into the next catalog.
    pub(crate) fn take(&mut self, rank: u32) -> Option<Section> {
        self.sections.get_mut(rank as usize)?.take()
    }

    /// Whether a discovery has been through these roots.
    pub(crate) fn knows(&self, roots: usize) -> bool {
        self.sections.len() == roots && self.sections.iter().all(Option::is_some)
    }

    pub(crate) fn put(&mut self, rank: u32, section: Section) {
        let rank = rank as usize;
        if self.sections.len() <= rank {
            self.sections.resize_with(rank + 1, || None);
        }
        self.sections[rank] = Some(section);
    }
}

/// Where below a root something happened: directories that must be looked at anew, with all that is in them. Everything
/// else is as the section says.
#[derive(Debug, Default)]
pub(crate) struct Touched {
    all: HashSet<Box<[u8]>>,
    /// The same, by the directory they stand in.
    inside: HashMap<Box<[u8]>, Vec<Box<[u8]>>>,
}

impl Touched {
    /// Finds out which directories below a root are meant by these paths. They must be real ones, as the system names
    /// them.
    pub(crate) fn of(root: &Path, section: &Section, paths: &BTreeSet<PathBuf>) -> Touched {
        let mut touched = Touched::default();
        let Ok(real) = root.canonicalize() else { return touched };
        for path in paths {
            let Ok(rel) = path.strip_prefix(&real) else { continue };
            let unit = unit(section, rel.as_os_str().as_bytes());
            if touched.all.insert(unit.into()) && !unit.is_empty() {
                touched.inside.entry(parent(unit).into()).or_default().push(unit.into());
            }
        }
        touched
    }

    /// Whether something happened at a directory, or at one above it.
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

    /// The directories in one where something happened.
    pub(crate) fn inside(&self, rel: &[u8]) -> &[Box<[u8]>] {
        self.inside.get(rel).map_or(&[], Vec::as_slice)
    }
}

/// The directory that must be looked at if something happened at a path: the highest one that was not merely listed. What
/// a skill, a bad file or an unknown directory is, is decided by all that is in it.
fn unit<'r>(section: &Section, rel: &'r [u8]) -> &'r [u8] {
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
    use crate::Stamp;
    use crate::walk::ListedDir;

    #[test]
    fn what_must_be_looked_at() {
        let listed = |rel: &str| ListedDir {
            rel: rel.as_bytes().into(),
            stamp: Stamp { modified_ns: 0, size: 0, inode: 0 },
            tame: true,
        };
        let section = Section { dirs: ["", "group", "group/more"].map(listed).into(), ..Section::default() };
        let of = |rel: &str| String::from_utf8(unit(&section, rel.as_bytes()).to_vec()).unwrap();
        assert_eq!(of("pdf/SKILL.md"), "pdf");
        assert_eq!(of("pdf/references/a.md"), "pdf", "a skill is looked at as one");
        assert_eq!(of("group/SKILL.md"), "group");
        assert_eq!(of("group"), "group");
        assert_eq!(of("group/more/pdf/scripts/run.py"), "group/more/pdf");
        assert_eq!(of("group/new"), "group/new");
        assert_eq!(of("SKILL.md"), "");
        assert_eq!(of(""), "");
        assert_eq!(unit(&Section::default(), b"pdf/SKILL.md"), b"", "nothing is known");
    }
}
