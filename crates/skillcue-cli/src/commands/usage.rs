//! `skillcue usage`: what happened to skills, what it cost, and how often it was right.

mod advice;
mod page;
mod period;

use std::collections::BTreeSet;
use std::io::Write as _;
use std::os::unix::fs::MetadataExt as _;
use std::time::{Duration, SystemTime};

use serde::Serialize;
use serde_json::json;
use skillcue_base::rfc3339_seconds;
use skillcue_host::{Environment, LedgerSwitch};
use skillcue_usage::{
    ImportedSkill, KnownSkill, Ledger, LedgerQuery, LedgerState, TranscriptImport, TranscriptKind, UsageGrouping,
    UsageReport, import_transcripts,
};

use crate::cli::words;
use crate::context::Context;
use crate::error::CliError;
use crate::report::Printout;
use crate::{Outcome, text};
use period::Period;

const AFTER: &str = "\
Examples:
  skillcue usage                       the last 30 days: accuracy by week, skills, and those to look at
  skillcue usage --since 8w --by mode  the last eight weeks, by how messages were matched
  skillcue usage --skill pdf-forms     one skill
  skillcue usage import                read the transcripts of Claude Code and Codex, too
  skillcue usage off                   record nothing from now on

A skill that was shown is right if it was then loaded, or one of its files, scripts or tools was used. A body that was shown
and not used is wrong; a name is an offer, and one that was not taken is neither right nor wrong. A skill was missed if a search
found it and it was loaded, though it had not been shown. A body that is shown leaves nothing to load: until its skill gives a
sign of use, it is unclear. A skill is dead if it was never shown in 14 days and 100 messages since its file was last changed.
Everything stays on this machine, and no text of messages is kept unless
`text = true` is below [usage] in your skillcue.toml.
With --json it prints {recording, since, dropped, events, messages, accuracy: {right, wrong, offered, missed, unclear}, rate,
skills: [{name, shown, named, bodies, tokens, loaded, read, run, declined, right, wrong, offered, missed, unclear, rate, last,
weeks}], weeks, clients, modes, versions: [{key, shown, loaded, tokens, right, wrong, offered, missed, unclear, rate}], findings:
{dead, untried, stuck, silent, missed, confused: [{shown, used, times}]}, listed: [{skill, client, sessions}]}.";

#[derive(Debug, clap::Args)]
#[command(after_help = crate::cli::footer(AFTER), args_conflicts_with_subcommands = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Option<UsageCommand>,
    /// How far back: 12h, 30d, 8w, a date such as 2026-11-01, or `all`
    #[arg(long, value_name = "TIME", default_value = "30d")]
    since: Period,
    /// One skill only
    #[arg(long, value_name = "NAME")]
    skill: Option<String>,
    /// The property by which the accuracy is grouped
    #[arg(long, value_parser = words(GROUPINGS), default_value = "week")]
    by: UsageGrouping,
    /// This project only
    #[arg(long)]
    project: bool,
}

const GROUPINGS: &[(&str, UsageGrouping, &str)] = &[
    ("week", UsageGrouping::Week, "The week"),
    ("client", UsageGrouping::Client, "The program"),
    ("mode", UsageGrouping::Mode, "The mode of matching"),
    ("version", UsageGrouping::Version, "The version of the index"),
];

#[derive(Debug, clap::Subcommand)]
enum UsageCommand {
    /// Record what happens to skills
    On,
    /// Record nothing from now on
    Off,
    /// Remove everything that was recorded
    Purge {
        /// Do not ask
        #[arg(short, long)]
        yes: bool,
    },
    /// Print everything that was recorded, a line of JSON an event
    Export {
        /// Texts of messages, too, if they were kept
        #[arg(long)]
        with_text: bool,
        /// How far back
        #[arg(long, value_name = "TIME", default_value = "all")]
        since: Period,
    },
    /// Read the transcripts of Claude Code and Codex: which skills they listed, loaded and used
    Import {
        /// The agent: claude or codex [default: both]
        #[arg(value_parser = words(AGENTS))]
        agent: Option<TranscriptKind>,
    },
}

const AGENTS: &[(&str, TranscriptKind, &str)] = &[
    ("claude", TranscriptKind::Claude, "Claude Code: ~/.claude/projects"),
    ("codex", TranscriptKind::Codex, "Codex: ~/.codex/sessions"),
];

/// Most skills that are named of those that no transcript loads.
const MAX_NAMED: usize = 10;

/// The report for programs.
#[derive(Serialize)]
struct UsageJson<'r> {
    recording: bool,
    since: Option<String>,
    dropped: u64,
    #[serde(flatten)]
    report: &'r UsageReport,
    listed: Vec<ListedJson<'r>>,
}

#[derive(Serialize)]
struct ListedJson<'r> {
    skill: &'r str,
    client: &'r str,
    sessions: u64,
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<Outcome, CliError> {
    context.settings()?;
    match &args.command {
        None => show(args, context, None),
        Some(UsageCommand::On) => switch(true, context),
        Some(UsageCommand::Off) => switch(false, context),
        Some(UsageCommand::Purge { yes }) => purge(*yes, context),
        Some(UsageCommand::Export { with_text, since }) => export(*with_text, since, context),
        Some(UsageCommand::Import { agent }) => import(*agent, context),
    }
}

fn ledger(context: &Context) -> Result<Ledger, CliError> {
    context.host()?.ledger()?.ok_or_else(|| {
        CliError::failure("no_directory", "there is no directory for the ledger")
            .help("set HOME or XDG_DATA_HOME to a directory that you may write to")
    })
}

/// Returns the document that `usage --json` prints.
pub(super) fn json(since: &str, context: &Context) -> Result<Vec<u8>, CliError> {
    let since: Period = since.parse().map_err(|why: String| CliError::usage("usage", why))?;
    let args = Args { command: None, since, skill: None, by: UsageGrouping::Week, project: false };
    let mut document = Vec::new();
    show(&args, context, Some(&mut document))?;
    Ok(document)
}

/// Prints the report, or puts its document into `taken`.
fn show(args: &Args, context: &Context, taken: Option<&mut Vec<u8>>) -> Result<Outcome, CliError> {
    let ledger = ledger(context)?;
    let switch = context.host()?.ledger_switch()?;
    let state = ledger.state()?;
    let since = args.since.start(SystemTime::now());
    let project = args.project.then(|| context.host().map(skillcue_host::Host::project_name)).transpose()?;
    let query = LedgerQuery { since, project, ..LedgerQuery::default() };
    let (events, messages) = (ledger.events(&query)?, ledger.messages(&query)?);
    let known = known(context)?;
    let now = SystemTime::now();
    let report = match &args.skill {
        None => UsageReport::with_messages(&events, &known, &messages, now),
        Some(name) => {
            let has_events = events.iter().any(|event| event.skill == *name);
            if !has_events && !known.iter().any(|skill| skill.name == *name) {
                context.local_skills()?.check_known(name)?;
            }
            UsageReport::of_skill(name, &events, &known, &messages, now)
        }
    };
    let listings = ledger.listings()?;
    let listed = listings.iter().filter(|(skill, ..)| args.skill.as_ref().is_none_or(|name| name == skill));
    let document = UsageJson {
        recording: switch == LedgerSwitch::On,
        since: since.map(rfc3339_seconds),
        dropped: state.map_or(0, |state| state.dropped),
        report: &report,
        listed: listed.map(|(skill, client, sessions)| ListedJson { skill, client, sessions: *sessions }).collect(),
    };
    if let Some(taken) = taken {
        *taken = serde_json::to_vec(&document)?;
        return Ok(Outcome::Done);
    }
    context.report(Outcome::Done, &document, || {
        // Elsewhere than on a terminal, a finding is one line.
        let columns = context.terminal.width().unwrap_or(10_000);
        let lost = state.as_ref().map_or(0, |state| state.dropped);
        let lost = (lost > 0).then(|| format!("{} could not be recorded", text::count(lost, "event")));
        if report.events == 0 && report.messages == 0 {
            return empty(switch, state, args).remarks(lost.into_iter().chain(off(switch)));
        }
        let page = page::page(&report, args.by, args.skill.as_deref(), &listings, columns);
        let page = match &args.skill {
            Some(name) if page.is_empty() => {
                format!("nothing was recorded about {} in this time\n", text::one_line(name))
            }
            _ => page,
        };
        let (events, messages) = (report.events as u64, report.messages);
        let period = format!("{}, {}, {}", args.since, text::count(messages, "message"), text::count(events, "event"));
        Printout::from(page).dim(period).remarks(lost.into_iter().chain(off(switch)))
    })
}

/// Returns the skills that models may see, and since when each is as it is: a changed description gets a new chance. Bundled
/// ones show what skills are, and may rest.
fn known(context: &Context) -> Result<Vec<KnownSkill>, CliError> {
    let catalog = context.local_skills()?.catalog();
    let counts = |skill: &&skillcue::Skill| skill.is_for_models() && skill.source() != skillcue::Source::Bundled;
    let known = |skill: &skillcue::Skill| {
        // The time of the last change as the file system keeps it: no archive or copy can set it back.
        let metadata = skill.dir().join(skill.file().name()).symlink_metadata().ok();
        let seconds = metadata.and_then(|metadata| u64::try_from(metadata.ctime()).ok());
        let since = seconds.and_then(|seconds| SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(seconds)));
        KnownSkill { name: skill.name().to_owned(), since }
    };
    Ok(catalog.skills().filter(counts).map(known).collect())
}

/// Returns what to say where there is nothing to add up.
fn empty(switch: LedgerSwitch, state: Option<LedgerState>, args: &Args) -> Printout {
    match state.filter(|state| state.events > 0) {
        Some(_) => Printout::of_remark(format!("nothing was recorded in this time ({})", args.since))
            .remark("`skillcue usage --since all` shows everything"),
        None if switch == LedgerSwitch::On => Printout::of_remark("nothing was recorded yet")
            .remark("`skillcue mcp`, `skillcue agent` and hooks (`skillcue connect CLIENT --hook`) record what happens to skills")
            .remark("`skillcue usage import` reads the transcripts of Claude Code and Codex"),
        None => Printout::of_remark("nothing was recorded"),
    }
}

/// Returns the remark that nothing is recorded, if so.
fn off(switch: LedgerSwitch) -> Option<String> {
    Some(match switch {
        LedgerSwitch::On => return None,
        LedgerSwitch::OffByUser => "nothing is recorded: it is off; `skillcue usage on` switches it on".to_owned(),
        LedgerSwitch::OffBySetting => {
            "nothing is recorded: `record = false` is below [usage] in skillcue.toml".to_owned()
        }
        LedgerSwitch::OffByVariable => "nothing is recorded: the variable SKILLCUE_USAGE says so".to_owned(),
        LedgerSwitch::Nowhere => "nothing is recorded: there is no data directory".to_owned(),
    })
}

fn switch(on: bool, context: &Context) -> Result<Outcome, CliError> {
    let host = context.host()?;
    host.switch_ledger(on).map_err(|error| {
        let message = format!("the setting cannot be written: {}", skillcue_base::os_message(&error));
        CliError::failure("usage_failed", message).help("set `record` below [usage] in your skillcue.toml")
    })?;
    let switch = host.ledger_switch()?;
    let document = json!({"recording": switch == LedgerSwitch::On});
    context.report(Outcome::Done, &document, || match off(switch).filter(|_| on) {
        Some(why) => Printout::of_remark(why),
        None if on => Printout::of_remark("what happens to skills is recorded, on this machine only"),
        None => Printout::of_remark("nothing is recorded from now on")
            .remark("`skillcue usage purge` removes what was; programs that are running stop with their next start"),
    })
}

fn purge(yes: bool, context: &Context) -> Result<Outcome, CliError> {
    let ledger = ledger(context)?;
    let events = ledger.state()?.map_or(0, |state| state.events);
    if events > 0 && !yes {
        if !context.can_ask() {
            return Err(CliError::usage("usage", format!("{} would be removed", text::count(events, "event")))
                .help("`skillcue usage purge --yes` does it without asking"));
        }
        context.terminal.ask(&format!("Remove {}, for good?", text::count(events, "event")))?;
    }
    let gone = context.host()?.purge_ledger()?;
    context.report(Outcome::Done, &json!({"removed": gone}), || {
        Printout::of_remark(format!("removed {}", text::count(gone, "event")))
    })
}

fn export(with_text: bool, since: &Period, context: &Context) -> Result<Outcome, CliError> {
    let ledger = ledger(context)?;
    let query = LedgerQuery { since: since.start(SystemTime::now()), ..LedgerQuery::default() };
    let (mut lines, mut failed) = (Vec::new(), None);
    ledger.each(&query, |mut event| {
        event.text = event.text.take().filter(|_| with_text);
        let written = serde_json::to_writer(&mut lines, &event).map(|()| drop(lines.write_all(b"\n")));
        failed = failed.take().or(written.err());
    })?;
    if let Some(error) = failed {
        return Err(error.into());
    }
    Outcome::Done.after_printing(context.terminal.print_bytes(&lines).map_err(CliError::from))
}

fn import(agent: Option<TranscriptKind>, context: &Context) -> Result<Outcome, CliError> {
    let ledger = ledger(context)?;
    if let Some(why) = off(context.host()?.ledger_switch()?) {
        return Err(CliError::failure("usage_off", "no transcript is imported while the ledger is off").help(why));
    }
    let catalog = context.local_skills()?.catalog();
    // As hooks name them.
    let name_of =
        |called: &str| catalog.get(called).filter(|skill| skill.is_for_models()).map(|skill| skill.name().to_owned());
    let home = context.environment()?.home.clone().ok_or_else(|| {
        CliError::failure("no_directory", "there is no home directory to look for transcripts in").help("set HOME")
    })?;
    let mut all = TranscriptImport::default();
    for kind in TranscriptKind::ALL.into_iter().filter(|kind| agent.is_none_or(|agent| agent == *kind)) {
        let project_of = |cwd: &std::path::Path| Environment::project_of(cwd).to_path_buf();
        let read = import_transcripts(&ledger, kind, &kind.dir(&home), &name_of, &project_of, SystemTime::now())?;
        all.transcripts += read.transcripts;
        all.unchanged += read.unchanged;
        all.added += read.added;
        all.known += read.known;
        all.bad_lines += read.bad_lines;
        all.skills.extend(read.skills);
    }
    context.report(Outcome::Done, &all, || imported(&all))
}

fn imported(all: &TranscriptImport) -> Printout {
    let used = |skill: &&ImportedSkill| skill.loaded + skill.used > 0;
    let mut rows: Vec<&ImportedSkill> = all.skills.iter().collect();
    rows.sort_by(|a, b| (b.loaded + b.used).cmp(&(a.loaded + a.used)).then_with(|| a.name.cmp(&b.name)));
    // Both agents may have listed it, and one of them may have loaded it.
    let loaded: BTreeSet<&str> = rows.iter().filter(|skill| used(skill)).map(|skill| skill.name.as_str()).collect();
    let names: BTreeSet<&str> = rows.iter().map(|skill| skill.name.as_str()).collect();
    let listed: Vec<String> = names.difference(&loaded).map(|name| text::one_line(name)).collect();
    let cells = rows.iter().filter(|skill| used(skill)).map(|skill| {
        let numbers = [skill.listed, skill.loaded, skill.used].map(|number| text::thousands(number as u64));
        (vec![text::one_line(&skill.name), skill.client.as_str().to_owned()], numbers.to_vec())
    });
    let table = page::table(&["SKILL", "AGENT"], &["LISTED", "LOADED", "USED"], &cells.collect::<Vec<_>>());
    let mut said = vec![format!(
        "read {}, {} unchanged: {} new, {} known already",
        text::count(all.transcripts as u64, "transcript"),
        text::thousands(all.unchanged as u64),
        text::count(all.added as u64, "event"),
        text::thousands(all.known as u64)
    )];
    said.extend((!listed.is_empty()).then(|| {
        let more = listed.len().saturating_sub(MAX_NAMED);
        let more = if more > 0 { format!(" and {} more", text::thousands(more as u64)) } else { String::new() };
        let count = text::count(listed.len() as u64, "skill");
        format!("{count} listed and never loaded in them: {}{more}", listed[..listed.len().min(MAX_NAMED)].join(", "))
    }));
    said.extend(
        (all.bad_lines > 0).then(|| format!("{} could not be read", text::count(all.bad_lines as u64, "line"))),
    );
    said.push("`skillcue usage` adds them up".to_owned());
    Printout::from(if all.skills.iter().any(|skill| used(&skill)) { table } else { String::new() }).remarks(said)
}
