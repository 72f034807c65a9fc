//! Messages of a file: labelled as for `eval`, or one a line.

use std::path::{Path, PathBuf};

use skillcue::eval::EvalCase;
use skillcue_base::os_message;

use crate::commands::eval;
use crate::context::Context;
use crate::error::CliError;
use crate::turn::read_text;

/// Largest file of messages, in bytes.
const MAX_FILE: u64 = 64 << 20;

/// Most messages that a page offers to choose from; all of them are evaluated.
pub(super) const MAX_OFFERED: usize = 300;

/// The messages of a file.
#[derive(Debug, Default)]
pub(super) struct StudioMessages {
    pub(super) file: Option<PathBuf>,
    pub(super) cases: Vec<EvalCase>,
    /// Whether the messages say which skills they need.
    pub(super) is_labelled: bool,
}

impl StudioMessages {
    pub(super) fn read(file: &Path, context: &Context) -> Result<StudioMessages, CliError> {
        let text = read_text(file, MAX_FILE).map_err(|error| {
            CliError::failure("messages", format!("cannot read {}: {}", file.display(), os_message(&error)))
                .help("name a file with messages, one a line, or labelled as for `skillcue eval`")
        })?;
        let is_labelled = text.trim_start().starts_with(['{', '[']);
        let cases = if is_labelled {
            eval::parse_set(file, &text, None, context)?
        } else {
            let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
            let mut cases = Vec::new();
            for line in lines {
                let json = serde_json::json!({"query": line, "none": true}).to_string();
                cases.extend(EvalCase::read(&json, None).unwrap_or_default());
            }
            cases
        };
        Ok(StudioMessages { file: Some(file.to_path_buf()), cases, is_labelled })
    }

    /// Returns the texts of all messages.
    pub(super) fn queries(&self) -> impl Iterator<Item = &str> {
        self.cases.iter().map(|case| case.query.as_str())
    }

    /// Returns the messages that a page offers.
    pub(super) fn offered(&self) -> impl Iterator<Item = &EvalCase> {
        self.cases.iter().take(MAX_OFFERED)
    }
}
