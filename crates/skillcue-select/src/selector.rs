//! The selector: an index over the triggers of a catalog, and the matching of messages with it.

use std::sync::OnceLock;

use skillcue_catalog::{Catalog, Source};
use skillcue_format::Manifest;
use twox_hash::XxHash3_128;

use crate::index::{HIDDEN, INDEXED, NONE, TRIGGERED, TriggerIndex, TriggerKind};
use crate::languages::languages_of;
use crate::rank::{ScoreTable, confidence, points, reason_kind, recent_points, score, sigil_points};
use crate::trigger_cache::TriggerCache;
use crate::trigger_matches::{MatchSite, SigilMention, TriggerMatch, TriggerMatches, position};
use crate::turn::MAX_RECENT;
use crate::{Hit, Intent, Mention, Reason, ReasonKind, SelectOptions, Selection, Turn, build, bytes};

/// An index over the triggers of all skills of one catalog.
///
/// It belongs to that catalog: positions in [`Catalog::all`] are its skill numbers, and which skills are enabled is
/// read once. Share it by `Arc` beside the catalog; selecting takes no lock but a short one around compiled patterns,
/// and only when a message has a literal that a pattern requires.
///
/// ```
/// use skillcue_catalog::{Discovery, SkillRoot, Source};
/// use skillcue_select::{Intent, SelectOptions, Selector, Turn};
///
/// let dir = tempfile::tempdir()?;
/// std::fs::create_dir(dir.path().join("pdf-tools"))?;
/// let text = "---\nname: pdf-tools\ndescription: Reads PDF.\ntriggers:\n  verbs: [extract]\n---\n";
/// std::fs::write(dir.path().join("pdf-tools/SKILL.md"), text)?;
/// let catalog = Discovery::new([SkillRoot::new(dir.path(), Source::User)]).run();
///
/// let selector = Selector::of(&catalog);
/// let selection = selector.select(&catalog, &Turn::new("We extracted the tables."), &SelectOptions::default());
/// assert_eq!(selection.hits[0].name, "pdf-tools");
/// assert_eq!(selection.hits[0].reasons[0].text, "extracted");
/// assert_eq!(selection.intent, Intent::None);
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct Selector {
    pub(crate) index: TriggerIndex,
    pub(crate) compiled: TriggerCache,
    visibility: OnceLock<Visibility>,
}

/// The number of visible skills, and whether any has triggers of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Census {
    /// How many are enabled, available, of the highest precedence of their name, and open to the model.
    pub visible: usize,
    /// Whether one of them has triggers of its own. Those of bundled skills count only if all visible skills are
    /// bundled.
    pub triggered: bool,
}

/// The skills that may be selected, as the catalog has decided.
#[derive(Debug)]
struct Visibility {
    /// Per skill: whether triggers may select it.
    visible: Vec<bool>,
    census: Census,
}

/// A selection before the intent of the message is determined.
#[derive(Debug, Default)]
pub(crate) struct RankedHits {
    pub(crate) hits: Vec<Hit>,
    /// How many skills matched, including those beyond the limit.
    pub(crate) matched: usize,
    /// Whether the message names a skill with a sigil: then it has no other intent.
    is_called: bool,
}

impl RankedHits {
    pub(crate) fn selection(self, turn: &Turn<'_>) -> Selection {
        let intent = if self.is_called { Intent::None } else { Intent::of(turn.message) };
        Selection { intent, hits: self.hits, matched: self.matched, judgement: None, model: None }
    }
}

impl Selector {
    /// Builds the index, on all cores.
    pub fn of(catalog: &Catalog) -> Selector {
        Selector::with(build::build(catalog, Selector::key(catalog)))
    }

    fn with(index: TriggerIndex) -> Selector {
        Selector { index, compiled: TriggerCache::default(), visibility: OnceLock::new() }
    }

    /// Returns an id of everything in a catalog that its index depends on: the names and the content of the front
    /// matter, in order.
    ///
    /// ```
    /// use skillcue_catalog::{Discovery, SkillRoot, Source};
    /// use skillcue_select::Selector;
    ///
    /// let dir = tempfile::tempdir()?;
    /// std::fs::create_dir(dir.path().join("pdf"))?;
    /// let key = |keyword: &str, body: &str| -> std::io::Result<u128> {
    ///     let text = format!("---\nname: pdf\ndescription: D.\ntriggers: [{keyword}]\n---\n{body}\n");
    ///     std::fs::write(dir.path().join("pdf/SKILL.md"), text)?;
    ///     Ok(Selector::key(&Discovery::new([SkillRoot::new(dir.path(), Source::User)]).run()))
    /// };
    /// assert_eq!(key("form", "One.")?, key("form", "Another body.")?);
    /// assert_ne!(key("form", "One.")?, key("table", "One.")?);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn key(catalog: &Catalog) -> u128 {
        let mut bytes = Vec::with_capacity(catalog.all().len() * 40);
        for skill in catalog.all() {
            bytes.extend_from_slice(skill.name().as_bytes());
            bytes.push(0);
            bytes.extend_from_slice(&skill.digest().to_le_bytes());
        }
        XxHash3_128::oneshot(&bytes)
    }

    /// Returns whether this was built from a catalog with the same names and front matter.
    pub fn fits(&self, catalog: &Catalog) -> bool {
        self.index.flags.len() == catalog.all().len() && self.index.key == Selector::key(catalog)
    }

    /// Returns the index as bytes, to store beside the index cache of the catalog.
    pub fn to_bytes(&self) -> Vec<u8> {
        bytes::write(&self.index)
    }

    /// Reads a stored index, if its bytes are intact and of this version. [`fits`](Self::fits) returns whether it still
    /// fits a catalog.
    ///
    /// ```
    /// # let catalog = skillcue_catalog::Discovery::new([]).run();
    /// use skillcue_select::Selector;
    /// let bytes = Selector::of(&catalog).to_bytes();
    /// assert!(Selector::from_bytes(&bytes).is_some_and(|selector| selector.fits(&catalog)));
    /// assert!(Selector::from_bytes(&bytes[1..]).is_none());
    /// ```
    pub fn from_bytes(bytes: &[u8]) -> Option<Selector> {
        bytes::read(bytes).map(Selector::with)
    }

    /// Returns how many patterns require no literal, and so run on every message.
    pub fn always_run(&self) -> usize {
        self.index.always.len()
    }

    /// Returns the number of visible skills. Counted once; `catalog` must be the one this belongs to.
    pub fn census(&self, catalog: &Catalog) -> Census {
        self.visibility(catalog).census
    }

    /// Returns whether triggers and texts may select a skill.
    pub(crate) fn is_visible(&self, catalog: &Catalog, skill: usize) -> bool {
        self.visibility(catalog).visible.get(skill).is_some_and(|visible| *visible)
    }

    fn visibility(&self, catalog: &Catalog) -> &Visibility {
        self.visibility.get_or_init(|| {
            let mut visibility = Visibility { visible: vec![false; self.index.flags.len()], census: Census::default() };
            // Whether bundled skills, and others, have triggers.
            let (mut own, mut bundled, mut only_bundled) = (false, false, true);
            for (at, skill) in catalog.all().iter().enumerate().take(self.index.flags.len()) {
                let flags = self.index.flags[at];
                visibility.visible[at] = flags & (INDEXED | HIDDEN) == INDEXED && skill.is_usable();
                if visibility.visible[at] {
                    visibility.census.visible += 1;
                    let triggered = flags & TRIGGERED != 0;
                    if skill.source() == Source::Bundled {
                        bundled |= triggered;
                    } else {
                        only_bundled = false;
                        own |= triggered;
                    }
                }
            }
            visibility.census.triggered = own || (bundled && only_bundled);
            visibility
        })
    }

    /// Selects the skills that fit a turn, best first.
    ///
    /// Disabled, unavailable and shadowed skills never match; one with `disable-model-invocation` matches only where
    /// the person wrote its name with a sigil, one that is not `user-invocable` never by that. Patterns are matched
    /// with the first 64 KiB of a message. Texts are not used, whatever the mode: [`Selector::select_with`] does that.
    ///
    /// With another catalog than the one this belongs to, nothing matches.
    pub fn select(&self, catalog: &Catalog, turn: &Turn<'_>, options: &SelectOptions) -> Selection {
        self.by_triggers(catalog, turn, options.limit).selection(turn)
    }

    /// Matches triggers and mentions.
    pub(crate) fn by_triggers(&self, catalog: &Catalog, turn: &Turn<'_>, limit: usize) -> RankedHits {
        let matches = self.ranked(catalog, turn, |gathered, sums| {
            let best = sums.best(limit);
            let hits = best.into_iter().map(|skill| self.hit(catalog, turn, gathered, sums, skill));
            let is_called = !gathered.sigils.is_empty();
            RankedHits { hits: hits.collect(), matched: sums.touched.len(), is_called }
        });
        matches.unwrap_or_default()
    }

    /// Returns the triggers that a turn matches; `None`, if the catalog is not the one this belongs to.
    pub(crate) fn trigger_matches(&self, catalog: &Catalog, turn: &Turn<'_>) -> Option<TriggerMatches> {
        // Its numbers mean nothing for another one.
        let fits = self.index.flags.len() == catalog.all().len();
        fits.then(|| TriggerMatches::of(&self.index, &self.compiled, catalog, turn))
    }

    /// Adds up the evidence for each skill, and calls `work` with it. New kinds of evidence are to be added to the
    /// scores here.
    pub(crate) fn ranked<T>(
        &self,
        catalog: &Catalog,
        turn: &Turn<'_>,
        work: impl FnOnce(&TriggerMatches, &ScoreTable) -> T,
    ) -> Option<T> {
        let gathered = self.trigger_matches(catalog, turn)?;
        let visibility = self.visibility(catalog);
        Some(ScoreTable::with(self.index.flags.len(), |sums| {
            self.add_up(&gathered, visibility, sums);
            for found in &gathered.nearby {
                for &skill in self.index.postings(found.item) {
                    if sums.get(skill).is_some() {
                        let sum = sums.at(skill);
                        sum.points = sum.points.saturating_add(points(&self.index, found.item, None));
                    }
                }
            }
            for (before, name) in turn.recent.iter().take(MAX_RECENT).enumerate() {
                if let Some(skill) = position(catalog, name).filter(|skill| sums.get(*skill).is_some()) {
                    let sum = sums.at(skill);
                    sum.recent = sum.recent.max(u16::try_from(MAX_RECENT - before).unwrap_or(0));
                }
            }
            work(&gathered, sums)
        }))
    }

    fn add_up(&self, gathered: &TriggerMatches, visibility: &Visibility, sums: &mut ScoreTable) {
        for SigilMention { skill, .. } in &gathered.sigils {
            let sum = sums.at(*skill);
            sum.mention = Some(Mention::Sigil);
            sum.points = sum.points.saturating_add(sigil_points());
        }
        for found in &gathered.found {
            let kind = self.index.kind(found.item);
            let points = points(&self.index, found.item, age(found));
            let phrase = kind == TriggerKind::Phrase && age(found).is_none();
            for &skill in self.index.postings(found.item) {
                if !visibility.visible[skill as usize] {
                    continue;
                }
                let sum = sums.at(skill);
                if kind == TriggerKind::Name {
                    // A mention by sigil includes the one by name.
                    if sum.mention.is_some() {
                        continue;
                    }
                    sum.mention = Some(Mention::Name);
                }
                sum.points = sum.points.saturating_add(points);
                sum.phrase |= phrase;
            }
        }
    }

    /// Makes the hit of a skill, with its reasons.
    pub(crate) fn hit(
        &self,
        catalog: &Catalog,
        turn: &Turn<'_>,
        gathered: &TriggerMatches,
        sums: &ScoreTable,
        skill: u32,
    ) -> Hit {
        let id = skill as usize;
        let sum = sums.get(skill).unwrap_or_default();
        let entry = &catalog.all()[id];
        let name = entry.name().to_owned();
        let mut reasons = Vec::new();
        for SigilMention { span, .. } in gathered.sigils.iter().filter(|mention| mention.skill == skill) {
            reasons.push(Reason {
                kind: ReasonKind::Mention,
                trigger: name.clone(),
                text: turn.message[span.clone()].to_owned(),
                span: Some(span.clone()),
                score: score(sigil_points()),
            });
        }
        let hidden = self.index.flags[id] & HIDDEN != 0;
        let triggers = self.index.triggers(skill);
        for (ordinal, &item) in triggers.iter().enumerate().filter(|_| !hidden) {
            let Some(found) =
                (item != NONE && !triggers[..ordinal].contains(&item)).then(|| gathered.get(item)).flatten()
            else {
                continue;
            };
            let kind = self.index.kind(item);
            if kind == TriggerKind::Name && sum.mention == Some(Mention::Sigil) {
                continue;
            }
            let (text, span) = found.text(turn);
            reasons.push(Reason {
                kind: reason_kind(kind),
                trigger: written(&name, entry.manifest(), ordinal).unwrap_or(self.index.text(item)).to_owned(),
                text,
                span,
                score: score(points(&self.index, item, age(found))),
            });
        }
        reasons.extend(self.nearby(catalog, turn, gathered, skill));
        let mut points = sum.points;
        if sum.recent > 0 {
            let recent = recent_points(MAX_RECENT.saturating_sub(usize::from(sum.recent)));
            points = points.saturating_add(recent);
            let kind = ReasonKind::Recent;
            reasons.push(Reason { kind, trigger: name.clone(), text: name.clone(), span: None, score: score(recent) });
        }
        reasons.sort_by(|a, b| a.kind.cmp(&b.kind).then(b.score.total_cmp(&a.score)));
        let sure = confidence(sum.mention, sum.phrase, score(sum.points));
        Hit {
            skill: id,
            name,
            score: score(points),
            confidence: sure,
            certainty: sure,
            likelihood: sure,
            mention: sum.mention,
            reasons,
            evidence: Vec::new(),
        }
    }
}

impl Selector {
    /// Returns the reasons that nearby files give for a skill.
    pub(crate) fn nearby(
        &self,
        catalog: &Catalog,
        turn: &Turn<'_>,
        gathered: &TriggerMatches,
        skill: u32,
    ) -> Vec<Reason> {
        let entry = &catalog.all()[skill as usize];
        let languages = languages_of(&turn.nearby);
        let triggers = self.index.triggers(skill);
        let found = gathered.nearby.iter().filter_map(|found| {
            let ordinal = triggers.iter().position(|item| *item == found.item)?;
            let written = written(entry.name(), entry.manifest(), ordinal).unwrap_or(self.index.text(found.item));
            let text = match found.site {
                MatchSite::File(at) => turn.nearby[at as usize].as_str(),
                MatchSite::Language(at) => languages[at as usize],
                MatchSite::Message(..) | MatchSite::Earlier(..) => return None,
            };
            Some(Reason {
                kind: ReasonKind::Nearby,
                trigger: written.to_owned(),
                text: text.to_owned(),
                span: None,
                score: score(points(&self.index, found.item, None)),
            })
        });
        found.collect()
    }
}

/// Returns the age of the message that it matched: `None` for the latest.
fn age(found: &TriggerMatch) -> Option<u32> {
    match found.site {
        MatchSite::Earlier(age, ..) => Some(age),
        _ => None,
    }
}

impl TriggerMatch {
    /// Returns the text that matched, and its range in the message.
    pub(crate) fn text(&self, turn: &Turn<'_>) -> (String, Option<std::ops::Range<usize>>) {
        match self.site {
            MatchSite::Message(start, end) => {
                let span = start as usize..end as usize;
                (turn.message[span.clone()].to_owned(), Some(span))
            }
            MatchSite::Earlier(age, start, end) => {
                (turn.earlier[age as usize][start as usize..end as usize].to_owned(), None)
            }
            MatchSite::File(at) => (turn.files[at as usize].clone(), None),
            MatchSite::Language(at) => (turn.languages[at as usize].clone(), None),
        }
    }
}

/// Returns the trigger of that number as its author wrote it: the name, then all lists.
pub(crate) fn written<'a>(name: &'a str, manifest: &'a Manifest, ordinal: usize) -> Option<&'a str> {
    let triggers = manifest.triggers();
    let lists = [&triggers.keywords, &triggers.verbs, &triggers.patterns, &triggers.files, &triggers.languages];
    let Some(at) = ordinal.checked_sub(1) else { return Some(name) };
    lists.into_iter().flatten().nth(at).map(AsRef::as_ref)
}
