//! Calls that run programs of skills: scripts, and tools.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use serde_json::Value;
use skillcue::catalog::{SkillDir, usable};
use skillcue::consent::Scope;
use skillcue::format::FileKind;
use skillcue::tools::{Call, ToolContext, ToolOutput};
use skillcue::usage::UsageKind;
use skillcue::{Manifest, Session};
use skillcue_exec::{RunError, RunLimits, RunRequest, RunResult, Runner, RunnerOptions, Stream, scripts};
use skillcue_format::{MAX_FILE, Parsed};

use crate::failure::Failure;
use crate::launchers::launcher_for;
use crate::pool::{detached, interruptible};
use crate::rows::{RunRow, ToolRow};
use crate::skills::NativeSkills;
use crate::turn::{conversation_of, loaded_skills, read_session, write_session};
use crate::value::{to_json, to_object, to_python};

/// The name of the file that describes a skill.
const SKILL_FILE: &str = "SKILL.md";

/// A wish to end a call, from any thread.
#[pyclass(frozen, module = "skillcue._native", name = "Cancel")]
#[derive(Default)]
pub(crate) struct Cancel(Arc<AtomicBool>);

#[pymethods]
impl Cancel {
    #[new]
    fn new() -> Cancel {
        Cancel::default()
    }

    /// Ends the call that it was given to.
    fn cancel(&self) {
        self.0.store(true, Ordering::Release);
    }

    /// Whether the call is to end.
    #[getter]
    fn cancelled(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

/// Returns the flag of a call, that of its `Cancel` if it has one.
fn flag(cancel: Option<&Cancel>) -> Arc<AtomicBool> {
    cancel.map_or_else(Arc::default, |cancel| Arc::clone(&cancel.0))
}

#[pyfunction]
#[pyo3(signature = (skills, name, arguments, loaded, session=None, on_progress=None, cancel=None))]
#[expect(clippy::too_many_arguments, reason = "the Python layer names them")]
pub(crate) fn call_tool<'py>(
    py: Python<'py>,
    skills: &NativeSkills,
    name: &str,
    arguments: &Bound<'py, PyAny>,
    loaded: Vec<String>,
    session: Option<&Bound<'py, PyDict>>,
    on_progress: Option<Py<PyAny>>,
    cancel: Option<&Cancel>,
) -> PyResult<Bound<'py, PyAny>> {
    let mut state = read_session(session)?;
    let loaded = loaded_skills(loaded, state.as_ref());
    let call = Call::new(name, to_object(arguments)?);
    let open = detached(py, || skills.host()).map_err(|failure| failure.raised(py))?;
    let is_program = detached(py, || open.skills.program_for_call(&call, &loaded).is_some());
    let (cancelled, conversation) = (flag(cancel), conversation_of(session));
    let output = if is_program {
        let (open, shown, cancelled_then) = (Arc::clone(&open), state.clone(), Arc::clone(&cancelled));
        interruptible(py, &cancelled, move || {
            let shown = (conversation.as_str(), shown.as_ref());
            called(&open.skills, &call, &loaded, shown, on_progress.as_ref(), &cancelled_then)
        })?
    } else {
        let shown = (conversation.as_str(), state.as_ref());
        detached(py, || called(&open.skills, &call, &loaded, shown, on_progress.as_ref(), &cancelled))
    };
    let Some(output) = output else {
        let failure = Failure::new("no_such_tool", format!("there is no tool {name:?}"), "list the tools first");
        return Err(failure.raised(py));
    };
    if let (Some(effect), Some(state)) = (&output.effect, &mut state) {
        effect.record(state);
    }
    write_session(session, state.as_ref())?;
    to_python(py, &ToolRow::of(&output))
}

/// Returns the program that a call would run, as `(skill, name, is_script)`.
#[pyfunction]
#[pyo3(signature = (skills, name, arguments, loaded, session=None))]
pub(crate) fn program_for_call(
    py: Python<'_>,
    skills: &NativeSkills,
    name: &str,
    arguments: &Bound<'_, PyAny>,
    loaded: Vec<String>,
    session: Option<&Bound<'_, PyDict>>,
) -> PyResult<Option<(String, String, bool)>> {
    let loaded = loaded_skills(loaded, read_session(session)?.as_ref());
    let call = Call::new(name, to_object(arguments)?);
    let found = detached(py, || Ok(skills.host()?.skills.program_for_call(&call, &loaded)));
    let found = found.map_err(|failure: Failure| failure.raised(py))?;
    Ok(found.map(|program| (program.skill, program.name, program.is_script)))
}

#[pyfunction]
pub(crate) fn skill_scripts<'py>(py: Python<'py>, skills: &NativeSkills, name: &str) -> PyResult<Bound<'py, PyAny>> {
    let found = detached(py, || {
        let catalog = skills.host()?.skills.catalog();
        let skill = usable(&catalog, name)?;
        let dir = SkillDir::open(skill.name(), &skill.dir()).map_err(skillcue::Error::from)?;
        Ok(scripts(&dir, skill.manifest()))
    });
    to_python(py, &found.map_err(|failure: Failure| failure.raised(py))?)
}

#[pyfunction]
#[pyo3(signature = (skills, name, script, arguments, input, grant, unsandboxed, on_output=None, cancel=None))]
#[expect(clippy::too_many_arguments, reason = "the Python layer names them")]
pub(crate) fn run_script<'py>(
    py: Python<'py>,
    skills: &NativeSkills,
    name: String,
    script: String,
    arguments: Vec<String>,
    input: Option<&Bound<'py, PyAny>>,
    grant: bool,
    unsandboxed: bool,
    on_output: Option<Py<PyAny>>,
    cancel: Option<&Cancel>,
) -> PyResult<Bound<'py, PyAny>> {
    let run = ScriptRun::new(script, arguments, input, grant, on_output, cancel)?;
    let open = detached(py, || skills.host()).map_err(|failure| failure.raised(py))?;
    let (cancelled, conversation) = (Arc::clone(&run.cancelled), conversation_of(None));
    let outcome = interruptible(py, &cancelled, move || {
        let catalog = open.skills.catalog();
        let skill = usable(&catalog, &name)?;
        if let Some(server) = skill.server() {
            let message = format!("{name:?} is served by the MCP server {server:?}: its scripts do not run here");
            return Err(Failure::new("remote", message, "install the skill on this machine to run them"));
        }
        let dir = SkillDir::open(skill.name(), &skill.dir()).map_err(skillcue::Error::from)?;
        let runner = open.host.runner(unsandboxed).map_err(|error| Failure::of(&error))?;
        let ran = run.carry_out(&runner, &dir, skill.manifest(), Some(&skill.id()))?;
        open.skills.report_use(UsageKind::Run, skill.name(), &conversation);
        Ok(ran)
    })?;
    to_python(py, &RunRow::of(&outcome.map_err(|failure| failure.raised(py))?))
}

fn called(
    skills: &skillcue::Skillcue,
    call: &Call,
    loaded: &[String],
    (session, shown): (&str, Option<&Session>),
    on_progress: Option<&Py<PyAny>>,
    cancelled: &AtomicBool,
) -> Option<ToolOutput> {
    let progress = |done: f64, total: Option<f64>, words: &str| {
        if let Some(function) = on_progress {
            tell(function, |py| function.call1(py, (done, total, words)));
        }
    };
    let cancelled = || cancelled.load(Ordering::Acquire);
    let context = ToolContext {
        progress: &progress,
        cancelled: &cancelled,
        loaded,
        session,
        is_lasting: true,
        shown,
        message: "",
    };
    skills.call_tool(call, &context)
}

/// Calls a function that only listens. What it raises goes where exceptions of destructors go.
fn tell(function: &Py<PyAny>, call: impl FnOnce(Python<'_>) -> PyResult<Py<PyAny>>) {
    let _ = Python::try_attach(|py| {
        if let Err(error) = call(py) {
            error.write_unraisable(py, Some(function.bind(py)));
        }
    });
}

/// A script to run, with everything that its request needs.
struct ScriptRun {
    script: String,
    arguments: Vec<String>,
    input: Option<Value>,
    grant: bool,
    on_output: Option<Py<PyAny>>,
    cancelled: Arc<AtomicBool>,
}

impl ScriptRun {
    fn new(
        script: String,
        arguments: Vec<String>,
        input: Option<&Bound<'_, PyAny>>,
        grant: bool,
        on_output: Option<Py<PyAny>>,
        cancel: Option<&Cancel>,
    ) -> PyResult<ScriptRun> {
        let input = input.map(to_json).transpose()?;
        Ok(ScriptRun { script, arguments, input, grant, on_output, cancelled: flag(cancel) })
    }

    fn carry_out(
        &self,
        runner: &Runner,
        dir: &SkillDir,
        manifest: &Manifest,
        address: Option<&str>,
    ) -> Result<RunResult, Failure> {
        let on_output = |stream: Stream, bytes: &[u8]| {
            if let Some(function) = &self.on_output {
                let name = match stream {
                    Stream::Stdout => "stdout",
                    Stream::Stderr => "stderr",
                };
                tell(function, |py| function.call1(py, (name, PyBytes::new(py, bytes))));
            }
        };
        let cancelled = || self.cancelled.load(Ordering::Acquire);
        let request = RunRequest {
            address,
            arguments: &self.arguments,
            input: self.input.as_ref(),
            on_output: &on_output,
            cancelled: &cancelled,
            ..RunRequest::new(dir, manifest, &self.script)
        };
        let mut outcome = runner.run(&request);
        if self.grant
            && let Err(RunError::PermissionRequired { asked, reason: None }) = &outcome
        {
            runner.consent().remember(asked, Scope::Once).map_err(|error| Failure::of(&error))?;
            outcome = runner.run(&request);
        }
        outcome.map_err(Failure::from)
    }
}

/// Runs a script of a directory that need not be in a catalog.
#[pyfunction]
#[pyo3(signature = (directory, name, script, arguments, input, grant, options, on_output=None, cancel=None))]
#[expect(clippy::too_many_arguments, reason = "the Python layer names them")]
pub(crate) fn run_script_in<'py>(
    py: Python<'py>,
    directory: PathBuf,
    name: Option<String>,
    script: String,
    arguments: Vec<String>,
    input: Option<&Bound<'py, PyAny>>,
    grant: bool,
    options: DirectoryRunner,
    on_output: Option<Py<PyAny>>,
    cancel: Option<&Cancel>,
) -> PyResult<Bound<'py, PyAny>> {
    let run = ScriptRun::new(script, arguments, input, grant, on_output, cancel)?;
    let cancelled = Arc::clone(&run.cancelled);
    let outcome = interruptible(py, &cancelled, move || {
        let (dir, manifest) = described(&directory, name.as_deref())?;
        run.carry_out(&options.runner(), &dir, &manifest, None)
    })?;
    to_python(py, &RunRow::of(&outcome.map_err(|failure| failure.raised(py))?))
}

/// The set-up of a runner without a host.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct DirectoryRunner {
    helper: PathBuf,
    variables: Vec<(OsString, OsString)>,
    timeout: Option<f64>,
    max_output: Option<usize>,
    unsandboxed: bool,
}

impl DirectoryRunner {
    fn runner(self) -> Runner {
        let usual = RunnerOptions::default();
        let mut limits = RunLimits::default();
        if let Some(timeout) = self.timeout.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()) {
            limits.timeout = timeout;
        }
        limits.output = self.max_output.unwrap_or(limits.output);
        let path = self.variables.iter().find(|(name, _)| name == "PATH").map(|(_, value)| value.clone());
        let launcher = launcher_for(&self.helper).allow_unsandboxed(self.unsandboxed);
        let options =
            RunnerOptions { path: path.unwrap_or(usual.path.clone()), environment: self.variables, limits, ..usual };
        Runner::new(launcher, options)
    }
}

/// Returns the scripts of a directory.
#[pyfunction]
#[pyo3(signature = (directory, name=None))]
pub(crate) fn scripts_in<'py>(py: Python<'py>, directory: PathBuf, name: Option<&str>) -> PyResult<Bound<'py, PyAny>> {
    let found = detached(py, || described(&directory, name).map(|(dir, manifest)| scripts(&dir, &manifest)));
    to_python(py, &found.map_err(|failure| failure.raised(py))?)
}

/// Opens a directory, and reads what its skill file says; without one, it is a skill of that name that says nothing.
fn described(directory: &Path, name: Option<&str>) -> Result<(SkillDir, Manifest), Failure> {
    let directory = skillcue_host::absolute(directory);
    let own = directory.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let opened =
        |name: &str| SkillDir::open(name, &directory).map_err(|error| Failure::from(skillcue::Error::from(error)));
    let dir = opened(name.unwrap_or(&own))?;
    let manifest =
        dir.read(SKILL_FILE, MAX_FILE).ok().and_then(|bytes| Parsed::of(&bytes, FileKind::Markdown).manifest);
    let manifest = manifest.unwrap_or_else(|| Manifest::unknown(name.unwrap_or(&own)));
    let dir = if name.is_none() { opened(manifest.name().as_str())? } else { dir };
    Ok((dir, manifest))
}
