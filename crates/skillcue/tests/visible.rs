//! A skill that is not for models reaches none, whatever the reason and whatever the surface.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use serde_json::{Value, json};
use skillcue::tools::{Call, ToolContext};
use skillcue::{DiscloseConfig, Enablement, Fallback, Mode, Policy, Request, Root, Session, Setup, Skillcue, Source};

/// Why a skill is not for models, with what says so in its front matter; one is switched off by its user.
const KINDS: [(&str, &str); 3] = [
    ("hides", "disable-model-invocation: true"),
    ("is-off", "license: off"),
    ("lacks", "requires: [no-such-program-anywhere]"),
];

/// A skill of each kind, one that another one shadows, and the control: a skill that is for models. All fit "invoice", and
/// all have a word in description and body that nothing else has.
fn house() -> (tempfile::TempDir, Skillcue) {
    house_with(DiscloseConfig::default())
}

fn house_with(config: DiscloseConfig) -> (tempfile::TempDir, Skillcue) {
    let tmp = tempfile::tempdir().unwrap();
    let write = |root: &str, name: &str, more: &str, secret: &str| {
        let dir = tmp.path().join(root).join(name);
        std::fs::create_dir_all(&dir).unwrap();
        let text = format!(
            "---\nname: {name}\ndescription: Writes invoices, {secret}.\n{more}\ntriggers: [invoice]\n---\nBody {secret}.\n"
        );
        std::fs::write(dir.join("SKILL.md"), text).unwrap();
        std::fs::write(dir.join("note.md"), format!("Note {secret}.\n")).unwrap();
    };
    for (name, more) in KINDS {
        write("user", name, more, "quetzal");
    }
    write("project", "twice", "license: MIT", "openly");
    write("user", "twice", "license: BSD", "quetzal");
    write("user", "open", "license: MIT", "openly");
    let roots =
        [Root::new(tmp.path().join("project"), Source::Project), Root::new(tmp.path().join("user"), Source::User)];
    let off = || Enablement { disable: ["is-off".to_owned()].into(), ..Enablement::default() };
    let setup = move || Setup { roots: Vec::new(), enablement: off() };
    let builder = Skillcue::builder().roots(roots).setup_by(setup).search_path(Vec::new()).disclosure(config);
    (tmp, builder.build().unwrap())
}

fn check(surface: &str, text: &str) {
    assert!(!text.contains("quetzal"), "{surface}: {text}");
    for (name, _) in KINDS {
        // A name that a model has said itself may be said back.
        assert!(!text.contains(name) || surface.contains(name), "{surface} names {name}: {text}");
    }
}

#[test]
fn the_skills_are_what_they_should_be() {
    let (_tmp, skills) = house();
    let catalog = skills.catalog();
    for (name, _) in KINDS {
        assert!(!catalog.get(name).unwrap().is_for_models(), "{name}");
    }
    assert!(!catalog.get("twice@user").unwrap().is_for_models());
    assert!(catalog.get("twice").unwrap().is_for_models() && catalog.get("open").unwrap().is_for_models());
}

#[test]
fn no_disclosure_shows_them() {
    let (_tmp, skills) = house();
    let prompt = skills.prompt().text;
    assert!(prompt.contains("openly"), "the control: {prompt}");
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
                    seen += usize::from(text.contains("openly"));
                    check(&format!("{policy:?} {fallback:?} {mode:?} {message}"), &text);
                }
            }
        }
    }
    assert!(seen > 10, "the control was shown {seen} times");
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
    assert!(found.1.contains("openly"), "the control: {}", found.1);
    check("search_skills", &found.1);
    assert!(call("load_skill", json!({"skill_id": "open"})).1.contains("openly"), "the control");
    let addresses = KINDS.iter().map(|(name, _)| (*name).to_owned()).chain(["$hides".to_owned()]);
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
