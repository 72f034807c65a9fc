//! Finds headings, line by line, by the block rules of `CommonMark`.
//!
//! This is not a Markdown parser. It knows just enough blocks to recognise lines that only look like headings, and
//! skips lists and quotations, whose headings open no section of the body.

use std::iter;

/// A heading and its position in the body.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ScannedHeading {
    pub(super) level: u8,
    pub(super) title: String,
    /// From 1.
    pub(super) line: usize,
    /// The byte at which its first line starts.
    pub(super) start: usize,
}

/// Returns every heading of `body`, in order.
pub(super) fn headings(body: &str) -> impl Iterator<Item = ScannedHeading> {
    let mut scanner = Scanner { body, block: MarkdownBlock::None };
    let mut lines = body.split_inclusive('\n').scan(0, |next, line| {
        let start = *next;
        *next += line.len();
        Some((start, line))
    });
    let mut number = 0;
    iter::from_fn(move || {
        loop {
            let (start, line) = lines.next()?;
            number += 1;
            if let Some(found) = scanner.line(start, number, line) {
                return Some(found);
            }
        }
    })
}

/// The state between two lines.
struct Scanner<'a> {
    body: &'a str,
    block: MarkdownBlock,
}

/// The block that the next line may continue.
enum MarkdownBlock {
    None,
    /// Text. `titles` says whether an underline would make a heading of it; it does not in a list or a quotation.
    Paragraph {
        start: usize,
        line: usize,
        titles: bool,
    },
    Fence {
        mark: u8,
        length: usize,
        indent: usize,
    },
    Html(HtmlEnd),
}

/// The end of a block of raw HTML.
#[derive(Clone, Copy)]
enum HtmlEnd {
    BlankLine,
    /// A line that contains this.
    Text(&'static str),
}

impl Scanner<'_> {
    fn line(&mut self, start: usize, number: usize, line: &str) -> Option<ScannedHeading> {
        let line = line.trim_end_matches(['\n', '\r']);
        let text = line.trim_start_matches([' ', '\t']);
        let indent = indent(&line[..line.len() - text.len()]);
        let is_blank = text.is_empty();

        match self.block {
            MarkdownBlock::Fence { mark, length, indent: opened } => {
                // The fence may be in a list, so "indented by at most three" is counted from where it opened.
                if indent <= opened + 3 && closes_fence(text, mark, length) {
                    self.block = MarkdownBlock::None;
                }
                return None;
            }
            MarkdownBlock::Html(end) => {
                if ends_html(end, text) {
                    self.block = MarkdownBlock::None;
                }
                return None;
            }
            MarkdownBlock::None | MarkdownBlock::Paragraph { .. } => {}
        }
        if is_blank {
            self.block = MarkdownBlock::None;
            return None;
        }
        if indent >= 4 {
            // Indented code, or the continuation of a paragraph. Neither is a heading, nor changes the block.
            return None;
        }
        if let Some((level, title)) = atx(text) {
            self.block = MarkdownBlock::None;
            return Some(ScannedHeading { level, title: title.to_owned(), line: number, start });
        }
        if let Some((mark, length)) = opens_fence(text) {
            self.block = MarkdownBlock::Fence { mark, length, indent };
            return None;
        }
        if let MarkdownBlock::Paragraph { start: from, line, titles: true } = self.block
            && let Some(level) = underline(text)
        {
            self.block = MarkdownBlock::None;
            let title = self.body[from..start].lines().map(str::trim).collect::<Vec<_>>().join(" ");
            return Some(ScannedHeading { level, title, line, start: from });
        }
        let in_paragraph = matches!(self.block, MarkdownBlock::Paragraph { .. });
        if let Some(end) = opens_html(text, in_paragraph) {
            // A comment may end on the line on which it starts.
            let ended = matches!(end, HtmlEnd::Text(_)) && ends_html(end, text);
            self.block = if ended { MarkdownBlock::None } else { MarkdownBlock::Html(end) };
            return None;
        }
        if is_break(text) {
            self.block = MarkdownBlock::None;
            return None;
        }
        if let MarkdownBlock::Paragraph { titles, .. } = &mut self.block {
            *titles = *titles && !opens_container(text);
        } else {
            self.block = MarkdownBlock::Paragraph { start, line: number, titles: !opens_container(text) };
        }
        None
    }
}

/// Returns the indentation in columns; a tab reaches to the next multiple of four.
fn indent(blanks: &str) -> usize {
    blanks.bytes().fold(0, |column, blank| if blank == b'\t' { column / 4 * 4 + 4 } else { column + 1 })
}

fn leading(text: &str, mark: u8) -> usize {
    text.bytes().take_while(|byte| *byte == mark).count()
}

/// Reads `## Title ##`.
fn atx(text: &str) -> Option<(u8, &str)> {
    let level = u8::try_from(leading(text, b'#')).ok().filter(|level| (1..=6).contains(level))?;
    let rest = &text[usize::from(level)..];
    if !rest.is_empty() && !rest.starts_with([' ', '\t']) {
        return None;
    }
    let title = rest.trim();
    let unclosed = title.trim_end_matches('#');
    // Marks at the end close the heading only if a blank is before them: `# C#` is about C#.
    let closed = unclosed.is_empty() || unclosed.ends_with([' ', '\t']);
    Some((level, if closed { unclosed.trim_end() } else { title }))
}

/// Returns the level of an underline: `===` makes a heading of level 1 of the paragraph above it, `---` one of level 2.
fn underline(text: &str) -> Option<u8> {
    let text = text.trim_end();
    match text.as_bytes() {
        [b'=', ..] if leading(text, b'=') == text.len() => Some(1),
        [b'-', ..] if leading(text, b'-') == text.len() => Some(2),
        _ => None,
    }
}

fn opens_fence(text: &str) -> Option<(u8, usize)> {
    let mark = *text.as_bytes().first().filter(|mark| matches!(mark, b'`' | b'~'))?;
    let length = leading(text, mark);
    // Three backticks with more of them behind on the line are code within a line.
    let is_inline = mark == b'`' && text[length..].contains('`');
    (length >= 3 && !is_inline).then_some((mark, length))
}

fn closes_fence(text: &str, mark: u8, length: usize) -> bool {
    let text = text.trim_end();
    text.len() >= length && leading(text, mark) == text.len()
}

/// Returns whether a line is three or more `-`, `*` or `_`, with or without blanks between them.
fn is_break(text: &str) -> bool {
    let mut marks = text.bytes().filter(|byte| !matches!(byte, b' ' | b'\t'));
    let Some(mark @ (b'-' | b'*' | b'_')) = marks.next() else {
        return false;
    };
    let mut count = 1;
    marks.all(|byte| {
        count += 1;
        byte == mark
    }) && count >= 3
}

/// Returns whether a line starts a quotation or an item of a list.
fn opens_container(text: &str) -> bool {
    let after_marker = match text.as_bytes() {
        [b'>', ..] => return true,
        [b'-' | b'+' | b'*', ..] => &text[1..],
        [b'0'..=b'9', ..] => {
            let after = text.trim_start_matches(|c: char| c.is_ascii_digit());
            let Some(after) = after.strip_prefix(['.', ')']) else { return false };
            after
        }
        _ => return false,
    };
    after_marker.is_empty() || after_marker.starts_with([' ', '\t'])
}

/// Returns the end of the raw HTML that a line starts. A comment and the like may follow a paragraph directly, an
/// ordinary tag may not.
fn opens_html(text: &str, in_paragraph: bool) -> Option<HtmlEnd> {
    const VERBATIM: [(&str, &str); 4] =
        [("script", "</script>"), ("pre", "</pre>"), ("style", "</style>"), ("textarea", "</textarea>")];
    let rest = text.strip_prefix('<')?;
    if rest.starts_with("!--") {
        return Some(HtmlEnd::Text("-->"));
    }
    if rest.starts_with('?') {
        return Some(HtmlEnd::Text("?>"));
    }
    if rest.starts_with("![CDATA[") {
        return Some(HtmlEnd::Text("]]>"));
    }
    let closing = rest.strip_prefix('/');
    let tag = closing.unwrap_or(rest);
    let name = tag.split(|c: char| !c.is_ascii_alphanumeric() && c != '-').next().unwrap_or_default();
    let after = &tag[name.len()..];
    // `<https://…>` is a link, `<b` at the end of a line may be anything.
    if name.is_empty() || !(after.is_empty() || after.starts_with([' ', '\t', '>', '/'])) {
        return None;
    }
    if closing.is_none()
        && let Some((_, end)) = VERBATIM.iter().find(|(verbatim, _)| name.eq_ignore_ascii_case(verbatim))
    {
        return Some(HtmlEnd::Text(end));
    }
    (!in_paragraph).then_some(HtmlEnd::BlankLine)
}

fn ends_html(end: HtmlEnd, text: &str) -> bool {
    match end {
        HtmlEnd::BlankLine => text.is_empty(),
        HtmlEnd::Text(end) => {
            text.as_bytes().windows(end.len()).any(|window| window.eq_ignore_ascii_case(end.as_bytes()))
        }
    }
}
