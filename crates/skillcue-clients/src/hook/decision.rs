//! The decision of a hook: what a client's model is shown for one event, in whole or not at all.

use std::path::Path;
use std::sync::Arc;

use serde_json::Value;
use skillcue::consent::{ConsentGate, may_show};
use skillcue::disclose::DisclosedSkill;
use skillcue::select::{Intent, TurnProgress};
use skillcue::tools::neutralise;
use skillcue::{
    Builder, Decision, DiscloseConfig, Disclosure, Fallback, LoadRequest, Mode, Policy, Request, Selection, Session,
    Skill, Skillcue, Tier,
};
use skillcue_base::Digest;

use super::words::{ClientWords, MAX_FILES_LINE};
use super::{HookAdapter, HookAnswer, HookEvent, HookInput, HookSession, HookStyle, StartAnswer, StartSource};

/// The likelihood of the best skill from which a hook names the likely ones. Elsewhere less is enough, but what a hook says
/// stays in the client's history. Of fifteen everyday messages among 500 real skills, four of six that need none get
/// nothing, and seven of nine that need one get a body or names.
const MIN_LIKELIHOOD: f32 = 0.2;
/// The likelihood from which a skill is named beside a better one. Of thirty everyday messages among 500 real skills, two thirds
/// of those that a hook named were below it: right in one of fifteen cases each, and in the history for good.
const MIN_NAMED: f32 = 0.1;

/// The number of characters of an answer. The strictest client cuts at 10,000.
const MAX_CHARACTERS: usize = 9_000;
/// The number of characters below which no further body is looked for.
const MIN_CHARACTERS: usize = 2_000;

/// Choices about the answers of a hook.
#[derive(Debug, Clone, Default)]
pub struct HookOptions {
    /// The most that is said about a skill.
    pub style: HookStyle,
    /// Whether the client has this library's tools, over MCP: then `load_skill` loads what is not shown.
    pub has_tools: bool,
    /// The gate that answers which skills of a checkout are allowed; without it, none is.
    pub consent: Option<Arc<dyn ConsentGate>>,
}

impl HookOptions {
    /// Returns whether a skill's body is kept from models until a person allows it.
    pub(super) fn holds(&self, skill: &Skill) -> bool {
        match &self.consent {
            Some(gate) => !may_show(skill, &**gate),
            None => skill.is_foreign(),
        }
    }

    /// Returns whether a model may be shown a skill's body though the user does not call it.
    fn shows(&self, skill: &Skill) -> bool {
        skill.is_open_to_models() && !self.holds(skill)
    }
}

/// The decision about one event.
#[derive(Debug, Clone, Default)]
pub struct HookDecision {
    /// The answer, if there is one.
    pub answer: Option<HookAnswer>,
    /// The session as it is after the answer. To be kept if the answer has reached the client.
    pub session: Option<HookSession>,
    /// Whether the session has changed.
    pub has_changed: bool,
    /// The reason for the answer, or for none, in a few words.
    pub why: String,
    /// The skills that fit the message, if there was one.
    pub selection: Option<Selection>,
    /// The disclosure for the message, if there was one.
    pub disclosure: Option<Disclosure>,
}

/// Sets up skills for the hooks of a client: which bodies are shown as they are, and in which words the others are
/// offered. What the builder says about disclosures is replaced: [`shape_with`] keeps a configuration.
pub fn shape(builder: Builder, adapter: &'static HookAdapter, options: &HookOptions) -> Builder {
    shape_with(builder, DiscloseConfig::default(), adapter, options)
}

/// Like [`shape`], with a configuration of disclosures: its limits and its eagerness count.
pub fn shape_with(
    builder: Builder,
    config: DiscloseConfig,
    adapter: &'static HookAdapter,
    options: &HookOptions,
) -> Builder {
    let words = ClientWords { adapter, options };
    let config = DiscloseConfig {
        policy: Policy::Inject,
        fallback: Fallback::None,
        min_likelihood: MIN_NAMED,
        load_advice: words.advice(),
        ..config
    };
    let (consent, owned) = (options.clone(), options.clone());
    let is_held = move |skill: &Skill| consent.holds(skill);
    let stand_in = move |skill: &Skill, body: &str, is_held: bool| {
        let words = ClientWords { adapter, options: &owned };
        match () {
            // Also if the session has seen it: since then, it may have been forbidden.
            () if is_held || owned.holds(skill) => Some(words.held(skill)),
            () if adapter.escapes_markup && body.contains(['<', '>']) => Some(words.pointer(skill)),
            () => None,
        }
    };
    builder.disclosure(config).mode(Mode::Hybrid).hold_back(is_held).stand_in(stand_in)
}

/// Decides what a client's model is shown for an event. Without a session, because none can be kept, skills are only named:
/// a body would be paid for again at each turn.
pub fn decide(
    skills: &Skillcue,
    adapter: &'static HookAdapter,
    options: &HookOptions,
    input: &HookInput,
    session: Option<HookSession>,
) -> HookDecision {
    let style = if session.is_none() { HookStyle::Name } else { adapter.style.max(options.style) };
    let words = ClientWords { adapter, options };
    let turn = HookTurn { skills, adapter, style, words, input };
    match &input.event {
        HookEvent::Prompt(prompt) => turn.prompt(prompt, session),
        HookEvent::AfterTool { tool, arguments, has_failed } => turn.after_tool(tool, arguments, *has_failed, session),
        HookEvent::Start(StartSource::Compacted) => turn.start_compacted(session),
        HookEvent::Start(StartSource::Cleared) => {
            let emptied = HookSession::default();
            HookDecision { has_changed: true, ..turn.start(Some(emptied)) }
        }
        HookEvent::Start(StartSource::New) => turn.start(session),
        HookEvent::Compaction => match session {
            Some(mut session) => {
                session.compact();
                session.is_compacted = true;
                HookDecision::nothing("what was shown is shown again after the compaction").changed(session)
            }
            None => HookDecision::nothing("nothing is known of this session"),
        },
        HookEvent::Other => HookDecision::nothing("this event has no answer"),
    }
}

impl HookDecision {
    fn nothing(why: impl Into<String>) -> HookDecision {
        HookDecision { why: why.into(), ..HookDecision::default() }
    }

    fn changed(self, session: HookSession) -> HookDecision {
        HookDecision { session: Some(session), has_changed: true, ..self }
    }
}

/// One event of one client.
struct HookTurn<'a> {
    skills: &'a Skillcue,
    adapter: &'static HookAdapter,
    style: HookStyle,
    words: ClientWords<'a>,
    input: &'a HookInput,
}

impl HookTurn<'_> {
    fn answer(&self, text: &str) -> HookAnswer {
        let text = neutralise(text, self.adapter.tags).into_owned();
        HookAnswer { shape: self.adapter.shape, event_name: self.input.event_name.clone(), text }
    }

    /// Returns whether the client takes a text without cutting it.
    fn fits(&self, text: &str) -> bool {
        text.encode_utf16().count() <= MAX_CHARACTERS && self.adapter.max_bytes.is_none_or(|most| text.len() <= most)
    }

    fn prompt(&self, prompt: &str, session: Option<HookSession>) -> HookDecision {
        if prompt.trim().is_empty() {
            return HookDecision { session, ..HookDecision::nothing("the message is empty") };
        }
        let is_kept = session.is_some();
        let before = session.unwrap_or_default();
        if let Some(name) = self.called(prompt) {
            let mut session = before;
            self.record_load(&mut session, &name);
            let nothing = HookDecision::nothing(format!("the client loads {name} itself, which the message calls"));
            return if is_kept { nothing.changed(session) } else { nothing };
        }
        let mut most = MAX_CHARACTERS - MAX_FILES_LINE - 20;
        let mut style = self.style;
        loop {
            let mut decision = self.disclose(prompt, &before, most, style);
            if !is_kept {
                decision.session = None;
                decision.has_changed = false;
            }
            match &decision.answer {
                Some(answer) if !self.fits(&answer.text) && style == HookStyle::Body => {
                    shrink(&mut most, &mut style);
                }
                _ => return decision,
            }
        }
    }

    /// Returns the decision for a prompt, with an answer of about so many characters.
    fn disclose(&self, prompt: &str, before: &HookSession, most: usize, style: HookStyle) -> HookDecision {
        let mut session = before.clone();
        let mut texts = Vec::new();
        if session.is_compacted {
            session.is_compacted = false;
            texts.extend(self.again(&mut session, most, style));
        }
        let room = most.saturating_sub(texts.iter().map(|text| text.encode_utf16().count() + 2).sum());
        let request = || Request::new(prompt).policy(Policy::Inject).mode(Mode::Hybrid);
        let selection = self.skills.select(&request().session(&mut session.shown.clone()));
        if selection.intent != Intent::None || room < MIN_CHARACTERS.min(most) {
            let why = "the message asks about skills, which the client lists itself";
            return HookDecision { selection: Some(selection), ..self.done(&texts, session, before, why.to_owned()) };
        }
        let seen = session.shown.clone();
        let shown = self.skills.disclose(request().session(&mut session.shown).characters(room));
        let best = shown.skills.iter().map(|skill| skill.likelihood).fold(0.0, f32::max);
        if shown.tier == Tier::Shortlist && best < MIN_LIKELIHOOD {
            let why = format!("the likeliest skill is right in {:.0} of 100 cases, too few to name it", best * 100.0);
            return HookDecision { selection: Some(selection), ..self.done(&texts, session, before, why) };
        }
        let catalog = self.skills.catalog();
        let is_body = |skill: &&DisclosedSkill| matches!(skill.decision, Decision::Included | Decision::Shortened);
        let of = |skill: &DisclosedSkill| catalog.get(&skill.name);
        let fresh: Vec<&Skill> = shown
            .skills
            .iter()
            .filter(is_body)
            .filter(|skill| is_new(&skill.name, &seen, &session.shown))
            .filter_map(of)
            .collect();
        let is_named = |skill: &&DisclosedSkill| skill.decision == Decision::Named;
        let is_left_out = |skill: &&DisclosedSkill| {
            let is_sure = shown.tier == Tier::Documentation && skill.decision == Decision::Omitted && !skill.is_weak();
            is_sure && is_left_out_by_name(&shown.turn, &skill.name)
        };
        let named: Vec<&Skill> = shown
            .skills
            .iter()
            .filter(|skill| is_named(skill) || is_left_out(skill))
            .filter_map(of)
            .filter(|skill| skill.is_for_models())
            .collect();
        let news: Vec<&Skill> =
            named.iter().copied().filter(|skill| !session.named.iter().any(|name| name == skill.name())).collect();
        let why = match (fresh.is_empty(), news.is_empty()) {
            (true, true) if shown.tier < Tier::Shortlist || shown.tier == Tier::Registry => "no skill fits the message",
            (true, true) => "all that fits is in this conversation already",
            (false, _) => "skills fit the message",
            (true, false) => "skills may fit the message",
        };
        match style {
            HookStyle::Name => {
                texts.extend((!fresh.is_empty()).then(|| self.words.names(&fresh, true)));
                texts.extend((fresh.is_empty() && !news.is_empty()).then(|| self.words.names(&news, false)));
            }
            HookStyle::Body if !fresh.is_empty() || (!news.is_empty() && shown.tier == Tier::Shortlist) => {
                let (held, open): (Vec<&Skill>, Vec<&Skill>) =
                    named.iter().partition(|skill| self.words.options.holds(skill));
                let files = if open.is_empty() { None } else { self.words.files(&open) };
                let caveat = (!held.is_empty()).then(|| ClientWords::caveat(&held));
                // The client's own tool loads nothing that the client does not list.
                let is_listed = open.iter().any(|skill| self.adapter.lists(skill));
                let turn = if is_listed { shown.turn.clone() } else { self.words.without_tool(&shown.turn) };
                let lines = [Some(turn), files, caveat];
                texts.push(lines.into_iter().flatten().collect::<Vec<_>>().join("\n"));
            }
            HookStyle::Body => {}
        }
        if !texts.is_empty() {
            session.name(named.iter().map(|skill| skill.name()));
        }
        HookDecision {
            selection: Some(selection),
            disclosure: Some(shown),
            ..self.done(&texts, session, before, why.to_owned())
        }
    }

    /// Returns a decision with these texts. A session in which nothing but the number of its turns differs is not worth a
    /// file.
    fn done(&self, texts: &[String], session: HookSession, before: &HookSession, why: String) -> HookDecision {
        let has_changed = !texts.is_empty() || session.is_compacted != before.is_compacted;
        let answer = (!texts.is_empty()).then(|| self.answer(&texts.join("\n\n")));
        HookDecision { answer, session: Some(session), has_changed, why, ..HookDecision::default() }
    }

    /// Returns what was in use before the client compacted its context, to be shown again.
    fn again(&self, session: &mut HookSession, most: usize, style: HookStyle) -> Option<String> {
        session.compact();
        let catalog = self.skills.catalog();
        // Since a skill was shown or loaded, it may have been hidden or forbidden; or it never was for models.
        let is_shown = |address: &str| catalog.get(address).is_some_and(|skill| self.words.options.shows(skill));
        let gone = session.shown.remembered().filter(|known| !is_shown(&known.address));
        for name in gone.map(|known| known.name.clone()).collect::<Vec<_>>() {
            session.shown.unloaded(&name);
        }
        let shown = self.skills.rehydrate_characters(&mut session.shown, most);
        if style == HookStyle::Body {
            return Some(shown.text).filter(|text| !text.is_empty());
        }
        let skills: Vec<&Skill> = shown.skills.iter().filter_map(|skill| catalog.get(&skill.name)).collect();
        (!skills.is_empty()).then(|| self.words.names(&skills, true))
    }

    /// Lists the skills that the client does not list itself, once a session: a model does not use what it does not know of.
    fn start(&self, session: Option<HookSession>) -> HookDecision {
        let kept = |why: &str| HookDecision { session: session.clone(), ..HookDecision::nothing(why) };
        if !self.adapter.lists_at_start(self.words.options.has_tools) {
            return kept("the MCP server's instructions list the skills, or the client shows no answer to this event");
        }
        let catalog = self.skills.catalog();
        let is_missing =
            |skill: &&Skill| skill.is_for_models() && self.words.options.shows(skill) && !self.adapter.lists(skill);
        let missing: Vec<&Skill> = catalog.skills().filter(is_missing).collect();
        if missing.is_empty() {
            return kept("the client lists all skills itself");
        }
        let text = self.words.list(&missing);
        let digest = Digest::of(&text);
        let is_once = self.adapter.start_answer == StartAnswer::Kept;
        if is_once && session.as_ref().is_some_and(|session| session.list == Some(digest)) {
            return kept("the list of skills is in this conversation already");
        }
        HookDecision {
            answer: Some(self.answer(&text)),
            has_changed: is_once && session.is_some(),
            session: session.map(|session| HookSession { list: Some(digest), ..session }),
            why: "the client does not list these skills itself".to_owned(),
            ..HookDecision::default()
        }
    }

    fn start_compacted(&self, session: Option<HookSession>) -> HookDecision {
        let Some(before) = session else { return HookDecision::nothing("nothing is known of this session") };
        let mut most = MAX_CHARACTERS - MAX_FILES_LINE - 20;
        let mut style = self.style;
        loop {
            let mut session = HookSession { is_compacted: false, ..before.clone() };
            let text = self.again(&mut session, most, style);
            let why = if text.is_some() { "it was in use before the compaction" } else { "nothing was in use" };
            let texts: Vec<String> = text.into_iter().collect();
            let decision = self.done(&texts, session, &before, why.to_owned());
            match &decision.answer {
                Some(answer) if !self.fits(&answer.text) => match style {
                    HookStyle::Body => shrink(&mut most, &mut style),
                    HookStyle::Name => {
                        let nothing = HookDecision::nothing("what was in use is too long; the next message shows it");
                        return nothing.changed(HookSession { is_compacted: true, ..before });
                    }
                },
                _ => return self.with_list(HookDecision { has_changed: true, ..decision }),
            }
        }
    }

    /// Returns a decision after a compaction with the list of skills, which has gone with the rest, if both fit.
    fn with_list(&self, decision: HookDecision) -> HookDecision {
        let start = self.start(decision.session.clone());
        let Some(list) = start.answer else { return decision };
        let texts = [decision.answer.as_ref().map(|answer| &*answer.text), Some(&*list.text)];
        let text = texts.into_iter().flatten().collect::<Vec<_>>().join("\n\n");
        if !self.fits(&text) {
            return decision;
        }
        HookDecision { answer: Some(HookAnswer { text, ..list }), session: start.session, ..decision }
    }

    /// Names skills that fit because of a call of a tool.
    fn after_tool(
        &self,
        tool: &str,
        arguments: &Value,
        has_failed: bool,
        session: Option<HookSession>,
    ) -> HookDecision {
        let Some(mut session) = session else { return HookDecision::nothing("no session can be kept") };
        let before = session.clone();
        let is_ours = tool == "load_skill" || (tool.ends_with("load_skill") && tool.contains("skillcue"));
        if self.adapter.skill_tool == Some(tool) || is_ours {
            return match named_skill(arguments, self.skills) {
                Some(_) if has_failed => HookDecision::nothing("the skill could not be loaded"),
                Some(name) => {
                    self.record_load(&mut session, &name);
                    HookDecision::nothing(format!("the model has loaded {name}")).changed(session)
                }
                None => HookDecision::nothing("the model has loaded a skill of its own"),
            };
        }
        let mut since = TurnProgress::default().call(tool, arguments);
        if since == TurnProgress::default() {
            return HookDecision::nothing("the call has nothing that could fit a skill");
        }
        if let Some(cwd) = &self.input.cwd {
            let below = |path: &String| Path::new(path).strip_prefix(cwd).ok().map(|path| path.display().to_string());
            let below: Vec<String> = since.touched_paths().iter().filter_map(below).collect();
            since = since.touched(below);
        }
        let known = session.named.clone();
        let hits =
            self.skills.reselect(&Request::new("").mode(Mode::Hybrid).session(&mut session.shown), &since, &known);
        let catalog = self.skills.catalog();
        let found: Vec<_> = hits.iter().filter_map(|hit| Some((hit, catalog.get(&hit.name)?))).collect();
        if found.is_empty() {
            return HookDecision::nothing("no further skill fits the call");
        }
        session.name(found.iter().map(|(hit, _)| &*hit.name));
        let text = self.words.hint(&found);
        self.done(&[text], session, &before, "skills may fit the call".to_owned())
    }

    /// Returns the skill that a message calls with the client's own sign, if the client loads it itself.
    fn called(&self, prompt: &str) -> Option<String> {
        let rest = prompt.trim_start().strip_prefix(self.adapter.sigil?)?;
        let name = rest.split(char::is_whitespace).next()?;
        let catalog = self.skills.catalog();
        catalog.get(name).filter(|skill| self.adapter.lists(skill)).map(|skill| skill.name().to_owned())
    }

    /// Records that the client has loaded a skill. One that models are not shown is not remembered: it would be shown again
    /// after a compaction.
    fn record_load(&self, session: &mut HookSession, name: &str) {
        let catalog = self.skills.catalog();
        let is_shown = catalog.get(name).is_some_and(|skill| self.words.options.shows(skill));
        if is_shown && let Ok(loaded) = self.skills.load(name, &LoadRequest::default()) {
            session.shown.record_load(name, &loaded.content);
        }
        session.name([name]);
    }
}

/// Makes the next answer smaller: bytes are more than characters in most scripts, and some lines are not counted.
fn shrink(most: &mut usize, style: &mut HookStyle) {
    if *most < MIN_CHARACTERS { *style = HookStyle::Name } else { *most = *most * 2 / 3 }
}

/// Returns the skill for models that the arguments of a tool name, if there is one of that name.
fn named_skill(arguments: &Value, skills: &Skillcue) -> Option<String> {
    let catalog = skills.catalog();
    let said = ["skill_id", "skill", "name"].into_iter().find_map(|key| arguments.get(key)?.as_str())?;
    catalog.get(said).filter(|skill| skill.is_for_models()).map(|skill| skill.name().to_owned())
}

/// Returns whether the line about skills that matched and are not shown names a skill. A word of a body may be a skill's name by
/// chance.
fn is_left_out_by_name(turn: &str, name: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | ':');
    let line = turn.lines().rev().find(|line| line.starts_with("Matching, "));
    line.is_some_and(|line| line.split(|c| !is_part(c)).any(|word| word == name))
}

/// Returns whether a session has been shown a text of a skill that it did not have before.
fn is_new(name: &str, before: &Session, after: &Session) -> bool {
    let find = |session: &'_ Session| {
        let known = session.remembered().find(|known| known.in_context && known.name == name);
        known.map(|known| (known.digest, known.parts.clone()))
    };
    find(before) != find(after)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_of_a_body_is_no_name() {
        let turn = "### lint\n\nMatching, too\nFix the errors.\n\nMatching, too, but not shown: a-b, web:c and 2 more. Read it.";
        assert!(is_left_out_by_name(turn, "a-b") && is_left_out_by_name(turn, "web:c"));
        assert!(!["errors", "a", "c"].into_iter().any(|name| is_left_out_by_name(turn, name)));
    }
}
