//! Showing text that came from outside.

use std::borrow::Cow;
use std::fmt;

use crate::is_hidden;

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
    /// Long enough for any path that people write; a path of a megabyte must not become a log line of one.
    const MAX_CHARS: usize = 256;
}

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (shown, c) in self.0.chars().enumerate() {
            if shown == Self::MAX_CHARS {
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

/// Text from outside on one line, of any length: like [`Shown`], for what must stay whole, such as a directory.
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

/// Writes out every hidden character but those in `kept`.
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

/// Folds a text to one line: each run of white space is a blank, and hidden characters are written out.
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
    fn what_is_missing_is_said_in_one_way() {
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
