//! The report about a simulated month says exactly what is true.

use std::collections::BTreeMap;

use skillcue_usage::{Accuracy, LedgerQuery, UsageGrouping, UsageReport};

use crate::ageless;
use crate::simulation::{SKILLS, month};

#[test]
fn dead_stuck_missed_and_confused_skills_are_found_exactly() {
    for seed in [1, 2, 3] {
        let month = month(seed);
        let dir = tempfile::tempdir().unwrap();
        let ledger = ageless(dir.path().join("usage.db"));
        ledger.write(&month.events).unwrap();
        let events = ledger.events(&LedgerQuery::default()).unwrap();
        assert_eq!(events.len(), month.events.len());
        let report = UsageReport::of(&events, &month.skills);
        assert_eq!(report.findings, month.findings, "seed {seed}");
        assert_eq!(month.findings.confused.len(), 8);
        println!("seed {seed}: {} events of {SKILLS} skills, all findings right", events.len());
    }
}

#[test]
fn accuracy_by_week_equals_the_truth() {
    for seed in [1, 2, 3] {
        let month = month(seed);
        let report = UsageReport::of(&month.events, &month.skills);
        let weeks: BTreeMap<String, Accuracy> =
            report.by(UsageGrouping::Week).iter().map(|group| (group.key.clone(), group.accuracy)).collect();
        assert_eq!(weeks, month.weeks, "seed {seed}");
        assert!(weeks.len() >= 5 && weeks.values().all(|week| week.right > 10 && week.missed > 5));
        let sum = |get: fn(&Accuracy) -> usize| month.weeks.values().map(get).sum::<usize>();
        assert_eq!(
            report.accuracy,
            Accuracy {
                right: sum(|it| it.right),
                wrong: sum(|it| it.wrong),
                offered: sum(|it| it.offered),
                missed: sum(|it| it.missed),
                unclear: sum(|it| it.unclear),
            }
        );
        let by_client: usize = report.by(UsageGrouping::Client).iter().map(|group| group.accuracy.right).sum();
        assert_eq!(by_client, report.accuracy.right);
    }
}

#[test]
fn a_period_of_the_month_is_read_by_itself() {
    let month = month(4);
    let dir = tempfile::tempdir().unwrap();
    let ledger = ageless(dir.path().join("usage.db"));
    ledger.write(&month.events).unwrap();
    let since = month.last - std::time::Duration::from_hours(24);
    let day = ledger.events(&LedgerQuery { since: Some(since), ..LedgerQuery::default() }).unwrap();
    let expected = month.events.iter().filter(|event| event.at >= since).count();
    assert_eq!(day.len(), expected);
    let one = LedgerQuery { skill: Some("skill-100".to_owned()), ..LedgerQuery::default() };
    let one = ledger.events(&one).unwrap();
    assert!(!one.is_empty() && one.iter().all(|event| event.skill == "skill-100"));
}
