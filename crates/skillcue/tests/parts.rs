//! Long bodies in parts: loads within a limit, and turns within a number of characters.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::collections::HashMap;
use std::path::Path;

use serde_json::{Value, json};
use skillcue::disclose::LoadAdvice;
use skillcue::tools::{Call, ToolContext, ToolOutput};
use skillcue::{DiscloseConfig, Request, Session, Skillcue, Tier, Tokens};

/// A body of 30 sections, of which one is about signatures.
fn long_body(word: &str) -> String {
    let mut body = format!("# {word}\n\nAll about {word}.\n");
    for section in 0..30 {
        let title = if section == 21 { "Signatures".to_owned() } else { format!("Step {section}") };
        body.push_str(&format!("\n## {title}\n\n"));
        for line in 0..8 {
            body.push_str(&format!("- Rule {section}.{line} of {word}: look at 表格 {section} with care.\n"));
        }
    }
    body
}

fn write(root: &Path, name: &str, body: &str) {
    std::fs::create_dir_all(root.join(name)).unwrap();
    let front = format!("name: {name}\ndescription: About {name}.\ntriggers: [{name}]");
    std::fs::write(root.join(name).join("SKILL.md"), format!("---\n{front}\n---\n{body}")).unwrap();
}

fn skills(root: &Path, config: DiscloseConfig) -> Skillcue {
    write(root, "forms", &long_body("forms"));
    write(root, "short", "# Short\n\nUse it.\n");
    write(root, "with-place", &long_body("$ARGUMENTS"));
    Skillcue::builder().skills_dir(root).disclosure(config).build().unwrap()
}

fn load(skills: &Skillcue, arguments: Value, message: &str, session: &mut Session) -> ToolOutput {
    let Value::Object(arguments) = arguments else { panic!("arguments are an object") };
    let context = ToolContext { shown: Some(session), message, ..ToolContext::default() };
    let output = skills.call_tool(&Call::new("load_skill", arguments), &context).unwrap();
    if let Some(effect) = &output.effect {
        effect.record(session);
    }
    output
}

fn rules(text: &str) -> HashMap<&str, usize> {
    let mut rules = HashMap::new();
    for line in text.lines().filter(|line| line.starts_with("- Rule ")) {
        *rules.entry(line).or_default() += 1;
    }
    rules
}

#[test]
fn a_load_over_its_limit_gives_the_parts_that_fit_and_the_next_one_more() {
    let dir = tempfile::tempdir().unwrap();
    let limit = Tokens(1_000);
    let skills = skills(dir.path(), DiscloseConfig { max_load_tokens: Some(limit), ..DiscloseConfig::default() });
    let mut session = Session::default();
    let first = load(&skills, json!({"skill_id": "forms"}), "where do signatures go?", &mut session).text;
    assert!(first.starts_with("<skill_context id=\"forms\">") && first.contains("## Signatures\n"), "{first}");
    assert!(first.contains("All about forms.") && first.contains("[Not shown: Step "), "{first}");
    assert!(first.contains("parts shown. load_skill \"forms\" gives the rest, with \"section\" one part of it.]"));
    // A section that is there is referred to; one that is not is given.
    let section = |title: &str| json!({"skill_id": "forms", "section": title});
    assert!(load(&skills, section("Signatures"), "", &mut session).text.contains("is in this conversation already"));
    let mut all = vec![first];
    loop {
        let output = load(&skills, json!({"skill_id": "forms"}), "where do signatures go?", &mut session);
        if output.text.contains("is in this conversation already") {
            break;
        }
        let counter = skillcue::Counter::Segment.counter().unwrap();
        let frame = counter.count(&load(&skills, json!({"skill_id": "short"}), "", &mut Session::default()).text);
        assert!(counter.count(&output.text) <= limit + frame, "{}", output.text);
        all.push(output.text);
        assert!(all.len() < 20);
    }
    let all = all.concat();
    let rules = rules(&all);
    assert!(rules.len() == 240 && rules.values().all(|count| *count == 1), "{} rules, all once", rules.len());
    assert!(all.trim_end().ends_with("</skill_context>") && all.contains("[Shown before.]"));
    // A body within the limit is not touched.
    let short = load(&skills, json!({"skill_id": "short"}), "signatures", &mut session).text;
    assert!(short.contains("  <instructions>\n# Short\n\nUse it.\n"), "{short}");
}

#[test]
fn arguments_in_the_text_leave_it_to_the_limit() {
    let dir = tempfile::tempdir().unwrap();
    let config = DiscloseConfig { max_load_tokens: Some(Tokens(1_000)), ..DiscloseConfig::default() };
    let skills = skills(dir.path(), config);
    let mut session = Session::default();
    let arguments = json!({"skill_id": "with-place", "arguments": "tax forms"});
    let text = load(&skills, arguments, "where do signatures go?", &mut session).text;
    assert!(text.contains("## Signatures\n\n- Rule 21.0 of tax forms") && text.contains("[Not shown: "), "{text}");
    // Its places are other ones than without arguments: no section counts as shown.
    let section = json!({"skill_id": "with-place", "arguments": "tax forms", "section": "Step 2"});
    assert!(load(&skills, section, "", &mut session).text.contains("- Rule 2.0 of tax forms"));
}

#[test]
fn a_load_after_parts_were_disclosed_gives_the_others() {
    let dir = tempfile::tempdir().unwrap();
    let skills = skills(dir.path(), DiscloseConfig::default());
    let mut session = Session::default();
    let shown = skills.disclose(Request::new("signatures in forms").session(&mut session));
    assert!(shown.turn.contains("## Signatures") && shown.turn.contains("[Not shown: "), "{}", shown.turn);
    let loaded = load(&skills, json!({"skill_id": "forms"}), "", &mut session).text;
    assert!(loaded.contains("[Shown before.]") && !loaded.contains("[Shortened: "), "{loaded}");
    let both = format!("{}\n{loaded}", shown.turn);
    let rules = rules(&both);
    assert!(rules.len() == 240 && rules.values().all(|count| *count == 1), "{} rules, all once", rules.len());
    assert!(load(&skills, json!({"skill_id": "forms"}), "", &mut session).text.contains("already, unchanged"));
}

#[test]
fn a_turn_keeps_to_its_characters_and_to_the_words_of_its_host() {
    let dir = tempfile::tempdir().unwrap();
    let rest = "Invoke the Skill tool with \"{id}\", or read {file}, for the rest.";
    let advice = LoadAdvice {
        rest: rest.into(),
        part: rest.into(),
        file: "Read it below {dir}.".into(),
        one: "The Skill tool loads one.".into(),
        names: "Invoke one with the Skill tool if it fits.".into(),
    };
    let config = DiscloseConfig { load_advice: advice, ..DiscloseConfig::default() };
    let skills = skills(dir.path(), config);
    let file = dir.path().join("forms/SKILL.md");
    for most in [1_000, 4_000, 9_000] {
        for message in ["signatures in forms", "forms, short and with-place: signatures", "forms"] {
            let mut session = Session::default();
            let shown = skills.disclose(Request::new(message).session(&mut session).characters(most));
            let length = shown.turn.encode_utf16().count();
            assert!(length <= most, "{length} of {most}: {}", shown.turn);
            assert_eq!(shown.tier, Tier::Documentation);
            assert!(!shown.turn.contains("load_skill"), "{}", shown.turn);
            if most >= 4_000 && message == "signatures in forms" {
                let words = format!("Invoke the Skill tool with \"forms\", or read {}, for the rest.]", file.display());
                assert!(shown.turn.contains("## Signatures") && shown.turn.contains(&words), "{}", shown.turn);
            }
            // Nothing of it comes twice, and after a compaction it comes again.
            let again = skills.disclose(Request::new(message).session(&mut session).characters(most));
            let both = format!("{}\n{}", shown.turn, again.turn);
            assert!(rules(&both).values().all(|count| *count == 1), "{both}");
            let back = skills.rehydrate_characters(&mut session, most);
            let length = back.text.encode_utf16().count();
            assert!(length <= most && !back.text.contains("load_skill"), "{length} of {most}: {}", back.text);
        }
    }
}
