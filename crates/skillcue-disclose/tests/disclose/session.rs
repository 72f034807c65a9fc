//! The memory of a conversation.

use skillcue_catalog::{Enablement, Source};
use skillcue_disclose::{
    BodySource, Budget, Bytes4, Counter, Decision, DiscloseConfig, Inclusion, LeaveReason, MAX_REMEMBERED, Session,
    SessionError, Tokens,
};

use crate::house::{Files, House, total, unlimited, within};

const TRIGGER: &str = "description: D.\ntriggers: {keywords: [word]}";
const REFERENCE: &str = "(Already in this conversation, unchanged.)";

fn one(body: &str) -> House {
    House::with([("pdf", TRIGGER, body)])
}

#[test]
fn a_body_is_shown_once_until_it_changes() {
    let house = one("First.");
    let config = unlimited(Counter::Bytes4);
    let mut session = Session::default();
    let shown = house.show("word", &config, Some(&session));
    assert!(shown.turn.contains("First."));
    session.apply(&shown);

    let again = house.show("word", &config, Some(&session));
    assert_eq!(again.turn, format!("## Relevant Skill Documentation\n\n### pdf\n\n{REFERENCE}"));
    assert_eq!(again.skills[0].decision, Decision::Included);
    assert_eq!(again.skills[0].why.as_deref(), Some("in this conversation since turn 1, unchanged"));
    session.apply(&again);
    assert_eq!(session.turn(), 2);
    let known = session.remembered().next().unwrap();
    assert_eq!((known.how, known.turn, known.tokens), (Inclusion::Injected, 2, shown.skills[0].tokens));

    house.put(Source::User, "pdf", TRIGGER, "Second.");
    assert!(house.show("word", &config, Some(&session)).turn.contains("Second."), "changed");
}

#[test]
fn after_compaction_it_is_shown_again() {
    let house = one("First.");
    let config = unlimited(Counter::Bytes4);
    let mut session = Session::default();
    session.apply(&house.show("word", &config, Some(&session)));
    session.compacted();
    assert!(house.show("word", &config, Some(&session)).turn.contains("First."));
    assert_eq!(session.recent().collect::<Vec<_>>(), ["pdf"], "but it was used");
}

#[test]
fn a_cut_body_is_shown_again_only_if_more_of_it_fits() {
    let house = one(&"Line of the body.\n".repeat(100));
    let mut session = Session::default();
    let small = within(200, 0);
    let first = house.show("word", &small, Some(&session));
    assert_eq!(first.skills[0].decision, Decision::Shortened);
    session.apply(&first);
    let second = house.show("word", &small, Some(&session));
    assert!(second.turn.contains(REFERENCE) && !second.turn.contains("Line of"));
    assert_eq!(second.skills[0].why.as_deref(), Some("its beginning is in this conversation already"));
    session.apply(&second);
    assert!(session.remembered().next().unwrap().shortened);
    let third = house.show("word", &within(8000, 0), Some(&session));
    assert_eq!(third.skills[0].decision, Decision::Included);
    assert!(third.turn.contains("Line of"));
}

#[test]
fn a_cut_body_is_not_shown_again_where_less_of_it_fits_and_costs_a_reference() {
    let long = "Line of the body.\n".repeat(100);
    let house = House::with([("a", TRIGGER, &*long), ("b", TRIGGER, &*long)]);
    let mut session = Session::default();
    let first = house.show("word", &within(300, 200), None);
    assert_eq!(first.skills[0].decision, Decision::Shortened);
    session.apply(&first);
    let known = session.remembered().next().unwrap();
    assert!(known.shown > 500 && known.shown < long.len() && known.shortened);
    let restored = Session::from_json(&session.to_json()).unwrap();
    assert_eq!(restored, session);
    for limit in [200, 150, 100, 60] {
        let again = house.show("word", &within(300, limit), Some(&session));
        assert_eq!(again.skills[0].why.as_deref(), Some("its beginning is in this conversation already"), "{limit}");
        assert_eq!((again.skills[0].decision, again.skills[0].tokens), (Decision::Shortened, Tokens(11)));
    }
    // The tokens that `a` does not take are for `b`, of which less than half as much fitted before.
    let again = house.show("word", &within(300, 200), Some(&session));
    assert!(again.skills[1].tokens > first.skills[1].tokens, "{} {}", again.skills[1].tokens, first.skills[1].tokens);
    assert!(again.turn.contains("### b\n\nBase directory"));

    house.put(Source::User, "a", TRIGGER, &format!("{long}One more.\n"));
    assert!(house.show("word", &within(300, 100), Some(&session)).turn.contains("### a\n\nBase"), "changed");
}

#[test]
fn a_rehydrated_skill_is_in_context() {
    let house = one(&"Line of the body.\n".repeat(100));
    let mut session = Session::default();
    session.record_load("pdf", "as it was then");
    session.rehydrate(total(200), &house.catalog, &Files, &Bytes4);
    assert!(house.show("word", &within(150, 0), Some(&session)).turn.ends_with(REFERENCE));
    assert!(!house.show("word", &within(400, 0), Some(&session)).turn.contains(REFERENCE));
}

#[test]
fn a_skill_loaded_with_arguments_comes_back_with_them() {
    let house = one("Do $ARGUMENTS, then again $ARGUMENTS;\n");
    let plain = Files.body(house.catalog.get("pdf").unwrap()).unwrap();
    let mut session = Session::default();
    session.record_load_with("pdf", "a \"b\" ü", &plain);
    let back = |session: &Session| {
        let mut session = Session::from_json(&session.to_json()).unwrap();
        let back = session.rehydrate(Budget::default(), &house.catalog, &Files, &Bytes4);
        assert!(back.omitted.is_empty(), "{:?}", back.omitted);
        (back.text, session)
    };
    let expected = "Do a \"b\" ü, then again a \"b\" ü;";
    let (text, again) = back(&session);
    assert!(text.ends_with(expected), "{text}");
    // Once more, and after it was only referred to, and after it was shown anew.
    let (text, mut again) = back(&again);
    assert!(text.ends_with(expected), "{text}");
    let shown = house.show("word", &DiscloseConfig::default(), Some(&again));
    assert!(shown.turn.ends_with(REFERENCE), "a disclosure has no arguments: {}", shown.turn);
    again.apply(&shown);
    assert!(back(&again).0.ends_with(expected));
    again.compacted();
    again.apply(&house.show("word", &DiscloseConfig::default(), Some(&again)));
    assert!(back(&again).0.ends_with(expected));
    // The last load counts, with or without.
    again.record_load_with("pdf", "c", &plain);
    assert!(back(&again).0.ends_with("Do c, then again c;"));
    again.record_load("pdf", &plain);
    assert!(back(&again).0.ends_with("Do , then again ;"));
}

#[test]
fn arguments_without_end_are_not_remembered_without_end() {
    let house = one("Do $ARGUMENTS;\n");
    let mut session = Session::default();
    session.record_load_with("pdf", &"ü".repeat(1 << 20), "x");
    let known = &session.remembered().next().unwrap().arguments;
    assert!(known.len() < 17 << 10 && known.ends_with("ü…"), "{}", known.len());
    let budget = Budget { total: None, per_skill: None };
    assert!(session.rehydrate(budget, &house.catalog, &Files, &Bytes4).text.ends_with("ü…;"));
}

#[test]
fn sessions_of_before_are_read() {
    let house = one("First.");
    let mut session = Session::default();
    session.apply(&house.show("word", &DiscloseConfig::default(), None));
    let shown = format!("\"shown\":{},", session.remembered().next().unwrap().shown);
    let json = session.to_json();
    assert!(json.contains(&shown));
    let old = Session::from_json(&json.replace(&shown, "")).unwrap();
    assert!(house.show("word", &DiscloseConfig::default(), Some(&old)).turn.ends_with(REFERENCE));
    // Arguments are written where there are some, and nowhere else.
    assert!(!json.contains("arguments"), "{json}");
    session.record_load_with("pdf", "x", "body");
    let json = session.to_json();
    let mut old = Session::from_json(&json.replace(",\"arguments\":\"x\"", "")).unwrap();
    assert_ne!(old, session);
    let back = old.rehydrate(Budget::default(), &house.catalog, &Files, &Bytes4);
    assert!(back.text.ends_with("First."), "{}", back.text);
}

#[test]
fn a_loaded_skill_is_not_injected() {
    let house = one("First.");
    let mut session = Session::default();
    let skill = house.catalog.get("pdf").unwrap();
    session.record_load("pdf", &Files.body(skill).unwrap());
    assert!(house.show("word", &unlimited(Counter::Segment), Some(&session)).turn.contains(REFERENCE));
    assert_eq!(session.remembered().next().unwrap().how, Inclusion::Loaded);
}

#[test]
fn addresses_have_names() {
    let mut session = Session::default();
    for address in ["pdf@user", "tools:pdf", "tools:pdf#2", "pdf"] {
        session.record_load(address, "x");
    }
    assert_eq!(session.recent().collect::<Vec<_>>(), ["pdf"; 4]);
    session.record_load("tools:pdf", "y");
    assert_eq!(session.remembered().count(), 4);
}

#[test]
fn the_best_match_is_the_most_recent() {
    let house = House::with([("a", TRIGGER, "A."), ("b", TRIGGER, "B.")]);
    let mut session = Session::default();
    session.apply(&house.show("word", &DiscloseConfig::default(), None));
    assert_eq!(session.recent().collect::<Vec<_>>(), ["a", "b"]);
}

#[test]
fn json_there_and_back() {
    let house = one("First.");
    let mut session = Session::default();
    session.apply(&house.show("word", &DiscloseConfig::default(), None));
    session.record_load("csv", "text");
    let json = session.to_json();
    assert!(json.starts_with("{\"version\":1,\"turn\":1,"));
    assert_eq!(Session::from_json(&json).unwrap(), session);
    assert_eq!(serde_json::from_str::<Session>(&json).unwrap(), session);

    let newer = json.replace("\"version\":1", "\"version\":7");
    let error = Session::from_json(&newer).unwrap_err();
    assert!(matches!(error, SessionError::Version(7)));
    assert!(error.to_string().starts_with("this session has version 7, and only version 1 is known here"));
    assert!(serde_json::from_str::<Session>(&newer).unwrap_err().to_string().contains("version 7"));
    assert!(matches!(Session::from_json("[]"), Err(SessionError::Malformed(_))));
    let bent = json.replace("\"digest\":\"", "\"digest\":\"z");
    assert!(matches!(Session::from_json(&bent), Err(SessionError::Malformed(_))));
}

#[test]
fn numbers_of_a_session_file_may_be_any() {
    let house = one(&"Line of the body.\n".repeat(100));
    let mut session = Session::default();
    session.apply(&house.show("word", &within(200, 0), None));
    let json = session.to_json().replace("\"turn\":1", &format!("\"turn\":{}", u64::MAX));
    let tokens = format!("\"tokens\":{},", session.remembered().next().unwrap().tokens);
    let json = json.replace(&tokens, &format!("\"tokens\":{},", usize::MAX));
    let mut session = Session::from_json(&json).unwrap();
    for config in [within(200, 0), within(100, 0), within(8000, 0), unlimited(Counter::Segment)] {
        session.apply(&house.show("word", &config, Some(&session)));
    }
    assert_eq!(session.turn(), u64::MAX);
    session.rehydrate(total(100), &house.catalog, &Files, &Bytes4);
}

#[test]
fn the_oldest_are_forgotten() {
    let mut session = Session::default();
    for i in 0..MAX_REMEMBERED + 5 {
        session.record_load(&format!("s{i}"), "x");
    }
    assert_eq!(session.remembered().count(), MAX_REMEMBERED);
    assert_eq!(session.recent().last(), Some("s5"));
}

#[test]
fn rehydration_goes_back_from_the_most_recent() {
    let mut house = House::new();
    for name in ["a", "b", "c", "gone", "off", "unread"] {
        house.put(Source::User, name, "description: D.", &format!("Body of {name}.\n").repeat(12));
    }
    house.discover(Enablement { disable: ["off".to_owned()].into(), ..Enablement::default() });
    let mut session = Session::default();
    for name in ["a", "b", "off", "unread", "missing", "c"] {
        session.record_load(name, "as it was then");
    }
    std::fs::remove_file(house.catalog.get("unread").unwrap().path()).unwrap();
    let budget = total(85);
    let back = session.rehydrate(budget, &house.catalog, &Files, &Bytes4);
    let shown: Vec<_> = back.skills.iter().map(|skill| (&*skill.name, skill.decision)).collect();
    assert_eq!(shown, [("c", Decision::Included), ("b", Decision::Shortened)]);
    assert!(back.text.starts_with("## Skills in Use\n\n### c\n\nBase directory"));
    assert!(back.text.ends_with("Used before, not shown again: a. `load_skill` gives one by its id."), "{}", back.text);
    assert_eq!(back.tokens, Tokens::bytes4(back.text.len()));
    assert!(back.skills.iter().map(|skill| skill.tokens).sum::<Tokens>() <= Tokens(85));
    let omitted: Vec<&str> = back.omitted.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(omitted, ["missing", "unread", "off", "a"]);
    assert_eq!(back.omitted[1].1, "it cannot be read: entity not found");

    let states: Vec<_> = session.remembered().map(|skill| (skill.how, skill.in_context)).collect();
    assert_eq!(states[0], (Inclusion::Rehydrated, true));
    assert_eq!(states[5], (Inclusion::Loaded, false));
    assert_eq!(Inclusion::Rehydrated.to_string(), "rehydrated");
    assert_eq!(format!("{} {}", Inclusion::Loaded, Inclusion::Injected), "loaded injected");
    assert_eq!(Session::default().rehydrate(Budget::default(), &house.catalog, &Files, &Bytes4).text, "");
}

#[test]
fn rehydration_does_not_pay_for_headings_that_are_not_shown() {
    let mut house = House::new();
    let mut session = Session::default();
    house.put(Source::User, "short", TRIGGER, "Short.");
    session.record_load("short", "as it was then");
    for i in 0..20 {
        let name = format!("{}-{i}", "n".repeat(60));
        house.put(Source::User, &name, TRIGGER, &"x".repeat(4000));
        session.record_load(&name, "as it was then");
    }
    house.discover(Enablement::default());
    // Enough for the short one, but not for the beginning of any of the others.
    let budget = Budget { total: Some(Tokens(300)), per_skill: Some(Tokens(30)) };
    let back = session.rehydrate(budget, &house.catalog, &Files, &Bytes4);
    let shown: Vec<_> = back.skills.iter().map(|skill| (&*skill.name, skill.decision)).collect();
    assert_eq!(shown, [("short", Decision::Included)]);
}

#[test]
fn rehydration_of_bodies_that_are_too_long() {
    let mut session = Session::default();
    session.record_load("pdf", "x");
    let house = one(&"long ".repeat(100));
    let budget = Budget { total: Some(Tokens(5)), per_skill: None };
    let back = session.rehydrate(budget, &house.catalog, &Files, &Bytes4);
    assert_eq!(back.skills.len(), 0);
    assert!(back.omitted[0].1.contains("not even its first line fits"));
    assert_eq!(back.text, "Used before, not shown again: pdf. `load_skill` gives one by its id.");
}

#[test]
fn skills_leave_for_a_reason_and_only_evicted_ones_come_back() {
    let short = "description: D.\nlifecycle: {turns: 2}\ntriggers: {keywords: [word]}";
    let house = House::with([("a", TRIGGER, "A."), ("b", short, "B."), ("c", TRIGGER, "C.")]);
    let mut session = Session::default();
    session.apply(&house.show("word", &unlimited(Counter::Bytes4), Some(&session)));
    assert!(session.expire(&house.catalog).is_empty(), "the first of two turns");
    session.apply(&house.show("other", &unlimited(Counter::Bytes4), Some(&session)));
    assert_eq!(session.expire(&house.catalog), ["b"]);
    session.unloaded("a");
    session.evicted(["c", "b", "a"]);
    let mut session = Session::from_json(&session.to_json()).unwrap();
    let left = |name: &str| session.remembered().find(|skill| skill.name == name).unwrap().left;
    let expected = [LeaveReason::Unloaded, LeaveReason::Expired, LeaveReason::Evicted].map(Some);
    assert_eq!(["a", "b", "c"].map(left), expected);
    // All can be shown again, and rehydration shows what was dropped for room alone.
    assert_eq!(house.show("word", &unlimited(Counter::Bytes4), Some(&session)).turn.matches(REFERENCE).count(), 0);
    let back = session.rehydrate(Budget::default(), &house.catalog, &Files, &Bytes4);
    assert_eq!(back.skills.iter().map(|skill| skill.name.as_str()).collect::<Vec<_>>(), ["c"]);
}

#[test]
fn sessions_of_other_versions_are_read() {
    // Written before parts, forms and reasons were remembered.
    let content = "Base directory for this skill: /pdf\n\nFirst.";
    let mut session = Session::default();
    session.record_load_with("pdf", "x", content);
    let mut old: serde_json::Value = serde_json::from_str(&session.to_json()).unwrap();
    let skill = old["skills"][0].as_object_mut().unwrap();
    assert!(skill.get("forms").is_none() && skill.get("left").is_none(), "{skill:?}");
    skill.remove("parts");
    let read = Session::from_json(&old.to_string()).unwrap();
    assert!(read.shows("pdf", "x", content, 0..content.len()) && !read.shows("pdf", "", content, 0..content.len()));
    // Written by a version that remembers more.
    old["skills"][0]["later"] = serde_json::json!({"a": 1});
    assert_eq!(Session::from_json(&old.to_string()).unwrap(), read);
}
