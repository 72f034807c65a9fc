//! The outcome for one labelled message: where the skills that it needs rank, and what a model would have been shown.

use serde::{Deserialize, Serialize};
use skillcue_disclose::{Decision, Discloser, Disclosure, Situation};
use skillcue_select::{Census, Grade, Hit, JudgeOutcome, Mode, Selection, Thresholds};

use super::EvalCase;
use crate::disclosure::{LoadedBodies, closest};
use crate::judge::Judging;
use crate::snapshot::Snapshot;
use crate::{Request, Skillcue};

/// The parts that all messages of an evaluation share.
pub(super) struct CaseRun<'a> {
    pub(super) skills: &'a Skillcue,
    pub(super) snapshot: &'a Snapshot,
    pub(super) discloser: &'a Discloser,
    pub(super) census: Census,
    pub(super) mode: Mode,
    pub(super) judging: Option<&'a Judging>,
}

/// The outcome for one message.
pub(super) struct MessageOutcome {
    /// The skill that came first.
    pub(super) first: Option<String>,
    /// The certainty of that skill.
    pub(super) certainty: f32,
    /// Whether the message needs that skill.
    pub(super) is_first_right: bool,
    /// Whether the message must not get that skill.
    pub(super) is_first_forbidden: bool,
    /// The rank of the first skill that the message needs, from 0.
    pub(super) rank: Option<usize>,
    /// The grades of what was shown, for each eagerness.
    pub(super) shown: Vec<ShownGrades>,
    /// The outcome of asking the judge, if there is one.
    pub(super) judged: Option<JudgeOutcome>,
}

/// The grades of right and of wrong skills in a disclosure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ShownGrades {
    /// The most that was shown of a skill that the message needs.
    pub(super) right: Grade,
    /// The most that was shown of another; for a message that must not get some, of these.
    pub(super) wrong: Grade,
    /// Whether the first hit was worth its body.
    pub(super) is_first_sure: bool,
    /// The cost of the turn part.
    pub(super) tokens: usize,
}

/// The result for one message, in an evaluation that is kept to be compared.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CaseResult {
    /// The message.
    pub query: String,
    /// The most that was shown of a skill that the message needs; for a message that needs none or must not get some,
    /// of a wrong one.
    pub grade: Grade,
    /// The skill that came first.
    pub first: Option<String>,
    /// The certainty of that skill.
    pub certainty: f32,
    /// Whether the message needs the skill that came first; for others, whether nothing wrong was shown or named.
    pub right: bool,
    /// The rank of the first skill that the message needs, from 1.
    #[serde(default)]
    pub rank: Option<usize>,
    /// Whether the skill that came first was sure enough for its body.
    #[serde(default)]
    pub selected: bool,
    /// The cost of the turn part.
    pub tokens: usize,
}

impl CaseRun<'_> {
    /// Selects once, and discloses for each eagerness.
    pub(super) fn outcome(&self, case: &EvalCase, eagernesses: &[f32]) -> MessageOutcome {
        let request = Request::new(&case.query).mode(self.mode);
        let mut selection = self.snapshot.select(&request.turn, &request.options(self.mode));
        if let Some(judging) = self.judging {
            judging.apply(&self.snapshot.catalog, &case.query, &mut selection);
        }
        let closest = closest(self.snapshot, self.discloser, &request.turn, self.mode, &selection);
        let mut shown: Vec<ShownGrades> = Vec::with_capacity(eagernesses.len());
        let mut before: Vec<Grade> = Vec::new();
        for eagerness in eagernesses {
            let thresholds = Thresholds::of(*eagerness);
            let grades: Vec<Grade> = selection.hits.iter().map(|hit| hit.grade(self.mode, &thresholds)).collect();
            // Equal grades, equal disclosures.
            let same = shown.last().copied().filter(|_| grades == before);
            let is_first_sure = grades.first() == Some(&Grade::Body);
            shown.push(same.unwrap_or_else(|| self.shown(case, &selection, &closest, *eagerness, is_first_sure)));
            before = grades;
        }
        let first = selection.hits.first();
        let is_right = |hit: &Hit| case.relevant.contains(&hit.name);
        MessageOutcome {
            certainty: first.map_or(0.0, |hit| hit.certainty),
            is_first_right: first.is_some_and(is_right),
            is_first_forbidden: first.is_some_and(|hit| case.not_relevant.contains(&hit.name)),
            rank: selection.hits.iter().position(is_right),
            first: first.map(|hit| hit.name.clone()),
            judged: selection.judgement.as_ref().map(|judgement| judgement.outcome.clone()),
            shown,
        }
    }

    fn shown(
        &self,
        case: &EvalCase,
        selection: &Selection,
        closest: &[Hit],
        eagerness: f32,
        is_first_sure: bool,
    ) -> ShownGrades {
        let bodies = LoadedBodies { skills: self.skills, session: None };
        let disclosure = self.discloser.disclose(&Situation {
            message: &case.query,
            mode: self.mode,
            eagerness: Some(eagerness),
            closest,
            ..Situation::new(self.census, selection, &bodies)
        });
        let is_right = |name: &String| case.relevant.contains(name);
        let is_wrong = |name: &String| match &case.not_relevant[..] {
            [] => !is_right(name),
            forbidden => forbidden.contains(name),
        };
        ShownGrades {
            right: most_shown(&disclosure, is_right),
            wrong: most_shown(&disclosure, is_wrong),
            is_first_sure,
            tokens: disclosure.tokens.turn.0,
        }
    }
}

/// Returns the most that a disclosure shows of one of some skills.
fn most_shown(disclosure: &Disclosure, is_one: impl Fn(&String) -> bool) -> Grade {
    let grade = |decision| match decision {
        Decision::Included | Decision::Shortened => Grade::Body,
        Decision::Named => Grade::Name,
        Decision::Omitted => Grade::Nothing,
    };
    let skills = disclosure.skills.iter().filter(|skill| is_one(&skill.name));
    skills.map(|skill| grade(skill.decision)).max().unwrap_or(Grade::Nothing)
}

impl MessageOutcome {
    /// Returns the first skill, if it was worth its body.
    pub(super) fn selected(&self) -> Option<&str> {
        self.first.as_deref().filter(|_| self.shown[0].is_first_sure)
    }

    /// Returns whether the first hit says whether selection is right: a message that must not get one skill says nothing
    /// about another that came first.
    pub(super) fn is_telling(&self, case: &EvalCase) -> bool {
        self.first.is_some() && (!case.relevant.is_empty() || case.needs_none() || self.is_first_forbidden)
    }

    /// Returns whether the wrong skill was selected, or none where one is needed.
    pub(super) fn is_mistake(&self, case: &EvalCase) -> bool {
        self.is_mistake_at(case, 0)
    }

    pub(super) fn is_mistake_at(&self, case: &EvalCase, at: usize) -> bool {
        match self.first.is_some() && self.shown[at].is_first_sure {
            true if case.relevant.is_empty() => case.needs_none() || self.is_first_forbidden,
            true => !self.is_first_right,
            false => !case.relevant.is_empty(),
        }
    }

    pub(super) fn result(self, case: &EvalCase) -> CaseResult {
        let ShownGrades { right, wrong, tokens, is_first_sure } = self.shown[0];
        let (grade, right) =
            if case.relevant.is_empty() { (wrong, wrong == Grade::Nothing) } else { (right, self.is_first_right) };
        CaseResult {
            query: case.query.clone(),
            grade,
            selected: is_first_sure && self.first.is_some(),
            first: self.first,
            certainty: self.certainty,
            right,
            rank: self.rank.map(|rank| rank + 1),
            tokens,
        }
    }
}
