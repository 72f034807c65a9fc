//! Follows the structure of a Markdown text: which parts are code, which are comments.

use super::patterns::is_open;
use super::text::CODE_INDENT;

/// Maximum number of bytes of a comment that are kept to be judged.
const MAX_KEPT: usize = 16 << 10;
/// Maximum length of front matter; a line of hyphens that opens more than this opens none.
const MAX_FRONT_MATTER: u64 = 64 << 10;

/// Follows a Markdown text line by line: fences and comments. Positions are counted from the text's start.
#[derive(Debug, Default)]
pub(super) struct MarkdownStructure {
    /// The number of bytes that were read so far.
    seen: u64,
    fences: Vec<(u64, u64)>,
    comments: Vec<(u64, u64)>,
    fence: Option<(u64, u8, usize)>,
    comment: Option<(u64, bool, Vec<u8>)>,
    middle_of_line: bool,
    /// In a list, whose code is indented.
    list: bool,
    /// In the front matter, whose comments begin with `#`; the one that may continue on the next line.
    front: bool,
    front_comment: Option<(u64, Vec<u8>)>,
    /// The title of a link's definition that is not closed yet: its start, its text, its closing character.
    title: Option<(u64, Vec<u8>, u8)>,
    /// The line before defines a link and has no title: it may be in this one.
    defined: bool,
    /// Comments that have ended: their start, whether they are in a fence, and their text.
    pub(super) closed: Vec<(u64, bool, Vec<u8>)>,
}

impl MarkdownStructure {
    /// Creates the structure of a file that is nothing but front matter.
    pub(super) fn of_yaml() -> MarkdownStructure {
        MarkdownStructure { front: true, ..MarkdownStructure::default() }
    }

    pub(super) fn seen(&self) -> u64 {
        self.seen
    }

    pub(super) fn in_fence(&self, at: u64) -> bool {
        self.fence.is_some_and(|(start, ..)| at >= start) || within(&self.fences, at)
    }

    /// Returns the start of the code block that `at` is in.
    pub(super) fn block(&self, at: u64) -> Option<u64> {
        let open = self.fence.map(|(start, ..)| start).filter(|start| at >= *start);
        open.or_else(|| self.fences.iter().find(|(start, end)| (*start..*end).contains(&at)).map(|(start, _)| *start))
    }

    pub(super) fn in_comment(&self, at: u64) -> bool {
        self.comment.as_ref().is_some_and(|(start, ..)| at >= *start) || within(&self.comments, at)
    }

    /// Forgets the fences and comments that end before `at`.
    pub(super) fn forget(&mut self, at: u64) {
        self.fences.retain(|(_, end)| *end > at);
        self.comments.retain(|(_, end)| *end > at);
    }

    /// Takes the next part of the text.
    pub(super) fn feed(&mut self, text: &[u8]) {
        for line in text.split_inclusive(|byte| *byte == b'\n') {
            let start = self.seen;
            if !self.front_line(line, start) {
                if !self.middle_of_line && self.comment.is_none() {
                    self.fence_line(line, start);
                }
                self.comments_of(line, start);
            }
            self.seen += line.len() as u64;
            self.middle_of_line = line.last() != Some(&b'\n');
        }
    }

    /// Ends the text. A comment that is not closed hides everything behind it.
    pub(super) fn finish(&mut self) {
        self.close_front_comment();
        self.close_title();
        if let Some((start, fenced, text)) = self.comment.take() {
            self.comments.push((start, self.seen));
            self.closed.push((start, fenced, text));
        }
    }

    /// Returns whether the line is one of the front matter. Its comments are closed when something else follows.
    fn front_line(&mut self, line: &[u8], start: u64) -> bool {
        let text = line.trim_ascii_end();
        if start == 0 && text == b"---" {
            self.front = true;
            return true;
        }
        if !self.front {
            return false;
        }
        let over = matches!(text, b"---" | b"...") || text.starts_with(b"```") || start > MAX_FRONT_MATTER;
        match comment_at(text).filter(|_| !over) {
            Some(at) => {
                let end = start + line.len() as u64;
                self.comments.push((start + at as u64, end));
                let alone = text[..at].trim_ascii().is_empty();
                if !alone {
                    self.close_front_comment();
                }
                let (_, said) = self.front_comment.get_or_insert_with(|| (start + at as u64, Vec::new()));
                let part = &text[at + 1..];
                said.extend_from_slice(&part[..part.len().min(MAX_KEPT - said.len().min(MAX_KEPT))]);
                said.push(b'\n');
            }
            None => self.close_front_comment(),
        }
        self.front = !over;
        // The line that closes front matter is not part of the text.
        !over || matches!(text, b"---" | b"...")
    }

    fn close_front_comment(&mut self) {
        if let Some((start, text)) = self.front_comment.take() {
            self.closed.push((start, false, text));
        }
    }

    /// Ends the title of a definition.
    fn close_title(&mut self) {
        if let Some((start, text, _)) = self.title.take() {
            self.comments.push((start, self.seen));
            self.closed.push((start, self.fence.is_some(), text));
        }
    }

    /// Returns whether the line belongs to the definition of a link, which is not shown, nor is its title: `[//]: #
    /// (…)` is the usual way to write a comment without HTML. A title may be in the next line, and continue over
    /// several.
    fn definition_line(&mut self, line: &[u8], start: u64) -> bool {
        let text = without_marks(line.trim_ascii());
        if self.title.is_some() && text.is_empty() {
            // A blank line ends it, closed or not.
            self.close_title();
            return false;
        }
        if let Some((_, said, close)) = &mut self.title {
            said.extend_from_slice(&line[..line.len().min(MAX_KEPT - said.len().min(MAX_KEPT))]);
            if text.last() == Some(close) {
                self.seen += line.len() as u64;
                self.close_title();
                self.seen -= line.len() as u64;
            }
            return true;
        }
        let defined = std::mem::take(&mut self.defined);
        let (target, title) = match definition(text) {
            Some(definition) => definition,
            None if defined && matches!(text.first(), Some(b'"' | b'\'' | b'(')) => (&b"#"[..], text),
            None => return false,
        };
        let nowhere = matches!(target.first(), Some(b'#' | b'<'));
        self.defined = title.is_empty();
        let close = match title.first() {
            Some(b'(') => b')',
            Some(quote @ (b'"' | b'\'')) => *quote,
            Some(_) if nowhere => 0,
            _ => return false,
        };
        let open = close != 0 && (title.len() == 1 || title.last() != Some(&close));
        // A target that is not an address is a sentence, and ends with its line.
        if open && (nowhere || target.contains(&b'/')) && self.fence.is_none() {
            self.title = Some((start, line.to_vec(), close));
        } else {
            self.comments.push((start, start + line.len() as u64));
            self.closed.push((start, self.fence.is_some(), line.to_vec()));
        }
        true
    }

    fn fence_line(&mut self, line: &[u8], start: u64) {
        let indent = line.iter().take_while(|byte| **byte == b' ').count();
        let line = line.trim_ascii();
        if !line.is_empty() && self.fence.is_none() {
            self.list = is_item(line) || self.list && indent > 0;
        }
        // Indented so far, the line is code that shows these signs, and changes nothing for the lines behind it.
        if indent >= CODE_INDENT && !self.list {
            return;
        }
        let line = without_marks(line);
        let Some(mark @ (b'`' | b'~')) = line.first().copied() else { return };
        let length = line.iter().take_while(|byte| **byte == mark).count();
        let rest = &line[length..];
        match self.fence {
            None if length >= 3 && !(mark == b'`' && rest.contains(&b'`')) => self.fence = Some((start, mark, length)),
            Some((from, open, least)) if mark == open && length >= least && rest.trim_ascii().is_empty() => {
                self.fences.push((from, start + line.len() as u64));
                self.fence = None;
            }
            _ => {}
        }
    }

    fn comments_of(&mut self, line: &[u8], start: u64) {
        let mut at = 0;
        if self.comment.is_none() && !self.middle_of_line && self.definition_line(line, start) {
            return;
        }
        // Whether `counted` is between backticks: each is counted once, however many comments a line has.
        let (mut open_span, mut counted) = (false, 0);
        let last_tick = line.iter().rposition(|byte| *byte == b'`');
        while at < line.len() {
            match &mut self.comment {
                None => {
                    let Some(open) = find(&line[at..], b"<!--") else { return };
                    open_span ^= is_open(&line[counted..at + open], b'`');
                    counted = at + open;
                    let fenced = self.fence.is_some() || open_span && last_tick > Some(counted);
                    self.comment = Some((start + (at + open) as u64, fenced, Vec::new()));
                    at += open + 4;
                }
                Some((from, fenced, text)) => {
                    let close = find(&line[at..], b"-->");
                    let part = &line[at..close.map_or(line.len(), |close| at + close)];
                    text.extend_from_slice(&part[..part.len().min(MAX_KEPT - text.len().min(MAX_KEPT))]);
                    let Some(close) = close else { return };
                    at += close + 3;
                    self.comments.push((*from, start + at as u64));
                    self.closed.push((*from, *fenced, std::mem::take(text)));
                    self.comment = None;
                }
            }
        }
    }
}

/// Returns a line without the marks of quotations and lists before it.
fn without_marks(mut line: &[u8]) -> &[u8] {
    while let [b'>' | b'-' | b'*' | b'+', b' ', rest @ ..] = line {
        line = rest.trim_ascii_start();
    }
    line
}

/// Returns the target and the title of the link that a line defines. Footnotes are similar, and are shown.
fn definition(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let label = line.strip_prefix(b"[").filter(|label| !label.starts_with(b"^"))?;
    let end = find(label, b"]:").filter(|end| *end > 0)?;
    let target = label[end + 2..].trim_ascii_start();
    let space = target.iter().position(|byte| *byte == b' ').unwrap_or(target.len());
    Some((&target[..space], target[space..].trim_ascii()))
}

/// Returns where the comment of a line of YAML begins: at a `#` behind a blank, outside of quotes.
fn comment_at(line: &[u8]) -> Option<usize> {
    let mut quote = None;
    for (at, byte) in line.iter().enumerate() {
        let blank_before = at == 0 || matches!(line[at - 1], b' ' | b'\t');
        match (byte, quote) {
            (b'#', None) if blank_before => return Some(at),
            (b'"' | b'\'', None) if blank_before || b":[,{".contains(&line[at - 1]) => quote = Some(byte),
            (byte, Some(open)) if byte == open => quote = None,
            _ => {}
        }
    }
    None
}

/// Returns whether a line begins an item of a list.
fn is_item(line: &[u8]) -> bool {
    let digits = line.iter().take_while(|byte| byte.is_ascii_digit()).count();
    matches!(line, [b'-' | b'*' | b'+', b' ', ..]) || digits > 0 && matches!(line[digits..], [b'.' | b')', b' ', ..])
}

fn within(ranges: &[(u64, u64)], at: u64) -> bool {
    let after = ranges.partition_point(|(start, _)| *start <= at);
    after > 0 && ranges[after - 1].1 > at
}

fn find(text: &[u8], what: &[u8]) -> Option<usize> {
    let mut at = 0;
    while let Some(first) = text[at..].iter().position(|byte| *byte == what[0]) {
        at += first;
        if text[at..].starts_with(what) {
            return Some(at);
        }
        at += 1;
    }
    None
}
