//! The documentation tier: bodies within a budget, and one line that names what did not fit.
//!
//! Bodies are shown as they are. A body may hold a heading that looks like one of ours; nothing is won by that,
//! because no code parses this text again: what was shown is in the report, and a skill's text is instructions
//! to begin with. Names, which are part of our headings, cannot hold anything but letters, digits and hyphens.

use std::sync::Arc;

use skillcue_catalog::Skill;
use skillcue_format::Tokens;
use skillcue_select::Hit;

use crate::budget::{Allotment, Fragment, RemainingBudget};
use crate::discloser::{Discloser, TurnText, disclosed};
use crate::files::files_line;
use crate::names::sentence;
use crate::parts::PartsWish;
use crate::report::{DisclosedSkill, ShownText};
use crate::session::{SessionSkill, digest};
use crate::situation::Situation;
use crate::{Decision, Tier};

/// The tokens that headings and naming lines may take beyond the budget.
pub(crate) const MAX_FREE_OVERHEAD: Tokens = Tokens(100);
/// The tokens that are kept for the line that names what was omitted, however long the headings are.
const MIN_NAMING: Tokens = Tokens(30);
/// The text in place of a body that is in context already.
const REFERENCE: &str = "(Already in this conversation, unchanged.)";

/// The skills to document.
pub(crate) enum DocumentationScope<'a> {
    /// All skills that match.
    Matching(&'a [(&'a Hit, &'a Skill)]),
    /// All skills, of which these come first by name; and the matches, for the report.
    All(Vec<&'a Skill>, &'a [(&'a Hit, &'a Skill)]),
}

pub(crate) struct Documentation<'a> {
    pub(crate) discloser: &'a Discloser,
    pub(crate) situation: &'a Situation<'a>,
    /// The number of matching skills that the selection did not return.
    pub(crate) beyond: usize,
}

/// A skill whose body may be shown.
struct BodyCandidate<'a> {
    skill: &'a Skill,
    hit: Option<&'a Hit>,
    body: Result<Arc<str>, String>,
    /// The record of the same body in context: all of it, or its beginning.
    known: Option<&'a SessionSkill>,
    /// Whether the model can load it by itself.
    listed: bool,
    /// Whether its text is on another machine, and `body` a sentence in its place.
    is_elsewhere: bool,
}

impl BodyCandidate<'_> {
    /// Returns whether the whole body is in context.
    fn is_known(&self) -> bool {
        self.known.is_some_and(|known| !known.shortened || self.is_elsewhere)
    }
}

impl<'a> Documentation<'a> {
    pub(crate) fn write(&self, asked: &DocumentationScope<'a>) -> TurnText {
        let config = &self.discloser.config;
        let most = if config.max_skills == 0 { usize::MAX } else { config.max_skills };
        let (candidates, rest): (Vec<BodyCandidate<'a>>, &[(&Hit, &Skill)]) = match asked {
            DocumentationScope::Matching(hits) => {
                let (best, rest) = hits.split_at(most.min(hits.len()));
                (best.iter().map(|(hit, skill)| self.candidate(skill, Some(hit))).collect(), rest)
            }
            DocumentationScope::All(skills, hits) => {
                let hit = |skill: &Skill| hits.iter().find(|(hit, _)| hit.name == skill.name()).map(|(hit, _)| *hit);
                (skills.iter().map(|skill| self.candidate(skill, hit(skill))).collect(), &[])
            }
        };
        let all = matches!(asked, DocumentationScope::All(..));
        let shares = self.allot_bodies(&candidates, rest);
        let mut skills: Vec<DisclosedSkill> =
            candidates.iter().zip(&shares).map(|(one, share)| Self::report(one, share.as_ref())).collect();
        let (text, overhead) = self.text(&candidates, &shares, &skills, rest, all);
        let others =
            |why: &'static str| move |(hit, _): &(&Hit, &Skill)| disclosed(hit, Decision::Omitted, Some(why.into()));
        skills.extend(rest.iter().map(others("more than `max_skills` match better")));
        TurnText { tier: Tier::Documentation, text, skills, overhead: Some(overhead) }
    }

    fn candidate(&self, skill: &'a Skill, hit: Option<&'a Hit>) -> BodyCandidate<'a> {
        let body = self.situation.bodies.body(skill);
        let known = self.situation.session.and_then(|session| session.in_context(&skill.id()));
        let is_elsewhere = self.situation.bodies.is_elsewhere(skill);
        let is_same = |known: &&SessionSkill| body.as_ref().is_ok_and(|body| digest(body) == known.digest);
        let known = known.filter(|known| is_elsewhere || is_same(known));
        BodyCandidate { skill, hit, body, known, listed: skill.is_for_models(), is_elsewhere }
    }

    /// Returns the text that each candidate gets, in the order of the candidates.
    fn allot_bodies<'c>(
        &self,
        candidates: &'c [BodyCandidate<'_>],
        rest: &[(&Hit, &Skill)],
    ) -> Vec<Option<Allotment<'c>>> {
        let counter = self.discloser.counter;
        let (budget, advice) = (self.discloser.config.budget(), &self.discloser.config.load_advice);
        let mut purse = RemainingBudget::new(&budget, &self.discloser.memo);
        // The tokens that are free for headings and lines that name skills. Beyond it they are paid from the budget.
        let lost = candidates.iter().any(|one| one.body.is_err() || !one.listed);
        let lines = 1 + usize::from(lost || rest.iter().any(|(_, skill)| !skill.is_for_models()));
        let lines = Tokens(counter.reserve(MIN_NAMING).0 * lines) + counter.count(&showing_line(99_999, 99_999));
        let mut free = counter.reserve(MAX_FREE_OVERHEAD);
        pay(counter.count(DOCUMENTATION_HEADING) + lines, &mut free, &mut purse);
        // A reference costs next to nothing: it is paid first, and never left out.
        let reference = counter.count(REFERENCE);
        let refer = |at: usize, decision: Decision, why: Option<String>| Allotment {
            fragment: at,
            decision,
            text: REFERENCE.into(),
            shown: 0,
            parts: Vec::new(),
            tokens: reference,
            why,
        };
        for one in candidates.iter().filter(|one| one.known.is_some()) {
            purse.charge(reference + Tokens(2));
            pay(counter.count(&heading(one.skill.name())), &mut free, &mut purse);
        }
        let fragments: Vec<Fragment<'c>> = candidates.iter().map(BodyCandidate::fragment).collect();
        let mut shares: Vec<Option<Allotment<'c>>> = candidates.iter().map(|_| None).collect();
        for at in budget.order(&fragments) {
            let one = &candidates[at];
            if one.body.is_err() {
                continue;
            }
            if one.is_known() {
                shares[at] = Some(refer(at, Decision::Included, None));
                continue;
            }
            let before = (free, purse.clone());
            if one.known.is_none() {
                pay(counter.count(&heading(one.skill.name())), &mut free, &mut purse);
            }
            let rest = advice.rest_of(one.skill);
            let known = one.known.map_or(&[][..], |known| &known.parts);
            let part = advice.part_of(one.skill);
            let wish = PartsWish { message: self.situation.message, known, rest: &part, ..PartsWish::default() };
            let line = self.files_line(one, &purse);
            let mut share = match &line {
                Some(line) => purse.serve_with_line(at, &rest, fragments[at].text, &wish, line),
                None => purse.serve(at, &rest, fragments[at].text, Some(&wish)),
            };
            if one.known.is_some() && share.parts.iter().all(|part| wish.knows(part)) {
                // As much of it is in context already: what it would have taken is left to others.
                (free, purse) = before;
                let why = if share.parts.is_empty() {
                    "the parts of it that fit are in this conversation already"
                } else {
                    "its beginning is in this conversation already"
                };
                share = refer(at, Decision::Shortened, Some(why.to_owned()));
            } else if share.decision == Decision::Omitted {
                // Its heading is not shown either.
                free = before.0;
                purse.refund(&before.1);
            }
            shares[at] = Some(share);
        }
        shares
    }

    /// Returns the line that names files of a skill which fit the message, if its body is over the limit.
    fn files_line(&self, one: &BodyCandidate<'_>, purse: &RemainingBudget<'_>) -> Option<String> {
        let body = one.body.as_deref().ok().filter(|body| one.listed && purse.is_over(body))?;
        let advice = self.discloser.config.load_advice.file_of(one.skill);
        files_line(one.skill, body, self.situation.message, self.situation.bodies, &advice)
    }

    fn report(one: &BodyCandidate<'_>, share: Option<&Allotment<'_>>) -> DisclosedSkill {
        let (decision, tokens, mut why) = match (share, &one.body) {
            (Some(share), _) => (share.decision, share.tokens, share.why.clone()),
            (None, Err(why)) => (Decision::Omitted, Tokens(0), Some(format!("it cannot be read: {why}"))),
            (None, Ok(_)) => (Decision::Omitted, Tokens(0), None),
        };
        let mut shown_text = None;
        if let (Some(share), Ok(body)) = (share, &one.body)
            && decision != Decision::Omitted
        {
            let reference = share.text == REFERENCE;
            shown_text = Some(if let Some(known) = one.known.filter(|_| reference) {
                let (address, digest, tokens) = (known.address.clone(), known.digest, known.tokens);
                let (shortened, shown, parts) = (known.shortened, known.shown, known.parts.clone());
                ShownText { address, digest, shortened, shown, parts, tokens, reference }
            } else {
                let before = one.known.map_or(&[][..], |known| &known.parts);
                let parts = share.parts.iter().chain(before).cloned().collect();
                ShownText::of(one.skill.id(), body, parts, tokens)
            });
            if let Some(known) = one.known.filter(|known| !known.shortened) {
                why = Some(format!("in this conversation since turn {}, unchanged", known.turn));
            }
        }
        match one.hit {
            Some(hit) => DisclosedSkill { tokens, shown_text, ..disclosed(hit, decision, why) },
            None => DisclosedSkill {
                name: one.skill.name().to_owned(),
                decision,
                score: 0.0,
                confidence: 0.0,
                certainty: 0.0,
                likelihood: 0.0,
                reasons: Vec::new(),
                tokens,
                why,
                shown_text,
            },
        }
    }

    fn text<'n>(
        &self,
        candidates: &'n [BodyCandidate<'_>],
        shares: &[Option<Allotment<'_>>],
        skills: &[DisclosedSkill],
        rest: &'n [(&Hit, &Skill)],
        all: bool,
    ) -> (String, Tokens) {
        let (mut text, mut used, mut shown) =
            (DOCUMENTATION_HEADING.to_owned(), self.discloser.counter.count(DOCUMENTATION_HEADING), 0);
        for (one, share) in candidates.iter().zip(shares) {
            let Some(share) = share.as_ref().filter(|share| share.decision != Decision::Omitted) else { continue };
            let heading = heading(one.skill.name());
            used = used + self.discloser.counter.count(&heading);
            shown += 1;
            text.push_str(&heading);
            text.push_str(share.text.trim_end_matches('\n'));
            text.push('\n');
        }
        // Skills that the model can load are offered to it. The others are only named, so that it does not try.
        let omitted = candidates.iter().zip(skills).filter(|(_, skill)| skill.decision == Decision::Omitted);
        let omitted = omitted.map(|(one, _)| (one.skill.name(), one.listed && one.body.is_ok()));
        let omitted = omitted.chain(rest.iter().map(|(_, skill)| (skill.name(), skill.is_for_models())));
        let (left, lost): (Vec<_>, Vec<_>) = omitted.partition(|(_, is_loadable)| *is_loadable);
        let names = |some: Vec<(&'n str, bool)>| -> Vec<&'n str> { some.into_iter().map(|(name, _)| name).collect() };
        let (left, lost) = (names(left), names(lost));
        let total = if all { left.len() } else { left.len() + self.beyond };
        let visible = self.situation.census.visible;
        let showing = (all && shown < visible).then(|| showing_line(shown, visible));
        used = used + showing.as_ref().map_or(Tokens(0), |line| self.discloser.counter.count(line));
        let counter = self.discloser.counter;
        let limited = self.discloser.config.max_total_tokens.is_some_and(|total| total.0 > 0);
        if !lost.is_empty() {
            let say = |list: &str| format!("\nCannot be shown: {list}.\n");
            let line = sentence(&lost, lost.len(), limited.then_some(counter.reserve(MIN_NAMING)), counter, say);
            used = used + counter.count(&line);
            text.push_str(&line);
        }
        if total > 0 {
            let free = counter.reserve(MAX_FREE_OVERHEAD).0.saturating_sub(used.0).max(counter.reserve(MIN_NAMING).0);
            let what = match (all, shown) {
                (true, _) => "Left out to save space",
                (false, 0) => "Matching, but left out to save space",
                (false, _) => "Matching, too, but not shown",
            };
            let advice = &self.discloser.config.load_advice.one;
            let say = |list: &str| format!("\n{what}: {list}. {advice}\n");
            let line = sentence(&left, total, limited.then_some(Tokens(free)), counter, say);
            used = used + counter.count(&line);
            text.push_str(&line);
        }
        if let Some(line) = showing {
            text.push_str(&line);
        }
        text.truncate(text.trim_end_matches('\n').len());
        (text, used)
    }
}

impl BodyCandidate<'_> {
    fn fragment(&self) -> Fragment<'_> {
        Fragment {
            name: self.skill.name(),
            source: self.skill.source(),
            mention: self.hit.is_some_and(|hit| hit.mention.is_some()),
            score: self.hit.map_or(0.0, |hit| hit.score),
            priority: self.skill.manifest().priority(),
            text: self.body.as_deref().unwrap_or_default(),
        }
    }
}

/// Pays from the free tokens, and the rest from the budget.
fn pay(tokens: Tokens, free: &mut Tokens, purse: &mut RemainingBudget<'_>) {
    purse.charge(Tokens(tokens.0.saturating_sub(free.0)));
    free.0 = free.0.saturating_sub(tokens.0);
}

/// The first line of a disclosure of tier 3.
pub const DOCUMENTATION_HEADING: &str = "## Relevant Skill Documentation\n";

fn heading(name: &str) -> String {
    format!("\n### {name}\n\n")
}

fn showing_line(shown: usize, of: usize) -> String {
    format!("\n*Showing {shown} of {of} skills. Ask about specific skills for more details.*\n")
}
