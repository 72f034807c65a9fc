//! Kept indexes under two writers, torn writes and damage: answers are those of a start without any.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use skillcue::catalog::FileStamp;
use skillcue::{Mode, Request, Selection, Skillcue};

/// More skills than are indexed without being kept.
const SKILLS: usize = 64;
const SUBJECTS: [&str; 8] =
    ["kubernetes clusters", "invoices", "photos", "spreadsheets", "translations", "passwords", "calendars", "music"];
const MESSAGES: [&str; 4] = [
    "roll out the kubernetes clusters",
    "sort photos and invoices number 7",
    "transaltions of music",
    "$skill-3 please",
];

/// Writes a skill in one step, with a time of its own: two writes within a tick of the clock would look like one.
fn write(dir: &Path, number: usize, text: &str) {
    static TIME: AtomicU64 = AtomicU64::new(1);
    let skill = dir.join(format!("skill-{number}"));
    fs::create_dir_all(&skill).unwrap();
    let time = TIME.fetch_add(1, Ordering::Relaxed);
    let draft = dir.join(format!(".draft-{time}"));
    let subject = SUBJECTS[number % SUBJECTS.len()];
    let front = format!("name: skill-{number}\ndescription: Handles {subject}.\ntriggers: [number {number}]");
    fs::write(&draft, format!("---\n{front}\n---\n# Skill {number}\n\n{text}\n")).unwrap();
    let file = fs::File::options().write(true).open(&draft).unwrap();
    file.set_modified(UNIX_EPOCH + Duration::from_secs(time)).unwrap();
    fs::rename(draft, skill.join("SKILL.md")).unwrap();
}

fn tree() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    for number in 0..SKILLS {
        let other = SUBJECTS[(number * 3 + 1) % SUBJECTS.len()];
        write(dir.path(), number, &format!("Sort {other}, then roll out number {number}."));
    }
    dir
}

fn kept(dir: &Path, cache: &Path) -> Skillcue {
    Skillcue::builder().skills_dir(dir).index_cache(cache.join("index")).build().unwrap()
}

fn answers(skills: &Skillcue) -> Vec<Selection> {
    MESSAGES.iter().map(|message| skills.select(&Request::new(message).mode(Mode::Hybrid))).collect()
}

/// Returns the answers of a start without kept indexes.
fn fresh_answers(dir: &Path) -> Vec<Selection> {
    let skills = Skillcue::builder().skills_dir(dir).build().unwrap();
    skills.index_bodies();
    answers(&skills)
}

/// Returns the kept files: the catalog's index, the triggers' and that of texts.
fn files(cache: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = cache.read_dir().unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| !file.file_name().unwrap().to_str().unwrap().starts_with('.'));
    files.sort();
    files
}

#[test]
fn torn_and_damaged_files_cost_time_only() {
    let (dir, cache) = (tree(), tempfile::tempdir().unwrap());
    let expected = fresh_answers(dir.path());
    let first = kept(dir.path(), cache.path());
    first.index_bodies();
    assert_eq!(answers(&first), expected);
    let whole: Vec<(PathBuf, Vec<u8>)> =
        files(cache.path()).into_iter().map(|file| (file.clone(), fs::read(file).unwrap())).collect();
    let kinds: Vec<_> = whole.iter().map(|(file, _)| file.file_name().unwrap().to_str().unwrap()).collect();
    assert!(kinds[0] == "index" && kinds[1].starts_with("select-") && kinds[2].starts_with("texts-"), "{kinds:?}");
    for (file, bytes) in &whole {
        let torn = (0..50).map(|part| bytes[..bytes.len() * part / 50].to_vec());
        let flipped = (0..25).map(|part| {
            let mut bytes = bytes.clone();
            let at = bytes.len() * part / 25;
            bytes[at] ^= 1 << (part % 8);
            bytes
        });
        for (nth, damaged) in torn.chain(flipped).enumerate() {
            fs::write(file, damaged).unwrap();
            let skills = kept(dir.path(), cache.path());
            assert_eq!(answers(&skills), expected, "{} {nth}", file.display());
        }
        // The last one was made again, or damaged where no message looked.
        fs::write(file, bytes).unwrap();
    }
    let again = kept(dir.path(), cache.path());
    assert_eq!((again.index_bodies(), answers(&again)), (0, expected), "what is kept is whole again");
}

/// Damage that is seen only when a skill has changed and the rest is taken over.
#[test]
fn damaged_files_are_not_carried_on_by_an_update() {
    let (dir, cache) = (tree(), tempfile::tempdir().unwrap());
    kept(dir.path(), cache.path()).index_bodies();
    let texts = files(cache.path()).into_iter().find(|file| file.to_str().unwrap().contains("texts-")).unwrap();
    let whole = fs::read(&texts).unwrap();
    write(dir.path(), 5, "Something else: sort photos of clusters.");
    let expected = fresh_answers(dir.path());
    for part in 0..25 {
        let mut bytes = whole.clone();
        bytes[whole.len() * part / 25] ^= 1;
        fs::write(&texts, bytes).unwrap();
        let skills = kept(dir.path(), cache.path());
        assert_eq!(answers(&skills), expected, "{part}");
        skills.index_bodies();
        let next = kept(dir.path(), cache.path());
        assert_eq!((next.index_bodies(), answers(&next)), (0, expected.clone()), "{part}");
    }
}

#[test]
fn a_changed_skill_is_found_by_its_body_at_once() {
    let (dir, cache) = (tree(), tempfile::tempdir().unwrap());
    kept(dir.path(), cache.path()).index_bodies();
    write(dir.path(), 9, "Only here: zyzzyva quixotry.");
    let skills = kept(dir.path(), cache.path());
    let found = skills.select(&Request::new("a zyzzyva and quixotry").mode(Mode::Hybrid));
    assert_eq!(found.hits[0].name, "skill-9");
    assert_eq!(answers(&skills), fresh_answers(dir.path()));
    assert_eq!(skills.index_bodies(), 1, "no other body was read");
}

/// Without kept files the index of the catalog before is updated.
#[test]
fn a_refresh_reads_changed_bodies_only() {
    let dir = tree();
    let skills = Skillcue::builder().skills_dir(dir.path()).mode(Mode::Hybrid).build().unwrap();
    skills.index_bodies();
    for number in [3, 30, 33] {
        write(dir.path(), number, "Rolls out photos of clusters.");
        fs::remove_dir_all(dir.path().join(format!("skill-{}", number + 7))).unwrap();
        skills.refresh();
        assert_eq!(answers(&skills), fresh_answers(dir.path()));
    }
    // Another body in a file that looks unchanged shows whether it is read.
    let file = dir.path().join("skill-50/SKILL.md");
    let (text, time) = (fs::read_to_string(&file).unwrap(), file.metadata().unwrap().modified().unwrap());
    fs::write(&file, text.replace("then roll out number 50", "zyzzyva with quixotry!!")).unwrap();
    fs::File::options().write(true).open(&file).unwrap().set_modified(time).unwrap();
    write(dir.path(), 4, "Rolls out music.");
    skills.refresh();
    let found = |skills: &Skillcue| {
        let found = skills.select(&Request::new("a zyzzyva and quixotry").mode(Mode::Hybrid)).hits;
        found.into_iter().map(|hit| hit.name).collect::<Vec<_>>()
    };
    assert_eq!(found(&skills), [""; 0]);
    let fresh = Skillcue::builder().skills_dir(dir.path()).build().unwrap();
    fresh.index_bodies();
    assert_eq!(found(&fresh), ["skill-50"], "it would have been found");
}

#[test]
fn two_writers_and_two_readers_never_see_a_mixture() {
    let (dir, cache) = (tree(), tempfile::tempdir().unwrap());
    let (done, compared) = (AtomicBool::new(false), AtomicUsize::new(0));
    let stamps =
        |skills: &Skillcue| -> Vec<FileStamp> { skills.catalog().skills().map(skillcue::Skill::stamp).collect() };
    std::thread::scope(|scope| {
        let writer = |number: usize| {
            let (dir, cache) = (&dir, &cache);
            move || {
                for round in 0..12 {
                    let subject = SUBJECTS[(round + number) % SUBJECTS.len()];
                    write(dir.path(), number, &format!("Round {round}: roll out {subject}."));
                    kept(dir.path(), cache.path()).index_bodies();
                }
            }
        };
        let readers: Vec<_> = (0..2)
            .map(|_| {
                scope.spawn(|| {
                    let mut is_last = false;
                    while !is_last {
                        // Once more after the writers: then nothing changes any more.
                        is_last = done.load(Ordering::Acquire);
                        let has_texts =
                            files(cache.path()).iter().any(|file| file.to_str().unwrap().contains("texts-"));
                        let skills = kept(dir.path(), cache.path());
                        let found = answers(&skills);
                        let fresh = Skillcue::builder().skills_dir(dir.path()).build().unwrap();
                        fresh.index_bodies();
                        let expected = answers(&fresh);
                        let after = Skillcue::builder().skills_dir(dir.path()).build().unwrap();
                        // Comparable only if no skill changed meanwhile, and if bodies were kept already.
                        let still = stamps(&skills) == stamps(&after) && stamps(&fresh) == stamps(&after);
                        if still && has_texts {
                            assert_eq!(found, expected);
                            compared.fetch_add(1, Ordering::Relaxed);
                        }
                    }
                })
            })
            .collect();
        let writers = [scope.spawn(writer(7)), scope.spawn(writer(21))];
        for writer in writers {
            writer.join().unwrap();
        }
        done.store(true, Ordering::Release);
        for reader in readers {
            reader.join().unwrap();
        }
    });
    assert!(compared.into_inner() >= 2, "each reader compared at least its last answer");
    let last = kept(dir.path(), cache.path());
    last.index_bodies();
    assert_eq!(answers(&last), fresh_answers(dir.path()));
    let next = kept(dir.path(), cache.path());
    assert_eq!((next.index_bodies(), answers(&next)), (0, fresh_answers(dir.path())), "the files are whole");
    let left = cache
        .path()
        .read_dir()
        .unwrap()
        .filter(|entry| entry.as_ref().unwrap().file_name().to_str().unwrap().starts_with('.'));
    assert_eq!(left.count(), 0, "no draft is left");
}

#[test]
fn drafts_of_processes_that_ended_are_removed() {
    let (dir, cache) = (tree(), tempfile::tempdir().unwrap());
    let draft = |name: &str, age: Duration| {
        let path = cache.path().join(name);
        fs::write(&path, "half a fi").unwrap();
        let file = fs::File::options().write(true).open(&path).unwrap();
        file.set_modified(SystemTime::now() - age).unwrap();
        path
    };
    let day = Duration::from_hours(24);
    let old = [".texts-00ff.4711-0-1234", ".index.4711-1-1234"].map(|name| draft(name, day));
    let new = draft(".texts-00ff.4712-0-1234", Duration::ZERO);
    let other = draft(".keep", day);
    let skills = kept(dir.path(), cache.path());
    skills.index_bodies();
    assert_eq!(answers(&skills), fresh_answers(dir.path()));
    assert!(old.iter().all(|path| !path.exists()), "their process was interrupted");
    assert!(new.exists() && other.exists(), "another process may be writing; other files are not ours");
}
