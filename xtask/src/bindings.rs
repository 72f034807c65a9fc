//! The Python package: its wheel, and the step that tests it.
//!
//! The crate `bindings/python` is a workspace of its own. It is compiled into the same target directory with the same
//! profile, so that both share what they have in common. Packages of PyPI are pinned in `bindings/python/requirements*.txt`
//! and installed below the target directory, and so is the wheel.

use crate::process::{ChoreFailure, build_skillcue, cargo, release, root, run, skillcue, target};
use crate::python::{self, Python};
use crate::test::StepOutcome;
use std::path::{Path, PathBuf};
use std::process::Command;

const DIR: &str = "bindings/python";

pub(crate) fn step() -> Result<StepOutcome, ChoreFailure> {
    let Some(system) = python::system() else {
        return Ok(StepOutcome::Skipped("there is no Python 3.11 or later on the PATH".to_owned()));
    };
    let (tools, checks) = match environments(system) {
        Ok(both) => both,
        Err(ChoreFailure(why)) => {
            return Ok(StepOutcome::Skipped(format!(
                "maturin, pytest and the frameworks could not be installed: {why}"
            )));
        }
    };
    let manifest = dir().join("Cargo.toml");
    run(cargo().args(["fmt", "--check", "--manifest-path"]).arg(&manifest))?;
    let lints = ["clippy", "--quiet", "--manifest-path"];
    let common = target();
    run(cargo().args(lints).arg(&manifest).arg("--target-dir").arg(&common).args(["--", "-D", "warnings"]))?;
    build_skillcue()?;
    let wheel = wheel(&tools, "dev", &skillcue())?;
    in_an_empty_environment(system, &tools, &wheel)?;
    install(&checks, &wheel)?;
    let begin = |module: &str| {
        let mut command = checks.command();
        command.args(["-I", "-m", module]).current_dir(dir());
        command
    };
    run(begin("pytest").arg(format!("--basetemp={}", target().join("python/tmp").display())))?;
    run(begin("mypy").arg("--cache-dir").arg(target().join("python/mypy")).args(TYPED))?;
    // It looks for packages in the environment of a Python that it is told, and not in that of the one that runs it.
    let program = checks.command().get_program().to_owned();
    run(begin("pyright")
        .arg("--pythonpath")
        .arg(program)
        .args(TYPED)
        .env("PYRIGHT_PYTHON_CACHE_DIR", target().join("python/pyright")))?;
    run(checks.command().arg(dir().join("tests/skillkit_suite.py")).arg("--target").arg(target().join("skillkit")))?;
    Ok(StepOutcome::Passed)
}

/// The directories that the type checkers read: the package itself, and programs that use it.
const TYPED: [&str; 2] = ["python/skillcue", "examples"];

/// Runs `cargo xtask wheel`: the wheel as it is published, below `target/wheels`.
pub(crate) fn main() -> Result<(), ChoreFailure> {
    let system = python::system().ok_or_else(|| ChoreFailure::new("there is no Python 3.11 or later on the PATH"))?;
    let tools = tools(system)?;
    run(cargo().args(["build", "--profile", "dist", "--package", "skillcue-cli", "--bin", "skillcue"]))?;
    let wheel = wheel(&tools, "dist", &target().join("dist/skillcue"))?;
    println!("{}", wheel.display());
    Ok(())
}

/// Runs `cargo xtask python-bench`: this package beside skillkit, in one run.
pub(crate) fn bench(arguments: &[&str]) -> Result<(), ChoreFailure> {
    let system = python::system().ok_or_else(|| ChoreFailure::new("there is no Python 3.11 or later on the PATH"))?;
    let tools = tools(system)?;
    let requirements = read("requirements-bench.txt")?;
    let python = python::environment(system, "python-bench", &[], &python::pinned(&requirements))?;
    run(cargo().args(["build", "--release", "--package", "skillcue-cli", "--bin", "skillcue"]))?;
    install(&python, &wheel(&tools, "release", &release("skillcue"))?)?;
    run(python.command().arg(dir().join("benches/compare.py")).args(arguments).current_dir(root()))
}

fn dir() -> PathBuf {
    root().join(DIR)
}

fn tools(system: &str) -> Result<Python, ChoreFailure> {
    python::environment(system, "python-tools", &[], &python::pinned(&read("requirements-tools.txt")?))
}

/// Returns the Python with the tools that make a wheel, and the one with what it is tested with.
fn environments(system: &str) -> Result<(Python, Python), ChoreFailure> {
    let pins = [read("requirements.txt")?, read("requirements-frameworks.txt")?];
    let pins: Vec<&str> = pins.iter().flat_map(|text| python::pinned(text)).collect();
    Ok((tools(system)?, python::environment(system, "python-checks", &[], &pins)?))
}

/// Makes a wheel with the program in it, whose tag auditwheel has checked, and returns its path.
fn wheel(tools: &Python, profile: &str, program: &Path) -> Result<PathBuf, ChoreFailure> {
    let (bare, out) = (target().join("python/bare"), target().join("wheels"));
    for dir in [&bare, &out] {
        // Of an earlier version, a wheel of another name would stay.
        let _ = std::fs::remove_dir_all(dir);
    }
    let mut maturin = tools.command();
    maturin
        .args(["-m", "maturin", "build", "--quiet", "--locked", "--strip", "--profile", profile, "--out"])
        .arg(&bare);
    run(maturin.arg("--target-dir").arg(target()).arg("--manifest-path").arg(dir().join("Cargo.toml")))?;
    let program = stripped(program)?;
    run(tools.command().arg(dir().join("tools/carry.py")).arg(only_wheel(&bare)?).arg(program).arg(&out))?;
    only_wheel(&out)
}

/// Returns a copy of a program without debug information, which is most of a debug build; the program itself if this
/// machine cannot make one.
fn stripped(program: &Path) -> Result<PathBuf, ChoreFailure> {
    let copy = target().join("python/skillcue");
    std::fs::create_dir_all(target().join("python")).map_err(|error| ChoreFailure::io("create", &copy, &error))?;
    let made = run(Command::new("strip").arg("-o").arg(&copy).arg(program));
    Ok(if made.is_ok() { copy } else { program.to_path_buf() })
}

fn only_wheel(dir: &Path) -> Result<PathBuf, ChoreFailure> {
    let found = std::fs::read_dir(dir).map_err(|error| ChoreFailure::io("read", dir, &error))?;
    let mut wheels =
        found.flatten().map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|it| it == "whl"));
    wheels.next().ok_or_else(|| ChoreFailure::new(format!("there is no wheel in {}", dir.display())))
}

fn install(python: &Python, wheel: &Path) -> Result<(), ChoreFailure> {
    let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "--force-reinstall"];
    run(python.command().args(pip).arg(wheel))
}

/// Installs the wheel where there is nothing else, and uses it: a dependency that was forgotten shows here.
fn in_an_empty_environment(system: &str, tools: &Python, wheel: &Path) -> Result<(), ChoreFailure> {
    let venv = target().join("python/empty-venv");
    run(Command::new(system).args(["-m", "venv", "--clear", "--without-pip"]).arg(&venv))?;
    let program = venv.join("bin/python");
    let pip = ["-m", "pip", "--quiet", "--disable-pip-version-check", "--python"];
    run(tools.command().args(pip).arg(&program).args(["install", "--no-index"]).arg(wheel))?;
    run(Command::new(&program).arg("-I").arg(dir().join("tools/smoke.py")))?;
    run(Command::new(venv.join("bin/skillcue")).arg("--version"))
}

fn read(name: &str) -> Result<String, ChoreFailure> {
    let path = dir().join(name);
    std::fs::read_to_string(&path).map_err(|error| ChoreFailure::io("read", &path, &error))
}
