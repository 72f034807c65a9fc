//! The directories that are watched.
//!
//! Each by itself: asked to watch a directory with all that is below it, `notify` would watch `node_modules` as well,
//! and files that are written into a new directory before it is watched would be lost. Here a directory is first
//! watched and then listed, and the refresh comes last.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fmt;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use notify::{Config, ErrorKind, RecommendedWatcher, RecursiveMode, Watcher};
use skillcue_catalog::{MAX_DEPTH, SKIPPED_DIRECTORIES, SkillFile, TreeLimits};

/// The number of links to one directory that are remembered: links in circles would add one each time.
const MAX_LINKS: usize = 8;

/// The number of parts of the path to a root that are watched for coming and going, the lowest: `.claude/skills`.
const MAX_WAYPOINTS: usize = 2;

/// The number of steps for forgetting directories: for each, `notify` goes through all that it watches. With more
/// steps, a new watcher is faster.
const MAX_FORGET_STEPS: usize = 1 << 20;

/// The number of times that a survey is tried again, and the pause before each.
const MAX_RETRIES: usize = 10;
const RETRY_PAUSE: Duration = Duration::from_millis(100);

type EventHandler = Box<dyn FnMut(notify::Result<notify::Event>) + Send>;

/// The directories that are watched, by their real paths: events name these.
pub(super) struct WatchTree {
    roots: Vec<PathBuf>,
    max: usize,
    make_handler: Box<dyn Fn() -> EventHandler + Send>,
    watcher: RecommendedWatcher,
    dirs: BTreeMap<PathBuf, WatchedDir>,
    /// The parts of the paths to roots whose coming and going is watched: there roots appear, vanish or are led
    /// elsewhere.
    waypoints: BTreeSet<PathBuf>,
    /// The directories that the waypoints are in.
    waypoint_parents: BTreeSet<PathBuf>,
    /// Real directories and the paths that the catalog knows them by: roots, and links.
    names: BTreeSet<(PathBuf, PathBuf)>,
    /// The directory that each root was, by device and inode.
    root_ids: Vec<Option<(u64, u64)>>,
    round: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct WatchedDir {
    /// The number of levels below it that are looked at.
    left: usize,
    /// Whether it is below a skill's directory.
    inside: bool,
    /// Whether it holds a skill file.
    skill: bool,
    /// The round in which it was last gone through.
    round: u64,
}

impl fmt::Debug for WatchTree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WatchTree").field("roots", &self.roots).field("dirs", &self.dirs.len()).finish_non_exhaustive()
    }
}

impl WatchTree {
    /// Watches all directories below these roots. Fails if the system does not notify for all of them, and says why.
    pub(super) fn new<T>(
        roots: Vec<PathBuf>,
        max: usize,
        make_handler: impl Fn() -> T + Send + 'static,
    ) -> Result<WatchTree, String>
    where
        T: FnMut(notify::Result<notify::Event>) + Send + 'static,
    {
        let make_handler = Box::new(move || Box::new(make_handler()) as EventHandler);
        let watcher = watcher(make_handler())?;
        let (dirs, waypoints, waypoint_parents, names) =
            (BTreeMap::new(), BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
        let max = granted().map_or(max, |granted| max.min(granted / 4 * 3));
        let root_ids = Vec::new();
        let mut tree = WatchTree {
            roots,
            max,
            make_handler,
            watcher,
            dirs,
            waypoints,
            waypoint_parents,
            names,
            root_ids,
            round: 0,
        };
        tree.go_through()?;
        Ok(tree)
    }

    /// Starts over: nothing is known for certain any more.
    pub(super) fn survey(&mut self) -> Result<(), String> {
        // With a new watcher. In the old one a watch may by now be on a directory of another name.
        self.watcher = watcher((self.make_handler)())?;
        let mut tries = 0;
        loop {
            self.dirs.clear();
            self.waypoints.clear();
            self.waypoint_parents.clear();
            self.names.clear();
            let done = self.go_through();
            if done.is_ok() || tries >= MAX_RETRIES {
                return done;
            }
            // The old one goes on a thread of its own, and until it has, both count against the system's limit.
            tries += 1;
            std::thread::sleep(RETRY_PAUSE);
        }
    }

    fn go_through(&mut self) -> Result<(), String> {
        self.round += 1;
        // Before they are gone through: one that is replaced meanwhile is noticed at the next check.
        self.root_ids = self.roots.iter().map(|root| directory_id(root)).collect();
        for root in self.roots.clone() {
            // Fails only for an empty path, or without a current directory: then nothing can be found there either.
            let Ok(full) = std::path::absolute(&root) else { continue };
            self.add_waypoints(&full)?;
            if let Ok(real) = full.canonicalize() {
                self.names.insert((real.clone(), root));
                self.visit(real, WatchedDir { left: MAX_DEPTH, inside: false, skill: false, round: self.round })?;
            }
        }
        Ok(())
    }

    /// Returns the number of directories that are watched.
    pub(super) fn directories(&self) -> usize {
        self.dirs.len() + self.waypoint_parents.iter().filter(|parent| !self.dirs.contains_key(*parent)).count()
    }

    /// Returns whether some root is another directory than it was: the watches are on the old one.
    pub(super) fn is_displaced(&self) -> bool {
        self.roots.iter().map(|root| directory_id(root)).ne(self.root_ids.iter().copied())
    }

    /// Watches the coming and going of a path, and of links on the way to it.
    fn add_waypoints(&mut self, path: &Path) -> Result<(), String> {
        let mut lowest = None;
        let mut waypoints = 0;
        for part in path.ancestors() {
            let (Some(parent), Some(name)) = (part.parent(), part.file_name()) else { continue };
            let Ok(parent) = parent.canonicalize() else { continue };
            lowest = lowest.or(Some(part));
            // Further up only what can lead elsewhere: much happens there that is none of our business.
            if waypoints < MAX_WAYPOINTS || part.is_symlink() {
                waypoints += 1;
                self.add_waypoint(&parent, name)?;
            }
        }
        // It may have come before it was watched.
        if lowest.is_some_and(|lowest| lowest != path && lowest.is_dir()) { self.add_waypoints(path) } else { Ok(()) }
    }

    fn add_waypoint(&mut self, parent: &Path, name: &OsStr) -> Result<(), String> {
        if self.waypoints.insert(parent.join(name)) && self.waypoint_parents.insert(parent.to_owned()) {
            watch(&mut self.watcher, parent)?;
        }
        Ok(())
    }

    /// Returns whether a path is on the way to a root.
    pub(super) fn is_waypoint(&self, path: &Path) -> bool {
        self.waypoints.contains(path) || self.waypoint_parents.contains(path)
    }

    /// Returns whether an event on that path can matter. `data`: only the content of a file has changed.
    pub(super) fn concerns(&self, path: &Path, data: bool) -> bool {
        if self.dirs.contains_key(path) {
            return true;
        }
        let (Some(dir), Some(name)) = (path.parent().and_then(|parent| self.dirs.get(parent)), path.file_name()) else {
            return false;
        };
        let anywhere = dir.inside || dir.skill;
        !is_skipped(name) && (anywhere || !data || is_skill_file(name))
    }

    /// Watches new directories at paths where something came, went or was renamed. Returns whether it had to start over
    /// for that.
    pub(super) fn look_at(&mut self, paths: &BTreeSet<PathBuf>) -> Result<bool, String> {
        let known = paths.iter().filter(|path| self.dirs.contains_key(*path)).count();
        if known.saturating_mul(self.dirs.len()) > MAX_FORGET_STEPS {
            return self.survey().map(|()| true);
        }
        self.round += 1;
        // First all that may be gone: a watch on a directory's old name must not end with that on its new one.
        for path in paths.iter().filter(|path| !path.file_name().is_some_and(is_skill_file)) {
            self.forget(path);
        }
        for path in paths {
            let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else { continue };
            let Some(&above) = self.dirs.get(parent) else { continue };
            if is_skill_file(name) {
                // Its directory became a skill's, or ceased to be one; the file may be a link.
                self.visit(parent.to_owned(), WatchedDir { round: self.round, ..above })?;
                continue;
            }
            let Ok(metadata) = path.symlink_metadata() else { continue };
            let found = if metadata.is_dir() {
                above.below(name, self.round).map(|dir| (path.clone(), dir))
            } else if metadata.is_symlink() {
                self.link_target(parent, name, above)?
            } else {
                None
            };
            if let Some((path, dir)) = found {
                self.visit(path, dir)?;
            }
        }
        Ok(false)
    }

    fn forget(&mut self, path: &Path) {
        let below = |(other, _): &(&PathBuf, &WatchedDir)| other.starts_with(path);
        // Paths are compared part by part, so that what is below one comes right after it.
        let gone: Vec<PathBuf> =
            self.dirs.range(path.to_owned()..).take_while(below).map(|(path, _)| path.clone()).collect();
        for path in gone {
            self.dirs.remove(&path);
            if !self.waypoint_parents.contains(&path) {
                // `notify` mostly has done so by itself.
                let _ = self.watcher.unwatch(&path);
            }
        }
    }

    /// Watches a directory and what is below it.
    fn visit(&mut self, path: PathBuf, dir: WatchedDir) -> Result<(), String> {
        let mut todo = vec![(path, dir)];
        while let Some((path, mut dir)) = todo.pop() {
            let known = self.dirs.get(&path);
            if known.is_some_and(|known| known.round == self.round && known.left >= dir.left) {
                continue;
            }
            if known.is_none() {
                if self.dirs.len() >= self.max {
                    return Err(format!("there are more than {} directories to watch", self.max));
                }
                if !watch(&mut self.watcher, &path)? {
                    continue;
                }
            }
            // Listed only now that it is watched: a file that comes while it is listed causes an event.
            let entries = list(&path);
            dir.skill = entries.iter().any(|(name, _)| is_skill_file(name));
            self.dirs.insert(path.clone(), dir);
            for (name, kind) in entries {
                if kind.is_dir() {
                    todo.extend(dir.below(&name, self.round).map(|dir| (path.join(&name), dir)));
                } else if kind.is_symlink() {
                    todo.extend(self.link_target(&path, &name, dir)?);
                }
            }
        }
        Ok(())
    }

    /// Returns the directory that a link leads to, if discovery would follow it; that of the file, if it is a skill
    /// file.
    fn link_target(
        &mut self,
        parent: &Path,
        name: &OsStr,
        above: WatchedDir,
    ) -> Result<Option<(PathBuf, WatchedDir)>, String> {
        let link = parent.join(name);
        let target = link.canonicalize().ok();
        if let Some(target) = target.as_ref().filter(|target| is_skill_file(name) && target.is_file()) {
            let alone = WatchedDir { left: 0, inside: true, skill: false, round: self.round };
            let home = target.parent().filter(|home| !self.dirs.contains_key(*home));
            return Ok(home.map(|home| (home.to_owned(), alone)));
        }
        let Some(below) = above.below(name, self.round).filter(|below| !below.inside) else { return Ok(None) };
        let is_dir = |target: &PathBuf| target.is_dir() && !parent.starts_with(target);
        if target.as_ref().is_none_or(is_dir)
            && let Ok(path) = link.read_link()
        {
            // The link stays when its target goes and comes back.
            self.add_waypoints(&parent.join(path))?;
        }
        let Some(target) = target.filter(is_dir) else { return Ok(None) };
        for shown in self.shown(parent) {
            let known = self.names.range((target.clone(), PathBuf::new())..).take_while(|(real, _)| *real == target);
            if known.count() < MAX_LINKS {
                self.names.insert((target.clone(), shown.join(name)));
            }
        }
        Ok(Some((target, below)))
    }

    /// Returns the paths by which the catalog may know a directory.
    fn shown(&self, path: &Path) -> Vec<PathBuf> {
        let by = |(real, shown): &(PathBuf, PathBuf)| {
            let rest = path.strip_prefix(real).ok()?;
            // Joining nothing would add a slash.
            Some(if rest.as_os_str().is_empty() { shown.clone() } else { shown.join(rest) })
        };
        self.names.iter().filter_map(by).collect()
    }

    /// Returns the directories of the skills that a file belongs to, as the catalog may know them.
    pub(super) fn skills_around(&self, path: &Path) -> Vec<PathBuf> {
        let skills = path.ancestors().skip(1).filter(|dir| self.dirs.get(*dir).is_some_and(|dir| dir.skill));
        skills.flat_map(|dir| self.shown(dir)).collect()
    }
}

impl WatchedDir {
    /// Returns the entry of a directory in this one, if it is looked at.
    fn below(self, name: &OsStr, round: u64) -> Option<WatchedDir> {
        let left = if self.skill && !self.inside { TreeLimits::default().max_depth } else { self.left };
        let left = left.checked_sub(1).filter(|_| !is_skipped(name))?;
        Some(WatchedDir { left, inside: self.inside || self.skill, skill: false, round })
    }
}

fn watcher(handler: EventHandler) -> Result<RecommendedWatcher, String> {
    RecommendedWatcher::new(handler, Config::default().with_follow_symlinks(false)).map_err(|error| why(&error))
}

/// Watches one directory. Returns whether it is there: directories come and go.
fn watch(watcher: &mut RecommendedWatcher, path: &Path) -> Result<bool, String> {
    let Err(error) = watcher.watch(path, RecursiveMode::NonRecursive) else { return Ok(true) };
    let is_gone = match &error.kind {
        ErrorKind::PathNotFound => true,
        // A directory that we may not read, discovery may not read either.
        ErrorKind::Io(error) => {
            use io::ErrorKind::{NotADirectory, NotFound, PermissionDenied};
            matches!(error.kind(), NotADirectory | NotFound | PermissionDenied)
        }
        _ => false,
    };
    if is_gone { Ok(false) } else { Err(why(&error)) }
}

/// Returns the reason of an error, for people.
pub(super) fn why(error: &notify::Error) -> String {
    match &error.kind {
        ErrorKind::MaxFilesWatch => "the system will not watch any more directories".to_owned(),
        ErrorKind::Io(error) => format!("directories cannot be watched: {}", skillcue_base::os_message(error)),
        _ => format!("directories cannot be watched: {error}"),
    }
}

/// Returns the number of directories that the system watches for all programs of a user, where it is known.
fn granted() -> Option<usize> {
    std::fs::read_to_string("/proc/sys/fs/inotify/max_user_watches").ok()?.trim().parse().ok()
}

/// Returns the device and inode of the directory that a path leads to.
fn directory_id(path: &Path) -> Option<(u64, u64)> {
    let metadata = path.metadata().ok()?;
    Some((metadata.dev(), metadata.ino()))
}

fn list(path: &Path) -> Vec<(std::ffi::OsString, std::fs::FileType)> {
    let Ok(entries) = path.read_dir() else { return Vec::new() };
    entries.flatten().filter_map(|entry| Some((entry.file_name(), entry.file_type().ok()?))).collect()
}

fn is_skill_file(name: &OsStr) -> bool {
    SkillFile::of(name.as_encoded_bytes()).is_some()
}

fn is_skipped(name: &OsStr) -> bool {
    SKIPPED_DIRECTORIES.iter().any(|skipped| name == *skipped)
}
