//! Paths of skills' files in the arguments of tools.

use std::path::Path;

use skillcue::usage::UsageKind;

/// The longest path below a skill that the ledger keeps, in bytes.
const MAX_ITEM: usize = 128;
/// The usual directories of a skill.
const USUAL: [&str; 3] = ["scripts/", "references/", "assets/"];
/// A directory whose files have no extension. As a relative path in a command, such a word may be a text.
const PROGRAMS: &str = "bin/";

/// A file of a skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsedFile {
    /// The name of the skill.
    pub skill: String,
    /// The path below the skill; `None` is the skill file itself.
    pub item: Option<String>,
}

impl UsedFile {
    /// Returns the kind of use, if the file was read.
    pub(super) fn read(&self) -> UsageKind {
        if self.item.is_none() { UsageKind::Loaded } else { UsageKind::FileRead }
    }
}

/// Returns whether a text may be the name of a skill, with or without that of its plugin.
pub(crate) fn is_name(text: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | ':' | '.');
    !text.is_empty() && text.len() <= 128 && text.chars().all(is_part) && text.starts_with(char::is_alphanumeric)
}

/// Returns whether a text has the form that the specification demands of a skill's name, behind that of a plugin or not.
pub(crate) fn is_strict_name(text: &str) -> bool {
    let name = text.split_once(':').map_or(text, |(_, name)| name);
    let is_part = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    is_name(text) && name.len() <= 64 && name.chars().all(is_part)
}

/// Returns whether a path depends on the directory of the call, as far as that can be seen.
pub(super) fn is_relative(path: &str) -> bool {
    !path.starts_with(['/', '~', '$'])
}

/// Returns whether a word may be a path as it is.
fn is_plain(word: &str) -> bool {
    word.chars().all(|c| c.is_alphanumeric() || "-_./".contains(c)) && !word.starts_with(['/', '-'])
}

/// Returns whether a word is a relative path of a file with an extension, which has letters only.
pub(super) fn is_file(word: &str) -> bool {
    let name = word.rsplit('/').next().unwrap_or_default();
    let parts = name.rsplit_once('.').filter(|(stem, _)| !stem.trim_matches('.').is_empty());
    let is_extension = |text: &str| !text.is_empty() && text.chars().all(char::is_alphabetic);
    is_plain(word) && parts.is_some_and(|(_, extension)| is_extension(extension))
}

/// Returns whether a word is a path below one of the usual directories of a skill.
pub(super) fn is_usual(word: &str) -> bool {
    let path = word.trim_start_matches("./");
    is_plain(word) && !word.ends_with('/') && USUAL.iter().any(|dir| path.starts_with(dir))
}

/// Returns a path below a skill that a model wrote, as the ledger keeps it: only a relative path without blanks that has an
/// extension or is in one of the usual directories or in `bin`. Anything else may be text.
pub(crate) fn kept_item(written: &str) -> Option<String> {
    let item = written.trim_start_matches("./");
    let is_below = !item.split('/').any(|part| part.is_empty() || part.starts_with('.'));
    let is_program = is_plain(item) && item.starts_with(PROGRAMS);
    (item.len() <= MAX_ITEM && is_below && (is_usual(item) || is_file(item) || is_program)).then(|| item.to_owned())
}

/// Returns the path below the home directory that a word for a shell has.
///
/// ```
/// assert_eq!(skillcue_usage::below_home("~/.claude/skills/pdf/SKILL.md"), Some(".claude/skills/pdf/SKILL.md"));
/// ```
pub fn below_home(written: &str) -> Option<&str> {
    ["~/", "$HOME/", "${HOME}/"].iter().find_map(|sign| written.strip_prefix(sign))
}

/// Returns the file of a skill that a path leads to, by its form: whatever is below a directory called `skills`, and a
/// `SKILL.md` anywhere. If the skill's directory is on this machine, the file is in it; if not, its path has the form of one
/// that is [kept](kept_item).
pub(crate) fn skill_file(path: &str) -> Option<UsedFile> {
    let parts: Vec<&str> = path.split('/').filter(|part| *part != ".").collect();
    // The last `skills` counts: one skill may be in the folder of another program's.
    let below = parts.iter().rposition(|part| *part == "skills").filter(|at| parts.len() > at + 2);
    let mut start = below.map(|at| at + 1).or_else(|| {
        let is_file = parts.last() == Some(&"SKILL.md") && parts.len() >= 2;
        is_file.then(|| parts.len() - 2)
    })?;
    // `skills/.system/name/SKILL.md`
    if parts[start].starts_with('.') && parts.len() > start + 2 {
        start += 1;
    }
    let (name, item) = (parts[start], parts[start + 1..].join("/"));
    let is_below = is_name(name) && !item.is_empty() && !item.contains(char::is_whitespace);
    if !is_below || item.split('/').any(|part| part == ".." || part.is_empty()) {
        return None;
    }
    let dir = parts[..=start].join("/");
    let is_known = dir.starts_with('/') && Path::new(&dir).join("SKILL.md").is_file();
    if is_known && !Path::new(path).is_file() {
        return None;
    }
    if item == "SKILL.md" {
        return Some(UsedFile { skill: name.to_owned(), item: None });
    }
    let item = if is_known { Some(item) } else { kept_item(&item) };
    Some(UsedFile { skill: name.to_owned(), item: Some(item?) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_leads_to_a_file_of_a_skill_by_its_form() {
        let found = |path: &str| {
            let file = skill_file(path)?;
            Some(format!("{} {}", file.skill, file.item.unwrap_or_default()))
        };
        assert_eq!(found("/home/a/.codex/skills/pdf/SKILL.md").as_deref(), Some("pdf "));
        assert_eq!(found("r0/imagegen/SKILL.md").as_deref(), Some("imagegen "));
        assert_eq!(found("/x/.claude/skills/pdf/scripts/fill.py").as_deref(), Some("pdf scripts/fill.py"));
        assert_eq!(found("/x/.codex/skills/.system/imagegen/SKILL.md").as_deref(), Some("imagegen "));
        assert_eq!(found("./skills/pdf/./forms.md").as_deref(), Some("pdf forms.md"));
        for other in [
            "/home/a/skills",
            "/home/a/skills/pdf",
            "skills/pdf/../../etc/passwd",
            "skills/pdf/my dear.md",
            "skills/pdf/scripts",
            "/x/skills/pdf/hunter2",
            "skills/pdf/*.md",
            "skills/pdf/{a,b}.md",
        ] {
            assert_eq!(found(other), None, "{other}");
        }
    }

    #[test]
    fn a_file_is_in_the_skill_if_that_is_on_this_machine() {
        let dir = tempfile::tempdir().unwrap();
        let skill = dir.path().join("skills/pdf");
        std::fs::create_dir_all(&skill).unwrap();
        std::fs::write(skill.join("SKILL.md"), "").unwrap();
        let found = |file: &str| skill_file(&skill.join(file).display().to_string());
        assert_eq!(found("SKILL.md"), Some(UsedFile { skill: "pdf".to_owned(), item: None }));
        assert_eq!(found("hunter2.md"), None);
        assert_eq!(found("scripts"), None, "a directory");
    }

    #[test]
    fn an_item_is_kept_only_if_it_has_the_form_of_a_path() {
        for item in ["forms.md", "scripts/fill", "references/a/b.md", "bin/fill"] {
            assert_eq!(kept_item(item).as_deref(), Some(item));
        }
        assert_eq!(kept_item("./forms.md").as_deref(), Some("forms.md"));
        for text in
            ["", "Mr. Smith", "my secret.md", "hunter2", "../a.md", "/etc/a.md", "a@b.example", ".env.md", "a//b.md"]
        {
            assert_eq!(kept_item(text), None, "{text}");
        }
        assert_eq!(kept_item(&format!("{}.md", "a".repeat(200))), None);
    }

    #[test]
    fn a_strict_name_is_one_of_the_specification() {
        assert!(is_strict_name("pdf-forms") && is_strict_name("office:pdf-2"));
        for text in ["Pdf", "j.doe", "a b", "", "-", &"a".repeat(65)] {
            assert!(!is_strict_name(text), "{text}");
        }
    }
}
