//! `cargo xtask test`: everything that must pass, in the order in which it is cheapest to fail.

use crate::process::{Failure, cargo, run, succeeds};
use crate::{mcp, reference, smoke, toolsets};
use std::time::Instant;

/// The end of a step that has not failed.
pub(crate) enum Outcome {
    /// It did what it should.
    Passed,
    /// The machine lacks something that only this step needs; with the reason, in a few words.
    Skipped(String),
}

/// One thing that must pass.
struct Step {
    name: &'static str,
    what: &'static str,
    run: fn() -> Result<Outcome, Failure>,
}

const STEPS: [Step; 9] = [
    Step { name: "fmt", what: "formatting", run: fmt },
    Step { name: "clippy", what: "lints, warnings as errors", run: clippy },
    Step { name: "tests", what: "unit and integration tests", run: tests },
    Step {
        name: "toolsets",
        what: "toolsets that import zod, installed through npm, and the suite of JSON Schema",
        run: toolsets::step,
    },
    Step { name: "doctests", what: "examples in the documentation", run: doctests },
    Step { name: "docs", what: "documentation, warnings as errors", run: docs },
    Step { name: "reference", what: "agreement with skills-ref", run: reference::step },
    Step { name: "mcp", what: "MCP conformance, and the SDKs of others as clients", run: mcp::step },
    Step { name: "smoke", what: "the README's main command", run: smoke::step },
];

/// The steps to run, and how strictly.
#[derive(Debug, PartialEq, Eq)]
struct Choice<'a> {
    names: Vec<&'a str>,
    /// A step that needs the network may be skipped; otherwise that is a failure.
    offline: bool,
}

/// Runs the named steps, or all; stops at the first that fails.
pub(crate) fn main(arguments: &[&str]) -> Result<(), Failure> {
    let choice = choose(arguments)?;
    let start = Instant::now();
    let (mut passed, mut skipped) = (0, Vec::new());
    for step in STEPS.iter().filter(|step| choice.names.is_empty() || choice.names.contains(&step.name)) {
        println!("==> {}: {}", step.name, step.what);
        let began = Instant::now();
        let outcome = match (step.run)() {
            Ok(Outcome::Skipped(why)) if !choice.offline => Err(Failure::new(format!("cannot run here: {why}"))),
            other => other,
        };
        let seconds = began.elapsed().as_secs_f64();
        match outcome {
            Ok(Outcome::Passed) => {
                println!("==> {}: passed, {seconds:.1} s", step.name);
                passed += 1;
            }
            Ok(Outcome::Skipped(why)) => {
                println!("==> {}: SKIPPED: {why}", step.name);
                skipped.push(step.name);
            }
            Err(Failure(message)) => {
                println!("==> {}: FAILED, {seconds:.1} s: {message}", step.name);
                println!("    to run it again: cargo xtask test {}", step.name);
                println!("steps: {passed} passed, 1 failed{}", mention(&skipped));
                return Err(Failure::new(format!("{} failed", step.name)));
            }
        }
    }
    println!("==> {:.1} s in all", start.elapsed().as_secs_f64());
    println!("steps: {passed} passed, 0 failed{}", mention(&skipped));
    Ok(())
}

fn choose<'a>(arguments: &[&'a str]) -> Result<Choice<'a>, Failure> {
    let (flags, names): (Vec<&str>, Vec<&str>) = arguments.iter().copied().partition(|text| text.starts_with('-'));
    if let Some(flag) = flags.iter().find(|&&flag| flag != "--offline") {
        return Err(Failure::new(format!("`test` has no option {flag}; see `cargo xtask help`")));
    }
    if let Some(name) = names.iter().find(|&&name| STEPS.iter().all(|step| step.name != name)) {
        let known = STEPS.map(|step| step.name).join(", ");
        return Err(Failure::new(format!("there is no step {name}; there are {known}")));
    }
    Ok(Choice { names, offline: !flags.is_empty() })
}

/// Returns the end of the closing line, which names skipped steps: nothing is left out without a word.
fn mention(skipped: &[&str]) -> String {
    if skipped.is_empty() { String::new() } else { format!(", {} skipped ({})", skipped.len(), skipped.join(", ")) }
}

fn fmt() -> Result<Outcome, Failure> {
    run(cargo().args(["fmt", "--all", "--check"]))
        .map_err(|Failure(message)| Failure(format!("{message}; `cargo fmt --all` mends it")))?;
    Ok(Outcome::Passed)
}

fn clippy() -> Result<Outcome, Failure> {
    run(cargo().args(["clippy", "--workspace", "--all-targets", "--all-features", "--", "-D", "warnings"]))?;
    Ok(Outcome::Passed)
}

fn tests() -> Result<Outcome, Failure> {
    if succeeds(cargo().args(["nextest", "--version"])) {
        run(cargo().args(["nextest", "run", "--workspace", "--all-features"]))?;
    } else {
        println!("    cargo-nextest is not installed: cargo test does the same, a little slower");
        // Not `--all-targets`: that would run the criterion benches too, once each.
        run(cargo().args(["test", "--workspace", "--all-features", "--lib", "--bins", "--tests", "--examples"]))?;
    }
    Ok(Outcome::Passed)
}

fn doctests() -> Result<Outcome, Failure> {
    run(cargo().args(["test", "--workspace", "--all-features", "--doc"]))?;
    Ok(Outcome::Passed)
}

fn docs() -> Result<Outcome, Failure> {
    run(cargo().args(["doc", "--workspace", "--all-features", "--no-deps"]).env("RUSTDOCFLAGS", "-D warnings"))?;
    Ok(Outcome::Passed)
}

#[cfg(test)]
mod tests_of_choice {
    use super::*;

    #[test]
    fn steps_are_chosen_by_name() {
        assert_eq!(choose(&[]).unwrap(), Choice { names: vec![], offline: false });
        let chosen = choose(&["fmt", "--offline", "smoke"]).unwrap();
        assert_eq!(chosen, Choice { names: vec!["fmt", "smoke"], offline: true });
        assert!(choose(&["fnt"]).unwrap_err().0.contains("there are fmt, clippy"));
        assert!(choose(&["--fast"]).unwrap_err().0.contains("--fast"));
    }

    #[test]
    fn the_usage_names_every_step() {
        let names = STEPS.map(|step| step.name).join(", ");
        assert!(crate::USAGE.ends_with(&names), "{names}");
    }

    #[test]
    fn skipped_steps_are_mentioned() {
        assert_eq!(mention(&[]), "");
        assert_eq!(mention(&["reference"]), ", 1 skipped (reference)");
    }
}
