//! `skillcue files`: level 3, the names.

use std::fmt::Write as _;

use serde::Serialize;
use skillcue::catalog::{FileListing, ListedFile};

use crate::Outcome;
use crate::context::Context;
use crate::error::CliError;
use crate::report::Printout;
use crate::terminal::{paint, style};
use crate::text;

const AFTER: &str = "\
Examples:
  skillcue files hello-extended
  skillcue files hello-extended@bundled   the bundled one, if another has its name

With --json it prints {files: [{path, size}]}, and {stopped, skipped} where the list is not all.";

#[derive(Debug, clap::Args)]
#[command(after_help = crate::cli::footer(AFTER))]
pub(crate) struct Args {
    /// The skill: its name, NAME@SOURCE or PLUGIN:NAME
    name: String,
}

/// The listing as JSON. `stopped` and `skipped` are there only if it is incomplete.
#[derive(Serialize)]
struct FilesJson<'l, Stopped, Skipped> {
    files: &'l [ListedFile],
    #[serde(skip_serializing_if = "Option::is_none")]
    stopped: Option<Stopped>,
    #[serde(skip_serializing_if = "<[Skipped]>::is_empty")]
    skipped: &'l [Skipped],
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<Outcome, CliError> {
    let listing = context.skills()?.files(&args.name)?;
    let FileListing { files, stopped, skipped, .. } = &listing;
    context.report(Outcome::Done, &FilesJson { files, stopped: stopped.as_ref(), skipped }, || {
        let total = format!("{}, {}", text::count(files.len(), "file"), text::bytes(listing.total_bytes));
        let next = context.terminal.stdout_is_terminal().then(|| {
            let command = paint(style::COMMAND, format_args!("skillcue read {} PATH", args.name));
            format!("{command} prints one")
        });
        Printout::from(table(&listing, "")).remarks(remarks(&listing)).dim(total).remarks(next)
    })
}

/// Returns one file a line, its size first.
pub(crate) fn table(listing: &FileListing, indent: &str) -> String {
    let sizes: Vec<String> = listing.files.iter().map(|file| text::bytes(file.size)).collect();
    let width = sizes.iter().map(String::len).max().unwrap_or(0);
    let mut out = String::new();
    for (file, size) in listing.files.iter().zip(&sizes) {
        let size = paint(style::DIM, format_args!("{size:>width$}"));
        let _ = writeln!(out, "{indent}{size}  {}", text::one_line(&file.path));
    }
    out
}

/// Returns a line for each kind of file that is missing from a listing, and why.
pub(crate) fn remarks(listing: &FileListing) -> Vec<String> {
    let warning = paint(style::WARNING, "warning");
    let stopped = listing.stopped.iter().map(|stopped| format!("{warning}: the list {stopped}"));
    let skipped = listing.skipped.iter().map(|skipped| {
        use skillcue::catalog::SkipReason;
        let why = match skipped.reason {
            SkipReason::LinkOut => "links that lead out of the skill",
            SkipReason::DanglingLink => "links to nothing",
            SkipReason::DirectoryLink => "links to directories, listed where they stand",
            SkipReason::SpecialFile => "devices, pipes or sockets",
            SkipReason::IgnoredDirectory => "directories that hold no resources",
            SkipReason::TooDeep => "directories too far down",
            SkipReason::Unaddressable => "names that no path can ask for",
            SkipReason::Unreadable => "entries that cannot be read",
            _ => "other entries",
        };
        let first = text::one_line(&skipped.first);
        paint(style::DIM, format_args!("not listed: {} ({why}), first {first}", text::thousands(skipped.count)))
    });
    stopped.chain(skipped).collect()
}
