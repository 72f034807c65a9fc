//! The directories in which the agent keeps conversations, traces, memory and history.

use std::path::PathBuf;

use crate::context::Context;
use crate::error::CliError;

/// The directory of the agent's files, if there is one.
#[derive(Debug, Clone)]
pub(crate) struct AgentDirs(Option<PathBuf>);

impl AgentDirs {
    pub(crate) fn of(context: &Context) -> Result<AgentDirs, CliError> {
        Ok(AgentDirs(context.environment()?.data_home.as_ref().map(|data| data.join("skillcue"))))
    }

    /// Like [`of`](AgentDirs::of), but fails if there is no directory.
    pub(crate) fn needed(context: &Context) -> Result<AgentDirs, CliError> {
        let places = AgentDirs::of(context)?;
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

    /// Returns the file with the lines that were typed into chats.
    pub(crate) fn history(&self) -> Option<PathBuf> {
        self.below("agent-history")
    }
}
