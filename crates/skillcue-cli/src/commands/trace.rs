//! `skillcue trace`: the costs of a conversation, and what skills saved.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use skillcue_agent::{SessionSum, Summary, TraceLine, list_traces, read_trace};

use crate::agent::costs::{self, CostRow};
use crate::agent::dirs::AgentDirs;
use crate::context::Context;
use crate::error::CliError;
use crate::report::Printout;
use crate::terminal::{paint, style};
use crate::{Outcome, text};

const AFTER: &str = "\
Examples:
  skillcue trace                    the latest conversation, a row a turn
  skillcue trace 20261116-1310      another; the beginning of its id will do
  skillcue trace run.jsonl          a file of traces
  skillcue trace --all              a row a conversation

Tokens are Skillcue's own count, part by part: the instructions, skills in every turn and in this one,
definitions of tools, the conversation. REPEATED are those that repeat the request before from its
beginning on: as much as a prompt cache can hold. IN, OUT and CACHED are what the provider counts. What
skills took, and saved, is with the tools, all of which are there for skills.
With --json it prints {session, turns: [{turn, requests, errors, tokens: {system, skills_stable,
skills_turn, tools, history, total}, repeated, input, output, cached, skills, eager, saved, latency_ms}], total,
saved, problems}; with --all {sessions: [{session, …, turns}], total, saved, problems}.";

#[derive(Debug, clap::Args)]
#[command(after_help = crate::cli::footer(AFTER))]
pub(crate) struct Args {
    /// The conversation: its id, the beginning of it, or a file; without it, the latest
    #[arg(value_name = "ID|FILE")]
    what: Option<String>,
    /// All conversations
    #[arg(long, conflicts_with = "what")]
    all: bool,
}

/// The lines of some traces.
struct TraceLines {
    lines: Vec<TraceLine>,
    problems: Vec<String>,
}

impl TraceLines {
    fn read(args: &Args, context: &Context) -> Result<TraceLines, CliError> {
        let mut read = TraceLines { lines: Vec::new(), problems: Vec::new() };
        for file in files(args, context)? {
            let traced = read_trace(&file)?;
            read.lines.extend(traced.lines);
            let place = context.short_path(&file);
            read.problems.extend(traced.problems.iter().map(|problem| format!("{place}: {problem}")));
        }
        Ok(read)
    }
}

/// Returns the one conversation of a summary, unless all are asked for: a file may have lines of several.
fn only_one<'s>(summary: &'s Summary, args: &Args) -> Option<&'s SessionSum> {
    summary.sessions.first().filter(|_| !args.all && summary.sessions.len() == 1)
}

fn document(summary: &Summary, one: Option<&SessionSum>, problems: &[String]) -> Value {
    let mut document = json!({"total": summary.total, "saved": summary.total.saved, "problems": problems});
    if let Some(one) = one {
        document["session"] = json!(one.session);
        document["turns"] = json!(one.turns);
    } else {
        document["sessions"] = json!(summary.sessions);
    }
    document
}

/// Returns the document that `trace --json` prints about a conversation, with its requests, or about all.
pub(super) fn json(session: Option<&str>, context: &Context) -> Result<Vec<u8>, CliError> {
    let args = Args { what: session.map(str::to_owned), all: session.is_none() };
    let TraceLines { mut lines, problems } = TraceLines::read(&args, context)?;
    let summary = Summary::of(&lines);
    let mut document = document(&summary, only_one(&summary, &args), &problems);
    if session.is_some() {
        // Costs, not words.
        for line in &mut lines {
            line.text = None;
        }
        document["requests"] = serde_json::to_value(lines)?;
    }
    Ok(serde_json::to_vec(&document)?)
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<Outcome, CliError> {
    let TraceLines { lines, problems } = TraceLines::read(args, context)?;
    let summary = Summary::of(&lines);
    let one = only_one(&summary, args);
    let document = document(&summary, one, &problems);
    context.report(Outcome::Done, &document, || {
        // Above the numbers, which do not have what could not be read.
        for problem in &problems {
            context.terminal.warn("trace", problem, "the other lines count");
        }
        let columns = context.terminal.width().unwrap_or(100);
        if let Some(one) = one {
            context.terminal.say(&paint(style::DIM, text::one_line(&one.session)));
            return costs::page(one, columns).into();
        }
        if summary.sessions.is_empty() {
            return Printout::of_remark("nothing was traced yet: `skillcue agent` writes traces");
        }
        let rows = summary.sessions.iter().map(|session| CostRow::of(text::one_line(&session.session), &session.sum));
        costs::pages("SESSION", &rows.collect::<Vec<_>>(), &summary.total, columns).into()
    })
}

/// Returns the files to read: none, if nothing was traced yet.
fn files(args: &Args, context: &Context) -> Result<Vec<PathBuf>, CliError> {
    if let Some(file) = args.what.as_deref().filter(|what| what.contains('/') || Path::new(what).is_file()) {
        return Ok(vec![PathBuf::from(file)]);
    }
    let dir = AgentDirs::needed(context)?.traces().unwrap_or_default();
    let all = list_traces(&dir)?;
    let Some(id) = &args.what else {
        let most = if args.all { usize::MAX } else { 1 };
        return Ok(all.into_iter().take(most).map(|file| file.path).collect());
    };
    let fitting: Vec<_> = all.iter().filter(|file| file.session.starts_with(id.as_str())).collect();
    let exact = fitting.iter().find(|file| file.session == *id).copied();
    match (exact, &fitting[..]) {
        (Some(file), _) => Ok(vec![file.path.clone()]),
        (None, [file]) => Ok(vec![file.path.clone()]),
        (None, []) => Err(CliError::failure("not_found", format!("there is no trace of a conversation {id:?}"))
            .help("`skillcue trace --all` lists those that there are; a file is named with a / in it")),
        (None, several) => {
            let names: Vec<&str> = several.iter().take(5).map(|file| file.session.as_str()).collect();
            let message = format!("{} conversations begin with {id:?}: {}", several.len(), names.join(", "));
            Err(CliError::failure("session_ambiguous", message).help("give more of the id"))
        }
    }
}
