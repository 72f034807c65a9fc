//! Selections: the hits for a message, and their reasons.

use std::ops::Range;

use serde::Serialize;
use skillcue_base::visible;

use crate::Intent;

/// The skills that fit one message.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Selection {
    /// The intent of the message.
    pub intent: Intent,
    /// The best hits, in the order of their rank.
    pub hits: Vec<Hit>,
    /// How many skills matched in all, including those beyond the limit. Of those that match only by their texts, no
    /// more are counted than the search returned.
    pub matched: usize,
}

/// A skill that fits.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Hit {
    /// Its position in [`Catalog::all`](skillcue_catalog::Catalog::all).
    #[serde(skip)]
    pub skill: usize,
    /// Its name.
    pub name: String,
    /// The sum of its reasons' scores. Comparable within one selection only.
    pub score: f32,
    /// How likely it is to fit, from 0 to 1, whatever other skills there are.
    pub confidence: f32,
    /// How likely it is to be the one that the message needs, from 0 to 1: lower than confidence where other skills fit
    /// nearly as well. Hits rank by it, and it decides whether text relevance counts as a match.
    pub certainty: f32,
    /// Whether the message names the skill, and how.
    pub mention: Option<Mention>,
    /// The reasons for it, strongest first.
    pub reasons: Vec<Reason>,
}

impl Hit {
    /// Returns whether it counts as a match: a trigger or a mention always does, text relevance only from the certainty
    /// `least` on; nearby files and recent use never do.
    pub fn is_sure(&self, least: f32) -> bool {
        !self.is_by_text_alone() || self.certainty >= least
    }

    /// Returns whether it has neither a trigger nor a mention as a reason, so that its certainty decides whether it is
    /// a match.
    pub fn is_by_text_alone(&self) -> bool {
        let by_text =
            |reason: &Reason| matches!(reason.kind, ReasonKind::Text | ReasonKind::Nearby | ReasonKind::Recent);
        self.mention.is_none() && self.reasons.iter().all(by_text)
    }
}

/// The way in which a message names a skill.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Mention {
    /// By its name alone, which has two words or more.
    Name,
    /// As `$name`, `/name` or `@name`.
    Sigil,
}

/// One reason for a skill.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Reason {
    /// The kind of reason.
    pub kind: ReasonKind,
    /// The trigger, as its author wrote it.
    pub trigger: String,
    /// The words of the message that matched; the file or language, if it was one.
    pub text: String,
    /// The range of these words in the message, in bytes, if they are in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub span: Option<Range<usize>>,
    /// The amount that it adds to the score.
    pub score: f32,
}

impl Reason {
    /// Returns the words that matched, on one line, for a model or a person to read: the words of the turn, and not the
    /// trigger, because a regular expression is of no use to a model. At most `max` characters, cut at the end of a
    /// word.
    ///
    /// ```
    /// use skillcue_select::{Reason, ReasonKind};
    ///
    /// let (trigger, text) = (r"\bfix\s+(my|the) report".to_owned(), "fix\nthe report".to_owned());
    /// let reason = Reason { kind: ReasonKind::Pattern, trigger, text, span: None, score: 0.8 };
    /// assert_eq!((reason.words(40), reason.words(10)), ("fix the report".to_owned(), "fix the…".to_owned()));
    /// ```
    pub fn words(&self, max: usize) -> String {
        let text = visible(if self.text.is_empty() { &self.trigger } else { &self.text });
        let mut words = String::new();
        let mut count = 0;
        for word in text.split_whitespace() {
            let length = word.chars().count() + usize::from(count > 0);
            if count + length > max {
                if count == 0 {
                    // A single long word: a path, or a script without blanks.
                    words.extend(word.chars().take(max));
                }
                words.push('…');
                break;
            }
            if count > 0 {
                words.push(' ');
            }
            words.push_str(word);
            count += length;
        }
        words
    }
}

/// Kinds of reasons, strongest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ReasonKind {
    /// `$name`, `/name`, `@name`, or a name of two or more words.
    Mention,
    /// A keyword of two or more words.
    Phrase,
    /// A keyword of one word, or a name of one.
    Keyword,
    /// A verb or one of its inflections.
    Verb,
    /// A regular expression.
    Pattern,
    /// A glob that one of the turn's files matches.
    File,
    /// A language of the turn.
    Language,
    /// Words that the skill's text shares with the message.
    Text,
    /// A glob or a language that a nearby file matches.
    Nearby,
    /// Use in this session.
    Recent,
}
