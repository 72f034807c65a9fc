//! What a selection is made for.

use serde::{Deserialize, Serialize};

/// One turn of a conversation, as far as selection cares.
#[derive(Debug, Clone, Copy, Default)]
pub struct Turn<'a> {
    /// The latest user message.
    pub message: &'a str,
    /// Earlier user messages, latest first. Their triggers count half of what those of the message do, then a quarter,
    /// and so on; those beyond the eighth count nothing, and what they mention or ask for never does.
    pub earlier: &'a [&'a str],
    /// Paths of the files that the turn is about.
    pub files: &'a [&'a str],
    /// Programming languages that the turn is about.
    pub languages: &'a [&'a str],
    /// Paths of files that are merely at hand, such as those with uncommitted changes. They, and their languages, add to
    /// skills that anything else in the turn speaks for, and select none by themselves.
    pub nearby: &'a [&'a str],
    /// Names of skills used in this session, most recent first. The first 64 count, and only between equals.
    pub recent: &'a [&'a str],
}

impl<'a> Turn<'a> {
    /// A turn that is nothing but a message.
    pub fn new(message: &'a str) -> Turn<'a> {
        Turn { message, ..Turn::default() }
    }
}

/// How skills are matched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// By mentions and triggers alone.
    Keyword,
    /// By relevance of the text, too.
    #[default]
    Hybrid,
}

/// How to select.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SelectOptions {
    /// How skills are matched.
    pub mode: Mode,
    /// How many hits to return at most, best first. [`Selection::matched`](crate::Selection::matched) counts all.
    pub limit: usize,
}

impl Default for SelectOptions {
    fn default() -> Self {
        SelectOptions { mode: Mode::default(), limit: 32 }
    }
}
