//! The registry from outside: what it does, and what it does when the world ends meanwhile.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod again;
mod basics;
mod corrupt;
mod crash;
mod faults;
mod foreign;
mod hostile;
mod links;
mod operations;
mod shared;
mod stuck;
mod support;
mod together;
mod updates;
