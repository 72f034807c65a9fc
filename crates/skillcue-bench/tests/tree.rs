//! Generated trees on disk: equal bytes, the right shares, no files of others deleted.

// clippy.toml lets tests unwrap; helpers of tests are not tests to it.
#![allow(clippy::unwrap_used)]

use skillcue_bench::{
    BodyLength, GeneratedKind, Layout, STAMP, TreeOptions, TriggerMix, floor, generate, generate_with, triggers,
};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::ErrorKind;
use std::num::NonZeroUsize;
use std::path::Path;

fn threads(count: usize) -> NonZeroUsize {
    NonZeroUsize::new(count).unwrap()
}

/// FNV-1a over every path below the root and every byte of every file.
fn hash(root: &Path) -> u64 {
    let mut hash = 0xCBF2_9CE4_8422_2325_u64;
    let mut take = |bytes: &[u8]| {
        for &byte in bytes {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01B3);
        }
    };
    for path in floor::find(root).unwrap() {
        // Slashes whatever the platform: the hash below is the same on all of them.
        for part in path.strip_prefix(root).unwrap() {
            take(part.to_str().unwrap().as_bytes());
            take(b"/");
        }
        take(&fs::read(&path).unwrap());
    }
    hash
}

fn mixed() -> TreeOptions {
    TreeOptions {
        count: 200,
        seed: 42,
        layout: Layout::Grouped,
        malformed_permille: 100,
        mended_permille: 50,
        ..TreeOptions::default()
    }
}

#[test]
fn equal_options_give_equal_bytes_with_any_number_of_threads() {
    let dir = tempfile::tempdir().unwrap();
    let hashes: Vec<u64> = [1, 1, 2, 7]
        .into_iter()
        .enumerate()
        .map(|(run, count)| {
            let root = dir.path().join(run.to_string());
            generate_with(&root, &mixed(), threads(count)).unwrap();
            hash(&root)
        })
        .collect();
    // The value itself is pinned, for platforms and compilers to agree on. If you change the
    // generator on purpose, change it, and raise `VERSION` in `generate.rs` with it.
    assert_eq!(hashes, [10_527_963_396_981_604_753; 4]);

    let other = dir.path().join("other");
    generate(&other, &TreeOptions { seed: 43, ..mixed() }).unwrap();
    assert_ne!(hash(&other), hashes[0]);
}

#[test]
fn a_tree_for_matching_has_ten_triggers_in_each_file_and_equal_bytes() {
    let dir = tempfile::tempdir().unwrap();
    let options =
        TreeOptions { count: 300, bodies: BodyLength::Short, triggers: TriggerMix::Ten, ..TreeOptions::default() };
    let hashes = [1, 3].map(|count| {
        let root = dir.path().join(count.to_string());
        generate_with(&root, &options, threads(count)).unwrap();
        hash(&root)
    });
    // Pinned, as above.
    assert_eq!(hashes, [7_135_699_794_893_766_128; 2]);
    for index in 0..options.count {
        let (file, triggers) = (options.skill(index).file, triggers::of(options.seed, index));
        for text in triggers.keywords.iter().chain(&triggers.verbs).chain([&triggers.pattern]) {
            assert!(file.contains(text), "{text} is not in\n{file}");
        }
        assert!(file.len() < 1024, "{file}");
    }
}

#[test]
fn the_tree_follows_the_options() {
    let dir = tempfile::tempdir().unwrap();
    for layout in [Layout::Flat, Layout::Grouped] {
        let options = TreeOptions { layout, ..mixed() };
        let root = dir.path().join(format!("{layout:?}"));
        let tree = generate(&root, &options).unwrap();
        let mut paths = tree.paths().to_vec();
        paths.sort_unstable();
        assert_eq!(paths, floor::find(&root).unwrap());
        for (index, path) in tree.paths().iter().enumerate() {
            let skill = options.skill(index);
            assert_eq!(path.parent().unwrap().file_name().unwrap(), skill.name.as_str());
            assert_eq!(fs::read_to_string(path).unwrap(), skill.file);
        }
    }
}

#[test]
fn shares_are_exact_and_every_way_of_being_broken_is_there() {
    let options = TreeOptions { count: 1000, ..mixed() };
    let mut codes = BTreeMap::new();
    let mut mended = BTreeSet::new();
    for index in 0..options.count {
        let skill = options.skill(index);
        assert_eq!(skill.kind, options.kind(index));
        match skill.kind {
            GeneratedKind::Good => {}
            GeneratedKind::Mended => {
                mended.insert(skill.file.replace(&skill.name, ""));
            }
            GeneratedKind::Malformed { code } => *codes.entry(code).or_insert(0) += 1,
        }
    }
    assert_eq!(codes.values().sum::<i32>(), 100);
    let count = |kind| (0..options.count).filter(|&index| options.kind(index) == kind).count();
    assert_eq!((count(GeneratedKind::Good), count(GeneratedKind::Mended)), (850, 50));
    assert!(codes.len() >= 7 && codes.values().all(|&count| count >= 11), "{codes:?}");
    assert!(mended.len() >= 5, "{mended:?}");

    let too_many = TreeOptions { malformed_permille: 600, mended_permille: 600, ..options };
    let error = generate(Path::new("/nowhere"), &too_many).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
}

/// The sizes of 31,942 public files, within a tenth. Tokens are estimated from bytes, with the two factors that the
/// exact tokenizer gave on a generated tree.
#[test]
fn sizes_are_those_of_the_wild() {
    let options = TreeOptions { count: 5000, ..TreeOptions::default() };
    let (mut front, mut bodies) = (Vec::new(), Vec::new());
    for index in 0..options.count {
        let file = options.skill(index).file.replace("\r\n", "\n");
        let end = file[4..].find("\n---\n").unwrap() + 9;
        front.push(end);
        bodies.push(file.len() - end);
    }
    front.sort_unstable();
    bodies.sort_unstable();
    let near = |what: &str, tokens: f64, wild: f64| {
        assert!((tokens / wild - 1.0).abs() < 0.1, "{what}: {tokens:.0} tokens, in the wild {wild}");
    };
    let quantile = |sizes: &[usize], permille: usize, bytes_per_token: f64| {
        f64::from(u32::try_from(sizes[sizes.len() * permille / 1000]).unwrap()) / bytes_per_token
    };
    near("front matter, median", quantile(&front, 500, 4.6), 81.0);
    near("front matter, 99th", quantile(&front, 990, 4.6), 249.0);
    near("body, median", quantile(&bodies, 500, 5.0), 1119.0);
    near("body, 99th", quantile(&bodies, 990, 5.0), 7781.0);
}

#[test]
fn a_tree_that_is_there_is_left_alone_and_another_is_replaced() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("skills");
    let options = TreeOptions { count: 10, bodies: BodyLength::Short, ..TreeOptions::default() };
    let tree = generate(&root, &options).unwrap();
    // A mark that a second writing would wipe out.
    fs::write(&tree.paths()[0], "touched").unwrap();
    let again = generate(&root, &options).unwrap();
    assert_eq!(fs::read_to_string(&again.paths()[0]).unwrap(), "touched");

    let larger = generate(&root, &TreeOptions { count: 12, ..options }).unwrap();
    assert_eq!(floor::find(&root).unwrap().len(), 12);
    assert_ne!(fs::read_to_string(&larger.paths()[0]).unwrap(), "touched");
    // No file is left aside, and the stamp is in the root.
    let beside: Vec<_> = fs::read_dir(dir.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(beside, ["skills"]);
    assert!(root.join(STAMP).is_file());
}

#[test]
fn files_of_others_are_not_deleted() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("thesis.md"), "years of work").unwrap();
    let error = generate(dir.path(), &TreeOptions::default()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::AlreadyExists);
    assert_eq!(fs::read_to_string(dir.path().join("thesis.md")).unwrap(), "years of work");

    let empty = tempfile::tempdir().unwrap();
    generate(empty.path(), &TreeOptions { count: 3, ..TreeOptions::default() }).unwrap();
    assert_eq!(floor::find(empty.path()).unwrap().len(), 3);
}
