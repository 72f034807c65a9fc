//! `SkillTree`: everything is shown in one order, no link is followed, and gaps are reported.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use skillcue_catalog::{EntryKind, GapReason, SkillDir, SkillTree, TreeLimits};

const WIDE: TreeLimits = TreeLimits { max_files: 0, max_bytes: 0, max_depth: 100, max_entries: 1000 };

fn tree(dir: &Path, limits: &TreeLimits) -> SkillTree {
    SkillDir::open("x", dir).unwrap().tree(limits).unwrap()
}

/// Every entry, a directory that is left out with a `!` behind it.
fn shown(tree: &mut SkillTree) -> Vec<String> {
    let mut shown = Vec::new();
    while let Some(entry) = tree.next_entry() {
        shown.push(match entry {
            Ok(entry) => entry.path().to_string_lossy().into_owned(),
            Err(gap) => format!("{}!", gap.path.display()),
        });
    }
    shown
}

#[test]
fn everything_is_shown_in_the_order_of_whole_paths() {
    let tmp = tempfile::tempdir().unwrap();
    let at = |path: &str| tmp.path().join(path);
    for dir in ["a", "a/.git", "node_modules"] {
        fs::create_dir(at(dir)).unwrap();
    }
    for file in ["a/x", "a/.git/config", "a-b", "a.md", "node_modules/y.js", "back\\slash", ".hidden"] {
        fs::write(at(file), "").unwrap();
    }
    fs::write(tmp.path().join(OsStr::from_bytes(b"\xff")), "").unwrap();
    symlink("/etc", at("out")).unwrap();
    symlink("a", at("in")).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(at("socket")).unwrap();
    let expected = [
        ".hidden",
        "a-b",
        "a.md",
        "a",
        "a/.git",
        "a/.git/config",
        "a/x",
        "back\\slash",
        "in",
        "node_modules",
        "node_modules/y.js",
        "out",
        "socket",
        "\u{fffd}",
    ];
    assert_eq!(shown(&mut tree(tmp.path(), &WIDE)), expected);

    let mut tree = tree(tmp.path(), &WIDE);
    while let Some(Ok(entry)) = tree.next_entry() {
        let path = entry.path().to_owned();
        let kind = match path.to_str() {
            Some("a" | "a/.git" | "node_modules") => EntryKind::Directory,
            Some("in" | "out") => EntryKind::Link,
            Some("socket") => EntryKind::Socket,
            _ => EntryKind::File,
        };
        assert_eq!((entry.kind(), entry.metadata().unwrap().kind), (kind, kind), "{path:?}");
        assert_eq!(entry.open_file().is_ok(), kind == EntryKind::File, "{path:?}");
        if path == Path::new("out") {
            assert_eq!(entry.link_target().unwrap(), "/etc");
        }
    }
}

#[test]
fn limits_leave_out_what_exceeds_them() {
    let tmp = tempfile::tempdir().unwrap();
    fs::create_dir_all(tmp.path().join("a/b/c")).unwrap();
    for file in ["a/1", "a/b/2", "a/b/c/3", "z"] {
        fs::write(tmp.path().join(file), "").unwrap();
    }
    let depth = |max_depth| shown(&mut tree(tmp.path(), &TreeLimits { max_depth, ..WIDE }));
    assert_eq!(depth(0), ["a", "a!", "z"]);
    assert_eq!(depth(2), ["a", "a/1", "a/b", "a/b/2", "a/b/c", "a/b/c!", "z"]);
    let entries = |max_entries| shown(&mut tree(tmp.path(), &TreeLimits { max_entries, ..WIDE }));
    assert_eq!(entries(1), ["!"], "no name of a directory with too many depends on their order");
    assert_eq!(entries(5), ["a", "a/1", "a/b", "a/b!"], "it ends there");
    assert_eq!(entries(7).len(), 7);
}

#[test]
fn directories_can_be_left_out() {
    let tmp = tempfile::tempdir().unwrap();
    fs::create_dir_all(tmp.path().join("a/b")).unwrap();
    fs::create_dir_all(tmp.path().join("c/d")).unwrap();
    let mut seen = Vec::new();
    let mut tree = tree(tmp.path(), &WIDE);
    while let Some(Ok(entry)) = tree.next_entry() {
        seen.push(entry.path().to_owned());
        if entry.name() == "a" {
            tree.skip_directory();
        }
    }
    assert_eq!(seen, ["a", "c", "c/d"].map(PathBuf::from));
}

/// A directory may be replaced between the step that shows it and the one that enters it.
#[test]
fn a_replaced_directory_is_not_entered() {
    let tmp = tempfile::tempdir().unwrap();
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("secret"), "").unwrap();
    for becomes in ["a link", "a file", "nothing"] {
        let dir = tmp.path().join("dir");
        fs::create_dir(&dir).unwrap();
        fs::write(tmp.path().join("z"), "").unwrap();
        let mut tree = tree(tmp.path(), &WIDE);
        assert_eq!(tree.next_entry().unwrap().unwrap().name(), "dir");
        fs::remove_dir(&dir).unwrap();
        match becomes {
            "a link" => symlink(outside.path(), &dir).unwrap(),
            "a file" => fs::write(&dir, "").unwrap(),
            _ => {}
        }
        let gap = tree.next_entry().unwrap().unwrap_err();
        assert!(gap.path == Path::new("dir") && matches!(gap.reason, GapReason::Unreadable(_)), "{becomes}: {gap}");
        assert_eq!(tree.next_entry().unwrap().unwrap().name(), "z", "{becomes}");
        assert!(tree.next_entry().is_none());
        let _ = fs::remove_file(&dir);
    }
}

#[test]
fn directories_are_entered_that_no_path_can_name() {
    use rustix::fs::{CWD, Mode, OFlags, mkdirat, openat};
    let tmp = tempfile::tempdir().unwrap();
    let name = "d".repeat(250);
    let mut at = openat(CWD, tmp.path(), OFlags::RDONLY, Mode::empty()).unwrap();
    for _ in 0..30 {
        mkdirat(&at, name.as_str(), Mode::RWXU).unwrap();
        at = openat(&at, name.as_str(), OFlags::RDONLY, Mode::empty()).unwrap();
    }
    assert_eq!(shown(&mut tree(tmp.path(), &WIDE)).len(), 30);
}
