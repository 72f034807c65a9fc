//! What one conversation has been shown.

use std::fmt;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use skillcue_catalog::{Catalog, Skill};
use skillcue_format::Tokens;
use twox_hash::XxHash3_128;

use crate::budget::{Purse, UNLOADABLE, loadable};
use crate::names::sentence;
use crate::report::Trace;
use crate::{Bodies, Budget, Decision, Disclosure, Segment, TokenCounter};

/// How many skills a session remembers. The oldest are forgotten first.
pub const MAX_REMEMBERED: usize = 1000;

/// How many bytes of a skill's arguments are remembered. What is longer is cut, with a mark: a body shows at most 2,000
/// tokens, arguments and all, unless somebody raises the budget.
const MAX_ARGUMENTS: usize = 16 << 10;

/// The form in which sessions are written down.
const VERSION: u32 = 1;

/// What one conversation has been shown and has used so far. A value like any other: many conversations have one each,
/// and nothing in it is shared or locked.
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
    skills: Vec<Remembered>,
}

/// A skill that a session remembers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Remembered {
    /// Its name.
    pub name: String,
    /// What [`Catalog::get`] finds it by.
    pub address: String,
    /// A digest of the whole text, even if only its beginning was shown.
    #[serde(with = "hex")]
    pub digest: u128,
    /// Whether it was cut.
    pub shortened: bool,
    /// How many bytes of it were shown. Sessions that were written before this was remembered have the digest of the
    /// cut text, which equals no whole text: what they were shown of it does not matter.
    #[serde(default)]
    pub shown: usize,
    /// The turn in which it was last used.
    pub turn: u64,
    /// What was shown of it costs this.
    pub tokens: Tokens,
    /// How it came into context.
    pub how: How,
    /// Whether it still is, as far as the session knows.
    pub in_context: bool,
    /// The arguments that it was last loaded with; empty if there were none, or if the session was written before they
    /// were remembered.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub arguments: String,
}

/// How a skill came into context.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum How {
    /// It was disclosed.
    Injected,
    /// The model or the user loaded it.
    Loaded,
    /// It was shown again after the host had dropped it.
    Rehydrated,
}

/// Why a session cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SessionError {
    /// Another version of this program wrote it.
    #[error("this session has version {0}, and only version {VERSION} is known here; a newer skillcue may read it")]
    Version(u32),
    /// It is not what a session looks like.
    #[error("this is no session: {0}")]
    Malformed(#[from] serde_json::Error),
}

/// What to show again after the host dropped its context.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Rehydration {
    /// The text. Empty, if there is nothing to show.
    pub text: String,
    /// What is in it, most recent first.
    pub skills: Vec<Rehydrated>,
    /// What is not, and why.
    pub omitted: Vec<(String, String)>,
    /// What the text costs.
    pub tokens: Tokens,
}

/// A skill that is shown again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Rehydrated {
    /// Its name.
    pub name: String,
    /// Whether all of it is shown.
    pub decision: Decision,
    /// What its text costs.
    pub tokens: Tokens,
}

impl Session {
    /// How many turns there were.
    pub fn turn(&self) -> u64 {
        self.turn
    }

    /// What it remembers, most recent first.
    pub fn remembered(&self) -> impl Iterator<Item = &Remembered> {
        self.skills.iter().rev()
    }

    /// The names of the skills that were used, most recent first: for [`Turn::recent`](skillcue_select::Turn::recent).
    pub fn recent(&self) -> impl Iterator<Item = &str> {
        self.remembered().map(|skill| skill.name.as_str())
    }

    /// Remembers what was disclosed, and that a turn is over.
    pub fn apply(&mut self, disclosure: &Disclosure) {
        // A session comes from a file, and a file may hold any number.
        self.turn = self.turn.saturating_add(1);
        // The best match is to be the most recent.
        for skill in disclosure.skills.iter().rev() {
            if let Some(trace) = &skill.trace {
                self.remember(&skill.name, trace, How::Injected);
            }
        }
    }

    /// Remembers that a skill was loaded. `name` is what it was loaded by, `content` what the load returned: the base
    /// directory and the body, without an envelope.
    pub fn record_load(&mut self, name: &str, content: &str) {
        self.record_load_with(name, "", content);
    }

    /// Like [`record_load`](Session::record_load), for a skill that was loaded with arguments. `content` is what the load
    /// returns without them: that is what a disclosure would have shown.
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
        let trace = Trace::of(name.to_owned(), content, content.len(), Segment.count(content));
        self.remember(bare, &trace, How::Loaded);
        if let Some(loaded) = self.skills.last_mut() {
            let end = arguments.floor_char_boundary(MAX_ARGUMENTS);
            let mark = if end < arguments.len() { "…" } else { "" };
            loaded.arguments = format!("{}{mark}", &arguments[..end]);
        }
    }

    /// The host dropped its context: nothing is in it any more. What was used is still remembered.
    pub fn compacted(&mut self) {
        self.skills.iter_mut().for_each(|skill| skill.in_context = false);
    }

    /// What must be shown again after the host dropped its context, most recent first, each with the arguments that it was
    /// loaded with; and remembers that it was.
    ///
    /// The budget covers bodies, cut markers and headings. A last line of at most 60 tokens names what did not fit.
    pub fn rehydrate(
        &mut self,
        budget: Budget,
        catalog: &Catalog,
        bodies: &dyn Bodies,
        counter: &dyn TokenCounter,
    ) -> Rehydration {
        self.compacted();
        let mut purse = Purse::new(&budget, counter);
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
            let rest = if skill.is_for_models() { loadable(skill.name()) } else { UNLOADABLE.to_owned() };
            let share = purse.serve(0, &rest, &shown);
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
            remembered.shortened = share.decision == Decision::Shortened;
            remembered.tokens = share.tokens;
            remembered.how = How::Rehydrated;
            remembered.in_context = true;
            let (name, decision, tokens) = (remembered.name.clone(), share.decision, share.tokens);
            skills.push(Rehydrated { name, decision, tokens });
        }
        if !unnamed.is_empty() {
            let say = |list: &str| format!("\nUsed before, not shown again: {list}. load_skill gives one by its id.");
            text.push_str(&sentence(&unnamed, unnamed.len(), Some(Tokens(60)), counter, say));
        }
        let text = text.trim_matches('\n').to_owned();
        let tokens = counter.count(&text);
        Rehydration { text, skills, omitted, tokens }
    }

    /// Whether exactly this text of a skill was in context at some time.
    pub fn has_seen(&self, skill: &Skill, text: &str) -> bool {
        let (address, digest) = (skill.id(), digest(text));
        self.skills.iter().any(|known| known.address == address && known.digest == digest)
    }

    /// The session as JSON.
    pub fn to_json(&self) -> String {
        // Nothing in it can fail to be written.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// A session from its JSON.
    pub fn from_json(json: &str) -> Result<Session, SessionError> {
        #[derive(Deserialize)]
        struct Versioned {
            version: u32,
        }
        match serde_json::from_str::<Versioned>(json)?.version {
            VERSION => Ok(serde_json::from_str(json)?),
            other => Err(SessionError::Version(other)),
        }
    }

    /// What is in context of the skill with that address.
    pub(crate) fn in_context(&self, address: &str) -> Option<&Remembered> {
        self.skills.iter().rev().find(|skill| skill.in_context && skill.address == address)
    }

    fn remember(&mut self, name: &str, trace: &Trace, how: How) {
        let place = self.skills.iter().position(|skill| skill.address == trace.address);
        let before = place.map(|at| self.skills.remove(at));
        self.skills.push(Remembered {
            name: name.to_owned(),
            address: trace.address.clone(),
            digest: trace.digest,
            shortened: trace.shortened,
            shown: trace.shown,
            turn: self.turn,
            tokens: trace.tokens,
            how: before.as_ref().filter(|_| trace.reference).map_or(how, |before| before.how),
            in_context: true,
            arguments: before.map(|before| before.arguments).unwrap_or_default(),
        });
        let beyond = self.skills.len().saturating_sub(MAX_REMEMBERED);
        self.skills.drain(..beyond);
    }
}

impl Trace {
    /// Of a text, of which that many bytes were shown.
    pub(crate) fn of(address: String, text: &str, shown: usize, tokens: Tokens) -> Trace {
        Trace { address, digest: digest(text), shortened: shown < text.len(), shown, tokens, reference: false }
    }
}

pub(crate) fn digest(text: &str) -> u128 {
    XxHash3_128::oneshot(text.as_bytes())
}

/// The session's form in JSON.
#[derive(Serialize, Deserialize)]
struct Written<S> {
    version: u32,
    turn: u64,
    skills: S,
}

impl Serialize for Session {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Written { version: VERSION, turn: self.turn, skills: &self.skills }.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Session {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Session, D::Error> {
        let Written { version, turn, mut skills } = Written::<Vec<Remembered>>::deserialize(deserializer)?;
        if version != VERSION {
            return Err(D::Error::custom(SessionError::Version(version)));
        }
        skills.drain(..skills.len().saturating_sub(MAX_REMEMBERED));
        Ok(Session { turn, skills })
    }
}

impl fmt::Display for How {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            How::Injected => "injected",
            How::Loaded => "loaded",
            How::Rehydrated => "rehydrated",
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
