//! Several roots: which skills are effective, which are shadowed, which are off.

use std::collections::HashSet;
use std::path::PathBuf;

use skillcue_catalog::{Checkout, Discovery, Enablement, Filter, SkillRoot, Source, plugin_roots, plugins_below};
use skillcue_format::pattern;

use crate::{Tree, codes, names, skill};

fn root(tree: &Tree, dir: &str, source: Source) -> SkillRoot {
    SkillRoot::new(tree.path().join(dir), source)
}

/// One skill `pdf` in every source, each with a description of its own.
fn everywhere(tree: &Tree) -> Vec<SkillRoot> {
    let mut roots = Vec::new();
    // Lowest first: the order in which roots are given must not matter.
    for source in Source::ALL.into_iter().rev() {
        tree.write(&format!("{source}/pdf/SKILL.md"), skill("pdf", &format!("Of {source}.")));
        let mut root = root(tree, source.as_str(), source);
        if source == Source::Plugin {
            root.plugin = Some("office".into());
        }
        roots.push(root);
    }
    roots
}

#[test]
fn the_higher_source_wins_and_the_others_stay_reachable() {
    let tree = Tree::new();
    let mut roots = everywhere(&tree);
    for expected in Source::ALL {
        let catalog = Discovery::new(roots.clone()).run();
        assert_eq!(names(&catalog), ["pdf"]);
        assert_eq!(catalog.get("pdf").unwrap().source(), expected);
        assert_eq!(codes(&catalog), vec!["shadowed"; roots.len() - 1]);
        for root in &roots {
            let address = match root.source {
                Source::Plugin => "office:pdf".to_owned(),
                source => format!("pdf@{source}"),
            };
            assert_eq!(catalog.get(&address).unwrap().source(), root.source, "{address}");
        }
        roots.retain(|root| root.source != expected);
    }
}

#[test]
fn two_of_one_source_are_numbered() {
    let tree = Tree::new();
    tree.write("one/pdf/SKILL.md", skill("pdf", "First."));
    tree.write("two/pdf/SKILL.md", skill("pdf", "The second."));
    tree.write("two/pdf2/SKILL.md", skill("pdf", "The third one."));
    let catalog = Discovery::new([root(&tree, "one", Source::Project), root(&tree, "two", Source::Project)]).run();
    let of = |address: &str| catalog.get(address).map(|skill| skill.manifest().description().to_owned());
    assert_eq!(of("pdf").as_deref(), Some("First."));
    assert_eq!(of("pdf@project").as_deref(), Some("First."));
    assert_eq!(of("pdf@project#2").as_deref(), Some("The second."));
    assert_eq!(of("pdf@project#3").as_deref(), Some("The third one."));
    assert_eq!(of("pdf@project#4"), None);
    assert_eq!(of("pdf@project#0"), None);
    assert_eq!(of("pdf@nowhere"), None);
    let helps: Vec<_> = catalog.diagnostics().iter().map(|found| found.help.clone().unwrap()).collect();
    assert!(helps[0].contains("pdf@project#2") && helps[1].contains("pdf@project#3"), "{helps:?}");
}

#[test]
fn identical_copies_collapse_into_one_with_two_locations() {
    let tree = Tree::new();
    tree.write("project/pdf/SKILL.md", skill("pdf", "Same."));
    tree.write("user/pdf/SKILL.md", skill("pdf", "Same."));
    tree.write("bundled/pdf/SKILL.md", skill("pdf", "Other."));
    let catalog = Discovery::new([
        root(&tree, "project", Source::Project),
        root(&tree, "user", Source::User),
        root(&tree, "bundled", Source::Bundled),
    ])
    .run();
    let locations = catalog.get("pdf").unwrap().locations();
    let paths: Vec<_> = locations.iter().map(|location| location.path.strip_prefix(tree.path()).unwrap()).collect();
    assert_eq!(paths, [PathBuf::from("project/pdf/SKILL.md"), PathBuf::from("user/pdf/SKILL.md")]);
    assert_eq!(codes(&catalog), ["shadowed"], "silently, but for the one that differs");
}

#[test]
fn a_disabled_winner_lets_no_lower_one_surface() {
    let tree = Tree::new();
    let roots = everywhere(&tree);
    let enablement = Enablement { disable: HashSet::from(["pdf@inline".to_owned()]), ..Enablement::default() };
    let catalog = Discovery::new(roots).enablement(enablement).run();
    let skill = catalog.get("pdf").unwrap();
    assert_eq!((skill.source(), skill.enabled()), (Source::Inline, false));
    assert!(catalog.get("pdf@user").unwrap().enabled());
    let on = Filter { enabled: Some(true), ..Filter::default() };
    assert_eq!(catalog.select(&on).count(), 0);
}

#[test]
fn a_plain_name_means_the_winner() {
    let tree = Tree::new();
    let states = |enable: &[&str], disable: &[&str]| {
        let set = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let enablement = Enablement { enable: set(enable), disable: set(disable), foreign: None };
        let catalog = Discovery::new(everywhere(&tree)).enablement(enablement).run();
        ["pdf", "pdf@inline", "pdf@user"].map(|name| catalog.get(name).unwrap().enabled())
    };
    assert_eq!(states(&[], &[]), [true, true, true]);
    assert_eq!(states(&[], &["pdf"]), [false, false, true]);
    assert_eq!(states(&[], &["pdf@user"]), [true, true, false]);
    assert_eq!(states(&["pdf"], &["pdf@user", "pdf"]), [true, true, false]);
    assert_eq!(states(&["pdf@user"], &["pdf"]), [false, false, true]);
}

#[test]
fn explicit_words_beat_defaults_and_enable_beats_disable() {
    let tree = Tree::new();
    for name in ["off", "on", "quiet"] {
        tree.write(
            &format!("{name}/SKILL.md"),
            format!("---\nname: {name}\ndescription: d\ndefault_enabled: false\n---\n"),
        );
    }
    let set = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    let run = |source, enable: &[&str], disable: &[&str]| {
        let enablement = Enablement { enable: set(enable), disable: set(disable), foreign: None };
        let catalog = Discovery::new([SkillRoot::new(tree.path(), source)]).enablement(enablement).run();
        catalog.skills().filter(|skill| skill.enabled()).map(|skill| skill.name().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(run(Source::Bundled, &["on"], &["on", "off"]), ["on"]);
    assert_eq!(run(Source::Project, &[], &["off"]), ["on", "quiet"], "the user who put it there opted in");
}

#[test]
fn requirements_are_checked_on_the_given_path() {
    let tree = Tree::new();
    tree.write("a/SKILL.md", "---\nname: a\ndescription: d\nrequires: [frob, sh-like]\n---\n");
    tree.write("b/SKILL.md", "---\nname: b\ndescription: d\nmetadata:\n  requires: [sh-like]\n---\n");
    tree.write("c/SKILL.md", "---\nname: c\ndescription: d\nrequires: [/bin/sh, x, sh-like, frob, x]\n---\n");
    let bin = tree.write("bin/sh-like", "#!/bin/sh\n");
    std::fs::set_permissions(&bin, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    tree.write("bin/frob", "not executable");
    let discovery = Discovery::new([SkillRoot::new(tree.path(), Source::Inline)]);
    let catalog = discovery.clone().search_path([tree.path().join("bin")]).run();
    assert_eq!(names(&catalog), ["b"], "a program is a name: a path is never looked up");
    assert_eq!(codes(&catalog), ["requires_missing", "requires_missing"]);
    let messages: Vec<_> = catalog.diagnostics().iter().map(|it| it.message.as_ref()).collect();
    assert_eq!(
        messages,
        [
            "`a` requires the program `frob`, which is not on the PATH",
            "`c` requires the programs `/bin/sh`, `x` and `frob`, which are not on the PATH",
        ]
    );
    assert!(!catalog.get("a").unwrap().available());
    assert_eq!(catalog.close_names("aa"), Vec::<&str>::new(), "what is unavailable is not suggested");
    assert_eq!(names(&discovery.run()), ["a", "b", "c"], "without a path every requirement counts as met");
}

#[test]
fn filters() {
    let tree = Tree::new();
    tree.write("git-commit/SKILL.md", skill("git-commit", "Writes commit messages."));
    tree.write("pdf/SKILL.md", skill("pdf", "Reads PDF files."));
    let catalog = tree.discover();
    let select = |filter: Filter| catalog.select(&filter).map(|skill| skill.name().to_owned()).collect::<Vec<_>>();
    assert_eq!(select(Filter { name: Some(pattern::compile("^GIT-").unwrap()), ..Filter::default() }), ["git-commit"]);
    assert_eq!(select(Filter { keyword: Some("pdf".into()), ..Filter::default() }), ["pdf"]);
    assert_eq!(select(Filter { source: Some(Source::User), ..Filter::default() }), Vec::<String>::new());
    assert_eq!(select(Filter { source: Some(Source::Inline), ..Filter::default() }), ["git-commit", "pdf"]);
}

#[test]
fn index_entries_own_their_data() {
    let tree = Tree::new();
    tree.write("a/SKILL.md", "---\nname: a\ndescription: d\ntriggers: [x]\n---\n");
    let catalog = tree.discover();
    let mut entries = catalog.index_entries();
    assert_eq!((&*entries[0].name, &*entries[0].triggers.keywords[0]), ("a", "x"));
    entries[0].types.clear();
    entries[0].description.clear();
    drop(entries);
    assert_eq!(catalog.index_entries()[0].types, ["prompt"]);
    assert_eq!(catalog.index_entries()[0].description, "d");
    assert_eq!(Tree::new().discover().index_entries(), []);
}

#[test]
fn plugins_bring_their_skills() {
    let tree = Tree::new();
    tree.write(
        "cache/market/office/1.0/.claude-plugin/plugin.json",
        r#"{"name": "office", "skills": ["./more", "../../out"]}"#,
    );
    tree.skill("cache/market/office/1.0/skills/pdf");
    tree.skill("cache/market/office/1.0/more/csv");
    tree.skill("cache/market/out/secret");
    tree.write("cache/market/broken/.claude-plugin/plugin.json", "{");
    let plugins = plugins_below(tree.path());
    assert_eq!(plugins.len(), 2);
    let (mut roots, mut diagnostics) = (Vec::new(), Vec::new());
    for plugin in plugins {
        let (more, found) = plugin_roots(&plugin);
        roots.extend(more);
        diagnostics.extend(found);
    }
    assert_eq!(
        diagnostics.iter().map(|found| found.code.as_str()).collect::<Vec<_>>(),
        ["invalid_plugin"; 2],
        "one that cannot be read, one that names a directory that is not its own"
    );
    let catalog = Discovery::new(roots).run();
    assert_eq!(names(&catalog), ["csv", "pdf"]);
    assert_eq!(catalog.get("office:pdf").unwrap().plugin(), Some("office"));
}

#[test]
fn two_plugins_of_one_name_are_numbered_too() {
    let tree = Tree::new();
    tree.write("1/pdf/SKILL.md", skill("pdf", "First."));
    tree.write("2/pdf/SKILL.md", skill("pdf", "The second."));
    let plugin = |dir: &str| {
        let mut root = root(&tree, dir, Source::Plugin);
        root.plugin = Some("office".into());
        root
    };
    let off = Enablement { disable: HashSet::from(["office:pdf#2".to_owned()]), ..Enablement::default() };
    let catalog = Discovery::new([plugin("1"), plugin("2")]).enablement(off).run();
    let second = catalog.get("office:pdf#2").unwrap();
    assert_eq!((second.manifest().description(), second.address()), ("The second.", "office:pdf#2".to_owned()));
    assert!(!second.enabled() && catalog.get("pdf").unwrap().enabled());
    assert!(catalog.diagnostics()[0].help.as_ref().unwrap().contains("office:pdf#2"));
}

#[test]
fn an_invalid_skill_is_found_by_the_name_in_its_front_matter() {
    let tree = Tree::new();
    tree.write("dir/SKILL.md", "---\nname: Bar\n---\n");
    let catalog = tree.discover();
    assert_eq!(catalog.invalid_named("bar").unwrap().diagnostics[0].code.as_str(), "missing_field");
    assert!(catalog.invalid_named("dir").is_some());
}

#[test]
fn a_linked_skills_directory_reports_everything_once() {
    let tree = Tree::new();
    tree.write(".agents/skills/bad/SKILL.md", "nothing");
    tree.write(".agents/skills/mended/SKILL.md", "---\nname: mended\ndescription: a: b\n---\n");
    tree.link("../.agents/skills", ".claude/skills");
    let catalog = Discovery::new(skillcue_catalog::project_roots(tree.path(), tree.path())).run();
    assert_eq!(names(&catalog), ["mended"]);
    assert_eq!(codes(&catalog), ["no_front_matter", "yaml_repaired"]);
    assert_eq!(catalog.invalid().len(), 1);
}

#[test]
fn a_part_of_a_project_has_its_own_skills() {
    let tree = Tree::new();
    tree.write(".agents/skills/pdf/SKILL.md", skill("pdf", "Of all."));
    tree.write("apps/web/.agents/skills/pdf/SKILL.md", skill("pdf", "Of the website."));
    tree.write("apps/web/.claude/skills/deploy/SKILL.md", skill("deploy", "Deploys the website."));
    let file = PathBuf::from("apps/web/src/main.ts");
    let mut roots = skillcue_catalog::project_roots(tree.path(), tree.path());
    roots.extend(skillcue_catalog::nested_roots(tree.path(), [file.as_path()]));
    let catalog = Discovery::new(roots).run();
    assert_eq!(names(&catalog), ["deploy", "pdf"]);
    assert_eq!(catalog.get("deploy").unwrap().plugin(), Some("apps/web"));
    let taken = catalog.get("apps/web:pdf").unwrap();
    assert!(taken.shadowed() && !catalog.get("pdf").unwrap().shadowed(), "the project's own comes first");
    assert_eq!(catalog.all().iter().filter(|skill| skill.name() == "pdf").count(), 2);
}

#[test]
fn close_names() {
    let tree = Tree::new();
    for name in ["pdf", "pdf-tools", "csv", "hello-extended"] {
        tree.skill(name);
    }
    tree.write("secret/SKILL.md", "---\nname: secret\ndescription: d\ndisable-model-invocation: true\n---\n");
    let catalog = tree.discover();
    assert_eq!(catalog.close_names("pfd"), ["pdf"]);
    assert_eq!(catalog.close_names("helo-extended"), ["hello-extended"]);
    assert_eq!(catalog.close_names("secre"), Vec::<&str>::new(), "hidden skills are not given away");
    assert_eq!(catalog.close_names("zzz"), Vec::<&str>::new());
}

/// Returns whether each skill came with the checkout `repo`, first read from the files and then from the index cache.
fn foreign(tree: &Tree, roots: &[SkillRoot], checkout: &Checkout) -> Vec<(String, bool)> {
    let cache = tree.path().join("index");
    let look = || {
        let catalog = Discovery::new(roots.to_vec()).checkout(checkout.clone()).cache(&cache).run();
        let all = catalog.all().iter();
        all.map(|skill| (skill.address(), skill.is_foreign())).collect::<Vec<_>>()
    };
    let first = look();
    assert_eq!(first, look(), "from the index cache");
    first
}

#[test]
fn skills_inside_the_checkout_are_foreign_whatever_their_source_is_called() {
    let tree = Tree::new();
    for (dir, name) in [("repo/vendor/in", "in"), ("home/out", "out"), ("home/repo2/near", "near")] {
        tree.write(&format!("{dir}/SKILL.md"), skill(name, name));
    }
    let checkout = Checkout::new(tree.path().join("repo"));
    for source in [Source::Project, Source::User, Source::Plugin, Source::Bundled] {
        let roots = [root(&tree, "repo/vendor", source), root(&tree, "home", Source::User)];
        let all = foreign(&tree, &roots, &checkout);
        let expected =
            [(format!("in@{source}"), true), ("near@user".to_owned(), false), ("out@user".to_owned(), false)];
        assert_eq!(all, expected);
    }
    // One root around the checkout: only the skills inside are its own.
    let around = [root(&tree, "", Source::User)];
    let expected = [("in@user".to_owned(), true), ("near@user".to_owned(), false), ("out@user".to_owned(), false)];
    assert_eq!(foreign(&tree, &around, &checkout), expected);
    // A person has named it for this run.
    let typed = [SkillRoot::required(tree.path().join("repo/vendor"), Source::Inline)];
    assert_eq!(foreign(&tree, &typed, &checkout), [("in@inline".to_owned(), false)]);
    // A project's file brings it in from elsewhere.
    let brought = [root(&tree, "home", Source::Plugin).from_checkout()];
    assert!(foreign(&tree, &brought, &checkout).iter().all(|(_, is_foreign)| *is_foreign));
}

#[test]
fn links_into_the_checkout_bring_foreign_skills() {
    let tree = Tree::new();
    tree.write("repo/vendor/dir/SKILL.md", skill("dir", "A directory that a link leads to."));
    tree.write("repo/vendor/file/SKILL.md", skill("file", "A file that a link leads to."));
    tree.write("elsewhere/own/SKILL.md", skill("own", "Linked, and not of the checkout."));
    tree.write("user/file/note.md", "");
    let link = |at: &str, target: &str| {
        std::os::unix::fs::symlink(tree.path().join(target), tree.path().join(at)).unwrap();
    };
    link("user/dir", "repo/vendor/dir");
    link("user/file/SKILL.md", "repo/vendor/file/SKILL.md");
    link("user/own", "elsewhere/own");
    link("linked-root", "repo/vendor");
    link("linked-repo", "repo");
    for repo in ["repo", "linked-repo"] {
        let checkout = Checkout::new(tree.path().join(repo));
        let all = foreign(&tree, &[root(&tree, "user", Source::User)], &checkout);
        assert_eq!(all.iter().map(|(_, is_foreign)| *is_foreign).collect::<Vec<_>>(), [true, true, false], "{all:?}");
        let all = foreign(&tree, &[root(&tree, "linked-root", Source::User)], &checkout);
        assert!(all.len() == 2 && all.iter().all(|(_, is_foreign)| *is_foreign), "{all:?}");
    }
}

#[test]
fn the_users_own_directories_are_no_checkout() {
    let tree = Tree::new();
    tree.write("home/.agents/skills/mine/SKILL.md", skill("mine", "Mine."));
    tree.write("home/.claude/plugins/p/skills/bought/SKILL.md", skill("bought", "Bought."));
    tree.write("home/shop/vendor/theirs/SKILL.md", skill("theirs", "Theirs."));
    let of = |dir: &str, source| root(&tree, dir, source);
    let roots = [
        of("home/.agents/skills", Source::User),
        of("home/.claude/plugins/p/skills", Source::Plugin),
        of("home/shop/vendor", Source::User),
    ];
    for (at, theirs) in [("home", false), ("", false), ("home/.agents/skills", false), ("home/shop", true)] {
        let checkout = Checkout::new(tree.path().join(at)).of_user(tree.path().join("home"));
        let all = foreign(&tree, &roots, &checkout);
        let found: Vec<&str> = all.iter().filter(|(_, is_foreign)| *is_foreign).map(|(it, _)| it.as_str()).collect();
        assert_eq!(found, if theirs { vec!["theirs@user"] } else { Vec::new() }, "{at:?}");
    }
}

/// A user's skill, and one of a checkout with the same front matter and size.
fn lookalikes(theirs: &str) -> (Tree, [SkillRoot; 2]) {
    let tree = Tree::new();
    tree.write("home/pdf/SKILL.md", format!("{}Mine.\n", skill("pdf", "Reads PDF.")));
    tree.write("repo/pdf/SKILL.md", format!("{}{theirs}\n", skill("pdf", "Reads PDF.")));
    let roots = [root(&tree, "home", Source::User), root(&tree, "repo", Source::Project)];
    (tree, roots)
}

#[test]
fn a_checkout_does_not_replace_a_body_silently() {
    // A copy is one skill with two locations.
    let (_tree, roots) = lookalikes("Mine.");
    let catalog = Discovery::new(roots).run();
    assert_eq!((catalog.all().len(), codes(&catalog)), (1, Vec::new()));
    assert!(catalog.get("pdf").unwrap().is_foreign(), "what counts is the checkout's");
    // Another body of the same size is another skill, also from the index cache.
    let (tree, roots) = lookalikes("Evil.");
    for _ in 0..2 {
        let catalog = Discovery::new(roots.clone()).cache(tree.path().join("index")).run();
        assert_eq!(codes(&catalog), ["shadowed"]);
        assert!(catalog.get("pdf").unwrap().is_foreign());
        assert_eq!(catalog.get("pdf@user").unwrap().source(), Source::User);
    }
    // Among the user's own, level 1 decides, and nothing is read for it.
    let own = roots.map(|root| SkillRoot::new(root.path, Source::User));
    assert_eq!(codes(&Discovery::new(own).run()), Vec::<&str>::new());
}

/// A skill with other scripts is not a copy: `run` would run those.
#[test]
fn a_checkout_does_not_replace_other_files_silently() {
    let (tree, roots) = lookalikes("Mine.");
    let shadowed = || codes(&Discovery::new(roots.clone()).cache(tree.path().join("index")).run());
    tree.write("home/pdf/scripts/run.sh", "echo mine\n");
    assert_eq!(shadowed(), ["shadowed"], "a file is missing");
    tree.write("repo/pdf/scripts/run.sh", "echo mine\n");
    assert_eq!(shadowed(), Vec::<&str>::new(), "all are equal");
    tree.write("repo/pdf/scripts/run.sh", "echo evil\n");
    assert_eq!(shadowed(), ["shadowed"], "as large, and another");
    let catalog = Discovery::new(roots.clone()).run();
    assert_eq!(catalog.get("pdf@user").unwrap().source(), Source::User, "the user's own can be reached");
    tree.write("repo/pdf/scripts/run.sh", "echo mine\n");
    tree.write("repo/pdf/scripts/more.sh", "");
    assert_eq!(shadowed(), ["shadowed"], "a file more");
    std::fs::remove_file(tree.path().join("repo/pdf/scripts/more.sh")).unwrap();
    assert_eq!(shadowed(), Vec::<&str>::new());
    // Files that are not listed cannot be compared.
    tree.write("repo/pdf/node_modules/x/index.js", "");
    assert_eq!(shadowed(), ["shadowed"]);
    // Among the user's own, level 1 decides, and nothing is read for it.
    let own = roots.clone().map(|root| SkillRoot::new(root.path, Source::User));
    assert_eq!(codes(&Discovery::new(own).run()), Vec::<&str>::new());
}

#[test]
fn a_checkout_switches_its_own_skills_and_no_others() {
    let tree = Tree::new();
    for (dir, name) in [("home", "mine"), ("home", "off"), ("repo", "theirs"), ("repo", "quiet")] {
        tree.write(&format!("{dir}/{name}/SKILL.md"), skill(name, "Does something."));
    }
    let set = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<HashSet<_>>();
    let foreign = Enablement { enable: set(&["off"]), disable: set(&["mine", "quiet", "nosuch"]), foreign: None };
    let of_user = |foreign| Enablement { enable: set(&[]), disable: set(&["off"]), foreign };
    let roots = [root(&tree, "home", Source::User), root(&tree, "repo", Source::Project)];
    let look = |enablement| {
        let catalog = Discovery::new(roots.clone()).enablement(enablement).run();
        let enabled = catalog.skills().filter(|skill| skill.enabled()).map(|skill| skill.name().to_owned());
        (enabled.collect::<Vec<_>>(), codes(&catalog).len())
    };
    assert_eq!(look(of_user(Some(Box::new(foreign)))), (vec!["mine".to_owned(), "theirs".to_owned()], 2));
    // Without settings of the checkout, all of its own skills are on.
    let all = ["mine", "quiet", "theirs"].map(str::to_owned).to_vec();
    assert_eq!(look(of_user(None)), (all, 0));
}

/// A copy of the user's skill, or another one of that name, is no way to switch the user's off.
#[test]
fn a_namesake_is_no_way_to_switch_the_users_skills() {
    for text in ["Does something.", "Does something else."] {
        let tree = Tree::new();
        tree.write("home/mine/SKILL.md", skill("mine", "Does something."));
        tree.write("repo/mine/SKILL.md", skill("mine", text));
        tree.write("repo/theirs/SKILL.md", skill("theirs", text));
        let set = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<HashSet<_>>();
        for word in ["mine", "mine@project"] {
            let theirs = Enablement { enable: set(&[]), disable: set(&[word, "theirs"]), foreign: None };
            let enablement = Enablement { foreign: Some(Box::new(theirs)), ..Enablement::default() };
            let roots = [root(&tree, "repo", Source::Project), root(&tree, "home", Source::User)];
            let catalog = Discovery::new(roots).enablement(enablement).run();
            assert!(catalog.get("mine").unwrap().enabled(), "{text} {word}");
            assert!(!catalog.get("theirs").unwrap().enabled(), "its own it may switch");
            assert!(codes(&catalog).contains(&"untrusted_switch"), "{:?}", catalog.diagnostics());
        }
    }
}
