//! Matching by meaning: the sentence model that a program brings, and the vectors of a catalog's skills.

use std::collections::BTreeMap;
use std::fmt;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use arc_swap::ArcSwapOption;
use lru::LruCache;
use skillcue_base::{ErrorInfo, lock};
use skillcue_select::{
    Meaning, Mode, SelectOptions, Selection, SkillTextKeys, SkillVectors, Turn, VectorTable, meaning_text,
};

use crate::snapshot::Snapshot;
use crate::{Error, Request, Skillcue};

/// The kind of index files that hold vectors.
const VECTORS: &str = "vectors";
/// The number of texts that the model is given at once.
const BATCH: usize = 32;
/// The number of new vectors after which the file is written: to make so many takes a minute or less.
const MAX_UNWRITTEN: usize = 1_024;
/// The number of new skills up to which a refresh makes their vectors itself.
const MAX_IN_REFRESH: usize = 16;
/// The number of messages whose vectors are kept: one message is selected for, explained and disclosed.
const KEPT_MESSAGES: NonZeroUsize = NonZeroUsize::new(16).expect("16 is not 0");
/// The number of bytes of a message that the model is given. Sentence models read some hundred words.
const MAX_MESSAGE: usize = 8 << 10;
/// The number of skills that are weighed because they are nearest, whatever words they have. As in fitting.
const NEAREST: usize = 30;

/// A sentence model: it turns texts into vectors, and texts of similar meaning into similar vectors.
///
/// [`Builder::sentence_model`](crate::Builder::sentence_model) takes one. The weights of the ranking were fitted with
/// all-MiniLM-L6-v2, which the crate `skillcue-host` has with its feature `semantic`; a model whose cosines are of another
/// size ranks worse.
///
/// ```
/// use std::sync::Arc;
/// use skillcue::select::{SentenceError, SentenceVectors};
/// use skillcue::{Mode, Request, Skillcue};
///
/// /// Knows two subjects.
/// #[derive(Debug)]
/// struct Subjects;
///
/// impl SentenceVectors for Subjects {
///     fn id(&self) -> &str {
///         "subjects 1"
///     }
///
///     fn vectors(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, SentenceError> {
///         let has = |text: &str, words: [&str; 2]| if words.iter().any(|word| text.contains(word)) { 1.0 } else { 0.1 };
///         let vector = |text: &&str| vec![has(text, ["presentation", "slides"]), has(text, ["hike", "walk"])];
///         Ok(texts.iter().map(vector).collect())
///     }
/// }
///
/// # let dir = tempfile::tempdir()?;
/// # for (name, does) in [("decks", "Designs presentations."), ("alps", "Plans hikes.")] {
/// #     std::fs::create_dir(dir.path().join(name))?;
/// #     std::fs::write(dir.path().join(name).join("SKILL.md"), format!("---\nname: {name}\ndescription: {does}\n---\n"))?;
/// # }
/// let skills = Skillcue::builder().skills_dir(dir.path()).sentence_model(Arc::new(Subjects)).build()?;
/// skills.embed_skills(&|_, _| ())?;
/// let request = Request::new("prettier slides please").mode(Mode::Semantic);
/// skills.check_request(&request)?;
/// let found = skills.select(&request);
/// assert_eq!((found.hits[0].name.as_str(), found.model.as_deref()), ("decks", Some("subjects 1")));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait SentenceVectors: fmt::Debug + Send + Sync {
    /// Returns the name of the model with its version. Vectors that were kept under another id are made anew.
    fn id(&self) -> &str;

    /// Returns the vectors of some texts, in their order. All vectors of a model have equally many dimensions. Called by
    /// several threads at once; a model that uses rayon should not be asked from within rayon's own threads.
    fn vectors(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, SentenceError>;
}

/// The reason why a sentence model gave no vectors.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, ErrorInfo)]
#[non_exhaustive]
pub enum SentenceError {
    /// A file of the model is not there any more.
    #[error("{0}")]
    #[info(code = "model_missing", hint = "install the model again")]
    Missing(String),
    /// A file of the model is not the one that was installed.
    #[error("{0}")]
    #[info(code = "model_damaged", hint = "install the model again")]
    Damaged(String),
    /// The model failed on a text.
    #[error("{0}")]
    #[info(code = "model_failed", hint = "install the model again; if that does not help, choose the mode `hybrid`")]
    Failed(String),
}

/// The sentence model of a [`Skillcue`], and what all of its snapshots share about it.
#[derive(Debug)]
pub(crate) struct SentenceState {
    model: Arc<dyn SentenceVectors>,
    /// The vectors of the latest messages.
    messages: Mutex<LruCache<String, Arc<[f32]>>>,
    /// Locked while vectors of skills are made.
    embedding: Mutex<()>,
    /// Whether vectors of skills have been asked for.
    is_wanted: AtomicBool,
    /// The number of the newest snapshot.
    newest: AtomicU64,
    /// The reason why the vectors of skills could not be made the last time.
    failure: Mutex<Option<SentenceError>>,
}

impl SentenceState {
    pub(crate) fn new(model: Arc<dyn SentenceVectors>) -> SentenceState {
        SentenceState {
            model,
            messages: Mutex::new(LruCache::new(KEPT_MESSAGES)),
            embedding: Mutex::new(()),
            is_wanted: AtomicBool::new(false),
            newest: AtomicU64::new(0),
            failure: Mutex::new(None),
        }
    }

    /// Returns the vectors of texts, as many as there are texts.
    fn vectors(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, SentenceError> {
        let vectors = self.model.vectors(texts)?;
        let (made, asked) = (vectors.len(), texts.len());
        if made != asked {
            return Err(SentenceError::Failed(format!("the sentence model returned {made} vectors for {asked} texts")));
        }
        let dimensions = vectors.first().map_or(0, Vec::len);
        let is_whole = |vector: &Vec<f32>| {
            vector.len() == dimensions && vector.iter().any(|x| *x != 0.0) && vector.iter().all(|x| x.is_finite())
        };
        if !vectors.iter().all(is_whole) {
            return Err(SentenceError::Failed("the sentence model returned a vector without a direction".to_owned()));
        }
        Ok(vectors)
    }

    /// Returns the vector of a message.
    fn message(&self, message: &str) -> Result<Arc<[f32]>, SentenceError> {
        let message = &message[..message.floor_char_boundary(MAX_MESSAGE)];
        if let Some(vector) = lock(&self.messages).get(message) {
            return Ok(Arc::clone(vector));
        }
        let vector = self.vectors(&[message])?.pop().unwrap_or_default();
        let vector: Arc<[f32]> = vector.into();
        lock(&self.messages).put(message.to_owned(), Arc::clone(&vector));
        Ok(vector)
    }
}

/// The part of a snapshot that is about meaning.
#[derive(Debug, Default)]
pub(crate) struct SnapshotMeaning {
    state: Option<Arc<SentenceState>>,
    vectors: ArcSwapOption<SkillVectors>,
}

/// The vector of a message, and those that it is compared with.
struct MessageMeaning<'s> {
    /// The id of the model that made them.
    model: &'s str,
    vectors: Arc<SkillVectors>,
    message: Arc<[f32]>,
}

impl SnapshotMeaning {
    /// Returns one without vectors, for a snapshot of that number.
    pub(crate) fn new(state: Option<Arc<SentenceState>>, number: u64) -> SnapshotMeaning {
        if let Some(state) = &state {
            state.newest.fetch_max(number, Ordering::AcqRel);
        }
        SnapshotMeaning { state, vectors: ArcSwapOption::empty() }
    }

    /// Returns what a message's vector is compared with, and that vector; `None` if meaning takes no part.
    fn of_message(&self, message: &str, mode: Mode) -> Option<MessageMeaning<'_>> {
        let found = (self.state.as_deref(), self.vectors.load_full());
        let (Some(state), Some(vectors)) = found else {
            if mode == Mode::Semantic {
                tracing::warn!("the skills have no vectors yet: matching by words alone");
            }
            return None;
        };
        if message.trim().is_empty() || !(mode == Mode::Semantic || vectors.is_nearly_complete()) {
            return None;
        }
        match state.message(message) {
            Ok(message) => Some(MessageMeaning { model: state.model.id(), vectors, message }),
            Err(error) => {
                tracing::warn!(%error, "the sentence model failed: matching by words alone");
                None
            }
        }
    }
}

impl Snapshot {
    /// Selects by triggers, by text relevance and, where a sentence model is at hand, by meaning.
    pub(crate) fn by_relevance(&self, turn: &Turn<'_>, mode: Mode, limit: usize) -> Selection {
        let found = self.meaning.of_message(turn.message(), mode);
        let cosines = found.as_ref().and_then(|MessageMeaning { model, vectors, message }| {
            let cosines = vectors.cosines(message);
            if cosines.is_none() {
                tracing::warn!("the message has no vector that skills could be compared with: matching by words alone");
            }
            Some((*model, cosines?))
        });
        let Some((model, cosines)) = cosines else {
            let options = SelectOptions { mode: Mode::Hybrid, limit };
            return self.by_texts(|texts| self.selector().select_with(&self.catalog, texts, turn, &options));
        };
        let all = self.catalog.all();
        let nearest = cosines
            .nearest(NEAREST, &|skill| all.get(skill).is_some_and(|skill| skill.is_usable() && skill.is_for_models()));
        let meaning = Meaning { cosine: &|skill| cosines.of(skill), nearest: &nearest };
        let mut selection =
            self.by_texts(|texts| self.selector().select_by_meaning(&self.catalog, texts, &meaning, turn, limit));
        selection.model = Some(model.to_owned());
        selection
    }

    /// Returns whether a sentence model takes part in matching.
    pub(crate) fn uses_meaning(&self, mode: Mode) -> bool {
        mode != Mode::Keyword && self.meaning.vectors.load().is_some()
    }

    /// Makes the vectors of all skills that have none. Returns how many were made. Ends early if there is a newer
    /// snapshot: what was made is kept for it.
    pub(crate) fn embed(&self, progress: &dyn Fn(usize, usize)) -> Result<usize, Error> {
        let state = self.meaning.state.as_deref().ok_or(Error::NoSentenceModel)?;
        state.is_wanted.store(true, Ordering::Release);
        let one_at_a_time = lock(&state.embedding);
        let made = self.embed_missing(state, progress);
        *lock(&state.failure) = made.as_ref().err().cloned();
        drop(one_at_a_time);
        Ok(made?)
    }

    fn embed_missing(&self, state: &SentenceState, progress: &dyn Fn(usize, usize)) -> Result<usize, SentenceError> {
        let keys = SkillTextKeys::of(&self.catalog);
        let loaded = self.meaning.vectors.load_full();
        let known = loaded.as_ref().map(|vectors| Arc::clone(vectors.table()));
        let kept = || {
            let bytes = self.index_files()?.read(VECTORS)?;
            VectorTable::from_bytes(&bytes, state.model.id())
        };
        let known = known.or_else(|| kept().map(Arc::new));
        let mut table = known.unwrap_or_else(|| Arc::new(VectorTable::new(state.model.id())));
        let missing = keys.missing(&table);
        if missing.is_empty() {
            if loaded.is_none_or(|vectors| !vectors.is_complete()) {
                self.replace_vectors(SkillVectors::of(&keys, table));
            }
            return Ok(0);
        }
        let (mut fresh, mut made, mut result) = (BTreeMap::new(), 0, Ok(()));
        let mut write = |fresh: &mut BTreeMap<u128, Vec<f32>>| {
            table = Arc::new(table.updated(&keys, &std::mem::take(fresh)));
            if let Some(files) = self.index_files() {
                files.write(VECTORS, &table.to_bytes());
            }
            Arc::clone(&table)
        };
        for batch in missing.chunks(BATCH) {
            if state.newest.load(Ordering::Acquire) > self.number() {
                break;
            }
            let texts: Vec<String> = batch.iter().map(|(skill, _)| meaning_text(&self.catalog.all()[*skill])).collect();
            match state.vectors(&texts.iter().map(String::as_str).collect::<Vec<_>>()) {
                Ok(vectors) => fresh.extend(batch.iter().map(|(_, key)| *key).zip(vectors)),
                Err(error) => {
                    result = Err(error);
                    break;
                }
            }
            made += batch.len();
            progress(made, missing.len());
            if fresh.len() >= MAX_UNWRITTEN {
                write(&mut fresh);
            }
        }
        let table = write(&mut fresh);
        if made == missing.len() {
            self.replace_vectors(SkillVectors::of(&keys, table));
        }
        tracing::debug!(made, missing = missing.len(), "made vectors of skills");
        result.map(|()| made)
    }

    /// Takes over the vectors of an older snapshot, for skills that have not changed. Returns the number of skills that
    /// have none then; `None` if no vectors are wanted.
    pub(crate) fn adopt_vectors(&self, old: &Snapshot) -> Option<usize> {
        let state = self.meaning.state.as_deref()?;
        if !state.is_wanted.load(Ordering::Acquire) {
            return None;
        }
        let keys = SkillTextKeys::of(&self.catalog);
        let Some(vectors) = old.meaning.vectors.load_full() else { return Some(usize::MAX) };
        let missing = keys.missing(vectors.table()).len();
        self.replace_vectors(SkillVectors::of(&keys, Arc::clone(vectors.table())));
        Some(missing)
    }

    fn replace_vectors(&self, vectors: SkillVectors) {
        self.meaning.vectors.store(Some(Arc::new(vectors)));
        self.forget_matches();
    }
}

impl Skillcue {
    /// Makes the vectors of all skills by the sentence model, and ranks by meaning, too, from now on. Vectors that an
    /// earlier start has made are taken from a file beside the index cache. Returns how many were made; one takes some
    /// hundredths of a second. `progress` is called with the number of those that are made and of those that were missing.
    ///
    /// Skills are ranked by meaning in [`Mode::Semantic`], and in [`Mode::Hybrid`] after this has been called.
    ///
    /// Fails if there is no model, or if it fails. What it had made is kept.
    pub fn embed_skills(&self, progress: &dyn Fn(usize, usize)) -> Result<usize, Error> {
        let mut made = 0;
        loop {
            let snapshot = self.snapshot();
            made += snapshot.embed(progress)?;
            // Another catalog came meanwhile.
            if Arc::ptr_eq(&snapshot, &self.snapshot()) {
                return Ok(made);
            }
        }
    }

    /// Returns the id of the sentence model, if there is one.
    pub fn sentence_model(&self) -> Option<&str> {
        self.sentences.as_ref().map(|state| state.model.id())
    }

    /// Checks that messages can be matched in a mode: [`Mode::Semantic`] needs a sentence model, which must not have
    /// failed when the vectors of skills were made.
    ///
    /// ```
    /// use skillcue::{ErrorInfo as _, Mode, Skillcue};
    ///
    /// let skills = Skillcue::builder().build()?;
    /// assert!(skills.check_mode(Mode::Hybrid).is_ok());
    /// assert_eq!(skills.check_mode(Mode::Semantic).unwrap_err().code(), "no_model");
    /// # Ok::<(), skillcue::Error>(())
    /// ```
    pub fn check_mode(&self, mode: Mode) -> Result<(), Error> {
        if mode != Mode::Semantic {
            return Ok(());
        }
        let state = self.sentences.as_ref().ok_or(Error::NoSentenceModel)?;
        match lock(&state.failure).clone() {
            Some(error) => Err(error.into()),
            None => Ok(()),
        }
    }

    /// Checks that a request can be answered in its mode, like [`check_mode`](Skillcue::check_mode): in
    /// [`Mode::Semantic`], that the model makes a vector of the message, too. Without this, a request that cannot be
    /// answered by meaning is answered by words, and a warning is logged.
    pub fn check_request(&self, request: &Request<'_>) -> Result<(), Error> {
        let mode = request.options(self.mode()).mode;
        self.check_mode(mode)?;
        if let Some(state) = self.sentences.as_ref().filter(|_| mode == Mode::Semantic) {
            state.message(request.turn.message())?;
        }
        Ok(())
    }

    /// Makes the vectors of skills that are new in a snapshot: a few now, many on a thread of their own.
    pub(crate) fn embed_new(snapshot: &Arc<Snapshot>, missing: usize) {
        let snapshot = Arc::clone(snapshot);
        let embed = move || {
            if let Err(error) = snapshot.embed(&|_, _| ()) {
                tracing::warn!(%error, "new skills have no vectors");
            }
        };
        if missing <= MAX_IN_REFRESH {
            embed();
        } else if let Err(error) = std::thread::Builder::new().name("skillcue-vectors".to_owned()).spawn(embed) {
            tracing::warn!(%error, "new skills have no vectors: cannot start a thread");
        }
    }
}
