use crate::Sandbox;

/// Issue 15: `. is trusted as it is now` says nothing to who reads it elsewhere, and `--list` printed `.`, too.
#[test]
fn projects_are_named_by_their_whole_path() {
    let sandbox = Sandbox::new();
    sandbox.write("work/skillcue.toml", "[run]\ntimeout_s = 5\n");
    assert_eq!(sandbox.run(&["trust", "--list"]).to_string(), "exit 0\n--- stderr\nno project is trusted\n");
    let run = sandbox.run(&["trust", "--yes"]);
    assert!(run.stderr.ends_with("[TMP]/work is trusted as it is now\n"), "{run}");
    assert_eq!(sandbox.run(&["trust", "--list"]).stdout, "[TMP]/work\n");
    let run = sandbox.run(&["trust", "--revoke"]);
    assert_eq!(run.stderr, "[TMP]/work is not trusted any more\n", "{run}");
    let run = sandbox.run(&["trust", "--revoke"]);
    assert_eq!(run.stderr, "[TMP]/work was not trusted\n", "{run}");
}
