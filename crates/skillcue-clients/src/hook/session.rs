//! Sessions of clients, kept on disk between two calls of a hook.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};
use skillcue::Session;
use skillcue_base::binary::KeptFile;
use skillcue_base::{Digest, is_draft, lock_beside, replace_file};

use super::HookError;
use crate::Client;

/// The version of the files' format. A file of another version counts as none.
const VERSION: u32 = 1;
/// The number of sessions that are kept, and for how long after their last change.
const MAX_SESSIONS: usize = 200;
const MAX_AGE: Duration = Duration::from_hours(30 * 24);
/// How old a draft is that no process writes any more.
const MIN_LEFT_DRAFT_AGE: Duration = Duration::from_hours(1);
/// The size of the largest file that is read.
const MAX_BYTES: u64 = 4 << 20;
/// The number of names that a session remembers.
const MAX_NAMED: usize = 200;
/// Maximum time to wait for another process with the same session: it needs some milliseconds.
const MAX_LOCK_WAIT: Duration = Duration::from_millis(300);

/// A conversation of a client, as far as hooks have added to it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct HookSession {
    /// The bodies that were shown.
    pub shown: Session,
    /// The skills that were only named, oldest first.
    #[serde(default)]
    pub named: Vec<String>,
    /// Whether the client has compacted its context, and nothing was shown since.
    #[serde(default)]
    pub is_compacted: bool,
    /// The list of skills that the start of the session has shown.
    #[serde(default)]
    pub list: Option<Digest>,
}

/// A session as it is in its file.
#[derive(Serialize, Deserialize)]
struct HookSessionFile<S> {
    version: u32,
    session: S,
}

impl HookSession {
    /// Remembers that skills were named. The oldest names are forgotten first.
    pub(super) fn name<'n>(&mut self, names: impl IntoIterator<Item = &'n str>) {
        for name in names {
            if !self.named.iter().any(|known| known == name) {
                self.named.push(name.to_owned());
            }
        }
        self.named.drain(..self.named.len().saturating_sub(MAX_NAMED));
    }

    /// Records that nothing that was added is in the client's context any more.
    pub(super) fn compact(&mut self) {
        self.shown.compacted();
        self.named.clear();
        self.list = None;
    }
}

/// The sessions of all clients: a file each in one directory, bounded in number and age.
///
/// ```
/// use skillcue_clients::Client;
/// use skillcue_clients::hook::HookSessions;
///
/// let dir = tempfile::tempdir()?;
/// let sessions = HookSessions::new(dir.path().join("hooks"));
/// let mut locked = sessions.lock(Client::Codex, "0199-7f")?;
/// locked.session.named.push("pdf".to_owned());
/// let session = locked.session.clone();
/// locked.save(&session)?;
/// drop(locked);
/// assert_eq!(sessions.lock(Client::Codex, "0199-7f")?.session.named, ["pdf"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct HookSessions {
    dir: PathBuf,
}

/// A session that no other process changes meanwhile.
#[derive(Debug)]
pub struct LockedSession {
    /// The session as it was read; a new one, if there is none that can be read.
    pub session: HookSession,
    path: PathBuf,
    is_new: bool,
    _lock: File,
}

impl HookSessions {
    /// Keeps sessions in a directory, which is made when one is locked.
    pub fn new(dir: impl Into<PathBuf>) -> HookSessions {
        HookSessions { dir: dir.into() }
    }

    /// Locks a session and reads it. Waits for another process that has locked it, and gives up after a moment.
    pub fn lock(&self, client: Client, id: &str) -> Result<LockedSession, HookError> {
        // The client chooses its ids: they are no names of files.
        let digest = Digest::of(id);
        let name = &digest.to_string()[..32];
        let path = self.dir.join(format!("{}-{name}.json", client.as_str()));
        let fail = |error| HookError::Session { path: path.clone(), error };
        std::fs::create_dir_all(&self.dir).map_err(fail)?;
        // Locks are shared by sessions, so that their files need not be removed, which would race with their use.
        let lock = self.dir.join(format!("{:02x}", digest.as_bytes()[0] & 0x3f));
        let lock = lock_beside(&lock, MAX_LOCK_WAIT).map_err(|error| match error.kind() {
            std::io::ErrorKind::TimedOut => HookError::Locked,
            _ => fail(error),
        })?;
        let bytes = KeptFile::open(&path, MAX_BYTES).and_then(|file| file.read_all());
        let is_new = bytes.is_none();
        let read: Option<HookSessionFile<HookSession>> = bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok());
        let session = read.filter(|file| file.version == VERSION).map(|file| file.session).unwrap_or_default();
        Ok(LockedSession { session, path, is_new, _lock: lock })
    }
}

impl LockedSession {
    /// Writes the session as it is now, as a whole. A new one removes old ones.
    pub fn save(&self, session: &HookSession) -> Result<(), HookError> {
        let fail = |error| HookError::Session { path: self.path.clone(), error };
        let json =
            serde_json::to_vec(&HookSessionFile { version: VERSION, session }).map_err(|error| fail(error.into()))?;
        replace_file(&self.path, [&*json]).map_err(fail)?;
        if self.is_new
            && let Some(dir) = self.path.parent()
        {
            sweep(dir, SystemTime::now());
        }
        Ok(())
    }
}

/// Removes sessions that are too old or too many, and drafts that interrupted processes left.
fn sweep(dir: &Path, now: SystemTime) {
    let Ok(entries) = dir.read_dir() else { return };
    let (mut files, mut gone): (Vec<(SystemTime, PathBuf)>, Vec<PathBuf>) = (Vec::new(), Vec::new());
    for entry in entries.filter_map(Result::ok) {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let Some(modified) = entry.metadata().ok().and_then(|metadata| metadata.modified().ok()) else { continue };
        let age = now.duration_since(modified).unwrap_or_default();
        if is_draft(&name) {
            gone.extend((age >= MIN_LEFT_DRAFT_AGE).then(|| entry.path()));
        } else if name.ends_with(".json") {
            if age >= MAX_AGE { gone.push(entry.path()) } else { files.push((modified, entry.path())) }
        }
    }
    files.sort_unstable_by(|a, b| b.cmp(a));
    gone.extend(files.into_iter().skip(MAX_SESSIONS).map(|(_, path)| path));
    for path in gone {
        // Another process may have been faster.
        let _ = std::fs::remove_file(path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(dir: &Path) -> usize {
        let names = dir.read_dir().unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.filter(|name| Path::new(name).extension().is_some_and(|extension| extension == "json")).count()
    }

    #[test]
    fn sessions_are_bounded_in_number_and_age() {
        let tmp = tempfile::tempdir().unwrap();
        let sessions = HookSessions::new(tmp.path());
        for number in 0..MAX_SESSIONS + 20 {
            let locked = sessions.lock(Client::Claude, &number.to_string()).unwrap();
            locked.save(&HookSession::default()).unwrap();
        }
        assert_eq!(count(tmp.path()), MAX_SESSIONS);
        sweep(tmp.path(), SystemTime::now() + MAX_AGE + Duration::from_secs(1));
        assert_eq!(count(tmp.path()), 0);
        assert!(sessions.lock(Client::Claude, "0").is_ok(), "locks stay");
    }

    #[test]
    fn ids_are_no_paths_and_clients_do_not_share_them() {
        let tmp = tempfile::tempdir().unwrap();
        let sessions = HookSessions::new(tmp.path().join("a/b"));
        for (client, id) in
            [(Client::Claude, "../../x"), (Client::Qwen, "../../x"), (Client::Qwen, ""), (Client::Qwen, "\0/")]
        {
            let locked = sessions.lock(client, id).unwrap();
            assert_eq!(locked.session, HookSession::default());
            let session = HookSession { is_compacted: true, ..HookSession::default() };
            locked.save(&session).unwrap();
        }
        assert_eq!(count(&tmp.path().join("a/b")), 4);
        assert_eq!(tmp.path().read_dir().unwrap().count(), 1);
    }

    #[test]
    fn a_session_that_cannot_be_read_is_a_new_one() {
        let tmp = tempfile::tempdir().unwrap();
        let sessions = HookSessions::new(tmp.path());
        let path = sessions.lock(Client::Codex, "1").unwrap().path;
        for broken in ["", "{", "[]", "{\"version\":9,\"session\":{}}", "\u{0}"] {
            std::fs::write(&path, broken).unwrap();
            assert_eq!(sessions.lock(Client::Codex, "1").unwrap().session, HookSession::default(), "{broken}");
        }
    }

    #[test]
    fn a_session_is_locked_by_one() {
        let tmp = tempfile::tempdir().unwrap();
        let sessions = HookSessions::new(tmp.path());
        let held = sessions.lock(Client::Codex, "1").unwrap();
        assert!(matches!(sessions.lock(Client::Codex, "1"), Err(HookError::Locked)));
        drop(held);
        assert!(sessions.lock(Client::Codex, "1").is_ok());
    }
}
