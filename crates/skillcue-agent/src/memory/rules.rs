//! The rules that find facts in a user's message: a table of beginnings of sentences, in English and in German.
//!
//! They take what users commonly say of themselves, and rather miss a fact than take one from a text that was pasted: a
//! message is read from its beginning, line by line, up to the first sign of such a text or the first line that states
//! nothing. The model has the tool `remember` for what they miss.

use super::secret::looks_secret;
use super::{MAX_CHARS, key};

/// The most facts that one message may have.
const MAX_FACTS: usize = 20;
/// The most words that `_` is in a pattern.
const MAX_GAP: usize = 4;
/// The most bytes of a line that a person writes. A longer one was pasted.
const MAX_LINE: usize = 1_000;
/// The most bytes of all lines that count as written by a person.
const MAX_OWN: usize = 1_500;

/// A statement that is worth remembering. In both texts a word is separated by blanks, alternatives by `|`, `?` marks a
/// word that may be missing, and `_` is one to [`MAX_GAP`] words of any kind.
struct FactRule {
    /// How the sentence begins.
    begins: &'static str,
    /// How it does not go on after that: with what passes.
    unless: &'static [&'static str],
}

const fn rule(begins: &'static str, unless: &'static [&'static str]) -> FactRule {
    FactRule { begins, unless }
}

/// Continuations of `I am` that are no longer true tomorrow.
const PASSING: &[&str] = &[
    "?just|still|now|currently trying|getting|looking|having|wondering|seeing|asking|going|back|done|stuck|here",
    "?a|just|so|still sorry|confused|afraid|glad|curious|lost|bit",
    "happy|about|not|pretty|quite to|sure",
    "?gerade|noch nicht|fertig|froh|dabei|hier|am|verwirrt|sicher",
];
/// Continuations of `I have` that are no longer true tomorrow.
const TROUBLE: &[&str] = &["?a|an|no|some question|questions|problem|issue|bug|idea|error|clue", "to|been|had|got"];

/// Beginnings of introductions, which are also found in a question, before its first comma.
const INTRODUCTIONS: &[FactRule] = &[
    rule("my name is|was", &[]),
    rule("my name's", &[]),
    rule("i'm|we're", PASSING),
    rule("i|we am|are", PASSING),
    rule("mein name ist|lautet", &[]),
    rule("ich heiße|heisse", &[]),
    rule("ich|wir bin|sind", PASSING),
];

/// Beginnings of other statements about the user or the project, and of rules that the user sets.
#[rustfmt::skip]
const STATEMENTS: &[FactRule] = &[
    rule("my|our _ is|are|has|have|uses|use", &["?still|too|so broken|wrong|down|slow|stuck|missing|gone|red|here"]),
    rule("i|we ?just|also|usually|mostly|mainly|really|currently|always|never|don't|only live|lived|work|worked|use|used|\
          prefer|like|love|enjoy|hate|dislike|own|speak|study|studied|moved|grew|come|play|drink|eat|drive|maintain|\
          run|build|teach|develop|write|program|code", &["it|how"]),
    rule("i|we ?also|always|don't have", TROUBLE),
    rule("i'd|we'd prefer", &[]),
    rule("?you ?can|may call me", &["when|if|back|later"]),
    rule("everyone|people|friends call|calls me", &[]),
    rule("_ is my|our name", &[]),
    rule("always|never", &["mind|heard|seen|had|been|again|a|nice|good|happy|the"]),
    rule("from now on", &[]),
    rule("in ?the future", &[]),
    rule("by default", &[]),
    rule("mein|meine|unser|unsere _ ist|sind|heißt|heisst|hat|nutzt|lautet", &["?noch|zu kaputt|falsch|langsam|weg|rot"]),
    rule("ich wohne|lebe|arbeite|mag|liebe|hasse|bevorzuge|nutze|benutze|verwende|spreche|studiere|komme|esse|trinke|\
          fahre|spiele|programmiere|schreibe", &["nicht weiter|klar", "damit|das|es"]),
    rule("wir wohnen|leben|arbeiten|mögen|nutzen|benutzen|verwenden|bevorzugen|haben", &["ein|eine|das problem|frage"]),
    rule("ich habe", &["?ein|eine|keine|das frage|fragen|problem|ahnung|idee", "gerade|versucht|schon"]),
    rule("mir ist wichtig", &[]),
    rule("nenn|nenne|nennt mich", &[]),
    rule("immer|nie|niemals", &["noch|wieder|das|dasselbe|gehört|gesehen|im"]),
    rule("antworte|schreib|schreibe|sprich|nutze|verwende immer|nie|nur", &[]),
    rule("ab jetzt|sofort", &[]),
    rule("von jetzt|nun an", &[]),
    rule("in zukunft", &[]),
];

/// Beginnings of requests to remember the rest of the sentence.
const REMEMBER: &[FactRule] = &[
    rule("?can|could|would|will ?you ?please remember|memorize|memorise ?that|this", ASKED),
    rule("keep|bear in mind ?that", ASKED),
    rule("don't forget ?that", ASKED),
    rule("do not forget ?that", ASKED),
    rule("note|notice that", ASKED),
    rule("?kannst|könntest|können ?du|sie ?dir|sich ?bitte merken|merk|merke ?dir ?bitte ?dass|daß", ASKED),
    rule("denk|denke daran|dran ?dass|daß", ASKED),
    rule("vergiss nicht ?dass|daß", ASKED),
];
/// Continuations of `remember` by which something is asked.
const ASKED: &[&str] = &["when|how|what|where|who|why|which|if|me|us|wann|wie|was|wo|wer|warum"];

/// Beginnings of requests to forget a fact.
const FORGET: &[FactRule] = &[rule("?please forget that", ASKED), rule("vergiss ?bitte dass|daß", ASKED)];

/// Words before the point of a sentence.
const OPENERS: &[&str] = &[
    "hi|hello|hey|ok|okay|so|well|and|but|also|btw|fyi|actually|oh|yes|no|thanks|please|important",
    "hallo|übrigens|und|aber|ja|nein|danke|moin|servus|bitte|wichtig",
    "by the way",
    "thank you",
    "for ?your|the information|context|background|record",
    "as a reminder",
    "just so you know ?that",
    "some context|background",
    "you should know ?that",
    "as|like i said",
    "wie gesagt",
];

/// Beginnings of sentences that are questions or speak of something else.
const REJECTED_BEGINNINGS: &[&str] = &[
    "what|what's|who|where|when|why|how|which|whose|is|are|do|does|did|can|could|would|was|if|whether|it|that|wer|wo|wann",
    "warum|wieso|wie|welche|welcher|welches|kannst|könntest|ist|sind|weißt|ob|wenn",
];
/// Words that make a sentence a request, news of the moment, or a report of another person's words.
const REJECTED: &[&str] = &[
    "please|pls|bitte|error|errors|fail|fails|failed|failing|crash|crashes|exception|broken|fehler|kaputt|abgestürzt",
    "can|could|would|will|want|need you",
    "doesn't|don't|does|won't|not work|compile",
    "kannst|könntest|würdest|können|könnten du|sie",
    "says|said|wrote|told|tells|claims|sagt|sagte|schrieb|meinte|behauptet",
];

/// Words that point at a text that follows.
const POINTERS: &[&str] = &[
    "this|these|following|below|here|here's|dies|diese|diesen|dieses|diesem|dieser|folgende|folgenden|folgendes|unten|hier",
];

/// Words that end with a full stop, which ends no sentence.
const ABBREVIATIONS: &[&str] =
    &["e.g", "i.e", "z.b", "d.h", "u.a", "dr", "mr", "mrs", "ms", "st", "prof", "vs", "etc", "bzw", "ca", "nr", "usw"];

/// A request of the user to memory.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Statement {
    /// To remember this.
    Fact(String),
    /// To forget this.
    Forget(String),
}

/// Returns the sentences of a user's message that state something of the user or the project, or that the user wants to
/// be remembered. Questions, requests, code, quotations, pasted text and likely secrets are left out.
///
/// ```
/// use skillcue_agent::facts;
///
/// assert_eq!(facts("Hi! My name is Alice. What's the weather?"), ["My name is Alice."]);
/// assert_eq!(facts("Remember that the tests run with `cargo xtask test`"), ["the tests run with `cargo xtask test`"]);
/// assert!(facts("I want you to fix my code. My password is hunter2.").is_empty());
/// ```
pub fn facts(message: &str) -> Vec<String> {
    let fact = |statement| match statement {
        Statement::Fact(text) => Some(text),
        Statement::Forget(_) => None,
    };
    statements(message).into_iter().filter_map(fact).collect()
}

/// Returns the statements of a message, in their order.
pub(super) fn statements(message: &str) -> Vec<Statement> {
    let mut found: Vec<Statement> = Vec::new();
    for statement in stated_lines(message).concat().into_iter().filter_map(statement) {
        let is_same = |other: &Statement| match (other, &statement) {
            (Statement::Fact(one), Statement::Fact(other)) => key(one) == key(other),
            (one, other) => one == other,
        };
        if found.len() < MAX_FACTS && !found.iter().any(is_same) {
            found.push(statement);
        }
    }
    found
}

/// Returns the sentences that a model may keep: of the lines in which statements are looked for, without questions.
pub(super) fn stated_sentences(message: &str) -> Vec<&str> {
    stated_lines(message).concat().into_iter().filter(|sentence| !is_question(sentence)).collect()
}

/// Returns the words of a sentence in small letters, without those before its point.
pub(super) fn sentence_words(sentence: &str) -> Vec<String> {
    let words = SentenceWord::all(sentence);
    words[openers(&words)..].iter().map(|word| word.text.clone()).collect()
}

/// Returns the lines of a message that are the user's own, up to and with the first that states nothing: what follows it
/// may have been pasted. The one answer to whose words a message has, for the rules and for the model's tool.
fn stated_lines(message: &str) -> Vec<Vec<&str>> {
    let mut lines = Vec::new();
    let mut has_stated = false;
    for line in own_lines(message) {
        let states = line.iter().any(|sentence| statement(sentence).is_some());
        let is_greeting = line.iter().all(|sentence| is_opener(sentence));
        let is_over = if is_greeting { line.is_empty() && has_stated } else { !states };
        has_stated |= states;
        lines.push(line);
        if is_over {
            break;
        }
    }
    lines
}

/// Returns the lines of a message, each as its sentences, up to the first sign of a text that was pasted: code, markup, a
/// quotation, many or long lines, a colon that announces it, or a word like `this` on the line before it.
fn own_lines(message: &str) -> Vec<Vec<&str>> {
    let mut lines = Vec::new();
    let mut bytes = 0;
    for line in message.lines() {
        bytes += line.len();
        let trimmed = line.trim_start();
        let has_markup = trimmed.starts_with(['>', '<', '|', '#', '`', '~', '=']) || trimmed.starts_with("--");
        if has_markup || line.starts_with("    ") || line.starts_with('\t') || line.len() > MAX_LINE || bytes > MAX_OWN
        {
            break;
        }
        let all = sentences(line);
        let own: Vec<&str> = all.iter().copied().take_while(|sentence| !announces(sentence)).collect();
        let is_last = own.len() < all.len()
            || own.iter().any(|sentence| asked(sentence).is_none() && has(&SentenceWord::all(sentence), POINTERS));
        lines.push(own);
        if is_last {
            break;
        }
    }
    lines
}

/// Returns whether a sentence quotes or announces a text, with a quotation mark or with a colon.
fn announces(sentence: &str) -> bool {
    if asked(sentence).is_some() {
        return false;
    }
    let count = |marks: &[char]| sentence.matches(marks).count();
    let has_open_quotation = [&['"'][..], &['“', '”', '„'], &['«', '»']].iter().any(|marks| count(marks) % 2 == 1);
    has_open_quotation
        || sentence.starts_with(['"', '“', '„', '«', '»', '\''])
        || sentence.ends_with([':', '：'])
        || sentence.split_once(": ").is_some_and(|(clause, _)| !is_opener(clause))
}

/// Returns the statement that a sentence makes.
fn statement(sentence: &str) -> Option<Statement> {
    let text = skillcue_base::visible_line(sentence).into_owned();
    if text.chars().count() > MAX_CHARS || looks_secret(&text) {
        return None;
    }
    let statement = asked(&text).or_else(|| {
        let words = SentenceWord::all(&text);
        let words = &words[openers(&words)..];
        let from = words.first()?.start;
        let is_question = is_question(&text);
        let is_stated = |words: &[SentenceWord], rules| !has(words, REJECTED) && begins(words, rules).is_some();
        if matched(words, REJECTED_BEGINNINGS).is_some() || has(words, POINTERS) {
            return None;
        }
        if !is_question && (is_stated(words, INTRODUCTIONS) || is_stated(words, STATEMENTS)) {
            return Some(Statement::Fact(text[from..].to_owned()));
        }
        // `I'm Alice, can you help me?`
        let end = from + text[from..].find(',')?;
        let clause: Vec<SentenceWord> = words.iter().take_while(|word| word.end <= end).cloned().collect();
        is_stated(&clause, INTRODUCTIONS).then(|| Statement::Fact(text[from..end].to_owned()))
    })?;
    let (Statement::Fact(fact) | Statement::Forget(fact)) = &statement;
    (SentenceWord::all(fact).len() >= 2).then_some(statement)
}

/// Returns what a sentence asks to remember or to forget.
fn asked(sentence: &str) -> Option<Statement> {
    let words = SentenceWord::all(sentence);
    let words = &words[openers(&words)..];
    let rest = |taken: usize| {
        // With a mark right before it: `` ` `` or `"`.
        let from = words.get(taken)?.start;
        let marks = ['`', '"', '\'', '(', '$', '/', '.', '~', '*', '_', '@', '#', '-', '+'];
        Some(sentence[sentence[..from].trim_end_matches(marks).len()..].trim().trim_end_matches('?').to_owned())
    };
    if let Some(taken) = begins(words, FORGET) {
        return rest(taken).map(Statement::Forget);
    }
    let taken = begins(words, REMEMBER)?;
    // `Remember my name?` asks, and so does `Can you remember my name?`; `Can you remember that …?` does not.
    let has_that = matches!(words[taken - 1].text.as_str(), "that" | "dass" | "daß");
    if is_question(sentence) && !has_that {
        return None;
    }
    // `Remember to …` says what to do, not what is so.
    let is_task = words.get(taken).is_some_and(|word| word.text == "to");
    rest(if is_task { 0 } else { taken }).map(Statement::Fact)
}

fn is_question(sentence: &str) -> bool {
    sentence.trim_end_matches(['"', '\'', ')', ' ', '!', '.', '”']).ends_with('?')
}

/// A word of a sentence, in small letters, and its place there.
#[derive(Clone)]
struct SentenceWord {
    text: String,
    start: usize,
    end: usize,
}

impl SentenceWord {
    /// Returns the words of a text. `I'm` is one, `I/O` is one and not `I`.
    fn all(text: &str) -> Vec<SentenceWord> {
        let mut words: Vec<SentenceWord> = Vec::new();
        let is_inner = |c: char| c.is_alphanumeric() || matches!(c, '\'' | '’' | '/');
        let mut start = None;
        for (at, c) in text.char_indices().chain([(text.len(), ' ')]) {
            match start {
                None if c.is_alphanumeric() => start = Some(at),
                Some(from) if !is_inner(c) => {
                    words.push(SentenceWord {
                        text: text[from..at].to_lowercase().replace('’', "'"),
                        start: from,
                        end: at,
                    });
                    start = None;
                }
                _ => {}
            }
        }
        words
    }
}

/// Returns how many words a rule's beginning takes, where the sentence goes on, and not with what passes.
fn begins(words: &[SentenceWord], rules: &[FactRule]) -> Option<usize> {
    rules.iter().find_map(|rule| {
        let taken = pattern(words, rule.begins)?;
        let is_whole = taken < words.len() || rule.begins.starts_with('_');
        (is_whole && matched(&words[taken..], rule.unless).is_none()).then_some(taken)
    })
}

/// Returns how many words the first of these patterns takes at the beginning that is there.
fn matched(words: &[SentenceWord], patterns: &[&str]) -> Option<usize> {
    patterns.iter().find_map(|one| pattern(words, one))
}

/// Returns whether one of these patterns is anywhere in a sentence.
fn has(words: &[SentenceWord], patterns: &[&str]) -> bool {
    (0..words.len()).any(|at| matched(&words[at..], patterns).is_some())
}

fn pattern(words: &[SentenceWord], pattern: &str) -> Option<usize> {
    let (first, rest) = pattern.trim_start().split_once(' ').unwrap_or((pattern.trim_start(), ""));
    if first.is_empty() {
        return Some(0);
    }
    let go_on = |taken: usize| Some(taken + self::pattern(&words[taken..], rest)?);
    if first == "_" {
        return (1..=MAX_GAP.min(words.len())).find_map(go_on);
    }
    let is = |word: &SentenceWord| first.trim_start_matches('?').split('|').any(|option| option == word.text);
    let there = words.first().filter(|word| is(word)).and_then(|_| go_on(1));
    there.or_else(|| if first.starts_with('?') { go_on(0) } else { None })
}

/// Returns how many words at the beginning come before the point.
fn openers(words: &[SentenceWord]) -> usize {
    let mut count = 0;
    while let Some(more) = matched(&words[count..], OPENERS).filter(|more| *more > 0) {
        count += more;
    }
    count
}

/// Returns whether a text comes to no point.
fn is_opener(text: &str) -> bool {
    let words = SentenceWord::all(text);
    openers(&words) == words.len()
}

/// Returns the sentences of a line, each with its mark.
fn sentences(line: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut start = 0;
    let mut chars = line.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let is_end = matches!(c, '.' | '!' | '?' | '。' | '！' | '？')
            && chars.peek().is_none_or(|(_, next)| next.is_whitespace());
        if is_end && !(c == '.' && is_abbreviation(&line[start..at])) {
            found.push(line[start..at + c.len_utf8()].trim());
            start = at + c.len_utf8();
        }
    }
    found.push(line[start..].trim());
    found.retain(|sentence| !sentence.is_empty());
    found
}

/// Returns whether the word before a full stop is an abbreviation, or a letter as in `J. Smith`.
fn is_abbreviation(before: &str) -> bool {
    let word = before.rsplit(char::is_whitespace).next().unwrap_or_default().to_lowercase();
    let word = word.trim_start_matches(|c: char| !c.is_alphanumeric());
    let is_letter = word.chars().count() == 1 && word.chars().all(char::is_alphabetic) && word != "i";
    is_letter || ABBREVIATIONS.contains(&word)
}
