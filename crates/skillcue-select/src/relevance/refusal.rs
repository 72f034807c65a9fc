//! Refusals: what a user says not to use, as in "no PDF please, only Excel tables".
//!
//! The words of a refusal do not count for a skill, and a skill that has one of them in its name is not the one that is
//! needed. Only plain refusals of a means are recognised: "not" and "without" mostly belong to the task itself ("it does
//! not compile", "without downtime").

use std::ops::Range;

/// How many words are refused at once.
const MAX_WORDS: usize = 3;
/// How many characters of a script without blanks are refused at once.
const MAX_CHARACTERS: usize = 10;

/// Beginnings of a refusal, whatever follows.
const OPEN: &[&str] = &[
    "do not use",
    "do not want",
    "do not need",
    "don't use",
    "don't want",
    "don't need",
    "dont use",
    "dont want",
    "never use",
    "instead of",
    "rather than",
    "without using",
    "nicht verwenden",
    "statt",
    "anstatt",
    "anstelle von",
    "ohne verwendung von",
    "au lieu de",
    "sans utiliser",
    "n'utilise pas",
    "en lugar de",
    "en vez de",
    "sin usar",
    "no uses",
    "no quiero",
    "invece di",
    "senza usare",
    "non usare",
    "non voglio",
    "em vez de",
    "sem usar",
    "não use",
    "não quero",
    "in plaats van",
];
/// Beginnings of a refusal if it ends with one of [`ENDINGS`].
const POLITE: &[&str] =
    &["no", "not", "kein", "keine", "keinen", "pas de", "nada de", "niente", "nessun", "geen", "sem"];
const ENDINGS: &[&str] = &[
    "please",
    "thanks",
    "only",
    "just",
    "but",
    "bitte",
    "nur",
    "sondern",
    "merci",
    "seulement",
    "mais",
    "gracias",
    "solo",
    "sino",
    "grazie",
    "ma",
    "obrigado",
    "apenas",
    "mas",
    "alleen",
];
/// Words that are no part of what is refused, in front of it.
const ARTICLES: &[&str] = &[
    "a", "an", "any", "the", "my", "using", "use", "as", "with", "ein", "eine", "einen", "der", "die", "das", "den",
    "un", "une", "du", "des", "le", "la", "les", "una", "el", "il", "lo", "um", "uma", "o",
];
/// Words that end what is refused.
const JOINTS: &[&str] = &[
    "and", "or", "for", "to", "in", "on", "at", "when", "if", "because", "as", "since", "so", "that", "this", "it",
    "i", "you", "we", "und", "oder", "für", "et", "ou", "pour", "y", "o", "para", "e", "per",
];
/// Refusals in front of their object, in scripts without blanks.
const OPEN_CJK: &[&str] = &["不要使用", "不要用", "别用", "別用", "不使用", "而不是"];
/// Refusals behind their object.
const BEHIND: &[&str] = &["ではなく", "じゃなくて", "を使わず", " 말고", " 대신"];

/// A word of a message.
struct RefusalWord<'a> {
    text: &'a str,
    span: Range<usize>,
    /// Whether punctuation is in front of it.
    apart: bool,
}

/// Returns the parts of a message that name something which is not to be used.
pub(crate) fn refused(text: &str) -> Vec<Range<usize>> {
    let lower = text.to_lowercase();
    if lower.len() != text.len() {
        // Some capital letters have other sizes: the ranges would not fit.
        return Vec::new();
    }
    let words = words(&lower);
    let mut refused = Vec::new();
    let mut at = 0;
    while at < words.len() {
        let found = object(&words, at);
        at = found.as_ref().map_or(at + 1, |object| object.end);
        refused.extend(found.filter(|object| !object.is_empty()).map(|object| span(&words, &object)));
    }
    for cue in OPEN_CJK {
        refused.extend(lower.match_indices(cue).map(|(at, cue)| run(&lower, at + cue.len())));
    }
    for cue in BEHIND {
        refused.extend(lower.match_indices(cue).map(|(at, _)| run_before(&lower, at)));
    }
    refused.retain(|range| !range.is_empty());
    refused
}

fn span(words: &[RefusalWord<'_>], object: &Range<usize>) -> Range<usize> {
    words[object.start].span.start..words[object.end - 1].span.end
}

/// Returns the words that are refused, if a refusal begins with the word at `at`.
fn object(words: &[RefusalWord<'_>], at: usize) -> Option<Range<usize>> {
    if let Some(count) = cue(words, at, OPEN) {
        return Some(take(words, at + count));
    }
    let count = cue(words, at, POLITE)?;
    // "Not" and "no" inside a clause belong to what is said.
    if at > 0 && !words[at].apart && !matches!(words[at - 1].text, "please" | "but" | "and" | "bitte") {
        return None;
    }
    let object = take(words, at + count);
    let next = words.get(object.end);
    let is_closed = next.is_some_and(|next| ENDINGS.contains(&next.text));
    // "As a table, not PDF": the end of the message closes it, too.
    let is_last = at > 0 && next.is_none();
    (!object.is_empty() && (is_closed || is_last)).then_some(object)
}

/// Returns how many words the longest of some cues takes at a place.
fn cue(words: &[RefusalWord<'_>], at: usize, cues: &[&str]) -> Option<usize> {
    let begins = |cue: &&&str| {
        let mut own = words[at..].iter().enumerate();
        cue.split(' ')
            .all(|part| own.next().is_some_and(|(number, word)| word.text == part && (number == 0 || !word.apart)))
    };
    cues.iter().filter(begins).map(|cue| cue.split(' ').count()).max()
}

/// Returns the words from a place on that are the object of a refusal: up to the end of the clause.
fn take(words: &[RefusalWord<'_>], mut start: usize) -> Range<usize> {
    while words.get(start).is_some_and(|word| ARTICLES.contains(&word.text) && !word.apart) {
        start += 1;
    }
    let is_part =
        |word: &&RefusalWord<'_>| !word.apart && !ENDINGS.contains(&word.text) && !JOINTS.contains(&word.text);
    let count = words.get(start..).unwrap_or_default().iter().take(MAX_WORDS).take_while(is_part).count();
    start..start + count
}

fn words(text: &str) -> Vec<RefusalWord<'_>> {
    let is_part = |char: char| char.is_alphanumeric() || matches!(char, '_' | '+' | '#' | '\'' | '’');
    let mut words = Vec::new();
    let (mut apart, mut start) = (true, None);
    for (at, char) in text.char_indices().chain([(text.len(), ' ')]) {
        // A dot or a hyphen within a word belongs to it.
        let joins = matches!(char, '.' | '-' | '/') && text[at + 1..].starts_with(|next: char| next.is_alphanumeric());
        if is_part(char) || start.is_some() && joins {
            start.get_or_insert(at);
            continue;
        }
        if let Some(from) = start.take() {
            words.push(RefusalWord { text: &text[from..at], span: from..at, apart });
            apart = false;
        }
        apart |= !char.is_whitespace() && !matches!(char, '"' | '`' | '“' | '”' | '*') || char == '\n';
    }
    words
}

/// Returns the run of letters from a place on, of a script without blanks or one word of another.
fn run(text: &str, start: usize) -> Range<usize> {
    let stop = |char: char| !char.is_alphanumeric() || matches!(char, '而' | '只' | '来' | '來');
    let blanks = text[start..].len() - text[start..].trim_start_matches(' ').len();
    let rest = &text[start + blanks..];
    let end = rest.char_indices().take(MAX_CHARACTERS).find(|(_, char)| stop(*char)).map(|(at, _)| at);
    let most = rest.char_indices().nth(MAX_CHARACTERS).map_or(rest.len(), |(at, _)| at);
    start + blanks..start + blanks + end.unwrap_or(most)
}

/// Returns the run of letters that ends at a place.
fn run_before(text: &str, end: usize) -> Range<usize> {
    let is_part = |char: char| char.is_alphanumeric() && !matches!(char, 'は' | 'を' | 'が' | 'の');
    let run = text[..end].char_indices().rev().take(MAX_CHARACTERS).take_while(|(_, char)| is_part(*char));
    run.last().map_or(end, |(at, _)| at)..end
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Vec<&str> {
        refused(text).into_iter().map(|range| &text[range]).collect()
    }

    #[test]
    fn a_refused_means_is_recognised() {
        for (message, means) in [
            ("no PDF please, only Excel tables", "PDF"),
            ("Make a report. No Word document, only Markdown", "Word document"),
            ("Don't use Docker, run it on the host", "Docker"),
            ("please do not use the browser tool for this", "browser tool"),
            ("use pnpm instead of npm", "npm"),
            ("Write it in Rust rather than C++.", "C++"),
            ("as a spreadsheet, not PDF", "PDF"),
            ("as a spreadsheet, not a PDF, please", "PDF"),
            ("not Slack but email", "Slack"),
            ("Deploy without using kubernetes", "kubernetes"),
            ("Bitte kein PDF, nur Excel", "PDF"),
            ("Nimm Postgres statt MySQL", "MySQL"),
            ("Fais-le en Python au lieu de Perl", "Perl"),
            ("en lugar de React, Vue", "React"),
            ("不要用PDF，只要表格", "PDF"),
            ("用表格而不是图表", "图表"),
            ("PDFではなくExcelで", "PDF"),
            ("PDF 말고 엑셀로", "PDF"),
        ] {
            assert_eq!(of(message), [means], "{message}");
        }
    }

    #[test]
    fn statements_with_not_are_no_refusals() {
        for message in [
            "It does not compile",
            "Why is there no output?",
            "no errors in the log, but the page is blank",
            "Scale it without downtime",
            "Not sure which form to fill in",
            "The test is not working, fix it",
            "no",
            "",
            "I have no idea how to merge PDFs",
            "İ don't use PDF",
        ] {
            assert_eq!(of(message), [""; 0], "{message}");
        }
    }
}
