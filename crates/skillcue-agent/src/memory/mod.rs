//! Facts that users stated of themselves and want to be remembered, across sessions.

mod error;
mod provider;
mod recall;
mod rules;
mod schema;
mod secret;
mod tool;

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rusqlite::{Connection, OptionalExtension, Row, TransactionBehavior, params};
use serde::Serialize;
use skillcue_base::visible_line;

pub use error::MemoryError;
pub use provider::MemoryProvider;
pub use rules::facts;

use recall::{FactQuery, FactTerms, IDENTITY};

/// The most facts that are kept.
const MAX_FACTS: i64 = 10_000;
/// The most characters of a fact.
const MAX_CHARS: usize = 500;
/// The most facts about the user's identity that come first when users ask in general.
const MAX_IDENTITY: usize = 2;
/// The most facts that are recalled when users ask about themselves, and nothing is found.
const MAX_UNSURE: usize = 5;

const COLUMNS: &str = "facts.id, facts.text, facts.origin, facts.session, facts.created, facts.updated";

/// Facts in a file, found by their words. Threads and processes may use the same file at once.
///
/// ```
/// use std::time::SystemTime;
///
/// use skillcue_agent::Memory;
///
/// let dir = tempfile::tempdir()?;
/// let memory = Memory::open(&dir.path().join("memory.db"))?;
/// memory.remember("My name is Alice.", "20261116-1254-k3f9", SystemTime::now())?;
/// memory.remember("I live in Berlin.", "20261116-1254-k3f9", SystemTime::now())?;
/// assert_eq!(memory.recall("What's my name?", 8)?[0].text, "My name is Alice.");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Memory {
    path: PathBuf,
    connection: Mutex<Connection>,
}

/// A fact that is remembered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Fact {
    /// The number that [`Memory::forget`] takes. No other fact ever has it.
    pub id: i64,
    /// The fact in the user's words, on one line.
    pub text: String,
    /// How it came to be remembered.
    pub origin: FactOrigin,
    /// The session in which it was stated first.
    pub session: String,
    /// When it was stated first.
    #[serde(with = "crate::trace::written")]
    pub created: SystemTime,
    /// When it was stated last.
    #[serde(with = "crate::trace::written")]
    pub updated: SystemTime,
}

/// How a fact came to be remembered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum FactOrigin {
    /// The user stated it in a message.
    User,
    /// The model kept it, with the tool `remember`.
    Model,
}

impl FactOrigin {
    /// Returns its word in files and in listings.
    pub fn as_str(self) -> &'static str {
        match self {
            FactOrigin::User => "user",
            FactOrigin::Model => "model",
        }
    }
}

impl Memory {
    /// Opens the memory in a file, which is made if there is none, its owner's alone.
    pub fn open(path: &Path) -> Result<Memory, MemoryError> {
        let (path, connection) = schema::open(path)?;
        Ok(Memory { path, connection: Mutex::new(connection) })
    }

    /// Returns the path of its file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Remembers a fact of the user's, and returns its id. One that is known already, but for large letters, spaces and
    /// the mark at its end, is not kept twice: it is as new as it was stated last. Beyond 10,000, the oldest of those that
    /// were recalled least are forgotten.
    pub fn remember(&self, fact: &str, session: &str, at: SystemTime) -> Result<i64, MemoryError> {
        self.remember_within(fact, FactOrigin::User, session, at, MAX_FACTS)
    }

    fn remember_within(
        &self,
        fact: &str,
        origin: FactOrigin,
        session: &str,
        at: SystemTime,
        max: i64,
    ) -> Result<i64, MemoryError> {
        let text = visible_line(fact);
        let chars = text.chars().count();
        if chars == 0 || chars > MAX_CHARS {
            return Err(MemoryError::Length { chars });
        }
        if secret::looks_secret(&text) {
            return Err(MemoryError::Secret);
        }
        self.change(|connection| {
            let change = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let id = change.query_row(
                "INSERT INTO facts (text, key, origin, session, created, updated) VALUES (?1, ?2, ?3, ?4, ?5, ?5)
                 ON CONFLICT (key) DO UPDATE SET updated = max(updated, excluded.updated),
                 origin = CASE excluded.origin WHEN 'user' THEN 'user' ELSE origin END RETURNING id",
                params![text, key(&text), origin.as_str(), session, millis(at)],
                |row| row.get(0),
            )?;
            let count: i64 = change.query_row("SELECT count(*) FROM facts", [], |row| row.get(0))?;
            if count > max {
                change.execute(
                    "DELETE FROM facts WHERE id IN
                     (SELECT id FROM facts WHERE id <> ?1 ORDER BY uses, updated, id LIMIT ?2)",
                    params![id, count - max],
                )?;
            }
            change.commit()?;
            Ok(id)
        })
    }

    /// Returns the facts that have to do with a message, the best first, at most so many. A message that asks about the
    /// user in general gets the newest; so does one that asks about the user and finds nothing, but no more than five.
    pub fn recall(&self, query: &str, max: usize) -> Result<Vec<Fact>, MemoryError> {
        self.recall_filtered(query, max, |_| true)
    }

    /// Like [`recall`](Memory::recall), of the facts whose text passes the filter.
    fn recall_filtered(
        &self,
        query: &str,
        max: usize,
        mut filter: impl FnMut(&str) -> bool,
    ) -> Result<Vec<Fact>, MemoryError> {
        let found = format!("SELECT {COLUMNS} FROM found JOIN facts ON facts.id = found.rowid WHERE found MATCH ?1");
        let newest = "ORDER BY facts.updated DESC, facts.id DESC";
        self.change(|connection| {
            let mut facts = Vec::new();
            // Whether there was anything, filtered or not.
            let mut any = false;
            let mut collect = |sql: &str, terms: &[&str], max: usize| -> rusqlite::Result<bool> {
                let mut statement = connection.prepare(sql)?;
                let mut rows = statement.query(rusqlite::params_from_iter(terms))?;
                while facts.len() < max {
                    let Some(row) = rows.next()? else { break };
                    let fact = read(row)?;
                    any = true;
                    if filter(&fact.text) && !facts.iter().any(|other: &Fact| other.id == fact.id) {
                        facts.push(fact);
                    }
                }
                Ok(any)
            };
            let all = format!("SELECT {COLUMNS} FROM facts {newest}");
            match FactQuery::of(query) {
                FactQuery::Nothing => {}
                FactQuery::General => {
                    collect(&format!("{found} {newest}"), &[IDENTITY], max.min(MAX_IDENTITY))?;
                    collect(&all, &[], max)?;
                }
                FactQuery::Words(FactTerms { words, phrases, asks_of_user }) => {
                    let ranked = format!("{found} ORDER BY bm25(found), facts.updated DESC, facts.id DESC");
                    let mut any = collect(&ranked, &[&words], max)?;
                    if !phrases.is_empty() {
                        any = collect(&ranked, &[&phrases], max)?;
                    }
                    if asks_of_user && !any {
                        collect(&all, &[], max.min(MAX_UNSURE))?;
                    }
                }
            }
            count_uses(connection, &facts);
            Ok(facts)
        })
    }

    /// Returns the newest facts, at most so many.
    pub fn list(&self, max: usize) -> Result<Vec<Fact>, MemoryError> {
        self.change(|connection| {
            let sql = format!("SELECT {COLUMNS} FROM facts ORDER BY updated DESC, id DESC LIMIT ?1");
            let max = i64::try_from(max).unwrap_or(i64::MAX);
            connection.prepare(&sql)?.query_map([max], read)?.collect()
        })
    }

    /// Returns how many facts there are.
    pub fn count(&self) -> Result<u64, MemoryError> {
        let count = |connection: &mut Connection| {
            connection.query_row("SELECT count(*) FROM facts", [], |row| row.get::<_, i64>(0))
        };
        self.change(count).map(i64::unsigned_abs)
    }

    /// Forgets a fact, on the disk too. Returns whether it was there.
    pub fn forget(&self, id: i64) -> Result<bool, MemoryError> {
        self.change(|connection| {
            let gone = connection.execute("DELETE FROM facts WHERE id = ?1", [id])?;
            wipe(connection)?;
            Ok(gone > 0)
        })
    }

    /// Forgets the facts that have exactly these words, in any order, as German changes it.
    fn forget_stated(&self, fact: &str) -> Result<(), MemoryError> {
        let sorted = |text: &str| {
            let mut words: Vec<String> = recall::words(text).collect();
            words.sort_unstable();
            words
        };
        for known in self.list(usize::MAX)?.iter().filter(|known| sorted(&known.text) == sorted(fact)) {
            self.forget(known.id)?;
        }
        Ok(())
    }

    /// Forgets everything, on the disk too. Returns how many facts there were.
    pub fn clear(&self) -> Result<usize, MemoryError> {
        self.change(|connection| {
            let gone = schema::clear(connection)?;
            wipe(connection)?;
            Ok(gone)
        })
    }

    fn change<R>(&self, change: impl FnOnce(&mut Connection) -> rusqlite::Result<R>) -> Result<R, MemoryError> {
        // A transaction that a panic left open is rolled back when it is dropped.
        change(&mut skillcue_base::lock(&self.connection)).map_err(|error| MemoryError::database(&self.path, error))
    }
}

/// Empties the log: deleted text is overwritten with zeros in the file, but stays in the log until then. It waits for other
/// readers; if they take too long, the next time will do.
fn wipe(connection: &Connection) -> rusqlite::Result<()> {
    connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).optional().map(|_| ())
}

/// Counts which facts are of use: that decides which are forgotten first. If it cannot be written now, it does not matter.
fn count_uses(connection: &mut Connection, facts: &[Fact]) {
    let mut counted = || -> rusqlite::Result<()> {
        // Not worth waiting for.
        connection.busy_timeout(Duration::ZERO)?;
        let change = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        for fact in facts {
            change.execute("UPDATE facts SET uses = uses + 1 WHERE id = ?1", [fact.id])?;
        }
        change.commit()
    };
    if !facts.is_empty()
        && let Err(error) = counted()
    {
        tracing::debug!("which facts were recalled could not be counted: {error}");
    }
    if let Err(error) = connection.busy_timeout(schema::BUSY_TIMEOUT) {
        tracing::debug!("the timeout of the memory could not be set: {error}");
    }
}

fn read(row: &Row<'_>) -> rusqlite::Result<Fact> {
    let origin: String = row.get(2)?;
    Ok(Fact {
        id: row.get(0)?,
        text: visible_line(&row.get::<_, String>(1)?).into_owned(),
        origin: if origin == FactOrigin::Model.as_str() { FactOrigin::Model } else { FactOrigin::User },
        session: row.get(3)?,
        created: time(row.get(4)?),
        updated: time(row.get(5)?),
    })
}

fn millis(time: SystemTime) -> i64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

fn time(millis: i64) -> SystemTime {
    let since = Duration::from_millis(u64::try_from(millis).unwrap_or_default());
    UNIX_EPOCH.checked_add(since).unwrap_or(UNIX_EPOCH)
}

/// Returns the form of a fact by which two are equal.
fn key(text: &str) -> String {
    let lower = text.to_lowercase();
    let words: Vec<&str> = lower.split_whitespace().collect();
    words.join(" ").trim_end_matches(['.', '!']).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> SystemTime {
        UNIX_EPOCH + Duration::from_secs(seconds)
    }

    fn texts(facts: &[Fact]) -> Vec<&str> {
        facts.iter().map(|fact| fact.text.as_str()).collect()
    }

    #[test]
    fn the_oldest_of_the_least_used_go_first() {
        let dir = tempfile::tempdir().unwrap();
        let memory = Memory::open(&dir.path().join("m.db")).unwrap();
        let remember =
            |text: &str, seconds| memory.remember_within(text, FactOrigin::User, "s", at(seconds), 3).unwrap();
        remember("I like tea", 1);
        remember("I like coffee", 2);
        remember("I like rum", 3);
        assert_eq!(texts(&memory.recall("Is there any tea?", 8).unwrap()), ["I like tea"]);
        remember("I like milk", 4);
        assert_eq!(texts(&memory.list(9).unwrap()), ["I like milk", "I like rum", "I like tea"]);
        for seconds in 0..3 {
            memory.recall("rum, tea or milk", 8).unwrap();
            remember("I like rum", 10 + seconds);
        }
        remember("I like water", 5);
        assert_eq!(memory.count().unwrap(), 3);
        assert!(texts(&memory.list(9).unwrap()).contains(&"I like water"), "the newest is never the one that goes");
    }

    #[test]
    fn equal_facts_have_one_key() {
        assert_eq!(key("My  name is ALICE."), key("my name is Alice"));
    }
}
