//! What users have said of themselves and want to be remembered, across sessions.

mod alike;
mod error;
mod facts;
mod own;
mod provider;
mod query;
mod schema;
mod secret;
mod words;

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rusqlite::{Connection, OptionalExtension, Row, TransactionBehavior, params};

pub use error::MemoryError;
pub use facts::facts;
pub use provider::MemoryProvider;

use query::{IDENTITY, Query, Wanted};

/// How many facts are kept.
const MOST_FACTS: i64 = 10_000;
/// How long a fact may be.
const MOST_CHARS: usize = 500;
/// How many facts that tell who somebody is come first when users ask in general.
const MOST_IDENTITY: usize = 2;

/// How many facts are recalled when users ask about themselves, and nothing is found.
const MOST_UNSURE: usize = 5;

const COLUMNS: &str = "facts.id, facts.text, facts.session, facts.created, facts.updated";

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

/// Something that a user has said.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[non_exhaustive]
pub struct Fact {
    /// What [`Memory::forget`] takes. No other fact ever has it.
    pub id: i64,
    /// What was said, on one line.
    pub text: String,
    /// The session in which it was said first.
    pub session: String,
    /// When it was said first.
    #[serde(with = "crate::trace::written")]
    pub created: SystemTime,
    /// When it was said last.
    #[serde(with = "crate::trace::written")]
    pub updated: SystemTime,
}

impl Memory {
    /// The memory in a file, which is made if there is none, its owner's alone.
    pub fn open(path: &Path) -> Result<Memory, MemoryError> {
        let (path, connection) = schema::open(path)?;
        Ok(Memory { path, connection: Mutex::new(connection) })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Remembers a fact, and gives its id. One that is known already, but for large letters, spaces and the mark at its
    /// end, is not kept twice: it is as new as it was said last. Beyond 10,000, the oldest of those that were recalled
    /// least are forgotten.
    pub fn remember(&self, fact: &str, session: &str, at: SystemTime) -> Result<i64, MemoryError> {
        self.remember_within(fact, session, at, MOST_FACTS)
    }

    fn remember_within(&self, fact: &str, session: &str, at: SystemTime, most: i64) -> Result<i64, MemoryError> {
        let text = skillcue_base::visible_line(fact).into_owned();
        let chars = text.chars().count();
        if chars == 0 || chars > MOST_CHARS {
            return Err(MemoryError::Length { chars });
        }
        if secret::looks_secret(&text) {
            return Err(MemoryError::Secret);
        }
        self.change(|connection| {
            let change = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let id = change.query_row(
                "INSERT INTO facts (text, key, session, created, updated) VALUES (?1, ?2, ?3, ?4, ?4)
                 ON CONFLICT (key) DO UPDATE SET updated = max(updated, excluded.updated) RETURNING id",
                params![text, key(&text), session, millis(at)],
                |row| row.get(0),
            )?;
            let count: i64 = change.query_row("SELECT count(*) FROM facts", [], |row| row.get(0))?;
            if count > most {
                change.execute(
                    "DELETE FROM facts WHERE id IN
                     (SELECT id FROM facts WHERE id <> ?1 ORDER BY uses, updated, id LIMIT ?2)",
                    params![id, count - most],
                )?;
            }
            change.commit()?;
            Ok(id)
        })
    }

    /// The facts that have to do with a message, the best first, at most so many. One that asks about the user in general
    /// gets the newest; so does one that asks about the user and finds nothing, but no more than five.
    pub fn recall(&self, query: &str, most: usize) -> Result<Vec<Fact>, MemoryError> {
        self.recall_those(query, most, |_| true)
    }

    /// The same for those facts that are wanted.
    fn recall_those(
        &self,
        query: &str,
        most: usize,
        mut wanted: impl FnMut(&str) -> bool,
    ) -> Result<Vec<Fact>, MemoryError> {
        let found = format!("SELECT {COLUMNS} FROM found JOIN facts ON facts.id = found.rowid WHERE found MATCH ?1");
        let newest = "ORDER BY facts.updated DESC, facts.id DESC";
        self.change(|connection| {
            let mut facts = Vec::new();
            // Whether there was anything, wanted or not.
            let mut any = false;
            let mut collect = |sql: &str, parameters: &[&str], most: usize| -> rusqlite::Result<bool> {
                let mut statement = connection.prepare(sql)?;
                let mut rows = statement.query(rusqlite::params_from_iter(parameters))?;
                while facts.len() < most {
                    let Some(row) = rows.next()? else { break };
                    let fact = read(row)?;
                    any = true;
                    if wanted(&fact.text) && !facts.iter().any(|other: &Fact| other.id == fact.id) {
                        facts.push(fact);
                    }
                }
                Ok(any)
            };
            match Query::of(query) {
                Query::Nothing => {}
                Query::General => {
                    collect(&format!("{found} {newest}"), &[IDENTITY], most.min(MOST_IDENTITY))?;
                    collect(&format!("SELECT {COLUMNS} FROM facts {newest}"), &[], most)?;
                }
                Query::Words(Wanted { words, patterns, perhaps, asks_of_user }) => {
                    let ranked = format!("{found} ORDER BY bm25(found), facts.updated DESC, facts.id DESC");
                    let mut any = collect(&ranked, &[&words], most)?;
                    for pattern in patterns {
                        let like = format!("SELECT {COLUMNS} FROM facts WHERE lower(facts.text) GLOB ?1 {newest}");
                        any = collect(&like, &[pattern], most)?;
                    }
                    if !perhaps.is_empty() {
                        any = collect(&ranked, &[&perhaps], most)?;
                    }
                    if asks_of_user && !any {
                        collect(&format!("SELECT {COLUMNS} FROM facts {newest}"), &[], most.min(MOST_UNSURE))?;
                    }
                }
            }
            count_uses(connection, &facts);
            Ok(facts)
        })
    }

    /// The newest facts, at most so many.
    pub fn list(&self, most: usize) -> Result<Vec<Fact>, MemoryError> {
        self.change(|connection| {
            let sql = format!("SELECT {COLUMNS} FROM facts ORDER BY updated DESC, id DESC LIMIT ?1");
            let most = i64::try_from(most).unwrap_or(i64::MAX);
            connection.prepare(&sql)?.query_map([most], read)?.collect()
        })
    }

    /// How many facts there are.
    pub fn count(&self) -> Result<u64, MemoryError> {
        let count = |connection: &mut Connection| {
            connection.query_row("SELECT count(*) FROM facts", [], |row| row.get::<_, i64>(0))
        };
        self.change(count).map(i64::unsigned_abs)
    }

    /// Forgets a fact, on the disk too. Says whether it was there.
    pub fn forget(&self, id: i64) -> Result<bool, MemoryError> {
        self.change(|connection| {
            let gone = connection.execute("DELETE FROM facts WHERE id = ?1", [id])?;
            wipe(connection)?;
            Ok(gone > 0)
        })
    }

    /// Forgets everything, on the disk too. Says how much it was.
    pub fn clear(&self) -> Result<usize, MemoryError> {
        self.change(|connection| {
            let gone = schema::clear(connection)?;
            wipe(connection)?;
            Ok(gone)
        })
    }

    fn change<R>(&self, change: impl FnOnce(&mut Connection) -> rusqlite::Result<R>) -> Result<R, MemoryError> {
        change(&mut self.lock()).map_err(|error| MemoryError::database(&self.path, error))
    }

    fn lock(&self) -> MutexGuard<'_, Connection> {
        // A transaction that somebody left by a panic is taken back when it is dropped.
        skillcue_base::lock(&self.connection)
    }
}

/// What is deleted is overwritten with zeros, but what was once written to the log stays there until it is emptied. That
/// waits for others who read; if they take too long, the next time will do.
fn wipe(connection: &Connection) -> rusqlite::Result<()> {
    connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).optional().map(|_| ())
}

/// Which facts are of use decides which are forgotten first. If that cannot be written now, it does not matter.
fn count_uses(connection: &mut Connection, facts: &[Fact]) {
    let mut counted = || -> rusqlite::Result<()> {
        // Nobody waits for this.
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
    if let Err(error) = connection.busy_timeout(schema::BUSY) {
        tracing::debug!("how long to wait for memory could not be said: {error}");
    }
}

fn read(row: &Row<'_>) -> rusqlite::Result<Fact> {
    Ok(Fact {
        id: row.get(0)?,
        text: skillcue_base::visible_line(&row.get::<_, String>(1)?).into_owned(),
        session: row.get(2)?,
        created: time(row.get(3)?),
        updated: time(row.get(4)?),
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

/// By what two facts are the same.
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
        let remember = |text: &str, seconds| memory.remember_within(text, "s", at(seconds), 3).unwrap();
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
    fn lines_are_one_and_can_be_seen() {
        assert_eq!(skillcue_base::visible_line(" a\n## b\u{202e}\t\u{200b}c\0"), "a ## b c");
        assert_eq!(key("My  name is ALICE."), key("my name is Alice"));
    }
}
