//! Checks of triggers, and of words that are there to be found by.

use std::collections::BTreeSet;

use super::StyleCheck;
use crate::generic::{GenericMatch, generic_languages, generic_pattern, is_generic, is_generic_glob};
use crate::node::{Node, Value};
use crate::{Code, Manifest, ORDINARY_MESSAGES};

/// Maximum number of patterns that are tried on messages, and of globs that are tried on files.
const MAX_PATTERNS: usize = 200;

impl StyleCheck<'_> {
    pub(super) fn triggers(&mut self, root: &Node<'_>, manifest: &Manifest) {
        let triggers = manifest.triggers();
        let node = root.get("triggers").or_else(|| root.get("metadata")?.get("triggers"));
        let place = node.map(|node| self.place(node.span.range()));
        if triggers.is_empty() {
            self.report(
                Code::NoTriggers,
                "without triggers, keyword matching finds the skill by its name only",
                None,
                "add `metadata.triggers.keywords` with the words that people use",
            );
        }
        for word in triggers.keywords.iter().chain(&triggers.verbs) {
            if is_generic(word) && self.is_below_cap(Code::GenericTrigger) {
                let at =
                    node.and_then(|node| find_text(node, word)).map(|node| self.place(node.span.range())).or(place);
                let message = format!("`{word}` is in most messages: the skill would fire all the time");
                self.report(Code::GenericTrigger, message, at, "choose a rarer word, or a phrase");
            }
        }
        let distinct: BTreeSet<&str> = triggers.patterns.iter().map(AsRef::as_ref).collect();
        for text in distinct.into_iter().take(MAX_PATTERNS) {
            if let Some(generic) = generic_pattern(text)
                && self.is_below_cap(Code::GenericTrigger)
            {
                let at =
                    node.and_then(|node| find_text(node, text)).map(|node| self.place(node.span.range())).or(place);
                let what = match generic {
                    GenericMatch::Empty => "an empty message".to_owned(),
                    GenericMatch::Message(message) => format!("`{message}`"),
                    GenericMatch::Share(count) => format!("{count} of {} ordinary messages", ORDINARY_MESSAGES.len()),
                };
                let message = format!("the pattern `{text}` matches {what}: the skill would fire all the time");
                self.report(Code::GenericTrigger, message, at, "require words that belong to the skill's task");
            }
        }
        let distinct: BTreeSet<&str> = triggers.files.iter().map(AsRef::as_ref).collect();
        for text in distinct.into_iter().take(MAX_PATTERNS) {
            if is_generic_glob(text) && self.is_below_cap(Code::GenericTrigger) {
                let at =
                    node.and_then(|node| find_text(node, text)).map(|node| self.place(node.span.range())).or(place);
                let message = format!("the glob `{text}` matches any file: the skill would fire for every file");
                self.report(Code::GenericTrigger, message, at, "name the endings or directories of the skill's files");
            }
        }
        if let Some(count) = generic_languages(triggers.languages.iter().map(AsRef::as_ref))
            && self.is_below_cap(Code::GenericTrigger)
        {
            let at = node.and_then(|node| node.get("languages")).map(|node| self.place(node.span.range())).or(place);
            let message = format!("the triggers list {count} languages: the skill would fire for most code");
            self.report(Code::GenericTrigger, message, at, "list the languages of the skill's task, six at most");
        }
    }

    pub(super) fn stuffing(&mut self, root: &Node<'_>, manifest: &Manifest) {
        for found in crate::stuffing(manifest) {
            let node = root.get(found.field).or_else(|| root.get("metadata")?.get(found.field));
            let place = node.map(|node| self.place(node.span.range()));
            self.report(
                Code::KeywordStuffing,
                found.message,
                place,
                "say in sentences what the skill does and when to use it; words alone win it no messages",
            );
        }
    }
}

fn find_text<'n, 'a>(node: &'n Node<'a>, wanted: &str) -> Option<&'n Node<'a>> {
    match &node.value {
        Value::Scalar { text, .. } => (**text == *wanted).then_some(node),
        Value::Seq(items) => items.iter().find_map(|item| find_text(item, wanted)),
        Value::Map(pairs) => pairs.iter().find_map(|(_, value)| find_text(value, wanted)),
    }
}

#[cfg(test)]
mod tests {
    use crate::{Code, FileKind, lint};

    fn found(triggers: &str, code: Code) -> Vec<(String, u32)> {
        let file = format!(
            "---\nname: pdf\ndescription: Reads PDF files. Use when asked.\nmetadata:\n  triggers:\n{triggers}---\nx\n"
        );
        let found = lint(file.as_bytes(), FileKind::Markdown, &|_| true).into_iter();
        let of_code = found.filter(|finding| finding.code == code);
        of_code.map(|finding| (finding.message.to_string(), finding.place.map_or(0, |place| place.line))).collect()
    }

    /// Issue 18.
    #[test]
    fn triggers_that_fire_for_everything_are_named() {
        let triggers = "    keywords: [pdf, the, how to]\n    verbs:\n      - extract\n      - do\n    patterns:\n      -                         '.*'\n      - 'merge .* pdf'\n      - '\\b(what|how)\\b'\n";
        let expected = [
            ("`the` is in most messages: the skill would fire all the time", 6),
            ("`how to` is in most messages: the skill would fire all the time", 6),
            ("`do` is in most messages: the skill would fire all the time", 9),
            ("the pattern `.*` matches an empty message: the skill would fire all the time", 11),
            ("the pattern `\\b(what|how)\\b` matches `hello, how are you`: the skill would fire all the time", 13),
        ];
        let expected: Vec<(String, u32)> = expected.map(|(message, line)| (message.to_owned(), line)).to_vec();
        assert_eq!(found(triggers, Code::GenericTrigger), expected);
        assert_eq!(found("    keywords: [pdf, hello, fix]\n", Code::GenericTrigger), []);
    }

    /// Issue 18.
    #[test]
    fn patterns_that_fit_long_messages_are_named() {
        let fitting = found("    patterns: ['.{25,}', '(\\w+\\W+){6,}', 'merge .* pdf']\n", Code::GenericTrigger);
        let messages: Vec<&str> = fitting.iter().map(|(message, _)| message.as_str()).collect();
        assert_eq!(messages.len(), 2, "{messages:?}");
        assert!(messages.iter().all(|message| message.contains(" of 32 ordinary messages: ")), "{messages:?}");
    }

    #[test]
    fn globs_for_any_file_and_lists_of_most_languages_are_named() {
        let triggers = "    files: ['*', '*.pdf', '**/*']\n    languages:\n      - rust\n      - rs\n      - go\n      - c\n      - java\n      - ruby\n      - python\n      - swift\n";
        let expected = [
            ("the glob `*` matches any file: the skill would fire for every file", 6),
            ("the glob `**/*` matches any file: the skill would fire for every file", 6),
            ("the triggers list 7 languages: the skill would fire for most code", 8),
        ];
        let expected: Vec<(String, u32)> = expected.map(|(message, line)| (message.to_owned(), line)).to_vec();
        assert_eq!(found(triggers, Code::GenericTrigger), expected);
        let six = "    files: ['*.*.rs', 'src/**']\n    languages: [rust, rs, go, c, java, ruby, python]\n";
        assert_eq!(found(six, Code::GenericTrigger), []);
    }

    /// Issue 18.
    #[test]
    fn stuffed_triggers_are_named() {
        let words: Vec<String> = (0..500).map(|number| format!("word{number}")).collect();
        let stuffed = format!("    keywords: [{}]\n", words.join(", "));
        assert_eq!(found(&stuffed, Code::KeywordStuffing), [("the skill has 500 triggers".to_owned(), 6)]);
        assert_eq!(found("    keywords: [pdf]\n", Code::KeywordStuffing), []);
    }
}
