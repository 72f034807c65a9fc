//! The golden cases of the specification.

use serde_json::Value;
use skillcue_catalog::Source;
use skillcue_disclose::{Budget, Bytes4, Counter, Decision, Fragment, ListEntry, Tokens, prompt_section};

use crate::house::{House, unlimited};

fn cases(file: &str) -> Vec<Value> {
    let path = format!("{}/../../vectors/{file}.json", env!("CARGO_MANIFEST_DIR"));
    let value: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let cases = value["cases"].as_array().unwrap().clone();
    assert!(cases.len() >= 3, "{file} has {} cases", cases.len());
    cases
}

fn strings(value: &Value) -> Vec<&str> {
    value.as_array().map(|list| list.iter().map(|one| one.as_str().unwrap()).collect()).unwrap_or_default()
}

fn front(description: &str, triggers: &Value) -> String {
    let triggers = if triggers.is_null() { String::new() } else { format!("\ntriggers: {triggers}") };
    format!("description: {}{triggers}", Value::from(description))
}

#[test]
fn disclosure() {
    for case in cases("disclosure") {
        let mut house = House::new();
        if let Some(generate) = case.get("generate") {
            for i in 1..=generate["count"].as_u64().unwrap() {
                let put = |text: &str| text.replace("{i:02}", &format!("{i:02}")).replace("{i}", &i.to_string());
                let triggers = serde_json::from_str(&put(&generate["triggers"].to_string())).unwrap();
                let front = front(&format!("Skill number {i}."), &triggers);
                house.put(Source::User, &put(generate["name"].as_str().unwrap()), &front, &format!("Doc {i}."));
            }
        }
        for skill in case["skills"].as_array().into_iter().flatten() {
            let front = front(skill["description"].as_str().unwrap(), &skill["triggers"]);
            house.put(Source::User, skill["name"].as_str().unwrap(), &front, skill["body"].as_str().unwrap());
        }
        house.discover(skillcue_catalog::Enablement::default());
        let message = case["message"].as_str().unwrap();
        let shown = house.show(message, &unlimited(Counter::Bytes4), None);
        assert_eq!(u64::from(shown.tier.number()), case["tier"].as_u64().unwrap(), "{message}");
        assert_eq!(&*shown.stable, "");
        if let Some(text) = case["text"].as_str() {
            assert_eq!(shown.turn, text);
        }
        let lines: Vec<&str> = shown.turn.lines().collect();
        for line in strings(&case["lines"]) {
            assert!(lines.contains(&line), "{line} in:\n{}", shown.turn);
        }
        for part in strings(&case["contains"]) {
            assert!(shown.turn.contains(part), "{part} in:\n{}", shown.turn);
        }
        for part in strings(&case["absent"]) {
            assert!(!shown.turn.contains(part), "{part} in:\n{}", shown.turn);
        }
    }
}

#[test]
fn budget() {
    for case in cases("budget") {
        let limit = |key: &str| case["budget"][key].as_u64().map(|limit| Tokens(usize::try_from(limit).unwrap()));
        let budget = Budget { total: limit("total"), per_skill: limit("per_skill") };
        let given = case["fragments"].as_array().unwrap();
        let line = "Thirty-nine characters and a newline...\n";
        let texts: Vec<String> =
            given.iter().map(|one| line.repeat(usize::try_from(one["lines"].as_u64().unwrap()).unwrap())).collect();
        let fragments: Vec<Fragment<'_>> = given
            .iter()
            .zip(&texts)
            .map(|(one, text)| Fragment {
                name: one["name"].as_str().unwrap(),
                source: Source::from_word(one["source"].as_str().unwrap()).unwrap(),
                mention: false,
                score: 0.0,
                priority: 0,
                text,
            })
            .collect();
        let shares = budget.allot(&fragments, &Bytes4);
        let of = |decision: Decision| -> Vec<&str> {
            let those = shares.iter().filter(|share| share.decision == decision);
            those.map(|share| fragments[share.fragment].name).collect()
        };
        assert_eq!(of(Decision::Included), strings(&case["included"]));
        assert_eq!(of(Decision::Shortened), strings(&case["shortened"]));
        assert_eq!(of(Decision::Omitted), strings(&case["omitted"]));
        let used: Tokens = shares.iter().map(|share| share.tokens).sum();
        assert_eq!(used, shares.iter().map(|share| Tokens::bytes4(share.text.len())).sum());
        if let Some(most) = case["max_tokens"].as_u64() {
            assert!(used.0 as u64 <= most, "{used} of {most}");
        }
        let served = shares.iter().filter(|share| share.decision != Decision::Omitted);
        let order: Vec<&str> = served.map(|share| fragments[share.fragment].name).collect();
        if case.get("order").is_some() {
            assert_eq!(order, strings(&case["order"]));
        }
    }
}

#[test]
fn prompt() {
    for case in cases("prompt") {
        let skills = case["skills"].as_array().unwrap();
        let entries = skills.iter().map(|skill| ListEntry {
            id: skill["name"].as_str().unwrap().into(),
            description: skill["description"].as_str().unwrap().into(),
            priority: 0,
            source: Source::User,
            pinned: false,
            uses: 0,
        });
        let section = prompt_section(entries, Some(Tokens(4000)), &Bytes4);
        if let Some(text) = case["text"].as_str() {
            assert_eq!(&*section.text, text);
        }
        let mut lines = section.text.lines();
        for wanted in strings(&case["lines"]) {
            assert!(lines.any(|line| line == wanted), "{wanted} in:\n{}", section.text);
        }
        assert!(section.shortened.is_empty() && section.omitted.is_empty());
    }
}
