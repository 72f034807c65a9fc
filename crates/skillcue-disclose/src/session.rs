//! The record of what one conversation has been shown.

mod rehydrate;

pub use rehydrate::{RehydratedSkill, Rehydration};

use std::fmt;
use std::ops::Range;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use skillcue_catalog::{Catalog, Skill};
use skillcue_format::Tokens;
use twox_hash::XxHash3_128;

use crate::report::ShownText;
use crate::{Disclosure, Segment, TokenCounter as _};

/// The number of skills that a session remembers. The oldest are forgotten first.
pub const MAX_REMEMBERED: usize = 1000;

/// The number of texts of one skill, with other arguments each, that are remembered.
const MAX_FORMS: usize = 8;

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
    /// The texts in context, by the arguments that they were shown with. Empty if there is one, with `arguments`, and
    /// for sessions that were written before this was remembered.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub forms: Vec<ShownForm>,
    /// The reason why it is no longer in context; none if it is, and for sessions that were written before this was
    /// remembered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left: Option<LeaveReason>,
}

/// The reason why a skill is no longer in context.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum LeaveReason {
    /// The model or the user has unloaded it.
    Unloaded,
    /// Its lifecycle has ended.
    Expired,
    /// The host has dropped its text to make room. Rehydration shows it again.
    Evicted,
}

impl LeaveReason {
    /// Returns the reason as one word.
    pub fn as_str(self) -> &'static str {
        match self {
            LeaveReason::Unloaded => "unloaded",
            LeaveReason::Expired => "expired",
            LeaveReason::Evicted => "evicted",
        }
    }
}

/// A skill's text in context, with its arguments put in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShownForm {
    /// A digest of the arguments.
    #[serde(with = "hex")]
    pub arguments: u128,
    /// The ranges that were shown, in bytes of the text without arguments.
    pub parts: Vec<Range<usize>>,
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
                self.remember(&skill.name, shown_text, Inclusion::Injected, None);
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
        self.record_part(name, arguments, content, 0..content.len());
    }

    /// Like [`record_load_with`](Session::record_load_with), for a load of a part of `content`: of a section.
    ///
    /// ```
    /// use skillcue_disclose::Session;
    ///
    /// let mut session = Session::default();
    /// let content = "# Read\n\nUse it.\n\n# Write\n\nDo not.\n";
    /// session.record_part("pdf", "", content, 0..16);
    /// assert!(session.shows("pdf", "", content, 0..16));
    /// assert!(!session.shows("pdf", "", content, 0..content.len()) && !session.shows("pdf", "a.pdf", content, 0..16));
    /// ```
    pub fn record_part(&mut self, name: &str, arguments: &str, content: &str, part: Range<usize>) {
        let bare = name.split_once(':').map_or(name, |(_, bare)| bare);
        let bare = bare.split_once(['@', '#']).map_or(bare, |(bare, _)| bare);
        let arguments = remembered_arguments(arguments);
        let tokens = Segment.count(content.get(part.clone()).unwrap_or(content));
        let known = self.in_context(name).filter(|known| known.digest == digest(content));
        let parts = known.iter().flat_map(|known| known.parts.iter().cloned()).chain([part.clone()]).collect();
        let shown_text = ShownText::of(name.to_owned(), content, parts, tokens);
        self.remember(bare, &shown_text, Inclusion::Loaded, Some((&arguments, part)));
    }

    /// Records that a skill was used whose text is in context.
    pub fn record_use(&mut self, name: &str) {
        if let Some(at) = self.skills.iter().position(|skill| skill.address == name) {
            let mut used = self.skills.remove(at);
            used.turn = self.turn;
            self.skills.push(used);
        }
    }

    /// Returns whether a part of a skill's text is in context, with these arguments. `content` is the whole text without
    /// them, as it is now: a text that has changed since is not in context.
    pub fn shows(&self, address: &str, arguments: &str, content: &str, part: Range<usize>) -> bool {
        // The blank lines after a section may be missing.
        let text = content.get(part.clone()).unwrap_or_default();
        let end = part.start + text.trim_end().len();
        let covers = |shown: &Range<usize>| shown.start <= part.start && end <= shown.end;
        self.parts_shown(address, arguments, content).iter().any(covers)
    }

    /// Returns the ranges of a skill's text that are in context, with these arguments. `content` is the whole text without
    /// them, as it is now: of a text that has changed since, none are.
    ///
    /// ```
    /// use skillcue_disclose::Session;
    ///
    /// let mut session = Session::default();
    /// session.record_part("pdf", "", "# Read\n\nUse it.\n", 0..8);
    /// assert_eq!(session.parts_shown("pdf", "", "# Read\n\nUse it.\n"), [0..8]);
    /// ```
    pub fn parts_shown(&self, address: &str, arguments: &str, content: &str) -> Vec<Range<usize>> {
        let known = self.in_context(address).filter(|known| known.digest == digest(content));
        let arguments = digest(&remembered_arguments(arguments));
        let forms = known.map(SessionSkill::forms_in_context).unwrap_or_default();
        forms.into_iter().filter(|form| form.arguments == arguments).flat_map(|form| form.parts).collect()
    }

    /// Records that the host has dropped the texts of these skills from its context. They are still remembered, and can
    /// be shown again.
    ///
    /// ```
    /// use skillcue_disclose::Session;
    ///
    /// let mut session = Session::default();
    /// session.record_load("pdf", "# How");
    /// session.evicted(["pdf"]);
    /// assert!(!session.shows("pdf", "", "# How", 0..5));
    /// ```
    pub fn evicted<'n>(&mut self, names: impl IntoIterator<Item = &'n str>) {
        for name in names {
            let is_named = |skill: &&mut SessionSkill| skill.address == name || skill.name == name;
            self.skills.iter_mut().filter(is_named).for_each(|skill| skill.leave(LeaveReason::Evicted));
        }
    }

    /// Records that a skill was unloaded. It can be shown again, but rehydration does not bring it back.
    ///
    /// ```
    /// use skillcue_disclose::{LeaveReason, Session};
    ///
    /// let mut session = Session::default();
    /// session.record_load("pdf", "# How");
    /// session.unloaded("pdf");
    /// assert_eq!(session.remembered().next().and_then(|skill| skill.left), Some(LeaveReason::Unloaded));
    /// ```
    pub fn unloaded(&mut self, name: &str) {
        let is_named = |skill: &&mut SessionSkill| skill.address == name || skill.name == name;
        self.skills.iter_mut().filter(is_named).for_each(|skill| skill.leave(LeaveReason::Unloaded));
    }

    /// Records that a turn begins which nothing is disclosed for.
    pub fn begin_turn(&mut self) {
        self.turn = self.turn.saturating_add(1);
    }

    /// Records, at the end of a turn, that the skills have left whose lifecycle has ended, and returns their addresses.
    /// For a host that takes their texts out of its context.
    pub fn expire(&mut self, catalog: &Catalog) -> Vec<String> {
        let turn = self.turn;
        let mut gone = Vec::new();
        for skill in self.skills.iter_mut().filter(|skill| skill.in_context) {
            let lifecycle = catalog.get(&skill.address).map(|known| known.manifest().lifecycle()).unwrap_or_default();
            let ended = turn.saturating_sub(skill.turn).saturating_add(1);
            if lifecycle.turns().is_some_and(|turns| ended >= u64::from(turns)) {
                skill.leave(LeaveReason::Expired);
                gone.push(skill.address.clone());
            }
        }
        gone
    }

    /// Records that the host dropped its context: nothing is in it any more. The skills are still remembered.
    pub fn compacted(&mut self) {
        self.skills.iter_mut().for_each(|skill| skill.leave(LeaveReason::Evicted));
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

    /// Remembers a text that was shown; `load` has the arguments and the part, if it was loaded.
    fn remember(&mut self, name: &str, shown_text: &ShownText, how: Inclusion, load: Option<(&str, Range<usize>)>) {
        let place = self.skills.iter().position(|skill| skill.address == shown_text.address);
        let before = place.map(|at| self.skills.remove(at));
        let kept = before.as_ref().filter(|before| before.in_context && before.digest == shown_text.digest);
        let mut forms = kept.map(SessionSkill::forms_in_context).unwrap_or_default();
        let (arguments, shown) = match &load {
            Some((arguments, part)) => (*arguments, vec![part.clone()]),
            // A disclosure has no arguments. It says all parts that are in context; those with arguments count, too.
            None => ("", shown_text.parts.clone()),
        };
        if !shown_text.reference {
            let arguments = digest(arguments);
            let known = forms.iter().position(|form| form.arguments == arguments).map(|at| forms.remove(at));
            let known = known.map(|form| form.parts).unwrap_or_default();
            let parts = if load.is_some() { joined(known.into_iter().chain(shown).collect()) } else { shown };
            forms.push(ShownForm { arguments, parts });
            forms.drain(..forms.len().saturating_sub(MAX_FORMS));
        }
        let last = before.as_ref().map(|before| before.arguments.clone()).unwrap_or_default();
        let arguments = load.map_or(last, |(arguments, _)| arguments.to_owned());
        if matches!(&forms[..], [form] if form.arguments == digest(&arguments) && form.parts == shown_text.parts) {
            forms.clear();
        }
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
            arguments,
            forms,
            left: None,
        });
        let beyond = self.skills.len().saturating_sub(MAX_REMEMBERED);
        self.skills.drain(..beyond);
    }
}

impl SessionSkill {
    /// Returns the texts in context, by their arguments.
    fn forms_in_context(&self) -> Vec<ShownForm> {
        if !self.in_context || !self.forms.is_empty() {
            return self.forms.clone();
        }
        // A session that was written before parts were remembered has the whole text, or does not say which part.
        let whole = || std::iter::once(0..self.shown).filter(|_| !self.shortened).collect();
        let parts = if self.parts.is_empty() { whole() } else { self.parts.clone() };
        vec![ShownForm { arguments: digest(&self.arguments), parts }]
    }

    /// Records that it is no longer in context, if it was.
    fn leave(&mut self, reason: LeaveReason) {
        // One that the host has dropped can be unloaded, too.
        if self.in_context || (reason == LeaveReason::Unloaded && self.left != Some(LeaveReason::Expired)) {
            self.left = Some(reason);
        }
        self.in_context = false;
        self.forms.clear();
    }
}

/// Returns arguments as they are remembered.
fn remembered_arguments(arguments: &str) -> String {
    let end = arguments.floor_char_boundary(MAX_ARGUMENTS);
    let mark = if end < arguments.len() { "…" } else { "" };
    format!("{}{mark}", &arguments[..end])
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
