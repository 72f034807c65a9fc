//! A machine of its own for each test.
#![allow(dead_code, reason = "each test file uses its part")]

use std::fs;
use std::path::PathBuf;

use skillcue_host::{Environment, Host, HostError, HostOverrides};
use tempfile::TempDir;

/// `home` and, next to it, `work` with a `.git`: the project that the host is opened in.
pub(crate) struct Machine(TempDir);

impl Machine {
    pub(crate) fn new() -> Machine {
        let root = tempfile::tempdir().unwrap();
        for dir in ["home", "work/.git", "tmp"] {
            fs::create_dir_all(root.path().join(dir)).unwrap();
        }
        Machine(root)
    }

    pub(crate) fn path(&self, below: &str) -> PathBuf {
        self.0.path().join(below)
    }

    pub(crate) fn write(&self, below: &str, text: &str) {
        let path = self.path(below);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(crate) fn skill(&self, dir: &str) {
        let name = dir.rsplit('/').next().unwrap();
        self.write(&format!("{dir}/SKILL.md"), &format!("---\nname: {name}\ndescription: Does it.\n---\n# {name}\n"));
    }

    pub(crate) fn environment(&self, variables: &[(&str, &str)]) -> Result<Environment, HostError> {
        let own = [("HOME", self.path("home")), ("TMPDIR", self.path("tmp")), ("PATH", "/nonexistent".into())];
        let mut all: Vec<_> = own.into_iter().map(|(name, value)| (name.into(), value.into())).collect();
        for (name, value) in variables {
            all.retain(|(known, _)| known != name);
            all.push(((*name).into(), (*value).into()));
        }
        Environment::new(Some(self.path("work")), all)
    }

    pub(crate) fn host(&self, variables: &[(&str, &str)], options: HostOverrides) -> Host {
        Host::open(self.environment(variables).unwrap(), options)
    }

    /// Returns the names of the skills that are enabled in the end.
    pub(crate) fn enabled(&self, variables: &[(&str, &str)], options: HostOverrides) -> Vec<String> {
        let host = self.host(variables, options);
        let catalog = host.skills().unwrap().catalog();
        catalog.skills().filter(|skill| skill.enabled()).map(|skill| skill.name().to_owned()).collect()
    }
}
