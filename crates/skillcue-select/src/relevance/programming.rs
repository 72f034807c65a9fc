//! Programming languages: which a message is about, and which a skill.
//!
//! Skills for one product in several languages have nearly the same texts. A message that names a language wants the one
//! for it, and none of the others, however many other words these share with it.

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::relevance::sequence::{BREAK, key};
use crate::relevance::words::{key_of, stem};

/// The words that stand for a language, one language a line. Left out are words that mean something else as often: `go`,
/// `c`, `r`, `node`.
const LANGUAGES: [&str; 13] = [
    "python py",
    "java",
    "typescript ts javascript js nodejs tsx jsx",
    "dotnet csharp c# f# fsharp",
    "rust",
    "golang",
    "kotlin",
    "swift",
    "ruby",
    "php",
    "cpp c++",
    "scala",
    "dart",
];
/// The bit of .NET, which is written like a word that is in many texts.
const DOTNET: u16 = 1 << 3;

/// The languages of words, by their keys, as bits.
static WORDS: LazyLock<HashMap<u32, u16>> = LazyLock::new(|| {
    let words =
        |(number, line): (usize, &'static str)| line.split(' ').map(move |word| (key_of(&stem(word)), 1 << number));
    LANGUAGES.into_iter().enumerate().flat_map(words).collect()
});

/// Returns the languages that a term stands for, as bits.
pub(crate) fn languages_of(key: u32) -> u16 {
    WORDS.get(&key).copied().unwrap_or(0)
}

/// Returns the languages that a text names in a way that is no word, as bits.
pub(crate) fn languages_written(text: &str) -> u16 {
    if text.contains(".NET") { DOTNET } else { 0 }
}

/// Returns how well a skill fits a message about `languages`: 1, if it is for one of them; −1, if it is for others. Its
/// name decides, which is the first clause; if that has none, the description.
pub(crate) fn agreement(languages: u16, clauses: &[u32]) -> f32 {
    if languages == 0 {
        return 0.0;
    }
    let mut own = 0;
    for clause in clauses.split(|number| *number == BREAK) {
        own |= clause.iter().map(|number| languages_of(key(*number).0)).fold(0, |all, one| all | one);
        // The name is enough.
        if own != 0 && std::ptr::eq(clause.as_ptr(), clauses.as_ptr()) {
            break;
        }
    }
    match own {
        0 => 0.0,
        own if own & languages != 0 => 1.0,
        _ => -1.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::relevance::sequence::push;
    use crate::relevance::tokens::Tokenizer;

    fn of(message: &str, name: &str, description: &str) -> String {
        let (mut tokenizer, mut clauses) = (Tokenizer::default(), Vec::new());
        push(&mut tokenizer, name, usize::MAX, &mut clauses);
        push(&mut tokenizer, description, usize::MAX, &mut clauses);
        let mut languages = languages_written(message);
        tokenizer.each(message, &mut |token| languages |= languages_of(token.key));
        agreement(languages, &clauses).to_string()
    }

    #[test]
    fn a_skill_for_the_language_fits_and_others_do_not() {
        assert_eq!(of("A Java example that lists blobs", "storage-blob-java", "Blob storage"), "1");
        assert_eq!(of("A Java example that lists blobs", "storage-blob-py", "Blob storage, as in Java"), "-1");
        assert_eq!(of("Read a blob in C#", "storage-blob-dotnet", ""), "1");
        assert_eq!(of("Read a blob in ASP.NET", "storage-blob-dotnet", ""), "1");
        assert_eq!(of("Fix main.py", "linter", "Checks Python and TypeScript"), "1");
        assert_eq!(of("Fix main.py", "linter", "Checks TypeScript"), "-1");
    }

    #[test]
    fn without_a_language_nothing_is_said() {
        assert_eq!(of("List all blobs", "storage-blob-py", ""), "0");
        assert_eq!(of("A Java example", "storage", "Blob storage"), "0");
        assert_eq!(of("Go to the node and see the net income", "storage-blob-py", ""), "0");
    }
}
