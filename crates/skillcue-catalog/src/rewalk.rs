//! Walking where somebody has walked before: what of it still holds.
//!
//! Either the system is asked about every file, by its stamp; or somebody has watched, and only what was touched is
//! looked at.

use rustix::fs::{AtFlags, FileType};

use crate::candidate::{Scratch, look, unchanged};
use crate::many::map_chunks;
use crate::section::{Child, Section};
use crate::walk::{CHUNK, Findings, Link, ListedDir, MAX_DEPTH, Walker, is_skipped};
use crate::{Skill, Stamp};

impl Walker<'_> {
    /// Whether somebody has watched, and nothing happened at a directory nor above it.
    fn is_untouched(&self, rel: &[u8]) -> bool {
        self.touched.is_some_and(|touched| !touched.covers(rel))
    }

    /// Takes over what the section knows of a skill directory, if it still holds.
    pub(crate) fn known(&self, rel: &[u8], scratch: &mut Scratch, findings: &mut Findings) -> bool {
        let Some(section) = self.section else { return false };
        // What was touched may have changed within one tick of the file system's clock.
        if self.touched.is_some_and(|touched| touched.contains(rel)) {
            return false;
        }
        match section.file(rel) {
            Some(Child::Skill(number)) => {
                let stamp = section.skill(number).map(Skill::stamp);
                let holds = self.holds(section, rel, stamp, scratch);
                if holds {
                    findings.reused.push(number);
                }
                holds
            }
            Some(Child::Invalid(number)) => {
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

    /// Whether the skill file in a directory is the one that the section remembers.
    fn holds(&self, section: &Section, rel: &[u8], stamp: Option<Stamp>, scratch: &mut Scratch) -> bool {
        stamp.is_some_and(|stamp| {
            self.is_untouched(rel) || section.trusts(stamp) && unchanged(self.base, rel, stamp, scratch)
        })
    }

    /// Does what [`Walker::list`] does from the section's memory, if the directory is as it was.
    pub(crate) fn relist(&self, section: &Section, number: u32, rel: &[u8], depth: usize) -> Option<Findings> {
        let dir = section.listed(number)?;
        if !dir.tame || !(self.is_untouched(rel) || self.is_unchanged(section, rel, dir)) {
            return None;
        }
        let children = section.children(number);
        let below = map_chunks(
            children,
            CHUNK * 8,
            || Scratch::new(self.root),
            |scratch: &mut Scratch, chunk| {
                let mut findings = Findings::default();
                for child in chunk {
                    let (rel, stamp) = match *child {
                        Child::Skill(number) => match section.skill(number) {
                            Some(skill) => (skill.bytes(skill.rel), Some(skill.stamp())),
                            None => continue,
                        },
                        Child::Invalid(number) => match section.invalid(number) {
                            Some(invalid) => (&*invalid.rel, invalid.stamp),
                            None => continue,
                        },
                        Child::Dir(number) => match section.listed(number) {
                            Some(dir) => (&*dir.rel, None),
                            None => continue,
                        },
                        Child::Again(number) => match section.again(number) {
                            Some(rel) => (rel, None),
                            None => continue,
                        },
                    };
                    // These are looked at together with what is new here.
                    if self.touched.is_some_and(|touched| touched.contains(rel)) {
                        continue;
                    }
                    if let Child::Dir(number) = *child {
                        findings = findings.merge(self.list(rel, depth + 1, Some(number)));
                        continue;
                    }
                    let holds = self.holds(section, rel, stamp, scratch);
                    match *child {
                        Child::Skill(number) if holds => findings.reused.push(number),
                        Child::Invalid(number) if holds => findings.reused_invalid.push(number),
                        _ => {
                            let found = look(self.base, self.root, rel, scratch);
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
        // With a link in it, it is listed anew next time. Of the others the stamp may by now be an old one: whoever asks
        // the system about it finds out, and lists it.
        let mut tame = true;
        if depth < MAX_DEPTH {
            let mut scratch = Scratch::new(self.root);
            for touched in self.touched.map_or(&[][..], |touched| touched.inside(rel)) {
                let found = self.probe(section, touched, depth + 1, &mut scratch);
                tame &= !found.links.iter().any(|link| link.rel == **touched);
                findings = findings.merge(found);
            }
        }
        findings.dirs.push(ListedDir { rel: rel.into(), stamp: dir.stamp, tame });
        Some(findings)
    }

    fn is_unchanged(&self, section: &Section, rel: &[u8], dir: &ListedDir) -> bool {
        let path: &[u8] = if rel.is_empty() { b"." } else { rel };
        let Ok(stat) = rustix::fs::statat(self.base, path, AtFlags::empty()) else { return false };
        Stamp::of_stat(&stat) == dir.stamp && section.trusts(dir.stamp)
    }

    /// Looks at one entry of a directory, whatever it is by now.
    fn probe(&self, section: &Section, rel: &[u8], depth: usize, scratch: &mut Scratch) -> Findings {
        let mut findings = Findings::default();
        let name = rel.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
        if is_skipped(name) {
            return findings;
        }
        // It is gone, or the next event will say so.
        let Ok(stat) = rustix::fs::statat(self.base, rel, AtFlags::SYMLINK_NOFOLLOW) else { return findings };
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::Directory => {
                let found = look(self.base, self.root, rel, scratch);
                if findings.take_one(found, scratch) {
                    return findings;
                }
                findings.merge(self.list(rel, depth, section.dir(rel)))
            }
            FileType::Symlink => {
                findings.links.push(Link { rel: rel.to_vec(), depth });
                findings
            }
            _ => findings,
        }
    }
}
