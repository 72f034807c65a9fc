//! Looking again only where something happened gives what looking everywhere gives.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use proptest::prelude::*;
use skillcue_catalog::{Catalog, Discovery, Memory, Root, Source};

use crate::steps::{Step, step};

fn discovery(base: &Path) -> Discovery {
    Discovery::new([Root::new(base.join("one"), Source::Project), Root::new(base.join("two"), Source::User)])
}

/// Everything that a catalog says, apart from how much work it was.
fn said(catalog: &Catalog) -> Vec<String> {
    let mut said = vec![catalog.generation().to_string()];
    for skill in catalog.all() {
        let places: Vec<_> = skill.places().into_iter().map(|place| place.path).collect();
        let state = (skill.enabled(), skill.available(), skill.shadowed(), skill.body_tokens(), skill.digest());
        said.push(format!("{} {places:?} {:?} {state:?} {}", skill.address(), skill.stamp(), skill.front_matter()));
    }
    said.extend(catalog.invalid().iter().map(|invalid| format!("{} {:?}", invalid.path.display(), invalid.name)));
    said.extend(catalog.diagnostics().iter().map(|found| format!("{found:?}")));
    said
}

fn check(batches: &[Vec<Step>]) {
    let dir = tempfile::tempdir().unwrap();
    let base = dir.path().canonicalize().unwrap();
    for root in ["one", "two", "beside"] {
        fs::create_dir(base.join(root)).unwrap();
    }
    let (told, asked) = (&mut Memory::default(), &mut Memory::default());
    discovery(&base).run_again(told, None);
    for batch in batches {
        let touched: BTreeSet<_> = batch.iter().flat_map(|step| step.take(&base)).collect();
        let fresh = said(&discovery(&base).run());
        let again = discovery(&base).run_again(told, Some(&touched));
        assert_eq!(said(&again), fresh, "told of {touched:?}");
        assert_eq!(said(&discovery(&base).run_again(asked, None)), fresh, "asked about everything");
    }
    // What was not asked about for a while still is when it is asked about.
    assert_eq!(said(&discovery(&base).run_again(told, None)), said(&discovery(&base).run()));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, ..ProptestConfig::default() })]

    #[test]
    fn a_narrow_look_sees_what_a_wide_one_sees(
        batches in prop::collection::vec(prop::collection::vec(step(), 1..6), 1..12)
    ) {
        check(&batches);
    }
}

#[test]
fn one_skill_touched_is_one_file_read() {
    let dir = tempfile::tempdir().unwrap();
    let base = dir.path().canonicalize().unwrap();
    let write = |at: &str, description: &str| {
        let dir = base.join("one").join(at);
        fs::create_dir_all(&dir).unwrap();
        let name = dir.file_name().unwrap().to_str().unwrap();
        fs::write(dir.join("SKILL.md"), format!("---\nname: {name}\ndescription: {description}\n---\n")).unwrap();
        dir.join("SKILL.md")
    };
    for n in 0..500 {
        write(&format!("skill-{n}"), "As it was.");
        write(&format!("group-{}/deep-{n}", n % 7), "As it was.");
    }
    let mut memory = Memory::default();
    assert_eq!(discovery(&base).run_again(&mut memory, None).effort().read, 1000);
    // What is written, and the highest directory that is new: the system tells of that one for certain.
    let cases = [
        ("skill-77", "skill-77/SKILL.md"),
        ("group-3/deep-3", "group-3/deep-3/SKILL.md"),
        ("skill-new", "skill-new"),
        ("group-3/deep-new", "group-3/deep-new"),
        ("group-new/deep-other", "group-new"),
    ];
    for (at, told) in cases {
        write(at, "Touched.");
        let touched = BTreeSet::from([base.join("one").join(told)]);
        let catalog = discovery(&base).run_again(&mut memory, Some(&touched));
        assert_eq!(catalog.effort().read, 1, "{at}");
        let name = at.rsplit('/').next().unwrap();
        assert_eq!(catalog.get(name).unwrap().manifest().description(), "Touched.");
    }
    let nothing = discovery(&base).run_again(&mut memory, Some(&BTreeSet::new()));
    assert_eq!((nothing.effort().read, nothing.effort().reused), (0, 1003));
    fs::remove_dir_all(base.join("one/group-3")).unwrap();
    let catalog = discovery(&base).run_again(&mut memory, Some(&[base.join("one/group-3")].into()));
    // Of the 500, every seventh was in it, and one that came.
    assert_eq!((catalog.effort().read, catalog.len()), (0, 1003 - 71 - 1));
}
