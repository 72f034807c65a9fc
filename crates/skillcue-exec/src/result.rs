//! The result of running a script, and the errors.

use std::borrow::Cow;
use std::fmt::Display;
use std::time::Duration;

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use skillcue_base::counted;
use skillcue_base::{ErrorInfo, Shown};
use skillcue_catalog::consent::{ConsentError, Question};
use skillcue_catalog::{FileError, PolicyRefusal};
use thiserror::Error;

use crate::error::{ExecError, NO_SANDBOX_HINT};
use crate::layer::SandboxReport;
use crate::memory::{MAX_LOCKS, MemoryBound, MemoryUse};

/// The result of a script that ran.
///
/// As JSON it is `{exit_code, stdout, stderr, truncated, duration, sandboxed, sandbox: {layers, missing, own_root,
/// memory}}`, with the duration in seconds; `signal` is there if one ended it, and `stdout_encoding` or
/// `stderr_encoding` says `lossy` where the output was not UTF-8.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct RunResult {
    /// The exit code; nothing, if a signal ended it.
    pub exit_code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// Standard output, byte for byte.
    pub stdout: Vec<u8>,
    /// Standard error, byte for byte.
    pub stderr: Vec<u8>,
    /// Whether there would have been more output.
    pub truncated: bool,
    /// The time that it took, with everything around it.
    pub duration: Duration,
    /// Whether it ran in a sandbox.
    pub sandboxed: bool,
    /// The layers that were in force, and those that were missing.
    pub sandbox: SandboxReport,
}

impl RunResult {
    /// Returns standard output as text.
    pub fn stdout_text(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.stdout)
    }

    /// Returns standard error as text.
    pub fn stderr_text(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.stderr)
    }

    /// Returns whether it exited with 0.
    pub fn is_success(&self) -> bool {
        self.exit_code == Some(0)
    }
}

impl Serialize for RunResult {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct SandboxFields<'s> {
            layers: &'s [crate::Layer],
            missing: &'s [crate::MissingLayer],
            own_root: bool,
            memory: MemoryBound,
        }
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("exit_code", &self.exit_code)?;
        if let Some(signal) = self.signal {
            map.serialize_entry("signal", &signal)?;
        }
        for (name, encoding, bytes) in
            [("stdout", "stdout_encoding", &self.stdout), ("stderr", "stderr_encoding", &self.stderr)]
        {
            let text = String::from_utf8_lossy(bytes);
            map.serialize_entry(name, &text)?;
            if let Cow::Owned(_) = text {
                map.serialize_entry(encoding, "lossy")?;
            }
        }
        map.serialize_entry("truncated", &self.truncated)?;
        map.serialize_entry("duration", &self.duration.as_secs_f64())?;
        map.serialize_entry("sandboxed", &self.sandboxed)?;
        let SandboxReport { layers, missing, own_root, memory, .. } = &self.sandbox;
        map.serialize_entry("sandbox", &SandboxFields { layers, missing, own_root: *own_root, memory: *memory })?;
        map.end()
    }
}

/// The reason why a script did not run, or did not run to its end.
#[derive(Debug, Error, ErrorInfo)]
#[non_exhaustive]
pub enum RunError {
    /// The organisation's policy lets no script run.
    #[error("it is {refusal}")]
    #[info(code = "policy", hint = refusal.help.clone())]
    Policy {
        /// The rule, and the policy that has it.
        refusal: Box<PolicyRefusal>,
    },
    /// The script took too long.
    #[error("it did not end within {}", seconds(limit))]
    #[info(code = "timeout", hint = "give it less to do, or more time")]
    Timeout {
        /// The time that it had.
        limit: Duration,
        /// Its result until then.
        result: Box<RunResult>,
    },
    /// The script wrote too much output.
    #[error("it wrote more than {}", counted(*limit, "byte"))]
    #[info(code = "output_truncated", hint = "let it write less, or to a file it may write")]
    OutputTruncated {
        /// The bytes that it could write.
        limit: usize,
        /// Its result until then.
        result: Box<RunResult>,
    },
    /// The script's processes took too much memory together, or too many locks on files, which count as memory.
    #[error("its processes {}", excess(*limit, used))]
    #[info(code = "memory", hint = if used.has_too_many_locks() { FEWER_LOCKS } else { LESS_AT_ONCE })]
    Memory {
        /// The memory that they could take, in bytes.
        limit: u64,
        /// The memory that they took.
        used: MemoryUse,
        /// Its result until then.
        result: Box<RunResult>,
    },
    /// The script started too many processes.
    #[error("it had more than {limit} processes and threads at once")]
    #[info(code = "processes", hint = LESS_AT_ONCE)]
    Processes {
        /// The number that it could have.
        limit: u32,
        /// Its result until then.
        result: Box<RunResult>,
    },
    /// The script wrote too much into its private temporary directory.
    #[error("it wrote more than {} MiB into its temporary directory", limit / (1024 * 1024))]
    #[info(code = "disk", hint = LESS_AT_ONCE)]
    Disk {
        /// The bytes that it could write.
        limit: u64,
        /// Its result until then.
        result: Box<RunResult>,
    },
    /// The caller cancelled the run.
    #[error("it was cancelled")]
    #[info(code = "cancelled", hint = "run it again")]
    Cancelled {
        /// Its result until then, if it had begun.
        result: Option<Box<RunResult>>,
    },
    /// The arguments are too many or too long, or no program can get them. Nothing was started.
    #[error("{reason}")]
    #[info(code = "args_too_large", hint = "pass less, or pass it as JSON on standard input")]
    ArgsTooLarge {
        /// The part that is too large.
        reason: String,
    },
    /// The skill has no such script.
    #[error("skill \"{}\" has no script \"{}\"{}", Shown(skill), Shown(script), did_you_mean(close))]
    #[info(code = "not_found", hint = "list the skill's scripts to see what it has")]
    NotFound {
        /// The skill.
        skill: String,
        /// The script that was asked for.
        script: String,
        /// Scripts with similar names, the most similar first.
        close: Vec<String>,
    },
    /// The script's path leads where it must not, or cannot be read.
    #[error(transparent)]
    #[info(transparent)]
    File(#[from] FileError),
    /// The interpreter of the script is missing.
    #[error("nothing runs \"{}\": {reason}", Shown(script))]
    #[info(code = "interpreter_not_found", hint = "install what is missing, and see that it is on the PATH")]
    InterpreterNotFound {
        /// The script.
        script: String,
        /// The missing part, in words.
        reason: String,
    },
    /// The script could not be started.
    #[error("{reason}")]
    #[info(code = "execution_failed", hint = "look at the script's first line and at what it needs")]
    ExecutionFailed {
        /// The reason.
        reason: String,
    },
    /// The most scripts that may run at once are running.
    #[error("{}, and no more may", running(*concurrent))]
    #[info(code = "busy", hint = "wait for one to end")]
    Busy {
        /// The number that may.
        concurrent: usize,
    },
    /// The skill asks for something that is not allowed for this content of the skill.
    #[error("skill \"{}\" asks for {}{}", Shown(skill_of(asked)), asked.permissions, because(reason.as_deref()))]
    #[info(code = "permission_required", hint = permission_hint(reason.is_some()))]
    PermissionRequired {
        /// The question that a person has to answer.
        asked: Box<Question>,
        /// The reason, if it is not the manifest that asks.
        reason: Option<String>,
    },
    /// The skill asks for something that cannot be allowed, or its files cannot be read.
    #[error(transparent)]
    #[info(transparent)]
    Consent(#[from] ConsentError),
    /// The machine offers no sandbox.
    #[error("this machine offers no sandbox: {reason}")]
    #[info(code = "sandbox_unavailable", hint = NO_SANDBOX_HINT)]
    SandboxUnavailable {
        /// The missing part, in words.
        reason: String,
    },
}

const LESS_AT_ONCE: &str = "give it less to do at once, or raise the limit";
const FEWER_LOCKS: &str = "let it lock fewer files, or fewer parts of them, at once";

/// Returns the hint: a permission that the manifest does not ask for cannot be allowed before it does.
fn permission_hint(is_not_asked_for: bool) -> &'static str {
    if is_not_asked_for {
        "let its manifest ask for it: permissions: {network: true}"
    } else {
        "look at the skill, then allow what it asks for"
    }
}

/// Says which bound on memory was exceeded: that on locks is a number of them, which no limit on memory changes.
fn excess(limit: u64, used: &MemoryUse) -> String {
    if used.has_too_many_locks() {
        format!("held more than {MAX_LOCKS} file locks at once")
    } else {
        format!("took more than {} MiB of memory together: {used}", limit / (1024 * 1024))
    }
}

impl RunError {
    pub(crate) fn failed(error: &dyn Display) -> RunError {
        RunError::ExecutionFailed { reason: error.to_string() }
    }

    /// Returns the result of the script until it was ended.
    pub fn result(&self) -> Option<&RunResult> {
        match self {
            Self::Timeout { result, .. }
            | Self::OutputTruncated { result, .. }
            | Self::Memory { result, .. }
            | Self::Processes { result, .. }
            | Self::Disk { result, .. } => Some(result),
            Self::Cancelled { result } => result.as_deref(),
            _ => None,
        }
    }
}

impl From<ExecError> for RunError {
    fn from(error: ExecError) -> RunError {
        match error {
            ExecError::SandboxUnavailable { reason } => RunError::SandboxUnavailable { reason },
            other => RunError::failed(&other),
        }
    }
}

fn skill_of(asked: &Question) -> &str {
    asked.subject.skill().unwrap_or_default()
}

fn seconds(limit: &Duration) -> String {
    format!("{} s", limit.as_secs_f64())
}

fn running(scripts: usize) -> String {
    format!("{} {} running", counted(scripts, "script"), if scripts == 1 { "is" } else { "are" })
}

fn did_you_mean(close: &[String]) -> String {
    match close.first() {
        Some(close) => format!(" (did you mean \"{}\"?)", Shown(close)),
        None => String::new(),
    }
}

fn because(reason: Option<&str>) -> String {
    reason.map(|reason| format!(": {reason}")).unwrap_or_default()
}
