//! What a message asks for.

use serde::{Deserialize, Serialize};

/// What a message asks for, beyond its subject.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Intent {
    /// An ordinary message.
    #[default]
    None,
    /// What the agent can do: the registry tier answers it.
    Registry,
    /// All documentation there is.
    All,
}
