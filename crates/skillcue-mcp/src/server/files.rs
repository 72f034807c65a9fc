//! Reading skill files by their URIs. Every read goes through [`SkillDir`].

use std::io::Read as _;

use rmcp::ErrorData;
use serde_json::json;
use skillcue::catalog::{DirectoryEntry, FileError, SkillDir};
use skillcue::{Skill, Skillcue};
use skillcue_base::quoted;

use super::published;
use super::uris::{self, BadUri};
use super::view::{CatalogView, is_served};

/// The size of the largest file that is served, in bytes: as much as a whole skill may have.
pub(super) const MAX_FILE: u64 = 16 << 20;

/// Why a URI could not be served.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ServeError {
    /// Nothing is served at that URI.
    NotFound(String),
    /// The URI leads out of the skills; it has been logged.
    Refused(String),
    /// It is there, but it cannot be read.
    Unreadable(String),
}

impl ServeError {
    /// Returns the protocol's error: rmcp turns "not found" into the code of the client's version of the protocol.
    pub(super) fn into_error(self, uri: &str) -> ErrorData {
        match self {
            ServeError::NotFound(message) | ServeError::Refused(message) => {
                ErrorData::resource_not_found(message, Some(json!({ "uri": uri })))
            }
            ServeError::Unreadable(message) => ErrorData::internal_error(message, None),
        }
    }

    /// Like `into_error`, for the extension, which demands "invalid params" for URIs that are not served.
    pub(super) fn into_invalid_params(self) -> ErrorData {
        match self {
            ServeError::NotFound(message) | ServeError::Refused(message) => ErrorData::invalid_params(message, None),
            ServeError::Unreadable(message) => ErrorData::internal_error(message, None),
        }
    }
}

/// A file as it is served.
#[derive(Debug)]
pub(super) struct ServedFile {
    /// The skill that it is a file of.
    pub(super) skill: String,
    /// Its path below the skill's directory.
    pub(super) path: String,
    /// Its content.
    pub(super) bytes: Vec<u8>,
}

/// Opens the directory of a skill that a path is below.
pub(super) fn open(skill: &Skill, path: &str) -> Result<SkillDir, FileError> {
    // A skill file may be a link to that of another directory; the rest of the skill is where the link is.
    let dir = if path == skill.file().name() { skill.body_file().open_dir } else { skill.dir() };
    SkillDir::open(skill.name(), &dir)
}

/// Reads the file of a URI.
pub(super) fn read(skills: &Skillcue, view: &CatalogView, uri: &str) -> Result<ServedFile, ServeError> {
    within(view, uri, |skill, path| {
        if skill.server().is_some() {
            return published::read(skills, skill, path);
        }
        let dir = open(skill, path)?;
        let opened = dir.open_file(path)?;
        if SkillDir::is_ignored(path) {
            return Err(FileError::NotFound { skill: skill.name().into(), path: path.into() });
        }
        let too_large =
            |size| FileError::TooLarge { skill: skill.name().into(), path: path.into(), size, limit: MAX_FILE };
        if opened.stamp.size > MAX_FILE {
            return Err(too_large(opened.stamp.size));
        }
        let mut bytes = Vec::with_capacity(usize::try_from(opened.stamp.size).unwrap_or(0).saturating_add(1));
        let unreadable = |source| FileError::Unreadable { skill: skill.name().into(), path: path.into(), source };
        opened.file.take(MAX_FILE + 1).read_to_end(&mut bytes).map_err(unreadable)?;
        if bytes.len() as u64 > MAX_FILE { Err(too_large(bytes.len() as u64)) } else { Ok(bytes) }
    })
    .map(|(skill, path, bytes)| ServedFile { skill: skill.name().to_owned(), path, bytes })
}

/// Lists a directory of a skill: the skill, the directory's path below it, and its entries.
pub(super) fn children<'v>(
    skills: &Skillcue,
    view: &'v CatalogView,
    uri: &str,
) -> Result<(&'v Skill, String, Vec<DirectoryEntry>), ServeError> {
    let trimmed = uri.strip_suffix('/').unwrap_or(uri);
    let children = |skill: &Skill, path: &str| match skill.server() {
        Some(_) => published::children(skills, skill, path),
        None => listed(&SkillDir::open(skill.name(), &skill.dir())?, path),
    };
    let (skill, path, children) = within(view, trimmed, children).map_err(|failure| match failure {
        // A file is there and can be read, but it is no directory.
        ServeError::Unreadable(_) => ServeError::NotFound(format!("{} is no directory resource", quoted(uri))),
        other => other,
    })?;
    Ok((skill, tidy(&path), children))
}

/// Lists a directory. For a path that is none, it is still checked whether it leads out.
fn listed(dir: &SkillDir, path: &str) -> Result<Vec<DirectoryEntry>, FileError> {
    let error = match dir.children(path) {
        Ok(children) => return Ok(children),
        Err(error @ FileError::Security { .. }) => return Err(error),
        Err(error) => error,
    };
    match dir.open_file(path) {
        Err(refused @ FileError::Security { .. }) => Err(refused),
        _ => Err(error),
    }
}

/// Returns a path that has been resolved below its skill, without `.` and `..`.
fn tidy(path: &str) -> String {
    let mut segments = Vec::new();
    for segment in path.split('/') {
        match segment {
            "" | "." => {}
            ".." => drop(segments.pop()),
            name => segments.push(name),
        }
    }
    segments.join("/")
}

/// Tries each skill that the URI may be below, innermost first, until one has the file.
fn within<'v, T>(
    view: &'v CatalogView,
    uri: &str,
    ask: impl Fn(&Skill, &str) -> Result<T, FileError>,
) -> Result<(&'v Skill, String, T), ServeError> {
    let not_served = || ServeError::NotFound(format!("nothing is served at {}", quoted(uri)));
    let parts = match uris::parse(uri) {
        Ok(parts) => parts,
        Err(BadUri::Foreign) => return Err(not_served()),
        Err(BadUri::Attack(reason)) => return Err(refuse(uri, reason)),
    };
    let candidates = parts.candidates(&view.catalog, is_served);
    if candidates.is_empty() {
        return Err(parts.suspicion().map_or_else(not_served, |reason| refuse(uri, reason)));
    }
    for (skill, path) in candidates {
        match ask(skill, &path) {
            Ok(found) => return Ok((skill, path, found)),
            Err(FileError::NotFound { .. }) => {}
            Err(error @ FileError::Security { .. }) => return Err(ServeError::Refused(error.to_string())),
            Err(error @ FileError::NotAFile { .. }) => return Err(ServeError::NotFound(error.to_string())),
            Err(error) => return Err(ServeError::Unreadable(error.to_string())),
        }
    }
    Err(not_served())
}

/// Returns the skill whose `SKILL.md` (or other skill file) a URI is.
pub(super) fn skill_at<'v>(view: &'v CatalogView, uri: &str) -> Result<&'v Skill, ServeError> {
    let found = within(view, uri, |skill, path| {
        if path == skill.file().name() {
            return Ok(());
        }
        // It is no skill file; opening it checks whether it leads out, and logs that.
        if skill.server().is_none() {
            open(skill, path)?.open_file(path)?;
        } else {
            SkillDir::normalize(skill.name(), path)?;
        }
        Err(FileError::NotFound { skill: skill.name().into(), path: path.into() })
    });
    match found {
        Ok((skill, _, ())) => Ok(skill),
        Err(refused @ ServeError::Refused(_)) => Err(refused),
        Err(_) => Err(ServeError::NotFound(format!("no skill is served at {}", quoted(uri)))),
    }
}

/// Refuses a URI before any skill's directory was opened, with the same security event that opening would log.
fn refuse(uri: &str, reason: &'static str) -> ServeError {
    let uri = quoted(uri);
    tracing::warn!(target: "skillcue::security", uri, reason, "refused a URI");
    ServeError::Refused(format!("refused {uri}: {reason}"))
}
