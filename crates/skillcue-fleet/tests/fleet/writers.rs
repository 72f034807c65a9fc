//! Publishers: what they write, what they refuse, and how they race.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use skillcue::ErrorInfo as _;
use skillcue_fleet::{
    FleetEngine, FleetError, PublishOptions, SignOptions, SigningKey, Store, StoreOptions, inspect, publish, sign,
};

use crate::support::{Fault, Fleet, names, refresh, skills, write_skill};

#[test]
fn unchanged_skills_are_not_written_again() {
    let fleet = Fleet::new();
    let dir = skills(&["invoices", "pictures"]);
    let first = fleet.publish(dir.path());
    assert_eq!((first.sequence, first.skills, first.added.len(), first.is_new), (1, 2, 2, true));
    let before = fleet.faulty.writes.load(Ordering::SeqCst);
    let again = fleet.publish(dir.path());
    assert_eq!((again.sequence, again.unchanged, again.is_new), (1, 2, false));
    assert_eq!(fleet.faulty.writes.load(Ordering::SeqCst), before);
    write_skill(dir.path(), "pictures", "Another body.");
    let changed = fleet.publish(dir.path());
    assert_eq!((changed.sequence, changed.changed, changed.unchanged), (2, vec!["pictures".to_owned()], 1));
    // The body, the shard, the terms, the document, the head.
    assert_eq!(fleet.faulty.writes.load(Ordering::SeqCst) - before, 5);
}

/// Returns the path of the blob with this content.
fn blob(content: &[u8]) -> String {
    let digest = skillcue_base::Digest::of(content).to_string();
    format!("blobs/sha256/{}/{digest}", &digest[..2])
}

#[test]
fn files_that_the_store_has_lost_are_written_again() {
    let fleet = Fleet::new();
    let dir = skills(&["invoices", "pictures"]);
    fleet.publish(dir.path());
    let (head, keys) = (fleet.faulty.stored_head(), [fleet.key.public()]);
    let (lost, changed) = (blob(b"More about invoices."), blob(b"More about pictures."));
    let verify = || inspect(&fleet.engine, &fleet.store, &keys, true);
    let again = PublishOptions { again: true, ..fleet.options() };
    for damaged in [&lost, &changed] {
        if *damaged == lost {
            fleet.faulty.remove(&lost.as_str().into());
        } else {
            fleet.faulty.store_bytes(&changed, "Less about pictures.");
        }
        let error = verify().unwrap_err();
        let line = error.to_string();
        assert!(
            line.starts_with("skill://") && line.contains(damaged) && line.contains("references/more.md"),
            "{line}"
        );
        assert_eq!(error.code(), if *damaged == lost { "not_found" } else { "unverified" });
        assert!(error.hint().unwrap().contains("--again"), "{error:?}");
        assert_eq!(fleet.publish(dir.path()).files_written, 0, "known entries count as proof without it");
        assert!(verify().is_err());
        let report = publish(&fleet.engine, &fleet.store, Some(dir.path()), &again).unwrap();
        assert_eq!((report.sequence, report.is_new, report.unchanged, report.files_written), (1, false, 2, 4));
        assert_eq!(verify().unwrap().verified, 4);
        assert_eq!(fleet.faulty.stored_head(), head, "the generation is as it was");
    }
    // What changes is published beside it, as ever.
    fleet.faulty.remove(&lost.as_str().into());
    write_skill(dir.path(), "pictures", "Another body.");
    let report = publish(&fleet.engine, &fleet.store, Some(dir.path()), &again).unwrap();
    assert_eq!((report.sequence, report.changed, report.unchanged), (2, vec!["pictures".to_owned()], 1));
    assert_eq!(verify().unwrap().verified, 4);
}

/// As docs/fleet.md says: a reader keeps shards byte for byte as the store has them.
#[test]
fn a_shard_that_the_store_has_lost_comes_back_from_a_reader() {
    let fleet = Fleet::new();
    let dir = skills(&["invoices"]);
    fleet.publish(dir.path());
    refresh(&fleet.reader()).unwrap();
    let files = [std::fs::read(dir.path().join("invoices/SKILL.md")).unwrap(), b"More about invoices.".to_vec()];
    let files: BTreeSet<String> = files.iter().map(|content| blob(content)).collect();
    let paths = fleet.faulty.paths("blobs");
    let parts: Vec<&str> = paths.iter().map(AsRef::as_ref).filter(|path| !files.contains(*path)).collect();
    assert_eq!(parts.len(), 2, "the entries and the terms");
    for path in parts {
        fleet.faulty.remove(&path.into());
        let error = inspect(&fleet.engine, &fleet.store, &[], true).unwrap_err();
        assert_eq!(error, FleetError::Missing(path.to_owned()));
        assert!(error.hint().unwrap().contains("docs/fleet.md"), "{error:?}");
        let kept = fleet.kept_dir().join("parts").join(path.rsplit('/').next().unwrap());
        fleet.faulty.store_bytes(path, std::fs::read(kept).unwrap());
        assert!(inspect(&fleet.engine, &fleet.store, &[], true).is_ok());
    }
}

#[test]
fn names_that_no_catalog_can_have_are_errors_of_their_own() {
    let fleet = Fleet::new();
    let options = PublishOptions { name: Some("Acme Corp".to_owned()), ..fleet.options() };
    let error = publish(&fleet.engine, &fleet.store, Some(skills(&["invoices"]).path()), &options).unwrap_err();
    assert_eq!(error.to_string(), "\"Acme Corp\" is no name of a catalog");
    assert_eq!(error.code(), "usage");
    assert!(error.hint().unwrap().contains("--name"), "{error:?}");
}

#[test]
fn skills_are_taken_out_by_name() {
    let fleet = Fleet::new();
    fleet.publish(skills(&["invoices", "pictures"]).path());
    let options = PublishOptions { remove: vec!["invoices".to_owned(), "typo".to_owned()], ..fleet.options() };
    let report = publish(&fleet.engine, &fleet.store, None, &options).unwrap();
    assert_eq!((report.removed, report.skills), (vec!["invoices".to_owned()], 1));
    assert_eq!(report.refused, [("typo".to_owned(), "it is not in the catalog, so it cannot be removed".to_owned())]);
    let reader = fleet.reader();
    refresh(&reader).unwrap();
    assert_eq!(names(&reader), ["pictures"]);
}

#[test]
fn prefixes_keep_teams_apart_and_a_name_has_one_owner() {
    let fleet = Fleet::new();
    let of = |team: &str| PublishOptions { prefix: vec![team.to_owned()], ..fleet.options() };
    publish(&fleet.engine, &fleet.store, Some(skills(&["invoices"]).path()), &of("sales")).unwrap();
    publish(&fleet.engine, &fleet.store, Some(skills(&["pictures"]).path()), &of("design")).unwrap();
    let taken = publish(&fleet.engine, &fleet.store, Some(skills(&["invoices"]).path()), &of("design")).unwrap_err();
    assert_eq!(taken.to_string(), "invoices is in the catalog already, as skill://sales/invoices/SKILL.md");
    let report = inspect(&fleet.engine, &fleet.store, &[fleet.key.public()], true).unwrap();
    let uris: Vec<&str> = report.entries.iter().map(|entry| entry.uri.as_str()).collect();
    assert_eq!(uris, ["skill://design/pictures/SKILL.md", "skill://sales/invoices/SKILL.md"]);
}

#[test]
fn skills_that_do_not_conform_are_named() {
    let fleet = Fleet::new();
    let dir = skills(&["invoices"]);
    std::fs::create_dir(dir.path().join("odd")).unwrap();
    std::fs::write(dir.path().join("odd/SKILL.md"), "---\nname: odd\ndescription: Use: this\n---\n").unwrap();
    let report = fleet.publish(dir.path());
    assert_eq!(report.added, ["invoices"]);
    assert_eq!(report.refused, [("odd".to_owned(), "its YAML had to be repaired".to_owned())]);
    let nothing = publish(&fleet.engine, &fleet.store, Some(tempfile::tempdir().unwrap().path()), &fleet.options());
    assert!(matches!(nothing, Err(FleetError::Nothing(_))));
}

#[test]
fn refused_writes_are_tried_again() {
    let fleet = Fleet::new();
    fleet.publish(skills(&["invoices"]).path());
    fleet.faulty.set(Fault::Refuse(3));
    let report = fleet.publish(skills(&["pictures"]).path());
    assert_eq!((report.conflicts, report.sequence, report.skills), (3, 2, 2));
}

#[test]
fn a_write_whose_answer_was_lost_is_not_done_twice() {
    let fleet = Fleet::new();
    fleet.publish(skills(&["invoices"]).path());
    fleet.faulty.set(Fault::LoseAnswer);
    let report = fleet.publish(skills(&["pictures"]).path());
    assert_eq!((report.sequence, report.skills), (2, 2));
    let now = inspect(&fleet.engine, &fleet.store, &[], true).unwrap();
    assert_eq!((now.sequence, now.entries.len()), (2, 2));
}

/// Eight publishers at once, each with skills of its own: none is lost, and every generation is whole.
fn race(store: &Store, rounds: usize) {
    let key = Arc::new(SigningKey::generate().unwrap());
    let mut expected = BTreeSet::new();
    let publishers: Vec<_> = (0..8)
        .map(|publisher| {
            expected.extend((0..rounds).map(|round| format!("p{publisher}-r{round}")));
            let (store, key) = (store.clone(), Arc::clone(&key));
            std::thread::spawn(move || {
                let engine = FleetEngine::default();
                let mut conflicts = 0;
                for round in 0..rounds {
                    let dir = skills(&[&format!("p{publisher}-r{round}")]);
                    let options = PublishOptions {
                        name: Some("race".to_owned()),
                        key: Some(Arc::clone(&key)),
                        ..PublishOptions::default()
                    };
                    conflicts += publish(&engine, &store, Some(dir.path()), &options).unwrap().conflicts;
                }
                conflicts
            })
        })
        .collect();
    let conflicts: usize = publishers.into_iter().map(|thread| thread.join().unwrap()).sum();
    let report = inspect(&FleetEngine::default(), store, &[key.public()], true).unwrap();
    let found: BTreeSet<String> = report.entries.iter().map(|entry| entry.name().to_owned()).collect();
    assert_eq!(found, expected);
    assert_eq!(report.sequence, 8 * rounds as u64, "each publish is one generation");
    assert!(conflicts > 0, "they did not race");
}

#[test]
fn publishers_that_race_lose_nothing_in_memory() {
    race(&Store::new(Arc::new(skillcue_fleet::memory_store()), "memory:///race"), 12);
}

#[test]
fn publishers_that_race_lose_nothing_in_a_directory() {
    let dir = tempfile::tempdir().unwrap();
    let url = format!("file://{}", dir.path().join("race").display());
    let store = Store::open(&url, &StoreOptions { create: true, ..StoreOptions::default() }).unwrap();
    race(&store, 6);
}

#[test]
fn an_unsigned_generation_does_not_follow_a_signed_one_by_mistake() {
    let fleet = Fleet::new();
    fleet.publish(skills(&["invoices"]).path());
    let dir = skills(&["pictures"]);
    let unsigned = PublishOptions::default();
    assert_eq!(publish(&fleet.engine, &fleet.store, Some(dir.path()), &unsigned).unwrap_err(), FleetError::NoKey);
    let on_purpose = PublishOptions { unsigned: true, ..PublishOptions::default() };
    assert_eq!(publish(&fleet.engine, &fleet.store, Some(dir.path()), &on_purpose).unwrap().sequence, 2);
}

#[test]
fn a_publisher_does_not_vouch_for_what_a_stranger_has_put_there() {
    let fleet = Fleet::new();
    fleet.publish(skills(&["invoices"]).path());
    let stranger = PublishOptions { key: Some(Arc::new(SigningKey::generate().unwrap())), ..PublishOptions::default() };
    let dir = skills(&["pictures"]);
    let refused = publish(&fleet.engine, &fleet.store, Some(dir.path()), &stranger).unwrap_err();
    assert!(matches!(refused, FleetError::WrongKey { trusted: 1, .. }), "{refused}");
    let trusting = PublishOptions { trusted: vec![fleet.key.public()], ..stranger };
    assert_eq!(publish(&fleet.engine, &fleet.store, Some(dir.path()), &trusting).unwrap().skills, 2);
}

#[test]
fn keys_rotate_without_a_gap() {
    let fleet = Fleet::new();
    fleet.publish(skills(&["invoices"]).path());
    let (old, new) = (fleet.key.public(), Arc::new(SigningKey::generate().unwrap()));
    // 1. The head is signed with both. 2. Readers move. 3. The old key goes.
    let rotation = SignOptions { trusted: vec![old.clone()], ..SignOptions::default() };
    sign(&fleet.engine, &fleet.store, &new, &rotation).unwrap();
    for keys in [vec![old.clone()], vec![old.clone(), new.public()], vec![new.public()]] {
        assert!(refresh(&fleet.reader_with_keys(keys)).is_ok());
    }
    let next = PublishOptions { key: Some(Arc::clone(&new)), ..PublishOptions::default() };
    publish(&fleet.engine, &fleet.store, Some(skills(&["pictures"]).path()), &next).unwrap();
    assert!(refresh(&fleet.reader_with_keys(vec![new.public()])).is_ok());
    let left_behind = refresh(&fleet.reader_with_keys(vec![old])).unwrap_err();
    assert!(matches!(left_behind, FleetError::WrongKey { .. }), "{left_behind}");
}
