//! The scripts of a skill, with their descriptions. Runs nothing.

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use serde::Serialize;
use skillcue_base::ErrorInfo as _;
use skillcue_catalog::{FileListing, ListedFile, SkillDir, TreeLimits};
use skillcue_format::Manifest;
use std::collections::BTreeMap;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;

use crate::comment;
use crate::interpreter::InterpreterSpec;
use crate::request::RunRequest;
use crate::result::RunError;

/// Bytes of a file that are read for its first line and its first comment.
const MAX_HEAD: u64 = 16 * 1024;

/// Levels of directories below `scripts/` in which files are looked for.
const MAX_DEPTH: usize = 4;

/// Files in `scripts/` that are looked at; a skill that has more has something else there.
const MAX_FILES: usize = 1000;

/// One script of a skill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ScriptInfo {
    /// Its path below the skill's directory.
    pub path: String,
    /// Its description: of the manifest, else its first comment.
    pub description: Option<String>,
    /// The interpreter that runs it; `native`, if it is a program itself.
    pub interpreter: String,
    #[serde(skip)]
    pub(crate) spec: InterpreterSpec,
    #[serde(skip)]
    pub(crate) head: String,
}

/// Returns the scripts of a skill, sorted by path: those the manifest names, and those in `scripts/` that have a known
/// extension, a `#!` line or the right to be executed, without those in `scripts_ignore`.
///
/// ```
/// use skillcue_catalog::SkillDir;
/// use skillcue_format::{FileKind, Parsed};
///
/// let tmp = tempfile::tempdir()?;
/// std::fs::create_dir(tmp.path().join("scripts"))?;
/// std::fs::write(tmp.path().join("scripts/count.py"), "\"\"\"Counts the pages of a file.\"\"\"\nimport sys\n")?;
/// std::fs::write(tmp.path().join("scripts/notes.txt"), "no script\n")?;
///
/// let manifest = Parsed::of(b"---\nname: pdf\ndescription: Reads.\n---\n", FileKind::Markdown).manifest.unwrap();
/// let scripts = skillcue_exec::scripts(&SkillDir::open("pdf", tmp.path())?, &manifest);
/// assert_eq!(scripts.len(), 1);
/// assert_eq!(scripts[0].path, "scripts/count.py");
/// assert_eq!(scripts[0].description.as_deref(), Some("Counts the pages of a file."));
/// assert_eq!(scripts[0].interpreter, "python3");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn scripts(dir: &SkillDir, manifest: &Manifest) -> Vec<ScriptInfo> {
    let mut found: BTreeMap<String, ScriptInfo> = BTreeMap::new();
    let ignored = ignore_patterns(manifest);
    let limits =
        TreeLimits { max_files: MAX_FILES, max_bytes: u64::MAX, max_depth: MAX_DEPTH, ..TreeLimits::default() };
    let listed = dir.list_below("scripts", &limits).unwrap_or_default();
    for ListedFile { path, .. } in listed.files.into_iter().filter(|file| may_be_script(&file.path, &ignored)) {
        if let Some(info) = read_script(dir, &path, None) {
            found.insert(path, info);
        }
    }
    for named in manifest.scripts() {
        let Ok(path) = SkillDir::normalize(dir.skill(), &named.path) else { continue };
        let description = named.description.as_deref().map(str::to_owned);
        if let Some(info) = read_script(dir, &path, description) {
            found.insert(path, info);
        } else {
            tracing::debug!(skill = dir.skill(), path, "the manifest names a script that cannot be run");
        }
    }
    found.into_values().collect()
}

/// Returns the script that a request means, among those that the skill has.
///
/// ```
/// use skillcue_catalog::SkillDir;
/// use skillcue_exec::{RunRequest, find_script};
/// use skillcue_format::{FileKind, Parsed};
///
/// let tmp = tempfile::tempdir()?;
/// std::fs::create_dir(tmp.path().join("scripts"))?;
/// std::fs::write(tmp.path().join("scripts/now.sh"), "#!/bin/sh\n")?;
/// let dir = SkillDir::open("weather", tmp.path())?;
/// let text = "---\nname: weather\ndescription: Tells it.\n---\n";
/// let manifest = Parsed::of(text.as_bytes(), FileKind::Markdown).manifest.unwrap();
/// assert_eq!(find_script(&RunRequest::new(&dir, &manifest, "now.sh"))?.path, "scripts/now.sh");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn find_script(request: &RunRequest<'_>) -> Result<ScriptInfo, RunError> {
    let path = SkillDir::normalize(request.dir.skill(), request.script)?;
    let mut listed = scripts(request.dir, request.manifest);
    let short = format!("scripts/{path}");
    let found = listed.iter().position(|it| it.path == path).or_else(|| listed.iter().position(|it| it.path == short));
    if let Some(at) = found {
        return Ok(listed.swap_remove(at));
    }
    // A link that leads out is not listed; a request for it gets the reason.
    if let Err(error) = request.dir.open_file(&path)
        && error.code() == "security"
    {
        return Err(error.into());
    }
    let mut close: Vec<(f64, String)> = listed
        .into_iter()
        .map(|it| {
            let name = it.path.rsplit('/').next().unwrap_or(&it.path);
            let likeness = strsim::jaro_winkler(&it.path, &path).max(strsim::jaro_winkler(name, &path));
            (likeness, it.path)
        })
        .filter(|(likeness, _)| *likeness > 0.75)
        .collect();
    close.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    let close = close.into_iter().take(3).map(|(_, path)| path).collect();
    Err(RunError::NotFound { skill: request.dir.skill().to_owned(), script: path, close })
}

/// Returns whether [`scripts`] would find any. `files` are the skill's, if they have been listed.
pub(crate) fn has_scripts(dir: &SkillDir, manifest: &Manifest, files: Option<&FileListing>) -> bool {
    // A listing that stopped early may lack some.
    let Some(files) = files.filter(|files| files.stopped.is_none()) else { return !scripts(dir, manifest).is_empty() };
    let ignored = ignore_patterns(manifest);
    let is_near = |path: &str| path.starts_with("scripts/") && path.matches('/').count() <= MAX_DEPTH + 1;
    let mut paths = files.files.iter().map(|file| file.path.as_str());
    let mut named = manifest.scripts().iter().filter_map(|named| SkillDir::normalize(dir.skill(), &named.path).ok());
    paths.any(|path| is_near(path) && may_be_script(path, &ignored) && read_script(dir, path, None).is_some())
        || named.any(|path| read_script(dir, &path, None).is_some())
}

/// Returns whether a file in `scripts/` is neither a module nor left out by the manifest.
fn may_be_script(path: &str, ignored: &GlobSet) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let below = path.strip_prefix("scripts/").unwrap_or(path);
    let is_module = name == "__init__.py" || name.starts_with('.') || path.contains("__pycache__");
    !is_module && ![name, below, path].iter().any(|it| ignored.is_match(it))
}

fn ignore_patterns(manifest: &Manifest) -> GlobSet {
    let mut set = GlobSetBuilder::new();
    for pattern in manifest.scripts_ignore() {
        match GlobBuilder::new(pattern).literal_separator(true).build() {
            Ok(glob) => drop(set.add(glob)),
            Err(error) => tracing::debug!(pattern, %error, "scripts_ignore holds something that is no pattern"),
        }
    }
    set.build().unwrap_or_default()
}

/// Reads the file at `path`, if it is a script.
fn read_script(dir: &SkillDir, path: &str, description: Option<String>) -> Option<ScriptInfo> {
    let opened = dir.open_file(path).ok()?;
    let executable = opened.file.metadata().is_ok_and(|metadata| metadata.permissions().mode() & 0o111 != 0);
    let mut head = Vec::new();
    opened.file.take(MAX_HEAD).read_to_end(&mut head).ok()?;
    let spec = InterpreterSpec::of(path, &head, executable)?;
    let head =
        if spec == InterpreterSpec::Native { String::new() } else { String::from_utf8_lossy(&head).into_owned() };
    let description = description.or_else(|| comment::first_comment(path, &head));
    Some(ScriptInfo { path: path.to_owned(), description, interpreter: spec.word().to_owned(), spec, head })
}

#[cfg(test)]
mod tests {
    use super::*;
    use skillcue_format::{FileKind, Parsed};
    use std::fs;

    fn manifest(fields: &str) -> Manifest {
        let text = format!("---\nname: x\ndescription: Does x.\n{fields}---\n");
        Parsed::of(text.as_bytes(), FileKind::Markdown).manifest.unwrap()
    }

    #[test]
    fn scripts_are_found_by_extension_first_line_and_right_to_execute() {
        let tmp = tempfile::tempdir().unwrap();
        let at = |path: &str| tmp.path().join(path);
        fs::create_dir_all(at("scripts/sub")).unwrap();
        fs::write(at("scripts/a.py"), "# Does a.\n").unwrap();
        fs::write(at("scripts/b"), "#!/usr/bin/env -S python3 -u\n# Does b.\n").unwrap();
        fs::write(at("scripts/c"), "echo no\n").unwrap();
        fs::write(at("scripts/sub/d.mjs"), "// Does d.\n").unwrap();
        fs::write(at("scripts/__init__.py"), "").unwrap();
        fs::write(at("scripts/helper_test.py"), "").unwrap();
        fs::write(at("scripts/native"), [0x7f, b'E', b'L', b'F', 0, 1]).unwrap();
        fs::set_permissions(at("scripts/native"), fs::Permissions::from_mode(0o755)).unwrap();
        fs::write(at("main.rb"), "# Does main.\n").unwrap();
        std::os::unix::fs::symlink("/etc/passwd", at("scripts/out.sh")).unwrap();
        let manifest = manifest(
            "scripts:\n  - path: main.rb\n    description: The main thing.\n  - ../out.py\nscripts_ignore: ['*_test.py']\n",
        );
        let listed = scripts(&SkillDir::open("x", tmp.path()).unwrap(), &manifest);
        let seen: Vec<_> =
            listed.iter().map(|it| (it.path.as_str(), it.description.as_deref(), it.interpreter.as_str())).collect();
        assert_eq!(
            seen,
            [
                ("main.rb", Some("The main thing."), "ruby"),
                ("scripts/a.py", Some("Does a."), "python3"),
                ("scripts/b", Some("Does b."), "python3"),
                ("scripts/native", None, "native"),
                ("scripts/sub/d.mjs", Some("Does d."), "node"),
            ]
        );
    }
}
