//! A deterministic generator of a tree of skills.

mod body;
mod broken;
mod front_matter;
pub(crate) mod random;
pub(crate) mod words;

use crate::triggers;
use broken::BROKEN;
use random::Random;
use std::fs;
use std::io;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// The name of the file in a generated tree's root that says which [`TreeOptions`] it was made from.
///
/// It is beside the skills, never inside one.
pub const STAMP: &str = ".skillcue-generated";

/// The generator's version, a part of the stamp. Raise it whenever equal options would give other bytes, or trees of
/// the version before would be taken for current.
const VERSION: u32 = 1;

/// The number of skills that one thread takes at a time.
const CHUNK: usize = 64;

/// The options of a tree. Equal options give equal bytes.
///
/// ```
/// use skillcue_bench::{Layout, TreeOptions};
///
/// let options = TreeOptions { count: 1000, layout: Layout::Grouped, ..TreeOptions::default() };
/// assert_eq!(options.skill(0), options.skill(0));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeOptions {
    /// The number of skills.
    pub count: usize,
    /// The seed. Another seed gives another tree.
    pub seed: u64,
    /// The layout of directories.
    pub layout: Layout,
    /// The length of the bodies.
    pub bodies: BodyLength,
    /// The triggers of the skills.
    pub triggers: TriggerMix,
    /// The number of skills in a thousand that cannot be read, in every way that `vectors/format.json` lists an error.
    /// Exact, and spread evenly over the tree.
    pub malformed_permille: usize,
    /// The number of skills in a thousand that can be read only after a repair, in the ways that `vectors/format.json`
    /// lists.
    pub mended_permille: usize,
}

impl Default for TreeOptions {
    /// Returns the options of a hundred good skills in one directory.
    fn default() -> Self {
        Self {
            count: 100,
            seed: 1,
            layout: Layout::Flat,
            bodies: BodyLength::Wild,
            triggers: TriggerMix::Wild,
            malformed_permille: 0,
            mended_permille: 0,
        }
    }
}

/// The layout of a tree's directories.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// `root/NAME/SKILL.md`.
    Flat,
    /// `root/CATEGORY/NAME/SKILL.md`, in 32 categories.
    Grouped,
}

/// The length of a tree's bodies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyLength {
    /// As in public repositories: 5 KB at the median, 60 KB at most.
    Wild,
    /// One line, for tests in which only front matter matters: a tree takes less of the disk.
    /// Never for a measurement of reading.
    Short,
}

/// The triggers of a tree's skills.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TriggerMix {
    /// As in public repositories: one skill in five has any.
    Wild,
    /// Ten for every skill, as [`triggers::of`](crate::triggers::of) has them, and little else in
    /// the front matter: for measurements of matching.
    Ten,
}

/// The expected result of reading a generated skill.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GeneratedKind {
    /// It is found without a diagnostic.
    Good,
    /// It is found under its name, with a diagnostic.
    Mended,
    /// It is not found; the one diagnostic has this code.
    Malformed {
        /// The code, as `vectors/format.json` gives it.
        code: &'static str,
    },
}

/// One generated skill, in memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GeneratedSkill {
    /// The name, unique in the tree, and also its directory's.
    pub name: String,
    /// The expected result of reading it.
    pub kind: GeneratedKind,
    /// The text of its `SKILL.md`.
    pub file: String,
}

impl TreeOptions {
    /// Returns the skill at `index`, without touching a disk.
    ///
    /// A skill depends on its index and the options alone, not on the skills before it: that is
    /// what makes a tree independent of the number of threads that write it.
    pub fn skill(&self, index: usize) -> GeneratedSkill {
        let (name, kind) = (self.name(index), self.kind(index));
        let file = match self.slot(index) {
            GeneratedSlot::Good => self.good(index, &name),
            GeneratedSlot::Mended(rank) => BROKEN.mended[rank % BROKEN.mended.len()].file(&name),
            GeneratedSlot::Malformed(rank) => BROKEN.malformed[rank % BROKEN.malformed.len()].file(&name),
        };
        GeneratedSkill { name, kind, file }
    }

    /// Returns the name of the skill at `index`.
    pub fn name(&self, index: usize) -> String {
        words::name(self.seed, index)
    }

    /// Returns the expected result of reading the skill at `index`.
    pub fn kind(&self, index: usize) -> GeneratedKind {
        match self.slot(index) {
            GeneratedSlot::Good => GeneratedKind::Good,
            GeneratedSlot::Mended(_) => GeneratedKind::Mended,
            GeneratedSlot::Malformed(rank) => {
                GeneratedKind::Malformed { code: BROKEN.malformed[rank % BROKEN.malformed.len()].code }
            }
        }
    }

    fn good(&self, index: usize, name: &str) -> String {
        let mut random = Random::for_item(self.seed, index as u64);
        let mut file = String::with_capacity(1024);
        let cjk = match self.triggers {
            TriggerMix::Wild => front_matter::write(&mut file, &mut random, name).cjk,
            TriggerMix::Ten => {
                front_matter::write_triggered(&mut file, &mut random, name, &triggers::of(self.seed, index));
                false
            }
        };
        match self.bodies {
            BodyLength::Wild => body::write(&mut file, &mut random, name, cjk),
            BodyLength::Short => body::write_short(&mut file, name),
        }
        // 64 of 31,942 public files have CRLF.
        if random.chance(2) {
            file = file.replace('\n', "\r\n");
        }
        file
    }

    /// Deals the shares out evenly, as a line is drawn on a raster: exact for every prefix of the
    /// tree, and the n-th broken skill takes the n-th way of being broken.
    fn slot(&self, index: usize) -> GeneratedSlot {
        let broken = self.malformed_permille + self.mended_permille;
        let Some(rank) = dealt(index, broken, 1000) else {
            return GeneratedSlot::Good;
        };
        match dealt(rank, self.malformed_permille, broken) {
            Some(rank) => GeneratedSlot::Malformed(rank),
            // Those of the ranks before this one that are not malformed.
            None => GeneratedSlot::Mended(rank - rank * self.malformed_permille / broken),
        }
    }

    /// Returns the directory of the skill at `index`.
    fn directory(&self, root: &Path, index: usize) -> PathBuf {
        let name = self.name(index);
        match self.layout {
            Layout::Flat => root.join(name),
            Layout::Grouped => root.join(self.category(index)).join(name),
        }
    }

    fn category(&self, index: usize) -> &'static str {
        // A stream of its own, so that the layout does not change what is in the files.
        Random::for_item(!self.seed, index as u64).pick(words::CATEGORIES)
    }

    fn stamp(&self) -> String {
        format!("skillcue-bench {VERSION}\n{self:?}\n")
    }

    fn check(&self) -> io::Result<()> {
        if self.malformed_permille + self.mended_permille > 1000 {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "the malformed and the mended skills are more than a thousand in a thousand",
            ));
        }
        Ok(())
    }
}

/// The kind of skill at an index of the tree, with its number among those of its kind.
enum GeneratedSlot {
    Good,
    Mended(usize),
    Malformed(usize),
}

/// Returns the number of `index` among the `share` in `whole` that are chosen; `None` if it is not chosen.
fn dealt(index: usize, share: usize, whole: usize) -> Option<usize> {
    let rank = index * share / whole;
    ((index + 1) * share / whole > rank).then_some(rank)
}

/// A generated tree on disk.
#[derive(Clone, Debug)]
pub struct GeneratedTree {
    root: PathBuf,
    paths: Vec<PathBuf>,
    options: TreeOptions,
}

impl GeneratedTree {
    /// Returns the directory to point discovery at.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns every `SKILL.md`, by the index of its skill; malformed ones too.
    pub fn paths(&self) -> &[PathBuf] {
        &self.paths
    }

    /// Returns the options that the tree was made from.
    pub fn options(&self) -> &TreeOptions {
        &self.options
    }

    fn new(root: &Path, options: &TreeOptions) -> Self {
        let path = |index| options.directory(root, index).join("SKILL.md");
        Self { root: root.to_path_buf(), paths: (0..options.count).map(path).collect(), options: options.clone() }
    }
}

/// Makes sure that the tree of `options` is at `root`, with as many threads as there are cores.
///
/// A tree that is there already is left alone: its [`STAMP`] says what it was made from. A tree of
/// other options is replaced.
///
/// ```
/// use skillcue_bench::{TreeOptions, generate};
///
/// let dir = tempfile::tempdir()?;
/// let root = dir.path().join("skills");
/// let tree = generate(&root, &TreeOptions { count: 20, ..TreeOptions::default() })?;
/// assert_eq!(tree.paths().len(), 20);
/// assert!(tree.paths().iter().all(|path| path.is_file()));
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Errors
///
/// The file system's error, with the path; [`io::ErrorKind::AlreadyExists`] when `root` holds something that this
/// generator did not write, which it will not delete.
pub fn generate(root: &Path, options: &TreeOptions) -> io::Result<GeneratedTree> {
    generate_with(root, options, thread::available_parallelism().unwrap_or(NonZeroUsize::MIN))
}

/// Like [`generate()`], with a number of threads. The number changes the time, never a byte.
///
/// # Errors
///
/// As [`generate()`].
pub fn generate_with(root: &Path, options: &TreeOptions, threads: NonZeroUsize) -> io::Result<GeneratedTree> {
    options.check()?;
    let stamp = options.stamp();
    if has_stamp(root, &stamp) {
        return Ok(GeneratedTree::new(root, options));
    }
    refuse_foreign(root)?;

    // Written aside and moved into place whole: a process that sees the tree sees all of it, and when two processes
    // want the same tree at once (tests do), the later one finds it done.
    let mut aside = root.as_os_str().to_os_string();
    aside.push(format!(".{}.part", std::process::id()));
    let aside = PathBuf::from(aside);
    let written = write_tree(&aside, options, threads)
        .and_then(|()| fs::write(aside.join(STAMP), &stamp))
        .and_then(|()| move_into_place(&aside, root, &stamp));
    if written.is_err() {
        // The first error is the one to report; files that stay aside do no harm.
        let _ = fs::remove_dir_all(&aside);
    }
    written.map(|()| GeneratedTree::new(root, options))
}

fn has_stamp(root: &Path, stamp: &str) -> bool {
    fs::read_to_string(root.join(STAMP)).is_ok_and(|text| text == stamp)
}

/// Returns an error when `root` holds anything that is not a tree of ours.
fn refuse_foreign(root: &Path) -> io::Result<()> {
    if root.join(STAMP).is_file() {
        return Ok(());
    }
    let empty = match fs::read_dir(root) {
        Ok(mut entries) => entries.next().is_none(),
        Err(error) => error.kind() == io::ErrorKind::NotFound,
    };
    if empty {
        return Ok(());
    }
    let message = format!(
        "{}: exists and was not generated (no {STAMP} in it); name another directory, or empty this one",
        root.display()
    );
    Err(io::Error::new(io::ErrorKind::AlreadyExists, message))
}

fn move_into_place(aside: &Path, root: &Path, stamp: &str) -> io::Result<()> {
    if has_stamp(root, stamp) {
        return fs::remove_dir_all(aside);
    }
    if root.exists() {
        fs::remove_dir_all(root).map_err(|error| at(root, &error))?;
    }
    match fs::rename(aside, root) {
        // Another process was faster between the two calls above.
        Err(_) if has_stamp(root, stamp) => fs::remove_dir_all(aside),
        other => other.map_err(|error| at(root, &error)),
    }
}

fn write_tree(root: &Path, options: &TreeOptions, threads: NonZeroUsize) -> io::Result<()> {
    fs::create_dir_all(root).map_err(|error| at(root, &error))?;
    if options.layout == Layout::Grouped {
        for category in words::CATEGORIES {
            let dir = root.join(category);
            fs::create_dir(&dir).map_err(|error| at(&dir, &error))?;
        }
    }
    let next = AtomicUsize::new(0);
    let work = || -> io::Result<()> {
        loop {
            // Relaxed: the counter hands out numbers and guards no other memory.
            let start = next.fetch_add(CHUNK, Ordering::Relaxed);
            if start >= options.count {
                return Ok(());
            }
            for index in start..options.count.min(start + CHUNK) {
                write_skill(root, options, index)?;
            }
        }
    };
    thread::scope(|scope| {
        let others: Vec<_> = (1..threads.get()).map(|_| scope.spawn(work)).collect();
        let mut result = work();
        for other in others {
            let theirs = other.join().expect("the generator does not panic");
            result = result.and(theirs);
        }
        result
    })
}

fn write_skill(root: &Path, options: &TreeOptions, index: usize) -> io::Result<()> {
    let dir = options.directory(root, index);
    fs::create_dir(&dir).map_err(|error| at(&dir, &error))?;
    let path = dir.join("SKILL.md");
    fs::write(&path, options.skill(index).file).map_err(|error| at(&path, &error))
}

/// Returns an error with the path that it is about.
fn at(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}
