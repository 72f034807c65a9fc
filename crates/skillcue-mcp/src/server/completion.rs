//! Completion of a prompt's arguments and a template's variables.

use rmcp::ErrorData;
use rmcp::model::{CompleteRequestParams, CompleteResult, CompletionInfo, Reference};
use skillcue::catalog::{SkillDir, TreeLimits};
use skillcue_base::quoted;

use super::resources::{FILE_TEMPLATE, SKILL_TEMPLATE};
use super::view::{CatalogView, is_prompt, is_served};
use super::{SkillServer, prompts, uris};

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

/// Returns completions, and how many there are in all.
fn complete(view: &CatalogView, request: &CompleteRequestParams) -> Result<(Vec<String>, usize), ErrorData> {
    let typed = request.argument.value.as_str();
    match &request.r#ref {
        Reference::Prompt(prompt) => {
            let skill = view.catalog.named(&prompt.name).next().filter(|skill| is_prompt(skill));
            let unknown = || ErrorData::invalid_params(format!("there is no prompt {}", quoted(&prompt.name)), None);
            let skill = skill.ok_or_else(unknown)?;
            if request.argument.name != prompts::ARGUMENT {
                return Ok((Vec::new(), 0));
            }
            let hint = skill.manifest().argument_hint().unwrap_or_default();
            Ok(limited(continued(view, hint, typed)))
        }
        Reference::Resource(template) => match (template.uri.as_str(), request.argument.name.as_str()) {
            (SKILL_TEMPLATE | FILE_TEMPLATE, "skill") => Ok(view.paths(typed, CompletionInfo::MAX_VALUES)),
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

/// Returns the files of the skill at a path that start with the typed text.
fn files_of(view: &CatalogView, path: &str, typed: &str) -> Vec<String> {
    let name = path.rsplit('/').next().unwrap_or(path);
    // Files of catalogs are not completed: their lists are in `resources/list`.
    let skill = view.catalog.named(name).next().filter(|skill| skill.server().is_none());
    let Some(skill) = skill.filter(|skill| is_served(skill) && uris::path(skill).as_deref() == Some(path)) else {
        return Vec::new();
    };
    let listed = SkillDir::open(skill.name(), &skill.dir()).and_then(|dir| dir.list(&TreeLimits::default()));
    let all = listed.map(|listing| listing.files).unwrap_or_default();
    all.into_iter().map(|file| file.path).filter(|path| path.starts_with(typed)).collect()
}

/// Returns the whole argument texts that complete the last word of `typed`: with the words that the hint has for its
/// slot or for a later one (those between may be optional).
fn continued(view: &CatalogView, hint: &str, typed: &str) -> Vec<String> {
    let (before, last) = typed.split_at(typed.rfind(' ').map_or(0, |at| at + 1));
    let used: Vec<&str> = before.split_whitespace().collect();
    let mut values = Vec::new();
    for slot in slots(hint).into_iter().skip(used.len()) {
        let words = match slot {
            ArgumentSlot::Words(words) => words,
            ArgumentSlot::Skill => view.names(last).take(CompletionInfo::MAX_VALUES).map(str::to_owned).collect(),
            ArgumentSlot::Other => Vec::new(),
        };
        for word in words.into_iter().filter(|word| word.starts_with(last) && !used.contains(&word.as_str())) {
            let value = format!("{before}{word}");
            if !values.contains(&value) {
                values.push(value);
            }
        }
    }
    values
}

/// One word of the arguments, as a hint describes it.
#[derive(Debug, PartialEq)]
enum ArgumentSlot {
    /// One of these.
    Words(Vec<String>),
    /// The name of a skill.
    Skill,
    /// A value that only the user knows: `[FILE]`.
    Other,
}

/// Returns the slots of an argument hint: `[add|remove] <skill> --format json|text [file]` has five.
fn slots(hint: &str) -> Vec<ArgumentSlot> {
    // `add | remove | list` is one slot.
    let hint = joined_at_bars(hint);
    let groups = hint.split(['[', ']', '<', '>', '(', ')', '{', '}', ' ', '\t', ',']);
    let is_ellipsis = |group: &str| group.chars().all(|c| matches!(c, '.' | '…'));
    groups.filter(|group| !is_ellipsis(group)).map(slot).collect()
}

/// Returns a hint without the blanks around `|`.
fn joined_at_bars(hint: &str) -> String {
    hint.split('|').map(str::trim).collect::<Vec<_>>().join("|")
}

fn slot(group: &str) -> ArgumentSlot {
    // `--format=json|text`
    let (flag, choices) = match group.split_once('=') {
        Some((flag, choices)) if flag.starts_with('-') => (&group[..=flag.len()], choices),
        _ => ("", group),
    };
    if choices.contains('|') {
        let words = choices.split('|').map(|word| word.trim_matches(['"', '\'', '`', '.', '…']));
        return ArgumentSlot::Words(
            words.filter(|word| !word.is_empty()).map(|word| format!("{flag}{word}")).collect(),
        );
    }
    if group.starts_with('-') && !group.trim_matches('-').is_empty() {
        return ArgumentSlot::Words(vec![if flag.is_empty() { group.to_owned() } else { flag.to_owned() }]);
    }
    let names_skill = group.split(|c: char| !c.is_alphanumeric()).any(|part| part.eq_ignore_ascii_case("skill"));
    if names_skill { ArgumentSlot::Skill } else { ArgumentSlot::Other }
}

#[cfg(test)]
mod tests {
    use super::{ArgumentSlot, slots};

    #[test]
    fn finds_what_a_hint_spells_out() {
        let words = |words: &[&str]| ArgumentSlot::Words(words.iter().map(|word| (*word).to_owned()).collect());
        assert_eq!(slots("[add|remove|list]"), [words(&["add", "remove", "list"])]);
        assert_eq!(slots("[add|remove|list] [file]"), [words(&["add", "remove", "list"]), ArgumentSlot::Other]);
        for hint in ["add | remove | list", "[add| remove |list]", "add |\tremove|  list"] {
            assert_eq!(slots(hint), [words(&["add", "remove", "list"])], "{hint}");
        }
        assert_eq!(slots("<on | off> [FILE]"), [words(&["on", "off"]), ArgumentSlot::Other]);
        assert_eq!(slots("<on|off> [FILE...]"), [words(&["on", "off"]), ArgumentSlot::Other]);
        assert_eq!(slots("[\"a\"|'b'] ..."), [words(&["a", "b"])]);
        assert_eq!(
            slots("<SKILL_NAME_OR_PATH> [--max-iterations N] [--format=json|text] --depth=N"),
            [
                ArgumentSlot::Skill,
                words(&["--max-iterations"]),
                ArgumentSlot::Other,
                words(&["--format=json", "--format=text"]),
                words(&["--depth="])
            ]
        );
        assert_eq!(slots("[file] [pages]"), [ArgumentSlot::Other, ArgumentSlot::Other]);
        assert_eq!(slots(" - "), [ArgumentSlot::Other]);
        assert_eq!(slots(""), []);
    }
}
