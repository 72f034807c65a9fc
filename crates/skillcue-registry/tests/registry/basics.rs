//! Install, enable, remove, bring back, verify, collect.

use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::time::Duration;

use skillcue_audit::{Audit, AuditSeverity, Rule};
use skillcue_registry::{
    Disk, DriftKind, InstallStatus, InstallableKind, Registry, RegistryError, RegistryLocation, StagedItem, TrashReason,
};

use crate::support::{chosen, install, is_clean, litter, manifest, now, open, options, plugin, seen, skill, tempdir};

#[test]
fn installed_skills_are_off_until_enabled() {
    let dir = tempdir();
    let registry = open(&dir.path().join("data/skillcue"));
    assert_eq!(registry.state(), skillcue_registry::RegistryState::default());
    assert!(!dir.path().join("data").exists(), "looking makes nothing");
    let report = install(&registry, &["pdf", "csv"], "version: 1.10\n");
    assert_eq!(
        report.done.iter().map(|done| (done.name.as_str(), done.enabled)).collect::<Vec<_>>(),
        [("pdf", None), ("csv", None)]
    );
    let state = registry.state();
    assert_eq!(state.installed["pdf"].version.as_deref(), Some("1.10"));
    assert_eq!(state.installed["pdf"].installed.as_deref(), Some("2027-01-15T08:00:00Z"));
    assert!(registry.enabled().is_empty());
    let changed = registry.enable(&["pdf", "somewhere@project"], true).unwrap();
    assert_eq!(changed.iter().map(|changed| changed.was).collect::<Vec<_>>(), [None, None]);
    registry.enable(&["pdf"], false).unwrap();
    assert_eq!(
        registry.enabled().into_iter().collect::<Vec<_>>(),
        [("pdf".to_owned(), false), ("somewhere@project".to_owned(), true)]
    );
    let changed = registry.forget(&["pdf", "never"]).unwrap();
    assert_eq!(changed.iter().map(|changed| changed.was).collect::<Vec<_>>(), [Some(false), None]);
    assert!(matches!(registry.enable(&["a\nb"], true), Err(RegistryError::Address { .. })));
}

#[test]
fn the_files_read_well() {
    let dir = tempdir();
    let registry = open(dir.path());
    let staging = registry.begin().unwrap();
    skill(&staging, &Disk::default(), "pdf", "").unwrap();
    let commit = "0123456789012345678901234567890123456789".to_owned();
    let mut options = options();
    options.enable = true;
    registry
        .install(&staging, &[chosen("pdf", "https://example.org/x.git@main").at_commit(Some(commit))], &options)
        .unwrap();
    let digest = registry.state().installed["pdf"].digest;
    let expected = format!(
        r#"{{
  "version": 1,
  "installed": {{
    "pdf": {{
      "kind": "skill",
      "origin": "https://example.org/x.git@main",
      "at": "pdf",
      "commit": "0123456789012345678901234567890123456789",
      "digest": "{digest}",
      "installed": "2027-01-15T08:00:00Z"
    }}
  }},
  "enabled": {{
    "pdf": true
  }}
}}
"#
    );
    assert_eq!(std::fs::read_to_string(dir.path().join("registry.json")).unwrap(), expected);
    let lock = std::fs::read_to_string(dir.path().join("skillcue.lock")).unwrap();
    let lines: Vec<_> = lock.lines().filter(|line| line.contains("SKILL.md") || line.contains("run.sh")).collect();
    assert_eq!(lines.len(), 2, "{lock}");
    assert!(lines[1].starts_with("        \"scripts/run.sh\": \"") && lines[1].ends_with(" x\""), "{lock}");
}

#[test]
fn a_project_keeps_its_inner_things_out_of_its_history() {
    let dir = tempdir();
    let registry = Registry::open(RegistryLocation::project(dir.path()), Disk::default());
    install(&registry, &["pdf"], "");
    assert!(dir.path().join(".skillcue/skills/pdf/SKILL.md").is_file());
    assert!(dir.path().join("registry.json").is_file() && dir.path().join("skillcue.lock").is_file());
    assert_eq!(std::fs::read_to_string(dir.path().join(".skillcue/registry/.gitignore")).unwrap(), "*\n");

    // A checkout without what was installed can be filled again, with the same bytes only.
    std::fs::remove_dir_all(dir.path().join(".skillcue")).unwrap();
    let missing = registry.restore_plan().unwrap();
    assert_eq!((missing.len(), missing[0].origin.as_str(), missing[0].at.as_str()), (1, "/from/here", "pdf"));
    let staging = registry.begin().unwrap();
    skill(&staging, &Disk::default(), "pdf", "license: other\n").unwrap();
    let wanted = chosen("pdf", "/from/here").expecting(Some(missing[0].digest));
    let error = registry.install(&staging, std::slice::from_ref(&wanted), &options()).unwrap_err();
    assert!(matches!(error, RegistryError::Differs { .. }), "{error}");
    let staging = registry.begin().unwrap();
    skill(&staging, &Disk::default(), "pdf", "").unwrap();
    registry.install(&staging, &[wanted], &options()).unwrap();
    assert_eq!(registry.restore_plan().unwrap(), []);
    assert!(registry.verify_all().unwrap()[0].is_clean());
}

#[test]
fn a_plugin_is_one_thing_with_many_skills() {
    let dir = tempdir();
    let registry = open(dir.path());
    let staging = registry.begin().unwrap();
    plugin(&staging, &Disk::default(), "Office").unwrap();
    registry.install(&staging, &[StagedItem::new(InstallableKind::Plugin, "Office", "/o")], &options()).unwrap();
    let state = registry.state();
    assert_eq!(state.installed["Office"].skills, ["letters", "slides"]);
    assert_eq!(state.installed["Office"].version.as_deref(), Some("2.0"));
    assert_eq!(registry.installed_plugins(), [dir.path().join("plugins/Office")]);
    registry.enable(&["Office"], true).unwrap();
    registry.enable(&["Office:slides"], false).unwrap();
    let enabled: Vec<_> = registry.enabled().into_iter().collect();
    assert_eq!(enabled, [("Office:letters".to_owned(), true), ("Office:slides".to_owned(), false)]);
    registry.remove(&["Office"], now()).unwrap();
    assert!(registry.state().enabled.is_empty());
    registry.undo(now()).unwrap();
    assert_eq!(registry.enabled().into_iter().collect::<Vec<_>>(), enabled);
    registry.enable(&["Office"], true).unwrap();
    assert!(registry.enabled().values().all(|on| *on), "all of it is what was said last: {:?}", registry.enabled());
    registry.enable(&["Office:slides", "Office2:slides"], true).unwrap();
    registry.enable(&["Office"], false).unwrap();
    assert_eq!(
        registry.state().enabled.into_iter().collect::<Vec<_>>(),
        [("Office2:slides".to_owned(), true), ("Office:*".to_owned(), false)]
    );
}

#[test]
fn an_installed_skill_is_not_overwritten_unasked() {
    let dir = tempdir();
    let registry = open(dir.path());
    install(&registry, &["pdf"], "");
    registry.enable(&["pdf"], true).unwrap();
    let other = |registry: &Registry, replace| {
        let staging = registry.begin().unwrap();
        skill(&staging, &Disk::default(), "pdf", "license: other\n").unwrap();
        let mut options = options();
        options.replace = replace;
        registry.install(&staging, &[chosen("pdf", "/elsewhere")], &options)
    };
    let before = seen(&registry);
    let error = other(&registry, false).unwrap_err();
    assert_eq!(error.to_string(), "pdf is already installed, from /from/here");
    assert_eq!(seen(&registry), before);
    let report = other(&registry, true).unwrap();
    assert!(report.done[0].replaced);
    assert!(registry.enabled().is_empty(), "what was enabled was something else");
    registry.undo(now()).unwrap();
    assert_eq!(seen(&registry).files, before.files);
    assert_eq!(registry.enabled().get("pdf"), Some(&true));
    assert_eq!(registry.trash().iter().map(|trashed| trashed.why).collect::<Vec<_>>(), [TrashReason::Restored]);

    // One that was never installed.
    std::fs::create_dir(dir.path().join("skills/mine")).unwrap();
    let staging = registry.begin().unwrap();
    skill(&staging, &Disk::default(), "mine", "").unwrap();
    let error = registry.install(&staging, &[chosen("mine", "/x")], &options()).unwrap_err();
    assert!(matches!(error, RegistryError::InTheWay { .. }), "{error}");
    // One that was edited.
    std::fs::write(dir.path().join("skills/pdf/notes.txt"), "mine").unwrap();
    let staging = registry.begin().unwrap();
    skill(&staging, &Disk::default(), "pdf", "").unwrap();
    let error = registry.install(&staging, &[chosen("pdf", "/from/here")], &options()).unwrap_err();
    assert_eq!(error.to_string(), "pdf has been edited since it was installed: notes.txt");
}

#[test]
fn many_at_once_or_none() {
    let dir = tempdir();
    let registry = open(dir.path());
    let staging = registry.begin().unwrap();
    skill(&staging, &Disk::default(), "pdf", "").unwrap();
    std::fs::create_dir(staging.dir().join("bad")).unwrap();
    std::fs::write(staging.dir().join("bad/SKILL.md"), "no front matter").unwrap();
    let error = registry.install(&staging, &[chosen("pdf", "/x"), chosen("bad", "/x")], &options()).unwrap_err();
    assert!(error.to_string().starts_with("bad is no valid skill: "), "{error}");
    assert!(registry.state().installed.is_empty() && !dir.path().join("skills").exists());
    let error = registry.install(&staging, &[chosen("pdf", "/x"), chosen("pdf", "/x")], &options()).unwrap_err();
    assert!(matches!(error, RegistryError::Twice { .. }), "{error}");
    let error = registry.install(&staging, &[chosen("pdf", "/x"), chosen("skills/b", "/x")], &options()).unwrap_err();
    assert_eq!(error.to_string(), "skills/b is no longer in its origin, /x");
    for at in ["../files/pdf", "/etc", "pdf/SKILL.md"] {
        let error = registry.install(&staging, &[chosen(at, "/x")], &options()).unwrap_err();
        assert!(matches!(error, RegistryError::NotADirectory { .. }), "{error}");
    }
    drop(staging);
    assert_eq!(litter(dir.path()).len(), 0);
}

#[test]
fn a_skill_inside_another_is_installed_with_it() {
    let dir = tempdir();
    let registry = open(dir.path());
    let staging = registry.begin().unwrap();
    skill(&staging, &Disk::default(), "inner", "").unwrap();
    std::fs::create_dir(staging.dir().join("skills")).unwrap();
    std::fs::rename(staging.dir().join("inner"), staging.dir().join("skills/inner")).unwrap();
    std::fs::write(staging.dir().join("SKILL.md"), manifest("outer", "")).unwrap();
    symlink("SKILL.md", staging.dir().join("README.md")).unwrap();
    registry.install(&staging, &[chosen("", "/x"), chosen("skills/inner", "/x")], &options()).unwrap();
    assert!(dir.path().join("skills/outer/skills/inner/SKILL.md").is_file());
    assert_eq!(dir.path().join("skills/outer/README.md").read_link().unwrap(), Path::new("SKILL.md"));
    let mode = dir.path().join("skills/inner/scripts/run.sh").metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o111, 0o111);
    assert!(is_clean(&registry));
}

#[test]
fn verify_says_what_has_drifted() {
    let dir = tempdir();
    let registry = open(dir.path());
    install(&registry, &["gone", "pdf"], "");
    let at = |path: &str| dir.path().join("skills").join(path);
    std::fs::write(at("pdf/SKILL.md"), "other").unwrap();
    std::fs::set_permissions(at("pdf/scripts/run.sh"), std::fs::Permissions::from_mode(0o644)).unwrap();
    std::fs::write(at("pdf/new.txt"), "").unwrap();
    symlink("/etc/passwd", at("pdf/out")).unwrap();
    std::fs::remove_dir_all(at("gone")).unwrap();
    std::fs::create_dir(at("stray")).unwrap();
    let verified = registry.verify_all().unwrap();
    let standings: Vec<_> = verified.iter().map(|v| (v.name.as_str(), v.standing)).collect();
    assert_eq!(
        standings,
        [("gone", InstallStatus::Absent), ("pdf", InstallStatus::Locked), ("stray", InstallStatus::Stray)]
    );
    let drift: Vec<_> = verified[1].drift.iter().map(|drift| (drift.path.as_str(), drift.what)).collect();
    let expected = [
        ("SKILL.md", DriftKind::Changed),
        ("new.txt", DriftKind::Added),
        ("out", DriftKind::Added),
        ("scripts/run.sh", DriftKind::Mode),
    ];
    assert_eq!(drift, expected);
    std::fs::remove_file(at("pdf/SKILL.md")).unwrap();
    symlink("scripts/run.sh", at("pdf/SKILL.md")).unwrap();
    std::fs::remove_file(at("pdf/scripts/run.sh")).unwrap();
    let drift: Vec<_> = registry.verify(&["pdf"]).unwrap()[0].drift.iter().map(|drift| drift.what).collect();
    assert_eq!(drift, [DriftKind::Link, DriftKind::Added, DriftKind::Added, DriftKind::Missing]);
    assert!(matches!(registry.verify(&["never"]), Err(RegistryError::NotInstalled { .. })));
}

#[test]
fn restored_skills_are_as_they_were() {
    let dir = tempdir();
    let registry = open(dir.path());
    install(&registry, &["csv", "pdf"], "");
    registry.enable(&["pdf"], true).unwrap();
    std::fs::write(dir.path().join("skills/pdf/edited.txt"), "mine").unwrap();
    let before = seen(&registry);
    registry.remove(&["pdf", "csv"], now()).unwrap();
    let state = registry.state();
    assert!(state.installed.is_empty() && state.enabled.is_empty());
    assert_eq!(registry.trash().len(), 2);
    assert!(registry.trash()[0].bytes > 0);
    assert!(matches!(registry.remove(&["pdf"], now()), Err(RegistryError::NotInstalled { .. })));
    registry.restore("csv", now()).unwrap();
    assert_eq!(registry.trash().len(), 1);
    registry.undo(now()).unwrap();
    assert_eq!(seen(&registry), before);
    assert!(matches!(registry.undo(now()), Err(RegistryError::NothingInTrash { .. })));
}

#[test]
fn gc_takes_what_is_old_enough() {
    let dir = tempdir();
    let registry = open(dir.path());
    assert_eq!(registry.gc(None).unwrap().trash, 0);
    install(&registry, &["csv", "pdf"], "");
    registry.remove(&["csv"], now()).unwrap();
    registry.remove(&["pdf"], now() + Duration::from_mins(1)).unwrap();
    let freed = registry.gc(Some(now() + Duration::from_mins(1))).unwrap();
    assert_eq!(freed.trash, 1);
    assert!(freed.bytes > 0);
    assert_eq!(registry.trash()[0].name, "pdf");
    assert_eq!(registry.gc(None).unwrap().trash, 1);
    assert!(matches!(registry.restore("pdf", now()), Err(RegistryError::NothingInTrash { .. })));
}

static RULE: Rule = Rule { id: "fetch-and-run", severity: AuditSeverity::High, title: "", explanation: "", help: "" };

#[test]
fn a_high_finding_stops_the_install_and_is_carried_along() {
    let dir = tempdir();
    let registry = open(dir.path());
    let staging = registry.begin().unwrap();
    skill(&staging, &Disk::default(), "pdf", "").unwrap();
    let finding = RULE.found("SKILL.md", "curl | sh".to_owned());
    let auditor = |_: &Path| Audit { findings: vec![finding.clone()], files: 1, bytes: 1 };
    let mut options = options();
    options.auditor = &auditor;
    match registry.install(&staging, &[chosen("pdf", "/x")], &options).unwrap_err() {
        RegistryError::Findings { found } => assert_eq!(found[0].1[0].message, "curl | sh"),
        error => panic!("{error}"),
    }
    assert!(registry.state().installed.is_empty());
    options.allow_findings = true;
    let report = registry.install(&staging, &[chosen("pdf", "/x")], &options).unwrap();
    assert_eq!(report.done[0].findings.len(), 1);
}
