//! The index cache: as correct as no cache, only faster.

use std::fs;
use std::path::PathBuf;

use proptest::prelude::*;
use skillcue_catalog::{Catalog, Discovery, SkillRoot, Source};
use skillcue_format::Code;

use crate::{Tree, names, picture, skill};

/// Makes a tree of all kinds of skills, aged, with the path of a cache beside it.
fn mixed() -> (Tree, PathBuf) {
    let tree = Tree::new();
    for n in 0..30 {
        tree.skill(&format!("root/flat-{n:02}"));
        tree.skill(&format!("root/group-{}/deep-{n:02}", n % 4));
    }
    tree.write("root/broken/SKILL.md", "no front matter");
    tree.write("root/mended/SKILL.md", "---\nname: Mended\ndescription: Use when: x\n---\n");
    tree.write("root/lower/skill.md", skill("lower", "d"));
    tree.write("root/yaml/SKILL.yaml", "name: yaml\ndescription: d\nversion: 1\n");
    tree.write("root/needs/SKILL.md", "---\nname: needs\ndescription: d\nrequires: [no-such-program]\n---\n");
    tree.write("root/empty/notes.txt", "no skill here");
    tree.skill("away/linked");
    tree.link(tree.path().join("away"), "root/links/away");
    tree.age();
    let cache = tree.path().join("cache/index");
    (tree, cache)
}

fn discovery(tree: &Tree) -> Discovery {
    Discovery::new([SkillRoot::new(tree.path().join("root"), Source::Project)]).search_path([])
}

#[test]
fn a_second_run_reads_nothing_that_a_stamp_validates() {
    let (tree, cache) = mixed();
    let cold = discovery(&tree).run();
    let first = discovery(&tree).cache(&cache).run();
    let second = discovery(&tree).cache(&cache).run();
    assert_eq!(picture(&cold), picture(&first));
    assert_eq!(picture(&cold), picture(&second));
    assert_eq!(first.effort().reused, 0);
    // `skill.md`, `SKILL.yaml` and files behind a link are read anew each time.
    assert_eq!(second.effort().read, 3, "{:?}", second.effort());
    assert_eq!(second.effort().reused, 63);
}

#[test]
fn bad_patterns_are_reported_by_every_start() {
    let tree = Tree::new();
    let triggers = "triggers:\n  patterns: ['(', fine, '(a{1000}){1000}']\n  files: ['*.rs', '[']\n";
    for (name, rest) in [("bad", triggers), ("good", "triggers:\n  patterns: ['\\w+x']\n")] {
        tree.write(&format!("root/{name}/SKILL.md"), format!("---\nname: {name}\ndescription: d\n{rest}---\n"));
    }
    tree.write("root/yaml/SKILL.yaml", "name: yaml\ndescription: d\nversion: 1\ntriggers: {patterns: ['[']}\n");
    tree.age();
    let cache = tree.path().join("cache");
    let messages = |catalog: &Catalog| {
        let patterns = catalog.diagnostics().iter().filter(|found| found.code == Code::InvalidPattern);
        patterns.map(|found| found.message.clone()).collect::<Vec<_>>()
    };
    let expected = [
        "the pattern `(` never matches: unclosed group",
        "the pattern `(a{1000}){1000}` never matches: it compiles to more than 1048576 bytes",
        "the glob `[` never matches: unclosed character class; missing ']'",
        "the pattern `[` never matches: unclosed character class",
    ];
    for reused in [0, 2] {
        let catalog = discovery(&tree).cache(&cache).run();
        assert_eq!(catalog.effort().reused, reused);
        assert_eq!(messages(&catalog), expected);
        assert_eq!(catalog.len(), 3, "the skills work all the same");
    }
}

#[test]
fn touching_one_skill_reads_one_file() {
    let (tree, cache) = mixed();
    discovery(&tree).cache(&cache).run();
    tree.write("root/group-2/deep-02/SKILL.md", skill("deep-02", "Changed."));
    tree.age();
    let catalog = discovery(&tree).cache(&cache).run();
    assert_eq!(catalog.effort().read, 4);
    assert_eq!(catalog.get("deep-02").unwrap().manifest().description(), "Changed.");
    assert_eq!(discovery(&tree).cache(&cache).run().effort().read, 3, "and the cache has learned it");
}

#[test]
fn a_skill_yaml_that_turns_up_beside_is_seen() {
    let (tree, cache) = mixed();
    discovery(&tree).cache(&cache).run();
    tree.write("root/flat-07/SKILL.yaml", "name: taken-over\ndescription: d\nversion: 1\n");
    tree.age();
    let catalog = discovery(&tree).cache(&cache).run();
    assert!(catalog.get("flat-07").is_none());
    assert!(catalog.get("taken-over").is_some());
}

#[test]
fn recent_stamps_are_not_trusted() {
    let tree = Tree::new();
    let cache = tree.path().join("cache");
    let time = std::time::SystemTime::now();
    let set = |description: &str| {
        let path = tree.write("root/a/SKILL.md", skill("a", description));
        fs::File::open(path).unwrap().set_modified(time).unwrap();
    };
    set("One.");
    discovery(&tree).cache(&cache).run();
    // Equal size, inode and time: only the rule about recent stamps detects it.
    set("Two.");
    let catalog = discovery(&tree).cache(&cache).run();
    assert_eq!(catalog.get("a").unwrap().manifest().description(), "Two.");
}

#[test]
fn roots_and_sets_of_roots_share_one_file() {
    let tree = Tree::new();
    let cache = tree.path().join("index");
    for root in ["a", "b", "c"] {
        for n in 0..5 {
            tree.skill(&format!("{root}/{root}{n}"));
        }
    }
    tree.age();
    let run = |roots: &[&str]| -> Catalog {
        let roots = roots.iter().map(|root| SkillRoot::new(tree.path().join(root), Source::User));
        Discovery::new(roots).cache(&cache).run()
    };
    assert_eq!(run(&["a", "b"]).effort().read, 10);
    assert_eq!(run(&["c"]).effort().read, 5);
    assert_eq!(run(&["b", "c"]).effort().read, 0);
    let all = run(&["a", "b", "c"]);
    assert_eq!((all.effort().read, all.len()), (0, 15));
}

#[test]
fn damage_costs_time_and_nothing_else() {
    let (tree, cache) = mixed();
    let truth = picture(&discovery(&tree).run());
    discovery(&tree).cache(&cache).run();
    let whole = fs::read(&cache).unwrap();
    let check = |what: &str, bytes: &[u8]| {
        fs::write(&cache, bytes).unwrap();
        assert_eq!(picture(&discovery(&tree).cache(&cache).run()), truth, "{what}");
    };
    for at in (0..whole.len()).step_by(61) {
        check(&format!("cut at {at}"), &whole[..at]);
        let mut flipped = whole.clone();
        flipped[at] ^= 1 << (at % 8);
        check(&format!("flipped at {at}"), &flipped);
    }
    // The numbers in front are the ones that could ask for absurd amounts of memory.
    for at in 0..200 {
        let mut wild = whole.clone();
        wild[at] = 0xFF;
        check(&format!("wild at {at}"), &wild);
    }
    check("empty", b"");
    check("garbage", &[0xA5; 10_000]);
    check("longer", &[&whole[..], &whole[..]].concat());
    let other = String::from_utf8_lossy(&whole[..12]).replace("skcidx", "skcidy");
    check("another layout", &[other.as_bytes(), &whole[12..]].concat());
}

#[test]
fn a_cache_that_cannot_be_used_is_done_without() {
    let (tree, cache) = mixed();
    let truth = names(&discovery(&tree).run()).join(" ");
    fs::create_dir_all(&cache).unwrap();
    let catalog = discovery(&tree).cache(&cache).run();
    assert_eq!(names(&catalog).join(" "), truth);
    assert!(catalog.diagnostics().iter().any(|found| found.code.as_str() == "index_cache"));
    let file = tree.write("file", "x");
    let catalog = discovery(&tree).cache(file.join("below")).run();
    assert_eq!(names(&catalog).join(" "), truth);
    assert!(catalog.diagnostics().iter().any(|found| found.code.as_str() == "index_cache"));
    // Nothing is left lying about.
    assert!(fs::read_dir(tree.path().join("cache")).unwrap().all(|entry| entry.unwrap().path() == cache));
}

#[test]
fn nothing_new_writes_nothing() {
    use std::os::unix::fs::MetadataExt;
    let (tree, cache) = mixed();
    // All skills that are read anew each time, and a file from the future.
    tree.write("root/bad-yaml/SKILL.yaml", "name: x");
    tree.write("root/bad-lower/skill.md", "nothing");
    tree.write("away/bad/SKILL.md", "nothing");
    tree.age();
    let future = tree.skill("root/future");
    let time = std::time::SystemTime::now() + std::time::Duration::from_hours(1000);
    fs::File::open(future).unwrap().set_modified(time).unwrap();
    tree.age_dir("root");
    let roots = [
        SkillRoot::new(tree.path().join("missing"), Source::Project),
        SkillRoot::new(tree.path().join("root"), Source::Project),
    ];
    let discovery = Discovery::new(roots).search_path([]).cache(&cache);
    discovery.run();
    let inode = || fs::metadata(&cache).unwrap().ino();
    let first = inode();
    for _ in 0..3 {
        assert_eq!(discovery.run().len(), 66);
        assert_eq!(inode(), first, "the file was written again");
    }
}

#[test]
fn a_fifo_in_its_place_does_not_hang() {
    let (tree, cache) = mixed();
    fs::create_dir_all(cache.parent().unwrap()).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(&cache).status().unwrap().success());
    assert_eq!(discovery(&tree).cache(&cache).run().len(), 65);
}

#[test]
fn many_writers_at_once() {
    let tree = Tree::new();
    let cache = tree.path().join("cache/index");
    for root in 0..4 {
        for n in 0..20 {
            tree.skill(&format!("r{root}/s{root}-{n}"));
        }
    }
    tree.age();
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let (tree, cache) = (&tree, &cache);
            scope.spawn(move || {
                for round in 0..20 {
                    let root = (thread + round) % 4;
                    let path = tree.path().join(format!("r{root}"));
                    let discovery = Discovery::new([SkillRoot::new(path, Source::User)]).cache(cache);
                    let catalog = discovery.run();
                    assert_eq!((catalog.len(), catalog.diagnostics().len()), (20, 0));
                    if round % 5 == 4 {
                        let _ = fs::remove_file(cache);
                    }
                }
            });
        }
    });
    let left: Vec<_> = fs::read_dir(cache.parent().unwrap()).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(left.iter().all(|path| *path == cache), "drafts are left: {left:?}");
}

/// One change of a tree.
#[derive(Debug, Clone)]
enum Change {
    Write { at: usize, text: usize },
    RemoveFile(usize),
    RemoveDir(usize),
    Rename(usize, usize),
    Yaml(usize),
    Lower(usize),
    Link(usize, usize),
    Notes(usize),
    Age,
    Run,
}

const PLACES: [&str; 8] = ["a", "b", "c", "g/a", "g/b", "g/h/a", "k/a", "k"];

fn texts(name: &str) -> [String; 6] {
    [
        skill(name, "One."),
        skill(name, "Two."),
        skill(name, "One.") + "longer body\n",
        "broken".to_owned(),
        format!("---\nname: {name}\ndescription: Use: it\n---\n"),
        skill("shared", "One."),
    ]
}

fn change() -> impl Strategy<Value = Change> {
    let place = 0..PLACES.len();
    prop_oneof![
        4 => (place.clone(), 0..6_usize).prop_map(|(at, text)| Change::Write { at, text }),
        1 => place.clone().prop_map(Change::RemoveFile),
        1 => place.clone().prop_map(Change::RemoveDir),
        1 => (place.clone(), place.clone()).prop_map(|(a, b)| Change::Rename(a, b)),
        1 => place.clone().prop_map(Change::Yaml),
        1 => place.clone().prop_map(Change::Lower),
        1 => (place.clone(), place.clone()).prop_map(|(a, b)| Change::Link(a, b)),
        1 => place.prop_map(Change::Notes),
        2 => Just(Change::Age),
        4 => Just(Change::Run),
    ]
}

impl Change {
    /// Makes the change, as far as the tree allows.
    fn apply(&self, tree: &Tree) {
        let dir = |at: usize| tree.path().join("root").join(PLACES[at]);
        match self {
            Change::Write { at, text } => {
                if fs::create_dir_all(dir(*at)).is_ok() {
                    let name = PLACES[*at].replace('/', "-");
                    let _ = fs::write(dir(*at).join("SKILL.md"), &texts(&name)[*text]);
                }
            }
            Change::RemoveFile(at) => drop(fs::remove_file(dir(*at).join("SKILL.md"))),
            Change::RemoveDir(at) => {
                let _ = fs::remove_file(dir(*at));
                let _ = fs::remove_dir_all(dir(*at));
            }
            Change::Rename(a, b) => drop(fs::rename(dir(*a), dir(*b))),
            Change::Yaml(at) => {
                drop(fs::write(dir(*at).join("SKILL.yaml"), format!("name: y{at}\ndescription: d\nversion: 1\n")));
            }
            Change::Lower(at) => drop(fs::rename(dir(*at).join("SKILL.md"), dir(*at).join("skill.md"))),
            Change::Link(a, b) => drop(std::os::unix::fs::symlink(dir(*a), dir(*b))),
            Change::Notes(at) => drop(fs::write(dir(*at).join("notes.md"), "x")),
            Change::Age => tree.age(),
            Change::Run => {}
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 120, ..ProptestConfig::default() })]

    #[test]
    fn whatever_happens_the_cache_agrees_with_no_cache(changes in prop::collection::vec(change(), 1..40)) {
        let tree = Tree::new();
        fs::create_dir(tree.path().join("root")).unwrap();
        let cache = tree.path().join("cache");
        for change in &changes {
            change.apply(&tree);
            if matches!(change, Change::Run) {
                let cold = picture(&discovery(&tree).run());
                let cached = picture(&discovery(&tree).cache(&cache).run());
                prop_assert_eq!(cold, cached);
            }
        }
        let cold = picture(&discovery(&tree).run());
        prop_assert_eq!(&cold, &picture(&discovery(&tree).cache(&cache).run()));
        prop_assert_eq!(&cold, &picture(&discovery(&tree).cache(&cache).run()));
    }
}
