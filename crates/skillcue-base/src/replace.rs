//! Writes files as a whole. No other module renames a file over another.

use std::fs::{self, File};
use std::io::{self, Seek as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _, fchown};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// Puts `parts`, one after the other, into the file at `path`: written beside it, then renamed over it. Readers see the
/// old file or the new one, and of two writers the later wins. Missing directories are made; the file is its owner's
/// alone.
///
/// ```
/// let dir = tempfile::tempdir()?;
/// let path = dir.path().join("a/b.txt");
/// skillcue_base::replace_file(&path, [&b"one "[..], b"two"])?;
/// assert_eq!(std::fs::read_to_string(path)?, "one two");
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn replace_file<'b>(path: &Path, parts: impl IntoIterator<Item = &'b [u8]>) -> io::Result<()> {
    // Threads of one process may write the same file: the counter keeps their drafts apart.
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let dir = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(dir)?;
    let name = path.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    // Processes in two containers may share a number; hardly the nanosecond, too.
    let nanos = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.subsec_nanos());
    let draft = dir.join(format!(".{name}.{}-{count}-{nanos}", std::process::id()));
    let written = write(&draft, parts).and_then(|()| fs::rename(&draft, path));
    if written.is_err() {
        // Best effort: the error that matters is the one above.
        let _ = fs::remove_file(&draft);
    }
    written
}

/// Returns whether a file's name is that of a draft of [`replace_file`]: hidden, with three numbers at its end. A process
/// that ended while writing has left one that is never renamed.
///
/// ```
/// assert!(skillcue_base::is_draft(".index.4711-0-123456"));
/// assert!(!skillcue_base::is_draft("index") && !skillcue_base::is_draft(".index.toml"));
/// ```
pub fn is_draft(name: &str) -> bool {
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let numbers = name.strip_prefix('.').and_then(|name| name.rsplit_once('.')).map(|(_, numbers)| numbers);
    numbers.is_some_and(|numbers| numbers.split('-').count() == 3 && numbers.split('-').all(is_number))
}

fn write<'b>(draft: &Path, parts: impl IntoIterator<Item = &'b [u8]>) -> io::Result<()> {
    let mut file = File::options().write(true).create_new(true).mode(0o600).open(draft)?;
    parts.into_iter().try_for_each(|part| file.write_all(part))
}

/// Replaces the content of a file that people own: in one step, with its owner and permissions kept. A file of several
/// names is written in place, so that all of them keep naming it; a link stays a link.
///
/// ```
/// let dir = tempfile::tempdir()?;
/// let path = dir.path().join("SKILL.md");
/// std::fs::write(&path, "old")?;
/// skillcue_base::rewrite_file(&path, b"new")?;
/// assert_eq!(std::fs::read_to_string(path)?, "new");
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn rewrite_file(path: &Path, bytes: &[u8]) -> io::Result<()> {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    // Through a link to the file itself: the link stays one.
    let path = path.canonicalize()?;
    let metadata = path.metadata()?;
    let mut permissions = metadata.permissions();
    if permissions.readonly() {
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, "it is read-only"));
    }
    if metadata.nlink() > 1 {
        return overwrite(&path, bytes);
    }
    let dir = path.parent().unwrap_or(Path::new("/"));
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let beside = dir.join(format!(".skillcue-fix-{}-{number}", std::process::id()));
    let written = (|| {
        // For no other user until the permissions are copied.
        let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&beside)?;
        if let Err(error) = fchown(&file, Some(metadata.uid()), Some(metadata.gid())) {
            let draft = file.metadata()?;
            if draft.uid() != metadata.uid() {
                let reason = format!("its owner would change: {}", crate::os_message(&error));
                return Err(io::Error::new(io::ErrorKind::PermissionDenied, reason));
            }
            if draft.gid() != metadata.gid() {
                // The group is another one now: it gets no more than all other users have.
                let mode = permissions.mode();
                permissions.set_mode(mode & !0o2070 | mode & (mode << 3) & 0o070);
            }
        }
        file.write_all(bytes)?;
        file.set_permissions(permissions)?;
        file.sync_all()?;
        fs::rename(&beside, &path)
    })();
    if written.is_err() {
        // Best effort: the error that matters is the one above.
        let _ = fs::remove_file(&beside);
    }
    written
}

/// Overwrites a file, and restores its content if that fails.
fn overwrite(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let before = fs::read(path)?;
    let mut file = fs::OpenOptions::new().write(true).open(path)?;
    let mut put = |bytes: &[u8]| {
        file.rewind()?;
        file.write_all(bytes)?;
        file.set_len(bytes.len() as u64)?;
        file.sync_all()
    };
    put(bytes).inspect_err(|_| {
        // Best effort: the error that matters is the one above.
        let _ = put(&before);
    })
}
