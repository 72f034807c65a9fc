//! This program again, as another process.

use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// The work of the other process, its directory, and its argument.
const WHAT: &str = "SKILLCUE_USAGE_TEST";

/// The user that owns nothing.
const NOBODY: u32 = 65_534;

/// Starts one of the tasks below.
pub(crate) fn start(task: &str, dir: &Path, word: &str) -> Child {
    run(&mut Command::new(std::env::current_exe().unwrap()), task, dir, word)
}

/// Like [`start`], after a line of the shell.
pub(crate) fn start_in_shell(line: &str, task: &str, dir: &Path) -> Child {
    let mut command = Command::new("/bin/sh");
    command.arg("-c").arg(format!("{line}; exec \"$0\" \"$@\"")).arg(std::env::current_exe().unwrap());
    run(&mut command, task, dir, "")
}

/// Like [`start`], as a user without rights if this one has all.
pub(crate) fn start_without_rights(task: &str, dir: &Path) -> Child {
    if !rustix::process::geteuid().is_root() {
        return start(task, dir, "");
    }
    // The build may be below a directory that only the superuser may enter.
    let program = dir.join("program");
    std::fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    let mut command = Command::new(program);
    command.uid(NOBODY).gid(NOBODY).current_dir(dir);
    run(&mut command, task, dir, "")
}

fn run(command: &mut Command, task: &str, dir: &Path, word: &str) -> Child {
    command.args(["--exact", "child::task", "--nocapture", "--test-threads=1"]);
    command.env(WHAT, task).env("SKILLCUE_USAGE_DIR", dir).env("SKILLCUE_USAGE_WORD", word);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

/// Does nothing, unless this process was started for a task.
#[test]
fn task() {
    let Ok(task) = std::env::var(WHAT) else {
        println!("skipped: this is what other tests start in another process");
        return;
    };
    let dir = PathBuf::from(std::env::var_os("SKILLCUE_USAGE_DIR").unwrap());
    let word = std::env::var("SKILLCUE_USAGE_WORD").unwrap();
    match task.as_str() {
        "write" => crate::together::write(&dir, &word),
        "full" => crate::disk::full(&dir),
        "append-too-much" => crate::spool::append_too_much(&dir),
        "append" => crate::spool::append(&dir, &word),
        "read-only" => crate::disk::read_only(&dir, &dir.join("home")),
        "report-read-only" => crate::disk::report_read_only(&dir),
        other => panic!("{other}"),
    }
}
