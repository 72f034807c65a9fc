//! The golden cases of disclosure with everything real: skills on disk, the index over triggers, the loader.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::fmt::Write as _;
use std::path::Path;

use serde_json::{Value, json};
use skillcue::eval::EvalCase;
use skillcue::{Counter, DiscloseConfig, Mode, Session, SkillRoot, Skillcue, Source};

/// The skills that a case lists, or generates.
fn skills_of(case: &Value) -> Vec<Value> {
    if let Some(listed) = case["skills"].as_array() {
        return listed.clone();
    }
    let generate = &case["generate"];
    (1..=generate["count"].as_u64().unwrap())
        .map(|i| {
            let keyword = generate["triggers"]["keywords"][0].as_str().unwrap().replace("{i}", &i.to_string());
            json!({
                "name": generate["name"].as_str().unwrap().replace("{i:02}", &format!("{i:02}")),
                "description": format!("Skill number {i}."),
                "triggers": {"keywords": [keyword]},
                "body": format!("Doc {i}."),
            })
        })
        .collect()
}

fn write_skill(dir: &Path, skill: &Value) {
    let name = skill["name"].as_str().unwrap();
    // JSON is YAML.
    let mut front = json!({"name": name, "description": skill["description"]});
    if !skill["triggers"].is_null() {
        front["triggers"] = skill["triggers"].clone();
    }
    let mut text = "---\n".to_owned();
    for (key, value) in front.as_object().unwrap() {
        writeln!(text, "{key}: {value}").unwrap();
    }
    write!(text, "---\n{}", skill["body"].as_str().unwrap()).unwrap();
    std::fs::create_dir(dir.join(name)).unwrap();
    std::fs::write(dir.join(name).join("SKILL.md"), text).unwrap();
}

#[test]
fn disclosure() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors/disclosure.json");
    let vectors: Value = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    let cases = vectors["cases"].as_array().unwrap();
    assert_eq!(cases.len(), 10);
    for case in cases {
        let dir = tempfile::tempdir().unwrap();
        for skill in skills_of(case) {
            write_skill(dir.path(), &skill);
        }
        let config = DiscloseConfig {
            counter: Counter::Bytes4,
            max_total_tokens: None,
            max_per_skill_tokens: None,
            ..DiscloseConfig::default()
        };
        let root = SkillRoot::new(dir.path(), Source::User);
        let skills = Skillcue::builder().root(root).disclosure(config).mode(Mode::Keyword).build().unwrap();
        let shown = skills.disclose(case["message"].as_str().unwrap());
        assert_eq!(u64::from(shown.tier.number()), case["tier"].as_u64().unwrap(), "{case}");
        if let Some(text) = case["text"].as_str() {
            assert_eq!(shown.turn, text);
        }
        let texts = |key: &str| case[key].as_array().cloned().unwrap_or_default();
        for line in texts("lines") {
            assert!(shown.turn.lines().any(|shown| shown == line.as_str().unwrap()), "{line}: {}", shown.turn);
        }
        for part in texts("contains") {
            assert!(shown.turn.contains(part.as_str().unwrap()), "{part}: {}", shown.turn);
        }
        for part in texts("absent") {
            assert!(!shown.turn.contains(part.as_str().unwrap()), "{part}: {}", shown.turn);
        }
    }
}

#[test]
fn lone_surrogates_in_json_are_errors() {
    for escape in [r"\ud800", r"\udfff", r"\ud83d x", r"\udc00\ud800"] {
        let line = format!("{{\"query\": \"a {escape}\", \"relevant\": []}}\n");
        assert_eq!(EvalCase::read(&line, None).unwrap_err().line, 1, "{escape}");
        let session = format!("{{\"version\": 1, \"turn\": 1, \"skills\": [], \"x\": \"{escape}\"}}");
        // Whatever it makes of a key that it does not know, it does not panic.
        let _ = Session::from_json(&session);
        let named = session.replace("[]", &format!("[{{\"name\": \"{escape}\"}}]"));
        assert!(Session::from_json(&named).is_err(), "{escape}");
    }
}
