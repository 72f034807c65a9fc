//! Which projects the user trusts: their `skillfold.toml` may add servers and directories outside of them.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use skillfold_mcp::digest;

use crate::environment::Environment;
use crate::error::CliError;

const VERSION: u32 = 1;

/// The projects that the user trusts, each with exactly the configuration that was looked at.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Trust {
    version: u32,
    /// A project's directory, and the digest of its `skillfold.toml`.
    projects: BTreeMap<PathBuf, String>,
    #[serde(skip)]
    file: PathBuf,
}

impl Trust {
    /// Reads what was said before. A file that cannot be read is an error, not an empty one: it must not be overwritten.
    pub(crate) fn open(environment: &Environment) -> Result<Trust, CliError> {
        let Some(data) = &environment.data_home else {
            return Ok(Trust::default());
        };
        let file = data.join("skillfold/trust.json");
        let text = match std::fs::read_to_string(&file) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Trust { file, ..Trust::default() }),
            Err(error) => return Err(broken(&file, &skillfold::os_message(&error))),
        };
        match serde_json::from_str::<Trust>(&text) {
            Ok(trust) if trust.version == VERSION => Ok(Trust { file, ..trust }),
            Ok(trust) => {
                Err(broken(&file, &format!("it has version {}, and this program knows {VERSION}", trust.version)))
            }
            Err(error) => Err(broken(&file, &error.to_string())),
        }
    }

    /// Whether this is the configuration that the user has looked at.
    pub(crate) fn covers(&self, project: &Path, config: &str) -> bool {
        self.projects.get(&real(project)).is_some_and(|known| *known == digest(config.as_bytes()))
    }

    /// Whether the project was trusted with another configuration.
    pub(crate) fn knew(&self, project: &Path) -> bool {
        self.projects.contains_key(&real(project))
    }

    pub(crate) fn projects(&self) -> impl Iterator<Item = (&Path, &str)> {
        self.projects.iter().map(|(path, digest)| (path.as_path(), digest.as_str()))
    }

    pub(crate) fn add(&mut self, project: &Path, config: &str) -> Result<(), CliError> {
        self.projects.insert(real(project), digest(config.as_bytes()));
        self.save()
    }

    /// Returns whether it was trusted.
    pub(crate) fn remove(&mut self, project: &Path) -> Result<bool, CliError> {
        let known = self.projects.remove(&real(project)).is_some();
        if known {
            self.save()?;
        }
        Ok(known)
    }

    fn save(&mut self) -> Result<(), CliError> {
        self.version = VERSION;
        let Some(dir) = self.file.parent().filter(|dir| !dir.as_os_str().is_empty()) else {
            return Err(CliError::failure("no_home", "there is no directory to remember it in")
                .help("set HOME or XDG_DATA_HOME"));
        };
        let written = std::fs::create_dir_all(dir).and_then(|()| {
            let text = serde_json::to_vec_pretty(self)?;
            skillfold::replace_file(&self.file, [&text[..]])
        });
        written.map_err(|error| CliError::write(&self.file, &error))
    }
}

fn broken(file: &Path, why: &str) -> CliError {
    CliError::failure("trust", format!("cannot use {}: {why}", file.display()))
        .help("move it away; projects are then asked about again with `skillfold trust`")
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
        let mut trust = Trust::open(&environment).unwrap();
        assert!(!trust.covers(&project, "a = 1"));
        trust.add(&project, "a = 1").unwrap();
        let mut trust = Trust::open(&environment).unwrap();
        assert!(trust.covers(&project, "a = 1"));
        assert!(!trust.covers(&project, "a = 2") && trust.knew(&project));
        assert!(trust.remove(&project).unwrap());
        assert!(!Trust::open(&environment).unwrap().covers(&project, "a = 1"));
        std::fs::write(tmp.path().join("data/skillfold/trust.json"), "{").unwrap();
        assert!(Trust::open(&environment).is_err(), "a broken file is no empty one");
    }
}
