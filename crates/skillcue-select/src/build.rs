//! Building the [`TriggerIndex`] of a catalog.

use rayon::prelude::*;
use skillcue_catalog::{Catalog, Skill};

use crate::files::GlobShape;
use crate::fold::{fold_trigger, tokens};
use crate::grams::Grams;
use crate::index::{
    GOES_ON, HIDDEN, INDEXED, LAST, NO_ITEM, NONE, NOT_BY_PERSON, TRIGGERED, TriggerIndex, TriggerKind, join, slot,
    token_hash,
};
use crate::literal;

/// How many skills one thread takes at a time.
const SKILLS_PER_CHUNK: usize = 512;
/// With fewer triggers than this, only one thread is used: starting others takes longer.
const MIN_PARALLEL: usize = 2048;
/// Terms of more tokens, or of more bytes, never match: a scan goes no further than this from each word.
pub(crate) const MAX_TOKENS: usize = 64;
pub(crate) const MAX_TERM_BYTES: usize = 1024;
/// Patterns and globs of more bytes never match.
pub(crate) const MAX_PATTERN_BYTES: usize = 64 << 10;

/// One trigger of one skill. There may be millions: they take most of the memory while the index is built.
struct TriggerEntry {
    /// The hash of its tokens; 0 if it has none, or is not a term.
    hash: u64,
    /// The start of its text in that of its chunk.
    start: u32,
    /// The length of its text, and its kind in the lowest bits.
    shape: u32,
    skill: u32,
    /// Its position among the skill's triggers.
    ordinal: u32,
}

/// How many bits of [`TriggerEntry::shape`] are the kind.
const KIND_BITS: u32 = 4;

impl TriggerEntry {
    fn kind(&self) -> TriggerKind {
        // Only valid kinds were put in.
        TriggerKind::of((self.shape & ((1 << KIND_BITS) - 1)) as u8).unwrap_or(TriggerKind::Keyword)
    }

    fn length(&self) -> usize {
        (self.shape >> KIND_BITS) as usize
    }

    fn text<'c>(&self, chunks: &'c [TriggerChunk]) -> &'c str {
        let start = self.start as usize;
        &chunks[self.skill as usize / SKILLS_PER_CHUNK].text[start..start + self.length()]
    }
}

/// The triggers of some skills.
#[derive(Default)]
struct TriggerChunk {
    text: String,
    entries: Vec<TriggerEntry>,
    /// Per skill: its flags, and the number of its triggers.
    skills: Vec<(u8, u32)>,
}

/// Builds the index, on all cores if there are many skills.
pub(crate) fn build(catalog: &Catalog, key: u128) -> TriggerIndex {
    let skills = catalog.all();
    let read = |(at, skills): (usize, &[Box<Skill>])| {
        let mut chunk = TriggerChunk::default();
        for (nth, skill) in skills.iter().enumerate() {
            chunk.add(skill, small(at * SKILLS_PER_CHUNK + nth));
        }
        chunk.entries.shrink_to_fit();
        chunk.text.shrink_to_fit();
        chunk
    };
    let mut chunks: Vec<TriggerChunk> = if skills.len() <= SKILLS_PER_CHUNK {
        skills.chunks(SKILLS_PER_CHUNK).enumerate().map(read).collect()
    } else {
        skills.par_chunks(SKILLS_PER_CHUNK).enumerate().map(read).collect()
    };

    let mut entries: Vec<TriggerEntry> = Vec::with_capacity(chunks.iter().map(|chunk| chunk.entries.len()).sum());
    for chunk in &mut chunks {
        // Each is freed as soon as it is copied.
        entries.extend(std::mem::take(&mut chunk.entries));
    }
    let text = |entry: &TriggerEntry| entry.text(&chunks);
    let group = |kind: TriggerKind| match kind {
        TriggerKind::Keyword | TriggerKind::Phrase | TriggerKind::Verb | TriggerKind::Name => 0_u8,
        TriggerKind::Pattern | TriggerKind::BadPattern => 1,
        TriggerKind::File => 2,
        TriggerKind::Language => 3,
    };
    let order = |a: &TriggerEntry, b: &TriggerEntry| {
        (group(a.kind()), a.hash, a.kind())
            .cmp(&(group(b.kind()), b.hash, b.kind()))
            .then_with(|| text(a).cmp(text(b)))
            .then_with(|| (a.skill, a.ordinal).cmp(&(b.skill, b.ordinal)))
    };
    if entries.len() < MIN_PARALLEL {
        entries.sort_unstable_by(order);
    } else {
        entries.par_sort_unstable_by(order);
    }

    let mut index = TriggerIndex { key, ..TriggerIndex::default() };
    index.trigger_starts.push(0);
    let mut total = 0;
    for (flags, count) in chunks.iter().flat_map(|chunk| &chunk.skills) {
        index.flags.push(*flags);
        total += *count;
        index.trigger_starts.push(total);
    }
    index.triggers = vec![NONE; total as usize];
    // Grown step by step, each would leave twice its size behind.
    index.postings.reserve_exact(entries.len());
    index.text.reserve_exact(chunks.iter().map(|chunk| chunk.text.len()).sum::<usize>() / 4);
    index.text_starts.push(0);
    index.posting_starts.push(0);

    // The hash of each node that ends terms, with its first item.
    let mut ends: Vec<(u64, u32)> = Vec::new();
    let mut before: Option<&TriggerEntry> = None;
    for entry in &entries {
        let same = before.is_some_and(|before| {
            before.kind() == entry.kind() && before.hash == entry.hash && text(before) == text(entry)
        });
        if !same {
            if index.text.len() + entry.length() >= NONE as usize {
                // Four gigabytes of triggers: the rest never match.
                break;
            }
            if before.is_some() {
                index.close_item();
            }
            let item = small(index.items());
            let another = group(entry.kind()) != 0 || before.is_none_or(|before| before.hash != entry.hash);
            if another && let Some(last) = index.kinds.last_mut() {
                *last |= LAST;
            }
            if group(entry.kind()) == 0 && another && entry.hash != 0 {
                ends.push((entry.hash, item));
            }
            index.kinds.push(entry.kind() as u8);
            index.text.push_str(text(entry));
        }
        before = Some(entry);
        let item = small(index.items() - 1);
        index.triggers[(index.trigger_starts[entry.skill as usize] + entry.ordinal) as usize] = item;
        let first = index.posting_starts.last().map_or(0, |start| *start as usize);
        if index.postings[first..].last() != Some(&entry.skill) {
            index.postings.push(entry.skill);
        }
    }
    if before.is_some() {
        index.close_item();
    }
    if let Some(last) = index.kinds.last_mut() {
        *last |= LAST;
    }
    let bound = |wanted: u8| {
        small(index.kinds.partition_point(|byte| TriggerKind::of(*byte).is_some_and(|kind| group(kind) < wanted)))
    };
    index.bounds = [bound(1), bound(2), bound(3)];
    drop(entries);
    drop(chunks);

    index.build_nodes(&ends);
    index.build_symbols();
    index.build_patterns();
    index.globs = index.files().filter(|item| matches!(GlobShape::of(index.text(*item)), GlobShape::Glob)).collect();
    index.shrink();
    index
}

impl TriggerIndex {
    fn close_item(&mut self) {
        self.text_starts.push(small(self.text.len()));
        self.posting_starts.push(small(self.postings.len()));
    }

    /// Builds the table of all sequences of tokens that terms are or begin with.
    fn build_nodes(&mut self, ends: &[(u64, u32)]) {
        let add = |mut prefixes: Vec<u64>, item: u32| {
            let text = self.text(item);
            // Most terms are one word.
            if !text.bytes().all(|b| b.is_ascii_alphanumeric()) {
                let mut hash = 0;
                let tokens = tokens(text);
                for token in tokens.iter().take(tokens.len().saturating_sub(1)) {
                    hash = join(hash, token_hash(&text[token.range()]));
                    prefixes.push(hash);
                }
            }
            prefixes
        };
        let terms = 0..self.bounds[0];
        let mut prefixes = if terms.len() < MIN_PARALLEL {
            terms.fold(Vec::new(), add)
        } else {
            terms.into_par_iter().fold(Vec::new, add).reduce(Vec::new, |mut a, mut b| {
                a.append(&mut b);
                a
            })
        };
        if prefixes.len() < MIN_PARALLEL {
            prefixes.sort_unstable();
        } else {
            prefixes.par_sort_unstable();
        }
        prefixes.dedup();

        let most = ends.len() + prefixes.len();
        self.spread = (most + most / 2 + 1) as u64;
        self.node_hashes = Vec::with_capacity(most * 2 + 2);
        self.node_items = Vec::with_capacity(most * 2 + 2);
        let (mut ends, mut prefixes) = (ends.iter().copied().peekable(), prefixes.into_iter().peekable());
        loop {
            let (end, prefix) = (ends.peek().copied(), prefixes.peek().copied());
            let hash = match (end, prefix) {
                (None, None) => break,
                (Some((hash, _)), None) | (None, Some(hash)) => hash,
                (Some((a, _)), Some(b)) => a.min(b),
            };
            let mut items = NO_ITEM;
            if let Some((_, item)) = ends.next_if(|end| end.0 == hash) {
                items = item;
            }
            if prefixes.next_if_eq(&hash).is_some() {
                items |= GOES_ON;
            }
            let at = slot(hash, self.spread).max(self.node_hashes.len());
            self.node_hashes.resize(at, 0);
            self.node_items.resize(at, NO_ITEM);
            self.node_hashes.push(hash);
            self.node_items.push(items);
        }
    }

    /// Builds the table of terms without tokens. They come first: their hash is 0.
    fn build_symbols(&mut self) {
        let first = |item: u32| self.text(item).chars().next();
        let mut symbols: Vec<(u32, u32)> = (0..self.bounds[0])
            .take_while(|item| tokens(self.text(*item)).is_empty())
            .filter_map(|item| Some((u32::from(first(item)?), item)))
            .collect();
        symbols.sort_unstable();
        (self.symbols, self.symbol_items) = symbols.into_iter().unzip();
    }

    /// Parses all patterns, and records the literals that they require.
    fn build_patterns(&mut self) {
        let required = |item: u32| literal::required(self.text(item)).ok();
        // Parsing a pattern takes as long as sorting many triggers.
        let needs: Vec<_> = if self.patterns().len() < MIN_PARALLEL / 16 {
            self.patterns().map(required).collect()
        } else {
            self.patterns().into_par_iter().map(required).collect()
        };
        let mut literals = Vec::new();
        for (item, needs) in self.patterns().zip(needs) {
            match needs {
                None => self.kinds[item as usize] = TriggerKind::BadPattern as u8 | LAST,
                Some(None) => self.always.push(item),
                Some(Some(needs)) => literals.push((item, needs)),
            }
        }
        self.grams = Grams::of(&literals);
    }

    fn shrink(&mut self) {
        self.text.shrink_to_fit();
        let numbers = [
            &mut self.text_starts,
            &mut self.posting_starts,
            &mut self.postings,
            &mut self.triggers,
            &mut self.node_items,
        ];
        numbers.into_iter().for_each(Vec::shrink_to_fit);
        self.node_hashes.shrink_to_fit();
        self.kinds.shrink_to_fit();
    }
}

impl TriggerChunk {
    fn add(&mut self, skill: &Skill, id: u32) {
        if skill.shadowed() {
            self.skills.push((0, 0));
            return;
        }
        let manifest = skill.make_manifest();
        let triggers = manifest.triggers();
        let mut flags = INDEXED;
        flags |= if manifest.disable_model_invocation() { HIDDEN } else { 0 };
        flags |= if manifest.user_invocable() { 0 } else { NOT_BY_PERSON };
        flags |= if triggers.is_empty() { 0 } else { TRIGGERED };

        let mut ordinal = 0;
        let mut put = |kind: TriggerKind, text: &str| {
            let terms = matches!(kind, TriggerKind::Keyword | TriggerKind::Verb | TriggerKind::Name);
            let hash = if terms { sequence(text) } else { Some(0) };
            let limit = if terms { MAX_TERM_BYTES } else { MAX_PATTERN_BYTES };
            if let Some(hash) = hash.filter(|_| !text.is_empty() && text.len() <= limit) {
                let kind = if kind == TriggerKind::Keyword && text.contains(' ') { TriggerKind::Phrase } else { kind };
                let (start, shape) = (small(self.text.len()), small(text.len()) << KIND_BITS | u32::from(kind as u8));
                self.text.push_str(text);
                self.entries.push(TriggerEntry { hash, start, shape, skill: id, ordinal });
            }
            ordinal += 1;
        };
        let (kind, name) = name_term(skill.name());
        put(kind, &name);
        triggers.keywords.iter().for_each(|text| put(TriggerKind::Keyword, &fold_trigger(text)));
        triggers.verbs.iter().for_each(|text| put(TriggerKind::Verb, &fold_trigger(text)));
        triggers.patterns.iter().for_each(|text| put(TriggerKind::Pattern, text));
        triggers.files.iter().for_each(|text| put(TriggerKind::File, text.trim()));
        triggers.languages.iter().for_each(|text| put(TriggerKind::Language, &fold_trigger(text)));
        self.skills.push((flags, ordinal));
    }
}

/// Returns the term for a name: one word as a keyword, more as a mention in which hyphens are blanks.
pub(crate) fn name_term(name: &str) -> (TriggerKind, String) {
    let folded = fold_trigger(&name.replace('-', " "));
    (if folded.contains(' ') { TriggerKind::Name } else { TriggerKind::Keyword }, folded)
}

/// Returns the hash of a term's tokens: 0 if there are none, `None` if there are too many.
fn sequence(text: &str) -> Option<u64> {
    if text.bytes().all(|b| b.is_ascii_alphanumeric()) {
        return Some(if text.is_empty() { 0 } else { join(0, token_hash(text)) });
    }
    let tokens = tokens(text);
    let hash = tokens.iter().fold(0, |hash, token| join(hash, token_hash(&text[token.range()])));
    (tokens.len() <= MAX_TOKENS).then_some(hash)
}

fn small(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(NONE)
}
