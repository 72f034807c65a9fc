//! Staged items, checked before they are installed.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde::Serializer;
use skillcue_audit::{Audit, finding_json};
use skillcue_catalog::{
    Catalog, Content, ContentId, Discovery, Leaf, OrgPolicy, PolicyRefusal, PolicySubject, SkillRoot, Source,
    SubjectContent, plugin_roots,
};
use skillcue_format::{Code, Diagnostic, Severity};

use crate::entries::InstalledItem;
use crate::tree;
use crate::{Disk, InstallableKind, RegistryError, Staging};

/// An item in a staging directory that is to be installed.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct StagedItem {
    /// A skill or a plugin.
    pub kind: InstallableKind,
    /// Its path in the staging directory; empty for the directory itself.
    pub at: PathBuf,
    /// The origin that it was fetched from, as it can be fetched again.
    pub origin: String,
    /// The commit it is at.
    pub commit: Option<String>,
    /// The digest that its files must have, because a lock pins it.
    pub expect: Option<ContentId>,
}

impl StagedItem {
    /// Returns the item at that path, from that origin.
    pub fn new(kind: InstallableKind, at: impl Into<PathBuf>, origin: impl Into<String>) -> StagedItem {
        StagedItem { kind, at: at.into(), origin: origin.into(), commit: None, expect: None }
    }

    /// Sets the commit it is at.
    #[must_use]
    pub fn at_commit(mut self, commit: Option<String>) -> StagedItem {
        self.commit = commit;
        self
    }

    /// Sets the digest that its files must have.
    #[must_use]
    pub fn expecting(mut self, digest: Option<ContentId>) -> StagedItem {
        self.expect = digest;
        self
    }
}

/// Serializes findings as JSON objects, without their help texts.
pub(crate) fn serialize_findings<S: Serializer>(findings: &[Diagnostic], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(findings.iter().map(|found| {
        let mut row = finding_json(found);
        if let Some(row) = row.as_object_mut() {
            row.remove("help");
        }
        row
    }))
}

/// A function that audits a directory.
pub type Auditor<'a> = dyn Fn(&Path) -> Audit + 'a;

/// A staged item that has been checked and may be installed.
#[derive(Debug)]
pub(crate) struct InstallCandidate {
    /// Keeps the directory from being removed.
    _staging: Staging,
    pub(crate) dir: PathBuf,
    pub(crate) name: String,
    pub(crate) entry: InstalledItem,
    pub(crate) tree: Content,
    pub(crate) findings: Vec<Diagnostic>,
}

impl InstallCandidate {
    /// Checks a staged item: its name, its files, the audit's findings.
    pub(crate) fn new(
        staging: &Staging,
        chosen: &StagedItem,
        auditor: &Auditor<'_>,
        now: String,
    ) -> Result<InstallCandidate, RegistryError> {
        let at = chosen.at.to_string_lossy().into_owned();
        let dir = below(staging.dir(), &chosen.at).map_err(|error| match error {
            RegistryError::File { error, .. } if error.kind() == std::io::ErrorKind::NotFound => {
                RegistryError::NotInOrigin { at: at.clone(), origin: chosen.origin.clone() }
            }
            error => error,
        })?;
        let (name, version, skills) = match chosen.kind {
            InstallableKind::Skill => skill(&dir).map(|(name, version)| (name, version, Vec::new())),
            InstallableKind::Plugin => plugin(&dir),
        }
        .map_err(|diagnostics| RegistryError::Invalid { kind: chosen.kind, at: at.clone(), diagnostics })?;
        let tree = tree::scan(&dir)?;
        if let Some(odd) = tree.unpinnable.first() {
            let (path, reason) = (odd.path.clone(), odd.reason.as_str());
            return Err(RegistryError::Odd { name, path, reason });
        }
        let digest = tree.id();
        if let Some(expected) = chosen.expect.filter(|expected| *expected != digest) {
            return Err(RegistryError::Differs { name, expected, found: digest });
        }
        let findings = auditor(&dir).findings;
        let entry = InstalledItem {
            kind: chosen.kind,
            origin: chosen.origin.clone(),
            at,
            commit: chosen.commit.clone(),
            version,
            skills,
            digest,
            installed: Some(now),
            links: Vec::new(),
            other: BTreeMap::new(),
        };
        Ok(InstallCandidate { _staging: staging.clone(), dir, name, entry, tree, findings })
    }
}

impl InstallCandidate {
    /// Returns why the organisation's policy refuses it, and the name of the skill: of a plugin, the first that is refused.
    pub(crate) fn policy_refusal(&self, policy: &OrgPolicy, is_project: bool) -> Option<(String, PolicyRefusal)> {
        // A plugin is one item: its skills share its files.
        let names = if self.entry.skills.is_empty() { std::slice::from_ref(&self.name) } else { &self.entry.skills };
        names.iter().find_map(|name| {
            let subject = PolicySubject {
                name,
                // A project's registry comes with a checkout: what it installs is the project's.
                source: if is_project { Source::Project.as_str() } else { "installed" },
                origin: Some(&self.entry.origin),
                content: self,
                ..PolicySubject::default()
            };
            policy.refusal(&subject).map(|refusal| (name.clone(), refusal))
        })
    }
}

impl SubjectContent for InstallCandidate {
    fn id(&self) -> Result<ContentId, String> {
        Ok(self.entry.digest)
    }

    fn worst_finding(&self) -> Result<Option<Severity>, String> {
        Ok(self.findings.iter().map(|found| found.severity).min())
    }
}

/// Returns the path of a directory in a staging directory, unless a link is on the way.
fn below(dir: &Path, at: &Path) -> Result<PathBuf, RegistryError> {
    let mut here = dir.to_owned();
    for part in at.components() {
        here.push(part);
        let fail = |error| RegistryError::file("look at", &here, error);
        let plain = matches!(part, std::path::Component::Normal(_) | std::path::Component::CurDir);
        if !plain || !here.symlink_metadata().map_err(fail)?.is_dir() {
            return Err(RegistryError::NotADirectory { path: dir.join(at) });
        }
    }
    Ok(here)
}

fn skill(dir: &Path) -> Result<(String, Option<String>), Vec<Diagnostic>> {
    let catalog = Discovery::new([SkillRoot::new(dir, Source::Inline)]).run();
    match catalog.all() {
        [skill] if skill.dir() == dir => Ok((skill.name().to_owned(), skill.manifest().version().map(str::to_owned))),
        _ => Err(wrong(&catalog, Code::MissingField, "there is no skill file in it")),
    }
}

fn wrong(catalog: &Catalog, code: Code, otherwise: &'static str) -> Vec<Diagnostic> {
    let found: Vec<_> = catalog.invalid().iter().flat_map(|invalid| invalid.diagnostics.clone()).collect();
    if found.is_empty() { vec![Diagnostic::new(code, otherwise)] } else { found }
}

type PluginSummary = (String, Option<String>, Vec<String>);

fn plugin(dir: &Path) -> Result<PluginSummary, Vec<Diagnostic>> {
    let (roots, diagnostics) = plugin_roots(dir);
    let Some(name) = roots.first().and_then(|root| root.plugin.as_deref()).map(str::to_owned) else {
        return Err(diagnostics);
    };
    if !InstallableKind::Plugin.may_be_called(&name) {
        let message = format!("{name:?} cannot be the name of a directory");
        let help = "a plugin that can be installed has a name of letters, digits, `-`, `_` and `.`";
        return Err(vec![Diagnostic::new(Code::InvalidPlugin, message).with_help(help)]);
    }
    let catalog = Discovery::new(roots).run();
    // An invalid skill does not prevent installing the others: discovery reports it each time.
    let skills: BTreeSet<String> = catalog.all().iter().map(|skill| skill.name().to_owned()).collect();
    let text = skillcue_catalog::SkillDir::open("plugin", dir)
        .and_then(|dir| dir.read_to_string(".claude-plugin/plugin.json", skillcue_format::MAX_FILE));
    let manifest = text.ok().and_then(|text| serde_json::from_str::<serde_json::Value>(&text).ok());
    let version = manifest.and_then(|manifest| Some(manifest.get("version")?.as_str()?.to_owned()));
    Ok((name, version, skills.into_iter().collect()))
}

/// With more files than this, the whole file system is synced at once: syncing single files takes a millisecond each.
const MAX_SINGLE_SYNCS: usize = 256;

/// Syncs the items to the disk, with modes that let no other user write to them: fetching may have done neither.
pub(crate) fn sync<'c>(
    candidates: impl Iterator<Item = &'c InstallCandidate> + Clone,
    disk: &Disk,
) -> Result<(), RegistryError> {
    for InstallCandidate { dir, tree, .. } in candidates.clone() {
        for loose in &tree.loose {
            let path = dir.join(loose);
            let plain = matches!(tree.leaves.get(loose), Some(Leaf::File { executable: false, .. }));
            let mode = if plain { 0o644 } else { 0o755 };
            disk.set_mode(&path, mode).map_err(|error| RegistryError::file("change the mode of", &path, error))?;
        }
    }
    let files: usize = candidates.clone().map(|candidate| candidate.tree.leaves.len()).sum();
    if files > MAX_SINGLE_SYNCS
        && let Some(InstallCandidate { dir, .. }) = candidates.clone().next()
    {
        match disk.sync_file_system(dir) {
            Err(error) if error.kind() == std::io::ErrorKind::Unsupported => {}
            synced => return synced.map_err(|error| RegistryError::file("write", dir, error)),
        }
    }
    for InstallCandidate { dir, tree, .. } in candidates {
        let mut dirs = BTreeSet::from([PathBuf::new()]);
        for (path, leaf) in &tree.leaves {
            dirs.extend(Path::new(path).ancestors().skip(1).map(Path::to_owned));
            if matches!(leaf, Leaf::File { .. }) {
                let path = dir.join(path);
                disk.sync_file(&path).map_err(|error| RegistryError::file("write", &path, error))?;
            }
        }
        for dir in dirs.iter().map(|below| dir.join(below)) {
            disk.sync_dir(&dir).map_err(|error| RegistryError::file("write", &dir, error))?;
        }
    }
    Ok(())
}
