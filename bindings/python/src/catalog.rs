//! `NativeCatalog`: one catalog, whose skills become objects once.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pyo3::prelude::*;
use serde::Serialize;
use skillcue::{Catalog, Diagnostic, Skill};

use crate::rows::SkillRow;
use crate::value::to_python;

/// A catalog, which never changes.
#[pyclass(frozen, module = "skillcue._native")]
pub(crate) struct NativeCatalog(Arc<Catalog>);

/// Name and description; hidden from models, enabled, available, shadowed.
type BriefTuple<'c> = (&'c str, Cow<'c, str>, bool, bool, bool, bool);

#[derive(Serialize)]
struct InvalidRow<'i> {
    name: Option<&'i str>,
    dir: String,
    path: String,
    diagnostics: &'i [Diagnostic],
}

impl NativeCatalog {
    pub(crate) fn new(catalog: Arc<Catalog>) -> NativeCatalog {
        NativeCatalog(catalog)
    }

    /// Returns whether it is this very catalog.
    pub(crate) fn is(&self, catalog: &Arc<Catalog>) -> bool {
        Arc::ptr_eq(&self.0, catalog)
    }
}

#[pymethods]
impl NativeCatalog {
    #[getter]
    fn generation(&self) -> String {
        self.0.generation().to_string()
    }

    /// Returns the number of all skills, also of those that are disabled or shadowed.
    fn __len__(&self) -> usize {
        self.0.all().len()
    }

    /// Returns the fields of one skill that programs look at for every skill, which costs less than all of them: name,
    /// description, and whether it is hidden from models, enabled, available and shadowed.
    fn brief(&self, position: usize) -> Option<BriefTuple<'_>> {
        let skill = self.0.all().get(position)?;
        let (description, is_hidden) = if let Some(summary) = skill.summary() {
            (Cow::Borrowed(summary.description), false)
        } else {
            let manifest = skill.make_manifest();
            (Cow::Owned(manifest.description().to_owned()), manifest.disable_model_invocation())
        };
        Some((skill.name(), description, is_hidden, skill.enabled(), skill.available(), skill.shadowed()))
    }

    /// Returns the fields of one skill.
    fn row<'py>(&self, py: Python<'py>, position: usize) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.0.all().get(position).map(|skill| row(py, skill)).transpose()
    }

    /// Returns the place of the skill that an address means.
    fn position(&self, address: &str) -> Option<usize> {
        let found = self.0.get(address)?;
        self.0.all().iter().position(|skill| std::ptr::eq(&raw const **skill, &raw const *found))
    }

    fn close_names(&self, name: &str) -> Vec<&str> {
        self.0.close_names(name)
    }

    /// Returns the front matter of a skill as its author wrote it.
    fn raw<'py>(&self, py: Python<'py>, position: usize) -> PyResult<Option<Bound<'py, PyAny>>> {
        let skill = self.0.all().get(position);
        skill.and_then(|skill| skill.raw()).map(|raw| to_python(py, &raw)).transpose()
    }

    /// Returns the findings, all of them or those about one directory.
    #[pyo3(signature = (below=None))]
    fn diagnostics<'py>(&self, py: Python<'py>, below: Option<PathBuf>) -> PyResult<Bound<'py, PyAny>> {
        let concerned = |found: &&Diagnostic| match (&below, &found.path) {
            (None, _) => true,
            (Some(below), Some(path)) => path.starts_with(below),
            (Some(_), None) => false,
        };
        to_python(py, &self.0.diagnostics().iter().filter(concerned).collect::<Vec<_>>())
    }

    fn invalid<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let text = |path: &Path| path.to_string_lossy().into_owned();
        let rows: Vec<InvalidRow<'_>> = self
            .0
            .invalid()
            .iter()
            .map(|invalid| InvalidRow {
                name: invalid.name.as_deref(),
                dir: text(&invalid.dir),
                path: text(&invalid.path),
                diagnostics: &invalid.diagnostics,
            })
            .collect();
        to_python(py, &rows)
    }
}

fn row<'py>(py: Python<'py>, skill: &Skill) -> PyResult<Bound<'py, PyAny>> {
    let manifest = skill.make_manifest();
    to_python(py, &SkillRow::of(skill, &manifest))
}
