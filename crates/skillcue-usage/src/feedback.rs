//! Feedback into selection: what the use of skills in a project so far does to their rank.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use skillcue::select::SkillFeedback;
use skillcue_base::counted;

use crate::LedgerEvent;
use crate::accuracy::{JudgedEvents, ShowingVerdict};

/// The time after which an event counts half.
const HALF_LIFE: Duration = Duration::from_hours(30 * 24);
/// The most that a skill loses and gains, as a shift of the logarithm of its odds.
const MAX_LOSS: f32 = 0.7;
const MAX_GAIN: f32 = 0.7;
/// The number of times at which half of the most is reached.
const HALF_SHOWN: f32 = 6.0;
const HALF_MISSED: f32 = 2.0;
/// The number of times that a skill was shown from which that counts: less may be an accident.
const MIN_SHOWN: f32 = 6.0;
/// Shifts that are smaller change nothing that a person would notice.
const MIN_SHIFT: f32 = 0.05;

/// How often a skill was shown in vain, and missed, by age and in whole numbers; and whether it was ever used.
#[derive(Debug, Default)]
struct WeighedUse {
    unused: f32,
    missed: f32,
    shown_times: usize,
    missed_times: usize,
    is_used: bool,
}

/// Returns the feedback that events of one project give, by skill. A skill that is shown often and never used loses a
/// little; one that is searched for and loaded gains. One that was used at all loses nothing. Each event counts less with its
/// age, half after thirty days. Bodies of skills that never give a sign of use count for nothing, nor do events after the week
/// of `now`.
///
/// ```
/// use std::time::{Duration, SystemTime};
/// use skillcue::usage::UsageKind;
/// use skillcue_usage::{LedgerEvent, feedback};
///
/// let now = SystemTime::now();
/// let named = LedgerEvent { at: now, tier: Some(2), ..LedgerEvent::new(UsageKind::Shown, "pdf") };
/// let events = vec![named; 12];
/// let fresh = &feedback(&events, now)["pdf"];
/// assert_eq!(fresh.why, "shown 12 times in this project, never used");
/// let later = &feedback(&events, now + Duration::from_secs(20 * 86_400))["pdf"];
/// assert!(fresh.shift < later.shift && later.shift < 0.0);
/// assert!(feedback(&events, now + Duration::from_secs(400 * 86_400)).is_empty());
/// ```
pub fn feedback(events: &[LedgerEvent], now: SystemTime) -> BTreeMap<String, SkillFeedback> {
    let events = LedgerEvent::up_to_present(events, now);
    let judged = JudgedEvents::of(events);
    let mut skills: BTreeMap<&str, WeighedUse> = BTreeMap::new();
    for (at, event) in events.iter().enumerate() {
        let age = now.duration_since(event.at).unwrap_or_default();
        let weight = 0.5_f32.powf(age.as_secs_f32() / HALF_LIFE.as_secs_f32());
        let skill = skills.entry(&event.skill).or_default();
        if let Some(ShowingVerdict::Wrong | ShowingVerdict::Offered) = judged.verdicts.get(&at) {
            skill.unused += weight;
            skill.shown_times += 1;
        }
        skill.is_used |= event.kind.is_use();
        if judged.missed.contains(&at) {
            skill.missed += weight;
            skill.missed_times += 1;
        }
    }
    let given = skills.into_iter().filter_map(|(name, skill)| Some((name.to_owned(), skill.feedback()?)));
    given.collect()
}

impl WeighedUse {
    fn feedback(&self) -> Option<SkillFeedback> {
        // One that was used even once stays as it is: in simulations, a rule that lowered what was used less than every third
        // time cost two of five right bodies.
        let is_unused = !self.is_used && self.unused >= MIN_SHOWN;
        let loss = if is_unused { MAX_LOSS * self.unused / (self.unused + HALF_SHOWN) } else { 0.0 };
        let gain = MAX_GAIN * self.missed / (self.missed + HALF_MISSED);
        let shift = gain - loss;
        if shift.abs() < MIN_SHIFT {
            return None;
        }
        let mut why = Vec::new();
        if loss > 0.0 {
            why.push(format!("shown {} in this project, never used", counted(self.shown_times, "time")));
        }
        if self.missed_times > 0 {
            why.push(format!("searched for and loaded {} in this project", counted(self.missed_times, "time")));
        }
        Some(SkillFeedback { shift, why: why.join("; ") })
    }
}
