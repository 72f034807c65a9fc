//! Keyword stuffing: metadata that lists words to be found by, instead of saying what a skill does.

use std::collections::BTreeMap;

use crate::Manifest;
use crate::generic::is_common;

/// The number of triggers of all kinds beyond which a list is stuffed.
const MAX_TRIGGERS: usize = 100;
/// The number of times that a description may have a word that is not common. Of 1,327 real descriptions two have one
/// more often.
const MAX_REPEATS: usize = 15;
/// The number of words from which a description is judged: a short one may well be a list.
const MIN_WORDS: usize = 30;
/// The share of common words in a list of words: in 871 real descriptions of that length, it is below this in two, which
/// have long phrases between their commas.
const MAX_COMMON: f64 = 0.04;
/// The share of parts of at most two words, between commas, in a list of words.
const MIN_SHORT: f64 = 0.7;

/// A sign of keyword stuffing in a manifest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stuffing {
    /// The field: `description` or `triggers`.
    pub field: &'static str,
    /// A sentence on what is wrong with it.
    pub message: String,
}

/// Returns the signs that a skill's metadata is stuffed with keywords.
///
/// ```
/// use skillcue_format::{FileKind, Parsed, stuffing};
///
/// let words = vec!["invoice"; 20].join(", ");
/// let file = format!("---\nname: pdf\ndescription: Reads PDF. {words}\n---\n");
/// let manifest = Parsed::of(file.as_bytes(), FileKind::Markdown).manifest.unwrap();
/// assert_eq!(stuffing(&manifest)[0].message, "the description has `invoice` 20 times");
/// ```
pub fn stuffing(manifest: &Manifest) -> Vec<Stuffing> {
    let mut found = Vec::new();
    let triggers = manifest.triggers();
    let lists = [&triggers.keywords, &triggers.verbs, &triggers.patterns, &triggers.files, &triggers.languages];
    let count = lists.iter().map(|list| list.len()).sum::<usize>();
    if count > MAX_TRIGGERS {
        found.push(Stuffing { field: "triggers", message: format!("the skill has {count} triggers") });
    }
    let description = manifest.description();
    if let Some((word, times)) = repeated(description) {
        let message = format!("the description has `{word}` {times} times");
        found.push(Stuffing { field: "description", message });
    } else if is_word_list(description) {
        let message = "the description is a list of unconnected words".to_owned();
        found.push(Stuffing { field: "description", message });
    }
    found
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '\'').filter(|word| !word.is_empty())
}

/// Returns the word that a text repeats too often, and how often.
fn repeated(text: &str) -> Option<(String, usize)> {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for word in words(text).map(str::to_lowercase).filter(|word| word.chars().count() > 2 && !is_common(word)) {
        *counts.entry(word).or_default() += 1;
    }
    // Of equals, the first by name.
    let most = counts.into_iter().rev().max_by_key(|(_, times)| *times)?;
    (most.1 > MAX_REPEATS).then_some(most)
}

/// Returns whether a text is a list of words: hardly any that connect others, between commas or without any marks. Only
/// of texts in ASCII, because the words that connect others are those of English.
#[expect(clippy::cast_precision_loss, reason = "a share; no description has 2^52 words")]
fn is_word_list(text: &str) -> bool {
    let count = words(text).count();
    if count < MIN_WORDS || !text.is_ascii() {
        return false;
    }
    let common = words(text).filter(|word| is_common(word)).count();
    if common as f64 >= count as f64 * MAX_COMMON {
        return false;
    }
    let parts: Vec<usize> =
        text.split([',', ';', '|', '/', '\n']).map(|part| part.split_whitespace().count()).collect();
    let short = parts.iter().filter(|part| **part <= 2).count();
    // In a language that is not English, sentences have marks.
    let is_plain = common == 0 && !text.contains([',', ';', '.', ':', '!', '?']);
    is_plain || short as f64 >= parts.len() as f64 * MIN_SHORT
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{FileKind, Parsed};

    fn found(fields: &str) -> Vec<String> {
        let file = format!("---\nname: pdf\n{fields}\n---\n");
        let manifest = Parsed::of(file.as_bytes(), FileKind::Markdown).manifest.unwrap();
        stuffing(&manifest).into_iter().map(|stuffing| stuffing.message).collect()
    }

    #[test]
    fn honest_metadata_is_not_stuffed() {
        let honest = "Reads, fills in and merges PDF files with pypdf, pdfplumber and qpdf. Use when the user has a PDF, \
                      asks to extract tables from a PDF, to fill in a PDF form, to merge or split PDF files, or to make \
                      a PDF out of a page. Not for DOCX, PPTX or scanned images.";
        assert_eq!(found(&format!("description: {honest}")), [""; 0]);
        let keywords: Vec<String> = (0..100).map(|number| format!("word{number}")).collect();
        assert_eq!(found(&format!("description: {honest}\ntriggers: [{}]", keywords.join(", "))), [""; 0]);
        assert_eq!(found("description: pdf, docx, xlsx, pptx"), [""; 0], "short");
        let german = "Erstellt Rechnungen mit Umsatzsteuer. ".repeat(10);
        assert_eq!(found(&format!("description: {german}")), [""; 0]);
    }

    #[test]
    fn lists_of_words_are_stuffed() {
        let list: Vec<String> = (0..40).map(|number| format!("topic{number}")).collect();
        let said = ["the description is a list of unconnected words"];
        assert_eq!(found(&format!("description: {}", list.join(", "))), said);
        assert_eq!(found(&format!("description: {}", list.join(" "))), said);
    }

    #[test]
    fn repetition_and_long_lists_of_triggers_are_stuffed() {
        let repeated = "pdf invoice ".repeat(16);
        assert_eq!(found(&format!("description: Reads. {repeated}")), ["the description has `invoice` 16 times"]);
        let keywords: Vec<String> = (0..101).map(|number| format!("word{number}")).collect();
        let fields = format!("description: Reads PDF files.\ntriggers: [{}]", keywords.join(", "));
        assert_eq!(found(&fields), ["the skill has 101 triggers"]);
    }
}
