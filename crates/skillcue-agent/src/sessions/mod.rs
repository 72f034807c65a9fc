//! Conversations, saved as they happen.
//!
//! A session is a file of JSON lines that only grows: how it began, each message as it is said, and after each turn what
//! the conversation has been shown of skills. A crash loses at most the turn in progress; a damaged end is repaired when
//! the session is continued.

mod error;
mod file;
mod id;
mod list;
mod mend;
mod read;
mod record;

use std::fs::{DirBuilder, File};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use rustix::fs::OFlags;

pub use error::SessionsError;
pub use file::SessionFile;
pub(crate) use file::{FileOpenError, open};
pub use list::SessionSummary;
pub use record::{About, SavedSession, SessionRecord};

/// The most new ids that are tried. The chance that one is taken is one in a million for each session of the same minute.
const MAX_ATTEMPTS: u32 = 100;

/// The sessions in a directory.
///
/// ```
/// use std::time::SystemTime;
///
/// use skillcue_agent::{About, Message, SessionRecord, Sessions};
///
/// let dir = tempfile::tempdir()?;
/// let sessions = Sessions::new(dir.path().join("sessions"));
/// let about = About { model: "some-model".to_owned(), cwd: None, created: SystemTime::now() };
/// let (mut file, mut saved) = sessions.create(about)?;
/// for message in [Message::user("What is 2+2?"), Message::assistant("4")] {
///     file.append(&SessionRecord::Message { message })?;
/// }
/// let (skills, loaded) = (saved.skills.clone(), Vec::new());
/// file.append(&SessionRecord::Turn { number: 1, skills, loaded, interrupted: false })?;
/// drop(file);
///
/// let id = sessions.latest()?.unwrap();
/// let (file, saved) = sessions.open(&id)?;
/// assert_eq!(saved.messages.last(), Some(&Message::assistant("4")));
/// assert_eq!((saved.turns, saved.repaired.len()), (1, 0));
/// assert_eq!(sessions.list()?[0].first, "What is 2+2?");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Sessions {
    dir: PathBuf,
}

impl Sessions {
    /// Returns the sessions in `dir`, which need not exist yet.
    pub fn new(dir: PathBuf) -> Sessions {
        Sessions { dir }
    }

    /// Returns their directory.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Begins a session.
    pub fn create(&self, about: About) -> Result<(SessionFile, SavedSession), SessionsError> {
        let fail = |error| SessionsError::file("make a directory", &self.dir, error);
        DirBuilder::new().recursive(true).mode(0o700).create(&self.dir).map_err(fail)?;
        let about = about.normalised();
        let mut attempt = 1;
        let (mut file, id) = loop {
            let id = id::make(about.created)
                .map_err(|error| SessionsError::file("find a name in", &self.dir, io::Error::other(error)))?;
            let path = self.path(&id);
            let created = match open(&path, OFlags::CREATE | OFlags::EXCL | OFlags::RDWR | OFlags::APPEND) {
                Ok(file) => SessionFile::take(file, &id, path),
                Err(FileOpenError::NotAFile) => Err(SessionsError::NotAFile { path }),
                Err(FileOpenError::File(error)) => Err(SessionsError::file("create", &path, error)),
            };
            match created {
                Ok(file) => break (file, id),
                Err(error) if attempt == MAX_ATTEMPTS || !is_taken(&error) => return Err(error),
                Err(_) => attempt += 1,
            }
        };
        let begun = read::header_line(&id, &about, file.path()).and_then(|header| file.write(&header));
        if let Err(error) = begun {
            // An empty file is of no use.
            let _ = std::fs::remove_file(file.path());
            return Err(error);
        }
        // The file's name must survive a crash, too. Some file systems cannot do this for a directory, and need not.
        if let Ok(dir) = File::open(&self.dir) {
            let _ = dir.sync_all();
        }
        let saved = SavedSession {
            id,
            about,
            messages: Vec::new(),
            skills: skillcue::Session::default(),
            loaded: Vec::new(),
            turns: 0,
            repaired: Vec::new(),
        };
        Ok((file, saved))
    }

    /// Continues a session, by its id or an unambiguous beginning of it. Damage of a crash is repaired, in the file too.
    pub fn open(&self, id: &str) -> Result<(SessionFile, SavedSession), SessionsError> {
        let id = self.resolve(id)?;
        let path = self.path(&id);
        let file = self.open_file(&id, OFlags::RDWR | OFlags::APPEND)?;
        let mut file = SessionFile::take(file, &id, path)?;
        let contents = read::read(file.file(), file.path())?;
        let modified = modified(file.file());
        let (saved, mending) = contents.finish(&id, modified, file.path())?;
        if let Some(mending) = mending {
            file.mend(&mending)?;
        }
        Ok((file, saved))
    }

    /// Reads a session without taking it, even if it is in use. Damage is repaired in the returned value alone.
    pub fn read(&self, id: &str) -> Result<SavedSession, SessionsError> {
        let id = self.resolve(id)?;
        let path = self.path(&id);
        let file = self.open_file(&id, OFlags::RDONLY)?;
        let contents = read::read(&file, &path)?;
        Ok(contents.finish(&id, modified(&file), &path)?.0)
    }

    /// Returns the id that begins so, if there is only one. A whole id is always itself.
    pub fn resolve(&self, id: &str) -> Result<String, SessionsError> {
        if !id::is_valid(id) {
            return Err(SessionsError::BadId { id: id.to_owned() });
        }
        if self.path(id).symlink_metadata().is_ok() {
            return Ok(id.to_owned());
        }
        let mut matches: Vec<String> = self.ids()?.into_iter().filter(|other| other.starts_with(id)).collect();
        match matches.len() {
            0 => Err(SessionsError::NotFound { id: id.to_owned(), dir: self.dir.clone() }),
            1 => Ok(matches.remove(0)),
            _ => {
                matches.sort_unstable();
                Err(SessionsError::Ambiguous { id: id.to_owned(), matches })
            }
        }
    }

    /// Returns the session that was used last, of those that have messages.
    pub fn latest(&self) -> Result<Option<String>, SessionsError> {
        let used = |id: &String| self.path(id).symlink_metadata().and_then(|metadata| metadata.modified()).ok();
        let mut ids: Vec<_> = self.ids()?.into_iter().filter_map(|id| Some((used(&id)?, id))).collect();
        ids.sort_unstable();
        Ok(ids.into_iter().rev().map(|(_, id)| id).find(|id| !self.says_nothing(id)))
    }

    /// Returns whether a session was begun and nothing else. One that cannot be read may have messages.
    fn says_nothing(&self, id: &str) -> bool {
        let path = self.path(id);
        let Ok(file) = open(&path, OFlags::RDONLY) else { return false };
        let mut lines = read::SessionLines::new(&file);
        let ended = match lines.next(&path) {
            Ok(Some(first)) => first.ended,
            Ok(None) => return true,
            Err(_) => return false,
        };
        !ended || lines.is_last(&path).unwrap_or(false)
    }

    /// Lists all sessions, the one that was used last first. Each file is read once, and nothing more of it is kept.
    pub fn list(&self) -> Result<Vec<SessionSummary>, SessionsError> {
        let mut list: Vec<SessionSummary> =
            self.ids()?.iter().map(|id| SessionSummary::of(id, &self.path(id))).collect();
        list.sort_unstable_by(|one, other| (other.used, &other.id).cmp(&(one.used, &one.id)));
        Ok(list)
    }

    /// Removes a session, unless it is in use. It takes the whole id.
    pub fn remove(&self, id: &str) -> Result<(), SessionsError> {
        if !id::is_valid(id) {
            return Err(SessionsError::BadId { id: id.to_owned() });
        }
        let path = self.path(id);
        let _held = match self.open_file(id, OFlags::RDONLY) {
            Ok(file) => Some(SessionFile::take(file, id, path.clone())?),
            // Only a file can be in use. The link goes, not its target.
            Err(SessionsError::NotAFile { .. }) => None,
            Err(error) => return Err(error),
        };
        std::fs::remove_file(&path).map_err(|error| SessionsError::file("remove", &path, error))
    }

    /// Returns the path of the session's file. The id must be valid.
    fn path(&self, id: &str) -> PathBuf {
        self.dir.join(format!("{id}.jsonl"))
    }

    fn ids(&self) -> Result<Vec<String>, SessionsError> {
        let fail = |error| SessionsError::file("read", &self.dir, error);
        let entries = match std::fs::read_dir(&self.dir) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(fail)?,
        };
        let mut ids = Vec::new();
        for entry in entries {
            let name = entry.map_err(fail)?.file_name();
            ids.extend(name.to_str().and_then(id::of_file).map(str::to_owned));
        }
        Ok(ids)
    }

    fn open_file(&self, id: &str, flags: OFlags) -> Result<File, SessionsError> {
        let path = self.path(id);
        open(&path, flags).map_err(|error| match error {
            FileOpenError::NotAFile => SessionsError::NotAFile { path },
            FileOpenError::File(error) if error.kind() == io::ErrorKind::NotFound => {
                SessionsError::NotFound { id: id.to_owned(), dir: self.dir.clone() }
            }
            FileOpenError::File(error) => SessionsError::file("open", &path, error),
        })
    }
}

fn modified(file: &File) -> std::time::SystemTime {
    file.metadata().and_then(|metadata| metadata.modified()).unwrap_or(UNIX_EPOCH)
}

/// Returns whether another process was faster with an equal id.
fn is_taken(error: &SessionsError) -> bool {
    match error {
        SessionsError::Busy { .. } => true,
        SessionsError::File { error, .. } => error.kind() == io::ErrorKind::AlreadyExists,
        _ => false,
    }
}
