//! The last generation that was seen of a catalog, against rollback. It is in the data directory: emptying the cache must
//! not let a store go back.
//!
//! A file that is there and cannot be read is an error, and so is one that cannot be written: working on without it would be
//! working on without protection, unnoticed.

use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde::{Deserialize, Serialize};
use skillcue_base::{Digest, os_message};
use skillcue_catalog::kept_catalog_name;

use crate::FleetError;
use crate::head::{CatalogHead, SeenGeneration};
use crate::kept::write;

/// The version of the file's format.
const VERSION: u32 = 2;

/// The file with the last generation that was seen of one catalog.
#[derive(Debug, Clone)]
pub(crate) struct SeenFile {
    path: PathBuf,
    /// The address as people see it, so that a person knows what the file is about.
    address: String,
}

/// The content of the file.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct SeenRecord {
    version: u32,
    catalog: String,
    address: String,
    seen: SeenGeneration,
}

impl SeenFile {
    /// Returns a reader's file of a catalog: by name and address, so that another catalog of this name has another file.
    pub(crate) fn of_reader(data: &Path, catalog: &str, url: &str) -> SeenFile {
        let path = data.join("catalogs").join(format!("{}.json", kept_catalog_name(catalog, url)));
        SeenFile { path, address: crate::store::shown_address(url) }
    }

    /// Returns a publisher's file of the catalog at an address: by that alone, so that a catalog of another name there is
    /// noticed.
    pub(crate) fn of_publisher(data: &Path, address: &str) -> SeenFile {
        let digits = Digest::of(address).to_string();
        let path = data.join("publishers").join(format!("{}.json", digits.get(..16).unwrap_or_default()));
        SeenFile { path, address: address.to_owned() }
    }

    fn failed(&self, why: String) -> FleetError {
        FleetError::Memory { path: self.shown_path(), why }
    }

    fn shown_path(&self) -> String {
        self.path.display().to_string()
    }

    fn record(&self) -> Result<Option<SeenRecord>, FleetError> {
        let bytes = match std::fs::read(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            read => read.map_err(|error| self.failed(os_message(&error)))?,
        };
        let record: SeenRecord = serde_json::from_slice(&bytes).map_err(|error| self.failed(error.to_string()))?;
        if record.version != VERSION {
            return Err(self.failed(format!("its format is {}, and this program reads {VERSION}", record.version)));
        }
        Ok(Some(record))
    }

    /// Reads the last generation that was seen; `None` if none was.
    pub(crate) fn read(&self) -> Result<Option<SeenGeneration>, FleetError> {
        Ok(self.record()?.map(|record| record.seen))
    }

    /// Keeps a generation as the last one that was seen, unless another process has seen a newer one.
    pub(crate) fn keep(&self, catalog: &str, seen: SeenGeneration) -> Result<(), FleetError> {
        let known = self.read()?;
        if known == Some(seen) || known.is_some_and(|known| known.sequence > seen.sequence) {
            return Ok(());
        }
        let record = SeenRecord { version: VERSION, catalog: catalog.to_owned(), address: self.address.clone(), seen };
        let bytes = serde_json::to_vec(&record).map_err(|error| self.failed(error.to_string()))?;
        write(&self.path, &bytes).map_err(|error| self.failed(os_message(&error)))
    }
}

/// The heads that a holder of a key builds upon, and by which a collection deletes: not older than what it has seen, not expired, and of one catalog.
///
/// With a key, a publisher vouches for all of the next generation. Without these checks it would make an old generation,
/// which a store has put back, into the newest one.
#[derive(Debug, Default)]
pub(crate) struct BaseCheck {
    pub(crate) seen: Option<SeenFile>,
    /// The lowest number that is accepted, for a publisher without a memory.
    pub(crate) at_least: u64,
    /// The name that the catalog must have.
    pub(crate) name: Option<String>,
    /// The number above which the next generation is, whatever was seen up to it: the store was restored or begun anew.
    pub(crate) above: u64,
    /// Whether one that has expired is accepted: a person has named exactly this generation.
    pub(crate) accepts_expired: bool,
}

impl BaseCheck {
    /// Checks the current head, or that there is none.
    pub(crate) fn check(&self, head: Option<&CatalogHead>, now: SystemTime) -> Result<(), FleetError> {
        let record = self.seen.as_ref().map(SeenFile::record).transpose()?.flatten();
        let seen = record.as_ref().map(|record| &record.seen).filter(|seen| seen.sequence > self.above);
        let remembered = seen.map_or(0, |seen| seen.sequence);
        let known = remembered.max(self.at_least);
        let offered = head.map_or(0, |head| head.signed().sequence);
        if offered < known {
            let memory = self.seen.as_ref().filter(|_| remembered == known).map(SeenFile::shown_path);
            return Err(FleetError::OldBase { offered, known, memory });
        }
        let Some(head) = head else { return Ok(()) };
        let name = self.name.as_ref().or(record.as_ref().map(|record| &record.catalog));
        head.check_origin(name.unwrap_or(&head.signed().catalog), &[], seen)?;
        if !self.accepts_expired && head.is_expired(now) {
            return Err(FleetError::Expired(head.expiry()));
        }
        Ok(())
    }

    /// Keeps a head that was checked, or written.
    pub(crate) fn keep(&self, head: &CatalogHead) -> Result<(), FleetError> {
        self.seen.as_ref().map_or(Ok(()), |seen| seen.keep(&head.signed().catalog, head.seen()))
    }
}
