//! Lists of names in a sentence, at most a few of them.

use std::fmt::Write as _;

use skillcue_format::Tokens;

use crate::TokenCounter;

/// The number of names in any list that goes to a model.
pub(crate) const MAX_NAMES: usize = 10;

/// Returns `a, b and 3 more`: at most `most` of the names, of `total` in all. Empty if there are none.
pub(crate) fn list(names: &[&str], total: usize, most: usize) -> String {
    let named = names.len().min(most).min(MAX_NAMES);
    let (mut text, more) = (names[..named].join(", "), total.max(names.len()) - named);
    if more > 0 {
        if named > 0 {
            text.push_str(" and ");
        }
        let _ = write!(text, "{more} more");
    }
    text
}

/// Returns the sentence that `say` makes of the longest such list with which it is within a limit.
pub(crate) fn sentence(
    names: &[&str],
    total: usize,
    limit: Option<Tokens>,
    counter: &dyn TokenCounter,
    say: impl Fn(&str) -> String,
) -> String {
    let mut most = names.len().min(MAX_NAMES);
    loop {
        let text = say(&list(names, total, most));
        if most == 0 || limit.is_none_or(|limit| counter.count(&text) <= limit) {
            return text;
        }
        most -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Bytes4;

    #[test]
    fn ten_names_and_how_many_more() {
        let names: Vec<String> = (1..=12).map(|i| format!("s{i}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        assert_eq!(list(&names[..2], 2, 99), "s1, s2");
        assert_eq!(list(&names, 20, 99), "s1, s2, s3, s4, s5, s6, s7, s8, s9, s10 and 10 more");
        assert_eq!(list(&names, 12, 0), "12 more");
        assert_eq!(list(&[], 0, 9), "");
    }

    #[test]
    fn a_sentence_gives_up_names_before_it_breaks_its_limit() {
        let names = ["alpha", "beta", "gamma"];
        let say = |list: &str| format!("Also: {list}.");
        assert_eq!(sentence(&names, 3, None, &Bytes4, say), "Also: alpha, beta, gamma.");
        assert_eq!(sentence(&names, 3, Some(Tokens(6)), &Bytes4, say), "Also: alpha and 2 more.");
        assert_eq!(sentence(&names, 3, Some(Tokens(1)), &Bytes4, say), "Also: 3 more.");
    }
}
