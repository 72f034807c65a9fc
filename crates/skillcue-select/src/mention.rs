//! Mentions with a sigil: `$name`, `/name`, `@name`.

use std::borrow::Cow;
use std::ops::Range;

use unicode_normalization::{UnicodeNormalization, is_nfkc};

use crate::fold::FoldClass;

/// The methods of HTTP, behind which a path comes.
const METHODS: [&str; 7] = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"];

/// Calls `found` with every possible mention by a sigil in a message: the name, and the range of name and sigil. If
/// that returns false, a shorter name is tried. Blocks of code mention nothing: what they have are variables and decorators.
pub(crate) fn sigils(message: &str, mut found: impl FnMut(&str, Range<usize>) -> bool) {
    let blocks = code_blocks(message);
    for at in memchr::memchr3_iter(b'$', b'/', b'@', message.as_bytes()) {
        let before = &message[..at];
        let opens = before.chars().next_back().is_none_or(|c| c.is_whitespace() || is_opening(c));
        if !opens || is_in(&blocks, at) {
            continue;
        }
        let (sigil, rest) = (message.as_bytes()[at], &message[at + 1..]);
        let name = &rest[..rest.find(|c| !is_name_char(c)).unwrap_or(rest.len())];
        let is_request =
            sigil == b'/' && before.split_whitespace().next_back().is_some_and(|word| METHODS.contains(&word));
        if is_request || goes_on(sigil, &rest[name.len()..]) || found(&composed(name), at..at + 1 + name.len()) {
            continue;
        }
        // A script without blanks may go on right behind the name.
        let latin = &name[..name
            .find(|c| matches!(FoldClass::of(c), FoldClass::Ideograph | FoldClass::Hangul))
            .unwrap_or(name.len())];
        if latin.len() < name.len() {
            found(&composed(latin), at..at + 1 + latin.len());
        }
    }
}

/// Returns the blocks of code of a message, between lines of three backticks.
fn code_blocks(message: &str) -> Vec<Range<usize>> {
    let fences: Vec<usize> = message.match_indices("```").map(|(at, _)| at).collect();
    fences.chunks(2).map(|pair| pair[0]..pair.get(1).copied().unwrap_or(message.len())).collect()
}

/// Returns whether one of some ranges in order has a place.
fn is_in(blocks: &[Range<usize>], place: usize) -> bool {
    let number = blocks.partition_point(|block| block.start <= place);
    number.checked_sub(1).is_some_and(|number| blocks[number].contains(&place))
}

/// Returns whether a path, an address or a file's name goes on here, or code: an assignment, a member, an index, a call.
fn goes_on(sigil: u8, after: &str) -> bool {
    let mut chars = after.chars();
    let (first, second) = (chars.next(), chars.next());
    match (sigil, first) {
        (_, Some('/' | '@')) | (b'$', Some('[' | '=' | '>')) | (b'@', Some('(')) => true,
        (_, Some('.')) => second.is_some_and(char::is_alphabetic),
        (_, Some(':')) => matches!(second, Some(':' | '/')),
        (b'$', Some(' ')) => second == Some('=') && chars.next() != Some('='),
        _ => false,
    }
}

fn is_name_char(c: char) -> bool {
    matches!(c, '-' | '_') || FoldClass::of(c) != FoldClass::Other
}

fn is_opening(c: char) -> bool {
    matches!(c, '(' | '[' | '{' | '<' | '（' | '「' | '『' | '《' | '【' | '〈' | '［')
}

/// Returns a name in composed form, as names are stored.
fn composed(name: &str) -> Cow<'_, str> {
    if name.is_ascii() || is_nfkc(name) { Cow::Borrowed(name) } else { Cow::Owned(name.nfkc().collect()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(message: &str) -> Vec<String> {
        let mut names = Vec::new();
        sigils(message, |name, span| {
            assert!(message[span].len() > name.len() || !name.is_ascii());
            names.push(name.to_owned());
            false
        });
        names
    }

    #[test]
    fn positions_of_mentions() {
        assert_eq!(of("$name: what?"), ["name"]);
        assert_eq!(of("use /a-b, @c and (/d)."), ["a-b", "c", "d"]);
        assert_eq!(of("`echo \"$e\"` and '/f' are code"), Vec::<String>::new());
        assert_eq!(of("see $PATH"), ["PATH"]);
        assert_eq!(
            of("my $email = shift; $a=1 $POST['x'] $self->run $A::b @image({}) -v /memory:/data"),
            Vec::<String>::new()
        );
        assert_eq!(of("GET /design gives 404\n```php\n$email\n```\n$pdf"), ["pdf"]);
        assert_eq!(of("```\n@social"), Vec::<String>::new());
        assert_eq!(of("me@name.com /path/name @name.com $a@b and/or x$y"), Vec::<String>::new());
        assert_eq!(of("「$pdf」を @pdf処理"), ["pdf", "pdf処理", "pdf"]);
        assert_eq!(of("$cafe\u{301}"), ["café"]);
        assert_eq!(of("/name."), ["name"]);
        assert_eq!(of("$"), [""]);
    }
}
