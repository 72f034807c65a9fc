//! Skills that compete: pairs whose own texts select the other one, too.
//!
//! Lists of the skills that have each word give the pairs that share enough of them. The texts of each skill of such a pair are
//! then taken for a message, and the index over texts is asked how well its partners fit it. So the number of searches is at
//! most that of skills, not of pairs, and the evidence is the one that decides for messages of users.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::LazyLock;

use rayon::prelude::*;
use serde::Serialize;
use skillcue_catalog::Skill;
use skillcue_select::SearchContext;

use crate::Skillcue;
use crate::eval::Confusion;

/// How many of the nearest skills are looked at.
const NEAREST: usize = 6;
/// How many skills are looked at where one skill alone is asked for.
const MAX_PARTNERS: usize = 12;
/// A trigger that more skills have says nothing about a pair.
const MAX_SHARING: usize = 12;
/// Most words of a list that tells a pair apart.
const MAX_WORDS: usize = 6;
/// Most bytes of a description that are taken for a message.
const MAX_TEXT: usize = 2_000;
/// The share of words from which two texts count as copies.
const COPY: f32 = 0.8;

/// Options of a look for pairs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CollisionOptions {
    /// The nearness from which a pair counts, from 0 to 1.
    pub min_nearness: f32,
}

impl Default for CollisionOptions {
    fn default() -> CollisionOptions {
        CollisionOptions { min_nearness: 0.45 }
    }
}

/// Counts of skills that were taken for others.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct CollisionEvidence<'e> {
    /// By labelled messages.
    pub messages: &'e [Confusion],
    /// By use: the skill that was used is the expected one.
    pub uses: &'e [Confusion],
}

/// A pair of skills that compete for messages.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CollidingPair {
    /// The two names, in the order of the alphabet.
    pub skills: [String; 2],
    /// How near their texts are, from 0 to 1: the share of their words, weighed by rarity, that both have; more, if the
    /// texts of each select the other.
    pub nearness: f32,
    /// For each, how surely its own text selects the other one.
    pub selects: [f32; 2],
    /// Triggers that both declare.
    pub triggers: Vec<String>,
    /// The most telling words that both descriptions have.
    pub shared: Vec<String>,
    /// For each, the most telling words that only it has.
    pub only: [Vec<String>; 2],
    /// The number of labelled messages for which one was selected though the other is needed, in either direction: the
    /// first needed and the second selected, and the other way round.
    pub messages: [usize; 2],
    /// Like `messages`, by use.
    pub uses: [usize; 2],
    /// Whether the two say nearly the same.
    pub is_copy: bool,
}

/// The words of a skill's name, description and triggers.
struct SkillWords<'c> {
    skill: &'c Skill,
    number: usize,
    text: String,
    triggers: BTreeSet<String>,
    /// By their stems, each as written first.
    words: BTreeMap<String, String>,
}

impl Skillcue {
    /// Returns the pairs of skills that compete: those that were taken for each other first, then the nearest. A pair of
    /// the evidence counts, however far apart its texts are.
    ///
    /// ```
    /// use skillcue::collisions::{CollisionEvidence, CollisionOptions};
    /// use skillcue::{SkillRoot, Skillcue, Source};
    ///
    /// # let dir = tempfile::tempdir()?;
    /// # for (name, does) in [
    /// #     ("invoices", "Writes invoices and payment reminders for customers."),
    /// #     ("billing", "Writes invoices and payment reminders for clients."),
    /// #     ("hiking", "Plans hikes in the Alps."),
    /// # ] {
    /// #     std::fs::create_dir(dir.path().join(name))?;
    /// #     let text = format!("---\nname: {name}\ndescription: {does}\n---\n");
    /// #     std::fs::write(dir.path().join(name).join("SKILL.md"), text)?;
    /// # }
    /// let skills = Skillcue::builder().root(SkillRoot::new(dir.path(), Source::Project)).build()?;
    /// let pairs = skills.collisions(&CollisionOptions::default(), CollisionEvidence::default());
    /// assert_eq!(pairs.len(), 1);
    /// assert_eq!(pairs[0].skills, ["billing", "invoices"]);
    /// assert!(pairs[0].shared.contains(&"reminders".to_owned()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn collisions(&self, options: &CollisionOptions, evidence: CollisionEvidence<'_>) -> Vec<CollidingPair> {
        self.pairs_of(None, *options, evidence)
    }

    /// Like [`collisions`](Skillcue::collisions), of one skill alone: only its nearest partners are looked at.
    pub(crate) fn collisions_of(&self, name: &str, options: CollisionOptions) -> Vec<CollidingPair> {
        self.pairs_of(Some(name), options, CollisionEvidence::default())
    }

    fn pairs_of(
        &self,
        only: Option<&str>,
        options: CollisionOptions,
        evidence: CollisionEvidence<'_>,
    ) -> Vec<CollidingPair> {
        let snapshot = self.snapshot();
        let catalog = &snapshot.catalog;
        let all = catalog.all().iter().enumerate();
        let is_seen = |skill: &Skill| skill.is_for_models() && !skill.shadowed() && skill.is_usable();
        let skills: Vec<SkillWords<'_>> =
            all.filter(|(_, skill)| is_seen(skill)).map(|(number, skill)| SkillWords::of(number, skill)).collect();
        let by_number: HashMap<usize, usize> = skills.iter().enumerate().map(|(at, of)| (of.number, at)).collect();
        let rarity = Rarity::of(&skills);
        let shared_triggers = shared_triggers(&skills);
        let [messages, uses] = [evidence.messages, evidence.uses].map(|confusions| counts_of(&skills, confusions));
        let mut partners = match only {
            None => SharedWordLists::of(&skills, &rarity).partners(options.min_nearness),
            Some(name) => partners_of(name, &skills, &rarity, options.min_nearness),
        };
        let mut pairs: BTreeMap<(usize, usize), [f32; 2]> = BTreeMap::new();
        for key in shared_triggers.keys().chain(messages.keys()).chain(uses.keys()) {
            let names = [key.0, key.1].map(|at| skills[at].skill.name());
            if only.is_none_or(|name| names.contains(&name)) {
                pairs.entry(*key).or_default();
                partners[key.0].push(key.1);
                partners[key.1].push(key.0);
            }
        }
        for partners in &mut partners {
            partners.sort_unstable();
            partners.dedup();
        }
        let texts = snapshot.texts();
        let near = |(of, partners): (&SkillWords<'_>, &Vec<usize>)| -> Vec<(usize, f32)> {
            if partners.is_empty() {
                return Vec::new();
            }
            let usable = |number: usize| by_number.get(&number).is_some_and(|at| partners.binary_search(at).is_ok());
            let context = SearchContext { usable: &usable, ..SearchContext::default() };
            let ranking = texts.search_with(&of.text, NEAREST, &context);
            ranking.hits.iter().filter_map(|hit| Some((*by_number.get(&hit.skill)?, hit.confidence))).collect()
        };
        let nearest: Vec<Vec<(usize, f32)>> = skills.par_iter().zip(&partners).map(near).collect();
        for (at, found) in nearest.iter().enumerate() {
            for &(other, selects) in found {
                let key = (at.min(other), at.max(other));
                pairs.entry(key).or_default()[usize::from(at > other)] = selects;
            }
        }
        let pair = |(key, selects): (&(usize, usize), &[f32; 2])| {
            let (one, other) = (&skills[key.0], &skills[key.1]);
            let share = rarity.shared(one, other);
            let triggers = shared_triggers.get(key).cloned().unwrap_or_default();
            // The two selections are judged for messages, of which texts have more words: their product says whether
            // each is the other's, and half of it is enough to lift a pair.
            let mutual = (selects[0] * selects[1]).sqrt();
            let declared = if triggers.is_empty() { 0.0 } else { 0.15 };
            let nearness = (lifted(share, mutual) + declared).min(1.0);
            let counts = [&messages, &uses].map(|counts| counts.get(key).copied().unwrap_or_default());
            // One message may be a mistake of its label.
            let is_pair = nearness >= options.min_nearness || counts.as_flattened().iter().sum::<usize>() > 1;
            is_pair.then(|| rarity.pair([one, other], (nearness, share), *selects, triggers, counts))
        };
        let mut pairs: Vec<CollidingPair> = pairs.par_iter().filter_map(pair).collect();
        pairs.sort_by(|a, b| {
            let sum = |pair: &CollidingPair| pair.messages.iter().chain(&pair.uses).sum::<usize>();
            (sum(b).cmp(&sum(a))).then(b.nearness.total_cmp(&a.nearness)).then_with(|| a.skills.cmp(&b.skills))
        });
        pairs
    }
}

impl<'c> SkillWords<'c> {
    fn of(number: usize, skill: &'c Skill) -> SkillWords<'c> {
        let manifest = skill.make_manifest();
        let declared = manifest.triggers();
        let triggers: BTreeSet<String> =
            declared.keywords.iter().chain(&declared.verbs).map(|trigger| trigger.to_lowercase()).collect();
        let mut end = manifest.description().len().min(MAX_TEXT);
        while !manifest.description().is_char_boundary(end) {
            end -= 1;
        }
        let mut text = manifest.description()[..end].to_owned();
        for trigger in triggers.iter().take(20) {
            text.push(' ');
            text.push_str(trigger);
        }
        let mut words = BTreeMap::new();
        let name = skill.name().replace(['-', '_', ':'], " ");
        for word in words_of(&name).chain(words_of(&text)) {
            words.entry(stem(&word)).or_insert(word);
        }
        SkillWords { skill, number, text, triggers, words }
    }
}

/// The rarity of words among descriptions.
struct Rarity {
    having: HashMap<String, usize>,
    skills: usize,
}

impl Rarity {
    fn of(skills: &[SkillWords<'_>]) -> Rarity {
        let mut having: HashMap<String, usize> = HashMap::new();
        for stem in skills.iter().flat_map(|of| of.words.keys()) {
            *having.entry(stem.clone()).or_default() += 1;
        }
        Rarity { having, skills: skills.len() }
    }

    fn of_word(&self, stem: &str) -> f32 {
        let having = self.having.get(stem).copied().unwrap_or(0).max(1);
        #[expect(clippy::cast_precision_loss, reason = "numbers of skills")]
        let rarity = ((self.skills + 20) as f32 / having as f32).ln();
        if self.is_common(stem) { rarity * 0.25 } else { rarity }
    }

    /// Returns whether a word is one of the way in which descriptions are written: one skill in ten has it.
    fn is_common(&self, stem: &str) -> bool {
        self.skills > 20 && self.having.get(stem).is_some_and(|having| having * 10 > self.skills)
    }

    /// Returns the share of the words of two skills, weighed by rarity, that both have: of the shorter text's, mostly.
    fn shared(&self, one: &SkillWords<'_>, other: &SkillWords<'_>) -> f32 {
        let sum = |of: &SkillWords<'_>| of.words.keys().map(|stem| self.of_word(stem)).sum::<f32>();
        let both: f32 =
            one.words.keys().filter(|stem| other.words.contains_key(*stem)).map(|stem| self.of_word(stem)).sum();
        let (less, more) = {
            let (one, other) = (sum(one), sum(other));
            (one.min(other), one.max(other))
        };
        both / (less * more).sqrt().max(f32::MIN_POSITIVE)
    }

    fn pair(
        &self,
        [one, other]: [&SkillWords<'_>; 2],
        (nearness, share): (f32, f32),
        selects: [f32; 2],
        triggers: Vec<String>,
        [messages, uses]: [[usize; 2]; 2],
    ) -> CollidingPair {
        let telling = |of: &SkillWords<'_>, is: &dyn Fn(&String) -> bool| -> Vec<String> {
            let mut words: Vec<(&String, &String)> = of.words.iter().filter(|(stem, _)| is(stem)).collect();
            words.sort_by(|a, b| self.of_word(b.0).total_cmp(&self.of_word(a.0)).then(a.1.cmp(b.1)));
            words.into_iter().take(MAX_WORDS).map(|(_, word)| word.clone()).collect()
        };
        let mut pair = CollidingPair {
            skills: [one, other].map(|of| of.skill.name().to_owned()),
            nearness,
            selects,
            triggers,
            shared: telling(one, &|stem| other.words.contains_key(stem)),
            only: [
                telling(one, &|stem| !other.words.contains_key(stem)),
                telling(other, &|stem| !one.words.contains_key(stem)),
            ],
            messages,
            uses,
            is_copy: false,
        };
        // Two that share all but a word each may be for two languages: that is no copy.
        pair.is_copy = share >= COPY && pair.only.iter().any(Vec::is_empty);
        if pair.skills[0] > pair.skills[1] {
            pair.skills.swap(0, 1);
            pair.selects.swap(0, 1);
            pair.only.swap(0, 1);
            pair.messages.swap(0, 1);
            pair.uses.swap(0, 1);
        }
        pair
    }
}

/// Returns how near two skills are that share so much of their words, and select each other so surely.
fn lifted(share: f32, mutual: f32) -> f32 {
    share + 0.5 * mutual * (1.0 - share) * share.sqrt()
}

/// The skills that have each word.
struct SharedWordLists {
    /// For each skill, the numbers of its words.
    words: Vec<Vec<u32>>,
    /// For each word, its weight and the skills that have it.
    skills: Vec<(f32, Vec<u32>)>,
    /// For each skill, the weight of all its words, and of those that are too common to find others by.
    sums: Vec<(f32, f32)>,
}

impl SharedWordLists {
    fn of(skills: &[SkillWords<'_>], rarity: &Rarity) -> SharedWordLists {
        let mut numbers: HashMap<&str, u32> = HashMap::new();
        let mut lists = SharedWordLists {
            words: Vec::with_capacity(skills.len()),
            skills: Vec::new(),
            sums: Vec::with_capacity(skills.len()),
        };
        for (at, of) in (0_u32..).zip(skills) {
            let mut own = Vec::with_capacity(of.words.len());
            let (mut sum, mut common) = (0.0, 0.0);
            for stem in of.words.keys() {
                let number = *numbers.entry(stem).or_insert_with(|| {
                    lists.skills.push((rarity.of_word(stem), Vec::new()));
                    u32::try_from(lists.skills.len() - 1).unwrap_or(u32::MAX)
                });
                let (weight, having) = &mut lists.skills[number as usize];
                sum += *weight;
                if rarity.is_common(stem) {
                    common += *weight;
                } else {
                    having.push(at);
                    own.push(number);
                }
            }
            lists.words.push(own);
            lists.sums.push((sum, common));
        }
        lists
    }

    /// Returns for each skill those that share enough words with it to come so near.
    fn partners(&self, min_nearness: f32) -> Vec<Vec<usize>> {
        let partners = |both: &mut Vec<f32>, at: usize| {
            both.clear();
            both.resize(self.words.len(), 0.0);
            for (weight, having) in self.words[at].iter().map(|word| &self.skills[*word as usize]) {
                for other in having {
                    both[*other as usize] += weight;
                }
            }
            let (sum, common) = self.sums[at];
            let is_near = |other: &usize| {
                let (others_sum, others_common) = self.sums[*other];
                let most = both[*other] + common.min(others_common);
                let share = most / (sum * others_sum).sqrt().max(f32::MIN_POSITIVE);
                *other != at && lifted(share.min(1.0), 1.0) >= min_nearness
            };
            (0..self.words.len()).filter(is_near).collect()
        };
        (0..self.words.len()).into_par_iter().map_init(Vec::new, partners).collect()
    }
}

/// Returns the partners of one skill: those that share most words with it.
fn partners_of(name: &str, skills: &[SkillWords<'_>], rarity: &Rarity, min_nearness: f32) -> Vec<Vec<usize>> {
    let mut partners = vec![Vec::new(); skills.len()];
    let Some(at) = skills.iter().position(|of| of.skill.name() == name) else { return partners };
    let share = |(other, of): (usize, &SkillWords<'_>)| (rarity.shared(&skills[at], of), other);
    let mut near: Vec<(f32, usize)> = skills.par_iter().enumerate().map(share).collect();
    near.retain(|(share, other)| *other != at && lifted(*share, 1.0) >= min_nearness);
    near.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    for (_, other) in near.into_iter().take(MAX_PARTNERS) {
        partners[at].push(other);
        partners[other].push(at);
    }
    partners
}

/// Returns the triggers that pairs of skills share.
fn shared_triggers(skills: &[SkillWords<'_>]) -> BTreeMap<(usize, usize), Vec<String>> {
    let mut having: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (at, of) in skills.iter().enumerate() {
        for trigger in &of.triggers {
            having.entry(trigger).or_default().push(at);
        }
    }
    let mut shared: BTreeMap<(usize, usize), Vec<String>> = BTreeMap::new();
    for (trigger, having) in having.into_iter().filter(|(_, having)| having.len() <= MAX_SHARING) {
        for (at, one) in having.iter().enumerate() {
            for other in &having[at + 1..] {
                shared.entry((*one, *other)).or_default().push(trigger.to_owned());
            }
        }
    }
    shared
}

/// Returns how often one skill was taken for another.
fn counts_of(skills: &[SkillWords<'_>], confusions: &[Confusion]) -> BTreeMap<(usize, usize), [usize; 2]> {
    let by_name: HashMap<&str, usize> = skills.iter().enumerate().map(|(at, of)| (of.skill.name(), at)).collect();
    let mut counts: BTreeMap<(usize, usize), [usize; 2]> = BTreeMap::new();
    for Confusion { expected, got, count } in confusions {
        let at = |name: &Option<String>| name.as_deref().and_then(|name| by_name.get(name)).copied();
        if let (Some(expected), Some(got)) = (at(expected), at(got))
            && expected != got
        {
            let key = (expected.min(got), expected.max(got));
            counts.entry(key).or_default()[usize::from(expected > got)] += count;
        }
    }
    counts
}

/// Returns the words of a text in lower case, without those that every description has.
pub(crate) fn words_of(text: &str) -> impl Iterator<Item = String> {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '+' | '#');
    let words = text.split(move |c: char| !is_part(c)).map(str::to_lowercase);
    words.filter(|word| (word.chars().count() > 2 || !word.is_ascii()) && !COMMON.contains(word.as_str()))
}

/// Returns a word without the endings of English plurals and forms of verbs, so that two forms count as one word.
pub(crate) fn stem(word: &str) -> String {
    let stem = ["ing", "ies", "ied", "es", "ed", "s"].iter().find_map(|end| word.strip_suffix(end));
    let stem = stem.filter(|stem| stem.len() >= 4).unwrap_or(word);
    stem.trim_end_matches(['e', 'y']).to_owned()
}

/// Words that say nothing about what a skill is for.
static COMMON: LazyLock<HashSet<&str>> = LazyLock::new(|| {
    let words = "the and for with when use used using user users this that from into you your any all are can has have how its \
    not out via was wants want asks ask needs need skill skills should also such more other than then they their \
    these those which while what who will where but even does don like about every each them there including \
    includes include whenever trigger triggers help helps work working task tasks etc one new get make makes says \
    say mentions mention without between before after only both across";
    words.split_whitespace().collect()
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_a_word_are_one() {
        for forms in [["invoice", "invoices"], ["query", "queries"], ["merging", "merge"], ["tests", "test"]] {
            assert_eq!(stem(forms[0]), stem(forms[1]), "{forms:?}");
        }
        assert_ne!(stem("form"), stem("format"));
        assert_eq!(words_of("Use C++ for the PDF-forms").collect::<Vec<_>>(), ["c++", "pdf", "forms"]);
    }

    #[test]
    fn lists_of_words_find_every_pair_that_can_come_near() {
        // With few words, each is one of many skills; with many, most pairs share none.
        for vocabulary in [11, 30, 90] {
            let dir = tempfile::tempdir().unwrap();
            for number in 0..60_usize {
                let word = |at: usize| format!("subject{}", (number * 7 + at * (1 + number % 3)) % vocabulary);
                let own: Vec<String> = (0..5).map(word).collect();
                std::fs::create_dir(dir.path().join(format!("s{number}"))).unwrap();
                let text = format!("---\nname: s{number}\ndescription: Handles {}.\n---\n", own.join(" "));
                std::fs::write(dir.path().join(format!("s{number}/SKILL.md")), text).unwrap();
            }
            let skills = Skillcue::builder().skills_dir(dir.path()).build().unwrap();
            let catalog = skills.catalog();
            let all: Vec<SkillWords<'_>> =
                catalog.all().iter().enumerate().map(|(number, skill)| SkillWords::of(number, skill)).collect();
            let rarity = Rarity::of(&all);
            let partners = SharedWordLists::of(&all, &rarity).partners(0.45);
            let mut found = 0;
            for (one, partners) in partners.iter().enumerate() {
                for other in (0..all.len()).filter(|other| *other != one) {
                    let is_near = lifted(rarity.shared(&all[one], &all[other]), 1.0) >= 0.45 + 1e-4;
                    assert!(!is_near || partners.contains(&other), "{vocabulary} words: {one} and {other}");
                    found += usize::from(is_near);
                }
            }
            let most = partners.iter().map(Vec::len).sum::<usize>();
            assert!(found > 0 && (vocabulary < 90 || most < all.len() * 20), "{vocabulary} words: {found} of {most}");
        }
    }
}
