use insta::assert_snapshot;

use crate::{Run, Sandbox};

const LINES: &str = "{\"query\": \"open the pdf\", \"relevant\": [\"pdf\"]}\n\
{\"query\": \"chart it\", \"relevant\": [\"csv\"]}\n\
{\"query\": \"What is 2+2?\", \"relevant\": []}\n\
\n\
{\"query\": \"the form of a poem\", \"none\": true}\n\
{\"query\": \"the spreadsheet\", \"relevant\": [\"pdf\"], \"id\": 7}\n\
{\"query\": \"some pivot table\", \"not_relevant\": [\"pdf\"]}\n";

const LIST: &str = "[\n  {\"query\": \"open the pdf\", \"should_trigger\": true},\n  \
{\"query\": \"What is 2+2?\", \"should_trigger\": false}\n]\n";

fn with_sets() -> Sandbox {
    let sandbox = Sandbox::with_library();
    sandbox.write("work/lines.jsonl", LINES);
    sandbox.write("work/list.json", LIST);
    sandbox
}

/// An output without numbers of tokens: they depend on the length of the directory's name, which is in every body.
fn without_tokens(run: &Run) -> String {
    let is_cost = |line: &&str| line.contains("  a message");
    let text = run.to_string();
    text.lines().filter(|line| !is_cost(line)).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_set_of_lines() {
    let sandbox = with_sets();
    assert_snapshot!(without_tokens(&sandbox.isolated(&["eval", "--mode", "keyword", "lines.jsonl"])), @r"
    exit 0
    --- stdout
    6 messages over 3 skills, eagerness 0.5: 3 need a skill, 3 must not select one
    recall at 1          66.7 %
    recall at 3          66.7 %
    recall at 5          66.7 %
    shown                66.7 %  the right body
    named                66.7 %  the right body or name
    wrong bodies         33.3 %  where another skill is needed
    wrongly shown        33.3 %  a body, where none is needed or that one must not be
    wrongly named        33.3 %  a body or name, likewise
    precision            50.0 %
    false triggers       33.3 %
    calibration error     0.310

    how sure it was, how often the first hit was right
      0.4–0.5  100.0 %  of 1
      0.5–0.6   33.3 %  of 3

    confusions: needed → selected
        1 × nothing → pdf
        1 × pdf → csv

    worst cases, the surest first
      0.59  nothing → pdf: the form of a poem
      0.59  pdf → csv: the spreadsheet
    ");
    let json = sandbox.isolated(&["eval", "--mode", "keyword", "--json", "lines.jsonl"]).json();
    let keys: Vec<&str> = json.as_object().unwrap().keys().map(String::as_str).collect();
    assert_snapshot!(keys.join(" "), @"calibration calibration_error cases confusions eagerness false_triggers languages named negatives positives precision recall_at shown skills tokens unknown worst wrong_bodies wrongly_named wrongly_shown");
    assert_eq!((&json["positives"], &json["negatives"], &json["precision"]), (&3.into(), &3.into(), &0.5.into()));
    let recall: Vec<&String> = json["recall_at"].as_object().unwrap().keys().collect();
    assert_eq!(recall, ["1", "3", "5"]);
    assert_eq!(json["confusions"][0], serde_json::json!({"expected": null, "got": "pdf", "count": 1}));
    assert_eq!((&json["worst"][1]["query"], &json["worst"][1]["got"]), (&"the spreadsheet".into(), &"csv".into()));
    assert!(json["calibration"][0]["hits"].is_u64(), "{json}");
    let run = sandbox.isolated(&["eval", "lines.jsonl"]);
    assert!(
        run.code == Some(0)
            && run.stdout.starts_with("6 messages over 3 skills, eagerness 0.5: 3 need a skill, 3 must not"),
        "{run}"
    );
    // As some editors save it.
    sandbox.write("work/bom.jsonl", format!("\u{feff}{}", LINES.replace('\n', "\r\n")));
    assert_eq!(sandbox.isolated(&["eval", "bom.jsonl"]).stdout, run.stdout);
}

#[test]
fn a_list_is_about_one_skill() {
    let sandbox = with_sets();
    let named = sandbox.isolated(&["eval", "--mode", "keyword", "list.json", "--skill", "pdf"]);
    assert_snapshot!(without_tokens(&named), @r"
    exit 0
    --- stdout
    2 messages over 3 skills, eagerness 0.5: 1 needs a skill, 1 must not select one
    recall at 1         100.0 %
    recall at 3         100.0 %
    recall at 5         100.0 %
    shown               100.0 %  the right body
    named               100.0 %  the right body or name
    wrong bodies          0.0 %  where another skill is needed
    wrongly shown         0.0 %  a body, where none is needed or that one must not be
    wrongly named         0.0 %  a body or name, likewise
    precision           100.0 %
    false triggers        0.0 %
    calibration error     0.530

    how sure it was, how often the first hit was right
      0.4–0.5  100.0 %  of 1
    ");
    assert_snapshot!(sandbox.isolated(&["eval", "list.json"]), @r#"
    exit 1
    --- stderr
    error[eval]: `should_trigger` is about one skill, and none is named
      help: a line is {"query": "…", "relevant": ["name"]}; for one skill, name it with --skill
    "#);
    // The file says which, or where it stands does.
    sandbox.write("work/named.json", format!("{{\n\"skill_name\": \"pdf\",\n\"evals\": {LIST}}}\n"));
    assert_eq!(sandbox.isolated(&["eval", "--mode", "keyword", "named.json"]).stdout, named.stdout);
    sandbox.write("work/skills/pdf/evals/triggers.json", LIST);
    let file = "skills/pdf/evals/triggers.json";
    assert_eq!(sandbox.isolated(&["eval", "--mode", "keyword", file]).stdout, named.stdout);
    let other = sandbox.isolated(&["eval", "--mode", "keyword", file, "--skill", "csv", "--json"]).json();
    assert_eq!(other["recall_at"]["1"], 0.0, "a flag wins: {other}");
}

#[test]
fn results_below_a_limit_exit_with_1() {
    let sandbox = with_sets();
    let code = |args: &[&str]| {
        let run = sandbox.isolated(&[&["eval", "--mode", "keyword", "lines.jsonl"], args].concat());
        assert!(run.code == Some(2) || run.stdout.contains("recall at 3          66.7 %"), "{run}");
        run.code
    };
    assert_eq!(code(&["--min-recall", "0.6"]), Some(0));
    assert_eq!(code(&["--min-recall", "0.7"]), Some(1));
    assert_eq!(code(&["--max-false", "0.5"]), Some(0));
    assert_eq!(code(&["--max-false", "0.3"]), Some(1));
    assert_eq!(code(&["--max-false", "0.3", "--eagerness", "0"]), Some(1), "by keywords every match counts");
    assert_eq!(code(&["--min-recall", "0.6", "--max-false", "0.3"]), Some(1));
    for wrong in ["nan", "90", "-0.1", "most"] {
        for flag in ["--min-recall", "--max-false", "--eagerness"] {
            assert_eq!(code(&[&format!("{flag}={wrong}")]), Some(2), "{flag} {wrong}");
        }
    }
    assert_snapshot!(sandbox.isolated(&["eval", "lines.jsonl", "--min-recall", "90"]), @r"
    exit 2
    --- stderr
    error: invalid value '90' for '--min-recall <SHARE>': it is not between 0 and 1

    For more information, try '--help'.
    ");
    // Issue 15: it says why.
    let why = |args: &[&str]| {
        let run = sandbox.isolated(&[&["eval", "--mode", "keyword", "lines.jsonl"], args].concat());
        run.stderr.lines().filter(|line| line.starts_with("error")).collect::<Vec<_>>().join("\n")
    };
    assert_eq!(
        why(&["--min-recall", "0.7"]),
        "error[min_recall]: the recall at 3 is 66.7 %, below --min-recall 70.0 %"
    );
    assert_eq!(
        why(&["--min-recall", "0.6", "--max-false", "0.3", "--json"]),
        "error[max_false]: 33.3 % of the messages that need nothing select something, above --max-false 30.0 %"
    );
    assert_eq!(why(&["--min-recall", "0.6", "--max-false", "0.5"]), "");
    sandbox.write("work/none.jsonl", "{\"query\": \"open the pdf\", \"relevant\": []}\n");
    let run = sandbox.isolated(&["eval", "none.jsonl", "--min-recall", "0.1"]);
    assert!(run.code == Some(1) && run.stderr.contains("no message of the set needs a skill"), "{run}");
    // Even if the reader is gone.
    for json in [&[][..], &["--json"]] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let args = ["--isolated", "--skills-dir", "skills", "eval", "lines.jsonl", "--min-recall", "1"];
        let run = sandbox.finish(sandbox.command(&[&args[..], json].concat()).stdout(writer).output().unwrap());
        assert_eq!(run.code, Some(1), "{run}");
        assert!(!run.stderr.contains("error[output]"), "{run}");
    }
}

#[test]
fn names_that_are_not_there_are_told() {
    let sandbox = with_sets();
    sandbox.write(
        "work/set.jsonl",
        "{\"query\": \"open the pdf\", \"relevant\": [\"pdf\", \"gone\"]}\n{\"query\": \"x\", \"not_relevant\": [\"a\\u001b[2J\"]}\n",
    );
    let run = sandbox.isolated(&["eval", "set.jsonl", "--color", "always"]);
    assert!(run.code == Some(0) && !run.stderr.contains("\u{1b}[2J"), "{run}");
    assert_snapshot!(sandbox.isolated(&["eval", "set.jsonl"]).stderr, @r"
    warning[unknown_skill]: the set names skills that are not there: a\u{1b}[2J, gone
      help: correct the names, or add their directory with --skills-dir
    ");
    let json = sandbox.isolated(&["eval", "set.jsonl", "--json"]).json();
    assert_eq!(json["unknown"], serde_json::json!(["a\u{1b}[2J", "gone"]));
}

#[test]
fn a_broken_line_is_shown() {
    let sandbox = with_sets();
    let eval = |text: &str| {
        sandbox.write("work/set", text);
        sandbox.isolated(&["eval", "set", "--skill", "pdf"])
    };
    assert_snapshot!(eval("{\"query\": \"a\", \"relevant\": []}\n{\"query\": \"b\", \"relevant\": \"x\"}\n"), @r#"
    exit 1
    --- stderr
    error[eval]: line 2 is not as expected: invalid type: string "x", expected a sequence
     --> set:2:1
      |
    2 | {"query": "b", "relevant": "x"}
      | ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
      |
      = help: a line is {"query": "…", "relevant": ["name"]}; for one skill, name it with --skill
    "#);
    assert_snapshot!(eval("{\"query\": \"a\", \"relevant\": [}\n{\"query\": \"b\", \"relevant\": []}\n").stderr, @r#"
    error[eval]: line 1 is not as expected: expected value
     --> set:1:1
      |
    1 | {"query": "a", "relevant": [}
      | ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
      |
      = help: a line is {"query": "…", "relevant": ["name"]}; for one skill, name it with --skill
    "#);
    assert_snapshot!(eval("[\n{\"query\": \"a\", \"should_trigger\": true},\n{\"query\": 1}\n]").stderr, @r#"
    error[eval]: line 3 is not as expected: invalid type: integer `1`, expected a string
     --> set:3:1
      |
    3 | {"query": 1}
      | ^^^^^^^^^^^^
      |
      = help: a line is {"query": "…", "relevant": ["name"]}; for one skill, name it with --skill
    "#);
    assert_snapshot!(eval("{\"query\": \"open the pdf\", \"relevent\": [\"pdf\"]}\n").stderr, @r#"
    error[eval]: "open the pdf" has no label: add `relevant`, `not_relevant`, `none` or `should_trigger`
     --> set:1:1
      |
    1 | {"query": "open the pdf", "relevent": ["pdf"]}
      | ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
      |
      = help: a line is {"query": "…", "relevant": ["name"]}; for one skill, name it with --skill
    "#);
    let run = sandbox.isolated(&["eval", "set", "--json"]);
    assert_eq!((run.code, &run.json()["error"]["code"]), (Some(1), &"eval".into()));
}

#[test]
fn files_that_hold_nothing() {
    let sandbox = with_sets();
    let eval = |file: &str| sandbox.isolated(&["eval", file]);
    sandbox.write("work/empty", "");
    assert_snapshot!(eval("empty"), @r#"
    exit 1
    --- stderr
    error[eval]: empty holds no messages
      help: write one JSON object a line: {"query": "…", "relevant": ["name"]}
    "#);
    sandbox.write("work/blank", "\n\n");
    sandbox.write("work/none.json", "[]");
    for file in ["blank", "none.json"] {
        assert!(eval(file).stderr.contains(" holds no messages"), "{file}");
    }
    assert_snapshot!(eval("nowhere").stderr, @r"
    error[eval]: cannot read nowhere: no such file or directory
      help: name a file with labelled messages
    ");
    assert_snapshot!(eval("skills").stderr, @r"
    error[eval]: cannot read skills: it is not a regular file
      help: name a file with labelled messages
    ");
    sandbox.write("work/bytes", b"\xff");
    assert_snapshot!(eval("bytes").stderr, @r"
    error[eval]: cannot read bytes: it is not UTF-8
      help: name a file with labelled messages
    ");
}

#[test]
fn a_set_does_not_command_the_terminal() {
    let sandbox = with_sets();
    sandbox.write("work/set.jsonl", "{\"query\": \"pdf \\u001b[2J\", \"relevant\": []}\n");
    let run = sandbox.isolated(&["eval", "--mode", "keyword", "set.jsonl", "--color", "always"]);
    assert!(run.stdout.contains(r"pdf \u{1b}[2J") && !run.stdout.contains("\u{1b}[2J"), "{run}");
}

/// Messages of a set in several languages, one of which the set names itself.
const LANGUAGES: &str = "{\"query\": \"open the pdf\", \"relevant\": [\"pdf\"]}\n\
{\"query\": \"画一个表\", \"relevant\": [\"csv\"]}\n\
{\"query\": \"the form of a poem\", \"none\": true, \"lang\": \"en-GB\"}\n";

#[test]
fn languages_have_figures_of_their_own() {
    let sandbox = with_sets();
    sandbox.write("work/languages.jsonl", LANGUAGES);
    let run = sandbox.isolated(&["eval", "--mode", "keyword", "languages.jsonl"]);
    let table: Vec<&str> = run.stdout.lines().skip_while(|line| !line.starts_with("language ")).take(4).collect();
    assert!(table.iter().skip(1).all(|line| line.split_whitespace().nth(1) == Some("1")), "{run}");
    let json = sandbox.isolated(&["eval", "--json", "--mode", "keyword", "languages.jsonl"]).json();
    let languages: Vec<&String> = json["languages"].as_object().unwrap().keys().collect();
    assert_eq!(languages, ["en", "en-GB", "zh"]);
    assert_eq!(json["languages"]["zh"]["shown"], 1.0, "{json}");
    assert_eq!(json["languages"]["en-GB"]["wrongly_shown"], 1.0, "{json}");
    assert!(json["languages"]["en-GB"]["shown"].is_null(), "{json}");
    // One language needs no table.
    assert!(!sandbox.isolated(&["eval", "list.json", "--skill", "pdf"]).stdout.contains("language "));
}

#[test]
fn two_evaluations_are_compared_message_by_message() {
    let sandbox = with_sets();
    let old = sandbox.isolated(&["eval", "--json", "--mode", "keyword", "lines.jsonl"]);
    let cases = old.json()["cases"].clone();
    assert_eq!(cases.as_array().map(Vec::len), Some(6));
    let keys: Vec<&String> = cases[0].as_object().unwrap().keys().collect();
    assert_eq!(keys, ["certainty", "first", "grade", "query", "rank", "right", "selected", "tokens"]);
    assert_eq!(
        (&cases[0]["grade"], &cases[2]["grade"], &cases[2]["first"]),
        (&"body".into(), &"nothing".into(), &().into())
    );
    sandbox.write("work/old.json", &old.stdout);
    // The same again: nothing changed.
    let same = sandbox.isolated(&["eval", "--mode", "keyword", "lines.jsonl", "--compare", "old.json"]);
    assert!(same.stdout.contains("\n0 messages better\n\n0 messages worse\n"), "{same}");
    // Now `csv` is found no more, and a message is new.
    let set = format!("{LINES}{{\"query\": \"one more\", \"none\": true}}\n");
    sandbox.write("work/lines.jsonl", set);
    sandbox.write("work/off.toml", "[skills]\ndisable = [\"csv\"]\n");
    let args = ["--config", "off.toml", "eval", "--mode", "keyword", "lines.jsonl", "--compare", "old.json"];
    let run = sandbox.isolated(&args);
    assert_eq!(run.code, Some(0), "{run}");
    let from = run.stdout.find("0 messages better").unwrap_or_else(|| panic!("{run}"));
    assert_snapshot!(&run.stdout[from..], @r"
    0 messages better

    1 message worse
      chart it
        needs csv: shown, first csv 0.54 → not shown

    1 message in only one of the two
    ");
    let line = |name: &str| run.stdout.lines().find(|line| line.starts_with(name)).unwrap_or_default().to_owned();
    assert_snapshot!(line("shown"), @"shown                           66.7 %    33.3 %   −33.3 %");
    assert_snapshot!(line("skills"), @"skills                               3         2        −1");
    let json = sandbox.isolated(&[&args[..], &["--json"]].concat()).json();
    assert_eq!(
        (&json["comparison"]["worse"][0]["query"], &json["comparison"]["unmatched"]),
        (&"chart it".into(), &1.into())
    );
    let figures = json["comparison"]["figures"].as_array().unwrap();
    let recall = figures.iter().find(|figure| figure["figure"] == "recall_at.1").unwrap();
    assert!(recall["old"].as_f64() > recall["new"].as_f64(), "{recall}");
    assert!(figures.iter().any(|figure| figure["figure"] == "languages.en.shown"), "{figures:?}");
}

#[test]
fn incomparable_evaluations_are_refused() {
    let sandbox = with_sets();
    let compare = |text: &str| {
        sandbox.write("work/old.json", text);
        sandbox.isolated(&["eval", "--mode", "keyword", "lines.jsonl", "--compare", "old.json"]).stderr
    };
    assert_snapshot!(compare("{\"recall_at\": {}}"), @r"
    error[compare]: cannot compare with old.json: it has no `cases`: it is not what `eval --json` prints, or an older version printed it
      help: name a file with the output of an earlier `skillcue eval --json`
    ");
    assert!(compare("nonsense").starts_with("error[compare]: cannot compare with old.json: it is no evaluation: "));
    assert!(
        compare("{\"cases\": [{\"query\": 1}]}").starts_with("error[compare]: cannot compare with old.json: it is")
    );
    let run = sandbox.isolated(&["eval", "lines.jsonl", "--compare", "nowhere.json"]);
    assert!(run.code == Some(1) && run.stderr.contains("no such file or directory"), "{run}");
    // Hostile words of an old file are shown, not obeyed.
    let case = "{\"query\": \"chart it\", \"grade\": \"nothing\", \"first\": \"a\\u001b[2J\", \"certainty\": 0, \"right\": false, \"tokens\": 1}";
    sandbox.write("work/old.json", format!("{{\"cases\": [{case}]}}"));
    let args = ["--color", "always", "eval", "--mode", "keyword", "lines.jsonl", "--compare", "old.json"];
    let run = sandbox.isolated(&args);
    assert!(run.stdout.contains(r"a\u{1b}[2J") && !run.stdout.contains("\u{1b}[2J"), "{run}");
}

#[test]
fn a_sweep_shows_what_eagerness_costs() {
    let sandbox = with_sets();
    let run = sandbox.isolated(&["eval", "--mode", "hybrid", "lines.jsonl", "--sweep", "eagerness"]);
    let rows: Vec<&str> = run.stdout.lines().skip(4).collect();
    assert_eq!(rows.len(), 11, "{run}");
    assert!(rows[0].trim_start().starts_with("0.0  ") && rows[10].trim_start().starts_with("1.0  "), "{run}");
    let json = sandbox.isolated(&["eval", "--json", "--mode", "hybrid", "lines.jsonl", "--sweep", "eagerness"]).json();
    let of = |key: &str| -> Vec<f64> {
        json["sweep"].as_array().unwrap().iter().map(|row| row[key].as_f64().unwrap()).collect()
    };
    for key in ["shown", "wrongly_shown", "wrong_bodies"] {
        assert!(of(key).is_sorted(), "more eagerness, more bodies: {key} {:?}", of(key));
    }
    assert!(of("named").iter().zip(of("shown")).all(|(named, shown)| *named >= shown));
    assert!(of("wrongly_named").iter().zip(of("wrongly_shown")).all(|(named, shown)| *named >= shown));
    // A row is what an evaluation at that eagerness says.
    for (at, eagerness) in [(0, "0"), (5, "0.5"), (8, "0.8")] {
        let one =
            sandbox.isolated(&["eval", "--json", "--mode", "hybrid", "lines.jsonl", "--eagerness", eagerness]).json();
        for key in ["shown", "named", "wrong_bodies", "wrongly_shown", "wrongly_named", "tokens"] {
            assert_eq!(json["sweep"][at][key], one[key], "{key} at {eagerness}");
        }
        assert!(one.get("sweep").is_none());
    }
    let wrong = sandbox.isolated(&["eval", "lines.jsonl", "--sweep", "mode"]);
    assert!(wrong.code == Some(2) && wrong.stderr.contains("eagerness"), "{wrong}");
}

/// `eval` says what `context` does.
#[test]
fn a_case_is_what_a_turn_would_get() {
    let sandbox = with_sets();
    for mode in ["keyword", "hybrid"] {
        for eagerness in ["0.1", "0.5", "0.9"] {
            let options = ["--mode", mode, "--eagerness", eagerness, "--json"];
            let json = sandbox.isolated(&[&["eval", "lines.jsonl"], &options[..]].concat()).json();
            for case in json["cases"].as_array().unwrap() {
                let query = case["query"].as_str().unwrap();
                let shown = sandbox.isolated(&[&["context", query], &options[..]].concat()).json();
                assert_eq!(case["tokens"], shown["tokens"]["turn"], "{mode} {eagerness}: {query}");
            }
        }
    }
}
