//! L-3, caching: what is remembered, until when, and with how many callers at once.

use std::fs::{self, File};
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, SystemTime};

use skillcue_base::ErrorInfo as _;
use skillcue_load::{CacheStats, LoadRequest, Loader, LoaderConfig};

use crate::Skill;

fn with_capacity(cache_capacity: usize) -> Loader {
    Loader::new(LoaderConfig { cache_capacity, ..LoaderConfig::default() })
}

#[test]
fn hits_and_misses() {
    let (a, b) = (Skill::new("a", "body"), Skill::new("b", "body"));
    let loader = Loader::default();
    let first = a.load(&loader, "x");
    let second = a.load(&loader, "x");
    assert!(!first.cached && second.cached);
    assert_eq!(first.content, second.content);
    for (skill, arguments) in [(&a, ""), (&a, " x"), (&b, "x")] {
        assert!(!skill.load(&loader, arguments).cached);
    }
    assert_eq!(loader.stats(), CacheStats { size: 4, capacity: 100, hits: 1, misses: 4 });
    assert_eq!(loader.clear(Some("a")), 3);
    assert_eq!(loader.clear(Some("a")), 0);
    assert!(!a.load(&loader, "x").cached);
    assert!(b.load(&loader, "x").cached);
    assert_eq!(loader.clear(None), 2);
    assert_eq!(loader.stats().size, 0);
}

#[test]
fn no_cache_at_all() {
    let skill = Skill::new("a", "body");
    let loader = with_capacity(0);
    for _ in 0..3 {
        assert!(!skill.load(&loader, "").cached);
    }
    assert_eq!(loader.stats(), CacheStats { size: 0, capacity: 0, hits: 0, misses: 3 });
    assert_eq!((loader.reads(), loader.clear(None)), (3, 0));
}

#[test]
fn the_least_recently_used_goes_first() {
    let skill = Skill::new("a", "body");
    let loader = with_capacity(2);
    for (arguments, cached) in [("1", false), ("2", false), ("1", true), ("3", false), ("1", true), ("2", false)] {
        assert_eq!(skill.load(&loader, arguments).cached, cached, "{arguments}");
    }
}

/// Changes a skill's file, and restores its modification time.
fn keeping_time(skill: &Skill, change: impl FnOnce()) {
    let modified = fs::metadata(skill.path()).unwrap().modified().unwrap();
    change();
    set_time(skill, modified);
}

fn set_time(skill: &Skill, modified: SystemTime) {
    File::options().write(true).open(skill.path()).unwrap().set_modified(modified).unwrap();
}

#[test]
fn a_new_size_is_noticed() {
    let skill = Skill::new("a", "old");
    let loader = Loader::default();
    skill.load(&loader, "");
    keeping_time(&skill, || skill.write("newer"));
    let loaded = skill.load(&loader, "");
    assert!(!loaded.cached && loaded.content.ends_with("newer"));
    assert!(skill.load(&loader, "").cached);
}

#[test]
fn a_new_time_is_noticed() {
    let skill = Skill::new("a", "old");
    let loader = Loader::default();
    skill.load(&loader, "");
    let modified = fs::metadata(skill.path()).unwrap().modified().unwrap();
    skill.write("new");
    // By a nanosecond: whole seconds would not do.
    set_time(&skill, modified + Duration::from_nanos(1));
    let loaded = skill.load(&loader, "");
    assert!(!loaded.cached && loaded.content.ends_with("new"));
}

#[cfg(unix)]
#[test]
fn a_new_inode_is_noticed() {
    let skill = Skill::new("a", "old");
    let loader = Loader::default();
    skill.load(&loader, "");
    keeping_time(&skill, || {
        let staged = skill.tmp.path().join("staged");
        fs::copy(skill.path(), &staged).unwrap();
        let text = fs::read_to_string(&staged).unwrap().replace("old", "new");
        fs::write(&staged, text).unwrap();
        fs::rename(&staged, skill.path()).unwrap();
    });
    let loaded = skill.load(&loader, "");
    assert!(!loaded.cached && loaded.content.ends_with("new"));
}

/// A body that was read for other arguments is not used after an edit either.
#[test]
fn an_edit_shows_whatever_the_arguments() {
    let skill = Skill::new("a", "old $ARGUMENTS");
    let loader = Loader::default();
    skill.load(&loader, "1");
    skill.write("newer $ARGUMENTS");
    assert!(skill.load(&loader, "2").content.ends_with("newer 2"));
    assert!(skill.load(&loader, "1").content.ends_with("newer 1"));
    assert_eq!(loader.reads(), 2);
}

#[test]
fn a_file_that_is_gone_is_not_answered_from_the_cache() {
    let skill = Skill::new("a", "body");
    let loader = Loader::default();
    skill.load(&loader, "");
    fs::remove_file(skill.path()).unwrap();
    let error = loader.load(&skill.file, &LoadRequest::default()).unwrap_err();
    assert_eq!(error.code(), "not_found");
    assert_eq!(loader.stats().size, 0);
}

/// A cached result gives no access to a file that cannot be opened now.
#[cfg(unix)]
#[test]
fn a_file_replaced_by_a_link_that_leads_out() {
    let (skill, outside) = (Skill::new("a", "body"), Skill::new("b", "body"));
    let loader = Loader::default();
    skill.load(&loader, "");
    fs::remove_file(skill.path()).unwrap();
    std::os::unix::fs::symlink(outside.path(), skill.path()).unwrap();
    let error = loader.load(&skill.file, &LoadRequest::default()).unwrap_err();
    assert_eq!(error.code(), "security");
}

#[test]
fn many_first_loads_read_once() {
    const THREADS: usize = 16;
    for different_arguments in [false, true] {
        let skill = Skill::new("a", "body $ARGUMENTS");
        let loader = Loader::default();
        let together = Barrier::new(THREADS);
        let (skill, loader, together) = (&skill, &loader, &together);
        thread::scope(|scope| {
            for thread in 0..THREADS {
                scope.spawn(move || {
                    let arguments = if different_arguments { thread.to_string() } else { "x".to_owned() };
                    together.wait();
                    let loaded = skill.load(loader, &arguments);
                    assert!(loaded.content.ends_with(&format!("body {arguments}")));
                });
            }
        });
        assert_eq!(loader.reads(), 1);
        let stats = loader.stats();
        assert_eq!(stats.size, if different_arguments { THREADS } else { 1 });
        assert_eq!(stats.hits + stats.misses, THREADS as u64);
    }
}

/// A load after a write has ended returns that write or a later one, never an older text from the cache; and never half
/// of one and half of the other.
#[test]
fn edits_under_load() {
    const VERSIONS: usize = 200;
    let body = |version: usize| format!("{version} ").repeat(400 + version);
    let skill = Skill::new("a", &body(0));
    let loader = Loader::default();
    let written = AtomicUsize::new(0);
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                while !done.load(Ordering::SeqCst) {
                    let at_least = written.load(Ordering::SeqCst);
                    let loaded = skill.load(&loader, "");
                    let text = loaded.content.strip_prefix(&skill.head()).unwrap().to_owned();
                    let version: usize = text.split(' ').next().unwrap().parse().unwrap();
                    assert_eq!(text, body(version));
                    assert!(version >= at_least, "{version} after {at_least} was written");
                }
            });
        }
        for version in 1..=VERSIONS {
            // As editors do it: written beside, then moved into place.
            let staged = skill.tmp.path().join("staged");
            fs::write(&staged, format!("---\nname: a\n---\n{}", body(version))).unwrap();
            fs::rename(&staged, skill.path()).unwrap();
            written.store(version, Ordering::SeqCst);
        }
        done.store(true, Ordering::SeqCst);
    });
}

/// The specification's scenario: of 100 skills 10 are used, with arguments as people use them, a thousand times.
#[test]
fn a_day_of_work_hits_four_times_in_five() {
    let skills: Vec<_> = (0..100).map(|n| Skill::new(&format!("skill-{n}"), "Do $ARGUMENTS.\n")).collect();
    let loader = Loader::default();
    let used = &skills[..10];
    // The k-th of a skill's 10 arguments is used 1/k as often as the first. More different results than the cache
    // holds would be another scenario: with 20 arguments a skill, two loads in three are hits.
    let weights: Vec<f64> = (1..=10_u32).map(|rank| 1.0 / f64::from(rank)).collect();
    let total: f64 = weights.iter().sum();
    let mut random = 0x5eed_u64;
    let mut next = || {
        // Knuth's MMIX generator: the same numbers on every machine.
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        u32::try_from(random >> 33).unwrap()
    };
    for _ in 0..1000 {
        let skill = &used[next() as usize % used.len()];
        let mut left = f64::from(next()) / f64::from(1_u32 << 31) * total;
        let rank = weights.iter().position(|weight| {
            left -= weight;
            left < 0.0
        });
        skill.load(&loader, &format!("argument-{}", rank.unwrap_or(0)));
    }
    let stats = loader.stats();
    assert_eq!(loader.reads(), 10, "each body is read once");
    assert_eq!(stats.hits + stats.misses, 1000);
    assert!(stats.hit_rate() > 0.8, "{stats:?}: {}", stats.hit_rate());
    assert_eq!(stats.capacity, 100);
}

/// However many arguments a skill was loaded with, its body is held once, so that memory stays far below that of
/// reading everything beforehand.
#[test]
fn a_body_is_held_once_for_all_arguments() {
    let body = "Do $ARGUMENTS.\n".repeat(500);
    let skills: Vec<_> = (0..10).map(|n| Skill::new(&format!("skill-{n}"), &body)).collect();
    let loader = Loader::default();
    for argument in 0..10 {
        for skill in &skills {
            let loaded = skill.load(&loader, &format!("argument-{argument}"));
            assert_eq!(loaded.content.matches(&format!("Do argument-{argument}.\n")).count(), 500);
        }
    }
    assert_eq!((loader.stats().size, loader.reads()), (100, 10));
    let (bodies, held) = (10 * body.len(), loader.held_bytes());
    assert!(held > bodies, "{held} of {bodies}");
    assert!(
        held < bodies + 100 * 400 + 10 * 1_000,
        "{held} of {bodies}: more than the bodies, and a little for each result"
    );
    // Nothing of a skill stays once it is forgotten.
    assert_eq!(loader.clear(None), 100);
    assert_eq!(loader.held_bytes(), 0);
}

/// A repeated request gets the same text, not another copy of it; other arguments get another text.
#[test]
fn the_last_result_is_shared() {
    let skill = Skill::new("shared", "Do $ARGUMENTS.\n");
    let loader = Loader::default();
    let first = skill.load(&loader, "a");
    let again = skill.load(&loader, "a");
    assert!(std::sync::Arc::ptr_eq(&first.content, &again.content) && again.cached);
    let other = skill.load(&loader, "b");
    assert!(other.content.contains("Do b.") && first.content.contains("Do a."));
    assert!(skill.load(&loader, "a").content.contains("Do a."));
    loader.clear(None);
    assert!(!std::sync::Arc::ptr_eq(&first.content, &skill.load(&loader, "a").content), "it is forgotten");
}
