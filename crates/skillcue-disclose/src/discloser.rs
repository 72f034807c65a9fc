//! Makes a disclosure of a selection.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use skillcue_catalog::{Catalog, Skill};
use skillcue_format::Tokens;
use skillcue_select::{Census, Grade, Hit, Intent, Mention, Mode, Reason, ReasonKind, Thresholds};

use crate::counter::memo::Memo;
use crate::documentation::{Documentation, DocumentationScope};
use crate::names::MAX_NAMES;
use crate::report::{DisclosedSkill, DisclosureCost, ListOmissions, NOT_ALONE, TOO_WEAK};
use crate::shortlist::Shortlist;
use crate::situation::Situation;
use crate::skill_list::{ListStyle, list_entry, list_within_limit};
use crate::use_counts::UseCounts;
use crate::{
    BodySource, Budget, CounterError, Decision, DiscloseConfig, Disclosure, Fallback, LoadAdvice, Policy, Rehydration,
    Session, SkillList, Tier, TokenCounter,
};

/// More bytes than an entry of a list has beside its name and its description.
const ENTRY_FRAME: usize = 80;
/// More bytes than a list has beside its entries.
const LIST_FRAME: usize = 2_000;

/// Decides, for one catalog and one configuration, what the model is shown.
///
/// Cheap to make: what depends on the whole catalog (the stable part, the registry, the cost of everything) is made
/// when first asked for and then kept. Make a new one when the catalog changes.
///
/// ```
/// use std::sync::Arc;
/// use skillcue_catalog::{Discovery, SkillRoot, Skill, Source};
/// use skillcue_disclose::{DiscloseConfig, Discloser, Situation};
/// use skillcue_select::{Census, Selection};
///
/// let dir = tempfile::tempdir()?;
/// std::fs::create_dir(dir.path().join("pdf"))?;
/// std::fs::write(dir.path().join("pdf/SKILL.md"), "---\nname: pdf\ndescription: Reads PDF files.\n---\n# How\n")?;
/// let catalog = Arc::new(Discovery::new([SkillRoot::new(dir.path(), Source::User)]).run());
///
/// let discloser = Discloser::new(catalog, DiscloseConfig::default())?;
/// let bodies = |_: &Skill| Ok(Arc::from("# How"));
/// let census = Census { visible: 1, triggered: true };
/// let shown = discloser.disclose(&Situation::new(census, &Selection::default(), &bodies));
/// assert_eq!(shown.turn, "[1 skill available]");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Discloser {
    pub(crate) catalog: Arc<Catalog>,
    pub(crate) config: DiscloseConfig,
    pub(crate) counter: &'static dyn TokenCounter,
    /// A cache over `counter`, for bodies.
    pub(crate) memo: Memo,
    stable: OnceLock<SkillList>,
    registry: OnceLock<SkillList>,
    /// The omissions of those two lists.
    left_out: [OnceLock<Arc<ListOmissions>>; 2],
    eager: OnceLock<Tokens>,
    nothing: SkillList,
    uses: Option<UseCounts>,
}

impl std::fmt::Debug for Discloser {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Discloser").field("config", &self.config).finish_non_exhaustive()
    }
}

/// A turn's text and what is in it, before it is counted.
pub(crate) struct TurnText {
    pub(crate) tier: Tier,
    pub(crate) text: String,
    pub(crate) skills: Vec<DisclosedSkill>,
    /// The cost of the text without the skills' own, if it is known already.
    pub(crate) overhead: Option<Tokens>,
}

impl Discloser {
    /// Makes one for a catalog and a configuration. Fails if this build does not have the configuration's counter.
    pub fn new(catalog: Arc<Catalog>, config: DiscloseConfig) -> Result<Discloser, CounterError> {
        let counter = config.counter.counter()?;
        Ok(Discloser::with_counter(catalog, config, counter))
    }

    /// Like [`new`](Discloser::new), for a caller that has the counter: the configuration's is not used.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use skillcue_catalog::Discovery;
    /// use skillcue_disclose::{Bytes4, DiscloseConfig, Discloser};
    ///
    /// let catalog = Arc::new(Discovery::new([]).run());
    /// let discloser = Discloser::with_counter(catalog, DiscloseConfig::default(), &Bytes4);
    /// assert_eq!(discloser.counter().name(), "bytes4");
    /// ```
    pub fn with_counter(
        catalog: Arc<Catalog>,
        config: DiscloseConfig,
        counter: &'static dyn TokenCounter,
    ) -> Discloser {
        let (stable, registry, eager) = (OnceLock::new(), OnceLock::new(), OnceLock::new());
        let (memo, left_out, nothing) = (Memo::new(counter), Default::default(), SkillList::default());
        Discloser { catalog, config, counter, memo, stable, registry, left_out, eager, nothing, uses: None }
    }

    /// Shortens the descriptions of skills that are used last: after pinned ones and those with a priority, before the
    /// order of sources. The counts must not change while the catalog's generation stays, or the lists are not stable.
    ///
    /// ```
    /// use std::collections::BTreeMap;
    /// use std::sync::Arc;
    /// use skillcue_catalog::Discovery;
    /// use skillcue_disclose::{Bytes4, DiscloseConfig, Discloser, UseCounts};
    ///
    /// let catalog = Arc::new(Discovery::new([]).run());
    /// let counts = UseCounts::new(|| Some(BTreeMap::from([("pdf".to_owned(), 7)])));
    /// let discloser = Discloser::with_counter(catalog, DiscloseConfig::default(), &Bytes4).by_use(Some(counts));
    /// assert_eq!(discloser.prompt().text.as_ref(), "");
    /// ```
    #[must_use]
    pub fn by_use(self, uses: Option<UseCounts>) -> Discloser {
        Discloser { uses, ..self }
    }

    /// Returns the catalog.
    pub fn catalog(&self) -> &Arc<Catalog> {
        &self.catalog
    }

    /// Returns the configuration.
    pub fn config(&self) -> &DiscloseConfig {
        &self.config
    }

    /// Returns the token counter.
    pub fn counter(&self) -> &'static dyn TokenCounter {
        self.counter
    }

    /// Returns the part that does not depend on the message: empty for [`Policy::Inject`], else [`Discloser::prompt`].
    pub fn stable(&self) -> &SkillList {
        if self.config.policy == Policy::Inject { &self.nothing } else { self.prompt() }
    }

    /// Returns the static section, whatever the policy.
    pub fn prompt(&self) -> &SkillList {
        self.stable.get_or_init(|| self.build_list(ListStyle::Prompt))
    }

    /// Returns the text of the registry tier. Made from every skill the first time (40 ms at 100,000), and kept after
    /// that: a host with that many asks for it once, outside of a turn.
    pub fn registry(&self) -> &SkillList {
        self.registry.get_or_init(|| self.build_list(ListStyle::Registry))
    }

    /// Returns the cost of the documentation of all visible skills, estimated from the sizes of their files, and
    /// [`DisclosureCost::BODY_FRAME`] for each.
    pub fn eager(&self) -> Tokens {
        let listed = || self.catalog.skills().filter(|skill| skill.is_for_models());
        *self.eager.get_or_init(|| listed().map(|skill| skill.body_tokens() + DisclosureCost::BODY_FRAME).sum())
    }

    /// Returns what a conversation must be shown again, like [`Session::rehydrate_rest`], with this configuration's
    /// counter and advice.
    pub fn rehydrate_rest(&self, session: &mut Session, budget: Budget, bodies: &dyn BodySource) -> Rehydration {
        session.rehydrate_with(budget, &self.catalog, bodies, self.counter, &self.config.load_advice)
    }

    fn build_list(&self, style: ListStyle) -> SkillList {
        let skills = self.catalog.skills().filter(|skill| skill.is_for_models());
        let mut items: Vec<_> = skills.map(|skill| list_entry(skill, style, &self.config)).collect();
        // A token has at least one byte: what has fewer bytes is not shortened, and its order is of no account.
        let bytes: usize =
            items.iter().map(|item| item.entry.id.len() + item.entry.description.len() + ENTRY_FRAME).sum();
        let limit = self.config.catalog_tokens();
        if let Some(uses) = self.uses.as_ref().filter(|_| limit.is_some_and(|limit| bytes + LIST_FRAME > limit.0)) {
            let uses = uses.count().unwrap_or_default();
            for item in &mut items {
                item.entry.uses = uses.get(&*item.entry.id).copied().unwrap_or(0);
            }
        }
        list_within_limit(style, items, limit, self.counter)
    }

    /// Decides what the model is shown this turn. [`Disclosure::trace`] logs it.
    pub fn disclose(&self, situation: &Situation<'_>) -> Disclosure {
        let turn = self.turn(situation);
        let stable = if turn.tier == Tier::Nothing { &self.nothing } else { self.stable() };
        // The parts were counted one by one; the bodies among them need not be counted again.
        let overhead = turn.overhead.unwrap_or_else(|| self.counter.count(&turn.text));
        let bodies: Tokens = turn.skills.iter().map(|skill| skill.tokens).sum();
        let tokens = DisclosureCost { stable: stable.tokens, turn: bodies + overhead, overhead, eager: self.eager() };
        Disclosure {
            tier: turn.tier,
            policy: self.config.policy,
            stable: Arc::clone(&stable.text),
            turn: turn.text,
            tokens,
            skills: turn.skills,
            matched: situation.selection.matched.max(situation.selection.hits.len()),
            thresholds: self.thresholds(situation),
            listed: self.listed(turn.tier),
            elapsed: Duration::ZERO,
        }
    }

    /// Returns what the list of a disclosure leaves out, if there is one in it.
    fn listed(&self, tier: Tier) -> Arc<ListOmissions> {
        let (place, section) = match (self.config.policy, tier) {
            (_, Tier::Nothing) => return Arc::default(),
            (Policy::Catalog | Policy::Hint, _) => (&self.left_out[0], self.prompt()),
            (Policy::Inject, Tier::Registry) => (&self.left_out[1], self.registry()),
            (Policy::Inject, _) => return Arc::default(),
        };
        Arc::clone(place.get_or_init(|| Arc::new(ListOmissions::of(section))))
    }

    fn turn(&self, situation: &Situation<'_>) -> TurnText {
        let Situation { census, selection, .. } = *situation;
        let called = |hit: &Hit| hit.mention == Some(Mention::Sigil) && self.visible_skill(hit).is_some();
        if census.visible == 0 && !selection.hits.iter().any(called) {
            return TurnText { tier: Tier::Nothing, text: String::new(), skills: Vec::new(), overhead: None };
        }
        let hits: Vec<(&Hit, &Skill)> =
            selection.hits.iter().filter_map(|hit| Some((hit, self.visible_skill(hit)?))).collect();
        let named = hits.iter().any(|(hit, _)| hit.mention == Some(Mention::Sigil));
        let intent = if named { Intent::None } else { selection.intent };
        let sure = |(hit, _): &(&Hit, &Skill)| self.grade(hit, situation) == Grade::Body;
        let (sure, unsure): (Vec<_>, Vec<_>) = hits.into_iter().partition(sure);
        // A user who calls a skill by its name needs no other names.
        let shortlist = Shortlist::of(self, situation, if named { &[] } else { &unsure });
        let tier = match intent {
            // With these policies documentation comes by `load_skill`; what there is to see of all skills is the list.
            Intent::All if self.config.policy != Policy::Inject => Tier::Registry,
            Intent::All => Tier::Documentation,
            Intent::Registry => Tier::Registry,
            Intent::None if !sure.is_empty() => Tier::Documentation,
            Intent::None if !shortlist.candidates.is_empty() => Tier::Shortlist,
            // All that is likely is known to the model, or must not be named.
            Intent::None if shortlist.is_any_likely => Tier::Breadcrumb,
            Intent::None => match self.config.fallback {
                Fallback::None | Fallback::AskUser if census.triggered || situation.mode != Mode::Keyword => {
                    Tier::Breadcrumb
                }
                Fallback::AskUser if !(unsure.is_empty() && situation.closest.is_empty()) => Tier::Breadcrumb,
                Fallback::None | Fallback::AskUser | Fallback::ShowAll => Tier::Registry,
            },
        };
        let report_each = |why: &dyn Fn(&str) -> &'static str| {
            let omitted =
                |(hit, skill): &(&Hit, &Skill)| disclosed(hit, Decision::Omitted, Some(why(skill.name()).to_owned()));
            sure.iter().chain(&unsure).map(omitted).collect()
        };
        let report = |why: &'static str| report_each(&|_| why);
        // A list that leaves names out has them sorted.
        let is_in = |section: &SkillList, name: &str| {
            section.omitted.binary_search_by(|omitted| omitted.as_str().cmp(name)).is_err()
        };
        match (self.config.policy, tier) {
            (Policy::Catalog | Policy::Hint, _) if sure.iter().any(|(_, skill)| !skill.is_for_models()) => {
                self.show_hidden(situation, sure, &unsure)
            }
            (Policy::Catalog, _) => TurnText {
                tier,
                text: String::new(),
                skills: report("the policy shows nothing per turn"),
                overhead: None,
            },
            (Policy::Hint, Tier::Documentation) => self.hint(situation, &sure, &unsure),
            (Policy::Hint, Tier::Shortlist) => shortlist.hint(&unsure),
            (Policy::Hint, _) => {
                let missing = "the stable part omits it to save space; `search_skills` finds it";
                let why = |name: &str| if is_in(self.prompt(), name) { "the stable part lists it" } else { missing };
                let text = if intent == Intent::All { self.list_pointer(census.visible) } else { String::new() };
                TurnText { tier, text, skills: report_each(&why), overhead: None }
            }
            (Policy::Inject, Tier::Documentation) => {
                let documentation = Documentation { discloser: self, situation, beyond: self.beyond(situation) };
                match intent {
                    Intent::All => documentation.write(&DocumentationScope::All(self.first_visible(), &sure)),
                    _ => shortlist.beside(documentation.write(&DocumentationScope::Matching(&sure)), &unsure),
                }
            }
            (Policy::Inject, Tier::Registry) => {
                let text = self.registry().text.to_string();
                let (list, missing) =
                    ("only the list of skills is shown", "only a list is shown, which omits it to save space");
                let why = |name: &str| if is_in(self.registry(), name) { list } else { missing };
                TurnText { tier, text, skills: report_each(&why), overhead: None }
            }
            (Policy::Inject, Tier::Shortlist) => shortlist.write(&unsure),
            (Policy::Inject, _) => {
                let text = match self.config.fallback {
                    Fallback::AskUser if !shortlist.is_any_likely => self.question(situation, &unsure),
                    _ => breadcrumb(census),
                };
                let skills = unsure.iter().map(|(hit, skill)| shortlist.omitted(hit, skill)).collect();
                TurnText { tier, text, skills, overhead: None }
            }
        }
    }

    /// Returns the hit's skill, unless it may not be shown.
    fn visible_skill(&self, hit: &Hit) -> Option<&Skill> {
        let at = self.catalog.all().get(hit.skill).map(AsRef::as_ref).filter(|skill: &&Skill| skill.name() == hit.name);
        // A skill that `disable-model-invocation` hides from models may still be called by name by the user.
        let called = |skill: &&Skill| hit.mention == Some(Mention::Sigil) && skill.is_usable();
        at.or_else(|| self.catalog.get(&hit.name)).filter(|skill| skill.is_for_models() || called(skill))
    }

    /// Reports a hit that is not sure, with the reason: its certainty is too low because it fits too little,
    /// or because others fit as well.
    pub(crate) fn weak_match(&self, hit: &Hit, situation: &Situation<'_>) -> DisclosedSkill {
        let why = if hit.confidence >= self.thresholds(situation).body { NOT_ALONE } else { TOO_WEAK };
        disclosed(hit, Decision::Omitted, Some(why.to_owned()))
    }

    fn thresholds(&self, situation: &Situation<'_>) -> Thresholds {
        let Thresholds { body, name } = Thresholds::of(situation.eagerness.unwrap_or(self.config.eagerness));
        Thresholds { body, name: name.max(self.config.min_likelihood) }
    }

    /// Returns the part of a hit's skill that is worth its tokens.
    pub(crate) fn grade(&self, hit: &Hit, situation: &Situation<'_>) -> Grade {
        hit.grade(situation.mode, &self.thresholds(situation))
    }

    /// Returns how many skills match beside the hits of a selection. If one of the hits is weak, the skills after them
    /// are at least as weak, and do not count as matches.
    fn beyond(&self, situation: &Situation<'_>) -> usize {
        let selection = situation.selection;
        let sure = selection.hits.iter().all(|hit| self.grade(hit, situation) == Grade::Body);
        if sure { selection.matched.saturating_sub(selection.hits.len()) } else { 0 }
    }

    fn first_visible(&self) -> Vec<&Skill> {
        let most = if self.config.max_all_skills == 0 { usize::MAX } else { self.config.max_all_skills };
        self.catalog.skills().filter(|skill| skill.is_for_models()).take(most).collect()
    }

    /// Shows the bodies of skills that are hidden from models and that the user called by name, whatever the policy,
    /// because the model cannot load them. The rest follows the policy.
    fn show_hidden(&self, situation: &Situation<'_>, sure: Vec<(&Hit, &Skill)>, unsure: &[(&Hit, &Skill)]) -> TurnText {
        let (open, hidden): (Vec<_>, Vec<_>) = sure.into_iter().partition(|(_, skill)| skill.is_for_models());
        let mut turn =
            Documentation { discloser: self, situation, beyond: 0 }.write(&DocumentationScope::Matching(&hidden));
        if self.config.policy == Policy::Hint && !open.is_empty() {
            let hint = self.hint(situation, &open, unsure);
            turn.overhead = turn.overhead.map(|overhead| overhead + self.counter.count(&hint.text));
            turn.text.push_str("\n\n");
            turn.text.push_str(&hint.text);
            turn.skills.extend(hint.skills);
            return turn;
        }
        let why = "the policy shows nothing per turn but what is called and hides from models";
        let omitted = |(hit, _): &(&Hit, &Skill)| disclosed(hit, Decision::Omitted, Some(why.to_owned()));
        turn.skills.extend(open.iter().chain(unsure).map(omitted));
        turn
    }

    /// Makes one line that names the best matches and why.
    fn hint(&self, situation: &Situation<'_>, sure: &[(&Hit, &Skill)], unsure: &[(&Hit, &Skill)]) -> TurnText {
        let most = if self.config.max_skills == 0 { MAX_NAMES } else { self.config.max_skills.min(MAX_NAMES) };
        let text = hint_with(sure.iter().take(most).map(|(hit, _)| *hit), &self.config.load_advice.one);
        let decide = |(rank, (hit, _)): (usize, &(&Hit, &Skill))| {
            let (decision, why) = match rank {
                _ if rank < most.min(sure.len()) => (Decision::Included, "named in the hint"),
                _ if rank < sure.len() => (Decision::Omitted, "the hint names only the best"),
                _ => return self.weak_match(hit, situation),
            };
            disclosed(hit, decision, Some(why.to_owned()))
        };
        let skills = sure.iter().chain(unsure).enumerate().map(decide).collect();
        TurnText { tier: Tier::Documentation, text, skills, overhead: None }
    }

    /// Returns one line that says where all skills are listed, for a user who asks to see them.
    fn list_pointer(&self, visible: usize) -> String {
        let omitted = self.prompt().omitted.len().min(visible);
        let (listed, load) = (visible - omitted, "`load_skill` gives the documentation of one by its id.");
        match (omitted, visible) {
            (0, 1) => format!("[The only skill is listed under \"Agent Skills\". {load}]"),
            (0, _) => format!("[All {visible} skills are listed under \"Agent Skills\". {load}]"),
            _ => format!(
                "[{listed} of {visible} skills are listed under \"Agent Skills\", `search_skills` finds the others. {load}]"
            ),
        }
    }

    /// Returns one line from which the model can ask which skill is meant.
    fn question(&self, situation: &Situation<'_>, unsure: &[(&Hit, &Skill)]) -> String {
        let mut close: Vec<&str> = unsure.iter().map(|(_, skill)| skill.name()).collect();
        if close.is_empty() {
            close = situation.closest.iter().filter_map(|hit| self.visible_skill(hit)).map(Skill::name).collect();
        }
        close.truncate(3);
        let (count, s) = (situation.census.visible, if situation.census.visible == 1 { "" } else { "s" });
        if close.is_empty() {
            return format!("[{count} skill{s} available, none clearly fits. If one is wanted, ask the user which.]");
        }
        format!("[{count} skill{s} available, none clearly fits. Closest: {}. Ask the user.]", close.join(", "))
    }
}

pub(crate) fn disclosed(hit: &Hit, decision: Decision, why: Option<String>) -> DisclosedSkill {
    DisclosedSkill {
        name: hit.name.clone(),
        decision,
        score: hit.score,
        confidence: hit.confidence,
        certainty: hit.certainty,
        likelihood: hit.likelihood,
        reasons: hit.reasons.clone(),
        tokens: Tokens(0),
        why,
        shown_text: None,
    }
}

/// Returns the line that says how many skills there are.
pub(crate) fn breadcrumb(census: Census) -> String {
    let s = if census.visible == 1 { "" } else { "s" };
    format!("[{} skill{s} available]", census.visible)
}

/// Returns one line that names skills and why, and how to load one.
///
/// ```
/// use skillcue_disclose::hint_line;
/// use skillcue_select::Hit;
///
/// let hit = Hit { name: "pdf".to_owned(), ..Hit::default() };
/// assert_eq!(hint_line([&hit]), "[Skills that may fit: pdf. `load_skill` gives one by its id.]");
/// ```
pub fn hint_line<'h>(hits: impl IntoIterator<Item = &'h Hit>) -> String {
    hint_with(hits, &LoadAdvice::default().one)
}

/// Like [`hint_line`], with `advice` on how to load one.
pub(crate) fn hint_with<'h>(hits: impl IntoIterator<Item = &'h Hit>, advice: &str) -> String {
    let named: Vec<String> = hits.into_iter().map(name_with_reason).collect();
    format!("[Skills that may fit: {}. {advice}]", named.join(", "))
}

/// The number of characters of a message that a hint repeats as the reason for a skill.
const MAX_REASON: usize = 40;

/// Returns a name and the strongest reason, in the words of the message: `pdf (keyword "pdf")`.
fn name_with_reason(hit: &Hit) -> String {
    let is_told = |of: &&Reason| !matches!(of.kind, ReasonKind::Judge | ReasonKind::Use);
    let Some(reason) = hit.reasons.iter().find(is_told) else { return hit.name.clone() };
    let kind = match reason.kind {
        ReasonKind::Mention => return format!("{} (named)", hit.name),
        ReasonKind::Recent => return format!("{} (used before)", hit.name),
        ReasonKind::Phrase => "phrase",
        ReasonKind::Keyword => "keyword",
        ReasonKind::Verb => "verb",
        ReasonKind::Pattern => "pattern",
        ReasonKind::File => "file",
        ReasonKind::Nearby => "nearby file",
        ReasonKind::Language => "language",
        ReasonKind::Text | ReasonKind::Judge | ReasonKind::Use => "words",
    };
    format!("{} ({kind} \"{}\")", hit.name, reason.words(MAX_REASON))
}
