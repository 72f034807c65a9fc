//! Installing: what is staged takes its place, all of it or nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde::Serialize;
use skillcue_audit::audit;
use skillcue_catalog::{ContentId, Leaf};
use skillcue_format::Diagnostic;

use crate::candidate::{Auditor, Candidate, serialize_findings};
use crate::entries::{Installed, Pinned};
use crate::journal::{Coming, Move, exists};
use crate::registry::whole;
use crate::same::same_source;
use crate::trash::{TrashFile, TrashItem, Why};
use crate::update::permission_changes;
use crate::writing::Writing;
use crate::{Chosen, Disk, Drift, Kind, PermissionChange, Registry, RegistryError, Staging, candidate, verify};
use skillcue_base::rfc3339_seconds;

/// How to install.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct InstallOptions<'o> {
    /// The time, for the record.
    pub now: SystemTime,
    /// Enable what is installed. Otherwise it is off until somebody does.
    pub enable: bool,
    /// Replace what is in the way: another origin's, one that was edited, one that the registry does not know. It goes
    /// to the trash.
    pub replace: bool,
    /// Install in spite of findings of high severity.
    pub allow_findings: bool,
    /// Who looks for such findings.
    pub auditor: &'o Auditor<'o>,
    /// Is told what is being done to what.
    pub doing: Option<&'o Teller<'o>>,
}

impl std::fmt::Debug for InstallOptions<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let InstallOptions { now, enable, replace, allow_findings, .. } = self;
        write!(f, "InstallOptions({now:?}, enable {enable}, replace {replace}, allow_findings {allow_findings})")
    }
}

impl InstallOptions<'_> {
    /// The careful way: off, nothing replaced, no findings.
    pub fn at(now: SystemTime) -> InstallOptions<'static> {
        let (enable, replace, allow_findings) = (false, false, false);
        InstallOptions { now, enable, replace, allow_findings, auditor: &audit, doing: None }
    }
}

/// Is told what is being done, and to what: where it stands in its origin while it is checked, its name from then on.
pub type Teller<'t> = dyn Fn(Doing, &str) + 't;

/// What is being done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Doing {
    /// Its files are read, hashed and audited.
    Checking,
    /// It is put in its place.
    Installing,
}

/// What was done.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Report {
    /// What was installed or updated.
    pub done: Vec<Done>,
    /// What had to be mended on the way.
    pub notes: Vec<Diagnostic>,
}

/// One that was installed or updated.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Done {
    /// Its name.
    pub name: String,
    /// What was known of one of that name before.
    pub was: Option<Installed>,
    /// What is known now.
    pub now: Installed,
    /// Whether what stood there was as it is now, to the byte.
    pub unchanged: bool,
    /// Whether something went to the trash for it.
    pub replaced: bool,
    /// What is said of it: on, off, or nothing.
    pub enabled: Option<bool>,
    /// What its programs ask for, and those of the version it replaces do not; or do not any more.
    pub permissions: Vec<PermissionChange>,
    /// What the audit has found.
    #[serde(serialize_with = "serialize_findings")]
    pub findings: Vec<Diagnostic>,
}

impl Registry {
    /// Installs what was chosen of a staging directory, all of it or nothing. It is off until somebody enables it, but
    /// for what was enabled here from the same origin before.
    ///
    /// What was chosen is moved out of the staging directory: to try again after an error, fetch again.
    pub fn install(
        &self,
        staging: &Staging,
        chosen: &[Chosen],
        options: &InstallOptions<'_>,
    ) -> Result<Report, RegistryError> {
        let now = rfc3339_seconds(options.now);
        let mut candidates = Vec::new();
        for chosen in chosen {
            if let Some(doing) = options.doing {
                doing(Doing::Checking, &chosen.at.to_string_lossy());
            }
            candidates.push(Candidate::new(staging, chosen, options.auditor, now.clone())?);
        }
        refuse_findings(&candidates, options.allow_findings)?;
        let mut names = BTreeSet::new();
        if let Some(twice) = candidates.iter().find(|candidate| !names.insert(candidate.name.clone())) {
            return Err(RegistryError::Twice { name: twice.name.clone() });
        }
        candidate::sync(candidates.iter(), &self.disk)?;
        let mut writing = self.write()?;
        let mut take = Take::new(TrashFile::new(now, Why::Replaced));
        for candidate in candidates {
            if let Some(doing) = options.doing {
                doing(Doing::Installing, &candidate.name);
            }
            let was = writing.listed.installed.get(&candidate.name).cloned();
            let same = was.as_ref().is_some_and(|was| same_source(was, &candidate.entry));
            if !options.replace {
                refuse_to_replace(&mut writing, &candidate, was.as_ref(), same)?;
            }
            take.candidate(&mut writing, candidate, same, options.enable)?;
        }
        take.commit(writing)
    }
}

/// Stops on findings of high severity.
pub(crate) fn refuse_findings(candidates: &[Candidate], allowed: bool) -> Result<(), RegistryError> {
    let high = |candidate: &Candidate| candidate.findings.iter().any(Diagnostic::is_error);
    if allowed || !candidates.iter().any(high) {
        return Ok(());
    }
    let found = candidates.iter().filter(|candidate| !candidate.findings.is_empty());
    Err(RegistryError::Findings {
        found: found.map(|candidate| (candidate.name.clone(), candidate.findings.clone())).collect(),
    })
}

fn refuse_to_replace(
    writing: &mut Writing<'_>,
    candidate: &Candidate,
    was: Option<&Installed>,
    same: bool,
) -> Result<(), RegistryError> {
    let name = &candidate.name;
    let path = writing.registry.place.target(candidate.entry.kind, name);
    match was {
        Some(was) if !same => Err(RegistryError::OtherOrigin { name: name.clone(), origin: was.origin.clone() }),
        Some(was) => match local_edits(writing, name, was)? {
            drift if drift.is_empty() => Ok(()),
            drift => Err(RegistryError::Edited { name: name.clone(), drift }),
        },
        None if exists(&path) => Err(RegistryError::InTheWay { path }),
        None => Ok(()),
    }
}

/// What somebody has edited in something installed. What is not there was not edited.
pub(crate) fn local_edits(
    writing: &mut Writing<'_>,
    name: &str,
    installed: &Installed,
) -> Result<Vec<Drift>, RegistryError> {
    let dir = writing.registry.place.target(installed.kind, name);
    if !exists(&dir) {
        return Ok(Vec::new());
    }
    match writing.locked()?.pins.get(name) {
        Some(pinned) => verify::drift(&dir, pinned),
        // Nobody can say which file: the lock is lost, and the registry has the digest of all of them alone.
        None => Ok(verify::drift_of_all(&dir, installed.digest)),
    }
}

/// What changes at once.
pub(crate) struct Take {
    trash: TrashFile,
    moves: Vec<Move>,
    comes: Vec<Candidate>,
    done: Vec<Done>,
}

impl Take {
    pub(crate) fn new(trash: TrashFile) -> Take {
        Take { trash, moves: Vec::new(), comes: Vec::new(), done: Vec::new() }
    }

    /// Takes one in, and what stands in its place to the trash. `same` says that it is another version of what is there.
    pub(crate) fn candidate(
        &mut self,
        writing: &mut Writing<'_>,
        candidate: Candidate,
        same: bool,
        enable: bool,
    ) -> Result<(), RegistryError> {
        let (name, mut entry) = (candidate.name.clone(), candidate.entry.clone());
        if let Some(was) = writing.listed.installed.get(&name)
            && (was.kind, was.digest) == (entry.kind, entry.digest)
            && !exists(&writing.registry.place.target(was.kind, &name))
        {
            // It comes back as it was.
            entry.installed = was.installed.clone().or(entry.installed);
        }
        let pinned = Pinned::new(&entry, candidate.tree.leaves.clone());
        // The lock first: a broken one is rebuilt by what the registry says now.
        let was_pinned = writing.locked()?.pins.insert(name.clone(), pinned.clone());
        let was = writing.listed.installed.insert(name.clone(), entry.clone());
        let place = &writing.registry.place;
        let old_kind = was.as_ref().map_or(entry.kind, |was| was.kind);
        let old = place.target(old_kind, &name);
        let there = exists(&old);
        let target = place.target(entry.kind, &name);
        if old_kind != entry.kind && exists(&target) {
            return Err(RegistryError::InTheWay { path: target });
        }
        // What was edited must go, whatever the lock says of it.
        let unchanged = there && old_kind == entry.kind && verify::drift(&old, &pinned)?.is_empty();
        let permissions = if there && !unchanged {
            permission_changes((&old, old_kind), (&candidate.dir, entry.kind))
        } else {
            Vec::new()
        };
        let addresses = addresses_of(writing, &name, old_kind);
        if !unchanged {
            if there {
                let item = TrashItem {
                    kind: old_kind,
                    installed: was.clone(),
                    pinned: was_pinned,
                    enabled: addresses.clone(),
                    absent: false,
                };
                self.trash.items.insert(name.clone(), item);
            }
            let coming = Coming { from_trash: None, inode: inode(&candidate.dir), digest: Some(entry.digest) };
            let was = there.then_some(old_kind);
            self.moves.push(Move { kind: entry.kind, name: name.clone(), comes: Some(coming), goes: there, was });
        }
        let enabled = &mut writing.listed.enabled;
        if !same {
            // What was enabled was something else.
            enabled.retain(|address, on| !*on || !addresses.contains_key(address));
        }
        let own = if entry.kind == Kind::Plugin { whole(&name) } else { name.clone() };
        if enable {
            enabled.insert(own.clone(), true);
        }
        self.done.push(Done {
            enabled: enabled.get(&own).copied(),
            name,
            was,
            now: entry,
            unchanged,
            replaced: there && !unchanged,
            permissions,
            findings: candidate.findings.clone(),
        });
        if !unchanged {
            self.comes.push(candidate);
        }
        Ok(())
    }

    /// Takes in that nothing of one has changed since another commit. Its files are left as they are.
    pub(crate) fn move_on(&mut self, writing: &mut Writing<'_>, candidate: &Candidate) -> Result<(), RegistryError> {
        let name = candidate.name.clone();
        let Some(was) = writing.listed.installed.get(&name).cloned() else {
            return Err(RegistryError::NotInstalled { name });
        };
        let mut now = was.clone();
        now.commit = candidate.entry.commit.clone().or(now.commit);
        if let Some(pinned) = writing.locked()?.pins.get_mut(&name) {
            pinned.commit.clone_from(&now.commit);
        }
        writing.listed.installed.insert(name.clone(), now.clone());
        let own = if now.kind == Kind::Plugin { whole(&name) } else { name.clone() };
        let enabled = writing.listed.enabled.get(&own).copied();
        let (was, permissions, findings) = (Some(was), Vec::new(), Vec::new());
        self.done.push(Done { name, was, now, unchanged: true, replaced: false, enabled, permissions, findings });
        Ok(())
    }

    pub(crate) fn commit(mut self, writing: Writing<'_>) -> Result<Report, RegistryError> {
        let staging = writing.stage()?;
        let disk = writing.registry.disk.clone();
        if !self.comes.is_empty() {
            let put = staging.room().join("put");
            disk.create_dir(&put).map_err(|error| RegistryError::file("make", &put, error))?;
            let dirs: BTreeSet<_> = self.comes.iter().map(|candidate| candidate.dir.clone()).collect();
            // Each that comes has its move, in the same order.
            for (Candidate { dir, name, tree, .. }, step) in self.comes.iter().zip(&mut self.moves) {
                let to = put.join(name);
                // A skill may stand in another one, or in a plugin, that is installed with it.
                if overlaps(dir, &dirs) {
                    copy(dir, &to, tree.leaves.iter(), &disk)?;
                } else {
                    disk.rename(dir, &to).map_err(|error| RegistryError::file("move", &to, error))?;
                }
                if let Some(comes) = step.comes.as_mut() {
                    comes.inode = inode(&to);
                }
            }
        }
        let notes = writing.commit(&staging, self.moves, &self.trash)?;
        Ok(Report { done: self.done, notes })
    }
}

/// Whether a directory stands in one of these, or one of these in it.
fn overlaps(dir: &Path, dirs: &BTreeSet<PathBuf>) -> bool {
    // Paths sort by their parts: what stands in a directory comes right behind it.
    let behind = dirs.range::<Path, _>((Bound::Excluded(dir), Bound::Unbounded)).next();
    behind.is_some_and(|other| other.starts_with(dir)) || dir.ancestors().skip(1).any(|above| dirs.contains(above))
}

pub(crate) fn inode(path: &Path) -> u64 {
    path.symlink_metadata().map_or(0, |found| found.ino())
}

/// What is said of something installed, and of its skills.
pub(crate) fn addresses_of(writing: &Writing<'_>, name: &str, kind: Kind) -> BTreeMap<String, bool> {
    let source = if writing.registry.place.is_project() { "project" } else { "user" };
    let is_its = |address: &str| match kind {
        Kind::Skill => {
            address == name || address.strip_prefix(name).and_then(|rest| rest.strip_prefix('@')) == Some(source)
        }
        Kind::Plugin => address.strip_prefix(name).is_some_and(|rest| rest.starts_with(':')),
    };
    let enabled = writing.listed.enabled.iter().filter(|(address, _)| is_its(address));
    enabled.map(|(address, on)| (address.clone(), *on)).collect()
}

/// Copies the files of a tree.
fn copy<'l>(
    from: &Path,
    to: &Path,
    leaves: impl Iterator<Item = (&'l String, &'l Leaf)>,
    disk: &Disk,
) -> Result<(), RegistryError> {
    let mut dirs = BTreeSet::from([to.to_owned()]);
    disk.create_dir(to).map_err(|error| RegistryError::file("make", to, error))?;
    for (path, leaf) in leaves {
        let (source, target) = (from.join(path), to.join(path));
        let fail = |error| RegistryError::file("write", &target, error);
        if let Some(dir) = target.parent() {
            disk.create_dir_all(dir).map_err(fail)?;
            dirs.extend(dir.ancestors().take_while(|dir| dir.starts_with(to)).map(Path::to_owned));
        }
        match leaf {
            Leaf::Link { target: text } => disk.symlink(Path::new(text), &target).map_err(fail)?,
            Leaf::File { executable, .. } => {
                let mut file =
                    crate::tree::open(&source).map_err(|error| RegistryError::file("read", &source, error))?;
                let mode = if *executable { 0o755 } else { 0o644 };
                disk.write_from(&target, &mut file, mode).map_err(fail)?;
            }
        }
    }
    dirs.iter().try_for_each(|dir| disk.sync_dir(dir).map_err(|error| RegistryError::file("write", dir, error)))
}

/// Something that should be there by the lock, and is not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Missing {
    /// Its name.
    pub name: String,
    /// A skill or a plugin.
    pub kind: Kind,
    /// Where to fetch it from.
    pub origin: String,
    /// Where in there it stands.
    pub at: String,
    /// At which commit.
    pub commit: Option<String>,
    /// The digest that its files must have.
    pub digest: ContentId,
}

impl Registry {
    /// What the registry and the lock name, and is not there: after a checkout of a project, for instance. To install it
    /// as it was, fetch it at its commit and [expect](Chosen::expecting) its digest.
    pub fn restore_plan(&self) -> Result<Vec<Missing>, RegistryError> {
        let (listed, locked) = self.both()?;
        let mut known: BTreeMap<String, Installed> =
            locked.pins.iter().map(|(name, pinned)| (name.clone(), pinned.installed())).collect();
        for (name, installed) in listed.installed {
            known.entry(name).or_insert(installed);
        }
        let missing = known.into_iter().filter(|(name, known)| !exists(&self.place.target(known.kind, name)));
        let missing = missing.map(|(name, known)| {
            let Installed { kind, origin, at, commit, digest, .. } = known;
            Missing { name, kind, origin, at, commit, digest }
        });
        Ok(missing.collect())
    }
}
