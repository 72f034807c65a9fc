//! Paths of skills' files in the arguments of tools.

use skillcue::usage::UsageKind;

/// The most of an argument that is looked through, in bytes. Longer ones are content.
pub(super) const MAX_ARGUMENT: usize = 4 << 10;

/// A file of a skill that a command or a tool names.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct SkillPath {
    pub(super) skill: String,
    /// The path below the skill.
    pub(super) path: String,
}

impl SkillPath {
    /// Returns the kind of use, if the file was read.
    pub(super) fn read(&self) -> UsageKind {
        if self.path == "SKILL.md" { UsageKind::Loaded } else { UsageKind::FileRead }
    }

    /// Returns the file as the ledger has it: none for the skill file itself.
    pub(super) fn item(&self) -> Option<String> {
        (self.path != "SKILL.md").then(|| self.path.clone())
    }
}

/// Returns whether a text may be the name of a skill, with or without that of its plugin.
pub(super) fn is_name(text: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | ':' | '.');
    !text.is_empty() && text.len() <= 128 && text.chars().all(is_part) && text.starts_with(char::is_alphanumeric)
}

/// Returns whether a character ends a path within a text.
fn ends_path(c: char) -> bool {
    c.is_whitespace() || "\"'`;|&()[]{}<>,=\\".contains(c)
}

/// Returns the file of a skill that a path leads to: whatever is below a directory called `skills`, and a `SKILL.md` anywhere.
pub(super) fn skill_file(path: &str) -> Option<SkillPath> {
    let parts: Vec<&str> = path.split('/').collect();
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
    let (name, path) = (parts[start], parts[start + 1..].join("/"));
    let is_below = is_name(name) && !path.is_empty() && !path.split('/').any(|part| part == "..");
    is_below.then(|| SkillPath { skill: name.to_owned(), path })
}

/// Returns the files of skills that a text names.
pub(super) fn skill_files(text: &str) -> Vec<SkillPath> {
    let mut files = Vec::new();
    for file in text[..text.floor_char_boundary(MAX_ARGUMENT)].split(ends_path).filter_map(skill_file) {
        if !files.contains(&file) {
            files.push(file);
        }
    }
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_skills_are_found_in_commands() {
        let found = |text: &str| {
            let files = skill_files(text).into_iter().map(|file| format!("{} {}", file.skill, file.path));
            files.collect::<Vec<_>>()
        };
        assert_eq!(found("sed -n '1,200p' /home/a/.codex/skills/pdf/SKILL.md"), ["pdf SKILL.md"]);
        assert_eq!(found("cat r0/imagegen/SKILL.md"), ["imagegen SKILL.md"]);
        assert_eq!(found("python /x/.claude/skills/pdf/scripts/fill.py a.pdf"), ["pdf scripts/fill.py"]);
        assert_eq!(found("/x/.codex/skills/.system/imagegen/SKILL.md"), ["imagegen SKILL.md"]);
        assert_eq!(found("ls /home/a/skills /home/a/skills/pdf"), [""; 0]);
        assert_eq!(found("cat skills/pdf/../../etc/passwd"), [""; 0]);
    }
}
