//! A session's file, read to where it can be continued.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read as _};
use std::path::Path;
use std::time::SystemTime;

use serde::Deserialize;
use serde_json::error::Category;
use skillcue::Session;
use skillcue::tools::Call;
use skillcue_base::Shown;

use super::error::SessionsError;
use super::mend::mend;
use super::record::{About, KINDS, MAX_LINE, SavedSession, SessionHeader, SessionRecord, VERSION};
use crate::{Message, ToolCall, ToolResult};

/// The contents of a file.
#[derive(Default)]
pub(super) struct Contents {
    /// Missing if the file ended in its first line.
    about: Option<About>,
    messages: Vec<Message>,
    skills: Session,
    loaded: Vec<String>,
    turns: u64,
    /// Whether something was said since the last turn ended.
    open: bool,
    /// The skills that the model has loaded since.
    loading: Vec<String>,
    /// How many bytes of whole lines there are.
    whole: u64,
    /// Whether the last of them lacks its end.
    unended: bool,
    /// Whether there is part of a line behind them.
    torn: bool,
}

/// The repair that a file needs before more can be appended to it.
pub(super) struct Mending {
    /// The bytes to which it is cut.
    pub(super) keep: u64,
    /// The bytes that are appended then.
    pub(super) append: Vec<u8>,
}

/// Reads a file. An error names the line that cannot be read, unless that is the last and a crash may have left it.
pub(super) fn read(file: &File, path: &Path) -> Result<Contents, SessionsError> {
    let mut contents = Contents::default();
    let mut lines = SessionLines::new(file);
    while let Some(SessionLine { line, ended, number, bytes }) = lines.next(path)? {
        match contents.take(line, path, number)? {
            Ok(()) => (contents.whole, contents.unended) = (bytes, !ended),
            Err(why) if lines.is_last(path)? => {
                tracing::debug!(path = %path.display(), "the last line of a session is cut off: {why}");
                contents.torn = true;
            }
            Err(why) => {
                return Err(SessionsError::Damaged { path: path.to_owned(), line: number, why });
            }
        }
    }
    Ok(contents)
}

impl Contents {
    /// Takes a line in. A line that is no JSON may have been left by a crash; one that is JSON, and not ours, was not.
    fn take(&mut self, line: &[u8], path: &Path, number: u64) -> Result<Result<(), String>, SessionsError> {
        if number == 1 {
            return Ok(read_header(line, path)?.map(|about| self.about = Some(about)));
        }
        match serde_json::from_slice::<SessionRecord>(line) {
            Ok(record) => {
                self.apply(record);
                Ok(Ok(()))
            }
            Err(error) => Ok(Err(unreadable_record(&error, line, path, number)?)),
        }
    }

    fn apply(&mut self, record: SessionRecord) {
        match record {
            SessionRecord::Message { message } => {
                if let (Message::Tools { results, .. }, Some(Message::Assistant { calls, .. })) =
                    (&message, self.messages.last())
                {
                    self.loading.extend(loaded_by(calls, results));
                }
                self.messages.push(message);
                self.open = true;
            }
            SessionRecord::Turn { number, skills, loaded, interrupted: _ } => {
                (self.turns, self.skills, self.loaded) = (number, skills, loaded);
                self.open = false;
                self.loading.clear();
            }
            SessionRecord::Compacted { messages, skills, summary: _ } => {
                (self.messages, self.skills) = (messages, skills);
            }
        }
    }

    /// Returns the session, and the repair that makes the file agree with it.
    pub(super) fn finish(
        self,
        id: &str,
        modified: SystemTime,
        path: &Path,
    ) -> Result<(SavedSession, Option<Mending>), SessionsError> {
        let Contents { about, messages: said_before, skills, mut loaded, loading, .. } = self;
        let Contents { mut turns, open, whole, unended, torn, .. } = self;
        let mut repaired = Vec::new();
        let mut append = Vec::new();
        if torn {
            repaired.push("the last line was not whole, and was cut off".to_owned());
        }
        if unended {
            append.push(b'\n');
            repaired.push("the last line had no end, and got one".to_owned());
        }
        let about = if let Some(about) = about {
            about
        } else {
            let about = About { model: String::new(), cwd: None, created: modified }.normalised();
            append.extend(header_line(id, &about, path)?);
            repaired.push("how it began was lost, the model's name with it".to_owned());
            about
        };
        // The model has read them: their tools have to be there, as if the turn had come to its end.
        for name in loading {
            if !loaded.contains(&name) {
                loaded.push(name);
            }
        }
        let (messages, mended) = mend(said_before.clone());
        if open || !mended.is_empty() {
            if messages.starts_with(&said_before) {
                for message in &messages[said_before.len()..] {
                    append.extend(line(&SessionRecord::Message { message: message.clone() }, path)?);
                }
            } else {
                let (messages, skills, summary) = (messages.clone(), skills.clone(), String::new());
                append.extend(line(&SessionRecord::Compacted { messages, skills, summary }, path)?);
            }
            // A turn that ended, but not with an answer, is still the same turn.
            turns = turns.saturating_add(u64::from(open)).max(1);
            let (skills, loaded) = (skills.clone(), loaded.clone());
            append.extend(line(&SessionRecord::Turn { number: turns, skills, loaded, interrupted: true }, path)?);
            repaired.push(format!("turn {turns} did not come to its end"));
            repaired.extend(mended);
        }
        let mending = (torn || !append.is_empty()).then_some(Mending { keep: whole, append });
        Ok((SavedSession { id: id.to_owned(), about, messages, skills, loaded, turns, repaired }, mending))
    }
}

/// Returns the skills that these calls have loaded.
fn loaded_by(calls: &[ToolCall], results: &[ToolResult]) -> impl Iterator<Item = String> {
    calls.iter().filter(|call| call.name == "load_skill").filter_map(|call| {
        let done = results.iter().any(|result| result.id == call.id && !result.is_error);
        let call = done.then(|| Some(Call::new(&call.name, serde_json::from_str(&call.arguments).ok()?))).flatten()?;
        call.skill_id().map(str::to_owned)
    })
}

/// Reads the first line; or returns why it is not even JSON.
pub(super) fn read_header(line: &[u8], path: &Path) -> Result<Result<About, String>, SessionsError> {
    #[derive(Deserialize)]
    struct HeaderVersion {
        version: u64,
    }
    let read = match serde_json::from_slice::<HeaderVersion>(line) {
        Ok(HeaderVersion { version }) if version > VERSION => return Err(newer(path, format!("version {version}"))),
        Ok(_) => serde_json::from_slice::<SessionHeader>(line),
        Err(error) => Err(error),
    };
    match read {
        Ok(header) => Ok(Ok(header.about)),
        Err(error) if error.classify() == Category::Data => {
            let why = format!("not the first line of a session ({})", Shown(&error.to_string()));
            Err(SessionsError::Damaged { path: path.to_owned(), line: 1, why })
        }
        Err(error) => Ok(Err(format!("not readable ({})", Shown(&error.to_string())))),
    }
}

/// Returns why a line is not even JSON; an error, if it is JSON, which no crash leaves.
pub(super) fn unreadable_record(
    error: &serde_json::Error,
    line: &[u8],
    path: &Path,
    number: u64,
) -> Result<String, SessionsError> {
    #[derive(Deserialize)]
    struct RecordType {
        r#type: String,
    }
    match serde_json::from_slice::<RecordType>(line) {
        Ok(RecordType { r#type }) if !KINDS.contains(&r#type.as_str()) => {
            Err(newer(path, format!("line {number} is a record `{}`", Shown(&r#type))))
        }
        Err(error) if error.classify() != Category::Data => Ok(format!("not readable ({})", Shown(&error.to_string()))),
        _ => {
            let why = format!("not a record ({})", Shown(&error.to_string()));
            Err(SessionsError::Damaged { path: path.to_owned(), line: number, why })
        }
    }
}

/// Returns a record as a line.
pub(super) fn line(record: &SessionRecord, path: &Path) -> Result<Vec<u8>, SessionsError> {
    ended(serde_json::to_vec(record), path)
}

/// Returns the first line of a file.
pub(super) fn header_line(id: &str, about: &About, path: &Path) -> Result<Vec<u8>, SessionsError> {
    ended(serde_json::to_vec(&SessionHeader { version: VERSION, id: id.to_owned(), about: about.clone() }), path)
}

fn ended(line: serde_json::Result<Vec<u8>>, path: &Path) -> Result<Vec<u8>, SessionsError> {
    let mut line = line.map_err(|error| SessionsError::file("write", path, error.into()))?;
    line.push(b'\n');
    if line.len() > MAX_LINE {
        return Err(SessionsError::TooLarge { path: path.to_owned(), bytes: line.len() });
    }
    Ok(line)
}

fn newer(path: &Path, what: String) -> SessionsError {
    SessionsError::Newer { path: path.to_owned(), what }
}

/// The lines of a file, one at a time.
pub(super) struct SessionLines<'f> {
    reader: BufReader<&'f File>,
    line: Vec<u8>,
    number: u64,
    bytes: u64,
}

/// A line that was read.
pub(super) struct SessionLine<'l> {
    /// Its bytes, without the line end.
    pub(super) line: &'l [u8],
    /// Whether it has a line end.
    pub(super) ended: bool,
    /// Its number, from 1 on.
    pub(super) number: u64,
    /// How far the file has been read with it.
    pub(super) bytes: u64,
}

impl<'f> SessionLines<'f> {
    pub(super) fn new(file: &'f File) -> SessionLines<'f> {
        SessionLines { reader: BufReader::with_capacity(64 << 10, file), line: Vec::new(), number: 0, bytes: 0 }
    }

    /// Returns the next line.
    pub(super) fn next(&mut self, path: &Path) -> Result<Option<SessionLine<'_>>, SessionsError> {
        self.line.clear();
        self.number += 1;
        let most = MAX_LINE as u64 + 1;
        let read = self.reader.by_ref().take(most).read_until(b'\n', &mut self.line);
        let read = read.map_err(|error| SessionsError::file("read", path, error))?;
        self.bytes += read as u64;
        let ended = self.line.pop_if(|last| *last == b'\n').is_some();
        if self.line.len() >= MAX_LINE {
            let why = format!("longer than {MAX_LINE} bytes");
            return Err(SessionsError::Damaged { path: path.to_owned(), line: self.number, why });
        }
        let SessionLines { line, number, bytes, .. } = self;
        Ok((read > 0).then_some(SessionLine { line, ended, number: *number, bytes: *bytes }))
    }

    /// Returns whether nothing comes after the line that was read last.
    pub(super) fn is_last(&mut self, path: &Path) -> Result<bool, SessionsError> {
        loop {
            match self.reader.fill_buf() {
                Ok(rest) => return Ok(rest.is_empty()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(SessionsError::file("read", path, error)),
            }
        }
    }
}
