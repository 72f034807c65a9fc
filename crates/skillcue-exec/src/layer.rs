//! The layers of a sandbox, and the report about which of them were in force.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::memory::MemoryBound;

/// One layer of the sandbox. Each works by itself; together they overlap on purpose.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Layer {
    /// A user namespace: privileges inside mean nothing outside.
    UserNamespace,
    /// A namespace of processes: a job sees no process but its own, and all of them die with the first.
    PidNamespace,
    /// A network namespace without an interface.
    NetworkNamespace,
    /// An IPC namespace: no shared memory segments or message queues.
    IpcNamespace,
    /// A mount namespace, with a temporary directory of limited size and a `/proc` of its own; all else is read-only,
    /// if [`SandboxReport::read_only`] says so.
    MountNamespace,
    /// Rules in the kernel about files, TCP ports, abstract sockets and signals. Required.
    Landlock,
    /// A filter of system calls in the kernel. Required.
    Seccomp,
    /// Limits on memory, processes, open files, file sizes and processor time.
    ResourceLimits,
    /// Set-user-id programs give no privileges.
    NoNewPrivileges,
    /// No capability is left, not even for root.
    NoCapabilities,
    /// A parent that adds up memory and processes, and ends everything when the host is gone.
    Supervisor,
}

impl Layer {
    /// Returns the layer's stable word.
    pub fn word(self) -> &'static str {
        match self {
            Self::UserNamespace => "user_namespace",
            Self::PidNamespace => "pid_namespace",
            Self::NetworkNamespace => "network_namespace",
            Self::IpcNamespace => "ipc_namespace",
            Self::MountNamespace => "mount_namespace",
            Self::Landlock => "landlock",
            Self::Seccomp => "seccomp",
            Self::ResourceLimits => "resource_limits",
            Self::NoNewPrivileges => "no_new_privileges",
            Self::NoCapabilities => "no_capabilities",
            Self::Supervisor => "supervisor",
        }
    }
}

impl fmt::Display for Layer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// A layer that is not in force, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MissingLayer {
    /// The layer.
    pub layer: Layer,
    /// The reason, in words.
    pub reason: String,
}

/// The layers that were in force around one process, and those that were not.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SandboxReport {
    /// Whether the layers without which nothing counts as sandboxed were all there.
    pub sandboxed: bool,
    /// The layers in force.
    pub layers: Vec<Layer>,
    /// The layers not in force.
    pub missing: Vec<MissingLayer>,
    /// The version of Landlock's rules in force; 0 without it.
    pub landlock_abi: u32,
    /// Whether [`Layer::MountNamespace`] has made all read-only that may not be written. Without, changing modes and
    /// times of files is refused altogether.
    #[serde(default)]
    pub read_only: bool,
    /// Whether [`Layer::MountNamespace`] has made a root directory in which nothing exists but what may be reached.
    /// Without, other files cannot be opened, but their existence, size and times can be asked for.
    #[serde(default)]
    pub own_root: bool,
    /// The way in which memory is bounded.
    #[serde(default)]
    pub memory: MemoryBound,
}

/// The sandbox that a machine offers: the report of a process that was started to find out and did nothing.
pub type Support = SandboxReport;

impl SandboxReport {
    /// Returns whether `layer` was in force.
    pub fn has(&self, layer: Layer) -> bool {
        self.layers.contains(&layer)
    }

    /// Records whether one layer is in force.
    pub(crate) fn note<E: fmt::Display>(&mut self, layer: Layer, outcome: Result<(), E>) {
        match outcome {
            Ok(()) => self.layers.push(layer),
            Err(reason) => self.missing.push(MissingLayer { layer, reason: reason.to_string() }),
        }
    }

    /// Returns the layers that are required and missing, in words, for a refusal.
    pub(crate) fn missing_required(&self) -> String {
        let mut words = Vec::new();
        for missing in &self.missing {
            if matches!(missing.layer, Layer::Landlock | Layer::Seccomp) {
                words.push(format!("{} ({})", missing.layer, missing.reason));
            }
        }
        words.join(", ")
    }
}
