//! Hostile samples for every rule, look-alikes that are clean, ways to hide, and the form of reports.

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

use skillcue_audit::{Audit, AuditSeverity, audit};
use skillcue_format::Diagnostic;

/// Audits a directory with one file.
fn of_file(name: &str, bytes: impl AsRef<[u8]>) -> Audit {
    let dir = tempfile::tempdir().unwrap();
    write(&dir.path().join(name), bytes);
    audit(dir.path())
}

fn write(path: &Path, bytes: impl AsRef<[u8]>) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, bytes).unwrap();
}

/// Returns findings as one line each.
fn lines(audit: &Audit) -> Vec<String> {
    audit.findings.iter().map(line).collect()
}

/// Returns line and column as reports have them: 0 where there are none.
fn place(finding: &Diagnostic) -> (usize, usize) {
    (finding.line().unwrap_or(0) as usize, finding.column().unwrap_or(0) as usize)
}

fn line(finding: &Diagnostic) -> String {
    let (line, column) = place(finding);
    let (path, excerpt) = (finding.path.as_deref().unwrap(), finding.excerpt.as_deref().unwrap_or_default());
    let (severity, rule, message) = (AuditSeverity::of(finding), finding.code.as_str(), &finding.message);
    format!("{severity} {rule} {}:{line}:{column} {message} | {excerpt}", path.display())
}

fn high(audit: &Audit) -> Vec<String> {
    audit.findings.iter().filter(|finding| AuditSeverity::of(finding) == AuditSeverity::High).map(line).collect()
}

fn find<'a>(audit: &'a Audit, rule: &str) -> Option<&'a Diagnostic> {
    audit.findings.iter().find(|finding| finding.code.as_str() == rule)
}
