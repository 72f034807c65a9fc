//! How much may be fetched, who hears of it, and who may stop it.

use std::time::Duration;

/// What fetching keeps to, whatever an archive or a server claims. Counted while reading, never taken from headers.
///
/// ```
/// use skillcue_registry::Limits;
///
/// let small = Limits { entries: 100, bytes: 1 << 20, ..Limits::default() };
/// assert!(small.entries < Limits::default().entries);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Files, directories and links together.
    pub entries: usize,
    /// Bytes of all files together; and of a git repository while it is fetched.
    pub bytes: u64,
    /// Bytes of one file.
    pub file_bytes: u64,
    /// How many times larger than the archive its files may be. Archives that unpack to a megabyte or less may be
    /// denser.
    pub ratio: u64,
    /// How many directories deep.
    pub depth: usize,
    /// How long one fetch may take.
    pub time: Duration,
}

impl Default for Limits {
    /// Room for the largest collections of skills there are, and no more.
    fn default() -> Limits {
        Limits {
            entries: 100_000,
            bytes: 1 << 30,
            file_bytes: 256 << 20,
            ratio: 100,
            depth: 32,
            time: Duration::from_mins(5),
        }
    }
}

/// Signs of life, and a way to stop. `()` is somebody who does not listen.
///
/// ```
/// use std::sync::atomic::{AtomicBool, Ordering};
/// use skillcue_registry::{News, Progress};
///
/// struct Button(AtomicBool);
/// impl Progress for Button {
///     fn cancelled(&self) -> bool {
///         self.0.load(Ordering::Relaxed)
///     }
/// }
/// Button(AtomicBool::new(false)).say(News::Auditing { name: "pdf" });
/// ```
pub trait Progress: Sync {
    /// Called with what happens just now, often.
    fn say(&self, news: News<'_>) {
        let _ = news;
    }

    /// Whether to stop. Asked often, at the latest every tenth of a second.
    fn cancelled(&self) -> bool {
        false
    }
}

impl Progress for () {}

/// What happens just now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum News<'n> {
    /// A place is being read or asked.
    Fetching {
        /// The place, as people write it.
        origin: &'n str,
    },
    /// A repository comes in.
    Receiving {
        /// How many bytes so far, as they are packed.
        bytes: u64,
    },
    /// Files are written.
    Unpacking {
        /// How many files, directories and links so far.
        entries: u64,
        /// How many bytes so far.
        bytes: u64,
        /// How many bytes there will be, if somebody knows.
        of: Option<u64>,
    },
    /// A skill is being audited.
    Auditing {
        /// Its name.
        name: &'n str,
    },
    /// A skill is being moved to its place.
    Installing {
        /// Its name.
        name: &'n str,
    },
}
