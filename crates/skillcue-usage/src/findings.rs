//! Skills that need a look: dead, stuck, silent, missed and confused ones.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde::Serialize;

use crate::SkillUse;
use crate::accuracy::{JudgedEvents, ShowingVerdict};

/// The number of times from which something is no accident.
const MIN_TIMES: usize = 3;
/// The number of times from which a skill counts as missed: each one cost a search.
const MIN_MISSED: usize = 2;

/// Skills that need a look, by what is the matter.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct UsageFindings {
    /// Never shown, never loaded, never missed.
    pub dead: Vec<String>,
    /// Named three times or more, and never loaded or used; without those that are confused with another.
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

impl UsageFindings {
    pub(crate) fn of(judged: &JudgedEvents<'_>, skills: &[SkillUse], known: &[String]) -> UsageFindings {
        let seen: BTreeSet<&str> = skills.iter().map(|skill| skill.name.as_str()).collect();
        let names = |is: &dyn Fn(&SkillUse) -> bool| {
            let mut names: Vec<String> =
                skills.iter().filter(|skill| is(skill)).map(|skill| skill.name.clone()).collect();
            names.sort();
            names
        };
        let mut dead: Vec<String> = known.iter().filter(|name| !seen.contains(name.as_str())).cloned().collect();
        dead.sort();
        dead.dedup();
        let confused = confused(judged);
        let is_unused = |skill: &SkillUse| skill.uses() == 0;
        // One that stands in the way of another has its own advice.
        let is_confused = |skill: &SkillUse| confused.iter().any(|pair| pair.shown == skill.name);
        UsageFindings {
            dead,
            stuck: names(&|skill| skill.named >= MIN_TIMES && is_unused(skill) && !is_confused(skill)),
            silent: names(&|skill| {
                skill.named < MIN_TIMES && skill.bodies >= MIN_TIMES && is_unused(skill) && !is_confused(skill)
            }),
            missed: names(&|skill| skill.accuracy.missed >= MIN_MISSED),
            confused,
        }
    }

    /// Returns whether there is nothing to look at.
    pub fn is_empty(&self) -> bool {
        let UsageFindings { dead, stuck, silent, missed, confused } = self;
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
