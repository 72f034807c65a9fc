//! Watching: what happens on disk is in the catalog a moment later, and is reported.
#![cfg(feature = "watch")]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod again;
#[path = "../../../skillcue-catalog/tests/support/steps.rs"]
mod steps;

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use skillcue::watch::{WatchEvent, WatchOptions, Watching};
use skillcue::{Changes, SkillRoot, Skillcue, Source};
use tempfile::TempDir;

/// Not how long anything takes: how long to wait for what never comes.
const GIVE_UP: Duration = Duration::from_secs(10);

struct Watched {
    dir: TempDir,
    skills: Arc<Skillcue>,
    events: Receiver<WatchEvent>,
    /// The reports so far that were not asked for.
    seen: Mutex<Vec<WatchEvent>>,
    watching: Option<Watching>,
}

fn text(name: &str, description: &str, body: &str) -> String {
    format!("---\nname: {name}\ndescription: {description}\n---\n{body}")
}

fn write(dir: &Path, name: &str, description: &str, body: &str) {
    fs::create_dir_all(dir.join(name)).unwrap();
    fs::write(dir.join(name).join("SKILL.md"), text(name, description, body)).unwrap();
}

impl Watched {
    /// Skills in `skills` below a new directory, watched.
    fn start(options: WatchOptions, names: &[&str]) -> Watched {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("skills")).unwrap();
        for name in names {
            write(&dir.path().join("skills"), name, "As it was.", "Body.\n");
        }
        let root = dir.path().join("skills");
        Watched::over(dir, Skillcue::builder().root(SkillRoot::new(root, Source::Project)).build().unwrap(), options)
    }

    fn over(dir: TempDir, skills: Skillcue, options: WatchOptions) -> Watched {
        let (send, events) = mpsc::channel();
        let skills = Arc::new(skills);
        let watching = skills.watch(options, move |event| drop(send.send(event.clone())));
        Watched { dir, skills, events, seen: Mutex::default(), watching: Some(watching) }
    }

    fn root(&self) -> PathBuf {
        self.dir.path().join("skills")
    }

    /// Waits until an event passes. One write may be reported in two parts, so others may come before.
    fn wait(&self, what: &str, passes: impl Fn(&WatchEvent) -> bool) -> WatchEvent {
        let end = Instant::now() + GIVE_UP;
        loop {
            let event = self.events.recv_timeout(end.saturating_duration_since(Instant::now()));
            let event = event.unwrap_or_else(|_| panic!("{what}: only {:?}", self.seen.lock().unwrap()));
            self.seen.lock().unwrap().push(event.clone());
            if passes(&event) {
                return event;
            }
        }
    }

    fn added(&self, name: &str) {
        self.wait(
            &format!("{name} added"),
            |event| matches!(event, WatchEvent::Changed(c) if c.added.iter().any(|n| n == name)),
        );
        assert!(self.skills.catalog().get(name).is_some(), "reported after it is there");
    }

    fn updated(&self, name: &str) -> Changes {
        let is = |event: &WatchEvent| matches!(event, WatchEvent::Changed(c) if c.updated.iter().any(|n| n == name));
        let WatchEvent::Changed(changes) = self.wait(&format!("{name} updated"), is) else { unreachable!() };
        changes
    }

    fn removed(&self, name: &str) {
        let is = |event: &WatchEvent| matches!(event, WatchEvent::Changed(c) if c.removed.iter().any(|n| n == name));
        self.wait(&format!("{name} removed"), is);
        assert!(self.skills.catalog().get(name).is_none());
    }

    fn files(&self, name: &str) {
        self.wait(
            &format!("files of {name}"),
            |event| matches!(event, WatchEvent::Changed(changes) if changes.files == [name]),
        );
    }

    /// Waits until the watcher is surely at work, by something that it must report.
    fn settle(&self) {
        write(&self.root(), "settled", "A sign.", "");
        self.added("settled");
    }

    fn said(&self, what: impl Fn(&WatchEvent) -> bool) -> bool {
        self.seen.lock().unwrap().iter().any(what)
    }
}

#[test]
fn a_skill_comes_changes_and_goes() {
    let watched = Watched::start(WatchOptions::default(), &["old"]);
    let root = watched.root();
    write(&root, "new", "Just written.", "Body.\n");
    watched.added("new");

    fs::write(root.join("new/SKILL.md"), text("new", "Just written.", "Another body, longer.\n")).unwrap();
    let changes = watched.updated("new");
    assert!(!changes.listing, "no listing shows a body: {changes:?}");
    assert_eq!(changes.unchanged, 1);

    fs::write(root.join("new/SKILL.md"), text("new", "Says something else.", "Body.\n")).unwrap();
    assert!(watched.updated("new").listing);
    assert_eq!(watched.skills.catalog().get("new").unwrap().manifest().description(), "Says something else.");

    fs::remove_dir_all(root.join("new")).unwrap();
    watched.removed("new");
    write(&root, "new", "Back again.", "Body.\n");
    watched.added("new");
    fs::write(root.join("new/SKILL.md"), text("new", "And watched again.", "Body.\n")).unwrap();
    watched.updated("new");
    assert!(
        !watched.said(|event| matches!(event, WatchEvent::Trouble(_))
            || matches!(event, WatchEvent::Changed(changes) if !changes.files.is_empty())),
        "{:?}",
        watched.seen
    );
}

#[test]
fn editors_write_beside_and_rename() {
    let watched = Watched::start(WatchOptions::default(), &["pdf"]);
    let dir = watched.root().join("pdf");
    for n in 0..5 {
        fs::write(dir.join(".SKILL.md.tmp"), text("pdf", &format!("Version {n}."), "Body.\n")).unwrap();
        fs::rename(dir.join(".SKILL.md.tmp"), dir.join("SKILL.md")).unwrap();
        assert!(watched.updated("pdf").listing);
    }
    // As vim does with a backup.
    fs::rename(dir.join("SKILL.md"), dir.join("SKILL.md~")).unwrap();
    fs::write(dir.join("SKILL.md"), text("pdf", "By vim.", "Body.\n")).unwrap();
    fs::remove_file(dir.join("SKILL.md~")).unwrap();
    while watched.skills.catalog().get("pdf").is_none_or(|pdf| pdf.manifest().description() != "By vim.") {
        watched.wait("what vim wrote", |event| matches!(event, WatchEvent::Changed(_)));
    }
}

#[test]
fn changes_before_the_watching_are_reported() {
    let dir = tempfile::tempdir().unwrap();
    let skills = Skillcue::builder().skills_dir(dir.path()).build().unwrap();
    write(dir.path(), "early", "Came between.", "");
    let watched = Watched::over(dir, skills, WatchOptions::default());
    watched.added("early");
}

#[test]
fn a_refresh_by_the_host_hides_nothing() {
    let watched = Watched::start(WatchOptions { quiet: Duration::from_millis(300), ..WatchOptions::default() }, &[]);
    write(&watched.root(), "pdf", "Found by the host first.", "");
    assert!(watched.skills.refresh().get("pdf").is_some());
    watched.added("pdf");
}

#[test]
fn roots_appear_and_vanish() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("a/.agents/skills");
    let skills = Skillcue::builder().root(SkillRoot::new(&root, Source::Project)).build().unwrap();
    let watched = Watched::over(dir, skills, WatchOptions::default());
    for round in 0..3 {
        let name = format!("pdf-{round}");
        write(&root, &name, "In a root that was not there.", "");
        watched.added(&name);
        fs::write(root.join(&name).join("SKILL.md"), text(&name, "Changed.", "")).unwrap();
        watched.updated(&name);
        if round == 1 {
            // Out of sight with all that is in it, and away.
            fs::rename(watched.dir.path().join("a"), watched.dir.path().join("b")).unwrap();
            watched.removed(&name);
            fs::remove_dir_all(watched.dir.path().join("b")).unwrap();
        } else {
            fs::remove_dir_all(watched.dir.path().join("a")).unwrap();
            watched.removed(&name);
        }
    }
}

#[test]
fn links_are_followed() {
    let watched = Watched::start(WatchOptions::default(), &[]);
    let elsewhere = watched.dir.path().join("elsewhere");
    write(&elsewhere, "linked", "Behind a link.", "Body.\n");
    symlink(elsewhere.join("linked"), watched.root().join("linked")).unwrap();
    watched.added("linked");
    fs::write(elsewhere.join("linked/SKILL.md"), text("linked", "Edited there.", "Body.\n")).unwrap();
    watched.updated("linked");
    fs::write(elsewhere.join("linked/data.csv"), "1,2\n").unwrap();
    watched.files("linked");

    // A whole directory of them behind one link, and one that comes later.
    fs::create_dir(elsewhere.join("group")).unwrap();
    symlink(elsewhere.join("group"), watched.root().join("group")).unwrap();
    write(&elsewhere.join("group"), "later", "In a linked group.", "");
    watched.added("later");

    // What a link leads to goes, and comes back.
    fs::remove_dir_all(elsewhere.join("linked")).unwrap();
    watched.removed("linked");
    write(&elsewhere, "linked", "Back again.", "");
    watched.added("linked");
    fs::remove_file(watched.root().join("linked")).unwrap();
    watched.removed("linked");
}

#[test]
fn a_root_behind_a_link_is_led_elsewhere() {
    let dir = tempfile::tempdir().unwrap();
    for version in ["one", "two"] {
        write(&dir.path().join(version).join("skills"), version, "Of this version.", "");
    }
    symlink(dir.path().join("one"), dir.path().join("current")).unwrap();
    let skills = Skillcue::builder().skills_dir(dir.path().join("current/skills")).build().unwrap();
    let watched = Watched::over(dir, skills, WatchOptions::default());
    symlink("two", watched.dir.path().join("next")).unwrap();
    fs::rename(watched.dir.path().join("next"), watched.dir.path().join("current")).unwrap();
    watched.added("two");
    write(&watched.dir.path().join("two/skills"), "more", "Watched there.", "");
    watched.added("more");
}

#[test]
fn a_skill_file_may_be_a_link() {
    let watched = Watched::start(WatchOptions::default(), &[]);
    let shared = watched.dir.path().join("shared");
    write(&shared, "pdf", "Shared.", "Body.\n");
    fs::create_dir(watched.root().join("pdf")).unwrap();
    symlink(shared.join("pdf/SKILL.md"), watched.root().join("pdf/SKILL.md")).unwrap();
    if watched.skills.refresh().get("pdf").is_none() {
        return; // Discovery does not follow it; then there is nothing to watch.
    }
    watched.added("pdf");
    fs::write(shared.join("pdf/SKILL.md"), text("pdf", "Edited where it is.", "Body.\n")).unwrap();
    watched.updated("pdf");
}

#[test]
fn deep_directories_come_at_once() {
    let watched = Watched::start(WatchOptions::default(), &[]);
    watched.settle();
    for n in 0..20 {
        let group = watched.root().join(format!("a-{n}/b/c"));
        let name = format!("deep-{n}");
        write(&group, &name, "Written at once.", "");
        watched.added(&name);
        fs::write(group.join(&name).join("SKILL.md"), text(&name, "And watched.", "")).unwrap();
        watched.updated(&name);
    }
}

#[test]
fn directories_are_renamed() {
    let watched = Watched::start(WatchOptions::default(), &["settled"]);
    let root = watched.root();
    write(&root.join("z"), "pdf", "In a group.", "");
    watched.added("pdf");
    // Once in each order of the names: what is forgotten and what is found are gone through by name.
    for (from, to) in [("z", "a"), ("a", "y"), ("y", "b")] {
        fs::rename(root.join(from), root.join(to)).unwrap();
        watched.updated("pdf");
        fs::write(root.join(to).join("pdf/SKILL.md"), text("pdf", &format!("In {to}."), "")).unwrap();
        assert!(watched.updated("pdf").listing);
        while watched.skills.catalog().get("pdf").unwrap().manifest().description() != format!("In {to}.") {
            watched.updated("pdf");
        }
    }
}

#[test]
fn other_files_of_a_skill() {
    let watched = Watched::start(WatchOptions::default(), &["csv", "pdf"]);
    watched.settle();
    let dir = watched.root().join("pdf");
    fs::write(dir.join("reference.md"), "# Reference\n").unwrap();
    watched.files("pdf");
    fs::create_dir_all(dir.join("scripts/lib")).unwrap();
    watched.files("pdf");
    fs::write(dir.join("scripts/lib/run.py"), "print()\n").unwrap();
    watched.files("pdf");
    fs::remove_dir_all(dir.join("scripts")).unwrap();
    watched.files("pdf");
    let is_pdf = |event: &WatchEvent| matches!(event, WatchEvent::Changed(changes) if changes.updated.contains(&"pdf".to_owned()));
    assert!(!watched.said(is_pdf), "{:?}", watched.seen);
}

#[test]
fn findings_are_reported_too() {
    let watched = Watched::start(WatchOptions::default(), &["pdf"]);
    fs::create_dir(watched.root().join("bad")).unwrap();
    fs::write(watched.root().join("bad/SKILL.md"), "nothing at the front\n").unwrap();
    watched.wait("a finding", |event| matches!(event, WatchEvent::Changed(changes) if changes.findings));
    assert_eq!(watched.skills.catalog().invalid().len(), 1);
    write(&watched.root(), "bad", "Mended.", "");
    watched.added("bad");
    assert!(watched.skills.catalog().invalid().is_empty());
}

#[test]
fn irrelevant_files_are_not_reported() {
    let watched = Watched::start(WatchOptions::default(), &["pdf"]);
    watched.settle();
    for skipped in [".git", "node_modules", "target", "__pycache__", ".venv"] {
        for dir in [watched.root(), watched.root().join("pdf")] {
            write(&dir.join(skipped), "hidden", "Nobody looks here.", "");
            fs::write(dir.join(skipped).join("file"), "1").unwrap();
        }
    }
    fs::write(watched.root().join("README.md"), "no skill\n").unwrap();
    fs::write(watched.dir.path().join("beside-the-root"), "1").unwrap();
    for _ in 0..3 {
        fs::read(watched.root().join("pdf/SKILL.md")).unwrap();
        watched.skills.refresh();
    }
    // Whatever was to come of it has come by the time that this is reported.
    write(&watched.root(), "last", "A sign.", "");
    watched.added("last");
    let seen = watched.seen.lock().unwrap();
    let changes = |event: &WatchEvent| match event {
        WatchEvent::Changed(changes) => changes.added.len() == 1 && changes.updated.is_empty() && !changes.findings,
        _ => false,
    };
    // The sign that the watching works may be reported once its directory is there and once its file is whole.
    assert!(
        seen.iter()
            .filter(|event| !changes(event))
            .all(|event| matches!(event, WatchEvent::Changed(c) if c.updated == ["settled"] || c.findings)),
        "{seen:?}"
    );
}

#[test]
fn polling_finds_the_same() {
    let options = WatchOptions { poll: true, poll_interval: Duration::from_millis(20), ..WatchOptions::default() };
    let watched = Watched::start(options, &["pdf"]);
    write(&watched.root(), "new", "Found by looking.", "");
    watched.added("new");
    fs::write(watched.root().join("pdf/SKILL.md"), text("pdf", "Changed.", "Longer than before.\n")).unwrap();
    watched.updated("pdf");
    fs::remove_dir_all(watched.root().join("pdf")).unwrap();
    watched.removed("pdf");
    assert!(!watched.said(|event| matches!(event, WatchEvent::Trouble(_))), "it was asked for");
}

#[test]
fn with_too_many_directories_it_polls_and_says_so() {
    let poll_interval = Duration::from_millis(20);
    let options = WatchOptions { max_directories: 4, poll_interval, ..WatchOptions::default() };
    // The root and two skills; so it starts by watching.
    let watched = Watched::start(options, &["one", "two"]);
    write(&watched.root(), "three", "Fits.", "");
    watched.added("three");
    assert!(!watched.said(|event| matches!(event, WatchEvent::Trouble(_))));
    write(&watched.root(), "four", "Does not fit.", "");
    let is_trouble = |event: &WatchEvent| matches!(event, WatchEvent::Trouble(_));
    let WatchEvent::Trouble(why) = watched.wait("trouble", is_trouble) else { unreachable!() };
    assert!(why.contains("more than 4 directories") && why.contains("every 20ms"), "{why}");
    watched.added("four");
    write(&watched.root(), "five", "Found by looking.", "");
    watched.added("five");
    assert_eq!(watched.seen.lock().unwrap().iter().filter(|event| is_trouble(event)).count(), 1, "said once");
}

#[test]
fn nothing_is_reported_once_it_is_dropped() {
    let mut watched = Watched::start(WatchOptions::default(), &["pdf"]);
    watched.settle();
    watched.watching.take();
    // The report is gone with the thread, and the channel with the report.
    while watched.events.recv_timeout(GIVE_UP).is_ok() {}
    assert_eq!(watched.events.try_recv(), Err(mpsc::TryRecvError::Disconnected));
    assert_eq!(Arc::strong_count(&watched.skills), 1, "nor is anything kept");
}

#[test]
fn a_report_may_end_the_watching() {
    let dir = tempfile::tempdir().unwrap();
    let skills = Arc::new(Skillcue::builder().skills_dir(dir.path()).build().unwrap());
    let (send, events) = mpsc::channel();
    let guard: Arc<Mutex<Option<Watching>>> = Arc::default();
    let theirs = Arc::clone(&guard);
    let watching = skills.watch(WatchOptions::default(), move |event| {
        theirs.lock().unwrap().take();
        send.send(event.clone()).unwrap();
    });
    *guard.lock().unwrap() = Some(watching);
    write(dir.path(), "pdf", "Ends it.", "");
    assert!(matches!(events.recv_timeout(GIVE_UP), Ok(WatchEvent::Changed(_))));
    while events.recv_timeout(GIVE_UP).is_ok() {}
    assert_eq!(events.try_recv(), Err(mpsc::TryRecvError::Disconnected));
}

#[test]
fn many_at_once() {
    let watched = Watched::start(WatchOptions::default(), &[]);
    let names: BTreeSet<String> = (0..1_100).map(|n| format!("skill-{n}")).collect();
    for name in &names {
        write(&watched.root(), name, "One of many.", "");
    }
    let found = || watched.skills.catalog().skills().map(|skill| skill.name().to_owned()).collect::<BTreeSet<_>>();
    while found() != names {
        watched.wait("all of them", |_| true);
    }
    for name in &names {
        fs::remove_dir_all(watched.root().join(name)).unwrap();
    }
    while !found().is_empty() {
        watched.wait("none of them", |_| true);
    }
    write(&watched.root(), "one", "Still watched.", "");
    watched.added("one");
    fs::remove_dir_all(watched.root()).unwrap();
    watched.removed("one");
    write(&watched.root(), "again", "The root is back.", "");
    watched.added("again");
}
