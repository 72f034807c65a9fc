//! Searches for all patterns at once: one pass finds which patterns can match in a window, and only those are searched.

use std::cell::Cell;
use std::path::Path;
use std::sync::LazyLock;

use regex::bytes::{Captures, Regex, RegexBuilder, RegexSet, RegexSetBuilder};

use super::comment::is_instruction;
use super::kind::ContentKind;
use super::rules::{DANGEROUS_EXAMPLE, PROMPT_INJECTION};
use super::{AuditSeverity, Rule, agents, command, encoded, fetch, languages, prose, secrets, unsafe_commands};

/// One expression of a rule.
pub(super) struct Pattern {
    pub(super) rule: &'static Rule,
    /// Words of which one must be there, in lower case; any case matches.
    pub(super) words: &'static [&'static str],
    /// The expression, in any case unless it says otherwise. The group `at`, if there is one, is reported.
    pub(super) regex: &'static str,
    pub(super) message: &'static str,
    /// Returns the rule that applies, by the text around the match; `None` if it is not a finding.
    pub(super) judge: fn(&PatternHit<'_>) -> Option<&'static Rule>,
}

/// Declares the patterns of a module, each as its rule, judge, message, words and expression.
macro_rules! patterns {
    ($($rule:ident, $judge:ident, $message:literal, [$($word:literal),+], $regex:expr;)+) => {
        pub(super) static PATTERNS: &[$crate::patterns::Pattern] = &[$($crate::patterns::Pattern {
            rule: &$rule,
            words: &[$($word),+],
            regex: $regex,
            message: $message,
            judge: $judge,
        }),+];
    };
}

/// Declares expressions that are compiled when first used.
macro_rules! regexes {
    ($($(#[$meta:meta])* $vis:vis $name:ident = $text:expr);+ $(;)?) => {
        $($(#[$meta])* $vis static $name: $crate::patterns::LazyRegex =
            std::sync::LazyLock::new(|| $crate::patterns::regex($text));)+
    };
}

pub(super) use {patterns, regexes};

/// A match, and the text around it.
pub(super) struct PatternHit<'h> {
    pub(super) rule: &'static Rule,
    pub(super) captures: Captures<'h>,
    /// The whole window.
    pub(super) window: &'h [u8],
    /// The offset of the match in the window.
    pub(super) start: usize,
    pub(super) path: &'h Path,
    pub(super) kind: ContentKind,
    /// In a fenced code block of a Markdown file.
    pub(super) fenced: bool,
    /// In a comment of a Markdown file.
    pub(super) comment: bool,
    pub(super) budget: &'h SearchBudget,
}

/// The number of bytes that may be searched again, around the matches of one window.
///
/// A match of an expression is checked with others, in up to 8 KiB around it. A text that is made of such matches would
/// take seconds for each megabyte; an ordinary one has a few.
#[derive(Debug)]
pub(super) struct SearchBudget {
    left: Cell<usize>,
    /// The offset of the match at which it was used up.
    refused: Cell<Option<usize>>,
}

impl Default for SearchBudget {
    fn default() -> SearchBudget {
        SearchBudget { left: Cell::new(MAX_SEARCHED_AROUND), refused: Cell::new(None) }
    }
}

impl SearchBudget {
    /// Returns the offset of the first match that was not checked.
    pub(super) fn refused(&self) -> Option<usize> {
        self.refused.get()
    }
}

/// Maximum number of bytes around matches that are searched in one window, of about 1 MiB.
const MAX_SEARCHED_AROUND: usize = 32 << 20;

/// Maximum number of bytes of a line that are read on either side of a match.
const MAX_LINE: usize = 2048;
/// Maximum length of a sentence on either side of a command in it.
const MAX_SENTENCE: usize = 300;

impl<'h> PatternHit<'h> {
    /// Returns the whole match.
    pub(super) fn text(&self) -> &'h [u8] {
        self.captures.get(0).map(|found| found.as_bytes()).unwrap_or_default()
    }

    pub(super) fn group(&self, name: &str) -> &'h [u8] {
        self.captures.name(name).map(|found| found.as_bytes()).unwrap_or_default()
    }

    /// Returns the text before the match in its line.
    pub(super) fn line_before(&self) -> &'h [u8] {
        let before = &self.window[self.start.saturating_sub(MAX_LINE)..self.start];
        before.rsplit(|byte| *byte == b'\n').next().unwrap_or_default()
    }

    /// Returns the text from the match's start to the end of its line.
    pub(super) fn line_after(&self) -> &'h [u8] {
        let after = &self.window[self.start..self.window.len().min(self.start + MAX_LINE)];
        after.split(|byte| *byte == b'\n').next().unwrap_or_default()
    }

    /// Returns the text after the match.
    pub(super) fn after(&self) -> &'h [u8] {
        let end = self.captures.get(0).map_or(self.start, |found| found.end());
        &self.window[end..self.window.len().min(end + MAX_LINE)]
    }

    /// Takes bytes out of the budget, and returns whether there were enough. If not, the file is reported as not read.
    pub(super) fn affords(&self, bytes: usize) -> bool {
        let left = self.budget.left.get().checked_sub(bytes);
        self.budget.left.set(left.unwrap_or(0));
        if left.is_none() && self.budget.refused.get().is_none() {
            self.budget.refused.set(Some(self.start));
        }
        left.is_some()
    }

    /// Returns whether the text is code that is run, rather than read by people.
    pub(super) fn is_code(&self) -> bool {
        self.kind == ContentKind::Script || self.fenced
    }
}

/// Returns whether the match is in a sentence that describes an attack.
pub(super) fn is_described(hit: &PatternHit<'_>) -> bool {
    hit.kind == ContentKind::Prose
        && !hit.fenced
        && !hit.comment
        && describes_attack(hit.line_before(), hit.line_after())
}

/// Returns whether a sentence with a command in it describes an attack, and does not say to run the command. Words like
/// “injection” are in every text about security: the sentence must mention an attacker, or an example of an attack.
pub(super) fn describes_attack(before: &[u8], command: &[u8]) -> bool {
    regexes! {
        ATTACKS = concat!(
            r"\b(?:attackers?|adversar(?:y|ies))\b|\b(?:malicious|injected|hostile|poisoned|crafted|exploit)\s+(?:\w+\s+){0,2}?",
            r"(?:payload|input|command|code|instruction|prompt|skill|script|content|text|string|file|hook|package|pr|issue|comment|example|server|repo\w*)s?\b",
            r"|\b(?:payloads?|exploits?|attacks?|injections?|vulnerab\w+)\b[^.\n]{0,60}?(?:\bsuch as\b|\blike\b|\be\.g\.|\bexamples?\b|\blooks?\b)",
            r"|\b(?:examples?|cases?)\s+of\s+(?:\w+\s+){0,3}?(?:attacks?|injections?|exploits?|exfiltration)\b|\bexfiltrat\w+",
        );
        ORDERS =
            r"(?:\b(?P<who>\w+)\W\s*)?\b(?P<verb>run|execute|type|enter|paste|invoke|call|launch|install|start|use|do)\b";
        OTHERS = r"^(?:can|could|may|might|would|will|attackers?|that|which|who|tries|not|never|cannot)$";
    }
    let before = &before[before.len().saturating_sub(MAX_SENTENCE)..];
    let whole = [before, &command[..command.len().min(MAX_SENTENCE)]].concat();
    if !is_match(&ATTACKS, &whole) {
        return false;
    }
    let sentence = before.rsplit(|byte| b".!?".contains(byte)).next().unwrap_or_default();
    let sentence = if sentence.trim_ascii().len() < 3 { before } else { sentence };
    // The text between backticks is the command, which may have such words in it.
    let said: Vec<u8> = sentence.split(|byte| *byte == b'`').step_by(2).collect::<Vec<_>>().join(&b' ');
    let Some(orders) = ORDERS.as_ref() else { return false };
    let mut verbs = orders.captures_iter(&said).map(|order| order.name("who"));
    verbs.all(|who| who.is_some_and(|who| is_match(&OTHERS, who.as_bytes())))
}

/// Judges a match by its own rule, unless it is in a description of an attack.
#[expect(clippy::unnecessary_wraps, reason = "a judge may return none")]
pub(super) fn unless_described(hit: &PatternHit<'_>) -> Option<&'static Rule> {
    Some(if is_described(hit) { &DANGEROUS_EXAMPLE } else { hit.rule })
}

/// Returns whether the text ends inside such quotes.
pub(super) fn is_open(text: &[u8], quote: u8) -> bool {
    text.split(|byte| *byte == quote).count() % 2 == 0
}

/// Judges a match in code or between backticks only.
pub(super) fn in_code(hit: &PatternHit<'_>) -> Option<&'static Rule> {
    (hit.kind != ContentKind::Prose || hit.fenced || is_open(hit.line_before(), b'`')).then_some(hit.rule)
}

/// Returns the rules that a text of its own breaks, as if it were code that is shown.
pub(super) fn rules_in(text: &[u8], path: &Path) -> Vec<&'static Rule> {
    let mut rules = Vec::new();
    let budget = SearchBudget::default();
    PATTERNS.search(text, |pattern, captures| {
        let start = captures.get(0).map_or(0, |found| found.start());
        let (rule, kind, window) = (pattern.rule, ContentKind::Prose, text);
        let hit =
            PatternHit { rule, captures, window, start, path, kind, fenced: true, comment: false, budget: &budget };
        rules.extend((pattern.judge)(&hit));
    });
    rules
}

/// Returns whether a text that is hidden from people is an attack: it breaks a rule of high severity, or addresses a
/// model.
pub(super) fn is_attack(text: &[u8], path: &Path) -> bool {
    let counts = |rule: &&Rule| rule.severity == AuditSeverity::High || rule.id == PROMPT_INJECTION.id;
    is_instruction(text) || rules_in(text, path).iter().any(counts)
}

/// Maximum size of one expression's tables. With less, they are built again and again, at a tenth of the speed.
const MAX_CACHE: usize = 32 << 20;

/// Compiles a regular expression of the audit: bytes, any case.
pub(super) fn regex(text: &str) -> Option<Regex> {
    // All of them are compiled by a test.
    RegexBuilder::new(text)
        .unicode(false)
        .case_insensitive(true)
        .multi_line(true)
        .dfa_size_limit(MAX_CACHE)
        .build()
        .ok()
}

/// A regular expression that is compiled when first used.
pub(super) type LazyRegex = LazyLock<Option<Regex>>;

pub(super) fn is_match(regex: &LazyRegex, text: &[u8]) -> bool {
    regex.as_ref().is_some_and(|regex| regex.is_match(text))
}

/// All patterns, ready to be searched for.
pub(super) struct Patterns {
    words: RegexSet,
    all: Vec<(&'static Pattern, Regex)>,
}

pub(super) static PATTERNS: LazyLock<Patterns> = LazyLock::new(|| {
    let all: Vec<_> = every().filter_map(|pattern| Some((pattern, regex(pattern.regex)?))).collect();
    let words = all.iter().map(|(pattern, _)| {
        let words: Vec<String> = pattern.words.iter().map(|word| regex::escape(word)).collect();
        words.join("|")
    });
    let words = RegexSetBuilder::new(words)
        .dfa_size_limit(MAX_CACHE)
        .unicode(false)
        .case_insensitive(true)
        .build()
        .unwrap_or_else(|_| RegexSet::empty());
    Patterns { words, all }
});

fn every() -> impl Iterator<Item = &'static Pattern> {
    fetch::PATTERNS
        .iter()
        .chain(command::PATTERNS)
        .chain(unsafe_commands::PATTERNS)
        .chain(prose::PATTERNS)
        .chain(languages::PATTERNS)
        .chain(agents::PATTERNS)
        .chain(encoded::PATTERNS)
        .chain(secrets::PATTERNS)
}

impl Patterns {
    /// Calls `found` with every match.
    pub(super) fn search<'w>(&self, window: &'w [u8], mut found: impl FnMut(&'static Pattern, Captures<'w>)) {
        for index in self.words.matches(window) {
            let Some((pattern, regex)) = self.all.get(index) else { continue };
            for captures in regex.captures_iter(window) {
                found(pattern, captures);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_compiles_and_is_searched_for() {
        for pattern in every() {
            assert!(regex(pattern.regex).is_some(), "{}: {}", pattern.rule.id, pattern.regex);
            assert!(!pattern.words.is_empty() && pattern.words.iter().all(|word| !word.is_empty()));
        }
        assert_eq!(PATTERNS.all.len(), every().count());
        assert_eq!(PATTERNS.words.len(), PATTERNS.all.len());
    }
}
