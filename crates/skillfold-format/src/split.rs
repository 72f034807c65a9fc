//! Where the front matter of a `SKILL.md` begins and ends.
//!
//! Works on bytes, so that discovery can feed it the first block of a file and stop reading as soon as the closing
//! line is in.

use std::ops::Range;

use memchr::{memchr, memmem};

/// UTF-8's byte order mark.
pub(crate) const BOM: &[u8] = b"\xEF\xBB\xBF";

/// The parts of a `SKILL.md`, as byte ranges of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FrontMatter {
    /// The YAML between the fences, without them.
    pub yaml: Range<usize>,
    /// Where the body starts: the byte after the closing line's newline.
    pub body: usize,
    /// The 1-based line on which the YAML starts.
    pub first_line: u32,
}

/// What [`scan`] found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scan {
    /// Both fences are there.
    Found(FrontMatter),
    /// Undecided: the bytes end too early and more may follow.
    NeedMore,
    /// The file does not start with a `---` line.
    Missing,
    /// The opening line is there, the closing one is not.
    Unclosed,
}

/// Looks for the front matter at the start of `bytes`.
///
/// `complete` says that `bytes` are the whole file; without it, an undecided answer is [`Scan::NeedMore`].
/// A byte order mark is skipped, and so are blank lines before the opening fence (the parser reports those).
///
/// ```
/// use skillfold_format::split::{scan, Scan};
///
/// let file = b"---\nname: pdf\n---\n# Body\n";
/// let Scan::Found(found) = scan(file, true) else { panic!() };
/// assert_eq!(&file[found.yaml.clone()], b"name: pdf\n");
/// assert_eq!(&file[found.body..], b"# Body\n");
/// assert_eq!(scan(&file[..10], false), Scan::NeedMore);
/// ```
pub fn scan(bytes: &[u8], complete: bool) -> Scan {
    let short = |decided| if complete { decided } else { Scan::NeedMore };
    let mut at = if bytes.starts_with(BOM) { BOM.len() } else { 0 };
    let mut line = 1;
    loop {
        let rest = &bytes[at..];
        let Some(newline) = memchr(b'\n', rest) else {
            return if is_fence(rest) {
                short(Scan::Unclosed)
            } else if could_be_fence(rest) {
                short(Scan::Missing)
            } else {
                Scan::Missing
            };
        };
        let text = &rest[..newline];
        at += newline + 1;
        line += 1;
        if is_fence(text) {
            break;
        }
        if !text.iter().all(|byte| is_blank(*byte)) {
            return Scan::Missing;
        }
    }
    let start = at;
    // The closing fence may be the very next line, so the newline before it is the opening fence's own.
    let mut from = start - 1;
    while let Some(found) = memmem::find(&bytes[from..], b"\n---") {
        let fence = from + found + 1;
        let rest = &bytes[fence..];
        match memchr(b'\n', rest) {
            Some(newline) if is_fence(&rest[..newline]) => {
                let body = fence + newline + 1;
                return Scan::Found(FrontMatter { yaml: start..fence, body, first_line: line });
            }
            None if is_fence(rest) => {
                let body = bytes.len();
                return short(Scan::Found(FrontMatter { yaml: start..fence, body, first_line: line }));
            }
            _ => from = fence,
        }
    }
    short(Scan::Unclosed)
}

/// Where the body of a whole `SKILL.md` starts, or `None` if it has no (closed) front matter.
///
/// ```
/// use skillfold_format::split::body_start;
/// assert_eq!(body_start(b"---\nname: a\n---\nbody"), Some(16));
/// assert_eq!(body_start(b"# just markdown\n"), None);
/// ```
pub fn body_start(bytes: &[u8]) -> Option<usize> {
    match scan(bytes, true) {
        Scan::Found(found) => Some(found.body),
        _ => None,
    }
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r')
}

fn is_fence(line: &[u8]) -> bool {
    line.strip_prefix(b"---").is_some_and(|rest| rest.iter().all(|byte| is_blank(*byte)))
}

/// Whether a line that is cut off may still turn out to be blank or a fence.
fn could_be_fence(line: &[u8]) -> bool {
    BOM.starts_with(line) || b"---".starts_with(line) || line.iter().all(|byte| is_blank(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> (&str, &str) {
        match scan(text.as_bytes(), true) {
            Scan::Found(f) => (&text[f.yaml], &text[f.body..]),
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
        assert_eq!(scan(b"---\na: b\n ---\n", true), Scan::Unclosed);
    }

    #[test]
    fn missing_is_told_from_unclosed() {
        assert_eq!(scan(b"", true), Scan::Missing);
        assert_eq!(scan(b"# x\n---\n---\n", true), Scan::Missing);
        assert_eq!(scan(b"---", true), Scan::Unclosed);
        assert_eq!(scan(b"----\n---\n", true), Scan::Missing);
    }

    #[test]
    fn every_prefix_agrees_with_the_whole() {
        let whole = b"\xEF\xBB\xBF\r\n--- \nname: a\n--\n---b\n---\t\nbody\n";
        let truth = scan(whole, true);
        for cut in 0..whole.len() {
            let seen = scan(&whole[..cut], false);
            assert!(seen == Scan::NeedMore || seen == truth, "cut {cut}: {seen:?}");
        }
    }
}
