//! Comments, which people do not see and models read.

use std::sync::LazyLock;

use super::Rule;
use super::patterns::{LazyRegex, is_match, regex, regexes};
use super::rules::{COMMENT_INJECTION, COMMENT_INSTRUCTIONS, PROMPT_INJECTION};

regexes! {
    ADDRESSED =
        r"\b(?:assistant|claude|gpt|copilot|ai\s+(?:agent|assistant|model)s?|llms?|the\s+(?:model|agent|ai)|language\s+models?|agents?\s*:|system\s*:)\b";
    ORDERS =
        r"\b(?:you\s+(?:must|should|will|need|have\s+to|are\s+to)|always|never|do\s+not|don't|make\s+sure|whenever|when\s+(?:the\s+)?user|before\s+(?:answering|responding|you)|(?:run|execute|send|upload|fetch|follow)\s)";
    HARMS =
        r"\b(?:run|execute|send|post|upload|fetch|download|install|read|open|curl|wget|visit|include|forward)\b[^\n]{0,120}?(?:https?://|~/\.|\.env\b|\.ssh\b|\bpasswords?\b|\bcredentials?\b|\bsecrets?\b|\bapi\s+keys?\b)";
    HOUSEKEEPING =
        r"^\s*(?:/?toc\b|todo\b|fixme\b|note to (?:editors|maintainers)|markdownlint|prettier|eslint|vale|spdx|copyright|licen[sc]e|#?region|#?endregion|doctoc|start\b|end\b|begin\b|cspell|textlint|lint|more\b|generated|do not edit|auto-?generated|/?all-contributors)";
    /// Orders to send data to an address.
    SENDS =
        r"\b(?:send|post|upload|forward|transmit|exfiltrate|submit|report)\b[^\n]{0,120}?\bto\s[^\n]{0,60}?(?:https?://|\b[\w.-]+@[\w-]+\.\w)";
}
/// Orders to act without mentioning it.
static SECRETLY: LazyRegex = LazyLock::new(|| {
    const ACT: &str =
        r"\b(?:run|execute|start|launch|call|fetch|download|install|read|open|send|post|upload|copy|delete|write)\b";
    const HUSH: &str = r"\b(?:do\s+not|don(?:'|\xe2\x80\x99)?t|never|without)\s+(?:ever\s+)?(?:mention|tell|reveal|disclos|announc|notify|inform)\w*\b";
    regex(&format!(r"{ACT}[^\n]{{0,120}}?{HUSH}|{HUSH}[^\n]{{0,80}}?{ACT}|\b(?:silently|secretly|quietly)\s+{ACT}"))
});
regexes! {
    ACTS =
        r"\b(?:run|execute|start|launch|call|fetch|download|install|read|open|send|post|upload|copy|delete|write)\s+(?:\S+\s+){0,5}?(?:\S*[/.]\w+|commands?|scripts?|files?|it\b|them\b|this\b)";
}

/// Returns whether a hidden part of a text gives a model instructions.
pub(super) fn is_instruction(text: &[u8]) -> bool {
    let text = on_one_line(text);
    is_match(&ORDERS, &text) && (is_match(&ADDRESSED, &text) || is_match(&HARMS, &text))
        || is_match(&SENDS, &text)
        || super::unsafe_commands::is_strong(&text) && is_match(&ACTS, &text)
}

/// Joins lines: an editor may have broken them anywhere in a sentence.
fn on_one_line(text: &[u8]) -> Vec<u8> {
    text.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).collect::<Vec<_>>().join(&b' ')
}

/// Judges a comment as a whole.
pub(super) fn judge_comment(text: &[u8], fenced: bool) -> Option<(&'static Rule, &'static str)> {
    if fenced {
        return None;
    }
    let text = &on_one_line(text);
    let (addressed, orders) = (is_match(&ADDRESSED, text), is_match(&ORDERS, text));
    let harms = is_match(&HARMS, text);
    if addressed && harms && orders {
        return Some((&COMMENT_INJECTION, "a comment tells the model to fetch, send or read something"));
    }
    if is_match(&SECRETLY, text) && is_match(&ACTS, text) && (addressed || orders) && !is_match(&HOUSEKEEPING, text) {
        return Some((&COMMENT_INJECTION, "a comment tells the model to do something and not to speak of it"));
    }
    if is_match(&SENDS, text) && orders {
        return Some((&COMMENT_INJECTION, "a comment tells the model to send something away"));
    }
    if harms && orders && !is_match(&HOUSEKEEPING, text) {
        return Some((&PROMPT_INJECTION, "a comment tells its readers to fetch or read something"));
    }
    // Comments of tools and editors, unless they address a model.
    if is_match(&HOUSEKEEPING, text) && text.len() < 400 && !(addressed && orders) {
        return None;
    }
    let long = text.len() >= 80 && ORDERS.as_ref().is_some_and(|orders| orders.find_iter(text).count() >= 2);
    (addressed && orders || long)
        .then_some((&COMMENT_INSTRUCTIONS, "a comment with instructions, which only models read"))
}
