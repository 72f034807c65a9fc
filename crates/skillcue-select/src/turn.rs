//! [`Turn`]: the message that skills are selected for, and its files.

use serde::{Deserialize, Serialize};

/// A turn of a conversation: the message, and the other inputs of matching.
///
/// ```
/// use skillcue_select::Turn;
///
/// let changed = vec![String::from("src/main.rs")];
/// let turn = Turn::new("fix the build").files(["Cargo.toml"]).languages(["rust"]).nearby(&changed);
/// assert_eq!(turn.message(), "fix the build");
/// ```
#[derive(Debug, Clone, Default)]
#[must_use = "a turn does nothing until it is matched"]
pub struct Turn<'a> {
    pub(crate) message: &'a str,
    pub(crate) earlier: Vec<String>,
    pub(crate) files: Vec<String>,
    pub(crate) languages: Vec<String>,
    pub(crate) nearby: Vec<String>,
    pub(crate) recent: Vec<String>,
}

impl<'a> Turn<'a> {
    /// Starts with the latest user message, and nothing else.
    pub fn new(message: &'a str) -> Turn<'a> {
        Turn { message, ..Turn::default() }
    }

    /// Returns the message.
    pub fn message(&self) -> &'a str {
        self.message
    }

    /// Adds earlier user messages, latest first. Their triggers count half as much as those of the message, then a
    /// quarter, and so on; those beyond the eighth count nothing, and mentions and intents in them never count.
    pub fn earlier(mut self, messages: impl IntoIterator<Item = impl AsRef<str>>) -> Turn<'a> {
        add(&mut self.earlier, messages);
        self
    }

    /// Adds texts that came after the message, latest first, such as the model's own words while it works. They count
    /// like [`earlier`](Turn::earlier) messages, and before those.
    pub fn since(mut self, texts: impl IntoIterator<Item = impl AsRef<str>>) -> Turn<'a> {
        self.earlier.splice(0..0, texts.into_iter().map(|text| text.as_ref().to_owned()));
        self
    }

    /// Adds paths of files that the turn is about. They match globs; [`languages_of`](crate::languages_of) names their
    /// languages.
    pub fn files(mut self, paths: impl IntoIterator<Item = impl AsRef<str>>) -> Turn<'a> {
        add(&mut self.files, paths);
        self
    }

    /// Adds programming languages that the turn is about.
    pub fn languages(mut self, names: impl IntoIterator<Item = impl AsRef<str>>) -> Turn<'a> {
        add(&mut self.languages, names);
        self
    }

    /// Adds paths of files that are merely nearby, such as those with uncommitted changes. They, and their languages,
    /// add to skills that match for another reason, and select none by themselves.
    pub fn nearby(mut self, paths: impl IntoIterator<Item = impl AsRef<str>>) -> Turn<'a> {
        add(&mut self.nearby, paths);
        self
    }

    /// Adds names of skills used in this session, most recent first. The first 64 count, and only between equals.
    pub fn recent(mut self, names: impl IntoIterator<Item = impl AsRef<str>>) -> Turn<'a> {
        let room = MAX_RECENT.saturating_sub(self.recent.len());
        add(&mut self.recent, names.into_iter().take(room));
        self
    }
}

impl Turn<'_> {
    /// Returns everything in the turn that matching depends on, as bytes that another turn has only if it is equal:
    /// a key for caches.
    ///
    /// ```
    /// use skillcue_select::Turn;
    ///
    /// let key = Turn::new("fix the build").files(["a", "b"]).key();
    /// assert_eq!(Turn::new("fix the build").files(["a"]).files(["b"]).key(), key);
    /// assert_ne!(Turn::new("fix the build").files(["a"]).nearby(["b"]).key(), key);
    /// assert_ne!(Turn::new("fix the build").files(["ab"]).key(), key);
    /// ```
    pub fn key(&self) -> Vec<u8> {
        let lists = [&self.earlier, &self.files, &self.languages, &self.nearby, &self.recent];
        let texts = lists.iter().copied().flatten().map(String::len).sum::<usize>() + self.message.len();
        let count = lists.iter().map(|list| list.len() + 1).sum::<usize>() + 1;
        let mut key = Vec::with_capacity(texts + count * size_of::<usize>());
        // Lengths and counts come first, so that no text and no list can pass for the beginning of another.
        let put = |key: &mut Vec<u8>, text: &str| {
            key.extend_from_slice(&text.len().to_le_bytes());
            key.extend_from_slice(text.as_bytes());
        };
        put(&mut key, self.message);
        for list in lists {
            key.extend_from_slice(&list.len().to_le_bytes());
            for text in list {
                put(&mut key, text);
            }
        }
        key
    }
}

/// How many names of used skills are kept.
pub(crate) const MAX_RECENT: usize = 64;

fn add(list: &mut Vec<String>, texts: impl IntoIterator<Item = impl AsRef<str>>) {
    list.extend(texts.into_iter().map(|text| text.as_ref().to_owned()));
}

/// The way in which skills are matched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// By mentions and triggers alone.
    Keyword,
    /// By text relevance, too; by meaning, where a sentence model is at hand.
    #[default]
    Hybrid,
    /// By text relevance and by meaning: a sentence model is required.
    Semantic,
}

impl Mode {
    /// The modes with their names.
    ///
    /// ```
    /// use skillcue_select::Mode;
    ///
    /// assert_eq!(Mode::NAMES.map(|(name, _)| name), ["keyword", "hybrid", "semantic"]);
    /// ```
    pub const NAMES: [(&str, Mode); 3] =
        [("keyword", Mode::Keyword), ("hybrid", Mode::Hybrid), ("semantic", Mode::Semantic)];
}

/// The options of a selection.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SelectOptions {
    /// The way in which skills are matched.
    pub mode: Mode,
    /// How many hits to return at most, best first. [`Selection::matched`](crate::Selection::matched) counts all.
    pub limit: usize,
}

impl Default for SelectOptions {
    fn default() -> Self {
        SelectOptions { mode: Mode::default(), limit: 32 }
    }
}
