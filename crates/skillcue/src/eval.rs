//! Labelled messages, and the quality of selection and disclosure on them.
//!
//! Two forms are read. Authors of one skill keep a JSON list of `{"query", "should_trigger"}` (or an object with that
//! list under `evals` and the skill's name under `skill_name`); sets over many skills have one JSON object a line,
//! `{"query", "relevant": [names]}`, where an empty list, `"none": true` or `"not_relevant": [names]` says what must
//! not happen. A line may have the language of its message as `lang`.
//!
//! Each message is selected for once and disclosed as [`Skillcue::disclose`] would by [`Policy::Inject`], without a
//! session, so that what counts as shown is what a model would have been shown.

mod comparison;
mod figures;
mod judge;
mod model;
mod outcome;
mod run;
mod set;

use std::collections::{BTreeMap, BTreeSet};

use rayon::prelude::*;
use serde::Serialize;
use skillcue_disclose::Policy;
use skillcue_select::Mode;

use crate::Skillcue;
use figures::Tally;
use outcome::{CaseRun, MessageOutcome};

pub use comparison::{CaseChange, CaseOutcome, Comparison, FigureChange};
pub use figures::{Bucket, Figures, TokenCost, TokenFigures};
pub use judge::JudgeFigures;
pub use model::{ModelOutcome, ModelShares};
pub use outcome::CaseResult;
pub use run::{EVAL_RUN_FORM, EvalRun, EvalRunCase, EvalRunInfo};
pub use set::{EvalCase, EvalError};

/// Options of an evaluation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EvalOptions {
    /// The mode in which messages are matched.
    pub mode: Mode,
    /// The eagerness of disclosures; `None` for that of the [`Skillcue`]'s configuration.
    pub eagerness: Option<f32>,
    /// Whether to tell how the figures change with the eagerness: [`Evaluation::sweep`].
    pub sweep: bool,
    /// Whether the [judge](crate::select::Judge) of the [`Skillcue`] chooses, if it has one.
    pub judge: bool,
}

/// The quality of selection and disclosure on a set of messages.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Evaluation {
    /// The number of skills that models may see.
    pub skills: usize,
    /// The eagerness of the disclosures.
    pub eagerness: f32,
    /// The judge's part, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub judge: Option<JudgeFigures>,
    /// The figures of all messages.
    #[serde(flatten)]
    pub figures: Figures,
    /// The figures of each language.
    pub languages: BTreeMap<String, Figures>,
    /// The certainty of best hits, and how often they were right: a bucket for each tenth of certainty.
    pub calibration: Vec<Bucket>,
    /// Skills that were taken for others, most frequent first.
    pub confusions: Vec<Confusion>,
    /// The mistakes, the surest first.
    pub worst: Vec<Mistake>,
    /// Names in the set that no usable skill has.
    pub unknown: Vec<String>,
    /// The figures at an eagerness of 0, 0.1 and so on to 1, if they were asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sweep: Vec<SweepRow>,
    /// The result for each message, in the order of the set.
    pub cases: Vec<CaseResult>,
}

/// The figures that change with the eagerness, at one eagerness.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct SweepRow {
    /// The eagerness.
    pub eagerness: f32,
    /// Like [`Figures::shown`].
    pub shown: Option<f64>,
    /// Like [`Figures::named`].
    pub named: Option<f64>,
    /// Like [`Figures::wrong_bodies`].
    pub wrong_bodies: Option<f64>,
    /// Like [`Figures::wrongly_shown`].
    pub wrongly_shown: Option<f64>,
    /// Like [`Figures::wrongly_named`].
    pub wrongly_named: Option<f64>,
    /// Like [`Figures::tokens`].
    pub tokens: TokenFigures,
}

/// One skill taken for another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Confusion {
    /// The skill that was needed; `None` for a message that needs none.
    pub expected: Option<String>,
    /// The skill that came first; `None` if none was selected.
    pub got: Option<String>,
    /// The number of messages.
    pub count: usize,
}

/// A message for which the wrong thing was selected, or nothing.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Mistake {
    /// The message.
    pub query: String,
    /// The skills of which the message needs one.
    pub expected: Vec<String>,
    /// The skill that came first.
    pub got: Option<String>,
    /// The certainty of that skill.
    pub confidence: f32,
}

/// The number of mistakes that are kept.
const MAX_MISTAKES: usize = 20;

/// The eagernesses of a sweep.
const SWEEP: [f32; 11] = [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0];

impl Evaluation {
    /// Selects and discloses skills for each message of a set, and compares.
    pub fn of(skills: &Skillcue, cases: &[EvalCase], options: &EvalOptions) -> Evaluation {
        let snapshot = skills.snapshot();
        let usual = snapshot.discloser();
        let eagerness = options.eagerness.unwrap_or(usual.config().eagerness);
        let injecting = (usual.config().policy != Policy::Inject)
            .then(|| snapshot.discloser_with(Policy::Inject, usual.config().budget()));
        let discloser = injecting.as_ref().unwrap_or(usual);
        snapshot.prepare(options.mode);
        discloser.eager();
        let census = snapshot.selector().census(&snapshot.catalog);
        let judging = skills.judging.as_ref().filter(|_| options.judge && options.mode != Mode::Keyword);
        let run = CaseRun { skills, snapshot: &snapshot, discloser, census, mode: options.mode, judging };
        let mut eagernesses = vec![eagerness];
        eagernesses.extend(if options.sweep { &SWEEP[..] } else { &[] });
        let outcome = |case| run.outcome(case, &eagernesses);
        // A sentence model uses all cores for one message. Called by all cores at once, one that waits would begin with
        // further messages meanwhile, until the stack overflows.
        let outcomes: Vec<MessageOutcome> = if snapshot.uses_meaning(options.mode) {
            cases.iter().map(outcome).collect()
        } else {
            cases.par_iter().map(outcome).collect()
        };

        let (mut all, mut by_language) = (Tally::default(), BTreeMap::<String, Tally>::new());
        let mut sweep = vec![Tally::default(); eagernesses.len() - 1];
        for (case, outcome) in cases.iter().zip(&outcomes) {
            all.add(case, outcome, 0);
            let lang = case.lang.clone().unwrap_or_else(|| skillcue_select::language_of(&case.query).to_owned());
            by_language.entry(lang).or_default().add(case, outcome, 0);
            for (at, tally) in sweep.iter_mut().enumerate() {
                tally.add(case, outcome, at + 1);
            }
        }
        let (confusions, worst) = mistakes(cases, &outcomes);
        let row = |(eagerness, tally): (f32, Tally)| SweepRow::of(eagerness, &tally.figures());
        Evaluation {
            skills: census.visible,
            eagerness,
            judge: judging.map(|judging| JudgeFigures::of(judging.name(), &outcomes)),
            figures: all.figures(),
            languages: by_language.into_iter().map(|(lang, tally)| (lang, tally.figures())).collect(),
            calibration: all.calibration(),
            confusions,
            worst,
            unknown: unknown(skills, cases),
            sweep: SWEEP.into_iter().zip(sweep).map(row).collect(),
            cases: cases.iter().zip(outcomes).map(|(case, outcome)| outcome.result(case)).collect(),
        }
    }
}

impl Evaluation {
    /// Returns which skills came first where others are needed, most frequent first, however sure they were. `cases` is
    /// the set.
    pub fn first_confusions(&self, cases: &[EvalCase]) -> Vec<Confusion> {
        let firsts = cases.iter().zip(&self.cases);
        count_firsts(firsts.map(|(case, result)| (&case.relevant[..], result.first.as_ref())))
    }
}

/// Counts the first skills that are none of the needed ones.
fn count_firsts<'c>(firsts: impl Iterator<Item = (&'c [String], Option<&'c String>)>) -> Vec<Confusion> {
    let mut counts: BTreeMap<(&String, &String), usize> = BTreeMap::new();
    for (relevant, first) in firsts {
        if let (Some(expected), Some(first)) = (relevant.first(), first.filter(|first| !relevant.contains(first))) {
            *counts.entry((expected, first)).or_default() += 1;
        }
    }
    let confusion = |((expected, got), count): ((&String, &String), usize)| Confusion {
        expected: Some(expected.clone()),
        got: Some(got.clone()),
        count,
    };
    let mut confusions: Vec<Confusion> = counts.into_iter().map(confusion).collect();
    confusions.sort_by_key(|confusion| std::cmp::Reverse(confusion.count));
    confusions
}

impl SweepRow {
    fn of(eagerness: f32, figures: &Figures) -> SweepRow {
        let Figures { shown, named, wrong_bodies, wrongly_shown, wrongly_named, tokens, .. } = *figures;
        SweepRow { eagerness, shown, named, wrong_bodies, wrongly_shown, wrongly_named, tokens }
    }
}

/// Returns the names in a set that no usable skill has.
fn unknown(skills: &Skillcue, cases: &[EvalCase]) -> Vec<String> {
    let catalog = skills.catalog();
    let is_usable = |name: &str| catalog.get(name).is_some_and(|skill| skill.enabled() && skill.available());
    let names: BTreeSet<&String> =
        cases.iter().flat_map(|case| case.relevant.iter().chain(&case.not_relevant)).collect();
    names.into_iter().filter(|name| !is_usable(name)).cloned().collect()
}

/// Returns which skills were taken for which, and the mistakes themselves.
fn mistakes(cases: &[EvalCase], outcomes: &[MessageOutcome]) -> (Vec<Confusion>, Vec<Mistake>) {
    let mut counts: BTreeMap<(Option<String>, Option<String>), usize> = BTreeMap::new();
    let mut worst = Vec::new();
    for (case, outcome) in cases.iter().zip(outcomes).filter(|(case, outcome)| outcome.is_mistake(case)) {
        let got = outcome.selected().map(str::to_owned);
        *counts.entry((case.relevant.first().cloned(), got.clone())).or_default() += 1;
        let confidence = if got.is_some() { outcome.certainty } else { 0.0 };
        worst.push(Mistake { query: case.query.clone(), expected: case.relevant.clone(), got, confidence });
    }
    worst.sort_by(|a, b| b.confidence.total_cmp(&a.confidence));
    worst.truncate(MAX_MISTAKES);
    let confusion = |((expected, got), count)| Confusion { expected, got, count };
    let mut confusions: Vec<Confusion> = counts.into_iter().map(confusion).collect();
    confusions.sort_by_key(|confusion| std::cmp::Reverse(confusion.count));
    (confusions, worst)
}
