//! Profiles: the texts of each skill in their order, as records of bytes, in memory or in a file.

use std::borrow::Cow;
use std::sync::Arc;

use skillcue_base::binary::{Reader, Writer, checksum, u32s};

use crate::relevance::bodies::DocTerms;
use crate::relevance::message::triples;
use crate::relevance::negation::Claims;
use crate::relevance::sequence::{self, BREAK, EXCLUDED};
use crate::relevance::storage::LazyPart;
use crate::relevance::tokens::Tokenizer;

/// How many terms of a description are kept in their order, and as many that it excludes.
const MAX_FRONT: usize = 2048;
/// How much of a name and a description triples are made of, in bytes.
const MAX_TRIPLES: usize = 4096;

/// The texts of one skill.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Profile {
    numbers: Vec<u32>,
    /// The ends of the front and of the body in `numbers`. Code words follow.
    front: usize,
    body: usize,
    triples: Vec<u16>,
}

impl Profile {
    /// Returns the terms of the name, those of the description's clauses, and after [`EXCLUDED`] those that it excludes.
    pub(crate) fn front(&self) -> &[u32] {
        &self.numbers[..self.front]
    }

    /// Returns the terms of the body, in sections.
    pub(crate) fn body(&self) -> &[u32] {
        &self.numbers[self.front..self.body]
    }

    /// Returns the keys of the body's code words, sorted.
    pub(crate) fn code_words(&self) -> &[u32] {
        &self.numbers[self.body..]
    }

    /// Returns the triples of characters of the name and the description.
    pub(crate) fn triples(&self) -> &[u16] {
        &self.triples
    }

    fn read(record: &[u8]) -> Option<Profile> {
        let (bytes, sum) = record.split_at_checked(record.len().checked_sub(8)?)?;
        if checksum(bytes) != Reader::new(sum).u64()? {
            return None;
        }
        let mut reader = Reader::new(bytes);
        let [front, body, code_words, triples] =
            [reader.u16()?, reader.u16()?, reader.u16()?, reader.u16()?].map(usize::from);
        let numbers = u32s(reader.raw(4 * (front + body + code_words))?)?;
        let (triples, rest) = reader.raw(2 * triples)?.as_chunks();
        let triples = triples.iter().map(|triple| u16::from_le_bytes(*triple)).collect();
        (rest.is_empty() && reader.is_empty()).then_some(Profile { numbers, front, body: front + body, triples })
    }
}

/// The profiles of skills: records in memory or in a file.
#[derive(Debug)]
pub(crate) struct ProfileStore {
    places: Vec<RecordPlace>,
    /// Records one after another. Several, if an index was updated.
    sources: Vec<Arc<ProfileRecords>>,
}

/// The place of a record: the number of its source, and its range there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct RecordPlace {
    source: u32,
    start: u64,
    end: u64,
}

#[derive(Debug)]
enum ProfileRecords {
    InMemory(Vec<u8>),
    Stored(LazyPart),
}

/// Makes profiles of texts.
#[derive(Debug, Default)]
pub(crate) struct ProfileWriter {
    /// The end of each record.
    ends: Vec<u64>,
    records: Vec<u8>,
}

/// How many sources of records a store has at most. Records of skills that are gone stay in theirs.
const MAX_SOURCES: usize = 8;

/// The texts of a skill that its profile is made of.
pub(crate) struct ProfileTexts<'a> {
    pub(crate) name: &'a str,
    pub(crate) description: &'a str,
    pub(crate) claims: &'a Claims<'a>,
    pub(crate) triggers: &'a [&'a str],
    pub(crate) body: Option<&'a DocTerms>,
}

impl ProfileWriter {
    /// Adds the profile of a skill.
    pub(crate) fn push(&mut self, tokenizer: &mut Tokenizer, texts: &ProfileTexts<'_>) {
        let mut front = Vec::new();
        sequence::push(tokenizer, texts.name, MAX_FRONT, &mut front);
        if front.is_empty() {
            front.push(BREAK);
        }
        let positive = texts.claims.positive.iter().flat_map(|text| sequence::clauses(text));
        for clause in positive.chain(texts.triggers.iter().copied()) {
            sequence::push(tokenizer, clause, MAX_FRONT, &mut front);
        }
        front.truncate(MAX_FRONT);
        front.push(EXCLUDED);
        for clause in texts.claims.negative.iter().flat_map(|text| sequence::clauses(text)) {
            sequence::push(tokenizer, clause, 2 * MAX_FRONT, &mut front);
        }
        let described = format!("{} {}", texts.name.replace(['-', '_', ':'], " "), texts.description);
        let mut triples: Vec<u16> = triples(&described[..described.floor_char_boundary(MAX_TRIPLES)]).collect();
        triples.sort_unstable();
        triples.dedup();
        let (body, code_words) = texts.body.map_or((&[][..], &[][..]), |body| (&body.terms[..], &body.code_words[..]));
        let mut record =
            Writer::with_capacity(16 + 4 * (front.len() + body.len() + code_words.len()) + 2 * triples.len());
        for length in [front.len(), body.len(), code_words.len(), triples.len()] {
            // Each is limited to some thousands.
            record.u16(u16::try_from(length).unwrap_or(0));
        }
        for number in front.iter().chain(body).chain(code_words) {
            record.u32(*number);
        }
        for triple in triples {
            record.u16(triple);
        }
        let sum = checksum(record.as_bytes());
        record.u64(sum);
        self.records.extend_from_slice(record.as_bytes());
        self.ends.push(self.records.len() as u64);
    }

    /// Adds the profiles of another one.
    pub(crate) fn append(&mut self, other: ProfileWriter) {
        let start = self.records.len() as u64;
        self.ends.extend(other.ends.into_iter().map(|end| start + end));
        if self.records.is_empty() { self.records = other.records } else { self.records.extend(other.records) }
    }

    pub(crate) fn finish(self) -> ProfileStore {
        ProfileStore::of(&self.ends, ProfileRecords::InMemory(self.records))
    }
}

impl ProfileStore {
    fn of(ends: &[u64], records: ProfileRecords) -> ProfileStore {
        let starts = std::iter::once(&0).chain(ends);
        let places = starts.zip(ends).map(|(start, end)| RecordPlace { source: 0, start: *start, end: *end });
        ProfileStore { places: places.collect(), sources: vec![Arc::new(records)] }
    }

    /// Returns the profiles whose records are in a part of a file, if there is one for each document.
    pub(crate) fn stored(ends: &[u64], part: LazyPart, documents: usize) -> Option<ProfileStore> {
        let fits = ends.len() == documents && ends.is_sorted() && ends.last().copied().unwrap_or(0) == part.len();
        fits.then(|| ProfileStore::of(ends, ProfileRecords::Stored(part)))
    }

    /// Returns the profiles of documents of two stores, by their new numbers; no record is copied as a rule. `None`, if
    /// one is missing.
    pub(crate) fn merged(stores: [(&ProfileStore, &[u32]); 2], documents: usize) -> Option<ProfileStore> {
        let mut sources: Vec<Arc<ProfileRecords>> = Vec::new();
        let mut places = vec![None; documents];
        for (store, numbers) in stores {
            let first = u32::try_from(sources.len()).ok()?;
            sources.extend(store.sources.iter().map(Arc::clone));
            for (place, number) in store.places.iter().zip(numbers) {
                if let Some(new) = places.get_mut(*number as usize) {
                    *new = Some(RecordPlace { source: first + place.source, ..*place });
                }
            }
        }
        let merged = ProfileStore { places: places.into_iter().collect::<Option<_>>()?, sources };
        if merged.sources.len() <= MAX_SOURCES {
            return Some(merged);
        }
        let (ends, records) = merged.parts();
        Some(ProfileStore::of(&ends, ProfileRecords::InMemory(records)))
    }

    /// Returns the profile of a document; an empty one, if its record is damaged.
    pub(crate) fn get(&self, document: usize) -> Profile {
        let Some(&RecordPlace { source, start, end }) = self.places.get(document) else { return Profile::default() };
        let profile = match &*self.sources[source as usize] {
            ProfileRecords::InMemory(records) => slice(records, start, end).and_then(Profile::read),
            ProfileRecords::Stored(part) => {
                part.sound(part.range(start, end).and_then(|record| Profile::read(&record)))
            }
        };
        profile.unwrap_or_default()
    }

    /// Returns the ends of records, and all records, to be stored. Nothing stands for what is damaged.
    pub(crate) fn parts(&self) -> (Vec<u64>, Vec<u8>) {
        let sources: Vec<Cow<'_, [u8]>> = self.sources.iter().map(|source| source.bytes()).collect();
        let size: u64 = self.places.iter().map(|place| place.end - place.start).sum();
        let mut records = Vec::with_capacity(usize::try_from(size).unwrap_or(0));
        let mut ends = Vec::with_capacity(self.places.len());
        for place in &self.places {
            records
                .extend_from_slice(slice(&sources[place.source as usize], place.start, place.end).unwrap_or_default());
            ends.push(records.len() as u64);
        }
        (ends, records)
    }
}

impl ProfileRecords {
    fn bytes(&self) -> Cow<'_, [u8]> {
        match self {
            ProfileRecords::InMemory(records) => records.into(),
            ProfileRecords::Stored(part) => part.bytes().unwrap_or_default().into(),
        }
    }
}

fn slice(bytes: &[u8], start: u64, end: u64) -> Option<&[u8]> {
    bytes.get(usize::try_from(start).ok()?..usize::try_from(end).ok()?)
}
