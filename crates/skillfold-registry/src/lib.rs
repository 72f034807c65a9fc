//! Which skills are installed and enabled, on disk, across runs: install, enable, lock, verify, update, remove, audit.
//!
//! What it does not do: print, ask, or look at the environment; and it never holds documentation.

mod disk;

pub use disk::{Disk, Seam, Step};
