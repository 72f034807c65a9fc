//! The memory that readers and publishers have of a catalog: nothing of another catalog replaces it, and its loss is an error.

use std::time::{Duration, SystemTime};

use skillcue_fleet::{CatalogSpec, Catalogs, CatalogsOptions, FleetError, PolicyChange, PublishOptions, publish};

use crate::support::{Fault, Fleet, names, refresh, skills};

const FORBIDS_MINERS: &str = "[forbid]\nskills = [\"*-miner\"]\n";

/// A reader at generation 2, which carries a policy, and the head of generation 1.
fn fleet_with_policy() -> (Fleet, bytes::Bytes) {
    let fleet = Fleet::new();
    fleet.publish(skills(&["one"]).path());
    let first = fleet.faulty.stored_head();
    let options = PublishOptions { policy: PolicyChange::Set(FORBIDS_MINERS.to_owned()), ..fleet.options() };
    publish(&fleet.engine, &fleet.store, Some(skills(&["two"]).path()), &options).unwrap();
    refresh(&fleet.reader()).unwrap();
    (fleet, first)
}

/// Such as a checkout may configure, or a person who tries a staging area.
#[test]
fn a_catalog_of_the_same_name_elsewhere_replaces_no_memory() {
    let (fleet, first) = fleet_with_policy();
    let elsewhere = Fleet { key: std::sync::Arc::clone(&fleet.key), ..Fleet::new() };
    elsewhere.publish(skills(&["other"]).path());
    let staging = CatalogSpec { url: "s3://staging/acme".to_owned(), ..fleet.spec() };
    let staging = Catalogs::new([staging], &fleet.reader_options()).with_store("acme", elsewhere.store.clone());
    refresh(&staging).unwrap();
    assert_eq!(names(&staging), ["other"]);
    assert!(staging.policy().is_empty());
    let reader = fleet.reader();
    assert_eq!(names(&reader), ["one", "two"], "the generation on disk is its own");
    assert_eq!(reader.policy().summaries().len(), 1, "and so is the policy");
    fleet.faulty.set(Fault::Head(first));
    assert_eq!(refresh(&reader), Err(FleetError::RolledBack { offered: 1, seen: 2 }));
}

#[test]
fn a_rotated_key_keeps_the_memory() {
    let (fleet, first) = fleet_with_policy();
    let other = skillcue_fleet::SigningKey::generate().unwrap().public();
    fleet.faulty.set(Fault::Head(first));
    let reader = fleet.reader_with_keys(vec![other, fleet.key.public()]);
    assert_eq!(refresh(&reader), Err(FleetError::RolledBack { offered: 1, seen: 2 }));
}

#[test]
fn a_damaged_memory_is_an_error_and_no_new_start() {
    let (mut fleet, first) = fleet_with_policy();
    fleet.cache = tempfile::tempdir().unwrap();
    fleet.faulty.store_bytes("head", first);
    let file = fleet.kept_file(".json");
    for damage in ["", "{", "{\"version\":99}"] {
        std::fs::write(&file, damage).unwrap();
        let reader = fleet.reader();
        let error = refresh(&reader).unwrap_err();
        assert!(matches!(error, FleetError::Memory { .. }), "{damage}: {error}");
        assert!(error.to_string().contains(&*file.display().to_string()), "{error}");
        assert_eq!(names(&reader), [""; 0]);
        assert!(reader.diagnostics()[0].message.contains("a rollback of the catalog would not be noticed"));
    }
    std::fs::remove_file(&file).unwrap();
    std::fs::create_dir(&file).unwrap();
    assert!(matches!(refresh(&fleet.reader()), Err(FleetError::Memory { .. })));
    std::fs::remove_dir(&file).unwrap();
    assert!(refresh(&fleet.reader()).is_ok(), "deleted by a person, it is a first pull");
}

#[test]
fn a_generation_that_cannot_be_remembered_is_not_used() {
    let fleet = Fleet::new();
    fleet.publish(skills(&["one"]).path());
    // Nothing can be made there, and nothing is there.
    let data = Some("/proc/self/skillcue-test".into());
    let options = CatalogsOptions { data, ..fleet.reader_options() };
    let reader = || Catalogs::new([fleet.spec()], &options).with_store("acme", fleet.store.clone());
    let first = reader();
    for _ in 0..2 {
        assert!(matches!(refresh(&first), Err(FleetError::Memory { .. })), "{:?}", refresh(&first));
        assert_eq!(names(&first), [""; 0]);
    }
    assert!(matches!(refresh(&reader()), Err(FleetError::Memory { .. })), "after a start neither");
}

/// Honest publishers would sign an old generation as the newest, each with a skill of its own.
#[test]
fn a_publisher_builds_upon_nothing_older_than_it_has_seen() {
    let fleet = Fleet::new();
    let remembering = PublishOptions { data: Some(fleet.data.path().to_path_buf()), ..fleet.options() };
    let put = |name: &str, options: &PublishOptions| {
        publish(&fleet.engine, &fleet.store, Some(skills(&[name]).path()), options)
    };
    assert_eq!(put("one", &remembering).unwrap().sequence, 1);
    let first = fleet.faulty.stored_head();
    assert_eq!(put("two", &remembering).unwrap().sequence, 2);
    fleet.faulty.store_bytes("head", first);
    assert_eq!(put("three", &remembering), Err(FleetError::OldBase { offered: 1, known: 2 }));
    // One without a memory is told the number.
    let stateless = PublishOptions { at_least: 2, ..fleet.options() };
    assert_eq!(put("three", &stateless), Err(FleetError::OldBase { offered: 1, known: 2 }));
    // A store that was emptied went back, too.
    fleet.faulty.remove(&"head".into());
    assert_eq!(put("three", &remembering), Err(FleetError::OldBase { offered: 0, known: 2 }));
    assert_eq!(put("three", &stateless), Err(FleetError::OldBase { offered: 0, known: 2 }));
    let file = std::fs::read_dir(fleet.data.path().join("publishers")).unwrap().next().unwrap().unwrap().path();
    std::fs::write(&file, "{").unwrap();
    assert!(matches!(put("three", &remembering), Err(FleetError::Memory { .. })));
    std::fs::remove_file(file).unwrap();
    assert_eq!(put("three", &remembering).unwrap().sequence, 1, "deleted by a person, it is a new start");
}

#[test]
fn a_pull_deletes_nothing_that_another_configuration_keeps() {
    let (fleet, _) = fleet_with_policy();
    let other = CatalogSpec { name: "team".to_owned(), url: "s3://bucket/team".to_owned(), ..fleet.spec() };
    let other = Catalogs::new([other], &fleet.reader_options());
    other.prune(&fleet.reader_options());
    assert_eq!(names(&fleet.reader()), ["one", "two"]);
    let old = SystemTime::now() - Duration::from_hours(91 * 24);
    std::fs::File::options().write(true).open(fleet.kept_dir().join("head.json")).unwrap().set_modified(old).unwrap();
    fleet.reader().prune(&fleet.reader_options());
    assert!(fleet.kept_dir().exists(), "what is configured stays, however old");
    other.prune(&fleet.reader_options());
    assert!(!fleet.kept_dir().exists(), "unused for long");
    assert_eq!(fleet.reader().policy().summaries().len(), 1, "the policy is no cache");
}
