//! Sums over skills, and keywords that other skills are full of.

use super::*;
use crate::tune::{FOLDS, TuneOrigin};

fn library(dir: &Path, skills: &[(&str, &str, &str)]) -> Skillcue {
    for (name, description, body) in skills {
        std::fs::create_dir(dir.join(name)).unwrap();
        let text = format!("---\nname: {name}\ndescription: {description}\n---\n{body}\n");
        std::fs::write(dir.join(name).join("SKILL.md"), text).unwrap();
    }
    Skillcue::builder().skills_dir(dir).build().unwrap()
}

#[test]
fn a_message_of_several_skills_counts_for_the_tuned_one_or_for_each_in_part() {
    let dir = tempfile::tempdir().unwrap();
    let skills = library(dir.path(), &[("csv", "Reads tables.", ""), ("forms", "Fills in forms.", "")]);
    let set = "{\"query\": \"tables\", \"relevant\": [\"csv\", \"forms\"]}\n{\"query\": \"hello\", \"none\": true}\n";
    let cases = EvalCase::read(set, None).unwrap();
    let options = EvalOptions { mode: Mode::Hybrid, eagerness: None, sweep: false, judge: false };
    let after = Evaluation::of(&skills, &cases, &options);
    let mut before = after.clone();
    before.cases[0].rank = None;
    let gain = quality(&cases[0], &after.cases[0]) - quality(&cases[0], &before.cases[0]);
    assert!(gain > 0.0);
    let of = |name: &str| changes_by_skill(name, &cases, &before, &after).into_iter().collect::<Vec<_>>();
    assert_eq!(of("forms"), [("forms".to_owned(), gain)]);
    assert_eq!(of("csv"), [("csv".to_owned(), gain)]);
    assert_eq!(of("other"), [("csv".to_owned(), gain / 2.0), ("forms".to_owned(), gain / 2.0)]);
}

#[test]
fn a_word_that_many_other_skills_have_becomes_no_keyword() {
    let dir = tempfile::tempdir().unwrap();
    let others = ["a1", "b2", "c3", "d4"].map(|name| (name, "Does something.", "Call the function."));
    let skills = library(dir.path(), &[&[("rbac", "Grants roles.", "")][..], &others].concat());
    let keyword = |word: &str| TuneCandidate {
        origin: TuneOrigin::Messages,
        sentence: None,
        keywords: vec![word.to_owned()],
        folds: [true; FOLDS],
    };
    let sentence =
        TuneCandidate { sentence: Some("Use for a function.".to_owned()), keywords: Vec::new(), ..keyword("") };
    let mut found =
        vec![keyword("functions"), keyword("role assignment"), keyword("entra"), keyword("function app"), sentence];
    let kept = found[1..].to_vec();
    remove_common_keywords(&skills, "rbac", &mut found);
    assert_eq!(found, kept);
    // In three of them it is rare enough.
    std::fs::remove_dir_all(dir.path().join("a1")).unwrap();
    skills.refresh();
    let mut found = vec![keyword("functions")];
    remove_common_keywords(&skills, "rbac", &mut found);
    assert_eq!(found.len(), 1);
}
