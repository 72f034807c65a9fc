//! Trials of a changed skill file: in a directory of its own, whose skills hide those of equal names elsewhere.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};

use rayon::prelude::*;
use skillcue_base::replace_file;
use skillcue_format::{EditError, MatchingEdit};
use skillcue_select::Mode;

use super::{Rival, TuneCandidate, TuneChoice, TuneDraft, TuneEvaluations, quality};
use crate::collisions::{CollisionOptions, stem, words_of};
use crate::eval::{CaseResult, EvalCase, EvalOptions, Evaluation};
use crate::{Request, Skillcue};

/// How far down a skill must be for a message not to be affected by its text.
const DEPTH: usize = 10;
/// The nearness from which a skill counts as a competitor.
const MIN_RIVAL: f32 = 0.12;
/// Most competitors that are looked at.
const MAX_RIVALS: usize = 3;
/// The price, in messages, of coming first for a message of others.
const INTRUSION: f32 = 0.2;
/// Most other skills that have a word that may become a keyword: three, or one of a hundred.
const MAX_HAVING: usize = 3;
const MAX_HAVING_PART: usize = 100;

/// Evaluations of a changed skill.
#[derive(Debug)]
pub struct TuneTrial<'t> {
    skills: &'t Skillcue,
    /// The file of the changed skill.
    file: PathBuf,
    original: Vec<u8>,
    mode: Mode,
}

/// The reason why a draft cannot be tried.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TuneError {
    /// The file cannot be edited.
    #[error("the file cannot be edited: {0}")]
    Edit(EditError),
    /// The copy cannot be written.
    #[error("the copy cannot be written: {0}")]
    Write(io::Error),
}

impl<'t> TuneTrial<'t> {
    /// Begins a trial of the skill whose file is at `path` and has the text `original`. `dir` is an empty directory that
    /// `skills` looks at before all others.
    pub fn new(
        skills: &'t Skillcue,
        dir: &Path,
        path: &Path,
        original: Vec<u8>,
        mode: Mode,
    ) -> Result<TuneTrial<'t>, TuneError> {
        let skill = path.parent().and_then(Path::file_name).unwrap_or("skill".as_ref());
        let name = path.file_name().unwrap_or("SKILL.md".as_ref());
        let trial = TuneTrial { skills, file: dir.join(skill).join(name), original, mode };
        trial.put(&trial.original)?;
        Ok(trial)
    }

    fn put(&self, bytes: &[u8]) -> Result<(), TuneError> {
        replace_file(&self.file, [bytes]).map_err(TuneError::Write)?;
        // Only the changed file is read, and only its part of the indexes is made anew.
        self.skills.refresh();
        Ok(())
    }

    /// Returns the file with a draft's texts.
    pub fn text_of(&self, draft: &TuneDraft) -> Result<Vec<u8>, TuneError> {
        let edit = MatchingEdit { description: Some(draft.description.clone()), keywords: draft.keywords.clone() };
        edit.apply(&self.original).map_err(TuneError::Edit)
    }

    /// Evaluates messages with a draft in place.
    pub fn evaluate(&self, draft: &TuneDraft, cases: &[EvalCase]) -> Result<Evaluation, TuneError> {
        self.put(&self.text_of(draft)?)?;
        Ok(self.evaluate_as_it_is(self.mode, cases))
    }

    /// Evaluates messages without a draft and with it, for a verdict on it. `description` is that of the file.
    pub fn judge(
        &self,
        description: &str,
        draft: &TuneDraft,
        cases: &[EvalCase],
    ) -> Result<TuneEvaluations, TuneError> {
        let plain = TuneDraft { description: description.to_owned(), keywords: Vec::new() };
        let has_keywords = self.mode != Mode::Keyword && !draft.keywords.is_empty();
        let evaluate = |draft: &TuneDraft| {
            let evaluation = self.evaluate(draft, cases)?;
            Ok((evaluation, has_keywords.then(|| self.evaluate_as_it_is(Mode::Keyword, cases))))
        };
        let (before, keywords_before) = evaluate(&plain)?;
        let (after, keywords_after) = if *draft == plain { (before.clone(), None) } else { evaluate(draft)? };
        let by_keywords = keywords_before.zip(keywords_after).map(|(before, after)| [before, after]);
        Ok(TuneEvaluations { before, after, by_keywords })
    }

    fn evaluate_as_it_is(&self, mode: Mode, cases: &[EvalCase]) -> Evaluation {
        Evaluation::of(self.skills, cases, &EvalOptions { mode, eagerness: None, sweep: false, judge: false })
    }

    /// Returns the messages that a change of the skill may affect: those that name it, those for which it is among the
    /// first, and those that have a word of a candidate.
    pub fn affected(&self, cases: &[EvalCase], name: &str, candidates: &[TuneCandidate]) -> Vec<EvalCase> {
        let words = candidates.iter().flat_map(TuneCandidate::words).flat_map(|words| stems_of(&words)).collect();
        let is_affected = |case: &&EvalCase| has_any(&stems_of(&case.query), &words) || self.is_near(case, name);
        cases.par_iter().filter(is_affected).cloned().collect()
    }

    /// Returns whether a message names the skill, or has it among the first.
    fn is_near(&self, case: &EvalCase, name: &str) -> bool {
        let request = Request::new(&case.query).mode(self.mode).limit(DEPTH);
        case.relevant.iter().chain(&case.not_relevant).any(|of| of == name)
            || self.skills.select(&request).hits.iter().any(|hit| hit.name == name)
    }

    /// Chooses among candidates by the messages that they may affect. `progress` hears how many drafts were tried.
    pub fn choose(
        &self,
        name: &str,
        description: &str,
        candidates: Vec<TuneCandidate>,
        train: &[EvalCase],
        progress: &dyn Fn(usize),
    ) -> TuneChoice {
        let affected = self.affected(train, name, &candidates);
        let near: Vec<bool> = affected.par_iter().map(|case| self.is_near(case, name)).collect();
        let stems: Vec<BTreeSet<String>> = affected.iter().map(|case| stems_of(&case.query)).collect();
        let known = stems_of(description);
        let mut tried = 0;
        let mut plain: Option<Vec<f32>> = None;
        // How messages fare in the mode `keyword`, without a draft.
        let mut by_keywords: Vec<f32> = Vec::new();
        let mut judge = |draft: &TuneDraft| {
            tried += 1;
            progress(tried);
            // A message that has none of the new words fares as it did without them, unless the skill was near it.
            let new = draft.keywords.iter().flat_map(|word| stems_of(word));
            let new: BTreeSet<String> = stems_of(&draft.description).difference(&known).cloned().chain(new).collect();
            let is_judged = |at: &usize| plain.is_none() || near[*at] || has_any(&stems[*at], &new);
            let judged: Vec<usize> = (0..affected.len()).filter(is_judged).collect();
            let cases: Vec<EvalCase> = judged.iter().map(|at| affected[*at].clone()).collect();
            let mut qualities = plain.clone().unwrap_or_else(|| vec![0.0; affected.len()]);
            match self.evaluate(draft, &cases) {
                Ok(evaluation) => {
                    for (at, result) in judged.iter().zip(&evaluation.cases) {
                        qualities[*at] = quality(&affected[*at], result) - intrusion(&affected[*at], result, name);
                    }
                    // What a keyword costs where it alone selects counts, and what it gains there does not.
                    if self.mode != Mode::Keyword && (plain.is_none() || !draft.keywords.is_empty()) {
                        let evaluation = self.evaluate_as_it_is(Mode::Keyword, &cases);
                        let found =
                            judged.iter().zip(&evaluation.cases).map(|(at, result)| quality(&affected[*at], result));
                        if plain.is_none() {
                            by_keywords = found.collect();
                        } else {
                            for (at, now) in judged.iter().zip(found) {
                                qualities[*at] += (now - by_keywords[*at]).min(0.0);
                            }
                        }
                    }
                    plain.get_or_insert_with(|| qualities.clone());
                    qualities
                }
                // A text that cannot be written into the file is no improvement.
                Err(_) => vec![-1_000.0; affected.len()],
            }
        };
        TuneChoice::of(name, description, candidates, &affected, &mut judge)
    }
}

/// Returns the price of the skill's coming first for a message of others, whether or not the right one was found: words that
/// draw such messages cost others sooner or later.
fn intrusion(case: &EvalCase, result: &CaseResult, name: &str) -> f32 {
    let is_first = result.first.as_deref() == Some(name);
    if is_first && !case.relevant.iter().any(|needed| needed == name) { INTRUSION } else { 0.0 }
}

fn stems_of(text: &str) -> BTreeSet<String> {
    words_of(text).map(|word| stem(&word)).collect()
}

fn has_any(stems: &BTreeSet<String>, words: &BTreeSet<String>) -> bool {
    words.iter().any(|word| stems.contains(word))
}

/// Returns the skills that one competes with, the nearest first.
pub fn rivals_of(skills: &Skillcue, name: &str) -> Vec<Rival> {
    let options = CollisionOptions { min_nearness: MIN_RIVAL };
    let pairs = skills.collisions_of(name, options).into_iter();
    let rival = |mut pair: crate::collisions::CollidingPair| {
        let other = 1 - pair.skills.iter().position(|skill| skill == name)?;
        let words = std::mem::take(&mut pair.only[other]);
        Some(Rival { name: std::mem::take(&mut pair.skills[other]), words })
    };
    pairs.filter_map(rival).take(MAX_RIVALS).collect()
}

/// Removes candidates for keywords of one word that other skills are full of. As a keyword, such a word selects the skill in
/// [`Mode::Keyword`] whatever the message is about; in a sentence it does no harm.
pub fn remove_common_keywords(skills: &Skillcue, name: &str, candidates: &mut Vec<TuneCandidate>) {
    let is_single = |word: &&String| words_of(word).count() == 1;
    let wanted: BTreeSet<String> = candidates
        .iter()
        .flat_map(|candidate| &candidate.keywords)
        .filter(is_single)
        .map(|word| stem_of(word))
        .collect();
    if wanted.is_empty() {
        return;
    }
    let catalog = skills.catalog();
    let others: Vec<&crate::Skill> = catalog.skills().filter(|skill| skill.name() != name).collect();
    let words_in = |skill: &&crate::Skill| -> BTreeSet<String> {
        let body = std::fs::read(skill.path()).unwrap_or_default();
        let text =
            format!("{} {} {}", skill.name(), skill.make_manifest().description(), String::from_utf8_lossy(&body));
        words_of(&text).map(|word| stem(&word)).filter(|word| wanted.contains(word)).collect()
    };
    let mut having: BTreeMap<String, usize> = BTreeMap::new();
    for word in others.par_iter().map(words_in).collect::<Vec<_>>().into_iter().flatten() {
        *having.entry(word).or_default() += 1;
    }
    let most = MAX_HAVING.max(others.len() / MAX_HAVING_PART);
    let is_common = |word: &&String| is_single(word) && having.get(&stem_of(word)).is_some_and(|count| *count > most);
    candidates.retain(|candidate| !candidate.keywords.iter().any(|word| is_common(&word)));
}

/// Returns the stem of a keyword of one word.
fn stem_of(word: &str) -> String {
    words_of(word).next().map(|word| stem(&word)).unwrap_or_default()
}

#[cfg(test)]
#[path = "trial_tests.rs"]
mod tests;
