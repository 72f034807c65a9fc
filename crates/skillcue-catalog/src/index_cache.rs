//! The index cache: one file that remembers what discovery saw, so that a second start need only ask for stamps.
//!
//! One section a root, each with its checksum. The file is written beside itself and renamed, so that readers see the
//! old one or the new one; of two writers the later wins, and the other's work is done again next time. Anything that
//! does not add up — another version, a torn write, a flipped bit — is as if it were not there: damage costs time,
//! never correctness.
//!
//! The head of [`FORMAT`] is a table (for each section its root, offset, length, the length of its head and the head's
//! checksum); the sections follow. A section is a head, then parts
//! with checksums of their own: for every thousand skills their records (stamps), their paths and names, and their
//! passages (what is known of their front matter); then blocks of front matter. A start reads the head and, in parallel,
//! records and paths, of which it keeps the paths. Passages and blocks are read and checked when somebody asks for what
//! is in them, and if they turn out damaged, the skill files themselves take their place.

use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use rayon::prelude::*;
use skillcue_base::binary::{BinaryFormat, Extent, KeptFile, Reader, Writer, checksum};
use skillcue_base::replace_file;
use skillcue_format::{Code, Diagnostic, Severity, Span};

use crate::candidate::Invalid;
use crate::section::{Child, Section};
use crate::skill::{Passage, Passages, Shelf, Slice, State};
use crate::skill_dir::SmallStamp;
use crate::walk::ListedDir;
use crate::{Root, Skill, SkillFile, Stamp};

/// The magic changes whenever the layout or the meaning of anything in it does. The build counts because another one may
/// read front matter differently.
const FORMAT: BinaryFormat = BinaryFormat { magic: *b"skcidx08", build: env!("CARGO_PKG_VERSION") };
/// How much text a block holds, about.
const BLOCK: usize = 1 << 20;
/// How many skills a chunk describes. Its records are forgotten once they are read, and the next ones take their memory.
const CHUNK: usize = 1024;
/// How long a skill's record is, and how long its passage.
const RECORD: usize = 4 * 4 + 24 + 1;
const PASSAGE: usize = 3 * 4 + 4 * 8 + 2 * 4 + 16;
/// Most sections, and most bytes, that the file may hold. The least recently written go first.
const MAX_SECTIONS: usize = 64;
const MAX_BYTES: u64 = 1 << 30;

/// The cache file, open for reading, and where its sections are.
#[derive(Debug, Default)]
pub(crate) struct IndexCache {
    file: Option<Arc<KeptFile>>,
    table: Vec<Entry>,
}

/// A part of a cache file, read when asked for.
#[derive(Debug)]
pub(crate) struct Block {
    file: Arc<KeptFile>,
    extent: Extent,
    /// Nothing, if it could not be read or is damaged.
    bytes: OnceLock<Option<Vec<u8>>>,
}

impl Block {
    /// What is in it, if it is whole. The file may have been replaced since: the handle still leads to the old one.
    pub(crate) fn bytes(&self) -> Option<&[u8]> {
        let read = || self.extent.read(|offset, length| self.file.read(offset, length));
        self.bytes.get_or_init(read).as_deref()
    }
}

/// The passages of a chunk's skills, and the blocks that their front matter is in.
#[derive(Debug)]
pub(crate) struct KeptPassages {
    passages: Block,
    blocks: Arc<[Block]>,
}

impl KeptPassages {
    /// The passage of a skill, if it makes sense.
    pub(crate) fn passage(&self, number: u32) -> Option<Passage> {
        let at = (number as usize).checked_mul(PASSAGE)?;
        let bytes = self.passages.bytes()?.get(at..at.checked_add(PASSAGE)?)?;
        let mut reader = Reader::new(bytes);
        let block = reader.u32()?;
        let yaml = Slice { start: reader.u32()?, end: reader.u32()? };
        let mut within = || -> Option<Slice> {
            let (start, length) = (yaml.start.checked_add(reader.u32()?)?, reader.u32()?);
            let end = start.checked_add(length).filter(|end| *end <= yaml.end)?;
            Some(Slice { start, end })
        };
        let (description, version, model, allowed_tools) = (within()?, within()?, within()?, within()?);
        let (first_line, body) = (reader.u32()?, reader.u32()?);
        let digest = reader.array()?;
        Some(Passage { block, yaml, description, version, model, allowed_tools, first_line, body, digest })
    }

    pub(crate) fn block(&self, number: u32) -> Option<&Block> {
        self.blocks.get(number as usize)
    }
}

#[derive(Debug, Clone)]
struct Entry {
    root: Vec<u8>,
    offset: u64,
    /// Of head and blocks.
    length: u64,
    head: u64,
    /// Of the head.
    checksum: u64,
}

impl IndexCache {
    /// Opens the file. One that is missing or damaged is an empty cache.
    pub(crate) fn open(path: &Path) -> IndexCache {
        IndexCache::read_table(path).unwrap_or_default()
    }

    fn read_table(path: &Path) -> Option<IndexCache> {
        let file = KeptFile::open(path, u64::MAX)?;
        let table = FORMAT.read_head(|offset, length| file.read(offset, length))?;
        let mut reader = Reader::new(&table);
        let mut entries = Vec::new();
        while !reader.is_empty() {
            let entry = Entry {
                root: reader.blob()?.to_vec(),
                offset: reader.u64()?,
                length: reader.u64()?,
                head: reader.u64()?,
                checksum: reader.u64()?,
            };
            if entry.offset.checked_add(entry.length)? > file.size() || entry.head > entry.length {
                return None;
            }
            entries.push(entry);
        }
        Some(IndexCache { file: Some(Arc::new(file)), table: entries })
    }

    /// What the cache holds about a root.
    pub(crate) fn section(&self, root: &Arc<Root>) -> Option<Section> {
        let key = root.path.as_os_str().as_bytes();
        let entry = self.table.iter().find(|entry| entry.root == key)?;
        let file = self.file.as_ref()?;
        let read = |extent: Extent| extent.read(|offset, length| file.read(offset, length));
        let head = read(Extent { offset: entry.offset, length: entry.head, checksum: entry.checksum })?;
        let mut reader = Reader::new(&head);
        let mut offset = entry.offset + entry.head;
        let mut parts =
            || -> Option<Vec<Extent>> { (0..reader.count()?).map(|_| reader.extent(&mut offset)).collect() };
        let (records, names, passages, blocks) = (parts()?, parts()?, parts()?, parts()?);
        if offset != entry.offset + entry.length || records.len() != names.len() || names.len() != passages.len() {
            return None;
        }
        let block = |extent| Block { file: Arc::clone(file), extent, bytes: OnceLock::new() };
        let blocks: Arc<[Block]> = blocks.into_iter().map(block).collect();
        let chunk = |at: usize| {
            let passages = KeptPassages { passages: block(passages[at]), blocks: Arc::clone(&blocks) };
            let (text, passages) = (read(names[at])?, Passages::Kept(passages));
            decode_chunk(&read(records[at])?, Shelf { text, passages, root: Arc::clone(root) })
        };
        let skills: Option<Vec<Vec<Box<Skill>>>> = match records.len() {
            0 | 1 => (0..records.len()).map(chunk).collect(),
            count => (0..count).into_par_iter().with_max_len(1).map(chunk).collect(),
        };
        decode(&mut reader, skills?.into_iter().flatten().collect(), root)
    }

    fn bytes(&self, offset: u64, length: u64) -> Option<Vec<u8>> {
        self.file.as_ref()?.read(offset, usize::try_from(length).ok()?)
    }

    /// Writes the file anew: the given sections first, then what it held about other roots.
    pub(crate) fn write(mut self, path: &Path, sections: &[Encoded]) -> io::Result<()> {
        let mut kept = Vec::new();
        let mut total: u64 = 0;
        for entry in std::mem::take(&mut self.table) {
            total = total.saturating_add(entry.length);
            let fresh = sections.iter().any(|section| section.root == entry.root);
            if !fresh && kept.len() + sections.len() < MAX_SECTIONS && total < MAX_BYTES {
                // As they are: their checksums go with them.
                kept.extend(self.bytes(entry.offset, entry.length).map(|bytes| (entry, bytes)));
            }
        }
        let mut table = Writer::default();
        let table_length: usize = sections
            .iter()
            .map(|section| &section.root)
            .chain(kept.iter().map(|(entry, _)| &entry.root))
            .map(|root| 4 + root.len() + 32)
            .sum();
        let mut offset = (FORMAT.front_len() + table_length) as u64;
        let mut put = |root: &[u8], length: u64, head: u64, checksum: u64| {
            table.blob(root);
            for number in [offset, length, head, checksum] {
                table.u64(number);
            }
            offset += length;
        };
        for section in sections {
            let blocks: usize = section.parts.iter().map(Vec::len).sum();
            let head = section.head.len() as u64;
            put(&section.root, head + blocks as u64, head, checksum(&section.head));
        }
        for (entry, _) in &kept {
            put(&entry.root, entry.length, entry.head, entry.checksum);
        }
        let parts = sections
            .iter()
            .flat_map(|section| std::iter::once(&section.head[..]).chain(section.parts.iter().map(|part| &part[..])))
            .chain(kept.iter().map(|(_, bytes)| &bytes[..]));
        replace_file(path, std::iter::once(&FORMAT.seal(table.as_bytes())[..]).chain(parts))
    }
}

/// A section, written down.
pub(crate) struct Encoded {
    pub(crate) root: Vec<u8>,
    head: Vec<u8>,
    /// Records, names and passages of every chunk, then blocks.
    parts: Vec<Vec<u8>>,
}

/// Writes a section down.
pub(crate) fn encode(root: &Root, section: &Section) -> Encoded {
    let mut blocks: Vec<Vec<u8>> = Vec::new();
    let [mut records, mut names, mut passages] = [const { Vec::new() }; 3];
    for chunk in section.skills.chunks(CHUNK) {
        let written = encode_chunk(chunk, &mut blocks);
        records.push(written.records.into_bytes());
        names.push(written.names);
        passages.push(written.passages.into_bytes());
    }
    let mut out = Writer::with_capacity(4096);
    for parts in [&records, &names, &passages, &blocks] {
        out.count(parts.len());
        for part in parts {
            out.extent(part);
        }
    }
    out.i128(section.scanned_ns);
    out.count(section.remarks.len());
    for (number, found) in &section.remarks {
        out.u32(*number);
        put_diagnostic(&mut out, found);
    }
    out.count(section.invalid.len());
    for invalid in &section.invalid {
        out.blob(&invalid.rel);
        out.blob(invalid.name.as_deref().unwrap_or_default().as_bytes());
        out.u8(u8::from(invalid.stamp.is_some()));
        put_stamp(&mut out, invalid.stamp.unwrap_or(Stamp { modified_ns: 0, size: 0, inode: 0 }));
        out.count(invalid.diagnostics.len());
        for found in &invalid.diagnostics {
            put_diagnostic(&mut out, found);
        }
    }
    out.count(section.dirs.len());
    for dir in &section.dirs {
        out.blob(&dir.rel);
        put_stamp(&mut out, dir.stamp);
        out.u8(u8::from(dir.tame));
    }
    out.count(section.again.len());
    for rel in &section.again {
        out.blob(rel);
    }
    for start in &section.starts {
        out.u32(*start);
    }
    out.count(section.children.len());
    for child in &section.children {
        let (kind, number) = match *child {
            Child::Skill(number) => (0_u32, number),
            Child::Invalid(number) => (1, number),
            Child::Dir(number) => (2, number),
            Child::Again(number) => (3, number),
        };
        out.u32(number << 2 | kind);
    }
    let parts = [records, names, passages, blocks].into_iter().flatten().collect();
    Encoded { root: root.path.as_os_str().as_bytes().to_vec(), head: out.into_bytes(), parts }
}

/// What is written of a chunk's skills, but for their front matter.
struct Chunk {
    records: Writer,
    names: Vec<u8>,
    passages: Writer,
}

/// Writes some skills down; their front matter goes into the blocks.
fn encode_chunk(skills: &[Box<Skill>], blocks: &mut Vec<Vec<u8>>) -> Chunk {
    let mut chunk = Chunk {
        records: Writer::with_capacity(skills.len() * RECORD),
        names: Vec::with_capacity(skills.len() * 32),
        passages: Writer::with_capacity(skills.len() * PASSAGE),
    };
    for skill in skills {
        let Chunk { records, names, passages } = &mut chunk;
        let (rel, name) = (skill.bytes(skill.rel), skill.bytes(skill.name));
        let start = names.len();
        names.extend_from_slice(rel);
        let end = names.len();
        // Nearly every skill is called as its directory is.
        if !rel.ends_with(name) {
            names.extend_from_slice(name);
        }
        for number in [start, end, names.len() - name.len(), names.len()] {
            records.count(number);
        }
        records.u64(skill.stamp.seconds.cast_unsigned());
        records.u32(skill.stamp.nanoseconds);
        records.u32(skill.stamp.size);
        records.u64(skill.stamp.inode);
        records.u8(u8::from(skill.demanding));

        if blocks.last().is_none_or(|block| block.len() >= BLOCK) {
            blocks.push(Vec::with_capacity(BLOCK + BLOCK / 8));
        }
        let number = blocks.len() - 1;
        let block = &mut blocks[number];
        passages.count(number);
        passages.count(block.len());
        block.extend_from_slice(skill.front_matter().as_bytes());
        passages.count(block.len());
        let passage = skill.passage_or_rescued();
        // Relative to the front matter, wherever that comes to stand.
        for slice in [passage.description, passage.version, passage.model, passage.allowed_tools] {
            // A description that stands elsewhere was unfolded, and is made anew when somebody asks.
            let inside = passage.yaml.start <= slice.start && slice.end <= passage.yaml.end;
            let slice = if inside { slice } else { Slice { start: passage.yaml.start, end: passage.yaml.start } };
            passages.u32(slice.start - passage.yaml.start);
            passages.u32(slice.end - slice.start);
        }
        passages.u32(passage.first_line);
        passages.u32(passage.body);
        passages.raw(&passage.digest);
    }
    debug_assert_eq!(chunk.records.len(), skills.len() * RECORD);
    debug_assert_eq!(chunk.passages.len(), skills.len() * PASSAGE);
    chunk
}

/// The skills of a chunk.
fn decode_chunk(records: &[u8], shelf: Shelf) -> Option<Vec<Box<Skill>>> {
    let shelf = Arc::new(shelf);
    let length = shelf.text.len();
    let mut reader = Reader::new(records);
    let mut skills = Vec::with_capacity(records.len() / RECORD);
    for number in 0..u32::try_from(records.len() / RECORD).ok()? {
        let mut slice = || -> Option<Slice> {
            let slice = Slice { start: reader.u32()?, end: reader.u32()? };
            (slice.start <= slice.end && slice.end as usize <= length).then_some(slice)
        };
        let (rel, name) = (slice()?, slice()?);
        let stamp = SmallStamp {
            seconds: reader.u64()?.cast_signed(),
            nanoseconds: reader.u32()?,
            size: reader.u32()?,
            inode: reader.u64()?,
        };
        skills.push(Box::new(Skill {
            shelf: Arc::clone(&shelf),
            number,
            rel,
            name,
            stamp,
            made: OnceLock::new(),
            extra: None,
            file: SkillFile::Markdown,
            demanding: reader.u8()? == 1,
            state: State::NEW,
        }));
    }
    Some(skills)
}

/// Reads the rest of a section's head, which is under `reader`.
fn decode(reader: &mut Reader<'_>, skills: Vec<Box<Skill>>, root: &Arc<Root>) -> Option<Section> {
    let mut section = Section { skills, scanned_ns: reader.i128()?, ..Section::default() };
    for _ in 0..reader.count()? {
        let number = reader.u32()?;
        let path = section.skill(number)?.path();
        section.remarks.push((number, diagnostic(reader, path)?));
    }
    for _ in 0..reader.count()? {
        let rel: Box<[u8]> = reader.blob()?.into();
        let name = Some(reader.text()?).filter(|name| !name.is_empty()).map(Box::from);
        let has_stamp = reader.u8()? == 1;
        let stamp = stamp(reader)?;
        let dir = if rel.is_empty() { root.path.clone() } else { root.path.join(std::ffi::OsStr::from_bytes(&rel)) };
        let path = dir.join(SkillFile::Markdown.name());
        let mut diagnostics = Vec::new();
        for _ in 0..reader.count()? {
            diagnostics.push(diagnostic(reader, path.clone())?);
        }
        section.invalid.push(Invalid {
            dir,
            path,
            name,
            rel,
            file: SkillFile::Markdown,
            stamp: has_stamp.then_some(stamp),
            diagnostics,
        });
    }
    for _ in 0..reader.count()? {
        let rel = reader.blob()?.into();
        section.dirs.push(ListedDir { rel, stamp: stamp(reader)?, tame: reader.u8()? == 1 });
    }
    for _ in 0..reader.count()? {
        section.again.push(reader.blob()?.into());
    }
    for _ in 0..=section.dirs.len() {
        section.starts.push(reader.u32()?);
    }
    let count = reader.count()?;
    section.children.reserve_exact(count);
    for _ in 0..count {
        let word = reader.u32()?;
        let number = word >> 2;
        section.children.push(match word & 3 {
            0 => Child::Skill(number),
            1 => Child::Invalid(number),
            2 => Child::Dir(number),
            _ => Child::Again(number),
        });
    }
    Some(section)
}

fn stamp(reader: &mut Reader<'_>) -> Option<Stamp> {
    Some(Stamp { modified_ns: reader.i128()?, size: reader.u64()?, inode: reader.u64()? })
}

fn diagnostic(reader: &mut Reader<'_>, path: PathBuf) -> Option<Diagnostic> {
    let code = Code::from_word(reader.text()?)?;
    let severity = match reader.u8()? {
        0 => Severity::Error,
        1 => Severity::Warning,
        _ => Severity::Info,
    };
    let place = Span { line: reader.u32()?, column: reader.u32()?, width: reader.u32()? };
    let message = reader.text()?.to_owned();
    let help = reader.text()?;
    let mut found = Diagnostic::new(code, message).with_severity(severity).at(path);
    found.place = (place.line > 0).then_some(place);
    found.help = (!help.is_empty()).then(|| help.to_owned().into());
    Some(found)
}

fn put_stamp(out: &mut Writer, stamp: Stamp) {
    out.i128(stamp.modified_ns);
    out.u64(stamp.size);
    out.u64(stamp.inode);
}

fn put_diagnostic(out: &mut Writer, found: &Diagnostic) {
    out.blob(found.code.as_str().as_bytes());
    out.u8(match found.severity {
        Severity::Error => 0,
        Severity::Warning => 1,
        Severity::Info => 2,
    });
    let place = found.place.unwrap_or(Span { line: 0, column: 0, width: 0 });
    for number in [place.line, place.column, place.width] {
        out.u32(number);
    }
    out.blob(found.message.as_bytes());
    out.blob(found.help.as_deref().unwrap_or_default().as_bytes());
}
