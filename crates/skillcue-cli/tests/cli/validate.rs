use insta::assert_snapshot;

use crate::Sandbox;

#[test]
fn a_valid_skill() {
    let sandbox = Sandbox::with_pdf();
    sandbox.write("work/plain/SKILL.md", "---\nname: plain\ndescription: Does it. Use when asked.\n---\n");
    for path in ["plain", "plain/SKILL.md", "./plain/", "../work/plain"] {
        let run = sandbox.run(&["validate", path]);
        assert_eq!((run.code, run.stdout.as_str()), (Some(0), "✓ plain is valid\n"), "{path}: {run}");
    }
    assert_snapshot!(sandbox.run(&["validate", "plain", "--json"]), @r#"
    exit 0
    --- stdout
    {"valid":true,"diagnostics":[]}
    "#);
    assert!(!sandbox.path("home/.cache").exists(), "checking a path looks nowhere else");
    assert_eq!(sandbox.run(&["list"]).code, Some(0));
    assert!(sandbox.path("home/.cache").exists(), "what looks for skills keeps an index");
}

#[test]
fn an_invalid_skill() {
    let sandbox = Sandbox::new();
    sandbox
        .write("work/pdf/SKILL.md", "---\nversion: 1.0\nname: PDF_Tools\ndescription: Use when: asked\n---\n# PDF\n");
    assert_snapshot!(sandbox.run(&["validate", "pdf"]), @r"
    exit 1
    --- stdout
    ✗ pdf is not valid: 4 errors
    skillcue lint --fix pdf repairs the YAML
    --- stderr
    error[unknown_field]: `version` is not a top-level key of the standard
     --> pdf/SKILL.md:2:1
      |
    2 | version: 1.0
      | ^^^^^^^
      |
      = help: move it below `metadata`, where skillcue reads it too

    error[invalid_name]: a name is written in lower case
     --> pdf/SKILL.md:3:7
      |
    3 | name: PDF_Tools
      |       ^^^^^^^^^
      |
      = help: use 1 to 64 lower-case letters, digits and single inner hyphens

    error[name_mismatch]: the name is `PDF_Tools`, its directory is `pdf`
     --> pdf/SKILL.md:3:7
      |
    3 | name: PDF_Tools
      |       ^^^^^^^^^
      |
      = help: give both the same name

    error[yaml_repaired]: an unquoted `: ` inside the value; it was read as if the value were quoted
     --> pdf/SKILL.md:4:22
      |
    4 | description: Use when: asked
      |                      ^
      |
      = help: write it that way, or let `skillcue lint --fix` do it
    ");
    assert_snapshot!(sandbox.run(&["validate", "pdf", "--json"]), @r#"
    exit 1
    --- stdout
    {"valid":false,"diagnostics":[{"path":"[TMP]/work/pdf/SKILL.md","line":2,"column":1,"code":"unknown_field","severity":"error","message":"`version` is not a top-level key of the standard","help":"move it below `metadata`, where skillcue reads it too"},{"path":"[TMP]/work/pdf/SKILL.md","line":3,"column":7,"code":"invalid_name","severity":"error","message":"a name is written in lower case","help":"use 1 to 64 lower-case letters, digits and single inner hyphens"},{"path":"[TMP]/work/pdf/SKILL.md","line":3,"column":7,"code":"name_mismatch","severity":"error","message":"the name is `PDF_Tools`, its directory is `pdf`","help":"give both the same name"},{"path":"[TMP]/work/pdf/SKILL.md","line":4,"column":22,"code":"yaml_repaired","severity":"error","message":"an unquoted `: ` inside the value; it was read as if the value were quoted","help":"write it that way, or let `skillcue lint --fix` do it"}]}
    "#);
}

#[test]
fn a_directory_of_skills() {
    let sandbox = Sandbox::new();
    sandbox.skill("work/all/a", "Good. Use when asked.");
    sandbox.skill("work/all/b", "Good. Use when asked.");
    sandbox.skill("work/all/deep/down/c", "Good. Use when asked.");
    assert_snapshot!(sandbox.run(&["validate", "all"]), @r"
    exit 0
    --- stdout
    ✓ 3 skills, all valid
    ");
    sandbox.write("work/all/d/SKILL.md", "");
    sandbox.write("work/all/e/SKILL.yaml", "name: e\nversion: 1\ndescription: YAML.\n");
    assert_snapshot!(sandbox.run(&["validate", "all"]), @r"
    exit 1
    --- stdout
    ✗ 2 of 5 skills are not valid: 2 errors
    --- stderr
    error[no_front_matter]: the file does not start with a `---` line
     --> all/d/SKILL.md:1:1
      |
    1 |
      | ^
      |
      = help: the file is empty; `skillcue new NAME` shows what belongs into it

    error[no_skill_file]: the open standard knows no `SKILL.yaml`, and there is no `SKILL.md` beside it
    --> all/e/SKILL.yaml
     = help: describe the skill in a SKILL.md; `skillcue lint` checks a SKILL.yaml
    ");
}

#[test]
fn paths_that_are_no_skills() {
    let sandbox = Sandbox::new();
    sandbox.write("work/notes.md", "# Notes\n");
    std::fs::create_dir(sandbox.path("work/empty")).unwrap();
    assert_snapshot!(sandbox.run(&["validate", "nowhere", "notes.md", "empty"]), @r"
    exit 1
    --- stdout
    ✗ nothing to check: 3 errors
    --- stderr
    error[no_skill_file]: there is no skill here or below
    --> empty
     = help: a skill is a directory with a SKILL.md; `skillcue new NAME` makes one

    error[no_skill_file]: this is not a skill file
    --> notes.md
     = help: skills are described by a file called SKILL.md

    error[unreadable]: it cannot be read: no such file or directory
    --> nowhere
     = help: name a skill's directory, a SKILL.md, or a directory of skills
    ");
    assert_snapshot!(sandbox.run(&["validate"]), @r"
    exit 2
    --- stderr
    error: the following required arguments were not provided:
      <PATH>...

    Usage: skillcue validate <PATH>...

    For more information, try '--help'.
    ");
}

#[test]
fn files_that_are_no_text() {
    let sandbox = Sandbox::new();
    sandbox.write("work/large/SKILL.md", vec![b'x'; (1 << 20) + 1]);
    sandbox.write("work/latin/SKILL.md", b"---\nname: latin\ndescription: Gr\xf6\xdfe\n---\n");
    std::fs::create_dir_all(sandbox.path("work/dir/SKILL.md")).unwrap();
    assert_snapshot!(sandbox.run(&["validate", "large", "latin", "dir"]), @r"
    exit 1
    --- stdout
    ✗ 3 of 3 skills are not valid: 3 errors
    --- stderr
    error[not_a_file]: this is not an ordinary file
    --> dir/SKILL.md
     = help: put a text file here

    error[too_large]: the file has 1048577 bytes, more than the limit of 1048576
    --> large/SKILL.md
     = help: move depth into files of its own, below references/

    error[not_utf8]: byte 31 is not UTF-8 text
     --> latin/SKILL.md:3:16
      |
    3 | description: Gr��e
      |                ^
      |
      = help: save the file as UTF-8
    ");
}

#[test]
fn many_of_a_kind_are_counted() {
    let sandbox = Sandbox::new();
    let fields: Vec<String> = (0..120).map(|number| format!("x{number}: y")).collect();
    let fields = fields.join("\n");
    let text = format!("---\nname: many\ndescription: Does it. Use when asked.\n{fields}\n---\nDo it.\n");
    sandbox.write("work/skills/many/SKILL.md", text);
    let run = sandbox.run(&["validate", "skills/many"]);
    assert_eq!(run.stderr.matches("[unknown_field]").count(), 100, "{run}");
    assert!(run.stderr.ends_with("and 20 more unknown_field in skills/many/SKILL.md\n\n"), "{run}");
    let json = sandbox.run(&["validate", "skills/many", "--json"]).stdout;
    assert_eq!(json.matches("\"unknown_field\"").count(), 120, "programs get all of them");
}
