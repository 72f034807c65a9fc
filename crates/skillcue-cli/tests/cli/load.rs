use insta::assert_snapshot;

use crate::Sandbox;

#[test]
fn a_body_with_arguments() {
    let sandbox = Sandbox::with_pdf();
    assert_snapshot!(sandbox.run(&["load", "pdf", "a.pdf", "b.pdf"]), @r"
    exit 0
    --- stdout
    Base directory for this skill: [TMP]/work/skills/pdf

    # PDF

    Read a.pdf b.pdf.

    ## Forms

    See [reference](reference.md).
    ");
    assert_snapshot!(sandbox.run(&["load", "pdf", "a.pdf", "--json"]), @r#"
    exit 0
    --- stdout
    {"name":"pdf","content":"Base directory for this skill: [TMP]/work/skills/pdf\n\n# PDF\n\nRead a.pdf.\n\n## Forms\n\nSee [reference](reference.md).\n","tokens":32,"cached":false}
    "#);
    assert_snapshot!(sandbox.run(&["load", "pdf", "--format", "body", "--", "--strict"]), @r"
    exit 0
    --- stdout
    # PDF

    Read --strict.

    ## Forms

    See [reference](reference.md).
    ");
}

/// Issue 15: arguments that a body has no place for are appended without a line end, and so was the prompt of the
/// shell.
#[test]
fn printed_bodies_end_with_a_line_end() {
    let sandbox = Sandbox::new();
    sandbox.skill("work/skills/plain", "Does it. Use when asked.");
    let run = sandbox.run(&["load", "plain", "x"]);
    assert!(run.stdout.ends_with("# plain\n\n\nARGUMENTS: x\n"), "{run}");
    let content = sandbox.run(&["load", "plain", "x", "--json"]).json()["content"].as_str().unwrap().to_owned();
    assert!(content.ends_with("# plain\n\n\nARGUMENTS: x"), "{content:?}");
    let run = sandbox.run(&["load", "plain", "--format", "body"]);
    assert_eq!(run.stdout, "# plain\n", "one is enough");
}

#[test]
fn the_first_thing_to_try_works() {
    let sandbox = Sandbox::new();
    let run = sandbox.run(&["load", "hello-extended", "Alice"]);
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
    assert!(run.stdout.starts_with("Base directory for this skill: [TMP]/home/.local/share/skillcue/bundled/"));
    assert!(run.stdout.contains("Alice"));
}

#[test]
fn sections() {
    let sandbox = Sandbox::with_pdf();
    assert_snapshot!(sandbox.run(&["load", "pdf", "--section", "forms", "--format", "body"]), @r"
    exit 0
    --- stdout
    ## Forms

    See [reference](reference.md).
    ");
    assert_snapshot!(sandbox.run(&["load", "pdf", "--section", "form"]), @r#"
    exit 1
    --- stderr
    error[invalid_argument]: skill "pdf": no section "form"; close headings: Forms
      help: `skillcue load pdf --outline` lists the sections
    "#);
    assert_snapshot!(sandbox.run(&["load", "pdf", "--outline"]), @r"
    exit 0
    --- stdout
    17  PDF
    11    Forms
    --- stderr
    2 headings; tokens are estimated
    ");
    assert_snapshot!(sandbox.run(&["load", "pdf", "--outline", "--json"]), @r#"
    exit 0
    --- stdout
    {"name":"pdf","headings":[{"level":1,"title":"PDF","anchor":"pdf","line":1,"range":{"start":0,"end":66},"tokens":17},{"level":2,"title":"Forms","anchor":"forms","line":5,"range":{"start":25,"end":66},"tokens":11}]}
    "#);
}

#[test]
fn the_extended_dialect_is_opt_in() {
    let sandbox = Sandbox::new();
    sandbox.write(
        "work/skills/fix/SKILL.md",
        "---\nname: fix\ndescription: Fixes issues. Use when asked.\narguments: [issue, branch]\n---\nFix $issue on $1, all: $ARGUMENTS[0].\n",
    );
    let load = |more: &[&str]| sandbox.isolated(&[&["load", "fix", "--format", "body"], more].concat());
    assert_snapshot!(load(&["42", "main"]), @r"
    exit 0
    --- stdout
    Fix $issue on $1, all: 42 main[0].
    ");
    assert_snapshot!(load(&["42", "main", "--dialect", "extended"]), @r"
    exit 0
    --- stdout
    Fix 42 on main, all: 42.
    ");
}

#[test]
fn bodies_are_printed_as_they_are() {
    let sandbox = Sandbox::new();
    let body = "a\r\n\u{1b}[31mred\u{1b}[0m\r\nno newline at the end";
    sandbox
        .write("work/skills/raw/SKILL.md", format!("---\nname: raw\ndescription: Raw. Use when asked.\n---\n{body}"));
    assert_eq!(sandbox.isolated(&["load", "raw", "--format", "body"]).stdout, body);
}

#[test]
fn a_disabled_skill_is_not_loaded() {
    let sandbox = Sandbox::with_pdf();
    sandbox.write("work/skillcue.toml", "[skills]\ndisable = [\"pdf\"]\n");
    assert_snapshot!(sandbox.run(&["load", "pdf"]), @r#"
    exit 1
    --- stderr
    error[disabled]: the skill "pdf" is disabled
      help: `skillcue enable pdf` switches it on
    "#);
    assert_snapshot!(sandbox.run(&["load", "pdf", "--json"]), @r#"
    exit 1
    --- stdout
    {"error":{"code":"disabled","message":"the skill \"pdf\" is disabled","help":"`skillcue enable pdf` switches it on"}}
    --- stderr
    error[disabled]: the skill "pdf" is disabled
      help: `skillcue enable pdf` switches it on
    "#);
}

#[test]
fn a_skill_without_its_programs_is_not_loaded() {
    let sandbox = Sandbox::new();
    sandbox.write(
        "work/skills/sql/SKILL.md",
        "---\nname: sql\ndescription: Asks databases. Use when asked.\nrequires: [no-such-program]\n---\nDo it.\n",
    );
    assert_snapshot!(sandbox.isolated(&["load", "sql"]), @r#"
    exit 1
    --- stderr
    error[unavailable]: the skill "sql" is unavailable: it requires no-such-program
      help: install what it requires
    "#);
    assert_snapshot!(sandbox.isolated(&["list"]), @r"
    exit 0
    --- stderr
    warning[requires_missing]: `sql` requires the program `no-such-program`, which is not on the PATH
    --> skills/sql/SKILL.md
     = help: install the program, or remove the skill

    0 skills
    only directories named with --skills-dir DIR were looked at
    ");
}

#[test]
fn an_invalid_skill_says_why() {
    let sandbox = Sandbox::new();
    sandbox.write("work/skills/open/SKILL.md", "---\nname: open\ndescription: Never closed.\n");
    assert_snapshot!(sandbox.isolated(&["load", "open"]), @r#"
    exit 1
    --- stderr
    error[invalid]: the skill "open" is not usable: the front matter is never closed
      help: `skillcue lint [TMP]/work/skills/open/SKILL.md` says more
    error[unclosed_front_matter]: the front matter is never closed
     --> skills/open/SKILL.md:1:1
      |
    1 | ---
      | ^^^
      |
      = help: end it with a line that is just `---`
    "#);
}
