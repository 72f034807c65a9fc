//! Verdicts: which event belongs to which, across conversations and programs.

use std::time::{Duration, SystemTime};

use skillcue::usage::UsageKind::{self, FileRead, Loaded, Missed, Run, Shown};
use skillcue_usage::{
    Accuracy, ConfusedPair, KnownSkill, Ledger, LedgerEvent, LedgerQuery, MessageCount, UsageGrouping, UsageReport,
    feedback,
};

use crate::at;

fn event(seconds: u64, kind: UsageKind, skill: &str, session: &str) -> LedgerEvent {
    LedgerEvent {
        at: at(seconds),
        session: session.to_owned(),
        project: "/p".to_owned(),
        turn: 1,
        client: "agent".to_owned(),
        tier: (kind == Shown).then_some(2),
        ..LedgerEvent::new(kind, skill)
    }
}

fn accuracy(events: &[LedgerEvent]) -> Accuracy {
    UsageReport::of(events, &[]).accuracy
}

#[test]
fn a_use_belongs_to_the_latest_showing_in_its_conversation() {
    let events = [
        event(0, Shown, "a", "s1"),
        event(1, Shown, "a", "s2"),
        event(2, Shown, "a", "s1"),
        event(3, Loaded, "a", "s1"),
        event(4, FileRead, "a", "s1"),
        event(9_000, Run, "a", "s2"),
    ];
    assert_eq!(accuracy(&events), Accuracy { right: 2, offered: 1, ..Accuracy::default() });
}

#[test]
fn a_load_by_another_program_soon_after_counts_for_what_a_hook_showed() {
    let by = |client: &str, event: LedgerEvent| LedgerEvent { client: client.to_owned(), ..event };
    let shown = by("hook:claude", event(0, Shown, "a", "s1"));
    let near = by("mcp", event(60, Loaded, "a", "mcp-1"));
    let far = by("mcp", event(3_600, Loaded, "a", "mcp-1"));
    let missed = by("mcp", event(60, Missed, "a", "mcp-1"));
    let right = Accuracy { right: 1, ..Accuracy::default() };
    assert_eq!(accuracy(&[shown.clone(), near.clone()]), right);
    assert_eq!(accuracy(&[shown.clone(), far]), Accuracy { offered: 1, ..Accuracy::default() });
    assert_eq!(accuracy(&[shown.clone(), missed.clone(), near.clone()]), right, "it was shown, so it was not missed");
    let elsewhere = LedgerEvent { project: "/q".to_owned(), ..near };
    assert_eq!(accuracy(&[shown, elsewhere.clone()]).right, 0);
    assert_eq!(accuracy(&[missed, elsewhere]), Accuracy { missed: 1, ..Accuracy::default() });
}

#[test]
fn a_body_without_any_sign_of_use_is_unclear_and_not_wrong() {
    let body = |seconds, session| LedgerEvent { tier: Some(3), ..event(seconds, Shown, "a", session) };
    let report = UsageReport::of(&[body(0, "s1"), body(1, "s2"), body(2, "s3")], &[]);
    assert_eq!(report.accuracy, Accuracy { unclear: 3, ..Accuracy::default() });
    assert_eq!((report.findings.silent, report.findings.stuck), (vec!["a".to_owned()], vec![]));
    // A skill that has files gives signs: where there is none, it was not used.
    let events = [body(0, "s1"), body(1, "s2"), event(2, FileRead, "a", "s2")];
    assert_eq!(accuracy(&events), Accuracy { right: 1, wrong: 1, ..Accuracy::default() });
}

#[test]
fn a_pair_is_confused_where_the_wrong_one_comes_first() {
    let mut events = Vec::new();
    for number in 0..4_u64 {
        let session = format!("s{number}");
        events.push(event(number * 100, Shown, "first", &session));
        events.push(event(number * 100, Shown, "second", &session));
        events.push(event(number * 100, Shown, "third", &session));
        events.push(event(number * 100 + 1, Loaded, "second", &session));
    }
    for number in 4..7_u64 {
        events.push(event(number * 100, Shown, "first", &format!("s{number}")));
        events.push(event(number * 100 + 1, Loaded, "hidden", &format!("s{number}")));
    }
    let confused = UsageReport::of(&events, &[]).findings.confused;
    let pair = |used: &str, times| ConfusedPair { shown: "first".to_owned(), used: used.to_owned(), times };
    assert_eq!(confused, [pair("second", 4), pair("hidden", 3)]);
}

#[test]
fn groups_have_their_own_accuracy_and_empty_weeks_are_shown() {
    let mode = |mode: &str, event: LedgerEvent| LedgerEvent { mode: mode.to_owned(), ..event };
    let three_weeks = Duration::from_hours(3 * 7 * 24).as_secs();
    let events = [
        mode("keyword", event(0, Shown, "a", "s1")),
        mode("hybrid", event(10, Shown, "a", "s2")),
        mode("hybrid", event(11, Loaded, "a", "s2")),
        mode("hybrid", event(three_weeks, Shown, "b", "s3")),
    ];
    let report = UsageReport::of(&events, &[]);
    let rates: Vec<(&str, Option<f64>)> =
        report.by(UsageGrouping::Mode).iter().map(|group| (group.key.as_str(), group.rate)).collect();
    assert_eq!(rates, [("hybrid", Some(1.0)), ("keyword", None)]);
    let weeks: Vec<usize> = report.by(UsageGrouping::Week).iter().map(|group| group.shown).collect();
    assert_eq!(weeks, [2, 0, 0, 1]);
    assert_eq!(report.skills.iter().find(|skill| skill.name == "a").unwrap().weeks, [3, 0, 0, 0]);
}

#[test]
fn a_report_ends_with_the_present_week() {
    let week = Duration::from_hours(7 * 24).as_secs();
    let events = [
        event(0, Shown, "a", "s1"),
        event(week, Loaded, "a", "s1"),
        event(week + 60, Loaded, "a", "s2"),
        // A clock that was wrong.
        event(50_000 * week, Loaded, "a", "s1"),
        event(400_000 * week, Loaded, "b", "s3"),
    ];
    let report = UsageReport::with_messages(&events, &[], &[], at(week + 30));
    assert_eq!(report.by(UsageGrouping::Week).len(), 2);
    let skills: Vec<_> = report.skills.iter().map(|skill| (skill.name.as_str(), skill.weeks.clone())).collect();
    assert_eq!((report.events, skills), (3, vec![("a", vec![1, 2])]));
    let of_skill = UsageReport::of_skill("b", &events, &[], &[], at(week + 30));
    assert_eq!((of_skill.events, of_skill.skills.len()), (0, 0));
}

#[test]
fn events_of_the_future_are_no_feedback_and_no_uses() {
    let now = SystemTime::now();
    let later = now + Duration::from_hours(60 * 24);
    let named = |at| LedgerEvent { at, tier: Some(2), ..LedgerEvent::new(Shown, "a") };
    assert!(feedback(&vec![named(now); 12], now).contains_key("a"));
    assert!(feedback(&vec![named(later); 12], now).is_empty());
    let dir = tempfile::tempdir().unwrap();
    let ledger = Ledger::new(dir.path().join("usage.db"));
    let loaded = |at| LedgerEvent { at, ..LedgerEvent::new(Loaded, "a") };
    ledger.write(&[loaded(now), loaded(later)]).unwrap();
    assert_eq!(ledger.uses(&LedgerQuery::default()).unwrap()["a"], 1);
}

#[test]
fn messages_of_the_future_are_no_chance() {
    let day = 24 * 60 * 60;
    let count = |days: u64, number| MessageCount {
        at: at(days * day),
        project: "/p".to_owned(),
        client: "agent".to_owned(),
        number,
    };
    let known = [KnownSkill { name: "b".to_owned(), since: None }];
    let messages = [count(0, 40), count(16, 500), count(400, 5_000)];
    let report = UsageReport::with_messages(&[], &known, &messages, at(15 * day + 60));
    assert_eq!((report.messages, report.findings.dead.len(), report.findings.untried.len()), (40, 0, 1));
}

#[test]
fn a_name_is_an_offer_and_neither_right_nor_wrong_by_itself() {
    // What a hook's list of names leaves: seven names a message, and one of them is loaded once.
    let mut events: Vec<LedgerEvent> = (0..8_u64)
        .flat_map(|turn| (0..7).map(move |rank| event(turn * 60, Shown, &format!("s{rank}"), &format!("t{turn}"))))
        .collect();
    let report = UsageReport::of(&events, &[]);
    assert_eq!(report.accuracy, Accuracy { offered: 56, ..Accuracy::default() });
    assert_eq!((report.rate, report.findings.stuck.len()), (None, 0));
    events.push(event(421, Loaded, "s3", "t7"));
    let report = UsageReport::of(&events, &[]);
    assert_eq!(report.accuracy, Accuracy { right: 1, offered: 55, ..Accuracy::default() });
    assert_eq!(report.rate, Some(1.0));
    // A body of a skill that gives signs is another matter.
    events.push(LedgerEvent { tier: Some(3), ..event(500, Shown, "s3", "t8") });
    assert_eq!(UsageReport::of(&events, &[]).accuracy.wrong, 1);
}

#[test]
fn a_skill_is_dead_only_after_a_fair_chance() {
    let day = 24 * 60 * 60;
    let count = |days: u64, number| MessageCount {
        at: at(days * day),
        project: "/p".to_owned(),
        client: "agent".to_owned(),
        number,
    };
    let known = |since: Option<u64>| KnownSkill { name: "b".to_owned(), since: since.map(|days| at(days * day)) };
    let dead = |messages: &[MessageCount], since, now: u64| {
        let events = [event(0, Shown, "a", "s1")];
        let findings = UsageReport::with_messages(&events, &[known(since)], messages, at(now * day)).findings;
        assert_eq!(findings.dead.len() + findings.untried.len(), 1);
        !findings.dead.is_empty()
    };
    assert!(!dead(&[], None, 400), "no message");
    assert!(!dead(&[count(0, 5_000)], None, 0), "many messages within a day");
    assert!(!dead(&[count(0, 1), count(90, 98)], None, 90), "many days, and few messages");
    assert!(dead(&[count(0, 50), count(14, 50)], None, 14), "14 days and 100 messages");
    assert!(!dead(&[count(0, 5_000), count(30, 20)], Some(25), 40), "it is new, and so are few messages");
    assert!(!dead(&[count(0, 5_000), count(30, 500)], Some(29), 40), "it has been there for eleven days");
    assert!(dead(&[count(0, 5_000), count(30, 500)], Some(25), 40));
}
