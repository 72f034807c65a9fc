//! Functions that need no catalog: one directory, one file, one text.

use std::path::{Path, PathBuf};

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use skillcue::catalog::{FileError, SkillDir, TreeLimits};
use skillcue::format::FileKind;
use skillcue_format::{MAX_FILE, Parsed};

use crate::failure::Failure;
use crate::open::counter_of;
use crate::pool::detached;
use crate::rows::ParsedRow;
use crate::value::to_python;

/// The size of the largest file that is read.
const MAX_READ: u64 = 16 << 20;

/// Reads a file below a directory, out of which no path leads.
#[pyfunction]
pub(crate) fn read_in<'py>(
    py: Python<'py>,
    directory: PathBuf,
    name: &str,
    path: &str,
) -> PyResult<Bound<'py, PyBytes>> {
    let bytes = detached(py, || SkillDir::open(name, &directory).and_then(|dir| dir.read(path, MAX_READ)));
    Ok(PyBytes::new(py, &bytes.map_err(|error| raised(py, error))?))
}

/// Returns the files below a directory.
#[pyfunction]
pub(crate) fn files_in<'py>(py: Python<'py>, directory: PathBuf, name: &str) -> PyResult<Bound<'py, PyAny>> {
    let listing = detached(py, || SkillDir::open(name, &directory).and_then(|dir| dir.list(&TreeLimits::default())));
    to_python(py, &listing.map_err(|error| raised(py, error))?)
}

/// Parses a skill file: its bytes, or those of the file at a path.
#[pyfunction]
#[pyo3(signature = (bytes, path, is_yaml))]
pub(crate) fn parse<'py>(
    py: Python<'py>,
    bytes: Option<&[u8]>,
    path: Option<PathBuf>,
    is_yaml: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let kind = if is_yaml { FileKind::Yaml } else { FileKind::Markdown };
    let bytes = match (bytes, &path) {
        (Some(bytes), _) => bytes.to_vec(),
        (None, Some(path)) => detached(py, || read_file(path)).map_err(|error| raised(py, error))?,
        (None, None) => Vec::new(),
    };
    let mut parsed = Parsed::thorough(&bytes, kind);
    if let Some(path) = path {
        parsed.diagnostics = std::mem::take(&mut parsed.diagnostics).into_iter().map(|found| found.at(&path)).collect();
    }
    to_python(py, &ParsedRow::of(&parsed, &bytes))
}

fn read_file(path: &Path) -> Result<Vec<u8>, FileError> {
    let path = skillcue_host::absolute(path);
    let (dir, name) = (path.parent().unwrap_or(&path), path.file_name().unwrap_or_default().to_string_lossy());
    let skill = dir.file_name().unwrap_or_default().to_string_lossy();
    SkillDir::open(&skill, dir)?.read(&name, MAX_FILE)
}

fn raised(py: Python<'_>, error: FileError) -> PyErr {
    Failure::from(skillcue::Error::from(error)).raised(py)
}

/// Returns the number of tokens of a text, as a counter estimates it.
#[pyfunction]
pub(crate) fn count_tokens(py: Python<'_>, text: &str, counter: &str) -> PyResult<usize> {
    let counted = detached(py, || {
        let counter = counter_of(counter)?.counter().map_err(|error| Failure::from(skillcue::Error::from(error)))?;
        Ok(counter.count(text).0)
    });
    counted.map_err(|failure: Failure| failure.raised(py))
}
