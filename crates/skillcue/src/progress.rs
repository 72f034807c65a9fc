//! Re-selection during a turn: what has happened since the message, and the skills that fit because of it.

use std::path::Path;
use std::sync::Arc;

use serde_json::Value;
use skillcue_disclose::BodySource as _;
use skillcue_select::{Hit, Mention, Mode, Selection, Thresholds, Turn, languages_of};

use crate::disclosure::LoadedBodies;
use crate::tools::built_in_names;
use crate::{Request, Skillcue};

/// The number of skills that a re-selection names.
const MAX_NEW: usize = 3;
/// The number of paths that count, and of texts; further ones are left out.
const MAX_TOUCHED: usize = 64;
const MAX_TEXTS: usize = 8;
/// The number of bytes of a text that counts, and of an argument that is searched for paths: a longer one is content.
const MAX_TEXT: usize = 16 << 10;
const MAX_ARGUMENT: usize = 1 << 10;
/// The part of the certainty for a body from which a skill is named: a glob that a file matches is enough, a language is
/// not.
const HINT_SHARE: f32 = 0.7;
/// The weight of the model's own words, where the user's have 1.
const WORDS_SHARE: f32 = 0.5;

/// The events of a turn since its message: tool calls, touched paths, the model's own words. For
/// [`Skillcue::reselect`].
///
/// Results of tools have no place in it: they are texts of strangers, who must not choose the skills.
///
/// ```
/// use serde_json::json;
/// use skillcue::select::TurnProgress;
///
/// let since = TurnProgress::default()
///     .words("Next I will fill in the form.")
///     .call("run_command", &json!({"command": "pdftotext forms/tax.pdf -"}));
/// assert_eq!(since.touched_paths(), ["forms/tax.pdf"]);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[must_use = "it does nothing until it is passed to a Skillcue"]
pub struct TurnProgress {
    touched: Vec<String>,
    /// Latest last.
    words: Vec<String>,
    /// Latest last.
    calls: Vec<String>,
}

impl TurnProgress {
    /// Adds paths of files that were read or written. They count as files of the turn.
    pub fn touched(mut self, paths: impl IntoIterator<Item = impl AsRef<str>>) -> TurnProgress {
        for path in paths {
            self.touch(path.as_ref());
        }
        self
    }

    /// Adds words of the model. They count for less than those of the user.
    pub fn words(mut self, text: impl Into<String>) -> TurnProgress {
        push_text(&mut self.words, text.into());
        self
    }

    /// Adds a call of a tool. Paths among its arguments count as touched, and the rest as an earlier message would.
    /// Calls of the tools that load, find and read skills add nothing, because the model knows what it looked for.
    pub fn call(mut self, tool: &str, arguments: &Value) -> TurnProgress {
        if built_in_names().any(|name| name == tool) {
            return self;
        }
        let mut text = tool.replace(['_', '-'], " ");
        self.arguments(arguments, &mut text);
        push_text(&mut self.calls, text);
        self
    }

    /// Returns the paths that were touched, in their order.
    pub fn touched_paths(&self) -> &[String] {
        &self.touched
    }

    /// Reads the texts of arguments, whatever their form.
    fn arguments(&mut self, value: &Value, text: &mut String) {
        match value {
            Value::String(argument) if argument.len() <= MAX_ARGUMENT && !argument.contains('\n') => {
                text.push(' ');
                text.push_str(argument);
                let ends = |c: char| c.is_whitespace() || "\"'`()[]{}<>|,;=".contains(c);
                argument.split(ends).filter(|word| is_path(word)).for_each(|path| self.touch(path));
            }
            Value::Array(values) => values.iter().for_each(|value| self.arguments(value, text)),
            // The skill and the script that run are no files of the user's.
            Value::Object(map) => map
                .iter()
                .filter(|(key, _)| !matches!(key.as_str(), "skill_id" | "skill" | "script"))
                .for_each(|(_, value)| self.arguments(value, text)),
            _ => {}
        }
    }

    fn touch(&mut self, path: &str) {
        let path = path.strip_prefix("./").unwrap_or(path);
        if self.touched.len() < MAX_TOUCHED && path.len() <= MAX_ARGUMENT && !self.touched.iter().any(|it| it == path) {
            self.touched.push(path.to_owned());
        }
    }
}

/// Adds a text, cut to the length that counts. The oldest ones go.
fn push_text(texts: &mut Vec<String>, mut text: String) {
    text.truncate(text.floor_char_boundary(MAX_TEXT));
    if !text.trim().is_empty() {
        if texts.len() == MAX_TEXTS {
            texts.remove(0);
        }
        texts.push(text);
    }
}

/// Returns whether a word is written like the path of a file: with an extension, and not like a number or an address.
fn is_path(word: &str) -> bool {
    let extension = Path::new(word).extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    let is_written = (1..=10).contains(&extension.len())
        && extension.chars().all(|c| c.is_ascii_alphanumeric())
        && extension.chars().any(|c| c.is_ascii_alphabetic());
    is_written && !word.contains("://") && !word.starts_with('-')
}

impl Skillcue {
    /// Returns the skills that fit a request better because of what has happened since: the best three at most, without
    /// those that are `already` shown or named, those in the context of the request's session, and those that models
    /// may not see or that a person has yet to allow. [`hint_line`](crate::disclose::hint_line) renders them.
    ///
    /// A touched path counts like a file of the request. Triggers in the model's words and calls count like those of
    /// earlier messages; texts that resemble the model's words count half of what they would for the user's, and only
    /// if they would show the body then.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # std::fs::create_dir(dir.path().join("forms"))?;
    /// # let text = "---\nname: forms\ndescription: Fills forms.\nmetadata:\n  triggers:\n    files: ['*.pdf']\n---\nHow.\n";
    /// # std::fs::write(dir.path().join("forms/SKILL.md"), text)?;
    /// use skillcue::disclose::hint_line;
    /// use skillcue::select::TurnProgress;
    /// use skillcue::{Request, Skillcue};
    ///
    /// let skills = Skillcue::builder().skills_dir(dir.path()).build()?;
    /// let request = Request::new("Do what the letter says");
    /// let since = TurnProgress::default().touched(["inbox/tax.pdf"]);
    /// let hits = skills.reselect(&request, &since, &[] as &[&str]);
    /// let hint = "[Skills that may fit: forms (file \"inbox/tax.pdf\"). `load_skill` gives one by its id.]";
    /// assert_eq!(hint_line(&hits), hint);
    /// assert!(skills.reselect(&request, &since, &["forms"]).is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn reselect(&self, request: &Request<'_>, since: &TurnProgress, already: &[impl AsRef<str>]) -> Vec<Hit> {
        let snapshot = self.snapshot();
        let options = request.options(self.mode());
        let thresholds = Thresholds::of(snapshot.discloser().config().eagerness);
        let before = snapshot.cached_select(&request.turn, &options);
        let texts = since.words.iter().rev().chain(since.calls.iter().rev());
        let turn = request.turn.clone().files(&since.touched).languages(languages_of(&since.touched)).since(texts);
        let now = Arc::unwrap_or_clone(snapshot.cached_select(&turn, &options));
        let mut hits = now.hits;
        hits.retain(|hit| hit.certainty > certainty_in(&before, hit) && hit.certainty >= thresholds.body * HINT_SHARE);
        if options.mode != Mode::Keyword && !since.words.is_empty() {
            let words = since.words.iter().rev().map(String::as_str).collect::<Vec<_>>().join("\n");
            let resembling = Arc::unwrap_or_clone(snapshot.cached_select(&Turn::new(&words), &options)).hits;
            // A model that writes a name with a sigil knows the skill.
            let is_sure = |hit: &Hit| hit.mention != Some(Mention::Sigil) && hit.certainty >= thresholds.body;
            for mut hit in resembling.into_iter().filter(is_sure) {
                if hits.iter().any(|other| other.skill == hit.skill) {
                    continue;
                }
                // The ranges are not those of the user's message.
                hit.reasons.iter_mut().for_each(|reason| reason.span = None);
                hit.certainty *= WORDS_SHARE;
                hit.likelihood *= WORDS_SHARE;
                hits.push(hit);
            }
        }
        let session = request.session.as_deref();
        let bodies = LoadedBodies { skills: self, session };
        hits.retain(|hit| {
            let is_known = already.iter().any(|name| name.as_ref() == hit.name)
                || session.is_some_and(|session| {
                    session.remembered().any(|known| known.in_context && known.name == hit.name)
                });
            let skill = snapshot.catalog.all().get(hit.skill);
            !is_known && skill.is_some_and(|skill| skill.is_for_models() && bodies.may_suggest(skill))
        });
        hits.sort_by(|a, b| b.certainty.total_cmp(&a.certainty));
        hits.truncate(MAX_NEW);
        self.report_hints(&hits, options.mode, request.conversation);
        hits
    }
}

/// Returns the certainty of a hit's skill in another selection; 0 if it is not there.
fn certainty_in(selection: &Selection, hit: &Hit) -> f32 {
    selection.hits.iter().find(|other| other.skill == hit.skill).map_or(0.0, |other| other.certainty)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn paths_are_found_among_arguments() {
        let paths = |arguments: Value| TurnProgress::default().call("edit", &arguments).touched;
        assert_eq!(paths(json!({"path": "./src/main.rs"})), ["src/main.rs"]);
        assert_eq!(paths(json!({"arguments": ["--out=a.csv", "b.XLSX", "-v"]})), ["a.csv", "b.XLSX"]);
        assert_eq!(paths(json!({"command": "cat 'a b.txt' c.txt | tee d.md"})), ["b.txt", "c.txt", "d.md"]);
        assert_eq!(paths(json!({"url": "https://example.com/x.html", "version": "1.25", "n": 3})), [""; 0]);
        assert_eq!(paths(json!({"text": "one.rs\ntwo.rs", "long": "x.rs ".repeat(1_000)})), [""; 0]);
        assert_eq!(paths(json!({"skill_id": "a.b", "script": "scripts/run.py", "input": "e.g. this, etc."})), [""; 0]);
        assert_eq!(paths(json!("plain.txt")), ["plain.txt"]);
    }

    #[test]
    fn tools_of_skills_add_nothing() {
        for tool in built_in_names() {
            let since = TurnProgress::default().call(tool, &json!({"path": "reference.md", "query": "pdf"}));
            assert_eq!(since, TurnProgress::default());
        }
    }

    #[test]
    fn texts_and_paths_are_bounded() {
        let mut since = TurnProgress::default();
        for number in 0..100 {
            since = since.words("ä".repeat(MAX_TEXT)).touched([format!("{number}.txt")]);
        }
        assert_eq!((since.touched.len(), since.words.len()), (MAX_TOUCHED, MAX_TEXTS));
        assert!(since.words.iter().all(|text| text.len() <= MAX_TEXT));
        assert_eq!(TurnProgress::default().words(" \n"), TurnProgress::default());
    }
}
