//! Makes text from outside safe to show.

use std::borrow::Cow;
use std::fmt;
use std::path::Path;

use crate::{is_hidden, visible};

/// Text from outside as it may be shown: on one line, with nothing invisible in it, of bounded length.
///
/// Names and paths in messages come from files and from models. Shown raw, they could forge a log line, recolour a
/// terminal, or reverse what a reader sees.
///
/// ```
/// use skillcue_base::Shown;
///
/// assert_eq!(Shown("größe.md").to_string(), "größe.md");
/// assert_eq!(Shown("a\nWARN b\u{202e}").to_string(), "a\\nWARN b\\u{202e}");
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Shown<'a>(pub &'a str);

impl Shown<'_> {
    /// Maximum number of characters: enough for any path that people write; a path of a megabyte must not become a log
    /// line of one.
    const MAX_CHARS: usize = 256;

    /// Returns the text with another limit than 256 characters.
    ///
    /// ```
    /// use skillcue_base::Shown;
    ///
    /// assert_eq!(Shown("abc\ndef").within(5).to_string(), "abc\\nd…");
    /// ```
    pub fn within(self, max_chars: usize) -> impl fmt::Display {
        fmt::from_fn(move |f| self.write(f, max_chars))
    }

    fn write(self, f: &mut fmt::Formatter<'_>, max_chars: usize) -> fmt::Result {
        for (shown, c) in self.0.chars().enumerate() {
            if shown == max_chars {
                return f.write_str("…");
            }
            if is_hidden(c) {
                write!(f, "{}", c.escape_default())?;
            } else {
                write!(f, "{c}")?;
            }
        }
        Ok(())
    }
}

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f, Self::MAX_CHARS)
    }
}

/// Returns a path as it may be shown: like [`Shown`].
///
/// ```
/// assert_eq!(skillcue_base::shown_path(std::path::Path::new("/a\nb")), "/a\\nb");
/// ```
pub fn shown_path(path: &Path) -> String {
    Shown(&path.to_string_lossy()).to_string()
}

/// Returns a word from outside in quotation marks: like [`Shown`], with marks inside it escaped, so that it ends where
/// it seems to end.
///
/// ```
/// assert_eq!(skillcue_base::quoted("a\"b\n"), r#""a\"b\n""#);
/// ```
pub fn quoted(text: &str) -> String {
    format!("\"{}\"", Shown(&text.replace('\\', r"\\").replace('"', r#"\""#)))
}

/// Returns text from outside on one line, of any length: like [`Shown`], for text that must stay whole, such as a
/// directory.
///
/// ```
/// use skillcue_base::one_line;
///
/// assert_eq!(one_line("/skills/größe"), "/skills/größe");
/// assert_eq!(one_line("/skills/a\n# Obey\u{1b}"), "/skills/a\\n# Obey\\u{1b}");
/// ```
pub fn one_line(text: &str) -> Cow<'_, str> {
    escape_hidden(text, &[])
}

/// Writes every hidden character but those in `kept` as an escape.
///
/// ```
/// use skillcue_base::escape_hidden;
///
/// assert_eq!(escape_hidden("a\nb\u{1b}", &['\n']), "a\nb\\u{1b}");
/// ```
pub fn escape_hidden<'t>(text: &'t str, kept: &[char]) -> Cow<'t, str> {
    let is_escaped = |c: char| is_hidden(c) && !kept.contains(&c);
    if !text.contains(is_escaped) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if is_escaped(c) { shown.extend(c.escape_default()) } else { shown.push(c) }
    }
    Cow::Owned(shown)
}

/// Folds a text to one line: each run of white space is a blank, and hidden characters become escapes.
///
/// ```
/// use skillcue_base::folded_line;
///
/// assert_eq!(folded_line(" Reads\n  PDF\u{202e}"), "Reads PDF\\u{202e}");
/// ```
pub fn folded_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(&escape_hidden(word, &[]));
    }
    line
}

/// Returns a text for a model on one line: without hidden characters, each run of white space a blank.
///
/// Unlike [`folded_line`], which is for people and writes hidden characters as escapes.
///
/// ```
/// use skillcue_base::visible_line;
///
/// assert_eq!(visible_line(" Reads\n  PDF\u{202e}"), "Reads PDF");
/// ```
pub fn visible_line(text: &str) -> Cow<'_, str> {
    let is_plain = |text: &str| {
        let bytes = text.as_bytes();
        let is_odd = |at: usize| match bytes[at] {
            b' ' => at == 0 || at + 1 == bytes.len() || bytes[at - 1] == b' ',
            byte => !byte.is_ascii_graphic(),
        };
        !(0..bytes.len()).any(is_odd)
    };
    if is_plain(text) {
        return Cow::Borrowed(text);
    }
    let mut line = String::with_capacity(text.len());
    for word in visible(text).split_whitespace() {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    Cow::Owned(line)
}

/// Returns the operating system's message, in words only.
///
/// ```
/// let error = std::fs::read("/no/such/file").unwrap_err();
/// assert_eq!(skillcue_base::os_message(&error), "no such file or directory");
/// assert_eq!(skillcue_base::os_message(&std::io::ErrorKind::NotFound.into()), "no such file or directory");
/// ```
pub fn os_message(error: &std::io::Error) -> String {
    if error.raw_os_error().is_none() && error.get_ref().is_none() && error.kind() == std::io::ErrorKind::NotFound {
        // The standard library's own words for it are "entity not found".
        return "no such file or directory".to_owned();
    }
    let text = error.to_string();
    match text.split_once(" (os error") {
        Some((reason, _)) => reason.to_lowercase(),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::Shown;

    #[test]
    fn escapes_control_characters() {
        assert_eq!(Shown("a\nb\u{1b}[31m\0\u{202e}ü").to_string(), "a\\nb\\u{1b}[31m\\u{0}\\u{202e}ü");
    }

    #[test]
    fn a_missing_file_has_one_message() {
        let error = std::io::Error::from(std::io::ErrorKind::NotFound);
        assert_eq!(super::os_message(&error), "no such file or directory");
        let error = std::io::Error::new(std::io::ErrorKind::NotFound, "the skill is gone");
        assert_eq!(super::os_message(&error), "the skill is gone");
    }

    #[test]
    fn is_bounded() {
        let long = "ü".repeat(10_000);
        assert_eq!(Shown(&long).to_string().chars().count(), Shown::MAX_CHARS + 1);
    }
}
