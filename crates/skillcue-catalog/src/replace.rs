//! Writing a file so that nobody ever sees half of it.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
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
/// skillcue_catalog::replace_file(&path, [&b"one "[..], b"two"])?;
/// assert_eq!(std::fs::read_to_string(path)?, "one two");
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn replace_file<'b>(path: &Path, parts: impl IntoIterator<Item = &'b [u8]>) -> io::Result<()> {
    // Threads of one process may write the same file: the counter keeps their drafts apart.
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let dir = path.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(dir)?;
    let name = path.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    // Processes in two containers may share a number; hardly the nanosecond, too.
    let nanos = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.subsec_nanos());
    let draft = dir.join(format!(".{name}.{}-{count}-{nanos}", std::process::id()));
    let written = write(&draft, parts).and_then(|()| std::fs::rename(&draft, path));
    if written.is_err() {
        // Best effort: the error that matters is the one above.
        let _ = std::fs::remove_file(&draft);
    }
    written
}

fn write<'b>(draft: &Path, parts: impl IntoIterator<Item = &'b [u8]>) -> io::Result<()> {
    let mut file = File::options().write(true).create_new(true).mode(0o600).open(draft)?;
    parts.into_iter().try_for_each(|part| file.write_all(part))
}
