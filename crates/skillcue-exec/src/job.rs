//! A job to start: its program, its access to files and the network, its bounds.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// The program that runs inside the sandbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JobProgram {
    /// A program on disk, executed inside the sandbox.
    File(PathBuf),
    /// The helper's own engine: nothing is executed, the function given to
    /// [`run_if_asked`](crate::helper::run_if_asked) runs inside the sandbox, under a stricter filter: it can open no
    /// file, make no socket and start no process.
    Engine,
}

/// One process to start.
#[derive(Debug, Clone)]
pub struct Job {
    /// The program that runs.
    pub program: JobProgram,
    /// Its arguments, without its name. An engine gets none.
    pub args: Vec<OsString>,
    /// Its whole environment: nothing is inherited. With [`SandboxPolicy::private_tmp`], `HOME`, `TMPDIR`, `TMP` and
    /// `TEMP` are added.
    pub env: Vec<(OsString, OsString)>,
    /// Its working directory: `/`, if none is given.
    pub cwd: Option<PathBuf>,
    /// The files, programs and network that it may reach.
    pub policy: SandboxPolicy,
    /// The resources that it may use up.
    pub bounds: Bounds,
}

impl Job {
    /// Creates a job for `program`, which may reach what `policy` allows, within the default bounds.
    pub fn new(program: JobProgram, policy: SandboxPolicy) -> Job {
        Job { program, args: Vec::new(), env: Vec::new(), cwd: None, policy, bounds: Bounds::default() }
    }
}

/// The files, programs and network that a process may reach. Everything else is denied.
///
/// Paths that do not exist are passed over. A few devices (`/dev/null`, `/dev/full`, `/dev/random`, `/dev/urandom`;
/// where it can have mounts of its own, `/dev/zero`) and what the process may know of itself in `/proc` come with every
/// [`JobProgram::File`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SandboxPolicy {
    /// Files and directories with all below them that may be read and, with [`SandboxPolicy::execute`], executed.
    pub read: Vec<PathBuf>,
    /// Files and directories with all below them that may be read, written and removed.
    pub write: Vec<PathBuf>,
    /// Other names of what may be read or written. The links on the way to it exist as well where nothing else does
    /// ([`SandboxReport::own_root`](crate::SandboxReport::own_root)); what they lead to is not allowed by that.
    pub names: Vec<PathBuf>,
    /// Files and directories, without links on the way, that the job finds empty although what is around them may be
    /// read: where it has mounts of its own ([`Layer::MountNamespace`](crate::Layer::MountNamespace)).
    pub hidden: Vec<PathBuf>,
    /// Whether it may execute programs. Without, [`JobProgram::File`] itself is executed and nothing after it.
    pub execute: bool,
    /// Whether it may use the network: all of it, the machine's own addresses too.
    pub network: bool,
    /// Whether it gets an empty directory of its own, named by `HOME` and `TMPDIR`, which is gone afterwards.
    pub private_tmp: bool,
}

impl SandboxPolicy {
    /// Returns the policy that allows nothing at all, as an engine has it.
    pub fn nothing() -> SandboxPolicy {
        SandboxPolicy::default()
    }

    /// Returns the policy that an ordinary program needs in order to start: system libraries and programs, its own
    /// installation ([`interpreter_paths`](crate::interpreter_paths)), and a private temporary directory.
    pub fn program(program: &Path) -> SandboxPolicy {
        let mut read = crate::system_paths(false);
        read.extend(crate::interpreter_paths(program));
        SandboxPolicy { read, execute: true, private_tmp: true, ..SandboxPolicy::default() }
    }

    /// Adds the network, and the few files that looking up names needs.
    #[must_use]
    pub fn with_network(mut self) -> SandboxPolicy {
        self.network = true;
        self.read.extend(crate::program_paths::network_paths());
        self
    }
}

/// The resources that a job may use up. A limit of the whole job counts all of its processes together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bounds {
    /// Bytes of memory that one process may have for itself.
    pub memory: u64,
    /// Bytes of memory that all processes of the job may have together.
    pub memory_total: u64,
    /// Processes and threads at once.
    pub processes: u32,
    /// Open files of one process.
    pub open_files: u32,
    /// Bytes of one file.
    pub file_size: u64,
    /// Bytes in the private temporary directory.
    pub tmp_size: u64,
    /// Seconds of processor time of one process; unlimited if none.
    pub cpu_seconds: Option<u64>,
    /// The time that the job may take; unlimited if none. Kept by the supervisor, whatever the host does meanwhile.
    pub wall: Option<Duration>,
}

impl Default for Bounds {
    /// 1 GiB a process, 2 GiB in all, 128 processes and threads, 1,024 open files, files and the temporary directory
    /// of 256 MiB.
    fn default() -> Bounds {
        const MIB: u64 = 1024 * 1024;
        Bounds {
            memory: 1024 * MIB,
            memory_total: 2048 * MIB,
            processes: 128,
            open_files: 1024,
            file_size: 256 * MIB,
            tmp_size: 256 * MIB,
            cpu_seconds: None,
            wall: None,
        }
    }
}
