//! Compiled code, and whether the source it was compiled from is in the skill.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use skillcue_catalog::SkillDir;

use super::kind::is_bytecode;

/// The number of bytes of a compiled file that are read: the header of Python bytecode.
pub(super) const HEADER_BYTES: u64 = 17;

/// Maximum size of a source that is read and compared by its hash.
const MAX_SOURCE: u64 = 16 << 20;

/// Languages that are compiled to programs, by the extensions of their sources.
const SOURCE_EXTENSIONS: [&str; 37] = [
    "c", "cc", "cpp", "cxx", "m", "mm", "rs", "go", "zig", "swift", "java", "kt", "scala", "groovy", "clj", "cs", "fs",
    "vb", "nim", "d", "ml", "hs", "pas", "f90", "asm", "s", "wat", "wast", "ts", "pyx", "lua", "erl", "ex", "el", "v",
    "dart", "cu",
];

/// Names of files that describe how sources are built.
const BUILD_FILES: [&str; 15] = [
    "makefile",
    "cmakelists.txt",
    "cargo.toml",
    "go.mod",
    "build.gradle",
    "build.gradle.kts",
    "pom.xml",
    "binding.gyp",
    "meson.build",
    "build.zig",
    "package.swift",
    "build.bazel",
    "justfile",
    "build.sh",
    "configure.ac",
];

/// The sources of a skill.
#[derive(Debug, Default)]
pub(super) struct Sources {
    /// Those of Python, with their sizes.
    python: HashMap<PathBuf, u64>,
    /// The names of others without their extensions, in lower case.
    stems: HashSet<String>,
    builds: bool,
}

impl Sources {
    /// Adds a file that the walk has found.
    pub(super) fn add(&mut self, path: &Path, size: u64) {
        let Some(name) = path.file_name().and_then(|name| name.to_str()).map(str::to_ascii_lowercase) else { return };
        self.builds |= BUILD_FILES.contains(&name.as_str()) || name.ends_with(".csproj");
        match name.rsplit_once('.') {
            Some((_, "py" | "pyw")) => drop(self.python.insert(path.to_owned(), size)),
            Some((stem, extension)) if SOURCE_EXTENSIONS.contains(&extension) => {
                self.stems.insert(stem.to_owned());
            }
            _ => {}
        }
    }

    /// Returns the reason to doubt that a compiled file, of which `head` are the first bytes, comes from source in the
    /// skill; `None` if there is none.
    pub(super) fn doubt(&self, dir: &SkillDir, path: &Path, head: &[u8]) -> Option<String> {
        let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
        if is_bytecode(head) || matches!(extension, "pyc" | "pyo") {
            let remedy = match path.parent().filter(|dir| dir.ends_with("__pycache__")) {
                Some(cache) => format!("delete {}", cache.display()),
                None => "delete it".to_owned(),
            };
            return Some(format!("{}: {remedy}", self.doubt_bytecode(dir, path, head)));
        }
        (!self.has_source(path)).then(|| "its source is not in the skill".to_owned())
    }

    /// Returns whether a source has the program's name, or programs are built from sources here.
    fn has_source(&self, path: &Path) -> bool {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default().to_ascii_lowercase();
        let stem = name.split(['.', '$']).next().unwrap_or_default();
        let stem = stem.strip_prefix("lib").unwrap_or(stem);
        // `tool-linux-amd64` is made of `tool.go`.
        let ends = stem.match_indices(['-', '_']).map(|(at, _)| at).chain([stem.len()]);
        let mut names = ends.map(|end| &stem[..end]).filter(|name| !name.is_empty());
        names.any(|name| self.stems.contains(name)) || self.builds && !self.stems.is_empty()
    }

    /// Returns the reason to doubt bytecode. Its header can be forged: only compiling the source again would show that
    /// the code comes from it.
    fn doubt_bytecode(&self, dir: &SkillDir, path: &Path, head: &[u8]) -> String {
        let source = source_of(path);
        let shown = source.display();
        let Some(size) = self.python.get(&source) else {
            return format!("its source, {shown}, is not in the skill");
        };
        match compiled_from(head) {
            CompiledFrom::Size(said) if u64::from(said) != *size & 0xffff_ffff => {
                format!("it was compiled from {said} bytes, and {shown} has {size}")
            }
            CompiledFrom::Unchecked => format!("Python runs it without comparing it with {shown}"),
            CompiledFrom::Hash { magic, hash } if !has_hash(dir, &source, magic, hash) => {
                format!("it was compiled from another text than {shown}")
            }
            _ => format!("its header can be forged, so that it need not come from {shown}"),
        }
    }
}

/// Returns whether a source has the hash that Python compares it by.
fn has_hash(dir: &SkillDir, source: &Path, magic: u64, hash: u64) -> bool {
    // Python 3.11 changed to fewer rounds.
    source
        .to_str()
        .and_then(|source| dir.read(source, MAX_SOURCE).ok())
        .is_some_and(|source| [(1, 3), (2, 4)].iter().any(|rounds| sip_hash(*rounds, magic, &source) == hash))
}

/// The record of the source in the header of bytecode.
enum CompiledFrom {
    /// Nothing: the version is too old.
    Unknown,
    Size(u32),
    Hash {
        magic: u64,
        hash: u64,
    },
    /// A hash that Python does not compare.
    Unchecked,
}

fn compiled_from(head: &[u8]) -> CompiledFrom {
    let word = |at: usize| head.get(at..at + 4).and_then(|bytes| bytes.try_into().ok()).map(u32::from_le_bytes);
    let Some(magic) = word(0) else { return CompiledFrom::Unknown };
    match magic & 0xffff {
        // From Python 3.7 on: the version, flags, then a time and a size or a hash.
        3390..=3999 => match (word(4), word(8), word(12)) {
            (Some(0), _, Some(size)) => CompiledFrom::Size(size),
            (Some(flags), Some(low), Some(high)) if flags & 0b11 == 0b11 => {
                CompiledFrom::Hash { magic: u64::from(magic), hash: u64::from(low) | u64::from(high) << 32 }
            }
            (Some(flags), ..) if flags & 0b11 == 0b01 => CompiledFrom::Unchecked,
            _ => CompiledFrom::Unknown,
        },
        // From Python 3.3 on: the version, a time and a size.
        3190..=3389 => word(8).map_or(CompiledFrom::Unknown, CompiledFrom::Size),
        _ => CompiledFrom::Unknown,
    }
}

/// Returns the source that Python compares bytecode with: beside it, or beside the `__pycache__` that it is in.
fn source_of(path: &Path) -> PathBuf {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let source = format!("{}.py", name.split('.').next().unwrap_or_default());
    let dir = path.parent().unwrap_or(Path::new(""));
    let dir = if dir.ends_with("__pycache__") { dir.parent().unwrap_or(Path::new("")) } else { dir };
    dir.join(source)
}

/// Computes `SipHash` with these numbers of rounds per word and at the end, by a key of which Python only sets the
/// first half.
fn sip_hash(rounds: (usize, usize), key: u64, bytes: &[u8]) -> u64 {
    let mut v =
        [key ^ 0x736f_6d65_7073_6575, 0x646f_7261_6e64_6f6d, key ^ 0x6c79_6765_6e65_7261, 0x7465_6462_7974_6573];
    let mut chunks = bytes.chunks_exact(8);
    for chunk in &mut chunks {
        let word = u64::from_le_bytes(chunk.try_into().unwrap_or_default());
        v[3] ^= word;
        mix(&mut v, rounds.0);
        v[0] ^= word;
    }
    let mut last = [0; 8];
    last[..chunks.remainder().len()].copy_from_slice(chunks.remainder());
    let word = u64::from_le_bytes(last) | (bytes.len() as u64) << 56;
    v[3] ^= word;
    mix(&mut v, rounds.0);
    v[0] ^= word;
    v[2] ^= 0xff;
    mix(&mut v, rounds.1);
    v.iter().fold(0, |all, one| all ^ one)
}

fn mix(v: &mut [u64; 4], rounds: usize) {
    for _ in 0..rounds {
        v[0] = v[0].wrapping_add(v[1]);
        v[1] = v[1].rotate_left(13) ^ v[0];
        v[0] = v[0].rotate_left(32);
        v[2] = v[2].wrapping_add(v[3]);
        v[3] = v[3].rotate_left(16) ^ v[2];
        v[0] = v[0].wrapping_add(v[3]);
        v[3] = v[3].rotate_left(21) ^ v[0];
        v[2] = v[2].wrapping_add(v[1]);
        v[1] = v[1].rotate_left(17) ^ v[2];
        v[2] = v[2].rotate_left(32);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values of `_imp.source_hash(168627659, source)` of Python 3.11.
    #[test]
    fn sources_are_hashed_as_python_does() {
        let hashes = [
            (String::new(), 0x257a_38c9_ed8e_f1ba),
            ("print(1)\n".to_owned(), 0x69cd_f8a5_61f3_71bf),
            ("x = 1\n".repeat(10), 0x2be8_6830_3c21_b7a7),
        ];
        for (source, hash) in hashes {
            assert_eq!(sip_hash((1, 3), 168_627_659, source.as_bytes()), hash, "{source:?}");
        }
    }
}
