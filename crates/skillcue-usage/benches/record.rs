//! The cost of recording: an answer with a ledger beside one without, in turns, on a quiet machine and while eight processes
//! write 100,000 events each into the same database; the write of a process that ends in a moment; and these eight processes
//! alone.
//!
//! `cargo bench -p skillcue-usage`

#![expect(clippy::unwrap_used, reason = "a measurement that cannot be set up has failed")]
#![expect(clippy::print_stdout, reason = "the figures")]

use std::path::Path;
use std::process::{Child, Command};
use std::sync::Arc;
use std::time::{Duration, Instant};

use skillcue::usage::UsageKind;
use skillcue::{Request, Session, Skillcue};
use skillcue_bench::triggers::messages;
use skillcue_bench::{Plan, TreeOptions, generate};
use skillcue_usage::{Ledger, LedgerBatch, LedgerEvent, LedgerQuery, LedgerSink};

const PROCESSES: usize = 8;
const EVENTS: u64 = 100_000;
/// Least answers of each setup beside processes that write.
const MIN_BESIDE: usize = 1_920;
/// Most runs of the processes that write.
const MAX_BESIDE_RUNS: usize = 40;
/// The project of the answers' events; those of other processes have none.
const PROJECT: &str = "/home/ann/project";
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

/// The orders in which three setups can come.
const ORDERS: [[usize; 3]; 6] = [[0, 1, 2], [1, 2, 0], [2, 0, 1], [0, 2, 1], [2, 1, 0], [1, 0, 2]];

/// The times of answers in three setups: with a ledger, without, and without again, each by the clock and of the processor.
type AnswerTimes = [[Vec<Duration>; 2]; 3];

/// Three setups that answer in turns. The last is as the second: the ratio of the two is what this machine's noise makes of
/// nothing.
struct AnswerSetups {
    ledger: Ledger,
    setups: [Skillcue; 3],
    messages: Vec<String>,
}

impl AnswerSetups {
    fn new(root: &Path, database: &Path) -> AnswerSetups {
        let ledger = Ledger::new(database);
        let build = || Skillcue::builder().skills_dir(root).match_cache(0);
        let sink = LedgerSink::new(ledger.clone(), "library", PROJECT);
        let recording = build().usage(Arc::new(sink)).build().unwrap();
        let setups = [recording, build().build().unwrap(), build().build().unwrap()];
        AnswerSetups { ledger, setups, messages: messages(1, 20, 64) }
    }

    /// Answers every message in each setup. The second of equal messages finds warm caches, and an answer finds what the one
    /// before it left: the setups come in each of their six orders as often as in the others.
    fn round(&self, round: usize, times: &mut AnswerTimes) {
        for (number, message) in self.messages.iter().enumerate() {
            for at in ORDERS[(round + number) % ORDERS.len()] {
                // An agent answers now and then: what the thread does meanwhile is not the answer's time.
                std::thread::sleep(Duration::from_millis(1));
                let mut session = Session::default();
                let (start, cpu) = (Instant::now(), own_time());
                let request = Request::new(message).session(&mut session).conversation("c");
                let shown = self.setups[at].disclose(request);
                let spent = [start.elapsed(), own_time().saturating_sub(cpu)];
                drop(shown);
                for (all, time) in times[at].iter_mut().zip(spent) {
                    all.push(time);
                }
            }
        }
    }
}

fn answers(dir: &Path) {
    for skills in [100, 1_000] {
        let root = dir.join(format!("skills-{skills}"));
        generate(&root, &TreeOptions { count: skills, ..TreeOptions::default() }).unwrap();
        let quiet = AnswerSetups::new(&root, &dir.join("answers.db"));
        let mut times = AnswerTimes::default();
        for round in 0..30 {
            quiet.round(round, &mut times);
        }
        assert!(quiet.ledger.flush(Duration::from_mins(1)));
        let state = quiet.ledger.state().unwrap().unwrap();
        print(skills, "", times, &format!("{} events, {} dropped", state.events, state.dropped));
        answers_beside_writers(&root, skills);
    }
}

/// Measures answers while other processes write 100,000 events each into the same database, as often as it takes for a
/// median.
fn answers_beside_writers(root: &Path, skills: usize) {
    let mut times = AnswerTimes::default();
    let (mut runs, mut own, mut written, mut dropped) = (0, 0, 0, 0);
    while times[0][0].len() < MIN_BESIDE && runs < MAX_BESIDE_RUNS {
        // Each run has a database of its own: twenty of them in one would be gigabytes.
        let dir = tempfile::tempdir().unwrap();
        let setups = AnswerSetups::new(root, &dir.path().join("processes.db"));
        setups.round(0, &mut AnswerTimes::default());
        let mut writers = start_writers(dir.path());
        for round in runs.. {
            let mut new = AnswerTimes::default();
            setups.round(round, &mut new);
            if writers.iter_mut().any(|writer| writer.try_wait().unwrap().is_some()) {
                // Some of these had fewer writers beside them.
                break;
            }
            for (all, new) in times.iter_mut().flatten().zip(new.into_iter().flatten()) {
                all.extend(new);
            }
        }
        let accepted = finish_writers(dir.path(), &mut writers);
        assert!(setups.ledger.flush(Duration::from_mins(1)));
        let state = setups.ledger.state().unwrap().unwrap();
        let query = LedgerQuery { project: Some(PROJECT.to_owned()), ..LedgerQuery::default() };
        let of_answers = setups.ledger.events(&query).unwrap().len() as u64;
        assert_eq!(state.events, accepted + of_answers, "what was accepted is there");
        (runs, own, written, dropped) = (runs + 1, own + of_answers, written + accepted, dropped + state.dropped);
    }
    let beside = format!(" beside {PROCESSES} processes that write");
    let said = format!(
        "{runs} runs: {written} events of processes and {own} of answers accepted and written, {dropped} refused"
    );
    print(skills, &beside, times, &said);
}

fn print(skills: usize, beside: &str, mut times: AnswerTimes, said: &str) {
    let count = times[0][0].len();
    for (which, what) in ["by the clock", "of the processor, in the thread that answers"].into_iter().enumerate() {
        let middle = |times: &mut [Vec<Duration>; 2]| {
            times[which].sort_unstable();
            times[which][times[which].len() / 2].as_secs_f64() * 1e6
        };
        let [with, without, again] = times.each_mut().map(middle);
        println!(
            "answer at {skills} skills{beside}, time {what}: {with:.1} µs with the ledger, {without:.1} µs without (medians of \
             {count}); ratio {:.3}, of two without {:.3}; {said}",
            with / without,
            again / without,
        );
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

fn start_writers(dir: &Path) -> Vec<Child> {
    let writer = |_| Command::new(std::env::current_exe().unwrap()).env(WRITER, dir).spawn().unwrap();
    (0..PROCESSES).map(writer).collect()
}

/// Waits for writers to end, and returns how many events were accepted.
fn finish_writers(dir: &Path, writers: &mut [Child]) -> u64 {
    assert!(writers.iter_mut().all(|writer| writer.wait().unwrap().success()));
    std::fs::read_to_string(dir.join("accepted")).unwrap().lines().map(|line| line.parse::<u64>().unwrap()).sum()
}

fn processes(dir: &Path) {
    let start = Instant::now();
    let accepted = finish_writers(dir, &mut start_writers(dir));
    let ledger = Ledger::new(dir.join("processes.db"));
    let state = ledger.state().unwrap().unwrap();
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
