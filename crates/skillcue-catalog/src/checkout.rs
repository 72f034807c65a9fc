//! Checkouts, and which skills came with one.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::{Skill, SkillRoot, Source, user_roots};

/// A directory whose content other people may have written: the project that the user works in.
///
/// ```
/// use std::path::Path;
/// use skillcue_catalog::Checkout;
///
/// let checkout = Checkout::new("/home/a/shop").of_user("/home/a");
/// assert!(checkout.holds(Path::new("/home/a/shop/vendor/office")));
/// assert!(!checkout.holds(Path::new("/home/a/.agents/skills/pdf")));
/// // A repository of the whole home directory is the user's own.
/// assert!(!Checkout::new("/home/a").of_user("/home/a").holds(Path::new("/home/a/.agents/skills/pdf")));
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Checkout {
    /// Real paths, as they are compared with real paths.
    dir: PathBuf,
    own: Vec<PathBuf>,
}

impl Checkout {
    /// Makes the checkout in this directory.
    pub fn new(dir: impl AsRef<Path>) -> Checkout {
        Checkout { dir: real(dir.as_ref()), own: Vec::new() }
    }

    /// Excepts the user's own directories, wherever the checkout is: the usual ones below the home directory, or all of
    /// the home directory if it is inside the checkout.
    #[must_use]
    pub fn of_user(self, home: impl AsRef<Path>) -> Checkout {
        let home = real(home.as_ref());
        if home.starts_with(&self.dir) {
            return self.except(home);
        }
        let usual = user_roots(&home).into_iter().map(|root| root.path);
        usual.chain([home.join(".claude/plugins")]).fold(self, Checkout::except)
    }

    /// Excepts a directory that is the user's own. A real path: the target of a link in it is not excepted.
    #[must_use]
    pub fn except(mut self, own: impl Into<PathBuf>) -> Checkout {
        self.own.push(own.into());
        self
    }

    /// Returns whether the file or directory at this real path came with the checkout.
    pub fn holds(&self, real: &Path) -> bool {
        real.starts_with(&self.dir) && !self.own.iter().any(|own| real.starts_with(own))
    }

    /// Returns how much of the directory at a real path came with the checkout.
    fn share_of(&self, real: &Path) -> CheckoutShare {
        if self.holds(real) && !self.own.iter().any(|own| own.starts_with(real)) {
            CheckoutShare::All
        } else if self.dir.starts_with(real) || real.starts_with(&self.dir) {
            CheckoutShare::Part
        } else {
            CheckoutShare::None
        }
    }
}

/// How much of a directory came with a checkout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CheckoutShare {
    None,
    Part,
    All,
}

/// Decides for each skill whether it came with the checkout.
#[derive(Debug)]
pub(crate) struct Origins<'d> {
    checkout: Option<&'d Checkout>,
    /// For each root, by rank: its real path, and how much of it is the checkout's.
    roots: Vec<(PathBuf, CheckoutShare)>,
}

impl<'d> Origins<'d> {
    /// Makes it from the roots by rank, with the real paths of those that are known to exist.
    pub(crate) fn new(
        checkout: Option<&'d Checkout>,
        roots: &[Arc<SkillRoot>],
        known: Vec<Option<PathBuf>>,
    ) -> Origins<'d> {
        let Some(of) = checkout else { return Origins { checkout, roots: Vec::new() } };
        let known = known.into_iter().chain(std::iter::repeat(None));
        let of_root = |(root, known): (&Arc<SkillRoot>, Option<PathBuf>)| {
            let real = known.unwrap_or_else(|| root.path.clone());
            let share = of.share_of(&real);
            (real, share)
        };
        Origins { checkout, roots: roots.iter().zip(known).map(of_root).collect() }
    }

    /// Returns whether a checkout brings all of a root.
    pub(crate) fn is_foreign_root(&self, root: &SkillRoot) -> bool {
        root.foreign || matches!(self.roots.get(root.rank as usize), Some((_, CheckoutShare::All)))
    }

    /// Returns whether a checkout brings the skill: by the root below which it was found, or by the real path of its
    /// files.
    pub(crate) fn is_foreign(&self, skill: &Skill) -> bool {
        let root = skill.root();
        // A person has named inline skills for this run; skills of servers need consent of their own.
        if root.source == Source::Inline || root.server.is_some() {
            return false;
        }
        if root.foreign {
            return true;
        }
        let Some(checkout) = self.checkout else { return false };
        let linked = skill.extra.as_deref().into_iter().flat_map(|extra| [&extra.canonical, &extra.real_dir]);
        if linked.flatten().any(|dir| checkout.holds(dir)) {
            return true;
        }
        match self.roots.get(root.rank as usize) {
            _ if skill.canonical().is_some() => false,
            Some((_, CheckoutShare::All)) => true,
            Some((real, CheckoutShare::Part)) => checkout.holds(&real.join(OsStr::from_bytes(skill.bytes(skill.rel)))),
            _ => false,
        }
    }
}

/// Returns the path without links; unchanged, if it does not exist.
fn real(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_path_buf())
}
