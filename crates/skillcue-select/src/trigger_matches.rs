//! The triggers that a turn matches, and the positions of the matches.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::ops::Range;

use skillcue_catalog::Catalog;

use crate::Turn;
use crate::files::{may_match, name_of, path_of, plain_globs};
use crate::fold::fold_trigger;
use crate::index::{INDEXED, NOT_BY_PERSON, TriggerIndex, TriggerKind, join, token_hash};
use crate::languages::languages_of;
use crate::literal::scanned;
use crate::mention::sigils;
use crate::term::MessageText;
use crate::trigger_cache::TriggerCache;
use crate::verb;

/// How much of a message patterns are matched with, in bytes.
pub(crate) const PATTERN_WINDOW: usize = 64 << 10;
/// How many earlier messages count.
pub(crate) const MAX_EARLIER: usize = 8;

/// The part of a turn that a trigger matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MatchSite {
    /// A range of the message.
    Message(u32, u32),
    /// A range of the earlier message of that number.
    Earlier(u32, u32, u32),
    /// The file of that number.
    File(u32),
    /// The language of that number.
    Language(u32),
}

/// A trigger that matches.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TriggerMatch {
    pub(crate) item: u32,
    pub(crate) site: MatchSite,
}

/// A mention by sigil.
#[derive(Debug, Clone)]
pub(crate) struct SigilMention {
    pub(crate) skill: u32,
    pub(crate) span: Range<usize>,
}

/// Everything that matches: each trigger once, at its first match.
#[derive(Debug, Default)]
pub(crate) struct TriggerMatches {
    pub(crate) found: Vec<TriggerMatch>,
    pub(crate) sigils: Vec<SigilMention>,
    /// Triggers that only a nearby file or its language matches.
    pub(crate) nearby: Vec<TriggerMatch>,
    seen: HashMap<u32, u32, BuildHasherDefault<IdHasher>>,
}

impl TriggerMatches {
    /// Matches all triggers with all parts of a turn.
    pub(crate) fn of(
        index: &TriggerIndex,
        compiled: &TriggerCache,
        catalog: &Catalog,
        turn: &Turn<'_>,
    ) -> TriggerMatches {
        let mut gathered = TriggerMatches::default();
        gathered.take_sigils(index, catalog, turn.message);
        gathered.take_text(index, compiled, turn.message, None);
        for (age, message) in (0..).zip(turn.earlier.iter().take(MAX_EARLIER)) {
            gathered.take_text(index, compiled, message, Some(age));
        }
        gathered.take_files(index, compiled, &turn.files);
        gathered.take_languages(index, &turn.languages);
        if !turn.nearby.is_empty() {
            let mut nearby = TriggerMatches::default();
            nearby.take_files(index, compiled, &turn.nearby);
            nearby.take_languages(index, &languages_of(&turn.nearby));
            nearby.found.retain(|found| gathered.get(found.item).is_none());
            gathered.nearby = nearby.found;
        }
        gathered
    }

    fn take_languages(&mut self, index: &TriggerIndex, languages: &[impl AsRef<str>]) {
        for (at, language) in (0..).zip(languages) {
            if let Some(item) = index.find(index.languages(), &fold_trigger(language.as_ref())) {
                self.put(item, MatchSite::Language(at));
            }
        }
    }

    /// Returns the match of an item.
    pub(crate) fn get(&self, item: u32) -> Option<&TriggerMatch> {
        self.seen.get(&item).map(|at| &self.found[*at as usize])
    }

    fn put(&mut self, item: u32, site: MatchSite) {
        let next = u32::try_from(self.found.len()).unwrap_or(u32::MAX);
        if let std::collections::hash_map::Entry::Vacant(entry) = self.seen.entry(item) {
            entry.insert(next);
            self.found.push(TriggerMatch { item, site });
        }
    }

    fn take_sigils(&mut self, index: &TriggerIndex, catalog: &Catalog, message: &str) {
        sigils(message, |name, span| {
            let Some(skill) = position(catalog, name) else { return false };
            let flags = index.flags.get(skill as usize).copied().unwrap_or_default();
            let usable = catalog.all()[skill as usize].enabled() && catalog.all()[skill as usize].available();
            if !usable || flags & INDEXED == 0 || flags & NOT_BY_PERSON != 0 {
                return false;
            }
            if !self.sigils.iter().any(|mention| mention.skill == skill) {
                self.sigils.push(SigilMention { skill, span });
            }
            true
        });
    }

    fn take_text(&mut self, index: &TriggerIndex, compiled: &TriggerCache, message: &str, age: Option<u32>) {
        let text = MessageText::of(message);
        self.take_terms(index, &text, age);
        if !index.symbols.is_empty() {
            self.take_symbols(index, &text, age);
        }
        if !index.patterns().is_empty() {
            self.take_patterns(index, compiled, &text, age);
        }
    }

    fn take_terms(&mut self, index: &TriggerIndex, text: &MessageText<'_>, age: Option<u32>) {
        // The end of the last mention by name: a name within a longer one is not a mention.
        let mut named = 0;
        for first in 0..text.tokens.len() {
            let mut name = None;
            self.walk(index, text, first, None, age, &mut name);
            if let Some((item, range)) = name
                && range.end > named
            {
                named = range.end;
                if age.is_none() {
                    self.put(item, site_in_text(text, range, age));
                }
            }
            verb::bases(text.word(first), |base| self.walk(index, text, first, Some(base), age, &mut None));
        }
    }

    /// Follows the nodes from one token on. With a base, only verbs match.
    fn walk(
        &mut self,
        index: &TriggerIndex,
        text: &MessageText<'_>,
        first: usize,
        base: Option<&str>,
        age: Option<u32>,
        name: &mut Option<(u32, Range<usize>)>,
    ) {
        let mut hash = join(0, base.map_or(text.hashes[first], token_hash));
        let mut last = first;
        while let Some((items, goes_on)) = index.node(hash) {
            for item in index.node_terms(items) {
                let kind = index.kind(item);
                if self.seen.contains_key(&item) && kind != TriggerKind::Name
                    || base.is_some() && kind != TriggerKind::Verb
                {
                    continue;
                }
                if let Some(range) = text.verify(index.text(item), kind, first, last, base) {
                    if kind == TriggerKind::Name {
                        *name = Some((item, range));
                    } else {
                        self.put(item, site_in_text(text, range, age));
                    }
                }
            }
            last += 1;
            if !goes_on || last == text.tokens.len() {
                break;
            }
            hash = join(hash, text.hashes[last]);
        }
    }

    /// Matches terms without letters, which are between the tokens.
    fn take_symbols(&mut self, index: &TriggerIndex, text: &MessageText<'_>, age: Option<u32>) {
        let folded = text.folded.text.as_str();
        let ends = text.tokens.iter().map(|token| token.range().end);
        let starts = text.tokens.iter().map(|token| token.range().start);
        for (from, to) in std::iter::once(0).chain(ends).zip(starts.chain([folded.len()])) {
            for (at, c) in folded[from..to].char_indices() {
                let c = u32::from(c);
                let first = index.symbols.partition_point(|other| *other < c);
                let same = index.symbols[first..]
                    .iter()
                    .zip(&index.symbol_items[first..])
                    .take_while(|(other, _)| **other == c);
                for (_, item) in same {
                    if !self.seen.contains_key(item)
                        && let Some(range) = text.verify_symbol(index.text(*item), from + at)
                    {
                        self.put(*item, site_in_text(text, range, age));
                    }
                }
            }
        }
    }

    fn take_patterns(
        &mut self,
        index: &TriggerIndex,
        compiled: &TriggerCache,
        text: &MessageText<'_>,
        age: Option<u32>,
    ) {
        let window = &text.original[..text.original.floor_char_boundary(PATTERN_WINDOW)];
        let mut candidates = index.always.clone();
        let take = |item| {
            // A literal may occur often; the list stays as short as there are patterns.
            if candidates.last() != Some(&item) {
                candidates.push(item);
            }
        };
        if text.original.is_ascii() {
            index.grams.scan(&text.folded.text.as_bytes()[..window.len()], take);
        } else {
            index.grams.scan(scanned(window).as_bytes(), take);
        }
        candidates.sort_unstable();
        candidates.dedup();
        for item in candidates {
            if !self.seen.contains_key(&item)
                && let Some(regex) = compiled.pattern(item, index.text(item))
                && let Some(found) = regex.find(window)
            {
                self.put(item, site(found.range(), age));
            }
        }
    }

    fn take_files(&mut self, index: &TriggerIndex, compiled: &TriggerCache, files: &[String]) {
        for (at, file) in (0..).zip(files) {
            let name = name_of(file);
            plain_globs(name, |glob| {
                if let Some(item) = index.find(index.files(), glob) {
                    self.put(item, MatchSite::File(at));
                }
            });
            for &item in &index.globs {
                let glob = index.text(item);
                let subject = if glob.contains('/') { path_of(file) } else { name };
                if !self.seen.contains_key(&item)
                    && may_match(glob, subject)
                    && compiled.glob(item, glob).is_some_and(|glob| glob.is_match(subject))
                {
                    self.put(item, MatchSite::File(at));
                }
            }
        }
    }
}

fn site_in_text(text: &MessageText<'_>, range: Range<usize>, age: Option<u32>) -> MatchSite {
    site(text.source(range), age)
}

fn site(range: Range<usize>, age: Option<u32>) -> MatchSite {
    let clamp = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
    match age {
        None => MatchSite::Message(clamp(range.start), clamp(range.end)),
        Some(age) => MatchSite::Earlier(age, clamp(range.start), clamp(range.end)),
    }
}

/// Returns the position in [`Catalog::all`] of the effective skill of a name.
pub(crate) fn position(catalog: &Catalog, name: &str) -> Option<u32> {
    let all = catalog.all();
    let at = all.partition_point(|skill| skill.name() < name);
    all.get(at).filter(|skill| skill.name() == name && !skill.shadowed())?;
    u32::try_from(at).ok()
}

/// A hasher for items. They are numbers: a multiplication spreads them well enough.
#[derive(Debug, Default)]
pub(crate) struct IdHasher(u64);

impl Hasher for IdHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u32(u32::from(*byte));
        }
    }

    fn write_u32(&mut self, number: u32) {
        let mixed = (self.0 ^ u64::from(number)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        self.0 = mixed ^ (mixed >> 32);
    }
}
