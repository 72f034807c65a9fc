//! Watches a job until no process of it is left: its bounds, its time, and the host.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags};
use rustix::fs::Timespec;
use rustix::process::{Pid, PidfdFlags, Signal, WaitOptions, WaitStatus};

use super::held_memory::{self, HeldMemory};
use super::processes;
use crate::job::Bounds;
use crate::memory::MemoryUse;
use crate::wire::{EndReason, HelperMessage, JobEnd, receive, send};

/// The interval at which memory and processes are added up. A process cannot get far in this time: at 4 GB/s it touches
/// 200 MB.
const COUNT_INTERVAL: Duration = Duration::from_millis(50);

/// The interval once there are many processes: a program that forks without end doubles every few milliseconds.
const CLOSE_COUNT_INTERVAL: Duration = Duration::from_millis(5);

/// The job that the supervisor watches.
pub(super) struct SupervisedJob<'w> {
    /// Its child: the first process of the namespace, or the job itself.
    pub(super) first: Pid,
    /// Whether it has a namespace of processes.
    pub(super) own_processes: bool,
    pub(super) bounds: &'w Bounds,
    pub(super) tmp: Option<&'w Path>,
}

/// Watches host and job until no process of the job is left. Returns nothing if the job never began.
pub(super) fn watch(control: &File, job: &SupervisedJob<'_>, ready: &File, end: &File) -> io::Result<Option<JobEnd>> {
    let SupervisedJob { first, own_processes, .. } = *job;
    let me = rustix::process::getpid();
    let first_fd = rustix::process::pidfd_open(first, PidfdFlags::empty()).ok();
    let mut state = SupervisorState::default();
    let mut ready_open = true;
    let mut next_look = Instant::now() + COUNT_INTERVAL;
    // A time too far away to be represented is never.
    let deadline = job.bounds.wall.and_then(|wall| Instant::now().checked_add(wall));
    let status = loop {
        // Once the end is decided there is nothing more to hear from the host, whose absence would wake us over and
        // over.
        let listens = state.reason.is_none();
        let mut fds = Vec::with_capacity(3);
        if listens {
            fds.push(PollFd::new(control, PollFlags::IN));
        }
        if let Some(fd) = &first_fd {
            fds.push(PollFd::new(fd, PollFlags::IN));
        }
        if ready_open {
            fds.push(PollFd::new(ready, PollFlags::IN));
        }
        // Without a handle on the process, its end is only seen by looking.
        let most = if first_fd.is_some() { COUNT_INTERVAL } else { Duration::from_millis(5) };
        let now = Instant::now();
        let wait = next_look.saturating_duration_since(now).min(most);
        let wait =
            deadline.filter(|_| state.reason.is_none()).map_or(wait, |it| wait.min(it.saturating_duration_since(now)));
        let wait = Timespec { tv_sec: 0, tv_nsec: wait.subsec_nanos().into() };
        match rustix::event::poll(&mut fds, Some(&wait)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let host_is_gone = listens && !fds[0].revents().is_empty();
        let heard = ready_open && fds.last().is_some_and(|fd| !fd.revents().is_empty());
        drop(fds);
        if heard {
            ready_open = state.receive_message(ready, control)?;
        }
        // The host sends nothing after the job: whatever arrives is its end.
        if host_is_gone {
            state.end(EndReason::Killed, job, me);
        }
        if let Some(status) = wait_status(first)? {
            break status;
        }
        if state.reason.is_none() && deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            state.end(EndReason::Timeout, job, me);
        }
        if state.reason.is_none() && Instant::now() >= next_look {
            let growing = state.check_bounds(job, me);
            next_look = Instant::now() + if growing { CLOSE_COUNT_INTERVAL } else { COUNT_INTERVAL };
        }
    };
    if !own_processes {
        processes::kill_descendants(me);
    }
    while ready_open {
        ready_open = state.receive_message(ready, control)?;
    }
    state.report_start(control);
    // Without a namespace of processes, the first is the job itself.
    let status = if own_processes { ProcessEnd::receive(end) } else { Some(ProcessEnd::of(status)) };
    let ProcessEnd { code, signal } = status.unwrap_or(ProcessEnd { code: None, signal: Some(libc::SIGKILL) });
    let SupervisorState { reason, peak, used, .. } = state;
    Ok(state.began.then_some(JobEnd { code, signal, reason, peak_memory: peak, memory: used }))
}

/// The supervisor's state while it watches a job.
#[derive(Default)]
struct SupervisorState {
    reason: Option<EndReason>,
    peak: u64,
    /// The memory of the last look.
    used: MemoryUse,
    /// Memory held outside of processes, and when that was looked at.
    held: Option<(Instant, HeldMemory)>,
    /// Whether the host has heard that the job runs.
    began: bool,
    /// The last message of the job's process before it executes: true only once that worked, which closing the pipe
    /// shows.
    pending: Option<HelperMessage>,
}

impl SupervisorState {
    /// Receives a message that the job's process sends before it becomes the job. False once there are no more to come.
    fn receive_message(&mut self, ready: &File, control: &File) -> io::Result<bool> {
        // A later message is about an error after an earlier one.
        if let Some(message) = receive::<HelperMessage>(ready)? {
            self.pending = Some(message);
            return Ok(true);
        }
        self.report_start(control);
        Ok(false)
    }

    /// Reports to the host how the start went, once.
    fn report_start(&mut self, control: &File) {
        if let Some(message) = self.pending.take() {
            self.began = matches!(message, HelperMessage::Ready { .. });
            // A host that is gone need not hear it; that it is gone is seen elsewhere.
            let _ = send(control, &message);
        }
    }

    /// Checks that the job keeps its bounds, and ends it otherwise; returns whether to look again soon.
    fn check_bounds(&mut self, job: &SupervisedJob<'_>, me: Pid) -> bool {
        let Ok((found, usage)) = processes::descendants(me) else { return false };
        let bounds = job.bounds;
        // The first process of the namespace is ours.
        let ours = u64::from(job.own_processes);
        if usage.tasks.saturating_sub(ours) > u64::from(bounds.processes) {
            self.end(EndReason::Processes, job, me);
            return false;
        }
        let held = self.held_memory(&found, bounds.memory_total);
        // With a file system of its own, nothing is there to be seen, and the kernel bounds it.
        let own_files = job.tmp.and_then(|tmp| held_memory::bytes_in_own_files(job.first, tmp));
        let mut room = bounds.tmp_size.checked_sub(held.nameless_files);
        let mut is_too_much = |tmp| room.as_mut().is_none_or(|room| !fits_within(tmp, room, &mut { MAX_TMP_FILES }));
        if job.tmp.is_some_and(|tmp| own_files.is_none() && is_too_much(tmp)) {
            self.end(EndReason::Disk, job, me);
            return false;
        }
        let files = match (own_files, job.tmp) {
            (Some(own), _) => own + held_memory::bytes_in_own_files(job.first, Path::new("/dev/shm")).unwrap_or(0),
            (None, Some(tmp)) if held_memory::is_in_memory(tmp) => bounds.tmp_size - room.unwrap_or(0),
            _ => 0,
        };
        let HeldMemory { page_tables, sockets, pipes, locks, .. } = held;
        let mut used = MemoryUse { resident: usage.memory, page_tables, sockets, pipes, files, locks };
        if used.total() > bounds.memory_total {
            used.resident = processes::proportional_memory(&found, used.resident);
        }
        self.peak = self.peak.max(used.total());
        self.used = used;
        if used.total() > bounds.memory_total {
            self.end(EndReason::Memory, job, me);
        }
        usage.tasks > u64::from(bounds.processes) / 4
    }

    /// Returns the memory held outside of processes. It is looked for less often than processes are counted: with many
    /// of them it takes long.
    fn held_memory(&mut self, found: &[processes::Process], enough: u64) -> HeldMemory {
        let now = Instant::now();
        match self.held {
            Some((then, held)) if now.duration_since(then) < COUNT_INTERVAL => held,
            _ => self.held.insert((now, held_memory::held_by(found, enough))).1,
        }
    }

    fn end(&mut self, reason: EndReason, job: &SupervisedJob<'_>, me: Pid) {
        self.reason = Some(reason);
        if job.own_processes {
            // The kernel ends everything else in the namespace with its first process.
            let _ = rustix::process::kill_process(job.first, Signal::KILL);
        } else {
            kill_without_reaping(me, job.first);
        }
    }
}

/// Files in the private directory; more are too much, whatever their size.
const MAX_TMP_FILES: u64 = 65_536;

/// Returns whether the files below `dir` fit into `bytes`, of which it leaves the room that remains.
fn fits_within(dir: &Path, bytes: &mut u64, files: &mut u64) -> bool {
    use std::os::unix::fs::MetadataExt;
    // A file that is gone meanwhile takes nothing. One that cannot be looked at, because it is too deep or locked, may
    // be of any size.
    let gone = |error: &io::Error| error.kind() == io::ErrorKind::NotFound;
    let entries = match fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(error) => return gone(&error),
    };
    for entry in entries {
        let (metadata, entry) = match entry.and_then(|entry| Ok((entry.metadata()?, entry))) {
            Ok(found) => found,
            Err(error) if gone(&error) => continue,
            Err(_) => return false,
        };
        // The size on the disk: a file with holes takes less than its length.
        let taken = metadata.blocks() * 512;
        if taken > *bytes || *files == 0 {
            return false;
        }
        *bytes -= taken;
        *files -= 1;
        if metadata.is_dir() && !fits_within(&entry.path(), bytes, files) {
            return false;
        }
    }
    true
}

/// Kills the job's processes without reaping them: the status of the first is read later.
fn kill_without_reaping(me: Pid, first: Pid) {
    let _ = rustix::process::kill_process(first, Signal::STOP);
    for signal in [Signal::STOP, Signal::KILL] {
        if let Ok((found, _)) = processes::descendants(me) {
            for process in found {
                let _ = rustix::process::kill_process(process.pid, signal);
            }
        }
    }
    let _ = rustix::process::kill_process(first, Signal::KILL);
}

/// Returns how the process ended, if it has. Reaps others that were left to the supervisor on the way.
fn wait_status(first: Pid) -> io::Result<Option<WaitStatus>> {
    loop {
        match rustix::process::wait(WaitOptions::NOHANG) {
            Ok(Some((pid, status))) if pid == first => return Ok(Some(status)),
            Ok(Some(_)) | Err(rustix::io::Errno::INTR) => {}
            Ok(None) => return Ok(None),
            Err(error) => return Err(error.into()),
        }
    }
}

/// The end of a process: its exit code, or the signal that ended it.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ProcessEnd {
    code: Option<i32>,
    signal: Option<i32>,
}

impl ProcessEnd {
    pub(super) fn of(status: WaitStatus) -> ProcessEnd {
        ProcessEnd { code: status.exit_status(), signal: status.terminating_signal() }
    }

    pub(super) fn to_bytes(self) -> [u8; 2] {
        // An exit code has eight bits, a signal seven.
        let byte = |value: Option<i32>| u8::try_from(value.unwrap_or(0) & 0xff).unwrap_or(0);
        [byte(self.code), byte(self.signal)]
    }

    /// Reads what H1 has reported about the job, if it could.
    fn receive(end: &File) -> Option<ProcessEnd> {
        let mut bytes = [0; 2];
        (&*end).read_exact(&mut bytes).ok()?;
        let signal = (bytes[1] != 0).then(|| i32::from(bytes[1]));
        Some(ProcessEnd { code: signal.is_none().then(|| i32::from(bytes[0])), signal })
    }
}
