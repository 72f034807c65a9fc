//! The intent of a message.
//!
//! A small grammar over the words of each sentence, written by hand: it can be read rule by rule, and a look-alike
//! (`what skills does a nurse need?`) fails because something is left over at the end.

#[cfg(test)]
mod tests;
mod words;

use serde::{Deserialize, Serialize};

use crate::fold::Folded;

use words::{
    ALL_ELSEWHERE, BEFORE_WHAT, COURTESIES, DOCS, ELSEWHERE, FIT, HAVE, OPENINGS, POWER, POWERS, SHORT, SHOW, SKILLS,
    SMALL_TALK, TAILS, THERE, TOOLS, USE, WHAT_KIND,
};

/// Longer messages ask for more than a list of the agent's skills.
const MAX_BYTES: usize = 400;

/// The intent of a message, beyond its subject.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Intent {
    /// An ordinary message.
    #[default]
    None,
    /// A question about what the agent can do: the registry tier answers it.
    Registry,
    /// A request for all documentation.
    All,
}

impl Intent {
    /// Returns the intent of a message. A mention of a skill, which has priority, is not considered here.
    ///
    /// ```
    /// use skillcue_select::Intent;
    /// assert_eq!(Intent::of("Hi! What can you do?"), Intent::Registry);
    /// assert_eq!(Intent::of("show all skills"), Intent::All);
    /// assert_eq!(Intent::of("What can you do about the leaking pipe?"), Intent::None);
    /// ```
    pub fn of(message: &str) -> Intent {
        if message.len() > MAX_BYTES {
            return Intent::None;
        }
        let folded = Folded::of(message).text.replace(['\'', '\u{2019}', '\u{301}', '\u{308}', '\u{300}'], "");
        let mut asked = Intent::None;
        for sentence in sentences(&folded) {
            let words: Vec<&str> =
                sentence.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).map(spelt_out).collect();
            match sentence_intent(&words) {
                // A sentence about anything else is the subject of the message.
                Intent::None if words.iter().all(|word| SMALL_TALK.contains(word)) => {}
                Intent::None => return Intent::None,
                found if asked == Intent::None => asked = found,
                _ => {}
            }
        }
        asked
    }
}

/// Returns the long form of an abbreviated word.
fn spelt_out(word: &str) -> &str {
    match word {
        "u" | "ya" => "you",
        "ur" => "your",
        other => other,
    }
}

/// Splits at line ends and at full stops, question and exclamation marks that white space follows.
fn sentences(text: &str) -> impl Iterator<Item = &str> {
    let mut ended = false;
    text.split(move |c: char| {
        let cut = c == '\n' || (ended && c.is_whitespace());
        ended = matches!(c, '.' | '?' | '!' | ';' | ':' | '。' | '？' | '！');
        cut
    })
}

/// Returns the intent of one sentence.
fn sentence_intent(words: &[&str]) -> Intent {
    let mut words = words;
    while let [first, rest @ ..] = words
        && COURTESIES.contains(first)
    {
        words = rest;
    }
    // `hello there`; but `what skills are there`
    while let [rest @ .., last] = words
        && COURTESIES.contains(last)
        && !(*last == "there" && matches!(rest, [.., "are" | "is"] | [.., "are" | "is", "out"]))
    {
        words = rest;
    }
    let joined = words.join(" ");
    if ALL_ELSEWHERE.contains(&joined.as_str()) {
        return Intent::All;
    }
    if ELSEWHERE.contains(&joined.as_str()) || SHORT.contains(&joined.as_str()) || is_question(words) {
        return Intent::Registry;
    }
    let request = request(words);
    if request != Intent::None {
        return request;
    }
    // `I'd love to hear what …`
    if let Some(at) = words.iter().position(|word| matches!(*word, "what" | "which"))
        && words[..at].iter().all(|word| BEFORE_WHAT.contains(word))
        && is_question(&words[at..])
    {
        return Intent::Registry;
    }
    // `could you please list …`
    for opening in OPENINGS {
        if let Some(rest) = words.strip_prefix(*opening)
            && !rest.is_empty()
        {
            return sentence_intent(rest);
        }
    }
    Intent::None
}

/// Returns whether it is a question about skills: `what can you do`, `which skills do you have`, `do you have any
/// skills for this`.
fn is_question(words: &[&str]) -> bool {
    let mut words = WordCursor(words);
    if words.eat(&["what"]) || words.eat(&["whats"]) || words.eat(&["which"]) || words.eat(&["how", "many"]) {
        while words.eat_any(WHAT_KIND) {}
        return words.powers_of_you() || words.possession();
    }
    if words.eat(&["how", "can", "you", "help"]) || words.eat(&["how", "could", "you", "help"]) {
        words.eat_any(&[&["me"], &["us"]]);
        return words.tail();
    }
    if words.eat_any(&[&["do", "you", "have"], &["have", "you", "got"], &["got"]]) {
        words.eat_any(&[&["any"], &["some"], &["a"], &["other"], &["more"]]);
        words.eat_any(&[
            &["other"],
            &["useful"],
            &["special"],
            &["relevant"],
            &["agent"],
            &["available"],
            &["installed"],
        ]);
        return words.noun(&[SKILLS, POWERS]) && (words.subject() || words.tail())
            || words.noun(&[TOOLS]) && words.tail();
    }
    if words.eat_any(&[
        &["are", "there", "any"],
        &["are", "there", "other"],
        &["are", "there"],
        &["are", "any"],
        &["any"],
    ]) {
        words.eat_any(&[&["other"], &["available"], &["relevant"], &["useful"], &["agent"]]);
        return words.noun(&[SKILLS])
            && (words.eat_any(HAVE) || words.eat_any(THERE) || words.this() || words.0.is_empty())
            && (words.this() || words.tail());
    }
    false
}

/// Returns the intent of a request: `list your skills`, `show all skills`, `tell me what you can do`, `your skills`.
fn request(words: &[&str]) -> Intent {
    let mut words = WordCursor(words);
    let shows = words.eat_of(SHOW);
    if shows {
        words.eat_any(&[&["me"], &["us"], &["out"]]);
        words.eat_any(&[
            &["about"],
            &["a", "list", "of"],
            &["an", "overview", "of"],
            &["the", "list", "of"],
            &["more", "about"],
        ]);
        if words.eat(&["what"])
            || words.eat(&["everything"])
            || (words.0.starts_with(&["all", "you"]) && words.eat(&["all"]))
        {
            return registry_if(words.powers_of_you());
        }
    }
    let mut all = false;
    let mut docs = false;
    let mut yours = false;
    loop {
        if words.eat_any(&[&["all"], &["every"], &["each"], &["everything"]]) {
            all = true;
        } else if words.eat_any(&[&["your"], &["available"], &["installed"], &["enabled"], &["loaded"]]) {
            yours = true;
        } else if shows && words.eat(&["my"]) {
            // Those that the person has installed.
        } else if words.eat_of(DOCS) {
            docs = true;
        } else if !words.eat_any(&[
            &["the"],
            &["of"],
            &["these"],
            &["agent"],
            &["full"],
            &["complete"],
            &["for"],
            &["current"],
        ]) {
            break;
        }
    }
    let singular = words.0.first() == Some(&"skill");
    let skills = words.noun(&[SKILLS]);
    let named = skills || words.noun(&[POWERS]) || (yours && words.noun(&[TOOLS]));
    if !named {
        return Intent::None;
    }
    docs |= words.eat_of(DOCS) || words.eat(&["in", "full"]);
    words.another(&[SKILLS, POWERS, TOOLS]);
    let anchored = words.eat(&["that"]) | words.eat_any(HAVE) | words.eat_any(THERE);
    // A noun by itself asks only if it is about the agent: `skills?`, `your capabilities`.
    let asks = shows || yours || anchored || all || (skills && !singular);
    let ends = words.tail() || (yours && shows && words.subject());
    if !asks || !ends {
        return Intent::None;
    }
    if skills && all && (shows || docs) { Intent::All } else { Intent::Registry }
}

fn registry_if(asks: bool) -> Intent {
    if asks { Intent::Registry } else { Intent::None }
}

/// The words of a sentence that are not consumed yet.
struct WordCursor<'w>(&'w [&'w str]);

impl WordCursor<'_> {
    fn eat(&mut self, words: &[&str]) -> bool {
        let eats = self.0.starts_with(words);
        self.0 = if eats { &self.0[words.len()..] } else { self.0 };
        eats
    }

    fn eat_any(&mut self, choices: &[&[&str]]) -> bool {
        // The longest: `are available to you` begins as `are available` does.
        let longest = choices.iter().filter(|words| self.0.starts_with(words)).max_by_key(|words| words.len());
        longest.is_some_and(|words| self.eat(words))
    }

    fn eat_of(&mut self, choices: &[&str]) -> bool {
        self.0.first().is_some_and(|word| choices.contains(word) && self.eat(&[word]))
    }

    fn noun(&mut self, kinds: &[&[&str]]) -> bool {
        self.eat(&["skill", "set"]) || kinds.iter().any(|kind| self.eat_of(kind))
    }

    /// Consumes a further noun: `and abilities`, `and your tools`.
    fn another(&mut self, kinds: &[&[&str]]) {
        let before = self.0;
        let goes_on = self.eat_any(&[&["and", "your"], &["and"], &["or"]]) && self.noun(kinds);
        self.0 = if goes_on { self.0 } else { before };
    }

    /// Returns whether nothing is left that would be a subject of its own.
    fn tail(&mut self) -> bool {
        while let [rest @ .., last] = self.0
            && COURTESIES.contains(last)
        {
            self.0 = rest;
        }
        TAILS.contains(&self.0)
    }

    /// Consumes `for this`, the subject of the conversation.
    fn this(&mut self) -> bool {
        let this =
            [["for", "this"], ["for", "that"], ["for", "it"], ["with", "this"], ["with", "that"], ["with", "it"]];
        this.iter().any(|words| self.eat(words)) && self.0.is_empty()
    }

    /// Returns whether a subject follows: `for PDF`, `about databases`.
    fn subject(&mut self) -> bool {
        let about = ["for", "about", "related", "regarding", "that", "which", "with"];
        self.0.len() > 1 && self.0.first().is_some_and(|word| about.contains(word))
    }

    /// Parses the words after `what`: `can you do`, `you are able to do`, `are you good at`, `do you know how to do`.
    fn powers_of_you(&mut self) -> bool {
        self.eat_any(&[&["can"], &["could"]]);
        if !self.eat_any(&[&["you"], &["are", "you"], &["do", "you"], &["this", "agent"], &["this", "assistant"]]) {
            return false;
        }
        self.eat_any(&[&["can"], &["could"], &["are"], &["actually"], &["really"]]);
        self.eat_any(&[&["actually"], &["all"], &["currently"], &["really"]]);
        self.eat_any(POWER) && self.tail()
    }

    /// Parses the words after `what` or `which`: `skills do you have`, `your skills`, `skills are available`.
    fn possession(&mut self) -> bool {
        let yours =
            self.eat_any(&[&["your"], &["all", "your"], &["the", "available"], &["available"], &["are", "your"]]);
        if yours {
            self.eat_any(&[&["available"], &["current"], &["main"], &["core"], &["installed"]]);
            let named = self.noun(&[SKILLS, POWERS, TOOLS]);
            self.another(&[SKILLS, POWERS, TOOLS]);
            self.eat_any(THERE);
            return named && self.tail();
        }
        let the = self.eat(&["the"]);
        let bare = !the && self.0.first().is_some_and(|word| SKILLS.contains(word));
        let skills = self.noun(&[SKILLS, POWERS]);
        if !skills && !self.noun(&[TOOLS]) {
            return false;
        }
        // `what skills`, `which skill should I use`: of the agent's, as long as nothing else is named.
        if bare && (self.0.is_empty() || self.eat_any(USE)) {
            self.eat_any(&[&["next"], &["now"], &["first"], &["then"]]);
            return self.this() || self.tail();
        }
        if bare && self.eat_any(FIT) {
            self.eat_any(&[&["me"], &["us"], &["you"]]);
            return self.this() || self.eat(&["this"]) && self.0.is_empty() || self.tail();
        }
        self.another(&[SKILLS, POWERS, TOOLS]);
        self.eat(&["that"]);
        if self.eat_any(HAVE) {
            return self.subject() || self.tail();
        }
        skills && !the && self.eat_any(THERE) && (self.this() || self.tail())
    }
}
