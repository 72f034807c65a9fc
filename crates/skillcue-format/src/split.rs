//! Finds where the front matter of a `SKILL.md` begins and ends.
//!
//! Works on bytes, so that discovery can feed it the first block of a file and stop reading as soon as the closing
//! line is in.

use std::ops::Range;
use std::sync::LazyLock;

use memchr::{memchr, memchr2, memmem};

use crate::diagnostic::line_of;

/// UTF-8's byte order mark.
pub(crate) const BOM: &[u8] = b"\xEF\xBB\xBF";

/// Finds lines that may be fences. Built once: building it takes longer than searching front matter.
static FENCE: LazyLock<memmem::Finder<'static>> = LazyLock::new(|| memmem::Finder::new(b"\n---"));

/// The parts of a `SKILL.md`, as byte ranges of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FrontMatter {
    /// The YAML between the fences, without them.
    pub yaml: Range<usize>,
    /// The offset at which the body starts: the byte after the closing line's newline.
    pub body: usize,
    /// The 1-based line on which the YAML starts.
    pub first_line: u32,
}

/// The result of [`scan`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FrontMatterScan {
    /// Both fences are there.
    Found(FrontMatter),
    /// Undecided: the bytes end too early and more may follow.
    NeedMore,
    /// The file does not start with a `---` line.
    Missing,
    /// The opening line is there, the closing one is not.
    Unclosed,
}

/// Finds the front matter at the start of `bytes`.
///
/// `complete` says that `bytes` are the whole file; without it, an undecided answer is [`FrontMatterScan::NeedMore`].
/// A byte order mark is skipped, and so are blank lines, comments and the line of a code fence before the opening
/// line (the parser reports those).
///
/// ```
/// use skillcue_format::split::{scan, FrontMatterScan};
///
/// let file = b"---\nname: pdf\n---\n# Body\n";
/// let FrontMatterScan::Found(found) = scan(file, true) else { panic!() };
/// assert_eq!(&file[found.yaml.clone()], b"name: pdf\n");
/// assert_eq!(&file[found.body..], b"# Body\n");
/// assert_eq!(scan(&file[..10], false), FrontMatterScan::NeedMore);
/// ```
pub fn scan(bytes: &[u8], complete: bool) -> FrontMatterScan {
    let start = if bytes.starts_with(BOM) { BOM.len() } else { 0 };
    match memchr(b'\n', &bytes[start..]) {
        Some(newline) if is_fence(&bytes[start..start + newline]) => close(bytes, start + newline + 1, 2, complete),
        _ => scan_unusual(bytes, start, complete),
    }
}

/// Finds the closing line. `start` is where the YAML starts, `first_line` the line it starts on.
fn close(bytes: &[u8], start: usize, first_line: u32, complete: bool) -> FrontMatterScan {
    let short = |decided| if complete { decided } else { FrontMatterScan::NeedMore };
    // The closing fence may be the very next line, so the newline before it is the opening fence's own.
    let mut from = start - 1;
    while let Some(found) = FENCE.find(&bytes[from..]) {
        let fence = from + found + 1;
        let rest = &bytes[fence..];
        match memchr(b'\n', rest) {
            Some(newline) if is_fence(&rest[..newline]) => {
                let body = fence + newline + 1;
                return FrontMatterScan::Found(FrontMatter { yaml: start..fence, body, first_line });
            }
            None if is_fence(rest) => {
                let body = bytes.len();
                return short(FrontMatterScan::Found(FrontMatter { yaml: start..fence, body, first_line }));
            }
            _ => from = fence,
        }
    }
    short(FrontMatterScan::Unclosed)
}

/// Like [`scan`], for a file whose first line is not a fence that ends with LF: there is something before it, or its
/// lines end with CR alone.
fn scan_unusual(bytes: &[u8], start: usize, complete: bool) -> FrontMatterScan {
    let short = |decided| if complete { decided } else { FrontMatterScan::NeedMore };
    let mut at = start;
    let mut in_code = false;
    loop {
        let rest = &bytes[at..];
        if let Some(comment) = rest.strip_prefix(b"<!--") {
            let Some(length) = memmem::find(comment, b"-->") else { return short(FrontMatterScan::Missing) };
            at += length + b"<!---->".len();
            // Nothing may follow a comment on its line.
            match next_line(bytes, at, complete) {
                Some(line) if line.text.iter().all(|byte| is_blank(*byte)) => at = line.next,
                None if !complete => return FrontMatterScan::NeedMore,
                _ => return FrontMatterScan::Missing,
            }
            continue;
        }
        let Some(line) = next_line(bytes, at, complete) else {
            return if is_fence(rest) {
                short(FrontMatterScan::Unclosed)
            } else if may_go_on(rest) {
                short(FrontMatterScan::Missing)
            } else {
                FrontMatterScan::Missing
            };
        };
        if is_fence(line.text) {
            let first_line = u32::try_from(line_of(bytes, line.next).0 + 1).unwrap_or(u32::MAX);
            return if line.by_lf {
                close(bytes, line.next, first_line, complete)
            } else {
                close_cr(bytes, line.next, first_line, complete)
            };
        }
        at = line.next;
        if is_code_fence(line.text) && !in_code {
            in_code = true;
        } else if !line.text.iter().all(|byte| is_blank(*byte)) {
            return FrontMatterScan::Missing;
        }
    }
}

/// Like [`close`], for a file whose lines end with CR alone.
fn close_cr(bytes: &[u8], start: usize, first_line: u32, complete: bool) -> FrontMatterScan {
    let short = |decided| if complete { decided } else { FrontMatterScan::NeedMore };
    let mut at = start;
    while let Some(line) = next_line(bytes, at, complete) {
        if is_fence(line.text) {
            return FrontMatterScan::Found(FrontMatter { yaml: start..at, body: line.next, first_line });
        }
        at = line.next;
    }
    if is_fence(&bytes[at..]) {
        return short(FrontMatterScan::Found(FrontMatter { yaml: start..at, body: bytes.len(), first_line }));
    }
    short(FrontMatterScan::Unclosed)
}

/// One line of the file.
struct RawLine<'a> {
    /// Without its end.
    text: &'a [u8],
    /// The offset at which the next one starts.
    next: usize,
    by_lf: bool,
}

/// Returns the line at `at`, if its end is there: LF, CRLF or CR.
fn next_line(bytes: &[u8], at: usize, complete: bool) -> Option<RawLine<'_>> {
    let end = at + memchr2(b'\n', b'\r', &bytes[at..])?;
    let text = &bytes[at..end];
    match (bytes[end], bytes.get(end + 1)) {
        (b'\n', _) => Some(RawLine { text, next: end + 1, by_lf: true }),
        (_, Some(b'\n')) => Some(RawLine { text, next: end + 2, by_lf: true }),
        // A CR at the end of what has been read may be half of a CRLF.
        (_, None) if !complete => None,
        _ => Some(RawLine { text, next: end + 1, by_lf: false }),
    }
}

/// Returns where the body of a whole `SKILL.md` starts, or `None` if it has no (closed) front matter.
///
/// ```
/// use skillcue_format::split::body_start;
/// assert_eq!(body_start(b"---\nname: a\n---\nbody"), Some(16));
/// assert_eq!(body_start(b"# just markdown\n"), None);
/// ```
pub fn body_start(bytes: &[u8]) -> Option<usize> {
    match scan(bytes, true) {
        FrontMatterScan::Found(found) => Some(found.body),
        _ => None,
    }
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r')
}

/// Returns whether a line, without its end, opens or closes front matter.
pub(crate) fn is_fence(line: &[u8]) -> bool {
    line.strip_prefix(b"---").is_some_and(|rest| rest.iter().all(|byte| is_blank(*byte)))
}

/// Returns whether a line opens a block of code that may hold the front matter.
fn is_code_fence(line: &[u8]) -> bool {
    let line = line.trim_ascii();
    let info = line.strip_prefix(b"```").or_else(|| line.strip_prefix(b"~~~"));
    info.is_some_and(|info| [&b""[..], b"yaml", b"yml", b"markdown", b"md"].contains(&info.trim_ascii()))
}

/// Returns whether a line that is cut off may still become one that is allowed before the YAML.
fn may_go_on(line: &[u8]) -> bool {
    let begins = |mark: &[u8]| mark.starts_with(line);
    let code = line.len() < 32 && (line.starts_with(b"```") || line.starts_with(b"~~~"));
    BOM.starts_with(line)
        || begins(b"---")
        || begins(b"<!--")
        || begins(b"```")
        || begins(b"~~~")
        || code
        || line.iter().all(|byte| is_blank(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> (&str, &str) {
        match scan(text.as_bytes(), true) {
            FrontMatterScan::Found(f) => (&text[f.yaml], &text[f.body..]),
            other => panic!("{other:?} for {text:?}"),
        }
    }

    #[test]
    fn fences_may_carry_blanks_and_crlf() {
        assert_eq!(found("--- \r\na: b\r\n---\t\r\nx"), ("a: b\r\n", "x"));
        assert_eq!(found("\u{feff}---\na: b\n---"), ("a: b\n", ""));
        assert_eq!(found("---\n---\nx"), ("", "x"));
        assert_eq!(found("\n \n---\na: b\n---\nx"), ("a: b\n", "x"));
    }

    #[test]
    fn only_a_bare_fence_at_column_zero_closes() {
        assert_eq!(found("---\na: |\n  ---\n  b\n---x: y\n----\n---\nz"), ("a: |\n  ---\n  b\n---x: y\n----\n", "z"));
        assert_eq!(scan(b"---\na: b\n ---\n", true), FrontMatterScan::Unclosed);
    }

    #[test]
    fn missing_differs_from_unclosed() {
        assert_eq!(scan(b"", true), FrontMatterScan::Missing);
        assert_eq!(scan(b"# x\n---\n---\n", true), FrontMatterScan::Missing);
        assert_eq!(scan(b"---", true), FrontMatterScan::Unclosed);
        assert_eq!(scan(b"----\n---\n", true), FrontMatterScan::Missing);
    }

    #[test]
    fn comments_and_code_fences_may_come_before() {
        assert_eq!(found("<!-- a\nb -->\n\n---\na: b\n---\nx"), ("a: b\n", "x"));
        assert_eq!(found("```yaml\n---\na: b\n---\n```\nx"), ("a: b\n", "```\nx"));
        for text in
            ["<!-- a --> b\n---\na: b\n---\n", "<!-- a\n---\na: b\n---\n", "```sh\n---\n---\n", "```\n```\n---\n---\n"]
        {
            assert_eq!(scan(text.as_bytes(), true), FrontMatterScan::Missing, "{text:?}");
        }
    }

    #[test]
    fn lines_may_end_with_cr_alone() {
        assert_eq!(found("---\ra: b\rc: d\r---\rx\r"), ("a: b\rc: d\r", "x\r"));
        assert_eq!(found("\r---\ra: b\r---"), ("a: b\r", ""));
        assert_eq!(scan(b"---\ra: b\r", true), FrontMatterScan::Unclosed);
    }

    #[test]
    fn every_prefix_agrees_with_the_whole() {
        for whole in [
            &b"\xEF\xBB\xBF\r\n--- \nname: a\n--\n---b\n---\t\nbody\n"[..],
            b"---\rname: a\r--\r---b\r---\rbody\r",
            b"\r\r---\rname: a\r---\r\nbody\r",
            b"<!-- a\n-- -->  \n\n--- \nname: a\n---\nbody\n",
            b"```yaml\r\n---\r\nname: a\r\n---\r\n```\r\n",
            b"---\r\r\nname: a\n---\n",
        ] {
            let truth = scan(whole, true);
            assert!(matches!(truth, FrontMatterScan::Found(_)));
            for cut in 0..whole.len() {
                let seen = scan(&whole[..cut], false);
                assert!(seen == FrontMatterScan::NeedMore || seen == truth, "{whole:?} cut {cut}: {seen:?}");
            }
        }
    }
}
