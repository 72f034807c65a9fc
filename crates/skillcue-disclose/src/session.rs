//! The record of what one conversation has been shown.

use std::fmt;
use std::ops::Range;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use skillcue_catalog::{Catalog, Skill};
use skillcue_format::Tokens;
use twox_hash::XxHash3_128;

use crate::budget::{RemainingBudget, UNLOADABLE_REST, loadable_part, loadable_rest};
use crate::names::sentence;
use crate::parts::PartsWish;
use crate::report::ShownText;
use crate::{BodySource, Budget, Decision, Disclosure, Segment, TokenCounter};

/// The number of skills that a session remembers. The oldest are forgotten first.
pub const MAX_REMEMBERED: usize = 1000;

/// The number of bytes of a skill's arguments that are remembered. Longer ones are cut, with a mark: a body shows at
/// most 2,000 tokens, arguments and all, unless the user raises the budget.
const MAX_ARGUMENTS: usize = 16 << 10;

/// The version of a session's JSON.
const VERSION: u32 = 1;

/// A record of what one conversation has been shown and has used so far. A plain value: many conversations have one
/// each, and nothing in it is shared or locked.
///
/// ```
/// use skillcue_disclose::Session;
///
/// let mut session = Session::default();
/// session.record_load("pdf", "Base directory for this skill: /skills/pdf\n\n# How");
/// session.record_load("csv", "Base directory for this skill: /skills/csv\n\n# How");
/// assert_eq!(session.recent().collect::<Vec<_>>(), ["csv", "pdf"]);
///
/// let json = session.to_json();
/// assert_eq!(Session::from_json(&json)?, session);
/// # Ok::<(), skillcue_disclose::SessionError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Session {
    turn: u64,
    /// Least recent first.
    skills: Vec<SessionSkill>,
}

/// A skill that a session remembers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionSkill {
    /// The skill's name.
    pub name: String,
    /// The address by which [`Catalog::get`] finds it.
    pub address: String,
    /// A digest of the whole text, even if only its beginning was shown.
    #[serde(with = "hex")]
    pub digest: u128,
    /// Whether the text was cut.
    pub shortened: bool,
    /// The number of bytes of the text that were shown. Sessions that were written before this was remembered have the
    /// digest of the cut text, which equals no whole text: for them the number does not matter.
    #[serde(default)]
    pub shown: usize,
    /// The ranges of the text that were shown, in bytes. Empty for sessions that were written before this was
    /// remembered: then it is the beginning.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<Range<usize>>,
    /// The turn in which it was last used.
    pub turn: u64,
    /// The cost of what was shown.
    pub tokens: Tokens,
    /// The way in which it came into context.
    pub how: Inclusion,
    /// Whether it is still in context, as far as the session knows.
    pub in_context: bool,
    /// The arguments that it was last loaded with; empty if there were none, or if the session was written before they
    /// were remembered.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub arguments: String,
}

/// The way in which a skill came into context.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Inclusion {
    /// A disclosure showed it.
    Injected,
    /// The model or the user loaded it.
    Loaded,
    /// A rehydration showed it again, after the host had dropped its context.
    Rehydrated,
}

/// The reason why a session cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SessionError {
    /// Another version of this program wrote it.
    #[error("this session has version {0}, and only version {VERSION} is known here; a newer skillcue may read it")]
    Version(u32),
    /// The text is not a session.
    #[error("this is no session: {0}")]
    Malformed(#[from] serde_json::Error),
}

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
    /// Returns the number of turns so far.
    pub fn turn(&self) -> u64 {
        self.turn
    }

    /// Returns the skills that it remembers, most recent first.
    pub fn remembered(&self) -> impl Iterator<Item = &SessionSkill> {
        self.skills.iter().rev()
    }

    /// Returns the names of the skills that were used, most recent first: for
    /// [`Turn::recent`](skillcue_select::Turn::recent).
    pub fn recent(&self) -> impl Iterator<Item = &str> {
        self.remembered().map(|skill| skill.name.as_str())
    }

    /// Records a disclosure, and that a turn is over.
    pub fn apply(&mut self, disclosure: &Disclosure) {
        // A session comes from a file, and a file may hold any number.
        self.turn = self.turn.saturating_add(1);
        // The best match is to be the most recent.
        for skill in disclosure.skills.iter().rev() {
            if let Some(shown_text) = &skill.shown_text {
                self.remember(&skill.name, shown_text, Inclusion::Injected);
            }
        }
    }

    /// Records that a skill was loaded. `name` is what it was loaded by, `content` what the load returned: the base
    /// directory and the body, without an envelope.
    pub fn record_load(&mut self, name: &str, content: &str) {
        self.record_load_with(name, "", content);
    }

    /// Like [`record_load`](Session::record_load), for a skill that was loaded with arguments. `content` is what the
    /// load returns without them: that is what a disclosure would have shown.
    ///
    /// ```
    /// use skillcue_disclose::Session;
    ///
    /// let mut session = Session::default();
    /// session.record_load_with("pdf", "report.pdf", "Base directory for this skill: /skills/pdf\n\nRead $ARGUMENTS.");
    /// assert_eq!(session.remembered().next().map(|skill| skill.arguments.as_str()), Some("report.pdf"));
    /// ```
    pub fn record_load_with(&mut self, name: &str, arguments: &str, content: &str) {
        let bare = name.split_once(':').map_or(name, |(_, bare)| bare);
        let bare = bare.split_once(['@', '#']).map_or(bare, |(bare, _)| bare);
        let all = std::iter::once(0..content.len()).collect();
        let shown_text = ShownText::of(name.to_owned(), content, all, Segment.count(content));
        self.remember(bare, &shown_text, Inclusion::Loaded);
        if let Some(loaded) = self.skills.last_mut() {
            let end = arguments.floor_char_boundary(MAX_ARGUMENTS);
            let mark = if end < arguments.len() { "…" } else { "" };
            loaded.arguments = format!("{}{mark}", &arguments[..end]);
        }
    }

    /// Records that the host dropped its context: nothing is in it any more. The skills are still remembered.
    pub fn compacted(&mut self) {
        self.skills.iter_mut().for_each(|skill| skill.in_context = false);
    }

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
        let mut purse = RemainingBudget::new(&budget, counter);
        let (mut text, mut skills, mut omitted, mut unnamed) = (String::new(), Vec::new(), Vec::new(), Vec::new());
        for remembered in self.skills.iter_mut().rev() {
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
            let body = match bodies.body(skill) {
                Ok(body) => body,
                Err(why) => {
                    leave(format!("it cannot be read: {why}"));
                    continue;
                }
            };
            let shown = match remembered.arguments.as_str() {
                "" => Ok(body.clone()),
                arguments => bodies.body_with(skill, arguments),
            };
            let shown = match shown {
                Ok(shown) => shown,
                Err(why) => {
                    leave(format!("it cannot be read: {why}"));
                    continue;
                }
            };
            let heading = format!("\n### {}\n\n", skill.name());
            let before = purse.clone();
            purse.charge(counter.count(&heading));
            let rest = if skill.is_for_models() { loadable_rest(skill.name()) } else { UNLOADABLE_REST.to_owned() };
            let part = if skill.is_for_models() { loadable_part(skill.name()) } else { UNLOADABLE_REST.to_owned() };
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
            let (name, decision, tokens) = (remembered.name.clone(), share.decision, share.tokens);
            skills.push(RehydratedSkill { name, decision, tokens });
        }
        if !unnamed.is_empty() {
            let say = |list: &str| format!("\nUsed before, not shown again: {list}. load_skill gives one by its id.");
            text.push_str(&sentence(&unnamed, unnamed.len(), Some(Tokens(60)), counter, say));
        }
        let text = text.trim_matches('\n').to_owned();
        let tokens = counter.count(&text);
        Rehydration { text, skills, omitted, tokens }
    }

    /// Returns whether exactly this text of a skill was in context at some time.
    pub fn has_seen(&self, skill: &Skill, text: &str) -> bool {
        let (address, digest) = (skill.id(), digest(text));
        self.skills.iter().any(|known| known.address == address && known.digest == digest)
    }

    /// Returns the session as JSON.
    pub fn to_json(&self) -> String {
        // Nothing in it can fail to be written.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Reads a session from its JSON.
    pub fn from_json(json: &str) -> Result<Session, SessionError> {
        #[derive(Deserialize)]
        struct SessionVersion {
            version: u32,
        }
        match serde_json::from_str::<SessionVersion>(json)?.version {
            VERSION => Ok(serde_json::from_str(json)?),
            other => Err(SessionError::Version(other)),
        }
    }

    /// Returns the record of the skill with that address, if it is in context.
    pub(crate) fn in_context(&self, address: &str) -> Option<&SessionSkill> {
        self.skills.iter().rev().find(|skill| skill.in_context && skill.address == address)
    }

    fn remember(&mut self, name: &str, shown_text: &ShownText, how: Inclusion) {
        let place = self.skills.iter().position(|skill| skill.address == shown_text.address);
        let before = place.map(|at| self.skills.remove(at));
        self.skills.push(SessionSkill {
            name: name.to_owned(),
            address: shown_text.address.clone(),
            digest: shown_text.digest,
            shortened: shown_text.shortened,
            shown: shown_text.shown,
            parts: shown_text.parts.clone(),
            turn: self.turn,
            tokens: shown_text.tokens,
            how: before.as_ref().filter(|_| shown_text.reference).map_or(how, |before| before.how),
            in_context: true,
            arguments: before.map(|before| before.arguments).unwrap_or_default(),
        });
        let beyond = self.skills.len().saturating_sub(MAX_REMEMBERED);
        self.skills.drain(..beyond);
    }
}

impl ShownText {
    /// Makes one for a text of which some ranges were shown.
    pub(crate) fn of(address: String, text: &str, parts: Vec<Range<usize>>, tokens: Tokens) -> ShownText {
        let parts = joined(parts);
        let shown = parts.iter().map(ExactSizeIterator::len).sum();
        let shortened = shown < text.len();
        ShownText { address, digest: digest(text), shortened, shown, parts, tokens, reference: false }
    }
}

/// Returns ranges in their order, those that touch as one.
fn joined(mut parts: Vec<Range<usize>>) -> Vec<Range<usize>> {
    parts.sort_by_key(|part| part.start);
    let mut joined: Vec<Range<usize>> = Vec::with_capacity(parts.len());
    for part in parts {
        match joined.last_mut() {
            Some(last) if part.start <= last.end => last.end = last.end.max(part.end),
            _ => joined.push(part),
        }
    }
    joined
}

pub(crate) fn digest(text: &str) -> u128 {
    XxHash3_128::oneshot(text.as_bytes())
}

/// The session's form in JSON.
#[derive(Serialize, Deserialize)]
struct SessionJson<S> {
    version: u32,
    turn: u64,
    skills: S,
}

impl Serialize for Session {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        SessionJson { version: VERSION, turn: self.turn, skills: &self.skills }.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Session {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Session, D::Error> {
        let SessionJson { version, turn, mut skills } = SessionJson::<Vec<SessionSkill>>::deserialize(deserializer)?;
        if version != VERSION {
            return Err(D::Error::custom(SessionError::Version(version)));
        }
        skills.drain(..skills.len().saturating_sub(MAX_REMEMBERED));
        Ok(Session { turn, skills })
    }
}

impl fmt::Display for Inclusion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Inclusion::Injected => "injected",
            Inclusion::Loaded => "loaded",
            Inclusion::Rehydrated => "rehydrated",
        })
    }
}

/// A digest as text: JSON has no numbers of 128 bits.
mod hex {
    use serde::de::Error as _;
    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(digest: &u128, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&format!("{digest:032x}"))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u128, D::Error> {
        u128::from_str_radix(&String::deserialize(deserializer)?, 16).map_err(D::Error::custom)
    }
}
