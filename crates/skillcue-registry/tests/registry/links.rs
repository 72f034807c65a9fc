//! Links in the folders of other agents. H-3

use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use skillcue_catalog::{Client, Discovery, SkillRoot, Source};
use skillcue_registry::{Disk, DiskStep, Registry, RegistryError, RegistryLocation};

use crate::support::{install, now};

struct Home {
    dir: tempfile::TempDir,
    registry: Registry,
}

impl Home {
    fn with_disk(disk: Disk) -> Home {
        let dir = tempfile::tempdir().unwrap();
        let location = RegistryLocation::user(dir.path().join("data"));
        let home = Home { registry: Registry::open(location, disk), dir };
        install(&home.registry, &["pdf"], "");
        home.registry.enable(&["pdf"], true).unwrap();
        home
    }

    fn new() -> Home {
        Home::with_disk(Disk::default())
    }

    fn folder(&self) -> std::path::PathBuf {
        self.dir.path().join("home/.claude/skills")
    }

    fn link(&self) -> Result<Vec<skillcue_registry::LinkChange>, RegistryError> {
        self.registry.link(&["pdf"], Client::Claude, &self.folder())
    }
}

#[test]
fn a_link_leads_to_the_one_copy_and_goes_with_it() {
    let home = Home::new();
    let made = home.link().unwrap();
    assert!(made[0].changed && !made[0].copied);
    let link = home.folder().join("pdf");
    assert_eq!(link.read_link().unwrap(), home.dir.path().join("data/skills/pdf"));
    assert!(!home.link().unwrap()[0].changed, "linked twice is linked once");
    home.registry.remove(&["pdf"], now()).unwrap();
    assert!(link.symlink_metadata().is_err());
    home.registry.undo(now()).unwrap();
    assert!(link.join("SKILL.md").is_file(), "it comes back");
    assert!(home.registry.unlink(&["pdf"], &[Client::Claude]).unwrap()[0].changed);
    assert!(link.symlink_metadata().is_err());
    assert!(home.registry.state().installed["pdf"].links.is_empty());
}

/// Directories that are made for links go with the last of them; those that were there stay, empty or not.
#[test]
fn directories_go_with_the_last_link() {
    for is_removed in [false, true] {
        let home = Home::new();
        install(&home.registry, &["csv"], "");
        home.registry.enable(&["csv"], true).unwrap();
        fs::create_dir(home.dir.path().join("home")).unwrap();
        let take = |name: &str| {
            if is_removed {
                home.registry.remove(&[name], now()).map(drop).unwrap();
            } else {
                home.registry.unlink(&[name], &[]).map(drop).unwrap();
            }
        };
        home.registry.link(&["pdf", "csv"], Client::Claude, &home.folder()).unwrap();
        take("pdf");
        assert!(home.folder().join("csv").is_symlink());
        take("csv");
        assert_eq!(home.dir.path().join("home").read_dir().unwrap().count(), 0);
        assert!(home.dir.path().join("home").is_dir());
        if is_removed {
            home.registry.undo(now()).unwrap();
            assert!(home.folder().join("csv").is_symlink(), "it comes back, with its directories");
        }
    }
    let home = Home::new();
    fs::create_dir_all(home.folder()).unwrap();
    home.link().unwrap();
    home.registry.keep_dirs(&[home.dir.path().join("home/.claude"), home.folder()]).unwrap();
    home.registry.unlink(&["pdf"], &[]).unwrap();
    assert!(home.dir.path().join("home").is_dir() && !home.dir.path().join("home/.claude").exists());
}

#[test]
fn files_of_others_are_never_touched() {
    let home = Home::new();
    fs::create_dir_all(home.folder().join("pdf")).unwrap();
    fs::write(home.folder().join("pdf/SKILL.md"), "mine").unwrap();
    assert!(matches!(home.link(), Err(RegistryError::LinkInTheWay { .. })));
    assert!(home.registry.state().installed["pdf"].links.is_empty());
    fs::remove_dir_all(home.folder().join("pdf")).unwrap();
    home.link().unwrap();
    fs::remove_file(home.folder().join("pdf")).unwrap();
    symlink("/", home.folder().join("pdf")).unwrap();
    home.registry.remove(&["pdf"], now()).unwrap();
    assert_eq!(home.folder().join("pdf").read_link().unwrap(), Path::new("/"), "another link by now");
}

/// A folder of the user's with the same content is still the user's.
#[test]
fn a_folder_with_equal_content_is_not_adopted() {
    for disk in [Disk::default(), Disk::with_seam(without_links)] {
        let home = Home::with_disk(disk);
        let (own, installed) = (home.folder().join("pdf"), home.dir.path().join("data/skills/pdf"));
        fs::create_dir_all(home.folder()).unwrap();
        let copied = std::process::Command::new("cp").arg("-r").args([&installed, &own]).status().unwrap();
        assert!(copied.success());
        let Err(RegistryError::LinkInTheWay { path }) = home.link() else { panic!("it was adopted") };
        assert_eq!(path, own);
        // Nor where a link was, and is no more.
        fs::rename(&own, home.dir.path().join("aside")).unwrap();
        home.link().unwrap();
        let is_copy = !own.is_symlink();
        if !is_copy {
            fs::remove_file(&own).unwrap();
            fs::rename(home.dir.path().join("aside"), &own).unwrap();
            assert!(matches!(home.link(), Err(RegistryError::LinkInTheWay { .. })));
            assert!(!home.registry.unlink(&["pdf"], &[]).unwrap()[0].changed);
        }
        home.registry.remove(&["pdf"], now()).unwrap();
        assert_eq!(own.join("SKILL.md").is_file(), !is_copy);
    }
}

/// Two clients that share a folder share its copy.
#[test]
fn a_shared_copy_goes_with_the_last_client() {
    let home = Home::with_disk(Disk::with_seam(without_links));
    home.link().unwrap();
    assert!(!home.registry.link(&["pdf"], Client::Opencode, &home.folder()).unwrap()[0].changed);
    assert!(!home.registry.unlink(&["pdf"], &[Client::Claude]).unwrap()[0].changed);
    assert!(home.registry.unlink(&["pdf"], &[Client::Opencode]).unwrap()[0].changed);
    assert!(!home.folder().join("pdf").exists());
}

#[test]
fn only_skills_that_are_on_can_be_linked() {
    let home = Home::new();
    home.registry.enable(&["pdf"], false).unwrap();
    assert!(matches!(home.link(), Err(RegistryError::NotLinkable { .. })));
    let missing = home.registry.link(&["csv"], Client::Claude, &home.folder());
    assert!(matches!(missing, Err(RegistryError::NotInstalled { .. })));
}

#[test]
fn a_linked_skill_is_listed_once() {
    let home = Home::new();
    home.link().unwrap();
    let roots = [
        SkillRoot::new(home.folder(), Source::User),
        SkillRoot::new(home.dir.path().join("data/skills"), Source::User),
    ];
    let catalog = Discovery::new(roots).run();
    assert_eq!(catalog.len(), 1);
    assert!(catalog.diagnostics().is_empty(), "{:?}", catalog.diagnostics());
}

/// A file system without links.
fn without_links(step: DiskStep<'_>) -> io::Result<()> {
    if step.call == "symlink" { Err(io::ErrorKind::Unsupported.into()) } else { Ok(()) }
}

#[test]
fn where_links_do_not_work_there_is_a_copy() {
    let home = Home::with_disk(Disk::with_seam(without_links));
    assert!(home.link().unwrap()[0].copied);
    let copy = home.folder().join("pdf");
    assert!(copy.is_dir() && !copy.is_symlink());
    install(&home.registry, &["pdf"], "license: MIT\n");
    assert!(fs::read_to_string(copy.join("SKILL.md")).unwrap().contains("MIT"), "a new version is copied");
    home.registry.remove(&["pdf"], now()).unwrap();
    assert!(!copy.exists());
}

#[test]
fn a_record_without_a_link_is_harmless() {
    let home = Home::new();
    home.link().unwrap();
    fs::remove_file(home.folder().join("pdf")).unwrap();
    assert!(home.link().unwrap()[0].changed, "it is made again");
    fs::remove_file(home.folder().join("pdf")).unwrap();
    assert!(!home.registry.unlink(&["pdf"], &[]).unwrap()[0].changed);
    assert!(home.registry.state().installed["pdf"].links.is_empty());
}

#[test]
fn a_projects_record_cannot_lead_outside() {
    let dir = tempfile::tempdir().unwrap();
    let project = dir.path().join("repo");
    fs::create_dir_all(&project).unwrap();
    let registry = Registry::open(RegistryLocation::project(&project), Disk::default());
    install(&registry, &["pdf"], "");
    registry.enable(&["pdf"], true).unwrap();
    registry.link(&["pdf"], Client::Claude, &project.join(".claude/skills")).unwrap();
    let link = project.join(".claude/skills/pdf");
    assert_eq!(link.read_link().unwrap(), Path::new("../../.skillcue/skills/pdf"));
    assert!(link.join("SKILL.md").is_file());
    // A checkout that names something else.
    let outside = dir.path().join("outside");
    symlink(project.join(".skillcue/skills/pdf"), &outside).unwrap();
    let file = project.join("registry.json");
    let text = fs::read_to_string(&file).unwrap().replace(".claude/skills/pdf", "../outside");
    fs::write(&file, text).unwrap();
    registry.unlink(&["pdf"], &[]).unwrap();
    assert!(outside.symlink_metadata().is_ok() && link.symlink_metadata().is_ok());
}

/// Stops at a step that is set later, and at all after it.
#[derive(Default)]
struct Ending {
    left: AtomicUsize,
}

impl Ending {
    fn before(&self) -> io::Result<()> {
        match self.left.fetch_update(SeqCst, SeqCst, |left| left.checked_sub(1)) {
            Ok(1) | Err(_) => {
                self.left.store(0, SeqCst);
                Err(io::Error::other("the end"))
            }
            Ok(_) => Ok(()),
        }
    }
}

#[test]
fn no_end_leaves_a_link_that_nothing_knows_of() {
    for operation in ["link", "unlink", "remove"] {
        for steps in 1.. {
            let ending = Arc::new(Ending { left: AtomicUsize::new(usize::MAX) });
            let seam = Arc::clone(&ending);
            let home = Home::with_disk(Disk::with_seam(move |_| seam.before()));
            if operation != "link" {
                home.link().unwrap();
            }
            ending.left.store(steps, SeqCst);
            let done = match operation {
                "link" => home.link().is_ok(),
                "unlink" => home.registry.unlink(&["pdf"], &[]).is_ok(),
                _ => home.registry.remove(&["pdf"], now()).is_ok(),
            };
            // The next process.
            let registry = Registry::open(RegistryLocation::user(home.dir.path().join("data")), Disk::default());
            let state = registry.state();
            let is_recorded = state.installed.get("pdf").is_some_and(|installed| !installed.links.is_empty());
            let link = home.folder().join("pdf");
            assert!(link.symlink_metadata().is_err() || is_recorded, "{operation}, {steps} steps");
            assert!(link.symlink_metadata().is_err() || link.join("SKILL.md").is_file(), "{operation}, {steps} steps");
            if done {
                break;
            }
        }
    }
}
