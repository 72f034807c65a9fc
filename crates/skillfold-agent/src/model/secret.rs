//! Keys.

use std::fmt;

/// A key. Nothing shows it: neither `Debug` nor `Display`, nor any error of this crate.
///
/// ```
/// use skillfold_agent::model::Secret;
///
/// let key = Secret::new("sk-12345".to_owned());
/// assert_eq!(format!("{key:?} {key}"), "Secret([key]) [key]");
/// assert_eq!(key.hide_in("the key sk-12345 is wrong"), "the key [key] is wrong");
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Keeps a key. Blanks and line ends around it, which files and variables have, are no part of it.
    pub fn new(key: String) -> Secret {
        let trimmed = key.trim();
        if trimmed.len() == key.len() { Secret(key) } else { Secret(trimmed.to_owned()) }
    }

    /// The text without the key.
    pub fn hide_in(&self, text: &str) -> String {
        if self.0.is_empty() { text.to_owned() } else { text.replace(&self.0, "[key]") }
    }

    /// The key itself, for a header.
    pub(super) fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret([key])")
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[key]")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blanks_around_a_key_are_none_of_it() {
        assert_eq!(Secret::new(" abc\n".to_owned()).reveal(), "abc");
        assert_eq!(Secret::new(String::new()).hide_in("abc"), "abc");
    }
}
