//! Remote skills: listed by a server or a published catalog, and not on this machine's disk.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use skillcue_format::{Code, Diagnostic, FileKind, Node, Parsed};

use crate::arena::{ArenaRange, FrontMatterLayout, Layouts, SkillArena};
use crate::skill::{RareSkillFields, SkillState};
use crate::skill_dir::CompactStamp;
use crate::{ContentId, Skill, SkillFile, SkillRoot, Source};

/// A skill as a server lists it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemoteSkill {
    /// The user's name for the server or catalog.
    pub server: Arc<str>,
    /// [`Source::Mcp`] or [`Source::Catalog`].
    pub source: Source,
    /// The place among those of one source: lower ones come first.
    pub precedence: u32,
    /// The URI of its `SKILL.md`.
    pub uri: String,
    /// Its front matter as one line of JSON, which is also YAML.
    pub front_matter: String,
    /// The size of its `SKILL.md`.
    pub size: u64,
    /// The id of its files, if the server lists their digests.
    pub content: Option<ContentId>,
    /// A number that changes with the content of its `SKILL.md`; 0 if that is not known.
    pub main_number: u64,
}

/// Skills of one root: source, precedence, server and scheme.
type GroupKey<'s> = (Source, u32, &'s str, &'s str);

/// Makes skills of the ones that servers list, called `server:name`: no server can take the name of another's skill,
/// and the name shows where the skill comes from.
pub(crate) fn skills(
    listed: &[RemoteSkill],
    roots: &[Arc<SkillRoot>],
    diagnostics: &mut Vec<Diagnostic>,
) -> Vec<Box<Skill>> {
    let first_rank = narrow(roots.len());
    let is_plugin = |server: &str| roots.iter().any(|root| root.plugin.as_deref() == Some(server));
    let mut groups: HashMap<GroupKey<'_>, Vec<(&RemoteSkill, &str)>> = HashMap::new();
    let mut refused: Vec<&str> = Vec::new();
    for skill in listed {
        // `name:skill` must be unambiguous.
        if is_plugin(&skill.server) {
            if !refused.contains(&&*skill.server) {
                refused.push(&skill.server);
                let message = format!(
                    "the {1} `{0}` has the same name as the plugin `{0}`: its skills are left out",
                    skill.server,
                    noun(skill.source)
                );
                let help = "give it another name in skillcue.toml";
                diagnostics.push(Diagnostic::new(Code::Remote, message).with_help(help));
            }
            continue;
        }
        match skill.uri.split_once("://").and_then(|(scheme, rest)| Some((scheme, rest.strip_suffix("/SKILL.md")?))) {
            Some((scheme, rel)) => {
                let of = (skill.source, skill.precedence, &*skill.server, scheme);
                groups.entry(of).or_default().push((skill, rel));
            }
            None => diagnostics.push(unusable(skill, "its URI does not end in `/SKILL.md`")),
        }
    }
    let mut groups: Vec<_> = groups.into_iter().collect();
    groups.sort_unstable_by_key(|(of, _)| *of);
    let mut made = Vec::with_capacity(listed.len());
    for (rank, ((source, _, server, scheme), skills)) in (first_rank..).zip(groups) {
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
            parts.push((rel, name, skill.size, skill.main_number, skill.content));
        }
        let root = SkillRoot {
            rank,
            server: Some(server.into()),
            // A path joined to it is a URI again.
            ..SkillRoot::new(PathBuf::from(format!("{scheme}://")), source)
        };
        let arena = Arc::new(SkillArena { text, layouts: Layouts::InMemory(layouts), root: Arc::new(root) });
        made.extend((0..).zip(parts).map(|(number, (rel, name, size, main_number, content))| {
            Box::new(Skill {
                arena: Arc::clone(&arena),
                number,
                rel,
                name,
                stamp: CompactStamp {
                    seconds: 0,
                    nanoseconds: 0,
                    size: u32::try_from(size).unwrap_or(u32::MAX),
                    inode: main_number,
                },
                lazy: OnceLock::new(),
                extra: content
                    .map(|content| Box::new(RareSkillFields { listed: Some(content), ..RareSkillFields::default() })),
                file: SkillFile::Markdown,
                demanding: false,
                state: SkillState::NEW,
            })
        }));
    }
    made
}

fn unusable(skill: &RemoteSkill, why: &str) -> Diagnostic {
    let of = noun(skill.source);
    let message = format!("the {of} `{}` lists a skill that cannot be used: {why}", skill.server);
    Diagnostic::new(Code::Remote, message)
        .with_help(format!("report it to the operator of the {of}"))
        .at(PathBuf::from(&skill.uri))
}

fn noun(source: Source) -> &'static str {
    if source == Source::Catalog { "catalog" } else { "server" }
}

fn narrow(count: usize) -> u32 {
    // The size of a server's listing is bounded where it is received.
    u32::try_from(count).unwrap_or(u32::MAX)
}
