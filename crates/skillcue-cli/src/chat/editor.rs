//! The line editor of the chat.

use std::cell::RefCell;
use std::io;
use std::path::{Path, PathBuf};

use rustyline::completion::Completer;
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::FileHistory;
use rustyline::validate::{ValidationContext, ValidationResult, Validator};
use rustyline::{Behavior, CompletionType, Config, Helper};

use super::complete::offer;

/// Most lines of history that are kept.
const MAX_HISTORY: usize = 1_000;

/// Reads messages from a person at a terminal.
pub(crate) struct Editor {
    lines: rustyline::Editor<EditorHelper, FileHistory>,
    /// The file that keeps typed lines for the next chat.
    history: Option<PathBuf>,
    /// Whether the last key was a Ctrl-C on an empty line.
    is_leaving: bool,
}

/// The result of reading a line.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum EditorInput {
    /// A message or a command, of one line or several.
    Line(String),
    /// A Ctrl-C, which clears the line, and whether it was empty already.
    Cleared { was_empty: bool },
    /// The typed bytes are no text.
    Unreadable,
    /// The user wants to leave, or the terminal is gone.
    Leave,
}

impl Editor {
    /// Makes an editor that completes these names and keeps typed lines in a file.
    pub(crate) fn new(skills: Vec<String>, history: Option<PathBuf>) -> Result<Editor, ReadlineError> {
        let config = Config::builder()
            .max_history_size(MAX_HISTORY)?
            .history_ignore_dups(true)?
            .history_ignore_space(true)
            .auto_add_history(false)
            .completion_type(CompletionType::List)
            .completion_show_all_if_ambiguous(true)
            .behavior(Behavior::Stdio)
            .bracketed_paste(true)
            .build();
        let mut editor = rustyline::Editor::with_config(config)?;
        editor.set_helper(Some(EditorHelper { skills, line: RefCell::default() }));
        if let Some(file) = &history {
            // There is none the first time, and one that cannot be read is no reason not to talk.
            let _ = editor.load_history(file);
        }
        Ok(Editor { lines: editor, history, is_leaving: false })
    }

    /// Reads the next line.
    pub(crate) fn read(&mut self, prompt: &str) -> Result<EditorInput, ReadlineError> {
        match self.lines.readline(prompt) {
            Ok(line) => {
                self.is_leaving = false;
                self.remember(&line);
                Ok(EditorInput::Line(joined(&line)))
            }
            Err(ReadlineError::Interrupted) => {
                let was_empty = self.lines.helper().is_none_or(|typing| typing.line.borrow().is_empty());
                if was_empty && self.is_leaving {
                    return Ok(EditorInput::Leave);
                }
                self.is_leaving = was_empty;
                Ok(EditorInput::Cleared { was_empty })
            }
            Err(ReadlineError::Eof) => Ok(EditorInput::Leave),
            // A terminal that hung up.
            Err(ReadlineError::Io(error)) if error.raw_os_error() == Some(rustix::io::Errno::IO.raw_os_error()) => {
                Ok(EditorInput::Leave)
            }
            // Bytes that are no text: the line is gone, and nothing else.
            Err(ReadlineError::Io(error)) if error.kind() == io::ErrorKind::InvalidData => {
                self.is_leaving = false;
                Ok(EditorInput::Unreadable)
            }
            Err(error) => Err(error),
        }
    }

    /// Completes these names from now on.
    pub(crate) fn complete(&mut self, skills: Vec<String>) {
        if let Some(typing) = self.lines.helper_mut() {
            typing.skills = skills;
        }
    }

    /// Adds a line to the history and its file, at once: a chat may end in any way.
    fn remember(&mut self, line: &str) {
        let added = !line.trim().is_empty() && self.lines.add_history_entry(line).unwrap_or(false);
        if let Some(file) = self.history.as_deref().filter(|_| added) {
            let kept = make_private(file).is_ok() && self.lines.append_history(file).is_ok();
            if !kept {
                tracing::debug!(file = %file.display(), "what was typed is not kept");
            }
        }
    }
}

/// Makes the file's directory, and the file readable for its owner alone if it is there.
fn make_private(file: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    if let Some(dir) = file.parent() {
        std::fs::create_dir_all(dir)?;
    }
    if file.is_symlink() {
        return Err(io::Error::other("it is a link"));
    }
    // The editor makes it so, too; the file may have been copied since.
    match std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o600)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Returns a message of several lines, without the `\\` at their ends.
fn joined(line: &str) -> String {
    line.replace("\\\n", "\n")
}

/// Completion and validation for the line editor.
struct EditorHelper {
    skills: Vec<String>,
    /// The line as it was last seen; the editor does not say what a Ctrl-C has cleared.
    line: RefCell<String>,
}

impl Completer for EditorHelper {
    type Candidate = String;

    fn complete(
        &self,
        line: &str,
        cursor: usize,
        _: &rustyline::Context<'_>,
    ) -> rustyline::Result<(usize, Vec<String>)> {
        let offer = offer(line, cursor, &self.skills);
        Ok((offer.start, offer.words))
    }
}

impl Hinter for EditorHelper {
    type Hint = String;

    fn hint(&self, line: &str, _: usize, _: &rustyline::Context<'_>) -> Option<String> {
        line.clone_into(&mut self.line.borrow_mut());
        None
    }
}

impl Validator for EditorHelper {
    fn validate(&self, context: &mut ValidationContext<'_>) -> rustyline::Result<ValidationResult> {
        let goes_on = context.input().ends_with('\\');
        Ok(if goes_on { ValidationResult::Incomplete } else { ValidationResult::Valid(None) })
    }
}

impl Highlighter for EditorHelper {}

impl Helper for EditorHelper {}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn lines_that_go_on_are_one_message() {
        assert_eq!(joined("one\\\ntwo\n\nthree"), "one\ntwo\n\nthree");
        assert_eq!(joined(r"C:\dir"), r"C:\dir");
    }

    #[test]
    fn the_history_file_is_private() {
        let tmp = tempfile::tempdir().unwrap();
        let file = tmp.path().join("data/skillcue/agent-history");
        make_private(&file).unwrap();
        assert!(!file.exists(), "the editor begins it with a line of its own");
        std::fs::write(&file, "x").unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
        make_private(&file).unwrap();
        assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(std::fs::read(&file).unwrap(), b"x");
    }
}
