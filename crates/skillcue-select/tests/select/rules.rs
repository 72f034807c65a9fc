//! Each rule of matching by itself.

use serde_json::{Value, json};
use skillcue_catalog::{Discovery, Enablement, SkillRoot, Source};
use skillcue_format::Code;
use skillcue_select::{Census, Grade, Intent, Mention, Mode, ReasonKind, SelectOptions, Selector, Thresholds, Turn};

use crate::support::{World, write};

/// One skill called `it`, with triggers.
fn it(triggers: &Value) -> World {
    World::new(&[("it-x", json!({ "triggers": triggers }))])
}

/// Checks which of the messages a keyword matches.
fn keyword(keyword: &str, yes: &[&str], no: &[&str]) {
    let world = it(&json!({ "keywords": [keyword] }));
    for message in yes {
        let hits = world.select(&Turn::new(message)).hits;
        assert_eq!(hits.len(), 1, "{keyword} in {message}");
        assert_eq!(hits[0].reasons[0].trigger, keyword);
    }
    for message in no {
        assert!(world.names(message).is_empty(), "{keyword} not in {message}");
    }
}

#[test]
fn words_are_whole() {
    keyword("run", &["run", "Run!", "(run)", "re-run", "run-time", "run_tests"], &["runner", "prune", "runs"]);
    keyword("c", &["in C.", "c", "Vitamin C, please"], &["C++", "C#", "c.h", "abc"]);
    keyword("node", &["a node.", "node", "node.5"], &["node.js", "nodes"]);
    keyword("js", &["node.js", "JS"], &["json"]);
    keyword("node.js", &["Node.js!", "node.js.", "use node.js now"], &["node js", "node.jsx"]);
    keyword("pdf", &["x.pdf", "a PDF.", "pdf/a"], &["pdfs", "pdf.js"]);
}

#[test]
fn symbols_are_part_of_words() {
    keyword("c++", &["C++", "Objective-C++", "C++20", "c++, c", "C++代码"], &["c", "C+", "c+++", "c++filt", "c ++"]);
    keyword("c#", &["C#", "in c#."], &["c", "c##"]);
    keyword("f#", &["F# code"], &["f"]);
    keyword(".net", &["port to .NET", "ASP.NET"], &["net", "network", ".network"]);
    keyword("R&D", &["our r&d budget", "R&D"], &["r d", "R & D", "r&db"]);
    keyword("--force", &["git push --force"], &["force", "- -force"]);
    keyword("🚀 deploy", &["now 🚀  deploy it"], &["deploy", "🚀deploy"]);
}

#[test]
fn symbols_alone() {
    keyword("->", &["a->b", "x -> y", "->"], &["-", "a-->b", "->>"]);
    keyword("==", &["a == b"], &["===", "="]);
    keyword("👍", &["👍", "ok👍🏽", "👍👍"], &["👎"]);
    keyword("❤️", &["I ❤ it", "❤️"], &["💔"]);
    keyword("🚀 🚀", &["🚀\n🚀"], &["🚀", "🚀🚀"]);
}

#[test]
fn scripts() {
    keyword("表格", &["把这个表格整理一下", "表格", "PDF表格x"], &["表 格", "格表"]);
    keyword("pdf", &["这个PDF文件", "pdf를"], &["pdfです".replace("です", "s").as_str()]);
    keyword("파일", &["파일을 열어", "파일", "PDF파일"], &["대파일", "파"]);
    keyword("か", &["かな"], &["がな"]);
    keyword("กา", &["มากา"], &["กี"]);
    keyword("バス", &["ﾊﾞｽ停"], &["ハス"]);
}

#[test]
fn case_and_composition() {
    keyword("Café", &["un cafe\u{301}", "CAFÉ"], &["cafe", "cafés"]);
    keyword("straße", &["STRASSE", "Straße"], &["strase"]);
    keyword("ΟΔΟΣ", &["οδος", "οδός".replace('ό', "ο").as_str()], &["οδο"]);
    keyword("istanbul", &["İstanbul", "ISTANBUL", "ıstanbul"], &[]);
    keyword("ﬁle", &["FILE"], &[]);
    let world = it(&json!({ "keywords": ["café"] }));
    let hit = &world.select(&Turn::new("Ein Cafe\u{301}!")).hits[0];
    assert_eq!((hit.reasons[0].text.as_str(), hit.reasons[0].span.clone()), ("Cafe\u{301}", Some(4..10)));
}

#[test]
fn phrases() {
    keyword(
        "table extraction",
        &["Table\n\textraction"],
        &["table-extraction", "tables extraction", "table, extraction"],
    );
    let world = it(&json!({ "keywords": ["Table  Extraction", "table"] }));
    let turn = Turn::new("table extraction");
    assert_eq!(world.reasons(&turn), ["Phrase Table  Extraction table extraction", "Keyword table table"]);
    assert!(world.select(&turn).hits[0].confidence >= 0.85);
}

#[test]
fn verbs() {
    let world = it(&json!({ "verbs": ["set up", "translate", "Run"] }));
    for message in ["Setting up a server", "sets  up", "set up", "translated", "RUNNING", "runs"] {
        assert_eq!(world.names(message), ["it-x"], "{message}");
    }
    for message in ["setting it up", "upset", "translator", "running.py", "setup", "runs++", "translations"] {
        assert!(world.names(message).is_empty(), "{message}");
    }
    assert_eq!(world.reasons(&Turn::new("he was Setting  up it")), ["Verb set up Setting  up"]);
}

#[test]
fn a_verb_and_a_keyword_of_one_word_are_two_triggers() {
    let world = it(&json!({ "keywords": ["run", "RUN", " run "], "verbs": ["run"] }));
    assert_eq!(world.reasons(&Turn::new("run it, run it")), ["Keyword run run", "Verb run run"]);
}

#[test]
fn names() {
    let world = World::new(&[
        ("code-review", json!({})),
        ("code-review-pr", json!({})),
        ("pdf", json!({})),
        ("quiet_Notes", json!({})),
    ]);
    for message in ["code review", "CODE_REVIEW", "Code-Review?", "a code  review."] {
        let hit = &world.select(&Turn::new(message)).hits[0];
        assert_eq!((hit.name.as_str(), hit.mention), ("code-review", Some(Mention::Name)), "{message}");
        assert_eq!(hit.reasons[0].trigger, "code-review");
    }
    assert_eq!(world.names("use code-review-pr"), ["code-review-pr"], "a name within a longer one is no mention");
    assert_eq!(world.names("use code-review-pr, then code review"), ["code-review", "code-review-pr"]);
    assert!(world.names("code, review; codereview").is_empty());
    assert_eq!(world.names("quiet notes"), ["quiet-notes"]);
    let hit = &world.select(&Turn::new("a pdf")).hits[0];
    assert_eq!((hit.mention, hit.reasons[0].kind), (None, ReasonKind::Keyword));
    assert!(world.names("pdf.js").is_empty());
}

#[test]
fn sigils() {
    let world = World::new(&[("pdf", json!({})), ("quiet-notes", json!({})), ("表格", json!({}))]);
    let mention = |message: &str| world.select(&Turn::new(message)).hits.first().and_then(|hit| hit.mention);
    for message in ["$pdf", "use /pdf.", "(/pdf)", "@pdf: x", "$pdf,x", "「$pdf」", "@pdf文件", "\n$pdf", "$表格"]
    {
        assert_eq!(mention(message), Some(Mention::Sigil), "{message}");
    }
    for message in [
        "$PDF",
        "a/pdf",
        "/pdf/x",
        "me@pdf.com",
        "@pdf.com",
        "$pdf@x",
        "$pdf-x",
        "$pdfx",
        "$ pdf",
        "x$pdf",
        "`$pdf`",
        "\"/pdf\"",
    ] {
        assert_eq!(mention(message), None, "{message}");
    }
    let turn = Turn::new("$quiet-notes and $pdf and $pdf");
    let hits = world.select(&turn).hits;
    assert_eq!(hits.iter().map(|hit| hit.name.as_str()).collect::<Vec<_>>(), ["pdf", "quiet-notes"]);
    assert_eq!(hits[1].reasons.len(), 1, "the bare name does not count again");
    assert!((hits[0].confidence - 1.0).abs() < f32::EPSILON);
    assert_eq!(hits[0].reasons[0].text, "$pdf");
}

#[test]
fn a_sigil_comes_before_the_intent() {
    let world = World::new(&[("pdf", json!({}))]);
    let intent = |message: &str| world.select(&Turn::new(message)).intent;
    assert_eq!(intent("what can you do?"), Intent::Registry);
    assert_eq!(intent("$pdf: what can you do?"), Intent::None);
    assert_eq!(intent("what can you do @pdf"), Intent::None);
    assert_eq!(intent("show all skills"), Intent::All);
}

#[test]
fn patterns() {
    let world =
        it(&json!({ "patterns": ["\\b\\w+\\.pdf\\b", "\\d{4}", "(", "ſtrange|Kelvin", "x{1000}{1000}", "größe"] }));
    assert_eq!(world.reasons(&Turn::new("see A.PDF")), ["Pattern \\b\\w+\\.pdf\\b A.PDF"]);
    assert_eq!(world.reasons(&Turn::new("in 1984")), ["Pattern \\d{4} 1984"]);
    assert_eq!(world.names("\u{212a}ELVIN"), ["it-x"]);
    assert_eq!(world.names("GRÖSSE größe GRÖẞE"), ["it-x"]);
    assert!(world.names("nothing").is_empty());
    assert_eq!(world.selector.always_run(), 1);
    let findings = world.catalog.diagnostics();
    assert_eq!(findings.len(), 2, "{findings:?}");
    assert!(findings.is_sorted() && findings.iter().all(|finding| finding.code == Code::InvalidPattern));
    assert_eq!(findings[0].path, Some(world.dir.path().join("it-x/SKILL.md")));

    let far = format!("{} a.pdf", "x ".repeat(40_000));
    assert!(world.names(&far).is_empty(), "patterns see 64 KiB");
    let near = format!("é a.pdf {}", "é".repeat(40_000));
    assert_eq!(world.names(&near), ["it-x"]);
}

#[test]
fn files_and_languages() {
    let triggers = json!({
        "files": ["*.tsx", "Dockerfile", "src/**/*.rs", "test_*.py", "[", "*.{c,h}"],
        "languages": ["TypeScript", "c++"],
    });
    let world = it(&triggers);
    let with = |files: &[&str], languages: &[&str]| world.reasons(&Turn::new("fix").files(files).languages(languages));
    assert_eq!(with(&["src/App.tsx"], &[]), ["File *.tsx src/App.tsx"]);
    assert_eq!(with(&["a/Dockerfile"], &[]), ["File Dockerfile a/Dockerfile"]);
    assert_eq!(with(&["./src/a/b.rs"], &[]), ["File src/**/*.rs ./src/a/b.rs"]);
    assert_eq!(with(&["x/test_a.py", "x.h"], &[]), ["File test_*.py x/test_a.py", "File *.{c,h} x.h"]);
    assert_eq!(with(&[], &["TYPESCRIPT"]), ["Language TypeScript TYPESCRIPT"]);
    assert_eq!(with(&[], &["C++"]), ["Language c++ C++"]);
    for file in ["a.ts", "dockerfile", "b/src/x.rs", "test.py", "", "/", "tsx"] {
        assert!(with(&[file], &["c", ""]).is_empty(), "{file}");
    }
    let [found] = world.catalog.diagnostics() else { panic!("{:?}", world.catalog.diagnostics()) };
    assert_eq!(found.code, Code::InvalidPattern);
}

#[test]
fn earlier_messages_count_less() {
    let world = World::new(&[
        ("new", json!({ "triggers": { "keywords": ["bread"] } })),
        ("old", json!({ "triggers": { "keywords": ["butter", "salt and pepper"] } })),
        ("old-mention", json!({})),
    ]);
    let earlier = ["butter, old-mention, $old", "more butter"];
    let selection = world.select(&Turn::new("bread").earlier(earlier));
    assert_eq!(selection.hits.len(), 2, "no mention in an earlier message counts");
    let (new, old) = (&selection.hits[0], &selection.hits[1]);
    assert_eq!((new.name.as_str(), old.name.as_str()), ("new", "old"));
    let reason = old.reasons.iter().find(|reason| reason.trigger == "butter").unwrap();
    assert_eq!((reason.text.as_str(), reason.span.clone()), ("butter", None));
    assert!((reason.score * 2.0 - new.reasons[0].score).abs() < 0.001);
    let selection = world.select(&Turn::new("bread").earlier(["x", "salt and pepper"]));
    assert_eq!(selection.hits[0].name, "new", "a phrase of before is no phrase of now");
    assert!(world.select(&Turn::default().earlier(["what can you do?"])).intent == Intent::None);
}

/// Nearby files add to skills that the message matches already, and select none by themselves.
#[test]
fn nearby_files_support() {
    let triggers = |word: &str| json!({ "triggers": { "keywords": [word], "files": ["*.rs"], "languages": ["sql"] } });
    let world = World::new(&[("a-plain", json!({ "triggers": { "keywords": ["red"] } })), ("b-rust", triggers("red"))]);
    let nearby = ["src/main.rs", "q.sql"];
    let with = |message| world.select(&Turn::new(message).nearby(nearby));
    assert_eq!(with("What is 2+2?").hits, []);
    assert_eq!(with("What is 2+2?").matched, 0);
    let hits = with("red").hits;
    assert_eq!(hits.iter().map(|hit| hit.name.as_str()).collect::<Vec<_>>(), ["b-rust", "a-plain"]);
    let reasons: Vec<_> =
        hits[0].reasons.iter().map(|reason| (reason.kind, reason.trigger.as_str(), reason.text.as_str())).collect();
    assert_eq!(
        reasons,
        [
            (ReasonKind::Keyword, "red", "red"),
            (ReasonKind::Nearby, "*.rs", "src/main.rs"),
            (ReasonKind::Nearby, "sql", "sql"),
        ]
    );
    assert!((hits[0].reasons.iter().map(|reason| reason.score).sum::<f32>() - hits[0].score).abs() < 1e-3);
    // To show that they could: files that the turn is about select.
    let about = world.select(&Turn::new("What is 2+2?").files(nearby).nearby(nearby)).hits;
    assert_eq!((about.len(), about[0].reasons[0].kind), (1, ReasonKind::File));

    // A text that hardly fits does not become a match because of them.
    let described = |name: &'static str, files: &[&str]| {
        (name, json!({ "description": "Paints fences and garden gates.", "triggers": { "files": files } }))
    };
    let world = World::new(&[described("a-none", &[]), described("b-rust", &["*.rs"])]);
    let texts = skillcue_select::TextIndex::of(&world.catalog);
    let options = SelectOptions { limit: 9, mode: Mode::Hybrid };
    let turn = Turn::new("fences in the rain").nearby(nearby);
    let hits = world.selector.select_with(&world.catalog, &texts, &turn, &options).hits;
    assert_eq!(hits.iter().map(|hit| hit.name.as_str()).collect::<Vec<_>>(), ["b-rust", "a-none"], "{hits:?}");
    assert!(hits[0].certainty > hits[1].certainty, "{hits:?}");
    assert_ne!(hits[0].grade(Mode::Hybrid, &Thresholds::default()), Grade::Body, "{hits:?}");
    // Nor is one word that only one skill has, which by itself is just not enough.
    let csv = json!({ "description": "Summarises columns of numbers.", "triggers": { "files": ["*.csv"] } });
    let others = ["a-fence", "b-rain", "c-song"].map(|name| described(name, &[]));
    let world = World::new(&[&others[..], &[("d-csv", csv)]].concat());
    let texts = skillcue_select::TextIndex::of(&world.catalog);
    let with = |message: &str, nearby: &[&str]| {
        let turn = Turn::new(message).nearby(nearby);
        world.selector.select_with(&world.catalog, &texts, &turn, &options).hits
    };
    for message in ["columns of a temple", "numbers", "summarise it for me"] {
        let (with, without) = (with(message, &["z.csv"]), with(message, &[]));
        assert_eq!((with[0].name.as_str(), with[0].reasons.len()), ("d-csv", 2), "{message}: {with:?}");
        assert!(without[0].certainty > 0.1, "{message}: {without:?}");
        assert_ne!(with[0].grade(Mode::Hybrid, &Thresholds::default()), Grade::Body, "{message}: {with:?}");
    }
    // The control: two words are enough, with the file or without.
    for nearby in [&["z.csv"][..], &[]] {
        let hits = with("summarise the columns of numbers", nearby);
        assert_eq!(hits[0].grade(Mode::Hybrid, &Thresholds::default()), Grade::Body, "{hits:?}");
    }
    let turn = Turn::new("What is 2+2?").nearby(nearby);
    assert_eq!(world.selector.select_with(&world.catalog, &texts, &turn, &options).hits, []);
}

#[test]
fn ranks() {
    let world = World::new(&[
        ("a-two", json!({ "triggers": { "keywords": ["red", "green"] } })),
        ("b-phrase", json!({ "triggers": { "keywords": ["red light"] } })),
        ("c-rare", json!({ "triggers": { "keywords": ["light"] } })),
        ("d-common", json!({ "triggers": { "keywords": ["red"] } })),
        ("e-common", json!({ "triggers": { "keywords": ["red"] } })),
    ]);
    let all = "red light, green, d common";
    assert_eq!(world.names(all), ["d-common", "b-phrase", "a-two", "c-rare", "e-common"]);
    assert_eq!(world.names("red"), ["a-two", "d-common", "e-common"], "equals by name");
    let turn = Turn::new("red").recent(["nobody", "e-common", "c-rare"]);
    let selection = world.select(&turn);
    let hit = &selection.hits[0];
    assert_eq!((hit.name.as_str(), hit.reasons[1].kind), ("e-common", ReasonKind::Recent));
    assert_eq!(selection.matched, 3, "recent use alone selects nothing");

    let limited =
        |limit| world.selector.select(&world.catalog, &Turn::new(all), &SelectOptions { limit, mode: Mode::Hybrid });
    assert_eq!((limited(2).hits.len(), limited(2).matched), (2, 5));
    assert_eq!((limited(0).hits.len(), limited(0).matched), (0, 5));
    assert_eq!(limited(2).hits[..], world.select(&Turn::new(all)).hits[..2]);
}

#[test]
fn skills_that_may_be_selected() {
    let dir = tempfile::tempdir().unwrap();
    let keyword = json!({ "keywords": ["word"] });
    for (place, name, fields) in [
        ("user", "plain", json!({ "triggers": keyword })),
        ("user", "hidden-one", json!({ "triggers": keyword, "disable-model-invocation": true })),
        ("user", "not-typed", json!({ "triggers": keyword, "user-invocable": false })),
        ("user", "off-one", json!({ "triggers": keyword })),
        ("user", "needy-one", json!({ "triggers": keyword, "requires": ["no-such-program"] })),
        ("project", "plain", json!({ "triggers": { "keywords": ["other"] } })),
    ] {
        write(&dir.path().join(place).join(name), name, &fields);
    }
    let world = World::of(dir, |root| {
        let user = SkillRoot::new(root.join("user"), Source::User);
        let project = SkillRoot::new(root.join("project"), Source::Project);
        Discovery::new([user, project])
            .enablement(Enablement { disable: ["off-one".to_owned()].into(), ..Enablement::default() })
            .search_path([root])
            .run()
    });
    assert_eq!(world.names("word"), ["not-typed"], "`plain` of the user is shadowed");
    assert_eq!(world.names("other"), ["plain"]);
    assert!(world.names("hidden one, off one, needy one").is_empty());
    assert_eq!(world.names("$hidden-one"), ["hidden-one"]);
    assert_eq!(world.select(&Turn::new("$hidden-one word")).hits[0].reasons.len(), 1, "its triggers say nothing");
    assert!(world.names("$off-one $needy-one").is_empty());
    let hit = &world.select(&Turn::new("$not-typed")).hits[0];
    assert_eq!(hit.mention, Some(Mention::Name));
    assert_eq!(world.selector.census(&world.catalog), Census { visible: 2, triggered: true });
}

#[test]
fn census() {
    let triggered = json!({ "triggers": { "keywords": ["word"] } });
    let of = |skills: &[(&str, &str, &Value)]| {
        let dir = tempfile::tempdir().unwrap();
        for (place, name, fields) in skills {
            write(&dir.path().join(place).join(name), name, fields);
        }
        let world = World::of(dir, |root| {
            let bundled = SkillRoot::new(root.join("bundled"), Source::Bundled);
            Discovery::new([bundled, SkillRoot::new(root.join("user"), Source::User)]).run()
        });
        world.selector.census(&world.catalog)
    };
    assert_eq!(of(&[]), Census { visible: 0, triggered: false });
    assert_eq!(of(&[("bundled", "a", &triggered)]), Census { visible: 1, triggered: true });
    assert_eq!(of(&[("bundled", "a", &triggered), ("user", "b", &json!({}))]), Census { visible: 2, triggered: false });
    assert_eq!(of(&[("bundled", "a", &json!({})), ("user", "b", &triggered)]), Census { visible: 2, triggered: true });
}

#[test]
fn odd_triggers_do_no_harm() {
    let long = "word ".repeat(65);
    let world = it(&json!({
        "keywords": ["", "  ", long, "x".repeat(2_000), "\u{301}", "\u{0}"],
        "verbs": ["", "ing", "s"],
        "patterns": ["", "^$"],
        "files": ["", "*", "**"],
        "languages": [""],
    }));
    assert!(world.names(&"word ".repeat(65)).is_empty(), "empty and endless triggers never match");
    let turn = Turn::new("ing").files(["a/b"]).languages([""]);
    assert_eq!(world.select(&turn).matched, 1);
}

#[test]
fn messages_of_every_size() {
    let world = it(&json!({ "keywords": ["a a b", "c++", "é", "->"], "verbs": ["run"], "patterns": ["x.*y", "\\d"] }));
    for message in [
        "a ".repeat(500_000),
        "c++ ".repeat(100_000),
        "\u{301}".repeat(500_000),
        format!("e{}", "\u{301}\u{323}".repeat(200_000)),
        "\0".repeat(1_000_000),
        "running ".repeat(100_000),
        "->".repeat(300_000),
        "$".repeat(500_000),
        " $a".repeat(200_000),
        "表".repeat(300_000),
        "한".repeat(300_000),
        "xy".repeat(500_000),
    ] {
        let selection = world.select(&Turn::new(&message));
        assert!(selection.matched <= 1);
        for hit in selection.hits {
            assert!(hit.reasons.len() <= 4, "each trigger counts once");
        }
    }
}

#[test]
fn a_selector_knows_its_catalog() {
    let world = World::new(&[("a", json!({})), ("b", json!({}))]);
    let other = World::new(&[("a", json!({}))]);
    assert!(world.selector.fits(&world.catalog) && !world.selector.fits(&other.catalog));
    assert_ne!(Selector::key(&world.catalog), Selector::key(&other.catalog));
    // The wrong catalog gives wrong answers, not a panic.
    let _ = other.selector.select(&world.catalog, &Turn::new("$b a b"), &SelectOptions::default());
    let _ = world.selector.explain(&other.catalog, &Turn::new("a b"), "b");
}

#[test]
fn a_name_within_a_longer_one_is_no_mention() {
    let world = World::new(&[("hello-extended", json!({}))]);
    let hits = |message: &str| world.select(&Turn::new(message)).hits.len();
    for message in ["git checkout my-hello-extended-fix", "pip install x_hello_extended", "hello-extended-2"] {
        assert_eq!(hits(message), 0, "{message}");
    }
    for message in ["(hello-extended)", "hello extended - now", "-hello-extended", "cd /hello-extended/bin"] {
        assert_eq!(hits(message), 1, "{message}");
    }
}
