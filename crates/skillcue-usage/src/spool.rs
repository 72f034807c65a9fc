//! The spool: a text file beside the database, for processes that end in a moment. A line is appended in the time in which a
//! database is not even open; the next process that opens the database takes the lines in, each once.

use std::ffi::OsString;
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, Mode, OFlags};
use serde::{Deserialize, Serialize};
use skillcue::usage::UsageKind;

use crate::event::{millis, time};
use crate::{LedgerBatch, LedgerEvent, MessageCount};

/// The size, in bytes, from which the process that appends also takes in.
pub(crate) const MAX_SPOOL: u64 = 64 << 10;
/// The size beyond which nothing is appended: the database cannot be written, or the lines would be in it.
const MAX_STUCK: u64 = 4 << 20;
/// Most lost events that are counted at once.
const MAX_LOST: usize = 4_096;
/// The pause between two attempts to lock it.
const PAUSE: Duration = Duration::from_millis(1);

/// The path of the spool of a database.
pub(crate) fn path_of(database: &Path) -> PathBuf {
    let mut name: OsString = database.as_os_str().to_owned();
    name.push("-spool");
    PathBuf::from(name)
}

/// The first line: a name by which the database knows how much of it was taken in.
#[derive(Serialize, Deserialize)]
struct SpoolHeader {
    spool: String,
}

/// One line: what one process wrote.
#[derive(Serialize, Deserialize)]
struct SpoolLine {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    events: Vec<SpooledEvent>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    messages: Vec<SpooledCount>,
}

#[derive(Serialize, Deserialize)]
struct SpooledCount {
    at: i64,
    project: String,
    client: String,
    number: u64,
}

/// The fields of a [`LedgerEvent`], with its time as the database has it.
#[derive(Serialize, Deserialize)]
struct SpooledEvent {
    at: i64,
    kind: UsageKind,
    skill: String,
    project: String,
    session: String,
    turn: u64,
    client: String,
    mode: String,
    generation: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tier: Option<u8>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tokens: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    confidence: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    item: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    text: Option<String>,
}

impl From<&LedgerBatch> for SpoolLine {
    fn from(batch: &LedgerBatch) -> SpoolLine {
        let event = |event: &LedgerEvent| {
            let LedgerEvent { at, kind, skill, project, session, turn, client, mode, .. } = event.clone();
            let LedgerEvent { generation, tier, tokens, confidence, item, text, .. } = event.clone();
            let at = millis(at);
            SpooledEvent {
                at,
                kind,
                skill,
                project,
                session,
                turn,
                client,
                mode,
                generation,
                tier,
                tokens,
                confidence,
                item,
                text,
            }
        };
        let count = |count: &MessageCount| SpooledCount {
            at: millis(count.at),
            project: count.project.clone(),
            client: count.client.clone(),
            number: count.number,
        };
        SpoolLine {
            events: batch.events.iter().map(event).collect(),
            messages: batch.messages.iter().map(count).collect(),
        }
    }
}

impl From<SpoolLine> for LedgerBatch {
    fn from(line: SpoolLine) -> LedgerBatch {
        let event = |event: SpooledEvent| LedgerEvent {
            at: time(event.at),
            kind: event.kind,
            skill: event.skill,
            project: event.project,
            session: event.session,
            turn: event.turn,
            client: event.client,
            mode: event.mode,
            generation: event.generation,
            tier: event.tier,
            tokens: event.tokens,
            confidence: event.confidence,
            item: event.item,
            text: event.text,
        };
        let count = |count: SpooledCount| MessageCount {
            at: time(count.at),
            project: count.project,
            client: count.client,
            number: count.number,
        };
        LedgerBatch {
            events: line.events.into_iter().map(event).collect(),
            messages: line.messages.into_iter().map(count).collect(),
        }
    }
}

/// The bytes of a spool.
pub(crate) struct SpoolText {
    bytes: Vec<u8>,
}

impl SpoolText {
    /// Reads a spool without locking it; `None` if there is none. A line that is being written is left out.
    pub(crate) fn peek(path: &Path) -> Option<SpoolText> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = File::from(rustix::fs::open(path, flags, Mode::empty()).ok()?);
        if !file.metadata().is_ok_and(|metadata| metadata.is_file()) {
            return None;
        }
        let mut bytes = Vec::new();
        file.take(2 * MAX_STUCK).read_to_end(&mut bytes).ok()?;
        Some(SpoolText { bytes })
    }

    /// Returns the size, in bytes.
    pub(crate) fn size(&self) -> u64 {
        self.bytes.len() as u64
    }

    /// Returns the name by which the database knows how much of the spool was taken in. A spool whose header was cut off is
    /// known by a digest of its first two lines, the second of which has a time.
    pub(crate) fn name(&self) -> String {
        let first = self.bytes.split(|byte| *byte == b'\n').next().unwrap_or_default();
        if let Ok(header) = serde_json::from_slice::<SpoolHeader>(first) {
            return header.spool;
        }
        let lines: Vec<&[u8]> = self.bytes.split(|byte| *byte == b'\n').take(2).collect();
        let mut digest = skillcue_base::Digest::of(lines.concat()).to_string();
        digest.truncate(24);
        digest
    }

    /// Returns what was written after the first `taken` bytes.
    pub(crate) fn batch_after(&self, taken: u64) -> LedgerBatch {
        let start = usize::try_from(taken).unwrap_or(usize::MAX).min(self.bytes.len());
        let mut batch = LedgerBatch::default();
        for line in self.bytes[start..].split(|byte| *byte == b'\n') {
            // The header has no events. A line that was cut off is lost.
            if let Ok(line) = serde_json::from_slice::<SpoolLine>(line) {
                batch.add(line.into());
            }
        }
        batch
    }
}

/// Returns the path of the file that counts events of short processes that were lost: its size is their number.
fn lost_path(database: &Path) -> PathBuf {
    let mut name: OsString = database.as_os_str().to_owned();
    name.push("-lost");
    PathBuf::from(name)
}

/// Counts events that could not be written, as far as a few bytes can be.
pub(crate) fn count_lost(database: &Path, number: usize) {
    let flags =
        OFlags::CREATE | OFlags::APPEND | OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    if let Ok(file) = rustix::fs::open(lost_path(database), flags, Mode::RUSR | Mode::WUSR) {
        // If that cannot be written either, the number is too small.
        let _ = File::from(file).write_all(&vec![b'.'; number.min(MAX_LOST)]);
    }
}

/// Returns how many events short processes have lost.
pub(crate) fn lost(database: &Path) -> u64 {
    lost_path(database).symlink_metadata().ok().filter(std::fs::Metadata::is_file).map_or(0, |metadata| metadata.len())
}

/// Returns how many events short processes have lost, and forgets them: of several processes, one has the number.
pub(crate) fn take_lost(database: &Path) -> u64 {
    static TAKEN: AtomicU64 = AtomicU64::new(0);
    // Most processes find none.
    if lost(database) == 0 {
        return 0;
    }
    let mut name = lost_path(database).into_os_string();
    name.push(format!("-{}-{}", std::process::id(), TAKEN.fetch_add(1, Ordering::Relaxed)));
    let own = PathBuf::from(name);
    if std::fs::rename(lost_path(database), &own).is_err() {
        return 0;
    }
    let number = own.symlink_metadata().ok().filter(std::fs::Metadata::is_file).map_or(0, |metadata| metadata.len());
    // If it cannot be removed, nothing reads it again.
    let _ = std::fs::remove_file(&own);
    number
}

/// Counts events again that were taken and could not be added to those of the database.
pub(crate) fn give_back_lost(database: &Path, number: u64) {
    let mut left = usize::try_from(number).unwrap_or(usize::MAX);
    while left > 0 {
        count_lost(database, left);
        left = left.saturating_sub(MAX_LOST);
    }
}

/// Forgets how many events short processes have lost.
pub(crate) fn forget_lost(database: &Path) -> std::io::Result<()> {
    match std::fs::remove_file(lost_path(database)) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// A spool that this process has locked.
pub(crate) struct LockedSpool {
    file: File,
    path: PathBuf,
}

impl LockedSpool {
    /// Locks a spool that is there, and with `make` one that is not. `None` if there is none, if it is no regular file, or if
    /// others keep it locked.
    pub(crate) fn lock(path: &Path, make: bool, patience: Duration) -> Option<LockedSpool> {
        let started = Instant::now();
        let create = if make { OFlags::CREATE } else { OFlags::empty() };
        let flags = create | OFlags::APPEND | OFlags::RDWR | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        loop {
            let file = File::from(rustix::fs::open(path, flags, Mode::RUSR | Mode::WUSR).ok()?);
            if !file.metadata().is_ok_and(|metadata| metadata.is_file()) {
                return None;
            }
            while rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
                if started.elapsed() >= patience {
                    return None;
                }
                std::thread::sleep(PAUSE);
            }
            // Another process may have taken it in and removed it since it was opened.
            let own = file.metadata().ok()?;
            let is_there = path.symlink_metadata().is_ok_and(|now| (now.dev(), now.ino()) == (own.dev(), own.ino()));
            if is_there {
                return Some(LockedSpool { file, path: path.to_path_buf() });
            }
            if !make {
                return None;
            }
        }
    }

    /// Appends a batch. Returns the size of the file; `None` if it could not be written.
    pub(crate) fn append(&mut self, batch: &LedgerBatch) -> Option<u64> {
        let before = self.file.metadata().ok()?.len();
        if before > MAX_STUCK {
            return None;
        }
        let mut bytes = Vec::new();
        if before == 0 {
            // Unlike any other on this machine.
            let at = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default().as_nanos();
            let spool = format!("{at:x}-{:x}", std::process::id());
            serde_json::to_writer(&mut bytes, &SpoolHeader { spool }).ok()?;
        }
        // In front: a line that was cut off by a full disk must not take the next one with it.
        bytes.push(b'\n');
        serde_json::to_writer(&mut bytes, &SpoolLine::from(batch)).ok()?;
        if self.file.write_all(&bytes).is_err() {
            // A full disk takes a part of the bytes. A header that is cut off would cost the spool its name.
            let _ = self.file.set_len(before);
            return None;
        }
        Some(before + bytes.len() as u64)
    }

    /// Reads it.
    pub(crate) fn read(&mut self) -> std::io::Result<SpoolText> {
        let mut bytes = Vec::new();
        self.file.read_to_end(&mut bytes)?;
        Ok(SpoolText { bytes })
    }

    /// Removes it.
    pub(crate) fn remove(self) -> std::io::Result<()> {
        std::fs::remove_file(&self.path)
    }
}
