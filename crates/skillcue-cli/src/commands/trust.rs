//! `skillcue trust`: let a project's `skillcue.toml` add servers and directories outside of it, set limits, and
//! say how the agent works.

use std::fmt::Write as _;
use std::path::Path;

use serde_json::json;
use skillcue::config::{AgentSection, Distrusted, RunSection};

use crate::context::Context;
use crate::error::CliError;
use crate::terminal::{paint, style};
use crate::{Outcome, text};
use skillcue_host::Trust;
use skillcue_host::project_wants;

const AFTER: &str = "\
Examples:
  skillcue trust             what this project wants, and asks
  skillcue trust --yes       for scripts
  skillcue trust --list      the projects that are trusted
  skillcue trust --revoke    take it back for this project

A project comes with a checkout, so its skillcue.toml may not add servers, or directories outside of
the project, nor set limits for what runs, nor say how the agent works, nor switch skills on or off that
are not its own, until you say so. You say it for the file as it is: after an edit it is asked again.";

#[derive(Debug, clap::Args)]
#[command(after_help = crate::cli::footer(AFTER))]
pub(crate) struct Args {
    /// Take it back
    #[arg(long, conflicts_with = "list")]
    revoke: bool,
    /// Do not ask
    #[arg(long, short, conflicts_with_all = ["list", "revoke"])]
    yes: bool,
    /// List the projects that are trusted
    #[arg(long)]
    list: bool,
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<Outcome, CliError> {
    let environment = context.environment()?;
    let trust = Trust::open(environment)?;
    if args.list {
        let projects: Vec<_> = trust.projects().collect();
        if context.json() {
            let projects: Vec<_> =
                projects.iter().map(|(path, digest)| json!({"project": path, "digest": digest})).collect();
            context.print_json(&json!({"projects": projects}))?;
        } else {
            let mut out = String::new();
            for (path, _) in projects {
                let _ = writeln!(out, "{}", whole_path(&path));
            }
            if out.is_empty() {
                context.terminal.say("no project is trusted");
            }
            context.terminal.print(&out)?;
        }
        return Ok(Outcome::Done);
    }
    let Some(project) = environment.project() else {
        return Err(
            CliError::failure("no_project", "the current directory is gone").help("go to the project's directory")
        );
    };
    if args.revoke {
        let known = trust.remove(project)?;
        if context.json() {
            context.print_json(&json!({"project": project, "trusted": false, "was_trusted": known}))?;
        } else {
            let said = if known { "is not trusted any more" } else { "was not trusted" };
            context.terminal.say(&format!("{} {said}", whole_path(project)));
        }
        return Ok(Outcome::Done);
    }
    let Some((text, wants)) = project_wants(project)? else {
        return Err(CliError::failure("no_config", format!("{} has no skillcue.toml", project.display()))
            .help("there is nothing to trust"));
    };
    context.terminal.say(&described(&wants, context));
    if !args.yes {
        context.terminal.ask("Let this project's skillcue.toml have it, exactly as it is?")?;
    }
    trust.add(project, &text)?;
    let servers: Vec<&str> = wants.servers.iter().map(|server| server.name.as_str()).collect();
    if context.json() {
        context.print_json(&json!({"project": project, "trusted": true, "servers": servers, "dirs": wants.dirs, "limits": limits(&wants.run), "agent": agent(&wants.agent)}))?;
        return Ok(Outcome::Done);
    }
    context.terminal.say(&format!("{} is trusted as it is now", whole_path(project)));
    Ok(Outcome::Done)
}

/// A directory by its absolute path: which one is trusted must not depend on where one stands.
fn whole_path(path: &Path) -> String {
    text::one_line(&path.to_string_lossy())
}

/// What a `[run]` section sets, as it is written there.
fn limits(run: &RunSection) -> Vec<String> {
    let numbers = [
        ("timeout_s", run.timeout_s),
        ("output_bytes", run.output_bytes.map(|n| n as u64)),
        ("arguments", run.arguments.map(|n| n as u64)),
        ("argument_bytes", run.argument_bytes.map(|n| n as u64)),
        ("memory_mb", run.memory_mb),
        ("processes", run.processes),
        ("concurrent", run.concurrent.map(|n| n as u64)),
    ];
    let mut set: Vec<String> =
        numbers.into_iter().filter_map(|(name, value)| value.map(|value| format!("{name} = {value}"))).collect();
    set.extend(run.allow_unsandboxed.map(|yes| format!("allow_unsandboxed = {yes}")));
    set
}

/// What an `[agent]` section sets, as it is written there; a key is not shown.
fn agent(agent: &AgentSection) -> Vec<String> {
    let quoted = |text: &String| format!("{text:?}");
    let fields = [
        ("model", agent.model.as_ref().map(quoted)),
        ("api", agent.api.map(|api| format!("{:?}", format!("{api:?}").to_lowercase()))),
        ("base_url", agent.base_url.as_ref().map(quoted)),
        ("api_key", agent.api_key.as_ref().map(|_| "…".to_owned())),
        ("api_key_env", agent.api_key_env.as_ref().map(quoted)),
        ("window", agent.window.map(|n| n.to_string())),
        ("max_tokens", agent.max_tokens.map(|n| n.to_string())),
        ("rounds", agent.rounds.map(|n| n.to_string())),
        ("memory", agent.memory.map(|on| on.to_string())),
        ("allow", agent.allow.as_ref().map(|all| format!("{all:?}").to_lowercase())),
        ("attempts", agent.attempts.map(|n| n.to_string())),
        ("backoff_ms", agent.backoff_ms.map(|n| n.to_string())),
        ("idle_s", agent.idle_s.map(|n| n.to_string())),
        ("system", agent.system.as_ref().map(quoted)),
    ];
    fields.into_iter().filter_map(|(name, value)| value.map(|value| format!("{name} = {value}"))).collect()
}

/// Everything that the file wants: what is started, with which variables, and what is sent where.
fn described(wants: &Distrusted, context: &Context) -> String {
    let mut out = "It adds:\n".to_owned();
    for server in &wants.servers {
        let what = server.url.clone().unwrap_or_else(|| format!("starts {}", server.command.join(" ")));
        let _ =
            writeln!(out, "  server {}  {}", paint(style::NAME, text::one_line(&server.name)), text::one_line(&what));
        if let Some(cwd) = &server.cwd {
            let _ = writeln!(out, "    in {}", context.short_path(cwd));
        }
        for (name, value) in &server.env {
            let _ = writeln!(out, "    with {}", text::one_line(&format!("{name}={value}")));
        }
        for (name, value) in &server.headers {
            let _ = writeln!(out, "    sends {}", text::one_line(&format!("{name}: {value}")));
        }
        if let Some(name) = &server.token_env {
            let _ = writeln!(out, "    sends your variable {} to it", text::one_line(name));
        }
    }
    for dir in &wants.dirs {
        let _ = writeln!(out, "  directory {}", context.short_path(dir));
    }
    for limit in limits(&wants.run) {
        let _ = writeln!(out, "  for what runs, {limit}");
    }
    for said in agent(&wants.agent) {
        let _ = writeln!(out, "  for the agent, {}", text::one_line(&said));
    }
    for (names, to) in [(&wants.enable, "on"), (&wants.disable, "off")] {
        for name in names {
            let _ = writeln!(out, "  switches {} {to}, whatever its source", text::one_line(name));
        }
    }
    if wants.agent.base_url.is_some() {
        out.push_str("    sends what you say there, with your OPENAI_API_KEY or ANTHROPIC_API_KEY if that is set\n");
    }
    if let Some(name) = &wants.agent.api_key_env {
        let _ = writeln!(out, "    sends your variable {} to the model's server", text::one_line(name));
    }
    if wants.is_empty() {
        out.push_str("  nothing that needs trust\n");
    }
    out
}
