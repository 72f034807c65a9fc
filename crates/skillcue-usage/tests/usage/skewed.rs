//! A simulated user who needs only some of the skills of a labelled set: four weeks of use on one half of the messages, and
//! what feedback makes of the other half.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::{Duration, SystemTime};

use skillcue::eval::EvalCase;
use skillcue::select::SkillFeedback;
use skillcue::usage::{UsageKind, shown_events};
use skillcue::{Request, Skillcue};
use skillcue_base::Digest;
use skillcue_usage::LedgerEvent;

/// The weeks for which the user sends the messages of the first half again and again.
const WEEKS: u64 = 4;

/// A user, drawn by a number.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SkewedUser {
    /// The number by which the skills and the halves are drawn.
    pub(crate) seed: u64,
    /// Of three skills, the number that the user never needs.
    pub(crate) foreign_of_three: u8,
}

impl SkewedUser {
    /// Returns a number of a text that depends on the seed.
    fn draw(self, text: &str) -> u8 {
        Digest::of(format!("{} {text}", self.seed)).as_bytes()[0]
    }

    fn is_foreign(self, skill: &str) -> bool {
        self.draw(skill) % 3 < self.foreign_of_three
    }

    /// Returns the messages of the user, in two halves: the past, and the present.
    pub(crate) fn messages(self, cases: &[EvalCase]) -> (Vec<EvalCase>, Vec<EvalCase>) {
        let own = cases.iter().filter(|case| !case.relevant.iter().any(|name| self.is_foreign(name)));
        own.cloned().partition(|case| self.draw(&case.query) & 1 == 0)
    }
}

pub(crate) fn skills(root: &Path, feedback: BTreeMap<String, SkillFeedback>) -> Skillcue {
    let skills = Skillcue::builder().skills_dir(root).feedback(feedback).build().unwrap();
    skills.index_bodies();
    skills
}

/// Returns the events of four weeks in which the user sends the messages again and again, and uses what they need: it is
/// loaded if it was shown, and else searched for.
pub(crate) fn past_events(skills: &Skillcue, messages: &[EvalCase], now: SystemTime) -> Vec<LedgerEvent> {
    let mut events = Vec::new();
    for (number, case) in messages.iter().enumerate() {
        let shown = shown_events(&skills.disclose(case.query.as_str()), None);
        for week in (0..WEEKS).rev() {
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

/// The numbers of skills that some messages are shown: right ones, by what is shown of them, and wrong ones.
#[derive(Debug, PartialEq, Eq, Clone, Copy, Default)]
pub(crate) struct ShownCount {
    /// Messages with a right skill in the first place.
    pub(crate) first: usize,
    pub(crate) right_bodies: usize,
    /// Right skills of which the body or the name is shown.
    pub(crate) right: usize,
    pub(crate) wrong_bodies: usize,
    pub(crate) wrong: usize,
    pub(crate) tokens: usize,
}

impl ShownCount {
    pub(crate) fn of(skills: &Skillcue, messages: &[EvalCase]) -> ShownCount {
        let mut count = ShownCount::default();
        for case in messages {
            let hits = skills.select(&Request::new(&case.query)).hits;
            count.first += usize::from(hits.first().is_some_and(|hit| case.relevant.contains(&hit.name)));
            let shown: BTreeSet<(String, Option<u8>, usize)> =
                shown_events(&skills.disclose(case.query.as_str()), None)
                    .into_iter()
                    .map(|event| (event.skill, event.tier, event.tokens.unwrap_or(0)))
                    .collect();
            for (skill, tier, tokens) in shown {
                let (bodies, all) = if case.relevant.contains(&skill) {
                    (&mut count.right_bodies, &mut count.right)
                } else {
                    (&mut count.wrong_bodies, &mut count.wrong)
                };
                *bodies += usize::from(tier == Some(3));
                *all += 1;
                count.tokens += tokens;
            }
        }
        count
    }

    pub(crate) fn add(&mut self, other: ShownCount) {
        self.first += other.first;
        self.right_bodies += other.right_bodies;
        self.right += other.right;
        self.wrong_bodies += other.wrong_bodies;
        self.wrong += other.wrong;
        self.tokens += other.tokens;
    }
}
