//! `skillcue context`.
//!
//! Over 500 lines: whole outputs are kept as snapshots.

use std::fmt::Write as _;
use std::fs;

use insta::assert_snapshot;
use serde_json::Value;

use crate::sandbox::SETTINGS;
use crate::{Run, Sandbox};

/// The output of a run, without the time that deciding took; and without the tokens of a text that holds the path of a
/// temporary directory.
fn steady(run: &Run) -> String {
    let mut out = String::new();
    for line in run.to_string().lines() {
        let mut fields: Vec<&str> = line.split(" · ").collect();
        if line.starts_with("tier ") {
            let time = fields.last_mut().unwrap();
            assert!(time.ends_with(" µs") || time.ends_with(" ms"), "{run}");
            *time = "[TIME]";
            if run.stdout.contains("Base directory") {
                fields[2] = "[TOKENS]";
            }
        }
        let _ = writeln!(out, "{}", fields.join(" · "));
    }
    out
}

/// The line that says what was done, without the time.
fn summary(run: &Run) -> String {
    let line = run.stderr.lines().find(|line| line.starts_with("tier ")).unwrap_or_else(|| panic!("{run}"));
    line.rsplit_once(" · ").unwrap().0.to_owned()
}

fn keys(value: &Value) -> String {
    let keys: Vec<&str> = value.as_object().unwrap().keys().map(String::as_str).collect();
    keys.join(" ")
}

/// Each skill of a report and what became of it.
fn decisions(json: &Value) -> String {
    let one = |skill: &Value| format!("{} {}", skill["name"].as_str().unwrap(), skill["decision"].as_str().unwrap());
    json["skills"].as_array().unwrap().iter().map(one).collect::<Vec<_>>().join(", ")
}

/// A skill with a body of so many lines, which its name selects.
fn long(sandbox: &Sandbox, name: &str, lines: usize) {
    let mut text = format!("---\nname: {name}\ndescription: Does {name}. Use when asked.\ntriggers: [{name}]\n---\n");
    for line in 1..=lines {
        let _ = writeln!(text, "Line {line} of {name} says what to do next.");
    }
    sandbox.write(&format!("work/skills/{name}/SKILL.md"), text);
}

#[test]
fn a_message_that_needs_nothing_costs_next_to_nothing() {
    let sandbox = Sandbox::new();
    let run = sandbox.run(&["context", "What is 2+2?"]);
    assert_eq!((run.code, run.stdout.as_str()), (Some(0), "[2 skills available]\n"), "{run}");
    let summary = summary(&run);
    assert!(summary.starts_with("tier 1 · 0 of 2 skills · 6 tokens instead of 1,"), "{run}");
    assert!(summary.ends_with(" (−99.7 %)"), "{run}");
    // What is left of very much is not nothing.
    long(&sandbox, "alpha", 6000);
    let run = sandbox.isolated(&["context", "What is 2+2?"]);
    assert!(self::summary(&run).ends_with(" (−99.9 %)"), "{run}");
}

#[test]
fn fitting_skills_are_documented() {
    let sandbox = Sandbox::new();
    let run = sandbox.run(&["context", "Say bonjour to Alice"]);
    assert!(run.stdout.starts_with("## Relevant Skill Documentation\n\n### hello-extended\n\nBase directory"), "{run}");
    assert!(!run.stdout.contains("$ARGUMENTS") && run.stdout.contains("# Greetings"), "{run}");
    assert!(run.stderr.starts_with("tier 3 · 1 of 2 skills · "), "{run}");
    let sandbox = Sandbox::with_library();
    assert_snapshot!(steady(&sandbox.isolated(&["context", "--mode", "keyword", "chart the PDF"])), @r"
    exit 0
    --- stdout
    ## Relevant Skill Documentation

    ### csv

    Base directory for this skill: [TMP]/work/skills/csv

    # CSV

    Read the table.

    ### pdf

    Base directory for this skill: [TMP]/work/skills/pdf

    # PDF

    Read .

    ## Forms

    See [reference](reference.md).
    --- stderr
    tier 3 · 2 of 3 skills · [TOKENS] · [TIME]
    ");
}

/// D-13: at some eagerness the skill is likely, but not sure.
#[test]
fn likely_skills_are_named() {
    let sandbox = Sandbox::with_library();
    let (message, steps) =
        ("fold something out of paper", (1..100).map(|percent| format!("{}", f64::from(percent) / 100.0)));
    let is_named = |eagerness: &String| {
        let run = sandbox.isolated(&["context", message, "--eagerness", eagerness]);
        run.stdout.starts_with("## Skills that may fit")
    };
    let eagerness = steps.step_by(7).find(is_named).expect("at some eagerness it is named");
    let run = sandbox.isolated(&["context", message, "--eagerness", &eagerness, "-v"]);
    let last = "\n\nLoad one with load_skill if it fits; otherwise ignore them.\n";
    assert!(
        run.stdout.starts_with("## Skills that may fit\n\n- **origami**: Fold") && run.stdout.ends_with(last),
        "{run}"
    );
    assert!(run.stderr.contains("\norigami → named: likelihood 0."), "{run}");
    assert!(run.stderr.contains(", names from 0.") && run.stderr.contains(", bodies from "), "{run}");
    assert!(run.stderr.contains("tier 2 · 1 of 3 skills named · "), "{run}");
    let json = sandbox.isolated(&["context", message, "--eagerness", &eagerness, "--json"]).json();
    assert_eq!((&json["tier"], decisions(&json).as_str()), (&2.into(), "origami named, pdf omitted"));
    let why = sandbox.isolated(&["why", message, "--eagerness", &eagerness]);
    assert!(why.stdout.contains("\n   → named: likelihood 0."), "{why}");
    let why = sandbox.isolated(&["why", message, "--eagerness", &eagerness, "--json"]).json();
    assert_eq!(why["decisions"][0]["decision"], "named");
    // The same by the file and by the variable; a flag has the last word.
    sandbox.write("work/eager.toml", format!("[disclose]\neagerness = {eagerness}\n"));
    sandbox.write("work/select.toml", format!("[select]\neagerness = {eagerness}\n"));
    for file in ["eager.toml", "select.toml"] {
        assert_eq!(sandbox.isolated(&["--config", file, "context", message]).stdout, run.stdout);
    }
    let all = ["--config", "eager.toml", "context", message, "--eagerness", "1"];
    assert!(sandbox.isolated(&all).stdout.starts_with("## Relevant"), "{run}");
    assert!(sandbox.isolated(&["context", message, "--eagerness", "0"]).stdout.starts_with("[3 skills"), "{run}");
    let run = sandbox.isolated(&["context", message, "--eagerness", "0", "-v"]);
    assert!(run.stderr.contains("\norigami → breadcrumb: ") && run.stderr.contains("bodies from 1.00"), "{run}");
    let by_keywords = ["context", message, "--eagerness", &eagerness, "--mode", "keyword"];
    assert!(!sandbox.isolated(&by_keywords).stdout.contains("may fit"));
}

#[test]
fn an_eagerness_is_from_0_to_1() {
    let sandbox = Sandbox::with_library();
    assert_snapshot!(sandbox.isolated(&["context", "x", "--eagerness", "1.5"]), @r"
    exit 2
    --- stderr
    error: invalid value '1.5' for '--eagerness <E>': it is not between 0 and 1

    For more information, try '--help'.
    ");
    sandbox.write("work/old.toml", "[disclose]\nmin_confidence = 0.5\n");
    let run = sandbox.isolated(&["--config", "old.toml", "context", "x"]);
    assert!(run.code == Some(1) && run.stderr.contains("help: `eagerness` replaces it: from 0"), "{run}");
    sandbox.write("work/wrong.toml", "[select]\nmode = \"hybrid\"\neagerness = 2\n");
    assert_snapshot!(sandbox.isolated(&["--config", "wrong.toml", "context", "x"]), @r"
    exit 1
    --- stderr
    error[config]: `eagerness` must be a number from 0 to 1, not 2
     --> [TMP]/work/wrong.toml:3:13
      |
    3 | eagerness = 2
      |             ^
      |
      = help: write a number from 0 to 1 below [select]
    ");
}

#[test]
fn programs_get_every_documented_key() {
    let sandbox = Sandbox::with_library();
    let run = sandbox.isolated(&["context", "--mode", "keyword", "--json", "open the pdf and chart it"]);
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{run}");
    let json = run.json();
    assert_snapshot!(keys(&json), @"elapsed_us matched policy skills stable thresholds tier tokens turn");
    assert_snapshot!(keys(&json["tokens"]), @"eager overhead stable turn");
    assert_snapshot!(keys(&json["skills"][0]), @"certainty confidence decision likelihood name reasons score tokens");
    assert_snapshot!(keys(&json["skills"][0]["reasons"][0]), @"kind score span text trigger");
    assert!(json["elapsed_us"].is_u64(), "{run}");
    assert_eq!((&json["tier"], &json["policy"], &json["stable"]), (&3.into(), &"inject".into(), &"".into()));
    assert_eq!(decisions(&json), "csv included, pdf included");
    assert_eq!(json["matched"], 2);
    let bodies: u64 = json["skills"].as_array().unwrap().iter().map(|skill| skill["tokens"].as_u64().unwrap()).sum();
    let tokens = &json["tokens"];
    assert_eq!(bodies + tokens["overhead"].as_u64().unwrap(), tokens["turn"].as_u64().unwrap(), "{run}");
    assert!(json["turn"].as_str().unwrap().starts_with("## Relevant Skill Documentation\n\n### csv\n"), "{run}");
    let json = sandbox.isolated(&["context", "--mode", "keyword", "--json", "--max-skills", "1", "pdf, chart"]).json();
    assert_eq!(decisions(&json), "csv included, pdf omitted");
    assert_eq!(json["skills"][1]["why"], "more than `max_skills` match better");
}

#[test]
fn a_question_what_there_is_gets_the_list() {
    let sandbox = Sandbox::with_library();
    let run = sandbox.isolated(&["context", "--mode", "keyword", "What can you do?"]);
    assert_snapshot!(steady(&run), @r"
    exit 0
    --- stdout
    ## Available Capabilities

    - **csv**: Reads tables and draws charts of them
    - **origami**: Folds cranes, boats and other animals out of paper
    - **pdf**: Reads and fills PDF forms

    Ask about specific skills for full documentation.
    --- stderr
    tier 2 · 3 of 3 skills listed · 57 tokens instead of 98 (−41.8 %) · [TIME]
    ");
    // A look-alike.
    let run = sandbox.isolated(&["context", "--mode", "keyword", "what skills does a nurse need?"]);
    assert_eq!(run.stdout, "[3 skills available]\n");
}

#[test]
fn without_any_triggers_the_list_is_all_there_is() {
    let sandbox = Sandbox::new();
    sandbox.skill("work/skills/origami", "Folds cranes. Use when someone folds.");
    let run = sandbox.isolated(&["context", "--mode", "keyword", "What is 2+2?"]);
    assert!(run.stdout.contains("- **origami**: Folds cranes\n"), "{run}");
    assert!(summary(&run).starts_with("tier 2 · 1 of 1 skill listed · "), "{run}");
}

#[test]
fn a_question_for_all_gets_ten() {
    let sandbox = Sandbox::new();
    for number in 1..=12 {
        sandbox.skill(&format!("work/skills/s{number:02}"), "Does it. Use when asked.");
    }
    let run = sandbox.isolated(&["context", "--mode", "keyword", "show all skills"]);
    let headings: Vec<&str> = run.stdout.lines().filter(|line| line.starts_with("### ")).collect();
    assert_eq!((headings.len(), headings[0], headings[9]), (10, "### s01", "### s10"), "{run}");
    assert!(run.stdout.ends_with("*Showing 10 of 12 skills. Ask about specific skills for more details.*\n"), "{run}");
    assert!(summary(&run).starts_with("tier 3 · 10 of 12 skills · "), "{run}");
    sandbox.write("work/all.toml", "[disclose]\nmax_all_skills = 2\n");
    let run = sandbox.isolated(&["--config", "all.toml", "context", "--mode", "keyword", "show all skills"]);
    assert!(run.stdout.contains("*Showing 2 of 12 skills."), "{run}");
}

#[test]
fn without_skills_there_is_nothing() {
    let sandbox = Sandbox::new();
    let run = sandbox.run(&["--isolated", "context", "--mode", "keyword", "hello"]);
    assert_eq!((run.code, run.stdout.as_str()), (Some(0), ""));
    assert_eq!(summary(&run), "tier 0 · 0 of 0 skills · 0 tokens");
    let json = sandbox.run(&["--isolated", "context", "--json", "hello", "--policy", "hint"]).json();
    assert_eq!((&json["tier"], &json["stable"], &json["turn"]), (&0.into(), &"".into(), &"".into()));
}

#[test]
fn policies() {
    let sandbox = Sandbox::with_library();
    assert_snapshot!(steady(&sandbox.isolated(&["context", "--policy", "hint", "open the pdf"])), @r#"
    exit 0
    --- stdout
    ## Agent Skills

    A skill is a set of instructions for one kind of task. The list below only says what each is for.
    - When a skill fits the task, call `load_skill` with its id before you start, and follow what it says.
    - Take ids from the list, character for character. Never guess one.
    - Descriptions may be shortened. If no skill seems to fit, `search_skills` looks through all of them in full.
    - When none fits, work without one.

    <available_skills>
      <skill>
        <id>csv</id>
        <description>Reads tables and draws charts of them. Use when the user has a table.</description>
      </skill>
      <skill>
        <id>origami</id>
        <description>Folds cranes, boats and other animals out of paper. Use when someone folds.</description>
      </skill>
      <skill>
        <id>pdf</id>
        <description>Reads and fills PDF forms. Use when the user has a PDF.</description>
      </skill>
    </available_skills>

    [Skills that may fit: pdf (keyword "pdf"). `load_skill` gives one by its id.]
    --- stderr
    tier 3 · 3 of 3 skills listed, 1 in the turn · 265 tokens instead of 98 (+170.4 %) · [TIME]
    "#);
    let hint = sandbox.isolated(&["context", "--policy", "hint", "--json", "open the pdf"]).json();
    let catalog =
        sandbox.isolated(&["context", "--mode", "keyword", "--policy", "catalog", "--json", "chart it"]).json();
    assert_eq!(hint["stable"], catalog["stable"], "whatever the message and the hint");
    assert_eq!((&catalog["policy"], &catalog["turn"]), (&"catalog".into(), &"".into()));
    assert_eq!(decisions(&catalog), "csv omitted");
    assert_eq!(catalog["skills"][0]["why"], "the policy shows nothing per turn");
    let text = sandbox.isolated(&["context", "--mode", "keyword", "--policy", "catalog", "chart it"]).stdout;
    assert_eq!(text, catalog["stable"].as_str().unwrap());
    assert_eq!(sandbox.isolated(&["prompt"]).stdout, text);
    // Nothing to hint at.
    let json = sandbox.isolated(&["context", "--policy", "hint", "--json", "What is 2+2?"]).json();
    assert_eq!((&json["tier"], &json["turn"]), (&1.into(), &"".into()));
}

#[test]
fn hints_go_by_texts_too() {
    let sandbox = Sandbox::with_library();
    let message = "fold a paper crane out of paper, or other animals";
    let turn = |args: &[&str]| {
        let json = sandbox.isolated(&[&["context", "--json", message], args].concat()).json();
        json["turn"].as_str().unwrap().to_owned()
    };
    assert!(turn(&["--policy", "hint"]).contains("origami (words "), "{}", turn(&["--policy", "hint"]));
    assert_eq!(turn(&["--policy", "hint", "--mode", "keyword"]), "");
    assert_eq!(turn(&["--mode", "keyword"]), "[3 skills available]");
    assert!(turn(&[]).contains("### origami"), "{}", turn(&[]));
}

#[test]
fn fallbacks() {
    let sandbox = Sandbox::with_library();
    let turn = |fallback: &str| {
        sandbox.isolated(&["context", "--mode", "keyword", "--fallback", fallback, "What is 2+2?"]).stdout
    };
    assert_eq!(turn("none"), "[3 skills available]\n");
    assert_snapshot!(turn("show_all"), @r"
    ## Available Capabilities

    - **csv**: Reads tables and draws charts of them
    - **origami**: Folds cranes, boats and other animals out of paper
    - **pdf**: Reads and fills PDF forms

    Ask about specific skills for full documentation.
    ");
    assert_snapshot!(turn("ask_user"), @"[3 skills available, none clearly fits. If one is wanted, ask the user which.]");
    assert_eq!(turn("ask-user"), turn("ask_user"), "as people type");
    let run =
        sandbox.isolated(&["context", "--mode", "keyword", "--fallback", "ask_user", "a boat folded out of paper"]);
    assert_eq!(run.stdout, "[3 skills available, none clearly fits. Closest: origami. Ask the user.]\n");
    // It says nothing where something fits.
    let run = sandbox.isolated(&["context", "--mode", "keyword", "--fallback", "show_all", "chart it"]);
    assert!(run.stdout.contains("### csv") && !run.stdout.contains("**pdf**"), "{run}");
}

#[test]
fn one_skill_is_cut_to_its_limit() {
    let sandbox = Sandbox::new();
    long(&sandbox, "tall", 200);
    let run = sandbox.isolated(&["context", "--mode", "keyword", "--per-skill", "300", "tall"]);
    let marker = run.stdout.lines().last().unwrap();
    assert!(marker.starts_with("[Shortened: ") && marker.ends_with(" load_skill \"tall\" gives the rest.]"), "{run}");
    assert!(marker.contains(" of 200 lines shown."), "{run}");
    assert!(run.stderr.starts_with("shortened tall: "), "{run}");
    assert!(summary(&run).starts_with("tier 3 · 1 of 1 skill · "), "{run}");
    let json = sandbox.isolated(&["context", "--mode", "keyword", "--json", "--per-skill", "300", "tall"]).json();
    assert_eq!(decisions(&json), "tall shortened");
    assert!(json["skills"][0]["tokens"].as_u64().unwrap() <= 300, "{json}");
    assert!(json["skills"][0]["why"].is_string(), "{json}");
    // By default, 2000; zero is no limit.
    let json = sandbox.isolated(&["context", "--mode", "keyword", "--json", "tall"]).json();
    assert_eq!(decisions(&json), "tall shortened");
    let json = sandbox.isolated(&["context", "--mode", "keyword", "--json", "--per-skill", "0", "tall"]).json();
    assert_eq!(decisions(&json), "tall included");
    assert!(json["turn"].as_str().unwrap().contains("Line 200 of tall"), "{json}");
}

#[test]
fn all_skills_share_a_budget() {
    let sandbox = Sandbox::new();
    for name in ["alpha", "beta", "gamma"] {
        long(&sandbox, name, 30);
    }
    let message = "alpha beta gamma";
    let args = ["context", "--mode", "keyword", "--budget", "500", message];
    let run = sandbox.isolated(&args);
    let json = sandbox.isolated(&[&args[..], &["--json"]].concat()).json();
    assert_eq!(decisions(&json), "alpha included, beta shortened, gamma omitted");
    assert!(json["tokens"]["turn"].as_u64().unwrap() <= 600, "the budget, and a hundred for headings: {json}");
    assert!(run.stdout.contains("load_skill \"beta\" gives the rest.]"), "{run}");
    assert!(run.stdout.lines().last().unwrap().contains("gamma"), "what is left out is named: {run}");
    assert!(run.stderr.starts_with("shortened beta: "), "{run}");
    assert!(run.stderr.contains("\nomitted gamma: the budget was used up by more important skills\n"), "{run}");
    assert!(summary(&run).starts_with("tier 3 · 2 of 3 skills · "), "{run}");
    let run = sandbox.isolated(&[&args[..], &["-v"]].concat());
    assert!(run.stderr.contains("\nomitted gamma: "), "{run}");
    // A mention comes first, whatever the ranks of the others.
    let json =
        sandbox.isolated(&["context", "--mode", "keyword", "--json", "--budget", "500", "alpha beta $gamma"]).json();
    assert!(decisions(&json).contains("gamma included"), "{json}");
    let json = sandbox
        .isolated(&["context", "--mode", "keyword", "--json", "--budget", "0", "--per-skill", "0", message])
        .json();
    assert_eq!(decisions(&json), "alpha included, beta included, gamma included");
}

#[test]
fn only_the_best_are_documented() {
    let sandbox = Sandbox::with_library();
    let run = sandbox.isolated(&["context", "--mode", "keyword", "--max-skills", "1", "pdf, chart"]);
    assert!(run.stdout.contains("### csv") && !run.stdout.contains("### pdf"), "{run}");
    assert!(run.stdout.ends_with("\nMatching, too, but not shown: pdf. `load_skill` gives one by its id.\n"), "{run}");
    assert!(summary(&run).starts_with("tier 3 · 1 of 3 skills · "), "{run}");
    let run = sandbox.isolated(&["context", "--mode", "keyword", "--max-skills", "0", "pdf, chart"]);
    assert!(run.stdout.contains("### csv") && run.stdout.contains("### pdf"), "zero is no limit: {run}");
}

#[test]
fn counters() {
    let sandbox = Sandbox::with_library();
    let args = ["context", "--mode", "keyword", "--counter", "bytes4", "--policy", "catalog", "--json", "x"];
    let json = sandbox.isolated(&args).json();
    let bytes = json["stable"].as_str().unwrap().len() as u64;
    assert_eq!(json["tokens"]["stable"].as_u64(), Some(bytes.div_ceil(4)), "{json}");
    // Exactly.
    let run = sandbox.isolated(&["context", "--mode", "keyword", "--counter", "o200k", "What is 2+2?"]);
    assert_eq!(run.stdout, "[3 skills available]\n", "{run}");
    assert!(summary(&run).starts_with("tier 1 · 0 of 3 skills · 5 tokens instead of "), "{run}");
}

#[test]
fn files_languages_and_earlier_messages_count() {
    let sandbox = Sandbox::with_library();
    for args in [
        ["--file", "data/a.csv"].as_slice(),
        &["--file", "README.md", "--file", "a.csv"],
        &["--language", "r"],
        &["--language", "rust", "--language", "R"],
        &["--earlier", "chart that"],
        &["--earlier", "thanks", "--earlier", "chart that"],
    ] {
        let run = sandbox.isolated(&[&["context", "--mode", "keyword", "and now?"], args].concat());
        assert!(run.stdout.contains("### csv") && !run.stdout.contains("### pdf"), "{args:?}: {run}");
    }
    for args in [["--file", "a.csv.bak"], ["--language", "rust"], ["--earlier", "thanks"]] {
        let run = sandbox.isolated(&[&["context", "--mode", "keyword", "and now?"], &args[..]].concat());
        assert_eq!(run.stdout, "[3 skills available]\n", "{args:?}");
    }
    let json = sandbox
        .isolated(&["context", "--mode", "keyword", "--json", "x", "--file", "data/a.csv", "--language", "r"])
        .json();
    let kinds: Vec<&Value> =
        json["skills"][0]["reasons"].as_array().unwrap().iter().map(|reason| &reason["kind"]).collect();
    assert_eq!(kinds, ["file", "language"]);
}

#[test]
fn the_message_may_come_from_stdin() {
    let sandbox = Sandbox::with_library();
    let args = ["--isolated", "--skills-dir", "skills", "context", "--mode", "keyword", "-"];
    let run = sandbox.run_with(b"Dear all,\n\nplease chart this.\n", &args);
    assert!(run.stdout.contains("### csv"), "{run}");
    assert_eq!(sandbox.run_with(b"", &args).stdout, "[3 skills available]\n");
    let run = sandbox.run_with(b"open \xff\xfe", &args);
    assert_snapshot!(run, @r"
    exit 2
    --- stderr
    error[usage]: the message is not UTF-8: byte 5
      help: convert it first
    ");
    let mut command = sandbox.command(&args);
    let run = sandbox.finish(command.stdin(fs::File::open(sandbox.path("work")).unwrap()).output().unwrap());
    assert_snapshot!(run, @r"
    exit 1
    --- stderr
    error[unreadable]: cannot read the message from stdin: is a directory
      help: pipe the message in, or write it in place of `-`
    ");
    // A dash within is a dash.
    let run = sandbox.isolated(&["context", "--mode", "keyword", "--", "-v"]);
    assert_eq!(run.stdout, "[3 skills available]\n");
}

#[test]
fn a_session_is_not_shown_the_same_twice() {
    let sandbox = Sandbox::with_library();
    let args = ["context", "--mode", "keyword", "--session", "chat.json"];
    let ask = |message: &str| sandbox.isolated(&[&args[..], &[message]].concat());
    let first = ask("chart this");
    assert!(first.stdout.contains("Read the table."), "{first}");
    let session = || -> Value { serde_json::from_slice(&fs::read(sandbox.path("work/chat.json")).unwrap()).unwrap() };
    let remembered = session();
    assert_eq!((&remembered["version"], &remembered["turn"]), (&1.into(), &1.into()));
    assert_eq!(remembered["skills"][0]["name"], "csv");
    assert_snapshot!(steady(&ask("chart that, too")), @r"
    exit 0
    --- stdout
    ## Relevant Skill Documentation

    ### csv

    (Already in this conversation, unchanged.)
    --- stderr
    tier 3 · 1 of 3 skills · 19 tokens instead of 98 (−80.6 %) · [TIME]
    ");
    assert_eq!(session()["turn"], 2);
    let json = sandbox.isolated(&[&args[..], &["chart it again", "--json"]].concat()).json();
    assert_eq!(decisions(&json), "csv included");
    assert!(json["skills"][0]["why"].is_string(), "{json}");
    // It changed.
    let file = sandbox.path("work/skills/csv/SKILL.md");
    fs::write(&file, fs::read_to_string(&file).unwrap() + "\nAnd its footnotes.\n").unwrap();
    let again = ask("chart the rest");
    assert!(again.stdout.contains("And its footnotes.") && !again.stdout.contains("Already"), "{again}");
    assert!(ask("chart").stdout.contains("(Already in this conversation, unchanged.)"));
    // Others know nothing of it.
    let other = sandbox.isolated(&["context", "--mode", "keyword", "--session", "other.json", "chart"]);
    assert!(other.stdout.contains("Read the table."), "{other}");
}

#[test]
fn a_session_that_cannot_be_used_is_left_alone() {
    let sandbox = Sandbox::with_library();
    let ask = |file: &str| sandbox.isolated(&["context", "--mode", "keyword", "--session", file, "chart"]);
    sandbox.write("work/chat.json", "{\"version\": 1, \"turn\": 3, \"ski");
    assert_snapshot!(ask("chat.json"), @r"
    exit 1
    --- stderr
    error[session]: chat.json: this is no session: EOF while parsing a string at line 1 column 30
      help: name another file, or delete this one to start a new session
    ");
    let left = fs::read_to_string(sandbox.path("work/chat.json")).unwrap();
    assert!(left.ends_with("\"ski"), "{left}");
    sandbox.write("work/newer.json", "{\"version\": 7}");
    assert_snapshot!(ask("newer.json").stderr, @r"
    error[session]: newer.json: this session has version 7, and only version 1 is known here; a newer skillcue may read it
      help: name another file, or delete this one to start a new session
    ");
    sandbox.write("work/bytes.json", b"\xff");
    assert_snapshot!(ask("bytes.json").stderr, @r"
    error[session]: bytes.json: it is not UTF-8
      help: name another file, or delete this one to start a new session
    ");
    sandbox.write("work/empty.json", "");
    assert_eq!(ask("empty.json").code, Some(1));
    assert_snapshot!(ask("skills").stderr, @r"
    error[session]: skills: it is not a regular file
      help: name another file, or delete this one to start a new session
    ");
    let run = ask("skills/csv/SKILL.md/chat.json");
    assert!(run.code == Some(1) && run.stderr.starts_with("error[session]: skills/csv/SKILL.md/chat.json: "), "{run}");
    // A typing error does not become a directory.
    assert_eq!(ask("nowhere/yet/chat.json").code, Some(1));
    assert!(!sandbox.path("work/nowhere").exists());
    let run = sandbox.isolated(&["context", "--mode", "keyword", "--json", "--session", "skills", "chart"]);
    assert_eq!((run.code, &run.json()["error"]["code"]), (Some(1), &"session".into()));
}

#[test]
fn files_say_how_to_disclose_and_flags_win() {
    let sandbox = Sandbox::with_library();
    let ask = |args: &[&str]| sandbox.run(&[&["context", "--json"], args].concat()).json();
    sandbox.write(SETTINGS, "[disclose]\npolicy = \"hint\"\nmax_skills = 1\nfallback = \"show_all\"\n");
    sandbox.write("work/skillcue.toml", "[disclose]\npolicy = \"inject\"\nmode = \"keyword\"\n");
    let json = ask(&["pdf, chart"]);
    assert_eq!((&json["policy"], decisions(&json)), (&"inject".into(), "csv included, pdf omitted".to_owned()));
    assert_eq!(ask(&["What is 2+2?"])["tier"], 2);
    assert_eq!(ask(&["What is 2+2?", "--fallback", "none"])["tier"], 1);
    assert_eq!(decisions(&ask(&["--max-skills", "2", "pdf, chart"])), "csv included, pdf included");
    assert_eq!(ask(&["--policy", "catalog", "pdf"])["policy"], "catalog");
    sandbox.write("work/limits.toml", "[disclose]\nmax_per_skill_tokens = 1\nmax_total_tokens = 0\n");
    let limits = ["--config", "limits.toml", "context", "--json", "spreadsheet"];
    assert_eq!(decisions(&sandbox.run(&limits).json()), "csv omitted");
    assert_eq!(decisions(&sandbox.run(&[&limits[..], &["--per-skill", "0"]].concat()).json()), "csv included");
}

#[test]
fn a_broken_section_is_shown() {
    let sandbox = Sandbox::with_library();
    sandbox.write("work/skillcue.toml", "[disclose]\npolicy = \"hint\"\nmax_tokens = 5\n");
    assert_snapshot!(sandbox.run(&["context", "x"]), @r"
    exit 1
    --- stderr
    error[config]: unknown field `max_tokens`, expected one of `policy`, `mode`, `fallback`, `counter`, `max_skills`, `max_all_skills`, `max_total_tokens`, `max_per_skill_tokens`, `max_load_tokens`, `window`, `catalog_share`, `eagerness`, `model`, `pinned`
     --> [TMP]/work/skillcue.toml:3:1
      |
    3 | max_tokens = 5
      | ^^^^^^^^^^
      |
      = help: did you mean `max_total_tokens`? `max_tokens` belongs below [agent]
    ");
    sandbox.write("work/skillcue.toml", "[disclose]\npolicy = \"all\"\n");
    let run = sandbox.run(&["context", "x"]);
    assert!(run.code == Some(1) && run.stderr.contains("work/skillcue.toml:2:10"), "{run}");
    assert!(run.stderr.contains("`inject`, `catalog`, `hint`"), "{run}");
    // Whose words those of a flag are not.
    sandbox.write("work/skillcue.toml", "");
    assert_snapshot!(sandbox.run(&["context", "--policy", "all", "x"]), @r"
    exit 2
    --- stderr
    error: invalid value 'all' for '--policy <POLICY>'
      [possible values: inject, catalog, hint]

    For more information, try '--help'.
    ");
    for args in [["--budget", "-1"], ["--budget", "many"], ["--mode", "fuzzy"], ["--counter", "words"]] {
        assert_eq!(sandbox.run(&[&["context", "x"], &args[..]].concat()).code, Some(2), "{args:?}");
    }
    assert_eq!(sandbox.run(&["context"]).code, Some(2));
}

#[test]
fn a_skill_hidden_from_models_can_be_called() {
    let sandbox = Sandbox::with_library();
    let run = sandbox.isolated(&["context", "--mode", "keyword", "the pdf is a secret"]);
    assert!(run.stdout.contains("### pdf") && !run.stdout.contains("ecret"), "{run}");
    for message in ["show all skills", "what can you do?"] {
        let run = sandbox.isolated(&["context", "--mode", "keyword", message]);
        assert!(run.stdout.contains("pdf") && !run.stdout.contains("ecret"), "{run}");
    }
    let run = sandbox.isolated(&["context", "--mode", "keyword", "/secret now"]);
    assert!(run.stdout.contains("### secret"), "{run}");
    sandbox.write("work/off.toml", "[skills]\ndisable = [\"pdf\"]\n");
    let run = sandbox.isolated(&["--config", "off.toml", "context", "--mode", "keyword", "/pdf pdf"]);
    assert_eq!(run.stdout, "[2 skills available]\n", "a disabled one cannot be called");
}

#[test]
fn bodies_of_many_are_read_after_the_answer() {
    let sandbox = Sandbox::new();
    for number in 0..1_001 {
        sandbox.skill(&format!("work/skills/s{number}"), "Does it. Use when asked.");
    }
    // Once; from then on the index is there.
    let said = ["updated the index over texts", "the kept index over texts fits", "the kept index over texts fits"];
    for (args, said) in
        [["context", "--policy=hint"], ["context", "--json"], ["search", "--json"]].into_iter().zip(said)
    {
        let log = sandbox.isolated(&[&args[..], &["-vv", "--mode", "hybrid", "it"]].concat()).stderr;
        assert!(log.contains(said), "{args:?}: {log}");
    }
}

#[test]
fn a_reader_that_stops_does_not_change_the_outcome() {
    let sandbox = Sandbox::with_library();
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let args = ["context", "--mode", "keyword", "chart", "--session", "chat.json"];
    let run = sandbox.finish(sandbox.command(&args).stdout(writer).output().unwrap());
    assert_eq!(run.code, Some(0), "{run}");
    assert!(!run.stderr.contains("error["), "{run}");
}

/// Issue 15: a limit of 50 was reported as 43, and `--budget -1` was answered with the advice to write `-- -1`.
#[test]
fn limits_are_told_as_they_were_given() {
    let sandbox = Sandbox::new();
    long(&sandbox, "alpha", 40);
    let run = sandbox.isolated(&["context", "--mode", "keyword", "alpha", "--per-skill", "100"]);
    let why = "over the limit of 100 tokens for one skill (86, and a reserve of 14 because tokens are estimated)";
    assert!(run.stderr.contains(why), "{run}");
    for flag in ["--budget", "--per-skill", "--max-skills"] {
        let run = sandbox.isolated(&["context", "--mode", "keyword", "alpha", flag, "-1"]);
        let said = format!("error: invalid value '-1' for '{flag} <N>': write a whole number, 0 or more\n");
        assert!(run.code == Some(2) && run.stderr.starts_with(&said), "{run}");
        assert!(!run.stderr.contains("-- -1"), "{run}");
    }
    assert_eq!(sandbox.run(&["gc", "--older-than", "-1"]).code, Some(2));
    let run = sandbox.isolated(&["context", "--mode", "keyword", "alpha", "--session", "nosuch/chat.json"]);
    assert!(run.stderr.contains("nosuch/chat.json: no such file or directory"), "{run}");
}

#[test]
fn no_limit_on_the_number_of_skills_is_said() {
    let sandbox = Sandbox::new();
    for name in ["alpha", "beta", "gamma", "delta"] {
        long(&sandbox, name, 1);
    }
    let message = "alpha beta gamma delta";
    let run = sandbox.isolated(&["context", "--mode", "keyword", message]);
    assert!(summary(&run).starts_with("tier 3 · 3 of 4 skills · "), "{run}");
    let run = sandbox.isolated(&["context", "--mode", "keyword", message, "--max-skills", "0"]);
    assert!(summary(&run).starts_with("tier 3 · 4 of 4 skills, no limit on their number · "), "{run}");
    let help = sandbox.run(&["context", "--help"]).stdout;
    assert!(help.contains("Most skills to document; 0: no limit [default: 3]"), "{help}");
}

/// Issue 15: `0 of 3 skills` stood below a list of three.
#[test]
fn a_list_counts_what_it_lists() {
    let sandbox = Sandbox::with_library();
    let listed = |args: &[&str]| summary(&sandbox.isolated(&[&["context"], args].concat()));
    assert!(listed(&["what can you do?"]).starts_with("tier 2 · 3 of 3 skills listed · "));
    assert!(listed(&["--policy", "catalog", "spreadsheet"]).starts_with("tier 3 · 3 of 3 skills listed · "));
    assert!(
        listed(&["--policy", "hint", "spreadsheet"]).starts_with("tier 3 · 3 of 3 skills listed, 1 in the turn · ")
    );
    assert!(listed(&["--policy", "hint", "/secret"]).starts_with("tier 3 · 3 of 3 skills listed, 1 in the turn · "));
    assert!(listed(&["--policy", "hint", "hi"]).starts_with("tier 1 · 3 of 3 skills listed · "));
    sandbox.write("work/tiny.toml", "[disclose]\nwindow = 7000\n");
    let run = sandbox
        .isolated(&["--config", "tiny.toml", "context", "--mode", "keyword", "--policy", "catalog", "--json", "x"])
        .json();
    let omitted = run["listed"]["omitted"]["count"].as_u64().unwrap();
    assert!((1..=3).contains(&omitted), "{run}");
    let short =
        sandbox.isolated(&["--config", "tiny.toml", "context", "--mode", "keyword", "--policy", "catalog", "x"]);
    assert!(summary(&short).contains(&format!(" · {} of 3 skills listed · ", 3 - omitted)), "{short}");
}

/// Issue 15: of a skill that was left out, only `--json` said why, and "Matching, too" followed nothing.
#[test]
fn skills_left_out_are_named_with_the_reason() {
    let sandbox = Sandbox::new();
    for number in 0..8 {
        long(&sandbox, &format!("alpha-{number}"), 30);
    }
    let args = [
        "context",
        "--mode",
        "keyword",
        "--max-skills",
        "1",
        "alpha-0 alpha-1 alpha-2 alpha-3 alpha-4 alpha-5 alpha-6 alpha-7",
    ];
    let run = sandbox.isolated(&args);
    let why = "omitted alpha-1, alpha-2, alpha-3, alpha-4, alpha-5 and 2 more: more than `max_skills` match better\n";
    assert!(run.stderr.contains(why), "{run}");
    let run = sandbox.isolated(&[&args[..], &["-v"]].concat());
    assert!(run.stderr.contains("alpha-5, alpha-6, alpha-7: more than"), "{run}");
    // Nothing at all is shown.
    let run = sandbox.isolated(&["context", "--mode", "keyword", "--budget", "1", "alpha-0"]);
    assert!(!run.stdout.contains("###"), "{run}");
    assert!(
        run.stdout.ends_with("\nMatching, but left out to save space: alpha-0. `load_skill` gives one by its id.\n"),
        "{run}"
    );
    assert!(run.stderr.contains("omitted alpha-0: "), "{run}");
}

/// Issue 15: a mistyped option was taken for the message.
#[test]
fn a_mistyped_option_is_no_message() {
    let sandbox = Sandbox::with_library();
    for args in [
        &["context", "--mdoe", "keyword", "pdf"][..],
        &["context", "--mdoe"],
        &["context", "--mdoe=keyword", "pdf"],
        &["why", "--mdoe", "keyword"],
        &["why", "--mdoe", "keyword", "pdf", "csv"],
        &["--skills-dir", "skills", "context", "pdf", "--mdoe", "keyword"],
        &["search", "--mdoe", "keyword", "pdf"],
        &["search", "pdf", "--mdoe", "keyword"],
    ] {
        let run = sandbox.run(args);
        assert_eq!(run.code, Some(2), "{run}");
        assert!(run.stderr.starts_with("error: unexpected argument '--mdoe' found\n"), "{run}");
        assert!(run.stderr.contains("'--mode'"), "{run}");
    }
    // A command's name where it is none.
    for (args, usage) in [
        (&["show", "context", "--foo"][..], "show"),
        (&["run", "why", "--jsn"], "run"),
        (&["load", "pdf", "context", "--mdoe"], "load"),
        (&["list", "--foo", "search"], "list"),
    ] {
        let run = sandbox.run(args);
        assert_eq!(run.code, Some(2), "{run}");
        assert!(run.stderr.contains(&format!("Usage: skillcue {usage} ")), "{run}");
    }
    // Messages may begin with hyphens.
    for args in [
        &["context", "--mode", "keyword", "--", "--mdoe"][..],
        &["context", "--mode", "keyword", "- fill in the pdf"],
        &["context", "--mode", "keyword", "--help me with a pdf"],
        &["context", "--mode", "keyword", "-1"],
        &["why", "- fill in the pdf"],
        &["why", "--", "--mdoe", "pdf"],
        &["search", "- pdf"],
        &["search", "--limit my spending"],
        &["search", "-5 degrees"],
        &["search", "--limit", "3", "pdf"],
    ] {
        let run = sandbox.isolated(args);
        assert_eq!(run.code, Some(0), "{run}");
    }
}

/// C-1: the skills of a part of a monorepo are there when a file of it is touched.
#[test]
fn parts_of_a_project_bring_their_skills_when_they_are_touched() {
    let sandbox = Sandbox::with_pdf();
    sandbox.skill("work/apps/web/.agents/skills/deploy", "Deploys the website. Use when the user deploys the website.");
    let found = |args: &[&str]| {
        let hits = sandbox.run(&[&["search", "deploy the website", "--json"], args].concat()).json();
        hits["hits"].as_array().unwrap().iter().any(|hit| hit["name"] == "deploy")
    };
    assert!(!found(&[]), "no file of that part is touched");
    assert!(!found(&["--file", "apps/api/main.rs"]), "a file of another part");
    assert!(found(&["--file", "apps/web/src/main.ts"]));
    let absolute = sandbox.path("work").canonicalize().unwrap().join("apps/web/x.ts");
    assert!(found(&["--file", absolute.to_str().unwrap()]));
}
