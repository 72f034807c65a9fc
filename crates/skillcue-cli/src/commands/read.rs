//! `skillcue read`: level 3, one file.

use serde::Serialize;

use crate::Outcome;
use crate::context::Context;
use crate::error::CliError;
use crate::text;

const AFTER: &str = "\
Examples:
  skillcue read hello-extended references/languages.md
  skillcue read brand assets/logo.png > logo.png

No path leads out of the skill's directory: neither `..` nor an absolute path nor a link does.
With --json it prints {path, content}; a file that is not text is an error there.";

#[derive(Debug, clap::Args)]
#[command(after_help = crate::cli::footer(AFTER))]
pub(crate) struct Args {
    /// The skill: its name, NAME@SOURCE or PLUGIN:NAME
    name: String,
    /// The file, relative to the skill's directory
    path: String,
}

#[derive(Serialize)]
struct ReadJson<'r> {
    path: &'r str,
    content: &'r str,
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<Outcome, CliError> {
    let skills = context.skills()?;
    if context.json() {
        let content = skills.read(&args.name, &args.path)?;
        context.print_json(&ReadJson { path: &args.path, content: &content })?;
        return Ok(Outcome::Done);
    }
    let bytes = skills.read_bytes(&args.name, &args.path)?;
    if !context.terminal.stdout_is_terminal() {
        // Every byte as it is, whatever it is.
        context.terminal.print_bytes(&bytes)?;
        return Ok(Outcome::Done);
    }
    let Ok(content) = String::from_utf8(bytes) else {
        return Err(CliError::failure("not_text", format!("{:?} is not text, and this is a terminal", args.path))
            .help(format!("`skillcue read {} {} > FILE` saves it", args.name, args.path)));
    };
    context.terminal.print_bytes(text::visible_lines(&content).as_bytes())?;
    Ok(Outcome::Done)
}
