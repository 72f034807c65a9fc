//! The cache of definitions and bytecode, one file a skill.
//!
//! An entry is valid only while every file that was read has the stamp it had, every file that was looked for in vain
//! is still missing, and the helper is the program that made it. Bytecode is never shared between skills.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use skillcue_base::binary::{BinaryFormat, KeptFile, Reader, Writer};
use skillcue_base::replace_file;
use skillcue_catalog::{FileStamp, SkillDir, StampPath};
use twox_hash::XxHash3_128;

use crate::message::{CompiledModule, ToolsetDefinitions};
use crate::resolve::{ModuleDependencies, PACKAGES_PREFIX};

/// The magic changes when the protocol does, the build when this crate or the engine does. The head is a
/// [`CacheHeader`] as JSON, and the extent of the bytecode behind it.
const FORMAT: BinaryFormat =
    BinaryFormat { magic: *b"skctool3", build: concat!(env!("CARGO_PKG_VERSION"), ", rquickjs 0.14.0") };
/// The largest cache file that is read.
const MAX_FILE_BYTES: u64 = 160 << 20;

/// The directories and the program on which the toolsets of a skill depend.
#[derive(Debug, Clone)]
pub(crate) struct ToolsetPaths {
    pub(crate) dir: PathBuf,
    pub(crate) packages: Option<PathBuf>,
    /// The program that makes and takes bytecode.
    pub(crate) helper: PathBuf,
}

impl ToolsetPaths {
    /// Returns the path of a module.
    fn path(&self, id: &str) -> Option<PathBuf> {
        match id.strip_prefix(PACKAGES_PREFIX) {
            Some(path) => Some(self.packages.as_ref()?.join(path)),
            None => Some(self.dir.join(id)),
        }
    }

    /// Reads a module as it is now, through [`SkillDir`]: the file may have become anything.
    fn read(&self, id: &str) -> Option<Vec<u8>> {
        let (dir, path) = match id.strip_prefix(PACKAGES_PREFIX) {
            Some(path) => (self.packages.as_deref()?, path),
            None => (self.dir.as_path(), id),
        };
        SkillDir::open("toolset", dir).ok()?.read(path, crate::MAX_MODULE_BYTES as u64).ok()
    }

    /// Returns the path of the cache file.
    fn file(&self, cache_dir: &Path) -> PathBuf {
        let name = format!("{}\0{}", self.dir.display(), self.packages.as_deref().unwrap_or(Path::new("")).display());
        cache_dir.join(format!("{:032x}.toolset", XxHash3_128::oneshot(name.as_bytes())))
    }

    fn helper_stamp(&self) -> Option<StampRecord> {
        StampPath::new(&self.helper).ok()?.stamp().ok().map(StampRecord::new)
    }
}

/// A stamp as the file has it: seconds and nanoseconds of its time, size, inode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct StampRecord(i64, u32, u64, u64);

impl StampRecord {
    fn new(stamp: FileStamp) -> StampRecord {
        let seconds = stamp.modified_ns.div_euclid(1_000_000_000);
        let rest = stamp.modified_ns.rem_euclid(1_000_000_000);
        StampRecord(i64::try_from(seconds).unwrap_or(0), u32::try_from(rest).unwrap_or(0), stamp.size, stamp.inode)
    }
}

/// A file that was read.
#[derive(Debug, Serialize, Deserialize)]
struct FileRecord {
    id: String,
    card: StampRecord,
    /// Of its text, if the stamp alone cannot be trusted.
    digest: u128,
}

/// The JSON of a cache file.
#[derive(Debug, Serialize, Deserialize)]
struct CacheHeader {
    dir: PathBuf,
    packages: Option<PathBuf>,
    helper: StampRecord,
    asked: Vec<String>,
    /// The time at which it was made, in seconds since 1970.
    made: i64,
    files: Vec<FileRecord>,
    absent: Vec<String>,
    resolved: Vec<(String, String, String)>,
    modules: Vec<CompiledModule>,
    ready: ToolsetDefinitions,
}

/// The cached toolsets of one skill.
#[derive(Debug)]
pub(crate) struct CachedToolsets {
    made: i64,
    declared: Vec<String>,
    files: Vec<FileRecord>,
    stamp_paths: HashMap<String, StampPath>,
    absent: Vec<String>,
    pub(crate) resolved: Vec<(String, String, String)>,
    pub(crate) modules: Vec<CompiledModule>,
    pub(crate) definitions: ToolsetDefinitions,
    bytes: Vec<u8>,
}

fn now() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).ok().and_then(|time| i64::try_from(time.as_secs()).ok()).unwrap_or(0)
}

impl CachedToolsets {
    /// The modules that a child has compiled, with the files that were read for them.
    pub(crate) fn new(
        paths: &ToolsetPaths,
        declared: &[String],
        modules: Vec<(String, Vec<u8>)>,
        dependencies: &ModuleDependencies,
    ) -> Option<CachedToolsets> {
        let files = dependencies
            .read
            .iter()
            .map(|(id, (stamp, digest))| FileRecord { id: id.clone(), card: StampRecord::new(*stamp), digest: *digest })
            .collect();
        let mut bytes = Vec::new();
        let mut compiled = Vec::new();
        for (id, module) in modules {
            compiled.push(CompiledModule { id, length: module.len() as u64 });
            bytes.extend_from_slice(&module);
        }
        let resolved =
            dependencies.resolved.iter().map(|((from, specifier), id)| (from.clone(), specifier.clone(), id.clone()));
        let mut cached = CachedToolsets {
            made: now(),
            declared: declared.to_vec(),
            files,
            stamp_paths: HashMap::new(),
            absent: dependencies.absent.iter().cloned().collect(),
            resolved: resolved.collect(),
            modules: compiled,
            definitions: ToolsetDefinitions::default(),
            bytes,
        };
        cached.prepare(paths)?;
        Some(cached)
    }

    /// Returns a copy with the files that have been read since.
    pub(crate) fn with(&self, paths: &ToolsetPaths, dependencies: &ModuleDependencies) -> Option<CachedToolsets> {
        let mut more = CachedToolsets::new(paths, &self.declared, Vec::new(), dependencies)?;
        let known: std::collections::HashSet<String> = self.files.iter().map(|file| file.id.clone()).collect();
        more.files.retain(|file| !known.contains(&file.id));
        more.files.extend(self.files.iter().map(|file| FileRecord { id: file.id.clone(), ..*file }));
        more.absent.extend(self.absent.iter().cloned());
        more.resolved.clone_from(&self.resolved);
        more.modules.clone_from(&self.modules);
        more.definitions.clone_from(&self.definitions);
        more.bytes.clone_from(&self.bytes);
        // Stamps of both are as trustworthy as those of the older one.
        more.made = self.made;
        more.prepare(paths)?;
        Some(more)
    }

    /// Prepares the paths whose stamps are compared later.
    fn prepare(&mut self, paths: &ToolsetPaths) -> Option<()> {
        for id in self.files.iter().map(|file| &file.id).chain(&self.absent) {
            self.stamp_paths.insert(id.clone(), StampPath::new(&paths.path(id)?).ok()?);
        }
        Some(())
    }

    /// Returns the bytecode, module by module.
    pub(crate) fn bytecode(&self) -> Vec<&[u8]> {
        let mut rest = self.bytes.as_slice();
        let mut pieces = Vec::new();
        for module in &self.modules {
            let (piece, after) = rest.split_at(usize::try_from(module.length).unwrap_or(usize::MAX).min(rest.len()));
            pieces.push(piece);
            rest = after;
        }
        pieces
    }

    /// Returns whether every file is as it was. Files of packages are only looked at when it is to be thorough.
    pub(crate) fn is_fresh(&self, paths: &ToolsetPaths, thorough: bool) -> bool {
        let looked_at = |id: &str| thorough || !(id.starts_with(PACKAGES_PREFIX) || id.contains("node_modules/"));
        let unchanged = |file: &FileRecord| {
            let same = self.stamp_paths.get(&file.id).and_then(|path| path.stamp().ok()).map(StampRecord::new)
                == Some(file.card);
            // A file written in the second it was read may have changed again without its time changing.
            if same && file.card.0 < self.made - 1 {
                return true;
            }
            paths.read(&file.id).is_some_and(|text| XxHash3_128::oneshot(&text) == file.digest)
        };
        self.files.iter().filter(|file| looked_at(&file.id)).all(unchanged)
            && self
                .absent
                .iter()
                .filter(|id| looked_at(id))
                .all(|id| self.stamp_paths.get(id).is_some_and(|path| path.stamp().is_err()))
    }
}

/// Reads the cached toolsets of a skill, if they are still valid.
pub(crate) fn read(cache_dir: &Path, paths: &ToolsetPaths, declared: &[String]) -> Option<CachedToolsets> {
    let file = KeptFile::open(&paths.file(cache_dir), MAX_FILE_BYTES)?;
    let at = |offset, length| file.read(offset, length);
    let head = FORMAT.read_head(at)?;
    let (mut reader, mut end) = (Reader::new(&head), (FORMAT.front_len() + head.len()) as u64);
    let header: CacheHeader = serde_json::from_slice(reader.blob()?).ok()?;
    let bytes = reader.extent(&mut end)?.read(at)?;
    // Lengths come from the file: their sum need not fit.
    let length = header.modules.iter().try_fold(0_u64, |sum, module| sum.checked_add(module.length));
    if length != Some(bytes.len() as u64)
        || end != file.size()
        || !reader.is_empty()
        || header.asked != declared
        || header.dir != paths.dir
        || header.packages != paths.packages
        || Some(header.helper) != paths.helper_stamp()
    {
        return None;
    }
    let mut cached = CachedToolsets {
        made: header.made,
        declared: header.asked,
        files: header.files,
        stamp_paths: HashMap::new(),
        absent: header.absent,
        resolved: header.resolved,
        modules: header.modules,
        definitions: header.ready,
        bytes,
    };
    cached.prepare(paths)?;
    cached.is_fresh(paths, true).then_some(cached)
}

/// Writes toolsets and their definitions to the cache.
pub(crate) fn write(
    cache_dir: &Path,
    paths: &ToolsetPaths,
    cached: &CachedToolsets,
    definitions: &ToolsetDefinitions,
) -> io::Result<()> {
    let Some(helper) = paths.helper_stamp() else { return Ok(()) };
    let header = CacheHeader {
        dir: paths.dir.clone(),
        packages: paths.packages.clone(),
        helper,
        asked: cached.declared.clone(),
        made: cached.made,
        files: cached.files.iter().map(|file| FileRecord { id: file.id.clone(), ..*file }).collect(),
        absent: cached.absent.clone(),
        resolved: cached.resolved.clone(),
        modules: cached.modules.clone(),
        ready: definitions.clone(),
    };
    let mut head = Writer::default();
    head.blob(&serde_json::to_vec(&header).map_err(io::Error::other)?);
    head.extent(&cached.bytes);
    replace_file(&paths.file(cache_dir), [&FORMAT.seal(head.as_bytes())[..], &cached.bytes])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_of_a_file_counts() {
        let dir = tempfile::tempdir().unwrap();
        let paths =
            ToolsetPaths { dir: dir.path().to_path_buf(), packages: None, helper: std::env::current_exe().unwrap() };
        let declared = ["i:T".to_owned()];
        let cached = CachedToolsets::new(
            &paths,
            &declared,
            vec![("i.ts".into(), vec![1, 2, 3])],
            &ModuleDependencies::default(),
        )
        .unwrap();
        write(dir.path(), &paths, &cached, &ToolsetDefinitions::default()).unwrap();
        assert!(read(dir.path(), &paths, &declared).is_some());
        let path = paths.file(dir.path());
        let whole = std::fs::read(&path).unwrap();
        for at in (0..whole.len()).step_by(7).chain([whole.len() - 1]) {
            let mut changed = whole.clone();
            changed[at] ^= 1;
            std::fs::write(&path, &changed).unwrap();
            assert!(read(dir.path(), &paths, &declared).is_none(), "byte {at}");
        }
        // Lengths that are wrong, or whose sum does not fit, under a digest that is right.
        for lengths in [vec![u64::MAX, 4], vec![u64::MAX; 3], vec![2], vec![4], vec![]] {
            let mut cached = CachedToolsets::new(
                &paths,
                &declared,
                vec![("i.ts".into(), vec![1, 2, 3])],
                &ModuleDependencies::default(),
            )
            .unwrap();
            cached.modules =
                lengths.iter().map(|length| CompiledModule { id: "i.ts".into(), length: *length }).collect();
            write(dir.path(), &paths, &cached, &ToolsetDefinitions::default()).unwrap();
            assert!(read(dir.path(), &paths, &declared).is_none(), "{lengths:?}");
        }
    }
}
