//! The judgement of a draft: by messages that had no part in choosing it, skill by skill.

use std::collections::BTreeMap;

use super::quality;
use crate::eval::{CaseResult, EvalCase, Evaluation};

/// The name under which messages that need no skill are counted.
pub const NO_SKILL: &str = "(none)";

/// Changes up to this size are those of rounding.
const ROUNDING: f32 = 1e-6;

/// Messages evaluated without a draft and with it.
#[derive(Debug, Clone)]
pub struct TuneEvaluations {
    /// Without it.
    pub before: Evaluation,
    /// With it.
    pub after: Evaluation,
    /// Both in [`Mode::Keyword`](crate::Mode::Keyword), if the draft adds keywords and that is not the mode already: there a
    /// keyword alone selects a skill.
    pub by_keywords: Option<[Evaluation; 2]>,
}

/// How much better messages fare with a draft, in messages, and whether it is to be kept.
///
/// ```
/// use skillcue::tune::TuneVerdict;
///
/// let verdict = |changes: &[(&str, f32)]| {
///     let changes = changes.iter().map(|(skill, change)| ((*skill).to_owned(), *change)).collect();
///     TuneVerdict::new("pdf", changes, None)
/// };
/// assert!(verdict(&[("pdf", 0.8), ("csv", 0.2)]).is_kept());
/// // One other skill loses more than it gains, whatever the sum is.
/// assert!(!verdict(&[("pdf", 0.8), ("csv", 0.5), ("ocr", -0.2)]).is_kept());
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct TuneVerdict {
    /// The change of the skill's own messages.
    pub own: f32,
    /// The change of all other messages.
    pub others: f32,
    /// The change of the messages of each skill, without those that fare as before.
    pub by_skill: BTreeMap<String, f32>,
    /// The change of all messages in the mode `keyword`, if the draft adds keywords.
    pub by_keywords: Option<f32>,
    /// The other skills that lose more than they gain, the one that loses most first.
    pub losing: Vec<String>,
}

impl TuneEvaluations {
    /// Judges a draft for the skill `name` by those of the messages that count. `cases` are the messages that were evaluated,
    /// in their order.
    pub fn verdict(&self, name: &str, cases: &[EvalCase], counts: &dyn Fn(&EvalCase) -> bool) -> TuneVerdict {
        let changes = |before: &Evaluation, after: &Evaluation| {
            let all = cases.iter().zip(before.cases.iter().zip(&after.cases));
            let counted = all.filter(|(case, _)| counts(case));
            changes_by_skill(name, counted.map(|(case, (before, after))| (case, change_of(case, before, after))))
        };
        let by_keywords = self.by_keywords.as_ref().map(|[before, after]| changes(before, after).values().sum());
        TuneVerdict::new(name, changes(&self.before, &self.after), by_keywords)
    }
}

impl TuneVerdict {
    /// Makes a verdict of the changes of skills, in messages.
    pub fn new(name: &str, by_skill: BTreeMap<String, f32>, by_keywords: Option<f32>) -> TuneVerdict {
        let own = by_skill.get(name).copied().unwrap_or(0.0);
        let others = by_skill.values().sum::<f32>() - own;
        let mut losing: Vec<(&String, f32)> = by_skill
            .iter()
            .filter(|(skill, change)| *skill != name && **change < -ROUNDING)
            .map(|(skill, change)| (skill, *change))
            .collect();
        losing.sort_by(|a, b| a.1.total_cmp(&b.1).then_with(|| a.0.cmp(b.0)));
        let losing = losing.into_iter().map(|(skill, _)| skill.clone()).collect();
        TuneVerdict { own, others, by_skill, by_keywords, losing }
    }

    /// Returns the change of all messages.
    pub fn sum(&self) -> f32 {
        self.own + self.others
    }

    /// Returns whether the draft is an improvement: the skill's own messages do not fare worse, all messages together fare
    /// better, no other skill loses more than it gains, and keywords cost nothing where they alone select.
    pub fn is_kept(&self) -> bool {
        self.own > -ROUNDING
            && self.sum() > ROUNDING
            && self.losing.is_empty()
            && self.by_keywords.is_none_or(|change| change > -ROUNDING)
    }
}

fn change_of(case: &EvalCase, before: &CaseResult, after: &CaseResult) -> f32 {
    quality(case, after) - quality(case, before)
}

/// Returns the changes of messages by skill, without those of messages that fare as before. A message that needs the tuned
/// skill counts for it; one that needs several others counts for each of them in part; messages that need none count for
/// [`NO_SKILL`]. The sum is that of all messages.
pub(super) fn changes_by_skill<'c>(
    name: &str,
    changes: impl Iterator<Item = (&'c EvalCase, f32)>,
) -> BTreeMap<String, f32> {
    let mut by_skill: BTreeMap<String, f32> = BTreeMap::new();
    for (case, change) in changes.filter(|(_, change)| change.abs() > ROUNDING) {
        let credited: Vec<&str> = match &case.relevant[..] {
            [] => vec![NO_SKILL],
            needed if needed.iter().any(|needed| needed == name) => vec![name],
            needed => needed.iter().map(String::as_str).collect(),
        };
        #[expect(clippy::cast_precision_loss, reason = "a few skills")]
        let part = change / credited.len() as f32;
        for skill in credited {
            *by_skill.entry(skill.to_owned()).or_default() += part;
        }
    }
    by_skill
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::eval::EvalOptions;
    use crate::{Mode, Skillcue};

    fn verdict(changes: &[(&str, f32)], by_keywords: Option<f32>) -> TuneVerdict {
        let changes = changes.iter().map(|(skill, change)| ((*skill).to_owned(), *change)).collect();
        TuneVerdict::new("pdf", changes, by_keywords)
    }

    #[test]
    fn a_draft_by_which_another_skill_loses_is_not_kept() {
        let kept = verdict(&[("pdf", 1.0), ("csv", 0.3)], None);
        assert!(kept.is_kept() && kept.losing.is_empty());
        let costly = verdict(&[("pdf", 9.0), ("csv", -0.2), ("ocr", -0.5), ("tar", 0.1)], None);
        assert!(!costly.is_kept());
        assert_eq!(costly.losing, ["ocr", "csv"]);
        assert!(!verdict(&[("pdf", 9.0), (NO_SKILL, -0.1)], None).is_kept(), "messages that need nothing count, too");
        assert!(!verdict(&[("pdf", -0.1), ("csv", 3.0)], None).is_kept());
        assert!(!verdict(&[], None).is_kept());
    }

    #[test]
    fn keywords_that_cost_where_they_alone_select_are_not_kept() {
        assert!(verdict(&[("pdf", 1.0)], Some(0.0)).is_kept());
        assert!(!verdict(&[("pdf", 1.0)], Some(-0.1)).is_kept());
    }

    #[test]
    fn a_message_of_several_skills_counts_for_the_tuned_one_or_for_each_in_part() {
        let dir = tempfile::tempdir().unwrap();
        for (name, description) in [("csv", "Reads tables."), ("forms", "Fills in forms.")] {
            std::fs::create_dir(dir.path().join(name)).unwrap();
            let text = format!("---\nname: {name}\ndescription: {description}\n---\n");
            std::fs::write(dir.path().join(name).join("SKILL.md"), text).unwrap();
        }
        let skills = Skillcue::builder().skills_dir(dir.path()).build().unwrap();
        let set =
            "{\"query\": \"tables\", \"relevant\": [\"csv\", \"forms\"]}\n{\"query\": \"hello\", \"none\": true}\n";
        let cases = EvalCase::read(set, None).unwrap();
        let options = EvalOptions { mode: Mode::Hybrid, eagerness: None, sweep: false, judge: false };
        let after = Evaluation::of(&skills, &cases, &options);
        let mut before = after.clone();
        before.cases[0].rank = None;
        let gain = change_of(&cases[0], &before.cases[0], &after.cases[0]);
        assert!(gain > 0.0);
        let judged = TuneEvaluations { before, after, by_keywords: None };
        let of = |name: &str| judged.verdict(name, &cases, &|_| true).by_skill.into_iter().collect::<Vec<_>>();
        assert_eq!(of("forms"), [("forms".to_owned(), gain)]);
        assert_eq!(of("csv"), [("csv".to_owned(), gain)]);
        assert_eq!(of("other"), [("csv".to_owned(), gain / 2.0), ("forms".to_owned(), gain / 2.0)]);
        let none = judged.verdict("forms", &cases, &|case| case.relevant.is_empty());
        assert!(none.by_skill.is_empty(), "{none:?}");
    }
}
