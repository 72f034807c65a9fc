//! Parts of a body: the sections that fit the message, where the whole does not fit the limit.
//!
//! The text up to the first heading and the sections that their author marks as essential come first; then whole
//! sections, the best first, as far as they fit well and there is room. They are shown in the author's order, below the
//! headings above them. In place of what is left out stands a line that names it with its cost.

use std::fmt::Write as _;
use std::ops::Range;

use skillcue_format::Tokens;
use skillcue_load::{Heading, Outline};
use skillcue_select::{SectionText, section_scores};

use crate::TokenCounter;
use crate::advice::loadable_part;
use crate::cut::{Cut, Fence, LinesWithEnds, body_start, cut};

/// A section that scores less than this share of the best one is left out, even if there is room.
const MIN_SHARE: f32 = 0.2;
/// A section of over this share of the limit is divided at blank lines.
const MAX_SHARE: usize = 3;
/// The fewest parts of which some can be chosen.
const MIN_PARTS: usize = 3;
/// How many sections a line names in place of what is left out.
const MAX_NAMED: usize = 6;
/// How often a part is tried in the room that is left at the end.
const MAX_TRIES: usize = 8;
/// A comment that marks the section it is in as essential, and a word that does so at the end of a heading.
const ESSENTIAL_COMMENT: &str = "<!-- essential -->";
const ESSENTIAL_WORD: &str = "(essential)";

/// A part of a body: a section without the sections in it, or some blocks of a long one.
#[derive(Debug, Clone, PartialEq, Eq)]
struct BodyPart {
    range: Range<usize>,
    /// The heading of its section, by number.
    heading: Option<usize>,
    /// Whether it begins its section.
    first: bool,
    essential: bool,
    /// Whether it is in context already.
    known: bool,
}

/// The parts of one text.
struct BodyParts<'t> {
    text: &'t str,
    outline: Outline,
    parts: Vec<BodyPart>,
    /// The headings above each heading, outermost first.
    above: Vec<Vec<usize>>,
    /// The cost of each part.
    costs: Vec<Tokens>,
}

/// Returns the text of the skill `name`, or its parts that fit the message, in at most `limit` tokens. Where it cannot be
/// divided, its beginning. `None` if the limit is too small even for that.
///
/// ```
/// use skillcue_disclose::{Bytes4, Tokens, shorten_for};
///
/// let filler = "Much more to read here.\n".repeat(20);
/// let text = format!("Reads files.\n\n# Merge\n\n{filler}\n# Forms\n\nFill them in.\n\n# Limits\n\n{filler}");
/// let part = shorten_for("fill in a form", &text, Tokens(60), "pdf", &Bytes4).unwrap();
/// assert!(part.text.contains("# Forms\n\nFill them in.") && part.text.contains("[Not shown: Merge ("));
/// assert!(part.tokens <= Tokens(60));
/// ```
pub fn shorten_for(message: &str, text: &str, limit: Tokens, name: &str, counter: &dyn TokenCounter) -> Option<Cut> {
    if counter.count(text) <= limit {
        return Some(whole(text, counter));
    }
    let wish = PartsWish { message, rest: &loadable_part(name), ..PartsWish::default() };
    match fitting_parts(text, &wish, limit, counter) {
        FittingParts::Shown(parts) => Some(parts),
        FittingParts::Known | FittingParts::Undivided => cut(text, limit, name, counter),
    }
}

/// Returns a text as a cut that leaves nothing out.
pub(crate) fn whole(text: &str, counter: &dyn TokenCounter) -> Cut {
    let parts = std::iter::once(0..text.len()).collect();
    Cut { text: text.to_owned(), tokens: counter.count(text), shown: text.len(), parts }
}

/// The wishes that decide which parts of a text are shown.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct PartsWish<'a> {
    /// The message; empty, if there is none.
    pub(crate) message: &'a str,
    /// The ranges of the text that are in context already.
    pub(crate) known: &'a [Range<usize>],
    /// The ranges of the text that are wanted, whatever the message; none, if the message decides.
    pub(crate) wanted: &'a [Range<usize>],
    /// The sentence about how to get the rest.
    pub(crate) rest: &'a str,
    /// Whether parts that fit little are shown, too, as long as there is room.
    pub(crate) all: bool,
}

/// The parts of a text that fit a message.
pub(crate) enum FittingParts {
    /// These.
    Shown(Cut),
    /// None but those that are in context already.
    Known,
    /// The text cannot be divided into parts that fit the limit.
    Undivided,
}

impl PartsWish<'_> {
    /// Returns whether a range is in context already.
    pub(crate) fn knows(&self, part: &Range<usize>) -> bool {
        within(self.known, part)
    }
}

/// Returns whether a range is within one of others.
fn within(ranges: &[Range<usize>], part: &Range<usize>) -> bool {
    ranges.iter().any(|range| range.start <= part.start && part.end <= range.end)
}

/// Returns the parts of a text that fit a message, in at most `limit` tokens, with lines that say what is left out.
///
/// Without a message, or if no part has a word of it, parts are taken from the beginning on.
pub(crate) fn fitting_parts(
    text: &str,
    wish: &PartsWish<'_>,
    limit: Tokens,
    counter: &dyn TokenCounter,
) -> FittingParts {
    let rest = wish.rest;
    let body = BodyParts::of(text, wish, limit, counter);
    // Of two parts, the smaller can be chosen if the other does not fit at all.
    let is_lopsided = || body.parts.len() == 2 && wish.known.is_empty() && body.costs.iter().any(|cost| *cost > limit);
    if body.parts.len() < MIN_PARTS && (wish.known.is_empty() || !wish.all) && !is_lopsided() {
        return FittingParts::Undivided;
    }
    let is_wanted = |part: &BodyPart| f32::from(u8::from(within(wish.wanted, &part.range)));
    let scores = match wish.wanted {
        [] => body.scores(wish.message),
        _ => body.parts.iter().map(is_wanted).collect(),
    };
    let best = scores.iter().copied().fold(0.0, f32::max);
    if best == 0.0 && !wish.known.is_empty() && !wish.all {
        return FittingParts::Known;
    }
    let least = if wish.all { 0.0 } else { MIN_SHARE * best };
    let mut order: Vec<usize> = (0..body.parts.len()).filter(|at| scores[*at] >= least).collect();
    order.retain(|at| !body.parts[*at].known);
    if best > 0.0 {
        order.sort_by(|a, b| scores[*b].total_cmp(&scores[*a]).then(a.cmp(b)));
    }
    let mut chosen: Vec<bool> = body.parts.iter().map(|part| part.essential && !part.known).collect();
    let mut shown = body.render(&chosen, rest, counter);
    // Where not even these fit, the largest are left out first, so that there is room for what fits the message.
    while shown.tokens > limit {
        let dearest = (0..chosen.len()).filter(|at| chosen[*at]).max_by_key(|at| (body.costs[*at], usize::MAX - at));
        let Some(dearest) = dearest else { return FittingParts::Undivided };
        chosen[dearest] = false;
        shown = body.render(&chosen, rest, counter);
    }
    // First by the sums of costs, then with the lines between them.
    let mut added = Vec::new();
    let mut sum = shown.tokens;
    for at in order.iter().copied() {
        if chosen[at] {
            continue;
        }
        if sum + body.costs[at] > limit {
            if best == 0.0 {
                // Without scores the beginning is shown, not what happens to be short.
                break;
            }
            continue;
        }
        sum = sum + body.costs[at];
        chosen[at] = true;
        added.push(at);
    }
    if best == 0.0 && added.is_empty() {
        // Then the beginning of the first section says more than none.
        return if body.is_known() { FittingParts::Known } else { FittingParts::Undivided };
    }
    // With the lines between them fewer may fit: the most that do, by halves. None at all fits, which is known.
    let (mut fits, mut over) = (0, added.len() + 1);
    let mut tried = added.len();
    while fits + 1 < over {
        for (rank, at) in added.iter().enumerate() {
            chosen[*at] = rank < tried;
        }
        let made = body.render(&chosen, rest, counter);
        if made.tokens <= limit {
            (fits, shown) = (tried, made);
        } else {
            over = tried;
        }
        tried = fits.midpoint(over);
    }
    for at in added.drain(fits..) {
        chosen[at] = false;
    }
    if best > 0.0 {
        let room = |shown: &Cut| Tokens(limit.0.saturating_sub(shown.tokens.0));
        for at in order.into_iter().filter(|at| !added.contains(at)).take(MAX_TRIES) {
            if chosen[at] || body.costs[at] > room(&shown) + Tokens(32) {
                continue;
            }
            chosen[at] = true;
            let tried = body.render(&chosen, rest, counter);
            if tried.tokens <= limit { shown = tried } else { chosen[at] = false }
        }
    }
    // The line that names the base directory is no text of the author's.
    let start = body_start(text);
    let own = |part: &BodyPart| &text[part.range.start.max(start).min(part.range.end)..part.range.end];
    let is_text = |(chosen, part): (&bool, &BodyPart)| *chosen && !own(part).trim().is_empty();
    if chosen.iter().zip(&body.parts).any(is_text) {
        FittingParts::Shown(shown)
    } else if wish.known.is_empty() || wish.all && !body.is_known() {
        FittingParts::Undivided
    } else {
        FittingParts::Known
    }
}

impl<'t> BodyParts<'t> {
    fn of(text: &'t str, wish: &PartsWish<'_>, limit: Tokens, counter: &dyn TokenCounter) -> BodyParts<'t> {
        let start = body_start(text);
        let outline = Outline::new(&text[start..]);
        let starts: Vec<usize> = outline.headings().iter().map(|heading| start + heading.range.start).collect();
        let ends = starts.iter().copied().chain([text.len()]);
        let mut sections: Vec<(Option<usize>, Range<usize>)> = Vec::new();
        for (at, (from, to)) in [0].into_iter().chain(starts.iter().copied()).zip(ends).enumerate() {
            sections.push((at.checked_sub(1), from..to));
        }
        let most = Tokens(limit.0 / MAX_SHARE);
        // Most bodies begin with a title: then its text is the lead.
        let titled =
            outline.headings().first().is_some_and(|heading| heading.level == 1) && text[start..].starts_with('#');
        let (mut parts, mut costs) = (Vec::new(), Vec::new());
        for (heading, range) in sections {
            let section = &text[range.clone()];
            let is_lead = heading.is_none() || titled && heading == Some(0);
            let marked = heading.is_some_and(|at| outline.headings()[at].title.to_lowercase().contains(ESSENTIAL_WORD));
            let essential = marked || section.contains(ESSENTIAL_COMMENT);
            let cost = counter.count(section);
            if cost <= most || essential && !is_lead && cost <= limit {
                let known = wish.knows(&range);
                parts.push(BodyPart { range, heading, first: true, essential: essential || is_lead, known });
                costs.push(cost);
                continue;
            }
            for (number, block) in blocks(section, heading.is_some(), most, counter).into_iter().enumerate() {
                let range = range.start + block.start..range.start + block.end;
                costs.push(counter.count(&text[range.clone()]));
                // Of a long lead, only the beginning always comes, and of an essential section beyond the limit.
                let (first, known) = (number == 0, wish.knows(&range));
                parts.push(BodyPart { range, heading, first, essential: (is_lead || essential) && first, known });
            }
        }
        let above = headings_above(outline.headings());
        let mut body = BodyParts { text, outline, parts, above, costs };
        // A text that cannot be divided is shown from its beginning on.
        if wish.all || body.parts.len() >= MIN_PARTS {
            body.split_at_known(wish, counter);
        }
        body
    }

    /// Divides parts of which a piece is in context already: the text may have been divided by another limit then.
    fn split_at_known(&mut self, wish: &PartsWish<'_>, counter: &dyn TokenCounter) {
        let edges = |part: &BodyPart| -> Vec<usize> {
            let inside = |edge: &usize| part.range.start < *edge && *edge < part.range.end;
            let edges = wish.known.iter().flat_map(|known| [known.start, known.end]);
            let mut edges: Vec<usize> = edges.filter(inside).filter(|edge| self.text.is_char_boundary(*edge)).collect();
            edges.sort_unstable();
            edges.dedup();
            edges
        };
        let splits: Vec<Vec<usize>> = self.parts.iter().map(edges).collect();
        if splits.iter().all(Vec::is_empty) {
            return;
        }
        let whole = std::mem::take(&mut self.parts).into_iter().zip(std::mem::take(&mut self.costs)).zip(splits);
        for ((part, cost), edges) in whole {
            if edges.is_empty() {
                self.parts.push(part);
                self.costs.push(cost);
                continue;
            }
            let starts = [part.range.start].into_iter().chain(edges.iter().copied());
            for (start, end) in starts.zip(edges.iter().copied().chain([part.range.end])) {
                let first = part.first && start == part.range.start;
                self.costs.push(counter.count(&self.text[start..end]));
                self.parts.push(BodyPart {
                    range: start..end,
                    first,
                    known: wish.knows(&(start..end)),
                    ..part.clone()
                });
            }
        }
    }

    /// Returns whether all of it is in context already, but for blank lines.
    fn is_known(&self) -> bool {
        self.parts.iter().all(|part| part.known || self.text[part.range.clone()].trim().is_empty())
    }

    fn heading(&self, part: &BodyPart) -> Option<&Heading> {
        self.outline.headings().get(part.heading?)
    }

    /// Returns the headings above that of a part, outermost first.
    fn above(&self, part: &BodyPart) -> &[usize] {
        part.heading.map_or(&[], |heading| &self.above[heading])
    }

    fn scores(&self, message: &str) -> Vec<f32> {
        let titles = |part: &BodyPart| -> String {
            let above = self.above(part).iter().map(|at| &*self.outline.headings()[*at].title);
            above.collect::<Vec<_>>().join(" ")
        };
        let above: Vec<String> = self.parts.iter().map(titles).collect();
        let sections = self.parts.iter().zip(&above).map(|(part, above)| SectionText {
            title: self.heading(part).map_or("", |heading| &heading.title),
            above,
            text: &self.text[part.range.clone()],
        });
        let sections: Vec<SectionText<'_>> = sections.collect();
        section_scores(message, &sections)
    }

    /// Writes the chosen parts, and a line in place of each gap.
    fn render(&self, chosen: &[bool], rest: &str, counter: &dyn TokenCounter) -> Cut {
        let mut out = String::new();
        let mut gap: Vec<usize> = Vec::new();
        let mut parts: Vec<Range<usize>> = Vec::new();
        // The headings that are written, so that none is written twice.
        let mut written = vec![false; self.outline.headings().len()];
        for (at, part) in self.parts.iter().enumerate() {
            if !chosen[at] {
                gap.push(at);
                continue;
            }
            self.close_gap(&mut gap, &mut out);
            for at in self.above(part).iter().copied().chain(part.heading.filter(|_| !part.first)) {
                if !std::mem::replace(&mut written[at], true) {
                    let heading = &self.outline.headings()[at];
                    let _ = write!(out, "{} {}\n\n", "#".repeat(usize::from(heading.level)), heading.title);
                }
            }
            if let Some(heading) = part.heading {
                written[heading] = true;
            }
            let own = self.text[part.range.clone()].trim_end();
            if !own.is_empty() {
                out.push_str(own);
                out.push_str("\n\n");
            }
            match parts.last_mut() {
                Some(last) if last.end == part.range.start => last.end = part.range.end,
                _ => parts.push(part.range.clone()),
            }
        }
        self.close_gap(&mut gap, &mut out);
        let sections = |is: &dyn Fn(usize) -> bool| (0..chosen.len()).filter(|at| is(*at)).count();
        let (kept, all) = (sections(&|at| chosen[at] || self.parts[at].known), chosen.len());
        if kept < all || self.parts.iter().all(|part| !part.known) {
            let _ = write!(out, "[Shortened: {kept} of {all} parts shown. {rest}]");
        } else {
            out.truncate(out.trim_end().len());
        }
        let tokens = counter.count(&out);
        let shown = parts.iter().map(ExactSizeIterator::len).sum();
        Cut { text: out, tokens, shown, parts }
    }

    /// Writes the line in place of the parts that are left out, if there are any.
    fn close_gap(&self, gap: &mut Vec<usize>, out: &mut String) {
        let parts = std::mem::take(gap);
        let is_blank = |at: &usize| self.text[self.parts[*at].range.clone()].trim().is_empty();
        let (known, parts): (Vec<usize>, Vec<usize>) = parts.into_iter().partition(|at| self.parts[*at].known);
        if parts.iter().all(is_blank) {
            if !known.iter().all(is_blank) {
                out.push_str("[Shown before.]\n\n");
            }
            return;
        }
        // A section that is left out with all that is in it is named once, with the cost of all.
        let mut named: Vec<(String, Tokens)> = Vec::new();
        let mut within = 0..0;
        let end = parts.last().map_or(0, |at| self.parts[*at].range.end);
        for at in parts {
            let part = &self.parts[at];
            if within.contains(&part.range.start) {
                if let Some(last) = named.last_mut() {
                    last.1 = last.1 + self.costs[at];
                }
                continue;
            }
            let title = match self.heading(part) {
                Some(heading) if part.first => heading.title.to_string(),
                Some(heading) => format!("more of {}", heading.title),
                None => "text".to_owned(),
            };
            // All of its section, if nothing of that is shown behind the gap.
            let section = self.section_of(part);
            within = if part.first && section.end <= end { section } else { self.own_section(at) };
            named.push((title, self.costs[at]));
        }
        out.push_str("[Not shown: ");
        for (at, (title, tokens)) in named.iter().take(MAX_NAMED).enumerate() {
            let comma = if at == 0 { "" } else { ", " };
            let _ = write!(out, "{comma}{title} ({})", tokens.0);
        }
        if named.len() > MAX_NAMED {
            let rest: usize = named[MAX_NAMED..].iter().map(|(_, tokens)| tokens.0).sum();
            let _ = write!(out, " and {} more ({rest})", named.len() - MAX_NAMED);
        }
        let before = if known.iter().all(is_blank) { "" } else { "; more was shown before" };
        let _ = write!(out, " tokens{before}]\n\n");
    }

    /// Returns the range of a part and those behind it that belong to the same section, without the sections in it.
    fn own_section(&self, at: usize) -> Range<usize> {
        let own = self.parts[at..].iter().take_while(|part| part.heading == self.parts[at].heading);
        self.parts[at].range.start..own.last().map_or(0, |part| part.range.end)
    }

    /// Returns the range of a part's section, with all sections in it.
    fn section_of(&self, part: &BodyPart) -> Range<usize> {
        let start = body_start(self.text);
        self.heading(part).map_or(part.range.clone(), |heading| start + heading.range.start..start + heading.range.end)
    }
}

/// Returns the headings above each heading, outermost first: at most five.
fn headings_above(headings: &[Heading]) -> Vec<Vec<usize>> {
    let mut open: Vec<usize> = Vec::new();
    let above = |(at, heading): (usize, &Heading)| {
        open.retain(|other| headings[*other].level < heading.level);
        let above = open.clone();
        open.push(at);
        above
    };
    headings.iter().enumerate().map(above).collect()
}

/// Divides a section at blank lines that are not inside a code block, in pieces of at most `most` tokens where that is
/// possible. Tables and code blocks remain whole, and a title is not apart from its text.
fn blocks(section: &str, titled: bool, most: Tokens, counter: &dyn TokenCounter) -> Vec<Range<usize>> {
    let (mut cuts, mut fence, mut at, mut after_blank) = (Vec::new(), Fence::default(), 0, false);
    for line in LinesWithEnds(section) {
        let is_blank = line.trim().is_empty();
        // An indented line continues a list or a block of code.
        if after_blank && !is_blank && !fence.is_open() && !line.starts_with([' ', '\t']) {
            cuts.push(at);
        }
        fence.pass(line);
        at += line.len();
        after_blank = is_blank && !fence.is_open();
    }
    if titled && !cuts.is_empty() {
        cuts.remove(0);
    }
    cuts.push(section.len());
    let (mut pieces, mut start, mut end): (Vec<Range<usize>>, usize, usize) = (Vec::new(), 0, 0);
    for cut in cuts {
        if end > start && counter.count(&section[start..cut]) > most {
            pieces.push(start..end);
            start = end;
        }
        end = cut;
    }
    pieces.push(start..end);
    pieces
}
