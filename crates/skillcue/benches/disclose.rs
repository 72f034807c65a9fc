//! A message against many skills with ten triggers each, by criterion. `skillcue bench` prints it as one table.
//!
//! `cargo bench -p skillcue --bench disclose`; 100 and 10,000 skills, and 100,000 with `SKILLCUE_BENCH_LARGE=1`.
//! After the warming up, bodies (one line each) come from the loader's cache and patterns are compiled.
#![allow(missing_docs, clippy::unwrap_used, reason = "a benchmark that cannot run should stop")]

use std::path::PathBuf;
use std::time::Duration;

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use skillcue::select::Selector;
use skillcue::{Request, Skillcue};
use skillcue_bench::triggers::{self, SkillTriggers};
use skillcue_bench::{BodyLength, GeneratedTree, Naive, TreeOptions, TriggerMix, generate};

/// The number of skills for the loop over regular expressions: its time grows with their number.
const NAIVE: usize = 1_000;

fn tree(count: usize) -> GeneratedTree {
    let dir = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("triggers-{count}"));
    let options = TreeOptions { count, bodies: BodyLength::Short, triggers: TriggerMix::Ten, ..TreeOptions::default() };
    generate(&dir, &options).unwrap()
}

fn sizes() -> Vec<usize> {
    let large = std::env::var_os("SKILLCUE_BENCH_LARGE").is_some();
    [100, 10_000].into_iter().chain(large.then_some(100_000)).collect()
}

fn messages(words: usize) -> Vec<String> {
    triggers::messages(2, words, if words < 1_000 { 200 } else { 30 })
}

fn index(c: &mut Criterion) {
    let mut group = c.benchmark_group("index-triggers");
    group.sample_size(10).measurement_time(Duration::from_secs(3));
    for count in sizes() {
        let catalog = Skillcue::builder().skills_dir(tree(count).root()).build().unwrap().catalog();
        group.bench_function(BenchmarkId::new("build", count), |b| b.iter(|| Selector::of(&catalog)));
        let bytes = Selector::of(&catalog).to_bytes();
        group.bench_function(BenchmarkId::new("kept", count), |b| b.iter(|| Selector::from_bytes(&bytes).unwrap()));
    }
}

fn disclose(c: &mut Criterion) {
    let mut group = c.benchmark_group("disclose");
    for count in sizes() {
        // Messages come again and again here: without a cache, so that each is matched.
        let skills = Skillcue::builder().skills_dir(tree(count).root()).match_cache(0).build().unwrap();
        skills.prepare();
        for words in [20, 200, 2_000] {
            let messages = messages(words);
            let mut next = messages.iter().cycle();
            group.bench_function(BenchmarkId::new(format!("{words}-words"), count), |b| {
                b.iter(|| skills.disclose(next.next().unwrap()));
            });
            let mut next = messages.iter().cycle();
            group.bench_function(BenchmarkId::new(format!("select-{words}-words"), count), |b| {
                b.iter(|| skills.select(&Request::new(next.next().unwrap())));
            });
        }
    }
}

/// A message that was matched before.
fn repeated(c: &mut Criterion) {
    let mut group = c.benchmark_group("repeated");
    for count in sizes() {
        let skills = Skillcue::builder().skills_dir(tree(count).root()).build().unwrap();
        skills.prepare();
        for words in [20, 200, 2_000] {
            let message = &messages(words)[0];
            group.bench_function(BenchmarkId::new(format!("select-{words}-words"), count), |b| {
                b.iter(|| skills.select(&Request::new(message)));
            });
        }
    }
}

fn naive(c: &mut Criterion) {
    let options = TreeOptions::default();
    let one = |index| (options.name(index), triggers::of(options.seed, index));
    let skills: Vec<(String, SkillTriggers)> = (0..NAIVE).map(one).collect();
    let naive = Naive::of(&skills);
    let mut group = c.benchmark_group("disclose");
    group.sample_size(10);
    for words in [20, 200, 2_000] {
        let messages = messages(words);
        let mut next = messages.iter().cycle();
        group.bench_function(BenchmarkId::new(format!("rival-loop-{words}-words"), NAIVE), |b| {
            b.iter(|| naive.matching(next.next().unwrap()));
        });
    }
}

criterion_group!(benches, index, disclose, repeated, naive);
criterion_main!(benches);
