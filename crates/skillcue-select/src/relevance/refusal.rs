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
    "do not want to use",
    "do not need",
    "do not need to use",
    "don't use",
    "don't want",
    "don't want to use",
    "don't need",
    "don't need to use",
    "dont use",
    "dont want",
    "dont want to use",
    "never use",
    "stop using",
    "avoid using",
    "rather not use",
    "prefer not to use",
    "anything but",
    "anything except",
    "anything other than",
    "instead of",
    "rather than",
    "without using",
    "nicht verwenden",
    "verwende kein",
    "verwende keine",
    "verwende keinen",
    "nutze kein",
    "nutze keine",
    "nutze keinen",
    "benutze kein",
    "benutze keine",
    "benutze keinen",
    "nimm kein",
    "nimm keine",
    "nimm keinen",
    "möchte kein",
    "möchte keine",
    "möchte keinen",
    "statt",
    "anstatt",
    "anstelle von",
    "ohne verwendung von",
    "au lieu de",
    "sans utiliser",
    "n'utilise pas",
    "n'utilisez pas",
    "ne veux pas",
    "ne veux pas utiliser",
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
    &["no", "not", "avoid", "kein", "keine", "keinen", "pas de", "nada de", "niente", "nessun", "geen", "sem"];
/// Words in front of these beginnings that are no clause of their own.
const COURTESIES: &[&str] = &["please", "but", "and", "bitte"];
/// Words in front of these beginnings if one of [`ENDINGS`] follows: "deploy with no downtime" is a task.
const WITH: &[&str] = &["with", "mit", "avec", "con", "com"];
/// "Without" in front of a name, which is written with a capital letter: "without downtime" is a task.
const WITHOUT: &[&str] = &["without", "sans", "sin", "senza", "sem", "zonder"];
/// "Without" where every noun has a capital letter: in front of "PDF".
const WITHOUT_CAPITALS: &[&str] = &["ohne"];
/// Words behind one that is refused at the beginning: "please no tables in the report".
const PLACES: &[&str] = &["in", "on", "at", "for"];
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
    "i", "you", "we", "with", "by", "from", "then", "use", "using", "take", "make", "do", "go", "try", "write", "run",
    "put", "und", "oder", "für", "mit", "nimm", "nutze", "verwende", "benutze", "et", "ou", "pour", "avec", "utilise",
    "prends", "y", "o", "para", "con", "usa", "e", "per",
];
/// Refusals in front of their object, in scripts without blanks.
const OPEN_CJK: &[&str] = &["不要使用", "不要用", "不想用", "别用", "別用", "不使用", "而不是"];
/// Refusals behind their object.
const BEHIND: &[&str] = &[
    "ではなく",
    "じゃなくて",
    "を使わず",
    "を使わないで",
    "は使わないで",
    " 말고",
    " 쓰지 말고",
    "를 쓰지 말고",
    "을 쓰지 말고",
    " 사용하지 말고",
    " 대신",
];
/// "Without" behind its object, if that is a name in Latin letters.
const WITHOUT_BEHIND: &[&str] = &["なしで", " 없이"];

/// A word of a message.
struct RefusalWord<'a> {
    text: &'a str,
    span: Range<usize>,
    /// Whether punctuation is in front of it.
    apart: bool,
}

/// Returns the parts of a message that name something which is not to be used.
pub(crate) fn refused(text: &str) -> Vec<Range<usize>> {
    let lower = lowered(text);
    let words = words(&lower);
    let mut refused = Vec::new();
    let mut at = 0;
    while at < words.len() {
        let found = object(&words, at).or_else(|| name_behind(text, &words, at));
        at = found.as_ref().map_or(at + 1, |object| object.end.max(at + 1));
        refused.extend(found.filter(|object| !object.is_empty()).map(|object| span(&words, &object)));
    }
    refused.extend(longest(&lower, OPEN_CJK).into_iter().map(|cue| run(&lower, cue.end)));
    refused.extend(longest(&lower, BEHIND).into_iter().map(|cue| run_before(&lower, cue.start)));
    let is_name = |range: &Range<usize>| text[range.clone()].starts_with(|char: char| char.is_ascii_uppercase());
    let without = longest(&lower, WITHOUT_BEHIND).into_iter().map(|cue| run_before(&lower, cue.start));
    refused.extend(without.filter(is_name));
    refused.retain(|range| !range.is_empty());
    refused
}

/// Returns where cues are in a text, without those that are part of longer ones.
fn longest(text: &str, cues: &[&str]) -> Vec<Range<usize>> {
    let places = |cue: &&str| text.match_indices(*cue).map(|(at, cue)| at..at + cue.len()).collect::<Vec<_>>();
    let all: Vec<Range<usize>> = cues.iter().flat_map(places).collect();
    let is_part =
        |one: &Range<usize>| all.iter().any(|other| other != one && other.start <= one.start && one.end <= other.end);
    all.iter().filter(|one| !is_part(one)).cloned().collect()
}

/// Returns a text in lower case, in which every letter is where it was: a few capital letters have other sizes, and stay.
fn lowered(text: &str) -> String {
    let letter = |char: char| {
        let mut lower = char.to_lowercase();
        lower.next().filter(|it| it.len_utf8() == char.len_utf8() && lower.next().is_none()).unwrap_or(char)
    };
    text.chars().map(letter).collect()
}

/// Returns the name behind a "without".
fn name_behind(text: &str, words: &[RefusalWord<'_>], at: usize) -> Option<Range<usize>> {
    let (all, next) = (WITHOUT_CAPITALS.contains(&words[at].text), words.get(at + 1)?);
    let letters = text[next.span.clone()].chars().filter(|char| char.is_uppercase()).take(2).count();
    let is_one = !next.apart && (all || WITHOUT.contains(&words[at].text)) && letters > usize::from(all);
    is_one.then_some(at + 1..at + 2)
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
    let before = at.checked_sub(1).map(|before| words[before].text);
    // "Not" and "no" inside a clause belong to what is said.
    let is_apart = words[at].apart || before.is_some_and(|word| COURTESIES.contains(&word));
    if !is_apart && !before.is_some_and(|word| WITH.contains(&word)) {
        return None;
    }
    let object = take(words, at + count);
    let next = words.get(object.end);
    let is_closed = next.is_some_and(|next| ENDINGS.contains(&next.text));
    // "As a table, not PDF": the end of the message closes it, too.
    let is_last = is_apart && at > 0 && next.is_none();
    // "No tables, …", "please no tables in the report".
    let is_asked = before == Some("please");
    let closes = |next: &RefusalWord<'_>| next.apart || is_asked && PLACES.contains(&next.text);
    let is_begun = words[at].apart || is_asked || before == Some("but");
    let is_one = is_begun && object.len() == 1 && next.is_some_and(closes);
    (!object.is_empty() && (is_closed || is_last || is_one)).then_some(object)
}

/// Returns how many words the longest of some cues takes at a place.
fn cue(words: &[RefusalWord<'_>], at: usize, cues: &[&str]) -> Option<usize> {
    let begins = |cue: &&&str| {
        let mut own = words[at..].iter().enumerate();
        cue.split(' ').all(|part| {
            own.next().is_some_and(|(number, word)| is_written(word.text, part) && (number == 0 || !word.apart))
        })
    };
    cues.iter().filter(begins).map(|cue| cue.split(' ').count()).max()
}

/// Returns whether a word is written like this, with either apostrophe.
fn is_written(word: &str, like: &str) -> bool {
    word.chars().map(|char| if char == '’' { '\'' } else { char }).eq(like.chars())
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
            ("I don't want to use redux for the react state", "redux"),
            ("don’t use redux, manage the react state some other way", "redux"),
            ("n’utilise pas Redux", "Redux"),
            ("No Redux, react state management", "Redux"),
            ("no redux. react state", "redux"),
            ("Please, no redux in react state management!", "redux"),
            ("use react state management with no redux please", "redux"),
            ("please avoid Redux", "Redux"),
            ("I'd rather not use redux here", "redux here"),
            ("any store, anything except redux", "redux"),
            ("Set up payments without Stripe", "Stripe"),
            ("dont use redux use zustand", "redux"),
            ("rather than Slack use email", "Slack"),
            ("instead of redux use zustand", "redux"),
            ("Verwende kein Redux", "Redux"),
            ("Ein Bericht ohne PDF", "PDF"),
            ("je ne veux pas utiliser Redux", "Redux"),
            ("Reduxを使わないで", "Redux"),
            ("Reduxなしで状態を管理", "Redux"),
            ("不想用Redux", "Redux"),
            ("İ don't use PDF", "PDF"),
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
            "Deploy with no downtime",
            "Kompiliere ohne Warnungen",
            "I don't want to lose data",
            "I have a solution and no problem. Help.",
            "先不要改简历",
            "No module named numpy",
            "エラーなしで",
        ] {
            assert_eq!(of(message), [""; 0], "{message}");
        }
    }
}
