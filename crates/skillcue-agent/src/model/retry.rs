//! Waiting times before a request is made again.

use std::time::{Duration, SystemTime};

use skillcue_http::reqwest::header::{HeaderMap, RETRY_AFTER};

use super::RequestTiming;

/// The longest that a server is waited for because it says so.
pub(super) const MAX_WAIT: Duration = Duration::from_mins(2);

/// Returns how long to wait after so many failed requests, from 1 on.
pub(super) fn backoff(timing: &RequestTiming, failed: u32) -> Duration {
    let doubled = timing.backoff.saturating_mul(2u32.saturating_pow(failed.saturating_sub(1)));
    let longest = doubled.min(timing.most_backoff.max(timing.backoff));
    // Without a random number all clients come back at once, which is no reason not to come back.
    let random = getrandom::u32().unwrap_or(0);
    longest.mul_f64(1.0 - 0.5 * f64::from(random) / f64::from(u32::MAX))
}

/// Returns how long to wait for a server that has said how long: a little longer, so that not all clients come back at
/// once.
pub(super) fn a_little_longer(asked: Duration) -> Duration {
    let random = getrandom::u32().unwrap_or(0);
    asked.saturating_add(asked.mul_f64(0.1 * f64::from(random) / f64::from(u32::MAX)))
}

/// Returns how long the server asks to wait.
pub(super) fn asked(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    let number = |text: &str| text.parse::<f64>().ok().filter(|number| number.is_finite() && *number >= 0.0);
    if let Some(milliseconds) = text("retry-after-ms").and_then(number) {
        return Duration::try_from_secs_f64(milliseconds / 1000.0).ok();
    }
    let after = text(RETRY_AFTER.as_str())?;
    if let Some(seconds) = number(after) {
        return Some(Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX));
    }
    Some(httpdate::parse_http_date(after).ok()?.duration_since(now).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use std::time::UNIX_EPOCH;

    use skillcue_http::reqwest::header::{HeaderName, HeaderValue};

    use super::*;

    fn after(name: &'static str, value: &'static str) -> Option<Duration> {
        let mut headers = HeaderMap::new();
        headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
        asked(&headers, UNIX_EPOCH + Duration::from_secs(784_111_770))
    }

    #[test]
    fn servers_say_how_long_in_several_ways() {
        assert_eq!(after("retry-after", "0"), Some(Duration::ZERO));
        assert_eq!(after("retry-after", " 2 "), Some(Duration::from_secs(2)));
        assert_eq!(after("retry-after", "0.5"), Some(Duration::from_millis(500)));
        assert_eq!(after("retry-after-ms", "12.5"), Some(Duration::from_micros(12_500)));
        assert_eq!(after("retry-after", "Sun, 06 Nov 1994 08:49:37 GMT"), Some(Duration::from_secs(7)));
        assert_eq!(after("retry-after", "Sun, 06 Nov 1994 08:49:00 GMT"), Some(Duration::ZERO));
        assert_eq!(after("retry-after", "1e300"), Some(Duration::MAX));
        for nonsense in ["", "soon", "-1", "nan", "inf", "Sun, 99 Nov 1994 08:49:37 GMT", "x, 1 Foo 1994 1:1:1 GMT"] {
            assert_eq!(after("retry-after", nonsense), None, "{nonsense}");
        }
        assert_eq!(asked(&HeaderMap::new(), UNIX_EPOCH), None);
    }

    #[test]
    fn a_server_is_left_alone_at_least_as_long_as_it_wants() {
        assert_eq!(a_little_longer(Duration::ZERO), Duration::ZERO);
        let asked = Duration::from_secs(20);
        let waits: Vec<Duration> = (0..100).map(|_| a_little_longer(asked)).collect();
        assert!(waits.iter().all(|wait| (asked..=Duration::from_secs(22)).contains(wait)), "{waits:?}");
        assert!(waits.iter().any(|wait| *wait != waits[0]));
    }

    #[test]
    fn waits_grow_and_end() {
        let timing = RequestTiming::default();
        for (failed, longest) in [(1, 500), (2, 1_000), (3, 2_000), (7, 30_000), (40, 30_000), (u32::MAX, 30_000)] {
            let longest = Duration::from_millis(longest);
            for _ in 0..20 {
                let wait = backoff(&timing, failed);
                assert!(longest / 2 <= wait && wait <= longest, "{failed}: {wait:?}");
            }
        }
        assert_eq!(backoff(&RequestTiming { backoff: Duration::ZERO, ..timing }, 9), Duration::ZERO);
    }
}
