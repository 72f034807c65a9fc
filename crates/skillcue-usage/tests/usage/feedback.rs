//! Feedback on the labelled set, with a user who needs only some of the skills: what it changes, and what it must not.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, SystemTime};

use skillcue::eval::EvalCase;
use skillcue::select::{SkillFeedback, Thresholds};
use skillcue::usage::{UsageKind, shown_events};
use skillcue::{Mode, Request, Skillcue};
use skillcue_usage::{LedgerEvent, feedback};

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/labelled"))
}

fn skills(feedback: BTreeMap<String, SkillFeedback>) -> Skillcue {
    let skills = Skillcue::builder().skills_dir(root().join("skills")).feedback(feedback).build().unwrap();
    skills.index_bodies();
    skills
}

/// Returns the messages of a user who never needs every third skill of the set, in two halves.
fn messages() -> (Vec<EvalCase>, Vec<EvalCase>) {
    let cases = EvalCase::read(&std::fs::read_to_string(root().join("messages.jsonl")).unwrap(), None).unwrap();
    let catalog = skills(BTreeMap::new()).catalog();
    let is_foreign =
        |name: &String| catalog.skills().position(|skill| skill.name() == *name).is_some_and(|at| at % 3 == 0);
    let own = cases.into_iter().filter(|case| !case.relevant.iter().any(is_foreign));
    let (past, present): (Vec<_>, Vec<_>) = own.enumerate().partition(|(at, _)| at % 2 == 0);
    let take = |half: Vec<(usize, EvalCase)>| half.into_iter().map(|(_, case)| case).collect();
    (take(past), take(present))
}

/// Returns the events of four weeks in which the user sends the messages again and again, and uses what they need: it is
/// loaded if it was shown, and else searched for.
fn past_events(skills: &Skillcue, messages: &[EvalCase], now: SystemTime) -> Vec<LedgerEvent> {
    let mut events = Vec::new();
    for week in (0..4).rev() {
        for (number, case) in messages.iter().enumerate() {
            let at = now - Duration::from_hours(week * 7 * 24) - Duration::from_secs(3_600 * (number as u64 % 100));
            let session = format!("{week}-{number}");
            let event = |kind, skill: &str, after: u64, tier| LedgerEvent {
                at: at + Duration::from_secs(after),
                session: session.clone(),
                project: "/p".to_owned(),
                client: "agent".to_owned(),
                turn: 1,
                tier,
                ..LedgerEvent::new(kind, skill)
            };
            let shown = shown_events(&skills.disclose(case.query.as_str()), None);
            events.extend(shown.iter().map(|shown| event(UsageKind::Shown, &shown.skill, 0, shown.tier)));
            for needed in &case.relevant {
                if !shown.iter().any(|shown| shown.skill == *needed) {
                    events.push(event(UsageKind::Missed, needed, 9, None));
                }
                events.push(event(UsageKind::Loaded, needed, 9, None));
            }
        }
    }
    events.sort_by_key(|event| event.at);
    events
}

/// The number of right skills in first place and shown at all, and of wrong ones that were shown.
#[derive(Debug, PartialEq, Eq, Clone, Copy)]
struct ShownCount {
    first: usize,
    shown: usize,
    wrong: usize,
}

fn count(skills: &Skillcue, messages: &[EvalCase]) -> ShownCount {
    let mut count = ShownCount { first: 0, shown: 0, wrong: 0 };
    for case in messages {
        let hits = skills.select(&Request::new(&case.query)).hits;
        count.first += usize::from(hits.first().is_some_and(|hit| case.relevant.contains(&hit.name)));
        for event in shown_events(&skills.disclose(case.query.as_str()), None) {
            *if case.relevant.contains(&event.skill) { &mut count.shown } else { &mut count.wrong } += 1;
        }
    }
    count
}

#[test]
fn a_skewed_user_is_shown_fewer_wrong_skills_and_hardly_fewer_right_ones() {
    let (past, present) = messages();
    let plain = skills(BTreeMap::new());
    let now = SystemTime::now();
    let learned = skills(feedback(&past_events(&plain, &past, now), now));
    let (before, after) = (count(&plain, &present), count(&learned, &present));
    println!("{} unseen messages: before {before:?}, after {after:?}", present.len());
    assert!(after.wrong * 100 <= before.wrong * 85, "before {before:?}, after {after:?}");
    assert!(after.shown + 1 >= before.shown && after.first + 1 >= before.first, "before {before:?}, after {after:?}");
}

#[test]
fn no_skill_is_lifted_over_a_threshold_and_the_stable_part_stays() {
    let (past, present) = messages();
    let plain = skills(BTreeMap::new());
    // As much praise for every skill as there can be.
    let most = |name: &str| (name.to_owned(), SkillFeedback { shift: 99.0, why: "praised".to_owned() });
    let praised = skills(plain.catalog().skills().map(|skill| most(skill.name())).collect());
    let thresholds = Thresholds::default();
    for case in past.iter().chain(&present) {
        let grades = |skills: &Skillcue| -> BTreeMap<String, _> {
            let hits = skills.select(&Request::new(&case.query).limit(50)).hits;
            hits.iter().map(|hit| (hit.name.clone(), hit.grade(Mode::Hybrid, &thresholds))).collect()
        };
        assert_eq!(grades(&plain), grades(&praised), "{}", case.query);
        let (one, other) = (plain.disclose(case.query.as_str()), praised.disclose(case.query.as_str()));
        assert_eq!((one.tier, one.stable), (other.tier, other.stable), "{}", case.query);
    }
    assert_eq!(plain.prompt(), praised.prompt());
}

#[test]
fn feedback_is_per_project_and_seen_in_an_explanation() {
    let plain = skills(BTreeMap::new());
    let request = Request::new("fill in the form fields of application.pdf");
    let first = plain.select(&request).hits[0].clone();
    let named = |seconds: u64| LedgerEvent {
        at: SystemTime::now() - Duration::from_secs(seconds),
        tier: Some(2),
        ..LedgerEvent::new(UsageKind::Shown, first.name.clone())
    };
    let events: Vec<LedgerEvent> = (0..9).rev().map(named).collect();
    let given = feedback(&events, SystemTime::now());
    assert_eq!(given[&first.name].why, "shown 9 times in this project, used 0 times");
    let learned = skills(given);
    let why = learned.explain(&request, &first.name);
    let hit = why.hit.unwrap();
    assert!(hit.certainty < first.certainty && hit.certainty > first.certainty - 0.2);
    let reason = hit.reasons.last().unwrap();
    assert_eq!((serde_json::to_value(reason.kind).unwrap(), reason.score < 0.0), ("use".into(), true));
    // In another mode there is nothing to weigh.
    let keyword = Request::new("fill in the form fields of application.pdf").mode(Mode::Keyword);
    assert_eq!(plain.select(&keyword), learned.select(&keyword));
}
