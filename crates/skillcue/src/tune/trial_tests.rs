//! Keywords that other skills are full of, and what they cost where they alone select.

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

#[test]
fn a_keyword_that_costs_others_in_the_mode_keyword_is_not_chosen() {
    let dir = tempfile::tempdir().unwrap();
    let skills =
        [("forms", "Fills in questionnaires of public offices."), ("csv", "Reads a table, draws charts of it.")];
    let trials = dir.path().join("trials");
    std::fs::create_dir(&trials).unwrap();
    let root = dir.path().join("skills");
    std::fs::create_dir(&root).unwrap();
    for (name, description) in skills {
        std::fs::create_dir(root.join(name)).unwrap();
        let triggers = if name == "csv" { "triggers:\n  keywords: [table]\n" } else { "" };
        let text = format!("---\nname: {name}\ndescription: {description}\n{triggers}---\n");
        std::fs::write(root.join(name).join("SKILL.md"), text).unwrap();
    }
    let skills = Skillcue::builder().skills_dir(&trials).skills_dir(&root).build().unwrap();
    let path = root.join("forms/SKILL.md");
    let trial = TuneTrial::new(&skills, &trials, &path, std::fs::read(&path).unwrap(), Mode::Hybrid).unwrap();
    let case = |query: &str, relevant: &str| EvalCase {
        query: query.to_owned(),
        relevant: vec![relevant.to_owned()],
        not_relevant: Vec::new(),
        lang: None,
    };
    let tasks = ["flatten", "lock", "print", "send"];
    let mut train: Vec<EvalCase> = tasks.iter().map(|task| case(&format!("{task} the acro sheet"), "forms")).collect();
    let keyword = |word: &str| TuneCandidate {
        origin: TuneOrigin::Messages,
        sentence: None,
        keywords: vec![word.to_owned()],
        folds: [true; FOLDS],
    };
    let description = "Fills in questionnaires of public offices.";
    let choose = |train: &[EvalCase]| trial.choose("forms", description, vec![keyword("acro sheet")], train, &|_| {});
    assert_eq!(choose(&train).draft.keywords, ["acro sheet"], "by its own messages");
    // Where texts count, too, their words find `csv`. By triggers alone, the phrase comes before its keyword.
    train.extend(tasks.iter().map(|task| case(&format!("{task} charts of a table, no acro sheet"), "csv")));
    let draft = TuneDraft { description: description.to_owned(), keywords: vec!["acro sheet".to_owned()] };
    let judged = trial.judge(description, &draft, &train).unwrap();
    let of_csv = judged.verdict("forms", &train, &|case| case.relevant == ["csv"]);
    assert!(of_csv.others >= 0.0 && of_csv.by_keywords.is_some_and(|change| change < -0.5), "{of_csv:?}");
    assert!(choose(&train).steps.is_empty(), "{:?}", choose(&train));
}
