//! Titles that are similar to a requested one.

/// Maximum number of characters that are compared: the cost grows with the square of the length.
const MAX_CHARS: usize = 64;
/// Maximum number of titles that are compared.
const MAX_COMPARED: usize = 1000;
/// Maximum number of titles that are suggested.
const MAX_CLOSE: usize = 5;

/// Returns the titles that `wanted` may mean, the closest first: those that contain it or are contained in it, and
/// those whose edit distance is at most a third of its letters.
pub(super) fn closest<'a>(wanted: &str, titles: impl Iterator<Item = &'a str>) -> Vec<Box<str>> {
    let wanted = letters(wanted);
    if wanted.is_empty() {
        return Vec::new();
    }
    let mut ranked: Vec<(usize, &str)> = titles
        .take(MAX_COMPARED)
        .filter_map(|title| {
            let letters = letters(title);
            let distance = strsim::generic_levenshtein(&wanted, &letters);
            let related = contains(&letters, &wanted) || (letters.len() > 2 && contains(&wanted, &letters));
            (related || distance * 3 <= wanted.len()).then_some((distance, title))
        })
        .collect();
    ranked.sort_unstable();
    ranked.dedup_by_key(|(_, title)| *title);
    ranked.into_iter().take(MAX_CLOSE).map(|(_, title)| title.into()).collect()
}

fn letters(text: &str) -> Vec<char> {
    let kept = text.chars().filter(|c| c.is_alphanumeric());
    kept.flat_map(char::to_lowercase).take(MAX_CHARS).collect()
}

fn contains(whole: &[char], part: &[char]) -> bool {
    !part.is_empty() && whole.windows(part.len()).any(|window| window == part)
}

#[cfg(test)]
mod tests {
    use super::closest;

    #[test]
    fn the_closest_comes_first() {
        let titles = ["Quick start", "Tables", "Table of contents", "Forms"];
        assert_eq!(*closest("table", titles.into_iter()), ["Tables".into(), "Table of contents".into()]);
        assert_eq!(*closest("from", titles.into_iter()), []);
        assert_eq!(*closest("fomrs!", titles.into_iter()), []);
        assert_eq!(*closest("QUICKSTART", titles.into_iter()), ["Quick start".into()]);
        assert_eq!(*closest("", titles.into_iter()), []);
    }
}
