//! Feedback on the labelled set, with a user who needs only some of the skills: what it changes, and what it must not.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::{Duration, SystemTime};

use skillcue::eval::EvalCase;
use skillcue::select::{SkillFeedback, Thresholds};
use skillcue::usage::{UsageKind, shown_events};
use skillcue::{Mode, Request, Skillcue};
use skillcue_usage::{LedgerEvent, feedback};

use crate::skewed::{self, ShownCount, SkewedUser, past_events};

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/labelled"))
}

fn skills(feedback: BTreeMap<String, SkillFeedback>) -> Skillcue {
    skewed::skills(&root().join("skills"), feedback)
}

fn cases() -> Vec<EvalCase> {
    EvalCase::read(&std::fs::read_to_string(root().join("messages.jsonl")).unwrap(), None).unwrap()
}

#[test]
fn skewed_users_are_shown_fewer_wrong_bodies_and_all_right_skills() {
    let (plain, cases) = (skills(BTreeMap::new()), cases());
    let now = SystemTime::now();
    for foreign_of_three in [1, 2] {
        let [mut before, mut after] = [ShownCount::default(); 2];
        for seed in 1..=6 {
            let (past, present) = SkewedUser { seed, foreign_of_three }.messages(&cases);
            let learned = skills(feedback(&past_events(&plain, &past, now), now));
            before.add(ShownCount::of(&plain, &present));
            after.add(ShownCount::of(&learned, &present));
        }
        let figures = format!("never needed {foreign_of_three} of 3: before {before:?}, after {after:?}");
        println!("{figures}");
        assert!(after.right >= before.right && after.first >= before.first, "{figures}");
        assert!(after.wrong_bodies * 5 <= before.wrong_bodies * 4 && after.wrong <= before.wrong, "{figures}");
        // A right body that becomes a name can still be loaded. Of the right ones a far smaller share does than of the wrong
        // ones.
        let lost = before.right_bodies.saturating_sub(after.right_bodies);
        let gone = before.wrong_bodies - after.wrong_bodies;
        assert!(lost * 3 * before.wrong_bodies <= gone * before.right_bodies, "{figures}");
        assert!(after.tokens < before.tokens, "{figures}");
    }
}

#[test]
fn no_skill_is_lifted_over_a_threshold_and_the_stable_part_stays() {
    let plain = skills(BTreeMap::new());
    // As much praise for every skill as there can be.
    let most = |name: &str| (name.to_owned(), SkillFeedback { shift: 99.0, why: "praised".to_owned() });
    let praised = skills(plain.catalog().skills().map(|skill| most(skill.name())).collect());
    let thresholds = Thresholds::default();
    for case in &cases() {
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
fn no_skill_is_shown_that_the_message_alone_does_not_show() {
    let (plain, cases) = (skills(BTreeMap::new()), cases());
    let shown = |skills: &Skillcue, case: &EvalCase| -> BTreeSet<String> {
        let shown = shown_events(&skills.disclose(case.query.as_str()), None);
        shown.into_iter().map(|event| event.skill).collect()
    };
    // A third of the skills is praised as much as can be, so that it competes with the others, and a third is blamed.
    let names: Vec<String> = plain.catalog().skills().map(|skill| skill.name().to_owned()).collect();
    let before: Vec<BTreeSet<String>> = cases.iter().map(|case| shown(&plain, case)).collect();
    for part in 0..3 {
        let shift = |(at, name): (usize, &String)| {
            let shift = [0.7, -0.7, 0.0][(at + part) % 3];
            (name.clone(), SkillFeedback { shift, why: "simulated".to_owned() })
        };
        let learned = skills(names.iter().enumerate().map(shift).collect());
        for (case, before) in cases.iter().zip(&before) {
            let after = shown(&learned, case);
            assert!(after.is_subset(before), "{}: {:?}", case.query, after.difference(before).collect::<Vec<_>>());
        }
    }
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
    assert_eq!(given[&first.name].why, "shown 9 times in this project, never used");
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
