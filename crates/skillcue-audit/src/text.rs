//! A file's bytes as the text that a shell or a model makes of them, with the place of everything in it.
//!
//! What hides words from a search is undone: invisible characters and NULs are left out, blanks of all kinds become one,
//! lines that go on on the next one are joined, full-width letters are plain ones, UTF-16 is decoded. Nothing is kept but
//! a window.

use super::hidden::{Watch, is_invisible};

/// A place in a file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Place {
    /// From 1.
    pub(super) line: usize,
    /// In characters, from 1.
    pub(super) column: usize,
    /// In bytes, from 0.
    pub(super) offset: u64,
}

/// How characters are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Encoding {
    /// UTF-8, or bytes that are not: those stand for themselves.
    Bytes,
    Utf16 {
        big: bool,
    },
}

/// A text whose last part is at hand.
#[derive(Debug)]
pub(super) struct Text {
    encoding: Encoding,
    binary: bool,
    /// The part at hand, and how many bytes of the text stand before it.
    window: Vec<u8>,
    before: u64,
    /// Where in the file some of the window's bytes stand, in order; what follows one goes on from there.
    marks: Vec<(usize, Place)>,
    /// Bytes that are no whole character yet.
    rest: Vec<u8>,
    place: Place,
    after_return: bool,
    /// The next byte of the window does not follow from the mark before.
    jumped: bool,
    /// How many blanks the line has begun with, while there is nothing else: up to four of them are kept.
    indent: Option<usize>,
    pub(super) hidden: Watch,
}

/// From so many blanks on, a line of Markdown is code, and no fence.
pub(super) const INDENTED: usize = 4;

/// How far apart marks stand at the most, so that columns are counted from nearby.
const MARK: usize = 4096;

impl Text {
    pub(super) fn new(encoding: Encoding, binary: bool) -> Text {
        Text {
            encoding,
            binary,
            window: Vec::new(),
            before: 0,
            marks: Vec::new(),
            rest: Vec::new(),
            place: Place { line: 1, column: 1, offset: 0 },
            after_return: false,
            jumped: true,
            indent: Some(0),
            hidden: Watch::new(binary),
        }
    }

    pub(super) fn window(&self) -> &[u8] {
        &self.window
    }

    /// For whoever takes it out for a while and puts it back.
    pub(super) fn window_mut(&mut self) -> &mut Vec<u8> {
        &mut self.window
    }

    /// How many bytes of the text stand before the window.
    pub(super) fn before(&self) -> u64 {
        self.before
    }

    /// Forgets the first `count` bytes of the window.
    pub(super) fn forget(&mut self, count: usize) {
        let count = count.min(self.window.len());
        let first = self.mark_of(count);
        if let Some((at, place)) = self.marks.get(first).copied() {
            let place = self.go_on(at, place, count);
            self.marks.drain(..first);
            self.marks[0] = (count, place);
        }
        for mark in &mut self.marks {
            mark.0 -= count;
        }
        self.window.drain(..count);
        self.before += count as u64;
    }

    /// Where in the file the byte `at` of the window stands.
    pub(super) fn place(&self, at: usize) -> Place {
        match self.marks.get(self.mark_of(at)) {
            Some((mark, place)) => self.go_on(*mark, *place, at),
            None => self.place,
        }
    }

    /// The last mark that does not stand behind `at`.
    fn mark_of(&self, at: usize) -> usize {
        self.marks.partition_point(|(mark, _)| *mark <= at).saturating_sub(1)
    }

    fn go_on(&self, mark: usize, mut place: Place, at: usize) -> Place {
        let between = &self.window[mark.min(at)..at];
        place.offset += between.len() as u64;
        // Bytes that continue a character are none; a line never ends between marks.
        place.column += between.iter().filter(|byte| (**byte & 0xc0) != 0x80).count();
        place
    }

    /// The next bytes of the file.
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

    /// There are no more bytes.
    pub(super) fn finish(&mut self) {
        let rest = std::mem::take(&mut self.rest);
        match self.encoding {
            Encoding::Bytes => drop(self.feed_bytes(&rest, true)),
            Encoding::Utf16 { big } => drop(self.feed_wide(&rest, big, true)),
        }
        self.hidden.finish();
    }

    /// How many of the bytes were taken: not a character that goes on behind them.
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

    /// The first character of a text that has one; how many bytes it is.
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

    /// Visible ASCII.
    fn plain(&mut self, bytes: &[u8]) {
        self.hidden.plain(bytes);
        self.after_return = false;
        self.indent = None;
        self.mark();
        self.window.extend_from_slice(bytes);
        self.place.column += bytes.len();
        self.place.offset += bytes.len() as u64;
    }

    /// A byte that is no text.
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
        let indent = self.indent.filter(|indent| *indent < INDENTED);
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

    /// Any other character, of `size` bytes in the file.
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
                let tab = c == '\t' && self.indent.is_some_and(|indent| indent < INDENTED);
                self.blank(size, c.is_ascii());
                if tab {
                    self.window.extend_from_slice(b"   ");
                    self.indent = Some(INDENTED);
                    self.jumped = true;
                }
            }
            // In a program, a NUL ends one text and another begins.
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
        if self.jumped || self.marks.last().is_none_or(|(at, _)| self.window.len() - at >= MARK) {
            self.marks.push((self.window.len(), self.place));
            self.jumped = false;
        }
    }
}
