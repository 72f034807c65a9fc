//! `skillcue allow`: consent to a project's settings, to a remote skill, or to what a skill's programs ask for.

mod project;
mod remote;
mod skill;

use skillcue::consent::{Consent, Question, Scope};

use crate::consent::{is_current, json, project_named, this_project};
use crate::context::Context;
use crate::error::CliError;
use crate::report::Printout;
use crate::{Outcome, text};

const AFTER: &str = "\
Examples:
  skillcue allow weather                    shows what a skill wants, and asks
  skillcue allow weather --yes              for scripts
  skillcue allow weather --script tell.sh   one of its scripts only
  skillcue allow acme:refunds               a skill of the MCP server acme
  skillcue allow acme:refunds --show        its instructions, without allowing anything
  skillcue allow                            what the skillcue.toml of this project wants

Consent is for exactly the content as it is now: when a byte changes, it is asked again. A skill on this machine
wants to be loaded by models, if it came with a checkout, to run its toolsets, and to run its scripts with what it
asks for in its manifest, below `permissions`.
A project's skillcue.toml comes with a checkout, too: without consent it may not add servers, or directories
outside of the project, nor set limits for what runs, nor say how the agent works, nor switch skills on or off
that are not its own.
`skillcue allowed` lists what is allowed, `skillcue deny` takes it back. With --json it prints what is allowed
now, as `skillcue allowed --json` does; with --show, [{label, uri, content}].";

#[derive(Debug, clap::Args)]
#[command(after_help = crate::cli::footer(AFTER))]
pub(crate) struct Args {
    /// A skill's NAME, SERVER:NAME or SERVER:URI of a remote skill, or the PATH of a project with a slash in it;
    /// without, this project
    #[arg(value_name = "SUBJECT")]
    subjects: Vec<String>,
    /// Of the skill, only this script; may be given several times
    #[arg(long, value_name = "PATH", requires = "subjects")]
    script: Vec<String>,
    /// Of the skill, only its toolsets
    #[arg(long, requires = "subjects")]
    toolsets: bool,
    /// Of the skill, only that models may load it
    #[arg(long, requires = "subjects")]
    load: bool,
    /// Do not ask
    #[arg(long, short, conflicts_with = "show")]
    yes: bool,
    /// Print the instructions of a remote skill, and allow nothing
    #[arg(long, requires = "subjects", conflicts_with_all = ["script", "toolsets", "load"])]
    show: bool,
}

impl Args {
    /// Returns whether options name parts of a skill.
    fn is_narrow(&self) -> bool {
        self.load || self.toolsets || !self.script.is_empty()
    }
}

/// Questions of consent, and how a person is asked.
struct ConsentRequest {
    /// The subject, as it was named.
    name: String,
    described: String,
    prompt: &'static str,
    questions: Vec<Question>,
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<Outcome, CliError> {
    if args.show {
        let mut shown = Vec::new();
        for name in &args.subjects {
            let remote = remote::find(name, context)?.ok_or_else(|| {
                CliError::failure("local", format!("{name:?} is a skill on this machine"))
                    .help(format!("`skillcue read {name} SKILL.md` prints it"))
            })?;
            shown.push(remote.instructions(context)?);
        }
        return context.report(Outcome::Done, &shown, || {
            Printout::bytes(shown.iter().map(|shown| text::visible_lines(&shown.content)).collect::<String>())
        });
    }
    let wanted = if args.subjects.is_empty() {
        vec![project::wanted(this_project(context)?, context)?]
    } else {
        args.subjects.iter().map(|name| find(name, args, context)).collect::<Result<_, _>>()?
    };
    let host = context.host()?;
    if host.consent_store().path().is_none() {
        return Err(
            CliError::failure("no_home", "there is no directory to remember it in").help("set HOME or XDG_DATA_HOME")
        );
    }
    let mut given = Vec::new();
    for wanted in wanted {
        context.terminal.say(&wanted.described);
        if !args.yes {
            context.terminal.ask(wanted.prompt)?;
        }
        for question in &wanted.questions {
            host.consent().remember(question, Scope::Always)?;
        }
        given.extend(wanted.questions);
        context.terminal.say(&format!("{} is allowed as it is now", text::one_line(&wanted.name)));
    }
    if context.json() {
        let given = |row: &Consent| given.iter().any(|question| question.subject == row.subject);
        let rows: Vec<Consent> = host.consent_store().list().into_iter().filter(given).collect();
        let rows = rows.iter().map(|row| Ok(json(row, is_current(row, context)?)));
        context.print_json(&rows.collect::<Result<Vec<_>, CliError>>()?)?;
    }
    Ok(Outcome::Done)
}

fn find(name: &str, args: &Args, context: &Context) -> Result<ConsentRequest, CliError> {
    if let Some(project) = project_named(name) {
        if args.is_narrow() {
            let message = format!("{name:?} is a project: it has no scripts or toolsets to allow");
            return Err(CliError::usage("usage", message).help("leave out --script, --toolsets and --load"));
        }
        return project::wanted(&project, context);
    }
    match remote::find(name, context)? {
        Some(_) if args.is_narrow() => {
            Err(CliError::usage("usage", format!("{name:?} is a remote skill: nothing of it runs here"))
                .help("leave out --script, --toolsets and --load"))
        }
        Some(remote) => remote.wanted(name, context),
        None => skill::wanted(name, args, context),
    }
}
