//! Skills shown again after the host has dropped its context, or a part of it.

use std::sync::Arc;

use serde::Serialize;
use skillcue_catalog::Catalog;
use skillcue_format::Tokens;

use super::{Inclusion, LeaveReason, Session, SessionSkill, digest};
use crate::budget::RemainingBudget;
use crate::names::sentence;
use crate::parts::PartsWish;
use crate::{BodySource, Budget, Decision, LoadAdvice, TokenCounter};

/// The text to show again after the host dropped its context.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Rehydration {
    /// The text. Empty, if there is nothing to show.
    pub text: String,
    /// The skills in the text, most recent first.
    pub skills: Vec<RehydratedSkill>,
    /// The skills that are not in the text, by name, and why.
    pub omitted: Vec<(String, String)>,
    /// The cost of `text`.
    pub tokens: Tokens,
}

/// A skill that is shown again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RehydratedSkill {
    /// The skill's name.
    pub name: String,
    /// Whether the whole body is shown.
    pub decision: Decision,
    /// The cost of the skill's text.
    pub tokens: Tokens,
}

impl Session {
    /// Returns the skills that must be shown again after the host dropped its context, most recent first, each with the
    /// arguments that it was loaded with; and records that they were shown.
    ///
    /// The budget covers bodies, cut markers and headings. A last line of at most 60 tokens names what did not fit.
    pub fn rehydrate(
        &mut self,
        budget: Budget,
        catalog: &Catalog,
        bodies: &dyn BodySource,
        counter: &dyn TokenCounter,
    ) -> Rehydration {
        self.compacted();
        self.rehydrate_rest(budget, catalog, bodies, counter)
    }

    /// Like [`rehydrate`](Session::rehydrate), for a host that has dropped a part of its context and has said so with
    /// [`evicted`](Session::evicted): what is in context is not shown again.
    pub fn rehydrate_rest(
        &mut self,
        budget: Budget,
        catalog: &Catalog,
        bodies: &dyn BodySource,
        counter: &dyn TokenCounter,
    ) -> Rehydration {
        self.rehydrate_with(budget, catalog, bodies, counter, &LoadAdvice::default())
    }

    /// Like [`rehydrate_rest`](Session::rehydrate_rest), with `advice` on how to load the rest.
    pub(crate) fn rehydrate_with(
        &mut self,
        budget: Budget,
        catalog: &Catalog,
        bodies: &dyn BodySource,
        counter: &dyn TokenCounter,
        advice: &LoadAdvice,
    ) -> Rehydration {
        let mut purse = RemainingBudget::new(&budget, counter);
        let (mut text, mut skills, mut omitted, mut unnamed) = (String::new(), Vec::new(), Vec::new(), Vec::new());
        for remembered in self.skills.iter_mut().rev().filter(|remembered| remembered.is_dropped()) {
            let mut leave = |why: String| omitted.push((remembered.name.clone(), why));
            let skill = catalog.get(&remembered.address).filter(|skill| skill.enabled() && skill.available());
            let Some(skill) = skill else {
                leave("it is no longer there, or no longer enabled".to_owned());
                continue;
            };
            if purse.is_empty() {
                leave("the budget was used up by more recent skills".to_owned());
                unnamed.extend(skill.is_for_models().then(|| skill.name()));
                continue;
            }
            let read = bodies.body(skill).and_then(|body| match remembered.arguments.as_str() {
                "" => Ok((Arc::clone(&body), body)),
                arguments => Ok((body, bodies.body_with(skill, arguments)?)),
            });
            let (body, shown) = match read {
                Ok(read) => read,
                Err(why) => {
                    leave(format!("it cannot be read: {why}"));
                    continue;
                }
            };
            let heading = format!("\n### {}\n\n", skill.name());
            let before = purse.clone();
            purse.charge(counter.count(&heading));
            let (rest, part) = (advice.rest_of(skill), advice.part_of(skill));
            // The parts that were shown before, if their places are the same; else from the beginning on.
            let is_same = remembered.arguments.is_empty() && remembered.shortened && digest(&body) == remembered.digest;
            let wanted = if is_same { remembered.parts.clone() } else { Vec::new() };
            let wish = PartsWish { wanted: &wanted, rest: &part, ..PartsWish::default() };
            let share = purse.serve(0, &rest, &shown, Some(&wish));
            if share.decision == Decision::Omitted {
                purse.refund(&before);
                leave(share.why.unwrap_or_default());
                unnamed.extend(skill.is_for_models().then(|| skill.name()));
                continue;
            }
            if text.is_empty() {
                text.push_str("## Skills in Use\n");
            }
            text.push_str(&heading);
            text.push_str(share.text.trim_end_matches('\n'));
            text.push('\n');
            // A disclosure has no arguments, and compares with the text without them.
            remembered.digest = digest(&body);
            let is_whole = share.decision == Decision::Included;
            remembered.shown = if is_whole { body.len() } else { share.shown.min(body.len()) };
            remembered.parts = if is_whole { std::iter::once(0..body.len()).collect() } else { share.parts.clone() };
            remembered.shortened = share.decision == Decision::Shortened;
            remembered.tokens = share.tokens;
            remembered.how = Inclusion::Rehydrated;
            remembered.in_context = true;
            // One text, with the arguments of the last load.
            remembered.forms.clear();
            remembered.left = None;
            let (name, decision, tokens) = (remembered.name.clone(), share.decision, share.tokens);
            skills.push(RehydratedSkill { name, decision, tokens });
        }
        if !unnamed.is_empty() {
            let say = |list: &str| format!("\nUsed before, not shown again: {list}. {}", advice.one);
            text.push_str(&sentence(&unnamed, unnamed.len(), Some(Tokens(60)), counter, say));
        }
        let text = text.trim_matches('\n').to_owned();
        let tokens = counter.count(&text);
        Rehydration { text, skills, omitted, tokens }
    }
}

impl SessionSkill {
    /// Returns whether the host has dropped its text, and nothing else has ended its stay.
    fn is_dropped(&self) -> bool {
        !self.in_context && !matches!(self.left, Some(LeaveReason::Unloaded | LeaveReason::Expired))
    }
}
