//! Timing of closures in turns, and the process's memory as the kernel counts it.

use std::hint::black_box;
use std::time::{Duration, Instant};

/// The number of measurements.
///
/// Closures that are to be compared are run in turns (A, B, A, B …), so that a slow second of the
/// machine falls on both. Of the times, the minimum is what the work costs and the median is what
/// people get; the mean is neither.
///
/// ```
/// use skillcue_bench::Plan;
///
/// // Far below a microsecond: the clock would measure itself, so 1,000 at a time.
/// let [sum, product] = Plan::rounds(5).batch(1000).run([
///     &mut || drop(std::hint::black_box(1 + 1)),
///     &mut || drop(std::hint::black_box(1 * 1)),
/// ]);
/// assert_eq!((sum.runs, product.runs), (5, 5));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    rounds: usize,
    batch: u32,
    warm_up: usize,
}

impl Plan {
    /// Runs every closure `rounds` times (at least once), after one run that is not counted: it fills the caches that
    /// all later ones find filled.
    pub fn rounds(rounds: usize) -> Self {
        Self { rounds: rounds.max(1), batch: 1, warm_up: 1 }
    }

    /// Times `batch` runs at once and divides, for closures that take a microsecond or less.
    #[must_use]
    pub fn batch(self, batch: u32) -> Self {
        Self { batch: batch.max(1), ..self }
    }

    /// Sets the number of runs before the first that counts; 0 for a cold start.
    #[must_use]
    pub fn warm_up(self, warm_up: usize) -> Self {
        Self { warm_up, ..self }
    }

    /// Runs the closures in turns; the timings are in their order.
    pub fn run<const N: usize>(self, mut what: [&mut dyn FnMut(); N]) -> [RunTiming; N] {
        let mut times: [Vec<Duration>; N] = std::array::from_fn(|_| Vec::with_capacity(self.rounds));
        for round in 0..self.warm_up + self.rounds {
            for (one, times) in what.iter_mut().zip(&mut times) {
                let start = Instant::now();
                for _ in 0..self.batch {
                    one();
                }
                let time = start.elapsed() / self.batch;
                if round >= self.warm_up {
                    times.push(time);
                }
            }
        }
        times.map(RunTiming::of)
    }

    /// Like [`Plan::run`], for two closures: usually the measured one and its floor. Results are kept from being
    /// optimised away, and dropped inside the measured time.
    pub fn pair<A, B>(self, mut a: impl FnMut() -> A, mut b: impl FnMut() -> B) -> (RunTiming, RunTiming) {
        let mut a = || drop(black_box(a()));
        let mut b = || drop(black_box(b()));
        let [a, b] = self.run([&mut a, &mut b]);
        (a, b)
    }

    /// Like [`Plan::run`], for one closure.
    pub fn single<A>(self, mut a: impl FnMut() -> A) -> RunTiming {
        let mut a = || drop(black_box(a()));
        let [a] = self.run([&mut a]);
        a
    }
}

impl Plan {
    /// Times `what` on every item by itself, round after round: for calls whose costs differ by
    /// their input, where the slowest ones are of interest, too. The batch is of no meaning here.
    ///
    /// ```
    /// use skillcue_bench::Plan;
    ///
    /// let timing = Plan::rounds(3).each(&["a b", "a b c"], |text| text.split(' ').count());
    /// assert_eq!(timing.runs, 6);
    /// assert!(timing.min <= timing.median && timing.median <= timing.p99);
    /// ```
    pub fn each<T, A>(self, items: &[T], mut what: impl FnMut(&T) -> A) -> RunTiming {
        let mut times = Vec::with_capacity(self.rounds * items.len());
        for round in 0..self.warm_up + self.rounds {
            for item in items {
                let start = Instant::now();
                let done = black_box(what(black_box(item)));
                let time = start.elapsed();
                drop(done);
                if round >= self.warm_up {
                    times.push(time);
                }
            }
        }
        RunTiming::of(times)
    }
}

/// The times of one closure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RunTiming {
    /// The shortest time: the cost of the work when nothing disturbs it.
    pub min: Duration,
    /// The median; of an even number, the mean of the middle two.
    pub median: Duration,
    /// The time that 99 in 100 do not exceed; of fewer than 100, the longest.
    pub p99: Duration,
    /// The number of runs.
    pub runs: usize,
}

impl RunTiming {
    fn of(mut times: Vec<Duration>) -> Self {
        if times.is_empty() {
            return Self::default();
        }
        times.sort_unstable();
        let (half, runs) = (times.len() / 2, times.len());
        let median = if runs % 2 == 0 { (times[half - 1] + times[half]) / 2 } else { times[half] };
        let p99 = times[(runs * 99).div_ceil(100) - 1];
        Self { min: times[0], median, p99, runs }
    }
}

/// The memory of a process, as the kernel counts it, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessMemory {
    /// The resident size now (`VmRSS`).
    pub resident: u64,
    /// The largest resident size ever (`VmHWM`), or since [`reset_peak`].
    pub peak: u64,
}

/// Returns this process's memory. `None` where there is no `/proc/self/status`, which is everywhere but Linux.
pub fn memory() -> Option<ProcessMemory> {
    parse_status(&std::fs::read_to_string("/proc/self/status").ok()?)
}

/// Like [`memory`], for another process. `None` once it has ended.
pub fn memory_of(process: u32) -> Option<ProcessMemory> {
    parse_status(&std::fs::read_to_string(format!("/proc/{process}/status")).ok()?)
}

/// Resets [`ProcessMemory::peak`]. Returns false where the kernel does not allow it.
pub fn reset_peak() -> bool {
    // 5 resets the peak and leaves the pages' "referenced" bits alone (proc(5), Linux 4.0).
    std::fs::write("/proc/self/clear_refs", "5").is_ok()
}

fn parse_status(status: &str) -> Option<ProcessMemory> {
    let field = |name: &str| {
        let rest = status.lines().find_map(|line| line.strip_prefix(name))?;
        let kib: u64 = rest.trim().strip_suffix("kB")?.trim_end().parse().ok()?;
        Some(kib * 1024)
    };
    Some(ProcessMemory { resident: field("VmRSS:")?, peak: field("VmHWM:")? })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;

    #[test]
    fn in_turns_and_without_the_warm_up() {
        let order = RefCell::new(String::new());
        let mut a = || order.borrow_mut().push('a');
        let mut b = || order.borrow_mut().push('b');
        let [a, b] = Plan::rounds(2).batch(2).run([&mut a, &mut b]);
        assert_eq!(*order.borrow(), "aabbaabbaabb");
        assert_eq!((a.runs, b.runs), (2, 2));
    }

    #[test]
    fn min_and_median() {
        let timing = |ms: &[u64]| RunTiming::of(ms.iter().copied().map(Duration::from_millis).collect());
        let of = |min, median, p99, runs| {
            let [min, median, p99] = [min, median, p99].map(Duration::from_millis);
            RunTiming { min, median, p99, runs }
        };
        assert_eq!(timing(&[9, 1, 5]), of(1, 5, 9, 3));
        assert_eq!(timing(&[9, 1, 5, 3]), of(1, 4, 9, 4));
        let many: Vec<u64> = (1..=200).rev().collect();
        assert_eq!(timing(&many).p99, Duration::from_millis(198));
        assert_eq!(timing(&[]), RunTiming::default());
    }

    #[test]
    fn each_item_by_itself() {
        let mut seen = Vec::new();
        let timing = Plan::rounds(2).each(&[1, 2, 3], |number| seen.push(*number));
        assert_eq!(timing.runs, 6);
        assert_eq!(seen, [1, 2, 3].repeat(3));
    }

    #[test]
    fn status_is_read() {
        let status = "Name:\tx\nVmPeak:\t  99 kB\nVmHWM:\t    2048 kB\nVmRSS:\t    1024 kB\n";
        assert_eq!(parse_status(status), Some(ProcessMemory { resident: 1 << 20, peak: 2 << 20 }));
        assert_eq!(parse_status("Name:\tx\n"), None);
        assert_eq!(memory().is_some(), cfg!(target_os = "linux"));
    }
}
