//! A judge: a model that chooses among the first hits of a selection.
//!
//! Matching ranks skills by evidence and costs less than a millisecond; a judge reads the message and the descriptions of
//! the first ten skills, and costs a request to a model.

mod cache;

use std::fmt;
use std::sync::Arc;

use skillcue_base::visible;
use skillcue_catalog::Catalog;
use skillcue_load::CacheStats;
use skillcue_select::{
    Hit, Intent, JudgeOutcome, Judgement, Mention, Mode, Reason, ReasonKind, SelectOptions, Selection, Thresholds, Turn,
};

use crate::Skillcue;
use crate::feedback::thresholds_of;
use crate::snapshot::Snapshot;
use cache::{JudgeCache, JudgeKey};

/// The number of hits that a judge chooses among.
pub(crate) const MAX_CANDIDATES: usize = 10;

/// The number of characters of a message and of a description that a judge is given.
const MAX_MESSAGE: usize = 4_000;
const MAX_DESCRIPTION: usize = 1_000;

/// The certainty of a first hit from which a judge is not asked: nothing that it could say would be worth the wait.
const UNMISTAKABLE: f32 = 0.95;

/// The certainty of the skill that a judge chose first, at least: enough for its body unless eagerness is low. Set by
/// hand: the one judge that was measured, a model of 1.5 billion parameters, always chose the first of the list and was
/// right in 17 of 35 cases, which says nothing about a model that reads.
const CHOSEN_FIRST: f32 = 0.8;
/// The likelihood of the others that it chose, at least: enough to be named.
const CHOSEN_TOO: f32 = 0.5;
/// The share that remains of the numbers of hits that it did not choose: too little to be named by default.
const NOT_CHOSEN_SHARE: f32 = 0.02;

/// A judge, usually a model: it chooses the skills that a message needs among the first ten of a selection.
/// [`Builder::judge`](crate::Builder::judge) sets one. The crate `skillcue-agent` has `ModelJudge`, which asks a model over
/// HTTP; any other will do:
///
/// ```
/// use std::sync::Arc;
/// use skillcue::select::{Judge, JudgeError, JudgeQuestion};
/// use skillcue::{Request, Skillcue};
///
/// #[derive(Debug)]
/// struct LastOne;
///
/// impl Judge for LastOne {
///     fn name(&self) -> &str {
///         "last-one"
///     }
///
///     fn choose(&self, question: &JudgeQuestion<'_>) -> Result<Vec<usize>, JudgeError> {
///         Ok(vec![question.candidates.len() - 1])
///     }
/// }
///
/// # let dir = tempfile::tempdir()?;
/// # for (name, does) in [
/// #     ("trails", "Plans hikes in the Alps, with routes and the weather."),
/// #     ("peaks", "Plans climbs in the Alps, with routes, ropes and the weather."),
/// #     ("huts", "Books huts in the Alps."),
/// # ] {
/// #     std::fs::create_dir(dir.path().join(name))?;
/// #     let text = format!("---\nname: {name}\ndescription: {does}\n---\nHow.\n");
/// #     std::fs::write(dir.path().join(name).join("SKILL.md"), text)?;
/// # }
/// let message = Request::new("plan a route in the Alps with good weather");
/// let plain = Skillcue::builder().skills_dir(dir.path()).build()?.select(&message);
///
/// let skills = Skillcue::builder().skills_dir(dir.path()).judge(Arc::new(LastOne)).build()?;
/// assert_eq!(skills.select(&message).hits.first().map(|hit| &hit.name), plain.hits.last().map(|hit| &hit.name));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// It is not asked where it could change nothing or little: in [`Mode::Keyword`], for a message that calls a skill by a
/// sigil, asks about the skills themselves, or fits fewer than two; where the first skill is certain, or none is likely
/// enough to be named. Where it fails, the order is that without it, and [`Selection::judgement`] says so.
///
/// Called by many threads at once, and waited for: an implementation has a deadline of its own. Descriptions are the words
/// of skills' authors, who may try to recommend themselves.
pub trait Judge: fmt::Debug + Send + Sync {
    /// Returns its name, for people.
    fn name(&self) -> &str;

    /// Returns the positions of the candidates that the message needs, best first; none if it needs none of them. A
    /// position that is out of range, or given twice, makes the whole answer wrong.
    fn choose(&self, question: &JudgeQuestion<'_>) -> Result<Vec<usize>, JudgeError>;
}

/// A message, and the skills that may fit it.
#[derive(Debug, Clone, Copy)]
pub struct JudgeQuestion<'q> {
    /// The message. A very long one is cut.
    pub message: &'q str,
    /// The candidates, from two to ten, in the order of the selection.
    pub candidates: &'q [JudgeCandidate],
}

/// A skill that a judge may choose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JudgeCandidate {
    /// Its name.
    pub name: String,
    /// Its description, without characters that cannot be seen. A very long one is cut.
    pub description: String,
}

/// The reason why a judge has no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct JudgeError(String);

impl JudgeError {
    /// Makes an error of a reason, in one sentence.
    pub fn new(why: impl fmt::Display) -> JudgeError {
        JudgeError(why.to_string())
    }
}

/// A judge and its answers so far.
#[derive(Debug)]
pub(crate) struct Judging {
    judge: Arc<dyn Judge>,
    cache: JudgeCache,
}

impl Judging {
    pub(crate) fn new(judge: Arc<dyn Judge>) -> Judging {
        Judging { judge, cache: JudgeCache::default() }
    }

    /// Returns the same judge, without its answers so far.
    pub(crate) fn anew(&self) -> Judging {
        Judging::new(Arc::clone(&self.judge))
    }

    pub(crate) fn name(&self) -> &str {
        self.judge.name()
    }

    /// Lets the judge choose among the first hits of a selection, if there is something to choose.
    pub(crate) fn apply(&self, catalog: &Catalog, message: &str, selection: &mut Selection) {
        let asked = selection.hits.iter().take(MAX_CANDIDATES).map(|hit| hit.skill);
        let positions: Vec<usize> =
            asked.filter(|skill| catalog.all().get(*skill).is_some_and(|skill| skill.is_for_models())).collect();
        let outcome = match not_asked(selection, positions.len()) {
            Some(why) => JudgeOutcome::NotAsked { why },
            None => match self.choice(catalog, message, &positions) {
                Ok(chosen) => {
                    reorder(selection, self.name(), &positions, &chosen);
                    JudgeOutcome::Chose { count: chosen.len() }
                }
                Err(error) => JudgeOutcome::Failed { why: error.to_string() },
            },
        };
        let (judge, candidates) = (self.name().to_owned(), positions.len());
        selection.judgement = Some(Judgement { judge, candidates, outcome });
    }

    /// Returns the skills that the judge chooses, by their positions in the catalog. A failure is logged when the judge is
    /// asked, and not again while the cache has it.
    fn choice(&self, catalog: &Catalog, message: &str, skills: &[usize]) -> Result<Arc<[usize]>, JudgeError> {
        let message = cut(message, MAX_MESSAGE);
        let mut sorted = skills.to_vec();
        sorted.sort_unstable();
        let key = JudgeKey { generation: catalog.generation(), message: message.into(), skills: sorted.into() };
        self.cache.get_or_ask(&key, || {
            self.ask(catalog, message, skills).inspect_err(|error| {
                tracing::warn!(judge = self.name(), "the judge has no answer: {error}");
            })
        })
    }

    /// Asks the judge, and checks its answer.
    fn ask(&self, catalog: &Catalog, message: &str, skills: &[usize]) -> Result<Arc<[usize]>, JudgeError> {
        let candidate = |at: &usize| {
            let skill = catalog.all().get(*at)?;
            let manifest = skill.make_manifest();
            let description = visible(cut(manifest.description(), MAX_DESCRIPTION)).into_owned();
            Some(JudgeCandidate { name: skill.name().to_owned(), description })
        };
        let candidates: Vec<JudgeCandidate> = skills.iter().filter_map(candidate).collect();
        let chosen = self.judge.choose(&JudgeQuestion { message, candidates: &candidates })?;
        let skill = |at: &usize| skills.get(*at).copied();
        let chosen: Option<Vec<usize>> = chosen.iter().map(skill).collect();
        let chosen = chosen.ok_or_else(|| JudgeError::new("it chose a skill that it was not given"))?;
        if (1..chosen.len()).any(|at| chosen[..at].contains(&chosen[at])) {
            return Err(JudgeError::new("it chose a skill twice"));
        }
        Ok(chosen.into())
    }
}

impl Skillcue {
    /// Returns the selection for a turn, with the choice of the judge if there is one. In [`Mode::Keyword`] none is asked:
    /// whatever has a trigger counts there.
    pub(crate) fn judged_select(
        &self,
        snapshot: &Snapshot,
        turn: &Turn<'_>,
        options: &SelectOptions,
        eagerness: Option<f32>,
    ) -> Arc<Selection> {
        let Some(judging) = self.judging.as_ref().filter(|_| options.mode != Mode::Keyword) else {
            let selection = snapshot.cached_select(turn, options);
            return self.with_feedback(selection, options.mode, thresholds_of(snapshot, eagerness));
        };
        let all = SelectOptions { limit: options.limit.max(MAX_CANDIDATES), ..*options };
        let mut selection = Arc::unwrap_or_clone(snapshot.cached_select(turn, &all));
        judging.apply(&snapshot.catalog, turn.message(), &mut selection);
        selection.hits.truncate(options.limit);
        // The judge has read the message: what it chose is not weighed against the past.
        Arc::new(selection)
    }

    /// Returns the name of the [judge](crate::select::Judge), if there is one.
    pub fn judge_name(&self) -> Option<&str> {
        self.judging.as_ref().map(Judging::name)
    }

    /// Returns hits and misses of the cache of the judge's answers, which counts an answer for one message, one set of
    /// candidates and one generation of the catalog.
    pub fn judge_stats(&self) -> CacheStats {
        self.judging.as_ref().map(|judging| judging.cache.stats()).unwrap_or_default()
    }
}

/// Returns why a judge is not asked, if it is not.
fn not_asked(selection: &Selection, candidates: usize) -> Option<&'static str> {
    if selection.intent != Intent::None {
        Some("the message asks about the skills themselves")
    } else if selection.hits.iter().any(|hit| hit.mention == Some(Mention::Sigil)) {
        Some("the message calls a skill by its name")
    } else if candidates < 2 {
        Some("there is no second skill to choose from")
    } else if selection.hits.first().is_some_and(|hit| hit.certainty >= UNMISTAKABLE) {
        Some("the first skill is certain without it")
    } else if selection.hits.iter().all(|hit| hit.likelihood < Thresholds::default().name) {
        Some("no skill is likely enough to be named")
    } else {
        None
    }
}

/// Puts the chosen skills first, in the judge's order, and leaves little of what speaks for the others.
fn reorder(selection: &mut Selection, judge: &str, asked: &[usize], chosen: &[usize]) {
    let rank = |hit: &Hit| chosen.iter().position(|skill| *skill == hit.skill).unwrap_or(chosen.len());
    selection.hits.sort_by_key(rank);
    let mut most = 1.0;
    for (at, hit) in selection.hits.iter_mut().enumerate() {
        if at < chosen.len() {
            let least = if at == 0 { CHOSEN_FIRST } else { 0.0 };
            hit.certainty = hit.certainty.max(least).min(most);
            hit.likelihood = hit.likelihood.max(CHOSEN_TOO).max(hit.certainty);
            hit.confidence = hit.confidence.max(hit.certainty);
            most = hit.certainty;
        } else {
            for number in [&mut hit.certainty, &mut hit.likelihood, &mut hit.confidence] {
                *number *= NOT_CHOSEN_SHARE;
            }
        }
        let text = if at < chosen.len() {
            format!("chosen, {} of {}", at + 1, asked.len())
        } else if asked.contains(&hit.skill) {
            format!("not chosen among {}", asked.len())
        } else {
            format!("not among the first {}", asked.len())
        };
        let reason = Reason { kind: ReasonKind::Judge, trigger: judge.to_owned(), text, span: None, score: 0.0 };
        hit.reasons.insert(0, reason);
    }
}

/// Returns the beginning of a text, of at most so many characters.
fn cut(text: &str, max: usize) -> &str {
    text.char_indices().nth(max).map_or(text, |(at, _)| &text[..at])
}

#[cfg(test)]
mod tests;
