//! Changes to a text that leave its lines alone.

use std::ops::Range;

/// A list of changes to a text.
#[derive(Default)]
pub(super) struct Edits {
    /// Ranges that become spaces.
    blank: Vec<Range<usize>>,
    /// Characters of one byte that become another, also inside of what is blanked.
    put: Vec<(usize, u8)>,
    /// Ranges that become other text.
    replace: Vec<(Range<usize>, String)>,
}

impl Edits {
    pub(super) fn blank(&mut self, range: Range<usize>) {
        if !range.is_empty() {
            self.blank.push(range);
        }
    }

    pub(super) fn put(&mut self, at: usize, byte: u8) {
        self.put.push((at, byte));
    }

    pub(super) fn replace(&mut self, range: Range<usize>, with: String) {
        self.replace.push((range, with));
    }

    /// Returns the start of the blanked text that reaches to `end`, if any does: white space and further blanks before
    /// it belong to it.
    pub(super) fn blanked_until(&self, text: &str, end: usize) -> Option<usize> {
        let mut start = end;
        loop {
            let before = text[..start].trim_end().len();
            match self
                .blank
                .iter()
                .rev()
                .take(64)
                .filter(|range| range.end >= before && range.start < before && range.end <= end)
                .map(|range| range.start)
                .min()
            {
                Some(found) if found < start => start = found,
                _ => break,
            }
        }
        (start < end).then_some(start)
    }

    /// Returns a part of the text, changed. Its changes are taken out: the caller puts the part somewhere else.
    pub(super) fn take(&mut self, text: &str, part: &Range<usize>) -> String {
        let inside = |range: &Range<usize>| part.start <= range.start && range.end <= part.end;
        let moved = |range: &Range<usize>| range.start - part.start..range.end - part.start;
        let blank = self.blank.extract_if(.., |range| inside(range)).map(|range| moved(&range));
        let put = self.put.extract_if(.., |(at, _)| inside(&(*at..*at + 1))).map(|(at, byte)| (at - part.start, byte));
        let replace = self.replace.extract_if(.., |(range, _)| inside(range));
        let replace = replace.map(|(range, with)| (moved(&range), with));
        let taken = Edits { blank: blank.collect(), put: put.collect(), replace: replace.collect() };
        taken.apply(&text[part.clone()]).0
    }

    /// Returns the text, changed, and its moves: the offset of each stretch that moved, in the new text and in the old.
    pub(super) fn apply(mut self, text: &str) -> (String, Vec<(usize, usize)>) {
        self.blank.sort_by_key(|range| range.start);
        self.replace.sort_by_key(|(range, _)| (range.start, range.end));
        self.put.sort_unstable();
        let mut out = String::with_capacity(text.len() + 64);
        let mut replace = self.replace.iter().peekable();
        let mut put = self.put.iter().peekable();
        let mut blank = self.blank.iter().peekable();
        let mut moved: Vec<(usize, usize)> = vec![(0, 0)];
        let mut blanked = 0;
        let mut at = 0;
        while at <= text.len() {
            while let Some((range, with)) = replace.next_if(|(range, _)| range.start <= at) {
                moved.push((out.len(), range.start));
                out.push_str(with);
                at = at.max(range.end);
            }
            while put.next_if(|(place, _)| *place < at).is_some() {}
            while let Some(range) = blank.next_if(|range| range.start <= at) {
                blanked = blanked.max(range.end);
            }
            let Some(c) = text[at..].chars().next() else { break };
            if moved.last().is_none_or(|(now, then)| out.len().wrapping_sub(*now) != at.wrapping_sub(*then)) {
                moved.push((out.len(), at));
            }
            if let Some((_, byte)) = put.next_if(|(place, _)| *place == at) {
                out.push(char::from(*byte));
            } else if at < blanked && !matches!(c, '\n' | '\r' | '\u{2028}' | '\u{2029}') {
                // As many units as JavaScript counts, so that columns behind it stay.
                (0..c.len_utf16()).for_each(|_| out.push(' '));
            } else {
                out.push(c);
            }
            at += c.len_utf8();
        }
        (out, moved)
    }
}
