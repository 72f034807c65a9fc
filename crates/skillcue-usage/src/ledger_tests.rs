//! Tests with locks that other processes hold.

use skillcue::usage::UsageKind;

use super::*;
use crate::answer::MAX_EVENTS;

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
    add_many(&connection, "/p", MAX_EVENTS + 500);
    add_many(&connection, "/other", 700);
    let since = SystemTime::now().checked_sub(Duration::from_hours(24));
    let query = LedgerQuery { since, project: Some("/p".to_owned()), ..LedgerQuery::default() };
    let spooled = LedgerEvent { project: "/p".to_owned(), turn: 7, ..event("csv") };
    ledger.write_briefly(&LedgerBatch::from(&[spooled][..])).unwrap();
    let events = ledger.events_briefly(&query).unwrap();
    let turns = [&events[0], &events[MAX_EVENTS - 2], &events[MAX_EVENTS - 1]].map(|event| event.turn);
    assert_eq!((events.len(), turns), (MAX_EVENTS, [502, MAX_EVENTS as u64 + 500, 7]));
    assert_eq!((&*events[0].generation, &events[0].text), ("", &None), "what no answer depends on was read");
    let (sql, values) = query.newest(MAX_EVENTS);
    let plan = connection.query_row(&format!("EXPLAIN QUERY PLAN {sql}"), params_from_iter(&values), |row| {
        row.get::<_, String>("detail")
    });
    assert_eq!(plan.unwrap(), "SEARCH events USING INDEX events_project (project=? AND at>?)");
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
