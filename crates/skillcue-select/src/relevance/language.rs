//! Languages of messages, by their function words.
//!
//! Stop words of English are dropped everywhere. Those of other languages are common English words or names elsewhere
//! (`die`, `war`, `ai`), so they are dropped from messages in that language only: a skill may have them, but no message
//! asks for it by them.

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::relevance::tokens::head;
use crate::relevance::words::LISTS;

/// The function words of languages, one language a line, after its code. Of scripts without spaces: pairs of characters.
const FUNCTION_WORDS: &str = include_str!("function_words.txt");
/// How much of a message is read to recognise its language.
const MAX_READ: usize = 4096;

/// For each function word the languages that have it, as bits.
static WORDS: LazyLock<HashMap<&'static str, u32>> = LazyLock::new(|| {
    let mut words = HashMap::new();
    for (number, line) in FUNCTION_WORDS.lines().enumerate() {
        for word in line.split_whitespace().skip(1) {
            *words.entry(word).or_default() |= 1 << number;
        }
    }
    words
});

/// The languages of [`FUNCTION_WORDS`] that have no spaces between words, or particles attached to them.
static UNSPACED: LazyLock<u32> = LazyLock::new(|| {
    let is_unspaced = |line: &str| ["zh ", "ja ", "ko "].iter().any(|code| line.starts_with(code));
    (0..)
        .zip(FUNCTION_WORDS.lines())
        .filter(|(_, line)| is_unspaced(line))
        .map(|(number, _): (u32, _)| 1 << number)
        .sum()
});

/// The language of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct MessageLanguage {
    /// The languages whose function words are dropped, as bits.
    languages: u32,
    /// Whether it is in a language with spaces that is not English.
    pub(crate) foreign: bool,
}

impl MessageLanguage {
    pub(crate) fn of(message: &str) -> MessageLanguage {
        let text = head(message, MAX_READ);
        let (mut english, mut counts, mut spaced, mut unspaced, mut other) =
            (0usize, [0usize; 32], 0usize, 0usize, 0usize);
        let words = text.split(|char: char| !char.is_alphabetic() && char != '\'').filter(|word| !word.is_empty());
        for word in words {
            let word = word.to_lowercase();
            match word.chars().next() {
                Some(char) if is_unspaced(char) => unspaced += word.chars().count(),
                Some('\u{400}'..='\u{52f}' | '\u{590}'..='\u{e7f}') => other += word.chars().count(),
                _ => spaced += word.chars().count(),
            }
            english += usize::from(LISTS.is_stop(&word));
            let mut bits = WORDS.get(word.as_str()).copied().unwrap_or(0) & !*UNSPACED;
            while bits != 0 {
                counts[bits.trailing_zeros() as usize] += 1;
                bits &= bits - 1;
            }
        }
        let (best, count) = (0..).zip(counts).max_by_key(|(number, count)| (*count, 32 - *number)).unwrap_or((0u32, 0));
        let is_foreign = other > spaced.max(unspaced) || unspaced * 3 < spaced && count >= 2 && count > english;
        let is_known = is_foreign && count > 0;
        MessageLanguage { languages: *UNSPACED | if is_known { 1 << best } else { 0 }, foreign: is_foreign }
    }

    /// Returns whether a word, in lower case, is a function word of the message's language.
    pub(crate) fn is_function(self, word: &str) -> bool {
        WORDS.get(word).is_some_and(|languages| languages & self.languages != 0)
            || word.chars().all(|char| ('\u{3041}'..='\u{309f}').contains(&char))
    }
}

fn is_unspaced(char: char) -> bool {
    matches!(char, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{ac00}'..='\u{d7a3}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn function_words_are_those_of_the_message() {
        let italian = MessageLanguage::of("Quante calorie ha una mela?");
        assert!(italian.foreign && italian.is_function("quante") && italian.is_function("ha"));
        assert!(!italian.is_function("calorie") && !italian.is_function("die"));
        let english = MessageLanguage::of("Fix the AI build, it must not die in the war room");
        assert!(!english.foreign && !english.is_function("die") && !english.is_function("ai"));
        for (message, foreign) in [
            ("Wie baue ich das mit Docker?", true),
            ("¿Cómo puedo hacer una factura?", true),
            ("сделай отчёт", true),
            ("帮我写一份报告", false),
            ("빈 저장소에 테스트를 추가해줘", false),
            ("What is 2+2?", false),
            ("", false),
        ] {
            assert_eq!(MessageLanguage::of(message).foreign, foreign, "{message}");
        }
        assert!(MessageLanguage::of("帮我写一份报告").is_function("帮我"));
        assert!(MessageLanguage::of("読んでください").is_function("でく"));
    }
}
