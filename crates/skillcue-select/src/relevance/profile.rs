//! Profiles: the texts of each skill in their order, as records of bytes, in memory or in a file.

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

    /// Returns the terms of the body, as they were added.
    pub(crate) fn doc_terms(&self) -> DocTerms {
        DocTerms { terms: self.body().into(), code_words: self.code_words().into() }
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

/// The profiles of skills, one record after another.
#[derive(Debug, Default)]
pub(crate) struct ProfileStore {
    /// The end of each record.
    ends: Vec<u64>,
    records: ProfileRecords,
}

#[derive(Debug)]
enum ProfileRecords {
    InMemory(Vec<u8>),
    Stored(LazyPart),
}

impl Default for ProfileRecords {
    fn default() -> Self {
        ProfileRecords::InMemory(Vec::new())
    }
}

/// The texts of a skill that its profile is made of.
pub(crate) struct ProfileTexts<'a> {
    pub(crate) name: &'a str,
    pub(crate) description: &'a str,
    pub(crate) claims: &'a Claims<'a>,
    pub(crate) triggers: &'a [&'a str],
    pub(crate) body: Option<&'a DocTerms>,
}

impl ProfileStore {
    /// Adds the profile of a skill. Does nothing to one that is stored.
    pub(crate) fn push(&mut self, tokenizer: &mut Tokenizer, texts: &ProfileTexts<'_>) {
        let ProfileRecords::InMemory(records) = &mut self.records else { return };
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
        records.extend_from_slice(record.as_bytes());
        self.ends.push(records.len() as u64);
    }

    /// Adds the profiles of another one, which is in memory.
    pub(crate) fn append(&mut self, other: ProfileStore) {
        if let (ProfileRecords::InMemory(records), ProfileRecords::InMemory(more)) = (&mut self.records, other.records)
        {
            let start = records.len() as u64;
            self.ends.extend(other.ends.into_iter().map(|end| start + end));
            if records.is_empty() { *records = more } else { records.extend_from_slice(&more) }
        }
    }

    /// Returns the profile of a document; an empty one, if its record is damaged.
    pub(crate) fn get(&self, document: usize) -> Profile {
        let Some(&end) = self.ends.get(document) else { return Profile::default() };
        let start = document.checked_sub(1).map_or(0, |before| self.ends[before]);
        let profile = match &self.records {
            ProfileRecords::InMemory(records) => {
                let range = usize::try_from(start).ok().zip(usize::try_from(end).ok());
                range.and_then(|(start, end)| Profile::read(records.get(start..end)?))
            }
            ProfileRecords::Stored(part) => {
                part.sound(part.range(start, end).and_then(|record| Profile::read(&record)))
            }
        };
        profile.unwrap_or_default()
    }

    /// Returns the ends of records, and all records, to be stored.
    pub(crate) fn parts(&self) -> (&[u64], std::borrow::Cow<'_, [u8]>) {
        let records = match &self.records {
            ProfileRecords::InMemory(records) => records.into(),
            ProfileRecords::Stored(part) => part.bytes().unwrap_or_default().into(),
        };
        (&self.ends, records)
    }

    /// Returns the profiles whose records are in a part of a file, if there is one for each document.
    pub(crate) fn stored(ends: Vec<u64>, part: LazyPart, documents: usize) -> Option<ProfileStore> {
        let fits = ends.len() == documents && ends.is_sorted() && ends.last().copied().unwrap_or(0) == part.len();
        fits.then_some(ProfileStore { ends, records: ProfileRecords::Stored(part) })
    }
}
