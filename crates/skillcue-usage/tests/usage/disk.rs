//! Disks that are full and homes that cannot be written: events are lost, and answers come all the same.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use skillcue::Skillcue;
use skillcue::usage::UsageKind;
use skillcue_usage::{Ledger, LedgerBatch, LedgerEvent, LedgerQuery, LedgerSink, MessageCount};

use crate::child;

/// Answers many messages, and leaves a note that it did.
pub(crate) fn full(dir: &Path) {
    let ledger = Ledger::new(dir.join("usage.db"));
    let skills = skills(dir, &ledger);
    for number in 0..3_000 {
        assert!(skills.disclose(format!("open report {number}.pdf").as_str()).turn.contains("pdftotext"));
    }
    // Whether all were written is not the question.
    ledger.flush(Duration::from_secs(20));
    assert!(skills.disclose("open report.pdf").turn.contains("pdftotext"));
    std::fs::write(dir.join("answered"), "yes").unwrap();
}

fn skills(dir: &Path, ledger: &Ledger) -> Skillcue {
    let skill = dir.join("skills/pdf");
    std::fs::create_dir_all(&skill).unwrap();
    let text = "---\nname: pdf\ndescription: Reads PDF.\ntriggers: [pdf]\n---\nUse pdftotext.\n";
    std::fs::write(skill.join("SKILL.md"), text).unwrap();
    let sink = LedgerSink::new(ledger.clone(), "library", "/p");
    Skillcue::builder().skills_dir(dir.join("skills")).usage(Arc::new(sink)).build().unwrap()
}

#[test]
fn answers_come_when_no_file_can_grow() {
    let dir = tempfile::tempdir().unwrap();
    // The limit sends a signal, which ends a process that does not ignore it: a full disk sends none.
    let status = child::start_in_shell("trap '' XFSZ; ulimit -f 128", "full", dir.path()).wait().unwrap();
    assert!(status.success(), "{status}");
    assert_eq!(std::fs::read_to_string(dir.path().join("answered")).unwrap(), "yes");
    let ledger = Ledger::new(dir.path().join("usage.db"));
    assert_eq!(ledger.check().unwrap(), None);
    // With room again, it goes on.
    ledger.write(&[LedgerEvent::new(UsageKind::Loaded, "later")]).unwrap();
    assert!(ledger.state().unwrap().unwrap().events >= 1);
}

#[test]
fn answers_come_where_the_ledger_cannot_be_made() {
    let dir = tempfile::tempdir().unwrap();
    // A file where the directory should be stops even the superuser.
    std::fs::write(dir.path().join("data"), "no directory").unwrap();
    let ledger = Ledger::new(dir.path().join("data/usage.db"));
    let skills = skills(dir.path(), &ledger);
    assert!(skills.disclose("open report.pdf").turn.contains("pdftotext"));
    assert!(ledger.flush(Duration::from_secs(10)));
    assert!(ledger.write_briefly(&[LedgerEvent::new(UsageKind::Loaded, "pdf")][..].into()).is_err());
}

/// Answers with a ledger that cannot be made, and leaves a note that it did. `home` is read-only for this process.
pub(crate) fn read_only(dir: &Path, home: &Path) {
    let ledger = Ledger::new(home.join("data/usage.db"));
    let skills = Skillcue::builder().skills_dir(dir.join("skills"));
    let skills = skills.usage(Arc::new(LedgerSink::new(ledger.clone(), "library", "/p"))).build().unwrap();
    assert!(skills.disclose("open report.pdf").turn.contains("pdftotext"));
    assert!(ledger.flush(Duration::from_secs(10)));
    assert!(ledger.write_briefly(&[LedgerEvent::new(UsageKind::Loaded, "pdf")][..].into()).is_err());
    assert!(ledger.events(&LedgerQuery::default()).unwrap().is_empty());
    std::fs::write(dir.join("answered"), "yes").unwrap();
}

#[test]
fn answers_come_where_the_home_is_read_only() {
    let dir = tempfile::tempdir().unwrap();
    skills(dir.path(), &Ledger::new(dir.path().join("unused.db")));
    let home = dir.path().join("home");
    std::fs::create_dir(&home).unwrap();
    set_mode(&home, 0o555);
    // The superuser may write everywhere, another user may not: the process drops its rights, and needs what it runs and
    // reads in a directory that it may enter.
    set_mode(dir.path(), 0o777);
    let status = child::start_without_rights("read-only", dir.path()).wait().unwrap();
    set_mode(&home, 0o755);
    assert!(status.success(), "{status}");
    assert_eq!(std::fs::read_to_string(dir.path().join("answered")).unwrap(), "yes");
    assert_eq!(std::fs::read_dir(&home).unwrap().count(), 0);
    // A file system on which even the superuser can make nothing.
    std::fs::remove_file(dir.path().join("answered")).unwrap();
    read_only(dir.path(), Path::new("/proc"));
}

/// Reads ledgers of directories that this process cannot write, and leaves a note that it could.
pub(crate) fn report_read_only(dir: &Path) {
    let read = |name: &str| {
        let ledger = Ledger::new(dir.join(name).join("usage.db"));
        let query = LedgerQuery::default();
        let names: Vec<String> = ledger.events(&query).unwrap().into_iter().map(|event| event.skill).collect();
        assert_eq!(ledger.events_briefly(&query).unwrap().len(), names.len(), "{name}");
        let state = ledger.state().unwrap().unwrap();
        assert_eq!(state.events, names.len() as u64, "{name}");
        assert_eq!(ledger.messages(&query).unwrap().len(), usize::from(name == "spool"), "{name}");
        assert!(ledger.write(&[LedgerEvent::new(UsageKind::Loaded, "later")]).is_err(), "{name}");
        assert!(ledger.purge().is_err(), "{name}");
        (names, state.dropped)
    };
    assert_eq!(read("spool"), (vec!["csv".to_owned()], 2));
    assert_eq!(read("database #1%20?x=1"), (vec!["pdf".to_owned(), "csv".to_owned()], 0));
    assert_eq!(read("log"), (vec!["pdf".to_owned()], 0));
    assert_eq!(read("log without index"), (vec!["pdf".to_owned()], 0));
    std::fs::write(dir.join("answered"), "yes").unwrap();
}

#[test]
fn a_ledger_in_a_read_only_home_is_read_with_its_spool_and_its_log() {
    let dir = tempfile::tempdir().unwrap();
    let at = |seconds: u64| std::time::SystemTime::now() - Duration::from_secs(100 - seconds);
    let event = |skill: &str, seconds| LedgerEvent { at: at(seconds), ..LedgerEvent::new(UsageKind::Loaded, skill) };
    let make = |name: &str| {
        std::fs::create_dir(dir.path().join(name)).unwrap();
        Ledger::new(dir.path().join(name).join("usage.db"))
    };
    let count = MessageCount { at: at(0), project: "/p".to_owned(), client: "hook".to_owned(), number: 3 };
    let batch = LedgerBatch { events: vec![event("csv", 2)], messages: vec![count] };
    let spool = make("spool");
    spool.write_briefly(&batch).unwrap();
    spool.count_dropped(2);
    let database = make("database #1%20?x=1");
    database.write(&[event("pdf", 1)]).unwrap();
    database.write_briefly(&[event("csv", 2)][..].into()).unwrap();
    // Another process has the database open, and its log has the event.
    let log = make("log");
    log.record(event("pdf", 1));
    assert!(log.flush(Duration::from_secs(10)));
    // A copy of a home leaves the index out, or the process was killed.
    make("log without index");
    for name in ["usage.db", "usage.db-wal"] {
        std::fs::copy(dir.path().join("log").join(name), dir.path().join("log without index").join(name)).unwrap();
    }
    let names = ["spool", "database #1%20?x=1", "log", "log without index"];
    let files = |name: &str| std::fs::read_dir(dir.path().join(name)).unwrap().count();
    let before = names.map(files);
    let all = |dir_mode, file_mode| {
        for name in names {
            let dir = dir.path().join(name);
            for entry in std::fs::read_dir(&dir).unwrap() {
                set_mode(&entry.unwrap().path(), file_mode);
            }
            set_mode(&dir, dir_mode);
        }
    };
    all(0o555, 0o444);
    set_mode(dir.path(), 0o777);
    let status = child::start_without_rights("report-read-only", dir.path()).wait().unwrap();
    assert_eq!(names.map(files), before);
    all(0o755, 0o644);
    assert!(status.success(), "{status}");
    assert_eq!(std::fs::read_to_string(dir.path().join("answered")).unwrap(), "yes");
}

fn set_mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn a_look_at_what_was_lost_makes_no_file() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("usage.db-lost"), "..").unwrap();
    let ledger = Ledger::new(dir.path().join("usage.db"));
    let state = ledger.state().unwrap().unwrap();
    assert_eq!((state.events, state.dropped, state.oldest, state.bytes), (0, 2, None, 0));
    assert!(ledger.events(&LedgerQuery::default()).unwrap().is_empty());
    assert!(ledger.messages(&LedgerQuery::default()).unwrap().is_empty() && ledger.listings().unwrap().is_empty());
    assert_eq!((ledger.check().unwrap(), ledger.tidy().unwrap()), (None, 0));
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
    // The first event takes the number in.
    ledger.write(&[LedgerEvent::new(UsageKind::Loaded, "pdf")]).unwrap();
    assert_eq!(ledger.state().unwrap().map(|state| (state.events, state.dropped)), Some((1, 2)));
    assert!(!dir.path().join("usage.db-lost").exists());
}

#[test]
fn a_file_that_is_no_database_is_left_as_it_is() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("usage.db");
    let text = "a letter, and by no means a database: ".repeat(50);
    std::fs::write(&path, &text).unwrap();
    let ledger = Ledger::new(&path);
    let skills = skills(dir.path(), &ledger);
    assert!(skills.disclose("open report.pdf").turn.contains("pdftotext"));
    assert!(ledger.flush(Duration::from_secs(10)));
    assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
}
