//! One discovered skill: level 1.

use std::ffi::OsStr;
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use skillcue_format::split::{FrontMatterScan, scan};
use skillcue_format::{DiscoveryInfo, FileKind, MAX_FILE, Manifest, Node, Parsed, Tokens, split_tools};

use crate::index_cache::KeptPassages;
use crate::skill_dir::SmallStamp;
use crate::{BodyAt, BodyFile, Root, SkillDir, Source, Stamp};

/// Which file describes the skill.
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
    /// The file's name.
    pub fn name(self) -> &'static str {
        match self {
            SkillFile::Markdown => "SKILL.md",
            SkillFile::LowerCase => "skill.md",
            SkillFile::TitleCase => "Skill.md",
            SkillFile::Yaml => "SKILL.yaml",
        }
    }

    /// How it is read.
    pub fn kind(self) -> FileKind {
        if self == SkillFile::Yaml { FileKind::Yaml } else { FileKind::Markdown }
    }

    /// The skill file of that name.
    pub fn of(name: &[u8]) -> Option<SkillFile> {
        [SkillFile::Markdown, SkillFile::Yaml, SkillFile::LowerCase, SkillFile::TitleCase]
            .into_iter()
            .find(|file| file.name().as_bytes() == name)
    }
}

/// One discovered skill: its metadata, where it stands, and nothing of its body.
///
/// A catalog holds up to hundreds of thousands of them, so a skill keeps the text of its front matter and makes the
/// typed [`Manifest`] of it when somebody asks. (Keeping the one that discovery made costs more than making it again:
/// at 100,000 skills the memory, not the parsing, is what takes time.)
#[derive(Debug)]
pub struct Skill {
    /// Holds the texts.
    pub(crate) shelf: Arc<Shelf>,
    /// Which of the shelf's passages is its own.
    pub(crate) number: u32,
    pub(crate) rel: Slice,
    pub(crate) name: Slice,
    pub(crate) stamp: SmallStamp,
    pub(crate) made: OnceLock<Box<Made>>,
    pub(crate) extra: Option<Box<Extra>>,
    pub(crate) file: SkillFile,
    /// Whether it requires programs.
    pub(crate) demanding: bool,
    pub(crate) state: State,
}

/// What some skills share. One pointer, counted by one thread: with three, two of them counted by all threads at once,
/// counting took a twentieth of a start.
#[derive(Debug)]
pub(crate) struct Shelf {
    /// Paths and names, and front matter unless that is kept in the index cache.
    pub(crate) text: Vec<u8>,
    pub(crate) passages: Passages,
    pub(crate) root: Arc<Root>,
}

/// The passages of some skills, by their number.
#[derive(Debug)]
pub(crate) enum Passages {
    /// They and their front matter are here.
    Here(Vec<Passage>),
    /// They and their front matter are in the index cache, and read when somebody asks.
    Kept(KeptPassages),
}

/// What is known of a skill's front matter, and not needed to find the skill.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Passage {
    /// Which block of the index cache it is in, if it is in there.
    pub(crate) block: u32,
    pub(crate) yaml: Slice,
    /// What a listing shows, mostly within the front matter. Without a description all of it must be parsed out of that.
    pub(crate) description: Slice,
    pub(crate) version: Slice,
    pub(crate) model: Slice,
    pub(crate) allowed_tools: Slice,
    /// The line on which the front matter starts, and where the body does.
    pub(crate) first_line: u32,
    pub(crate) body: u32,
    /// Of what the front matter says. In bytes, which need no room between them.
    pub(crate) digest: [u8; 16],
}

/// What was made of a skill's text when somebody asked for it.
#[derive(Debug, Default)]
pub(crate) struct Made {
    manifest: OnceLock<Manifest>,
    /// What was read from the skill file because the index cache is damaged.
    rescued: OnceLock<Rescued>,
}

/// The front matter as the skill file has it, and what its passage would have said.
#[derive(Debug, Default)]
struct Rescued {
    yaml: Box<str>,
    first_line: u32,
    body: u32,
    digest: u128,
}

/// What only few skills have.
#[derive(Debug, Default)]
pub(crate) struct Extra {
    /// Where the skill file really is, if it is a link to that of another directory.
    pub(crate) real_dir: Option<PathBuf>,
    /// The real path of the directory, if a link leads to it.
    pub(crate) canonical: Option<PathBuf>,
    /// The body of a `SKILL.yaml`, and how large it is.
    pub(crate) body: Option<(BodyAt, u64)>,
    /// Other places with the same front matter and size.
    pub(crate) copies: Vec<Place>,
}

/// What a listing shows of a skill; everything else is as it is by default.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Glimpse<'s> {
    /// What the skill does and when to use it.
    pub description: &'s str,
    /// The version, as the author wrote it.
    pub version: Option<&'s str>,
    /// The model that the skill asks for.
    pub model: Option<&'s str>,
    allowed_tools: &'s str,
}

impl<'s> Glimpse<'s> {
    /// The tools that the skill says it needs.
    pub fn allowed_tools(self) -> impl Iterator<Item = &'s str> {
        split_tools(self.allowed_tools)
    }
}

/// One of several places of one skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// Where it was looked for.
    pub root: Arc<Root>,
    /// Its directory.
    pub dir: PathBuf,
    /// Its skill file.
    pub path: PathBuf,
}

/// What was decided about a skill when the catalog was put together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct State {
    pub(crate) shadowed: bool,
    pub(crate) enabled: bool,
    pub(crate) available: bool,
    pub(crate) foreign: bool,
    /// Which it is of those with the same name and source.
    pub(crate) nth: u16,
}

impl State {
    pub(crate) const NEW: State = State { shadowed: false, enabled: true, available: true, foreign: false, nth: 1 };
}

/// A range of `u32`s.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Slice {
    pub(crate) start: u32,
    pub(crate) end: u32,
}

impl Slice {
    pub(crate) fn range(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }
}

impl Skill {
    /// The name by which the skill is found.
    pub fn name(&self) -> &str {
        // Names were text when they were put in; a cache file that lies about that gives an empty name, not a panic.
        std::str::from_utf8(self.bytes(self.name)).unwrap_or_default()
    }

    /// The typed front matter, made when first asked for and then kept.
    pub fn manifest(&self) -> &Manifest {
        self.made.get_or_init(Box::default).manifest.get_or_init(|| self.make_manifest())
    }

    /// The typed front matter, made anew and not kept: for walks over a whole catalog.
    pub fn make_manifest(&self) -> Manifest {
        let parsed = Parsed::front_matter(self.front_matter(), self.passage_or_rescued().first_line, self.file.kind());
        parsed.manifest.unwrap_or_else(|| Manifest::unknown(self.name()))
    }

    /// What a listing shows, without making a manifest: nothing, if the front matter says something about types, hiding
    /// or a brief description, or says the rest in an unusual way.
    pub fn glimpse(&self) -> Option<Glimpse<'_>> {
        let passage = self.passage()?;
        let bytes = self.front_bytes(&passage)?;
        let text = |slice: Slice| std::str::from_utf8(bytes.get(slice.range())?).ok().filter(|text| !text.is_empty());
        Some(Glimpse {
            description: text(passage.description)?,
            version: text(passage.version),
            model: text(passage.model),
            allowed_tools: text(passage.allowed_tools).unwrap_or_default(),
        })
    }

    /// The raw YAML tree: everything the author wrote.
    pub fn raw(&self) -> Option<Node<'_>> {
        Parsed::front_matter(self.front_matter(), self.passage_or_rescued().first_line, self.file.kind()).raw
    }

    /// The text of the front matter.
    pub fn front_matter(&self) -> &str {
        let passage = self.passage();
        match passage.and_then(|passage| self.front_bytes(&passage)?.get(passage.yaml.range())) {
            Some(bytes) => std::str::from_utf8(bytes).unwrap_or_default(),
            None => &self.rescued().yaml,
        }
    }

    /// Nothing, if it was in the index cache and that is damaged.
    fn passage(&self) -> Option<Passage> {
        match &self.shelf.passages {
            Passages::Here(passages) => passages.get(self.number as usize).copied(),
            Passages::Kept(kept) => kept.passage(self.number),
        }
    }

    /// The passage, or what the skill file says in its place: nothing for listings, and no place of its own.
    pub(crate) fn passage_or_rescued(&self) -> Passage {
        self.passage().unwrap_or_else(|| {
            let Rescued { first_line, body, digest, .. } = *self.rescued();
            Passage { first_line, body, digest: digest.to_le_bytes(), ..Passage::default() }
        })
    }

    /// What the front matter is a part of. Nothing, if it was in a block that is damaged.
    fn front_bytes(&self, passage: &Passage) -> Option<&[u8]> {
        match &self.shelf.passages {
            Passages::Here(_) => Some(&self.shelf.text),
            Passages::Kept(kept) => kept.block(passage.block)?.bytes(),
        }
    }

    fn rescued(&self) -> &Rescued {
        self.made.get_or_init(Box::default).rescued.get_or_init(|| self.reread().unwrap_or_default())
    }

    /// The front matter as the skill file has it now.
    fn reread(&self) -> Option<Rescued> {
        let bytes = SkillDir::open(self.name(), &self.dir()).ok()?.read(self.file.name(), MAX_FILE).ok()?;
        let FrontMatterScan::Found(front) = scan(&bytes, true) else { return None };
        Some(Rescued {
            yaml: std::str::from_utf8(bytes.get(front.yaml.clone())?).ok()?.into(),
            first_line: front.first_line,
            body: u32::try_from(front.body).ok()?,
            digest: DiscoveryInfo::of(&bytes, &front).digest,
        })
    }

    /// Where it comes from.
    pub fn source(&self) -> Source {
        self.shelf.root.source
    }

    /// Whether it came with a checkout, whatever its source is called: it is inside the project, one of the project's
    /// files brings it in, or a link leads there. Nobody has agreed to what it says, so hosts ask before a model reads it.
    /// Never what a person has named for this run, and never what servers list, which needs consent of its own.
    pub fn is_foreign(&self) -> bool {
        self.state.foreign
    }

    /// The root below which it was found.
    pub fn root(&self) -> &Root {
        &self.shelf.root
    }

    /// The plugin it belongs to.
    pub fn plugin(&self) -> Option<&str> {
        self.shelf.root.plugin.as_deref()
    }

    /// What the user calls the server that lists it, if it is not on this machine. Its directory and its file are URIs
    /// then.
    pub fn server(&self) -> Option<&str> {
        self.shelf.root.server.as_deref()
    }

    /// Its directory.
    pub fn dir(&self) -> PathBuf {
        let rel = self.bytes(self.rel);
        let root = &self.shelf.root.path;
        if rel.is_empty() { root.clone() } else { root.join(OsStr::from_bytes(rel)) }
    }

    /// Appends its directory to some bytes.
    pub fn put_dir(&self, out: &mut Vec<u8>) {
        let (root, rel) = (self.shelf.root.path.as_os_str().as_bytes(), self.bytes(self.rel));
        out.extend_from_slice(root);
        if !(rel.is_empty() || root.is_empty() || root.ends_with(b"/")) {
            out.push(b'/');
        }
        out.extend_from_slice(rel);
    }

    /// Its skill file.
    pub fn path(&self) -> PathBuf {
        self.dir().join(self.file.name())
    }

    /// Which file describes it.
    pub fn file(&self) -> SkillFile {
        self.file
    }

    /// The skill file's stamp when it was read.
    pub fn stamp(&self) -> Stamp {
        self.stamp.wide()
    }

    /// A digest of what the front matter says.
    pub fn digest(&self) -> u128 {
        u128::from_le_bytes(self.passage_or_rescued().digest)
    }

    /// How many tokens the body costs, estimated from the file's size: nothing is read for it.
    pub fn body_tokens(&self) -> Tokens {
        let bytes = match self.extra.as_ref().and_then(|extra| extra.body.as_ref()) {
            Some((_, size)) => *size,
            None => self.stamp.size.saturating_sub(self.passage_or_rescued().body).into(),
        };
        Tokens::bytes4(usize::try_from(bytes).unwrap_or(usize::MAX))
    }

    /// Whether it may be used: switched on by configuration or default.
    pub fn enabled(&self) -> bool {
        self.state.enabled
    }

    /// Whether all programs it requires are there.
    pub fn available(&self) -> bool {
        self.state.available
    }

    /// Returns whether it can be used under its own name: it is switched on, has what it requires, and no other skill has
    /// its name.
    pub fn is_usable(&self) -> bool {
        self.enabled() && self.available() && !self.shadowed()
    }

    /// Returns whether its author hides it from models (`disable-model-invocation`). A person may still call it by name.
    pub fn hides_from_models(&self) -> bool {
        // A skill with a glimpse does not hide. The rest is parsed, and not kept, because whole catalogs are asked.
        self.glimpse().is_none()
            && match self.made.get().and_then(|made| made.manifest.get()) {
                Some(manifest) => manifest.disable_model_invocation(),
                None => self.make_manifest().disable_model_invocation(),
            }
    }

    /// Returns whether a model may have it if it asks for exactly this skill: it is switched on, has what it requires, and
    /// does not hide from models. One that another skill shadows is had by its [`address`](Skill::address).
    pub fn is_open_to_models(&self) -> bool {
        self.enabled() && self.available() && !self.hides_from_models()
    }

    /// Returns whether models are shown it, in lists, matches, tools and resources: it is open to models, and no other skill
    /// has its name. Every surface asks here.
    ///
    /// ```
    /// use skillcue_catalog::{Discovery, Root, Source};
    ///
    /// let dir = tempfile::tempdir()?;
    /// for (name, more) in [("open", ""), ("secret", "disable-model-invocation: true\n")] {
    ///     std::fs::create_dir(dir.path().join(name))?;
    ///     let text = format!("---\nname: {name}\ndescription: Does it.\n{more}---\n");
    ///     std::fs::write(dir.path().join(name).join("SKILL.md"), text)?;
    /// }
    /// let catalog = Discovery::new([Root::new(dir.path(), Source::User)]).run();
    /// let seen: Vec<&str> = catalog.skills().filter(|skill| skill.is_for_models()).map(|skill| skill.name()).collect();
    /// assert_eq!(seen, ["open"]);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn is_for_models(&self) -> bool {
        !self.shadowed() && self.is_open_to_models()
    }

    /// Whether another skill of the same name stands higher.
    pub fn shadowed(&self) -> bool {
        self.state.shadowed
    }

    /// How it is addressed if another skill has its name: `name@source`, or `plugin:name`; with `#2` and so on behind
    /// it if there are several even of those.
    pub fn address(&self) -> String {
        let address = match self.plugin() {
            Some(plugin) => format!("{plugin}:{}", self.name()),
            // Its name says already whose it is.
            None if self.server().is_some() => self.name().to_owned(),
            None => format!("{}@{}", self.name(), self.source()),
        };
        if self.state.nth > 1 { format!("{address}#{}", self.state.nth) } else { address }
    }

    /// Returns what finds exactly this skill: its name, or its address if the name means another one.
    ///
    /// ```
    /// use skillcue_catalog::{Discovery, Root, Source};
    ///
    /// let dir = tempfile::tempdir()?;
    /// for root in ["user", "project"] {
    ///     std::fs::create_dir_all(dir.path().join(root).join("pdf"))?;
    ///     let text = format!("---\nname: pdf\ndescription: Of the {root}.\n---\n");
    ///     std::fs::write(dir.path().join(root).join("pdf/SKILL.md"), text)?;
    /// }
    /// let roots = [("user", Source::User), ("project", Source::Project)];
    /// let catalog = Discovery::new(roots.map(|(root, source)| Root::new(dir.path().join(root), source))).run();
    /// let ids: Vec<String> = catalog.named("pdf").map(|skill| skill.id()).collect();
    /// assert_eq!(ids, ["pdf", "pdf@user"]);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn id(&self) -> String {
        if self.shadowed() { self.address() } else { self.name().to_owned() }
    }

    /// Whether only a number tells their addresses apart, given that their names are the same.
    pub(crate) fn is_addressed_like(&self, other: &Skill) -> bool {
        self.source() == other.source() && self.plugin() == other.plugin() && self.server() == other.server()
    }

    fn copies(&self) -> &[Place] {
        self.extra.as_ref().map_or(&[], |extra| extra.copies.as_slice())
    }

    /// Every place where the same skill stands, this one first.
    pub fn places(&self) -> Vec<Place> {
        let mut places = vec![self.place()];
        places.extend(self.extra.iter().flat_map(|extra| extra.copies.iter().cloned()));
        places
    }

    /// Whether both stand in the same places and count as coming from the same sources. Allocates nothing: it is asked
    /// of whole catalogs.
    pub fn is_placed_like(&self, other: &Skill) -> bool {
        let same = |a: &Root, b: &Root| {
            a.source == b.source && a.plugin == b.plugin && a.path.as_os_str() == b.path.as_os_str()
        };
        let (mine, theirs) = (self.copies(), other.copies());
        self.bytes(self.rel) == other.bytes(other.rel)
            && self.file == other.file
            && self.state.foreign == other.state.foreign
            && same(&self.shelf.root, &other.shelf.root)
            && mine.len() == theirs.len()
            && mine.iter().zip(theirs).all(|(a, b)| a.path == b.path && same(&a.root, &b.root))
    }

    pub(crate) fn place(&self) -> Place {
        Place { root: Arc::clone(&self.shelf.root), dir: self.dir(), path: self.path() }
    }

    /// Where its body stands.
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

    pub(crate) fn bytes(&self, slice: Slice) -> &[u8] {
        self.shelf.text.get(slice.range()).unwrap_or_default()
    }

    /// The real path of its directory, if a link leads to it.
    pub(crate) fn canonical(&self) -> Option<&Path> {
        self.extra.as_ref()?.canonical.as_deref()
    }

    /// What the index cache remembers of it: the same texts, without what was made of them.
    pub(crate) fn memory(&self) -> Skill {
        Skill { shelf: Arc::clone(&self.shelf), made: OnceLock::new(), extra: None, ..*self }
    }

    pub(crate) fn extra_mut(&mut self) -> &mut Extra {
        self.extra.get_or_insert_default()
    }
}
