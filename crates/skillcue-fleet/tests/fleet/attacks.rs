//! Attacks on signed catalogs: all are refused, and the last good generation stays.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use serde_json::{Value, json};
use skillcue_fleet::{CatalogSpec, FleetError, GcOptions, PublishOptions, SignOptions, SigningKey, gc, publish, sign};

use crate::support::{Fault, Fleet, altered, forge_document, names, refresh, resigned, skills};

fn head(fleet: &Fleet) -> Bytes {
    fleet.faulty.stored_head()
}

fn seconds(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).unwrap().as_secs()
}

/// A reader with generation 2 of three, and the heads of all three.
fn fleet() -> (Fleet, Vec<Bytes>) {
    let fleet = Fleet::new();
    let mut heads = Vec::new();
    for (at, name) in ["one", "two", "three"].into_iter().enumerate() {
        fleet.publish(skills(&[name]).path());
        heads.push(head(&fleet));
        if at == 1 {
            refresh(&fleet.reader()).unwrap();
        }
    }
    (fleet, heads)
}

type Attack = Box<dyn Fn(&Fleet, &[Bytes]) -> Bytes>;

#[test]
fn attacks_are_refused() {
    let now = SystemTime::now();
    let stranger = SigningKey::generate().unwrap();
    let attacks: Vec<(&str, Attack, &str)> = vec![
        (
            "unsigned",
            Box::new(|_, heads| {
                let mut file: Value = serde_json::from_slice(&heads[2]).unwrap();
                file["signatures"] = json!([]);
                Bytes::from(file.to_string())
            }),
            "the catalog is not signed, and keys are configured for it",
        ),
        (
            "wrong key",
            Box::new(move |_, heads| resigned(altered(&heads[2], |_| {}), &stranger)),
            "none of the 1 trusted keys has signed the catalog; it is signed by ed25519:",
        ),
        (
            "another's signature",
            Box::new(|fleet, heads| {
                let mut file: Value = serde_json::from_slice(&heads[2]).unwrap();
                file["signatures"] = json!([{ "key": fleet.key.public().to_string(), "signature": "AAAA" }]);
                Bytes::from(file.to_string())
            }),
            "does not fit the catalog",
        ),
        (
            "altered",
            Box::new(|_, heads| Bytes::from(altered(&heads[2], |signed| signed["sequence"] = json!(99)).to_string())),
            "does not fit the catalog",
        ),
        (
            "mixed generations",
            Box::new(|_, heads| {
                let other: Value = serde_json::from_slice(&heads[0]).unwrap();
                let other: Value = serde_json::from_str(other["signed"].as_str().unwrap()).unwrap();
                let document = other["document"].clone();
                Bytes::from(altered(&heads[2], move |signed| signed["document"] = document.clone()).to_string())
            }),
            "does not fit the catalog",
        ),
        (
            "mixed generations, by a publisher",
            Box::new(|fleet, heads| {
                let other: Value = serde_json::from_slice(&heads[0]).unwrap();
                let other: Value = serde_json::from_str(other["signed"].as_str().unwrap()).unwrap();
                let document = other["document"].clone();
                resigned(altered(&heads[2], move |signed| signed["document"] = document.clone()), &fleet.key)
            }),
            "the store has no catalog/000000000003-",
        ),
        (
            "rolled back",
            Box::new(|_, heads| heads[0].clone()),
            "the store offers generation 1, and 2 was seen before: it was rolled back",
        ),
        (
            "forked",
            Box::new(|fleet, heads| resigned(altered(&heads[2], |signed| signed["sequence"] = json!(2)), &fleet.key)),
            "the store offers another generation 2 than the one seen before",
        ),
        (
            "frozen",
            Box::new(move |fleet, heads| {
                let past = seconds(now - Duration::from_hours(1));
                resigned(altered(&heads[2], move |signed| signed["expires"] = json!(past)), &fleet.key)
            }),
            "the catalog expired on",
        ),
        (
            "another catalog",
            Box::new(|fleet, heads| {
                resigned(altered(&heads[2], |signed| signed["catalog"] = json!("other")), &fleet.key)
            }),
            "the catalog there is called \"other\", not \"acme\"",
        ),
        ("huge", Box::new(|_, _| Bytes::from(vec![b'{'; 1 << 20])), "head is larger than 65536 bytes"),
        (
            "a huge document",
            Box::new(|fleet, heads| {
                resigned(altered(&heads[2], |signed| signed["document"]["size"] = json!(u64::MAX)), &fleet.key)
            }),
            "is larger than",
        ),
        (
            "many signatures",
            Box::new(|_, heads| {
                let mut file: Value = serde_json::from_slice(&heads[2]).unwrap();
                file["signatures"] = json!(vec![json!({ "key": "k", "signature": "s" }); 100]);
                Bytes::from(file.to_string())
            }),
            "head cannot be read: it has more than 16 signatures",
        ),
        ("truncated", Box::new(|_, heads| heads[2].slice(..heads[2].len() / 2)), "head cannot be read"),
        (
            "a newer format",
            Box::new(|fleet, heads| resigned(altered(&heads[2], |signed| signed["format"] = json!(2)), &fleet.key)),
            "head cannot be read: its format is 2",
        ),
    ];
    for (what, attack, line) in attacks {
        let (fleet, heads) = fleet();
        fleet.faulty.set(Fault::Head(attack(&fleet, &heads)));
        let reader = fleet.reader();
        let error = refresh(&reader).unwrap_err();
        assert!(error.to_string().contains(line), "{what}: {error}");
        assert!(!error.to_string().contains('\n'), "{what}: {error}");
        assert_eq!(names(&reader), ["one", "two"], "{what}");
        assert_eq!(names(&fleet.reader()), ["one", "two"], "{what}: after a start");
        fleet.faulty.set(Fault::None);
        refresh(&reader).unwrap();
        assert_eq!(names(&reader), ["one", "three", "two"], "{what}");
    }
}

#[test]
fn emptying_the_cache_does_not_allow_a_rollback() {
    let (mut fleet, heads) = fleet();
    fleet.cache = tempfile::tempdir().unwrap();
    fleet.faulty.set(Fault::Head(heads[0].clone()));
    let reader = fleet.reader();
    assert!(matches!(refresh(&reader), Err(FleetError::RolledBack { offered: 1, seen: 2 })));
    assert_eq!(names(&reader), [""; 0]);
}

#[test]
fn a_process_that_is_behind_another_takes_nothing_back() {
    let (fleet, heads) = fleet();
    let (behind, ahead) = (fleet.reader(), fleet.reader());
    assert_eq!(names(&behind), ["one", "two"]);
    refresh(&ahead).unwrap();
    fleet.faulty.set(Fault::Head(heads[1].clone()));
    assert!(matches!(refresh(&behind), Err(FleetError::RolledBack { offered: 2, seen: 3 })));
    // What the other has kept is as it was.
    assert_eq!(names(&fleet.reader()), ["one", "three", "two"]);
    assert!(matches!(refresh(&fleet.reader()), Err(FleetError::RolledBack { offered: 2, seen: 3 })));
}

#[test]
fn a_kept_generation_that_lost_its_signer_is_not_used() {
    let (fleet, _) = fleet();
    let other = SigningKey::generate().unwrap().public();
    assert_eq!(names(&fleet.reader_with_keys(vec![other])), [""; 0], "the user has withdrawn the key");
}

#[test]
fn a_frozen_store_is_said_and_a_renewed_one_is_fine() {
    let fleet = Fleet::new();
    let short = PublishOptions { expiry: Duration::ZERO, ..fleet.options() };
    publish(&fleet.engine, &fleet.store, Some(skills(&["one"]).path()), &short).unwrap();
    // Clocks may differ by five minutes, so it is still valid.
    let reader = fleet.reader();
    refresh(&reader).unwrap();
    let now = head(&fleet);
    let past = seconds(SystemTime::now() - Duration::from_hours(1));
    let frozen = resigned(altered(&now, move |signed| signed["expires"] = json!(past)), &fleet.key);
    fleet.faulty.set(Fault::Head(frozen));
    assert!(matches!(refresh(&reader), Err(FleetError::Expired(_))));
    assert!(reader.diagnostics()[0].message.contains("expired on"), "{:?}", reader.diagnostics());
    fleet.faulty.set(Fault::None);
    let renewal = SignOptions { renew: Some(Duration::from_hours(24)), ..SignOptions::default() };
    let sequence = sign(&fleet.engine, &fleet.store, &fleet.key, &renewal).unwrap();
    assert_eq!(sequence, 2);
    refresh(&reader).unwrap();
    assert_eq!((names(&reader), reader.diagnostics().len()), (vec!["one".to_owned()], 0));
}

#[test]
fn a_name_is_part_of_what_is_signed() {
    let fleet = Fleet::new();
    let other = PublishOptions {
        name: Some("other".to_owned()),
        key: Some(Arc::clone(&fleet.key)),
        ..PublishOptions::default()
    };
    publish(&fleet.engine, &fleet.store, Some(skills(&["one"]).path()), &other).unwrap();
    assert!(matches!(refresh(&fleet.reader()), Err(FleetError::WrongName { .. })));
}

#[test]
fn a_signature_that_does_not_fit_names_no_signer() {
    let fleet = Fleet::new();
    fleet.publish(skills(&["one"]).path());
    let stranger = SigningKey::generate().unwrap().public().to_string();
    let mut file: Value = serde_json::from_slice(&head(&fleet)).unwrap();
    file["signatures"].as_array_mut().unwrap().push(json!({ "key": stranger, "signature": "AAAA" }));
    fleet.faulty.store_bytes("head", file.to_string());
    let reader = fleet.reader();
    refresh(&reader).unwrap();
    assert_eq!(reader.status()[0].signers, [fleet.key.public().to_string()]);
    let report = skillcue_fleet::inspect(&fleet.engine, &fleet.store, &[], false).unwrap();
    assert_eq!(report.signers, [fleet.key.public().to_string()]);
    let open = CatalogSpec { keys: Vec::new(), trust: skillcue::config::CatalogTrust::Ask, ..fleet.spec() };
    let reader = fleet.reader_of(open);
    refresh(&reader).unwrap();
    assert!(reader.status()[0].signers.is_empty(), "no key was compared");
}

/// A catalog without keys: any writer of the store chooses what its readers unpack.
#[test]
fn a_shard_bomb_is_refused() {
    let fleet = Fleet::new();
    fleet.publish(skills(&["one"]).path());
    let shard = fleet.faulty.paths("blobs").into_iter().find_map(|path| {
        let bytes = fleet.faulty.stored(path.as_ref());
        let mut raw = String::new();
        std::io::Read::read_to_string(&mut flate2::read::GzDecoder::new(&bytes[..]), &mut raw).ok()?;
        raw.contains("frontmatter").then_some(raw)
    });
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    std::io::Write::write_all(&mut packed, shard.unwrap().repeat(100_000).as_bytes()).unwrap();
    let bomb = packed.finish().unwrap();
    let digest = skillcue_base::Digest::of(&bomb).to_string();
    fleet.faulty.store_bytes(&format!("blobs/sha256/{}/{digest}", &digest[..2]), bomb.clone());
    forge_document(&fleet, |document| {
        document["shards"][0]["entries"] = json!({ "digest": digest, "size": bomb.len() });
    });
    let open = CatalogSpec { keys: Vec::new(), trust: skillcue::config::CatalogTrust::Ask, ..fleet.spec() };
    let error = refresh(&fleet.reader_of(open)).unwrap_err();
    assert!(error.to_string().contains("it has more skills than the 1 that the document says"), "{error}");
}

#[test]
fn numbers_at_their_end_are_errors() {
    let fleet = Fleet::new();
    let dir = skills(&["one"]);
    fleet.publish(dir.path());
    let collect = GcOptions { keep: 1, grace: Duration::ZERO, alone: true, ..GcOptions::default() };
    let mut file: Value = serde_json::from_slice(&head(&fleet)).unwrap();
    file["collected"] = json!(u64::MAX);
    // A lease until the year 9000 keeps no publisher waiting, and no collection.
    file["collecting"] = json!({ "until": 221_845_392_000_u64, "owner": 1 });
    fleet.faulty.store_bytes("head", file.to_string());
    fleet.publish(skills(&["two"]).path());
    fleet.faulty.store_bytes("head", file.to_string());
    gc(&fleet.engine, &fleet.store, &collect).unwrap();
    let fleet = Fleet::new();
    fleet.publish(dir.path());
    forge_document(&fleet, |document| document["sequence"] = json!(u64::MAX));
    let error = publish(&fleet.engine, &fleet.store, Some(skills(&["two"]).path()), &fleet.options()).unwrap_err();
    assert!(error.to_string().contains("no generation comes after 18446744073709551615"), "{error}");
    let renewal = SignOptions { renew: Some(Duration::MAX), ..SignOptions::default() };
    let error = sign(&fleet.engine, &fleet.store, &fleet.key, &renewal).unwrap_err();
    assert!(error.to_string().contains("no generation comes after"), "{error}");
}
