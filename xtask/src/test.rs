//! `cargo xtask test`: everything that must pass, in the order in which it is cheapest to fail.

use crate::process::{ChoreFailure, cargo, run, succeeds};
use crate::{bindings, clients, dist, fleet, mcp, oci, otlp, picture, reference, replicas, smoke, studio, toolsets};
use std::time::Instant;

/// The end of a step that has not failed.
pub(crate) enum StepOutcome {
    /// The step did what it should.
    Passed,
    /// The machine lacks something that only this step needs; with the reason, in a few words.
    Skipped(String),
    /// There is no browser for this machine, whatever is installed; with the reason. Never a failure.
    NoBrowser(String),
}

/// One thing that must pass.
struct TestStep {
    name: &'static str,
    what: &'static str,
    run: fn() -> Result<StepOutcome, ChoreFailure>,
}

const STEPS: [TestStep; 18] = [
    TestStep { name: "fmt", what: "formatting", run: fmt },
    TestStep { name: "clippy", what: "lints, warnings as errors", run: clippy },
    TestStep { name: "tests", what: "unit and integration tests", run: tests },
    TestStep {
        name: "toolsets",
        what: "toolsets that import zod, installed through npm, and the suite of JSON Schema",
        run: toolsets::step,
    },
    TestStep { name: "doctests", what: "examples in the documentation", run: doctests },
    TestStep { name: "docs", what: "documentation, warnings as errors", run: docs },
    TestStep { name: "reference", what: "agreement with skills-ref", run: reference::step },
    TestStep { name: "mcp", what: "MCP conformance, and the SDKs of others as clients", run: mcp::step },
    TestStep { name: "replicas", what: "three servers behind a proxy, and a thousand clients", run: replicas::step },
    TestStep {
        name: "otlp",
        what: "traces, decoded with the classes of opentelemetry-proto, and through a real collector",
        run: otlp::step,
    },
    TestStep { name: "fleet", what: "catalogs on moto's S3 server: races and faults", run: fleet::step },
    TestStep { name: "oci", what: "skills in a real OCI registry", run: oci::step },
    TestStep { name: "clients", what: "the six clients of `connect`, against a scripted model", run: clients::step },
    TestStep { name: "studio", what: "the page of `skillcue studio` in a real browser", run: studio::step },
    TestStep { name: "smoke", what: "the README's main command", run: smoke::step },
    TestStep { name: "dist", what: "a release archive, unpacked and run", run: dist::step },
    TestStep { name: "picture", what: "the README's picture shows what the program prints", run: picture::step },
    TestStep { name: "python", what: "the Python package: wheel, tests, types, frameworks", run: bindings::step },
];

/// The steps to run, and how strictly.
#[derive(Debug, PartialEq, Eq)]
struct StepSelection<'a> {
    names: Vec<&'a str>,
    /// A step that needs the network may be skipped; otherwise that is a failure.
    offline: bool,
}

/// Runs the named steps, or all; stops at the first that fails.
pub(crate) fn main(arguments: &[&str]) -> Result<(), ChoreFailure> {
    let choice = select_steps(arguments)?;
    let start = Instant::now();
    let (mut passed, mut skipped) = (0, Vec::new());
    for step in STEPS.iter().filter(|step| choice.names.is_empty() || choice.names.contains(&step.name)) {
        println!("==> {}: {}", step.name, step.what);
        let began = Instant::now();
        let outcome = match (step.run)() {
            Ok(StepOutcome::Skipped(why)) if !choice.offline => {
                Err(ChoreFailure::new(format!("cannot run here: {why}")))
            }
            other => other,
        };
        let seconds = began.elapsed().as_secs_f64();
        match outcome {
            Ok(StepOutcome::Passed) => {
                println!("==> {}: passed, {seconds:.1} s", step.name);
                passed += 1;
            }
            Ok(StepOutcome::Skipped(why) | StepOutcome::NoBrowser(why)) => {
                println!("==> {}: SKIPPED: {why}", step.name);
                skipped.push(step.name);
            }
            Err(ChoreFailure(message)) => {
                println!("==> {}: FAILED, {seconds:.1} s: {message}", step.name);
                println!("    to run it again: cargo xtask test {}", step.name);
                println!("steps: {passed} passed, 1 failed{}", mention(&skipped));
                return Err(ChoreFailure::new(format!("{} failed", step.name)));
            }
        }
    }
    println!("==> {:.1} s in all", start.elapsed().as_secs_f64());
    println!("steps: {passed} passed, 0 failed{}", mention(&skipped));
    Ok(())
}

fn select_steps<'a>(arguments: &[&'a str]) -> Result<StepSelection<'a>, ChoreFailure> {
    let (flags, names): (Vec<&str>, Vec<&str>) = arguments.iter().copied().partition(|text| text.starts_with('-'));
    if let Some(flag) = flags.iter().find(|&&flag| flag != "--offline") {
        return Err(ChoreFailure::new(format!("`test` has no option {flag}; see `cargo xtask help`")));
    }
    if let Some(name) = names.iter().find(|&&name| STEPS.iter().all(|step| step.name != name)) {
        let known = STEPS.map(|step| step.name).join(", ");
        return Err(ChoreFailure::new(format!("there is no step {name}; there are {known}")));
    }
    Ok(StepSelection { names, offline: !flags.is_empty() })
}

/// Returns the end of the closing line, which names skipped steps: nothing is left out without a word.
fn mention(skipped: &[&str]) -> String {
    if skipped.is_empty() { String::new() } else { format!(", {} skipped ({})", skipped.len(), skipped.join(", ")) }
}

fn fmt() -> Result<StepOutcome, ChoreFailure> {
    run(cargo().args(["fmt", "--all", "--check"]))
        .map_err(|ChoreFailure(message)| ChoreFailure(format!("{message}; `cargo fmt --all` mends it")))?;
    Ok(StepOutcome::Passed)
}

fn clippy() -> Result<StepOutcome, ChoreFailure> {
    run(cargo().args(["clippy", "--workspace", "--all-targets", "--all-features", "--", "-D", "warnings"]))?;
    Ok(StepOutcome::Passed)
}

fn tests() -> Result<StepOutcome, ChoreFailure> {
    if succeeds(cargo().args(["nextest", "--version"])) {
        run(cargo().args(["nextest", "run", "--workspace", "--all-features"]))?;
    } else {
        println!("    cargo-nextest is not installed: cargo test does the same, a little slower");
        // Not `--all-targets`: that would run the criterion benches too, once each.
        run(cargo().args(["test", "--workspace", "--all-features", "--lib", "--bins", "--tests", "--examples"]))?;
    }
    Ok(StepOutcome::Passed)
}

fn doctests() -> Result<StepOutcome, ChoreFailure> {
    run(cargo().args(["test", "--workspace", "--all-features", "--doc"]))?;
    Ok(StepOutcome::Passed)
}

fn docs() -> Result<StepOutcome, ChoreFailure> {
    run(cargo().args(["doc", "--workspace", "--all-features", "--no-deps"]).env("RUSTDOCFLAGS", "-D warnings"))?;
    Ok(StepOutcome::Passed)
}

#[cfg(test)]
mod tests_of_choice {
    use super::*;

    #[test]
    fn steps_are_chosen_by_name() {
        assert_eq!(select_steps(&[]).unwrap(), StepSelection { names: vec![], offline: false });
        let chosen = select_steps(&["fmt", "--offline", "smoke"]).unwrap();
        assert_eq!(chosen, StepSelection { names: vec!["fmt", "smoke"], offline: true });
        assert!(select_steps(&["fnt"]).unwrap_err().0.contains("there are fmt, clippy"));
        assert!(select_steps(&["--fast"]).unwrap_err().0.contains("--fast"));
    }

    #[test]
    fn the_usage_names_every_step() {
        let names = STEPS.map(|step| step.name).join(", ");
        assert!(crate::USAGE.replace('\n', " ").ends_with(&names), "{names}");
    }

    #[test]
    fn skipped_steps_are_mentioned() {
        assert_eq!(mention(&[]), "");
        assert_eq!(mention(&["reference"]), ", 1 skipped (reference)");
    }
}
