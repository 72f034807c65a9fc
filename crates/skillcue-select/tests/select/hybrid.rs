//! Triggers and names beside the texts of skills.

use serde_json::json;
use skillcue_select::{Grade, Mention, Mode, ReasonKind, SelectOptions, Thresholds, Turn};

use crate::support::World;

/// The confidence of triggers is not lowered because the texts do not match: a search shows it as it is disclosed.
#[test]
fn texts_do_not_lower_the_confidence_of_triggers() {
    let pattern = json!({ "triggers": { "patterns": ["check (my|the) report"] } });
    let keyword = json!({ "triggers": { "keywords": ["report"] }, "description": "Reads a report." });
    let world = World::new(&[("a-pattern", pattern), ("b-keyword", keyword)]);
    let texts = skillcue_select::TextIndex::of(&world.catalog);
    let turn = Turn::new("check the report today");
    let ask = |mode| {
        let options = SelectOptions { limit: 9, mode };
        let mut hits = world.selector.select_with(&world.catalog, &texts, &turn, &options).hits;
        hits.sort_by(|a, b| a.name.cmp(&b.name));
        hits
    };
    let (keyword, hybrid) = (ask(Mode::Keyword), ask(Mode::Hybrid));
    assert_eq!((keyword.len(), hybrid.len()), (2, 2));
    for (keyword, hybrid) in keyword.iter().zip(&hybrid) {
        assert!(hybrid.confidence >= keyword.confidence, "{hybrid:?}");
        assert_eq!(hybrid.grade(Mode::Hybrid, &Thresholds::default()), Grade::Body, "{hybrid:?}");
    }
}

/// In `hybrid` only a sigil decides. A bare name is a mention if it is unmistakable, a name of one word is no keyword
/// unless its author declares it, and a trigger weighs what it tells among the texts.
#[test]
fn names_are_evidence_and_triggers_weigh_what_they_tell() {
    let about = |text: &str| json!({ "description": text });
    let mut skills = vec![
        ("ship-it", about("Publishes packages. Use for releases.")),
        ("zyx-wvu", about("Grows tomatoes on balconies.")),
        ("review", about("Reads manuscripts.")),
        ("pdf", json!({ "description": "Reads documents.", "triggers": { "keywords": ["pdf"] } })),
        ("always", json!({ "description": "Sings.", "triggers": { "keywords": ["report"] } })),
        ("rarely", json!({ "description": "Hums.", "triggers": { "keywords": ["theremin"] } })),
    ];
    let names: Vec<String> = (0..60).map(|at| format!("filler-{at}")).collect();
    skills.extend(names.iter().map(|name| (name.as_str(), about("Ships goods and writes a report about it."))));
    let world = World::new(&skills);
    let texts = skillcue_select::TextIndex::of(&world.catalog);
    let ask = |message: &str, name: &str, mode| {
        let options = SelectOptions { limit: 99, mode };
        let hits = world.selector.select_with(&world.catalog, &texts, &Turn::new(message), &options).hits;
        hits.into_iter().find(|hit| hit.name == name)
    };
    let hybrid = |message: &str, name: &str| ask(message, name, Mode::Hybrid);
    let mention = |message: &str, name: &str| hybrid(message, name).and_then(|hit| hit.mention);
    assert_eq!(mention("ship it to the customer", "ship-it"), None, "two common words");
    assert_eq!(mention("use ship-it now", "ship-it"), Some(Mention::Name), "as it is written");
    assert_eq!(mention("use `ship it` now", "ship-it"), Some(Mention::Name), "quoted");
    assert_eq!(mention("try zyx wvu today", "zyx-wvu"), Some(Mention::Name), "rare words");
    assert_eq!(mention("$ship-it", "ship-it"), Some(Mention::Sigil));
    assert_eq!(
        ask("ship it to the customer", "ship-it", Mode::Keyword).and_then(|hit| hit.mention),
        Some(Mention::Name)
    );

    let kinds = |message: &str, name: &str, mode| -> Vec<ReasonKind> {
        ask(message, name, mode).into_iter().flat_map(|hit| hit.reasons).map(|reason| reason.kind).collect()
    };
    assert_eq!(kinds("review this", "review", Mode::Keyword), [ReasonKind::Keyword]);
    assert_eq!(kinds("review this", "review", Mode::Hybrid), [ReasonKind::Text]);
    assert!(kinds("open the pdf", "pdf", Mode::Hybrid).contains(&ReasonKind::Keyword), "declared");

    let certainty = |message: &str, name: &str| hybrid(message, name).map_or(0.0, |hit| hit.certainty);
    assert!(certainty("play the theremin", "rarely") >= Thresholds::default().body);
    assert!(certainty("the report", "always") < Thresholds::default().body, "nearly every skill has the word");
}

/// A means that the user refuses selects nothing: not by its words, not by triggers, and not by a bare name.
#[test]
fn refused_means_are_not_selected() {
    let about = |text: &str| json!({ "description": text });
    let mut skills = vec![
        (
            "pdf",
            json!({ "description": "Fills in PDF forms and makes PDF reports.", "triggers": { "keywords": ["pdf"] } }),
        ),
        ("excel-tables", about("Makes Excel tables and reports.")),
        ("npm-publish", about("Publishes packages to npm.")),
        ("npm-to-pnpm", about("Moves a project from npm to pnpm.")),
    ];
    let names: Vec<String> = (0..40).map(|at| format!("filler-{at}")).collect();
    skills.extend(names.iter().map(|name| (name.as_str(), about("Grows tomatoes on balconies."))));
    let world = World::new(&skills);
    let texts = skillcue_select::TextIndex::of(&world.catalog);
    let ask = |message: &str| {
        let options = SelectOptions { limit: 9, mode: Mode::Hybrid };
        let hits = world.selector.select_with(&world.catalog, &texts, &Turn::new(message), &options).hits;
        let grade = |hit: &skillcue_select::Hit| hit.grade(Mode::Hybrid, &Thresholds::default());
        let shown = hits.iter().filter(|hit| grade(hit) == Grade::Body).map(|hit| hit.name.clone());
        (hits.first().map(|hit| hit.name.clone()).unwrap_or_default(), shown.collect::<Vec<_>>())
    };
    assert_eq!(ask("make a PDF report").0, "pdf");
    for message in
        ["no PDF please, only Excel tables", "a report as Excel tables, not PDF", "Excel tables instead of PDF"]
    {
        let (first, shown) = ask(message);
        assert_eq!(first, "excel-tables", "{message}");
        assert!(!shown.contains(&"pdf".to_owned()), "{message}: {shown:?}");
    }
    assert_eq!(ask("move the project to pnpm instead of npm").0, "npm-to-pnpm", "its name has what is wanted, too");
    assert_eq!(ask("$pdf but don't use pdf").0, "pdf", "a sigil decides");
}

/// Triggers that fit everything say nothing: a pattern of ordinary messages, a glob of ordinary files, a list of languages.
#[test]
fn triggers_that_fit_everything_show_no_body() {
    let greedy = json!({
        "description": "Sings.",
        "triggers": {
            "patterns": ["[aeiou]", r"\w+\s*\w*", ".*", ".{25,}", r"(\w+\W+){6,}", "[aeiou].*[aeiou].*[aeiou].*[aeiou]"],
            "files": ["*", "**/*", "*.*"],
            "languages": ["rust", "python", "go", "c", "java", "ruby", "php", "swift", "kotlin"],
        },
    });
    let honest = json!({
        "description": "Fills in forms.",
        "triggers": { "patterns": [r"\bacro ?forms?\b"], "files": ["*.pdf"] },
    });
    let world = World::new(&[("greedy", greedy), ("honest", honest)]);
    let texts = skillcue_select::TextIndex::of(&world.catalog);
    let shown = |message: &str, file: Option<&str>, language: Option<&str>| -> Vec<String> {
        let turn = Turn::new(message).files(file).languages(language);
        let options = SelectOptions { limit: 9, mode: Mode::Hybrid };
        let hits = world.selector.select_with(&world.catalog, &texts, &turn, &options).hits;
        let bodies = hits.into_iter().filter(|hit| hit.grade(Mode::Hybrid, &Thresholds::default()) == Grade::Body);
        bodies.map(|hit| hit.name).collect()
    };
    let long = "could you please have a look at the page that we made yesterday and tell me what is missing";
    for message in ["thanks!", "merge these two files", "what a nice day", "What is Elastic Beanstalk?", long] {
        assert_eq!(shown(message, None, None), [""; 0], "{message}");
        assert_eq!(shown(message, Some("main.rs"), Some("rust")), [""; 0], "{message}");
    }
    assert_eq!(shown("fill in the acroform", None, None), ["honest"]);
    assert_eq!(shown("sum this up", Some("a.pdf"), None), ["honest"]);
    assert_eq!(shown("thanks!", Some("a.pdf"), None), [""; 0], "a reply asks for nothing");
}

/// A question about a word, or thanks for it, is no request for the skill that declares it.
#[test]
fn questions_and_thanks_show_no_declared_skill() {
    let pdf = json!({ "description": "Fills in forms.", "triggers": { "keywords": ["pdf"] } });
    let world = World::new(&[("forms", pdf), ("hiking", json!({ "description": "Plans hikes." }))]);
    let texts = skillcue_select::TextIndex::of(&world.catalog);
    let grade = |message: &str| {
        let options = SelectOptions { limit: 9, mode: Mode::Hybrid };
        let hits = world.selector.select_with(&world.catalog, &texts, &Turn::new(message), &options).hits;
        hits.first().map(|hit| hit.grade(Mode::Hybrid, &Thresholds::default()))
    };
    assert_eq!(grade("open the pdf"), Some(Grade::Body));
    assert_eq!(grade("what is a pdf?"), Some(Grade::Name));
    for declared in [json!({ "keywords": ["elastic beanstalk"] }), json!({ "patterns": ["elastic beanstalk"] })] {
        let beanstalk = json!({ "description": "Deploys applications.", "triggers": declared });
        let world = World::new(&[("eb", beanstalk), ("hiking", json!({ "description": "Plans hikes." }))]);
        let texts = skillcue_select::TextIndex::of(&world.catalog);
        let grade = |message: &str| {
            let options = SelectOptions { limit: 9, mode: Mode::Hybrid };
            let hits = world.selector.select_with(&world.catalog, &texts, &Turn::new(message), &options).hits;
            hits.first().map(|hit| hit.grade(Mode::Hybrid, &Thresholds::default()))
        };
        assert_eq!(grade("move the app to elastic beanstalk"), Some(Grade::Body));
        for message in [
            "What is Elastic Beanstalk?",
            "Was ist Elastic Beanstalk?",
            "Who invented Elastic Beanstalk and when?",
            "what does Elastic Beanstalk stand for?",
            "thanks, elastic beanstalk works now",
        ] {
            assert_eq!(grade(message), Some(Grade::Name), "{message}");
        }
    }
    assert_eq!(grade("thanks, the pdf works now!"), Some(Grade::Name));
}

/// The request decides, however long the text that it carries along.
#[test]
fn a_pasted_log_does_not_outweigh_the_request() {
    let about = |text: &str| json!({ "description": text });
    let mut skills = vec![
        ("cover-letter", about("Writes a cover letter for a job. Use for applications.")),
        ("log-reader", about("Reads logs of workers that refused a connection to a host.")),
    ];
    let names: Vec<String> = (0..40).map(|at| format!("filler-{at}")).collect();
    skills.extend(names.iter().map(|name| (name.as_str(), about("Grows tomatoes on balconies."))));
    let world = World::new(&skills);
    let texts = skillcue_select::TextIndex::of(&world.catalog);
    let lines = (0..2000).map(|at| format!("worker-{at} connection refused to host-{at} x{at:x}\n"));
    let log = lines.collect::<Vec<_>>().concat();
    let message = format!("Write a cover letter for this job\n```\n{log}```");
    let options = SelectOptions { limit: 3, mode: Mode::Hybrid };
    let hits = world.selector.select_with(&world.catalog, &texts, &Turn::new(&message), &options).hits;
    assert_eq!(hits[0].name, "cover-letter", "{hits:?}");
}

/// A skill that a message calls by its name is shown, if the name is one word, too.
#[test]
fn a_called_skill_is_shown() {
    let about = |text: &str| json!({ "description": text });
    let mut skills = vec![
        ("pricing", about("Finds what customers pay.")),
        ("kubernetes", about("Deploys containers to a cluster.")),
        ("ab-testing", about("Tests two variants of a page. Use for testing a page.")),
        ("testing", about("Writes checks of code.")),
    ];
    let names: Vec<String> = (0..40).map(|at| format!("filler-{at}")).collect();
    skills.extend(names.iter().map(|name| (name.as_str(), about("Tests pricing of containers in a cluster."))));
    let world = World::new(&skills);
    let texts = skillcue_select::TextIndex::of(&world.catalog);
    let first = |message: &str| {
        let options = SelectOptions { limit: 9, mode: Mode::Hybrid };
        let hits = world.selector.select_with(&world.catalog, &texts, &Turn::new(message), &options).hits;
        hits.into_iter().next().map(|hit| (hit.grade(Mode::Hybrid, &Thresholds::default()), hit.name))
    };
    for (message, name) in [
        ("use the pricing skill", "pricing"),
        ("please load the kubernetes skill for this", "kubernetes"),
        ("use `kubernetes` here", "kubernetes"),
        ("use \"pricing\" for this", "pricing"),
        ("benutze den Skill pricing", "pricing"),
        ("use the testing skill for this", "testing"),
        ("use the ab-testing skill", "ab-testing"),
    ] {
        assert_eq!(first(message), Some((Grade::Body, name.to_owned())), "{message}");
    }
    for message in [
        "our pricing is odd",
        "the `testing` column is empty",
        "don't use the pricing skill",
        "which skill is testing?",
    ] {
        let is_called = first(message).is_some_and(|(grade, name)| grade == Grade::Body && !name.starts_with("filler"));
        assert!(!is_called, "{message}");
    }
}

/// A wish that something does not happen is no refusal of what it is about.
#[test]
fn a_wish_about_a_means_is_no_refusal_of_it() {
    let about = |text: &str| json!({ "description": text });
    let world = World::new(&[
        ("kubernetes", about("Deploys pods to Kubernetes clusters, and upgrades nodes.")),
        ("stripe", about("Takes payments with Stripe: keys, balances, refunds.")),
        ("docker-compose", about("Starts services with Docker Compose.")),
        ("docker", about("Builds images with Docker.")),
        ("react", about("Writes components in React.")),
        ("hiking", about("Plans hikes in the Alps.")),
    ]);
    let texts = skillcue_select::TextIndex::of(&world.catalog);
    let names = |message: &str| -> Vec<(String, f32)> {
        let options = SelectOptions { limit: 9, mode: Mode::Hybrid };
        let hits = world.selector.select_with(&world.catalog, &texts, &Turn::new(message), &options).hits;
        hits.into_iter().map(|hit| (hit.name, hit.likelihood)).collect()
    };
    let first = |message: &str| names(message).into_iter().next().map(|(name, _)| name);
    assert_eq!(
        first("I don't want my Kubernetes pods to be restarted during the upgrade of nodes").as_deref(),
        Some("kubernetes")
    );
    assert_eq!(first("don't use my live Stripe key, list the balance in test mode").as_deref(), Some("stripe"));
    assert_eq!(first("don't use docker compose, build the images with docker").as_deref(), Some("docker"));
    let compose = names("don't use docker compose, build the images with docker");
    assert!(compose.iter().all(|(name, likelihood)| name != "docker-compose" || *likelihood < 0.05), "{compose:?}");
}
