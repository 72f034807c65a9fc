//! Writing a file that may have changed, and the halves of messages.

use super::*;

#[test]
fn a_file_that_was_changed_meanwhile_is_not_written() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("SKILL.md");
    std::fs::write(&path, "as it was read").unwrap();
    write_unless_changed(&path, b"as it was read", b"tuned").unwrap();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "tuned");
    std::fs::write(&path, "as its author goes on").unwrap();
    let refused = write_unless_changed(&path, b"tuned", b"tuned again").unwrap_err();
    assert!(refused.message().contains("was changed while it was tuned"), "{refused:?}");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "as its author goes on");
    std::fs::remove_file(&path).unwrap();
    assert!(write_unless_changed(&path, b"tuned", b"tuned again").is_err() && !path.exists());
}

fn cases(texts: &[String]) -> Vec<EvalCase> {
    let case = |query: &String| EvalCase {
        query: query.clone(),
        relevant: vec!["pdf".to_owned()],
        not_relevant: Vec::new(),
        lang: None,
    };
    texts.iter().map(case).collect()
}

#[test]
fn messages_of_a_model_judge_only_where_there_are_too_few_others() {
    let texts = |word: &str, count: usize| (0..count).map(|at| format!("{word} {at}")).collect::<Vec<_>>();
    let of_model = cases(&texts("written", 12));
    let enough = SplitMessages::of(cases(&texts("own", 12)), &of_model, "pdf");
    assert_eq!((enough.of_model, enough.train.len() + enough.unseen.len()), (0, 24));
    assert!(enough.unseen.iter().all(|case| case.query.starts_with("own") && is_unseen(&case.query)));
    let few = SplitMessages::of(cases(&texts("own", 3)), &of_model, "pdf");
    assert!(few.of_model > 0 && few.unseen.iter().all(|case| is_unseen(&case.query)));
    let at = few.unseen.len() - few.of_model;
    assert!(few.unseen[at..].iter().all(|case| case.query.starts_with("written")));
    assert!(few.unseen[..at].iter().all(|case| case.query.starts_with("own")));
}
