//! Discovery, loading and parsing beside their floors, by criterion. `skillcue bench` prints them as one table.
//!
//! `cargo bench -p skillcue`; trees of 100, 1,000 and 10,000 skills, and of 100,000 with `SKILLCUE_BENCH_LARGE=1`.
#![allow(missing_docs, clippy::unwrap_used, reason = "a benchmark that cannot run should stop")]

use std::hint::black_box;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use skillcue::catalog::Discovery;
use skillcue::{LoadRequest, SkillRoot, Skillcue, Source};
use skillcue_bench::{GeneratedTree, TreeOptions, floor, generate};
use skillcue_format::{FileKind, Parsed};

fn tree(count: usize) -> GeneratedTree {
    let dir = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("tree-{count}"));
    generate(&dir, &TreeOptions { count, ..TreeOptions::default() }).unwrap()
}

fn sizes() -> Vec<usize> {
    let large = std::env::var_os("SKILLCUE_BENCH_LARGE").is_some();
    [100, 1_000, 10_000].into_iter().chain(large.then_some(100_000)).collect()
}

fn threads() -> NonZeroUsize {
    std::thread::available_parallelism().unwrap()
}

fn discover(c: &mut Criterion) {
    let mut group = c.benchmark_group("discover");
    group.sample_size(10).measurement_time(Duration::from_secs(3));
    for count in sizes() {
        let tree = tree(count);
        let discovery = Discovery::new([SkillRoot::new(tree.root(), Source::Inline)]);
        group.throughput(Throughput::Elements(count as u64));
        group.bench_function(BenchmarkId::new("ours", count), |b| b.iter(|| discovery.run()));
        let bare = |b: &mut criterion::Bencher<'_>| b.iter(|| floor::read_4k(tree.paths(), threads()).unwrap());
        group.bench_function(BenchmarkId::new("floor-open-read-4k", count), bare);
        let file = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("index-{count}"));
        let cached = discovery.clone().cache(file);
        while cached.run().effort().read > 0 {
            std::thread::sleep(Duration::from_millis(1_100));
        }
        group.bench_function(BenchmarkId::new("ours-index-cache", count), |b| b.iter(|| cached.run()));
        let bare = |b: &mut criterion::Bencher<'_>| b.iter(|| floor::stat(tree.paths(), threads()).unwrap());
        group.bench_function(BenchmarkId::new("floor-stat", count), bare);
    }
}

fn load(c: &mut Criterion) {
    let tree = tree(100);
    let skills = Skillcue::builder().skills_dir(tree.root()).build().unwrap();
    let catalog = skills.catalog();
    let skill = catalog.skills().next().unwrap();
    let (name, path) = (skill.name(), skill.path());
    let request = LoadRequest { arguments: "report.pdf", ..LoadRequest::default() };
    let mut group = c.benchmark_group("load");
    group.bench_function("first", |b| {
        b.iter(|| {
            skills.clear_cache(None);
            skills.load(name, &request).unwrap()
        });
    });
    group.bench_function("floor-read", |b| b.iter(|| floor::read_whole(&path).unwrap()));
    group.bench_function("cached", |b| b.iter(|| skills.load(name, &request).unwrap()));
    group.bench_function("floor-stat", |b| b.iter(|| floor::stat_one(&path).unwrap()));
}

fn parse(c: &mut Criterion) {
    let options = TreeOptions { count: 1_000, ..TreeOptions::default() };
    let files: Vec<String> = (0..options.count).map(|index| options.skill(index).file).collect();
    let mut group = c.benchmark_group("parse");
    group.throughput(Throughput::Elements(files.len() as u64));
    group.bench_function("front-matter", |b| {
        b.iter(|| {
            for file in &files {
                black_box(Parsed::of(file.as_bytes(), FileKind::Markdown));
            }
        });
    });
}

criterion_group!(benches, discover, load, parse);
criterion_main!(benches);
