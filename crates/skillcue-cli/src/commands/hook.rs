//! `skillcue hook`: the answer to the hook of another agent. It never harms: whatever happens, the exit code is 0, and what
//! is on stdout is an answer, or nothing.

mod usage;

use std::io::{self, IsTerminal as _, Read as _};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use serde::Serialize;
use serde_json::Value;
use skillcue::catalog::touched_roots;
use skillcue::select::TurnProgress;
use skillcue::{Decision, Mode, SkillRoot};
use skillcue_clients::Client;
use skillcue_clients::hook::{
    HookAdapter, HookDecision, HookError, HookEvent, HookInput, HookOptions, HookSessions, HookStyle, LockedSession,
    StartSource, decide, shape_with,
};
use skillcue_host::Host;

use self::usage::HookUse;
use crate::cli::words;
use crate::context::Context;
use crate::error::CliError;
use crate::{Outcome, deadline, explanation, text};

/// Most of the input that is read, in bytes. The rest is thrown away: a client whose pipe breaks may not go on.
const MAX_INPUT: u64 = 32 << 20;

/// Most of the lines of a message in which paths are looked for.
const MAX_LINES: usize = 200;

/// Up to so many skills of catalogs are read, from this machine's disk, before an answer: each takes 33 µs of a core to
/// verify and index (BENCHMARKS.md, "Catalogs"), and a hook has 15 ms for everything.
const MAX_CATALOG: usize = 200;

/// Up to so many skills have their bodies read before an answer that ranks by them.
const MAX_INDEXED_FIRST: usize = 1_000;

const AFTER: &str = "\
Examples:
  skillcue hook claude < input.json             what Claude Code's model would get for this event
  echo '{\"prompt\": \"fill in a.pdf\"}' | skillcue hook claude --event UserPromptSubmit --explain

A client calls it with its own JSON on stdin, before each message, and reads the answer in its own shape from stdout.
The exit code is 0 whatever happens, and it ends within a second: a client must never wait or be stopped by it.
With --json it prints {client, event, session, answer, why, tier, skills: [{name, decision, certainty, likelihood, why}]} in
place of the client's answer.";

#[derive(Debug, clap::Args)]
#[command(after_help = crate::cli::footer(AFTER))]
pub(crate) struct Args {
    /// The agent: claude, codex, gemini, opencode, qwen or copilot
    client: String,
    /// The amount that is said about a skill that fits [default: body]
    #[arg(long, value_parser = words(STYLES))]
    style: Option<HookStyle>,
    /// The client has Skillcue's MCP server, too: name its tools
    #[arg(long)]
    mcp: bool,
    /// The event, if the input does not name it
    #[arg(long, value_name = "NAME")]
    event: Option<String>,
    /// Read the bodies of all skills for later calls, and answer nothing
    #[arg(long, hide = true)]
    index: bool,
    /// Explain on stderr what was decided, and why
    #[arg(long)]
    explain: bool,
}

const STYLES: &[(&str, HookStyle, &str)] =
    &[("body", HookStyle::Body, "Its text"), ("name", HookStyle::Name, "One line with its name and how to load it")];

/// The decision of a hook, for programs.
#[derive(Serialize)]
struct HookJson<'d> {
    client: &'static str,
    event: &'d str,
    session: Option<&'d str>,
    answer: Option<&'d str>,
    why: &'d str,
    tier: Option<skillcue::Tier>,
    skills: Vec<HookSkillJson<'d>>,
}

#[derive(Serialize)]
struct HookSkillJson<'d> {
    name: &'d str,
    decision: Decision,
    certainty: f32,
    likelihood: f32,
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<&'d str>,
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<Outcome, CliError> {
    let known = || HookAdapter::clients().map(Client::as_str).collect::<Vec<_>>().join(", ");
    let adapter = Client::from_word(&args.client).and_then(HookAdapter::of).ok_or_else(|| {
        CliError::usage("usage", format!("there is no hook for `{}`", args.client))
            .help(format!("there are {}", known()))
    })?;
    if args.index {
        return index(adapter, context);
    }
    #[cfg(debug_assertions)]
    assert_ne!(args.event.as_deref(), Some("panic in a test"));
    let input = HookInput::parse(adapter, &read_input()?, args.event.as_deref())?;
    let host = context.hook_host(input.cwd.clone())?;
    let later = Arc::new(Mutex::new(indexer(adapter, context, &host)));
    let message: Arc<usage::OpenMessage> = Arc::default();
    let (at_deadline, unanswered) = (Arc::clone(&later), Arc::clone(&message));
    deadline::at_deadline(move || {
        start(&at_deadline);
        unanswered.drop_it();
    });
    message.begin(&host, &input);
    let done = answer(args, context, adapter, &host, &input, &later, &message);
    message.drop_it();
    done
}

/// Decides on the answer to an event, writes it, and records what it was.
fn answer(
    args: &Args,
    context: &Context,
    adapter: &'static HookAdapter,
    host: &Host,
    input: &HookInput,
    later: &Mutex<Option<Command>>,
    message: &usage::OpenMessage,
) -> Result<Outcome, CliError> {
    #[cfg(debug_assertions)]
    while input.session.as_deref() == Some("stall in a test") {
        std::thread::park();
    }
    let options =
        HookOptions { style: args.style.unwrap_or_default(), has_tools: args.mcp, consent: Some(host.consent()) };
    // A file that cannot be used is a notice here.
    let config = host.lenient_settings()?.disclose.config();
    let answers = match input.event {
        HookEvent::Prompt(_) | HookEvent::AfterTool { .. } | HookEvent::Start(StartSource::Compacted) => true,
        HookEvent::Start(_) => adapter.lists_at_start(args.mcp),
        HookEvent::Compaction | HookEvent::Other => false,
    };
    let nested = if answers && !context.isolated()? { nested(&input.event, host) } else { Vec::new() };
    // A model without a tool that loads them could not use the skills of a catalog, which have no files here.
    let catalogs = if answers && args.mcp { host.kept_catalogs(MAX_CATALOG)? } else { Vec::new() };
    let skills = host.local_skills_with(|builder| {
        // Where no skill is looked at, none is looked for.
        let builder = if answers { builder.roots(nested) } else { skillcue::Skillcue::builder() };
        let builder = catalogs.into_iter().fold(builder, skillcue::Builder::remote);
        shape_with(builder, config, adapter, &options)
    })?;
    let is_large = skills.catalog().len() > MAX_INDEXED_FIRST;
    let waits = matches!(input.event, HookEvent::Prompt(_)) && !is_large;
    let is_read = !waits || read_bodies(&skills, deadline::time_for_hook() / 2);
    // Locked as late as possible: other processes may wait for it.
    let locked = sessions(host).zip(input.session.as_deref()).map(|(all, id)| all.lock(adapter.client, id));
    let locked = match locked {
        Some(Err(error)) if !can_do_without(&error) => return Err(error.into()),
        Some(Err(error)) => {
            context.terminal.say(&error.to_string());
            None
        }
        Some(Ok(locked)) => Some(locked),
        None => None,
    };
    let session = locked.as_ref().map(|locked| locked.session.clone());
    let decision = decide(&skills, adapter, &options, input, session);
    if args.explain {
        explain(context, input, &decision);
    }
    let written = if context.json() {
        context.print_json(&document(adapter.client, input, &decision)).and_then(|()| Ok(context.terminal.flush()?))
    } else if let Some(answer) = &decision.answer {
        deadline::write_answer(&answer.to_json()).map_err(CliError::from)
    } else {
        Ok(())
    };
    // What did not arrive was not shown.
    if written.is_ok() && message.close() {
        let saved = save(locked.as_ref(), &decision);
        usage::record(
            host,
            &skills,
            &HookUse { adapter, style: options.style, input, decision: &decision },
            locked.as_ref(),
        );
        saved?;
    }
    if !is_read || is_large && answers && !skills.has_indexed_bodies() {
        start(later);
    }
    Ok(Outcome::Done)
}

/// Reads the bodies of all skills, and waits for it no longer than `most`. Returns whether it is done: if not, names,
/// descriptions and triggers decide about this message.
fn read_bodies(skills: &skillcue::Skillcue, most: Duration) -> bool {
    let Ok(reader) = skills.index_bodies_in_background() else { return false };
    let (done, wait) = mpsc::channel();
    let watch = move || drop(reader.join().map(|_| done.send(())));
    std::thread::Builder::new().spawn(watch).is_ok() && wait.recv_timeout(most).is_ok()
}

/// Returns the command that reads the bodies of all skills for later calls: this process has no time for many of them.
/// `None` if there is nowhere to keep them.
fn indexer(adapter: &HookAdapter, context: &Context, host: &Host) -> Option<Command> {
    host.known_settings().is_none_or(|settings| settings.cache.is_some()).then_some(())?;
    let mut command = Command::new(std::env::current_exe().ok()?);
    command.args(context.global_words(&|path| path.display().to_string()));
    command.args(["hook", adapter.client.as_str(), "--index"]);
    command.current_dir(host.environment().cwd.as_ref()?);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    // A client that ends a hook ends its process group.
    command.process_group(0);
    Some(command)
}

fn start(command: &Mutex<Option<Command>>) {
    if let Some(mut command) = skillcue_base::lock(command).take() {
        // The next call tries again.
        let _ = command.spawn();
    }
}

/// Reads the bodies of all skills, unless another process is at it.
fn index(adapter: &'static HookAdapter, context: &Context) -> Result<Outcome, CliError> {
    let host = context.hook_host(None)?;
    let Some(cache) = host.lenient_settings()?.cache.clone() else { return Ok(Outcome::Done) };
    let Ok(_lock) = skillcue_base::lock_beside(&cache.with_file_name("hook-index"), Duration::ZERO) else {
        return Ok(Outcome::Done);
    };
    let config = host.settings()?.disclose.config();
    let skills = host.local_skills_with(|builder| shape_with(builder, config, adapter, &HookOptions::default()))?;
    skills.census();
    skills.index_bodies();
    Ok(Outcome::Done)
}

/// Returns the folders with skills of the parts of a project that an event is about: files that a message names, or a tool
/// has touched.
fn nested(event: &HookEvent, host: &Host) -> Vec<SkillRoot> {
    let touched = match event {
        HookEvent::Prompt(prompt) => {
            let lines = prompt.lines().take(MAX_LINES).map(Value::from).collect();
            TurnProgress::default().call("prompt", &Value::Array(lines))
        }
        HookEvent::AfterTool { tool, arguments, .. } => TurnProgress::default().call(tool, arguments),
        _ => return Vec::new(),
    };
    let cwd = host.environment().cwd.as_deref();
    cwd.map(|cwd| touched_roots(cwd, touched.touched_paths().iter().map(Path::new))).unwrap_or_default()
}

/// Returns whether the answer can be given without a session: not if another process answers at this moment.
fn can_do_without(error: &HookError) -> bool {
    !matches!(error, HookError::Locked)
}

fn save(locked: Option<&LockedSession>, decision: &HookDecision) -> Result<(), CliError> {
    match (locked, &decision.session) {
        (Some(locked), Some(session)) if decision.has_changed => Ok(locked.save(session)?),
        _ => Ok(()),
    }
}

/// Returns where sessions are kept, if anywhere.
fn sessions(host: &Host) -> Option<HookSessions> {
    let cache = host.environment().cache_home.as_ref()?;
    Some(HookSessions::new(cache.join("skillcue/hooks")))
}

/// Reads stdin to its end.
fn read_input() -> Result<Vec<u8>, CliError> {
    let failed = |message: String| {
        CliError::failure("hook_input", message).help("the client writes it; to try a hook by hand, pipe its JSON in")
    };
    let stdin = io::stdin();
    if stdin.is_terminal() {
        return Err(failed("there is no input: stdin is a terminal".to_owned()));
    }
    let mut sent = Vec::new();
    let read = stdin.lock().take(MAX_INPUT + 1).read_to_end(&mut sent);
    read.map_err(|error| failed(format!("stdin cannot be read: {}", skillcue_base::os_message(&error))))?;
    if sent.len() as u64 > MAX_INPUT {
        io::copy(&mut stdin.lock(), &mut io::sink()).ok();
        return Err(failed(format!("the input is larger than {}", text::bytes(MAX_INPUT))));
    }
    Ok(sent)
}

fn document<'d>(client: Client, input: &'d HookInput, decision: &'d HookDecision) -> HookJson<'d> {
    let skills = decision.disclosure.iter().flat_map(|shown| &shown.skills);
    HookJson {
        client: client.as_str(),
        event: &input.event_name,
        session: input.session.as_deref(),
        answer: decision.answer.as_ref().map(|answer| &*answer.text),
        why: &decision.why,
        tier: decision.disclosure.as_ref().map(|shown| shown.tier),
        skills: skills
            .map(|skill| HookSkillJson {
                name: &skill.name,
                decision: skill.decision,
                certainty: skill.certainty,
                likelihood: skill.likelihood,
                why: skill.why.as_deref(),
            })
            .collect(),
    }
}

/// Says what was decided, as `why` does.
fn explain(context: &Context, input: &HookInput, decision: &HookDecision) {
    let say = |line: &str| context.terminal.say(line);
    if let (HookEvent::Prompt(prompt), Some(found), Some(shown)) =
        (&input.event, &decision.selection, &decision.disclosure)
    {
        let columns = context.terminal.width().unwrap_or(100);
        say(explanation::of_selection(prompt, found, shown, Mode::Hybrid, columns).trim_end());
    }
    let event = text::one_line(&input.event_name);
    match &decision.answer {
        Some(answer) => {
            let length = text::count(answer.text.encode_utf16().count(), "character");
            say(&format!("{event}: {length}, because {}", decision.why));
        }
        None => say(&format!("{event}: nothing, because {}", decision.why)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_descriptions_decide_where_bodies_take_too_long() {
        let dir = tempfile::tempdir().unwrap();
        let body = (0..5_000).map(|number| format!("word{number}")).collect::<Vec<_>>().join(" ");
        for number in 0..50 {
            let skill = dir.path().join(format!("topic-{number}"));
            std::fs::create_dir(&skill).unwrap();
            let text =
                format!("---\nname: topic-{number}\ndescription: Explains topic{number} to beginners.\n---\n{body}");
            std::fs::write(skill.join("SKILL.md"), text).unwrap();
        }
        let skills = skillcue::Skillcue::builder().skills_dir(dir.path()).mode(Mode::Hybrid).build().unwrap();
        assert!(!read_bodies(&skills, Duration::ZERO), "fifty bodies are not read at once");
        let found = skills.select(&"Explain topic7 to beginners".into());
        assert_eq!(found.hits[0].name, "topic-7");
        assert!(read_bodies(&skills, Duration::from_mins(10)), "nothing is left to read, or another thread reads it");
    }
}
