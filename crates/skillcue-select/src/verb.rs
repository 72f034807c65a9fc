//! Regular inflections of English verbs: `translate`, `translates`, `translated`, `translating`.
//!
//! Not irregular ones (`ran`), no agents (`runner`), no nouns (`greetings`).

/// Calls `found` with each word that `word` is a regular inflection of. Endings are stripped to guess the word, and
/// [`inflects`] confirms the guess.
pub(crate) fn bases(word: &str, mut found: impl FnMut(&str)) {
    let mut guess = |stem: &str, ending: &str| {
        let mut base = String::with_capacity(stem.len() + ending.len());
        base.push_str(stem);
        base.push_str(ending);
        if inflects(&base, word) {
            found(&base);
        }
    };
    if let Some(stem) = word.strip_suffix("ing") {
        guess(stem, "");
        guess(stem, "e");
        if let Some(stem) = stem.strip_suffix('y') {
            guess(stem, "ie");
        }
        if let Some(stem) = undoubled(stem) {
            guess(stem, "");
        }
    } else if let Some(stem) = word.strip_suffix("ed") {
        guess(stem, "");
        guess(stem, "e");
        if let Some(stem) = stem.strip_suffix('i') {
            guess(stem, "y");
        }
        if let Some(stem) = undoubled(stem) {
            guess(stem, "");
        }
    } else if let Some(stem) = word.strip_suffix('s') {
        guess(stem, "");
        if let Some(stem) = stem.strip_suffix('e') {
            guess(stem, "");
            if let Some(stem) = stem.strip_suffix('i') {
                guess(stem, "y");
            }
            if let Some(stem) = undoubled(stem) {
                guess(stem, "");
            }
        }
    }
}

/// Returns a stem without its doubled consonant: `runn` → `run`, `panick` → `panic`.
fn undoubled(stem: &str) -> Option<&str> {
    match stem.as_bytes() {
        [.., b'c', b'k'] => Some(&stem[..stem.len() - 1]),
        [.., a, b] if a == b && is_consonant(*a) => Some(&stem[..stem.len() - 1]),
        _ => None,
    }
}

/// Returns whether `word` is a regular inflection of `base`; `base` is not one of itself.
pub(crate) fn inflects(base: &str, word: &str) -> bool {
    // Most pairs differ in their first letters: nothing is inflected there.
    let common = base.len().saturating_sub(2);
    if base.is_empty() || word.as_bytes().get(..common) != base.as_bytes().get(..common) {
        return false;
    }
    third_person(base, word) || past(base, word) || participle(base, word)
}

fn third_person(base: &str, word: &str) -> bool {
    let hisses = ["s", "x", "z", "ch", "sh"].iter().any(|end| base.ends_with(end));
    if let Some(stem) = consonant_y(base) {
        return is(word, &[stem, "ies"]);
    }
    if base.ends_with('o') {
        return is(word, &[base, "es"]) || is(word, &[base, "s"]);
    }
    if hisses {
        // `quizzes`, `focusses`
        let last = &base[base.len() - 1..];
        return is(word, &[base, "es"]) || (may_double(base) && "sz".contains(last) && is(word, &[base, last, "es"]));
    }
    is(word, &[base, "s"])
}

fn past(base: &str, word: &str) -> bool {
    if let Some(stem) = consonant_y(base) {
        return is(word, &[stem, "ied"]);
    }
    if base.ends_with('e') {
        return is(word, &[base, "d"]);
    }
    ending(base, word, "ed")
}

fn participle(base: &str, word: &str) -> bool {
    if let Some(stem) = base.strip_suffix("ie") {
        return is(word, &[stem, "ying"]);
    }
    if let Some(stem) = base.strip_suffix('e') {
        let dropped = !stem.ends_with(['e', 'o', 'y']) && stem.bytes().any(|b| !is_consonant(b));
        return (dropped && is(word, &[stem, "ing"])) || is(word, &[base, "ing"]);
    }
    ending(base, word, "ing")
}

/// Returns whether `word` is `base` with an ending that may double the last consonant: must, in a word of one syllable
/// (`scrap`, `scrapped`: `scraped` is of `scrape`); may, in longer ones (`travelled`, `traveled`).
fn ending(base: &str, word: &str, ending: &str) -> bool {
    if !may_double(base) {
        return is(word, &[base, ending]);
    }
    let last = &base[base.len() - 1..];
    if last == "c" {
        return is(word, &[base, "k", ending]) || is(word, &[base, ending]) || is(word, &[base, last, ending]);
    }
    is(word, &[base, last, ending]) || (vowel_groups(base) > 1 && is(word, &[base, ending]))
}

/// Returns whether it ends in one vowel and one consonant that English doubles.
fn may_double(base: &str) -> bool {
    match base.as_bytes() {
        [before @ .., vowel, last] => {
            is_consonant(*last)
                && !matches!(last, b'w' | b'x' | b'y' | b'h')
                && !is_consonant(*vowel)
                && (before.last().is_none_or(|b| is_consonant(*b)) || before.ends_with(b"qu"))
        }
        _ => false,
    }
}

/// Returns the word without its `y`, if that is after a consonant.
fn consonant_y(base: &str) -> Option<&str> {
    let stem = base.strip_suffix('y')?;
    stem.bytes().last().is_some_and(is_consonant).then_some(stem)
}

fn vowel_groups(base: &str) -> usize {
    let vowels = base.bytes().map(|b| !is_consonant(b) || b == b'y');
    let (groups, _) =
        vowels.fold((0, false), |(groups, before), vowel| (groups + usize::from(vowel && !before), vowel));
    groups
}

fn is_consonant(b: u8) -> bool {
    b.is_ascii_lowercase() && !matches!(b, b'a' | b'e' | b'i' | b'o' | b'u')
}

/// Returns whether `word` is exactly those parts.
fn is(word: &str, parts: &[&str]) -> bool {
    let mut rest = word;
    for part in parts {
        match rest.strip_prefix(part) {
            Some(left) => rest = left,
            None => return false,
        }
    }
    rest.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn has(base: &str, words: &[&str]) {
        for word in words {
            assert!(inflects(base, word), "{base}: {word}");
            let mut seen = false;
            bases(word, |found| seen |= found == base);
            assert!(seen, "{word} leads back to {base}");
        }
    }

    fn lacks(base: &str, words: &[&str]) {
        for word in words {
            assert!(!inflects(base, word), "{base}: {word}");
            bases(word, |found| assert_ne!(found, base, "{word}"));
        }
    }

    #[test]
    fn regular_inflections() {
        has("translate", &["translates", "translated", "translating"]);
        has("run", &["runs", "running"]);
        has("extract", &["extracts", "extracted", "extracting"]);
        has("fix", &["fixes", "fixed", "fixing"]);
        has("push", &["pushes", "pushed", "pushing"]);
        has("process", &["processes", "processed", "processing"]);
        has("copy", &["copies", "copied", "copying"]);
        has("deploy", &["deploys", "deployed", "deploying"]);
        has("plan", &["planned", "planning"]);
        has("travel", &["traveled", "travelled", "traveling", "travelling"]);
        has("debug", &["debugged", "debugging"]);
        has("die", &["dies", "died", "dying"]);
        has("agree", &["agrees", "agreed", "agreeing"]);
        has("panic", &["panics", "panicked", "panicking"]);
        has("quiz", &["quizzes", "quizzed", "quizzing"]);
        has("go", &["goes", "going"]);
        has("echo", &["echoes", "echos", "echoed"]);
        has("age", &["aging", "ageing"]);
        has("be", &["being"]);
        has("set", &["sets", "setting"]);
        has("sync", &["synced", "syncing"]);
        has("show", &["showed", "showing"]);
    }

    #[test]
    fn nothing_else() {
        lacks("run", &["runner", "runners", "ran", "runing", "run", "running's"]);
        lacks("greet", &["greetings", "greeter"]);
        lacks("scrap", &["scraping", "scraped"]);
        lacks("be", &["bing"]);
        lacks("copy", &["copys", "copyed"]);
        lacks("fix", &["fixs", "fixxed"]);
        lacks("", &["s", "ed", "ing"]);
        lacks("é", &["és "]);
        for word in ["", "s", "ed", "ing", "és", "ééd", "ying", "ies", "\u{301}ing"] {
            bases(word, |_| {});
        }
    }
}
