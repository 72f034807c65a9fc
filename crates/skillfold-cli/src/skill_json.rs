//! A skill as programs see it.

use std::io::Write as _;

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
    match skill.glimpse() {
        Some(glimpse) => SkillJson::glimpsed(skill, glimpse, &whereabouts).put(out),
        None => SkillJson::of(skill, &skill.make_manifest(), &whereabouts).put(out),
    }
}

impl SkillJson<'_> {
    /// What `serde_json` would write, which looks at every byte of every text by itself: of a catalog of 100,000 skills
    /// that is a sixth of all the work.
    fn put(&self, out: &mut Vec<u8>) {
        put(out, b"{\"name\":", self.name);
        put(out, b",\"description\":", self.description);
        put(out, b",\"brief_description\":", &self.brief_description);
        put_option(out, b",\"version\":", self.version);
        put(out, b",\"source\":", self.source.as_str());
        put_option(out, b",\"plugin\":", self.plugin);
        put(out, b",\"dir\":", self.dir);
        put(out, b",\"path\":", self.path);
        out.extend_from_slice(b",\"enabled\":");
        out.extend_from_slice(word(self.enabled));
        put_list(out, b",\"types\":", &self.types);
        put_list(out, b",\"allowed_tools\":", &self.allowed_tools);
        put_option(out, b",\"model\":", self.model);
        out.extend_from_slice(b",\"disable_model_invocation\":");
        out.extend_from_slice(word(self.disable_model_invocation));
        // A vector does not fail.
        let _ = write!(out, ",\"tokens\":{}}}", self.tokens);
    }
}

fn word(flag: bool) -> &'static [u8] {
    if flag { b"true" } else { b"false" }
}

fn put(out: &mut Vec<u8>, key: &[u8], text: &str) {
    out.extend_from_slice(key);
    let bytes = text.as_bytes();
    // Without a way out in the middle, so that the compiler takes many bytes at a time.
    let is_odd = |byte: u8| u8::from(byte < 0x20) | u8::from(byte == b'"') | u8::from(byte == b'\\');
    if bytes.iter().fold(0, |odd, byte| odd | is_odd(*byte)) != 0 {
        // Neither a vector nor a text fails.
        let _ = serde_json::to_writer(out, text);
        return;
    }
    out.push(b'"');
    out.extend_from_slice(bytes);
    out.push(b'"');
}

fn put_option(out: &mut Vec<u8>, key: &[u8], text: Option<&str>) {
    if let Some(text) = text {
        put(out, key, text);
    } else {
        out.extend_from_slice(key);
        out.extend_from_slice(b"null");
    }
}

fn put_list(out: &mut Vec<u8>, key: &[u8], texts: &[&str]) {
    out.extend_from_slice(key);
    out.push(b'[');
    for (at, text) in texts.iter().enumerate() {
        put(out, if at == 0 { b"" } else { b"," }, text);
    }
    out.push(b']');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_what_serde_json_would_write() {
        for text in ["", "plain", "quo\"te", "back\\slash", "tab\tnew\nline\u{1}\u{7f}", "é 表 🎉", "a/b"] {
            let json = SkillJson {
                name: text,
                description: text,
                brief_description: text.into(),
                version: Some(text).filter(|text| !text.is_empty()),
                source: Source::Project,
                plugin: Some(text).filter(|text| text.len() > 4),
                dir: text,
                path: text,
                enabled: text.is_empty(),
                types: vec!["prompt"],
                allowed_tools: [text, "Read"].repeat(text.len() % 3),
                model: None,
                disable_model_invocation: !text.is_empty(),
                tokens: Tokens(text.len()),
            };
            let mut out = Vec::new();
            json.put(&mut out);
            assert_eq!(String::from_utf8(out).unwrap(), serde_json::to_string(&json).unwrap());
        }
    }
}
