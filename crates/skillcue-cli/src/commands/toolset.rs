//! `skillcue toolset setup`: packages that toolsets import.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::json;
use skillcue_toolset::packages::{LOCK, PACKAGES, pinned};

use crate::Outcome;
use crate::context::Context;
use crate::error::CliError;
use crate::progress::ProgressIndicator;
use crate::report::Printout;

const AFTER: &str = "\
Examples:
  skillcue toolset setup             installs zod, once, for all skills
  skillcue toolset setup --force     installs it again

A toolset with plain JSON Schemas needs none of this. One that imports `zod` takes it from the skill's own
node_modules, else from the folder that this command fills through npm, with pinned versions and without
running any install script.";

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: ToolsetCommand,
}

#[derive(Debug, clap::Subcommand)]
enum ToolsetCommand {
    /// Installs the packages that toolsets import: zod
    #[command(after_help = crate::cli::footer(AFTER))]
    Setup(SetupArgs),
}

#[derive(Debug, clap::Args)]
struct SetupArgs {
    /// Install again what is there already
    #[arg(long)]
    force: bool,
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<Outcome, CliError> {
    let ToolsetCommand::Setup(setup) = &args.command;
    let dir = packages(context)?.ok_or_else(|| {
        CliError::failure("no_home", "there is no directory to install into").help("set HOME or XDG_DATA_HOME")
    })?;
    // Written last, so it is there only after a complete installation.
    let stamp = dir.join("installed.json");
    let has_all = pinned().iter().all(|(name, _)| dir.join("node_modules").join(name).join("package.json").is_file());
    let is_there = !setup.force && has_all && std::fs::read_to_string(&stamp).is_ok_and(|installed| installed == LOCK);
    if !is_there {
        install(&dir, context)?;
        write(&stamp, LOCK)?;
    }
    let names = pinned();
    context.report(Outcome::Done, &json!({"dir": dir, "installed": !is_there, "packages": names}), || {
        let listed: Vec<String> = names.iter().map(|(name, version)| format!("{name} {version}")).collect();
        let done = if is_there { "is there already" } else { "is installed" };
        Printout::of_remark(format!("{} {done}, in {}", listed.join(", "), context.short_path(&dir)))
    })
}

/// Returns the user's directory of packages for toolsets, whether it is filled or not.
pub(crate) fn packages(context: &Context) -> Result<Option<PathBuf>, CliError> {
    Ok(context.environment()?.data("toolsets"))
}

fn install(dir: &Path, context: &Context) -> Result<(), CliError> {
    let npm = context.environment()?.path.iter().map(|dir| dir.join("npm")).find(|npm| npm.is_file());
    let npm = npm.ok_or_else(|| {
        CliError::failure("npm_not_found", "there is no npm on the PATH")
            .help("install Node.js (https://nodejs.org), or put `zod` into the skill's own node_modules")
    })?;
    std::fs::create_dir_all(dir).map_err(|error| CliError::write(dir, &error))?;
    write(&dir.join("package.json"), PACKAGES)?;
    write(&dir.join("package-lock.json"), LOCK)?;
    let progress = ProgressIndicator::spinner("installing packages through npm");
    // No script of a package runs: what it brings is only ever evaluated in the sandbox.
    let quietly = ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];
    let output = Command::new(npm).args(quietly).current_dir(dir).stdin(Stdio::null()).output();
    drop(progress);
    let output = output.map_err(|error| {
        CliError::failure("npm", format!("npm could not be started: {}", skillcue_base::os_message(&error)))
    })?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(CliError::failure("npm", format!("npm could not install the packages: {said}"))
        .help("check the network and the registry that npm is set up with, then run it again"))
}

fn write(path: &Path, text: &str) -> Result<(), CliError> {
    skillcue_base::replace_file(path, [text.as_bytes()]).map_err(|error| CliError::write(path, &error))
}
