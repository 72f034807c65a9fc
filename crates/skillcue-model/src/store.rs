//! [`SectionVectors`]: the vectors of a catalog's skills, kept in a file.
//!
//! The head of [`FORMAT`] has, for each skill in the order of its digest, the number of its sections and the checksum of
//! its record; a table of the summaries' vectors and the records follow. A record is the vectors of one skill. A search
//! reads the head and the table, some 400 bytes a skill, and the records of the skills that it is asked about.
//!
//! The file is a cache: one that is missing, damaged or of another model reads as empty, and a damaged record as that of
//! a skill that is not there, so that its vectors are made anew.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::Metadata;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock};

use skillcue_base::binary::{BinaryFormat, Extent, KeptFile, Reader, Writer};
use skillcue_base::{lock, replace_file};

use crate::vector::cosine;
use crate::{DIMENSIONS, MAX_SECTIONS, Vector};

/// The format of the file. The build names what makes the vectors, the model and the cut into sections, and not the
/// version of the program: to make them anew takes minutes.
const FORMAT: BinaryFormat = BinaryFormat { magic: *b"skcvecs1", build: "all-MiniLM-L6-v2-int8/sections-1" };

/// The most bytes of a file that is read: 16 sections each of 170,000 skills.
const MAX_FILE_BYTES: u64 = 1 << 30;

/// The vectors of skills' sections, by a digest of the caller's choice that changes when a skill's texts do.
///
/// ```
/// use skillcue_model::{DIMENSIONS, SectionVectors, Vector};
///
/// let axis = |at: usize| Vector::quantized(&std::array::from_fn(|n| if n == at { 1.0 } else { 0.0 }));
/// let dir = tempfile::tempdir()?;
/// let file = dir.path().join("vectors");
///
/// let mut vectors = SectionVectors::open(&file);
/// assert_eq!(vectors.missing([1, 2]), [1, 2]);
/// vectors.insert(1, vec![axis(0), axis(5)]);
/// vectors.insert(2, vec![axis(1)]);
/// vectors.write(&file)?;
///
/// let vectors = SectionVectors::open(&file);
/// let found = vectors.best(&axis(5), 1).unwrap();
/// assert_eq!((found.best, found.summary), (1.0, 0.0));
/// assert_eq!(vectors.best(&axis(5), 3), None);
/// assert_eq!(vectors.nearest(&axis(1), 1), [(2, 1.0)]);
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug, Default)]
pub struct SectionVectors {
    stored: Option<StoredVectors>,
    /// Vectors that are not in the file yet, or replace those that are.
    fresh: BTreeMap<u128, Vec<Vector>>,
    /// Skills of the file that are no longer wanted.
    removed: BTreeSet<u128>,
}

/// How near a message is to a skill, as cosines.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SectionMatch {
    /// With the nearest of its sections, the summary among them.
    pub best: f32,
    /// With its summary: name and description.
    pub summary: f32,
}

/// A file of vectors.
#[derive(Debug)]
struct StoredVectors {
    file: KeptFile,
    /// Sorted.
    digests: Vec<u128>,
    /// The record of each skill.
    records: Vec<Extent>,
    table: Extent,
    /// The table, once it was read; `None` if it is damaged.
    summaries: OnceLock<Option<SummaryTable>>,
    /// The skills whose records turned out to be damaged.
    damaged: Mutex<BTreeSet<u128>>,
}

/// The vectors of all summaries, in the order of the skills' digests.
#[derive(Debug)]
struct SummaryTable {
    vectors: Vec<[u8; DIMENSIONS]>,
    scales: Vec<f32>,
}

impl SectionVectors {
    /// Opens a file. One that is missing, damaged or made by another model counts as empty.
    pub fn open(path: &Path) -> SectionVectors {
        let stored = KeptFile::open(path, MAX_FILE_BYTES).and_then(StoredVectors::of_file);
        SectionVectors { stored, ..SectionVectors::default() }
    }

    /// Returns the number of skills.
    pub fn len(&self) -> usize {
        self.stored().map_or(0, |stored| stored.digests.iter().filter(|digest| self.is_stored(**digest)).count())
            + self.fresh.len()
    }

    /// Returns whether there are no skills.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns whether a skill has vectors.
    pub fn contains(&self, digest: u128) -> bool {
        self.fresh.contains_key(&digest)
            || (self.is_stored(digest) && self.stored().is_some_and(|stored| stored.position(digest).is_some()))
    }

    /// Returns those of some skills that have no vectors, in their order.
    pub fn missing(&self, digests: impl IntoIterator<Item = u128>) -> Vec<u128> {
        digests.into_iter().filter(|digest| !self.contains(*digest)).collect()
    }

    /// Puts the vectors of a skill in, in the order of its [`sections`](crate::sections): its summary is the first. At
    /// most [`MAX_SECTIONS`] are kept; without any, nothing changes.
    pub fn insert(&mut self, digest: u128, mut vectors: Vec<Vector>) {
        vectors.truncate(MAX_SECTIONS);
        if !vectors.is_empty() {
            self.fresh.insert(digest, vectors);
        }
    }

    /// Drops the skills that are not to be kept.
    pub fn retain(&mut self, mut keep: impl FnMut(u128) -> bool) {
        self.fresh.retain(|digest, _| keep(*digest));
        let stored = self.stored.iter().flat_map(|stored| &stored.digests);
        let removed: Vec<u128> = stored.copied().filter(|digest| !keep(*digest)).collect();
        self.removed.extend(removed);
    }

    /// Returns how near a message is to a skill; `None` if the skill has no vectors.
    pub fn best(&self, message: &Vector, digest: u128) -> Option<SectionMatch> {
        let compare = |vectors: &[Vector]| {
            let summary = message.cosine(vectors.first()?);
            let best = vectors.iter().map(|vector| message.cosine(vector)).fold(summary, f32::max);
            Some(SectionMatch { best, summary })
        };
        match self.fresh.get(&digest) {
            Some(vectors) => compare(vectors),
            None if self.is_stored(digest) => compare(&vectors(&self.stored()?.record(digest)?).collect::<Vec<_>>()),
            None => None,
        }
    }

    /// Returns the skills whose summaries are nearest to a message, the nearest first, with their cosines.
    pub fn nearest(&self, message: &Vector, count: usize) -> Vec<(u128, f32)> {
        let mut found: Vec<(u128, f32)> = Vec::new();
        if let Some(stored) = self.stored()
            && let Some(table) = stored.summaries()
        {
            let is_changed = !(self.fresh.is_empty() && self.removed.is_empty() && lock(&stored.damaged).is_empty());
            found.reserve(stored.digests.len());
            for ((digest, vector), scale) in stored.digests.iter().zip(&table.vectors).zip(&table.scales) {
                if !is_changed || self.is_stored(*digest) {
                    let product = dot_stored(message.bytes(), vector);
                    found.push((*digest, cosine(product, message.scale(), *scale)));
                }
            }
        }
        let fresh = self.fresh.iter().filter_map(|(digest, vectors)| Some((*digest, message.cosine(vectors.first()?))));
        found.extend(fresh);
        let order = |a: &(u128, f32), b: &(u128, f32)| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0));
        if count < found.len() {
            found.select_nth_unstable_by(count, order);
            found.truncate(count);
        }
        found.sort_unstable_by(order);
        found
    }

    /// Returns whether the file should be written: something was put in or dropped, or turned out to be damaged.
    pub fn needs_write(&self) -> bool {
        let is_damaged = |stored: &StoredVectors| {
            !lock(&stored.damaged).is_empty() || stored.summaries.get().is_some_and(Option::is_none)
        };
        !(self.fresh.is_empty() && self.removed.is_empty()) || self.stored().is_some_and(is_damaged)
    }

    /// Writes everything into a file, as a whole. Of two writers the later wins; what the other has put in is made anew.
    pub fn write(&self, path: &Path) -> io::Result<()> {
        let mut records: BTreeMap<u128, Vec<u8>> = BTreeMap::new();
        if let Some(stored) = self.stored() {
            let kept = stored.digests.iter().filter(|digest| self.is_stored(**digest));
            // A damaged record is left out.
            records.extend(kept.filter_map(|digest| Some((*digest, stored.record(*digest)?))));
        }
        records.extend(self.fresh.iter().map(|(digest, vectors)| (*digest, record(vectors))));
        let bytes = encoded(&records);
        replace_file(path, [&bytes[..]])
    }

    fn stored(&self) -> Option<&StoredVectors> {
        self.stored.as_ref()
    }

    /// Returns whether a skill that is in the file counts.
    fn is_stored(&self, digest: u128) -> bool {
        !self.fresh.contains_key(&digest)
            && !self.removed.contains(&digest)
            && self.stored().is_some_and(|stored| !lock(&stored.damaged).contains(&digest))
    }
}

/// Returns the bytes of some vectors.
fn record(vectors: &[Vector]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(vectors.len() * DIMENSIONS);
    for vector in vectors {
        bytes.extend_from_slice(&vector.bytes().map(i8::cast_unsigned));
    }
    bytes
}

/// Returns the vectors in some bytes.
fn vectors(record: &[u8]) -> impl Iterator<Item = Vector> {
    record.as_chunks().0.iter().map(|bytes| Vector::of_bytes(bytes.map(u8::cast_signed)))
}

/// Returns the bytes of a file, of records that each have at least one vector.
fn encoded(records: &BTreeMap<u128, Vec<u8>>) -> Vec<u8> {
    let mut table = Writer::with_capacity(records.len() * (DIMENSIONS + 4));
    let mut head = Writer::with_capacity(records.len() * 32 + 32);
    for record in records.values() {
        table.raw(&record[..DIMENSIONS.min(record.len())]);
    }
    for summary in records.values().filter_map(|record| vectors(record).next()) {
        table.u32(summary.scale().to_bits());
    }
    head.count(records.len());
    head.extent(table.as_bytes());
    for (digest, record) in records {
        head.u128(*digest);
        head.extent(record);
    }
    let mut bytes = FORMAT.seal(head.as_bytes());
    bytes.reserve_exact(table.len() + records.values().map(Vec::len).sum::<usize>());
    bytes.extend_from_slice(table.as_bytes());
    for record in records.values() {
        bytes.extend_from_slice(record);
    }
    bytes
}

impl StoredVectors {
    fn of_file(file: KeptFile) -> Option<StoredVectors> {
        let head = FORMAT.read_head(|offset, length| file.read(offset, length))?;
        let mut offset = (FORMAT.front_len() + head.len()) as u64;
        let mut reader = Reader::new(&head);
        let count = reader.count()?;
        let table = reader.extent(&mut offset)?;
        let (mut digests, mut records) = (Vec::with_capacity(count), Vec::with_capacity(count));
        for _ in 0..count {
            digests.push(reader.u128()?);
            records.push(reader.extent(&mut offset)?);
        }
        let is_whole = |record: &Extent| {
            let vectors = record.length / DIMENSIONS as u64;
            record.length.is_multiple_of(DIMENSIONS as u64) && (1..=MAX_SECTIONS as u64).contains(&vectors)
        };
        let sound = reader.is_empty()
            && offset == file.size()
            && digests.is_sorted_by(|a, b| a < b)
            && table.length == (count * (DIMENSIONS + 4)) as u64
            && records.iter().all(is_whole);
        let (summaries, damaged) = (OnceLock::new(), Mutex::default());
        sound.then_some(StoredVectors { file, digests, records, table, summaries, damaged })
    }

    fn position(&self, digest: u128) -> Option<usize> {
        self.digests.binary_search(&digest).ok()
    }

    /// Returns the record of a skill. `None`, and the skill is marked as damaged, if it is not the one that was written.
    fn record(&self, digest: u128) -> Option<Vec<u8>> {
        let record = self.records[self.position(digest)?].read(|offset, length| self.file.read(offset, length));
        if record.is_none() {
            lock(&self.damaged).insert(digest);
        }
        record
    }

    /// Returns the table of summaries, read once; `None` if it is damaged.
    fn summaries(&self) -> Option<&SummaryTable> {
        let read = || {
            let bytes = self.table.read(|offset, length| self.file.read(offset, length))?;
            let (vectors, scales) = bytes.split_at_checked(self.digests.len() * DIMENSIONS)?;
            let scales: Vec<f32> = skillcue_base::binary::u32s(scales)?.into_iter().map(f32::from_bits).collect();
            let vectors = vectors.as_chunks().0.to_vec();
            scales.iter().all(|scale| scale.is_finite()).then_some(SummaryTable { vectors, scales })
        };
        self.summaries.get_or_init(read).as_ref()
    }
}

/// Returns the sum of the products, of bytes as they are in a file.
fn dot_stored(a: &[i8; DIMENSIONS], b: &[u8; DIMENSIONS]) -> i32 {
    a.iter().zip(b).map(|(a, b)| i32::from(i16::from(*a) * i16::from(b.cast_signed()))).sum()
}

/// Returns the files of vectors in a cache directory, with their sizes: those called `vectors-…`.
///
/// ```
/// let cache = tempfile::tempdir()?;
/// std::fs::write(cache.path().join("vectors-00ff"), "12345")?;
/// std::fs::write(cache.path().join("index"), "other")?;
/// assert_eq!(skillcue_model::vector_files(cache.path()), [(cache.path().join("vectors-00ff"), 5)]);
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn vector_files(cache_dir: &Path) -> Vec<(PathBuf, u64)> {
    let entries = cache_dir.read_dir().into_iter().flatten().filter_map(Result::ok);
    let named = entries.filter(|entry| entry.file_name().to_str().is_some_and(|name| name.starts_with("vectors-")));
    let sized = named.filter_map(|entry| Some((entry.path(), entry.metadata().ok().filter(Metadata::is_file)?.len())));
    let mut files: Vec<(PathBuf, u64)> = sized.collect();
    files.sort_unstable();
    files
}

#[cfg(test)]
#[path = "store_tests.rs"]
mod tests;
