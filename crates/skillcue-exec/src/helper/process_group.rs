//! The helper for jobs without a sandbox: starts the job in a process group of its own, and kills the group when the
//! job ends or the host is gone. Used where the layers of Linux are missing, and only after the user has allowed
//! running without a sandbox; otherwise it refuses.
//!
//! Limits of a process group: a process can leave it and then outlives the job; and if the helper itself is killed, the
//! job goes on.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags};
use rustix::fs::{Access, Mode, Timespec};
use rustix::process::{Pid, Resource, Rlimit, Signal, WaitId, WaitIdOptions};

use super::private_tmp::PrivateTmp;
use super::{ENGINE_ARGUMENT, NOT_A_HELPER};
use crate::job::Bounds;
use crate::layer::{Layer, SandboxReport};
use crate::memory::{MemoryBound, MemoryUse};
use crate::wire::{EndReason, HelperMessage, JobEnd, JobOrder, JobStart, OsText, receive, receive_descriptors, send};

/// The layers that this helper never has: all of them are of Linux, and made by the supervisor there.
const MISSING_LAYERS: &[Layer] = &[
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
    let message = match supervise(&control, engine.is_some()) {
        Ok(message) => message,
        Err(error) => HelperMessage::Failed { reason: error.to_string() },
    };
    let _ = send(&control, &message);
    std::process::exit(0)
}

/// Runs the job; returns the last message to the host.
fn supervise(control: &File, has_engine: bool) -> io::Result<HelperMessage> {
    let pipes: [OwnedFd; 3] = receive_descriptors(control)?.ok_or_else(|| io::Error::other("no pipes were given"))?;
    let order: JobOrder = receive(control)?.ok_or_else(|| io::Error::other("no job was given"))?;
    crate::sys::keep_descriptors();
    rustix::process::umask(Mode::from_raw_mode(0o077));

    let switched_off = order.without.contains(&Layer::ResourceLimits);
    // Every process that is started from here inherits the limits.
    let limits = if switched_off { Err("switched off".to_owned()) } else { limit(&order.bounds) };
    let report = report(limits);
    if !order.allow_unsandboxed {
        return Ok(HelperMessage::Refused { report });
    }
    if order.start == JobStart::Probe {
        send(control, &HelperMessage::Ready { report, tmp: None })?;
        return Ok(HelperMessage::Ended(JobEnd {
            code: Some(0),
            signal: None,
            reason: None,
            peak_memory: 0,
            memory: MemoryUse::default(),
        }));
    }
    if order.start == JobStart::Engine && !has_engine {
        return Err(io::Error::other(crate::error::NO_ENGINE));
    }
    let tmp = order.tmp_base.as_ref().map(|base| PrivateTmp::new(base.path())).transpose()?;
    let tmp_path = tmp.as_ref().map(PrivateTmp::path);
    let mut command = match command(&order, tmp_path) {
        Ok(command) => command,
        Err(message) => return Ok(message),
    };
    let [stdin, stdout, stderr] = pipes.map(Stdio::from);
    command.stdin(stdin).stdout(stdout).stderr(stderr).process_group(0);
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(error) => return Ok(HelperMessage::NotExecuted { reason: error.to_string() }),
    };
    // It holds the job's ends of the pipes, whose closing the host waits for.
    drop(command);
    let group = Pid::from_child(&child);
    let reason = send(control, &HelperMessage::Ready { report, tmp: tmp_path.map(OsText::from) })
        .and_then(|()| watch(control, group, order.bounds.wall));
    // Also if watching went wrong, and also what the first process has left behind. As it was not reaped yet, no other
    // group can have this number.
    let _ = rustix::process::kill_process_group(group, Signal::KILL);
    let status = child.wait()?;
    wait_for_the_rest(group);
    drop(tmp);
    let (code, signal) = (status.code(), status.signal());
    Ok(HelperMessage::Ended(JobEnd { code, signal, reason: reason?, peak_memory: 0, memory: MemoryUse::default() }))
}

fn report(limits: Result<(), String>) -> SandboxReport {
    let mut report = SandboxReport::default();
    let reason = if cfg!(target_os = "linux") { "switched off" } else { "only Linux has it" };
    for layer in MISSING_LAYERS {
        report.note(*layer, Err(reason));
    }
    let reason = "the job's process group ends with it and with the host; nothing is added up, and a process that leaves \
                  the group is not found";
    report.note(Layer::Supervisor, Err(reason));
    report.memory = if limits.is_ok() { MemoryBound::EachProcess } else { MemoryBound::Unbounded };
    report.note(Layer::ResourceLimits, limits);
    report
}

/// Limits this process, and so the job. On systems other than Linux the limits are set, but count as missing: it was
/// never tested whether they hold there.
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
    set(Resource::Data, bounds.memory)?;
    // The processes that the user has already count, too.
    #[cfg(target_os = "linux")]
    set(Resource::Nproc, super::processes::count_of_this_user() + u64::from(bounds.processes))?;
    if cfg!(target_os = "linux") { Ok(()) } else { Err("set, but never tested on this system".to_owned()) }
}

/// Returns the command that starts the job.
fn command(order: &JobOrder, tmp: Option<&Path>) -> Result<Command, HelperMessage> {
    let mut command = match &order.start {
        JobStart::File(program) => {
            let mut command = Command::new(program.path());
            command.args(order.args.iter().map(|arg| &arg.0)).env_clear();
            command.envs(order.env.iter().map(|(name, value)| (&name.0, &value.0)));
            if let Some(tmp) = tmp {
                command.envs(["HOME", "TMPDIR", "TMP", "TEMP"].map(|name| (name, tmp)));
            }
            command
        }
        // The engine is this program again, with the helper's own environment, as it has in the sandbox.
        JobStart::Engine | JobStart::Probe => {
            let helper =
                std::env::current_exe().map_err(|error| HelperMessage::Failed { reason: error.to_string() })?;
            let mut command = Command::new(helper);
            command.arg(ENGINE_ARGUMENT);
            command
        }
    };
    let cwd = order.cwd.as_ref().map_or(Path::new("/"), OsText::path);
    // Checked here, because the error of `spawn` does not say whether the program or the directory is missing.
    if let Err(error) = rustix::fs::access(cwd, Access::EXEC_OK) {
        let reason = format!("its working directory {}: {}", cwd.display(), io::Error::from(error));
        return Err(HelperMessage::NotExecuted { reason });
    }
    command.current_dir(cwd);
    Ok(command)
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
        // The host sends nothing after the job: whatever arrives is its end.
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

/// Waits until the group that was killed is empty. Not for ever: it is not this process that reaps the others.
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
    use super::*;
    use crate::job::{Job, JobProgram, SandboxPolicy};

    #[test]
    fn an_engine_is_this_program_again() {
        let order = JobOrder::of(&Job::new(JobProgram::Engine, SandboxPolicy::nothing()), Path::new("/tmp"), &[], true);
        let command = command(&order, None).unwrap();
        assert_eq!(command.get_program(), std::env::current_exe().unwrap());
        assert_eq!(command.get_args().collect::<Vec<_>>(), [ENGINE_ARGUMENT]);
    }

    #[test]
    fn a_report_names_what_is_missing() {
        let limited = report(Ok(()));
        assert!(!limited.sandboxed);
        assert_eq!((&limited.layers[..], limited.memory), (&[Layer::ResourceLimits][..], MemoryBound::EachProcess));
        assert!(
            limited.missing_required().starts_with("landlock (") && limited.missing_required().contains("seccomp (")
        );
        let unlimited = report(Err("of memory".to_owned()));
        assert_eq!((unlimited.layers.len(), unlimited.memory), (0, MemoryBound::Unbounded));
        assert_eq!(unlimited.missing.len(), MISSING_LAYERS.len() + 2);
    }
}
