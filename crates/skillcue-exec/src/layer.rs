//! What a sandbox is made of, and what of it was in force.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::memory::MemoryBound;

/// One layer of the sandbox. Each works by itself; together they overlap on purpose.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Layer {
    /// Privileges inside mean nothing outside.
    UserNamespace,
    /// Sees no process but its own; all of them die with the first.
    PidNamespace,
    /// Has no network interface.
    NetworkNamespace,
    /// Shares no memory segments or message queues.
    IpcNamespace,
    /// Has a temporary directory of limited size, and a `/proc`, of its own; all else is read-only, if
    /// [`SandboxReport::read_only`] says so.
    MountNamespace,
    /// Files, TCP ports, abstract sockets and signals, by rules in the kernel. Required.
    Landlock,
    /// System calls, by a filter in the kernel. Required.
    Seccomp,
    /// Memory, processes, open files, file sizes, processor time.
    ResourceLimits,
    /// Set-user-id programs give nothing.
    NoNewPrivileges,
    /// No capability is left, not even for root.
    NoCapabilities,
    /// A parent that adds up memory and processes, and ends everything when the host is gone.
    Supervisor,
}

impl Layer {
    /// The layer's stable word.
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
pub struct Missing {
    /// Which one.
    pub layer: Layer,
    /// Why, in words.
    pub reason: String,
}

/// Which layers were in force around one process.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SandboxReport {
    /// Whether the layers without which nothing counts as sandboxed were all there.
    pub sandboxed: bool,
    /// In force.
    pub layers: Vec<Layer>,
    /// Not in force.
    pub missing: Vec<Missing>,
    /// The version of Landlock's rules in force; 0 without it.
    pub landlock_abi: u32,
    /// Whether [`Layer::MountNamespace`] has made all read-only that may not be written. Without, changing modes and times
    /// of files is refused altogether.
    #[serde(default)]
    pub read_only: bool,
    /// Whether [`Layer::MountNamespace`] has made a root directory in which nothing exists but what may be reached. Without,
    /// other files cannot be opened, but their existence, size and times can be asked for.
    #[serde(default)]
    pub own_root: bool,
    /// How memory is bounded.
    #[serde(default)]
    pub memory: MemoryBound,
}

/// What a machine offers: the report of a process that was started to find out and did nothing.
pub type Support = SandboxReport;

impl SandboxReport {
    /// Whether `layer` was in force.
    pub fn has(&self, layer: Layer) -> bool {
        self.layers.contains(&layer)
    }

    /// Notes how it went with one layer.
    pub(crate) fn note<E: fmt::Display>(&mut self, layer: Layer, outcome: Result<(), E>) {
        match outcome {
            Ok(()) => self.layers.push(layer),
            Err(reason) => self.missing.push(Missing { layer, reason: reason.to_string() }),
        }
    }

    /// The layers that are required and missing, in words, for a refusal.
    pub(crate) fn lacking(&self) -> String {
        let mut words = Vec::new();
        for missing in &self.missing {
            if matches!(missing.layer, Layer::Landlock | Layer::Seccomp) {
                words.push(format!("{} ({})", missing.layer, missing.reason));
            }
        }
        words.join(", ")
    }
}
