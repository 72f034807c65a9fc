//! Tests with locks that other processes hold.

use std::collections::BTreeMap;

use skillcue::usage::UsageKind;

use super::*;
use crate::answer::{MAX_SHOWN, MAX_USED};
use crate::{Week, feedback};

fn event(skill: &str) -> LedgerEvent {
    LedgerEvent { text: Some("about marmalade".to_owned()), ..LedgerEvent::new(UsageKind::Loaded, skill) }
}

fn spooled(skill: &str) -> LedgerBatch {
    LedgerBatch::from(&[event(skill)][..])
}

fn names(events: &[LedgerEvent]) -> Vec<&str> {
    events.iter().map(|event| event.skill.as_str()).collect()
}

/// Returns whether a word is in one of the files of a directory.
fn is_on_disk(dir: &Path, word: &str) -> bool {
    let has = |path: PathBuf| std::fs::read(path).unwrap().windows(word.len()).any(|part| part == word.as_bytes());
    std::fs::read_dir(dir).unwrap().any(|entry| has(entry.unwrap().path()))
}

#[test]
fn an_answer_reads_a_locked_ledger_and_its_spool_without_writing() {
    let dir = tempfile::tempdir().unwrap();
    let ledger = Ledger::new(dir.path().join("usage.db"));
    ledger.write(&[event("pdf")]).unwrap();
    ledger.write_briefly(&spooled("csv")).unwrap();
    let other = schema::open(ledger.path(), PATIENT).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let locked = LockedSpool::lock(&spool::path_of(ledger.path()), false, PATIENT).unwrap();
    let before = std::fs::read(spool::path_of(ledger.path())).unwrap();
    assert_eq!(names(&ledger.events_briefly(&LedgerQuery::default()).unwrap()), ["pdf", "csv"]);
    let of_csv = LedgerQuery { skill: Some("csv".to_owned()), ..LedgerQuery::default() };
    assert_eq!(names(&ledger.events_briefly(&of_csv).unwrap()), ["csv"]);
    assert_eq!(ledger.uses(&LedgerQuery::default()).unwrap().len(), 2);
    assert_eq!(std::fs::read(spool::path_of(ledger.path())).unwrap(), before);
    drop((other, locked));
    // What was taken in and could not be removed is not counted twice.
    assert_eq!(ledger.events(&LedgerQuery::default()).unwrap().len(), 2);
    std::fs::write(spool::path_of(ledger.path()), before).unwrap();
    assert_eq!(ledger.events_briefly(&LedgerQuery::default()).unwrap().len(), 2);
}

#[test]
fn an_answer_waits_only_a_moment_for_a_ledger_that_cannot_be_read() {
    let dir = tempfile::tempdir().unwrap();
    let ledger = Ledger::new(dir.path().join("usage.db"));
    ledger.write(&[event("pdf")]).unwrap();
    let patience = |connection: &Connection| {
        connection
            .query_row("PRAGMA busy_timeout", [], |row| row.get::<_, u32>(0))
            .map(|most| Duration::from_millis(most.into()))
    };
    assert_eq!(patience(&ledger.open_to_answer().unwrap()).unwrap(), BRIEF);
    assert!(BRIEF <= Duration::from_millis(50));
    let other = schema::open(ledger.path(), PATIENT).unwrap();
    other.execute_batch("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; DELETE FROM counters;").unwrap();
    assert!(matches!(ledger.events_briefly(&LedgerQuery::default()), Err(LedgerError::Busy { .. })));
}

/// Adds so many events of a project, a second apart, up to now.
fn add_many(connection: &Connection, project: &str, number: usize) {
    let sql = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?3)
               INSERT INTO events (at, kind, skill, project, session, turn, client, mode, generation, tier, text)
               SELECT ?1 - 1000 * (?3 - i), 'shown', 'pdf', ?2, 's', i, 'mcp', 'hybrid', 'abc', 2, 'about marmalade' FROM n";
    let number = i64::try_from(number).unwrap();
    connection.execute(sql, rusqlite::params![millis(SystemTime::now()), project, number]).unwrap();
}

#[test]
fn an_answer_reads_a_bounded_number_of_the_newest_events_by_an_index_on_its_project() {
    let dir = tempfile::tempdir().unwrap();
    let ledger = Ledger::new(dir.path().join("usage.db"));
    let connection = schema::open(ledger.path(), PATIENT).unwrap();
    add_many(&connection, "/p", MAX_SHOWN + 500);
    add_many(&connection, "/other", 700);
    let since = SystemTime::now().checked_sub(Duration::from_hours(24));
    let query = LedgerQuery { since, project: Some("/p".to_owned()), ..LedgerQuery::default() };
    let spooled = LedgerEvent { project: "/p".to_owned(), turn: 7, ..event("csv") };
    ledger.write_briefly(&LedgerBatch::from(&[spooled][..])).unwrap();
    let events = ledger.events_briefly(&query).unwrap();
    let turns = [&events[0], &events[MAX_SHOWN - 1], &events[MAX_SHOWN]].map(|event| event.turn);
    assert_eq!((events.len(), turns), (MAX_SHOWN + 1, [501, MAX_SHOWN as u64 + 500, 7]));
    assert_eq!((&*events[0].generation, &events[0].text), ("", &None), "what no answer depends on was read");
    for (part, index) in [(AnswerPart::Shown, "events_shown"), (AnswerPart::Used, "events_used")] {
        let (sql, values) = query.newest(part, SystemTime::now());
        let mut plan = connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
        let plan = plan.query_map(params_from_iter(&values), |row| row.get::<_, String>("detail")).unwrap();
        let expected = format!("SEARCH events USING INDEX {index} (project=? AND at>? AND at<?)");
        assert_eq!(plan.collect::<Result<Vec<_>, _>>().unwrap(), [expected]);
    }
}

#[test]
fn uses_of_long_ago_count_however_much_was_shown_since_or_will_be() {
    let dir = tempfile::tempdir().unwrap();
    let ledger = Ledger::new(dir.path().join("usage.db"));
    let connection = schema::open(ledger.path(), PATIENT).unwrap();
    let now = SystemTime::now();
    let before = |days: u64| now - Duration::from_hours(24 * days);
    let at = |at, kind, skill: &str| LedgerEvent {
        at,
        project: "/p".to_owned(),
        session: "old".to_owned(),
        ..LedgerEvent::new(kind, skill)
    };
    let mut old = vec![at(before(40), UsageKind::Loaded, "pdf"); 51];
    // It was missed once, and the other program had shown it.
    old.extend([at(before(30), UsageKind::Shown, "csv"), at(before(29), UsageKind::Missed, "csv")]);
    ledger.write(&old).unwrap();
    add_many(&connection, "/p", MAX_SHOWN + 500);
    let query = LedgerQuery { project: Some("/p".to_owned()), ..LedgerQuery::default() };
    let check = || {
        assert_eq!(ledger.uses(&query).unwrap(), BTreeMap::from([("pdf".to_owned(), 51)]));
        let events = ledger.events_briefly(&query).unwrap();
        assert_eq!((events.len(), feedback(&events, now)), (MAX_SHOWN + 51, BTreeMap::new()));
    };
    check();
    // A clock that was wrong.
    let sql = "INSERT INTO events (at, kind, skill, project, session, turn, client, mode, generation)
               SELECT at + ?1, CASE turn % 2 WHEN 0 THEN 'loaded' ELSE kind END, skill, project, '', 0, 'mcp', '', ''
               FROM events WHERE skill = 'pdf' AND kind = 'shown'";
    for days in [8, 400] {
        connection.execute(sql, [days * DAY_MILLIS]).unwrap();
    }
    let later = at(now + Duration::from_hours(24 * 30), UsageKind::Loaded, "pdf");
    ledger.write_briefly(&LedgerBatch::from(&[later][..])).unwrap();
    check();
    assert!(Week::of(now).end() > now && Week::of(Week::of(now).end()) == Week::of(now).next());
}

#[test]
fn older_events_than_the_uses_that_are_read_are_not_taken_for_unused() {
    let dir = tempfile::tempdir().unwrap();
    let ledger = Ledger::new(dir.path().join("usage.db"));
    let connection = schema::open(ledger.path(), PATIENT).unwrap();
    let now = SystemTime::now();
    add_many(&connection, "/p", MAX_USED + 10);
    connection.execute("UPDATE events SET kind = 'loaded'", []).unwrap();
    let old = now - Duration::from_hours(24);
    let shown = LedgerEvent { at: old, project: "/p".to_owned(), ..LedgerEvent::new(UsageKind::Shown, "csv") };
    ledger.write(&vec![shown; 20]).unwrap();
    let events = ledger.events_briefly(&LedgerQuery::default()).unwrap();
    assert_eq!((events.len(), feedback(&events, now)), (MAX_USED, BTreeMap::new()));
}

#[test]
fn a_full_file_of_an_earlier_version_loses_nothing_to_its_new_indexes() {
    let dir = tempfile::tempdir().unwrap();
    let ledger = Ledger::new(dir.path().join("usage.db"));
    let file = Connection::open(ledger.path()).unwrap();
    file.execute_batch(include_str!("../tests/fixtures/version-4.sql")).unwrap();
    file.execute_batch("PRAGMA synchronous = OFF; DELETE FROM events; UPDATE counters SET number = 0;").unwrap();
    let number = 340_000_i64;
    let sql = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?2)
               INSERT INTO events (at, kind, skill, project, session, turn, client, mode, generation, tier, tokens, confidence)
               SELECT ?1 - 1000 * (?2 - i), CASE i % 4 WHEN 0 THEN 'loaded' ELSE 'shown' END, 'pdf-forms',
               '/home/ann/projects/customers/site-' || (i % 20), '01a1eb6d-7f53-4b4b-9d6c-1234567890ab', i, 'hook:claude', 'hybrid',
               '0123456789abcdef', 2, 21, 0.25 FROM n";
    file.execute(sql, rusqlite::params![millis(SystemTime::now()), number]).unwrap();
    file.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
    drop(file);
    let (old_bound, bytes) = (64_u64 << 20, ledger.path().metadata().unwrap().len());
    assert!(bytes * 10 >= old_bound * 9 && bytes <= old_bound, "{bytes} bytes");
    ledger.write(&[event("csv")]).unwrap();
    assert_eq!(ledger.tidy().unwrap(), 0);
    assert_eq!(ledger.state().unwrap().unwrap().events, number.unsigned_abs() + 1);
}

#[test]
fn a_large_file_of_an_earlier_version_is_not_brought_up_to_date_by_an_answer() {
    let dir = tempfile::tempdir().unwrap();
    for (bytes, is_large) in [(1 << 10, false), (9 << 20, true)] {
        let ledger = Ledger::new(dir.path().join(format!("{bytes}.db")));
        let file = Connection::open(ledger.path()).unwrap();
        file.execute_batch(include_str!("../tests/fixtures/version-4.sql")).unwrap();
        file.execute("UPDATE events SET text = ?1 WHERE id = 1", ["a".repeat(bytes)]).unwrap();
        drop(file);
        let found = ledger.events_briefly(&LedgerQuery::default());
        assert_eq!(matches!(found, Err(LedgerError::Older { version: 4, .. })), is_large, "{found:?}");
        ledger.state().unwrap();
        assert_eq!(ledger.events_briefly(&LedgerQuery::default()).unwrap().len(), 3);
    }
}

#[test]
fn a_purge_fails_while_a_reader_keeps_text_in_the_log() {
    let dir = tempfile::tempdir().unwrap();
    let ledger = Ledger::new(dir.path().join("usage.db"));
    let reader = schema::open(ledger.path(), PATIENT).unwrap();
    ledger.write(&[event("pdf")]).unwrap();
    reader.execute_batch("BEGIN; SELECT count(*) FROM events;").unwrap();
    let refused = ledger.purge_within(BRIEF);
    assert!(matches!(refused, Err(LedgerError::NotPurged { .. })), "{refused:?}");
    assert!(is_on_disk(dir.path(), "marmalade"), "the reader keeps nothing");
    drop(reader);
    ledger.purge().unwrap();
    assert!(!is_on_disk(dir.path(), "marmalade"));
}

#[test]
fn a_purge_waits_for_the_spool_and_removes_it() {
    let dir = tempfile::tempdir().unwrap();
    let ledger = Ledger::new(dir.path().join("usage.db"));
    ledger.write(&[event("pdf")]).unwrap();
    ledger.write_briefly(&spooled("csv")).unwrap();
    let path = spool::path_of(ledger.path());
    let locked = LockedSpool::lock(&path, false, PATIENT).unwrap();
    let refused = ledger.purge_within(BRIEF);
    assert!(matches!(refused, Err(LedgerError::Busy { path: busy }) if busy == path));
    assert!(is_on_disk(dir.path(), "marmalade"));
    drop(locked);
    assert_eq!(ledger.purge().unwrap(), 2);
    assert!(!path.exists() && !is_on_disk(dir.path(), "marmalade"));
    assert!(ledger.events(&LedgerQuery::default()).unwrap().is_empty());
    // A spool without a database is purged, too.
    std::fs::remove_file(ledger.path()).unwrap();
    ledger.write_briefly(&spooled("csv")).unwrap();
    assert_eq!((ledger.purge().unwrap(), path.exists()), (1, false));
}

#[test]
fn lost_events_are_counted_once_by_processes_that_open_the_file_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("usage.db");
    Ledger::new(&path).write(&[event("pdf")]).unwrap();
    let other = schema::open(&path, PATIENT).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    Ledger::new(&path).count_dropped(3);
    std::thread::scope(|scope| {
        let looks: Vec<_> = (0..4).map(|_| scope.spawn(|| Ledger::new(&path).state().unwrap())).collect();
        std::thread::sleep(Duration::from_millis(300));
        other.execute_batch("COMMIT").unwrap();
        for look in looks {
            look.join().unwrap();
        }
    });
    assert_eq!(Ledger::new(&path).state().unwrap().unwrap().dropped, 3);
    assert!(!dir.path().read_dir().unwrap().any(|it| it.unwrap().file_name().to_string_lossy().contains("-lost")));
    // What cannot be counted now is counted later.
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    Ledger::new(&path).count_dropped(2);
    drop(Ledger::new(&path).open(BRIEF).unwrap());
    other.execute_batch("COMMIT").unwrap();
    assert_eq!(Ledger::new(&path).state().unwrap().unwrap().dropped, 5);
}

#[test]
fn events_that_find_everything_locked_are_counted_as_lost() {
    let dir = tempfile::tempdir().unwrap();
    let ledger = Ledger::new(dir.path().join("usage.db"));
    ledger.write(&[event("pdf")]).unwrap();
    let other = schema::open(ledger.path(), PATIENT).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let locked = LockedSpool::lock(&spool::path_of(ledger.path()), true, PATIENT).unwrap();
    let batch = LedgerBatch::from(&[event("csv"), event("docx")][..]);
    assert!(ledger.write_briefly(&batch).is_err());
    assert!(ledger.write_briefly(&spooled("csv")).is_err());
    drop((other, locked));
    ledger.write_briefly(&spooled("csv")).unwrap();
    let state = ledger.state().unwrap().unwrap();
    assert_eq!((state.events, state.dropped), (2, 3));
    assert_eq!(ledger.state().unwrap().unwrap().dropped, 3, "they were counted twice");
}
