//! Files of other programs, and files that say what no file of ours says.

use std::path::Path;

use skillcue_base::ErrorInfo as _;
use skillcue_registry::{Disk, InstallStatus, Registry, RegistryError, RegistryLocation};

use crate::support::{all_below, chosen, install, now, open, options, skill, tempdir};

fn project(dir: &Path) -> Registry {
    Registry::open(RegistryLocation::project(dir), Disk::default())
}

#[test]
fn a_file_of_another_program_is_left_alone() {
    let others = [
        "{\"$schema\": \"https://ui.shadcn.com/schema/registry.json\", \"name\": \"acme\", \"items\": []}",
        "{}",
        "[]",
        "[{\"version\": 1}]",
        "{\"version\": 1}",
        "{\"version\": 3, \"packages\": {}}",
        "{\"version\": \"1.0\", \"installed\": {}}",
    ];
    for file in ["registry.json", "skillcue.lock"] {
        for text in others {
            let dir = tempdir();
            let path = dir.path().join(file);
            std::fs::write(&path, text).unwrap();
            let registry = project(dir.path());
            let state = registry.state();
            assert!(state.installed.is_empty(), "{file}: {text}");
            let found = state.diagnostics.iter().find(|found| found.path.as_deref() == Some(&*path)).unwrap();
            assert!(found.message.starts_with("it is not a file of Skillcue: "), "{text}: {found:?}");
            assert!(found.help.as_deref().unwrap().contains("rename it"), "{found:?}");

            let staging = registry.begin().unwrap();
            skill(&staging, &Disk::default(), "pdf", "").unwrap();
            let refused = [
                registry.install(&staging, &[chosen("pdf", "/x")], &options()).map(drop),
                registry.enable(&["pdf"], true).map(drop),
                registry.remove(&["pdf"], now()).map(drop),
                registry.undo(now()).map(drop),
            ];
            for result in refused {
                let error = result.unwrap_err();
                assert!(
                    matches!(&error, RegistryError::NotOurs { path: found, .. } if *found == path),
                    "{text}: {error}"
                );
                assert!(error.hint().unwrap().contains("rename it"), "{}", error.hint().unwrap());
            }
            assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
            let names = dir.path().read_dir().unwrap().map(|entry| entry.unwrap().file_name());
            let mut names: Vec<_> = names.filter(|name| name != ".skillcue").collect();
            assert_eq!(names.pop().as_deref(), Some(file.as_ref()), "nothing was moved aside");
            assert!(names.is_empty() && !dir.path().join(".skillcue/skills").exists(), "{names:?}");
        }
    }
}

#[test]
fn commits_in_files_must_be_commit_ids() {
    for (bad, good) in [("--upload-pack=touch /tmp/x", false), ("main", false), ("", false), (&*"a1".repeat(20), true)]
    {
        let dir = tempdir();
        let registry = project(dir.path());
        let staging = registry.begin().unwrap();
        skill(&staging, &Disk::default(), "pdf", "").unwrap();
        let marker = "0".repeat(40);
        let wanted = chosen("pdf", "https://example.org/x.git").at_commit(Some(marker.clone()));
        registry.install(&staging, &[wanted], &options()).unwrap();
        registry.remove(&["pdf"], now()).unwrap();
        for path in all_below(dir.path()).into_iter().filter(|path| path.is_file()) {
            let text = std::fs::read_to_string(&path).unwrap();
            std::fs::write(&path, text.replace(&marker, bad)).unwrap();
        }
        let commit = good.then(|| bad.to_owned());
        registry.undo(now()).unwrap();
        assert_eq!(registry.state().installed["pdf"].commit, commit, "from the trash");
        for file in ["registry.json", "skillcue.lock"] {
            let path = dir.path().join(file);
            let text = std::fs::read_to_string(&path).unwrap();
            let said = format!("\"kind\": \"skill\",\n      \"commit\": {bad:?},");
            let text = text.lines().filter(|line| !line.contains("\"commit\"")).collect::<Vec<_>>().join("\n");
            std::fs::write(&path, text.replace("\"kind\": \"skill\",", &said)).unwrap();
        }
        assert_eq!(registry.state().diagnostics, []);
        assert_eq!(registry.state().installed["pdf"].commit, commit, "from the registry");
        std::fs::remove_dir_all(dir.path().join(".skillcue/skills/pdf")).unwrap();
        assert_eq!(registry.restore_plan().unwrap()[0].commit, commit, "from the lock");
    }
}

#[test]
fn a_project_brings_no_huge_files() {
    let dir = tempdir();
    install(&project(dir.path()), &["pdf"], "");
    let path = dir.path().join("registry.json");
    let mut text = std::fs::read_to_string(&path).unwrap();
    text.push_str(&" ".repeat(16 << 20));
    std::fs::write(&path, &text).unwrap();
    let state = project(dir.path()).state();
    assert!(state.diagnostics[0].message.contains("too large"), "{:?}", state.diagnostics);
    let error = project(dir.path()).enable(&["pdf"], true).unwrap_err();
    assert!(matches!(error, RegistryError::NotOurs { .. }), "{error}");
    assert_eq!(std::fs::read_to_string(&path).unwrap().len(), text.len());
    // The user's own may be as large.
    let user = tempdir();
    install(&open(user.path()), &["pdf"], "");
    let path = user.path().join("registry.json");
    let text = std::fs::read_to_string(&path).unwrap() + &" ".repeat(16 << 20);
    std::fs::write(&path, text).unwrap();
    assert_eq!(open(user.path()).state().diagnostics, []);
    assert_eq!(open(user.path()).verify_all().unwrap()[0].standing, InstallStatus::Locked);
}
