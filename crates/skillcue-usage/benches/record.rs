//! The cost of recording: an answer with a ledger beside one without, in turns; the write of a process that ends in a moment;
//! and eight processes that write 100,000 events each.
//!
//! `cargo bench -p skillcue-usage`

#![expect(clippy::unwrap_used, reason = "a measurement that cannot be set up has failed")]
#![expect(clippy::print_stdout, reason = "the figures")]

use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use skillcue::usage::UsageKind;
use skillcue::{Request, Session, Skillcue};
use skillcue_bench::triggers::messages;
use skillcue_bench::{Plan, TreeOptions, generate};
use skillcue_usage::{Ledger, LedgerBatch, LedgerEvent, LedgerSink};

const PROCESSES: usize = 8;
const EVENTS: u64 = 100_000;
/// The variable with the number of a writing process, and its directory.
const WRITER: &str = "SKILLCUE_USAGE_WRITER";

fn main() {
    if let Some(dir) = std::env::var_os(WRITER) {
        return write(Path::new(&dir));
    }
    let dir = tempfile::tempdir().unwrap();
    answers(dir.path());
    brief_writes(dir.path());
    processes(dir.path());
}

fn answers(dir: &Path) {
    for skills in [100, 1_000] {
        let root = dir.join(format!("skills-{skills}"));
        generate(&root, &TreeOptions { count: skills, ..TreeOptions::default() }).unwrap();
        let ledger = Ledger::new(dir.join("answers.db"));
        let build = || Skillcue::builder().skills_dir(&root).match_cache(0);
        let (plain, again) = (build().build().unwrap(), build().build().unwrap());
        let sink = LedgerSink::new(ledger.clone(), "library", "/home/ann/project");
        let recording = build().usage(Arc::new(sink)).build().unwrap();
        let messages = messages(1, 20, 64);
        // An agent answers now and then: what the thread does meanwhile is not the answer's time.
        let answer = |skills: &Skillcue, message: &str| {
            std::thread::sleep(Duration::from_millis(1));
            let mut session = Session::default();
            let (start, cpu) = (Instant::now(), own_time());
            let shown = skills.disclose(Request::new(message).session(&mut session).conversation("c"));
            let time = [start.elapsed(), own_time().saturating_sub(cpu)];
            drop(shown);
            time
        };
        // The second of equal messages finds warm caches: each is first as often as the others. `again` is as `plain`: the
        // ratio of the two is what this machine's noise makes of nothing.
        let setups = [&recording, &plain, &again];
        let mut times = [const { [const { Vec::new() }; 2] }; 3];
        for round in 0..30 {
            for message in &messages {
                for step in 0..3 {
                    let at = (round + step) % 3;
                    let [wall, own] = answer(setups[at], message);
                    times[at][0].push(wall);
                    times[at][1].push(own);
                }
            }
        }
        assert!(ledger.flush(Duration::from_mins(1)));
        let state = ledger.state().unwrap().unwrap();
        for (which, what) in ["by the clock", "of the processor, in the thread that answers"].into_iter().enumerate() {
            let middle = |times: &mut [Vec<Duration>; 2]| {
                times[which].sort_unstable();
                times[which][times[which].len() / 2].as_secs_f64() * 1e6
            };
            let [with, without, again] = times.each_mut().map(middle);
            println!(
                "answer at {skills} skills, time {what}: {with:.1} µs with the ledger, {without:.1} µs without (medians); ratio \
                 {:.3}, of two without {:.3}; {} events, {} dropped",
                with / without,
                again / without,
                state.events,
                state.dropped,
            );
        }
    }
}

/// Returns the time that this thread has had of a processor: other programs on the machine do not count.
fn own_time() -> Duration {
    let spent = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(spent.tv_sec.unsigned_abs(), u32::try_from(spent.tv_nsec).unwrap())
}

fn brief_writes(dir: &Path) {
    let ledger = Ledger::new(dir.join("brief.db"));
    let event = LedgerEvent { tier: Some(3), tokens: Some(900), ..LedgerEvent::new(UsageKind::Shown, "pdf-forms") };
    let batch = LedgerBatch::from(&[event][..]);
    let timing = Plan::rounds(2_000).warm_up(5).single(|| ledger.write_briefly(&batch).unwrap());
    println!(
        "write of a short process: {:?} (median), {:?} (99 of 100), {:?} (best)",
        timing.median, timing.p99, timing.min
    );
}

fn processes(dir: &Path) {
    let start = Instant::now();
    let writer = |_| Command::new(std::env::current_exe().unwrap()).env(WRITER, dir).spawn().unwrap();
    let mut children: Vec<_> = (0..PROCESSES).map(writer).collect();
    assert!(children.iter_mut().all(|child| child.wait().unwrap().success()));
    let ledger = Ledger::new(dir.join("processes.db"));
    let state = ledger.state().unwrap().unwrap();
    let accepted: u64 =
        std::fs::read_to_string(dir.join("accepted")).unwrap().lines().map(|line| line.parse::<u64>().unwrap()).sum();
    let seconds = start.elapsed().as_secs_f64();
    println!(
        "{PROCESSES} processes × {EVENTS} events: {accepted} accepted, {} written, {} counted as dropped, {seconds:.1} s; {:?}",
        state.events,
        state.dropped,
        ledger.check().unwrap().unwrap_or_else(|| "sound".to_owned())
    );
    assert_eq!(state.events, accepted);
}

/// Writes events as fast as the queue takes them, waiting where it is full.
fn write(dir: &Path) {
    use std::io::Write as _;
    let ledger = Ledger::new(dir.join("processes.db"));
    let mut accepted = 0;
    for number in 0..EVENTS {
        let event = LedgerEvent { turn: number, ..LedgerEvent::new(UsageKind::Loaded, "pdf-forms") };
        let is_accepted = (0..1_000).any(|tries| {
            if tries > 0 {
                std::thread::sleep(Duration::from_micros(500));
            }
            ledger.record(event.clone())
        });
        accepted += u64::from(is_accepted);
    }
    assert!(ledger.flush(Duration::from_mins(5)));
    let mut file = std::fs::File::options().append(true).create(true).open(dir.join("accepted")).unwrap();
    writeln!(file, "{accepted}").unwrap();
}
