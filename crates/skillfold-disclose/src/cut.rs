//! Cutting a text to a number of tokens.

use std::fmt::Write as _;

use skillfold_format::Tokens;

use crate::TokenCounter;

/// The beginning of a text, and a line that says so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cut {
    /// What is left, and the marker as its last line.
    pub text: String,
    /// What that costs.
    pub tokens: Tokens,
    /// How many bytes of the text are left.
    pub shown: usize,
}

/// Cuts `text`, the body of the skill `name`, to at most `limit` tokens, the marker line included: after a line, or
/// inside it if one line is all there is. A code fence that the cut leaves open is closed.
///
/// Nothing, if the limit has no room for a line and the marker.
///
/// ```
/// use skillfold_disclose::{Bytes4, Tokens, cut};
///
/// let cut = cut("Read it.\n\n```sh\npdftotext x.pdf\nless x.txt\nrm x.txt\n```\n", Tokens(27), "pdf", &Bytes4).unwrap();
/// let marker = "[Shortened: 4 of 7 lines shown. load_skill \"pdf\" gives the rest.]";
/// assert_eq!(cut.text, format!("Read it.\n\n```sh\npdftotext x.pdf\n```\n{marker}"));
/// assert!(cut.tokens <= Tokens(27));
/// ```
pub fn cut(text: &str, limit: Tokens, name: &str, counter: &dyn TokenCounter) -> Option<Cut> {
    let lines = text.lines().count();
    if lines > 1 { cut_lines(text, lines, limit, name, counter) } else { cut_line(text, limit, name, counter) }
}

fn cut_lines(text: &str, lines: usize, limit: Tokens, name: &str, counter: &dyn TokenCounter) -> Option<Cut> {
    // Ends of lines, and the fence that is open there, as far as there is any hope of fitting.
    let (mut ends, mut sums, mut sum, mut end) = (Vec::new(), Vec::new(), Tokens(0), 0);
    let mut fence = Fence::default();
    let enough = Tokens(limit.0.saturating_mul(2).saturating_add(64));
    for line in text.split_inclusive('\n').take(lines - 1) {
        end += line.len();
        fence.pass(line);
        sum = sum + counter.count(line);
        ends.push((end, fence));
        sums.push(sum);
        if sum > enough {
            break;
        }
    }
    let make = |shown: usize| {
        let (end, fence) = ends[shown - 1];
        let mut part = text[..end].to_owned();
        fence.close(&mut part);
        let _ = write!(part, "[Shortened: {shown} of {lines} lines shown. load_skill \"{name}\" gives the rest.]");
        let tokens = counter.count(&part);
        (tokens <= limit).then_some(Cut { text: part, tokens, shown: end })
    };
    let guess = sums.partition_point(|sum| *sum <= limit);
    largest(ends.len(), guess, make)
}

fn cut_line(text: &str, limit: Tokens, name: &str, counter: &dyn TokenCounter) -> Option<Cut> {
    let text = text.trim_end_matches(['\n', '\r']);
    let make = |bytes: usize| {
        let end = text.floor_char_boundary(bytes);
        let part = format!(
            "{}\n[Shortened: {end} of {} bytes shown. load_skill \"{name}\" gives the rest.]",
            &text[..end],
            text.len()
        );
        let tokens = counter.count(&part);
        (end > 0 && tokens <= limit).then_some(Cut { text: part, tokens, shown: end })
    };
    // The first character may be of up to four bytes: fewer show nothing, and nothing does not count as fitting.
    let first = text.chars().next()?.len_utf8();
    let most = text.len().saturating_sub(1);
    largest((most + 1).saturating_sub(first), limit.0.saturating_mul(4), |at| make(at + first - 1))
}

/// The largest number up to `most` that fits, given that all smaller ones do. Looks near `guess` first: each try costs as
/// much as it is large, and the guess is good.
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

/// The code fence that is open, if one is: its character and how many of them.
#[derive(Clone, Copy, Default)]
struct Fence(Option<(u8, usize)>);

impl Fence {
    fn pass(&mut self, line: &str) {
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
        let marker = format!("[Shortened: {} of 1000 bytes shown. load_skill \"s\" gives the rest.]", cut.shown);
        assert_eq!(cut.text, format!("{}\n{marker}", "é".repeat(cut.shown / 2)));
        assert_eq!(cut.tokens, Tokens(40));
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
