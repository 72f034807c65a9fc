//! Kept runs: their form, and what one says about another.

use super::super::Comparison;
use super::*;

fn case(query: &str, relevant: &[&str], first: Option<&str>, grade: Grade) -> EvalRunCase {
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    EvalRunCase {
        id: id(query),
        query: beginning(query),
        relevant: names(relevant),
        not_relevant: Vec::new(),
        first: first.map(str::to_owned),
        selected: grade == Grade::Body,
        certainty: 0.75,
        grade,
        right: first.is_some_and(|first| relevant.contains(&first)),
        rank: first.map(|_| 1),
        tokens: 12,
        loaded: Vec::new(),
        is_unanswered: false,
    }
}

fn run(cases: Vec<EvalRunCase>) -> EvalRun {
    EvalRun {
        time: UNIX_EPOCH,
        label: None,
        commit: Some("0123abc".into()),
        set: "messages.jsonl".into(),
        mode: Mode::Hybrid,
        judge: None,
        model: None,
        skills: 3,
        eagerness: 0.5,
        failed: false,
        figures: super::super::figures::Tally::default().figures(),
        cases,
        left_out: 0,
    }
}

#[test]
fn a_run_is_read_as_it_was_written() {
    let long = "x".repeat(200);
    let cases =
        vec![case("open it", &["pdf", "docx"], Some("csv"), Grade::Body), case(&long, &[], None, Grade::Nothing)];
    let mut run = run(cases);
    run.cases[0].is_unanswered = true;
    let json = run.to_json();
    assert!(json.contains("\"names\":[\"pdf\",\"docx\",\"csv\"]"), "{json}");
    assert!(!json.contains(&long) && json.len() < 1_200, "{} {json}", json.len());
    assert_eq!(EvalRun::from_json(&json).unwrap(), run);
    // A file of before has no word about limits.
    assert!(!json.contains("failed"));
    run.failed = true;
    assert_eq!(EvalRun::from_json(&run.to_json()).unwrap(), run);
}

#[test]
fn a_run_is_compared_with_one_of_its_kind_that_failed_no_limit() {
    let (old, new) = (run(Vec::new()), run(Vec::new()));
    assert!(old.is_baseline_of(&new));
    assert!(!EvalRun { failed: true, ..old.clone() }.is_baseline_of(&new));
    assert!(!EvalRun { eagerness: 0.7, ..old.clone() }.is_baseline_of(&new));
    assert!(!EvalRun { model: Some("small".into()), ..old }.is_baseline_of(&new));
}

#[test]
fn a_model_that_stops_loading_the_right_skill_is_worse() {
    let with = |loaded: &str, is_unanswered: bool| {
        let mut named = case("a", &["pdf"], Some("pdf"), Grade::Name);
        let mut none = case("b", &[], Some("csv"), Grade::Name);
        named.loaded = vec![loaded.to_owned()];
        (named.is_unanswered, none.is_unanswered) = (is_unanswered, is_unanswered);
        none.loaded = (loaded == "csv").then(|| "csv".to_owned()).into_iter().collect();
        EvalRun { model: Some("small".into()), ..run(vec![named, none]) }
    };
    let (right, wrong) = (with("pdf", false), with("csv", false));
    let compared = Comparison::between(&right, &wrong);
    assert_eq!((compared.worse.len(), compared.better.len()), (2, 0));
    let share = |figure: &str| {
        let change = compared.figures.iter().find(|change| change.figure == figure).unwrap();
        (change.old, change.new)
    };
    assert_eq!(share("model.reached"), (Some(1.0), Some(0.0)));
    assert_eq!(share("model.loaded_for_nothing"), (Some(0.0), Some(1.0)));
    assert_eq!(Comparison::between(&wrong, &right).better.len(), 2);
    // Without an answer, or without a model in both, nothing is known about it.
    assert!(Comparison::between(&right, &with("csv", true)).worse.is_empty());
    assert!(Comparison::between(&EvalRun { model: None, ..right }, &wrong).worse.is_empty());
}

#[test]
fn cut_messages_are_told_from_whole_ones_and_completed() {
    let (long, other) = (format!("open it {}", "x".repeat(200)), "y".repeat(200));
    let cases = ["open it …", &long, &other].map(|query| case(query, &[], None, Grade::Nothing)).to_vec();
    let mut run = run(cases);
    let whole = |run: &EvalRun| run.cases.iter().map(EvalRunCase::is_whole).collect::<Vec<_>>();
    assert_eq!(whole(&run), [true, false, false]);
    run.complete([long.as_str(), "another"]);
    assert_eq!(whole(&run), [true, true, false]);
    assert_eq!(run.cases[1].query, long);
}

#[test]
fn files_of_other_forms_and_broken_ones_are_refused() {
    let json = run(vec![case("a", &["pdf"], Some("pdf"), Grade::Body)]).to_json();
    let read = |text: &str| EvalRun::from_json(text).unwrap_err().message;
    assert_eq!(read(&json.replace("\"form\":1", "\"form\":2")), "its form is 2, and this version reads form 1");
    assert!(read("{}").starts_with("it is no kept evaluation"), "{}", read("{}"));
    assert!(read(&json.replace("[\"pdf\"]", "[]")).contains("its table"));
    assert!(read(&json.replace("1970-01-01T", "yesterday")).starts_with("its time is"));
}

#[test]
fn confusions_count_what_was_selected() {
    let mut cases = vec![case("a", &["pdf"], Some("csv"), Grade::Body); 2];
    cases.push(case("b", &["pdf"], Some("csv"), Grade::Name));
    cases.push(case("c", &[], Some("csv"), Grade::Body));
    cases.push(case("d", &["pdf"], Some("pdf"), Grade::Body));
    let confusions = run(cases).confusions();
    let row = |confusion: &Confusion| (confusion.expected.clone(), confusion.got.clone(), confusion.count);
    let name = |name: &str| Some(name.to_owned());
    assert_eq!(
        confusions.iter().map(row).collect::<Vec<_>>(),
        [(name("pdf"), name("csv"), 2), (None, name("csv"), 1), (name("pdf"), None, 1)]
    );
}
