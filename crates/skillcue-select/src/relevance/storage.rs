//! Storage of the text index: as bytes, and back.
//!
//! The head of [`FORMAT`] has the key, and of each part its length and its checksum; the parts follow. Reading an index
//! back reads the head and the small parts; lists of postings, some 90 % of it, are read in blocks when a message has a
//! term in them, and the lookalikes of misspelt words when a word is unknown. A part that turns out damaged is treated
//! as empty, and the index reports that it [is damaged](TextIndex::is_damaged).

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use skillcue_base::binary::{BinaryFormat, Extent, Reader, Writer, u32s, u64s};

use crate::TextIndex;
use crate::relevance::field::{PostingBlocks, TextField};
use crate::relevance::lookalikes::{Lookalikes, LookalikesStore};
use crate::relevance::profile::ProfileStore;

/// The format of the bytes. The magic changes whenever the layout does, or the terms of a text: stems, keys. The build
/// counts because another one may read texts differently.
const FORMAT: BinaryFormat = BinaryFormat { magic: *b"skctext6", build: env!("CARGO_PKG_VERSION") };

/// A function that reads some bytes of a stored index, by offset and length.
pub type ReadAt = Arc<dyn Fn(u64, usize) -> Option<Vec<u8>> + Send + Sync>;

/// A part of a stored index, not read yet.
#[derive(Clone)]
pub(crate) struct LazyPart {
    read: ReadAt,
    extent: Extent,
    damaged: Arc<AtomicBool>,
}

impl std::fmt::Debug for LazyPart {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LazyPart").field("extent", &self.extent).finish_non_exhaustive()
    }
}

impl LazyPart {
    /// Returns its bytes. `None`, and the index is marked as damaged, if they are not those that were written.
    pub(crate) fn bytes(&self) -> Option<Vec<u8>> {
        self.sound(self.extent.read(|offset, length| (self.read)(offset, length)))
    }

    /// Marks the index as damaged if `made` is `None`. Returns `made`.
    pub(crate) fn sound<T>(&self, made: Option<T>) -> Option<T> {
        if made.is_none() {
            self.damaged.store(true, Ordering::Relaxed);
        }
        made
    }

    /// Returns its size in bytes.
    pub(crate) fn len(&self) -> u64 {
        self.extent.length
    }

    /// Returns some of its bytes, unchecked.
    pub(crate) fn range(&self, start: u64, end: u64) -> Option<Vec<u8>> {
        let length = usize::try_from(end.checked_sub(start)?).ok()?;
        (end <= self.extent.length).then(|| (self.read)(self.extent.offset.checked_add(start)?, length)).flatten()
    }

    pub(crate) fn numbers(&self) -> Option<Vec<u32>> {
        u32s(&self.bytes()?)
    }

    pub(crate) fn wide(&self) -> Option<Vec<u64>> {
        u64s(&self.bytes()?)
    }
}

/// The parts of an index, encoded one by one.
#[derive(Default)]
struct PartWriter {
    parts: Vec<Vec<u8>>,
}

impl PartWriter {
    fn bytes(&mut self, bytes: Vec<u8>) {
        self.parts.push(bytes);
    }

    fn numbers(&mut self, numbers: impl IntoIterator<Item = u32>) {
        let numbers = numbers.into_iter();
        let mut part = Writer::with_capacity(4 * numbers.size_hint().0);
        // One by one: chains of bytes are collected many times slower.
        numbers.for_each(|number| part.u32(number));
        self.parts.push(part.into_bytes());
    }

    fn wide(&mut self, numbers: &[u64]) {
        let mut part = Writer::with_capacity(8 * numbers.len());
        for number in numbers {
            part.u64(*number);
        }
        self.parts.push(part.into_bytes());
    }

    fn field(&mut self, field: &TextField) {
        self.numbers(field.keys().iter().copied());
        self.numbers(field.starts.iter().copied());
        self.numbers(field.lengths.iter().copied());
        let firsts = field.block_firsts();
        self.numbers(firsts.iter().copied());
        for (at, first) in firsts.iter().enumerate() {
            let end = firsts.get(at + 1).map_or(field.keys().len(), |next| *next as usize);
            let mut part = Writer::with_capacity(4 * (field.starts[end] - field.starts[*first as usize]) as usize);
            for posting in (*first as usize..end).filter_map(|id| field.list(id)).flatten() {
                part.u32(*posting);
            }
            self.parts.push(part.into_bytes());
        }
    }
}

impl TextIndex {
    /// Returns the index as bytes, to store between starts, with a key by which its owner knows what it was made from.
    pub fn to_bytes(&self, key: u128) -> Vec<u8> {
        let mut writer = PartWriter::default();
        writer.numbers(self.skills.iter().copied());
        writer.wide(&self.names);
        writer.wide(&self.text_keys);
        writer.bytes(self.bodies.iter().map(|has| u8::from(*has)).collect());
        writer.numbers([u32::from(self.long.is_some()), u32::from(self.has_bodies)]);
        writer.field(&self.short);
        writer.field(&self.name);
        if let Some(long) = &self.long {
            writer.field(long);
        }
        let (ends, records) = self.profiles.parts();
        writer.wide(&ends);
        writer.bytes(records);
        if let Some(lookalikes) = self.lookalikes.get() {
            writer.bytes(lookalikes.text.as_bytes().to_vec());
            writer.numbers(lookalikes.starts.iter().copied());
            writer.bytes(lookalikes.sizes.clone());
            writer.wide(&lookalikes.groups);
            writer.numbers(lookalikes.offsets.iter().copied());
            writer.numbers(lookalikes.stems.iter().copied());
        }
        let mut head = Writer::with_capacity(20 + writer.parts.len() * 16);
        head.u128(key);
        head.count(writer.parts.len());
        for part in &writer.parts {
            head.extent(part);
        }
        let mut out = FORMAT.front(head.as_bytes());
        out.reserve_exact(head.len() + writer.parts.iter().map(Vec::len).sum::<usize>());
        out.extend_from_slice(head.as_bytes());
        // Each part goes as soon as it is copied: all of them are as large as the whole.
        for part in writer.parts {
            out.extend_from_slice(&part);
        }
        out
    }

    /// Returns the index that [`to_bytes`](TextIndex::to_bytes) stored with that key. Its parts are read when messages
    /// need them. `None`, if it has another key or version, or is damaged.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use skillcue_select::{SkillDocument, ReadAt, TextIndex};
    ///
    /// let (name, description) = ("pdf-forms", "Fills in PDF forms.");
    /// let document = SkillDocument { name, description, ..SkillDocument::default() };
    /// let bytes = TextIndex::of_documents([document]).to_bytes(7);
    /// let read: ReadAt = Arc::new(move |at: u64, length: usize| {
    ///     let at = usize::try_from(at).ok()?;
    ///     bytes.get(at..at.checked_add(length)?).map(<[u8]>::to_vec)
    /// });
    /// assert!(TextIndex::read_back(&read, 8).is_none());
    /// let index = TextIndex::read_back(&read, 7).unwrap();
    /// assert_eq!(index.search("fill in a form", 3, &|_| true).hits[0].skill, 0);
    /// ```
    pub fn read_back(read: &ReadAt, key: u128) -> Option<TextIndex> {
        TextIndex::read_any(read, |stored| stored == key)
    }

    /// Returns a stored index, whatever its key, to be [updated](TextIndex::updated) when skills have changed.
    pub fn read_old(read: &ReadAt) -> Option<TextIndex> {
        TextIndex::read_any(read, |_| true)
    }

    fn read_any(read: &ReadAt, is_wanted: impl Fn(u128) -> bool) -> Option<TextIndex> {
        let head = FORMAT.read_head(|offset, length| read(offset, length))?;
        let mut offset = (FORMAT.front_len() + head.len()) as u64;
        let mut reader = Reader::new(&head);
        if !is_wanted(reader.u128()?) {
            return None;
        }
        let damaged = Arc::new(AtomicBool::new(false));
        let mut parts = Vec::new();
        for _ in 0..reader.count()? {
            let extent = reader.extent(&mut offset)?;
            parts.push(LazyPart { read: Arc::clone(read), extent, damaged: Arc::clone(&damaged) });
        }
        let mut parts = parts.into_iter();
        let skills = parts.next()?.numbers()?;
        let names = parts.next()?.wide()?;
        let text_keys = parts.next()?.wide()?;
        let bodies: Vec<bool> = parts.next()?.bytes()?.into_iter().map(|flag| flag == 1).collect();
        let [has_long, has_bodies] = <[u32; 2]>::try_from(parts.next()?.numbers()?).ok()?.map(|flag| flag == 1);
        let count = skills.len();
        let short = field(&mut parts, count)?;
        let name = field(&mut parts, count)?;
        let long = if has_long { Some(field(&mut parts, count)?) } else { None };
        let profiles = ProfileStore::stored(&parts.next()?.wide()?, parts.next()?, count)?;
        let lookalikes = LookalikesStore::stored(parts.collect::<Vec<_>>().try_into().ok()?);
        let lengths = [names.len(), text_keys.len(), bodies.len()];
        lengths.iter().all(|length| *length == count).then_some(TextIndex {
            skills,
            text_keys,
            bodies,
            names,
            short,
            long,
            name,
            has_bodies,
            lookalikes: Arc::new(lookalikes),
            profiles,
            vectors: OnceLock::new(),
            damaged,
        })
    }

    /// Returns whether stored bytes turned out to be damaged. Its results are not reliable then.
    pub fn is_damaged(&self) -> bool {
        self.damaged.load(Ordering::Relaxed)
    }
}

fn field(parts: &mut impl Iterator<Item = LazyPart>, documents: usize) -> Option<TextField> {
    let (keys, starts, lengths) = (parts.next()?.numbers()?, parts.next()?.numbers()?, parts.next()?.numbers()?);
    let firsts = parts.next()?.numbers()?;
    let sound = keys.is_sorted()
        && starts.len() == keys.len() + 1
        && starts.first() == Some(&0)
        && starts.is_sorted()
        && lengths.len() == documents
        && firsts.is_sorted()
        && firsts.iter().all(|first| (*first as usize) < keys.len())
        && firsts.first().is_none_or(|first| *first == 0);
    let blocks: Vec<LazyPart> = parts.take(firsts.len()).collect();
    if !sound || blocks.len() != firsts.len() || firsts.is_empty() != keys.is_empty() {
        return None;
    }
    Some(TextField::new(keys, starts, PostingBlocks::stored(firsts, blocks), lengths))
}

impl LookalikesStore {
    /// Reads the stored parts.
    pub(crate) fn read(parts: &[LazyPart; 6]) -> Option<Lookalikes> {
        let [text, starts, sizes, groups, offsets, stems] = parts;
        let lookalikes = Lookalikes {
            text: String::from_utf8(text.bytes()?).ok()?,
            starts: starts.numbers()?,
            sizes: sizes.bytes()?,
            groups: groups.wide()?,
            offsets: offsets.numbers()?,
            stems: stems.numbers()?,
        };
        lookalikes.is_sound().then_some(lookalikes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SkillDocument;

    fn documents() -> Vec<(String, String, String)> {
        let text = |n: usize| {
            let words = ["merge", "split", "rotate", "table", "chart", "invoice", "résumé", "表格", "letter", "photo"];
            let word = |at: usize| words[(n * 7 + at * 3) % words.len()];
            (
                format!("skill-{n}-{}", word(1)),
                format!("Does {} and {} with number{n}. Not for {}.", word(2), word(3), word(5)),
                format!("# {}\n\nbody{} {} {}", word(4), n % 50, word(6), "more ".repeat(n % 9)),
            )
        };
        (0..3_000).map(text).collect()
    }

    fn index(bodies: bool) -> TextIndex {
        let documents = documents();
        TextIndex::of_documents(documents.iter().map(|(name, description, body)| SkillDocument {
            name,
            description,
            body: bodies.then_some(body.as_str()),
            ..SkillDocument::default()
        }))
    }

    fn reader(bytes: Vec<u8>) -> (ReadAt, Arc<std::sync::atomic::AtomicUsize>) {
        let read = Arc::new(std::sync::atomic::AtomicUsize::new(0));
        let count = Arc::clone(&read);
        let at = move |offset: u64, length: usize| {
            count.fetch_add(length, Ordering::Relaxed);
            let offset = usize::try_from(offset).ok()?;
            bytes.get(offset..offset.checked_add(length)?).map(<[u8]>::to_vec)
        };
        (Arc::new(at), read)
    }

    const MESSAGES: [&str; 5] =
        ["merge the tables", "rotaet a foto", "number7 body7 please", "表格 résumé", "nothing of the kind"];

    #[test]
    fn a_stored_index_finds_the_same_and_is_read_as_needed() {
        for bodies in [false, true] {
            let index = index(bodies);
            let bytes = index.to_bytes(1);
            let whole = bytes.len();
            let (read, count) = reader(bytes);
            let back = TextIndex::read_back(&read, 1).unwrap();
            let before = count.load(Ordering::Relaxed);
            assert!(before < whole * 2 / 3, "{before} of {whole} bytes are read at once");
            for message in MESSAGES {
                assert_eq!(back.search(message, 20, &|_| true), index.search(message, 20, &|_| true), "{message}");
            }
            assert!(!index.search(MESSAGES[0], 20, &|_| true).hits.is_empty());
            assert!(count.load(Ordering::Relaxed) > before && !back.is_damaged());
        }
    }

    fn search_all(index: &TextIndex) {
        for message in MESSAGES {
            drop(index.search(message, 5, &|_| true));
        }
    }

    #[test]
    fn damage_is_seen_at_once_or_when_it_matters() {
        let bytes = index(true).to_bytes(1);
        assert!(TextIndex::read_back(&reader(bytes.clone()).0, 2).is_none(), "another key");
        assert!(TextIndex::read_back(&reader(bytes[..bytes.len() / 2].to_vec()).0, 1).is_none_or(|index| {
            search_all(&index);
            index.is_damaged()
        }));
        let (mut early, mut late, mut unread) = (0, 0, 0);
        for at in (0..bytes.len()).step_by(bytes.len() / 200) {
            let mut flipped = bytes.clone();
            flipped[at] ^= 1;
            match TextIndex::read_back(&reader(flipped).0, 1) {
                None => early += 1,
                Some(index) => {
                    search_all(&index);
                    if index.is_damaged() { late += 1 } else { unread += 1 }
                }
            }
        }
        assert!(early > 0 && late > 0, "{early} {late} {unread}");
    }

    /// Changes every number of every part, with valid checksums, as an attacker could.
    #[test]
    fn forged_parts_never_panic() {
        let small = TextIndex::of_documents([
            SkillDocument {
                name: "pdf",
                description: "Merges PDF. Not for tables.",
                body: Some("Merge."),
                ..SkillDocument::default()
            },
            SkillDocument {
                name: "csv",
                description: "Reads tables and charts.",
                body: Some("Table."),
                ..SkillDocument::default()
            },
        ]);
        let bytes = small.to_bytes(1);
        let front = FORMAT.front_len();
        let head = FORMAT.read_head(|at, length| reader(bytes.clone()).0(at, length)).unwrap();
        let behind = front + head.len();
        let mut accepted = 0;
        for at in behind..bytes.len() {
            for value in [0, 1, 0x7F, 0xFF] {
                let mut parts = bytes[behind..].to_vec();
                parts[at - behind] = value;
                let (mut old, mut sealed, mut start) = (Reader::new(&head), Writer::default(), 0);
                sealed.u128(old.u128().unwrap());
                let count = old.count().unwrap();
                sealed.count(count);
                for _ in 0..count {
                    let size = usize::try_from(old.extent(&mut 0).unwrap().length).unwrap();
                    sealed.extent(&parts[start..start + size]);
                    start += size;
                }
                let forged = [FORMAT.seal(sealed.as_bytes()), parts].concat();
                if let Some(index) = TextIndex::read_back(&reader(forged).0, 1) {
                    accepted += 1;
                    for message in ["merge pdf tables", "tabels chartz"] {
                        let _ = index.search(message, 5, &|_| true);
                    }
                }
            }
        }
        assert!(accepted > 0, "the test reaches beyond the checksums");
    }
}
