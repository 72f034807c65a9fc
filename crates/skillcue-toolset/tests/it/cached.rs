//! Cached toolsets, in the process and on disk, and for how long they are valid.

use std::time::{Duration, Instant};

use skillcue_toolset::{SkillToolsets, Toolsets};

use crate::harness::{FAKE_ZOD, SEED_EXAMPLE, Skill, options, write};

/// A module that throws when it is loaded, every time with another text.
const MOODY: &str = "throw new Error(`no: ${Math.random()}`);\nexport const T = [];";
const ONE: &str = "import { Tool } from '@agent/tools';
export const T = [Tool.define('t', { description: 'd', execute: () => 'one' })];";

fn files_in(dir: &std::path::Path) -> usize {
    std::fs::read_dir(dir).map_or(0, Iterator::count)
}

#[test]
fn a_failed_load_is_retried_after_its_time() {
    let cache = tempfile::tempdir().unwrap();
    let mut options = options();
    options.cache_dir = Some(cache.path().to_path_buf());
    options.limits.retry = Duration::from_hours(1);
    let patient = Skill::with(options.clone(), &[("i.ts", MOODY)], &["i:T"]);
    let first = patient.findings();
    assert_eq!(first[0].code.as_str(), "toolset_threw");
    assert_eq!(patient.findings(), first, "not before its time");
    patient.toolsets.end();
    drop(patient);
    assert_eq!(files_in(cache.path()), 0, "nothing of it is cached on disk");

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
fn a_short_life_is_long_enough_to_fill_the_cache() {
    let cache = tempfile::tempdir().unwrap();
    let mut options = options();
    options.cache_dir = Some(cache.path().to_path_buf());
    let mut skill = Skill::with(options.clone(), &[("i.ts", ONE)], &["i:T"]);
    assert_eq!(skill.tools().tools.len(), 1);
    skill.toolsets = Toolsets::new(options);
    assert_eq!(files_in(cache.path()), 1);
    // And what was cached is known without starting anything.
    let path = skill.path();
    let known = skill.toolsets.known_tools(&SkillToolsets::new("s", &path, &skill.declared));
    assert_eq!(known.map(|known| known.tools.len()), Some(1));
    assert_eq!(skill.toolsets.running_count(), 0);
}

#[test]
fn known_tools_does_not_wait_for_a_load() {
    let slow = "import { Tool } from '@agent/tools';
        await new Promise((go) => setTimeout(go, 1500));
        export const T = [Tool.define('t', { description: 'd', execute: () => 'slow' })];";
    let skill = Skill::new(&[("i.ts", slow)], &["i:T"]);
    let path = skill.path();
    let subject = SkillToolsets::new("s", &path, &skill.declared);
    assert!(skill.toolsets.known_tools(&subject).is_none(), "no tools were asked for");
    assert_eq!(skill.toolsets.running_count(), 0);
    std::thread::scope(|scope| {
        let loading = scope.spawn(|| skill.tools());
        while skill.toolsets.running_count() == 0 {
            std::thread::sleep(Duration::from_millis(1));
        }
        assert!(skill.toolsets.known_tools(&subject).is_none(), "it is being evaluated");
        assert!(!loading.is_finished());
        assert_eq!(loading.join().unwrap().tools.len(), 1);
    });
    assert_eq!(skill.toolsets.known_tools(&subject).map(|known| known.tools.len()), Some(1));
    std::fs::write(path.join("i.ts"), ONE).unwrap();
    assert!(skill.toolsets.known_tools(&subject).is_none(), "its file has changed");
}

#[test]
fn files_imported_by_a_call_are_watched() {
    let text = "import { Tool } from '@agent/tools';
        export const T = [Tool.define('t', { description: 'd', execute: async () => (await import('./late')).said })];";
    let skill = Skill::new(&[("i.ts", text), ("late.ts", "export const said = 'first';")], &["i:T"]);
    assert_eq!(skill.output(), "first");
    std::fs::write(skill.path().join("late.ts"), "export const said = 'second';").unwrap();
    assert_eq!(skill.output(), "second");
}

/// The sequence of docs/reference/toolsets.md, in one process and in a new one each time: the tools are asked for, the package is
/// missing, it is installed, the tools are there.
#[test]
fn a_package_that_was_missing_is_seen_as_soon_as_it_is_there() {
    for in_a_new_process in [false, true] {
        let (cache, data) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let packages = data.path().join("skillcue/toolsets");
        let mut options = options();
        options.cache_dir = Some(cache.path().to_path_buf());
        options.packages = Some(packages.clone());
        let mut skill =
            Skill::with(options.clone(), &[("toolsets/index.ts", SEED_EXAMPLE)], &["toolsets/index:MyToolset"]);
        let codes =
            |skill: &Skill| skill.findings().into_iter().map(|finding| finding.code.as_str()).collect::<Vec<_>>();
        assert_eq!(codes(&skill), ["module_not_found"]);
        assert_eq!(codes(&skill), ["module_not_found"], "and so it is when asked again");
        if in_a_new_process {
            skill.toolsets = Toolsets::new(options);
        }
        for (path, text) in FAKE_ZOD {
            write(&packages.join(path), text);
        }
        assert_eq!(codes(&skill), [] as [&str; 0], "a new process: {in_a_new_process}");
        let said = skill.call("my-tool", serde_json::json!({"input": "this"})).unwrap();
        assert_eq!(said.output, "Processed: this");
        // And it is missed again once it is gone.
        std::fs::remove_dir_all(&packages).unwrap();
        std::thread::sleep(Duration::from_millis(1_100));
        assert_eq!(codes(&skill), ["module_not_found"]);
    }
}

/// Everywhere a package is looked for: beside the module, in the directories above it up to the skill's own, and among
/// the user's packages.
#[test]
fn a_package_may_turn_up_anywhere_on_the_way() {
    let places = [
        "skill/toolsets/deep/node_modules",
        "skill/toolsets/node_modules",
        "skill/node_modules",
        "packages/node_modules",
    ];
    for place in places {
        let mut options = options();
        let dir = tempfile::tempdir().unwrap();
        options.packages = Some(dir.path().join("packages"));
        let skill = Skill { dir, ..Skill::with(options, &[], &["toolsets/deep/index:MyToolset"]) };
        write(&skill.path().join("toolsets/deep/index.ts"), SEED_EXAMPLE);
        assert_eq!(skill.findings()[0].code.as_str(), "module_not_found", "{place}");
        for (path, text) in FAKE_ZOD {
            let path = path.strip_prefix("node_modules/").unwrap();
            write(&skill.dir.path().join(place).join(path), text);
        }
        assert_eq!(skill.findings(), [], "{place}");
    }
}
