//! `skillcue studio`: a page that shows what a model would get, and why.

mod answers;
mod edits;
mod evals;
mod messages;
mod opener;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, SystemTime};

use skillcue::Changes;
use skillcue::watch::{WatchEvent, WatchOptions};
use skillcue_base::{os_message, replace_file};
use skillcue_host::EvalHistory;
use skillcue_studio::{
    ExportedPage, Redaction, StudioEvent, StudioEvents, StudioFailure, StudioOptions, StudioQuestion, StudioServer,
    export,
};
use skillcue_usage::Ledger;

use crate::Outcome;
use crate::context::Context;
use crate::error::CliError;
use crate::progress::ProgressIndicator;
use crate::report::Printout;
use crate::terminal::{paint, style};
use crate::text;
use answers::StudioAnswers;
use messages::StudioMessages;

const AFTER: &str = "\
Examples:
  skillcue studio                                 the page, in the browser
  skillcue studio --edit                          descriptions can be saved, after a look at the change
  skillcue studio --messages messages.jsonl       with messages to choose from, and their evaluation
  skillcue studio --export report.html            one file with the same views, for CI and pull requests

The page is on this machine only, and its address works once. It is read-only unless --edit is given. An exported page
needs no server and no network; secrets and the paths of your home directory are left out of it.
With --json it prints {address, port, edit}, or with --export {file, bytes, unanswered: [{question, code, message}]}.";

/// How often the ledger and other records are looked at while a page listens.
const RECORDS_INTERVAL: Duration = Duration::from_secs(2);

/// Most names of changed skills that a page is told.
const MAX_CHANGED: usize = 8;

/// Most conversations whose requests an exported page has.
const MAX_TRACES: usize = 5;

/// The size from which an exported page is called large, in bytes: forges show artefacts of up to 10 MB.
const LARGE_PAGE: usize = 10_000_000;

/// Context windows whose lists of skills an exported page has.
const EXPORTED_WINDOWS: [usize; 8] = [8_000, 16_000, 32_000, 64_000, 128_000, 200_000, 400_000, 1_000_000];

#[derive(Debug, clap::Args)]
#[command(after_help = crate::cli::footer(AFTER))]
pub(crate) struct Args {
    /// The port to listen on [default: any that is free]
    #[arg(long, value_name = "N")]
    port: Option<u16>,
    /// Print the address, and open no browser
    #[arg(long)]
    no_open: bool,
    /// Let the page save descriptions
    #[arg(long, conflicts_with = "export")]
    edit: bool,
    /// Write the page with its data into one file instead
    #[arg(long, value_name = "FILE.html", conflicts_with_all = ["port", "no_open"])]
    export: Option<PathBuf>,
    /// Messages to choose from: one a line, or labelled as for `eval`
    #[arg(long, value_name = "FILE")]
    messages: Option<PathBuf>,
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<Outcome, CliError> {
    let messages = args.messages.as_deref().map(|file| StudioMessages::read(file, context)).transpose()?;
    let answers = StudioAnswers::new(context, messages.unwrap_or_default(), args.edit, args.export.is_some())?;
    context.print_diagnostics();
    match &args.export {
        Some(file) => write_page(file, &answers, context),
        None => serve(args, answers, context),
    }
}

fn serve(args: &Args, answers: StudioAnswers, context: &Context) -> Result<Outcome, CliError> {
    let skills = Arc::clone(context.skills()?);
    let events = StudioEvents::default();
    // Without either of the two the page is as it was when it was opened.
    let watching = {
        let (events, skills, changes) = (events.clone(), Arc::clone(&skills), answers.changes());
        context.host()?.watch(WatchOptions::default(), move |event| {
            if let WatchEvent::Changed(found) = event {
                changes.fetch_add(1, Ordering::SeqCst);
                events.send(StudioEvent::Catalog { names: changed(found), skills: skills.catalog().len() });
            }
        })?
    };
    context.host()?.read_ahead()?;
    watch_records(StudioRecords::of(context)?, events.clone());
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let mut options = StudioOptions::default();
    (options.port, options.edit, options.events) = (args.port.unwrap_or(0), args.edit, events);
    runtime.block_on(async {
        let server = StudioServer::bind(answers, options).await.map_err(|error| {
            let message = format!("cannot listen on port {}: {}", args.port.unwrap_or(0), os_message(&error));
            CliError::failure("port", message).help("choose another port, or leave --port out")
        })?;
        let address = server.address();
        if context.json() {
            let document = serde_json::json!({"address": address, "port": server.port(), "edit": args.edit});
            context.terminal.print_bytes(format!("{document}\n").as_bytes())?;
            context.terminal.flush()?;
        } else {
            let is_open = !args.no_open && opener::open(&address, context);
            let what = text::count(skills.catalog().len(), "skill");
            let mode = if args.edit { ", and descriptions can be saved" } else { "" };
            let said = if is_open { "opened in the browser" } else { "open this address; it works once" };
            context.terminal.say(&format!("{what} on one page{mode}; {said}"));
            context.terminal.say(&format!("  {}", paint(style::COMMAND, &address)));
            context.terminal.say(&paint(style::DIM, "Ctrl-C ends it"));
        }
        tokio::select! {
            () = server.run() => {}
            () = ended() => {}
        }
        Ok::<_, CliError>(())
    })?;
    drop(watching);
    // A question under way is not waited for.
    runtime.shutdown_background();
    Ok(Outcome::Done)
}

/// Waits for Ctrl-C and the like, which is how it ends and no failure.
async fn ended() {
    use tokio::signal::unix::{SignalKind, signal};
    let Ok(mut terminate) = signal(SignalKind::terminate()) else { return std::future::pending().await };
    tokio::select! {
        _ = tokio::signal::ctrl_c() => {}
        _ = terminate.recv() => {}
    }
}

fn changed(changes: &Changes) -> Vec<String> {
    let names = changes.added.iter().chain(&changes.removed).chain(&changes.updated).chain(&changes.files);
    names.take(MAX_CHANGED).cloned().collect()
}

/// Records of the page beside skills, which other programs write.
#[derive(Debug)]
struct StudioRecords {
    ledger: Option<Ledger>,
    consent: Option<PathBuf>,
    evals: Option<PathBuf>,
}

/// The stamps by which a change of records is noticed.
#[derive(Debug, Clone, PartialEq, Eq)]
struct RecordStamps {
    events: u64,
    consent: Option<SystemTime>,
    evals: Option<SystemTime>,
}

impl StudioRecords {
    fn of(context: &Context) -> Result<StudioRecords, CliError> {
        let host = context.host()?;
        let consent = host.consent_store().path().map(PathBuf::from);
        let evals = EvalHistory::of(context.environment()?).map(|history| history.dir());
        Ok(StudioRecords { ledger: host.ledger()?, consent, evals })
    }

    fn stamps(&self) -> RecordStamps {
        let changed = |path: &Option<PathBuf>| path.as_ref()?.metadata().ok()?.modified().ok();
        let state = self.ledger.as_ref().and_then(|ledger| ledger.state().ok().flatten());
        let events = state.map_or(0, |state| state.events);
        RecordStamps { events, consent: changed(&self.consent), evals: changed(&self.evals) }
    }
}

/// Tells pages when the ledger has new events, something was allowed, or an evaluation was kept.
fn watch_records(records: StudioRecords, events: StudioEvents) {
    let look = move || {
        let mut known = records.stamps();
        loop {
            std::thread::sleep(RECORDS_INTERVAL);
            if events.listeners() == 0 {
                continue;
            }
            let now = records.stamps();
            if now.events != known.events {
                events.send(StudioEvent::Ledger { events: now.events });
            }
            if now.consent != known.consent {
                events.send(StudioEvent::Consent {});
            }
            if now.evals != known.evals {
                events.send(StudioEvent::Evals {});
            }
            known = now;
        }
    };
    // Without a thread, pages show new records when they are loaded again.
    let _ = std::thread::Builder::new().name("skillcue-records".to_owned()).spawn(look);
}

/// Writes the page with answers to everything that its views ask.
fn write_page(file: &std::path::Path, answers: &StudioAnswers, context: &Context) -> Result<Outcome, CliError> {
    let environment = context.environment()?;
    let mut redaction = Redaction::default();
    let home = environment.home.iter().map(|dir| (dir, "~"));
    let data = environment.data_home.iter().map(|dir| (dir, "~"));
    let dirs = environment.project().into_iter().chain(environment.cwd.as_deref()).map(|dir| (dir, "."));
    for (dir, shown) in home.chain(data).map(|(dir, shown)| (dir.as_path(), shown)).chain(dirs) {
        redaction = redaction.directory(dir, shown);
        if let Ok(real) = dir.canonicalize() {
            redaction = redaction.directory(real, shown);
        }
    }
    let evaluating = ProgressIndicator::spinner("evaluating messages");
    let questions = questions(answers);
    drop(evaluating);
    let progress = ProgressIndicator::bar("answering what the page asks", questions.len());
    let questions = questions.into_iter().inspect(|_| progress.step());
    let ExportedPage { html, unanswered } = export(answers, questions, &redaction);
    drop(progress);
    replace_file(file, [html.as_bytes()]).map_err(|error| CliError::write(file, &error))?;
    let row = |(question, why): &(String, StudioFailure)| serde_json::json!({"question": question, "code": why.code, "message": why.message});
    let document = serde_json::json!({"file": file.to_string_lossy(), "bytes": html.len(),
        "unanswered": unanswered.iter().map(row).collect::<Vec<_>>()});
    context.report(Outcome::Done, &document, || {
        let size = text::bytes(html.len() as u64);
        let (inside, all) = answers.message_counts();
        let some =
            (inside < all).then(|| format!("{inside} of {} can be looked at in it", text::count(all, "message")));
        let large = (html.len() > LARGE_PAGE)
            .then(|| "it is large: CI and mail may refuse it; fewer messages or skills make it smaller".to_owned());
        let wrote = format!("wrote {} ({size}); open it in a browser", context.short_path(file));
        Printout::of_remark(wrote).remarks(some.into_iter().chain(large))
    })
}

/// Returns the questions that an exported page can answer.
fn questions(answers: &StudioAnswers) -> Vec<StudioQuestion> {
    let mut questions = vec![
        StudioQuestion::About {},
        StudioQuestion::List {},
        StudioQuestion::Doctor {},
        StudioQuestion::Collisions {},
        StudioQuestion::Evals {},
        StudioQuestion::Traces {},
        StudioQuestion::Usage { since: "30d".to_owned() },
        StudioQuestion::Audit {},
        StudioQuestion::Verify {},
        StudioQuestion::Allowed {},
        StudioQuestion::Denied {},
    ];
    questions.extend(EXPORTED_WINDOWS.map(|window| StudioQuestion::Prompt { window }));
    questions.extend(answers.trace_ids().into_iter().take(MAX_TRACES).map(|session| StudioQuestion::Trace { session }));
    questions.extend(answers.eval_ids().into_iter().map(|run| StudioQuestion::Eval { run }));
    for message in answers.messages() {
        let (message, config) = (message.to_owned(), skillcue_studio::StudioConfig::default());
        questions.push(StudioQuestion::Context { message: message.clone(), config: config.clone() });
        questions.push(StudioQuestion::Why { message, name: None, config });
    }
    questions
}
