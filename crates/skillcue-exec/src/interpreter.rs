//! The interpreter of a script: by its `#!` line, else by its extension; and where that is installed.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{LazyLock, Mutex};
use std::time::{Duration, Instant, SystemTime};

/// The interpreter that a script asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum InterpreterSpec {
    /// None: it is a program itself.
    Native,
    /// A program of this name (or at this path, if it begins with `/`), with these options before the script.
    Program { name: String, options: Vec<String> },
    /// Any program that runs files with this extension.
    Extension(&'static str),
}

/// Extensions, and the programs that run them, best first.
const EXTENSIONS: &[(&str, &[&str])] = &[
    ("py", &["python3", "python"]),
    ("sh", &["bash", "sh"]),
    ("js", &["node", "bun", "deno"]),
    ("mjs", &["node", "bun", "deno"]),
    ("ts", &["bun", "deno", "node"]),
    ("rb", &["ruby"]),
    ("pl", &["perl"]),
];

/// The first version of `node` that runs TypeScript without an option.
const NODE_WITH_TYPES: (u32, u32) = (22, 18);
/// The first version of `node` that runs TypeScript with an option.
const NODE_WITH_FLAG: (u32, u32) = (22, 6);

impl InterpreterSpec {
    /// Returns the interpreter that the script at `path`, which begins with `head`, asks for; nothing, if it is no
    /// script.
    pub(crate) fn of(path: &str, head: &[u8], executable: bool) -> Option<InterpreterSpec> {
        if let Some(spec) = shebang(head) {
            return Some(spec);
        }
        let name = path.rsplit('/').next().unwrap_or(path);
        let extension = name.rsplit_once('.').map(|(_, extension)| extension.to_ascii_lowercase());
        let known = extension.and_then(|it| EXTENSIONS.iter().find(|(known, _)| *known == it));
        match known {
            Some((extension, _)) => Some(InterpreterSpec::Extension(extension)),
            None => (executable && head.starts_with(b"\x7fELF")).then_some(InterpreterSpec::Native),
        }
    }

    /// Returns its name for a list.
    pub(crate) fn word(&self) -> &str {
        match self {
            InterpreterSpec::Native => "native",
            InterpreterSpec::Program { name, .. } => name.rsplit('/').next().unwrap_or(name),
            InterpreterSpec::Extension(extension) => programs_for(extension)[0],
        }
    }

    /// Returns whether it is Python.
    pub(crate) fn is_python(&self) -> bool {
        self.word().starts_with("python")
    }
}

fn programs_for(extension: &str) -> &'static [&'static str] {
    EXTENSIONS.iter().find(|(known, _)| *known == extension).map_or(&["sh"], |(_, programs)| programs)
}

/// Returns the interpreter that a `#!` line asks for. `env` is skipped, `uv run --script` is Python.
fn shebang(head: &[u8]) -> Option<InterpreterSpec> {
    let line = head.strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?;
    let line = std::str::from_utf8(line).ok()?.trim();
    let (program, rest) = line.split_once(char::is_whitespace).map_or((line, ""), |(a, b)| (a, b.trim()));
    let name = program.rsplit('/').next().unwrap_or(program);
    if name != "env" {
        // The kernel passes what follows as one option.
        let options = if rest.is_empty() { Vec::new() } else { vec![rest.to_owned()] };
        return (!program.is_empty()).then(|| InterpreterSpec::Program { name: program.to_owned(), options });
    }
    let mut words = rest.split_whitespace().skip_while(|word| word.starts_with('-') || word.contains('='));
    let program = words.next()?.to_owned();
    let options: Vec<String> = words.map(str::to_owned).collect();
    if program == "uv" || program == "uvx" || program == "pipx" {
        return Some(InterpreterSpec::Program { name: "python3".to_owned(), options: Vec::new() });
    }
    Some(InterpreterSpec::Program { name: program, options })
}

/// A program that runs a script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Interpreter {
    /// The program itself.
    pub(crate) program: PathBuf,
    /// The options before the script.
    pub(crate) options: Vec<String>,
    /// More paths that have to be readable, besides those that belong to the program.
    pub(crate) extra: Vec<PathBuf>,
    /// The side that chose it, which decides what belongs to it.
    pub(crate) origin: InterpreterOrigin,
}

/// The side that chose an interpreter. A path that a skill names must not decide what becomes readable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum InterpreterOrigin {
    /// The user: it is on the PATH. The files beside it say what else has to be readable.
    OnPath,
    /// The skill, by a path of the system: its libraries come with it, but no file beside it is believed.
    OfSystem,
    /// The skill, below its own directory or among what was installed for it: nothing comes with it.
    OfSkill,
}

impl Interpreter {
    fn at(program: PathBuf, origin: InterpreterOrigin) -> Interpreter {
        Interpreter { program, options: Vec::new(), extra: Vec::new(), origin }
    }

    /// Returns the paths that have to be readable for it to run.
    pub(crate) fn paths(&self) -> Vec<PathBuf> {
        let mut paths = match self.origin {
            InterpreterOrigin::OnPath => crate::interpreter_paths(&self.program),
            InterpreterOrigin::OfSystem => crate::program_paths::installation_paths(&self.program, false),
            InterpreterOrigin::OfSkill => vec![self.program.clone()],
        };
        paths.extend(self.extra.iter().cloned());
        paths
    }
}

impl Interpreter {
    /// Returns its version of Python, as far as that can be known: it is asked only if the user has chosen it; else its
    /// name has to say it.
    pub(crate) fn python_version(&self) -> Option<Vec<u32>> {
        let numbers = |text: &str| text.split('.').map(|part| part.parse().ok()).collect::<Option<Vec<u32>>>();
        let real = self.program.canonicalize().ok()?;
        let named = real.file_name()?.to_str()?.strip_prefix("python").and_then(numbers).filter(|it| it.len() > 1);
        if self.origin != InterpreterOrigin::OnPath {
            return named;
        }
        let question = "import sys; print('.'.join(map(str, sys.version_info[:3])))";
        let answer = output_of(Command::new(&self.program).args(["-I", "-c", question]), MAX_ANSWER_TIME);
        answer.and_then(|text| numbers(text.trim())).or(named)
    }
}

/// Finds the interpreter `spec` for a script of the skill in `skill` on `path`; an error says what is missing.
pub(crate) fn find(spec: &InterpreterSpec, path: &OsStr, skill: &Path) -> Result<Interpreter, String> {
    match spec {
        InterpreterSpec::Native => Err("it is a program itself".to_owned()),
        InterpreterSpec::Program { name, options } => {
            let mut found = find_named(name, path, skill)?;
            found.options.clone_from(options);
            Ok(found)
        }
        InterpreterSpec::Extension(extension) => {
            let names = programs_for(extension);
            for name in names {
                let Ok(mut found) = find_named(name, path, skill) else { continue };
                if *name == "deno" {
                    found.options = vec!["run".to_owned(), "--quiet".to_owned()];
                }
                if *extension == "ts" && *name == "node" {
                    // A program of the skill is not asked for its version: that would run it outside of the sandbox.
                    let version =
                        if found.origin == InterpreterOrigin::OnPath { node_version(&found.program) } else { None };
                    match version {
                        Some(version) if version >= NODE_WITH_TYPES => {}
                        Some(version) if version >= NODE_WITH_FLAG => {
                            found.options = vec!["--experimental-strip-types".to_owned()];
                        }
                        _ => continue,
                    }
                }
                return Ok(found);
            }
            Err(match *extension {
                "ts" => "TypeScript needs bun, deno, or node 22.18 or later on the PATH".to_owned(),
                _ => match names {
                    [name] => format!("{name} is not on the PATH"),
                    names => format!("none of {} is on the PATH", names.join(", ")),
                },
            })
        }
    }
}

/// Finds a program by its name on the PATH, or at its absolute path, or, where that does not exist, by the last part of
/// it.
fn find_named(name: &str, path: &OsStr, skill: &Path) -> Result<Interpreter, String> {
    let missing = || format!("{name} is not installed, or not on the PATH; its first line asks for it");
    if !name.starts_with('/') {
        if name.contains('/') {
            return Err(format!("its first line asks for {name}, which is neither a name nor an absolute path"));
        }
        let found = on_path(name, path).or_else(|| if name == "python" { on_path("python3", path) } else { None });
        return found.map(|found| chosen_by_user(found, path, skill)).ok_or_else(missing);
    }
    let at = PathBuf::from(name);
    let refused = || {
        format!(
            "its first line asks for {name}, which is neither the system's, nor on the PATH, nor the skill's own; \
             write `#!/usr/bin/env` and a name"
        )
    };
    if KERNEL.iter().any(|kernel| at.starts_with(kernel)) || at.components().any(|it| it == Component::ParentDir) {
        return Err(refused());
    }
    let (bin, last) = name.rsplit_once('/').ok_or_else(missing)?;
    if !is_program(&at) {
        let found = if bin.ends_with("bin") { on_path(last, path) } else { None };
        return found.map(|found| chosen_by_user(found, path, skill)).ok_or_else(missing);
    }
    let real = at.canonicalize().map_err(|_| missing())?;
    if real.starts_with(skill) {
        return Ok(Interpreter::at(real, InterpreterOrigin::OfSkill));
    }
    if is_system(&real) {
        // By the name it was given, for programs that look at it; unless that name could be led elsewhere.
        return Ok(Interpreter::at(if is_system(&at) { at } else { real }, InterpreterOrigin::OfSystem));
    }
    match on_path(last, path).filter(|found| found.canonicalize().is_ok_and(|it| it == real)) {
        Some(found) => Ok(chosen_by_user(found, path, skill)),
        None => Err(refused()),
    }
}

/// Directories below which programs of the system are installed.
const SYSTEM: &[&str] =
    &["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt", "/nix/store", "/snap"];

/// Directories of the kernel: a path below them means something else for every process.
const KERNEL: &[&str] = &["/proc", "/dev", "/sys"];

/// Returns whether a path is below a directory of the system.
pub(crate) fn is_system(path: &Path) -> bool {
    SYSTEM.iter().any(|system| path.starts_with(system))
}

/// Returns the interpreter for a program that was found on the PATH by its bare name. Only such a program is ever
/// started to ask it something.
fn chosen_by_user(found: PathBuf, path: &OsStr, skill: &Path) -> Interpreter {
    let of_skill = |at: &Path| at.canonicalize().is_ok_and(|real| real.starts_with(skill));
    if of_skill(&found) {
        return Interpreter::at(found.canonicalize().unwrap_or(found), InterpreterOrigin::OfSkill);
    }
    let mut interpreter = behind_shim(found, path);
    if of_skill(&interpreter.program) {
        interpreter.origin = InterpreterOrigin::OfSkill;
    }
    interpreter
}

/// Returns the first program called `name` in the directories of `path`. Relative directories are skipped.
pub(crate) fn on_path(name: &str, path: &OsStr) -> Option<PathBuf> {
    let mut directories = std::env::split_paths(path).filter(|dir| dir.is_absolute());
    directories.find_map(|dir| Some(dir.join(name)).filter(|at| is_program(at)))
}

fn is_program(at: &Path) -> bool {
    at.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

/// Returns the interpreter behind a shim: a program that a version manager puts on the PATH, which is no interpreter,
/// but chooses one. Inside the sandbox it could not look around, so it is asked here, once.
fn behind_shim(program: PathBuf, path: &OsStr) -> Interpreter {
    let Some(shims) = program.parent().filter(|dir| dir.ends_with("shims")) else {
        return Interpreter::at(program, InterpreterOrigin::OnPath);
    };
    if let Some(real) = ask_shim(&program, path).filter(|real| is_program(real) && !real.starts_with(shims)) {
        return Interpreter::at(real, InterpreterOrigin::OnPath);
    }
    // Not one that can be asked: it may read the directory that it belongs to.
    let extra = shims.parent().map(Path::to_path_buf).into_iter().collect();
    Interpreter { program, options: Vec::new(), extra, origin: InterpreterOrigin::OnPath }
}

/// The interpreters behind shims, by the shim's path and time of change.
type ShimAnswers = HashMap<(PathBuf, Option<SystemTime>), Option<PathBuf>>;

/// The answers of the shims that were asked.
static SHIM_ANSWERS: LazyLock<Mutex<ShimAnswers>> = LazyLock::new(Mutex::default);

/// The time that a program may take to answer a question about itself.
const MAX_ANSWER_TIME: Duration = Duration::from_secs(20);

/// Asks a shim which interpreter it chooses.
fn ask_shim(shim: &Path, path: &OsStr) -> Option<PathBuf> {
    let key = (shim.to_path_buf(), shim.metadata().and_then(|it| it.modified()).ok());
    if let Some(known) = skillcue_base::lock(&SHIM_ANSWERS).get(&key) {
        return known.clone();
    }
    let name = shim.file_name()?.to_str()?;
    let question: &[&str] = match name {
        _ if name.starts_with("python") => &["-I", "-c", "import sys; print(sys.executable)"],
        "node" => &["-p", "process.execPath"],
        "ruby" => &["-rrbconfig", "-e", "puts RbConfig.ruby"],
        "perl" => &["-e", "print $^X"],
        _ => return None,
    };
    let answer = output_of(Command::new(shim).args(question).env("PATH", path), MAX_ANSWER_TIME);
    let real = answer.map(|text| PathBuf::from(text.trim())).filter(|real| real.is_absolute());
    skillcue_base::lock(&SHIM_ANSWERS).insert(key, real.clone());
    real
}

fn node_version(node: &Path) -> Option<(u32, u32)> {
    let text = output_of(Command::new(node).arg("--version"), MAX_ANSWER_TIME)?;
    let mut numbers = text.trim().trim_start_matches('v').split('.').map(|part| part.parse::<u32>().ok());
    Some((numbers.next()??, numbers.next()??))
}

/// Returns what a trusted program prints, if it succeeds within `timeout`. Runs it outside of the sandbox, in `/`, so
/// that no file of a skill has a say in what it answers.
pub(crate) fn output_of(command: &mut Command, timeout: Duration) -> Option<String> {
    use std::io::Read;
    command.current_dir("/").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().ok()?;
    let mut pipe = child.stdout.take()?;
    let reader = std::thread::spawn(move || {
        let mut text = String::new();
        let _ = pipe.by_ref().take(64 * 1024).read_to_string(&mut text);
        text
    });
    let until = Instant::now() + timeout;
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return reader.join().ok().filter(|_| status.success()),
            Ok(None) if Instant::now() < until => std::thread::sleep(Duration::from_millis(2)),
            _ => {
                let _ = child.kill();
                let _ = child.wait();
                return None;
            }
        }
    }
}

/// Returns the directories of `path` that are below one of `readable`, for the PATH inside.
pub(crate) fn reachable_path(path: &OsStr, readable: &[PathBuf]) -> OsString {
    let kept = std::env::split_paths(path).filter(|dir| {
        dir.is_absolute()
            && dir.canonicalize().is_ok_and(|real| real.is_dir() && readable.iter().any(|it| real.starts_with(it)))
    });
    std::env::join_paths(kept).ok().filter(|path| !path.is_empty()).unwrap_or_else(|| "/usr/bin:/bin".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn program(name: &str, options: &[&str]) -> InterpreterSpec {
        InterpreterSpec::Program { name: name.into(), options: options.iter().map(|&it| it.into()).collect() }
    }

    #[test]
    fn first_lines() {
        let cases: &[(&str, Option<InterpreterSpec>)] = &[
            ("#!/bin/sh\n", Some(program("/bin/sh", &[]))),
            ("#!/bin/bash -eu\n", Some(program("/bin/bash", &["-eu"]))),
            ("#!/usr/bin/env python3\n", Some(program("python3", &[]))),
            ("#!/usr/bin/env -S python3 -u -X dev\n", Some(program("python3", &["-u", "-X", "dev"]))),
            ("#! /usr/bin/env -S A=1 node\r\n", Some(program("node", &[]))),
            ("#!/usr/bin/env -S uv run --script\n", Some(program("python3", &[]))),
            ("#!\n", None),
            ("#!/usr/bin/env\n", None),
            ("echo\n", None),
        ];
        for (head, want) in cases {
            assert_eq!(&InterpreterSpec::of("x", head.as_bytes(), false), want, "{head:?}");
        }
    }

    #[test]
    fn extensions_without_a_first_line() {
        for (path, word) in
            [("a.py", "python3"), ("b.SH", "bash"), ("d/c.ts", "bun"), ("x.rb", "ruby"), ("x.pl", "perl")]
        {
            assert_eq!(InterpreterSpec::of(path, b"x", false).unwrap().word(), word);
        }
        assert_eq!(InterpreterSpec::of("a.txt", b"x", true), None);
        assert_eq!(InterpreterSpec::of("a.py.d/README", b"x", false), None);
        assert_eq!(InterpreterSpec::of("tool", b"\x7fELF", true), Some(InterpreterSpec::Native));
        assert_eq!(InterpreterSpec::of("tool", b"\x7fELF", false), None);
    }

    #[test]
    fn a_shim_is_seen_through() {
        let tmp = tempfile::tempdir().unwrap();
        let at = |path: &str| tmp.path().join(path);
        std::fs::create_dir_all(at("shims")).unwrap();
        std::fs::create_dir_all(at("real")).unwrap();
        let make = |path: &Path, text: &str| {
            std::fs::write(path, text).unwrap();
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
        };
        make(&at("real/ruby"), "#!/bin/sh\n");
        make(&at("shims/ruby"), &format!("#!/bin/sh\necho {}\n", at("real/ruby").display()));
        make(&at("shims/other"), "#!/bin/sh\necho no\n");
        let path = at("shims").into_os_string();
        let skill = Path::new("/skill");
        let spec = |name: &str| InterpreterSpec::Program { name: name.into(), options: Vec::new() };
        assert_eq!(find(&spec("ruby"), &path, skill).unwrap().program, at("real/ruby"));
        assert_eq!(find(&spec("other"), &path, skill).unwrap().extra, [tmp.path().to_path_buf()]);
        assert!(find(&spec("nothing"), &path, skill).is_err());
        assert!(find(&spec("../real/ruby"), &path, skill).is_err());
    }

    #[test]
    fn a_path_counts_only_in_the_system_on_the_path_or_in_the_skill() {
        let tmp = tempfile::tempdir().unwrap();
        let root = tmp.path().canonicalize().unwrap();
        let make = |path: &str| {
            let at = root.join(path);
            std::fs::create_dir_all(at.parent().unwrap()).unwrap();
            std::fs::write(&at, "#!/bin/sh\n").unwrap();
            std::fs::set_permissions(&at, std::fs::Permissions::from_mode(0o755)).unwrap();
            at
        };
        let (elsewhere, mine, own) = (make("home/bin/x"), make("path/bin/y"), make("skill/bin/z"));
        std::os::unix::fs::symlink("/bin/sh", root.join("home/bin/shell")).unwrap();
        let (path, skill) = (root.join("path/bin").into_os_string(), root.join("skill"));
        let look = |at: &Path| {
            let spec = InterpreterSpec::Program { name: at.to_str().unwrap().into(), options: Vec::new() };
            find(&spec, &path, &skill)
        };
        assert!(look(&elsewhere).unwrap_err().contains("nor on the PATH"));
        assert_eq!(look(&mine).unwrap().origin, InterpreterOrigin::OnPath);
        assert_eq!(look(&own).unwrap().paths(), [own]);
        assert_eq!(look(Path::new("/bin/sh")).unwrap().origin, InterpreterOrigin::OfSystem);
        // A link outside of the system is not followed later on: its target at this moment is used.
        assert!(is_system(&look(&root.join("home/bin/shell")).unwrap().program));
        for made_up in ["/proc/self/exe", "/dev/fd/0", "/usr/../tmp/x"] {
            assert!(look(Path::new(made_up)).is_err(), "{made_up}");
        }
    }

    #[test]
    fn typescript_without_anything_that_runs_it_says_what_would() {
        let error = find(&InterpreterSpec::Extension("ts"), OsStr::new("/nowhere"), Path::new("/skill")).unwrap_err();
        assert!(error.contains("bun, deno, or node 22.18"), "{error}");
    }

    #[test]
    fn only_readable_directories_stay_on_the_path() {
        let kept = reachable_path(OsStr::new("/usr/bin:/root:relative:/nowhere:/bin"), &["/usr".into(), "/bin".into()]);
        assert_eq!(kept, "/usr/bin:/bin");
        assert_eq!(reachable_path(OsStr::new("/root"), &["/usr".into()]), "/usr/bin:/bin");
    }
}
