//! Tiers, policies, fallbacks, and what is never shown.
//!
//! Over 500 lines: one catalog and its helpers serve all tiers and policies.

use std::sync::Arc;

use skillcue_catalog::{Enablement, Skill, Source};
use skillcue_disclose::{
    Counter, CounterError, Decision, DiscloseConfig, Discloser, DisclosureCost, Fallback, Policy, Situation, Tier,
    Tokens,
};
use skillcue_select::{Hit, Intent, Mention, Mode, Reason, ReasonKind, Selection};

use crate::house::{Files, House, hit, hits_of, reason, unlimited, within};

fn two() -> House {
    House::with([
        ("csv", "description: Reads tables.\ntriggers: {keywords: [table]}", "# csv\n\nUse cut."),
        ("pdf", "description: Reads PDF files.\ntriggers: {keywords: [pdf, table]}", "# pdf\n\nUse pdftotext.\n"),
    ])
}

#[test]
fn a_match_is_documented_as_it_is_loaded() {
    let house = two();
    let shown = house.show("open the pdf", &DiscloseConfig::default(), None);
    let dir = house.catalog.get("pdf").unwrap().dir();
    let text = format!(
        "## Relevant Skill Documentation\n\n### pdf\n\nBase directory for this skill: {}\n\n# pdf\n\nUse pdftotext.",
        dir.display()
    );
    assert_eq!(shown.turn, text);
    assert_eq!((shown.tier, shown.matched), (Tier::Documentation, 1));
    let pdf = &shown.skills[0];
    assert_eq!((&*pdf.name, pdf.decision, &pdf.why), ("pdf", Decision::Included, &None));
    assert_eq!(shown.tokens.turn, pdf.tokens + shown.tokens.overhead);
    assert_eq!(pdf.reasons, [reason("pdf")]);
}

#[test]
fn the_report_is_json() {
    let shown = two().show("open the pdf", &unlimited(Counter::Bytes4), None);
    let json = serde_json::to_value(&shown).unwrap();
    assert_eq!(json["tier"], 3);
    assert_eq!(json["policy"], "inject");
    assert_eq!(json["skills"][0]["decision"], "included");
    assert_eq!(json["skills"][0]["reasons"][0]["kind"], "keyword");
    assert_eq!(json["tokens"]["eager"], shown.tokens.eager.0);
    assert!(json["skills"][0].get("why").is_none());
}

#[test]
fn the_text_follows_the_rank_and_tokens_the_importance() {
    let mut house = House::new();
    let body = "Line of the body.\n".repeat(40);
    house.put(Source::Mcp, "far", "description: F.\ntriggers: {keywords: [word]}", &body);
    house.put(Source::Inline, "near", "description: N.\ntriggers: {keywords: [word]}", &body);
    house.discover(Enablement::default());
    let shown = house.show("a word", &within(260, 0), None);
    let decisions: Vec<_> = shown.skills.iter().map(|skill| (&*skill.name, skill.decision)).collect();
    assert_eq!(decisions, [("far", Decision::Shortened), ("near", Decision::Included)]);
    assert!(shown.turn.find("### far") < shown.turn.find("### near"));
    assert!(shown.turn.contains("lines shown. load_skill \"far\" gives the rest.]"));
    assert!(shown.skills[0].why.as_ref().unwrap().contains(" left of the budget of "));
}

#[test]
fn omitted_skills_are_named() {
    let house = two();
    let shown = house.show("a table", &DiscloseConfig { max_skills: 1, ..DiscloseConfig::default() }, None);
    assert!(
        shown.turn.ends_with("\n\nMatching, too, but not shown: pdf. `load_skill` gives one by its id."),
        "{}",
        shown.turn
    );
    assert_eq!(shown.skills[1].why.as_deref(), Some("more than `max_skills` match better"));
    let many = DiscloseConfig { max_skills: 0, ..DiscloseConfig::default() };
    assert!(house.show("a table", &many, None).turn.contains("### pdf"), "zero is no limit");
}

#[test]
fn hits_beyond_the_selection_are_counted() {
    let house = two();
    let mut selection = house.select("a table");
    selection.matched = 40;
    let config = DiscloseConfig { max_skills: 1, ..DiscloseConfig::default() };
    let shown = house.discloser(config).disclose(&Situation::new(house.census(), &selection, &Files));
    assert!(shown.turn.contains("not shown: pdf and 38 more."), "{}", shown.turn);
}

#[test]
fn a_body_that_cannot_be_read_is_left_out_and_said() {
    let house = two();
    let selection = house.select("a table");
    let bodies = |skill: &Skill| match skill.name() {
        "csv" => Err("permission denied".to_owned()),
        _ => Ok(Arc::from("# pdf")),
    };
    let shown =
        house.discloser(unlimited(Counter::Segment)).disclose(&Situation::new(house.census(), &selection, &bodies));
    assert_eq!(shown.skills[0].why.as_deref(), Some("it cannot be read: permission denied"));
    assert!(shown.turn.contains("### pdf") && !shown.turn.contains("### csv"));
    assert!(shown.turn.ends_with("\n\nCannot be shown: csv."), "{}", shown.turn);
    assert!(!shown.turn.contains("load_skill"), "it would fail");
}

#[test]
fn all_of_them_within_a_budget() {
    let mut house = House::new();
    for i in 0..12 {
        house.put(Source::User, &format!("s{i:02}"), "description: D.", &"Line of the body.\n".repeat(20));
    }
    house.discover(Enablement::default());
    let shown = house.show("show all skills", &within(300, 0), None);
    let count = shown.skills.iter().filter(|skill| skill.decision != Decision::Omitted).count();
    assert!((2..10).contains(&count));
    assert!(
        shown.turn.ends_with(&format!("*Showing {count} of 12 skills. Ask about specific skills for more details.*"))
    );
    assert!(shown.turn.contains("Left out to save space: "));
    assert_eq!(shown.skills.len(), 10);
    assert!(shown.tokens.overhead <= Tokens(100), "{}", shown.tokens.overhead);
    let all = DiscloseConfig { max_all_skills: 0, ..unlimited(Counter::Segment) };
    let shown = house.show("show all skills", &all, None);
    assert_eq!(shown.skills.len(), 12);
    assert!(!shown.turn.contains("*Showing"));
}

#[test]
fn to_show_all_costs_about_as_much_as_eager_loading() {
    let mut house = House::new();
    for i in 0..10 {
        house.put(Source::User, &format!("skill-{i}"), "description: D.", &"One line of it.\n".repeat(i + 1));
    }
    house.discover(Enablement::default());
    let shown = house.show("show all skills", &unlimited(Counter::Bytes4), None);
    let (turn, eager) = (shown.tokens.turn.0, shown.tokens.eager.0);
    assert!(turn * 100 <= eager * 110 && turn * 100 >= eager * 75, "{turn} {eager}");
}

#[test]
fn hidden_skills_are_in_no_list() {
    let mut house = House::new();
    let triggers = "triggers: {keywords: [word]}";
    house.put(Source::User, "open", &format!("description: D.\n{triggers}"), "Body.");
    house.put(Source::User, "secret", &format!("description: D.\ndisable-model-invocation: true\n{triggers}"), "Body.");
    house.put(Source::User, "off", &format!("description: D.\n{triggers}"), "Body.");
    house.put(Source::User, "broken", &format!("description: D.\nrequires: [no-such-program]\n{triggers}"), "Body.");
    house.put(Source::Project, "open", &format!("description: Upper.\n{triggers}"), "Body.");
    house.discover(Enablement { disable: ["off".to_owned()].into(), ..Enablement::default() });
    let discloser = house.discloser(DiscloseConfig { max_skills: 1, ..DiscloseConfig::default() });
    let names = ["secret", "off", "broken", "open"];
    let hits = names.iter().map(|name| hit(&house, name, vec![reason("word")])).collect();
    let matching = hits_of(Intent::None, hits);
    let (registry, all) = (hits_of(Intent::Registry, Vec::new()), hits_of(Intent::All, Vec::new()));
    let mut texts = vec![discloser.prompt().text.to_string()];
    for selection in [&matching, &registry, &all] {
        let shown = discloser.disclose(&Situation::new(house.census(), selection, &Files));
        assert!(shown.skills.iter().all(|skill| skill.name == "open"));
        texts.push(shown.turn);
    }
    for text in texts {
        assert!(text.contains("open"), "{text}");
        assert!(!["secret", "**off", "<id>off", "### off", "broken"].iter().any(|name| text.contains(name)), "{text}");
        assert_eq!(text.matches("**open").count().max(1), 1);
    }
    assert_eq!(discloser.eager(), Tokens(2) + DisclosureCost::BODY_FRAME);
}

/// A skill that is hidden from models, one that is not, and a message that calls both.
fn called(body: &str) -> (House, Selection) {
    let front = "description: D.\ntriggers: {keywords: [word]}";
    let secret = format!("{front}\ndisable-model-invocation: true");
    let house = House::with([("open", front, "Open body."), ("secret", &*secret, body)]);
    let call = |name| Hit { mention: Some(Mention::Sigil), ..hit(&house, name, vec![reason("word")]) };
    let selection = hits_of(Intent::None, vec![call("secret"), call("open")]);
    (house, selection)
}

#[test]
fn a_hidden_skill_is_shown_when_called_whatever_the_policy() {
    let (house, selection) = called("Secret body.");
    let show = |policy| {
        let config = DiscloseConfig { policy, ..DiscloseConfig::default() };
        house.discloser(config).disclose(&Situation::new(house.census(), &selection, &Files))
    };
    for policy in [Policy::Inject, Policy::Catalog, Policy::Hint] {
        let shown = show(policy);
        assert!(shown.turn.contains("### secret\n") && shown.turn.contains("Secret body."), "{}", shown.turn);
        assert_eq!(shown.turn.contains("Open body."), policy == Policy::Inject);
        assert_eq!(shown.tier, Tier::Documentation);
        let names: Vec<&str> = shown.skills.iter().map(|skill| &*skill.name).collect();
        assert_eq!(names, ["secret", "open"]);
        assert!(!shown.stable.contains("secret"));
        let mut session = skillcue_disclose::Session::default();
        session.apply(&shown);
        assert_eq!(session.recent().next(), Some("secret"));
    }
    assert!(
        show(Policy::Hint)
            .turn
            .ends_with("\n\n[Skills that may fit: open (keyword \"word\"). `load_skill` gives one by its id.]")
    );
    assert!(!show(Policy::Catalog).turn.contains("open"));
}

#[test]
fn a_hidden_skill_is_not_offered_to_models() {
    let (house, selection) = called(&"Line of the body.\n".repeat(200));
    for policy in [Policy::Inject, Policy::Catalog, Policy::Hint] {
        let show = |config| {
            let config = DiscloseConfig { policy, ..config };
            house.discloser(config).disclose(&Situation::new(house.census(), &selection, &Files)).turn
        };
        let cut = show(within(200, 0));
        assert!(cut.contains(" of 200 lines shown. The rest is omitted to save space.]"), "{cut}");
        assert!(!cut.contains("load_skill \"secret\""));
        let none = show(within(20, 0));
        assert!(none.contains("Cannot be shown: secret."), "{none}");
        assert!(!none.contains("not shown: secret"));
    }
    let mut session = skillcue_disclose::Session::default();
    session.record_load("secret", "as it was");
    let budget = crate::house::total(100);
    let back = session.rehydrate(budget, &house.catalog, &Files, &skillcue_disclose::Bytes4);
    assert!(back.text.ends_with("The rest is omitted to save space.]"), "{}", back.text);
}

#[test]
fn policies() {
    let house = two();
    let config = |policy| DiscloseConfig { policy, ..DiscloseConfig::default() };
    let catalog = house.show("a table", &config(Policy::Catalog), None);
    assert!(catalog.stable.starts_with("## Agent Skills\n") && catalog.stable.contains("<id>pdf</id>"));
    assert!(!catalog.stable.contains("pdftotext"));
    assert_eq!((catalog.turn.as_str(), catalog.tokens.turn), ("", Tokens(0)));
    assert_eq!(catalog.skills.len(), 2);

    let hint = house.show("a table", &config(Policy::Hint), None);
    assert_eq!(hint.stable, catalog.stable);
    let line =
        "[Skills that may fit: csv (keyword \"table\"), pdf (keyword \"table\"). `load_skill` gives one by its id.]";
    assert_eq!(hint.turn, line);
    assert_eq!(house.show("2+2?", &config(Policy::Hint), None).turn, "");
    assert_eq!(house.show("What can you do?", &config(Policy::Hint), None).turn, "");
    // The documentation of all comes by `load_skill`; the turn says where the list is, and is the list's tier.
    let all = house.show("show all skills", &config(Policy::Hint), None);
    let line =
        "[All 2 skills are listed under \"Agent Skills\". `load_skill` gives the documentation of one by its id.]";
    assert_eq!((all.tier, all.turn.as_str()), (Tier::Registry, line));
    assert!(all.tokens.turn > Tokens(0));
    let all = house.show("show all skills", &config(Policy::Catalog), None);
    assert_eq!((all.tier, all.turn.as_str()), (Tier::Registry, ""));
    assert_eq!(house.show("show all skills", &config(Policy::Inject), None).tier, Tier::Documentation);

    let none = House::new();
    assert_eq!(&*none.show("a table", &config(Policy::Catalog), None).stable, "");
}

#[test]
fn the_stable_part_does_not_depend_on_the_message() {
    let house = two();
    let discloser = house.discloser(DiscloseConfig { policy: Policy::Hint, ..DiscloseConfig::default() });
    let first = discloser.stable().text.clone();
    for i in 0..50 {
        let selection = house.select(&format!("table {i} show pdf {i}"));
        let shown = discloser.disclose(&Situation::new(house.census(), &selection, &Files));
        assert_eq!(shown.stable, first);
    }
    assert_eq!(house.discloser(discloser.config().clone()).stable().text, first);
    assert!(Arc::ptr_eq(discloser.catalog(), &house.catalog));
    assert!(format!("{discloser:?}").starts_with("Discloser"));
}

fn weak(house: &House, name: &str, certainty: f32) -> Hit {
    let reason = Reason { kind: ReasonKind::Text, ..reason("files") };
    Hit { certainty, confidence: certainty, likelihood: 0.0, ..hit(house, name, vec![reason]) }
}

#[test]
fn fallbacks() {
    let house = two();
    let show = |fallback, hits: Vec<Hit>, closest: &[Hit]| {
        let config = DiscloseConfig { fallback, ..DiscloseConfig::default() };
        let selection = hits_of(Intent::None, hits);
        let situation = Situation { closest, ..Situation::new(house.census(), &selection, &Files) };
        house.discloser(config).disclose(&situation)
    };
    assert_eq!(show(Fallback::None, vec![weak(&house, "pdf", 0.2)], &[]).turn, "[2 skills available]");
    assert_eq!(show(Fallback::None, vec![weak(&house, "pdf", 0.7)], &[]).tier, Tier::Documentation);
    let all = show(Fallback::ShowAll, vec![], &[]);
    assert_eq!(all.tier, Tier::Registry);
    assert!(
        all.turn.starts_with("## Available Capabilities\n\n- **csv**: Reads tables\n- **pdf**: Reads PDF files\n\nAsk")
    );
    let ask = show(Fallback::AskUser, vec![weak(&house, "pdf", 0.2)], &[]);
    assert_eq!(ask.turn, "[2 skills available, none clearly fits. Closest: pdf. Ask the user.]");
    assert_eq!(ask.skills[0].why.as_deref(), Some("it matches too weakly"));
    assert_eq!(show(Fallback::AskUser, vec![], &[weak(&house, "csv", 0.1)]).turn.matches("Closest: csv.").count(), 1);
    let lost = "[2 skills available, none clearly fits. If one is wanted, ask the user which.]";
    assert_eq!(show(Fallback::AskUser, vec![], &[]).turn, lost);

    let plain = House::with([("notes", "description: Notes.", "N.")]);
    let config = DiscloseConfig { fallback: Fallback::AskUser, ..DiscloseConfig::default() };
    let shown = plain.show("2+2?", &config, None);
    assert_eq!(shown.tier, Tier::Registry, "no triggers, nothing close");
    let selection = hits_of(Intent::None, vec![]);
    let in_mode = |mode| {
        let situation = Situation { mode, ..Situation::new(plain.census(), &selection, &Files) };
        plain.discloser(DiscloseConfig::default()).disclose(&situation).turn
    };
    assert!(in_mode(Mode::Keyword).starts_with("## Available Capabilities\n"), "{}", in_mode(Mode::Keyword));
    assert_eq!(in_mode(Mode::Hybrid), "[1 skill available]", "its text would have been found");
    let selection = hits_of(Intent::None, vec![weak(&plain, "notes", 0.1)]);
    let shown = plain.discloser(config).disclose(&Situation::new(plain.census(), &selection, &Files));
    assert_eq!(shown.turn, "[1 skill available, none clearly fits. Closest: notes. Ask the user.]");
}

#[test]
fn weak_hits_beside_strong_ones_are_reported_not_shown() {
    let house = two();
    let hits = vec![hit(&house, "pdf", vec![reason("pdf")]), weak(&house, "csv", 0.1)];
    let selection = hits_of(Intent::None, hits);
    for policy in [Policy::Inject, Policy::Hint] {
        let config = DiscloseConfig { policy, ..DiscloseConfig::default() };
        let shown = house.discloser(config).disclose(&Situation::new(house.census(), &selection, &Files));
        assert_eq!(shown.skills[1].why.as_deref(), Some("it matches too weakly"));
        assert!(!shown.turn.contains("### csv"));
    }
    // The reason for a skill that fits, but only a little better than others, is the true one.
    let alike = |name: &str| Hit { confidence: 0.75, ..weak(&house, name, 0.2) };
    for policy in [Policy::Inject, Policy::Hint] {
        let hits = vec![hit(&house, "pdf", vec![reason("pdf")]), alike("csv")];
        let config = DiscloseConfig { policy, ..DiscloseConfig::default() };
        let selection = hits_of(Intent::None, hits);
        let shown = house.discloser(config).disclose(&Situation::new(house.census(), &selection, &Files));
        assert_eq!(shown.skills[1].why.as_deref(), Some("others fit as well or better; name the one you want"));
        assert!(shown.skills[1].is_weak());
    }
    let selection = hits_of(Intent::None, vec![alike("csv"), alike("pdf")]);
    let shown =
        house.discloser(DiscloseConfig::default()).disclose(&Situation::new(house.census(), &selection, &Files));
    assert_eq!(shown.turn, "[2 skills available]");
    assert!(
        shown
            .skills
            .iter()
            .all(|skill| skill.why.as_deref() == Some("others fit as well or better; name the one you want"))
    );
}

#[test]
fn weak_hits_are_no_matches_that_were_not_shown() {
    let house = two();
    let config = DiscloseConfig { max_skills: 1, ..DiscloseConfig::default() };
    let show = |hits: Vec<Hit>| {
        let selection = Selection { matched: 64, ..hits_of(Intent::None, hits) };
        house.discloser(config.clone()).disclose(&Situation::new(house.census(), &selection, &Files)).turn
    };
    let sure = |name| hit(&house, name, vec![reason("table")]);
    assert!(!show(vec![sure("pdf"), weak(&house, "csv", 0.1)]).contains("not shown"));
    assert!(show(vec![sure("pdf"), sure("csv")]).contains("but not shown: csv and 62 more."));
}

#[test]
fn a_sigil_beats_an_intent() {
    let house = two();
    let mention = Hit { mention: Some(Mention::Sigil), ..hit(&house, "pdf", vec![]) };
    let selection = hits_of(Intent::Registry, vec![mention]);
    let shown =
        house.discloser(DiscloseConfig::default()).disclose(&Situation::new(house.census(), &selection, &Files));
    assert_eq!(shown.tier, Tier::Documentation);
}

#[test]
fn hints_say_why() {
    let house = two();
    let kinds = [
        (ReasonKind::Mention, "(named)"),
        (ReasonKind::Phrase, "(phrase \"x\")"),
        (ReasonKind::Verb, "(verb \"x\")"),
        (ReasonKind::Pattern, "(pattern \"x\")"),
        (ReasonKind::File, "(file \"x\")"),
        (ReasonKind::Language, "(language \"x\")"),
        (ReasonKind::Text, "(words \"x\")"),
        (ReasonKind::Recent, "(used before)"),
    ];
    let discloser =
        house.discloser(DiscloseConfig { policy: Policy::Hint, max_skills: 0, ..DiscloseConfig::default() });
    for (kind, words) in kinds {
        let selection = hits_of(Intent::None, vec![hit(&house, "pdf", vec![Reason { kind, ..reason("x") }])]);
        let shown = discloser.disclose(&Situation::new(house.census(), &selection, &Files));
        assert!(shown.turn.contains(&format!("pdf {words}")), "{}", shown.turn);
    }
    // A regular expression says nothing to a model, half of one less.
    let trigger = r"\b(fix|check|review)\s+(my|the|this)\s+report(ing|ed|s)?\b".to_owned();
    let pattern = |text: &str| {
        let reason = Reason { kind: ReasonKind::Pattern, trigger: trigger.clone(), ..reason(text) };
        let selection = hits_of(Intent::None, vec![hit(&house, "pdf", vec![reason])]);
        discloser.disclose(&Situation::new(house.census(), &selection, &Files)).turn
    };
    assert!(pattern("fix\nthe report").contains("pdf (pattern \"fix the report\")"), "{}", pattern("fix\nthe report"));
    let long = pattern(&"word ".repeat(20));
    assert!(long.contains(&format!("(pattern \"{}…\")", "word ".repeat(8).trim_end())), "{long}");
    let within = pattern("check the reporting of the whole department today");
    assert!(within.contains("(pattern \"check the reporting of the whole…\")"), "no word is cut: {within}");
    let bare = hits_of(Intent::None, vec![hit(&house, "pdf", vec![])]);
    let shown = discloser.disclose(&Situation::new(house.census(), &bare, &Files));
    assert!(shown.turn.contains("fit: pdf. "));
}

#[test]
fn lists_respect_authors_and_configuration() {
    let long = "word ".repeat(60);
    let house = House::with([
        ("a", &*format!("description: {long}\npriority: 3"), ""),
        ("b", &*format!("description: {long}\nbrief_description: {long}"), ""),
        ("c", &*format!("description: {long}"), ""),
    ]);
    let config = |window| DiscloseConfig {
        counter: Counter::Bytes4,
        window: Tokens(window),
        catalog_share: 1.0,
        pinned: ["c".to_owned()].into(),
        ..DiscloseConfig::default()
    };
    let full = house.discloser(config(0)).prompt().tokens;
    let lines = house.discloser(config(full.0 - 20));
    assert!(lines.prompt().shortened.is_empty() && lines.prompt().text.contains("\nc: word"));
    let discloser = house.discloser(config(lines.prompt().tokens.0 - 20));
    assert_eq!(discloser.prompt().shortened, ["b"]);
    let less = house.discloser(config(lines.prompt().tokens.0 - 80));
    assert_eq!(less.prompt().shortened, ["a", "b"]);
    let brief = discloser.registry().text.lines().find(|line| line.starts_with("- **b**")).unwrap().to_owned();
    assert!(brief.ends_with("word…") && brief.chars().count() <= 90, "{brief}");
}

#[test]
fn the_report_has_the_omissions_of_a_list() {
    let house = House::new();
    for i in 0..300 {
        house.put(Source::User, &format!("skill-{i:03}"), "description: Does what it does.", "Body.");
    }
    let house = {
        let mut house = house;
        house.discover(Enablement::default());
        house
    };
    let hits = ["skill-000", "skill-299"].map(|name| weak(&house, name, 0.1)).to_vec();
    for (policy, intent, missing) in [
        (Policy::Hint, Intent::None, "the stable part omits it to save space; `search_skills` finds it"),
        (Policy::Inject, Intent::Registry, "only a list is shown, which omits it to save space"),
    ] {
        let config = DiscloseConfig { policy, window: Tokens(15_000), ..DiscloseConfig::default() };
        let discloser = house.discloser(config);
        let section = if policy == Policy::Hint { discloser.prompt() } else { discloser.registry() };
        let shown = discloser.disclose(&Situation::new(house.census(), &hits_of(intent, hits.clone()), &Files));
        assert_eq!(shown.listed.omitted.count, section.omitted.len());
        assert_eq!(shown.listed.omitted.first, section.omitted[..100]);
        assert_eq!(shown.listed.shortened.count, section.shortened.len());
        assert_eq!(shown.listed.omitted.count + shown.listed.shortened.count, 300);
        let json = serde_json::to_value(&shown).unwrap();
        assert_eq!(json["listed"]["omitted"]["count"], section.omitted.len());
        assert_ne!(shown.skills[0].why.as_deref(), Some(missing));
        assert_eq!(shown.skills[1].why.as_deref(), Some(missing));
    }
    let config = DiscloseConfig { policy: Policy::Hint, window: Tokens(15_000), ..DiscloseConfig::default() };
    let listed = 300 - house.discloser(config.clone()).prompt().omitted.len();
    let all = house.show("show all skills", &config, None).turn;
    let begins =
        format!("[{listed} of 300 skills are listed under \"Agent Skills\", `search_skills` finds the others.");
    assert!(all.starts_with(&begins), "{all}");
    let shown = two().show("open the pdf", &DiscloseConfig::default(), None);
    assert!(serde_json::to_value(&shown).unwrap().get("listed").is_none(), "nothing left out, nothing said");
}

#[test]
fn requests_that_need_no_skill_cost_next_to_nothing() {
    for (count, least) in [(10, 95.0), (100, 99.0)] {
        let house = House::new();
        for i in 0..count {
            let front = format!("description: Skill number {i}.\ntriggers: {{keywords: [kw{i}]}}");
            house.put(Source::User, &format!("skill-{i:03}"), &front, &"One line of documentation.\n".repeat(20));
        }
        let mut house = house;
        house.discover(Enablement::default());
        let shown = house.show("What is 2+2?", &DiscloseConfig::default(), None);
        let spent = (shown.tokens.turn + shown.tokens.stable).0;
        #[expect(clippy::cast_precision_loss, reason = "small numbers")]
        let saved = 100.0 - 100.0 * spent as f64 / shown.tokens.eager.0 as f64;
        assert!(saved >= least && spent <= 10, "{saved} % at {count}");
    }
}

#[test]
fn ten_long_headings_are_paid_from_the_budget() {
    let mut house = House::new();
    for i in 0..10 {
        let front = "description: D.\ntriggers: {keywords: [word]}";
        house.put(Source::User, &format!("{}-{i}", "n".repeat(62)), front, &"Line.\n".repeat(100));
    }
    house.discover(Enablement::default());
    let shown = house.show("a word", &DiscloseConfig { max_skills: 10, ..within(700, 0) }, None);
    assert!(shown.tokens.turn <= Tokens(800), "{}", shown.tokens.turn);
}

#[test]
fn headings_that_are_not_shown_cost_nothing() {
    let mut house = House::new();
    let front = "description: D.\ntriggers: {keywords: [word]}";
    house.put(Source::Inline, "first", front, &"Line of the body.\n".repeat(40));
    for i in 0..9 {
        house.put(Source::User, &format!("{}-{i}", "n".repeat(62)), front, &"Line.\n".repeat(1000));
    }
    house.discover(Enablement::default());
    let shown = house.show("a word", &DiscloseConfig { max_skills: 10, ..within(210, 0) }, None);
    let first = shown.skills.iter().find(|skill| skill.name == "first").unwrap();
    assert_eq!(first.decision, Decision::Included, "{:?}", first.why);
    assert!(shown.tokens.turn <= Tokens(310), "{}", shown.tokens.turn);
}

#[test]
fn a_counter_that_is_not_built_in_is_an_error() {
    let config = DiscloseConfig { counter: Counter::O200k, ..DiscloseConfig::default() };
    let made = Discloser::new(Arc::clone(&two().catalog), config);
    assert_eq!(made.err(), (!cfg!(feature = "exact-tokens")).then_some(CounterError::Missing));
}

#[test]
fn a_hit_that_is_no_longer_there_is_passed_over() {
    let house = two();
    let gone = Hit { skill: 99, name: "gone".to_owned(), ..hit(&house, "pdf", vec![]) };
    let moved = Hit { skill: 0, ..hit(&house, "pdf", vec![]) };
    let selection: Selection = hits_of(Intent::None, vec![gone, moved]);
    let shown =
        house.discloser(DiscloseConfig::default()).disclose(&Situation::new(house.census(), &selection, &Files));
    assert!(shown.turn.contains("### pdf") && !shown.turn.contains("gone"));
}
