//! Characters that are not invisible and yet show nothing: unusual blanks, empty Braille cells, private characters. One is
//! nothing, many can be bits.

use super::Rule;
use super::hidden::Spot;
use super::rules::{CODED_UNICODE, ODD_UNICODE};
use super::show;

/// From how many in a row on they are no accident: of one kind, and of several.
const SAME: usize = 16;
const MIXED: usize = 8;
/// From how many in a file on, blanks of several kinds are no typography.
const IN_FILE: usize = 64;
/// How many are kept of a row.
const KEPT: usize = 200;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum What {
    Blank,
    Braille,
    Private,
}

/// A row of such characters.
#[derive(Debug)]
struct Row {
    what: What,
    spot: Spot,
    count: usize,
    chars: Vec<char>,
}

#[derive(Debug, Default)]
pub(super) struct Rows {
    row: Option<Row>,
    /// Blanks of typography in the whole file: how many, one bit a kind, and the first.
    blanks: usize,
    kinds: u32,
    first: Option<Spot>,
    /// Empty cells are nothing in a picture that is made of Braille.
    braille: bool,
    empty: Option<(Spot, usize)>,
}

fn what(c: char) -> Option<What> {
    match c {
        '\u{a0}' | '\u{1680}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}' => Some(What::Blank),
        '\u{2800}' => Some(What::Braille),
        '\u{f0000}'..='\u{10ffff}' => Some(What::Private),
        _ => None,
    }
}

impl Rows {
    /// The next character that is not ASCII; whether the row before it is over and wants to be closed.
    pub(super) fn see(&mut self, c: char, spot: impl Fn() -> Spot) -> bool {
        self.braille |= matches!(c, '\u{2801}'..='\u{28ff}');
        let Some(what) = what(c) else { return self.row.is_some() };
        if matches!(c, '\u{2000}'..='\u{200a}' | '\u{205f}') {
            self.blanks += 1;
            self.kinds |= 1 << (u32::from(c) % 31);
            self.first.get_or_insert_with(&spot);
        }
        // Another kind goes on with the row, so that mixing them does not help.
        let row = self.row.get_or_insert_with(|| Row { what, spot: spot(), count: 0, chars: Vec::new() });
        row.count += 1;
        if row.chars.len() < KEPT {
            row.chars.push(c);
        }
        false
    }

    /// The row is over: what it amounts to.
    pub(super) fn close(&mut self) -> Option<(&'static Rule, Spot, String, String)> {
        let Row { what, spot, count, chars } = self.row.take()?;
        let mut kinds = chars.clone();
        kinds.sort_unstable();
        kinds.dedup();
        let shown = || chars.iter().take(12).map(|c| c.escape_default().to_string()).collect();
        if what == What::Private {
            let text: String = chars.iter().filter_map(|c| char::from_u32(u32::from(*c) & 0xffff)).collect();
            let spelled = if text.chars().all(|c| matches!(c, ' '..='~')) {
                format!("; they spell “{}”", show::text(&text, count > chars.len()))
            } else {
                String::new()
            };
            let rule = if count >= MIXED { &CODED_UNICODE } else { &ODD_UNICODE };
            return Some((
                rule,
                spot,
                format!("{count} private characters, which mean nothing to others{spelled}"),
                shown(),
            ));
        }
        if kinds.len() == 1 && what == What::Braille {
            if count >= SAME {
                self.empty.get_or_insert((spot, count));
            }
            return None;
        }
        let usual = kinds.iter().all(|c| matches!(c, '\u{a0}' | '\u{3000}'));
        let many = count >= SAME && !usual || count >= MIXED && kinds.len() >= 2;
        many.then(|| {
            (&CODED_UNICODE, spot, format!("{count} unusual blanks in a row: they can spell something"), shown())
        })
    }

    /// What the whole file amounts to.
    pub(super) fn finish(&mut self) -> Option<(&'static Rule, Spot, String)> {
        if let (false, Some((spot, count))) = (self.braille, self.empty) {
            return Some((
                &CODED_UNICODE,
                spot,
                format!("{count} empty Braille cells in a row: they can spell something"),
            ));
        }
        let many = self.blanks >= IN_FILE && self.kinds.count_ones() >= 2;
        let message = || format!("{} blanks of several kinds in this file: they can spell something", self.blanks);
        self.first.filter(|_| many).map(|spot| (&CODED_UNICODE, spot, message()))
    }
}
