//! The cache against a model that is too simple to be wrong.

use proptest::prelude::*;
use skillcue_catalog::{BodyAt, BodyFile};

use super::{Cache, CacheKeyRef, CachedResult};
use crate::arguments::Dialect;
use crate::body::Body;
use crate::loader::Form;

fn file(skill: u8) -> BodyFile {
    BodyFile {
        name: format!("skill-{skill}").into(),
        base_dir: "/base".into(),
        open_dir: "/open".into(),
        body: BodyAt::AfterFrontMatter("SKILL.md".into()),
    }
}

fn key<'a>(file: &'a BodyFile, arguments: &'a str) -> CacheKeyRef<'a> {
    CacheKeyRef { file, arguments, dialect: &Dialect::Plain, section: None, form: Form::Processed }
}

/// Returns an entry whose text is its version.
fn entry(file: &BodyFile, version: u64) -> CachedResult {
    CachedResult { body: Body::of(file, &version.to_string()), part: 0..0 }
}

/// Keys in order of use, the least recent first, each with the version of the file it was made from.
#[derive(Default)]
struct CacheModel {
    capacity: usize,
    entries: Vec<((u8, u8), u64)>,
    hits: u64,
    misses: u64,
}

impl CacheModel {
    fn load(&mut self, key: (u8, u8), version: u64) -> bool {
        let found = self.entries.iter().position(|entry| entry.0 == key).map(|at| self.entries.remove(at));
        let hit = found.is_some_and(|entry| entry.1 == version);
        *(if hit { &mut self.hits } else { &mut self.misses }) += 1;
        self.entries.push((key, version));
        if self.entries.len() > self.capacity {
            self.entries.remove(0);
        }
        hit
    }

    fn clear(&mut self, skill: Option<u8>) -> usize {
        let before = self.entries.len();
        self.entries.retain(|entry| skill.is_some_and(|skill| entry.0.0 != skill));
        before - self.entries.len()
    }
}

#[derive(Clone, Debug)]
enum Op {
    Load(u8, u8),
    Edit(u8),
    Clear(Option<u8>),
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        12 => (0..4_u8, 0..4_u8).prop_map(|(skill, arguments)| Op::Load(skill, arguments)),
        2 => (0..4_u8).prop_map(Op::Edit),
        1 => proptest::option::of(0..4_u8).prop_map(Op::Clear),
    ]
}

proptest! {
    #[test]
    fn agrees_with_the_model(capacity in 0..10_usize, ops in proptest::collection::vec(op(), 0..200)) {
        let cache = Cache::new(capacity);
        let mut model = CacheModel { capacity, ..CacheModel::default() };
        let mut versions = [0_u64; 4];
        for op in ops {
            match op {
                Op::Load(skill, arguments) => {
                    let version = versions[usize::from(skill)];
                    let (file, text) = (file(skill), arguments.to_string());
                    let key = key(&file, &text);
                    let hit = cache.get(&key, |entry| entry.body.as_str() == version.to_string());
                    if hit.is_none() {
                        cache.insert(&key, entry(&file, version));
                    }
                    prop_assert_eq!(hit.is_some(), model.load((skill, arguments), version));
                }
                Op::Edit(skill) => versions[usize::from(skill)] += 1,
                Op::Clear(skill) => {
                    let name = skill.map(|skill| format!("skill-{skill}"));
                    prop_assert_eq!(cache.clear(name.as_deref()), model.clear(skill));
                }
            }
            let stats = cache.stats();
            prop_assert_eq!(
                (stats.size, stats.capacity, stats.hits, stats.misses),
                (model.entries.len(), capacity, model.hits, model.misses)
            );
        }
    }
}

#[test]
fn every_part_of_the_key_counts() {
    let cache = Cache::new(100);
    let pdf = file(0);
    let elsewhere = BodyFile { base_dir: "/elsewhere".into(), ..file(0) };
    let linked = BodyFile { open_dir: "/elsewhere".into(), ..file(0) };
    let whole = BodyFile { body: BodyAt::WholeFile("SKILL.md".into()), ..file(0) };
    let (extended, named) = (Dialect::extended([]), Dialect::extended(["a"]));
    let base = key(&pdf, "a");
    let keys = [
        base,
        key(&pdf, ""),
        key(&pdf, "a "),
        key(&elsewhere, "a"),
        key(&linked, "a"),
        key(&whole, "a"),
        CacheKeyRef { dialect: &extended, ..base },
        CacheKeyRef { dialect: &named, ..base },
        CacheKeyRef { section: Some(""), ..base },
        CacheKeyRef { section: Some("a"), ..base },
        CacheKeyRef { form: Form::Body, ..base },
    ];
    for (version, key) in keys.iter().enumerate() {
        assert!(cache.get(key, |_| true).is_none(), "{key:?}");
        cache.insert(key, entry(key.file, version as u64));
    }
    for (version, key) in keys.iter().enumerate() {
        assert_eq!(cache.get(key, |_| true).unwrap().body.as_str(), version.to_string());
    }
}

#[test]
fn a_stale_entry_does_not_take_its_successor_with_it() {
    let cache = Cache::new(1);
    let pdf = file(0);
    let key = key(&pdf, "");
    cache.insert(&key, entry(&pdf, 1));
    // Another caller notices and reloads while this one still checks the old file.
    let stale = cache.get(&key, |_| {
        cache.insert(&key, entry(&pdf, 2));
        false
    });
    assert!(stale.is_none());
    assert_eq!(cache.get(&key, |_| true).unwrap().body.as_str(), "2");
}
