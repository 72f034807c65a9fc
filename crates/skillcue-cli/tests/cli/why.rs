use insta::assert_snapshot;

use crate::Sandbox;

#[test]
fn words_that_speak_for_a_skill_are_marked() {
    let sandbox = Sandbox::with_library();
    assert_snapshot!(sandbox.isolated(&["why", "--mode", "keyword", "Chart the PDF form"]), @r"
    exit 0
    --- stdout
    Chart the PDF form
    ^^^^^     ^^^ ^^^^

    1. pdf  73 % sure  score 1.68
       keyword   form  +1.00  “form”
       keyword   pdf   +0.68  “PDF”
       → body: every match by keywords
    2. csv  54 % sure  score 0.85
       verb      chart  +0.85  “Chart”
       → body: every match by keywords
    ");
    assert_snapshot!(sandbox.isolated(&["why", "--mode", "keyword", "What is 2+2?"]), @r"
    exit 0
    --- stdout
    What is 2+2?

    nothing matches
    ");
    assert_snapshot!(sandbox.isolated(&["why", "--mode", "keyword", ""]), @r"
    exit 0
    --- stdout

    nothing matches
    ");
    assert_snapshot!(sandbox.isolated(&["why", "--mode", "keyword", "and now?", "--file", "a.csv", "--earlier", "open the pdf"]), @r"
    exit 0
    --- stdout
    and now?

    1. csv  48 % sure  score 0.70
       file      *.csv  +0.70  “a.csv”
       → body: every match by keywords
    2. pdf  28 % sure  score 0.34
       keyword   pdf  +0.34  “pdf”
       → body: every match by keywords
    ");
}

#[test]
fn one_that_matches() {
    let sandbox = Sandbox::with_library();
    assert_snapshot!(sandbox.isolated(&["why", "--mode", "keyword", "charts of the pdf", "csv"]), @r"
    exit 0
    --- stdout
    charts of the pdf
    ^^^^^^

    1. csv  54 % sure  score 0.85
       verb      chart  +0.85  “charts”
       → body: every match by keywords
    what did not match
       keyword   csv
       keyword   spreadsheet
       keyword   表
       phrase    pivot table
       pattern   plot .* against .*  the message must contain ` against `
       file      *.csv  the turn has no files
       language  R  the turn has no languages
    ");
    // The second by rank.
    let run = sandbox.isolated(&["why", "--mode", "keyword", "charts of the pdf", "pdf"]);
    assert!(run.stdout.contains("\n2. pdf  "), "{run}");
}

#[test]
fn one_that_does_not_and_how_near_it_came() {
    let sandbox = Sandbox::with_library();
    assert_snapshot!(sandbox.isolated(&["why", "--mode", "keyword", "two spreadsheets, plot a table, pivot it", "csv"]), @r"
    exit 0
    --- stdout
    two spreadsheets, plot a table, pivot it

    csv does not match. What it would have taken:
       keyword   csv
       keyword   spreadsheet  keyword `spreadsheet` does not match `spreadsheets`: keywords are not inflected; add `spreadsheets` as a keyword
       keyword   表
       phrase    pivot table  all words of keyword `pivot table` are there, but not together and in this order
       verb      chart
       pattern   plot .* against .*  the message must contain ` against `
       file      *.csv  the turn has no files
       language  R  the turn has no languages
    ");
    assert_snapshot!(sandbox.isolated(&["why", "--mode", "keyword", "open the pdfs", "pdf"]), @r"
    exit 0
    --- stdout
    open the pdfs

    pdf does not match. What it would have taken:
       keyword   pdf  keyword `pdf` does not match `pdfs`: keywords are not inflected; add `pdfs` as a keyword
       keyword   form
    ");
    assert_snapshot!(sandbox.isolated(&["why", "--mode", "keyword", "a paper crane", "origami"]), @r"
    exit 0
    --- stdout
    a paper crane

    origami does not match. What it would have taken:
       keyword   origami
    It has no triggers: only its name matches, or `--mode hybrid`.
    ");
    assert_snapshot!(sandbox.isolated(&["why", "--mode", "keyword", "open the pdf", "secret"]), @r"
    exit 0
    --- stdout
    open the pdf

    only people may load it: it matches where its name has a sigil
    secret does not match. What it would have taken:
       keyword   secret
    ");
    sandbox.write("work/off.toml", "[skills]\ndisable = [\"pdf\"]\n");
    let run = sandbox.isolated(&["--config", "off.toml", "why", "--mode", "keyword", "open the pdf", "pdf"]);
    assert!(run.stdout.contains("it is disabled, and so never matches\n"), "{run}");
}

#[test]
fn texts_count_in_hybrid_mode_for_one_skill_too() {
    let sandbox = Sandbox::with_library();
    let message = "fold a paper crane out of paper, or other animals";
    let all = sandbox.isolated(&["why", "--mode", "hybrid", message]);
    assert!(all.stdout.contains("1. origami  ") && all.stdout.contains("\n   text      "), "{all}");
    let one = sandbox.isolated(&["why", "--mode", "hybrid", message, "origami"]);
    assert!(one.stdout.contains("1. origami  ") && one.stdout.contains("\n   text      "), "{one}");
    let json = sandbox.isolated(&["why", "--json", "--mode", "hybrid", message, "origami"]).json();
    assert_eq!(json["skill"]["hit"], json["hits"][0], "{json}");
    assert_eq!(json["skill"]["before"], 0, "{json}");
    let none = sandbox.isolated(&["why", "--mode", "hybrid", "What is 2+2?", "origami"]);
    assert!(none.stdout.ends_with("its own words are not like those of the message.\n"), "{none}");
}

#[test]
fn one_that_is_not_there() {
    let sandbox = Sandbox::with_library();
    assert_snapshot!(sandbox.isolated(&["why", "--mode", "keyword", "x", "pfd"]), @r#"
    exit 1
    --- stderr
    error[not_found]: no skill is called "pfd"
      help: did you mean pdf?
    "#);
    let run = sandbox.isolated(&["why", "--mode", "keyword", "--json", "x", "secrt"]);
    assert_eq!((run.code, &run.json()["error"]["code"]), (Some(1), &"not_found".into()));
    assert_eq!(sandbox.isolated(&["why"]).code, Some(2));
}

#[test]
fn programs_get_the_same() {
    let sandbox = Sandbox::with_library();
    let json = sandbox.isolated(&["why", "--mode", "keyword", "--json", "chart it", "csv"]).json();
    let keys = |value: &serde_json::Value| {
        let keys: Vec<&str> = value.as_object().unwrap().keys().map(String::as_str).collect();
        keys.join(" ")
    };
    assert_snapshot!(keys(&json), @"decisions hits intent matched skill thresholds tier");
    assert_snapshot!(keys(&json["hits"][0]), @"certainty confidence likelihood mention name reasons score");
    assert_snapshot!(keys(&json["hits"][0]["reasons"][0]), @"kind score span text trigger");
    assert_snapshot!(keys(&json["skill"]), @"before hit name standing triggers");
    assert_snapshot!(keys(&json["skill"]["triggers"][0]), @"kind matched note trigger");
    assert_eq!((&json["skill"]["standing"], &json["skill"]["before"]), (&"considered".into(), &0.into()));
    assert_eq!(json["intent"], "none");
    let json = sandbox.isolated(&["why", "--mode", "keyword", "--json", "what can you do?"]).json();
    assert_eq!((&json["intent"], json.get("skill")), (&"registry".into(), None));
    assert_eq!(sandbox.isolated(&["why", "--mode", "keyword", "--json", "show all skills"]).json()["intent"], "all");
}

#[test]
fn questions_about_skills() {
    let sandbox = Sandbox::with_library();
    assert_snapshot!(sandbox.isolated(&["why", "--mode", "keyword", "what can you do?"]), @r"
    exit 0
    --- stdout
    what can you do?

    asks what there is: the list of skills answers it, whatever matches
    ");
    assert_snapshot!(sandbox.isolated(&["why", "--mode", "keyword", "show all skills"]), @r"
    exit 0
    --- stdout
    show all skills

    asks for all documentation, whatever matches
    ");
}

#[test]
fn marks_stand_below_what_they_mark() {
    let sandbox = Sandbox::with_library();
    assert_snapshot!(sandbox.isolated(&["why", "--mode", "keyword", "日本の表 to 😀 pdf"]).stdout, @r"
    日本の表 to 😀 pdf
          ^^       ^^^

    1. csv  59 % sure  score 1.00
       keyword   表  +1.00  “表”
       → body: every match by keywords
    2. pdf  47 % sure  score 0.68
       keyword   pdf  +0.68  “pdf”
       → body: every match by keywords
    ");
    // What follows a heart makes it an emoji of two columns; what a reader would not see is shown.
    assert_snapshot!(sandbox.isolated(&["why", "--mode", "keyword", "❤\u{fe0f} pdf 👩\u{200d}👧 form\tq\u{301} pdf"]).stdout, @r"
    ❤️ pdf 👩\u{200d}👧 form q́ pdf
       ^^^              ^^^^

    1. pdf  73 % sure  score 1.68
       keyword   form  +1.00  “form”
       keyword   pdf   +0.68  “pdf”
       → body: every match by keywords
    ");
    let run = sandbox.isolated(&["why", "--mode", "keyword", "\u{1b}[2J pdf", "--color", "always"]);
    assert!(run.stdout.contains(r"\u{1b}[2J") && !run.stdout.contains("\u{1b}[2J"), "{run}");
}

#[test]
fn of_long_messages_the_lines_that_matter_are_shown() {
    let sandbox = Sandbox::with_library();
    let mut message = "nothing here\r\n".repeat(20);
    message.push_str("open the pdf\nand so on\nthe form");
    assert_snapshot!(sandbox.isolated(&["why", "--mode", "keyword", &message]), @r"
    exit 0
    --- stdout
    open the pdf
             ^^^
    the form
        ^^^^
    (21 lines without a match)

    1. pdf  73 % sure  score 1.68
       keyword   form  +1.00  “form”
       keyword   pdf   +0.68  “pdf”
       → body: every match by keywords
    ");
    let run = sandbox
        .run_with(message.as_bytes(), &["--isolated", "--skills-dir", "skills", "why", "--mode", "keyword", "-"]);
    assert_eq!(run.to_string(), sandbox.isolated(&["why", "--mode", "keyword", &message]).to_string());
}

#[test]
fn lines_that_are_too_long_are_broken() {
    let sandbox = Sandbox::with_library();
    let message = format!("{}the pdf at the end", "so many words ".repeat(10));
    assert_snapshot!(sandbox.isolated(&["why", "--mode", "keyword", &message]).stdout, @r"
    so many words so many words so many words so many words so many words so many words so many words
    so many words so many words so many words the pdf at the end
                                                  ^^^

    1. pdf  47 % sure  score 0.68
       keyword   pdf  +0.68  “pdf”
       → body: every match by keywords
    ");
    let message = format!("{}\npdf", "x".repeat(250));
    assert_snapshot!(sandbox.isolated(&["why", "--mode", "keyword", &message]).stdout, @r"
    xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
    xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
    xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
    pdf
    ^^^

    1. pdf  47 % sure  score 0.68
       keyword   pdf  +0.68  “pdf”
       → body: every match by keywords
    ");
}

#[test]
fn more_than_a_few_are_counted() {
    let sandbox = Sandbox::new();
    for number in 1..=7 {
        let text = format!("---\nname: s{number}\ndescription: Does it. Use it.\ntriggers: [it]\n---\n");
        sandbox.write(&format!("work/skills/s{number}/SKILL.md"), text);
    }
    let run = sandbox.isolated(&["why", "--mode", "keyword", "do it"]);
    assert!(run.stdout.contains("\n5. s5  ") && run.stdout.ends_with("\nand 2 more skills\n"), "{run}");
    let run = sandbox.isolated(&["why", "--mode", "keyword", "do it", "s7"]);
    assert!(run.stdout.contains("\n7. s7  "), "{run}");
}

#[test]
fn texts_count_by_default() {
    let sandbox = Sandbox::with_library();
    let message = "fold a paper crane out of paper, or other animals";
    let run = |variables: &[(&str, &str)], args: &[&str]| {
        let mut command = sandbox.command(&[&["--isolated", "--skills-dir", "skills"], args, &[message]].concat());
        command.envs(variables.iter().copied());
        sandbox.finish(command.output().unwrap())
    };
    let (found, missed) = ("origami", "nothing matches");
    assert!(run(&[], &["why"]).stdout.contains(found));
    assert!(run(&[], &["search"]).stdout.contains(found));
    assert!(run(&[], &["context"]).stdout.contains("### origami"));
    for name in ["SKILLCUE_MODE", "SKILL_MATCHING_MODE"] {
        assert!(run(&[(name, "keyword")], &["why"]).stdout.contains(missed));
        assert!(run(&[(name, "keyword")], &["why", "--mode", "hybrid"]).stdout.contains(found), "flags win");
        assert_eq!(run(&[(name, "keyword")], &["context"]).stdout, "[3 skills available]\n");
        let wrong = run(&[(name, "fuzzy")], &["why"]);
        assert_eq!(wrong.code, Some(2), "{wrong}");
        assert!(wrong.stderr.contains(&format!("{name} is `fuzzy`")), "{wrong}");
        assert!(wrong.stderr.contains("set it to keyword or hybrid or semantic, or unset it"), "{wrong}");
    }
    sandbox.write("work/mode.toml", "[select]\nmode = \"keyword\"\n");
    assert!(run(&[], &["--config", "mode.toml", "why"]).stdout.contains(missed));
    assert!(run(&[("SKILLCUE_MODE", "hybrid")], &["--config", "mode.toml", "why"]).stdout.contains(found));
}
