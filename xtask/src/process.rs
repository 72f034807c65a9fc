//! Starts programs, and knows where things are.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// An error, in words for the person at the terminal.
#[derive(Debug)]
pub(crate) struct ChoreFailure(pub(crate) String);

impl ChoreFailure {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }

    /// Describes an error of the file system, with what was tried.
    pub(crate) fn io(tried: &str, path: &Path, error: &std::io::Error) -> Self {
        Self(format!("cannot {tried} {}: {error}", path.display()))
    }
}

/// Returns the repository's root: the directory above this crate.
pub(crate) fn root() -> &'static Path {
    // The place at compile time is the place at run time: `cargo xtask` builds where it runs.
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here)
}

/// Returns the directory in which Cargo builds, whether it is `target/` or the user has moved it.
///
/// This program is in it, as `TARGET/PROFILE/xtask`, which no setting can make untrue.
pub(crate) fn target() -> PathBuf {
    let exe = std::env::current_exe().ok();
    let target = exe.as_deref().and_then(Path::parent).and_then(Path::parent);
    target.map_or_else(|| root().join("target"), Path::to_path_buf)
}

/// Returns the path of the debug build of our binary.
pub(crate) fn skillcue() -> PathBuf {
    target().join("debug").join(format!("skillcue{}", std::env::consts::EXE_SUFFIX))
}

/// Returns the path of the release build of one of our programs.
pub(crate) fn release(name: &str) -> PathBuf {
    target().join("release").join(format!("{name}{}", std::env::consts::EXE_SUFFIX))
}

/// Builds [`skillcue()`].
pub(crate) fn build_skillcue() -> Result<(), ChoreFailure> {
    run(cargo().args(["build", "--quiet", "--package", "skillcue-cli", "--bin", "skillcue", "--all-features"]))
}

/// Returns a command for the Cargo that started us, in the repository's root.
pub(crate) fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo")));
    command.current_dir(root());
    command
}

/// Returns a command for npm, if there is one.
pub(crate) fn npm() -> Result<Command, ChoreFailure> {
    let npm = if cfg!(windows) { "npm.cmd" } else { "npm" };
    if succeeds(Command::new(npm).arg("--version")) {
        Ok(Command::new(npm))
    } else {
        Err(ChoreFailure::new("there is no npm on the PATH; it comes with Node, https://nodejs.org"))
    }
}

/// Writes a file.
pub(crate) fn write(path: &Path, text: &str) -> Result<(), ChoreFailure> {
    std::fs::write(path, text).map_err(|error| ChoreFailure::io("write", path, &error))
}

/// Runs a command to its end; its output goes where ours goes.
pub(crate) fn run(command: &mut Command) -> Result<(), ChoreFailure> {
    let status =
        command.status().map_err(|error| ChoreFailure::new(format!("cannot start `{}`: {error}", line(command))))?;
    if status.success() { Ok(()) } else { Err(ChoreFailure::new(format!("`{}` failed ({status})", line(command)))) }
}

/// Returns whether a command can be started and succeeds; its output is dropped.
pub(crate) fn succeeds(command: &mut Command) -> bool {
    let quiet = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    quiet.status().is_ok_and(|status| status.success())
}

/// Returns the command as a person would type it.
pub(crate) fn line(command: &Command) -> String {
    let program = Path::new(command.get_program());
    // `cargo`, not the path of the toolchain that it was found in.
    let name = program.file_name().unwrap_or(program.as_os_str());
    let mut line = name.to_string_lossy().into_owned();
    for argument in command.get_args() {
        let _ = write!(line, " {}", argument.to_string_lossy());
    }
    line
}

/// A new, empty directory below the system's temporary one, removed when dropped unless kept.
pub(crate) struct ScratchDir {
    path: PathBuf,
    keep: bool,
}

impl ScratchDir {
    pub(crate) fn new(name: &str) -> Result<Self, ChoreFailure> {
        let path = std::env::temp_dir().join(format!("skillcue-{name}-{}", std::process::id()));
        // Not `create_dir_all`: what is there already is not ours to use, let alone to remove.
        std::fs::create_dir(&path).map_err(|error| ChoreFailure::io("create", &path, &error))?;
        Ok(Self { path, keep: false })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Leaves it there to be looked at.
    pub(crate) fn keep(&mut self) {
        self.keep = true;
    }
}

impl Drop for ScratchDir {
    fn drop(&mut self) {
        if !self.keep {
            // The system cleans its temporary directory, should this fail.
            let _ = std::fs::remove_dir_all(&self.path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_shown_as_typed() {
        let mut command = Command::new("/opt/toolchain/bin/cargo");
        command.args(["fmt", "--all"]);
        assert_eq!(line(&command), "cargo fmt --all");
    }

    #[test]
    fn the_root_is_the_repository() {
        assert!(root().join("xtask/Cargo.toml").is_file());
    }

    #[test]
    fn scratch_is_removed_unless_kept() {
        let mut scratch = ScratchDir::new("test-scratch").unwrap();
        let path = scratch.path().to_path_buf();
        assert!(ScratchDir::new("test-scratch").is_err(), "the same directory twice");
        scratch.keep();
        drop(scratch);
        assert!(path.is_dir());
        drop(ScratchDir { path: path.clone(), keep: false });
        assert!(!path.exists());
    }
}
