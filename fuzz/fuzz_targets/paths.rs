//! Whatever path is asked for, over whatever links, nothing from outside the skill's directory comes back.
#![no_main]

#[path = "../../crates/skillcue-catalog/tests/support/paths_target.rs"]
mod paths_target;

libfuzzer_sys::fuzz_target!(|data: &[u8]| paths_target::run(data));
