//! Checks the permissions and texts of a manifest.

use std::path::Path;

use serde_json::Value;
use skillcue_base::{Shown, is_hidden};
use skillcue_format::{Diagnostic, FileKind, Parsed, Permissions};

use super::Rule;
use super::rules::{HIDDEN_METADATA, HIDDEN_UNICODE, KEYWORD_STUFFING, SHELL_ALLOWED, WIDE_PERMISSIONS};
use super::text::{Encoding, TextWindow};

/// The number of characters of stuffed metadata that are shown.
const MAX_EXCERPT: usize = 80;

/// The format of a file's metadata.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ManifestFormat {
    Skill(FileKind),
    /// That of a plugin or a marketplace.
    Json,
}

/// Returns the format of the manifest that a file has, if any.
pub(super) fn is_manifest(path: &Path) -> Option<ManifestFormat> {
    let name = path.file_name()?.to_str()?;
    match name {
        "SKILL.md" | "skill.md" => Some(ManifestFormat::Skill(FileKind::Markdown)),
        "SKILL.yaml" | "SKILL.yml" => Some(ManifestFormat::Skill(FileKind::Yaml)),
        "plugin.json" | "marketplace.json" => Some(ManifestFormat::Json),
        _ => None,
    }
}

/// Reports wide permissions, stuffed metadata, and hidden characters in the values.
pub(super) fn check(path: &Path, bytes: &[u8], kind: ManifestFormat, found: &mut Vec<Diagnostic>) {
    let mut add = |rule: &'static Rule, key: &str, message: String, excerpt: String| {
        let (line, column) = place(bytes, key);
        let place = super::place(line, column);
        found.push(Diagnostic { place, ..rule.found(path, message).with_excerpt(excerpt) });
    };
    let kind = match kind {
        ManifestFormat::Skill(kind) => kind,
        ManifestFormat::Json => {
            let said: Value = serde_json::from_slice(bytes).unwrap_or_default();
            hidden(&said, "", bytes, &mut add);
            return;
        }
    };
    let parsed = Parsed::of(bytes, kind);
    if let Some(said) = parsed.raw.as_ref().and_then(|raw| serde_json::to_value(raw).ok()) {
        hidden(&said, "", bytes, &mut add);
    }
    let Some(manifest) = parsed.manifest else { return };
    for stuffing in skillcue_format::stuffing(&manifest) {
        let triggers = manifest.triggers().keywords.iter().map(AsRef::as_ref).collect::<Vec<&str>>().join(", ");
        let stuffed = if stuffing.field == "triggers" { &triggers } else { manifest.description() };
        let excerpt: String = stuffed.chars().take(MAX_EXCERPT).collect();
        add(&KEYWORD_STUFFING, stuffing.field, stuffing.message, Shown(&excerpt).to_string());
    }
    if let Some(asked) = manifest.permissions() {
        for message in wide(asked) {
            add(&WIDE_PERMISSIONS, "permissions", message, Shown(&asked.to_string()).to_string());
        }
    }
    for tool in manifest.allowed_tools() {
        let (rule, what) = match tool {
            "*" => (&WIDE_PERMISSIONS, "tool"),
            "Bash" => (&SHELL_ALLOWED, "command"),
            _ if is_any_command(tool) => (&WIDE_PERMISSIONS, "command"),
            _ => continue,
        };
        let message = format!("allows every {what} without a question");
        add(rule, "allowed-tools", message, Shown(tool).to_string());
    }
}

/// Returns whether a tool is `Bash(*)` or an equivalent: a shell or an interpreter that runs anything it is given.
fn is_any_command(tool: &str) -> bool {
    let Some(command) = tool.strip_prefix("Bash(").and_then(|rest| rest.strip_suffix(')')) else { return false };
    let command = command.trim_end_matches(['*', ':', ' ']);
    matches!(command, "" | "sudo" | "sh" | "bash" | "zsh" | "sh -c" | "bash -c" | "zsh -c" | "eval" | "env" | "xargs")
}

/// Reports hidden characters in names, descriptions and other values. Escapes hide them in the file as well, so
/// the values count as they are decoded.
fn hidden(said: &Value, key: &str, bytes: &[u8], add: &mut dyn FnMut(&'static Rule, &str, String, String)) {
    match said {
        Value::String(text) if text.chars().any(is_hidden) => {
            let mut watched = TextWindow::new(Encoding::Bytes, false);
            watched.feed(text.as_bytes());
            watched.finish();
            for found in std::mem::take(&mut watched.hidden.found) {
                let excerpt = found.shown.escape_default().to_string();
                // Without an escape, the scan of every byte has reported it.
                let raw = found.shown.len() <= bytes.len()
                    && bytes.windows(found.shown.len().max(1)).any(|part| part == found.shown.as_bytes());
                if found.rule.id != HIDDEN_UNICODE.id {
                    add(&HIDDEN_METADATA, key, found.message, excerpt);
                } else if !raw {
                    add(&HIDDEN_UNICODE, key, format!("{}, written as an escape", found.message), excerpt);
                }
            }
        }
        Value::Array(list) => list.iter().for_each(|one| hidden(one, key, bytes, add)),
        Value::Object(map) => {
            for (inner, value) in map {
                hidden(&Value::from(inner.as_str()), inner, bytes, add);
                hidden(value, inner, bytes, add);
            }
        }
        _ => {}
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

/// Returns whether a path is the root, the home directory, one of the system, or one of credentials.
fn is_wide(path: &str) -> bool {
    let path = path.trim_end_matches(['/', '*']);
    let credentials = ["/.ssh", "/.aws", "/.gnupg", "/.config", "/.kube", "/.docker"];
    matches!(path, "" | "~" | "$HOME" | "/home" | "/root" | "/etc" | "/usr" | "/var" | "/Users" | ".." | "../..")
        || credentials.iter().any(|end| path.ends_with(end))
        || path.strip_prefix("/home/").or_else(|| path.strip_prefix("/Users/")).is_some_and(|rest| !rest.contains('/'))
        || path.split('/').filter(|part| *part == "..").count() >= 2
}

/// Returns the line and column of a key; the first line if the key is not found.
fn place(bytes: &[u8], key: &str) -> (usize, usize) {
    let is_key = |line: &[u8]| {
        let line = line.trim_ascii_start();
        let line = line.strip_prefix(b"\"").unwrap_or(line);
        !key.is_empty() && line.starts_with(key.as_bytes())
    };
    let line = bytes.split(|byte| *byte == b'\n').position(is_key);
    (line.map_or(1, |line| line + 1), 1)
}
