//! [`Loader`]: from a skill's file to the text for a model.

use std::ops::Range;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Instant;

use skillcue_base::{ErrorInfo as _, Shown, one_line};
use skillcue_catalog::BodyFile;
use skillcue_format::Tokens;

use crate::arguments::{Dialect, MAX_ARGUMENT_BYTES, Substitution};
use crate::body::{Body, BodyReader};
use crate::cache::{Cache, CacheKeyRef, CacheStats, CachedResult};
use crate::error::LoadError;
use crate::outline::Outline;

/// The limits of a [`Loader`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoaderConfig {
    /// Maximum number of results that are kept; 0 keeps none.
    pub cache_capacity: usize,
    /// Maximum size of a file; a larger one is refused.
    pub max_body_bytes: u64,
    /// Maximum size of a body with its arguments; a larger one is refused.
    pub max_content_bytes: usize,
}

impl Default for LoaderConfig {
    fn default() -> Self {
        Self { cache_capacity: 100, max_body_bytes: 16 * 1024 * 1024, max_content_bytes: 32 * 1024 * 1024 }
    }
}

/// A request for a skill's body.
#[derive(Clone, Debug, Default)]
pub struct LoadRequest<'a> {
    /// The arguments, as they were given; empty for none.
    pub arguments: &'a str,
    /// The placeholders that the body may use for them.
    pub dialect: Dialect,
    /// Only this section: a heading's title, its slug, a path `Parent/Child`, or `#anchor`. See [`Outline::section`].
    pub section: Option<&'a str>,
    /// The text around the body.
    pub form: Form,
}

/// The text around a loaded body.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Form {
    /// The line `Base directory for this skill: …`, a blank line, then the body with its arguments.
    #[default]
    Processed,
    /// The body with its arguments, alone. For the body as it is in its file see [`Loader::body`].
    Body,
}

/// A loaded skill. Cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loaded {
    /// The skill's name.
    pub name: Arc<str>,
    /// The text for the model.
    pub content: Arc<str>,
    /// The directory at which relative paths in the content start.
    pub base_dir: Arc<Path>,
    /// The cost of the content, estimated from its length.
    pub tokens: Tokens,
    /// Whether it was answered from the cache.
    pub cached: bool,
}

/// Loads bodies, and remembers them until their files change.
///
/// One loader serves many threads. A load that is cached costs one `stat` of the file and a copy of the body with its
/// arguments put in; one that is not reads it, and if several callers load one skill at once, with whatever arguments,
/// one of them reads for all. A body is kept once, however many arguments it was loaded with.
///
/// An entry is stale when the file's time, size or inode differ from those it was made from. An edit that changes
/// none of them, within one tick of the file system's clock and in place, is not noticed: [`Loader::clear`] helps.
#[derive(Debug)]
pub struct Loader {
    config: LoaderConfig,
    bodies: BodyReader,
    cache: Cache,
    last: Mutex<Option<LastResult>>,
}

/// Maximum size of a content that is kept as it was returned.
const MAX_LAST_BYTES: usize = 64 << 10;

/// The result that was returned last, for a host that repeats a request: putting the arguments into a
/// body of 6 KB takes longer than the `stat` that such a load may cost.
#[derive(Debug)]
struct LastResult {
    body: Body,
    part: Range<usize>,
    arguments: Box<str>,
    dialect: Dialect,
    form: Form,
    content: Arc<str>,
}

impl LastResult {
    fn matches(&self, entry: &CachedResult, request: &LoadRequest<'_>) -> bool {
        self.body.id() == entry.body.id()
            && self.part == entry.part
            && *self.arguments == *request.arguments
            && self.dialect == request.dialect
            && self.form == request.form
    }
}

/// The text of a whole body as a disclosure shows it: processed, without arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlainText {
    /// The text.
    pub content: Arc<str>,
    /// The part of it that was loaded, in bytes: all of it, or a section.
    pub part: Range<usize>,
}

impl Default for Loader {
    fn default() -> Self {
        Self::new(LoaderConfig::default())
    }
}

impl Loader {
    /// Creates a loader with an empty cache.
    pub fn new(config: LoaderConfig) -> Self {
        let bodies = BodyReader::new(config.max_body_bytes, config.cache_capacity);
        Self { bodies, cache: Cache::new(config.cache_capacity), last: Mutex::new(None), config }
    }

    /// Loads the body of a skill, or a section of it, with its arguments put in.
    ///
    /// Each call is one event at `DEBUG` with target `skillcue::load`, which has the skill, the size, whether it was
    /// cached and how long it took, and never the arguments.
    pub fn load(&self, file: &BodyFile, request: &LoadRequest<'_>) -> Result<Loaded, LoadError> {
        self.with_logging(file, |loader| loader.load_result(file, request).map(|(loaded, _)| loaded))
    }

    /// Like [`load`](Loader::load), and also returns the text that a disclosure would show of the same body. The body is
    /// looked up once for both.
    pub fn load_with_plain(
        &self,
        file: &BodyFile,
        request: &LoadRequest<'_>,
    ) -> Result<(Loaded, Option<PlainText>), LoadError> {
        let mut plain = None;
        let loaded = self.with_logging(file, |loader| {
            let (loaded, entry) = loader.load_result(file, request)?;
            let base_dir = entry.body.base_dir().to_string_lossy();
            plain = loader.plain(entry.body.name(), &base_dir, entry.body.as_str(), &entry.part, request).ok();
            Ok(loaded)
        })?;
        Ok((loaded, plain))
    }

    /// Like [`load_with_plain`](Loader::load_with_plain), for a body that is in no file here, as
    /// [`load_text`](Loader::load_text) takes it.
    pub fn load_text_with_plain(
        &self,
        name: &str,
        base_dir: &str,
        body: &str,
        request: &LoadRequest<'_>,
    ) -> Result<(Loaded, Option<PlainText>), LoadError> {
        let loaded = self.load_text(name, base_dir, body, request)?;
        let plain =
            part(name, body, request.section).and_then(|part| self.plain(name, base_dir, body, &part, request)).ok();
        Ok((loaded, plain))
    }

    /// Returns the whole body without arguments, and the place of a part in it.
    fn plain(
        &self,
        name: &str,
        base_dir: &str,
        body: &str,
        part: &Range<usize>,
        request: &LoadRequest<'_>,
    ) -> Result<PlainText, LoadError> {
        let request = LoadRequest { arguments: "", form: Form::Processed, section: None, ..request.clone() };
        let until = |end: usize| self.compose(name, base_dir, &body[..end], &request);
        let content: Arc<str> = until(body.len())?.into();
        // Placeholders have other lengths than what they stand for: places move.
        let start = if part.start == 0 { 0 } else { until(part.start)?.len() };
        let end = if part.end == body.len() { content.len() } else { until(part.end)?.len() };
        Ok(PlainText { part: start..end.min(content.len()), content })
    }

    /// Like [`load`](Loader::load), for a body that is in no file here: the caller has fetched it. It is not cached.
    /// `base_dir` is where relative paths start, as the model reads it.
    pub fn load_text(
        &self,
        name: &str,
        base_dir: &str,
        body: &str,
        request: &LoadRequest<'_>,
    ) -> Result<Loaded, LoadError> {
        check_arguments(name, request.arguments)?;
        let part = part(name, body, request.section)?;
        let content = self.compose(name, base_dir, &body[part], request)?;
        Ok(Loaded {
            name: name.into(),
            tokens: Tokens::bytes4(content.len()),
            content: content.into(),
            base_dir: Path::new(base_dir).into(),
            cached: false,
        })
    }

    /// Returns the body of a skill as it is in its file, without base directory or arguments.
    pub fn body(&self, file: &BodyFile) -> Result<Body, LoadError> {
        self.bodies.get(file)
    }

    /// Returns the headings of a skill's body and the cost of each section.
    pub fn outline(&self, file: &BodyFile) -> Result<Outline, LoadError> {
        Ok(Outline::new(self.bodies.get(file)?.as_str()))
    }

    /// Returns the statistics of the cache.
    pub fn stats(&self) -> CacheStats {
        self.cache.stats()
    }

    /// Returns the memory that is held for later loads, in bytes: each body once, and the key of each result.
    pub fn held_bytes(&self) -> usize {
        let (results, mut bodies) = self.cache.held();
        bodies.extend(self.bodies.kept());
        bodies.sort_unstable_by_key(Body::id);
        bodies.dedup_by_key(|body| body.id());
        let last = self.last().as_ref().map_or(0, |last| last.content.len() + last.arguments.len());
        results + last + bodies.iter().map(Body::bytes).sum::<usize>()
    }

    /// Returns how many times a file was read since the loader was created.
    pub fn reads(&self) -> u64 {
        self.bodies.reads()
    }

    /// Forgets the results of one skill by its name, or all of them, and returns how many they were.
    pub fn clear(&self, skill: Option<&str>) -> usize {
        *self.last() = None;
        self.bodies.clear(skill);
        self.cache.clear(skill)
    }

    fn last(&self) -> MutexGuard<'_, Option<LastResult>> {
        skillcue_base::lock(&self.last)
    }

    fn with_logging(
        &self,
        file: &BodyFile,
        load: impl FnOnce(&Self) -> Result<Loaded, LoadError>,
    ) -> Result<Loaded, LoadError> {
        let logs = tracing::enabled!(target: "skillcue::load", tracing::Level::DEBUG);
        let start = logs.then(Instant::now);
        let result = load(self);
        if let Some(start) = start {
            log(file, &result, start);
        }
        result
    }

    fn load_result(&self, file: &BodyFile, request: &LoadRequest<'_>) -> Result<(Loaded, CachedResult), LoadError> {
        let &LoadRequest { arguments, ref dialect, section, form } = request;
        check_arguments(&file.name, arguments)?;
        let key = CacheKeyRef { file, arguments, dialect, section, form };
        if let Some(entry) = self.cache.get(&key, |entry| entry.body.is_current()) {
            return Ok((self.to_loaded(&entry, request, true)?, entry));
        }
        let body = self.bodies.get(file)?;
        let entry = CachedResult { part: part(&file.name, body.as_str(), section)?, body };
        let loaded = self.to_loaded(&entry, request, false)?;
        self.cache.insert(&key, entry.clone());
        Ok((loaded, entry))
    }

    /// Returns a result as the model gets it: its arguments are put in now.
    fn to_loaded(&self, entry: &CachedResult, request: &LoadRequest<'_>, cached: bool) -> Result<Loaded, LoadError> {
        let body = &entry.body;
        let content = self.content(entry, request)?;
        Ok(Loaded {
            name: Arc::clone(body.name()),
            base_dir: Arc::clone(body.base_dir()),
            tokens: Tokens::bytes4(content.len()),
            content,
            cached,
        })
    }

    fn content(&self, entry: &CachedResult, request: &LoadRequest<'_>) -> Result<Arc<str>, LoadError> {
        if let Some(last) = self.last().as_ref().filter(|last| last.matches(entry, request)) {
            return Ok(Arc::clone(&last.content));
        }
        let content: Arc<str> = self.compose_result(entry, request)?.into();
        let CachedResult { body, part } = entry;
        if self.config.cache_capacity > 0 && content.len() <= MAX_LAST_BYTES {
            *self.last() = Some(LastResult {
                body: body.clone(),
                part: part.clone(),
                arguments: request.arguments.into(),
                dialect: request.dialect.clone(),
                form: request.form,
                content: Arc::clone(&content),
            });
        }
        Ok(content)
    }

    fn compose_result(
        &self,
        CachedResult { body, part }: &CachedResult,
        request: &LoadRequest<'_>,
    ) -> Result<String, LoadError> {
        self.compose(body.name(), &body.base_dir().to_string_lossy(), &body.as_str()[part.clone()], request)
    }

    /// Returns a part of a body with the text above it, and its arguments put in.
    fn compose(&self, name: &str, base_dir: &str, text: &str, request: &LoadRequest<'_>) -> Result<String, LoadError> {
        // A directory's name may have a line break, and must not begin a line of a prompt.
        let base_dir = &*one_line(base_dir);
        let mut content = String::new();
        let head = match request.form {
            Form::Processed => ["Base directory for this skill: ", base_dir, "\n\n"],
            Form::Body => [""; 3],
        };
        content
            .reserve_exact(head.iter().map(|piece| piece.len()).sum::<usize>() + text.len() + request.arguments.len());
        for piece in head {
            content.push_str(piece);
        }
        let substitution = Substitution {
            arguments: request.arguments,
            dialect: &request.dialect,
            skill_dir: base_dir,
            max_bytes: self.config.max_content_bytes,
        };
        substitution
            .apply_to(text, &mut content)
            .map_err(|source| LoadError::ContentTooLarge { skill: name.into(), source })?;
        Ok(content)
    }
}

/// Returns the part of a body that a section is; all of it, if none is requested.
fn part(skill: &str, body: &str, section: Option<&str>) -> Result<Range<usize>, LoadError> {
    let Some(wanted) = section else { return Ok(0..body.len()) };
    let found = Outline::new(body).section(wanted).map(|heading| heading.range.clone());
    found.map_err(|source| LoadError::Section { skill: skill.into(), source })
}

fn check_arguments(skill: &str, arguments: &str) -> Result<(), LoadError> {
    if arguments.len() > MAX_ARGUMENT_BYTES {
        let size = arguments.len();
        return Err(LoadError::ArgumentsTooLarge { skill: skill.into(), size, limit: MAX_ARGUMENT_BYTES });
    }
    Ok(())
}

fn log(file: &BodyFile, result: &Result<Loaded, LoadError>, start: Instant) {
    let micros = u64::try_from(start.elapsed().as_micros()).unwrap_or(u64::MAX);
    let skill = Shown(&file.name);
    match result {
        Ok(Loaded { content, cached, tokens, .. }) => tracing::debug!(
            target: "skillcue::load",
            skill = %skill,
            bytes = content.len(),
            tokens = tokens.0,
            cached,
            micros,
            "loaded"
        ),
        Err(error) => tracing::debug!(
            target: "skillcue::load",
            skill = %skill,
            error = error.code(),
            micros,
            "not loaded"
        ),
    }
}
