//! Measures changes with many skills installed: `cargo run --release -p skillcue-registry --example costs -- 10000`.

#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a small program to look at numbers")]

use std::time::{Instant, SystemTime};

use skillcue_registry::{Disk, InstallOptions, InstallableKind, Registry, RegistryLocation, StagedItem};

fn main() {
    let count: usize = std::env::args().nth(1).and_then(|count| count.parse().ok()).unwrap_or(10_000);
    let dir = tempfile::tempdir().unwrap();
    let registry = Registry::open(RegistryLocation::user(dir.path()), Disk::default());
    let time = |what: &str, work: &mut dyn FnMut()| {
        let start = Instant::now();
        work();
        println!("{:>9.1} ms  {what}", start.elapsed().as_secs_f64() * 1e3);
    };
    let install = |names: &[String]| {
        let staging = registry.begin().unwrap();
        for name in names {
            let skill = staging.dir().join(name);
            std::fs::create_dir(&skill).unwrap();
            for file in ["a.md", "b.md", "c.md", "d.md"] {
                std::fs::write(skill.join(file), format!("{name} {file}\n")).unwrap();
            }
            std::fs::write(skill.join("SKILL.md"), format!("---\nname: {name}\ndescription: Does {name}.\n---\n"))
                .unwrap();
        }
        let chosen: Vec<_> =
            names.iter().map(|name| StagedItem::new(InstallableKind::Skill, name, "/from/here")).collect();
        registry.install(&staging, &chosen, &InstallOptions::at(SystemTime::now())).unwrap();
    };
    let names: Vec<_> = (0..count).map(|number| format!("skill-{number}")).collect();
    time(&format!("install {count} skills of 5 files at once"), &mut || install(&names));
    time("install one more", &mut || install(&["one-more".to_owned()]));
    time("state()", &mut || drop(registry.state()));
    time("enable one", &mut || drop(registry.enable(&["skill-1"], true).unwrap()));
    time("enable all at once", &mut || drop(registry.enable(&names, true).unwrap()));
    time("remove one", &mut || drop(registry.remove(&["skill-1"], SystemTime::now()).unwrap()));
    time("undo", &mut || drop(registry.undo(SystemTime::now()).unwrap()));
    time("verify one", &mut || drop(registry.verify(&["skill-1"]).unwrap()));
    time("verify all", &mut || drop(registry.verify_all().unwrap()));
    for file in ["registry.json", "skillcue.lock"] {
        println!("{:>9} bytes  {file}", dir.path().join(file).metadata().unwrap().len());
    }
}
