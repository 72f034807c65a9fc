//! Determinism: equal trees give equal bytes, and an id that changes with metadata and with nothing else.

use std::time::{Duration, SystemTime};

use skillcue_catalog::{Discovery, Enablement, SkillRoot, Source};

use crate::{Tree, picture, skill};

#[test]
fn the_order_in_which_files_were_made_does_not_matter() {
    let mut pictures = Vec::new();
    let tree = Tree::new();
    for round in 0..3 {
        let root = tree.path().join("root");
        let _ = std::fs::remove_dir_all(&root);
        let mut numbers: Vec<usize> = (0..300).collect();
        // Three different orders, so that the file system lists them differently.
        numbers.sort_by_key(|n| (n * [1, 7_919, 104_729][round]) % 1_009);
        for n in numbers {
            let (dir, text) = match n % 10 {
                0 => (format!("root/group-{}/s{n}", n % 3), skill("same-name", &format!("Number {n}."))),
                1 => (format!("root/s{n}"), "no front matter".to_owned()),
                2 => (format!("root/group-{}/s{n}", n % 3), skill("copied", "Copied.")),
                3 => (format!("root/s{n}"), format!("---\nname: S{n}\ndescription: a: b\n---\n")),
                _ => (format!("root/s{n}"), skill(&format!("s{n}"), "Fine.")),
            };
            tree.write(&format!("{dir}/SKILL.md"), text);
        }
        pictures.push(picture(&Discovery::new([SkillRoot::new(&root, Source::Project)]).run()));
    }
    assert!(pictures[0].contains("shadowed true") && pictures[0].contains("yaml_repaired"));
    assert_eq!(pictures[0], pictures[1]);
    assert_eq!(pictures[0], pictures[2]);
}

#[test]
fn the_id_changes_with_metadata_and_nothing_else() {
    let tree = Tree::new();
    tree.write("project/pdf/SKILL.md", skill("pdf", "Same."));
    tree.write("user/pdf/SKILL.md", skill("pdf", "Same."));
    tree.write("user/csv/SKILL.md", skill("csv", "Reads CSV."));
    let discovery = Discovery::new([
        SkillRoot::new(tree.path().join("project"), Source::Project),
        SkillRoot::new(tree.path().join("user"), Source::User),
    ]);
    let id = || discovery.run().generation();
    let first = id();
    assert_eq!(id(), first, "nothing changed");

    tree.write("user/csv/SKILL.md", skill("csv", "Reads CSV.") + "More body.\n");
    assert_eq!(id(), first, "a body is not metadata");
    tree.write("user/pdf/SKILL.md", skill("pdf", "Same.") + "No longer a copy.\n");
    assert_eq!(discovery.run().get("pdf").unwrap().locations().len(), 1);
    assert_eq!(id(), first, "nor is whether two copies are collapsed");
    let file = std::fs::File::open(tree.path().join("user/csv/SKILL.md")).unwrap();
    file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(1)).unwrap();
    assert_eq!(id(), first, "nor are file times");
    tree.write("user/csv/SKILL.md", "---\n# a comment\nname:   csv\ndescription: Reads CSV.\n---\n");
    assert_eq!(id(), first, "nor are comments and blanks");
    let off = Enablement { disable: ["csv".to_owned()].into(), ..Enablement::default() };
    assert_eq!(discovery.clone().enablement(off).run().generation(), first, "nor is configuration");
    tree.write("user/broken/SKILL.md", "broken");
    assert_eq!(id(), first, "nor is a file that is no skill");

    tree.write("user/csv/SKILL.md", skill("csv", "Reads TSV."));
    let second = id();
    assert_ne!(second, first, "a description is");
    tree.write("user/csv/SKILL.md", "---\nname: csv\ndescription: Reads TSV.\nx-own: 1\n---\n");
    let third = id();
    assert_ne!(third, second, "so is an unknown field");
    tree.skill("user/new");
    let fourth = id();
    assert_ne!(fourth, third, "so is a new skill");
    std::fs::remove_dir_all(tree.path().join("user/new")).unwrap();
    assert_eq!(id(), third, "and without it all is as before");
}
