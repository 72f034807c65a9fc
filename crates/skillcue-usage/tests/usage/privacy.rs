//! No text of a message is in the ledger's files or in what it exports, unless it was asked for.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use skillcue::tools::{Call, ToolContext};
use skillcue::{Request, Session, Skillcue};
use skillcue_usage::{Ledger, LedgerQuery, LedgerSink};

/// Words of the messages below that no skill has.
const WORDS: [&str; 4] = ["Zanzibar", "quokka", "marmalade", "hunter2"];

/// Shows, finds, loads and reads with messages that have the words.
fn converse(dir: &Path, keeps_text: bool) -> Ledger {
    let skill = dir.join("skills/pdf");
    std::fs::create_dir_all(&skill).unwrap();
    let text = "---\nname: pdf\ndescription: Fills in forms of PDF files.\ntriggers: [pdf]\n---\nUse pdftotext.\n";
    std::fs::write(skill.join("SKILL.md"), text).unwrap();
    std::fs::write(skill.join("forms.md"), "# Forms\n").unwrap();
    let ledger = Ledger::new(dir.join("usage.db"));
    let sink = LedgerSink::new(ledger.clone(), "library", "/p").keep_text(keeps_text);
    let skills = Skillcue::builder().skills_dir(dir.join("skills")).usage(Arc::new(sink)).build().unwrap();
    let mut session = Session::default();
    let message = "Fill in Zanzibar.pdf; the password is hunter2";
    assert!(!skills.disclose(Request::new(message).conversation("c1").session(&mut session)).turn.is_empty());
    let context = ToolContext { session: "c2", ..ToolContext::default() };
    for (tool, arguments) in [
        ("search_skills", json!({"query": "pdf forms of the quokka"})),
        ("load_skill", json!({"skill_id": "pdf", "arguments": "marmalade"})),
        ("load_skill", json!({"skill_id": "marmalade"})),
        ("read_skill_file", json!({"skill_id": "pdf", "path": "forms.md"})),
        ("read_skill_file", json!({"skill_id": "pdf", "path": "marmalade.md"})),
    ] {
        skills.call_tool(&Call::new(tool, arguments.as_object().unwrap().clone()), &context).unwrap();
    }
    assert!(ledger.flush(Duration::from_secs(30)));
    ledger
}

/// Returns the words that are in one of the ledger's files or in its export.
fn leaks(dir: &Path, ledger: &Ledger) -> Vec<&'static str> {
    let mut bytes = Vec::new();
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            bytes.extend(std::fs::read(path).unwrap());
        }
    }
    let events = ledger.events(&LedgerQuery::default()).unwrap();
    bytes.extend(serde_json::to_vec(&events).unwrap());
    let has = |word: &&str| bytes.windows(word.len()).any(|window| window.eq_ignore_ascii_case(word.as_bytes()));
    WORDS.into_iter().filter(has).collect()
}

#[test]
fn no_byte_of_a_message_is_kept() {
    let dir = tempfile::tempdir().unwrap();
    let ledger = converse(dir.path(), false);
    let kinds: Vec<&str> =
        ledger.events(&LedgerQuery::default()).unwrap().iter().map(|event| event.kind.as_str()).collect();
    assert_eq!(kinds, ["shown", "missed", "loaded", "file_read"]);
    assert_eq!(leaks(dir.path(), &ledger), [""; 0]);
}

#[test]
fn text_that_is_asked_for_is_kept_without_its_secrets_until_it_is_purged() {
    let dir = tempfile::tempdir().unwrap();
    let ledger = converse(dir.path(), true);
    assert_eq!(leaks(dir.path(), &ledger), ["Zanzibar", "quokka"]);
    let texts: Vec<String> =
        ledger.events(&LedgerQuery::default()).unwrap().into_iter().filter_map(|event| event.text).collect();
    assert_eq!(texts, ["Fill in Zanzibar.pdf; the password is …", "pdf forms of the quokka"]);
    assert_eq!(ledger.purge().unwrap(), 4);
    assert_eq!(leaks(dir.path(), &ledger), [""; 0]);
}

#[test]
fn the_files_are_their_owners_alone() {
    use std::os::unix::fs::PermissionsExt as _;
    let dir = tempfile::tempdir().unwrap();
    converse(dir.path(), false);
    for name in ["usage.db", "usage.db-wal"] {
        if let Ok(metadata) = dir.path().join(name).metadata() {
            assert_eq!(metadata.permissions().mode() & 0o077, 0, "{name}");
        }
    }
}
