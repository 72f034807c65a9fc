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

/// So many lines are remembered.
const REMEMBERED: usize = 1_000;

/// Reads messages from a person at a terminal.
pub(crate) struct Editor {
    lines: rustyline::Editor<Typing, FileHistory>,
    /// Where what was typed is kept for the next chat.
    history: Option<PathBuf>,
    /// Whether the last thing that was typed was a Ctrl-C on an empty line.
    is_leaving: bool,
}

/// What came of reading.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Input {
    /// A message or a command, of one line or several.
    Line(String),
    /// A Ctrl-C: what stood on the line is gone. It was empty already, if so.
    Cleared { was_empty: bool },
    /// What was typed is no text.
    Unreadable,
    /// Somebody wants to leave, or is gone.
    Leave,
}

impl Editor {
    /// An editor that completes these names and remembers what was typed in a file.
    pub(crate) fn new(skills: Vec<String>, history: Option<PathBuf>) -> Result<Editor, ReadlineError> {
        let config = Config::builder()
            .max_history_size(REMEMBERED)?
            .history_ignore_dups(true)?
            .history_ignore_space(true)
            .auto_add_history(false)
            .completion_type(CompletionType::List)
            .completion_show_all_if_ambiguous(true)
            .behavior(Behavior::Stdio)
            .bracketed_paste(true)
            .build();
        let mut editor = rustyline::Editor::with_config(config)?;
        editor.set_helper(Some(Typing { skills, line: RefCell::default() }));
        if let Some(file) = &history {
            // There is none the first time, and one that cannot be read is no reason not to talk.
            let _ = editor.load_history(file);
        }
        Ok(Editor { lines: editor, history, is_leaving: false })
    }

    /// The next line.
    pub(crate) fn read(&mut self, prompt: &str) -> Result<Input, ReadlineError> {
        match self.lines.readline(prompt) {
            Ok(line) => {
                self.is_leaving = false;
                self.remember(&line);
                Ok(Input::Line(joined(&line)))
            }
            Err(ReadlineError::Interrupted) => {
                let was_empty = self.lines.helper().is_none_or(|typing| typing.line.borrow().is_empty());
                if was_empty && self.is_leaving {
                    return Ok(Input::Leave);
                }
                self.is_leaving = was_empty;
                Ok(Input::Cleared { was_empty })
            }
            Err(ReadlineError::Eof) => Ok(Input::Leave),
            // A terminal that hung up.
            Err(ReadlineError::Io(error)) if error.raw_os_error() == Some(rustix::io::Errno::IO.raw_os_error()) => {
                Ok(Input::Leave)
            }
            // Bytes that are no text: the line is gone, and nothing else.
            Err(ReadlineError::Io(error)) if error.kind() == io::ErrorKind::InvalidData => {
                self.is_leaving = false;
                Ok(Input::Unreadable)
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

    /// Kept as it comes: a chat may end in any way.
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

/// Makes sure that the file can be made, and is nobody else's if it is there.
fn make_private(file: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    if let Some(dir) = file.parent() {
        std::fs::create_dir_all(dir)?;
    }
    if file.is_symlink() {
        return Err(io::Error::other("it is a link"));
    }
    // The editor makes it so, too; somebody may have copied it.
    match std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o600)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// A message of several lines, without what said that it goes on.
fn joined(line: &str) -> String {
    line.replace("\\\n", "\n")
}

/// What the editor asks while somebody types.
struct Typing {
    skills: Vec<String>,
    /// The line as it was last seen; the editor does not say what a Ctrl-C has cleared.
    line: RefCell<String>,
}

impl Completer for Typing {
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

impl Hinter for Typing {
    type Hint = String;

    fn hint(&self, line: &str, _: usize, _: &rustyline::Context<'_>) -> Option<String> {
        line.clone_into(&mut self.line.borrow_mut());
        None
    }
}

impl Validator for Typing {
    fn validate(&self, context: &mut ValidationContext<'_>) -> rustyline::Result<ValidationResult> {
        let goes_on = context.input().ends_with('\\');
        Ok(if goes_on { ValidationResult::Incomplete } else { ValidationResult::Valid(None) })
    }
}

impl Highlighter for Typing {}

impl Helper for Typing {}

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
    fn what_was_typed_is_private() {
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
