//! Checkouts that try to make us write, move or remove outside the place.

use std::collections::BTreeMap;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use skillcue_registry::{Disk, Registry, RegistryError, RegistryLocation, UpdateOptions};

use crate::support::{all_below, chosen, install, now, open, options, skill, tempdir};

/// Everything below a directory, with its bytes.
fn contents(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    all_below(dir).into_iter().map(|path| (path.clone(), std::fs::read(path).unwrap_or_default())).collect()
}

fn precious() -> tempfile::TempDir {
    let dir = tempdir();
    std::fs::write(dir.path().join("precious.txt"), "precious").unwrap();
    dir
}

#[test]
fn names_in_the_files_lead_nowhere() {
    let digest = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    for name in ["../../precious", "/etc", "..", ".", "a/b", "", "A B", "x\u{0}", ".registry"] {
        for kind in ["skill", "plugin"] {
            let dir = tempdir();
            let name = serde_json::to_string(name).unwrap();
            let entry = format!(
                "{{\"kind\": \"{kind}\", \"origin\": \"x\", \"source\": \"x\", \"files\": {{}}, \"digest\": \"{digest}\"}}"
            );
            let registry_text = format!("{{\"version\": 1, \"installed\": {{{name}: {entry}}}, \"enabled\": {{}}}}");
            std::fs::write(dir.path().join("registry.json"), registry_text).unwrap();
            let lock = format!("{{\"version\": 1, \"locked\": {{{name}: {entry}}}}}");
            std::fs::write(dir.path().join("skillcue.lock"), lock).unwrap();
            let registry = open(dir.path());
            let state = registry.state();
            assert!(state.installed.is_empty(), "{name}");
            assert_eq!(state.diagnostics.len(), 1, "{name}");
            assert!(registry.restore_plan().unwrap().is_empty(), "{name}");
            install(&registry, &["pdf"], "");
            assert!(dir.path().join("registry.json.broken-1").is_file());
            assert!(dir.path().join("skillcue.lock.broken-1").is_file());
        }
    }
}

#[test]
fn a_name_that_is_asked_for_leads_nowhere() {
    let outside = precious();
    let dir = outside.path().join("place");
    let registry = open(&dir);
    install(&registry, &["pdf"], "");
    for name in ["../../precious.txt", "..", ".", "/etc", "../.registry"] {
        let error = registry.remove(&[name], now()).unwrap_err();
        assert!(matches!(error, RegistryError::NotInstalled { .. }), "{name}: {error}");
        let error = registry.restore(name, now()).unwrap_err();
        assert!(matches!(error, RegistryError::NothingInTrash { .. }), "{name}: {error}");
    }
    assert!(outside.path().join("precious.txt").is_file());
    // Installed items are removed and restored by their names.
    registry.remove(&["pdf"], now()).unwrap();
    registry.restore("pdf", now()).unwrap();
    assert!(dir.join("skills/pdf/SKILL.md").is_file());
}

#[test]
fn a_journal_of_a_checkout_leads_nowhere() {
    let outside = precious();
    let before = contents(outside.path());
    let step = |kind: &str, name: &str, comes: &str, goes: bool| {
        format!("{{\"kind\": \"{kind}\", \"name\": {name:?}, \"comes\": {comes}, \"goes\": {goes}, \"was\": null}}")
    };
    let journal = |staging: &str, trash: &str, moves: &str, aside: &str, files: &str| {
        format!(
            "{{\"version\": 1, \"staging\": {staging:?}, \"trash\": {trash}, \"moves\": [{moves}], \"aside\": [{aside}], \"files\": [{files}]}}"
        )
    };
    let from_trash = "{\"from_trash\": \"../../..\", \"inode\": 1, \"digest\": null}";
    let staged = "{\"from_trash\": null, \"inode\": 1, \"digest\": null}";
    let out = outside.path().to_str().unwrap();
    let hostile = [
        journal("../../..", "null", "", "", ""),
        journal(out, "null", "", "", ""),
        journal("1-1-1", "\"../../../x\"", "", "", ""),
        journal("1-1-1", "\"1\"", &step("skill", "../../../precious.txt", "null", true), "", ""),
        journal("1-1-1", "\"1\"", &step("plugin", "..", "null", true), "", ""),
        journal("1-1-1", "\"1\"", &step("skill", out, staged, false), "", ""),
        journal("1-1-1", "\"1\"", &step("skill", "pdf", from_trash, false), "", ""),
        journal("1-1-1", "null", &step("skill", "pdf", "null", true), "", ""),
        journal("1-1-1", "null", "", "[\"../precious.txt\", 1]", ""),
        journal("1-1-1", "null", "", "", "\"../precious.txt\""),
        journal("1-1-1", "null", "", "", "\"skills\""),
        "{\"version\": 1}".to_owned(),
        "[".repeat(100_000),
    ];
    for text in hostile {
        let dir = outside.path().join("place");
        install(&open(&dir), &["pdf"], "");
        std::fs::write(dir.join(".registry/journal.json"), &text).unwrap();
        let registry = open(&dir);
        let short: String = text.chars().take(200).collect();
        assert_eq!(registry.state().diagnostics.len(), 1, "{short}");
        registry.enable(&["pdf"], true).unwrap();
        assert!(registry.verify_all().unwrap()[0].is_clean(), "{short}");
        assert!(dir.join(".registry/journal.json.broken-1").is_file());
        std::fs::remove_dir_all(&dir).unwrap();
        assert_eq!(contents(outside.path()), before, "{short}");
    }
}

/// A project with a journal that puts `evil` in its place, which stands ready but for what `link` leads elsewhere.
fn journal_of_a_checkout(dir: &Path, link: Option<(&str, &Path)>) -> Registry {
    let inner = dir.join(".skillcue/registry");
    let ready = inner.join("staging/1-1-1/put/evil");
    std::fs::create_dir_all(&ready).unwrap();
    std::fs::write(ready.join("SKILL.md"), "theirs").unwrap();
    let inode = std::os::unix::fs::MetadataExt::ino(&ready.metadata().unwrap());
    std::fs::create_dir_all(inner.join("trash")).unwrap();
    if let Some((link, to)) = link {
        let at = if link == "skills" { dir.join(".skillcue/skills") } else { inner.join(link) };
        let _ = std::fs::remove_dir_all(&at);
        symlink(to, at).unwrap();
    }
    let text = format!(
        "{{\"version\": 1, \"staging\": \"1-1-1\", \"trash\": null, \"moves\": [{{\"kind\": \"skill\", \"name\": \"evil\", \
         \"comes\": {{\"from_trash\": null, \"inode\": {inode}, \"digest\": null}}, \"goes\": false, \"was\": null}}], \
         \"aside\": [], \"files\": []}}"
    );
    std::fs::write(inner.join("journal.json"), text).unwrap();
    Registry::open(RegistryLocation::project(dir), Disk::default())
}

#[test]
fn a_sound_journal_is_carried_out_and_not_through_links() {
    let dir = tempdir();
    journal_of_a_checkout(dir.path(), None).enable(&["pdf"], true).unwrap();
    let put = dir.path().join(".skillcue/skills/evil/SKILL.md");
    assert_eq!(std::fs::read_to_string(put).unwrap(), "theirs", "without a link it is put in its place");
    for link in ["skills", "staging/1-1-1", "staging/1-1-1/put", "staging/1-1-1/put/evil"] {
        let (outside, dir) = (precious(), tempdir());
        std::fs::create_dir(outside.path().join("evil")).unwrap();
        std::fs::write(outside.path().join("evil/SKILL.md"), "mine").unwrap();
        let before = contents(outside.path());
        let registry = journal_of_a_checkout(dir.path(), Some((link, outside.path())));
        let _ = registry.enable(&["pdf"], true);
        let _ = registry.gc(None);
        assert_eq!(contents(outside.path()), before, "{link}");
    }
}

#[test]
fn a_journal_through_links_moves_nothing_away() {
    for link in ["skills", "staging/1-1-1", "staging/1-1-1/put", "trash/1", "staging/1-1-1/put/evil"] {
        let (outside, dir) = (precious(), tempdir());
        std::fs::create_dir(outside.path().join("evil")).unwrap();
        std::fs::write(outside.path().join("evil/SKILL.md"), "mine").unwrap();
        let before = contents(outside.path());
        let inner = dir.path().join(".skillcue/registry");
        let at = if link == "skills" { dir.path().join(".skillcue/skills") } else { inner.join(link) };
        std::fs::create_dir_all(at.parent().unwrap()).unwrap();
        symlink(outside.path(), at).unwrap();
        let text = "{\"version\": 1, \"staging\": \"1-1-1\", \"trash\": \"1\", \"moves\": [{\"kind\": \"skill\", \"name\": \"evil\", \
                    \"comes\": {\"from_trash\": null, \"inode\": 1, \"digest\": null}, \"goes\": true, \"was\": null}], \
                    \"aside\": [], \"files\": []}";
        std::fs::create_dir_all(&inner).unwrap();
        std::fs::write(inner.join("journal.json"), text).unwrap();
        let registry = Registry::open(RegistryLocation::project(dir.path()), Disk::default());
        let _ = registry.enable(&["pdf"], true);
        let _ = registry.gc(None);
        assert_eq!(contents(outside.path()), before, "{link}");
    }
}

#[test]
fn directories_of_ours_that_are_links_are_refused() {
    for link in [
        ".skillcue",
        ".skillcue/skills",
        ".skillcue/registry",
        ".skillcue/registry/staging",
        ".skillcue/registry/trash",
    ] {
        let (outside, dir) = (precious(), tempdir());
        let before = contents(outside.path());
        let at = dir.path().join(link);
        std::fs::create_dir_all(at.parent().unwrap()).unwrap();
        symlink(outside.path(), at).unwrap();
        let registry = Registry::open(RegistryLocation::project(dir.path()), Disk::default());
        assert!(matches!(registry.begin(), Err(RegistryError::NotADirectory { .. })), "{link}");
        assert!(matches!(registry.enable(&["pdf"], true), Err(RegistryError::NotADirectory { .. })), "{link}");
        assert!(matches!(registry.gc(None), Err(RegistryError::NotADirectory { .. })), "{link}");
        assert_eq!(registry.state().diagnostics.len(), 1, "{link}");
        assert_eq!(contents(outside.path()), before, "{link}");
        // A directory in the link's place is no trouble.
        std::fs::remove_file(dir.path().join(link)).unwrap();
        std::fs::create_dir(dir.path().join(link)).unwrap();
        registry.enable(&["pdf"], true).unwrap();
        assert_eq!(registry.state().diagnostics, [], "{link}");
    }
}

#[test]
fn files_of_ours_that_are_links_are_not_followed() {
    for link in
        ["registry.json", "skillcue.lock", ".registry/lock", ".registry/journal.json", ".registry/next-registry.json"]
    {
        let (outside, dir) = (precious(), tempdir());
        let before = contents(outside.path());
        std::fs::create_dir(dir.path().join(".registry")).unwrap();
        symlink(outside.path().join("precious.txt"), dir.path().join(link)).unwrap();
        let registry = open(dir.path());
        if let Ok(staging) = registry.begin() {
            skill(&staging, &Disk::default(), "pdf", "").unwrap();
            registry.install(&staging, &[chosen("pdf", "/x")], &options()).unwrap();
            assert!(registry.verify_all().unwrap()[0].is_clean(), "{link}");
        } else {
            assert_eq!(link, ".registry/lock");
        }
        assert_eq!(contents(outside.path()), before, "{link}");
    }
}

#[test]
fn a_skill_that_is_a_link_is_moved_and_not_followed() {
    let (outside, dir) = (precious(), tempdir());
    let before = contents(outside.path());
    let registry = open(dir.path());
    install(&registry, &["pdf", "csv"], "");
    for name in ["pdf", "csv"] {
        let skill = dir.path().join("skills").join(name);
        std::fs::remove_dir_all(&skill).unwrap();
        symlink(outside.path(), &skill).unwrap();
    }
    assert_eq!(registry.verify(&["pdf"]).unwrap()[0].drift[0].path, ".");
    let staging = registry.begin().unwrap();
    skill(&staging, &Disk::default(), "pdf", "license: MIT\n").unwrap();
    let plan = registry.plan_update("pdf", &staging, &chosen("pdf", "/from/here")).unwrap();
    let mut options = UpdateOptions::at(now());
    options.overwrite_edits = true;
    registry.apply_updates(vec![plan], &options).unwrap();
    assert!(registry.verify(&["pdf"]).unwrap()[0].is_clean());
    registry.remove(&["csv"], now()).unwrap();
    assert!(
        matches!(registry.restore("csv", now()), Err(RegistryError::NotADirectory { .. })),
        "a link does not come back"
    );
    registry.gc(None).unwrap();
    assert_eq!(contents(outside.path()), before);
}

#[test]
fn links_that_lead_out_are_not_installed() {
    let dir = tempdir();
    let registry = open(dir.path());
    for target in ["/etc/passwd", "../../x", "a/../../x"] {
        let staging = registry.begin().unwrap();
        skill(&staging, &Disk::default(), "pdf", "").unwrap();
        symlink(target, staging.dir().join("pdf/link")).unwrap();
        let error = registry.install(&staging, &[chosen("pdf", "/x")], &options()).unwrap_err();
        assert_eq!(error.to_string(), "pdf cannot be installed: link: it is a link that leads out");
    }
    // The skill itself, by a link.
    let staging = registry.begin().unwrap();
    skill(&staging, &Disk::default(), "pdf", "").unwrap();
    symlink("pdf", staging.dir().join("alias")).unwrap();
    let error = registry.install(&staging, &[chosen("alias", "/x")], &options()).unwrap_err();
    assert!(matches!(error, RegistryError::NotADirectory { .. }), "{error}");
}
