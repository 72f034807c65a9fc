//! `skillcue prompt`: the static section that lists every skill.

use serde::Serialize;
use skillcue::disclose::SkillList;
use skillcue::{Counter, Policy, Tokens};

use crate::cli::words;
use crate::context::Context;
use crate::error::CliError;
use crate::report::Printout;
use crate::terminal::{paint, style};
use crate::turn::{COUNTERS, whole_number};
use crate::{Outcome, text};

const AFTER: &str = "\
Examples:
  skillcue prompt >> system-prompt.md      for a host that puts prompts together itself
  skillcue prompt --window 32000           for a small model: 2 % of its window

Descriptions are shortened until the section fits, the least valuable first. Names go only when not even they
fit: the section then ends with a line that says how many are missing and that `search_skills` finds them. A larger
--window, or `catalog_share` below [disclose] in skillcue.toml, makes room.
With --json it prints {text, tokens, shortened, omitted}.";

#[derive(Debug, clap::Args)]
#[command(after_help = crate::cli::footer(AFTER))]
pub(crate) struct Args {
    /// The model's context window, in tokens [default: 200000]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = whole_number)]
    window: Option<usize>,
    /// How to count tokens [default: segment]
    #[arg(long, value_parser = words(COUNTERS))]
    counter: Option<Counter>,
}

/// The result of `prompt`.
#[derive(Serialize)]
pub(super) struct PromptJson<'p> {
    text: &'p str,
    tokens: Tokens,
    shortened: &'p [String],
    omitted: &'p [String],
}

impl<'p> PromptJson<'p> {
    pub(super) fn of(section: &'p SkillList) -> PromptJson<'p> {
        let SkillList { text, tokens, shortened, omitted, .. } = section;
        PromptJson { text, tokens: *tokens, shortened, omitted }
    }
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<Outcome, CliError> {
    let mut config = context.disclose()?.config();
    config.policy = Policy::Catalog;
    config.window = args.window.map_or(config.window, Tokens);
    config.counter = args.counter.unwrap_or(config.counter);
    context.shape_skills(move |builder| builder.disclosure(config.clone()));
    let section = context.skills()?.prompt();
    context.print_diagnostics();
    let document = PromptJson::of(&section);
    let (shortened, omitted) = (document.shortened, document.omitted);
    let listed = context.skills()?.census().visible;
    context.report(Outcome::Done, &document, || {
        let mut line = format!("{} · {}", text::count(listed, "skill"), text::count(section.tokens.0, "token"));
        for (names, what) in [(shortened, "shortened"), (omitted, "left out")] {
            if !names.is_empty() {
                line = format!("{line} · {} {what}", text::thousands(names.len()));
            }
        }
        let (window, share) = (paint(style::COMMAND, "--window"), paint(style::COMMAND, "catalog_share"));
        let advice = format!("a larger {window}, or {share} below [disclose] in skillcue.toml, makes room");
        Printout::for_model(&*section.text).dim(line).remarks((!omitted.is_empty()).then_some(advice))
    })
}
