//! Measures how long it takes to choose the parts of long bodies: `parts DIRECTORY [TOKENS]` takes the skills below the
//! directory whose body is over the limit (2,000 tokens), with their descriptions as messages, and prints the times of the
//! choice, the least of nine for each.

#![expect(clippy::print_stdout, reason = "an example prints")]

use std::error::Error;
use std::time::{Duration, Instant};

use skillcue_catalog::{Discovery, SkillRoot, Source};
use skillcue_disclose::{Segment, TokenCounter as _, Tokens, shorten_for};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let directory = arguments.next().ok_or("usage: parts DIRECTORY [TOKENS]")?;
    let limit = arguments.next().map_or(Ok(2_000), |limit| limit.parse())?;
    let limit = Segment.reserve(Tokens(limit));
    let catalog = Discovery::new([SkillRoot::new(directory, Source::User)]).run();
    let (mut times, mut bodies) = (Vec::new(), 0);
    for skill in catalog.skills() {
        bodies += 1;
        let Ok(text) = std::fs::read_to_string(skill.path()) else { continue };
        let body = text.splitn(3, "---\n").nth(2).unwrap_or(&text);
        if Segment.count(body) <= limit {
            continue;
        }
        let choose = || {
            let start = Instant::now();
            let part = shorten_for(skill.manifest().description(), body, limit, skill.name(), &Segment);
            assert!(part.is_some_and(|part| part.tokens <= limit), "{}", skill.name());
            start.elapsed()
        };
        times.push(((0..9).map(|_| choose()).min().unwrap_or_default(), body.len()));
    }
    times.sort();
    let at = |share: usize| times.get(times.len().saturating_sub(1) * share / 100).copied().unwrap_or_default();
    println!("{} of {bodies} bodies are over the limit", times.len());
    for (what, share) in [("median", 50), ("95 of 100", 95), ("longest", 100)] {
        let (time, bytes): (Duration, usize) = at(share);
        println!("{what}: {:.2} ms (a body of {bytes} bytes)", time.as_secs_f64() * 1_000.0);
    }
    Ok(())
}
