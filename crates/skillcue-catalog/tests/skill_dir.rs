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

use std::sync::OnceLock;

use skillcue_base::ErrorInfo as _;
use skillcue_catalog::{Backend, SkillDir};
use support::tree::Tree;

/// Each way of resolving. `Kernel` is there so that a machine with `openat2` cannot quietly test only the other one.
fn backends() -> &'static [Backend] {
    static BACKENDS: OnceLock<Vec<Backend>> = OnceLock::new();
    BACKENDS.get_or_init(|| {
        let tree = Tree::new();
        let mut backends = vec![Backend::Auto, Backend::Portable];
        let kernel = SkillDir::open_with("skill", &tree.skill, Backend::Kernel).unwrap();
        match kernel.read("reference.md", 1024) {
            Ok(_) => backends.push(Backend::Kernel),
            Err(error) => assert_eq!(error.code(), "unreadable", "only for want of `openat2`"),
        }
        backends
    })
}

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
