//! Behaviour that only zip archives have.

use std::io::Write as _;

use skillcue_registry::{Exceeded, FetchError, FetchLimits, Refusal};
use zip::CompressionMethod;
use zip::write::SimpleFileOptions;

use crate::support::{Item, Zip, end, files, unpack, unpack_with};

fn damaged(bytes: &[u8]) -> String {
    match unpack("a.zip", bytes).result {
        Err(FetchError::Damaged { reason, .. }) => reason,
        other => panic!("{other:?}"),
    }
}

#[test]
fn archives_of_another_program() {
    for method in [CompressionMethod::Stored, CompressionMethod::Deflated] {
        for large in [false, true] {
            let mut writer = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
            let options = SimpleFileOptions::default().compression_method(method).large_file(large);
            writer.add_directory("pdf", options).unwrap();
            writer.start_file("pdf/SKILL.md", options.unix_permissions(0o600)).unwrap();
            writer.write_all(b"text text text text").unwrap();
            writer.start_file("pdf/run.sh", options.unix_permissions(0o700)).unwrap();
            writer.add_symlink("pdf/link", "SKILL.md", options).unwrap();
            writer.set_comment("a comment with PK\u{5}\u{6} in it").unwrap();
            let bytes = writer.finish().unwrap().into_inner();
            let expected = files(&[
                ("pdf", "directory"),
                ("pdf/SKILL.md", "text text text text"),
                ("pdf/run.sh", "x "),
                ("pdf/link", "-> SKILL.md"),
            ]);
            assert_eq!(unpack("a.skill", &bytes).tree(), expected, "{method} {large}");
        }
    }
}

#[test]
fn devices_pipes_and_sockets() {
    for (mode, what) in
        [(0o010_644, "a named pipe"), (0o020_644, "a device"), (0o060_644, "a device"), (0o140_644, "a socket")]
    {
        let mut zip = Zip::default();
        zip.add(&Item { name: b"odd", mode, ..Item::default() });
        assert_eq!(unpack("a.zip", &zip.done()).refusal(), ("odd".to_owned(), Refusal::Special(what)));
    }
}

#[test]
fn encrypted_and_oddly_packed_entries_are_refused_before_any_is_unpacked() {
    let table = [
        (Item { name: b"odd", flags: 1, ..Item::default() }, Refusal::Encrypted),
        (Item { name: b"odd", flags: 1 << 6, ..Item::default() }, Refusal::Encrypted),
        (Item { name: b"odd", method: Some(12), ..Item::default() }, Refusal::Method(12)),
    ];
    for (item, expected) in table {
        let mut zip = Zip::default();
        zip.add(&Item { name: b"good", ..Item::default() });
        zip.add(&item);
        let done = unpack("a.zip", &zip.done());
        assert_eq!(done.refusal(), ("odd".to_owned(), expected));
        assert!(!done.target().join("good").exists());
    }
}

#[test]
fn sizes_and_checksums_that_lie() {
    for item in [
        Item { name: b"a", data: b"text", claimed_size: Some(3), ..Item::default() },
        Item { name: b"a", data: b"text", claimed_size: Some(u32::MAX - 1), ..Item::default() },
        Item { name: b"a", data: b"text", claimed_crc: Some(7), ..Item::default() },
        Item { name: b"a", data: b"text", claimed_size: Some(3), method: Some(0), ..Item::default() },
    ] {
        let mut zip = Zip::default();
        zip.add(&item);
        assert_eq!(damaged(&zip.done()), "the archive is damaged: a file is not as it was packed");
    }
}

#[test]
fn a_bomb_that_claims_to_be_small() {
    let zeros = vec![0; 4 << 20];
    let mut zip = Zip::default();
    zip.add(&Item { name: b"bomb", data: &zeros, claimed_size: Some(10), ..Item::default() });
    let done = unpack_with("a.zip", &zip.done(), &FetchLimits { bytes: 1 << 20, ..FetchLimits::default() });
    assert!(matches!(done.result, Err(FetchError::TooMuch { .. })), "{:?}", done.result);
    assert!(done.target().join("bomb").metadata().unwrap().len() <= (1 << 20) + (1 << 16));
}

#[test]
fn entries_that_share_their_bytes() {
    // The bytes of `outer` are a whole entry `inner`: unpacked twice, they would be two files. With one kernel of zeros
    // and thousands of such shells, 10 KB become 10 GB.
    let inner = Item { name: b"inner", data: b"shared", ..Item::default() };
    let (local, _) = Zip::records(&inner, 0);
    let mut zip = Zip::default();
    zip.add(&Item { name: b"outer", data: &local, method: Some(0), ..Item::default() });
    let at = zip.bytes.len() - local.len();
    zip.central.extend(Zip::records(&inner, at).1);
    zip.count += 1;
    assert_eq!(unpack("a.zip", &zip.done()).refusal(), ("inner".to_owned(), Refusal::Overlap));
    // Two records of one entry, under its own name and under another.
    for (name, twice) in [(&b"inner"[..], true), (b"other", false)] {
        let mut zip = Zip::default();
        zip.add(&inner);
        zip.central.extend(Zip::records(&Item { name, data: b"shared", ..Item::default() }, 0).1);
        zip.count += 1;
        let done = unpack("a.zip", &zip.done());
        match &done.result {
            Err(FetchError::Entry { reason: Refusal::Twice | Refusal::Overlap, .. }) if twice => {}
            Err(FetchError::Entry { reason: Refusal::Overlap, .. } | FetchError::Damaged { .. }) if !twice => {}
            other => panic!("{other:?}"),
        }
        assert!(!done.target().join("inner").exists());
    }
    // One record of it is nothing to refuse.
    let mut zip = Zip::default();
    zip.add(&inner);
    assert_eq!(unpack("a.zip", &zip.done()).tree(), files(&[("inner", "shared")]));
}

#[test]
fn a_million_entries_are_counted_before_they_are_read() {
    // The end claims a million entries; none of them is there to be read.
    let mut bytes = b"PK\x03\x04".to_vec();
    let at = bytes.len() as u64;
    bytes.extend(b"PK\x06\x06");
    bytes.extend(44u64.to_le_bytes());
    bytes.extend([45, 3, 45, 0]);
    bytes.extend([0; 8]);
    bytes.extend(1_000_000u64.to_le_bytes());
    bytes.extend(1_000_000u64.to_le_bytes());
    bytes.extend(46_000_000u64.to_le_bytes());
    bytes.extend(0u64.to_le_bytes());
    bytes.extend(b"PK\x06\x07\0\0\0\0");
    bytes.extend(at.to_le_bytes());
    bytes.extend(1u32.to_le_bytes());
    let mut last = end(u16::MAX, 0, 0);
    last[12..20].fill(0xff);
    bytes.extend(last);
    let done = unpack("a.zip", &bytes);
    let exceeded = matches!(&done.result, Err(FetchError::TooMuch { exceeded: Exceeded::Entries(100_000), .. }));
    assert!(exceeded, "{:?}", done.result);
}

#[test]
fn a_directory_that_is_not_what_its_end_says() {
    let zip = || {
        let mut zip = Zip::default();
        zip.add(&Item { name: b"one", data: b"1", ..Item::default() });
        zip.add(&Item { name: b"two", data: b"2", ..Item::default() });
        zip
    };
    // Fewer entries than there are, more than there are.
    for count in [1, 3] {
        let mut zip = zip();
        zip.count = count;
        assert!(damaged(&zip.done()).contains("directory"), "{count}");
    }
    // A directory somewhere else, as behind a program that unpacks itself.
    let mut moved = b"PK\x03\x04 a program".to_vec();
    moved.extend(zip().done());
    assert_eq!(damaged(&moved), "the archive's directory is not where it should be");
    // A directory that calls an entry differently than the entry itself does.
    let Zip { bytes, central, count } = zip();
    let central = [&central[..46], b"uno", &central[49..]].concat();
    let bytes = Zip { bytes, central, count }.done();
    assert_eq!(damaged(&bytes), "the archive's directory and its entries say different things");
    // An entry beyond the end of the file.
    let Zip { bytes, mut central, count } = zip();
    central[42..46].copy_from_slice(&0x7fff_ffffu32.to_le_bytes());
    assert_eq!(damaged(&Zip { bytes, central, count }.done()), "the archive is cut off");
}

#[test]
fn ten_gigabytes_in_ten_kilobytes() {
    // One kernel of zeros that a thousand entries claim as theirs.
    let zeros = vec![0; 10 << 20];
    let item = Item { name: b"f0000", data: &zeros, ..Item::default() };
    let mut zip = Zip::default();
    zip.add(&item);
    assert!(zip.bytes.len() < 12_000, "{} bytes", zip.bytes.len());
    let (_, record) = Zip::records(&item, 0);
    for number in 1..1024 {
        let mut record = record.clone();
        record[46..51].copy_from_slice(format!("f{number:04}").as_bytes());
        zip.central.extend(record);
        zip.count += 1;
    }
    let done = unpack("a.zip", &zip.done());
    // Only one of them can have the name that stands before the bytes.
    assert!(matches!(done.result, Err(FetchError::Damaged { .. })), "{:?}", done.result);
    let written: u64 = done.target().read_dir().unwrap().map(|file| file.unwrap().metadata().unwrap().len()).sum();
    assert!(written <= 10 << 20, "{written} bytes");
}
