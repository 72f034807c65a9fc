//! Files of skills in commands: which words are files by their place, and what was done with these.

use std::collections::HashSet;

use skillcue::usage::UsageKind;

use super::paths::{MAX_ARGUMENT, SkillPath, skill_file, skill_files};
use super::shell::simple_commands;

/// Programs that show files, which they have last.
const VIEWERS: [&str; 8] = ["cat", "sed", "head", "tail", "less", "more", "wc", "bat"];
/// Programs that show what they find in files.
const SEARCHERS: [&str; 3] = ["rg", "grep", "ls"];
/// Programs of these two whose first argument is a pattern or a script.
const WITH_PATTERN: [&str; 3] = ["sed", "rg", "grep"];
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
/// Programs whose arguments are texts or paths that they do not use.
const TALKERS: [&str; 3] = ["echo", "printf", "git"];
/// Options whose value is a file that the program writes.
const OUTPUTS: [&str; 5] = ["-o", "--output", "--out", "--outfile", "--output-file"];
/// The usual directories of a skill.
const USUAL: [&str; 3] = ["scripts/", "references/", "assets/"];

/// Returns the files of skills that a command names, by whole paths or from where it runs, and what was done with each: the
/// directory is the one that the command has entered, or else that of the call.
///
/// From there, only words count that are files by their place in the command: other words with a dot may be anything, such as
/// a part of a message, and the ledger keeps no text.
pub(super) fn commanded_files(command: &str, dir: Option<&str>) -> Vec<(UsageKind, SkillPath)> {
    let command = &command[..command.floor_char_boundary(MAX_ARGUMENT)];
    let mut uses = Vec::new();
    let mut dirs = vec![dir.map(|dir| dir.trim_end_matches('/').to_owned()).filter(|dir| !dir.is_empty())];
    let mut made: HashSet<String> = HashSet::new();
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
        let is_new = |word: &str| !made.contains(word.trim_start_matches("./"));
        let whole = simple.inputs.iter().flat_map(|word| whole_files(word)).map(|file| (file.read(), file));
        let mut found: Vec<_> = whole.collect();
        if let Some(call) = &call {
            let whole = call.open_words().into_iter().filter(|word| is_new(word)).flat_map(whole_files);
            found.extend(whole.map(|file| (call.kind(&file), file)));
            if let Some(inner) = call.inner_command() {
                found.extend(commanded_files(inner, None));
            }
            if let Some(Some(dir)) = dirs.last() {
                let words = call.file_words().into_iter().filter(|word| is_new(word));
                let files = words.filter_map(|word| skill_file(&format!("{dir}/{}", word.trim_start_matches("./"))));
                found.extend(files.map(|file| (call.kind(&file), file)));
            }
        }
        for one in found {
            if !uses.contains(&one) {
                uses.push(one);
            }
        }
        let written = simple.outputs.iter().map(String::as_str).chain(call.iter().flat_map(ProgramCall::made_words));
        made.extend(written.map(|word| word.trim_start_matches("./").to_owned()));
    }
    uses
}

/// Returns the files of skills that a word names by whole paths. Of a word with blanks only the whole may be one: it is a text.
fn whole_files(word: &str) -> Vec<SkillPath> {
    if !word.contains(char::is_whitespace) {
        return skill_files(word);
    }
    let is_path = word.starts_with(['/', '~']);
    let file = skill_file(word).filter(|file| is_path && !file.path.contains(char::is_whitespace));
    file.into_iter().collect()
}

/// Returns the directory that a command enters from another; `None` if it cannot be known.
fn joined(dir: Option<&str>, entered: &str) -> Option<String> {
    let mut path = match dir {
        Some(dir) if !entered.starts_with(['/', '~', '$']) => dir.to_owned(),
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

/// Returns whether a word may be a path as it is.
fn is_plain(word: &str) -> bool {
    word.chars().all(|c| c.is_alphanumeric() || "-_./".contains(c)) && !word.starts_with(['/', '-'])
}

/// Returns whether a word is a relative path of a file with an extension, which has letters only.
fn is_file(word: &str) -> bool {
    let name = word.rsplit('/').next().unwrap_or_default();
    let parts = name.rsplit_once('.').filter(|(stem, _)| !stem.trim_matches('.').is_empty());
    let is_extension = |text: &str| !text.is_empty() && text.chars().all(char::is_alphabetic);
    is_plain(word) && parts.is_some_and(|(_, extension)| is_extension(extension))
}

/// Returns whether a word is a path below one of the usual directories of a skill.
fn is_usual(word: &str) -> bool {
    let path = word.trim_start_matches("./");
    is_plain(word) && !word.ends_with('/') && USUAL.iter().any(|dir| path.starts_with(dir))
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
            _ if self.is_shell() => matches!(option, "-o" | "+o"),
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

    /// Returns the words that may be whole paths: neither code nor what is only said.
    fn open_words(&self) -> Vec<&'c str> {
        if TALKERS.contains(&self.program) {
            return Vec::new();
        }
        let end = match self.script() {
            Err(code) if self.is_interpreter() => code,
            _ => self.arguments.len(),
        };
        std::iter::once(self.word).chain(self.arguments.iter().take(end).map(String::as_str)).collect()
    }

    /// Returns the words that are relative paths of files by their place: the program itself, the script of an interpreter,
    /// and arguments of a program that shows files.
    fn file_words(&self) -> Vec<&'c str> {
        if self.is_interpreter() {
            let script = self.script().ok().and_then(|at| self.arguments.get(at)).map(String::as_str);
            return script.into_iter().filter(|word| is_usual(word) || is_file(word)).collect();
        }
        if SEARCHERS.contains(&self.program) {
            return self.shown_words().into_iter().filter(|word| is_usual(word) && is_file(word)).collect();
        }
        if VIEWERS.contains(&self.program) {
            let words = self.shown_words();
            let last = words.last().copied().filter(|word| is_file(word));
            return words.into_iter().filter(|word| is_usual(word) || last == Some(word)).collect();
        }
        // A name without a directory is looked up elsewhere.
        let is_path = self.is_script || self.word.contains('/');
        let word = Some(self.word).filter(|word| is_path && (is_usual(word) || is_file(word)));
        word.into_iter().collect()
    }

    /// Returns the arguments of a program that shows files that may be files.
    fn shown_words(&self) -> Vec<&'c str> {
        let mut has_pattern = !WITH_PATTERN.contains(&self.program);
        let mut words = Vec::new();
        let mut arguments = self.arguments.iter().map(String::as_str);
        while let Some(word) = arguments.next() {
            if word.starts_with('-') {
                let is_short = !word.starts_with("--") && word.ends_with(['e', 'f']);
                let is_long = ["--expression", "--regexp", "--file"].iter().any(|option| word.starts_with(option));
                if !has_pattern || is_short {
                    has_pattern |= is_short || is_long;
                    let is_apart = is_short || (is_long && !word.contains('=') && word != "--files");
                    // A file with patterns is none of those that are shown.
                    if is_apart && WITH_PATTERN.contains(&self.program) {
                        arguments.next();
                    }
                }
            } else if word.chars().all(|c| c.is_ascii_digit()) {
                // The value of an option, as in `-n 5`.
            } else if has_pattern {
                words.push(word);
            } else {
                has_pattern = true;
            }
        }
        words
    }

    /// Returns the words that are files which the program may have written.
    fn made_words(&self) -> Vec<&'c str> {
        let behind = |option: &str| OUTPUTS.contains(&option);
        let pairs = self.arguments.windows(2).filter(|pair| behind(&pair[0])).map(|pair| pair[1].as_str());
        let joined = self.arguments.iter().filter_map(|word| word.split_once('='));
        let joined = joined.filter(|(option, _)| behind(option)).map(|(_, value)| value);
        let all = match self.script() {
            Ok(script) if self.is_interpreter() => script + 1,
            _ if self.program == "tee" || self.word.contains('/') => 0,
            _ => self.arguments.len(),
        };
        let all = self.arguments.iter().skip(all).map(String::as_str);
        pairs.chain(joined).chain(all).filter(|_| !self.is_shower()).collect()
    }

    /// Returns what was done with a file that the command names: what is below `scripts` was run, unless the program shows it.
    fn kind(&self, file: &SkillPath) -> UsageKind {
        if file.path.starts_with("scripts/") && !self.is_shower() { UsageKind::Run } else { file.read() }
    }
}

/// Returns whether a word sets a variable for the program behind it.
fn is_assignment(word: &str) -> bool {
    let name = word.split_once('=').map(|(name, _)| name).filter(|name| !name.is_empty());
    name.is_some_and(|name| name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_'))
}

/// Returns the command of a list of words: the one that a shell gets with `-c`, or else the words.
pub(super) fn joined_words(words: &[&str]) -> String {
    let name = words.first().and_then(|word| word.rsplit('/').next()).unwrap_or_default();
    if let [_, option, command, ..] = words
        && SHELLS.contains(&name)
        && option.strip_prefix('-').is_some_and(|letters| !letters.starts_with('-') && letters.contains('c'))
    {
        return (*command).to_owned();
    }
    let is_one =
        |word: &str| words.len() > 1 && word.contains(|c: char| c.is_whitespace() || "'\"`\\;|&()<>#".contains(c));
    let quoted = |word: &str| format!("'{}'", word.replace('\'', "'\\''"));
    let words = words.iter().map(|word| if is_one(word) { quoted(word) } else { (*word).to_owned() });
    words.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_skills_are_found_from_where_a_command_runs() {
        let found = |command: &str, dir: Option<&str>| {
            let files =
                commanded_files(command, dir).into_iter().map(|(_, file)| format!("{} {}", file.skill, file.path));
            files.collect::<Vec<_>>()
        };
        let pdf = Some("/home/a/.agents/skills/pdf/");
        assert_eq!(found("sh ./scripts/list.sh --all", pdf), ["pdf scripts/list.sh"]);
        assert_eq!(found("cat pdf/SKILL.md", Some("/home/a/.agents/skills")), ["pdf SKILL.md"]);
        assert_eq!(found("cd /x/.claude/skills/pdf && sh scripts/list.sh", None), ["pdf scripts/list.sh"]);
        assert_eq!(found("cd '/x y/.claude/skills/pdf'; cat fields.md", None), ["pdf fields.md"]);
        assert_eq!(found("cat /x/skills/csv/a.md", pdf), ["csv a.md"]);
        assert_eq!(found("cat ../../etc/passwd; ls -a.b; cd", pdf), [""; 0]);
        assert_eq!(found("cd pdf && sh scripts/list.sh", Some("/home/a/.agents/skills")), ["pdf scripts/list.sh"]);
        assert_eq!(found("cd /x/skills/pdf/scripts && python3 fill.py a.pdf", None), ["pdf scripts/fill.py"]);
        assert_eq!(found("sed -n '1,20p' fields.md | head -3 > out.txt", pdf), ["pdf fields.md"]);
        assert_eq!(
            found("cat fields.md 2>/dev/null; head -2 v1 >b.md; ./fill.sh < in.csv", pdf),
            ["pdf fields.md", "pdf fill.sh"]
        );
        assert_eq!(found("cargo test src/lib.rs", Some("/work/site")), [""; 0]);
    }

    #[test]
    fn words_that_are_no_files_by_their_place_are_not_kept() {
        let pdf = Some("/home/a/.agents/skills/pdf");
        let long = "python scripts/fill.py --mail j.doe@example.com --token=eyJh.abc.def out.pdf";
        let files: Vec<String> = commanded_files(long, pdf).into_iter().map(|(_, file)| file.path).collect();
        assert_eq!(files, ["scripts/fill.py"]);
        for command in [
            "git commit -m 'For Mr. Smith, see form.Therapy'",
            "python3 - <<'END'\nprint('j.doe scripts/a.py')\nEND",
            "find . ; git add .",
            "grep j.doe fields.md",
            "echo call.me at https://a.example/b.html",
        ] {
            assert_eq!(commanded_files(command, pdf), [], "{command}");
        }
    }

    #[test]
    fn a_script_runs_unless_it_is_shown() {
        let kind = |command: &str| commanded_files(command, None)[0].0;
        assert_eq!(kind("python skills/pdf/scripts/fill.py"), UsageKind::Run);
        assert_eq!(kind("cat skills/pdf/scripts/fill.py"), UsageKind::FileRead);
    }
}
