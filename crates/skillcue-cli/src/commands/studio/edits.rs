//! Another description in a skill's file: shown as a diff first, then written, every other byte as it is.

use std::path::PathBuf;

use serde_json::{Value, json};
use skillcue::{Skillcue, Source};
use skillcue_base::{Digest, hex, rewrite_file};
use skillcue_format::{FileKind, MatchingEdit};
use skillcue_registry::unified;

use crate::context::Context;
use crate::error::CliError;
use crate::skill_file;

/// A skill's file before and after a change.
struct FileEdit {
    path: PathBuf,
    old: Vec<u8>,
    new: Vec<u8>,
}

impl FileEdit {
    fn of(skills: &Skillcue, name: &str, description: &str) -> Result<FileEdit, CliError> {
        skills.check_known(name)?;
        let catalog = skills.catalog();
        let Some(skill) = catalog.get(name) else {
            return Err(CliError::failure("not_found", format!("no skill is called {name:?}")));
        };
        if skill.server().is_some() || skill.source() == Source::Bundled {
            let message = format!("{name:?} is not yours to change: it is {}", skill.source());
            return Err(CliError::failure("not_editable", message).help("copy it into a directory of your own first"));
        }
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
        Ok(FileEdit { path, old, new })
    }

    fn digest(&self) -> String {
        hex(Digest::of(&self.old).as_bytes())
    }
}

/// Returns the change of a skill's file, without writing it.
pub(super) fn preview(skills: &Skillcue, name: &str, description: &str, context: &Context) -> Result<Value, CliError> {
    let edit = FileEdit::of(skills, name, description)?;
    let (old, new) = (String::from_utf8_lossy(&edit.old), String::from_utf8_lossy(&edit.new));
    let diff = unified(&old, &new);
    Ok(json!({"path": context.short_path(&edit.path), "diff": diff, "before": edit.digest()}))
}

/// Writes the change of a skill's file, unless the file is not the one that the preview was about.
pub(super) fn save(
    skills: &Skillcue,
    name: &str,
    description: &str,
    before: &str,
    context: &Context,
) -> Result<Value, CliError> {
    let edit = FileEdit::of(skills, name, description)?;
    if edit.digest() != before {
        let message = format!("{} has changed since you looked at the difference", context.short_path(&edit.path));
        return Err(CliError::failure("changed", message).help("look at the difference again"));
    }
    rewrite_file(&edit.path, &edit.new).map_err(|error| CliError::write(&edit.path, &error))?;
    skills.refresh();
    Ok(json!({"path": context.short_path(&edit.path), "bytes": edit.new.len()}))
}
