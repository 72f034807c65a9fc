//! Completion of what a person types: a prompt's arguments, a template's variables.

use rmcp::ErrorData;
use rmcp::model::{CompleteRequestParams, CompleteResult, CompletionInfo, Reference};
use skillfold::{ListLimits, SkillDir};

use super::resources::{FILE_TEMPLATE, SKILL_TEMPLATE};
use super::view::{View, is_prompt, is_served};
use super::{SkillServer, files, prompts, uris};

impl SkillServer {
    pub(super) async fn completion(&self, request: CompleteRequestParams) -> Result<CompleteResult, ErrorData> {
        let (values, total) = self.blocking(move |_, view| complete(view, &request)).await??;
        let mut completion = CompletionInfo::default();
        completion.has_more = Some(total > values.len());
        completion.total = Some(u32::try_from(total).unwrap_or(u32::MAX));
        completion.values = values;
        Ok(CompleteResult::new(completion))
    }
}

/// What may follow, and how much of it there is in all.
fn complete(view: &View, request: &CompleteRequestParams) -> Result<(Vec<String>, usize), ErrorData> {
    let typed = request.argument.value.as_str();
    match &request.r#ref {
        Reference::Prompt(prompt) => {
            let skill = view.catalog.named(&prompt.name).next().filter(|skill| is_prompt(skill));
            let unknown =
                || ErrorData::invalid_params(format!("there is no prompt {}", files::shown(&prompt.name)), None);
            let skill = skill.ok_or_else(unknown)?;
            if request.argument.name != prompts::ARGUMENT {
                return Ok((Vec::new(), 0));
            }
            let hint = skill.manifest().argument_hint().unwrap_or_default();
            Ok(limited(alternatives(hint).filter(|word| word.starts_with(typed)).map(str::to_owned).collect()))
        }
        Reference::Resource(template) => match (template.uri.as_str(), request.argument.name.as_str()) {
            (SKILL_TEMPLATE | FILE_TEMPLATE, "skill") => Ok(view.places(typed, CompletionInfo::MAX_VALUES)),
            (FILE_TEMPLATE, "file") => {
                let skill = request.context.as_ref().and_then(|context| context.get_argument("skill"));
                Ok(limited(skill.map(|skill| files_of(view, skill, typed)).unwrap_or_default()))
            }
            _ => Ok((Vec::new(), 0)),
        },
        _ => Ok((Vec::new(), 0)),
    }
}

fn limited(mut values: Vec<String>) -> (Vec<String>, usize) {
    let total = values.len();
    values.truncate(CompletionInfo::MAX_VALUES);
    (values, total)
}

/// The files of the skill at a path that start with what was typed.
fn files_of(view: &View, path: &str, typed: &str) -> Vec<String> {
    let name = path.rsplit('/').next().unwrap_or(path);
    let skill = view.catalog.named(name).next();
    let Some(skill) = skill.filter(|skill| is_served(skill) && uris::path(skill).as_deref() == Some(path)) else {
        return Vec::new();
    };
    let listed = SkillDir::open(skill.name(), &skill.dir()).and_then(|dir| dir.list(&ListLimits::default()));
    let all = listed.map(|listing| listing.files).unwrap_or_default();
    all.into_iter().map(|file| file.path).filter(|path| path.starts_with(typed)).collect()
}

/// The alternatives that an argument hint spells out: `[add|remove|list] <a|b>` has five.
fn alternatives(hint: &str) -> impl Iterator<Item = &str> {
    let groups = hint.split(['[', ']', '<', '>', '(', ')', '{', '}', ' ', '\t', ',']);
    let words = groups.filter(|group| group.contains('|')).flat_map(|group| group.split('|'));
    words.map(|word| word.trim().trim_matches(['"', '\'', '`'])).filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::alternatives;

    #[test]
    fn finds_what_a_hint_spells_out() {
        let all = |hint| alternatives(hint).collect::<Vec<_>>();
        assert_eq!(all("[add|remove|list]"), ["add", "remove", "list"]);
        assert_eq!(all("<on|off> [FILE]"), ["on", "off"]);
        assert_eq!(all("[\"a\"|'b']"), ["a", "b"]);
        assert_eq!(all("[file] [pages]"), Vec::<&str>::new());
        assert_eq!(all(""), Vec::<&str>::new());
    }
}
