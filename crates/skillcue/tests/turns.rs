//! From a message to what the model is shown, through the façade, on skills on disk.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::collections::HashSet;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use skillcue::bundled::unpack_bundled;
use skillcue::tools::Call;
use skillcue::{Counter, DiscloseConfig, Mode, Policy, Request, Selection, Session, Skillcue, Source, Tier, Tokens};

fn write(dir: &Path, name: &str, fields: &str, body: &str) {
    fs::create_dir_all(dir.join(name)).unwrap();
    let text = format!("---\nname: {name}\ndescription: What {name} does.\n{fields}---\n{body}");
    fs::write(dir.join(name).join("SKILL.md"), text).unwrap();
}

/// Skills `skill-0` and so on, with triggers of their own and bodies of some size.
fn tree(count: usize) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    for number in 0..count {
        let fields = format!("triggers:\n  keywords: [word{number}, shared]\n  verbs: [frob{number}]\n");
        let body = format!("# Skill {number}\n\n{}\n", "Do this, and then do that. ".repeat(40));
        write(dir.path(), &format!("skill-{number}"), &fields, &body);
    }
    dir
}

fn bundled() -> (tempfile::TempDir, Skillcue) {
    let dir = tempfile::tempdir().unwrap();
    let root = unpack_bundled(dir.path()).unwrap();
    let skills = Skillcue::builder().root(skillcue::SkillRoot::new(root, Source::Bundled)).build().unwrap();
    (dir, skills)
}

#[test]
fn the_walk_through_of_the_seed() {
    let (_dir, skills) = bundled();
    let shown = skills.disclose("What is 2+2?");
    assert_eq!((shown.tier, &*shown.turn), (Tier::Breadcrumb, "[2 skills available]"));
    assert!(shown.tokens.turn <= Tokens(10));

    let shown = skills.disclose("Say bonjour to Alice");
    assert_eq!(shown.tier, Tier::Documentation);
    assert!(shown.turn.starts_with("## Relevant Skill Documentation\n\n### hello-extended\n"), "{}", shown.turn);
    assert!(!shown.turn.contains("skill-author"));

    let shown = skills.disclose("What can you do?");
    assert_eq!(shown.tier, Tier::Registry);
    assert!(shown.turn.contains("- **hello-extended**: "), "{}", shown.turn);
}

#[test]
fn a_request_that_needs_no_skill_costs_next_to_nothing() {
    for (count, least) in [(10, 0.95), (100, 0.99)] {
        let dir = tree(count);
        for counter in [Counter::Bytes4, Counter::Segment] {
            let config = DiscloseConfig { counter, ..DiscloseConfig::default() };
            let skills = Skillcue::builder().skills_dir(dir.path()).disclosure(config).build().unwrap();
            let shown = skills.disclose("What is 2+2?");
            #[expect(clippy::cast_precision_loss, reason = "a share")]
            let saved = 1.0 - shown.tokens.turn.0 as f64 / shown.tokens.eager.0 as f64;
            assert!(saved >= least, "{count} skills, {counter}: {saved}");
            assert!(shown.tokens.turn <= Tokens(10));
        }
    }
}

#[test]
fn hostile_messages_end() {
    let dir = tree(20);
    write(dir.path(), "always", "triggers:\n  patterns: ['\\d+', '(a*)*b', '.*.*.*x']\n", "body\n");
    let skills = Skillcue::builder().skills_dir(dir.path()).build().unwrap();
    let messages = [
        "word3 ".repeat(100_000),
        "shared ".repeat(100_000),
        "a".repeat(1 << 20),
        "\u{301}".repeat(1 << 19),
        "\u{0}\u{feff}\u{202e}".repeat(1 << 17),
        "表格".repeat(1 << 17),
        "$".repeat(1 << 20),
        "$skill-3/".repeat(100_000),
        "e\u{301}".repeat(1 << 18),
        "👨‍👩‍👧‍👦".repeat(1 << 15),
        ". ".repeat(1 << 19),
        "İıſKß".repeat(1 << 17),
    ];
    let mut spans = 0;
    for message in &messages {
        for mode in [Mode::Keyword, Mode::Hybrid] {
            let selection = skills.select(&Request::new(message).mode(mode));
            for reason in selection.hits.iter().flat_map(|hit| &hit.reasons) {
                if let Some(span) = &reason.span {
                    assert_eq!(message.get(span.clone()), Some(reason.text.as_str()));
                    spans += 1;
                }
            }
        }
        skills.disclose(message);
    }
    assert!(spans > 0, "nothing was found at all");
    let many = skills.select(&Request::new(&messages[0]).mode(Mode::Keyword));
    let once = skills.select(&Request::new("word3").mode(Mode::Keyword));
    assert_eq!(
        many.hits[0].score.to_bits(),
        once.hits[0].score.to_bits(),
        "a trigger counts once, however often it stands there"
    );
}

#[test]
fn the_stable_part_depends_on_nothing_but_the_catalog() {
    let dir = tree(30);
    let build = || {
        let config = DiscloseConfig { policy: Policy::Hint, ..DiscloseConfig::default() };
        Skillcue::builder().skills_dir(dir.path()).disclosure(config).build().unwrap()
    };
    let skills = build();
    let first = skills.disclose("hello").stable;
    assert!(first.contains("<id>skill-7</id>"));
    let mut session = Session::default();
    for number in 0..1_000 {
        let message = format!("message {number} about word{} and shared things", number % 40);
        assert_eq!(skills.disclose(Request::new(&message).session(&mut session)).stable, first);
    }
    assert_eq!(build().disclose("after a restart").stable, first);
    // A body is edited: the metadata is unchanged.
    let file = dir.path().join("skill-7/SKILL.md");
    fs::write(&file, fs::read_to_string(&file).unwrap() + "\nAnd one thing more.\n").unwrap();
    skills.refresh();
    assert_eq!(skills.disclose("after an edit").stable, first);
    assert_eq!(build().disclose("after both").stable, first);
}

#[test]
fn a_conversation_is_shown_a_body_once_and_again_when_it_changed() {
    let dir = tree(3);
    let skills = Skillcue::builder().skills_dir(dir.path()).build().unwrap();
    let mut session = Session::default();
    let shows =
        |session: &mut Session| skills.disclose(Request::new("word1 please").session(session)).turn.contains("Do this");
    assert!(shows(&mut session));
    assert!(!shows(&mut session), "it is there already");
    let mut session = Session::from_json(&session.to_json()).unwrap();
    assert!(!shows(&mut session), "also for a session that was stored");
    let file = dir.path().join("skill-1/SKILL.md");
    fs::write(&file, fs::read_to_string(&file).unwrap() + "\nNew.\n").unwrap();
    assert!(shows(&mut session), "it changed");
    session.compacted();
    let again = skills.rehydrate(&mut session, skillcue::Budget::default());
    assert!(again.text.contains("New."));
    assert!(!shows(&mut session), "it was shown again");
}

#[test]
fn a_skill_loaded_with_arguments_is_shown_again_with_them() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), "again", "", "Do $ARGUMENTS then again $ARGUMENTS;\n");
    let skills = Skillcue::builder().skills_dir(dir.path()).build().unwrap();
    let arguments = serde_json::json!({"skill_id": "again", "arguments": "this"});
    let context = skillcue::tools::ToolContext::default();
    let output = skills.call_tool(&Call::new("load_skill", arguments.as_object().unwrap().clone()), &context).unwrap();
    let Some(skillcue::tools::Effect::Loaded { name, arguments, content, .. }) = output.effect else { panic!() };
    let mut session = Session::default();
    session.record_load_with(&name, &arguments, &content);
    let mut session = Session::from_json(&session.to_json()).unwrap();
    let shown = skills.rehydrate(&mut session, skillcue::Budget::default());
    assert!(shown.text.ends_with("Do this then again this;"), "{}", shown.text);
    // What was loaded without has none.
    session.record_load(&name, &content);
    let shown = skills.rehydrate(&mut session, skillcue::Budget::default());
    assert!(shown.text.ends_with("Do  then again ;"), "{}", shown.text);
}

#[test]
fn threads_disclose_and_load_while_the_catalog_is_refreshed() {
    // Two states of one tree: every skill has the word of the state in its name and body.
    let dir = tempfile::tempdir().unwrap();
    let states = ["alpha", "omega"];
    let populate = |state: &str| {
        for number in 0..20 {
            let fields = "triggers:\n  keywords: [lookup]\n";
            write(&dir.path().join(state), &format!("{state}-{number:02}"), fields, &format!("This is {state}.\n"));
        }
    };
    populate(states[0]);
    let config = DiscloseConfig { max_skills: 0, max_total_tokens: None, ..DiscloseConfig::default() };
    let skills = Arc::new(Skillcue::builder().skills_dir(dir.path()).disclosure(config).build().unwrap());
    skills.prepare();
    let stop = Arc::new(AtomicBool::new(false));
    let threads: Vec<_> = (0..64)
        .map(|_| {
            let (skills, stop) = (Arc::clone(&skills), Arc::clone(&stop));
            std::thread::spawn(move || {
                let mut seen = HashSet::new();
                let mut rounds = 0;
                while !stop.load(Ordering::Relaxed) || rounds < 3 {
                    rounds += 1;
                    let shown = skills.disclose("a lookup");
                    let names: HashSet<&str> =
                        shown.skills.iter().map(|skill| skill.name.split('-').next().unwrap()).collect();
                    assert_eq!(names.len(), 1, "of one generation: {names:?}");
                    seen.insert((*names.iter().next().unwrap()).to_owned());
                    if let Ok(loaded) = skills.load("alpha-03", &skillcue::LoadRequest::default()) {
                        assert!(loaded.content.ends_with("This is alpha.\n"));
                    }
                }
                seen
            })
        })
        .collect();
    for round in 0..6 {
        let (old, new) = (states[round % 2], states[(round + 1) % 2]);
        // One directory renamed: a refresh sees the one or the other.
        let aside = tempfile::tempdir().unwrap();
        fs::rename(dir.path().join(old), aside.path().join(old)).unwrap();
        populate(new);
        skills.refresh();
    }
    stop.store(true, Ordering::Relaxed);
    let seen: HashSet<String> = threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect();
    assert!(seen.iter().all(|state| states.contains(&state.as_str())), "{seen:?}");
    // What is there at the end can be loaded, so what is said above of loads was not said of failures alone.
    let loaded = skills.load(&format!("{}-03", states[0]), &skillcue::LoadRequest::default()).unwrap();
    assert!(loaded.content.ends_with(&format!("This is {}.\n", states[0])), "{}", loaded.content);
}

#[test]
fn a_selector_that_was_kept_selects_the_same() {
    let dir = tree(2_100);
    let cache = tempfile::tempdir().unwrap();
    let build = || Skillcue::builder().skills_dir(dir.path()).index_cache(cache.path().join("index")).build().unwrap();
    let select = |skills: &Skillcue| skills.select(&Request::new("shared word7 and frob9"));
    let first = select(&build());
    let kept = |name: &str| {
        let entries = cache.path().read_dir().unwrap().map(|entry| entry.unwrap().path());
        entries.filter(|path| path.file_name().unwrap().to_str().unwrap().starts_with(name)).collect::<Vec<_>>()
    };
    assert_eq!(kept("select-").len(), 1);
    assert_eq!(select(&build()), first);
    // Damage costs time, never correctness.
    let file = &kept("select-")[0];
    let mut bytes = fs::read(file).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x40;
    fs::write(file, bytes).unwrap();
    assert_eq!(select(&build()), first);
    // Another description: what was kept no longer fits.
    let skill = dir.path().join("skill-7/SKILL.md");
    let text = fs::read_to_string(&skill).unwrap().replace("word7,", "word7777,");
    fs::write(&skill, text).unwrap();
    let score =
        |selection: &Selection, name: &str| selection.hits.iter().find(|hit| hit.name == name).map(|hit| hit.score);
    let again = select(&build());
    assert!(score(&again, "skill-7") < score(&first, "skill-7"), "the word is no keyword any more");
    assert_eq!(again.hits[0].name, "skill-9");
}

#[test]
fn a_skill_for_people_only_comes_when_called() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), "release", "disable-model-invocation: true\nmetadata:\n  triggers: [ship]\n", "Tag it.\n");
    let skills = Skillcue::builder().skills_dir(dir.path()).build().unwrap();
    let shown = |message: &str| skills.disclose(message);
    assert_eq!((shown("ship it").tier, shown("release it").tier), (Tier::Nothing, Tier::Nothing));
    let called = shown("/release now");
    assert_eq!(called.tier, Tier::Documentation);
    assert!(called.turn.contains("Tag it."), "{}", called.turn);
    assert!(!shown("what can you do?").turn.contains("release"));
}

#[test]
fn bodies_that_an_earlier_start_has_read_count_at_once() {
    let dir = tree(30);
    write(dir.path(), "odd", "", "Only here: zyzzyva quixotry.\n");
    let cache = tempfile::tempdir().unwrap();
    let build = || Skillcue::builder().skills_dir(dir.path()).index_cache(cache.path().join("index")).build().unwrap();
    let names = |skills: &Skillcue| {
        let found = skills.select(&Request::new("a zyzzyva and quixotry").mode(Mode::Hybrid));
        found.hits.into_iter().map(|hit| hit.name).collect::<Vec<_>>()
    };
    let first = build();
    assert_eq!(names(&first), [""; 0], "no body has been read");
    assert_eq!(first.index_bodies_in_background().unwrap().join().unwrap(), 31);
    assert_eq!(names(&first), ["odd"]);
    let second = build();
    assert_eq!(names(&second), ["odd"], "the index cache has what was read");
    assert_eq!(second.index_bodies(), 0);
    write(dir.path(), "odd", "", "Something else by now, and longer than it was.\n");
    let third = build();
    assert_eq!(third.index_bodies(), 1, "only what changed is read");
    assert_eq!(names(&third), [""; 0]);
}

#[test]
fn one_word_in_common_is_not_enough_among_few_skills() {
    let dir = tempfile::tempdir().unwrap();
    for (name, does) in
        [("sql-tuning", "Finds slow queries."), ("git-help", "Rewrites history."), ("hikes", "Plans hikes.")]
    {
        fs::create_dir(dir.path().join(name)).unwrap();
        let text = format!("---\nname: {name}\ndescription: {does}\n---\n");
        fs::write(dir.path().join(name).join("SKILL.md"), text).unwrap();
    }
    let skills = Skillcue::builder().skills_dir(dir.path()).mode(Mode::Hybrid).build().unwrap();
    for message in ["slow down please", "the history of Rome", "plan a meal"] {
        let shown = skills.disclose(message);
        assert_ne!(shown.tier, Tier::Documentation, "{message}: {:?}", shown.skills);
    }
    let shown = skills.disclose("find my slow queries");
    assert_eq!((shown.tier, shown.skills[0].name.as_str()), (Tier::Documentation, "sql-tuning"), "more are enough");
}

#[test]
fn skills_hidden_from_models_are_not_found_by_searching() {
    let dir = tree(2);
    write(dir.path(), "secret-ops", "disable-model-invocation: true\n", "Vault.\n");
    let skills = Skillcue::builder().skills_dir(dir.path()).build().unwrap();
    let found = skills.search(&Request::new("$secret-ops vault").mode(Mode::Hybrid));
    assert!(found.hits.iter().all(|hit| hit.name != "secret-ops"));
    assert_eq!(found.matched, found.hits.len());
}

#[test]
fn broken_triggers_are_reported() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), "re", "triggers:\n  patterns: ['(', '(a{1000}){1000}', fine]\n  files: ['[']\n", "x\n");
    let skills = Skillcue::builder().skills_dir(dir.path()).build().unwrap();
    let catalog = skills.catalog();
    let found = catalog.diagnostics();
    assert_eq!(found.len(), 3, "{found:?}");
    assert!(found.iter().all(|found| found.path.as_ref().unwrap().ends_with("re/SKILL.md")));
    assert_eq!(skills.select(&Request::new("fine")).hits.len(), 1, "the rest works");
}

#[test]
fn an_index_over_texts_is_kept_and_used_as_long_as_it_fits() {
    let dir = tree(60);
    write(dir.path(), "special", "", "# Kubernetes\n\nRoll out to Kubernetes clusters.\n");
    let cache = tempfile::tempdir().unwrap();
    let build = || Skillcue::builder().skills_dir(dir.path()).index_cache(cache.path().join("index")).build().unwrap();
    let find = |skills: &Skillcue| skills.select(&Request::new("roll out the clusters").mode(Mode::Hybrid));
    let first = build();
    assert_eq!(first.index_bodies(), 61);
    let expected = find(&first);
    assert_eq!(expected.hits[0].name, "special", "its body says so");

    let second = build();
    assert_eq!(find(&second), expected);
    assert_eq!(second.index_bodies(), 0, "everything is known");
    assert_eq!(find(&second), expected);

    let mut files = cache.path().read_dir().unwrap().map(|entry| entry.unwrap().path());
    let kept = files.find(|path| path.file_name().unwrap().to_str().unwrap().starts_with("texts-")).unwrap();
    let whole = fs::read(&kept).unwrap();
    for at in [0, whole.len() / 3, whole.len() / 2, whole.len() * 2 / 3, whole.len() - 1] {
        let mut damaged = whole.clone();
        damaged[at] ^= 1;
        fs::write(&kept, &damaged).unwrap();
        assert_eq!(find(&build()), expected, "damage costs time, nothing else");
    }
    fs::write(&kept, &whole).unwrap();

    write(dir.path(), "special", "", "# Docker\n\nBuilds images.\n");
    let third = build();
    assert!(find(&third).hits.iter().all(|hit| hit.name != "special"), "another body, another index");
    assert_eq!(third.index_bodies(), 1);
    assert_eq!(build().index_bodies(), 0);
}

#[test]
fn no_answer_waits_for_a_refresh() {
    let dir = tree(3_000);
    let skills = Arc::new(Skillcue::builder().skills_dir(dir.path()).build().unwrap());
    skills.prepare();
    let expected = skills.disclose("word7 please").turn;
    let (started, done) = (Arc::new(std::sync::Barrier::new(2)), Arc::new(AtomicBool::new(false)));
    let refresh = {
        let (skills, started, done) = (Arc::clone(&skills), Arc::clone(&started), Arc::clone(&done));
        std::thread::spawn(move || {
            started.wait();
            skills.refresh();
            done.store(true, Ordering::Release);
        })
    };
    started.wait();
    let mut meanwhile = 0;
    while !done.load(Ordering::Acquire) {
        assert_eq!(skills.disclose("word7 please").turn, expected);
        meanwhile += 1;
    }
    refresh.join().unwrap();
    // Looking at 3,000 skills takes a thousand times as long as an answer: a thread that waited would have got one.
    assert!(meanwhile > 1, "{meanwhile} answers while 3,000 skills were looked at");
}

/// A checkout's plugin, found by the root of a plugin, and a user's own skill.
fn checkout() -> (tempfile::TempDir, skillcue::Builder) {
    let dir = tempfile::tempdir().unwrap();
    write(&dir.path().join("repo/vendor"), "theirs", "metadata:\n  triggers: [invoice]\n", "EVIL\n");
    write(&dir.path().join("home/.agents/skills"), "mine", "metadata:\n  triggers: [invoice]\n", "GOOD\n");
    let plugin = skillcue::SkillRoot::new(dir.path().join("repo/vendor"), Source::Plugin);
    let (home, repo) = (dir.path().join("home"), dir.path().join("repo"));
    (dir, Skillcue::builder().root(plugin).user(&home).project(&repo, &repo))
}

#[test]
fn a_host_that_holds_back_foreign_skills_shows_none_of_them() {
    let messages = ["write the invoice", "$theirs $mine", "/theirs /mine", "what can you do?", "show all skills"];
    for policy in [Policy::Inject, Policy::Hint, Policy::Catalog] {
        let (_dir, builder) = checkout();
        let config = DiscloseConfig { policy, ..DiscloseConfig::default() };
        let skills = builder.disclosure(config).hold_back(skillcue::Skill::is_foreign).build().unwrap();
        assert!(skills.prompt().text.contains("theirs") && !skills.prompt().text.contains("EVIL"));
        for message in messages {
            for mode in [Mode::Keyword, Mode::Hybrid] {
                skills.index_bodies();
                let shown = skills.disclose(Request::new(message).mode(mode));
                let text = format!("{}{}", shown.stable, shown.turn);
                assert!(!text.contains("EVIL"), "{policy:?} {message}: {text}");
                let bodies = shown.tier == Tier::Documentation && policy == Policy::Inject;
                assert_eq!(text.contains("GOOD"), bodies, "{policy:?} {message}: {text}");
            }
        }
    }
}

/// A name and a brief are the author's words, too.
#[test]
fn a_host_that_holds_back_foreign_skills_names_none_of_them() {
    let mut named = 0;
    for percent in (0..=100_u8).step_by(5) {
        for policy in [Policy::Inject, Policy::Hint] {
            let (dir, builder) = checkout();
            // Without triggers, which may be enough for a body.
            write(&dir.path().join("repo/vendor"), "theirs", "", "Invoices for customers, EVIL\n");
            write(&dir.path().join("home/.agents/skills"), "mine", "", "Invoices for customers, GOOD\n");
            let eagerness = f32::from(percent) / 100.0;
            let config = DiscloseConfig { policy, eagerness, ..DiscloseConfig::default() };
            let skills = builder.disclosure(config).hold_back(skillcue::Skill::is_foreign).build().unwrap();
            skills.index_bodies();
            let shown = skills.disclose(Request::new("some invoices for customers").mode(Mode::Hybrid));
            if shown.tier == Tier::Shortlist {
                assert!(!shown.turn.contains("theirs"), "{policy:?} {eagerness}: {}", shown.turn);
                named += usize::from(shown.turn.contains("mine"));
            }
        }
    }
    assert!(named > 0, "the control was never named");
}

#[test]
fn held_back_skills_do_not_come_back_after_compaction() {
    let (_dir, builder) = checkout();
    let skills = builder.hold_back(skillcue::Skill::is_foreign).build().unwrap();
    // A session that says that both were loaded, as they were some time ago.
    let mut session = Session::default();
    for name in ["theirs", "mine"] {
        session.record_load(name, "Something else that was there once.");
    }
    let again = skills.rehydrate(&mut session, skillcue::Budget::default());
    assert!(again.text.contains("GOOD") && !again.text.contains("EVIL"), "{}", again.text);
    // What the conversation has seen as it is, it was allowed to see.
    let loaded = skills.load("theirs", &skillcue::LoadRequest::default()).unwrap();
    session.record_load("theirs", &loaded.content);
    assert!(skills.rehydrate(&mut session, skillcue::Budget::default()).text.contains("EVIL"));
}
