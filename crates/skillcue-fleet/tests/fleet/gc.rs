//! Collections: what goes, what stays, and publishers that race with them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use serde_json::{Value, json};
use skillcue::ErrorInfo as _;
use skillcue_fleet::{FleetEngine, FleetError, GcOptions, PublishOptions, SigningKey, Store, gc, inspect, publish};

use crate::support::{Fault, Fleet, names, read, refresh, skills, write_skill};

fn now(keep: usize) -> GcOptions {
    GcOptions { keep, grace: Duration::ZERO, alone: true, ..GcOptions::default() }
}

#[test]
fn old_generations_go_and_readers_of_kept_ones_stay() {
    let fleet = Fleet::new();
    let dir = skills(&["invoices"]);
    let mut readers = Vec::new();
    for round in 0..6 {
        write_skill(dir.path(), "invoices", &format!("Body {round}."));
        fleet.publish(dir.path());
        let reader = skillcue_fleet::Catalogs::new([fleet.spec()], &skillcue_fleet::CatalogsOptions::default())
            .with_store("acme", fleet.store.clone());
        refresh(&reader).unwrap();
        readers.push(reader);
    }
    let dry = gc(&fleet.engine, &fleet.store, &GcOptions { dry_run: true, ..now(3) }).unwrap();
    let done = gc(&fleet.engine, &fleet.store, &now(3)).unwrap();
    assert_eq!(dry, done);
    assert_eq!((done.kept, done.generations), (3, 3));
    // Of each generation that went: its body, its shard, its terms.
    assert_eq!(done.blobs, 9);
    for (round, reader) in readers.iter().enumerate() {
        let body = read(reader, "invoices", "SKILL.md");
        assert_eq!(body.is_ok(), round >= 3, "{round}: {body:?}");
    }
    assert_eq!(inspect(&fleet.engine, &fleet.store, &[fleet.key.public()], true).unwrap().sequence, 6);
    assert_eq!(gc(&fleet.engine, &fleet.store, &now(3)).unwrap().blobs, 0);
    refresh(&readers[0]).unwrap();
    assert!(read(&readers[0], "invoices", "SKILL.md").unwrap().contains("Body 5."));
    write_skill(dir.path(), "invoices", "Body 6.");
    assert_eq!(fleet.publish(dir.path()).sequence, 7, "the collection has ended");
}

/// Generations share the shards that did not change between them.
#[test]
fn a_collection_reads_each_shard_once() {
    let fleet = Fleet::new();
    let names: Vec<String> = (0..600).map(|number| format!("skill-{number}")).collect();
    let dir = skills(&names.iter().map(String::as_str).collect::<Vec<_>>());
    fleet.publish(dir.path());
    for round in 0..5 {
        write_skill(dir.path(), "skill-7", &format!("Body {round}."));
        fleet.publish(&dir.path().join("skill-7"));
    }
    let before = fleet.store.traffic().requests;
    let report = gc(&fleet.engine, &fleet.store, &GcOptions { dry_run: true, ..now(6) }).unwrap();
    assert_eq!((report.kept, report.blobs), (6, 0));
    // The head, two lists, six documents; the shard that stayed as it was once, the other one of each generation.
    assert_eq!(fleet.store.traffic().requests - before, 1 + 2 + 6 + 1 + 6);
}

#[test]
fn young_generations_stay() {
    let fleet = Fleet::new();
    let dir = skills(&["invoices"]);
    for round in 0..4 {
        write_skill(dir.path(), "invoices", &format!("Body {round}."));
        fleet.publish(dir.path());
    }
    let options = GcOptions { keep: 1, ..GcOptions::default() };
    let report = gc(&fleet.engine, &fleet.store, &options).unwrap();
    assert_eq!((report.kept, report.generations, report.blobs), (4, 0, 0));
    let hasty = gc(&fleet.engine, &fleet.store, &GcOptions { grace: Duration::from_secs(1), ..options });
    let error = hasty.unwrap_err();
    assert_eq!(error, FleetError::Grace { minutes: 90 }, "a publish may take longer");
    assert_eq!(error.code(), "usage");
    assert!(error.hint().unwrap().contains("--grace-days"), "{error:?}");
}

#[test]
fn a_signature_survives_a_collection() {
    let fleet = Fleet::new();
    fleet.publish(skills(&["invoices"]).path());
    let reader = fleet.reader();
    refresh(&reader).unwrap();
    gc(&fleet.engine, &fleet.store, &now(1)).unwrap();
    refresh(&reader).unwrap();
    assert_eq!(names(&reader), ["invoices"]);
    refresh(&fleet.reader()).unwrap();
}

/// A publisher that a collection overtook leaves a document whose blobs are gone.
#[test]
fn a_document_whose_blobs_went_does_not_end_collections() {
    let fleet = Fleet::new();
    let dir = skills(&["invoices"]);
    let mut written = Vec::new();
    for round in 0..3 {
        write_skill(dir.path(), "invoices", &format!("Body {round}."));
        fleet.publish(dir.path());
        written.push(fleet.faulty.paths("blobs"));
    }
    for path in written[1].difference(&written[0]) {
        fleet.faulty.remove(path);
    }
    let report = gc(&fleet.engine, &fleet.store, &now(3)).unwrap();
    assert_eq!((report.kept, report.blobs), (3, 0));
    assert_eq!(inspect(&fleet.engine, &fleet.store, &[fleet.key.public()], true).unwrap().sequence, 3);
    // The current generation is another matter.
    for path in written[2].difference(&written[1]) {
        fleet.faulty.remove(path);
    }
    assert!(matches!(gc(&fleet.engine, &fleet.store, &now(3)), Err(FleetError::Missing(_))));
}

/// Publishers that bring skills back which were taken out, and two collectors without any grace, all at once: every blob of
/// the last generation is there.
#[test]
fn collections_take_nothing_from_publishers() {
    let store = Store::new(Arc::new(skillcue_fleet::memory_store()), "memory:///race");
    let key = Arc::new(SigningKey::generate().unwrap());
    let options = move || PublishOptions { key: Some(Arc::clone(&key)), ..PublishOptions::default() };
    publish(&FleetEngine::default(), &store, Some(skills(&["stays"]).path()), &options()).unwrap();
    let is_done = Arc::new(AtomicBool::new(false));
    let collect = || {
        let (store, is_done) = (store.clone(), Arc::clone(&is_done));
        std::thread::spawn(move || {
            let engine = FleetEngine::default();
            let mut runs = 0;
            while !is_done.load(Ordering::SeqCst) {
                match gc(&engine, &store, &now(2)) {
                    Ok(_) | Err(FleetError::Contended(_)) => runs += 1,
                    Err(FleetError::Collecting(_)) => {}
                    Err(error) => panic!("{error}"),
                }
                std::thread::sleep(Duration::from_millis(5));
            }
            runs
        })
    };
    let collectors = [collect(), collect()];
    let publishers: Vec<_> = (0..3)
        .map(|publisher| {
            let (store, options) = (store.clone(), options());
            std::thread::spawn(move || {
                let engine = FleetEngine::default();
                let name = format!("p{publisher}");
                let dir = skills(&[&name]);
                for _ in 0..15 {
                    publish(&engine, &store, Some(dir.path()), &options).unwrap();
                    let out = PublishOptions {
                        remove: vec![name.clone()],
                        key: options.key.clone(),
                        ..PublishOptions::default()
                    };
                    publish(&engine, &store, None, &out).unwrap();
                }
                publish(&engine, &store, Some(dir.path()), &options).unwrap();
            })
        })
        .collect();
    for publisher in publishers {
        publisher.join().unwrap();
    }
    is_done.store(true, Ordering::SeqCst);
    assert!(collectors.into_iter().map(|collector| collector.join().unwrap()).sum::<usize>() > 0);
    let report = inspect(&FleetEngine::default(), &store, &[], true).unwrap();
    assert_eq!(report.entries.len(), 4);
}

/// Returns the head with a lease of another collection, which lasts for some seconds.
fn leased(fleet: &Fleet, seconds: u64) -> Bytes {
    let mut file: Value = serde_json::from_slice(&fleet.faulty.stored_head()).unwrap();
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    file["collecting"] = json!({ "until": now + seconds, "owner": 7 });
    Bytes::from(file.to_string())
}

#[test]
fn a_collection_waits_for_no_other_and_is_refused_beside_it() {
    let fleet = Fleet::new();
    fleet.publish(skills(&["invoices"]).path());
    let plain = fleet.faulty.stored_head();
    let leased = leased(&fleet, 300);
    fleet.faulty.store_bytes("head", leased.clone());
    let error = gc(&fleet.engine, &fleet.store, &now(1)).unwrap_err();
    assert!(error.to_string().starts_with("another collection is under way, until 20"), "{error}");
    assert_eq!(fleet.faulty.stored_head(), leased, "its lease is as it was");
    assert!(gc(&fleet.engine, &fleet.store, &GcOptions { dry_run: true, ..now(1) }).is_ok(), "which deletes nothing");
    fleet.faulty.store_bytes("head", plain);
    assert!(gc(&fleet.engine, &fleet.store, &now(1)).is_ok());
}

/// A collector that was stopped for longer than its lease, and goes on while another one is under way.
#[test]
fn a_collection_that_lost_its_lease_deletes_no_further_and_lifts_no_other_lease() {
    let fleet = Fleet::new();
    fleet.publish(skills(&["invoices"]).path());
    let orphans = 400;
    for number in 0..orphans {
        fleet.faulty.store_bytes(&format!("blobs/sha256/00/orphan-{number}"), "x");
    }
    let before = fleet.faulty.paths("blobs").len();
    let other = leased(&fleet, 300);
    fleet.faulty.set(Fault::HeadAtDelete(other.clone()));
    assert_eq!(gc(&fleet.engine, &fleet.store, &now(1)), Err(FleetError::LeaseLost));
    let gone = before - fleet.faulty.paths("blobs").len();
    assert!(gone > 0 && gone <= orphans / 2, "{gone} were deleted after the first batch");
    assert_eq!(fleet.faulty.stored_head(), other, "the other's lease is as it was");
}

/// Returns the path of a generation's only document.
fn document(fleet: &Fleet, generation: u64) -> String {
    let begin = format!("catalog/{generation:012}-");
    let paths = fleet.faulty.paths("catalog");
    paths.iter().map(ToString::to_string).find(|path| path.starts_with(&begin)).unwrap()
}

/// A catalog with four generations of one skill.
fn four_generations() -> Fleet {
    let fleet = Fleet::new();
    let dir = skills(&["invoices"]);
    for round in 0..4 {
        write_skill(dir.path(), "invoices", &format!("Body {round}."));
        fleet.publish(dir.path());
    }
    fleet
}

#[test]
fn beside_a_damaged_document_that_is_kept_nothing_is_deleted() {
    let no_json = |_: &[u8]| b"{".to_vec();
    // It can be read, and would name other blobs: those that it named would be deleted.
    let other = |bytes: &[u8]| {
        let mut document: Value = serde_json::from_slice(bytes).unwrap();
        document["shards"][0]["entries"]["digest"] = json!("0".repeat(64));
        document.to_string().into_bytes()
    };
    for damage in [&no_json as &dyn Fn(&[u8]) -> Vec<u8>, &other] {
        let fleet = four_generations();
        let path = document(&fleet, 3);
        fleet.faulty.store_bytes(&path, damage(&fleet.faulty.stored(&path)));
        let before = (fleet.faulty.paths("catalog"), fleet.faulty.paths("blobs"));
        for options in [now(2), GcOptions { dry_run: true, ..now(2) }] {
            let error = gc(&fleet.engine, &fleet.store, &options).unwrap_err();
            assert!(matches!(&error, FleetError::DamagedGeneration { generation: 3, .. }), "{error}");
            let (line, hint) = (error.to_string(), error.hint().unwrap().into_owned());
            assert!(line.contains("generation 3 is kept") && line.contains(&path), "{line}");
            assert!(hint.contains(&format!("delete {path}")) && hint.contains("--keep"), "{hint}");
        }
        assert_eq!((fleet.faulty.paths("catalog"), fleet.faulty.paths("blobs")), before);
        // As the hint says: it goes by hand, or with what is not kept.
        assert_eq!(gc(&fleet.engine, &fleet.store, &GcOptions { dry_run: true, ..now(1) }).unwrap().kept, 1);
        fleet.faulty.remove(&path.as_str().into());
        let report = gc(&fleet.engine, &fleet.store, &now(2)).unwrap();
        // Generations 4 and 2 have a body, a shard and terms each; all have the further file.
        assert_eq!((report.kept, fleet.faulty.paths("blobs").len()), (2, 7));
        assert_eq!(inspect(&fleet.engine, &fleet.store, &[fleet.key.public()], true).unwrap().sequence, 4);
    }
}

#[test]
fn a_damaged_document_that_is_not_kept_goes() {
    let fleet = four_generations();
    let path = document(&fleet, 1);
    fleet.faulty.store_bytes(&path, "{");
    let report = gc(&fleet.engine, &fleet.store, &now(2)).unwrap();
    assert_eq!((report.kept, report.generations, report.blobs), (2, 2, 6));
    assert!(!fleet.faulty.paths("catalog").contains(&path.as_str().into()));
}

#[test]
fn a_damaged_shard_of_a_kept_generation_is_named_with_it() {
    let fleet = four_generations();
    let path = document(&fleet, 3);
    let named: Value = serde_json::from_slice(&fleet.faulty.stored(&path)).unwrap();
    let digest = named["shards"][0]["entries"]["digest"].as_str().unwrap();
    fleet.faulty.store_bytes(&format!("blobs/sha256/{}/{digest}", &digest[..2]), "x");
    let error = gc(&fleet.engine, &fleet.store, &now(2)).unwrap_err().to_string();
    assert!(error.contains("generation 3 is kept") && error.contains(&path) && error.contains(digest), "{error}");
}

#[test]
fn the_current_document_must_be_the_one_that_the_head_names() {
    let fleet = four_generations();
    let path = document(&fleet, 4);
    let bytes = [&fleet.faulty.stored(&path)[..], b" "].concat();
    fleet.faulty.store_bytes(&path, bytes);
    let error = gc(&fleet.engine, &fleet.store, &now(2)).unwrap_err();
    assert!(matches!(&error, FleetError::Altered { what, .. } if *what == path), "{error}");
}

/// A fleet at generation `count`, whose machine has pulled and published with a memory, and the head of generation 1.
fn rolled_back(count: u64) -> (Fleet, Bytes) {
    let fleet = Fleet::new();
    let dir = skills(&["invoices"]);
    let mut first = None;
    for round in 0..count {
        write_skill(dir.path(), "invoices", &format!("Body {round}."));
        fleet.publish(dir.path());
        refresh(&fleet.reader()).unwrap();
        first.get_or_insert_with(|| fleet.faulty.stored_head());
    }
    let first = first.unwrap();
    fleet.faulty.store_bytes("head", first.clone());
    (fleet, first)
}

#[test]
fn a_head_that_was_put_back_takes_no_newer_generation_away() {
    // Neither with a memory of the reader or the publisher, nor without any.
    let (fleet, first) = rolled_back(2);
    let before = (fleet.faulty.paths("catalog"), fleet.faulty.paths("blobs"));
    let of_reader = GcOptions { data: Some(fleet.data.path().to_path_buf()), ..now(1) };
    let error = gc(&fleet.engine, &fleet.store, &of_reader).unwrap_err();
    let memory = Some(fleet.kept_file(".json").display().to_string());
    assert!(error.hint().unwrap().contains(memory.as_ref().unwrap()), "{error:?}");
    assert_eq!(error, FleetError::OldBase { offered: 1, known: 2, memory });
    // As the reader has written its address, whose file has another name than one for the store's own spelling.
    let other = skillcue_catalog::kept_catalog_name("acme", "s3://bucket/my acme");
    let spelled = fleet.data.path().join(format!("catalogs/{other}.json"));
    std::fs::rename(fleet.kept_file(".json"), &spelled).unwrap();
    let of_url = GcOptions { url: Some("s3://bucket/my acme".to_owned()), dry_run: true, ..of_reader.clone() };
    let error = gc(&fleet.engine, &fleet.store, &of_url).unwrap_err();
    assert!(matches!(error, FleetError::OldBase { .. }), "{error}");
    std::fs::rename(&spelled, fleet.kept_file(".json")).unwrap();
    assert!(gc(&fleet.engine, &fleet.store, &GcOptions { dry_run: true, ..of_reader }).is_err());
    assert_eq!(fleet.faulty.stored_head(), first, "nothing was written");
    let publisher = tempfile::tempdir().unwrap();
    let data = Some(publisher.path().to_path_buf());
    fleet.faulty.set(Fault::None);
    let (elsewhere, old) = (Fleet::new(), skills(&["invoices"]));
    let options = PublishOptions { data: data.clone(), ..elsewhere.options() };
    publish(&elsewhere.engine, &elsewhere.store, Some(old.path()), &options).unwrap();
    let head = elsewhere.faulty.stored_head();
    write_skill(old.path(), "invoices", "Another body.");
    publish(&elsewhere.engine, &elsewhere.store, Some(old.path()), &options).unwrap();
    elsewhere.faulty.store_bytes("head", head);
    let error = gc(&elsewhere.engine, &elsewhere.store, &GcOptions { data, ..now(1) }).unwrap_err();
    assert!(matches!(error, FleetError::OldBase { offered: 1, known: 2, .. }), "{error}");
    let of_publisher = publisher.path().join("publishers").display().to_string();
    assert!(error.hint().unwrap().contains(&of_publisher), "{error:?}");
    let report = gc(&fleet.engine, &fleet.store, &now(1)).unwrap();
    assert_eq!((report.generations, report.blobs), (0, 0));
    assert_eq!((fleet.faulty.paths("catalog"), fleet.faulty.paths("blobs")), before);
    // No publisher can have left a document of the number after the next.
    let (fleet, _) = rolled_back(3);
    let error = gc(&fleet.engine, &fleet.store, &now(1)).unwrap_err();
    assert_eq!(error, FleetError::NewerDocuments { offered: 1, newest: 3 });
    assert!(error.hint().unwrap().contains("put the newest head back"), "{error:?}");
    assert_eq!(fleet.faulty.paths("catalog").len(), 3);
    assert!(gc(&fleet.engine, &fleet.store, &now(1)).is_err(), "the lease has ended");
}

#[test]
fn a_head_of_a_foreign_key_or_name_takes_nothing_away() {
    let fleet = four_generations();
    let configured = GcOptions { keys: vec![fleet.key.public()], name: Some("acme".to_owned()), ..now(1) };
    let before = (fleet.faulty.paths("catalog"), fleet.faulty.paths("blobs"));
    let foreign = Fleet::new();
    for round in 0..6 {
        foreign.publish(skills(&[&format!("evil-{round}")]).path());
    }
    let genuine = fleet.faulty.stored_head();
    for path in foreign.faulty.paths("").iter().filter(|path| path.as_ref() != "head") {
        fleet.faulty.store_bytes(path.as_ref(), foreign.faulty.stored(path.as_ref()));
    }
    fleet.faulty.store_bytes("head", foreign.faulty.stored_head());
    let error = gc(&fleet.engine, &fleet.store, &configured).unwrap_err();
    assert!(matches!(error, FleetError::WrongKey { .. }), "{error}");
    let kept = |before: &std::collections::BTreeSet<_>, now: &std::collections::BTreeSet<_>| before.is_subset(now);
    assert!(kept(&before.0, &fleet.faulty.paths("catalog")) && kept(&before.1, &fleet.faulty.paths("blobs")));
    for path in foreign.faulty.paths("catalog") {
        fleet.faulty.remove(&path);
    }
    fleet.faulty.store_bytes("head", genuine);
    let other = GcOptions { name: Some("other".to_owned()), ..configured.clone() };
    assert!(matches!(gc(&fleet.engine, &fleet.store, &other), Err(FleetError::WrongName { .. })));
    assert_eq!(gc(&fleet.engine, &fleet.store, &configured).unwrap().generations, 3);
}
