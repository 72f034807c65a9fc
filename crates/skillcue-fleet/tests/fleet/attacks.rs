//! Attacks on signed catalogs: all are refused, and the last good generation stays.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use object_store::ObjectStoreExt as _;
use serde_json::{Value, json};
use skillcue_fleet::{FleetError, PublishOptions, SigningKey, publish, sign};

use crate::support::{Fault, Fleet, names, refresh, skills};

/// Returns the head as it is stored.
fn head(fleet: &Fleet) -> Bytes {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async { fleet.faulty.inner.get(&"head".into()).await.unwrap().bytes().await.unwrap() })
}

/// Returns the head with what is signed changed, and the old signatures.
fn altered(head: &Bytes, change: impl Fn(&mut Value)) -> Value {
    let mut file: Value = serde_json::from_slice(head).unwrap();
    let mut signed: Value = serde_json::from_str(file["signed"].as_str().unwrap()).unwrap();
    change(&mut signed);
    file["signed"] = json!(signed.to_string());
    file
}

/// Returns it signed with a key.
fn resigned(mut file: Value, key: &SigningKey) -> Bytes {
    let text = file["signed"].as_str().unwrap();
    file["signatures"] = json!([{ "key": key.public().to_string(), "signature": key.sign(text) }]);
    Bytes::from(file.to_string())
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
    let sequence =
        sign(&fleet.engine, &fleet.store, &fleet.key, &[fleet.key.public()], Some(Duration::from_hours(24))).unwrap();
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
