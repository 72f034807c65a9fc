//! `skillcue completions`: a script for a shell.

use clap_complete::Shell;
use serde::Serialize;

use crate::Outcome;
use crate::cli::Cli;
use crate::context::Context;
use crate::error::CliError;
use crate::report::Printout;

const AFTER: &str = "\
Examples:
  skillcue completions bash > ~/.local/share/bash-completion/completions/skillcue
  skillcue completions zsh > ~/.zfunc/_skillcue
  skillcue completions fish > ~/.config/fish/completions/skillcue.fish

With --json it prints {shell, script}.";

#[derive(Debug, clap::Args)]
#[command(after_help = crate::cli::footer(AFTER))]
pub(crate) struct Args {
    /// The shell
    shell: Shell,
}

#[derive(Serialize)]
struct CompletionsJson<'c> {
    shell: String,
    script: &'c str,
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<Outcome, CliError> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::grammar(), "skillcue", &mut script);
    let document = CompletionsJson { shell: args.shell.to_string(), script: &String::from_utf8_lossy(&script) };
    context.report(Outcome::Done, &document, || Printout::bytes(&*script))
}
