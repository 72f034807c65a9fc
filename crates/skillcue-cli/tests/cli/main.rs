//! Outputs of the command line: whole outputs of the real binary, one module per command.

#![expect(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]

#[cfg(feature = "agent")]
mod agent;
#[cfg(feature = "agent")]
mod agent_batch;
#[cfg(feature = "agent")]
mod agent_chat;
#[cfg(feature = "agent")]
mod agent_foreign;
#[cfg(feature = "agent")]
mod agent_kept;
#[cfg(feature = "agent")]
mod agent_signals;
#[cfg(feature = "engine")]
mod call;
mod collisions;
mod completions;
mod config;
mod connect;
mod consent;
mod context;
mod doctor;
mod eval;
mod eval_history;
#[cfg(feature = "agent")]
mod eval_model;
/// The server at the far end of a wire that the host's own tests use.
#[path = "../../../skillcue-mcp/tests/host/fake.rs"]
#[expect(dead_code, reason = "the host's tests use all of it")]
mod far_server;
mod files;
mod fleet;
#[cfg(feature = "fleet")]
mod fleet_trust;
mod global;
mod hook;
#[cfg(feature = "agent")]
mod judge;
mod lint;
mod list;
mod load;
mod man;
mod mcp;
mod mcp_views;
mod model;
mod new;
mod pages;
mod policy;
mod policy_rules;
mod prompt;
mod read;
mod registry;
mod run;
mod sandbox;
mod search;
mod show;
mod start;
mod status;
mod studio;
mod terminal;
mod tools;
mod tune;
mod usage;
mod usage_rules;
mod validate;
mod watch;
mod why;

use sandbox::{Run, Sandbox};
