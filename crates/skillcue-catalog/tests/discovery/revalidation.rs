//! A repeated discovery of the touched paths finds the same as one of everything.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use proptest::prelude::*;
use skillcue_catalog::{Catalog, Discovery, DiscoveryState, SkillRoot, Source};

use crate::steps::{Step, step};

fn discovery(base: &Path) -> Discovery {
    Discovery::new([SkillRoot::new(base.join("one"), Source::Project), SkillRoot::new(base.join("two"), Source::User)])
}

/// Returns everything in a catalog, apart from the effort.
fn described(catalog: &Catalog) -> Vec<String> {
    let mut described = vec![catalog.generation().to_string()];
    for skill in catalog.all() {
        let locations: Vec<_> = skill.locations().into_iter().map(|location| location.path).collect();
        let state = (skill.enabled(), skill.available(), skill.shadowed(), skill.body_tokens(), skill.digest());
        described.push(format!(
            "{} {locations:?} {:?} {state:?} {}",
            skill.address(),
            skill.stamp(),
            skill.front_matter()
        ));
    }
    described.extend(catalog.invalid().iter().map(|invalid| format!("{} {:?}", invalid.path.display(), invalid.name)));
    described.extend(catalog.diagnostics().iter().map(|found| format!("{found:?}")));
    described
}

fn check(batches: &[Vec<Step>]) {
    let dir = tempfile::tempdir().unwrap();
    let base = dir.path().canonicalize().unwrap();
    for root in ["one", "two", "beside"] {
        fs::create_dir(base.join(root)).unwrap();
    }
    let (reported, asked) = (&mut DiscoveryState::default(), &mut DiscoveryState::default());
    discovery(&base).run_again(reported, None);
    for batch in batches {
        let touched: BTreeSet<_> = batch.iter().flat_map(|step| step.take(&base)).collect();
        let fresh = described(&discovery(&base).run());
        let again = discovery(&base).run_again(reported, Some(&touched));
        assert_eq!(described(&again), fresh, "reported of {touched:?}");
        assert_eq!(described(&discovery(&base).run_again(asked, None)), fresh, "asked about everything");
    }
    // Stamps that were not checked for a while are still valid when they are checked.
    assert_eq!(described(&discovery(&base).run_again(reported, None)), described(&discovery(&base).run()));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, ..ProptestConfig::default() })]

    #[test]
    fn a_discovery_of_touched_paths_agrees_with_a_full_one(
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
    let mut state = DiscoveryState::default();
    assert_eq!(discovery(&base).run_again(&mut state, None).effort().read, 1000);
    // The file that is written, and the highest directory that is new: the system reports that one for certain.
    let cases = [
        ("skill-77", "skill-77/SKILL.md"),
        ("group-3/deep-3", "group-3/deep-3/SKILL.md"),
        ("skill-new", "skill-new"),
        ("group-3/deep-new", "group-3/deep-new"),
        ("group-new/deep-other", "group-new"),
    ];
    for (at, reported) in cases {
        write(at, "TouchedDirs.");
        let touched = BTreeSet::from([base.join("one").join(reported)]);
        let catalog = discovery(&base).run_again(&mut state, Some(&touched));
        assert_eq!(catalog.effort().read, 1, "{at}");
        let name = at.rsplit('/').next().unwrap();
        assert_eq!(catalog.get(name).unwrap().manifest().description(), "TouchedDirs.");
    }
    let nothing = discovery(&base).run_again(&mut state, Some(&BTreeSet::new()));
    assert_eq!((nothing.effort().read, nothing.effort().reused), (0, 1003));
    fs::remove_dir_all(base.join("one/group-3")).unwrap();
    let catalog = discovery(&base).run_again(&mut state, Some(&[base.join("one/group-3")].into()));
    // Of the 500, every seventh was in it, and one that came.
    assert_eq!((catalog.effort().read, catalog.len()), (0, 1003 - 71 - 1));
}
