//! Times as the registry's files write them.

use std::time::SystemTime;

use skillcue_catalog::Civil;

/// A time as RFC 3339 writes it, in UTC, to the second. Texts of this kind sort like the times they stand for.
pub(crate) fn rfc3339(time: SystemTime) -> String {
    let civil = Civil::of(time);
    let Civil { hour, minute, second, .. } = civil;
    format!("{}T{hour:02}:{minute:02}:{second:02}Z", civil.date())
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    use super::*;

    #[test]
    fn known_times() {
        let at = |seconds| rfc3339(UNIX_EPOCH + Duration::from_secs(seconds));
        assert_eq!(at(0), "1970-01-01T00:00:00Z");
        assert_eq!(at(951_782_399), "2000-02-28T23:59:59Z");
        assert_eq!(at(951_782_400), "2000-02-29T00:00:00Z");
        assert_eq!(at(1_709_210_096), "2024-02-29T12:34:56Z");
        assert_eq!(at(4_102_444_800), "2100-01-01T00:00:00Z");
    }
}
