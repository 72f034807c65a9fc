//! `skillcue run`: a script of a skill, in the sandbox.

use std::fmt::Write as _;
use std::io::{self, IsTerminal as _, Write as _};
use std::sync::Mutex;

use serde::Serialize;
use serde_json::{Value, json};
use skillcue::Skill;
use skillcue::catalog::SkillDir;
use skillcue::consent::Scope;
use skillcue_base::ErrorInfo as _;
use skillcue_exec::{RunError, RunRequest, RunResult, ScriptInfo, Stream, scripts};

use crate::context::Context;
use crate::error::CliError;
use crate::hints::hint_of;
use crate::progress::ProgressIndicator;
use crate::report::Printout;
use crate::terminal::{paint, style};
use crate::turn::json_argument;
use crate::{Outcome, text};

const AFTER: &str = "\
Examples:
  skillcue run pdf                                  the scripts of a skill; runs nothing
  skillcue run pdf scripts/fill.py -- in.pdf        runs one with an argument
  skillcue run pdf scripts/fill.py --usage          runs it with --help
  skillcue run pdf scripts/fill.py --input '{}'     with JSON on its standard input

A script runs in a sandbox: it reads its skill's directory, writes to a temporary one of its own, and has no
network. What its manifest asks for beyond that is asked for once: see `skillcue allow`.
With --json it prints {exit_code, stdout, stderr, truncated, duration, sandboxed, sandbox}.
The exit code is 1 if the script's is not 0.";

#[derive(Debug, clap::Args)]
#[command(after_help = crate::cli::footer(AFTER))]
pub(crate) struct Args {
    /// The skill
    name: String,
    /// The script, as `skillcue run NAME` lists it
    script: Option<String>,
    /// The arguments of the script
    #[arg(last = true, value_name = "ARGS")]
    arguments: Vec<String>,
    /// JSON for its standard input; - reads it from yours
    #[arg(long, value_name = "JSON", requires = "script")]
    input: Option<String>,
    /// Run it with --help
    #[arg(long, requires = "script", conflicts_with_all = ["arguments", "input"])]
    usage: bool,
    /// Allow what the skill asks for, for this run only
    #[arg(long, requires = "script")]
    grant: bool,
    /// Run it even where there is no sandbox
    #[arg(long)]
    allow_unsandboxed: bool,
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<Outcome, CliError> {
    let skills = context.skills()?;
    let catalog = skills.catalog();
    let skill = skillcue::catalog::usable(&catalog, &args.name)?;
    if let Some(server) = skill.server() {
        let of = match skill.source() {
            skillcue::Source::Catalog => "in the catalog",
            _ => "served by the MCP server",
        };
        let message = format!("{:?} is {of} {server:?}: its scripts do not run here", args.name);
        return Err(CliError::failure("remote", message).help("install the skill on this machine to run them"));
    }
    let dir = SkillDir::open(skill.name(), &skill.dir()).map_err(skillcue::Error::from)?;
    let Some(script) = &args.script else { return list(skill, &dir, context) };
    let input = args.input.as_deref();
    let input = input.map(|json| json_argument(json, "--input is not JSON", "--input '{\"a\": 1}'")).transpose()?;
    let runner = context.runner(args.allow_unsandboxed)?;
    let address = skill.id();
    let request = RunRequest {
        address: Some(&address),
        arguments: &args.arguments,
        input: input.as_ref(),
        ..RunRequest::new(&dir, skill.manifest(), script)
    };
    let attempt = |request: &RunRequest<'_>| if args.usage { runner.help(request) } else { runner.run(request) };
    let output = ScriptOutput::new(context, script);
    let mut outcome = output.run(&request, &attempt);
    // Asked for once: what a person allows here is remembered, or counts for this run.
    if let Err(RunError::PermissionRequired { asked, reason: None }) = &outcome {
        let scope = if args.grant {
            Some(Scope::Once)
        } else if io::stdin().is_terminal() {
            context.terminal.say(&crate::consent::described(skill, std::slice::from_ref(&**asked), context));
            match context.terminal.choose("Allow it? [y]es, for these files, to the agent, too; [o]nce; [N]o")?.as_str()
            {
                "y" | "yes" => Some(Scope::Always),
                "o" | "once" => Some(Scope::Once),
                _ => return Err(CliError::failure("declined", "it was not allowed, and nothing has run")),
            }
        } else {
            None
        };
        if let Some(scope) = scope {
            runner.consent().remember(asked, scope)?;
            outcome = output.run(&request, &attempt);
        }
    }
    let (result, error) = match outcome {
        Ok(result) => (result, None),
        Err(error) => match error.result().cloned() {
            Some(result) => (result, Some(error)),
            None => return Err(CliError::of(&error)),
        },
    };
    report(context, &result, error.as_ref())
}

/// Prints the result for programs, or for people how it ended.
fn report(context: &Context, result: &RunResult, error: Option<&RunError>) -> Result<Outcome, CliError> {
    if context.json() {
        let error =
            error.map(|error| json!({"code": error.code(), "message": error.to_string(), "help": hint_of(error)}));
        context.print_json(&RunJson { result, error })?;
    } else {
        if !result.sandboxed {
            context.terminal.warn(
                "unsandboxed",
                "it ran without a sandbox",
                "this machine has none; what it can do, you can",
            );
        }
        if let Some(error) = error {
            context.terminal.error(&CliError::of(error));
        } else if let Some(code) = result.exit_code.filter(|code| *code != 0) {
            context.terminal.say(&format!("the script ended with exit code {code}"));
        } else if let Some(signal) = result.signal {
            context.terminal.say(&format!("the script was ended by signal {signal}"));
        }
    }
    Ok(Outcome::of(error.is_none() && result.is_success()))
}

/// The result of a script as JSON.
#[derive(Serialize)]
struct RunJson<'r> {
    #[serde(flatten)]
    result: &'r RunResult,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<Value>,
}

fn list(skill: &Skill, dir: &SkillDir, context: &Context) -> Result<Outcome, CliError> {
    let known = scripts(dir, skill.manifest());
    let row = |script: &ScriptInfo| json!({"script": script.path, "description": script.description, "runs_with": script.interpreter});
    context.report(Outcome::Done, &known.iter().map(row).collect::<Vec<_>>(), || {
        let width = known.iter().map(|script| text::width(&script.path)).max().unwrap_or(0);
        let mut out = String::new();
        for script in &known {
            let path = text::one_line(&script.path);
            let pad = " ".repeat(width.saturating_sub(text::width(&path)));
            let about = script.description.as_deref().map(|text| format!("{pad}  {}", text::one_line(text)));
            let _ = writeln!(out, "{}{}", paint(style::NAME, path), about.unwrap_or_default());
        }
        let remark = if known.is_empty() {
            Some(format!("{} has no scripts", skill.name()))
        } else {
            let asked = skill.manifest().permissions();
            asked.map(|asked| format!("they ask for {}", text::one_line(&asked.to_string())))
        };
        Printout::from(out).remarks(remark)
    })
}

/// The output of a script, shown as it comes: on a terminal whole lines, so that they do not mix with the spinner.
struct ScriptOutput<'c> {
    context: &'c Context,
    name: String,
}

impl<'c> ScriptOutput<'c> {
    fn new(context: &'c Context, script: &str) -> ScriptOutput<'c> {
        ScriptOutput { context, name: text::one_line(script) }
    }

    fn run(
        &self,
        request: &RunRequest<'_>,
        attempt: &dyn Fn(&RunRequest<'_>) -> Result<RunResult, RunError>,
    ) -> Result<RunResult, RunError> {
        if self.context.json() {
            let _progress = ProgressIndicator::spinner(format!("running {}", self.name));
            return attempt(request);
        }
        let progress = ProgressIndicator::spinner(format!("running {}", self.name));
        // A line that is not finished yet, of each stream.
        let begun: Mutex<[Vec<u8>; 2]> = Mutex::default();
        let on_output = |stream: Stream, bytes: &[u8]| {
            let mut begun = skillcue_base::lock(&begun);
            let (waiting, is_terminal) = match stream {
                Stream::Stdout => (&mut begun[0], self.context.terminal.stdout_is_terminal()),
                Stream::Stderr => (&mut begun[1], self.context.terminal.stderr_is_terminal()),
            };
            waiting.extend_from_slice(bytes);
            let whole = if is_terminal {
                waiting.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1)
            } else {
                waiting.len()
            };
            let ready: Vec<u8> = waiting.drain(..whole).collect();
            progress.suspend(|| self.show(stream, &ready, is_terminal));
        };
        let outcome = attempt(&RunRequest { on_output: &on_output, ..*request });
        drop(progress);
        let rest = begun.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
        for (stream, bytes) in [Stream::Stdout, Stream::Stderr].into_iter().zip(rest) {
            self.show(stream, &bytes, true);
        }
        outcome
    }

    /// Prints output. A reader that is gone is no reason to end the script: its effects may matter more than its
    /// output.
    fn show(&self, stream: Stream, bytes: &[u8], is_terminal: bool) {
        // The output of a script must not control the terminal.
        let visible;
        let bytes = if is_terminal {
            visible = text::visible(&String::from_utf8_lossy(bytes));
            visible.as_bytes()
        } else {
            bytes
        };
        match stream {
            Stream::Stdout => {
                let _ = self.context.terminal.print_bytes(bytes);
                let _ = self.context.terminal.flush();
            }
            Stream::Stderr => {
                let _ = io::stderr().write_all(bytes);
            }
        }
    }
}
