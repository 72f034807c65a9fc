//! The smoke run: the README's main command, as a user without any skills or settings runs it.

use crate::process::{ChoreFailure, ScratchDir, build_skillcue, line, skillcue};
use crate::test::StepOutcome;
use std::path::Path;
use std::process::Command;

/// The arguments of the README's main command.
const MAIN_COMMAND: [&str; 2] = ["context", "Say bonjour to Alice"];

/// Texts that must be in the answer: the documentation of the skill that fits.
const EXPECTED: [&str; 2] = ["### hello-extended", "Base directory for this skill:"];

pub(crate) fn step() -> Result<StepOutcome, ChoreFailure> {
    build_skillcue()?;
    let scratch = ScratchDir::new("smoke")?;
    main_job(&skillcue(), scratch.path())?;
    sandbox(&scratch).map(|()| StepOutcome::Passed)
}

/// Runs the main job in an empty directory: no project, no settings, so only what is bundled in the program can answer.
pub(crate) fn main_job(program: &Path, home: &Path) -> Result<(), ChoreFailure> {
    let mut command = Command::new(program);
    command.args(MAIN_COMMAND).current_dir(home).env_clear().env("HOME", home);
    if let Some(path) = std::env::var_os("PATH") {
        command.env("PATH", path);
    }
    let output =
        command.output().map_err(|error| ChoreFailure::new(format!("cannot start {}: {error}", program.display())))?;
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    let missing = missing_texts(&stdout);
    if output.status.success() && missing.is_empty() {
        println!("    {} answered {} bytes", line(&command), output.stdout.len());
        return Ok(());
    }
    let mut message = format!("`{}` in an empty directory: {}", line(&command), output.status);
    for text in missing {
        message += &["; its output has no ", text].concat();
    }
    Err(ChoreFailure::new(format!("{message}\n--- stdout\n{stdout}\n--- stderr\n{stderr}")))
}

/// Prints which layers of the sandbox this machine has: the tests have run with those, and no others.
fn sandbox(scratch: &ScratchDir) -> Result<(), ChoreFailure> {
    let mut command = Command::new(skillcue());
    command.arg("status").current_dir(scratch.path()).env_clear().env("HOME", scratch.path());
    let output = command.output().map_err(|error| ChoreFailure::new(format!("`{}`: {error}", line(&command))))?;
    let stdout = String::from_utf8_lossy(&output.stdout);
    let Some((_, said)) = stdout.split_once("Sandbox  ") else {
        return Err(ChoreFailure::new(format!("`{}` says nothing of the sandbox: {stdout}", line(&command))));
    };
    for line in said.lines() {
        println!("    sandbox: {}", line.trim());
    }
    Ok(())
}

fn missing_texts(stdout: &str) -> Vec<&'static str> {
    EXPECTED.into_iter().filter(|text| !stdout.contains(text)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_texts_are_named() {
        assert_eq!(missing_texts("Base directory for this skill: /x\n"), ["### hello-extended"]);
        assert!(missing_texts("### hello-extended\n\nBase directory for this skill: /x\n").is_empty());
    }
}
