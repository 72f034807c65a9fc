//! What people have allowed the programs of skills.

use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex};

use serde::{Deserialize, Serialize};
use skillcue_base::{Records, RecordsError, Shown};
use skillcue_catalog::{ContentId, SkillDir};
use skillcue_format::Permissions;
use thiserror::Error;

/// The subject of a grant for a skill's toolsets, as opposed to one of its scripts.
pub const TOOLSETS: &str = "toolsets";

/// Something that a skill asks for, or was allowed: exactly these permissions, for exactly this content, with exactly
/// these paths. [`Grants::ask`] makes it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Grant {
    /// The skill's name.
    pub skill: String,
    /// The skill's directory.
    pub dir: PathBuf,
    /// The script's path, or [`TOOLSETS`].
    pub subject: String,
    /// The identity of all of the skill's files.
    pub digest: ContentId,
    /// What is asked for.
    pub permissions: Permissions,
    /// What the paths to read meant, with every link followed: when one leads elsewhere, it is asked again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub read: Vec<PathBuf>,
    /// What the paths to write meant.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub write: Vec<PathBuf>,
}

impl Grant {
    fn is_about(&self, other: &Grant) -> bool {
        (&self.skill, &self.dir, &self.subject) == (&other.skill, &other.dir, &other.subject)
    }
}

/// Why something cannot be granted.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum GrantError {
    /// It would undo the sandbox.
    #[error("skill \"{}\" asks for {what} {}, which cannot be granted: {reason}", Shown(skill), Shown(path))]
    NotGrantable {
        /// The skill.
        skill: String,
        /// What for.
        what: &'static str,
        /// The path or name.
        path: String,
        /// Why not.
        reason: String,
    },
    /// The skill's files cannot be looked through, so nothing can be said about their content.
    #[error("skill \"{}\": {reason}", Shown(skill))]
    Unreadable {
        /// The skill.
        skill: String,
        /// Why.
        reason: String,
    },
    /// The file of grants cannot be read or written.
    #[error(transparent)]
    Records(#[from] RecordsError),
}

impl GrantError {
    /// A stable word for programs.
    pub fn code(&self) -> &'static str {
        match self {
            Self::NotGrantable { .. } | Self::Unreadable { .. } => "not_grantable",
            Self::Records(_) => "execution_failed",
        }
    }
}

/// Grants, in a file that several processes share, and those for this process alone. Cheap to clone.
///
/// ```
/// use skillcue_catalog::SkillDir;
/// use skillcue_exec::Grants;
/// use skillcue_format::Permissions;
///
/// let tmp = tempfile::tempdir()?;
/// std::fs::create_dir(tmp.path().join("pdf"))?;
/// std::fs::write(tmp.path().join("pdf/run.sh"), "curl example.org")?;
/// let dir = SkillDir::open("pdf", &tmp.path().join("pdf"))?;
/// let network = Permissions { network: true, ..Permissions::default() };
///
/// let grants = Grants::new(Some(tmp.path().join("grants.json")));
/// let asked = grants.ask(&dir, "run.sh", &network)?;
/// assert!(!grants.is_granted(&asked));
/// grants.grant(&asked)?;
/// assert!(grants.is_granted(&asked));
///
/// // Any changed byte asks again.
/// std::fs::write(tmp.path().join("pdf/run.sh"), "curl example.com")?;
/// assert!(!grants.is_granted(&grants.ask(&dir, "run.sh", &network)?));
/// assert_eq!(grants.revoke("pdf", None)?, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Grants {
    kept: Arc<Records<Grant>>,
    once: Arc<Mutex<Vec<Grant>>>,
    home: Option<PathBuf>,
    protected: Vec<PathBuf>,
}

impl Default for Grants {
    /// None, and none is kept.
    fn default() -> Grants {
        Grants::new(None)
    }
}

impl Grants {
    /// The grants in the file at `path`; without one, they last as long as this value.
    pub fn new(path: Option<PathBuf>) -> Grants {
        Grants { kept: Arc::new(Records::new("grants", path)), once: Arc::default(), home: None, protected: Vec::new() }
    }

    /// With what `~` means in permissions.
    #[must_use]
    pub fn with_home(mut self, home: Option<PathBuf>) -> Grants {
        self.home = home;
        self
    }

    /// With directories in which nobody may be allowed to write: settings that decide what runs, and what is kept about
    /// skills. The directory of the file of grants is one of them anyway, and may not be read either.
    #[must_use]
    pub fn protecting(mut self, paths: impl IntoIterator<Item = PathBuf>) -> Grants {
        self.protected.extend(paths);
        self
    }

    /// What `subject` of the skill in `dir`, with the content it has now, asks for: what to grant. Refuses what would undo
    /// the sandbox.
    pub fn ask(&self, dir: &SkillDir, subject: &str, permissions: &Permissions) -> Result<Grant, GrantError> {
        let permissions = applicable(subject, permissions);
        let (read, write) = self.reach(dir, &permissions)?;
        let skill = dir.skill().to_owned();
        let digest = ContentId::of(dir)
            .map_err(|error| GrantError::Unreadable { skill: skill.clone(), reason: error.to_string() })?;
        let path = dir.path().canonicalize().unwrap_or_else(|_| dir.path().to_path_buf());
        Ok(Grant { skill, dir: path, subject: subject.to_owned(), digest, permissions, read, write })
    }

    /// Allows `asked`, until it is revoked or a byte changes. Replaces what was granted to the same subject before.
    pub fn grant(&self, asked: &Grant) -> Result<(), GrantError> {
        self.kept.change(|list| {
            list.retain(|grant| !grant.is_about(asked));
            list.push(asked.clone());
        })?;
        Ok(())
    }

    /// Allows `asked` for as long as this value (and its clones) last.
    pub fn grant_once(&self, asked: &Grant) {
        skillcue_base::lock(&self.once).push(asked.clone());
    }

    /// Whether exactly this was granted.
    pub fn is_granted(&self, asked: &Grant) -> bool {
        self.kept.look(|list| list.contains(asked)) || skillcue_base::lock(&self.once).contains(asked)
    }

    /// What was granted and is kept.
    pub fn list(&self) -> Vec<Grant> {
        self.kept.list()
    }

    /// Takes back what was granted to a skill, or to one subject of it. Answers how much that was.
    pub fn revoke(&self, skill: &str, subject: Option<&str>) -> Result<usize, GrantError> {
        let matches = |grant: &Grant| grant.skill == skill && subject.is_none_or(|subject| grant.subject == subject);
        let removed = |list: &mut Vec<Grant>| {
            let before = list.len();
            list.retain(|grant| !matches(grant));
            before - list.len()
        };
        let once = removed(&mut skillcue_base::lock(&self.once));
        Ok(once + self.kept.change(removed)?)
    }

    /// The file the grants are in.
    pub fn path(&self) -> Option<&Path> {
        self.kept.path()
    }

    /// What is wrong with the file, if something is.
    pub fn trouble(&self) -> Option<String> {
        self.kept.trouble()
    }

    /// The paths that permissions ask for, absolute, but with the links on the way to what they mean. Without those that
    /// cannot be granted.
    pub fn names(&self, dir: &SkillDir, permissions: &Permissions) -> Vec<PathBuf> {
        let names = |paths: &[Box<str>], write| -> Vec<PathBuf> {
            paths.iter().filter_map(|path| self.resolve(dir, path, write).ok()).map(|meant| meant.written).collect()
        };
        [names(&permissions.read, false), names(&permissions.write, true)].concat()
    }

    /// Which paths the permissions mean, to read and to write; refuses what would undo the sandbox.
    fn reach(&self, dir: &SkillDir, permissions: &Permissions) -> Result<(Vec<PathBuf>, Vec<PathBuf>), GrantError> {
        let refused = |what, path: &str, reason| GrantError::NotGrantable {
            skill: dir.skill().to_owned(),
            what,
            path: path.to_owned(),
            reason,
        };
        for name in &permissions.env {
            check_variable(name).map_err(|reason| refused("the variable", name, reason.to_owned()))?;
        }
        let list = |what, paths: &[Box<str>]| -> Result<Vec<Meant>, GrantError> {
            let write = what == WRITING;
            paths.iter().map(|path| self.resolve(dir, path, write).map_err(|it| refused(what, path, it))).collect()
        };
        let (read, write) = (list(READING, &permissions.read)?, list(WRITING, &permissions.write)?);
        // What lies in a directory that it may write, it can replace by a link to anything.
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
        let real = |list: Vec<Meant>| list.into_iter().map(|meant| meant.real).collect();
        Ok((real(read), real(write)))
    }

    fn resolve(&self, dir: &SkillDir, path: &str, write: bool) -> Result<Meant, String> {
        let written = Path::new(path);
        let written = if let Some(rest) = path.strip_prefix("~/") {
            self.home.as_deref().ok_or("it is not known where the home directory is")?.join(rest)
        } else if path.starts_with('~') {
            return Err("only ~/ and what is below it can be meant".to_owned());
        } else if written.is_absolute() {
            written.to_path_buf()
        } else {
            dir.path().canonicalize().map_err(|error| error.to_string())?.join(written)
        };
        if written.components().any(|part| part == Component::ParentDir) {
            return Err("it contains ..".to_owned());
        }
        // What a link means is what counts, now and for the sandbox.
        let real = as_far_as_it_exists(&written)?;
        if real.to_str().is_none() {
            return Err("its name is not UTF-8".to_owned());
        }
        for path in [&written, &real] {
            self.check(path, write)?;
        }
        Ok(Meant { written, real })
    }

    /// Whether a path may be granted at all.
    fn check(&self, path: &Path, write: bool) -> Result<(), String> {
        let never = ["/proc", "/sys", "/dev", "/boot"];
        if path.parent().is_none() {
            return Err("that is everything".to_owned());
        }
        if let Some(system) = never.iter().find(|system| path.starts_with(system)) {
            return Err(format!("{system} is the kernel's"));
        }
        let both = |path: &Path| [path.to_path_buf(), path.canonicalize().unwrap_or_else(|_| path.to_path_buf())];
        if let Some(home) = &self.home
            && both(home).iter().any(|home| home.starts_with(path))
        {
            return Err("that is the whole home directory, or more".to_owned());
        }
        let home = Path::new("/home");
        if path == home || path == Path::new("/root") || path.parent() == Some(home) {
            return Err("that is a whole home directory, or more".to_owned());
        }
        let touches = |own: &Path| both(own).iter().any(|own| own.starts_with(path) || path.starts_with(own));
        if self.path().and_then(Path::parent).is_some_and(touches) {
            return Err("what people have allowed is kept there".to_owned());
        }
        if write && self.protected.iter().any(|own| touches(own)) {
            return Err("what decides how Skillcue works is kept there".to_owned());
        }
        let system = ["/usr", "/bin", "/sbin", "/lib", "/lib64", "/etc", "/run", "/nix"];
        if write && (system.iter().any(|system| path.starts_with(system)) || path == Path::new("/var")) {
            return Err("the system is there".to_owned());
        }
        Ok(())
    }
}

const READING: &str = "reading";
const WRITING: &str = "writing";

/// A path as it was written, and with every link followed.
struct Meant {
    written: PathBuf,
    real: PathBuf,
}

impl Meant {
    fn is_below(&self, other: &Meant) -> bool {
        let below = |path: &Path| [&other.written, &other.real].iter().any(|it| path != *it && path.starts_with(it));
        below(&self.written) || below(&self.real)
    }
}

/// The path with every link followed; of what does not exist, the part above it.
fn as_far_as_it_exists(path: &Path) -> Result<PathBuf, String> {
    if let Ok(real) = path.canonicalize() {
        return Ok(real);
    }
    if path.symlink_metadata().is_ok_and(|metadata| metadata.is_symlink()) {
        return Err("it is a link that leads nowhere".to_owned());
    }
    match (path.parent(), path.file_name()) {
        (Some(above), Some(name)) => Ok(as_far_as_it_exists(above)?.join(name)),
        _ => Ok(path.to_path_buf()),
    }
}

/// What of a skill's permissions is `subject`'s business: what runs toolsets is none of a script's.
pub(crate) fn applicable(subject: &str, permissions: &Permissions) -> Permissions {
    let runtime = permissions.runtime.filter(|_| subject == TOOLSETS);
    Permissions { runtime, ..permissions.clone() }
}

fn check_variable(name: &str) -> Result<(), &'static str> {
    let ours = ["PATH", "HOME", "TMPDIR", "TMP", "TEMP", "IFS", "ENV", "BASH_ENV"];
    if name.is_empty() || !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
        Err("that is no name of a variable")
    } else if ours.contains(&name) || name.starts_with("SKILL_") {
        Err("it is set by Skillcue")
    } else if name.starts_with("LD_") {
        Err("it decides what programs are made of")
    } else {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn words(list: &[&str]) -> Box<[Box<str>]> {
        list.iter().map(|&word| word.into()).collect()
    }

    #[test]
    fn what_would_undo_the_sandbox_cannot_be_granted() {
        let tmp = tempfile::tempdir().unwrap();
        let home = tmp.path().join("home/me");
        fs::create_dir_all(home.join("skill")).unwrap();
        fs::create_dir_all(home.join("docs")).unwrap();
        fs::create_dir_all(home.join("data/skillcue")).unwrap();
        std::os::unix::fs::symlink("/", home.join("skill/root")).unwrap();
        fs::create_dir_all(home.join("settings/skillcue")).unwrap();
        let grants = Grants::new(Some(home.join("data/skillcue/grants.json")))
            .with_home(Some(home.clone()))
            .protecting([home.join("settings/skillcue")]);
        let dir = SkillDir::open("x", &home.join("skill")).unwrap();
        let reach = |path: &str, write: bool| {
            let mut permissions = Permissions::default();
            *(if write { &mut permissions.write } else { &mut permissions.read }) = words(&[path]);
            grants.ask(&dir, "run.sh", &permissions)
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
            "~/data/skillcue/grants.json",
            "/a/../etc",
        ] {
            assert!(reach(absurd, false).is_err(), "{absurd}");
            assert!(reach(absurd, true).is_err(), "{absurd}");
        }
        for not_to_write in ["/etc/ssh", "~/settings", "~/settings/skillcue", "~/settings/skillcue/settings.json"] {
            assert!(reach(not_to_write, true).is_err(), "{not_to_write}");
            assert!(reach(not_to_write, false).is_ok(), "{not_to_write}");
        }
        assert_eq!(reach("~/docs", true).unwrap().write, [home.join("docs").canonicalize().unwrap()]);
        assert_eq!(reach("out", true).unwrap().write, [home.canonicalize().unwrap().join("skill/out")]);
        let env = |name: &str| grants.ask(&dir, "x", &Permissions { env: words(&[name]), ..Permissions::default() });
        assert!(env("API_KEY").is_ok());
        for name in ["", "A=B", "PATH", "LD_PRELOAD", "SKILL_DIR", "a b"] {
            assert!(env(name).is_err(), "{name}");
        }
    }

    #[test]
    fn what_a_link_means_is_part_of_the_grant() {
        let tmp = tempfile::tempdir().unwrap();
        let at = |path: &str| tmp.path().canonicalize().unwrap().join(path);
        for dir in ["skill", "home/data", "home/harmless", "home/secrets"] {
            fs::create_dir_all(at(dir)).unwrap();
        }
        std::os::unix::fs::symlink(at("home/harmless"), at("home/data/x")).unwrap();
        let grants = Grants::new(None).with_home(Some(at("home")));
        let dir = SkillDir::open("a", &at("skill")).unwrap();
        let reading = Permissions { read: words(&["~/data/x"]), ..Permissions::default() };
        let asked = grants.ask(&dir, "run.sh", &reading).unwrap();
        assert_eq!(asked.read, [at("home/harmless")]);
        grants.grant(&asked).unwrap();
        assert!(grants.is_granted(&grants.ask(&dir, "run.sh", &reading).unwrap()));
        fs::remove_file(at("home/data/x")).unwrap();
        std::os::unix::fs::symlink(at("home/secrets"), at("home/data/x")).unwrap();
        assert!(!grants.is_granted(&grants.ask(&dir, "run.sh", &reading).unwrap()), "it leads elsewhere now");

        // What it may write, it could lead elsewhere while it is looked at.
        for (read, write) in [("~/data/x", "~/data"), ("~/harmless/x", "~/harmless"), ("~/data/new/x", "~/data/new")] {
            let both = Permissions { read: words(&[read]), write: words(&[write]), ..Permissions::default() };
            assert_eq!(grants.ask(&dir, "run.sh", &both).unwrap_err().code(), "not_grantable", "{read} {write}");
        }
        let twice = Permissions { write: words(&["~/data", "~/data/new"]), ..Permissions::default() };
        assert!(grants.ask(&dir, "run.sh", &twice).is_err());
        std::os::unix::fs::symlink(at("nowhere"), at("home/loose")).unwrap();
        let loose = Permissions { write: words(&["~/loose"]), ..Permissions::default() };
        assert!(grants.ask(&dir, "run.sh", &loose).is_err(), "it could lead anywhere later");
    }

    #[test]
    fn what_runs_toolsets_is_no_business_of_scripts() {
        let tmp = tempfile::tempdir().unwrap();
        let dir = SkillDir::open("a", tmp.path()).unwrap();
        let all =
            Permissions { network: true, runtime: Some(skillcue_format::Runtime::Node), ..Permissions::default() };
        let grants = Grants::default();
        assert_eq!(grants.ask(&dir, "run.sh", &all).unwrap().permissions.runtime, None);
        assert_eq!(grants.ask(&dir, TOOLSETS, &all).unwrap().permissions, all);
    }

    #[test]
    fn other_content_permissions_place_or_subject_are_not_granted() {
        let tmp = tempfile::tempdir().unwrap();
        let at = |path: &str| tmp.path().join(path);
        for skill in ["a", "b"] {
            fs::create_dir_all(at(skill).join("node_modules/m")).unwrap();
            fs::write(at(skill).join("run.sh"), "true").unwrap();
            fs::write(at(skill).join("node_modules/m/index.js"), "1").unwrap();
        }
        let grants = Grants::new(Some(at("grants.json")));
        let network = Permissions { network: true, ..Permissions::default() };
        let (a, b) = (SkillDir::open("a", &at("a")).unwrap(), SkillDir::open("a", &at("b")).unwrap());
        let asked = grants.ask(&a, "run.sh", &network).unwrap();
        grants.grant(&asked).unwrap();
        assert!(grants.is_granted(&grants.ask(&a, "run.sh", &network).unwrap()));
        assert!(Grants::new(Some(at("grants.json"))).is_granted(&asked), "another process sees it");
        assert!(!grants.is_granted(&grants.ask(&a, TOOLSETS, &network).unwrap()));
        assert!(!grants.is_granted(&grants.ask(&b, "run.sh", &network).unwrap()));
        let more = Permissions { env: words(&["KEY"]), ..network.clone() };
        assert!(!grants.is_granted(&grants.ask(&a, "run.sh", &more).unwrap()));
        fs::create_dir(at("a/.git")).unwrap();
        fs::write(at("a/.git/hook"), "1").unwrap();
        assert!(!grants.is_granted(&grants.ask(&a, "run.sh", &network).unwrap()), "this can be executed, too");
        fs::remove_dir_all(at("a/.git")).unwrap();
        assert!(grants.is_granted(&grants.ask(&a, "run.sh", &network).unwrap()));
        fs::write(at("a/node_modules/m/index.js"), "2").unwrap();
        let changed = grants.ask(&a, "run.sh", &network).unwrap();
        assert!(!grants.is_granted(&changed), "what is imported runs too");

        grants.grant_once(&changed);
        assert!(grants.is_granted(&changed));
        assert_eq!(grants.list().len(), 1, "once is not kept");
        assert_eq!(grants.revoke("a", Some("other")).unwrap(), 0);
        assert_eq!(grants.revoke("a", Some("run.sh")).unwrap(), 2);
        assert!(!grants.is_granted(&changed) && !grants.is_granted(&asked));
    }
}
