//! Reads bodies from their files, without arguments.

use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use lru::LruCache;
use skillcue_catalog::{BodyAt, BodyFile, FileError, FileStamp, SkillDir, StampPath};
use skillcue_format::split::body_start;

use crate::error::LoadError;
use skillcue_base::{SingleFlight, lock};

/// A skill's body, every byte as it is in its file.
#[derive(Clone, Debug)]
pub struct Body(Arc<ReadBody>);

impl Body {
    /// Returns the text.
    pub fn as_str(&self) -> &str {
        &self.0.text
    }

    /// Returns the file it was read from.
    pub(crate) fn file(&self) -> &Arc<BodyFile> {
        &self.0.file
    }

    /// Returns the skill's name.
    pub(crate) fn name(&self) -> &Arc<str> {
        &self.0.name
    }

    /// Returns the directory at which relative paths in it start.
    pub(crate) fn base_dir(&self) -> &Arc<Path> {
        &self.0.base_dir
    }

    /// Returns its size in memory: its text, and its file's names and paths.
    pub(crate) fn bytes(&self) -> usize {
        let BodyFile { name, base_dir, open_dir, body } = &**self.file();
        let paths = base_dir.as_os_str().len() + open_dir.as_os_str().len() + body.path().map_or(0, str::len);
        size_of::<ReadBody>() + size_of::<BodyFile>() + self.0.text.len() + name.len() + paths
    }

    /// Creates a body that was not read from a file.
    #[cfg(test)]
    pub(crate) fn of(file: &BodyFile, text: &str) -> Body {
        let (name, base_dir) = (Arc::from(&*file.name), Arc::from(file.base_dir.as_path()));
        Body(Arc::new(ReadBody { file: Arc::new(file.clone()), name, base_dir, text: text.into(), version: None }))
    }

    /// Returns an identity that differs from those of all other bodies in memory.
    pub(crate) fn id(&self) -> usize {
        Arc::as_ptr(&self.0).addr()
    }

    /// Returns whether its file is still the version that was read.
    pub(crate) fn is_current(&self) -> bool {
        self.version().is_none_or(FileVersion::is_current)
    }

    /// Returns the version of the file that was read; none if there is no file.
    fn version(&self) -> Option<&FileVersion> {
        self.0.version.as_ref()
    }
}

#[derive(Debug)]
struct ReadBody {
    file: Arc<BodyFile>,
    name: Arc<str>,
    base_dir: Arc<Path>,
    text: Box<str>,
    version: Option<FileVersion>,
}

/// One version of a file: its path and its stamp.
#[derive(Clone, Debug)]
pub(crate) struct FileVersion {
    path: Arc<StampPath>,
    stamp: FileStamp,
}

impl FileVersion {
    /// Returns whether the file is still that version. Exactly one `stat`.
    pub(crate) fn is_current(&self) -> bool {
        self.path.stamp().is_ok_and(|stamp| stamp == self.stamp)
    }
}

/// Reads bodies: each version of a file once, however many callers ask for it at a time.
#[derive(Debug)]
pub(crate) struct BodyReader {
    max_bytes: u64,
    flights: SingleFlight<BodyFile, Result<Body, LoadError>>,
    recent: Option<Mutex<LruCache<Arc<BodyFile>, Body>>>,
    reads: AtomicU64,
}

impl BodyReader {
    /// Creates a reader that keeps as many bodies as results are cached, each once: results with different arguments
    /// share them.
    pub(crate) fn new(max_bytes: u64, capacity: usize) -> Self {
        let recent = NonZeroUsize::new(capacity).map(|capacity| Mutex::new(LruCache::sparse(capacity)));
        Self { max_bytes, flights: SingleFlight::default(), recent, reads: AtomicU64::new(0) }
    }

    /// Returns the body as it is in the file now, or was at some moment since this call began.
    pub(crate) fn get(&self, file: &BodyFile) -> Result<Body, LoadError> {
        loop {
            let (body, is_shared) = self.flights.run(file, || self.recent_or_read(file));
            // Another caller may have read the file before an edit that this call comes after.
            match &body {
                Ok(body) if is_shared && !body.is_current() => {}
                _ => return body,
            }
        }
    }

    /// Returns a recent body, or reads it. Looking among the recent ones is a part of the flight. Otherwise a caller
    /// that looked just before a flight ended, and came too late to join it, would read the file a second time.
    fn recent_or_read(&self, file: &BodyFile) -> Result<Body, LoadError> {
        if let Some(body) = self.recent(file) {
            return Ok(body);
        }
        let body = self.read(file)?;
        if let Some(recent) = &self.recent {
            lock(recent).put(Arc::clone(body.file()), body.clone());
        }
        Ok(body)
    }

    /// Returns how many times a file was read.
    pub(crate) fn reads(&self) -> u64 {
        self.reads.load(Ordering::Relaxed)
    }

    /// Returns the kept bodies.
    pub(crate) fn kept(&self) -> Vec<Body> {
        self.recent.as_ref().map_or_else(Vec::new, |recent| lock(recent).iter().map(|(_, body)| body.clone()).collect())
    }

    pub(crate) fn clear(&self, skill: Option<&str>) {
        if let Some(recent) = &self.recent {
            lock(recent).retain(|file, _| skill.is_some_and(|skill| *file.name != *skill));
        }
    }

    fn recent(&self, file: &BodyFile) -> Option<Body> {
        let body = lock(self.recent.as_ref()?).get(file).cloned()?;
        body.is_current().then_some(body)
    }

    fn read(&self, file: &BodyFile) -> Result<Body, LoadError> {
        let (text, version) = self.text_of(file)?;
        let (name, base_dir) = (Arc::from(&*file.name), Arc::from(file.base_dir.as_path()));
        Ok(Body(Arc::new(ReadBody { file: Arc::new(file.clone()), name, base_dir, text, version })))
    }

    fn text_of(&self, file: &BodyFile) -> Result<(Box<str>, Option<FileVersion>), LoadError> {
        let Some(path) = file.body.path() else { return Ok((Box::default(), None)) };
        self.reads.fetch_add(1, Ordering::Relaxed);
        let dir = SkillDir::open(&file.name, &file.open_dir)?;
        let (text, stamp) = dir.read_stamped(path, self.max_bytes)?;
        let start = match file.body {
            BodyAt::AfterFrontMatter(_) => body_start(text.as_bytes())
                .ok_or_else(|| LoadError::NoFrontMatter { skill: file.name.clone(), path: path.into() })?,
            // A byte order mark names the encoding; it is no part of the text.
            BodyAt::WholeFile(_) | BodyAt::None => text.len() - text.trim_start_matches('\u{feff}').len(),
        };
        let stamped_path = StampPath::new(&file.open_dir.join(path)).map_err(|source| {
            LoadError::from(FileError::Unreadable { skill: file.name.clone(), path: path.into(), source })
        })?;
        // The front matter is with the catalog already.
        Ok((text[start..].into(), Some(FileVersion { path: Arc::new(stamped_path), stamp })))
    }
}
