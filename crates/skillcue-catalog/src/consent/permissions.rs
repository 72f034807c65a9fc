//! Permissions beyond the sandbox: the resolution of their paths on this machine, and which of them cannot be granted.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Component, Path, PathBuf};

use serde::{Deserialize, Serialize};
use skillcue_base::Shown;
use skillcue_format::Permissions;

use super::ConsentError;
use crate::SkillDir;

/// Permissions with their resolved paths, every link followed: when a link leads elsewhere, it is another question.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ResolvedPermissions {
    /// The permissions as the manifest asks for them.
    #[serde(flatten)]
    pub asked: Permissions,
    /// The files and directories to read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub read_paths: Vec<PathBuf>,
    /// The files and directories to write.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub write_paths: Vec<PathBuf>,
    /// The paths of the manifest that lead elsewhere by a link, and their targets.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub links: BTreeMap<Box<str>, PathBuf>,
}

impl ResolvedPermissions {
    /// Returns whether nothing is asked for.
    pub fn is_empty(&self) -> bool {
        *self == ResolvedPermissions::default()
    }

    /// Returns whether these permissions, once allowed, allow `other`: they are equal, or `other` asks for none.
    pub(super) fn cover(&self, other: &ResolvedPermissions) -> bool {
        other.is_empty() || self == other
    }
}

/// Describes the permissions in words, as the manifest asks for them; for a path that leads elsewhere by a link, also
/// its target.
///
/// ```
/// use skillcue_catalog::SkillDir;
/// use skillcue_catalog::consent::PermissionRules;
/// use skillcue_format::Permissions;
///
/// let (tmp, keys) = (tempfile::tempdir()?, tempfile::tempdir()?);
/// std::os::unix::fs::symlink(keys.path(), tmp.path().join("data"))?;
/// let dir = SkillDir::open("pdf", tmp.path())?;
/// let reading = Permissions { read: ["data".into()].into(), ..Permissions::default() };
/// let asked = PermissionRules::default().resolve(&dir, &reading)?;
/// assert_eq!(asked.to_string(), format!("reading data, which is {}", keys.path().canonicalize()?.display()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
impl fmt::Display for ResolvedPermissions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = self.asked.clone();
        for text in shown.read.iter_mut().chain(&mut shown.write) {
            if let Some(real) = self.links.get(text) {
                *text = format!("{text}, which is {}", Shown(&real.to_string_lossy())).into();
            }
        }
        shown.fmt(f)
    }
}

/// The rules for which permissions can be granted on this machine.
///
/// ```
/// use skillcue_catalog::SkillDir;
/// use skillcue_catalog::consent::PermissionRules;
/// use skillcue_format::Permissions;
///
/// let tmp = tempfile::tempdir()?;
/// let dir = SkillDir::open("pdf", tmp.path())?;
/// let rules = PermissionRules::default().with_home(Some("/home/ann".into()));
/// let reading = |path: &str| Permissions { read: [path.into()].into(), ..Permissions::default() };
/// assert!(rules.resolve(&dir, &reading("~/documents")).is_ok());
/// assert!(rules.resolve(&dir, &reading("~/")).is_err(), "the whole home directory");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct PermissionRules {
    home: Option<PathBuf>,
    protected: Vec<PathBuf>,
    hidden: Vec<PathBuf>,
}

impl PermissionRules {
    /// Sets the directory that `~` means in permissions.
    #[must_use]
    pub fn with_home(mut self, home: Option<PathBuf>) -> PermissionRules {
        self.home = home;
        self
    }

    /// Adds directories that no program of a skill may be allowed to write: settings that decide what runs, and stored
    /// data about skills.
    #[must_use]
    pub fn protecting(mut self, paths: impl IntoIterator<Item = PathBuf>) -> PermissionRules {
        self.protected.extend(paths);
        self
    }

    /// Adds directories that no program of a skill may be allowed to read or write, such as
    /// [`ConsentGate::directory`](super::ConsentGate::directory).
    #[must_use]
    pub fn hiding(mut self, paths: impl IntoIterator<Item = PathBuf>) -> PermissionRules {
        self.hidden.extend(paths);
        self
    }

    /// Returns the paths that permissions ask for, absolute, but with links not followed. Without those that cannot be
    /// granted.
    pub fn names(&self, dir: &SkillDir, permissions: &Permissions) -> Vec<PathBuf> {
        let names = |paths: &[Box<str>], write| -> Vec<PathBuf> {
            paths.iter().filter_map(|path| self.resolve_path(dir, path, write).ok()).map(|path| path.written).collect()
        };
        [names(&permissions.read, false), names(&permissions.write, true)].concat()
    }

    /// Returns the permissions with their paths as they resolve now. Refuses permissions that would undo the sandbox.
    pub fn resolve(&self, dir: &SkillDir, permissions: &Permissions) -> Result<ResolvedPermissions, ConsentError> {
        let refused = |what, path: &str, reason| ConsentError::NotGrantable {
            skill: dir.skill().to_owned(),
            what,
            path: path.to_owned(),
            reason,
        };
        for name in &permissions.env {
            check_variable(name).map_err(|reason| refused("the variable", name, reason.to_owned()))?;
        }
        let list = |what, paths: &[Box<str>]| -> Result<Vec<ResolvedPath>, ConsentError> {
            let write = what == WRITING;
            paths.iter().map(|path| self.resolve_path(dir, path, write).map_err(|it| refused(what, path, it))).collect()
        };
        let (read, write) = (list(READING, &permissions.read)?, list(WRITING, &permissions.write)?);
        // A program can replace anything in a directory that it may write by a link to anything.
        for (what, texts, meant) in [(READING, &permissions.read, &read), (WRITING, &permissions.write, &write)] {
            for (text, meant) in texts.iter().zip(meant) {
                if let Some(above) = write.iter().find(|above| meant.is_below(above)) {
                    let above = above.written.display();
                    return Err(refused(
                        what,
                        text,
                        format!("it is in {above}, which is to be written: ask for that only"),
                    ));
                }
            }
        }
        let texts = permissions.read.iter().chain(&permissions.write);
        let links = texts.zip(read.iter().chain(&write)).filter(|(_, meant)| meant.is_elsewhere);
        let links = links.map(|(text, meant)| (text.clone(), meant.real.clone())).collect();
        let real = |list: Vec<ResolvedPath>| list.into_iter().map(|meant| meant.real).collect();
        Ok(ResolvedPermissions { asked: permissions.clone(), read_paths: real(read), write_paths: real(write), links })
    }

    fn resolve_path(&self, dir: &SkillDir, path: &str, write: bool) -> Result<ResolvedPath, String> {
        let written = Path::new(path);
        // The real path, if nothing below the home directory is a link.
        let mut plain = None;
        let written = if let Some(rest) = path.strip_prefix("~/") {
            let home = self.home.as_deref().ok_or("the home directory is not known")?;
            plain = home.canonicalize().ok().map(|home| home.join(rest));
            home.join(rest)
        } else if path.starts_with('~') {
            return Err("only ~/ and paths below it are supported".to_owned());
        } else if written.is_absolute() {
            written.to_path_buf()
        } else {
            dir.path().canonicalize().map_err(|error| error.to_string())?.join(written)
        };
        if written.components().any(|part| part == Component::ParentDir) {
            return Err("it contains ..".to_owned());
        }
        // The target of a link decides, now and for the sandbox.
        let real = canonicalize_existing(&written)?;
        if real.to_str().is_none() {
            return Err("its name is not UTF-8".to_owned());
        }
        for path in [&written, &real] {
            self.check(path, write)?;
        }
        let is_elsewhere = real != *plain.as_ref().unwrap_or(&written);
        Ok(ResolvedPath { written, real, is_elsewhere })
    }

    /// Checks that a path may be granted at all.
    fn check(&self, path: &Path, write: bool) -> Result<(), String> {
        let never = ["/proc", "/sys", "/dev", "/boot"];
        if path.parent().is_none() {
            return Err("it is the whole file system".to_owned());
        }
        if let Some(system) = never.iter().find(|system| path.starts_with(system)) {
            return Err(format!("{system} belongs to the kernel"));
        }
        let both = |path: &Path| [path.to_path_buf(), path.canonicalize().unwrap_or_else(|_| path.to_path_buf())];
        if let Some(home) = &self.home
            && both(home).iter().any(|home| home.starts_with(path))
        {
            return Err("it is the whole home directory, or more".to_owned());
        }
        let home = Path::new("/home");
        if path == home || path == Path::new("/root") || path.parent() == Some(home) {
            return Err("it is a whole home directory, or more".to_owned());
        }
        let touches = |own: &Path| both(own).iter().any(|own| own.starts_with(path) || path.starts_with(own));
        if self.hidden.iter().any(|own| touches(own)) {
            return Err("consent is stored there".to_owned());
        }
        if write && self.protected.iter().any(|own| touches(own)) {
            return Err("Skillcue's settings and data are stored there".to_owned());
        }
        let system = ["/usr", "/bin", "/sbin", "/lib", "/lib64", "/etc", "/run", "/nix"];
        if write && (system.iter().any(|system| path.starts_with(system)) || path == Path::new("/var")) {
            return Err("it is a directory of the operating system".to_owned());
        }
        Ok(())
    }
}

const READING: &str = "reading";
const WRITING: &str = "writing";

/// A path as it was written, and with every link followed.
struct ResolvedPath {
    written: PathBuf,
    real: PathBuf,
    /// Whether a link below the skill's or the home directory, or anywhere in an absolute path, leads elsewhere.
    is_elsewhere: bool,
}

impl ResolvedPath {
    fn is_below(&self, other: &ResolvedPath) -> bool {
        let below = |path: &Path| [&other.written, &other.real].iter().any(|it| path != *it && path.starts_with(it));
        below(&self.written) || below(&self.real)
    }
}

/// Returns the path with every link followed; of a path that does not exist, the links of the part that does.
fn canonicalize_existing(path: &Path) -> Result<PathBuf, String> {
    if let Ok(real) = path.canonicalize() {
        return Ok(real);
    }
    if path.symlink_metadata().is_ok_and(|metadata| metadata.is_symlink()) {
        return Err("it is a link that leads nowhere".to_owned());
    }
    match (path.parent(), path.file_name()) {
        (Some(above), Some(name)) => Ok(canonicalize_existing(above)?.join(name)),
        _ => Ok(path.to_path_buf()),
    }
}

fn check_variable(name: &str) -> Result<(), &'static str> {
    let ours = ["PATH", "HOME", "TMPDIR", "TMP", "TEMP", "IFS", "ENV", "BASH_ENV"];
    if name.is_empty() || !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
        Err("it is not a valid name of a variable")
    } else if ours.contains(&name) || name.starts_with("SKILL_") {
        Err("it is set by Skillcue")
    } else if name.starts_with("LD_") {
        Err("it decides which libraries programs load")
    } else {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use skillcue_base::ErrorInfo as _;
    use std::fs;

    fn words(list: &[&str]) -> Box<[Box<str>]> {
        list.iter().map(|&word| word.into()).collect()
    }

    #[test]
    fn permissions_that_would_undo_the_sandbox_cannot_be_granted() {
        let tmp = tempfile::tempdir().unwrap();
        let home = tmp.path().join("home/me");
        fs::create_dir_all(home.join("skill")).unwrap();
        fs::create_dir_all(home.join("docs")).unwrap();
        fs::create_dir_all(home.join("data/skillcue")).unwrap();
        std::os::unix::fs::symlink("/", home.join("skill/root")).unwrap();
        fs::create_dir_all(home.join("settings/skillcue")).unwrap();
        let rules = PermissionRules::default()
            .with_home(Some(home.clone()))
            .protecting([home.join("settings/skillcue")])
            .hiding([home.join("data/skillcue")]);
        let dir = SkillDir::open("x", &home.join("skill")).unwrap();
        let reach = |path: &str, write: bool| {
            let mut permissions = Permissions::default();
            *(if write { &mut permissions.write } else { &mut permissions.read }) = words(&[path]);
            rules.resolve(&dir, &permissions)
        };
        let home_text = home.to_str().unwrap();
        for absurd in [
            "/",
            "//",
            "/.",
            "~",
            "~/",
            "~root",
            "/proc/self",
            "/sys",
            "/dev/sda",
            "/home",
            "/home/x",
            "/root",
            "../x",
            "root",
            home_text,
            "~/data",
            "~/data/skillcue/consent.json",
            "/a/../etc",
        ] {
            assert!(reach(absurd, false).is_err(), "{absurd}");
            assert!(reach(absurd, true).is_err(), "{absurd}");
        }
        for not_to_write in ["/etc/ssh", "~/settings", "~/settings/skillcue", "~/settings/skillcue/settings.json"] {
            assert!(reach(not_to_write, true).is_err(), "{not_to_write}");
            assert!(reach(not_to_write, false).is_ok(), "{not_to_write}");
        }
        assert_eq!(reach("~/docs", true).unwrap().write_paths, [home.join("docs").canonicalize().unwrap()]);
        assert_eq!(reach("out", true).unwrap().write_paths, [home.canonicalize().unwrap().join("skill/out")]);
        let env = |name: &str| rules.resolve(&dir, &Permissions { env: words(&[name]), ..Permissions::default() });
        assert!(env("API_KEY").is_ok());
        for name in ["", "A=B", "PATH", "LD_PRELOAD", "SKILL_DIR", "a b"] {
            assert!(env(name).is_err(), "{name}");
        }
    }

    #[test]
    fn the_target_of_a_link_is_part_of_the_grant() {
        let tmp = tempfile::tempdir().unwrap();
        let at = |path: &str| tmp.path().canonicalize().unwrap().join(path);
        for dir in ["skill", "home/data", "home/harmless", "home/secrets"] {
            fs::create_dir_all(at(dir)).unwrap();
        }
        std::os::unix::fs::symlink(at("home/harmless"), at("home/data/x")).unwrap();
        let rules = PermissionRules::default().with_home(Some(at("home")));
        let dir = SkillDir::open("a", &at("skill")).unwrap();
        let reading = Permissions { read: words(&["~/data/x"]), ..Permissions::default() };
        let asked = rules.resolve(&dir, &reading).unwrap();
        assert_eq!(asked.read_paths, [at("home/harmless")]);
        assert_eq!(asked.to_string(), format!("reading ~/data/x, which is {}", at("home/harmless").display()));
        let plain =
            Permissions { read: words(&["~/data/", "./out"]), write: words(&["new"]), ..Permissions::default() };
        assert_eq!(rules.resolve(&dir, &plain).unwrap().to_string(), plain.to_string(), "no link, nothing to add");
        std::os::unix::fs::symlink(at("home/secrets"), at("skill/out")).unwrap();
        let shown = rules.resolve(&dir, &plain).unwrap().to_string();
        let secrets = at("home/secrets");
        assert_eq!(shown, format!("reading ~/data/, ./out, which is {}, writing new", secrets.display()));
        assert!(asked.cover(&rules.resolve(&dir, &reading).unwrap()));
        fs::remove_file(at("home/data/x")).unwrap();
        std::os::unix::fs::symlink(at("home/secrets"), at("home/data/x")).unwrap();
        assert!(!asked.cover(&rules.resolve(&dir, &reading).unwrap()), "it leads elsewhere now");

        // A program could point a path that it may write elsewhere while the path is checked.
        for (read, write) in [("~/data/x", "~/data"), ("~/harmless/x", "~/harmless"), ("~/data/new/x", "~/data/new")] {
            let both = Permissions { read: words(&[read]), write: words(&[write]), ..Permissions::default() };
            assert_eq!(rules.resolve(&dir, &both).unwrap_err().code(), "not_grantable", "{read} {write}");
        }
        let twice = Permissions { write: words(&["~/data", "~/data/new"]), ..Permissions::default() };
        assert!(rules.resolve(&dir, &twice).is_err());
        std::os::unix::fs::symlink(at("nowhere"), at("home/loose")).unwrap();
        let loose = Permissions { write: words(&["~/loose"]), ..Permissions::default() };
        assert!(rules.resolve(&dir, &loose).is_err(), "its target could appear later, anywhere");
    }
}
