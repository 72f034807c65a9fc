//! From an origin to a directory of files, within limits.

pub(crate) mod archive;
pub(crate) mod context;
mod directory;
mod error;
mod git;
pub(crate) mod tree;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

pub use error::{Exceeded, FetchError, Refusal};

use crate::{Disk, FetchLimits, FetchProgress, InstallOrigin};
use context::FetchContext;

/// The result of a fetch, beside its files.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Fetched {
    /// The commit, in full (40 or 64 hexadecimal digits), if it came from git.
    pub commit: Option<String>,
}

/// The `git` program and its environment, which is what the caller sets and nothing else.
///
/// Variables that would make git work on another repository, or prompt, are left out or overruled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GitProgram {
    /// The program.
    pub program: PathBuf,
    /// The variables to pass on: `HOME`, `PATH`, `SSH_*`, `GIT_CONFIG_*`, proxies.
    pub env: Vec<(OsString, OsString)>,
}

/// Fetches the origin's files to `into`, an empty directory that exists: regular files, directories, and links that
/// stay inside. Files with any execute bit get mode 0755, all others 0644.
///
/// Directories called `.git` are left out wherever they are. From git come exactly the bytes of the commit: neither
/// `.gitattributes` (`export-ignore`, `export-subst`, line ends, LFS) nor a user's git configuration changes them, and
/// submodules are left empty.
///
/// The files are written, but not synced to the disk: a caller that keeps some of them does that. After an error the
/// files in `into` are of no use: remove them.
///
/// Links stay inside `into`. A caller that keeps only a directory of it checks its links once more, or copies it by
/// another fetch, which refuses those that lead out of that directory.
///
/// ```
/// use skillcue_registry::{Disk, GitProgram, FetchLimits, InstallOrigin, fetch};
///
/// let (from, into) = (tempfile::tempdir()?, tempfile::tempdir()?);
/// std::fs::write(from.path().join("SKILL.md"), "---\nname: pdf\ndescription: Reads PDF files.\n---\n")?;
///
/// let origin = InstallOrigin::parse(".", from.path())?;
/// let git = GitProgram { program: "git".into(), env: Vec::new() };
/// fetch(&origin, into.path(), &Disk::default(), &FetchLimits::default(), &git, &())?;
/// assert!(into.path().join("SKILL.md").is_file());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn fetch(
    origin: &InstallOrigin,
    into: &Path,
    disk: &Disk,
    limits: &FetchLimits,
    git: &GitProgram,
    progress: &dyn FetchProgress,
) -> Result<Fetched, FetchError> {
    let context = FetchContext::new(origin.to_string(), limits, progress);
    context.check()?;
    match origin {
        InstallOrigin::Directory { path } => directory::fetch(path, into, disk, &context).map(|()| Fetched::default()),
        InstallOrigin::Archive { path } => archive::fetch(path, into, disk, &context).map(|()| Fetched::default()),
        InstallOrigin::Oci(_) => Err(FetchError::Registry {
            from: context.from,
            reason: "OCI registries are fetched from by `fetch_oci`, with credentials".to_owned(),
            help: "build it with the feature `oci`",
        }),
        InstallOrigin::Git { url, reference, subdir } => {
            // Callers can construct one directly; git is given only what parsing accepts.
            if InstallOrigin::from_text(&context.from).as_ref() != Ok(origin) {
                let reason = "this is no address that git may be given".to_owned();
                return Err(FetchError::Git { from: context.from, reason });
            }
            let wanted = git::GitRequest { url, reference: reference.as_deref(), subdir: subdir.as_deref() };
            let commit = git::fetch(&wanted, into, disk, git, &context)?;
            Ok(Fetched { commit: Some(commit) })
        }
    }
}
