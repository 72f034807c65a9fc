//! Archives.

use std::path::Path;

use super::error::FetchError;
use super::watch::Watch;
use crate::Disk;

pub(super) fn fetch(_: &Path, _: &Path, _: &Disk, watch: &Watch<'_>) -> Result<(), FetchError> {
    Err(watch.damaged("archives cannot be read yet"))
}
