//! Refreshes of a watcher: files that are read, recovery, and equality with a fresh look.

use std::fs;
use std::time::{Duration, Instant};

use proptest::prelude::*;
use skillcue::watch::{WatchEvent, WatchOptions, WatchState};
use skillcue::{Catalog, Changes, SkillRoot, Skillcue, Source};

use crate::steps::{Step, step};
use crate::{GIVE_UP, Watched, text, write};

impl Watched {
    /// Waits until the watcher has gone through all directories.
    fn begun(&self) -> WatchState {
        let end = Instant::now() + GIVE_UP;
        loop {
            let state = self.watching.as_ref().unwrap().state();
            if state != WatchState::Starting {
                return state;
            }
            assert!(Instant::now() < end, "it never begins");
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

#[test]
fn one_skill_touched_among_thousands_is_one_file_read() {
    let names: Vec<String> = (0..3_000).map(|n| format!("skill-{n}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let watched = Watched::start(WatchOptions::default(), &names);
    assert!(matches!(watched.begun(), WatchState::Notified { directories } if directories > 3_000));
    for name in ["skill-7", "skill-2999", "skill-1500"] {
        let file = watched.root().join(name).join("SKILL.md");
        fs::write(&file, text(name, "Touched.", "Longer than it was.\n")).unwrap();
        assert_eq!(watched.updated(name).unchanged, 2_999);
        let effort = watched.skills.catalog().effort();
        assert_eq!((effort.read, effort.reused), (1, 2_999), "{name}");
    }
    // One that comes, and one that goes.
    write(&watched.root(), "new", "New.", "");
    watched.added("new");
    fs::remove_dir_all(watched.root().join("skill-7")).unwrap();
    watched.removed("skill-7");
    let effort = watched.skills.catalog().effort();
    assert_eq!((effort.read, effort.reused), (0, 3_000));
}

#[test]
fn polling_reads_only_what_changed() {
    let options = WatchOptions { poll: true, poll_interval: Duration::from_millis(20), ..WatchOptions::default() };
    let watched = Watched::start(options, &["csv", "pdf", "xml"]);
    // Files younger than a second are read again each time: their stamps say nothing yet.
    let old = std::time::SystemTime::now() - Duration::from_mins(1);
    for dir in [watched.root(), watched.root().join("csv"), watched.root().join("pdf"), watched.root().join("xml")] {
        if dir.join("SKILL.md").exists() {
            let file = fs::File::options().append(true).open(dir.join("SKILL.md")).unwrap();
            file.set_modified(old).unwrap();
        }
        fs::File::open(&dir).unwrap().set_modified(old).unwrap();
    }
    assert_eq!(watched.begun(), WatchState::Polling);
    watched.skills.refresh();
    let file = fs::File::options().append(true).open(watched.root().join("pdf/SKILL.md")).unwrap();
    file.set_modified(old - Duration::from_secs(5)).unwrap();
    let end = Instant::now() + GIVE_UP;
    while watched.skills.catalog().effort().read != 1 {
        assert!(Instant::now() < end, "{:?}", watched.skills.catalog().effort());
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(watched.skills.catalog().effort().reused, 2);
}

#[test]
fn polling_ends_when_the_system_can_tell_again() {
    let pause = Duration::from_millis(20);
    let options =
        WatchOptions { poll_interval: pause, retry_interval: pause, max_directories: 4, ..WatchOptions::default() };
    let watched = Watched::start(options, &["a", "b", "c", "d", "e"]);
    watched
        .wait("trouble", |event| matches!(event, WatchEvent::Trouble(why) if why.contains("more than 4 directories")));
    assert_eq!(watched.begun(), WatchState::Polling);
    for name in ["a", "b", "c"] {
        fs::remove_dir_all(watched.root().join(name)).unwrap();
    }
    watched.wait("that it ended", |event| *event == WatchEvent::Recovered);
    assert!(matches!(watched.begun(), WatchState::Notified { .. }));
    fs::write(watched.root().join("d/SKILL.md"), text("d", "Told.", "")).unwrap();
    watched.updated("d");
    // And once more.
    for name in ["f", "g", "h"] {
        write(&watched.root(), name, "Too many.", "");
    }
    watched.wait("trouble again", |event| matches!(event, WatchEvent::Trouble(_)));
}

#[test]
fn renames_far_above_a_root_are_noticed() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("a/b/c/d/e/skills");
    write(&root, "pdf", "Deep down.", "");
    let skills = Skillcue::builder().root(SkillRoot::new(&root, Source::Project)).build().unwrap();
    let options = WatchOptions { check_interval: Duration::from_millis(20), ..WatchOptions::default() };
    let watched = Watched::over(dir, skills, options);
    watched.begun();
    fs::rename(watched.dir.path().join("a"), watched.dir.path().join("z")).unwrap();
    watched.removed("pdf");
    fs::rename(watched.dir.path().join("z"), watched.dir.path().join("a")).unwrap();
    watched.added("pdf");
    write(&root, "pdf", "And watched again.", "");
    watched.updated("pdf");
}

#[test]
fn hundreds_go_at_once_and_come_back() {
    let names: Vec<String> = (0..300).map(|n| format!("skill-{n:03}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let watched = Watched::start(WatchOptions::default(), &names);
    watched.begun();
    fs::remove_dir_all(watched.root()).unwrap();
    let end = Instant::now() + GIVE_UP;
    while !watched.skills.catalog().is_empty() {
        assert!(Instant::now() < end, "{} are left", watched.skills.catalog().len());
        std::thread::sleep(Duration::from_millis(5));
    }
    for name in &names {
        write(&watched.root(), name, "Back.", "");
    }
    while watched.skills.catalog().len() < names.len() {
        assert!(Instant::now() < end, "only {} came back", watched.skills.catalog().len());
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Returns whether two catalogs are equal in everything that is public.
fn same(one: &Catalog, other: &Catalog) -> bool {
    let addresses = |catalog: &Catalog| catalog.all().iter().map(|skill| skill.address()).collect::<Vec<_>>();
    Changes::between(one, other).is_empty()
        && one.generation() == other.generation()
        && one.diagnostics() == other.diagnostics()
        && addresses(one) == addresses(other)
}

fn check(batches: &[Vec<Step>]) {
    let dir = tempfile::tempdir().unwrap();
    let base = dir.path().canonicalize().unwrap();
    for root in ["one", "two", "beside"] {
        fs::create_dir(base.join(root)).unwrap();
    }
    let build = || {
        let roots = [SkillRoot::new(base.join("one"), Source::Project), SkillRoot::new(base.join("two"), Source::User)];
        Skillcue::builder().roots(roots).build().unwrap()
    };
    let options = WatchOptions {
        quiet: Duration::from_millis(10),
        check_interval: Duration::from_millis(50),
        ..WatchOptions::default()
    };
    let watched = Watched::over(dir, build(), options);
    watched.begun();
    for batch in batches {
        for step in batch {
            step.take(&base);
        }
        // Once all events have been looked at, the catalog equals that of a first look.
        let fresh = build().catalog();
        let end = Instant::now() + GIVE_UP;
        while !same(&watched.skills.catalog(), &fresh) {
            let (ours, theirs) = (watched.skills.catalog(), &fresh);
            assert!(
                Instant::now() < end,
                "{:#?}\n{:?}\n{:?}",
                Changes::between(&ours, theirs),
                ours.diagnostics(),
                theirs.diagnostics()
            );
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, max_shrink_iters: 30, ..ProptestConfig::default() })]

    #[test]
    fn any_changes_end_with_the_catalog_of_a_fresh_look(
        batches in prop::collection::vec(prop::collection::vec(step(), 1..6), 1..8)
    ) {
        check(&batches);
    }
}
