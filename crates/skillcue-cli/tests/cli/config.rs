use insta::assert_snapshot;

use crate::Sandbox;
use crate::sandbox::SETTINGS;

#[test]
fn variables_stand_for_flags() {
    let sandbox = Sandbox::new();
    sandbox.skill("one/a", "Does it. Use when asked.");
    sandbox.skill("two/b", "Does it. Use when asked.");
    sandbox.skill("three/c", "Does it. Use when asked.");
    let run = |args: &[&str]| {
        let mut command = sandbox.command(args);
        command.env("SKILLCUE_SKILLS_DIRS", "../one:../two").env("SKILLCUE_ISOLATED", "1");
        command.env("SKILLCUE_NO_CACHE", "true").env("SKILLCUE_COLOR", "always");
        sandbox.finish(command.output().unwrap()).to_string().replace('\u{1b}', "␛")
    };
    assert_snapshot!(run(&["list"]), @r"
    exit 0
    --- stdout
    ␛[1ma␛[0m     ␛[36minline␛[0m       1  Does it
    ␛[1mb␛[0m     ␛[36minline␛[0m       1  Does it
    --- stderr
    ␛[2m2 skills␛[0m
    ");
    assert_snapshot!(run(&["list", "--color", "never", "--skills-dir", "../three"]), @r"
    exit 0
    --- stdout
    c     inline       1  Does it
    --- stderr
    1 skill
    ");
    assert!(!sandbox.path("home/.cache").exists());
}

#[test]
fn wrong_variables_are_wrong_usage() {
    let sandbox = Sandbox::new();
    // The others are the host's, and tested there.
    for (name, value) in [("SKILLCUE_COLOR", "blue"), ("SKILLCUE_ISOLATED", "perhaps")] {
        let run = sandbox.finish(sandbox.command(&["list"]).env(name, value).output().unwrap());
        assert_eq!(run.code, Some(2), "{name}: {run}");
        assert!(run.stderr.contains(name), "{run}");
    }
}

#[test]
fn a_project_names_only_its_own_directories() {
    let sandbox = Sandbox::new();
    sandbox.skill("work/more/inside", "Does it. Use when asked.");
    sandbox.skill("elsewhere/outside", "Does it. Use when asked.");
    sandbox.write("work/skillcue.toml", "[skills]\ndirs = [\"more\", \"../elsewhere\"]\n");
    assert_snapshot!(sandbox.run(&["list", "--source", "project"]), @r"
    exit 0
    --- stdout
    inside  project       3  Does it
    --- stderr
    warning[untrusted_path]: [TMP]/work/skillcue.toml may not add [TMP]/elsewhere: it is outside of the project
      help: if you trust it, pass --skills-dir [TMP]/elsewhere, or run `skillcue allow`
    1 skill
    ");
    // The user may.
    sandbox.write(SETTINGS, format!("[skills]\ndirs = [{:?}]\n", sandbox.path("elsewhere")));
    assert_snapshot!(sandbox.run(&["list", "--source", "user"]).stdout, @"outside  user         3  Does it");
}

#[test]
fn a_broken_file_is_shown() {
    let sandbox = Sandbox::new();
    sandbox.write("work/skillcue.toml", "[skills]\ndirs = [\"a\"]\ndisabled = [\"b\"]\n");
    assert_snapshot!(sandbox.run(&["list"]), @r#"
    exit 1
    --- stderr
    error[config]: unknown field `disabled`, expected one of `dirs`, `plugins`, `enable`, `disable`
     --> [TMP]/work/skillcue.toml:3:1
      |
    3 | disabled = ["b"]
      | ^^^^^^^^
      |
      = help: did you mean `disable`?
    "#);
    assert_snapshot!(sandbox.run(&["list", "--json"]), @r#"
    exit 1
    --- stdout
    {"error":{"code":"config","message":"unknown field `disabled`, expected one of `dirs`, `plugins`, `enable`, `disable`","help":"did you mean `disable`?"}}
    --- stderr
    error[config]: unknown field `disabled`, expected one of `dirs`, `plugins`, `enable`, `disable`
     --> [TMP]/work/skillcue.toml:3:1
      |
    3 | disabled = ["b"]
      | ^^^^^^^^
      |
      = help: did you mean `disable`?
    "#);
    // What looks at no skills does not care.
    assert_eq!(sandbox.run(&["new", "x"]).code, Some(0));
}

#[test]
fn a_file_does_not_command_the_terminal() {
    let sandbox = Sandbox::new();
    sandbox.write("work/skillcue.toml", "[skills]\ndirs = [\"/x\\u001b[2J\\u009b\\u202e\"]\n");
    // With colours, where nothing is taken away.
    let run = sandbox.run(&["list", "--color", "always"]);
    assert!(run.stderr.contains(r"may not add /x\u{1b}[2J\u{9b}\u{202e}: it"), "{run}");
    assert!(run.stderr.contains(r"--skills-dir /x\u{1b}[2J\u{9b}\u{202e}, or"), "{run}");
    assert!(!run.stderr.contains("\u{1b}[2J"), "{run}");
    let run = sandbox.run(&["list", "--color", "always", "--skills-dir", "/x\u{1b}[2J"]);
    assert!(run.stderr.contains(r"/x\u{1b}[2J: no such file") && !run.stderr.contains("\u{1b}[2J"), "{run}");
}

#[test]
fn a_plugin_does_not_command_the_terminal() {
    let sandbox = Sandbox::new();
    let plugin = "home/.claude/plugins/cache/evil";
    sandbox.write(&format!("{plugin}/.claude-plugin/plugin.json"), r#"{"name": "e\u001b[2Jvil"}"#);
    sandbox.skill(&format!("{plugin}/skills/docx"), "Reads Word files. Use when asked.");
    let run = sandbox.run(&["list", "--color=always"]);
    assert!(run.to_string().contains("vil") && !run.to_string().contains("\u{1b}[2J"), "{run}");
}

#[test]
fn a_trusted_project_may_switch() {
    let sandbox = Sandbox::new();
    sandbox.skill("home/.agents/skills/mine", "Does it. Use when asked.");
    sandbox.write("work/skillcue.toml", "[skills]\ndisable = [\"mine\"]\n");
    let told = sandbox.run(&["list"]).stderr;
    assert!(told.contains("the project may not switch `mine` off: it is not one of its own skills"), "{told}");
    assert_eq!(sandbox.run(&["allow", "--yes"]).code, Some(0));
    let run = sandbox.run(&["list", "--enabled"]);
    assert!(!run.stderr.contains("untrusted_switch") && !run.stdout.contains("mine"), "{run}");
}
