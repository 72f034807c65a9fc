//! Which part of a message the user has said, and which was pasted.

use super::facts::{Said, sentences};
use super::words::{
    ABOUT_SELF, DEMONSTRATIVES, HEADERS, HERE_IS, LABELS, NAMES, POSSESSIVES, PROCESS, PROCESS_TEXT, RULES, SPEECH,
    SUBJECTS, TEXTS,
};

/// What stands for a quotation.
pub(super) const QUOTED: char = '\u{fffc}';
/// How many words in quotation marks may be a name.
const NAME_WORDS: usize = 6;
/// How many quotations may lack their end. After them, everything is one.
const MOST_UNENDED: usize = 3;
/// How many bytes of a quotation are looked through for its end; and if it may be none.
const MOST_QUOTED: usize = 8 << 10;
const MOST_APOSTROPHE: usize = 512;
/// How often that is done.
const MOST_APOSTROPHES: usize = 1000;
/// How much of a message is looked at.
const MOST_BYTES: usize = 64 << 10;
/// How many characters people write. What is longer was pasted, but for what stands before it and behind it.
const MOST_CHARS: usize = 1500;
/// How long a line may be that stands right before pasted text.
const MOST_FIRST: usize = 300;
/// In how many lines, from the first on, rules are the user's.
const FIRST_LINES: usize = 3;

/// A sentence of the user's own.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Own {
    /// With [`QUOTED`] instead of what it quotes.
    pub(super) text: String,
    /// Whether what it says to be done always may be taken for the user's will.
    pub(super) rules: bool,
}

/// The user's own sentences. Left out are code, quotations, markup, and everything behind words that announce a text of
/// somebody else.
pub(super) fn own(message: &str) -> Vec<Own> {
    let looked_at = &message[..message.floor_char_boundary(MOST_BYTES)];
    let text = without_quotations(&without_code(looked_at));
    let lines: Vec<&str> = text.lines().collect();
    let spoken = spoken(&lines, looked_at.len() == message.len());
    let is_last = |at: usize| lines[at + 1..].iter().all(|line| line.trim().is_empty());
    let mut found = Vec::new();
    let (mut number, mut about_self) = (0, false);
    for (at, line) in lines.iter().map(|line| line.trim()).enumerate() {
        if line.is_empty() {
            continue;
        }
        if announces_by_its_form(line) {
            break;
        }
        let (text, is_entry) = without_bullet(line);
        let rules = number < FIRST_LINES && (!is_entry || number == 0 || about_self);
        number += 1;
        for sentence in sentences(text) {
            let before = announcing_clause(sentence);
            if spoken[at] && before.is_none() && !sentence.ends_with([':', '：']) {
                found.push(Own { text: without_heading(sentence).to_owned(), rules });
            }
            if before.is_some() {
                return found;
            }
        }
        match without_marks(text).strip_suffix([':', '：']) {
            Some(clause) if announces(clause, true) => break,
            Some(_) => about_self = true,
            None if announces_what_follows(text) && !is_last(at) => break,
            None => {}
        }
    }
    found
}

/// Which lines may have been written and not pasted. In a long message, those are the first paragraph and the last, if
/// these are all lines of it.
fn spoken(lines: &[&str], is_all: bool) -> Vec<bool> {
    let length = |lines: &[&str]| lines.iter().map(|line| line.trim().chars().count()).sum::<usize>();
    if is_all && length(lines) <= MOST_CHARS {
        return vec![true; lines.len()];
    }
    let mut spoken = vec![false; lines.len()];
    let is_there = |line: &&str| !line.trim().is_empty();
    let (Some(first), Some(last)) = (lines.iter().position(is_there), lines.iter().rposition(is_there)) else {
        return spoken;
    };
    let end = (first..=last).find(|&at| !is_there(&lines[at])).unwrap_or(last + 1);
    let begin = (first..=last).rfind(|&at| !is_there(&lines[at])).map_or(first, |at| at + 1);
    for paragraph in [first..end, begin..last + 1] {
        if (is_all || paragraph.end <= end) && length(&lines[paragraph.clone()]) <= MOST_CHARS {
            spoken[paragraph].fill(true);
        }
    }
    spoken[first] |= length(&lines[first..=first]) <= MOST_FIRST;
    spoken
}

/// The clause before a colon within a sentence, if that announces what somebody else says.
fn announcing_clause(sentence: &str) -> Option<&str> {
    let colons = sentence.char_indices().filter(|(at, c)| {
        let behind = &sentence[at + c.len_utf8()..];
        // Times and addresses have colons, too.
        *c == '：' || (*c == ':' && behind.starts_with(|next: char| next.is_whitespace() || next == QUOTED))
    });
    colons.map(|(at, _)| &sentence[..at]).find(|clause| announces(clause, false))
}

/// Whether a clause before a colon announces what somebody else says. At the end of a line, it does so unless it says
/// that users speak of themselves.
fn announces(clause: &str, ends_line: bool) -> bool {
    let said = Said::of(clause);
    let label = || !ends_line && said.any_at(0, LABELS) == Some(said.words.len());
    if said.words.is_empty() || said.asks_to_remember() || label() {
        return false;
    }
    let said = said.without_openers();
    if said.has(TEXTS) || said.has(PROCESS) || said.has(PROCESS_TEXT) || said.has(SPEECH) {
        return true;
    }
    if ends_line {
        return !said.has(ABOUT_SELF);
    }
    let polite = said.without_politeness();
    !(said.has(ABOUT_SELF)
        || said.begins(SUBJECTS)
        || said.begins(POSSESSIVES)
        || polite.begins(RULES)
        || polite.begins(NAMES)
        || said.is_rule())
}

/// What comes behind `Some facts about me:`.
fn without_heading(sentence: &str) -> &str {
    match sentence.split_once(": ") {
        Some((clause, rest)) if Said::of(clause).has(ABOUT_SELF) && !Said::of(clause).asks_to_remember() => rest.trim(),
        _ => sentence,
    }
}

/// Whether a line without a colon announces what follows it: `Summarise this page`.
fn announces_what_follows(line: &str) -> bool {
    let said = Said::of(line).without_openers();
    if said.asks_to_remember() {
        return false;
    }
    let points = said.words.last().is_some_and(|(word, ..)| DEMONSTRATIVES.contains(&word.as_str()));
    points
        || said.has(HERE_IS)
        || (said.has(PROCESS_TEXT) && (said.has(TEXTS) || said.has(DEMONSTRATIVES)))
        || (said.has(PROCESS) && said.has(TEXTS) && said.has(DEMONSTRATIVES))
}

/// Whether pasted text begins with such a line: a heading, a rule of dashes, the head of a mail, how letters begin.
fn announces_by_its_form(line: &str) -> bool {
    let heading = line.trim_start_matches('#').starts_with(' ') && line.starts_with('#');
    let marks = |c: char| matches!(c, '-' | '=' | '*' | '_' | '—' | '–' | '~');
    let dashes = line.chars().count() >= 3 && line.chars().all(|c| marks(c) || c.is_whitespace());
    let lower = line.to_lowercase();
    let header = HEADERS.iter().any(|name| lower.strip_prefix(name).is_some_and(|rest| rest.starts_with(':')));
    let boxed = line.starts_with("--") && line.ends_with("--");
    let letter = (lower.starts_with("dear ") || lower.starts_with("sehr geehrte")) && line.ends_with([',', '!']);
    heading || dashes || boxed || letter || header
}

/// A line without what makes words bold.
fn without_marks(line: &str) -> &str {
    line.trim_end_matches(['*', '_', ' ', QUOTED])
}

/// A message without code, block quotations, markup and tables. What is indented is code.
fn without_code(message: &str) -> String {
    let mut fence = None;
    let mut text = String::with_capacity(message.len());
    for line in message.lines() {
        let trimmed = line.trim();
        let marks = ["```", "~~~"].into_iter().find(|marks| trimmed.starts_with(marks));
        let was_open = fence.is_some();
        match (fence, marks) {
            (None, Some(_)) => fence = marks,
            (Some(open), Some(marks)) if open == marks => fence = None,
            _ => {}
        }
        let pasted = line.starts_with("    ") || line.starts_with('\t') || trimmed.starts_with(['>', '<', '|']);
        if !was_open && marks.is_none() && !pasted {
            text.push_str(line);
        }
        text.push('\n');
    }
    text
}

/// A text with a mark instead of each quotation, however many lines it has. A few words in quotation marks may be a name.
fn without_quotations(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    let (mut before, mut unended, mut apostrophes) = (' ', 0, 0);
    while let Some(c) = rest.chars().next() {
        let inner = &rest[c.len_utf8()..];
        let apart = !before.is_alphanumeric() && inner.starts_with(|next: char| !next.is_whitespace());
        let may_be_apostrophe = c == '\'' || c == '‘';
        apostrophes += usize::from(apart && may_be_apostrophe);
        if let Some(closing) = closing(c).filter(|_| apart && (!may_be_apostrophe || apostrophes <= MOST_APOSTROPHES))
            && let Some(end) = quotation(inner, closing, may_be_apostrophe)
        {
            let quoted = &inner[..end];
            unended += usize::from(!inner[end..].starts_with(closing));
            if unended > MOST_UNENDED {
                return out;
            }
            let is_name = is_name(quoted);
            let after = inner[end..].chars().next().map_or(0, char::len_utf8);
            let whole = c.len_utf8() + end + after;
            if is_name {
                out.push_str(&rest[..whole]);
            } else {
                out.push(QUOTED);
            }
            before = '"';
            rest = &rest[whole..];
        } else {
            out.push(c);
            before = c;
            rest = inner;
        }
    }
    out
}

/// Whether what is quoted may be a name or a title: a few words that say nothing of the one who wrote them.
fn is_name(quoted: &str) -> bool {
    let said = Said::of(quoted);
    let is_sentence = quoted.contains(['!', '?', '\n']) || sentences(quoted).len() > 1;
    !is_sentence && said.words.len() <= NAME_WORDS && !said.has(RULES) && !said.has(SUBJECTS) && !said.has(POSSESSIVES)
}

/// What ends a quotation that begins so.
fn closing(c: char) -> Option<&'static [char]> {
    match c {
        '"' => Some(&['"']),
        '\'' => Some(&['\'']),
        '“' => Some(&['”']),
        '„' => Some(&['“', '”']),
        '‚' => Some(&['‘', '’']),
        '‘' => Some(&['’']),
        '«' => Some(&['»']),
        '»' => Some(&['«']),
        _ => None,
    }
}

/// Where a quotation ends. One that does not goes on to the end of the paragraph, unless it may be an apostrophe.
fn quotation(inner: &str, closing: &[char], may_be_apostrophe: bool) -> Option<usize> {
    let most = if may_be_apostrophe { MOST_APOSTROPHE } else { MOST_QUOTED };
    let mut within = &inner[..inner.floor_char_boundary(most)];
    if may_be_apostrophe {
        within = within.lines().next().unwrap_or_default();
    }
    let ends = |(at, mark): &(usize, &str)| {
        let behind = &inner[at + mark.len()..];
        !behind.starts_with(char::is_alphanumeric) && !within[..*at].ends_with(char::is_whitespace)
    };
    let end = within.match_indices(closing).find(ends).map(|(at, _)| at);
    let paragraph = || inner.find("\n\n").unwrap_or(inner.len());
    end.or_else(|| (!may_be_apostrophe).then(paragraph))
}

/// A line without what makes it an entry of a list, and whether it is one.
fn without_bullet(line: &str) -> (&str, bool) {
    let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let numbered = rest.strip_prefix([')', '.']).filter(|rest| rest.len() < line.len() - 1 && rest.starts_with(' '));
    let bullet = line.strip_prefix(['-', '*', '•', '+']).filter(|rest| rest.starts_with(' '));
    match bullet.or(numbered) {
        Some(text) => (text.trim_start(), true),
        None => (line, false),
    }
}
