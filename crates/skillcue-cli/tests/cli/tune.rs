//! `tune`: better words for a skill, judged on messages that were not used to find them.

use std::fs;

use crate::Sandbox;

/// Messages that need `forms` and do not have a word of its description, and others.
fn set() -> String {
    let tasks =
        ["flatten", "lock", "print", "send", "copy", "open", "rename", "check", "sign", "export", "merge", "read"];
    let mut set = Vec::new();
    for (at, task) in tasks.iter().enumerate() {
        set.push(format!("{{\"query\": \"{task} the acroform number {at}\", \"relevant\": [\"forms\"]}}\n"));
        set.push(format!("{{\"query\": \"{task} the table number {at}\", \"relevant\": [\"csv\"]}}\n"));
    }
    set.concat() + "{\"query\": \"What is 2+2?\", \"none\": true}\n"
}

const FILE: &str = "work/skills/forms/SKILL.md";
const SKILL: &str = "---\nname: forms   # as the author wrote it\ndescription: >-\n  Fills in questionnaires of\n  public offices.\nlicense: MIT\n---\n\n# Forms\n\nBody,  with \tblanks.\n";

fn with_set() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write(FILE, SKILL);
    sandbox.skill("work/skills/csv", "Reads a table and draws charts of it.");
    sandbox.skill("work/skills/origami", "Folds cranes out of paper.");
    sandbox.write("work/set.jsonl", set());
    sandbox
}

const TUNE: [&str; 4] = ["tune", "forms", "--eval", "set.jsonl"];

#[test]
fn words_that_right_messages_share_are_proposed_and_judged_on_others() {
    let sandbox = with_set();
    let run = sandbox.isolated(&TUNE);
    assert_eq!(run.code, Some(0), "{run}");
    assert!(run.stdout.contains('+') && run.stdout.contains("acroform"), "{run}");
    assert!(run.stdout.contains("its recall at 1                           80.0 %   100.0 %"), "{run}");
    assert!(run.stderr.contains("--write changes skills/forms/SKILL.md so"), "{run}");
    assert_eq!(fs::read_to_string(sandbox.path(FILE)).unwrap(), SKILL, "nothing is written unless told to");
    let json = sandbox.isolated(&[&TUNE[..], &["--json"]].concat()).json();
    assert_eq!((&json["before"]["own_recall_at_1"], &json["after"]["own_recall_at_1"]), (&0.8.into(), &1.0.into()));
    assert!(json["sum"].as_f64() > Some(0.0) && json["proposed"] == true && json["written"] == false, "{json}");
    let counts = &json["messages"];
    assert_eq!(counts["own_train"].as_u64().unwrap() + counts["own_unseen"].as_u64().unwrap(), 12, "{json}");
    // The same again: the split is by digests, and nothing is left behind.
    assert_eq!(sandbox.isolated(&[&TUNE[..], &["--json"]].concat()).json()["draft"], json["draft"]);
    assert_eq!(fs::read_dir(sandbox.path("tmp")).unwrap().count(), 0, "the directory of trials is gone");
}

#[test]
fn writing_changes_nothing_but_the_words() {
    let sandbox = with_set();
    let run = sandbox.isolated(&[&TUNE[..], &["--write"]].concat());
    assert!(run.code == Some(0) && run.stderr.contains("written to skills/forms/SKILL.md"), "{run}");
    let new = fs::read_to_string(sandbox.path(FILE)).unwrap();
    assert!(new.contains("acroform"), "{new}");
    assert!(new.starts_with("---\nname: forms   # as the author wrote it\ndescription:"), "{new}");
    assert!(new.contains("\nlicense: MIT\n") && new.ends_with("---\n\n# Forms\n\nBody,  with \tblanks.\n"), "{new}");
    assert_eq!(sandbox.isolated(&["validate", "skills/forms"]).code, Some(0));
    let eval = sandbox.isolated(&["eval", "set.jsonl", "--json"]).json();
    assert_eq!(eval["recall_at"]["3"], 1.0, "{eval}");
}

#[test]
fn too_few_messages_and_broken_files_are_errors_with_a_next_step() {
    let sandbox = with_set();
    sandbox.write("work/few.jsonl", "{\"query\": \"the acroform\", \"relevant\": [\"forms\"]}\n");
    let few = sandbox.isolated(&["tune", "forms", "--eval", "few.jsonl"]);
    assert!(few.code == Some(1) && few.stderr.contains("error[too_few_messages]: 1 labelled message"), "{few}");
    let none = sandbox.isolated(&["tune", "forms"]);
    assert!(none.code == Some(1) && none.stderr.contains("--eval FILE"), "{none}");
    sandbox.write(FILE, "---\nname: forms\ndescription: Use when: asked\n---\n");
    let broken = sandbox.isolated(&TUNE);
    assert!(broken.code == Some(1) && broken.stderr.contains("lint --fix"), "{broken}");
    assert_eq!(sandbox.isolated(&["tune", "nothing", "--eval", "set.jsonl"]).code, Some(1));
    let languages = sandbox.isolated(&[&TUNE[..], &["--languages", "de,ja"]].concat());
    assert!(languages.code == Some(2) && languages.stderr.contains("--model"), "{languages}");
}

#[test]
fn nothing_is_proposed_where_nothing_helps() {
    let sandbox = with_set();
    let run = sandbox.isolated(&["tune", "csv", "--eval", "set.jsonl", "--write"]);
    assert!(run.code == Some(1), "its messages are found already: {run}");
    let kept = fs::read_to_string(sandbox.path("work/skills/csv/SKILL.md")).unwrap();
    assert!(kept.contains("Reads a table and draws charts of it."), "{kept}");
}

#[test]
#[cfg(feature = "agent")]
fn a_model_writes_words_and_messages_in_other_languages() {
    use skillcue_scripted::{Reply, Server};

    let sandbox = with_set();
    let server = Server::start(|received| {
        assert!(!received.body.to_string().contains("acroform"), "labelled messages are not sent");
        let messages: Vec<String> = (0..16)
            .map(|at| format!("{{\"text\": \"Bitte den Antrag Nummer {at} vorbereiten\", \"lang\": \"de\"}}"))
            .collect();
        Reply::text(format!(
            "```json\n{{\"sentences\": [\"Use when the user has an Antrag.\"], \"keywords\": [\"Antrag\"], \"messages\": [{}]}}\n```",
            messages.join(", ")
        ))
    });
    let url = format!("{}/v1", server.url());
    let model = ["--model", "ollama:small", "--base-url", &url, "--languages", "de"];
    let json = sandbox.isolated(&[&TUNE[..], &model, &["--json"]].concat()).json();
    assert_eq!(server.requests().len(), 1);
    assert!(server.requests()[0].last_user().contains("\"languages\":[\"de\"]"));
    // There are enough labelled messages: what the model wrote only chooses.
    assert_eq!(json["messages"]["of_model"], 0, "{json}");
    assert_eq!(json["messages"]["own_train"].as_u64().unwrap() + json["messages"]["own_unseen"].as_u64().unwrap(), 28);
    assert!(json["draft"].to_string().contains("Antrag"), "{json}");
    // Alone, they judge, too, and their figures are shown apart.
    sandbox.write("work/few.jsonl", "{\"query\": \"the acroform\", \"relevant\": [\"forms\"]}\n");
    let run = sandbox.isolated(&[&["tune", "forms", "--eval", "few.jsonl"], &model[..]].concat());
    assert!(run.stdout.contains("its recall at 3, the model's messages"), "{run}");
    assert!(run.stdout.contains("were written by the model that proposed the words"), "{run}");
    let broken = Server::start(|_| Reply::text("I would add some words."));
    let url = format!("{}/v1", broken.url());
    let run = sandbox.isolated(&[&TUNE[..], &["--model", "ollama:small", "--base-url", &url]].concat());
    assert!(run.code == Some(1) && run.stderr.contains("error[model]"), "{run}");
}
