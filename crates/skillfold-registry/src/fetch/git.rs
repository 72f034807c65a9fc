//! Git repositories.

use std::path::Path;

use super::error::FetchError;
use super::watch::Watch;
use crate::{Disk, Git};

/// What is wanted of which repository.
#[allow(dead_code, reason = "not built yet")]
pub(super) struct Wanted<'a> {
    pub(super) url: &'a str,
    pub(super) reference: Option<&'a str>,
    pub(super) subdir: Option<&'a str>,
}

pub(super) fn fetch(_: &Wanted<'_>, _: &Path, _: &Disk, _: &Git, watch: &Watch<'_>) -> Result<String, FetchError> {
    Err(FetchError::Git { from: watch.from.clone(), reason: "git cannot be asked yet".to_owned() })
}
