//! The display of a turn while it goes on.

use std::fmt::Write as _;
use std::io;
use std::sync::{Mutex, MutexGuard};

use skillcue_agent::TurnEvent;

use crate::progress::ProgressIndicator;
use crate::terminal::{Terminal, paint, style};
use crate::text;

/// Most files of a turn that are named.
const MAX_FILES: usize = 8;

/// How a turn is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OutputMode {
    /// Words as they come, for a person at a terminal.
    Stream,
    /// The answer once it is whole: a retry must not leave half of one in a pipe.
    Whole,
    /// One event a line, for programs.
    Json,
}

/// Shows the events of a turn. Threads share it.
pub(crate) struct Screen {
    terminal: Terminal,
    mode: OutputMode,
    verbose: bool,
    model: String,
    state: Mutex<ScreenState>,
}

#[derive(Default)]
struct ScreenState {
    /// Whether the last line on stdout is not ended yet.
    is_begun: bool,
    /// The part of the answer to the last request that was shown.
    streamed: String,
    /// The progress indicator while nothing comes.
    waiting: Option<ProgressIndicator>,
    /// Whether the reader of stdout is gone, or it cannot be written to.
    is_unread: bool,
    /// The error of a write, if it is not that the reader is gone.
    failure: Option<io::Error>,
}

impl Screen {
    pub(crate) fn new(terminal: Terminal, mode: OutputMode, verbose: bool, model: &str) -> Screen {
        Screen { terminal, mode, verbose, model: text::one_line(model), state: Mutex::default() }
    }

    fn lock(&self) -> MutexGuard<'_, ScreenState> {
        skillcue_base::lock(&self.state)
    }

    /// Returns whether stdout is not read any more.
    pub(crate) fn is_unread(&self) -> bool {
        self.lock().is_unread
    }

    /// Takes the error of a write to stdout, if its reader is not just gone.
    pub(crate) fn take_failure(&self) -> Option<io::Error> {
        self.lock().failure.take()
    }

    /// Prints a line on stderr.
    pub(crate) fn aside(&self, said: &str) {
        self.say(&mut self.lock(), said);
    }

    fn say(&self, state: &mut ScreenState, said: &str) {
        state.waiting = None;
        if state.is_begun && self.terminal.stdout_is_terminal() {
            state.print(&self.terminal, "\n");
        }
        self.terminal.say(said);
    }

    /// Prints a value as one line of JSON.
    pub(crate) fn json_line(&self, value: &impl serde::Serialize) {
        let mut state = self.lock();
        state.waiting = None;
        match serde_json::to_string(value) {
            Ok(line) => {
                state.print(&self.terminal, &line);
                state.print(&self.terminal, "\n");
            }
            Err(error) => self.terminal.say(&format!("an event could not be written: {error}")),
        }
    }

    /// Shows an event.
    pub(crate) fn show(&self, event: &TurnEvent<'_>) {
        if self.mode == OutputMode::Json {
            return self.json_line(event);
        }
        let state = &mut *self.lock();
        match event {
            TurnEvent::Request { turn, round, tokens } => {
                if self.verbose {
                    let total = text::thousands(tokens.total());
                    self.dim(state, &format!("turn {turn}, request {round}: {total} tokens"));
                }
                state.streamed.clear();
                state.waiting = Some(ProgressIndicator::spinner(format!("waiting for {}", self.model)));
            }
            TurnEvent::Text { text } if self.mode == OutputMode::Stream => {
                state.waiting = None;
                state.streamed.push_str(text);
                state.print(&self.terminal, &text::visible_prose(text));
            }
            TurnEvent::Retry { attempt, wait_ms, why } => {
                let seconds = wait_ms.div_ceil(100);
                let line = format!("attempt {attempt} in {}.{} s: {}", seconds / 10, seconds % 10, text::one_line(why));
                self.dim(state, &line);
                state.streamed.clear();
                state.waiting = Some(ProgressIndicator::spinner(format!("waiting for {}", self.model)));
            }
            TurnEvent::Call { name, arguments, .. } => {
                let line = format!("→ {} {}", text::one_line(name), text::one_line(arguments));
                let line = text::cut(&line, self.columns()).into_owned();
                self.dim(state, &line);
                state.waiting = Some(ProgressIndicator::spinner(format!("calling {}", text::one_line(name))));
            }
            TurnEvent::Result { name, text, is_error, .. } => self.result(state, name, text, *is_error),
            TurnEvent::Problem { provider, message } => {
                state.waiting = None;
                let head = paint(style::WARNING, format_args!("warning[{}]", text::one_line(provider)));
                self.say(state, &format!("{head}: {}", text::one_line(message)));
            }
            TurnEvent::Compacted { before, after, messages, summarised, .. } => {
                let how = if *summarised { "summarised" } else { "left out" };
                let count = text::count(*messages, "earlier message");
                self.dim(state, &format!("{count} {how}, to make room: {before} → {after} tokens"));
            }
            TurnEvent::Context { provider, tokens, tier, skills, files } if self.verbose => {
                let mut line = format!("{}: {tokens} tokens", text::one_line(provider));
                if let Some(tier) = tier {
                    let _ = write!(line, ", tier {tier}");
                }
                for skill in skills {
                    let _ = write!(line, ", {} {}", text::one_line(&skill.name), text::one_line(&skill.decision));
                }
                for (at, file) in files.iter().take(MAX_FILES).enumerate() {
                    let before = if at == 0 { "; about " } else { ", " };
                    let _ = write!(line, "{before}{}", text::one_line(file));
                }
                if files.len() > MAX_FILES {
                    let _ = write!(line, " and {}", text::count(files.len() - MAX_FILES, "more file"));
                }
                self.dim(state, &line);
            }
            TurnEvent::Hint { skills, tokens } if self.verbose => {
                let names: Vec<_> = skills.iter().map(|name| text::one_line(name)).collect();
                self.dim(state, &format!("hint: {tokens} tokens, {}", names.join(", ")));
            }
            TurnEvent::Answer { text, .. } => self.answer(state, text),
            _ => {}
        }
    }

    /// Shows the result of a tool: errors always, others with -v.
    fn result(&self, state: &mut ScreenState, name: &str, text: &str, is_error: bool) {
        state.waiting = None;
        if !(is_error || self.verbose) {
            return;
        }
        // Results of tools are XML; the message of an error is between the tags.
        let told = text.lines().map(str::trim).find(|line| !(line.is_empty() || is_error && line.starts_with('<')));
        let how = if is_error { "failed: " } else { "" };
        let line = format!("← {} {how}{}", text::one_line(name), text::one_line(told.unwrap_or_default()));
        let line = text::cut(&line, self.columns()).into_owned();
        self.dim(state, &line);
    }

    fn answer(&self, state: &mut ScreenState, answer: &str) {
        state.waiting = None;
        if self.mode == OutputMode::Stream && state.streamed == answer {
            // It is on the screen already.
        } else if self.terminal.stdout_is_terminal() {
            state.print(&self.terminal, &text::visible_prose(answer));
        } else {
            state.print(&self.terminal, answer);
        }
        if state.is_begun {
            state.print(&self.terminal, "\n");
        }
        state.streamed.clear();
    }

    /// Ends the display of a turn: the next output begins on a line of its own.
    pub(crate) fn settle(&self) {
        let state = &mut *self.lock();
        state.waiting = None;
        if state.is_begun && self.mode == OutputMode::Stream {
            state.print(&self.terminal, "\n");
        }
        state.streamed.clear();
    }

    fn dim(&self, state: &mut ScreenState, line: &str) {
        self.say(state, &paint(style::DIM, line));
    }

    fn columns(&self) -> usize {
        self.terminal.width().unwrap_or(160)
    }
}

impl ScreenState {
    fn print(&mut self, terminal: &Terminal, text: &str) {
        if text.is_empty() {
            return;
        }
        self.is_begun = !text.ends_with('\n');
        if let Err(error) = terminal.print_bytes(text.as_bytes()).and_then(|()| terminal.flush()) {
            self.is_unread = true;
            if error.kind() != io::ErrorKind::BrokenPipe {
                self.failure.get_or_insert(error);
            }
        }
    }
}
