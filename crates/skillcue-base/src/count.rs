//! Numbers and nouns in messages.

use std::borrow::Cow;

/// Returns a regular noun in the form that goes with a number.
///
/// ```
/// use skillcue_base::noun;
/// assert_eq!((noun(1, "skill"), noun(0, "skill")), ("skill".into(), "skills".into()));
/// assert_eq!((noun(2, "directory"), noun(2, "key")), ("directories".into(), "keys".into()));
/// ```
pub fn noun(number: usize, singular: &str) -> Cow<'_, str> {
    if number == 1 {
        return singular.into();
    }
    match singular.strip_suffix('y') {
        Some(stem) if !stem.ends_with(['a', 'e', 'i', 'o', 'u']) => format!("{stem}ies").into(),
        _ => format!("{singular}s").into(),
    }
}

/// Returns a number and its noun.
///
/// ```
/// use skillcue_base::counted;
/// assert_eq!((counted(1, "token"), counted(12_345, "token")), ("1 token".into(), "12345 tokens".into()));
/// ```
pub fn counted(number: usize, singular: &str) -> String {
    format!("{number} {}", noun(number, singular))
}
