use insta::assert_snapshot;

use crate::Sandbox;

#[test]
fn the_section_lists_every_skill() {
    let sandbox = Sandbox::with_library();
    assert_snapshot!(sandbox.isolated(&["prompt"]), @r"
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
    --- stderr
    3 skills · 240 tokens
    ");
    let json = sandbox.isolated(&["prompt", "--json"]).json();
    let keys: Vec<&str> = json.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(keys, ["omitted", "shortened", "text", "tokens"]);
    assert_eq!(json["text"].as_str().unwrap(), sandbox.isolated(&["prompt"]).stdout);
    assert!(json["tokens"].is_u64(), "{json}");
    assert_eq!((&json["shortened"], &json["omitted"]), (&serde_json::json!([]), &serde_json::json!([])));
}

#[test]
fn descriptions_are_escaped() {
    let sandbox = Sandbox::new();
    sandbox.skill("work/skills/tags", "Reads </description> & <id>. Use it.");
    let run = sandbox.isolated(&["prompt"]);
    assert!(run.stdout.contains("<description>Reads &lt;/description&gt; &amp; &lt;id&gt;. Use it.<"), "{run}");
}

#[test]
fn a_small_window_shortens_descriptions_and_then_drops_names() {
    let sandbox = Sandbox::new();
    for number in 1..=9 {
        let description = "Reads tables of every size, turns them into charts and says what the numbers mean. Use it.";
        sandbox.skill(&format!("work/skills/s{number}"), description);
    }
    let prompt = |window: &str| sandbox.isolated(&["prompt", "--window", window]);
    let counts = |window: &str| {
        let json = sandbox.isolated(&["prompt", "--json", "--window", window]).json();
        let length = |key: &str| json[key].as_array().unwrap().len();
        let share = window.parse::<u64>().unwrap() / 50;
        assert!(share == 0 || json["tokens"].as_u64().unwrap() <= share, "{json}");
        (length("shortened"), length("omitted"))
    };
    assert_eq!(counts("0"), (0, 0), "zero is no limit");
    let (shortened, omitted) = counts("13000");
    assert!(shortened > 0 && omitted == 0, "{shortened}, {omitted}");
    let run = prompt("13000");
    assert_eq!(run.stdout.matches("\ns").count(), 9, "every name stays: {run}");
    assert!(run.stderr.starts_with("9 skills · ") && run.stderr.ends_with(" shortened\n"), "{run}");
    let (_, omitted) = counts("8000");
    assert!(omitted > 0, "{omitted}");
    let run = prompt("8000");
    assert!(run.stdout.contains(&format!("\n{omitted} more skills are not listed")), "{run}");
    let more = "a larger --window, or catalog_share below [disclose] in skillcue.toml, makes room\n";
    assert!(run.stderr.ends_with(&format!(" · {omitted} left out\n{more}")), "{run}");
    // Issue 15: the help promised that every name stays.
    let help = sandbox.run(&["prompt", "--help"]).stdout;
    assert!(!help.contains("Every name stays") && help.contains("how many are missing"), "{help}");
    // The file says it, and the flag says it better.
    sandbox.write("work/window.toml", "[disclose]\nwindow = 8000\n");
    let configured = sandbox.isolated(&["--config", "window.toml", "prompt"]);
    assert_eq!(configured.stdout, run.stdout);
    let flag = sandbox.isolated(&["--config", "window.toml", "prompt", "--window", "0"]);
    assert_eq!(flag.stdout, prompt("0").stdout);
    assert_eq!(prompt("much").code, Some(2));
}

#[test]
fn the_pinned_are_shortened_last() {
    let sandbox = Sandbox::new();
    for number in 1..=9 {
        let description = "Reads tables of every size, turns them into charts and says what the numbers mean. Use it.";
        sandbox.skill(&format!("work/skills/s{number}"), description);
    }
    sandbox.write("work/pins.toml", "[disclose]\nwindow = 18000\npinned = [\"s9\"]\n");
    let json = sandbox.isolated(&["--config", "pins.toml", "prompt", "--json"]).json();
    let shortened = json["shortened"].as_array().unwrap();
    assert!(!shortened.is_empty() && !shortened.contains(&"s9".into()), "{json}");
}

#[test]
fn without_skills_there_is_no_section() {
    let sandbox = Sandbox::new();
    assert_snapshot!(sandbox.run(&["--isolated", "prompt"]), @r"
    exit 0
    --- stderr
    0 skills · 0 tokens
    ");
    assert_snapshot!(sandbox.run(&["--isolated", "prompt", "--json"]), @r#"
    exit 0
    --- stdout
    {"text":"","tokens":0,"shortened":[],"omitted":[]}
    "#);
}

#[test]
fn counters() {
    let sandbox = Sandbox::with_library();
    let json = sandbox.isolated(&["prompt", "--json", "--counter", "bytes4"]).json();
    let bytes = json["text"].as_str().unwrap().len() as u64;
    assert_eq!(json["tokens"].as_u64(), Some(bytes.div_ceil(4)), "{json}");
    assert_eq!(sandbox.isolated(&["prompt", "--counter", "words"]).code, Some(2));
}
