//! Paths in, bytes or a refusal out.

use std::fs;
use std::os::unix::net::UnixListener;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use skillcue_base::ErrorInfo as _;
use skillcue_catalog::{FileError, SecurityReason, SkillDir, uri};

use crate::support::tree::{INSIDE, Tree, link};

const LIMIT: u64 = 4096;

#[test]
fn vectors() {
    let vectors: serde_json::Value = serde_json::from_str(include_str!("../../../../vectors/paths.json")).unwrap();
    let tree = Tree::new();
    let dir = SkillDir::open("skill", &tree.skill).unwrap();
    for case in vectors["cases"].as_array().unwrap() {
        let path = case["path"].as_str().unwrap();
        match dir.read(path, LIMIT) {
            Ok(bytes) => {
                assert_eq!(case["ok"], true, "{path:?}");
                assert!(bytes.starts_with(INSIDE), "{path:?}");
            }
            Err(error) => assert_eq!(case["error"], error.code(), "{path:?}: {error}"),
        }
    }
}

#[test]
fn links() {
    use SecurityReason::{LeadsOut, LinkLoop};
    let tree = Tree::new();
    let dir = SkillDir::open("skill", &tree.skill).unwrap();
    for inside in ["dir-in/c/d/e/deep.txt", "a/up/reference.md", "a/up/a/up/scripts/extract.py"] {
        assert!(dir.read(inside, LIMIT).unwrap().starts_with(INSIDE), "{inside}");
    }
    for (path, expected) in [
        ("link-out", LeadsOut),
        ("dir-out/secret.txt", LeadsOut),
        ("dir-out", LeadsOut),
        // By its text it would be a file inside; it leads out all the same.
        ("out-and-back.md", LeadsOut),
        ("absolute-in.md", LeadsOut),
        ("root/etc/passwd", LeadsOut),
        ("passwd", LeadsOut),
        ("zero", LeadsOut),
        ("magic/etc/passwd", LeadsOut),
        ("a/up/../secret.txt", LeadsOut),
        ("loop", LinkLoop),
        ("loop/x", LinkLoop),
    ] {
        match dir.read(path, LIMIT) {
            Err(FileError::Security { reason, .. }) => assert_eq!(reason, expected, "{path}"),
            other => panic!("{path}: {other:?}"),
        }
    }
    assert_eq!(dir.read("dangling", LIMIT).unwrap_err().code(), "not_found");
}

#[test]
fn paths_without_a_file() {
    let tree = Tree::new();
    let long = "x".repeat(300);
    let dir = SkillDir::open("skill", &tree.skill).unwrap();
    for (path, code) in [
        ("scripts/", "not_a_file"),
        ("scripts/..", "not_a_file"),
        ("./", "not_a_file"),
        ("dir-in", "not_a_file"),
        ("reference.md/", "not_found"),
        ("reference.md/x", "not_found"),
        (long.as_str(), "not_found"),
        ("Reference.MD", "not_found"),
    ] {
        assert_eq!(dir.read(path, LIMIT).unwrap_err().code(), code, "{path}");
    }
}

#[test]
fn pipes_sockets_and_devices_are_refused_and_do_not_block() {
    use rustix::fs::{CWD, FileType, Mode, makedev, mknodat};
    let tree = Tree::new();
    let mode = Mode::from_raw_mode(0o644);
    mknodat(CWD, tree.skill.join("pipe"), FileType::Fifo, mode, 0).unwrap();
    let _socket = UnixListener::bind(tree.skill.join("socket")).unwrap();
    let mut special = vec!["pipe", "socket"];
    // Only root may make a device; `/dev/zero` is 1, 5.
    if mknodat(CWD, tree.skill.join("device"), FileType::CharacterDevice, mode, makedev(1, 5)).is_ok() {
        special.push("device");
    }
    link("pipe", &tree.skill.join("pipe-link"));
    special.push("pipe-link");
    let dir = SkillDir::open("skill", &tree.skill).unwrap();
    for path in &special {
        match dir.open_file(path) {
            Err(FileError::Security { reason: SecurityReason::SpecialFile, .. }) => {}
            // A container may forbid devices altogether.
            Err(FileError::Unreadable { .. }) if *path == "device" => {}
            other => panic!("{path}: {other:?}"),
        }
    }
}

#[test]
fn limits_and_text() {
    let tree = Tree::new();
    fs::write(tree.skill.join("ten"), "0123456789").unwrap();
    fs::write(tree.skill.join("latin1"), b"one\ntwo\xff").unwrap();
    let dir = SkillDir::open("skill", &tree.skill).unwrap();
    assert_eq!(dir.read("ten", 10).unwrap(), b"0123456789");
    match dir.read("ten", 9) {
        Err(FileError::TooLarge { size: 10, limit: 9, .. }) => {}
        other => panic!("{other:?}"),
    }
    match dir.read_to_string("latin1", LIMIT) {
        Err(FileError::NotText { offset: 7, line: 2, .. }) => {}
        other => panic!("{other:?}"),
    }
    // The kernel makes these up as they are read: their size is 0, their content is not.
    let kernel = SkillDir::open("kernel", "/proc/self".as_ref()).unwrap();
    assert_eq!(kernel.read("status", 16).unwrap_err().code(), "too_large");
    assert!(kernel.read("status", 1 << 20).unwrap().starts_with(b"Name:"));
    assert_eq!(kernel.read("root/etc/passwd", LIMIT).unwrap_err().code(), "security", "a magic link");
}

#[test]
fn opening_the_directory_itself() {
    let tree = Tree::new();
    let error = SkillDir::open("gone", &tree.outside("gone")).unwrap_err();
    assert_eq!((error.code(), error.skill()), ("not_found", "gone"));
    let error = SkillDir::open("file", &tree.outside("secret.txt")).unwrap_err();
    assert_eq!(error.code(), "unreadable");
    // Discovery follows links to directories, so the directory itself may be one.
    link("skill", &tree.outside("skills/alias"));
    let dir = SkillDir::open("alias", &tree.outside("skills/alias")).unwrap();
    assert!(dir.read("link-in.md", LIMIT).is_ok());
    assert_eq!(dir.path(), tree.outside("skills/alias"));
}

/// The parts of paths that attackers use to get out.
const SEGMENTS: &[&str] = &[
    "",
    ".",
    "..",
    "...",
    "a",
    "b",
    "c",
    "up",
    "l0",
    "l1",
    "l2",
    "reference.md",
    "link-in.md",
    "link-out",
    "dir-out",
    "dir-in",
    "loop",
    "root",
    "magic",
    "secret.txt",
    "skills",
    "skill",
    "skill-evil",
    "x.md",
    "etc",
    "passwd",
    "proc",
    "self",
    "cwd",
    "fd",
    "0",
    "..\\",
    "\0",
    "%2e%2e",
    "%2f",
    "%00",
    "~",
    "C:",
    "file:",
    "..;",
    ". .",
    "\u{ff0e}\u{ff0e}",
    "\u{2215}",
    "..\u{200b}",
];

fn hostile_path() -> impl Strategy<Value = String> {
    (select(vec!["", "/", "//", "./", "../"]), vec(select(SEGMENTS), 0..8), select(vec!["/", "//", "/./", "%2f"]))
        .prop_map(|(start, segments, separator)| format!("{start}{}", segments.join(separator)))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    /// No path, however built, over links, however laid, reads a byte from outside.
    #[test]
    fn nothing_gets_out(
        paths in vec(hostile_path(), 24),
        links in vec((select(vec!["l0", "l1", "l2", "a/l0", "a/b/l1", "scripts/l2"]), hostile_path()), 0..6),
    ) {
        let tree = Tree::new();
        for (at, target) in &links {
            if !target.is_empty() && !target.contains('\0') {
                link(target, &tree.skill.join(at));
            }
        }
        let dir = SkillDir::open("skill", &tree.skill).unwrap();
        prop_assert!(dir.read("reference.md", LIMIT).unwrap().starts_with(INSIDE), "what is inside can be read");
        for path in &paths {
            for path in [path.as_str(), &uri::decode_once(path)] {
                if let Ok(bytes) = dir.read(path, LIMIT) {
                    prop_assert!(bytes.starts_with(INSIDE), "{path:?} read {bytes:?}");
                }
            }
        }
    }
}
