//! The helper that waits for jobs: one for all of a launcher, gone with it, and replaced when it is killed.

use std::io::Read;
use std::path::Path;

use rustix::process::{Pid, Signal};
use skillcue_exec::{EndReason, Job, JobProgram, Launcher, SandboxPolicy};

fn launcher() -> Launcher {
    Launcher::new(env!("CARGO_BIN_EXE_skillcue-sandbox"))
}

fn shell(command: &str) -> Job {
    let mut job = Job::new(JobProgram::File("/bin/sh".into()), SandboxPolicy::program(Path::new("/bin/sh")));
    job.args = vec!["-c".into(), command.into()];
    job
}

fn says(launcher: &Launcher, command: &str) -> String {
    let mut child = launcher.spawn(&shell(command)).unwrap();
    let mut output = String::new();
    child.take_stdout().unwrap().read_to_string(&mut output).unwrap();
    assert_eq!(child.wait().unwrap().code, Some(0));
    output
}

/// Returns the helpers that this process has started, and that still run. (Tests may share a process and would see each
/// other's: so only those of one launcher are asked for, by its variable.)
fn helpers(mark: &str) -> Vec<Pid> {
    let own = std::process::id().to_string();
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()).and_then(Pid::from_raw) else {
            continue;
        };
        let Ok(status) = std::fs::read_to_string(entry.path().join("status")) else { continue };
        let parent = status.lines().find_map(|line| line.strip_prefix("PPid:")).map(str::trim);
        let Ok(environment) = std::fs::read(entry.path().join("environ")) else { continue };
        if parent == Some(&own) && environment.split(|byte| *byte == 0).any(|entry| entry == mark.as_bytes()) {
            found.push(pid);
        }
    }
    found
}

#[test]
fn one_helper_serves_all_jobs_and_keeps_nothing_of_them() {
    let launcher = launcher().helper_env("MARK", "serves");
    assert_eq!(says(&launcher, "echo one"), "one\n");
    let [helper] = helpers("MARK=serves")[..] else { panic!("not one helper") };
    let open = || std::fs::read_dir(format!("/proc/{}/fd", helper.as_raw_nonzero())).unwrap().count();
    let before = open();
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let launcher = launcher.clone();
            scope.spawn(move || {
                for round in 0..5 {
                    assert_eq!(says(&launcher, &format!("echo {thread} {round}")), format!("{thread} {round}\n"));
                }
            });
        }
    });
    assert_eq!(helpers("MARK=serves"), [helper]);
    assert_eq!(open(), before, "descriptors of jobs stay open");
}

#[test]
fn a_helper_that_was_killed_is_replaced() {
    let launcher = launcher().helper_env("MARK", "killed");
    let mut running = launcher.spawn(&shell("read line; echo $line")).unwrap();
    let [helper] = helpers("MARK=killed")[..] else { panic!("not one helper") };
    rustix::process::kill_process(helper, Signal::KILL).unwrap();
    assert_eq!(says(&launcher, "echo two"), "two\n");
    assert!(helpers("MARK=killed").iter().all(|other| *other != helper));
    // What ran goes on, because it has a supervisor of its own, and can still be ended.
    assert_eq!(running.try_wait().unwrap(), None);
    running.kill();
    assert_eq!(running.wait().unwrap().reason, Some(EndReason::Killed));
}

#[test]
fn the_helper_goes_with_its_launcher_and_its_jobs_do_not() {
    let launcher = launcher().helper_env("MARK", "goes");
    let mut running = launcher.spawn(&shell("read line; exit 3")).unwrap();
    let clone = launcher.clone();
    drop(launcher);
    assert_eq!(helpers("MARK=goes").len(), 1);
    drop(clone);
    assert_eq!(helpers("MARK=goes"), []);
    drop(running.take_stdin());
    assert_eq!(running.wait().unwrap().code, Some(3));
}
