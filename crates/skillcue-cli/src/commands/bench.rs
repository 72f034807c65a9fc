//! `skillcue bench`: the promises of the specification, measured on this machine beside their floors.

mod conversation;
mod hooking;
mod matching;
mod measure;
mod program;
mod running;
mod starting;
mod watching;

use std::path::{Path, PathBuf};

use crate::Outcome;
use crate::context::Context;
use crate::error::CliError;
use crate::terminal::{paint, style};
use skillcue_base::os_message;
use skillcue_bench::Report;

const AFTER: &str = "\
Examples:
  skillcue bench --skills 1000                 only on a tree of 1,000 skills
  skillcue bench --dir /var/tmp/skillcue       keep the trees there, for the next time
  skillcue bench --hooks                       only the hooks of other agents
  skillcue bench --running                     only the sandbox and toolsets
  skillcue bench --conversation                only the tokens of fifty turns about ten skills
  skillcue bench --watch                       only how soon a touched skill is noticed among 100,000

Each thing is measured in turns with its floor: a bare program that opens every file and reads 4 KiB,
a bare `stat`, a bare read. Matching has limits of its own, and a loop over regular expressions beside it.
The trees are made once (twice 100,000 skills take about 1.7 GB and a minute) and used again. The exit code is 1 if a promise is not kept on this machine.";

#[derive(Debug, clap::Args)]
#[command(after_help = crate::cli::footer(AFTER))]
pub(crate) struct Args {
    /// How many skills to measure with; may be given several times [default: 100 1000 10000 100000]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    skills: Vec<u32>,
    /// Keep the generated skills in DIR [default: skillcue-bench in the directory for temporary files]
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    /// Only what runs: the sandbox and toolsets
    #[arg(long, conflicts_with = "skills")]
    running: bool,
    /// Only how soon a touched skill is noticed, among 100,000 or as many as --skills says
    #[arg(long, conflicts_with = "running")]
    watch: bool,
    /// Only the tokens of a conversation of fifty turns about ten skills, for each policy
    #[arg(long, conflicts_with_all = ["skills", "running", "watch"])]
    conversation: bool,
    /// Only the hooks of other agents
    #[arg(long, conflicts_with_all = ["running", "watch"])]
    hooks: bool,
    /// How often to measure each
    #[arg(long, value_name = "N", allow_negative_numbers = true, default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..=1000))]
    rounds: u16,
    /// Only look for skills in DIR, once, and say how long it took: what the measurement starts
    #[arg(long, value_name = "DIR", hide = true)]
    probe: Option<PathBuf>,
    #[arg(long, value_name = "FILE", hide = true, requires = "probe")]
    probe_cache: Option<PathBuf>,
    /// Do what the floor does instead
    #[arg(long, hide = true, requires = "probe", conflicts_with = "probe_cache")]
    probe_floor: Option<measure::Floor>,
    /// Make the index over the triggers instead
    #[arg(long, hide = true, requires = "probe", conflicts_with = "probe_floor")]
    probe_triggers: bool,
    /// Read that index from FILE
    #[arg(long, value_name = "FILE", hide = true, requires = "probe_triggers")]
    probe_kept: Option<PathBuf>,
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<Outcome, CliError> {
    if let Some(dir) = &args.probe {
        let probe = match args.probe_floor {
            Some(floor) => measure::probe_floor(dir, floor).map_err(|error| failed(&error, dir))?,
            None if args.probe_triggers => {
                matching::probe(dir, args.probe_cache.as_deref(), args.probe_kept.as_deref())
                    .map_err(|error| failed(&error, dir))?
            }
            None => measure::probe(dir, args.probe_cache.as_deref()),
        };
        context.terminal.print_json(&probe)?;
        return Ok(Outcome::Done);
    }
    let sizes: Vec<usize> = match &args.skills[..] {
        [] if args.running => Vec::new(),
        [] => measure::SIZES.to_vec(),
        sizes => sizes.iter().map(|size| *size as usize).collect(),
    };
    let dir = args.dir.clone().unwrap_or_else(|| std::env::temp_dir().join("skillcue-bench"));
    if args.conversation {
        return conversation::report(&dir, context);
    }
    let say = |text: &str| context.terminal.say(&paint(style::DIM, text));
    if args.watch {
        let mut report = Report::default();
        let sizes = if args.skills.is_empty() { vec![watching::SKILLS] } else { sizes };
        for count in sizes {
            watching::measure(count, &dir, usize::from(args.rounds) * 2, &say, &mut report)
                .map_err(|error| failed(&error, &dir))?;
        }
        return print(context, &report);
    }
    let mut report = Report::default();
    if !args.running {
        hooking::measure(&sizes, &dir, args.rounds.into(), &say, &mut report).map_err(|error| failed(&error, &dir))?;
    }
    if args.hooks {
        return print(context, &report);
    }
    if !args.running {
        starting::measure(&dir, args.rounds.into(), &say, &mut report).map_err(|error| failed(&error, &dir))?;
    }
    measure::measure(&sizes, &dir, args.rounds.into(), &say, &mut report).map_err(|error| failed(&error, &dir))?;
    // Asked for, or everything.
    if args.skills.is_empty() {
        running::measure(context, &dir, &say, &mut report)?;
    }
    print(context, &report)
}

fn print(context: &Context, report: &Report) -> Result<Outcome, CliError> {
    context.report(Outcome::of(report.kept()), report, || report.to_string())
}

fn failed(error: &std::io::Error, dir: &Path) -> CliError {
    CliError::failure("bench", format!("the measurement failed: {}", os_message(error)))
        .help(format!("its trees are in {}; delete them to start over", dir.display()))
}
