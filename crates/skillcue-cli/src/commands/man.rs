//! `skillcue man`: the manual.

use serde::Serialize;

use crate::Outcome;
use crate::cli::Cli;
use crate::context::Context;
use crate::error::CliError;
use crate::report::Printout;

const AFTER: &str = "\
Examples:
  skillcue man | man -l -           read it
  skillcue man lint | man -l -      the page of one command
  skillcue man > ~/.local/share/man/man1/skillcue.1

With --json it prints {name, page}.";

#[derive(Debug, clap::Args)]
#[command(after_help = crate::cli::footer(AFTER))]
pub(crate) struct Args {
    /// The page of this command, instead of the main one
    command: Option<String>,
}

#[derive(Serialize)]
struct ManJson<'m> {
    name: String,
    page: &'m str,
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<Outcome, CliError> {
    let mut main = Cli::grammar();
    // Global options belong to each command's page as well.
    main.build();
    let (name, command) = match &args.command {
        None => ("skillcue".to_owned(), main),
        Some(wanted) => match main.find_subcommand(wanted) {
            Some(command) => (format!("skillcue-{wanted}"), command.clone().display_name(format!("skillcue-{wanted}"))),
            None => {
                return Err(CliError::usage("usage", format!("no command is called {wanted:?}"))
                    .help("`skillcue --help` lists them"));
            }
        },
    };
    let mut page = Vec::new();
    clap_mangen::Man::new(command).render(&mut page)?;
    context.report(Outcome::Done, &ManJson { name, page: &String::from_utf8_lossy(&page) }, || Printout::bytes(&*page))
}
