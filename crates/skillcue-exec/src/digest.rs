//! What a skill's files say, in one number: so that a person's consent ends when a byte changes.

use std::fs;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use sha2::{Digest, Sha256};
use skillcue_base::hex;
use skillcue_catalog::SkillDir;

/// A skill of more files than this is not looked through.
const MOST_FILES: usize = 20_000;
/// Nor one of more bytes.
const MOST_BYTES: u64 = 512 * 1024 * 1024;

/// The SHA-256 of all files of a skill: of the sorted list of their paths with the SHA-256 of each. Also of those that
/// listings pass over (`node_modules`, compiled Python), because they run too, and what is in `.git` can be
/// executed as well. Of a link counts where it leads.
pub fn of_skill(dir: &SkillDir) -> Result<String, String> {
    let mut walk = Walk { dir, rows: Vec::new(), bytes: 0 };
    walk.enter(dir.path(), "")?;
    walk.rows.sort_unstable();
    let mut all = Sha256::new();
    for (path, what) in &walk.rows {
        // Lengths before texts: no two lists read the same.
        for part in [path.as_bytes(), what.as_bytes()] {
            all.update((part.len() as u64).to_le_bytes());
            all.update(part);
        }
    }
    Ok(hex(&all.finalize()))
}

struct Walk<'d> {
    dir: &'d SkillDir,
    rows: Vec<(String, String)>,
    bytes: u64,
}

impl Walk<'_> {
    fn enter(&mut self, at: &Path, below: &str) -> Result<(), String> {
        let unreadable = |error: std::io::Error| format!("{}: {error}", at.display());
        for entry in fs::read_dir(at).map_err(unreadable)? {
            let entry = entry.map_err(unreadable)?;
            let name = entry.file_name();
            let name = name.to_str().ok_or_else(|| format!("{}: a name is not UTF-8", entry.path().display()))?;
            let path = if below.is_empty() { name.to_owned() } else { format!("{below}/{name}") };
            let kind = entry.file_type().map_err(unreadable)?;
            if kind.is_dir() {
                self.enter(&entry.path(), &path)?;
                continue;
            }
            if self.rows.len() >= MOST_FILES {
                return Err(format!("it has more than {MOST_FILES} files"));
            }
            let what = if kind.is_symlink() {
                let target = fs::read_link(entry.path()).map_err(unreadable)?;
                format!("link {}", hex(&Sha256::digest(target.as_os_str().as_bytes())))
            } else if kind.is_file() {
                self.file(&path)?
            } else {
                "special".to_owned()
            };
            self.rows.push((path, what));
        }
        Ok(())
    }

    fn file(&mut self, path: &str) -> Result<String, String> {
        let mut file = self.dir.open_file(path).map_err(|error| error.to_string())?.file;
        let mut sum = Sha256::new();
        let mut buffer = vec![0; 64 * 1024];
        loop {
            let read = file.read(&mut buffer).map_err(|error| format!("{path}: {error}"))?;
            if read == 0 {
                return Ok(hex(&sum.finalize()));
            }
            self.bytes += read as u64;
            if self.bytes > MOST_BYTES {
                return Err(format!("its files have more than {} MiB", MOST_BYTES / (1024 * 1024)));
            }
            sum.update(&buffer[..read]);
        }
    }
}
