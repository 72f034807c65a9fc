//! What of a user's message is worth remembering.

use super::own::{Own, QUOTED, own};
use super::secret::looks_secret;
use super::words::{
    ARTICLES, BE, FROM_NOW_ON, INTRODUCTIONS, IS, NAMES, NO_FACT, NO_RULES, NOT_TOLD, NOTE, OPENERS, PASSING,
    PASSING_NOW, PLACES, POLITE, POSSESSIVES, QUESTIONS, REMEMBER, REQUESTS, RULES, SECOND, SHORT, SPEECH, SUBJECTS,
    THAT, TROUBLE,
};
use super::{MOST_CHARS, key};

/// How many facts one message may have.
const MOST_FACTS: usize = 20;
/// How many words people take to say who they are, before they ask for something.
const MOST_WORDS: usize = 8;

/// The sentences of a user's message that tell something of the user or the project, or that the user wants to be
/// remembered. Questions, requests, code, quotations, what was pasted and what looks like a secret are left out.
///
/// ```
/// use skillcue_agent::facts;
///
/// assert_eq!(facts("Hi! My name is Alice. What's the weather?"), ["My name is Alice."]);
/// assert_eq!(facts("Remember that the tests run with `cargo xtask test`"), ["the tests run with `cargo xtask test`"]);
/// assert!(facts("I want you to fix my code. My password is hunter2.").is_empty());
/// ```
pub fn facts(message: &str) -> Vec<String> {
    let mut facts: Vec<String> = Vec::new();
    let asked = asked_first(message);
    for fact in asked.into_iter().chain(own(message).iter().filter_map(fact)) {
        if !facts.iter().any(|other| key(other) == key(&fact)) {
            facts.push(fact);
        }
        if facts.len() == MOST_FACTS {
            break;
        }
    }
    facts
}

/// What a message asks to remember before it says anything else: that is the user's will, whatever it quotes.
fn asked_first(message: &str) -> Option<String> {
    let line = message.trim_start().lines().next()?;
    let text = skillcue_base::visible_line(sentences(line).first()?).into_owned();
    match Said::of(&text).without_openers().to_remember() {
        Asked::Fact(fact) if is_fit(&text) => worth(&fact),
        _ => None,
    }
}

/// What a sentence tells, if it is worth remembering.
fn fact(sentence: &Own) -> Option<String> {
    let text = skillcue_base::visible_line(&sentence.text).into_owned();
    if !is_fit(&text) || text.contains(QUOTED) || text.starts_with(['"', '“', '„', '«', '»', '\'', '`']) {
        return None;
    }
    let said = Said::of(&text).without_openers();
    let fact = match said.to_remember() {
        Asked::Fact(fact) => fact,
        Asked::Nothing => return None,
        Asked::No => {
            let told = |said: &Said<'_>| said.of_user(sentence.rules);
            told(&said).or_else(|| told(&said.introduction()?))?
        }
    };
    worth(&fact)
}

/// Whether it may be remembered at all.
fn is_fit(text: &str) -> bool {
    text.chars().count() <= MOST_CHARS && !looks_secret(text)
}

/// A fact, if there is anything to it.
fn worth(fact: &str) -> Option<String> {
    let fact = fact.trim();
    (Said::of(fact).words.len() >= 2).then(|| fact.to_owned())
}

/// Whether a sentence asks to remember something.
enum Asked {
    /// It does, this.
    Fact(String),
    /// It does, or asks whether something is remembered; but there is nothing to it.
    Nothing,
    No,
}

/// A sentence and its words.
pub(super) struct Said<'t> {
    text: &'t str,
    /// In small letters, each with where it begins and ends.
    pub(super) words: Vec<(String, usize, usize)>,
}

impl<'t> Said<'t> {
    pub(super) fn of(text: &'t str) -> Said<'t> {
        let mut words = Vec::new();
        let mut begin = None;
        let in_word = |c: char| c.is_alphanumeric() || matches!(c, '\'' | '’');
        for (at, c) in text.char_indices().chain([(text.len(), ' ')]) {
            match begin {
                None if c.is_alphanumeric() => begin = Some(at),
                Some(from) if !in_word(c) => {
                    words.push((text[from..at].to_lowercase().replace('’', "'"), from, at));
                    begin = None;
                }
                _ => {}
            }
        }
        Said { text, words }
    }

    /// How many words the phrase has, if it stands at that word.
    fn phrase_at(&self, at: usize, phrase: &str) -> Option<usize> {
        let mut count = 0;
        for word in phrase.split(' ') {
            if self.words.get(at + count)?.0 != word {
                return None;
            }
            count += 1;
        }
        Some(count)
    }

    /// The longest of the phrases that stand at that word, in words.
    pub(super) fn any_at(&self, at: usize, phrases: &[&str]) -> Option<usize> {
        phrases.iter().filter_map(|phrase| self.phrase_at(at, phrase)).max()
    }

    pub(super) fn begins(&self, phrases: &[&str]) -> bool {
        self.any_at(0, phrases).is_some()
    }

    pub(super) fn has(&self, phrases: &[&str]) -> bool {
        (0..self.words.len()).any(|at| self.any_at(at, phrases).is_some())
    }

    /// What comes after one of the phrases, if it begins with one and goes on.
    fn after(&self, phrases: &[&str]) -> Option<Said<'t>> {
        let count = self.any_at(0, phrases)?;
        let (_, from, _) = self.words.get(count)?;
        Some(Said::of(&self.text[*from..]))
    }

    /// What comes after what people say before they come to the point.
    pub(super) fn without_openers(self) -> Said<'t> {
        let mut said = self;
        while let Some(rest) = said.after(OPENERS) {
            said = rest;
        }
        said
    }

    /// What comes after `Could you please`.
    pub(super) fn without_politeness(&self) -> Said<'t> {
        let polite = self.after(POLITE).map(|rest| rest.after(POLITE).unwrap_or(rest));
        polite.unwrap_or_else(|| Said::of(self.text))
    }

    pub(super) fn asks_to_remember(&self) -> bool {
        self.without_politeness().begins(REMEMBER)
    }

    /// Whether it tells what somebody else says.
    fn tells_of_speech(&self) -> bool {
        let users = |at: usize| at > 0 && ["i", "we", "ich", "wir"].contains(&self.words[at - 1].0.as_str());
        (0..self.words.len()).any(|at| self.any_at(at, SPEECH).is_some() && !users(at))
    }

    fn is_asked(&self) -> bool {
        self.text.trim_end_matches(['"', '\'', ')', ' ', '!', '.', '”']).ends_with('?')
    }

    /// What the user asks to remember.
    fn to_remember(&self) -> Asked {
        let polite = self.after(POLITE).map(|rest| rest.after(POLITE).unwrap_or(rest));
        let said = polite.as_ref().unwrap_or(self);
        let noted = said.any_at(0, NOTE).filter(|&count| {
            let (_, _, end) = &said.words[count - 1];
            said.any_at(count, THAT).is_some() || said.text[*end..].starts_with(':')
        });
        let Some(count) = said.any_at(0, REMEMBER).or(noted) else { return Asked::No };
        // `Remember my name?` asks, and so does `Can you remember my name?`; `Can you remember that …?` does not.
        let asked = self.is_asked() && (polite.is_none() || said.any_at(count, THAT).is_none());
        if asked || said.any_at(count, NO_FACT).is_some() {
            return Asked::Nothing;
        }
        // `Remember to …` says what to do, not what is so.
        let to = said.phrase_at(count, "to").is_some();
        let from = if to { 0 } else { count + said.any_at(count, THAT).unwrap_or(0) };
        match said.words.get(from) {
            Some((_, from, _)) => Asked::Fact(said.with_marks_before(*from).trim_end_matches('?').to_owned()),
            None => Asked::Nothing,
        }
    }

    /// The text from there on, with a mark right before it: `` ` `` or `"`.
    fn with_marks_before(&self, from: usize) -> &'t str {
        let before =
            self.text[..from].trim_end_matches(['`', '"', '\'', '(', '$', '/', '.', '~', '*', '_', '@', '#', '-', '+']);
        &self.text[before.len()..]
    }

    /// The text, if it tells something of the user; or, if that may be, how things are to be done.
    fn of_user(&self, rules: bool) -> Option<String> {
        if self.is_asked() || self.tells_of_speech() || (self.begins(QUESTIONS) && !self.begins(RULES)) {
            return None;
        }
        let polite = self.after(POLITE);
        for said in [Some(self), polite.as_ref()].into_iter().flatten() {
            if said.is_rule() || said.begins(NAMES) {
                return rules.then(|| said.text.to_owned());
            }
        }
        if self.has(REQUESTS) || self.has(TROUBLE) || self.is_passing() || self.any_at(0, BE) == Some(self.words.len())
        {
            return None;
        }
        let (_, _, end) = self.words.first()?;
        // `I/O` and `I.` are not the user.
        let apart = self.text[*end..].starts_with([' ', ',']);
        let own = || self.has(POSSESSIVES);
        let subject = apart && (self.begins(SUBJECTS) || self.begins(POSSESSIVES));
        let told = subject
            || (self.begins(ARTICLES) && own())
            || (self.begins(PLACES) && (self.has(SUBJECTS) || (own() && self.has(IS))))
            || (self.has(NAMES) && !self.begins(&["if", "when", "wenn"]))
            || self.is_said_to_be_own();
        told.then(|| self.text.to_owned())
    }

    /// Whether it says how things are to be done.
    pub(super) fn is_rule(&self) -> bool {
        let told = || !self.begins(NOT_TOLD) && !self.begins(POSSESSIVES);
        (self.begins(RULES) && !self.begins(NO_RULES))
            || self.has(FROM_NOW_ON)
            || (self.any_at(1, SECOND).is_some() && told())
    }

    /// `I'm Alice`, of `I'm Alice, can you help me?`
    fn introduction(&self) -> Option<Said<'t>> {
        let (before, _) = self.text.split_once(',').filter(|_| self.begins(INTRODUCTIONS))?;
        Some(Said::of(before)).filter(|said| said.words.len() <= MOST_WORDS)
    }

    /// `Alice is my name`.
    fn is_said_to_be_own(&self) -> bool {
        let asks = ["what", "who", "which", "where", "how", "if", "whether", "was", "wer", "wo", "wie", "ob"];
        (1..self.words.len().min(5)).any(|at| {
            let before = self.words[at - 1].0.as_str();
            self.any_at(at, &["is", "are", "ist", "sind"]).is_some()
                && self.any_at(at + 1, POSSESSIVES).is_some()
                && !asks.contains(&before)
        })
    }

    /// Whether it is about what the user wants now.
    fn is_passing(&self) -> bool {
        let be = self.any_at(0, BE).filter(|&count| {
            let adverb = self.any_at(count, &["just", "still", "now", "currently", "gerade", "noch"]).unwrap_or(0);
            self.any_at(count + adverb, PASSING_NOW).is_some()
        });
        let subject = self.any_at(0, &["i", "we", "ich", "wir"]).filter(|&count| {
            let adverb = self
                .any_at(count, &["really", "just", "also", "only", "still", "now", "then", "wirklich", "auch"])
                .unwrap_or(0);
            self.any_at(count + adverb, PASSING).is_some()
        });
        let will = self.begins(&["i'll", "we'll", "i'd", "we'd"]) && !self.begins(&["i'd prefer", "we'd prefer"]);
        be.is_some() || subject.is_some() || will
    }
}

/// The sentences of a line, each with its mark.
pub(super) fn sentences(line: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut begin = 0;
    let mut chars = line.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let ends = matches!(c, '.' | '!' | '?' | '。' | '！' | '？')
            && chars.peek().is_none_or(|(_, next)| next.is_whitespace());
        if !ends || (c == '.' && is_short(&line[begin..at])) {
            continue;
        }
        let end = at + c.len_utf8();
        found.push(&line[begin..end]);
        begin = end;
    }
    found.push(&line[begin..]);
    found.retain(|sentence| !sentence.trim().is_empty());
    found.iter().map(|sentence| sentence.trim()).collect()
}

/// Whether what stands before a full stop is an abbreviation, or a letter as in `J. Smith`.
fn is_short(before: &str) -> bool {
    let word = before.rsplit(char::is_whitespace).next().unwrap_or_default().to_lowercase();
    let word = word.trim_start_matches(['(', '"', '\'', '“', '„', '«', '»', '‘']);
    let letter = word.chars().count() == 1 && word.chars().all(char::is_alphabetic) && word != "i";
    letter || SHORT.contains(&word)
}
