//! The directory of trials: a changed skill is there, and hides the real one from this process alone.

use std::fs;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use skillcue_base::os_message;

use crate::context::Context;
use crate::error::CliError;

/// A temporary directory, removed at the end.
pub(super) struct TrialDir(PathBuf);

impl TrialDir {
    pub(super) fn new(context: &Context) -> Result<TrialDir, CliError> {
        let temporary = std::env::var_os("TMPDIR").filter(|dir| !dir.is_empty()).map(PathBuf::from);
        let temporary = temporary.unwrap_or_else(std::env::temp_dir);
        let nanos = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.subsec_nanos());
        let dir = temporary.join(format!("skillcue-tune-{}-{nanos}", std::process::id()));
        fs::DirBuilder::new().mode(0o700).create(&dir).map_err(|error| {
            let message = format!("cannot make a directory for trials, {}: {}", dir.display(), os_message(&error));
            CliError::failure("tune", message).help("set TMPDIR to a directory that you may write to")
        })?;
        let dir = TrialDir(dir);
        context.try_skills_below(dir.path());
        Ok(dir)
    }

    pub(super) fn path(&self) -> PathBuf {
        self.0.clone()
    }
}

impl Drop for TrialDir {
    fn drop(&mut self) {
        // Best effort: it is a temporary directory.
        let _ = fs::remove_dir_all(&self.0);
    }
}
