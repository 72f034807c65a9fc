//! A Python with packages of its own, below the target directory.

use crate::process::{ChoreFailure, run, succeeds, target};
use std::path::PathBuf;
use std::process::Command;

/// A Python that can import what it was asked for.
pub(crate) struct Python {
    program: PathBuf,
    /// The directory of the packages, if not in the environment of the program itself.
    packages: Option<PathBuf>,
}

/// A program that exits with 0 if every `name==version` that it is given is the version that would be imported.
const HAS: &str = "import sys, importlib.metadata as m\n\
                   for line in sys.argv[1:]:\n    \
                       name, version = line.split('==')\n    \
                       assert m.version(name) == version";

impl Python {
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        if let Some(packages) = &self.packages {
            command.env("PYTHONPATH", packages);
        }
        command
    }

    /// Returns whether it would import the pinned versions, and no others.
    fn has(&self, pinned: &[&str]) -> bool {
        succeeds(self.command().args(["-c", HAS]).args(pinned))
    }

    /// Installs further packages beside those that it has, unless they are there too.
    pub(crate) fn add(&self, options: &[&str], pinned: &[&str]) -> Result<(), ChoreFailure> {
        if self.has(pinned) {
            return Ok(());
        }
        println!("    installing {} from PyPI", listed(pinned));
        self.install(options, pinned)
    }

    fn install(&self, options: &[&str], pinned: &[&str]) -> Result<(), ChoreFailure> {
        let mut command = self.command();
        command.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]).args(options);
        if let Some(packages) = &self.packages {
            command.arg("--target").arg(packages);
        }
        run(command.args(pinned))
    }
}

/// Returns the name of a Python that is new enough for everything here.
pub(crate) fn system() -> Option<&'static str> {
    // On Windows it is called `python`, where `python3` may be a stub that opens a shop.
    let names: &[&str] = if cfg!(windows) { &["python", "python3"] } else { &["python3", "python"] };
    names
        .iter()
        .copied()
        .find(|name| succeeds(Command::new(name).args(["-c", "import sys; assert sys.version_info >= (3, 11)"])))
}

/// Makes a virtual environment with these packages in it; made once, found again by later runs.
pub(crate) fn environment(system: &str, name: &str, options: &[&str], pinned: &[&str]) -> Result<Python, ChoreFailure> {
    let venv = target().join(format!("{name}-venv"));
    let program = if cfg!(windows) { venv.join("Scripts/python.exe") } else { venv.join("bin/python") };
    let python = Python { program, packages: None };
    if python.has(pinned) {
        return Ok(python);
    }
    println!("    installing {} from PyPI into {}", listed(pinned), venv.display());
    let made = run(Command::new(system).args(["-m", "venv", "--clear"]).arg(&venv));
    if made.is_ok() {
        python.install(options, pinned)?;
        return Ok(python);
    }
    // Debian's python3 comes without `ensurepip`, and without it no environment has a `pip`. Its
    // own, if there is one, can install beside.
    println!("    this python3 makes no virtual environments: trying its own pip");
    let packages = target().join(format!("{name}-packages"));
    let python = Python { program: PathBuf::from(system), packages: Some(packages) };
    if !python.has(pinned) {
        python.install(options, pinned)?;
    }
    Ok(python)
}

/// Returns the lines of a `requirements.txt` that pin something.
pub(crate) fn pinned(requirements: &str) -> Vec<&str> {
    requirements.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')).collect()
}

fn listed(pinned: &[&str]) -> String {
    match pinned {
        [first, _, _, _, rest @ ..] => format!("{first} and {} others", rest.len() + 3),
        few => few.join(", "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_pin_nothing() {
        assert_eq!(pinned("# why\n\nmcp==2.3.0\n  b==1 \n"), ["mcp==2.3.0", "b==1"]);
    }

    #[test]
    fn long_lists_are_not_spelled_out() {
        assert_eq!(listed(&["a==1", "b==2"]), "a==1, b==2");
        assert_eq!(listed(&["a==1", "b==2", "c==3", "d==4", "e==5"]), "a==1 and 4 others");
    }
}
