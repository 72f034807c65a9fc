//! Zip, read by its central directory.
//!
//! Not by the crates `zip` or `rawzip`: they are lenient about the archive's end (which of several is meant, how many
//! entries it counts, which bytes are before and behind it), where two readers of one archive come to see different
//! files. `docs/decisions.md` has the probe. Both passes over the directory are streams, and it is counted before any
//! of it is read.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::os::unix::fs::FileExt as _;

use flate2::Crc;
use flate2::bufread::DeflateDecoder;

use super::super::context::FetchContext;
use super::super::error::{Exceeded, FetchError, Refusal};
use super::super::tree::FetchTree;
use super::{BLOCK, FileSection};

const LOCAL: [u8; 4] = *b"PK\x03\x04";
const CENTRAL: [u8; 4] = *b"PK\x01\x02";
const END: [u8; 4] = *b"PK\x05\x06";
const END_64: [u8; 4] = *b"PK\x06\x06";
const LOCATOR_64: [u8; 4] = *b"PK\x06\x07";

const END_SIZE: usize = 22;
const LOCATOR_SIZE: u64 = 20;
const CENTRAL_SIZE: u64 = 46;
const LOCAL_SIZE: u64 = 30;
/// The length of the longest target of a link, in bytes.
const MAX_TARGET: u64 = 1024;

/// Set when a file's bytes, or the directory itself, are encrypted.
const ENCRYPTED: u16 = 1 | 1 << 6 | 1 << 13;
const STORED: u16 = 0;
const DEFLATED: u16 = 8;
/// The systems for which the upper half of the attributes is a Unix mode.
const UNIX: [u8; 2] = [3, 19];
const MSDOS_DIRECTORY: u32 = 0x10;

/// Unpacks a zip archive of `length` bytes.
pub(super) fn unpack(
    file: &File,
    length: u64,
    tree: FetchTree<'_>,
    context: &FetchContext<'_>,
) -> Result<(), FetchError> {
    let zip = Zip { file, context };
    let directory = zip.directory(length)?;
    let total = zip.check(&directory)?;
    let mut tree = tree.of(total);
    let mut at = directory.start;
    for _ in 0..directory.count {
        let entry = zip.entry(at, &directory)?;
        at = entry.next;
        zip.take(&entry, &mut tree)?;
    }
    tree.finish()
}

struct Zip<'f> {
    file: &'f File,
    context: &'f FetchContext<'f>,
}

/// The position of the central directory.
struct CentralDirectory {
    count: u64,
    start: u64,
    end: u64,
}

struct ZipEntry {
    name: Vec<u8>,
    made_by: u8,
    flags: u16,
    method: u16,
    crc: u32,
    packed: u64,
    size: u64,
    attributes: u32,
    /// The offset of the local header.
    local: u64,
    /// The offset of the next central header.
    next: u64,
}

impl ZipEntry {
    /// Returns the mode it was packed with; without one, that of a plain file.
    fn mode(&self) -> u32 {
        if UNIX.contains(&self.made_by) { self.attributes >> 16 } else { 0 }
    }
}

impl Zip<'_> {
    /// Finds the central directory, and checks its declared count before any of it is read.
    fn directory(&self, length: u64) -> Result<CentralDirectory, FetchError> {
        // The end record, and a comment of at max 64 KiB behind it.
        let start = length.saturating_sub(END_SIZE as u64 + u64::from(u16::MAX));
        let tail = self.bytes(start, usize::try_from(length - start).unwrap_or(0))?;
        let ends = || tail.windows(END_SIZE).enumerate().rev().filter(|(_, bytes)| bytes.starts_with(&END));
        let whole = |&(at, bytes): &(usize, &[u8])| at + END_SIZE + usize::from(half(bytes, 20)) == tail.len();
        let Some((at, end)) = ends().find(whole) else {
            let behind = ends().next().is_some();
            let reason = if behind { "bytes follow the archive's end" } else { "the archive is cut off" };
            return Err(self.context.damaged(reason));
        };
        let at = start + at as u64;
        if half(end, 4) != 0 || half(end, 6) != 0 || half(end, 8) != half(end, 10) {
            return Err(self.context.damaged("the archive is one part of several"));
        }
        let (mut count, mut size) = (u64::from(half(end, 10)), u64::from(word(end, 12)));
        let (mut start, mut stop) = (u64::from(word(end, 16)), at);
        if let Some(locator) = at.checked_sub(LOCATOR_SIZE) {
            let bytes = self.bytes(locator, 20)?;
            if bytes.starts_with(&LOCATOR_64) {
                stop = double(&bytes, 8);
                let large = self.large(stop, locator)?;
                let says = |small: u64, max: u64, large: u64| small == max || small == large;
                let max = u64::from(u32::MAX);
                if !says(count, u64::from(u16::MAX), large[0])
                    || !says(size, max, large[1])
                    || !says(start, max, large[2])
                {
                    return Err(self.context.damaged("the archive has two ends that say different things"));
                }
                [count, size, start] = large;
            }
        }
        let max = self.context.limits.entries;
        if count > max as u64 {
            return Err(self.context.exceeded(Exceeded::Entries(max)));
        }
        if start.checked_add(size) != Some(stop) || count.saturating_mul(CENTRAL_SIZE) > size {
            return Err(self.context.damaged("the archive's directory is not where it should be"));
        }
        Ok(CentralDirectory { count, start, end: stop })
    }

    /// Reads count, size and start of the central directory of a Zip64 archive.
    fn large(&self, at: u64, locator: u64) -> Result<[u64; 3], FetchError> {
        if at.checked_add(56).is_none_or(|end| end > locator) {
            return Err(self.context.damaged("the archive's end is damaged"));
        }
        let bytes = self.bytes(at, 56)?;
        let whole = double(&bytes, 4).checked_add(12).and_then(|size| size.checked_add(at)) == Some(locator);
        if !bytes.starts_with(&END_64) || !whole || double(&bytes, 24) != double(&bytes, 32) {
            return Err(self.context.damaged("the archive's end is damaged"));
        }
        Ok([double(&bytes, 32), double(&bytes, 40), double(&bytes, 48)])
    }

    /// Checks all entries before the first is unpacked, and returns how many bytes they declare.
    fn check(&self, directory: &CentralDirectory) -> Result<u64, FetchError> {
        let mut stretches = Vec::new();
        let mut total: u64 = 0;
        let mut at = directory.start;
        for _ in 0..directory.count {
            self.context.check()?;
            let entry = self.entry(at, directory)?;
            let data = self.data(&entry)?;
            let end = data.checked_add(entry.packed).filter(|end| *end <= directory.start);
            let end = end.ok_or_else(|| self.context.damaged("the archive is cut off"))?;
            stretches.push((entry.local, end, at));
            total = total.saturating_add(entry.size);
            at = entry.next;
        }
        if at != directory.end {
            return Err(self.context.damaged("the archive's directory is damaged"));
        }
        stretches.sort_unstable();
        // One stretch of bytes unpacked by many entries is how kilobytes become gigabytes.
        for pair in stretches.windows(2) {
            if pair[0].1 > pair[1].0 {
                return Err(self.context.refused(&self.entry(pair[1].2, directory)?.name, Refusal::Overlap));
            }
        }
        Ok(total)
    }

    /// Reads the central header at `at`.
    fn entry(&self, at: u64, directory: &CentralDirectory) -> Result<ZipEntry, FetchError> {
        let damaged = || self.context.damaged("the archive's directory is damaged");
        let head = self.bytes(at, 46)?;
        if !head.starts_with(&CENTRAL) {
            return Err(damaged());
        }
        let [name, extra, comment] = [28, 30, 32].map(|field| u64::from(half(&head, field)));
        let next = at + CENTRAL_SIZE + name + extra + comment;
        if next > directory.end {
            return Err(damaged());
        }
        let mut entry = ZipEntry {
            name: self.bytes(at + CENTRAL_SIZE, usize::from(half(&head, 28)))?,
            made_by: head[5],
            flags: half(&head, 8),
            method: half(&head, 10),
            crc: word(&head, 16),
            packed: u64::from(word(&head, 20)),
            size: u64::from(word(&head, 24)),
            attributes: word(&head, 38),
            local: u64::from(word(&head, 42)),
            next,
        };
        let extra = self.bytes(at + CENTRAL_SIZE + name, usize::from(half(&head, 30)))?;
        enlarge(&mut entry, &extra).ok_or_else(damaged)?;
        if entry.flags & ENCRYPTED != 0 {
            return Err(self.context.refused(&entry.name, Refusal::Encrypted));
        }
        if !matches!(entry.method, STORED | DEFLATED) {
            return Err(self.context.refused(&entry.name, Refusal::Method(entry.method)));
        }
        Ok(entry)
    }

    /// Returns where an entry's bytes start, by its local header, which must name the same file.
    fn data(&self, entry: &ZipEntry) -> Result<u64, FetchError> {
        let head = self.bytes(entry.local, 30)?;
        let name = entry.local + LOCAL_SIZE;
        if !head.starts_with(&LOCAL) || self.bytes(name, usize::from(half(&head, 26)))? != entry.name {
            return Err(self.context.damaged("the archive's directory and its entries say different things"));
        }
        Ok(name + u64::from(half(&head, 26)) + u64::from(half(&head, 28)))
    }

    fn take(&self, entry: &ZipEntry, tree: &mut FetchTree<'_>) -> Result<(), FetchError> {
        const KIND: u32 = 0o170_000;
        let mode = entry.mode();
        let dos = !UNIX.contains(&entry.made_by) && entry.attributes & MSDOS_DIRECTORY != 0;
        let special = |what| Err(self.context.refused(&entry.name, Refusal::Special(what)));
        match mode & KIND {
            0o120_000 => {
                let mut target = Vec::new();
                let mut bytes = self.unpacked(entry)?.take(MAX_TARGET + 1);
                bytes.read_to_end(&mut target).map_err(|error| self.context.unreadable(error))?;
                tree.link(&entry.name, &target)
            }
            0 | 0o100_000 | 0o040_000 if mode & KIND == 0o040_000 || entry.name.ends_with(b"/") || dos => {
                if entry.size > 0 {
                    return Err(self.context.refused(&entry.name, Refusal::FullDirectory));
                }
                tree.directory(&entry.name)
            }
            0 | 0o100_000 => tree.file(&entry.name, mode, &mut self.unpacked(entry)?),
            0o010_000 => special("a named pipe"),
            0o140_000 => special("a socket"),
            0o020_000 | 0o060_000 => special("a device"),
            _ => special("neither file nor directory nor link"),
        }
    }

    fn unpacked(&self, entry: &ZipEntry) -> Result<CrcReader<'_>, FetchError> {
        let at = self.data(entry)?;
        let section = FileSection { file: self.file, at, end: at.saturating_add(entry.packed), context: self.context };
        let section = BufReader::with_capacity(BLOCK, section);
        let from: Box<dyn Read + '_> =
            if entry.method == STORED { Box::new(section) } else { Box::new(DeflateDecoder::new(section)) };
        Ok(CrcReader { from, crc: Crc::new(), read: 0, expected: (entry.crc, entry.size) })
    }

    fn bytes(&self, at: u64, count: usize) -> Result<Vec<u8>, FetchError> {
        let mut bytes = vec![0; count];
        self.file.read_exact_at(&mut bytes, at).map_err(|error| self.context.unreadable(error))?;
        Ok(bytes)
    }
}

/// Reads Zip64 numbers from an extra field: those that are too large for their own fields, in this order.
fn enlarge(entry: &mut ZipEntry, mut extra: &[u8]) -> Option<()> {
    let max = u64::from(u32::MAX);
    let mut missing: Vec<&mut u64> =
        [&mut entry.size, &mut entry.packed, &mut entry.local].into_iter().filter(|field| **field == max).collect();
    while !missing.is_empty() && extra.len() >= 4 {
        let (head, rest) = extra.split_at(4);
        let (mut field, rest) = rest.split_at_checked(usize::from(half(head, 2)))?;
        extra = rest;
        if half(head, 0) == 1 {
            for number in missing.drain(..) {
                let bytes = field.split_off(..8)?;
                *number = double(bytes, 0);
            }
        }
    }
    Some(())
}

fn half(bytes: &[u8], at: usize) -> u16 {
    bytes.get(at..at + 2).and_then(|bytes| bytes.try_into().ok()).map_or(0, u16::from_le_bytes)
}

fn word(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..at + 4).and_then(|bytes| bytes.try_into().ok()).map_or(0, u32::from_le_bytes)
}

fn double(bytes: &[u8], at: usize) -> u64 {
    bytes.get(at..at + 8).and_then(|bytes| bytes.try_into().ok()).map_or(0, u64::from_le_bytes)
}

/// Reads a file's bytes, which must have the recorded checksum and length.
struct CrcReader<'f> {
    from: Box<dyn Read + 'f>,
    crc: Crc,
    read: u64,
    expected: (u32, u64),
}

impl Read for CrcReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.from.read(buffer)?;
        self.crc.update(&buffer[..count]);
        self.read += count as u64;
        if count == 0 && !buffer.is_empty() && (self.crc.sum(), self.read) != self.expected {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "a file is not as it was packed"));
        }
        Ok(count)
    }
}
