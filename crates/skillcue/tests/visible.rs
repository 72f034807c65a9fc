//! A skill that is not for models reaches none, whatever the reason and whatever the surface.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[path = "support/not_for_models.rs"]
mod not_for_models;

use not_for_models::{KINDS, OPEN, SECRET, builder, check, write};
use serde_json::{Value, json};
use skillcue::tools::{Call, ToolContext};
use skillcue::{DiscloseConfig, Fallback, Mode, Policy, Request, Session, Skillcue, Tier};

fn house() -> (tempfile::TempDir, Skillcue) {
    house_with(DiscloseConfig::default())
}

fn house_with(config: DiscloseConfig) -> (tempfile::TempDir, Skillcue) {
    let tmp = tempfile::tempdir().unwrap();
    write(tmp.path());
    let skills = builder(tmp.path()).disclosure(config).build().unwrap();
    (tmp, skills)
}

#[test]
fn the_skills_are_what_they_should_be() {
    let (_tmp, skills) = house();
    let catalog = skills.catalog();
    for name in KINDS.iter().map(|kind| kind.name) {
        assert!(!catalog.get(name).unwrap().is_for_models(), "{name}");
    }
    assert!(!catalog.get("twice@user").unwrap().is_for_models());
    assert!(catalog.get("twice").unwrap().is_for_models() && catalog.get("open").unwrap().is_for_models());
}

#[test]
fn no_disclosure_shows_them() {
    let (_tmp, skills) = house();
    let prompt = skills.prompt().text;
    assert!(prompt.contains(OPEN), "the control: {prompt}");
    check("prompt", &prompt);
    check("eager", &skills.catalog().close_names("hide").concat());
    let mut seen = 0;
    for policy in [Policy::Inject, Policy::Hint, Policy::Catalog] {
        for fallback in [Fallback::None, Fallback::ShowAll, Fallback::AskUser] {
            let (_tmp, skills) = house_with(DiscloseConfig { policy, fallback, ..DiscloseConfig::default() });
            for mode in [Mode::Keyword, Mode::Hybrid] {
                for message in ["the invoice", "what can you do?", "show all skills", "nothing", "quetz"] {
                    let shown = skills.disclose(Request::new(message).mode(mode));
                    let text = format!("{}\n{}", shown.stable, shown.turn);
                    seen += usize::from(text.contains(OPEN));
                    check(&format!("{policy:?} {fallback:?} {mode:?} {message}"), &text);
                }
            }
        }
    }
    assert!(seen > 10, "the control was shown {seen} times");
    // At some eagerness likely skills are named, whatever the certainty of matches by text is.
    let mut named = 0;
    for percent in (0..=100_u8).step_by(5) {
        let eagerness = f32::from(percent) / 100.0;
        for policy in [Policy::Inject, Policy::Hint] {
            let (_tmp, skills) = house_with(DiscloseConfig { policy, eagerness, ..DiscloseConfig::default() });
            for message in ["the invoice", "invoices, openly written", "quetz"] {
                let shown = skills.disclose(Request::new(message).mode(Mode::Hybrid));
                let is_named = shown.tier == Tier::Shortlist && shown.turn.contains("open");
                named += usize::from(is_named);
                check(&format!("{policy:?} {eagerness} {message}"), &shown.turn);
            }
        }
    }
    assert!(named > 0, "the control was never named");
    let mut session = Session::default();
    check("session", &skills.disclose(Request::new("the invoice").session(&mut session)).turn);
}

#[test]
fn no_tool_shows_them() {
    let (_tmp, skills) = house();
    let call = |tool: &str, arguments: Value| {
        let Value::Object(arguments) = arguments else { panic!("arguments are an object") };
        let output = skills.call_tool(&Call::new(tool, arguments), &ToolContext::default()).unwrap();
        let structured = output.structured.clone().unwrap_or_default().to_string();
        (output.is_error, format!("{}\n{structured}", output.text))
    };
    let found = call("search_skills", json!({"query": "invoice"}));
    assert!(found.1.contains(OPEN), "the control: {}", found.1);
    check("search_skills", &found.1);
    assert!(call("load_skill", json!({"skill_id": "open"})).1.contains(OPEN), "the control");
    let addresses = KINDS.iter().map(|kind| kind.name.to_owned()).chain(["$hides".to_owned()]);
    for id in addresses {
        for (tool, arguments) in
            [("load_skill", json!({"skill_id": id})), ("read_skill_file", json!({"skill_id": id, "path": "note.md"}))]
        {
            let (is_error, text) = call(tool, arguments);
            assert!(is_error, "{tool} {id}: {text}");
            check(&format!("{tool} {id}"), &text);
        }
    }
}

/// The higher of two skills has the name; the other one is had by its address, and is shown nowhere.
#[test]
fn a_shadowed_skill_is_had_by_its_address_alone() {
    let (_tmp, skills) = house();
    let load = |id: &str| {
        let Value::Object(arguments) = json!({"skill_id": id}) else { panic!("arguments are an object") };
        skills.call_tool(&Call::new("load_skill", arguments), &ToolContext::default()).unwrap()
    };
    assert!(load("twice").text.contains(OPEN));
    let addressed = load("twice@user");
    assert!(!addressed.is_error && addressed.text.contains(SECRET), "{}", addressed.text);
    let catalog = skills.catalog();
    let skill = catalog.get("twice@user").unwrap();
    assert!(skill.is_open_to_models() && !skill.is_for_models());
    for kind in &KINDS {
        let address = format!("{}@user", kind.name);
        assert!(load(&address).is_error && !catalog.get(&address).unwrap().is_open_to_models(), "{address}");
    }
}
