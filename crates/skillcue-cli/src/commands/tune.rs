//! `skillcue tune`: better words for a skill, judged on messages that were not used to find them.

#[cfg(feature = "agent")]
mod model;
mod page;
mod trial;

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Serialize;
use skillcue::eval::{EvalCase, Evaluation};
use skillcue::tune::{
    TuneCandidate, TuneChoice, TuneDraft, TuneError, TuneSource, TuneTrial, candidates, changes_by_skill, is_unseen,
    rivals_of,
};
use skillcue_base::{os_message, rewrite_file};
use skillcue_format::MatchingEdit;
use skillcue_host::EvalHistory;
use skillcue_usage::{LedgerQuery, UsedMessage, used_messages};

use super::eval::labelled;
use crate::context::Context;
use crate::error::CliError;
use crate::progress::ProgressIndicator;
use crate::{Outcome, text};
use trial::TrialDir;

/// The number of labelled messages of the skill from which a half of them says anything.
const MIN_MESSAGES: usize = 4;

const AFTER: &str = "\
Examples:
  skillcue tune pdf-forms --eval messages.jsonl          better words, and what they cost others
  skillcue tune pdf-forms --eval messages.jsonl --write  change its SKILL.md so
  skillcue tune pdf-forms --model ollama:qwen3           with ideas and messages of a model
  skillcue tune pdf-forms --model gpt-5 --languages de,ja  with words in other languages, too

Candidates are words that the right messages share and those of other skills lack, headings, code words and kinds
of files of the body, what competitors are for (\"Not for …: use …\"), and what a model proposes. One half of the
messages chooses; the figures are those of the other half, over the whole catalog. Without --eval the messages are
those of the last kept run of `skillcue eval`, and those in the ledger, if texts are recorded.
It exits with 1 if nothing helps on the half that was not used. With --json it prints {skill, path, messages,
candidates, evaluated, steps, draft, before, after, own, others, sum, proposed, written, diff}.";

#[derive(Debug, clap::Args)]
#[command(after_help = crate::cli::footer(AFTER))]
pub(crate) struct Args {
    /// The skill
    name: String,
    /// Labelled messages, as for `skillcue eval`
    #[arg(long, value_name = "FILE")]
    eval: Option<PathBuf>,
    /// Languages for further keywords and messages, such as de,ja; needs a model
    #[arg(long, value_name = "LANGUAGES", value_delimiter = ',')]
    languages: Vec<String>,
    /// Change the file
    #[arg(long)]
    write: bool,
    #[cfg(feature = "agent")]
    #[command(flatten)]
    model: crate::agent::endpoint::ModelArgs,
}

/// The result of `tune`.
#[derive(Debug, Serialize)]
struct TuneJson {
    skill: String,
    #[serde(serialize_with = "text::lossy")]
    path: PathBuf,
    messages: MessageCounts,
    /// The number of candidates.
    candidates: usize,
    #[serde(flatten)]
    choice: TuneChoice,
    /// The figures of the half that was not used.
    before: HalfFigures,
    after: HalfFigures,
    /// The change of the skill's own messages in that half, in messages; of all others; their sum.
    own: f32,
    others: f32,
    sum: f32,
    /// The skills whose messages in that half fare better or worse.
    changed: Vec<SkillChange>,
    /// Whether it is an improvement.
    proposed: bool,
    written: bool,
    diff: String,
}

/// The numbers of messages.
#[derive(Debug, Serialize)]
struct MessageCounts {
    all: usize,
    /// Of the skill itself, in the half that chooses and in the other.
    own_train: usize,
    own_unseen: usize,
    unseen: usize,
}

/// The figures of the half that was not used. A share is `None` if there are no messages of its kind.
#[derive(Debug, Serialize)]
struct HalfFigures {
    /// The recall at 3 of the skill's own messages.
    own_recall_at_3: Option<f64>,
    own_recall_at_1: Option<f64>,
    /// Of all messages.
    recall_at_3: Option<f64>,
    recall_at_1: Option<f64>,
    wrongly_shown: Option<f64>,
}

/// A skill whose messages fare better or worse.
#[derive(Debug, Serialize)]
struct SkillChange {
    skill: String,
    change: f32,
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<Outcome, CliError> {
    args.check_languages()?;
    let dir = TrialDir::new(context)?;
    let skills = context.local_skills()?;
    let catalog = skills.catalog();
    skills.check_known(&args.name)?;
    let Some(skill) = catalog.get(&args.name).filter(|skill| skill.server().is_none()) else {
        return Err(CliError::failure("tune", format!("{} is on a server, and cannot be changed here", args.name))
            .help("tune it where it is kept"));
    };
    let path = skill.path();
    let original = std::fs::read(&path).map_err(|error| {
        CliError::failure("tune", format!("cannot read {}: {}", path.display(), os_message(&error)))
            .help("make the file readable")
    })?;
    let name = skill.name().to_owned();
    let manifest = skill.make_manifest();
    let description = manifest.description().to_owned();
    let keywords: Vec<String> = manifest.triggers().keywords.iter().map(ToString::to_string).collect();
    let start = skillcue_format::split::body_start(&original).unwrap_or(0);
    let body = String::from_utf8_lossy(&original[start..]).into_owned();
    // A file that cannot be edited is told before any work.
    let probe = MatchingEdit { description: Some(format!("{description} x")), keywords: vec!["x".to_owned()] };
    probe.apply(&original).map_err(|error| {
        CliError::failure("tune", format!("{} cannot be edited: {error}", context.short_path(&path)))
            .help("`skillcue lint --fix` repairs what is broken; other ways of writing must be changed by hand")
    })?;
    let mode = context.mode(None)?;
    context.prepare(mode)?;
    skills.index_bodies();
    let rivals = rivals_of(skills, &name);

    #[cfg(feature = "agent")]
    let ideas = args.ideas(context, &name, &description, &body, &rivals)?;
    #[cfg(not(feature = "agent"))]
    let ideas = ModelIdeas::default();
    let mut cases = messages(args, context, &name)?;
    cases.extend(ideas.messages.iter().cloned());
    let own = |case: &&EvalCase| case.relevant.contains(&name);
    let (unseen, train): (Vec<EvalCase>, Vec<EvalCase>) =
        cases.iter().cloned().partition(|case| is_unseen(&case.query));
    let counts = MessageCounts {
        all: cases.len(),
        own_train: train.iter().filter(own).count(),
        own_unseen: unseen.iter().filter(own).count(),
        unseen: unseen.len(),
    };
    if counts.own_train + counts.own_unseen < MIN_MESSAGES || counts.own_train == 0 || counts.own_unseen == 0 {
        let message = format!(
            "{} that need {name}: too few to choose by one half and to judge by the other",
            text::count(counts.own_train + counts.own_unseen, "labelled message")
        );
        return Err(CliError::failure("too_few_messages", message).help(
            "name a set with --eval FILE, ten messages or more a skill; or let a model write some: --model NAME",
        ));
    }
    let source = TuneSource {
        name: &name,
        description: &description,
        keywords: &keywords,
        body: &body,
        train: &train,
        rivals: &rivals,
    };
    let mut proposals: Vec<TuneCandidate> = candidates(&source);
    proposals.extend(ideas.candidates);
    let count = proposals.len();
    let progress = ProgressIndicator::spinner("trying candidates");
    let trial = TuneTrial::new(skills, &dir.path(), &path, original.clone(), mode).map_err(|error| failed(&error))?;
    let choice = trial.choose(&name, &description, proposals, &train, &|tried| {
        progress.set_message(format!("trying candidates: {tried}"));
    });
    progress.set_message("judging on the other half".to_owned());
    let before = trial
        .evaluate(&TuneDraft { description: description.clone(), keywords: Vec::new() }, &unseen)
        .map_err(|error| failed(&error))?;
    let after = if choice.steps.is_empty() {
        before.clone()
    } else {
        trial.evaluate(&choice.draft, &unseen).map_err(|error| failed(&error))?
    };
    drop(progress);
    let changes = changes_by_skill(&unseen, &before, &after);
    let own_change = changes.get(&name).copied().unwrap_or(0.0);
    let sum: f32 = changes.values().sum();
    let new = trial.text_of(&choice.draft).map_err(|error| failed(&error))?;
    let mut document = TuneJson {
        skill: name.clone(),
        diff: page::diff(&String::from_utf8_lossy(&original), &String::from_utf8_lossy(&new)),
        messages: counts,
        candidates: count,
        before: HalfFigures::of(&unseen, &before, &name),
        after: HalfFigures::of(&unseen, &after, &name),
        own: own_change,
        others: sum - own_change,
        sum,
        changed: ranked(changes),
        proposed: !choice.steps.is_empty() && own_change > -1e-6 && sum > 1e-6,
        choice,
        written: false,
        path: path.clone(),
    };
    if args.write && document.proposed {
        rewrite_file(&path, &new).map_err(|error| CliError::write(&path, &error))?;
        document.written = true;
    }
    context.report(Outcome::of(document.proposed), &document, || page::page(&document, context))
}

fn failed(error: &TuneError) -> CliError {
    CliError::failure("tune", error.to_string())
        .help("set TMPDIR to a directory that you may write to; or change the file by hand")
}

/// The proposals of a model.
#[derive(Debug, Default)]
struct ModelIdeas {
    candidates: Vec<TuneCandidate>,
    messages: Vec<EvalCase>,
}

impl Args {
    fn check_languages(&self) -> Result<(), CliError> {
        #[cfg(feature = "agent")]
        let has_model = self.model.model.is_some();
        #[cfg(not(feature = "agent"))]
        let has_model = false;
        if !self.languages.is_empty() && !has_model {
            return Err(CliError::usage(
                "languages",
                "words in other languages are written by a model, and none is named",
            )
            .help("add --model NAME, such as --model ollama:qwen3; nothing was sent"));
        }
        Ok(())
    }
}

/// Returns the labelled messages: of a file, or of the last kept run, and those of the ledger that have texts.
fn messages(args: &Args, context: &Context, name: &str) -> Result<Vec<EvalCase>, CliError> {
    if let Some(file) = &args.eval {
        return labelled(file, Some(name), context);
    }
    let mut cases = Vec::new();
    if let Some(history) = EvalHistory::of(context.environment()?)
        && let Some(run) = history.read()?.runs.last()
        && let Some(project) = context.environment()?.project()
        && let Ok(kept) = labelled(&project.join(&run.set), Some(name), context)
    {
        cases.extend(kept);
    }
    let events = context.host()?.ledger()?.and_then(|ledger| ledger.events(&LedgerQuery::default()).ok());
    let catalog = context.local_skills()?.catalog();
    for UsedMessage { text, mut skills } in used_messages(&events.unwrap_or_default()) {
        // A skill that is gone cannot be found.
        skills.retain(|skill| catalog.get(skill).is_some());
        if !skills.is_empty() && !cases.iter().any(|case| case.query == text) {
            cases.push(EvalCase { query: text, relevant: skills, not_relevant: Vec::new(), lang: None });
        }
    }
    Ok(cases)
}

fn ranked(changes: BTreeMap<String, f32>) -> Vec<SkillChange> {
    let mut changes: Vec<SkillChange> =
        changes.into_iter().map(|(skill, change)| SkillChange { skill, change }).collect();
    changes.sort_by(|a, b| a.change.total_cmp(&b.change).then_with(|| a.skill.cmp(&b.skill)));
    changes
}

impl HalfFigures {
    fn of(cases: &[EvalCase], evaluation: &Evaluation, name: &str) -> HalfFigures {
        let own: Vec<_> =
            cases.iter().zip(&evaluation.cases).filter(|(case, _)| case.relevant.iter().any(|of| of == name)).collect();
        let recall = |most: usize| {
            let found = own.iter().filter(|(_, result)| result.rank.is_some_and(|rank| rank <= most)).count();
            #[expect(clippy::cast_precision_loss, reason = "numbers of messages")]
            (!own.is_empty()).then(|| found as f64 / own.len() as f64)
        };
        HalfFigures {
            own_recall_at_3: recall(3),
            own_recall_at_1: recall(1),
            recall_at_3: evaluation.figures.recall_at.get(&3).copied(),
            recall_at_1: evaluation.figures.recall_at.get(&1).copied(),
            wrongly_shown: evaluation.figures.wrongly_shown,
        }
    }
}
