//! `brief_description` for skills that have none: the description's first sentence.

/// Most characters of a brief description, the ellipsis included.
pub const MAX_BRIEF: usize = 80;

/// Never the end of a sentence, whatever follows.
const ABBREVIATIONS: [&str; 17] = [
    "e.g", "i.e", "eg", "ie", "cf", "vs", "viz", "approx", "incl", "resp", "dr", "mr", "mrs", "ms", "prof", "st", "fig",
];

/// The first sentence of `description`, white space folded, without its full stop, cut at a word boundary to at most
/// 80 characters.
///
/// ```
/// use skillfold_format::brief;
/// assert_eq!(brief("Builds Node.js services, e.g. APIs. Not for browsers."), "Builds Node.js services, e.g. APIs");
/// ```
pub fn brief(description: &str) -> String {
    if let Some(sentence) = plain_sentence(description) {
        return sentence.to_owned();
    }
    if is_plainly_long(description) {
        return cut(&description[..MAX_BRIEF + 2]);
    }
    slowly(description)
}

fn slowly(description: &str) -> String {
    let folded = fold(description);
    cut(first_sentence(&folded))
}

/// The common case, in a few vector instructions: a short first sentence of folded ASCII that ends with a full stop
/// behind a plain word.
fn plain_sentence(description: &str) -> Option<&str> {
    let head = description.as_bytes();
    let head = &head[..head.len().min(MAX_BRIEF + 2)];
    let stop = memchr::memchr_iter(b'.', head).find(|stop| head.get(stop + 1) == Some(&b' '))?;
    if !(1..=MAX_BRIEF).contains(&stop) {
        return None;
    }
    let sentence = description.get(..stop)?;
    let bytes = sentence.as_bytes();
    // Without a way out in the middle, so that the compiler takes many bytes at a time.
    let odd = bytes.iter().fold(false, |odd, byte| odd | !(b' '..=b'~').contains(byte))
        || bytes[0] == b' '
        || memchr::memchr_iter(b' ', bytes).any(|at| bytes.get(at + 1) == Some(&b' '));
    let word = sentence.rsplit(' ').next().unwrap_or_default();
    // Four letters or more that are only letters: neither an abbreviation nor initials, but for two.
    let ends = word.len() > 3 && word.bytes().all(|byte| byte.is_ascii_lowercase()) && !ABBREVIATIONS.contains(&word);
    let early = memchr::memchr2(b'!', b'?', bytes).is_some();
    (ends && !early && !odd).then_some(sentence)
}

/// The other common case: folded ASCII whose first sentence goes on for longer than a brief may be.
fn is_plainly_long(description: &str) -> bool {
    let Some(head) = description.as_bytes().get(..MAX_BRIEF + 3) else { return false };
    let odd = head.iter().fold(false, |odd, byte| odd | !(b' '..=b'~').contains(byte)) || head[0] == b' ';
    // A space behind a stop ends the sentence, perhaps; behind another space it is folded away.
    let is_end = |at: usize| matches!(head[at - 1], b'.' | b'!' | b'?' | b' ');
    !odd && !memchr::memchr_iter(b' ', head).any(is_end)
}

/// The beginning of a text, white space folded: as much as decides what the brief is. Briefs of a whole catalog are
/// made at once, and descriptions are much longer than briefs.
fn fold(description: &str) -> String {
    let mut folded = String::with_capacity(MAX_BRIEF * 2);
    let mut chars = 0;
    for word in description.split_whitespace() {
        if !folded.is_empty() {
            folded.push(' ');
        }
        folded.push_str(word);
        chars += if word.is_ascii() { word.len() } else { word.chars().count() } + 1;
        // A sentence that has not ended by now is cut; whether one has takes the word behind it to know.
        if chars > MAX_BRIEF * 2 {
            break;
        }
    }
    folded
}

fn first_sentence(text: &str) -> &str {
    for (at, c) in text.char_indices() {
        let after = || &text[at + c.len_utf8()..];
        let ends_word = || after().is_empty() || after().starts_with(' ');
        match c {
            // The full-width stops need no space after them.
            '。' | '．' => return &text[..at],
            '！' | '？' => return &text[..at + c.len_utf8()],
            '!' | '?' if ends_word() => return &text[..=at],
            '.' if ends_word() && !is_abbreviation(&text[..at], after()) => return text[..at].trim_end_matches('.'),
            _ => {}
        }
    }
    text
}

/// Whether the full stop between `before` and `after` belongs to an abbreviation.
fn is_abbreviation(before: &str, after: &str) -> bool {
    let word = before.rsplit([' ', '(', '[', '"', '\'']).next().unwrap_or_default();
    let lower = word.to_lowercase();
    if ABBREVIATIONS.contains(&lower.as_str()) {
        return !after.is_empty();
    }
    let next = after.trim_start().chars().next();
    match lower.as_str() {
        "no" => next.is_some_and(|c| c.is_ascii_digit()),
        // `etc.` and initials (`U.S.`) end a sentence only if something starts after them.
        _ if lower == "etc" || is_initials(&lower) => next.is_some_and(char::is_lowercase),
        _ => false,
    }
}

fn is_initials(word: &str) -> bool {
    word.contains('.') && word.split('.').all(|part| part.chars().count() == 1 && part.chars().all(char::is_alphabetic))
}

fn cut(sentence: &str) -> String {
    if sentence.len() <= MAX_BRIEF || sentence.chars().count() <= MAX_BRIEF {
        return sentence.to_owned();
    }
    let end = sentence.char_indices().nth(MAX_BRIEF - 1).map_or(sentence.len(), |(at, _)| at);
    let head = &sentence[..end];
    let whole = if sentence[end..].starts_with(' ') { Some(end) } else { head.rfind(' ') };
    // Text without spaces (CJK, one endless word) has no boundary but between characters.
    let head = whole.map_or(head, |at| &head[..at]);
    format!("{}…", head.trim_end_matches([' ', ',', ';', ':', '-', '(']))
}

#[cfg(test)]
mod tests {
    #[test]
    fn shortcuts_lead_to_the_same() {
        // Every word boundary, stop and length around the limit.
        let words =
            ["Reads", "a", "PDF.", "e.g.", "and", "v1.0", "writes", "it", "down,", "then!", "Node.js", "x", "(twice)"];
        for start in 0..words.len() {
            for step in 1..words.len() {
                let text: Vec<&str> = (0..60).map(|nth| words[(start + nth * step) % words.len()]).collect();
                let text = text.join(" ");
                for length in (0..text.len()).step_by(7).chain(70..100) {
                    let text = &text[..length.min(text.len())];
                    assert_eq!(brief(text), slowly(text), "{text}");
                    let dull = text.replace(['.', '!'], "");
                    assert_eq!(brief(&dull), slowly(&dull), "{dull}");
                    let odd = format!(" {}  {}", &text[..length / 2], &text[length / 2..]);
                    assert_eq!(brief(&odd), slowly(&odd), "{odd}");
                }
            }
        }
        let endless = "x".repeat(200);
        assert_eq!(brief(&endless), slowly(&endless));
    }

    use super::*;

    #[test]
    fn golden_cases() {
        let vectors: serde_json::Value =
            serde_json::from_str(include_str!("../../../vectors/brief_description.json")).unwrap();
        let cases = vectors["cases"].as_array().unwrap();
        assert!(!cases.is_empty());
        for case in cases {
            let description = case["description"].as_str().unwrap();
            let got = brief(description);
            if let Some(expect) = case["expect"].as_str() {
                assert_eq!(got, expect);
            }
            if let Some(max) = case["max_chars"].as_u64() {
                assert!(got.chars().count() as u64 <= max, "{got}");
            }
            if let Some(end) = case["ends_with"].as_str() {
                assert!(got.ends_with(end), "{got}");
            }
            if case["no_split_word"] == true {
                let head = got.trim_end_matches('…');
                assert!(description[head.len()..].starts_with(' '), "{got}");
            }
        }
    }

    /// The shortcut says what the long way says, or nothing.
    fn agrees(description: &str) {
        if let Some(sentence) = plain_sentence(description) {
            assert_eq!(sentence, cut(first_sentence(&fold(description))), "{description:?}");
        }
    }

    proptest::proptest! {
        #[test]
        fn the_shortcut_agrees(description in "( |word|e\\.g|etc|approx|No|U\\.S|\\. |\\.|!|\\? |é|\n|。|[a-z]{3,30} ){0,14}") {
            agrees(&description);
        }
    }

    #[test]
    fn the_shortcut_is_taken() {
        assert_eq!(plain_sentence("Reads PDF files. Use when asked."), Some("Reads PDF files"));
        assert_eq!(plain_sentence("Stop! Reads files. Use."), None);
    }

    #[test]
    fn sentences() {
        assert_eq!(brief("Works in the U.S. and abroad. More."), "Works in the U.S. and abroad");
        assert_eq!(brief("Reads CSV, TSV, etc. Use when asked."), "Reads CSV, TSV, etc");
        assert_eq!(brief("Wait... what"), "Wait");
        assert_eq!(brief("See No. 5 (e.g. this). Then."), "See No. 5 (e.g. this)");
        assert_eq!(brief("."), "");
        assert_eq!(brief(&"長".repeat(100)).chars().count(), 80);
        assert_eq!(brief(&"x".repeat(80)), "x".repeat(80));
        let long = format!("{} end. Next.", "word ".repeat(14));
        assert_eq!(brief(&long), format!("{}end", "word ".repeat(14)));
    }
}
