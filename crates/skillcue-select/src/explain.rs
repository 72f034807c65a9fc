//! Explanations: why a skill matches a turn, or does not, and how near it came.

use serde::Serialize;
use skillcue_catalog::{Catalog, Skill};
use skillcue_format::{Manifest, pattern};

use crate::fold::{FoldClass, fold_trigger, tokens};
use crate::index::{HIDDEN, NONE, NOT_BY_PERSON, TriggerKind};
use crate::mention::sigils;
use crate::rank::reason_kind;
use crate::selector::written;
use crate::term::{MessageText, goes_on};
use crate::trigger_matches::{TriggerMatches, position};
use crate::verb::{bases, inflects};
use crate::{Hit, ReasonKind, Selector, Turn, build, files, literal};

/// The reasons why a skill matches a turn, or does not.
///
/// ```
/// # use skillcue_catalog::{Discovery, SkillRoot, Source};
/// # use skillcue_select::{Selector, Turn};
/// # let dir = tempfile::tempdir()?;
/// # std::fs::create_dir(dir.path().join("hello"))?;
/// # let text = "---\nname: hello\ndescription: Greets.\ntriggers:\n  keywords: [greeting]\n---\n";
/// # std::fs::write(dir.path().join("hello/SKILL.md"), text)?;
/// # let catalog = Discovery::new([SkillRoot::new(dir.path(), Source::User)]).run();
/// let selector = Selector::of(&catalog);
/// let why = selector.explain(&catalog, &Turn::new("two greetings in one line"), "hello");
/// assert!(why.hit.is_none());
/// let keyword = &why.triggers[1];
/// assert_eq!((keyword.trigger.as_str(), keyword.matched.as_deref()), ("greeting", None));
/// assert!(keyword.note.as_ref().unwrap().contains("`greetings`"));
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Explanation {
    /// The skill's name, as it was given.
    pub name: String,
    /// Whether the skill takes part in selection at all.
    #[serde(rename = "standing")]
    pub eligibility: Eligibility,
    /// The hit, if it matches; its rank is one more than [`before`](Self::before).
    pub hit: Option<Hit>,
    /// How many skills rank higher, if it matches.
    pub before: Option<usize>,
    /// Words of the message that the skill's description excludes; they speak against it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub excluded: Vec<String>,
    /// Words of the skill that the message says not to use; they speak against it, too.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<String>,
    /// Every trigger: the name, then those of the manifest in its order.
    pub triggers: Vec<TriggerReport>,
}

/// The answer to whether a skill takes part in selection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Eligibility {
    /// It takes part.
    Considered,
    /// It takes part only if a person writes its name with a sigil: `disable-model-invocation`.
    BySigilOnly,
    /// The organisation's policy closes it.
    Refused,
    /// It is disabled.
    Disabled,
    /// A program that it requires is missing.
    Unavailable,
    /// There is no skill of that name.
    Unknown,
}

/// The result of matching one trigger.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TriggerReport {
    /// The kind of reason that it gives.
    pub kind: ReasonKind,
    /// The trigger, as its author wrote it.
    pub trigger: String,
    /// The text that it matched: words of the message or an earlier one, a file, a language.
    pub matched: Option<String>,
    /// If it did not match: how near it came, or why it cannot match at all.
    pub note: Option<String>,
}

impl Selector {
    /// Explains why the skill of that name matches a turn, or does not: each of its triggers, and how near it came.
    pub fn explain(&self, catalog: &Catalog, turn: &Turn<'_>, name: &str) -> Explanation {
        let mut explanation = Explanation {
            name: name.to_owned(),
            eligibility: Eligibility::Unknown,
            hit: None,
            before: None,
            excluded: Vec::new(),
            refused: Vec::new(),
            triggers: Vec::new(),
        };
        let Some(id) = position(catalog, name).filter(|id| (*id as usize) < self.index.flags.len()) else {
            return explanation;
        };
        let skill = &catalog.all()[id as usize];
        let flags = self.index.flags[id as usize];
        explanation.eligibility = match () {
            () if skill.refusal().is_some() => Eligibility::Refused,
            () if !skill.enabled() => Eligibility::Disabled,
            () if !skill.available() => Eligibility::Unavailable,
            () if flags & HIDDEN != 0 => Eligibility::BySigilOnly,
            () => Eligibility::Considered,
        };
        self.ranked(catalog, turn, |gathered, sums| {
            if sums.get(id).is_some() {
                explanation.before = sums.best(usize::MAX).iter().position(|other| *other == id);
                explanation.hit = Some(self.hit(catalog, turn, gathered, sums, id));
            }
            explanation.triggers = self.reports(turn, gathered, id, skill);
        });
        let mut typed = false;
        sigils(turn.message, |mentioned, _| {
            typed |= mentioned == name;
            false
        });
        if typed
            && flags & NOT_BY_PERSON != 0
            && let Some(report) = explanation.triggers.first_mut()
        {
            report.note.get_or_insert_with(|| "it is not `user-invocable`: a sigil does not reach it".to_owned());
        }
        explanation
    }

    /// Returns the results of all triggers of a skill.
    fn reports(&self, turn: &Turn<'_>, gathered: &TriggerMatches, id: u32, skill: &Skill) -> Vec<TriggerReport> {
        let text = MessageText::of(turn.message);
        let manifest = skill.manifest();
        let report = |(ordinal, &item): (usize, &u32)| {
            let trigger = written(skill.name(), manifest, ordinal).unwrap_or_default();
            let sigil = gathered.sigils.iter().find(|mention| ordinal == 0 && mention.skill == id);
            let kind = if item == NONE { kind_of_unindexed(manifest, ordinal) } else { self.index.kind(item) };
            let matched = match sigil {
                Some(mention) => Some(turn.message[mention.span.clone()].to_owned()),
                None if item == NONE => None,
                None => gathered.get(item).map(|found| found.text(turn).0),
            };
            let note = match matched {
                Some(_) => None,
                None if item == NONE => Some(why_never(trigger, kind)),
                None => self.note(&text, turn, item, trigger),
            };
            let kind = if sigil.is_some() { ReasonKind::Mention } else { reason_kind(kind) };
            TriggerReport { kind, trigger: trigger.to_owned(), matched, note }
        };
        self.index.triggers(id).iter().enumerate().map(report).collect()
    }

    /// Returns how near a trigger came that did not match.
    fn note(&self, text: &MessageText<'_>, turn: &Turn<'_>, item: u32, trigger: &str) -> Option<String> {
        let folded = self.index.text(item);
        match self.index.kind(item) {
            TriggerKind::Keyword | TriggerKind::Phrase => term_note(text, folded, trigger, "keyword"),
            TriggerKind::Verb => term_note(text, folded, trigger, "verb"),
            TriggerKind::Name => name_note(text, folded, trigger),
            TriggerKind::Pattern => pattern_note(folded, turn.message),
            TriggerKind::BadPattern => {
                let reason = pattern::compile(folded).err().map_or_else(String::new, |error| pattern::reason(&error));
                Some(format!("it is not a valid regular expression: {reason}"))
            }
            TriggerKind::File if turn.files.is_empty() => Some("the turn has no files".to_owned()),
            TriggerKind::File => Some(match files::compile(folded).err() {
                Some(error) => format!("it is not a valid glob: {}", error.kind()),
                None => format!("no file of the turn matches, not even `{}`", turn.files[0]),
            }),
            TriggerKind::Language if turn.languages.is_empty() => Some("the turn has no languages".to_owned()),
            TriggerKind::Language => Some(format!("the turn's languages are {}", turn.languages.join(", "))),
        }
    }
}

/// Returns the literals that a pattern requires, if the message has none of them.
fn pattern_note(text: &str, message: &str) -> Option<String> {
    if let Err(error) = pattern::compile(text) {
        return Some(format!("it never matches: {}", pattern::reason(&error)));
    }
    let needs = literal::required(text).ok().flatten()?;
    let message = literal::scanned(message);
    if needs.iter().any(|literal| memchr::memmem::find(message.as_bytes(), literal).is_some()) {
        return None;
    }
    let some: Vec<String> = needs.iter().take(3).map(|text| format!("`{}`", String::from_utf8_lossy(text))).collect();
    Some(format!("the message must contain {}", some.join(" or ")))
}

/// Returns the kind of a trigger that is not in the index.
fn kind_of_unindexed(manifest: &Manifest, ordinal: usize) -> TriggerKind {
    let triggers = manifest.triggers();
    let lists = [
        (triggers.keywords.len(), TriggerKind::Keyword),
        (triggers.verbs.len(), TriggerKind::Verb),
        (triggers.patterns.len(), TriggerKind::Pattern),
        (triggers.files.len(), TriggerKind::File),
        (triggers.languages.len(), TriggerKind::Language),
    ];
    let mut left = ordinal.saturating_sub(1);
    for (length, kind) in lists {
        if left < length {
            return kind;
        }
        left -= length;
    }
    TriggerKind::Keyword
}

/// Returns the reason why a trigger never matches.
fn why_never(trigger: &str, kind: TriggerKind) -> String {
    if fold_trigger(trigger).is_empty() {
        return "it is empty".to_owned();
    }
    let terms = matches!(kind, TriggerKind::Keyword | TriggerKind::Verb | TriggerKind::Phrase | TriggerKind::Name);
    let (words, bytes) = (build::MAX_TOKENS, if terms { build::MAX_TERM_BYTES } else { build::MAX_PATTERN_BYTES });
    if terms {
        format!("it never matches: it has more than {words} words or {bytes} bytes")
    } else {
        format!("it never matches: it has more than {bytes} bytes")
    }
}

/// Returns how near a keyword or a verb came.
fn term_note(text: &MessageText<'_>, term: &str, trigger: &str, what: &str) -> Option<String> {
    let words: Vec<&str> = tokens(term).into_iter().map(|token| &term[token.range()]).collect();
    let shown = |at: usize| &text.original[text.source(text.tokens[at].range())];
    if words.len() > 1 {
        let missing: Vec<&&str> =
            words.iter().filter(|word| !(0..text.tokens.len()).any(|at| text.word(at) == **word)).collect();
        return match missing.len() {
            0 => Some(format!("all words of {what} `{trigger}` are there, but not together and in this order")),
            n if n < words.len() => Some(format!("of {what} `{trigger}` the message lacks `{}`", missing[0])),
            _ => None,
        };
    }
    let word = words.first().filter(|word| **word == term)?;
    for at in 0..text.tokens.len() {
        let other = text.word(at);
        if other == *word {
            let after = &text.folded.text[text.tokens[at].range().end..];
            if goes_on(after) {
                let more: String = after.chars().take_while(|c| !c.is_whitespace()).collect();
                let seen = format!("{}{more}", shown(at));
                return Some(format!("{what} `{trigger}` does not match `{seen}`: the word goes on"));
            }
            return Some(format!("{what} `{trigger}` is in the message, but not as a word of its own"));
        }
        if what == "keyword" && is_relative(word, other) {
            let seen = shown(at);
            return Some(format!(
                "keyword `{trigger}` does not match `{seen}`: keywords are not inflected; add `{seen}` as a keyword"
            ));
        }
    }
    for at in 0..text.tokens.len() {
        let other = text.word(at);
        let alike = word.len() > 2 && text.tokens[at].class == FoldClass::Word;
        let stem = word.strip_suffix('e').unwrap_or(word);
        if alike && other.len() > word.len() && (other.starts_with(stem) || other.ends_with(word)) {
            let seen = shown(at);
            return Some(format!(
                "{what} `{trigger}` does not match `{seen}`: whole words only; add `{seen}` as a keyword"
            ));
        }
        if alike && word.len() > 4 && strsim::damerau_levenshtein(word, other) == 1 {
            return Some(format!("{what} `{trigger}` differs from `{}` by one letter", shown(at)));
        }
    }
    None
}

/// Returns whether one of two words is an inflection of the other, or both are of a third.
fn is_relative(word: &str, other: &str) -> bool {
    if inflects(word, other) || inflects(other, word) {
        return true;
    }
    let mut relative = false;
    bases(word, |base| relative |= base == other || inflects(base, other));
    relative
}

/// Returns how near a name of several words came.
fn name_note(text: &MessageText<'_>, term: &str, name: &str) -> Option<String> {
    let joined: String = fold_trigger(term).replace(' ', "");
    for at in 0..text.tokens.len() {
        if text.word(at) == joined {
            let seen = &text.original[text.source(text.tokens[at].range())];
            return Some(format!("the name `{name}` does not match `{seen}`: write `${name}`, or its words apart"));
        }
    }
    text.folded.text.contains(&term.replace(' ', "-")).then(|| format!("`{name}` is part of a longer name"))
}
