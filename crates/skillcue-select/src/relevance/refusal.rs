//! Refusals: what a user says not to use, as in "no PDF please, only Excel tables".
//!
//! The words of a refusal do not count for a skill, and a skill that has one of them in its name is not the one that is
//! needed. Only plain refusals of a means are recognised: "not" and "without" mostly belong to the task itself ("it does
//! not compile", "without downtime").

use std::cmp::Reverse;
use std::collections::HashSet;
use std::ops::Range;
use std::sync::LazyLock;

use crate::relevance::message::MAX_MESSAGE;
use crate::relevance::tokens::head;

mod cues;

use cues::{
    ARTICLES, BEHIND, COURTESIES, ENDINGS, IN_PLACE, JOINTS, KINDS, OPEN, OPEN_CJK, OPENINGS, PLACES, POLITE, REPORTS,
    REQUESTS, SUBJECT_OF, SUBJECTS, TAILS, WANT, WITH, WITHOUT, WITHOUT_BEHIND, WITHOUT_CAPITALS,
};

/// How many words are refused at once.
const MAX_WORDS: usize = 3;
/// How many characters of a script without blanks are refused at once.
const MAX_CHARACTERS: usize = 10;

/// A word of a message.
struct RefusalWord<'a> {
    text: &'a str,
    span: Range<usize>,
    /// Whether punctuation is in front of it.
    apart: bool,
    /// Whether its clause, up to it, begins like a report or has the verb of one.
    reported: bool,
    /// Whether its sentence, up to it, says how things are, and asks for nothing.
    stated: bool,
}

/// The parts of a message that name something which is not to be used.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Refusals {
    /// The ranges of words that count for no skill.
    pub words: Vec<Range<usize>>,
    /// The ranges of things that are called by several words, as "Terraform workspaces". Only a skill whose name has all of
    /// them is refused: the words by themselves say what the message is about.
    pub names: Vec<Range<usize>>,
}

impl Refusals {
    /// Returns whether a word that begins at a place counts for no skill.
    pub(crate) fn has(&self, start: usize) -> bool {
        range_at(&self.words, start).is_some()
    }

    /// Returns the number of the thing with several words that has a word which begins at a place.
    pub(crate) fn name_at(&self, start: usize) -> Option<usize> {
        range_at(&self.names, start)
    }

    /// Returns whether a range is in what is refused, or all of it.
    pub(crate) fn covers(&self, range: &Range<usize>) -> bool {
        let first = self.names.partition_point(|name| name.start < range.start);
        self.has(range.start) || self.names.get(first).is_some_and(|name| name.end <= range.end)
    }
}

/// Returns the number of the range that has a place. The ranges are in order, and none has a part of another.
fn range_at(ranges: &[Range<usize>], place: usize) -> Option<usize> {
    let number = ranges.partition_point(|range| range.start <= place).checked_sub(1)?;
    ranges[number].contains(&place).then_some(number)
}

/// Returns the parts of a message that name something which is not to be used. What is said elsewhere, too, is not refused.
pub(crate) fn refused(text: &str) -> Refusals {
    let text = head(text, MAX_MESSAGE);
    let lower = lowered(text);
    let mut all = Refusals::default();
    // Most messages refuse nothing.
    if lower.is_ascii() && !lower.split(|char| !is_part(char)).any(begins_cue) {
        return all;
    }
    let words = words(&lower);
    let mut at = 0;
    while at < words.len() {
        if !begins_cue(words[at].text) {
            at += 1;
            continue;
        }
        let found = object(&words, at).or_else(|| Some((name_behind(text, &words, at)?, ObjectKind::Plain)));
        at = found.as_ref().map_or(at + 1, |(object, _)| object.end.max(at + 1));
        if let Some((object, kind)) = found.filter(|(object, _)| !object.is_empty()) {
            all.add(text, &words, object, kind);
        }
    }
    let refused = &mut all.words;
    refused.extend(longest(&lower, OPEN_CJK).into_iter().map(|cue| run(&lower, cue.end)));
    refused.extend(longest(&lower, BEHIND).into_iter().map(|cue| run_before(&lower, cue.start)));
    let is_name = |range: &Range<usize>| text[range.clone()].starts_with(|char: char| char.is_ascii_uppercase());
    let without = longest(&lower, WITHOUT_BEHIND).into_iter().map(|cue| run_before(&lower, cue.start));
    refused.extend(without.filter(is_name));
    all.words = apart(std::mem::take(&mut all.words));
    all.names = apart(std::mem::take(&mut all.names));
    if all.words.is_empty() && all.names.is_empty() {
        return all;
    }
    let is_refused = |word: &RefusalWord<'_>| all.has(word.span.start) || all.name_at(word.span.start).is_some();
    let elsewhere: HashSet<&str> = words.iter().filter(|word| !is_refused(word)).map(|word| word.text).collect();
    let is_new = |range: &Range<usize>| {
        let first = words.partition_point(|word| word.span.start < range.start);
        let mut own = words[first..].iter().take_while(|word| word.span.start < range.end).peekable();
        own.peek().is_none() || own.any(|word| !elsewhere.contains(word.text))
    };
    all.words.retain(is_new);
    all.names.retain(is_new);
    all
}

/// Returns whether a refusal may begin with a word.
fn begins_cue(word: &str) -> bool {
    static FIRST: LazyLock<HashSet<&str>> = LazyLock::new(|| {
        let cues = [OPEN, IN_PLACE, WANT, POLITE, WITHOUT, WITHOUT_CAPITALS].into_iter().flatten();
        cues.filter_map(|cue| cue.split(' ').next()).collect()
    });
    word.contains('’') || FIRST.contains(word)
}

/// Returns ranges in order, and one in place of those that share a part. Empty ones are left out.
fn apart(mut ranges: Vec<Range<usize>>) -> Vec<Range<usize>> {
    ranges.retain(|range| !range.is_empty());
    ranges.sort_unstable_by_key(|range| range.start);
    ranges.dedup_by(|next, before| {
        let shares = next.start < before.end;
        if shares {
            before.end = before.end.max(next.end);
        }
        shares
    });
    ranges
}

impl Refusals {
    /// Adds the object of a refusal: one word, or a name, whose parts are written with capital letters; with several words by
    /// its kind.
    fn add(&mut self, text: &str, words: &[RefusalWord<'_>], mut object: Range<usize>, kind: ObjectKind) {
        let trim = |object: &mut Range<usize>, list: &[&str]| {
            while object.len() > 1 && list.contains(&words[object.end - 1].text) {
                object.end -= 1;
            }
        };
        trim(&mut object, TAILS);
        let mut core = object.clone();
        trim(&mut core, KINDS);
        let is_capital = |word: &RefusalWord<'_>| text[word.span.clone()].starts_with(char::is_uppercase);
        if kind == ObjectKind::Plain || core.len() == 1 || words[core.clone()].iter().all(is_capital) {
            self.words.push(span(words, &object));
        } else if kind == ObjectKind::Means {
            self.names.push(span(words, &core));
        }
    }
}

/// Returns where cues are in a text, without those that are part of longer ones.
fn longest(text: &str, cues: &[&str]) -> Vec<Range<usize>> {
    let places = |cue: &&str| text.match_indices(*cue).map(|(at, cue)| at..at + cue.len()).collect::<Vec<_>>();
    let mut all: Vec<Range<usize>> = cues.iter().flat_map(places).collect();
    all.sort_unstable_by_key(|range| (range.start, Reverse(range.end)));
    let mut end = 0;
    all.retain(|range| {
        let is_part = range.end <= end;
        end = end.max(range.end);
        !is_part
    });
    all
}

/// Returns a text in lower case, in which every letter is where it was: a few capital letters have other sizes, and stay.
pub(crate) fn lowered(text: &str) -> String {
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

/// The kind of the object of a refusal, by which several words are judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ObjectKind {
    /// "No redux store, please": nothing else is meant.
    Plain,
    /// "Don't use my live key": it may be about keys.
    Means,
    /// "I don't want memory leaks": it is about them.
    Thing,
}

/// Returns the words that are refused, if a refusal begins with the word at `at`.
fn object(words: &[RefusalWord<'_>], at: usize) -> Option<(Range<usize>, ObjectKind)> {
    if let Some(count) = cue(words, at, OPEN) {
        return Some((take(words, at + count), ObjectKind::Means));
    }
    if let Some(count) = cue(words, at, IN_PLACE) {
        return (words[at].apart || !words[at].reported).then(|| (take(words, at + count), ObjectKind::Plain));
    }
    if let Some(count) = cue(words, at, WANT) {
        let object = take(words, at + count);
        let is_subject = |word: Option<&RefusalWord<'_>>| word.is_some_and(|word| SUBJECT_OF.contains(&word.text));
        let is_whole = words.get(object.end).is_none_or(|next| next.apart);
        let is_clause = is_subject(words.get(object.start)) || !is_whole && is_subject(words.get(object.end));
        return (!is_clause).then_some((object, ObjectKind::Thing));
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
    // "We have a cluster, but no dashboards" says what is missing.
    let is_stated = words[at].stated;
    // "As a table, not PDF": the end of the message closes it, too.
    let is_last = is_apart && at > 0 && next.is_none() && !is_stated;
    // "No tables, …", "please no tables in the report".
    let is_asked = before == Some("please");
    let closes = |next: &RefusalWord<'_>| next.apart || is_asked && PLACES.contains(&next.text);
    let is_begun = (words[at].apart || is_asked || before == Some("but")) && !is_stated;
    let is_one = is_begun && object.len() == 1 && next.is_some_and(closes);
    (!object.is_empty() && (is_closed || is_last || is_one)).then_some((object, ObjectKind::Plain))
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

/// Returns whether a character is part of a word.
fn is_part(char: char) -> bool {
    char.is_alphanumeric() || matches!(char, '_' | '+' | '#' | '\'' | '’')
}

fn words(text: &str) -> Vec<RefusalWord<'_>> {
    let mut words: Vec<RefusalWord<'_>> = Vec::new();
    let (mut apart, mut ends, mut start) = (true, true, None);
    let (mut clause, mut sentence) = (ClauseKind::default(), ClauseKind::default());
    for (at, char) in text.char_indices().chain([(text.len(), ' ')]) {
        // A dot or a hyphen within a word belongs to it.
        let joins = matches!(char, '.' | '-' | '/') && text[at + 1..].starts_with(|next: char| next.is_alphanumeric());
        if is_part(char) || start.is_some() && joins {
            start.get_or_insert(at);
            continue;
        }
        if let Some(from) = start.take() {
            let word = &text[from..at];
            if apart {
                clause = ClauseKind::default();
            }
            if ends {
                sentence = ClauseKind::default();
            }
            let (reported, stated) = (clause.subject || clause.reports, sentence.subject && !sentence.asks);
            words.push(RefusalWord { text: word, span: from..at, apart, reported, stated });
            clause.add(word);
            sentence.add(word);
            (apart, ends) = (false, false);
        }
        apart |= !char.is_whitespace() && !matches!(char, '"' | '`' | '“' | '”' | '*') || char == '\n';
        ends |= matches!(char, '.' | '!' | '?' | '\n' | '。' | '！' | '？');
    }
    words
}

/// The kind of a clause or a sentence, as far as it was read.
#[derive(Debug, Clone, Copy, Default)]
struct ClauseKind {
    /// Whether a word was read that is not in front of all others, as "and" is.
    begun: bool,
    /// Whether it begins with the subject of a report or of a statement.
    subject: bool,
    /// Whether it has the verb of a report.
    reports: bool,
    /// Whether it has a word of a request.
    asks: bool,
}

impl ClauseKind {
    fn add(&mut self, word: &str) {
        if !self.begun && !OPENINGS.contains(&word) {
            (self.begun, self.subject) = (true, SUBJECTS.contains(&word));
        }
        self.reports |= REPORTS.contains(&word);
        self.asks |= REQUESTS.contains(&word);
    }
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
        refused(text).words.into_iter().map(|range| &text[range]).collect()
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
            ("I'd rather not use redux here", "redux"),
            ("no Google Sheets please", "Google Sheets"),
            ("I don't want tests for this, just the code", "tests"),
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
            ("n'utilise pas de Redux", "Redux"),
            ("Nimm eine Tabelle statt einer Grafik", "Grafik"),
            ("don't use your Redux, write hooks", "Redux"),
            ("hooks, no redux store", "redux store"),
            ("In the report, use bars instead of lines", "lines"),
            ("My app is slow, use Redis instead of Memcached", "Memcached"),
            ("Our report should be an Excel table, no PDF", "PDF"),
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
            "I don't want my Kubernetes pods to be restarted during the upgrade",
            "I don't want LangGraph to lose its state",
            "I do not want Terraform to destroy my database",
            "Je ne veux pas que Postgres s'arrête",
            "My app connects to SQLite instead of Postgres",
            "The panel shows N/A instead of the Grafana dashboard variable",
            "why is it written in Rust instead of Go",
            "My report exports CSV instead of Excel, fix it",
            "My report will come out as CSV instead of Excel, fix it",
            "We have kubernetes running but no grafana",
            "The page loads but no images",
            "My Playwright suite runs but no screenshots",
            "The Grafana dashboard is empty, no metrics",
            "we currently have no monitoring, no dashboards, and no alerting. I want an observability stack",
            "why does it open Chrome and not Firefox?",
            "I don't need a cover letter for Acme, write a cover letter for Globex",
            "don't use Docker for the db, but build the image with Docker",
            "I don't want memory leaks in my C++ code, check it",
            "don't use that",
        ] {
            assert_eq!(refused(message), Refusals::default(), "{message}");
        }
    }

    /// A thing that belongs to another one: what it is called is not what the message refuses.
    #[test]
    fn things_called_by_several_words_are_refused_as_a_whole() {
        for (message, name) in [
            ("don't use my live Stripe key, list the balance in test mode", "live Stripe key"),
            ("Do not use Terraform workspaces, structure the modules", "Terraform workspaces"),
            ("never use restic forget without prune?", "restic forget without"),
            ("don't use docker compose files here", "docker compose"),
        ] {
            let Refusals { words, names } = refused(message);
            let names: Vec<&str> = names.into_iter().map(|range| &message[range]).collect();
            assert_eq!((words, names), (vec![], vec![name]), "{message}");
        }
    }
}
