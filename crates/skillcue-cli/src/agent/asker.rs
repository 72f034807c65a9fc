//! Asking a person whether a model may do something.

use std::fmt::Write as _;
use std::sync::{Arc, Mutex};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::{QueueSelector, tcflush};
use skillcue::consent::{Question, Scope, Subject};
use skillcue_agent::Asker;
use tokio_util::sync::CancellationToken;

use super::interrupts::Interrupts;
use super::screen::Screen;
use crate::terminal::{paint, style};
use crate::text;

/// Most lines of arguments that are shown, and most columns of each.
const MAX_LINES: usize = 12;
const MAX_COLUMNS: usize = 200;

/// How often an interrupt of the turn is looked for.
const POLL_INTERVAL: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };

/// Asks a person at the terminal.
pub(crate) struct TerminalAsker {
    pub(crate) screen: Arc<Screen>,
    pub(crate) interrupts: Interrupts,
    /// Held while a question is open: nothing else may read what is typed.
    pub(crate) asking: Arc<Mutex<()>>,
}

impl Asker for TerminalAsker {
    fn ask(&self, asked: &Question) -> Option<Scope> {
        let _asking = skillcue_base::lock(&self.asking);
        // When this turn ends, so does the question, whatever turn comes next.
        let turn = self.interrupts.turn()?;
        self.screen.aside(&question(asked, Some(MAX_LINES)));
        // What was typed before the question is no answer to it.
        let _ = tcflush(rustix::stdio::stdin(), QueueSelector::IFlush);
        let mut told = false;
        loop {
            let Some(answer) = line(&turn) else {
                self.screen.aside("no");
                return None;
            };
            if matches!(answer.trim(), "v" | "view") {
                self.screen.aside(&question(asked, None));
                continue;
            }
            match (understand(&answer), told) {
                (Some(scope), _) => return scope,
                (None, true) => return None,
                (None, false) => self.screen.aside("Please answer o, s, a, v or n:"),
            }
            told = true;
        }
    }
}

/// Returns the next line that is typed; none if the terminal is gone or the turn was interrupted.
fn line(turn: &CancellationToken) -> Option<String> {
    let mut line = Vec::new();
    loop {
        if turn.is_cancelled() {
            return None;
        }
        let stdin = rustix::stdio::stdin();
        match poll(&mut [PollFd::new(&stdin, PollFlags::IN)], Some(&POLL_INTERVAL)) {
            Ok(0) | Err(rustix::io::Errno::INTR) => continue,
            Ok(_) => {}
            Err(_) => return None,
        }
        // A terminal gives a line at a time, and nothing that was read is left in a buffer for another reader.
        let mut bytes = [0; 1024];
        match rustix::io::read(stdin, &mut bytes) {
            Ok(0) => return None,
            Ok(read) => line.extend_from_slice(&bytes[..read]),
            Err(rustix::io::Errno::INTR) => {}
            Err(_) => return None,
        }
        if line.contains(&b'\n') {
            return Some(String::from_utf8_lossy(&line).into_owned());
        }
    }
}

/// Returns the meaning of an answer: for how long it is a yes, or a no; none if it is no answer. An empty line is a no.
#[expect(clippy::option_option, reason = "a no is an answer, and there may be none")]
fn understand(answer: &str) -> Option<Option<Scope>> {
    Some(match answer.trim().to_lowercase().as_str() {
        "o" | "once" | "y" | "yes" => Some(Scope::Once),
        "s" | "session" => Some(Scope::Session),
        "a" | "always" => Some(Scope::Always),
        "" | "n" | "no" => None,
        _ => return None,
    })
}

/// Returns the question, without characters that control a terminal or hide; of arguments at most so many lines.
fn question(asked: &Question, lines: Option<usize>) -> String {
    let subject = &asked.subject;
    let skill = paint(style::NAME, text::one_line(subject.skill().unwrap_or_default()));
    let source = text::one_line(&asked.details.source);
    let name = |name: &str| paint(style::NAME, text::one_line(name));
    let (mut out, has_arguments) = match subject {
        Subject::Script { path, .. } => {
            (format!("The model wants to run {}, a script of {skill} (source {source}), with", name(path)), true)
        }
        Subject::Tool { tool, .. } => {
            (format!("The model wants to call {}, a tool of {skill} (source {source}), with", name(tool)), true)
        }
        _ => (format!("The model wants to load {skill}, a skill of source {source}."), false),
    };
    if has_arguments {
        put_arguments(&mut out, &asked.details.arguments, lines);
    }
    let dir = subject.dir().map(|dir| dir.to_string_lossy().into_owned()).unwrap_or_default();
    let _ = write!(out, "\nIts files are in {}.", text::one_line(&dir));
    if asked.details.has_changed {
        out.push_str("\nThey have changed since you were asked.");
    }
    out.push_str("\nAllow it? [o]nce, for this [s]ession, [a]lways for this content, [v]iew all, [N]o:");
    out
}

/// Adds the arguments in full where they fit, and says what is missing where they do not: nothing is hidden silently.
fn put_arguments(out: &mut String, arguments: &str, most: Option<usize>) {
    let indented = serde_json::from_str::<serde_json::Value>(arguments)
        .ok()
        .and_then(|value| serde_json::to_string_pretty(&value).ok())
        .unwrap_or_else(|| arguments.to_owned());
    let shown = text::visible(&indented);
    let lines: Vec<&str> = shown.lines().collect();
    let (most, columns) = most.map_or((usize::MAX, usize::MAX), |most| (most, MAX_COLUMNS));
    for line in lines.iter().take(most) {
        let cut = text::cut(line, columns);
        let _ = write!(out, "\n  {cut}");
        if cut.len() < line.len() {
            let _ = write!(out, " ({} in all)", text::count(line.chars().count(), "character"));
        }
    }
    if lines.len() > most {
        let _ = write!(out, "\n  … and {}", text::count(lines.len() - most, "more line"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use skillcue::consent::{ContentId, Details};
    use skillcue_base::Digest;

    #[test]
    fn answers_are_letters_or_words() {
        assert_eq!(understand("o\n"), Some(Some(Scope::Once)));
        assert_eq!(understand(" Session "), Some(Some(Scope::Session)));
        assert_eq!(understand("A"), Some(Some(Scope::Always)));
        assert_eq!(understand("\n"), Some(None), "an empty line is a no");
        assert_eq!(understand("ok"), None);
    }

    fn script() -> Subject {
        Subject::Script { skill: "pdf".into(), dir: "/skills/pdf".into(), path: "fill\u{1b}[2J.py".into() }
    }

    fn asked(subject: Subject, arguments: &str) -> String {
        let details = Details { source: "project".into(), arguments: arguments.into(), ..Details::default() };
        let ask = Question { details, ..Question::new(subject, ContentId::of_listed([("a", Digest::of("a"))])) };
        anstream::adapter::strip_str(&question(&ask, Some(MAX_LINES))).to_string()
    }

    #[test]
    fn questions_escape_control_characters() {
        let said = asked(script(), "{\"a\": \"x\u{202e}\\u001b[2J\", \"b\": [1]}");
        assert!(said.starts_with("The model wants to run fill\\u{1b}[2J.py, a script of pdf (source project), with\n"));
        assert!(said.contains("\"a\": \"x\\u{202e}\\u001b[2J\"") && !said.contains('\u{1b}'), "{said}");
        assert!(said.ends_with("[N]o:"), "{said}");
    }

    #[test]
    fn questions_report_omitted_arguments() {
        let long = format!("{{\"a\": \"{}\", \"b\": [{}1]}}", "x".repeat(500), "1, ".repeat(20));
        let said = asked(script(), &long);
        assert!(said.contains("x… (5") && said.contains("characters in all)"), "{said}");
        assert!(said.contains("more lines"), "{said}");
        assert!(!asked(Subject::Load { skill: "pdf".into(), dir: "/skills/pdf".into() }, "{}").contains("{}"));
    }
}
