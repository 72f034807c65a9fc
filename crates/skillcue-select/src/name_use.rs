//! The use that a message makes of a skill's name: a word among others, or a call.

/// The use of a name in a message, the strongest of all places where it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum NameUse {
    /// As a word among others.
    Word,
    /// Beside "skill".
    Beside,
    /// In quotation marks.
    Quoted,
    /// Beside "skill" or in quotation marks, as what is to be used.
    Called,
}

/// Verbs of a call.
const CALLS: [&str; 16] = [
    "use", "using", "load", "apply", "run", "invoke", "activate", "follow", "benutze", "nutze", "verwende", "lade",
    "utilise", "charge", "usa", "carga",
];
/// Words between such a verb and the name.
const BETWEEN: [&str; 18] = [
    "the",
    "your",
    "my",
    "our",
    "this",
    "that",
    "a",
    "skill",
    "den",
    "der",
    "deinen",
    "unseren",
    "le",
    "la",
    "el",
    "il",
    "lo",
    "compétence",
];
/// Words in front of the verb, in its clause, with which it is no call: "don't use the pricing skill", "why did you use …".
const NO_CALL: [&str; 38] = [
    "not", "never", "no", "cannot", "stop", "without", "avoid", "dont", "nicht", "kein", "keine", "keinen", "nie",
    "pas", "jamais", "non", "sin", "nunca", "why", "when", "how", "which", "what", "whether", "should", "if", "did",
    "does", "tried", "try", "trying", "instead", "after", "before", "warum", "wann", "wie", "ob",
];
/// Words behind a name in quotation marks that is called; the end of a clause does, too.
const BEHIND: [&str; 16] = [
    "here", "for", "to", "now", "please", "and", "on", "hier", "für", "bitte", "pour", "ici", "para", "aquí", "per",
    "skill",
];

impl NameUse {
    /// Returns the use of a name in a message; both are in lower case.
    pub(crate) fn of(message: &str, name: &str) -> NameUse {
        let is_part = |char: Option<char>| char.is_some_and(|char| char.is_alphanumeric() || matches!(char, '-' | '_'));
        let is_word = |at: &usize| {
            !is_part(message[..*at].chars().next_back()) && !is_part(message[at + name.len()..].chars().next())
        };
        if name.is_empty() {
            return NameUse::Word;
        }
        let places = message.match_indices(name).map(|(at, _)| at).filter(is_word);
        places.map(|at| NameUse::at(&message[..at], &message[at + name.len()..])).max().unwrap_or(NameUse::Word)
    }

    fn at(before: &str, behind: &str) -> NameUse {
        let is_quote = |char: char| matches!(char, '"' | '\'' | '`' | '“' | '”' | '‘' | '’' | '「' | '」' | '*');
        let quoted = before.ends_with(is_quote) && behind.starts_with(is_quote);
        let is_end = |char: char| matches!(char, '.' | ',' | ';' | ':' | '!' | '?' | '\n' | '。' | '，' | '！' | '？');
        let (before, behind) = (before.trim_end_matches(is_quote), behind.trim_start_matches(is_quote));
        // "The skill: pricing" is one clause.
        let clause = before.trim_end_matches([' ', ':', '*', '`']);
        let clause =
            &clause[clause.rfind(is_end).map_or(0, |at| at + clause[at..].chars().next().map_or(1, char::len_utf8))..];
        let mut words = clause.split_whitespace().rev().map(bare).peekable();
        let next = behind.split_whitespace().next().map(bare);
        let is_next = behind.starts_with(|char: char| char.is_whitespace());
        let beside = words.peek() == Some(&"skill") || is_next && next == Some("skill");
        let calls = |word: &str| CALLS.contains(&word);
        let is_called = words.find(|word| !BETWEEN.contains(word)).is_some_and(calls) && !words.any(denies);
        let ends =
            || behind.trim_start().chars().next().is_none_or(is_end) || next.is_some_and(|next| BEHIND.contains(&next));
        match (beside, quoted) {
            (true, _) if is_called => NameUse::Called,
            (false, true) if is_called && ends() => NameUse::Called,
            (_, true) => NameUse::Quoted,
            (true, false) => NameUse::Beside,
            (false, false) => NameUse::Word,
        }
    }
}

/// Returns a word without the signs around it.
fn bare(word: &str) -> &str {
    word.trim_matches(|char: char| !char.is_alphanumeric())
}

/// Returns whether a word in front of a verb says that it is no call.
fn denies(word: &str) -> bool {
    word.ends_with("n't") || word.ends_with("n’t") || NO_CALL.contains(&word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_called_beside_a_verb() {
        for message in [
            "use the pricing skill",
            "my pricing page is weak. use the pricing skill.",
            "please load the pricing skill for this",
            "use `pricing` here",
            "use \"pricing\" for this",
            "benutze den skill pricing",
            "run the skill: pricing",
            "don't ask, use the pricing skill",
        ] {
            assert_eq!(NameUse::of(message, "pricing"), NameUse::Called, "{message}");
        }
        for (message, is) in [
            ("our pricing is odd", NameUse::Word),
            ("the `pricing` column is empty", NameUse::Quoted),
            ("please don't load the pricing skill", NameUse::Beside),
            ("i don't want you to use the pricing skill", NameUse::Beside),
            ("don't use that pricing skill again", NameUse::Beside),
            ("what's wrong with the pricing skill?", NameUse::Beside),
            ("why did you use the pricing skill?", NameUse::Beside),
            ("create a table with `pricing` and `created_at` columns", NameUse::Quoted),
            ("use `pricing` as the key", NameUse::Quoted),
            ("use the prices. the pricing skill is odd", NameUse::Beside),
            ("which skill is pricing?", NameUse::Word),
            ("repricing and pricing-model", NameUse::Word),
            ("use the pricing-model skill", NameUse::Word),
        ] {
            assert_eq!(NameUse::of(message, "pricing"), is, "{message}");
        }
    }
}
