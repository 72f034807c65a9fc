//! Revalidation: which entries of an earlier run's section are still valid.
//!
//! Either the stamp of every file is checked; or a watcher has reported what was touched, and only that is inspected.

use rustix::fs::{AtFlags, FileType};

use crate::candidate::{ScanBuffers, inspect, is_skill_file_unchanged};
use crate::parallel::map_chunks;
use crate::section::{RootSection, SectionEntry};
use crate::walk::{DIRS_PER_TASK, DirectoryLink, Findings, ListedDir, MAX_DEPTH, Walker, is_skipped};
use crate::{FileStamp, Skill};

impl Walker<'_> {
    /// Returns whether a watcher reports that neither a directory nor one above it was touched.
    fn is_untouched(&self, rel: &[u8]) -> bool {
        self.touched.is_some_and(|touched| !touched.covers(rel))
    }

    /// Reuses the section's entry for a skill directory, if it is still valid. Returns whether it did.
    pub(crate) fn reuse(&self, rel: &[u8], scratch: &mut ScanBuffers, findings: &mut Findings) -> bool {
        let Some(section) = self.section else { return false };
        // A touched file may have changed within one tick of the file system's clock.
        if self.touched.is_some_and(|touched| touched.contains(rel)) {
            return false;
        }
        match section.file(rel) {
            Some(SectionEntry::Skill(number)) => {
                let stamp = section.skill(number).map(Skill::stamp);
                let holds = self.holds(section, rel, stamp, scratch);
                if holds {
                    findings.reused.push(number);
                }
                holds
            }
            Some(SectionEntry::Invalid(number)) => {
                let stamp = section.invalid(number).and_then(|invalid| invalid.stamp);
                let holds = self.holds(section, rel, stamp, scratch);
                if holds {
                    findings.reused_invalid.push(number);
                }
                holds
            }
            _ => false,
        }
    }

    /// Returns whether the skill file in a directory is the one that the section describes.
    fn holds(&self, section: &RootSection, rel: &[u8], stamp: Option<FileStamp>, scratch: &mut ScanBuffers) -> bool {
        stamp.is_some_and(|stamp| {
            self.is_untouched(rel) || section.trusts(stamp) && is_skill_file_unchanged(self.base, rel, stamp, scratch)
        })
    }

    /// Returns what [`Walker::list`] would, from the section, if the directory has not changed.
    pub(crate) fn revalidate(&self, section: &RootSection, number: u32, rel: &[u8], depth: usize) -> Option<Findings> {
        let dir = section.listed(number)?;
        if !dir.stable || !(self.is_untouched(rel) || self.is_directory_unchanged(section, rel, dir)) {
            return None;
        }
        let children = section.children(number);
        let below = map_chunks(
            children,
            DIRS_PER_TASK * 8,
            || ScanBuffers::new(self.root),
            |scratch: &mut ScanBuffers, chunk| {
                let mut findings = Findings::default();
                for child in chunk {
                    let (rel, stamp) = match *child {
                        SectionEntry::Skill(number) => match section.skill(number) {
                            Some(skill) => (skill.bytes(skill.rel), Some(skill.stamp())),
                            None => continue,
                        },
                        SectionEntry::Invalid(number) => match section.invalid(number) {
                            Some(invalid) => (&*invalid.rel, invalid.stamp),
                            None => continue,
                        },
                        SectionEntry::Dir(number) => match section.listed(number) {
                            Some(dir) => (&*dir.rel, None),
                            None => continue,
                        },
                        SectionEntry::Volatile(number) => match section.volatile(number) {
                            Some(rel) => (rel, None),
                            None => continue,
                        },
                    };
                    // These are inspected together with new entries.
                    if self.touched.is_some_and(|touched| touched.contains(rel)) {
                        continue;
                    }
                    if let SectionEntry::Dir(number) = *child {
                        findings = findings.merge(self.list(rel, depth + 1, Some(number)));
                        continue;
                    }
                    let holds = self.holds(section, rel, stamp, scratch);
                    match *child {
                        SectionEntry::Skill(number) if holds => findings.reused.push(number),
                        SectionEntry::Invalid(number) if holds => findings.reused_invalid.push(number),
                        _ => {
                            let found = inspect(self.base, self.root, rel, scratch);
                            if !findings.take_one(found, scratch) {
                                findings = findings.merge(self.list(rel, depth + 1, None));
                            }
                        }
                    }
                }
                findings
            },
        );
        let mut findings = Findings::concat(below);
        // A directory with a link in it is listed anew next time. The stamp of the others may be outdated by now: a run
        // that checks stamps notices, and lists the directory.
        let mut stable = true;
        if depth < MAX_DEPTH {
            let mut scratch = ScanBuffers::new(self.root);
            for touched in self.touched.map_or(&[][..], |touched| touched.inside(rel)) {
                let found = self.probe(section, touched, depth + 1, &mut scratch);
                stable &= !found.links.iter().any(|link| link.rel == **touched);
                findings = findings.merge(found);
            }
        }
        findings.dirs.push(ListedDir { rel: rel.into(), stamp: dir.stamp, stable });
        Some(findings)
    }

    fn is_directory_unchanged(&self, section: &RootSection, rel: &[u8], dir: &ListedDir) -> bool {
        let path: &[u8] = if rel.is_empty() { b"." } else { rel };
        let Ok(stat) = rustix::fs::statat(self.base, path, AtFlags::empty()) else { return false };
        FileStamp::of_stat(&stat) == dir.stamp && section.trusts(dir.stamp)
    }

    /// Inspects one entry of a directory, whatever it is by now.
    fn probe(&self, section: &RootSection, rel: &[u8], depth: usize, scratch: &mut ScanBuffers) -> Findings {
        let mut findings = Findings::default();
        let name = rel.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
        if is_skipped(name) {
            return findings;
        }
        // It was removed, or the next event will report that.
        let Ok(stat) = rustix::fs::statat(self.base, rel, AtFlags::SYMLINK_NOFOLLOW) else { return findings };
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::Directory => {
                let found = inspect(self.base, self.root, rel, scratch);
                if findings.take_one(found, scratch) {
                    return findings;
                }
                findings.merge(self.list(rel, depth, section.dir(rel)))
            }
            FileType::Symlink => {
                findings.links.push(DirectoryLink { rel: rel.to_vec(), depth });
                findings
            }
            _ => findings,
        }
    }
}
