//! Times the comparison of a message with the vectors of 1,000, 13,000 and 100,000 skills, and reading these from bytes:
//! `cargo run --release -p skillcue-select --example cosines`.

#![allow(clippy::print_stdout, clippy::expect_used, reason = "a program for developers")]

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use skillcue_select::{SkillTextKeys, SkillVectors, VectorTable};

/// The number of dimensions of all-MiniLM-L6-v2.
const DIMENSIONS: u64 = 384;
/// The number of times that each is done; the least and the median are printed.
const RUNS: usize = 30;

fn main() {
    for count in [1_000, 13_000, 100_000] {
        let texts: Vec<String> = (0..count).map(|number| number.to_string()).collect();
        let keys = SkillTextKeys::of_texts(texts.iter().map(String::as_str));
        let empty = VectorTable::new("random");
        let fresh: BTreeMap<u128, Vec<f32>> =
            keys.missing(&empty).into_iter().map(|(skill, key)| (key, random(skill as u64))).collect();
        let table = empty.updated(&keys, &fresh);
        let bytes = table.to_bytes();
        let vectors = SkillVectors::of(&keys, Arc::new(table));
        let message = random(u64::MAX);
        let compare = || vectors.cosines(&message).expect("as many dimensions").nearest(30, &|_| true).len();
        let read = || VectorTable::from_bytes(&bytes, "random").map_or(0, |table| table.len());
        let (compared, read) = (timed(&compare), timed(&read));
        println!("{count} skills: compared in {compared}; {} MB read in {read}", bytes.len() / 1_000_000);
    }
}

/// Returns numbers from -1 to 1 that look random.
#[expect(clippy::cast_precision_loss, reason = "any numbers will do")]
fn random(seed: u64) -> Vec<f32> {
    let mix = |number: u64| {
        let mixed = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb) >> 40
    };
    let number = |at: u64| mix(seed.wrapping_mul(DIMENSIONS).wrapping_add(at)) as f32 / (1_u64 << 23) as f32 - 1.0;
    (0..DIMENSIONS).map(number).collect()
}

fn timed(work: &dyn Fn() -> usize) -> String {
    let mut times: Vec<Duration> = Vec::with_capacity(RUNS);
    for _ in 0..RUNS {
        let start = Instant::now();
        std::hint::black_box(work());
        times.push(start.elapsed());
    }
    times.sort_unstable();
    format!("{:.2} ms (least {:.2})", times[RUNS / 2].as_secs_f64() * 1e3, times[0].as_secs_f64() * 1e3)
}
