//! `skillcue audit`: every byte of every file of a skill, and what is suspicious about it.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use serde_json::{Value, json};
use skillcue::Diagnostic;
use skillcue_audit::{Audit, AuditSeverity, RULES, SkillText, audit, borrowed_descriptions, finding_json, sarif};
use skillcue_format::{FileKind, Parsed};

use crate::cli::words;
use crate::context::Context;
use crate::error::CliError;
use crate::progress::ProgressIndicator;
use crate::registries::finding_lines;
use crate::report::Printout;
use crate::skill_file::{self, Targets};
use crate::terminal::{paint, style};
use crate::{Outcome, text};
use skillcue_host::absolute;

const AFTER: &str = "\
Examples:
  skillcue audit                            every skill on this machine
  skillcue audit pdf ./downloads/skill      a skill by name, a directory
  skillcue audit ./skills --format sarif    for code scanning
  skillcue audit --rules                    what it looks for, and why

It reads every byte of every file, hidden ones and binaries included. Exit code 1 if something of high severity
was found; --strict: or medium.
With --json it prints {valid, audits: [{name, dir, files, bytes, findings: [{rule, severity, path, line, column,
message, excerpt, help}]}]}.";

#[derive(Debug, clap::Args)]
#[command(after_help = crate::cli::footer(AFTER))]
pub(crate) struct Args {
    /// Skills by name, or directories; every local skill without any
    what: Vec<String>,
    /// How to print it
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: AuditFormat,
    /// Only findings of at least this severity
    #[arg(long, value_name = "SEVERITY", default_value = "low", value_parser = words(SEVERITIES))]
    min: AuditSeverity,
    /// Count findings of medium severity as well
    #[arg(long)]
    strict: bool,
    /// Show the rules
    #[arg(long, conflicts_with = "what")]
    rules: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum AuditFormat {
    Text,
    Json,
    Sarif,
}

const SEVERITIES: &[(&str, AuditSeverity, &str)] =
    &[("low", AuditSeverity::Low, ""), ("medium", AuditSeverity::Medium, ""), ("high", AuditSeverity::High, "")];

/// A skill or directory to audit: its name as it is shown, and its directory.
struct AuditTarget {
    name: String,
    dir: PathBuf,
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<Outcome, CliError> {
    if args.rules {
        return rules(context);
    }
    let (audits, worst) = audit_all(targets(args, context)?, args.min);
    let limit = if args.strict { AuditSeverity::Medium } else { AuditSeverity::High };
    let valid = worst.is_none_or(|worst| worst < limit);
    let outcome = Outcome::of(valid);
    if args.format == AuditFormat::Sarif {
        let audits: Vec<(PathBuf, Audit)> =
            audits.into_iter().map(|(target, audit)| (context.relative(&target.dir), audit)).collect();
        return outcome.after_printing(context.print_json(&sarif(&audits)));
    }
    let document = document(valid, &audits);
    match args.format {
        AuditFormat::Json => outcome.after_printing(context.print_json(&document)),
        _ => context.report(outcome, &document, || printout(&audits)),
    }
}

/// Returns the document that `audit --json` prints about every skill on this machine.
pub(super) fn json(context: &Context) -> Result<Vec<u8>, CliError> {
    let (audits, worst) = audit_all(everything(context)?, AuditSeverity::Low);
    Ok(serde_json::to_vec(&document(worst.is_none_or(|worst| worst < AuditSeverity::High), &audits))?)
}

/// Audits targets: their findings of a severity, and the highest severity of any.
fn audit_all(targets: Vec<AuditTarget>, min: AuditSeverity) -> (Vec<(AuditTarget, Audit)>, Option<AuditSeverity>) {
    let progress = ProgressIndicator::bar("reading every byte", targets.len());
    let mut audits: Vec<(AuditTarget, Audit)> = Vec::new();
    let mut worst = None;
    for target in targets {
        let mut found = audit(&target.dir);
        progress.step();
        // Findings that are not shown count all the same.
        worst = worst.max(found.highest());
        found.findings.retain(|finding| AuditSeverity::of(finding) >= min);
        audits.push((target, found));
    }
    drop(progress);
    for (at, finding) in borrowed(&audits) {
        worst = worst.max(Some(AuditSeverity::of(&finding)));
        if AuditSeverity::of(&finding) >= min {
            audits[at].1.findings.push(finding);
        }
    }
    (audits, worst)
}

fn document(valid: bool, audits: &[(AuditTarget, Audit)]) -> Value {
    let row = |(target, audit): &(AuditTarget, Audit)| {
        json!({"name": target.name, "dir": target.dir.to_string_lossy(), "files": audit.files, "bytes": audit.bytes,
            "findings": audit.findings.iter().map(finding_json).collect::<Vec<_>>()})
    };
    json!({"valid": valid, "audits": audits.iter().map(row).collect::<Vec<_>>()})
}

/// Returns the findings about skills that repeat the descriptions of others among them, each with the position of its
/// target.
fn borrowed(audits: &[(AuditTarget, Audit)]) -> Vec<(usize, Diagnostic)> {
    let mut read: Vec<(usize, PathBuf, Vec<u8>)> = Vec::new();
    for (at, (target, _)) in audits.iter().enumerate() {
        for file in Targets::of(std::slice::from_ref(&target.dir)).files {
            // What cannot be read is a finding already.
            let Ok(bytes) = skill_file::read(&file) else { continue };
            let path = file.strip_prefix(&target.dir).map(Path::to_path_buf).unwrap_or(file);
            read.push((at, path, bytes));
        }
    }
    let parsed: Vec<Parsed<'_>> = read.iter().map(|(.., bytes)| Parsed::of(bytes, FileKind::Markdown)).collect();
    let mut places = Vec::new();
    let mut skills = Vec::new();
    for ((at, path, bytes), parsed) in read.iter().zip(&parsed) {
        let start = parsed.body.min(bytes.len());
        let (Some(manifest), Ok(body)) = (&parsed.manifest, std::str::from_utf8(&bytes[start..])) else { continue };
        let line = bytes[..start].split(|byte| *byte == b'\n').count();
        let (name, description) = (manifest.name().as_str(), manifest.description());
        places.push(*at);
        skills.push(SkillText { path, name, description, body, line });
    }
    let found = borrowed_descriptions(&skills).into_iter();
    found.map(|(skill, finding)| (places[skill], finding)).collect()
}

/// Returns the skills and directories to audit, in order.
fn targets(args: &Args, context: &Context) -> Result<Vec<AuditTarget>, CliError> {
    if args.what.is_empty() {
        return everything(context);
    }
    let mut targets = Vec::new();
    for what in &args.what {
        let path = absolute(what.as_ref());
        // The skill file means the skill.
        let path = if path.is_file() { path.parent().map(Path::to_path_buf).unwrap_or(path) } else { path };
        // Something with a slash is a directory; a bare word is a skill, unless there is none and it is a directory.
        let catalog =
            (!what.contains('/')).then(|| context.local_skills().map(|skills| skills.catalog())).transpose()?;
        if let Some(skill) = catalog.as_ref().and_then(|catalog| catalog.get(what)) {
            if skill.server().is_some() {
                return Err(CliError::failure("remote", format!("{what:?} is on a server, not on this machine"))
                    .help("`skillcue allow` shows what it would load"));
            }
            targets.push(AuditTarget { name: skill.name().to_owned(), dir: skill.dir() });
        } else if let Some((registry, _)) = context.registries()?.having(what) {
            let kind = registry.state().installed.get(what.as_str()).map(|installed| installed.kind);
            targets.extend(kind.map(|kind| AuditTarget { name: what.clone(), dir: registry.dir_of(kind, what) }));
        } else if path.is_dir() {
            targets.push(AuditTarget { name: what.trim_end_matches('/').to_owned(), dir: path });
        } else {
            return Err(CliError::failure("not_found", format!("there is no skill and no directory called {what:?}"))
                .help("`skillcue list` lists the skills"));
        }
    }
    Ok(targets)
}

/// Every skill on this machine, with those that cannot be used, and the whole of every plugin.
fn everything(context: &Context) -> Result<Vec<AuditTarget>, CliError> {
    let catalog = context.local_skills()?.catalog();
    let mut targets = Vec::new();
    let mut seen: BTreeSet<PathBuf> = BTreeSet::new();
    let plugins = context.settings()?.all_roots().filter_map(|root| Some((root.plugin.as_deref()?, &root.path)));
    for (name, root) in plugins {
        let plugin = root.ancestors().find(|dir| dir.join(".claude-plugin").is_dir()).unwrap_or(root);
        if plugin.is_dir() && seen.insert(plugin.to_path_buf()) {
            targets.push(AuditTarget { name: name.to_owned(), dir: plugin.to_path_buf() });
        }
    }
    let local = catalog.all().iter().filter(|skill| skill.server().is_none());
    let skills = local.map(|skill| AuditTarget { name: skill.name().to_owned(), dir: skill.dir() });
    let invalid = catalog.invalid().iter().filter_map(|invalid| {
        let dir = invalid.path.parent()?.to_path_buf();
        Some(AuditTarget { name: dir.file_name()?.to_string_lossy().into_owned(), dir })
    });
    for target in skills.chain(invalid) {
        if !target.dir.ancestors().any(|dir| seen.contains(dir)) {
            seen.insert(target.dir.clone());
            targets.push(target);
        }
    }
    Ok(targets)
}

fn printout(audits: &[(AuditTarget, Audit)]) -> Printout {
    let mut out = String::new();
    for (target, audit) in audits {
        for finding in &audit.findings {
            out.push_str(&finding_lines(&target.name, finding));
            out.push('\n');
        }
    }
    let all = || audits.iter().flat_map(|(_, audit)| &audit.findings);
    let counted = |severity| all().filter(|finding| AuditSeverity::of(finding) == severity).count();
    let found: Vec<String> = [AuditSeverity::High, AuditSeverity::Medium, AuditSeverity::Low]
        .into_iter()
        .map(|severity| (counted(severity), severity))
        .filter(|(number, _)| *number > 0)
        .map(|(number, severity)| format!("{number} {severity}"))
        .collect();
    let found = if found.is_empty() { "nothing found".to_owned() } else { found.join(", ") };
    // A directory may hold several skills, or none.
    let dirs: Vec<PathBuf> = audits.iter().map(|(target, _)| target.dir.clone()).collect();
    Printout::from(out).remark(format!(
        "{found}; {}, {}, {} read",
        text::count(Targets::of(&dirs).files.len(), "skill"),
        text::count(audits.iter().map(|(_, audit)| audit.files).sum::<usize>(), "file"),
        text::bytes(audits.iter().map(|(_, audit)| audit.bytes).sum())
    ))
}

fn rules(context: &Context) -> Result<Outcome, CliError> {
    let rows = RULES.iter().map(|rule| {
        json!({"id": rule.id, "severity": rule.severity.as_str(), "title": rule.title,
            "explanation": rule.explanation, "help": rule.help})
    });
    context.report(Outcome::Done, &rows.collect::<Vec<_>>(), || {
        let mut out = String::new();
        for rule in RULES {
            let _ = write!(
                out,
                "{}  {}\n  {}\n  {}\n",
                paint(style::NAME, rule.id),
                rule.severity,
                rule.explanation,
                paint(style::DIM, rule.help)
            );
        }
        out
    })
}
