//! What a message asks memory for.

use super::alike::{ALIKE, Alike};
use super::words::{FIRST_PERSON, MEMORY, STOP};

/// What to look for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Query {
    /// Nothing: the message asks for nothing that memory could have.
    Nothing,
    /// What is known of the user in general.
    General,
    /// Facts with any of these words.
    Words(Wanted),
}

/// Which facts are wanted.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Wanted {
    /// Those with any of these words, as the index's own language writes it.
    pub(super) words: String,
    /// Then those that look so.
    pub(super) patterns: Vec<&'static str>,
    /// Then those with any of these; none if it is empty.
    pub(super) perhaps: String,
    /// Whether users ask about themselves: if nothing is found, anything may be what they mean.
    pub(super) asks_of_user: bool,
}

/// How many words of a message are looked for. It may be a whole document.
const MOST_WORDS: usize = 64;

/// How questions begin that ask what is so.
const FACTUAL: &[&str] = &[
    "what", "who", "whom", "whose", "where", "when", "which", "am", "do", "did", "have", "was", "wer", "wen", "wem",
    "wessen", "wo", "wann", "welche", "welcher", "welches", "welchen", "bin", "habe",
];

/// What stands in questions that ask what to do.
const ADVICE: &[&str] = &[
    "should", "can", "could", "would", "must", "shall", "need", "to", "if", "sollte", "soll", "kann", "könnte",
    "würde", "muss", "wenn", "wie",
];

/// What facts say that tell who somebody is.
pub(super) const IDENTITY: &str = r#""name" OR "heiße" OR "heisse" OR "call me" OR "nenn mich""#;

impl Query {
    /// What a message asks for.
    pub(super) fn of(message: &str) -> Query {
        let (mut personal, mut memory, mut before, mut general) = (false, false, String::new(), false);
        let mut content: Vec<String> = Vec::new();
        for word in words(message) {
            let first_person = FIRST_PERSON.contains(&word.as_str());
            personal |= first_person;
            memory |= MEMORY.contains(&word.as_str());
            general |= first_person && matches!(before.as_str(), "about" | "über");
            // A letter or a digit on its own means as little.
            let empty = first_person
                || STOP.contains(&word.as_str())
                || MEMORY.contains(&word.as_str())
                || (word.len() == 1 && word.is_ascii());
            if !empty && content.len() < MOST_WORDS && !content.contains(&word) {
                content.push(word.clone());
            }
            before = word;
        }
        if (general && (memory || content.is_empty())) || (content.is_empty() && (personal || memory)) {
            return Query::General;
        }
        if content.is_empty() {
            return Query::Nothing;
        }
        let mut wanted = Wanted { asks_of_user: personal && asks_of_user(message), ..Wanted::default() };
        if personal {
            let asked = |alike: &&Alike| content.iter().any(|word| alike.words.contains(&word.as_str()));
            let groups: Vec<&Alike> = ALIKE.iter().filter(asked).collect();
            let perhaps = groups.iter().flat_map(|alike| alike.perhaps.iter().copied());
            wanted.perhaps = any_of(perhaps);
            wanted.patterns = groups.iter().flat_map(|alike| alike.patterns.iter().copied()).collect();
            content.extend(groups.iter().flat_map(|alike| alike.words.iter().map(|word| (*word).to_owned())));
        }
        wanted.words = any_of(content.iter().map(String::as_str));
        Query::Words(wanted)
    }
}

/// Whether a message that has to do with the user asks what is so, and not what to do: who asks how to leave an editor
/// wants no facts about themselves.
fn asks_of_user(message: &str) -> bool {
    let mut words = words(message);
    let begins = words.next().is_some_and(|word| FACTUAL.contains(&word.as_str()));
    begins && !words.any(|word| ADVICE.contains(&word.as_str()))
}

/// What finds any of these, each as it stands.
fn any_of<'w>(words: impl Iterator<Item = &'w str>) -> String {
    words.map(quoted).collect::<Vec<_>>().join(" OR ")
}

/// A word as a string of the index's language, in which nothing else means anything.
fn quoted(word: &str) -> String {
    format!("\"{}\"", word.replace('"', "\"\""))
}

/// The words of a text, in small letters: letters, digits, and the accents that stand on their own behind them.
pub(super) fn words(text: &str) -> impl Iterator<Item = String> {
    let separates = |c: char| !c.is_alphanumeric() && !('\u{300}'..='\u{36f}').contains(&c);
    text.split(separates).filter(|word| !word.is_empty()).map(str::to_lowercase)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn query(message: &str) -> Query {
        Query::of(message)
    }

    #[test]
    fn what_says_something_is_looked_for() {
        let words = |words: &str| Query::Words(Wanted { words: words.to_owned(), ..Wanted::default() });
        assert_eq!(query("Which colour is the sky?"), words(r#""colour" OR "sky""#));
        assert_eq!(query("Rust rust RUST"), words(r#""rust""#));
        assert_eq!(query("I know Zebulon"), words(r#""zebulon""#), "nothing is asked");
        let Query::Words(wanted) = query("What's my name?") else { panic!() };
        assert!(wanted.words.starts_with(r#""name" OR "#) && wanted.asks_of_user, "{wanted:?}");
        assert_eq!(wanted.perhaps, r#""i am" OR "i m" OR "ich bin""#);
    }

    #[test]
    fn who_wants_advice_asks_nothing_of_themselves() {
        let asks = |message: &str| matches!(query(message), Query::Words(Wanted { asks_of_user: true, .. }));
        for message in
            ["What is my shoe size?", "Where was I yesterday?", "Do I own a bicycle?", "Welche Schuhe habe ich?"]
        {
            assert!(asks(message), "{message}");
        }
        for message in
            ["How do I exit vim?", "Why does my code fail?", "What should I do about my code?", "Fix my code?"]
        {
            assert!(!asks(message), "{message}");
        }
    }

    #[test]
    fn users_may_ask_in_general() {
        for message in [
            "who am I?",
            "Who am I",
            "what do you know about me",
            "What do you know about me and my work?",
            "Tell me about myself",
            "Wer bin ich?",
            "Was weißt du über mich?",
            "What do you remember?",
        ] {
            assert_eq!(query(message), Query::General, "{message}");
        }
    }

    #[test]
    fn what_asks_for_nothing_recalls_nothing() {
        for message in ["", "?!", "What is 2+2?", "and you", "was ist das", "\0", "\"", "* OR NEAR("] {
            let found = query(message);
            assert!(matches!(&found, Query::Nothing) || message.contains("NEAR"), "{message}: {found:?}");
        }
        let Query::Words(wanted) = query("* OR NEAR(") else { panic!() };
        assert_eq!((wanted.words.as_str(), wanted.asks_of_user), (r#""near""#, false));
    }
}
