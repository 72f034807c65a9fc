//! `skillcue lint`: style, and repair of broken YAML.

use std::fmt::Write as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Component, Path, PathBuf};
use std::sync::Mutex;

use skillcue::catalog::{FileError, SkillDir, SkillFile};
use skillcue::format::{Code, FileKind, Severity};
use skillcue::{Diagnostic, Source};
use skillcue_format::{Edit, Parsed, Span};

use crate::commands::validate::{CheckJson, FixedFile, YamlRepair, check_all};
use crate::context::Context;
use crate::diagnostics::{Detail, print_findings, tally};
use crate::error::CliError;
use crate::progress::ProgressIndicator;
use crate::skill_file::{self, Targets, dir_name, file_of};
use crate::terminal::{paint, style};
use crate::{Outcome, text};
use skillcue_base::{lock, rewrite_file};

const AFTER: &str = "\
Examples:
  skillcue lint                 every skill of the project
  skillcue lint skills/pdf      one skill, or all below a directory
  skillcue lint --fix           repair broken YAML, and change nothing else

It exits with 1 if there is an error or a warning; suggestions are only shown.
With --json it prints {valid, diagnostics: [{path, line, column, code, severity, message, help}]},
where `valid` says that there is neither error nor warning, and with --fix also
fixed: [{path, changes: [{line, column, message}]}].";

#[derive(Debug, clap::Args)]
#[command(after_help = crate::cli::footer(AFTER))]
pub(crate) struct Args {
    /// Skills, SKILL.md files or directories of skills; without any, those of the project
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Write the repair of broken YAML into the file, and touch nothing else
    #[arg(long)]
    fix: bool,
}

/// Held while a file is written in place.
static IN_PLACE: Mutex<()> = Mutex::new(());

/// The result of linting one file.
#[derive(Debug, Default)]
struct LintResult {
    diagnostics: Vec<Diagnostic>,
    fixed: Option<FixedFile>,
    failure: Option<CliError>,
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<Outcome, CliError> {
    let Targets { files, mut diagnostics } =
        if args.paths.is_empty() { targets_of_project(context)? } else { Targets::of(&args.paths) };
    let progress = ProgressIndicator::bar("reading skills", files.len());
    let linted = check_all(&files, |path| {
        let linted = lint(path, args.fix);
        progress.step();
        linted
    });
    drop(progress);
    let mut fixed = Vec::new();
    let mut failures = Vec::new();
    for mut linted in linted {
        diagnostics.append(&mut linted.diagnostics);
        fixed.extend(linted.fixed);
        failures.extend(linted.failure);
    }
    diagnostics.sort();
    let valid = diagnostics.iter().all(|found| found.severity == Severity::Info);
    // One is enough to say: they tend to have the same reason.
    let failure = failures.into_iter().next();
    let document = CheckJson { valid, diagnostics: &diagnostics, fixed: args.fix.then_some(&fixed[..]) };
    let reported = match failure {
        // The one document is then that of the failure.
        Some(_) if context.json() => Ok(Outcome::Done),
        _ => context.report(Outcome::of(valid), &document, || {
            print_findings(context, &diagnostics.iter().collect::<Vec<_>>(), Detail::Full);
            verdict(context, args, &files, &fixed, &diagnostics)
        }),
    };
    failure.map_or(reported, Err)
}

/// Returns the skill files that belong to the project, or were named for this run. The user's own, plugins' and bundled
/// skills are not the project's business.
fn targets_of_project(context: &Context) -> Result<Targets, CliError> {
    let skills = context.skills()?;
    let ours = |source: Source| matches!(source, Source::Inline | Source::Project);
    Ok(Targets::of_catalog(&skills.catalog(), &ours, &context.host()?.roots(&ours)))
}

fn lint(path: &Path, fix: bool) -> LintResult {
    let kind = file_of(path).map_or(FileKind::Markdown, SkillFile::kind);
    let mut linted = LintResult::default();
    // A file of several names may be in work under another one: it must not be read while it is written in place.
    let several_names = fix && path.metadata().is_ok_and(|metadata| metadata.nlink() > 1);
    let alone = several_names.then(|| lock(&IN_PLACE));
    let mut bytes = match skill_file::read(path) {
        Ok(bytes) => bytes,
        Err(found) => {
            linted.diagnostics.push(*found);
            return linted;
        }
    };
    if fix {
        let parsed = Parsed::of(&bytes, kind);
        // A file that is still no skill once it is repaired was not understood: better left to its author.
        if !parsed.edits.is_empty() && parsed.manifest.is_some() {
            let repaired = parsed.repaired(&bytes);
            match rewrite_file(path, &repaired) {
                Ok(()) => {
                    let text = String::from_utf8_lossy(&bytes);
                    let changes = parsed.edits.iter().map(|edit| change(&text, edit)).collect();
                    linted.fixed = Some(FixedFile { path: path.to_path_buf(), changes });
                    bytes = repaired;
                }
                Err(error) => linted.failure = Some(CliError::write(path, &error)),
            }
        }
    }
    drop(alone);
    let dir = path.parent().and_then(|dir| SkillDir::open(dir_name(path), dir).ok());
    let exists = |target: &str| dir.as_ref().is_some_and(|dir| is_there(dir, target));
    linted.diagnostics = skillcue_format::lint(&bytes, kind, &exists).into_iter().map(|found| found.at(path)).collect();
    linted
}

fn change(text: &str, edit: &Edit) -> YamlRepair {
    let Span { line, column, .. } = Span::of(text, edit.at..edit.at, 1);
    YamlRepair { line, column, message: edit.why }
}

/// Returns whether a link of a body leads to something in the skill's directory.
fn is_there(dir: &SkillDir, target: &str) -> bool {
    // One that climbs out is not in there; asking would be logged as an attempt to get out.
    let stays = Path::new(target).components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    stays && !matches!(dir.open_file(target), Err(ref error) if !matches!(error, FileError::NotAFile { .. }))
}

fn verdict(
    context: &Context,
    args: &Args,
    files: &[PathBuf],
    fixed: &[FixedFile],
    diagnostics: &[Diagnostic],
) -> String {
    let mut out = String::new();
    for FixedFile { path, changes } in fixed {
        let shown = context.short_path(path);
        for change in changes {
            let place = format!("{shown}:{}:{}", change.line, change.column);
            let _ = writeln!(out, "{} {place}: {}", paint(style::GOOD, "fixed"), change.message);
        }
    }
    let checked = text::count(files.len(), "skill");
    if files.is_empty() && diagnostics.is_empty() {
        let _ = writeln!(out, "no skills to check; {} makes one", paint(style::COMMAND, "skillcue new NAME"));
    } else if diagnostics.is_empty() {
        let _ = writeln!(out, "{} {checked}, no findings", paint(style::GOOD, "✓"));
    } else {
        let wanting = diagnostics.iter().any(|found| found.severity != Severity::Info);
        let sign = if wanting { paint(style::BAD, "✗") } else { paint(style::GOOD, "✓") };
        let _ = writeln!(out, "{sign} {checked}: {}", tally(diagnostics));
    }
    if !args.fix && diagnostics.iter().any(|found| found.code == Code::YamlRepaired) {
        let _ = writeln!(out, "{} repairs the YAML", paint(style::COMMAND, "skillcue lint --fix"));
    }
    out
}
