//! `skillfold trust`: let a project's `skillfold.toml` add servers and directories outside of it, and set limits.

use std::fmt::Write as _;

use serde_json::json;
use skillfold::{Distrusted, RunSection};

use crate::context::Context;
use crate::error::CliError;
use crate::settings;
use crate::terminal::{paint, style};
use crate::trust::Trust;
use crate::{Outcome, text};

const AFTER: &str = "\
Examples:
  skillfold trust             what this project wants, and asks
  skillfold trust --yes       for scripts
  skillfold trust --list      the projects that are trusted
  skillfold trust --revoke    take it back for this project

A project comes with a checkout, so its skillfold.toml may not add servers, or directories outside of
the project, until you say so. You say it for the file as it is: after an edit it is asked again.";

#[derive(Debug, clap::Args)]
#[command(after_help = AFTER)]
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
    let mut trust = Trust::open(environment)?;
    if args.list {
        let projects: Vec<_> = trust.projects().collect();
        if context.json() {
            let projects: Vec<_> =
                projects.iter().map(|(path, digest)| json!({"project": path, "digest": digest})).collect();
            context.print_json(&json!({"projects": projects}))?;
        } else {
            let mut out = String::new();
            for (path, _) in projects {
                let _ = writeln!(out, "{}", context.short_path(path));
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
            context.terminal.say(&format!("{} {said}", context.short_path(project)));
        }
        return Ok(Outcome::Done);
    }
    let Some((text, wants)) = settings::project_wants(project)? else {
        return Err(CliError::failure("no_config", format!("{} has no skillfold.toml", project.display()))
            .help("there is nothing to trust"));
    };
    context.terminal.say(&described(&wants, context));
    if !args.yes {
        context.terminal.ask("Let this project's skillfold.toml have it, exactly as it is?")?;
    }
    trust.add(project, &text)?;
    let servers: Vec<&str> = wants.servers.iter().map(|server| server.name.as_str()).collect();
    if context.json() {
        context.print_json(&json!({"project": project, "trusted": true, "servers": servers, "dirs": wants.dirs, "limits": limits(&wants.run)}))?;
        return Ok(Outcome::Done);
    }
    context.terminal.say(&format!("{} is trusted as it is now", context.short_path(project)));
    Ok(Outcome::Done)
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
    if wants.is_empty() {
        out.push_str("  nothing that needs trust\n");
    }
    out
}
