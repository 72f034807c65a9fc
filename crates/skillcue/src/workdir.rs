//! Files that a turn is about, according to a working directory and a message.
//!
//! Nothing in the directory is run, and nothing is written: `git` is called without locks and hooks, and without the
//! programs that a repository's configuration may name.

use std::ffi::OsString;
use std::io::Read as _;
use std::path::{Component, Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// The number of files of a turn, and of those among them that a message names.
const MAX_FILES: usize = 64;
const MAX_NAMED: usize = 32;
/// The number of bytes of a message that are searched for paths, and of words that are looked for on the disk.
const MAX_MESSAGE: usize = 64 << 10;
const MAX_LOOKUPS: usize = 512;
/// The length of the longest path that is looked for.
const MAX_PATH: usize = 1024;
/// The number of bytes of git's output that are read.
const MAX_OUTPUT: u64 = 256 << 10;
/// The time limit for git, all calls together.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(1);
const MAX_TIMEOUT: Duration = Duration::from_hours(1);

/// Settings that overrule a repository's: each of these could run a program, write, or reach a server.
const GIT_SETTINGS: [(&str, &str); 10] = [
    ("core.fsmonitor", "false"),
    ("core.hooksPath", "/dev/null"),
    ("core.untrackedCache", "false"),
    ("core.sshCommand", "false"),
    ("core.askPass", ""),
    ("core.pager", ""),
    ("status.submoduleSummary", "false"),
    ("submodule.recurse", "false"),
    ("protocol.allow", "never"),
    // A bare repository among the files of a checkout has a configuration that came with them.
    ("safe.bareRepository", "explicit"),
];
/// Those of git's own variables that say where the user's configuration is.
const PASSED_VARIABLES: [&str; 4] = ["GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM", "GIT_EXEC_PATH"];

/// A working directory.
///
/// ```
/// use skillcue::workdir::WorkDir;
///
/// let dir = tempfile::tempdir()?;
/// std::fs::create_dir(dir.path().join("src"))?;
/// std::fs::write(dir.path().join("src/main.rs"), "")?;
/// let found = WorkDir::new(dir.path()).files("Why does `src/main.rs:3` fail, and not src/lib.rs?");
/// assert_eq!(found.named, ["src/main.rs"]);
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct WorkDir {
    dir: PathBuf,
    git: Option<(PathBuf, Vec<(OsString, OsString)>)>,
    timeout: Duration,
}

/// Files that a turn may be about. Relative to the directory, with `/`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct WorkFiles {
    /// Files that the message names and that exist below the directory, in its order: the turn is about these.
    pub named: Vec<String>,
    /// Other files that have changed there: at hand, whatever the turn is about.
    pub changed: Vec<String>,
}

impl WorkFiles {
    /// Returns all files, those that the message names first.
    pub fn all(self) -> Vec<String> {
        [self.named, self.changed].concat()
    }
}

impl WorkDir {
    /// Makes one for a directory. Without [`git`](WorkDir::git), only files that a message names are found.
    pub fn new(dir: impl Into<PathBuf>) -> WorkDir {
        WorkDir { dir: dir.into(), git: None, timeout: DEFAULT_TIMEOUT }
    }

    /// Also finds files that git reports as changed: sets the program, and the variables that it gets.
    #[must_use]
    pub fn git(mut self, program: impl Into<PathBuf>, variables: Vec<(OsString, OsString)>) -> WorkDir {
        self.git = Some((program.into(), variables));
        self
    }

    /// Sets the time limit for git. The default is a second. Files that git does not report in time are left out.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> WorkDir {
        self.timeout = timeout;
        self
    }

    /// Returns the files that a turn with this message may be about, at most 64 in all.
    pub fn files(&self, message: &str) -> WorkFiles {
        let named = self.named(message);
        let mut changed = self.changed();
        changed.retain(|file| !named.contains(file));
        changed.truncate(MAX_FILES.saturating_sub(named.len()));
        WorkFiles { named, changed }
    }

    fn named(&self, message: &str) -> Vec<String> {
        let message = &message[..message.floor_char_boundary(MAX_MESSAGE)];
        let ends =
            |c: char| c.is_whitespace() || "\"'`()[]{}<>|,;*\u{201c}\u{201d}\u{201e}\u{2018}\u{2019}".contains(c);
        let mut found: Vec<String> = Vec::new();
        let mut lookups = 0;
        for word in message.split(ends).filter(|word| !word.is_empty() && word.len() <= MAX_PATH) {
            // `@src/main.rs` and `main.rs:3:7` name files, too, and a sentence may end with one.
            let bare = word.trim_start_matches('@').trim_end_matches(['.', ':', '!', '?']);
            let without_line = bare.trim_end_matches(|c: char| c.is_ascii_digit() || c == ':');
            for candidate in [word, bare, without_line] {
                if lookups == MAX_LOOKUPS || found.len() == MAX_NAMED {
                    return found;
                }
                let Some(path) = self.below(candidate) else { continue };
                lookups += 1;
                let metadata = self.dir.join(&path).symlink_metadata();
                if metadata.is_ok_and(|metadata| !metadata.is_dir()) {
                    if !found.contains(&path) {
                        found.push(path);
                    }
                    break;
                }
            }
        }
        found
    }

    /// Returns a path relative to the directory; `None` if it leads elsewhere.
    fn below(&self, written: &str) -> Option<String> {
        let path = Path::new(written);
        let path = if path.is_absolute() { path.strip_prefix(&self.dir).ok()? } else { path };
        let mut parts = Vec::new();
        for part in path.components() {
            match part {
                Component::Normal(part) => parts.push(part.to_str()?),
                Component::CurDir => {}
                _ => return None,
            }
        }
        (!parts.is_empty()).then(|| parts.join("/"))
    }

    /// Returns the files below the directory that git reports as changed: first tracked ones, then new ones.
    fn changed(&self) -> Vec<String> {
        let Some((program, variables)) = &self.git else { return Vec::new() };
        let is_repository = |dir: &&Path| dir.join(".git").symlink_metadata().is_ok();
        let Some(root) = self.dir.ancestors().find(is_repository) else { return Vec::new() };
        let git =
            GitRunner { program, variables, dir: &self.dir, deadline: Instant::now() + self.timeout.min(MAX_TIMEOUT) };
        let is_root = git.top().is_some_and(|top| top.canonicalize().ok() == root.canonicalize().ok());
        let said = is_root.then(|| git.filters()).flatten().and_then(|filters| git.status(&filters));
        let prefix = self.dir.strip_prefix(root).unwrap_or(Path::new("")).to_str().map(|prefix| format!("{prefix}/"));
        let prefix = prefix.filter(|prefix| prefix != "/").unwrap_or_default();
        let mut files = Vec::new();
        for entry in said.unwrap_or_default().split(|byte| *byte == 0) {
            // `XY PATH`; what was removed is not there to work on.
            let Some((state, [b' ', path @ ..])) = entry.split_at_checked(2) else { continue };
            let Ok(path) = std::str::from_utf8(path) else { continue };
            if state[1] != b'D' && !(state[0] == b'D' && state[1] == b' ') {
                files.push(path.strip_prefix(&prefix).unwrap_or(path).to_owned());
            }
            if files.len() == MAX_FILES {
                break;
            }
        }
        files
    }
}

/// The set-up of calls of git.
struct GitRunner<'a> {
    program: &'a Path,
    variables: &'a [(OsString, OsString)],
    dir: &'a Path,
    deadline: Instant,
}

impl GitRunner<'_> {
    /// Returns the directory of the repository that git itself finds: versions before 2.38 take a bare one among the
    /// files.
    fn top(&self) -> Option<PathBuf> {
        let said = String::from_utf8(self.run(&["rev-parse", "--show-toplevel"], &[])?).ok()?;
        said.strip_suffix('\n').filter(|top| !top.is_empty()).map(PathBuf::from)
    }

    /// Returns the settings that switch off each filter that is configured. To see whether a file has changed, git
    /// would run filters over its content: a checkout could run anything by bringing one.
    fn filters(&self) -> Option<Vec<(OsString, OsString)>> {
        let args = ["config", "-z", "--name-only", "--get-regexp", r"^filter\."];
        // A filter whose name was cut off would run.
        let said = self.run(&args, &[]).filter(|said| (said.len() as u64) < MAX_OUTPUT)?;
        let said = String::from_utf8(said).ok()?;
        Some(said.split_terminator('\0').map(|name| (name.into(), OsString::new())).collect())
    }

    fn status(&self, filters: &[(OsString, OsString)]) -> Option<Vec<u8>> {
        let args = [
            "--no-optional-locks",
            "--no-pager",
            "--literal-pathspecs",
            "status",
            "--porcelain=v1",
            "-z",
            "--untracked-files=all",
            "--ignore-submodules=all",
            "--no-renames",
            "--",
            ".",
        ];
        let mut said = self.run(&args, filters)?;
        // A path that was cut off names another file.
        let end = said.iter().rposition(|byte| *byte == 0)?;
        said.truncate(end);
        Some(said)
    }

    /// Returns git's output with these arguments; `None` if it takes too long.
    fn run(&self, args: &[&str], filters: &[(OsString, OsString)]) -> Option<Vec<u8>> {
        let mut command = Command::new(self.program);
        let is_passed = |name: &OsString| {
            let name = name.to_string_lossy();
            !name.starts_with("GIT_") || PASSED_VARIABLES.contains(&&*name)
        };
        command.env_clear().envs(self.variables.iter().filter(|(name, _)| is_passed(name)).cloned());
        command.env("GIT_OPTIONAL_LOCKS", "0").env("GIT_TERMINAL_PROMPT", "0").env("GIT_NO_LAZY_FETCH", "1");
        command.env("GIT_ALLOW_PROTOCOL", "none").env("GIT_ATTR_NOSYSTEM", "1").env("LC_ALL", "C");
        // As variables, for a filter's name may have any character in it.
        let settings = GIT_SETTINGS.iter().map(|(name, value)| ((*name).into(), (*value).into()));
        let mut count = 0;
        for (name, value) in settings.chain(filters.iter().cloned()) {
            command.env(format!("GIT_CONFIG_KEY_{count}"), name).env(format!("GIT_CONFIG_VALUE_{count}"), value);
            count += 1;
        }
        command.env("GIT_CONFIG_COUNT", count.to_string());
        command.args(args).current_dir(self.dir);
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().ok()?;
        let pipe = child.stdout.take();
        let (sender, receiver) = mpsc::channel();
        // It ends with the process that it reads from.
        std::thread::spawn(move || {
            let mut said = Vec::new();
            let read = pipe.map(|pipe| pipe.take(MAX_OUTPUT).read_to_end(&mut said));
            let _ = sender.send(matches!(read, Some(Ok(_))).then_some(said));
        });
        let said = receiver.recv_timeout(self.deadline.saturating_duration_since(Instant::now()));
        // Its output is complete, or as long as is read.
        let _ = child.kill();
        let _ = child.wait();
        said.ok().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn git_program() -> Option<PathBuf> {
        let path = std::env::var_os("PATH")?;
        std::env::split_paths(&path).map(|dir| dir.join("git")).find(|program| program.is_file())
    }

    fn variables(home: &Path) -> Vec<(OsString, OsString)> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        vec![("PATH".into(), path), ("HOME".into(), home.into()), ("GIT_CONFIG_NOSYSTEM".into(), "1".into())]
    }

    /// A repository with one commit; nothing, if there is no git.
    struct Repository {
        home: tempfile::TempDir,
        program: PathBuf,
    }

    impl Repository {
        fn new() -> Option<Repository> {
            let Some(program) = git_program() else {
                println!("skipped: there is no git on the PATH");
                return None;
            };
            let repository = Repository { home: tempfile::tempdir().unwrap(), program };
            repository.write("src/main.rs", "fn main() {}\n");
            repository.write("src/lib.rs", "\n");
            repository.write("gone.py", "\n");
            repository.write("notes.md", "\n");
            repository.write(".gitignore", "*.log\n");
            repository.run(&["init", "-q", "."]);
            repository.run(&["add", "."]);
            repository.run(&["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "-m", "x"]);
            Some(repository)
        }

        fn dir(&self) -> PathBuf {
            self.home.path().join("work")
        }

        fn write(&self, name: &str, text: &str) {
            let path = self.dir().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }

        fn run(&self, args: &[&str]) {
            let mut command = Command::new(&self.program);
            command.env_clear().envs(variables(self.home.path())).current_dir(self.dir());
            let output = command.args(args).output().unwrap();
            assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        }

        fn work_dir(&self, below: &str) -> WorkDir {
            WorkDir::new(self.dir().join(below))
                .git(&self.program, variables(self.home.path()))
                // A busy machine is no reason to find nothing.
                .timeout(Duration::from_mins(1))
        }
    }

    #[test]
    fn files_that_have_changed_are_found() {
        let Some(repository) = Repository::new() else { return };
        assert_eq!(repository.work_dir("").files("Hello").all(), Vec::<String>::new());
        repository.write("src/main.rs", "fn main() { }\n");
        repository.write("src/new ü.rs", "");
        repository.write("staged.py", "");
        repository.write("noise.log", "");
        repository.run(&["add", "staged.py"]);
        std::fs::remove_file(repository.dir().join("gone.py")).unwrap();
        repository.run(&["mv", "notes.md", "moved.md"]);
        assert_eq!(
            repository.work_dir("").files("What of src/lib.rs and src/main.rs?").all(),
            ["src/lib.rs", "src/main.rs", "moved.md", "staged.py", "src/new ü.rs"]
        );
        // Of a directory further down, what is below it, as seen from there.
        assert_eq!(repository.work_dir("src").files("lib.rs").all(), ["lib.rs", "main.rs", "new ü.rs"]);
        for count in 0..200 {
            repository.write(&format!("many/{count}"), "");
        }
        assert_eq!(repository.work_dir("").files("").all().len(), MAX_FILES);
        assert_eq!(repository.work_dir("").timeout(Duration::ZERO).files("").all().len(), 0, "there was no time");
        let without = WorkDir::new(repository.dir());
        assert_eq!(without.files("src/lib.rs").all(), ["src/lib.rs"], "without git, what is named");
        let elsewhere = repository.home.path().join("elsewhere");
        std::fs::create_dir(&elsewhere).unwrap();
        let git = WorkDir::new(elsewhere).git(&repository.program, variables(repository.home.path()));
        assert_eq!(git.files("src/lib.rs").all(), Vec::<String>::new(), "no repository");
    }

    #[test]
    fn no_program_of_a_repository_runs_and_nothing_is_written() {
        use std::os::unix::fs::PermissionsExt;

        let Some(repository) = Repository::new() else { return };
        let ran = repository.home.path().join("ran");
        let script = repository.home.path().join("evil.sh");
        std::fs::write(&script, format!("#!/bin/sh\necho \"$0 $*\" >> '{}'\ncat\n", ran.display())).unwrap();
        std::fs::set_permissions(&script, PermissionsExt::from_mode(0o755)).unwrap();
        let evil = script.to_str().unwrap();
        for key in ["core.fsmonitor", "filter.a=b.clean", "filter.x.process", "core.sshCommand", "core.pager"] {
            repository.run(&["config", key, evil]);
        }
        repository.run(&["config", "filter.x.required", "true"]);
        repository.run(&["config", "filter.y.clean", evil]);
        repository.run(&["config", "filter.y.required", "true"]);
        for hook in ["post-index-change", "fsmonitor-watchman"] {
            std::fs::copy(&script, repository.dir().join(".git/hooks").join(hook)).unwrap();
        }
        repository.write(".gitattributes", "*.rs filter=y\n*.md filter=x\n");
        // As large as before, so that only its content tells.
        repository.write("src/main.rs", "fn main() []\n");
        repository.write("notes.md", "x");
        let index = std::fs::read(repository.dir().join(".git/index")).unwrap();
        let files = repository.work_dir("").files("").all();
        assert_eq!(files, ["notes.md", "src/main.rs", ".gitattributes"]);
        assert!(!ran.exists(), "{}", std::fs::read_to_string(&ran).unwrap());
        assert_eq!(std::fs::read(repository.dir().join(".git/index")).unwrap(), index);
        // To show that they would have run: a call without our settings runs them.
        let mut careless = Command::new(&repository.program);
        careless.env_clear().envs(variables(repository.home.path())).current_dir(repository.dir());
        let _ = careless.args(["status", "--porcelain"]).output().unwrap();
        assert!(ran.exists(), "nothing was tested");
    }

    /// A checkout may have more filters than are read, and a repository among its files.
    #[test]
    fn no_filter_is_overlooked() {
        use std::fmt::Write as _;
        use std::os::unix::fs::PermissionsExt;

        let Some(repository) = Repository::new() else { return };
        let ran = repository.home.path().join("ran");
        let script = repository.home.path().join("evil.sh");
        std::fs::write(&script, format!("#!/bin/sh\ntouch '{}'\ncat\n", ran.display())).unwrap();
        std::fs::set_permissions(&script, PermissionsExt::from_mode(0o755)).unwrap();
        let mut many = String::new();
        for count in 0..300 {
            let _ = write!(many, "[filter \"{}{count:03}\"]\n\tclean = true\n", "a".repeat(990));
        }
        let _ = write!(many, "[filter \"zz\"]\n\tclean = \"{}\"\n", script.display());
        let config = repository.dir().join(".git/config");
        let own = std::fs::read_to_string(&config).unwrap();
        repository.write(".gitattributes", "*.rs filter=zz\n");
        repository.write("src/main.rs", "fn main() []\n");
        std::fs::write(&config, format!("{own}{many}")).unwrap();
        assert_eq!(repository.work_dir("").files("src/lib.rs").all(), ["src/lib.rs"], "what is named");
        assert!(!ran.exists());
        std::fs::write(&config, &own).unwrap();
        // The same as ordinary files of the checkout, further down.
        let bare = repository.dir().join("docs/lib");
        for dir in ["objects", "refs/heads"] {
            std::fs::create_dir_all(bare.join(dir)).unwrap();
        }
        std::fs::write(bare.join("HEAD"), "ref: refs/heads/main\n").unwrap();
        std::fs::write(bare.join("config"), "[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tworktree = .\n")
            .unwrap();
        let found = repository.work_dir("docs/lib").files("").all();
        assert!(found.is_empty() || found.iter().all(|file| bare.join(file).exists()), "{found:?}");
        assert!(!ran.exists());
    }

    #[test]
    fn a_git_that_never_ends_is_not_waited_for() {
        use std::os::unix::fs::PermissionsExt;

        let home = tempfile::tempdir().unwrap();
        let dir = home.path().join("work");
        std::fs::create_dir_all(dir.join(".git")).unwrap();
        std::fs::write(dir.join("a.rs"), "").unwrap();
        let slow = home.path().join("git");
        let script = |text: &str| {
            std::fs::write(&slow, format!("#!/bin/sh\n{text}")).unwrap();
            std::fs::set_permissions(&slow, PermissionsExt::from_mode(0o755)).unwrap();
        };
        let work_dir = |time| WorkDir::new(&dir).git(&slow, variables(home.path())).timeout(time);
        script(&format!(
            "case \" $* \" in *' rev-parse '*) echo '{}';; *' status '*) printf '?? b.rs\\0?? c';; esac\n",
            dir.display()
        ));
        assert_eq!(
            work_dir(Duration::from_mins(1)).files("a.rs").all(),
            ["a.rs", "b.rs"],
            "what is cut off is left out"
        );
        script("exec sleep 86400\n");
        assert_eq!(work_dir(Duration::from_millis(50)).files("a.rs").all(), ["a.rs"]);
        script("exec yes '?? b.rs'\n");
        assert_eq!(work_dir(Duration::from_mins(1)).files("a.rs").all(), ["a.rs"]);
    }

    #[test]
    fn paths_in_messages_are_found_where_they_exist() {
        let home = tempfile::tempdir().unwrap();
        let dir = home.path().join("work");
        std::fs::create_dir_all(dir.join("a/b")).unwrap();
        for file in ["a/b/c.tsx", "Makefile", "x.py", "v1.2.txt", "../secret.py", "12"] {
            std::fs::write(dir.join(file), "").unwrap();
        }
        let absolute = format!("see {}/x.py", dir.display());
        for (message, files) in [
            ("Fix a/b/c.tsx.", &["a/b/c.tsx"][..]),
            ("(`./a/b/c.tsx:12:5`) and 'x.py': why?", &["a/b/c.tsx", "x.py"]),
            ("@x.py, @x.py and Makefile!", &["x.py", "Makefile"]),
            ("v1.2.txt? Or 12", &["v1.2.txt", "12"]),
            (&absolute, &["x.py"]),
            ("../secret.py a/../../secret.py /etc/passwd", &[]),
            ("a a/b . / \u{0} x", &[]),
            ("", &[]),
        ] {
            assert_eq!(WorkDir::new(&dir).files(message).all(), files, "{message}");
        }
        for number in 0..100 {
            std::fs::write(dir.join(format!("f{number}")), "").unwrap();
        }
        let all: Vec<String> = (0..100).map(|number| format!("f{number}")).collect();
        assert_eq!(WorkDir::new(&dir).files(&all.join(" ")).all(), all[..MAX_NAMED]);
        let far = format!("{} x.py", "y ".repeat(MAX_MESSAGE));
        assert_eq!(WorkDir::new(&dir).files(&far).all(), Vec::<String>::new());
        assert_eq!(WorkDir::new(home.path().join("gone")).files("x.py").all(), Vec::<String>::new());
    }
}
