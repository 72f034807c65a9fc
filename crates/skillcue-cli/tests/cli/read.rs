use std::os::unix::fs::symlink;

use insta::assert_snapshot;

use crate::Sandbox;

#[test]
fn a_file() {
    let sandbox = Sandbox::with_pdf();
    assert_snapshot!(sandbox.run(&["read", "pdf", "reference.md"]), @r"
    exit 0
    --- stdout
    # Reference
    ");
    assert_snapshot!(sandbox.run(&["read", "pdf", "reference.md", "--json"]), @r##"
    exit 0
    --- stdout
    {"path":"reference.md","content":"# Reference\n"}
    "##);
}

#[test]
fn no_path_leads_out() {
    let sandbox = Sandbox::with_pdf();
    sandbox.write("work/skills/secret.txt", "hunter2");
    symlink("../secret.txt", sandbox.path("work/skills/pdf/link.md")).unwrap();
    // What stays inside is read, by a link and through `..`, too.
    sandbox.write("work/skills/pdf/sub/more.md", "# More\n");
    symlink("reference.md", sandbox.path("work/skills/pdf/inside.md")).unwrap();
    for path in ["inside.md", "sub/../reference.md"] {
        let run = sandbox.run(&["read", "pdf", path]);
        assert_eq!((run.code, run.stdout.as_str()), (Some(0), "# Reference\n"), "{path}: {run}");
    }
    assert_snapshot!(sandbox.run(&["read", "pdf", "../secret.txt"]), @r#"
    exit 1
    --- stderr
    error[security]: skill "pdf": refused "../secret.txt": it climbs out of the skill's directory
      help: only files below the skill's directory can be read
    "#);
    assert_snapshot!(sandbox.run(&["read", "pdf", "../secret.txt", "--json"]), @r#"
    exit 1
    --- stdout
    {"error":{"code":"security","message":"skill \"pdf\": refused \"../secret.txt\": it climbs out of the skill's directory","help":"only files below the skill's directory can be read"}}
    --- stderr
    error[security]: skill "pdf": refused "../secret.txt": it climbs out of the skill's directory
      help: only files below the skill's directory can be read
    "#);
    assert_snapshot!(sandbox.run(&["read", "pdf", "link.md"]), @r#"
    exit 1
    --- stderr
    error[security]: skill "pdf": refused "link.md": a link leads out of the skill's directory
      help: replace the link by a copy of the file, or by a relative link that stays inside
    "#);
    assert_snapshot!(sandbox.run(&["read", "pdf", "/etc/passwd"]), @r#"
    exit 1
    --- stderr
    error[security]: skill "pdf": refused "/etc/passwd": it is an absolute path
      help: give the path relative to the skill's directory
    "#);
}

#[test]
fn a_refused_path_is_reported_once_and_logged_with_verbose() {
    let sandbox = Sandbox::with_pdf();
    let call = ["call", "read_skill_file", r#"{"skill_id": "pdf", "path": "../secret.txt"}"#];
    for command in [&["read", "pdf", "../secret.txt"][..], &["run", "pdf", "../secret.txt"], &call] {
        let run = sandbox.act(command);
        assert_eq!(run.code, Some(1), "{run}");
        let told = format!("{}{}", run.stdout, run.stderr);
        assert_eq!(told.matches("climbs out").count(), 1, "{run}");
        let run = sandbox.act(&[&["-v"], command].concat());
        assert_eq!(run.stderr.matches(" WARN skillcue::security: refused a path ").count(), 1, "{run}");
    }
}

#[test]
fn bytes_that_are_no_text() {
    let sandbox = Sandbox::with_pdf();
    let bytes = b"\x89PNG\r\n\x1a\n\xff\0";
    sandbox.write("work/skills/pdf/logo.png", bytes);
    let output = sandbox.command(&["read", "pdf", "logo.png"]).output().unwrap();
    assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(0), bytes.as_slice()));
    assert_snapshot!(sandbox.run(&["read", "pdf", "logo.png", "--json"]), @r#"
    exit 1
    --- stdout
    {"error":{"code":"not_text","message":"skill \"pdf\": \"logo.png\" is not UTF-8 text: bad byte at offset 0, line 1","help":"without --json its bytes are printed as they are"}}
    --- stderr
    error[not_text]: skill "pdf": "logo.png" is not UTF-8 text: bad byte at offset 0, line 1
      help: without --json its bytes are printed as they are
    "#);
}

#[test]
fn a_file_that_is_not_there() {
    let sandbox = Sandbox::with_pdf();
    assert_snapshot!(sandbox.run(&["read", "pdf", "nope.md"]), @r#"
    exit 1
    --- stderr
    error[not_found]: skill "pdf": no file "nope.md"
      help: `skillcue files pdf` lists what it has
    "#);
    assert_snapshot!(sandbox.run(&["read", "pdf", "."]), @r#"
    exit 1
    --- stderr
    error[not_a_file]: skill "pdf": "." is a directory, not a file
      help: name a file below this directory
    "#);
}
