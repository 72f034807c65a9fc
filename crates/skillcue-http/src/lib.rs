//! HTTP to models and MCP servers: one configuration of the client, one table of the addresses of this machine, one
//! reader of server-sent events.
//!
//! ```
//! use skillcue_http::{ClientOptions, Redirects, client, is_this_machine};
//! use skillcue_http::reqwest::Url;
//!
//! let url = Url::parse("http://localhost:8080/v1").unwrap();
//! assert!(is_this_machine(&url), "so no proxy is asked");
//! let options = ClientOptions { connect_timeout: std::time::Duration::from_secs(10), redirects: Redirects::None };
//! let client = client(&url, &options)?;
//! # Ok::<(), skillcue_http::reqwest::Error>(())
//! ```
//!
//! It is a crate of its own, and no feature of `skillcue-base`: features are the sum over a build, so that every crate
//! would be compiled with an HTTP client as soon as one asks for it.

mod authority;
mod client;
mod events;
mod machine;

pub use authority::{check_authority, is_loopback, is_own_page};
pub use client::{ClientOptions, Redirects, cause, client, is_tls_error};
pub use events::{EventTooLarge, Events};
pub use machine::is_this_machine;
pub use reqwest;
