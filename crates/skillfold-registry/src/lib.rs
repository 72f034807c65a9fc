//! Which skills are installed and enabled, on disk, across runs: install, enable, lock, verify, update, remove, audit.
//!
//! What it does not do: print, ask, or look at the environment; and it never holds documentation.

mod audit;
mod disk;
mod sarif;

pub use audit::{Audit, Finding, RULES, Rule, Severity, audit};
pub use disk::{Disk, Seam, Step};
pub use sarif::sarif;
