//! One discovered skill: level 1.
//!
//! Over 500 lines: one type, its fields and what is asked of it.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use skillcue_format::split::{FrontMatterScan, scan};
use skillcue_format::{DiscoveryInfo, FileKind, MAX_FILE, Manifest, Node, Parsed, Tokens, split_tools};

use crate::arena::{ArenaRange, FrontMatterLayout, Layouts, SkillArena};
use crate::org_policy::PolicyStanding;
use crate::skill_dir::CompactStamp;
use crate::{BodyAt, BodyFile, ContentId, FileStamp, SkillDir, SkillRoot, Source};

/// The kinds of files that describe a skill.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SkillFile {
    /// `SKILL.md`
    Markdown,
    /// `skill.md`
    LowerCase,
    /// `Skill.md`
    TitleCase,
    /// `SKILL.yaml`
    Yaml,
}

impl SkillFile {
    /// Returns the file's name.
    pub fn name(self) -> &'static str {
        match self {
            SkillFile::Markdown => "SKILL.md",
            SkillFile::LowerCase => "skill.md",
            SkillFile::TitleCase => "Skill.md",
            SkillFile::Yaml => "SKILL.yaml",
        }
    }

    /// Returns the format in which it is read.
    pub fn kind(self) -> FileKind {
        if self == SkillFile::Yaml { FileKind::Yaml } else { FileKind::Markdown }
    }

    /// Returns the skill file of that name.
    pub fn of(name: &[u8]) -> Option<SkillFile> {
        [SkillFile::Markdown, SkillFile::Yaml, SkillFile::LowerCase, SkillFile::TitleCase]
            .into_iter()
            .find(|file| file.name().as_bytes() == name)
    }
}

/// One discovered skill: its metadata, its location, and nothing of its body.
///
/// A catalog holds up to hundreds of thousands of them, so a skill keeps the text of its front matter and makes the
/// typed [`Manifest`] of it when that is first needed. (Keeping the one that discovery made costs more than making it
/// again: at 100,000 skills the memory, not the parsing, is what takes time.)
#[derive(Debug)]
pub struct Skill {
    /// The arena that holds its texts.
    pub(crate) arena: Arc<SkillArena>,
    /// The number of its layout in the arena.
    pub(crate) number: u32,
    pub(crate) rel: ArenaRange,
    pub(crate) name: ArenaRange,
    pub(crate) stamp: CompactStamp,
    pub(crate) lazy: OnceLock<Box<LazyManifest>>,
    pub(crate) extra: Option<Box<RareSkillFields>>,
    pub(crate) file: SkillFile,
    /// Whether it requires programs.
    pub(crate) demanding: bool,
    pub(crate) state: SkillState,
}

/// The parsed front matter of a skill, made when first needed.
#[derive(Debug, Default)]
pub(crate) struct LazyManifest {
    manifest: OnceLock<Manifest>,
    /// The front matter as read from the skill file, because the index cache is damaged.
    reread: OnceLock<RereadFrontMatter>,
}

/// The front matter as read from the skill file, with the values that its layout would have had.
#[derive(Debug, Default)]
struct RereadFrontMatter {
    yaml: Box<str>,
    first_line: u32,
    body: u32,
    digest: u128,
}

/// The fields that only few skills have.
#[derive(Debug, Clone, Default)]
pub(crate) struct RareSkillFields {
    /// The real directory of the skill file, if it is a link to that of another directory.
    pub(crate) real_dir: Option<PathBuf>,
    /// The real path of the directory, if a link leads to it.
    pub(crate) canonical: Option<PathBuf>,
    /// The body of a `SKILL.yaml`, and how large it is.
    pub(crate) body: Option<(BodyAt, u64)>,
    /// Other locations of skills with the same front matter and size.
    pub(crate) copies: Vec<Location>,
    /// The decision of the organisation's policy.
    pub(crate) standing: PolicyStanding,
    /// The id of its files, of a skill that a server lists with their digests.
    pub(crate) listed: Option<ContentId>,
}

/// The fields of a skill that a listing shows; all other fields have their defaults.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SkillSummary<'s> {
    /// The description: what the skill does and when to use it.
    pub description: &'s str,
    /// The version, as the author wrote it.
    pub version: Option<&'s str>,
    /// The model that the skill asks for.
    pub model: Option<&'s str>,
    allowed_tools: &'s str,
}

impl<'s> SkillSummary<'s> {
    /// Returns the tools that the skill declares.
    pub fn allowed_tools(self) -> impl Iterator<Item = &'s str> {
        split_tools(self.allowed_tools)
    }
}

/// A directory in which a copy of a skill lies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Location {
    /// The root below which it was found.
    pub root: Arc<SkillRoot>,
    /// Its directory.
    pub dir: PathBuf,
    /// Its skill file.
    pub path: PathBuf,
}

/// The decisions about a skill, made when the catalog was assembled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SkillState {
    pub(crate) shadowed: bool,
    pub(crate) enabled: bool,
    pub(crate) available: bool,
    pub(crate) foreign: bool,
    /// Its number among those with the same name and source.
    pub(crate) nth: u16,
}

impl SkillState {
    pub(crate) const NEW: SkillState =
        SkillState { shadowed: false, enabled: true, available: true, foreign: false, nth: 1 };
}

impl Skill {
    /// Returns another value for the same skill, for a second catalog. Texts are shared; what was parsed is not.
    pub(crate) fn duplicate(&self) -> Skill {
        Skill {
            arena: Arc::clone(&self.arena),
            lazy: OnceLock::new(),
            extra: self.extra.clone(),
            number: self.number,
            rel: self.rel,
            name: self.name,
            stamp: self.stamp,
            file: self.file,
            demanding: self.demanding,
            state: self.state,
        }
    }

    /// Returns the name by which the skill is found.
    pub fn name(&self) -> &str {
        // Names were UTF-8 when they were stored; a forged cache file gives an empty name, not a panic.
        std::str::from_utf8(self.bytes(self.name)).unwrap_or_default()
    }

    /// Returns the typed front matter. Parsed at the first call and then kept.
    pub fn manifest(&self) -> &Manifest {
        self.lazy.get_or_init(Box::default).manifest.get_or_init(|| self.make_manifest())
    }

    /// Returns the typed front matter, parsed anew and not kept: for walks over a whole catalog.
    pub fn make_manifest(&self) -> Manifest {
        let parsed = Parsed::front_matter(self.front_matter(), self.layout_or_reread().first_line, self.file.kind());
        parsed.manifest.unwrap_or_else(|| Manifest::unknown(self.name()))
    }

    /// Returns the fields that a listing shows, without making a manifest. `None` if the front matter has types, a
    /// brief description or `disable-model-invocation`, or has the other fields in an unusual form.
    pub fn summary(&self) -> Option<SkillSummary<'_>> {
        let layout = self.layout()?;
        let bytes = self.front_bytes(&layout)?;
        let text =
            |slice: ArenaRange| std::str::from_utf8(bytes.get(slice.range())?).ok().filter(|text| !text.is_empty());
        Some(SkillSummary {
            description: text(layout.description)?,
            version: text(layout.version),
            model: text(layout.model),
            allowed_tools: text(layout.allowed_tools).unwrap_or_default(),
        })
    }

    /// Returns the raw YAML tree: everything the author wrote.
    pub fn raw(&self) -> Option<Node<'_>> {
        Parsed::front_matter(self.front_matter(), self.layout_or_reread().first_line, self.file.kind()).raw
    }

    /// Returns the text of the front matter.
    pub fn front_matter(&self) -> &str {
        let layout = self.layout();
        match layout.and_then(|layout| self.front_bytes(&layout)?.get(layout.yaml.range())) {
            Some(bytes) => std::str::from_utf8(bytes).unwrap_or_default(),
            None => &self.reread().yaml,
        }
    }

    /// Returns its front matter layout. `None`, if that was in the index cache and is damaged.
    fn layout(&self) -> Option<FrontMatterLayout> {
        match &self.arena.layouts {
            Layouts::InMemory(layouts) => layouts.get(self.number as usize).copied(),
            Layouts::Cached(kept) => kept.layout(self.number),
        }
    }

    /// Returns the layout, or one made from the skill file: without fields for listings, and without a text range.
    pub(crate) fn layout_or_reread(&self) -> FrontMatterLayout {
        self.layout().unwrap_or_else(|| {
            let RereadFrontMatter { first_line, body, digest, .. } = *self.reread();
            FrontMatterLayout { first_line, body, digest: digest.to_le_bytes(), ..FrontMatterLayout::default() }
        })
    }

    /// Returns the bytes that contain the front matter. `None`, if they were in a block that is damaged.
    fn front_bytes(&self, layout: &FrontMatterLayout) -> Option<&[u8]> {
        match &self.arena.layouts {
            Layouts::InMemory(_) => Some(&self.arena.text),
            Layouts::Cached(kept) => kept.block(layout.block)?.bytes(),
        }
    }

    fn reread(&self) -> &RereadFrontMatter {
        self.lazy.get_or_init(Box::default).reread.get_or_init(|| self.read_front_matter().unwrap_or_default())
    }

    /// Reads the front matter from the skill file.
    fn read_front_matter(&self) -> Option<RereadFrontMatter> {
        let bytes = SkillDir::open(self.name(), &self.dir()).ok()?.read(self.file.name(), MAX_FILE).ok()?;
        let FrontMatterScan::Found(front) = scan(&bytes, true) else { return None };
        Some(RereadFrontMatter {
            yaml: std::str::from_utf8(bytes.get(front.yaml.clone())?).ok()?.into(),
            first_line: front.first_line,
            body: u32::try_from(front.body).ok()?,
            digest: DiscoveryInfo::of(&bytes, &front).digest,
        })
    }

    /// Returns the source that it comes from.
    pub fn source(&self) -> Source {
        self.arena.root.source
    }

    /// Returns whether it came with a checkout, whatever its source is called: it is inside the project, one of the
    /// project's files brings it in, or a link leads there. The user has not agreed to its content, so hosts ask before
    /// a model reads it. Always false for skills that a person has named for this run, and for those of servers, which
    /// need consent of their own.
    pub fn is_foreign(&self) -> bool {
        self.state.foreign
    }

    /// Returns the root below which it was found.
    pub fn root(&self) -> &SkillRoot {
        &self.arena.root
    }

    /// Returns the plugin it belongs to.
    pub fn plugin(&self) -> Option<&str> {
        self.arena.root.plugin.as_deref()
    }

    /// Returns the user's name for the server that lists it, if it is not on this machine. Its directory and its file
    /// are URIs then.
    pub fn server(&self) -> Option<&str> {
        self.arena.root.server.as_deref()
    }

    /// Returns its directory.
    pub fn dir(&self) -> PathBuf {
        let rel = self.bytes(self.rel);
        let root = &self.arena.root.path;
        if rel.is_empty() { root.clone() } else { root.join(OsStr::from_bytes(rel)) }
    }

    /// Appends the path of its directory to `out`.
    pub fn put_dir(&self, out: &mut Vec<u8>) {
        let (root, rel) = (self.arena.root.path.as_os_str().as_bytes(), self.bytes(self.rel));
        out.extend_from_slice(root);
        if !(rel.is_empty() || root.is_empty() || root.ends_with(b"/")) {
            out.push(b'/');
        }
        out.extend_from_slice(rel);
    }

    /// Returns the path of its skill file.
    pub fn path(&self) -> PathBuf {
        self.dir().join(self.file.name())
    }

    /// Returns the kind of its skill file.
    pub fn file(&self) -> SkillFile {
        self.file
    }

    /// Returns the skill file's stamp when it was read.
    pub fn stamp(&self) -> FileStamp {
        self.stamp.wide()
    }

    /// Returns a digest of the front matter's content.
    pub fn digest(&self) -> u128 {
        u128::from_le_bytes(self.layout_or_reread().digest)
    }

    /// Returns how many tokens the body costs, estimated from the file's size: nothing is read for it.
    pub fn body_tokens(&self) -> Tokens {
        let bytes = match self.extra.as_ref().and_then(|extra| extra.body.as_ref()) {
            Some((_, size)) => *size,
            None => self.stamp.size.saturating_sub(self.layout_or_reread().body).into(),
        };
        Tokens::bytes4(usize::try_from(bytes).unwrap_or(usize::MAX))
    }

    /// Returns whether it is switched on, by configuration or default. A skill that the organisation's policy
    /// [refuses](Skill::refusal) never is, and one that it requires always.
    pub fn enabled(&self) -> bool {
        self.state.enabled
    }

    /// Returns whether all programs it requires are installed.
    pub fn available(&self) -> bool {
        self.state.available
    }

    /// Returns whether it can be used under its own name: it is switched on, has what it requires, and no other skill
    /// has its name.
    pub fn is_usable(&self) -> bool {
        self.enabled() && self.available() && !self.shadowed()
    }

    /// Returns whether its author hides it from models (`disable-model-invocation`). A person may still call it by
    /// name.
    pub fn hides_from_models(&self) -> bool {
        // A skill with a summary does not hide, nor does one whose front matter cannot have the key. The others are parsed,
        // and not kept, because callers walk over whole catalogs: at 10,000 skills with types or briefs, parsing was two
        // fifths of a hook.
        self.summary().is_none()
            && may_hide(self.front_matter())
            && match self.lazy.get().and_then(|lazy| lazy.manifest.get()) {
                Some(manifest) => manifest.disable_model_invocation(),
                None => self.make_manifest().disable_model_invocation(),
            }
    }

    /// Returns whether a model may have it if it asks for exactly this skill: it is switched on, has what it requires,
    /// and does not hide from models. One that another skill shadows is had by its [`address`](Skill::address).
    pub fn is_open_to_models(&self) -> bool {
        self.enabled() && self.available() && !self.hides_from_models()
    }

    /// Returns whether models are shown it, in lists, matches, tools and resources: it is open to models, and no other
    /// skill has its name. Every surface asks here.
    ///
    /// ```
    /// use skillcue_catalog::{Discovery, SkillRoot, Source};
    ///
    /// let dir = tempfile::tempdir()?;
    /// for (name, more) in [("open", ""), ("secret", "disable-model-invocation: true\n")] {
    ///     std::fs::create_dir(dir.path().join(name))?;
    ///     let text = format!("---\nname: {name}\ndescription: Does it.\n{more}---\n");
    ///     std::fs::write(dir.path().join(name).join("SKILL.md"), text)?;
    /// }
    /// let catalog = Discovery::new([SkillRoot::new(dir.path(), Source::User)]).run();
    /// let seen: Vec<&str> = catalog.skills().filter(|it| it.is_for_models()).map(|it| it.name()).collect();
    /// assert_eq!(seen, ["open"]);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn is_for_models(&self) -> bool {
        !self.shadowed() && self.is_open_to_models()
    }

    /// Returns whether another skill of its name has a higher precedence.
    pub fn shadowed(&self) -> bool {
        self.state.shadowed
    }

    /// Returns its address, for when another skill has its name: `name@source`, or `plugin:name`; with `#2` and so on
    /// behind it if there are several even of those.
    pub fn address(&self) -> String {
        let address = match self.plugin() {
            Some(plugin) => format!("{plugin}:{}", self.name()),
            // Its name has the server's already.
            None if self.server().is_some() => self.name().to_owned(),
            None => format!("{}@{}", self.name(), self.source()),
        };
        if self.state.nth > 1 { format!("{address}#{}", self.state.nth) } else { address }
    }

    /// Returns the id of exactly this skill: its name, or its address if the name means another one.
    ///
    /// ```
    /// use skillcue_catalog::{Discovery, SkillRoot, Source};
    ///
    /// let dir = tempfile::tempdir()?;
    /// for root in ["user", "project"] {
    ///     std::fs::create_dir_all(dir.path().join(root).join("pdf"))?;
    ///     let text = format!("---\nname: pdf\ndescription: Of the {root}.\n---\n");
    ///     std::fs::write(dir.path().join(root).join("pdf/SKILL.md"), text)?;
    /// }
    /// let roots = [("user", Source::User), ("project", Source::Project)];
    /// let catalog = Discovery::new(roots.map(|(root, source)| SkillRoot::new(dir.path().join(root), source))).run();
    /// let ids: Vec<String> = catalog.named("pdf").map(|skill| skill.id()).collect();
    /// assert_eq!(ids, ["pdf", "pdf@user"]);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn id(&self) -> String {
        if self.shadowed() { self.address() } else { self.name().to_owned() }
    }

    /// Returns whether only a number distinguishes their addresses, given that their names are equal.
    pub(crate) fn is_addressed_like(&self, other: &Skill) -> bool {
        self.source() == other.source() && self.plugin() == other.plugin() && self.server() == other.server()
    }

    fn copies(&self) -> &[Location] {
        self.extra.as_ref().map_or(&[], |extra| extra.copies.as_slice())
    }

    /// Returns every location of the skill and its collapsed copies, this one first.
    pub fn locations(&self) -> Vec<Location> {
        let mut locations = vec![self.location()];
        locations.extend(self.copies().iter().cloned());
        locations
    }

    /// Returns whether both have the same locations and come from the same sources. Allocates nothing: it is called for
    /// whole catalogs.
    pub fn is_located_like(&self, other: &Skill) -> bool {
        let same = |a: &SkillRoot, b: &SkillRoot| {
            a.source == b.source && a.plugin == b.plugin && a.path.as_os_str() == b.path.as_os_str()
        };
        let (mine, theirs) = (self.copies(), other.copies());
        self.bytes(self.rel) == other.bytes(other.rel)
            && self.file == other.file
            && self.state.foreign == other.state.foreign
            && same(&self.arena.root, &other.arena.root)
            && mine.len() == theirs.len()
            && mine.iter().zip(theirs).all(|(a, b)| a.path == b.path && same(&a.root, &b.root))
    }

    pub(crate) fn location(&self) -> Location {
        Location { root: Arc::clone(&self.arena.root), dir: self.dir(), path: self.path() }
    }

    /// Returns the location of its body.
    pub fn body_file(&self) -> BodyFile {
        let base_dir = self.dir();
        let extra = self.extra.as_deref();
        let body = match extra.and_then(|extra| extra.body.as_ref()) {
            Some((at, _)) => at.clone(),
            None => BodyAt::AfterFrontMatter(self.file.name().into()),
        };
        BodyFile {
            name: self.name().into(),
            open_dir: extra.and_then(|extra| extra.real_dir.clone()).unwrap_or_else(|| base_dir.clone()),
            base_dir,
            body,
        }
    }

    pub(crate) fn bytes(&self, slice: ArenaRange) -> &[u8] {
        self.arena.text.get(slice.range()).unwrap_or_default()
    }

    /// Returns the real path of its directory, if a link leads to it.
    pub(crate) fn canonical(&self) -> Option<&Path> {
        self.extra.as_ref()?.canonical.as_deref()
    }

    /// Returns the skill as a section keeps it: with its texts, without anything parsed from them.
    pub(crate) fn to_cached(&self) -> Skill {
        Skill { arena: Arc::clone(&self.arena), lazy: OnceLock::new(), extra: None, ..*self }
    }

    pub(crate) fn extra_mut(&mut self) -> &mut RareSkillFields {
        self.extra.get_or_insert_default()
    }
}

/// Returns whether a front matter may have the key `disable-model-invocation`, in one of its spellings, or written with escapes.
fn may_hide(front_matter: &str) -> bool {
    ["model-invocation", "model_invocation", "\\"].into_iter().any(|part| front_matter.contains(part))
}
