//! Functions for `skillcue.compat.skillkit`, whose interface is another library's: skill files with their front matter as
//! it was written, and scripts anywhere in a skill's directory. They return tuples; the package makes its own types.

#![allow(clippy::needless_pass_by_value, reason = "PyO3 makes the values that its functions get")]

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use pyo3::exceptions::{PyOSError, PyUnicodeDecodeError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};
use serde_json::json;
use skillcue::catalog::{Discovery, FileError, SkillDir, SkillFile};
use skillcue::{Catalog, Diagnostic, ErrorInfo as _, SkillRoot, Source};
use skillcue_exec::{RunError, RunLimits, RunRequest, RunResult, Runner, RunnerOptions};
use skillcue_format::{Code, FileKind, MAX_FILE, Node, Parsed, Value};

use crate::launchers::launcher_for;
use crate::pool::{detached, interruptible};

/// The size of the largest file that `read_below` reads.
const MAX_READ: u64 = 16 << 20;

/// Bytes of input that a script may get.
const MAX_INPUT: usize = 16 << 20;

/// A finding as code, message, line and column.
type FindingRow = (&'static str, String, Option<u32>, Option<u32>);

/// Front matter, converted when the interpreter is there again, and the findings about it.
struct FrontRow {
    path: PathBuf,
    raw: Option<Node<'static>>,
    /// The place of the skill in the catalog of the search, if the catalog has its front matter.
    skill: Option<usize>,
    findings: Vec<FindingRow>,
}

/// A finding about a search, as code, message and path.
type SearchRow = (&'static str, String, String);

type FrontTuple<'py> = (String, Option<Bound<'py, PyAny>>, Vec<FindingRow>);

impl FrontRow {
    fn of(path: &Path, parsed: Parsed<'_>) -> FrontRow {
        let findings = parsed.diagnostics.iter().filter(|found| counts(found)).map(row).collect();
        FrontRow { path: path.to_owned(), raw: parsed.raw.map(Node::into_owned), skill: None, findings }
    }

    fn into_tuple(self, py: Python<'_>) -> PyResult<FrontTuple<'_>> {
        let raw = self.raw.map(|node| object(py, &node)).transpose()?;
        Ok((self.path.to_string_lossy().into_owned(), raw, self.findings))
    }
}

/// The skill files of one search, sorted by path. They become objects one by one, when they are asked for: all at once they
/// would take several times the memory of what stays.
#[pyclass(frozen, module = "skillcue._native")]
pub(crate) struct NativeFronts {
    catalog: Catalog,
    rows: Vec<FrontRow>,
}

#[pymethods]
impl NativeFronts {
    fn __len__(&self) -> usize {
        self.rows.len()
    }

    /// Returns the path of a file, and the findings about it.
    fn place(&self, position: usize) -> Option<(Cow<'_, str>, Vec<FindingRow>)> {
        self.rows.get(position).map(|front| (front.path.to_string_lossy(), front.findings.clone()))
    }

    /// Returns the front matter of a file.
    fn raw<'py>(&self, py: Python<'py>, position: usize) -> PyResult<Option<Bound<'py, PyAny>>> {
        let Some(row) = self.rows.get(position) else { return Ok(None) };
        let listed = row.skill.and_then(|skill| self.catalog.all().get(skill)).and_then(|skill| skill.raw());
        listed.as_ref().or(row.raw.as_ref()).map(|node| object(py, node)).transpose()
    }
}

/// Returns the skill files below a directory, and findings about the search as `(code, message, path)`. Skills in skills are
/// found, too.
#[pyfunction]
#[pyo3(name = "compat_scan")]
pub(crate) fn scan(py: Python<'_>, directory: PathBuf) -> (NativeFronts, Vec<SearchRow>) {
    let (catalog, fronts, findings) = detached(py, || scan_directory(&directory));
    (NativeFronts { catalog, rows: fronts.into_values().collect() }, findings)
}

fn scan_directory(directory: &Path) -> (Catalog, BTreeMap<PathBuf, FrontRow>, Vec<SearchRow>) {
    let catalog = Discovery::new([SkillRoot::new(directory, Source::Inline)]).nested(true).run();
    let mut repaired: HashMap<&Path, Vec<FindingRow>> = HashMap::new();
    let mut search = Vec::new();
    for found in catalog.diagnostics() {
        let Some(path) = found.path.as_deref() else { continue };
        if found.code == Code::YamlRepaired {
            repaired.entry(path).or_default().push(row(found));
        } else if matches!(found.code, Code::LinkCycle | Code::SearchLimit | Code::DanglingLink | Code::Unreadable) {
            search.push((found.code.as_str(), found.message.to_string(), path.to_string_lossy().into_owned()));
        }
    }
    let mut fronts = BTreeMap::new();
    for (position, skill) in catalog.all().iter().enumerate() {
        let yaml = skill.file() == SkillFile::Yaml;
        for place in skill.locations() {
            if yaml {
                // The other library knows no `SKILL.yaml`; a `SKILL.md` beside it counts for itself.
                add_file(&mut fronts, place.dir.join("SKILL.md"));
                continue;
            }
            let findings = repaired.get(place.path.as_path()).cloned().unwrap_or_default();
            let row = FrontRow { path: place.path.clone(), raw: None, skill: Some(position), findings };
            fronts.insert(place.path, row);
        }
    }
    for invalid in catalog.invalid() {
        if invalid.path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("md")) {
            // Its name may be one that only Skillcue refuses: the front matter decides.
            let front = read_file(&invalid.path).map_or_else(
                |_| FrontRow {
                    path: invalid.path.clone(),
                    raw: None,
                    skill: None,
                    findings: invalid.diagnostics.iter().map(row).collect(),
                },
                |bytes| FrontRow::of(&invalid.path, Parsed::of(&bytes, FileKind::Markdown)),
            );
            fronts.insert(invalid.path.clone(), front);
        }
    }
    (catalog, fronts, search)
}

fn add_file(fronts: &mut BTreeMap<PathBuf, FrontRow>, path: PathBuf) {
    if let Ok(bytes) = read_file(&path) {
        let front = FrontRow::of(&path, Parsed::of(&bytes, FileKind::Markdown));
        fronts.insert(path, front);
    }
}

/// Returns the front matter of one file as `(path, front matter, findings)`. Raises `OSError` if it cannot be read.
#[pyfunction]
#[pyo3(name = "compat_parse_file")]
pub(crate) fn parse_file(py: Python<'_>, path: PathBuf) -> PyResult<FrontTuple<'_>> {
    let front =
        detached(py, || read_file(&path).map(|bytes| FrontRow::of(&path, Parsed::of(&bytes, FileKind::Markdown))));
    front.map_err(|error| os_error(&error))?.into_tuple(py)
}

/// Returns the body of a skill file; the whole text, if it has no front matter. Raises `OSError` or `UnicodeDecodeError`.
#[pyfunction]
#[pyo3(name = "compat_read_body")]
pub(crate) fn read_body(py: Python<'_>, path: PathBuf) -> PyResult<String> {
    let bytes = detached(py, || read_file(&path)).map_err(|error| os_error(&error))?;
    let parsed = Parsed::of(&bytes, FileKind::Markdown);
    let is_absent = |found: &Diagnostic| matches!(found.code, Code::NoFrontMatter | Code::UnclosedFrontMatter);
    let start = if parsed.diagnostics.iter().any(is_absent) { bom(&bytes) } else { parsed.body };
    let body = &bytes[start..];
    match std::str::from_utf8(body) {
        Ok(text) => Ok(text.to_owned()),
        Err(error) => Err(PyErr::from_value(PyUnicodeDecodeError::new_utf8(py, body, error)?.into_any())),
    }
}

fn bom(bytes: &[u8]) -> usize {
    if bytes.starts_with(b"\xEF\xBB\xBF") { 3 } else { 0 }
}

/// Reads a skill file: checked and opened in one step, at most as large as skill files may be.
fn read_file(path: &Path) -> Result<Vec<u8>, FileError> {
    // A link in place of the file, which discovery has accepted, is followed here: the file is opened in its own directory.
    let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let (dir, name) = (path.parent().unwrap_or(&path), path.file_name().unwrap_or_default().to_string_lossy());
    SkillDir::open(&dir.file_name().unwrap_or_default().to_string_lossy(), dir)?.read(&name, MAX_FILE)
}

/// Returns an error as Python's own: `FileNotFoundError`, `PermissionError`, or another `OSError`.
fn os_error(error: &FileError) -> PyErr {
    match error {
        FileError::Unreadable { source, .. } => match source.raw_os_error() {
            Some(number) => PyOSError::new_err((number, error.to_string())),
            None => PyOSError::new_err(error.to_string()),
        },
        FileError::NotFound { .. } => pyo3::exceptions::PyFileNotFoundError::new_err(error.to_string()),
        _ => PyOSError::new_err(error.to_string()),
    }
}

/// Reads a file below any directory. Returns its bytes, or none and the reason why the path leads out.
#[pyfunction]
#[pyo3(name = "compat_read_below")]
pub(crate) fn read_below<'py>(
    py: Python<'py>,
    directory: PathBuf,
    path: &str,
) -> PyResult<(Option<Bound<'py, PyBytes>>, String)> {
    let name = directory.file_name().unwrap_or_default().to_string_lossy().into_owned();
    match detached(py, || SkillDir::open(&name, &directory).and_then(|dir| dir.read(path, MAX_READ))) {
        Ok(bytes) => Ok((Some(PyBytes::new(py, &bytes)), String::new())),
        Err(error @ FileError::Security { .. }) => Ok((None, error.to_string())),
        Err(error) => Err(os_error(&error)),
    }
}

/// The end of a run: the reason why it did not run or was ended, as code and message; exit code, signal, and output.
type RunTuple<'py> = (Option<&'static str>, String, Option<i32>, Option<i32>, Bound<'py, PyBytes>, Bound<'py, PyBytes>);

/// Runs a script that may be anywhere in a directory, in the sandbox. What a `SKILL.md` there asks for is not granted.
#[pyfunction]
#[pyo3(name = "compat_run_script", signature = (directory, script, name, *, helper, path, variables, environment, stdin, timeout, max_output))]
#[expect(clippy::too_many_arguments, reason = "the Python layer names them")]
pub(crate) fn run_script(
    py: Python<'_>,
    directory: PathBuf,
    script: String,
    name: String,
    helper: PathBuf,
    path: OsString,
    variables: Vec<(OsString, OsString)>,
    environment: Vec<(OsString, OsString)>,
    stdin: Vec<u8>,
    timeout: f64,
    max_output: usize,
) -> PyResult<RunTuple<'_>> {
    let mut limits = RunLimits { output: max_output, input: MAX_INPUT, ..RunLimits::default() };
    // A time that cannot be represented is longer than any script runs.
    limits.timeout = Duration::try_from_secs_f64(timeout.max(0.0)).unwrap_or(Duration::MAX);
    let options = RunnerOptions { path, environment, limits, concurrent: usize::MAX, ..RunnerOptions::default() };
    let runner = Runner::new(launcher_for(&helper), options);
    let cancelled = Arc::new(AtomicBool::new(false));
    let is_cancelled = Arc::clone(&cancelled);
    let outcome = interruptible(py, &cancelled, move || {
        let dir = SkillDir::open(&name, &directory)?;
        let front = json!({"name": "script", "description": "-", "scripts": [{"path": script}]}).to_string();
        let Some(manifest) = Parsed::new_front_matter(&front, FileKind::Markdown).manifest else {
            return Err(RunError::ExecutionFailed { reason: format!("{script:?} cannot be named") });
        };
        let request = RunRequest {
            stdin: Some(&stdin),
            variables: &variables,
            cancelled: &|| is_cancelled.load(Ordering::Acquire),
            ..RunRequest::new(&dir, &manifest, &script)
        };
        runner.run(&request)
    })?;
    let (code, message, result) = match &outcome {
        Ok(result) => (None, String::new(), Some(result)),
        Err(error) => (Some(error.code()), error.to_string(), error.result()),
    };
    let output = |of: fn(&RunResult) -> &[u8]| PyBytes::new(py, result.map_or(&[], of));
    let (exit_code, signal) = result.map_or((None, None), |result| (result.exit_code, result.signal));
    Ok((code, message, exit_code, signal, output(|it| &it.stdout), output(|it| &it.stderr)))
}

/// Returns the tools of an `allowed-tools` that is one text.
#[pyfunction]
#[pyo3(name = "compat_split_tools")]
pub(crate) fn split_tools(text: &str) -> Vec<String> {
    let front = json!({"name": "skill", "description": "-", "allowed-tools": text}).to_string();
    let manifest = Parsed::new_front_matter(&front, FileKind::Markdown).manifest;
    manifest.map(|manifest| manifest.allowed_tools().map(str::to_owned).collect()).unwrap_or_default()
}

/// Returns whether a finding keeps the other library from reading the file.
fn counts(found: &Diagnostic) -> bool {
    found.is_error() || found.code == Code::YamlRepaired
}

fn row(found: &Diagnostic) -> FindingRow {
    (found.code.as_str(), found.message.to_string(), found.line(), found.column())
}

/// Returns YAML as Python has it: an unquoted number is a number, however it is written.
fn object<'py>(py: Python<'py>, node: &Node<'_>) -> PyResult<Bound<'py, PyAny>> {
    match &node.value {
        Value::Scalar { .. } if node.is_null() => Ok(py.None().into_bound(py)),
        Value::Scalar { text, plain } => {
            if *plain {
                if let Ok(number) = text.parse::<i64>() {
                    return Ok(number.into_pyobject(py)?.into_any());
                }
                if text.starts_with(|first: char| first.is_ascii_digit() || matches!(first, '+' | '-' | '.'))
                    && let Ok(number) = text.parse::<f64>()
                {
                    return Ok(number.into_pyobject(py)?.into_any());
                }
                if matches!(&**text, "true" | "True" | "TRUE" | "false" | "False" | "FALSE") {
                    return Ok(text.starts_with(['t', 'T']).into_pyobject(py)?.to_owned().into_any());
                }
            }
            Ok(text.into_pyobject(py)?.into_any())
        }
        Value::Seq(items) => {
            let items = items.iter().map(|item| object(py, item)).collect::<PyResult<Vec<_>>>()?;
            Ok(PyList::new(py, items)?.into_any())
        }
        Value::Map(entries) => {
            let dict = PyDict::new(py);
            for (key, value) in entries {
                let key = match key.as_str() {
                    Some(text) => text.to_owned(),
                    None => serde_json::to_string(key).unwrap_or_default(),
                };
                // Of two equal keys the first counts.
                if !dict.contains(&key)? {
                    dict.set_item(key, object(py, value)?)?;
                }
            }
            Ok(dict.into_any())
        }
    }
}

/// Registers the functions.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(scan, module)?)?;
    module.add_function(wrap_pyfunction!(parse_file, module)?)?;
    module.add_function(wrap_pyfunction!(read_body, module)?)?;
    module.add_function(wrap_pyfunction!(read_below, module)?)?;
    module.add_function(wrap_pyfunction!(run_script, module)?)?;
    module.add_function(wrap_pyfunction!(split_tools, module)?)
}
