//! The bound on the memory of a job, and the parts of that memory.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Kernel memory for one lock on a part of a file: some 220 bytes, rounded up.
pub(crate) const LOCK: u64 = 256;
/// Locks that a job may have.
pub(crate) const MAX_LOCKS: u64 = 512;

/// The way in which the memory of all processes of a job together is bounded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum MemoryBound {
    /// The supervisor adds up all of [`MemoryUse`] every 50 ms, and ends the job when it is too much.
    Counted,
    /// Each process has a limit of its own, and nothing adds them up.
    EachProcess,
    /// Nothing bounds it.
    #[default]
    Unbounded,
}

/// The memory that a job held when it was looked at last or, if it was ended for that, when it was too much. In bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryUse {
    /// Memory resident in its processes.
    pub resident: u64,
    /// The kernel's tables of what its processes have mapped.
    pub page_tables: u64,
    /// Memory that its sockets hold, or can hold.
    pub sockets: u64,
    /// Memory that its pipes can hold.
    pub pipes: u64,
    /// Files in its private temporary directory and in shared memory, where those are in memory.
    pub files: u64,
    /// The kernel's notes of which parts of files are locked. As much as the job may have in all, if it has more than
    /// 512 locks: no more are counted.
    #[serde(default)]
    pub locks: u64,
}

impl MemoryUse {
    /// Returns the sum of all parts.
    pub fn total(&self) -> u64 {
        self.parts().into_iter().map(|(bytes, _)| bytes).sum()
    }

    /// Returns whether the job has more locks on files than any job may, however much memory that is.
    pub(crate) fn has_too_many_locks(&self) -> bool {
        self.locks > MAX_LOCKS * LOCK
    }

    fn parts(&self) -> [(u64, &'static str); 6] {
        [
            (self.resident, "resident"),
            (self.page_tables, "in page tables"),
            (self.sockets, "in socket buffers"),
            (self.pipes, "in pipes"),
            (self.files, "in temporary files"),
            (self.locks, "in file locks"),
        ]
    }
}

impl fmt::Display for MemoryUse {
    /// `380 MiB in socket buffers, 12 MiB resident`: the largest part first, without those below a megabyte.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = self.parts().map(|(bytes, kind)| (bytes >> 20, kind));
        parts.sort_by_key(|(megabytes, _)| std::cmp::Reverse(*megabytes));
        let shown = parts.iter().filter(|(megabytes, _)| *megabytes > 0);
        let words: Vec<String> = shown.map(|(megabytes, kind)| format!("{megabytes} MiB {kind}")).collect();
        f.write_str(if words.is_empty() { "less than 1 MiB" } else { "" })?;
        f.write_str(&words.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_part_is_named_first() {
        let used = MemoryUse { resident: 12 << 20, sockets: 380 << 20, pipes: 65_536, ..MemoryUse::default() };
        assert_eq!(used.to_string(), "380 MiB in socket buffers, 12 MiB resident");
        assert_eq!(used.total(), (392 << 20) + 65_536);
        assert_eq!(MemoryUse::default().to_string(), "less than 1 MiB");
        let locks = |locks| MemoryUse { locks, ..MemoryUse::default() }.has_too_many_locks();
        assert!(!locks(MAX_LOCKS * LOCK) && locks(2048 << 20));
    }
}
