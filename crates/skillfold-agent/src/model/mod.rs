//! Models behind HTTP: what is asked, what comes back.

mod request;

pub use request::{Answer, Delta, Request, Stop, SystemText, Usage};
