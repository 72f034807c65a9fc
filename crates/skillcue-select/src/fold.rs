//! Folding: text made comparable, without case and however its characters are composed, with a map back to the
//! original.
//!
//! Folded text is canonically decomposed (a decomposed `é` equals a composed one), Hangul composed. Compatibility forms
//! are unfolded where they are letters (`ﬁ`, full-width Latin, half-width Katakana), not where that would glue a sign
//! to a word (`Java™` stays `java™`). Invisible characters are dropped: variation selectors, joiners, soft hyphens.

use std::ops::Range;

use unicode_normalization::char::{
    canonical_combining_class, decompose_canonical, decompose_compatible, is_combining_mark,
};

/// A folded text.
#[derive(Debug, Default)]
pub(crate) struct Folded {
    pub(crate) text: String,
    /// For each byte of the text, the start of the character it comes from; and the end of the last one. Empty if the
    /// offsets are equal.
    origin: Vec<u32>,
}

impl Folded {
    /// Folds a text. ASCII, the usual case, is one pass.
    pub(crate) fn of(text: &str) -> Folded {
        if text.is_ascii() {
            return Folded { text: text.to_ascii_lowercase(), origin: Vec::new() };
        }
        let mut folded = Folded { text: String::with_capacity(text.len()), origin: Vec::with_capacity(text.len() + 1) };
        let mut pending = PendingMarks::default();
        let mut chars = text.char_indices().peekable();
        while let Some((at, c)) = chars.next() {
            if c.is_ascii() {
                pending.flush(&mut folded);
                folded.push(c.to_ascii_lowercase(), at);
                continue;
            }
            if skillcue_base::is_ignorable(c) {
                continue;
            }
            if let Some(syllable) = lead_of_syllable(c).and_then(|lead| {
                let vowel = jamo(chars.peek()?.1, 0x1161, 21)?;
                chars.next();
                let tail = chars.peek().and_then(|next| jamo(next.1, 0x11A8, 27)).map_or(0, |tail| tail + 1);
                if tail > 0 {
                    chars.next();
                }
                char::from_u32(0xAC00 + (lead * 21 + vowel) * 28 + tail)
            }) {
                pending.flush(&mut folded);
                folded.push(syllable, at);
                continue;
            }
            if matches!(c, '\u{AC00}'..='\u{D7A3}') {
                pending.flush(&mut folded);
                folded.push(c, at);
                continue;
            }
            let mut emit = |c: char| fold_char(c, &mut |c| pending.take(c, at, &mut folded));
            if is_letter_form(c) {
                decompose_compatible(c, &mut emit);
            } else {
                decompose_canonical(c, &mut emit);
            }
        }
        pending.flush(&mut folded);
        folded.origin.push(u32::try_from(text.len()).unwrap_or(u32::MAX));
        folded
    }

    fn push(&mut self, c: char, at: usize) {
        self.text.push(c);
        self.origin.resize(self.text.len(), u32::try_from(at).unwrap_or(u32::MAX));
    }

    /// Returns the range in the original text of a range of the folded one. Always whole characters.
    pub(crate) fn source(&self, range: Range<usize>, original: &str) -> Range<usize> {
        let Some(&end) = self.origin.get(range.end) else { return range };
        let start = self.origin[range.start] as usize;
        let mut end = end as usize;
        if range.end > 0 && self.origin[range.end - 1] as usize == end {
            // In the middle of the expansion of one character.
            end += original[end..].chars().next().map_or(0, char::len_utf8);
        }
        start..end.max(start)
    }
}

/// Returns a trigger as it is compared: folded, without white space around it, each run of white space one blank.
pub(crate) fn fold_trigger(written: &str) -> String {
    let folded = Folded::of(written).text;
    if !folded.contains(char::is_whitespace) {
        return folded;
    }
    let mut text = String::with_capacity(folded.len());
    for word in folded.split_whitespace() {
        if !text.is_empty() {
            text.push(' ');
        }
        text.push_str(word);
    }
    text
}

/// Combining marks that are not yet in canonical order. The dot of an `i` is dropped.
#[derive(Default)]
struct PendingMarks {
    waiting: Vec<(u8, char)>,
    at: usize,
}

impl PendingMarks {
    fn take(&mut self, c: char, at: usize, folded: &mut Folded) {
        let class = canonical_combining_class(c);
        if class == 0 {
            self.flush(folded);
            folded.push(c, at);
        } else if c == '\u{307}' && self.waiting.is_empty() && folded.text.ends_with('i') {
            // `İ` is the same letter as `I`.
        } else {
            if self.waiting.is_empty() {
                self.at = at;
            }
            self.waiting.push((class, c));
        }
    }

    fn flush(&mut self, folded: &mut Folded) {
        if !self.waiting.is_empty() {
            self.waiting.sort_by_key(|mark| mark.0);
            for (_, c) in self.waiting.drain(..) {
                folded.push(c, self.at);
            }
        }
    }
}

/// Folds the case of a character, as far as the standard library knows cases: `ß` is `ss`, `ς` is `σ`, `ı` is `i`.
fn fold_char(c: char, emit: &mut impl FnMut(char)) {
    for upper in c.to_uppercase() {
        for lower in upper.to_lowercase() {
            emit(lower);
        }
    }
}

/// Returns whether a character is a compatibility form of letters only.
fn is_letter_form(c: char) -> bool {
    matches!(c, '\u{FF00}'..='\u{FFEF}' | '\u{FB00}'..='\u{FDFF}' | '\u{FE70}'..='\u{FEFC}'
        | '\u{1D400}'..='\u{1D7FF}' | '\u{2F00}'..='\u{2FDF}' | '\u{3131}'..='\u{318E}')
}

fn lead_of_syllable(c: char) -> Option<u32> {
    jamo(c, 0x1100, 19)
}

fn jamo(c: char, first: u32, count: u32) -> Option<u32> {
    u32::from(c).checked_sub(first).filter(|at| *at < count)
}

/// The class of a character, by its role in words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FoldClass {
    /// Not part of a word.
    Other,
    /// A character of words of many characters, with boundaries around them.
    Word,
    /// A character of a script without blanks: each is a word by itself.
    Ideograph,
    /// Korean: particles attach to the right of a word.
    Hangul,
    /// A combining mark: part of the character before it.
    Mark,
}

impl FoldClass {
    pub(crate) fn of(c: char) -> FoldClass {
        if c.is_ascii() {
            return if c.is_ascii_alphanumeric() { FoldClass::Word } else { FoldClass::Other };
        }
        if is_combining_mark(c) {
            return FoldClass::Mark;
        }
        if !c.is_alphanumeric() {
            return FoldClass::Other;
        }
        match c {
            '\u{AC00}'..='\u{D7FF}' | '\u{1100}'..='\u{11FF}' | '\u{3130}'..='\u{318F}' | '\u{A960}'..='\u{A97F}' => {
                FoldClass::Hangul
            }
            // Thai and Lao, Myanmar, Khmer; radicals, kana, Han.
            '\u{0E00}'..='\u{0EFF}'
            | '\u{1000}'..='\u{109F}'
            | '\u{1780}'..='\u{17FF}'
            | '\u{2E80}'..='\u{2FDF}'
            | '\u{3005}'..='\u{312F}'
            | '\u{31F0}'..='\u{31FF}'
            | '\u{3400}'..='\u{4DBF}'
            | '\u{4E00}'..='\u{9FFF}'
            | '\u{F900}'..='\u{FAFF}'
            | '\u{20000}'..='\u{3FFFF}' => FoldClass::Ideograph,
            _ => FoldClass::Word,
        }
    }
}

/// A run of letters and digits in a folded text; of a script without blanks, or of Hangul, one character.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct WordToken {
    pub(crate) start: u32,
    pub(crate) end: u32,
    pub(crate) class: FoldClass,
}

impl WordToken {
    pub(crate) fn range(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }
}

/// Returns all tokens of a folded text.
pub(crate) fn tokens(text: &str) -> Vec<WordToken> {
    let mut tokens = Vec::with_capacity(text.len() / 5 + 1);
    let bytes = text.as_bytes();
    let mut at = 0;
    let mut open: Option<WordToken> = None;
    while at < bytes.len() {
        let (class, length) = if bytes[at].is_ascii() {
            (if bytes[at].is_ascii_alphanumeric() { FoldClass::Word } else { FoldClass::Other }, 1)
        } else {
            text[at..].chars().next().map_or((FoldClass::Other, 1), |c| (FoldClass::of(c), c.len_utf8()))
        };
        let (start, end) = (clamp(at), clamp(at + length));
        at += length;
        match (&mut open, class) {
            (Some(token), FoldClass::Mark) => token.end = end,
            (Some(token), FoldClass::Word) if token.class == FoldClass::Word => token.end = end,
            (_, FoldClass::Other | FoldClass::Mark) => tokens.extend(open.take()),
            _ => tokens.extend(open.replace(WordToken { start, end, class })),
        }
    }
    tokens.extend(open);
    tokens
}

fn clamp(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fold(text: &str) -> String {
        Folded::of(text).text
    }

    #[test]
    fn forms_of_one_text_are_equal() {
        for (a, b) in [
            ("STRASSE", "straße"),
            ("Café", "CAFE\u{301}"),
            ("ΟΔΟΣ", "οδος"),
            ("İstanbul", "istanbul"),
            ("ısı", "ISI"),
            ("ﬁle", "file"),
            ("ＰＤＦ", "pdf"),
            ("ﾊﾞｽ", "バス"),
            ("한국", "\u{1112}\u{1161}\u{11ab}\u{1100}\u{116e}\u{11a8}"),
            ("❤\u{fe0f}", "❤"),
            ("a\u{323}\u{307}", "a\u{307}\u{323}"),
            ("\u{212a}g", "kg"),
            ("µm", "μm"),
            ("ko\u{ad}operativ", "kooperativ"),
            ("가", "\u{1100}\u{1161}"),
        ] {
            assert_eq!(fold(a), fold(b), "{a} {b}");
        }
        for (a, b) in [("cafe", "café"), ("Java™", "javatm"), ("か", "が"), ("x²", "x2")] {
            assert_ne!(fold(a), fold(b), "{a} {b}");
        }
    }

    #[test]
    fn a_lone_jamo_stays() {
        assert_eq!(fold("\u{1100}x"), "\u{1100}x");
    }

    #[test]
    fn ranges_map_back_to_the_original() {
        for (text, word) in [
            ("das STRAßENFEST!", "STRAßENFEST"),
            ("un Cafe\u{301} noir", "Cafe\u{301}"),
            ("İstanbul", "İstanbul"),
            ("a\u{307}\u{323}b c", "a\u{307}\u{323}b"),
            ("x ❤\u{fe0f} y", "❤\u{fe0f}"),
            ("\u{1112}\u{1161}\u{11ab} x", "\u{1112}\u{1161}\u{11ab}"),
        ] {
            let folded = Folded::of(text);
            let sought = fold(word);
            let at = folded.text.find(&sought).unwrap();
            let range = folded.source(at..at + sought.len(), text);
            assert_eq!(text[range].trim_end(), word);
        }
        let ligature = Folded::of("\u{fdfa}");
        assert_eq!(ligature.source(0..2, "\u{fdfa}"), 0..3, "a part of the expansion of one character");
    }

    #[test]
    fn runs_of_letters() {
        let words = |text: &str| -> Vec<String> {
            let text = fold(text);
            tokens(&text).into_iter().map(|token| text[token.range()].to_owned()).collect()
        };
        assert_eq!(words("R&D, c++ node.js snake_case"), ["r", "d", "c", "node", "js", "snake", "case"]);
        assert_eq!(words("用PDF表格3x"), ["用", "pdf", "表", "格", "3x"]);
        assert_eq!(words("파일을"), ["파", "일", "을"]);
        assert_eq!(words("\u{301}\u{301}"), Vec::<String>::new());
        assert_eq!(words("-\u{301}a"), ["a"]);
        assert_eq!(words("กำ").len(), 2, "vowel signs that are marks attach, others are letters");
    }

    #[test]
    fn triggers_are_trimmed() {
        assert_eq!(fold_trigger("  Table \t Extraction\n"), "table extraction");
        assert_eq!(fold_trigger(" \n"), "");
    }
}
