//! Kept evaluations: bounded, readable in part, and never through a link.
#![expect(clippy::unwrap_used, reason = "a test whose setting fails has failed")]

use std::fs;
use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

use skillcue::Mode;
use skillcue::eval::{EvalCase, EvalOptions, EvalRun, EvalRunInfo, Evaluation};
use skillcue_base::ErrorInfo as _;
use skillcue_host::EvalHistory;

fn run(seconds: u64) -> EvalRun {
    let skills = skillcue::Skillcue::builder().build().unwrap();
    let cases = EvalCase::read("{\"query\": \"hello\", \"none\": true}\n", None).unwrap();
    let options = EvalOptions { mode: Mode::Hybrid, eagerness: None, sweep: false, judge: false };
    let info = EvalRunInfo {
        time: UNIX_EPOCH + Duration::from_secs(seconds),
        label: None,
        commit: None,
        set: "messages.jsonl".into(),
        mode: Mode::Hybrid,
        model: None,
    };
    EvalRun::of(&Evaluation::of(&skills, &cases, &options), &cases, info)
}

fn names(dir: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn runs_are_read_in_the_order_of_their_times() {
    let dir = tempfile::tempdir().unwrap();
    let history = EvalHistory::at(dir.path());
    assert!(!history.is_wanted() && history.read().unwrap().runs.is_empty());
    let runs = [run(20), run(10)];
    for run in &runs {
        history.keep(run).unwrap();
    }
    assert!(history.is_wanted());
    assert_eq!(history.read().unwrap().runs, [runs[1].clone(), runs[0].clone()]);
}

#[test]
fn the_oldest_of_too_many_runs_are_removed_and_no_other_file() {
    let dir = tempfile::tempdir().unwrap();
    let history = EvalHistory::at(dir.path());
    history.keep(&run(0)).unwrap();
    fs::write(history.dir().join("notes.json"), "mine").unwrap();
    fs::write(history.dir().join("19700101T000000.000Z-nothex12.json"), "mine").unwrap();
    for seconds in 1..=104 {
        history.keep(&run(seconds)).unwrap();
    }
    let kept = names(&history.dir());
    assert_eq!(kept.len(), 102, "{kept:?}");
    assert!(kept.contains(&"notes.json".to_owned()) && kept.iter().any(|name| name.contains("nothex12")));
    let runs = history.read().unwrap().runs;
    assert_eq!((runs.len(), runs[0].time), (100, UNIX_EPOCH + Duration::from_secs(5)));
}

#[test]
fn a_file_that_is_no_run_is_reported_and_the_others_are_read() {
    let dir = tempfile::tempdir().unwrap();
    let history = EvalHistory::at(dir.path());
    history.keep(&run(7)).unwrap();
    fs::write(history.dir().join("20261118T042000.123Z-0a1b2c3d.json"), "{\"form\": 99}").unwrap();
    let read = history.read().unwrap();
    assert_eq!((read.runs.len(), read.unreadable.len()), (1, 1));
    assert_eq!(read.unreadable[0].1, "its form is 99, and this version reads form 1");
}

#[test]
fn a_link_in_a_checkout_is_not_followed() {
    for link in [".skillcue", ".skillcue/evals"] {
        let (dir, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::create_dir_all(dir.path().join(link).parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(elsewhere.path(), dir.path().join(link)).unwrap();
        let history = EvalHistory::at(dir.path());
        assert_eq!(history.keep(&run(1)).unwrap_err().code(), "eval_history", "{link}");
        assert!(history.read().is_err());
        assert!(names(elsewhere.path()).is_empty(), "{link}");
    }
    let (dir, secret) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let history = EvalHistory::at(dir.path());
    fs::write(secret.path().join("run"), run(3).to_json()).unwrap();
    fs::create_dir_all(history.dir()).unwrap();
    std::os::unix::fs::symlink(secret.path().join("run"), history.dir().join("20261118T042000.123Z-0a1b2c3d.json"))
        .unwrap();
    assert!(history.read().unwrap().runs.is_empty());
}

#[test]
fn the_commit_is_read_from_files() {
    let dir = tempfile::tempdir().unwrap();
    let history = EvalHistory::at(dir.path());
    assert_eq!(history.commit(), None);
    let git = dir.path().join(".git");
    fs::create_dir_all(git.join("refs/heads")).unwrap();
    let hash = |digit: &str| digit.repeat(40);
    fs::write(git.join("HEAD"), hash("a")).unwrap();
    assert_eq!(history.commit(), Some(hash("a")), "a detached head");
    fs::write(git.join("HEAD"), "ref: refs/heads/main\n").unwrap();
    assert_eq!(history.commit(), None, "a branch without a commit");
    let other = hash("c");
    fs::write(git.join("packed-refs"), format!("# pack-refs\n{other} refs/heads/x/refs/heads/main\n")).unwrap();
    assert_eq!(history.commit(), None, "another branch");
    fs::write(git.join("packed-refs"), format!("# pack-refs\n{} refs/heads/main\n", hash("b"))).unwrap();
    assert_eq!(history.commit(), Some(hash("b")));
    fs::write(git.join("refs/heads/main"), hash("d")).unwrap();
    assert_eq!(history.commit(), Some(hash("d")), "a loose one wins");
    fs::write(git.join("HEAD"), "ref: ../../../etc/passwd").unwrap();
    assert_eq!(history.commit(), None);
    // A worktree: a file names its directory, which names the common one.
    let tree = tempfile::tempdir().unwrap();
    let of_tree = git.join("worktrees/w");
    fs::create_dir_all(&of_tree).unwrap();
    fs::write(of_tree.join("HEAD"), "ref: refs/heads/main\n").unwrap();
    fs::write(of_tree.join("commondir"), "../..\n").unwrap();
    fs::write(tree.path().join(".git"), format!("gitdir: {}\n", of_tree.display())).unwrap();
    assert_eq!(EvalHistory::at(tree.path()).commit(), Some(hash("d")));
}

#[test]
fn runs_that_fail_a_limit_do_not_push_out_the_one_that_did_not() {
    let dir = tempfile::tempdir().unwrap();
    let history = EvalHistory::at(dir.path());
    history.keep(&run(1)).unwrap();
    history.keep(&run(2)).unwrap();
    for seconds in 3..=110 {
        history.keep(&EvalRun { failed: true, ..run(seconds) }).unwrap();
    }
    let runs = history.read().unwrap().runs;
    let passed: Vec<_> = runs.iter().filter(|run| !run.failed).map(|run| run.time).collect();
    assert_eq!((runs.len(), passed), (100, vec![UNIX_EPOCH + Duration::from_secs(2)]));
}
