//! Re-selection during a turn: the skills that fit what has happened since the message.

use serde_json::json;
use skillcue::disclose::hint_line;
use skillcue::select::TurnProgress;
use skillcue::{Hit, Mode, Request, Session, Skillcue};

#[path = "support/three_skills.rs"]
mod three_skills;

use three_skills::*;

fn names(hits: &[Hit]) -> Vec<&str> {
    hits.iter().map(|hit| hit.name.as_str()).collect()
}

const NOTHING: &[&str] = &[];

#[test]
fn a_touched_file_names_the_skill_for_it_once() {
    let dir = tree();
    let skills = skills(dir.path());
    let request = Request::new("Do what the letter says");
    assert!(skills.reselect(&request, &TurnProgress::default(), NOTHING).is_empty());
    let since = TurnProgress::default().call("read_file", &json!({"path": "inbox/tax.pdf"}));
    let hits = skills.reselect(&request, &since, NOTHING);
    assert_eq!(names(&hits), ["forms"]);
    let hint = "[Skills that may fit: forms (file \"inbox/tax.pdf\"). `load_skill` gives one by its id.]";
    assert_eq!(hint_line(&hits), hint);
    assert!(skills.reselect(&request, &since, &["forms"]).is_empty(), "it was named before");
    assert!(skills.reselect(&request, &TurnProgress::default().touched(["notes.txt"]), NOTHING).is_empty());
    let with_file = Request::new("Do what the letter says").files(["inbox/tax.pdf"]);
    assert!(skills.reselect(&with_file, &since, NOTHING).is_empty(), "nothing new: the message had the file");

    let mut session = Session::default();
    session.record_load("forms", "how");
    let request = Request::new("Do what the letter says").session(&mut session);
    assert!(skills.reselect(&request, &since, NOTHING).is_empty(), "it is in the context");
}

#[test]
fn the_words_of_the_model_count_for_less() {
    let dir = tree();
    for mode in [Mode::Hybrid, Mode::Keyword] {
        let skills = Skillcue::builder().skills_dir(dir.path()).mode(mode).build().expect("the skills");
        let since =
            TurnProgress::default().words("The customer has not paid: I will write a reminder for the invoice.");
        let hits = skills.reselect(&Request::new("Look at account 12"), &since, NOTHING);
        let expected: &[&str] = if mode == Mode::Hybrid { &["invoices"] } else { &[] };
        assert_eq!(names(&hits), expected, "{mode:?} {hits:?}");
        assert!(hits.iter().all(|hit| hit.certainty <= 0.5 && hit.reasons.iter().all(|reason| reason.span.is_none())));
        let since = TurnProgress::default().words("Let me see what there is.");
        assert!(skills.reselect(&Request::new("Look at account 12"), &since, NOTHING).is_empty());
    }
}

#[test]
fn skills_that_models_may_not_see_are_never_named() {
    let dir = tree();
    write(dir.path(), "secret", &format!("{FORMS}disable-model-invocation: true\n"), "How.").expect("a skill");
    write(dir.path(), "off", FORMS, "How.").expect("a skill");
    let builder = Skillcue::builder().skills_dir(dir.path()).hold_back(|skill| skill.name() == "forms");
    let disabled = skillcue::Enablement { disable: ["off".to_owned()].into(), ..skillcue::Enablement::default() };
    let skills = builder.enablement(disabled).build().expect("the skills");
    let since = TurnProgress::default().touched(["tax.pdf"]).words("I use $secret, /secret, $off and the forms skill.");
    let hits = skills.reselect(&Request::new("$secret please"), &since, NOTHING);
    assert!(hits.is_empty(), "{hits:?}");
}

#[test]
fn at_most_three_are_named() {
    let dir = tempfile::tempdir().expect("a directory for skills");
    for number in 0..6 {
        write(dir.path(), &format!("forms-{number}"), FORMS, "How.").expect("a skill");
    }
    let since = TurnProgress::default().touched(["tax.pdf"]);
    assert_eq!(skills(dir.path()).reselect(&Request::new("Go on"), &since, NOTHING).len(), 3);
}
