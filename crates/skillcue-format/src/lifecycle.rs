//! How long a skill stays in a conversation.

use std::fmt;

use crate::node::{Node, Value};

/// How long a skill's text stays in a conversation, once it was shown.
///
/// ```
/// use skillcue_format::{FileKind, Lifecycle, Parsed};
///
/// let file = b"---\nname: pdf\ndescription: Reads PDF files.\nlifecycle:\n  turns: 3\n---\n";
/// let manifest = Parsed::of(file, FileKind::Markdown).manifest.unwrap();
/// assert_eq!(manifest.lifecycle(), Lifecycle::Turns(3));
/// assert_eq!(manifest.lifecycle().to_string(), "turns: 3");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Lifecycle {
    /// Until the turn ends in which it was shown.
    Once,
    /// Until so many turns have ended since it was last used, the one of its use among them.
    Turns(u32),
    /// Until the conversation ends.
    #[default]
    Session,
}

impl Lifecycle {
    /// The form of the values, for findings.
    pub(crate) const FORM: &str = "`once`, `turns: N` with N from 1, or `session`";

    /// Returns the number of turns that it stays; none if it stays until the end.
    pub fn turns(self) -> Option<u32> {
        match self {
            Lifecycle::Once => Some(1),
            Lifecycle::Turns(turns) => Some(turns),
            Lifecycle::Session => None,
        }
    }

    /// Reads a value: a word, a mapping `{turns: N}`, or the same as a text. `None` if it is neither.
    pub(crate) fn of(node: &Node<'_>) -> Option<Lifecycle> {
        let count = |text: &str| text.trim().parse().ok().filter(|turns| *turns > 0).map(Lifecycle::Turns);
        match &node.value {
            Value::Scalar { text, .. } => match text.trim() {
                "once" => Some(Lifecycle::Once),
                "session" => Some(Lifecycle::Session),
                text => count(text.strip_prefix("turns")?.trim_start().strip_prefix(':')?),
            },
            Value::Map(entries) if entries.len() == 1 => count(node.get("turns")?.as_str()?),
            _ => None,
        }
    }
}

impl fmt::Display for Lifecycle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Lifecycle::Once => f.write_str("once"),
            Lifecycle::Turns(turns) => write!(f, "turns: {turns}"),
            Lifecycle::Session => f.write_str("session"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Code, FileKind, Parsed, lint};

    fn lifecycle(written: &str) -> (Lifecycle, bool) {
        let file =
            format!("---\nname: a\ndescription: Does a thing for you. Use when asked.\n{written}\n---\nDo it.\n");
        let manifest = Parsed::of(file.as_bytes(), FileKind::Markdown).manifest.unwrap();
        let found = lint(file.as_bytes(), FileKind::Markdown, &|_| true);
        let wrong = found.iter().any(|found| found.code == Code::WrongType && found.message.contains("lifecycle"));
        (manifest.lifecycle(), wrong)
    }

    #[test]
    fn values_are_read_at_both_places_and_wrong_ones_are_reported() {
        for (written, expected) in [
            ("", Lifecycle::Session),
            ("lifecycle: session", Lifecycle::Session),
            ("lifecycle: once", Lifecycle::Once),
            ("lifecycle: {turns: 3}", Lifecycle::Turns(3)),
            ("lifecycle:\n  turns: 12", Lifecycle::Turns(12)),
            ("lifecycle: \"turns: 2\"", Lifecycle::Turns(2)),
            ("metadata:\n  lifecycle: once", Lifecycle::Once),
        ] {
            assert_eq!(lifecycle(written), (expected, false), "{written}");
        }
        for written in [
            "lifecycle: forever",
            "lifecycle: {turns: 0}",
            "lifecycle: {turns: -1}",
            "lifecycle: [once]",
            "lifecycle: 3",
        ] {
            assert_eq!(lifecycle(written), (Lifecycle::Session, true), "{written}");
        }
    }
}
