use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

use insta::assert_snapshot;

use crate::Sandbox;

const CLEAN: &str = "---\nname: clean\ndescription: Reads and writes clean files. Use when the user asks for clean files.\nmetadata:\n  triggers:\n    keywords: [clean file]\n---\n# Clean\n\nDo it.\n";

#[test]
fn nothing_to_remark() {
    let sandbox = Sandbox::new();
    sandbox.write("work/skills/clean/SKILL.md", CLEAN);
    assert_snapshot!(sandbox.run(&["lint"]), @r"
    exit 0
    --- stdout
    ✓ 1 skill, no findings
    ");
    assert_snapshot!(sandbox.run(&["lint", "--json"]), @r#"
    exit 0
    --- stdout
    {"valid":true,"diagnostics":[]}
    "#);
}

#[test]
fn style() {
    let sandbox = Sandbox::new();
    sandbox.write(
        "work/skills/styled/SKILL.md",
        "---\nname: styled\ndescription: Tables # and more\nversion: 1.0\n---\nSee [more](more.md) and [out](../out.md).\n",
    );
    assert_snapshot!(sandbox.run(&["lint"]), @r"
    exit 1
    --- stdout
    ✗ 1 skill: 2 warnings, 3 suggestions
    --- stderr
    info[no_triggers]: without triggers, keyword matching finds the skill by its name only
    --> skills/styled/SKILL.md
     = help: add `metadata.triggers.keywords` with the words that people use

    info[short_description]: the description is too short to choose the skill by
     --> skills/styled/SKILL.md:3:14
      |
    3 | description: Tables # and more
      |              ^^^^^^
      |
      = help: say what it does, then when to use it, in the words that people use

    warning[comment_cuts_value]: ` #` starts a comment here: the rest of the line is not part of the value
     --> skills/styled/SKILL.md:3:21
      |
    3 | description: Tables # and more
      |                     ^^^^^^^^^^
      |
      = help: put the value into quotes, or move the comment to a line of its own

    info[not_portable]: `version` at the top level is rejected by strict readers of the open standard
     --> skills/styled/SKILL.md:4:1
      |
    4 | version: 1.0
      | ^^^^^^^
      |
      = help: move it below `metadata`; skillcue reads it there too

    warning[missing_resource]: `more.md` is not in the skill's directory
     --> skills/styled/SKILL.md:6:12
      |
    6 | See [more](more.md) and [out](../out.md).
      |            ^^^^^^^
      |
      = help: add the file, or correct the link
    ");
    assert_snapshot!(sandbox.run(&["lint", "--json", "skills/styled"]), @r#"
    exit 1
    --- stdout
    {"valid":false,"diagnostics":[{"path":"[TMP]/work/skills/styled/SKILL.md","line":null,"column":null,"code":"no_triggers","severity":"info","message":"without triggers, keyword matching finds the skill by its name only","help":"add `metadata.triggers.keywords` with the words that people use"},{"path":"[TMP]/work/skills/styled/SKILL.md","line":3,"column":14,"code":"short_description","severity":"info","message":"the description is too short to choose the skill by","help":"say what it does, then when to use it, in the words that people use"},{"path":"[TMP]/work/skills/styled/SKILL.md","line":3,"column":21,"code":"comment_cuts_value","severity":"warning","message":"` #` starts a comment here: the rest of the line is not part of the value","help":"put the value into quotes, or move the comment to a line of its own"},{"path":"[TMP]/work/skills/styled/SKILL.md","line":4,"column":1,"code":"not_portable","severity":"info","message":"`version` at the top level is rejected by strict readers of the open standard","help":"move it below `metadata`; skillcue reads it there too"},{"path":"[TMP]/work/skills/styled/SKILL.md","line":6,"column":12,"code":"missing_resource","severity":"warning","message":"`more.md` is not in the skill's directory","help":"add the file, or correct the link"}]}
    "#);
}

#[test]
fn suggestions_do_not_fail() {
    let sandbox = Sandbox::new();
    sandbox.skill("work/skills/brief", "Does a thing that is useful. Use when asked.");
    assert_snapshot!(sandbox.run(&["lint"]), @r"
    exit 0
    --- stdout
    ✓ 1 skill: 1 suggestion
    --- stderr
    info[no_triggers]: without triggers, keyword matching finds the skill by its name only
    --> skills/brief/SKILL.md
     = help: add `metadata.triggers.keywords` with the words that people use
    ");
}

#[test]
fn only_what_is_of_the_project() {
    let sandbox = Sandbox::new();
    sandbox.write("work/skills/clean/SKILL.md", CLEAN);
    sandbox.write("home/.claude/skills/broken/SKILL.md", "# No front matter\n");
    assert_snapshot!(sandbox.run(&["lint"]), @r"
    exit 0
    --- stdout
    ✓ 1 skill, no findings
    ");
    assert_eq!(sandbox.run(&["lint", "../home/.claude/skills"]).code, Some(1));
    assert_snapshot!(Sandbox::new().run(&["lint"]), @r"
    exit 0
    --- stdout
    no skills to check; skillcue new NAME makes one
    ");
}

#[test]
fn fix_writes_the_repair_and_nothing_else() {
    let sandbox = Sandbox::new();
    let file = "work/skills/colon/SKILL.md";
    // A byte order mark, CRLF, blanks at line ends, a comment, no newline at the end: all of it stays.
    let before = "\u{feff}---\r\nname: colon\r\ndescription: Use when: asked  \r\n# a comment\r\nlicense: @mit\r\n---  \r\n# Colon\r\n\r\ntext: with: colons";
    sandbox.write(file, before);
    std::fs::set_permissions(sandbox.path(file), std::fs::Permissions::from_mode(0o640)).unwrap();
    assert_snapshot!(sandbox.run(&["lint", "--fix"]), @r#"
    exit 0
    --- stdout
    fixed skills/colon/SKILL.md:3:22: an unquoted `: ` inside the value
    fixed skills/colon/SKILL.md:5:10: an unquoted value cannot start with `@`
    ✓ 1 skill: 2 suggestions
    --- stderr
    info[no_triggers]: without triggers, keyword matching finds the skill by its name only
    --> skills/colon/SKILL.md
     = help: add `metadata.triggers.keywords` with the words that people use

    info[short_description]: the description is too short to choose the skill by
     --> skills/colon/SKILL.md:3:14
      |
    3 | description: "Use when: asked"  
      |              ^^^^^^^^^^^^^^^^^
      |
      = help: say what it does, then when to use it, in the words that people use
    "#);
    let after = before.replace("Use when: asked", "\"Use when: asked\"").replace("@mit", "\"@mit\"");
    assert_eq!(std::fs::read_to_string(sandbox.path(file)).unwrap(), after);
    assert_eq!(std::fs::metadata(sandbox.path(file)).unwrap().permissions().mode() & 0o777, 0o640);
    let left: Vec<_> = std::fs::read_dir(sandbox.path("work/skills/colon")).unwrap().collect();
    assert_eq!(left.len(), 1, "{left:?}");

    let again = sandbox.run(&["lint", "--fix", "--json"]).stdout;
    assert!(again.ends_with("\"fixed\":[]}\n"), "{again}");
    assert_eq!(std::fs::read_to_string(sandbox.path(file)).unwrap(), after);
}

#[test]
fn fix_says_what_it_changed() {
    let sandbox = Sandbox::new();
    sandbox.write(
        "work/skills/colon/SKILL.md",
        "---\nname: colon\ndescription: Use when: the user asks for colons\nmetadata:\n  triggers: [colon]\n---\nDo it.\n",
    );
    assert_snapshot!(sandbox.run(&["lint", "--fix", "--json"]), @r#"
    exit 0
    --- stdout
    {"valid":true,"diagnostics":[],"fixed":[{"path":"[TMP]/work/skills/colon/SKILL.md","changes":[{"line":3,"column":22,"message":"an unquoted `: ` inside the value"}]}]}
    "#);
}

#[test]
fn fix_leaves_alone_what_it_cannot_mend() {
    let sandbox = Sandbox::new();
    let broken = "---\nname: broken\n  nested: wrong\n description: x\n---\n";
    sandbox.write("work/skills/broken/SKILL.md", broken);
    let run = sandbox.run(&["lint", "--fix"]);
    assert_snapshot!(run, @r#"
    exit 1
    --- stdout
    ✗ 1 skill: 2 errors, 1 warning, 1 suggestion
    --- stderr
    info[empty_body]: the body is empty
    --> skills/broken/SKILL.md
     = help: write down how the task is done

    error[missing_field]: `description` is missing or empty
     --> skills/broken/SKILL.md:2:1
      |
    2 | name: broken
      | ^
      |
      = help: say what the skill does and when to use it: `description: Reads PDF files. Use when …`

    error[invalid_name]: "broken nested: wrong description: x" is not a valid name: ':' is not allowed in a name; use letters, digits and hyphens
     --> skills/broken/SKILL.md:2:7
      |
    2 | name: broken
      |       ^^^^^^
      |
      = help: use 1 to 64 lower-case letters, digits and single hyphens, such as `pdf-tools`

    warning[yaml_repaired]: an unquoted `: ` inside the value; it was read as if the value were quoted
     --> skills/broken/SKILL.md:3:9
      |
    3 |   nested: wrong
      |         ^
      |
      = help: write it that way, or let `skillcue lint --fix` do it
    "#);
    assert_eq!(std::fs::read_to_string(sandbox.path("work/skills/broken/SKILL.md")).unwrap(), broken);
}

#[test]
fn every_copy_of_the_project_is_looked_at() {
    let sandbox = Sandbox::new();
    let with = |target: &str| CLEAN.replace("Do it.", &format!("See [it]({target})."));
    // Equal front matter and size: one skill in a list.
    sandbox.write("work/skills/clean/SKILL.md", with("one.md"));
    sandbox.write("work/skills/clean/one.md", "");
    sandbox.write("work/.claude/skills/clean/SKILL.md", with("two.md"));
    sandbox.write("home/.claude/skills/clean/SKILL.md", with("six.md"));
    let run = sandbox.run(&["lint"]);
    assert_eq!(run.code, Some(1), "{run}");
    assert!(run.stdout.contains("2 skills: 1 warning"), "{run}");
    assert!(run.stderr.contains("`two.md` is not in") && !run.stderr.contains("six.md"), "{run}");
}

#[test]
fn fix_keeps_hard_links() {
    let sandbox = Sandbox::new();
    let broken = "---\nname: colon\ndescription: Use when: the user asks for colons\n---\nDo it.\n";
    sandbox.write("work/skills/colon/SKILL.md", broken);
    let (one, other) = (sandbox.path("work/skills/colon/SKILL.md"), sandbox.path("other.md"));
    std::fs::hard_link(&one, &other).unwrap();
    let before = std::fs::metadata(&one).unwrap();
    let run = sandbox.run(&["lint", "--fix"]);
    assert!(run.stdout.starts_with("fixed skills/colon/SKILL.md:3:22"), "{run}");
    let after = std::fs::metadata(&one).unwrap();
    assert_eq!((after.ino(), after.nlink(), after.mode()), (before.ino(), 2, before.mode()));
    let repaired = broken.replace("Use when: the user asks for colons", "\"Use when: the user asks for colons\"");
    assert_eq!(std::fs::read_to_string(&other).unwrap(), repaired);
}

#[test]
fn fix_keeps_the_owner() {
    let sandbox = Sandbox::new();
    sandbox.write("work/skills/colon/SKILL.md", "---\nname: colon\ndescription: Use when: asked\n---\nDo it.\n");
    let file = sandbox.path("work/skills/colon/SKILL.md");
    // Else the owner is the user of the test, and a file that was replaced would have the same one.
    if let Err(error) = std::os::unix::fs::chown(&file, Some(12_345), Some(12_346)) {
        println!("skipped: only root may give files away: {error}");
        return;
    }
    let before = std::fs::metadata(&file).unwrap();
    let run = sandbox.run(&["lint", "--fix"]);
    assert!(run.stdout.starts_with("fixed "), "{run}");
    let after = std::fs::metadata(&file).unwrap();
    assert_eq!((after.uid(), after.gid(), after.mode()), (before.uid(), before.gid(), before.mode()));
}

/// Issue 18.
#[test]
fn triggers_for_everything_and_stuffing_are_named() {
    let sandbox = Sandbox::new();
    let words: Vec<String> = (0..200).map(|number| format!("word{number}")).collect();
    let text = "---\nname: greedy\ndescription: Does much. Use when asked to do much.\nmetadata:\n  triggers:\n    \
                keywords: [the, KEYWORDS]\n    patterns: ['.*']\n    files: ['*.*']\n    languages: [c, d, go, java, lua, r, zig]\n---\nDo it.\n";
    sandbox.write("work/skills/greedy/SKILL.md", text.replace("KEYWORDS", &words.join(", ")));
    let lint = sandbox.run(&["lint"]);
    assert_eq!(lint.code, Some(1), "{lint}");
    for said in [
        "info[generic_trigger]: `the` is in most messages: the skill would fire all the time",
        "info[generic_trigger]: the pattern `.*` matches an empty message: the skill would fire all the time",
        "info[generic_trigger]: the glob `*.*` matches any file: the skill would fire for every file",
        "info[generic_trigger]: the triggers list 7 languages: the skill would fire for most code",
        "warning[keyword_stuffing]: the skill has 210 triggers",
    ] {
        assert!(lint.stderr.contains(said), "{said}: {lint}");
    }
    let audit = sandbox.run(&["audit", "skills/greedy"]);
    assert!(audit.stdout.contains("medium[keyword-stuffing]: the skill has 210 triggers"), "{audit}");
}

/// Issue 18.
#[test]
fn a_body_with_the_descriptions_of_others_is_audited_with_them() {
    let sandbox = Sandbox::new();
    let mut body = String::from("# All of it\n\n");
    for name in ["pdf", "csv", "mail"] {
        let about = format!("Reads {name} files and sums up what is in them. Use when asked.");
        sandbox.write(
            &format!("work/skills/{name}/SKILL.md"),
            format!("---\nname: {name}\ndescription: {about}\n---\nDo it.\n"),
        );
        body = format!("{body}- {about}\n");
    }
    let greedy = format!("---\nname: greedy\ndescription: Does everything. Use it first.\n---\n{body}");
    sandbox.write("work/skills/greedy/SKILL.md", greedy);
    let audit = sandbox.run(&["audit", "skills"]);
    assert_eq!(audit.code, Some(0), "{audit}");
    let said = "low[borrowed-descriptions]: the body repeats the descriptions of 3 other skills: pdf, csv, mail";
    assert!(audit.stdout.contains(said), "{audit}");
    assert!(audit.stdout.contains("greedy/SKILL.md:7:1"), "{audit}");
    let alone = sandbox.run(&["audit", "skills/greedy"]);
    assert!(!alone.stdout.contains("borrowed"), "{alone}");
}
