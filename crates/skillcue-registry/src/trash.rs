//! The trash: removed and replaced items, which can be restored until it is emptied.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::entries::{InstalledItem, LockContents, LockPin, RegistryContents, RegistryFile, VERSION, read_bytes};
use crate::journal::{exists, is_id};
use crate::staging::{children, weight};
use crate::{InstallableKind, RegistryLocation};

/// The file in which an entry of the trash describes itself. No item that can be installed has such a name.
pub(crate) const ENTRY: &str = ".entry.json";

/// Why an item went to the trash.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum TrashReason {
    /// It was removed.
    #[default]
    Removed,
    /// Another item was installed in its place.
    Replaced,
    /// A newer version was installed in its place.
    Updated,
    /// The item that it had replaced was restored.
    Restored,
}

/// One entry of the trash: the items of one change.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub(crate) struct TrashFile {
    pub(crate) version: u64,
    pub(crate) when: String,
    pub(crate) why: TrashReason,
    pub(crate) items: BTreeMap<String, TrashItem>,
}

/// One item of an entry, with its entries in the registry's files.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct TrashItem {
    pub(crate) kind: InstallableKind,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) installed: Option<InstalledItem>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) pinned: Option<LockPin>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) enabled: BTreeMap<String, bool>,
    /// Set if there were no files when it was removed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) absent: bool,
}

impl TrashFile {
    pub(crate) fn new(when: String, why: TrashReason) -> TrashFile {
        TrashFile { version: VERSION, when, why, items: BTreeMap::new() }
    }

    /// Returns whether it says only what our own files may say. It may have come with a checkout.
    fn is_sound(&self) -> bool {
        self.version == VERSION
            && self.items.iter().all(|(name, item)| {
                let (mut listed, mut locked) = (RegistryContents::default(), LockContents::default());
                listed.installed.extend(item.installed.clone().map(|installed| (name.clone(), installed)));
                listed.enabled.clone_from(&item.enabled);
                locked.pins.extend(item.pinned.clone().map(|pinned| (name.clone(), pinned)));
                item.kind.may_be_called(name) && listed.wrong().is_none() && locked.wrong().is_none()
            })
    }
}

/// An item in the trash.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct TrashedItem {
    /// The number of the change that put it there. Later ones are larger.
    pub id: String,
    /// Its name.
    pub name: String,
    /// A skill or a plugin.
    pub kind: InstallableKind,
    /// When it went to the trash.
    pub when: String,
    /// Why it went to the trash.
    pub why: TrashReason,
    /// Its origin, if the registry knew it.
    pub origin: Option<String>,
    /// The version it gave itself.
    pub version: Option<String>,
    /// Its size in bytes.
    pub bytes: u64,
    /// Whether its files were missing when it was removed: nothing of it can be restored.
    pub absent: bool,
}

/// Lists the entries of the trash that are not empty, the latest first.
pub(crate) fn entries(location: &RegistryLocation) -> Vec<(String, TrashFile)> {
    let dirs = children(&location.trash()).unwrap_or_default();
    dirs.iter().rev().filter_map(|path| entry(location, path)).collect()
}

/// Reads one entry, unless it is empty.
pub(crate) fn entry(location: &RegistryLocation, path: &Path) -> Option<(String, TrashFile)> {
    let id = path.file_name()?.to_str().filter(|id| is_id(id))?.to_owned();
    if !path.symlink_metadata().ok()?.is_dir() {
        return None;
    }
    let bytes = read_bytes(&path.join(ENTRY), location.max_bytes()).ok()?.ok()?;
    let mut file: TrashFile = serde_json::from_slice(&bytes).ok().filter(TrashFile::is_sound)?;
    file.items.retain(|name, item| item.absent || exists(&path.join(name)));
    (!file.items.is_empty()).then_some((id, file))
}

pub(crate) fn list(location: &RegistryLocation) -> Vec<TrashedItem> {
    let mut list = Vec::new();
    for (id, file) in entries(location) {
        for (name, item) in file.items {
            let bytes = weight(&path(location, &id, &name));
            let installed = item.installed;
            list.push(TrashedItem {
                id: id.clone(),
                kind: item.kind,
                when: file.when.clone(),
                why: file.why,
                version: installed.as_ref().and_then(|installed| installed.version.clone()),
                origin: installed.map(|installed| installed.origin),
                bytes,
                absent: item.absent,
                name,
            });
        }
    }
    list
}

/// Returns the path of an item in the trash.
pub(crate) fn path(location: &RegistryLocation, id: &str, name: &str) -> PathBuf {
    location.trash().join(id).join(name)
}
