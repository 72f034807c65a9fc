//! An evaluation as a project keeps it: small, with the outcome of every message, so that a later one can be compared.

use std::collections::BTreeMap;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize, Serializer};
use skillcue_base::{Digest, parse_rfc3339, rfc3339, whole_millis};
use skillcue_select::{Grade, Mode};

use super::{CaseResult, Confusion, EvalCase, EvalError, Evaluation, Figures};

/// The version of the form in which runs are written. A reader refuses those of later ones.
pub const EVAL_RUN_FORM: u32 = 1;

/// Most messages of which a run keeps the outcome; of more, the first.
const MAX_CASES: usize = 10_000;

/// Most characters of a message that a run keeps: enough to know it again.
const MAX_QUERY: usize = 96;

/// One evaluation, as a project keeps it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EvalRun {
    /// The time at which it ended.
    #[serde(serialize_with = "write_time")]
    pub time: SystemTime,
    /// A word for it, if one was given.
    pub label: Option<String>,
    /// The commit that was checked out, if it is known.
    pub commit: Option<String>,
    /// The file with the messages, from the project's directory on.
    pub set: String,
    /// The mode in which messages were matched.
    pub mode: Mode,
    /// The judge's name, if one chose.
    pub judge: Option<String>,
    /// The model that the messages were sent to, if they were.
    pub model: Option<String>,
    /// The number of skills that models might see.
    pub skills: usize,
    /// The eagerness of the disclosures.
    pub eagerness: f32,
    /// Whether it failed a limit. Later runs are not compared with it: a limit that failed would hold the next time.
    #[serde(skip_serializing_if = "is_false")]
    pub failed: bool,
    /// The figures of all messages.
    pub figures: Figures,
    /// The outcome of each message, in the order of the set.
    pub cases: Vec<EvalRunCase>,
    /// The number of messages whose outcome is not kept, because there are too many.
    pub left_out: usize,
}

/// The facts about an evaluation that it does not know itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EvalRunInfo {
    /// See [`EvalRun::time`].
    pub time: SystemTime,
    /// See [`EvalRun::label`].
    pub label: Option<String>,
    /// See [`EvalRun::commit`].
    pub commit: Option<String>,
    /// See [`EvalRun::set`].
    pub set: String,
    /// See [`EvalRun::mode`].
    pub mode: Mode,
    /// See [`EvalRun::model`].
    pub model: Option<String>,
}

/// The outcome of one message.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EvalRunCase {
    /// A short digest of the whole message: equal messages have equal ones.
    pub id: String,
    /// The beginning of the message.
    pub query: String,
    /// The skills of which the message needs one.
    pub relevant: Vec<String>,
    /// The skills that the message must not get.
    pub not_relevant: Vec<String>,
    /// The skill that came first.
    pub first: Option<String>,
    /// Whether that skill was sure enough for its body.
    pub selected: bool,
    /// The certainty of that skill, to a thousandth.
    pub certainty: f32,
    /// The most that was shown: see [`CaseResult::grade`].
    pub grade: Grade,
    /// Whether it was right: see [`CaseResult::right`].
    pub right: bool,
    /// The rank of the first skill that the message needs, from 1.
    pub rank: Option<usize>,
    /// The cost of the turn part.
    pub tokens: usize,
    /// The skills that the model loaded, if the message was sent to one.
    pub loaded: Vec<String>,
    /// Whether the message was sent to a model that gave no answer.
    #[serde(skip_serializing_if = "is_false")]
    pub is_unanswered: bool,
}

impl EvalRun {
    /// Makes what is kept of an evaluation. `cases` is its set.
    ///
    /// ```
    /// use skillcue::eval::{Comparison, EvalCase, EvalOptions, EvalRun, EvalRunInfo, Evaluation};
    /// use skillcue::{Mode, Skillcue};
    ///
    /// let skills = Skillcue::builder().build()?;
    /// let cases = EvalCase::read("{\"query\": \"hello\", \"none\": true}\n", None)?;
    /// let options = EvalOptions { mode: Mode::Hybrid, eagerness: None, sweep: false, judge: false };
    /// let info = EvalRunInfo {
    ///     time: std::time::SystemTime::now(),
    ///     label: Some("before".to_owned()),
    ///     commit: None,
    ///     set: "messages.jsonl".to_owned(),
    ///     mode: Mode::Hybrid,
    ///     model: None,
    /// };
    /// let run = EvalRun::of(&Evaluation::of(&skills, &cases, &options), &cases, info);
    /// assert_eq!(EvalRun::from_json(&run.to_json())?, run);
    /// assert!(Comparison::between(&run, &run).worse.is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn of(evaluation: &Evaluation, cases: &[EvalCase], info: EvalRunInfo) -> EvalRun {
        let EvalRunInfo { time, label, commit, set, mode, model } = info;
        let kept = cases.iter().zip(&evaluation.cases).take(MAX_CASES);
        EvalRun {
            time: whole_millis(time),
            label,
            commit,
            set,
            mode,
            judge: evaluation.judge.as_ref().map(|judge| judge.name.clone()),
            model,
            skills: evaluation.skills,
            eagerness: evaluation.eagerness,
            failed: false,
            figures: evaluation.figures.clone(),
            cases: kept.map(|(case, result)| EvalRunCase::of(case, result)).collect(),
            left_out: cases.len().saturating_sub(MAX_CASES),
        }
    }

    /// Returns whether a run says something about the change since `earlier`: the set, the mode, the eagerness, the judge
    /// and the model are those of `earlier`.
    pub fn continues(&self, earlier: &EvalRun) -> bool {
        (&self.set, self.mode, self.eagerness.to_bits(), &self.judge, &self.model)
            == (&earlier.set, earlier.mode, earlier.eagerness.to_bits(), &earlier.judge, &earlier.model)
    }

    /// Returns whether a later run may be compared with this one: it continues it, and this one failed no limit.
    pub fn is_baseline_of(&self, later: &EvalRun) -> bool {
        !self.failed && later.continues(self)
    }

    /// Returns which skills were taken for which, most frequent first: a confusion matrix without its diagonal.
    pub fn confusions(&self) -> Vec<Confusion> {
        let mut counts: BTreeMap<(Option<&String>, Option<&String>), usize> = BTreeMap::new();
        for case in self.cases.iter().filter(|case| case.is_mistake()) {
            let got = case.first.as_ref().filter(|_| case.selected);
            *counts.entry((case.relevant.first(), got)).or_default() += 1;
        }
        let confusion = |((expected, got), count): ((Option<&String>, Option<&String>), usize)| Confusion {
            expected: expected.cloned(),
            got: got.cloned(),
            count,
        };
        let mut confusions: Vec<Confusion> = counts.into_iter().map(confusion).collect();
        confusions.sort_by_key(|confusion| std::cmp::Reverse(confusion.count));
        confusions
    }

    /// Returns which skills came first where others are needed, most frequent first, however sure they were.
    pub fn first_confusions(&self) -> Vec<Confusion> {
        super::count_firsts(self.cases.iter().map(|case| (&case.relevant[..], case.first.as_ref())))
    }

    /// Replaces the beginnings of messages by the whole messages, as far as they are among `messages`.
    pub fn complete<'m>(&mut self, messages: impl IntoIterator<Item = &'m str>) {
        let by_id: BTreeMap<String, &str> = messages.into_iter().map(|message| (id(message), message)).collect();
        for case in &mut self.cases {
            if let Some(message) = by_id.get(&case.id) {
                (*message).clone_into(&mut case.query);
            }
        }
    }

    /// Writes the run as its file has it: one JSON document, names in a table, an array a message.
    pub fn to_json(&self) -> String {
        let mut names: Vec<&str> = Vec::new();
        let mut by_name: BTreeMap<&str, usize> = BTreeMap::new();
        let named = |case: &'_ EvalRunCase| {
            [&case.relevant[..], &case.not_relevant, case.first.as_slice(), &case.loaded].concat()
        };
        let all: Vec<String> = self.cases.iter().flat_map(named).collect();
        for name in &all {
            by_name.entry(name).or_insert_with(|| {
                names.push(name);
                names.len() - 1
            });
        }
        let row = |case: &EvalRunCase| CaseRow::of(case, &by_name);
        let stored = StoredRun {
            form: EVAL_RUN_FORM,
            time: rfc3339(self.time),
            label: self.label.clone(),
            commit: self.commit.clone(),
            set: self.set.clone(),
            mode: self.mode,
            judge: self.judge.clone(),
            model: self.model.clone(),
            skills: self.skills,
            eagerness: self.eagerness,
            failed: self.failed,
            figures: self.figures.clone(),
            names: names.into_iter().map(str::to_owned).collect(),
            cases: self.cases.iter().map(row).collect(),
            left_out: self.left_out,
        };
        serde_json::to_string(&stored).unwrap_or_default()
    }

    /// Reads a run from its file.
    pub fn from_json(text: &str) -> Result<EvalRun, EvalError> {
        let refuse = |message: String| EvalError { line: 0, message };
        let broken = |error: serde_json::Error| refuse(format!("it is no kept evaluation: {error}"));
        let StoredForm { form } = serde_json::from_str(text).map_err(broken)?;
        if form != EVAL_RUN_FORM {
            return Err(refuse(format!("its form is {form}, and this version reads form {EVAL_RUN_FORM}")));
        }
        let stored: StoredRun = serde_json::from_str(text).map_err(broken)?;
        let time = parse_rfc3339(&stored.time).ok_or_else(|| refuse(format!("its time is {:?}", stored.time)))?;
        let case = |row: CaseRow| row.case(&stored.names);
        let cases: Option<Vec<EvalRunCase>> = stored.cases.into_iter().map(case).collect();
        Ok(EvalRun {
            time,
            label: stored.label,
            commit: stored.commit,
            set: stored.set,
            mode: stored.mode,
            judge: stored.judge,
            model: stored.model,
            skills: stored.skills,
            eagerness: stored.eagerness,
            failed: stored.failed,
            figures: stored.figures,
            cases: cases.ok_or_else(|| refuse("a message names a skill that its table has not".to_owned()))?,
            left_out: stored.left_out,
        })
    }
}

impl EvalRunCase {
    fn of(case: &EvalCase, result: &CaseResult) -> EvalRunCase {
        EvalRunCase {
            id: id(&case.query),
            query: beginning(&case.query),
            relevant: case.relevant.clone(),
            not_relevant: case.not_relevant.clone(),
            first: result.first.clone(),
            selected: result.selected,
            certainty: f32::from(thousandths(result.certainty)) / 1000.0,
            grade: result.grade,
            right: result.right,
            rank: result.rank,
            tokens: result.tokens,
            loaded: Vec::new(),
            is_unanswered: false,
        }
    }

    /// Returns whether the message is all there, and not its beginning only.
    pub fn is_whole(&self) -> bool {
        id(&self.query) == self.id
    }

    /// Returns whether the wrong skill was selected, or none where one is needed.
    pub fn is_mistake(&self) -> bool {
        let is_one_of = |names: &[String]| self.first.as_ref().is_some_and(|first| names.contains(first));
        match self.selected && self.first.is_some() {
            true if !self.relevant.is_empty() => !is_one_of(&self.relevant),
            true => self.not_relevant.is_empty() || is_one_of(&self.not_relevant),
            false => !self.relevant.is_empty(),
        }
    }
}

/// Returns the short digest by which a message is known again.
fn id(query: &str) -> String {
    let mut digest = Digest::of(query).to_string();
    digest.truncate(12);
    digest
}

fn beginning(query: &str) -> String {
    let query = query.trim_start();
    match query.char_indices().nth(MAX_QUERY) {
        Some((end, _)) => format!("{}…", query[..end].trim_end()),
        None => query.trim_end().to_owned(),
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a certainty is from 0 to 1")]
fn thousandths(share: f32) -> u16 {
    (share.clamp(0.0, 1.0) * 1000.0).round() as u16
}

fn write_time<S: Serializer>(time: &SystemTime, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&rfc3339((*time).max(UNIX_EPOCH)))
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_false(flag: &bool) -> bool {
    !*flag
}

#[derive(Deserialize)]
struct StoredForm {
    form: u32,
}

/// A run as its file has it.
#[derive(Serialize, Deserialize)]
struct StoredRun {
    form: u32,
    time: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    label: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    commit: Option<String>,
    set: String,
    mode: Mode,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    judge: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    model: Option<String>,
    skills: usize,
    eagerness: f32,
    #[serde(default, skip_serializing_if = "is_false")]
    failed: bool,
    figures: Figures,
    names: Vec<String>,
    cases: Vec<CaseRow>,
    #[serde(default)]
    left_out: usize,
}

/// A message as the file of a run has it: `[id, query, relevant, not_relevant, first, certainty, grade, flags, rank,
/// tokens, loaded]`. Skills are numbers of `names`, `first` and `rank` are null if there is none, the certainty is in
/// thousandths, the grade 0 to 2 (nothing, name, body), and the flags are 1 if right, 2 if
/// selected, 4 if the model gave no answer.
#[derive(Serialize, Deserialize)]
struct CaseRow(String, String, Vec<usize>, Vec<usize>, Option<usize>, u16, u8, u8, Option<usize>, usize, Vec<usize>);

const RIGHT: u8 = 1;
const SELECTED: u8 = 2;
const UNANSWERED: u8 = 4;

impl CaseRow {
    fn of(case: &EvalRunCase, numbers: &BTreeMap<&str, usize>) -> CaseRow {
        let number = |name: &String| numbers.get(name.as_str()).copied();
        let all = |names: &[String]| names.iter().filter_map(number).collect();
        CaseRow(
            case.id.clone(),
            case.query.clone(),
            all(&case.relevant),
            all(&case.not_relevant),
            case.first.as_ref().and_then(number),
            thousandths(case.certainty),
            case.grade as u8,
            u8::from(case.right) * RIGHT
                + u8::from(case.selected) * SELECTED
                + u8::from(case.is_unanswered) * UNANSWERED,
            case.rank,
            case.tokens,
            all(&case.loaded),
        )
    }

    fn case(self, names: &[String]) -> Option<EvalRunCase> {
        let CaseRow(id, query, relevant, not_relevant, first, certainty, grade, flags, rank, tokens, loaded) = self;
        let all = |numbers: Vec<usize>| -> Option<Vec<String>> {
            numbers.into_iter().map(|number| names.get(number).cloned()).collect()
        };
        Some(EvalRunCase {
            id,
            query,
            relevant: all(relevant)?,
            not_relevant: all(not_relevant)?,
            first: match first {
                Some(number) => Some(names.get(number)?.clone()),
                None => None,
            },
            selected: flags & SELECTED != 0,
            certainty: f32::from(certainty.min(1000)) / 1000.0,
            grade: match grade {
                0 => Grade::Nothing,
                1 => Grade::Name,
                _ => Grade::Body,
            },
            right: flags & RIGHT != 0,
            rank,
            tokens,
            loaded: all(loaded)?,
            is_unanswered: flags & UNANSWERED != 0,
        })
    }
}

#[cfg(test)]
#[path = "run_tests.rs"]
mod tests;
