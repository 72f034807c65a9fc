//! A policy in a signed catalog: published, applied by readers with keys, in force offline, and only tightening.

use std::sync::Arc;

use skillcue::catalog::{OrgPolicy, PolicyGate};
use skillcue::{LoadRequest, Skillcue};
use skillcue_fleet::{
    Catalogs, FleetError, PolicyChange, PublishOptions, PullOutcome, SignOptions, SigningKey, gc, inspect, publish,
    sign,
};

use crate::support::{Fault, Fleet, names, refresh, skills};

const FORBIDS_ONE: &str = "name = \"Acme\"\n[forbid]\nskills = [\"one\", \"local\"]\n[run]\nscripts = false\n";

fn options(fleet: &Fleet, policy: PolicyChange) -> PublishOptions {
    PublishOptions { policy, ..fleet.options() }
}

fn set(fleet: &Fleet, text: &str) {
    let options = options(fleet, PolicyChange::Set(text.to_owned()));
    let report = publish(&fleet.engine, &fleet.store, None, &options).unwrap();
    assert!(report.policy_changed && report.is_new);
}

/// A program with a reader's catalog, skills on disk, and a policy of the machine.
fn program(reader: &Catalogs, local: &std::path::Path, machine: &str) -> Skillcue {
    let gate = PolicyGate::new(OrgPolicy::parse(machine.as_bytes(), "/etc/skillcue/policy.toml").unwrap(), None);
    let builder = Skillcue::builder().skills_dir(local).policy(Arc::new(gate));
    reader.remotes().into_iter().fold(builder, skillcue::Builder::remote).build().unwrap()
}

/// Returns the rule that closes a skill.
fn rule(program: &Skillcue, name: &str) -> Option<(String, String)> {
    let catalog = program.catalog();
    let refusal = catalog.get(name).unwrap().refusal()?;
    Some((refusal.rule.to_owned(), refusal.policy.clone()))
}

fn closed(rule: &str) -> (String, String) {
    (rule.to_owned(), "Acme (the catalog acme (s3://bucket/acme))".to_owned())
}

#[test]
fn it_closes_skills_of_the_catalog_and_of_the_machine() {
    let fleet = Fleet::new();
    let local = skills(&["local", "other"]);
    fleet.publish(skills(&["one", "two"]).path());
    set(&fleet, FORBIDS_ONE);
    let reader = fleet.reader();
    refresh(&reader).unwrap();
    let program = program(&reader, local.path(), "");
    assert_eq!(rule(&program, "acme:one"), Some(closed("forbid.skills")));
    assert_eq!(rule(&program, "local"), Some(closed("forbid.skills")));
    assert_eq!((rule(&program, "acme:two"), rule(&program, "other")), (None, None));
    assert!(
        program
            .load("acme:one", &LoadRequest::default())
            .unwrap_err()
            .to_string()
            .contains("closed by the policy Acme")
    );
    assert!(program.load("acme:two", &LoadRequest::default()).is_ok());
    // A running program follows the catalog, and the policy goes when its publisher takes it out.
    set(&fleet, "name = \"Acme\"\n[forbid]\nskills = [\"two\"]\n");
    refresh(&reader).unwrap();
    program.refresh();
    assert_eq!((rule(&program, "acme:one"), rule(&program, "local")), (None, None));
    assert_eq!(rule(&program, "acme:two"), Some(closed("forbid.skills")));
    publish(&fleet.engine, &fleet.store, None, &options(&fleet, PolicyChange::Remove)).unwrap();
    refresh(&reader).unwrap();
    program.refresh();
    assert_eq!(rule(&program, "acme:two"), None);
    assert!(fleet.reader().policy().is_empty(), "and it is not on disk any more");
}

#[test]
fn it_opens_nothing_that_the_machine_closes() {
    let fleet = Fleet::new();
    let local = skills(&["local"]);
    fleet.publish(skills(&["one"]).path());
    set(&fleet, "[sources]\nallow = [\"inline\", \"catalog\"]\n");
    let reader = fleet.reader();
    refresh(&reader).unwrap();
    let program = program(&reader, local.path(), "[forbid]\nskills = [\"local\", \"one\"]\n");
    for name in ["local", "acme:one"] {
        let (rule, policy) = rule(&program, name).unwrap();
        assert_eq!((rule.as_str(), policy.as_str()), ("forbid.skills", "/etc/skillcue/policy.toml"), "{name}");
    }
}

#[test]
fn it_is_in_force_offline_and_without_the_cache() {
    let mut fleet = Fleet::new();
    fleet.publish(skills(&["one"]).path());
    set(&fleet, FORBIDS_ONE);
    refresh(&fleet.reader()).unwrap();
    fleet.faulty.set(Fault::Down);
    assert_eq!(fleet.reader().policy().summaries().len(), 1, "after a start, without asking");
    fleet.cache = tempfile::tempdir().unwrap();
    let reader = fleet.reader();
    assert!(refresh(&reader).is_err());
    let local = skills(&["local"]);
    assert_eq!(rule(&program(&reader, local.path(), ""), "local"), Some(closed("forbid.skills")));
    // What cannot be read closes everything; it is never as if there were no policy.
    let kept = fleet.kept_file(".policy.json");
    std::fs::write(&kept, "{").unwrap();
    assert_eq!(rule(&program(&fleet.reader(), local.path(), ""), "local").unwrap().0, "policy");
}

#[test]
fn it_counts_only_with_a_key_that_has_signed_it() {
    let fleet = Fleet::new();
    fleet.publish(skills(&["one"]).path());
    set(&fleet, FORBIDS_ONE);
    let without =
        skillcue_fleet::CatalogSpec { keys: Vec::new(), trust: skillcue::config::CatalogTrust::Ask, ..fleet.spec() };
    let reader = fleet.reader_of(without);
    refresh(&reader).unwrap();
    assert!(reader.policy().is_empty());
    assert!(reader.diagnostics()[0].message.contains("the policy of the catalog \"acme\" does not apply"));
    let reader = fleet.reader();
    refresh(&reader).unwrap();
    assert!(!reader.policy().is_empty());
    let other = SigningKey::generate().unwrap();
    let withdrawn = fleet.reader_with_keys(vec![other.public()]);
    assert!(withdrawn.policy().is_empty(), "the user has withdrawn the key");
    let trusting = SignOptions { trusted: vec![fleet.key.public()], ..SignOptions::default() };
    sign(&fleet.engine, &fleet.store, &other, &trusting).unwrap();
    refresh(&withdrawn).unwrap();
    assert!(!withdrawn.policy().is_empty(), "another key has signed it since");
}

#[test]
fn rules_about_publishers_see_the_keys_and_the_address() {
    let fleet = Fleet::new();
    fleet.publish(skills(&["one"]).path());
    let reader = fleet.reader();
    refresh(&reader).unwrap();
    let local = skills(&["local"]);
    let rule = |machine: &str| rule(&program(&reader, local.path(), machine), "acme:one").map(|(rule, _)| rule);
    let key = fleet.key.public();
    let other = SigningKey::generate().unwrap().public();
    assert_eq!(rule(&format!("[publishers]\nkeys = [\"{key}\"]\n")), None);
    assert_eq!(rule(&format!("[publishers]\nkeys = [\"{other}\"]\n")).as_deref(), Some("publishers.keys"));
    assert_eq!(rule("[sources]\nallow = [\"catalog:s3://bucket/*\"]\n"), None);
    assert_eq!(rule("[sources]\nallow = [\"catalog:s3://other/*\"]\n").as_deref(), Some("sources.allow"));
    assert_eq!(rule("[forbid]\norigins = [\"s3://bucket/*\"]\n").as_deref(), Some("forbid.origins"));
    // Without a list of keys, the publisher is the address.
    assert_eq!(rule("[publishers]\nallow = [\"bucket/*\"]\n"), None);
    assert_eq!(rule("[publishers]\nallow = [\"github.com/acme/*\"]\n").as_deref(), Some("publishers.allow"));
    let both = format!("[publishers]\nallow = [\"github.com/acme/*\"]\nkeys = [\"{key}\"]\n");
    assert_eq!(rule(&both), None, "a key says more than an address");
    // One key of two signs: the one that may not publish does not count.
    let reader = fleet.reader_with_keys(vec![key, other.clone()]);
    refresh(&reader).unwrap();
    let both = program(&reader, local.path(), &format!("[publishers]\nkeys = [\"{other}\"]\n"));
    assert!(both.catalog().get("acme:one").unwrap().refusal().is_some());
}

#[test]
fn a_policy_that_cannot_be_used_is_not_published_and_not_taken() {
    let fleet = Fleet::new();
    let dir = skills(&["one"]);
    fleet.publish(dir.path());
    let broken = options(&fleet, PolicyChange::Set("[forbid]\nskils = []\n".to_owned()));
    let refused = publish(&fleet.engine, &fleet.store, None, &broken).unwrap_err();
    assert!(refused.to_string().contains("policy:2:1: unknown field `skils`"), "{refused}");
    let unsigned = PublishOptions { key: None, unsigned: true, ..options(&fleet, PolicyChange::Remove) };
    assert!(matches!(publish(&fleet.engine, &fleet.store, None, &unsigned), Err(FleetError::Policy(_))));
}

#[test]
fn a_store_that_alters_the_policy_is_refused() {
    let fleet = Fleet::new();
    fleet.publish(skills(&["one"]).path());
    set(&fleet, FORBIDS_ONE);
    refresh(&fleet.reader()).unwrap();
    set(&fleet, &FORBIDS_ONE.replace("local", "loyal"));
    // Its shards are known, so that the policy is the only blob that is fetched.
    for (fault, line) in [(Fault::Lie("blobs"), "is not what the catalog says"), (Fault::Missing("blobs"), "has no")] {
        fleet.faulty.set(fault);
        let reader = fleet.reader();
        let error = refresh(&reader).unwrap_err();
        assert!(error.to_string().contains(line), "{error}");
        assert!(reader.policy().summaries()[0].rules[0].contains("local"), "the last good one stays");
        assert_eq!(names(&reader), ["one"]);
    }
}

#[test]
fn it_survives_publishers_renewals_and_collections() {
    let fleet = Fleet::new();
    fleet.publish(skills(&["one"]).path());
    set(&fleet, FORBIDS_ONE);
    assert!(!fleet.publish(skills(&["two"]).path()).policy_changed);
    let renewal = SignOptions { renew: Some(std::time::Duration::from_hours(1)), ..SignOptions::default() };
    sign(&fleet.engine, &fleet.store, &fleet.key, &renewal).unwrap();
    let now =
        skillcue_fleet::GcOptions { keep: 1, grace: std::time::Duration::ZERO, alone: true, ..Default::default() };
    gc(&fleet.engine, &fleet.store, &now).unwrap();
    let report = inspect(&fleet.engine, &fleet.store, &[fleet.key.public()], true).unwrap();
    assert_eq!(report.policy.as_deref(), Some(FORBIDS_ONE));
    let reader = fleet.reader();
    refresh(&reader).unwrap();
    assert_eq!(reader.policy().summaries().len(), 1);
}

/// The store answers that nothing has changed, and what the reader has on disk is not what it had.
#[test]
fn a_pull_without_a_newer_generation_brings_a_lost_or_damaged_policy_back() {
    let fleet = Fleet::new();
    fleet.publish(skills(&["one"]).path());
    set(&fleet, FORBIDS_ONE);
    refresh(&fleet.reader()).unwrap();
    let is_whole = |reader: &Catalogs| reader.policy().summaries().iter().any(|it| it.broken.is_none());
    let file = fleet.kept_file(".policy.json");
    for damage in [None, Some("garbage"), Some("{}")] {
        match damage {
            Some(text) => std::fs::write(&file, text).unwrap(),
            None => std::fs::remove_file(&file).unwrap(),
        }
        let reader = fleet.reader();
        assert!(!is_whole(&reader));
        if damage.is_none() {
            let said = &reader.diagnostics()[0];
            assert!(said.message.contains("it is not on this machine"), "{said:?}");
            assert!(said.help.as_ref().is_some_and(|help| help.contains("a pull of the catalog")), "{said:?}");
        }
        assert_eq!(refresh(&reader), Ok(PullOutcome::Unchanged(1)));
        assert!(is_whole(&reader) && is_whole(&fleet.reader()), "{damage:?}");
        assert_eq!(reader.diagnostics(), []);
    }
    // Also where nothing of it is left on this machine.
    std::fs::remove_file(&file).unwrap();
    for part in fleet.kept_dir().join("parts").read_dir().unwrap().map(Result::unwrap) {
        if std::fs::read(part.path()).unwrap() == FORBIDS_ONE.as_bytes() {
            std::fs::remove_file(part.path()).unwrap();
        }
    }
    let reader = fleet.reader();
    refresh(&reader).unwrap();
    assert!(is_whole(&reader));
    // A generation without a policy leaves no file that closes everything.
    publish(&fleet.engine, &fleet.store, None, &options(&fleet, PolicyChange::Remove)).unwrap();
    refresh(&reader).unwrap();
    std::fs::write(&file, "garbage").unwrap();
    refresh(&fleet.reader()).unwrap();
    assert!(fleet.reader().policy().is_empty());
}

#[test]
fn a_policy_applies_to_keys_that_are_configured_later() {
    let fleet = Fleet::new();
    fleet.publish(skills(&["one"]).path());
    set(&fleet, FORBIDS_ONE);
    let asking = |keys| {
        let trust = skillcue::config::CatalogTrust::Ask;
        fleet.reader_of(skillcue_fleet::CatalogSpec { keys, trust, ..fleet.spec() })
    };
    refresh(&asking(Vec::new())).unwrap();
    let with_key = asking(vec![fleet.key.public()]);
    assert!(with_key.policy().is_empty());
    assert_eq!(refresh(&with_key), Ok(PullOutcome::Unchanged(1)));
    assert_eq!(fleet.reader().policy().summaries().len(), 1);
    // It stays when the key is taken out for a while.
    refresh(&asking(Vec::new())).unwrap();
    assert!(asking(Vec::new()).policy().is_empty());
    assert_eq!(fleet.reader().policy().summaries().len(), 1);
    // A rotation: both keys have signed, the reader pulls with the old one, then has the new one alone.
    let new = SigningKey::generate().unwrap();
    let trusting = SignOptions { trusted: vec![fleet.key.public()], ..SignOptions::default() };
    sign(&fleet.engine, &fleet.store, &new, &trusting).unwrap();
    refresh(&fleet.reader()).unwrap();
    assert_eq!(fleet.reader_with_keys(vec![new.public()]).policy().summaries().len(), 1);
    assert!(fleet.reader_with_keys(vec![SigningKey::generate().unwrap().public()]).policy().is_empty());
}
