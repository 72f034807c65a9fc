//! S-3: sorted, deep enough, bounded, and it says where it stopped.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use proptest::collection::btree_map;
use proptest::prelude::*;
use skillcue_catalog::{FileListing, SkillDir, SkipReason, StopReason, Stopped, TreeLimits};

use crate::support::tree::{Tree, link};

fn write(dir: &Path, path: &str, content: &str) {
    let path = dir.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, content).unwrap();
}

fn paths(listing: &FileListing) -> Vec<&str> {
    listing.files.iter().map(|file| file.path.as_str()).collect()
}

fn skipped(listing: &FileListing) -> Vec<(SkipReason, usize, &str)> {
    listing.skipped.iter().map(|row| (row.reason, row.count, row.first.as_str())).collect()
}

fn list(dir: &Path, limits: &TreeLimits) -> FileListing {
    SkillDir::open("skill", dir).unwrap().list(limits).unwrap()
}

#[test]
fn the_tree_of_the_vectors() {
    let tree = Tree::new();
    let listing = list(&tree.skill, &TreeLimits::default());
    assert_eq!(
        paths(&listing),
        ["a/b/c/d/e/deep.txt", "link-in.md", "name with space.md", "reference.md", "scripts/extract.py"]
    );
    assert_eq!(listing.files[1].size, listing.files[3].size, "a link has the size of what it leads to");
    assert_eq!(listing.total_bytes, listing.files.iter().map(|file| file.size).sum::<u64>());
    assert_eq!(listing.stopped, None);
    assert_eq!(
        skipped(&listing),
        [
            (SkipReason::LinkOut, 9, "absolute-in.md"),
            (SkipReason::DanglingLink, 1, "dangling"),
            (SkipReason::DirectoryLink, 2, "a/up"),
        ]
    );
}

#[test]
fn order_is_that_of_the_whole_path() {
    let tmp = tempfile::tempdir().unwrap();
    let sorted = ["Z.md", "a!", "a-b/x", "a.md", "a/b", "a/b0", "a0", "ä", "😀"];
    for path in sorted.iter().rev() {
        write(tmp.path(), path, "");
    }
    assert_eq!(paths(&list(tmp.path(), &TreeLimits::default())), sorted);
}

#[test]
fn skipped_entries_are_counted() {
    use rustix::fs::{CWD, FileType, Mode, mknodat};
    let tmp = tempfile::tempdir().unwrap();
    for ignored in [".git", "node_modules", "target", "__pycache__", ".venv"] {
        write(tmp.path(), &format!("{ignored}/x"), "");
        write(tmp.path(), &format!("deep/{ignored}/x"), "");
    }
    write(tmp.path(), "files/target", "a file may have such a name");
    write(tmp.path(), ".hidden", "");
    write(tmp.path(), "back\\slash", "");
    write(tmp.path(), "c:drive", "");
    fs::write(tmp.path().join(OsStr::from_bytes(b"\xff\xfe")), "").unwrap();
    mknodat(CWD, tmp.path().join("pipe"), FileType::Fifo, Mode::from_raw_mode(0o644), 0).unwrap();
    let listing = list(tmp.path(), &TreeLimits::default());
    assert_eq!(paths(&listing), [".hidden", "files/target"]);
    assert_eq!(
        skipped(&listing),
        [
            (SkipReason::SpecialFile, 1, "pipe"),
            (SkipReason::IgnoredDirectory, 10, ".git/"),
            (SkipReason::Unaddressable, 3, "back\\slash"),
        ]
    );
}

#[test]
fn limits_say_where_they_cut() {
    let tmp = tempfile::tempdir().unwrap();
    for file in ["a/1", "a/2", "b/3", "c"] {
        write(tmp.path(), file, "12345");
    }
    let default = TreeLimits::default;
    for (limits, expected, stopped) in [
        (TreeLimits { max_files: 4, ..default() }, 4, None),
        (TreeLimits { max_files: 3, ..default() }, 3, Some((StopReason::Files, 3, "c"))),
        (TreeLimits { max_files: 0, ..default() }, 0, Some((StopReason::Files, 0, "a/1"))),
        (TreeLimits { max_bytes: 20, ..default() }, 4, None),
        (TreeLimits { max_bytes: 14, ..default() }, 2, Some((StopReason::Bytes, 14, "b/3"))),
        (TreeLimits { max_depth: 0, ..default() }, 1, Some((StopReason::Depth, 0, "a/"))),
        (TreeLimits { max_entries: 6, ..default() }, 4, None),
        (TreeLimits { max_entries: 5, ..default() }, 2, Some((StopReason::Entries, 5, "b/"))),
        (TreeLimits { max_entries: 2, ..default() }, 0, Some((StopReason::Entries, 2, "./"))),
        // The limit that ended it is reported, not the one it met before.
        (TreeLimits { max_depth: 0, max_files: 0, ..default() }, 0, Some((StopReason::Files, 0, "c"))),
    ] {
        let listing = list(tmp.path(), &limits);
        let stopped = stopped.map(|(reason, limit, at)| Stopped { reason, limit, at: at.to_owned() });
        assert_eq!((listing.files.len(), &listing.stopped), (expected, &stopped), "{limits:?}");
    }
}

#[test]
fn a_skill_of_many_files_is_cut_at_512() {
    let tmp = tempfile::tempdir().unwrap();
    for number in 0..600 {
        write(tmp.path(), &format!("{number:04}"), "");
    }
    let listing = list(tmp.path(), &TreeLimits::default());
    assert_eq!((listing.files.len(), paths(&listing)[511]), (512, "0511"));
    assert_eq!(listing.stopped.unwrap().to_string(), "stopped before 0512: more than 512 files");
}

#[test]
fn deep_trees() {
    let tmp = tempfile::tempdir().unwrap();
    let at = |depth: usize| "d/".repeat(depth);
    write(tmp.path(), &format!("{}within", at(16)), "");
    write(tmp.path(), &format!("{}below", at(17)), "");
    write(tmp.path(), "z", "");
    let listing = list(tmp.path(), &TreeLimits::default());
    assert_eq!(paths(&listing), [format!("{}within", at(16)).as_str(), "z"]);
    assert_eq!(listing.stopped.unwrap(), Stopped { reason: StopReason::Depth, limit: 16, at: at(17) });
    assert_eq!(listing.skipped[0].reason, SkipReason::TooDeep);
}

/// Followed blindly, these links give 2^16 paths to one file, and a circle.
#[test]
fn links_between_directories_multiply_nothing() {
    let tmp = tempfile::tempdir().unwrap();
    for level in 0..16 {
        write(tmp.path(), &format!("l{level}/x"), "");
        link(&format!("../l{}", level + 1), &tmp.path().join(format!("l{level}/one")));
        link(&format!("../l{}", level + 1), &tmp.path().join(format!("l{level}/two")));
    }
    write(tmp.path(), "l16/x", "");
    link("..", &tmp.path().join("l16/back"));
    let listing = list(tmp.path(), &TreeLimits::default());
    assert_eq!(listing.files.len(), 17);
    assert_eq!(skipped(&listing), [(SkipReason::DirectoryLink, 33, "l0/one")]);
}

#[test]
fn a_directory_that_may_not_be_read_is_counted() {
    use std::os::unix::fs::PermissionsExt;
    let tmp = tempfile::tempdir().unwrap();
    write(tmp.path(), "closed/x", "");
    write(tmp.path(), "open", "");
    let closed = tmp.path().join("closed");
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o000)).unwrap();
    if fs::read_dir(&closed).is_ok() {
        println!("skipped: root may read every directory");
    } else {
        let listing = list(tmp.path(), &TreeLimits::default());
        assert_eq!(paths(&listing), ["open"]);
        assert_eq!(skipped(&listing), [(SkipReason::Unreadable, 1, "closed/")]);
    }
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o755)).unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    /// Any tree of plain files is listed whole, in order, with its sizes, and every path in the listing opens.
    #[test]
    fn agrees_with_a_sorted_map(
        files in btree_map(proptest::collection::vec("[ab.!0-]{1,2}[a0]", 1..4), 0..40_usize, 0..20),
    ) {
        let tmp = tempfile::tempdir().unwrap();
        let mut expected = BTreeMap::new();
        for (segments, size) in files {
            let path = segments.join("/");
            let target = tmp.path().join(&path);
            // A file that collides with a file or a directory of the same name is not made.
            if fs::create_dir_all(target.parent().unwrap()).is_ok() && fs::write(&target, "x".repeat(size)).is_ok() {
                expected.insert(path, size as u64);
            }
        }
        let listing = list(tmp.path(), &TreeLimits::default());
        let listed: Vec<_> = listing.files.iter().map(|file| (file.path.clone(), file.size)).collect();
        prop_assert_eq!(listed, expected.into_iter().collect::<Vec<_>>());
        let dir = SkillDir::open("skill", tmp.path()).unwrap();
        for file in &listing.files {
            prop_assert_eq!(dir.read(&file.path, 100).unwrap().len() as u64, file.size);
        }
    }
}
