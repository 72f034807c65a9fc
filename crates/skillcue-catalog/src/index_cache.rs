//! The index cache: one file with the findings of a discovery, so that a second start only checks stamps.
//!
//! One section a root, each with its checksum. The file is written beside itself and renamed, so that readers see the
//! old one or the new one; of two writers the later wins, and the other's work is done again next time. Anything
//! inconsistent — another version, a torn write, a flipped bit — is treated as absent: damage costs time, never
//! correctness.
//!
//! The head of [`FORMAT`] is a table (for each section its root, offset, length, the length of its head and the head's
//! checksum); the sections follow. A section is a head, then parts with checksums of their own: for every thousand
//! skills their records (stamps), their paths and names, and their layouts (where their front matter and its fields
//! are); then blocks of front matter. A start reads the head and, in parallel, records and paths, of which it keeps the
//! paths. Layouts and blocks are read and checked when something in them is needed, and if they turn out damaged, the
//! skill files themselves are read instead.

use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use rayon::prelude::*;
use skillcue_base::binary::{BinaryFormat, Extent, KeptFile, Reader, Writer, checksum};
use skillcue_base::replace_file;
use skillcue_format::{Code, Diagnostic, Severity, Span};

use crate::arena::{ArenaRange, FrontMatterLayout, Layouts, SkillArena};
use crate::candidate::InvalidSkill;
use crate::section::{RootSection, SectionEntry};
use crate::skill::SkillState;
use crate::skill_dir::CompactStamp;
use crate::walk::ListedDir;
use crate::{FileStamp, Skill, SkillFile, SkillRoot};

/// The file's format. The magic changes whenever the layout or the meaning of anything in it does. The build counts
/// because another one may read front matter differently.
const FORMAT: BinaryFormat = BinaryFormat { magic: *b"skcidx08", build: env!("CARGO_PKG_VERSION") };
/// How many bytes of text a block has, about.
const BLOCK_SIZE: usize = 1 << 20;
/// How many skills a chunk describes. Its records are freed once they are read, and the next ones reuse their memory.
const SKILLS_PER_CHUNK: usize = 1024;
/// The size of a skill's record, and of its layout, in bytes.
const RECORD_SIZE: usize = 4 * 4 + 24 + 1;
const LAYOUT_SIZE: usize = 3 * 4 + 4 * 8 + 2 * 4 + 16;
/// How many sections, and how many bytes, the file may have. The least recently written are dropped first.
const MAX_SECTIONS: usize = 64;
const MAX_BYTES: u64 = 1 << 30;

/// The cache file, open for reading, and the table of its sections.
#[derive(Debug, Default)]
pub(crate) struct IndexCache {
    file: Option<Arc<KeptFile>>,
    table: Vec<SectionTableEntry>,
}

/// A part of a cache file, read when first needed.
#[derive(Debug)]
pub(crate) struct CacheBlock {
    file: Arc<KeptFile>,
    extent: Extent,
    /// `None`, if it could not be read or is damaged.
    bytes: OnceLock<Option<Vec<u8>>>,
}

impl CacheBlock {
    /// Returns its bytes, if they are intact. The file may have been replaced since: the handle is still that of the
    /// old one.
    pub(crate) fn bytes(&self) -> Option<&[u8]> {
        let read = || self.extent.read(|offset, length| self.file.read(offset, length));
        self.bytes.get_or_init(read).as_deref()
    }
}

/// The front matter layouts of a chunk's skills, and the blocks that their front matter is in.
#[derive(Debug)]
pub(crate) struct CachedLayouts {
    layouts: CacheBlock,
    blocks: Arc<[CacheBlock]>,
}

impl CachedLayouts {
    /// Returns the layout of a skill, if it is consistent.
    pub(crate) fn layout(&self, number: u32) -> Option<FrontMatterLayout> {
        let at = (number as usize).checked_mul(LAYOUT_SIZE)?;
        let bytes = self.layouts.bytes()?.get(at..at.checked_add(LAYOUT_SIZE)?)?;
        let mut reader = Reader::new(bytes);
        let block = reader.u32()?;
        let yaml = ArenaRange { start: reader.u32()?, end: reader.u32()? };
        let mut within = || -> Option<ArenaRange> {
            let (start, length) = (yaml.start.checked_add(reader.u32()?)?, reader.u32()?);
            let end = start.checked_add(length).filter(|end| *end <= yaml.end)?;
            Some(ArenaRange { start, end })
        };
        let (description, version, model, allowed_tools) = (within()?, within()?, within()?, within()?);
        let (first_line, body) = (reader.u32()?, reader.u32()?);
        let digest = reader.array()?;
        Some(FrontMatterLayout { block, yaml, description, version, model, allowed_tools, first_line, body, digest })
    }

    pub(crate) fn block(&self, number: u32) -> Option<&CacheBlock> {
        self.blocks.get(number as usize)
    }
}

/// One row of the table of sections.
#[derive(Debug, Clone)]
struct SectionTableEntry {
    root: Vec<u8>,
    offset: u64,
    /// The length of head and parts together.
    length: u64,
    /// The length of the head.
    head: u64,
    /// The checksum of the head.
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
            let entry = SectionTableEntry {
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

    /// Returns the section of a root.
    pub(crate) fn section(&self, root: &Arc<SkillRoot>) -> Option<RootSection> {
        let key = root.path.as_os_str().as_bytes();
        let entry = self.table.iter().find(|entry| entry.root == key)?;
        let file = self.file.as_ref()?;
        let read = |extent: Extent| extent.read(|offset, length| file.read(offset, length));
        let head = read(Extent { offset: entry.offset, length: entry.head, checksum: entry.checksum })?;
        let mut reader = Reader::new(&head);
        let mut offset = entry.offset + entry.head;
        let mut parts =
            || -> Option<Vec<Extent>> { (0..reader.count()?).map(|_| reader.extent(&mut offset)).collect() };
        let (records, names, layouts, blocks) = (parts()?, parts()?, parts()?, parts()?);
        if offset != entry.offset + entry.length || records.len() != names.len() || names.len() != layouts.len() {
            return None;
        }
        let block = |extent| CacheBlock { file: Arc::clone(file), extent, bytes: OnceLock::new() };
        let blocks: Arc<[CacheBlock]> = blocks.into_iter().map(block).collect();
        let chunk = |at: usize| {
            let layouts = CachedLayouts { layouts: block(layouts[at]), blocks: Arc::clone(&blocks) };
            let (text, layouts) = (read(names[at])?, Layouts::Cached(layouts));
            decode_chunk(&read(records[at])?, SkillArena { text, layouts, root: Arc::clone(root) })
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

    /// Writes the file anew: the given sections first, then those of other roots that it had.
    pub(crate) fn write(mut self, path: &Path, sections: &[EncodedSection]) -> io::Result<()> {
        let mut kept = Vec::new();
        let mut total: u64 = 0;
        for entry in std::mem::take(&mut self.table) {
            total = total.saturating_add(entry.length);
            let fresh = sections.iter().any(|section| section.root == entry.root);
            if !fresh && kept.len() + sections.len() < MAX_SECTIONS && total < MAX_BYTES {
                // Copied as they are, with their checksums.
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

/// A section, encoded.
pub(crate) struct EncodedSection {
    pub(crate) root: Vec<u8>,
    head: Vec<u8>,
    /// Records, names and layouts of every chunk, then blocks.
    parts: Vec<Vec<u8>>,
}

/// Encodes a section.
pub(crate) fn encode(root: &SkillRoot, section: &RootSection) -> EncodedSection {
    let mut blocks: Vec<Vec<u8>> = Vec::new();
    let [mut records, mut names, mut layouts] = [const { Vec::new() }; 3];
    for chunk in section.skills.chunks(SKILLS_PER_CHUNK) {
        let written = encode_chunk(chunk, &mut blocks);
        records.push(written.records.into_bytes());
        names.push(written.names);
        layouts.push(written.layouts.into_bytes());
    }
    let mut out = Writer::with_capacity(4096);
    for parts in [&records, &names, &layouts, &blocks] {
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
        put_stamp(&mut out, invalid.stamp.unwrap_or(FileStamp { modified_ns: 0, size: 0, inode: 0 }));
        out.count(invalid.diagnostics.len());
        for found in &invalid.diagnostics {
            put_diagnostic(&mut out, found);
        }
    }
    out.count(section.dirs.len());
    for dir in &section.dirs {
        out.blob(&dir.rel);
        put_stamp(&mut out, dir.stamp);
        out.u8(u8::from(dir.stable));
    }
    out.count(section.volatile.len());
    for rel in &section.volatile {
        out.blob(rel);
    }
    for start in &section.starts {
        out.u32(*start);
    }
    out.count(section.children.len());
    for child in &section.children {
        let (kind, number) = match *child {
            SectionEntry::Skill(number) => (0_u32, number),
            SectionEntry::Invalid(number) => (1, number),
            SectionEntry::Dir(number) => (2, number),
            SectionEntry::Volatile(number) => (3, number),
        };
        out.u32(number << 2 | kind);
    }
    let parts = [records, names, layouts, blocks].into_iter().flatten().collect();
    EncodedSection { root: root.path.as_os_str().as_bytes().to_vec(), head: out.into_bytes(), parts }
}

/// The encoded skills of a chunk, without their front matter.
struct EncodedChunk {
    records: Writer,
    names: Vec<u8>,
    layouts: Writer,
}

/// Encodes some skills; their front matter is appended to the blocks.
fn encode_chunk(skills: &[Box<Skill>], blocks: &mut Vec<Vec<u8>>) -> EncodedChunk {
    let mut chunk = EncodedChunk {
        records: Writer::with_capacity(skills.len() * RECORD_SIZE),
        names: Vec::with_capacity(skills.len() * 32),
        layouts: Writer::with_capacity(skills.len() * LAYOUT_SIZE),
    };
    for skill in skills {
        let EncodedChunk { records, names, layouts } = &mut chunk;
        let (rel, name) = (skill.bytes(skill.rel), skill.bytes(skill.name));
        let start = names.len();
        names.extend_from_slice(rel);
        let end = names.len();
        // Nearly every skill has the name of its directory.
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

        if blocks.last().is_none_or(|block| block.len() >= BLOCK_SIZE) {
            blocks.push(Vec::with_capacity(BLOCK_SIZE + BLOCK_SIZE / 8));
        }
        let number = blocks.len() - 1;
        let block = &mut blocks[number];
        layouts.count(number);
        layouts.count(block.len());
        block.extend_from_slice(skill.front_matter().as_bytes());
        layouts.count(block.len());
        let layout = skill.layout_or_reread();
        // Relative to the front matter, wherever that is put.
        for slice in [layout.description, layout.version, layout.model, layout.allowed_tools] {
            // A description elsewhere was unfolded, and is made anew when it is needed.
            let inside = layout.yaml.start <= slice.start && slice.end <= layout.yaml.end;
            let slice = if inside { slice } else { ArenaRange { start: layout.yaml.start, end: layout.yaml.start } };
            layouts.u32(slice.start - layout.yaml.start);
            layouts.u32(slice.end - slice.start);
        }
        layouts.u32(layout.first_line);
        layouts.u32(layout.body);
        layouts.raw(&layout.digest);
    }
    debug_assert_eq!(chunk.records.len(), skills.len() * RECORD_SIZE);
    debug_assert_eq!(chunk.layouts.len(), skills.len() * LAYOUT_SIZE);
    chunk
}

/// Decodes the skills of a chunk.
fn decode_chunk(records: &[u8], arena: SkillArena) -> Option<Vec<Box<Skill>>> {
    let arena = Arc::new(arena);
    let length = arena.text.len();
    let mut reader = Reader::new(records);
    let mut skills = Vec::with_capacity(records.len() / RECORD_SIZE);
    for number in 0..u32::try_from(records.len() / RECORD_SIZE).ok()? {
        let mut slice = || -> Option<ArenaRange> {
            let slice = ArenaRange { start: reader.u32()?, end: reader.u32()? };
            (slice.start <= slice.end && slice.end as usize <= length).then_some(slice)
        };
        let (rel, name) = (slice()?, slice()?);
        let stamp = CompactStamp {
            seconds: reader.u64()?.cast_signed(),
            nanoseconds: reader.u32()?,
            size: reader.u32()?,
            inode: reader.u64()?,
        };
        skills.push(Box::new(Skill {
            arena: Arc::clone(&arena),
            number,
            rel,
            name,
            stamp,
            lazy: OnceLock::new(),
            extra: None,
            file: SkillFile::Markdown,
            demanding: reader.u8()? == 1,
            state: SkillState::NEW,
        }));
    }
    Some(skills)
}

/// Decodes the rest of a section's head from `reader`.
fn decode(reader: &mut Reader<'_>, skills: Vec<Box<Skill>>, root: &Arc<SkillRoot>) -> Option<RootSection> {
    let mut section = RootSection { skills, scanned_ns: reader.i128()?, ..RootSection::default() };
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
        section.invalid.push(InvalidSkill {
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
        section.dirs.push(ListedDir { rel, stamp: stamp(reader)?, stable: reader.u8()? == 1 });
    }
    for _ in 0..reader.count()? {
        section.volatile.push(reader.blob()?.into());
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
            0 => SectionEntry::Skill(number),
            1 => SectionEntry::Invalid(number),
            2 => SectionEntry::Dir(number),
            _ => SectionEntry::Volatile(number),
        });
    }
    Some(section)
}

fn stamp(reader: &mut Reader<'_>) -> Option<FileStamp> {
    Some(FileStamp { modified_ns: reader.i128()?, size: reader.u64()?, inode: reader.u64()? })
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

fn put_stamp(out: &mut Writer, stamp: FileStamp) {
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
