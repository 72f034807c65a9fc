//! What a manifest asks for, taken together.

use std::path::Path;

use skillfold_catalog::Shown;
use skillfold_format::{FileKind, Parsed, Permissions};

use super::Finding;
use super::rules::WIDE_PERMISSIONS;

/// Whether the file has a manifest.
pub(super) fn is_manifest(path: &Path) -> Option<FileKind> {
    let name = path.file_name()?.to_str()?;
    match name {
        "SKILL.md" | "skill.md" => Some(FileKind::Markdown),
        "SKILL.yaml" | "SKILL.yml" => Some(FileKind::Yaml),
        _ => None,
    }
}

/// What the manifest asks for that is much.
pub(super) fn look(path: &Path, bytes: &[u8], kind: FileKind, found: &mut Vec<Finding>) {
    let Some(manifest) = Parsed::of(bytes, kind).manifest else { return };
    let Some(asked) = manifest.permissions() else { return };
    let (line, column) = place(bytes);
    for message in wide(asked) {
        let excerpt = Shown(&asked.to_string()).to_string();
        found.push(Finding { rule: &WIDE_PERMISSIONS, path: path.to_owned(), line, column, message, excerpt });
    }
}

fn wide(asked: &Permissions) -> Vec<String> {
    let mut messages = Vec::new();
    let secrets: Vec<&str> = asked.env.iter().map(AsRef::as_ref).filter(|name| is_secret(name)).collect();
    if asked.network && !secrets.is_empty() {
        messages
            .push(format!("asks for the network and for {}, which looks like a secret", Shown(&secrets.join(", "))));
    }
    for (doing, paths) in [("reading", &asked.read), ("writing", &asked.write)] {
        for path in paths.iter().map(AsRef::as_ref).filter(|path| is_wide(path)) {
            messages.push(format!("asks for {doing} {}", Shown(path)));
        }
    }
    messages
}

fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    ["KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL", "AUTH", "COOKIE"]
        .iter()
        .any(|word| name.contains(word))
        || name == "*"
}

/// The root, the home directory, those of the system, and where credentials are.
fn is_wide(path: &str) -> bool {
    let path = path.trim_end_matches(['/', '*']);
    let credentials = ["/.ssh", "/.aws", "/.gnupg", "/.config", "/.kube", "/.docker"];
    matches!(path, "" | "~" | "$HOME" | "/home" | "/root" | "/etc" | "/usr" | "/var" | "/Users" | ".." | "../..")
        || credentials.iter().any(|end| path.ends_with(end))
        || path.strip_prefix("/home/").or_else(|| path.strip_prefix("/Users/")).is_some_and(|rest| !rest.contains('/'))
        || path.split('/').filter(|part| *part == "..").count() >= 2
}

/// Where `permissions` stands.
fn place(bytes: &[u8]) -> (usize, usize) {
    let line = bytes.split(|byte| *byte == b'\n').position(|line| line.starts_with(b"permissions"));
    (line.map_or(1, |line| line + 1), 1)
}
