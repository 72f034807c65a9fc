//! Behaviour that zip and tar share.

use skillcue_registry::{Exceeded, FetchError, FetchLimits, Refusal};

use crate::support::{Made, both, files, gzip, tree, unpack, unpack_with};

const FILE: Made<'static> = Made::File("text");

#[test]
fn files_directories_programs_and_links_that_stay_inside() {
    let entries: &[(&[u8], Made<'_>)] = &[
        (b"./", Made::Dir),
        (b"./top/", Made::Dir),
        (b"./top/SKILL.md", Made::File("skill")),
        (b"./top/bin/run", Made::Program("#!/bin/sh")),
        (b"./top/empty/", Made::Dir),
        (b"./top/docs", Made::Link("bin/../deep/..")),
        (b"./top/deep/up", Made::Link("../SKILL.md")),
        (b"./top/deep/nowhere", Made::Link("missing/file")),
        (b"./top/.git/config", Made::File("left out")),
        (b"./top/\xc3\xbc.md", Made::File("\u{fc}")),
    ];
    for (name, bytes) in both(entries) {
        let expected = files(&[
            ("top", "directory"),
            ("top/SKILL.md", "skill"),
            ("top/bin", "directory"),
            ("top/bin/run", "x #!/bin/sh"),
            ("top/empty", "directory"),
            ("top/docs", "-> bin/../deep/.."),
            ("top/deep", "directory"),
            ("top/deep/up", "-> ../SKILL.md"),
            ("top/deep/nowhere", "-> missing/file"),
            ("top/ü.md", "ü"),
        ]);
        assert_eq!(unpack(name, &bytes).tree(), expected, "{name}");
    }
}

#[test]
fn names_that_are_refused() {
    let long = [b'a'; 256];
    let very_long = [[&b"abcdefg/"[..]; 200].concat(), b"file".to_vec()].concat();
    let deep = [[&b"d/"[..]; 33].concat(), b"file".to_vec()].concat();
    let table: [(&[u8], Refusal); 20] = [
        (b"../evil", Refusal::LeadsOut),
        (b"a/../../evil", Refusal::LeadsOut),
        (b"a/..", Refusal::LeadsOut),
        (b"..", Refusal::LeadsOut),
        (b"./../evil", Refusal::LeadsOut),
        (b"/etc/evil", Refusal::Absolute),
        (b"C:/evil", Refusal::Absolute),
        (b"c:evil", Refusal::Absolute),
        (b"a\\evil", Refusal::Backslash),
        (b"..\\evil", Refusal::Backslash),
        (b"a\0evil", Refusal::Control),
        (b"a\nevil", Refusal::Control),
        (b"a\x1b[31m", Refusal::Control),
        (b"a\xc2\x9bevil", Refusal::Control),
        (b"a//evil", Refusal::EmptyPart),
        (b"a/./evil", Refusal::EmptyPart),
        (b"\xff\xfe", Refusal::NotUtf8),
        (&long, Refusal::TooLong),
        (&very_long, Refusal::TooLong),
        (&deep, Refusal::TooDeep(32)),
    ];
    for (entry, expected) in table {
        for (name, bytes) in both(&[(b"good", FILE), (entry, FILE)]) {
            let done = unpack(name, &bytes);
            let (refused, reason) = done.refusal();
            assert_eq!(reason, expected, "{name}: {refused:?}");
            assert_eq!(refused, String::from_utf8_lossy(entry), "{name}");
            assert!(!done.error().contains(['\n', '\x1b', '\0', '\u{9b}']), "{}", done.error());
            assert_eq!(tree(done.dir.path()).keys().filter(|path| path.contains("evil")).count(), 0);
        }
    }
}

#[test]
fn a_directory_that_has_bytes_would_lose_them() {
    for (name, bytes) in both(&[(b"dir/", FILE)]) {
        assert_eq!(unpack(name, &bytes).refusal(), ("dir/".to_owned(), Refusal::FullDirectory), "{name}");
    }
    for (name, bytes) in both(&[(b"dir/", Made::File(""))]) {
        assert_eq!(unpack(name, &bytes).tree(), files(&[("dir", "directory")]), "{name}");
    }
}

#[test]
fn a_file_needs_a_name() {
    for (name, bytes) in both(&[(b"", FILE)]) {
        assert_eq!(unpack(name, &bytes).refusal().1, Refusal::EmptyPart, "{name}");
    }
}

#[test]
fn links_out_are_refused_and_none_is_made() {
    let out = |target: &str| Refusal::LinkOut(target.to_owned());
    let table: [(&str, Refusal); 9] = [
        ("/etc/passwd", out("/etc/passwd")),
        ("..", out("..")),
        ("a/../..", out("a/../..")),
        ("a/b/../../../x", out("a/b/../../../x")),
        // It is unknown what `..` will mean behind an entry that is not there.
        ("missing/../../x", out("missing/../../x")),
        ("missing/..", out("missing/..")),
        ("a\\..\\..", out("a\\..\\..")),
        ("C:x", out("C:x")),
        ("me", Refusal::LinkCircle("me".to_owned())),
    ];
    for (target, expected) in table {
        let entries: &[(&[u8], Made<'_>)] =
            &[(b"a/b/file", FILE), (b"a/good", Made::Link("b")), (b"me", Made::Link(target))];
        for (name, bytes) in both(entries) {
            let done = unpack(name, &bytes);
            assert_eq!(done.refusal(), ("me".to_owned(), expected.clone()), "{name} {target}");
            assert!(done.target().join("a/good").symlink_metadata().is_err(), "not even the good one");
        }
    }
}

#[test]
fn links_that_only_together_lead_out() {
    // By its letters `up` stays below `a`; through `a/b/top`, which is the root, it does not.
    let entries: &[(&[u8], Made<'_>)] =
        &[(b"a/b/c/file", FILE), (b"a/b/top", Made::Link("../..")), (b"a/b/c/up", Made::Link("../top/.."))];
    for (name, bytes) in both(entries) {
        let expected = ("a/b/c/up".to_owned(), Refusal::LinkOut("../top/..".to_owned()));
        assert_eq!(unpack(name, &bytes).refusal(), expected, "{name}");
    }
}

#[test]
fn nothing_is_written_through_a_link() {
    for entries in [
        &[(&b"dir"[..], Made::Link(".")), (b"dir/evil", FILE)],
        &[(&b"dir"[..], Made::Link("/tmp")), (b"dir/evil", FILE)],
        &[(&b"dir"[..], FILE), (b"dir/evil", FILE)],
    ] {
        for (name, bytes) in both(entries) {
            let (_, reason) = unpack(name, &bytes).refusal();
            assert!(matches!(reason, Refusal::Through(_) | Refusal::LinkOut(_)), "{name}: {reason}");
        }
    }
    // The other way round: the directory is there, and a link wants its place.
    for (name, bytes) in both(&[(b"dir/file", FILE), (b"dir", Made::Link("."))]) {
        assert_eq!(unpack(name, &bytes).refusal().1, Refusal::Twice, "{name}");
    }
}

#[test]
fn names_that_are_one_file_to_some_file_systems() {
    let table: [(&[u8], &[u8], Refusal); 6] = [
        (b"same", b"same", Refusal::Twice),
        (b"README", b"readme", Refusal::Collides("README".to_owned())),
        (b"Docs/a", b"docs/b", Refusal::Collides("Docs".to_owned())),
        ("é".as_bytes(), "e\u{301}".as_bytes(), Refusal::Collides("é".to_owned())),
        ("Ä".as_bytes(), "a\u{308}".as_bytes(), Refusal::Collides("Ä".to_owned())),
        (b"a/b", b"a", Refusal::Twice),
    ];
    for (one, other, expected) in table {
        for (name, bytes) in both(&[(one, FILE), (other, FILE)]) {
            assert_eq!(unpack(name, &bytes).refusal().1, expected, "{name}");
        }
    }
}

#[test]
fn limits_are_counted_not_believed() {
    let entries: &[(&[u8], Made<'_>)] =
        &[(b"a/b/one", Made::File("12345")), (b"a/two", Made::File("12345")), (b"three", Made::File("12345"))];
    let all = FetchLimits { entries: 5, bytes: 15, file_bytes: 5, depth: 3, ..FetchLimits::default() };
    let table = [
        (FetchLimits { entries: 4, ..all }, Exceeded::Entries(4)),
        (FetchLimits { bytes: 14, ..all }, Exceeded::Bytes(14)),
        (FetchLimits { file_bytes: 4, ..all }, Exceeded::FileBytes { entry: "a/b/one".to_owned(), limit: 4 }),
    ];
    for (name, bytes) in both(entries) {
        assert!(unpack_with(name, &bytes, &all).result.is_ok(), "{name}");
        for (limits, expected) in &table {
            match unpack_with(name, &bytes, limits).result {
                Err(FetchError::TooMuch { exceeded, .. }) => assert_eq!(exceeded, *expected, "{name}"),
                other => panic!("{name}: {other:?}"),
            }
        }
        let done = unpack_with(name, &bytes, &FetchLimits { depth: 2, ..all });
        assert_eq!(done.refusal(), ("a/b/one".to_owned(), Refusal::TooDeep(2)), "{name}");
    }
}

#[test]
fn a_bomb_stops_at_the_ratio() {
    let zeros = "\0".repeat(8 << 20);
    let limits = FetchLimits { ratio: 20, ..FetchLimits::default() };
    for (name, bytes) in both(&[(b"bomb", Made::File(&zeros))]) {
        assert!(bytes.len() < 50_000, "{name} is {} bytes", bytes.len());
        let done = unpack_with(name, &bytes, &limits);
        let exceeded = matches!(&done.result, Err(FetchError::TooMuch { exceeded: Exceeded::Ratio(20), .. }));
        assert!(exceeded, "{name}: {:?}", done.result);
        let written = done.target().join("bomb").metadata().unwrap().len();
        assert!(written <= (1 << 20) + (1 << 16), "{name}: {written} bytes were written");
    }
}

#[test]
fn an_archive_that_is_cut_off_anywhere() {
    for (name, bytes) in both(&[(b"a/one", Made::File("some text, and more of it")), (b"two", FILE)]) {
        for length in 0..bytes.len() {
            let done = unpack(name, &bytes[..length]);
            assert!(matches!(done.result, Err(FetchError::Damaged { .. })), "{name} {length}: {:?}", done.result);
        }
    }
}

#[test]
fn bytes_behind_the_end() {
    for (name, bytes) in both(&[(b"a", FILE)]) {
        for garbage in [&b"x"[..], &[0; 64], b"PK\x05\x06", &bytes[..30]] {
            let done = unpack(name, &[&bytes, garbage].concat());
            assert!(matches!(done.result, Err(FetchError::Damaged { .. })), "{name}: {:?}", done.result);
        }
    }
}

#[test]
fn a_damaged_byte_is_noticed() {
    for (name, bytes) in both(&[(b"file", Made::File("some text that is packed"))]) {
        let mut noticed = 0;
        for at in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 0x55;
            // Some bytes mean nothing (times, versions): then the file is as it was.
            let done = unpack(name, &damaged);
            if done.result.is_err() {
                noticed += 1;
                continue;
            }
            // Whatever it is called by now, its bytes are what was packed.
            let made = done.tree();
            assert_eq!(made.len(), 1, "{name} {at}: {made:?}");
            assert!(made.values().all(|text| text.ends_with("some text that is packed")), "{name} {at}: {made:?}");
        }
        assert!(noticed > bytes.len() / 4, "{name}: {noticed} of {}", bytes.len());
    }
}

#[test]
fn the_name_must_say_what_it_is() {
    let [(_, zip), (_, tar)] = both(&[(b"file", FILE)]);
    assert!(unpack("a.skill", &zip).result.is_ok());
    assert!(unpack("A.ZIP", &zip).result.is_ok());
    assert!(unpack("a.tgz", &tar).result.is_ok());
    for (name, bytes) in
        [("a.tgz", &zip[..]), ("a.zip", &tar), ("a.zip", b"text"), ("a.tar.gz", b"text"), ("a.zip", b"")]
    {
        assert!(matches!(unpack(name, bytes).result, Err(FetchError::Damaged { .. })), "{name}");
    }
    // The packed bytes are no tar.
    assert!(matches!(unpack("a.tgz", &gzip(b"text")).result, Err(FetchError::Damaged { .. })));
}
