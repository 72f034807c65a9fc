//! Zip, read by its central directory.
//!
//! Not by the crates `zip` or `rawzip`: they are lenient about the archive's end (which of several is meant, how many entries
//! it counts, what stands before and behind), where two readers of one archive come to see different files. `ARCHITECTURE.md`
//! has the probe. Both passes over the directory are streams, and it is counted before any of it is read.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::os::unix::fs::FileExt as _;

use flate2::Crc;
use flate2::bufread::DeflateDecoder;

use super::super::error::{Exceeded, FetchError, Refusal};
use super::super::tree::Tree;
use super::super::watch::Watch;
use super::{BLOCK, Section};

const LOCAL: [u8; 4] = *b"PK\x03\x04";
const CENTRAL: [u8; 4] = *b"PK\x01\x02";
const END: [u8; 4] = *b"PK\x05\x06";
const END_64: [u8; 4] = *b"PK\x06\x06";
const LOCATOR_64: [u8; 4] = *b"PK\x06\x07";

const END_SIZE: usize = 22;
const LOCATOR_SIZE: u64 = 20;
const CENTRAL_SIZE: u64 = 46;
const LOCAL_SIZE: u64 = 30;
/// Longest target of a link.
const MAX_TARGET: u64 = 1024;

/// Set when a file's bytes, or the directory itself, are encrypted.
const ENCRYPTED: u16 = 1 | 1 << 6 | 1 << 13;
const STORED: u16 = 0;
const DEFLATED: u16 = 8;
/// Who made it: for these two the upper half of the attributes is a Unix mode.
const UNIX: [u8; 2] = [3, 19];
const MSDOS_DIRECTORY: u32 = 0x10;

/// Unpacks a zip archive of `length` bytes.
pub(super) fn unpack(file: &File, length: u64, tree: Tree<'_>, watch: &Watch<'_>) -> Result<(), FetchError> {
    let zip = Zip { file, watch };
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
    watch: &'f Watch<'f>,
}

/// Where the central directory stands.
struct Directory {
    count: u64,
    start: u64,
    end: u64,
}

struct Entry {
    name: Vec<u8>,
    made_by: u8,
    flags: u16,
    method: u16,
    crc: u32,
    packed: u64,
    size: u64,
    attributes: u32,
    /// Where the local header stands.
    local: u64,
    /// Where the next central header stands.
    next: u64,
}

impl Entry {
    /// The mode it was packed with; without one, that of a plain file.
    fn mode(&self) -> u32 {
        if UNIX.contains(&self.made_by) { self.attributes >> 16 } else { 0 }
    }
}

impl Zip<'_> {
    /// Finds the central directory, and counts it by what the end says, before any of it is read.
    fn directory(&self, length: u64) -> Result<Directory, FetchError> {
        // The end record, and a comment of at most 64 KiB behind it.
        let start = length.saturating_sub(END_SIZE as u64 + u64::from(u16::MAX));
        let tail = self.bytes(start, usize::try_from(length - start).unwrap_or(0))?;
        let ends = || tail.windows(END_SIZE).enumerate().rev().filter(|(_, bytes)| bytes.starts_with(&END));
        let whole = |&(at, bytes): &(usize, &[u8])| at + END_SIZE + usize::from(half(bytes, 20)) == tail.len();
        let Some((at, end)) = ends().find(whole) else {
            let behind = ends().next().is_some();
            let reason = if behind { "bytes stand behind the archive's end" } else { "the archive is cut off" };
            return Err(self.watch.damaged(reason));
        };
        let at = start + at as u64;
        if half(end, 4) != 0 || half(end, 6) != 0 || half(end, 8) != half(end, 10) {
            return Err(self.watch.damaged("the archive is one part of several"));
        }
        let (mut count, mut size) = (u64::from(half(end, 10)), u64::from(word(end, 12)));
        let (mut start, mut stop) = (u64::from(word(end, 16)), at);
        if let Some(locator) = at.checked_sub(LOCATOR_SIZE) {
            let bytes = self.bytes(locator, 20)?;
            if bytes.starts_with(&LOCATOR_64) {
                stop = double(&bytes, 8);
                let large = self.large(stop, locator)?;
                let says = |small: u64, most: u64, large: u64| small == most || small == large;
                let most = u64::from(u32::MAX);
                if !says(count, u64::from(u16::MAX), large[0])
                    || !says(size, most, large[1])
                    || !says(start, most, large[2])
                {
                    return Err(self.watch.damaged("the archive has two ends that say different things"));
                }
                [count, size, start] = large;
            }
        }
        let most = self.watch.limits.entries;
        if count > most as u64 {
            return Err(self.watch.exceeded(Exceeded::Entries(most)));
        }
        if start.checked_add(size) != Some(stop) || count.saturating_mul(CENTRAL_SIZE) > size {
            return Err(self.watch.damaged("the archive's directory is not where it should be"));
        }
        Ok(Directory { count, start, end: stop })
    }

    /// Count, size and start of the central directory in an archive with large numbers.
    fn large(&self, at: u64, locator: u64) -> Result<[u64; 3], FetchError> {
        if at.checked_add(56).is_none_or(|end| end > locator) {
            return Err(self.watch.damaged("the archive's end is damaged"));
        }
        let bytes = self.bytes(at, 56)?;
        let whole = double(&bytes, 4).checked_add(12).and_then(|size| size.checked_add(at)) == Some(locator);
        if !bytes.starts_with(&END_64) || !whole || double(&bytes, 24) != double(&bytes, 32) {
            return Err(self.watch.damaged("the archive's end is damaged"));
        }
        Ok([double(&bytes, 32), double(&bytes, 40), double(&bytes, 48)])
    }

    /// Looks at all entries before the first is unpacked; how many bytes they claim to be.
    fn check(&self, directory: &Directory) -> Result<u64, FetchError> {
        let mut stretches = Vec::new();
        let mut total: u64 = 0;
        let mut at = directory.start;
        for _ in 0..directory.count {
            self.watch.check()?;
            let entry = self.entry(at, directory)?;
            let data = self.data(&entry)?;
            let end = data.checked_add(entry.packed).filter(|end| *end <= directory.start);
            let end = end.ok_or_else(|| self.watch.damaged("the archive is cut off"))?;
            stretches.push((entry.local, end, at));
            total = total.saturating_add(entry.size);
            at = entry.next;
        }
        if at != directory.end {
            return Err(self.watch.damaged("the archive's directory is damaged"));
        }
        stretches.sort_unstable();
        // One stretch of bytes unpacked by many entries is how kilobytes become gigabytes.
        for pair in stretches.windows(2) {
            if pair[0].1 > pair[1].0 {
                return Err(self.watch.refused(&self.entry(pair[1].2, directory)?.name, Refusal::Overlap));
            }
        }
        Ok(total)
    }

    /// The central header at `at`.
    fn entry(&self, at: u64, directory: &Directory) -> Result<Entry, FetchError> {
        let damaged = || self.watch.damaged("the archive's directory is damaged");
        let head = self.bytes(at, 46)?;
        if !head.starts_with(&CENTRAL) {
            return Err(damaged());
        }
        let [name, extra, comment] = [28, 30, 32].map(|field| u64::from(half(&head, field)));
        let next = at + CENTRAL_SIZE + name + extra + comment;
        if next > directory.end {
            return Err(damaged());
        }
        let mut entry = Entry {
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
            return Err(self.watch.refused(&entry.name, Refusal::Encrypted));
        }
        if !matches!(entry.method, STORED | DEFLATED) {
            return Err(self.watch.refused(&entry.name, Refusal::Method(entry.method)));
        }
        Ok(entry)
    }

    /// Where an entry's bytes start, by its local header, which must be about the same file.
    fn data(&self, entry: &Entry) -> Result<u64, FetchError> {
        let head = self.bytes(entry.local, 30)?;
        let name = entry.local + LOCAL_SIZE;
        if !head.starts_with(&LOCAL) || self.bytes(name, usize::from(half(&head, 26)))? != entry.name {
            return Err(self.watch.damaged("the archive's directory and its entries say different things"));
        }
        Ok(name + u64::from(half(&head, 26)) + u64::from(half(&head, 28)))
    }

    fn take(&self, entry: &Entry, tree: &mut Tree<'_>) -> Result<(), FetchError> {
        const KIND: u32 = 0o170_000;
        let mode = entry.mode();
        let dos = !UNIX.contains(&entry.made_by) && entry.attributes & MSDOS_DIRECTORY != 0;
        let special = |what| Err(self.watch.refused(&entry.name, Refusal::Special(what)));
        match mode & KIND {
            0o120_000 => {
                let mut target = Vec::new();
                let mut bytes = self.unpacked(entry)?.take(MAX_TARGET + 1);
                bytes.read_to_end(&mut target).map_err(|error| self.watch.unreadable(error))?;
                tree.link(&entry.name, &target)
            }
            0 | 0o100_000 | 0o040_000 if mode & KIND == 0o040_000 || entry.name.ends_with(b"/") || dos => {
                if entry.size > 0 {
                    return Err(self.watch.refused(&entry.name, Refusal::FullDirectory));
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

    fn unpacked(&self, entry: &Entry) -> Result<Checked<'_>, FetchError> {
        let at = self.data(entry)?;
        let section = Section { file: self.file, at, end: at.saturating_add(entry.packed), watch: self.watch };
        let section = BufReader::with_capacity(BLOCK, section);
        let from: Box<dyn Read + '_> =
            if entry.method == STORED { Box::new(section) } else { Box::new(DeflateDecoder::new(section)) };
        Ok(Checked { from, crc: Crc::new(), read: 0, expected: (entry.crc, entry.size) })
    }

    fn bytes(&self, at: u64, count: usize) -> Result<Vec<u8>, FetchError> {
        let mut bytes = vec![0; count];
        self.file.read_exact_at(&mut bytes, at).map_err(|error| self.watch.unreadable(error))?;
        Ok(bytes)
    }
}

/// Large numbers stand in an extra field, those that are too large for their own places, in this order.
fn enlarge(entry: &mut Entry, mut extra: &[u8]) -> Option<()> {
    let most = u64::from(u32::MAX);
    let mut missing: Vec<&mut u64> =
        [&mut entry.size, &mut entry.packed, &mut entry.local].into_iter().filter(|field| **field == most).collect();
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

/// A file's bytes, which must be those that were packed.
struct Checked<'f> {
    from: Box<dyn Read + 'f>,
    crc: Crc,
    read: u64,
    expected: (u32, u64),
}

impl Read for Checked<'_> {
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
