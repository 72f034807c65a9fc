use insta::assert_snapshot;

use crate::Sandbox;

#[test]
fn a_new_skill_is_valid_and_found() {
    let sandbox = Sandbox::new();
    assert_snapshot!(sandbox.run(&["new", "release-notes"]), @r"
    exit 0
    --- stdout
    ✓ made .agents/skills/release-notes

    Next:
      1. edit .agents/skills/release-notes/SKILL.md
      2. skillcue lint .agents/skills/release-notes  checks it
      3. skillcue load release-notes                 shows what a model gets
    ");
    assert_snapshot!(sandbox.run(&["validate", ".agents/skills/release-notes"]), @r"
    exit 0
    --- stdout
    ✓ release-notes is valid
    ");
    assert_snapshot!(sandbox.run(&["lint"]), @r"
    exit 0
    --- stdout
    ✓ 1 skill, no findings
    ");
    assert!(sandbox.run(&["list"]).stdout.contains("release-notes"));
    let made = std::fs::read_to_string(sandbox.path("work/.agents/skills/release-notes/SKILL.md")).unwrap();
    assert_snapshot!(made, @r"
    ---
    name: release-notes
    description: Does ONE THING to ONE KIND OF INPUT. Use when the user asks for release notes, or mentions WORDS THAT PEOPLE SAY.
    metadata:
      version: 0.1.0
      triggers:
        keywords:
          - release notes
    ---
    # Release notes

    Task: $ARGUMENTS

    If that line is empty, take the task from the user's message.

    <!-- Models choose this skill by its description alone: say what it does and when to use it, in the
    words that people use. What follows is read once it was chosen. Delete these comments. -->

    ## Steps

    1. The first step, with the exact command or format.
    2. The second step. Say what to do when it fails.

    <!-- Keep this file below 500 lines. Put depth into files beside it, such as references/details.md,
    and say here when to read them. -->

    ## Check

    - What must be true of the result before it is handed over.
    ");
}

#[test]
fn it_goes_where_the_others_are() {
    let sandbox = Sandbox::with_pdf();
    assert_snapshot!(sandbox.run(&["new", "csv", "--json"]), @r#"
    exit 0
    --- stdout
    {"name":"csv","dir":"[TMP]/work/skills/csv","path":"[TMP]/work/skills/csv/SKILL.md"}
    "#);
    assert_snapshot!(sandbox.run(&["new", "csv", "--dir", "elsewhere/skills", "--json"]), @r#"
    exit 0
    --- stdout
    {"name":"csv","dir":"[TMP]/work/elsewhere/skills/csv","path":"[TMP]/work/elsewhere/skills/csv/SKILL.md"}
    "#);
}

#[test]
fn nothing_is_overwritten() {
    let sandbox = Sandbox::with_pdf();
    assert_snapshot!(sandbox.run(&["new", "pdf"]), @r"
    exit 1
    --- stderr
    error[exists]: [TMP]/work/skills/pdf is there already
      help: choose another name, or --dir
    ");
}

#[test]
fn names_follow_the_standard() {
    let sandbox = Sandbox::new();
    assert_snapshot!(sandbox.run(&["new", "Release_Notes"]), @r#"
    exit 2
    --- stderr
    error[invalid_name]: "Release_Notes" is no name for a skill: a name is written in lower case
      help: `skillcue new release-notes` works
    "#);
    assert_snapshot!(sandbox.run(&["new", "../escape"]), @r#"
    exit 2
    --- stderr
    error[invalid_name]: "../escape" is no name for a skill: '.' is not allowed in a name; use letters, digits and hyphens
      help: use lower-case letters, digits and single hyphens, as in `release-notes`
    "#);
    assert_snapshot!(sandbox.run(&["new", "a--b", "--json"]), @r#"
    exit 2
    --- stdout
    {"error":{"code":"invalid_name","message":"\"a--b\" is no name for a skill: a name has no two hyphens in a row","help":"use lower-case letters, digits and single hyphens, as in `release-notes`"}}
    --- stderr
    error[invalid_name]: "a--b" is no name for a skill: a name has no two hyphens in a row
      help: use lower-case letters, digits and single hyphens, as in `release-notes`
    "#);
}
