//! Toolsets with packages and tests of others: `zod`, installed as users do it, and the official suite of JSON Schema.

use crate::process::{ChoreFailure, ScratchDir, build_skillcue, cargo, npm, root, run, skillcue, succeeds, target};
use crate::python;
use crate::test::StepOutcome;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Variables by which the ignored tests find the packages and the suite.
const PACKAGES: &str = "SKILLCUE_TEST_PACKAGES";
const SCHEMAS: &str = "SKILLCUE_TEST_SCHEMAS";

/// A package whose source archive carries JSON-Schema-Test-Suite, whose maintainer is its own, too. The packages of
/// that name at npm hold draft 4, or fetch the rest from elsewhere.
const SUITE: &str = "jsonschema==4.25.1";

pub(crate) fn step() -> Result<StepOutcome, ChoreFailure> {
    if let Err(ChoreFailure(why)) = npm() {
        return Ok(StepOutcome::Skipped(why));
    }
    let Some(python) = python::system() else {
        return Ok(StepOutcome::Skipped("there is no Python 3.11 or later on the PATH".to_owned()));
    };
    let schemas = match suite(python) {
        Ok(schemas) => schemas,
        Err(ChoreFailure(why)) => return Ok(StepOutcome::Skipped(format!("{SUITE} could not be fetched: {why}"))),
    };
    build_skillcue()?;
    let data = target().join("toolsets");
    println!("    skillcue toolset setup, into {}", data.display());
    if let Err(ChoreFailure(why)) = run(program(&data).args(["toolset", "setup"])) {
        return Ok(StepOutcome::Skipped(format!("zod could not be installed: {why}")));
    }
    documented_sequence()?;
    let packages: PathBuf = data.join("skillcue/toolsets");
    // Those that need it are ignored otherwise, and `tests` has built them already.
    let mut tests = if succeeds(cargo().args(["nextest", "--version"])) {
        let mut tests = cargo();
        tests.args(["nextest", "run", "--workspace", "--all-features", "--run-ignored", "only"]);
        tests.args(["-E", "package(skillcue-toolset) & (test(zod) | test(official_suite))"]);
        tests
    } else {
        let mut tests = cargo();
        tests.args(["test", "--package", "skillcue-toolset", "--all-features", "--lib", "--tests", "--", "--ignored"]);
        tests.args(["zod", "official_suite"]);
        tests
    };
    run(tests.env(PACKAGES, packages).env(SCHEMAS, schemas))?;
    Ok(StepOutcome::Passed)
}

/// Returns a command for our program, with its data in `data`.
fn program(data: &Path) -> Command {
    let mut program = Command::new(skillcue());
    program.env("XDG_DATA_HOME", data);
    program
}

/// The sequence of docs/reference/toolsets.md, word for word: a package is missing, `toolset setup` installs it, the tool works.
fn documented_sequence() -> Result<(), ChoreFailure> {
    let scratch = ScratchDir::new("toolset-setup")?;
    let page = root().join("docs/reference/toolsets.md");
    let text = std::fs::read_to_string(&page).map_err(|error| ChoreFailure::io("read", &page, &error))?;
    let block = |fence: &str| -> Result<&str, ChoreFailure> {
        let block = text.split_once(fence).and_then(|(_, after)| after.split_once("```"));
        block.map(|(block, _)| block).ok_or_else(|| ChoreFailure::new(format!("{} has no {fence:?}", page.display())))
    };
    let skill = scratch.path().join("skills/my-skill");
    for (path, text) in [("SKILL.md", block("```yaml\n")?), ("toolsets/index.ts", block("```typescript\n")?)] {
        let path = skill.join(path);
        std::fs::create_dir_all(path.parent().unwrap_or(&skill))
            .map_err(|error| ChoreFailure::io("make", &path, &error))?;
        std::fs::write(&path, text).map_err(|error| ChoreFailure::io("write", &path, &error))?;
    }
    let says = |args: &[&str]| -> Result<(bool, String), ChoreFailure> {
        let mut command = program(&scratch.path().join("data"));
        command.env("XDG_CACHE_HOME", scratch.path().join("cache")).current_dir(scratch.path());
        command.args(["--isolated", "--skills-dir", "skills"]).args(args);
        let output = command.output().map_err(|error| ChoreFailure::new(format!("cannot start skillcue: {error}")))?;
        let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        Ok((output.status.success(), said))
    };
    for (args, succeeds, word) in [
        (&["tools", "my-skill"][..], false, "error[module_not_found]: the package `zod`"),
        (&["toolset", "setup"], true, "zod "),
        (&["tools", "my-skill"], true, "my-tool  Does something useful"),
        (&["call", "my-skill__my-tool", "{\"input\": \"this\"}"], true, "Processed: this"),
        (&["call", "my-tool", "{\"input\": \"that\"}"], true, "Processed: that"),
    ] {
        let (success, said) = says(args)?;
        if success != succeeds || !said.contains(word) {
            let asked = args.join(" ");
            return Err(ChoreFailure::new(format!(
                "`skillcue {asked}` does not say what docs/reference/toolsets.md says: {said}"
            )));
        }
    }
    println!("    the sequence of docs/reference/toolsets.md: missing, set up, found");
    Ok(())
}

/// Returns the directory of the cases for the newest draft, below the target directory; fetched once.
fn suite(python: &str) -> Result<PathBuf, ChoreFailure> {
    let dir = target().join("schema-suite");
    let name = SUITE.replace("==", "-");
    let cases = dir.join(&name).join("json/tests/draft2020-12");
    if cases.join("optional").is_dir() {
        return Ok(cases);
    }
    println!("    fetching the source of {SUITE} from PyPI into {}", dir.display());
    let pip =
        ["-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps", "--no-binary", "jsonschema"];
    run(Command::new(python).args(pip).arg("--dest").arg(&dir).arg(SUITE))?;
    let archive = dir.join(format!("{name}.tar.gz"));
    run(Command::new(python).args(["-m", "tarfile", "-e"]).arg(archive).arg(&dir))?;
    Ok(cases)
}
