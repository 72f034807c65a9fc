//! Measures on labelled messages how often the right section of a long body is disclosed: `tests/sections/README.md`.

#![allow(clippy::print_stdout, clippy::unwrap_used, clippy::expect_used, reason = "a program for developers")]
#![allow(clippy::cast_precision_loss, reason = "counts of some hundred messages")]

use std::path::Path;
use std::time::Instant;

use skillcue_disclose::{Counter, Tokens, cut, shorten_for};
use skillcue_load::Outline;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [tree, messages] = &arguments[..] else {
        return println!("usage: sections TREE MESSAGES.jsonl");
    };
    let text = std::fs::read_to_string(messages).expect("the messages");
    let cases: Vec<serde_json::Value> = text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let counter = Counter::O200k.counter().expect("feature exact-tokens");
    println!("limit: right section whole | tokens shown, of | if the tail is cut | milliseconds a body");
    for limit in [1000, 2000, 4000] {
        let (mut right, mut by_tail, mut shown, mut all, mut missed) = (0, 0, 0, 0, Vec::new());
        let mut time = std::time::Duration::ZERO;
        for case in &cases {
            let of = |field: &str| case[field].as_str().unwrap_or_default();
            let path = Path::new(tree).join(of("repo").replace('/', "__")).join(of("path"));
            let file = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            let body = body_of(&file);
            let outline = Outline::new(body);
            let heading = outline.headings().iter().find(|heading| &*heading.title == of("heading"));
            let Some(heading) = heading else {
                println!("no heading {:?} in {}", of("heading"), path.display());
                continue;
            };
            // Its own text, without the sections in it.
            let end = outline.headings().iter().map(|other| other.range.start).find(|at| *at > heading.range.start);
            let own = heading.range.start..end.unwrap_or(body.len()).min(heading.range.end);
            let has = |parts: &[std::ops::Range<usize>]| {
                parts.iter().any(|part| part.start <= own.start && own.end <= part.end)
            };
            let start = Instant::now();
            let part = shorten_for(of("message"), body, Tokens(limit), "skill", counter).expect("it fits");
            time += start.elapsed();
            assert!(part.tokens <= Tokens(limit));
            shown += part.tokens.0;
            all += counter.count(body).0;
            if has(&part.parts) {
                right += 1;
            } else {
                missed.push((of("heading"), of("message")));
            }
            by_tail += usize::from(cut(body, Tokens(limit), "skill", counter).is_some_and(|cut| has(&cut.parts)));
        }
        let count = cases.len().max(1);
        println!(
            "{limit}: {:.1} % | {}, {} | {:.1} % | {:.2}",
            100.0 * f64::from(right) / count as f64,
            shown / count,
            all / count,
            100.0 * by_tail as f64 / count as f64,
            time.as_secs_f64() * 1000.0 / count as f64
        );
        if limit == 2000 {
            for (heading, message) in &missed {
                println!("  missed {heading}: {message}");
            }
        }
    }
}

/// Returns a file without its front matter.
fn body_of(file: &str) -> &str {
    let text = file.trim_start_matches('\u{feff}');
    let front = text.strip_prefix("---").and_then(|rest| rest.find("\n---").map(|at| 3 + at + 4));
    front.and_then(|at| text[at..].find('\n').map(|end| &text[at + end + 1..])).unwrap_or(text)
}
