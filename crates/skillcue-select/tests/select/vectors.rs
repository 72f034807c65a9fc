//! The golden cases of the specification.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::{Value, json};
use skillcue_select::{Intent, Mention, ReasonKind, Turn};

use crate::support::World;

fn vectors(file: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors").join(file);
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

fn texts(value: &Value) -> Vec<&str> {
    value.as_array().map(|list| list.iter().map(|text| text.as_str().unwrap()).collect()).unwrap_or_default()
}

fn world(vectors: &Value) -> World {
    let skills = vectors["skills"].as_array().unwrap();
    let fields = |skill: &Value| {
        let triggers = skill.get("triggers").cloned().unwrap_or(json!({}));
        json!({ "description": skill["description"], "triggers": triggers })
    };
    World::new(&skills.iter().map(|skill| (skill["name"].as_str().unwrap(), fields(skill))).collect::<Vec<_>>())
}

#[test]
fn selection() {
    let vectors = vectors("selection.json");
    let world = world(&vectors);
    assert_eq!(world.catalog.len(), 9);
    let cases = vectors["cases"].as_array().unwrap();
    assert_eq!(cases.len(), 33);
    for case in cases {
        let message = case["message"].as_str().unwrap();
        let (files, languages) = (texts(&case["files"]), texts(&case["languages"]));
        let turn = Turn::new(message).files(files).languages(languages);
        let selection = world.select(&turn);
        let names: Vec<&str> = selection.hits.iter().map(|hit| hit.name.as_str()).collect();
        let set: BTreeSet<&str> = names.iter().copied().collect();
        for (key, expected) in case.as_object().unwrap() {
            match key.as_str() {
                "expect" => assert_eq!(names, texts(expected), "{message}"),
                "expect_set" => assert_eq!(set, texts(expected).into_iter().collect(), "{message}"),
                "expect_first" => assert_eq!(names.first(), expected.as_str().as_ref(), "{message}"),
                "expect_any" => assert!(texts(expected).iter().all(|name| set.contains(name)), "{message}"),
                "expect_not" => assert!(!texts(expected).iter().any(|name| set.contains(name)), "{message}"),
                "message" | "files" | "languages" | "note" => {}
                other => panic!("what is {other}?"),
            }
        }
        for hit in &selection.hits {
            assert!(!hit.reasons.is_empty(), "{message}: {}", hit.name);
            let sum: f32 = hit.reasons.iter().map(|reason| reason.score).sum();
            assert!((sum - hit.score).abs() < 0.001, "{message}: {hit:?}");
        }
    }
}

#[test]
fn path_is_a_keyword_and_no_mention() {
    let world = world(&vectors("selection.json"));
    let hit = &world.select(&Turn::new("$PATH and $HOME are set")).hits[0];
    assert_eq!((hit.mention, hit.reasons[0].kind), (None, ReasonKind::Keyword));
    let hit = &world.select(&Turn::new("$path, and greet me")).hits[0];
    assert_eq!((hit.mention, hit.reasons[0].kind), (Some(Mention::Sigil), ReasonKind::Mention));
    let hit = &world.select(&Turn::new("cd /pdf-extractor/bin")).hits[0];
    assert_eq!(hit.mention, Some(Mention::Name));
}

#[test]
fn intents() {
    let vectors = vectors("intents.json");
    let cases = vectors["cases"].as_array().unwrap();
    assert_eq!(cases.len(), 20);
    for case in cases {
        let message = case["message"].as_str().unwrap();
        let expected: Intent = serde_json::from_value(case["expect"].clone()).unwrap();
        assert_eq!(Intent::of(message), expected, "{message}");
    }
}
