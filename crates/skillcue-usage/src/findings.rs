//! Skills that need a look: dead, stuck, silent, missed and confused ones.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::{Duration, SystemTime};

use serde::Serialize;

use crate::accuracy::{JudgedEvents, ShowingVerdict};
use crate::{MessageCount, SkillUse};

/// The number of days and of messages after which a skill that was never shown is dead. With fewer, it had no fair chance.
pub const MIN_DEAD_DAYS: u64 = 14;
/// See [`MIN_DEAD_DAYS`].
pub const MIN_DEAD_MESSAGES: u64 = 100;
/// The number of times from which something is no accident.
const MIN_TIMES: usize = 3;
/// The number of times that a name is offered and not taken from which the skill is stuck: several names are offered at once,
/// and at most one is meant to be taken.
const MIN_OFFERED: usize = 10;
/// The number of times from which a skill counts as missed: each one cost a search.
const MIN_MISSED: usize = 2;

/// Skills that need a look, by what is the matter.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct UsageFindings {
    /// Never shown, never loaded, never missed, in a fair chance: [`MIN_DEAD_DAYS`] days and [`MIN_DEAD_MESSAGES`] messages
    /// since its file was last changed.
    pub dead: Vec<String>,
    /// Never shown, loaded or missed either, and without a fair chance so far.
    pub untried: Vec<String>,
    /// Named ten times or more, and never loaded or used; without those that are confused with another.
    pub stuck: Vec<String>,
    /// Its body was shown three times or more, and it has never given a sign of use.
    pub silent: Vec<String>,
    /// Searched for and loaded twice or more, though not shown.
    pub missed: Vec<String>,
    /// Shown in place of another, which was then used, three times or more.
    pub confused: Vec<ConfusedPair>,
}

/// A skill that is shown where another is needed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct ConfusedPair {
    /// The skill that was shown, and not used.
    pub shown: String,
    /// The skill that was used, and shown behind it or not at all.
    pub used: String,
    /// How often.
    pub times: usize,
}

/// A skill that there is.
///
/// ```
/// let skill = skillcue_usage::KnownSkill::from("pdf".to_owned());
/// assert_eq!((skill.name.as_str(), skill.since), ("pdf", None));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownSkill {
    /// Its name.
    pub name: String,
    /// Since when it has been as it is; `None` if that is not known, which counts as long ago.
    pub since: Option<SystemTime>,
}

impl From<String> for KnownSkill {
    fn from(name: String) -> KnownSkill {
        KnownSkill { name, since: None }
    }
}

/// The chances that skills had to be shown: the messages by day, and the present.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MessageHistory<'m> {
    pub(crate) messages: &'m [&'m MessageCount],
    pub(crate) now: SystemTime,
}

impl MessageHistory<'_> {
    /// Returns whether a skill that was never shown had a fair chance. Days that it was there for only a part do not count.
    fn was_fair(&self, skill: &KnownSkill) -> bool {
        let Some(first) = self.messages.iter().map(|count| count.at).min() else { return false };
        let since = skill.since.map_or(first, |since| since.max(first));
        let days = self.now.duration_since(since).unwrap_or_default();
        let later = self.messages.iter().filter(|count| count.at >= since);
        let number = later.fold(0_u64, |sum, count| sum.saturating_add(count.number));
        days >= Duration::from_hours(24 * MIN_DEAD_DAYS) && number >= MIN_DEAD_MESSAGES
    }
}

impl UsageFindings {
    pub(crate) fn of(
        judged: &JudgedEvents<'_>,
        skills: &[SkillUse],
        known: &[KnownSkill],
        history: MessageHistory<'_>,
    ) -> UsageFindings {
        let seen: BTreeSet<&str> = skills.iter().map(|skill| skill.name.as_str()).collect();
        let names = |is: &dyn Fn(&SkillUse) -> bool| {
            let mut names: Vec<String> =
                skills.iter().filter(|skill| is(skill)).map(|skill| skill.name.clone()).collect();
            names.sort();
            names
        };
        let unseen = known.iter().filter(|skill| !seen.contains(skill.name.as_str()));
        let (dead, untried): (Vec<&KnownSkill>, Vec<&KnownSkill>) = unseen.partition(|skill| history.was_fair(skill));
        let sorted = |skills: Vec<&KnownSkill>| {
            let names: BTreeSet<String> = skills.into_iter().map(|skill| skill.name.clone()).collect();
            names.into_iter().collect::<Vec<_>>()
        };
        let confused = confused(judged);
        let is_unused = |skill: &SkillUse| skill.uses() == 0;
        // One that stands in the way of another has its own advice.
        let is_confused = |skill: &SkillUse| confused.iter().any(|pair| pair.shown == skill.name);
        UsageFindings {
            dead: sorted(dead),
            untried: sorted(untried),
            stuck: names(&|skill| skill.named >= MIN_OFFERED && is_unused(skill) && !is_confused(skill)),
            silent: names(&|skill| {
                skill.named < MIN_OFFERED && skill.bodies >= MIN_TIMES && is_unused(skill) && !is_confused(skill)
            }),
            missed: names(&|skill| skill.accuracy.missed >= MIN_MISSED),
            confused,
        }
    }

    /// Returns whether there is nothing to look at.
    pub fn is_empty(&self) -> bool {
        let UsageFindings { dead, untried: _, stuck, silent, missed, confused } = self;
        [dead, stuck, silent, missed].iter().all(|names| names.is_empty()) && confused.is_empty()
    }
}

/// Returns the pairs, the most frequent first.
fn confused(judged: &JudgedEvents<'_>) -> Vec<ConfusedPair> {
    let mut times: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for turn in &judged.turns {
        let rank: HashMap<&str, usize> =
            turn.shown.iter().enumerate().map(|(rank, at)| (name(judged, *at), rank)).collect();
        for (own, at) in turn.shown.iter().enumerate() {
            if judged.verdicts.get(at) == Some(&ShowingVerdict::Right) {
                continue;
            }
            for used in &turn.used {
                if rank.get(used).is_none_or(|other| *other > own) && *used != name(judged, *at) {
                    *times.entry((name(judged, *at), used)).or_default() += 1;
                }
            }
        }
    }
    let pair = |((shown, used), times): ((&str, &str), usize)| ConfusedPair {
        shown: shown.to_owned(),
        used: used.to_owned(),
        times,
    };
    let mut pairs: Vec<ConfusedPair> = times.into_iter().filter(|(_, times)| *times >= MIN_TIMES).map(pair).collect();
    pairs.sort_by(|a, b| b.times.cmp(&a.times).then_with(|| a.cmp(b)));
    pairs
}

fn name<'e>(judged: &JudgedEvents<'e>, at: usize) -> &'e str {
    &judged.events[at].skill
}
