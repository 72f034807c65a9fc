//! Installing: staged items are moved into place, all of them or none.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde::Serialize;
use skillcue_audit::audit;
use skillcue_catalog::{ContentId, Leaf, OrgPolicy};
use skillcue_format::Diagnostic;

use crate::candidate::{Auditor, InstallCandidate, serialize_findings};
use crate::canonical_origin::is_same_source;
use crate::entries::{InstalledItem, LockPin};
use crate::journal::{DirectoryMove, IncomingDir, exists};
use crate::registry::plugin_address;
use crate::transaction::Transaction;
use crate::trash::{TrashFile, TrashItem, TrashReason};
use crate::update::permission_changes;
use crate::{
    Disk, Drift, InstallableKind, PermissionChange, Registry, RegistryError, StagedItem, Staging, candidate, verify,
};
use skillcue_base::rfc3339_seconds;

/// Options for installing.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct InstallOptions<'o> {
    /// The time to record.
    pub now: SystemTime,
    /// Enable what is installed. Otherwise it is off until a user enables it.
    pub enable: bool,
    /// Replace an item that is in the way: one from another origin, one that was edited, one that the registry does not
    /// know. It goes to the trash.
    pub replace: bool,
    /// Install in spite of findings of high severity.
    pub allow_findings: bool,
    /// The audit that looks for such findings.
    pub auditor: &'o Auditor<'o>,
    /// The organisation's policy. No other option goes before it.
    pub policy: Option<&'o OrgPolicy>,
}

impl std::fmt::Debug for InstallOptions<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let InstallOptions { now, enable, replace, allow_findings, .. } = self;
        write!(f, "InstallOptions({now:?}, enable {enable}, replace {replace}, allow_findings {allow_findings})")
    }
}

impl InstallOptions<'_> {
    /// Returns the careful options: off, nothing replaced, no findings.
    pub fn at(now: SystemTime) -> InstallOptions<'static> {
        let (enable, replace, allow_findings) = (false, false, false);
        InstallOptions { now, enable, replace, allow_findings, auditor: &audit, policy: None }
    }
}

/// The result of installing or updating.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct InstallReport {
    /// The items that were installed or updated.
    pub done: Vec<InstallChange>,
    /// Diagnostics about files that had to be mended on the way.
    pub notes: Vec<Diagnostic>,
}

/// One item that was installed or updated.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct InstallChange {
    /// Its name.
    pub name: String,
    /// The entry of that name before.
    pub was: Option<InstalledItem>,
    /// The entry now.
    pub now: InstalledItem,
    /// Whether the files that were there are the same now, to the byte.
    pub unchanged: bool,
    /// Whether something went to the trash for it.
    pub replaced: bool,
    /// Whether it is enabled or disabled; `None` if neither is recorded.
    pub enabled: Option<bool>,
    /// The permissions that its programs request and those of the replaced version do not; or no longer request.
    pub permissions: Vec<PermissionChange>,
    /// The audit's findings.
    #[serde(serialize_with = "serialize_findings")]
    pub findings: Vec<Diagnostic>,
}

impl Registry {
    /// Installs items of a staging directory, all of them or none. They are off until a user enables them, except those
    /// that were enabled here from the same origin before.
    ///
    /// The items are moved out of the staging directory: to try again after an error, fetch again.
    pub fn install(
        &self,
        staging: &Staging,
        chosen: &[StagedItem],
        options: &InstallOptions<'_>,
    ) -> Result<InstallReport, RegistryError> {
        let now = rfc3339_seconds(options.now);
        let mut candidates = Vec::new();
        for chosen in chosen {
            candidates.push(InstallCandidate::new(staging, chosen, options.auditor, now.clone())?);
        }
        if let Some(policy) = options.policy {
            self.check_policy(policy, &candidates)?;
        }
        refuse_findings(&candidates, options.allow_findings)?;
        let mut names = BTreeSet::new();
        if let Some(twice) = candidates.iter().find(|candidate| !names.insert(candidate.name.clone())) {
            return Err(RegistryError::Twice { name: twice.name.clone() });
        }
        candidate::sync(candidates.iter(), &self.disk)?;
        let mut transaction = self.write()?;
        let mut batch = InstallBatch::new(TrashFile::new(now, TrashReason::Replaced));
        for candidate in candidates {
            let was = transaction.listed.installed.get(&candidate.name).cloned();
            let same = was.as_ref().is_some_and(|was| is_same_source(was, &candidate.entry));
            if !options.replace {
                refuse_to_replace(&mut transaction, &candidate, was.as_ref(), same)?;
            }
            batch.add(&mut transaction, candidate, same, options.enable)?;
        }
        batch.commit(transaction)
    }
}

impl Registry {
    /// Stops at the first item that the organisation's policy refuses.
    pub(crate) fn check_policy(
        &self,
        policy: &OrgPolicy,
        candidates: &[InstallCandidate],
    ) -> Result<(), RegistryError> {
        for candidate in candidates {
            let refused = candidate.policy_refusal(policy, self.location.is_project());
            if let Some((name, refusal)) = refused {
                return Err(RegistryError::Policy { name, refusal: Box::new(refusal) });
            }
        }
        Ok(())
    }
}

/// Stops on findings of high severity.
pub(crate) fn refuse_findings(candidates: &[InstallCandidate], allowed: bool) -> Result<(), RegistryError> {
    let high = |candidate: &InstallCandidate| candidate.findings.iter().any(Diagnostic::is_error);
    if allowed || !candidates.iter().any(high) {
        return Ok(());
    }
    let found = candidates.iter().filter(|candidate| !candidate.findings.is_empty());
    Err(RegistryError::Findings {
        found: found.map(|candidate| (candidate.name.clone(), candidate.findings.clone())).collect(),
    })
}

fn refuse_to_replace(
    transaction: &mut Transaction<'_>,
    candidate: &InstallCandidate,
    was: Option<&InstalledItem>,
    same: bool,
) -> Result<(), RegistryError> {
    let name = &candidate.name;
    let path = transaction.registry.location.target(candidate.entry.kind, name);
    match was {
        Some(was) if !same => Err(RegistryError::OtherOrigin { name: name.clone(), origin: was.origin.clone() }),
        Some(was) => match local_edits(transaction, name, was)? {
            drift if drift.is_empty() => Ok(()),
            drift => Err(RegistryError::Edited { name: name.clone(), drift }),
        },
        None if exists(&path) => Err(RegistryError::InTheWay { path }),
        None => Ok(()),
    }
}

/// Returns the files of an installed item that were edited. An item that is not there was not edited.
pub(crate) fn local_edits(
    transaction: &mut Transaction<'_>,
    name: &str,
    installed: &InstalledItem,
) -> Result<Vec<Drift>, RegistryError> {
    let dir = transaction.registry.location.target(installed.kind, name);
    if !exists(&dir) {
        return Ok(Vec::new());
    }
    match transaction.locked()?.pins.get(name) {
        Some(pinned) => verify::drift(&dir, pinned),
        // Which file it is cannot be known: the lock is lost, and the registry has only the digest of all of them.
        None => Ok(verify::drift_of_all(&dir, installed.digest)),
    }
}

/// Items that are installed or updated in one change.
pub(crate) struct InstallBatch {
    trash: TrashFile,
    moves: Vec<DirectoryMove>,
    comes: Vec<InstallCandidate>,
    done: Vec<InstallChange>,
}

impl InstallBatch {
    pub(crate) fn new(trash: TrashFile) -> InstallBatch {
        InstallBatch { trash, moves: Vec::new(), comes: Vec::new(), done: Vec::new() }
    }

    /// Adds one item, and moves the one in its place to the trash. `same` says that it is another version of that one.
    pub(crate) fn add(
        &mut self,
        transaction: &mut Transaction<'_>,
        candidate: InstallCandidate,
        same: bool,
        enable: bool,
    ) -> Result<(), RegistryError> {
        let (name, mut entry) = (candidate.name.clone(), candidate.entry.clone());
        if let Some(was) = transaction.listed.installed.get(&name)
            && (was.kind, was.digest) == (entry.kind, entry.digest)
            && !exists(&transaction.registry.location.target(was.kind, &name))
        {
            // It is restored as it was.
            entry.installed = was.installed.clone().or(entry.installed);
        }
        if let Some(was) = transaction.listed.installed.get(&name).filter(|was| was.kind == entry.kind) {
            // They lead to the place, not to the version.
            entry.links.clone_from(&was.links);
        }
        let pinned = LockPin::new(&entry, candidate.tree.leaves.clone());
        // The lock first: a broken one is rebuilt by what the registry says now.
        let was_pinned = transaction.locked()?.pins.insert(name.clone(), pinned.clone());
        let was = transaction.listed.installed.insert(name.clone(), entry.clone());
        let location = &transaction.registry.location;
        let old_kind = was.as_ref().map_or(entry.kind, |was| was.kind);
        let old = location.target(old_kind, &name);
        let there = exists(&old);
        let target = location.target(entry.kind, &name);
        if old_kind != entry.kind && exists(&target) {
            return Err(RegistryError::InTheWay { path: target });
        }
        // An edited item must be replaced, whatever the lock says of it.
        let unchanged = there && old_kind == entry.kind && verify::drift(&old, &pinned)?.is_empty();
        let permissions = if there && !unchanged {
            permission_changes((&old, old_kind), (&candidate.dir, entry.kind))
        } else {
            Vec::new()
        };
        let addresses = settings_of(transaction, &name, old_kind);
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
            let coming = IncomingDir { from_trash: None, inode: inode(&candidate.dir), digest: Some(entry.digest) };
            let was = there.then_some(old_kind);
            self.moves.push(DirectoryMove {
                kind: entry.kind,
                name: name.clone(),
                comes: Some(coming),
                goes: there,
                was,
            });
        }
        let enabled = &mut transaction.listed.enabled;
        if !same {
            // The item that was enabled was another one.
            enabled.retain(|address, on| !*on || !addresses.contains_key(address));
        }
        let own = if entry.kind == InstallableKind::Plugin { plugin_address(&name) } else { name.clone() };
        if enable {
            enabled.insert(own.clone(), true);
        }
        self.done.push(InstallChange {
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

    /// Records the commit of an item whose files have not changed. They are left as they are.
    pub(crate) fn record_commit(
        &mut self,
        transaction: &mut Transaction<'_>,
        candidate: &InstallCandidate,
    ) -> Result<(), RegistryError> {
        let name = candidate.name.clone();
        let Some(was) = transaction.listed.installed.get(&name).cloned() else {
            return Err(RegistryError::NotInstalled { name });
        };
        let mut now = was.clone();
        now.commit = candidate.entry.commit.clone().or(now.commit);
        if let Some(pinned) = transaction.locked()?.pins.get_mut(&name) {
            pinned.commit.clone_from(&now.commit);
        }
        transaction.listed.installed.insert(name.clone(), now.clone());
        let own = if now.kind == InstallableKind::Plugin { plugin_address(&name) } else { name.clone() };
        let enabled = transaction.listed.enabled.get(&own).copied();
        let (was, permissions, findings) = (Some(was), Vec::new(), Vec::new());
        self.done.push(InstallChange {
            name,
            was,
            now,
            unchanged: true,
            replaced: false,
            enabled,
            permissions,
            findings,
        });
        Ok(())
    }

    pub(crate) fn commit(mut self, transaction: Transaction<'_>) -> Result<InstallReport, RegistryError> {
        let staging = transaction.stage()?;
        let disk = transaction.registry.disk.clone();
        if !self.comes.is_empty() {
            let put = staging.outer_dir().join("put");
            disk.create_dir(&put).map_err(|error| RegistryError::file("make", &put, error))?;
            let dirs: BTreeSet<_> = self.comes.iter().map(|candidate| candidate.dir.clone()).collect();
            // Each item that is added has its move, in the same order.
            for (InstallCandidate { dir, name, tree, .. }, step) in self.comes.iter().zip(&mut self.moves) {
                let to = put.join(name);
                // A skill may be inside another one, or a plugin, that is installed with it.
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
        let registry = transaction.registry;
        let notes = transaction.commit(&staging, self.moves, &self.trash)?;
        registry.refresh_copies(&self.done);
        Ok(InstallReport { done: self.done, notes })
    }
}

/// Returns whether a directory is inside one of these, or one of these inside it.
fn overlaps(dir: &Path, dirs: &BTreeSet<PathBuf>) -> bool {
    // Paths sort by their parts: a path below a directory comes right behind it.
    let behind = dirs.range::<Path, _>((Bound::Excluded(dir), Bound::Unbounded)).next();
    behind.is_some_and(|other| other.starts_with(dir)) || dir.ancestors().skip(1).any(|above| dirs.contains(above))
}

pub(crate) fn inode(path: &Path) -> u64 {
    path.symlink_metadata().map_or(0, |found| found.ino())
}

/// Returns what is recorded as enabled and disabled of an installed item and its skills, by address.
pub(crate) fn settings_of(transaction: &Transaction<'_>, name: &str, kind: InstallableKind) -> BTreeMap<String, bool> {
    let source = if transaction.registry.location.is_project() { "project" } else { "user" };
    let is_its = |address: &str| match kind {
        InstallableKind::Skill => {
            address == name || address.strip_prefix(name).and_then(|rest| rest.strip_prefix('@')) == Some(source)
        }
        InstallableKind::Plugin => address.strip_prefix(name).is_some_and(|rest| rest.starts_with(':')),
    };
    let enabled = transaction.listed.enabled.iter().filter(|(address, _)| is_its(address));
    enabled.map(|(address, on)| (address.clone(), *on)).collect()
}

/// Copies the files of a tree, and syncs them.
pub(crate) fn copy<'l>(
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

/// An item that the registry or the lock names, and that is not there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct MissingItem {
    /// Its name.
    pub name: String,
    /// A skill or a plugin.
    pub kind: InstallableKind,
    /// The origin to fetch it from.
    pub origin: String,
    /// Its path in the origin.
    pub at: String,
    /// The commit to fetch.
    pub commit: Option<String>,
    /// The digest that its files must have.
    pub digest: ContentId,
}

impl Registry {
    /// Returns the items that the registry and the lock name and that are not there: after a checkout of a project, for
    /// instance. To install one as it was, fetch it at its commit and [expect](StagedItem::expecting) its digest.
    pub fn restore_plan(&self) -> Result<Vec<MissingItem>, RegistryError> {
        let (listed, locked) = self.both()?;
        let mut known: BTreeMap<String, InstalledItem> =
            locked.pins.iter().map(|(name, pinned)| (name.clone(), pinned.installed())).collect();
        for (name, installed) in listed.installed {
            known.entry(name).or_insert(installed);
        }
        let missing = known.into_iter().filter(|(name, known)| !exists(&self.location.target(known.kind, name)));
        let missing = missing.map(|(name, known)| {
            let InstalledItem { kind, origin, at, commit, digest, .. } = known;
            MissingItem { name, kind, origin, at, commit, digest }
        });
        Ok(missing.collect())
    }
}
