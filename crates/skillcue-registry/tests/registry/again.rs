//! Installing again, removing what is gone already, bringing back several at once.

use std::os::unix::fs::PermissionsExt as _;
use std::time::Duration;

use skillcue_base::ErrorInfo as _;
use skillcue_registry::{Disk, DriftKind, InstallReport, InstallableKind, Registry, RegistryError};

use crate::support::{all_below, chosen, install, is_clean, now, open, options, seen, skill, tempdir};

fn install_from(registry: &Registry, at: &str, origin: &str, more: &str) -> Result<InstallReport, RegistryError> {
    let staging = registry.begin()?;
    skill(&staging, &Disk::default(), "pdf", more)?;
    let from = staging.dir().join("pdf");
    let to = staging.dir().join(at);
    if at.is_empty() {
        for entry in from.read_dir().unwrap().map(Result::unwrap) {
            std::fs::rename(entry.path(), to.join(entry.file_name())).unwrap();
        }
        std::fs::remove_dir(from).unwrap();
    } else if from != to {
        std::fs::create_dir_all(to.parent().unwrap()).unwrap();
        std::fs::rename(from, to).unwrap();
    }
    registry.install(&staging, &[chosen(at, origin)], &options())
}

#[test]
fn another_reference_or_spelling_is_the_same_origin() {
    let dir = tempdir();
    let registry = open(dir.path());
    install_from(&registry, "skills/pdf", "https://github.com/o/r.git@v1", "version: 1\n").unwrap();
    registry.enable(&["pdf"], true).unwrap();
    for (count, (at, origin)) in [
        ("skills/pdf", "https://github.com/o/r.git@v2"),
        ("skills/pdf", "https://github.com/o/r.git"),
        ("", "https://github.com/o/r.git//skills/pdf@v3"),
        ("pdf", "https://github.com/o/r.git//skills"),
    ]
    .into_iter()
    .enumerate()
    {
        let report = install_from(&registry, at, origin, &format!("version: 1.{count}\n")).unwrap();
        assert_eq!(report.done[0].enabled, Some(true), "{origin}");
        assert_eq!(registry.state().installed["pdf"].origin, origin);
    }
    for (at, origin) in [("pdf", "https://github.com/o/r.git"), ("skills/pdf", "https://github.com/o/fork.git")] {
        let error = install_from(&registry, at, origin, "version: 2\n").unwrap_err();
        assert!(matches!(error, RegistryError::OtherOrigin { .. }), "{origin}: {error}");
    }
    std::fs::write(dir.path().join("skills/pdf/mine.txt"), "mine").unwrap();
    let error = install_from(&registry, "", "https://github.com/o/r.git//skills/pdf@v4", "").unwrap_err();
    assert!(matches!(error, RegistryError::Edited { .. }), "{error}");
}

#[test]
fn reinstalling_missing_files_restores_the_entry() {
    let dir = tempdir();
    let registry = open(dir.path());
    install(&registry, &["pdf"], "");
    let before = seen(&registry);
    std::fs::remove_dir_all(dir.path().join("skills/pdf")).unwrap();
    let staging = registry.begin().unwrap();
    skill(&staging, &Disk::default(), "pdf", "").unwrap();
    let mut options = options();
    options.now += Duration::from_hours(1);
    let report = registry.install(&staging, &[chosen("pdf", "/from/here")], &options).unwrap();
    assert!(!report.done[0].replaced);
    assert_eq!(seen(&registry), before, "the time it was installed, too");
}

#[test]
fn a_skill_removed_without_files_cannot_be_restored() {
    let dir = tempdir();
    let registry = open(dir.path());
    install(&registry, &["csv", "pdf", "xml"], "");
    registry.remove(&["csv"], now()).unwrap();
    std::fs::remove_dir_all(dir.path().join("skills/pdf")).unwrap();
    let moved = registry.remove(&["pdf"], now()).unwrap();
    assert_eq!(moved[0].name, "pdf");
    assert_eq!(registry.state().installed.keys().collect::<Vec<_>>(), ["xml"]);
    registry.enable(&["xml"], true).unwrap();
    for error in [registry.undo(now()).unwrap_err(), registry.restore("pdf", now()).unwrap_err()] {
        let expected = "the files of pdf were missing when it was removed: nothing of them can come back";
        assert_eq!(error.to_string(), expected);
        assert!(error.hint().unwrap().contains("install it again"), "{}", error.hint().unwrap());
    }
    let trash: Vec<_> = registry.trash().into_iter().map(|item| (item.name, item.absent)).collect();
    assert_eq!(trash, [("pdf".to_owned(), true), ("csv".to_owned(), false)]);
    // One of two.
    install(&registry, &["pdf"], "");
    std::fs::remove_dir_all(dir.path().join("skills/xml")).unwrap();
    registry.remove(&["pdf", "xml"], now()).unwrap();
    let back: Vec<_> = registry.undo(now()).unwrap().into_iter().map(|moved| moved.name).collect();
    assert_eq!(back, ["pdf"]);
    registry.restore("csv", now()).unwrap();
    assert!(is_clean(&registry));
    let freed = registry.gc(None).unwrap();
    assert_eq!(freed.trash, 0, "nothing in it could have been brought back");
    assert_eq!(registry.trash(), []);
}

#[test]
fn several_come_back_all_or_none() {
    let dir = tempdir();
    let registry = open(dir.path());
    install(&registry, &["csv", "pdf"], "");
    let before = seen(&registry);
    registry.remove(&["csv"], now()).unwrap();
    registry.remove(&["pdf"], now()).unwrap();
    let gone = seen(&registry);
    let error = registry.restore_all(&["csv", "pdf", "never"], now()).unwrap_err();
    assert!(matches!(&error, RegistryError::NothingInTrash { name: Some(name) } if name == "never"), "{error}");
    assert_eq!(seen(&registry), gone);
    let back = registry.restore_all(&["pdf", "csv", "pdf"], now()).unwrap();
    assert_eq!(back.len(), 2);
    assert_eq!(seen(&registry), before);
}

#[test]
fn modes_that_let_others_write_are_drift() {
    let dir = tempdir();
    let registry = open(dir.path());
    // Whatever it was fetched with, it is installed without.
    let staging = registry.begin().unwrap();
    skill(&staging, &Disk::default(), "pdf", "").unwrap();
    let chmod = |path: &std::path::Path, mode| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    chmod(&staging.dir().join("pdf/SKILL.md"), 0o666);
    chmod(&staging.dir().join("pdf/scripts/run.sh"), 0o4755);
    chmod(&staging.dir().join("pdf/scripts"), 0o777);
    let mut options = options();
    options.allow_findings = true;
    registry.install(&staging, &[chosen("pdf", "/from/here")], &options).unwrap();
    assert!(is_clean(&registry));
    let skill = registry.dir_of(InstallableKind::Skill, "pdf");
    for (path, mode, plain) in [
        ("SKILL.md", 0o664, 0o644),
        ("SKILL.md", 0o646, 0o644),
        ("scripts/run.sh", 0o4755, 0o755),
        ("scripts/run.sh", 0o2755, 0o755),
        ("scripts/run.sh", 0o1755, 0o755),
        ("scripts", 0o777, 0o755),
    ] {
        chmod(&skill.join(path), mode);
        let drift = registry.verify(&["pdf"]).unwrap().remove(0).drift;
        assert_eq!(
            drift.iter().map(|drift| (drift.path.as_str(), drift.what)).collect::<Vec<_>>(),
            [(path, DriftKind::Mode)]
        );
        chmod(&skill.join(path), plain);
        assert!(is_clean(&registry));
    }
}

#[test]
fn gc_counts_what_it_frees() {
    let dir = tempdir();
    let registry = open(dir.path());
    install(&registry, &["csv", "pdf"], "");
    registry.remove(&["csv", "pdf"], now()).unwrap();
    registry.restore("csv", now()).unwrap();
    let trash = dir.path().join(".registry/trash");
    let weigh = || -> u64 {
        all_below(&trash).iter().filter(|path| path.is_file()).map(|path| path.metadata().unwrap().len()).sum()
    };
    // One that says nothing of itself, and is new.
    std::fs::create_dir(trash.join("00000009")).unwrap();
    std::fs::write(trash.join("00000009/something"), "12345").unwrap();
    let before = weigh();
    let freed = registry.gc(Some(now() - Duration::from_hours(400_000))).unwrap();
    assert_eq!((freed.trash, freed.leftovers, freed.bytes), (0, 0, 0), "all of it is younger");
    assert_eq!(weigh(), before);
    let freed = registry.gc(None).unwrap();
    assert_eq!((freed.trash, freed.leftovers), (1, 1));
    assert_eq!((freed.bytes, weigh()), (before, 0));
    assert_eq!(registry.gc(None).unwrap(), skillcue_registry::GcReport::default());
}
