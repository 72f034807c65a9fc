//! Three small skills: forms by a file, hikes by a keyword, invoices by their text.

use std::fs;
use std::path::Path;

use skillcue::Skillcue;

pub(crate) fn write(dir: &Path, name: &str, fields: &str, body: &str) -> std::io::Result<()> {
    fs::create_dir_all(dir.join(name))?;
    fs::write(dir.join(name).join("SKILL.md"), format!("---\nname: {name}\n{fields}---\n{body}\n"))
}

pub(crate) const FORMS: &str = "description: Fills in tax forms. Use when a form has to be filled in.\nmetadata:\n  triggers:\n    \
                     files: ['*.pdf']\n";
pub(crate) const HIKES: &str = "description: Plans hikes in the Alps. Use when someone wants to go hiking.\nmetadata:\n  \
                     triggers:\n    keywords: [hike]\n";
pub(crate) const INVOICES: &str =
    "description: Writes invoices and reminders for customers. Use for unpaid invoices.\n";

pub(crate) fn tree() -> tempfile::TempDir {
    let dir = tempfile::tempdir().expect("a directory for skills");
    for (name, fields) in [("forms", FORMS), ("hikes", HIKES), ("invoices", INVOICES)] {
        write(dir.path(), name, fields, "Do it well.").expect("a skill");
    }
    dir
}

pub(crate) fn skills(dir: &Path) -> Skillcue {
    Skillcue::builder().skills_dir(dir).build().expect("the skills")
}
