//! Other agents: their hooks and their configuration files, as data and small adapters.
//!
//! An agent that people already use ([`Client`]) calls Skillcue before each prompt ([`hook`]), or starts it as an MCP server.
//! Both are lines in that agent's own files ([`settings`]). How much of a list of skills an agent shows by itself is [`listing`].
//! This crate knows the shapes of each agent; it decides nothing
//! about skills, and prints nothing.

pub mod hook;
pub mod listing;
pub mod settings;

pub use skillcue_catalog::Client;
