//! Catalogs on object stores: one published catalog for many machines.
//!
//! A catalog lies below one address of any store that the crate `object_store` speaks:
//!
//! - `blobs/sha256/aa/…`: files of skills, shards and indexes, by their digests;
//! - `catalog/NUMBER-DIGEST`: the document of one generation, never changed, with the digests of all of its shards and
//!   indexes, which have those of all files;
//! - `head`: the one object that changes, by conditional writes: the number of the current generation, the digest of its
//!   document, until when it is valid, and signatures.
//!
//! [`publish`] makes the skills of a directory part of the next generation; [`Catalogs`] brings those of configured
//! catalogs in, through the same verified door as servers of MCP ([`skillcue_mcp::host::door`]).
//!
//! ```
//! use std::sync::Arc;
//! use skillcue_fleet::{FleetEngine, PublishOptions, Store, inspect, publish};
//!
//! # let dir = tempfile::tempdir()?;
//! # std::fs::create_dir(dir.path().join("pdf"))?;
//! # std::fs::write(dir.path().join("pdf/SKILL.md"), "---\nname: pdf\ndescription: Reads PDF files.\n---\n# How\n")?;
//! let engine = FleetEngine::default();
//! let store = Store::new(Arc::new(skillcue_fleet::memory_store()), "memory:///acme");
//! let report = publish(&engine, &store, Some(dir.path()), &PublishOptions::default())?;
//! assert_eq!((report.sequence, report.added), (1, vec!["pdf".to_owned()]));
//! assert_eq!(inspect(&engine, &store, &[], true)?.entries[0].name(), "pdf");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod budget;
mod catalogs;
mod document;
mod engine;
mod error;
mod gc;
mod generation;
mod head;
mod inspect;
mod kept;
mod key;
pub mod limits;
mod memory;
mod publish;
mod source;
mod spec;
mod store;

pub use catalogs::{CatalogRefresh, CatalogStatus, Catalogs, CatalogsOptions};
pub use document::{BlobRef, Document, ShardRef};
pub use engine::FleetEngine;
pub use error::FleetError;
pub use gc::{CatalogGcReport, GcOptions, gc};
pub use head::{CatalogHead, GenerationId, HeadSignature, SeenGeneration, SignedHead};
pub use inspect::{CatalogReport, SignOptions, inspect, sign};
pub use key::{PublicKey, SigningKey};
pub use publish::{PolicyChange, PublishCheck, PublishOptions, PublishReport, publish};
pub use source::{CatalogSource, PullOutcome};
pub use spec::CatalogSpec;
pub use store::{Bandwidth, Store, StoreOptions, TrafficCount};

/// Returns a store in memory, for tests and examples.
pub fn memory_store() -> object_store::memory::InMemory {
    object_store::memory::InMemory::new()
}
