//! Scripts that try to do harm, each contained.
//!
//! Every probe prints a line that begins with `HARM` for what it managed to do, and `contained` for what it did not.
//! Where that is cheap, the same probe also runs outside of the sandbox and must do its harm there, so that a test
//! whose attack never worked is seen. After each run no process of it may be left. The whole table runs twice: with all
//! layers that the machine has, and without any namespace, as on a machine that allows none.
#![cfg(target_os = "linux")]
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::needless_raw_string_hashes,
    clippy::case_sensitive_file_extension_comparisons,
    clippy::format_collect,
    reason = "tests; probes are all written alike"
)]

mod case;

mod arguments;
mod files;
mod granted;
mod host;
mod interpreters;
mod kernel;
mod limits;
mod memory;
mod metadata;
mod network;
mod packages;
mod processes;
mod refusal;
mod unsandboxed;
mod waiting;

/// One test for each set of layers.
#[macro_export]
macro_rules! hostile {
    ($($(#[$meta:meta])* $name:ident($case:ident) $body:block)*) => {
        mod all_layers {
            use super::*;
            $($(#[$meta])* #[test] fn $name() { let $case = &Case::new(stringify!($name), Mode::All); $body })*
        }
        mod without_namespaces {
            use super::*;
            $($(#[$meta])* #[test] fn $name() { let $case = &Case::new(stringify!($name), Mode::NoNamespaces); $body })*
        }
    };
}
