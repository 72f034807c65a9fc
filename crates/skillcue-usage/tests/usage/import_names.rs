//! Names of skills in transcripts, as agents write them, and imports at once.

use std::time::Duration;

use serde_json::json;
use skillcue::usage::UsageKind::Loaded;
use skillcue_usage::{LedgerEvent, LedgerQuery, TranscriptKind};

use crate::ageless;
use crate::import::{claude, claude_call, import, import_of, lines};

#[test]
fn a_skill_of_a_plugin_has_one_name() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join(".claude/projects/-work-site/a.jsonl");
    let listing =
        json!({"type": "skill_listing", "content": "- office:pdf: Fills in forms.\n- pdf: Fills in forms.\n"});
    let all = [
        claude(1, &json!({"type": "attachment", "attachment": listing})),
        claude_call(3, "c1", "Skill", &json!({"skill": "office:pdf"})),
        claude_call(20, "c2", "Read", &json!({"file_path": "/home/a/.claude/plugins/office/skills/pdf/forms.md"})),
        // Of a plugin that is not on this machine.
        claude_call(30, "c3", "Skill", &json!({"skill": "desk:csv"})),
    ];
    lines(&path, &all);
    let ledger = ageless(home.path().join("usage.db"));
    // The client's hook has recorded the load already, and an earlier import has, too.
    let hooked = |second: u64, client: &str, skill: &str| LedgerEvent {
        at: skillcue_base::parse_rfc3339(&format!("2026-11-17T21:32:{second:02}.507Z")).unwrap(),
        client: client.to_owned(),
        session: "17481b8b".to_owned(),
        ..LedgerEvent::new(Loaded, skill)
    };
    ledger.write(&[hooked(3, "hook:claude", "pdf"), hooked(30, "claude", "desk:csv")]).unwrap();
    let read = import_of(home.path(), &ledger, TranscriptKind::Claude, &["pdf".to_owned()]);
    assert_eq!((read.added, read.known), (1, 2));
    let skills: Vec<_> = read.skills.iter().map(|it| (it.name.as_str(), it.listed, it.loaded, it.used)).collect();
    assert_eq!(skills, [("desk:csv", 0, 1, 0), ("pdf", 1, 1, 1)]);
    assert_eq!(ledger.listings().unwrap(), [("pdf".to_owned(), "claude".to_owned(), 1)]);
    let names: Vec<String> =
        ledger.events(&LedgerQuery::default()).unwrap().into_iter().map(|event| event.skill).collect();
    assert_eq!(names, ["pdf", "pdf", "desk:csv"]);
}

#[test]
fn a_call_by_the_name_of_a_plugin_that_fails_later_is_taken_back() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join(".claude/projects/-work-site/a.jsonl");
    let failed = json!([{"type": "tool_result", "tool_use_id": "c1", "is_error": true, "content": "…"}]);
    let all = [
        claude_call(3, "c1", "Skill", &json!({"skill": "office:pdf"})),
        claude(9, &json!({"type": "user", "message": {"role": "user", "content": failed}})),
    ];
    let ledger = ageless(home.path().join("usage.db"));
    for (count, events) in [(1, 1), (2, 0)] {
        lines(&path, &all[..count]);
        import_of(home.path(), &ledger, TranscriptKind::Claude, &["pdf".to_owned()]);
        assert_eq!(ledger.events(&LedgerQuery::default()).unwrap().len(), events);
    }
}

#[test]
fn sessions_are_counted_once_by_two_imports_at_once() {
    let home = tempfile::tempdir().unwrap();
    let listing = json!({"type": "skill_listing", "content": "- csv: Reads tables.\n"});
    for number in 0..20 {
        let path = home.path().join(format!(".claude/projects/-work-site/{number}.jsonl"));
        lines(&path, &[claude(1, &json!({"type": "attachment", "attachment": listing}))]);
    }
    let ledger = ageless(home.path().join("usage.db"));
    ledger.write(&[]).unwrap();
    // Both look at the first transcript before one of them may write.
    let other = rusqlite::Connection::open(ledger.path()).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    std::thread::scope(|scope| {
        let imports: Vec<_> =
            (0..2).map(|_| scope.spawn(|| import(home.path(), &ledger, TranscriptKind::Claude))).collect();
        std::thread::sleep(Duration::from_millis(400));
        other.execute_batch("COMMIT").unwrap();
        let reads = imports.into_iter().map(|import| import.join().unwrap().transcripts);
        assert_eq!(reads.sum::<usize>(), 20);
    });
    assert_eq!(ledger.listings().unwrap(), [("csv".to_owned(), "claude".to_owned(), 20)]);
}
