//! Disclosures, end to end: the golden cases, every policy and fallback, sessions, and properties that always hold.
#![allow(clippy::unwrap_used, reason = "a test whose setting fails has failed")]

#[path = "disclose/counters.rs"]
mod counters;
#[path = "disclose/engine.rs"]
mod engine;
#[path = "disclose/gaps.rs"]
mod gaps;
#[path = "disclose/house.rs"]
mod house;
#[path = "disclose/parts.rs"]
mod parts;
#[path = "disclose/properties.rs"]
mod properties;
#[path = "disclose/session.rs"]
mod session;
#[path = "disclose/shortlist.rs"]
mod shortlist;
#[path = "disclose/vectors.rs"]
mod vectors;
