//! Catalogs on a real S3 server that is not ours, alone and behind a proxy with faults.
//!
//! `cargo xtask test fleet` installs and starts the server, and names it in `SKILLCUE_S3_ENDPOINT`. Without it, these
//! tests say that they are skipped.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![expect(clippy::print_stdout, reason = "a skipped test says so")]

mod proxy;
mod server;

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use proxy::{Fault, FaultyProxy};
use server::{S3, s3};
use skillcue::config::CatalogTrust;
use skillcue_fleet::{
    CatalogSpec, Catalogs, CatalogsOptions, FleetEngine, FleetError, GcOptions, PublishOptions, PullOutcome,
    SigningKey, Store, StoreOptions, gc, inspect, publish,
};

/// A time limit that no request of a test reaches.
const LONG: Duration = Duration::from_mins(1);

fn write_skill(dir: &Path, name: &str, body: &str) {
    std::fs::create_dir_all(dir.join(name)).unwrap();
    let text = format!("---\nname: {name}\ndescription: Does {name} things.\n---\n{body}\n");
    std::fs::write(dir.join(name).join("SKILL.md"), text).unwrap();
}

fn skills(names: &[&str]) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    for name in names {
        write_skill(dir.path(), name, &format!("The body of {name}."));
    }
    dir
}

fn signed(key: &Arc<SigningKey>) -> PublishOptions {
    PublishOptions { name: Some("acme".to_owned()), key: Some(Arc::clone(key)), ..PublishOptions::default() }
}

fn reader(endpoint: &str, path: &str, key: &SigningKey, home: &Path) -> Catalogs {
    let spec = CatalogSpec {
        name: "acme".to_owned(),
        url: S3::url(path),
        keys: vec![key.public()],
        trust: CatalogTrust::Signed,
        precedence: 0,
        poll: Duration::from_mins(1),
        store: S3::options(endpoint, Some(Duration::from_secs(2))),
    };
    let options = CatalogsOptions {
        cache: Some(home.join("cache")),
        data: Some(home.join("data")),
        ..CatalogsOptions::default()
    };
    Catalogs::new([spec], &options)
}

fn refresh(reader: &Catalogs) -> Result<PullOutcome, FleetError> {
    reader.refresh(Duration::from_mins(2))[0].outcome.clone()
}

fn names(reader: &Catalogs) -> Vec<String> {
    reader.remotes()[0].entries().iter().map(|entry| entry.name().to_owned()).collect()
}

fn read(reader: &Catalogs, name: &str, path: &str) -> Result<Vec<u8>, skillcue::remote::RemoteError> {
    let remote = &reader.remotes()[0];
    let entry = remote.entries().iter().find(|entry| entry.name() == name).cloned().unwrap();
    remote.read(&entry, path)
}

#[test]
fn published_pulled_collected() {
    let Some(s3) = s3() else { return };
    let (engine, home) = (FleetEngine::default(), tempfile::tempdir().unwrap());
    let whole = format!("whole-{}/acme", std::process::id());
    let key = Arc::new(SigningKey::generate().unwrap());
    let store = S3::store(&whole, &s3.endpoint);
    let dir = skills(&["invoices", "pictures"]);
    // Written in parts, each above the store's smallest.
    std::fs::write(dir.path().join("pictures/large.bin"), vec![7; 12 << 20]).unwrap();
    assert_eq!(publish(&engine, &store, Some(dir.path()), &signed(&key)).unwrap().sequence, 1);
    let reader = reader(&s3.endpoint, &whole, &key, home.path());
    assert_eq!(refresh(&reader), Ok(PullOutcome::Changed(2)));
    assert_eq!(refresh(&reader), Ok(PullOutcome::Unchanged(2)));
    assert_eq!(names(&reader), ["invoices", "pictures"]);
    assert_eq!(read(&reader, "pictures", "large.bin").unwrap().len(), 12 << 20);
    write_skill(dir.path(), "invoices", "Another body.");
    publish(&engine, &store, Some(dir.path()), &signed(&key)).unwrap();
    assert_eq!(refresh(&reader), Ok(PullOutcome::Changed(2)));
    let text = read(&reader, "invoices", "SKILL.md").unwrap();
    assert!(String::from_utf8(text).unwrap().contains("Another body."));
    let gone = gc(&engine, &store, &GcOptions { keep: 1, grace: Duration::ZERO, alone: true, ..GcOptions::default() })
        .unwrap();
    assert_eq!((gone.generations, gone.blobs), (1, 3));
    assert_eq!(inspect(&engine, &store, &[key.public()], true).unwrap().entries.len(), 2);
    assert_eq!(refresh(&reader), Ok(PullOutcome::Unchanged(2)));
}

#[test]
fn publishers_that_race_lose_nothing() {
    let Some(s3) = s3() else { return };
    // A server may have seen these tests before.
    let path = format!("race-{}/acme", std::process::id());
    let rounds: usize = std::env::var("SKILLCUE_RACE_ROUNDS").map_or(100, |rounds| rounds.parse().unwrap());
    let key = Arc::new(SigningKey::generate().unwrap());
    let mut expected = BTreeSet::new();
    let publishers: Vec<_> = (0..8)
        .map(|publisher| {
            expected.extend((0..rounds).map(|round| format!("p{publisher}-r{round}")));
            let (store, key) = (S3::store(&path, &s3.endpoint), Arc::clone(&key));
            std::thread::spawn(move || {
                let engine = FleetEngine::default();
                let publish_round = |round| {
                    let dir = skills(&[&format!("p{publisher}-r{round}")]);
                    publish(&engine, &store, Some(dir.path()), &signed(&key)).unwrap().conflicts
                };
                (0..rounds).map(publish_round).sum::<usize>()
            })
        })
        .collect();
    let conflicts: usize = publishers.into_iter().map(|thread| thread.join().unwrap()).sum();
    let store = S3::store(&path, &s3.endpoint);
    let report = inspect(&FleetEngine::default(), &store, &[key.public()], true).unwrap();
    let found: BTreeSet<String> = report.entries.iter().map(|entry| entry.name().to_owned()).collect();
    assert_eq!(found, expected, "a skill was lost");
    assert_eq!(report.sequence, 8 * rounds as u64);
    assert!(conflicts > 0, "no conditional write was refused");
    println!("{} publishes, {conflicts} refused and done again", 8 * rounds);
}

#[test]
fn faults_on_the_way_leave_the_last_good_generation() {
    let Some(s3) = s3() else { return };
    let engine = FleetEngine::default();
    let faults = format!("faults-{}/acme", std::process::id());
    let key = Arc::new(SigningKey::generate().unwrap());
    let proxy = FaultyProxy::start(&s3.endpoint);
    let store = S3::store(&faults, &s3.endpoint);
    let dir = skills(&["invoices"]);
    publish(&engine, &store, Some(dir.path()), &signed(&key)).unwrap();
    let old_head = s3.object(&format!("{faults}/head"));
    let home = tempfile::tempdir().unwrap();
    let pulled = reader(&proxy.endpoint, &faults, &key, home.path());
    write_skill(dir.path(), "pictures", "Seen before the faults.");
    publish(&engine, &store, Some(dir.path()), &signed(&key)).unwrap();
    assert_eq!(refresh(&pulled), Ok(PullOutcome::Changed(2)));
    write_skill(dir.path(), "tables", "New.");
    publish(&engine, &store, Some(dir.path()), &signed(&key)).unwrap();
    let cases = [
        (Fault::Fails, "the store cannot be asked for head"),
        (Fault::Stalls, "the store did not send head within 2 s"),
        (Fault::Truncates, "head"),
        (Fault::Lies, "is not what the catalog says: its digest is"),
        (Fault::Head(old_head), "the store offers generation 1, and 2 was seen before: it was rolled back"),
        (Fault::Down, "the store cannot be asked for head"),
    ];
    for (fault, line) in cases {
        proxy.set(fault.clone());
        let error = refresh(&pulled).unwrap_err().to_string();
        assert!(error.contains(line) && !error.contains('\n'), "{fault:?}: {error}");
        let what: String = format!("{fault:?}").chars().take_while(char::is_ascii_alphabetic).collect();
        println!("{what}: {error}");
        assert_eq!(names(&pulled), ["invoices", "pictures"], "{fault:?}");
        let started = reader(&proxy.endpoint, &faults, &key, home.path());
        assert_eq!(names(&started), ["invoices", "pictures"], "{fault:?}: after a start");
        if !matches!(fault, Fault::Head(_)) {
            let error = read(&pulled, "invoices", "SKILL.md").unwrap_err().to_string();
            assert!(!error.contains('\n'), "{fault:?}: {error}");
        }
    }
    proxy.set(Fault::None);
    assert_eq!(refresh(&pulled), Ok(PullOutcome::Changed(3)));
    assert!(read(&pulled, "invoices", "SKILL.md").is_ok());
}

/// A publisher through the proxy: a publish is complete, or it fails in one line and changes nothing that a reader sees; the
/// next one succeeds.
#[test]
fn faults_on_the_way_of_a_publisher_leave_the_last_good_generation() {
    let Some(s3) = s3() else { return };
    let engine = FleetEngine::default();
    let path = format!("publisher-{}/acme", std::process::id());
    let key = Arc::new(SigningKey::generate().unwrap());
    let proxy = FaultyProxy::start(&s3.endpoint);
    let direct = S3::store(&path, &s3.endpoint);
    let store = Store::open(&S3::url(&path), &S3::options(&proxy.endpoint, Some(Duration::from_secs(2)))).unwrap();
    let dir = skills(&["invoices"]);
    publish(&engine, &store, Some(dir.path()), &signed(&key)).unwrap();
    let old_head = s3.object(&format!("{path}/head"));
    write_skill(dir.path(), "tables", "Seen before the faults.");
    let data = tempfile::tempdir().unwrap();
    let options = PublishOptions { data: Some(data.path().to_path_buf()), ..signed(&key) };
    publish(&engine, &store, Some(dir.path()), &options).unwrap();
    let home = tempfile::tempdir().unwrap();
    let pulled = reader(&s3.endpoint, &path, &key, home.path());
    let failing = [
        (Fault::Fails, "the store cannot be asked for head"),
        (Fault::Stalls, "the store did not send head within 2 s"),
        (Fault::Truncates, "head"),
        (Fault::Lies, "is not what the catalog says: its digest is"),
        (Fault::Head(old_head), "the store offers generation 1, and generation"),
        (Fault::Down, "the store cannot be asked for head"),
        (Fault::FailsWrites("/blobs/"), "the store cannot be asked for blobs/sha256/"),
        (Fault::FailsWrites("/catalog/"), "the store cannot be asked for catalog/"),
        (Fault::FailsWrites("/head"), "the store cannot be asked for head"),
        (Fault::StallsWrites("/blobs/"), "the store did not take blobs/sha256/"),
        (Fault::StallsWrites("/head"), "the store did not take head within 2 s"),
        (Fault::CutsWrites("/blobs/"), "blobs/sha256/"),
        (Fault::CutsWrites("/head"), "head"),
    ];
    let complete = [Fault::RefusesHead(Arc::new(3.into())), Fault::LosesAnswer];
    let cases = failing.map(|(fault, line)| (fault, Some(line))).into_iter().chain(complete.map(|fault| (fault, None)));
    for (number, (fault, line)) in (0..).zip(cases) {
        let before = inspect(&engine, &direct, &[key.public()], true).unwrap();
        write_skill(dir.path(), "pictures", &format!("Body {number}."));
        proxy.set(fault.clone());
        let what: String = format!("{fault:?}").chars().take_while(|char| *char != '[').take(40).collect();
        let published = publish(&engine, &store, Some(dir.path()), &options);
        proxy.set(Fault::None);
        match (published, line) {
            (Err(error), Some(line)) => {
                let error = error.to_string();
                assert!(error.contains(line) && !error.contains('\n'), "{what}: {error}");
                println!("publish, {what}: {error}");
                let now = inspect(&engine, &direct, &[key.public()], true).unwrap();
                assert_eq!(now.generation, before.generation, "{what}: the last good generation stays");
                refresh(&pulled).unwrap();
                assert_eq!(names(&pulled).len(), before.entries.len(), "{what}");
                publish(&engine, &store, Some(dir.path()), &options).unwrap();
            }
            (Ok(report), None) => println!("publish, {what}: generation {} is complete", report.sequence),
            (published, _) => panic!("{what}: {published:?}"),
        }
        // All of it is there, each byte as the catalog says.
        let after = inspect(&engine, &direct, &[key.public()], true).unwrap();
        assert_eq!((after.sequence, after.entries.len()), (before.sequence + 1, 3), "{what}");
        refresh(&pulled).unwrap();
        let body = read(&pulled, "pictures", "SKILL.md").unwrap();
        assert!(String::from_utf8(body).unwrap().contains(&format!("Body {number}.")), "{what}");
    }
}

/// Over the wire, and at the least: a machine that is busy takes longer, and none may be faster.
#[test]
fn a_bandwidth_is_kept_both_ways() {
    let Some(s3) = s3() else { return };
    let engine = FleetEngine::default();
    let path = format!("bandwidth-{}/acme", std::process::id());
    let key = Arc::new(SigningKey::generate().unwrap());
    let slow = |url: &str| {
        let options = StoreOptions { bandwidth: Some("1MB".parse().unwrap()), ..S3::options(url, Some(LONG)) };
        Store::open(&S3::url(&path), &options).unwrap()
    };
    let dir = skills(&["pictures"]);
    let large: Vec<u8> = (0..3_u64 << 17).flat_map(u64::to_be_bytes).collect();
    std::fs::write(dir.path().join("pictures/large.bin"), &large).unwrap();
    // 3.1 MB, of which the bucket lets a second's worth through at once.
    let started = Instant::now();
    publish(&engine, &slow(&s3.endpoint), Some(dir.path()), &signed(&key)).unwrap();
    assert!(started.elapsed() >= Duration::from_secs(2), "sent within {:?}", started.elapsed());
    let started = Instant::now();
    inspect(&engine, &slow(&s3.endpoint), &[key.public()], true).unwrap();
    assert!(started.elapsed() >= Duration::from_secs(2), "received within {:?}", started.elapsed());
}

/// A file that is written in parts: an upload of which a part is cut, fails or is not answered leaves nothing that a reader sees,
/// and the next one writes all of it.
#[test]
fn an_upload_in_parts_that_is_cut_is_not_half_there() {
    let Some(s3) = s3() else { return };
    let engine = FleetEngine::default();
    let path = format!("parts-{}/acme", std::process::id());
    let key = Arc::new(SigningKey::generate().unwrap());
    let proxy = FaultyProxy::start(&s3.endpoint);
    let direct = S3::store(&path, &s3.endpoint);
    let store = Store::open(&S3::url(&path), &S3::options(&proxy.endpoint, Some(Duration::from_secs(2)))).unwrap();
    let dir = skills(&["invoices"]);
    publish(&engine, &store, Some(dir.path()), &signed(&key)).unwrap();
    write_skill(dir.path(), "pictures", "A large one.");
    let large: Vec<u8> = (0..12 << 17).flat_map(u64::to_be_bytes).collect();
    std::fs::write(dir.path().join("pictures/large.bin"), &large).unwrap();
    let blob = {
        let digest = skillcue_base::Digest::of(&large).to_string();
        format!("{path}/blobs/sha256/{}/{digest}", &digest[..2])
    };
    let faults =
        [Fault::CutsWrites("partNumber=1"), Fault::CutsWrites("partNumber=2"), Fault::FailsWrites("partNumber=2")];
    for fault in faults {
        proxy.set(fault.clone());
        let error = publish(&engine, &store, Some(dir.path()), &signed(&key)).unwrap_err().to_string();
        proxy.set(Fault::None);
        println!("publish, {fault:?}: {error}");
        assert!(error.contains("blobs/sha256/") && !error.contains('\n'), "{fault:?}: {error}");
        assert!(s3.object(&blob).starts_with(b"<?xml"), "{fault:?}: no such object");
        let now = inspect(&engine, &direct, &[key.public()], true).unwrap();
        assert_eq!((now.sequence, now.entries.len()), (1, 1), "{fault:?}: the last good generation stays");
    }
    assert_eq!(publish(&engine, &store, Some(dir.path()), &signed(&key)).unwrap().sequence, 2);
    assert_eq!(inspect(&engine, &direct, &[key.public()], true).unwrap().entries.len(), 2);
    assert!(s3.object(&blob) == large, "every byte is there");
    // A blob that was damaged is written over, also in parts.
    s3.put_object(&blob, b"damaged");
    assert!(inspect(&engine, &direct, &[key.public()], true).is_err());
    let again = PublishOptions { again: true, ..signed(&key) };
    assert_eq!(publish(&engine, &store, Some(dir.path()), &again).unwrap().sequence, 2);
    assert!(inspect(&engine, &direct, &[key.public()], true).is_ok());
}
