//! Start-up: the cost of the program before it has done anything, and of a small command, beside an empty program.

use std::io::{self, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use skillcue_bench::{Limit, Report, TimeRow, TreeOptions, generate, memory_of};

/// A hook pays this on every message.
const MAX_VERSION: Duration = Duration::from_millis(1);
const MAX_VERSION_MEMORY: u64 = 6 << 20;
const MAX_LIST: Duration = Duration::from_millis(3);
const SKILLS: usize = 100;

/// The paths of an empty program, on every Unix. It parses two options and ends.
const EMPTY: [&str; 2] = ["/usr/bin/true", "/bin/true"];

/// Returns the path of an empty program, if there is one here.
pub(super) fn empty_program() -> Option<&'static str> {
    EMPTY.into_iter().find(|path| Path::new(path).exists())
}

/// Measures `--version` and `list` at 100 skills, from start to exit, in turns with `true`.
pub(super) fn measure(dir: &Path, rounds: usize, say: &dyn Fn(&str), report: &mut Report) -> io::Result<()> {
    let Some(empty) = empty_program() else {
        report.notes.push("start-up was not measured: there is no /usr/bin/true here".to_owned());
        return Ok(());
    };
    say("start-up");
    let tree = generate(&dir.join(format!("tree-{SKILLS}")), &TreeOptions { count: SKILLS, ..TreeOptions::default() })?;
    let cache = dir.join("start-cache");
    let program = std::env::current_exe()?;
    let [mut bare, mut version, mut list] = [Duration::MAX; 3];
    for _ in 0..=rounds.max(20) * 4 {
        bare = bare.min(time(&mut Command::new(empty))?);
        version = version.min(time(Command::new(&program).arg("--version"))?);
        let mut command = Command::new(&program);
        command.args(["--isolated", "--skills-dir"]).arg(tree.root()).arg("list").env("XDG_CACHE_HOME", &cache);
        list = list.min(time(&mut command)?);
    }
    let held = held(Command::new(&program).arg("--version"))?;
    report.rows.push(
        TimeRow::new("--version, whole program", 0, version)
            .against(bare, Limit::times_plus(1.0, MAX_VERSION))
            .memory(held)
            .memory_at_most(MAX_VERSION_MEMORY),
    );
    let limit = Limit::times_plus(1.0, MAX_LIST);
    report.rows.push(TimeRow::new("list, whole program", SKILLS, list).against(bare, limit));
    report.notes.push("whole programs at start-up are measured beside `true`, an empty program".to_owned());
    Ok(())
}

/// Returns the most memory that a program has had when it is about to end: it is held up at its last line, because its
/// stdout is a pipe that is full. `None` where the kernel does not report it.
fn held(command: &mut Command) -> io::Result<Option<u64>> {
    let (reader, mut writer) = io::pipe()?;
    // As much as a pipe takes (pipe(7)).
    writer.write_all(&vec![b'\n'; 1 << 16])?;
    let mut child = command.stdin(Stdio::null()).stdout(writer).stderr(Stdio::null()).spawn()?;
    let mut peaks = [None; 20];
    for at in 0..2_000 {
        std::thread::sleep(Duration::from_millis(1));
        peaks[at % peaks.len()] = memory_of(child.id()).map(|memory| memory.peak);
        if at >= peaks.len() && peaks.iter().all(|peak| *peak == peaks[0]) {
            break;
        }
    }
    drop(reader);
    child.wait()?;
    Ok(peaks[0])
}

/// Returns the time from start to exit of a program.
pub(super) fn time(command: &mut Command) -> io::Result<Duration> {
    let command = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let start = Instant::now();
    let status = command.status()?;
    let took = start.elapsed();
    if status.success() { Ok(took) } else { Err(io::Error::other(format!("{command:?} ended with {status}"))) }
}
