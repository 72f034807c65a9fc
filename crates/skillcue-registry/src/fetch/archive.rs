//! Archives: zip, and tar with gzip.

pub(crate) mod tar;
mod zip;

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::Path;

use super::context::{FetchContext, carry};
use super::error::FetchError;
use super::tree::FetchTree;
use crate::Disk;

/// How much of an archive is read at once.
const BLOCK: usize = 1 << 16;
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// Unpacks the archive at `path`. Its name gives its format, and its first bytes must agree.
pub(super) fn fetch(path: &Path, into: &Path, disk: &Disk, context: &FetchContext<'_>) -> Result<(), FetchError> {
    let unreadable = |source| FetchError::Read { path: path.to_path_buf(), source };
    // Not waiting for the other end of a pipe; it is refused below.
    let nonblock = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
    let file = File::options().read(true).custom_flags(nonblock).open(path).map_err(unreadable)?;
    let metadata = file.metadata().map_err(unreadable)?;
    if !metadata.is_file() {
        return Err(unreadable(io::Error::other("it is no regular file")));
    }
    let mut magic = [0; 4];
    let known = read_at_most(&file, &mut magic).map_err(unreadable)?;
    let tree = FetchTree::new(into, disk, context).packed(metadata.len());
    let name = path.to_string_lossy().to_ascii_lowercase();
    match &magic[..known] {
        b"PK\x03\x04" | b"PK\x05\x06" if !is_tar(&name) => zip::unpack(&file, metadata.len(), tree, context),
        [first, second, ..] if [*first, *second] == GZIP && is_tar(&name) => {
            let section = FileSection { file: &file, at: 0, end: metadata.len(), context };
            let inflated = flate2::bufread::MultiGzDecoder::new(BufReader::with_capacity(BLOCK, section));
            tar::unpack(inflated, tree, context)
        }
        [] => Err(context.damaged("the file is empty")),
        [first, second, ..] if [*first, *second] == GZIP => {
            Err(context.damaged("it is packed by gzip, but its name says that it is a zip archive"))
        }
        b"PK\x03\x04" => Err(context.damaged("it is a zip archive, but its name says otherwise")),
        _ if is_tar(&name) => Err(context.damaged("it is no tar archive that was packed by gzip")),
        _ => Err(context.damaged("it is no zip archive")),
    }
}

fn is_tar(name: &str) -> bool {
    [".tar.gz", ".tgz"].iter().any(|ending| name.ends_with(ending))
}

fn read_at_most(file: &File, buffer: &mut [u8]) -> io::Result<usize> {
    let mut read = 0;
    while read < buffer.len() {
        match file.read_at(&mut buffer[read..], read as u64) {
            Ok(0) => break,
            Ok(count) => read += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(read)
}

/// A section of a file. Reading it can be cancelled.
struct FileSection<'f> {
    file: &'f File,
    at: u64,
    end: u64,
    context: &'f FetchContext<'f>,
}

impl Read for FileSection<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.context.check().map_err(carry)?;
        let left = usize::try_from(self.end.saturating_sub(self.at)).unwrap_or(usize::MAX).min(buffer.len());
        let count = self.file.read_at(&mut buffer[..left], self.at)?;
        self.at += count as u64;
        Ok(count)
    }
}
