//! The skills that ship inside the binary.
//!
//! They are unpacked into a directory that the caller names, because a skill's base directory must be one that an
//! agent can open: from there on they are skills like any other.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use skillcue_base::replace_file;

/// One file of a bundled skill.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BundledFile {
    /// The path, starting with the skill's directory.
    pub path: &'static str,
    /// The content.
    pub bytes: &'static [u8],
    mark: u32,
}

impl BundledFile {
    /// Returns the modification time that an unpacked file is given. It is derived from the content, so one `stat`
    /// tells that the file is whole as long as edits change the time, as those of editors do. A program that sets the
    /// time back, as `touch -r` does, hides an edit of equal length. Comparing 60 KB took a tenth of a start.
    fn marked_time(&self) -> SystemTime {
        const SEPTEMBER_2001: u64 = 1_000_000_000;
        UNIX_EPOCH + Duration::new(SEPTEMBER_2001, self.mark)
    }
}

/// Folds a file's content to a number of nanoseconds below a second. FNV-1a, as it is computed by the compiler.
const fn mark(bytes: &[u8]) -> u32 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let mut at = 0;
    while at < bytes.len() {
        hash = (hash ^ bytes[at] as u64).wrapping_mul(0x0100_0000_01b3);
        at += 1;
    }
    (hash % 1_000_000_000) as u32
}

macro_rules! bundle {
    ($($path:literal),* $(,)?) => {
        &[$({
            let bytes = include_bytes!(concat!("../../../skills/", $path));
            BundledFile { path: $path, bytes, mark: mark(bytes) }
        }),*]
    };
}

/// Every file of every bundled skill. A test compares it with the `skills` directory.
pub const BUNDLED: &[BundledFile] = bundle![
    "hello-extended/SKILL.md",
    "hello-extended/references/etiquette.md",
    "hello-extended/references/languages.md",
    "hello-extended/toolsets/index.ts",
    "hello-extended/toolsets/languages.ts",
    "skill-author/SKILL.md",
    "skill-author/assets/SKILL.template.md",
    "skill-author/references/checklist.md",
    "skill-author/references/format.md",
    "skill-author/references/triggers.md",
];

/// Puts the bundled skills below `dir` and returns the root to look in. Files that are there already and whole are left
/// alone; damaged ones are replaced.
///
/// ```
/// let dir = tempfile::tempdir()?;
/// let root = skillcue::bundled::unpack_bundled(dir.path())?;
/// assert!(root.join("hello-extended/SKILL.md").is_file());
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn unpack_bundled(dir: &Path) -> io::Result<PathBuf> {
    // Each version has its own directory: an older binary that still runs keeps its own.
    let root = dir.join(env!("CARGO_PKG_VERSION"));
    for file in BUNDLED {
        let path = root.join(file.path);
        // Only a regular file of the right size is read: anything else could hang or flood.
        let found = path.symlink_metadata().ok().filter(|m| m.is_file() && m.len() == file.bytes.len() as u64);
        let modified = found.as_ref().and_then(|metadata| metadata.modified().ok());
        if modified == Some(file.marked_time()) {
            continue;
        }
        if !(found.is_some() && std::fs::read(&path).is_ok_and(|bytes| bytes == file.bytes)) {
            replace_file(&path, [file.bytes])?;
        }
        // Without the mark the next start compares again.
        let _ = File::options().write(true).open(&path).and_then(|found| found.set_modified(file.marked_time()));
    }
    Ok(root)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(dir: &Path, below: &str, out: &mut Vec<String>) {
        for entry in std::fs::read_dir(dir).unwrap() {
            let entry = entry.unwrap();
            let name = format!("{below}{}", entry.file_name().to_str().unwrap());
            if entry.file_type().unwrap().is_dir() {
                files(&entry.path(), &format!("{name}/"), out);
            } else {
                out.push(name);
            }
        }
    }

    #[test]
    fn the_table_is_the_directory() {
        let mut on_disk = Vec::new();
        files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../skills"), "", &mut on_disk);
        on_disk.sort();
        assert_eq!(on_disk, BUNDLED.iter().map(|file| file.path).collect::<Vec<_>>());
    }

    #[test]
    fn damage_is_put_right() {
        let dir = tempfile::tempdir().unwrap();
        let root = unpack_bundled(dir.path()).unwrap();
        let file = root.join(BUNDLED[0].path);
        std::fs::write(&file, "broken").unwrap();
        std::fs::remove_file(root.join(BUNDLED[1].path)).unwrap();
        unpack_bundled(dir.path()).unwrap();
        for file in BUNDLED {
            assert_eq!(std::fs::read(root.join(file.path)).unwrap(), file.bytes);
        }
    }

    #[test]
    fn an_edit_of_equal_length_is_put_right() {
        let dir = tempfile::tempdir().unwrap();
        let root = unpack_bundled(dir.path()).unwrap();
        let (file, modified) = (root.join(BUNDLED[0].path), |file: &Path| file.metadata().unwrap().modified().unwrap());
        assert_eq!(modified(&file), BUNDLED[0].marked_time());
        let times: std::collections::HashSet<SystemTime> = BUNDLED.iter().map(BundledFile::marked_time).collect();
        assert_eq!(times.len(), BUNDLED.len(), "each content has a time of its own");
        std::fs::write(&file, BUNDLED[0].bytes.to_ascii_uppercase()).unwrap();
        unpack_bundled(dir.path()).unwrap();
        assert_eq!(std::fs::read(&file).unwrap(), BUNDLED[0].bytes);
        // A copy that lost its time is whole, and gets the time again.
        File::options().write(true).open(&file).unwrap().set_modified(UNIX_EPOCH).unwrap();
        unpack_bundled(dir.path()).unwrap();
        assert_eq!(modified(&file), BUNDLED[0].marked_time());
    }

    /// The greeting tool's answers are those of its reference.
    #[test]
    fn the_greetings_are_equal_in_both_files() {
        let text = |name: &str| {
            let file = BUNDLED.iter().find(|file| file.path.ends_with(name)).unwrap();
            std::str::from_utf8(file.bytes).unwrap()
        };
        let cells = |row: &str| row.split('|').map(|cell| cell.trim().to_owned()).collect::<Vec<_>>();
        let rows: Vec<Vec<String>> = text("references/languages.md")
            .lines()
            .filter_map(|line| line.strip_prefix("| ")?.strip_suffix(" |").map(cells))
            .filter(|row| row.len() == 7 && row[0] != "Language" && !row[0].starts_with("---"))
            .collect();
        let tool: Vec<Vec<String>> = text("toolsets/languages.ts")
            .lines()
            .filter_map(|line| serde_json::from_str(line.trim().strip_suffix(',')?).ok())
            .map(|mut row: Vec<String>| {
                let code = row.remove(1);
                row[0] = format!("{} ({code})", row[0]);
                row
            })
            .collect();
        assert_eq!((rows.len(), rows), (62, tool));
    }

    #[test]
    fn bundled_skills_are_valid_and_well_made() {
        for file in BUNDLED.iter().filter(|file| file.path.ends_with("/SKILL.md")) {
            let (dir, _) = file.path.split_once('/').unwrap();
            let strict = skillcue_format::validate(file.bytes, dir);
            assert_eq!(strict, [], "{dir}");
            let there = |path: &str| BUNDLED.iter().any(|other| other.path == format!("{dir}/{path}"));
            let style = skillcue_format::lint(file.bytes, skillcue_format::FileKind::Markdown, &there);
            assert_eq!(style, [], "{dir}");
        }
    }
}
