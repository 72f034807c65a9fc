//! H0, the supervisor, and H1, the first process of the job's namespace.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags};
use rustix::fs::Timespec;
use rustix::process::{Signal, WaitOptions};

use super::NOT_A_HELPER;
use super::job_process::{self, JobProcess};
use super::job_watch::{self, ProcessEnd, SupervisedJob};
use super::mounts::{self, MountState};
use super::private_tmp::PrivateTmp;
use crate::layer::{Layer, SandboxReport};
use crate::memory::MemoryBound;
use crate::sys::{self, Fork};
use crate::wire::{HelperMessage, HelperSetup, JobOrder, JobStart, OsText, receive, receive_descriptors, send};

/// Runs as the helper. Never returns.
///
/// There is always one process that waits for the next job, with its namespaces made already: they are the same for
/// every job of this helper, and take as long as all other layers together.
pub(super) fn run(engine: Option<fn() -> i32>, setup: &HelperSetup) -> ! {
    let Ok(host) = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), 3).map(File::from) else {
        sys::exit_now(NOT_A_HELPER)
    };
    sys::leave_no_zombies();
    loop {
        let Ok((taken, takes)) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC) else { refuse(&host) };
        match sys::fork() {
            Ok(Fork::Child) => {
                drop(taken);
                wait_for_job(host, takes, engine, setup)
            }
            Ok(Fork::Parent(_)) => drop(takes),
            Err(_) => refuse(&host),
        }
        let mut byte = [0];
        if !matches!(File::from(taken).read(&mut byte), Ok(1)) {
            if is_closed(&host) {
                sys::exit_now(0);
            }
            // The process that waits was killed: not to be answered by forking without a pause.
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

/// Reports to the next host that asks that nothing can be started, and ends: the host will start another helper.
fn refuse(host: &File) -> ! {
    if let Ok(Some([control, ..])) = receive_descriptors::<4>(host) {
        let reason = format!("starting a process: {}", io::Error::last_os_error());
        let _ = send(&File::from(control), &HelperMessage::Failed { reason });
    }
    sys::exit_now(NOT_A_HELPER)
}

/// Returns whether the other end of a socket is closed.
fn is_closed(host: &File) -> bool {
    let mut fds = [PollFd::new(host, PollFlags::empty())];
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    rustix::event::poll(&mut fds, Some(&now)).is_err() || !fds[0].revents().is_empty()
}

/// Runs as H0, from its beginning to its end.
fn wait_for_job(host: File, takes: OwnedFd, engine: Option<fn() -> i32>, setup: &HelperSetup) -> ! {
    // As the helper has: a signal to one job's group is no other's business.
    let _ = rustix::process::setpgid(None, None);
    sys::default_signals();
    let mut report = SandboxReport { memory: MemoryBound::Counted, ..SandboxReport::default() };
    report.note::<String>(Layer::Supervisor, Ok(()));
    enter_namespaces(setup, &mut report);
    let received = loop {
        match receive_descriptors::<4>(&host) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            received => break received,
        }
    };
    let Ok(Some([control, stdin, stdout, stderr])) = received else { sys::exit_now(0) };
    let control = File::from(control);
    // Now the next one may be prepared.
    let _ = File::from(takes).write_all(&[1]);
    drop(host);
    if let Err(error) = supervise(&control, [stdin, stdout, stderr], engine, report) {
        let _ = send(&control, &HelperMessage::Failed { reason: error.to_string() });
        sys::exit_now(NOT_A_HELPER);
    }
    sys::exit_now(0)
}

/// Starts one job, watches it, and reports its end.
fn supervise(
    control: &File,
    pipes: [OwnedFd; 3],
    engine: Option<fn() -> i32>,
    mut report: SandboxReport,
) -> io::Result<()> {
    let order: JobOrder = receive(control)?.ok_or_else(|| io::Error::other("no job was given"))?;
    sys::close_all_but(&[control.as_fd(), pipes[0].as_fd(), pipes[1].as_fd(), pipes[2].as_fd()]);
    // Standard input was the helper's socket, which a job must not have.
    let null = fs::OpenOptions::new().read(true).write(true).open("/dev/null")?;
    rustix::stdio::dup2_stdin(&null)?;
    rustix::stdio::dup2_stdout(&null)?;
    rustix::stdio::dup2_stderr(&null)?;

    let tmp = order.tmp_base.as_ref().map(|base| PrivateTmp::new(base.path())).transpose()?;
    let own_processes = report.has(Layer::PidNamespace);
    if !own_processes {
        sys::run_first();
        rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
    }

    let (ready_from, ready_to) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
    let (end_from, end_to) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
    let first = match sys::fork()? {
        Fork::Parent(pid) => pid,
        Fork::Child => {
            drop((ready_from, end_from));
            die_with_supervisor(&end_to);
            let mounted = separate_mounts(&order, &mut report, tmp.as_ref(), own_processes);
            // The supervisor removes it.
            let tmp = tmp.map(|tmp| std::mem::ManuallyDrop::new(tmp).path().to_path_buf());
            let process = JobProcess { order, pipes, ready: ready_to.into(), report, tmp, mounted, engine };
            if own_processes { first_process(process, end_to.into()) } else { process.run() }
        }
    };
    drop((ready_to, end_to, pipes));
    let job = SupervisedJob { first, own_processes, bounds: &order.bounds, tmp: tmp.as_ref().map(PrivateTmp::path) };
    let ended = job_watch::watch(control, &job, &File::from(ready_from), &File::from(end_from))?;
    drop(tmp);
    if let Some(ended) = ended {
        send(control, &HelperMessage::Ended(ended))?;
    }
    Ok(())
}

/// Moves this process (and with the namespace of processes, its children) into namespaces, as far as the kernel allows.
fn enter_namespaces(setup: &HelperSetup, report: &mut SandboxReport) {
    let off = |layer| setup.without.contains(&layer);
    let mut enter = |layer, with: &dyn Fn() -> io::Result<()>| {
        let outcome = if off(layer) { Err("switched off".to_owned()) } else { with().map_err(|it| it.to_string()) };
        report.note(layer, outcome);
    };
    enter(Layer::UserNamespace, &|| {
        let (user, group) = (rustix::process::getuid().as_raw(), rustix::process::getgid().as_raw());
        sys::unshare(libc::CLONE_NEWUSER)?;
        fs::write("/proc/self/setgroups", "deny")?;
        fs::write("/proc/self/uid_map", format!("{user} {user} 1"))?;
        fs::write("/proc/self/gid_map", format!("{group} {group} 1"))
    });
    enter(Layer::PidNamespace, &|| sys::unshare(libc::CLONE_NEWPID));
    enter(Layer::IpcNamespace, &|| sys::unshare(libc::CLONE_NEWIPC | libc::CLONE_NEWUTS));
    if setup.network {
        report.note(Layer::NetworkNamespace, Err("the network is allowed"));
    } else {
        enter(Layer::NetworkNamespace, &|| sys::unshare(libc::CLONE_NEWNET));
    }
}

/// Makes the job's mounts. The child does it, so that the supervisor keeps seeing the `/proc` that shows all processes.
fn separate_mounts(
    order: &JobOrder,
    report: &mut SandboxReport,
    tmp: Option<&PrivateTmp>,
    own_processes: bool,
) -> MountState {
    if order.without.contains(&Layer::MountNamespace) {
        report.note(Layer::MountNamespace, Err("switched off"));
        return MountState::default();
    }
    let program = if let JobStart::File(program) = &order.start { Some(program.path()) } else { None };
    let loaders = job_process::LOADERS.iter().map(Path::new);
    let plan = mounts::MountPlan {
        tmp: tmp.map(PrivateTmp::path),
        tmp_size: order.bounds.tmp_size,
        own_processes,
        read: program.into_iter().chain(loaders).chain(order.read.iter().map(OsText::path)).collect(),
        write: order.write.iter().map(OsText::path).collect(),
        names: order.names.iter().map(OsText::path).collect(),
        hidden: order.hidden.iter().map(OsText::path).collect(),
        devices: job_process::DEVICES.iter().chain(job_process::READ_DEVICES).copied().collect(),
        cwd: order.cwd.as_ref().map(OsText::path),
    };
    match mounts::enter_namespace(&plan) {
        Ok(mounted) => {
            (report.read_only, report.own_root) = (mounted.read_only, mounted.own_root);
            report.note::<String>(Layer::MountNamespace, Ok(()));
            mounted
        }
        Err(error) => {
            report.note(Layer::MountNamespace, Err(error));
            MountState::default()
        }
    }
}

/// Makes this process die with the supervisor, which alone holds the other end of `pipe`.
fn die_with_supervisor(pipe: &OwnedFd) {
    let _ = rustix::process::set_parent_process_death_signal(Some(Signal::KILL));
    // The supervisor may have died before the line above; then the pipe has no reader. (The parent's number does not
    // show it: seen from another namespace of processes, the parent has none.)
    let mut fds = [PollFd::new(pipe, PollFlags::empty())];
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    if rustix::event::poll(&mut fds, Some(&now)).is_ok() && fds[0].revents().contains(PollFlags::ERR) {
        sys::exit_now(0);
    }
}

/// Runs as H1: starts the job, reaps the processes that are left to it, and reports how the job ended. With it, all
/// others end.
fn first_process(process: JobProcess, mut end: File) -> ! {
    if process.mounted.proc {
        mounts::bound_processes(process.order.bounds.processes);
    }
    let job = match sys::fork() {
        Ok(Fork::Child) => {
            drop(end);
            process.run()
        }
        Ok(Fork::Parent(job)) => job,
        Err(error) => {
            let _ = send(&process.ready, &HelperMessage::Failed { reason: format!("starting the job: {error}") });
            sys::exit_now(NOT_A_HELPER)
        }
    };
    // Above all the job's pipes, whose end the host waits for. They are not dropped, but closed under their owners.
    let process = std::mem::ManuallyDrop::new(process);
    sys::close_all_but(&[end.as_fd()]);
    let _ = &process;
    loop {
        match rustix::process::wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) if pid == job => {
                let _ = end.write_all(&ProcessEnd::of(status).to_bytes());
                sys::exit_now(0)
            }
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(_) => sys::exit_now(NOT_A_HELPER),
        }
    }
}
