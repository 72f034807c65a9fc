//! Updates of the text index: equal to an index that is made anew, and without reading unchanged texts.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use proptest::prelude::*;
use skillcue_catalog::{Catalog, Discovery, SkillRoot, Source};
use skillcue_select::{BodyTerms, ReadAt, TextIndex, body_key};

const WORDS: [&str; 24] = [
    "merge",
    "split",
    "rotate",
    "table",
    "chart",
    "invoice",
    "résumé",
    "表格",
    "letter",
    "photo",
    "kubernetes",
    "deploy",
    "translate",
    "cluster",
    "picture",
    "benchmark",
    "crash-log",
    "OutputPath",
    "2024",
    "report",
    "music",
    "calendar",
    "password",
    "ledger",
];

const MESSAGES: [&str; 6] = [
    "merge the tables of 2024",
    "rotaet a foto and the picutre",
    "deploy to a kuberntes cluster",
    "表格 résumé",
    "write a crash log report to the output path",
    "nothing of the kind",
];

/// A change of one skill.
#[derive(Debug, Clone)]
enum Change {
    /// Writes a skill: its number, and the words of its description and its body. Without the latter it is not indexed.
    Write(usize, Vec<usize>, Option<Vec<usize>>),
    Remove(usize),
    /// Moves a skill to the other root, where it is in another place of the catalog.
    Move(usize),
}

fn change() -> impl Strategy<Value = Change> {
    let words = || prop::collection::vec(0..WORDS.len(), 0..12);
    prop_oneof![
        4 => (0..12usize, words(), prop::option::weighted(0.8, words())).prop_map(|(n, a, b)| Change::Write(n, a, b)),
        1 => (0..12usize).prop_map(Change::Remove),
        1 => (0..12usize).prop_map(Change::Move),
    ]
}

/// Two roots of skills on disk, and the bodies that are to be indexed.
struct Tree {
    dir: tempfile::TempDir,
    bodies: BTreeMap<usize, String>,
    time: u64,
}

impl Tree {
    fn new() -> Tree {
        let dir = tempfile::tempdir().unwrap();
        for root in ["a", "b"] {
            fs::create_dir(dir.path().join(root)).unwrap();
        }
        Tree { dir, bodies: BTreeMap::new(), time: 1 }
    }

    fn skill(&self, number: usize) -> Option<std::path::PathBuf> {
        ["a", "b"].map(|root| self.dir.path().join(root).join(name(number))).into_iter().find(|dir| dir.exists())
    }

    fn apply(&mut self, change: &Change) {
        match change {
            Change::Write(number, description, body) => {
                let dir = self.skill(*number).unwrap_or_else(|| self.dir.path().join("a").join(name(*number)));
                fs::create_dir_all(&dir).unwrap();
                let [description, text] = [description, body.as_ref().unwrap_or(&Vec::new())]
                    .map(|words| words.iter().map(|at| WORDS[*at]).collect::<Vec<_>>().join(" "));
                let front = format!("name: {}\ndescription: Does {description}. Not for music.", name(*number));
                self.time += 1;
                write(&dir.join("SKILL.md"), &format!("---\n{front}\n---\n{text}"), self.time);
                self.bodies.remove(number);
                if body.is_some() {
                    self.bodies.insert(*number, text);
                }
            }
            Change::Remove(number) => {
                if let Some(dir) = self.skill(*number) {
                    fs::remove_dir_all(dir).unwrap();
                }
            }
            Change::Move(number) => {
                if let Some(dir) = self.skill(*number) {
                    let other = if dir.parent().unwrap().ends_with("a") { "b" } else { "a" };
                    fs::rename(&dir, self.dir.path().join(other).join(name(*number))).unwrap();
                }
            }
        }
    }

    fn catalog(&self) -> Catalog {
        let root = |name: &str, source| SkillRoot::new(self.dir.path().join(name), source);
        Discovery::new([root("a", Source::Project), root("b", Source::User)]).run()
    }

    /// Returns the bodies of some skills that are to be indexed.
    fn terms<'c>(&self, skills: impl Iterator<Item = &'c skillcue_catalog::Skill>) -> BodyTerms {
        let mut terms = BodyTerms::default();
        for skill in skills {
            let number = (0..12).find(|number| name(*number) == skill.name()).unwrap();
            if let Some(body) = self.bodies.get(&number) {
                terms.insert(body_key(skill), BodyTerms::of_body(body));
            }
        }
        terms
    }
}

fn name(number: usize) -> String {
    format!("{}-{number}", ["pdf", "zip", "photo", "ledger"][number % 4])
}

/// Writes a file with a time of its own: two writes within a tick of the clock would look like one.
fn write(path: &Path, text: &str, time: u64) {
    fs::write(path, text).unwrap();
    fs::File::options().write(true).open(path).unwrap().set_modified(UNIX_EPOCH + Duration::from_secs(time)).unwrap();
}

fn stored(index: &TextIndex) -> TextIndex {
    let bytes = index.to_bytes(0);
    let read: ReadAt = Arc::new(move |offset, length| {
        let offset = usize::try_from(offset).ok()?;
        bytes.get(offset..offset.checked_add(length)?).map(<[u8]>::to_vec)
    });
    TextIndex::read_old(&read).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn an_updated_index_equals_one_made_anew(
        first in prop::collection::vec(change(), 0..16),
        steps in prop::collection::vec((prop::collection::vec(change(), 0..4), any::<bool>()), 1..12),
    ) {
        let mut tree = Tree::new();
        for change in &first {
            tree.apply(change);
        }
        let catalog = tree.catalog();
        let mut index = TextIndex::with_bodies(&catalog, &tree.terms(catalog.skills()));
        for (changes, store) in steps {
            for change in &changes {
                tree.apply(change);
            }
            let catalog = tree.catalog();
            let bodies = tree.terms(index.changed_skills(&catalog));
            prop_assert!(bodies.len() <= changes.len(), "bodies of unchanged skills are known");
            index = index.updated(&catalog, &bodies).unwrap();
            let anew = TextIndex::with_bodies(&catalog, &tree.terms(catalog.skills()));
            for message in MESSAGES {
                prop_assert_eq!(index.search(message, 20, &|_| true), anew.search(message, 20, &|_| true));
            }
            prop_assert!(index.to_bytes(7) == anew.to_bytes(7));
            if store {
                index = stored(&index);
            }
        }
    }
}

/// An index over level 1 is updated like any other, and gets bodies later.
#[test]
fn bodies_can_come_later() {
    let mut tree = Tree::new();
    for number in 0..6 {
        tree.apply(&Change::Write(number, vec![number], Some(vec![number + 6])));
    }
    let catalog = tree.catalog();
    let level_1 = TextIndex::of(&catalog);
    assert_eq!(level_1.changed_skills(&catalog).count(), 6);
    let bodies = tree.terms(catalog.skills());
    let index = level_1.updated(&catalog, &bodies).unwrap();
    assert!(index.to_bytes(1) == TextIndex::with_bodies(&catalog, &bodies).to_bytes(1));
    assert_eq!(index.changed_skills(&catalog).count(), 0);
}

#[test]
fn a_damaged_index_is_not_updated() {
    let mut tree = Tree::new();
    for number in 0..6 {
        tree.apply(&Change::Write(number, vec![number, 3], Some(vec![number + 6, 4])));
    }
    let catalog = tree.catalog();
    let whole = TextIndex::with_bodies(&catalog, &tree.terms(catalog.skills())).to_bytes(1);
    tree.apply(&Change::Write(2, vec![5], None));
    let catalog = tree.catalog();
    let anew = TextIndex::with_bodies(&catalog, &tree.terms(catalog.skills())).to_bytes(2);
    let mut refused = 0;
    for at in 0..whole.len() {
        let mut bytes = whole.clone();
        bytes[at] ^= 1;
        let read: ReadAt = Arc::new(move |offset, length| {
            let offset = usize::try_from(offset).ok()?;
            bytes.get(offset..offset.checked_add(length)?).map(<[u8]>::to_vec)
        });
        let updated = TextIndex::read_old(&read).and_then(|old| old.updated(&catalog, &BodyTerms::default()));
        // Profiles are read late: the bytes to store are made before they are checked.
        let stored = updated.map(|index| (index.to_bytes(2), index.is_damaged()));
        match stored {
            Some((bytes, false)) => assert!(bytes == anew, "{at}"),
            _ => refused += 1,
        }
    }
    assert!(refused > whole.len() * 9 / 10, "{refused} of {}", whole.len());
}
