//! Two evaluations of one set: which figures and which messages got better or worse.

use std::collections::{BTreeSet, HashMap};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use skillcue_select::Grade;

use super::{CaseResult, EvalCase, EvalError, Evaluation};

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
}

/// The paths of figures in the JSON of an evaluation, in the order in which they are shown.
const FIGURES: [&str; 23] = [
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
        let mut comparison = Comparison { figures, better: Vec::new(), worse: Vec::new(), unmatched: 0 };
        // A set may have a message twice: the first goes with the first.
        let mut by_query: HashMap<&str, Vec<&CaseResult>> = HashMap::new();
        for case in before.iter().rev() {
            by_query.entry(&case.query).or_default().push(case);
        }
        for (case, result) in cases.iter().zip(&new.cases) {
            let Some(earlier) = by_query.get_mut(case.query.as_str()).and_then(Vec::pop) else {
                comparison.unmatched += 1;
                continue;
            };
            let quality = |result: &CaseResult| {
                let grade = if case.relevant.is_empty() { 2 - result.grade as u8 } else { result.grade as u8 };
                (grade, result.right)
            };
            let list = match quality(result).cmp(&quality(earlier)) {
                std::cmp::Ordering::Greater => &mut comparison.better,
                std::cmp::Ordering::Less => &mut comparison.worse,
                std::cmp::Ordering::Equal => continue,
            };
            let outcome = |result: &CaseResult| CaseOutcome {
                grade: result.grade,
                first: result.first.clone(),
                certainty: result.certainty,
                right: result.right,
            };
            list.push(CaseChange {
                query: case.query.clone(),
                expected: case.relevant.clone(),
                old: outcome(earlier),
                new: outcome(result),
            });
        }
        comparison.unmatched += by_query.values().map(Vec::len).sum::<usize>();
        Ok(comparison)
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
