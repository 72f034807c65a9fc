//! What was removed or replaced, and can be brought back until it is collected.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::entries::{Entries, Installed, Listed, Locked, Pinned, VERSION, read_bytes};
use crate::journal::{exists, is_id};
use crate::staging::{children, weight};
use crate::{Kind, Place};

/// Where an entry of the trash describes itself. Nothing that can be installed has such a name.
pub(crate) const ENTRY: &str = ".entry.json";

/// Why something went to the trash.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Why {
    /// It was removed.
    #[default]
    Removed,
    /// Something else was installed in its place.
    Replaced,
    /// A newer version was.
    Updated,
    /// What it had replaced was brought back.
    Restored,
}

/// One entry of the trash: what went at once.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub(crate) struct TrashFile {
    pub(crate) version: u64,
    pub(crate) when: String,
    pub(crate) why: Why,
    pub(crate) items: BTreeMap<String, TrashItem>,
}

/// One thing that went, with what was known of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct TrashItem {
    pub(crate) kind: Kind,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) installed: Option<Installed>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) pinned: Option<Pinned>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) enabled: BTreeMap<String, bool>,
    /// Set if there were no files when it was removed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) absent: bool,
}

impl TrashFile {
    pub(crate) fn new(when: String, why: Why) -> TrashFile {
        TrashFile { version: VERSION, when, why, items: BTreeMap::new() }
    }

    /// Whether it says nothing that our own files may not say. It may have come with a checkout.
    fn is_sound(&self) -> bool {
        self.version == VERSION
            && self.items.iter().all(|(name, item)| {
                let (mut listed, mut locked) = (Listed::default(), Locked::default());
                listed.installed.extend(item.installed.clone().map(|installed| (name.clone(), installed)));
                listed.enabled.clone_from(&item.enabled);
                locked.pins.extend(item.pinned.clone().map(|pinned| (name.clone(), pinned)));
                item.kind.may_be_called(name) && listed.wrong().is_none() && locked.wrong().is_none()
            })
    }
}

/// Something in the trash.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Trashed {
    /// The number of the change that put it there. Later ones are larger.
    pub id: String,
    /// Its name.
    pub name: String,
    /// A skill or a plugin.
    pub kind: Kind,
    /// When it went.
    pub when: String,
    /// Why.
    pub why: Why,
    /// Where it was from, if the registry knew it.
    pub origin: Option<String>,
    /// The version it gave itself.
    pub version: Option<String>,
    /// How large it is.
    pub bytes: u64,
    /// Whether its files were missing when it was removed: nothing of it can come back.
    pub absent: bool,
}

/// The entries of the trash that have something in them, the latest first.
pub(crate) fn entries(place: &Place) -> Vec<(String, TrashFile)> {
    let dirs = children(&place.trash()).unwrap_or_default();
    dirs.iter().rev().filter_map(|path| entry(place, path)).collect()
}

/// One entry, unless nothing is in it.
pub(crate) fn entry(place: &Place, path: &Path) -> Option<(String, TrashFile)> {
    let id = path.file_name()?.to_str().filter(|id| is_id(id))?.to_owned();
    if !path.symlink_metadata().ok()?.is_dir() {
        return None;
    }
    let bytes = read_bytes(&path.join(ENTRY), place.max_bytes()).ok()?.ok()?;
    let mut file: TrashFile = serde_json::from_slice(&bytes).ok().filter(TrashFile::is_sound)?;
    file.items.retain(|name, item| item.absent || exists(&path.join(name)));
    (!file.items.is_empty()).then_some((id, file))
}

pub(crate) fn list(place: &Place) -> Vec<Trashed> {
    let mut list = Vec::new();
    for (id, file) in entries(place) {
        for (name, item) in file.items {
            let bytes = weight(&path(place, &id, &name));
            let installed = item.installed;
            list.push(Trashed {
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

/// Where something in the trash stands.
pub(crate) fn path(place: &Place, id: &str, name: &str) -> PathBuf {
    place.trash().join(id).join(name)
}
