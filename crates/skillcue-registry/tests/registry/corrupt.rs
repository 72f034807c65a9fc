//! Files that are broken, cut short, or a later version's.

use std::path::Path;

use skillcue_registry::{InstallStatus, RegistryError};

use crate::support::{install, is_clean, now, open, tempdir};

fn write(dir: &Path, file: &str, text: &str) {
    std::fs::write(dir.join(file), text).unwrap();
}

fn read(dir: &Path, file: &str) -> String {
    std::fs::read_to_string(dir.join(file)).unwrap()
}

#[test]
fn a_broken_registry_is_rebuilt_from_the_lock_and_everything_is_off() {
    let dir = tempdir();
    let registry = open(dir.path());
    install(&registry, &["pdf", "csv"], "version: 1\n");
    registry.enable(&["pdf"], true).unwrap();
    let good = read(dir.path(), "registry.json");
    for broken in [
        "",
        "{ not json",
        "null",
        &good[..good.len() / 2],
        "{\"version\":0,\"installed\":{}}",
        "{\"version\":1,\"installed\":[]}",
    ] {
        write(dir.path(), "registry.json", broken);
        let state = registry.state();
        assert_eq!(state.installed.keys().collect::<Vec<_>>(), ["csv", "pdf"], "{broken:?}");
        assert!(state.enabled.is_empty(), "{broken:?}");
        assert_eq!(state.diagnostics.len(), 1, "{broken:?}: {:?}", state.diagnostics);
        assert!(state.diagnostics[0].help.as_deref().unwrap().contains("skillcue.lock"), "{:?}", state.diagnostics);
        assert_eq!(read(dir.path(), "registry.json"), broken, "reading changes nothing");
    }
    let broken = read(dir.path(), "registry.json");
    registry.enable(&["csv"], true).unwrap();
    assert_eq!(read(dir.path(), "registry.json.broken-1"), broken);
    let state = registry.state();
    assert_eq!((state.installed.len(), state.enabled.len(), state.diagnostics.len()), (2, 1, 0));
    assert!(is_clean(&registry));
    write(dir.path(), "registry.json", "again");
    let report = install(&registry, &["xml"], "");
    assert!(report.notes[0].help.as_deref().unwrap().contains("registry.json.broken-2"), "{:?}", report.notes);
    assert_eq!(read(dir.path(), "registry.json.broken-2"), "again");
    assert_eq!(registry.gc(None).unwrap().broken.len(), 2, "they are listed, and left");
    assert_eq!(read(dir.path(), "registry.json.broken-2"), "again");
}

#[test]
fn a_missing_registry_is_not_an_empty_one() {
    let dir = tempdir();
    let registry = open(dir.path());
    assert_eq!(registry.state().diagnostics, [], "where nothing is, nothing is missing");
    install(&registry, &["pdf"], "");
    std::fs::remove_file(dir.path().join("registry.json")).unwrap();
    let state = registry.state();
    assert_eq!((state.installed.len(), state.diagnostics.len()), (1, 1));
    registry.enable(&["csv"], true).unwrap();
    assert_eq!(registry.state().installed.len(), 1);
}

#[test]
fn a_broken_lock_is_rebuilt_of_what_is_still_as_it_was() {
    let dir = tempdir();
    let registry = open(dir.path());
    install(&registry, &["pdf", "csv"], "");
    let lock = read(dir.path(), "skillcue.lock");
    write(dir.path(), "skillcue.lock", &lock[..lock.len() - 20]);
    write(&dir.path().join("skills/csv"), "SKILL.md", "---\nname: csv\ndescription: Edited.\n---\n");
    let standings: Vec<_> = registry.verify_all().unwrap().into_iter().map(|v| (v.standing, v.drift.len())).collect();
    assert_eq!(standings, [(InstallStatus::Unlocked, 1), (InstallStatus::Unlocked, 0)]);
    let report = install(&registry, &["xml"], "");
    assert_eq!(report.notes.len(), 2, "{:?}", report.notes);
    let verified = registry.verify_all().unwrap();
    let clean: Vec<_> = verified.iter().filter(|v| v.is_clean()).map(|v| v.name.as_str()).collect();
    assert_eq!(clean, ["pdf", "xml"]);
    assert!(dir.path().join("skillcue.lock.broken-1").is_file());
}

#[test]
fn with_both_broken_what_stands_there_is_reported_and_left() {
    let dir = tempdir();
    let registry = open(dir.path());
    install(&registry, &["pdf"], "");
    write(dir.path(), "registry.json", "?");
    write(dir.path(), "skillcue.lock", "?");
    let state = registry.state();
    assert!(state.installed.is_empty());
    assert_eq!(state.diagnostics.len(), 2, "{:?}", state.diagnostics);
    assert!(state.diagnostics[1].path.as_deref().unwrap().ends_with("skills/pdf"));
    registry.enable(&["csv"], true).unwrap();
    assert!(dir.path().join("skills/pdf/SKILL.md").is_file());
    assert_eq!(registry.verify_all().unwrap()[0].standing, InstallStatus::Stray);
    registry.remove(&["pdf"], now()).unwrap();
    assert!(!dir.path().join("skills/pdf").exists());
    registry.undo(now()).unwrap();
    assert!(dir.path().join("skills/pdf/SKILL.md").is_file());
}

#[test]
fn files_of_a_newer_version_are_left_alone() {
    for file in ["registry.json", "skillcue.lock", ".registry/journal.json"] {
        let dir = tempdir();
        let registry = open(dir.path());
        install(&registry, &["pdf"], "");
        let newer = "{\"version\": 2, \"installed\": \"otherwise\"}";
        write(dir.path(), file, newer);
        assert_eq!(registry.state().diagnostics.len(), usize::from(file != "skillcue.lock"), "{file}");
        let error = registry.remove(&["pdf"], now()).unwrap_err();
        assert!(matches!(error, RegistryError::Newer { .. }), "{file}: {error}");
        assert_eq!(read(dir.path(), file), newer);
        assert!(dir.path().join("skills/pdf/SKILL.md").is_file());
    }
}

#[test]
fn unknown_fields_are_kept() {
    let dir = tempdir();
    let registry = open(dir.path());
    install(&registry, &["pdf"], "");
    let more = |text: String| text.replacen("{\n", "{\n  \"colour\": \"blue\",\n", 1);
    for file in ["registry.json", "skillcue.lock"] {
        write(dir.path(), file, &more(read(dir.path(), file)));
    }
    install(&registry, &["csv"], "");
    for file in ["registry.json", "skillcue.lock"] {
        assert!(read(dir.path(), file).contains("\"colour\": \"blue\""), "{file}");
    }
}

#[test]
fn a_broken_journal_is_set_aside() {
    let dir = tempdir();
    let registry = open(dir.path());
    install(&registry, &["pdf"], "");
    write(dir.path(), ".registry/journal.json", "{ \"version\": 1, \"stag");
    let registry = open(dir.path());
    assert_eq!(registry.state().diagnostics.len(), 1);
    registry.enable(&["pdf"], true).unwrap();
    assert_eq!(registry.state().diagnostics, []);
    assert!(dir.path().join(".registry/journal.json.broken-1").is_file());
    assert_eq!(registry.gc(None).unwrap().broken.len(), 1);
}
