use insta::assert_snapshot;

use crate::Sandbox;

#[test]
fn help() {
    let sandbox = Sandbox::new();
    assert_snapshot!(sandbox.run(&["--help"]), @r#"
    exit 0
    --- stdout
    Give a model the right skill at the right moment: find, match, disclose, load and check agent skills

    Usage: skillcue [OPTIONS] <COMMAND>

    Commands:
      context      Print what a model would get this turn
      why          Explain why skills fit a message, or do not
      search       Search for skills
      prompt       Print the section of a system prompt that lists the skills
      eval         Run labelled messages, and measure how well they are matched
      tune         Propose better words for a skill, judged by labelled messages
      studio       Open a page that shows what a model would get, and why
      usage        Show how skills were used: which earn their tokens, which never fire
      list         List every skill
      show         Show one skill: metadata, files, diagnostics
      load         Print the instructions of a skill, with arguments
      files        List the files of a skill
      read         Print a file of a skill
      tools        Show the tools that models can call, or those of a skill
      run          Run a script of a skill, in the sandbox
      call         Call a tool, as a model would
      toolset      Install what toolsets import
      agent        Talk to a model that uses the skills, or have it answer
      sessions     List the agent's conversations, show one, remove them
      trace        Show what a conversation cost, by turn and part, and what skills saved
      memory       Show what the agent remembers, and make it forget
      model        Install the sentence model that finds skills by meaning, show it, remove it
      mcp          Serve the skills to MCP clients, or look at an MCP server
      hook         Answer the hook of another agent: the skills that fit, as that agent reads them
      connect      Make another agent use the skills: its hook, and the MCP server
      disconnect   Take back what `connect` wrote, byte for byte
      status       Show skills by source, MCP servers, and what is allowed
      doctor       Check the whole set-up, and report what is wrong with it
      watch        Print what changes on disk, as it happens
      allow        Allow a project, a remote skill, scripts or toolsets, exactly as they are
      deny         Take back what was allowed
      allowed      List what is allowed
      install      Install skills from a directory, an archive or git
      publish      Publish skills to a catalog on an object store
      pull         Ask the configured catalogs for newer generations
      catalog      Look at catalogs on object stores: keys, signatures, retention
      enable       Switch skills on
      disable      Switch skills off
      update       Show new versions of installed skills, and install them
      push         Push a skill to an OCI registry
      remove       Remove what was installed; can be undone
      verify       Compare what is installed with skillcue.lock
      link         Let other agents see installed skills, through links in their folders
      unlink       Remove such links
      audit        Look through all files of skills for what may be an attack
      gc           Empty the trash, and clear up
      validate     Check skills against the open standard
      lint         Review the style of skills, and repair broken YAML
      new          Start a new skill
      completions  Print a script that completes commands in a shell
      man          Print a manual page
      help         Print this message or the help of the given subcommand(s)

    Options:
      -h, --help     Print help
      -V, --version  Print version

    Global options:
          --skills-dir <DIR>  Look for skills below DIR first; may be given several times
          --isolated          Use only --skills-dir: no project, user, plugin or bundled skills
          --no-cache          Neither read nor write the index cache
          --config <FILE>     Read FILE instead of the user's and the project's skillcue.toml
          --json              Print one JSON document on stdout
      -v, --verbose...        Print more on stderr; -vv and -vvv print still more
          --color <WHEN>      When to use colours; auto: on a terminal, unless `NO_COLOR` is set
                              [default: auto] [possible values: auto, always, never]

    Examples:
      skillcue context "Say bonjour to Alice"    what a model would get for this message
      skillcue why "Say bonjour to Alice"        which words decide for which skill
      skillcue list                              every skill there is
      skillcue show hello-extended               what it is, and what belongs to it
      skillcue load hello-extended Alice         its instructions, with an argument
      skillcue agent -p "Say bonjour to Alice"   a model's answer, with the skill
      skillcue new release-notes                 start a skill of your own
      skillcue --isolated --skills-dir ./s list  only the skills below ./s

    Exit codes: 0 done; 1 failed, or a check failed; 2 wrong usage.
    With --json a command that fails prints {"error": {code, message, help}} on stdout.
    SKILLCUE_SKILLS_DIRS, _ISOLATED, _NO_CACHE, _CONFIG, _COLOR, _MODE, _MAX_SKILLS, _FALLBACK and
    _EAGERNESS set the options of that name.
    "#);
    assert_snapshot!(sandbox.run(&["lint", "--help"]), @r"
    exit 0
    --- stdout
    Review the style of skills, and repair broken YAML

    Usage: skillcue lint [OPTIONS] [PATH]...

    Arguments:
      [PATH]...  Skills, SKILL.md files or directories of skills; without any, those of the project

    Options:
          --fix   Write the repair of broken YAML into the file, and touch nothing else
      -h, --help  Print help

    Global options:
          --skills-dir <DIR>  Look for skills below DIR first; may be given several times
          --isolated          Use only --skills-dir: no project, user, plugin or bundled skills
          --no-cache          Neither read nor write the index cache
          --config <FILE>     Read FILE instead of the user's and the project's skillcue.toml
          --json              Print one JSON document on stdout
      -v, --verbose...        Print more on stderr; -vv and -vvv print still more
          --color <WHEN>      When to use colours; auto: on a terminal, unless `NO_COLOR` is set
                              [default: auto] [possible values: auto, always, never]

    Examples:
      skillcue lint                 every skill of the project
      skillcue lint skills/pdf      one skill, or all below a directory
      skillcue lint --fix           repair broken YAML, and change nothing else

    It exits with 1 if there is an error or a warning; suggestions are only shown.
    With --json it prints {valid, diagnostics: [{path, line, column, code, severity, message, help}]},
    where `valid` says that there is neither error nor warning, and with --fix also fixed: [{path,
    changes: [{line, column, message}]}].
    ");
    for command in [
        "context",
        "why",
        "search",
        "prompt",
        "eval",
        "tune",
        "doctor",
        "list",
        "show",
        "load",
        "files",
        "read",
        "validate",
        "lint",
        "new",
        "bench",
        "completions",
        "man",
    ] {
        let run = sandbox.run(&[command, "--help"]);
        assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{command}");
        assert!(command == "bench" || run.stdout.contains("Examples:"), "{run}");
        let widest = run.stdout.lines().map(|line| line.chars().count()).max();
        assert!(widest <= Some(100), "{run}");
    }
}

#[test]
fn wrong_usage() {
    let sandbox = Sandbox::new();
    assert_snapshot!(sandbox.run(&["lst"]), @r"
    exit 2
    --- stderr
    error: unrecognized subcommand 'lst'

      tip: some similar subcommands exist: 'lint', 'list'

    Usage: skillcue [OPTIONS] <COMMAND>

    For more information, try '--help'.
    ");
    assert_snapshot!(sandbox.run(&["list", "--nmae", "x"]), @r"
    exit 2
    --- stderr
    error: unexpected argument '--nmae' found

      tip: a similar argument exists: '--name'

    Usage: skillcue list --name <REGEX>

    For more information, try '--help'.
    ");
    assert_eq!(sandbox.run(&[]).code, Some(2));
    assert_eq!(sandbox.run(&["list", "--color", "blue"]).code, Some(2));
}

#[test]
fn a_directory_that_is_not_there() {
    let sandbox = Sandbox::with_pdf();
    assert_snapshot!(sandbox.run(&["--skills-dir", "nowhere", "list"]), @r"
    exit 2
    --- stderr
    error[usage]: skills directory nowhere: no such file or directory
      help: name a directory that holds skills
    ");
    assert_snapshot!(sandbox.run(&["--skills-dir", "skills/pdf/SKILL.md", "list", "--json"]), @r#"
    exit 2
    --- stdout
    {"error":{"code":"usage","message":"skills directory skills/pdf/SKILL.md: it is not a directory","help":"name a directory that holds skills"}}
    --- stderr
    error[usage]: skills directory skills/pdf/SKILL.md: it is not a directory
      help: name a directory that holds skills
    "#);
    assert_snapshot!(sandbox.run(&["--config", "nowhere.toml", "list"]), @r"
    exit 2
    --- stderr
    error[usage]: configuration file [TMP]/work/nowhere.toml: no such file
      help: name a skillcue.toml that is there
    ");
}

#[test]
fn directories_may_be_given_on_both_sides_of_the_command() {
    let sandbox = Sandbox::new();
    sandbox.skill("work/one/a", "Does it. Use when asked.");
    sandbox.skill("work/two/b", "Does it. Use when asked.");
    let run = sandbox.run(&["--isolated", "--skills-dir", "one", "list", "--skills-dir", "two"]);
    assert_eq!(run.stdout.lines().count(), 2, "{run}");
}

#[test]
fn colours_when_asked_for() {
    let sandbox = Sandbox::with_pdf();
    for args in
        [["list"].as_slice(), &["show", "pdf"], &["show", "nothing"], &["lint"], &["validate", "skills"], &["--help"]]
    {
        let plain = sandbox.run(args);
        assert!(!plain.to_string().contains('\u{1b}'), "{plain}");
        let coloured = sandbox.run(&[args, &["--color", "always"]].concat());
        assert!(coloured.to_string().contains('\u{1b}'), "{args:?}");
        let forced = sandbox.command(args).env("CLICOLOR_FORCE", "1").output().unwrap();
        let forced = sandbox.finish(forced);
        assert_eq!(forced.to_string(), coloured.to_string());
    }
    let coloured = sandbox.isolated(&["list", "--color", "always"]).to_string();
    assert_snapshot!(coloured.replace('\u{1b}', "␛"), @r"
    exit 0
    --- stdout
    ␛[1mpdf␛[0m   ␛[36minline␛[0m      17  Reads and fills PDF forms
    --- stderr
    ␛[2m1 skill␛[0m
    ");
}

#[test]
fn logs_say_more_when_asked() {
    let sandbox = Sandbox::with_pdf();
    assert_eq!(sandbox.isolated(&["load", "pdf"]).stderr, "");
    let log = sandbox.isolated(&["-vv", "load", "pdf", "secret"]).stderr;
    assert!(log.contains("skillcue::load: loaded skill=pdf") && !log.contains("secret"), "{log}");
}

#[test]
fn a_reader_that_stops_does_not_change_the_outcome() {
    let sandbox = Sandbox::with_pdf();
    sandbox.write("work/skills/broken/SKILL.md", "# No front matter\n");
    sandbox.skill("work/skills/good", "Does a thing that is useful. Use when asked.");
    let unread = |args: &[&str]| {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let run = sandbox.finish(sandbox.command(args).stdout(writer).output().unwrap());
        assert!(!run.stderr.contains("error[output]"), "{run}");
        run.code
    };
    for command in ["validate", "lint"] {
        assert_eq!(unread(&[command, "skills/broken"]), Some(1), "{command}");
        assert_eq!(unread(&[command, "skills/broken", "--json"]), Some(1), "{command}");
        assert_eq!(unread(&[command, "skills/good"]), Some(0), "{command}");
    }
    assert_eq!(unread(&["list"]), Some(0));
    assert_eq!(unread(&["list", "--json"]), Some(0));
}

#[test]
fn programs_are_told_of_wrong_usage() {
    let sandbox = Sandbox::new();
    let told = |args: &[&str]| {
        let run = sandbox.run(args);
        assert_eq!(run.code, Some(2), "{run}");
        assert!(!run.stderr.is_empty(), "{run}");
        run.stdout
    };
    assert_snapshot!(told(&["--json", "lst"]), @r#"{"error":{"code":"usage","message":"unrecognized subcommand 'lst'","help":"some similar subcommands exist: 'lint', 'list'"}}"#);
    assert_snapshot!(told(&["list", "--nmae", "x", "--json"]), @r#"{"error":{"code":"usage","message":"unexpected argument '--nmae' found","help":"a similar argument exists: '--name'"}}"#);
    assert_snapshot!(told(&["validate", "--json"]), @r#"{"error":{"code":"usage","message":"the following required arguments were not provided: <PATH>...","help":"`skillcue --help` lists commands and options"}}"#);
    assert_snapshot!(told(&["--json"]), @r#"{"error":{"code":"usage","message":"the command is missing","help":"`skillcue --help` lists commands and options"}}"#);
    assert_eq!(told(&["show", "--", "--json", "b"]), "");
    let run = sandbox.run(&["--json", "--help"]);
    assert!(run.code == Some(0) && run.stdout.starts_with("Give a model"), "{run}");
    let run = sandbox.finish(sandbox.command(&["list", "--json"]).env("SKILLCUE_COLOR", "blue").output().unwrap());
    assert!(run.code == Some(2) && run.stdout.starts_with(r#"{"error":{"code":"usage","#), "{run}");
}

#[cfg(not(feature = "agent"))]
#[test]
fn without_the_agent_it_says_how_to_get_it() {
    let sandbox = Sandbox::new();
    for args in [&["agent", "-p", "hi"][..], &["sessions", "list"], &["trace", "--all"], &["memory"]] {
        let run = sandbox.run(args);
        assert_eq!(run.code, Some(1), "{run}");
        assert!(
            run.stderr.starts_with("error[no_agent]")
                && run.stderr.contains("cargo install --path crates/skillcue-cli`"),
            "{run}"
        );
    }
}

#[cfg(not(feature = "bench"))]
#[test]
fn without_the_measurements_it_names_the_build_that_has_them() {
    let sandbox = Sandbox::new();
    assert_snapshot!(sandbox.run(&["bench", "--skills", "100"]), @r"
    exit 2
    --- stderr
    error[no_bench]: this program was built without the measurements
      help: run `cargo xtask bench` in a checkout of the repository: it builds and runs them
    ");
}

#[cfg(not(feature = "engine"))]
#[test]
fn without_the_engine_it_says_how_to_get_it() {
    let sandbox = Sandbox::new();
    for args in [&["tools", "hello-extended"][..], &["call", "hello-extended__greeting", "{\"language\": \"fr\"}"]] {
        let run = sandbox.run(args);
        assert_eq!(run.code, Some(1), "{run}");
        let said = run.to_string();
        assert!(
            said.contains("no engine for toolsets") && said.contains("cargo install --path crates/skillcue-cli`"),
            "{run}"
        );
    }
}

/// Issue 15: footers were broken by their authors at 100 columns and by the parser at the terminal's width.
#[test]
fn footers_are_broken_once() {
    let sandbox = Sandbox::new();
    let help = |columns: &str, command: &str| {
        let mut run = sandbox.command(&[command, "--help"]);
        let run = sandbox.finish(run.env("COLUMNS", columns).output().unwrap());
        run.stdout.split_once("Examples:\n").unwrap_or_else(|| panic!("{run}")).1.to_owned()
    };
    for command in ["status", "list", "install", "watch", "doctor"] {
        let wide = help("100", command);
        let narrow = help("60", command);
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(words(&wide), words(&narrow), "{command}");
        // A line is left before its last word would have fitted only at the end of a sentence.
        let prose = narrow.split("\n\n").nth(1).unwrap_or_else(|| panic!("{command}: {narrow}"));
        for pair in prose.lines().collect::<Vec<_>>().windows(2) {
            let next = pair[1].split(' ').next().unwrap();
            let is_full = pair[0].chars().count() + 1 + next.chars().count() > 60;
            assert!(is_full || pair[0].ends_with('.'), "{command}: {:?} before {:?}", pair[0], pair[1]);
        }
    }
}
