//! The origins that skills are installed from, as people write them.

mod address;

use std::fmt;
use std::path::{Component, Path, PathBuf};

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use skillcue_base::{ErrorInfo, Shown};
use thiserror::Error;

use crate::oci::OciReference;
use crate::oci::SCHEME;
use address::Address;

/// The extensions of archives.
const ARCHIVES: [&str; 4] = [".zip", ".skill", ".tar.gz", ".tgz"];

/// An origin that skills are installed from.
///
/// Its text form ([`Display`](fmt::Display), and one string in files) is absolute and parses back to the same origin,
/// wherever and whenever.
///
/// ```
/// use std::path::Path;
/// use skillcue_registry::InstallOrigin;
///
/// let cwd = Path::new("/nowhere");
/// let text = |written: &str| InstallOrigin::parse(written, cwd).map(|origin| origin.to_string());
/// assert_eq!(text("./pdf")?, "/nowhere/pdf");
/// assert_eq!(text("pdf.skill")?, "/nowhere/pdf.skill");
/// assert_eq!(text("anthropics/skills/skills/pdf@v1")?, "https://github.com/anthropics/skills.git//skills/pdf@v1");
/// assert_eq!(text("https://github.com/o/r/tree/main/pdf")?, "https://github.com/o/r.git//pdf@main");
/// assert_eq!(text("git@host:o/r.git@main")?, "git@host:o/r.git@main");
/// # Ok::<(), skillcue_registry::OriginError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum InstallOrigin {
    /// A directory.
    Directory {
        /// Absolute.
        path: PathBuf,
    },
    /// A file that ends in `.zip`, `.skill`, `.tar.gz` or `.tgz`.
    Archive {
        /// Absolute.
        path: PathBuf,
    },
    /// A git repository.
    Git {
        /// The address for git: a URL, `user@host:path`, or an absolute path that ends in `.git`. Never with a
        /// password.
        url: String,
        /// A branch, a tag or a commit; without one, the repository's `HEAD`.
        reference: Option<String>,
        /// A directory below the repository's root, with `/` between its parts; without one, all of it.
        subdir: Option<String>,
    },
    /// An artifact in an OCI registry.
    Oci(OciReference),
}

/// Why a text names no origin.
#[derive(Debug, Clone, PartialEq, Eq, Error, ErrorInfo)]
#[info(code = "usage", hint = *help)]
#[error("{message}")]
pub struct OriginError {
    message: String,
    help: &'static str,
}

impl OriginError {
    pub(crate) fn new(message: impl Into<String>, help: &'static str) -> OriginError {
        OriginError { message: message.into(), help }
    }
}

impl InstallOrigin {
    /// Parses an origin as a person wrote it in the directory `cwd`. In this order:
    ///
    /// - `oci://host/repository:tag`: an artifact in an OCI registry;
    /// - `scheme://…` (https, http, ssh, git, file): a git repository;
    /// - `/x`, `./x`, `../x`, `.`: an archive by its ending, a git repository if it ends in `.git`, else a directory;
    ///   with a slash at its end always a directory;
    /// - a relative path to a directory that exists, though it might be read otherwise, too;
    /// - a relative path that ends like an archive;
    /// - `user@host:path`: a git repository over ssh;
    /// - `github.com/…` and `gitlab.com/…`: as with `https://` before them;
    /// - `owner/repo[/path]`: a repository on GitHub.
    ///
    /// A repository may be followed by `//path`, a directory in it, and then `@ref`. An `@` at the start of a part
    /// belongs to the path (`skills/@team/pdf`); any other in the path is written `%40`. Addresses of GitHub's and
    /// GitLab's web pages (`…/tree/REF/path`) are understood; a ref there has no slash.
    pub fn parse(text: &str, cwd: &Path) -> Result<InstallOrigin, OriginError> {
        read(text, cwd, &|path| path.is_dir())
    }

    /// Returns a repository that a foreign file names, which is never one on this machine.
    pub(crate) fn elsewhere(
        repository: &str,
        reference: Option<&str>,
        subdir: Option<&str>,
    ) -> Result<InstallOrigin, OriginError> {
        match InstallOrigin::from_text(repository)? {
            InstallOrigin::Git { url, reference: own, subdir: below } if !is_local(&url) => {
                let reference = reference.map(address::reference_of).transpose()?.or(own);
                let subdir = subdir.map(address::subdir_below).transpose()?.flatten().or(below);
                Ok(InstallOrigin::Git { url, reference, subdir })
            }
            _ => {
                let message = format!("{} is on this machine, or no repository", Shown(repository));
                Err(OriginError::new(message, "only repositories that can be fetched may be named there"))
            }
        }
    }

    /// Returns the name of its last part, without an archive's extension or `.git`.
    pub(crate) fn last_name(&self) -> String {
        let name = |path: &Path| path.file_name().map(|name| name.to_string_lossy().into_owned());
        let found = match self {
            InstallOrigin::Directory { path } => name(path),
            InstallOrigin::Archive { path } => name(path).map(|name| {
                let lower = name.to_ascii_lowercase();
                let ending = ARCHIVES.iter().find(|ending| lower.ends_with(**ending)).map_or(0, |ending| ending.len());
                name[..name.len() - ending].to_owned()
            }),
            InstallOrigin::Oci(reference) => Some(reference.last_name().to_owned()),
            InstallOrigin::Git { subdir: Some(subdir), .. } => name(Path::new(subdir)),
            InstallOrigin::Git { url, subdir: None, .. } => {
                let url = url.trim_end_matches('/');
                url.strip_suffix(".git").unwrap_or(url).rsplit(['/', ':']).next().map(str::to_owned)
            }
        };
        found.filter(|name| !name.is_empty()).unwrap_or_else(|| ".".to_owned())
    }

    /// Parses the text form, without looking at the disk.
    pub(crate) fn from_text(text: &str) -> Result<InstallOrigin, OriginError> {
        read(text, Path::new("/"), &|_| false)
    }
}

fn is_local(url: &str) -> bool {
    url.starts_with('/') || url.starts_with("file:")
}

type IsDir<'d> = &'d dyn Fn(&Path) -> bool;

fn read(text: &str, cwd: &Path, is_dir: IsDir<'_>) -> Result<InstallOrigin, OriginError> {
    if text.trim().is_empty() {
        return Err(OriginError::new("no source was given", "name a directory, an archive, a git URL or owner/repo"));
    }
    if text.chars().any(char::is_control) {
        let message = format!("the source {} has control characters", Shown(text));
        return Err(OriginError::new(message, "write it on one line, as plain text"));
    }
    if text.starts_with('-') {
        let message = format!("{} looks like an option, not like a source", Shown(text));
        return Err(OriginError::new(message, "write ./ before a path that starts with a hyphen"));
    }
    if text.starts_with(SCHEME) {
        return OciReference::parse(text).map(InstallOrigin::Oci);
    }
    if let Some((scheme, _)) = text.split_once("://")
        && !scheme.contains(['/', ':'])
    {
        return Ok(Address::url(text)?.into());
    }
    if let Some((transport, _)) = text.split_once("::")
        && !transport.contains(['/', '[', '@'])
    {
        let message = format!("{}:: runs a program of its own, which no source may", Shown(transport));
        return Err(OriginError::new(message, "use an address that starts with https://, ssh:// or git@"));
    }
    if text.starts_with('/') || matches!(text.split('/').next(), Some("." | "..")) {
        return local(text, cwd, is_dir);
    }
    if text == "~" || text.starts_with("~/") {
        let message = format!("{} was not expanded", Shown(text));
        return Err(OriginError::new(message, "write the home directory out"));
    }
    if text.ends_with('/') && is_dir(&cwd.join(text)) {
        return local(text, cwd, is_dir);
    }
    if is_dir(&cwd.join(front(text))) || is_archive(text) {
        return local(text, cwd, is_dir);
    }
    if text.contains('\\') {
        let message = format!("{} has a backslash", Shown(text));
        return Err(OriginError::new(message, "write paths with `/`"));
    }
    if let Some(colon) = text.find(':')
        && !text[..colon].contains('/')
    {
        return Ok(Address::scp(text, colon)?.into());
    }
    if text.starts_with("github.com/") || text.starts_with("gitlab.com/") {
        return Ok(Address::url(&format!("https://{text}"))?.into());
    }
    Ok(Address::shorthand(text)?.into())
}

/// Returns the part of a text that names a repository by `.git`, or all of it.
fn front(text: &str) -> &str {
    address::repository_end(text).map_or(text, |end| &text[..end])
}

fn is_archive(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    ARCHIVES.iter().any(|ending| lower.ends_with(ending) && !lower[..lower.len() - ending.len()].ends_with('/'))
}

/// Parses a path on this machine.
fn local(text: &str, cwd: &Path, is_dir: IsDir<'_>) -> Result<InstallOrigin, OriginError> {
    if text.ends_with('/') {
        return Ok(InstallOrigin::Directory { path: absolute(text, cwd)? });
    }
    if is_archive(text) {
        let path = absolute(text, cwd)?;
        return Ok(if is_dir(&path) { InstallOrigin::Directory { path } } else { InstallOrigin::Archive { path } });
    }
    if let Some(end) = address::repository_end(text) {
        let path = absolute(&text[..end], cwd)?;
        let url = path.to_string_lossy().into_owned();
        return Ok(Address::with_tail(url, &text[end..])?.into());
    }
    Ok(InstallOrigin::Directory { path: absolute(text, cwd)? })
}

/// Returns the path below `cwd`, without its `.` parts. Its `..` parts stay: their meaning depends on links.
fn absolute(text: &str, cwd: &Path) -> Result<PathBuf, OriginError> {
    let joined = cwd.join(text);
    let path: PathBuf = joined.components().filter(|part| *part != Component::CurDir).collect();
    match path.to_str() {
        Some(text) if path.is_absolute() && !text.chars().any(char::is_control) => Ok(path),
        _ => {
            let message = format!("the path {} is no plain text", Shown(&path.to_string_lossy()));
            Err(OriginError::new(message, "rename its directories, or start from another one"))
        }
    }
}

impl fmt::Display for InstallOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            InstallOrigin::Directory { path } => {
                let text = path.to_string_lossy();
                f.write_str(&text)?;
                // Whatever it is called, with a slash it is a directory.
                let plain = !text.ends_with('/') && InstallOrigin::from_text(&text).is_ok_and(|read| read == *self);
                if plain || text.ends_with('/') { Ok(()) } else { f.write_str("/") }
            }
            InstallOrigin::Archive { path } => f.write_str(&path.to_string_lossy()),
            InstallOrigin::Oci(reference) => reference.fmt(f),
            InstallOrigin::Git { url, reference, subdir } => {
                f.write_str(url)?;
                if let Some(subdir) = subdir {
                    write!(f, "//{}", address::written(subdir))?;
                }
                if let Some(reference) = reference {
                    write!(f, "@{reference}")?;
                }
                Ok(())
            }
        }
    }
}

impl Serialize for InstallOrigin {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for InstallOrigin {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<InstallOrigin, D::Error> {
        let text = String::deserialize(deserializer)?;
        InstallOrigin::from_text(&text).map_err(D::Error::custom)
    }
}
