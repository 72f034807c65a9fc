//! Every request, as one line of JSON.

mod error;
mod line;
mod summary;
mod time;

use std::fs::{DirBuilder, File};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::fs::{DirBuilderExt, FileExt};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::fs::OFlags;

pub use error::TraceError;
pub use line::{LineSkill, LineText, Purpose, TraceLine};
pub use summary::{CostSum, SessionSum, Summary, TurnSum};
pub(crate) use time::written;

use crate::sessions::open;

/// The longest line that is read. With the text of a request, lines are long.
const MAX_LINE: u64 = 256 << 20;
/// The longest name of a file, without what ends it.
const MAX_NAME: usize = 100;

/// Writes traces, a file for each session. Threads and processes may write to the same file at once.
///
/// ```
/// use std::time::SystemTime;
///
/// use skillcue_agent::{TraceLine, Summary, Tracer, read_trace};
///
/// let dir = tempfile::tempdir()?;
/// let tracer = Tracer::new(dir.path().join("traces"), false);
/// tracer.write(&TraceLine { turn: 1, eager: 900, ..TraceLine::new("s-1", SystemTime::now()) })?;
/// let traced = read_trace(&tracer.path("s-1"))?;
/// assert_eq!(Summary::of(&traced.lines).total.saved, 900);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Tracer {
    dir: PathBuf,
    text: bool,
}

impl Tracer {
    /// Writes below `dir`, which is made when something is written; the text of messages too, if `text`.
    pub fn new(dir: PathBuf, text: bool) -> Tracer {
        Tracer { dir, text }
    }

    /// Returns whether the text of messages is asked for. Otherwise it is left out of every line.
    pub fn wants_text(&self) -> bool {
        self.text
    }

    /// Returns the file for the lines of a session. Characters that a file's name may not have become `_`.
    pub fn path(&self, session: &str) -> PathBuf {
        let fits = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
        let name: String = session.chars().take(MAX_NAME).map(fits).collect();
        self.dir.join(format!("{}.jsonl", if name.is_empty() { "_" } else { &name }))
    }

    /// Writes a line, in one write.
    pub fn write(&self, line: &TraceLine) -> Result<(), TraceError> {
        let path = self.path(&line.session);
        let fail = |error| TraceError::file("write", &path, error);
        let mut bytes = vec![b'\n'];
        if line.text.is_some() && !self.text {
            serde_json::to_writer(&mut bytes, &TraceLine { text: None, ..line.clone() })
        } else {
            serde_json::to_writer(&mut bytes, line)
        }
        .map_err(|error| fail(error.into()))?;
        bytes.push(b'\n');
        let mut file = self.open(&path)?;
        // Behind what a full disk cut off, a line begins anew.
        let from = usize::from(!ends_within_line(&file).map_err(fail)?);
        file.write_all(&bytes[from..]).map_err(fail)
    }

    fn open(&self, path: &Path) -> Result<File, TraceError> {
        let append = || open(path, OFlags::CREATE | OFlags::RDWR | OFlags::APPEND);
        match append() {
            Err(crate::sessions::FileOpenError::File(error)) if error.kind() == io::ErrorKind::NotFound => {
                let made = DirBuilder::new().recursive(true).mode(0o700).create(&self.dir);
                made.map_err(|error| TraceError::file("make a directory", &self.dir, error))?;
                append()
            }
            opened => opened,
        }
        .map_err(|error| TraceError::open(path, error))
    }
}

fn ends_within_line(file: &File) -> io::Result<bool> {
    let length = file.metadata()?.len();
    if length == 0 {
        return Ok(false);
    }
    let mut last = [0];
    file.read_exact_at(&mut last, length - 1)?;
    Ok(last != *b"\n")
}

/// A trace as it was read.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Traced {
    /// The lines that could be read, in the order in which they were written.
    pub lines: Vec<TraceLine>,
    /// The lines that could not.
    pub problems: Vec<Unreadable>,
}

/// A line of a trace that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unreadable {
    /// Its number, from 1 on.
    pub line: u64,
    /// The reason.
    pub why: String,
}

impl std::fmt::Display for Unreadable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "line {}: {}", self.line, self.why)
    }
}

/// Reads a trace. A line that is damaged is a problem, and the others are read nevertheless.
pub fn read_trace(path: &Path) -> Result<Traced, TraceError> {
    let file = open(path, OFlags::RDONLY).map_err(|error| TraceError::open(path, error))?;
    let mut reader = BufReader::with_capacity(64 << 10, file);
    let mut traced = Traced::default();
    let mut line = Vec::new();
    for number in 1.. {
        line.clear();
        let read = reader.by_ref().take(MAX_LINE).read_until(b'\n', &mut line);
        let read = read.map_err(|error| TraceError::file("read", path, error))?;
        if read == 0 {
            break;
        }
        if line.trim_ascii().is_empty() {
            continue;
        }
        if read as u64 == MAX_LINE && !line.ends_with(b"\n") {
            traced.problems.push(Unreadable { line: number, why: format!("longer than {MAX_LINE} bytes") });
            reader.skip_until(b'\n').map_err(|error| TraceError::file("read", path, error))?;
            continue;
        }
        match serde_json::from_slice(&line) {
            Ok(line) => traced.lines.push(line),
            Err(error) => {
                let why = format!("not readable ({})", skillcue_base::Shown(&error.to_string()));
                traced.problems.push(Unreadable { line: number, why });
            }
        }
    }
    Ok(traced)
}

/// A file with a trace.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct TraceFile {
    /// The session, as its file is named.
    pub session: String,
    /// Its path.
    pub path: PathBuf,
    /// When something was last written into it.
    pub used: SystemTime,
    /// How large it is.
    pub bytes: u64,
}

/// Lists the traces in a directory, the one that was written last first. None, if there is no such directory.
pub fn list_traces(dir: &Path) -> Result<Vec<TraceFile>, TraceError> {
    let fail = |error| TraceError::file("read", dir, error);
    let entries = match std::fs::read_dir(dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(fail)?,
    };
    let mut files = Vec::new();
    for entry in entries {
        let entry = entry.map_err(fail)?;
        let name = entry.file_name();
        let Some(session) = name.to_str().and_then(|name| name.strip_suffix(".jsonl")) else { continue };
        // Gone meanwhile: no trace. A link is not followed.
        let Ok(metadata) = entry.metadata() else { continue };
        if metadata.is_file() {
            let used = metadata.modified().unwrap_or(UNIX_EPOCH);
            files.push(TraceFile { session: session.to_owned(), path: entry.path(), used, bytes: metadata.len() });
        }
    }
    files.sort_unstable_by(|one, other| (other.used, &other.session).cmp(&(one.used, &one.session)));
    Ok(files)
}
