use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, ChildStdout, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::Sandbox;

/// A `skillcue watch` that has begun.
struct Watch {
    child: Child,
    lines: BufReader<ChildStdout>,
}

impl Watch {
    fn start(sandbox: &Sandbox, args: &[&str]) -> Watch {
        let mut command = sandbox.command(&["--isolated", "--skills-dir", "skills", "watch"]);
        let mut child = command.args(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap());
        let mut watch = Watch { child, lines };
        if args.contains(&"--json") {
            assert_eq!(watch.json()["event"], "watching");
        } else {
            let mut begun = String::new();
            BufReader::new(watch.child.stderr.as_mut().unwrap()).read_line(&mut begun).unwrap();
            assert!(begun.starts_with("watching 1 skill in "), "{begun}");
        }
        watch
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.lines.read_line(&mut line).unwrap();
        line
    }

    fn json(&mut self) -> Value {
        serde_json::from_str(&self.line()).unwrap()
    }

    /// Asks it to end, and returns what it had left to say.
    fn end(mut self, signal: Signal) -> (Option<i32>, String) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
        let mut rest = String::new();
        self.lines.read_to_string(&mut rest).unwrap();
        (self.child.wait().unwrap().code(), rest)
    }
}

/// Skills are written elsewhere and moved: no reader sees half of one.
fn place(sandbox: &Sandbox, name: &str, text: &str) {
    sandbox.write(&format!("beside/{name}/SKILL.md"), text);
    let target = sandbox.path(&format!("work/skills/{name}"));
    if target.exists() {
        fs::rename(sandbox.path(&format!("beside/{name}/SKILL.md")), target.join("SKILL.md")).unwrap();
    } else {
        fs::rename(sandbox.path(&format!("beside/{name}")), target).unwrap();
    }
}

#[test]
fn lines_for_people() {
    let sandbox = Sandbox::with_pdf();
    let mut watch = Watch::start(&sandbox, &[]);
    place(&sandbox, "csv", "---\nname: csv\ndescription: Reads tables.\n---\n");
    assert_eq!(watch.line(), "added csv\n");
    place(
        &sandbox,
        "csv",
        "---\nname: csv\ndescription: Reads and writes tables.\nlicense: MIT\n---\nNow with a body.\n",
    );
    assert_eq!(watch.line(), "updated csv (description, license, body)\n");
    fs::write(sandbox.path("work/skills/csv/reference.md"), "# Reference\n").unwrap();
    assert_eq!(watch.line(), "files csv\n");
    place(&sandbox, "bad", "nothing at the front\n");
    let found = watch.line();
    assert!(found.starts_with("error[") && found.contains("skills/bad/SKILL.md:1:1: "), "{found}");
    fs::remove_dir_all(sandbox.path("work/skills/bad")).unwrap();
    assert_eq!(watch.line(), found.replacen("error", "mended", 1));
    fs::rename(sandbox.path("work/skills/csv"), sandbox.path("beside/gone")).unwrap();
    assert_eq!(watch.line(), "removed csv\n");
    assert_eq!(watch.end(Signal::INT), (Some(0), String::new()));
}

#[test]
fn lines_for_programs() {
    let sandbox = Sandbox::with_pdf();
    let mut watch = Watch::start(&sandbox, &["--json"]);
    place(&sandbox, "csv", "---\nname: csv\ndescription: Reads tables.\n---\n");
    let added = watch.json();
    assert_eq!((&added["event"], &added["name"]), (&json!("added"), &json!("csv")));
    assert!(added["path"].as_str().unwrap().ends_with("work/skills/csv/SKILL.md"), "{added}");
    place(&sandbox, "csv", "---\nname: csv\ndescription: Reads more.\n---\n");
    assert_eq!(watch.json()["changed"], json!(["description"]));
    place(&sandbox, "bad", "nothing at the front\n");
    let found = watch.json();
    assert_eq!((&found["event"], &found["diagnostic"]["severity"]), (&json!("found"), &json!("error")));
    assert_eq!(found["diagnostic"]["line"], 1);
    assert_eq!(watch.end(Signal::TERM), (Some(0), String::new()));
}

#[test]
fn once() {
    let sandbox = Sandbox::with_pdf();
    let mut watch = Watch::start(&sandbox, &["--once"]);
    place(&sandbox, "csv", "---\nname: csv\ndescription: Reads tables.\n---\n");
    let mut all = String::new();
    watch.lines.read_to_string(&mut all).unwrap();
    assert_eq!(all, "added csv\n");
    assert_eq!(watch.child.wait().unwrap().code(), Some(0));
}

#[test]
fn it_ends_with_its_reader() {
    let sandbox = Sandbox::with_pdf();
    let mut watch = Watch::start(&sandbox, &["--json"]);
    drop(watch.lines);
    assert_eq!(watch.child.wait().unwrap().code(), Some(0), "nothing needs to happen for it");
}

#[test]
fn watch_reports_installed_and_switched_skills() {
    let sandbox = Sandbox::new();
    sandbox.write("repo/plugins/office/.claude-plugin/plugin.json", r#"{"name": "office"}"#);
    sandbox.skill("repo/plugins/office/skills/letter", "Writes letters. Use when asked.");
    sandbox.skill("repo/skills/pdf", "Reads PDF files. Use when asked.");
    let mut command = sandbox.command(&["watch", "--json"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap());
    let mut watch = Watch { child, lines };
    assert_eq!(watch.json()["event"], "watching");
    let mut until = |event: &str, name: &str| {
        while {
            let line = watch.json();
            line["event"] != event || line["name"] != name
        } {}
    };
    // There was no registry before.
    assert_eq!(sandbox.run(&["install", "../repo/skills"]).code, Some(0));
    until("added", "pdf");
    assert_eq!(sandbox.run(&["enable", "pdf"]).code, Some(0));
    until("updated", "pdf");
    assert_eq!(sandbox.run(&["install", "../repo", "--plugin", "office"]).code, Some(0));
    until("added", "letter");
    assert_eq!(watch.end(Signal::TERM).0, Some(0));
}
