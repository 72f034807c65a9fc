//! The time that text relevance takes: `cargo test -p skillcue-select --release --test relevance_speed -- --ignored
//! --nocapture`.

#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "what it measures is what it is for")]

use std::time::{Duration, Instant};

use skillcue_select::{SkillDocument, TextIndex};

/// Random words, as often as words of a language are: the second half as often as the first, and so on.
struct Words {
    state: u64,
    common: Vec<&'static str>,
}

impl Words {
    fn new() -> Words {
        // Words that have synonyms, and so cost more.
        Words { state: 7, common: include_str!("../src/relevance/synonyms.txt").split_whitespace().collect() }
    }

    fn random(&mut self) -> u64 {
        self.state = self.state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        self.state >> 33
    }

    fn word(&mut self) -> String {
        // Zipf over 65,536 words: each power of two of ranks is as frequent as the next.
        let bits = self.random() % 16;
        let rank = usize::try_from((1 << bits) + self.random() % (1 << bits)).unwrap();
        // Every other word is one of the lists', so that the frequent ones are mixed.
        if rank.is_multiple_of(2) && rank / 2 < self.common.len() {
            return self.common[rank / 2].to_owned();
        }
        let syllables =
            ["ka", "ro", "mi", "ten", "sul", "par", "vo", "lin", "gre", "dos", "fi", "nat", "bur", "el", "zom", "qui"];
        let mut rest = rank + 4096;
        let mut word = String::new();
        while rest > 0 {
            word += syllables[rest % 16];
            rest /= 16;
        }
        word
    }

    fn text(&mut self, count: usize) -> String {
        (0..count).map(|_| self.word() + " ").collect()
    }
}

/// Returns the median, the 10th and the 95th percentile. On a busy machine the second is the most reliable.
fn percentiles(mut times: Vec<Duration>) -> [Duration; 3] {
    times.sort_unstable();
    [50, 10, 95].map(|percent| times[times.len() * percent / 100])
}

fn measure(count: usize, body: usize) -> Duration {
    let mut words = Words::new();
    let texts: Vec<[String; 3]> =
        (0..count).map(|at| [format!("{}-{at}", words.word()), words.text(30), words.text(body)]).collect();
    let documents = texts.iter().map(|[name, description, text]| SkillDocument {
        name,
        description,
        body: (body > 0).then_some(text),
        ..SkillDocument::default()
    });
    let start = Instant::now();
    let index = TextIndex::of_documents(documents);
    let built = start.elapsed();
    let mut times = Vec::new();
    for _ in 0..200 {
        let message = words.text(20);
        index.search(&message, 3, &|_| true);
        let start = Instant::now();
        let ranking = index.search(&message, 3, &|_| true);
        times.push(start.elapsed());
        assert!(!ranking.hits.is_empty());
    }
    let [middle, fast, slow] = percentiles(times);
    println!(
        "{count} skills, bodies of {body} words: built in {built:?}, searched in {middle:?} ({fast:?} to {slow:?})"
    );
    middle
}

#[test]
#[ignore = "measures time: of use in a release build on a quiet machine only"]
fn how_long_searching_takes() {
    // The printed numbers are the result: no test fails for a slow machine.
    for (count, body) in [(100, 0), (10_000, 0), (100_000, 0), (100, 300), (1_000, 300), (100_000, 300)] {
        measure(count, body);
    }
}
