//! Findings of audits as SARIF 2.1.0, which code hosts and editors read.

use std::borrow::Cow;
use std::path::{Component, Path, PathBuf};

use serde_json::{Value, json};
use skillcue_base::Digester;
use skillcue_format::Diagnostic;

use crate::{Audit, AuditSeverity, RULES, Rule};

/// Returns the findings of several audits as one SARIF log with one run.
///
/// Each audit comes with the directory it is of; a finding's address is that directory and the file below it, relative
/// if the directory is.
///
/// ```
/// use std::path::PathBuf;
/// use skillcue_audit::{Audit, sarif};
///
/// let log = sarif(&[(PathBuf::from("skills/pdf"), Audit::default())]);
/// assert_eq!(log["version"], "2.1.0");
/// assert_eq!(log["runs"][0]["tool"]["driver"]["name"], "skillcue");
/// ```
pub fn sarif(audits: &[(PathBuf, Audit)]) -> Value {
    let mut counts = std::collections::BTreeMap::new();
    let results: Vec<Value> = audits
        .iter()
        .flat_map(|(dir, audit)| audit.findings.iter().map(move |finding| (dir, finding)))
        .map(|(dir, finding)| result(dir, finding, &mut counts))
        .collect();
    json!({
        "$schema": "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "skillcue",
                "semanticVersion": env!("CARGO_PKG_VERSION"),
                "rules": RULES.iter().map(|rule| descriptor(rule)).collect::<Vec<_>>(),
            } },
            "columnKind": "unicodeCodePoints",
            "results": results,
        }],
    })
}

fn descriptor(rule: &Rule) -> Value {
    json!({
        "id": rule.id,
        "shortDescription": { "text": rule.title },
        "fullDescription": { "text": rule.explanation },
        "help": { "text": format!("{} {}", rule.explanation, rule.help) },
        "defaultConfiguration": { "level": level(rule.severity) },
        "properties": { "tags": ["security"], "security-severity": score(rule.severity) },
    })
}

/// The number of findings of each fingerprint so far.
type FingerprintCounts = std::collections::BTreeMap<String, usize>;

fn result(dir: &Path, finding: &Diagnostic, counts: &mut FingerprintCounts) -> Value {
    let uri = uri(&dir.join(finding.path.as_deref().unwrap_or(Path::new(""))));
    let mut physical = json!({ "artifactLocation": { "uri": uri } });
    if let Some(region) = region(finding) {
        physical["region"] = region;
    }
    let fingerprint = fingerprint(&uri, finding);
    let count = counts.entry(fingerprint.clone()).or_default();
    *count += 1;
    let index = RULES.iter().position(|rule| rule.id == finding.code.as_str());
    json!({
        "ruleId": finding.code.as_str(),
        "ruleIndex": index,
        "level": level(AuditSeverity::of(finding)),
        "message": { "text": finding.message },
        "locations": [{ "physicalLocation": physical }],
        "partialFingerprints": { "skillcue/v1": format!("{fingerprint}:{count}") },
    })
}

/// Returns the region of a finding in its file; none for the file as a whole.
fn region(finding: &Diagnostic) -> Option<Value> {
    let snippet = json!({ "text": finding.excerpt });
    let column = finding.column().unwrap_or(0);
    match (finding.line().unwrap_or(0), finding.excerpt.is_none()) {
        (0, true) => None,
        (0, false) => Some(json!({ "byteOffset": column, "byteLength": 0, "snippet": snippet })),
        (line, true) => Some(json!({ "startLine": line, "startColumn": column.max(1) })),
        (line, false) => Some(json!({ "startLine": line, "startColumn": column.max(1), "snippet": snippet })),
    }
}

/// Returns a digest that stays equal for a finding when lines are added above it.
fn fingerprint(uri: &str, finding: &Diagnostic) -> String {
    let mut digester = Digester::default();
    for part in [finding.code.as_str(), uri, finding.excerpt.as_deref().unwrap_or_default()] {
        digester.update(part).update([0]);
    }
    digester.finish().to_string()[..32].to_owned()
}

fn level(severity: AuditSeverity) -> &'static str {
    match severity {
        AuditSeverity::High => "error",
        AuditSeverity::Medium => "warning",
        AuditSeverity::Low => "note",
    }
}

/// Returns the score on the scale of code hosts: 0 to 10, high from 7 on.
fn score(severity: AuditSeverity) -> &'static str {
    match severity {
        AuditSeverity::High => "8.0",
        AuditSeverity::Medium => "5.0",
        AuditSeverity::Low => "2.0",
    }
}

/// Returns a path as a URI reference: relative ones stay relative, each part percent-encoded.
fn uri(path: &Path) -> String {
    let mut uri = String::new();
    for part in path.components() {
        match part {
            Component::RootDir => uri.push_str("file://"),
            Component::CurDir | Component::Prefix(_) => continue,
            Component::ParentDir | Component::Normal(_) => {}
        }
        if let Component::RootDir = part {
            continue;
        }
        if !uri.is_empty() {
            uri.push('/');
        }
        uri.push_str(&encode(part.as_os_str().as_encoded_bytes()));
    }
    if uri.is_empty() { ".".to_owned() } else { uri }
}

fn encode(part: &[u8]) -> Cow<'_, str> {
    use std::fmt::Write as _;
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-._~".contains(byte);
    if let (true, Ok(text)) = (part.iter().all(plain), std::str::from_utf8(part)) {
        return Cow::Borrowed(text);
    }
    let mut text = String::new();
    for byte in part {
        if plain(byte) {
            text.push(char::from(*byte));
        } else {
            let _ = write!(text, "%{byte:02X}");
        }
    }
    Cow::Owned(text)
}
