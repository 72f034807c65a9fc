//! The list of sessions.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use skillcue_base::Shown;

use super::error::SessionsError;
use super::file::{FileOpenError, open};
use super::read::{SessionLine, SessionLines, read_header, unreadable_record};
use super::record::SessionRecord;
use crate::Message;

/// The most characters of the first message.
const MAX_CHARS: usize = 120;

/// A session in a list, to look at. Texts from its file are on one line, with hidden characters escaped.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[non_exhaustive]
pub struct SessionSummary {
    /// Its id.
    pub id: String,
    /// When it began.
    #[serde(with = "crate::trace::written")]
    pub created: SystemTime,
    /// When something was last written into it.
    #[serde(with = "crate::trace::written")]
    pub used: SystemTime,
    /// How many turns have ended.
    pub turns: u64,
    /// The model that it began with; empty if it is unknown.
    pub model: String,
    /// The directory in which it began, as it can be shown.
    pub cwd: Option<PathBuf>,
    /// The user's first message, on one line, cut if it is long.
    pub first: String,
    /// How large its file is.
    pub bytes: u64,
    /// Why it cannot be continued, if it cannot.
    pub problem: Option<String>,
}

impl SessionSummary {
    /// Reads a file, once, line by line.
    pub(super) fn of(id: &str, path: &Path) -> SessionSummary {
        let mut listed = SessionSummary {
            id: id.to_owned(),
            created: UNIX_EPOCH,
            used: UNIX_EPOCH,
            turns: 0,
            model: String::new(),
            cwd: None,
            first: String::new(),
            bytes: 0,
            problem: None,
        };
        let looked = match open(path, rustix::fs::OFlags::RDONLY) {
            Ok(file) => listed.look(&file, path),
            Err(FileOpenError::NotAFile) => Err(SessionsError::NotAFile { path: path.to_owned() }),
            Err(FileOpenError::File(error)) => Err(SessionsError::file("open", path, error)),
        };
        listed.problem = looked.err().map(|error| error.to_string());
        listed
    }

    fn look(&mut self, file: &File, path: &Path) -> Result<(), SessionsError> {
        let metadata = file.metadata().map_err(|error| SessionsError::file("look at", path, error))?;
        self.bytes = metadata.len();
        self.used = metadata.modified().unwrap_or(UNIX_EPOCH);
        self.created = self.used;
        let mut lines = SessionLines::new(file);
        while let Some(SessionLine { line, number, .. }) = lines.next(path)? {
            let Err(why) = self.take(line, number, path)? else { continue };
            if !lines.is_last(path)? {
                return Err(SessionsError::Damaged { path: path.to_owned(), line: number, why });
            }
        }
        Ok(())
    }

    fn take(&mut self, line: &[u8], number: u64, path: &Path) -> Result<Result<(), String>, SessionsError> {
        if number == 1 {
            return Ok(read_header(line, path)?.map(|about| {
                self.created = about.created;
                self.model = list_line(&about.model);
                self.cwd = about.cwd.map(|cwd| PathBuf::from(Shown(&cwd.to_string_lossy()).to_string()));
            }));
        }
        match line_kind(line) {
            // Most of a file is messages, and only the first of the user's is listed.
            Some(LineKind::Message) if !self.first.is_empty() => return Ok(Ok(())),
            Some(LineKind::Turn(number)) => {
                self.turns = number;
                return Ok(Ok(()));
            }
            _ => {}
        }
        match serde_json::from_slice::<SessionRecord>(line) {
            Ok(SessionRecord::Message { message: Message::User { text, .. } }) if self.first.is_empty() => {
                self.first = list_line(&text);
            }
            Ok(SessionRecord::Turn { number, .. }) => self.turns = number,
            Ok(_) => {}
            Err(error) => return Ok(Err(unreadable_record(&error, line, path, number)?)),
        }
        Ok(Ok(()))
    }
}

/// The kind of a line, by its beginning and its end.
enum LineKind {
    Message,
    Turn(u64),
}

/// Returns the kind of a line as we write it. Crashes leave zeros and half lines, and those are seen; other damage is
/// seen when the session is continued.
fn line_kind(line: &[u8]) -> Option<LineKind> {
    let whole = line.ends_with(b"}") && line.iter().fold(u8::MAX, |least, byte| least.min(*byte)) >= b' ';
    if !whole {
        return None;
    }
    if line.starts_with(b"{\"type\":\"message\",\"message\":{\"role\":\"") {
        return line.ends_with(b"}}").then_some(LineKind::Message);
    }
    let number = line.strip_prefix(b"{\"type\":\"turn\",\"number\":")?;
    let end = number.iter().position(|byte| !byte.is_ascii_digit()).filter(|&end| number[end] == b',')?;
    std::str::from_utf8(&number[..end]).ok()?.parse().ok().map(LineKind::Turn)
}

/// Returns a text as it can be shown in a list.
fn list_line(text: &str) -> String {
    let mut line = String::new();
    for word in text.split_whitespace() {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
        if line.len() > 4 * MAX_CHARS {
            break;
        }
    }
    Shown(&line).within(MAX_CHARS).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_message_becomes_one_short_line() {
        assert_eq!(list_line(" a\n\tb \r\n c"), "a b c");
        let long = "ü".repeat(500);
        assert_eq!(list_line(&long).chars().count(), MAX_CHARS + 1);
        assert_eq!(list_line(&"ü ".repeat(100_000)).chars().count(), MAX_CHARS + 1);
        assert_eq!(list_line(""), "");
        assert_eq!(list_line("a\u{1b}[2J\u{202e}b\u{2028}c"), "a\\u{1b}[2J\\u{202e}b c");
    }
}
