//! Several processes at one file of approvals. This very program is each of them.

use std::path::PathBuf;

use serde_json::{Map, json};
use skillcue::remote::{RemoteEntry, RemoteFile};
use skillcue_mcp::host::Approvals;

#[test]
#[ignore = "no test: one of the processes that others start"]
fn approves() {
    let Ok(path) = std::env::var("APPROVE_AT") else { return println!("skipped: no test has started it") };
    let approvals = Approvals::new(Some(PathBuf::from(path)));
    for number in 0..20 {
        let name = format!("s{}-{number}", std::process::id());
        let uri = format!("skill://{name}/SKILL.md");
        let digest = format!("sha256:{}", "0".repeat(64));
        let files = Some(vec![RemoteFile { uri: uri.clone(), digest, size: 1 }]);
        let entry = RemoteEntry { uri, front_matter: Map::from_iter([("name".to_owned(), json!(name))]), files };
        approvals.approve("acme", "https://acme.example", &entry, 1).unwrap();
    }
}

#[test]
fn processes_that_approve_at_once_lose_nothing() {
    let tmp = tempfile::tempdir().unwrap();
    let path = tmp.path().join("approvals.json");
    let start = || {
        let mut command = std::process::Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "processes::approves", "--ignored"]).env("APPROVE_AT", &path);
        command.stdout(std::process::Stdio::null()).spawn().unwrap()
    };
    let children: Vec<_> = (0..4).map(|_| start()).collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    assert_eq!(Approvals::new(Some(path)).list().len(), 80);
}
