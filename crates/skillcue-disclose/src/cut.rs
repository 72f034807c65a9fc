//! Cutting a text to a number of tokens.

use std::fmt::Write as _;
use std::ops::Range;

use skillcue_format::Tokens;

use crate::TokenCounter;
use crate::advice::loadable_rest;

/// A part of a text, or several, and a line that says so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cut {
    /// The parts, with the marker as the last line.
    pub text: String,
    /// The cost of `text`.
    pub tokens: Tokens,
    /// The number of bytes of the original text that are left.
    pub shown: usize,
    /// Where these bytes are in the original text.
    pub parts: Vec<Range<usize>>,
}

/// The beginning of a skill's processed content, before its body.
const BASE_DIRECTORY_LINE: &str = "Base directory for this skill: ";

/// The number of bytes before the limit in which the end of a word is searched. Scripts that set no blanks between
/// words are cut between characters.
const MAX_WORD_SEARCH: usize = 64;

/// Cuts `text`, the content of the skill `name`, to at most `limit` tokens, the marker line included: after a line; or
/// inside one, after a word if there is one, where the next line is so long that most of the room would be wasted. It is
/// before a table or a block of code that does not fit, if half of the room is filled by then; else a code fence that
/// the cut leaves open is closed. The marker says how much of the body is shown; the line that names
/// the base directory does not count.
///
/// `None` if the limit is too small for a beginning of the body and the marker.
///
/// ```
/// use skillcue_disclose::{Bytes4, Tokens, cut};
///
/// let cut = cut("Read it.\n\n```sh\npdftotext x.pdf\nless x.txt\nrm x.txt\n```\n", Tokens(27), "pdf", &Bytes4).unwrap();
/// let marker = "[Shortened: 4 of 7 lines shown. load_skill \"pdf\" gives the rest.]";
/// assert_eq!(cut.text, format!("Read it.\n\n```sh\npdftotext x.pdf\n```\n{marker}"));
/// assert!(cut.tokens <= Tokens(27));
/// ```
pub fn cut(text: &str, limit: Tokens, name: &str, counter: &dyn TokenCounter) -> Option<Cut> {
    cut_with_rest(text, limit, &loadable_rest(name), counter)
}

/// Like [`cut`], with `rest` as the marker's sentence about the rest.
pub(crate) fn cut_with_rest(text: &str, limit: Tokens, rest: &str, counter: &dyn TokenCounter) -> Option<Cut> {
    let start = body_start(text);
    let body = &text[start..];
    if body.trim().is_empty() {
        return None;
    }
    let lines = LinesWithEnds(body).count();
    // Ends of lines, and the fence that is open there, as far as there is any hope of fitting.
    let (mut ends, mut sums, mut end) = (Vec::new(), Vec::new(), start);
    let (mut sum, mut fence) = (counter.count(&text[..start]), Fence::default());
    let enough = Tokens(limit.0.saturating_mul(2).saturating_add(64));
    for line in LinesWithEnds(body).take(lines - 1) {
        end += line.len();
        fence.pass(line);
        sum = sum + counter.count(line);
        ends.push((end, fence));
        sums.push(sum);
        if sum > enough {
            break;
        }
    }
    let make = |end: usize, fence: Fence, how_much: &str| {
        let mut part = text[..end].to_owned();
        if !part.ends_with('\n') {
            part.push('\n');
        }
        fence.close(&mut part);
        let marker = part.len();
        let _ = write!(part, "[Shortened: {how_much} shown. {rest}]");
        let tokens = counter.count(&part);
        let marker = counter.count(&part[marker..]);
        (tokens <= limit)
            .then_some((Cut { text: part, tokens, shown: end, parts: std::iter::once(0..end).collect() }, marker))
    };
    let after = |shown: usize| {
        let (end, fence) = ends[shown - 1];
        make(end, fence, &format!("{shown} of {lines} lines")).map(|made| (made, shown))
    };
    let guess = sums.partition_point(|sum| *sum <= limit);
    let by_line = largest(ends.len(), guess, after).filter(|((cut, _), _)| !text[start..cut.shown].trim().is_empty());
    // A table or a block of code that would be torn is left out, unless most of the room would be wasted then.
    let by_line = by_line.map(|found| {
        let whole = block_start(body, found.1).filter(|lines| *lines > 0).and_then(after);
        let fills = |cut: &Cut, marker: Tokens| {
            cut.tokens.0.saturating_sub(marker.0).saturating_mul(2) >= limit.0.saturating_sub(marker.0)
        };
        whole.filter(|((cut, marker), _)| fills(cut, *marker)).unwrap_or(found)
    });
    if let Some(((cut, marker), _)) = &by_line
        && cut.tokens.0.saturating_sub(marker.0).saturating_mul(2) >= limit.0.saturating_sub(marker.0)
    {
        return by_line.map(|((cut, _), _)| cut);
    }
    // The next line that is not blank is a long one.
    let mut next = by_line.as_ref().map_or(0, |(_, shown)| *shown);
    let place = |next: usize| if next == 0 { (start, Fence::default()) } else { ends[next - 1] };
    while next < ends.len() && text[place(next).0..ends[next].0].trim().is_empty() {
        next += 1;
    }
    let (from, fence) = place(next);
    let long = LinesWithEnds(&text[from..]).next().unwrap_or_default().trim_end();
    // All of the text is no cut.
    let last = text[from + long.len()..].trim().is_empty();
    let most = long.len() - usize::from(last && !long.is_empty());
    let inside = |end: usize| make(end, fence, &share(end - start, body.len()));
    // Fewer bytes than the first character has show nothing, and nothing does not count as fitting.
    let first = long.chars().next().map_or(1, char::len_utf8);
    let fits = |at: usize| inside(text.floor_char_boundary(from + at + first - 1));
    let guess = limit.0.saturating_mul(4).saturating_sub(from);
    let found = largest((most + 1).saturating_sub(first), guess, fits);
    let found = found.map(|(cut, _)| match word_end(&text[from..], cut.shown - from) {
        // A shorter text may be dearer by a hair where tokens are estimated.
        Some(end) => inside(from + end).map_or(cut, |(shorter, _)| shorter),
        None => cut,
    });
    found.or(by_line.map(|((cut, _), _)| cut))
}

/// Returns the offset of the body: after the line that names the base directory, and the blank line after it.
pub(crate) fn body_start(text: &str) -> usize {
    if !text.starts_with(BASE_DIRECTORY_LINE) {
        return 0;
    }
    text.find("\n\n").map_or(text.len(), |at| at + 2)
}

/// Returns the number of lines before the table or the block of code that an end after `shown` lines is inside of.
fn block_start(body: &str, shown: usize) -> Option<usize> {
    let is_row = |line: &str| line.trim_start().starts_with('|');
    let (mut fence, mut fence_start, mut table_start) = (Fence::default(), 0, None);
    let mut lines = LinesWithEnds(body);
    for (number, line) in lines.by_ref().take(shown).enumerate() {
        let was_open = fence.is_open();
        fence.pass(line);
        if fence.is_open() && !was_open {
            fence_start = number;
        }
        table_start = if is_row(line) && !was_open { table_start.or(Some(number)) } else { None };
    }
    match lines.next() {
        Some(_) if fence.is_open() => Some(fence_start),
        Some(next) if is_row(next) => table_start,
        _ => None,
    }
}

fn share(shown: usize, of: usize) -> String {
    match shown.saturating_mul(100) / of.max(1) {
        0 => "less than 1 % of the text".to_owned(),
        percent => format!("{percent} % of the text"),
    }
}

/// Returns the end of the last whole word before `at`, if there is one near by.
fn word_end(text: &str, at: usize) -> Option<usize> {
    if text[at..].starts_with(char::is_whitespace) {
        return None;
    }
    let near = text.ceil_char_boundary(at.saturating_sub(MAX_WORD_SEARCH));
    let blank = near + text[near..at].rfind(char::is_whitespace)?;
    let end = text[..blank].trim_end().len();
    (end > 0).then_some(end)
}

/// The lines of a text with their ends: `\n`, `\r\n`, or `\r` alone, as in Markdown.
pub(crate) struct LinesWithEnds<'t>(pub(crate) &'t str);

impl<'t> Iterator for LinesWithEnds<'t> {
    type Item = &'t str;

    fn next(&mut self) -> Option<&'t str> {
        let end = match self.0.find(['\n', '\r']) {
            Some(at) if self.0[at..].starts_with("\r\n") => at + 2,
            Some(at) => at + 1,
            None if self.0.is_empty() => return None,
            None => self.0.len(),
        };
        let (line, rest) = self.0.split_at(end);
        self.0 = rest;
        Some(line)
    }
}

/// Returns the result for the largest number up to `most` that fits, given that all smaller ones do. Looks near `guess`
/// first: each try costs as much as it is large, and the guess is good.
fn largest<T>(most: usize, guess: usize, fits: impl Fn(usize) -> Option<T>) -> Option<T> {
    if most == 0 {
        return None;
    }
    let guess = guess.clamp(1, most);
    let (mut best, mut low, mut high, mut step) = (None, 0, most + 1, 1);
    let mut at = guess;
    // Out from the guess, in steps that double, until one side fits and the other does not.
    while low + 1 < high {
        if let Some(found) = fits(at) {
            (best, low) = (Some(found), at);
            at = if high > most { at.saturating_add(step).min(most) } else { low.midpoint(high) };
        } else {
            high = at;
            at = if low == 0 { at.saturating_sub(step).max(1) } else { low.midpoint(high) };
        }
        step *= 2;
    }
    best
}

/// The open code fence, if there is one: its character and how many of them.
#[derive(Clone, Copy, Default)]
pub(crate) struct Fence(Option<(u8, usize)>);

impl Fence {
    /// Reads a line.
    pub(crate) fn pass(&mut self, line: &str) {
        let inner = line.trim_start_matches(' ');
        let Some(&mark @ (b'`' | b'~')) = inner.as_bytes().first() else { return };
        let count = inner.bytes().take_while(|byte| *byte == mark).count();
        if count < 3 || line.len() - inner.len() > 3 {
            return;
        }
        let rest = inner[count..].trim();
        match self.0 {
            None if mark == b'~' || !rest.contains('`') => self.0 = Some((mark, count)),
            Some((open, least)) if open == mark && count >= least && rest.is_empty() => self.0 = None,
            _ => {}
        }
    }

    pub(crate) fn is_open(self) -> bool {
        self.0.is_some()
    }

    fn close(self, text: &mut String) {
        if let Some((mark, count)) = self.0 {
            text.extend(std::iter::repeat_n(char::from(mark), count));
            text.push('\n');
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Bytes4, Segment};

    #[test]
    fn one_line_is_cut_inside_but_not_inside_a_character() {
        let text = "é".repeat(500);
        let cut = cut(&text, Tokens(40), "s", &Bytes4).unwrap();
        let marker = format!("[Shortened: {} % of the text shown. load_skill \"s\" gives the rest.]", cut.shown / 10);
        assert_eq!(cut.text, format!("{}\n{marker}", "é".repeat(cut.shown / 2)));
        assert_eq!(cut.tokens, Tokens(40));
    }

    #[test]
    fn a_long_line_after_short_ones_is_cut_after_a_word() {
        let base = "Base directory for this skill: /skills/s\n\n";
        let long = "several words ".repeat(500);
        for counter in [&Bytes4 as &dyn TokenCounter, &Segment] {
            for before in ["", "\n", "# Title\n\n", "# Title\r\r", "# Title\r\n\r\n"] {
                for after in ["", "\n", "\nMore.\n"] {
                    let text = format!("{base}{before}{long}{after}");
                    let cut = cut(&text, Tokens(200), "s", counter).unwrap();
                    assert!(cut.tokens.0 <= 200 && cut.tokens.0 > 180, "{}", cut.tokens);
                    let percent = (cut.shown - base.len()) * 100 / (text.len() - base.len());
                    let marker =
                        format!("\n[Shortened: {percent} % of the text shown. load_skill \"s\" gives the rest.]");
                    assert_eq!(cut.text, format!("{}{marker}", &text[..cut.shown]));
                    assert!(cut.text.contains(before) && text[cut.shown..].starts_with(' '), "{}", cut.text);
                }
            }
        }
    }

    #[test]
    fn a_long_line_in_a_fence_is_cut_and_the_fence_closed() {
        let text = format!("Do:\n\n```sh\n{}\n```\nMore.\n", "x".repeat(4000));
        let cut = cut(&text, Tokens(100), "s", &Bytes4).unwrap();
        assert!(cut.text.contains("xxx\n```\n[Shortened: 8 % of the text shown."), "{}", cut.text);
    }

    #[test]
    fn a_block_is_left_out_whole_where_enough_is_shown_before_it() {
        let table = format!("| a | b |\n| --- | --- |\n{}", "| 1 | 2 |\n".repeat(200));
        let code = format!("```sh\n{}```\n", "ls\n".repeat(200));
        for block in [table, code] {
            let text = format!("{}\n{block}\nMore.\n", "A line of the body.\n".repeat(40));
            let whole = cut(&text, Tokens(300), "s", &Bytes4).unwrap();
            assert!(whole.text.contains("body.\n\n[Shortened: 41 of "), "{}", whole.text);
            let torn = cut(&text[text.len() - block.len() - 6..], Tokens(300), "s", &Bytes4).unwrap();
            assert!(torn.shown > 500, "there is nothing else to show: {}", torn.text);
        }
    }

    #[test]
    fn only_lines_of_the_body_count() {
        let text = format!("Base directory for this skill: /s\n\n{}", "A line of the body.\n".repeat(40));
        let cut = cut(&text, Tokens(100), "s", &Bytes4).unwrap();
        let shown = cut.text.matches("A line").count();
        assert!(cut.text.contains(&format!("[Shortened: {shown} of 40 lines shown.")), "{}", cut.text);
    }

    #[test]
    fn the_base_directory_alone_is_no_beginning() {
        let text = format!("Base directory for this skill: /{}\n\n{}", "d".repeat(400), "word ".repeat(400));
        assert_eq!(cut(&text, Tokens(60), "s", &Bytes4), None);
        assert_eq!(cut(&text[..440], Tokens(60), "s", &Bytes4), None);
    }

    #[test]
    fn a_carriage_return_ends_a_line() {
        assert_eq!(LinesWithEnds("a\rb\r\nc\n\rd").collect::<Vec<_>>(), ["a\r", "b\r\n", "c\n", "\r", "d"]);
        let text = "A line of the body.\r".repeat(40);
        let cut = cut(&text, Tokens(100), "s", &Bytes4).unwrap();
        let shown = cut.shown / 20;
        assert!(shown > 10 && text[..cut.shown].ends_with('\r'));
        assert!(
            cut.text
                .ends_with(&format!("\r\n[Shortened: {shown} of 40 lines shown. load_skill \"s\" gives the rest.]"))
        );
    }

    #[test]
    fn no_room_no_cut() {
        assert_eq!(cut("one\ntwo\n", Tokens(5), "s", &Bytes4), None);
        assert_eq!(cut("one", Tokens(5), "s", &Bytes4), None);
        assert_eq!(cut("", Tokens(5), "s", &Bytes4), None);
        assert_eq!(cut("🦀", Tokens(500), "s", &Bytes4), None, "all of it is no cut");
    }

    #[test]
    fn as_much_as_fits() {
        let text = "word word word\n".repeat(1000);
        for limit in [30, 100, 999, 2000] {
            for counter in [&Bytes4 as &dyn TokenCounter, &Segment] {
                let cut = cut(&text, Tokens(limit), "s", counter).unwrap();
                assert!(cut.tokens.0 <= limit && cut.tokens.0 + 6 > limit, "{} of {limit}", cut.tokens);
            }
        }
    }

    #[test]
    fn fences() {
        let open = |text: &str| {
            let mut fence = Fence::default();
            text.split_inclusive('\n').for_each(|line| fence.pass(line));
            let mut close = String::new();
            fence.close(&mut close);
            close
        };
        assert_eq!(open("```sh\nls\n"), "```\n");
        assert_eq!(open("````\n```\n"), "````\n");
        assert_eq!(open("~~~\n```\n~~~~\n"), "");
        assert_eq!(open("```a`b\n"), "", "a span, not a fence");
        assert_eq!(open("    ```\n"), "", "an indented block");
        assert_eq!(open("```\n``` not the end\n"), "```\n");
    }

    #[test]
    fn the_largest_is_found_from_any_guess() {
        for most in 0..40 {
            for last in 0..=most {
                for guess in 0..=most + 2 {
                    let found = largest(most, guess, |at| (at <= last).then_some(at));
                    assert_eq!(found.unwrap_or(0), last, "{most} {last} {guess}");
                }
            }
        }
    }
}
