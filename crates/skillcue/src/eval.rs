//! Labelled messages, and how well selection does on them.
//!
//! Two forms are read. Authors of one skill keep a JSON list of `{"query", "should_trigger"}` (or an object with that
//! list under `evals` and the skill's name under `skill_name`); sets over many skills have one JSON object a line,
//! `{"query", "relevant": [names]}`, where an empty list, `"none": true` or `"not_relevant": [names]` says what must not
//! happen.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use skillcue_select::Mode;

use crate::{Request, Skillcue};

/// A message and what it should select.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Case {
    /// The message.
    pub query: String,
    /// Skills of which at least one is needed. None: the message needs none of them, or none at all.
    pub relevant: Vec<String>,
    /// Skills that must not be selected. Empty for a message that needs none: then no skill must be.
    pub not_relevant: Vec<String>,
}

/// Why a set cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct EvalError {
    /// The line of the file, where there is one.
    pub line: usize,
    /// What is wrong with it.
    pub message: String,
}

#[derive(Deserialize)]
struct Record {
    query: String,
    should_trigger: Option<bool>,
    relevant: Option<Vec<String>>,
    not_relevant: Option<Vec<String>>,
    #[serde(default)]
    none: bool,
}

/// A list that says which skill it is about.
#[derive(Deserialize)]
struct Named {
    #[serde(alias = "skill")]
    skill_name: Option<String>,
    #[serde(alias = "queries", alias = "cases")]
    evals: Vec<Record>,
}

impl Case {
    /// Reads a set in either form. `skill` is the one that `should_trigger` is about, unless the file names it.
    ///
    /// ```
    /// use skillcue::eval::Case;
    ///
    /// let lines = "{\"query\": \"fill in this form\", \"relevant\": [\"pdf-forms\"]}\n{\"query\": \"hi\", \"relevant\": []}\n";
    /// assert_eq!(Case::read(lines, None)?[0].relevant, ["pdf-forms"]);
    ///
    /// let list = "[{\"query\": \"fill in this form\", \"should_trigger\": true}]";
    /// assert_eq!(Case::read(list, Some("pdf-forms"))?[0].relevant, ["pdf-forms"]);
    /// # Ok::<(), skillcue::eval::EvalError>(())
    /// ```
    pub fn read(text: &str, skill: Option<&str>) -> Result<Vec<Case>, EvalError> {
        let text = text.trim_start_matches('\u{feff}');
        let all = |records: Vec<Record>, skill| records.into_iter().map(|record| record.case(0, skill)).collect();
        // One document: a list, or an object with a list. Otherwise one object a line.
        if text.trim_start().starts_with('[') {
            let records = serde_json::from_str(text).map_err(|error| broken(error.line(), &error))?;
            return all(records, skill);
        }
        match serde_json::from_str::<Named>(text) {
            Ok(named) => return all(named.evals, named.skill_name.as_deref().or(skill)),
            Err(error) if !is_lines(text) => {
                // Before what an object lacks, what keeps it from being one.
                let error = serde_json::from_str::<serde::de::IgnoredAny>(text).err().unwrap_or(error);
                return Err(broken(error.line(), &error));
            }
            Err(_) => {}
        }
        let mut cases = Vec::new();
        for (line, text) in (1..).zip(text.lines()).filter(|(_, text)| !text.trim().is_empty()) {
            let record: Record = serde_json::from_str(text).map_err(|error| broken(line, &error))?;
            cases.push(record.case(line, skill)?);
        }
        Ok(cases)
    }

    fn needs_none(&self) -> bool {
        self.relevant.is_empty() && self.not_relevant.is_empty()
    }
}

/// Whether a text is, or wants to be, one object a line.
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

impl Record {
    fn case(self, line: usize, skill: Option<&str>) -> Result<Case, EvalError> {
        let query = self.query;
        let Some(should) = self.should_trigger else {
            // A misspelt `relevant` must not pass for a message that needs nothing.
            if self.relevant.is_none() && self.not_relevant.is_none() && !self.none {
                let start: String = query.chars().take(60).collect();
                let message = format!(
                    "nothing says what is right for {start:?}: `relevant`, `not_relevant`, `none` or `should_trigger`"
                );
                return Err(EvalError { line, message });
            }
            let relevant = self.relevant.unwrap_or_default();
            let not_relevant = if self.none { Vec::new() } else { self.not_relevant.unwrap_or_default() };
            return Ok(Case { query, relevant, not_relevant });
        };
        let Some(skill) = skill else {
            let message = "`should_trigger` is about one skill, and nothing says which".to_owned();
            return Err(EvalError { line, message });
        };
        let this = vec![skill.to_owned()];
        let (relevant, not_relevant) = if should { (this, Vec::new()) } else { (Vec::new(), this) };
        Ok(Case { query, relevant, not_relevant })
    }
}

/// How to evaluate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EvalOptions {
    /// How messages are matched.
    pub mode: Mode,
    /// From which certainty on the best hit counts as selected, if nothing but its text speaks for it. A trigger or a
    /// mention always selects, as it does in a disclosure.
    pub threshold: f32,
}

/// How well selection does on a set.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Evaluation {
    /// How many messages need a skill.
    pub positives: usize,
    /// How many need none, or must not select some.
    pub negatives: usize,
    /// Of the messages that need a skill, how many have one of theirs among the first 1, 3 and 5 hits.
    /// Empty if none does.
    pub recall_at: BTreeMap<u8, f64>,
    /// Of the messages for which something was selected, how many got what they need first. None if nothing was.
    pub precision: Option<f64>,
    /// Of the messages that need none, how many had one selected (of those that must not select some: one of these
    /// first). None without such messages.
    pub false_triggers: Option<f64>,
    /// How sure it was, and how often it was right: for each tenth of certainty, the best hits that fell into it.
    pub calibration: Vec<Bucket>,
    /// Skills that were taken for others, most frequent first.
    pub confusions: Vec<Confusion>,
    /// What went wrong, the surest first.
    pub worst: Vec<Mistake>,
    /// Names in the set that no usable skill has.
    pub unknown: Vec<String>,
}

/// Best hits of about one certainty.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Bucket {
    /// The least certainty in it; the most is a tenth more.
    pub from: f32,
    /// How many there were.
    pub hits: usize,
    /// How many of them were right.
    pub right: usize,
}

/// One skill taken for another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Confusion {
    /// What was needed; nothing for a message that needs none.
    pub expected: Option<String>,
    /// What came first; nothing if nothing was selected.
    pub got: Option<String>,
    /// How often.
    pub count: usize,
}

/// A message for which the wrong thing was selected, or nothing.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Mistake {
    /// The message.
    pub query: String,
    /// What it needs.
    pub expected: Vec<String>,
    /// What came first.
    pub got: Option<String>,
    /// How sure that was.
    pub confidence: f32,
}

/// How many of the worst cases are kept.
const WORST: usize = 20;

impl Evaluation {
    /// Runs a set.
    pub fn of(skills: &Skillcue, cases: &[Case], options: &EvalOptions) -> Evaluation {
        let mut tally = Tally::default();
        for case in cases {
            let hits = skills.select(&Request::new(&case.query).mode(options.mode).limit(5)).hits;
            let names: Vec<&str> = hits.iter().map(|hit| hit.name.as_str()).collect();
            // What decides, and not how well the first fits by itself.
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
    fn add(&mut self, case: &Case, names: &[&str], confidence: f32, sure: bool) {
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
        self.mistakes.truncate(WORST);
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
        let cases = Case::read(named, None).unwrap();
        assert_eq!((cases[0].relevant.len(), &cases[0].not_relevant[..]), (0, &["pdf".to_owned()][..]));
        let lines =
            "\u{feff}{\"query\": \"a\", \"none\": true}\n\n{\"query\": \"b\", \"not_relevant\": [\"x\"], \"id\": 3}\n";
        let cases = Case::read(lines, None).unwrap();
        assert!(cases[0].needs_none() && !cases[1].needs_none());
        assert_eq!(Case::read("", None).unwrap(), []);
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line() {
        let error = Case::read("{\"query\": \"a\", \"relevant\": []}\n{\"question\": 1}\n", None).unwrap_err();
        assert_eq!(error.line, 2);
        assert!(error.message.contains("`query`"), "{error}");
        let error = Case::read("[{\"query\": \"a\", \"should_trigger\": true}]", None).unwrap_err();
        assert!(error.message.contains("which"), "{error}");
        assert!(Case::read("[\n{\"query\"", None).is_err());
    }

    #[test]
    fn what_is_wrong_is_said_of_the_form_that_was_meant() {
        let wrong = |text: &str| Case::read(text, Some("pdf")).unwrap_err();
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
    fn what_says_nothing_is_refused() {
        let error =
            Case::read("{\"query\": \"a\", \"none\": true}\n{\"query\": \"a\", \"relevent\": []}", None).unwrap_err();
        assert_eq!(error.line, 2);
        assert!(error.message.starts_with("nothing says what is right for \"a\": `relevant`"), "{error}");
        assert!(Case::read("[{\"query\": \"a\", \"triggers\": true}]", Some("pdf")).is_err());
    }

    #[test]
    fn messages_are_counted_by_what_they_need() {
        let case = |relevant: &[&str], not: &[&str]| Case {
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
