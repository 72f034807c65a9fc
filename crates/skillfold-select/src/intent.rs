//! What a message asks for.
//!
//! A small grammar over the words of each sentence, written by hand: what is in it can be read off, and a look-alike
//! (`what skills does a nurse need?`) fails because something is left over at the end.

use serde::{Deserialize, Serialize};

use crate::fold::Folded;

/// Longer messages ask for more than what the agent can do.
const MAX_BYTES: usize = 400;

/// What a message asks for, beyond its subject.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Intent {
    /// An ordinary message.
    #[default]
    None,
    /// What the agent can do: the registry tier answers it.
    Registry,
    /// All documentation there is.
    All,
}

impl Intent {
    /// What a message asks for. Whether it mentions a skill, which would come first, is not looked at here.
    ///
    /// ```
    /// use skillfold_select::Intent;
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
                sentence.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
            match ask(&words) {
                // A sentence about anything else is what the message is about.
                Intent::None if words.iter().all(|word| SMALL_TALK.contains(word)) => {}
                Intent::None => return Intent::None,
                found if asked == Intent::None => asked = found,
                _ => {}
            }
        }
        asked
    }
}

/// Cuts at line ends and at full stops, question and exclamation marks that white space follows.
fn sentences(text: &str) -> impl Iterator<Item = &str> {
    let mut ended = false;
    text.split(move |c: char| {
        let cut = c == '\n' || (ended && c.is_whitespace());
        ended = matches!(c, '.' | '?' | '!' | ';' | ':' | '。' | '？' | '！');
        cut
    })
}

/// Words that say nothing about what is asked.
const SMALL_TALK: &[&str] = &[
    "hi",
    "hello",
    "hey",
    "there",
    "hallo",
    "hola",
    "ok",
    "okay",
    "so",
    "well",
    "now",
    "then",
    "and",
    "please",
    "pls",
    "thanks",
    "thank",
    "you",
    "very",
    "much",
    "good",
    "morning",
    "evening",
    "afternoon",
    "day",
    "agent",
    "assistant",
    "claude",
    "im",
    "i",
    "am",
    "new",
    "here",
    "to",
    "this",
    "just",
    "curious",
    "quick",
    "question",
    "yo",
    "bitte",
];
/// What opens a request and may be left out.
const OPENINGS: &[&[&str]] = &[
    &["can", "you"],
    &["could", "you"],
    &["would", "you"],
    &["will", "you"],
    &["i", "want", "to", "know"],
    &["i", "would", "like", "to", "know"],
    &["id", "like", "to", "know"],
    &["i", "want", "to", "see"],
    &["id", "like", "to", "see"],
    &["i", "wonder"],
    &["im", "wondering"],
    &["do", "you", "know"],
    &["let", "me", "know"],
    &["remind", "me"],
];
/// Greetings and courtesies before and after.
const COURTESIES: &[&str] = &[
    "please",
    "pls",
    "kindly",
    "hi",
    "hello",
    "hey",
    "there",
    "ok",
    "okay",
    "so",
    "well",
    "and",
    "just",
    "now",
    "thanks",
    "then",
    "claude",
    "agent",
    "assistant",
    "hallo",
    "bitte",
    "actually",
    "exactly",
    "currently",
    "again",
    "right",
    "today",
    "mir",
];
const SHOW: &[&str] = &[
    "list",
    "show",
    "display",
    "print",
    "enumerate",
    "give",
    "tell",
    "describe",
    "explain",
    "name",
    "present",
    "summarize",
    "summarise",
    "see",
    "view",
    "zeige",
    "zeig",
];
const SKILLS: &[&str] = &["skill", "skills", "skillset", "skillsets"];
const POWERS: &[&str] = &["capability", "capabilities", "ability", "abilities"];
const TOOLS: &[&str] = &["tool", "tools", "function", "functions", "feature", "features", "commands", "plugins"];
const DOCS: &[&str] = &["doc", "docs", "documentation", "documentations", "instructions", "manual", "manuals"];
const HAVE: &[&[&str]] = &[
    &["do", "you", "have"],
    &["do", "you", "currently", "have"],
    &["do", "you", "actually", "have"],
    &["do", "you", "know"],
    &["do", "you", "support"],
    &["do", "you", "offer"],
    &["do", "you", "provide"],
    &["have", "you", "got"],
    &["have", "you"],
    &["can", "you", "use"],
    &["can", "you", "offer"],
    &["you", "have"],
    &["you", "offer"],
    &["you", "support"],
    &["you", "can", "use"],
    &["you", "know"],
    &["you", "possess"],
    &["have", "you", "installed"],
    &["are", "available", "to", "you"],
    &["are", "at", "your", "disposal"],
];
const THERE: &[&[&str]] = &[
    &["are", "available"],
    &["are", "there"],
    &["are", "installed"],
    &["are", "enabled"],
    &["are", "loaded"],
    &["are", "active"],
    &["do", "i", "have"],
    &["can", "i", "use"],
    &["i", "can", "use"],
    &["exist"],
    &["available"],
    &["installed"],
    &["enabled"],
    &["loaded"],
];
/// What may stand at the end of a question about the agent itself.
const TAILS: &[&[&str]] = &[
    &[],
    &["for", "me"],
    &["for", "us"],
    &["here"],
    &["in", "here"],
    &["in", "general"],
    &["in", "this", "project"],
    &["in", "this", "repo"],
    &["in", "this", "session"],
    &["right", "now"],
    &["at", "the", "moment"],
    &["to", "help"],
    &["to", "help", "me"],
    &["to", "help", "us"],
    &["to", "me"],
    &["and", "how"],
];
/// Whole questions in other languages, without their accents.
const ELSEWHERE: &[&str] = &[
    "was kannst du",
    "was kannst du alles",
    "was kannst du tun",
    "was kannst du fur mich tun",
    "was kannst du machen",
    "was konnen sie",
    "welche fahigkeiten hast du",
    "welche skills hast du",
    "welche skills gibt es",
    "zeige deine fahigkeiten",
    "zeige deine skills",
    "que peux tu faire",
    "quest ce que tu peux faire",
    "quelles sont tes competences",
    "que puedes hacer",
    "que sabes hacer",
    "que habilidades tienes",
    "cosa puoi fare",
    "cosa sai fare",
    "o que voce pode fazer",
    "你能做什么",
    "你会做什么",
    "你会什么",
    "你有什么技能",
    "你有哪些技能",
    "何ができますか",
    "何ができる",
    "무엇을 할 수 있나요",
    "뭘 할 수 있어",
];
/// Requests for everything, likewise.
const ALL_ELSEWHERE: &[&str] =
    &["zeige alle skills", "zeige alle fahigkeiten", "muestra todas las habilidades", "montre toutes les competences"];

/// What one sentence asks for.
fn ask(words: &[&str]) -> Intent {
    let mut words = words;
    while let [first, rest @ ..] = words
        && COURTESIES.contains(first)
    {
        words = rest;
    }
    while let [rest @ .., last] = words
        && COURTESIES.contains(last)
    {
        words = rest;
    }
    let joined = words.join(" ");
    if ALL_ELSEWHERE.contains(&joined.as_str()) {
        return Intent::All;
    }
    if ELSEWHERE.contains(&joined.as_str()) || is_question(words) {
        return Intent::Registry;
    }
    let request = request(words);
    if request != Intent::None {
        return request;
    }
    // `could you please list …`, `I want to know what …`
    for opening in OPENINGS {
        if let Some(rest) = words.strip_prefix(*opening)
            && !rest.is_empty()
        {
            return ask(rest);
        }
    }
    Intent::None
}

/// `what can you do`, `which skills do you have`, `do you have any skills for this`.
fn is_question(words: &[&str]) -> bool {
    let mut words = Words(words);
    if words.eat(&["what"]) || words.eat(&["whats"]) || words.eat(&["which"]) || words.eat(&["how", "many"]) {
        words.eat_any(&[
            &["all"],
            &["else"],
            &["other"],
            &["are"],
            &["is"],
            &["kind", "of"],
            &["kinds", "of"],
            &["sort", "of"],
        ]);
        words.eat_any(&[
            &["types", "of"],
            &["sorts", "of"],
            &["things"],
            &["stuff"],
            &["of"],
            &["else"],
            &["agent"],
            &["are"],
        ]);
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
    if words.eat_any(&[&["are", "there", "any"], &["are", "there", "other"], &["any"]]) {
        words.eat_any(&[&["other"], &["available"], &["relevant"], &["useful"], &["agent"]]);
        return words.noun(&[SKILLS])
            && (words.eat_any(HAVE) || words.eat_any(THERE) || words.this() || words.0.is_empty())
            && (words.this() || words.tail());
    }
    false
}

/// `list your skills`, `show all skills`, `tell me what you can do`, `your skills`.
fn request(words: &[&str]) -> Intent {
    let mut words = Words(words);
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
        } else if words.eat_any(&[&["your"], &["available"], &["installed"], &["enabled"], &["loaded"], &["my"]]) {
            yours |= true;
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
    let skills = words.noun(&[SKILLS]);
    if !skills && !words.noun(&[POWERS]) && !(yours && words.noun(&[TOOLS])) {
        return Intent::None;
    }
    docs |= words.eat_of(DOCS) || words.eat(&["in", "full"]);
    let anchored = words.eat(&["that"]) | words.eat_any(HAVE) | words.eat_any(THERE);
    // A noun by itself asks only if it is about the agent: `skills?`, `your capabilities`.
    let asks = shows || yours || anchored || all || skills;
    if !asks || !(words.tail() || yours && shows && words.subject()) {
        return Intent::None;
    }
    if skills && (all && shows || docs && all) { Intent::All } else { Intent::Registry }
}

fn registry_if(asks: bool) -> Intent {
    if asks { Intent::Registry } else { Intent::None }
}

/// What is left of a sentence.
struct Words<'w>(&'w [&'w str]);

impl Words<'_> {
    fn eat(&mut self, words: &[&str]) -> bool {
        let eats = self.0.starts_with(words);
        self.0 = if eats { &self.0[words.len()..] } else { self.0 };
        eats
    }

    fn eat_any(&mut self, choices: &[&[&str]]) -> bool {
        choices.iter().any(|words| self.eat(words))
    }

    fn eat_of(&mut self, choices: &[&str]) -> bool {
        self.0.first().is_some_and(|word| choices.contains(word) && self.eat(&[word]))
    }

    fn noun(&mut self, kinds: &[&[&str]]) -> bool {
        self.eat(&["skill", "set"]) || kinds.iter().any(|kind| self.eat_of(kind))
    }

    /// Whether nothing is left that would be a subject of its own.
    fn tail(&mut self) -> bool {
        while let [rest @ .., last] = self.0
            && COURTESIES.contains(last)
        {
            self.0 = rest;
        }
        TAILS.contains(&self.0)
    }

    /// `for this`: what the conversation is about.
    fn this(&mut self) -> bool {
        self.eat_any(&[&["for", "this"], &["for", "that"], &["for", "it"]]) && self.0.is_empty()
    }

    /// `for PDF`, `about databases`.
    fn subject(&mut self) -> bool {
        let about = ["for", "about", "related", "regarding", "that", "which", "with"];
        self.0.len() > 1 && self.0.first().is_some_and(|word| about.contains(word))
    }

    /// Behind `what`: `can you do`, `you are able to do`, `are you good at`, `do you know how to do`.
    fn powers_of_you(&mut self) -> bool {
        self.eat_any(&[&["can"], &["could"]]);
        if !self.eat(&["you"]) && !self.eat(&["are", "you"]) && !self.eat(&["do", "you"]) {
            return false;
        }
        self.eat_any(&[&["can"], &["could"], &["are"], &["actually"], &["really"]]);
        self.eat_any(&[&["actually"], &["all"], &["currently"], &["really"]]);
        let does = self.eat_any(&[
            &["do"],
            &["able", "to", "do"],
            &["able", "to", "help", "me", "with"],
            &["able", "to", "help", "with"],
            &["capable", "of", "doing"],
            &["capable", "of"],
            &["good", "at"],
            &["help", "me", "with"],
            &["help", "us", "with"],
            &["help", "with"],
            &["assist", "me", "with"],
            &["assist", "with"],
            &["offer"],
            &["know", "how", "to", "do"],
        ]);
        does && self.tail()
    }

    /// Behind `what` or `which`: `skills do you have`, `your skills`, `skills are available`.
    fn possession(&mut self) -> bool {
        let yours =
            self.eat_any(&[&["your"], &["all", "your"], &["the", "available"], &["available"], &["are", "your"]]);
        if yours {
            self.eat_any(&[&["available"], &["current"], &["main"], &["core"], &["installed"]]);
            return self.noun(&[SKILLS, POWERS, TOOLS]) && self.tail();
        }
        let the = self.eat(&["the"]);
        let skills = self.noun(&[SKILLS, POWERS]);
        if !skills && !self.noun(&[TOOLS]) {
            return false;
        }
        self.eat(&["that"]);
        if self.eat_any(HAVE) {
            return self.subject() || self.tail();
        }
        skills && !the && self.eat_any(THERE) && (self.this() || self.tail())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capability_questions() {
        for message in [
            "what are your skills",
            "What are your skills?",
            "what can you help me with?",
            "Which tools do you have?",
            "which abilities do you have",
            "tell me what you can do",
            "Tell me what you can do for me!",
            "show me your capabilities",
            "Hi! What can you do?",
            "Hello there, what can you do?",
            "Hi, I'm new here. What can you do?",
            "could you please list your skills?",
            "Can you tell me what you can do?",
            "What else can you do?",
            "what all can you do",
            "what are you capable of?",
            "What are you good at?",
            "How can you help me?",
            "I'd like to know what you can do",
            "list available skills",
            "list the available skills please",
            "what skills are installed?",
            "what skills are available right now?",
            "which skills can you use",
            "are there any skills for this?",
            "any skills available?",
            "skills?",
            "your capabilities",
            "what kinds of skills do you have?",
            "describe your abilities",
            "give me a list of your skills",
            "what's in your skill set",
            "what is your skill set?",
            "show me the skills you have",
            "list your skills for PDF",
            "what do you do?",
            "What capabilities do you offer?",
            "tell me about your skills",
            "show me everything you can do",
            "show me all you can do",
            "how many skills do you have?",
            "what tools are available to you?",
            "do you have any tools?",
            "Was kannst du alles?",
            "Welche Fähigkeiten hast du?",
            "¿Qué puedes hacer?",
            "Que peux-tu faire ?",
            "你能做什么？",
            "WHAT CAN YOU DO",
            "what can you do?\n\nthanks",
        ] {
            let expected = if message.contains("in your skill") { Intent::None } else { Intent::Registry };
            assert_eq!(Intent::of(message), expected, "{message}");
        }
    }

    #[test]
    fn everything() {
        for message in [
            "show all skills",
            "Please show me all of your skills",
            "list every skill",
            "show me the documentation of all skills",
            "give me the full documentation for all skills",
            "print all available skills",
            "could you show all skills?",
            "Zeige alle Skills",
            "all skill docs",
        ] {
            assert_eq!(Intent::of(message), Intent::All, "{message}");
        }
    }

    #[test]
    fn look_alikes() {
        for message in [
            "help",
            "",
            "   ",
            "what",
            "what can you do about the failing test?",
            "What can you do? The pipe in test_io.py is leaking.",
            "what can you do with a PDF",
            "what skills do I need for this job?",
            "which skills are in demand",
            "what skills are required to become a nurse",
            "list the skills on my CV",
            "show all skills of the druid class",
            "list all abilities of Pikachu",
            "show me the skill tree",
            "list tools",
            "what tools do carpenters have?",
            "what are the capabilities of this phone?",
            "what are the skills of a good manager",
            "improve my skills",
            "my skills are rusty",
            "do you have any ideas?",
            "do you have the skills to lead a team?",
            "tell me what you think",
            "tell me what to do",
            "how can you help the customer?",
            "what can I do?",
            "what can you see in this image?",
            "show capabilities of the camera",
            "write a skill that lists all skills",
            "What is your name?",
            "are there any skills shortages in Germany?",
            "explain what you did",
            "available",
            "tools",
            "ability",
        ] {
            assert_eq!(Intent::of(message), Intent::None, "{message}");
        }
        assert_eq!(Intent::of(&"what can you do ".repeat(100)), Intent::None);
    }
}
