//! `skillcue tune`: better words for a skill, judged on messages that were not used to find them.

#[cfg(feature = "agent")]
mod model;
mod page;
mod trial;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Serialize;
use skillcue::eval::{CaseResult, EvalCase, Evaluation};
use skillcue::tune::{
    TuneCandidate, TuneChoice, TuneError, TuneEvaluations, TuneSource, TuneTrial, candidates, is_unseen,
    remove_common_keywords, rivals_of,
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
candidates, evaluated, steps, draft, before, after, by_model: {before, after}, own, others, sum, by_keywords, losing,
proposed, written, diff}.";

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
    /// The recall at 3 of the messages in that half that the model has written, if they judge, too.
    #[serde(skip_serializing_if = "Option::is_none")]
    by_model: Option<ModelMessageFigures>,
    /// The change of the skill's own messages in that half, in messages; of all others; their sum.
    own: f32,
    others: f32,
    sum: f32,
    /// The change of all messages in that half in the mode `keyword`, if keywords are added.
    #[serde(skip_serializing_if = "Option::is_none")]
    by_keywords: Option<f32>,
    /// The skills whose messages in that half fare better or worse.
    changed: Vec<SkillChange>,
    /// The other skills that lose more than they gain in that half.
    losing: Vec<String>,
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
    /// Of the skill's own in the other half, those that the model has written.
    of_model: usize,
}

/// The recall at 3 of messages that the model has written, and of the skill's other messages.
#[derive(Debug, Serialize)]
struct ModelMessageFigures {
    before: Option<f64>,
    after: Option<f64>,
    others_before: Option<f64>,
    others_after: Option<f64>,
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
    let labelled = messages(args, context, &name)?;
    let own = |case: &&EvalCase| case.relevant.contains(&name);
    let SplitMessages { train, unseen, of_model } = SplitMessages::of(labelled, &ideas.messages, &name);
    let counts = MessageCounts {
        all: train.len() + unseen.len(),
        own_train: train.iter().filter(own).count(),
        own_unseen: unseen.iter().filter(own).count(),
        unseen: unseen.len(),
        of_model,
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
    remove_common_keywords(skills, &name, &mut proposals);
    let count = proposals.len();
    let progress = ProgressIndicator::spinner("trying candidates");
    let trial = TuneTrial::new(skills, &dir.path(), &path, original.clone(), mode).map_err(|error| failed(&error))?;
    let choice = trial.choose(&name, &description, proposals, &train, &|tried| {
        progress.set_message(format!("trying candidates: {tried}"));
    });
    progress.set_message("judging on the other half".to_owned());
    let judged = trial.judge(&description, &choice.draft, &unseen).map_err(|error| failed(&error))?;
    drop(progress);
    let verdict = judged.verdict(&name, &unseen, &|_| true);
    let TuneEvaluations { before, after, .. } = &judged;
    let new = trial.text_of(&choice.draft).map_err(|error| failed(&error))?;
    let mut document = TuneJson {
        skill: name.clone(),
        diff: page::diff(&String::from_utf8_lossy(&original), &String::from_utf8_lossy(&new)),
        messages: counts,
        candidates: count,
        before: HalfFigures::of(&unseen, before, &name),
        after: HalfFigures::of(&unseen, after, &name),
        by_model: ModelMessageFigures::of(&unseen, of_model, [before, after], &name),
        own: verdict.own,
        others: verdict.others,
        sum: verdict.sum(),
        by_keywords: verdict.by_keywords,
        proposed: !choice.steps.is_empty() && verdict.is_kept(),
        losing: verdict.losing,
        changed: ranked(verdict.by_skill),
        choice,
        written: false,
        path: path.clone(),
    };
    if args.write && document.proposed {
        write_unless_changed(&path, &original, &new)?;
        document.written = true;
    }
    context.report(Outcome::of(document.proposed), &document, || page::page(&document, context))
}

/// Writes a file that still is as it was when it was read. A run takes minutes, in which its author may go on writing.
fn write_unless_changed(path: &Path, original: &[u8], new: &[u8]) -> Result<(), CliError> {
    let now = std::fs::read(path).map_err(|error| CliError::write(path, &error))?;
    if now != original {
        let message = format!("{} was changed while it was tuned; nothing was written", path.display());
        return Err(
            CliError::failure("tune_changed", message).help("run it again: it then begins with the changed file")
        );
    }
    rewrite_file(path, new).map_err(|error| CliError::write(path, &error))
}

/// The two halves of the messages.
struct SplitMessages {
    /// The half that chooses.
    train: Vec<EvalCase>,
    /// The half that judges; the last `of_model` of it were written by the model.
    unseen: Vec<EvalCase>,
    of_model: usize,
}

impl SplitMessages {
    /// Splits labelled messages. Those of a model come from the answer that proposes the words, and would judge them well: they
    /// only choose if there are enough others to judge by.
    fn of(labelled: Vec<EvalCase>, of_model: &[EvalCase], name: &str) -> SplitMessages {
        let own = labelled.iter().filter(|case| case.relevant.iter().any(|needed| needed == name));
        let (own_unseen, own_train) = own.partition::<Vec<_>, _>(|case| is_unseen(&case.query));
        let is_enough = own_unseen.len() + own_train.len() >= MIN_MESSAGES && !own_unseen.is_empty();
        let (mut unseen, mut train) = labelled.into_iter().partition::<Vec<_>, _>(|case| is_unseen(&case.query));
        let before = unseen.len();
        for case in of_model {
            if is_enough || !is_unseen(&case.query) { &mut train } else { &mut unseen }.push(case.clone());
        }
        let of_model = unseen.len() - before;
        SplitMessages { train, unseen, of_model }
    }
}

impl ModelMessageFigures {
    /// Returns the figures of the last `count` messages, which the model has written; `None` if there are none.
    fn of(
        cases: &[EvalCase],
        count: usize,
        [before, after]: [&Evaluation; 2],
        name: &str,
    ) -> Option<ModelMessageFigures> {
        let start = cases.len() - count;
        let recall = |evaluation: &Evaluation, range: std::ops::Range<usize>| {
            let results = evaluation.cases.get(range.clone()).unwrap_or_default();
            own_recall(cases[range].iter().zip(results), name, 3)
        };
        (count > 0).then(|| ModelMessageFigures {
            before: recall(before, start..cases.len()),
            after: recall(after, start..cases.len()),
            others_before: recall(before, 0..start),
            others_after: recall(after, 0..start),
        })
    }
}

/// Returns the share of the messages of a skill that find it among so many first hits.
fn own_recall<'c>(
    results: impl Iterator<Item = (&'c EvalCase, &'c CaseResult)>,
    name: &str,
    most: usize,
) -> Option<f64> {
    let own: Vec<_> = results.filter(|(case, _)| case.relevant.iter().any(|of| of == name)).collect();
    let found = own.iter().filter(|(_, result)| result.rank.is_some_and(|rank| rank <= most)).count();
    #[expect(clippy::cast_precision_loss, reason = "numbers of messages")]
    (!own.is_empty()).then(|| found as f64 / own.len() as f64)
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
        let recall = |most| own_recall(cases.iter().zip(&evaluation.cases), name, most);
        HalfFigures {
            own_recall_at_3: recall(3),
            own_recall_at_1: recall(1),
            recall_at_3: evaluation.figures.recall_at.get(&3).copied(),
            recall_at_1: evaluation.figures.recall_at.get(&1).copied(),
            wrongly_shown: evaluation.figures.wrongly_shown,
        }
    }
}

#[cfg(test)]
#[path = "tune/tests.rs"]
mod tests;
