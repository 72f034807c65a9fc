//! The configuration files of agents: which lines connect them with Skillcue, and how files are edited without losing a
//! byte of their owner's.
//!
//! [`Connector::files`] says what belongs into which file of a client. A [`SettingsFile`] plans a [`SettingsChange`], which
//! shows the text before and after and is then applied; a [`ConnectionStore`] keeps what was there before, so that the way
//! back is exact.
//!
//! ```
//! use skillcue_clients::Client;
//! use skillcue_clients::settings::{ClientFolders, ConnectionPart, ConnectionStore, Connector, Launch};
//!
//! let home = tempfile::tempdir()?;
//! let folders = ClientFolders::new(home.path(), &|_| None);
//! let connector = Connector::new(folders, Launch::new("/opt/skillcue"));
//! let store = ConnectionStore::new(home.path().join("data"));
//! for file in connector.files(Client::Gemini)? {
//!     file.connect(&[ConnectionPart::Hook, ConnectionPart::Mcp], &store)?.apply(&store)?;
//! }
//! let written = std::fs::read_to_string(home.path().join(".gemini/settings.json"))?;
//! assert!(written.contains("/opt/skillcue hook gemini 2>/dev/null || true"));
//! for file in connector.files(Client::Gemini)? {
//!     file.disconnect(&[ConnectionPart::Hook, ConnectionPart::Mcp], &store)?.apply(&store)?;
//! }
//! assert!(!home.path().join(".gemini").exists(), "as it was");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod change;
mod connector;
mod entry;
mod error;
mod folders;
mod json;
mod launch;
mod plugin;
mod record;
mod server;
mod toml;

pub use change::SettingsChange;
pub use connector::{ConnectionPart, Connector};
pub use entry::{SettingsEntry, SettingsFile, SettingsFormat};
pub use error::SettingsError;
pub use folders::ClientFolders;
pub use launch::{Launch, shell_word};
pub use plugin::is_own_plugin;
pub use record::ConnectionStore;
pub use server::{ServerReach, allow_rules, server_entry, server_snippet};
