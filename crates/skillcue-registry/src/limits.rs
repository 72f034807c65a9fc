//! Limits for one fetch, its progress, and how it is cancelled.

use std::time::Duration;

/// The limits that fetching keeps to, whatever an archive or a server claims. Counted while reading, never taken from
/// headers.
///
/// ```
/// use skillcue_registry::FetchLimits;
///
/// let small = FetchLimits { entries: 100, bytes: 1 << 20, ..FetchLimits::default() };
/// assert!(small.entries < FetchLimits::default().entries);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FetchLimits {
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

impl Default for FetchLimits {
    /// Returns limits that the largest known collections of skills keep to.
    fn default() -> FetchLimits {
        FetchLimits {
            entries: 100_000,
            bytes: 1 << 30,
            file_bytes: 256 << 20,
            ratio: 100,
            depth: 32,
            time: Duration::from_mins(5),
        }
    }
}

/// Receives progress events, and can cancel. `()` ignores the events and never cancels.
///
/// ```
/// use std::sync::atomic::{AtomicBool, Ordering};
/// use skillcue_registry::{FetchEvent, FetchProgress};
///
/// struct Button(AtomicBool);
/// impl FetchProgress for Button {
///     fn is_cancelled(&self) -> bool {
///         self.0.load(Ordering::Relaxed)
///     }
/// }
/// Button(AtomicBool::new(false)).report(FetchEvent::Receiving { bytes: 1 });
/// ```
pub trait FetchProgress: Sync {
    /// Called often, with the current event.
    fn report(&self, event: FetchEvent<'_>) {
        let _ = event;
    }

    /// Returns whether to stop. Called often, at the latest every tenth of a second.
    fn is_cancelled(&self) -> bool {
        false
    }
}

impl FetchProgress for () {}

/// An event of a fetch under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum FetchEvent<'n> {
    /// An origin is being read, or its server asked.
    Fetching {
        /// The origin, as people write it.
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
        /// How many bytes there will be, if that is known.
        of: Option<u64>,
    },
}
