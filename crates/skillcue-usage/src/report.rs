//! The sum of events, skill by skill and over time.

use std::collections::{BTreeMap, HashSet};
use std::time::SystemTime;

use serde::{Serialize, Serializer};
use skillcue::usage::UsageKind;
use skillcue_base::rfc3339;

use crate::accuracy::JudgedEvents;
use crate::findings::MessageHistory;
use crate::{Accuracy, AccuracyGroup, KnownSkill, LedgerEvent, MessageCount, UsageFindings, UsageGrouping, Week};

/// The use of one skill.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SkillUse {
    /// Its name.
    pub name: String,
    /// How often it was shown: its name or its body.
    pub shown: usize,
    /// How often only its name was.
    pub named: usize,
    /// How often its body was.
    pub bodies: usize,
    /// The tokens that this took.
    pub tokens: u64,
    /// How often it was loaded.
    pub loaded: usize,
    /// How often one of its files was read.
    pub read: usize,
    /// How often one of its scripts or tools ran.
    pub run: usize,
    /// How often a person declined it.
    pub declined: usize,
    /// How often showing it was right.
    #[serde(flatten)]
    pub accuracy: Accuracy,
    /// The share of right ones, from 0 to 1.
    pub rate: Option<f64>,
    /// The last event.
    #[serde(serialize_with = "written")]
    pub last: SystemTime,
    /// How often it was shown, loaded or used in each week of the report.
    pub weeks: Vec<usize>,
}

/// A report about the use of skills.
///
/// ```
/// use skillcue::usage::UsageKind;
/// use skillcue_usage::{LedgerEvent, UsageReport};
///
/// let named = LedgerEvent { tier: Some(2), ..LedgerEvent::new(UsageKind::Shown, "pdf") };
/// let report = UsageReport::of(&vec![named; 10], &["pdf".to_owned(), "csv".to_owned()]);
/// assert_eq!((report.findings.stuck, report.findings.untried), (vec!["pdf".to_owned()], vec!["csv".to_owned()]));
/// ```
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct UsageReport {
    /// The number of events.
    pub events: usize,
    /// The number of messages that were answered, whether or not a skill was shown.
    pub messages: u64,
    /// The accuracy of all.
    pub accuracy: Accuracy,
    /// The share of right ones, from 0 to 1.
    pub rate: Option<f64>,
    /// The use of each skill that has events, the most used first.
    pub skills: Vec<SkillUse>,
    /// The accuracy by week; weeks without events are there, too.
    pub weeks: Vec<AccuracyGroup>,
    /// By program.
    pub clients: Vec<AccuracyGroup>,
    /// By the mode in which messages were matched.
    pub modes: Vec<AccuracyGroup>,
    /// By version of the index.
    pub versions: Vec<AccuracyGroup>,
    /// Skills that need a look.
    pub findings: UsageFindings,
}

impl UsageReport {
    /// Adds up events that are sorted by time. `known` are the names of the skills that there are; the messages are those for
    /// which a skill was shown, and the present is the last event.
    pub fn of(events: &[LedgerEvent], known: &[String]) -> UsageReport {
        let known: Vec<KnownSkill> = known.iter().cloned().map(KnownSkill::from).collect();
        let mut turns: HashSet<(&str, &str, u64)> = HashSet::new();
        let shown = events.iter().filter(|event| event.kind == UsageKind::Shown);
        let new = shown.filter(|event| turns.insert((&event.project, &event.session, event.turn)));
        let messages: Vec<MessageCount> = new
            .map(|event| MessageCount { at: event.at, project: String::new(), client: String::new(), number: 1 })
            .collect();
        let now = events.last().map_or(SystemTime::UNIX_EPOCH, |event| event.at);
        UsageReport::with_messages(events, &known, &messages, now)
    }

    /// Adds up events that are sorted by time, and judges the skills that were never shown by the messages that there were.
    /// Events after the week of `now` are left out, and so are messages after `now`.
    pub fn with_messages(
        events: &[LedgerEvent],
        known: &[KnownSkill],
        messages: &[MessageCount],
        now: SystemTime,
    ) -> UsageReport {
        UsageReport::made(events, known, messages, now, None)
    }

    fn made(
        events: &[LedgerEvent],
        known: &[KnownSkill],
        messages: &[MessageCount],
        now: SystemTime,
        only: Option<&str>,
    ) -> UsageReport {
        let events = LedgerEvent::up_to_present(events, now);
        let messages: Vec<&MessageCount> = messages.iter().filter(|count| count.at <= now).collect();
        let judged = JudgedEvents::of(events);
        let first = events.first().map(|event| Week::of(event.at));
        let week = |event: &LedgerEvent| first.map_or(0, |first| Week::of(event.at).after(first));
        let count = events.last().map_or(0, |last| week(last) + 1);
        let mut skills: BTreeMap<&str, SkillUse> = BTreeMap::new();
        for (at, event) in events.iter().enumerate() {
            let skill = skills.entry(&event.skill).or_insert_with(|| SkillUse::new(event, count));
            let is_body = event.tier == Some(3);
            match event.kind {
                UsageKind::Shown => {
                    skill.shown += 1;
                    *if is_body { &mut skill.bodies } else { &mut skill.named } += 1;
                }
                UsageKind::Loaded => skill.loaded += 1,
                UsageKind::FileRead => skill.read += 1,
                UsageKind::Run => skill.run += 1,
                UsageKind::Declined => skill.declined += 1,
                _ => {}
            }
            skill.tokens += event.tokens.unwrap_or(0);
            skill.accuracy.missed += usize::from(judged.missed.contains(&at));
            if let Some(verdict) = judged.verdicts.get(&at) {
                skill.accuracy.add(*verdict);
            }
            skill.last = skill.last.max(event.at);
            if let Some(number) = skill.weeks.get_mut(week(event)) {
                *number += 1;
            }
        }
        let mut skills: Vec<SkillUse> = skills.into_values().collect();
        for skill in &mut skills {
            skill.rate = skill.accuracy.rate();
        }
        skills.sort_by(|a, b| (b.uses(), b.shown).cmp(&(a.uses(), a.shown)).then_with(|| a.name.cmp(&b.name)));
        let accuracy = judged.total(only);
        UsageReport {
            events: events.iter().filter(|event| only.is_none_or(|name| event.skill == name)).count(),
            rate: accuracy.rate(),
            accuracy,
            weeks: judged.by(UsageGrouping::Week, only),
            clients: judged.by(UsageGrouping::Client, only),
            modes: judged.by(UsageGrouping::Mode, only),
            versions: judged.by(UsageGrouping::Version, only),
            messages: messages.iter().fold(0, |sum, count| sum.saturating_add(count.number)),
            findings: UsageFindings::of(&judged, &skills, known, MessageHistory { messages: &messages, now }),
            skills,
        }
    }

    /// Like [`with_messages`](UsageReport::with_messages), with the numbers of one skill: its events, its accuracy, and the
    /// findings that name it. The events of others say what was used in its place.
    pub fn of_skill(
        name: &str,
        events: &[LedgerEvent],
        known: &[KnownSkill],
        messages: &[MessageCount],
        now: SystemTime,
    ) -> UsageReport {
        let mut report = UsageReport::made(events, known, messages, now, Some(name));
        report.skills.retain(|skill| skill.name == name);
        let UsageFindings { dead, untried, stuck, silent, missed, confused } = &mut report.findings;
        for names in [dead, untried, stuck, silent, missed] {
            names.retain(|other| other == name);
        }
        confused.retain(|pair| pair.shown == name || pair.used == name);
        report
    }

    /// Returns the groups by a property.
    pub fn by(&self, grouping: UsageGrouping) -> &[AccuracyGroup] {
        match grouping {
            UsageGrouping::Week => &self.weeks,
            UsageGrouping::Client => &self.clients,
            UsageGrouping::Mode => &self.modes,
            UsageGrouping::Version => &self.versions,
        }
    }
}

impl SkillUse {
    fn new(event: &LedgerEvent, weeks: usize) -> SkillUse {
        SkillUse {
            name: event.skill.clone(),
            shown: 0,
            named: 0,
            bodies: 0,
            tokens: 0,
            loaded: 0,
            read: 0,
            run: 0,
            declined: 0,
            accuracy: Accuracy::default(),
            rate: None,
            last: event.at,
            weeks: vec![0; weeks],
        }
    }

    /// Returns how often it was loaded, read or run.
    pub fn uses(&self) -> usize {
        self.loaded + self.read + self.run
    }
}

fn written<S: Serializer>(time: &SystemTime, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&rfc3339(*time))
}
