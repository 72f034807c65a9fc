//! Operations for the tests that interrupt them, each with what must be there before.

use std::path::Path;

use skillcue_registry::{Disk, InstallableKind, Registry, RegistryError, RegistryLocation, StagedItem, UpdateOptions};

use crate::support::{Seen, chosen, copy, install, now, open, options, plugin, seen, skill, tempdir};

/// An update on a file system that cannot let two directories change places.
pub(crate) const RENAMES: &str = "update by renames";

/// All of them.
pub(crate) const ALL: [&str; 11] =
    ["install", "plugin", "replace", "update", RENAMES, "remove", "undo", "restore", "enable", "gc", "mend"];

/// Makes what must be there.
pub(crate) fn prepare(operation: &str, dir: &Path) {
    let registry = open(dir);
    install(&registry, &["pdf", "csv"], "version: 1\n");
    registry.enable(&["pdf"], true).unwrap();
    match operation {
        "undo" => drop(registry.remove(&["pdf", "csv"], now()).unwrap()),
        "restore" => {
            registry.remove(&["pdf", "csv"], now()).unwrap();
            install(&registry, &["pdf"], "version: 3\n");
        }
        "gc" => {
            registry.remove(&["csv"], now()).unwrap();
            let left = dir.join(".registry/staging/1-1-1/files");
            std::fs::create_dir_all(&left).unwrap();
            std::fs::write(left.join("half"), "half").unwrap();
            std::fs::write(dir.join(".registry/next-registry.json"), "half").unwrap();
        }
        "mend" => std::fs::write(dir.join("registry.json"), "{ \"version\": 1, \"inst").unwrap(),
        _ => {}
    }
}

/// A place as it is before an operation, in `before`; what is seen of it then, and after the operation.
pub(crate) fn before_and_after(operation: &str) -> (tempfile::TempDir, Seen, Seen) {
    let dir = tempdir();
    let at = |name: &str| dir.path().join(name);
    prepare(operation, &at("before"));
    let before = seen(&open(&at("before")));
    copy(&at("before"), &at("after"));
    perform(operation, &at("after"), &Disk::default()).unwrap();
    let after = seen(&open(&at("after")));
    (dir, before, after)
}

/// Does it.
pub(crate) fn perform(operation: &str, dir: &Path, disk: &Disk) -> Result<(), RegistryError> {
    let registry = Registry::open(RegistryLocation::user(dir), disk.clone());
    match operation {
        "install" | "mend" => {
            let staging = registry.begin()?;
            skill(&staging, disk, "xml", "")?;
            skill(&staging, disk, "yaml", "")?;
            let mut options = options();
            options.enable = true;
            registry.install(&staging, &[chosen("xml", "/x"), chosen("yaml", "/x")], &options).map(drop)
        }
        "plugin" => {
            let staging = registry.begin()?;
            plugin(&staging, disk, "Office")?;
            registry
                .install(&staging, &[StagedItem::new(InstallableKind::Plugin, "Office", "/o")], &options())
                .map(drop)
        }
        "replace" => {
            let staging = registry.begin()?;
            skill(&staging, disk, "pdf", "version: 9\n")?;
            let mut options = options();
            options.replace = true;
            registry.install(&staging, &[chosen("pdf", "/elsewhere")], &options).map(drop)
        }
        "update" | RENAMES => {
            let staging = registry.begin()?;
            let mut plans = Vec::new();
            for name in ["pdf", "csv"] {
                skill(&staging, disk, name, "version: 2\n")?;
                plans.push(registry.plan_update(name, &staging, &chosen(name, "/from/here"))?);
            }
            registry.apply_updates(plans, &UpdateOptions::at(now())).map(drop)
        }
        "remove" => registry.remove(&["pdf", "csv"], now()).map(drop),
        "undo" => registry.undo(now()).map(drop),
        "restore" => registry.restore("pdf", now()).map(drop),
        "enable" => registry.enable(&["pdf", "bundled"], false).map(drop),
        "gc" => registry.gc(None).map(drop),
        other => unreachable!("{other}"),
    }
}
