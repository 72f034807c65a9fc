//! Whatever a skill file holds, reading it does not panic, and all ways of reading it agree.
#![no_main]

#[path = "../../crates/skillcue-format/tests/support/parse_target.rs"]
mod parse_target;

libfuzzer_sys::fuzz_target!(|data: &[u8]| parse_target::run(data));
