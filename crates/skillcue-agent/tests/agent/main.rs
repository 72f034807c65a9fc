//! The loop, against a server that speaks the real wire formats.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod batch;
mod compaction;
mod consent;
mod hints;
mod house;
mod interrupted;
mod judge;
mod leave;
#[path = "../../../skillcue/tests/support/not_for_models.rs"]
mod not_for_models;
mod once;
mod providers;
mod remember;
mod tokens;
mod tools;
mod usage;
mod visible;
mod walk;
