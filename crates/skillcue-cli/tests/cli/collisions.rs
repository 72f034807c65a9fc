//! `doctor --collisions`: pairs of skills that compete.

use std::time::Duration;

use insta::assert_snapshot;
use skillcue::usage::UsageKind;
use skillcue_usage::{Ledger, LedgerEvent};

use crate::Sandbox;

fn with_pairs() -> Sandbox {
    let sandbox = Sandbox::new();
    let skill = |name: &str, description: &str, triggers: &str| {
        let text = format!(
            "---\nname: {name}\ndescription: {description}\nmetadata:\n  triggers:\n    keywords: [{triggers}]\n---\n# {name}\n"
        );
        sandbox.write(&format!("work/skills/{name}/SKILL.md"), text);
    };
    skill("invoices", "Writes invoices and payment reminders for customers, with tax.", "invoice, dunning");
    skill("billing", "Writes invoices and payment reminders for clients, by subscription.", "invoice, plan");
    skill("hiking", "Plans hikes in the Alps.", "hike");
    skill("crates", "Packs wooden boxes for parcels.", "parcel");
    sandbox
}

#[test]
fn a_pair_has_the_words_that_tell_it_apart_and_a_next_step() {
    let sandbox = with_pairs();
    let run = sandbox.isolated(&["doctor", "--collisions"]);
    assert_snapshot!(run, @r"
    exit 0
    --- stdout
    1 pair of 4 skills compete

    billing ↔ invoices  nearness 0.79
      both           invoices, payment, reminders, writes
      triggers       invoice
      only billing   billing, clients, subscription, plan
      only invoices  customers, dunning, tax
      → `skillcue tune billing --eval FILE` proposes words that tell it from the other
      → keep invoice as a trigger of one of them only
    --- stderr
    compared by text; --eval FILE adds labelled messages
    ");
    let json = sandbox.isolated(&["doctor", "--collisions", "--json"]).json();
    let keys: Vec<&String> = json["pairs"][0].as_object().unwrap().keys().collect();
    let all = "clients is_copy messages nearness next only selects shared skills triggers uses";
    assert_eq!(keys.iter().map(|key| key.as_str()).collect::<Vec<_>>().join(" "), all);
    assert_eq!(sandbox.isolated(&["doctor", "--collisions", "--strict"]).code, Some(1));
    let other = sandbox.isolated(&["doctor", "--collisions", "--skill", "hiking", "--json"]).json();
    assert_eq!(other["pairs"].as_array().map(Vec::len), Some(0));
    assert_eq!(sandbox.isolated(&["doctor", "--collisions", "--skill", "nothing"]).code, Some(1));
    assert_eq!(sandbox.isolated(&["doctor", "--eval", "x.jsonl"]).code, Some(2));
}

#[test]
fn labelled_messages_make_a_pair_of_texts_that_are_far_apart() {
    let sandbox = with_pairs();
    let line = |query: &str| format!("{{\"query\": \"{query}\", \"relevant\": [\"crates\"]}}\n");
    // Both need `crates` by their labels, and select `hiking`.
    sandbox.write("work/set.jsonl", line("plan a hike in the Alps") + &line("hikes in the Alps for Sunday"));
    let run = sandbox.isolated(&["doctor", "--collisions", "--eval", "set.jsonl"]);
    assert!(run.stdout.contains("crates ↔ hiking"), "{run}");
    assert!(run.stdout.contains("taken for each other in 2 messages"), "{run}");
    assert!(
        run.stdout.contains("`skillcue tune crates --eval set.jsonl`"),
        "the one that loses is to be changed: {run}"
    );
    // Without the file, the last kept run says so.
    sandbox.isolated(&["eval", "--keep", "set.jsonl"]);
    let kept = sandbox.isolated(&["doctor", "--collisions"]);
    assert!(kept.stdout.contains("crates ↔ hiking"), "{kept}");
    assert!(kept.stderr.contains("the messages of set.jsonl"), "{kept}");
    assert!(kept.stdout.contains("`skillcue tune crates`"), "it finds these messages by itself: {kept}");
}

#[test]
fn uses_make_a_pair_of_texts_that_are_far_apart() {
    let sandbox = with_pairs();
    let ledger = Ledger::new(sandbox.path("home/.local/share/skillcue/usage.db"));
    // In three conversations `hiking` was shown, and `crates` was loaded in its place.
    let event = |kind, skill: &str, conversation: u64| LedgerEvent {
        session: format!("s{conversation}"),
        turn: 1,
        tier: (kind == UsageKind::Shown).then_some(3),
        ..LedgerEvent::new(kind, skill)
    };
    let pair = |at| [event(UsageKind::Shown, "hiking", at), event(UsageKind::Loaded, "crates", at)];
    ledger.write(&(0..3).flat_map(pair).collect::<Vec<_>>()).unwrap();
    let run = sandbox.isolated(&["doctor", "--collisions"]);
    assert!(run.stdout.contains("crates ↔ hiking"), "{run}");
    assert!(run.stdout.contains("taken for each other in 3 uses"), "{run}");
    assert!(run.stdout.contains("`skillcue tune crates --eval FILE`"), "the one that loses is to be changed: {run}");
    assert!(run.stderr.contains("compared by text, use"), "{run}");
    let json = sandbox.isolated(&["doctor", "--collisions", "--skill", "crates", "--json"]).json();
    assert_eq!((&json["uses"], &json["pairs"][0]["uses"]), (&true.into(), &serde_json::json!([3, 0])), "{json}");
    // Without the ledger, text alone does not make it one.
    ledger.purge().unwrap();
    let without = sandbox.isolated(&["doctor", "--collisions"]);
    assert!(!without.stdout.contains("crates ↔ hiking"), "{without}");
    // Nor do events that a wrong clock has put into the years to come.
    let later = |event: LedgerEvent| LedgerEvent { at: event.at + Duration::from_hours(60 * 24), ..event };
    ledger.write(&(0..3).flat_map(pair).map(later).collect::<Vec<_>>()).unwrap();
    let without = sandbox.isolated(&["doctor", "--collisions"]);
    assert!(!without.stdout.contains("crates ↔ hiking"), "{without}");
}

#[test]
fn a_pair_names_the_clients_whose_lists_have_no_description_of_it() {
    let sandbox = Sandbox::new();
    let skill = |name: &str, description: &str| {
        let text = format!("---\nname: {name}\ndescription: {description}\n---\n# {name}\n");
        sandbox.write(&format!("home/.claude/skills/{name}/SKILL.md"), text);
    };
    for number in 0..100 {
        let words: Vec<String> = (0..40).map(|at| format!("w{}x", number * 40 + at)).collect();
        skill(&format!("m{number:03}"), &words.join(" "));
    }
    for (pair, what) in [("aa", "Writes invoices and payment reminders"), ("zz", "Plans hikes and mountain tours")] {
        skill(&format!("{pair}-one"), &format!("{what} for customers, with tax."));
        skill(&format!("{pair}-two"), &format!("{what} for customers, by subscription."));
    }
    let json = sandbox.run(&["doctor", "--collisions", "--json"]).json();
    let clients = |pair: &str| {
        let pairs = json["pairs"].as_array().unwrap();
        let found = pairs.iter().find(|one| one["skills"][0] == format!("{pair}-one"));
        found.unwrap_or_else(|| panic!("{pair}: {json}"))["clients"].clone()
    };
    // Claude Code drops descriptions from the end of the alphabet.
    let cut = clients("zz");
    let newest = cut.as_array().unwrap().iter().find(|one| one["client"] == "Claude Code, newest models");
    assert_eq!(newest.unwrap()["without"], serde_json::json!(["zz-one", "zz-two"]), "{cut}");
    assert_eq!(clients("aa"), serde_json::json!([]));
    let shown = sandbox.run(&["doctor", "--collisions"]);
    assert!(shown.stdout.contains("without a description in Claude Code; "), "{shown}");
}

#[test]
fn copies_are_told_from_variants_for_two_languages() {
    let sandbox = Sandbox::new();
    let text = "Reads and writes blobs, containers and leases of the storage service";
    sandbox.skill("work/skills/blob-py", &format!("{text} in Python."));
    sandbox.skill("work/skills/blob-rust", &format!("{text} in Rust."));
    sandbox.skill("work/skills/blob", &format!("{text}."));
    let json = sandbox.isolated(&["doctor", "--collisions", "--json"]).json();
    let copies: Vec<String> = json["pairs"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|pair| pair["is_copy"] == true)
        .map(|pair| format!("{} {}", pair["skills"][0].as_str().unwrap(), pair["skills"][1].as_str().unwrap()))
        .collect();
    assert_eq!(json["pairs"].as_array().map(Vec::len), Some(3), "{json}");
    assert!(!copies.contains(&"blob-py blob-rust".to_owned()), "{copies:?}");
    assert!(copies.contains(&"blob blob-py".to_owned()), "{copies:?}");
}
