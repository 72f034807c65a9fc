use insta::assert_snapshot;

use crate::Sandbox;
use crate::sandbox::SETTINGS;

/// A skill with scripts that say what they see.
fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write(
        "work/skills/report/SKILL.md",
        "---\nname: report\ndescription: Writes reports. Use when asked.\nmetadata:\n  version: 2.1\n  scripts:\n    - path: scripts/count.sh\n      description: Counts its arguments\n---\n# Report\n",
    );
    sandbox.write("work/skills/report/scripts/count.sh", "#!/bin/sh\necho \"$# arguments: $*\"\n");
    sandbox.write(
        "work/skills/report/scripts/env.sh",
        "#!/bin/sh\n# Says who it is.\necho \"$SKILL_NAME $SKILL_VERSION $(basename \"$SKILL_DIR\") $(basename \"$PWD\")\"\necho \"secret: ${SECRET:-none}\" >&2\n",
    );
    sandbox.write("work/skills/report/scripts/fail.sh", "#!/bin/sh\necho half\nexit 3\n");
    sandbox.write("work/skills/report/scripts/echo.sh", "#!/bin/sh\n# Repeats its input.\ncat\n");
    sandbox
}

#[test]
fn scripts_are_listed_and_nothing_runs() {
    let sandbox = sandbox();
    assert_snapshot!(sandbox.act(&["run", "report"]), @r"
    exit 0
    --- stdout
    scripts/count.sh  Counts its arguments
    scripts/echo.sh   Repeats its input.
    scripts/env.sh    Says who it is.
    scripts/fail.sh
    ");
    assert!(sandbox.act(&["run", "report"]).stdout.lines().all(|line| line == line.trim_end()));
    let json = sandbox.act(&["run", "report", "--json"]).json();
    assert_eq!(json[0]["script"], "scripts/count.sh");
    assert_eq!(json[0]["description"], "Counts its arguments");
    assert_eq!(sandbox.act(&["run", "hello-extended"]).stderr, "hello-extended has no scripts\n");
}

#[test]
fn a_script_runs_with_its_arguments() {
    let sandbox = sandbox();
    assert_snapshot!(sandbox.act(&["run", "report", "scripts/count.sh", "--", "a b", "-x", "$HOME"]), @r"
    exit 0
    --- stdout
    3 arguments: a b -x $HOME
    ");
    assert_snapshot!(sandbox.act(&["run", "report", "scripts/env.sh"]), @r"
    exit 0
    --- stdout
    report 2.1 report report
    --- stderr
    secret: none
    ");
    assert_snapshot!(sandbox.act(&["run", "report", "scripts/fail.sh"]), @r"
    exit 1
    --- stdout
    half
    --- stderr
    the script ended with exit code 3
    ");
}

#[test]
fn a_result_for_programs() {
    let sandbox = sandbox();
    let run = sandbox.act(&["run", "report", "scripts/echo.sh", "--input", r#"{"a": 1}"#, "--json"]);
    assert_eq!(run.code, Some(0));
    let json = run.json();
    assert_eq!(
        (&json["exit_code"], &json["stdout"], &json["truncated"]),
        (&0.into(), &r#"{"a":1}"#.into(), &false.into())
    );
    assert_eq!(json["sandboxed"], true);
    assert!(json["duration"].is_f64() && json["sandbox"]["layers"].is_array());
    let failed = sandbox.act(&["run", "report", "scripts/fail.sh", "--json"]);
    assert_eq!((failed.code, &failed.json()["exit_code"]), (Some(1), &3.into()));
}

#[test]
fn runs_that_cannot_start_give_the_reason() {
    let sandbox = sandbox();
    assert_snapshot!(sandbox.act(&["run", "report", "scripts/cuont.sh"]), @r#"
    exit 1
    --- stderr
    error[not_found]: skill "report" has no script "scripts/cuont.sh" (did you mean "scripts/count.sh"?)
      help: `skillcue run report` lists its scripts
    "#);
    let many: Vec<&str> = ["run", "report", "scripts/count.sh", "--"].into_iter().chain(["x"; 101]).collect();
    assert_snapshot!(sandbox.act(&many), @r"
    exit 1
    --- stderr
    error[args_too_large]: there are 101 arguments; at most 100 are allowed
      help: pass less, or pass it as JSON on standard input
    ");
    assert_snapshot!(sandbox.act(&["run", "report", "scripts/echo.sh", "--input", "{"]), @r#"
    exit 2
    --- stderr
    error[usage]: --input is not JSON: EOF while parsing an object at line 1 column 1
      help: write for example --input '{"a": 1}'
    "#);
    sandbox.write("work/skills/report/scripts/odd.py", "#!/usr/bin/env no-such-interpreter\n");
    assert_snapshot!(sandbox.act(&["run", "report", "scripts/odd.py"]), @r#"
    exit 1
    --- stderr
    error[interpreter_not_found]: nothing runs "scripts/odd.py": no-such-interpreter is not installed, or not on the PATH; its first line asks for it
      help: install what is missing, and see that it is on the PATH
    "#);
    // Issue 15: of one program it said `none of ruby is on the PATH`.
    sandbox.write("work/skills/report/scripts/odd.rb", "puts 1\n");
    let run = sandbox.run(&["run", "report", "scripts/odd.rb"]);
    assert!(run.stderr.contains("nothing runs \"scripts/odd.rb\": ruby is not on the PATH\n"), "{run}");
    sandbox.write("work/skills/report/scripts/odd.js", "1;\n");
    let run = sandbox.run(&["run", "report", "scripts/odd.js"]);
    assert!(run.stderr.contains("none of ") && run.stderr.contains(" is on the PATH\n"), "{run}");
}

#[test]
fn limits_come_from_the_configuration() {
    let sandbox = sandbox();
    sandbox.write("work/skills/report/scripts/flood.sh", "#!/bin/sh\nyes\n");
    sandbox.write(SETTINGS, "[run]\noutput_bytes = 20\narguments = 1\n");
    let run = sandbox.act(&["run", "report", "scripts/flood.sh", "--json"]);
    assert_eq!((run.code, run.json()["truncated"].as_bool()), (Some(1), Some(true)));
    assert_eq!(run.json()["error"]["code"], "output_truncated");
    assert_eq!(run.json()["stdout"].as_str().unwrap().len(), 20);
    let run = sandbox.act(&["run", "report", "scripts/count.sh", "--json", "--", "a", "b"]);
    assert_eq!(run.json()["error"]["code"], "args_too_large");
}

#[test]
fn permissions_are_asked_for_granted_and_taken_back() {
    let sandbox = sandbox();
    sandbox.write("home/notes/today.txt", "buy milk\n");
    sandbox.write(
        "work/skills/notes/SKILL.md",
        "---\nname: notes\ndescription: Reads notes. Use when asked.\nmetadata:\n  permissions:\n    read: [~/notes]\n    env: [SECRET]\n---\n",
    );
    sandbox.write("work/skills/notes/scripts/read.sh", "#!/bin/sh\ncat \"$1\"\necho \"${SECRET:-none}\"\n");
    let file = sandbox.path("home/notes/today.txt");
    let args = ["run", "notes", "scripts/read.sh", "--", file.to_str().unwrap()];
    assert_snapshot!(sandbox.act(&args), @r#"
    exit 1
    --- stderr
    error[permission_required]: skill "notes" asks for reading ~/notes, the variable SECRET
      help: look at the skill, then: skillcue allow notes
    "#);
    assert_snapshot!(sandbox.act(&["allow", "notes"]), @r"
    exit 2
    --- stderr
    notes  skills/notes (project)
      models may load it
      scripts/read.sh may run, with reading ~/notes, the variable SECRET
    The agent does not ask about it again.
    error[usage]: a question cannot be asked: stdin is no terminal
      help: use --yes
    ");
    assert_snapshot!(sandbox.act(&["allow", "notes", "--script", "scripts/read.sh", "--yes"]), @r"
    exit 0
    --- stderr
    notes  skills/notes (project)
      scripts/read.sh may run, with reading ~/notes, the variable SECRET
    The agent does not ask about it again.
    notes is allowed as it is now
    ");
    assert_snapshot!(sandbox.act(&args), @r"
    exit 0
    --- stdout
    buy milk
    hunter2
    ");
    let listed = sandbox.act(&["allowed"]).to_string();
    let (listed, since) = listed.split_once(", since ").unwrap();
    assert_snapshot!(listed, @r"
    exit 0
    --- stdout
    notes  scripts/read.sh  reading ~/notes, the variable SECRET
      skills/notes
    ");
    assert_eq!((since.len(), since.starts_with("20")), ("2026-11-17\n".len(), true), "{since}");
    // A changed byte asks again.
    sandbox.write("work/skills/notes/scripts/lib.sh", "");
    assert_eq!(sandbox.act(&args).code, Some(1));
    assert!(sandbox.act(&["allowed"]).stdout.contains("counts no longer"));
    assert_snapshot!(sandbox.act(&["deny", "notes"]), @r"
    exit 0
    --- stderr
    not allowed any more: notes
    ");
    assert_eq!(sandbox.act(&["allowed", "--json"]).json(), serde_json::json!([]));
    let once = ["run", "notes", "scripts/read.sh", "--grant", "--", file.to_str().unwrap()];
    assert_eq!(sandbox.act(&once).stdout, "buy milk\nhunter2\n");
    assert_eq!(sandbox.act(&args).code, Some(1), "once is once");
}
