//! Two evaluations of one set: which figures and which messages got better or worse.

use std::collections::{BTreeSet, HashMap};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use skillcue_select::Grade;

use super::{CaseResult, EvalCase, EvalError, EvalRun, EvalRunCase, Evaluation, ModelOutcome};

/// The difference between an earlier evaluation and this one.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    /// Every figure that either has.
    pub figures: Vec<FigureChange>,
    /// Messages for which more of the right skill, or less of a wrong one, is shown than before.
    pub better: Vec<CaseChange>,
    /// Messages for which it is the other way round.
    pub worse: Vec<CaseChange>,
    /// The number of messages that only one of the two has.
    pub unmatched: usize,
}

/// A figure in two evaluations.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FigureChange {
    /// Its path in the JSON of an evaluation: `tokens.all.mean`.
    pub figure: String,
    /// The earlier value.
    pub old: Option<f64>,
    /// The value now.
    pub new: Option<f64>,
}

/// A message whose result changed.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CaseChange {
    /// The message.
    pub query: String,
    /// The skills of which the message needs one.
    pub expected: Vec<String>,
    /// The earlier result.
    pub old: CaseOutcome,
    /// The result now.
    pub new: CaseOutcome,
}

/// The part of a [`CaseResult`] that is compared.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CaseOutcome {
    /// The most that was shown: see [`CaseResult::grade`].
    pub grade: Grade,
    /// The skill that came first.
    pub first: Option<String>,
    /// Its certainty.
    pub certainty: f32,
    /// Whether it was right: see [`CaseResult::right`].
    pub right: bool,
    /// The model's part, if both evaluations have one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<ModelOutcome>,
}

/// The paths of figures in the JSON of an evaluation, in the order in which they are shown.
const FIGURES: [&str; 26] = [
    "skills",
    "eagerness",
    "positives",
    "negatives",
    "recall_at.1",
    "recall_at.3",
    "recall_at.5",
    "shown",
    "named",
    "wrong_bodies",
    "wrongly_shown",
    "wrongly_named",
    "precision",
    "false_triggers",
    "calibration_error",
    "tokens.all.mean",
    "tokens.all.p95",
    "tokens.needed.mean",
    "tokens.needed.p95",
    "tokens.must_not.mean",
    "tokens.must_not.p95",
    "tokens.none.mean",
    "tokens.none.p95",
    "model.reached",
    "model.wrongly_loaded",
    "model.loaded_for_nothing",
];

#[derive(Deserialize)]
struct OldCases {
    cases: Vec<CaseResult>,
}

impl Comparison {
    /// Compares with an earlier evaluation, as its JSON was printed. `cases` is the set of the new one.
    ///
    /// ```
    /// use skillcue::eval::{Comparison, EvalCase, EvalOptions, Evaluation};
    /// use skillcue::{Mode, Skillcue};
    ///
    /// let skills = Skillcue::builder().build()?;
    /// let cases = EvalCase::read("{\"query\": \"hello\", \"none\": true}\n", None)?;
    /// let options = EvalOptions { mode: Mode::Hybrid, eagerness: None, sweep: false, judge: false };
    /// let now = Evaluation::of(&skills, &cases, &options);
    /// let compared = Comparison::of(&serde_json::to_string(&now)?, &now, &cases)?;
    /// assert!(compared.better.is_empty() && compared.worse.is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn of(old: &str, new: &Evaluation, cases: &[EvalCase]) -> Result<Comparison, EvalError> {
        let refuse = |message: String| EvalError { line: 0, message };
        let broken = |error: serde_json::Error| refuse(format!("it is no evaluation: {error}"));
        let old: Value = serde_json::from_str(old.trim_start_matches('\u{feff}')).map_err(broken)?;
        if old.get("cases").is_none() {
            let what = "it has no `cases`: it is not what `eval --json` prints, or an older version printed it";
            return Err(refuse(what.to_owned()));
        }
        let figures = figures(&old, &serde_json::to_value(new).map_err(broken)?);
        let OldCases { cases: before } = OldCases::deserialize(&old).map_err(broken)?;
        let before: Vec<ComparedCase<'_>> = before.iter().map(ComparedCase::of_result).collect();
        let now = cases.iter().zip(&new.cases);
        let now =
            now.map(|(case, result)| ComparedCase { relevant: &case.relevant, ..ComparedCase::of_result(result) });
        Ok(Comparison::of_cases(figures, &before, &now.collect::<Vec<_>>()))
    }

    /// Compares two kept runs. Messages are those of both; long ones are shown by their beginnings.
    pub fn between(old: &EvalRun, new: &EvalRun) -> Comparison {
        let document = |run: &EvalRun| {
            let mut figures = serde_json::to_value(&run.figures).unwrap_or_default();
            figures["skills"] = run.skills.into();
            figures["eagerness"] = run.eagerness.into();
            if let Some(shares) = run.model_shares() {
                figures["model"] = serde_json::to_value(shares).unwrap_or_default();
            }
            figures
        };
        let has_models = old.model.is_some() && new.model.is_some();
        let compared = |case| ComparedCase::of_kept(case, has_models);
        let [before, now] = [old, new].map(|run| run.cases.iter().map(compared).collect::<Vec<_>>());
        Comparison::of_cases(figures(&document(old), &document(new)), &before, &now)
    }

    fn of_cases(figures: Vec<FigureChange>, before: &[ComparedCase<'_>], now: &[ComparedCase<'_>]) -> Comparison {
        let mut comparison = Comparison { figures, better: Vec::new(), worse: Vec::new(), unmatched: 0 };
        // A set may have a message twice: the first goes with the first.
        let mut by_key: HashMap<&str, Vec<&ComparedCase<'_>>> = HashMap::new();
        for case in before.iter().rev() {
            by_key.entry(case.key).or_default().push(case);
        }
        for case in now {
            let Some(earlier) = by_key.get_mut(case.key).and_then(Vec::pop) else {
                comparison.unmatched += 1;
                continue;
            };
            let quality = |outcome: &CaseOutcome| {
                let grade = if case.relevant.is_empty() { 2 - outcome.grade as u8 } else { outcome.grade as u8 };
                (grade, outcome.right)
            };
            // What the model made of it comes first: that is what was asked for. Without an answer, there is nothing to say.
            let of_model = match (case.outcome.model, earlier.outcome.model) {
                (Some(now), Some(before)) => now.quality().cmp(&before.quality()),
                _ => std::cmp::Ordering::Equal,
            };
            let list = match of_model.then_with(|| quality(&case.outcome).cmp(&quality(&earlier.outcome))) {
                std::cmp::Ordering::Greater => &mut comparison.better,
                std::cmp::Ordering::Less => &mut comparison.worse,
                std::cmp::Ordering::Equal => continue,
            };
            list.push(CaseChange {
                query: case.query.to_owned(),
                expected: case.relevant.to_vec(),
                old: earlier.outcome.clone(),
                new: case.outcome.clone(),
            });
        }
        comparison.unmatched += by_key.values().map(Vec::len).sum::<usize>();
        comparison
    }
}

/// A message of either of two evaluations.
struct ComparedCase<'c> {
    /// The part that is equal in both: the message itself, or its digest.
    key: &'c str,
    query: &'c str,
    relevant: &'c [String],
    outcome: CaseOutcome,
}

impl ComparedCase<'_> {
    fn of_result(result: &CaseResult) -> ComparedCase<'_> {
        let outcome = CaseOutcome {
            grade: result.grade,
            first: result.first.clone(),
            certainty: result.certainty,
            right: result.right,
            model: None,
        };
        ComparedCase { key: &result.query, query: &result.query, relevant: &[], outcome }
    }

    fn of_kept(case: &EvalRunCase, has_models: bool) -> ComparedCase<'_> {
        let outcome = CaseOutcome {
            grade: case.grade,
            first: case.first.clone(),
            certainty: case.certainty,
            right: case.right,
            model: case.model_outcome().filter(|_| has_models),
        };
        ComparedCase { key: &case.id, query: &case.query, relevant: &case.relevant, outcome }
    }
}

fn figures(old: &Value, new: &Value) -> Vec<FigureChange> {
    let at = |document: &Value, path: &str| {
        let pointer = format!("/{}", path.replace('.', "/"));
        document.pointer(&pointer).and_then(Value::as_f64)
    };
    let change = |path: String| {
        let (old, new) = (at(old, &path), at(new, &path));
        (old.is_some() || new.is_some()).then_some(FigureChange { figure: path, old, new })
    };
    let languages = [old, new].into_iter().filter_map(|document| document.get("languages")?.as_object());
    let languages: BTreeSet<&String> = languages.flat_map(serde_json::Map::keys).collect();
    let of_language = |language| FIGURES.map(|figure| format!("languages.{language}.{figure}"));
    let paths = FIGURES.map(str::to_owned).into_iter().chain(languages.into_iter().flat_map(of_language));
    paths.filter_map(change).collect()
}
