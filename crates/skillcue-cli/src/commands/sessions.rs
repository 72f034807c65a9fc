//! `skillcue sessions`: the agent's conversations.

use std::fmt::Write as _;
use std::time::SystemTime;

use serde_json::json;
use skillcue_agent::{Message, SavedSession, SessionSummary, Sessions, ToolCall, ToolResult};
use skillcue_base::rfc3339;

use crate::agent::dirs::AgentDirs;
use crate::context::Context;
use crate::error::CliError;
use crate::report::Printout;
use crate::terminal::{paint, style};
use crate::{Outcome, text};

const AFTER: &str = "\
Examples:
  skillcue sessions                        all of them, the latest first
  skillcue sessions show 20261116-1310     what was said; the beginning of an id will do
  skillcue sessions remove ID ID           for good
  skillcue agent --continue ID             goes on with one

With --json it prints an array of {id, created, used, turns, model, cwd, first, bytes, problem}; for `show`
{id, model, cwd, created, turns, summarised, loaded, messages, repaired}, where `summarised` is
{turns, summary} once earlier turns were, else null; for `remove` {removed: [ids]}.";

#[derive(Debug, clap::Args)]
#[command(after_help = crate::cli::footer(AFTER))]
pub(crate) struct Args {
    #[command(subcommand)]
    what: Option<SessionsCommand>,
}

#[derive(Debug, clap::Subcommand)]
enum SessionsCommand {
    /// List them, the latest first
    List,
    /// Show what was said
    Show {
        /// The conversation: its id, or the beginning of it; without one, the latest
        id: Option<String>,
    },
    /// Remove conversations, and their traces, for good
    Remove {
        /// Their ids
        #[arg(required = true, value_name = "ID")]
        ids: Vec<String>,
    },
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<Outcome, CliError> {
    let places = AgentDirs::needed(context)?;
    let sessions = Sessions::new(places.sessions().unwrap_or_default());
    match &args.what {
        None | Some(SessionsCommand::List) => list(&sessions, context),
        Some(SessionsCommand::Show { id }) => show(&sessions, id.as_deref(), context),
        Some(SessionsCommand::Remove { ids }) => remove(&sessions, &places, ids, context),
    }
}

fn list(sessions: &Sessions, context: &Context) -> Result<Outcome, CliError> {
    let all = sessions.list()?;
    context.report(Outcome::Done, &all, || match &all[..] {
        [] => Printout::of_remark("there are no conversations yet: `skillcue agent` begins one"),
        all => table(all, context.terminal.width()).into(),
    })
}

fn table(all: &[SessionSummary], columns: Option<usize>) -> String {
    let now = SystemTime::now();
    let rows: Vec<[String; 5]> = all.iter().map(|session| row(session, now)).collect();
    let heads = ["ID", "USED", "TURNS", "MODEL", "FIRST WORDS"].map(str::to_owned);
    let mut widths = [0; 4];
    for row in std::iter::once(&heads).chain(&rows) {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = text::width(cell).max(*width);
        }
    }
    let mut out = String::new();
    for (at, row) in std::iter::once(&heads).chain(&rows).enumerate() {
        let mut line = String::new();
        for (number, (cell, width)) in row.iter().zip(widths).enumerate() {
            let pad = " ".repeat(width - text::width(cell));
            // Numbers to the right.
            let cell = if number == 2 { format!("{pad}{cell}") } else { format!("{cell}{pad}") };
            let _ = write!(line, "{cell}  ");
        }
        line.push_str(&row[4]);
        let line = columns.map_or(line.clone(), |columns| text::cut(&line, columns).into_owned());
        let line = line.trim_end();
        if at > 0 {
            let _ = writeln!(out, "{line}");
        } else if columns.is_some() {
            let _ = writeln!(out, "{}", paint(style::DIM, line));
        }
    }
    out
}

fn row(session: &SessionSummary, now: SystemTime) -> [String; 5] {
    let first = match &session.problem {
        Some(problem) => format!("({})", text::one_line(problem)),
        None => text::one_line(&session.first),
    };
    [
        text::one_line(&session.id),
        ago(session.used, now),
        text::thousands(session.turns),
        text::cut(&text::one_line(&session.model), 24).into_owned(),
        first,
    ]
}

/// `5 min ago`
fn ago(then: SystemTime, now: SystemTime) -> String {
    let seconds = now.duration_since(then).map_or(0, |elapsed| elapsed.as_secs());
    match seconds {
        0..60 => "just now".to_owned(),
        60..3_600 => format!("{} min ago", seconds / 60),
        3_600..86_400 => format!("{} h ago", seconds / 3_600),
        86_400..172_800 => "yesterday".to_owned(),
        _ => format!("{} days ago", seconds / 86_400),
    }
}

fn show(sessions: &Sessions, id: Option<&str>, context: &Context) -> Result<Outcome, CliError> {
    let latest;
    let id = if let Some(id) = id {
        id
    } else {
        latest = sessions.latest()?;
        latest.as_deref().ok_or_else(|| {
            CliError::failure("not_found", "there is no conversation yet").help("`skillcue agent` begins one")
        })?
    };
    let saved = sessions.read(id)?;
    let earlier = saved.earlier();
    let SavedSession { id, about, messages, loaded, turns, repaired, .. } = &saved;
    let document = json!({
        "id": id,
        "model": about.model,
        "cwd": about.cwd.as_ref().map(|cwd| cwd.to_string_lossy()),
        "created": rfc3339(about.created),
        "turns": turns,
        "summarised": earlier.as_ref().map(|(turns, summary)| json!({"turns": turns, "summary": summary})),
        "loaded": loaded,
        "messages": messages,
        "repaired": repaired,
    });
    context.report(Outcome::Done, &document, || {
        // Above the conversation: on a terminal both are read in this order.
        for mended in repaired {
            context.terminal.say(&paint(style::DIM, text::one_line(mended)));
        }
        let turns = text::count(*turns, "turn");
        let head = format!("{id} · {} · {} · {turns}", text::one_line(&about.model), rfc3339(about.created));
        context.terminal.say(&paint(style::DIM, head));
        let mut out = String::new();
        if let Some((turns, summary)) = &earlier {
            let count = text::count(*turns, "earlier turn");
            let _ = writeln!(out, "{}", paint(style::DIM, format_args!("{count} summarised, to make room")));
            put(&mut out, summary, "  ", if context.verbose() { usize::MAX } else { MAX_RESULT_LINES });
        }
        out.extend(messages.iter().map(|message| said(message, context.verbose())));
        out
    })
}

/// Most lines of a tool's result that are shown without -v.
const MAX_RESULT_LINES: usize = 4;

/// Returns one message as people read it, without characters that control a terminal.
fn said(message: &Message, verbose: bool) -> String {
    let mut out = String::new();
    match message {
        Message::User { context, text } => {
            let _ = writeln!(out, "{}", paint(style::SOURCE, "you"));
            if verbose {
                for piece in context {
                    let name = text::one_line(piece.provider.name());
                    put(&mut out, &format!("[{name}] {}", piece.text.trim_end()), "  ", usize::MAX);
                }
            }
            put(&mut out, text, "  ", usize::MAX);
        }
        Message::Assistant { text, calls } => {
            let _ = writeln!(out, "{}", paint(style::GOOD, "model"));
            put(&mut out, text, "  ", usize::MAX);
            for ToolCall { name, arguments, .. } in calls {
                put(&mut out, &format!("→ {name} {}", text::one_line(arguments)), "  ", usize::MAX);
            }
        }
        Message::Tools { results, .. } => {
            for ToolResult { name, text, is_error, .. } in results {
                let how = if *is_error { " failed" } else { "" };
                let _ = writeln!(out, "{}", paint(style::DIM, format_args!("← {}{how}", text::one_line(name))));
                put(&mut out, text, "  ", if verbose { usize::MAX } else { MAX_RESULT_LINES });
            }
        }
        _ => {}
    }
    out
}

/// Adds a text, indented, and the number of lines that are left out.
fn put(out: &mut String, said: &str, indent: &str, most: usize) {
    let shown = text::visible(said.trim_end_matches('\n'));
    if shown.is_empty() {
        return;
    }
    let lines: Vec<&str> = shown.split('\n').collect();
    for line in lines.iter().take(most) {
        let _ = writeln!(out, "{}", format!("{indent}{line}").trim_end());
    }
    if lines.len() > most {
        let more = text::count(lines.len() - most, "more line");
        let _ = writeln!(out, "{indent}{}", paint(style::DIM, format_args!("({more}; -v shows all)")));
    }
}

fn remove(sessions: &Sessions, places: &AgentDirs, ids: &[String], context: &Context) -> Result<Outcome, CliError> {
    // All of them are known before the first is gone.
    let mut known = Vec::new();
    for id in ids {
        known.push(sessions.resolve(id)?);
    }
    for id in &known {
        sessions.remove(id)?;
        if let Some(trace) = places.traces().map(|dir| dir.join(format!("{id}.jsonl"))) {
            match std::fs::remove_file(&trace) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    return Err(CliError::write(&trace, &error));
                }
                _ => {}
            }
        }
    }
    context.report(Outcome::Done, &json!({"removed": known}), || {
        Printout::of_remark(format!("removed {}", known.join(", ")))
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn times_are_said_as_people_do() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000);
        let before = |seconds| ago(now - Duration::from_secs(seconds), now);
        assert_eq!((before(5), before(125), before(7_300)), ("just now".into(), "2 min ago".into(), "2 h ago".into()));
        assert_eq!((before(90_000), before(900_000)), ("yesterday".into(), "10 days ago".into()));
        assert_eq!(ago(now + Duration::from_secs(5), now), "just now", "a clock that was set back");
    }

    #[test]
    fn shown_messages_escape_control_characters() {
        let message = Message::Assistant {
            text: "a\u{1b}[2J\n\nb".into(),
            calls: vec![ToolCall { id: "1".into(), name: "load_skill".into(), arguments: "{\n}".into() }],
        };
        assert_eq!(
            anstream::adapter::strip_str(&said(&message, false)).to_string(),
            "model\n  a\\u{1b}[2J\n\n  b\n  → load_skill { }\n"
        );
        let result = ToolResult { id: "1".into(), name: "x".into(), text: "1\n2\n3\n4\n5\n6".into(), is_error: true };
        let shown = said(&Message::results(vec![result]), false);
        assert!(anstream::adapter::strip_str(&shown).to_string().ends_with("  4\n  (2 more lines; -v shows all)\n"));
    }
}
