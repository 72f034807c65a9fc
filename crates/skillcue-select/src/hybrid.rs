//! Hybrid selection: triggers and text relevance together.

use std::collections::HashMap;

use skillcue_catalog::Catalog;

use crate::rank::confidence;
use crate::relevance::confidence::MAX_ONE_WORD as NOT_A_MATCH;
use crate::selector::RankedHits;
use crate::{Hit, Mode, Reason, ReasonKind, SelectOptions, Selection, Selector, TextHit, TextIndex, Turn};

/// How many hits of either side are combined, at least: one that both have may rank low in each.
const MIN_DEPTH: usize = 32;

/// The share of a trigger's certainty that counts beside text relevance, unless it is a phrase: both have matched the
/// same word.
const TRIGGER_SHARE: f32 = 0.25;

impl Selector {
    /// Selects the skills that fit a turn by triggers and by the relevance of their texts to the message. Without
    /// [`Mode::Hybrid`] the texts are not used.
    ///
    /// Mentions come first. The rest ranks by certainty, the chance that at least one of the two is right about it,
    /// `1 - (1 - t)(1 - l)`: `l` is the certainty by text relevance, `t` the confidence by triggers, a quarter of it
    /// unless a phrase matched. Confidence is combined in the same way, does not depend on the lead over other skills,
    /// and is at least that by triggers.
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
        self.by_both(catalog, texts, turn, options.limit).selection(turn)
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
        self.by_both(catalog, texts, turn, limit).hits
    }

    fn by_both(&self, catalog: &Catalog, texts: &TextIndex, turn: &Turn<'_>, limit: usize) -> RankedHits {
        let depth = limit.max(MIN_DEPTH);
        let mut matches = self.by_triggers(catalog, turn, depth);
        let ranking = texts.search(turn.message, depth, &|skill| self.is_visible(catalog, skill));
        let mut positions: HashMap<usize, usize> =
            matches.hits.iter().enumerate().map(|(at, hit)| (hit.skill, at)).collect();
        for hit in &mut matches.hits {
            if !is_certain(hit) {
                hit.certainty *= TRIGGER_SHARE;
            }
        }
        let beyond = matches.matched - matches.hits.len();
        let nearby = (!turn.nearby.is_empty()).then(|| self.trigger_matches(catalog, turn)).flatten();
        for alike in ranking.hits {
            let Some(skill) = catalog.all().get(alike.skill) else { continue };
            let at = *positions.entry(alike.skill).or_insert_with(|| {
                let mut hit = Hit {
                    skill: alike.skill,
                    name: skill.name().to_owned(),
                    score: 0.0,
                    confidence: 0.0,
                    certainty: 0.0,
                    likelihood: 0.0,
                    mention: None,
                    reasons: Vec::new(),
                };
                if let (Some(gathered), Ok(number)) = (&nearby, u32::try_from(alike.skill)) {
                    hit.reasons = self.nearby(catalog, turn, gathered, number);
                    hit.score = hit.reasons.iter().map(|reason| reason.score).sum();
                    hit.certainty = TRIGGER_SHARE * confidence(None, false, hit.score);
                }
                matches.hits.push(hit);
                matches.hits.len() - 1
            });
            add(&mut matches.hits[at], alike);
        }
        matches.matched = matches.hits.len() + beyond;
        matches.hits.sort_by(|a, b| {
            // Equals by their scores, in which recent use counts.
            let certainty = b.certainty.total_cmp(&a.certainty).then(b.score.total_cmp(&a.score));
            b.mention.cmp(&a.mention).then(certainty).then(a.skill.cmp(&b.skill))
        });
        matches.hits.truncate(limit);
        matches
    }
}

/// Returns whether it has a mention or a phrase as a reason: then its certainty is not reduced.
fn is_certain(hit: &Hit) -> bool {
    let is_phrase = |reason: &Reason| reason.kind == ReasonKind::Phrase && reason.span.is_some();
    hit.mention.is_some() || hit.reasons.iter().any(is_phrase)
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
    // The texts have matched the same word: that may raise the confidence, never lower it.
    let beside = if is_certain(hit) { 1.0 } else { TRIGGER_SHARE };
    hit.confidence = hit.confidence.max(either(beside * hit.confidence, alike.confidence));
    let certainty = either(hit.certainty, alike.certainty);
    // Nearby files affect the rank; they never make a match of a skill that is none by its text alone.
    let is_lifted = hit.is_by_text_alone() && alike.certainty < certainty;
    hit.certainty = if is_lifted { certainty.min(NOT_A_MATCH).max(alike.certainty) } else { certainty };
    hit.likelihood = hit.certainty;
    hit.reasons.sort_by_key(|reason| reason.kind);
}

/// Returns the probability that at least one of two is right.
fn either(one: f32, other: f32) -> f32 {
    1.0 - (1.0 - one) * (1.0 - other)
}
