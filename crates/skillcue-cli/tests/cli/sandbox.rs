//! A machine of its own for each test: a home, a project, and nothing of the machine that the tests run on.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use tempfile::TempDir;

/// The user's settings.
pub(crate) const SETTINGS: &str = "home/.config/skillcue/skillcue.toml";

/// Opens a terminal of so many columns: the side of the person, and that of programs.
pub(crate) fn open_terminal(columns: u16) -> (File, File) {
    let person = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&person).unwrap();
    unlockpt(&person).unwrap();
    let name = ptsname(&person, Vec::new()).unwrap();
    let program = File::options().read(true).write(true).open(name.to_str().unwrap()).unwrap();
    tcsetwinsize(&program, Winsize { ws_row: 24, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 }).unwrap();
    (File::from(person), program)
}

/// `home` and, next to it, `work` with a `.git`: the project in which commands run.
pub(crate) struct Sandbox {
    root: TempDir,
}

/// The output of a run, for comparison with a snapshot.
pub(crate) struct Run {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Sandbox {
    pub(crate) fn new() -> Sandbox {
        let root = tempfile::tempdir().unwrap();
        for dir in ["home", "work/.git", "tmp"] {
            fs::create_dir_all(root.path().join(dir)).unwrap();
        }
        Sandbox { root }
    }

    /// With one good skill in the project, `pdf`, which has files beside.
    pub(crate) fn with_pdf() -> Sandbox {
        let sandbox = Sandbox::new();
        sandbox.write(
            "work/skills/pdf/SKILL.md",
            "---\nname: pdf\ndescription: Reads and fills PDF forms. Use when the user has a PDF.\nallowed-tools: Read, Bash(git add:*)\nmetadata:\n  version: 1.10\n  triggers:\n    keywords: [pdf, form]\n---\n# PDF\n\nRead $ARGUMENTS.\n\n## Forms\n\nSee [reference](reference.md).\n",
        );
        sandbox.write("work/skills/pdf/reference.md", "# Reference\n");
        sandbox
    }

    /// With `pdf`; `csv`, which has triggers of every kind; `origami`, which has none; and `secret`, which hides from
    /// models.
    pub(crate) fn with_library() -> Sandbox {
        let sandbox = Sandbox::with_pdf();
        sandbox.write(
            "work/skills/csv/SKILL.md",
            "---\nname: csv\ndescription: Reads tables and draws charts of them. Use when the user has a table.\nmetadata:\n  triggers:\n    keywords: [spreadsheet, 表, pivot table]\n    verbs: [chart]\n    patterns: ['plot .* against .*']\n    files: ['*.csv']\n    languages: [R]\n---\n# CSV\n\nRead the table.\n",
        );
        sandbox.skill(
            "work/skills/origami",
            "Folds cranes, boats and other animals out of paper. Use when someone folds.",
        );
        sandbox.write(
            "work/skills/secret/SKILL.md",
            "---\nname: secret\ndescription: Deletes a PDF for good. Use when a person says so.\ndisable-model-invocation: true\nmetadata:\n  triggers:\n    keywords: [pdf]\n---\n# Secret\n",
        );
        sandbox
    }

    pub(crate) fn path(&self, below: &str) -> PathBuf {
        self.root.path().join(below)
    }

    pub(crate) fn write(&self, below: &str, contents: impl AsRef<[u8]>) {
        let path = self.path(below);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, contents).unwrap();
    }

    /// A skill with nothing special about it.
    pub(crate) fn skill(&self, dir: &str, description: &str) {
        let name = Path::new(dir).file_name().unwrap().to_str().unwrap();
        self.write(
            &format!("{dir}/SKILL.md"),
            format!("---\nname: {name}\ndescription: {description}\n---\n# {name}\n"),
        );
    }

    /// The binary, in the project.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_skillcue"));
        command
            .args(args)
            .current_dir(self.path("work"))
            .env_clear()
            .env("HOME", self.path("home"))
            .env("TMPDIR", self.path("tmp"))
            .env("PATH", "/nonexistent");
        command
    }

    pub(crate) fn run(&self, args: &[&str]) -> Run {
        self.finish(self.command(args).output().unwrap())
    }

    /// Like `run`, with the system's programs on the PATH, for scripts to use.
    pub(crate) fn act(&self, args: &[&str]) -> Run {
        self.finish(self.command(args).env("PATH", "/usr/bin:/bin").env("SECRET", "hunter2").output().unwrap())
    }

    /// Like `run`, with something on stdin.
    pub(crate) fn run_with(&self, stdin: &[u8], args: &[&str]) -> Run {
        self.write("tmp/stdin", stdin);
        let stdin = File::open(self.path("tmp/stdin")).unwrap();
        self.finish(self.command(args).stdin(stdin).output().unwrap())
    }

    /// With nothing but the skills below `work/skills`.
    pub(crate) fn isolated(&self, args: &[&str]) -> Run {
        self.run(&[&["--isolated", "--skills-dir", "skills"], args].concat())
    }

    pub(crate) fn finish(&self, output: Output) -> Run {
        let redacted = |bytes: Vec<u8>| self.redact(&String::from_utf8(bytes).unwrap());
        Run { code: output.status.code(), stdout: redacted(output.stdout), stderr: redacted(output.stderr) }
    }

    /// Replaces what differs between machines: the temporary directory and the version.
    pub(crate) fn redact(&self, text: &str) -> String {
        text.replace(self.root.path().to_str().unwrap(), "[TMP]")
            .replace(&format!("bundled/{}", env!("CARGO_PKG_VERSION")), "bundled/[VERSION]")
    }
}

impl Run {
    /// Parses the document on stdout.
    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self}"))
    }
}

impl std::fmt::Display for Run {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut out = String::new();
        for (name, text) in [("stdout", &self.stdout), ("stderr", &self.stderr)] {
            if !text.is_empty() {
                let end = if text.ends_with('\n') { "" } else { "(no newline)\n" };
                let _ = write!(out, "--- {name}\n{text}{end}");
            }
        }
        write!(f, "exit {}\n{out}", self.code.map_or("by signal".to_owned(), |code| code.to_string()))
    }
}
