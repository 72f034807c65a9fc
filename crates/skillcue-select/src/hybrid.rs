//! Hybrid selection: triggers and text relevance together.

use std::collections::HashMap;
use std::sync::LazyLock;

use skillcue_catalog::Catalog;
use skillcue_format::{ORDINARY_FILES, ORDINARY_MESSAGES};

use crate::files::{name_of, path_of};
use crate::index::{NONE, TriggerKind};
use crate::name_use::NameUse;
use crate::rank::weight;
use crate::relevance::acts::{is_definition, is_thanks};
use crate::relevance::fusion::MAX_ONE_WORD as NOT_A_MATCH;
use crate::relevance::message::MAX_MESSAGE;
use crate::relevance::refusal::{Refusals, lowered, refused};
use crate::relevance::tokens::head;
use crate::selector::RankedHits;
use crate::{
    Hit, Meaning, Mention, Mode, Reason, ReasonKind, SearchContext, SelectOptions, Selection, Selector, TextHit,
    TextIndex, Turn,
};

/// How many hits of either side are combined, at least: one that both have may rank low in each.
const MIN_DEPTH: usize = 32;

/// With more triggers than this, each counts for less: one that has all words of a language would fire for everything.
const MAX_FULL_TRIGGERS: f32 = 20.0;
/// With more languages than this, each counts for less.
const MAX_FULL_LANGUAGES: f32 = 4.0;

/// From which part of the greatest rarity on a word is telling: about that of a word which one skill in fifty has.
const TELLING: f32 = 0.5;

impl Selector {
    /// Selects the skills that fit a turn by triggers and by the relevance of their texts to the message. Without
    /// [`Mode::Hybrid`] the texts are not used.
    ///
    /// Mentions by sigil come first. The rest ranks by certainty: by text relevance, and by the triggers which an author
    /// has declared, less the less telling they are among the skills' texts; a keyword that tells gives 0.68 by itself,
    /// a phrase 0.85. A name is evidence of the text, not a trigger, unless the message calls it: "use the pricing skill".
    ///
    /// ```
    /// use skillcue_catalog::{Discovery, SkillRoot, Source};
    /// use skillcue_select::{Mode, SelectOptions, Selector, TextIndex, Turn};
    ///
    /// let dir = tempfile::tempdir()?;
    /// for (name, does) in [("invoices", "Writes invoices and reminders."), ("hiking", "Plans hikes in the Alps.")] {
    ///     std::fs::create_dir(dir.path().join(name))?;
    ///     let text = format!("---\nname: {name}\ndescription: {does}\n---\n");
    ///     std::fs::write(dir.path().join(name).join("SKILL.md"), text)?;
    /// }
    /// let catalog = Discovery::new([SkillRoot::new(dir.path(), Source::Project)]).run();
    /// let (selector, texts) = (Selector::of(&catalog), TextIndex::of(&catalog));
    ///
    /// let turn = Turn::new("plan a hike for Sunday");
    /// let options = SelectOptions { mode: Mode::Hybrid, ..SelectOptions::default() };
    /// assert_eq!(selector.select_with(&catalog, &texts, &turn, &options).hits[0].name, "hiking");
    /// assert_eq!(selector.select(&catalog, &turn, &options).hits, [], "it has no triggers");
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn select_with(
        &self,
        catalog: &Catalog,
        texts: &TextIndex,
        turn: &Turn<'_>,
        options: &SelectOptions,
    ) -> Selection {
        if options.mode == Mode::Keyword {
            return self.select(catalog, turn, options);
        }
        self.by_both(catalog, texts, turn, options.limit, None).selection(turn)
    }

    /// Like [`select_with`](Selector::select_with) in [`Mode::Hybrid`], with what a sentence model says.
    pub fn select_by_meaning(
        &self,
        catalog: &Catalog,
        texts: &TextIndex,
        meaning: &Meaning<'_>,
        turn: &Turn<'_>,
        limit: usize,
    ) -> Selection {
        self.by_both(catalog, texts, turn, limit, Some(meaning)).selection(turn)
    }

    /// Returns the skills that come closest to a turn by triggers and texts, best first: the hits that
    /// [`Selector::select_with`] finds in [`Mode::Hybrid`].
    ///
    /// ```
    /// use skillcue_catalog::{Discovery, SkillRoot, Source};
    /// use skillcue_select::{Selector, TextIndex, Turn};
    ///
    /// let dir = tempfile::tempdir()?;
    /// std::fs::create_dir(dir.path().join("hiking"))?;
    /// let text = "---\nname: hiking\ndescription: Plans hikes in the Alps.\n---\n";
    /// std::fs::write(dir.path().join("hiking/SKILL.md"), text)?;
    /// let catalog = Discovery::new([SkillRoot::new(dir.path(), Source::Project)]).run();
    /// let (selector, texts) = (Selector::of(&catalog), TextIndex::of(&catalog));
    ///
    /// let closest = selector.closest(&catalog, &texts, &Turn::new("plan a hike for Sunday"), 3);
    /// assert_eq!(closest[0].name, "hiking");
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn closest(&self, catalog: &Catalog, texts: &TextIndex, turn: &Turn<'_>, limit: usize) -> Vec<Hit> {
        self.by_both(catalog, texts, turn, limit, None).hits
    }

    fn by_both(
        &self,
        catalog: &Catalog,
        texts: &TextIndex,
        turn: &Turn<'_>,
        limit: usize,
        meaning: Option<&Meaning<'_>>,
    ) -> RankedHits {
        let depth = limit.max(MIN_DEPTH);
        let mut matches = self.by_triggers(catalog, turn, depth);
        let beyond = matches.matched - matches.hits.len();
        let mut mentions: HashMap<usize, f32> = HashMap::new();
        let head = head(turn.message, MAX_MESSAGE);
        let (refused, lower) = (refused(head), lowered(head));
        let need = MessageNeed { definition: is_definition(turn.message), thanks: is_thanks(turn.message) };
        matches.hits.retain_mut(|hit| {
            let clear = self.weigh_triggers(hit, catalog, texts, (turn.message, &lower, need), &refused);
            if clear > 0.0 {
                mentions.insert(hit.skill, clear);
            }
            !hit.reasons.iter().all(|reason| reason.kind == ReasonKind::Recent)
        });
        let context = SearchContext {
            usable: &|skill| self.is_visible(catalog, skill),
            mention: &|skill| mentions.get(&skill).copied().unwrap_or(0.0),
            meaning,
            refused: Some(&refused),
        };
        let ranking = texts.search_with(turn.message, depth, &context);
        let mut positions: HashMap<usize, usize> =
            matches.hits.iter().enumerate().map(|(at, hit)| (hit.skill, at)).collect();
        let nearby = (!turn.nearby.is_empty()).then(|| self.trigger_matches(catalog, turn)).flatten();
        let mut ranks: HashMap<usize, usize> = HashMap::new();
        for (rank, alike) in ranking.hits.into_iter().enumerate() {
            let Some(skill) = catalog.all().get(alike.skill) else { continue };
            ranks.insert(alike.skill, rank);
            let at = *positions.entry(alike.skill).or_insert_with(|| {
                let mut hit = Hit { skill: alike.skill, name: skill.name().to_owned(), ..Hit::default() };
                if let (Some(gathered), Ok(number)) = (&nearby, u32::try_from(alike.skill)) {
                    hit.reasons = self.nearby(catalog, turn, gathered, number);
                    hit.score = hit.reasons.iter().map(|reason| reason.score).sum();
                    hit.certainty = declared(hit.reasons.iter().map(|_| NEARBY_SHARE));
                }
                matches.hits.push(hit);
                matches.hits.len() - 1
            });
            let hit = &mut matches.hits[at];
            if mentions.contains_key(&hit.skill) && hit.mention.is_none() {
                hit.mention = Some(Mention::Name);
            }
            add(hit, alike);
            if hit.mention != Some(Mention::Sigil)
                && !hit.reasons.iter().any(|reason| reason.kind == ReasonKind::Mention)
            {
                hit.certainty = need.asked(hit.certainty);
            }
        }
        matches.matched = matches.hits.len() + beyond;
        let rank = |hit: &Hit| ranks.get(&hit.skill).copied().unwrap_or(usize::MAX);
        matches.hits.sort_by(|a, b| {
            let called = |hit: &Hit| hit.mention == Some(Mention::Sigil);
            // Equals by their scores, in which nearby files and recent use count.
            let certainty = b.certainty.total_cmp(&a.certainty).then(b.score.total_cmp(&a.score));
            called(b).cmp(&called(a)).then(certainty).then(rank(a).cmp(&rank(b))).then(a.skill.cmp(&b.skill))
        });
        matches.hits.truncate(limit);
        matches
    }

    /// Weighs the triggers of a hit by how telling they are, and less where the skill has very many. Takes its name out of
    /// its triggers unless the message calls it, and returns how clearly the message has it: 0, not at all; 1, as it is
    /// written or in rare words; 2, in quotation marks, beside "skill", or called.
    fn weigh_triggers(
        &self,
        hit: &mut Hit,
        catalog: &Catalog,
        texts: &TextIndex,
        (message, lower, need): (&str, &str, MessageNeed),
        refused: &Refusals,
    ) -> f32 {
        if hit.mention == Some(Mention::Sigil) {
            (hit.certainty, hit.likelihood) = (1.0, 1.0);
            return 0.0;
        }
        let mut clear: f32 = 0.0;
        hit.mention = None;
        let name = hit.name.clone();
        // The front matter is read only where a keyword is the name.
        let is_declared = || {
            let skill = catalog.all().get(hit.skill);
            skill.is_some_and(|skill| {
                skill.manifest().triggers().keywords.iter().any(|it| it.eq_ignore_ascii_case(&name))
            })
        };
        hit.reasons.retain_mut(|reason| {
            if reason.span.as_ref().is_some_and(|span| refused.covers(span)) {
                return false;
            }
            let is_mention = reason.kind == ReasonKind::Mention;
            // A name of one word is a keyword in `keyword` mode only, unless it is declared as one.
            let is_name = reason.kind == ReasonKind::Keyword && reason.trigger.eq_ignore_ascii_case(&name);
            if is_mention || is_name {
                let around =
                    reason.span.as_ref().map_or(NameUse::Word, |_| NameUse::of(lower, &reason.text.to_lowercase()));
                let own = if is_mention { clarity(reason, &name, texts, around) } else { 0.0 };
                clear = clear.max(if around == NameUse::Called { CALLED_CLARITY } else { own });
                if around == NameUse::Called {
                    reason.kind = ReasonKind::Mention;
                    return true;
                }
            }
            !(is_mention || is_name && !is_declared())
        });
        let triggers = u32::try_from(hit.skill).map_or(&[][..], |skill| self.index.triggers(skill));
        let few = few_of(triggers.len(), MAX_FULL_TRIGGERS);
        let languages = triggers.iter().filter(|item| self.is_of(**item, TriggerKind::Language)).count();
        let few_languages = few_of(languages, MAX_FULL_LANGUAGES);
        // One skill in thirty among a thousand may have it.
        let rare = |reason: &Reason| (reason.score / weight(reason.kind) / TELLING).min(1.0);
        let telling = |reason: &Reason| {
            let words = if reason.kind == ReasonKind::Pattern { &reason.text } else { &reason.trigger };
            let telling = (texts.telling(words).0 / TELLING).min(1.0);
            let certainty = match reason.kind {
                ReasonKind::Mention => CALLED,
                ReasonKind::Phrase => need.asked(0.85 * telling),
                ReasonKind::Pattern => need.asked(0.8 * telling * self.special(triggers, reason, message)),
                ReasonKind::Keyword => need.asked(0.68 * telling),
                ReasonKind::Verb => need.asked(0.5 * telling),
                ReasonKind::File => need.carried(0.75 * rare(reason) * self.special(triggers, reason, message)),
                ReasonKind::Language => need.carried(0.68 * rare(reason) * few_languages),
                ReasonKind::Nearby => NEARBY_SHARE,
                ReasonKind::Text | ReasonKind::Recent | ReasonKind::Judge | ReasonKind::Use => 0.0,
            };
            let few = if reason.kind == ReasonKind::Mention { 1.0 } else { few };
            certainty * few * if reason.span.is_some() || !is_of_words(reason.kind) { 1.0 } else { 0.5 }
        };
        hit.certainty = declared(hit.reasons.iter().map(telling));
        hit.confidence = hit.certainty;
        hit.likelihood = hit.certainty;
        hit.score = hit.reasons.iter().map(|reason| reason.score).sum();
        clear
    }

    fn is_of(&self, item: u32, kind: TriggerKind) -> bool {
        item != NONE && self.index.kind(item) == kind
    }

    /// Returns how special a pattern or a glob is: 1 if it fits a quarter of ordinary messages or files at most, 0 from half of
    /// them on. A pattern may fit all messages of some length, so shorter ones than half of this one do not count.
    fn special(&self, triggers: &[u32], reason: &Reason, message: &str) -> f32 {
        let kind = if reason.kind == ReasonKind::Pattern { TriggerKind::Pattern } else { TriggerKind::File };
        let is_it = |item: &&u32| self.is_of(**item, kind) && self.index.text(**item) == reason.trigger.trim();
        let Some(&item) = triggers.iter().find(is_it) else { return 1.0 };
        let text = self.index.text(item);
        let share = if kind == TriggerKind::Pattern {
            let Some(pattern) = self.compiled.pattern(item, text) else { return 1.0 };
            let least = (message.len() / 2).min(LONG_ORDINARY);
            let apart =
                share_of(ORDINARY_MESSAGES.iter().filter(|it| it.len() >= least).map(|it| pattern.is_match(it)));
            // A pattern that asks for a length fits them all, one behind the other in one line.
            if reason.text.len() > LONG_ORDINARY {
                apart.max(share_of(LINES.iter().map(|it| pattern.is_match(it))))
            } else {
                apart
            }
        } else {
            let Some(glob) = self.compiled.glob(item, text) else { return 1.0 };
            let subject = |file: &'static str| if text.contains('/') { path_of(file) } else { name_of(file) };
            share_of(ORDINARY_FILES.iter().map(|it| glob.is_match(subject(it))))
        };
        ((MOST_ORDINARY - share) / (MOST_ORDINARY - FEW_ORDINARY)).clamp(0.0, 1.0)
    }
}

/// The share of ordinary messages or files up to which a pattern or a glob counts in full, and from which on it does not count.
const FEW_ORDINARY: f32 = 0.25;
const MOST_ORDINARY: f32 = 0.5;
/// The length in bytes from which on all ordinary messages count as short.
const LONG_ORDINARY: usize = 100;
/// How many ordinary messages are in one of the long lines.
const IN_LINE: usize = 8;
/// Ordinary messages, some one behind the other in one line, for a pattern that asks for no more than a length.
static LINES: LazyLock<Vec<String>> = LazyLock::new(|| {
    let line = |some: &[&str]| some.join(" ").replace('\n', " ");
    ORDINARY_MESSAGES.chunks(IN_LINE).map(line).collect()
});

/// Returns the share of answers that are true.
fn share_of(answers: impl Iterator<Item = bool>) -> f32 {
    let (all, fitting) = answers.fold((0_u8, 0_u8), |(all, fitting), it| (all + 1, fitting + u8::from(it)));
    f32::from(fitting) / f32::from(all.max(1))
}

/// The need of a message, as far as declared triggers are concerned.
#[derive(Debug, Clone, Copy)]
struct MessageNeed {
    /// Whether it asks for a definition, or says that something works.
    definition: bool,
    /// Whether it gives thanks and asks for nothing.
    thanks: bool,
}

impl MessageNeed {
    /// Returns the certainty that words give: in a question about them, or thanks, no more than a likeness in one word.
    fn asked(self, certainty: f32) -> f32 {
        if self.definition { certainty.min(NOT_A_MATCH) } else { certainty }
    }

    /// Returns the certainty that a file or a language gives: beside mere thanks it is no body's.
    fn carried(self, certainty: f32) -> f32 {
        if self.thanks { certainty.min(NOT_A_MATCH) } else { certainty }
    }
}

/// Returns the part that each of `count` triggers weighs, of which `most` weigh all.
fn few_of(count: usize, most: f32) -> f32 {
    #[expect(clippy::cast_precision_loss, reason = "a count of triggers")]
    let few = most / count.max(1) as f32;
    few.min(1.0)
}

/// The share of the lesser evidence that counts beside the greater.
const SAME_WORDS: f32 = 0.25;
/// The certainty that a nearby file gives.
const NEARBY_SHARE: f32 = 0.35;

/// Returns the certainty that several triggers give together.
fn declared(certainties: impl Iterator<Item = f32>) -> f32 {
    1.0 - certainties.map(|one| 1.0 - one).product::<f32>()
}

/// Returns whether a reason is about words of a message. Without a range, they are in an earlier one.
fn is_of_words(kind: ReasonKind) -> bool {
    matches!(kind, ReasonKind::Phrase | ReasonKind::Pattern | ReasonKind::Keyword | ReasonKind::Verb)
}

/// The certainty that a skill is meant whose name is called: "use the pricing skill". With it a body is shown, unless the texts
/// speak clearly for other skills.
const CALLED: f32 = 0.67;
/// How clearly a message has a name that it calls, or quotes.
const CALLED_CLARITY: f32 = 2.0;

/// Returns how clearly a message has a name of several words, of which it makes some use.
fn clarity(reason: &Reason, name: &str, texts: &TextIndex, around: NameUse) -> f32 {
    let written = name.contains(['-', '_']) && reason.text.eq_ignore_ascii_case(name);
    let is_rare = || texts.telling(name).1 >= TELLING;
    match around {
        NameUse::Called | NameUse::Quoted => CALLED_CLARITY,
        NameUse::Beside if written || is_rare() => CALLED_CLARITY,
        _ if written || is_rare() => 1.0,
        _ => 0.0,
    }
}

/// Adds the text relevance of a skill to its hit. Its words share the certainty, so that scores remain comparable.
fn add(hit: &mut Hit, alike: TextHit) {
    let total: f32 = alike.words.iter().map(|word| word.weight).sum();
    for word in alike.words {
        let score = if total > 0.0 { alike.certainty * word.weight / total } else { 0.0 };
        hit.reasons.push(Reason {
            kind: ReasonKind::Text,
            trigger: word.term,
            text: word.text,
            span: Some(word.span),
            score,
        });
    }
    hit.score += alike.certainty;
    hit.evidence = alike.parts;
    hit.confidence = both(hit.confidence, alike.confidence);
    let certainty = both(hit.certainty, alike.certainty);
    // Nearby files affect the rank; they never make a match of a skill that is none by its text alone.
    let is_lifted = hit.is_by_text_alone() && alike.certainty < certainty;
    hit.certainty = if is_lifted { certainty.min(NOT_A_MATCH).max(alike.certainty) } else { certainty };
    hit.likelihood = hit.certainty.max(alike.likelihood);
    hit.reasons.sort_by_key(|reason| reason.kind);
}

/// Returns the certainty of triggers and texts together: that of the surer one, and a quarter of what the other would
/// add by itself, because they have often matched the same words.
fn both(one: f32, other: f32) -> f32 {
    let (more, less) = if one > other { (one, other) } else { (other, one) };
    more + SAME_WORDS * less * (1.0 - more)
}
