//! Indexes over a catalog that are kept between starts: files beside the index cache, one of a kind for each set of
//! roots.
//!
//! They are caches in the strict sense. A file that is missing, damaged or of another version is made anew.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use skillcue_base::binary::KeptFile;
use skillcue_base::{is_draft, replace_file};
use skillcue_catalog::SkillRoot;
use skillcue_select::ReadAt;
use twox_hash::XxHash3_64;

/// The number of files of one kind that are kept; the least recently written go first.
const MAX_FILES: usize = 16;
/// The size of the largest file that is read.
const MAX_BYTES: u64 = 1 << 30;
/// How old a draft is that no process writes any more.
const MIN_LEFT_DRAFT_AGE: Duration = Duration::from_hours(1);

/// The index files of one set of roots.
#[derive(Debug, Clone)]
pub(crate) struct IndexFiles {
    dir: PathBuf,
    roots: u64,
}

impl IndexFiles {
    /// Returns those beside an index cache.
    pub(crate) fn beside(index_cache: &Path, roots: &[SkillRoot]) -> IndexFiles {
        let mut bytes = Vec::new();
        for root in roots {
            for part in [root.path.as_os_str().as_encoded_bytes(), root.source.as_str().as_bytes()] {
                bytes.extend_from_slice(part);
                bytes.push(0);
            }
        }
        let dir = index_cache.parent().map_or_else(PathBuf::new, Path::to_path_buf);
        IndexFiles { dir, roots: XxHash3_64::oneshot(&bytes) }
    }

    fn path(&self, kind: &str) -> PathBuf {
        self.dir.join(format!("{kind}-{:016x}", self.roots))
    }

    /// Reads a whole file, if there is one.
    pub(crate) fn read(&self, kind: &str) -> Option<Vec<u8>> {
        KeptFile::open(&self.path(kind), MAX_BYTES)?.read_all()
    }

    /// Returns a reader of parts of a file, if there is one. The file may be replaced meanwhile: the old one is still
    /// read.
    pub(crate) fn read_at(&self, kind: &str) -> Option<ReadAt> {
        let file = KeptFile::open(&self.path(kind), MAX_BYTES)?;
        Some(Arc::new(move |offset, length| file.read(offset, length)))
    }

    /// Writes a file. A cache that cannot be written costs time at the next start, nothing else.
    pub(crate) fn write(&self, kind: &str, bytes: &[u8]) {
        match replace_file(&self.path(kind), [bytes]) {
            Ok(()) => self.prune(kind),
            Err(error) => tracing::debug!(kind, %error, "could not be kept for the next start"),
        }
    }

    /// Removes a file.
    pub(crate) fn remove(&self, kind: &str) {
        // Another process may have been faster.
        let _ = std::fs::remove_file(self.path(kind));
    }

    /// Removes old files of a kind, and drafts that interrupted processes left.
    fn prune(&self, kind: &str) {
        let Ok(entries) = self.dir.read_dir() else { return };
        let prefix = format!("{kind}-");
        let (mut files, mut gone): (Vec<(SystemTime, PathBuf)>, Vec<PathBuf>) = (Vec::new(), Vec::new());
        for entry in entries.filter_map(Result::ok) {
            let name = entry.file_name();
            let Some(name) = name.to_str().filter(|name| name.starts_with(&prefix) || is_draft(name)) else { continue };
            let Some(modified) = entry.metadata().ok().and_then(|metadata| metadata.modified().ok()) else { continue };
            if !is_draft(name) {
                files.push((modified, entry.path()));
            } else if modified.elapsed().is_ok_and(|age| age >= MIN_LEFT_DRAFT_AGE) {
                gone.push(entry.path());
            }
        }
        files.sort_unstable_by(|a, b| b.cmp(a));
        gone.extend(files.into_iter().skip(MAX_FILES).map(|file| file.1));
        for path in gone {
            // Another process may have been faster.
            let _ = std::fs::remove_file(path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use skillcue_catalog::Source;

    #[test]
    fn files_are_found_again_by_equal_roots_only() {
        let dir = tempfile::tempdir().unwrap();
        let cache = dir.path().join("skillcue/index");
        let of = |path: &str, source| IndexFiles::beside(&cache, &[SkillRoot::new(path, source)]);
        of("/a", Source::User).write("select", b"one");
        assert_eq!(of("/a", Source::User).read("select").as_deref(), Some(&b"one"[..]));
        assert_eq!(of("/a", Source::Project).read("select"), None);
        assert_eq!(of("/b", Source::User).read("select"), None);
        assert_eq!(of("/a", Source::User).read("bodies"), None);
        assert!(of("/b", Source::User).read_at("select").is_none());
        let read = of("/a", Source::User).read_at("select").unwrap();
        assert_eq!((read(1, 2), read(1, 3), read(u64::MAX, 1)), (Some(b"ne".to_vec()), None, None));
    }

    #[test]
    fn old_files_go() {
        let dir = tempfile::tempdir().unwrap();
        let cache = dir.path().join("index");
        std::fs::write(&cache, "stays").unwrap();
        for number in 0..MAX_FILES + 5 {
            IndexFiles::beside(&cache, &[SkillRoot::new(format!("/{number}"), Source::User)]).write("select", b"x");
        }
        assert_eq!(dir.path().read_dir().unwrap().count(), MAX_FILES + 1);
        assert!(cache.exists());
    }

    #[test]
    fn a_directory_is_not_read() {
        let dir = tempfile::tempdir().unwrap();
        let kept = IndexFiles::beside(&dir.path().join("index"), &[]);
        std::fs::create_dir(kept.path("select")).unwrap();
        assert_eq!(kept.read("select"), None);
        kept.write("select", b"x");
    }
}
