//! Prepares a file's text for a finding: every secret is masked, and invisible characters become escapes. No other
//! module puts text into a finding.
//!
//! Text is masked first and cut afterwards: half a secret would not be recognised as one.

use std::fmt::Write as _;
use std::sync::LazyLock;

use regex::bytes::Regex;
use skillcue_base::Shown;

use super::hidden::is_invisible;
use super::patterns::{regex, regexes};
use super::secrets::PATTERNS;

/// Maximum distance around a place at which secrets are searched for. A token that is longer is hidden because it is
/// cut.
const MAX_CONTEXT: usize = 4 << 10;
/// Maximum length of a private key, which can begin so far before a place in it.
pub(super) const MAX_KEY: usize = 32 << 10;
/// Maximum number of characters that are shown before a place.
const MAX_BEFORE: usize = 60;
/// Maximum number of characters that are shown in all.
const MAX_SHOWN: usize = 160;
/// The number of characters of a secret that are shown, to identify it.
const VISIBLE_START: usize = 4;

static TOKENS: LazyLock<Vec<Regex>> =
    LazyLock::new(|| PATTERNS.iter().filter_map(|pattern| regex(pattern.regex)).collect());
regexes!(HEADER = r"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----");

/// Returns the text around `at` in its line.
pub(super) fn line(window: &[u8], at: usize) -> String {
    let (before, after) = around(window, at);
    let skip = before.chars().count().saturating_sub(MAX_BEFORE);
    let text: String = before.chars().skip(skip).chain(after.chars()).collect();
    written(&text.trim().chars().take(MAX_SHOWN).collect::<String>())
}

/// Returns the text before `at` in its line, and then a text that is not in the window.
pub(super) fn before(window: &[u8], at: usize, then: &str) -> String {
    let (before, _) = around(window, at);
    let skip = before.chars().count().saturating_sub(MAX_BEFORE / 2);
    written(&(before.chars().skip(skip).collect::<String>() + then))
}

/// Returns a text for a message. One that was `cut` may end in the middle of a secret.
pub(super) fn text(text: &str, cut: bool) -> String {
    let bytes = text.as_bytes();
    written(&String::from_utf8_lossy(&masked(bytes, 0, bytes.len(), (false, cut)).0))
}

/// Returns a text with every key and token in it masked but for its first characters, by the patterns of this crate.
///
/// ```
/// let masked = skillcue_audit::mask_secrets("use ghp_0123456789abcdefghijABCDEFGHIJ012345 here");
/// assert_eq!(masked, "use ghp_… here");
/// ```
pub fn mask_secrets(text: &str) -> String {
    let mut masked = text.to_owned();
    finished(&mut masked);
    masked
}

/// Masks secrets in a finished message or excerpt.
pub(super) fn finished(text: &mut String) {
    let (masked, _) = masked(text.as_bytes(), 0, text.len(), (false, false));
    if masked != text.as_bytes() {
        *text = String::from_utf8_lossy(&masked).into_owned();
    }
}

fn written(text: &str) -> String {
    let mut plain = String::new();
    for c in text.chars() {
        if is_invisible(c) {
            let _ = write!(plain, "{}", c.escape_default());
        } else {
            plain.push(c);
        }
    }
    Shown(&plain).to_string()
}

/// Returns the line around `at`, masked: the text before and the text after.
fn around(window: &[u8], at: usize) -> (String, String) {
    let at = at.min(window.len());
    let from = at.saturating_sub(MAX_CONTEXT);
    let to = window.len().min(at + MAX_CONTEXT);
    let (text, middle) = masked(&window[..to], from, at, (from > 0, to < window.len()));
    let before = text[..middle].rsplit(|byte| *byte == b'\n').next().unwrap_or_default();
    let after = text[middle..].split(|byte| *byte == b'\n').next().unwrap_or_default();
    (String::from_utf8_lossy(before).into_owned(), String::from_utf8_lossy(after).into_owned())
}

/// Returns the text from `from` on without its secrets, and the offset of `at` in it. A token that is cut on either
/// side is masked as well.
fn masked(text: &[u8], from: usize, at: usize, cut: (bool, bool)) -> (Vec<u8>, usize) {
    let mut hidden = keys(text, from.saturating_sub(MAX_KEY));
    for (start, end) in tokens(&text[from..]) {
        hidden.push((from + start, from + end));
    }
    let shown = &text[from..];
    if cut.0 {
        hidden.push((from, from + shown.iter().position(|byte| !is_token(*byte)).unwrap_or(shown.len())));
    }
    if cut.1 {
        let length = shown.iter().rev().position(|byte| !is_token(*byte)).unwrap_or(shown.len());
        if length > 2 * VISIBLE_START {
            hidden.push((text.len() - length + VISIBLE_START, text.len()));
        }
    }
    hidden.retain(|(start, end)| start < end && *end > from);
    hidden.sort_unstable();
    let (mut masked, mut middle, mut done) = (Vec::new(), None, from);
    for (start, end) in hidden {
        if start > done || masked.is_empty() {
            let start = start.max(done);
            if (done..start).contains(&at) {
                middle = Some(masked.len() + at - done);
            }
            masked.extend_from_slice(&text[done..start]);
            masked.extend_from_slice("…".as_bytes());
        }
        done = done.max(end);
        if at < done {
            middle = middle.or(Some(masked.len()));
        }
    }
    let middle = middle.unwrap_or(masked.len() + at.saturating_sub(done));
    masked.extend_from_slice(&text[done..]);
    (masked, middle)
}

/// Returns whether tokens may have this byte.
fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"+/=_-.~".contains(&byte)
}

/// Returns the ranges of tokens, without their first characters; real ones or not.
fn tokens(text: &[u8]) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    for regex in TOKENS.iter() {
        for captures in regex.captures_iter(text) {
            let Some(secret) = captures.name("key").or_else(|| captures.name("at")) else { continue };
            found.push((secret.end().min(secret.start() + VISIBLE_START), secret.end()));
        }
    }
    found
}

/// Returns the ranges of private keys: from behind the line that begins one to the line that ends it, or as far as it
/// can reach.
fn keys(text: &[u8], from: usize) -> Vec<(usize, usize)> {
    let Some(header) = HEADER.as_ref() else { return Vec::new() };
    let body = |byte: &u8| byte.is_ascii_alphanumeric() || b"+/=\\ \t\r\n\"',>|#*:-".contains(byte);
    let length = |rest: &[u8]| {
        let end = rest.windows(8).take(MAX_KEY).position(|part| part == b"-----END");
        end.unwrap_or_else(|| rest.iter().position(|byte| !body(byte)).unwrap_or(rest.len()))
    };
    let mut found: Vec<(usize, usize)> = Vec::new();
    for start in header.find_iter(&text[from..]).map(|found| from + found.end()) {
        // A header inside another key is hidden with it.
        if found.last().is_none_or(|(_, end)| start >= *end) {
            found.push((start, start + length(&text[start..])));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_hidden_at_a_cut() {
        let long = format!("x={}", "aB3".repeat(5000));
        let shown = line(long.as_bytes(), 12_000);
        assert!(!shown.contains("aB3"), "{shown}");
        assert_eq!(text("spell it: aB3dE5fG7hI9", true), "spell it: aB3d…");
        assert_eq!(text("spell it: aB3dE5fG7hI9", false), "spell it: aB3dE5fG7hI9");
        assert_eq!(line(b"one\ntwo three\nfour", 8), "two three");
    }
}
