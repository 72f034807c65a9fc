//! Skills over the Model Context Protocol, both ways: [`server`] serves a skill tree to any client, [`host`] brings the
//! skills of remote servers in. The only crate that knows the protocol's SDK.

mod digest;
pub mod host;
mod scalar;
pub mod server;

pub use digest::digest;

pub(crate) use digest::digits;
