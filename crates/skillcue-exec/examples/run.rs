//! Runs one script of a skill in the sandbox and prints what came of it, as JSON:
//! `cargo run -p skillcue-exec --example run -- SKILL_DIR SCRIPT [ARGUMENT…]`. Allows whatever the skill asks for.

use std::io::Write;

use skillcue_base::ErrorInfo as _;
use skillcue_catalog::SkillDir;
use skillcue_catalog::consent::Scope;
use skillcue_exec::{Launcher, RunRequest, Runner, RunnerOptions, helper};
use skillcue_format::{FileKind, Parsed};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    helper::run_if_asked(None);
    let mut arguments = std::env::args().skip(1);
    let (dir, script) = arguments.next().zip(arguments.next()).ok_or("a skill's directory and a script are needed")?;
    let dir = SkillDir::open("example", dir.as_ref())?;
    let manifest = Parsed::of(&dir.read("SKILL.md", 1 << 20)?, FileKind::Markdown).manifest.ok_or("no manifest")?;
    let options = RunnerOptions {
        path: std::env::var_os("PATH").unwrap_or_default(),
        environment: std::env::vars_os().collect(),
        packages: Some(std::env::temp_dir().join("skillcue-example-packages")),
        ..RunnerOptions::default()
    };
    let runner = Runner::new(Launcher::new(std::env::current_exe()?), options);
    let arguments: Vec<String> = arguments.collect();
    let request = RunRequest { arguments: &arguments, ..RunRequest::new(&dir, &manifest, &script) };
    if let Some(asked) = runner.missing_consent(&request)? {
        runner.consent().remember(&asked, Scope::Session)?;
    }
    let text = match runner.run(&request) {
        Ok(result) => serde_json::to_string_pretty(&result)?,
        Err(error) => format!("{}: {error}\n{}", error.code(), error.hint().unwrap_or_default()),
    };
    writeln!(std::io::stdout(), "{text}")?;
    Ok(())
}
