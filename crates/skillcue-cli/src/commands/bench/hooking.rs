//! Hooks of other agents: from the start to the exit of the process that a client waits for, beside an empty program.

use std::fs::File;
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::json;
use skillcue_bench::{BodyLength, Limit, Report, TimeRow};

use super::{matching, starting};

/// The promise, and up to how many skills it is given.
const MAX_HOOK: Duration = Duration::from_millis(15);
const MAX_PROMISED: usize = 1_000;
/// With more skills than this, hooks are not measured.
const MAX_MEASURED: usize = 10_000;

/// Measures a message that a skill fits, each time in a conversation of its own, with the index cache and the kept indexes
/// in place and a whole body in every skill, in turns with `true`.
pub(super) fn measure(
    sizes: &[usize],
    dir: &Path,
    rounds: usize,
    say: &dyn Fn(&str),
    report: &mut Report,
) -> io::Result<()> {
    let Some(empty) = starting::empty_program() else {
        report.notes.push("hooks were not measured: there is no /usr/bin/true here".to_owned());
        return Ok(());
    };
    let program = std::env::current_exe()?;
    for &count in sizes.iter().filter(|count| **count <= MAX_MEASURED) {
        say(&format!("{count} skills: the hook of another agent"));
        let tree = matching::tree(dir, count, BodyLength::Wild)?;
        let (cache, file) = (dir.join(format!("hook-cache-{count}")), dir.join("hook-input.json"));
        let message = matching::message();
        let start = Instant::now();
        let run = |args: &[&str]| -> io::Result<(Duration, usize)> {
            // A new conversation each time: what was shown is not shown again.
            let session = format!("{}-{}", std::process::id(), start.elapsed().as_nanos());
            let input = json!({
                "session_id": session, "cwd": tree.root(), "hook_event_name": "UserPromptSubmit", "prompt": message
            });
            std::fs::write(&file, input.to_string())?;
            let mut command = Command::new(&program);
            // A busy machine must not end the measurement.
            command.env("XDG_CACHE_HOME", &cache).env("SKILLCUE_HOOK_DEADLINE_MS", "60000");
            command.args(["--isolated", "--skills-dir"]).arg(tree.root()).args(args);
            let command = command.stdin(File::open(&file)?).stderr(Stdio::null());
            let start = Instant::now();
            let output = command.output()?;
            Ok((start.elapsed(), output.stdout.len()))
        };
        // The first runs fill the cache; files written within the last second are not vouched for.
        for _ in 0..2 {
            run(&["hook", "claude", "--index"])?;
            run(&["hook", "claude"])?;
            std::thread::sleep(Duration::from_millis(1_100));
        }
        let [mut bare, mut ours] = [Duration::MAX; 2];
        for _ in 0..=rounds.max(20) * 2 {
            bare = bare.min(starting::time(&mut Command::new(empty))?);
            let (took, answer) = run(&["hook", "claude"])?;
            if answer == 0 {
                return Err(io::Error::other("the hook had no answer"));
            }
            ours = ours.min(took);
        }
        let limit = if count <= MAX_PROMISED { Limit::times_plus(1.0, MAX_HOOK) } else { Limit::None };
        report.rows.push(TimeRow::new("hook, whole program", count, ours).against(bare, limit));
    }
    Ok(())
}
