//! `skillcue agent`: a model that uses the skills.

use crate::agent;
pub(crate) use crate::agent::args::Args;
use crate::context::Context;
use crate::error::CliError;
use crate::{Outcome, chat};

pub(crate) fn run(args: &Args, context: &Context) -> Result<Outcome, CliError> {
    if let Some(file) = &args.batch {
        return agent::batch::run(file, args, context);
    }
    if let Some(prompt) = &args.prompt {
        return agent::one_shot::run(prompt, args, context);
    }
    if context.json() {
        return Err(CliError::usage("usage", "a chat has no --json").help("send a message with -p TEXT"));
    }
    let is_terminal = context.terminal.stdout_is_terminal() && context.terminal.stderr_is_terminal();
    if !(context.terminal.can_ask() && is_terminal) {
        return Err(CliError::usage("usage", "a chat needs a terminal, and this is none")
            .help("send a message with -p TEXT, or -p - to read it from stdin"));
    }
    chat::run(args, context)
}
