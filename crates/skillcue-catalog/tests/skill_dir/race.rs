//! S-2: a link that is swapped while it is followed does not get out.

use std::fs;
use std::io::Write;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use skillcue_base::ErrorInfo as _;
use skillcue_catalog::{FileError, SkillDir, TreeLimits};

use crate::support::tree::{INSIDE, Tree};

const READS: usize = 3_000;

/// Swaps the link `at` between two targets, each time in one step, until `stop` is set.
fn swap(at: &Path, targets: [&str; 2], stop: &AtomicBool) {
    let staged = at.with_extension("staged");
    while !stop.load(Ordering::Relaxed) {
        for target in targets {
            let _ = fs::remove_file(&staged);
            symlink(target, &staged).unwrap();
            fs::rename(&staged, at).unwrap();
        }
    }
}

/// Reads `path` many times while the link `at` is swapped between `targets`.
fn read_while_swapping(at: &str, targets: [&str; 2], path: &str) {
    let tree = Tree::new();
    fs::write(tree.outside("reference.md"), "SECRET-MARKER").unwrap();
    let at = tree.skill.join(at);
    symlink(targets[0], &at).unwrap();
    let dir = SkillDir::open("skill", &tree.skill).unwrap();
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| swap(&at, targets, &stop));
        // Stops the other thread also when an assertion below fails.
        let _stopping = Stop(&stop);
        for _ in 0..READS {
            match dir.read(path, 1024) {
                Ok(bytes) => assert!(bytes.starts_with(INSIDE), "got {bytes:?}"),
                // The walk gives up when it cannot prove that nothing moved.
                Err(error) => assert!(matches!(error.code(), "security" | "unreadable"), "{error}"),
            }
        }
        let listing = dir.list(&TreeLimits::default()).unwrap();
        assert!(listing.files.iter().any(|file| file.path == "reference.md"));
    });
    // When it is not swapped, the link leads to a file that may be read, and to one that may not.
    for (target, is_inside) in targets.into_iter().zip([true, false]) {
        fs::remove_file(&at).unwrap();
        symlink(target, &at).unwrap();
        let read = dir.read(path, 1024);
        assert_eq!(read.is_ok(), is_inside, "by {target}: {read:?}");
    }
}

struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn a_file_link() {
    read_while_swapping("swap", ["reference.md", "../../secret.txt"], "swap");
}

#[test]
fn a_directory_link() {
    read_while_swapping("swap", [".", "../.."], "swap/reference.md");
}

#[test]
fn a_directory_link_with_a_way_back() {
    read_while_swapping("swap", ["scripts", "../skill-evil"], "swap/../reference.md");
}

/// The text and the stamp that comes with it are of one version, while the file grows.
#[test]
fn a_stamp_fits_its_text() {
    let tree = Tree::new();
    let dir = SkillDir::open("skill", &tree.skill).unwrap();
    let mut growing = fs::File::create(tree.skill.join("growing")).unwrap();
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                growing.write_all(b"x").unwrap();
            }
        });
        let _stopping = Stop(&stop);
        for _ in 0..READS {
            match dir.read_stamped("growing", 1 << 30) {
                Ok((text, stamp)) => assert_eq!(text.len() as u64, stamp.size),
                Err(error) => assert!(matches!(error, FileError::Changing { .. }), "{error}"),
            }
        }
    });
    let (text, stamp) = dir.read_stamped("growing", 1 << 30).unwrap();
    assert_eq!(text.len() as u64, stamp.size);
}
