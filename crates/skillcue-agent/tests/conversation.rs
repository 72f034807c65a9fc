//! The conversation of fifty turns about ten skills: what is sent of it, and what is never sent twice.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::collections::{HashMap, HashSet};

use skillcue::Policy;
use skillcue_agent::Purpose;
use skillcue_agent::measure::{ConversationRun, RunPlan, run_conversation};
use skillcue_agent::model::Api;
use skillcue_bench::conversation::{TURNS, lines};
use skillcue_scripted::Received;

fn run(plan: &RunPlan) -> ConversationRun {
    let dir = tempfile::tempdir().unwrap();
    run_conversation(plan, dir.path()).unwrap()
}

/// The lines of bodies in a request, each with its number.
fn body_lines(received: &Received) -> HashMap<String, usize> {
    let texts = received.texts().into_iter().map(|(_, text)| text);
    let results = received.tool_results().into_iter().map(|(_, text)| text);
    let mut seen = HashMap::new();
    for text in texts.chain(results).chain([received.system()]) {
        for line in text.lines().filter(|line| line.starts_with("- For a ")) {
            *seen.entry(line.to_owned()).or_default() += 1;
        }
    }
    seen
}

/// Asserts that no request holds a line of a body twice, and that the bodies are there at all.
fn assert_nothing_twice(run: &ConversationRun) {
    let known: HashSet<String> = lines().into_iter().collect();
    let mut shown = HashSet::new();
    for request in &run.requests {
        // A request for a summary has the beginnings and ends of long texts.
        for (line, count) in body_lines(request).into_iter().filter(|(line, _)| !line.contains(" […] ")) {
            assert!(known.contains(&line), "{line}");
            assert_eq!(count, 1, "request {}: {line}", request.number);
            shown.insert(line);
        }
    }
    assert!(shown.len() > known.len() / 2, "{} of {} lines were shown", shown.len(), known.len());
}

fn total(run: &ConversationRun) -> u64 {
    run.lines.iter().map(|line| line.tokens.total()).sum()
}

#[test]
fn no_line_of_a_body_is_sent_twice_in_a_request() {
    for (policy, api) in
        [(Policy::Inject, Api::Anthropic), (Policy::Catalog, Api::OpenAi), (Policy::Hint, Api::Anthropic)]
    {
        let run = run(&RunPlan { policy, api, ..RunPlan::default() });
        assert_nothing_twice(&run);
        assert_eq!(run.lines.last().unwrap().turn, TURNS as u64);
        assert_eq!((run.compactions, run.requests.len()), (0, run.lines.len()));
    }
}

#[test]
fn nothing_is_sent_twice_after_compaction_and_continuation() {
    for policy in [Policy::Inject, Policy::Catalog] {
        let run = run(&RunPlan { policy, window: 24_000, continued_every: 7, ..RunPlan::default() });
        assert!(run.compactions > 1, "it was shortened {} times", run.compactions);
        assert_nothing_twice(&run);
    }
}

/// The trace says how much of a request repeats the one before; this reads the same from the bytes that were sent.
#[test]
fn the_trace_says_what_a_prompt_cache_can_hold() {
    let run = run(&RunPlan::default());
    assert_eq!(run.lines[0].repeated, 0);
    for (pair, line) in run.requests.windows(2).zip(&run.lines[1..]) {
        assert_eq!(line.purpose, Purpose::Answer);
        let total = line.tokens.total();
        assert!(line.repeated <= total, "{} of {total}", line.repeated);
        // Tools are read first: other tools, nothing that repeats beyond them.
        let is_same = |key: &str| pair[0].body[key] == pair[1].body[key];
        if is_same("tools") {
            assert!(line.repeated >= line.tokens.tools + line.tokens.system, "{line:?}");
        } else {
            assert!(line.repeated < line.tokens.tools, "{line:?}");
        }
    }
    let repeated: u64 = run.lines.iter().map(|line| line.repeated).sum();
    assert!(repeated * 10 > total(&run) * 6, "{repeated} of {}", total(&run));
}
