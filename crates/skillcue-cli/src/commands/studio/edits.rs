//! Another description in a skill's file: shown as a diff first, then written, every other byte as it is.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use skillcue::{Skill, Skillcue, Source};
use skillcue_base::{Digest, hex, rewrite_file};
use skillcue_format::{FileKind, MatchingEdit};
use skillcue_registry::unified;

use crate::consent::is_current;
use crate::context::Context;
use crate::error::CliError;
use crate::skill_file;

/// A skill's file before and after a change.
struct FileEdit {
    path: PathBuf,
    /// The file that is written, if a link leads to it from the skill's directory.
    target: Option<PathBuf>,
    /// The kinds of consent that count for the content as it is, and lapse with the change.
    lapses: Vec<&'static str>,
    old: Vec<u8>,
    new: Vec<u8>,
}

impl FileEdit {
    fn of(skills: &Skillcue, name: &str, description: &str, context: &Context) -> Result<FileEdit, CliError> {
        skills.check_known(name)?;
        let catalog = skills.catalog();
        let Some(skill) = catalog.get(name) else {
            return Err(CliError::failure("not_found", format!("no skill is called {name:?}")));
        };
        check_own(skill, context)?;
        let path = skill.path();
        let old = skill_file::read(&path).map_err(|found| CliError::of_finding(&found))?;
        if skill.file().kind() != FileKind::Markdown {
            let message = format!("{name:?} is described by a {}, which is not edited here", skill.file().name());
            return Err(CliError::failure("not_editable", message).help("change the file by hand"));
        }
        let edit = MatchingEdit { description: Some(description.trim().to_owned()), ..MatchingEdit::default() };
        let new = edit.apply(&old).map_err(|error| {
            CliError::failure("not_editable", format!("the description of {name:?} cannot be changed: {error}"))
                .help("`skillcue lint --fix` repairs YAML; or change the file by hand")
        })?;
        let lapses = if new == old { Vec::new() } else { lapsing(skill, context)? };
        Ok(FileEdit { target: link_target(skill), path, lapses, old, new })
    }

    fn digest(&self) -> String {
        hex(Digest::of(&self.old).as_bytes())
    }
}

/// Refuses skills that are not the user's to change: the next update would take the change back, or call it drift.
fn check_own(skill: &Skill, context: &Context) -> Result<(), CliError> {
    let name = skill.name();
    let refuse = |why: String, help: String| {
        Err(CliError::failure("not_editable", format!("{name:?} is not yours to change: {why}")).help(help))
    };
    let copy = "copy it into a directory of your own first".to_owned();
    if skill.source() == Source::Plugin {
        let plugin = skill.plugin().unwrap_or_default();
        let help = "copy it into a directory of your own, or change it where the plugin comes from";
        return refuse(format!("it belongs to the plugin {plugin:?}, whose updates replace it"), help.to_owned());
    }
    if skill.server().is_some() || matches!(skill.source(), Source::Bundled | Source::Catalog | Source::Mcp) {
        return refuse(format!("it is {}", skill.source()), copy);
    }
    let dir = real(&skill.dir());
    for (registry, source) in context.registries()?.present() {
        for (installed, item) in registry.state().installed {
            if dir.starts_with(real(&registry.dir_of(item.kind, &installed))) {
                let option = if source == Source::Project { " --project" } else { "" };
                let help = format!(
                    "change it at its origin and run `skillcue update{option} {installed}`, or copy it into a directory \
                     of your own and run `skillcue remove{option} {installed}`"
                );
                return refuse(format!("it was installed from {}, and the lock has its digest", item.origin), help);
            }
        }
    }
    Ok(())
}

fn real(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_path_buf())
}

/// Returns the file that a link leads to. Links above the directory of skills do not count: they are where it is.
fn link_target(skill: &Skill) -> Option<PathBuf> {
    let (path, root) = (skill.path(), &skill.root().path);
    let below = path.strip_prefix(root).ok()?;
    let target = path.canonicalize().ok()?;
    (target != real(root).join(below)).then_some(target)
}

/// Returns what a person has allowed for the content of a skill as it is: a change ends it.
fn lapsing(skill: &Skill, context: &Context) -> Result<Vec<&'static str>, CliError> {
    let dir = real(&skill.dir());
    let mut kinds = Vec::new();
    for row in context.host()?.consent_store().list() {
        let is_of_skill = row.subject.skill().is_some() && row.subject.dir() == Some(&*dir);
        if is_of_skill && !kinds.contains(&row.subject.kind()) && is_current(&row, context)? {
            kinds.push(row.subject.kind());
        }
    }
    Ok(kinds)
}

/// Returns the change of a skill's file, without writing it.
pub(super) fn preview(skills: &Skillcue, name: &str, description: &str, context: &Context) -> Result<Value, CliError> {
    let edit = FileEdit::of(skills, name, description, context)?;
    let (old, new) = (String::from_utf8_lossy(&edit.old), String::from_utf8_lossy(&edit.new));
    let diff = unified(&old, &new);
    let target = edit.target.as_deref().map(|target| context.short_path(target));
    Ok(json!({"path": context.short_path(&edit.path), "target": target, "diff": diff, "before": edit.digest(),
        "lapses": edit.lapses}))
}

/// Writes the change of a skill's file, unless the file is not the one that the preview was about.
pub(super) fn save(
    skills: &Skillcue,
    name: &str,
    description: &str,
    before: &str,
    context: &Context,
) -> Result<Value, CliError> {
    let edit = FileEdit::of(skills, name, description, context)?;
    if edit.digest() != before {
        let message = format!("{} has changed since you looked at the difference", context.short_path(&edit.path));
        return Err(CliError::failure("changed", message).help("look at the difference again"));
    }
    rewrite_file(&edit.path, &edit.new).map_err(|error| CliError::write(&edit.path, &error))?;
    skills.refresh();
    Ok(json!({"path": context.short_path(&edit.path), "bytes": edit.new.len(), "lapses": edit.lapses}))
}
