//! Help for a word in a `skillcue.toml` that is wrong.

use super::Config;

/// A name that no setting has.
const NO_WORD: &str = "no-such-word";

/// Returns what to do about a message of the parser.
pub(super) fn help(message: &str) -> String {
    let (Some(wrong), right) = quoted(message) else { return "correct this line".to_owned() };
    if wrong == "min_confidence" {
        return "`eagerness` replaces it: from 0, only what is certain, to 1, all that matches; usually 0.5".to_owned();
    }
    let like = |word: &&str| strsim::jaro_winkler(word, wrong);
    let closest = right.iter().max_by(|a, b| like(a).total_cmp(&like(b))).filter(|word| like(word) > 0.8);
    let of_section = |section: &ConfigSection| section.words.iter().any(|word| word == wrong);
    let elsewhere = sections().filter(|_| message.starts_with("unknown field")).find(of_section);
    match (closest.map(|word| format!("did you mean `{word}`?")), elsewhere) {
        (Some(closest), Some(section)) => format!("{closest} `{wrong}` belongs below {}", section.head),
        (None, Some(section)) => format!("`{wrong}` belongs below {}", section.head),
        (Some(closest), None) => closest,
        (None, None) => "write one of these words".to_owned(),
    }
}

/// Returns a message of the parser without the names of Rust's types.
pub(super) fn plain(message: &str) -> String {
    let Some((what, expected)) = message.rsplit_once(", expected ") else { return message.to_owned() };
    let due = match expected {
        "u8" | "u16" | "u32" | "u64" | "usize" => "a whole number, 0 or more",
        "a nonzero u64" => "a whole number, 1 or more",
        "i8" | "i16" | "i32" | "i64" | "isize" => "a whole number",
        "f32" | "f64" => "a number",
        "a boolean" => "true or false",
        "a sequence" => "a list",
        "a map" => "a table",
        other if other.starts_with("struct ") => "a table",
        other => other,
    };
    format!("{what}, expected {due}")
}

/// Returns the wrong word, and the right ones, of a message that begins with "unknown field" or "unknown variant".
fn quoted(message: &str) -> (Option<&str>, Vec<&str>) {
    if !message.starts_with("unknown ") {
        return (None, Vec::new());
    }
    let mut words = message.split('`').skip(1).step_by(2);
    (words.next(), words.collect())
}

struct ConfigSection {
    /// `[skills]`
    head: String,
    words: Vec<String>,
}

/// Returns the sections with their words, as the parser itself lists them: there is no second list that could differ.
fn sections() -> impl Iterator<Item = ConfigSection> {
    expected(&format!("{NO_WORD} = 0")).into_iter().map(|name| {
        // A table, an array of tables, or tables by their names.
        let heads = [format!("[{name}]"), format!("[[{name}]]"), format!("[{name}.NAME]")];
        let kinds = heads.map(|head| (expected(&format!("{head}\n{NO_WORD} = 0")), head));
        let (words, head) = kinds.into_iter().find(|(words, _)| !words.is_empty()).unwrap_or_default();
        ConfigSection { head, words }
    })
}

/// Returns the words that the parser would take in place of [`NO_WORD`].
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
    fn help_names_the_section_of_a_wrong_word_or_a_similar_word() {
        assert_eq!(help_for("[skils]\n"), "did you mean `skills`?");
        assert_eq!(help_for("[skills]\ndisabled = []\n"), "did you mean `disable`?");
        assert_eq!(help_for("[skills]\nmax_skills = 1\n"), "`max_skills` belongs below [select]");
        assert_eq!(help_for("[agent]\ntoken_env = 'X'\n"), "`token_env` belongs below [[mcp]]");
        assert_eq!(help_for("dirs = []\n"), "`dirs` belongs below [skills]");
        assert_eq!(help_for("[disclose]\npolicy = 'zzz'\n"), "write one of these words");
        assert_eq!(help_for("[disclose]\npolicy = 'hints'\n"), "did you mean `hint`?");
        assert_eq!(help_for("[skills]\ndirs = 5\n"), "correct this line");
        assert_eq!(help_for("[skills\n"), "correct this line");
        assert!(help_for("[disclose]\nmin_confidence = 0.4\n").starts_with("`eagerness` replaces it"));
    }

    /// Issue 15: `invalid type: string "x", expected u64`.
    #[test]
    fn messages_name_no_types_of_rust() {
        let said = |text: &str| Config::parse(text).unwrap_err().message;
        let number = "expected a whole number, 0 or more";
        assert_eq!(said("[run]\nmemory_mb = 'x'\n"), format!("invalid type: string \"x\", {number}"));
        assert_eq!(said("[run]\nmemory_mb = -1\n"), format!("invalid value: integer `-1`, {number}"));
        assert_eq!(said("[skills]\ndirs = 5\n"), "invalid type: integer `5`, expected a list");
        assert_eq!(said("[run]\nallow_unsandboxed = 1\n"), "invalid type: integer `1`, expected true or false");
        assert_eq!(said("skills = 1\n"), "invalid type: integer `1`, expected a table");
    }

    #[test]
    fn every_section_has_words() {
        for section in sections() {
            assert!(!section.words.is_empty(), "{}", section.head);
        }
    }
}
