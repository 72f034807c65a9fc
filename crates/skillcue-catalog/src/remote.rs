//! Remote skills: listed by a server, and not on this machine's disk.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use skillcue_format::{Code, Diagnostic, FileKind, Node, Parsed};

use crate::arena::{ArenaRange, FrontMatterLayout, Layouts, SkillArena};
use crate::skill::SkillState;
use crate::skill_dir::CompactStamp;
use crate::{Skill, SkillFile, SkillRoot, Source};

/// A skill as a server lists it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemoteSkill {
    /// The user's name for the server.
    pub server: Arc<str>,
    /// The URI of its `SKILL.md`.
    pub uri: String,
    /// Its front matter as one line of JSON, which is also YAML.
    pub front_matter: String,
    /// The size of its `SKILL.md`.
    pub size: u64,
}

/// Makes skills of the ones that servers list, called `server:name`: no server can take the name of another's skill,
/// and the name shows where the skill comes from.
pub(crate) fn skills(
    listed: &[RemoteSkill],
    roots: &[Arc<SkillRoot>],
    diagnostics: &mut Vec<Diagnostic>,
) -> Vec<Box<Skill>> {
    let first_rank = narrow(roots.len());
    let is_plugin = |server: &str| roots.iter().any(|root| root.plugin.as_deref() == Some(server));
    let mut groups: HashMap<(&str, &str), Vec<(&RemoteSkill, &str)>> = HashMap::new();
    let mut refused: Vec<&str> = Vec::new();
    for skill in listed {
        // `name:skill` must be unambiguous.
        if is_plugin(&skill.server) {
            if !refused.contains(&&*skill.server) {
                refused.push(&skill.server);
                let message = format!(
                    "the server `{0}` has the same name as the plugin `{0}`: its skills are left out",
                    skill.server
                );
                let help = "give the server another name in skillcue.toml";
                diagnostics.push(Diagnostic::new(Code::Remote, message).with_help(help));
            }
            continue;
        }
        match skill.uri.split_once("://").and_then(|(scheme, rest)| Some((scheme, rest.strip_suffix("/SKILL.md")?))) {
            Some((scheme, rel)) => groups.entry((&skill.server, scheme)).or_default().push((skill, rel)),
            None => diagnostics.push(unusable(skill, "its URI does not end in `/SKILL.md`")),
        }
    }
    let mut groups: Vec<_> = groups.into_iter().collect();
    groups.sort_unstable_by_key(|(of, _)| *of);
    let mut made = Vec::with_capacity(listed.len());
    for (rank, ((server, scheme), skills)) in (first_rank..).zip(groups) {
        let mut text = Vec::new();
        let mut parts = Vec::with_capacity(skills.len());
        let mut layouts = Vec::with_capacity(skills.len());
        for (skill, rel) in skills {
            let parsed = Parsed::new_front_matter(&skill.front_matter, FileKind::Markdown);
            let Some(manifest) = parsed.manifest else {
                diagnostics.push(unusable(skill, "its front matter cannot be read"));
                continue;
            };
            let bad_triggers = parsed.diagnostics.into_iter().filter(|found| found.code == Code::InvalidPattern);
            diagnostics.extend(bad_triggers.map(|found| found.at(PathBuf::from(&skill.uri))));
            let mut put = |part: &str| {
                let start = narrow(text.len());
                text.extend_from_slice(part.as_bytes());
                ArenaRange { start, end: narrow(text.len()) }
            };
            let (rel, name) = (put(rel), put(&format!("{server}:{}", manifest.name())));
            let digest = parsed.raw.as_ref().map_or(0, Node::digest).to_le_bytes();
            let yaml = put(&skill.front_matter);
            layouts.push(FrontMatterLayout { yaml, first_line: 1, digest, ..FrontMatterLayout::default() });
            parts.push((rel, name, skill.size));
        }
        let root = SkillRoot {
            rank,
            server: Some(server.into()),
            // A path joined to it is a URI again.
            ..SkillRoot::new(PathBuf::from(format!("{scheme}://")), Source::Mcp)
        };
        let arena = Arc::new(SkillArena { text, layouts: Layouts::InMemory(layouts), root: Arc::new(root) });
        made.extend((0..).zip(parts).map(|(number, (rel, name, size))| {
            Box::new(Skill {
                arena: Arc::clone(&arena),
                number,
                rel,
                name,
                stamp: CompactStamp {
                    seconds: 0,
                    nanoseconds: 0,
                    size: u32::try_from(size).unwrap_or(u32::MAX),
                    inode: 0,
                },
                lazy: OnceLock::new(),
                extra: None,
                file: SkillFile::Markdown,
                demanding: false,
                state: SkillState::NEW,
            })
        }));
    }
    made
}

fn unusable(skill: &RemoteSkill, why: &str) -> Diagnostic {
    let message = format!("the server `{}` lists a skill that cannot be used: {why}", skill.server);
    Diagnostic::new(Code::Remote, message)
        .with_help("report it to the operator of the server")
        .at(PathBuf::from(&skill.uri))
}

fn narrow(count: usize) -> u32 {
    // The size of a server's listing is bounded where it is received.
    u32::try_from(count).unwrap_or(u32::MAX)
}
