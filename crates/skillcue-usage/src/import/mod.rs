//! Transcripts of other agents: which skills they listed, loaded and used.

mod claude;
mod codex;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs::{self, File};
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use rusqlite::{Connection, OptionalExtension as _, Transaction, TransactionBehavior, params};
use serde::Serialize;
use serde_json::Value;
use skillcue::usage::UsageKind;

use crate::event::millis;
use crate::schema::PATIENT;
use crate::tools::{FileLookup, FileUse, UsedFile, below_home, file_uses, is_name, is_strict_name, skill_file};
use crate::{Ledger, LedgerError, LedgerEvent};

/// The number of files that one import reads, those that were changed last, and the depth of directories.
const MAX_FILES: usize = 20_000;
const MAX_DEPTH: usize = 5;
/// The longest line. Longer ones are pictures and the like.
const MAX_LINE: u64 = 16 << 20;
/// How far ahead the time of a line may be: clocks differ, and years that are far off are mistakes.
const AHEAD: Duration = Duration::from_hours(24);
/// The distance, in milliseconds, at which an event of another program is taken for the same: a hook or a server has
/// recorded it already.
const SAME: i64 = 5_000;

/// An agent whose transcripts can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TranscriptKind {
    /// Claude Code: `~/.claude/projects/*/*.jsonl`.
    Claude,
    /// Codex: `~/.codex/sessions/**/rollout-*.jsonl`.
    Codex,
}

impl TranscriptKind {
    /// Both.
    pub const ALL: [TranscriptKind; 2] = [TranscriptKind::Claude, TranscriptKind::Codex];

    /// Returns its word in the ledger.
    pub fn as_str(self) -> &'static str {
        match self {
            TranscriptKind::Claude => "claude",
            TranscriptKind::Codex => "codex",
        }
    }

    /// Returns where its transcripts are below a home directory.
    ///
    /// ```
    /// use skillcue_usage::TranscriptKind;
    ///
    /// assert!(TranscriptKind::Codex.dir("/home/ann".as_ref()).ends_with(".codex/sessions"));
    /// ```
    pub fn dir(self, home: &Path) -> PathBuf {
        home.join(match self {
            TranscriptKind::Claude => ".claude/projects",
            TranscriptKind::Codex => ".codex/sessions",
        })
    }

    /// Returns the home directory of which [`dir`](TranscriptKind::dir) is a directory.
    fn home_of(self, dir: &Path) -> Option<&Path> {
        let below = self.dir(Path::new(""));
        dir.ends_with(&below).then(|| dir.ancestors().nth(below.components().count())).flatten()
    }

    fn is_transcript(self, name: &str) -> bool {
        let begins = self == TranscriptKind::Claude || name.starts_with("rollout-");
        begins && Path::new(name).extension().is_some_and(|extension| extension == "jsonl")
    }
}

/// A skill in the transcripts of one agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ImportedSkill {
    /// Its name.
    pub name: String,
    /// The agent.
    pub client: TranscriptKind,
    /// In how many of the sessions that were read it was listed.
    pub listed: usize,
    /// How often it was loaded.
    pub loaded: usize,
    /// How often one of its files was read or run.
    pub used: usize,
}

/// The result of an import.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct TranscriptImport {
    /// The number of transcripts that were read.
    pub transcripts: usize,
    /// The number that have not changed since the last time, and were not.
    pub unchanged: usize,
    /// The number of events that are new in the ledger.
    pub added: usize,
    /// The number of events that it had already.
    pub known: usize,
    /// The number of lines that are no JSON, are too long, or have a time more than a day ahead.
    pub bad_lines: usize,
    /// The skills, by name and agent.
    pub skills: Vec<ImportedSkill>,
}

/// The content of one transcript.
#[derive(Debug, Default)]
pub(crate) struct Transcript {
    pub(crate) session: String,
    pub(crate) cwd: Option<PathBuf>,
    pub(crate) listed: BTreeSet<String>,
    /// The skills that the part listed that an earlier import has read.
    listed_before: BTreeSet<String>,
    pub(crate) turn: u64,
    pub(crate) uses: Vec<TranscriptUse>,
    /// The uses of calls that failed. An earlier import may have read the call, and not its result.
    failed: Vec<TranscriptUse>,
    /// The home directory in which the transcript is.
    home: Option<PathBuf>,
    /// The times of results, by the ids of their calls.
    results: HashMap<String, SystemTime>,
    bad_lines: usize,
}

/// A use of a skill in a transcript.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TranscriptUse {
    pub(crate) kind: UsageKind,
    pub(crate) skill: String,
    pub(crate) at: SystemTime,
    pub(crate) turn: u64,
    /// The id of the call, if its result may say that it failed.
    pub(crate) call: Option<String>,
    /// The file, below the skill.
    pub(crate) item: Option<String>,
    pub(crate) source: NameSource,
}

/// The place in a transcript where the name of a skill was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NameSource {
    /// The client itself has loaded it: it is a skill.
    Client,
    /// A model has written it, as an argument of a tool of ours. It is a skill if it is known or listed, or if it has the form
    /// of a skill's name and the call has succeeded: anything else may be text.
    OwnTool,
    /// A path or a message: it is a skill if it is known or listed.
    Guess,
}

/// Reads the transcripts below a directory into a ledger. `name_of` returns the name of the skill that an agent calls so, if there
/// is one: agents write `office:pdf` for the skill `pdf` of a plugin. `project_of` returns the project that a working directory
/// is in; lines that are more than a day later than `now` are not read. What the ledger has already, from a hook or an earlier
/// import, is not added again. No text of a message is read into it.
///
/// ```
/// use skillcue_usage::{Ledger, TranscriptKind, import_transcripts};
///
/// let home = tempfile::tempdir()?;
/// let dir = home.path().join(".claude/projects/-work");
/// std::fs::create_dir_all(&dir)?;
/// std::fs::write(dir.join("s1.jsonl"), concat!(
///     r#"{"type":"assistant","sessionId":"s1","cwd":"/work","timestamp":"2026-11-17T21:32:51.507Z","message":{"content":"#,
///     r#"[{"type":"tool_use","id":"c1","name":"Skill","input":{"skill":"pdf"}}]}}"#, "\n",
/// ))?;
/// let ledger = Ledger::new(home.path().join("usage.db"));
/// let kind = TranscriptKind::Claude;
/// let now = skillcue_base::parse_rfc3339("2026-11-18T00:00:00Z").unwrap();
/// let name_of = |called: &str| (called == "pdf").then(|| called.to_owned());
/// let read = import_transcripts(&ledger, kind, &kind.dir(home.path()), &name_of, &|cwd| cwd.to_path_buf(), now)?;
/// assert_eq!((read.added, read.skills[0].name.as_str(), read.skills[0].loaded), (1, "pdf", 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn import_transcripts(
    ledger: &Ledger,
    kind: TranscriptKind,
    dir: &Path,
    name_of: &dyn Fn(&str) -> Option<String>,
    project_of: &dyn Fn(&Path) -> PathBuf,
    now: SystemTime,
) -> Result<TranscriptImport, LedgerError> {
    let files = files_below(kind, dir);
    let latest = now.checked_add(AHEAD).unwrap_or(now);
    let home = kind.home_of(dir);
    let mut import = TranscriptImport::default();
    if files.is_empty() {
        return Ok(import);
    }
    let mut skills: BTreeMap<String, ImportedSkill> = BTreeMap::new();
    let connection = ledger.open(PATIENT)?;
    let fail = |error: rusqlite::Error| LedgerError::database(ledger.path(), &error);
    for (path, bytes) in files {
        let name = path.display().to_string();
        let size = i64::try_from(bytes).unwrap_or(i64::MAX);
        let found = loop {
            let before = bytes_read(&connection, &name).map_err(fail)?;
            let read_before = before.map_or(0, i64::unsigned_abs);
            let transcript = (before != Some(size)).then(|| read(kind, &path, home, read_before, latest)).flatten();
            let Some(transcript) = transcript else { break None };
            // No write is kept waiting while a transcript is read. Another import may have added it meanwhile.
            let change = Transaction::new_unchecked(&connection, TransactionBehavior::Immediate).map_err(fail)?;
            if bytes_read(&change, &name).map_err(fail)? == before {
                break Some((transcript, change));
            }
        };
        let Some((transcript, change)) = found else {
            import.unchanged += 1;
            continue;
        };
        import.transcripts += 1;
        import.bad_lines += transcript.bad_lines;
        let is_skill = |used: &TranscriptUse, is_known: bool| match used.source {
            NameSource::Client => true,
            _ if is_known || transcript.listed.contains(&used.skill) => true,
            NameSource::OwnTool => transcript.result_of(used).is_some() && is_strict_name(&used.skill),
            NameSource::Guess => false,
        };
        let project = transcript.cwd.as_deref().map(|cwd| project_of(cwd).display().to_string()).unwrap_or_default();
        let named = |called: &str| name_of(called).unwrap_or_else(|| called.to_owned());
        let entry = |name: &str| ImportedSkill { name: name.to_owned(), client: kind, listed: 0, loaded: 0, used: 0 };
        for used in &transcript.failed {
            let sql = "DELETE FROM events
                       WHERE at = ?1 AND kind = ?2 AND skill IN (?3, ?6) AND session = ?4 AND client = ?5";
            let (at, name) = (millis(used.at), named(&used.skill));
            let values = params![at, used.kind.as_str(), used.skill, transcript.session, kind.as_str(), name];
            change.execute(sql, values).map_err(fail)?;
        }
        let names = |listed: &BTreeSet<String>| listed.iter().map(|name| named(name)).collect::<BTreeSet<_>>();
        let listed_before = names(&transcript.listed_before);
        for listed in &names(&transcript.listed) {
            skills.entry(listed.clone()).or_insert_with(|| entry(listed)).listed += 1;
            if listed_before.contains(listed) {
                continue;
            }
            let sql = "INSERT INTO listings VALUES (?1, ?2, 1)
                       ON CONFLICT (skill, client) DO UPDATE SET sessions = sessions + 1";
            change.execute(sql, params![listed, kind.as_str()]).map_err(fail)?;
        }
        for used in &transcript.uses {
            let known = name_of(&used.skill);
            if !is_skill(used, known.is_some()) {
                continue;
            }
            let event = LedgerEvent {
                at: used.at,
                project: project.clone(),
                session: transcript.session.clone(),
                turn: used.turn,
                client: kind.as_str().to_owned(),
                item: used.item.clone(),
                ..LedgerEvent::new(used.kind, known.as_ref().unwrap_or(&used.skill))
            };
            let skill = skills.entry(event.skill.clone()).or_insert_with(|| entry(&event.skill));
            *if used.kind == UsageKind::Loaded { &mut skill.loaded } else { &mut skill.used } += 1;
            if has(&change, &event, &used.skill, transcript.result_of(used)).map_err(fail)? {
                import.known += 1;
            } else {
                LedgerEvent::insertion(&change).and_then(|mut one| event.insert(&mut one)).map_err(fail)?;
                import.added += 1;
            }
        }
        let sql = "INSERT INTO transcripts VALUES (?1, ?2) ON CONFLICT (path) DO UPDATE SET bytes = excluded.bytes";
        change.execute(sql, params![name, size]).map_err(fail)?;
        change.commit().map_err(fail)?;
    }
    import.skills = skills.into_values().collect();
    Ok(import)
}

/// Returns how many bytes of a transcript were read; `None` if it is new.
fn bytes_read(connection: &Connection, transcript: &str) -> rusqlite::Result<Option<i64>> {
    let sql = "SELECT bytes FROM transcripts WHERE path = ?1";
    connection.query_row(sql, [transcript], |row| row.get(0)).optional()
}

/// Returns whether the ledger has an event already: near the time of the call, or near that of its result, which is when a hook
/// sees it; by the name of its skill, or as it was `called`, which earlier versions kept. A file that is not known may be any.
fn has(
    connection: &Connection,
    event: &LedgerEvent,
    called: &str,
    result: Option<SystemTime>,
) -> rusqlite::Result<bool> {
    let sql = "SELECT EXISTS (SELECT 1 FROM events WHERE (at BETWEEN ?1 - ?10 AND ?1 + ?10 OR at BETWEEN ?2 - ?10 AND ?2 + ?10)
               AND kind = ?3 AND skill IN (?4, ?11) AND (project = ?5 OR session = ?6) AND (item IS ?7 OR ?9 AND client <> ?8)
               AND (client <> ?8 OR at = ?1))";
    let at = millis(event.at);
    let is_any_file = event.kind != UsageKind::Loaded && event.item.is_none();
    connection.query_row(
        sql,
        params![
            at,
            result.map_or(at, millis),
            event.kind.as_str(),
            event.skill,
            event.project,
            event.session,
            event.item,
            event.client,
            is_any_file,
            SAME,
            called
        ],
        |row| row.get(0),
    )
}

/// Returns the newest transcripts below a directory with their sizes, by path.
fn files_below(kind: TranscriptKind, dir: &Path) -> Vec<(PathBuf, u64)> {
    let mut files = Vec::new();
    collect(kind, dir, 0, &mut files);
    files.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    files.truncate(MAX_FILES);
    let mut files: Vec<(PathBuf, u64)> = files.into_iter().map(|(_, path, size)| (path, size)).collect();
    files.sort();
    files
}

/// Collects transcripts with the times of their last changes and their sizes, without following links.
fn collect(kind: TranscriptKind, dir: &Path, depth: usize, files: &mut Vec<(SystemTime, PathBuf, u64)>) {
    let Ok(entries) = fs::read_dir(dir) else { return };
    for entry in entries.flatten() {
        let Ok(metadata) = entry.metadata() else { continue };
        if metadata.is_dir() && depth < MAX_DEPTH {
            collect(kind, &entry.path(), depth + 1, files);
        } else if metadata.is_file() && entry.file_name().to_str().is_some_and(|name| kind.is_transcript(name)) {
            files.push((metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH), entry.path(), metadata.len()));
        }
    }
}

/// Reads one transcript up to a time, of which an earlier import has read so many bytes; `None` if it cannot be opened.
fn read(
    kind: TranscriptKind,
    path: &Path,
    home: Option<&Path>,
    read_before: u64,
    latest: SystemTime,
) -> Option<Transcript> {
    let mut transcript = Transcript { home: home.map(Path::to_path_buf), ..Transcript::default() };
    let mut reader = BufReader::new(File::open(path).ok()?);
    let (mut line, mut bytes) = (Vec::new(), 0_u64);
    loop {
        line.clear();
        let mut limited = std::io::Read::take(&mut reader, MAX_LINE);
        if limited.read_until(b'\n', &mut line).ok()? == 0 {
            break;
        }
        match serde_json::from_slice::<Value>(&line) {
            Ok(value) if time_of(&value).is_some_and(|at| at > latest) => transcript.bad_lines += 1,
            Ok(value) if kind == TranscriptKind::Claude => claude::read_line(&value, &mut transcript),
            Ok(value) => codex::read_line(&value, &mut transcript),
            // The last line may be half written: the next import reads it.
            Err(_) if line.iter().all(u8::is_ascii_whitespace) => {}
            Err(_) => transcript.bad_lines += 1,
        }
        bytes += line.len() as u64;
        // A line that was half written then was not read.
        if bytes <= read_before {
            transcript.listed_before.clone_from(&transcript.listed);
        }
    }
    if transcript.session.is_empty() {
        transcript.session = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    }
    Some(transcript)
}

impl Transcript {
    /// Adds a use, once a call.
    pub(crate) fn used(&mut self, used: TranscriptUse) {
        if !self.uses.contains(&used) {
            self.uses.push(used);
        }
    }

    /// Adds what a call of a tool, with its time and id, does with a skill.
    fn called(&mut self, (at, call): (SystemTime, Option<&str>), source: NameSource, used: FileUse) {
        let FileUse { kind, file: UsedFile { skill, item } } = used;
        self.used(TranscriptUse { kind, skill, at, turn: self.turn, call: call.map(str::to_owned), item, source });
    }

    /// Notes when a call was answered without an error.
    pub(crate) fn answered(&mut self, call: &str, at: Option<SystemTime>) {
        if let Some(at) = at.filter(|_| self.uses.iter().any(|used| used.call.as_deref() == Some(call))) {
            self.results.insert(call.to_owned(), at);
        }
    }

    /// Returns when the call of a use was answered without an error.
    fn result_of(&self, used: &TranscriptUse) -> Option<SystemTime> {
        self.results.get(used.call.as_ref()?).copied()
    }

    /// Returns the uses of skills' files by a call of a tool that is not ours. The files may be on another machine, or gone.
    pub(crate) fn file_uses(&self, tool: &str, arguments: &Value, dir: Option<&str>) -> Vec<FileUse> {
        let home = self.home.as_deref();
        let at = |written: &str| match below_home(written).zip(home) {
            Some((below, home)) => skill_file(home.join(below).to_str()?),
            None => skill_file(written),
        };
        file_uses(tool, arguments, dir, FileLookup { at: &at, are_checked: false })
    }

    /// Takes back the uses of a call that failed.
    pub(crate) fn failed(&mut self, call: &str) {
        self.failed.extend(self.uses.extract_if(.., |used| used.call.as_deref() == Some(call)));
    }
}

/// Returns the time of a line.
pub(crate) fn time_of(line: &Value) -> Option<SystemTime> {
    skillcue_base::parse_rfc3339(line.get("timestamp")?.as_str()?)
}

/// Returns the skills of a list in which each has a line `- name: description`.
pub(crate) fn listed_names(list: &str) -> impl Iterator<Item = String> {
    list.lines().filter_map(|line| {
        let name = line.strip_prefix("- ")?.split(": ").next()?;
        is_name(name).then(|| name.to_owned())
    })
}
