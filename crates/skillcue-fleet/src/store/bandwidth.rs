//! A limit for the bytes that a store sends and receives a second.

use std::fmt;
use std::num::NonZeroU64;
use std::str::FromStr;
use std::sync::Mutex;
use std::time::Duration;

use tokio::time::Instant;

use crate::FleetError;

/// The lowest bandwidth: with less, not even a small catalog is fetched within the time limits.
const MIN_BANDWIDTH: u64 = 1_000;

/// The time whose bytes a store that was idle may send at once.
const BURST: Duration = Duration::from_secs(1);

/// The units in which a bandwidth is written, longest first, so that none hides another.
const UNITS: [(&str, u64); 7] = [
    ("kib", 1 << 10),
    ("mib", 1 << 20),
    ("gib", 1 << 30),
    ("kb", 1_000),
    ("mb", 1_000_000),
    ("gb", 1_000_000_000),
    ("b", 1),
];

/// A number of bytes a second, written like `5MB` or `512KiB`.
///
/// ```
/// use skillcue_fleet::Bandwidth;
///
/// assert_eq!("5MB".parse::<Bandwidth>()?.bytes_per_second(), 5_000_000);
/// assert_eq!("512 KiB".parse::<Bandwidth>()?.bytes_per_second(), 524_288);
/// let error = "fast".parse::<Bandwidth>().unwrap_err().to_string();
/// assert_eq!(error, "\"fast\" is no bandwidth: write the bytes a second as a whole number and B, KB, MB, GB, KiB, MiB or GiB, such as \"5MB\"");
/// # Ok::<(), skillcue_fleet::FleetError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Bandwidth(NonZeroU64);

impl Bandwidth {
    /// Returns the number of bytes a second.
    pub fn bytes_per_second(self) -> u64 {
        self.0.get()
    }

    /// Returns how long so many bytes take.
    pub(crate) fn time_for(self, bytes: u64) -> Duration {
        let nanos = u128::from(bytes) * 1_000_000_000 / u128::from(self.0.get());
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }
}

impl fmt::Display for Bandwidth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}B", self.0)
    }
}

impl FromStr for Bandwidth {
    type Err = FleetError;

    fn from_str(text: &str) -> Result<Bandwidth, FleetError> {
        let wrong = |why: &str| FleetError::Bandwidth {
            text: skillcue_base::Shown(text).within(80).to_string(),
            why: why.to_owned(),
        };
        let form =
            || wrong("write the bytes a second as a whole number and B, KB, MB, GB, KiB, MiB or GiB, such as \"5MB\"");
        let lower = text.trim().to_ascii_lowercase();
        let (number, unit) = UNITS
            .iter()
            .find_map(|(unit, size)| Some((lower.strip_suffix(unit)?.trim_end(), *size)))
            .ok_or_else(form)?;
        if number.is_empty() || !number.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(form());
        }
        let bytes = number.parse::<u64>().ok().and_then(|number| number.checked_mul(unit));
        let bytes = bytes.ok_or_else(|| wrong("it is too large; leave it out for no limit"))?;
        let bytes = NonZeroU64::new(bytes).filter(|bytes| bytes.get() >= MIN_BANDWIDTH);
        bytes.map(Bandwidth).ok_or_else(|| wrong("it must be at least \"1KB\"; leave it out for no limit"))
    }
}

/// A token bucket over the bytes of all requests of a store, both ways.
#[derive(Debug)]
pub(super) struct TokenBucket {
    rate: Bandwidth,
    /// When all bytes that were asked for are paid for. Earlier than now, the difference is what may be sent at once.
    paid_at: Mutex<Option<Instant>>,
    #[cfg(test)]
    taken: std::sync::atomic::AtomicU64,
}

impl TokenBucket {
    pub(super) fn new(rate: Bandwidth) -> TokenBucket {
        TokenBucket {
            rate,
            paid_at: Mutex::default(),
            #[cfg(test)]
            taken: std::sync::atomic::AtomicU64::default(),
        }
    }

    pub(super) fn rate(&self) -> Bandwidth {
        self.rate
    }

    /// Waits until so many bytes may be sent, or until those that were received are paid for.
    ///
    /// Callers are served in the order in which they come. The waiting is for this machine's own limit, so that it must
    /// not count towards the time limit of a request.
    pub(super) async fn take(&self, bytes: u64) {
        let until = self.reserve(Instant::now(), bytes);
        tokio::time::sleep_until(until).await;
    }

    /// Takes bytes out of the bucket, and returns when they are paid for.
    fn reserve(&self, now: Instant, bytes: u64) -> Instant {
        let mut paid_at = skillcue_base::lock(&self.paid_at);
        let full = now.checked_sub(BURST).unwrap_or(now);
        let until = paid_at.map_or(full, |paid| paid.max(full)) + self.rate.time_for(bytes);
        *paid_at = Some(until);
        #[cfg(test)]
        self.taken.fetch_add(bytes, std::sync::atomic::Ordering::Relaxed);
        until
    }

    /// Returns how many bytes were taken so far.
    #[cfg(test)]
    pub(super) fn taken(&self) -> u64 {
        self.taken.load(std::sync::atomic::Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rate(text: &str) -> Bandwidth {
        text.parse().unwrap()
    }

    #[test]
    fn rates_are_numbers_with_units() {
        let of = |text: &str| rate(text).bytes_per_second();
        assert_eq!((of("1000B"), of("1KB"), of(" 20 mb "), of("3GB")), (1_000, 1_000, 20_000_000, 3_000_000_000));
        assert_eq!((of("1KiB"), of("2MiB"), of("1GiB")), (1_024, 2_097_152, 1_073_741_824));
        assert_eq!(rate(&rate("5MB").to_string()), rate("5MB"));
    }

    #[test]
    fn wrong_rates_name_the_right_form() {
        for text in ["", "5", "MB", "-5MB", "5.5MB", "5 MB/s", "5Mbit", "fünfMB"] {
            let error = text.parse::<Bandwidth>().unwrap_err().to_string();
            assert!(error.contains("such as \"5MB\""), "{error}");
        }
        for text in ["0MB", "999B"] {
            let error = text.parse::<Bandwidth>().unwrap_err().to_string();
            assert!(error.contains("at least \"1KB\""), "{error}");
        }
        assert!("99999999999999999999GB".parse::<Bandwidth>().unwrap_err().to_string().contains("too large"));
    }

    #[test]
    fn bytes_beyond_the_burst_wait_for_their_turn() {
        let (bucket, start) = (TokenBucket::new(rate("1MB")), Instant::now() + Duration::from_hours(1));
        let waits = |after: f64, bytes: u64| {
            let now = start + Duration::from_secs_f64(after);
            bucket.reserve(now, bytes).saturating_duration_since(now).as_millis()
        };
        assert_eq!(waits(0.0, 400_000), 0);
        assert_eq!(waits(0.0, 600_000), 0, "the bucket was full");
        assert_eq!(waits(0.0, 500_000), 500);
        assert_eq!(waits(0.0, 2_000_000), 2_500, "behind the one before, and more than the bucket holds");
        assert_eq!(waits(2.0, 100_000), 600);
        assert_eq!(waits(100.0, 1_000_000), 0, "full again");
        assert_eq!(waits(100.0, 1_000_000), 1_000, "and no fuller than full");
    }
}
