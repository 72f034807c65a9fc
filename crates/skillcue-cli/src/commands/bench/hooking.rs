//! Hooks of other agents: from the start to the exit of the process that a client waits for, beside an empty program.

use std::fs::File;
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::json;
use skillcue_bench::{Limit, Report, TimeRow};

use super::program::{ProgramUnderTest, settle};
use super::{matching, starting};

/// The promise, up to so many skills; with more, a hook is measured, and nothing is promised.
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
    for &count in sizes.iter().filter(|count| **count <= MAX_MEASURED) {
        say(&format!("{count} skills: the hook of another agent"));
        let program = ProgramUnderTest::new(dir, count, "hook")?;
        let (file, message) = (dir.join("hook-input.json"), matching::message());
        let start = Instant::now();
        let run = |args: &[&str]| -> io::Result<(Duration, usize)> {
            // A new conversation each time: what was shown is not shown again.
            let session = format!("{}-{}", std::process::id(), start.elapsed().as_nanos());
            let input = json!({
                "session_id": session, "cwd": program.tree.root(), "hook_event_name": "UserPromptSubmit", "prompt": message
            });
            std::fs::write(&file, input.to_string())?;
            let mut command = program.command(args);
            // A busy machine must not end the measurement.
            let command =
                command.env("SKILLCUE_HOOK_DEADLINE_MS", "60000").stdin(File::open(&file)?).stderr(Stdio::null());
            let start = Instant::now();
            let output = command.output()?;
            Ok((start.elapsed(), output.stdout.len()))
        };
        settle(|| {
            run(&["hook", "claude", "--index"])?;
            run(&["hook", "claude"]).map(drop)
        })?;
        let [mut bare, mut ours] = [Duration::MAX; 2];
        for _ in 0..=rounds.max(20) * 2 {
            bare = bare.min(starting::time(&mut Command::new(empty))?);
            let (took, answer) = run(&["hook", "claude"])?;
            if answer == 0 {
                return Err(io::Error::other("the hook had no answer"));
            }
            ours = ours.min(took);
        }
        let row = TimeRow::new("hook, whole program", count, ours);
        let limit = if count <= MAX_PROMISED { Limit::times_plus(1.0, MAX_HOOK) } else { Limit::None };
        report.rows.push(row.against(bare, limit));
    }
    Ok(())
}
