//! The installed sentence model, for matching by meaning.

#[cfg(feature = "semantic")]
use std::path::PathBuf;
use std::sync::Arc;
#[cfg(feature = "semantic")]
use std::sync::OnceLock;

use skillcue::config::SentenceModelUse;
#[cfg(feature = "semantic")]
use skillcue::select::SentenceError;
use skillcue::select::SentenceVectors;
use skillcue::{Mode, Skillcue};

use crate::error::HostError;
use crate::host::Host;

/// With more skills than this, and nowhere to keep vectors, none are made ahead: they take some hundredths of a second each.
const MAX_UNKEPT: usize = 1_000;

/// The installed model. It is opened for the first text: that takes a tenth of a second and 230 MB.
#[cfg(feature = "semantic")]
#[derive(Debug)]
struct InstalledModel {
    dir: PathBuf,
    opened: OnceLock<Result<skillcue_model::SentenceModel, SentenceError>>,
}

#[cfg(feature = "semantic")]
impl SentenceVectors for InstalledModel {
    fn id(&self) -> &str {
        skillcue_model::MODEL_NAME
    }

    fn vectors(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, SentenceError> {
        let open = || skillcue_model::SentenceModel::open(&self.dir).map_err(|error| of_model(&error));
        let model = self.opened.get_or_init(open).as_ref().map_err(Clone::clone)?;
        let vectors = model.embed(texts).map_err(|error| of_model(&error))?;
        Ok(vectors.into_iter().map(Vec::from).collect())
    }
}

#[cfg(feature = "semantic")]
fn of_model(error: &skillcue_model::SentenceModelError) -> SentenceError {
    use skillcue_model::SentenceModelError;

    let message = error.to_string();
    match error {
        SentenceModelError::Missing { .. } => SentenceError::Missing(message),
        SentenceModelError::Damaged { .. } => SentenceError::Damaged(message),
        _ => SentenceError::Failed(message),
    }
}

impl Host {
    /// Returns the installed sentence model, if there is one and this build can run it. It is not opened yet: one with a file
    /// that is missing or damaged is returned, too, and fails for the first text with the file and what is wrong with it.
    #[cfg(feature = "semantic")]
    pub(crate) fn sentence_model(&self) -> Option<Arc<dyn SentenceVectors>> {
        let data = self.environment().data_home.as_ref()?.join("skillcue");
        let dir = skillcue_model::is_present(&data).then(|| skillcue_model::model_dir(&data))?;
        Some(Arc::new(InstalledModel { dir, opened: OnceLock::new() }))
    }

    /// Returns nothing: this build cannot run a sentence model.
    #[cfg(not(feature = "semantic"))]
    #[expect(clippy::unused_self, reason = "other builds look into the environment")]
    pub(crate) fn sentence_model(&self) -> Option<Arc<dyn SentenceVectors>> {
        None
    }

    /// Makes the vectors of skills in the background, if a sentence model is installed and takes part in `mode` by the
    /// settings. Until they are made, skills are matched without them. For processes that run for long. A model that has
    /// failed already is left alone.
    ///
    /// ```
    /// use skillcue::Mode;
    /// use skillcue_host::{Environment, Host, HostOverrides};
    ///
    /// # let home = tempfile::tempdir()?;
    /// # let (cwd, variables) = (None, vec![("HOME".into(), home.path().into())]);
    /// let host = Host::open(Environment::new(cwd, variables)?, HostOverrides::default());
    /// host.embed_ahead(Mode::Hybrid)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn embed_ahead(&self, mode: Mode) -> Result<(), HostError> {
        if !self.embeds_ahead(mode)? {
            return Ok(());
        }
        let skills = Arc::clone(self.skills()?);
        crate::watch::start("skillcue-vectors", move || embed(&skills))
    }

    /// Returns whether a process that runs for long makes the vectors of skills.
    pub(crate) fn embeds_ahead(&self, mode: Mode) -> Result<bool, HostError> {
        let settings = self.settings()?;
        let is_wanted = match mode {
            Mode::Keyword => false,
            Mode::Hybrid => settings.disclose.model != Some(SentenceModelUse::Off),
            Mode::Semantic => true,
        };
        let skills = self.skills()?;
        let is_kept = settings.cache.is_some() || skills.catalog().len() <= MAX_UNKEPT;
        Ok(is_wanted && is_kept && skills.check_mode(Mode::Semantic).is_ok())
    }
}

/// Makes the vectors of skills. One that fails is no failure of matching by words.
pub(crate) fn embed(skills: &Skillcue) {
    if let Err(error) = skills.embed_skills(&|_, _| ()) {
        tracing::warn!(%error, "the sentence model is not used");
    }
}
