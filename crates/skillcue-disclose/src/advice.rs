//! The sentences that say how to load what is not shown.

use std::borrow::Cow;

use skillcue_base::shown_path;
use skillcue_catalog::Skill;

use crate::shortlist::LOAD_ADVICE;

/// The sentences that tell a model how to load what is not shown. The default is for a model that has the tools of this
/// library; an embedder in which skills are loaded in another way has words of its own.
///
/// In `rest`, `part` and `file`, `{id}` is the id of the skill, `{file}` the path of its main file and `{dir}` that of
/// its directory.
///
/// ```
/// use skillcue_disclose::{DiscloseConfig, LoadAdvice};
///
/// let rest = "Read {file} for the rest.";
/// let load_advice = LoadAdvice { rest: rest.into(), part: rest.into(), ..LoadAdvice::default() };
/// let config = DiscloseConfig { load_advice, ..DiscloseConfig::default() };
/// # let _ = config;
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadAdvice {
    /// The rest of a text of which the beginning is shown.
    pub rest: Cow<'static, str>,
    /// The rest of a text of which parts are shown.
    pub part: Cow<'static, str>,
    /// A file that a text points to.
    pub file: Cow<'static, str>,
    /// A skill that is named in a sentence.
    pub one: Cow<'static, str>,
    /// A skill that is named in a list: the list's last line.
    pub names: Cow<'static, str>,
}

impl Default for LoadAdvice {
    fn default() -> Self {
        LoadAdvice {
            rest: Cow::Borrowed(LOADABLE_REST),
            part: Cow::Borrowed(LOADABLE_PART),
            file: Cow::Borrowed("read_skill_file gives one."),
            one: Cow::Borrowed("`load_skill` gives one by its id."),
            names: Cow::Borrowed(LOAD_ADVICE),
        }
    }
}

const LOADABLE_REST: &str = "load_skill \"{id}\" gives the rest.";
const LOADABLE_PART: &str = "load_skill \"{id}\" gives the rest, with \"section\" one part of it.";
/// The sentence about the rest of a skill that is hidden from models, which therefore cannot load it.
const UNLOADABLE_REST: &str = "The rest is omitted to save space.";

impl LoadAdvice {
    /// Returns the sentence about the rest of a skill whose beginning is shown.
    pub(crate) fn rest_of(&self, skill: &Skill) -> String {
        if skill.is_for_models() { fill(&self.rest, skill) } else { UNLOADABLE_REST.to_owned() }
    }

    /// Returns the sentence about the rest of a skill of which parts are shown.
    pub(crate) fn part_of(&self, skill: &Skill) -> String {
        if skill.is_for_models() { fill(&self.part, skill) } else { UNLOADABLE_REST.to_owned() }
    }

    /// Returns the sentence about files of a skill.
    pub(crate) fn file_of(&self, skill: &Skill) -> String {
        fill(&self.file, skill)
    }
}

/// Returns the sentence about the rest of a skill that `load_skill` gives.
pub(crate) fn loadable_rest(name: &str) -> String {
    LOADABLE_REST.replace("{id}", name)
}

/// Likewise where parts of it are shown.
pub(crate) fn loadable_part(name: &str) -> String {
    LOADABLE_PART.replace("{id}", name)
}

/// Puts a skill's id and paths into a sentence. Braces in a path are left as they are.
fn fill(sentence: &str, skill: &Skill) -> String {
    let mut out = String::with_capacity(sentence.len());
    let mut left = sentence;
    while let Some(at) = left.find('{') {
        out.push_str(&left[..at]);
        left = &left[at..];
        let values: [(&str, &dyn Fn() -> String); 3] = [
            ("{id}", &|| skill.name().to_owned()),
            ("{dir}", &|| shown_path(&skill.dir())),
            ("{file}", &|| shown_path(&skill.path())),
        ];
        match values.into_iter().find(|(word, _)| left.starts_with(word)) {
            Some((word, value)) => {
                out.push_str(&value());
                left = &left[word.len()..];
            }
            None => {
                out.push('{');
                left = &left[1..];
            }
        }
    }
    out + left
}
