//! `skillcue usage import` on transcripts as the clients wrote them: which skills were listed, loaded and used.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Value, json};

use crate::ClientScene;
use crate::agents::{CLAUDE, CODEX, ClientUnderTest};
use crate::home::ClientHome;
use crate::skills::{EMAIL, PDF, PDF_MESSAGE};
use crate::talk::ClientTalk;

/// Returns whether `usage import` reads a client's transcripts.
pub(crate) fn are_read(client: &ClientUnderTest) -> bool {
    [CLAUDE.word, CODEX.word].contains(&client.word)
}

/// Runs a session of a client without Skillcue, in which its model loads a skill, reads one of its files and runs its script,
/// and fails at another one; then a message that calls the other by its name. Imports the transcript, and returns a word about
/// it.
pub(crate) fn a_session_is_imported(client: &ClientUnderTest, clients: &Path) -> String {
    let talk = ClientTalk::start();
    let home = ClientHome::new(client, clients, &talk.url());
    let skills = home.path().join(client.skills);
    let directory = |skill: &str| skills.join(skill).display().to_string();
    let (pdf, email) = (directory(PDF.name), directory(EMAIL.name));
    std::fs::create_dir(format!("{pdf}/scripts")).unwrap();
    std::fs::write(format!("{pdf}/fields.md"), "name, street, town\n").unwrap();
    std::fs::write(format!("{pdf}/scripts/list.sh"), "echo listed\n").unwrap();
    let (begin, resume, called) = if client.word == CLAUDE.word {
        let rules = json!({"permissions": {"allow": ["Skill", "Read", "Bash"]}});
        std::fs::write(home.path().join(".claude/settings.json"), rules.to_string()).unwrap();
        let bash = |command: String| json!({"command": command, "description": "Lists fields"});
        talk.plan("Skill", json!({"skill": PDF.name}));
        talk.plan("Read", json!({"file_path": format!("{pdf}/fields.md")}));
        talk.plan("Bash", bash(format!("sh {pdf}/scripts/list.sh")));
        talk.plan("Bash", bash(format!("cd {pdf} && sh scripts/list.sh")));
        talk.plan("Skill", json!({"skill": "no-such-skill"}));
        talk.plan("Read", json!({"file_path": format!("{email}/none.md")}));
        talk.plan("Bash", bash(format!("sh {email}/scripts/none.sh")));
        (client.begin.to_vec(), client.resume.to_vec(), format!("/{} for the newsletter", EMAIL.name))
    } else {
        talk.plan("exec_command", json!({"cmd": format!("cat {pdf}/SKILL.md")}));
        talk.plan("exec_command", json!({"cmd": format!("cat {pdf}/fields.md")}));
        talk.plan("exec_command", json!({"cmd": format!("sh {pdf}/scripts/list.sh")}));
        talk.plan("exec_command", json!({"cmd": "sh scripts/list.sh", "workdir": pdf}));
        talk.plan("exec_command", json!({"cmd": format!("cat {email}/none.md")}));
        // There is no sandbox within the test's own, and nothing to ask.
        let free = ["--dangerously-bypass-approvals-and-sandbox"];
        let with = |arguments: &[&'static str]| arguments.iter().copied().chain(free).collect::<Vec<_>>();
        (with(client.begin), with(client.resume), format!("Use ${} for the newsletter", EMAIL.name))
    };
    let requests = talk.ask(&home, client, &begin, PDF_MESSAGE);
    // Claude Code sends the results of a turn again with each of its requests.
    let results: BTreeMap<String, String> =
        requests.iter().flat_map(skillcue_scripted::Received::new_results).collect();
    assert_eq!(results.values().filter(|text| text.contains("listed")).count(), 2, "{}: {results:#?}", client.word);
    talk.ask(&home, client, &resume, &called);
    let import: Value =
        serde_json::from_str(&home.skillcue(&["usage", "import", client.word, "--json"]).stdout).unwrap();
    let of = |name: &str| {
        let skill = import["skills"].as_array().unwrap().iter().find(|skill| skill["name"] == name);
        skill.map(|skill| ["listed", "loaded", "used"].map(|key| skill[key].as_u64().unwrap()))
    };
    let word = client.word;
    assert_eq!(of(PDF.name), Some([1, 1, 3]), "{word}: a file, a script, and the script again: {import:#}");
    assert_eq!(of(EMAIL.name), Some([1, 1, 0]), "{word}: called by its name: {import:#}");
    assert_eq!(of("csv-cleanup"), Some([1, 0, 0]), "{word}: listed only: {import:#}");
    assert_eq!(of("no-such-skill"), None, "{word}: {import:#}");
    assert_eq!(
        (import["transcripts"].as_u64(), import["bad_lines"].as_u64()),
        (Some(1), Some(0)),
        "{word}: {import:#}"
    );
    assert_eq!((import["added"].as_u64(), import["known"].as_u64()), (Some(5), Some(0)), "{word}: {import:#}");
    let exported = home.skillcue(&["usage", "export"]).stdout;
    let events = exported.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let events = events.map(|event| {
        let text = |key: &str| event[key].as_str().unwrap_or("–").to_owned();
        format!("{} {} {} in turn {}", text("kind"), text("skill"), text("item"), event["turn"])
    });
    let expected = [
        "loaded pdf-forms – in turn 1",
        "file_read pdf-forms fields.md in turn 1",
        "run pdf-forms scripts/list.sh in turn 1",
        "run pdf-forms scripts/list.sh in turn 1",
        "loaded html-email – in turn 2",
    ];
    assert_eq!(events.collect::<Vec<_>>(), expected, "{word}");
    format!("its transcript: {} listed, 2 loaded, 1 used", import["skills"].as_array().unwrap().len())
}

/// Imports the transcripts of a connected client. A load over MCP is in them, and the server has recorded it: it counts
/// once. Returns a word about it.
pub(crate) fn a_load_over_mcp_counts_once(scene: &ClientScene<'_>) -> String {
    let json = |arguments: &[&str]| -> Value {
        serde_json::from_str(&scene.home.skillcue(&[arguments, &["--json"]].concat()).stdout).unwrap()
    };
    let import = json(&["usage", "import", scene.client.word]);
    let word = scene.client.word;
    let loaded: Vec<&Value> = import["skills"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|skill| skill["loaded"] != 0 || skill["used"] != 0)
        .collect();
    let [skill] = loaded.as_slice() else { panic!("{word}: {import:#}") };
    assert_eq!(
        (&skill["name"], &skill["loaded"], &skill["used"]),
        (&json!(EMAIL.name), &json!(1), &json!(0)),
        "{word}"
    );
    let usage = json(&["usage", "--skill", EMAIL.name]);
    assert_eq!(usage["skills"][0]["loaded"], 1, "{word}: {usage:#}");
    "counted once by import".to_owned()
}
