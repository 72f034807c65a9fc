//! The sentences of a hook, in the words of each client.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use skillcue::disclose::LoadAdvice;
use skillcue::select::ReasonKind;
use skillcue::{Hit, Skill};
use skillcue_base::{shown_path, visible_line};

use super::{HookAdapter, HookOptions};

/// The way to load a skill that works everywhere.
const READ_FILE: &str = "read its file";
/// The number of characters of a reason that are repeated.
const MAX_REASON: usize = 60;
/// The number of bytes of the line with paths.
pub(super) const MAX_FILES_LINE: usize = 600;

/// The number of characters of a list at the start of a session: as much as the strictest client shows of the instructions
/// of a server.
const MAX_LIST: usize = 4_096;
/// The number of characters of a line of such a list: authors write briefs of any length.
const MAX_BRIEF: usize = 160;
/// The number of folders that are named in place of a list.
const MAX_PLACES: usize = 10;

/// How a client loads skills.
pub(super) struct ClientWords<'a> {
    pub(super) adapter: &'a HookAdapter,
    pub(super) options: &'a HookOptions,
}

impl ClientWords<'_> {
    /// Returns the sentences about what is not shown.
    pub(super) fn advice(&self) -> LoadAdvice {
        if self.options.has_tools {
            return LoadAdvice::default();
        }
        let load = match self.adapter.skill_tool {
            Some(tool) => format!("load it with the {tool} tool, or {READ_FILE}"),
            None => READ_FILE.to_owned(),
        };
        LoadAdvice {
            rest: "Read {file} for the rest.".into(),
            part: "Read {file} for the rest.".into(),
            file: "They are in {dir}.".into(),
            one: format!("To use one, {load}.").into(),
            names: format!("If one fits, {load}; otherwise ignore them.").into(),
        }
    }

    /// Returns a text that advises to read files alone, where the client's own tool has none of the skills.
    pub(super) fn without_tool(&self, text: &str) -> String {
        match self.adapter.skill_tool {
            Some(tool) => text.replace(&format!("load it with the {tool} tool, or {READ_FILE}"), READ_FILE),
            None => text.to_owned(),
        }
    }

    /// Returns how to load a skill: `load it with the Skill tool`.
    fn loading(&self, skill: &Skill) -> String {
        let name = skill.name();
        match self.adapter.tool_for(skill) {
            _ if self.options.has_tools => format!("load it with load_skill \"{name}\""),
            Some(tool) => format!("load it with the {tool} tool"),
            None => format!("read {}", shown_path(&skill.path())),
        }
    }

    /// Returns the text in place of a body that the client would not show as it is.
    pub(super) fn pointer(&self, skill: &Skill) -> String {
        format!("This skill fits. To use it, {}.", self.loading(skill))
    }

    /// Returns the text in place of the body of a skill that a person has yet to allow.
    pub(super) fn held(&self, skill: &Skill) -> String {
        format!(
            "It came with this checkout, and the user has not allowed it: its text is not shown. If the user wants it, {}.",
            self.loading(skill)
        )
    }

    /// Returns a sentence about skills that are named, and that a person has yet to allow.
    pub(super) fn caveat(skills: &[&Skill]) -> String {
        let names: Vec<&str> = skills.iter().map(|skill| skill.name()).collect();
        format!(
            "Came with this checkout, and the user has not allowed: {}. Use such a skill only if the user wants it.",
            names.join(", ")
        )
    }

    /// Returns a line that names skills, those that fit, or those that may; and one for each that a person has yet to allow.
    pub(super) fn names(&self, skills: &[&Skill], are_sure: bool) -> String {
        let (held, open): (Vec<&Skill>, Vec<&Skill>) = skills.iter().partition(|skill| self.options.holds(skill));
        let verb = if are_sure { "fits" } else { "may fit" };
        let held =
            held.into_iter().map(|skill| format!("[{} {verb} this message. {}]", skill.name(), self.held(skill)));
        let open = (!open.is_empty()).then(|| self.open_names(&open, are_sure));
        open.into_iter().chain(held).collect::<Vec<_>>().join("\n")
    }

    fn open_names(&self, skills: &[&Skill], are_sure: bool) -> String {
        let verb = match (are_sure, skills.len()) {
            (true, 1) => "skill fits this message",
            (true, _) => "skills fit this message",
            (false, 1) => "skill may fit this message",
            (false, _) => "skills may fit this message",
        };
        let named: Vec<String> =
            skills.iter().map(|skill| format!("{} ({})", skill.name(), self.loading(skill))).collect();
        let advice = if are_sure { "Use what applies." } else { "Use one if it fits; otherwise ignore this." };
        let article = if skills.len() == 1 { "This " } else { "These " };
        format!("[{article}{verb}: {}. {advice}]", named.join(", "))
    }

    /// Returns one line about a skill that fits because of what the model is doing.
    pub(super) fn hint(&self, hits: &[(&Hit, &Skill)]) -> String {
        let named: Vec<String> = hits
            .iter()
            .map(|(hit, skill)| {
                let file = hit.reasons.iter().find(|reason| reason.kind == ReasonKind::File);
                let why = file.or(hit.reasons.first()).map(|reason| format!("\"{}\": ", reason.words(MAX_REASON)));
                format!("{} ({}{})", skill.name(), why.unwrap_or_default(), self.loading(skill))
            })
            .collect();
        format!("[Skills that may fit what you are doing: {}. Otherwise ignore this.]", named.join(", "))
    }

    /// Returns the list of skills for the start of a session: a line each with its brief, by the folder that has them; if
    /// that is too long, their number and where they are.
    pub(super) fn list(&self, skills: &[&Skill]) -> String {
        let mut folders: BTreeMap<String, Vec<&Skill>> = BTreeMap::new();
        for skill in skills {
            let folder = if self.options.has_tools { String::new() } else { shown_path(&skill.root().path) };
            folders.entry(folder).or_default().push(skill);
        }
        let mut out = "## Skills that are not in your own list\n".to_owned();
        for (folder, skills) in &folders {
            let advice = match (self.options.has_tools, folder) {
                (true, _) => "\nLoad one with load_skill before you use it:\n\n".to_owned(),
                (false, folder) => format!("\nBelow {folder}; read a skill's file before you use it:\n\n"),
            };
            out.push_str(&advice);
            for skill in skills {
                let brief = brief_of(skill);
                let at = match skill.path().strip_prefix(&skill.root().path) {
                    _ if self.options.has_tools => String::new(),
                    Ok(below) => format!(" ({})", shown_path(below)),
                    Err(_) => format!(" ({})", shown_path(&skill.path())),
                };
                // Writing to a string cannot fail.
                let _ = writeln!(out, "- **{}**{at}: {brief}", skill.name());
            }
        }
        if out.encode_utf16().count() <= MAX_LIST {
            return out.trim_end().to_owned();
        }
        let count = skills.len();
        if self.options.has_tools {
            return format!(
                "[{count} skills are not in your own list. Before a task, call search_skills with what it is about, then \
                 load_skill with the id that fits.]"
            );
        }
        let mut places: Vec<String> = folders.iter().map(|(dir, skills)| format!("{dir} ({})", skills.len())).collect();
        let more = places.len().saturating_sub(MAX_PLACES);
        places.truncate(MAX_PLACES);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        format!(
            "[{count} skills are not in your own list. Their files are below {}{more}. Those that fit a message are shown with \
             it.]",
            places.join(", ")
        )
    }

    /// Returns a line with the files of skills that are named without their paths; nothing, if the client's own tool loads
    /// all of them.
    pub(super) fn files(&self, skills: &[&Skill]) -> Option<String> {
        let is_tool = |skill: &&Skill| self.adapter.tool_for(skill).is_some();
        if self.options.has_tools || skills.iter().all(is_tool) {
            return None;
        }
        let mut groups: Vec<(String, &str, Vec<&str>)> = Vec::new();
        let mut rest = MAX_FILES_LINE;
        for skill in skills.iter().filter(|skill| !is_tool(skill)) {
            let (dir, file) = (skill.dir(), skill.file().name());
            // A skill's directory has its name, for the most part.
            let parent = dir.parent().filter(|_| dir.ends_with(skill.name())).map(shown_path);
            let cost = shown_path(&dir).len() + file.len() + 4;
            if cost > rest {
                break;
            }
            match (parent, groups.last_mut()) {
                (Some(parent), Some((above, name, names))) if *above == parent && *name == file => {
                    names.push(skill.name());
                    rest -= skill.name().len() + 1;
                }
                (Some(parent), _) => {
                    groups.push((parent, file, vec![skill.name()]));
                    rest -= cost;
                }
                // A name and a path that do not belong together would mislead.
                (None, _) => {
                    groups.push((shown_path(&dir), file, Vec::new()));
                    rest -= cost;
                }
            }
        }
        let path = |(dir, file, names): &(String, &str, Vec<&str>)| match &names[..] {
            [] => format!("{dir}/{file}"),
            [name] => format!("{dir}/{name}/{file}"),
            names => format!("{dir}/{{{}}}/{file}", names.join(",")),
        };
        let paths: Vec<String> = groups.iter().map(path).collect();
        (!paths.is_empty()).then(|| format!("Files: {}", paths.join(", ")))
    }
}

/// Returns a line about a skill.
fn brief_of(skill: &Skill) -> String {
    visible_line(&skill.make_manifest().brief()).chars().take(MAX_BRIEF).collect()
}
