//! Languages of messages, by their scripts and their function words.
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
/// The languages whose function words are pairs of characters.
const BY_PAIRS: [&str; 3] = ["zh", "ja", "ko"];
/// How much of a message is read to recognise its language.
const MAX_READ: usize = 4096;

/// Scripts that stand for one language, with its code. Kana come before Han, because Japanese has both.
const SCRIPTS: [(&str, &[(char, char)]); 9] = [
    ("ko", &[('\u{ac00}', '\u{d7a3}'), ('\u{1100}', '\u{11ff}'), ('\u{3130}', '\u{318f}')]),
    ("ja", &[('\u{3040}', '\u{30ff}')]),
    ("zh", &[('\u{3400}', '\u{4dbf}'), ('\u{4e00}', '\u{9fff}'), ('\u{20000}', '\u{2fa1f}')]),
    ("ru", &[('\u{400}', '\u{52f}')]),
    ("el", &[('\u{370}', '\u{3ff}')]),
    ("he", &[('\u{590}', '\u{5ff}')]),
    ("ar", &[('\u{600}', '\u{6ff}')]),
    ("hi", &[('\u{900}', '\u{97f}')]),
    ("th", &[('\u{e00}', '\u{e7f}')]),
];
/// The part of the letters, one in so many, from which a script decides: names and code are often Latin.
const MIN_PART: usize = 5;
/// How many function words of another language make a message one in that language, if it has fewer of English.
const MIN_WORDS: usize = 2;

/// For each function word the languages that have it, as bits: the numbers of lines.
static WORDS: LazyLock<HashMap<&'static str, u32>> = LazyLock::new(|| {
    let mut words = HashMap::new();
    for (number, line) in FUNCTION_WORDS.lines().enumerate() {
        for word in line.split_whitespace().skip(1) {
            *words.entry(word).or_default() |= 1 << number;
        }
    }
    words
});

/// Returns the languages with these codes, as bits.
fn bits_of(codes: &[&str]) -> u32 {
    let codes_of_lines = FUNCTION_WORDS.lines().filter_map(|line| line.split_whitespace().next());
    (0..).zip(codes_of_lines).filter(|(_, code)| codes.contains(code)).map(|(number, _): (u32, _)| 1 << number).sum()
}

/// Returns the code of the language that a message seems to be in: by its script where that decides, else by function
/// words, of which English needs as many as any other; English if there are none.
///
/// ```
/// use skillcue_select::language_of;
///
/// assert_eq!(language_of("Quante calorie ha una mela?"), "it");
/// assert_eq!(language_of("帮我把这个 PDF 转换成 Word"), "zh");
/// assert_eq!(language_of("pivot table"), "en");
/// ```
pub fn language_of(message: &str) -> &'static str {
    let text = head(message, MAX_READ);
    let letters = text.chars().filter(|char| char.is_alphabetic()).count();
    let has = |ranges: &[(char, char)]| {
        let found = text.chars().filter(|char| ranges.iter().any(|(from, to)| (from..=to).contains(&char))).count();
        found > 0 && found * MIN_PART >= letters
    };
    let script = SCRIPTS.into_iter().find(|(_, ranges)| has(ranges)).map(|(code, _)| code);
    if let Some(code) = script.filter(|code| *code != "ru") {
        return code;
    }
    let (mut english, mut counts) = (0usize, [0usize; 32]);
    let by_pairs = bits_of(&BY_PAIRS);
    for word in text.split(|char: char| !char.is_alphabetic() && char != '\'').filter(|word| !word.is_empty()) {
        let word = word.to_lowercase();
        english += usize::from(LISTS.is_stop(&word));
        let mut bits = WORDS.get(word.as_str()).copied().unwrap_or(0) & !by_pairs;
        while bits != 0 {
            counts[bits.trailing_zeros() as usize] += 1;
            bits &= bits - 1;
        }
    }
    // Of equals the first.
    let mut best = (script.unwrap_or("en"), if script.is_some() { 0 } else { english.max(MIN_WORDS - 1) });
    for (line, count) in FUNCTION_WORDS.lines().zip(counts) {
        if count > best.1 {
            best = (line.split_whitespace().next().unwrap_or("en"), count);
        }
    }
    best.0
}

/// The function words that do not count in a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FunctionWords {
    /// The languages whose function words are dropped, as bits.
    languages: u32,
}

impl FunctionWords {
    /// Returns those of a message's language, and those of scripts without spaces.
    pub(crate) fn of(message: &str) -> FunctionWords {
        FunctionWords { languages: bits_of(&BY_PAIRS) | bits_of(&[language_of(message)]) }
    }

    /// Returns whether a word, in lower case, is one of them.
    pub(crate) fn has(self, word: &str) -> bool {
        WORDS.get(word).is_some_and(|languages| languages & self.languages != 0)
            || word.chars().all(|char| ('\u{3041}'..='\u{309f}').contains(&char))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_and_function_words_decide() {
        let languages = [
            ("Fill in the form", "en"),
            ("pivot table", "en"),
            ("", "en"),
            ("What is 2+2?", "en"),
            ("Fix the AI build, it must not die in the war room", "en"),
            ("帮我把这个 PDF 转换成 Word", "zh"),
            ("このPDFを要約してください", "ja"),
            ("이 문서를 요약해 줘", "ko"),
            ("Сделай таблицу в Excel", "ru"),
            ("Зроби таблицю з цих даних, будь ласка", "uk"),
            ("Wie fülle ich das Formular mit Python aus?", "de"),
            ("Comment remplir le formulaire dans mon projet ?", "fr"),
            ("Quiero una tabla con los datos del informe", "es"),
            ("¿Cómo puedo hacer una factura?", "es"),
            ("Quante calorie ha una mela?", "it"),
            ("the file is called 报告.docx and it is in my documents folder", "en"),
        ];
        for (message, language) in languages {
            assert_eq!(language_of(message), language, "{message}");
        }
    }

    #[test]
    fn function_words_are_those_of_the_message() {
        let italian = FunctionWords::of("Quante calorie ha una mela?");
        assert!(italian.has("quante") && italian.has("ha") && !italian.has("calorie") && !italian.has("die"));
        let english = FunctionWords::of("Fix the AI build, it must not die in the war room");
        assert!(!english.has("die") && !english.has("ai"));
        assert!(FunctionWords::of("帮我写一份报告").has("帮我") && FunctionWords::of("読んでください").has("でく"));
    }
}
