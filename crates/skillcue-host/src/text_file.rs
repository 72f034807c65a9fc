//! Small text files that people write.

use std::io::{self, Read as _};
use std::path::Path;

/// No sane configuration is larger, and a device that never ends must not be read to its end.
const MAX_CONFIG: u64 = 1 << 20;

/// Reads a configuration file or a policy.
pub(crate) fn read_text(path: &Path) -> io::Result<String> {
    let metadata = path.metadata()?;
    if !metadata.is_file() {
        return Err(io::Error::other("it is not a file"));
    }
    let mut text = String::new();
    std::fs::File::open(path)?.take(MAX_CONFIG + 1).read_to_string(&mut text)?;
    if text.len() as u64 > MAX_CONFIG {
        return Err(io::Error::other("it is larger than 1 MiB"));
    }
    Ok(text)
}
