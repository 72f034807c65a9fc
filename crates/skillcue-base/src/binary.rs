//! Files of numbers that a program keeps for its next start: one header, checksums, and a reader that never panics.
//!
//! A file begins with a magic number of its kind, the build that wrote it, and the length and checksum of its head;
//! then come the head and the parts that the head describes. Parts behind the head have an [`Extent`] in it, with a
//! checksum each, and are read and checked when they are needed. Integers are little-endian; lengths have 32 bits.
//!
//! An inconsistent file (another kind or build, a torn write, a flipped bit) reads as nothing: a kept file is a cache,
//! and damage costs time, never correctness. A checksum shows damage, not malice: readers of a format also check that
//! numbers are within bounds.

use std::fs::File;
use std::path::Path;

use rustix::fs::{Mode, OFlags};
use twox_hash::XxHash3_64;

/// A kind of kept file, as one build writes it.
///
/// ```
/// use skillcue_base::binary::{BinaryFormat, Reader, Writer};
///
/// const FORMAT: BinaryFormat = BinaryFormat { magic: *b"example1", build: "1.2.3" };
/// let mut head = Writer::default();
/// head.u32(7);
/// head.blob(b"seven");
/// let file = FORMAT.seal(head.as_bytes());
///
/// let mut reader = Reader::new(FORMAT.unseal(&file).unwrap());
/// assert_eq!((reader.u32(), reader.blob()), (Some(7), Some(&b"seven"[..])));
/// assert_eq!(reader.u32(), None, "there is no more");
/// assert!(BinaryFormat { magic: *b"example2", ..FORMAT }.unseal(&file).is_none());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BinaryFormat {
    /// Changes whenever the layout does, or the meaning of anything in it.
    pub magic: [u8; 8],
    /// The version of the writer: another version may produce other bytes from the same input.
    pub build: &'static str,
}

impl BinaryFormat {
    /// Returns how many bytes come before the head.
    pub const fn front_len(&self) -> usize {
        8 + 4 + self.build.len() + 8 + 8
    }

    /// Returns the bytes that come before a head.
    pub fn front(&self, head: &[u8]) -> Vec<u8> {
        let mut front = Writer(Vec::with_capacity(self.front_len()));
        front.raw(&self.magic);
        front.blob(self.build.as_bytes());
        front.extent(head);
        front.0
    }

    /// Returns a file that is a head and nothing else.
    pub fn seal(&self, head: &[u8]) -> Vec<u8> {
        let mut file = self.front(head);
        file.extend_from_slice(head);
        file
    }

    /// Returns the head of a file that is nothing else, if it is whole.
    pub fn unseal<'b>(&self, file: &'b [u8]) -> Option<&'b [u8]> {
        let (front, head) = file.split_at_checked(self.front_len())?;
        let extent = self.head(front)?;
        (head.len() as u64 == extent.length && checksum(head) == extent.checksum).then_some(head)
    }

    /// Returns the head of a file of which `read` returns parts, by offset and length. Only the head is read; the parts
    /// behind it begin at [`front_len`](BinaryFormat::front_len) plus its length.
    pub fn read_head(&self, mut read: impl FnMut(u64, usize) -> Option<Vec<u8>>) -> Option<Vec<u8>> {
        let front = read(0, self.front_len()).filter(|front| front.len() == self.front_len())?;
        self.head(&front)?.read(read)
    }

    /// Returns where the head is, if the front is of this kind.
    fn head(&self, front: &[u8]) -> Option<Extent> {
        let mut reader = Reader::new(front);
        if reader.array()? != self.magic || reader.blob()? != self.build.as_bytes() {
            return None;
        }
        reader.extent(&mut (self.front_len() as u64))
    }
}

/// The position of a part of a file, and the checksum of its bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    /// From the beginning of the file.
    pub offset: u64,
    /// In bytes.
    pub length: u64,
    /// Of its bytes.
    pub checksum: u64,
}

impl Extent {
    /// Reads the part, if it is whole. `read` returns bytes by offset and length.
    pub fn read(&self, mut read: impl FnMut(u64, usize) -> Option<Vec<u8>>) -> Option<Vec<u8>> {
        let bytes = read(self.offset, usize::try_from(self.length).ok()?)?;
        (bytes.len() as u64 == self.length && checksum(&bytes) == self.checksum).then_some(bytes)
    }
}

/// Returns the checksum of some bytes: 64 bits, not cryptographic.
pub fn checksum(bytes: &[u8]) -> u64 {
    XxHash3_64::oneshot(bytes)
}

/// Writes numbers and texts one behind the other, as [`Reader`] reads them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Writer(Vec<u8>);

impl Writer {
    /// Returns an empty writer with room for so many bytes.
    pub fn with_capacity(capacity: usize) -> Writer {
        Writer(Vec::with_capacity(capacity))
    }

    /// Returns the bytes that were written.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Like [`as_bytes`](Writer::as_bytes), by value.
    pub fn into_bytes(self) -> Vec<u8> {
        self.0
    }

    /// Returns how many bytes were written.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns whether nothing was written.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Writes bytes as they are, without their length.
    #[inline]
    pub fn raw(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    /// Writes one byte.
    #[inline]
    pub fn u8(&mut self, number: u8) {
        self.0.push(number);
    }

    /// Writes two bytes.
    #[inline]
    pub fn u16(&mut self, number: u16) {
        self.raw(&number.to_le_bytes());
    }

    /// Writes four bytes.
    #[inline]
    pub fn u32(&mut self, number: u32) {
        self.raw(&number.to_le_bytes());
    }

    /// Writes eight bytes.
    #[inline]
    pub fn u64(&mut self, number: u64) {
        self.raw(&number.to_le_bytes());
    }

    /// Writes sixteen bytes.
    #[inline]
    pub fn i128(&mut self, number: i128) {
        self.raw(&number.to_le_bytes());
    }

    /// Writes sixteen bytes.
    #[inline]
    pub fn u128(&mut self, number: u128) {
        self.raw(&number.to_le_bytes());
    }

    /// Writes a length or a number of items. No kept file has 4 GiB; one that would is refused when it is read.
    #[inline]
    pub fn count(&mut self, count: usize) {
        self.u32(u32::try_from(count).unwrap_or(u32::MAX));
    }

    /// Writes bytes with their length before them.
    pub fn blob(&mut self, bytes: &[u8]) {
        self.count(bytes.len());
        self.raw(bytes);
    }

    /// Writes numbers with their count before them.
    pub fn u32s(&mut self, numbers: &[u32]) {
        self.count(numbers.len());
        self.0.reserve(numbers.len() * 4);
        for number in numbers {
            self.u32(*number);
        }
    }

    /// Writes numbers with their count before them.
    pub fn u64s(&mut self, numbers: &[u64]) {
        self.count(numbers.len());
        self.0.reserve(numbers.len() * 8);
        for number in numbers {
            self.u64(*number);
        }
    }

    /// Writes how long a part is, and its checksum. The part itself is written elsewhere: parts follow each other in
    /// the order of their extents.
    pub fn extent(&mut self, part: &[u8]) {
        self.u64(part.len() as u64);
        self.u64(checksum(part));
    }
}

/// Reads the bytes of a [`Writer`]. Past the end, and for invalid values, it returns `None`.
#[derive(Debug, Clone)]
pub struct Reader<'b> {
    rest: &'b [u8],
}

impl<'b> Reader<'b> {
    /// Returns a reader from the beginning of some bytes.
    #[inline]
    pub fn new(bytes: &'b [u8]) -> Reader<'b> {
        Reader { rest: bytes }
    }

    /// Returns whether everything was read.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// Reads bytes as they are.
    #[inline]
    pub fn raw(&mut self, length: usize) -> Option<&'b [u8]> {
        let (taken, rest) = self.rest.split_at_checked(length)?;
        self.rest = rest;
        Some(taken)
    }

    /// Reads bytes as they are, as many as the array has.
    #[inline]
    pub fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.rest.split_first_chunk()?;
        self.rest = rest;
        Some(*taken)
    }

    /// Reads one byte.
    #[inline]
    pub fn u8(&mut self) -> Option<u8> {
        self.array().map(u8::from_le_bytes)
    }

    /// Reads two bytes.
    #[inline]
    pub fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_le_bytes)
    }

    /// Reads four bytes.
    #[inline]
    pub fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    /// Reads eight bytes.
    #[inline]
    pub fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    /// Reads sixteen bytes.
    #[inline]
    pub fn i128(&mut self) -> Option<i128> {
        self.array().map(i128::from_le_bytes)
    }

    /// Reads sixteen bytes.
    #[inline]
    pub fn u128(&mut self) -> Option<u128> {
        self.array().map(u128::from_le_bytes)
    }

    /// Reads how many items follow. Never more than there are bytes left: callers reserve memory by it.
    #[inline]
    pub fn count(&mut self) -> Option<usize> {
        let count = self.u32()? as usize;
        (count <= self.rest.len()).then_some(count)
    }

    /// Reads bytes with their length before them.
    #[inline]
    pub fn blob(&mut self) -> Option<&'b [u8]> {
        let length = self.u32()? as usize;
        self.raw(length)
    }

    /// Reads a text with its length before it.
    pub fn text(&mut self) -> Option<&'b str> {
        std::str::from_utf8(self.blob()?).ok()
    }

    /// Reads numbers with their count before them.
    pub fn u32s(&mut self) -> Option<Vec<u32>> {
        let length = (self.u32()? as usize).checked_mul(4)?;
        u32s(self.raw(length)?)
    }

    /// Reads numbers with their count before them.
    pub fn u64s(&mut self) -> Option<Vec<u64>> {
        let length = (self.u32()? as usize).checked_mul(8)?;
        u64s(self.raw(length)?)
    }

    /// Reads the extent of a part that begins at `offset`, and moves `offset` to the next one.
    pub fn extent(&mut self, offset: &mut u64) -> Option<Extent> {
        let extent = Extent { offset: *offset, length: self.u64()?, checksum: self.u64()? };
        *offset = offset.checked_add(extent.length)?;
        Some(extent)
    }
}

/// Decodes bytes as numbers of four bytes each; `None` if bytes are left over.
pub fn u32s(bytes: &[u8]) -> Option<Vec<u32>> {
    let (chunks, rest) = bytes.as_chunks();
    rest.is_empty().then(|| chunks.iter().map(|number| u32::from_le_bytes(*number)).collect())
}

/// Like [`u32s`], eight bytes each.
pub fn u64s(bytes: &[u8]) -> Option<Vec<u64>> {
    let (chunks, rest) = bytes.as_chunks();
    rest.is_empty().then(|| chunks.iter().map(|number| u64::from_le_bytes(*number)).collect())
}

/// A kept file, open for reading. It may be replaced meanwhile: the old one is still read.
#[derive(Debug)]
pub struct KeptFile {
    file: File,
    size: u64,
}

impl KeptFile {
    /// Opens a file of at most `max_bytes` bytes. A pipe or a directory in its place counts as no file, and opening it
    /// does not block.
    pub fn open(path: &Path, max_bytes: u64) -> Option<KeptFile> {
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = File::from(rustix::fs::open(path, flags, Mode::empty()).ok()?);
        let metadata = file.metadata().ok()?;
        (metadata.is_file() && metadata.len() <= max_bytes).then(|| KeptFile { file, size: metadata.len() })
    }

    /// Returns how many bytes it had when it was opened.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Reads all of it.
    pub fn read_all(&self) -> Option<Vec<u8>> {
        self.read(0, usize::try_from(self.size).ok()?)
    }

    /// Reads some of its bytes, if it has them.
    pub fn read(&self, mut offset: u64, length: usize) -> Option<Vec<u8>> {
        if offset.checked_add(length as u64)? > self.size {
            return None;
        }
        let mut bytes = Vec::with_capacity(length);
        // Straight into fresh memory: clearing it first would take as long as reading.
        while bytes.len() < length {
            let read = rustix::io::pread(&self.file, rustix::buffer::spare_capacity(&mut bytes), offset).ok()?;
            if read == 0 {
                return None;
            }
            offset += read as u64;
        }
        bytes.truncate(length);
        Some(bytes)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const FORMAT: BinaryFormat = BinaryFormat { magic: *b"testing1", build: "0.1" };

    fn file() -> Vec<u8> {
        let parts = [&b"first"[..], b"", b"third"];
        let mut head = Writer::default();
        for part in &parts {
            head.extent(part);
        }
        head.u32s(&[1, 2, u32::MAX]);
        head.u64s(&[u64::MAX]);
        let mut file = FORMAT.seal(head.as_bytes());
        for part in &parts {
            file.extend_from_slice(part);
        }
        file
    }

    /// Returns the parts of a file that are whole; `None` if its head is damaged.
    fn read(file: &[u8]) -> Option<Vec<Option<Vec<u8>>>> {
        let at = |offset: u64, length: usize| {
            let offset = usize::try_from(offset).ok()?;
            file.get(offset..offset.checked_add(length)?).map(<[u8]>::to_vec)
        };
        let head = FORMAT.read_head(at)?;
        let mut offset = (FORMAT.front_len() + head.len()) as u64;
        let mut reader = Reader::new(&head);
        let extents: Option<Vec<Extent>> = (0..3).map(|_| reader.extent(&mut offset)).collect();
        let extents = extents?;
        assert_eq!((reader.u32s()?, reader.u64s()?, reader.is_empty()), (vec![1, 2, u32::MAX], vec![u64::MAX], true));
        Some(extents.iter().map(|extent| extent.read(at)).collect())
    }

    #[test]
    fn parts_come_back() {
        let parts = read(&file()).unwrap();
        assert_eq!(parts, [Some(b"first".to_vec()), Some(Vec::new()), Some(b"third".to_vec())]);
    }

    #[test]
    fn damage_anywhere_is_detected_in_its_part() {
        let whole = file();
        for at in 0..whole.len() {
            let mut flipped = whole.clone();
            flipped[at] ^= 1 << (at % 8);
            let parts = read(&flipped);
            assert!(parts.is_none_or(|parts| parts.iter().filter(|part| part.is_none()).count() == 1), "{at}");
            assert!(read(&whole[..at]).is_none_or(|parts| parts.contains(&None)), "{at}");
        }
        let sealed = FORMAT.seal(b"all of it");
        for at in 0..sealed.len() {
            assert!(FORMAT.unseal(&sealed[..at]).is_none());
        }
        assert!(BinaryFormat { build: "0.2", ..FORMAT }.unseal(&FORMAT.seal(b"")).is_none());
        assert_eq!(FORMAT.unseal(&FORMAT.seal(b"")), Some(&b""[..]));
    }

    #[test]
    fn a_kept_file_is_read_within_its_bounds() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("kept");
        std::fs::write(&path, b"0123456789").unwrap();
        let kept = KeptFile::open(&path, 10).unwrap();
        assert_eq!((kept.size(), kept.read_all()), (10, Some(b"0123456789".to_vec())));
        assert_eq!(kept.read(8, 2).as_deref(), Some(&b"89"[..]));
        assert_eq!(kept.read(10, 0).as_deref(), Some(&b""[..]));
        assert!(kept.read(9, 2).is_none() && kept.read(u64::MAX, 1).is_none() && kept.read(0, usize::MAX).is_none());
        std::fs::write(&path, b"0").unwrap();
        assert!(kept.read(8, 2).is_none(), "it has become shorter");
        assert!(KeptFile::open(&path, 0).is_none() && KeptFile::open(dir.path(), 10).is_none());
    }

    proptest! {
        #[test]
        fn no_bytes_make_a_reader_panic(bytes in prop::collection::vec(any::<u8>(), 0..64), calls in prop::collection::vec(0..12, 0..16)) {
            let mut reader = Reader::new(&bytes);
            for call in calls {
                match call {
                    0 => drop(reader.u8()),
                    1 => drop(reader.u16()),
                    2 => drop(reader.u32()),
                    3 => drop(reader.u64()),
                    4 => drop(reader.i128()),
                    5 => drop(reader.u128()),
                    6 => drop(reader.count()),
                    7 => drop(reader.blob()),
                    8 => drop(reader.text()),
                    9 => drop(reader.u32s()),
                    10 => drop(reader.u64s()),
                    _ => drop(reader.extent(&mut (u64::MAX - 1))),
                }
            }
            let _ = FORMAT.unseal(&bytes);
        }
    }
}
