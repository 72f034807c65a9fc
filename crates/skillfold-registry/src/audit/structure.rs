//! Follows a Markdown text: which parts are code, which are comments.

use super::patterns::is_open;
use super::text::INDENTED;

/// How much of a comment is kept to be judged.
const KEPT: usize = 16 << 10;

/// Follows a Markdown text line by line: what is in fences, what is in comments. Places are counted from the text's start.
#[derive(Debug, Default)]
pub(super) struct Structure {
    /// What was seen so far.
    seen: u64,
    fences: Vec<(u64, u64)>,
    comments: Vec<(u64, u64)>,
    fence: Option<(u64, u8, usize)>,
    comment: Option<(u64, bool, Vec<u8>)>,
    middle_of_line: bool,
    /// In a list, whose code is indented.
    list: bool,
    /// Comments that are over: where they start, whether in a fence, and what they say.
    pub(super) closed: Vec<(u64, bool, Vec<u8>)>,
}

impl Structure {
    pub(super) fn seen(&self) -> u64 {
        self.seen
    }

    pub(super) fn in_fence(&self, at: u64) -> bool {
        self.fence.is_some_and(|(start, ..)| at >= start) || within(&self.fences, at)
    }

    /// Which code block `at` is in: where that starts.
    pub(super) fn block(&self, at: u64) -> Option<u64> {
        let open = self.fence.map(|(start, ..)| start).filter(|start| at >= *start);
        open.or_else(|| self.fences.iter().find(|(start, end)| (*start..*end).contains(&at)).map(|(start, _)| *start))
    }

    pub(super) fn in_comment(&self, at: u64) -> bool {
        self.comment.as_ref().is_some_and(|(start, ..)| at >= *start) || within(&self.comments, at)
    }

    /// What ends before `at` is not asked for any more.
    pub(super) fn forget(&mut self, at: u64) {
        self.fences.retain(|(_, end)| *end > at);
        self.comments.retain(|(_, end)| *end > at);
    }

    /// The next part of the text.
    pub(super) fn feed(&mut self, text: &[u8]) {
        for line in text.split_inclusive(|byte| *byte == b'\n') {
            let start = self.seen;
            if !self.middle_of_line && self.comment.is_none() {
                self.fence_line(line, start);
            }
            self.comments_of(line, start);
            self.seen += line.len() as u64;
            self.middle_of_line = line.last() != Some(&b'\n');
        }
    }

    /// There is no more text. A comment that is not closed hides everything behind it.
    pub(super) fn finish(&mut self) {
        if let Some((start, fenced, text)) = self.comment.take() {
            self.comments.push((start, self.seen));
            self.closed.push((start, fenced, text));
        }
    }

    fn fence_line(&mut self, line: &[u8], start: u64) {
        let indent = line.iter().take_while(|byte| **byte == b' ').count();
        let line = line.trim_ascii();
        if !line.is_empty() && self.fence.is_none() {
            self.list = is_item(line) || self.list && indent > 0;
        }
        // Indented so far, the line is code that shows these signs, and everything behind it is what it was before.
        if indent >= INDENTED && !self.list {
            return;
        }
        let line = line.trim_prefix_marks();
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
        if self.comment.is_none() && !self.middle_of_line && is_link_comment(line) {
            self.comments.push((start, start + line.len() as u64));
            self.closed.push((start, self.fence.is_some(), line.to_vec()));
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
                    text.extend_from_slice(&part[..part.len().min(KEPT - text.len().min(KEPT))]);
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

trait Marks {
    fn trim_prefix_marks(&self) -> &Self;
}

impl Marks for [u8] {
    /// Without what quotes and lists put before a line.
    fn trim_prefix_marks(&self) -> &[u8] {
        let mut line = self;
        while let [b'>' | b'-' | b'*' | b'+', b' ', rest @ ..] = line {
            line = rest.trim_ascii_start();
        }
        line
    }
}

/// A definition of a link is not shown, nor is its title: `[//]: # (…)` is the usual way to write a comment without HTML.
fn is_link_comment(line: &[u8]) -> bool {
    let Some(label) = line.trim_ascii().strip_prefix(b"[") else { return false };
    let Some(end) = find(label, b"]:").filter(|end| *end > 0) else { return false };
    let target = label[end + 2..].trim_ascii_start();
    let title = target.iter().position(|byte| *byte == b' ').map_or(&target[..0], |at| target[at..].trim_ascii_start());
    matches!(title.first(), Some(b'"' | b'\'' | b'(')) || target.starts_with(b"<") || target.starts_with(b"#")
}

/// Whether a line begins an item of a list.
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
