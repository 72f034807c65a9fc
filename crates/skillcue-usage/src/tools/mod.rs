//! Uses of skills' files by calls of tools, of any client: hooks and imports of transcripts have one rule.

mod commands;
mod options;
mod paths;
mod shell;

use serde_json::Value;
use skillcue::usage::UsageKind;

use commands::{CommandReader, joined_words};
use paths::is_relative;
pub use paths::{UsedFile, below_home};
pub(crate) use paths::{is_name, is_strict_name, kept_item, skill_file};

/// The number of files of one call that are looked at.
const MAX_FILES: usize = 32;
/// Arguments that are the path of the file that a tool reads, and lists of them.
const PATHS: [&str; 9] = [
    "file_path",
    "filePath",
    "path",
    "absolute_path",
    "target_file",
    "filename",
    "file",
    "notebook_path",
    "image_path",
];
const LISTS: [&str; 3] = ["paths", "files", "file_paths"];
/// Arguments that are a command, and the directory in which it runs.
const COMMANDS: [&str; 2] = ["command", "cmd"];
const DIRS: [&str; 6] = ["workdir", "working_directory", "cwd", "directory", "dir_path", "dir"];
/// Words in the names of tools that read a file, that run a command, and that do neither, whatever else is in the name.
const READING: [&str; 3] = ["read", "view", "cat"];
const RUNNING: [&str; 8] = ["bash", "shell", "sh", "zsh", "powershell", "exec", "terminal", "command"];
const OTHER: [&str; 14] = [
    "write", "edit", "create", "replace", "insert", "update", "delete", "patch", "move", "list", "search", "grep",
    "glob", "skill",
];

/// A use of a skill's file by a call of a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileUse {
    /// The kind: the skill was loaded, a file was read, or a script was run.
    pub kind: UsageKind,
    /// The file.
    pub file: UsedFile,
}

impl FileUse {
    /// Makes a use of a file of a skill; without an item, of the skill itself.
    pub(crate) fn of(kind: UsageKind, skill: &str, item: Option<String>) -> FileUse {
        FileUse { kind, file: UsedFile { skill: skill.to_owned(), item } }
    }
}

/// The way from a path to a file of a skill.
#[derive(Clone, Copy)]
pub struct FileLookup<'f> {
    /// Returns the file of a skill that a path leads to.
    pub at: &'f dyn Fn(&str) -> Option<UsedFile>,
    /// Whether `at` returns only files that are there. If not, fewer words of a command count as relative paths: a word may
    /// be anything, and the ledger keeps no text.
    pub are_checked: bool,
}

/// Returns the uses of skills' files that a call of a tool is, by the tool's name and its arguments; `dir` is the directory
/// in which the client runs.
///
/// A tool that reads a file uses the one in its path. A command uses the files that it runs or shows, by their place in it:
/// the program, the script of an interpreter, what `cat`, `grep` and the like show, and what `cp` copies. Everything else
/// uses none: tools that write, edit, search or list, and commands that delete, write, change, archive or talk.
///
/// ```
/// use serde_json::json;
/// use skillcue::usage::UsageKind;
/// use skillcue_usage::{UsedFile, FileLookup, file_uses};
///
/// let at = |path: &str| {
///     let item = path.strip_prefix("/skills/pdf/")?.to_owned();
///     Some(UsedFile { skill: "pdf".to_owned(), item: Some(item) })
/// };
/// let files = FileLookup { at: &at, are_checked: true };
/// let found = file_uses("Bash", &json!({"command": "cd /skills/pdf && python fill.py a.pdf"}), None, files);
/// assert_eq!((found.len(), found[0].kind), (1, UsageKind::Run));
/// assert_eq!(file_uses("Bash", &json!({"command": "rm /skills/pdf/fill.py"}), None, files), []);
/// assert_eq!(file_uses("Edit", &json!({"file_path": "/skills/pdf/fill.py"}), None, files), []);
/// ```
pub fn file_uses(tool: &str, arguments: &Value, dir: Option<&str>, files: FileLookup<'_>) -> Vec<FileUse> {
    let words = words_of(tool);
    let has = |known: &[&str]| words.iter().any(|word| known.contains(&word.as_str()));
    // An editor whose `command` says what it does.
    let is_view = arguments["command"] == "view" && arguments["path"].is_string();
    if is_view || (has(&READING) && !has(&OTHER)) {
        return read_files(arguments, dir, files);
    }
    if !has(&RUNNING) || has(&OTHER) {
        return Vec::new();
    }
    let command = COMMANDS.iter().map(|key| &arguments[*key]).find(|value| !value.is_null());
    let command = match command {
        Some(Value::String(command)) => command.clone(),
        Some(Value::Array(words)) => joined_words(&words.iter().filter_map(Value::as_str).collect::<Vec<_>>()),
        _ => return Vec::new(),
    };
    let entered = DIRS.iter().find_map(|key| arguments[*key].as_str());
    let dir = match (entered, dir) {
        (Some(entered), dir) => commands::joined(dir, entered),
        (None, dir) => dir.map(str::to_owned),
    };
    CommandReader { files }.uses(&command, dir.as_deref())
}

/// Returns the files that a tool reads, by its arguments.
fn read_files(arguments: &Value, dir: Option<&str>, files: FileLookup<'_>) -> Vec<FileUse> {
    let path = |value: &'_ Value| value.as_str().or_else(|| value["path"].as_str()).map(str::to_owned);
    let own = PATHS.iter().filter_map(|key| arguments[*key].as_str().map(str::to_owned));
    let lists = LISTS.iter().filter_map(|key| arguments[*key].as_array()).flatten().filter_map(path);
    let mut uses: Vec<FileUse> = Vec::new();
    for path in own.chain(lists).take(MAX_FILES).filter(|path| path.len() <= commands::MAX_ARGUMENT) {
        // With the directory, it is known whether there is such a file.
        let whole = match dir.filter(|_| is_relative(&path)) {
            Some(dir) => commands::joined(Some(dir), &path),
            None => Some(path),
        };
        if let Some(file) = whole.and_then(|path| (files.at)(&path)) {
            let one = FileUse { kind: file.read(), file };
            if !uses.contains(&one) {
                uses.push(one);
            }
        }
    }
    uses
}

/// Returns the words of a tool's name in lower case: `ReadFile`, `read_file` and `mcp__fs__read-file` have `read` and `file`.
fn words_of(tool: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut was_lower = false;
    for c in tool.chars().take(256) {
        let begins = !c.is_alphanumeric() || (c.is_uppercase() && was_lower);
        if begins {
            words.push(String::new());
        }
        if c.is_alphanumeric()
            && let Some(word) = words.last_mut()
        {
            word.extend(c.to_lowercase());
        }
        was_lower = c.is_lowercase();
    }
    words.retain(|word| !word.is_empty());
    words
}

/// Returns the kind of use and the file of a call of one of Skillcue's own tools, by the end of the tool's name.
pub(crate) fn own_tool_use(tool: &str, arguments: &Value) -> Option<(UsageKind, Option<String>)> {
    let item = |key: &str| arguments[key].as_str().and_then(kept_item);
    match tool {
        tool if tool.ends_with("unload_skill") => None,
        tool if tool.ends_with("load_skill") => Some((UsageKind::Loaded, None)),
        tool if tool.ends_with("read_skill_file") => Some((UsageKind::FileRead, item("path"))),
        tool if tool.ends_with("run_skill_script") => Some((UsageKind::Run, item("script"))),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
