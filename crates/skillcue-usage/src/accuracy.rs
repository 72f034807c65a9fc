//! Whether what was shown was right: each time that a skill was shown, with its verdict.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::Duration;

use serde::Serialize;
use skillcue::usage::UsageKind;

use crate::{LedgerEvent, Week};

/// The longest time between what one program showed and what another did with it. A hook shows, and the same model loads
/// over MCP: two programs, with different names for the conversation.
const MAX_APART: Duration = Duration::from_mins(30);

/// The verdict about one time that a skill was shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ShowingVerdict {
    /// It was loaded, or one of its files or programs was used.
    Right,
    /// Its body was shown, and it was not.
    Wrong,
    /// Its name was shown, and it was not: an offer that was not taken, neither right nor wrong.
    Offered,
    /// Its body was shown, and it has never given a sign of use: a body without files or programs cannot give one.
    Unclear,
}

/// How often skills were shown rightly.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Accuracy {
    /// Shown, and then loaded or used.
    pub right: usize,
    /// Its body was shown, and it was not used.
    pub wrong: usize,
    /// Its name was offered, and not taken: neither right nor wrong.
    pub offered: usize,
    /// Searched for and loaded, though not shown.
    pub missed: usize,
    /// A body was shown of a skill that never gave a sign of use, because it may have nothing to load or to run.
    pub unclear: usize,
}

impl Accuracy {
    /// Returns the share of right ones among those with a verdict, from 0 to 1; `None` if there is none.
    ///
    /// ```
    /// use skillcue_usage::Accuracy;
    ///
    /// assert_eq!(Accuracy { right: 6, wrong: 1, missed: 1, offered: 40, unclear: 9 }.rate(), Some(0.75));
    /// assert_eq!(Accuracy::default().rate(), None);
    /// ```
    pub fn rate(&self) -> Option<f64> {
        let count = |number: usize| f64::from(u32::try_from(number).unwrap_or(u32::MAX));
        let all = self.right + self.wrong + self.missed;
        (all > 0).then(|| count(self.right) / count(all))
    }

    pub(crate) fn add(&mut self, verdict: ShowingVerdict) {
        match verdict {
            ShowingVerdict::Right => self.right += 1,
            ShowingVerdict::Wrong => self.wrong += 1,
            ShowingVerdict::Offered => self.offered += 1,
            ShowingVerdict::Unclear => self.unclear += 1,
        }
    }
}

/// The property by which events are put into groups.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum UsageGrouping {
    /// The week.
    Week,
    /// The program.
    Client,
    /// The mode in which messages were matched.
    Mode,
    /// The version of the index.
    Version,
}

impl UsageGrouping {
    fn key(self, event: &LedgerEvent) -> String {
        match self {
            UsageGrouping::Week => Week::of(event.at).to_string(),
            UsageGrouping::Client => event.client.clone(),
            UsageGrouping::Mode => event.mode.clone(),
            UsageGrouping::Version => event.generation.clone(),
        }
    }
}

/// The accuracy of a group of events.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AccuracyGroup {
    /// The date of the week's Monday, the program, the mode or the version.
    pub key: String,
    /// How often a skill was shown.
    pub shown: usize,
    /// How often one was loaded.
    pub loaded: usize,
    /// The tokens of what was shown, loaded and read, as far as they are known.
    pub tokens: u64,
    /// How often that was right.
    #[serde(flatten)]
    pub accuracy: Accuracy,
    /// The share of right ones, from 0 to 1.
    pub rate: Option<f64>,
}

/// One message, what was shown for it, and what was used because of it or in spite of it.
#[derive(Debug, Default)]
pub(crate) struct TurnUse<'e> {
    /// Positions of events, in the order of rank.
    pub(crate) shown: Vec<usize>,
    pub(crate) used: HashSet<&'e str>,
    at: Option<&'e LedgerEvent>,
}

/// Events with their verdicts.
#[derive(Debug)]
pub(crate) struct JudgedEvents<'e> {
    pub(crate) events: &'e [LedgerEvent],
    /// For each event that shows a skill, the verdict.
    pub(crate) verdicts: HashMap<usize, ShowingVerdict>,
    /// The positions of events that say that a skill was missed, and that no other program contradicts.
    pub(crate) missed: HashSet<usize>,
    pub(crate) turns: Vec<TurnUse<'e>>,
}

/// A conversation: its project and its id.
type Talk<'e> = (&'e str, &'e str);

impl<'e> JudgedEvents<'e> {
    /// Judges events that are sorted by time.
    pub(crate) fn of(events: &'e [LedgerEvent]) -> JudgedEvents<'e> {
        let mut used: HashSet<usize> = HashSet::new();
        let mut missed = HashSet::new();
        let mut turns: Vec<TurnUse<'e>> = Vec::new();
        // The latest time that a skill was shown, in a conversation and in a project; the latest message in each.
        let mut shown_in: HashMap<(&str, Talk<'_>), usize> = HashMap::new();
        let mut shown_near: HashMap<(&str, &str), usize> = HashMap::new();
        let mut turn_in: HashMap<(Talk<'_>, u64), usize> = HashMap::new();
        let mut last_turn: HashMap<Talk<'_>, usize> = HashMap::new();
        let mut turn_near: HashMap<&str, usize> = HashMap::new();
        for (at, event) in events.iter().enumerate() {
            let talk = (event.project.as_str(), event.session.as_str());
            let skill = event.skill.as_str();
            // Whether an event of another program, or of none that says which conversation it is, belongs to this one.
            let is_near = |other: &LedgerEvent| {
                let age = event.at.duration_since(other.at).unwrap_or_default();
                (other.client != event.client || event.session.is_empty()) && age <= MAX_APART
            };
            let shown = shown_in
                .get(&(skill, talk))
                .copied()
                .or_else(|| shown_near.get(&(skill, talk.0)).copied().filter(|before| is_near(&events[*before])));
            match event.kind {
                UsageKind::Shown => {
                    shown_in.insert((skill, talk), at);
                    shown_near.insert((skill, talk.0), at);
                    let turn = *turn_in.entry((talk, event.turn)).or_insert_with(|| {
                        turns.push(TurnUse { at: Some(event), ..TurnUse::default() });
                        turns.len() - 1
                    });
                    turns[turn].shown.push(at);
                    last_turn.insert(talk, turn);
                    turn_near.insert(talk.0, turn);
                }
                UsageKind::Missed if shown.is_none() => drop(missed.insert(at)),
                kind if kind.is_use() => {
                    used.extend(shown);
                    // A use that does not say for which message it was belongs to the latest.
                    let latest = || last_turn.get(&talk).filter(|_| event.turn == 0);
                    let of_message = turn_in.get(&(talk, event.turn)).or_else(latest).copied();
                    let near = || {
                        let turn = turn_near.get(talk.0).copied();
                        turn.filter(|turn| turns[*turn].at.is_some_and(is_near))
                    };
                    if let Some(turn) = of_message.or_else(near) {
                        turns[turn].used.insert(skill);
                    }
                }
                _ => {}
            }
        }
        let signs: HashSet<&str> =
            events.iter().filter(|event| event.kind.is_use()).map(|event| event.skill.as_str()).collect();
        let shown = events.iter().enumerate().filter(|(_, event)| event.kind == UsageKind::Shown);
        let verdict = |(at, event): (usize, &LedgerEvent)| {
            let verdict = match used.contains(&at) {
                true => ShowingVerdict::Right,
                false if event.tier != Some(3) => ShowingVerdict::Offered,
                false if !signs.contains(event.skill.as_str()) => ShowingVerdict::Unclear,
                false => ShowingVerdict::Wrong,
            };
            (at, verdict)
        };
        JudgedEvents { events, verdicts: shown.map(verdict).collect(), missed, turns }
    }

    /// Returns the accuracy of all events, or of those of one skill.
    pub(crate) fn total(&self, only: Option<&str>) -> Accuracy {
        let mut total = Accuracy::default();
        for (at, _) in self.events_of(only) {
            total.missed += usize::from(self.missed.contains(&at));
            if let Some(verdict) = self.verdicts.get(&at) {
                total.add(*verdict);
            }
        }
        total
    }

    /// Returns events with their positions: all, or those of one skill.
    fn events_of(&self, only: Option<&str>) -> impl Iterator<Item = (usize, &'e LedgerEvent)> {
        self.events.iter().enumerate().filter(move |(_, event)| only.is_none_or(|name| event.skill == name))
    }

    /// Returns the accuracy of each group, sorted by its key; with `only`, of the events of one skill. Weeks without an event
    /// are there, too.
    pub(crate) fn by(&self, grouping: UsageGrouping, only: Option<&str>) -> Vec<AccuracyGroup> {
        let mut groups: BTreeMap<String, AccuracyGroup> = BTreeMap::new();
        let empty = |key: String| AccuracyGroup {
            key,
            shown: 0,
            loaded: 0,
            tokens: 0,
            accuracy: Accuracy::default(),
            rate: None,
        };
        if let (UsageGrouping::Week, [first, .., last]) = (grouping, self.events) {
            let mut week = Week::of(first.at);
            while week < Week::of(last.at) {
                groups.insert(week.to_string(), empty(week.to_string()));
                week = week.next();
            }
        }
        for (at, event) in self.events_of(only) {
            let key = grouping.key(event);
            let group = groups.entry(key.clone()).or_insert_with(|| empty(key));
            group.shown += usize::from(event.kind == UsageKind::Shown);
            group.loaded += usize::from(event.kind == UsageKind::Loaded);
            group.tokens += event.tokens.unwrap_or(0);
            group.accuracy.missed += usize::from(self.missed.contains(&at));
            if let Some(verdict) = self.verdicts.get(&at) {
                group.accuracy.add(*verdict);
            }
        }
        groups.into_values().map(|group| AccuracyGroup { rate: group.accuracy.rate(), ..group }).collect()
    }
}
