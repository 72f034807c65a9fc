//! `eval`: runs that a project keeps, what got worse since the last, and files for continuous integration.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use insta::assert_snapshot;
use skillcue_format::{FileKind, Parsed};

use crate::Sandbox;

const LINES: &str = "{\"query\": \"open the pdf\", \"relevant\": [\"pdf\"]}\n\
{\"query\": \"chart it\", \"relevant\": [\"csv\"]}\n\
{\"query\": \"What is 2+2?\", \"relevant\": []}\n\
{\"query\": \"the form of a <poem> | `x`\", \"none\": true}\n\
{\"query\": \"the spreadsheet\", \"relevant\": [\"pdf\"]}\n";

const EVAL: [&str; 4] = ["eval", "--mode", "keyword", "lines.jsonl"];

fn with_set() -> Sandbox {
    let sandbox = Sandbox::with_library();
    sandbox.write("work/lines.jsonl", LINES);
    // The next run finds one skill less.
    sandbox.write("work/off.toml", "[skills]\ndisable = [\"csv\"]\n");
    sandbox
}

fn runs(sandbox: &Sandbox) -> Vec<String> {
    let Ok(entries) = fs::read_dir(sandbox.path("work/.skillcue/evals")) else { return Vec::new() };
    let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// A text in which the minute of the run is not.
fn without_times(text: &str) -> String {
    let of_line = |line: &str| {
        let at = line.find("20").filter(|at| line.get(at + 4..at + 5) == Some("-") && line.len() >= at + 16);
        match at {
            Some(at) => format!("{}[MINUTE]{}\n", &line[..at], &line[at + 16..]),
            None => format!("{line}\n"),
        }
    };
    text.lines().map(of_line).collect::<Vec<_>>().concat()
}

#[test]
fn runs_are_kept_where_the_project_has_a_place_for_them_or_when_asked() {
    let sandbox = with_set();
    let run = sandbox.isolated(&EVAL);
    assert!(run.code == Some(0) && run.stderr.is_empty() && runs(&sandbox).is_empty(), "{run}");
    let run = sandbox.isolated(&[&EVAL[..], &["--keep", "--label", "first"]].concat());
    assert!(run.stderr.starts_with("kept in .skillcue/evals/20"), "{run}");
    assert_eq!(runs(&sandbox).len(), 1);
    assert!(sandbox.isolated(&[&EVAL[..], &["--no-keep"]].concat()).stderr.is_empty());
    assert_eq!(runs(&sandbox).len(), 1);
    let json = sandbox.isolated(&[&EVAL[..], &["--json"]].concat()).json();
    assert_eq!(runs(&sandbox).len(), 2, "the directory is there now");
    assert!(json["kept"].as_str().is_some_and(|kept| kept.contains(".json")), "{json}");
    assert_eq!(json["since"]["label"], "first", "{json}");
    assert_eq!(json["since"]["worse"].as_array().map(Vec::len), Some(0));
}

#[test]
fn a_later_run_says_first_what_got_worse() {
    let sandbox = with_set();
    sandbox.isolated(&[&EVAL[..], &["--keep", "--label", "before"]].concat());
    let same = sandbox.isolated(&EVAL);
    assert_snapshot!(without_times(same.stdout.lines().next().unwrap()), @"since [MINUTE], before: no message better or worse; recall at 3 66.7 % → 66.7 %");
    let run = sandbox.isolated(&[&["--config", "off.toml"], &EVAL[..]].concat());
    assert_eq!(run.code, Some(0), "{run}");
    let end = run.stdout.find("5 messages over").unwrap();
    assert_snapshot!(without_times(&run.stdout[..end]), @r"
    since [MINUTE]: 1 message worse, 0 better; recall at 3 66.7 % → 33.3 %

    1 message worse
      chart it
        needs csv: shown, first csv 0.54 → not shown
    ");
    let strict = sandbox.isolated(&[&EVAL[..], &["--max-worse", "0"]].concat());
    assert_eq!(strict.code, Some(0), "it got better again: {strict}");
    // A run that failed is nothing to compare with: what failed once fails again.
    for _ in 0..2 {
        let strict = sandbox.isolated(&[&["--config", "off.toml"], &EVAL[..], &["--max-worse", "0"]].concat());
        assert!(strict.code == Some(1) && strict.stderr.contains("error[max_worse]: 1 message got worse"), "{strict}");
    }
    let history = sandbox.isolated(&["eval", "--history", "--json"]).json();
    let failed: Vec<bool> = history["runs"].as_array().unwrap().iter().map(|run| run["failed"] == true).collect();
    assert_eq!(failed, [false, false, false, false, true, true]);
    assert!(sandbox.isolated(&["eval", "--history"]).stdout.ends_with("failed\n"));
    // Another eagerness is another series, and so is another mode.
    let other = sandbox.isolated(&[&EVAL[..], &["--eagerness", "0.9"]].concat());
    assert!(other.stdout.starts_with("5 messages over"), "{other}");
    let other = sandbox.isolated(&["eval", "--mode", "hybrid", "lines.jsonl"]);
    assert!(other.stdout.starts_with("5 messages over"), "{other}");
}

#[test]
fn the_history_is_a_table_with_a_chart() {
    let sandbox = with_set();
    assert_snapshot!(sandbox.isolated(&["eval", "--history"]), @r"
    exit 0
    --- stdout
    no runs are kept here; `skillcue eval --keep FILE` keeps one
    ");
    sandbox.write("work/.git/HEAD", "0123456789abcdef0123456789abcdef01234567\n");
    sandbox.isolated(&[&EVAL[..], &["--keep", "--label", "before"]].concat());
    sandbox.isolated(&[&["--config", "off.toml"], &EVAL[..]].concat());
    let run = sandbox.isolated(&["eval", "--history"]);
    // The cost of a message depends on the length of the directory's name.
    let lines: Vec<String> = without_times(&run.stdout)
        .lines()
        .map(|line| if line.starts_with('[') { format!("{} …{}", &line[..79], &line[93..]) } else { line.to_owned() })
        .collect();
    assert_snapshot!(lines.join("\n"), @r"
    lines.jsonl, keyword
    recall at 3  █▁  66.7 % → 33.3 %
    when              label         commit   skills  messages   at 1   at 3  shown  named wrongly  tokens  worse  better
    [MINUTE]  before        0123456       3         5   66.7   66.7   66.7   66.7   …      –       –
    [MINUTE]                0123456       2         5   33.3   33.3   33.3   33.3   …      1       0
    ");
    let json = sandbox.isolated(&["eval", "--history", "--json"]).json();
    let keys: Vec<&String> = json["runs"][1].as_object().unwrap().keys().collect();
    let all = "better commit eagerness figures judge label mode model set skills time worse";
    assert_eq!(keys.iter().map(|key| key.as_str()).collect::<Vec<_>>().join(" "), all);
    assert_eq!((&json["runs"][1]["worse"], &json["runs"][0]["worse"]), (&1.into(), &().into()));
    assert_eq!(json["runs"][0]["set"], "lines.jsonl");
    let other = sandbox.isolated(&["eval", "--history", "other.jsonl", "--json"]).json();
    assert_eq!(other["runs"].as_array().map(Vec::len), Some(0));
}

#[test]
fn a_file_that_is_no_run_is_a_warning() {
    let sandbox = with_set();
    sandbox.isolated(&[&EVAL[..], &["--keep"]].concat());
    sandbox.write("work/.skillcue/evals/20261118T042000.123Z-0a1b2c3d.json", "{\"form\": 9}");
    let run = sandbox.isolated(&["eval", "--history"]);
    assert!(run.code == Some(0) && run.stdout.contains("lines.jsonl, keyword"), "{run}");
    let wanted = "evals/20261118T042000.123Z-0a1b2c3d.json is left out: its form is 9, and this version reads form 1";
    assert!(run.stderr.contains(wanted), "{run}");
}

#[test]
fn a_project_that_cannot_be_written_to_gets_its_figures_all_the_same() {
    let sandbox = with_set();
    // A file in its place stops root, too.
    sandbox.write("work/.skillcue/evals", "not a directory");
    let run = sandbox.isolated(&EVAL);
    assert!(run.code == Some(0) && run.stdout.contains("recall at 3"), "{run}");
    assert!(run.stderr.contains("warning[eval_history]"), "{run}");
    let asked = sandbox.isolated(&[&EVAL[..], &["--keep"]].concat());
    assert!(asked.code == Some(1) && asked.stderr.contains("error[eval_history]"), "{asked}");
    fs::remove_file(sandbox.path("work/.skillcue/evals")).unwrap();
    fs::set_permissions(sandbox.path("work/.skillcue"), fs::Permissions::from_mode(0o555)).unwrap();
    if fs::create_dir(sandbox.path("work/.skillcue/probe")).is_ok() {
        eprintln!("skipped: this user may write everywhere, so a read-only directory stops nothing");
        return;
    }
    let run = sandbox.isolated(&EVAL);
    assert!(run.code == Some(0) && run.stderr.contains("warning[eval_history]"), "{run}");
}

#[test]
fn a_junit_report_has_a_test_case_for_each_message() {
    let sandbox = with_set();
    let run = sandbox.isolated(&[&EVAL[..], &["--junit", "report.xml"]].concat());
    assert_eq!(run.code, Some(0), "{run}");
    let report = fs::read_to_string(sandbox.path("work/report.xml")).unwrap();
    let report: String = report.lines().filter(|line| !line.contains("timestamp")).collect::<Vec<_>>().join("\n");
    assert_snapshot!(report, @r#"
    <?xml version="1.0" encoding="UTF-8"?>
    <testsuites name="skillcue eval" tests="5" failures="2">
        <testcase classname="pdf" name="open the pdf" time="0"/>
        <testcase classname="csv" name="chart it" time="0"/>
        <testcase classname="(none)" name="What is 2+2?" time="0"/>
        <testcase classname="(none)" name="the form of a &lt;poem&gt; | `x`" time="0">
          <failure message="needs no skill, and a wrong body is shown; first: pdf 0.59"/>
        </testcase>
        <testcase classname="pdf" name="the spreadsheet" time="0">
          <failure message="needs pdf, which is neither shown nor named (not found); first: csv 0.59"/>
        </testcase>
      </testsuite>
    </testsuites>
    "#);
    let lost = sandbox.isolated(&[&EVAL[..], &["--junit", "nowhere/report.xml"]].concat());
    assert!(lost.code == Some(1) && lost.stderr.contains("nowhere/report.xml"), "{lost}");
}

#[test]
fn a_summary_has_what_got_worse_first() {
    let sandbox = with_set();
    sandbox.isolated(&[&EVAL[..], &["--keep"]].concat());
    let args = ["--summary", "summary.md", "--max-worse", "0"];
    let run = sandbox.isolated(&[&["--config", "off.toml"], &EVAL[..], &args].concat());
    assert_eq!(run.code, Some(1), "{run}");
    let summary = fs::read_to_string(sandbox.path("work/summary.md")).unwrap();
    let summary: String = summary.lines().filter(|line| !line.contains("tokens a")).collect::<Vec<_>>().join("\n");
    assert_snapshot!(without_times(&summary), @r"
    ## Skills on `lines.jsonl`

    **Failed:** 1 message got worse, more than --max-worse 0

    Since [MINUTE]: **1 message worse**, 0 better.

    | Worse | needs | before | now |
    | --- | --- | --- | --- |
    | `chart it` | `csv` | shown, first `csv` | not shown |

    | figure | before | now |
    | --- | ---: | ---: |
    | recall at 1 | 66.7 % | 33.3 % |
    | recall at 3 | 66.7 % | 33.3 % |
    | recall at 5 | 66.7 % | 33.3 % |
    | right body shown | 66.7 % | 33.3 % |
    | right skill shown or named | 66.7 % | 33.3 % |
    | wrong body where another is needed | 33.3 % | 0.0 % |
    | body where none is needed | 50.0 % | 50.0 % |
    | false triggers | 50.0 % | 50.0 % |

    <details><summary>Skills taken for others</summary>

    | needed | selected | messages |
    | --- | --- | ---: |
    | nothing | `pdf` | 1 |

    </details>

    5 messages over 2 skills.
    ");
}

/// Returns the `run` of each step of the workflow in the documentation.
fn workflow_steps() -> Vec<String> {
    let page = include_str!("../../../../docs/reference/eval.md");
    let start = page.find("```yaml\n").unwrap() + "```yaml\n".len();
    let block = &page[start..start + page[start..].find("```").unwrap()];
    let parsed = Parsed::new_front_matter(block, FileKind::Yaml);
    let raw = parsed.raw.unwrap_or_else(|| panic!("it is no YAML: {:?}", parsed.diagnostics));
    assert!(parsed.edits.is_empty(), "it is broken YAML: {:?}", parsed.edits);
    let jobs = raw.get("jobs").unwrap();
    let steps = jobs.get("eval").unwrap().get("steps").unwrap().items().to_vec();
    assert!(steps.iter().all(|step| step.get("run").is_some() || step.get("uses").is_some()));
    steps.iter().filter_map(|step| Some(step.get("run")?.as_str()?.to_owned())).collect()
}

#[test]
fn the_workflow_of_the_documentation_parses_and_its_commands_run() {
    let sandbox = Sandbox::new();
    sandbox.skill("work/skills/pdf", "Reads and fills PDF forms. Use when the user has a PDF.");
    sandbox.skill("work/skills/csv", "Reads tables and draws a chart of them. Use when the user has a table.");
    sandbox.write("work/evals/messages.jsonl", &LINES[..LINES.find("{\"query\": \"the form").unwrap()]);
    let steps = workflow_steps();
    let ours: Vec<&String> = steps.iter().filter(|step| step.starts_with("skillcue ")).collect();
    assert_eq!((steps.len(), ours.len()), (4, 3), "one installs the program: {steps:?}");
    let program = std::path::Path::new(env!("CARGO_BIN_EXE_skillcue"));
    let path = format!("{}:/usr/bin:/bin", program.parent().unwrap().display());
    // The second time is compared with the first.
    for step in ours.iter().chain(&ours) {
        let run = std::process::Command::new("/bin/sh")
            .args(["-e", "-c", step])
            .current_dir(sandbox.path("work"))
            .env_clear()
            .env("PATH", &path)
            .env("HOME", sandbox.path("home"))
            .env("GITHUB_REF_NAME", "main")
            .env("GITHUB_STEP_SUMMARY", sandbox.path("tmp/summary.md"))
            .output()
            .unwrap();
        let run = sandbox.finish(run);
        assert_eq!(run.code, Some(0), "{step}\n{run}");
    }
    assert_eq!(runs(&sandbox).len(), 2);
    let summary = fs::read_to_string(sandbox.path("tmp/summary.md")).unwrap();
    assert!(summary.contains("**0 messages worse**, 0 better"), "{summary}");
    assert!(sandbox.path("work/skillcue.xml").exists());
}
