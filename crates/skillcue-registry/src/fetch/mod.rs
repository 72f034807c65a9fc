//! From an origin to a directory of files, within limits.

mod archive;
mod directory;
mod error;
mod git;
mod tree;
mod watch;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

pub use error::{Exceeded, FetchError, Refusal};

use crate::{Disk, Limits, Origin, Progress};
use watch::Watch;

/// What is known about what was fetched, beside its files.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Fetched {
    /// The commit, in full (40 or 64 hexadecimal digits), if it came from git.
    pub commit: Option<String>,
}

/// How git is called. The environment is what the caller says and nothing else.
///
/// Variables that would make git work on another repository, or ask somebody, are left out or overruled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Git {
    /// The program.
    pub program: PathBuf,
    /// What to pass on: `HOME`, `PATH`, `SSH_*`, `GIT_CONFIG_*`, proxies.
    pub env: Vec<(OsString, OsString)>,
}

/// Brings the origin's files to `into`, an empty directory that exists: regular files, directories, and links that stay
/// inside. Files that anybody may execute get mode 0755, all others 0644.
///
/// What git keeps in `.git` is left out wherever it stands. From git come exactly the bytes of the commit: neither
/// `.gitattributes` (`export-ignore`, `export-subst`, line ends, LFS) nor anybody's git configuration changes them, and
/// submodules are left empty.
///
/// The files are written, but nobody waits until they are on the disk: whoever keeps some of them sees to that. An error
/// leaves something in `into` that is of no use: remove it.
///
/// Links stay inside of `into`. Whoever keeps only a directory of it looks at its links once more, or copies it by another
/// fetch, which refuses those that lead out of that directory.
///
/// ```
/// use skillcue_registry::{Disk, Git, Limits, Origin, fetch};
///
/// let (from, into) = (tempfile::tempdir()?, tempfile::tempdir()?);
/// std::fs::write(from.path().join("SKILL.md"), "---\nname: pdf\ndescription: Reads PDF files.\n---\n")?;
///
/// let origin = Origin::parse(".", from.path())?;
/// let git = Git { program: "git".into(), env: Vec::new() };
/// fetch(&origin, into.path(), &Disk::default(), &Limits::default(), &git, &())?;
/// assert!(into.path().join("SKILL.md").is_file());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn fetch(
    origin: &Origin,
    into: &Path,
    disk: &Disk,
    limits: &Limits,
    git: &Git,
    progress: &dyn Progress,
) -> Result<Fetched, FetchError> {
    let watch = Watch::new(origin.to_string(), limits, progress);
    watch.check()?;
    match origin {
        Origin::Directory { path } => directory::fetch(path, into, disk, &watch).map(|()| Fetched::default()),
        Origin::Archive { path } => archive::fetch(path, into, disk, &watch).map(|()| Fetched::default()),
        Origin::Git { url, reference, subdir } => {
            // Anybody can make one by hand; git is given only what parsing lets through.
            if Origin::from_text(&watch.from).as_ref() != Ok(origin) {
                let reason = "this is no address that git may be given".to_owned();
                return Err(FetchError::Git { from: watch.from, reason });
            }
            let wanted = git::Wanted { url, reference: reference.as_deref(), subdir: subdir.as_deref() };
            let commit = git::fetch(&wanted, into, disk, git, &watch)?;
            Ok(Fetched { commit: Some(commit) })
        }
    }
}
