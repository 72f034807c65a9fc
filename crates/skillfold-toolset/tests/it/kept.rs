//! What is kept of toolsets, in the process and on disk, and for how long it is believed.

use std::time::{Duration, Instant};

use skillfold_toolset::{Subject, Toolsets};

use crate::harness::{Skill, options};

/// Throws when it is loaded, every time with another text.
const MOODY: &str = "throw new Error(`no: ${Math.random()}`);\nexport const T = [];";
const ONE: &str = "import { Tool } from '@agent/tools';
export const T = [Tool.define('t', { description: 'd', execute: () => 'one' })];";

fn files_in(dir: &std::path::Path) -> usize {
    std::fs::read_dir(dir).map_or(0, Iterator::count)
}

#[test]
fn what_failed_once_is_tried_again() {
    let cache = tempfile::tempdir().unwrap();
    let mut options = options();
    options.cache_dir = Some(cache.path().to_path_buf());
    options.limits.retry = Duration::from_hours(1);
    let patient = Skill::with(options.clone(), &[("i.ts", MOODY)], &["i:T"]);
    let first = patient.findings();
    assert_eq!(first[0].code, "toolset_threw");
    assert_eq!(patient.findings(), first, "not before its time");
    patient.toolsets.end();
    drop(patient);
    assert_eq!(files_in(cache.path()), 0, "nothing of it is kept on disk");

    options.limits.retry = Duration::ZERO;
    let skill = Skill::with(options, &[("i.ts", MOODY)], &["i:T"]);
    let first = skill.findings();
    let until = Instant::now() + Duration::from_secs(20);
    while skill.findings() == first {
        assert!(Instant::now() < until, "it is not evaluated again");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_short_life_is_long_enough_to_keep_what_was_made() {
    let cache = tempfile::tempdir().unwrap();
    let mut options = options();
    options.cache_dir = Some(cache.path().to_path_buf());
    let mut skill = Skill::with(options.clone(), &[("i.ts", ONE)], &["i:T"]);
    assert_eq!(skill.tools().tools.len(), 1);
    skill.toolsets = Toolsets::new(options);
    assert_eq!(files_in(cache.path()), 1);
    // And what was kept is known without starting anything.
    let path = skill.path();
    let known = skill.toolsets.known(&Subject::new("s", &path, &skill.declared));
    assert_eq!(known.map(|known| known.tools.len()), Some(1));
    assert_eq!(skill.toolsets.running(), 0);
}

#[test]
fn what_is_known_needs_no_waiting() {
    let slow = "import { Tool } from '@agent/tools';
        await new Promise((go) => setTimeout(go, 1500));
        export const T = [Tool.define('t', { description: 'd', execute: () => 'slow' })];";
    let skill = Skill::new(&[("i.ts", slow)], &["i:T"]);
    let path = skill.path();
    let subject = Subject::new("s", &path, &skill.declared);
    assert!(skill.toolsets.known(&subject).is_none(), "nobody has asked");
    assert_eq!(skill.toolsets.running(), 0);
    std::thread::scope(|scope| {
        let loading = scope.spawn(|| skill.tools());
        while skill.toolsets.running() == 0 {
            std::thread::sleep(Duration::from_millis(1));
        }
        assert!(skill.toolsets.known(&subject).is_none(), "it is being evaluated");
        assert!(!loading.is_finished());
        assert_eq!(loading.join().unwrap().tools.len(), 1);
    });
    assert_eq!(skill.toolsets.known(&subject).map(|known| known.tools.len()), Some(1));
    std::fs::write(path.join("i.ts"), ONE).unwrap();
    assert!(skill.toolsets.known(&subject).is_none(), "its file has changed");
}

#[test]
fn what_a_call_imports_is_watched_too() {
    let text = "import { Tool } from '@agent/tools';
        export const T = [Tool.define('t', { description: 'd', execute: async () => (await import('./late')).said })];";
    let skill = Skill::new(&[("i.ts", text), ("late.ts", "export const said = 'first';")], &["i:T"]);
    assert_eq!(skill.output(), "first");
    std::fs::write(skill.path().join("late.ts"), "export const said = 'second';").unwrap();
    assert_eq!(skill.output(), "second");
}
