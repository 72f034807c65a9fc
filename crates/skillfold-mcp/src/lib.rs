//! Skills over the Model Context Protocol, both ways: [`server`] serves a skill tree to any client, [`host`] brings the
//! skills of remote servers in. The only crate that knows the protocol's SDK.

pub mod host;
pub mod server;
