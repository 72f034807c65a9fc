//! Redaction: what must not leave this machine with an exported page.

use std::path::Path;

use serde_json::Value;
use skillcue_audit::mask_secrets;

use crate::credentials::mask_credentials;

/// The least length of a directory that is left out: `/` or `/r` would be found everywhere.
const MIN_DIRECTORY: usize = 3;

/// Replaces secrets, home directories and other directories of this machine in documents. The one function that every
/// exported text goes through.
///
/// ```
/// use skillcue_studio::Redaction;
///
/// let redaction = Redaction::default().directory("/home/alice", "~").directory("/home/alice/work", ".");
/// let mut document = serde_json::json!({"path": "/home/alice/work/pdf/SKILL.md", "home": "see /home/alice/.ssh"});
/// redaction.apply(&mut document);
/// assert_eq!(document, serde_json::json!({"path": "./pdf/SKILL.md", "home": "see ~/.ssh"}));
/// ```
#[derive(Debug, Clone, Default)]
pub struct Redaction {
    /// Directories and what is written in their place, the longest first.
    directories: Vec<(String, String)>,
}

impl Redaction {
    /// Adds a directory that is replaced by a shorter form wherever it occurs.
    #[must_use]
    pub fn directory(mut self, dir: impl AsRef<Path>, shown: &str) -> Redaction {
        let dir = dir.as_ref().to_string_lossy().trim_end_matches('/').to_owned();
        if dir.len() >= MIN_DIRECTORY {
            self.directories.push((dir, shown.to_owned()));
            self.directories.sort_by_key(|(dir, _)| std::cmp::Reverse(dir.len()));
        }
        self
    }

    /// Redacts every text of a document, keys of objects too.
    pub fn apply(&self, document: &mut Value) {
        match document {
            Value::String(text) => *text = self.text(text),
            Value::Array(items) => items.iter_mut().for_each(|item| self.apply(item)),
            Value::Object(fields) => {
                for (key, mut value) in std::mem::take(fields) {
                    self.apply(&mut value);
                    fields.insert(self.text(&key), value);
                }
            }
            _ => {}
        }
    }

    /// Redacts a text.
    pub fn text(&self, text: &str) -> String {
        let mut redacted = mask_credentials(&mask_secrets(text));
        for (dir, shown) in &self.directories {
            redacted = without_directory(redacted, dir.as_bytes(), shown);
        }
        redacted
    }
}

/// Replaces a directory wherever it occurs, as it is or percent-encoded as in an address. Longer names that begin alike,
/// `/home/alice2` for `/home/alice`, stay.
fn without_directory(text: String, dir: &[u8], shown: &str) -> String {
    let bytes = text.as_bytes();
    let (mut redacted, mut done, mut at) = (Vec::new(), 0, 0);
    while at < bytes.len() {
        let end = if matches!(bytes[at], b'/' | b'%') { end_of(&bytes[at..], dir) } else { None };
        match end {
            Some(length) if !goes_on(&bytes[at + length..]) => {
                redacted.extend_from_slice(&bytes[done..at]);
                redacted.extend_from_slice(shown.as_bytes());
                at += length;
                done = at;
            }
            _ => at += 1,
        }
    }
    if done == 0 {
        return text;
    }
    redacted.extend_from_slice(&bytes[done..]);
    // Whole characters were taken out, unless the directory's name is none of text.
    String::from_utf8_lossy(&redacted).into_owned()
}

/// Returns the length of a directory at the beginning of a text, in which each byte may be percent-encoded.
fn end_of(text: &[u8], dir: &[u8]) -> Option<usize> {
    let mut at = 0;
    for byte in dir {
        let (found, length) = decoded(&text[at..])?;
        if found != *byte {
            return None;
        }
        at += length;
    }
    Some(at)
}

/// Returns the first byte of a text, decoded, and its length.
fn decoded(text: &[u8]) -> Option<(u8, usize)> {
    let digit = |at: usize| text.get(at).and_then(|digit| char::from(*digit).to_digit(16));
    match (text.first()?, digit(1), digit(2)) {
        (b'%', Some(high), Some(low)) => Some((u8::try_from(high * 16 + low).ok()?, 3)),
        (byte, ..) => Some((*byte, 1)),
    }
}

/// Returns whether a name goes on: `2`, `-old`, `.bak`. A full stop that ends a sentence ends the name, too.
fn goes_on(rest: &[u8]) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || byte >= 0x80 || matches!(byte, b'_' | b'-');
    match decoded(rest) {
        Some((b'.', length)) => decoded(&rest[length..]).is_some_and(|(next, _)| is_letter(next)),
        Some((byte, _)) => is_letter(byte),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_and_directories_are_left_out_everywhere() {
        let key = format!("sk-ant-{}", "api03-Zm9vYmFyYmF6cXV4MTIzNDU2Nzg5MGFiY2RlZg".repeat(2));
        let mut document = serde_json::json!({
            "body": format!("export ANTHROPIC_API_KEY={key}\n"),
            "/home/alice/x": ["/home/alice", {"deep": "file:///home/alice/work/a"}],
            "number": 1,
        });
        Redaction::default().directory("/home/alice/", "~").directory("/home/alice/work", ".").apply(&mut document);
        let text = document.to_string();
        assert!(!text.contains(&key) && !text.contains("alice"), "{text}");
        assert!(text.contains("file://./a") && text.contains("\"~/x\""), "{text}");
    }

    #[test]
    fn encoded_directories_are_left_out_and_longer_names_stay() {
        let redaction = Redaction::default().directory("/home/älice b", "~").directory("/home/bob", "~");
        for (text, redacted) in [
            ("open=%2Fhome%2f%C3%A4lice%20b%2Fnotes", "open=~%2Fnotes"),
            ("file:///home/%c3%a4lice%20b/notes", "file://~/notes"),
            ("%2Fhome%2Fbob and /home/bob.", "~ and ~."),
            (
                "/home/bobby /home/bob-old /home/bob.bak /home/bob2",
                "/home/bobby /home/bob-old /home/bob.bak /home/bob2",
            ),
            ("\"/home/bob\": 100 % of /home/bob/x", "\"~\": 100 % of ~/x"),
            ("%2Fhome%2Fbobby", "%2Fhome%2Fbobby"),
        ] {
            assert_eq!(redaction.text(text), redacted);
            assert_eq!(redaction.text(redacted), redacted);
        }
    }

    #[test]
    fn credentials_without_a_form_of_their_own_are_left_out() {
        let redaction = Redaction::default();
        assert_eq!(redaction.text("password: hunter2-hunter2; curl -u a:s3cret"), "password: …; curl -u a:…");
    }

    #[test]
    fn short_directories_are_not_replaced() {
        assert_eq!(Redaction::default().directory("/", "~").text("/a/b"), "/a/b");
    }
}
