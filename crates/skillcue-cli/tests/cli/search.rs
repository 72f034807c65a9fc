use insta::assert_snapshot;

use crate::Sandbox;

#[test]
fn hits_come_with_their_reasons() {
    let sandbox = Sandbox::with_library();
    assert_snapshot!(sandbox.isolated(&["search", "--mode", "keyword", "charts of the PDF form"]), @r"
    exit 0
    --- stdout
    pdf    73 %  Reads and fills PDF forms
      keyword form, keyword pdf
    csv    54 %  Reads tables and draws charts of them
      verb chart (“charts”)
    --- stderr
    2 skills
    ");
    let run = sandbox.isolated(&["search", "paper cranes and other animals"]);
    assert!(run.stdout.starts_with("origami  ") && run.stdout.contains("\n  text "), "{run}");
    let run = sandbox.isolated(&["search", "--mode", "keyword", "paper cranes and other animals"]);
    assert_eq!(run.to_string(), "exit 0\n--- stderr\nnothing found\n");
}

#[test]
fn nothing_found_is_no_failure() {
    let sandbox = Sandbox::with_library();
    assert_snapshot!(sandbox.isolated(&["search", "zeppelin"]), @r"
    exit 0
    --- stderr
    nothing found
    ");
    assert_snapshot!(sandbox.isolated(&["search", "--json", "zeppelin"]), @r#"
    exit 0
    --- stdout
    {"hits":[],"matched":0}
    "#);
    assert_eq!(sandbox.isolated(&["search", ""]).code, Some(0));
    assert_eq!(sandbox.run(&["--isolated", "search", "pdf"]).stderr, "nothing found\n");
}

#[test]
fn programs_get_every_documented_key() {
    let sandbox = Sandbox::with_library();
    let json = sandbox.isolated(&["search", "--json", "open the pdf"]).json();
    let keys = |value: &serde_json::Value| {
        let keys: Vec<&str> = value.as_object().unwrap().keys().map(String::as_str).collect();
        keys.join(" ")
    };
    assert_snapshot!(keys(&json), @"hits matched");
    assert_snapshot!(keys(&json["hits"][0]), @"certainty confidence evidence likelihood mention name reasons score");
    let reason = &json["hits"][0]["reasons"][0];
    assert_snapshot!(keys(reason), @"kind score span text trigger");
    assert_eq!((&json["hits"][0]["name"], &json["matched"]), (&"pdf".into(), &1.into()));
    assert_eq!(
        (&reason["kind"], &reason["trigger"], &reason["text"]),
        (&"keyword".into(), &"pdf".into(), &"pdf".into())
    );
    assert_eq!((&reason["span"]["start"], &reason["span"]["end"]), (&9.into(), &12.into()));
    let confidence = json["hits"][0]["confidence"].as_f64().unwrap();
    assert!((0.0..=1.0).contains(&confidence), "{json}");
}

#[test]
fn the_best_are_printed() {
    let sandbox = Sandbox::with_library();
    let search = |limit: &str| sandbox.isolated(&["search", "--mode", "keyword", "--limit", limit, "pdf, chart"]);
    assert_snapshot!(search("1"), @r"
    exit 0
    --- stdout
    csv    54 %  Reads tables and draws charts of them
      verb chart
    --- stderr
    1 of 2 skills; --limit shows more
    ");
    assert_eq!(search("0").to_string(), "exit 0\n--- stderr\n0 of 2 skills; --limit shows more\n");
    assert_eq!(search("2").stderr, "2 skills\n");
    let json = sandbox.isolated(&["search", "--json", "--limit", "1", "pdf, chart"]).json();
    assert_eq!((json["hits"].as_array().unwrap().len(), &json["matched"]), (1, &2.into()));
    assert_eq!(search("some").code, Some(2));
}

#[test]
fn hidden_skills_are_not_found() {
    let sandbox = Sandbox::with_library();
    sandbox.write("work/off.toml", "[skills]\ndisable = [\"csv\"]\n");
    for query in ["pdf", "secret", "deletes a PDF for good", "chart a spreadsheet", "csv"] {
        for mode in ["keyword", "hybrid"] {
            let args = ["--config", "off.toml", "search", "--json", "--mode", mode, query];
            let json = sandbox.isolated(&args).json();
            let hits = json["hits"].as_array().unwrap();
            assert!(query != "pdf" || hits.iter().any(|hit| hit["name"] == "pdf"), "{json}");
            assert!(!hits.iter().any(|hit| hit["name"] == "secret" || hit["name"] == "csv"), "{query}: {json}");
        }
    }
    // It is the configuration that hides it, and the front matter.
    let names = |args: &[&str]| sandbox.isolated(&[&["search", "--json"], args].concat()).stdout;
    assert!(names(&["csv"]).contains("\"name\":\"csv\""));
    let secret = std::fs::read_to_string(sandbox.path("work/skills/secret/SKILL.md")).unwrap();
    sandbox.write("work/skills/secret/SKILL.md", secret.replace("disable-model-invocation: true\n", ""));
    assert!(names(&["deletes a PDF for good"]).contains("\"name\":\"secret\""));
}

#[test]
fn the_query_may_come_from_stdin_and_have_files() {
    let sandbox = Sandbox::with_library();
    let run = sandbox.run_with(b"the pdf\n", &["--isolated", "--skills-dir", "skills", "search", "-"]);
    assert!(run.stdout.starts_with("pdf "), "{run}");
    let run = sandbox.isolated(&["search", "--mode", "keyword", "x", "--file", "dir/a.csv"]);
    assert_eq!(run.stdout.lines().last(), Some("  file *.csv (“dir/a.csv”)"), "{run}");
}

/// Hits stand in the order of the first number, and one that excludes the message comes last, with the reason in `why`.
#[test]
fn hits_rank_by_the_number_that_is_printed() {
    let sandbox = Sandbox::new();
    for (name, description) in [
        ("docx", "Edit, edit, edit: edits and edited files. Do not use for spreadsheets."),
        ("xlsx", "Edits a spreadsheet: sheets, cells, formulas, charts and pivot tables of any file."),
        ("wiki", "A guide for teams that write long pages together, from the first draft to the last edit of each."),
        ("photos", "Crops pictures."),
    ] {
        sandbox.write(
            &format!("work/skills/{name}/SKILL.md"),
            format!("---\nname: {name}\ndescription: \"{description}\"\n---\nB.\n"),
        );
    }
    let run = sandbox.isolated(&["search", "edit the spreadsheet"]);
    let lines: Vec<&str> = run.stdout.lines().filter(|line| line.contains(" fits ")).collect();
    let names: Vec<&str> = lines.iter().filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!(names, ["xlsx", "wiki", "docx"], "{run}");
    let numbers: Vec<u32> = lines.iter().map(|line| line.split_whitespace().nth(1).unwrap().parse().unwrap()).collect();
    assert!(numbers.is_sorted_by(|a, b| a >= b), "{run}");
    let why = sandbox.isolated(&["why", "edit the spreadsheet", "docx"]);
    assert!(why.stdout.contains("against   its description says that it is not for “spreadsheet”\n"), "{why}");
    let why = sandbox.isolated(&["why", "edit the spreadsheet", "xlsx"]);
    assert!(!why.stdout.contains("against"), "{why}");
    let why = sandbox.isolated(&["why", "keep the photos, don't use a wiki", "wiki"]);
    assert!(why.stdout.contains("against   the message says not to use “wiki”\n"), "{why}");
}
