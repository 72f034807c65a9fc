//! Where the agent keeps what it keeps.

use std::path::PathBuf;

use crate::context::Context;
use crate::error::CliError;

/// The directory of all of it, if there is one.
#[derive(Debug, Clone)]
pub(crate) struct Places(Option<PathBuf>);

impl Places {
    pub(crate) fn of(context: &Context) -> Result<Places, CliError> {
        Ok(Places(context.environment()?.data_home.as_ref().map(|data| data.join("skillcue"))))
    }

    /// The same for who can do nothing without.
    pub(crate) fn needed(context: &Context) -> Result<Places, CliError> {
        let places = Places::of(context)?;
        match places.0 {
            Some(_) => Ok(places),
            None => Err(CliError::failure("no_home", "there is no directory that conversations are kept in")
                .help("set HOME or XDG_DATA_HOME")),
        }
    }

    fn below(&self, name: &str) -> Option<PathBuf> {
        self.0.as_ref().map(|dir| dir.join(name))
    }

    pub(crate) fn sessions(&self) -> Option<PathBuf> {
        self.below("sessions")
    }

    pub(crate) fn traces(&self) -> Option<PathBuf> {
        self.below("traces")
    }

    pub(crate) fn memory(&self) -> Option<PathBuf> {
        self.below("memory.db")
    }

    /// What was typed into chats.
    pub(crate) fn history(&self) -> Option<PathBuf> {
        self.below("agent-history")
    }
}
