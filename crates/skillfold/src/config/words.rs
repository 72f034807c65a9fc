//! Which words a `skillfold.toml` may hold, and what to do about one that is wrong.

use super::Config;

/// No setting has this name.
const NO_WORD: &str = "no-such-word";

/// What to do about a message of the parser.
pub(super) fn help(message: &str) -> String {
    let (Some(wrong), right) = quoted(message) else { return "correct this line".to_owned() };
    let like = |word: &&str| strsim::jaro_winkler(word, wrong);
    let closest = right.iter().max_by(|a, b| like(a).total_cmp(&like(b))).filter(|word| like(word) > 0.8);
    let of_section = |section: &Section| section.words.iter().any(|word| word == wrong);
    let elsewhere = sections().filter(|_| message.starts_with("unknown field")).find(of_section);
    match (closest.map(|word| format!("did you mean `{word}`?")), elsewhere) {
        (Some(closest), Some(section)) => format!("{closest} `{wrong}` belongs below {}", section.head),
        (None, Some(section)) => format!("`{wrong}` belongs below {}", section.head),
        (Some(closest), None) => closest,
        (None, None) => "write one of these words".to_owned(),
    }
}

/// The wrong word, and the right ones, of a message that begins with "unknown field" or "unknown variant".
fn quoted(message: &str) -> (Option<&str>, Vec<&str>) {
    if !message.starts_with("unknown ") {
        return (None, Vec::new());
    }
    let mut words = message.split('`').skip(1).step_by(2);
    (words.next(), words.collect())
}

struct Section {
    /// `[skills]`
    head: String,
    words: Vec<String>,
}

/// The sections with their words, as the parser itself lists them: there is no second list that could differ.
fn sections() -> impl Iterator<Item = Section> {
    expected(&format!("{NO_WORD} = 0")).into_iter().map(|name| {
        let heads = [format!("[{name}]"), format!("[[{name}]]")];
        let [table, array] = heads.map(|head| (expected(&format!("{head}\n{NO_WORD} = 0")), head));
        let (words, head) = if table.0.is_empty() { array } else { table };
        Section { head, words }
    })
}

/// The words that the parser would take in place of [`NO_WORD`].
fn expected(text: &str) -> Vec<String> {
    let Err(error) = toml::from_str::<Config>(text) else { return Vec::new() };
    match quoted(error.message()) {
        (Some(NO_WORD), right) => right.into_iter().map(str::to_owned).collect(),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn help_for(text: &str) -> String {
        Config::parse(text).unwrap_err().help
    }

    #[test]
    fn a_wrong_word_is_told_where_it_belongs_or_what_is_like_it() {
        assert_eq!(help_for("[skils]\n"), "did you mean `skills`?");
        assert_eq!(help_for("[skills]\ndisabled = []\n"), "did you mean `disable`?");
        assert_eq!(help_for("[skills]\nmax_skills = 1\n"), "`max_skills` belongs below [select]");
        assert_eq!(help_for("[agent]\ntoken_env = 'X'\n"), "`token_env` belongs below [[mcp]]");
        assert_eq!(help_for("dirs = []\n"), "`dirs` belongs below [skills]");
        assert_eq!(help_for("[disclose]\npolicy = 'zzz'\n"), "write one of these words");
        assert_eq!(help_for("[disclose]\npolicy = 'hints'\n"), "did you mean `hint`?");
        assert_eq!(help_for("[skills]\ndirs = 5\n"), "correct this line");
        assert_eq!(help_for("[skills\n"), "correct this line");
    }

    #[test]
    fn every_section_has_words() {
        for section in sections() {
            assert!(!section.words.is_empty(), "{}", section.head);
        }
    }
}
