//! The documentation tier: bodies within a budget, and one line that names what did not fit.
//!
//! Bodies are shown as they are. A body may hold a heading that looks like one of ours; nothing is won by that, because
//! nobody takes this text apart again: what was shown is in the report, and a skill's text is instructions to begin with.
//! Names, which do decide where ours stand, cannot hold anything but letters, digits and hyphens.

use std::sync::Arc;

use skillfold_catalog::Skill;
use skillfold_format::Tokens;
use skillfold_select::Hit;

use crate::budget::{Fragment, Share};
use crate::discloser::{Discloser, Situation, Turn, disclosed};
use crate::names::sentence;
use crate::report::{Disclosed, Trace};
use crate::session::{address, digest};
use crate::{Decision, Tier};

/// What headings and naming lines may take beyond the budget.
const OVERHEAD: Tokens = Tokens(100);
/// Room that is kept for the line that names what was left out, however long the headings are.
const NAMING: Tokens = Tokens(30);
/// In place of a body that is in context already.
const REFERENCE: &str = "(Already in this conversation, unchanged.)";

/// What is to be documented.
pub(crate) enum Asked<'a> {
    /// The skills that match.
    Matching(&'a [(&'a Hit, &'a Skill)]),
    /// All skills, of which these come first by name; and what matched, for the report.
    All(Vec<&'a Skill>, &'a [(&'a Hit, &'a Skill)]),
}

pub(crate) struct Documentation<'a> {
    pub(crate) discloser: &'a Discloser,
    pub(crate) situation: &'a Situation<'a>,
    /// How many more skills match than the selection returned.
    pub(crate) beyond: usize,
}

/// A skill that may be shown.
struct Candidate<'a> {
    skill: &'a Skill,
    hit: Option<&'a Hit>,
    body: Result<Arc<str>, String>,
    /// The turn in which the same text was shown, if it is still in context.
    before: Option<u64>,
}

impl<'a> Documentation<'a> {
    pub(crate) fn write(&self, asked: &Asked<'a>, unsure: &[(&Hit, &Skill)]) -> Turn {
        let config = &self.discloser.config;
        let most = if config.max_skills == 0 { usize::MAX } else { config.max_skills };
        let (candidates, rest): (Vec<Candidate<'a>>, &[(&Hit, &Skill)]) = match asked {
            Asked::Matching(hits) => {
                let (best, rest) = hits.split_at(most.min(hits.len()));
                (best.iter().map(|(hit, skill)| self.candidate(skill, Some(hit))).collect(), rest)
            }
            Asked::All(skills, hits) => {
                let hit = |skill: &Skill| hits.iter().find(|(hit, _)| hit.name == skill.name()).map(|(hit, _)| *hit);
                (skills.iter().map(|skill| self.candidate(skill, hit(skill))).collect(), &[])
            }
        };
        let all = matches!(asked, Asked::All(..));
        let shares = self.deal(&candidates);
        let mut skills: Vec<Disclosed> =
            candidates.iter().zip(&shares).map(|(one, share)| self.report(one, share.as_ref())).collect();
        let (text, overhead) = self.text(&candidates, &shares, &skills, rest, all);
        let others =
            |why: &'static str| move |(hit, _): &(&Hit, &Skill)| disclosed(hit, Decision::Omitted, Some(why.into()));
        skills.extend(rest.iter().map(others("more than `max_skills` match better")));
        if !all {
            skills.extend(unsure.iter().map(others("it matches too weakly")));
        }
        Turn { tier: Tier::Documentation, text, skills, overhead: Some(overhead) }
    }

    fn candidate(&self, skill: &'a Skill, hit: Option<&'a Hit>) -> Candidate<'a> {
        let body = self.situation.bodies.body(skill);
        let known = self.situation.session.and_then(|session| session.in_context(&address(skill)));
        let same = known.filter(|known| body.as_ref().is_ok_and(|body| digest(body) == known.digest));
        Candidate { skill, hit, body, before: same.map(|known| known.turn) }
    }

    /// What each candidate gets, in the order of the candidates.
    fn deal<'c>(&self, candidates: &'c [Candidate<'_>]) -> Vec<Option<Share<'c>>> {
        let counter = self.discloser.counter;
        let mut fragments = Vec::with_capacity(candidates.len());
        let mut owners = Vec::with_capacity(candidates.len());
        for (at, one) in candidates.iter().enumerate() {
            let Ok(body) = &one.body else { continue };
            if one.before.is_some() {
                continue;
            }
            owners.push(at);
            fragments.push(Fragment {
                name: one.skill.name(),
                source: one.skill.source(),
                mention: one.hit.is_some_and(|hit| hit.mention.is_some()),
                score: one.hit.map_or(0.0, |hit| hit.score),
                priority: one.skill.manifest().priority(),
                text: body,
            });
        }
        // A reference costs next to nothing: it is paid first, and never left out.
        let reference = counter.count(REFERENCE);
        let references = candidates.iter().filter(|one| one.before.is_some()).count();
        let mut budget = self.discloser.config.budget();
        if let Some(total) = budget.total.filter(|total| total.0 > 0) {
            // Headings beyond what is free for them are paid from the budget.
            let headings: Tokens = candidates.iter().map(|one| counter.count(&heading(one.skill.name()))).sum();
            let fixed =
                counter.count(HEAD) + headings + counter.reserve(NAMING) + counter.count(&showing(99_999, 99_999));
            let excess = fixed.0.saturating_sub(counter.reserve(OVERHEAD).0);
            budget.total =
                Some(Tokens(total.0.saturating_sub(excess + excess / 5 + references * (reference.0 + 2)).max(1)));
        }
        let refer = |fragment| Share {
            fragment,
            decision: Decision::Included,
            text: REFERENCE.into(),
            tokens: reference,
            why: None,
        };
        let mut shares: Vec<Option<Share<'c>>> =
            candidates.iter().enumerate().map(|(at, one)| one.before.map(|_| refer(at))).collect();
        for share in budget.allot(&fragments, &self.discloser.memo) {
            let at = owners[share.fragment];
            shares[at] = Some(share);
        }
        // What is cut as it was cut before need not be said twice.
        for (one, share) in candidates.iter().zip(&mut shares) {
            let Some(share) = share.as_mut().filter(|share| share.decision == Decision::Shortened) else { continue };
            let known = self.situation.session.and_then(|session| session.in_context(&address(one.skill)));
            if known.is_some_and(|known| known.digest == digest(&share.text)) {
                share.text = REFERENCE.into();
                share.tokens = reference;
                share.why = Some("its beginning is in this conversation already".to_owned());
            }
        }
        shares
    }

    fn report(&self, one: &Candidate<'_>, share: Option<&Share<'_>>) -> Disclosed {
        let (decision, tokens, mut why) = match (share, &one.body) {
            (Some(share), _) => (share.decision, share.tokens, share.why.clone()),
            (None, Err(why)) => (Decision::Omitted, Tokens(0), Some(format!("it cannot be read: {why}"))),
            (None, Ok(_)) => (Decision::Omitted, Tokens(0), None),
        };
        let mut trace = None;
        if let (Some(share), Ok(body)) = (share, &one.body)
            && decision != Decision::Omitted
        {
            let reference = share.text == REFERENCE;
            let known = self.situation.session.and_then(|session| session.in_context(&address(one.skill)));
            trace = Some(if let Some(known) = known.filter(|_| reference) {
                let (address, digest) = (known.address.clone(), known.digest);
                Trace { address, digest, shortened: known.shortened, tokens: known.tokens, reference }
            } else {
                let text = if decision == Decision::Included { body } else { &*share.text };
                Trace::of(address(one.skill), text, decision == Decision::Shortened, tokens)
            });
            if let Some(turn) = one.before {
                why = Some(format!("in this conversation since turn {turn}, unchanged"));
            }
        }
        match one.hit {
            Some(hit) => Disclosed { tokens, trace, ..disclosed(hit, decision, why) },
            None => Disclosed {
                name: one.skill.name().to_owned(),
                decision,
                score: 0.0,
                confidence: 0.0,
                reasons: Vec::new(),
                tokens,
                why,
                trace,
            },
        }
    }

    fn text(
        &self,
        candidates: &[Candidate<'_>],
        shares: &[Option<Share<'_>>],
        skills: &[Disclosed],
        rest: &[(&Hit, &Skill)],
        all: bool,
    ) -> (String, Tokens) {
        let (mut text, mut used, mut shown) = (HEAD.to_owned(), self.discloser.counter.count(HEAD), 0);
        for (one, share) in candidates.iter().zip(shares) {
            let Some(share) = share.as_ref().filter(|share| share.decision != Decision::Omitted) else { continue };
            let heading = heading(one.skill.name());
            used = used + self.discloser.counter.count(&heading);
            shown += 1;
            text.push_str(&heading);
            text.push_str(share.text.trim_end_matches('\n'));
            text.push('\n');
        }
        let left = skills.iter().filter(|skill| skill.decision == Decision::Omitted).map(|skill| skill.name.as_str());
        let left: Vec<&str> = left.chain(rest.iter().map(|(_, skill)| skill.name())).collect();
        let total = if all { left.len() } else { left.len() + self.beyond };
        let visible = self.situation.census.visible;
        let showing = (all && shown < visible).then(|| showing(shown, visible));
        used = used + showing.as_ref().map_or(Tokens(0), |line| self.discloser.counter.count(line));
        if total > 0 {
            let counter = self.discloser.counter;
            let limited = self.discloser.config.max_total_tokens.is_some_and(|total| total.0 > 0);
            let free = counter.reserve(OVERHEAD).0.saturating_sub(used.0).max(counter.reserve(NAMING).0);
            let what = if all { "Left out for want of room" } else { "Matching, too, but not shown" };
            let say = |list: &str| format!("\n{what}: {list}. `load_skill` gives one by its id.\n");
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

const HEAD: &str = "## Relevant Skill Documentation\n";

fn heading(name: &str) -> String {
    format!("\n### {name}\n\n")
}

fn showing(shown: usize, of: usize) -> String {
    format!("\n*Showing {shown} of {of} skills. Ask about specific skills for more details.*\n")
}
