//! `NativeSkills`: a set-up and its skills, for the Python layer.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use arc_swap::ArcSwap;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use serde::Serialize;
use skillcue::load::{Dialect, Form};
use skillcue::select::TurnProgress;
use skillcue::tools::Effect;
use skillcue::usage::UsageKind;
use skillcue::{Budget, Changes, Disclosure, LoadRequest, Loaded, Session, Skillcue};

use crate::catalog::NativeCatalog;
use crate::failure::Failure;
use crate::open::{OpenHost, OpenOptions};
use crate::pool::{detached, interruptible};
use crate::rows::ToolRow;
use crate::turn::{BudgetArguments, TurnArguments, conversation_of, loaded_skills, read_session, write_session};
use crate::value::{to_json, to_python};

/// A set-up and its skills.
///
/// A process that was forked opens the set-up again when it first uses it: what it has inherited are the locks, threads
/// and helpers of its parent, as they were at that moment.
#[pyclass(frozen, module = "skillcue._native")]
pub(crate) struct NativeSkills {
    options: Arc<OpenOptions>,
    open: ArcSwap<OpenHost>,
}

impl NativeSkills {
    /// Returns the host of this process.
    pub(crate) fn host(&self) -> Result<Arc<OpenHost>, Failure> {
        let open = self.open.load_full();
        if open.process == std::process::id() {
            return Ok(open);
        }
        let own = Arc::new(self.options.open()?);
        // Neither closed nor dropped: its servers and helpers are the parent's.
        std::mem::forget(open);
        std::mem::forget(self.open.swap(Arc::clone(&own)));
        Ok(own)
    }

    /// Runs short work on the skills, and returns its result as plain objects.
    fn answer<'py, T: Serialize + Send>(
        &self,
        py: Python<'py>,
        work: impl FnOnce(&Skillcue) -> Result<T, Failure> + Send,
    ) -> PyResult<Bound<'py, PyAny>> {
        let outcome = detached(py, || work(&self.host()?.skills));
        to_python(py, &outcome.map_err(|failure| failure.raised(py))?)
    }
}

#[pymethods]
impl NativeSkills {
    #[new]
    fn new(py: Python<'_>, options: &Bound<'_, PyDict>) -> PyResult<NativeSkills> {
        let options = Arc::new(OpenOptions::read(options)?);
        let work = Arc::clone(&options);
        let open = interruptible(py, &AtomicBool::new(false), move || work.open())?;
        let open = open.map_err(|failure| failure.raised(py))?;
        Ok(NativeSkills { options, open: ArcSwap::from_pointee(open) })
    }

    /// Returns the catalog; `None` if it is the one that the caller has.
    #[pyo3(signature = (known=None))]
    fn catalog(&self, py: Python<'_>, known: Option<&NativeCatalog>) -> PyResult<Option<NativeCatalog>> {
        let open = self.open.load();
        let open = if open.process == std::process::id() {
            Arc::clone(&open)
        } else {
            detached(py, || self.host()).map_err(|failure| failure.raised(py))?
        };
        let catalog = open.skills.catalog();
        Ok((!known.is_some_and(|known| known.is(&catalog))).then(|| NativeCatalog::new(catalog)))
    }

    /// Returns whether a catalog is the current one. A forked process may ask about its parent's, which it can still list.
    fn is_current(&self, known: &NativeCatalog) -> bool {
        known.is(&self.open.load().skills.catalog())
    }

    fn refresh<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let open = detached(py, || self.host()).map_err(|failure| failure.raised(py))?;
        let changes = interruptible(py, &AtomicBool::new(false), move || {
            let before = open.skills.catalog();
            Changes::between(&before, &open.skills.refresh())
        })?;
        to_python(py, &changes)
    }

    /// Returns the name, the content, the directory, the tokens, and whether it was cached.
    #[pyo3(signature = (name, arguments, section=None, body=false, argument_names=None))]
    fn load(
        &self,
        py: Python<'_>,
        name: &str,
        arguments: &str,
        section: Option<&str>,
        body: bool,
        argument_names: Option<Vec<String>>,
    ) -> PyResult<(String, String, String, usize, bool)> {
        let dialect = dialect(argument_names.as_deref());
        let form = if body { Form::Body } else { Form::Processed };
        let request = LoadRequest { arguments, dialect, section, form };
        let loaded = detached(py, || self.host()?.skills.load(name, &request).map_err(Failure::from));
        let Loaded { name, content, base_dir, tokens, cached } = loaded.map_err(|failure| failure.raised(py))?;
        Ok((name.to_string(), content.to_string(), base_dir.to_string_lossy().into_owned(), tokens.0, cached))
    }

    #[pyo3(signature = (name, arguments, section=None, session=None))]
    fn load_envelope<'py>(
        &self,
        py: Python<'py>,
        name: &str,
        arguments: &str,
        section: Option<&str>,
        session: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let mut state = read_session(session)?;
        let request = LoadRequest { arguments, section, ..LoadRequest::default() };
        let conversation = conversation_of(session);
        let output = detached(py, || {
            let open = self.host()?;
            let output = match &state {
                Some(state) => open.skills.load_envelope_for(state, name, &request),
                None => open.skills.load_envelope(name, &request),
            };
            let output = output.map_err(Failure::from)?;
            if matches!(output.effect, Some(Effect::Loaded { is_known: false, .. })) {
                open.skills.report_use(UsageKind::Loaded, name, &conversation);
            }
            Ok(output)
        });
        let output = output.map_err(|failure: Failure| failure.raised(py))?;
        if let (Some(effect), Some(state)) = (&output.effect, &mut state) {
            effect.record(state);
        }
        write_session(session, state.as_ref())?;
        to_python(py, &ToolRow::of(&output))
    }

    fn outline<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        self.answer(py, |skills| Ok(skills.outline(name)?.headings().to_vec()))
    }

    fn files<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        self.answer(py, |skills| Ok(skills.files(name)?))
    }

    fn read(&self, py: Python<'_>, name: &str, path: &str) -> PyResult<String> {
        let text = detached(py, || Ok(self.host()?.skills.read(name, path)?));
        text.map_err(|failure: Failure| failure.raised(py))
    }

    fn read_bytes<'py>(&self, py: Python<'py>, name: &str, path: &str) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = detached(py, || Ok(self.host()?.skills.read_bytes(name, path)?));
        Ok(PyBytes::new(py, &bytes.map_err(|failure: Failure| failure.raised(py))?))
    }

    #[pyo3(signature = (message, session=None, options=None, as_model=false))]
    fn select<'py>(
        &self,
        py: Python<'py>,
        message: String,
        session: Option<&Bound<'py, PyDict>>,
        options: Option<&Bound<'py, PyDict>>,
        as_model: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (turn, mut state) = (TurnArguments::read(message, options)?, read_session(session)?);
        self.answer(py, |skills| {
            let request = turn.request(state.as_mut(), Budget::default())?;
            skills.check_request(&request)?;
            Ok(if as_model { skills.search(&request) } else { skills.select(&request) })
        })
    }

    #[pyo3(signature = (name, message, session=None, options=None))]
    fn explain<'py>(
        &self,
        py: Python<'py>,
        name: &str,
        message: String,
        session: Option<&Bound<'py, PyDict>>,
        options: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (turn, mut state) = (TurnArguments::read(message, options)?, read_session(session)?);
        self.answer(py, |skills| {
            let request = turn.request(state.as_mut(), Budget::default())?;
            skills.check_request(&request)?;
            skills.check_known(name)?;
            Ok(skills.explain(&request, name))
        })
    }

    #[pyo3(signature = (message, words, calls, touched, already, session=None, options=None))]
    #[expect(clippy::too_many_arguments, reason = "the Python layer names them")]
    fn reselect<'py>(
        &self,
        py: Python<'py>,
        message: String,
        words: Vec<String>,
        calls: Vec<(String, Bound<'py, PyAny>)>,
        touched: Vec<String>,
        already: Vec<String>,
        session: Option<&Bound<'py, PyDict>>,
        options: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (turn, mut state) = (TurnArguments::read(message, options)?.of_session(session), read_session(session)?);
        let mut since = words.into_iter().fold(TurnProgress::default(), TurnProgress::words).touched(touched);
        for (tool, arguments) in &calls {
            since = since.call(tool, &to_json(arguments)?);
        }
        self.answer(py, |skills| {
            let request = turn.request(state.as_mut(), Budget::default())?;
            Ok(skills.reselect(&request, &since, &already))
        })
    }

    #[pyo3(signature = (message, session=None, options=None))]
    fn disclose(
        &self,
        py: Python<'_>,
        message: String,
        session: Option<&Bound<'_, PyDict>>,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<NativeDisclosure> {
        let (turn, mut state) = (TurnArguments::read(message, options)?.of_session(session), read_session(session)?);
        let shown = detached(py, || {
            let skills = Arc::clone(&self.host()?.skills);
            let request = turn.request(state.as_mut(), Budget::default())?;
            skills.check_request(&request)?;
            Ok(skills.disclose(request))
        });
        let shown = shown.map_err(|failure: Failure| failure.raised(py))?;
        write_session(session, state.as_ref())?;
        Ok(NativeDisclosure(shown))
    }

    fn prompt<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.answer(py, |skills| Ok(skills.prompt()))
    }

    fn census(&self, py: Python<'_>) -> PyResult<usize> {
        let census = detached(py, || Ok(self.host()?.skills.census().visible));
        census.map_err(|failure: Failure| failure.raised(py))
    }

    #[pyo3(signature = (session, total=None, per_skill=None, rest=false))]
    fn rehydrate<'py>(
        &self,
        py: Python<'py>,
        session: &Bound<'py, PyDict>,
        total: Option<usize>,
        per_skill: Option<usize>,
        rest: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let mut state = read_session(Some(session))?.unwrap_or_default();
        let budget = BudgetArguments { total, per_skill }.over(Budget::default());
        let shown = detached(py, || {
            let skills = Arc::clone(&self.host()?.skills);
            if rest {
                return Ok(skills.rehydrate_rest(&mut state, budget));
            }
            state.compacted();
            Ok(skills.rehydrate(&mut state, budget))
        });
        let shown = shown.map_err(|failure: Failure| failure.raised(py))?;
        write_session(Some(session), Some(&state))?;
        to_python(py, &shown)
    }

    #[pyo3(signature = (loaded, session=None))]
    fn tools<'py>(
        &self,
        py: Python<'py>,
        loaded: Vec<String>,
        session: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let state = read_session(session)?;
        let loaded = loaded_skills(loaded, state.as_ref());
        // A toolset that is evaluated for its tools takes as long as it is allowed to.
        let open = detached(py, || self.host()).map_err(|failure| failure.raised(py))?;
        let tools = interruptible(py, &AtomicBool::new(false), move || open.skills.tools(&loaded))?;
        to_python(py, &tools)
    }

    fn prepare(&self, py: Python<'_>) -> PyResult<()> {
        let open = detached(py, || self.host()).map_err(|failure| failure.raised(py))?;
        detached(py, || open.skills.prepare());
        Ok(())
    }

    fn index_bodies(&self, py: Python<'_>) -> PyResult<usize> {
        let open = detached(py, || self.host()).map_err(|failure| failure.raised(py))?;
        interruptible(py, &AtomicBool::new(false), move || open.skills.index_bodies())
    }

    /// Returns the numbers of the cache of bodies, or of selections.
    fn stats<'py>(&self, py: Python<'py>, selections: bool) -> PyResult<Bound<'py, PyAny>> {
        self.answer(py, |skills| Ok(if selections { skills.match_stats() } else { skills.cache_stats() }))
    }

    #[pyo3(signature = (name=None))]
    fn clear_cache(&self, py: Python<'_>, name: Option<&str>) -> PyResult<usize> {
        let count = detached(py, || Ok(self.host()?.skills.clear_cache(name)));
        count.map_err(|failure: Failure| failure.raised(py))
    }

    /// Records that the host has dropped its context, or some skills of it.
    #[pyo3(signature = (session, names=None))]
    #[staticmethod]
    fn compacted(session: &Bound<'_, PyDict>, names: Option<Vec<String>>) -> PyResult<()> {
        let mut state: Session = read_session(Some(session))?.unwrap_or_default();
        match &names {
            None => state.compacted(),
            Some(names) => state.evicted(names.iter().map(String::as_str)),
        }
        write_session(Some(session), Some(&state))
    }

    /// Ends running programs, and connections to servers.
    fn close(&self, py: Python<'_>) {
        let open = self.open.load_full();
        if open.process == std::process::id() {
            py.detach(|| {
                open.host.close();
                open.flush();
            });
        }
    }

    /// Waits for a moment until the events so far are in the ledger.
    fn flush(&self, py: Python<'_>) {
        let open = self.open.load_full();
        if open.process == std::process::id() {
            py.detach(|| open.flush());
        }
    }
}

/// The disclosure for a message. Its report, which few callers look at, becomes objects when it is asked for.
#[pyclass(frozen, module = "skillcue._native")]
pub(crate) struct NativeDisclosure(Disclosure);

#[pymethods]
impl NativeDisclosure {
    /// Returns the tier, the policy, the two texts, the number of matches, the microseconds, and the costs.
    fn summary(&self) -> (u8, &str, &str, &str, usize, u64, [usize; 4]) {
        let Disclosure { tier, policy, stable, turn, tokens, matched, elapsed, .. } = &self.0;
        let elapsed = u64::try_from(elapsed.as_micros()).unwrap_or(u64::MAX);
        let costs = [tokens.stable.0, tokens.turn.0, tokens.overhead.0, tokens.eager.0];
        (tier.number(), policy.as_str(), stable, turn, *matched, elapsed, costs)
    }

    fn skills<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, &self.0.skills)
    }
}

fn dialect(names: Option<&[String]>) -> Dialect {
    names.map_or_else(Dialect::default, |names| Dialect::extended(names.iter().map(String::as_str)))
}
