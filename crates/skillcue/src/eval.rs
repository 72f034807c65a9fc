//! Labelled messages, and the quality of selection on them.
//!
//! Two forms are read. Authors of one skill keep a JSON list of `{"query", "should_trigger"}` (or an object with that
//! list under `evals` and the skill's name under `skill_name`); sets over many skills have one JSON object a line,
//! `{"query", "relevant": [names]}`, where an empty list, `"none": true` or `"not_relevant": [names]` says what must
//! not happen.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use skillcue_select::Mode;

use crate::{Request, Skillcue};

/// A message and the skills that it should select.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EvalCase {
    /// The message.
    pub query: String,
    /// Skills of which at least one is needed. None: the message needs none of them, or none at all.
    pub relevant: Vec<String>,
    /// Skills that must not be selected. Empty for a message that needs none: then no skill must be.
    pub not_relevant: Vec<String>,
}

/// The reason why a set of messages cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct EvalError {
    /// The line of the file, where there is one.
    pub line: usize,
    /// A sentence on what is wrong with the line.
    pub message: String,
}

#[derive(Deserialize)]
struct EvalRecord {
    query: String,
    should_trigger: Option<bool>,
    relevant: Option<Vec<String>>,
    not_relevant: Option<Vec<String>>,
    #[serde(default)]
    none: bool,
}

/// A list that says which skill it is about.
#[derive(Deserialize)]
struct NamedEvalSet {
    #[serde(alias = "skill")]
    skill_name: Option<String>,
    #[serde(alias = "queries", alias = "cases")]
    evals: Vec<EvalRecord>,
}

impl EvalCase {
    /// Reads a set in either form. `skill` is the one that `should_trigger` is about, unless the file names it.
    ///
    /// ```
    /// use skillcue::eval::EvalCase;
    ///
    /// let lines = "{\"query\": \"fill in this form\", \"relevant\": [\"pdf-forms\"]}\n{\"query\": \"hi\", \"relevant\": []}\n";
    /// assert_eq!(EvalCase::read(lines, None)?[0].relevant, ["pdf-forms"]);
    ///
    /// let list = "[{\"query\": \"fill in this form\", \"should_trigger\": true}]";
    /// assert_eq!(EvalCase::read(list, Some("pdf-forms"))?[0].relevant, ["pdf-forms"]);
    /// # Ok::<(), skillcue::eval::EvalError>(())
    /// ```
    pub fn read(text: &str, skill: Option<&str>) -> Result<Vec<EvalCase>, EvalError> {
        let text = text.trim_start_matches('\u{feff}');
        let all = |records: Vec<EvalRecord>, skill| records.into_iter().map(|record| record.case(0, skill)).collect();
        // One document: a list, or an object with a list. Otherwise one object a line.
        if text.trim_start().starts_with('[') {
            let records = serde_json::from_str(text).map_err(|error| broken(error.line(), &error))?;
            return all(records, skill);
        }
        match serde_json::from_str::<NamedEvalSet>(text) {
            Ok(named) => return all(named.evals, named.skill_name.as_deref().or(skill)),
            Err(error) if !is_lines(text) => {
                // A syntax error is reported before a missing field.
                let error = serde_json::from_str::<serde::de::IgnoredAny>(text).err().unwrap_or(error);
                return Err(broken(error.line(), &error));
            }
            Err(_) => {}
        }
        let mut cases = Vec::new();
        for (line, text) in (1..).zip(text.lines()).filter(|(_, text)| !text.trim().is_empty()) {
            let record: EvalRecord = serde_json::from_str(text).map_err(|error| broken(line, &error))?;
            cases.push(record.case(line, skill)?);
        }
        Ok(cases)
    }

    fn needs_none(&self) -> bool {
        self.relevant.is_empty() && self.not_relevant.is_empty()
    }
}

/// Returns whether a text is, or was meant to be, one object a line.
fn is_lines(text: &str) -> bool {
    let first = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    first.trim_start().starts_with('{') && serde_json::from_str::<serde::de::IgnoredAny>(first).is_ok()
        || first.is_empty()
}

fn broken(line: usize, error: &serde_json::Error) -> EvalError {
    // It counts lines from where it began to read, which was not always the file's beginning.
    let place = format!(" at line {} column {}", error.line(), error.column());
    let what = error.to_string();
    let what = what.strip_suffix(&place).unwrap_or(&what);
    EvalError { line, message: format!("line {line} is not as expected: {what}") }
}

impl EvalRecord {
    fn case(self, line: usize, skill: Option<&str>) -> Result<EvalCase, EvalError> {
        let query = self.query;
        let Some(should) = self.should_trigger else {
            // A misspelt `relevant` must not pass for a message that needs nothing.
            if self.relevant.is_none() && self.not_relevant.is_none() && !self.none {
                let start: String = query.chars().take(60).collect();
                let message =
                    format!("{start:?} has no label: add `relevant`, `not_relevant`, `none` or `should_trigger`");
                return Err(EvalError { line, message });
            }
            let relevant = self.relevant.unwrap_or_default();
            let not_relevant = if self.none { Vec::new() } else { self.not_relevant.unwrap_or_default() };
            return Ok(EvalCase { query, relevant, not_relevant });
        };
        let Some(skill) = skill else {
            let message = "`should_trigger` is about one skill, and none is named".to_owned();
            return Err(EvalError { line, message });
        };
        let this = vec![skill.to_owned()];
        let (relevant, not_relevant) = if should { (this, Vec::new()) } else { (Vec::new(), this) };
        Ok(EvalCase { query, relevant, not_relevant })
    }
}

/// Options of an evaluation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EvalOptions {
    /// The mode in which messages are matched.
    pub mode: Mode,
    /// The certainty from which the best hit counts as selected, if its text is the only reason. A trigger or a mention
    /// always selects, as it does in a disclosure.
    pub threshold: f32,
}

/// The quality of selection on a set of messages.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Evaluation {
    /// The number of messages that need a skill.
    pub positives: usize,
    /// The number of messages that need none, or must not select some.
    pub negatives: usize,
    /// The share of the messages that need a skill that have one of theirs among the first 1, 3 and 5 hits. Empty if
    /// none needs one.
    pub recall_at: BTreeMap<u8, f64>,
    /// The share of the messages for which a skill was selected that got one that they need first. `None` if none was
    /// selected.
    pub precision: Option<f64>,
    /// The share of the messages that need no skill that had one selected (of those that must not select some: one of
    /// these first). `None` without such messages.
    pub false_triggers: Option<f64>,
    /// The certainty of best hits, and how often they were right: a bucket for each tenth of certainty.
    pub calibration: Vec<Bucket>,
    /// Skills that were taken for others, most frequent first.
    pub confusions: Vec<Confusion>,
    /// The mistakes, the surest first.
    pub worst: Vec<Mistake>,
    /// Names in the set that no usable skill has.
    pub unknown: Vec<String>,
}

/// Best hits of about one certainty.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Bucket {
    /// The least certainty in it; the most is a tenth more.
    pub from: f32,
    /// The number of hits.
    pub hits: usize,
    /// The number of hits that were right.
    pub right: usize,
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

impl Evaluation {
    /// Selects skills for each message of a set, and compares.
    pub fn of(skills: &Skillcue, cases: &[EvalCase], options: &EvalOptions) -> Evaluation {
        let mut tally = Tally::default();
        for case in cases {
            let hits = skills.select(&Request::new(&case.query).mode(options.mode).limit(5)).hits;
            let names: Vec<&str> = hits.iter().map(|hit| hit.name.as_str()).collect();
            // The certainty decides, and not how well the first fits by itself.
            let confidence = hits.first().map_or(0.0, |hit| hit.certainty);
            let sure = hits.first().is_some_and(|hit| hit.is_sure(options.threshold));
            tally.add(case, &names, confidence, sure);
        }
        let catalog = skills.catalog();
        let is_usable = |name: &str| catalog.get(name).is_some_and(|skill| skill.enabled() && skill.available());
        let mut unknown: Vec<String> = cases
            .iter()
            .flat_map(|case| case.relevant.iter().chain(&case.not_relevant))
            .filter(|name| !is_usable(name))
            .cloned()
            .collect();
        unknown.sort_unstable();
        unknown.dedup();
        tally.close(unknown)
    }
}

#[derive(Default)]
struct Tally {
    positives: usize,
    negatives: usize,
    found: [usize; 3],
    selected: usize,
    right: usize,
    false_triggers: usize,
    buckets: [(usize, usize); 10],
    confusions: BTreeMap<(Option<String>, Option<String>), usize>,
    mistakes: Vec<Mistake>,
}

impl Tally {
    fn add(&mut self, case: &EvalCase, names: &[&str], confidence: f32, sure: bool) {
        let is_relevant = |name: &&str| case.relevant.iter().any(|wanted| wanted == name);
        let first = names.first().copied();
        let selected = first.filter(|_| sure);
        let right = first.is_some_and(|name| is_relevant(&name));
        if case.relevant.is_empty() {
            self.negatives += 1;
        } else {
            self.positives += 1;
            for (found, k) in self.found.iter_mut().zip([1, 3, 5]) {
                *found += usize::from(names.iter().take(k).any(is_relevant));
            }
        }
        // A message that must not select one skill says nothing about another that came first.
        let forbidden = |name: &str| case.not_relevant.iter().any(|other| other == name);
        let telling = !case.relevant.is_empty() || case.needs_none() || first.is_some_and(forbidden);
        if first.is_some() && telling {
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a confidence is from 0 to 1")]
            let bucket = &mut self.buckets[((confidence * 10.0) as usize).min(9)];
            bucket.0 += 1;
            bucket.1 += usize::from(right);
        }
        let wrong = match selected {
            Some(name) if case.relevant.is_empty() => case.needs_none() || forbidden(name),
            Some(_) => !right,
            None => !case.relevant.is_empty(),
        };
        if selected.is_some() && telling {
            self.selected += 1;
            self.right += usize::from(right);
        }
        if wrong {
            self.false_triggers += usize::from(case.relevant.is_empty());
            let got = selected.map(str::to_owned);
            *self.confusions.entry((case.relevant.first().cloned(), got.clone())).or_default() += 1;
            self.mistakes.push(Mistake {
                query: case.query.clone(),
                expected: case.relevant.clone(),
                confidence: if got.is_some() { confidence } else { 0.0 },
                got,
            });
        }
    }

    fn close(mut self, unknown: Vec<String>) -> Evaluation {
        self.mistakes.sort_by(|a, b| b.confidence.total_cmp(&a.confidence));
        self.mistakes.truncate(MAX_MISTAKES);
        let mut confusions: Vec<Confusion> =
            self.confusions.into_iter().map(|((expected, got), count)| Confusion { expected, got, count }).collect();
        confusions.sort_by_key(|confusion| std::cmp::Reverse(confusion.count));
        let froms = [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9];
        let buckets = froms.into_iter().zip(self.buckets).filter(|(_, (hits, _))| *hits > 0);
        Evaluation {
            positives: self.positives,
            negatives: self.negatives,
            recall_at: [1, 3, 5]
                .into_iter()
                .zip(self.found)
                .filter_map(|(k, found)| Some((k, share(found, self.positives)?)))
                .collect(),
            precision: share(self.right, self.selected),
            false_triggers: share(self.false_triggers, self.negatives),
            calibration: buckets.map(|(from, (hits, right))| Bucket { from, hits, right }).collect(),
            confusions,
            worst: self.mistakes,
            unknown,
        }
    }
}

fn share(part: usize, whole: usize) -> Option<f64> {
    #[expect(clippy::cast_precision_loss, reason = "a share of some messages")]
    let share = part as f64 / whole as f64;
    (whole > 0).then_some(share)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_are_read() {
        let named = "{\"skill_name\": \"pdf\", \"evals\": [{\"query\": \"a\", \"should_trigger\": false}]}";
        let cases = EvalCase::read(named, None).unwrap();
        assert_eq!((cases[0].relevant.len(), &cases[0].not_relevant[..]), (0, &["pdf".to_owned()][..]));
        let lines =
            "\u{feff}{\"query\": \"a\", \"none\": true}\n\n{\"query\": \"b\", \"not_relevant\": [\"x\"], \"id\": 3}\n";
        let cases = EvalCase::read(lines, None).unwrap();
        assert!(cases[0].needs_none() && !cases[1].needs_none());
        assert_eq!(EvalCase::read("", None).unwrap(), []);
    }

    #[test]
    fn an_error_has_its_line() {
        let error = EvalCase::read("{\"query\": \"a\", \"relevant\": []}\n{\"question\": 1}\n", None).unwrap_err();
        assert_eq!(error.line, 2);
        assert!(error.message.contains("`query`"), "{error}");
        let error = EvalCase::read("[{\"query\": \"a\", \"should_trigger\": true}]", None).unwrap_err();
        assert!(error.message.contains("none is named"), "{error}");
        assert!(EvalCase::read("[\n{\"query\"", None).is_err());
    }

    #[test]
    fn an_error_is_about_the_form_that_was_meant() {
        let wrong = |text: &str| EvalCase::read(text, Some("pdf")).unwrap_err();
        let lines = wrong("{\"query\": \"a\", \"relevant\": []}\n{\"query\": \"a\", \"relevant\": [\"x\"}\n");
        assert_eq!(lines.message, "line 2 is not as expected: expected `,` or `]`");
        let first = wrong("{\"query\": \"a\", \"relevant\": [}\n{\"query\": \"a\", \"relevant\": []}\n");
        assert_eq!(first.message, "line 1 is not as expected: expected value");
        let object = wrong("{\n\"skill_name\": \"pdf\",\n\"evals\": [{\"quer\": 1}]}");
        assert_eq!(object.message, "line 3 is not as expected: missing field `query`");
        let list = wrong("[\n{\"query\": \"a\", \"should_trigger\": true},\n{\"query\": 1}]");
        assert_eq!(list.message, "line 3 is not as expected: invalid type: integer `1`, expected a string");
    }

    #[test]
    fn a_record_without_a_label_is_refused() {
        let error = EvalCase::read("{\"query\": \"a\", \"none\": true}\n{\"query\": \"a\", \"relevent\": []}", None)
            .unwrap_err();
        assert_eq!(error.line, 2);
        assert!(error.message.starts_with("\"a\" has no label: add `relevant`"), "{error}");
        assert!(EvalCase::read("[{\"query\": \"a\", \"triggers\": true}]", Some("pdf")).is_err());
    }

    #[test]
    fn messages_are_counted_by_what_they_need() {
        let case = |relevant: &[&str], not: &[&str]| EvalCase {
            query: "q".into(),
            relevant: relevant.iter().map(|name| (*name).to_owned()).collect(),
            not_relevant: not.iter().map(|name| (*name).to_owned()).collect(),
        };
        let mut tally = Tally::default();
        tally.add(&case(&["a"], &[]), &["a", "b"], 0.9, true);
        tally.add(&case(&["a"], &[]), &["b", "a"], 0.85, true);
        tally.add(&case(&["a"], &[]), &[], 0.0, false);
        tally.add(&case(&[], &[]), &["b"], 0.3, false);
        tally.add(&case(&[], &[]), &["b"], 0.7, true);
        tally.add(&case(&[], &["a"]), &["b"], 1.0, true);
        tally.add(&case(&[], &["a"]), &["a"], 0.6, true);
        let done = tally.close(Vec::new());
        assert_eq!((done.positives, done.negatives), (3, 4));
        assert_eq!(done.recall_at, BTreeMap::from([(1, 1.0 / 3.0), (3, 2.0 / 3.0), (5, 2.0 / 3.0)]));
        assert_eq!(done.precision, Some(0.25), "of two positives, one negative and one forbidden");
        assert_eq!(done.false_triggers, Some(0.5));
        assert_eq!(done.worst[0].got.as_deref(), Some("b"));
        assert_eq!(done.calibration.iter().map(|bucket| bucket.hits).sum::<usize>(), 5);
        assert_eq!(done.confusions.len(), 4);
    }
}
