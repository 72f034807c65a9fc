//! Skills of catalogs as resources: through the same verified door as when a model loads them.

use std::collections::BTreeMap;
use std::io;

use serde_json::Value;
use skillcue::catalog::{DirectoryEntry, FileError, ListedFile, SkillDir};
use skillcue::remote::{RemoteEntry, RemoteError};
use skillcue::{Error, Skill, Skillcue};

use super::uris;
use super::view::{CatalogView, is_served};
use crate::host::door;

/// Returns whether a URI is one of a skill of a catalog, whose store may have to be asked.
pub(super) fn is_at(view: &CatalogView, uri: &str) -> bool {
    let parts = uris::parse(uri);
    parts
        .is_ok_and(|parts| parts.candidates(&view.catalog, is_served).iter().any(|(skill, _)| skill.server().is_some()))
}

/// Returns the files of an entry, sorted by path.
pub(super) fn files(entry: &RemoteEntry) -> Vec<ListedFile> {
    let listed = entry.files.iter().flatten();
    let mut files: Vec<ListedFile> = listed
        .filter_map(|file| Some(ListedFile { path: entry.path_of(file)?.into_owned(), size: file.size }))
        .collect();
    files.sort_by(|a, b| a.path.cmp(&b.path));
    files
}

/// Reads a file of a skill that may be loaded: its size and its digest are compared with what was signed.
pub(super) fn read(skills: &Skillcue, skill: &Skill, path: &str) -> Result<Vec<u8>, FileError> {
    skills.read_bytes(&skill.address(), path).map_err(|error| failure(skill, path, error))
}

fn failure(skill: &Skill, path: &str, error: Error) -> FileError {
    match error {
        Error::File(error) => error,
        Error::Remote { source: RemoteError::NotListed(_), .. } => not_found(skill, path),
        error => FileError::Unreadable {
            skill: skill.name().into(),
            path: path.into(),
            source: io::Error::other(error.to_string()),
        },
    }
}

fn not_found(skill: &Skill, path: &str) -> FileError {
    FileError::NotFound { skill: skill.name().into(), path: path.into() }
}

/// Lists a directory of a skill that may be loaded.
pub(super) fn children(skills: &Skillcue, skill: &Skill, path: &str) -> Result<Vec<DirectoryEntry>, FileError> {
    let meant = SkillDir::normalize(skill.name(), path)?;
    let entry = skills.loadable_entry(skill).ok_or_else(|| not_found(skill, path))?;
    let below = if meant.is_empty() { String::new() } else { format!("{meant}/") };
    let mut found: BTreeMap<String, Option<u64>> = BTreeMap::new();
    for file in files(&entry) {
        let Some(rest) = file.path.strip_prefix(below.as_str()) else { continue };
        match rest.split_once('/') {
            Some((directory, _)) => found.insert(directory.to_owned(), None),
            None => found.insert(rest.to_owned(), Some(file.size)),
        };
    }
    if found.is_empty() {
        return Err(not_found(skill, path));
    }
    Ok(found.into_iter().map(|(name, size)| DirectoryEntry { name, size }).collect())
}

/// Returns the entry of a skill that may be loaded, at the URIs that it has here.
pub(super) fn entry(skills: &Skillcue, skill: &Skill) -> Option<Value> {
    let (entry, root) = (skills.loadable_entry(skill)?, uris::root(skill)?);
    let mut value = door::write_entry(&entry);
    let moved = |uri: &mut Value| {
        let here = uri.as_str().and_then(|text| text.strip_prefix(entry.root())).map(|rest| format!("{root}{rest}"));
        *uri = here.into();
    };
    moved(value.get_mut("uri")?);
    for file in value.get_mut("resources").and_then(Value::as_array_mut).into_iter().flatten() {
        moved(file.get_mut("uri")?);
    }
    Some(value)
}
