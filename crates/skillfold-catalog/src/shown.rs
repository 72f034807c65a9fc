//! Showing text that came from outside.

use std::fmt;

/// Text from outside as it may be shown: on one line, with nothing invisible in it, of bounded length.
///
/// Names and paths in messages come from files and from models. Shown raw, they could forge a log line, recolour a
/// terminal, or reverse what a reader sees.
///
/// ```
/// use skillfold_catalog::Shown;
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
            if c.is_control() || is_invisible(c) {
                write!(f, "{}", c.escape_default())?;
            } else {
                write!(f, "{c}")?;
            }
        }
        Ok(())
    }
}

/// Line and paragraph separators, zero-width characters, and those that reverse the direction of what follows.
fn is_invisible(c: char) -> bool {
    matches!(
        c,
        '\u{ad}'
            | '\u{61c}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{feff}'
            | '\u{e0000}'..='\u{e007f}'
    )
}

/// What the operating system said, in words only.
///
/// ```
/// let error = std::fs::read("/no/such/file").unwrap_err();
/// assert_eq!(skillfold_catalog::os_message(&error), "no such file or directory");
/// ```
pub fn os_message(error: &std::io::Error) -> String {
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
    fn is_bounded() {
        let long = "ü".repeat(10_000);
        assert_eq!(Shown(&long).to_string().chars().count(), Shown::MAX_CHARS + 1);
    }
}
