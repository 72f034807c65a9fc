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

/// The file in a generated tree's root that says which [`Options`] it was made from.
///
/// It stands beside the skills, never inside one.
pub const STAMP: &str = ".skillcue-generated";

/// Part of the stamp. Raise it whenever equal options would give other bytes, or trees of the
/// version before would be taken for current.
const VERSION: u32 = 1;

/// Skills that one thread takes at a time.
const CHUNK: usize = 64;

/// What tree to generate. Equal options give equal bytes.
///
/// ```
/// use skillcue_bench::{Layout, Options};
///
/// let options = Options { count: 1000, layout: Layout::Grouped, ..Options::default() };
/// assert_eq!(options.skill(0), options.skill(0));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// How many skills.
    pub count: usize,
    /// Another seed, another tree.
    pub seed: u64,
    /// Where the skills stand.
    pub layout: Layout,
    /// How long the bodies are.
    pub bodies: Bodies,
    /// What the skills are triggered by.
    pub triggers: Triggers,
    /// How many skills in a thousand cannot be read, in every way that `vectors/format.json` lists
    /// an error. Exact, and spread evenly over the tree.
    pub malformed_permille: usize,
    /// How many skills in a thousand can be read only after a repair, in the ways that
    /// `vectors/format.json` lists.
    pub mended_permille: usize,
}

impl Default for Options {
    /// A hundred good skills in one directory.
    fn default() -> Self {
        Self {
            count: 100,
            seed: 1,
            layout: Layout::Flat,
            bodies: Bodies::Wild,
            triggers: Triggers::Wild,
            malformed_permille: 0,
            mended_permille: 0,
        }
    }
}

/// Where the skills of a tree stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// `root/NAME/SKILL.md`.
    Flat,
    /// `root/CATEGORY/NAME/SKILL.md`, in 32 categories.
    Grouped,
}

/// How long the bodies of a tree are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bodies {
    /// As in public repositories: 5 KB at the median, 60 KB at most.
    Wild,
    /// One line, for tests in which only front matter matters: a tree takes less of the disk.
    /// Never for a measurement of reading.
    Short,
}

/// What the skills of a tree are triggered by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Triggers {
    /// As in public repositories: one skill in five has any.
    Wild,
    /// Ten for every skill, as [`triggers::of`](crate::triggers::of) has them, and little else in
    /// the front matter: for measurements of matching.
    Ten,
}

/// What should become of a generated skill.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It is found without a word.
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
pub struct Skill {
    /// Its name, unique in the tree, and its directory's name.
    pub name: String,
    /// What should become of it.
    pub kind: Kind,
    /// Its `SKILL.md`.
    pub file: String,
}

impl Options {
    /// The skill at `index`, without touching a disk.
    ///
    /// A skill depends on its index and the options alone, not on the skills before it: that is
    /// what makes a tree independent of the number of threads that write it.
    pub fn skill(&self, index: usize) -> Skill {
        let (name, kind) = (self.name(index), self.kind(index));
        let file = match self.slot(index) {
            Slot::Good => self.good(index, &name),
            Slot::Mended(rank) => BROKEN.mended[rank % BROKEN.mended.len()].file(&name),
            Slot::Malformed(rank) => BROKEN.malformed[rank % BROKEN.malformed.len()].file(&name),
        };
        Skill { name, kind, file }
    }

    /// The name of the skill at `index`.
    pub fn name(&self, index: usize) -> String {
        words::name(self.seed, index)
    }

    /// What should become of the skill at `index`.
    pub fn kind(&self, index: usize) -> Kind {
        match self.slot(index) {
            Slot::Good => Kind::Good,
            Slot::Mended(_) => Kind::Mended,
            Slot::Malformed(rank) => Kind::Malformed { code: BROKEN.malformed[rank % BROKEN.malformed.len()].code },
        }
    }

    fn good(&self, index: usize, name: &str) -> String {
        let mut random = Random::for_item(self.seed, index as u64);
        let mut file = String::with_capacity(1024);
        let cjk = match self.triggers {
            Triggers::Wild => front_matter::write(&mut file, &mut random, name).cjk,
            Triggers::Ten => {
                front_matter::write_triggered(&mut file, &mut random, name, &triggers::of(self.seed, index));
                false
            }
        };
        match self.bodies {
            Bodies::Wild => body::write(&mut file, &mut random, name, cjk),
            Bodies::Short => body::write_short(&mut file, name),
        }
        // 64 of 31,942 public files have CRLF.
        if random.chance(2) {
            file = file.replace('\n', "\r\n");
        }
        file
    }

    /// Deals the shares out evenly, as a line is drawn on a raster: exact for every prefix of the
    /// tree, and the n-th broken skill takes the n-th way of being broken.
    fn slot(&self, index: usize) -> Slot {
        let broken = self.malformed_permille + self.mended_permille;
        let Some(rank) = dealt(index, broken, 1000) else {
            return Slot::Good;
        };
        match dealt(rank, self.malformed_permille, broken) {
            Some(rank) => Slot::Malformed(rank),
            // Those of the ranks before this one that are not malformed.
            None => Slot::Mended(rank - rank * self.malformed_permille / broken),
        }
    }

    /// Where the skill at `index` stands in the tree.
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

/// What an index of the tree was dealt, and as the how-manieth of its kind.
enum Slot {
    Good,
    Mended(usize),
    Malformed(usize),
}

/// If `index` is one of the `share` in `whole` that are chosen, which one it is.
fn dealt(index: usize, share: usize, whole: usize) -> Option<usize> {
    let rank = index * share / whole;
    ((index + 1) * share / whole > rank).then_some(rank)
}

/// A generated tree on disk.
#[derive(Clone, Debug)]
pub struct Tree {
    root: PathBuf,
    paths: Vec<PathBuf>,
    options: Options,
}

impl Tree {
    /// The directory to point discovery at.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Every `SKILL.md`, by the index of its skill; malformed ones too.
    pub fn paths(&self) -> &[PathBuf] {
        &self.paths
    }

    /// What the tree was made from.
    pub fn options(&self) -> &Options {
        &self.options
    }

    fn new(root: &Path, options: &Options) -> Self {
        let path = |index| options.directory(root, index).join("SKILL.md");
        Self { root: root.to_path_buf(), paths: (0..options.count).map(path).collect(), options: options.clone() }
    }
}

/// Makes sure that the tree of `options` stands at `root`, with as many threads as there are
/// cores.
///
/// A tree that is there already is left alone: its [`STAMP`] says what it was made from. A tree of
/// other options is replaced.
///
/// ```
/// use skillcue_bench::{Options, generate};
///
/// let dir = tempfile::tempdir()?;
/// let root = dir.path().join("skills");
/// let tree = generate(&root, &Options { count: 20, ..Options::default() })?;
/// assert_eq!(tree.paths().len(), 20);
/// assert!(tree.paths().iter().all(|path| path.is_file()));
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Errors
///
/// Whatever the file system says, with the path; [`io::ErrorKind::AlreadyExists`] when `root` holds
/// something that this generator did not write, which it will not delete.
pub fn generate(root: &Path, options: &Options) -> io::Result<Tree> {
    generate_with(root, options, thread::available_parallelism().unwrap_or(NonZeroUsize::MIN))
}

/// [`generate()`] with a number of threads. The number changes the time, never a byte.
///
/// # Errors
///
/// As [`generate()`].
pub fn generate_with(root: &Path, options: &Options, threads: NonZeroUsize) -> io::Result<Tree> {
    options.check()?;
    let stamp = options.stamp();
    if has_stamp(root, &stamp) {
        return Ok(Tree::new(root, options));
    }
    refuse_foreign(root)?;

    // Written aside and moved into place whole: whoever sees the tree sees all of it, and when two
    // processes want the same tree at once (tests do), the later one finds it done.
    let mut aside = root.as_os_str().to_os_string();
    aside.push(format!(".{}.part", std::process::id()));
    let aside = PathBuf::from(aside);
    let written = write_tree(&aside, options, threads)
        .and_then(|()| fs::write(aside.join(STAMP), &stamp))
        .and_then(|()| move_into_place(&aside, root, &stamp));
    if written.is_err() {
        // The first error is the one to report; what is left aside is only litter.
        let _ = fs::remove_dir_all(&aside);
    }
    written.map(|()| Tree::new(root, options))
}

fn has_stamp(root: &Path, stamp: &str) -> bool {
    fs::read_to_string(root.join(STAMP)).is_ok_and(|text| text == stamp)
}

/// An error when `root` holds anything that is not a tree of ours.
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

fn write_tree(root: &Path, options: &Options, threads: NonZeroUsize) -> io::Result<()> {
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

fn write_skill(root: &Path, options: &Options, index: usize) -> io::Result<()> {
    let dir = options.directory(root, index);
    fs::create_dir(&dir).map_err(|error| at(&dir, &error))?;
    let path = dir.join("SKILL.md");
    fs::write(&path, options.skill(index).file).map_err(|error| at(&path, &error))
}

/// The same error, with the path that it is about.
fn at(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}
