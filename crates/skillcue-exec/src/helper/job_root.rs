//! A root directory for the job in which nothing exists but the files that it may reach.
//!
//! Landlock refuses to open other files, but lets a process ask whether they exist, how large they are and when they
//! were changed. Here they do not exist.

use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt, symlink};
use std::path::{Component, Path, PathBuf};

use rustix::mount::UnmountFlags;

/// Links that are followed to find one path, as many as the kernel follows.
const MAX_LINKS: u32 = 40;

/// Links in `/dev` that programs rely on.
const DEV_LINKS: [(&str, &str); 4] = [
    ("fd", "/proc/self/fd"),
    ("stdin", "/proc/self/fd/0"),
    ("stdout", "/proc/self/fd/1"),
    ("stderr", "/proc/self/fd/2"),
];

/// A root directory that is being made.
pub(super) struct JobRoot {
    /// The path at which it is mounted until it becomes `/`.
    at: PathBuf,
    /// The paths that are mounted in it, with all below.
    shown: Vec<PathBuf>,
}

impl JobRoot {
    /// Mounts an empty file system at `at`, an empty directory.
    pub(super) fn new(at: &Path) -> io::Result<JobRoot> {
        super::mounts::mount_tmpfs(at, "size=4m,nr_inodes=4096,mode=0755")?;
        Ok(JobRoot { at: at.to_path_buf(), shown: Vec::new() })
    }

    /// Returns the path at which it is mounted until it becomes `/`.
    pub(super) fn at(&self) -> &Path {
        &self.at
    }

    /// Returns the path at which a path of the new root is until then; nothing if it does not exist outside. With no
    /// link on the way, which would lead to the old root.
    pub(super) fn staged_path(&self, path: &Path) -> io::Result<Option<PathBuf>> {
        Ok(self.resolve(path)?.map(|real| self.staged(&real)))
    }

    /// Returns the path at which a path without links is until then.
    fn staged(&self, path: &Path) -> PathBuf {
        path.components()
            .filter(|part| matches!(part, Component::Normal(_)))
            .fold(self.at.clone(), |at, part| at.join(part))
    }

    /// Shows a file, or a directory with all below, under the name that it has, with all links on the way. A path that
    /// does not exist is passed over.
    pub(super) fn show(&mut self, path: &Path) -> io::Result<()> {
        let Some(real) = self.resolve(path)? else { return Ok(()) };
        if self.is_shown(&real) {
            return Ok(());
        }
        let target = self.staged(&real);
        if real.is_dir() {
            make_dir(&target)?;
        } else {
            make_dir(target.parent().unwrap_or(&self.at))?;
            fs::File::create(&target)?;
        }
        // With what is mounted below: in a user namespace nothing can be uncovered.
        rustix::mount::mount_bind_recursive(&real, &target)?;
        self.shown.push(real);
        Ok(())
    }

    /// Makes an empty directory, if there is one outside and nothing else is shown there. Returns its path until the
    /// root becomes `/`.
    pub(super) fn make_directory(&self, path: &Path) -> io::Result<PathBuf> {
        let real = self.resolve(path)?.ok_or(io::ErrorKind::NotFound)?;
        let place = self.staged(&real);
        if !self.is_shown(&real) {
            make_dir(&place)?;
        }
        Ok(place)
    }

    /// Makes the links that are on the way to a path; their target is not shown by that.
    pub(super) fn make_links(&self, path: &Path) -> io::Result<()> {
        self.resolve(path).map(|_| ())
    }

    /// Makes `/dev` with these devices; `alias` is a name in it, and the device that it shows instead of its own.
    pub(super) fn make_devices(&mut self, names: &[&str], alias: (&str, &str)) -> io::Result<()> {
        let dev = self.at.join("dev");
        make_dir(&dev)?;
        for path in names {
            self.show(Path::new(path))?;
        }
        let target = self.staged(Path::new(alias.0));
        fs::File::create(&target)?;
        rustix::mount::mount_bind(alias.1, &target)?;
        for (name, target) in DEV_LINKS {
            symlink(target, dev.join(name))?;
        }
        Ok(())
    }

    /// Becomes `/` for this process and its children.
    ///
    /// The old root stays mounted, out of reach: the job has no descriptor of a directory outside, no capability to
    /// change its root, and the filter refuses every call that could. Unmounting it, after `pivot_root`, would have the
    /// kernel wait for all processors, for milliseconds on a busy machine.
    pub(super) fn enter(self) -> io::Result<()> {
        rustix::process::chroot(&self.at)?;
        Ok(rustix::process::chdir("/")?)
    }

    /// Unmounts it.
    pub(super) fn remove(self) {
        let _ = rustix::mount::unmount(&self.at, UnmountFlags::DETACH);
    }

    fn is_shown(&self, real: &Path) -> bool {
        self.shown.iter().any(|shown| real.starts_with(shown))
    }

    /// Returns the path without links, each of which is made in the new root as well; nothing if it does not exist.
    fn resolve(&self, path: &Path) -> io::Result<Option<PathBuf>> {
        let mut links = 0;
        let mut real = PathBuf::from("/");
        let mut rest: Vec<_> = reversed_names(path);
        while let Some(part) = rest.pop() {
            if part == ".." {
                real.pop();
                continue;
            }
            let next = real.join(&part);
            let Ok(metadata) = next.symlink_metadata() else { return Ok(None) };
            if !metadata.is_symlink() {
                real = next;
                continue;
            }
            links += 1;
            if links > MAX_LINKS {
                return Ok(None);
            }
            let target = fs::read_link(&next)?;
            if !self.is_shown(&next) {
                let link = self.staged(&next);
                make_dir(link.parent().unwrap_or(&self.at))?;
                match symlink(&target, link) {
                    Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
                    _ => {}
                }
            }
            if target.is_absolute() {
                real = PathBuf::from("/");
            }
            rest.extend(reversed_names(&target));
        }
        Ok(Some(real))
    }
}

/// Returns the names in a path, the last one first.
fn reversed_names(path: &Path) -> Vec<std::ffi::OsString> {
    let mut parts: Vec<_> = path
        .components()
        .filter_map(|part| match part {
            Component::Normal(name) => Some(name.to_owned()),
            Component::ParentDir => Some("..".into()),
            _ => None,
        })
        .collect();
    parts.reverse();
    parts
}

fn make_dir(at: &Path) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o755).create(at)
}
