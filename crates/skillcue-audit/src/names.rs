//! Checks the names of files.

use std::path::Path;

use super::Rule;
use super::hidden::is_invisible;
use super::rules::{AUTORUN_FILE, HIDING_NAME, OFFICE_MACROS};

/// Returns the findings about the name of the file or directory at `path`.
pub(super) fn suspicions(path: &Path, is_file: bool) -> Vec<(&'static Rule, String)> {
    let mut found = Vec::new();
    let name = path.file_name().unwrap_or_default();
    match name.to_str() {
        None => found.push((&HIDING_NAME, "the name is not UTF-8".to_owned())),
        Some(name) => {
            if let Some(why) = deception(name, is_file) {
                found.push((&HIDING_NAME, why.to_owned()));
            }
        }
    }
    if is_file && let Some(when) = autorun_occasion(path) {
        found.push((&AUTORUN_FILE, format!("runs {when}")));
    }
    if is_file && has_macros(path) {
        found.push((&OFFICE_MACROS, "a document of a kind that has macros".to_owned()));
    }
    found
}

/// Kinds of office documents and add-ins that exist for their macros.
const MACROS: [&str; 9] = ["docm", "dotm", "xlsm", "xltm", "xlam", "pptm", "potm", "ppam", "ppsm"];

/// Returns whether a file's extension is that of a document with macros.
pub(super) fn has_macros(path: &Path) -> bool {
    let extension = path.extension().and_then(|extension| extension.to_str()).map(str::to_ascii_lowercase);
    extension.is_some_and(|extension| MACROS.contains(&extension.as_str()))
}

/// Extensions that people trust.
const HARMLESS: [&str; 17] = [
    "txt", "md", "pdf", "png", "jpg", "jpeg", "gif", "doc", "docx", "xls", "xlsx", "csv", "mp3", "mp4", "html", "pptx",
    "log",
];
/// Extensions of files that run.
const RUNS: [&str; 19] = [
    "exe", "scr", "bat", "cmd", "com", "vbs", "js", "sh", "bash", "ps1", "jar", "msi", "app", "command", "lnk", "pif",
    "hta", "py", "desktop",
];

/// Returns how a name looks like something else.
fn deception(name: &str, is_file: bool) -> Option<&'static str> {
    if name.starts_with(char::is_whitespace) || name.ends_with(char::is_whitespace) {
        return Some("the name begins or ends with a blank");
    }
    if name.chars().any(|c| is_invisible(c) && !matches!(c, '\u{fe0f}' | '\u{200d}' | '\u{200c}')) {
        return Some("the name has invisible or reversing characters");
    }
    if name.chars().any(char::is_control) {
        return Some("the name has control characters");
    }
    if name.contains('\\') {
        return Some("the name has a backslash, which some systems take for a separator");
    }
    if name.chars().all(|c| c == '.') {
        return Some("the name is nothing but dots");
    }
    let mut parts = name.rsplit('.').map(str::to_ascii_lowercase);
    let (last, second) = (parts.next()?, parts.next()?);
    let doubled = parts.next().is_some() && HARMLESS.contains(&second.trim_end()) && RUNS.contains(&last.as_str());
    (is_file && doubled).then_some("the name ends like a document, then like a program")
}

/// Returns the occasion on which a tool runs a file of this name without a command.
fn autorun_occasion(path: &Path) -> Option<&'static str> {
    let path = path.to_str()?;
    let name = path.rsplit('/').next()?;
    let lower = name.to_ascii_lowercase();
    let below = |dir: &str| path.starts_with(&format!("{dir}/")) || path.contains(&format!("/{dir}/"));
    let is = |end: &str| path == end || path.ends_with(&format!("/{end}"));
    if below(".git/hooks") && !lower.ends_with(".sample") {
        return Some("as a git hook");
    }
    if below(".husky") && !below(".husky/_") && !lower.contains('.') {
        return Some("as a git hook, once husky is installed");
    }
    if lower.strip_suffix(".pth").is_some() || lower == "sitecustomize.py" || lower == "usercustomize.py" {
        return Some("whenever Python starts, if it lies where Python looks");
    }
    match lower.as_str() {
        "conftest.py" => return Some("whenever pytest runs here"),
        ".envrc" => return Some("when a user enters the directory, through direnv"),
        "autorun.inf" | "desktop.ini" => return Some("when the directory is opened on Windows"),
        ".bashrc" | ".bash_profile" | ".profile" | ".zshrc" | ".zshenv" | ".zprofile" | ".bash_login" => {
            return Some("when a shell starts in this home directory");
        }
        ".pre-commit-config.yaml" => return Some("its hooks before a commit, once pre-commit is installed"),
        _ => {}
    }
    if is(".vscode/tasks.json") || is(".vscode/settings.json") || is(".vscode/launch.json") {
        return Some("tasks when the directory is opened in an editor");
    }
    if is(".devcontainer/devcontainer.json") || is(".devcontainer.json") {
        return Some("commands when the directory is opened in a container");
    }
    if is("hooks/hooks.json") {
        return Some("commands on an agent's events, once the plugin is enabled");
    }
    if is(".claude/settings.json") || is(".claude/settings.local.json") || is(".cursor/hooks.json") {
        return Some("commands on an agent's events, if it has hooks");
    }
    if is(".mcp.json") || is(".cursor/mcp.json") {
        return Some("servers when an agent opens the directory or the plugin is enabled");
    }
    None
}
