//! The machine: versions, programs, and files that this program keeps on disk.

use std::path::{Path, PathBuf};

use serde::Serialize;

use skillcue_host::Environment;

/// Programs that skills or this program use.
const PROGRAMS: [&str; 7] = ["git", "python3", "uv", "node", "bun", "deno", "npm"];

/// Most files that are counted of one directory; a cache that has more is large in any case.
const MAX_FILES: usize = 200_000;

#[derive(Debug, Serialize)]
pub(super) struct Versions {
    pub(super) skillcue: &'static str,
    pub(super) os: String,
    pub(super) kernel: String,
    pub(super) machine: String,
}

impl Versions {
    pub(super) fn of_machine() -> Versions {
        let uname = rustix::system::uname();
        let words = |text: &std::ffi::CStr| text.to_string_lossy().into_owned();
        Versions {
            skillcue: env!("CARGO_PKG_VERSION"),
            os: os().unwrap_or_else(|| words(uname.sysname())),
            kernel: format!("{} {}", words(uname.sysname()), words(uname.release())),
            machine: words(uname.machine()),
        }
    }
}

/// Returns the name of the system, where it has a file that says so.
fn os() -> Option<String> {
    let text = std::fs::read_to_string("/etc/os-release").ok()?;
    let name = text.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="))?;
    Some(name.trim_matches('"').to_owned())
}

/// A program, and where it was found.
#[derive(Debug, Serialize)]
pub(super) struct FoundProgram {
    pub(super) name: &'static str,
    #[serde(serialize_with = "crate::text::maybe_lossy")]
    pub(super) path: Option<PathBuf>,
}

/// Looks for programs. None is started.
pub(super) fn programs(environment: &Environment) -> Vec<FoundProgram> {
    let is_program = |path: &PathBuf| {
        use std::os::unix::fs::PermissionsExt as _;
        path.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
    };
    let find = |name: &str| environment.path.iter().map(|dir| dir.join(name)).find(is_program);
    PROGRAMS.into_iter().map(|name| FoundProgram { name, path: find(name) }).collect()
}

/// Files that this program keeps on disk, and how much they take.
#[derive(Debug, Serialize)]
pub(super) struct StoredFiles {
    pub(super) what: &'static str,
    #[serde(serialize_with = "crate::text::lossy")]
    pub(super) path: PathBuf,
    pub(super) files: usize,
    pub(super) bytes: u64,
}

/// Returns the caches and data of this program, as far as they are there.
pub(super) fn kept(environment: &Environment) -> Vec<StoredFiles> {
    let homes = [("caches", &environment.cache_home), ("data", &environment.data_home)];
    let mut kept = Vec::new();
    for (what, home) in homes {
        let Some(path) = home.as_ref().map(|home| home.join("skillcue")).filter(|path| path.is_dir()) else {
            continue;
        };
        let (files, bytes) = size(&path);
        kept.push(StoredFiles { what, path, files, bytes });
    }
    kept
}

/// Counts the files below a directory, and their bytes. Links are not followed.
fn size(dir: &Path) -> (usize, u64) {
    let (mut files, mut bytes) = (0, 0);
    let mut todo = vec![dir.to_path_buf()];
    while let Some(dir) = todo.pop() {
        // A directory that cannot be read is not counted.
        for entry in dir.read_dir().into_iter().flatten().flatten() {
            let Ok(metadata) = entry.metadata() else { continue };
            if metadata.is_dir() {
                todo.push(entry.path());
            } else {
                files += 1;
                bytes += metadata.len();
            }
            if files >= MAX_FILES {
                return (files, bytes);
            }
        }
    }
    (files, bytes)
}
