//! A skill as programs see it.

use serde::Serialize;
use skillfold::format::brief;
use skillfold::{Manifest, Skill, Source, Tokens};

/// Level 1 of a skill: the fields that `list` and `show` print. They are part of the interface.
#[derive(Debug, Serialize)]
pub(crate) struct SkillJson<'s> {
    name: &'s str,
    description: &'s str,
    brief_description: std::borrow::Cow<'s, str>,
    version: Option<&'s str>,
    source: Source,
    plugin: Option<&'s str>,
    dir: &'s str,
    path: &'s str,
    enabled: bool,
    types: Vec<&'s str>,
    allowed_tools: Vec<&'s str>,
    model: Option<&'s str>,
    disable_model_invocation: bool,
    tokens: Tokens,
}

/// Where a skill stands, as text: its directory, and its file below that.
#[derive(Debug)]
pub(crate) struct Whereabouts {
    path: String,
    dir: usize,
}

impl Whereabouts {
    pub(crate) fn of(skill: &Skill) -> Whereabouts {
        // JSON is UTF-8; of a path that is not, this is the best that can be shown.
        let mut path = match skill.dir().into_os_string().into_string() {
            Ok(path) => path,
            Err(path) => path.to_string_lossy().into_owned(),
        };
        let dir = path.len();
        if !path.ends_with('/') {
            path.push('/');
        }
        path.push_str(skill.file().name());
        Whereabouts { path, dir }
    }
}

impl<'s> SkillJson<'s> {
    pub(crate) fn of(skill: &'s Skill, manifest: &'s Manifest, whereabouts: &'s Whereabouts) -> SkillJson<'s> {
        SkillJson {
            name: skill.name(),
            description: manifest.description(),
            brief_description: manifest.brief(),
            version: manifest.version(),
            source: skill.source(),
            plugin: skill.plugin(),
            dir: &whereabouts.path[..whereabouts.dir],
            path: &whereabouts.path,
            enabled: skill.enabled(),
            types: manifest.types().collect(),
            allowed_tools: manifest.allowed_tools().collect(),
            model: manifest.model(),
            disable_model_invocation: manifest.disable_model_invocation(),
            tokens: skill.body_tokens(),
        }
    }

    /// The same for a skill whose manifest need not be made: everything else that is shown is as it is by default.
    fn glimpsed(
        skill: &'s Skill,
        (description, version): (&'s str, Option<&'s str>),
        whereabouts: &'s Whereabouts,
    ) -> SkillJson<'s> {
        SkillJson {
            name: skill.name(),
            description,
            brief_description: brief(description).into(),
            version,
            source: skill.source(),
            plugin: skill.plugin(),
            dir: &whereabouts.path[..whereabouts.dir],
            path: &whereabouts.path,
            enabled: skill.enabled(),
            types: vec!["prompt"],
            allowed_tools: Vec::new(),
            model: None,
            disable_model_invocation: false,
            tokens: skill.body_tokens(),
        }
    }
}

/// Appends a skill's JSON.
pub(crate) fn write(skill: &Skill, out: &mut Vec<u8>) {
    let whereabouts = Whereabouts::of(skill);
    // Neither a vector nor any of these values can fail.
    let _ = match skill.glimpse() {
        Some(glimpse) => serde_json::to_writer(out, &SkillJson::glimpsed(skill, glimpse, &whereabouts)),
        None => serde_json::to_writer(out, &SkillJson::of(skill, &skill.make_manifest(), &whereabouts)),
    };
}
