//! Updates: what would change, and what is kept.

use std::path::Path;

use skillcue_audit::{Audit, AuditSeverity, Rule};
use skillcue_registry::{Disk, FileChangeKind, Registry, RegistryError, UpdateOptions, UpdatePlan};

use crate::support::{chosen, install, manifest, now, open, seen, tempdir};

fn plan(registry: &Registry, text: &str, more: &[(&str, &str)]) -> UpdatePlan {
    let staging = registry.begin().unwrap();
    let dir = staging.dir().join("pdf");
    std::fs::create_dir(&dir).unwrap();
    Disk::default().write(&dir.join("SKILL.md"), text.as_bytes(), 0o644).unwrap();
    for (path, text) in more {
        std::fs::write(dir.join(path), text).unwrap();
    }
    registry.plan_update("pdf", &staging, &chosen("pdf", "/from/here")).unwrap()
}

#[test]
fn a_plan_shows_what_would_change() {
    let dir = tempdir();
    let registry = open(dir.path());
    install(&registry, &["pdf"], "version: 1\npermissions:\n  env: [TOKEN]\n");
    registry.enable(&["pdf"], true).unwrap();
    let before = seen(&registry);
    let new = manifest("pdf", "license: MIT\npermissions:\n  network: true\n  env: [TOKEN]\n") + "More.\n";
    let plan = plan(&registry, &new, &[("new.bin", "a\0b")]);
    assert_eq!(seen(&registry), before, "planning changes nothing");
    assert!(!plan.is_empty());
    let fields: Vec<_> = plan
        .front_matter
        .iter()
        .map(|field| (field.field.as_str(), field.old.as_deref(), field.new.as_deref()))
        .collect();
    let expected = [
        ("license", None, Some("MIT")),
        ("permissions", Some(r#"{"env":["TOKEN"]}"#), Some(r#"{"network":true,"env":["TOKEN"]}"#)),
        ("version", Some("1"), None),
    ];
    assert_eq!(fields, expected);
    let permissions: Vec<_> = plan.permissions.iter().map(|p| (p.permission.as_str(), p.widened)).collect();
    assert_eq!(permissions, [("network", true)]);
    let files: Vec<_> = plan.files.iter().map(|file| (file.path.as_str(), file.change)).collect();
    let expected = [
        ("SKILL.md", FileChangeKind::Changed),
        ("new.bin", FileChangeKind::Added),
        ("scripts/run.sh", FileChangeKind::Removed),
    ];
    assert_eq!(files, expected);
    assert!(plan.diff("SKILL.md", 1 << 20).unwrap().contains("\n-version: 1\n"));
    assert_eq!(plan.diff("scripts/run.sh", 1 << 20).unwrap(), "@@ -1,2 +0,0 @@\n-#!/bin/sh\n-echo pdf\n");
    assert_eq!(plan.diff("new.bin", 1 << 20), None, "it is no text");
    assert_eq!(plan.diff("SKILL.md", 10), None, "it is too large");
    let json = serde_json::to_value(&plan).unwrap();
    assert_eq!(json["files"][0]["change"], "changed");

    registry.apply_updates(vec![plan], &UpdateOptions::at(now())).unwrap();
    assert_eq!(std::fs::read_to_string(dir.path().join("skills/pdf/SKILL.md")).unwrap(), new);
    assert_eq!(registry.enabled().get("pdf"), Some(&true), "an update keeps what was said");
    assert!(registry.verify_all().unwrap()[0].is_clean());
    registry.undo(now()).unwrap();
    let undone = seen(&registry);
    assert_eq!((undone.files, undone.installed, undone.lock), (before.files, before.installed, before.lock));
}

#[test]
fn an_update_to_the_same_is_empty() {
    let dir = tempdir();
    let registry = open(dir.path());
    install(&registry, &["pdf"], "");
    let plan = plan(&registry, &manifest("pdf", ""), &[]);
    assert_eq!(plan.files.len(), 1, "run.sh is missing in this one");
    let staging = registry.begin().unwrap();
    crate::support::skill(&staging, &Disk::default(), "pdf", "").unwrap();
    let wanted = chosen("pdf", "/from/here").at_commit(Some("c".repeat(40)));
    let plan = registry.plan_update("pdf", &staging, &wanted).unwrap();
    assert!(plan.is_empty() && plan.front_matter.is_empty());
    let report = registry.apply_updates(vec![plan], &UpdateOptions::at(now())).unwrap();
    assert!(report.done[0].unchanged);
    assert_eq!(registry.state().installed["pdf"].commit, Some("c".repeat(40)));
    assert_eq!(registry.trash(), [], "nothing had to go");
}

#[test]
fn local_edits_are_no_update() {
    let dir = tempdir();
    let registry = open(dir.path());
    install(&registry, &["pdf"], "version: 1\n");
    let file = dir.path().join("skills/pdf/SKILL.md");
    let edited = manifest("pdf", "license: mine\n");
    let plan = |more: &str, commit: &str| {
        let staging = registry.begin().unwrap();
        crate::support::skill(&staging, &Disk::default(), "pdf", more).unwrap();
        let wanted = chosen("pdf", "/from/here").at_commit(Some(commit.repeat(40)));
        registry.plan_update("pdf", &staging, &wanted).unwrap()
    };
    for lock in [true, false] {
        std::fs::write(&file, &edited).unwrap();
        if !lock {
            std::fs::remove_file(dir.path().join("skillcue.lock")).unwrap();
        }
        let same = plan("version: 1\n", "c");
        assert!(same.is_empty() && same.front_matter.is_empty() && same.permissions.is_empty(), "{same:?}");
        assert_eq!(same.edits.len(), 1);
        // The commit moves on, and nothing else.
        let report = registry.apply_updates(vec![same], &UpdateOptions::at(now())).unwrap();
        assert!(report.done[0].unchanged && !report.done[0].replaced);
        assert_eq!(std::fs::read_to_string(&file).unwrap(), edited);
        assert_eq!(registry.state().installed["pdf"].commit, Some("c".repeat(40)));
        assert_eq!(registry.trash(), []);
        if lock {
            let text = std::fs::read_to_string(dir.path().join("skillcue.lock")).unwrap();
            assert!(text.contains(&"c".repeat(40)), "{text}");
            let new = plan("version: 2\n", "d");
            let files: Vec<_> = new.files.iter().map(|file| (file.path.as_str(), file.change)).collect();
            assert_eq!(files, [("SKILL.md", FileChangeKind::Changed)], "run.sh is as it was");
            assert_eq!(new.edits[0].path, "SKILL.md");
            std::fs::write(dir.path().join("skills/pdf/mine.txt"), "mine").unwrap();
            let new = plan("version: 2\n", "d");
            assert_eq!(new.files.len(), 1, "a file of one's own is no change of theirs: {:?}", new.files);
            assert_eq!(new.edits.len(), 2);
            let error = registry.apply_updates(vec![new], &UpdateOptions::at(now())).unwrap_err();
            assert!(matches!(error, RegistryError::Edited { .. }), "{error}");
            std::fs::remove_file(dir.path().join("skills/pdf/mine.txt")).unwrap();
        }
    }
    // With edits overwritten, the files are those that were installed.
    let mut options = UpdateOptions::at(now());
    options.overwrite_edits = true;
    registry.apply_updates(vec![plan("version: 1\n", "e")], &options).unwrap();
    assert_eq!(std::fs::read_to_string(&file).unwrap(), manifest("pdf", "version: 1\n"));
    assert_eq!(registry.trash().len(), 1);
}

#[test]
fn edits_are_not_lost() {
    let dir = tempdir();
    let registry = open(dir.path());
    install(&registry, &["pdf"], "");
    std::fs::write(dir.path().join("skills/pdf/mine.txt"), "mine").unwrap();
    let update = plan(&registry, &manifest("pdf", "license: MIT\n"), &[]);
    assert_eq!(update.edits[0].path, "mine.txt");
    let error = registry.apply_updates(vec![update], &UpdateOptions::at(now())).unwrap_err();
    assert!(matches!(error, RegistryError::Edited { .. }), "{error}");
    assert!(dir.path().join("skills/pdf/mine.txt").is_file());
    let mut options = UpdateOptions::at(now());
    options.overwrite_edits = true;
    let update = plan(&registry, &manifest("pdf", "license: MIT\n"), &[]);
    registry.apply_updates(vec![update], &options).unwrap();
    assert!(!dir.path().join("skills/pdf/mine.txt").exists());
    registry.undo(now()).unwrap();
    assert_eq!(std::fs::read_to_string(dir.path().join("skills/pdf/mine.txt")).unwrap(), "mine");
}

#[test]
fn a_plan_for_something_else_is_refused() {
    let dir = tempdir();
    let registry = open(dir.path());
    install(&registry, &["pdf"], "");
    let old = plan(&registry, &manifest("pdf", "license: MIT\n"), &[]);
    let newer = plan(&registry, &manifest("pdf", "license: BSD\n"), &[]);
    registry.apply_updates(vec![newer], &UpdateOptions::at(now())).unwrap();
    let error = registry.apply_updates(vec![old], &UpdateOptions::at(now())).unwrap_err();
    assert!(matches!(error, RegistryError::Outdated { .. }), "{error}");
    let staging = registry.begin().unwrap();
    crate::support::skill(&staging, &Disk::default(), "other", "").unwrap();
    let error = registry.plan_update("pdf", &staging, &chosen("other", "/from/here")).unwrap_err();
    assert_eq!(error.to_string(), "pdf is now called other");
    let error = registry.plan_update("never", &staging, &chosen("other", "/from/here")).unwrap_err();
    assert!(matches!(error, RegistryError::NotInstalled { .. }), "{error}");
}

static RULE: Rule = Rule { id: "fetch-and-run", severity: AuditSeverity::High, title: "", explanation: "", help: "" };

#[test]
fn only_new_findings_stop_an_update() {
    let dir = tempdir();
    let registry = open(dir.path());
    install(&registry, &["pdf"], "");
    let finding = |message: &str| RULE.found("SKILL.md", message.to_owned());
    let installed = dir.path().join("skills/pdf");
    let auditor = |dir: &Path| {
        let findings = if dir == installed { vec![finding("old")] } else { vec![finding("old"), finding("new")] };
        Audit { findings, ..Audit::default() }
    };
    let plan = || {
        let staging = registry.begin().unwrap();
        crate::support::skill(&staging, &Disk::default(), "pdf", "license: MIT\n").unwrap();
        registry.plan_update_with("pdf", &staging, &chosen("pdf", "/from/here"), &auditor).unwrap()
    };
    assert_eq!(plan().findings.iter().map(|finding| &*finding.message).collect::<Vec<_>>(), ["new"]);
    let mut options = UpdateOptions::at(now());
    let error = registry.apply_updates(vec![plan()], &options).unwrap_err();
    assert!(matches!(error, RegistryError::Findings { .. }), "{error}");
    options.allow_findings = true;
    registry.apply_updates(vec![plan()], &options).unwrap();
}
