//! The projects that the user trusts: their `skillcue.toml` may add servers and directories outside of them.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use skillcue_base::{Digest, Records, RecordsError};
use skillcue_catalog::ContentId;

use crate::environment::Environment;
use crate::error::HostError;

/// The projects that the user trusts, each with exactly the configuration that was looked at.
#[derive(Debug)]
pub struct Trust {
    projects: Records<Trusted>,
}

/// A project's directory, and the identity of its `skillcue.toml`.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Trusted {
    project: PathBuf,
    digest: ContentId,
}

impl Default for Trust {
    fn default() -> Trust {
        Trust { projects: Records::new("projects", None) }
    }
}

impl Trust {
    /// Reads the user's list. A file that cannot be read is an error, not an empty one: it must not be overwritten.
    pub fn open(environment: &Environment) -> Result<Trust, HostError> {
        let file = environment.data("trust.json");
        let trust = Trust { projects: Records::new("projects", file) };
        match (trust.projects.trouble(), trust.projects.path()) {
            (Some(trouble), Some(file)) => Err(broken(file, &trouble)),
            _ => Ok(trust),
        }
    }

    /// Returns whether the user has trusted exactly this configuration.
    pub fn covers(&self, project: &Path, config: &str) -> bool {
        let (project, digest) = (real(project), content(config));
        self.projects.look(|list| list.iter().any(|known| known.project == project && known.digest == digest))
    }

    /// Returns whether the project was trusted, with this configuration or another.
    pub fn knew(&self, project: &Path) -> bool {
        let project = real(project);
        self.projects.look(|list| list.iter().any(|known| known.project == project))
    }

    /// Returns every trusted project with the digest of its configuration, by path.
    pub fn projects(&self) -> impl Iterator<Item = (PathBuf, ContentId)> {
        let mut list = self.projects.list();
        list.sort_by(|a, b| a.project.cmp(&b.project));
        list.into_iter().map(|known| (known.project, known.digest))
    }

    /// Trusts a project with exactly this configuration.
    pub fn add(&self, project: &Path, config: &str) -> Result<(), HostError> {
        let trusted = Trusted { project: real(project), digest: content(config) };
        self.change(|list| {
            list.retain(|known| known.project != trusted.project);
            list.push(trusted);
        })
    }

    /// Trusts a project no longer. Returns whether it was trusted.
    pub fn remove(&self, project: &Path) -> Result<bool, HostError> {
        let project = real(project);
        if !self.knew(&project) {
            return Ok(false);
        }
        self.change(|list| {
            let before = list.len();
            list.retain(|known| known.project != project);
            list.len() < before
        })
    }

    fn change<R>(&self, change: impl FnOnce(&mut Vec<Trusted>) -> R) -> Result<R, HostError> {
        let Some(file) = self.projects.path() else {
            return Err(HostError::failure("no_home", "there is no directory to remember it in")
                .help("set HOME or XDG_DATA_HOME"));
        };
        self.projects.change(change).map_err(|error| match error {
            RecordsError::File { path, error } => {
                let message = format!("cannot write {}: {}", path.display(), skillcue_base::os_message(&error));
                HostError::failure("unwritable", message)
                    .help("check that the directory is there and that you may write to it")
            }
            other => broken(file, &other.to_string()),
        })
    }
}

fn broken(file: &Path, why: &str) -> HostError {
    HostError::failure("trust", format!("cannot use {}: {why}", file.display()))
        .help("move it away; projects are then asked about again with `skillcue trust`")
}

/// The identity of a project's configuration: the one file it consists of.
fn content(config: &str) -> ContentId {
    ContentId::of_listed([("skillcue.toml", Digest::of(config))])
}

fn real(project: &Path) -> PathBuf {
    project.canonicalize().unwrap_or_else(|_| project.to_path_buf())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trust_holds_for_what_was_looked_at() {
        let tmp = tempfile::tempdir().unwrap();
        let environment = Environment { data_home: Some(tmp.path().join("data")), ..Environment::default() };
        let project = tmp.path().join("project");
        std::fs::create_dir(&project).unwrap();
        let trust = Trust::open(&environment).unwrap();
        assert!(!trust.covers(&project, "a = 1"));
        trust.add(&project, "a = 1").unwrap();
        let trust = Trust::open(&environment).unwrap();
        assert!(trust.covers(&project, "a = 1"));
        assert!(!trust.covers(&project, "a = 2") && trust.knew(&project));
        assert!(trust.remove(&project).unwrap());
        assert!(!Trust::open(&environment).unwrap().covers(&project, "a = 1"));
        std::fs::write(tmp.path().join("data/skillcue/trust.json"), "{").unwrap();
        assert!(Trust::open(&environment).is_err(), "a broken file is no empty one");
    }
    #[test]
    fn what_is_trusted_at_once_is_all_kept() {
        let tmp = tempfile::tempdir().unwrap();
        let environment = Environment { data_home: Some(tmp.path().join("data")), ..Environment::default() };
        let names: Vec<PathBuf> = (0..12).map(|number| tmp.path().join(format!("project-{number}"))).collect();
        // All have read the file before the first writes it, as commands of several terminals would.
        let ready = std::sync::Barrier::new(4);
        std::thread::scope(|scope| {
            for part in names.chunks(3) {
                let (environment, ready) = (&environment, &ready);
                scope.spawn(move || {
                    let trust = Trust::open(environment).unwrap();
                    ready.wait();
                    for project in part {
                        trust.add(project, "a = 1").unwrap();
                    }
                });
            }
        });
        let kept: Vec<PathBuf> = Trust::open(&environment).unwrap().projects().map(|(project, _)| project).collect();
        assert_eq!(kept.len(), names.len(), "{kept:?}");
    }
}
