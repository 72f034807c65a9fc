//! This program again, as another process.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// The work of the other process, its directory, and its argument.
const WHAT: &str = "SKILLCUE_KEEP_TEST";

/// A command that runs one of the tasks below.
pub(crate) fn command(task: &str, dir: &Path, word: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    prepare(&mut command, task, dir, word);
    command
}

pub(crate) fn prepare(command: &mut Command, task: &str, dir: &Path, word: &str) {
    command.args(["--exact", "child::task", "--nocapture", "--test-threads=1"]);
    command.env(WHAT, task).env("SKILLCUE_KEEP_DIR", dir).env("SKILLCUE_KEEP_WORD", word);
}

pub(crate) fn start(task: &str, dir: &Path, word: &str) -> Child {
    let mut command = command(task, dir, word);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    // The harness speaks first; ours is what begins so.
    let mut out = child.stdout.take().unwrap();
    let mut seen = Vec::new();
    while !seen.ends_with(b"begin\n") {
        let mut byte = [0];
        std::io::Read::read_exact(&mut out, &mut byte).unwrap();
        seen.push(byte[0]);
    }
    child.stdout = Some(out);
    child
}

/// Says something to the process that waits for it.
pub(crate) fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}").unwrap();
    out.flush().unwrap();
}

/// Does nothing, unless this process was started for a task.
#[test]
fn task() {
    let Ok(task) = std::env::var(WHAT) else {
        println!("skipped: this is what other tests start in another process");
        return;
    };
    let dir = PathBuf::from(std::env::var_os("SKILLCUE_KEEP_DIR").unwrap());
    let word = std::env::var("SKILLCUE_KEEP_WORD").unwrap();
    say("begin");
    match task.as_str() {
        "turns" => crate::crash::turns(&dir, &word),
        "open" => crate::sessions::open_elsewhere(&dir, &word),
        "fill" => crate::sessions::fill(&dir, &word),
        "write" => crate::together::write(&dir, &word),
        other => panic!("{other}"),
    }
}
