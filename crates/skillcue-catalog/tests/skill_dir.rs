//! `SkillDir` against hostile paths, hostile trees and hostile timing (S-1, S-2, S-3).
// Pipes, devices and `/proc` are made and used the Linux way here.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test whose setting fails has failed")]

mod support;

#[path = "skill_dir/listing.rs"]
mod listing;
#[path = "skill_dir/race.rs"]
mod race;
#[path = "skill_dir/reading.rs"]
mod reading;
#[path = "skill_dir/walking.rs"]
mod walking;

/// The fuzz target's corpus, as ordinary cases.
#[test]
fn fuzz_corpus() {
    let corpus = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/corpus/paths");
    let mut seen = 0;
    for entry in std::fs::read_dir(corpus).unwrap() {
        support::paths_target::run(&std::fs::read(entry.unwrap().path()).unwrap());
        seen += 1;
    }
    assert!(seen >= 12, "the corpus is there");
}
