use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

use insta::assert_snapshot;

use crate::Sandbox;

/// A column of a table. Of bundled skills, others change with their text.
fn column(stdout: &str, number: usize) -> Vec<&str> {
    stdout.lines().filter_map(|line| line.split_whitespace().nth(number)).collect()
}

#[test]
fn bundled_skills_are_there_without_any_set_up() {
    let sandbox = Sandbox::new();
    let run = sandbox.run(&["list"]);
    let (names, sources) = (column(&run.stdout, 0), column(&run.stdout, 1));
    assert_eq!((names, sources), (vec!["hello-extended", "skill-author"], vec!["bundled"; 2]));
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), "2 skills\n"));
    assert!(sandbox.path("home/.cache/skillcue/index").is_file());
}

#[test]
fn every_source_has_its_place() {
    let sandbox = Sandbox::with_pdf();
    sandbox.skill("work/.agents/skills/csv", "Reads CSV files. Use when the user has a table.");
    sandbox.skill("home/.claude/skills/notes", "Keeps notes. Use when the user wants to remember.");
    sandbox.write("home/.claude/plugins/cache/office/.claude-plugin/plugin.json", r#"{"name": "office"}"#);
    sandbox.skill("home/.claude/plugins/cache/office/skills/docx", "Reads Word files. Use when asked.");
    sandbox.skill("mine/pdf", "Another one for PDF. Use when asked.");
    assert_snapshot!(sandbox.run(&["--skills-dir", "../mine", "list", "--name", "^....?.?$"]), @r"
    exit 0
    --- stdout
    csv    project       2  Reads CSV files
    docx   office        2  Reads Word files
    notes  user          2  Keeps notes
    pdf    inline        2  Another one for PDF
    --- stderr
    warning[shadowed]: `pdf` is hidden by the inline skill in [TMP]/mine/pdf
    --> skills/pdf/SKILL.md
     = help: reach it as `pdf@project`, or rename one of the two

    4 skills
    ");
}

#[test]
fn a_bad_pattern_is_reported_by_every_command() {
    let sandbox = Sandbox::with_pdf();
    let text = "---\nname: bad\ndescription: Says hello. Use when asked.\ntriggers:\n  patterns: ['(']\n---\nHi.\n";
    sandbox.write("work/skills/bad/SKILL.md", text);
    let said = "the pattern `(` never matches: unclosed group";
    // A warning is printed once unless `-v` asks for it again.
    let commands = [
        &["list"][..],
        &["show", "bad"],
        &["doctor"],
        &["-v", "context", "hi"],
        &["lint", "skills/bad"],
        &["-v", "list"],
    ];
    for command in commands {
        let run = sandbox.run(command);
        assert!(run.stdout.contains(said) || run.stderr.contains(said), "{command:?}: {run}");
    }
    let run = sandbox.run(&["show", "pdf"]);
    assert!(!run.stderr.contains(said), "of another skill: {run}");
}

#[test]
fn json_has_exactly_the_documented_fields() {
    let sandbox = Sandbox::with_pdf();
    assert_snapshot!(sandbox.isolated(&["list", "--json"]), @r#"
    exit 0
    --- stdout
    [
    {"name":"pdf","description":"Reads and fills PDF forms. Use when the user has a PDF.","brief_description":"Reads and fills PDF forms","version":"1.10","source":"inline","plugin":null,"dir":"[TMP]/work/skills/pdf","path":"[TMP]/work/skills/pdf/SKILL.md","enabled":true,"types":["prompt"],"allowed_tools":["Read","Bash(git add:*)"],"model":null,"disable_model_invocation":false,"tokens":17}
    ]
    "#);
    assert_snapshot!(sandbox.isolated(&["--json", "list", "--name", "nothing"]), @r"
    exit 0
    --- stdout
    []
    ");
}

#[test]
fn filters() {
    let sandbox = Sandbox::with_pdf();
    sandbox.skill("work/skills/csv", "Reads tables. Use when asked.");
    assert_snapshot!(sandbox.isolated(&["list", "--name", "^C"]), @r"
    exit 0
    --- stdout
    csv   inline       2  Reads tables
    --- stderr
    1 skill
    ");
    assert_snapshot!(sandbox.isolated(&["list", "--keyword", "FORMS"]), @r"
    exit 0
    --- stdout
    pdf   inline      17  Reads and fills PDF forms
    --- stderr
    1 skill
    ");
    assert_snapshot!(sandbox.isolated(&["list", "--source", "user"]), @r"
    exit 0
    --- stderr
    0 skills
    skillcue list without filters shows all
    ");
    assert_snapshot!(sandbox.isolated(&["list", "--name", "("]), @r"
    exit 2
    --- stderr
    error[usage]: --name is no regular expression: unclosed group
      help: to look for plain text, put a backslash before its symbols
    ");
    assert_snapshot!(sandbox.isolated(&["list", "--source", "nowhere"]), @r"
    exit 2
    --- stderr
    error: invalid value 'nowhere' for '--source <SOURCE>'
      [possible values: inline, project, user, plugin, catalog, bundled, mcp]

    For more information, try '--help'.
    ");
}

#[test]
fn bad_skills_are_told_and_do_not_stop_the_others() {
    let sandbox = Sandbox::with_pdf();
    sandbox.write("work/skills/broken/SKILL.md", "---\nname: broken\n  nested: wrong\n description: x\n---\n");
    sandbox.write("work/skills/colon/SKILL.md", "---\nname: colon\ndescription: Use when: asked\n---\nDo it.\n");
    sandbox.write("work/skills/markdown/SKILL.md", "# Just Markdown\n");
    assert_snapshot!(sandbox.isolated(&["list"]), @r"
    exit 0
    --- stdout
    colon  inline       2  Use when: asked
    pdf    inline      17  Reads and fills PDF forms
    --- stderr
    error[missing_field]: `description` is missing or empty
     --> skills/broken/SKILL.md:2:1
      |
    2 | name: broken
      | ^
      |
      = help: say what the skill does and when to use it: `description: Reads PDF files. Use when …`

    warning[yaml_repaired]: an unquoted `: ` inside the value; it was read as if the value were quoted
     --> skills/colon/SKILL.md:3:22
      |
    3 | description: Use when: asked
      |                      ^
      |
      = help: write it that way, or let `skillcue lint --fix` do it

    error[no_front_matter]: the file does not start with a `---` line
     --> skills/markdown/SKILL.md:1:1
      |
    1 | # Just Markdown
      | ^
      |
      = help: start the file with `---`, `name: …`, `description: …`, `---`

    2 skills; 2 not usable
    ");
}

#[test]
fn many_findings_take_a_line_each() {
    let sandbox = Sandbox::new();
    for number in 0..12 {
        sandbox.write(&format!("work/skills/s{number:02}/SKILL.md"), "# No front matter\n");
    }
    assert_snapshot!(sandbox.isolated(&["list"]), @r"
    exit 0
    --- stderr
    [TMP]/work/skills/s00/SKILL.md:1:1: error[no_front_matter]: the file does not start with a `---` line
    [TMP]/work/skills/s01/SKILL.md:1:1: error[no_front_matter]: the file does not start with a `---` line
    [TMP]/work/skills/s02/SKILL.md:1:1: error[no_front_matter]: the file does not start with a `---` line
    [TMP]/work/skills/s03/SKILL.md:1:1: error[no_front_matter]: the file does not start with a `---` line
    [TMP]/work/skills/s04/SKILL.md:1:1: error[no_front_matter]: the file does not start with a `---` line
    [TMP]/work/skills/s05/SKILL.md:1:1: error[no_front_matter]: the file does not start with a `---` line
    [TMP]/work/skills/s06/SKILL.md:1:1: error[no_front_matter]: the file does not start with a `---` line
    [TMP]/work/skills/s07/SKILL.md:1:1: error[no_front_matter]: the file does not start with a `---` line
    [TMP]/work/skills/s08/SKILL.md:1:1: error[no_front_matter]: the file does not start with a `---` line
    [TMP]/work/skills/s09/SKILL.md:1:1: error[no_front_matter]: the file does not start with a `---` line
    [TMP]/work/skills/s10/SKILL.md:1:1: error[no_front_matter]: the file does not start with a `---` line
    [TMP]/work/skills/s11/SKILL.md:1:1: error[no_front_matter]: the file does not start with a `---` line
    12 errors: 12 no_front_matter
      help: -v shows each of them with its line
    0 skills; 12 not usable
    only directories named with --skills-dir DIR were looked at
    ");
    let verbose = sandbox.isolated(&["list", "-v"]).stderr;
    assert_eq!(verbose.matches("1 | # No front matter").count(), 12);
}

#[test]
fn disabled_skills_say_so() {
    let sandbox = Sandbox::with_pdf();
    sandbox.skill("work/skills/csv", "Reads tables. Use when asked.");
    sandbox.write("work/off.toml", "[skills]\ndisable = [\"pdf\"]\n");
    assert_snapshot!(sandbox.isolated(&["list", "--config", "off.toml"]), @r"
    exit 0
    --- stdout
    csv   inline       2  Reads tables
    pdf   inline      17  (disabled) Reads and fills PDF forms
    --- stderr
    2 skills, 1 disabled
    ");
    assert_snapshot!(sandbox.isolated(&["list", "--enabled", "--config", "off.toml"]), @r"
    exit 0
    --- stdout
    csv   inline       2  Reads tables
    --- stderr
    1 skill
    ");
}

#[test]
fn nothing_there() {
    let sandbox = Sandbox::new();
    assert_snapshot!(sandbox.run(&["list", "--isolated"]), @r"
    exit 0
    --- stderr
    0 skills
    only directories named with --skills-dir DIR were looked at
    ");
    assert_snapshot!(sandbox.run(&["list", "--isolated", "--json"]), @r"
    exit 0
    --- stdout
    []
    ");
}

#[test]
fn both_kinds_of_skill_file_in_one_tree() {
    let sandbox = Sandbox::with_pdf();
    sandbox.write(
        "work/skills/yaml/SKILL.yaml",
        "name: yaml\nversion: 2.0\ndescription: Only YAML. Use when asked.\ntypes: [prompt, tool]\nprompt:\n  system_prompt_file: prompt.md\n",
    );
    sandbox.write("work/skills/yaml/prompt.md", "Be helpful.\n");
    sandbox
        .write("work/skills/both/SKILL.yaml", "name: both\nversion: 1.0\ndescription: Both files. Use when asked.\n");
    sandbox.write("work/skills/both/SKILL.md", "The body.\n");
    assert_snapshot!(sandbox.isolated(&["list"]), @r"
    exit 0
    --- stdout
    both  inline       3  Both files
    pdf   inline      17  Reads and fills PDF forms
    yaml  inline       3  Only YAML
    --- stderr
    3 skills
    ");
    assert_snapshot!(sandbox.isolated(&["load", "yaml", "--format", "body"]), @r"
    exit 0
    --- stdout
    Be helpful.
    ");
    assert_snapshot!(sandbox.isolated(&["load", "both", "--format", "body"]), @r"
    exit 0
    --- stdout
    The body.
    ");
}

#[test]
fn a_fifo_named_like_a_skill_does_not_hang_it() {
    let sandbox = Sandbox::with_pdf();
    std::fs::create_dir_all(sandbox.path("work/skills/fifo")).unwrap();
    let made = std::process::Command::new("mkfifo").arg(sandbox.path("work/skills/fifo/SKILL.md")).status().unwrap();
    assert!(made.success());
    assert_snapshot!(sandbox.isolated(&["list"]), @r"
    exit 0
    --- stdout
    pdf   inline      17  Reads and fills PDF forms
    --- stderr
    error[not_a_file]: a FIFO is where a skill file should be
    --> skills/fifo/SKILL.md
     = help: replace it by a regular file

    1 skill; 1 not usable
    ");
}

#[test]
fn a_second_start_reads_nothing() {
    let sandbox = Sandbox::with_pdf();
    let long_ago = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000);
    for path in ["work/skills/pdf/SKILL.md", "work/skills/pdf", "work/skills"] {
        std::fs::File::open(sandbox.path(path)).unwrap().set_modified(long_ago).unwrap();
    }
    let first = sandbox.isolated(&["list", "-v"]).stderr;
    assert!(first.contains("read=1 from_cache=0"), "{first}");
    let second = sandbox.isolated(&["list", "-v"]).stderr;
    assert!(second.contains("read=0 from_cache=1"), "{second}");
    let third = sandbox.isolated(&["list", "-v", "--no-cache"]).stderr;
    assert!(third.contains("read=1 from_cache=0"), "{third}");
}

#[test]
fn a_reader_that_stops_causes_no_error() {
    let sandbox = Sandbox::new();
    for number in 0..2000 {
        sandbox.skill(&format!("work/skills/s{number}"), &"Does a thing. ".repeat(20));
    }
    for args in [["list"].as_slice(), &["list", "--json"]] {
        let mut command = sandbox.command(&[&["--isolated", "--skills-dir", "skills"], args].concat());
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        // Reads a buffer, and closes the pipe.
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert!(!line.is_empty());
        let output = child.wait_with_output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.code(), stderr.as_str()), (Some(0), ""), "{args:?}");
    }
}

#[test]
fn many_skills_are_printed_in_order() {
    let sandbox = Sandbox::new();
    for number in 0..5000 {
        sandbox.skill(&format!("work/skills/s{number:04}"), "Does a thing.");
    }
    let listed = sandbox.isolated(&["list", "--json"]).stdout;
    let names = listed.lines().filter_map(|line| line.get(9..14));
    // Not `assert_eq`: five thousand names are no message.
    assert!(names.eq((0..5000).map(|number| format!("s{number:04}"))));
    assert!(listed.starts_with("[\n{") && listed.ends_with("}\n]\n"));
}

/// Issue 15: hooks and people saw the same warnings on every run.
#[test]
fn warnings_are_told_once_and_then_counted() {
    let sandbox = Sandbox::with_pdf();
    sandbox.skill("home/.claude/skills/pdf", "Mine. Use when asked.");
    let told = |args: &[&str]| {
        let run = sandbox.run(args);
        let known = run.stderr.lines().find(|line| line.contains(" as before; ")).map(str::to_owned);
        (run.stderr.matches("warning[").count(), known.unwrap_or_default())
    };
    let one = || "1 warning as before; skillcue doctor shows it".to_owned();
    assert_eq!(told(&["list", "--json"]), (1, String::new()), "what programs get stays");
    assert_eq!(told(&["list", "--no-cache"]), (1, String::new()), "and neither is remembered");
    assert_eq!(told(&["list"]), (1, String::new()));
    assert_eq!(told(&["list"]), (0, one()));
    for command in [&["context", "x"][..], &["prompt"], &["search", "x"]] {
        assert_eq!(told(command), (0, one()), "{command:?}");
    }
    // A new one is told, and so is an error, each time.
    sandbox.write(
        "work/skills/needy/SKILL.md",
        "---\nname: needy\ndescription: Does it. Use when asked.\nmetadata:\n  requires: [ruby]\n---\n",
    );
    sandbox.write("work/skills/broken/SKILL.md", "no front matter\n");
    assert_eq!(told(&["list"]), (1, one()));
    let run = sandbox.run(&["list"]);
    assert!(run.stderr.contains("error[no_front_matter]"), "{run}");
    assert!(run.stderr.contains("2 warnings as before; skillcue doctor shows them\n"), "{run}");
    // With -v they are shown.
    for args in [&["list", "-v"][..], &["list", "--no-cache"], &["list", "--json"]] {
        assert_eq!(told(args), (2, String::new()), "{args:?}");
    }
    let doctor = sandbox.run(&["doctor"]).stdout;
    assert!(doctor.contains("shadowed") && doctor.contains("requires_missing"), "{doctor}");
    // A change of one is one, and a cache that cannot be written to is no failure.
    sandbox.write("work/skills/pdf/SKILL.md", "---\nname: pdf\ndescription: Other. Use when asked.\n---\n");
    std::fs::remove_dir_all(sandbox.path("home/.cache")).unwrap();
    sandbox.write("home/.cache", "in the way");
    for _ in 0..2 {
        assert_eq!(told(&["list"]), (2, String::new()));
    }
}

/// Without `/proc` the program cannot find itself, which only what starts the sandbox's helper needs.
#[test]
#[cfg(target_os = "linux")]
fn skills_are_listed_where_the_program_cannot_find_itself() {
    let sandbox = Sandbox::with_pdf();
    sandbox.write("work/skills/pdf/scripts/x.sh", "#!/bin/sh\necho ran\n");
    let without_proc = |args: &[&str]| {
        let mut command = std::process::Command::new("/usr/bin/unshare");
        command
            .args(["--map-root-user", "--mount", "/bin/sh", "-c", "mount -t tmpfs none /proc && exec \"$0\" \"$@\""])
            .arg(env!("CARGO_BIN_EXE_skillcue"))
            .args(args)
            .current_dir(sandbox.path("work"))
            .env_clear()
            .envs([("HOME", sandbox.path("home")), ("TMPDIR", sandbox.path("tmp")), ("PATH", "/usr/bin:/bin".into())]);
        sandbox.finish(command.output().unwrap())
    };
    // The control: there it cannot be found.
    let run = without_proc(&["run", "pdf", "scripts/x.sh"]);
    if run.code != Some(1) || !run.stderr.contains("cannot start the sandbox's helper (this program)") {
        println!("skipped: no namespace without /proc can be made: {run}");
        return;
    }
    for args in [&["list"][..], &["context", "--isolated", "--skills-dir", "skills", "fill the pdf form"], &["tools"]] {
        let run = without_proc(args);
        assert_eq!(run.code, Some(0), "{args:?}: {run}");
    }
}
