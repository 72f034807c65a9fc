//! A skill's name.

use std::borrow::Borrow;
use std::fmt;
use std::ops::Deref;
use std::sync::LazyLock;

use regex::Regex;
use serde::{Serialize, Serializer};
use unicode_normalization::{UnicodeNormalization, is_nfkc};

use skillcue_base::is_hidden;

/// Maximum number of characters in a name.
pub const MAX_NAME: usize = 64;

/// The name of a skill in its canonical form: 1 to 64 lower-case letters, digits, `-`.
///
/// [`SkillName::lenient`] makes one of any name that discovery accepts; [`SkillName::check`] reports which rule of the
/// open standard a name breaks.
///
/// ```
/// use skillcue_format::SkillName;
///
/// assert_eq!(SkillName::lenient("PDF_Tools").unwrap().as_str(), "pdf-tools");
/// assert!(SkillName::lenient("pdf tools!").is_err());
/// assert_eq!(SkillName::check("pdf-tools"), Ok(()));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SkillName(Box<str>);

/// The reason why a name is invalid.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum NameError {
    /// No character at all.
    Empty,
    /// More than 64 characters.
    TooLong(usize),
    /// A character that no name may have.
    Character(char),
    /// Strictly: a capital letter.
    Capital,
    /// Strictly: a hyphen at the start or the end.
    OuterHyphen,
    /// Strictly: two hyphens in a row.
    DoubleHyphen,
}

impl fmt::Display for NameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NameError::Empty => f.write_str("a name needs at least one character"),
            NameError::TooLong(length) => write!(f, "a name has at most {MAX_NAME} characters, this one has {length}"),
            NameError::Character(c) => write!(f, "{c:?} is not allowed in a name; use letters, digits and hyphens"),
            NameError::Capital => f.write_str("a name is written in lower case"),
            NameError::OuterHyphen => f.write_str("a name neither starts nor ends with a hyphen"),
            NameError::DoubleHyphen => f.write_str("a name has no two hyphens in a row"),
        }
    }
}

impl std::error::Error for NameError {}

impl SkillName {
    /// Returns the canonical form of a name that discovery accepts: letters, digits, `_`, `-` and inner spaces become
    /// lower case with hyphens.
    pub fn lenient(written: &str) -> Result<SkillName, NameError> {
        if (1..=MAX_NAME).contains(&written.len())
            && written.bytes().all(|b| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'-'))
        {
            // Nearly all names are canonical.
            return Ok(SkillName(Box::from(written)));
        }
        let written = written.trim();
        if written.is_ascii() {
            let mut name = String::with_capacity(written.len());
            for c in written.chars() {
                name.push(match c {
                    'a'..='z' | '0'..='9' | '-' => c,
                    'A'..='Z' => c.to_ascii_lowercase(),
                    '_' | ' ' => '-',
                    _ => return Err(NameError::Character(c)),
                });
            }
            return SkillName::measured(name);
        }
        let mut name = String::with_capacity(written.len());
        for c in written.nfkc() {
            match c {
                '_' | ' ' | '-' => name.push('-'),
                // Some letters are blank: fillers of Hangul.
                _ if c.is_alphanumeric() && !is_hidden(c) => {
                    name.extend(c.to_lowercase().filter(|c| c.is_alphanumeric()));
                }
                _ => return Err(NameError::Character(c)),
            }
        }
        SkillName::measured(name)
    }

    fn measured(name: String) -> Result<SkillName, NameError> {
        match name.chars().count() {
            0 => Err(NameError::Empty),
            1..=MAX_NAME => Ok(SkillName(name.into_boxed_str())),
            more => Err(NameError::TooLong(more)),
        }
    }

    pub(crate) fn unchecked(name: &str) -> SkillName {
        SkillName(Box::from(name))
    }

    /// Checks the strict rules of agentskills.io, as its reference validator has them (letters of any script).
    pub fn check(written: &str) -> Result<(), NameError> {
        let name = normalise(written);
        match name.chars().count() {
            0 => return Err(NameError::Empty),
            1..=MAX_NAME => {}
            more => return Err(NameError::TooLong(more)),
        }
        if name.to_lowercase() != *name {
            return Err(NameError::Capital);
        }
        if name.starts_with('-') || name.ends_with('-') {
            return Err(NameError::OuterHyphen);
        }
        if name.contains("--") {
            return Err(NameError::DoubleHyphen);
        }
        match name.chars().find(|c| !is_letter_or_digit(*c) && *c != '-') {
            Some(c) => Err(NameError::Character(c)),
            None => Ok(()),
        }
    }

    /// Returns the text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Returns whether the general category is letter or number, as the reference has it. `char::is_alphanumeric` also
/// takes vowel signs and circled letters, which are alphabetic but no letters.
fn is_letter_or_digit(c: char) -> bool {
    static CATEGORIES: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"^[\p{L}\p{N}]$").ok());
    if c.is_ascii() {
        return c.is_ascii_alphanumeric();
    }
    let mut buffer = [0; 4];
    CATEGORIES.as_ref().is_some_and(|categories| categories.is_match(c.encode_utf8(&mut buffer)))
}

/// Returns a name as strict rules compare it: without white space around it, compatibility characters folded.
pub(crate) fn normalise(written: &str) -> String {
    nfkc(strip(written))
}

/// Returns the name of a directory as strict rules compare it: its white space counts.
pub(crate) fn normalise_directory(name: &str) -> String {
    nfkc(name)
}

/// Returns the text without white space around it. To the reference that includes the four separators of ASCII.
pub(crate) fn strip(text: &str) -> &str {
    text.trim_matches(|c: char| c.is_whitespace() || matches!(c, '\x1c'..='\x1f'))
}

fn nfkc(text: &str) -> String {
    if is_nfkc(text) { text.to_owned() } else { text.nfkc().collect() }
}

impl Deref for SkillName {
    type Target = str;
    fn deref(&self) -> &str {
        &self.0
    }
}

impl Borrow<str> for SkillName {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for SkillName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Serialize for SkillName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lenient_names_are_canonicalised() {
        let lenient = |name: &str| SkillName::lenient(name).map(|name| name.to_string());
        assert_eq!(lenient("My Skill_2").as_deref(), Ok("my-skill-2"));
        assert_eq!(lenient("Größe").as_deref(), Ok("größe"));
        assert_eq!(lenient("表格").as_deref(), Ok("表格"));
        assert_eq!(lenient("ＰＤＦ").as_deref(), Ok("pdf"));
        assert_eq!(lenient(" "), Err(NameError::Empty));
        assert_eq!(lenient("a/b"), Err(NameError::Character('/')));
        assert_eq!(lenient("a\tb"), Err(NameError::Character('\t')));
        assert_eq!(lenient(&"x".repeat(64)).map(|n| n.len()), Ok(64));
        assert_eq!(lenient(&"x".repeat(65)), Err(NameError::TooLong(65)));
    }

    #[test]
    fn canonical_names_are_fixed_points() {
        for name in ["İstanbul", "Straße", "ǅ", "ﬁle_Name", "-a--b-"] {
            let once = SkillName::lenient(name).unwrap();
            assert_eq!(SkillName::lenient(&once).unwrap(), once, "{name}");
        }
    }

    #[test]
    fn strict_names() {
        assert_eq!(SkillName::check("größe-2"), Ok(()));
        assert_eq!(SkillName::check("PDF"), Err(NameError::Capital));
        assert_eq!(SkillName::check("-a"), Err(NameError::OuterHyphen));
        assert_eq!(SkillName::check("a--b"), Err(NameError::DoubleHyphen));
        assert_eq!(SkillName::check("a_b"), Err(NameError::Character('_')));
        assert_eq!(SkillName::check("a b"), Err(NameError::Character(' ')));
        assert_eq!(SkillName::check("表格-٢"), Ok(()));
        assert_eq!(SkillName::check("का"), Err(NameError::Character('\u{93e}')), "a vowel sign is no letter");
        assert_eq!(SkillName::check("\u{1f}pdf\u{a0}"), Ok(()), "stripped");
    }
}
