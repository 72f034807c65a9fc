//! Which skills are installed and enabled, on disk, across runs: install, enable, lock, verify, update, remove, audit.
//!
//! What it does not do: print, ask, or look at the environment; and it never holds documentation.

mod disk;
mod fetch;
mod limits;
mod marketplace;
mod origin;
mod survey;

pub use disk::{Disk, Seam, Step};
pub use fetch::{Exceeded, FetchError, Fetched, Git, Refusal, fetch};
pub use limits::{Limits, News, Progress};
pub use origin::{Origin, OriginError};
pub use survey::{FoundPlugin, FoundSkill, PluginAt, Survey, survey};
