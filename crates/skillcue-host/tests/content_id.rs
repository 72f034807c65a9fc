//! One identity of a skill's content: what is locked is what is verified is what people consent to.
#![expect(clippy::unwrap_used, reason = "a test whose setting fails has failed")]

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::SystemTime;

use skillcue_catalog::consent::{ConsentGate, ConsentStore, Question, Scope, Subject};
use skillcue_catalog::{ContentId, SkillDir};
use skillcue_registry::{Disk, InstallOptions, InstallableKind, Registry, RegistryLocation, StagedItem};

fn locked(dir: &Path) -> String {
    let lock = std::fs::read(dir.join("skillcue.lock")).unwrap();
    let lock: serde_json::Value = serde_json::from_slice(&lock).unwrap();
    lock["locked"]["pdf"]["digest"].as_str().unwrap().to_owned()
}

#[test]
fn lock_verification_and_consent_have_one_content_id() {
    let tmp = tempfile::tempdir().unwrap();
    let registry = Registry::open(RegistryLocation::user(tmp.path()), Disk::default());
    let staging = registry.begin().unwrap();
    let from = staging.dir().join("pdf");
    std::fs::create_dir_all(from.join("scripts")).unwrap();
    std::fs::write(from.join("SKILL.md"), "---\nname: pdf\ndescription: Reads PDF files.\n---\n# How\n").unwrap();
    std::fs::write(from.join("scripts/run.sh"), "#!/bin/sh\necho hello\n").unwrap();
    std::fs::set_permissions(from.join("scripts/run.sh"), std::fs::Permissions::from_mode(0o755)).unwrap();
    std::os::unix::fs::symlink("run.sh", from.join("scripts/start")).unwrap();
    let chosen = StagedItem::new(InstallableKind::Skill, "pdf", "/from/here");
    registry.install(&staging, &[chosen], &InstallOptions::at(SystemTime::now())).unwrap();

    let dir = tmp.path().join("skills/pdf");
    let skill = SkillDir::open("pdf", &dir).unwrap();
    let id = ContentId::of(&skill).unwrap();
    assert_eq!(id.to_string(), locked(tmp.path()));
    assert_eq!(id, registry.state().installed["pdf"].digest);
    assert!(registry.verify(&["pdf"]).unwrap()[0].is_clean());
    let store = ConsentStore::default();
    let asked = || Question::for_skill(&skill, Subject::script(&skill, "scripts/run.sh")).unwrap();
    assert_eq!(asked().content, id);

    // Whatever ends one ends the others, a mode too.
    store.remember(&asked(), Scope::Always).unwrap();
    std::fs::set_permissions(dir.join("scripts/run.sh"), std::fs::Permissions::from_mode(0o644)).unwrap();
    assert_ne!(ContentId::of(&skill).unwrap(), id);
    assert!(!registry.verify(&["pdf"]).unwrap()[0].is_clean());
    assert!(!store.answer(&asked()).is_allowed());
}
