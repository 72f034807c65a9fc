//! Several at once: processes that write, and readers among them.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use skillcue_registry::{Disk, Registry, RegistryError, RegistryLocation, UpdateOptions};

use crate::support::{alone, chosen, install, is_clean, litter, now, open, options, skill, tempdir};

const PROCESS: &str = "SKILLCUE_TEST_PROCESS";
const DIR: &str = "SKILLCUE_TEST_DIR";
const EACH: usize = 500;

/// Numbers that look random and are the same each time.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % sides
    }
}

/// A process's record of its own changes: by name, the version it installed and whether it enabled it.
type Known = BTreeMap<String, (Option<usize>, Option<bool>)>;

/// No test: one of the processes.
#[test]
#[ignore = "started by `two_processes_lose_nothing`"]
fn one_of_them() {
    let Ok(process) = std::env::var(PROCESS) else {
        println!("skipped: no test, but a process that another one starts");
        return;
    };
    let dir = std::env::var(DIR).unwrap();
    let registry = Registry::open(RegistryLocation::user(&dir), Disk::default()).waiting(Duration::from_mins(5));
    let mut dice = Dice(process.bytes().map(u64::from).sum());
    let mut known = Known::new();
    for count in 0..EACH {
        let name = format!("{process}-{}", dice.roll(6));
        let (installed, enabled) = known.entry(name.clone()).or_default();
        match dice.roll(10) {
            0..=3 => {
                let staging = registry.begin().unwrap();
                skill(&staging, &Disk::default(), &name, &format!("version: \"{count}\"\n")).unwrap();
                registry.install(&staging, &[chosen(&name, "/x")], &options()).unwrap();
                if installed.is_none() && *enabled == Some(true) {
                    *enabled = None;
                }
                *installed = Some(count);
            }
            4..=7 => {
                let on = dice.roll(2) == 0;
                registry.enable(&[&name], on).unwrap();
                *enabled = Some(on);
            }
            8 => {
                // Both processes want this one.
                let staging = registry.begin().unwrap();
                skill(&staging, &Disk::default(), "shared", &format!("version: {process}{count}\n")).unwrap();
                registry.install(&staging, &[chosen("shared", "/x")], &options()).unwrap();
            }
            _ => match registry.remove(&[&name], now()) {
                Ok(_) => {
                    assert!(installed.is_some(), "{name} was removed and never installed");
                    (*installed, *enabled) = (None, None);
                }
                Err(RegistryError::NotInstalled { .. }) => assert!(installed.is_none(), "{name} was lost"),
                Err(error) => panic!("{error}"),
            },
        }
    }
    std::fs::write(Path::new(&dir).join(format!("{process}.known")), serde_json::to_vec(&known).unwrap()).unwrap();
}

#[test]
fn two_processes_lose_nothing() {
    let _alone = alone();
    let dir = tempdir();
    let start = |process: &str| {
        Command::new(std::env::current_exe().unwrap())
            .args(["--ignored", "--exact", "together::one_of_them"])
            .env(PROCESS, process)
            .env(DIR, dir.path())
            .stdout(Stdio::null())
            .spawn()
            .unwrap()
    };
    let children = ["ann", "bob"].map(start);
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    let registry = open(dir.path());
    let state = registry.state();
    assert_eq!(state.diagnostics, []);
    let mut installed = BTreeMap::new();
    let mut enabled = BTreeMap::new();
    for process in ["ann", "bob"] {
        let known: Known =
            serde_json::from_slice(&std::fs::read(dir.path().join(format!("{process}.known"))).unwrap()).unwrap();
        for (name, (version, on)) in known {
            installed.extend(version.map(|version| (name.clone(), version.to_string())));
            enabled.extend(on.map(|on| (name, on)));
        }
    }
    let found: BTreeMap<_, _> = state
        .installed
        .iter()
        .filter(|(name, _)| *name != "shared")
        .map(|(name, entry)| (name.clone(), entry.version.clone().unwrap()))
        .collect();
    assert_eq!(found, installed);
    assert_eq!(state.enabled, enabled);
    assert!(is_clean(&registry));
    registry.gc(None).unwrap();
    assert_eq!(litter(dir.path()).len(), 0);
}

#[test]
fn a_reader_never_misses_a_skill_that_is_updated() {
    let dir = tempdir();
    let registry = open(dir.path());
    install(&registry, &["pdf"], "version: \"0\"\n");
    let file = registry.installed_skills_dir().join("pdf/SKILL.md");
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let mut looks = 0;
            while !over.load(Ordering::Relaxed) || looks == 0 {
                assert!(std::fs::read_to_string(&file).unwrap().starts_with("---\nname: pdf\n"));
                let state = open(dir.path()).state();
                assert_eq!((state.installed.len(), state.diagnostics.len()), (1, 0));
                looks += 1;
            }
        });
        for count in 1..=50 {
            let staging = registry.begin().unwrap();
            skill(&staging, &Disk::default(), "pdf", &format!("version: \"{count}\"\n")).unwrap();
            let plan = registry.plan_update("pdf", &staging, &chosen("pdf", "/from/here")).unwrap();
            registry.apply_updates(vec![plan], &UpdateOptions::at(now())).unwrap();
        }
        over.store(true, Ordering::Relaxed);
        reader.join().unwrap();
    });
}

#[test]
fn a_wait_that_times_out_names_the_locking_process() {
    let dir = tempdir();
    let registry = open(dir.path());
    registry.enable(&["pdf"], true).unwrap();
    let lock = std::fs::File::open(dir.path().join(".registry/lock")).unwrap();
    lock.lock().unwrap();
    let error = registry.clone().waiting(Duration::ZERO).enable(&["pdf"], false).unwrap_err();
    assert!(error.to_string().contains(&format!("by process {}", std::process::id())), "{error}");
    assert!(registry.state().enabled["pdf"], "readers do not wait");
    lock.unlock().unwrap();
    registry.enable(&["pdf"], false).unwrap();
}

#[test]
fn staging_of_running_processes_is_not_swept() {
    let _alone = alone();
    let dir = tempdir();
    let (one, other) = (open(dir.path()), open(dir.path()));
    let staging = one.begin().unwrap();
    skill(&staging, &Disk::default(), "pdf", "").unwrap();
    other.enable(&["csv"], true).unwrap();
    assert_eq!(other.gc(None).unwrap().leftovers, 0);
    one.install(&staging, &[chosen("pdf", "/x")], &options()).unwrap();
    drop(staging);
    assert_eq!(litter(dir.path()).len(), 0);
}
