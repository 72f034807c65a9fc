//! Asking a person whether a model may do something.

use std::fmt::Write as _;
use std::sync::{Arc, Mutex};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::{QueueSelector, tcflush};
use skillcue_agent::{Ask, AskKind, Asker, Choice};
use tokio_util::sync::CancellationToken;

use super::interrupts::Interrupts;
use super::screen::Screen;
use crate::terminal::{paint, style};
use crate::text;

/// So many lines of arguments are shown, and so many columns of each.
const LINES: usize = 12;
const COLUMNS: usize = 200;

/// How often it is looked whether somebody has interrupted.
const LOOK: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };

/// Asks at the terminal.
pub(crate) struct TerminalAsker {
    pub(crate) screen: Arc<Screen>,
    pub(crate) interrupts: Interrupts,
    /// Held while somebody is asked: nobody else may read what they type.
    pub(crate) asking: Arc<Mutex<()>>,
}

impl Asker for TerminalAsker {
    fn ask(&self, ask: &Ask) -> Choice {
        let _asking = skillcue_base::lock(&self.asking);
        // When this turn ends, so does the question, whatever turn comes next.
        let Some(turn) = self.interrupts.turn() else { return Choice::No };
        self.screen.aside(&question(ask, Some(LINES)));
        // What was typed before the question is no answer to it.
        let _ = tcflush(rustix::stdio::stdin(), QueueSelector::IFlush);
        let mut told = false;
        loop {
            let Some(answer) = line(&turn) else {
                self.screen.aside("no");
                return Choice::No;
            };
            if matches!(answer.trim(), "v" | "view") {
                self.screen.aside(&question(ask, None));
                continue;
            }
            match (understand(&answer), told) {
                (Some(choice), _) => return choice,
                (None, true) => return Choice::No,
                (None, false) => self.screen.aside("Please answer o, s, a, v or n:"),
            }
            told = true;
        }
    }
}

/// The next line that somebody types; none if they are gone or have interrupted.
fn line(turn: &CancellationToken) -> Option<String> {
    let mut line = Vec::new();
    loop {
        if turn.is_cancelled() {
            return None;
        }
        let stdin = rustix::stdio::stdin();
        match poll(&mut [PollFd::new(&stdin, PollFlags::IN)], Some(&LOOK)) {
            Ok(0) | Err(rustix::io::Errno::INTR) => continue,
            Ok(_) => {}
            Err(_) => return None,
        }
        // A terminal gives a line at a time, and what has been read is not left in a buffer for somebody else.
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

/// What an answer means; none if it is no answer. Nothing is a no.
fn understand(answer: &str) -> Option<Choice> {
    Some(match answer.trim().to_lowercase().as_str() {
        "o" | "once" | "y" | "yes" => Choice::Once,
        "s" | "session" => Choice::Session,
        "a" | "always" => Choice::Always,
        "" | "n" | "no" => Choice::No,
        _ => return None,
    })
}

/// What is asked, with nothing in it that commands a terminal or hides; of arguments at most so many lines.
fn question(ask: &Ask, lines: Option<usize>) -> String {
    let skill = paint(style::NAME, text::one_line(&ask.skill));
    let (source, tool) = (text::one_line(&ask.source), paint(style::NAME, text::one_line(&ask.tool)));
    let mut out = match ask.kind {
        AskKind::LoadSkill => format!("The model wants to load {skill}, a skill of source {source}."),
        AskKind::RunScript => format!("The model wants to run {tool}, a script of {skill} (source {source}), with"),
        AskKind::CallTool => format!("The model wants to call {tool}, a tool of {skill} (source {source}), with"),
    };
    if !matches!(ask.kind, AskKind::LoadSkill) {
        put_arguments(&mut out, &ask.arguments, lines);
    }
    let _ = write!(out, "\nIts files are in {}.", text::one_line(&ask.dir));
    if ask.has_changed {
        out.push_str("\nThey have changed since you were asked.");
    }
    out.push_str("\nAllow it? [o]nce, for this [s]ession, [a]lways for this content, [v]iew all, [N]o:");
    out
}

/// The arguments in full where they fit, and what is missing where they do not: nothing is hidden silently.
fn put_arguments(out: &mut String, arguments: &str, most: Option<usize>) {
    let indented = serde_json::from_str::<serde_json::Value>(arguments)
        .ok()
        .and_then(|value| serde_json::to_string_pretty(&value).ok())
        .unwrap_or_else(|| arguments.to_owned());
    let shown = text::visible(&indented);
    let lines: Vec<&str> = shown.lines().collect();
    let (most, columns) = most.map_or((usize::MAX, usize::MAX), |most| (most, COLUMNS));
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

    #[test]
    fn answers_are_letters_or_words() {
        assert_eq!(understand("o\n"), Some(Choice::Once));
        assert_eq!(understand(" Session "), Some(Choice::Session));
        assert_eq!(understand("A"), Some(Choice::Always));
        assert_eq!(understand("\n"), Some(Choice::No), "whoever just goes on has not agreed");
        assert_eq!(understand("ok"), None);
    }

    fn asked(kind: AskKind, arguments: &str) -> String {
        let ask = Ask {
            kind,
            skill: "pdf".into(),
            source: "project".into(),
            tool: "fill\u{1b}[2J.py".into(),
            arguments: arguments.into(),
            dir: "/skills/pdf".into(),
            has_changed: false,
        };
        anstream::adapter::strip_str(&question(&ask, Some(LINES))).to_string()
    }

    #[test]
    fn what_is_asked_is_seen() {
        let said = asked(AskKind::RunScript, "{\"a\": \"x\u{202e}\\u001b[2J\", \"b\": [1]}");
        assert!(said.starts_with("The model wants to run fill\\u{1b}[2J.py, a script of pdf (source project), with\n"));
        assert!(said.contains("\"a\": \"x\\u{202e}\\u001b[2J\"") && !said.contains('\u{1b}'), "{said}");
        assert!(said.ends_with("[N]o:"), "{said}");
    }

    #[test]
    fn what_is_left_out_is_said() {
        let long = format!("{{\"a\": \"{}\", \"b\": [{}1]}}", "x".repeat(500), "1, ".repeat(20));
        let said = asked(AskKind::CallTool, &long);
        assert!(said.contains("x… (5") && said.contains("characters in all)"), "{said}");
        assert!(said.contains("more lines"), "{said}");
        assert!(!asked(AskKind::LoadSkill, "{}").contains("{}"));
    }
}
