//! `generate DIR N [--seed S] [--malformed PERMILLE] [--mended PERMILLE] [--grouped] [--short]`:
//! writes a tree of N skills, unless it is there already.

use skillcue_bench::{BodyLength, Layout, TreeOptions, generate};
use std::ffi::OsString;
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

const USAGE: &str = "usage: generate DIR N [--seed S] [--malformed PERMILLE] [--mended PERMILLE] \
                     [--grouped] [--short]";

fn main() -> ExitCode {
    let Some((dir, options)) = parse(std::env::args_os().skip(1)) else {
        // Nothing is left to do when stderr is gone.
        let _ = writeln!(io::stderr(), "{USAGE}");
        return ExitCode::from(2);
    };
    let start = Instant::now();
    let done = generate(&dir, &options).and_then(|tree| {
        let (count, seconds) = (tree.paths().len(), start.elapsed().as_secs_f64());
        writeln!(io::stdout(), "{}: {count} skills, {seconds:.2} s", tree.root().display())
    });
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(io::stderr(), "generate: {error}");
            ExitCode::FAILURE
        }
    }
}

fn parse(mut arguments: impl Iterator<Item = OsString>) -> Option<(PathBuf, TreeOptions)> {
    let dir = PathBuf::from(arguments.next()?);
    let number =
        |arguments: &mut dyn Iterator<Item = OsString>| -> Option<u64> { arguments.next()?.to_str()?.parse().ok() };
    let count = usize::try_from(number(&mut arguments)?).ok()?;
    let mut options = TreeOptions { count, ..TreeOptions::default() };
    while let Some(option) = arguments.next() {
        match option.to_str()? {
            "--seed" => options.seed = number(&mut arguments)?,
            "--malformed" => {
                options.malformed_permille = usize::try_from(number(&mut arguments)?).ok()?;
            }
            "--mended" => {
                options.mended_permille = usize::try_from(number(&mut arguments)?).ok()?;
            }
            "--grouped" => options.layout = Layout::Grouped,
            "--short" => options.bodies = BodyLength::Short,
            _ => return None,
        }
    }
    Some((dir, options))
}
