//! Processes and their use of memory, read from `/proc`.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::Path;

use rustix::process::{Pid, Signal, WaitOptions};

/// One process, as far as it matters here.
#[derive(Debug, Clone, Copy)]
struct ProcessStat {
    parent: i32,
    threads: u64,
    resident_pages: u64,
    /// Whether its first thread has ended, and so does not show what other threads use.
    headless: bool,
}

/// One process of a job.
#[derive(Debug, Clone, Copy)]
pub(super) struct Process {
    pub(super) pid: Pid,
    /// The thread by which it is read in `/proc`: its first, or another one if that has ended.
    pub(super) task: i32,
}

/// The resources that all processes below one use together.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ProcessUsage {
    /// Resident memory, in bytes; what several share is counted for each.
    pub(super) memory: u64,
    /// Processes and threads.
    pub(super) tasks: u64,
}

/// Returns every descendant of `ancestor`, with the sum of what they use.
pub(super) fn descendants(ancestor: Pid) -> io::Result<(Vec<Process>, ProcessUsage)> {
    let mut all: HashMap<i32, ProcessStat> = HashMap::new();
    for entry in fs::read_dir("/proc")? {
        let Ok(entry) = entry else { continue };
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<i32>().ok()) else { continue };
        // A process that ends meanwhile cannot be read, and need not be.
        if let Ok(text) = fs::read_to_string(entry.path().join("stat"))
            && let Some(stat) = parse_stat(&text)
        {
            all.insert(pid, stat);
        }
    }
    let page = rustix::param::page_size() as u64;
    let (mut found, mut usage) = (Vec::new(), ProcessUsage::default());
    for (pid, entry) in &all {
        if !is_descendant(&all, *pid, ancestor.as_raw_nonzero().get()) {
            continue;
        }
        let (task, entry) = if entry.headless { living_thread(*pid).unwrap_or((*pid, *entry)) } else { (*pid, *entry) };
        usage.memory += entry.resident_pages * page;
        usage.tasks += entry.threads;
        found.extend(Pid::from_raw(*pid).map(|pid| Process { pid, task }));
    }
    Ok((found, usage))
}

/// Returns a thread of a process that has not ended, and what the process uses as seen from it.
fn living_thread(process: i32) -> Option<(i32, ProcessStat)> {
    fs::read_dir(format!("/proc/{process}/task")).ok()?.flatten().find_map(|task| {
        let number = task.file_name().to_str()?.parse().ok()?;
        let entry = parse_stat(&fs::read_to_string(task.path().join("stat")).ok()?)?;
        (!entry.headless && entry.threads > 0).then_some((number, entry))
    })
}

fn is_descendant(all: &HashMap<i32, ProcessStat>, mut pid: i32, ancestor: i32) -> bool {
    // Parents change while the list is read, so a circle is thinkable.
    for _ in 0..=all.len() {
        match all.get(&pid) {
            Some(entry) if entry.parent == ancestor => return true,
            Some(entry) => pid = entry.parent,
            None => return false,
        }
    }
    false
}

/// Reads a line of `/proc/PID/stat`. The name is in parentheses and may hold anything, so fields are counted from the
/// last parenthesis.
fn parse_stat(stat: &str) -> Option<ProcessStat> {
    let mut fields = stat[stat.rfind(')')? + 1..].split_ascii_whitespace();
    let state = fields.next()?;
    let parent = fields.next()?.parse().ok()?;
    // From the state on: 17 is the number of threads, 21 the resident pages.
    let rest: Vec<&str> = fields.collect();
    let threads = rest.get(15)?.parse().ok()?;
    let resident_pages = rest.get(19)?.parse().ok()?;
    // A process that has ended and waits to be reaped uses nothing any more, unless only its first thread has ended.
    let ended = matches!(state, "Z" | "X");
    let headless = ended && threads > 1;
    Some(ProcessStat {
        parent,
        threads: if ended && !headless { 0 } else { threads },
        resident_pages: if ended { 0 } else { resident_pages },
        headless,
    })
}

/// Returns the number of processes and threads that this process's user has.
pub(super) fn count_of_this_user() -> u64 {
    use std::os::unix::fs::MetadataExt;
    let me = rustix::process::getuid().as_raw();
    let Ok(entries) = fs::read_dir("/proc") else { return 0 };
    let threads = entries.flatten().filter_map(|entry| {
        entry.file_name().to_str()?.parse::<u32>().ok()?;
        let mine = entry.metadata().is_ok_and(|metadata| metadata.uid() == me);
        mine.then(|| fs::read_to_string(entry.path().join("stat")).ok().and_then(|it| parse_stat(&it)))?
    });
    threads.map(|entry| entry.threads).sum()
}

/// Returns the memory of `processes`, in which shared memory is counted once, and mapped files that are in memory not
/// at all: those are counted as files. Slow, so only used when it matters; `otherwise` if the kernel does not report
/// it.
pub(super) fn proportional_memory(processes: &[Process], otherwise: u64) -> u64 {
    let mut sum = 0;
    for process in processes {
        let path = format!("/proc/{}/smaps_rollup", process.task);
        match fs::read_to_string(Path::new(&path)) {
            Ok(text) => {
                let value = |name: &str| {
                    let line = text.lines().find_map(|line| line.strip_prefix(name));
                    line.and_then(|rest| rest.trim().trim_end_matches("kB").trim().parse::<u64>().ok()).unwrap_or(0)
                };
                sum += value("Pss:").saturating_sub(value("Pss_Shmem:")) * 1024;
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            // A process that has just ended has no memory; any other error means that reading is not allowed.
            Err(error) if error.raw_os_error() == Some(libc::ESRCH) => {}
            Err(_) => return otherwise,
        }
    }
    sum
}

/// Kills every descendant of this process until none is left, and reaps them all. For where no namespace does it.
pub(super) fn kill_descendants(ancestor: Pid) {
    loop {
        // Stopped first: what does not run cannot fork while the rest is being killed.
        for signal in [Signal::STOP, Signal::KILL] {
            if let Ok((found, _)) = descendants(ancestor) {
                for process in found {
                    let _ = rustix::process::kill_process(process.pid, signal);
                }
            }
        }
        loop {
            match rustix::process::wait(WaitOptions::NOHANG) {
                Ok(Some(_)) | Err(rustix::io::Errno::INTR) => {}
                // Some are left, which will be reaped in a moment or found by the next round.
                Ok(None) => break,
                Err(_) => return,
            }
        }
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_parentheses_and_blanks_is_only_a_name() {
        let line = "42 (a) b (c) S 7 42 42 0 -1 4194304 1 2 3 4 5 6 7 8 20 0 3 0 100 1000 55 18446744073709551615";
        let entry = parse_stat(line).unwrap();
        assert_eq!((entry.parent, entry.threads, entry.resident_pages, entry.headless), (7, 3, 55, false));
    }

    #[test]
    fn a_process_whose_first_thread_has_ended_goes_on() {
        let line = |threads| format!("42 (a) Z 7 42 42 0 -1 4194304 1 2 3 4 5 6 7 8 20 0 {threads} 0 100 1000 0 1");
        let entry = parse_stat(&line(3)).unwrap();
        assert_eq!((entry.threads, entry.headless), (3, true));
        let entry = parse_stat(&line(1)).unwrap();
        assert_eq!((entry.threads, entry.headless), (0, false));
    }

    #[test]
    fn this_process_is_below_its_parent_and_uses_memory() {
        let parent = rustix::process::getppid().unwrap();
        let (found, usage) = descendants(parent).unwrap();
        assert!(found.iter().any(|process| process.pid == rustix::process::getpid()));
        assert!(usage.memory > 0 && usage.tasks > 0);
    }
}
