//! `skillcue why`: the words of a message that speak for each skill, and what it would have taken to match another.

use serde::Serialize;
use skillcue::select::Intent;
use skillcue::{Explanation, Mode};

use super::search::HitsJson;
use crate::cli::words;
use crate::context::Context;
use crate::error::CliError;
use crate::turn::{MODES, TurnArgs, message};
use crate::{Outcome, explanation};

const AFTER: &str = "\
Examples:
  skillcue why \"Say bonjour to Alice\"
  skillcue why \"two greetings\" hello-extended     why not this one?

With --json it prints {hits: [{name, score, confidence, certainty, mention, reasons: [{kind,
trigger, text, span, score}]}], matched, intent}, and for a NAME also skill: {name, standing, hit, before, triggers: [{kind,
trigger, matched, note}]}.";

#[derive(Debug, clap::Args)]
#[command(after_help = crate::cli::footer(AFTER))]
pub(crate) struct Args {
    /// The user's message; `-` reads it from stdin
    #[arg(allow_hyphen_values = true)]
    message: String,
    /// A skill to ask about
    name: Option<String>,
    /// How skills are matched [default: hybrid]
    #[arg(long, value_parser = words(MODES))]
    mode: Option<Mode>,
    #[command(flatten)]
    turn: TurnArgs,
}

#[derive(Serialize)]
struct WhyJson<'w> {
    #[serde(flatten)]
    hits: HitsJson<'w>,
    intent: Intent,
    #[serde(skip_serializing_if = "Option::is_none")]
    skill: Option<&'w Explanation>,
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<Outcome, CliError> {
    let message = message(&args.message)?;
    let mode = context.mode(args.mode)?;
    let skills = context.skills()?;
    context.prepare(mode)?;
    if let Some(name) = &args.name {
        // Says why, if there is no such skill.
        skills.check_known(name)?;
    }
    let request = args.turn.request(&message).mode(mode);
    let found = skills.select(&request);
    let explanation = args.name.as_deref().map(|name| skills.explain(&request, name));
    context.print_diagnostics();
    let hits = HitsJson { hits: &found.hits, matched: found.matched };
    let document = WhyJson { hits, intent: found.intent, skill: explanation.as_ref() };
    context.report(Outcome::Done, &document, || {
        let columns = context.terminal.width().unwrap_or(100);
        match &explanation {
            Some(explanation) => explanation::of_skill(&message, explanation, mode, columns),
            None => explanation::of_selection(&message, &found, columns),
        }
    })
}
