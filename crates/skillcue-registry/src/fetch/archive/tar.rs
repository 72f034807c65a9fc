//! Tar, as a stream.
//!
//! The crate `tar` splits the stream at its headers and no more: left to itself it reads a long name of any size into
//! memory, and a size that an extended header gives once more.

use std::io::{self, Read};

use tar::{Archive, Entry, EntryType};

use super::super::context::{FetchContext, carry};
use super::super::error::{Exceeded, FetchError, Refusal};
use super::super::tree::FetchTree;

/// The length of the longest name or link target, in bytes, with the NUL behind it.
const MAX_LONG: u64 = 1025;
/// The length of the longest extended header, in bytes.
const MAX_EXTENDED: u64 = 1 << 16;
/// How many bytes an entry may take beside its content: headers, and the padding of its last block.
const MAX_OVERHEAD: u64 = 4096;

/// Unpacks a tar stream to its end.
pub(in crate::fetch) fn unpack(
    from: impl Read,
    mut tree: FetchTree<'_>,
    context: &FetchContext<'_>,
) -> Result<(), FetchError> {
    unpack_into(from, &mut tree, context)?;
    tree.finish()
}

/// Like [`unpack`], into a tree that other archives are unpacked into, too.
pub(crate) fn unpack_into(
    from: impl Read,
    tree: &mut FetchTree<'_>,
    context: &FetchContext<'_>,
) -> Result<(), FetchError> {
    let max = context.limits.bytes.saturating_add((context.limits.entries as u64).saturating_mul(MAX_OVERHEAD));
    let mut archive = Archive::new(LimitedReader { from, left: max, context });
    let mut next = PendingHeaders::default();
    for entry in archive.entries().map_err(|error| context.unreadable(error))?.raw(true) {
        let entry = entry.map_err(|error| context.unreadable(error))?;
        take(entry, &mut next, tree, context)?;
    }
    if !next.is_empty() {
        return Err(context.damaged("the archive is cut off"));
    }
    // Zeros pad the last block; other bytes would be hidden content.
    let mut rest = archive.into_inner();
    let mut buffer = vec![0; super::BLOCK];
    loop {
        match rest.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) if buffer[..count].iter().all(|byte| *byte == 0) => {}
            Ok(_) => return Err(context.damaged("bytes follow the archive's end")),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(context.unreadable(error)),
        }
    }
    Ok(())
}

/// Values from extra headers for the entry that follows them.
#[derive(Default)]
struct PendingHeaders {
    name: Option<Vec<u8>>,
    target: Option<Vec<u8>>,
    size: Option<u64>,
}

impl PendingHeaders {
    fn is_empty(&self) -> bool {
        self.name.is_none() && self.target.is_none() && self.size.is_none()
    }

    fn name(&mut self, name: Vec<u8>, context: &FetchContext<'_>) -> Result<(), FetchError> {
        if self.name.replace(name).is_some() { Err(context.damaged("an entry is named twice")) } else { Ok(()) }
    }

    fn target(&mut self, target: Vec<u8>, context: &FetchContext<'_>) -> Result<(), FetchError> {
        if self.target.replace(target).is_some() {
            return Err(context.damaged("a link's target is named twice"));
        }
        Ok(())
    }
}

fn take<R: Read>(
    mut entry: Entry<'_, R>,
    next: &mut PendingHeaders,
    tree: &mut FetchTree<'_>,
    context: &FetchContext<'_>,
) -> Result<(), FetchError> {
    let kind = entry.header().entry_type();
    match kind {
        EntryType::GNULongName => return next.name(long(&mut entry, context)?, context),
        EntryType::GNULongLink => return next.target(long(&mut entry, context)?, context),
        EntryType::XHeader => {
            let bytes = bounded(&mut entry, MAX_EXTENDED, context)?;
            return extended(&bytes, next, context);
        }
        EntryType::XGlobalHeader => {
            let mut all = PendingHeaders::default();
            let bytes = bounded(&mut entry, MAX_EXTENDED, context)?;
            extended(&bytes, &mut all, context)?;
            if !all.is_empty() {
                return Err(context.damaged("a global header names all entries at once"));
            }
            return Ok(());
        }
        _ => {}
    }
    let PendingHeaders { name, target, size } = std::mem::take(next);
    let name = name.unwrap_or_else(|| entry.header().path_bytes().into_owned());
    let target = target.or_else(|| entry.header().link_name_bytes().map(std::borrow::Cow::into_owned));
    let target = target.unwrap_or_default();
    if size.is_some_and(|size| size != entry.size()) {
        return Err(context.damaged("an entry has two sizes"));
    }
    let mode = entry.header().mode().unwrap_or(0);
    let refused = |reason| Err(context.refused(&name, reason));
    match kind {
        EntryType::Directory if entry.size() > 0 => refused(Refusal::FullDirectory),
        EntryType::Directory => tree.directory(&name),
        // Before there was a type for directories, they were files whose names end with a slash.
        EntryType::Regular | EntryType::Continuous if name.ends_with(b"/") => {
            if entry.size() > 0 {
                refused(Refusal::FullDirectory)
            } else {
                tree.directory(&name)
            }
        }
        EntryType::Regular | EntryType::Continuous => {
            let left = entry.size();
            tree.file(&name, mode, &mut ExactReader { from: &mut entry, left })
        }
        EntryType::Symlink => tree.link(&name, &target),
        EntryType::Link => tree.copy(&name, mode, &target),
        EntryType::Char | EntryType::Block => refused(Refusal::Special("a device")),
        EntryType::Fifo => refused(Refusal::Special("a named pipe")),
        EntryType::GNUSparse => refused(Refusal::Special("a file with holes")),
        _ => refused(Refusal::Special("neither file nor directory nor link")),
    }
}

/// Reads a name or a target that is in an entry of its own.
fn long<R: Read>(entry: &mut Entry<'_, R>, context: &FetchContext<'_>) -> Result<Vec<u8>, FetchError> {
    let mut bytes = bounded(entry, MAX_LONG, context)?;
    while bytes.last() == Some(&0) {
        bytes.pop();
    }
    Ok(bytes)
}

/// Reads a whole entry into memory, within a limit.
fn bounded<R: Read>(entry: &mut Entry<'_, R>, max: u64, context: &FetchContext<'_>) -> Result<Vec<u8>, FetchError> {
    let size = entry.size();
    if size > max {
        return Err(context.refused(&entry.header().path_bytes(), Refusal::TooLong));
    }
    let mut bytes = Vec::new();
    ExactReader { from: entry, left: size }.read_to_end(&mut bytes).map_err(|error| context.unreadable(error))?;
    Ok(bytes)
}

/// Reads the records of an extended header: `LENGTH KEY=VALUE\n`, the length counting all of it.
fn extended(mut bytes: &[u8], next: &mut PendingHeaders, context: &FetchContext<'_>) -> Result<(), FetchError> {
    while !bytes.is_empty() {
        let (key, value, rest) = record(bytes).ok_or_else(|| context.damaged("an extended header is damaged"))?;
        bytes = rest;
        match key {
            b"path" => next.name(value.to_vec(), context)?,
            b"linkpath" => next.target(value.to_vec(), context)?,
            b"size" => {
                let size = std::str::from_utf8(value).ok().and_then(|size| size.parse().ok());
                next.size = Some(size.ok_or_else(|| context.damaged("an extended header is damaged"))?);
            }
            key if key.starts_with(b"GNU.sparse.") => {
                let name = next.name.take().unwrap_or_default();
                return Err(context.refused(&name, Refusal::Special("a file with holes")));
            }
            // Times, owners, attributes: not kept.
            _ => {}
        }
    }
    Ok(())
}

fn record(bytes: &[u8]) -> Option<(&[u8], &[u8], &[u8])> {
    let blank = bytes.iter().position(|byte| *byte == b' ')?;
    let length: usize = std::str::from_utf8(&bytes[..blank]).ok()?.parse().ok()?;
    let (record, rest) = bytes.split_at_checked(length)?;
    let record = record.get(blank + 1..)?.strip_suffix(b"\n")?;
    let equals = record.iter().position(|byte| *byte == b'=')?;
    Some((&record[..equals], &record[equals + 1..], rest))
}

/// Reads an entry that must have its declared length.
struct ExactReader<'e, R> {
    from: &'e mut R,
    left: u64,
}

impl<R: Read> Read for ExactReader<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.from.read(buffer)?;
        self.left = self.left.saturating_sub(count as u64);
        if count == 0 && self.left > 0 && !buffer.is_empty() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(count)
    }
}

/// Bounds the whole stream: skipped entries take time, too.
struct LimitedReader<'w, R> {
    from: R,
    left: u64,
    context: &'w FetchContext<'w>,
}

impl<R: Read> Read for LimitedReader<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.context.check().map_err(carry)?;
        let count = self.from.read(buffer)?;
        match self.left.checked_sub(count as u64) {
            Some(left) => self.left = left,
            None => return Err(carry(self.context.exceeded(Exceeded::Bytes(self.context.limits.bytes)))),
        }
        Ok(count)
    }
}
