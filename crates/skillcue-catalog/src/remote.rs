//! Skills that stand on no disk here: a server lists them.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use skillcue_format::{Code, Diagnostic, FileKind, Node, Parsed};

use crate::skill::{Passage, Passages, Shelf, Slice, State};
use crate::skill_dir::SmallStamp;
use crate::{Root, Skill, SkillFile, Source};

/// A skill as a server lists it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemoteSkill {
    /// What the user calls the server.
    pub server: Arc<str>,
    /// The URI of its `SKILL.md`.
    pub uri: String,
    /// Its front matter as one line of JSON, which is YAML, too.
    pub front_matter: String,
    /// The size of its `SKILL.md`.
    pub size: u64,
}

/// Makes skills of what servers list, called `server:name`: nothing that a server says can take the name of another's
/// skill, and whoever reads the name sees where it comes from.
pub(crate) fn skills(
    listed: &[RemoteSkill],
    roots: &[Arc<Root>],
    diagnostics: &mut Vec<Diagnostic>,
) -> Vec<Box<Skill>> {
    let first_rank = narrow(roots.len());
    let is_plugin = |server: &str| roots.iter().any(|root| root.plugin.as_deref() == Some(server));
    let mut shelves: HashMap<(&str, &str), Vec<(&RemoteSkill, &str)>> = HashMap::new();
    let mut refused: Vec<&str> = Vec::new();
    for skill in listed {
        // `name:skill` must mean one thing.
        if is_plugin(&skill.server) {
            if !refused.contains(&&*skill.server) {
                refused.push(&skill.server);
                let message =
                    format!("the server `{0}` is called like the plugin `{0}`: its skills are left out", skill.server);
                let help = "give the server another name in skillcue.toml";
                diagnostics.push(Diagnostic::new(Code::Remote, message).with_help(help));
            }
            continue;
        }
        match skill.uri.split_once("://").and_then(|(scheme, rest)| Some((scheme, rest.strip_suffix("/SKILL.md")?))) {
            Some((scheme, rel)) => shelves.entry((&skill.server, scheme)).or_default().push((skill, rel)),
            None => diagnostics.push(unusable(skill, "its URI does not end in `/SKILL.md`")),
        }
    }
    let mut shelves: Vec<_> = shelves.into_iter().collect();
    shelves.sort_unstable_by_key(|(of, _)| *of);
    let mut made = Vec::with_capacity(listed.len());
    for (rank, ((server, scheme), skills)) in (first_rank..).zip(shelves) {
        let mut text = Vec::new();
        let mut parts = Vec::with_capacity(skills.len());
        let mut passages = Vec::with_capacity(skills.len());
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
                Slice { start, end: narrow(text.len()) }
            };
            let (rel, name) = (put(rel), put(&format!("{server}:{}", manifest.name())));
            let digest = parsed.raw.as_ref().map_or(0, Node::digest).to_le_bytes();
            let yaml = put(&skill.front_matter);
            passages.push(Passage { yaml, first_line: 1, digest, ..Passage::default() });
            parts.push((rel, name, skill.size));
        }
        let root = Root {
            rank,
            server: Some(server.into()),
            // A path made of it is a URI again.
            ..Root::new(PathBuf::from(format!("{scheme}://")), Source::Mcp)
        };
        let shelf = Arc::new(Shelf { text, passages: Passages::Here(passages), root: Arc::new(root) });
        made.extend((0..).zip(parts).map(|(number, (rel, name, size))| {
            Box::new(Skill {
                shelf: Arc::clone(&shelf),
                number,
                rel,
                name,
                stamp: SmallStamp {
                    seconds: 0,
                    nanoseconds: 0,
                    size: u32::try_from(size).unwrap_or(u32::MAX),
                    inode: 0,
                },
                made: OnceLock::new(),
                extra: None,
                file: SkillFile::Markdown,
                demanding: false,
                state: State::NEW,
            })
        }));
    }
    made
}

fn unusable(skill: &RemoteSkill, why: &str) -> Diagnostic {
    let message = format!("the server `{}` lists a skill that cannot be used: {why}", skill.server);
    Diagnostic::new(Code::Remote, message).with_help("tell whoever runs the server").at(PathBuf::from(&skill.uri))
}

fn narrow(count: usize) -> u32 {
    // What a server may list is bounded where it is listed.
    u32::try_from(count).unwrap_or(u32::MAX)
}
