//! The records of a session's file.

use std::path::PathBuf;
use std::time::SystemTime;

use serde::{Deserialize, Serialize};
use skillcue::Session;

use crate::Message;
use crate::trace::written;
use skillcue_base::whole_millis;

/// The version of the files' form.
pub(super) const VERSION: u64 = 1;

/// The longest line. What a tool returns has limits far below.
pub(super) const MAX_LINE: usize = 64 << 20;

/// The facts of a session that are known when it begins.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct About {
    /// The model that is asked; empty if it is no longer known.
    pub model: String,
    /// The directory in which it was begun.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<PathBuf>,
    /// When it was begun, to the millisecond.
    #[serde(with = "written")]
    pub created: SystemTime,
}

impl About {
    /// Returns it as it will be when it is read again.
    pub(super) fn normalised(self) -> About {
        let cwd = self.cwd.map(|cwd| PathBuf::from(cwd.to_string_lossy().into_owned()));
        About { cwd, created: whole_millis(self.created), ..self }
    }
}

/// The first line of a file.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct SessionHeader {
    pub(super) version: u64,
    /// For people: what counts is the file's name.
    pub(super) id: String,
    #[serde(flatten)]
    pub(super) about: About,
}

/// A record of a session, a line each.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum SessionRecord {
    /// A message.
    Message {
        /// The message.
        message: Message,
    },
    /// The end of a turn. All messages until here are on the disk when this has been appended.
    Turn {
        /// Its number, from 1 on.
        number: u64,
        /// The skills that the conversation has been shown.
        skills: Session,
        /// The skills whose tools are offered.
        loaded: Vec<String>,
        /// Whether it ended without an answer.
        interrupted: bool,
    },
    /// The conversation became shorter.
    Compacted {
        /// All of it, from here on.
        messages: Vec<Message>,
        /// The skills that it shows now.
        skills: Session,
        /// The summary of the messages that went.
        summary: String,
    },
}

/// The words that records begin with.
pub(super) const KINDS: [&str; 3] = ["message", "turn", "compacted"];

/// A session as far as it has come.
#[derive(Debug, Clone, PartialEq)]
pub struct SavedSession {
    /// Its id.
    pub id: String,
    /// How it began.
    pub about: About,
    /// The conversation: it begins with the user, and ends with an answer.
    pub messages: Vec<Message>,
    /// The skills that it has been shown.
    pub skills: Session,
    /// The skills whose tools are offered.
    pub loaded: Vec<String>,
    /// How many turns there were.
    pub turns: u64,
    /// The repairs after a crash, in sentences.
    pub repaired: Vec<String>,
}

impl SavedSession {
    /// Returns how many turns of the conversation are no longer in `messages`, and their summary; nothing, if
    /// all of them are.
    pub fn earlier(&self) -> Option<(u64, String)> {
        let left = self.messages.iter().filter(|message| matches!(message, Message::User { .. })).count() as u64;
        let summary = crate::agent::earlier(&self.messages)?;
        Some((self.turns.saturating_sub(left), summary))
    }
}
