//! Findings about trees: links, modes, names, special files; and how much was read.

use std::fs::{File, Permissions};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use skillcue_audit::{Audit, audit};
use tempfile::TempDir;

use crate::samples::{TREES, samples};
use crate::{find, lines, write};

fn tree(build: impl FnOnce(&Path)) -> (TempDir, Audit) {
    let tmp = tempfile::tempdir().unwrap();
    let dir = tmp.path().join("skill");
    write(&dir.join("SKILL.md"), "---\nname: a\ndescription: B c.\n---\n");
    build(&dir);
    let audit = audit(&dir);
    (tmp, audit)
}

/// Builds a tree, and checks that exactly this rule is found, at this path.
fn only(rule: &str, path: &str, build: impl FnOnce(&Path)) {
    assert!(TREES.contains(&rule), "{rule} is not in the list");
    let (_tmp, audit) = tree(build);
    let found: Vec<_> = audit.findings.iter().map(|finding| (finding.code.as_str(), finding.path.clone())).collect();
    assert_eq!(found, [(rule, Some(PathBuf::from(path)))], "{:?}", lines(&audit));
    assert_eq!(audit.findings[0].place, None);
}

fn mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

#[test]
fn links_that_lead_out() {
    only("link-out", "a", |dir| symlink("/etc/passwd", dir.join("a")).unwrap());
    only("link-out", "a", |dir| symlink("../other", dir.join("a")).unwrap());
    only("link-out", "b/c", |dir| {
        write(&dir.join("b/x"), "");
        symlink("../x/../../y", dir.join("b/c")).unwrap();
    });
    // The path itself stays inside; a link on the way leads out.
    only("link-out", "l", |dir| {
        write(&dir.join("a/b/x"), "");
        write(&dir.join("../out"), "");
        symlink("../..", dir.join("a/b/up")).unwrap();
        symlink("a/b/up/../out", dir.join("l")).unwrap();
    });
    only("link-dangling", "a", |dir| symlink("nothing", dir.join("a")).unwrap());
    only("link-dangling", "a", |dir| symlink("a", dir.join("a")).unwrap());
    let (_tmp, audit) = tree(|dir| {
        symlink("SKILL.md", dir.join("AGENTS.md")).unwrap();
        write(&dir.join("docs/x.md"), "x");
        symlink("../SKILL.md", dir.join("docs/up.md")).unwrap();
        symlink("docs", dir.join("d")).unwrap();
    });
    assert_eq!(lines(&audit), [""; 0]);
    assert_eq!(audit.files, 2, "the target of a link is read once, at its own path");
}

#[test]
fn hard_links_modes_and_special_files() {
    let (_tmp, audit) = tree(|dir| {
        write(&dir.join("a"), "x");
        std::fs::hard_link(dir.join("a"), dir.join("b")).unwrap();
    });
    assert_eq!(audit.findings.iter().map(|finding| finding.code.as_str()).collect::<Vec<_>>(), ["hard-link"; 2]);
    only("setuid", "a", |dir| {
        write(&dir.join("a"), "x");
        mode(&dir.join("a"), 0o4755);
    });
    only("setuid", "a", |dir| {
        write(&dir.join("a"), "x");
        mode(&dir.join("a"), 0o2755);
    });
    only("world-writable", "a", |dir| {
        write(&dir.join("a"), "x");
        mode(&dir.join("a"), 0o666);
    });
    only("world-writable", "d", |dir| {
        std::fs::create_dir(dir.join("d")).unwrap();
        mode(&dir.join("d"), 0o1777);
    });
    // The directory itself.
    only("world-writable", "", |dir| mode(dir, 0o777));
    only("setuid", "", |dir| mode(dir, 0o4755));
    only("special-file", "s", |dir| drop(UnixListener::bind(dir.join("s")).unwrap()));
    only("special-file", "p", |dir| {
        let made = std::process::Command::new("mkfifo").arg(dir.join("p")).status().unwrap();
        assert!(made.success());
    });
    only("archive", "a.zip", |dir| write(&dir.join("a.zip"), b"PK\x03\x04\x14\0\0\0\x08\0rest\x80\x81"));
    only("archive", "data", |dir| write(&dir.join("data"), b"\x1f\x8b\x08\0\0\0\0\0\0\x03\x80\xff"));
    let (_tmp, audit) = tree(|dir| write(&dir.join("a.docx"), b"PK\x03\x04\x14\0\0\0\x08\0rest\x80\x81"));
    assert_eq!(lines(&audit), [""; 0]);
}

#[test]
fn names_that_hide() {
    for name in [" a", "a.md ", "photo\u{202e}gnp.sh", "a\u{200b}.md", "invoice.pdf.exe", "a\n.md", "...", "a\\b"] {
        only("hiding-name", name, |dir| write(&dir.join(name), "x"));
    }
    let (_tmp, audit) = tree(|dir| {
        for name in
            ["a.test.js", "jquery.min.js", ".hidden", "über uns.md", "v1.2.sh", "data.tar.gz.txt", "👩\u{200d}🚀.md"]
        {
            write(&dir.join(name), "x");
        }
    });
    assert_eq!(lines(&audit), [""; 0]);
}

/// As root nothing is unreadable by its mode, so this tests size, depth and absence.
#[test]
fn unread_files_are_findings() {
    only("not-read", "huge", |dir| File::create(dir.join("huge")).unwrap().set_len((4 << 30) + 1).unwrap());
    let deep: PathBuf = std::iter::repeat_n("d", 101).collect();
    only("not-read", deep.to_str().unwrap(), |dir| std::fs::create_dir_all(dir.join(&deep).join("e")).unwrap());
    let audit = audit(Path::new("/no/such/directory"));
    assert_eq!(find(&audit, "not-read").unwrap().path.as_deref(), Some(Path::new("")));
    assert_eq!(audit.findings.len(), 1);
}

fn size(dir: &Path) -> (usize, u64) {
    dir.read_dir().unwrap().map(Result::unwrap).fold((0, 0), |(files, bytes), entry| {
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            let (more, larger) = size(&entry.path());
            (files + more, bytes + larger)
        } else {
            (files + usize::from(kind.is_file()), bytes + u64::from(kind.is_file()) * entry.metadata().unwrap().len())
        }
    })
}

fn build_all(dir: &Path) {
    for (index, (_, file, text, ..)) in samples().into_iter().enumerate() {
        write(&dir.join(format!("{index}")).join(file), text);
    }
    write(&dir.join("empty"), "");
    write(&dir.join(".hidden/node_modules/big"), vec![b'x'; 3 << 20]);
}

#[test]
fn every_byte_of_every_file_is_read() {
    let tmp = tempfile::tempdir().unwrap();
    build_all(tmp.path());
    let audit = audit(tmp.path());
    assert_eq!((audit.files, audit.bytes), size(tmp.path()));
    assert!(audit.files > 100);
}

#[test]
fn equal_trees_have_equal_audits() {
    let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    build_all(one.path());
    build_all(other.path());
    let first = audit(one.path());
    assert_eq!(first, audit(one.path()));
    assert_eq!(first, audit(other.path()));
    let place = |index: usize| {
        let finding = &first.findings[index];
        (&finding.path, finding.line().unwrap_or(0), finding.column().unwrap_or(0), finding.code.as_str())
    };
    assert!((1..first.findings.len()).all(|index| place(index - 1) <= place(index)));
}
