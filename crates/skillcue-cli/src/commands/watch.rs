//! `skillcue watch`: changes on disk, a line each.

mod line;

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{self, Sender};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags};
use skillcue::watch::{WatchEvent, WatchOptions, WatchState};

use crate::Outcome;
use crate::context::Context;
use crate::error::CliError;
use crate::signals::on_signal;
use crate::terminal::{paint, style};
use crate::text;
use line::WatchLine;

const AFTER: &str = "\
Examples:
  skillcue watch                     until Ctrl-C
  skillcue watch --once              until something changes
  skillcue watch --json | jq .name   one JSON object a line

A line says `added`, `updated` (with what of it changed), `removed`, `files` (others than the skill file), or
that a finding came (with its severity and code) or is `mended`. If the system cannot report changes, it
looks every few seconds, and says `polling`.
With --json each line is {event, …}: added, updated, removed and files have {name, path}, updated also
{changed}; found and mended have {diagnostic}; polling has {reason}; watching has {directories}.";

/// How often the watcher is asked whether it has begun.
const POLL_INTERVAL: Duration = Duration::from_millis(5);

#[derive(Debug, clap::Args)]
#[command(after_help = crate::cli::footer(AFTER))]
pub(crate) struct Args {
    /// End after the first change
    #[arg(long)]
    once: bool,
    /// Look every SECONDS instead of waiting for the system's events: for network file systems
    #[arg(long, value_name = "SECONDS", allow_negative_numbers = true, value_parser = clap::value_parser!(u32).range(1..=86_400))]
    poll: Option<u32>,
}

/// A message to the loop of `watch`.
enum WatchMessage {
    Event(WatchEvent),
    /// The watcher has begun.
    Begun(WatchState),
    /// A signal, or the reader of stdout is gone.
    End,
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<Outcome, CliError> {
    let skills = context.local_skills()?;
    let mut old = skills.catalog();
    let mut options = WatchOptions::default();
    if let Some(seconds) = args.poll {
        options.poll = true;
        options.poll_interval = Duration::from_secs(seconds.into());
    }
    let (send, told) = mpsc::channel();
    // Ctrl-C and the like are how watching ends; that is no failure.
    let ends = send.clone();
    on_signal(move |_| drop(ends.send(WatchMessage::End)));
    end_with_the_reader(send.clone());
    let events = send.clone();
    // A send fails only once the loop has ended.
    let watching = skills.watch(options, move |event| drop(events.send(WatchMessage::Event(event.clone()))));
    let watching = Arc::new(watching);
    let (begun, watcher) = (send, Arc::downgrade(&watching));
    let wait = move || {
        while let Some(state) = watcher.upgrade().map(|watching| watching.state()) {
            if state != WatchState::Starting {
                return drop(begun.send(WatchMessage::Begun(state)));
            }
            std::thread::sleep(POLL_INTERVAL);
        }
    };
    // Without a thread it is not reported that watching has begun, and that is all.
    let _ = std::thread::Builder::new().name("skillcue-begun".to_owned()).spawn(wait);
    let out = WatchOutput { context };
    for told in told {
        let event = match told {
            WatchMessage::Event(event) => event,
            WatchMessage::Begun(state) => {
                if out.is_reader_gone(out.begun(state, old.len()))? {
                    break;
                }
                continue;
            }
            WatchMessage::End => break,
        };
        let is_change = matches!(event, WatchEvent::Changed(_));
        let new = skills.catalog();
        let printed = WatchLine::of(&event, &old, &new).iter().try_for_each(|news| out.print(news));
        old = new;
        if out.is_reader_gone(printed)? || (args.once && is_change) {
            break;
        }
    }
    // The process ends now, without waiting until all directories were gone through.
    std::mem::forget(watching);
    Ok(Outcome::Done)
}

struct WatchOutput<'o> {
    context: &'o Context,
}

impl WatchOutput<'_> {
    /// Returns whether the reader of stdout is gone.
    fn is_reader_gone(&self, printed: Result<(), CliError>) -> Result<bool, CliError> {
        match printed.and_then(|()| Ok(self.context.terminal.flush()?)) {
            Err(error) if error.is_broken_pipe() => Ok(true),
            other => other.map(|()| false),
        }
    }

    fn print(&self, news: &WatchLine) -> Result<(), CliError> {
        if self.context.json() {
            return self.line(&news.json());
        }
        let shown = |path: &std::path::Path| self.context.short_path(path);
        Ok(self.context.terminal.print(&format!("{}\n", news.text(&shown)))?)
    }

    /// Prints that watching has begun: for programs as a line, for people on stderr.
    fn begun(&self, state: WatchState, skills: usize) -> Result<(), CliError> {
        if self.context.json() {
            return match state {
                WatchState::Notified { directories } => {
                    self.line(&WatchLine::Watching { directories: Some(directories) }.json())
                }
                _ => self.line(&WatchLine::Watching { directories: None }.json()),
            };
        }
        let skills = text::count(skills, "skill");
        let line = match state {
            WatchState::Notified { directories } => {
                format!("watching {skills} in {}", text::count(directories, "directory"))
            }
            _ => format!("looking at {skills} now and then"),
        };
        self.context.terminal.say(&paint(style::DIM, line));
        Ok(())
    }

    /// On one line, on a terminal as well.
    fn line(&self, json: &serde_json::Value) -> Result<(), CliError> {
        Ok(self.context.terminal.print_bytes(format!("{json}\n").as_bytes())?)
    }
}

/// Ends the loop when the reader of stdout goes away: while nothing happens, no write would fail.
fn end_with_the_reader(send: Sender<WatchMessage>) {
    let wait = move || {
        loop {
            // With no flags, only a closed other end is reported, and for files and terminals nothing ever is.
            let stdout = io::stdout();
            let mut asked = [PollFd::new(&stdout, PollFlags::empty())];
            match rustix::event::poll(&mut asked, None) {
                Err(rustix::io::Errno::INTR) => {}
                Ok(ready) if ready > 0 => return drop(send.send(WatchMessage::End)),
                _ => return,
            }
        }
    };
    // Without a thread it ends with the next line.
    let _ = std::thread::Builder::new().name("skillcue-reader".to_owned()).spawn(wait);
}
