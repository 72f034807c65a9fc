//! Hostile samples for every rule, look-alikes that are clean, ways to hide, and what reports look like.

#![expect(clippy::unwrap_used, reason = "a test that cannot set itself up has failed")]

mod agents;
mod clean;
mod comments;
mod compiled;
mod encoded;
mod evasion;
mod fetch;
mod languages;
mod metadata;
mod report;
mod samples;
mod secrecy;
mod tree;
mod unicode;

use std::path::Path;

use skillcue_audit::{Audit, Finding, Severity, audit};

/// The audit of a directory with one file.
fn of_file(name: &str, bytes: impl AsRef<[u8]>) -> Audit {
    let dir = tempfile::tempdir().unwrap();
    write(&dir.path().join(name), bytes);
    audit(dir.path())
}

fn write(path: &Path, bytes: impl AsRef<[u8]>) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, bytes).unwrap();
}

/// Findings as one line each.
fn lines(audit: &Audit) -> Vec<String> {
    audit.findings.iter().map(line).collect()
}

fn line(finding: &Finding) -> String {
    let Finding { rule, path, line, column, message, excerpt } = finding;
    format!("{} {} {}:{line}:{column} {message} | {excerpt}", rule.severity, rule.id, path.display())
}

fn high(audit: &Audit) -> Vec<String> {
    audit.findings.iter().filter(|finding| finding.rule.severity == Severity::High).map(line).collect()
}

fn find<'a>(audit: &'a Audit, rule: &str) -> Option<&'a Finding> {
    audit.findings.iter().find(|finding| finding.rule.id == rule)
}
