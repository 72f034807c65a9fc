//! Trees made to hang, crash or mislead.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use skillcue_catalog::{Discovery, SkillRoot, Source};
use skillcue_format::Severity;

use crate::{Tree, codes, names, skill};

#[test]
fn one_in_ten_malformed_in_every_way() {
    let vectors: serde_json::Value = serde_json::from_str(include_str!("../../../../vectors/format.json")).unwrap();
    let cases: Vec<_> = vectors["cases"].as_array().unwrap().iter().filter(|case| case["error"].is_string()).collect();
    assert!(cases.len() >= 9);
    let tree = Tree::new();
    let mut bad = Vec::new();
    for n in 0..cases.len() * 20 {
        if n % 10 == 3 {
            let case = cases[(n / 10) % cases.len()];
            bad.push((
                tree.write(&format!("s{n}/SKILL.md"), case["file"].as_str().unwrap()),
                case["error"].as_str().unwrap(),
            ));
        } else {
            tree.skill(&format!("s{n}"));
        }
    }
    let catalog = tree.discover();
    assert_eq!(catalog.len(), cases.len() * 18);
    assert_eq!(catalog.diagnostics().len(), bad.len(), "one each");
    bad.sort();
    for ((path, code), found) in bad.iter().zip(catalog.diagnostics()) {
        assert_eq!((found.path.as_ref(), found.code.as_str(), found.severity), (Some(path), *code, Severity::Error));
        assert!(found.place.is_some() && found.help.is_some(), "{found}");
        let dir = path.parent().unwrap().file_name().unwrap().to_str().unwrap();
        assert_eq!(catalog.invalid_named(dir).unwrap().diagnostics, std::slice::from_ref(found));
    }
}

#[test]
fn things_that_are_no_files() {
    let tree = Tree::new();
    tree.skill("good");
    for dir in ["fifo", "socket", "dir", "device"] {
        fs::create_dir(tree.path().join(dir)).unwrap();
    }
    let made = Command::new("mkfifo").arg(tree.path().join("fifo/SKILL.md")).status().unwrap();
    assert!(made.success());
    let _socket = std::os::unix::net::UnixListener::bind(tree.path().join("socket/SKILL.md")).unwrap();
    fs::create_dir(tree.path().join("dir/SKILL.md")).unwrap();
    let device = Command::new("mknod").arg(tree.path().join("device/SKILL.md")).args(["c", "1", "5"]).status().unwrap();
    let catalog = tree.discover();
    assert_eq!(names(&catalog), ["good"]);
    // Only root may make a device; for other users there is just an empty directory.
    assert_eq!(codes(&catalog), vec!["not_a_file"; 3 + usize::from(device.success())]);
}

#[test]
fn text_that_is_no_text_and_files_without_end() {
    let tree = Tree::new();
    tree.skill("good");
    tree.write("latin/SKILL.md", b"---\nname: latin\ndescription: caf\xE9\n---\n");
    tree.write("utf16/SKILL.md", b"\xFF\xFE-\0-\0-\0\n\0");
    let huge = fs::File::create(tree.write("huge/SKILL.md", skill("huge", "d"))).unwrap();
    huge.set_len(1 << 30).unwrap();
    let catalog = tree.discover();
    assert_eq!(names(&catalog), ["good"]);
    let of = |dir: &str| catalog.invalid_named(dir).unwrap().diagnostics[0].clone();
    assert_eq!(of("huge").code.as_str(), "too_large");
    assert_eq!(of("latin").code.as_str(), "not_utf8");
    assert_eq!(of("latin").place.map(|place| (place.line, place.column)), Some((3, 17)));
    assert_eq!(of("utf16").code.as_str(), "no_front_matter");
    assert!(of("utf16").help.unwrap().contains("UTF-16"));
}

#[test]
fn links() {
    let tree = Tree::new();
    tree.skill("root/real");
    tree.skill("elsewhere/away");
    tree.write("elsewhere/secret.txt", "---\nname: secret\ndescription: s\n---\n");
    tree.link(tree.path().join("root"), "root/up");
    tree.link("loop-b", "root/loop-a");
    tree.link("loop-a", "root/loop-b");
    tree.link("nowhere", "root/dangling");
    tree.link(tree.path().join("elsewhere"), "root/group");
    tree.link("real", "root/alias");
    tree.link(tree.path().join("elsewhere/away/SKILL.md"), "root/borrowed/SKILL.md");
    tree.link(tree.path().join("elsewhere/secret.txt"), "root/thief/SKILL.md");
    tree.link("missing.md", "root/lost/SKILL.md");
    let catalog = Discovery::new([SkillRoot::new(tree.path().join("root"), Source::Project)]).run();
    let mut found: Vec<_> = catalog
        .diagnostics()
        .iter()
        .map(|found| {
            let path = found.path.as_ref().unwrap().strip_prefix(tree.path().join("root")).unwrap();
            (path.to_str().unwrap(), found.code.as_str())
        })
        .collect();
    found.sort_unstable();
    let expected = [
        ("dangling", "dangling_link"),
        ("loop-a", "link_cycle"),
        ("loop-b", "link_cycle"),
        ("lost/SKILL.md", "dangling_link"),
        ("thief/SKILL.md", "link_leads_out"),
        ("up", "link_cycle"),
    ];
    assert_eq!(found, expected);
    // `away` is found behind the link to its group, and again as the borrowed file: the same front matter.
    assert_eq!(names(&catalog), ["away", "real"]);
    let real = catalog.get("real").unwrap();
    assert_eq!(real.dir(), tree.path().join("root/real"), "not its alias");
    assert_eq!(real.locations().len(), 1, "an alias is no copy");
    let away = catalog.get("away").unwrap();
    let borrowed = away.locations().into_iter().any(|place| place.dir.ends_with("root/borrowed"));
    assert!(borrowed);
}

#[test]
fn a_borrowed_skill_file_is_opened_where_it_is() {
    let tree = Tree::new();
    let target = tree.skill("elsewhere/away");
    tree.link(&target, "root/borrowed/SKILL.md");
    let catalog = Discovery::new([SkillRoot::new(tree.path().join("root"), Source::Project)]).run();
    let file = catalog.get("away").unwrap().body_file();
    assert_eq!(file.base_dir, tree.path().join("root/borrowed"));
    assert_eq!(file.open_dir, fs::canonicalize(target.parent().unwrap()).unwrap());
}

#[test]
fn links_that_fan_out_are_followed_once() {
    let tree = Tree::new();
    // Ten directories that each link to all ten: followed blindly, ten to the fifth.
    for a in 0..10 {
        tree.skill(&format!("d{a}/s{a}"));
        for b in 0..10 {
            tree.link(tree.path().join(format!("d{b}")), &format!("d{a}/to-{b}"));
        }
    }
    let catalog = tree.discover();
    assert_eq!(catalog.len(), 10);
    assert!(catalog.effort().read <= 100, "{:?}", catalog.effort());
}

#[test]
fn overlapping_roots_find_a_skill_once() {
    let tree = Tree::new();
    tree.skill("skills/group/pdf");
    let roots = [
        SkillRoot::new(tree.path().join("skills"), Source::User),
        SkillRoot::new(tree.path().join("skills/group"), Source::Project),
        SkillRoot::new(tree.path().join("skills"), Source::User),
    ];
    let catalog = Discovery::new(roots).run();
    assert_eq!((names(&catalog), codes(&catalog)), (vec!["pdf"], vec![]));
    assert_eq!(catalog.get("pdf").unwrap().source(), Source::Project);
    assert_eq!(catalog.get("pdf").unwrap().locations().len(), 1);
}

#[test]
fn odd_directory_names() {
    use std::os::unix::ffi::OsStrExt;
    let tree = Tree::new();
    let odd: [&[u8]; 4] = [b"new\nline", b"not-\xFF-utf8", b"-dash", b"semi;colon $(x)"];
    for (n, name) in odd.iter().enumerate() {
        let dir = tree.path().join(std::ffi::OsStr::from_bytes(name));
        fs::create_dir(&dir).unwrap();
        fs::write(dir.join("SKILL.md"), skill(&format!("s{n}"), "d")).unwrap();
        assert!(fs::read(dir.join("SKILL.md")).is_ok());
    }
    let catalog = tree.discover();
    assert_eq!(names(&catalog), ["s0", "s1", "s2", "s3"]);
    for skill in catalog.skills() {
        assert!(skill.path().is_file(), "{:?}", skill.path());
    }
}

#[test]
fn a_directory_with_a_hundred_thousand_files() {
    let tree = Tree::new();
    tree.skill("good");
    let heap = tree.path().join("heap");
    fs::create_dir(&heap).unwrap();
    fs::write(heap.join("0"), "").unwrap();
    for n in 1..100_000 {
        // Hard links are many names for little work; a file has at most 65,000 of them.
        if n % 50_000 == 0 {
            fs::write(heap.join(n.to_string()), "").unwrap();
        } else {
            fs::hard_link(heap.join((n / 50_000 * 50_000).to_string()), heap.join(n.to_string())).unwrap();
        }
    }
    let catalog = tree.discover();
    assert_eq!((names(&catalog), codes(&catalog)), (vec!["good"], vec![]));
}

/// Runs one test of this binary as the user `nobody`: to root every file is readable.
fn as_nobody(test: &str) -> bool {
    if std::env::var_os("SKILLCUE_AS_NOBODY").is_some() || !is_root() {
        return false;
    }
    // The user `nobody` may not enter the directory of this binary: a copy goes to one that all users may enter.
    let dir = tempfile::tempdir().unwrap();
    fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let copy = dir.path().join("test");
    fs::copy(std::env::current_exe().unwrap(), &copy).unwrap();
    let output = Command::new(&copy)
        .args([test, "--exact", "--nocapture"])
        .env("SKILLCUE_AS_NOBODY", "1")
        .current_dir(dir.path())
        .uid(65_534)
        .gid(65_534)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    // A name that no test has would succeed, too.
    assert!(output.status.success() && said.contains("1 passed"), "{said}{}", String::from_utf8_lossy(&output.stderr));
    true
}

fn is_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|metadata| std::os::unix::fs::MetadataExt::uid(&metadata) == 0)
}

#[test]
fn unreadable_files_are_reported() {
    if as_nobody("hostile::unreadable_files_are_reported") {
        return;
    }
    let tree = Tree::new();
    tree.skill("good");
    let closed = |path: &Path| fs::set_permissions(path, fs::Permissions::from_mode(0o000)).unwrap();
    let file = tree.skill("closed-file");
    tree.skill("closed-dir/inner");
    closed(&file);
    closed(&tree.path().join("closed-dir"));
    let catalog = tree.discover();
    fs::set_permissions(tree.path().join("closed-dir"), fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(names(&catalog), ["good"]);
    let reported: Vec<_> =
        catalog.diagnostics().iter().map(|found| (found.code.as_str(), found.path.clone().unwrap())).collect();
    let closed_dir = tree.path().join("closed-dir");
    assert_eq!(reported, [("unreadable", closed_dir), ("unreadable", file)], "the directory itself, not a file in it");
    assert!(catalog.diagnostics()[0].message.contains("permission denied"));
}

#[test]
fn a_missing_root_is_reported_if_the_user_named_it() {
    let tree = Tree::new();
    let missing = tree.path().join("missing");
    let run = |root| Discovery::new([root]).run();
    assert_eq!(codes(&run(SkillRoot::required(&missing, Source::Inline))), ["unreadable"]);
    assert_eq!(codes(&run(SkillRoot::new(&missing, Source::User))), Vec::<&str>::new());
    let file = tree.write("file", "x");
    assert_eq!(codes(&run(SkillRoot::new(file, Source::User))), ["unreadable"]);
}

#[test]
fn files_that_come_and_go_while_discovery_runs() {
    let tree = Tree::new();
    for n in 0..50 {
        tree.skill(&format!("stable-{n:02}"));
        tree.skill(&format!("moving-{n:02}"));
    }
    std::thread::scope(|scope| {
        let mover = scope.spawn(|| {
            for round in 0..40 {
                for n in 0..50 {
                    let (a, b) =
                        (tree.path().join(format!("moving-{n:02}")), tree.path().join(format!("moved-{n:02}")));
                    let (from, to) = if round % 2 == 0 { (a, b) } else { (b, a) };
                    fs::rename(&from, &to).unwrap();
                    let file = to.join("SKILL.md");
                    if n % 3 == 0 {
                        let text = fs::read(&file).unwrap();
                        fs::remove_file(&file).unwrap();
                        fs::write(&file, text).unwrap();
                    }
                }
            }
        });
        while !mover.is_finished() {
            let catalog = tree.discover();
            let stable = catalog.skills().filter(|skill| skill.name().starts_with("stable")).count();
            assert_eq!(stable, 50);
        }
        mover.join().unwrap();
    });
}
