//! What people have allowed the programs of skills.

use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use skillfold_catalog::{Records, RecordsError, Shown, SkillDir};
use skillfold_format::Permissions;
use thiserror::Error;

use crate::digest;

/// The subject of a grant for a skill's toolsets, as opposed to one of its scripts.
pub const TOOLSETS: &str = "toolsets";

/// Something that a skill asks for, or was allowed: exactly these permissions, for exactly this content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grant {
    /// The skill's name.
    pub skill: String,
    /// The skill's directory.
    pub dir: PathBuf,
    /// The script's path, or [`TOOLSETS`].
    pub subject: String,
    /// The SHA-256 of all of the skill's files.
    pub digest: String,
    /// What is asked for.
    pub permissions: Permissions,
}

impl Grant {
    /// What `subject` of the skill in `dir`, with the content it has now, asks for.
    pub fn asked(dir: &SkillDir, subject: &str, permissions: &Permissions) -> Result<Grant, GrantError> {
        let skill = dir.skill().to_owned();
        let digest = digest::of_skill(dir).map_err(|reason| GrantError::Unreadable { skill: skill.clone(), reason })?;
        let path = dir.path().canonicalize().unwrap_or_else(|_| dir.path().to_path_buf());
        Ok(Grant { skill, dir: path, subject: subject.to_owned(), digest, permissions: permissions.clone() })
    }

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

/// Grants, in a file that several processes share, and those for this process alone. Cheap to clone.
///
/// ```
/// use skillfold_catalog::SkillDir;
/// use skillfold_exec::{Grant, Grants};
/// use skillfold_format::Permissions;
///
/// let tmp = tempfile::tempdir()?;
/// std::fs::create_dir(tmp.path().join("pdf"))?;
/// std::fs::write(tmp.path().join("pdf/run.sh"), "curl example.org")?;
/// let dir = SkillDir::open("pdf", &tmp.path().join("pdf"))?;
/// let network = Permissions { network: true, ..Permissions::default() };
///
/// let grants = Grants::new(Some(tmp.path().join("grants.json")));
/// let asked = Grant::asked(&dir, "run.sh", &network)?;
/// assert!(!grants.is_granted(&asked));
/// grants.grant(&asked)?;
/// assert!(grants.is_granted(&asked));
///
/// // Any changed byte asks again.
/// std::fs::write(tmp.path().join("pdf/run.sh"), "curl example.com")?;
/// assert!(!grants.is_granted(&Grant::asked(&dir, "run.sh", &network)?));
/// assert_eq!(grants.revoke("pdf", None)?, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Grants {
    kept: Arc<Records<Grant>>,
    once: Arc<Mutex<Vec<Grant>>>,
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
        Grants { kept: Arc::new(Records::new("grants", path)), once: Arc::default() }
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
        self.once.lock().unwrap_or_else(PoisonError::into_inner).push(asked.clone());
    }

    /// Whether exactly this was granted.
    pub fn is_granted(&self, asked: &Grant) -> bool {
        self.kept.look(|list| list.contains(asked))
            || self.once.lock().unwrap_or_else(PoisonError::into_inner).contains(asked)
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
        let once = removed(&mut self.once.lock().unwrap_or_else(PoisonError::into_inner));
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

    /// Which paths the permissions mean; refuses what would undo the sandbox. `home` is what `~` means.
    pub fn reach(&self, dir: &SkillDir, permissions: &Permissions, home: Option<&Path>) -> Result<Reach, GrantError> {
        let list = |what, paths: &[Box<str>]| -> Result<Vec<PathBuf>, GrantError> {
            paths
                .iter()
                .map(|path| {
                    self.resolve(dir, path, home, what == "writing").map_err(|reason| GrantError::NotGrantable {
                        skill: dir.skill().to_owned(),
                        what,
                        path: path.to_string(),
                        reason,
                    })
                })
                .collect()
        };
        for name in &permissions.env {
            check_variable(name).map_err(|reason| GrantError::NotGrantable {
                skill: dir.skill().to_owned(),
                what: "the variable",
                path: name.to_string(),
                reason: reason.to_owned(),
            })?;
        }
        Ok(Reach { read: list("reading", &permissions.read)?, write: list("writing", &permissions.write)? })
    }

    fn resolve(&self, dir: &SkillDir, path: &str, home: Option<&Path>, write: bool) -> Result<PathBuf, String> {
        let written = Path::new(path);
        let full = if let Some(rest) = path.strip_prefix("~/") {
            home.ok_or("it is not known where the home directory is")?.join(rest)
        } else if path.starts_with('~') {
            return Err("only ~/ and what is below it can be meant".to_owned());
        } else if written.is_absolute() {
            written.to_path_buf()
        } else {
            dir.path().canonicalize().map_err(|error| error.to_string())?.join(written)
        };
        if full.components().any(|part| part == Component::ParentDir) {
            return Err("it contains ..".to_owned());
        }
        // What a link means is what counts, now and for the sandbox.
        let real = full.canonicalize().unwrap_or_else(|_| full.clone());
        for path in [&full, &real] {
            self.check(path, home, write)?;
        }
        Ok(real)
    }

    /// Whether a path may be granted at all.
    fn check(&self, path: &Path, home: Option<&Path>, write: bool) -> Result<(), String> {
        let never = ["/proc", "/sys", "/dev", "/boot"];
        if path.parent().is_none() {
            return Err("that is everything".to_owned());
        }
        if let Some(system) = never.iter().find(|system| path.starts_with(system)) {
            return Err(format!("{system} is the kernel's"));
        }
        if let Some(home) = home
            && home.starts_with(path)
        {
            return Err("that is the whole home directory, or more".to_owned());
        }
        let home = Path::new("/home");
        if path == home || path == Path::new("/root") || path.parent() == Some(home) {
            return Err("that is a whole home directory, or more".to_owned());
        }
        if let Some(grants) = self.path().and_then(Path::parent) {
            let real = grants.canonicalize().unwrap_or_else(|_| grants.to_path_buf());
            if [grants, real.as_path()].iter().any(|own| own.starts_with(path) || path.starts_with(own)) {
                return Err("what people have allowed is kept there".to_owned());
            }
        }
        let system = ["/usr", "/bin", "/sbin", "/lib", "/lib64", "/etc", "/run", "/nix"];
        if write && (system.iter().any(|system| path.starts_with(system)) || path == Path::new("/var")) {
            return Err("the system is there".to_owned());
        }
        Ok(())
    }
}

/// The paths that permissions mean.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reach {
    /// To read.
    pub read: Vec<PathBuf>,
    /// To write.
    pub write: Vec<PathBuf>,
}

fn check_variable(name: &str) -> Result<(), &'static str> {
    let ours = ["PATH", "HOME", "TMPDIR", "TMP", "TEMP", "IFS", "ENV", "BASH_ENV"];
    if name.is_empty() || !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
        Err("that is no name of a variable")
    } else if ours.contains(&name) || name.starts_with("SKILL_") {
        Err("it is set by Skillfold")
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
        fs::create_dir_all(home.join("data/skillfold")).unwrap();
        std::os::unix::fs::symlink("/", home.join("skill/root")).unwrap();
        let grants = Grants::new(Some(home.join("data/skillfold/grants.json")));
        let dir = SkillDir::open("x", &home.join("skill")).unwrap();
        let reach = |path: &str, write: bool| {
            let mut permissions = Permissions::default();
            *(if write { &mut permissions.write } else { &mut permissions.read }) = words(&[path]);
            grants.reach(&dir, &permissions, Some(&home))
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
            "~/data/skillfold/grants.json",
            "/a/../etc",
        ] {
            assert!(reach(absurd, false).is_err(), "{absurd}");
            assert!(reach(absurd, true).is_err(), "{absurd}");
        }
        assert!(reach("/etc/ssh", true).is_err());
        assert_eq!(reach("~/docs", true).unwrap().write, [home.join("docs").canonicalize().unwrap()]);
        assert_eq!(reach("out", true).unwrap().write, [home.canonicalize().unwrap().join("skill/out")]);
        let env = |name: &str| grants.reach(&dir, &Permissions { env: words(&[name]), ..Permissions::default() }, None);
        assert!(env("API_KEY").is_ok());
        for name in ["", "A=B", "PATH", "LD_PRELOAD", "SKILL_DIR", "a b"] {
            assert!(env(name).is_err(), "{name}");
        }
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
        let asked = Grant::asked(&a, "run.sh", &network).unwrap();
        grants.grant(&asked).unwrap();
        assert!(grants.is_granted(&Grant::asked(&a, "run.sh", &network).unwrap()));
        assert!(Grants::new(Some(at("grants.json"))).is_granted(&asked), "another process sees it");
        assert!(!grants.is_granted(&Grant::asked(&a, TOOLSETS, &network).unwrap()));
        assert!(!grants.is_granted(&Grant::asked(&b, "run.sh", &network).unwrap()));
        let more = Permissions { env: words(&["KEY"]), ..network.clone() };
        assert!(!grants.is_granted(&Grant::asked(&a, "run.sh", &more).unwrap()));
        fs::write(at("a/node_modules/m/index.js"), "2").unwrap();
        let changed = Grant::asked(&a, "run.sh", &network).unwrap();
        assert!(!grants.is_granted(&changed), "what is imported runs too");

        grants.grant_once(&changed);
        assert!(grants.is_granted(&changed));
        assert_eq!(grants.list().len(), 1, "once is not kept");
        assert_eq!(grants.revoke("a", Some("other")).unwrap(), 0);
        assert_eq!(grants.revoke("a", Some("run.sh")).unwrap(), 2);
        assert!(!grants.is_granted(&changed) && !grants.is_granted(&asked));
    }
}
