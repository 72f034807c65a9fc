//! The helper where Linux's layers are not to be had: starts the job in a process group of its own, and kills the group
//! when the job ends or the host is gone. On macOS it starts it through `sandbox-exec`, which was **not tested** there:
//! what is tested, on Linux, is everything around it. Elsewhere there is no sandbox, and nothing runs unless somebody
//! has allowed that.
//!
//! What a group cannot do: a process that leaves it, which any may, outlives the job; and when somebody kills the helper
//! itself, nobody kills the job.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags};
use rustix::fs::{Access, Mode, Timespec};
use rustix::process::{Pid, Resource, Rlimit, Signal, WaitId, WaitIdOptions};

use super::tmp::Tmp;
use super::{ENGINE, NOT_A_HELPER};
use crate::job::{Bounds, Policy};
use crate::layer::{Layer, SandboxReport};
use crate::memory::{MemoryBound, MemoryUse};
use crate::profile::profile;
use crate::wire::{EndReason, Ended, Order, Raw, Said, Start, receive, receive_descriptors, send};

/// The program of macOS that starts others in a sandbox.
const SANDBOX_EXEC: &str = "/usr/bin/sandbox-exec";

/// A program that does nothing, for finding out whether the sandbox works.
const NOTHING: &str = "/usr/bin/true";

/// What only Linux has.
const OF_LINUX: &[Layer] = &[
    Layer::UserNamespace,
    Layer::PidNamespace,
    Layer::NetworkNamespace,
    Layer::IpcNamespace,
    Layer::MountNamespace,
    Layer::Landlock,
    Layer::Seccomp,
    Layer::NoNewPrivileges,
    Layer::NoCapabilities,
];

/// Runs as the helper. Never returns.
pub(super) fn run(engine: Option<fn() -> i32>) -> ! {
    let Ok(control) = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), 3).map(File::from) else {
        std::process::exit(NOT_A_HELPER)
    };
    let said = match supervise(&control, engine.is_some()) {
        Ok(said) => said,
        Err(error) => Said::Failed { reason: error.to_string() },
    };
    let _ = send(&control, &said);
    std::process::exit(0)
}

/// Runs the job; what comes back is the last word to the host.
fn supervise(control: &File, has_engine: bool) -> io::Result<Said> {
    let pipes: [OwnedFd; 3] = receive_descriptors(control)?.ok_or_else(|| io::Error::other("no pipes were given"))?;
    let order: Order = receive(control)?.ok_or_else(|| io::Error::other("no job was given"))?;
    crate::sys::keep_descriptors();
    rustix::process::umask(Mode::from_raw_mode(0o077));

    let sandbox = find_sandbox(&order);
    let switched_off = order.without.contains(&Layer::ResourceLimits);
    // Whatever is started inherits them.
    let limits = if switched_off { Err("switched off".to_owned()) } else { limit(&order.bounds) };
    let report = report(&sandbox, limits);
    if !report.sandboxed && !order.allow_unsandboxed {
        return Ok(Said::Refused { report });
    }
    if order.start == Start::Probe {
        send(control, &Said::Ready { report, tmp: None })?;
        return Ok(Said::Ended(Ended {
            code: Some(0),
            signal: None,
            reason: None,
            peak_memory: 0,
            memory: MemoryUse::default(),
        }));
    }
    if order.start == Start::Engine && !has_engine {
        return Err(io::Error::other(crate::error::NO_ENGINE));
    }
    // What the sandbox is told must be the path without links, and `/tmp` is one on macOS.
    let base = order.tmp_base.as_ref().map(|base| base.path().canonicalize()).transpose()?;
    let tmp = base.map(|base| Tmp::new(&base)).transpose()?;
    let tmp_path = tmp.as_ref().map(Tmp::path);
    let mut command = match command(&order, sandbox.as_deref().ok(), tmp_path) {
        Ok(command) => command,
        Err(said) => return Ok(said),
    };
    let [stdin, stdout, stderr] = pipes.map(Stdio::from);
    command.stdin(stdin).stdout(stdout).stderr(stderr).process_group(0);
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(error) => return Ok(Said::NotExecuted { reason: error.to_string() }),
    };
    // It holds the job's ends of the pipes, whose closing the host waits for.
    drop(command);
    let group = Pid::from_child(&child);
    let reason = send(control, &Said::Ready { report, tmp: tmp_path.map(Raw::from) })
        .and_then(|()| watch(control, group, order.bounds.wall));
    // Also if watching went wrong, and also what the first process has left behind. As it was not reaped yet, no other
    // group can have this number.
    let _ = rustix::process::kill_process_group(group, Signal::KILL);
    let status = child.wait()?;
    wait_for_the_rest(group);
    drop(tmp);
    let (code, signal) = (status.code(), status.signal());
    Ok(Said::Ended(Ended { code, signal, reason: reason?, peak_memory: 0, memory: MemoryUse::default() }))
}

/// The path of `sandbox-exec`, or why there is none.
fn find_sandbox(order: &Order) -> Result<PathBuf, String> {
    if !cfg!(target_os = "macos") {
        return Err("only macOS has it".to_owned());
    }
    if order.without.contains(&Layer::Seatbelt) {
        return Err("switched off".to_owned());
    }
    let sandbox = PathBuf::from(SANDBOX_EXEC);
    rustix::fs::access(&sandbox, Access::EXEC_OK).map_err(|error| format!("{SANDBOX_EXEC}: {error}"))?;
    if order.start == Start::Probe {
        // It may be there and refuse: inside of another sandbox, for one.
        let profile = profile(&Policy::nothing(), Path::new(NOTHING), None).map_err(|error| error.to_string())?;
        let mut command = Command::new(&sandbox);
        command.arg("-p").arg(profile).arg(NOTHING);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        match command.status() {
            Ok(status) if status.success() => {}
            Ok(status) => return Err(format!("{SANDBOX_EXEC} did not start {NOTHING}: {status}")),
            Err(error) => return Err(format!("{SANDBOX_EXEC}: {error}")),
        }
    }
    Ok(sandbox)
}

fn report(sandbox: &Result<PathBuf, String>, limits: Result<(), String>) -> SandboxReport {
    let mut report = SandboxReport { sandboxed: sandbox.is_ok(), ..SandboxReport::default() };
    let reason = if cfg!(target_os = "linux") { "switched off" } else { "only Linux has it" };
    for layer in OF_LINUX {
        report.note(*layer, Err(reason));
    }
    let reason = "the job's process group ends with it and with the host; nothing is added up, and who leaves the group \
                  is not found";
    report.note(Layer::Supervisor, Err(reason));
    report.memory = if limits.is_ok() { MemoryBound::EachProcess } else { MemoryBound::Unbounded };
    report.note(Layer::ResourceLimits, limits);
    report.note(Layer::Seatbelt, sandbox.as_ref().map(|_| ()));
    report
}

/// Limits this process, and so the job. What holds memory elsewhere does not on macOS, so there the layer counts as
/// missing.
fn limit(bounds: &Bounds) -> Result<(), String> {
    let set = |resource, most: u64| {
        let most = rustix::process::getrlimit(resource).maximum.map_or(most, |maximum| most.min(maximum));
        rustix::process::setrlimit(resource, Rlimit { current: Some(most), maximum: Some(most) })
            .map_err(|error| error.to_string())
    };
    set(Resource::Core, 0)?;
    set(Resource::Nofile, u64::from(bounds.open_files))?;
    set(Resource::Fsize, bounds.file_size)?;
    if let Some(seconds) = bounds.cpu_seconds {
        set(Resource::Cpu, seconds)?;
    }
    if let Some(others) = processes_of_this_user() {
        set(Resource::Nproc, others + u64::from(bounds.processes))?;
    }
    set(Resource::Data, bounds.memory)?;
    if cfg!(target_os = "macos") {
        return Err("memory is not limited; processes, open files, file sizes and processor time are".to_owned());
    }
    Ok(())
}

/// How many processes the user has already, for they count, too.
fn processes_of_this_user() -> Option<u64> {
    let output = Command::new("/bin/ps").args(["-A", "-o", "uid="]).stdin(Stdio::null()).output().ok()?;
    let user = rustix::process::getuid().as_raw().to_string();
    let text = String::from_utf8_lossy(&output.stdout);
    let count = text.lines().filter(|line| line.trim() == user).count();
    output.status.success().then_some(count as u64)
}

/// What starts the job: the program itself, or `sandbox` with the program.
fn command(order: &Order, sandbox: Option<&Path>, tmp: Option<&Path>) -> Result<Command, Said> {
    let failed = |reason: String| Said::Failed { reason };
    let (program, args) = match &order.start {
        Start::File(program) => (program.path().to_path_buf(), order.args.clone()),
        // The same program again, for it must be inside of the sandbox before it runs the engine.
        Start::Engine | Start::Probe => {
            let helper = std::env::current_exe().map_err(|error| failed(error.to_string()))?;
            (helper, vec![Raw(ENGINE.into())])
        }
    };
    let cwd = order.cwd.as_ref().map_or(Path::new("/"), Raw::path);
    // Looked at before, because `sandbox-exec` says nothing that a program could understand.
    if let Err(error) = rustix::fs::access(cwd, Access::EXEC_OK) {
        let reason = format!("its working directory {}: {}", cwd.display(), io::Error::from(error));
        return Err(Said::NotExecuted { reason });
    }
    if let Err(error) = rustix::fs::access(&program, Access::EXEC_OK) {
        return Err(Said::NotExecuted { reason: io::Error::from(error).to_string() });
    }
    let mut command = match sandbox {
        Some(sandbox) => {
            let resolved = program.canonicalize().map_err(|error| failed(error.to_string()))?;
            let profile = profile(&seen(order, &program), &resolved, tmp).map_err(|error| failed(error.to_string()))?;
            let mut command = Command::new(sandbox);
            command.arg("-p").arg(profile).arg(&program);
            command
        }
        None => Command::new(&program),
    };
    command.args(args.iter().map(|arg| &arg.0)).current_dir(cwd);
    // The engine has the helper's own environment, as it has on Linux.
    if matches!(order.start, Start::File(_)) {
        command.env_clear().envs(order.env.iter().map(|(name, value)| (&name.0, &value.0)));
        if let Some(tmp) = tmp {
            command.envs(["HOME", "TMPDIR", "TMP", "TEMP"].map(|name| (name, tmp)));
        }
    }
    Ok(command)
}

/// The policy as the kernel of macOS looks at it: paths without links. What is not there is passed over. A link itself
/// may be read, so that it can be followed, but a link to what may be written is nothing that may be written.
fn seen(order: &Order, program: &Path) -> Policy {
    let mut policy = Policy { execute: order.execute, network: order.network, ..Policy::default() };
    let mut add = |path: &Path, written: bool| {
        let Ok(resolved) = path.canonicalize() else { return };
        if resolved != path {
            policy.read.push(path.to_path_buf());
        }
        if written { policy.write.push(resolved) } else { policy.read.push(resolved) }
    };
    order.read.iter().for_each(|path| add(path.path(), false));
    order.write.iter().for_each(|path| add(path.path(), true));
    add(program, false);
    policy
}

/// Waits until the job's first process has ended, and kills the group if the host wants it or is gone. The process is
/// not reaped.
fn watch(control: &File, group: Pid, wall: Option<Duration>) -> io::Result<Option<EndReason>> {
    let (end, ending) = io::pipe()?;
    // There is no handle on a process that could be polled everywhere, so a thread waits, and its end of the pipe goes
    // with it.
    std::thread::Builder::new().spawn(move || {
        let ending = OwnedFd::from(ending);
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        while matches!(rustix::process::waitid(WaitId::Pid(group), options), Err(rustix::io::Errno::INTR)) {}
        drop(ending);
    })?;
    let deadline = wall.and_then(|wall| Instant::now().checked_add(wall));
    let mut reason = None;
    loop {
        let left = deadline.filter(|_| reason.is_none()).map(|it| it.saturating_duration_since(Instant::now()));
        let left = left.map(|left| Timespec {
            // Looked at again after a day.
            tv_sec: i64::try_from(left.as_secs()).unwrap_or(i64::MAX).min(86_400),
            tv_nsec: left.subsec_nanos().into(),
        });
        let mut fds = vec![PollFd::new(&end, PollFlags::IN)];
        if reason.is_none() {
            fds.push(PollFd::new(control, PollFlags::IN));
        }
        match rustix::event::poll(&mut fds, left.as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let has_ended = !fds[0].revents().is_empty();
        // The host never says anything after the job: whatever is there is the end.
        let host_is_gone = fds.get(1).is_some_and(|fd| !fd.revents().is_empty());
        if has_ended {
            return Ok(reason);
        }
        let is_late = reason.is_none() && deadline.is_some_and(|deadline| Instant::now() >= deadline);
        if host_is_gone || is_late {
            reason = Some(if host_is_gone { EndReason::Killed } else { EndReason::Timeout });
            let _ = rustix::process::kill_process_group(group, Signal::KILL);
        }
    }
}

/// Waits until the group that was killed is empty. Not for ever: who waits for the others' ends is not this process.
fn wait_for_the_rest(group: Pid) {
    for _ in 0..1000 {
        if rustix::process::test_kill_process_group(group).is_err() {
            return;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use crate::job::{Job, Program};

    fn order(job: &Job) -> Order {
        Order::of(job, Path::new("/tmp"), &[], false)
    }

    #[test]
    fn the_sandbox_gets_the_profile_and_then_the_program_as_it_is() {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path().canonicalize().unwrap();
        // Says what it was told, and starts the rest.
        let fake = dir.join("sandbox-exec");
        fs::write(&fake, "#!/bin/sh\necho \"$1\"; echo \"$2\"; shift 2; exec \"$@\"\n").unwrap();
        fs::set_permissions(&fake, fs::Permissions::from_mode(0o755)).unwrap();
        let policy = Policy { read: vec!["/usr".into()], write: vec![dir.clone()], execute: true, ..Policy::default() };
        let mut job = Job::new(Program::File("/usr/bin/env".into()), policy);
        job.args = vec!["sh".into(), "-c".into(), "echo \"$0|$HOME|$A\"; pwd".into(), "-p (allow default)".into()];
        job.env = vec![("A".into(), "b c".into()), ("PATH".into(), "/usr/bin:/bin".into())];
        job.cwd = Some("/usr".into());
        let order = order(&job);
        let output = command(&order, Some(&fake), Some(&dir.join("t"))).unwrap().output().unwrap();
        let program = Path::new("/usr/bin/env");
        let resolved = program.canonicalize().unwrap();
        let profile = profile(&seen(&order, program), &resolved, Some(&dir.join("t"))).unwrap();
        let said = format!("-p\n{profile}\n-p (allow default)|{}/t|b c\n/usr\n", dir.display());
        assert_eq!(String::from_utf8(output.stdout).unwrap(), said);
    }

    #[test]
    fn an_engine_is_this_program_again_which_may_reach_nothing() {
        let order = order(&Job::new(Program::Engine, Policy::nothing()));
        let command = command(&order, Some(Path::new("/sandbox")), None).unwrap();
        let helper = std::env::current_exe().unwrap().canonicalize().unwrap();
        let alone = Policy { read: vec![helper.clone()], ..Policy::nothing() };
        let args: Vec<_> = command.get_args().map(|arg| arg.to_str().unwrap().to_owned()).collect();
        let profile = profile(&alone, &helper, None).unwrap();
        assert_eq!(args, ["-p", &profile, helper.to_str().unwrap(), ENGINE]);
    }

    #[test]
    fn a_link_may_be_read_and_what_it_leads_to_written() {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path().canonicalize().unwrap();
        fs::create_dir(dir.join("real")).unwrap();
        std::os::unix::fs::symlink("real", dir.join("link")).unwrap();
        let policy = Policy { write: vec![dir.join("link"), dir.join("nowhere")], ..Policy::nothing() };
        let seen = seen(&order(&Job::new(Program::Engine, policy)), Path::new("/nowhere"));
        let expected = Policy { read: vec![dir.join("link")], write: vec![dir.join("real")], ..Policy::nothing() };
        assert_eq!(seen, expected);
    }

    #[test]
    fn a_path_that_the_profile_cannot_name_is_refused_before_anything_starts() {
        let dir = tempfile::tempdir().unwrap();
        let odd = dir.path().join("a\nb");
        fs::create_dir(&odd).unwrap();
        let job = Job::new(Program::File("/bin/sh".into()), Policy { read: vec![odd], ..Policy::nothing() });
        match command(&order(&job), Some(Path::new("/sandbox")), None) {
            Err(Said::Failed { reason }) => assert!(reason.contains("control character"), "{reason}"),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_report_names_what_is_missing() {
        let with = report(&Ok(SANDBOX_EXEC.into()), Err("of memory".to_owned()));
        assert!(with.sandboxed);
        assert_eq!(with.layers, [Layer::Seatbelt]);
        assert_eq!(with.missing.len(), OF_LINUX.len() + 2);
        let without = report(&Err("only macOS has it".to_owned()), Ok(()));
        assert!(!without.sandboxed);
        assert_eq!(without.layers, [Layer::ResourceLimits]);
        assert!(without.lacking().contains("seatbelt (only macOS has it)"), "{}", without.lacking());
    }
}
