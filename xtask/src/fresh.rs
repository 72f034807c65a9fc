//! `cargo xtask fresh`: the README's first commands in a fresh clone of the repository.

use crate::process::{ChoreFailure, ScratchDir, root, run};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

/// Seconds that the README promises for its first command, on two cores.
const MAX_FIRST_SECONDS: f64 = 300.0;

/// Clones HEAD into an empty directory and runs the README's first two commands there.
pub(crate) fn main() -> Result<(), ChoreFailure> {
    let mut scratch = ScratchDir::new("fresh")?;
    let (clone, home) = (scratch.path().join("skillcue"), scratch.path().join("home"));
    std::fs::create_dir(&home).map_err(|error| ChoreFailure::io("create", &home, &error))?;
    // `--no-local` copies objects as a clone over the network does, not by hard links.
    run(Command::new("git").args(["clone", "--quiet", "--no-local"]).arg(root()).arg(&clone))?;
    println!("cloned HEAD into {}", clone.display());
    println!("environment: PATH, an empty HOME, and nothing else, but for CARGO_HOME and RUSTUP_HOME, which are");
    println!("yours: downloads and the toolchain are not part of the times, every compilation is");

    let readme = clone.join("README.md");
    let text = std::fs::read_to_string(&readme).map_err(|error| ChoreFailure::io("read", &readme, &error))?;
    let Some(commands) = first_two(&text) else {
        return Err(ChoreFailure::new("README.md shows fewer than two `cargo …` lines in its code blocks"));
    };
    for (index, command) in commands.into_iter().enumerate() {
        println!("\n$ {command}");
        let start = Instant::now();
        let done = run(&mut in_clone(command, &clone, &home));
        let seconds = start.elapsed().as_secs_f64();
        if let Err(failure) = done {
            scratch.keep();
            println!("failed after {seconds:.1} s; the clone stays at {}", clone.display());
            return Err(failure);
        }
        println!("done in {seconds:.1} s");
        if index == 0 && seconds > MAX_FIRST_SECONDS {
            return Err(ChoreFailure::new(format!("the first command may take {MAX_FIRST_SECONDS} s")));
        }
    }
    Ok(())
}

/// Returns the first two commands of the README's code blocks: run the main job, run the tests.
///
/// They are read from it, so that the commands that are checked are those that people see.
fn first_two(readme: &str) -> Option<[&str; 2]> {
    let mut in_block = false;
    let mut commands = readme.lines().filter_map(|line| {
        if line.trim_start().starts_with("```") {
            in_block = !in_block;
        }
        let command = line.trim().trim_start_matches("$ ");
        // A comment behind a command is for the reader.
        let command = command.split_once(" #").map_or(command, |(command, _)| command.trim_end());
        (in_block && command.starts_with("cargo ")).then_some(command)
    });
    Some([commands.next()?, commands.next()?])
}

fn in_clone(line: &str, clone: &Path, home: &Path) -> Command {
    let (shell, flag) = if cfg!(windows) { ("cmd", "/C") } else { ("sh", "-c") };
    let mut command = Command::new(shell);
    command.args([flag, line]).current_dir(clone).env_clear().env("HOME", home);
    if let Some(path) = std::env::var_os("PATH") {
        command.env("PATH", path);
    }
    for (name, directory) in [("CARGO_HOME", ".cargo"), ("RUSTUP_HOME", ".rustup")] {
        if let Some(path) = tool_home(name, directory) {
            command.env(name, path);
        }
    }
    command
}

/// Returns the directory in which a tool keeps its files: the variable, or its default in the home directory.
fn tool_home(variable: &str, directory: &str) -> Option<PathBuf> {
    let usual = || std::env::home_dir().map(|home| home.join(directory));
    std::env::var_os(variable).map(PathBuf::from).or_else(usual)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_read_from_code_blocks_only() {
        let readme = "\
Type `cargo build`.
cargo is not a command here

```sh
$ cargo run -p skillcue-cli -- load hello-extended Alice   # the main job
```

```sh
cargo xtask test
cargo xtask bench
```
";
        let expected = ["cargo run -p skillcue-cli -- load hello-extended Alice", "cargo xtask test"];
        assert_eq!(first_two(readme), Some(expected));
        assert_eq!(first_two("```\ncargo build\n```\ncargo test\n"), None);
    }
}
