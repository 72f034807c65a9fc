//! Invisible characters: which of them carry something, and which belong to a script or an emoji.
//!
//! Fed with one character after the other, it keeps only open state: a run of invisible characters, and the direction
//! controls of the line.

use skillcue_base::is_hidden;

use super::Rule;
use super::rows::OddCharRows;
use super::rules::{HIDDEN_UNICODE, ODD_UNICODE};
use super::show;
use super::text::TextPosition;

/// Maximum number of characters of a run that are kept. A longer run is one finding as well.
const MAX_KEPT: usize = 200;
/// Maximum number of findings of a rule that are kept between two windows; the others are counted.
const MAX_FOUND: usize = 64;
/// Minimum number of single characters without a purpose that are no accident.
const MIN_LOOSE: usize = 40;

/// Something invisible that should not be there.
#[derive(Debug)]
pub(super) struct HiddenFinding {
    pub(super) rule: &'static Rule,
    pub(super) at: TextPosition,
    /// Its position in the text that is searched.
    pub(super) text_at: u64,
    pub(super) message: String,
    /// The first of the characters.
    pub(super) shown: String,
}

/// The position of a character, and the character before it in its line.
#[derive(Debug, Clone, Copy)]
pub(super) struct CharContext {
    pub(super) place: TextPosition,
    text_at: u64,
    pub(super) last: Option<char>,
}

/// Finds invisible characters in a stream of characters.
#[derive(Debug, Default)]
pub(super) struct HiddenScanner {
    /// Whether the file is binary. There, three random bytes are often some character, so only tags in a row are
    /// reported.
    binary: bool,
    run: Option<InvisibleRun>,
    line: LineState,
    rows: OddCharRows,
    /// The number of characters without a purpose in the whole file, and the first of them.
    loose: usize,
    first_loose: Option<CharContext>,
    pub(super) found: Vec<HiddenFinding>,
    /// Findings that were not kept.
    pub(super) more: Vec<(&'static Rule, usize)>,
    /// The rules that were reported at all.
    reported: Vec<&'static str>,
}

/// Invisible characters in a row.
#[derive(Debug)]
struct InvisibleRun {
    at: CharContext,
    chars: Vec<char>,
    count: usize,
}

/// State that is judged at the end of a line.
#[derive(Debug, Default)]
struct LineState {
    /// The first direction control.
    first: Option<(CharContext, char)>,
    /// The direction controls that are not closed.
    open: Vec<char>,
    reversing: bool,
    overriding: bool,
    unbalanced: bool,
    right_to_left: bool,
    /// Zero-width characters between Latin letters: how many, and one bit a kind.
    between: usize,
    kinds: u32,
    between_at: Option<CharContext>,
}

/// Returns whether the character is invisible, and is left out of the text that is searched for words.
pub(super) fn is_invisible(c: char) -> bool {
    is_zero_width(c) || is_tag(c) || is_selector(c) || is_direction(c)
}

fn is_tag(c: char) -> bool {
    matches!(c, '\u{e0000}'..='\u{e007f}')
}

fn is_selector(c: char) -> bool {
    matches!(c, '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}' | '\u{180b}'..='\u{180d}' | '\u{180f}')
}

fn is_direction(c: char) -> bool {
    matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Returns whether a character is hidden otherwise, by the one table of those; a terminal's controls and line ends do
/// not count here.
fn is_zero_width(c: char) -> bool {
    is_hidden(c)
        && !c.is_control()
        && !matches!(c, '\u{2028}' | '\u{2029}')
        && !is_tag(c)
        && !is_selector(c)
        && !is_direction(c)
}

fn is_right_to_left(c: char) -> bool {
    matches!(c, '\u{590}'..='\u{8ff}' | '\u{fb1d}'..='\u{fdff}' | '\u{fe70}'..='\u{fefc}' | '\u{10800}'..='\u{10fff}' | '\u{1e800}'..='\u{1efff}')
}

/// Returns whether a character is of a script whose letters are joined or parted by invisible characters.
fn is_joining(c: char) -> bool {
    matches!(c, '\u{590}'..='\u{109f}' | '\u{1700}'..='\u{18af}' | '\u{1900}'..='\u{1cff}' | '\u{a840}'..='\u{abff}' | '\u{fb1d}'..='\u{fdff}' | '\u{fe70}'..='\u{fefc}' | '\u{11000}'..='\u{11fff}')
}

fn is_east_asian(c: char) -> bool {
    matches!(c, '\u{1100}'..='\u{11ff}' | '\u{2e80}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}' | '\u{f900}'..='\u{faff}' | '\u{ff00}'..='\u{ffef}' | '\u{20000}'..='\u{3ffff}')
}

/// Returns whether a character is a picture, a symbol or a modifier of one.
fn is_emoji(c: char) -> bool {
    matches!(c, '\u{a9}' | '\u{ae}' | '\u{200d}' | '\u{203c}' | '\u{2049}' | '\u{20e3}' | '\u{2122}'..='\u{2bff}' | '\u{3030}' | '\u{303d}' | '\u{3297}' | '\u{3299}' | '\u{fe0f}' | '\u{1f000}'..='\u{1faff}')
}

impl HiddenScanner {
    pub(super) fn new(binary: bool) -> HiddenScanner {
        HiddenScanner { binary, ..HiddenScanner::default() }
    }

    /// Takes a character that is not plain ASCII, its position, and the text before it: a window, and the number of
    /// bytes before that.
    pub(super) fn see(&mut self, c: char, place: TextPosition, before: u64, window: &[u8]) {
        let spot = || CharContext { place, text_at: before + window.len() as u64, last: last(window) };
        if is_direction(c) {
            self.close(Some(c));
            self.direction(c, spot());
        } else if is_invisible(c) {
            let run = self.run.get_or_insert_with(|| InvisibleRun { at: spot(), chars: Vec::new(), count: 0 });
            run.count += 1;
            if run.chars.len() < MAX_KEPT {
                run.chars.push(c);
            }
        } else {
            self.close(Some(c));
            if !self.binary && self.rows.see(c, spot) {
                self.row();
            }
            self.line.right_to_left |= is_right_to_left(c);
            if matches!(c, '\u{1b}' | '\u{8}' | '\u{2028}' | '\u{2029}') && !self.binary {
                let message = match c {
                    '\u{1b}' => "an escape character, which controls terminals",
                    '\u{8}' => "a backspace, which makes terminals hide the text before it",
                    _ => "a line separator that most programs do not show",
                };
                self.report(&ODD_UNICODE, spot(), message.to_owned(), c.to_string());
            }
        }
    }

    /// Takes plain ASCII without a line end.
    pub(super) fn plain(&mut self, bytes: &[u8]) {
        if self.run.is_some() {
            self.close(bytes.first().map(|byte| char::from(*byte)));
        }
        self.row();
    }

    /// Ends a row of odd characters.
    fn row(&mut self) {
        if let Some((rule, spot, message, shown)) = self.rows.close() {
            self.report(rule, spot, message, shown);
        }
    }

    /// Ends the file, and reports findings about the file as a whole.
    pub(super) fn finish(&mut self) {
        self.end_line();
        if let Some((rule, spot, message)) = self.rows.finish()
            && !self.reported.contains(&rule.id)
        {
            self.report(rule, spot, message, String::new());
        }
        if let Some(spot) = self.first_loose
            && self.loose >= MIN_LOOSE
            && !self.reported.contains(&HIDDEN_UNICODE.id)
        {
            let message = format!(
                "{} invisible characters in this file where none is needed: they can spell something",
                self.loose
            );
            self.report(&HIDDEN_UNICODE, spot, message, String::new());
        }
    }

    /// Ends a line.
    pub(super) fn end_line(&mut self) {
        if self.run.is_some() {
            self.close(None);
        }
        self.row();
        if self.line.first.is_none() && self.line.between == 0 {
            self.line.right_to_left = false;
            return;
        }
        let line = std::mem::take(&mut self.line);
        if let Some(at) = line.between_at
            && line.between >= 8
            && line.kinds.count_ones() >= 2
        {
            let message = format!(
                "{} zero-width characters of {} kinds between letters: they can spell something",
                line.between,
                line.kinds.count_ones()
            );
            self.report(&HIDDEN_UNICODE, at, message, String::new());
        }
        let Some((at, first)) = line.first else { return };
        let unbalanced = line.unbalanced || !line.open.is_empty();
        let rule = match (line.right_to_left, unbalanced) {
            (true, false) => return,
            (true, true) if line.overriding => &HIDDEN_UNICODE,
            (false, _) if line.reversing || line.overriding => &HIDDEN_UNICODE,
            (false, true) if !line.open.is_empty() => &HIDDEN_UNICODE,
            _ => &ODD_UNICODE,
        };
        let what = match (line.right_to_left, unbalanced) {
            (false, false) => "in a line without right-to-left text: it can be shown in another order than it is read",
            _ => "that is not closed: what follows can be shown in another order than it is read",
        };
        let message = format!("a direction control (U+{:04X}) {what}", u32::from(first));
        self.report(rule, at, message, first.to_string());
    }

    fn direction(&mut self, c: char, at: CharContext) {
        let line = &mut self.line;
        line.first.get_or_insert((at, c));
        match c {
            '\u{202c}' => match line.open.iter().rposition(|open| ('\u{202a}'..='\u{202e}').contains(open)) {
                Some(index) => drop(line.open.remove(index)),
                None => line.unbalanced = true,
            },
            '\u{2069}' => match line.open.iter().rposition(|open| ('\u{2066}'..='\u{2068}').contains(open)) {
                Some(index) => drop(line.open.remove(index)),
                None => line.unbalanced = true,
            },
            _ => {
                line.overriding |= matches!(c, '\u{202d}' | '\u{202e}');
                line.reversing |= matches!(c, '\u{202b}' | '\u{2067}');
                if line.open.len() < MAX_KEPT {
                    line.open.push(c);
                }
            }
        }
    }

    /// Ends a run of invisible characters.
    fn close(&mut self, next: Option<char>) {
        let Some(run) = self.run.take() else { return };
        let last = run.at.last;
        let of = |is: fn(char) -> bool| run.chars.iter().filter(|c| is(**c)).count();
        let (tags, selectors, zero) = (of(is_tag), of(is_selector), of(is_zero_width));
        let shown: String = run.chars.iter().take(12).collect();
        if tags > 0 {
            if !(last == Some('\u{1f3f4}') && is_flag(&run.chars)) && (!self.binary || tags >= 4) {
                let text: String = run.chars.iter().filter_map(|c| char::from_u32(u32::from(*c) - 0xe0000)).collect();
                let message = format!(
                    "{} tag characters, which people do not see and models read; they spell “{}”",
                    run.count,
                    show::text(&text, run.count > run.chars.len())
                );
                self.report(&HIDDEN_UNICODE, run.at, message, shown);
            }
            return;
        }
        if self.binary {
            return;
        }
        if selectors >= 3 || (selectors >= 2 && run.chars.iter().any(|c| *c >= '\u{e0100}')) {
            let message = format!(
                "{} variation selectors in a row: they can carry any bytes{}",
                run.count,
                smuggled(&run.chars, run.count)
            );
            self.report(&HIDDEN_UNICODE, run.at, message, shown);
            return;
        }
        let mut kinds: Vec<char> = run.chars.clone();
        kinds.sort_unstable();
        kinds.dedup();
        if zero >= 8 || (zero >= 4 && kinds.len() >= 2) {
            let message = format!("{} zero-width characters in a row: they can spell something", run.count);
            self.report(&HIDDEN_UNICODE, run.at, message, shown);
            return;
        }
        if is_needed(&run, last, next) {
            return;
        }
        self.loose += run.count;
        self.first_loose.get_or_insert(run.at);
        let latin = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
        if latin(last) && latin(next) {
            self.line.between += zero;
            self.line.between_at.get_or_insert(run.at);
            for c in &run.chars {
                self.line.kinds |= 1 << (u32::from(*c) % 31);
            }
        }
        let first = run.chars.first().copied().unwrap_or_default();
        let message = format!("an invisible character (U+{:04X}) where none is needed", u32::from(first));
        self.report(&ODD_UNICODE, run.at, message, shown);
    }

    fn report(&mut self, rule: &'static Rule, at: CharContext, message: String, shown: String) {
        if !self.reported.contains(&rule.id) {
            self.reported.push(rule.id);
        }
        let mut same = self.found.iter().rev().filter(|found| found.rule.id == rule.id);
        if same.next().is_some_and(|found| found.at.line == at.place.line) {
            return;
        }
        if same.count() >= MAX_FOUND {
            match self.more.iter_mut().find(|(known, _)| known.id == rule.id) {
                Some((_, more)) => *more += 1,
                None => self.more.push((rule, 1)),
            }
            return;
        }
        self.found.push(HiddenFinding { rule, at: at.place, text_at: at.text_at, message, shown });
    }
}

/// Returns the last character, if it is in the same line.
fn last(window: &[u8]) -> Option<char> {
    let tail = &window[window.len().saturating_sub(4)..];
    let text = String::from_utf8_lossy(tail);
    text.chars().next_back().filter(|c| *c != '\n')
}

/// Returns whether tags make a flag of a part of a country: a few letters and digits, and the end.
fn is_flag(chars: &[char]) -> bool {
    let Some(('\u{e007f}', letters)) = chars.split_last() else { return false };
    (3..=6).contains(&letters.len())
        && letters.iter().all(|c| matches!(c, '\u{e0030}'..='\u{e0039}' | '\u{e0061}'..='\u{e007a}'))
}

/// Returns whether the characters around a short run need it.
fn is_needed(run: &InvisibleRun, before: Option<char>, next: Option<char>) -> bool {
    let around = |is: fn(char) -> bool| before.is_some_and(is) || next.is_some_and(is);
    let start = run.at.place.offset == 0;
    run.count <= 3
        && run.chars.iter().enumerate().all(|(index, c)| match c {
            '\u{feff}' => start && index == 0,
            '\u{fe0e}' | '\u{fe0f}' => {
                index == 0 && before.is_some_and(|c| is_emoji(c) || c.is_ascii_digit() || c == '#' || c == '*')
            }
            '\u{fe00}'..='\u{fe0d}' => {
                index == 0 && before.is_some_and(|c| is_emoji(c) || is_east_asian(c) || is_joining(c) || c == '0')
            }
            '\u{e0100}'..='\u{e01ef}' => index == 0 && before.is_some_and(is_east_asian),
            '\u{200d}' => around(is_joining) || (before.is_some_and(is_emoji) && next.is_some_and(is_emoji)),
            '\u{200b}' => around(is_joining) || around(is_east_asian),
            '\u{200e}' | '\u{200f}' | '\u{61c}' => around(is_right_to_left),
            '\u{ad}' => run.count == 1 && before.is_some_and(char::is_alphabetic),
            '\u{115f}' | '\u{1160}' | '\u{3164}' | '\u{ffa0}' => around(is_east_asian),
            '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}' | '\u{200c}' | '\u{34f}' => around(is_joining),
            _ => false,
        })
}

/// Returns the text that variation selectors encode, if it is text: the first 16 are the bytes 0 to 15, the others
/// those from 16 on.
fn smuggled(chars: &[char], count: usize) -> String {
    let byte = |c: &char| match u32::from(*c) {
        code @ 0xfe00..=0xfe0f => u8::try_from(code - 0xfe00).ok(),
        code @ 0xe0100..=0xe01ef => u8::try_from(code - 0xe0100 + 16).ok(),
        _ => None,
    };
    let bytes: Vec<u8> = chars.iter().filter_map(byte).collect();
    match String::from_utf8(bytes) {
        Ok(text) if text.chars().all(|c| !c.is_control()) => {
            format!("; they spell “{}”", show::text(&text, count > chars.len()))
        }
        _ => String::new(),
    }
}
