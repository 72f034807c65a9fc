//! The sentences of a hook, in the words of each client.

use skillcue::disclose::LoadAdvice;
use skillcue::select::ReasonKind;
use skillcue::{Hit, Skill};
use skillcue_base::shown_path;

use super::{HookAdapter, HookOptions};

/// The number of characters of a reason that are repeated.
const MAX_REASON: usize = 60;
/// The number of bytes of the line with paths.
pub(super) const MAX_FILES_LINE: usize = 600;

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
            Some(tool) => format!("load it with the {tool} tool, or read its file"),
            None => "read its file".to_owned(),
        };
        LoadAdvice {
            rest: "Read {file} for the rest.".into(),
            part: "Read {file} for the rest.".into(),
            file: "They are in {dir}.".into(),
            one: format!("To use one, {load}.").into(),
            names: format!("If one fits, {load}; otherwise ignore them.").into(),
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

    /// Returns one line that names skills: those that fit, or those that may.
    pub(super) fn names(&self, skills: &[&Skill], are_sure: bool) -> String {
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
