//! Bodies as they stand in their files, before arguments.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use lru::LruCache;
use skillfold_catalog::{BodyAt, BodyFile, FileError, SkillDir, Stamp, StampPath};
use skillfold_format::split::body_start;

use crate::error::LoadError;
use crate::flight::{Flights, Whose, lock};

/// How many bodies are kept as they were read. Those who load one skill with different arguments, or its outline and
/// then a section, come shortly after each other; a few are enough for them, and a few bound the memory.
const RECENT_BODIES: NonZeroUsize = NonZeroUsize::new(8).expect("8 is not 0");

/// A skill's body, every byte as it stands in its file.
#[derive(Clone, Debug)]
pub struct Body(Arc<ReadBody>);

impl Body {
    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0.text[self.0.start..]
    }

    /// Whether its file is still as it was read.
    fn is_current(&self) -> bool {
        self.origin().is_none_or(Origin::is_current)
    }

    /// The file's stamp when it was read; none if there is no file.
    pub(crate) fn origin(&self) -> Option<&Origin> {
        self.0.origin.as_ref()
    }
}

#[derive(Debug)]
struct ReadBody {
    text: String,
    start: usize,
    origin: Option<Origin>,
}

/// From which version of which file something was made.
#[derive(Clone, Debug)]
pub(crate) struct Origin {
    path: Arc<StampPath>,
    stamp: Stamp,
}

impl Origin {
    /// Whether the file is still that version. Exactly one `stat`.
    pub(crate) fn is_current(&self) -> bool {
        self.path.stamp().is_ok_and(|stamp| stamp == self.stamp)
    }
}

/// Reads bodies: each version of a file once, however many want it at a time.
#[derive(Debug)]
pub(crate) struct Bodies {
    max_bytes: u64,
    flights: Flights<BodyFile, Result<Body, LoadError>>,
    recent: Option<Mutex<LruCache<BodyFile, Body>>>,
    reads: AtomicU64,
}

impl Bodies {
    /// `keeps_recent` is false where nothing may be cached.
    pub(crate) fn new(max_bytes: u64, keeps_recent: bool) -> Self {
        let recent = keeps_recent.then(|| Mutex::new(LruCache::new(RECENT_BODIES)));
        Self { max_bytes, flights: Flights::default(), recent, reads: AtomicU64::new(0) }
    }

    /// The body as it stands in the file now, or did at some moment since this call began.
    pub(crate) fn get(&self, file: &BodyFile) -> Result<Body, LoadError> {
        loop {
            let (body, whose) = self.flights.run(file, || self.recent_or_read(file));
            // Somebody else may have read the file before an edit that this call comes after.
            match &body {
                Ok(body) if whose == Whose::Shared && !body.is_current() => {}
                _ => return body,
            }
        }
    }

    /// Looking among the recent ones is a part of the flight. Otherwise one who looked just before a flight ended, and
    /// came too late to join it, would read the file a second time.
    fn recent_or_read(&self, file: &BodyFile) -> Result<Body, LoadError> {
        if let Some(body) = self.recent(file) {
            return Ok(body);
        }
        let body = self.read(file)?;
        if let Some(recent) = &self.recent {
            lock(recent).put(file.clone(), body.clone());
        }
        Ok(body)
    }

    /// How many times a file was read.
    pub(crate) fn reads(&self) -> u64 {
        self.reads.load(Ordering::Relaxed)
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
        let Some(path) = file.body.path() else {
            return Ok(Body(Arc::new(ReadBody { text: String::new(), start: 0, origin: None })));
        };
        self.reads.fetch_add(1, Ordering::Relaxed);
        let dir = SkillDir::open(&file.name, &file.open_dir)?;
        let (text, stamp) = dir.read_stamped(path, self.max_bytes)?;
        let start = match file.body {
            BodyAt::AfterFrontMatter(_) => body_start(text.as_bytes())
                .ok_or_else(|| LoadError::NoFrontMatter { skill: file.name.clone(), path: path.into() })?,
            // A byte order mark tells the encoding; it is no part of the text.
            BodyAt::WholeFile(_) | BodyAt::None => text.len() - text.trim_start_matches('\u{feff}').len(),
        };
        let stamped_path = StampPath::new(&file.open_dir.join(path)).map_err(|source| {
            LoadError::from(FileError::Unreadable { skill: file.name.clone(), path: path.into(), source })
        })?;
        let origin = Origin { path: Arc::new(stamped_path), stamp };
        Ok(Body(Arc::new(ReadBody { text, start, origin: Some(origin) })))
    }
}
