//! Labelled messages: texts in the ledger, with the skills that were used because of them.

use std::collections::{BTreeMap, BTreeSet};

use skillcue::usage::UsageKind;

use crate::LedgerEvent;
use crate::accuracy::JudgedEvents;

/// A message whose text was kept, with the skills that were used for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsedMessage {
    /// The text, with its secrets masked.
    pub text: String,
    /// The skills, in the order of the alphabet.
    pub skills: Vec<String>,
}

/// Returns the messages after which a skill was used, and the queries by which a missed one was found, in the order of the
/// alphabet. There are none unless texts are kept. A message after which no skill was used is not among them: whether one was
/// needed is not known.
///
/// ```
/// use skillcue::usage::UsageKind;
/// use skillcue_usage::{LedgerEvent, used_messages};
///
/// let of = |kind, text: Option<&str>| LedgerEvent {
///     session: "s1".to_owned(),
///     turn: 1,
///     text: text.map(str::to_owned),
///     ..LedgerEvent::new(kind, "pdf")
/// };
/// let events = [of(UsageKind::Shown, Some("fill in the form")), of(UsageKind::Loaded, None)];
/// let found = used_messages(&events);
/// assert_eq!((found[0].text.as_str(), &found[0].skills[..]), ("fill in the form", &["pdf".to_owned()][..]));
/// assert!(used_messages(&events[..1]).is_empty());
/// ```
pub fn used_messages(events: &[LedgerEvent]) -> Vec<UsedMessage> {
    let judged = JudgedEvents::of(events);
    let mut by_text: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for turn in judged.turns.iter().filter(|turn| !turn.used.is_empty()) {
        if let Some(text) = turn.shown.iter().find_map(|at| events[*at].text.as_deref()) {
            by_text.entry(text).or_default().extend(&turn.used);
        }
    }
    for event in events.iter().filter(|event| event.kind == UsageKind::Missed) {
        if let Some(text) = event.text.as_deref() {
            by_text.entry(text).or_default().insert(&event.skill);
        }
    }
    let message = |(text, skills): (&str, BTreeSet<&str>)| UsedMessage {
        text: text.to_owned(),
        skills: skills.into_iter().map(str::to_owned).collect(),
    };
    by_text.into_iter().map(message).collect()
}
