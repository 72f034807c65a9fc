//! Globs over names, addresses and publishers: of a policy's rules and of views.

use std::fmt;
use std::str::FromStr;

use globset::{GlobBuilder, GlobMatcher};
use serde::de::{Deserialize, Deserializer, Error as _};

/// A glob over a name, an origin or a publisher: `*` matches any text, a `/` too, `?` one ASCII character, `[a-z]` one of
/// some, and `{a,b}` one of several texts. Letters count in any case: names of hosts do not have one, and a rule must not be
/// evaded by it.
///
/// ```
/// use skillcue_catalog::NameGlob;
///
/// let glob: NameGlob = "*-miner".parse()?;
/// assert!(glob.matches("coin-miner") && glob.matches("acme/Coin-Miner") && !glob.matches("miner"));
/// assert_eq!("a[".parse::<NameGlob>().unwrap_err(), "unclosed character class; missing ']'");
/// # Ok::<(), String>(())
/// ```
#[derive(Debug, Clone)]
pub struct NameGlob {
    text: String,
    matcher: GlobMatcher,
}

impl NameGlob {
    /// Returns whether a text fits.
    pub fn matches(&self, text: &str) -> bool {
        self.matcher.is_match(text)
    }

    /// Returns the glob as it was written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns whether a text fits one of several globs.
    pub(crate) fn any(globs: &[NameGlob], text: &str) -> bool {
        globs.iter().any(|glob| glob.matches(text))
    }
}

impl FromStr for NameGlob {
    /// A sentence on what is wrong.
    type Err = String;

    fn from_str(text: &str) -> Result<NameGlob, String> {
        if text.trim().is_empty() {
            return Err("it is empty".to_owned());
        }
        let glob =
            GlobBuilder::new(text).literal_separator(false).case_insensitive(true).backslash_escape(true).build();
        match glob {
            Ok(glob) => Ok(NameGlob { text: text.to_owned(), matcher: glob.compile_matcher() }),
            Err(error) => Err(error.kind().to_string()),
        }
    }
}

impl<'de> Deserialize<'de> for NameGlob {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<NameGlob, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(|why| D::Error::custom(format!("`{}`: {why}", skillcue_base::Shown(&text))))
    }
}

impl fmt::Display for NameGlob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl PartialEq for NameGlob {
    fn eq(&self, other: &NameGlob) -> bool {
        self.text == other.text
    }
}

impl Eq for NameGlob {}

#[cfg(test)]
mod tests {
    use super::NameGlob;

    fn fits(glob: &str, text: &str) -> bool {
        glob.parse::<NameGlob>().unwrap().matches(text)
    }

    #[test]
    fn stars_and_question_marks() {
        for (glob, text) in [
            ("*", ""),
            ("*", "a"),
            ("a*", "a"),
            ("*a", "ba"),
            ("a*c*e", "abcde"),
            ("?", "u"),
            ("a**b", "ab"),
            ("a", "A"),
            ("*/b", "x/a/b"),
        ] {
            assert!(fits(glob, text), "{glob} {text}");
        }
        for (glob, text) in [("a", ""), ("?", ""), ("a*b", "abc"), ("*a", "ab"), ("a.c", "abc"), ("a", "a\n")] {
            assert!(!fits(glob, text), "{glob} {text}");
        }
        assert!(!fits(&"*a".repeat(200), &"a".repeat(150)), "and it ends");
    }
}
