//! The ranking of matching skills by their triggers.

use std::cell::RefCell;

use crate::index::{TriggerIndex, TriggerKind};
use crate::{Mention, ReasonKind};

/// The unit of points: scores are added up in this many parts of one, as sums of whole numbers do not depend on their
/// order.
const ONE: f32 = 65_536.0;

/// Returns the points that a trigger adds to a score, in parts of [`ONE`]: the weight of its kind times its rarity;
/// half of that in the latest of the earlier messages, a quarter in the one before, and so on.
///
/// Rarity is `ln(1 + N/n) / ln(1 + N)` for a trigger that `n` of `N` skills have: 1 if one has it, near 0 if all do.
pub(crate) fn points(index: &TriggerIndex, item: u32, age: Option<u32>) -> u32 {
    let (all, these) = (as_f32(index.flags.len()), as_f32(index.postings(item).len()));
    let rarity = (1.0 + all.max(these) / these.max(1.0)).ln() / (1.0 + all.max(1.0)).ln();
    let fading = age.map_or(1.0, |age| 0.5_f32.powi(i32::try_from(age).unwrap_or(i32::MAX).saturating_add(1)));
    parts(weight(reason_kind(index.kind(item))) * rarity * fading).max(1)
}

/// Returns the weight of a kind of reason. Two of the lesser kinds outweigh one of the greater: their number counts
/// first.
pub(crate) fn weight(kind: ReasonKind) -> f32 {
    match kind {
        ReasonKind::Mention => 3.0,
        ReasonKind::Phrase => 1.5,
        ReasonKind::Keyword => 1.0,
        ReasonKind::Verb => 0.85,
        ReasonKind::Pattern => 0.8,
        ReasonKind::File => 0.7,
        // Nearby: a trigger of a file or a language that is not part of the turn itself.
        ReasonKind::Language | ReasonKind::Nearby => 0.55,
        ReasonKind::Text => 0.5,
        ReasonKind::Recent => 0.01,
        // They reorder hits, and add to no score.
        ReasonKind::Judge | ReasonKind::Use => 0.0,
    }
}

/// Returns the points that a mention by sigil adds.
pub(crate) fn sigil_points() -> u32 {
    parts(4.0)
}

/// Returns the points that use in this session adds, if `before` others were used since. Too few to change a rank by
/// themselves.
pub(crate) fn recent_points(before: usize) -> u32 {
    parts(weight(ReasonKind::Recent) / (1.0 + as_f32(before))).max(1)
}

pub(crate) fn reason_kind(kind: TriggerKind) -> ReasonKind {
    match kind {
        TriggerKind::Keyword => ReasonKind::Keyword,
        TriggerKind::Phrase => ReasonKind::Phrase,
        TriggerKind::Verb => ReasonKind::Verb,
        TriggerKind::Name => ReasonKind::Mention,
        TriggerKind::Pattern | TriggerKind::BadPattern => ReasonKind::Pattern,
        TriggerKind::File => ReasonKind::File,
        TriggerKind::Language => ReasonKind::Language,
    }
}

/// Returns how likely a hit is to be the right one, never more than a hit that ranks above it by kind of evidence:
///
/// | evidence | confidence |
/// | --- | --- |
/// | a mention by sigil | 1 |
/// | a mention by name | 0.95 |
/// | a phrase | from 0.85 towards 0.94, with the score |
/// | other triggers | from 0 towards 0.84, with the score: one keyword that no other skill has gives 0.59 |
pub(crate) fn confidence(mention: Option<Mention>, phrase: bool, score: f32) -> f32 {
    match (mention, phrase) {
        (Some(Mention::Sigil), _) => 1.0,
        (Some(Mention::Name), _) => 0.95,
        (None, true) => 0.94 - 0.09 * (-score / 3.0).exp(),
        (None, false) => 0.84 * (1.0 - (-1.2 * score).exp()),
    }
}

pub(crate) fn score(points: u32) -> f32 {
    #[expect(clippy::cast_precision_loss, reason = "a score is an estimate")]
    let points = points as f32;
    points / ONE
}

fn parts(score: f32) -> u32 {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the cast saturates, which is meant")]
    let parts = (score * ONE).round() as u32;
    parts
}

fn as_f32(count: usize) -> f32 {
    #[expect(clippy::cast_precision_loss, reason = "a count in a logarithm")]
    let count = count as f32;
    count
}

/// The evidence for one skill, added up.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct SkillScore {
    pub(crate) points: u32,
    pub(crate) phrase: bool,
    pub(crate) mention: Option<Mention>,
    /// 0, or more the more recently the skill was used.
    pub(crate) recent: u16,
}

/// Returns a sort key for a skill and its score, the greater ranks higher: by mention, phrase, points, recent use,
/// name.
pub(crate) fn rank_key(skill: u32, sum: SkillScore) -> u128 {
    let mention = match sum.mention {
        None => 0_u8,
        Some(Mention::Name) => 1,
        Some(Mention::Sigil) => 2,
    };
    // Skills are sorted by name: of two, the first has the smaller number.
    u128::from(mention) << 112
        | u128::from(sum.phrase) << 96
        | u128::from(sum.points) << 64
        | u128::from(sum.recent) << 48
        | u128::from(!skill)
}

/// Returns the skill of a sort key.
pub(crate) fn skill_of(key: u128) -> u32 {
    #[expect(clippy::cast_possible_truncation, reason = "the lower half is meant")]
    let low = key as u32;
    !low
}

/// Scores by skill, in memory that is reused from message to message and never cleared as a whole.
#[derive(Debug, Default)]
pub(crate) struct ScoreTable {
    round: u32,
    /// Per skill: the round in which its score was last touched.
    rounds: Vec<u32>,
    cells: Vec<SkillScore>,
    pub(crate) touched: Vec<u32>,
}

thread_local! {
    static SUMS: RefCell<ScoreTable> = RefCell::default();
}

impl ScoreTable {
    /// Calls `work` with this thread's scores, all of them zero, for so many skills.
    pub(crate) fn with<T>(skills: usize, work: impl FnOnce(&mut ScoreTable) -> T) -> T {
        SUMS.with(|sums| {
            // A selection within a selection gets a table of its own.
            let mut other = ScoreTable::default();
            let mut borrowed = sums.try_borrow_mut();
            let sums = borrowed.as_deref_mut().unwrap_or(&mut other);
            sums.start(skills);
            work(sums)
        })
    }

    fn start(&mut self, skills: usize) {
        self.touched.clear();
        self.round = self.round.wrapping_add(1);
        if self.round == 0 {
            self.rounds.fill(0);
            self.round = 1;
        }
        if self.rounds.len() < skills {
            self.rounds.resize(skills, 0);
            self.cells.resize(skills, SkillScore::default());
        }
    }

    /// Returns the score of a skill, to add to.
    pub(crate) fn at(&mut self, skill: u32) -> &mut SkillScore {
        let at = skill as usize;
        if self.rounds[at] != self.round {
            self.rounds[at] = self.round;
            self.cells[at] = SkillScore::default();
            self.touched.push(skill);
        }
        &mut self.cells[at]
    }

    /// Returns the score of a skill, if it was touched.
    pub(crate) fn get(&self, skill: u32) -> Option<SkillScore> {
        let at = skill as usize;
        (self.rounds.get(at) == Some(&self.round)).then(|| self.cells[at])
    }

    /// Returns the best of the touched skills, best first.
    pub(crate) fn best(&self, limit: usize) -> Vec<u32> {
        let mut keys: Vec<u128> =
            self.touched.iter().map(|skill| rank_key(*skill, self.cells[*skill as usize])).collect();
        if limit == 0 {
            return Vec::new();
        }
        if keys.len() > limit {
            keys.select_nth_unstable_by(limit - 1, |a, b| b.cmp(a));
            keys.truncate(limit);
        }
        keys.sort_unstable_by(|a, b| b.cmp(a));
        keys.into_iter().map(skill_of).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_start_at_zero_each_time() {
        for _ in 0..3 {
            ScoreTable::with(4, |sums| {
                assert!(sums.get(3).is_none());
                sums.at(3).points += 2;
                sums.at(3).points += 1;
                sums.at(1).points = 3;
                sums.at(2).mention = Some(Mention::Name);
                assert_eq!(sums.get(3).unwrap().points, 3);
                assert_eq!(sums.best(9), [2, 1, 3]);
                assert_eq!(sums.best(1), [2]);
                assert!(sums.best(0).is_empty());
                ScoreTable::with(4, |inner| assert!(inner.get(3).is_none()));
            });
        }
        let mut sums = ScoreTable { round: u32::MAX, ..ScoreTable::default() };
        sums.start(2);
        assert!(sums.get(0).is_none());
    }

    #[test]
    fn confidence_follows_the_ranks() {
        let scores = [0.001, 0.5, 1.0, 5.0, 100.0];
        let rising = scores.map(|score| confidence(None, false, score));
        assert!(rising.is_sorted() && rising[4] < confidence(None, true, 0.0));
        let rising = scores.map(|score| confidence(None, true, score));
        assert!(rising.is_sorted() && rising[4] < confidence(Some(Mention::Name), false, 0.0));
        assert!((confidence(Some(Mention::Sigil), false, 0.0) - 1.0).abs() < f32::EPSILON);
    }
}
