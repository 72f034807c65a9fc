//! `floor read4k|stat DIR [--threads N] [--repeat N]`: a floor as a process of its own.
//!
//! `skillcue bench` runs the floors in its own process, in turns with what it measures. This program is for timing them
//! from outside, with `hyperfine` or `perf stat`:
//!
//! ```text
//! $ cargo run --release -p skillcue-bench --bin floor -- read4k /tmp/skills --threads 2
//! read4k: 100000 files, 2 thread(s), best of 1: 296.6 ms
//! ```
//!
//! Finding the files is not part of the time, but of the process: subtract it, or read the line.

use skillcue_bench::{Plan, floor};
use std::io::{self, Write as _};
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::process::ExitCode;
use std::thread;

const USAGE: &str = "usage: floor read4k|stat DIR [--threads N] [--repeat N]";

struct FloorArguments {
    what: FloorKind,
    dir: PathBuf,
    threads: NonZeroUsize,
    repeat: NonZeroUsize,
}

#[derive(Clone, Copy)]
enum FloorKind {
    Read4k,
    Stat,
}

fn main() -> ExitCode {
    let Some(arguments) = parse(std::env::args_os().skip(1)) else {
        // Nothing is left to do when stderr is gone.
        let _ = writeln!(io::stderr(), "{USAGE}");
        return ExitCode::from(2);
    };
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(io::stderr(), "floor: {}: {error}", arguments.dir.display());
            ExitCode::FAILURE
        }
    }
}

fn parse(mut arguments: impl Iterator<Item = std::ffi::OsString>) -> Option<FloorArguments> {
    let what = match arguments.next()?.to_str()? {
        "read4k" => FloorKind::Read4k,
        "stat" => FloorKind::Stat,
        _ => return None,
    };
    let dir = PathBuf::from(arguments.next()?);
    let mut threads = thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    let mut repeat = NonZeroUsize::MIN;
    while let Some(option) = arguments.next() {
        let value = arguments.next()?.to_str()?.parse().ok()?;
        match option.to_str()? {
            "--threads" => threads = value,
            "--repeat" => repeat = value,
            _ => return None,
        }
    }
    Some(FloorArguments { what, dir, threads, repeat })
}

fn run(&FloorArguments { what, ref dir, threads, repeat }: &FloorArguments) -> io::Result<()> {
    let paths = floor::find(dir)?;
    let name = match what {
        FloorKind::Read4k => "read4k",
        FloorKind::Stat => "stat",
    };
    let one = || match what {
        FloorKind::Read4k => floor::read_4k(&paths, threads),
        FloorKind::Stat => floor::stat(&paths, threads),
    };
    let mut outcome = Ok(floor::Total::default());
    // Without a warm-up: the first run may be the one that is asked for.
    let timing = Plan::rounds(repeat.get()).warm_up(0).single(|| outcome = one());
    let total = outcome?;
    let milliseconds = timing.min.as_secs_f64() * 1e3;
    writeln!(io::stdout(), "{name}: {} files, {threads} thread(s), best of {repeat}: {milliseconds:.1} ms", total.files)
}
