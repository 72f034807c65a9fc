//! Counts of uses by which lists are ordered, as they are kept for a generation in files beside the index cache.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use skillcue_base::is_draft;
use skillcue_catalog::Catalog;
use skillcue_disclose::UseCounts;

use crate::index_files::IndexFiles;

/// The kind of the file of counts of uses.
const USES: &str = "uses";

/// The counts by which the lists of one generation are ordered, as they are kept.
#[derive(Clone, Serialize, Deserialize)]
struct KeptUses {
    generation: String,
    uses: BTreeMap<String, u32>,
}

/// The number of generations whose counts are kept: servers that come and go change the generation to and fro.
const MAX_KEPT_USES: usize = 16;

/// Returns counts of uses that stay the same for a generation, in this process and in later ones: lists begin every request,
/// and a model's cache holds only what does not change. They are counted anew when the catalog has another generation, and
/// where they cannot be kept, they do not count.
pub(crate) fn kept_uses(counts: UseCounts, files: IndexFiles, catalog: Arc<Catalog>) -> UseCounts {
    UseCounts::new(move || {
        let generation = catalog.generation().to_string();
        let kept = || -> Vec<KeptUses> {
            files.read(USES).and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default()
        };
        let of_this = |kept: Vec<KeptUses>| kept.into_iter().find(|one| one.generation == generation);
        let mut all = kept();
        if let Some(known) = of_this(all.clone()) {
            return Some(known.uses);
        }
        all.insert(0, KeptUses { generation: generation.clone(), uses: counts.count()? });
        all.truncate(MAX_KEPT_USES);
        files.write(USES, &serde_json::to_vec(&all).ok()?);
        of_this(kept()).map(|known| known.uses)
    })
}

/// Removes the counts of uses by which lists are ordered, of all projects, beside an index cache: of what was recorded nothing
/// is left there. Lists that a running process has made stay as they are.
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// let index_cache = dir.path().join("index");
/// std::fs::write(dir.path().join("uses-0123456789abcdef"), "[]")?;
/// assert_eq!(skillcue::usage::remove_kept_uses(&index_cache)?, 1);
/// assert_eq!(dir.path().read_dir()?.count(), 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn remove_kept_uses(index_cache: &Path) -> io::Result<usize> {
    let is_missing = |error: &io::Error| error.kind() == io::ErrorKind::NotFound;
    let entries = match index_cache.parent().map(Path::read_dir) {
        Some(Ok(entries)) => entries,
        Some(Err(error)) if !is_missing(&error) => return Err(error),
        _ => return Ok(0),
    };
    let mut removed = 0;
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name();
        // Drafts of interrupted processes have counts, too.
        let name = name.to_str().map(|name| if is_draft(name) { &name[1..] } else { name });
        let is_kept = name.is_some_and(|name| name.strip_prefix(USES).is_some_and(|rest| rest.starts_with('-')));
        if !is_kept || !entry.file_type()?.is_file() {
            continue;
        }
        match std::fs::remove_file(entry.path()) {
            Ok(()) => removed += 1,
            Err(error) if is_missing(&error) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(removed)
}
