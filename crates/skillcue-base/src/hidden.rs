//! Characters that a reader does not see.

use std::borrow::Cow;

/// Returns whether a terminal obeys a character, or a reader does not see it: C0 and C1 controls are commands to a
/// terminal; the others hide or reorder the text around them. The one table for text that is shown, sent to a model,
/// and reported.
///
/// ```
/// use skillcue_base::is_hidden;
///
/// assert!(is_hidden('\u{1b}') && is_hidden('\u{202e}') && is_hidden('\u{e0041}'));
/// assert!(!is_hidden('ß') && !is_hidden(' '));
/// ```
pub fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            | '\u{3164}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

/// Returns a text of a skill as a model may get it: without hidden characters. Line breaks and tabs stay, other hidden
/// white space becomes a blank.
///
/// Joiners stay where they make letters: one of them between two letters of a script that joins, as in Persian or Indic
/// words, or between two emoji; and the selector of pictures behind a symbol that has one. Text from right to left
/// needs no marks to be read, and loses them. Flags of regions (a black flag and tags) lose their tags, because tags
/// spell out any ASCII text.
///
/// ```
/// use skillcue_base::visible;
///
/// assert_eq!(visible("Reads\u{200b} PDF\u{e0049}\u{e0067}.\u{202e}"), "Reads PDF.");
/// assert_eq!(visible("👩\u{200d}💻 می\u{200c}خواهم שלום ✔\u{fe0f}"), "👩\u{200d}💻 می\u{200c}خواهم שלום ✔\u{fe0f}");
/// ```
pub fn visible(text: &str) -> Cow<'_, str> {
    if text.is_ascii() && text.bytes().all(|byte| !byte.is_ascii_control() || matches!(byte, b'\n' | b'\r' | b'\t')) {
        return Cow::Borrowed(text);
    }
    let Some((first, _)) = unseen(text).next() else { return Cow::Borrowed(text) };
    let mut kept = String::with_capacity(text.len());
    kept.push_str(&text[..first]);
    let mut rest = first;
    for (at, c) in unseen(text) {
        kept.push_str(&text[rest..at]);
        if c.is_whitespace() {
            kept.push(' ');
        }
        rest = at + c.len_utf8();
    }
    kept.push_str(&text[rest..]);
    Cow::Owned(kept)
}

/// Returns the characters that [`visible`] leaves out, with their offsets.
///
/// ```
/// assert_eq!(skillcue_base::unseen("a\u{200b}b👩\u{200d}💻").collect::<Vec<_>>(), [(1, '\u{200b}')]);
/// ```
pub fn unseen(text: &str) -> impl Iterator<Item = (usize, char)> {
    let mut before = None;
    let mut chars = text.char_indices().peekable();
    std::iter::from_fn(move || {
        loop {
            let (at, c) = chars.next()?;
            let next = chars.peek().map(|(_, next)| *next);
            let stays = match c {
                '\n' | '\r' | '\t' => true,
                '\u{200c}' => before.is_some_and(is_joined) && next.is_some_and(is_joined),
                '\u{200d}' => {
                    before.is_some_and(|c| is_joined(c) || is_pictured(c))
                        && next.is_some_and(|c| is_joined(c) || is_pictured(c))
                }
                '\u{fe0f}' if next == Some('\u{20e3}') => {
                    before.is_some_and(|c| c.is_ascii_digit() || matches!(c, '#' | '*'))
                }
                '\u{fe0f}' => before.is_some_and(|c| c != '\u{fe0f}' && is_pictured(c)),
                _ => !is_hidden(c) && !is_selector(c),
            };
            if !stays {
                return Some((at, c));
            }
            before = Some(c);
        }
    })
}

/// Returns whether matching ignores the character: it is not seen, and people type it or not.
///
/// ```
/// assert!(skillcue_base::is_ignorable('\u{ad}') && !skillcue_base::is_ignorable('-'));
/// ```
pub fn is_ignorable(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{200c}' | '\u{200d}' | '\u{2060}' | '\u{feff}') || is_selector(c)
}

/// Returns whether a character is of a script whose letters are joined or kept apart by joiners: Arabic, Syriac, the
/// scripts of India and South-East Asia, Mongolian.
fn is_joined(c: char) -> bool {
    matches!(c, '\u{600}'..='\u{7bf}' | '\u{8a0}'..='\u{dff}' | '\u{e00}'..='\u{109f}' | '\u{1780}'..='\u{18af}'
        | '\u{fb50}'..='\u{fdff}' | '\u{fe70}'..='\u{fefc}' | '\u{11000}'..='\u{11fff}')
        && !is_hidden(c)
}

/// Returns whether a character is a picture, or the selector that makes one of a symbol.
fn is_pictured(c: char) -> bool {
    matches!(c, '\u{a9}' | '\u{ae}' | '\u{203c}' | '\u{2049}' | '\u{2122}' | '\u{2139}' | '\u{2190}'..='\u{2bff}'
        | '\u{3030}' | '\u{303d}' | '\u{3297}' | '\u{3299}' | '\u{fe0f}' | '\u{1f000}'..='\u{1faff}')
}

/// Returns whether a character chooses a form of the one before it: one of the sixteen selectors hides four bits.
fn is_selector(c: char) -> bool {
    matches!(c, '\u{fe00}'..='\u{fe0f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_characters_go_and_joiners_of_writing_stay() {
        for stays in [
            "",
            "plain",
            "größe\n\tx",
            "👨\u{200d}👩\u{200d}👧",
            "क्\u{200d}ष",
            "1\u{fe0f}\u{20e3}",
            "مرحبا",
            "❤\u{fe0f}\u{200d}🔥",
        ] {
            assert_eq!(visible(stays), stays, "{stays:?}");
            assert!(matches!(visible(stays), Cow::Borrowed(_)), "{stays:?}");
        }
        for (text, seen) in [
            ("a\u{200d}b", "ab"),
            ("ü\u{200d}\u{200d}ü", "üü"),
            ("表\u{200c}計\u{200d}算", "表計算"),
            ("a\u{fe0f}\u{fe01}\u{fe02}", "a"),
            ("a\u{fe00}b\u{fe0e}✔\u{fe0f}\u{fe0f}\u{fe03}", "ab✔\u{fe0f}"),
            ("\u{fe0f}a", "a"),
            ("x\u{2028}y\u{85}z", "x y z"),
            ("x\u{1b}[31m\u{7f}\u{9b}", "x[31m"),
            ("🏴\u{e0067}\u{e0062}\u{e007f}", "🏴"),
            ("\u{202e}\u{2066}\u{200e}\u{feff}\u{ad}\u{3164}", ""),
        ] {
            assert_eq!(visible(text), seen, "{text:?}");
            assert_eq!(visible(seen), seen, "again");
        }
    }
}
