//! `skillcue search`: ranked skills for a query.

use std::fmt::Write as _;

use serde::Serialize;
use skillcue::select::Judgement;
use skillcue::{Catalog, Hit, Mode, Selection};

use crate::cli::words;
use crate::context::Context;
use crate::error::CliError;
use crate::judge::JudgeArgs;
use crate::report::Printout;
use crate::terminal::{paint, style};
use crate::turn::{MODES, TurnArgs, kind, message, percent, whole_number};
use crate::{Outcome, text};

const AFTER: &str = "\
Examples:
  skillcue search \"fill in a form\"
  skillcue search --mode keyword pdf      by mentions and triggers alone
  skillcue search --mode semantic slides  by meaning, too: see `skillcue model`

The first number is how likely the skill is to be the one that is needed, and hits rank by it: it is low where
many fit as well. `fits` is how likely the skill is to fit, whatever others do.
With --json it prints {hits: [{name, score, confidence, certainty, mention, reasons: [{kind,
trigger, text, span, score}]}], matched, model}, and with --judge also judgement: {judge, candidates, outcome, count or
why}. Finding nothing is no failure.";

#[derive(Debug, clap::Args)]
#[command(after_help = crate::cli::footer(AFTER))]
pub(crate) struct Args {
    /// The query; `-` reads it from stdin
    #[arg(allow_hyphen_values = true)]
    query: String,
    /// How skills are matched [default: hybrid]
    #[arg(long, value_parser = words(MODES))]
    mode: Option<Mode>,
    /// Most hits to print
    #[arg(long, value_name = "N", allow_negative_numbers = true, default_value_t = 10, value_parser = whole_number)]
    limit: usize,
    #[command(flatten)]
    judge: JudgeArgs,
    #[command(flatten)]
    turn: TurnArgs,
}

#[derive(Serialize)]
pub(super) struct HitsJson<'h> {
    pub(super) hits: &'h [Hit],
    pub(super) matched: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) judgement: Option<&'h Judgement>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) model: Option<&'h str>,
}

impl<'h> HitsJson<'h> {
    pub(super) fn of(found: &'h Selection) -> HitsJson<'h> {
        let (model, judgement) = (found.model.as_deref(), found.judgement.as_ref());
        HitsJson { hits: &found.hits, matched: found.matched, judgement, model }
    }
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<Outcome, CliError> {
    context.touch(args.turn.files())?;
    let query = message(&args.query)?;
    let mode = context.mode(args.mode)?;
    args.judge.apply(context)?;
    let skills = context.skills()?;
    context.prepare(mode)?;
    let request = args.turn.request(&query).mode(mode).limit(args.limit);
    skills.check_request(&request)?;
    let found = skills.search(&request);
    context.print_diagnostics();
    let document = HitsJson::of(&found);
    let outcome = context.report(Outcome::Done, &document, || {
        let line = match found.hits.len() {
            0 if found.matched == 0 => "nothing found".to_owned(),
            shown if shown < found.matched => {
                format!("{} of {}; --limit shows more", text::thousands(shown), text::count(found.matched, "skill"))
            }
            shown => text::count(shown, "skill"),
        };
        Printout::from(table(&found.hits, &skills.catalog(), context)).dim(line)
    })?;
    context.index_bodies(mode)?;
    Ok(outcome)
}

fn table(hits: &[Hit], catalog: &Catalog, context: &Context) -> String {
    let columns = context.terminal.width().unwrap_or(100);
    let width = hits.iter().map(|hit| text::width(&hit.name)).max().unwrap_or(0).clamp(4, 40);
    let mut out = String::new();
    // By triggers alone the two numbers are one.
    let is_fit_shown = hits.iter().any(|hit| percent(hit.certainty) != percent(hit.confidence));
    for hit in hits {
        let brief = catalog.get(&hit.name).map(|skill| skill.make_manifest().brief().into_owned()).unwrap_or_default();
        let pad = " ".repeat(width.saturating_sub(text::width(&hit.name)));
        let brief = text::one_line(&brief);
        let fits = if is_fit_shown { format!("  fits {:>3} %", percent(hit.confidence)) } else { String::new() };
        let room = columns.saturating_sub(width + 8 + fits.len()).max(20);
        let _ = writeln!(
            out,
            "{}{pad}  {}{}  {}",
            paint(style::NAME, &hit.name),
            paint(style::GOOD, format_args!("{:>3} %", percent(hit.certainty))),
            paint(style::DIM, fits),
            text::cut(&brief, room)
        );
        let _ = writeln!(out, "{}", paint(style::DIM, text::cut(&format!("  {}", reasons(hit)), columns)));
    }
    out
}

/// `keyword pdf, verb extract (“extracted”)`
fn reasons(hit: &Hit) -> String {
    if hit.reasons.is_empty() {
        return "meaning".to_owned();
    }
    let shown = hit.reasons.iter().take(6).map(|reason| {
        let trigger = text::one_line(&reason.trigger);
        let text = text::one_line(&reason.text);
        if text.is_empty() || text.eq_ignore_ascii_case(&trigger) {
            format!("{} {trigger}", kind(reason.kind))
        } else {
            format!("{} {trigger} (“{text}”)", kind(reason.kind))
        }
    });
    shown.collect::<Vec<_>>().join(", ")
}
