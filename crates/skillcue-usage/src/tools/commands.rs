//! Files of skills in commands: which words are files by their place, and what was done with these.
//!
//! Other words may be anything, such as a part of a message, and the ledger keeps no text.

use std::collections::HashSet;

use skillcue::usage::UsageKind;

use super::options::file_words;
use super::paths::{self, below_home, is_file, is_usual};
use super::shell::simple_commands;
use super::{FileLookup, FileUse};

/// The most of an argument that is looked through, in bytes. Longer ones are content.
pub(super) const MAX_ARGUMENT: usize = 4 << 10;
/// The depth of commands of shells in commands of shells.
const MAX_DEPTH: usize = 4;
/// Programs that show files, which they have last.
const VIEWERS: [&str; 12] = ["cat", "sed", "head", "tail", "less", "more", "wc", "bat", "batcat", "nl", "jq", "awk"];
/// Programs that show what they find in files.
const SEARCHERS: [&str; 4] = ["rg", "grep", "egrep", "fgrep"];
/// Interpreters whose `-c` has a command, and whose other options are switches.
const SHELLS: [&str; 7] = ["sh", "bash", "zsh", "dash", "ksh", "source", "."];
/// Programs whose first argument is a script, without the number of their version.
const INTERPRETERS: [&str; 8] = ["python", "node", "ruby", "perl", "deno", "bun", "tsx", "ts-node"];
/// Programs and words of the shell that have another program behind them.
const WRAPPERS: [&str; 19] = [
    "env", "sudo", "time", "timeout", "nohup", "nice", "exec", "command", "xvfb-run", "if", "then", "else", "elif",
    "do", "while", "until", "!", "{", "npx",
];
/// Options of `uv run` and `npx` whose value is the next word.
const RUNNER_VALUES: [&str; 10] = [
    "--with",
    "--python",
    "-p",
    "--project",
    "--directory",
    "--extra",
    "--group",
    "--env-file",
    "--package",
    "--index",
];
/// Options whose value is a file that the program writes.
const OUTPUTS: [&str; 5] = ["-o", "--output", "--out", "--outfile", "--output-file"];

/// The place of a word in a command, if it is that of a file that the command uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FilePlace {
    /// The program itself, or the script of an interpreter.
    Started,
    /// An argument of a program that shows files or copies them, or its input.
    Shown,
}

/// A reader of commands for a shell.
pub(super) struct CommandReader<'f> {
    pub(super) files: FileLookup<'f>,
}

impl CommandReader<'_> {
    /// Returns the uses of skills' files in a command: the directory is the one that the command has entered, or else that of
    /// the call.
    pub(super) fn uses(&self, command: &str, dir: Option<&str>) -> Vec<FileUse> {
        self.inner_uses(command, dir, 0, &mut HashSet::new())
    }

    /// Returns the uses in a command; `made` are the paths of files that commands before it have written.
    fn inner_uses(&self, command: &str, dir: Option<&str>, depth: usize, made: &mut HashSet<String>) -> Vec<FileUse> {
        let command = &command[..command.floor_char_boundary(MAX_ARGUMENT)];
        let mut uses = Vec::new();
        let mut dirs = vec![dir.map(|dir| dir.trim_end_matches('/').to_owned()).filter(|dir| !dir.is_empty())];
        for simple in simple_commands(command) {
            // What is in parentheses leaves the directory of the outer command as it is.
            let outer = dirs.last().cloned().flatten();
            dirs.resize(simple.depth + 1, outer);
            let call = ProgramCall::of(&simple.words);
            if let (Some(call), Some(dir)) = (call.as_ref().filter(|call| call.program == "cd"), dirs.last_mut()) {
                let entered = call.arguments.iter().find(|word| !word.starts_with('-'));
                *dir = entered.and_then(|entered| joined(dir.as_deref(), entered));
                continue;
            }
            let dir = dirs.last().and_then(Option::as_deref);
            let mut found = Vec::new();
            for input in simple.inputs.iter().filter(|input| !made.contains(&path_key(dir, input))) {
                found.extend(self.file(FilePlace::Shown, input, false, dir));
            }
            if let Some(call) = &call {
                let words = call.placed_words().into_iter();
                for (place, word) in words.filter(|(_, word)| !made.contains(&path_key(dir, word))) {
                    found.extend(self.file(place, word, call.is_relative(word), dir));
                }
                if let Some(inner) = call.inner_command().filter(|_| depth < MAX_DEPTH) {
                    // Its words are code: only those count that say where the file is.
                    let dir = dir.filter(|_| self.files.are_checked);
                    found.extend(self.inner_uses(inner, dir, depth + 1, made));
                }
            }
            for one in found {
                if !uses.contains(&one) {
                    uses.push(one);
                }
            }
            let written =
                simple.outputs.iter().map(String::as_str).chain(call.iter().flat_map(ProgramCall::made_words));
            made.extend(written.map(|word| path_key(dir, word)));
        }
        uses
    }

    /// Returns the use of the file that a word leads to: by itself, or from the directory if it may be a relative path.
    fn file(&self, place: FilePlace, word: &str, is_relative: bool, dir: Option<&str>) -> Option<FileUse> {
        // With blanks, only a whole path is more than a text.
        let is_whole = word.starts_with(['/', '~']);
        let by_itself = (is_whole || !word.contains(char::is_whitespace)).then(|| (self.files.at)(word)).flatten();
        let dir = dir.filter(|_| paths::is_relative(word));
        let file = match (by_itself, dir) {
            (Some(file), None) => file,
            // With the directory, it is known whether there is such a file.
            (Some(_), Some(_)) => (self.files.at)(&joined(dir, word)?)?,
            (None, _) => {
                let dir = dir.filter(|_| is_relative || self.files.are_checked)?;
                (self.files.at)(&joined(Some(dir), word)?)?
            }
        };
        let is_script = place == FilePlace::Started && file.item.is_some();
        Some(FileUse { kind: if is_script { UsageKind::Run } else { file.read() }, file })
    }
}

/// Returns the directory that a command enters from another; `None` if it cannot be known.
pub(super) fn joined(dir: Option<&str>, entered: &str) -> Option<String> {
    let mut path = match dir {
        Some(dir) if !entered.starts_with(['/', '~', '$']) => dir.trim_end_matches('/').to_owned(),
        _ => return Some(entered.trim_end_matches('/').to_owned()).filter(|dir| !dir.is_empty()),
    };
    for part in entered.split('/').filter(|part| !part.is_empty() && *part != ".") {
        if part == ".." {
            path.truncate(path.rfind('/')?);
        } else {
            path.push('/');
            path.push_str(part);
        }
    }
    Some(path)
}

/// Returns the path of a file, such that two words that name one file have one path, as far as that can be seen.
fn path_key(dir: Option<&str>, word: &str) -> String {
    let whole = match dir.filter(|_| paths::is_relative(word)) {
        Some(dir) => format!("{dir}/{word}"),
        None => word.to_owned(),
    };
    let whole = below_home(&whole).map_or(whole.clone(), |below| format!("~/{below}"));
    let mut parts: Vec<&str> = Vec::new();
    for (at, part) in whole.split('/').enumerate() {
        match part {
            "." => {}
            "" if at > 0 => {}
            ".." if parts.last().is_some_and(|last| !["", ".."].contains(last)) => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    parts.join("/")
}

/// A program that a simple command starts, behind those that only start another.
struct ProgramCall<'c> {
    /// Its name, without its directory and the number of its version.
    program: &'c str,
    /// The word itself.
    word: &'c str,
    arguments: &'c [String],
    /// Whether the program is a script by its place, as behind `uv run`.
    is_script: bool,
}

impl<'c> ProgramCall<'c> {
    fn of(words: &'c [String]) -> Option<ProgramCall<'c>> {
        let mut words = words;
        let mut is_script = false;
        loop {
            let (word, mut arguments) = words.split_first()?;
            let name = word.rsplit('/').next().unwrap_or_default();
            let unversioned = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
            let program = if unversioned.is_empty() { name } else { unversioned };
            let is_uv = program == "uv" && arguments.first().is_some_and(|word| word == "run");
            if !is_uv && !WRAPPERS.contains(&program) && !is_assignment(word) {
                return Some(ProgramCall { program, word, arguments, is_script });
            }
            is_script |= is_uv;
            arguments = &arguments[usize::from(is_uv)..];
            // Their options, variables and numbers.
            while let Some(option) = arguments.first().filter(|word| {
                word.starts_with('-') || is_assignment(word) || word.starts_with(|c: char| c.is_ascii_digit())
            }) {
                if (is_uv || program == "npx") && matches!(option.as_str(), "-m" | "--module" | "-c" | "--call" | "-") {
                    return None;
                }
                let has_value = (is_uv || program == "npx") && RUNNER_VALUES.contains(&option.as_str());
                arguments = arguments.get(1 + usize::from(has_value)..)?;
            }
            words = arguments;
        }
    }

    /// Returns whether it shows files.
    fn is_shower(&self) -> bool {
        VIEWERS.contains(&self.program) || SEARCHERS.contains(&self.program)
    }

    fn is_interpreter(&self) -> bool {
        INTERPRETERS.contains(&self.program) || self.is_shell()
    }

    fn is_shell(&self) -> bool {
        SHELLS.contains(&self.program)
    }

    /// Returns whether what follows an option of an interpreter is code, or the name of a module.
    fn is_code(&self, option: &str) -> bool {
        let Some(letters) = option.strip_prefix('-').filter(|rest| !rest.starts_with('-')) else {
            return option.starts_with("--eval") || option.starts_with("--print");
        };
        match self.program {
            _ if self.is_shell() => letters.contains(['c', 's']),
            "python" if letters.starts_with(['W', 'X']) => false,
            "perl" => letters.contains(['c', 'e', 'm', 'E']),
            "node" | "bun" => letters.contains(['c', 'e', 'm', 'p']),
            _ => letters.contains(['c', 'e', 'm']),
        }
    }

    /// Returns whether the value of an option of an interpreter is the next word.
    fn has_value(&self, option: &str) -> bool {
        match self.program {
            "python" => matches!(option, "-W" | "-X"),
            "perl" => option == "-I",
            // Letters may stand in front, as in `-euo pipefail`.
            _ if self.is_shell() && !option.starts_with("--") => option.ends_with('o'),
            _ if self.is_shell() => matches!(option, "--rcfile" | "--init-file"),
            _ => matches!(option, "-I" | "-r" | "--require" | "--import"),
        }
    }

    /// Returns the position of an interpreter's script among its arguments, or that of the option whose value is code.
    fn script(&self) -> Result<usize, usize> {
        let mut at = 0;
        while let Some(word) = self.arguments.get(at) {
            match word.as_str() {
                "-" => return Err(at),
                "--" => return Ok(at + 1),
                "run" if ["deno", "bun"].contains(&self.program) => at += 1,
                option if option.starts_with(['-', '+']) && self.is_code(option) => return Err(at),
                option if option.starts_with(['-', '+']) => at += 1 + usize::from(self.has_value(option)),
                _ => return Ok(at),
            }
        }
        Err(at)
    }

    /// Returns the command that a shell gets with `-c`.
    fn inner_command(&self) -> Option<&'c str> {
        let at = self.script().err().filter(|_| self.is_shell())?;
        let has_command = self.arguments.get(at)?.contains('c');
        self.arguments.get(at + 1).filter(|_| has_command).map(String::as_str)
    }

    /// Returns the words that are files by their place: the program itself, the script of an interpreter, what a program shows,
    /// and what `cp` copies. Whatever another program does with its arguments is not known: it may write them, or remove them.
    fn placed_words(&self) -> Vec<(FilePlace, &'c str)> {
        if self.is_interpreter() {
            let script = self.script().ok().and_then(|at| self.arguments.get(at));
            return script.map(|word| (FilePlace::Started, word.as_str())).into_iter().collect();
        }
        if self.is_shower() || self.program == "cp" {
            let words = if self.writes() { Vec::new() } else { self.shown_words() };
            let count = words.len() - usize::from(self.program == "cp" && !words.is_empty());
            return words.into_iter().take(count).map(|word| (FilePlace::Shown, word)).collect();
        }
        // A name without a directory is looked up elsewhere.
        let is_path = self.is_script || self.word.contains('/');
        Some((FilePlace::Started, self.word)).filter(|_| is_path).into_iter().collect()
    }

    /// Returns whether a program that shows files changes them with these options, or one that copies has its target first.
    fn writes(&self) -> bool {
        let is_in_place = |word: &str| match self.program {
            "sed" => {
                let is_short = word.starts_with('-') && !word.starts_with("--") && word.contains('i');
                is_short || word.starts_with("--in-place")
            }
            "awk" => word == "inplace" || word == "-iinplace",
            "cp" => word.starts_with("-t") || word.starts_with("--target-directory"),
            _ => false,
        };
        self.arguments.iter().any(|word| is_in_place(word))
    }

    /// Returns whether a word that is a file by its place may be a relative path, and no text. In doubt it is a text: the
    /// ledger keeps none.
    fn is_relative(&self, word: &str) -> bool {
        if SEARCHERS.contains(&self.program) {
            return is_usual(word) && is_file(word);
        }
        if VIEWERS.contains(&self.program) {
            return is_usual(word) || (is_file(word) && self.shown_words().last() == Some(&word));
        }
        is_usual(word) || is_file(word)
    }

    /// Returns the arguments of a program that shows files that may be files.
    fn shown_words(&self) -> Vec<&'c str> {
        file_words(self.program, self.arguments)
    }

    /// Returns the words that are files which the program may have written.
    fn made_words(&self) -> Vec<&'c str> {
        let behind = |option: &str| OUTPUTS.contains(&option);
        let pairs = self.arguments.windows(2).filter(|pair| behind(&pair[0])).map(|pair| pair[1].as_str());
        let joined = self.arguments.iter().filter_map(|word| word.split_once('='));
        let joined = joined.filter(|(option, _)| behind(option)).map(|(_, value)| value);
        let all = match self.script() {
            Ok(script) if self.is_interpreter() => script + 1,
            _ if ["tee", "touch", "mv"].contains(&self.program) || self.word.contains('/') => 0,
            _ if self.program == "cp" => self.arguments.len().saturating_sub(1),
            _ => self.arguments.len(),
        };
        let all = self.arguments.iter().skip(all).map(String::as_str);
        pairs.chain(joined).chain(all).filter(|_| !self.is_shower()).collect()
    }
}

/// Returns whether a word sets a variable for the program behind it.
fn is_assignment(word: &str) -> bool {
    let name = word.split_once('=').map(|(name, _)| name).filter(|name| !name.is_empty());
    name.is_some_and(|name| name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_'))
}

/// Returns the command of a list of words: the one that a shell gets with `-c`, or else the words.
pub(super) fn joined_words(words: &[&str]) -> String {
    let all: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
    let call = ProgramCall::of(&all).filter(|call| call.arguments.len() + 1 == all.len());
    if let Some(command) = call.and_then(|call| call.inner_command()) {
        return command.to_owned();
    }
    let is_one =
        |word: &str| words.len() > 1 && word.contains(|c: char| c.is_whitespace() || "'\"`\\;|&()<>#".contains(c));
    let quoted = |word: &str| format!("'{}'", word.replace('\'', "'\\''"));
    let words = words.iter().map(|word| if is_one(word) { quoted(word) } else { (*word).to_owned() });
    words.collect::<Vec<_>>().join(" ")
}
