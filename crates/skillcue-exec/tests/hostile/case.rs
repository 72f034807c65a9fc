//! The parts of a hostile test.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use skillcue_catalog::SkillDir;
use skillcue_exec::{Bounds, Launcher, Layer, RunError, RunLimits, RunRequest, RunResult, Runner, RunnerOptions};
use skillcue_format::{FileKind, Manifest, Parsed};
use tempfile::TempDir;

/// The layers that are in force.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// All that the machine has.
    All,
    /// Landlock, seccomp, limits and the supervisor.
    NoNamespaces,
}

pub(crate) const NAMESPACES: &[Layer] =
    &[Layer::UserNamespace, Layer::PidNamespace, Layer::NetworkNamespace, Layer::IpcNamespace, Layer::MountNamespace];

/// The beginning of every probe in Python.
const PRELUDE: &str = r#"
import ctypes, errno, os, sys
libc = ctypes.CDLL(None, use_errno=True)
def call(number, *args):
    result = libc.syscall(ctypes.c_long(number), *[ctypes.c_long(a) if isinstance(a, int) else a for a in args])
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result
def attempt(name, deed):
    try:
        print("HARM", name, deed(), flush=True)
    except (OSError, MemoryError, RuntimeError, ValueError) as error:
        print("contained", name, getattr(error, "errno", type(error).__name__), flush=True)
"#;

/// A skill with nothing but what a test puts into it, a home directory with a secret, and a runner.
pub(crate) struct Case {
    pub(crate) tmp: TempDir,
    pub(crate) name: String,
    pub(crate) mode: Mode,
    pub(crate) limits: RunLimits,
}

impl Case {
    pub(crate) fn new(name: &str, mode: Mode) -> Case {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let tmp = tempfile::tempdir().unwrap();
        fs::create_dir_all(tmp.path().join("skill/scripts")).unwrap();
        fs::create_dir_all(tmp.path().join("other")).unwrap();
        fs::create_dir_all(tmp.path().join("home")).unwrap();
        fs::write(tmp.path().join("home/secret"), "hunter2\n").unwrap();
        fs::write(tmp.path().join("other/SKILL.md"), "another skill\n").unwrap();
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        // Every process of a run has this in its environment, so it can be found.
        let name = format!("{}-{}-{number}", name.replace('_', "-"), std::process::id());
        let case =
            Case { tmp, name, mode, limits: RunLimits { timeout: Duration::from_mins(1), ..RunLimits::default() } };
        fs::write(case.skill().join("SKILL.md"), case.front_matter("")).unwrap();
        case
    }

    pub(crate) fn front_matter(&self, more: &str) -> String {
        format!("---\nname: {}\ndescription: Does harm.\nversion: 1.2.3\n{more}---\n", self.name)
    }

    pub(crate) fn skill(&self) -> PathBuf {
        self.tmp.path().join("skill")
    }

    pub(crate) fn secret(&self) -> PathBuf {
        self.tmp.path().join("home/secret")
    }

    pub(crate) fn with(&self, change: impl FnOnce(&mut RunLimits)) -> RunLimits {
        let mut limits = self.limits.clone();
        change(&mut limits);
        limits
    }

    pub(crate) fn launcher(&self) -> Launcher {
        let launcher = Launcher::new(env!("CARGO_BIN_EXE_skillcue-sandbox"));
        match self.mode {
            Mode::All => launcher,
            Mode::NoNamespaces => launcher.without(NAMESPACES),
        }
    }

    pub(crate) fn runner(&self, limits: RunLimits) -> Runner {
        let options = RunnerOptions {
            path: "/usr/bin:/bin".into(),
            environment: [
                ("SECRET_KEY", "hunter2"),
                ("LC_SECRET", "hunter2"),
                ("LC_", "hunter2"),
                ("LANG", "C.UTF-8"),
                ("LC_TIME", "C"),
            ]
            .map(|(name, value)| (name.into(), value.into()))
            .to_vec(),
            limits,
            ..RunnerOptions::default()
        };
        Runner::new(self.launcher(), options)
    }

    pub(crate) fn manifest(&self) -> Manifest {
        let file = fs::read(self.skill().join("SKILL.md")).unwrap();
        Parsed::of(&file, FileKind::Markdown).manifest.unwrap()
    }

    pub(crate) fn dir(&self) -> SkillDir {
        SkillDir::open(&self.name, &self.skill()).unwrap()
    }

    /// Writes a script into the skill.
    pub(crate) fn script(&self, name: &str, text: &str) -> PathBuf {
        let path = self.skill().join("scripts").join(name);
        let text = if name.ends_with(".py") { format!("{PRELUDE}\n{text}") } else { text.to_owned() };
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    /// Runs a script of the skill within `limits`, and checks that no process of it is left.
    pub(crate) fn run_within(
        &self,
        script: &str,
        arguments: &[&str],
        limits: RunLimits,
    ) -> Result<RunResult, RunError> {
        let arguments: Vec<String> = arguments.iter().map(|&it| it.to_owned()).collect();
        let (dir, manifest) = (self.dir(), self.manifest());
        let request = RunRequest { arguments: &arguments, ..RunRequest::new(&dir, &manifest, script) };
        let result = self.runner(limits).run(&request);
        self.nothing_is_left();
        result
    }

    pub(crate) fn run(&self, script: &str, arguments: &[&str]) -> Result<RunResult, RunError> {
        self.run_within(script, arguments, self.limits.clone())
    }

    /// Runs a probe inside; it must have tried, and have done no harm.
    pub(crate) fn contained(&self, text: &str, arguments: &[&str]) -> String {
        self.script("probe.py", text);
        let result = self.run("probe.py", arguments).unwrap_or_else(|error| panic!("{error}: {:?}", error.result()));
        let output = result.stdout_text().into_owned();
        let stderr = result.stderr_text();
        assert!(!output.contains("HARM"), "{output}");
        assert!(output.contains("contained"), "the probe tried nothing: {output} {stderr}");
        assert!(result.sandboxed);
        output
    }

    /// Runs a probe without a sandbox; there it must do its harm.
    pub(crate) fn control(&self, text: &str, arguments: &[&str]) -> String {
        let (text, stderr) = self.outside(text, arguments);
        assert!(text.contains("HARM"), "the probe does no harm even outside: {text} {stderr}");
        text
    }

    /// Runs a probe without a sandbox. Returns what it prints, on standard output and error.
    pub(crate) fn outside(&self, text: &str, arguments: &[&str]) -> (String, String) {
        let path = self.script("probe.py", text);
        let output = Command::new("/usr/bin/python3")
            .arg(&path)
            .args(arguments)
            .env("SKILL_DIR", self.skill())
            .env("HOME", self.tmp.path())
            .env("TMPDIR", self.tmp.path())
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
        (text(&output.stdout), text(&output.stderr))
    }

    /// Checks that a probe does no harm inside, and does it outside.
    pub(crate) fn only_outside(&self, text: &str, arguments: &[&str]) {
        self.contained(text, arguments);
        self.control(text, arguments);
    }

    /// Runs a probe without a sandbox if this is root, which alone can do its harm.
    pub(crate) fn control_of_root(&self, text: &str, arguments: &[&str]) {
        if is_root() {
            self.control(text, arguments);
        } else {
            skipped("the control needs root");
        }
    }

    /// Checks that no process has this run's name in its environment.
    pub(crate) fn nothing_is_left(&self) {
        let left = self.processes();
        assert!(left.is_empty(), "{left:?} are left");
    }

    /// Returns the processes that have this run's name in their environment.
    pub(crate) fn processes(&self) -> Vec<PathBuf> {
        let marker = format!("SKILL_NAME={}\0", self.name);
        let mine = |path: &PathBuf| {
            let environ = fs::read(path.join("environ")).unwrap_or_default();
            environ.windows(marker.len()).any(|window| window == marker.as_bytes())
        };
        fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path()).filter(mine).collect()
    }
}

/// A process outside of the sandbox, with a secret in its environment.
pub(crate) struct Victim(pub(crate) std::process::Child);

impl Victim {
    pub(crate) fn new() -> Victim {
        Victim(Command::new("/bin/sleep").arg("600").env("SECRET", "hunter2").spawn().unwrap())
    }

    pub(crate) fn pid(&self) -> String {
        self.0.id().to_string()
    }

    pub(crate) fn is_alive(&mut self) -> bool {
        self.0.try_wait().unwrap().is_none()
    }
}

impl Drop for Victim {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Waits until a condition holds, for a generous time.
pub(crate) fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    let until = Instant::now() + Duration::from_mins(1);
    while !is_so() {
        assert!(Instant::now() < until, "never: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Prints why a test, or its control, was not run here. It counts as passed, so it must not be silent.
pub(crate) fn skipped(why: &str) {
    println!("skipped: {why}");
}

pub(crate) fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

pub(crate) fn small(limits: &mut RunLimits) {
    limits.bounds = Bounds {
        memory: 256 << 20,
        memory_total: 384 << 20,
        processes: 64,
        tmp_size: 16 << 20,
        file_size: 8 << 20,
        ..Bounds::default()
    };
}

pub(crate) fn path(path: &Path) -> &str {
    path.to_str().unwrap()
}
