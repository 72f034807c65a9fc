//! Jobs on a system that has no sandbox: refused, or started in a process group, with the limits of a group.

use std::io::{Read, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use skillcue_base::ErrorInfo as _;
use skillcue_exec::{
    EndReason, ExecError, Job, JobProgram, Launcher, Layer, RunRequest, Runner, RunnerOptions, RunningJob,
    SandboxPolicy,
};

use crate::case::{Case, Mode};

/// Returns a launcher that starts jobs as it does where the layers of Linux are missing.
fn launcher() -> Launcher {
    Launcher::new(env!("CARGO_BIN_EXE_skillcue-sandbox")).without(&[Layer::Supervisor])
}

fn sh(script: &str) -> Job {
    let mut job = Job::new(JobProgram::File("/bin/sh".into()), SandboxPolicy::program(Path::new("/bin/sh")));
    job.args = vec!["-c".into(), script.into()];
    job.env = vec![("PATH".into(), "/usr/bin:/bin".into())];
    job
}

fn start(script: &str) -> RunningJob {
    launcher().allow_unsandboxed(true).spawn(&sh(script)).unwrap()
}

/// Returns the output of a job until it closes it.
fn output(child: &mut RunningJob) -> String {
    let mut text = String::new();
    child.take_stdout().unwrap().read_to_string(&mut text).unwrap();
    text
}

fn is_there(pid: &str) -> bool {
    // A process that has ended counts as gone, also if the process that adopted it did not reap it.
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
}

#[test]
fn nothing_runs_unless_running_unsandboxed_is_allowed() {
    let case = Case::new("plain", Mode::All);
    let trace = case.tmp.path().join("trace");
    case.script("probe.sh", &format!("#!/bin/sh\necho \"$SKILL_NAME\"; echo x > {}\n", trace.display()));
    let (dir, manifest) = (case.dir(), case.manifest());
    let request = RunRequest::new(&dir, &manifest, "probe.sh");
    let error = Runner::new(launcher(), RunnerOptions::default()).run(&request).unwrap_err();
    assert_eq!(error.code(), "sandbox_unavailable");
    assert!(error.to_string().contains("landlock (") && error.to_string().contains("seccomp ("), "{error}");
    let hint = error.hint().unwrap();
    assert!(hint.contains("Linux") && hint.contains("macOS") && hint.contains("say so explicitly"), "{hint}");
    assert!(!trace.exists());

    let allowed = launcher().allow_unsandboxed(true);
    let result = Runner::new(allowed, RunnerOptions::default()).run(&request).unwrap();
    assert!(!result.sandboxed && trace.exists());
    assert_eq!(result.stdout_text(), format!("{}\n", case.name));
    assert_eq!(result.sandbox.layers, [Layer::ResourceLimits]);
}

#[test]
fn a_job_has_its_pipes_its_environment_and_a_directory_of_its_own() {
    let mut child = start("cat; env | sort; pwd; umask; ulimit -c; : > \"$TMPDIR/file\"; echo bad >&2; exit 3");
    let tmp = child.private_tmp().unwrap().to_path_buf();
    assert!(tmp.is_dir());
    child.take_stdin().unwrap().write_all(b"input\n").unwrap();
    let text = output(&mut child);
    let home = tmp.display();
    let variables: Vec<&str> =
        text.lines().filter(|line| line.contains('=') && !line.starts_with(['_', 'P', 'O'])).collect();
    assert_eq!(variables, ["HOME", "TEMP", "TMP", "TMPDIR"].map(|name| format!("{name}={home}")));
    assert!(text.starts_with("input\n") && text.ends_with("\n/\n0077\n0\n"), "{text}");
    let mut said = String::new();
    child.take_stderr().unwrap().read_to_string(&mut said).unwrap();
    assert_eq!(said, "bad\n");
    let ended = child.wait().unwrap();
    assert_eq!((ended.code, ended.signal, ended.reason), (Some(3), None, None));
    assert!(!tmp.exists());
}

#[test]
fn processes_left_in_the_group_end_with_the_first() {
    let mut child = start("sleep 1000 > /dev/null 2>&1 & echo $!; exit 0");
    let other = output(&mut child);
    assert_eq!(child.wait().unwrap().code, Some(0));
    assert!(!is_there(&other));
}

#[test]
fn killing_reaches_the_whole_group_even_those_that_ignore_a_signal() {
    let mut child = start("trap '' TERM INT HUP; sleep 1000 > /dev/null & echo $!; exec > /dev/null; wait");
    let other = output(&mut child);
    assert!(is_there(&other));
    assert_eq!(child.try_wait().unwrap(), None);
    let killer = child.killer().unwrap();
    std::thread::spawn(move || killer.kill());
    let ended = child.wait().unwrap();
    assert_eq!((ended.code, ended.signal, ended.reason), (None, Some(9), Some(EndReason::Killed)));
    assert!(!is_there(&other));
}

// A caller that waited for the end of the pipes would wait for the process that holds them, long after the script's time.
#[test]
fn a_process_that_has_left_the_group_with_the_pipes_is_not_waited_for() {
    let case = Case::new("left", Mode::All);
    case.script("probe.sh", "#!/bin/sh\nsetsid sleep 1000 &\necho $!\nexec sleep 1000\n");
    let (dir, manifest) = (case.dir(), case.manifest());
    let limits = case.with(|limits| limits.timeout = Duration::from_secs(2));
    let runner = Runner::new(launcher().allow_unsandboxed(true), RunnerOptions { limits, ..RunnerOptions::default() });
    let error = runner.run(&RunRequest::new(&dir, &manifest, "probe.sh")).unwrap_err();
    let left = error.result().unwrap().stdout_text().trim().to_owned();
    assert_eq!((error.code(), is_there(&left)), ("timeout", true));
    assert!(std::process::Command::new("/bin/kill").args(["-KILL", &left]).status().unwrap().success());
}

#[test]
fn a_host_that_is_gone_takes_its_job_with_it() {
    let mut child = start("echo $$; exec sleep 1000");
    let mut pid = [0; 32];
    let read = child.take_stdout().unwrap().read(&mut pid).unwrap();
    let pid = String::from_utf8(pid[..read].to_vec()).unwrap();
    drop(child);
    let patience = Instant::now() + Duration::from_secs(30);
    while is_there(&pid) {
        assert!(Instant::now() < patience, "it is still there");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_job_that_cannot_be_started_is_an_error_with_a_reason() {
    let allowed = launcher().allow_unsandboxed(true);
    let missing = Job::new(JobProgram::File("/no/such/program".into()), SandboxPolicy::nothing());
    assert!(matches!(allowed.spawn(&missing), Err(ExecError::Program { .. })));
    let nowhere = Job { cwd: Some("/no/such/directory".into()), ..sh("true") };
    let error = allowed.spawn(&nowhere).unwrap_err();
    assert!(error.to_string().contains("its working directory"), "{error}");
    let nul = Job { args: vec!["a\0b".into()], ..sh("true") };
    assert!(matches!(allowed.spawn(&nul), Err(ExecError::Program { .. })));
    // This helper has none.
    let engine = Job::new(JobProgram::Engine, SandboxPolicy::nothing());
    assert!(matches!(allowed.spawn(&engine), Err(ExecError::NoEngine)));
}

#[test]
fn support_says_that_there_is_no_sandbox() {
    let support = launcher().support().unwrap();
    assert!(!support.sandboxed && !support.has(Layer::Supervisor));
    assert!(support.missing.iter().any(|missing| missing.layer == Layer::Landlock));
}
