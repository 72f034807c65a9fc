//! Signatures on a catalog that is there: a key vouches for nothing that it has not been shown.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::json;
use skillcue_fleet::{FleetError, GenerationId, PublishOptions, SignOptions, SigningKey, inspect, publish, sign};

use crate::support::{Fleet, altered, names, refresh, resigned, skills};

fn renewal() -> SignOptions {
    SignOptions { renew: Some(Duration::from_hours(24)), ..SignOptions::default() }
}

/// A writer of the store without the key puts another skill there.
fn overwritten(fleet: &Fleet) -> GenerationId {
    fleet.publish(skills(&["invoices"]).path());
    let stranger = PublishOptions { unsigned: true, ..PublishOptions::default() };
    publish(&fleet.engine, &fleet.store, Some(skills(&["evil"]).path()), &stranger).unwrap();
    inspect(&fleet.engine, &fleet.store, &[], false).unwrap().generation
}

#[test]
fn a_key_signs_and_renews_nothing_that_a_stranger_has_put_there() {
    let fleet = Fleet::new();
    overwritten(&fleet);
    for options in [SignOptions::default(), renewal()] {
        assert_eq!(sign(&fleet.engine, &fleet.store, &fleet.key, &options), Err(FleetError::Unsigned));
    }
    let stranger = Arc::new(SigningKey::generate().unwrap());
    fleet.faulty.store_bytes("head", resigned(altered(&fleet.faulty.stored_head(), |_| {}), &stranger));
    for options in [SignOptions::default(), renewal()] {
        let error = sign(&fleet.engine, &fleet.store, &fleet.key, &options).unwrap_err();
        assert!(matches!(error, FleetError::WrongKey { trusted: 1, .. }), "{error}");
    }
    assert!(refresh(&fleet.reader()).is_err());
    let trusting = SignOptions { trusted: vec![stranger.public()], ..SignOptions::default() };
    assert_eq!(sign(&fleet.engine, &fleet.store, &fleet.key, &trusting), Ok(2));
}

#[test]
fn a_first_signature_names_exactly_what_is_signed() {
    let fleet = Fleet::new();
    let options = PublishOptions { name: Some("acme".to_owned()), ..PublishOptions::default() };
    publish(&fleet.engine, &fleet.store, Some(skills(&["invoices"]).path()), &options).unwrap();
    let generation = inspect(&fleet.engine, &fleet.store, &[], true).unwrap().generation;
    let named = |generation| SignOptions { generation: Some(generation), ..SignOptions::default() };
    // Between the look at it and the signature, another one came.
    publish(&fleet.engine, &fleet.store, Some(skills(&["evil"]).path()), &options).unwrap();
    let error = sign(&fleet.engine, &fleet.store, &fleet.key, &named(generation)).unwrap_err();
    assert!(matches!(error, FleetError::OtherGeneration { .. }), "{error}");
    let other = GenerationId { sequence: 2, ..generation };
    let error = sign(&fleet.engine, &fleet.store, &fleet.key, &named(other)).unwrap_err();
    assert!(matches!(error, FleetError::OtherGeneration { .. }), "{error}");
    let generation = inspect(&fleet.engine, &fleet.store, &[], true).unwrap().generation;
    assert_eq!(sign(&fleet.engine, &fleet.store, &fleet.key, &named(generation)), Ok(2));
    let reader = fleet.reader();
    refresh(&reader).unwrap();
    assert_eq!(names(&reader), ["evil", "invoices"]);
}

#[test]
fn a_renewal_refuses_an_older_generation_and_another_catalog() {
    let fleet = Fleet::new();
    fleet.publish(skills(&["invoices"]).path());
    let old = fleet.faulty.stored_head();
    let remembering = SignOptions { data: Some(fleet.data.path().to_path_buf()), ..renewal() };
    let renew = |options: &SignOptions| sign(&fleet.engine, &fleet.store, &fleet.key, options);
    assert_eq!(renew(&remembering), Ok(2));
    fleet.faulty.store_bytes("head", old.clone());
    assert!(matches!(renew(&remembering), Err(FleetError::OldBase { offered: 1, known: 2, memory: Some(_) })));
    let stateless = SignOptions { at_least: 2, ..renewal() };
    assert_eq!(renew(&stateless), Err(FleetError::OldBase { offered: 1, known: 2, memory: None }));
    // Another catalog of the same publisher, at this one's address.
    let other = resigned(
        altered(&old, |signed| {
            signed["catalog"] = json!("other");
            signed["sequence"] = json!(9);
        }),
        &fleet.key,
    );
    fleet.faulty.store_bytes("head", other);
    for options in [remembering, SignOptions { name: Some("acme".to_owned()), ..renewal() }] {
        let error = renew(&options).unwrap_err();
        assert!(matches!(error, FleetError::WrongName { .. }), "{error}");
    }
}

#[test]
fn an_expired_generation_is_renewed_only_by_its_name() {
    let fleet = Fleet::new();
    fleet.publish(skills(&["invoices"]).path());
    let past = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs() - 3600;
    let frozen = resigned(altered(&fleet.faulty.stored_head(), |signed| signed["expires"] = json!(past)), &fleet.key);
    fleet.faulty.store_bytes("head", frozen.clone());
    let error = sign(&fleet.engine, &fleet.store, &fleet.key, &renewal()).unwrap_err();
    assert!(matches!(error, FleetError::Expired(_)), "{error}");
    let error = publish(&fleet.engine, &fleet.store, Some(skills(&["two"]).path()), &fleet.options()).unwrap_err();
    assert!(matches!(error, FleetError::Expired(_)), "{error}");
    let generation = skillcue_fleet::CatalogHead::read(&frozen).unwrap().generation();
    let named = SignOptions { generation: Some(generation), ..renewal() };
    assert_eq!(sign(&fleet.engine, &fleet.store, &fleet.key, &named), Ok(2));
    assert_eq!(fleet.publish(skills(&["two"]).path()).sequence, 3);
}
