//! One file per command.

pub(crate) mod bench;
pub(crate) mod completions;
pub(crate) mod files;
pub(crate) mod lint;
pub(crate) mod list;
pub(crate) mod load;
pub(crate) mod man;
pub(crate) mod new;
pub(crate) mod read;
pub(crate) mod show;
pub(crate) mod validate;

use crate::Outcome;
use crate::cli::Command;
use crate::context::Context;
use crate::error::CliError;

/// Runs what was asked for.
pub(crate) fn run(command: &Command, context: &Context) -> Result<Outcome, CliError> {
    match command {
        Command::List(args) => list::run(args, context),
        Command::Show(args) => show::run(args, context),
        Command::Load(args) => load::run(args, context),
        Command::Files(args) => files::run(args, context),
        Command::Read(args) => read::run(args, context),
        Command::Validate(args) => validate::run(args, context),
        Command::Lint(args) => lint::run(args, context),
        Command::New(args) => new::run(args, context),
        Command::Bench(args) => bench::run(args, context),
        Command::Completions(args) => completions::run(args, context),
        Command::Man(args) => man::run(args, context),
    }
}
