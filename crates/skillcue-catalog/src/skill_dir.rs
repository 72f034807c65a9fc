//! [`SkillDir`]: the only door to a skill's files.

mod error;
mod lexical;
mod list;
mod open;
mod stamp;
mod tree;

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

pub use error::{FileError, SecurityReason};
pub use list::{DirectoryEntry, FileListing, ListedFile, SkipReason, Skipped, StopReason, Stopped};
pub(crate) use stamp::CompactStamp;
pub use stamp::{FileStamp, StampPath};
pub use tree::{EntryKind, EntryMetadata, GapReason, SkillTree, TreeEntry, TreeGap, TreeLimits};

use open::{ConfinedDir, ResolveError};
use skillcue_base::Shown;

/// How often reading a file is tried while it changes. Editors write once; a file that is still being written after
/// so many reads is a log, not a skill.
const MAX_STAMPED_READS: usize = 4;

/// A handle to one skill's directory, through which its files are listed, opened and read.
///
/// A path given to it is resolved below the directory and nowhere else: a `..` or a symbolic link that leads out, an
/// absolute path, a drive letter, a URI, a backslash, a NUL, a device, a pipe, a socket are all refused with
/// [`FileError::Security`] and one event at `WARN` with target `skillcue::security`. Links that stay inside work,
/// as long as they are relative. `~`, `%2e` and `*` mean themselves; a URI must be decoded first, with
/// [`uri::decode_once`](crate::uri::decode_once).
///
/// Resolving and opening are one step, so a link that is swapped meanwhile does not get out. Two cases are not covered:
/// a hard link is the file itself, wherever else it may also be, and a file system mounted below the directory belongs
/// to it.
///
/// ```
/// use skillcue_base::ErrorInfo as _;
/// use skillcue_catalog::{TreeLimits, SkillDir};
///
/// let tmp = tempfile::tempdir()?;
/// std::fs::create_dir_all(tmp.path().join("pdf/scripts"))?;
/// std::fs::write(tmp.path().join("pdf/reference.md"), "# Forms")?;
/// std::fs::write(tmp.path().join("secret.txt"), "hunter2")?;
///
/// let dir = SkillDir::open("pdf", &tmp.path().join("pdf"))?;
/// assert_eq!(dir.read_to_string("scripts/../reference.md", 1024)?, "# Forms");
/// assert_eq!(dir.read("../secret.txt", 1024).unwrap_err().code(), "security");
/// assert_eq!(dir.read("missing.md", 1024).unwrap_err().code(), "not_found");
/// assert_eq!(dir.read("scripts", 1024).unwrap_err().code(), "not_a_file");
///
/// let listing = dir.list(&TreeLimits::default())?;
/// assert_eq!(listing.files[0].path, "reference.md");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct SkillDir {
    skill: Box<str>,
    path: PathBuf,
    root: ConfinedDir,
}

/// A file of a skill, open for reading, with the [`FileStamp`] it had when it was opened.
///
/// The stamp is of this very file: it was taken through the handle, not through the path.
#[derive(Debug)]
pub struct OpenedFile {
    /// The handle, at the file's beginning.
    pub file: File,
    /// Time, size and identity at the moment of opening.
    pub stamp: FileStamp,
}

impl SkillDir {
    /// Opens the directory `dir` of the skill `skill_name`.
    ///
    /// `dir` itself is trusted: discovery found it, and it may be reached through links. The name is for messages. The URI
    /// of a remote skill is none of a directory, even where a directory of its name is below the current one.
    pub fn open(skill_name: &str, dir: &Path) -> Result<Self, FileError> {
        if dir.is_relative() && dir.as_os_str().as_encoded_bytes().windows(3).any(|bytes| bytes == b"://") {
            return Err(FileError::from_open(skill_name, &dir.to_string_lossy(), ResolveError::NotFound));
        }
        let root = ConfinedDir::open(dir).map_err(|source| {
            let error = if source.kind() == io::ErrorKind::NotFound {
                ResolveError::NotFound
            } else {
                ResolveError::Io(source)
            };
            FileError::from_open(skill_name, &dir.to_string_lossy(), error)
        })?;
        Ok(Self { skill: skill_name.into(), path: dir.to_path_buf(), root })
    }

    /// Returns the directory's path, as it was given to [`SkillDir::open`].
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the skill's name, as it was given to [`SkillDir::open`].
    pub fn skill(&self) -> &str {
        &self.skill
    }

    /// Returns the metadata of the directory itself.
    pub fn metadata(&self) -> io::Result<EntryMetadata> {
        self.root.metadata()
    }

    /// Opens the file at `path`. The result is an ordinary file, inside the directory; opening never blocks.
    pub fn open_file(&self, path: &str) -> Result<OpenedFile, FileError> {
        lexical::check(path).map_err(|reason| FileError::security(&self.skill, path, reason))?;
        if path.is_empty() {
            return Err(self.not_a_file(path));
        }
        let file = self.root.open_file(path).map_err(|error| FileError::from_open(&self.skill, path, error))?;
        let metadata = file.metadata().map_err(|source| self.unreadable(path, source))?;
        if metadata.is_file() {
            Ok(OpenedFile { stamp: FileStamp::of(&metadata), file })
        } else if metadata.is_dir() {
            Err(self.not_a_file(path))
        } else {
            Err(FileError::security(&self.skill, path, SecurityReason::SpecialFile))
        }
    }

    /// Reads the whole file at `path`, if it has at most `max_bytes`.
    ///
    /// The limit applies to the bytes read, not only to the size in the metadata, so a file that grows meanwhile cannot
    /// exceed it.
    pub fn read(&self, path: &str, max_bytes: u64) -> Result<Vec<u8>, FileError> {
        self.read_opened(path, &self.open_file(path)?, max_bytes)
    }

    /// Reads the whole file at `path` as UTF-8, if it has at most `max_bytes`. A byte order mark is kept.
    pub fn read_to_string(&self, path: &str, max_bytes: u64) -> Result<String, FileError> {
        self.text(path, self.read(path, max_bytes)?)
    }

    /// Like [`SkillDir::read_to_string`], with the [`FileStamp`] of exactly what was read.
    ///
    /// For caches: the stamp is taken before reading and again after, and if they differ the file was written
    /// meanwhile, so it is read anew. The result is never one version's text with another's stamp.
    pub fn read_stamped(&self, path: &str, max_bytes: u64) -> Result<(String, FileStamp), FileError> {
        for _ in 0..MAX_STAMPED_READS {
            let opened = self.open_file(path)?;
            let bytes = self.read_opened(path, &opened, max_bytes)?;
            let after = opened.file.metadata().map_err(|source| self.unreadable(path, source))?;
            if FileStamp::of(&after) == opened.stamp {
                return Ok((self.text(path, bytes)?, opened.stamp));
            }
        }
        Err(FileError::Changing { skill: self.skill.clone(), path: path.into() })
    }

    fn read_opened(&self, path: &str, opened: &OpenedFile, max_bytes: u64) -> Result<Vec<u8>, FileError> {
        let too_large =
            |size| FileError::TooLarge { skill: self.skill.clone(), path: path.into(), size, limit: max_bytes };
        let OpenedFile { file, stamp } = opened;
        if stamp.size > max_bytes {
            return Err(too_large(stamp.size));
        }
        // One byte more than the size, so that the end is found without growing the buffer.
        let mut bytes = Vec::with_capacity(usize::try_from(stamp.size).unwrap_or(0).saturating_add(1));
        file.take(max_bytes.saturating_add(1))
            .read_to_end(&mut bytes)
            .map_err(|source| self.unreadable(path, source))?;
        let read = bytes.len() as u64;
        if read > max_bytes { Err(too_large(read)) } else { Ok(bytes) }
    }

    fn text(&self, path: &str, bytes: Vec<u8>) -> Result<String, FileError> {
        String::from_utf8(bytes).map_err(|error| FileError::not_text(&self.skill, path, &error))
    }

    /// Normalizes a path by its text alone, without looking at a disk, as for a remote skill: `./a//b/../c` is `a/c`,
    /// and the directory itself is empty. Refuses the paths that [`SkillDir::open_file`] refuses by their text, in the
    /// same way.
    ///
    /// ```
    /// use skillcue_base::ErrorInfo as _;
    /// use skillcue_catalog::SkillDir;
    ///
    /// assert_eq!(SkillDir::normalize("pdf", "./a//b/../c.md")?, "a/c.md");
    /// assert_eq!(SkillDir::normalize("pdf", "../x").unwrap_err().code(), "security");
    /// # Ok::<(), skillcue_catalog::FileError>(())
    /// ```
    pub fn normalize(skill: &str, path: &str) -> Result<String, FileError> {
        lexical::check(path).map_err(|reason| FileError::security(skill, path, reason))?;
        let mut names: Vec<&str> = Vec::new();
        for segment in path.split('/') {
            match segment {
                "" | "." => {}
                ".." => drop(names.pop()),
                name => names.push(name),
            }
        }
        Ok(names.join("/"))
    }

    /// Starts a walk over everything below the directory, within the limits of depth and entries.
    pub fn tree(&self, limits: &TreeLimits) -> Result<SkillTree, FileError> {
        tracing::trace!(target: "skillcue::files", skill = %Shown(&self.skill), "walking");
        list::tree(&self.root, "", limits).map_err(|error| FileError::from_open(&self.skill, ".", error))
    }

    /// Lists every file below the directory, sorted by path, within `limits`.
    ///
    /// `SKILL.md` is a file like the others here. Links that lead out are skipped and counted; they were not requested,
    /// so that is not logged as a refusal.
    pub fn list(&self, limits: &TreeLimits) -> Result<FileListing, FileError> {
        tracing::trace!(target: "skillcue::files", skill = %Shown(&self.skill), "listing");
        list::list(&self.root, "", limits).map_err(|error| FileError::from_open(&self.skill, ".", error))
    }

    /// Lists every file below the directory at `path`, like [`SkillDir::list`]. The files' paths begin with `path`.
    ///
    /// ```
    /// use skillcue_base::ErrorInfo as _;
    /// use skillcue_catalog::{SkillDir, TreeLimits};
    ///
    /// let tmp = tempfile::tempdir()?;
    /// std::fs::create_dir_all(tmp.path().join("scripts/old"))?;
    /// std::fs::write(tmp.path().join("scripts/old/run.sh"), "true")?;
    /// std::fs::write(tmp.path().join("SKILL.md"), "# How")?;
    ///
    /// let dir = SkillDir::open("pdf", tmp.path())?;
    /// let listing = dir.list_below("./scripts/", &TreeLimits::default())?;
    /// assert_eq!(listing.files.len(), 1);
    /// assert_eq!(listing.files[0].path, "scripts/old/run.sh");
    /// assert_eq!(dir.list_below("..", &TreeLimits::default()).unwrap_err().code(), "security");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn list_below(&self, path: &str, limits: &TreeLimits) -> Result<FileListing, FileError> {
        let below = SkillDir::normalize(&self.skill, path)?;
        tracing::trace!(target: "skillcue::files", skill = %Shown(&self.skill), path = %Shown(path), "listing");
        list::list(&self.root, &below, limits).map_err(|error| FileError::from_open(&self.skill, path, error))
    }

    /// Lists the entries of the directory at `path` (the skill's own is the empty path), sorted by name: the files that
    /// a listing would have, and the directories that it would enter, empty ones too.
    ///
    /// ```
    /// use skillcue_base::ErrorInfo as _;
    /// use skillcue_catalog::SkillDir;
    ///
    /// let tmp = tempfile::tempdir()?;
    /// std::fs::create_dir_all(tmp.path().join("scripts/old"))?;
    /// std::fs::create_dir(tmp.path().join(".git"))?;
    /// std::fs::write(tmp.path().join("scripts/run.sh"), "true")?;
    ///
    /// let dir = SkillDir::open("pdf", tmp.path())?;
    /// let names = |path| dir.children(path).map(|all| all.into_iter().map(|child| child.name).collect::<Vec<_>>());
    /// assert_eq!(names("")?, ["scripts"]);
    /// assert_eq!(names("scripts")?, ["old", "run.sh"]);
    /// assert_eq!(names("..").unwrap_err().code(), "security");
    /// assert_eq!(names(".git").unwrap_err().code(), "not_found");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn children(&self, path: &str) -> Result<Vec<DirectoryEntry>, FileError> {
        lexical::check(path).map_err(|reason| FileError::security(&self.skill, path, reason))?;
        let error = |error| FileError::from_open(&self.skill, path, error);
        if list::is_ignored(path) {
            return Err(error(ResolveError::NotFound));
        }
        tracing::trace!(target: "skillcue::files", skill = %Shown(&self.skill), path = %Shown(path), "listing");
        list::children(&self.root, path, &TreeLimits::default()).map_err(error)
    }

    /// Returns whether listings skip `path`, because it is below a directory such as `.git` or `node_modules`. A server
    /// of a skill's files must not serve those.
    ///
    /// ```
    /// use skillcue_catalog::SkillDir;
    /// assert!(SkillDir::is_ignored("a/.git/config"));
    /// assert!(!SkillDir::is_ignored("a/.gitignore"));
    /// ```
    pub fn is_ignored(path: &str) -> bool {
        list::is_ignored(path)
    }

    fn not_a_file(&self, path: &str) -> FileError {
        FileError::NotAFile { skill: self.skill.clone(), path: path.into() }
    }

    fn unreadable(&self, path: &str, source: io::Error) -> FileError {
        FileError::Unreadable { skill: self.skill.clone(), path: path.into(), source }
    }
}
