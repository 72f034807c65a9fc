//! Opening: from keyword arguments to a host, once in every process that uses it.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use pyo3::prelude::*;
use pyo3::types::PyDict;
use skillcue::catalog::OrgPolicy;
use skillcue::consent::ConsentGate;
use skillcue::load::LoaderConfig;
use skillcue::{Counter, DiscloseConfig, Fallback, Mode, Policy, SkillRoot, Skillcue, Source, Tokens};
use skillcue_host::{Environment, Host, HostOverrides};
use skillcue_usage::Ledger;

use crate::consent::CallableGate;
use crate::failure::Failure;

/// The longest that an end waits for the ledger.
const MAX_LEDGER_WAIT: Duration = Duration::from_secs(1);

/// A host and its skills, of one process.
pub(crate) struct OpenHost {
    /// The process that made it.
    pub(crate) process: u32,
    pub(crate) host: Host,
    pub(crate) skills: Arc<Skillcue>,
    /// The ledger, if events are recorded.
    pub(crate) ledger: Option<Ledger>,
}

impl OpenHost {
    /// Waits for a moment until the events so far are in the ledger.
    pub(crate) fn flush(&self) {
        if let Some(ledger) = &self.ledger {
            ledger.flush(MAX_LEDGER_WAIT);
        }
    }
}

/// The keyword arguments of `Skillcue`, kept for processes that are forked.
pub(crate) struct OpenOptions {
    overrides: HostOverrides,
    cwd: Option<PathBuf>,
    variables: Vec<(OsString, OsString)>,
    roots: Vec<(PathBuf, String)>,
    disclosure: DisclosureOptions,
    mode: Option<String>,
    load_cache: Option<usize>,
    max_body_bytes: Option<u64>,
    match_cache: Option<usize>,
    nested: bool,
    usage: bool,
}

#[derive(Default)]
struct DisclosureOptions {
    policy: Option<String>,
    fallback: Option<String>,
    counter: Option<String>,
    max_skills: Option<usize>,
    max_all_skills: Option<usize>,
    max_total_tokens: Option<usize>,
    max_per_skill_tokens: Option<usize>,
    window: Option<usize>,
    catalog_share: Option<f64>,
    pinned: Vec<String>,
    eagerness: Option<f32>,
}

impl OpenOptions {
    /// Reads what the Python layer has collected: every key is there.
    pub(crate) fn read(options: &Bound<'_, PyDict>) -> PyResult<OpenOptions> {
        let consent = get::<Option<Py<PyAny>>>(options, "consent")?;
        let consent = consent.map(|function| Arc::new(CallableGate::new(function)) as Arc<dyn ConsentGate>);
        Ok(OpenOptions {
            overrides: HostOverrides {
                skills_dirs: get(options, "skills_dirs")?,
                config: get(options, "config")?,
                isolated: get(options, "isolated")?,
                no_cache: !get::<bool>(options, "cache")?,
                no_bundled: false,
                consent,
                helper: Some(get(options, "helper")?),
                allow_unsandboxed: get(options, "allow_unsandboxed")?,
            },
            cwd: get(options, "cwd")?,
            variables: get(options, "variables")?,
            roots: get(options, "roots")?,
            disclosure: DisclosureOptions {
                policy: get(options, "policy")?,
                fallback: get(options, "fallback")?,
                counter: get(options, "counter")?,
                max_skills: get(options, "max_skills")?,
                max_all_skills: get(options, "max_all_skills")?,
                max_total_tokens: get(options, "max_total_tokens")?,
                max_per_skill_tokens: get(options, "max_per_skill_tokens")?,
                window: get(options, "window")?,
                catalog_share: get(options, "catalog_share")?,
                pinned: get(options, "pinned")?,
                eagerness: get(options, "eagerness")?,
            },
            mode: get(options, "mode")?,
            load_cache: get(options, "load_cache")?,
            max_body_bytes: get(options, "max_body_bytes")?,
            match_cache: get(options, "match_cache")?,
            nested: get(options, "nested")?,
            usage: get(options, "usage")?,
        })
    }

    /// Looks for the skills.
    pub(crate) fn open(&self) -> Result<OpenHost, Failure> {
        let environment =
            Environment::new(self.cwd.clone(), self.variables.clone()).map_err(|error| Failure::of(&error))?;
        let host = Host::open(environment, self.overrides.clone());
        let settings = host.settings().map_err(|error| Failure::of(&error))?;
        let disclosure = self.disclosure.applied(settings.disclose.config())?;
        let mode = self.mode.as_deref().map(mode_of).transpose()?;
        let loader = LoaderConfig {
            cache_capacity: self.load_cache.unwrap_or(settings.loader.cache_capacity),
            max_body_bytes: self.max_body_bytes.unwrap_or(settings.loader.max_body_bytes),
            ..settings.loader.clone()
        };
        let roots = self.named_roots(host.policy().map_err(|error| Failure::of(&error))?)?;
        let sink =
            self.usage.then(|| host.usage_sink("python")).transpose().map_err(|error| Failure::of(&error))?.flatten();
        let ledger = sink.as_ref().map(|sink| sink.ledger().clone());
        let shape = |builder: skillcue::Builder| {
            let builder = builder.roots(roots).disclosure(disclosure).loader(loader).nested(self.nested);
            let builder = sink.into_iter().fold(builder, |builder, sink| builder.usage(Arc::new(sink)));
            let builder = mode.into_iter().fold(builder, skillcue::Builder::mode);
            self.match_cache.into_iter().fold(builder, skillcue::Builder::match_cache)
        };
        let skills = Arc::clone(host.skills_with(shape).map_err(|error| Failure::of(&error))?);
        Ok(OpenHost { process: std::process::id(), host, skills, ledger })
    }

    /// Returns the roots that the caller names. The word for a source is the caller's claim: to a policy with rules about
    /// sources, such a root is what it is, a directory named for this run.
    fn named_roots(&self, policy: &OrgPolicy) -> Result<Vec<SkillRoot>, Failure> {
        let root = |(path, word): &(PathBuf, String)| {
            let source = Source::from_word(word).ok_or_else(|| {
                let known = Source::ALL.map(Source::as_str).join(", ");
                Failure::new("usage", format!("`{word}` is no source"), format!("there are {known}"))
            })?;
            let source = if policy.reads_sources() { Source::Inline } else { source };
            Ok(SkillRoot::new(skillcue_host::absolute(path), source))
        };
        self.roots.iter().map(root).collect()
    }
}

impl DisclosureOptions {
    fn applied(&self, config: DiscloseConfig) -> Result<DiscloseConfig, Failure> {
        let limit = |asked: Option<usize>, usual| match asked {
            None => usual,
            Some(0) => None,
            Some(tokens) => Some(Tokens(tokens)),
        };
        let mut config = config;
        if let Some(word) = &self.policy {
            config.policy = policy_of(word)?;
        }
        if let Some(word) = &self.fallback {
            config.fallback = word.parse::<Fallback>().map_err(|error| wrong_word(&error))?;
        }
        if let Some(word) = &self.counter {
            config.counter = counter_of(word)?;
        }
        config.max_skills = self.max_skills.unwrap_or(config.max_skills);
        config.max_all_skills = self.max_all_skills.unwrap_or(config.max_all_skills);
        config.max_total_tokens = limit(self.max_total_tokens, config.max_total_tokens);
        config.max_per_skill_tokens = limit(self.max_per_skill_tokens, config.max_per_skill_tokens);
        config.window = self.window.map_or(config.window, Tokens);
        config.catalog_share = self.catalog_share.unwrap_or(config.catalog_share);
        config.pinned.extend(self.pinned.iter().cloned());
        config.eagerness = self.eagerness.unwrap_or(config.eagerness);
        config.check().map_err(|error| wrong_word(&error))?;
        Ok(config)
    }
}

/// Returns the mode of a word.
pub(crate) fn mode_of(word: &str) -> Result<Mode, Failure> {
    let found = Mode::NAMES.into_iter().find(|(name, _)| *name == word);
    found.map(|(_, mode)| mode).ok_or_else(|| {
        let known = Mode::NAMES.map(|(name, _)| name).join(", ");
        Failure::new("usage", format!("`{word}` is no mode"), format!("there are {known}"))
    })
}

/// Returns the policy of a word.
pub(crate) fn policy_of(word: &str) -> Result<Policy, Failure> {
    word.parse().map_err(|error| wrong_word(&error))
}

/// Returns the counter of a word.
pub(crate) fn counter_of(word: &str) -> Result<Counter, Failure> {
    word.parse().map_err(|error| wrong_word(&error))
}

fn wrong_word(error: &impl std::fmt::Display) -> Failure {
    Failure::new("usage", error.to_string(), "correct the argument")
}

fn get<'py, T>(options: &Bound<'py, PyDict>, name: &str) -> PyResult<T>
where
    T: for<'a> FromPyObject<'a, 'py>,
{
    let value = options.get_item(name)?.ok_or_else(|| pyo3::exceptions::PyKeyError::new_err(name.to_owned()))?;
    value.extract().map_err(Into::into)
}
