//! The time that selection takes: `cargo test --release -p skillcue-select --test timing -- --ignored --nocapture`.
//!
//! Ignored, because a test that depends on a clock fails on a busy machine. Ten triggers a skill, of which one is one
//! of a thousand distinct patterns; `SKILLS` chooses how many skills.
#![allow(clippy::unwrap_used, reason = "a test says by panicking what is wrong")]

use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use skillcue_catalog::{Discovery, SkillRoot, Source};
use skillcue_select::{SelectOptions, Selector, Turn};

/// A deterministic stream of numbers.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }

    /// A made-up word; small numbers, which are common, give short ones.
    fn word(&mut self, vocabulary: u64) -> String {
        let mut number = self.below(vocabulary).min(self.below(vocabulary));
        let mut word = String::with_capacity(12);
        loop {
            // A hundred syllables, so that words share as few letters as real ones do.
            word.push(b"bcdfghjklmnpqrstvwxz"[(number % 20) as usize].into());
            word.push(b"aeiou"[(number / 20 % 5) as usize].into());
            number /= 100;
            if number == 0 {
                let end = ["n", "s", "", "ing", "ed", "r", "l", "t"][usize::from(word.as_bytes()[0]) % 8];
                return word + end;
            }
        }
    }
}

fn skill(number: u64) -> String {
    let mut random = Random(number + 1);
    let mut word = || random.word(400_000);
    let mut text =
        format!("---\nname: skill-{number}-{}\ndescription: Does {}.\ntriggers:\n  keywords:\n", word(), word());
    for _ in 0..4 {
        writeln!(text, "  - {}", word()).unwrap();
    }
    writeln!(text, "  - {} {}\n  - {} {}", word(), word(), word(), word()).unwrap();
    if number.is_multiple_of(2) {
        text.push_str("  - shared\n");
    }
    write!(text, "  verbs: [{}, {}]\n  patterns: ['{} .* {}']\n", word(), word(), word(), number % 1000).unwrap();
    text + "  files: ['*.tsx']\n---\n"
}

fn tree(root: &Path, count: u64) {
    for number in 0..count {
        let dir = root.join(format!("skill-{number}"));
        fs::create_dir_all(&dir).unwrap();
        let mut text = skill(number);
        // A thousand distinct patterns.
        let pattern = format!("'{} .* {}'", Random(number % 1000).word(400_000), number % 1000);
        let start = text.find("patterns: [").unwrap() + 11;
        let end = start + text[start..].find(']').unwrap();
        text.replace_range(start..end, &pattern);
        fs::write(dir.join("SKILL.md"), text).unwrap();
    }
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

#[test]
#[ignore = "it measures"]
fn timing() {
    let counts = std::env::var("SKILLS").unwrap_or_else(|_| "100,10000,100000".to_owned());
    for count in counts.split(',').map(|count| count.parse::<u64>().unwrap()) {
        let dir = tempfile::tempdir().unwrap();
        tree(dir.path(), count);
        let catalog = Discovery::new([SkillRoot::new(dir.path(), Source::User)]).run();
        let start = Instant::now();
        let selector = Selector::of(&catalog);
        let built = start.elapsed();
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        let peak = status.lines().find(|line| line.starts_with("VmHWM")).unwrap_or_default();
        let bytes = selector.to_bytes();
        let start = Instant::now();
        let selector = Selector::from_bytes(&bytes).unwrap();
        let read = start.elapsed();
        let start = Instant::now();
        assert!(selector.fits(&catalog));
        println!(
            "{count} skills ({peak}): build {built:?}, {} bytes, read {read:?}, fits {:?}",
            bytes.len(),
            start.elapsed()
        );
        for (label, words, mark) in [
            ("20 words", 20, ""),
            ("200 words", 200, ""),
            ("2000 words", 2000, ""),
            ("20 words, one shared", 20, " shared"),
        ] {
            let mut random = Random(7);
            let mut message = || (0..words).map(|_| random.word(400_000)).collect::<Vec<_>>().join(" ") + mark;
            let messages: Vec<String> = (0..200).map(|_| message()).collect();
            let mut matched = 0;
            let mut once = |message: &String| {
                let start = Instant::now();
                matched += selector.select(&catalog, &Turn::new(message), &SelectOptions::default()).matched;
                start.elapsed()
            };
            let cold = median(messages.iter().map(&mut once).collect());
            let warm = median(messages.iter().map(&mut once).collect());
            println!("  {label}: median {cold:?} first time, {warm:?} again; {} hits each", matched / 400);
        }
    }
}

/// Measures the most expensive pattern, and many of them.
#[test]
#[ignore = "it measures"]
fn hostile_patterns() {
    let message = "ab ".repeat(22_000);
    let word = "a".repeat(65_000);
    for pattern in [r"(\w+\s*){20}x", ".*.*.*=.*", "[a-z]{500}!", "(a|b|ab)*c", r"(?:\w{1,30} ){10}y", "a.{400}z"] {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("it")).unwrap();
        let text = format!("---\nname: it\ndescription: D.\ntriggers:\n  patterns: ['{pattern}']\n---\n");
        fs::write(dir.path().join("it/SKILL.md"), text).unwrap();
        let catalog = Discovery::new([SkillRoot::new(dir.path(), Source::User)]).run();
        let selector = Selector::of(&catalog);
        for message in [message.clone() + "x y z = c !", word.clone() + "xyz=c!"] {
            let start = Instant::now();
            selector.select(&catalog, &Turn::new(&message), &SelectOptions::default());
            let first = start.elapsed();
            let start = Instant::now();
            selector.select(&catalog, &Turn::new(&message), &SelectOptions::default());
            println!("{pattern}: {first:?}, again {:?}", start.elapsed());
        }
    }
    for count in [1_000, 10_000] {
        let dir = tempfile::tempdir().unwrap();
        for number in 0..count {
            let dir = dir.path().join(format!("s{number}"));
            fs::create_dir(&dir).unwrap();
            let pattern = format!("{} .* {}", Random(number).word(400_000), number % 7);
            let text = format!("---\nname: s{number}\ndescription: D.\ntriggers:\n  patterns: ['{pattern}']\n---\n");
            fs::write(dir.join("SKILL.md"), text).unwrap();
        }
        let catalog = Discovery::new([SkillRoot::new(dir.path(), Source::User)]).run();
        let start = Instant::now();
        let selector = Selector::of(&catalog);
        println!("{count} patterns: built in {:?}", start.elapsed());
        let mut random = Random(3);
        let message = (0..200).map(|_| random.word(400_000)).collect::<Vec<_>>().join(" ");
        let all = (0..count).map(|number| Random(number).word(400_000)).collect::<Vec<_>>().join(" ");
        for (label, message) in [("200 words", &message), ("one that holds what all need", &all)] {
            for _ in 0..2 {
                let start = Instant::now();
                selector.select(&catalog, &Turn::new(message), &SelectOptions::default());
                println!("  {label}: {:?}", start.elapsed());
            }
        }
    }
}
