//! Redaction: what must not leave this machine with an exported page.

use std::path::Path;

use serde_json::Value;
use skillcue_audit::mask_secrets;

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
        let mut redacted = mask_secrets(text);
        for (dir, shown) in &self.directories {
            if redacted.contains(dir.as_str()) {
                redacted = redacted.replace(dir.as_str(), shown);
            }
        }
        redacted
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
    fn short_directories_are_not_replaced() {
        assert_eq!(Redaction::default().directory("/", "~").text("/a/b"), "/a/b");
    }
}
