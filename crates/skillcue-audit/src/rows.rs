//! Characters that are not invisible and yet show nothing: unusual blanks, empty Braille cells, private characters. One
//! is nothing, many can be bits.

use super::Rule;
use super::hidden::CharContext;
use super::rules::{CODED_UNICODE, ODD_UNICODE};
use super::show;

/// Minimum number in a row of one kind that is no accident.
const MIN_SAME: usize = 16;
/// Minimum number in a row of several kinds that is no accident.
const MIN_MIXED: usize = 8;
/// Minimum number in a file of blanks of several kinds that is not typography.
const MIN_IN_FILE: usize = 64;
/// Maximum number of characters that are kept of a row.
const MAX_KEPT: usize = 200;

/// The kind of a character that shows nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OddCharKind {
    Blank,
    Braille,
    Private,
}

/// A row of such characters.
#[derive(Debug)]
struct OddCharRow {
    kind: OddCharKind,
    spot: CharContext,
    count: usize,
    chars: Vec<char>,
}

/// Finds rows of such characters in a stream of characters.
#[derive(Debug, Default)]
pub(super) struct OddCharRows {
    row: Option<OddCharRow>,
    /// Blanks of typography in the whole file: how many, one bit a kind, and the first.
    blanks: usize,
    kinds: u32,
    first: Option<CharContext>,
    /// Empty cells are nothing in a picture that is made of Braille.
    braille: bool,
    empty: Option<(CharContext, usize)>,
}

fn kind(c: char) -> Option<OddCharKind> {
    match c {
        '\u{a0}' | '\u{1680}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}' => {
            Some(OddCharKind::Blank)
        }
        '\u{2800}' => Some(OddCharKind::Braille),
        '\u{f0000}'..='\u{10ffff}' => Some(OddCharKind::Private),
        _ => None,
    }
}

impl OddCharRows {
    /// Takes the next character that is not ASCII, and returns whether the row before it is over and must be closed.
    pub(super) fn see(&mut self, c: char, spot: impl Fn() -> CharContext) -> bool {
        self.braille |= matches!(c, '\u{2801}'..='\u{28ff}');
        let Some(kind) = kind(c) else { return self.row.is_some() };
        if matches!(c, '\u{2000}'..='\u{200a}' | '\u{205f}') {
            self.blanks += 1;
            self.kinds |= 1 << (u32::from(c) % 31);
            self.first.get_or_insert_with(&spot);
        }
        // Another kind goes on with the row, so that mixing them does not help.
        let row = self.row.get_or_insert_with(|| OddCharRow { kind, spot: spot(), count: 0, chars: Vec::new() });
        row.count += 1;
        if row.chars.len() < MAX_KEPT {
            row.chars.push(c);
        }
        false
    }

    /// Ends the row, and returns the finding about it.
    pub(super) fn close(&mut self) -> Option<(&'static Rule, CharContext, String, String)> {
        let OddCharRow { kind, spot, count, chars } = self.row.take()?;
        let mut kinds = chars.clone();
        kinds.sort_unstable();
        kinds.dedup();
        let shown = || chars.iter().take(12).map(|c| c.escape_default().to_string()).collect();
        if kind == OddCharKind::Private {
            let text: String = chars.iter().filter_map(|c| char::from_u32(u32::from(*c) & 0xffff)).collect();
            let spelled = if text.chars().all(|c| matches!(c, ' '..='~')) {
                format!("; they spell “{}”", show::text(&text, count > chars.len()))
            } else {
                String::new()
            };
            let rule = if count >= MIN_MIXED { &CODED_UNICODE } else { &ODD_UNICODE };
            return Some((
                rule,
                spot,
                format!("{count} private characters, which mean nothing to others{spelled}"),
                shown(),
            ));
        }
        if kinds.len() == 1 && kind == OddCharKind::Braille {
            if count >= MIN_SAME {
                self.empty.get_or_insert((spot, count));
            }
            return None;
        }
        let usual = kinds.iter().all(|c| matches!(c, '\u{a0}' | '\u{3000}'));
        let many = count >= MIN_SAME && !usual || count >= MIN_MIXED && kinds.len() >= 2;
        many.then(|| {
            (&CODED_UNICODE, spot, format!("{count} unusual blanks in a row: they can spell something"), shown())
        })
    }

    /// Returns the finding about the whole file.
    pub(super) fn finish(&mut self) -> Option<(&'static Rule, CharContext, String)> {
        if let (false, Some((spot, count))) = (self.braille, self.empty) {
            return Some((
                &CODED_UNICODE,
                spot,
                format!("{count} empty Braille cells in a row: they can spell something"),
            ));
        }
        let many = self.blanks >= MIN_IN_FILE && self.kinds.count_ones() >= 2;
        let message = || format!("{} blanks of several kinds in this file: they can spell something", self.blanks);
        self.first.filter(|_| many).map(|spot| (&CODED_UNICODE, spot, message()))
    }
}
