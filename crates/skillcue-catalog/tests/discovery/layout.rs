//! The layout of roots: where skills may be, and which files describe them.

use skillcue_catalog::{BodyAt, Discovery, SkillFile, SkillRoot, Source};

use crate::{Tree, codes, names, skill};

#[test]
fn five_levels_deep_and_no_deeper() {
    let tree = Tree::new();
    tree.skill("one");
    tree.skill("1/2/3/4/five");
    tree.skill("1/2/3/4/5/six");
    assert_eq!(names(&tree.discover()), ["five", "one"]);
}

#[test]
fn a_skill_is_not_searched_for_further_ones_unless_asked() {
    let tree = Tree::new();
    tree.skill("outer");
    tree.skill("outer/examples/inner");
    assert_eq!(names(&tree.discover()), ["outer"]);
    let nested = Discovery::new([SkillRoot::new(tree.path(), Source::Inline)]).nested(true).run();
    assert_eq!(names(&nested), ["inner", "outer"]);
    // Each is read once, and is in one place.
    assert_eq!(nested.effort().read, 2);
    assert!(nested.all().iter().all(|skill| skill.locations().len() == 1));
}

#[test]
fn directories_that_hold_no_skills_are_skipped() {
    let tree = Tree::new();
    for dir in [".git", "node_modules", "target", "__pycache__", ".venv"] {
        tree.skill(&format!("{dir}/hidden"));
    }
    tree.skill(".github/shown");
    assert_eq!(names(&tree.discover()), ["shown"]);
}

#[test]
fn a_root_may_itself_be_a_skill() {
    let tree = Tree::new();
    tree.skill("pdf");
    let catalog = Discovery::new([SkillRoot::required(tree.path().join("pdf"), Source::Inline)]).run();
    assert_eq!(names(&catalog), ["pdf"]);
    assert_eq!(catalog.get("pdf").unwrap().dir(), tree.path().join("pdf"));
}

#[test]
fn other_spellings_are_read_with_a_remark() {
    let tree = Tree::new();
    tree.write("a/skill.md", skill("a", "d"));
    tree.write("b/Skill.md", skill("b", "d"));
    let catalog = tree.discover();
    assert_eq!(names(&catalog), ["a", "b"]);
    assert_eq!(codes(&catalog), ["file_name_case", "file_name_case"]);
    assert_eq!(catalog.get("a").unwrap().path(), tree.path().join("a/skill.md"));
}

#[test]
fn skill_yaml_and_skill_md_mix() {
    let tree = Tree::new();
    let yaml = |name: &str, more: &str| format!("name: {name}\ndescription: d\nversion: 1.0.0\n{more}");
    tree.skill("plain");
    tree.write(
        "prompted/SKILL.yaml",
        yaml("prompted", "types: [prompt, tool]\nprompt:\n  system_prompt_file: p/main.md\n"),
    );
    tree.write("prompted/p/main.md", "# Prompt\n");
    tree.write("beside/SKILL.yaml", yaml("beside", ""));
    tree.write("beside/SKILL.md", "# Body without front matter\n");
    tree.write("both/SKILL.yaml", yaml("both", ""));
    tree.write("both/SKILL.md", skill("both-md", "loses"));
    tree.write("bare/SKILL.yaml", yaml("bare", ""));
    tree.write("unversioned/SKILL.yaml", "name: unversioned\ndescription: d\n");
    tree.write("astray/SKILL.yaml", yaml("astray", "prompt:\n  system_prompt_file: ../plain/SKILL.md\n"));
    let catalog = tree.discover();
    assert_eq!(names(&catalog), ["astray", "bare", "beside", "both", "plain", "prompted"]);
    assert_eq!(codes(&catalog), ["missing_body", "ignored_body", "missing_field"]);
    let body = |name: &str| catalog.get(name).unwrap().body_file().body;
    assert_eq!(body("prompted"), BodyAt::WholeFile("p/main.md".into()));
    assert_eq!(body("beside"), BodyAt::WholeFile("SKILL.md".into()));
    assert_eq!(body("both"), BodyAt::None);
    assert_eq!(body("bare"), BodyAt::None);
    assert_eq!(body("plain"), BodyAt::AfterFrontMatter("SKILL.md".into()));
    let prompted = catalog.get("prompted").unwrap();
    assert_eq!(prompted.file(), SkillFile::Yaml);
    assert_eq!(prompted.manifest().types().collect::<Vec<_>>(), ["prompt", "tool"]);
    assert_eq!(prompted.body_tokens().0, 3, "⌈9 / 4⌉, of the prompt file");
    assert_eq!(catalog.invalid_named("unversioned").unwrap().diagnostics.len(), 1);
}

#[test]
fn front_matter_may_end_anywhere_in_a_block() {
    // Discovery reads 4 KiB at a time: the closing line must be found wherever the block ends in it.
    for newline in ["\n", "\r\n"] {
        for length in 4040..4110 {
            let tree = Tree::new();
            let head = format!("---{newline}name: a{newline}description: ");
            let text = "x".repeat(length - head.len());
            tree.write("a/SKILL.md", format!("{head}{text}{newline}---{newline}body"));
            let catalog = tree.discover();
            assert_eq!(
                catalog.get("a").map(|skill| skill.manifest().description().len()),
                Some(text.len()),
                "{length}"
            );
            assert_eq!(catalog.get("a").unwrap().body_tokens().0, 1, "{length}");
        }
    }
}

#[test]
fn long_front_matter_is_read_to_its_end() {
    let tree = Tree::new();
    tree.write("a/SKILL.md", format!("---\nname: a\ndescription: d\nlong: {}\n---\n", "x".repeat(600_000)));
    tree.write("b/SKILL.md", format!("---\nname: b\ndescription: d\nlong: {}\n", "x".repeat(600_000)));
    let catalog = tree.discover();
    assert_eq!(names(&catalog), ["a"]);
    assert_eq!(codes(&catalog), ["unclosed_front_matter"]);
}

/// Whether a skill hides is known without its manifest, in most cases, and as the manifest says.
#[test]
fn a_hidden_skill_is_known_in_every_spelling() {
    let tree = tempfile::tempdir().unwrap();
    let keys = [
        "disable-model-invocation: true",
        "disable_model_invocation: true",
        "\"disable-model-invocation\": true",
        "'disable_model_invocation': yes",
        "\"disable\\x2dmodel\\x2dinvocation\": true",
        "disable-model-invocation: false",
        "brief_description: Does it\n# disable model invocation: true",
        "metadata:\n  types: [a]\n  disable-model-invocation: true",
    ];
    for (at, key) in keys.iter().enumerate() {
        let dir = tree.path().join(format!("skill-{at}"));
        std::fs::create_dir(&dir).unwrap();
        std::fs::write(
            dir.join("SKILL.md"),
            format!("---\nname: skill-{at}\ndescription: Does it.\n{key}\n---\nText\n"),
        )
        .unwrap();
    }
    let catalog = Discovery::new([SkillRoot::new(tree.path(), Source::User)]).run();
    for skill in catalog.skills() {
        assert_eq!(skill.hides_from_models(), skill.make_manifest().disable_model_invocation(), "{}", skill.name());
    }
    assert!(
        catalog.get("skill-0").unwrap().hides_from_models() && !catalog.get("skill-6").unwrap().hides_from_models()
    );
}
