//! Division of a token budget among skills' texts.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::ops::Range;

use serde::{Deserialize, Serialize};
use skillcue_base::counted;
use skillcue_catalog::Source;
use skillcue_format::Tokens;

use crate::advice::loadable_rest;
use crate::cut::cut_with_rest;
use crate::parts::{FittingParts, PartsWish, fitting_parts};
use crate::{Decision, TokenCounter};

/// Limits on the tokens of bodies. `None` and zero mean no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Budget {
    /// The limit for all bodies together.
    pub total: Option<Tokens>,
    /// The limit for each body.
    pub per_skill: Option<Tokens>,
}

impl Default for Budget {
    fn default() -> Self {
        Budget { total: Some(Tokens(8000)), per_skill: Some(Tokens(2000)) }
    }
}

/// A text that is to be shown within a budget.
#[derive(Debug, Clone, PartialEq)]
pub struct Fragment<'a> {
    /// The name of its skill.
    pub name: &'a str,
    /// The kind of place that the skill comes from.
    pub source: Source,
    /// Whether the message names the skill.
    pub mention: bool,
    /// The skill's score: how well it fits the message.
    pub score: f32,
    /// The priority that the skill's author gave it.
    pub priority: i32,
    /// The text.
    pub text: &'a str,
}

/// The part of a budget that a fragment got.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Allotment<'a> {
    /// The index of the fragment, in the order in which they were given.
    pub fragment: usize,
    /// Whether the fragment is shown whole, shortened or not at all.
    pub decision: Decision,
    /// The text to show; empty if the fragment was omitted.
    pub text: Cow<'a, str>,
    /// The number of bytes of the fragment's text that are in `text`.
    pub shown: usize,
    /// Where these bytes are in the fragment's text.
    pub parts: Vec<Range<usize>>,
    /// The cost of `text`.
    pub tokens: Tokens,
    /// The reason why it was not included whole.
    pub why: Option<String>,
}

/// Returns a source's rank when tokens are short, lowest first. Not the order of [`Source`], which decides about names.
pub(crate) fn source_rank(source: Source) -> u8 {
    match source {
        Source::Inline => 0,
        Source::Bundled => 1,
        Source::User => 2,
        Source::Project => 3,
        Source::Plugin => 4,
        Source::Catalog => 5,
        Source::Mcp => 6,
    }
}

impl Budget {
    /// No limit at all.
    pub const UNLIMITED: Budget = Budget { total: None, per_skill: None };

    /// Deals out tokens: to what the message names, then by source, score, priority and name. What is over its limit is
    /// cut; what does not fit into what is left is cut to fit, and everything after it is left out, so that nothing is
    /// shown in place of something more important.
    ///
    /// Returns a share for each fragment, in the order in which they were served. Without a total that is the order in
    /// which they were given.
    ///
    /// ```
    /// use skillcue_catalog::Source;
    /// use skillcue_disclose::{Budget, Bytes4, Decision, Fragment, Tokens};
    ///
    /// let text = "Thirty-nine characters and a newline...\n".repeat(10);
    /// let of = |name, source| Fragment { name, source, mention: false, score: 1.0, priority: 0, text: &text };
    /// let budget = Budget { total: Some(Tokens(150)), per_skill: None };
    /// let shares = budget.allot(&[of("m", Source::Mcp), of("u", Source::User), of("i", Source::Inline)], &Bytes4);
    /// let decisions: Vec<_> = shares.iter().map(|share| (share.fragment, share.decision)).collect();
    /// assert_eq!(decisions, [(2, Decision::Included), (1, Decision::Shortened), (0, Decision::Omitted)]);
    /// ```
    pub fn allot<'a>(&self, fragments: &[Fragment<'a>], counter: &dyn TokenCounter) -> Vec<Allotment<'a>> {
        let mut purse = RemainingBudget::new(self, counter);
        let serve = |at: usize| purse.serve(at, &loadable_rest(fragments[at].name), fragments[at].text, None);
        self.order(fragments).into_iter().map(serve).collect()
    }

    /// Returns the order in which fragments are served.
    pub(crate) fn order(&self, fragments: &[Fragment<'_>]) -> Vec<usize> {
        let mut order: Vec<usize> = (0..fragments.len()).collect();
        if self.total.is_some_and(|total| total.0 > 0) {
            order.sort_by(|a, b| compare(&fragments[*a], &fragments[*b]));
        }
        order
    }
}

fn compare(a: &Fragment<'_>, b: &Fragment<'_>) -> Ordering {
    let mention = b.mention.cmp(&a.mention);
    let source = || source_rank(a.source).cmp(&source_rank(b.source));
    let score = || b.score.total_cmp(&a.score);
    let rest = || b.priority.cmp(&a.priority).then_with(|| a.name.cmp(b.name));
    mention.then_with(source).then_with(score).then_with(rest)
}

/// The part of a budget that is not spent yet.
#[derive(Clone)]
pub(crate) struct RemainingBudget<'c> {
    left: Option<Tokens>,
    per_skill: Option<Tokens>,
    /// The limits as they were set, before the counter's reserve. Messages name these.
    set: Budget,
    /// Whether a fragment did not fit any more.
    closed: bool,
    counter: &'c dyn TokenCounter,
}

impl<'c> RemainingBudget<'c> {
    pub(crate) fn new(budget: &Budget, counter: &'c dyn TokenCounter) -> RemainingBudget<'c> {
        let limit = |limit: Option<Tokens>| limit.filter(|limit| limit.0 > 0).map(|limit| counter.reserve(limit));
        RemainingBudget {
            left: limit(budget.total),
            per_skill: limit(budget.per_skill),
            set: *budget,
            closed: false,
            counter,
        }
    }

    /// Takes off the cost of text that is not a body.
    pub(crate) fn charge(&mut self, tokens: Tokens) {
        if let Some(left) = &mut self.left {
            left.0 = left.0.saturating_sub(tokens.0);
        }
    }

    /// Takes back all charges since `before`, but not that a fragment did not fit.
    pub(crate) fn refund(&mut self, before: &RemainingBudget<'_>) {
        self.left = before.left;
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.closed
    }

    /// Returns whether a text is over what one fragment gets.
    pub(crate) fn is_over(&self, text: &str) -> bool {
        let all = self.counter.count(text);
        !self.closed && [self.left, self.per_skill].into_iter().flatten().any(|limit| all > limit)
    }

    /// Serves a fragment that is over its limit, and appends a line if parts of it are shown, within the same limit.
    pub(crate) fn serve_with_line<'a>(
        &mut self,
        fragment: usize,
        rest: &str,
        text: &'a str,
        wish: &PartsWish<'_>,
        line: &str,
    ) -> Allotment<'a> {
        let cost = self.counter.count(line);
        let less = |limit: Option<Tokens>| limit.map(|limit| Tokens(limit.0.saturating_sub(cost.0)));
        let mut tight = RemainingBudget { left: less(self.left), per_skill: less(self.per_skill), ..self.clone() };
        let mut share = tight.serve(fragment, rest, text, Some(wish));
        if share.decision != Decision::Shortened || share.parts.is_empty() {
            return self.serve(fragment, rest, text, Some(wish));
        }
        (self.left, self.closed) = (tight.left, tight.closed);
        share.text.to_mut().push_str(line);
        // Together they may cost a little more than one by one.
        share.tokens = self.counter.count(&share.text);
        share
    }

    /// Serves a fragment. `rest` is the cut marker's sentence about the rest. With a `wish`, a text that is over the limit
    /// is shown in parts, else from its beginning.
    pub(crate) fn serve<'a>(
        &mut self,
        fragment: usize,
        rest: &str,
        text: &'a str,
        wish: Option<&PartsWish<'_>>,
    ) -> Allotment<'a> {
        let omitted = |why: &str| Allotment {
            fragment,
            decision: Decision::Omitted,
            text: Cow::Borrowed(""),
            shown: 0,
            parts: Vec::new(),
            tokens: Tokens(0),
            why: Some(why.to_owned()),
        };
        if self.closed {
            return omitted("the budget was used up by more important skills");
        }
        let all = self.counter.count(text);
        let limit = match (self.left, self.per_skill) {
            (Some(left), Some(per_skill)) => Some(left.min(per_skill)),
            (left, per_skill) => left.or(per_skill),
        };
        let over = limit.filter(|limit| all > *limit);
        let Some(limit) = over else {
            self.charge(all);
            let (shown, text) = (text.len(), Cow::Borrowed(text));
            let parts = std::iter::once(0..shown).collect();
            return Allotment { fragment, decision: Decision::Included, text, shown, parts, tokens: all, why: None };
        };
        let by_total = self.left.is_some_and(|left| all > left && left <= limit);
        self.closed = by_total;
        let which = self.describe_limit(limit, by_total);
        let parts = wish.map_or(FittingParts::Undivided, |wish| fitting_parts(text, wish, limit, self.counter));
        let cut = match parts {
            FittingParts::Shown(cut) => Some(cut),
            FittingParts::Undivided => cut_with_rest(text, limit, rest, self.counter),
            FittingParts::Known => {
                return Allotment { decision: Decision::Shortened, ..omitted("no other part of it fits") };
            }
        };
        match cut {
            Some(cut) => {
                self.charge(cut.tokens);
                let why = format!("its {} are over {which}", counted(all.0, "token"));
                let (text, shown, parts, tokens) = (Cow::Owned(cut.text), cut.shown, cut.parts, cut.tokens);
                Allotment { fragment, decision: Decision::Shortened, text, shown, parts, tokens, why: Some(why) }
            }
            None => omitted(&format!("not even its first line fits into {which}")),
        }
    }

    /// Describes the limit that was exceeded: the number that was set, and what the counter keeps in reserve of it.
    fn describe_limit(&self, limit: Tokens, by_total: bool) -> String {
        let set = if by_total { self.set.total } else { self.set.per_skill }.unwrap_or(limit);
        let usable = self.counter.reserve(set);
        let reserve = match set.0.saturating_sub(usable.0) {
            0 => String::new(),
            reserve => format!(" ({usable}, and a reserve of {reserve} because tokens are estimated)"),
        };
        if by_total {
            format!("the {limit} left of the budget of {}{reserve}", counted(set.0, "token"))
        } else {
            format!("the limit of {} for one skill{reserve}", counted(set.0, "token"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Bytes4, Segment};

    fn fragment<'a>(name: &'a str, text: &'a str) -> Fragment<'a> {
        Fragment { name, source: Source::User, mention: false, score: 0.0, priority: 0, text }
    }

    fn order(fragments: &[Fragment<'_>]) -> Vec<usize> {
        let budget = Budget { total: Some(Tokens(1_000_000)), per_skill: None };
        budget.allot(fragments, &Bytes4).iter().map(|share| share.fragment).collect()
    }

    #[test]
    fn mention_then_source_then_score_then_priority_then_name() {
        let base = || fragment("m", "x");
        assert_eq!(
            order(&[Fragment { source: Source::Inline, ..base() }, Fragment { mention: true, ..base() }]),
            [1, 0]
        );
        assert_eq!(order(&[Fragment { score: 9.0, ..base() }, Fragment { source: Source::Bundled, ..base() }]), [1, 0]);
        assert_eq!(order(&[Fragment { priority: 9, ..base() }, Fragment { score: 1.0, ..base() }]), [1, 0]);
        assert_eq!(order(&[Fragment { name: "a", ..base() }, Fragment { priority: 1, ..base() }]), [1, 0]);
        assert_eq!(order(&[base(), Fragment { name: "a", ..base() }]), [1, 0]);
    }

    #[test]
    fn an_estimate_uses_less_than_the_limit() {
        let text = "word word word word\n".repeat(200);
        let budget = Budget { total: Some(Tokens(115)), per_skill: None };
        let shares = budget.allot(&[fragment("s", &text)], &Segment);
        assert_eq!(shares[0].decision, Decision::Shortened);
        assert!(shares[0].tokens <= Tokens(100));
    }

    /// Issue 15: a limit of 50 was reported as 43, the number that is left of it without the reserve.
    #[test]
    fn a_limit_is_reported_as_it_was_set() {
        let text = "word word word word\n".repeat(200);
        let why = |total, per_skill| {
            let budget = Budget { total, per_skill };
            budget.allot(&[fragment("s", &text)], &Segment).remove(0).why.unwrap()
        };
        let all = Segment.count(&text);
        assert_eq!(
            why(None, Some(Tokens(50))),
            format!(
                "its {all} tokens are over the limit of 50 tokens for one skill (43, and a reserve of 7 because tokens \
                 are estimated)"
            )
        );
        assert_eq!(
            why(Some(Tokens(50)), None),
            format!(
                "its {all} tokens are over the 43 left of the budget of 50 tokens (43, and a reserve of 7 because \
                 tokens are estimated)"
            )
        );
    }

    #[test]
    fn a_limit_for_each_does_not_close_the_budget_for_the_rest() {
        let long = "x".repeat(400);
        let budget = Budget { total: Some(Tokens(1000)), per_skill: Some(Tokens(5)) };
        let shares = budget.allot(&[fragment("a", &long), fragment("b", "short")], &Bytes4);
        assert_eq!(shares[0].decision, Decision::Omitted);
        assert_eq!(
            shares[0].why.as_deref(),
            Some("not even its first line fits into the limit of 5 tokens for one skill")
        );
        assert_eq!(shares[1].decision, Decision::Included);
    }

    #[test]
    fn nothing_is_shown_in_place_of_something_more_important() {
        let long = "x".repeat(400);
        let budget = Budget { total: Some(Tokens(10)), per_skill: None };
        let shares = budget.allot(&[fragment("a", &long), fragment("b", "short")], &Bytes4);
        assert_eq!(
            shares[0].why.as_deref(),
            Some("not even its first line fits into the 10 left of the budget of 10 tokens")
        );
        assert_eq!(shares[1].why.as_deref(), Some("the budget was used up by more important skills"));
    }
}
