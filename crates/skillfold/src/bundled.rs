//! The skills that ship inside the binary.
//!
//! They are unpacked into a directory that the caller names, because a skill's base directory must be one that an
//! agent can open: from there on they are skills like any other.

use std::io;
use std::path::{Path, PathBuf};

use skillfold_catalog::replace_file;

/// One file of a bundled skill.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BundledFile {
    /// Its path, starting with the skill's directory.
    pub path: &'static str,
    /// What is in it.
    pub bytes: &'static [u8],
}

macro_rules! bundle {
    ($($path:literal),* $(,)?) => {
        &[$(BundledFile { path: $path, bytes: include_bytes!(concat!("../../../skills/", $path)) }),*]
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

/// Puts the bundled skills below `dir` and returns the root to look in. What is there already and whole is left
/// alone; what was damaged is put right.
///
/// ```
/// let dir = tempfile::tempdir()?;
/// let root = skillfold::unpack_bundled(dir.path())?;
/// assert!(root.join("hello-extended/SKILL.md").is_file());
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn unpack_bundled(dir: &Path) -> io::Result<PathBuf> {
    // Versions stand side by side: an older binary that still runs keeps its own.
    let root = dir.join(env!("CARGO_PKG_VERSION"));
    for file in BUNDLED {
        let path = root.join(file.path);
        // Only a regular file of the right size is read: anything else could hang or flood.
        let same_size = path.symlink_metadata().is_ok_and(|m| m.is_file() && m.len() == file.bytes.len() as u64);
        if same_size && std::fs::read(&path).is_ok_and(|bytes| bytes == file.bytes) {
            continue;
        }
        replace_file(&path, [file.bytes])?;
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

    /// What the greeting tool answers is what its reference says.
    #[test]
    fn the_greetings_stand_in_both_files_alike() {
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
            let strict = skillfold_format::validate(file.bytes, dir);
            assert_eq!(strict, [], "{dir}");
            let there = |path: &str| BUNDLED.iter().any(|other| other.path == format!("{dir}/{path}"));
            let style = skillfold_format::lint(file.bytes, skillfold_format::FileKind::Markdown, &there);
            assert_eq!(style, [], "{dir}");
        }
    }
}
