//! Tokens: from text to stems.
//!
//! A *chunk* is what a reader takes for one name or word: `net9.0`, `crashlog_ios.txt`, `don't`. It has *words*,
//! divided by punctuation, and a word has *parts*: `OutputPath` is `output` and `path`. Parts become terms, and so do
//! whole chunks of several parts, written together, so that `sign-up`, `signUp` and `signup` match.
//!
//! Chinese, Japanese and Korean put no spaces between words: there, each two neighbouring characters are a term.

use std::ops::Range;

use hashbrown::HashTable;

use crate::relevance::words::{LISTS, hash_of, key_of, stem};

/// The lengths of compounds that are terms, in characters.
const COMPOUND_CHARS: Range<usize> = 3..41;
/// Of how many words of one chunk compounds are made. A name has no more.
const MAX_COMPOUND_WORDS: usize = 64;
/// How many stems are cached, and of words of which length.
const MAX_CACHED_STEMS: usize = 1 << 15;
const MAX_CACHED_LEN: usize = 32;

/// One term of a text.
#[derive(Debug)]
pub(crate) struct StemToken<'a> {
    pub(crate) stem: &'a str,
    pub(crate) key: u32,
    /// The range of its word in the text.
    pub(crate) span: Range<usize>,
    /// Whether it is several parts written together, which were handed on before it.
    pub(crate) compound: bool,
}

/// Splits texts into terms, and caches the stems of words.
#[derive(Debug, Default)]
pub(crate) struct Tokenizer {
    stems: HashTable<CachedStem>,
    words: Vec<Word>,
    parts: Vec<WordPart>,
    /// The parts, then the words, of one chunk in lower case.
    letters: String,
}

/// The stem of a word in lower case.
#[derive(Debug, Default)]
struct CachedStem {
    word: u64,
    /// `None`, if it is a stop word.
    stem: Option<(u32, Box<str>)>,
}

#[derive(Debug)]
struct Word {
    span: Range<usize>,
    parts: Range<usize>,
}

#[derive(Debug)]
struct WordPart {
    letters: Range<usize>,
    span: Range<usize>,
    kind: PartKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PartKind {
    /// Letters and digits of a script with spaces.
    Spaced,
    /// One or two characters of a script without them.
    Unspaced,
}

impl Tokenizer {
    /// Hands every term of `text` to `sink`, in order of appearance.
    pub(crate) fn each(&mut self, text: &str, sink: &mut impl FnMut(StemToken<'_>)) {
        let mut at = 0;
        while let Some(chunk) = next_chunk(text, at) {
            at = chunk.end;
            self.chunk(text, chunk, sink);
        }
    }

    fn chunk(&mut self, text: &str, chunk: Range<usize>, sink: &mut impl FnMut(StemToken<'_>)) {
        self.words.clear();
        self.parts.clear();
        self.letters.clear();
        let mut at = chunk.start;
        while let Some(word) = next_word(text, at..chunk.end) {
            at = word.end;
            self.word(text, word);
        }
        let spaced = self.parts.iter().all(|part| part.kind == PartKind::Spaced);
        for index in 0..self.parts.len() {
            let WordPart { letters, span, kind } = &self.parts[index];
            let (letters, span) = (letters.clone(), span.clone());
            match kind {
                PartKind::Spaced => self.term(letters, span, StopWordRule::Dropped, sink),
                PartKind::Unspaced => {
                    let stem = &self.letters[letters];
                    sink(StemToken { stem, key: key_of(stem), span, compound: false });
                }
            }
        }
        if self.parts.len() < 2 || !spaced {
            return;
        }
        if self.words.len() > 1 {
            for index in 0..self.words.len().min(MAX_COMPOUND_WORDS) {
                let Word { span, parts } = &self.words[index];
                let (span, parts) = (span.clone(), parts.clone());
                let letters = self.letters_of(&parts);
                let seen = |word: &Word| self.letters[self.letters_of(&word.parts)] == self.letters[letters.clone()];
                if parts.len() > 1 && !self.words[..index].iter().any(|word| word.parts.len() > 1 && seen(word)) {
                    self.term(letters, span, StopWordRule::Kept, sink);
                }
            }
        }
        let letters = self.letters_of(&(0..self.parts.len()));
        let length = self.letters[letters.clone()].chars().take(COMPOUND_CHARS.end).count();
        if COMPOUND_CHARS.contains(&length) {
            self.term(letters, chunk, StopWordRule::Kept, sink);
        }
    }

    /// Returns the letters of some parts. Parts are side by side, so those of a word, or of all words, are one range.
    fn letters_of(&self, parts: &Range<usize>) -> Range<usize> {
        self.parts[parts.start].letters.start..self.parts[parts.end - 1].letters.end
    }

    /// Splits one word into its parts.
    fn word(&mut self, text: &str, span: Range<usize>) {
        let first = self.parts.len();
        let whole = &text[span.clone()];
        let owner = ["'s", "'S", "’s", "’S"].into_iter().find_map(|suffix| whole.strip_suffix(suffix));
        let bare: String = owner.unwrap_or(whole).chars().filter(|char| !is_apostrophe(*char)).collect();
        // Letters that were left out shift the rest: then a part gets the range of its word.
        let shifted = !whole.starts_with(&bare);
        for part in parts(&bare) {
            let at = if shifted { span.clone() } else { span.start + part.start..span.start + part.end };
            let letters = &bare[part];
            if letters.chars().any(is_unspaced) {
                self.unspaced(letters, &at, shifted);
            } else {
                self.part(letters, at, PartKind::Spaced);
            }
        }
        self.words.push(Word { span, parts: first..self.parts.len() });
    }

    fn part(&mut self, letters: &str, span: Range<usize>, kind: PartKind) {
        let start = self.letters.len();
        if letters.is_ascii() {
            self.letters.extend(letters.chars().map(|char| char.to_ascii_lowercase()));
        } else {
            self.letters.push_str(&letters.to_lowercase());
        }
        self.parts.push(WordPart { letters: start..self.letters.len(), span, kind });
    }

    /// Adds a part with characters of scripts without spaces: those in pairs, the text between them as it is.
    fn unspaced(&mut self, letters: &str, span: &Range<usize>, shifted: bool) {
        let chars: Vec<(usize, char)> = letters.char_indices().collect();
        let end = |index: usize| chars.get(index).map_or(letters.len(), |(at, _)| *at);
        for run in chars.chunk_by(|a, b| is_unspaced(a.1) == is_unspaced(b.1)) {
            let run = &run[..run.len() - particle(run)];
            let (first, unspaced) = (chars.partition_point(|char| char.0 < run[0].0), is_unspaced(run[0].1));
            let (size, kind) =
                if unspaced { (run.len().min(2), PartKind::Unspaced) } else { (run.len(), PartKind::Spaced) };
            for start in first..=first + run.len() - size {
                let piece = end(start)..end(start + size);
                let at = if shifted { span.clone() } else { span.start + piece.start..span.start + piece.end };
                self.part(&letters[piece], at, kind);
            }
        }
    }

    /// Stems a word of `letters` and hands it on.
    fn term(
        &mut self,
        letters: Range<usize>,
        span: Range<usize>,
        stop: StopWordRule,
        sink: &mut impl FnMut(StemToken<'_>),
    ) {
        let compound = stop == StopWordRule::Kept;
        let word = &self.letters[letters];
        if word.len() > MAX_CACHED_LEN {
            let stem = stem(word);
            sink(StemToken { stem: &stem, key: key_of(&stem), span, compound });
            return;
        }
        let hash = hash_of(word);
        if self.stems.len() >= MAX_CACHED_STEMS {
            self.stems.clear();
        }
        let make = || {
            let stem = stem(word);
            CachedStem { word: hash, stem: (!LISTS.is_stop(word)).then(|| (key_of(&stem), stem.into())) }
        };
        let entry = self.stems.entry(hash, |old| old.word == hash, |old| old.word).or_insert_with(make);
        match &entry.get().stem {
            Some((key, stem)) => sink(StemToken { stem, key: *key, span, compound }),
            None if stop == StopWordRule::Dropped => {}
            None => {
                let stem = stem(word);
                sink(StemToken { stem: &stem, key: key_of(&stem), span, compound });
            }
        }
    }
}

/// The treatment of stop words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StopWordRule {
    Dropped,
    /// For compounds of several parts: a compound is not a stop word, even if it is spelt like one.
    Kept,
}

/// Returns the beginning of a text within a limit, to a character's boundary.
pub(crate) fn head(text: &str, limit: usize) -> &str {
    &text[..text.floor_char_boundary(limit)]
}

fn is_apostrophe(char: char) -> bool {
    matches!(char, '\'' | '’')
}

fn is_sign(char: char) -> bool {
    matches!(char, '+' | '#')
}

/// Returns whether a character is Han, Hiragana, Katakana or Hangul.
fn is_unspaced(char: char) -> bool {
    matches!(char,
        '\u{1100}'..='\u{11ff}' | '\u{3005}'..='\u{3007}' | '\u{3040}'..='\u{30ff}' | '\u{3130}'..='\u{318f}'
        | '\u{31f0}'..='\u{31ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{ac00}'..='\u{d7ff}'
        | '\u{f900}'..='\u{faff}' | '\u{ff66}'..='\u{ff9f}' | '\u{20000}'..='\u{3ffff}')
}

/// Returns how many characters at the end of a Korean word are a particle. At least two are left.
fn particle(word: &[(usize, char)]) -> usize {
    const PARTICLES: [&str; 27] = [
        "에서는",
        "으로는",
        "에서",
        "으로",
        "에게",
        "까지",
        "부터",
        "처럼",
        "보다",
        "라는",
        "하고",
        "을",
        "를",
        "이",
        "가",
        "은",
        "는",
        "에",
        "의",
        "로",
        "와",
        "과",
        "도",
        "만",
        "용",
        "별",
        "들",
    ];
    let is_hangul = |char: char| ('\u{ac00}'..='\u{d7a3}').contains(&char);
    if word.len() < 3 || !word.iter().all(|(_, char)| is_hangul(*char)) {
        return 0;
    }
    let ends_with = |particle: &str| {
        let length = particle.chars().count();
        word.len() >= length + 2 && word[word.len() - length..].iter().map(|(_, char)| *char).eq(particle.chars())
    };
    PARTICLES.into_iter().find(|particle| ends_with(particle)).map_or(0, |particle| particle.chars().count())
}

/// Returns the number of bytes at the start of `text` that are of characters of some kind.
fn run(text: &str, of: impl Fn(char) -> bool) -> usize {
    text.find(|char| !of(char)).unwrap_or(text.len())
}

/// Returns the next chunk: a letter or digit, more of them with apostrophes and signs, and such runs after a connecting
/// character.
fn next_chunk(text: &str, from: usize) -> Option<Range<usize>> {
    let inner = |char: char| char.is_alphanumeric() || is_apostrophe(char) || is_sign(char);
    let start = from + text[from..].find(char::is_alphanumeric)?;
    let mut end = start + run(&text[start..], inner);
    while text[end..].starts_with(['.', '_', '-', '/', ':', '&', '@']) {
        let more = run(&text[end + 1..], inner);
        if more == 0 {
            break;
        }
        end += 1 + more;
    }
    Some(start..end)
}

/// Returns the next word: letters and digits; one apostrophe and letters after them; signs, unless letters follow:
/// `c++`, but not `a+b`.
fn next_word(text: &str, within: Range<usize>) -> Option<Range<usize>> {
    let text = &text[..within.end];
    let start = within.start + text[within.start..].find(char::is_alphanumeric)?;
    let mut end = start + run(&text[start..], char::is_alphanumeric);
    if let Some(apostrophe) = text[end..].chars().next().filter(|char| is_apostrophe(*char)) {
        let more = run(&text[end + apostrophe.len_utf8()..], char::is_alphabetic);
        if more > 0 {
            end += apostrophe.len_utf8() + more;
        }
    }
    let signs = run(&text[end..], is_sign);
    let followed = text[end + signs..].starts_with(char::is_alphanumeric);
    end += if followed { signs.saturating_sub(1) } else { signs };
    Some(start..end)
}

/// Returns the parts of a word: `outputPath`, `XMLReader`, `net9` have two each.
fn parts(word: &str) -> impl Iterator<Item = Range<usize>> {
    let bytes = word.as_bytes();
    let lower = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_lowercase);
    let upper = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_uppercase);
    let divides = move |at: &usize| {
        let at = *at;
        upper(at) && (lower(at - 1) || upper(at - 1) && lower(at + 1) && lower(at + 2))
    };
    let mut start = 0;
    let ends = (1..bytes.len()).filter(divides).chain([bytes.len()]);
    ends.flat_map(move |end| {
        let part = std::mem::replace(&mut start, end)..end;
        let letters = run(&word[part.clone()], |char| char.is_ascii_alphabetic());
        let digits = &word[part.start + letters..end];
        let numbered = letters >= 3 && !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        let middle = if numbered { part.start + letters } else { end };
        [part.start..middle, middle..end]
    })
    .filter(|part| !part.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms(text: &str) -> Vec<String> {
        let mut terms = Vec::new();
        Tokenizer::default().each(text, &mut |token| {
            assert_eq!(key_of(token.stem), token.key);
            assert!(text.is_char_boundary(token.span.start) && text.is_char_boundary(token.span.end));
            terms.push(token.stem.to_owned());
        });
        terms
    }

    #[track_caller]
    fn check(text: &str, expected: &str) {
        assert_eq!(terms(text).join(" "), expected, "{text}");
    }

    #[test]
    fn names_with_punctuation_come_apart_and_stay_together() {
        check("ML.NET and dotnet-trace on .NET 8", "ml net mlnet dotnet trace dotnettrac net 8");
        check("OutputPath isn't set; don't use C# 13 / net9.0", "output path outputpath set c# 13 net 9 0 net9 net90");
        check(
            "B2B SaaS e-mail sign-up user's crashlog_ios.txt AI2sql MixerBox_WebSearchG",
            "b2b saa saa e mail email sign signup crashlog io txt crashlogiostxt ai2sql mixer box web search g mixerbox \
             websearchg mixerboxwebsearchg",
        );
    }

    #[test]
    fn signs_belong_to_what_they_follow() {
        check("C++ and F#, a+b, c++x", "c++ f# b c+ x c+x");
        // An `O` on its own is a stop word.
        check("O'Reilly’s books", "reilli oreilli oreilli book");
        check("rock'n'roll", "rockn roll rocknrol");
    }

    #[test]
    fn compounds_have_a_length() {
        check("a-b", "b");
        assert_eq!(terms(&["abcdef"; 8].join("-")).len(), 8);
    }

    #[test]
    fn scripts_without_spaces_become_pairs() {
        check("處理圖像", "處理 理圖 圖像");
        check("字", "字");
        check("PDF文件を読む", "pdf 文件 件を を読 読む");
        check("문서 요약", "문서 요약");
    }

    #[test]
    fn nothing_comes_of_nothing() {
        for text in ["", "  ", "_-_ '' ++", "the and of"] {
            check(text, "");
        }
    }

    #[test]
    fn spans_are_those_of_the_words() {
        let text = "Fix readCsv’s OutputPath";
        let mut spans = Vec::new();
        Tokenizer::default().each(text, &mut |token| spans.push(&text[token.span]));
        assert_eq!(spans, ["Fix", "read", "Csv", "readCsv’s", "Output", "Path", "OutputPath"]);
    }

    #[test]
    fn a_head_ends_between_characters() {
        assert_eq!(head("äöü", 3), "ä");
        assert_eq!(head("ab", 64), "ab");
    }
}
