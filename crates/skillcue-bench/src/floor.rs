//! The floors: the bare programs that a measurement is compared with.
//!
//! Each is what one would write to do as little as possible for the same answer, with the standard
//! library and nothing else. They are not tuned: a floor that needs a clever program is no floor
//! but a rival.
//!
//! ```
//! use skillcue_bench::floor;
//! use std::num::NonZeroUsize;
//!
//! let dir = tempfile::tempdir()?;
//! std::fs::write(dir.path().join("SKILL.md"), "---\nname: x\n---\n")?;
//! let paths = floor::find(dir.path())?;
//! let total = floor::read_4k(&paths, NonZeroUsize::MIN)?;
//! assert_eq!((total.files, total.bytes), (1, 16));
//! # Ok::<(), std::io::Error>(())
//! ```

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::num::NonZeroUsize;
use std::ops::AddAssign;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// The number of bytes of every file that discovery's floor reads: a page, and more than the front matter of every
/// skill but the largest few.
pub const FIRST_BYTES: usize = 4096;

/// The number of paths that one thread takes at a time.
///
/// Threads take chunks as they go instead of an equal part each: on two cores of which a noisy
/// neighbour has half of one, equal parts would have the faster thread wait for the slower.
const MAX_CHUNK: usize = 256;

/// The amount of work of a floor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Total {
    /// Files opened, or asked about.
    pub files: usize,
    /// Bytes read, or the files' sizes.
    pub bytes: u64,
}

impl AddAssign for Total {
    fn add_assign(&mut self, other: Self) {
        self.files += other.files;
        self.bytes += other.bytes;
    }
}

/// Opens each file, reads its first 4 KiB with one call, closes it: the floor of discovery.
///
/// # Errors
///
/// The first error of any file: a floor that skips files is too low.
pub fn read_4k<P: AsRef<Path> + Sync>(paths: &[P], threads: NonZeroUsize) -> io::Result<Total> {
    each(paths, threads, |path, buffer| {
        let read = File::open(path)?.read(buffer)?;
        Ok(read as u64)
    })
}

/// Asks for each file's size and times, following symlinks: the floor of a start from the index
/// cache.
///
/// # Errors
///
/// The first error of any file.
pub fn stat<P: AsRef<Path> + Sync>(paths: &[P], threads: NonZeroUsize) -> io::Result<Total> {
    each(paths, threads, |path, _| Ok(fs::metadata(path)?.len()))
}

/// Reads one whole file: the floor of a first load.
///
/// # Errors
///
/// The file system's error.
pub fn read_whole(path: &Path) -> io::Result<Vec<u8>> {
    fs::read(path)
}

/// Asks for one file's size and times: the floor of a cached load, which has to know whether its
/// file has changed.
///
/// # Errors
///
/// The file system's error.
pub fn stat_one(path: &Path) -> io::Result<u64> {
    Ok(fs::metadata(path)?.len())
}

/// Returns every `SKILL.md` below `dir`, sorted; directory symlinks are not followed.
///
/// Not a floor itself: the floors are handed their paths, since a listing costs the same for all.
///
/// # Errors
///
/// The first directory that cannot be listed.
pub fn find(dir: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut open = vec![dir.to_path_buf()];
    while let Some(dir) = open.pop() {
        for entry in fs::read_dir(&dir)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                open.push(entry.path());
            } else if entry.file_name() == "SKILL.md" {
                found.push(entry.path());
            }
        }
    }
    found.sort_unstable();
    Ok(found)
}

/// Runs `one` on every path with `threads` threads, the calling one among them; each has a buffer
/// that it uses again and again.
fn each<P, F>(paths: &[P], threads: NonZeroUsize, one: F) -> io::Result<Total>
where
    P: AsRef<Path> + Sync,
    F: Fn(&Path, &mut [u8]) -> io::Result<u64> + Sync,
{
    let threads = threads.get();
    // Eight turns for every thread, so that the last ones to finish wait for little.
    let chunk = (paths.len() / (threads * 8)).clamp(1, MAX_CHUNK);
    let next = AtomicUsize::new(0);
    let work = || -> io::Result<Total> {
        let mut total = Total::default();
        let mut buffer = [0; FIRST_BYTES];
        loop {
            // Relaxed: the counter hands out numbers and guards no other memory.
            let start = next.fetch_add(chunk, Ordering::Relaxed);
            if start >= paths.len() {
                return Ok(total);
            }
            for path in &paths[start..paths.len().min(start + chunk)] {
                let bytes = one(path.as_ref(), &mut buffer)?;
                total += Total { files: 1, bytes };
            }
        }
    };
    thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
        let mut total = work()?;
        for other in others {
            total += other.join().expect("a floor does not panic")?;
        }
        Ok(total)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `count` files of 1 … `count` hundred bytes, every other one a directory deeper.
    fn files(count: usize) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for index in 0..count {
            let dir = root.path().join(if index % 2 == 0 { format!("{index}") } else { format!("a/{index}") });
            fs::create_dir_all(&dir).unwrap();
            fs::write(dir.join("SKILL.md"), vec![b'x'; 100 * (index + 1)]).unwrap();
            fs::write(dir.join("other.md"), "x").unwrap();
        }
        root
    }

    #[test]
    fn every_file_counts_once_with_any_number_of_threads() {
        let root = files(60);
        let paths = find(root.path()).unwrap();
        assert_eq!(paths.len(), 60);
        let sizes: u64 = (1..=60).map(|n| 100 * n).sum();
        let read: u64 = (1..=60).map(|n| (100 * n).min(FIRST_BYTES as u64)).sum();
        for threads in [1, 2, 3, 8, 100].map(|n| NonZeroUsize::new(n).unwrap()) {
            assert_eq!(stat(&paths, threads).unwrap(), Total { files: 60, bytes: sizes });
            assert_eq!(read_4k(&paths, threads).unwrap(), Total { files: 60, bytes: read });
        }
    }

    #[test]
    fn one_file() {
        let root = files(1);
        let path = root.path().join("0/SKILL.md");
        assert_eq!(read_whole(&path).unwrap().len(), 100);
        assert_eq!(stat_one(&path).unwrap(), 100);
    }

    #[test]
    fn no_files_and_missing_files() {
        let none: [&Path; 0] = [];
        let two = NonZeroUsize::new(2).unwrap();
        assert_eq!(read_4k(&none, two).unwrap(), Total::default());
        let error = stat(&[Path::new("/nowhere/SKILL.md")], two).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
    }
}
