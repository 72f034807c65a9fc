//! Sets of labelled messages, in either of two forms.

use serde::Deserialize;

/// A message and the skills that it should select.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EvalCase {
    /// The message.
    pub query: String,
    /// Skills of which at least one is needed. None: the message needs none of them, or none at all.
    pub relevant: Vec<String>,
    /// Skills that must not be selected. Empty for a message that needs none: then no skill must be.
    pub not_relevant: Vec<String>,
    /// The language of the message, as the set has it: `en`, `zh`.
    pub lang: Option<String>,
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
    lang: Option<String>,
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

    /// Returns whether the message needs no skill at all.
    pub(super) fn needs_none(&self) -> bool {
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
        let (query, lang) = (self.query, self.lang);
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
            return Ok(EvalCase { query, relevant, not_relevant, lang });
        };
        let Some(skill) = skill else {
            let message = "`should_trigger` is about one skill, and none is named".to_owned();
            return Err(EvalError { line, message });
        };
        let this = vec![skill.to_owned()];
        let (relevant, not_relevant) = if should { (this, Vec::new()) } else { (Vec::new(), this) };
        Ok(EvalCase { query, relevant, not_relevant, lang })
    }
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
}
