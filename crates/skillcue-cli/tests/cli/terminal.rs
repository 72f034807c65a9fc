//! Outputs on a terminal.

use std::io::{Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::process::Stdio;

use insta::assert_snapshot;

use crate::Sandbox;
use crate::sandbox::open_terminal;

/// Runs on a terminal of so many columns and returns all that appears on it.
fn on_terminal(sandbox: &Sandbox, columns: u16, variables: &[(&str, &str)], args: &[&str]) -> String {
    let (mut person, program) = open_terminal(columns);
    let stream = || Stdio::from(OwnedFd::from(program.try_clone().unwrap()));
    let mut command = sandbox.command(args);
    command.env("TERM", "xterm").envs(variables.iter().copied()).stdout(stream()).stderr(stream());
    let mut child = command.spawn().unwrap();
    // The command holds copies of it, which would keep the terminal open.
    drop((command, program));
    let mut bytes = Vec::new();
    // Linux ends a terminal without a writer with an error.
    let _ = person.read_to_end(&mut bytes);
    child.wait().unwrap();
    sandbox.redact(&String::from_utf8(bytes).unwrap()).replace("\r\n", "\n").replace('\u{1b}', "␛")
}

/// Runs on a terminal with typed input; returns stdout and stderr.
fn answering(sandbox: &Sandbox, typed: &str, args: &[&str]) -> String {
    let (mut person, program) = open_terminal(80);
    person.write_all(typed.as_bytes()).unwrap();
    let mut command = sandbox.command(args);
    let output = command.env("NO_COLOR", "1").stdin(Stdio::from(OwnedFd::from(program))).output().unwrap();
    drop(person);
    sandbox.finish(output).to_string()
}

#[test]
fn skills_are_picked_from_a_list() {
    let sandbox = Sandbox::new();
    for name in ["csv", "pdf", "xml"] {
        sandbox.skill(&format!("repo/skills/{name}"), "Reads such files. Use when asked.");
    }
    assert_snapshot!(answering(&sandbox, "1 xml\n", &["install", "../repo"]), @r"
    exit 0
    --- stdout
    csv  off  skill
    xml  off  skill
    --- stderr
       1  csv  Reads such files. Use when asked.
       2  pdf  Reads such files. Use when asked.
       3  xml  Reads such files. Use when asked.
    Which? Numbers or names with blanks between, `all`, or nothing:
    They are off until you say `skillcue enable csv xml`
    ");
    assert_snapshot!(answering(&sandbox, "\n", &["install", "../repo"]), @r"
    exit 1
    --- stderr
       1  csv  Reads such files. Use when asked.
       2  pdf  Reads such files. Use when asked.
       3  xml  Reads such files. Use when asked.
    Which? Numbers or names with blanks between, `all`, or nothing:
    error[declined]: nothing was chosen
    ");
    sandbox.skill("repo/skills/csv", "Reads tables. Use when asked.");
    let declined = answering(&sandbox, "n\n", &["update"]);
    assert!(declined.contains("Update as shown?") && declined.contains("nothing has changed"), "{declined}");
    assert!(answering(&sandbox, "y\n", &["update"]).contains("1 skill updated"));
}

#[test]
fn a_list_is_coloured_and_fits() {
    let sandbox = Sandbox::with_pdf();
    sandbox.skill("work/skills/csv", "Reads tables of any size and turns them into charts that people like. Use it.");
    let args = ["--isolated", "--skills-dir", "skills", "list"];
    assert_snapshot!(on_terminal(&sandbox, 60, &[], &args), @r"
    ␛[2mNAME  SOURCE  TOKENS  WHAT IT DOES␛[0m
    ␛[1mcsv␛[0m   ␛[36minline␛[0m       2  Reads tables of any size and turns th…
    ␛[1mpdf␛[0m   ␛[36minline␛[0m      17  Reads and fills PDF forms
    ␛[2m2 skills␛[0m
    ␛[36mskillcue show NAME␛[0m says more about one, ␛[36mskillcue load NAME␛[0m prints what it says to a model
    ");
    assert_snapshot!(on_terminal(&sandbox, 100, &[("NO_COLOR", "1")], &args), @r"
    NAME  SOURCE  TOKENS  WHAT IT DOES
    csv   inline       2  Reads tables of any size and turns them into charts that people like
    pdf   inline      17  Reads and fills PDF forms
    2 skills
    skillcue show NAME says more about one, skillcue load NAME prints what it says to a model
    ");
    for variable in [("CLICOLOR", "0"), ("TERM", "dumb")] {
        let shown = on_terminal(&sandbox, 60, &[variable], &args);
        assert!(shown.contains("\n2 skills\n") && !shown.contains('␛'), "{variable:?}: {shown}");
    }
}

#[test]
fn many_findings_are_counted() {
    let sandbox = Sandbox::new();
    for number in 0..12 {
        sandbox.write(&format!("work/skills/s{number:02}/SKILL.md"), "# No front matter\n");
    }
    let args = ["--isolated", "--skills-dir", "skills", "list", "--color", "never"];
    assert_snapshot!(on_terminal(&sandbox, 80, &[], &args), @r"
    12 errors: 12 no_front_matter
      help: -v shows each of them with its line
    0 skills; 12 not usable
    only directories named with --skills-dir DIR were looked at
    ");
}

#[test]
fn a_body_does_not_command_the_terminal() {
    let sandbox = Sandbox::new();
    sandbox.write("work/skills/evil/SKILL.md", "---\nname: evil\ndescription: Evil. Use never.\n---\n\u{1b}[2Jgone");
    let args = ["--isolated", "--skills-dir", "skills", "load", "evil", "--format", "body"];
    assert_snapshot!(on_terminal(&sandbox, 80, &[], &args), @r#"\u{1b}[2Jgone"#);
}

#[test]
fn bodies_are_escaped_on_a_terminal() {
    let sandbox = Sandbox::new();
    sandbox.write("work/skills/evil/SKILL.md", "---\nname: evil\ndescription: Evil. Use never.\n---\n\u{1b}[2Jgone");
    let run = |args: &[&str]| {
        on_terminal(&sandbox, 80, &[], &[&["--isolated", "--skills-dir", "skills", "--color=never"], args].concat())
    };
    let shown = run(&["context", "$evil"]);
    assert!(shown.contains("\n\\u{1b}[2Jgone\n") && !shown.contains('␛'), "{shown}");
    assert!(shown.ends_with("\nskillcue why MESSAGE shows which words decided\n"), "{shown}");
    let shown = run(&["context", "--mode=keyword", "hi"]);
    assert!(shown.contains("tier 2 ") && !shown.contains("skillcue why"), "nothing was decided: {shown}");
}

#[test]
fn messages_are_broken_where_the_terminal_ends() {
    let sandbox = Sandbox::with_pdf();
    let args = [
        "--isolated",
        "--skills-dir",
        "skills",
        "why",
        "--mode=keyword",
        "please be so kind and look at what is in the pdf",
    ];
    assert_snapshot!(on_terminal(&sandbox, 40, &[], &args), @r"
    please be so kind and look at what is
    in the ␛[1m␛[36mpdf␛[0m
    ␛[1m␛[36m       ^^^␛[0m

    1. ␛[1mpdf␛[0m  ␛[1m␛[32m59 % sure␛[0m  ␛[2mscore 1.00␛[0m
       keyword   pdf  +1.00  “pdf”
       ␛[2m→ body: every match by keywords␛[0m
    ");
}

#[test]
fn bytes_are_kept_from_the_terminal() {
    let sandbox = Sandbox::with_pdf();
    sandbox.write("work/skills/pdf/logo.png", b"\x89PNG\xff");
    let args = ["--isolated", "--skills-dir", "skills", "--color", "never", "read", "pdf", "logo.png"];
    assert_snapshot!(on_terminal(&sandbox, 80, &[], &args), @r#"
    error[not_text]: "logo.png" is not text, and this is a terminal
      help: `skillcue read pdf logo.png > FILE` saves it
    "#);
}

#[test]
fn json_is_indented_for_people() {
    let sandbox = Sandbox::with_pdf();
    let args = ["--isolated", "--skills-dir", "skills", "files", "pdf", "--json"];
    assert_snapshot!(on_terminal(&sandbox, 80, &[], &args), @r#"
    {
      "files": [
        {
          "path": "SKILL.md",
          "size": 254
        },
        {
          "path": "reference.md",
          "size": 12
        }
      ]
    }
    "#);
}

/// Output comes line by line while a spinner turns below it, and does not control the terminal.
#[test]
fn a_script_streams_beside_a_spinner() {
    let sandbox = Sandbox::new();
    sandbox.skill("work/skills/slow", "Takes its time. Use when asked.");
    sandbox.write(
        "work/skills/slow/scripts/slow.sh",
        "#!/bin/sh\nprintf 'one\\n\\033[2Jtw'\nsleep 1.5\nprintf 'o\\nthree'\n",
    );
    let args = ["--isolated", "--skills-dir", "skills", "run", "slow", "slow.sh"];
    let shown = on_terminal(&sandbox, 80, &[("PATH", "/usr/bin:/bin"), ("NO_COLOR", "1")], &args);
    let (before, after) = shown.split_once("running slow.sh").unwrap();
    assert!(before.contains("one\n") && !before.contains("tw"), "whole lines first: {shown}");
    assert!(after.contains("\\u{1b}[2Jtwo\n") && after.ends_with("three"), "{shown}");
    assert!(!shown.contains("␛[2Jtwo"), "{shown}");
    assert!(after.trim_start().starts_with("0s"), "how long it has taken: {shown}");
}
