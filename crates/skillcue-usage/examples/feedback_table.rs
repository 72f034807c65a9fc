//! Feedback on a labelled set, with simulated users who need only some of the skills, as a table in Markdown.
//!
//! ```sh
//! cargo run --release -p skillcue-usage --example feedback_table -- SKILLS_DIR MESSAGES [USERS]
//! ```

#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a table for people, of files that are there")]

use std::collections::BTreeMap;
use std::error::Error;
use std::path::Path;
use std::time::SystemTime;

use skillcue::eval::EvalCase;
use skillcue_usage::feedback;

#[path = "../tests/usage/skewed.rs"]
mod skewed;

use skewed::{ShownCount, SkewedUser, past_events, skills};

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let root = Path::new(args.first().ok_or("name a directory of skills")?);
    let messages = args.get(1).ok_or("name a file of messages")?;
    let users = args.get(2).and_then(|number| number.parse().ok()).unwrap_or(5);
    let cases = EvalCase::read(&std::fs::read_to_string(messages)?, None)?;
    let plain = skills(root, BTreeMap::new());
    println!("| never needed | user | messages | first | right bodies | right | wrong bodies | wrong | tokens |");
    println!("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |");
    for foreign_of_three in [1, 2] {
        let mut sums = [ShownCount::default(), ShownCount::default()];
        for seed in 1..=users {
            let user = SkewedUser { seed, foreign_of_three };
            let (past, present) = user.messages(&cases);
            let now = SystemTime::now();
            let learned = skills(root, feedback(&past_events(&plain, &past, now), now));
            let counts = [&plain, &learned].map(|skills| ShownCount::of(skills, &present));
            sums.iter_mut().zip(counts).for_each(|(sum, count)| sum.add(count));
            row(foreign_of_three, &seed.to_string(), present.len(), counts);
        }
        row(foreign_of_three, "all", 0, sums);
    }
    Ok(())
}

fn row(foreign: u8, user: &str, messages: usize, [before, after]: [ShownCount; 2]) {
    let cell = |get: fn(&ShownCount) -> usize| format!("{} → {}", get(&before), get(&after));
    println!(
        "| {foreign} of 3 | {user} | {messages} | {} | {} | {} | {} | {} | {} |",
        cell(|it| it.first),
        cell(|it| it.right_bodies),
        cell(|it| it.right),
        cell(|it| it.wrong_bodies),
        cell(|it| it.wrong),
        cell(|it| it.tokens)
    );
}
