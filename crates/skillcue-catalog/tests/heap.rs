//! How much memory a catalog holds: less than 1 KB a skill beyond the skill's own text.
#![allow(clippy::unwrap_used, reason = "a test says by panicking what is wrong")]

use std::alloc::System;
use std::fs::File;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use skillcue_bench::{TreeOptions, generate};
use skillcue_catalog::{Catalog, Discovery, SkillRoot, Source};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

#[global_allocator]
static GLOBAL: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

const COUNT: usize = 2_000;

/// Returns a catalog, and the memory that it holds per skill beyond the skill's own text, in bytes.
fn held(discovery: &Discovery) -> (Catalog, usize) {
    // Thread pools and the like are made once and are not the catalog's.
    drop(discovery.run());
    let region = Region::new(GLOBAL);
    let catalog = discovery.run();
    let change = region.change();
    let held = change.bytes_allocated - change.bytes_deallocated;
    let text: usize = catalog.all().iter().map(|skill| skill.front_matter().len() + skill.name().len()).sum();
    let beyond = held.saturating_sub(text) / catalog.len();
    (catalog, beyond)
}

// One test: the allocator counts for the whole process.
#[test]
fn a_catalog_is_small() {
    let dir = tempfile::tempdir().unwrap();
    let tree = generate(&dir.path().join("tree"), &TreeOptions { count: COUNT, ..TreeOptions::default() }).unwrap();
    // Stamps of the last second are not trusted, and files read anew beside those from the cache would be counted.
    let old = SystemTime::now() - Duration::from_mins(1);
    for path in tree.paths().iter().map(PathBuf::as_path).chain([tree.root()]) {
        File::open(path).unwrap().set_modified(old).unwrap();
    }
    let discovery = Discovery::new([SkillRoot::new(tree.root(), Source::Inline)]);
    let (catalog, cold) = held(&discovery);
    assert_eq!(catalog.len(), COUNT);
    assert!(cold < 400, "{cold} bytes a skill, cold");

    let bodies: u64 = catalog.all().iter().map(|skill| skill.stamp().size).sum();
    let region = Region::new(GLOBAL);
    for skill in catalog.all() {
        let _ = skill.manifest();
    }
    let change = region.change();
    let manifests = (change.bytes_allocated - change.bytes_deallocated) / COUNT;
    assert!(cold + manifests < 1024, "{cold} + {manifests} bytes a skill with every manifest made");
    assert!(((cold + manifests) * COUNT) as u64 * 4 < bodies, "nothing of the bodies is held");

    let region = Region::new(GLOBAL);
    drop(catalog);
    let freed = region.change();
    assert!(freed.bytes_deallocated > COUNT * (cold + manifests) * 9 / 10, "dropping it frees it: {freed:?}");

    let cached = discovery.clone().cache(dir.path().join("index"));
    drop(cached.run());
    let (catalog, cached) = held(&cached);
    assert_eq!((catalog.effort().read, catalog.effort().reused), (0, COUNT));
    assert!(cached < 400, "{cached} bytes a skill, from the index cache");
}
