//! The rest of a text of which parts are in context: for loads, one after the other.

use std::ops::Range;

use skillcue_format::Tokens;

use crate::TokenCounter;
use crate::advice::loadable_part;
use crate::cut::{Cut, cut};
use crate::parts::{FittingParts, PartsWish, fitting_parts, whole};

/// Returns the parts of a skill's text that a conversation does not have yet, in at most `limit` tokens: those that fit the
/// message first. `known` are the ranges that it has. Each call with what the ones before have shown gives more of the
/// text, until all of it was shown; then `None`.
///
/// ```
/// use skillcue_disclose::{Bytes4, Tokens, rest_for};
///
/// let filler = "Much more to read here.\n".repeat(20);
/// let text = format!("Reads files.\n\n# Merge\n\n{filler}\n# Forms\n\nFill them in.\n\n# Limits\n\n{filler}");
/// let first = rest_for("fill in a form", &text, &[], Some(Tokens(100)), "pdf", &Bytes4).unwrap();
/// assert!(first.text.contains("Fill them in.") && first.tokens <= Tokens(100));
/// let rest = rest_for("fill in a form", &text, &first.parts, None, "pdf", &Bytes4).unwrap();
/// assert!(rest.text.contains("# Limits") && !rest.text.contains("Fill them in."));
/// ```
pub fn rest_for(
    message: &str,
    text: &str,
    known: &[Range<usize>],
    limit: Option<Tokens>,
    name: &str,
    counter: &dyn TokenCounter,
) -> Option<Cut> {
    let limit = limit.unwrap_or(NO_LIMIT);
    if known.is_empty() && counter.count(text) <= limit {
        return Some(whole(text, counter));
    }
    let rest = loadable_part(name);
    match fitting_parts(text, &PartsWish { message, known, rest: &rest, all: true, wanted: &[] }, limit, counter) {
        FittingParts::Shown(parts) => Some(parts),
        FittingParts::Known => None,
        FittingParts::Undivided => {
            // Not even a block fits: the beginning of what is unknown.
            let gap = first_unknown(text, known)?;
            let unknown = text.get(gap.clone())?;
            let mut beginning = if counter.count(unknown) <= limit {
                whole(unknown, counter)
            } else {
                cut(unknown, limit, name, counter)?
            };
            beginning.parts.iter_mut().for_each(|part| *part = part.start + gap.start..part.end + gap.start);
            Some(beginning)
        }
    }
}

/// Returns the first range of a text that is not known and has more than blanks.
fn first_unknown(text: &str, known: &[Range<usize>]) -> Option<Range<usize>> {
    let mut known: Vec<&Range<usize>> = known.iter().collect();
    known.sort_by_key(|range| range.start);
    let mut start = 0;
    for range in known {
        if text.get(start..range.start).is_some_and(|gap| !gap.trim().is_empty()) {
            return Some(start..range.start);
        }
        start = start.max(range.end);
    }
    text.get(start..).is_some_and(|gap| !gap.trim().is_empty()).then_some(start..text.len())
}

/// A limit that no text reaches, and to which costs can be added.
const NO_LIMIT: Tokens = Tokens(usize::MAX / 4);
