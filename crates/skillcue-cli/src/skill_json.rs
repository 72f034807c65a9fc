//! A skill as JSON.

use serde::Serialize;
use skillcue::catalog::PolicyRefusal;
use skillcue::{Manifest, Skill, Source, Tokens};
use skillcue_format::brief;

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
    /// Why the organisation's policy closes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    refused: Option<&'s PolicyRefusal>,
}

/// The paths of a skill as text: its directory, and its file below that.
#[derive(Debug)]
pub(crate) struct SkillPaths {
    path: String,
    dir: usize,
}

impl SkillPaths {
    pub(crate) fn of(skill: &Skill) -> SkillPaths {
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
        SkillPaths { path, dir }
    }
}

impl<'s> SkillJson<'s> {
    pub(crate) fn of(skill: &'s Skill, manifest: &'s Manifest, paths: &'s SkillPaths) -> SkillJson<'s> {
        SkillJson {
            name: skill.name(),
            description: manifest.description(),
            brief_description: manifest.brief(),
            version: manifest.version(),
            source: skill.source(),
            plugin: skill.plugin(),
            dir: &paths.path[..paths.dir],
            path: &paths.path,
            enabled: skill.enabled(),
            types: manifest.types().collect(),
            allowed_tools: manifest.allowed_tools().collect(),
            model: manifest.model(),
            disable_model_invocation: manifest.disable_model_invocation(),
            tokens: skill.body_tokens(),
            refused: skill.refusal(),
        }
    }
}

/// Appends a skill's JSON.
pub(crate) fn write(skill: &Skill, out: &mut Vec<u8>) {
    let start = out.len();
    if put_glimpse(skill, out).is_none() {
        out.truncate(start);
        put_whole(skill, out);
    }
}

/// Writes the JSON of any skill. Neither a vector nor a text fails.
fn put_whole(skill: &Skill, out: &mut Vec<u8>) {
    let (manifest, paths) = (skill.make_manifest(), SkillPaths::of(skill));
    let _ = serde_json::to_writer(out, &SkillJson::of(skill, &manifest, &paths));
}

/// Writes what [`put_whole`] writes, for a skill whose manifest need not be made for it and whose path is plain. It
/// only copies texts: 100,000 skills are 70 MB.
fn put_glimpse(skill: &Skill, out: &mut Vec<u8>) -> Option<()> {
    let summary = skill.summary().filter(|_| skill.refusal().is_none())?;
    out.extend_from_slice(b"{\"name\":");
    put(out, skill.name());
    out.extend_from_slice(b",\"description\":");
    put(out, summary.description);
    out.extend_from_slice(b",\"brief_description\":");
    put(out, &brief(summary.description));
    out.extend_from_slice(b",\"version\":");
    put_option(out, summary.version);
    out.extend_from_slice(b",\"source\":");
    put(out, skill.source().as_str());
    out.extend_from_slice(b",\"plugin\":");
    put_option(out, skill.plugin());
    out.extend_from_slice(b",\"dir\":\"");
    let dir = out.len();
    skill.put_dir(out);
    if !out[dir..].is_ascii() || has_escapes(&out[dir..]) {
        return None;
    }
    let end = out.len();
    out.extend_from_slice(b"\",\"path\":\"");
    out.extend_from_within(dir..end);
    if out.last() != Some(&b'/') {
        out.push(b'/');
    }
    out.extend_from_slice(skill.file().name().as_bytes());
    out.extend_from_slice(b"\",\"enabled\":");
    out.extend_from_slice(if skill.enabled() { b"true" } else { b"false" });
    out.extend_from_slice(b",\"types\":[\"prompt\"],\"allowed_tools\":[");
    for (at, tool) in summary.allowed_tools().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        put(out, tool);
    }
    out.extend_from_slice(b"],\"model\":");
    put_option(out, summary.model);
    out.extend_from_slice(b",\"disable_model_invocation\":false,\"tokens\":");
    let _ = serde_json::to_writer(&mut *out, &skill.body_tokens().0);
    out.push(b'}');
    Some(())
}

fn has_escapes(bytes: &[u8]) -> bool {
    // Without a way out in the middle, so that the compiler takes many bytes at a time.
    bytes.iter().fold(0, |odd, byte| odd | escape(*byte)) != 0
}

/// Returns whether a byte of a text must be escaped in JSON, as a number: processors are good at vectors of those.
fn escape(byte: u8) -> u8 {
    u8::from(byte < 0x20) | u8::from(byte == b'"') | u8::from(byte == b'\\')
}

fn put(out: &mut Vec<u8>, text: &str) {
    if has_escapes(text.as_bytes()) {
        // Neither a vector nor a text fails.
        let _ = serde_json::to_writer(out, text);
        return;
    }
    out.push(b'"');
    out.extend_from_slice(text.as_bytes());
    out.push(b'"');
}

fn put_option(out: &mut Vec<u8>, text: Option<&str>) {
    match text {
        Some(text) => put(out, text),
        None => out.extend_from_slice(b"null"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways_write_the_same() {
        let texts =
            ["plain", "quo\\\"te \\\\ back", "tab\\tnew\\nline", "é 表 🎉", "a/b \u{7f}. Then more.", "v1, and on"];
        let lines = ["", "version: 1.0\n", "allowed-tools: Read, Bash(git add:*)\n", "model: a-b\nversion: '2'\n"];
        let tree = tempfile::tempdir().unwrap();
        for (at, text) in texts.iter().enumerate() {
            for (nth, line) in lines.iter().enumerate() {
                let dir = tree.path().join(format!("{}-{at}-{nth}", ["dir", "d\"r", "dé"][at % 3]));
                std::fs::create_dir(&dir).unwrap();
                let file =
                    format!("---\nname: s-{at}-{nth}\ndescription: \"{text}\"\n{line}---\n{}", "x".repeat(at * 40));
                std::fs::write(dir.join("SKILL.md"), file).unwrap();
            }
        }
        let skills = skillcue::Skillcue::builder().skills_dir(tree.path()).build().unwrap();
        let catalog = skills.catalog();
        assert_eq!(catalog.len(), texts.len() * lines.len(), "{:?}", catalog.diagnostics());
        let mut glimpses = 0;
        for skill in catalog.skills() {
            let (mut whole, mut short) = (b"[".to_vec(), b"[".to_vec());
            put_whole(skill, &mut whole);
            write(skill, &mut short);
            assert_eq!(String::from_utf8(short), String::from_utf8(whole));
            glimpses += usize::from(put_glimpse(skill, &mut Vec::new()).is_some());
        }
        assert!(glimpses >= 8, "{glimpses}");
    }
}
