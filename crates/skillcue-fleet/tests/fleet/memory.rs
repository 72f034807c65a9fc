//! The memory that readers and publishers have of a catalog: nothing of another catalog replaces it, and its loss is an error.

use std::time::{Duration, SystemTime};

use skillcue_base::ErrorInfo as _;
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
    let file = std::fs::read_dir(fleet.data.path().join("publishers")).unwrap().next().unwrap().unwrap().path();
    let memory = Some(file.display().to_string());
    let old = |offered: u64, memory: &Option<String>| {
        let memory = memory.clone();
        Err(FleetError::OldBase { offered, known: 2, memory })
    };
    assert_eq!(put("three", &remembering), old(1, &memory));
    // One without a memory is told the number.
    let stateless = PublishOptions { at_least: 2, ..fleet.options() };
    assert_eq!(put("three", &stateless), old(1, &None));
    // A store that was emptied went back, too.
    fleet.faulty.remove(&"head".into());
    assert_eq!(put("three", &remembering), old(0, &memory));
    assert_eq!(put("three", &stateless), old(0, &None));
    std::fs::write(&file, "{").unwrap();
    assert!(matches!(put("three", &remembering), Err(FleetError::Memory { .. })));
    std::fs::remove_file(file).unwrap();
    assert_eq!(put("three", &remembering).unwrap().sequence, 1, "deleted by a person, it is a new start");
}

/// Its readers and publishers have seen higher numbers, or another generation of the same number.
#[test]
fn a_restored_store_goes_on_above_the_number_that_was_seen() {
    let fleet = Fleet::new();
    let data = tempfile::tempdir().unwrap();
    let remembering = PublishOptions { data: Some(data.path().to_path_buf()), ..fleet.options() };
    let put = |dir: Option<&str>, options: &PublishOptions| {
        let dir = dir.map(|name| skills(&[name]));
        publish(&fleet.engine, &fleet.store, dir.as_ref().map(tempfile::TempDir::path), options)
    };
    let reader = fleet.reader();
    let mut first = None;
    for name in ["one", "two", "three"] {
        put(Some(name), &remembering).unwrap();
        first.get_or_insert_with(|| fleet.faulty.stored_head());
        refresh(&reader).unwrap();
    }
    fleet.faulty.store_bytes("head", first.unwrap());
    let error = refresh(&reader).unwrap_err();
    assert!(error.hint().unwrap().contains("--sequence-above 3"), "{error:?}");
    assert_eq!(reader.status()[0].help.as_deref(), error.hint().as_deref(), "people see it, too");
    assert_eq!(fleet.reader().status()[0].help.as_deref(), error.hint().as_deref(), "also after a start");
    let error = put(Some("four"), &remembering).unwrap_err();
    assert!(error.hint().unwrap().contains("--sequence-above 3"), "{error:?}");
    let above =
        |number| PublishOptions { sequence_above: number, data: Some(data.path().to_path_buf()), ..fleet.options() };
    assert!(matches!(put(None, &above(2)), Err(FleetError::OldBase { offered: 1, known: 3, .. })), "one too low");
    let report = put(None, &above(3)).unwrap();
    assert_eq!((report.sequence, report.is_new, report.skills), (4, true, 1));
    assert_eq!(put(None, &above(3)).unwrap().sequence, 4, "once only");
    refresh(&reader).unwrap();
    assert_eq!(names(&reader), ["one"]);
    // A new start has a first generation, which is another one than the reader's.
    fleet.faulty.remove(&"head".into());
    assert_eq!(put(Some("five"), &above(4)).unwrap().sequence, 5);
    refresh(&reader).unwrap();
    assert_eq!(names(&reader), ["five"]);
}

#[test]
fn a_reader_starts_offline_from_a_home_that_it_cannot_write() {
    use std::os::unix::fs::PermissionsExt as _;
    let fleet = Fleet::new();
    fleet.publish(skills(&["one"]).path());
    refresh(&fleet.reader()).unwrap();
    let dirs = [fleet.data.path().join("catalogs"), fleet.kept_dir()];
    let mode = |mode: u32| {
        for dir in &dirs {
            std::fs::set_permissions(dir, std::fs::Permissions::from_mode(mode)).unwrap();
        }
    };
    // As root it may write all the same, and the rest holds.
    mode(0o500);
    let reader = fleet.reader();
    assert!(refresh(&reader).is_ok(), "{:?}", refresh(&reader));
    fleet.faulty.set(Fault::Down);
    let offline = fleet.reader();
    assert!(refresh(&offline).is_err());
    assert_eq!(names(&offline), ["one"]);
    mode(0o700);
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
