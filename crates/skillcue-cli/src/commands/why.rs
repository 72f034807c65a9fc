//! `skillcue why`: the words of a message that speak for each skill, and what it would have taken to match another.

use serde::Serialize;
use skillcue::disclose::DisclosedSkill;
use skillcue::select::{Intent, Thresholds};
use skillcue::{Decision, Disclosure, Explanation, Mode, Selection, Tier};

use super::search::HitsJson;
use crate::cli::words;
use crate::context::Context;
use crate::error::CliError;
use crate::judge::JudgeArgs;
use crate::turn::{MODES, TurnArgs, message, share};
use crate::{Outcome, explanation};

const AFTER: &str = "\
Examples:
  skillcue why \"Say bonjour to Alice\"
  skillcue why \"two greetings\" hello-extended     why not this one?

The line behind an arrow says what a turn would show of the skill, and which number decided.
With --json it prints {hits: [{name, score, confidence, certainty, likelihood, mention, reasons: [{kind,
trigger, text, span, score}]}], matched, model, intent, tier, thresholds: {body, name}, decisions: [{name, decision,
why}]}, and for a NAME also skill: {name, standing, hit, before, triggers: [{kind,
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
    /// How readily skills are shown and named, from 0 to 1 [default: 0.5]
    #[arg(long, value_name = "E", allow_negative_numbers = true, value_parser = share::<f32>)]
    eagerness: Option<f32>,
    #[command(flatten)]
    judge: JudgeArgs,
    #[command(flatten)]
    turn: TurnArgs,
}

/// The result of `why`.
#[derive(Serialize)]
pub(super) struct WhyJson<'w> {
    #[serde(flatten)]
    hits: HitsJson<'w>,
    intent: Intent,
    tier: Tier,
    thresholds: Thresholds,
    decisions: Vec<DecisionJson<'w>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    skill: Option<&'w Explanation>,
}

impl<'w> WhyJson<'w> {
    pub(super) fn of(found: &'w Selection, shown: &'w Disclosure, explanation: Option<&'w Explanation>) -> WhyJson<'w> {
        WhyJson {
            hits: HitsJson::of(found),
            intent: found.intent,
            tier: shown.tier,
            thresholds: shown.thresholds,
            decisions: shown.skills.iter().map(DecisionJson::of).collect(),
            skill: explanation,
        }
    }
}

/// The decision about a skill in a turn with this message.
#[derive(Serialize)]
struct DecisionJson<'w> {
    name: &'w str,
    decision: Decision,
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<&'w str>,
}

impl<'w> DecisionJson<'w> {
    fn of(skill: &'w DisclosedSkill) -> DecisionJson<'w> {
        DecisionJson { name: &skill.name, decision: skill.decision, why: skill.why.as_deref() }
    }
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<Outcome, CliError> {
    context.touch(args.turn.files())?;
    let message = message(&args.message)?;
    let mode = context.mode(args.mode)?;
    let mut config = context.disclose()?.config();
    config.eagerness = args.eagerness.unwrap_or(config.eagerness);
    context.shape_skills(move |builder| builder.disclosure(config.clone()).mode(mode));
    args.judge.apply(context)?;
    let skills = context.skills()?;
    context.prepare(mode)?;
    if let Some(name) = &args.name {
        // Says why, if there is no such skill.
        skills.check_known(name)?;
    }
    let request = args.turn.request(&message).mode(mode);
    skills.check_request(&request)?;
    let found = skills.select(&request);
    let shown = skills.disclose(args.turn.request(&message).mode(mode));
    let explanation = args.name.as_deref().map(|name| skills.explain(&request, name));
    context.print_diagnostics();
    let document = WhyJson::of(&found, &shown, explanation.as_ref());
    context.report(Outcome::Done, &document, || {
        let columns = context.terminal.width().unwrap_or(100);
        match &explanation {
            Some(explanation) => {
                explanation::of_skill(&message, explanation, &shown, mode, found.model.as_deref(), columns)
            }
            None => explanation::of_selection(&message, &found, &shown, mode, columns),
        }
    })
}
