//! Verified files on disk, and the directories that belong to servers.
//!
//! Nothing here is trusted because it is here: every read verifies the file again. The directory is no skill directory,
//! and no discovery looks at it.

use std::collections::HashSet;
use std::fs::{DirBuilder, File, Metadata};
use std::io::{self, Read};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use skillcue::remote::{RemoteEntry, RemoteFile};

use crate::{digest, digits};

/// A stamp that tells one state of a file from another. The file is replaced as a whole each time, so the inode
/// changes.
pub(crate) type CacheStamp = (u64, u64, i64, i64);

pub(crate) fn stamp(metadata: &Metadata) -> CacheStamp {
    (metadata.ino(), metadata.len(), metadata.mtime(), metadata.mtime_nsec())
}

/// The cache of one server: `<cache>/mcp/<label>`.
#[derive(Debug, Clone)]
pub(crate) struct ServerCache {
    dir: PathBuf,
}

impl ServerCache {
    pub(crate) fn new(cache: &Path, label: &str) -> ServerCache {
        ServerCache { dir: servers(cache).join(label) }
    }

    /// Returns the path of a file of the server's own, such as its listing.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }

    /// Returns the path of a skill's file: by server, skill and content, so that no two servers and no two skills share
    /// one, and a file that has changed never replaces another.
    fn file(&self, entry: &RemoteEntry, file: &RemoteFile) -> PathBuf {
        let skill = digest(entry.uri.as_bytes());
        let skill = digits(&skill);
        self.dir.join("files").join(&skill[..32]).join(digits(&file.digest))
    }

    /// Returns the bytes of a file, if they are there. They are as the disk has them: verify them.
    pub(crate) fn get(&self, entry: &RemoteEntry, file: &RemoteFile) -> Option<Vec<u8>> {
        let mut bytes = Vec::new();
        // One byte more than listed shows a longer file without reading all of it.
        let open = File::open(self.file(entry, file)).ok()?;
        open.take(file.size.saturating_add(1)).read_to_end(&mut bytes).ok()?;
        Some(bytes)
    }

    /// Stores the verified bytes of a file.
    pub(crate) fn put(&self, entry: &RemoteEntry, file: &RemoteFile, bytes: &[u8]) -> io::Result<()> {
        write(&self.file(entry, file), bytes)
    }

    /// Removes a file whose bytes have changed.
    pub(crate) fn discard(&self, entry: &RemoteEntry, file: &RemoteFile) {
        // Best effort: a file that cannot be removed fails its check again.
        let _ = std::fs::remove_file(self.file(entry, file));
    }

    /// Deletes the files that none of these entries lists.
    pub(crate) fn sweep(&self, entries: &[Arc<RemoteEntry>]) -> io::Result<()> {
        let listed = entries.iter().flat_map(|entry| entry.files.iter().flatten().map(|file| self.file(entry, file)));
        let listed: HashSet<PathBuf> = listed.collect();
        for skill in subdirectories(&self.dir.join("files"))? {
            let mut left = 0;
            for file in std::fs::read_dir(&skill)? {
                let path = file?.path();
                if listed.contains(&path) {
                    left += 1;
                } else {
                    std::fs::remove_file(path)?;
                }
            }
            if left == 0 {
                std::fs::remove_dir(skill)?;
            }
        }
        Ok(())
    }
}

/// Writes a file at once, readable by its owner alone, as are the directories that are made for it.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    if let Some(dir) = path.parent() {
        private_dir(dir)?;
    }
    skillcue_base::replace_file(path, [bytes])
}

/// Makes a directory and those above it, for its owner alone.
pub(crate) fn private_dir(dir: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(dir)
}

fn servers(cache: &Path) -> PathBuf {
    cache.join("mcp")
}

/// Lists the directories in a directory, without following links. One that is missing has none.
fn subdirectories(dir: &Path) -> io::Result<Vec<PathBuf>> {
    let listing = match std::fs::read_dir(dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        listing => listing?,
    };
    let mut found = Vec::new();
    for item in listing {
        let item = item?;
        if item.file_type()?.is_dir() {
            found.push(item.path());
        }
    }
    found.sort();
    Ok(found)
}

/// Deletes the caches of servers that are not among `labels`. Returns their labels.
pub(crate) fn prune(cache: &Path, labels: &[String]) -> io::Result<Vec<String>> {
    let mut gone = Vec::new();
    for dir in subdirectories(&servers(cache))? {
        let name = dir.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        if !labels.contains(&name) {
            std::fs::remove_dir_all(dir)?;
            gone.push(name);
        }
    }
    Ok(gone)
}
