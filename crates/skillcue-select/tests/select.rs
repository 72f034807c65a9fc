//! Selection: the golden cases, each rule by itself, and properties over random catalogs.
#![allow(clippy::unwrap_used, reason = "a test says by panicking what is wrong")]

#[path = "select/explanations.rs"]
mod explanations;
#[path = "select/hybrid.rs"]
mod hybrid;
#[path = "select/many.rs"]
mod many;
#[path = "select/properties.rs"]
mod properties;
#[path = "select/rules.rs"]
mod rules;
#[path = "select/support.rs"]
mod support;
#[path = "select/vectors.rs"]
mod vectors;
