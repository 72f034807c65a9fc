//! Decodes a file's bytes to the text that a shell or a model makes of them, with the position of everything in it.
//!
//! Tricks that hide words from a search are undone: invisible characters and NULs are left out, blanks of all kinds
//! become one, lines that continue on the next one are joined, full-width letters are plain ones, UTF-16 is decoded.
//! Nothing is kept but a window.

use super::hidden::{HiddenScanner, is_invisible};

/// A position in a file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct TextPosition {
    /// From 1.
    pub(super) line: usize,
    /// In characters, from 1.
    pub(super) column: usize,
    /// In bytes, from 0.
    pub(super) offset: u64,
}

/// The encoding of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Encoding {
    /// UTF-8, or bytes that are not: those are taken as they are.
    Bytes,
    Utf16 {
        big: bool,
    },
}

/// A text of which the last part is in memory.
#[derive(Debug)]
pub(super) struct TextWindow {
    encoding: Encoding,
    binary: bool,
    /// The part in memory, and the number of bytes of the text before it.
    window: Vec<u8>,
    before: u64,
    /// Positions in the file of some of the window's bytes, in order; those of later bytes are counted from there.
    marks: Vec<(usize, TextPosition)>,
    /// Bytes that are not a whole character yet.
    rest: Vec<u8>,
    place: TextPosition,
    after_return: bool,
    /// The next byte of the window does not follow from the mark before.
    jumped: bool,
    /// The number of blanks at the line's start, while there is nothing else: up to four of them are kept.
    indent: Option<usize>,
    pub(super) hidden: HiddenScanner,
}

/// The indentation from which on a line of Markdown is code, and not a fence.
pub(super) const CODE_INDENT: usize = 4;

/// Maximum distance between marks, so that columns are counted from nearby.
const MAX_MARK_DISTANCE: usize = 4096;

impl TextWindow {
    pub(super) fn new(encoding: Encoding, binary: bool) -> TextWindow {
        TextWindow {
            encoding,
            binary,
            window: Vec::new(),
            before: 0,
            marks: Vec::new(),
            rest: Vec::new(),
            place: TextPosition { line: 1, column: 1, offset: 0 },
            after_return: false,
            jumped: true,
            indent: Some(0),
            hidden: HiddenScanner::new(binary),
        }
    }

    pub(super) fn window(&self) -> &[u8] {
        &self.window
    }

    /// Returns the window, for a caller that takes it out for a while and puts it back.
    pub(super) fn window_mut(&mut self) -> &mut Vec<u8> {
        &mut self.window
    }

    /// Returns the number of bytes of the text before the window.
    pub(super) fn before(&self) -> u64 {
        self.before
    }

    /// Forgets the first `count` bytes of the window.
    pub(super) fn forget(&mut self, count: usize) {
        let count = count.min(self.window.len());
        let first = self.mark_of(count);
        if let Some((at, place)) = self.marks.get(first).copied() {
            let place = self.advanced(at, place, count);
            self.marks.drain(..first);
            self.marks[0] = (count, place);
        }
        for mark in &mut self.marks {
            mark.0 -= count;
        }
        self.window.drain(..count);
        self.before += count as u64;
    }

    /// Returns the position in the file of the byte `at` of the window.
    pub(super) fn place(&self, at: usize) -> TextPosition {
        match self.marks.get(self.mark_of(at)) {
            Some((mark, place)) => self.advanced(*mark, *place, at),
            None => self.place,
        }
    }

    /// Returns the last mark that is not behind `at`.
    fn mark_of(&self, at: usize) -> usize {
        self.marks.partition_point(|(mark, _)| *mark <= at).saturating_sub(1)
    }

    fn advanced(&self, mark: usize, mut place: TextPosition, at: usize) -> TextPosition {
        let between = &self.window[mark.min(at)..at];
        place.offset += between.len() as u64;
        // Bytes that continue a character do not count; a line never ends between marks.
        place.column += between.iter().filter(|byte| (**byte & 0xc0) != 0x80).count();
        place
    }

    /// Takes the next bytes of the file.
    pub(super) fn feed(&mut self, bytes: &[u8]) {
        match self.encoding {
            Encoding::Bytes if self.rest.is_empty() => {
                let used = self.feed_bytes(bytes, false);
                self.rest.extend_from_slice(&bytes[used..]);
            }
            Encoding::Bytes => {
                let mut joined = std::mem::take(&mut self.rest);
                joined.extend_from_slice(bytes);
                let used = self.feed_bytes(&joined, false);
                joined.drain(..used);
                self.rest = joined;
            }
            Encoding::Utf16 { big } => {
                let mut joined = std::mem::take(&mut self.rest);
                joined.extend_from_slice(bytes);
                let used = self.feed_wide(&joined, big, false);
                joined.drain(..used);
                self.rest = joined;
            }
        }
    }

    /// Ends the file.
    pub(super) fn finish(&mut self) {
        let rest = std::mem::take(&mut self.rest);
        match self.encoding {
            Encoding::Bytes => drop(self.feed_bytes(&rest, true)),
            Encoding::Utf16 { big } => drop(self.feed_wide(&rest, big, true)),
        }
        self.hidden.finish();
    }

    /// Takes bytes, and returns how many: not a character that continues behind them.
    fn feed_bytes(&mut self, bytes: &[u8], last: bool) -> usize {
        let mut at = 0;
        while let Some(byte) = bytes.get(at) {
            let run = bytes[at..].iter().position(|byte| !matches!(byte, 0x21..=0x7e)).unwrap_or(bytes.len() - at);
            if run > 0 {
                self.plain(&bytes[at..at + run]);
                at += run;
                continue;
            }
            if *byte == b' ' {
                self.blank(1, true);
                at += 1;
                continue;
            }
            if byte.is_ascii() {
                self.character(char::from(*byte), 1);
                at += 1;
                continue;
            }
            let window = &bytes[at..bytes.len().min(at + 4)];
            match std::str::from_utf8(window) {
                Ok(text) => at += self.first(text),
                Err(error) if error.valid_up_to() > 0 => {
                    let text = std::str::from_utf8(&window[..error.valid_up_to()]).unwrap_or_default();
                    at += self.first(text);
                }
                Err(error) if error.error_len().is_none() && !last => return at,
                Err(_) => {
                    self.byte(*byte);
                    at += 1;
                }
            }
        }
        at
    }

    /// Takes the first character of a text, and returns its number of bytes.
    fn first(&mut self, text: &str) -> usize {
        let Some(c) = text.chars().next() else { return 1 };
        self.character(c, c.len_utf8());
        c.len_utf8()
    }

    fn feed_wide(&mut self, bytes: &[u8], big: bool, last: bool) -> usize {
        let unit = |pair: &[u8]| {
            let pair = [pair[0], pair[1]];
            if big { u16::from_be_bytes(pair) } else { u16::from_le_bytes(pair) }
        };
        let mut at = 0;
        while at + 1 < bytes.len() {
            let one = unit(&bytes[at..]);
            if (0xd800..0xdc00).contains(&one) {
                if at + 3 < bytes.len() {
                    let other = unit(&bytes[at + 2..]);
                    if let Some(Ok(c)) = char::decode_utf16([one, other]).next() {
                        self.character(c, 4);
                        at += 4;
                        continue;
                    }
                } else if !last {
                    return at;
                }
            }
            self.character(char::from_u32(u32::from(one)).unwrap_or('\u{fffd}'), 2);
            at += 2;
        }
        if last && at < bytes.len() {
            self.byte(bytes[at]);
            at += 1;
        }
        at
    }

    /// Takes visible ASCII.
    fn plain(&mut self, bytes: &[u8]) {
        self.hidden.plain(bytes);
        self.after_return = false;
        self.indent = None;
        self.mark();
        self.window.extend_from_slice(bytes);
        self.place.column += bytes.len();
        self.place.offset += bytes.len() as u64;
    }

    /// Takes a byte that is not text.
    fn byte(&mut self, byte: u8) {
        self.after_return = false;
        self.indent = None;
        // A byte that looks as if it continued a character would not be counted: a mark behind it makes up for that.
        self.mark();
        self.window.push(byte);
        self.place.column += 1;
        self.place.offset += 1;
        self.jumped |= (byte & 0xc0) == 0x80;
    }

    fn blank(&mut self, size: u64, plain: bool) {
        self.after_return = false;
        if plain {
            self.hidden.plain(b" ");
        }
        let indent = self.indent.filter(|indent| *indent < CODE_INDENT);
        self.indent = self.indent.map(|indent| indent + 1);
        if self.window.last() == Some(&b' ') && indent.is_none() {
            self.jumped = true;
        } else {
            self.mark();
            self.window.push(b' ');
        }
        self.place.column += 1;
        self.place.offset += size;
    }

    /// Takes any other character, of `size` bytes in the file.
    fn character(&mut self, c: char, size: usize) {
        let size = size as u64;
        let after_return = std::mem::replace(&mut self.after_return, c == '\r');
        match c {
            '\n' if after_return => {
                self.place.offset += size;
                self.jumped = true;
            }
            '\n' | '\r' => self.end_line(size),
            '\t'
            | '\u{b}'
            | '\u{c}'
            | '\u{a0}'
            | '\u{1680}'
            | '\u{2000}'..='\u{200a}'
            | '\u{202f}'
            | '\u{205f}'
            | '\u{3000}' => {
                if !c.is_ascii() {
                    self.hidden.see(c, self.place, self.before, &self.window);
                }
                let tab = c == '\t' && self.indent.is_some_and(|indent| indent < CODE_INDENT);
                self.blank(size, c.is_ascii());
                if tab {
                    self.window.extend_from_slice(b"   ");
                    self.indent = Some(CODE_INDENT);
                    self.jumped = true;
                }
            }
            // In a program, a NUL ends a text.
            '\0' if self.binary => {
                self.mark();
                self.window.push(b'\n');
                self.place.column += 1;
                self.place.offset += size;
                self.jumped = true;
            }
            c if c == '\0' || is_invisible(c) => {
                if c != '\0' {
                    self.hidden.see(c, self.place, self.before, &self.window);
                    self.place.column += 1;
                }
                self.place.offset += size;
                self.jumped = true;
            }
            c => {
                if c.is_ascii() && c != '\u{1b}' && c != '\u{8}' {
                    self.hidden.plain(&[c as u8]);
                } else {
                    self.hidden.see(c, self.place, self.before, &self.window);
                }
                self.mark();
                self.indent = None;
                let c = match u32::from(c) {
                    code @ 0xff01..=0xff5e => char::from_u32(code - 0xfee0).unwrap_or(c),
                    _ => c,
                };
                self.window.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
                self.place.column += 1;
                self.place.offset += size;
                self.jumped |= size != c.len_utf8() as u64;
            }
        }
    }

    fn end_line(&mut self, size: u64) {
        self.hidden.end_line();
        let joined = match self.window.as_slice() {
            [.., b'\\', b'\\'] => false,
            // Shells; PowerShell and cmd.
            [.., b'\\'] | [.., b' ', b'`' | b'^'] => true,
            _ => false,
        };
        if joined {
            if let Some(last) = self.window.last_mut() {
                *last = b' ';
            }
        } else {
            self.mark();
            self.window.push(b'\n');
            self.indent = Some(0);
        }
        self.place.line += 1;
        self.place.column = 1;
        self.place.offset += size;
        self.jumped = true;
    }

    fn mark(&mut self) {
        if self.jumped || self.marks.last().is_none_or(|(at, _)| self.window.len() - at >= MAX_MARK_DISTANCE) {
            self.marks.push((self.window.len(), self.place));
            self.jumped = false;
        }
    }
}
