//! `skillcue memory`: the facts that the agent remembers about the user.

use std::path::Path;

use serde_json::json;
use skillcue_agent::Memory;

use crate::agent::dirs::AgentDirs;
use crate::agent::facts::{look, open, table};
use crate::context::Context;
use crate::error::CliError;
use crate::report::Printout;
use crate::{Outcome, text};

const AFTER: &str = "\
Examples:
  skillcue memory                       everything, the newest first
  skillcue memory search my name        what a message with these words would recall
  skillcue memory forget 3 7            by number
  skillcue memory clear                 everything

The agent remembers and recalls with --memory, or with `memory = true` below [agent] in skillcue.toml.
Each fact has its origin: `user` if you said it in a message, `model` if the model kept it for you.
With --json it prints an array of {id, text, origin, session, created, updated}; `forget` {forgotten: [ids]};
`clear` {forgotten: how many}.";

#[derive(Debug, clap::Args)]
#[command(after_help = crate::cli::footer(AFTER))]
pub(crate) struct Args {
    #[command(subcommand)]
    what: Option<MemoryCommand>,
}

#[derive(Debug, clap::Subcommand)]
enum MemoryCommand {
    /// List everything, the newest first
    List,
    /// Show what a message with these words would recall
    Search {
        /// The words
        #[arg(required = true)]
        words: Vec<String>,
    },
    /// Forget some of it
    Forget {
        /// The numbers that the list shows
        #[arg(required = true, value_name = "ID")]
        ids: Vec<i64>,
    },
    /// Forget everything
    Clear {
        /// Do not ask
        #[arg(long, short)]
        yes: bool,
    },
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<Outcome, CliError> {
    let file = AgentDirs::needed(context)?.memory().unwrap_or_default();
    match &args.what {
        None | Some(MemoryCommand::List) => show(&file, "", context),
        Some(MemoryCommand::Search { words }) => show(&file, &words.join(" "), context),
        Some(MemoryCommand::Forget { ids }) => forget(&file, ids, context),
        Some(MemoryCommand::Clear { yes }) => clear(&file, *yes, context),
    }
}

fn show(file: &Path, words: &str, context: &Context) -> Result<Outcome, CliError> {
    let facts = look(file, words)?;
    context.report(Outcome::Done, &facts, || match &facts[..] {
        [] if words.is_empty() => Printout::of_remark("nothing is remembered"),
        [] => Printout::of_remark("nothing that is remembered fits"),
        facts => table(facts, context.terminal.width()).into(),
    })
}

fn forget(file: &Path, ids: &[i64], context: &Context) -> Result<Outcome, CliError> {
    let memory = open(file)?;
    let (mut forgotten, mut unknown) = (Vec::new(), Vec::new());
    for id in ids {
        let known = memory.as_ref().map_or(Ok(false), |memory| memory.forget(*id))?;
        if known { &mut forgotten } else { &mut unknown }.push(*id);
    }
    let list = |ids: &[i64]| ids.iter().map(i64::to_string).collect::<Vec<_>>().join(", ");
    if !unknown.is_empty() {
        let also = if forgotten.is_empty() { String::new() } else { format!("; {} forgotten", list(&forgotten)) };
        return Err(CliError::failure("not_found", format!("nothing is remembered as {}{also}", list(&unknown)))
            .help("`skillcue memory` shows the numbers"));
    }
    context.report(Outcome::Done, &json!({"forgotten": forgotten}), || {
        Printout::of_remark(format!("forgotten: {}", list(&forgotten)))
    })
}

fn clear(file: &Path, yes: bool, context: &Context) -> Result<Outcome, CliError> {
    let memory = open(file)?;
    if !yes {
        let count = memory.as_ref().map_or(Ok(0), Memory::count)?;
        let what = text::count(count, "fact");
        context.terminal.ask(&format!("Forget {what} for good?"))?;
    }
    let forgotten = memory.as_ref().map_or(Ok(0), Memory::clear)?;
    context.report(Outcome::Done, &json!({"forgotten": forgotten}), || {
        Printout::of_remark(format!("{} forgotten", text::count(forgotten, "fact")))
    })
}
