//! `skillcue validate`: the open standard's rules, strictly.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use rayon::prelude::*;
use serde::Serialize;
use skillcue::Diagnostic;
use skillcue::catalog::SkillFile;
use skillcue::format::Code;

use crate::context::Context;
use crate::diagnostics::{Detail, print_findings, tally};
use crate::error::CliError;
use crate::progress::ProgressIndicator;
use crate::skill_file::{self, Targets, dir_name, file_of};
use crate::terminal::{paint, style};
use crate::{Outcome, text};

const AFTER: &str = "\
Examples:
  skillcue validate skills/pdf       one skill
  skillcue validate skills           all below
  skillcue validate pdf/SKILL.md     the same as its directory

The rules are those of agentskills.io. Exit code 1: there is an error.
With --json it prints {valid, diagnostics: [{path, line, column, code, severity, message, help}]}.";

#[derive(Debug, clap::Args)]
#[command(after_help = crate::cli::footer(AFTER))]
pub(crate) struct Args {
    /// A skill's directory, a SKILL.md, or a directory of skills
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
}

/// The document that `validate` and `lint` print.
#[derive(Serialize)]
pub(crate) struct CheckJson<'c> {
    pub(crate) valid: bool,
    #[serde(serialize_with = "crate::hints::serialize")]
    pub(crate) diagnostics: &'c [Diagnostic],
    /// The files that `lint --fix` has repaired.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) fixed: Option<&'c [FixedFile]>,
}

/// A file that was repaired.
#[derive(Debug, Serialize)]
pub(crate) struct FixedFile {
    pub(crate) path: PathBuf,
    pub(crate) changes: Vec<YamlRepair>,
}

#[derive(Debug, Serialize)]
pub(crate) struct YamlRepair {
    pub(crate) line: u32,
    pub(crate) column: u32,
    pub(crate) message: &'static str,
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<Outcome, CliError> {
    let Targets { files, mut diagnostics } = Targets::of(&args.paths);
    let progress = ProgressIndicator::bar("checking skills", files.len());
    let found = check_all(&files, |path| {
        let found = check(path);
        progress.step();
        found
    });
    drop(progress);
    let wrong = found.iter().filter(|found| found.iter().any(Diagnostic::is_error)).count();
    diagnostics.extend(found.into_iter().flatten());
    diagnostics.sort();
    let valid = !diagnostics.iter().any(Diagnostic::is_error);
    context.report(Outcome::of(valid), &CheckJson { valid, diagnostics: &diagnostics, fixed: None }, || {
        print_findings(context, &diagnostics.iter().collect::<Vec<_>>(), Detail::Full);
        verdict(args, &files, wrong, &diagnostics)
    })
}

/// Checks every file, on all cores if there are many.
pub(crate) fn check_all<T: Send>(files: &[PathBuf], check: impl Fn(&Path) -> T + Sync) -> Vec<T> {
    if files.len() < 16 {
        return files.iter().map(|path| check(path)).collect();
    }
    files.par_iter().map(|path| check(path)).collect()
}

fn check(path: &Path) -> Vec<Diagnostic> {
    let markdown = path.with_file_name(SkillFile::Markdown.name());
    let path = if file_of(path) == Some(SkillFile::Yaml) {
        if !markdown.exists() {
            let message = "the open standard knows no `SKILL.yaml`, and there is no `SKILL.md` beside it";
            let found = Diagnostic::new(Code::NoSkillFile, message)
                .with_help("describe the skill in a SKILL.md; `skillcue lint` checks a SKILL.yaml");
            return vec![found.at(path)];
        }
        &markdown
    } else {
        path
    };
    match skill_file::read(path) {
        Ok(bytes) => {
            skillcue_format::validate(&bytes, dir_name(path)).into_iter().map(|found| found.at(path)).collect()
        }
        Err(found) => vec![*found],
    }
}

fn verdict(args: &Args, files: &[PathBuf], wrong: usize, diagnostics: &[Diagnostic]) -> String {
    let valid = !diagnostics.iter().any(Diagnostic::is_error);
    let mut verdict = match files {
        [one] if valid => format!("{} {} is valid", paint(style::GOOD, "✓"), text::one_line(dir_name(one))),
        [one] if wrong == 1 => format!("{} {} is not valid", paint(style::BAD, "✗"), text::one_line(dir_name(one))),
        all if valid => format!("{} {}, all valid", paint(style::GOOD, "✓"), counted(all.len())),
        [] => format!("{} nothing to check", paint(style::BAD, "✗")),
        all => format!("{} {} of {} are not valid", paint(style::BAD, "✗"), text::thousands(wrong), counted(all.len())),
    };
    if !diagnostics.is_empty() {
        let _ = write!(verdict, ": {}", tally(diagnostics));
    }
    verdict.push('\n');
    if diagnostics.iter().any(|found| found.code == Code::YamlRepaired) {
        let paths: Vec<String> = args.paths.iter().map(|path| text::one_line(&path.to_string_lossy())).collect();
        let command = paint(style::COMMAND, format_args!("skillcue lint --fix {}", paths.join(" ")));
        let _ = writeln!(verdict, "{command} repairs the YAML");
    }
    verdict
}

fn counted(number: usize) -> String {
    text::count(number, "skill")
}
