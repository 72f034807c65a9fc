//! The tools for measuring Skillcue: a deterministic generator of skills, the *floors* that a number is compared with,
//! a way to time both in one run, and the table that says whether the promise is kept.
//!
//! A time in milliseconds says more about the machine than about the program, so a promise of this
//! project is a time only where people wait for it. Else it is a ratio to a *floor*: the least that
//! any program could do for the same answer, such as opening every file and reading its first
//! 4 KiB. Both are timed in the same run, in turns, so that a noisy neighbour slows both.
//!
//! ```
//! use skillcue_bench::{TreeOptions, Plan, floor, generate};
//! use std::num::NonZeroUsize;
//!
//! let dir = tempfile::tempdir()?;
//! let tree = generate(&dir.path().join("skills"), &TreeOptions { count: 50, ..TreeOptions::default() })?;
//! let two = NonZeroUsize::new(2).expect("two is not zero");
//!
//! // In turns: one read of every file, then one stat of every file, three times over.
//! let (read, stat) = Plan::rounds(3).pair(
//!     || floor::read_4k(tree.paths(), two),
//!     || floor::stat(tree.paths(), two),
//! );
//! assert_eq!(read.runs, 3);
//! assert!(stat.min <= stat.median);
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! The parts:
//!
//! - [`generate()`] writes a tree of skills shaped like those found in public repositories; equal
//!   [`TreeOptions`] give equal bytes, on every machine and with any number of threads.
//! - [`triggers`] has ten triggers for every skill, and messages that hold some of them.
//! - [`conversation`] is one of fifty turns about ten skills, byte for byte the same each time.
//! - [`floor`] holds the bare programs; [`Naive`] is no floor but a rival: a loop over regular
//!   expressions.
//! - [`Plan`] times closures in turns; [`memory()`] asks the kernel what the process holds.
//! - [`Report`] is the table, for people and as JSON.
//!
//! Out of scope: this crate knows nothing of Skillcue. It depends on no other crate of the workspace, so that the tests
//! of each of them can use the generator, and it measures nothing by itself: `skillcue bench` and the criterion benches
//! do that.

pub mod conversation;
pub mod floor;
mod generate;
mod measure;
mod naive;
mod report;
pub mod triggers;

pub use generate::{
    BodyLength, GeneratedKind, GeneratedSkill, GeneratedTree, Layout, STAMP, TreeOptions, TriggerMix, generate,
    generate_with,
};
pub use measure::{Plan, ProcessMemory, RunTiming, memory, memory_of, reset_peak};
pub use naive::Naive;
pub use report::{Limit, Report, TimeRow, TokenRow};
