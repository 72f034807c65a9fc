//! One event as the ledger keeps it.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rusqlite::{Connection, Row, Statement, params};
use serde::{Serialize, Serializer};
use skillcue::Mode;
use skillcue::usage::{UsageEvent, UsageKind};
use skillcue_base::rfc3339;

use crate::Week;

/// The columns of an event, in the order of [`LedgerEvent::read`].
pub(crate) const COLUMNS: &str =
    "at, kind, skill, project, session, turn, client, mode, generation, tier, tokens, confidence, item, text";
/// Like [`COLUMNS`], without those that no answer depends on.
pub(crate) const ANSWER_COLUMNS: &str =
    "at, kind, skill, project, session, turn, client, '', '', tier, NULL, NULL, NULL, NULL";

/// An event with when, where and by which program it happened.
///
/// ```
/// use skillcue::usage::UsageKind;
/// use skillcue_usage::LedgerEvent;
///
/// let event = LedgerEvent { client: "mcp".to_owned(), ..LedgerEvent::new(UsageKind::Loaded, "pdf") };
/// assert_eq!(serde_json::to_value(&event)?["kind"], "loaded");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LedgerEvent {
    /// When it happened.
    #[serde(serialize_with = "written")]
    pub at: SystemTime,
    /// The kind.
    pub kind: UsageKind,
    /// The skill's name.
    pub skill: String,
    /// The directory of the project; empty if it is not known.
    pub project: String,
    /// The id of the conversation; empty if there is none.
    pub session: String,
    /// The number of the message in the conversation, from 1; 0 if it is not known.
    pub turn: u64,
    /// The program: `agent`, `mcp`, `library`, `python`, `hook:claude`; of imported transcripts `claude` or `codex`.
    pub client: String,
    /// The mode in which the message was matched; empty if it was not.
    pub mode: String,
    /// The version of the index; empty if it is not known.
    pub generation: String,
    /// Of a skill that was shown: 3 for its body, 2 for its name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tier: Option<u8>,
    /// Of a skill that was shown, or whose body or file a tool returned: the tokens that it took.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// Of a skill that was shown: how likely it was to fit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confidence: Option<f64>,
    /// The script, tool or file of the skill.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub item: Option<String>,
    /// The message or the query, if text is kept, without its secrets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

impl LedgerEvent {
    /// Makes an event of a skill that happens now.
    pub fn new(kind: UsageKind, skill: impl Into<String>) -> LedgerEvent {
        LedgerEvent {
            at: SystemTime::now(),
            kind,
            skill: skill.into(),
            project: String::new(),
            session: String::new(),
            turn: 0,
            client: String::new(),
            mode: String::new(),
            generation: String::new(),
            tier: None,
            tokens: None,
            confidence: None,
            item: None,
            text: None,
        }
    }

    /// Makes an event of one of the library's, which happens now; `None` if that has no kind.
    pub(crate) fn of(event: UsageEvent, client: &str, project: &str) -> Option<LedgerEvent> {
        let kind = event.kind?;
        let mode = |mode: Mode| Mode::NAMES.iter().find(|(_, other)| *other == mode).map_or("", |(word, _)| word);
        Some(LedgerEvent {
            project: project.to_owned(),
            session: event.session,
            turn: event.turn,
            client: client.to_owned(),
            mode: event.mode.map(mode).unwrap_or_default().to_owned(),
            generation: event.generation,
            tier: event.tier,
            tokens: event.tokens.map(|tokens| tokens as u64),
            confidence: event.confidence.map(f64::from),
            item: event.item,
            text: event.text,
            ..LedgerEvent::new(kind, event.skill)
        })
    }

    /// Returns the events up to the end of the week of `now`, of events that are sorted by time. Later ones were left by a clock
    /// that was wrong: whatever adds events up leaves them out, so that they make no row a week up to then, and are not fresh
    /// for ever.
    pub(crate) fn up_to_present(events: &[LedgerEvent], now: SystemTime) -> &[LedgerEvent] {
        &events[..events.partition_point(|event| Week::of(event.at) <= Week::of(now))]
    }

    /// Returns the statement that [`insert`](LedgerEvent::insert) takes.
    pub(crate) fn insertion(connection: &Connection) -> rusqlite::Result<Statement<'_>> {
        connection
            .prepare(&format!("INSERT INTO events ({COLUMNS}) VALUES (?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13,?14)"))
    }

    pub(crate) fn insert(&self, insertion: &mut Statement<'_>) -> rusqlite::Result<()> {
        insertion.execute(params![
            millis(self.at),
            self.kind.as_str(),
            self.skill,
            self.project,
            self.session,
            i64::try_from(self.turn).unwrap_or(i64::MAX),
            self.client,
            self.mode,
            self.generation,
            self.tier,
            self.tokens.map(|tokens| i64::try_from(tokens).unwrap_or(i64::MAX)),
            self.confidence,
            self.item,
            self.text,
        ])?;
        Ok(())
    }

    /// Reads a row of [`COLUMNS`]; `None` if a newer version wrote a kind that this one does not know.
    pub(crate) fn read(row: &Row<'_>) -> rusqlite::Result<Option<LedgerEvent>> {
        let word: String = row.get(1)?;
        let Some((_, kind)) = UsageKind::NAMES.iter().find(|(name, _)| *name == word) else { return Ok(None) };
        let count = |at: usize| row.get::<_, Option<i64>>(at).map(|number| number.map(|it| it.try_into().unwrap_or(0)));
        Ok(Some(LedgerEvent {
            at: time(row.get(0)?),
            kind: *kind,
            skill: row.get(2)?,
            project: row.get(3)?,
            session: row.get(4)?,
            turn: count(5)?.unwrap_or(0),
            client: row.get(6)?,
            mode: row.get(7)?,
            generation: row.get(8)?,
            tier: row.get(9)?,
            tokens: count(10)?,
            confidence: row.get(11)?,
            item: row.get(12)?,
            text: row.get(13)?,
        }))
    }
}

/// Returns a time as the ledger has it: milliseconds since 1970.
pub(crate) fn millis(time: SystemTime) -> i64 {
    time.duration_since(UNIX_EPOCH).map_or(0, |since| i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

/// Returns the time of so many milliseconds since 1970.
pub(crate) fn time(millis: i64) -> SystemTime {
    let since = Duration::from_millis(u64::try_from(millis).unwrap_or(0));
    UNIX_EPOCH.checked_add(since).unwrap_or(UNIX_EPOCH)
}

fn written<S: Serializer>(time: &SystemTime, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&rfc3339(*time))
}
