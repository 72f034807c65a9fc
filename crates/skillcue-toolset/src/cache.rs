//! What loading made, kept: definitions and bytecode, one file a skill.
//!
//! Believed only while every file that was read has the stamp it had, everything that was looked for in vain is still
//! missing, and the helper is the program that made it. Bytecode is never shared between skills.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use skillcue_base::binary::{BinaryFormat, KeptFile, Reader, Writer};
use skillcue_base::replace_file;
use skillcue_catalog::{FileStamp, SkillDir, StampPath};
use twox_hash::XxHash3_128;

use crate::message::{Compiled, Ready};
use crate::resolve::Seen;

/// The magic changes when the protocol does, the build when this crate or the engine does. The head is what is known of the
/// bytecode, as JSON, and the extent of the bytecode behind it.
const FORMAT: BinaryFormat =
    BinaryFormat { magic: *b"skctool3", build: concat!(env!("CARGO_PKG_VERSION"), ", rquickjs 0.14.0") };
/// The largest file that is read.
const LARGEST: u64 = 160 << 20;

/// Where things are.
#[derive(Debug, Clone)]
pub(crate) struct Doors {
    pub(crate) dir: PathBuf,
    pub(crate) packages: Option<PathBuf>,
    /// The program that makes and takes bytecode.
    pub(crate) helper: PathBuf,
}

impl Doors {
    fn path(&self, id: &str) -> Option<PathBuf> {
        match id.strip_prefix("packages:") {
            Some(path) => Some(self.packages.as_ref()?.join(path)),
            None => Some(self.dir.join(id)),
        }
    }

    /// What a file holds now, through the one door to such files: it may have become anything.
    fn read(&self, id: &str) -> Option<Vec<u8>> {
        let (dir, path) = match id.strip_prefix("packages:") {
            Some(path) => (self.packages.as_deref()?, path),
            None => (self.dir.as_path(), id),
        };
        SkillDir::open("toolset", dir).ok()?.read(path, crate::MAX_MODULE_BYTES as u64).ok()
    }

    fn file(&self, cache_dir: &Path) -> PathBuf {
        let name = format!("{}\0{}", self.dir.display(), self.packages.as_deref().unwrap_or(Path::new("")).display());
        cache_dir.join(format!("{:032x}.toolset", XxHash3_128::oneshot(name.as_bytes())))
    }

    fn helper_stamp(&self) -> Option<Card> {
        StampPath::new(&self.helper).ok()?.stamp().ok().map(Card::of)
    }
}

/// A stamp as it is written down.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Card(i64, u32, u64, u64);

impl Card {
    fn of(stamp: FileStamp) -> Card {
        let seconds = stamp.modified_ns.div_euclid(1_000_000_000);
        let rest = stamp.modified_ns.rem_euclid(1_000_000_000);
        Card(i64::try_from(seconds).unwrap_or(0), u32::try_from(rest).unwrap_or(0), stamp.size, stamp.inode)
    }
}

#[derive(Debug, Serialize, Deserialize)]
struct SeenFile {
    id: String,
    card: Card,
    /// Of what it held, if the stamp alone cannot be trusted.
    digest: u128,
}

#[derive(Debug, Serialize, Deserialize)]
struct Header {
    dir: PathBuf,
    packages: Option<PathBuf>,
    helper: Card,
    asked: Vec<String>,
    /// When it was made, in seconds since 1970.
    made: i64,
    files: Vec<SeenFile>,
    absent: Vec<String>,
    resolved: Vec<(String, String, String)>,
    modules: Vec<Compiled>,
    ready: Ready,
}

/// What is kept of one skill.
#[derive(Debug)]
pub(crate) struct Kept {
    made: i64,
    asked: Vec<String>,
    files: Vec<SeenFile>,
    paths: HashMap<String, StampPath>,
    absent: Vec<String>,
    pub(crate) resolved: Vec<(String, String, String)>,
    pub(crate) modules: Vec<Compiled>,
    pub(crate) ready: Ready,
    bytes: Vec<u8>,
}

fn now() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).ok().and_then(|time| i64::try_from(time.as_secs()).ok()).unwrap_or(0)
}

impl Kept {
    /// What a child has compiled, with what was read for it.
    pub(crate) fn of(doors: &Doors, asked: &[String], modules: Vec<(String, Vec<u8>)>, seen: &Seen) -> Option<Kept> {
        let files = seen
            .read
            .iter()
            .map(|(id, (stamp, digest))| SeenFile { id: id.clone(), card: Card::of(*stamp), digest: *digest })
            .collect();
        let mut bytes = Vec::new();
        let mut compiled = Vec::new();
        for (id, module) in modules {
            compiled.push(Compiled { id, length: module.len() as u64 });
            bytes.extend_from_slice(&module);
        }
        let resolved =
            seen.resolved.iter().map(|((from, specifier), id)| (from.clone(), specifier.clone(), id.clone()));
        let mut kept = Kept {
            made: now(),
            asked: asked.to_vec(),
            files,
            paths: HashMap::new(),
            absent: seen.absent.iter().cloned().collect(),
            resolved: resolved.collect(),
            modules: compiled,
            ready: Ready::default(),
            bytes,
        };
        kept.prepare(doors)?;
        Some(kept)
    }

    /// The same, with what has been read since.
    pub(crate) fn with(&self, doors: &Doors, seen: &Seen) -> Option<Kept> {
        let mut more = Kept::of(doors, &self.asked, Vec::new(), seen)?;
        let known: std::collections::HashSet<String> = self.files.iter().map(|file| file.id.clone()).collect();
        more.files.retain(|file| !known.contains(&file.id));
        more.files.extend(self.files.iter().map(|file| SeenFile { id: file.id.clone(), ..*file }));
        more.absent.extend(self.absent.iter().cloned());
        more.resolved.clone_from(&self.resolved);
        more.modules.clone_from(&self.modules);
        more.ready.clone_from(&self.ready);
        more.bytes.clone_from(&self.bytes);
        // Stamps of both are believed as those of the older one are.
        more.made = self.made;
        more.prepare(doors)?;
        Some(more)
    }

    fn prepare(&mut self, doors: &Doors) -> Option<()> {
        for id in self.files.iter().map(|file| &file.id).chain(&self.absent) {
            self.paths.insert(id.clone(), StampPath::new(&doors.path(id)?).ok()?);
        }
        Some(())
    }

    /// The bytecode, module by module.
    pub(crate) fn pieces(&self) -> Vec<&[u8]> {
        let mut rest = self.bytes.as_slice();
        let mut pieces = Vec::new();
        for module in &self.modules {
            let (piece, after) = rest.split_at(usize::try_from(module.length).unwrap_or(usize::MAX).min(rest.len()));
            pieces.push(piece);
            rest = after;
        }
        pieces
    }

    /// Whether everything is as it was. Files of packages are only looked at when it is to be thorough.
    pub(crate) fn is_fresh(&self, doors: &Doors, thorough: bool) -> bool {
        let looked_at = |id: &str| thorough || !(id.starts_with("packages:") || id.contains("node_modules/"));
        let unchanged = |file: &SeenFile| {
            let same = self.paths.get(&file.id).and_then(|path| path.stamp().ok()).map(Card::of) == Some(file.card);
            // A file written in the second it was read may have changed again without its time changing.
            if same && file.card.0 < self.made - 1 {
                return true;
            }
            doors.read(&file.id).is_some_and(|text| XxHash3_128::oneshot(&text) == file.digest)
        };
        self.files.iter().filter(|file| looked_at(&file.id)).all(unchanged)
            && self
                .absent
                .iter()
                .filter(|id| looked_at(id))
                .all(|id| self.paths.get(id).is_some_and(|path| path.stamp().is_err()))
    }
}

/// What is kept of a skill, if it may still be believed.
pub(crate) fn read(cache_dir: &Path, doors: &Doors, asked: &[String]) -> Option<Kept> {
    let file = KeptFile::open(&doors.file(cache_dir), LARGEST)?;
    let at = |offset, length| file.read(offset, length);
    let head = FORMAT.read_head(at)?;
    let (mut reader, mut end) = (Reader::new(&head), (FORMAT.front_len() + head.len()) as u64);
    let header: Header = serde_json::from_slice(reader.blob()?).ok()?;
    let bytes = reader.extent(&mut end)?.read(at)?;
    // Lengths are what a file says: their sum need not fit.
    let length = header.modules.iter().try_fold(0_u64, |sum, module| sum.checked_add(module.length));
    if length != Some(bytes.len() as u64)
        || end != file.size()
        || !reader.is_empty()
        || header.asked != asked
        || header.dir != doors.dir
        || header.packages != doors.packages
        || Some(header.helper) != doors.helper_stamp()
    {
        return None;
    }
    let mut kept = Kept {
        made: header.made,
        asked: header.asked,
        files: header.files,
        paths: HashMap::new(),
        absent: header.absent,
        resolved: header.resolved,
        modules: header.modules,
        ready: header.ready,
        bytes,
    };
    kept.prepare(doors)?;
    kept.is_fresh(doors, true).then_some(kept)
}

/// Keeps it.
pub(crate) fn write(cache_dir: &Path, doors: &Doors, kept: &Kept, ready: &Ready) -> io::Result<()> {
    let Some(helper) = doors.helper_stamp() else { return Ok(()) };
    let header = Header {
        dir: doors.dir.clone(),
        packages: doors.packages.clone(),
        helper,
        asked: kept.asked.clone(),
        made: kept.made,
        files: kept.files.iter().map(|file| SeenFile { id: file.id.clone(), ..*file }).collect(),
        absent: kept.absent.clone(),
        resolved: kept.resolved.clone(),
        modules: kept.modules.clone(),
        ready: ready.clone(),
    };
    let mut head = Writer::default();
    head.blob(&serde_json::to_vec(&header).map_err(io::Error::other)?);
    head.extent(&kept.bytes);
    replace_file(&doors.file(cache_dir), [&FORMAT.seal(head.as_bytes())[..], &kept.bytes])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_of_a_file_counts() {
        let dir = tempfile::tempdir().unwrap();
        let doors = Doors { dir: dir.path().to_path_buf(), packages: None, helper: std::env::current_exe().unwrap() };
        let asked = ["i:T".to_owned()];
        let kept = Kept::of(&doors, &asked, vec![("i.ts".into(), vec![1, 2, 3])], &Seen::default()).unwrap();
        write(dir.path(), &doors, &kept, &Ready::default()).unwrap();
        assert!(read(dir.path(), &doors, &asked).is_some());
        let path = doors.file(dir.path());
        let whole = std::fs::read(&path).unwrap();
        for at in (0..whole.len()).step_by(7).chain([whole.len() - 1]) {
            let mut changed = whole.clone();
            changed[at] ^= 1;
            std::fs::write(&path, &changed).unwrap();
            assert!(read(dir.path(), &doors, &asked).is_none(), "byte {at}");
        }
        // Lengths that are wrong, or whose sum does not fit, under a digest that is right.
        for lengths in [vec![u64::MAX, 4], vec![u64::MAX; 3], vec![2], vec![4], vec![]] {
            let mut kept = Kept::of(&doors, &asked, vec![("i.ts".into(), vec![1, 2, 3])], &Seen::default()).unwrap();
            kept.modules = lengths.iter().map(|length| Compiled { id: "i.ts".into(), length: *length }).collect();
            write(dir.path(), &doors, &kept, &Ready::default()).unwrap();
            assert!(read(dir.path(), &doors, &asked).is_none(), "{lengths:?}");
        }
    }
}
