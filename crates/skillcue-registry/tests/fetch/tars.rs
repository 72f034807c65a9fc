//! Behaviour that only tar archives have.

use skillcue_registry::{Exceeded, FetchError, FetchLimits, Refusal};

use crate::support::{FetchResult, Tar, files, gzip, record, unpack, unpack_with};

fn tar(fill: impl FnOnce(&mut Tar)) -> FetchResult {
    let mut tar = Tar::default();
    fill(&mut tar);
    unpack("a.tar.gz", &gzip(&tar.done()))
}

fn damaged(done: &FetchResult) -> &str {
    match &done.result {
        Err(FetchError::Damaged { reason, .. }) => reason,
        other => panic!("{other:?}"),
    }
}

#[test]
fn archives_of_another_program() {
    let name = format!("{}/{}", "long".repeat(30), "name".repeat(30));
    let mut builder = tar::Builder::new(Vec::new());
    let mut header = tar::Header::new_gnu();
    header.set_size(4);
    header.set_mode(0o640);
    builder.append_data(&mut header, &name, &b"text"[..]).unwrap();
    let mut header = tar::Header::new_gnu();
    header.set_entry_type(tar::EntryType::Symlink);
    header.set_size(0);
    builder.append_link(&mut header, "link", &name).unwrap();
    let bytes = gzip(&builder.into_inner().unwrap());
    let (dir, _) = name.split_once('/').unwrap();
    let expected = files(&[(dir, "directory"), (&name, "text"), ("link", &format!("-> {name}"))]);
    assert_eq!(unpack("a.tgz", &bytes).tree(), expected);
}

#[test]
fn devices_pipes_and_unknown_entries_are_refused() {
    let unknown = "neither file nor directory nor link";
    for (kind, what) in
        [(b'3', "a device"), (b'4', "a device"), (b'6', "a named pipe"), (b'S', "a file with holes"), (b'V', unknown)]
    {
        let done = tar(|tar| tar.add(kind, b"odd", b"", 0o644, b""));
        assert_eq!(done.refusal(), ("odd".to_owned(), Refusal::Special(what)));
    }
}

#[test]
fn a_hard_link_is_a_copy_of_an_earlier_file() {
    let done = tar(|tar| {
        tar.add(b'0', b"a/file", b"", 0o644, b"text");
        tar.add(b'1', b"copy", b"a/file", 0o755, b"");
    });
    assert_eq!(done.tree(), files(&[("a", "directory"), ("a/file", "text"), ("copy", "x text")]));
    for target in ["later", "../a/file", "/etc/passwd", "a", "link", "link/file", "", "A/file", "a/.git"] {
        let done = tar(|tar| {
            tar.add(b'0', b"a/file", b"", 0o644, b"text");
            tar.add(b'2', b"link", b"a", 0o777, b"");
            tar.add(b'1', b"hard", target.as_bytes(), 0o644, b"");
            tar.add(b'0', b"later", b"", 0o644, b"text");
        });
        assert_eq!(done.refusal(), ("hard".to_owned(), Refusal::HardLink(target.to_owned())), "{target}");
    }
}

#[test]
fn hard_links_count_like_files() {
    let mut tar = Tar::default();
    tar.add(b'0', b"file", b"", 0o644, &[b'x'; 1000]);
    for number in 0..20 {
        tar.add(b'1', format!("copy{number}").as_bytes(), b"file", 0o644, b"");
    }
    let limits = FetchLimits { bytes: 10_000, ..FetchLimits::default() };
    let done = unpack_with("a.tgz", &gzip(&tar.done()), &limits);
    assert!(matches!(done.result, Err(FetchError::TooMuch { exceeded: Exceeded::Bytes(10_000), .. })));
    assert!(done.target().join("copy8").exists() && !done.target().join("copy12").exists());
}

#[test]
fn long_names_of_ten_gigabytes_are_not_read() {
    // Only the header is there: reading the name would fail, as it is cut off.
    for kind in [b'L', b'K', b'x', b'g'] {
        let done = tar(|tar| tar.header(kind, b"long", b"", 0o644, 10 << 30));
        assert_eq!(done.refusal(), ("long".to_owned(), Refusal::TooLong), "{}", char::from(kind));
    }
}

#[test]
fn a_flood_of_extra_headers_is_bounded_by_the_stream() {
    let mut tar = Tar::default();
    let comment = record(b"comment", &[b'c'; 4000]);
    for _ in 0..20 {
        tar.header(b'g', b"global", b"", 0o644, comment.len() as u64);
        tar.data(&comment);
    }
    let bytes = gzip(&tar.done());
    assert!(unpack("a.tgz", &bytes).result.is_ok());
    let done = unpack_with("a.tgz", &bytes, &FetchLimits { bytes: 1000, entries: 10, ..FetchLimits::default() });
    assert!(matches!(done.result, Err(FetchError::TooMuch { exceeded: Exceeded::Bytes(1000), .. })));
}

#[test]
fn many_empty_entries_stop_at_the_limit() {
    let mut tar = Tar::default();
    for number in 0..3000 {
        tar.header(b'0', format!("{number}").as_bytes(), b"", 0o644, 0);
    }
    // Behind the limit nothing is looked at, not even what is no archive any more.
    tar.bytes.extend([b'?'; 512]);
    let done = unpack_with("a.tgz", &gzip(&tar.bytes), &FetchLimits { entries: 1000, ..FetchLimits::default() });
    assert!(matches!(done.result, Err(FetchError::TooMuch { exceeded: Exceeded::Entries(1000), .. })));
    assert_eq!(done.target().read_dir().unwrap().count(), 1000);
}

#[test]
fn extended_headers_that_contradict() {
    let extended = |records: Vec<u8>| {
        tar(|tar| {
            tar.header(b'x', b"x", b"", 0o644, records.len() as u64);
            tar.data(&records);
            tar.add(b'0', b"file", b"", 0o644, b"text");
        })
    };
    assert_eq!(extended(record(b"size", b"4")).tree(), files(&[("file", "text")]));
    assert_eq!(extended(record(b"SCHILY.xattr.user.a", b"two\nlines")).tree(), files(&[("file", "text")]));
    assert_eq!(damaged(&extended(record(b"size", b"512"))), "an entry has two sizes");
    let twice = [record(b"path", b"one"), record(b"path", b"two")].concat();
    assert_eq!(damaged(&extended(twice)), "an entry is named twice");
    assert_eq!(damaged(&extended(b"99 path=x\n".to_vec())), "an extended header is damaged");
    let sparse = extended([record(b"path", b"odd"), record(b"GNU.sparse.major", b"1")].concat());
    assert_eq!(sparse.refusal(), ("odd".to_owned(), Refusal::Special("a file with holes")));
    let global = tar(|tar| {
        let records = record(b"path", b"everywhere");
        tar.header(b'g', b"g", b"", 0o644, records.len() as u64);
        tar.data(&records);
    });
    assert_eq!(damaged(&global), "a global header names all entries at once");
    let alone = tar(|tar| {
        let records = record(b"path", b"nobody");
        tar.header(b'x', b"x", b"", 0o644, records.len() as u64);
        tar.data(&records);
    });
    assert_eq!(damaged(&alone), "the archive is cut off");
}

#[test]
fn bytes_behind_the_end_are_refused() {
    let mut tar = Tar::default();
    tar.add(b'0', b"file", b"", 0o644, b"text");
    let whole = tar.done();
    assert!(unpack("a.tgz", &gzip(&[&whole[..], &[0; 8192]].concat())).result.is_ok(), "zeros fill the last block");
    let hidden = [&whole[..], &whole].concat();
    assert_eq!(damaged(&unpack("a.tgz", &gzip(&hidden))), "bytes follow the archive's end");
}

#[test]
fn a_million_empty_entries() {
    use std::io::Write as _;
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    let mut header = tar::Header::new_ustar();
    header.set_mode(0o644);
    header.set_entry_type(tar::EntryType::Regular);
    header.set_size(0);
    header.set_path("f0000000").unwrap();
    header.set_cksum();
    let sum: u32 = header.cksum().unwrap();
    for number in 0..1_000_000_u32 {
        // The sum of a header changes with its digits; adding all of it up a million times would take long.
        let digits = format!("{number:07}");
        let bytes = header.as_mut_bytes();
        bytes[1..8].copy_from_slice(digits.as_bytes());
        let more: u32 = digits.bytes().map(|digit| u32::from(digit - b'0')).sum();
        bytes[148..156].copy_from_slice(format!("{:06o}\0 ", sum + more).as_bytes());
        gzip.write_all(bytes).unwrap();
    }
    gzip.write_all(&[0; 1024]).unwrap();
    let done = unpack("a.tar.gz", &gzip.finish().unwrap());
    let exceeded = matches!(&done.result, Err(FetchError::TooMuch { exceeded: Exceeded::Entries(100_000), .. }));
    assert!(exceeded, "{:?}", done.result);
}
