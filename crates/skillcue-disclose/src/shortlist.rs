//! The shortlist: skills that are likely to fit, though not sure to, named with their briefs. The model decides.

use skillcue_catalog::Skill;
use skillcue_format::Tokens;
use skillcue_select::{Grade, Hit};

use crate::discloser::{Discloser, TurnText, breadcrumb, disclosed, hint_with};
use crate::documentation::MAX_FREE_OVERHEAD;
use crate::lead_in::shorten_telling;
use crate::report::DisclosedSkill;
use crate::session::digest;
use crate::situation::Situation;
use crate::skill_list::{ListStyle, list_entry};
use crate::{Decision, Tier, TokenCounter};

/// The beginning of a shortlist.
pub const SHORTLIST_HEADING: &str = "## Skills that may fit\n\n";

/// The last line of a shortlist for a model that has the tool `load_skill`.
pub const LOAD_ADVICE: &str = "Load one with load_skill if it fits; otherwise ignore them.";

/// The number of skills that are named.
const MAX_NAMED: usize = 5;
/// The cost of a whole shortlist.
const MAX_SHORTLIST: Tokens = Tokens(100);
/// The likelihood below which a skill is named without its brief, in one line with others: most messages that need no
/// skill have only such ones.
const LIKELY: f32 = 0.2;
/// The beginning of the line of the less likely ones.
const LESS_LIKELY: &str = "Less likely: ";
/// The part of a brief, in 64ths of a token, without which a skill is rather left out than named.
const MIN_BRIEF: usize = 6 * 64;

const NAMED: &str = "likely, but not sure enough for its body";
const KNOWN: &str = "likely, but its body is in this conversation already";
const HELD: &str = "likely, but a person has to allow it first";
const HIDDEN: &str = "likely, but it is hidden from models";
const TOO_MANY: &str = "only the five likeliest skills are named";
const NO_ROOM: &str = "there was no room to name it";

/// The skills of one turn that are likely, but not sure, to fit.
pub(crate) struct Shortlist<'a> {
    discloser: &'a Discloser,
    situation: &'a Situation<'a>,
    /// The skills that may be named, the likeliest first.
    pub(crate) candidates: Vec<(&'a Hit, &'a Skill)>,
    /// Whether any skill is likely, even if it may not be named.
    pub(crate) is_any_likely: bool,
}

impl<'a> Shortlist<'a> {
    pub(crate) fn of(
        discloser: &'a Discloser,
        situation: &'a Situation<'a>,
        unsure: &[(&'a Hit, &'a Skill)],
    ) -> Shortlist<'a> {
        let mut shortlist = Shortlist { discloser, situation, candidates: Vec::new(), is_any_likely: false };
        let likely = unsure.iter().filter(|(hit, _)| discloser.grade(hit, situation) == Grade::Name);
        shortlist.candidates = likely.copied().collect();
        shortlist.is_any_likely = !shortlist.candidates.is_empty();
        let candidates = std::mem::take(&mut shortlist.candidates);
        shortlist.candidates =
            candidates.into_iter().filter(|(_, skill)| shortlist.obstacle(skill).is_none()).collect();
        // A stable sort: equals remain in the order of their rank.
        shortlist.candidates.sort_by(|(a, _), (b, _)| b.likelihood.total_cmp(&a.likelihood));
        shortlist
    }

    /// Returns the reason why a likely skill is not named.
    fn obstacle(&self, skill: &Skill) -> Option<&'static str> {
        match () {
            () if !skill.is_for_models() => Some(HIDDEN),
            () if self.is_known(skill) => Some(KNOWN),
            () if !self.situation.bodies.may_suggest(skill) => Some(HELD),
            () => None,
        }
    }

    /// Returns whether its body, unchanged, or the beginning of it, is in context.
    fn is_known(&self, skill: &Skill) -> bool {
        let known = self.situation.session.and_then(|session| session.in_context(&skill.id()));
        known.is_some_and(|known| self.situation.bodies.body(skill).is_ok_and(|body| digest(&body) == known.digest))
    }

    /// Reports a hit that is not named, where nothing is.
    pub(crate) fn omitted(&self, hit: &Hit, skill: &Skill) -> DisclosedSkill {
        if self.discloser.grade(hit, self.situation) == Grade::Name
            && let Some(why) = self.obstacle(skill)
        {
            return disclosed(hit, Decision::Omitted, Some(why.to_owned()));
        }
        self.discloser.weak_match(hit, self.situation)
    }

    /// Reports every hit; `named` are those that the text names, with their costs.
    fn report(&self, unsure: &[(&Hit, &Skill)], named: &[(&Hit, Tokens)]) -> Vec<DisclosedSkill> {
        let decide = |(hit, skill): &(&Hit, &Skill)| {
            if let Some((_, tokens)) = named.iter().find(|(other, _)| std::ptr::eq(*other, *hit)) {
                return DisclosedSkill { tokens: *tokens, ..disclosed(hit, Decision::Named, Some(NAMED.to_owned())) };
            }
            match self.candidates.iter().position(|(other, _)| std::ptr::eq(*other, *hit)) {
                Some(rank) => {
                    let why = if rank < MAX_NAMED { NO_ROOM } else { TOO_MANY };
                    disclosed(hit, Decision::Omitted, Some(why.to_owned()))
                }
                None => self.omitted(hit, skill),
            }
        };
        unsure.iter().map(decide).collect()
    }

    /// Names the candidates in one line, for [`Policy::Hint`](crate::Policy::Hint): the list of skills has their
    /// descriptions.
    pub(crate) fn hint(&self, unsure: &[(&Hit, &Skill)]) -> TurnText {
        let named: Vec<(&Hit, Tokens)> =
            self.candidates.iter().take(MAX_NAMED).map(|(hit, _)| (*hit, Tokens(0))).collect();
        let text = hint_with(named.iter().map(|(hit, _)| *hit), &self.discloser.config.load_advice.one);
        TurnText { tier: Tier::Shortlist, text, skills: self.report(unsure, &named), overhead: None }
    }

    /// Names the candidates with their briefs. Briefs are cut at a word where the limit requires it, all to about one
    /// length; a skill whose name does not fit with the beginning of its brief is left out. The less likely ones have no
    /// briefs.
    pub(crate) fn write(&self, unsure: &[(&Hit, &Skill)]) -> TurnText {
        let (counter, style) = (self.discloser.counter, ListStyle::Registry);
        let limit = counter.reserve(MAX_SHORTLIST);
        let advice = format!("\n{}", self.discloser.config.load_advice.names);
        let frame = counter.count_64ths(SHORTLIST_HEADING) + counter.count_64ths(&advice);
        let mut aim = limit.0 * 64;
        loop {
            let lines = self.lines(style, aim.saturating_sub(frame));
            let mut text = SHORTLIST_HEADING.to_owned();
            let mut named = Vec::with_capacity(lines.len());
            for (hit, line) in &lines {
                text.push_str(line);
                named.push((*hit, counter.count(line)));
            }
            if !text.ends_with('\n') {
                text.push('\n');
            }
            text.push_str(&advice);
            let tokens = counter.count(&text);
            // Lines were counted one by one; together they may cost a little more.
            if tokens > limit && !lines.is_empty() {
                aim = aim.saturating_sub((tokens.0 - limit.0).max(1) * 64);
                continue;
            }
            let skills = self.report(unsure, &named);
            if lines.is_empty() {
                // Only if the embedder's advice takes all the room.
                return TurnText {
                    tier: Tier::Breadcrumb,
                    text: breadcrumb(self.situation.census),
                    skills,
                    overhead: None,
                };
            }
            let in_lines: usize = named.iter().map(|(_, tokens)| tokens.0).sum();
            let overhead = Some(Tokens(tokens.0.saturating_sub(in_lines)));
            return TurnText { tier: Tier::Shortlist, text, skills, overhead };
        }
    }

    /// Names the candidates below the bodies of a turn: one of them may be right instead. Nothing is named that would
    /// exceed the budget.
    pub(crate) fn beside(&self, mut turn: TurnText, unsure: &[(&Hit, &Skill)]) -> TurnText {
        let counter = self.discloser.counter;
        let list =
            (!self.candidates.is_empty()).then(|| self.write(unsure)).filter(|list| list.tier == Tier::Shortlist);
        let Some(list) = list else {
            turn.skills.extend(unsure.iter().map(|(hit, skill)| self.omitted(hit, skill)));
            return turn;
        };
        let text = format!("\n\n{}", list.text);
        let overhead = turn.overhead.unwrap_or_else(|| counter.count(&turn.text)) + counter.count(&text);
        let bodies: Tokens = turn.skills.iter().map(|skill| skill.tokens).sum();
        let most = self.discloser.config.max_total_tokens.map(|total| total + counter.reserve(MAX_FREE_OVERHEAD));
        if most.is_some_and(|most| bodies + overhead > most) {
            turn.skills.extend(self.report(unsure, &[]));
            return turn;
        }
        turn.text.push_str(&text);
        let named: Tokens = list.skills.iter().map(|skill| skill.tokens).sum();
        turn.overhead = Some(Tokens(overhead.0.saturating_sub(named.0)));
        turn.skills.extend(list.skills);
        turn
    }

    /// Returns the lines that fit into `room` 64ths of a token.
    fn lines(&self, style: ListStyle, room: usize) -> Vec<(&'a Hit, String)> {
        let counter = self.discloser.counter;
        let mut kept: Vec<ShortlistEntry<'a>> = Vec::new();
        let mut least = 0;
        for (hit, skill) in self.candidates.iter().take(MAX_NAMED) {
            let entry = ShortlistEntry::of(hit, skill, self.discloser, style);
            let needs = entry.bare + entry.brief_cost.min(MIN_BRIEF);
            if least + needs <= room {
                least += needs;
                kept.push(entry);
            }
        }
        let shares = shares(&kept, room);
        // The likeliest are first: what follows the first less likely one is less likely, too.
        let likely = kept.iter().take_while(|entry| !entry.is_unlikely).count();
        let line = |(at, (entry, share)): (usize, (&ShortlistEntry<'a>, usize))| {
            let line = match at {
                _ if at < likely => entry.line(style, share, counter),
                _ if at > likely => format!(", {}", entry.id),
                0 => format!("{LESS_LIKELY}{}", entry.id),
                _ => format!("\n{LESS_LIKELY}{}", entry.id),
            };
            (entry.hit, line)
        };
        kept.iter().zip(shares).enumerate().map(line).collect()
    }
}

/// A skill in a shortlist.
struct ShortlistEntry<'a> {
    hit: &'a Hit,
    id: String,
    brief: String,
    /// The cost of its line without the brief, in 64ths of a token.
    bare: usize,
    /// The cost that the whole brief adds.
    brief_cost: usize,
    /// Whether it is named without its brief.
    is_unlikely: bool,
}

impl<'a> ShortlistEntry<'a> {
    fn of(hit: &'a Hit, skill: &Skill, discloser: &Discloser, style: ListStyle) -> ShortlistEntry<'a> {
        let mut pending = list_entry(skill, style, &discloser.config);
        pending.prepare();
        let (id, brief) = (pending.entry.id.into_owned(), pending.entry.description.into_owned());
        let cost = |brief: &str| style.cost(&id, brief, discloser.counter, &mut String::new());
        let bare = cost("");
        let is_unlikely = hit.likelihood < LIKELY;
        let brief_cost = if is_unlikely { 0 } else { cost(&brief).saturating_sub(bare) };
        ShortlistEntry { hit, id, brief, bare, brief_cost, is_unlikely }
    }

    /// Returns its line, the brief cut to `share` 64ths of a token.
    fn line(&self, style: ListStyle, share: usize, counter: &dyn TokenCounter) -> String {
        let cost = |brief: &str| style.cost(&self.id, brief, counter, &mut String::new());
        let mut line = String::new();
        if self.brief_cost <= share {
            style.write(&mut line, &self.id, &self.brief);
        } else {
            let fits = |part: &str| cost(part) <= self.bare + share;
            let mut brief = shorten_telling(&self.brief, fits);
            if brief.is_empty() {
                // A script without blanks: a part of the sentence says more than the name alone.
                brief = cut_within_word(&self.brief, fits);
            }
            style.write(&mut line, &self.id, &brief);
        }
        line
    }
}

/// Returns the longest beginning of a text that `fits`, cut after any character, with an ellipsis; empty if none does.
fn cut_within_word(text: &str, fits: impl Fn(&str) -> bool) -> String {
    let ends: Vec<usize> = text.char_indices().map(|(at, _)| at).skip(1).collect();
    let part = |characters: usize| format!("{}…", &text[..ends[characters - 1]]);
    let (mut low, mut high) = (0, ends.len());
    while low < high {
        let middle = (low + high).div_ceil(2);
        if fits(&part(middle)) { low = middle } else { high = middle - 1 }
    }
    if low == 0 { String::new() } else { part(low) }
}

/// Divides the room that the names leave among the briefs: equally, and what a short one does not need goes to the
/// others.
fn shares(entries: &[ShortlistEntry<'_>], room: usize) -> Vec<usize> {
    let mut room = room.saturating_sub(entries.iter().map(|entry| entry.bare).sum());
    let mut shares = vec![0; entries.len()];
    let mut by_cost: Vec<usize> = (0..entries.len()).collect();
    by_cost.sort_by_key(|at| entries[*at].brief_cost);
    for (done, at) in by_cost.into_iter().enumerate() {
        shares[at] = entries[at].brief_cost.min(room / (entries.len() - done));
        room -= shares[at];
    }
    shares
}
