//! The glossary: words of Chinese, Japanese and Korean messages in English, the language of most skills.
//!
//! A message in one of these languages shares no word with a skill in English, and none of its words looks like one. The
//! common words of such requests are therefore searched for in English, too.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::LazyLock;

/// The words, one meaning a line: in English, a colon, then the words of the other languages.
const GLOSSARY: &str = include_str!("glossary.txt");
/// How many words of a message are translated.
const MAX_WORDS: usize = 64;

/// A word, and what it is in English.
type Translation = (&'static str, Vec<&'static str>);

/// By its first character: the word, and what it is in English, a line of the list for each meaning; long words first.
static WORDS: LazyLock<HashMap<char, Vec<Translation>>> = LazyLock::new(|| {
    let mut words: HashMap<char, Vec<Translation>> = HashMap::new();
    for (english, others) in GLOSSARY.lines().filter_map(|line| line.split_once(':')) {
        for word in others.split_whitespace() {
            let list = word.chars().next().map(|first| words.entry(first).or_default());
            let Some(list) = list else { continue };
            match list.iter_mut().find(|known| known.0 == word) {
                Some(known) => known.1.push(english),
                None => list.push((word, vec![english])),
            }
        }
    }
    for list in words.values_mut() {
        list.sort_by_key(|word| std::cmp::Reverse(word.0.len()));
    }
    words
});

/// A word of a message that the glossary has.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TranslatedWord {
    /// Its place in the message.
    pub(crate) span: Range<usize>,
    /// The words for it, in English; some have several meanings.
    pub(crate) english: &'static [&'static str],
}

/// Returns the words of a text that the glossary has, the longest at each place.
pub(crate) fn translated(text: &str) -> Vec<TranslatedWord> {
    let mut found = Vec::new();
    if text.is_ascii() {
        return found;
    }
    let mut end = 0;
    for (at, char) in text.char_indices().filter(|(_, char)| !char.is_ascii()) {
        if at < end {
            continue;
        }
        let word = WORDS.get(&char).and_then(|list| list.iter().find(|word| text[at..].starts_with(word.0)));
        if let Some((word, english)) = word {
            end = at + word.len();
            found.push(TranslatedWord { span: at..end, english });
            if found.len() == MAX_WORDS {
                break;
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Vec<(&str, &'static str)> {
        translated(text).into_iter().map(|word| (&text[word.span], word.english[0])).collect()
    }

    #[test]
    fn the_longest_word_at_a_place_is_translated() {
        assert_eq!(of("代码审查"), [("代码审查", "code review")]);
        assert_eq!(of("把代码翻译成 Rust"), [("代码", "code"), ("翻译", "translation translate")]);
        assert_eq!(of("履歴書を翻訳して"), [("履歴書", "resume cv"), ("翻訳", "translation translate")]);
        assert_eq!(of("이력서를 번역해 줘"), [("이력서", "resume cv"), ("번역", "translation translate")]);
    }

    #[test]
    fn other_texts_have_none() {
        assert!(translated("Fill in the form").is_empty());
        assert!(translated("Übersetze das, bitte – тест").is_empty());
        assert_eq!(translated(&"翻译".repeat(1000)).len(), MAX_WORDS);
    }

    #[test]
    fn every_line_has_english_words_and_others_of_two_characters_and_more() {
        for line in GLOSSARY.lines() {
            let (english, others) = line.split_once(':').expect(line);
            assert!(english.is_ascii() && !english.trim().is_empty(), "{line}");
            assert!(others.split_whitespace().all(|word| !word.is_ascii() && word.chars().count() > 1), "{line}");
        }
        assert!(GLOSSARY.lines().count() > 300);
    }
}
