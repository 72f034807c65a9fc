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
            if is_hidden(c) {
                write!(f, "{}", c.escape_default())?;
            } else {
                write!(f, "{c}")?;
            }
        }
        Ok(())
    }
}

/// Whether a terminal obeys a character, or a reader does not see it: C0 and C1 controls are commands to a terminal; the
/// others hide or reorder what stands around them.
///
/// ```
/// use skillfold_catalog::is_hidden;
///
/// assert!(is_hidden('\u{1b}') && is_hidden('\u{202e}') && is_hidden('\u{e0041}'));
/// assert!(!is_hidden('ß') && !is_hidden(' '));
/// ```
pub fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            | '\u{3164}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

/// What the operating system said, in words only.
///
/// ```
/// let error = std::fs::read("/no/such/file").unwrap_err();
/// assert_eq!(skillfold_catalog::os_message(&error), "no such file or directory");
/// assert_eq!(skillfold_catalog::os_message(&std::io::ErrorKind::NotFound.into()), "no such file or directory");
/// ```
pub fn os_message(error: &std::io::Error) -> String {
    if error.raw_os_error().is_none() && error.get_ref().is_none() && error.kind() == std::io::ErrorKind::NotFound {
        // The standard library's own words for it are "entity not found".
        return "no such file or directory".to_owned();
    }
    let text = error.to_string();
    match text.split_once(" (os error") {
        Some((reason, _)) => reason.to_lowercase(),
        // Without a number of the system, Rust's own word for it is none that people know.
        None if error.get_ref().is_none() && error.kind() == std::io::ErrorKind::NotFound => {
            "no such file or directory".to_owned()
        }
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
