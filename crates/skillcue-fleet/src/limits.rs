//! Limits: how much of a store is believed, kept in memory and waited for.

use std::time::Duration;

use skillcue_mcp::host::door;

/// The size of the largest `head`.
pub const MAX_HEAD: u64 = 64 << 10;
/// The size of the largest document of a generation.
pub const MAX_DOCUMENT: u64 = 16 << 20;
/// The size of the largest shard, as it is stored and as it is read.
pub const MAX_SHARD: u64 = 32 << 20;
/// The size of the largest shard once it is unpacked.
pub const MAX_SHARD_RAW: u64 = 64 << 20;
/// The size of the largest entry of a shard: larger than any front matter with the URIs and digests of 512 files.
pub const MAX_ENTRY_RAW: u64 = 2 << 20;
/// The size of all shards of a generation together, once they are unpacked.
pub const MAX_GENERATION_RAW: u64 = 2 << 30;
/// Like [`MAX_GENERATION_RAW`], for a catalog that no key vouches for: any writer of its store chooses what a reader unpacks,
/// and parsed entries take several times as much memory.
pub const MAX_UNSIGNED_RAW: u64 = 128 << 20;
/// The size of the largest index, as it is stored and once it is unpacked.
pub const MAX_INDEX: u64 = 1 << 30;
/// The size of the largest policy of a catalog.
pub const MAX_POLICY: u64 = 1 << 20;
/// The size of the largest file of a skill.
pub const MAX_FILE: u64 = door::MAX_BYTES;
/// How many skills a catalog may have.
pub const MAX_SKILLS: usize = 1_000_000;
/// How many signatures of a head are looked at.
pub const MAX_SIGNATURES: usize = 16;

/// How many skills a shard has at most when shards are cut anew.
pub(crate) const SKILLS_PER_SHARD: usize = 512;
/// How many shards there are at most: two to this power.
pub(crate) const MAX_SHARD_BITS: u8 = 12;
/// With fewer skills than this outside of the index over texts, it is not made anew.
pub(crate) const MIN_UNINDEXED: usize = 2_000;

/// How many requests run at once.
pub(crate) const CONCURRENT: usize = 16;
/// How many bytes of files a publisher has in memory between reading and writing them.
pub const MAX_IN_FLIGHT: u64 = 64 << 20;
/// How many bytes reading one skill may need: all of its files, and one more that is too large.
pub(crate) const LARGEST_READ: u64 = 2 * MAX_FILE;
/// How many bytes of the terms of bodies a publisher has in memory; more are in a file.
pub(crate) const MAX_TERMS_IN_MEMORY: usize = 16 << 20;
/// How many bodies are put into the index over texts at once.
pub(crate) const BODIES_AT_ONCE: usize = 16 << 10;
/// From this size on a blob is written in parts, each of this size.
pub(crate) const PART: usize = 8 << 20;
/// How often a request that failed is tried again.
pub(crate) const RETRIES: usize = 3;
/// How long one request is tried again.
pub(crate) const RETRY_TIMEOUT: Duration = Duration::from_secs(30);
/// The lowest rate, in bytes a second of all requests together, at which uploads are not given up.
pub(crate) const MIN_UPLOAD_RATE: u64 = 256 << 10;
/// The lowest rate, in bytes a second of all requests together, at which downloads are not given up.
pub(crate) const MIN_DOWNLOAD_RATE: u64 = 64 << 10;
/// How long a connection may take.
pub(crate) const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// The time limit for one answer to begin, and for each of its parts to come, unless a catalog says otherwise.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(10);
/// How often the store is asked for a newer generation, unless a catalog says otherwise.
pub const DEFAULT_POLL: Duration = Duration::from_mins(5);
/// How often it is asked at most.
pub const MIN_POLL: Duration = Duration::from_secs(5);
/// How long a store that failed is not asked again.
pub(crate) const FAILURE_TTL: Duration = Duration::from_mins(1);

/// How often a publisher merges its skills with those of others that were faster.
pub const MAX_ATTEMPTS: usize = 200;
/// How long a publish may take. Shorter than [`MIN_GRACE`], so that no collection can take from it what it relies on.
pub const MAX_PUBLISH: Duration = Duration::from_hours(1);
/// How long at least a generation that was replaced is kept, whatever the number.
pub const MIN_GRACE: Duration = Duration::from_mins(90);
/// How long a collection may take.
pub(crate) const MAX_COLLECTION: Duration = Duration::from_mins(10);
/// How long what is kept of a catalog that is not configured stays on disk: another configuration may still use it.
pub(crate) const MAX_UNUSED: Duration = Duration::from_hours(90 * 24);
/// How long a head is valid unless its publisher says otherwise.
pub const DEFAULT_EXPIRY: Duration = Duration::from_hours(30 * 24);
/// How far the clocks of two machines may differ.
pub(crate) const CLOCK_SKEW: Duration = Duration::from_mins(5);
