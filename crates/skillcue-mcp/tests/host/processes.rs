//! Several processes at one file of consent. This very program is each of them.

use std::path::PathBuf;

use skillcue::consent::{ConsentGate, ConsentStore, Question, Scope, Subject};
use skillcue_base::Digest;
use skillcue_catalog::ContentId;

#[test]
#[ignore = "no test: one of the processes that others start"]
fn allows() {
    let Ok(path) = std::env::var("ALLOW_AT") else { return println!("skipped: no test has started it") };
    let store = ConsentStore::new(Some(PathBuf::from(path)));
    for number in 0..20 {
        let name = format!("s{}-{number}", std::process::id());
        let uri = format!("skill://{name}/SKILL.md");
        let server = "https://acme.example".to_owned();
        let subject = Subject::RemoteSkill { label: "acme".to_owned(), server, uri, name };
        let content = ContentId::of_listed([("SKILL.md", Digest::of("x"))]);
        store.remember(&Question::new(subject, content), Scope::Always).unwrap();
    }
}

#[test]
fn processes_that_allow_at_once_lose_nothing() {
    let tmp = tempfile::tempdir().unwrap();
    let path = tmp.path().join("consent.json");
    let start = || {
        let mut command = std::process::Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "processes::allows", "--ignored"]).env("ALLOW_AT", &path);
        command.stdout(std::process::Stdio::null()).spawn().unwrap()
    };
    let children: Vec<_> = (0..4).map(|_| start()).collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    assert_eq!(ConsentStore::new(Some(path)).list().len(), 80);
}
