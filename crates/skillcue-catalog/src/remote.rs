//! Remote skills: listed by a server or a published catalog, and not on this machine's disk.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use skillcue_format::{Code, Diagnostic, FileKind, Node, Parsed};

use crate::arena::{ArenaRange, FrontMatterLayout, Layouts, SkillArena};
use crate::checkout::Origins;
use crate::skill::{RareSkillFields, SkillState};
use crate::skill_dir::CompactStamp;
use crate::{ContentId, Skill, SkillFile, SkillOrigins, SkillRoot, Source};

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

/// The first halves of names such as `acme:refunds`: of servers and catalogs, and of plugins. Each is of one owner.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Namespaces<'n> {
    pub(crate) remote: &'n [RemoteSkill],
    /// Those that are configured, also where none of their skills is known.
    pub(crate) servers: &'n SkillOrigins,
    pub(crate) roots: &'n [Arc<SkillRoot>],
}

/// Returns the names of all servers and catalogs, each with the word for what it is.
fn names<'n>(remote: &'n [RemoteSkill], servers: &'n SkillOrigins) -> HashMap<&'n str, &'static str> {
    let configured = servers.servers.keys().chain(&servers.names);
    let configured = configured.map(|name| (name.as_str(), "server or catalog"));
    configured.chain(remote.iter().map(|skill| (&*skill.server, noun(skill.source)))).collect()
}

/// Takes the names of parts of a project away that are those of servers or catalogs: their skills have addresses of the
/// project.
pub(crate) fn rename_parts(roots: &mut [SkillRoot], remote: &[RemoteSkill], servers: &SkillOrigins) {
    let is_part = |root: &&mut SkillRoot| root.source == Source::Project && root.plugin.is_some();
    let mut parts = roots.iter_mut().filter(is_part).peekable();
    if parts.peek().is_none() {
        return;
    }
    let names = names(remote, servers);
    for root in parts.filter(|root| root.plugin.as_deref().is_some_and(|part| names.contains_key(part))) {
        root.plugin = None;
    }
}

impl Namespaces<'_> {
    /// Leaves out the skills of a checkout's plugins that are called as a server or a catalog is: what the user has
    /// configured keeps its name.
    pub(crate) fn drop_foreign(
        &self,
        skills: &mut Vec<Box<Skill>>,
        origins: &Origins<'_>,
        diagnostics: &mut Vec<Diagnostic>,
    ) {
        if self.roots.iter().all(|root| root.plugin.is_none()) {
            return;
        }
        let names = names(self.remote, self.servers);
        let mut said: Vec<Box<str>> = Vec::new();
        skills.retain(|skill| {
            let Some((plugin, of)) = skill.plugin().and_then(|plugin| Some((plugin, names.get(plugin)?))) else {
                return true;
            };
            if !origins.is_foreign(skill) {
                return true;
            }
            if !said.iter().any(|name| **name == *plugin) {
                said.push(plugin.into());
                let message = format!(
                    "the plugin `{plugin}` of this project has the same name as the {of} `{plugin}`: the plugin's skills \
                     are left out"
                );
                let help = "rename the plugin in its plugin.json, or the other one in skillcue.toml";
                let found = Diagnostic::new(Code::Remote, message).with_help(help);
                diagnostics.push(found.at(skill.root().path.clone()));
            }
            false
        });
    }

    /// Makes skills of the ones that servers list, called `server:name`: no server can take the name of another's skill,
    /// and the name shows where the skill comes from.
    pub(crate) fn skills(&self, origins: &Origins<'_>, diagnostics: &mut Vec<Diagnostic>) -> Vec<Box<Skill>> {
        let is_plugin = |server: &str| {
            let is_meant = |root: &&Arc<SkillRoot>| root.plugin.as_deref() == Some(server);
            self.roots.iter().filter(is_meant).any(|root| !origins.is_foreign_root(root))
        };
        skills(self.remote, narrow(self.roots.len()), is_plugin, diagnostics)
    }
}

fn skills(
    listed: &[RemoteSkill],
    first_rank: u32,
    is_plugin: impl Fn(&str) -> bool,
    diagnostics: &mut Vec<Diagnostic>,
) -> Vec<Box<Skill>> {
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
