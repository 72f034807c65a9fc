//! Selections: the hits for a message, and their reasons.

use std::ops::Range;

use serde::{Deserialize, Serialize};
use skillcue_base::visible;

use crate::{EvidencePart, Intent, Judgement, Mode};

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
    /// The part that a judge had in it; `None` if there is no judge.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub judgement: Option<Judgement>,
    /// The id of the sentence model that took part, if one did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

/// A skill that fits.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
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
    /// How likely it is that naming it helps, from 0 to 1: that it is one of those that the message needs, wherever it
    /// ranks. It decides whether a skill that is not shown is named.
    pub likelihood: f32,
    /// Whether the message names the skill, and how.
    pub mention: Option<Mention>,
    /// The reasons for it, strongest first.
    pub reasons: Vec<Reason>,
    /// The parts of the text relevance: kinds of evidence, and what each adds.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<EvidencePart>,
}

impl Hit {
    /// Returns whether it has neither a trigger nor a mention as a reason, so that its certainty decides whether it is
    /// a match.
    pub fn is_by_text_alone(&self) -> bool {
        let by_text = |reason: &Reason| {
            matches!(
                reason.kind,
                ReasonKind::Text | ReasonKind::Nearby | ReasonKind::Recent | ReasonKind::Judge | ReasonKind::Use
            )
        };
        self.mention.is_none() && self.reasons.iter().all(by_text)
    }
}

/// The part of a skill that a hit is worth, by [`Thresholds`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Grade {
    /// Nothing: it is too unlikely.
    Nothing,
    /// Its name and its brief, so that the model decides.
    Name,
    /// Its body.
    Body,
}

/// The certainty and the likelihood from which skills are shown and named.
///
/// They follow from one number, the eagerness: a body that is not needed costs tokens, one that is missing costs the
/// task, and eagerness weighs the second against the first. At 0.5 the thresholds are the fitted ones; from there, the
/// odds that are required fall with the odds of the eagerness.
///
/// ```
/// use skillcue_select::Thresholds;
///
/// let (low, usual, high) = (Thresholds::of(0.2), Thresholds::of(0.5), Thresholds::of(0.8));
/// assert!(low.body > usual.body && usual.body > high.body);
/// assert_eq!((Thresholds::of(0.0).body, Thresholds::of(1.0).name), (1.0, 0.0));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Thresholds {
    /// The certainty from which a body is shown.
    pub body: f32,
    /// The likelihood from which a skill is named.
    pub name: f32,
}

impl Thresholds {
    /// The eagerness that gives the fitted thresholds.
    pub const DEFAULT_EAGERNESS: f32 = 0.5;
    /// The fitted thresholds.
    const FITTED: Thresholds = Thresholds { body: 0.68, name: 0.04 };

    /// Returns the thresholds for an eagerness from 0, show nothing that is not certain, to 1, show all.
    pub fn of(eagerness: f32) -> Thresholds {
        let eagerness = if eagerness.is_nan() { Self::DEFAULT_EAGERNESS } else { eagerness.clamp(0.0, 1.0) };
        let at = |fitted: f32| {
            let (reluctant, eager) = (fitted * (1.0 - eagerness), (1.0 - fitted) * eagerness);
            reluctant / (reluctant + eager)
        };
        Thresholds { body: at(Self::FITTED.body), name: at(Self::FITTED.name) }
    }
}

impl Default for Thresholds {
    fn default() -> Self {
        Thresholds::FITTED
    }
}

impl Hit {
    /// Returns the part of the skill that is worth its tokens. Mentions by sigil, and in [`Mode::Keyword`] all hits,
    /// are worth the body.
    pub fn grade(&self, mode: Mode, thresholds: &Thresholds) -> Grade {
        if mode == Mode::Keyword || self.mention == Some(Mention::Sigil) || self.certainty >= thresholds.body {
            Grade::Body
        } else if self.likelihood >= thresholds.name {
            Grade::Name
        } else {
            Grade::Nothing
        }
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
    /// The choice of a judge among the first hits.
    Judge,
    /// The use of the skill in this project so far.
    Use,
}
