//! Updating: the changes are shown before they are made.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde::Serialize;
use skillcue_audit::audit;
use skillcue_catalog::{
    Content, ContentId, Discovery, Leaf, OrgPolicy, PolicyRefusal, SkillRoot, Source, plugin_roots,
};
use skillcue_format::{Diagnostic, Permissions};

use crate::candidate::{Auditor, InstallCandidate, serialize_findings};
use crate::diff::unified;
use crate::install::{InstallBatch, local_edits, refuse_findings};
use crate::journal::exists;
use crate::trash::{TrashFile, TrashReason};
use crate::tree;
use crate::{Drift, InstallReport, InstallableKind, Registry, RegistryError, StagedItem, Staging, candidate, verify};
use skillcue_base::rfc3339_seconds;

/// The changes that an update would make. Nothing has been changed yet.
#[derive(Debug, Serialize)]
#[non_exhaustive]
pub struct UpdatePlan {
    /// The name of the item.
    pub name: String,
    /// A skill or a plugin.
    pub kind: InstallableKind,
    /// The installed version.
    pub from: ItemVersion,
    /// The new version.
    pub to: ItemVersion,
    /// The front matter fields that change.
    pub front_matter: Vec<FieldChange>,
    /// The permissions that its programs would newly request, or no longer request.
    pub permissions: Vec<PermissionChange>,
    /// The files that differ between the version as it was installed and the new one, whatever was edited meanwhile.
    pub files: Vec<FileChange>,
    /// The audit's findings in the new files that the installed ones do not have.
    #[serde(serialize_with = "serialize_findings")]
    pub findings: Vec<Diagnostic>,
    /// The installed files that were edited. They would go to the trash.
    pub edits: Vec<Drift>,
    #[serde(skip)]
    candidate: InstallCandidate,
    #[serde(skip)]
    dir: PathBuf,
}

/// One version of an item.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ItemVersion {
    /// The version it gives itself.
    pub version: Option<String>,
    /// Its commit.
    pub commit: Option<String>,
    /// The digest over all its files.
    pub digest: ContentId,
}

/// A front matter field that changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct FieldChange {
    /// The skill's name.
    pub skill: String,
    /// The field's name.
    pub field: String,
    /// Its value now.
    pub old: Option<String>,
    /// Its new value.
    pub new: Option<String>,
}

/// A permission that a skill's programs newly request, or no longer request.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[non_exhaustive]
pub struct PermissionChange {
    /// The skill's name.
    pub skill: String,
    /// The permission: `read PATH`, `write PATH`, `network`, `env NAME`.
    pub permission: String,
    /// Whether it would request more than now.
    pub widened: bool,
}

/// A file that changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct FileChange {
    /// Its path in the skill's directory.
    pub path: String,
    /// How it changes.
    pub change: FileChangeKind,
    /// Its size now.
    pub old_size: Option<u64>,
    /// Its new size.
    pub new_size: Option<u64>,
}

/// How a file changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum FileChangeKind {
    /// It is new.
    Added,
    /// It goes.
    Removed,
    /// Its content changes.
    Changed,
    /// Whether it may be executed changes, and nothing else.
    Mode,
    /// It becomes a link, or is none any more, or leads elsewhere.
    Link,
}

/// Options for updating.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct UpdateOptions {
    /// The time to record.
    pub now: SystemTime,
    /// Update in spite of findings of high severity that are new.
    pub allow_findings: bool,
    /// Update edited items, too. The edited copy goes to the trash.
    pub overwrite_edits: bool,
}

impl UpdateOptions {
    /// Returns the careful options: no new findings, no edits overwritten.
    pub fn at(now: SystemTime) -> UpdateOptions {
        UpdateOptions { now, allow_findings: false, overwrite_edits: false }
    }
}

impl UpdatePlan {
    /// Returns whether nothing would change, except perhaps the commit.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// Returns why the organisation's policy refuses the new version. `is_project` says that the registry is a project's.
    pub fn policy_refusal(&self, policy: &OrgPolicy, is_project: bool) -> Option<PolicyRefusal> {
        self.candidate.policy_refusal(policy, is_project).map(|(_, refusal)| refusal)
    }

    /// Returns how one text file would change, as a unified diff. `None` for files that are not text, are larger than
    /// `max_bytes`, or do not change. The text is as it is in the files: make it safe to show.
    pub fn diff(&self, path: &str, max_bytes: u64) -> Option<String> {
        self.files.iter().find(|change| change.path == path)?;
        let old = text(&self.dir.join(path), max_bytes)?;
        let new = text(&self.candidate.dir.join(path), max_bytes)?;
        Some(unified(&old, &new))
    }
}

/// Reads a text file, empty if it is missing; `None` if it is too large or not text.
fn text(path: &Path, max_bytes: u64) -> Option<String> {
    if !exists(path) {
        return Some(String::new());
    }
    let mut bytes = Vec::new();
    tree::open(path).ok()?.take(max_bytes.saturating_add(1)).read_to_end(&mut bytes).ok()?;
    (bytes.len() as u64 <= max_bytes && !bytes.contains(&0)).then(|| String::from_utf8(bytes).ok()).flatten()
}

impl Registry {
    /// Compares an installed item with a newly fetched version of it.
    pub fn plan_update(&self, name: &str, staging: &Staging, chosen: &StagedItem) -> Result<UpdatePlan, RegistryError> {
        self.plan_update_with(name, staging, chosen, &audit)
    }

    /// Like `plan_update`, with another audit.
    pub fn plan_update_with(
        &self,
        name: &str,
        staging: &Staging,
        chosen: &StagedItem,
        auditor: &Auditor<'_>,
    ) -> Result<UpdatePlan, RegistryError> {
        let (listed, locked) = self.both()?;
        let unknown = || RegistryError::NotInstalled { name: name.to_owned() };
        let installed = listed.installed.get(name).ok_or_else(unknown)?.clone();
        let candidate = InstallCandidate::new(staging, chosen, auditor, String::new())?;
        if candidate.name != name || candidate.entry.kind != installed.kind {
            return Err(RegistryError::Renamed { name: name.to_owned(), found: candidate.name });
        }
        let dir = self.location.target(installed.kind, name);
        let (mut old, mut edits) = (Content::default(), Vec::new());
        let there = exists(&dir);
        if there {
            edits = match locked.pins.get(name) {
                Some(pinned) => verify::drift(&dir, pinned)?,
                None => verify::drift_of_all(&dir, installed.digest),
            };
            old = tree::scan(&dir).unwrap_or_default();
        }
        // Local edits are nothing new: the new version is compared with the one that was installed.
        let pinned = locked.pins.get(name).filter(|pinned| there && pinned.digest == installed.digest);
        if let Some(pinned) = pinned {
            old.sizes.retain(|path, _| old.leaves.get(path) == pinned.files.get(path));
            old.leaves.clone_from(&pinned.files);
        }
        let nothing_new = there && candidate.entry.digest == installed.digest;
        let files = if nothing_new { Vec::new() } else { files(&old, &candidate.tree) };
        let known: BTreeSet<_> = auditor(&dir).findings.iter().map(|finding| key(finding, &dir)).collect();
        let findings = candidate.findings.iter().filter(|finding| !known.contains(&key(finding, &candidate.dir)));
        let findings = if nothing_new { Vec::new() } else { findings.cloned().collect() };
        let looked = |dir: &Path| if nothing_new { BTreeMap::new() } else { skills(dir, installed.kind) };
        let (old_skills, new_skills) = (looked(&dir), looked(&candidate.dir));
        Ok(UpdatePlan {
            name: name.to_owned(),
            kind: installed.kind,
            from: ItemVersion { version: installed.version, commit: installed.commit, digest: installed.digest },
            to: ItemVersion {
                version: candidate.entry.version.clone(),
                commit: candidate.entry.commit.clone(),
                digest: candidate.entry.digest,
            },
            front_matter: fields(&old_skills, &new_skills),
            permissions: permissions(&old_skills, &new_skills),
            files,
            findings,
            edits,
            candidate,
            dir,
        })
    }

    /// Applies updates, all of them or none. Of one that changes nothing, the commit is recorded. Replaced versions go
    /// to the trash: [`Registry::undo`] brings them back.
    pub fn apply_updates(
        &self,
        plans: Vec<UpdatePlan>,
        options: &UpdateOptions,
    ) -> Result<InstallReport, RegistryError> {
        let now = rfc3339_seconds(options.now);
        candidate::sync(plans.iter().map(|plan| &plan.candidate), &self.disk)?;
        let mut transaction = self.write()?;
        let mut batch = InstallBatch::new(TrashFile::new(now.clone(), TrashReason::Updated));
        let mut candidates = Vec::new();
        for plan in plans {
            let name = plan.name;
            let installed = transaction.listed.installed.get(&name).cloned();
            let installed = installed.ok_or_else(|| RegistryError::NotInstalled { name: name.clone() })?;
            if installed.digest != plan.from.digest || installed.kind != plan.kind {
                return Err(RegistryError::Outdated { name });
            }
            let drift = local_edits(&mut transaction, &name, &installed)?;
            let there = exists(&self.location.target(installed.kind, &name));
            if plan.files.is_empty() && there && (drift.is_empty() || !options.overwrite_edits) {
                batch.record_commit(&mut transaction, &plan.candidate)?;
                continue;
            }
            if !drift.is_empty() && !options.overwrite_edits {
                return Err(RegistryError::Edited { name, drift });
            }
            let mut candidate = plan.candidate;
            candidate.entry.installed = Some(now.clone());
            candidates.push((plan.findings, candidate));
        }
        // Only new findings stop the update: the others were there when it was installed.
        let (new, mut candidates): (Vec<_>, Vec<_>) = candidates.into_iter().unzip();
        for (candidate, new) in candidates.iter_mut().zip(new) {
            candidate.findings = new;
        }
        refuse_findings(&candidates, options.allow_findings)?;
        for candidate in candidates {
            batch.add(&mut transaction, candidate, true, false)?;
        }
        batch.commit(transaction)
    }
}

/// Returns a finding's identity without its line, which may have changed.
fn key(finding: &Diagnostic, dir: &Path) -> (&'static str, PathBuf, String, String) {
    let path = finding.path.as_deref().unwrap_or(Path::new(""));
    let path = path.strip_prefix(dir).unwrap_or(path).to_owned();
    let excerpt = finding.excerpt.as_deref().unwrap_or_default();
    (finding.code.as_str(), path, finding.message.to_string(), excerpt.to_owned())
}

/// A skill's front matter, field by field, and the permissions that it requests.
#[derive(Default)]
struct SkillFields {
    fields: BTreeMap<String, String>,
    permissions: BTreeSet<String>,
}

fn skills(dir: &Path, kind: InstallableKind) -> BTreeMap<String, SkillFields> {
    let roots = match kind {
        InstallableKind::Skill => vec![SkillRoot::new(dir, Source::Inline)],
        InstallableKind::Plugin => plugin_roots(dir).0,
    };
    let catalog = Discovery::new(roots).run();
    let said = catalog.all().iter().map(|skill| {
        let mut said = SkillFields::default();
        if let Some(raw) = skill.raw() {
            for (key, value) in raw.entries() {
                let field = key.as_str().map_or_else(|| written(key), str::to_owned);
                said.fields.entry(field).or_insert_with(|| written(value));
            }
        }
        said.permissions = skill.manifest().permissions().map(asked).unwrap_or_default();
        (skill.name().to_owned(), said)
    });
    said.collect()
}

/// Writes a front matter value on one line: text as it is, other values as JSON.
fn written(node: &skillcue_format::Node<'_>) -> String {
    match node.as_str() {
        Some(text) => text.to_owned(),
        None => serde_json::to_string(node).unwrap_or_default(),
    }
}

fn asked(permissions: &Permissions) -> BTreeSet<String> {
    let of =
        |word: &'static str, words: &[Box<str>]| words.iter().map(|path| format!("{word} {path}")).collect::<Vec<_>>();
    let mut asked = BTreeSet::new();
    asked.extend(of("read", &permissions.read));
    asked.extend(of("write", &permissions.write));
    asked.extend(of("env", &permissions.env));
    asked.extend(permissions.network.then(|| "network".to_owned()));
    asked
}

fn names<'s>(old: &'s BTreeMap<String, SkillFields>, new: &'s BTreeMap<String, SkillFields>) -> BTreeSet<&'s String> {
    old.keys().chain(new.keys()).collect()
}

fn fields(old: &BTreeMap<String, SkillFields>, new: &BTreeMap<String, SkillFields>) -> Vec<FieldChange> {
    let nothing = SkillFields::default();
    let mut changes = Vec::new();
    for name in names(old, new) {
        let of = |all: &BTreeMap<String, SkillFields>| all.get(name).unwrap_or(&nothing).fields.clone();
        let (old, new) = (of(old), of(new));
        for field in old.keys().chain(new.keys()).collect::<BTreeSet<_>>() {
            let (old, new) = (old.get(field).cloned(), new.get(field).cloned());
            if old != new {
                changes.push(FieldChange { skill: name.clone(), field: field.clone(), old, new });
            }
        }
    }
    changes
}

/// Returns the permissions that the programs of only one of two versions request.
pub(crate) fn permission_changes(
    old: (&Path, InstallableKind),
    new: (&Path, InstallableKind),
) -> Vec<PermissionChange> {
    permissions(&skills(old.0, old.1), &skills(new.0, new.1))
}

fn permissions(old: &BTreeMap<String, SkillFields>, new: &BTreeMap<String, SkillFields>) -> Vec<PermissionChange> {
    let nothing = SkillFields::default();
    let mut changes = Vec::new();
    for name in names(old, new) {
        let of = |all: &BTreeMap<String, SkillFields>| all.get(name).unwrap_or(&nothing).permissions.clone();
        let (old, new) = (of(old), of(new));
        changes.extend(old.symmetric_difference(&new).map(|permission| PermissionChange {
            skill: name.clone(),
            permission: permission.clone(),
            widened: new.contains(permission),
        }));
    }
    changes
}

fn files(old: &Content, new: &Content) -> Vec<FileChange> {
    let paths: BTreeSet<_> = old.leaves.keys().chain(new.leaves.keys()).collect();
    let change = |path: &String| match (old.leaves.get(path), new.leaves.get(path)) {
        (old, new) if old == new => None,
        (None, _) => Some(FileChangeKind::Added),
        (_, None) => Some(FileChangeKind::Removed),
        (Some(Leaf::File { digest: old, .. }), Some(Leaf::File { digest: new, .. })) => {
            Some(if old == new { FileChangeKind::Mode } else { FileChangeKind::Changed })
        }
        _ => Some(FileChangeKind::Link),
    };
    let size = |tree: &Content, path: &String| tree.sizes.get(path).copied();
    let changes = paths.into_iter().filter_map(|path| {
        let change = change(path)?;
        Some(FileChange { path: path.clone(), change, old_size: size(old, path), new_size: size(new, path) })
    });
    changes.collect()
}
