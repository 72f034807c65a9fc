//! Changes between two catalogs, compared with differences of sets of names and files.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::path::Path;

use proptest::prelude::*;
use skillcue::catalog::Discovery;
use skillcue::{Catalog, Changes, Enablement, SkillRoot, Source};

/// The skills of a test: numbers of root and of name, and numbers of description and of body.
type Tree = BTreeMap<(usize, usize), (u8, u8)>;

const ROOTS: [(&str, Source); 3] = [("a", Source::Inline), ("b", Source::Project), ("c", Source::Project)];

fn apply(dir: &Path, old: &Tree, new: &Tree) {
    for ((root, name), _) in old.iter().filter(|(place, _)| !new.contains_key(*place)) {
        fs::remove_dir_all(dir.join(ROOTS[*root].0).join(format!("s{name}"))).unwrap();
    }
    for ((root, name), (front, body)) in new.iter().filter(|(place, held)| old.get(*place) != Some(held)) {
        let dir = dir.join(ROOTS[*root].0).join(format!("s{name}"));
        fs::create_dir_all(&dir).unwrap();
        let text = format!("---\nname: s{name}\ndescription: Text {front}.\n---\n{}", "x".repeat((*body).into()));
        // A new file: equal sizes within one tick of the clock would be an equal stamp.
        fs::write(dir.join("next"), text).unwrap();
        fs::rename(dir.join("next"), dir.join("SKILL.md")).unwrap();
    }
}

fn catalog(dir: &Path, disabled: &HashSet<usize>) -> Catalog {
    let disable = disabled.iter().map(|name| format!("s{name}")).collect();
    Discovery::new(ROOTS.map(|(name, source)| SkillRoot::new(dir.join(name), source)))
        .enablement(Enablement { disable, ..Enablement::default() })
        .run()
}

/// Everything that can be asked about the skills of a name.
fn facts(catalog: &Catalog) -> BTreeMap<String, Vec<String>> {
    let mut facts: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for skill in catalog.all() {
        let places: Vec<_> = skill.locations().into_iter().map(|place| (place.path, place.root.source)).collect();
        let state = (skill.enabled(), skill.available(), skill.shadowed());
        let fact = format!("{places:?} {:?} {} {state:?}", skill.stamp(), skill.digest());
        facts.entry(skill.name().to_owned()).or_default().push(fact);
    }
    facts
}

fn tree() -> impl Strategy<Value = Tree> {
    prop::collection::btree_map((0..ROOTS.len(), 0..6_usize), (0..3_u8, 0..3_u8), 0..10)
}

fn some_names() -> impl Strategy<Value = HashSet<usize>> {
    prop::collection::hash_set(0..6_usize, 0..3)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn between_says_what_sets_say(before in tree(), after in tree(), off in some_names(), then_off in some_names()) {
        let dir = tempfile::tempdir().unwrap();
        apply(dir.path(), &Tree::new(), &before);
        let old = catalog(dir.path(), &off);
        apply(dir.path(), &before, &after);
        let new = catalog(dir.path(), &then_off);

        let (was, is) = (facts(&old), facts(&new));
        let names = |of: &BTreeMap<String, Vec<String>>, pass: &dyn Fn(&String) -> bool| -> Vec<String> {
            of.keys().filter(|name| pass(name)).cloned().collect()
        };
        let changes = Changes::between(&old, &new);
        prop_assert_eq!(&changes.added, &names(&is, &|name| !was.contains_key(name)));
        prop_assert_eq!(&changes.removed, &names(&was, &|name| !is.contains_key(name)));
        let differs = |name: &String| was.get(name).is_some_and(|was| *was != is[name]);
        prop_assert_eq!(&changes.updated, &names(&is, &differs));
        prop_assert_eq!(changes.unchanged, new.len() - changes.added.len() - changes.updated.len());
        prop_assert_eq!(changes.findings, old.diagnostics() != new.diagnostics());

        let enabled = |catalog: &Catalog| -> Vec<(String, bool)> {
            catalog.skills().map(|skill| (skill.name().to_owned(), skill.enabled())).collect()
        };
        let listing = old.generation() != new.generation() || enabled(&old) != enabled(&new);
        prop_assert_eq!(changes.listing, listing);
        prop_assert!(Changes::between(&new, &new).is_empty());
        prop_assert_eq!(Changes::between(&new, &new).unchanged, new.len());
    }
}

#[test]
fn programs_that_a_skill_requires_come() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("pdf")).unwrap();
    let text = "---\nname: pdf\ndescription: Needs it.\nrequires: [reader]\n---\n";
    fs::write(dir.path().join("pdf/SKILL.md"), text).unwrap();
    let run = |path: &str| {
        Discovery::new([SkillRoot::new(dir.path(), Source::Inline)]).search_path([dir.path().join(path)]).run()
    };
    let old = run("bin");
    fs::create_dir(dir.path().join("bin")).unwrap();
    fs::copy("/bin/sh", dir.path().join("bin/reader")).unwrap();
    let changes = Changes::between(&old, &run("bin"));
    assert_eq!(changes.updated, ["pdf"]);
    assert!(changes.listing && changes.findings, "{changes:?}");
}
