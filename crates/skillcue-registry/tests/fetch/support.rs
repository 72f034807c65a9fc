//! Archives made by hand, honest and not.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use flate2::write::{DeflateEncoder, GzEncoder};
use flate2::{Compression, Crc};
use skillcue_base::ErrorInfo as _;
use skillcue_registry::{
    Disk, FetchError, FetchLimits, FetchProgress, Fetched, GitProgram, InstallOrigin, Refusal, fetch,
};
use tempfile::TempDir;

/// A fetch, and where it went.
pub(crate) struct FetchResult {
    pub(crate) dir: TempDir,
    pub(crate) result: Result<Fetched, FetchError>,
}

impl FetchResult {
    pub(crate) fn target(&self) -> PathBuf {
        self.dir.path().join("into")
    }

    /// Why an entry was refused, and its name.
    pub(crate) fn refusal(&self) -> (String, Refusal) {
        match &self.result {
            Err(FetchError::Entry { entry, reason, .. }) => (entry.clone(), reason.clone()),
            other => panic!("no refusal: {other:?}"),
        }
    }

    pub(crate) fn error(&self) -> String {
        let error = self.result.as_ref().unwrap_err();
        assert!(error.hint().is_some());
        error.to_string()
    }

    /// Everything that was made: a file's bytes and mode, a directory, a link's target.
    pub(crate) fn tree(&self) -> BTreeMap<String, String> {
        assert!(self.result.is_ok(), "{:?}", self.result);
        tree(&self.target())
    }
}

pub(crate) fn tree(top: &Path) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut next = vec![top.to_path_buf()];
    while let Some(dir) = next.pop() {
        for entry in dir.read_dir().unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(top).unwrap().to_str().unwrap().to_owned();
            let metadata = path.symlink_metadata().unwrap();
            let what = if metadata.is_dir() {
                next.push(path);
                "directory".to_owned()
            } else if metadata.is_symlink() {
                format!("-> {}", path.read_link().unwrap().display())
            } else {
                // The umask takes bits away, but not the owner's.
                let text = String::from_utf8_lossy(&std::fs::read(&path).unwrap()).into_owned();
                assert_eq!(metadata.mode() & 0o7022, 0, "no other user may write, and no special bits: {name}");
                if metadata.mode() & 0o100 == 0 { text } else { format!("x {text}") }
            };
            found.insert(name, what);
        }
    }
    found
}

pub(crate) fn files(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(name, what)| ((*name).to_owned(), (*what).to_owned())).collect()
}

pub(crate) fn no_git() -> GitProgram {
    GitProgram { program: "/nonexistent/git".into(), env: Vec::new() }
}

pub(crate) fn get(
    origin: &InstallOrigin,
    limits: &FetchLimits,
    disk: &Disk,
    git: &GitProgram,
    progress: &dyn FetchProgress,
) -> FetchResult {
    let dir = tempfile::tempdir().unwrap();
    let into = dir.path().join("into");
    std::fs::create_dir(&into).unwrap();
    let result = fetch(origin, &into, disk, limits, git, progress);
    FetchResult { dir, result }
}

/// Unpacks these bytes as a file of this name.
pub(crate) fn unpack_with(name: &str, bytes: &[u8], limits: &FetchLimits) -> FetchResult {
    let from = tempfile::tempdir().unwrap();
    std::fs::write(from.path().join(name), bytes).unwrap();
    let origin = InstallOrigin::Archive { path: from.path().join(name) };
    get(&origin, limits, &Disk::default(), &no_git(), &())
}

pub(crate) fn unpack(name: &str, bytes: &[u8]) -> FetchResult {
    unpack_with(name, bytes, &FetchLimits::default())
}

/// An entry of either kind of archive.
#[derive(Clone, Copy)]
pub(crate) enum Made<'a> {
    File(&'a str),
    Program(&'a str),
    Dir,
    Link(&'a str),
}

pub(crate) type Entries<'a> = [(&'a [u8], Made<'a>)];

/// Builds a zip and a tar archive with equal entries.
pub(crate) fn both(entries: &Entries<'_>) -> [(&'static str, Vec<u8>); 2] {
    let (mut zip, mut tar) = (Zip::default(), Tar::default());
    for (name, made) in entries {
        match made {
            Made::File(text) => {
                zip.add(&Item { name, data: text.as_bytes(), mode: 0o100_644, ..Item::default() });
                tar.add(b'0', name, b"", 0o644, text.as_bytes());
            }
            Made::Program(text) => {
                zip.add(&Item { name, data: text.as_bytes(), mode: 0o104_755, ..Item::default() });
                tar.add(b'0', name, b"", 0o4755, text.as_bytes());
            }
            Made::Dir => {
                zip.add(&Item { name, mode: 0o040_755, ..Item::default() });
                tar.add(b'5', name, b"", 0o755, b"");
            }
            Made::Link(target) => {
                zip.add(&Item { name, data: target.as_bytes(), mode: 0o120_777, ..Item::default() });
                tar.add(b'2', name, target.as_bytes(), 0o777, b"");
            }
        }
    }
    [("a.zip", zip.done()), ("a.tar.gz", gzip(&tar.done()))]
}

pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// An entry of a zip archive, and what it claims.
#[derive(Default)]
pub(crate) struct Item<'a> {
    pub(crate) name: &'a [u8],
    pub(crate) data: &'a [u8],
    pub(crate) mode: u32,
    pub(crate) flags: u16,
    /// Another method than "deflated".
    pub(crate) method: Option<u16>,
    pub(crate) claimed_size: Option<u32>,
    pub(crate) claimed_crc: Option<u32>,
}

#[derive(Default)]
pub(crate) struct Zip {
    pub(crate) bytes: Vec<u8>,
    pub(crate) central: Vec<u8>,
    pub(crate) count: u16,
}

impl Zip {
    pub(crate) fn add(&mut self, item: &Item<'_>) {
        let at = self.bytes.len();
        let (local, central) = Zip::records(item, at);
        self.bytes.extend(local);
        self.central.extend(central);
        self.count += 1;
    }

    /// A local record with its bytes, and the central record of it at `at`.
    pub(crate) fn records(item: &Item<'_>, at: usize) -> (Vec<u8>, Vec<u8>) {
        let method = item.method.unwrap_or(8);
        let packed = if method == 8 {
            let mut encoder = DeflateEncoder::new(Vec::new(), Compression::best());
            encoder.write_all(item.data).unwrap();
            encoder.finish().unwrap()
        } else {
            item.data.to_vec()
        };
        let mut crc = Crc::new();
        crc.update(item.data);
        let half = |number: usize| u16::try_from(number).unwrap().to_le_bytes();
        let word = |number: usize| u32::try_from(number).unwrap().to_le_bytes();
        let mut shared = Vec::new();
        shared.extend(20u16.to_le_bytes());
        shared.extend(item.flags.to_le_bytes());
        shared.extend(method.to_le_bytes());
        shared.extend([0; 4]);
        shared.extend(item.claimed_crc.unwrap_or(crc.sum()).to_le_bytes());
        shared.extend(word(packed.len()));
        shared.extend(item.claimed_size.map_or(word(item.data.len()), u32::to_le_bytes));
        shared.extend(half(item.name.len()));
        shared.extend(half(0));
        let local = [b"PK\x03\x04", &shared[..], item.name, &packed].concat();
        let mut central = [b"PK\x01\x02\x14\x03", &shared[..]].concat();
        central.extend([0; 6]);
        central.extend((item.mode << 16).to_le_bytes());
        central.extend(word(at));
        central.extend(item.name);
        (local, central)
    }

    pub(crate) fn done(self) -> Vec<u8> {
        let (start, size) = (self.bytes.len(), self.central.len());
        let mut bytes = [self.bytes, self.central].concat();
        bytes.extend(end(self.count, size, start));
        bytes
    }
}

/// The end of a zip archive.
pub(crate) fn end(count: u16, size: usize, start: usize) -> Vec<u8> {
    let mut bytes = b"PK\x05\x06\0\0\0\0".to_vec();
    bytes.extend(count.to_le_bytes());
    bytes.extend(count.to_le_bytes());
    bytes.extend(u32::try_from(size).unwrap().to_le_bytes());
    bytes.extend(u32::try_from(start).unwrap().to_le_bytes());
    bytes.extend([0; 2]);
    bytes
}

#[derive(Default)]
pub(crate) struct Tar {
    pub(crate) bytes: Vec<u8>,
}

impl Tar {
    /// An entry. Names that do not fit into a plain header get an extended one.
    pub(crate) fn add(&mut self, kind: u8, name: &[u8], target: &[u8], mode: u32, data: &[u8]) {
        let mut extended = Vec::new();
        if name.len() > 100 || name.contains(&0) || name.is_empty() {
            extended.extend(record(b"path", name));
        }
        if target.len() > 100 {
            extended.extend(record(b"linkpath", target));
        }
        if !extended.is_empty() {
            self.header(b'x', b"extended", b"", 0o644, extended.len() as u64);
            self.data(&extended);
        }
        self.header(kind, name, target, mode, data.len() as u64);
        self.data(data);
    }

    pub(crate) fn header(&mut self, kind: u8, name: &[u8], target: &[u8], mode: u32, size: u64) {
        let mut header = tar::Header::new_ustar();
        header.set_entry_type(tar::EntryType::new(kind));
        header.set_mode(mode);
        header.set_size(size);
        let old = header.as_old_mut();
        let put = |field: &mut [u8], bytes: &[u8]| {
            let length = bytes.len().min(field.len());
            field[..length].copy_from_slice(&bytes[..length]);
        };
        put(&mut old.name, name);
        put(&mut old.linkname, target);
        header.set_cksum();
        self.bytes.extend(header.as_bytes());
    }

    pub(crate) fn data(&mut self, data: &[u8]) {
        self.bytes.extend(data);
        self.bytes.resize(self.bytes.len().next_multiple_of(512), 0);
    }

    pub(crate) fn done(mut self) -> Vec<u8> {
        self.bytes.extend([0; 1024]);
        self.bytes
    }
}

/// A record of an extended header.
pub(crate) fn record(key: &[u8], value: &[u8]) -> Vec<u8> {
    let rest = key.len() + value.len() + 3;
    let mut length = rest + 1;
    while length != rest + length.to_string().len() {
        length = rest + length.to_string().len();
    }
    [length.to_string().as_bytes(), b" ", key, b"=", value, b"\n"].concat()
}
